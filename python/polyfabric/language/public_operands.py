"""Public numbers next to encrypted values: operands, matrices, and the tables of lookups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import shown
from . import ranges
from .place import expect_unmasked, refuse, whole
from .ranges import Span
from .types import Type, text_bytes

Clear: TypeAlias = "int | bool | Sequence[int] | NDArray[np.integer] | np.integer"
Table: TypeAlias = "Sequence[int] | NDArray[np.integer] | Callable[[int], int]"


@dataclass(frozen=True)
class Public:
    """Public numbers as an operand."""

    numbers: list[int]
    scalar: bool

    @property
    def span(self) -> Span:
        """The least and the greatest number."""
        return ranges.of_numbers(self.numbers)

    @property
    def steps(self) -> tuple[int, int]:
        """The least number and the step to the others, 0 if all are equal."""
        lo, _ = self.span
        return lo, gcd(*(number - lo for number in self.numbers))

    @property
    def truth(self) -> bool:
        """Whether they can be truth values."""
        return all(number in (0, 1) for number in self.numbers)


def public(other: object, kind: Type) -> Public:
    """Public numbers next to a value of type `kind`."""
    if not isinstance(other, int | np.integer | np.bool_ | np.ndarray | Sequence) or isinstance(other, str | bytes):
        more = ", or declare the inputs as pf.Fixed(16, 8) or pf.Real" if isinstance(other, float) else ""
        if isinstance(other, str):
            more = f", as ord({other!r})" if len(other) == 1 else f", as list({text_bytes(other)!r})"
        raise refuse(f"an encrypted {kind} cannot be combined with {type(other).__name__}; give integers{more}")
    expect_unmasked(other)
    array = _array(other)
    if array.ndim > 1:
        shape = " x ".join(map(str, array.shape))
        raise refuse(f"an array of {shape} cannot be combined with {kind}; use @ for a matrix, or flatten it")
    return Public(_whole(array, kind), scalar=array.ndim == 0)


def matrix(values: object, kind: Type) -> NDArray[Any]:
    """A vector or a matrix of public integers, of any size."""
    expect_unmasked(values)
    array = _array(values)
    if array.ndim == 0:
        raise refuse(
            f"@ takes vectors and matrices, but an operand is {shown(values)}; use *, or give a weight for each element"
        )
    numbers = array if array.dtype.kind == "i" else np.array([*_whole(array, kind), None], dtype=object)[:-1]
    small = all(abs(number) >> 62 == 0 for number in numbers) if numbers.dtype == object else True
    return numbers.astype(np.int64 if small else object).reshape(array.shape)


def _array(values: object) -> NDArray[Any]:
    try:
        return values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
    except ValueError:
        raise refuse("the rows of a public operand have different lengths; give them one length") from None


def _whole(array: NDArray[Any], kind: Type) -> list[int]:
    """The numbers of an array as Python integers; fractions are rejected."""
    if array.dtype.kind in "iub":
        return cast("list[int]", array.reshape(-1).astype(int if array.dtype == bool else array.dtype).tolist())
    if array.dtype.kind == "f" and array.size:
        raise refuse(f"public operands for {kind} must be integers, not {array.dtype}; scale and round them first")
    return [kind.whole(number) for number in array.reshape(-1).tolist()]


def integers(values: object) -> NDArray[np.int64]:
    """`values` as an array of 64-bit integers; floats and strings are rejected."""
    expect_unmasked(values)
    try:
        array = np.asarray(values)
    except ValueError:
        raise refuse("the rows of a public operand have different lengths; give them one length") from None
    if array.dtype == bool or array.size == 0:
        array = array.astype(np.int64)
    if array.dtype in (object, np.uint64) and all(isinstance(n, int) and abs(n) >> 63 == 0 for n in array.flat):
        array = array.astype(np.int64)
    if not np.issubdtype(array.dtype, np.integer) or array.dtype == np.uint64:
        raise refuse(
            f"public operands must be integers, not {type(values).__name__} ({array.dtype}); scale and round them first"
        )
    return array.astype(np.int64)


def tabulated(table: Table, span: Span, stride: int = 1) -> tuple[int, list[int]]:
    """A table as (least operand, entries), from a function or a sequence, for operands of a range."""
    lo, hi = span
    if not callable(table):
        expect_unmasked(table)
        listed = _array(table)
        if listed.ndim != 1:
            raise refuse(
                f"the lookup table is {shown(table)}; give a function, or a list with an integer for each value of the operand"
            )
        if not listed.size:
            raise refuse("the lookup table is empty; give one entry for each value of the operand")
        return lo, [whole(f"entry {at} of a lookup table", entry) for at, entry in enumerate(listed.tolist())]
    entries = [0] * (hi - lo + 1)
    for operand in range(lo, hi + 1, stride):
        result = table(operand)
        if not isinstance(result, int | np.integer | np.bool_):
            raise refuse(
                f"the function of a lookup returned {result!r} for {operand}; it must return an integer, as round(..) does"
            )
        entries[operand - lo] = int(result)
    return lo, entries
