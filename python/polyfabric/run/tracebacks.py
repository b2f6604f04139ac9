"""Short tracebacks: an error that leaves the package shows the user's lines and its message, without the package's own frames.
So does an error of a user's function that the package called, such as a table's.

`POLYFABRIC_TRACEBACK=1` in the environment shows all frames. For example, `larger.run(x=9)` outside 0..7 raises

    File "bids.py", line 12, in <module>
      larger.run(x=9)
    polyfabric.errors.InputError: input 'x' is 9, but integer[0..7] is needed; correct the value, or widen the type
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from types import FunctionType, TracebackType
from typing import Any, TypeVar

from ..errors import Error
from ..host.native_module import lacking
from ..language.numpy_calls import Value
from ..language.place import pass_over
from .wrong_calls import wrong_call

pass_over(__file__)

SHOW_ALL = "POLYFABRIC_TRACEBACK"
"""Environment variable that keeps all frames."""

_PACKAGE = str(Path(__file__).resolve().parent.parent) + os.sep
_LIBRARIES = tuple(str(Path(sysconfig.get_path(name))) + os.sep for name in ("stdlib", "purelib", "platlib"))
_NAME = __package__.partition(".")[0]

Function = TypeVar("Function", bound=Callable[..., Any])


def short(function: Function) -> Function:
    """`function`, whose errors have no frames of this package."""

    @wraps(function)
    def called(*operands: Any, **options: Any) -> Any:  # noqa: ANN401 - those of the function
        try:
            try:
                return function(*operands, **options)
            except (TypeError, AttributeError) as problem:
                if (older := lacking(problem)) is not None:
                    raise older from None
                # Within the package, the outermost public call is the user's.
                if isinstance(problem, Error) or sys._getframe(1).f_code.co_filename.startswith(_PACKAGE):
                    raise
                wrong = wrong_call(function, called.__qualname__, operands, options, problem)
                if wrong is None:
                    raise
                raise wrong from None
        except Exception as error:
            shortened = isinstance(error, Error) or _is_users(error.__traceback__)
            if shortened and os.environ.get(SHOW_ALL, "0") in ("", "0"):
                _trim(error)
            # Python adds no frame of this function for a bare `raise`.
            raise

    return called  # type: ignore[return-value]


def shorten(names: Iterable[str], namespace: dict[str, Any], others: Iterable[type] = ()) -> None:
    """Applies `short` to the public functions `names` of a module, and to the public methods of its classes and of `others`."""
    classes = set(others)
    for name in names:
        value = namespace[name]
        if isinstance(value, FunctionType):
            namespace[name] = own = short(value)
            # The public place, where pickle finds it.
            own.__name__ = own.__qualname__ = name
            own.__module__ = namespace["__name__"]
        elif isinstance(value, type) and not issubclass(value, BaseException):
            classes.add(value)
    for kind in {base for public in classes for base in public.__mro__ if base.__module__.startswith(f"{_NAME}.")}:
        for name, value in list(vars(kind).items()):
            # Operators of values are called within a program, whose own call shortens their errors.
            special = name.startswith("__") and not (issubclass(kind, Value) and name not in ("__init__", "__call__"))
            if name.startswith("_") and not special:
                continue
            if isinstance(value, FunctionType):
                setattr(kind, name, short(value))
            elif isinstance(value, classmethod | staticmethod):
                setattr(kind, name, type(value)(short(value.__func__)))


def _trim(error: BaseException) -> None:
    """Removes this package's frames from an error and its causes, and causes that had no others."""
    errors: dict[int, BaseException] = {}
    left = [error]
    while left:
        one = left.pop()
        if id(one) in errors:
            continue
        errors[id(one)] = one
        for attribute in ("__cause__", "__context__"):
            behind = getattr(one, attribute)
            if behind is None:
                continue
            left.append(behind)
            # An error that was never raised, such as a user's own cause, has no frames at all.
            if behind.__traceback__ is not None and _outside(behind.__traceback__) is None:
                setattr(one, attribute, None)
    for one in errors.values():
        one.__traceback__ = _outside(one.__traceback__)


def _is_users(frames: TracebackType | None) -> bool:
    """Whether a function of the user, called by this package, raised an error: no package frame is behind the user's."""
    found = False
    while frames is not None:
        file = frames.tb_frame.f_code.co_filename
        if file.startswith(_PACKAGE):
            found = False
        elif not file.startswith(_LIBRARIES):
            found = True
        frames = frames.tb_next
    return found


def _outside(frames: TracebackType | None) -> TracebackType | None:
    kept = []
    while frames is not None:
        if not frames.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            kept.append(frames)
        frames = frames.tb_next
    trimmed = None
    for own in reversed(kept):
        trimmed = TracebackType(trimmed, own.tb_frame, own.tb_lasti, own.tb_lineno)
    return trimmed
