"""Computes the range of a result from the ranges of its operands, and the common width of several values.

An integer has a range and is exact, or a width and wraps. A truth value ranges from 0 to 1, and a public number n from n to n.

- Operands that all have ranges give a range: `pf.Int(0, 7) + pf.Int(0, 7)` is a `pf.Int(0, 14)`.
- If one has a width, both are cast to the narrowest width that holds the values of both, and the result has this width:
  `pf.Int(0, 7) + pf.UInt(16)` is a `pf.UInt(16)`, `pf.Int(-4, 3) + pf.UInt(8)` a `pf.SInt(9)`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from math import gcd

from .place import refuse
from .types import MOST_BITS, needed_bits

Span = tuple[int, int]
"""The least and the greatest possible value."""

Width = tuple[int, bool]
"""Number of bits, and whether they are in two's complement."""

TRUTH: Span = (0, 1)

ENUMERATED = 1 << 12
"""Up to this number of operand values, the range of a function is that of all results; beyond, interval arithmetic gives it."""


def width(*spans: Span) -> Width:
    """The narrowest width that holds all values of these ranges."""
    lo, hi = union(*spans)
    bits = needed_bits(lo, hi)
    if bits > MOST_BITS:
        raise refuse(
            f"a result needs more than {MOST_BITS} bits, the most of any type; cast an operand first, as x.cast(pf.UInt(64)), to wrap at that width"
        )
    return bits, lo < 0


def bounds(of: Width) -> Span:
    """The range of a width."""
    bits, signed = of
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)


def wrapped(number: int, of: Width) -> int:
    """The number modulo 2^bits in a width."""
    bits, signed = of
    number &= (1 << bits) - 1
    return number - (1 << bits) if signed and number >> (bits - 1) else number


def union(*spans: Span) -> Span:
    """The narrowest range that holds all of them."""
    return min(lo for lo, _ in spans), max(hi for _, hi in spans)


def size(span: Span) -> int:
    """The number of integers in a range."""
    return span[1] - span[0] + 1


def of_numbers(numbers: Sequence[int]) -> Span:
    """The range of public numbers."""
    return (min(numbers), max(numbers)) if numbers else (0, 0)


def quotient(x: int, y: int, of: Width) -> int:
    """x / y rounded down. Division by 0 gives all bits of the width for x >= 0, and 0 for x < 0."""
    return x // y if y else (-1 if of[1] else bounds(of)[1]) if x >= 0 else 0


def remainder(x: int, y: int) -> int:
    """The remainder, with the divisor's sign; x for y = 0."""
    return x % y if y else x


def _corners(rule: Callable[[int, int], int], a: Span, b: Span) -> Span:
    found = [rule(x, y) for x in a for y in b]
    return min(found), max(found)


def _signs(b: Span) -> Iterable[Span]:
    """The parts of a range below and above 0."""
    if b[0] < 0:
        yield b[0], min(b[1], -1)
    if b[1] > 0:
        yield max(b[0], 1), b[1]


def _quotients(a: Span, b: Span) -> Span:
    found = [_corners(operator.floordiv, a, part) for part in _signs(b)]
    if b[0] <= 0 <= b[1]:
        of = width(a, b)
        found += [(end, end) for end in {quotient(x, 0, of) for x in a}]
    return union(*found)


def _remainders(a: Span, b: Span) -> Span:
    found = [a] if b[0] <= 0 <= b[1] else []
    for lo, hi in _signs(b):
        if hi > 0:
            found.append(a if a[0] >= 0 and a[1] < lo else (0, min(hi - 1, a[1]) if a[0] >= 0 else hi - 1))
        else:
            found.append(a if a[1] <= 0 and a[0] > hi else (max(lo + 1, a[0]) if a[1] <= 0 else lo + 1, 0))
    return union(*found)


def _common_bits(a: Span, b: Span) -> Span:
    if a[0] >= 0 or b[0] >= 0:
        return 0, min(span[1] for span in (a, b) if span[0] >= 0)
    return bounds(width(a, b))


def _any_bits(a: Span, b: Span) -> Span:
    return bounds(width(a, b))


def _shifts(rule: Callable[[int, int], int]) -> Callable[[Span, Span], Span]:
    def shifts(a: Span, amounts: Span) -> Span:
        if a != (0, 0) and rule is operator.lshift and amounts[1] > MOST_BITS:
            raise refuse(
                f"a value is shifted by up to {amounts[1]} bits, but types have at most {MOST_BITS}; narrow the amount, or cast the value, "
                "as x.cast(pf.UInt(64)), to wrap at that width"
            )
        return (0, 0) if a == (0, 0) else _corners(rule, a, (amounts[0], min(amounts[1], 1 << 16)))

    return shifts


SPANS: dict[str, Callable[[Span, Span], Span]] = {
    "+": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "-": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "*": lambda a, b: _corners(operator.mul, a, b),
    "//": _quotients,
    "%": _remainders,
    "&": _common_bits,
    "|": _any_bits,
    "^": _any_bits,
    "<<": _shifts(operator.lshift),
    ">>": _shifts(operator.rshift),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "mux": union,
    "**": lambda bases, exponents: union(*(power(bases, exponent) for exponent in (*exponents, 0))),
}
"""The range of a result, by operation, for two operands with ranges."""

RINGS: dict[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
"""Operations whose operands may be reduced modulo 2^bits of the result."""

FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "%": remainder,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "**": operator.pow,
}


def function(op: str, a: Span, b: Span) -> Callable[[int, int], int]:
    """The operation on two numbers of these ranges."""
    return (lambda x, y: quotient(x, y, width(a, b))) if op == "//" else FUNCTIONS[op]


def spanned(op: str, a: Span, b: Span, numbers: Sequence[int] | None = None, *, swapped: bool = False) -> Span:
    """The range of a result. With few public `numbers` (the second operand, or the first if `swapped`) all results are enumerated."""
    if numbers is not None and (op in FUNCTIONS or op == "//"):
        kinds, other = sorted(set(numbers)), a if not swapped else b
        if size(other) * len(kinds) <= ENUMERATED and (op not in ("<<", ">>", "**") or b[1] <= MOST_BITS):
            of = function(op, a, b)
            values = range(other[0], other[1] + 1)
            return of_numbers([of(*pair) for pair in (product(kinds, values) if swapped else product(values, kinds))])
    return SPANS[op](a, b)


def stride(op: str, *steps: tuple[int, int]) -> int:
    """The step between possible results, from the least value and the step of each operand; a constant's step is 0."""
    (lo, by), *rest = steps
    for other_lo, other_by in rest:
        if op == "*":
            by = gcd(by * other_lo, other_by * lo, by * other_by)
            lo *= other_lo
        elif op in ("max", "min", "mux"):
            by = gcd(by, other_by, lo - other_lo)
        else:
            by = gcd(by, other_by) if op in RINGS else 1
    return max(1, by)


def narrowed(own: tuple[int, int, int], known: tuple[int, int, int]) -> tuple[int, int, int]:
    """The least value, the greatest and the step of values that are in two ranges. The least exceeds the greatest if there are none."""
    lo, hi = max(own[0], known[0]), min(own[1], known[1])
    first, by = max((own[0], own[2]), (known[0], known[2]), key=lambda steps: steps[1])
    lo, hi = lo + (first - lo) % by, hi - (hi - first) % by
    return lo, hi, by if lo < hi else 1


def power(span: Span, exponent: int) -> Span:
    """The range of powers with a public exponent."""
    lo, hi = span
    if max(-lo, hi) > 1 and exponent > MOST_BITS:
        width((0, 1 << MOST_BITS))
    if exponent == 0:
        return 1, 1
    # For -1, 0 and 1 only the parity matters.
    exponent = min(exponent, MOST_BITS + exponent % 2)
    ends = [lo**exponent, hi**exponent, *([0] if lo < 0 < hi else [])]
    return min(ends), max(ends)


def absolute(span: Span) -> Span:
    """The range of absolute values."""
    lo, hi = span
    return max(0, lo, -hi), max(-lo, hi)


def weighted(rows: Iterable[Sequence[int]], span: Span) -> Span:
    """The range of the weighted sums, over all rows of weights."""
    found = []
    for row in rows:
        above = sum(weight for weight in row if weight > 0)
        below = sum(weight for weight in row if weight < 0)
        found.append((above * span[0] + below * span[1], above * span[1] + below * span[0]))
    return union(*found) if found else (0, 0)
