"""Public indices of encrypted vectors of TFHE."""

from __future__ import annotations

import operator
from collections.abc import Iterable

import numpy as np

from .place import refuse


def picked(index: object, length: int, kind: object) -> tuple[list[int], bool]:
    """The elements that `index` selects from a vector of type `kind`, and whether it is a single one."""
    if isinstance(index, slice):
        try:
            return list(range(*index.indices(length))), False
        except (TypeError, ValueError):
            ends = ":".join("" if end is None else f"{end!r}" for end in (index.start, index.stop, index.step))
            raise refuse(
                f"[{ends}] is not a range of elements of {kind}; give integers, x[i:j] or x[i:j:step]"
            ) from None
    if isinstance(index, tuple):
        if len(index) != 1:
            raise refuse(
                f"[{', '.join(map(repr, index))}] is not an index of {kind}, which has one axis; for several elements give a list, x[[0, 1]]"
            )
        return picked(index[0], length, kind)
    given, single = _integers(index, kind)
    for i in given:
        if not -length <= i < length:
            raise refuse(f"index {i} is out of range for the {length} elements of {kind}; correct the index")
    return [i + length if i < 0 else i for i in given], single


def _integers(index: object, kind: object) -> tuple[list[int], bool]:
    several = isinstance(index, Iterable) and not isinstance(index, str | bytes) and np.ndim(index) > 0  # type: ignore[call-overload]
    items = list(index) if several else [index]  # type: ignore[call-overload]
    shown = " ".join(repr(index).split())[:80]
    if any(isinstance(item, bool | np.bool_) for item in items):
        raise refuse(
            f"{shown} is a mask, not an index of {kind}; give the indices where it holds, x[np.flatnonzero(mask)]"
        )
    try:
        return [operator.index(item) for item in items], not several
    except TypeError:
        raise refuse(
            f"{shown} is not an index of {kind}; give an integer, a range x[i:j], or a list of integers"
        ) from None
