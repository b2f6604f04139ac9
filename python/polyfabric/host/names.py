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
    near = near_names(given, names)
    return f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(names)}"


def near_names(given: str, names: list[str], likeness: float = 0.6) -> list[str]:
    """At most two of `names` that `given` may be a misspelling of, at least as like it as `likeness`, between 0 and 1."""
    return difflib.get_close_matches(str(given).lower(), names, n=2, cutoff=likeness)
