"""Suggests names similar to a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ..errors import InputError


def pick(what: str, given: str, known: Iterable[str]) -> str:
    """`given` if it is known; otherwise raises an error with similar names."""
    names = list(known)
    if given in names:
        return given
    raise InputError(f"there is no {what} {given!r}; {suggestion(given, names)}")


def suggestion(given: str, names: list[str]) -> str:
    """Similar names, or all of them."""
    near = difflib.get_close_matches(str(given).lower(), names, n=2, cutoff=0.6)
    return f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(names)}"
