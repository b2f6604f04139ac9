"""Encrypted integers of any width: every operator appends look-ups on digits, which the Rust half plans.

The planning (digits, carries, when a digit is refreshed) is in `crates/program`, where a homomorphic program is built and its noise
checked; here are the operators, and public numbers as digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import reduce
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeGuard, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import ProgramError, shown
from . import counts
from .indices import picked
from .instead import BRANCHES, INTEGERS, Absences, membership, written
from .numpy_calls import NumpyCalls
from .place import expect_unmasked, place, refuse, whole
from .reference import means
from .types import MOST_BITS, MOST_CAST, IntegerType, SInt, TextType, UInt, holding, narrowest, text_bytes

if TYPE_CHECKING:
    from .values import Tracer, Value

_Vector = TypeVar("_Vector", "Integer", "Value")
COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
Public: TypeAlias = "int | Sequence[int] | NDArray[np.integer] | str | bytes"


class Integer(NumpyCalls):
    """An encrypted integer, or a vector of them. Arithmetic wraps at the type's width; comparisons give a truth value, `pf.UInt(1)`.

    What is computed of truth values and public numbers is a count, which has a `span` and never wraps.
    """

    __slots__ = ("_span", "_tracer", "handle", "kind", "meaning")
    __hash__ = Absences.__hash__
    METHODS = frozenset({"all", "any", "max", "min", "sum"})

    def __init__(self, tracer: Tracer, handle: int, *, scalar: bool) -> None:
        self._tracer = tracer
        self.handle = handle
        bits, signed, count = tracer.builder.integer_type(handle)
        self.kind = IntegerType(bits, signed=signed, length=count, scalar=scalar and count == 1)
        self.meaning: int | None = None
        """Its step in the program's reference."""
        self._span: counts.Span | None = counts.TRUTH if (bits, signed) == (1, False) else None

    @property
    def type(self) -> IntegerType:
        """Width, sign and length."""
        return self.kind

    def __len__(self) -> int:
        if self.kind.scalar:
            raise refuse(f"a single {self.kind} has no length; use a vector")
        return self.kind.length

    def __repr__(self) -> str:
        return f"<encrypted {self.kind}>"

    def _instead(self, name: str, operands: int) -> str:
        found = written(INTEGERS, name, self.kind)
        if found is not None:
            return found
        if operands == 1 and isinstance(getattr(np, name, None), np.ufunc):
            return "tabulate it, as pf.Table(lambda v: ..)[x], of unsigned values of up to 16 bits"
        return "write it with operators, comparisons, pf.mux and tables"

    def __bool__(self) -> bool:
        text = isinstance(self.kind, TextType)
        compared = "" if self.kind.bits == 1 else f"; compare it first, as {'(x[:] != 0).any()' if text else 'x != 0'}"
        raise refuse(f"an encrypted {self.kind} {BRANCHES}{compared}")

    def __contains__(self, item: object) -> bool:
        raise refuse(membership(item, not self.kind.scalar, "(x == {item}).any()"))

    def __int__(self) -> int:
        raise refuse(f"an encrypted {self.kind} is no Python integer; keep computing on it, and decrypt the output")

    def __float__(self) -> float:
        raise refuse(no_number(self.kind))

    def __index__(self) -> int:
        raise self._tracer.asked(
            f"an encrypted {self.kind} is no index of a Python sequence; use pf.Table(entries)[i], or shift"
        )

    def __truediv__(self, other: object) -> NoReturn:
        raise refuse(f"/ of an encrypted {self.kind} is no integer; use // and %")

    __rtruediv__ = __truediv__

    def __rpow__(self, base: object) -> NoReturn:
        raise refuse(f"an encrypted {self.kind} is no exponent; {self._table_of('**', base)}")

    def __rlshift__(self, value: object) -> NoReturn:
        raise refuse(f"a public number shifted by an encrypted {self.kind}; {self._table_of('<<', value)}")

    def __rrshift__(self, value: object) -> NoReturn:
        raise refuse(f"a public number shifted by an encrypted {self.kind}; {self._table_of('>>', value)}")

    def _table_of(self, op: str, number: object) -> str:
        """A table for a public number on the left of `op`, of as many values of this one as its entries have a type for."""
        if not isinstance(number, int | np.integer):
            return f"use a table for each number, as pf.Table(lambda i: 2 {op} i)[x]"
        bits = min(self.kind.bits - self.kind.signed, 8)
        if op != ">>" and abs(number) > 1 - (op == "<<"):
            each, spare = (int(number).bit_length(), 1) if op == "**" else (1, int(number).bit_length() + 1)
            bits = min(bits, ((MOST_BITS - spare) // each + 1).bit_length() - 1)
        bits = max(bits, 1)
        same = self.kind == UInt(bits).of(self.kind.length, scalar=self.kind.scalar)
        index, where = ("x", "") if same else (f"x.cast({UInt(bits)!r})", f", where x is from 0 to {2**bits - 1}")
        shown = f"({number})" if number < 0 else f"{number}"
        return f"use pf.Table(lambda i: {shown} {op} i)[{index}]{where}"

    # -- building -----------------------------------------------------------------------------------------------

    def _step(self, step: Callable[[Any], int], *others: Integer, scalar: bool | None = None) -> Integer:
        if any(other._tracer is not self._tracer for other in others):
            raise refuse("the operands belong to two different programs; use values of one program")
        self._tracer.builder.at(*place())
        if scalar is None:
            scalar = all(operand.kind.scalar for operand in (self, *others))
        return Integer(self._tracer, step(self._tracer.builder), scalar=scalar)

    @property
    def span(self) -> counts.Span | None:
        """The range of a count; nothing of an integer of a declared type."""
        return self._span

    def _counted(self, span: counts.Span | None) -> Integer:
        """This value, which is known to be a count of a range."""
        self._span = span
        return self

    def _as(self, kind: IntegerType) -> Integer:
        """The same value modulo 2^bits of another type, unless it is of that."""
        if (kind.bits, kind.signed) == (self.kind.bits, self.kind.signed):
            return self
        return self._step(lambda builder: builder.integer_cast(self.handle, kind.bits, kind.signed))

    def _met(self, op: str, other: object) -> tuple[Integer, Integer, counts.Span | None]:
        """Both operands of `op` in one type, and the range of its result if both are counts or public.

        A count that meets an integer of a declared type takes that type.
        """
        if self._span is None:
            return self, self._operand(other), None
        if isinstance(other, Integer):
            if other._span is None:
                return other._operand(self), other, None
            kind, span = counts.met(op, self._span, other._span)
            return self._as(kind), other._as(kind), span
        numbers, scalar = self._numbers(other)
        kind, span = counts.met(op, self._span, counts.of_numbers(numbers))
        own = [kind.wrap(number) for number in numbers]
        return self._as(kind), public(self._tracer, kind.of(len(own), scalar=scalar), own), span

    def _operand(self, other: object, kind: IntegerType | None = None) -> Integer:
        """`other` as an integer of this type, or of `kind`."""
        kind = kind or self.kind
        if isinstance(other, Integer):
            if other._span is None or (other.kind.bits, other.kind.signed) == (kind.bits, kind.signed):
                return other
            if not counts.within(other._span, kind):
                lo, hi = other._span
                one, wide = kind.of(1, scalar=True), counts.holding(other._span, kind.bounds)
                raise refuse(
                    f"a count from {lo} to {hi} does not fit {one}, which goes from {kind.bounds[0]} to {kind.bounds[1]}; cast both, as "
                    f"x.cast({wide!r}), or the count alone, as n.cast({one!r}), to wrap"
                )
            return other._as(kind)
        numbers, scalar = self._numbers(other)
        if scalar and numbers[0] < 0 and not kind.signed:
            one = kind.of(1, scalar=True)
            raise refuse(
                f"{numbers[0]} is no {one}, which goes from 0 to {one.bounds[1]}; cast the others, as "
                f"x.cast({holding(*kind.bounds, numbers[0])!r})"
            )
        return public(self._tracer, kind.of(len(numbers), scalar=scalar), numbers)

    def _beside(self, other: object) -> Integer:
        """Public numbers as the left operand: of this type, or next to a count a count themselves."""
        if self._span is None:
            return self._operand(other)
        numbers, scalar = self._numbers(other)
        span = counts.of_numbers(numbers)
        kind = counts.holding(span).of(len(numbers), scalar=scalar)
        return public(self._tracer, kind, numbers)._counted(span)

    def _declared(self, what: str) -> None:
        """Refuses a count, whose width follows from its range, as the operand of what depends on the width."""
        if self._span is not None and self.kind.bits > 1:
            lo, hi = self._span
            raise refuse(
                f"{what} depends on a width, and a count from {lo} to {hi} has no declared width; cast it first, as x.cast({self.kind.of(1, scalar=True)!r})"
            )

    def _numbers(self, other: object) -> tuple[list[int], bool]:
        """Public numbers one by one, and whether it is a single one."""
        if is_small(other):
            raise mixed(self, other)
        if not isinstance(other, int | np.integer | np.bool_ | np.ndarray | Sequence) or isinstance(other, str | bytes):
            text = f", as list({text_bytes(other)!r})" if isinstance(other, str) else ""
            raise refuse(f"an encrypted {self.kind} does not combine with {type(other).__name__}; give integers{text}")
        if (shape := np.asarray(other, dtype=object).shape) == ():
            other = cast(Any, other)[()] if isinstance(other, np.ndarray) else other
        elif len(shape) > 1:
            raise refuse(
                f"an array of {' x '.join(map(str, shape))} does not combine with {self.kind}; use @ for a matrix, or flatten it"
            )
        elements = self.kind.elements(other)
        return [self.kind.whole(number) for number in elements], shape == ()

    def _binary(self, op: str, other: object) -> Integer:
        a, b, span = self._met(op, other)
        made = a._step(lambda builder: builder.integer_binary(op, a.handle, b.handle), b)
        return made if op in COMPARISONS else made._counted(span)

    # -- arithmetic ---------------------------------------------------------------------------------------------

    @means("+")
    def __add__(self, other: Integer | Public) -> Integer:
        return self._binary("+", other)

    __radd__ = __add__

    @means("-")
    def __sub__(self, other: Integer | Public) -> Integer:
        return self._binary("-", other)

    @means("-", swapped=True)
    def __rsub__(self, other: Public) -> Integer:
        return self._beside(other)._binary("-", self)

    @means("*")
    def __mul__(self, other: Integer | Public) -> Integer:
        return self._binary("*", other)

    __rmul__ = __mul__

    def __matmul__(self, other: Integer | Public) -> Integer:
        return dot(self, other)

    def __rmatmul__(self, other: Public) -> Integer:
        return dot(other, self)

    @means("neg")
    def __neg__(self) -> Integer:
        span = self._span and (-self._span[1], -self._span[0])
        own = self if span is None else self._as(counts.holding(span))
        return own._step(lambda builder: builder.integer_unary("-", own.handle))._counted(span)

    def __pos__(self) -> Integer:
        return self

    @means("abs")
    def __abs__(self) -> Integer:
        if self._span is None:
            return self._step(lambda builder: builder.integer_unary("abs", self.handle))
        lo, hi = self._span
        if lo >= 0:
            return self
        span = (max(0, -hi), max(-lo, hi))
        own = self._as(counts.holding(self._span, span))
        return (
            own._step(lambda builder: builder.integer_unary("abs", own.handle))._as(counts.holding(span))._counted(span)
        )

    @means("**")
    def __pow__(self, exponent: int, modulus: int | None = None) -> Integer:
        if isinstance(exponent, Integer):
            raise refuse(
                "** takes a public exponent; multiply the powers for the bits of an encrypted one that is not negative, as "
                f"functools.reduce(operator.mul, [pf.mux(y.bit(k), x ** 2**k, 1) for k in range({min(exponent.kind.bits, 63)})])"
            )
        power = whole("the exponent", exponent, 0, (1 << 64) - 1)
        if modulus is not None:
            if self._span is None:
                return self._residue(power, whole("the modulus", modulus, 1, self.kind.bounds[1]))
            of = whole("the modulus", modulus, 1, 1 << (MOST_BITS // 2))
            declared = self._as(counts.holding(self._span, (0, of)))._counted(None)
            return declared._residue(power, of)._as(counts.holding((0, of - 1)))._counted((0, of - 1))
        span = self._span and counts.power(self._span, power)
        own = self if span is None else self._as(counts.holding(span))
        return own._step(lambda builder: builder.integer_pow(own.handle, power))._counted(span)

    def _residue(self, power: int, modulus: int) -> Integer:
        """self**power % modulus as Python gives it, of which no product wraps: by squares, each reduced, in a type that has them."""
        if power == 0 or modulus & (modulus - 1) == 0:
            # A power of two divides that at which products wrap.
            return self**power % modulus
        base = (self % modulus).cast(UInt(2 * modulus.bit_length()))
        found = base
        for bit in f"{power:b}"[1:]:
            found = found * found % modulus
            if bit == "1":
                found = found * base % modulus
        return found.cast(self.kind)

    @means("//", "%")
    def __divmod__(self, other: Integer | Public) -> tuple[Integer, Integer]:
        if isinstance(other, int | np.integer) and 0 < other <= self.kind.bounds[1] and other & (other - 1) == 0:
            # By a power of two both are bits of it, rounded down as Python does, at next to no cost.
            return self >> int(other).bit_length() - 1, self & int(other) - 1
        a, b, span = self._met("//", other)
        made: list[int] = []

        def step(builder: Any) -> int:  # noqa: ANN401 - the native builder
            made.extend(builder.integer_divide(a.handle, b.handle))
            return made[0]

        quotient = a._step(step, b)._counted(span)
        return quotient, Integer(self._tracer, made[1], scalar=quotient.kind.scalar)._counted(span)

    @means("//", "%", swapped=True)
    def __rdivmod__(self, other: Public) -> tuple[Integer, Integer]:
        return divmod(self._beside(other), self)

    @means("//")
    def __floordiv__(self, other: Integer | Public) -> Integer:
        return divmod(self, other)[0]

    @means("%")
    def __mod__(self, other: Integer | Public) -> Integer:
        return divmod(self, other)[1]

    @means("//", swapped=True)
    def __rfloordiv__(self, other: Public) -> Integer:
        return divmod(self._beside(other), self)[0]

    @means("%", swapped=True)
    def __rmod__(self, other: Public) -> Integer:
        return divmod(self._beside(other), self)[1]

    def _checked(self, op: str, other: Integer | Public) -> tuple[Integer, Integer]:
        a, b, span = self._met(op, other)
        made: list[int] = []

        def step(builder: Any) -> int:  # noqa: ANN401 - the native builder
            made.extend(builder.integer_overflowing(op, a.handle, b.handle))
            return made[0]

        if span is None:
            result = a._step(step, b)
            over = Integer(self._tracer, made[1], scalar=result.kind.scalar)
        else:
            # A count never leaves its type's range.
            result = a._binary(op, b)
            over = public(
                self._tracer, UInt(1).of(result.kind.length, scalar=result.kind.scalar), [0] * result.kind.length
            )
        self._tracer.reference.note(f"checked {op}", result, (self, other), {})
        self._tracer.reference.note(f"beyond {op}", over, (self, other, result.kind), {})
        return result, over

    def checked_add(self, other: Integer | Public) -> tuple[Integer, Integer]:
        """The sum, and one bit that is 1 where it left the type's range."""
        return self._checked("+", other)

    def checked_sub(self, other: Integer | Public) -> tuple[Integer, Integer]:
        """The difference, and one bit that is 1 where it left the type's range."""
        return self._checked("-", other)

    def checked_mul(self, other: Integer | Public) -> tuple[Integer, Integer]:
        """The product, and one bit that is 1 where it left the type's range."""
        return self._checked("*", other)

    # -- bits ---------------------------------------------------------------------------------------------------

    @means("&")
    def __and__(self, other: Integer | Public) -> Integer:
        return self._binary("&", other)

    @means("|")
    def __or__(self, other: Integer | Public) -> Integer:
        return self._binary("|", other)

    @means("^")
    def __xor__(self, other: Integer | Public) -> Integer:
        return self._binary("^", other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    @means("~")
    def __invert__(self) -> Integer:
        self._declared("~")
        return self._step(lambda builder: builder.integer_unary("~", self.handle))

    def _shift(self, direction: str, amount: Integer | int) -> Integer:
        if direction.startswith("rotate"):
            self._declared(direction)
        if isinstance(amount, Integer):
            own, span = self._shifted(direction, 0, (amount.span or amount.kind.bounds)[1])
            shifted = own._step(lambda builder: builder.integer_shift(direction, own.handle, 0, amount.handle), amount)
            return shifted._counted(span)
        if is_small(amount):
            lo, hi, _ = amount.element.bounds
            kind = holding(0, hi)
            remedy = f"declare it as {kind!r}" if hi - lo >= MOST_CAST else f"cast it, as n.cast({kind!r})"
            raise refuse(f"the amount of a shift is {amount.element}, a value of a few bits; {remedy}")
        by = whole("the amount of a shift", amount, 0, (1 << 32) - 1)
        own, span = self._shifted(direction, by, by)
        return own._step(lambda builder: builder.integer_shift(direction, own.handle, by, None))._counted(span)

    def _shifted(self, direction: str, least: int, most: int) -> tuple[Integer, counts.Span | None]:
        """This value in the type in which it is shifted by so many bits, and the range of the result if it is a count."""
        if self._span is None or direction.startswith("rotate"):
            return self, self._span
        if direction == ">>":
            return self, counts.union(self._span, (0, 0))
        span = counts.shifted(self._span, least, most)
        return self._as(counts.holding(span)), span

    @means("<<")
    def __lshift__(self, amount: Integer | int) -> Integer:
        return self._shift("<<", amount)

    @means(">>")
    def __rshift__(self, amount: Integer | int) -> Integer:
        return self._shift(">>", amount)

    @means("rotate_left")
    def rotate_left(self, amount: Integer | int) -> Integer:
        """Bits that leave at the top come in at the bottom."""
        return self._shift("rotate_left", amount)

    @means("rotate_right")
    def rotate_right(self, amount: Integer | int) -> Integer:
        """Bits that leave at the bottom come in at the top."""
        return self._shift("rotate_right", amount)

    @means("bit")
    def bit(self, index: int) -> Integer:
        """Bit `index`, 0 the least significant, as a `pf.UInt(1)`."""
        at = whole("the index of a bit", index, 0, self.kind.bits - 1)
        return self._step(lambda builder: builder.integer_bit(self.handle, at))

    def leading_zeros(self) -> Integer:
        """The number of zeros above the highest 1: a count."""
        self._declared("leading_zeros")
        span = (0, self.kind.bits)
        made = self._step(lambda builder: builder.integer_unary("leading_zeros", self.handle))._as(counts.holding(span))
        self._tracer.reference.note("leading_zeros", made, (self, self.kind), {})
        return made._counted(span)

    @means("cast")
    def cast(self, kind: IntegerType) -> Integer:
        """The same value as another type, modulo 2 to its width."""
        if not isinstance(kind, IntegerType):
            raise refuse(f"cast: {kind} is no type of integers of any width; give pf.UInt(bits) or pf.SInt(bits)")
        return self._step(lambda builder: builder.integer_cast(self.handle, kind.bits, kind.signed))

    # -- comparisons --------------------------------------------------------------------------------------------

    def _compared(self, op: str, other: object) -> Integer:
        """Public numbers beyond the type have a place in the order too: they are compared in a wider one."""
        if isinstance(other, int | np.integer | list | tuple | np.ndarray):
            numbers = [int(n) for n in np.asarray(other, dtype=object).reshape(-1) if isinstance(n, int | np.integer)]
            lo, hi = self.kind.bounds
            ends = [lo, hi, *numbers]
            signed = min(ends) < 0
            bits = max((~end if end < 0 else end).bit_length() for end in ends) + signed
            if bits <= MOST_BITS and (min(ends), max(ends)) != (lo, hi):
                return self._as(SInt(bits) if signed else UInt(bits))._binary(op, other)
        return self._binary(op, other)

    @means("<")
    def __lt__(self, other: Integer | Public) -> Integer:
        return self._compared("<", other)

    @means("<=")
    def __le__(self, other: Integer | Public) -> Integer:
        return self._compared("<=", other)

    @means(">")
    def __gt__(self, other: Integer | Public) -> Integer:
        return self._compared(">", other)

    @means(">=")
    def __ge__(self, other: Integer | Public) -> Integer:
        return self._compared(">=", other)

    @means("==")
    def __eq__(self, other: object) -> Integer:  # type: ignore[override]
        return self._compared("==", other)

    @means("!=")
    def __ne__(self, other: object) -> Integer:  # type: ignore[override]
        return self._compared("!=", other)

    # -- elements -----------------------------------------------------------------------------------------------

    @means("take")
    def _taken(self, indices: Sequence[int], *, scalar: bool) -> Integer:
        taken = self._step(lambda builder: builder.integer_take(self.handle, list(indices)), scalar=scalar)
        return taken._counted(self._span)

    def __getitem__(self, index: int | slice | Sequence[int]) -> Integer:
        if self.kind.scalar:
            raise refuse(f"a single {self.kind} has no elements; use a vector, or .bit(i) for its bits")
        if isinstance(index, Integer) or is_small(index):
            raise refuse(encrypted_index(self, index))
        elements, single = picked(index, self.kind.length, self.kind)
        return self._taken(elements, scalar=single)

    def __iter__(self) -> Iterator[Integer]:
        return (self[i] for i in range(len(self)))

    def _holds(self, rows: Sequence[Sequence[int]], *, any_of: bool, scalar: bool = True) -> Integer:
        given = [list(row) for row in rows]
        return self._step(lambda builder: builder.integer_holds(self.handle, given, any_of), scalar=scalar)

    @means("all")
    def all(self) -> Integer:
        """Whether every condition of this vector of bits holds."""
        return self._holds([range(self.kind.length)], any_of=False)

    @means("any")
    def any(self) -> Integer:
        """Whether a condition of this vector of bits holds."""
        return self._holds([range(self.kind.length)], any_of=True)

    @means("sum")
    def sum(self) -> Integer:
        """The sum of the elements: `pf.sum`."""
        return total(self)

    @means("max")
    def max(self) -> Integer:
        """The greatest element."""
        return folded(self, lambda a, b: a._binary("max", b), joined)

    @means("min")
    def min(self) -> Integer:
        """The least element."""
        return folded(self, lambda a, b: a._binary("min", b), joined)


class Table:
    """A public table whose index may be encrypted: `table[i]`. Without `result` its entries have the narrowest type of 8, 16, 32, .. bits that has
    them all."""

    def __init__(
        self,
        entries: Sequence[int] | NDArray[np.integer] | Callable[[int], int],
        result: IntegerType | None = None,
    ) -> None:
        if result is not None and not isinstance(result, IntegerType):
            raise refuse(f"a table of {result}; name the type of its entries, as pf.Table(entries, pf.UInt(8))")
        self._entries = copy(entries)
        self._kind = result

    def __getitem__(self, index: Integer) -> Integer:
        if not isinstance(index, Integer):
            entries = "entries" if callable(self._entries) else "lambda k: entries[k]"
            raise refuse(
                f"a table's index is an encrypted value of a few bits; use pf.lookup(i, {entries})"
                if is_small(index)
                else f"a table's index is {type(index).__name__}; give an encrypted pf.UInt, or index the entries themselves"
            )
        size = 1 << index.kind.bits
        entries = self._entries
        if callable(entries):
            if index.kind.bits > 16:
                raise refuse(f"a table of 2^{index.kind.bits} entries; an index has at most 16 bits")
            given = [entries(i) for i in range(size)]
        elif isinstance(entries, Sequence | np.ndarray) and np.ndim(entries):
            given = list(entries)
        else:
            raise refuse(f"the entries of a table are {shown(entries)}; give a list of integers, or a function")
        if not given:
            raise refuse("the table has no entries; give one for each value of its index")
        values = [whole(f"entry {i} of a table", entry) for i, entry in enumerate(given)]
        if len(values) > size:
            raise refuse(
                f"a table of {len(values)} entries with an index of {index.kind.bits} bits; cast the index to a wider type"
            )
        kind = self._kind or narrowest(values)
        return _entry(index, values, kind)


@means("table")
def _entry(index: Integer, values: list[int], kind: IntegerType) -> Integer:
    digits = [kind.digits(value) for value in [*values, *[0] * ((1 << index.kind.bits) - len(values))]]
    return index._step(lambda builder: builder.integer_table(index.handle, kind.bits, kind.signed, digits))


def public(tracer: Tracer, kind: IntegerType, values: object) -> Integer:
    """Public numbers of type `kind` as an operand."""
    digits = [kind.digits(value) for value in kind.elements(values)]
    tracer.builder.at(*place())
    return Integer(tracer, tracer.builder.integer_public(kind.bits, kind.signed, digits), scalar=kind.scalar)


def converted(value: Value, kind: IntegerType) -> Integer:
    """Small integers or Booleans of the program as integers of `kind`."""
    value._tracer.builder.at(*place())
    handle = value._tracer.builder.integer_from(value.node, kind.bits, kind.signed)
    return Integer(value._tracer, handle, scalar=value.scalar)


def is_small(value: object) -> TypeGuard[Value]:
    """Whether it is an encrypted value of a few bits."""
    from .values import Value

    return isinstance(value, Value)


def mixed(number: Integer, value: Value) -> ProgramError:
    """What to do about an integer of any width beside a value of a few bits."""
    kind = number.kind.of(1, scalar=True)
    lo, hi, _ = value.type.element.bounds
    both = holding(*kind.bounds, lo, hi)
    if value.type.element.kind == "torus" or hi - lo >= MOST_CAST:
        remedy = f"declare the latter as one, {both!r}" + (
            "" if both == kind else f", and cast the other, as x.cast({both!r})"
        )
    else:
        remedy = f"cast {'the latter' if both == kind else 'both'}, as x.cast({both!r})"
    return refuse(f"{kind} and {value.type.element} are different types; {remedy}")


def no_number(kind: object) -> str:
    """Why an encrypted value is no element of a numpy array of numbers, and what does it."""
    return (
        f"an encrypted {kind} is no Python number, nor an element of a numpy array of numbers; keep computing on it, and put values into "
        "a list, or side by side, as pf.concat(a, b)"
    )


def encrypted_index(vector: Integer | Value, index: Integer | Value) -> str:
    """Why a vector is not indexed by an encrypted number, and a sum of choices that does it."""
    element = "v[k]"
    if not isinstance(vector, Integer) and isinstance(index, Integer):
        lo, hi, _ = vector.element.bounds
        if hi - lo >= MOST_CAST:
            return f"an encrypted {index.type} picks no element of {vector.type}; declare the vector as {holding(lo, hi)!r} too"
        element = f"v[k].cast({holding(lo, hi, 2)!r})"
    elif not isinstance(vector, Integer) and vector.element.kind == "boolean":
        element = "v[k] + 0"
    return (
        "an encrypted index picks no element of an encrypted vector; of public numbers use pf.Table(entries)[i], of these "
        f"pf.sum([pf.mux(i == k, {element}, 0) for k in range({len(vector)})])"
    )


@means("dot")
def dot(a: Integer | Public, b: Integer | Public) -> Integer:
    """Σ a · b of vectors, one of which may be public; of a public matrix a sum for each of its rows, or of its columns if it is behind."""
    value, other = (a, b) if isinstance(a, Integer) else (cast(Integer, b), a)
    if value.kind.scalar or (isinstance(other, Integer) and other.kind.scalar):
        raise refuse(f"a product of vectors, but an operand is a single {value.kind}; use *")
    depth = 1 if isinstance(other, Integer) else np.asarray(other, dtype=object).ndim
    if depth == 0:
        raise refuse(
            f"a product of vectors, but an operand is {shown(other)}; use *, or give a weight for each element"
        )
    if depth == 1:
        return _weighted(value, other)
    expect_unmasked(other)
    matrix = np.asarray(other, dtype=object)
    rows = matrix if a is other else matrix.T
    if matrix.ndim > 2 or rows.shape[1] != value.kind.length or not len(rows):
        given, length = " x ".join(map(str, matrix.shape)), value.kind.length
        raise refuse(
            f"an array of {given} does not multiply {value.kind}; give a matrix with {length} columns, or rows if it is behind"
        )
    return joined([_weighted(value, row) for row in rows])


def _weighted(value: Integer, weights: Integer | Public) -> Integer:
    """Σ w · x. Of public weights, elements of one weight are summed before it is multiplied, and those of weight 0 are left out."""
    given = list(weights) if isinstance(weights, list | tuple | np.ndarray) else []
    if len(given) != value.kind.length or not all(isinstance(weight, int | np.integer) for weight in given):
        return total(value * weights)
    places: dict[int, list[int]] = {}
    for index, weight in enumerate(given):
        if value.span is None:
            value.kind.digits(weight)
        if weight:
            places.setdefault(int(weight), []).append(index)
    sums = [(weight, total([value[index] for index in indices])) for weight, indices in places.items()]
    return total([part if weight == 1 else part * weight for weight, part in sums] or [value[0] * 0])


def total(values: Integer | Sequence[Integer]) -> Integer:
    """The sum of a vector's elements, or of all values: carried once for every few of them."""
    if isinstance(values, Integer):
        own, span = values, values.span
        if span is not None:
            span = (span[0] * len(values), span[1] * len(values))
            own = values._as(counts.holding(span))
        return own._step(lambda builder: builder.integer_unary("total", own.handle), scalar=True)._counted(span)
    span = reduce(counts.RINGS["+"], [value.span for value in values]) if _all_counts(values) else None
    first, *rest = _of_one_type(values, span)
    addends = [(1, value.handle) for value in (first, *rest)]
    return first._step(lambda builder: builder.integer_sum(addends), *rest)._counted(span)


def _all_counts(values: Sequence[Integer]) -> bool:
    return all(value.span is not None for value in values)


def _of_one_type(values: Sequence[Integer], span: counts.Span | None) -> list[Integer]:
    """Counts in the type of a range, or in that of the first value that has a declared one."""
    if span is not None:
        return [value._as(counts.holding(span)) for value in values]
    kind = next(value.kind for value in values if value.span is None)
    return [value._operand(value, kind) for value in values]


def folded(
    value: _Vector, op: Callable[[_Vector, _Vector], _Vector], join: Callable[[list[_Vector]], _Vector]
) -> _Vector:
    """`op` of all elements of a vector, half of them at a time."""
    while len(value) > 1:
        half = len(value) // 2
        pairs = op(value[:half], value[half : 2 * half])
        value = pairs if len(value) == 2 * half else join([pairs, value[2 * half :]])
    return value[0]


def joined(values: Sequence[Integer]) -> Integer:
    """The elements of all values, one after the other."""
    span = counts.union(*(value.span for value in values)) if _all_counts(values) else None
    first, *rest = _of_one_type(values, span)
    handles = [value.handle for value in (first, *rest)]
    return first._step(lambda builder: builder.integer_concat(handles), *rest, scalar=False)._counted(span)
