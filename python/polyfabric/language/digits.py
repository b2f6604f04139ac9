"""Integers in digits of two bits: every operator appends lookups on digits, which the Rust half plans.

`crates/program` plans digits, carries and refreshes, and checks the noise. This module chooses the common width of the operands. A value with a range has
a width that holds the range, so it never wraps:

    a: pf.UInt(8), n from 0 to 300    a + n has 9 bits and wraps
    m from 0 to 7, n from 0 to 300    m + n is from 0 to 307, in 9 bits
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from . import ranges
from .place import place
from .public_operands import Public
from .ranges import Span, Width
from .types import MOST_INDEX, Type

if TYPE_CHECKING:
    from .tracer import Tracer

MOST_TABLED = 8
"""Most bits of an integer for which a chain of operations on it and on public numbers becomes one wide table."""

LEAST_TABLED = 4
"""Most bits of an integer for which one lookup gives a digit of the chain's result, without a wide table."""

MOST_STEPS = 64
"""Most operations of such a chain."""

BY_SIGNS = 10
"""Widest integers that are compared on slots by the signs of their digits."""


class Digits:
    """A vector of integers, or a single one."""

    __slots__ = ("handle", "length", "of", "scalar", "span", "stride", "tracer", "truth", "width")

    def __init__(
        self,
        tracer: Tracer,
        handle: int,
        *,
        scalar: bool,
        span: Span | None = None,
        stride: int = 1,
        truth: bool = False,
    ) -> None:
        bits, signed, count = tracer.builder.integer_type(handle)
        self.tracer = tracer
        self.handle = handle
        self.width: Width = (bits, signed)
        """The width of the digits."""
        self.length = count
        self.scalar = scalar and count == 1
        self.span = ranges.TRUTH if truth else span
        """The exact range; `None` for integers with a width, which wrap."""
        self.stride = stride if span is not None and span[0] < span[1] else 1
        """Step between possible values of a range."""
        self.truth = truth
        """Whether they are truth values."""
        self.of: tuple[Digits, Callable[[int], int], int] | None = None
        """If this is computed from one integer of few bits and public numbers: that integer, the function, and the number of operations."""

    @property
    def bounds(self) -> Span:
        """The least and the greatest value."""
        return self.span or ranges.bounds(self.width)

    @property
    def steps(self) -> tuple[int, int]:
        """The least value and the step to the next, 0 for a constant."""
        lo, hi = self.bounds
        return lo, self.stride if lo < hi else 0

    @property
    def type(self) -> Type:
        """The type of one value, and their number."""
        if self.truth:
            one = Type("boolean", split=True)
        elif self.span is not None:
            one = Type("integer", *self.span, stride=self.stride, split=True)
        else:
            one = Type("integer", *self.bounds, bits=self.width[0], split=True)
        return one.of(self.length, scalar=self.scalar)

    # -- building ---------------------------------------------------------------------------------------------------

    def step(
        self,
        step: Callable[[Any], int],
        *others: Digits,
        scalar: bool | None = None,
        span: Span | None = None,
        stride: int = 1,
        truth: bool = False,
    ) -> Digits:
        """The result of a step."""
        self.tracer.builder.at(*place())
        if scalar is None:
            scalar = all(operand.scalar for operand in (self, *others))
        return Digits(self.tracer, step(self.tracer.builder), scalar=scalar, span=span, stride=stride, truth=truth)

    @classmethod
    def public(cls, tracer: Tracer, width: Width, given: Public, *, span: Span | None = None) -> Digits:
        """Public numbers as an operand."""
        tracer.builder.at(*place())
        handle = tracer.builder.integer_public(*width, [coded(number, width) for number in given.numbers])
        return cls(tracer, handle, scalar=given.scalar, span=span)

    def as_(self, width: Width) -> Digits:
        """The same values modulo 2^bits of another width."""
        if width == self.width:
            return self
        made = self.step(lambda builder: builder.integer_cast(self.handle, *width), span=self.span, stride=self.stride)
        return made.function(self, lambda own: own)

    @property
    def root(self) -> tuple[Digits, Callable[[int], int], int]:
        """The integer of few bits from which this is computed, the function, and the number of operations; else this value itself."""
        return self.of or (self, lambda value: value, 0)

    def function(self, operand: Digits, function: Callable[[int], int], steps: int = 1) -> Digits:
        """This value, a function of the operand modulo 2^bits, as a function of the operand's root."""
        root, own, before = operand.root
        if root.width[0] <= MOST_TABLED and before + steps <= MOST_STEPS and self.tracer.slot_tables is None:
            width = self.width
            self.of = root, lambda value: ranges.wrapped(function(own(value)), width), before + steps
        return self

    def tabled(self, function: Callable[[int], int], width: Width, span: Span | None) -> Digits | None:
        """A function of this value's root as one table; `None` if the root has too many bits for that, or lookups are asked for."""
        root = self.root[0]
        if root.width[0] > MOST_TABLED or self.tracer.slot_tables is not None:
            return None
        if root.width[0] > LEAST_TABLED:
            if not self.tracer.wide_operations:
                self.tracer.replaceable = True
                return None
            self.tracer.by_table = True
        return root.table(function, width, span)

    def as_type(self, kind: Type) -> Digits:
        """The same values, with the digits of the type: for signed types the last digit has both bits."""
        if -(-self.width[0] // 2) == kind.size and (kind.wraps or not kind.signed or self.width[0] % 2 == 0):
            return self
        return self.as_((2 * kind.size, kind.signed))

    def ranged(self, span: Span, stride: int = 1) -> Digits:
        """The same values, with a known range."""
        made = Digits(self.tracer, self.handle, scalar=self.scalar, span=span, stride=stride)
        made.of = self.of
        return made

    def operand(self, other: Digits | Public, width: Width) -> Digits:
        """Another operand in a width."""
        return other.as_(width) if isinstance(other, Digits) else Digits.public(self.tracer, width, other)

    def met(self, op: str, other: Digits | Public) -> tuple[Digits, Digits, Span | None]:
        """Both operands at their common width, and the range of the result if both have ranges."""
        theirs = other.bounds if isinstance(other, Digits) else other.span
        if self.span is None or (isinstance(other, Digits) and other.span is None):
            width, span = ranges.width(self.bounds, theirs), None
        else:
            numbers = other.numbers if isinstance(other, Public) else None
            span = ranges.spanned(op, self.span, theirs, numbers)
            width = ranges.width(span) if op in ranges.RINGS else ranges.width(self.span, theirs, span)
        return self.as_(width), self.operand(other, width), span

    def reversed(self, op: str, other: Public) -> tuple[Digits, Digits, Span | None]:
        """As `met`, with public numbers on the left."""
        if self.span is None:
            width, span = ranges.width(self.bounds, other.span), None
        else:
            span = ranges.spanned(op, other.span, self.span, other.numbers, swapped=True)
            width = ranges.width(span) if op in ranges.RINGS else ranges.width(self.span, other.span, span)
        return self.operand(other, width), self.as_(width), span

    # -- arithmetic -------------------------------------------------------------------------------------------------

    def binary(self, op: str, other: Digits | Public, *, swapped: bool = False) -> Digits:
        """An operation on two integers at their common width."""
        if swapped and isinstance(other, Public):
            a, b, span = self.reversed(op, other)
        else:
            a, b, span = self.met(op, other)
        stride = ranges.stride(op, self.steps, other.steps)
        made = self._of_one_root(op, other, a.width, span) if isinstance(other, Digits) else None
        if made is None:
            made = a.step(lambda builder: builder.integer_binary(op, a.handle, b.handle), b, span=span, stride=stride)
        if isinstance(other, Public) and other.scalar and op in ranges.RINGS:
            of, number = ranges.RINGS[op], other.numbers[0]
            made.function(self, (lambda own: of(number, own)) if swapped else (lambda own: of(own, number)))
        return made

    def _of_one_root(self, op: str, other: Digits, width: Width, span: Span | None) -> Digits | None:
        """The product of two functions of one integer of few bits, as a table of it."""
        (root, own, steps), (other_root, other_own, other_steps) = self.root, other.root
        if op != "*" or steps + other_steps == 0 or root.handle != other_root.handle:
            return None
        return self.tabled(lambda value: own(value) * other_own(value), width, span)

    def compared(self, op: str, other: Digits | Public) -> Digits:
        """Truth values of a comparison."""
        a, b, _ = self.met("mux", other)
        bits, signed = a.width
        if self.tracer.slot_tables is None or op in ("==", "!=") or signed or bits <= BY_SIGNS:
            return a.step(lambda builder: builder.integer_binary(op, a.handle, b.handle), b, truth=True)
        # On slots a chain of lookups takes no longer than a tree of as many, and borrows take fewer than signs.
        low, high = (a, b) if op in ("<", ">=") else (b, a)
        borrowed = low.step(
            lambda builder: builder.integer_overflowing("-", low.handle, high.handle)[1], high, truth=True
        )
        return ~borrowed if op in ("<=", ">=") else borrowed

    def logic(self, op: str, other: Digits | Public) -> Digits:
        """A gate of truth values."""
        b = self.operand(other, self.width)
        return self.step(lambda builder: builder.integer_binary(op, self.handle, b.handle), b, truth=True)

    def unary(self, op: str, width: Width, span: Span | None, stride: int = 1) -> Digits:
        """An operation on one integer, at a width that holds the result."""
        own = self.as_(width)
        return own.step(lambda builder: builder.integer_unary(op, own.handle), span=span, stride=stride)

    def __neg__(self) -> Digits:
        span = self.span and (-self.span[1], -self.span[0])
        return self.unary("-", self.width if span is None else ranges.width(span), span, self.stride)

    def __abs__(self) -> Digits:
        if self.span is None:
            return self.unary("abs", self.width, None)
        if self.span[0] >= 0:
            return self.ranged(self.span, self.stride)
        span = ranges.absolute(self.span)
        return self.unary("abs", ranges.width(self.span, span), span).as_(ranges.width(span))

    def __invert__(self) -> Digits:
        """Inverts every bit of the width; negates truth values."""
        made = self.unary("~", self.width, None)
        return Digits(made.tracer, made.handle, scalar=made.scalar, truth=self.truth)

    def __pow__(self, exponent: int) -> Digits:
        span = self.span and ranges.power(self.span, exponent)
        own = self if span is None else self.as_(ranges.width(span))
        _, of, steps = own.root
        if exponent > 1 and steps:
            # Python computes no more of the power than counts.
            tabled = own.tabled(lambda value: pow(of(value), exponent, 1 << own.width[0]), own.width, span)
            if tabled is not None:
                return tabled
        return own.step(lambda builder: builder.integer_pow(own.handle, exponent), span=span)

    def power_modulo(self, exponent: int, modulus: int) -> Digits:
        """self**exponent % modulus as in Python: square and multiply, each product reduced at a width where it does not wrap."""
        span = (0, modulus - 1)
        width = ranges.width(self.bounds, (0, modulus))
        own = Digits(self.tracer, self.as_(width).handle, scalar=self.scalar)
        found = own._residue(exponent, modulus)
        return found if self.span is None else found.as_(ranges.width(span)).ranged(span)

    def _residue(self, exponent: int, modulus: int) -> Digits:
        of = Public([modulus], scalar=True)
        if exponent == 0 or modulus & (modulus - 1) == 0:
            # Products wrap modulo a multiple of this power of two.
            return (self**exponent).divided(of)[1]
        base = self.divided(of)[1].as_((2 * modulus.bit_length(), False))
        found = base
        for bit in f"{exponent:b}"[1:]:
            found = found.binary("*", found).divided(of)[1]
            if bit == "1":
                found = found.binary("*", base).divided(of)[1]
        return found.as_(self.width)

    def divided(self, other: Digits | Public, *, swapped: bool = False) -> tuple[Digits, Digits]:
        """Quotient and remainder."""
        if swapped and isinstance(other, Public):
            a, b, _ = self.reversed("//", other)
            spans = (other.span, self.span)
        else:
            if isinstance(other, Public) and other.scalar:
                by = other.numbers[0]
                if 0 < by <= self.bounds[1] and by & (by - 1) == 0:
                    # For a power of two both results are bits of the dividend, rounded down as in Python.
                    return self.shifted(">>", by.bit_length() - 1), self.binary("&", Public([by - 1], scalar=True))
            a, b, _ = self.met("//", other)
            spans = (self.span, other.span)
        numbers = other.numbers if isinstance(other, Public) else None
        found: list[Span | None] = [None, None]
        if spans[0] is not None and spans[1] is not None:
            found = [ranges.spanned(op, *spans, numbers, swapped=swapped) for op in ("//", "%")]
        made: list[int] = []

        def step(builder: Any) -> int:  # noqa: ANN401 - the native builder
            made.extend(builder.integer_divide(a.handle, b.handle))
            return made[0]

        quotient = a.step(step, b, span=found[0])
        return quotient, Digits(self.tracer, made[1], scalar=quotient.scalar, span=found[1])

    def checked(self, op: str, other: Digits | Public) -> tuple[Digits, Digits]:
        """The result, and whether it overflowed the width."""
        a, b, span = self.met(op, other)
        if span is not None:
            result = self.binary(op, other)
            zeros = Public([0] * result.length, scalar=result.scalar)
            over = Digits.public(self.tracer, (1, False), zeros)
            return result, Digits(self.tracer, over.handle, scalar=result.scalar, truth=True)
        made: list[int] = []

        def step(builder: Any) -> int:  # noqa: ANN401 - the native builder
            made.extend(builder.integer_overflowing(op, a.handle, b.handle))
            return made[0]

        result = a.step(step, b)
        return result, Digits(self.tracer, made[1], scalar=result.scalar, truth=True)

    # -- bits -------------------------------------------------------------------------------------------------------

    def shifted(self, direction: str, amount: Digits | int) -> Digits:
        """Shifts by a public or an encrypted amount; `direction` is "<<", ">>", "rotate_left" or "rotate_right"."""
        amounts = amount.bounds if isinstance(amount, Digits) else (amount, amount)
        own, span = self, self.span
        if self.span is not None:
            span = ranges.SPANS[direction](self.span, (max(0, amounts[0]), amounts[1]))
            own = self.as_(ranges.width(span)) if direction == "<<" else self
        if isinstance(amount, Digits):
            if amounts[0] >= 0 and amount.width[1]:
                amount = amount.as_(ranges.width(amounts))
            by = amount
            return own.step(lambda builder: builder.integer_shift(direction, own.handle, 0, by.handle), by, span=span)
        stride = self.stride << amount if direction == "<<" else 1
        self.tracer.splits |= bool(amount % 2 or own.width[0] % 2) and not self.tracer.wide_operations

        def step(builder: Any) -> int:  # noqa: ANN401 - the native builder
            # A sum has digits alone.
            of = own.handle if self.tracer.bits else builder.integer_sum([(1, own.handle)])
            moved = builder.integer_shift(direction, of, amount, None)
            return moved if self.tracer.bits else builder.integer_sum([(1, moved)])

        return own.step(step, span=span, stride=stride)

    def bit(self, index: int) -> Digits:
        """Bit `index`, 0 the least significant."""
        at = min(index, self.width[0] - 1) if self.width[1] else index
        if at >= self.width[0]:
            zeros = Digits.public(self.tracer, (1, False), Public([0] * self.length, scalar=self.scalar))
            return Digits(self.tracer, zeros.handle, scalar=self.scalar, truth=True)
        return self.step(lambda builder: builder.integer_bit(self.handle, at), truth=True)

    def leading_zeros(self) -> Digits:
        """The number of zeros above the highest 1."""
        span = (0, self.width[0])
        return self.unary("leading_zeros", self.width, span).as_(ranges.width(span))

    # -- choices and tables -----------------------------------------------------------------------------------------

    def chosen(self, then: Digits | Public, otherwise: Digits | Public) -> Digits:
        """`then` where this truth value holds, else `otherwise`."""
        if isinstance(then, Digits) and isinstance(otherwise, Digits) and then.truth and otherwise.truth:
            a, b, span, stride, truth = then, otherwise, None, 1, True
        else:
            stride, truth = ranges.stride("mux", then.steps, otherwise.steps), False
            if isinstance(then, Public) and isinstance(otherwise, Public):
                span = ranges.union(then.span, otherwise.span)
                width, stride = ranges.width(span), 1
                a, b = (Digits.public(self.tracer, width, choice) for choice in (then, otherwise))
            elif isinstance(then, Digits):
                a, b, span = then.met("mux", otherwise)
            else:
                assert isinstance(otherwise, Digits)
                b, a, span = otherwise.met("mux", then)
        return self.step(
            lambda builder: builder.integer_select(self.handle, a.handle, b.handle),
            a,
            b,
            span=span,
            stride=stride,
            truth=truth,
        )

    def table(self, function: Callable[[int], int], width: Width, span: Span | None, *, truth: bool = False) -> Digits:
        """A function of each element, as a table for all digits; entries beyond the range are 0."""
        lo, hi = self.bounds
        bits, signed = ranges.width(self.bounds)
        if bits > MOST_INDEX and lo:
            # Few values far from 0: the table begins at the least value.
            moved = self.binary("-", Public([lo], scalar=True))
            return moved.table(lambda value: function(value + lo), width, span, truth=truth)
        index = self.as_((bits, signed)).as_((bits, False))
        values = (code - (1 << bits) if signed and code >> (bits - 1) else code for code in range(1 << bits))
        entries = [coded(function(value) if lo <= value <= hi else 0, width) for value in values]
        return index.step(lambda builder: builder.integer_table(index.handle, *width, entries), span=span, truth=truth)

    # -- vectors ----------------------------------------------------------------------------------------------------

    def taken(self, indices: Sequence[int], *, scalar: bool = False) -> Digits:
        """The elements at these indices."""
        return self.step(
            lambda builder: builder.integer_take(self.handle, list(indices)),
            scalar=scalar,
            span=self.span,
            stride=self.stride,
            truth=self.truth,
        )

    def holds(self, rows: Sequence[Sequence[int]], *, any_of: bool, scalar: bool = True) -> Digits:
        """For each row of indices, whether all of these truth values hold, or any."""
        given = [list(row) for row in rows]
        return self.step(lambda builder: builder.integer_holds(self.handle, given, any_of), scalar=scalar, truth=True)

    def total(self) -> Digits:
        """The sum of the elements."""
        span = self.span and (self.span[0] * self.length, self.span[1] * self.length)
        own = self if span is None else self.as_(ranges.width(span))
        return own.step(
            lambda builder: builder.integer_unary("total", own.handle), scalar=True, span=span, stride=self.stride
        )

    def weighted(self, weights: Sequence[int], width: Width | None) -> Digits:
        """The weighted sum of the elements, at a width that all weights fit. Elements with equal weights are summed first, so each weight
        multiplies once; those with weight 0 are left out."""
        places: dict[int, list[int]] = {}
        for index, weight in enumerate(weights):
            if weight:
                places.setdefault(int(weight), []).append(index)
        own = self if width is None else self.as_(width)
        sums = [
            (weight, total([own.taken([index], scalar=True) for index in indices]))
            for weight, indices in places.items()
        ]
        if not sums:
            sums = [(0, own.taken([0], scalar=True))]
        return total(
            [part if weight == 1 else part.binary("*", Public([weight], scalar=True)) for weight, part in sums]
        )


def coded(number: int, width: Width) -> list[int]:
    """The digits of a number, least significant first."""
    bits = width[0]
    number &= (1 << bits) - 1
    return [number >> place & 3 for place in range(0, bits, 2)]


def total(values: Sequence[Digits], known: Span | None = None) -> Digits:
    """The sum of all values, with few carries. If all values have ranges, so has the sum: `known`, or else the sum of the ranges."""
    first, *rest, span = _in_one_width(values, lambda spans: known or reduce(ranges.SPANS["+"], spans))
    addends = [(1, value.handle) for value in (first, *rest)]
    stride = 1 if known else ranges.stride("+", *(value.steps for value in values))
    return first.step(lambda builder: builder.integer_sum(addends), *rest, span=span, stride=stride)


def joined(values: Sequence[Digits]) -> Digits:
    """The elements of all values in order."""
    first, *rest, span = _in_one_width(values, lambda spans: ranges.union(*spans))
    handles = [value.handle for value in (first, *rest)]
    return first.step(
        lambda builder: builder.integer_concat(handles),
        *rest,
        scalar=False,
        span=span,
        stride=ranges.stride("mux", *(value.steps for value in values)),
        truth=all(value.truth for value in values),
    )


def _in_one_width(values: Sequence[Digits], spanned: Callable[[list[Span]], Span]) -> Any:  # noqa: ANN401 - values, and a range
    """The values at their common width, followed by the range of the result if all have ranges."""
    spans = [value.span for value in values if value.span is not None]
    if len(spans) == len(values):
        span: Span | None = spanned(spans)
        assert span is not None
        width = ranges.width(span)
    else:
        span, width = None, ranges.width(*(value.bounds for value in values))
    return [*(value.as_(width) for value in values), span]
