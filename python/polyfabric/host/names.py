"""Suggests names similar to a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from ..errors import InputError


def pick(what: str, given: str, known: Iterable[str], elsewhere: Mapping[str, str] | None = None) -> str:
    """`given` if it is known; otherwise raises an error with similar names. `elsewhere`: see `suggestion`."""
    names = list(known)
    if given in names:
        return given
    raise InputError(f"there is no {what} {given!r}; {suggestion(given, names, elsewhere)}")


def suggestion(given: str, names: list[str], elsewhere: Mapping[str, str] | None = None) -> str:
    """What to write instead of a name that others use, by `elsewhere`; else similar names, or all of them."""
    if elsewhere and str(given).lower() in elsewhere:
        return elsewhere[str(given).lower()]
    near = difflib.get_close_matches(str(given).lower(), names, n=2, cutoff=0.6)
    return f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(names)}"
