"""Encrypted fixed-point numbers: integers in steps of 2^-point. An operation is exact on integers with ranges, then rounded, then fitted to its type.

For `x` and `y` of `pf.Fixed(16, 8)`, `x * y` multiplies the two integers of 16 bits. The product is in steps of 2^-16: shifted right by 8, it is
rounded down to steps of 2^-8, and its lower 16 bits are the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from typing import Any, NoReturn

import numpy as np

from ..errors import shown
from . import digits, lowering, ranges
from .digits import Digits
from .fixed_type import FixedType, common, number, numbers_of
from .instead import Absences
from .lowering import split
from .place import refuse
from .public_operands import Public
from .tracer import Unfit
from .types import MOST_INDEX, SInt, Type
from .values import TfheValue


class FixedValue(TfheValue):
    """An encrypted fixed-point number, or a vector of them. Arithmetic as usual."""

    __slots__ = ("kind",)
    __hash__ = Absences.__hash__
    METHODS = TfheValue.METHODS | {"mean"}
    form: Digits

    def __init__(self, form: Digits, kind: FixedType) -> None:
        super().__init__(form)
        self.kind = kind.one
        """Type of one element."""

    @property
    def type(self) -> FixedType:
        """Width, point and modes, and length."""
        return self.kind.of(self.length, scalar=self.scalar)

    def _like(self, form: Any) -> FixedValue:  # noqa: ANN401 - digits
        return FixedValue(form, self.kind)

    def _instead(self, name: str, operands: int) -> str:  # noqa: ARG002 - as of all values
        return (
            "write it with + - * /, comparisons, pf.where, pf.max, pf.min, pf.sort and pf.lookup(x, f); for integers cast it, "
            f"x.cast({SInt(self.kind.bits or 2)!r})"
        )

    # -- operands ---------------------------------------------------------------------------------------------------

    @property
    def steps(self) -> Digits:
        """The integers, with their range."""
        return self.form.ranged(self.kind.bounds)

    def _no_bits(self, *_: object, **__: object) -> NoReturn:
        raise refuse(
            f"an encrypted {self.type} has + - * / and comparisons; for a power write x * x, for a shift x / 2, and for //, bits and rounding "
            f"to integers cast it, x.cast({SInt(self.kind.bits or 2)!r})"
        )

    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __pow__ = __rpow__ = _no_bits  # type: ignore[assignment]
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _no_bits  # type: ignore[assignment]
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = bit = bit_count = leading_zeros = _no_bits  # type: ignore[assignment]
    rotate_left = rotate_right = checked_add = checked_sub = checked_mul = assume = step = _no_bits  # type: ignore[assignment]
    __round__ = __trunc__ = __floor__ = __ceil__ = _no_bits  # type: ignore[assignment]

    def _noted(self, op: str, made: TfheValue, *operands: object) -> Any:  # noqa: ANN401 - the value
        """Records `made` as `op` of the operands. Public ones are noted as they are rounded to its type."""
        if isinstance(made, FixedValue):
            operands = tuple(
                own if isinstance(own, TfheValue | Type) else _constants(own, made.kind) for own in operands
            )
        self._tracer.reference.note(op, made, operands, {}, within=True)
        return made

    # -- arithmetic -------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> FixedValue:  # noqa: ANN401 - encrypted or public numbers, as in all that follow
        return self._noted("+", _added([self, other]), self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> FixedValue:  # noqa: ANN401
        return self._noted("-", self._combined("-", self, other), self, other)

    def __rsub__(self, other: Any) -> FixedValue:  # noqa: ANN401
        return self._noted("-", self._combined("-", other, self), other, self)

    def __mul__(self, other: Any) -> FixedValue:  # noqa: ANN401
        return self._noted("*", self._combined("*", self, other), self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> FixedValue:  # noqa: ANN401
        return self._noted("/", divided(self, self, other), self, other)

    def __rtruediv__(self, other: Any) -> FixedValue:  # noqa: ANN401
        return self._noted("/", divided(self, other, self), other, self)

    def _combined(self, op: str, a: Any, b: Any) -> FixedValue:  # noqa: ANN401
        """A difference or a product."""
        kind = _common(self, a, b)
        if op == "*":
            (one, at), (other, by) = _factor(a, kind), _factor(b, kind)
            shift = at + by - kind.point
        else:
            one, other, shift = _aligned(a, kind), _aligned(b, kind), 0
        one, other = _lowest(kind, shift, ranges.SPANS[op](_span(one), _span(other)), one, other)
        return _fitted(_binary(op, one, other), shift, kind)

    @property
    def _own(self) -> Digits:
        """The integers, modulo 2^bits if results wrap."""
        return self.steps if self.kind.overflow == "saturate" else self.form

    def __neg__(self) -> FixedValue:
        return self._noted("neg", _fitted(-self._own, 0, self.kind), self)

    def __abs__(self) -> FixedValue:
        return self._noted("abs", _fitted(abs(self._own), 0, self.kind), self)

    def sum(self) -> FixedValue:
        """The exact sum of the elements, fitted to the type once."""
        return self._noted("sum", _fitted(self._own.total(), 0, self.kind), self)

    def mean(self) -> FixedValue:
        """The mean of the elements, rounded once."""
        quotients = _quotients(self.steps.total(), Public([self.length], scalar=True), self.kind)
        return self._noted("mean", _fitted(quotients, 0, self.kind), self)

    def __matmul__(self, other: Any) -> FixedValue:  # noqa: ANN401
        return self._noted("dot", self._product(other, right=True), self, other)

    def __rmatmul__(self, other: Any) -> FixedValue:  # noqa: ANN401
        return self._noted("dot", self._product(other, right=False), other, self)

    def _product(self, other: Any, *, right: bool) -> FixedValue:  # noqa: ANN401
        """The sums of products with a vector or a public matrix, which may be the `right` operand. They are exact, then fitted once."""
        kind, own = _common(self, other), self.steps
        shape = _shape(other)
        if self.scalar or not shape:
            raise refuse(f"@ takes vectors, but an operand next to {self.type} is a single number; use *")
        inner = shape[0] if right else shape[-1]
        if len(shape) > 2 or 0 in shape or inner != self.length:
            raise refuse(
                f"an operand of {' x '.join(map(str, shape))} cannot be multiplied with {self.type}; give a vector of {self.length}, or a public "
                f"matrix with {self.length} columns, or rows if it is the right operand"
            )
        if isinstance(other, TfheValue):
            theirs, by = _factor(other, kind)
            shift = self.kind.point + by - kind.point  # 0 or more: the point of the type is the greater of the two
            lo, hi = ranges.SPANS["*"](_span(own), _span(theirs))
            own, theirs = _lowest(kind, shift, (lo * self.length, hi * self.length), own, theirs)
            return _fitted(own.binary("*", theirs).total(), shift, kind)
        weights, by = _factor(numbers_of(other).reshape(-1), kind)
        rows = np.array([*weights.numbers, None], dtype=object)[:-1].reshape(shape)
        rows = np.atleast_2d(rows.T if right else rows)
        (own,) = _lowest(kind, by, ranges.weighted(rows.tolist(), _span(own)), own)
        sums = [own.weighted(row, None if own.span else own.width) for row in rows.tolist()]
        return _fitted(sums[0] if len(shape) == 1 else digits.joined(sums), by, kind)

    # -- comparisons ------------------------------------------------------------------------------------------------

    def _compared(self, op: str, other: object) -> TfheValue:
        """Exact, also with public numbers that the type does not hold."""
        if isinstance(other, TfheValue):
            _expect_operand(self, other)
            theirs, by = _factor(other, self.kind)
            own, at = self.steps, self.kind.point
            found = _raised(own, max(by - at, 0)).compared(op, _raised(theirs, max(at - by, 0)))
            return self._noted(op, TfheValue(found), self, other)
        listed, scalar = _listed(other, self.kind)
        given = [number(f"a public operand of {self.kind}", own) for own in listed]
        bounds = Public([self._bound(op, own) for own in given], scalar=scalar)
        return self._noted(op, TfheValue(lowering.compared(op, self.form, bounds)), self, given)

    def _bound(self, op: str, value: Fraction) -> int:
        """The integer with which these integers compare as the numbers do with `value`."""
        steps = value * (1 << self.kind.point)
        if op in ("==", "!="):
            return int(steps) if steps.denominator == 1 else self.kind.hi + 1
        return ceil(steps) if op in ("<", ">=") else floor(steps)

    def __lt__(self, other: Any) -> TfheValue:  # noqa: ANN401
        return self._compared("<", other)

    def __le__(self, other: Any) -> TfheValue:  # noqa: ANN401
        return self._compared("<=", other)

    def __gt__(self, other: Any) -> TfheValue:  # noqa: ANN401
        return self._compared(">", other)

    def __ge__(self, other: Any) -> TfheValue:  # noqa: ANN401
        return self._compared(">=", other)

    def __eq__(self, other: object) -> TfheValue:  # type: ignore[override]
        return self._compared("==", other)

    def __ne__(self, other: object) -> TfheValue:  # type: ignore[override]
        return self._compared("!=", other)

    # -- types ------------------------------------------------------------------------------------------------------

    def cast(self, kind: Type) -> TfheValue:
        """The same numbers in another type. A `pf.Fixed` rounds and overflows as it declares; an integer rounds as this type, modulo 2^bits."""
        if isinstance(kind, FixedType):
            return self._noted("cast", converted(self.steps, self.kind.point, kind.one), self, kind.one)
        if not isinstance(kind, Type) or kind.kind != "integer" or not kind.wraps:
            raise refuse(
                f"cast: {kind} is no type for a fixed-point number; give pf.Fixed(bits, point), pf.UInt(bits) or pf.SInt(bits)"
            )
        if self.kind.point:
            # One more bit, since a number may be rounded up.
            bits = max(2, self.kind.width - self.kind.point + 1)
            whole = replace(self.kind, point=0, overflow="wrap")._spanning(bits, signed=self.kind.signed)
            return self.cast(whole).cast(kind)
        made = self.form.as_((kind.width, kind.signed))
        return self._noted("cast", TfheValue(Digits(self._tracer, made.handle, scalar=made.scalar)), self, kind.one)


# -- integers in steps of a type --------------------------------------------------------------------------------------


def _expect_operand(first: FixedValue, other: TfheValue) -> None:
    """Rejects values of other programs, texts and fractions modulo 1."""
    if not isinstance(other, FixedValue):
        first.operand(other)
    if other.type.kind == "torus":
        raise refuse(f"{other.type} cannot be combined with {first.type}; declare it as pf.Fixed(bits, point)")
    if other._tracer is not first._tracer:
        raise refuse("the operands belong to two different programs; use values of one program")


def _common(first: FixedValue, *others: object) -> FixedType:
    """The type of a result: it holds the values of all encrypted operands."""
    encrypted = [other for other in others if isinstance(other, TfheValue)]
    for other in encrypted:
        _expect_operand(first, other)
    return common(first.kind, *(other.type for other in encrypted))


def _shape(value: object) -> tuple[int, ...]:
    """The extents of a vector or a public matrix; none of a single number."""
    if isinstance(value, TfheValue):
        return () if value.scalar else (value.length,)
    return numbers_of(value).shape


def _constants(value: object, kind: FixedType) -> Any:  # noqa: ANN401 - a list, or a matrix
    """Public operands, rounded to a type."""
    array = numbers_of(value)
    found = [kind.constant(own) for own in array.reshape(-1).tolist()]
    return np.array([*found, None], dtype=object)[:-1].reshape(array.shape) if array.ndim > 1 else found


def _listed(given: object, kind: FixedType) -> tuple[list[Any], bool]:
    """Public operands, and whether it is a single one."""
    array = numbers_of(given)
    if array.ndim > 1:
        raise refuse(
            f"an array of {' x '.join(map(str, array.shape))} cannot be combined with {kind}; use @ for a matrix, or flatten it"
        )
    return array.reshape(-1).tolist(), array.ndim == 0


def _factor(value: object, kind: FixedType) -> tuple[Any, int]:
    """An operand as integers, and the point that they have: for public numbers, rounded to the type, the least that suffices."""
    if isinstance(value, FixedValue):
        return value.steps, value.kind.point
    if isinstance(value, TfheValue):
        own = split(value.form)
        return own.ranged(own.bounds, own.stride), 0
    given, scalar = _listed(value, kind)
    constants = [kind.constant(own) for own in given]
    point = max((own.denominator.bit_length() - 1 for own in constants), default=0)
    return Public([int(own * (1 << point)) for own in constants], scalar=scalar), point


def _aligned(value: object, kind: FixedType) -> Any:  # noqa: ANN401 - encrypted or public integers
    """An operand as integers in steps of the type."""
    own, point = _factor(value, kind)
    if isinstance(own, Public):
        return Public([one << (kind.point - point) for one in own.numbers], scalar=own.scalar)
    return _raised(own, kind.point - point)


def _raised(value: Digits, by: int) -> Digits:
    return value.shifted("<<", by) if by else value


def _span(value: Digits | Public) -> ranges.Span:
    return value.bounds if isinstance(value, Digits) else value.span


def _binary(op: str, one: Any, other: Any) -> Digits:  # noqa: ANN401 - encrypted or public integers, not both public
    if isinstance(one, Public):
        return other.binary(op, one, swapped=True)
    if isinstance(other, Digits) and one.handle == other.handle and one.span and other.span:
        # Widened once, so that a square is known as one.
        one = other = one.as_(ranges.width(ranges.SPANS[op](one.span, other.span)))
    return one.binary(op, other)


def _lowest(kind: FixedType, shift: int, span: ranges.Span, *operands: Any) -> Any:  # noqa: ANN401 - encrypted and public integers
    """Operands of sums and products whose results, of the range `span`, are shifted right and fitted.

    They are reduced modulo 2^(bits + shift) if the result keeps no higher bits: unless it saturates, or is rounded by its sign.
    """
    width = shift + kind.width
    if kind.overflow == "saturate" or (shift and kind.rounding == "zero") or ranges.width(span)[0] <= width:
        return operands
    handles: dict[int, int] = {}
    low = []
    for own in operands:
        if isinstance(own, Digits):
            if own.handle not in handles:
                handles[own.handle] = own.as_((width, kind.signed)).handle
            own = Digits(own.tracer, handles[own.handle], scalar=own.scalar)
        low.append(own)
    return tuple(low)


def _shifted(value: Digits, shift: int, rounding: str) -> Digits:
    """The integers over 2^shift, rounded."""
    if not shift:
        return value
    if rounding == "nearest":
        # Half a step less one, and one more if the result would be odd: exact halves go to the even neighbor.
        value = value.binary("+", value.bit(shift).ranged(ranges.TRUTH))
        value = value.binary("+", Public([(1 << (shift - 1)) - 1], scalar=True))
    elif rounding == "zero" and value.bounds[0] < 0:
        below = value.bit(value.width[0] - 1).chosen(Public([(1 << shift) - 1], scalar=True), Public([0], scalar=True))
        value = value.binary("+", below)
    return value.shifted(">>", shift)


def _fitted(value: Digits, shift: int, kind: FixedType) -> FixedValue:
    """The integers over 2^shift as a type rounds and holds them."""
    value = _shifted(value, shift, kind.rounding)
    if kind.overflow == "saturate":
        if value.bounds[1] > kind.hi:
            value = value.binary("min", Public([kind.hi], scalar=True))
        if value.bounds[0] < kind.lo:
            value = value.binary("max", Public([kind.lo], scalar=True))
    value = value.as_((kind.width, kind.signed))
    return FixedValue(Digits(value.tracer, value.handle, scalar=value.scalar), kind)


def converted(value: Digits, point: int, kind: FixedType) -> FixedValue:
    """Integers in steps of 2^-point in a type."""
    return _fitted(_raised(value, max(0, kind.point - point)), max(0, point - kind.point), kind)


def from_integer(value: TfheValue, kind: FixedType) -> FixedValue:
    """Encrypted integers in a type."""
    own = split(value.form)
    return converted(own.ranged(own.bounds, own.stride), 0, kind.one)


# -- operations of several values ----------------------------------------------------------------------------------------


def first_of(values: Sequence[object]) -> FixedValue | None:
    """The first fixed-point number among the operands, which makes the result one."""
    return next((value for value in values if isinstance(value, FixedValue)), None)


def total(values: Sequence[Any]) -> FixedValue:
    """The exact sum of encrypted and public numbers, fitted to its type once."""
    made = _added(values)
    noted = [own if isinstance(own, TfheValue) else _constants(own, made.kind) for own in values]
    made._tracer.reference.note("sum", made, (noted,), {}, within=True)
    return made


def _added(values: Sequence[Any]) -> FixedValue:
    first = first_of(values)
    assert first is not None
    kind = _common(first, *values)
    given = [_aligned(value, kind) for value in values]
    lo, hi = (sum(ends) for ends in zip(*(_span(value) for value in given), strict=True))
    given = _lowest(kind, 0, (lo, hi), *given)
    encrypted = [value for value in given if isinstance(value, Digits)]
    made = encrypted[0] if len(encrypted) == 1 else digits.total(encrypted)
    for value in given:
        if isinstance(value, Public):
            made = made.binary("+", value)
    return _fitted(made, 0, kind)


def extreme(op: str, a: Any, b: Any) -> FixedValue:  # noqa: ANN401 - encrypted or public numbers
    """The greater or the lesser of two: "max" or "min"."""
    first = first_of((a, b))
    assert first is not None
    kind = _common(first, a, b)
    found = _fitted(_binary(op, _aligned(a, kind), _aligned(b, kind)), 0, kind)
    return first._noted(op, found, a, b)  # type: ignore[no-any-return]


def chosen(condition: TfheValue, then: Any, otherwise: Any) -> FixedValue:  # noqa: ANN401 - encrypted or public numbers
    """`then` where the condition holds, else `otherwise`."""
    first = first_of((then, otherwise))
    assert first is not None
    _expect_operand(first, condition)
    kind = _common(first, then, otherwise)
    own: Digits = split(condition.form)
    if not own.truth:
        own = Digits(own.tracer, own.as_((1, False)).handle, scalar=own.scalar, truth=True)
    found = _fitted(own.chosen(_aligned(then, kind), _aligned(otherwise, kind)), 0, kind)
    return first._noted("mux", found, condition, then, otherwise)  # type: ignore[no-any-return]


def joined(values: Sequence[TfheValue]) -> FixedValue:
    """The elements of all values in order."""
    first = first_of(values)
    assert first is not None
    kind = _common(first, *values)
    return _fitted(digits.joined([_aligned(value, kind) for value in values]), 0, kind)


def tabulated(value: TfheValue, table: Any, result: Type | None) -> TfheValue:  # noqa: ANN401 - a user's function or list
    """Any function of each number, as a table: of fixed-point numbers, or with such results."""
    own, of = value.type, value.kind if result is None and isinstance(value, FixedValue) else result
    if own.kind == "torus" or not isinstance(of, Type) or not of.scalar or not (of.wraps or of.kind == "boolean"):
        raise refuse(
            f"lookup: there is no table from {own} to {of}; give result=pf.Fixed(bits, point), pf.UInt(bits) or pf.SInt(bits)"
        )
    size, point = ranges.size(own.bounds), own.point if isinstance(own, FixedType) else 0
    if size > 1 << MOST_INDEX:
        raise refuse(
            f"a table over {own} has {size} entries, but a table has at most 2^{MOST_INDEX}; cast it to fewer bits first"
        )
    if not callable(table) and numbers_of(table).shape != (size,):
        raise refuse(
            f"the lookup table is {shown(table)}, but {own} has {size} values; give a list with an entry for each, or a function"
        )
    try:
        given = [_entry(table, own, at) for at in range(size)]
        entries = [of.whole(entry) for entry in given]
    except Exception as error:
        if value._tracer.again:
            raise Unfit from error
        raise
    least, most = min(entries), max(entries)
    if least < of.lo or most > of.hi:
        raise refuse(f"lookup: the table's entries go from {least} to {most}, beyond {of!r}; widen result=")
    form: Digits = split(value.form)
    made = form.table(lambda at: entries[at - own.lo], (of.width, of.signed), None, truth=of.kind == "boolean")
    found = FixedValue(made, of) if isinstance(of, FixedType) else TfheValue(made)
    meant = [Fraction(entry, 1 << of.point) for entry in entries] if isinstance(of, FixedType) else entries
    value._tracer.reference.note("fixed lookup", found, (value, meant, [own.lo, point]), {}, within=True)
    return found


def _entry(table: Any, kind: Type, at: int) -> Any:  # noqa: ANN401 - a user's function or list, and what it gives
    """The entry of a table for the value number `at` of its operand."""
    if not callable(table):
        return table[at]
    value = kind.lo + at
    return table(kind.user(Fraction(value, 1 << kind.point)) if isinstance(kind, FixedType) else value)


# -- division ---------------------------------------------------------------------------------------------------------


def divided(first: FixedValue, a: Any, b: Any) -> FixedValue:  # noqa: ANN401 - encrypted or public numbers
    """a / b, rounded. Over 0 it has all bits 1 if a >= 0, and is 0 if a < 0, as integers."""
    kind = _common(first, a, b)
    (over, at), (under, by) = _factor(a, kind), _factor(b, kind)
    if isinstance(under, Public):
        zero = next((own for own, of in zip(under.numbers, _listed(b, kind)[0], strict=True) if of and not own), None)
        if zero is not None:
            raise refuse(
                f"a divisor is 0 when it is rounded to {kind.one}; cast x to a type with more bits after the point first"
            )
    # In steps of the result: a 2^-at / (b 2^-by) = (a 2^(point + by - at) / b) 2^-point.
    up = kind.point + by - at
    if isinstance(over, Public):
        public = Public([own << up for own in over.numbers], scalar=over.scalar)
        span = ranges.union(public.span, kind.bounds)
        over = Digits.public(first._tracer, ranges.width(span), public, span=span)
    else:
        over = _raised(over, up)
        over = over.ranged(ranges.union(_span(over), kind.bounds))
    return _fitted(_quotients(over, under, kind), 0, kind)


def _quotients(over: Digits, under: Any, kind: FixedType) -> Digits:  # noqa: ANN401 - encrypted or public integers
    """Quotients of integers as the type rounds them."""
    found, rest = over.divided(under)
    lo, _ = found.bounds
    if kind.rounding == "floor" or (kind.rounding == "zero" and lo >= 0):
        return found
    if kind.rounding == "zero":
        up = rest.compared("!=", Public([0], scalar=True)).logic("&", found.bit(found.width[0] - 1))
    else:
        # Above the middle: 2 |rest| > |divisor|, or equal and the quotient is odd.
        size = (
            Public([abs(own) for own in under.numbers], scalar=under.scalar)
            if isinstance(under, Public)
            else abs(under)
        )
        up = abs(rest).shifted("<<", 1).binary("+", found.bit(0).ranged(ranges.TRUTH)).compared(">", size)
    if isinstance(under, Public):
        known = Public([int(own != 0) for own in under.numbers], scalar=under.scalar)
        up = up if all(known.numbers) else up.logic("&", known)
    elif under.bounds[0] <= 0 <= under.bounds[1]:
        up = up.logic("&", under.compared("!=", Public([0], scalar=True)))
    return found.binary("+", up.ranged(ranges.TRUTH))
