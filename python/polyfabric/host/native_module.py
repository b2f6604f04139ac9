"""A native module that is older than the Python half of the package: the error names the command that builds it again.

A working copy has both halves in one folder, and only a build renews the native one. Importing this module makes a missing name of the native
module raise an `OutdatedError`, so the package imports it before all modules that use the native one.
"""

from __future__ import annotations

from .. import _native
from ..errors import RunError


class OutdatedError(RunError):
    """The native module lacks something that this version of the package uses."""


def lacking(problem: BaseException) -> OutdatedError | None:
    """The error for an attribute that an object of the native module lacks; `None` for another problem."""
    if isinstance(problem, AttributeError) and type(problem.obj) in vars(_native).values():
        return _outdated(f"{type(problem.obj).__name__}.{problem.name}")
    return None


def _missing(name: str) -> object:
    # Names of Python's own protocols are asked for only to see whether they exist.
    if name.startswith("__"):
        raise AttributeError(name)
    raise _outdated(name)


def _outdated(name: str) -> OutdatedError:
    return OutdatedError(
        f"the native module is older than this version of polyfabric: it has no {name}; build it again with `make install`, or reinstall the package"
    )


vars(_native)["__getattr__"] = _missing
