"""Locations in the user's source, and the errors that name them."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from operator import index
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import numpy as np

from ..errors import Error, ProgramError, shown

_LANGUAGE = Path(__file__).resolve().parent
_PACKAGE = _LANGUAGE.parent
# numpy's functions call methods of operands that are not numpy arrays.
_PASSED = [str(_LANGUAGE), str(Path(np.__file__).resolve().parent)]


MOST_INTEGER_BITS = 8192
"""Limit for public integers: above every type's width, and still printable by Python."""


def pass_over(file: str) -> None:
    """Treats `file` as part of the language, so that locations are those of its callers."""
    _PASSED.append(str(Path(file).resolve()))


_ORIGIN: ContextVar[tuple[str, int] | None] = ContextVar("origin", default=None)
"""Location of what a command traces, since no frame of the user's calls it."""


@contextmanager
def located(file: str, line: int) -> Iterator[None]:
    """Locations outside of a user's code are this line of a file."""
    token = _ORIGIN.set((file, line))
    try:
        yield
    finally:
        _ORIGIN.reset(token)


@contextmanager
def traced_again(function: Callable[..., Any]) -> Iterator[None]:
    """Locations outside of a user's code are the function's."""
    code = function.__code__
    with located(*source(code.co_filename, code.co_firstlineno)):
        yield


def users_frame() -> FrameType:
    """The innermost frame outside this package's language and numpy."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(tuple(_PASSED)):
        frame = frame.f_back
    return frame


def place() -> tuple[str, int]:
    """File and line of the innermost frame outside this package's language and numpy."""
    frame = users_frame()
    origin = _ORIGIN.get()
    if origin is not None and frame.f_code.co_filename.startswith(str(_PACKAGE)):
        return origin
    return source(frame.f_code.co_filename, frame.f_lineno)


def warn_user(message: str, category: type[Warning]) -> None:
    """Warns at the innermost line outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(str(_PACKAGE)):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def source(file: str, line: int) -> tuple[str, int]:
    """File and line as messages show them; of a notebook's cell, its number."""
    return _cell(file) or _short(file, os.getcwd()), line  # noqa: PTH109 - called for every value of a program, and pathlib is slow


def _cell(file: str) -> str | None:
    """`In[3]`, if the file is a cell of the running notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    named = None if shell is None else shell.compile.format_code_name(file)
    return None if named is None else named[1]


@cache
def _short(file: str, folder: str) -> str:
    path = Path(file)
    for root in (_PACKAGE.parent, folder) if path.is_relative_to(_PACKAGE) else (folder,):
        if path.is_relative_to(root):
            return str(path.relative_to(root))
    return path.name


def refuse(message: str) -> ProgramError:
    """The error `message`, prefixed with the user's file and line."""
    file, line = place()
    return ProgramError(f"{file}:{line}: {message}")


def expect_unmasked(values: object) -> None:
    """Rejects masked numpy arrays: the numbers behind the mask are arbitrary."""
    if np.ma.is_masked(values):
        raise refuse("some of the public values are masked; fill them in first")


_Made = TypeVar("_Made")


def placed(what: str, make: Callable[[], _Made]) -> _Made:
    """The result of `make`; errors of the lower layers get the user's file and line."""
    try:
        return make()
    except Error as error:
        raise refuse(f"{what}: {error}") from None


def whole(
    what: str, value: object, least: int | None = None, most: int | None = None, *, advised: int | None = None
) -> int:
    """`value` as an integer, within a range if given; fractions are rejected. `advised` replaces `most` in the message, if not all accepted
    values are good advice."""
    within = "" if least is None else f" from {least} to {most if advised is None else advised}"
    try:
        number = index(value)  # type: ignore[arg-type]
        if number.bit_length() > MOST_INTEGER_BITS:
            within = within or f" of at most {MOST_INTEGER_BITS:,} bits"
        elif least is None or most is None or least <= number <= most:
            return number
    except TypeError:
        pass
    raise refuse(f"{what} is {shown(value)}; give an integer{within}")
