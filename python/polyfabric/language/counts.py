"""Ranges of counts: integers computed from truth values and public numbers alone.

A comparison gives a truth value, a `pf.UInt(1)`. Python's True + True is 2, and so is that of truth values: results of arithmetic on them carry their
exact range. `(x > 10) + (y > 10)` ranges from 0 to 2 and is a `pf.UInt(2)`; `(x > 10) - (y > 10)` ranges from -1 to 1 and is a `pf.SInt(2)`. Each result
has the narrowest type that holds its range, so a count never wraps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..errors import ProgramError
from . import types
from .place import refuse
from .types import MOST_BITS, IntegerType

Span = tuple[int, int]
"""The least and the greatest value that occur."""

TRUTH: Span = (0, 1)


def holding(*spans: Span) -> IntegerType:
    """The narrowest type that holds all values of these ranges."""
    lo, hi = union(*spans)
    if max(~lo, hi).bit_length() + (lo < 0) > MOST_BITS:
        raise _vast()
    return types.holding(lo, hi)


def union(*spans: Span) -> Span:
    """The narrowest range that holds all of them."""
    return min(lo for lo, _ in spans), max(hi for _, hi in spans)


def within(span: Span, kind: IntegerType) -> bool:
    """Whether a type holds all values of a range."""
    return kind.bounds[0] <= span[0] and span[1] <= kind.bounds[1]


def power(span: Span, exponent: int) -> Span:
    """Of all values to a public exponent."""
    lo, hi = span
    if max(-lo, hi) > 1 and exponent > MOST_BITS:
        raise _vast()
    if exponent == 0:
        return 1, 1
    # With -1, 0 and 1 alone the parity decides.
    exponent = min(exponent, MOST_BITS + exponent % 2)
    ends = [lo**exponent, hi**exponent, *([0] if lo < 0 < hi else [])]
    return min(ends), max(ends)


def shifted(span: Span, least: int, most: int) -> Span:
    """Of values that are shifted to the left by `least` to `most` bits."""
    lo, hi = span
    if lo == hi == 0:
        return span
    if most > MOST_BITS:
        raise _vast()
    return min(lo << least, lo << most), max(hi << least, hi << most)


def _vast() -> ProgramError:
    return refuse(
        f"a count goes beyond {MOST_BITS} bits, which no type holds; cast it before, as x.cast(pf.UInt(64)), to wrap at that width"
    )


def _products(a: Span, b: Span) -> Span:
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)


def _divided(a: Span, b: Span) -> Span:
    """Of dividends, whatever the divisor: by -1 the sign turns."""
    furthest = max(-a[0], a[1])
    return (-furthest, furthest) if min(a[0], b[0]) < 0 else (0, furthest)


RINGS: dict[str, Callable[[Span, Span], Span]] = {
    "+": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "-": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "*": _products,
}
"""Operations whose operands may be taken modulo 2^bits of the result's type."""

OTHERS: dict[str, Callable[[Span, Span], Span]] = {
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "mux": union,
    "//": _divided,
}


def met(op: str, a: Span, b: Span) -> tuple[IntegerType, Span]:
    """The type in which two counts are computed with, and the range of the result."""
    if op in RINGS:
        span = RINGS[op](a, b)
        return holding(span), span
    span = OTHERS[op](a, b) if op in OTHERS else union(a, b)
    kind = holding(a, b, span)
    # Quotients by 0 and remainders, and bits: any value of the type.
    return kind, span if op in ("max", "min", "mux") else kind.bounds


def of_numbers(numbers: Sequence[int]) -> Span:
    """Of public numbers."""
    return (min(numbers), max(numbers)) if numbers else (0, 0)
