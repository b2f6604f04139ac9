"""Encrypted integers of any width: every operator appends look-ups on digits, which the Rust half plans.

The planning (digits, carries, when a digit is refreshed) is in `crates/program`, where a homomorphic program is built and its noise
checked; here are the operators, and public numbers as digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeGuard, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import ProgramError, shown
from .indices import picked
from .instead import BRANCHES, INTEGERS, TEXTS, Absences, membership, written
from .numpy_calls import NumpyCalls
from .place import expect_unmasked, place, refuse, whole
from .types import MOST_BITS, MOST_CAST, IntegerType, SInt, TextType, UInt, holding, narrowest, text_bytes

if TYPE_CHECKING:
    from .values import Tracer, Value

_Vector = TypeVar("_Vector", "Integer", "Value")
Public: TypeAlias = "int | Sequence[int] | NDArray[np.integer] | str | bytes"


class Integer(NumpyCalls):
    """An encrypted integer, or a vector of them. Arithmetic wraps at the type's width; comparisons give one bit, `pf.UInt(1)`."""

    __slots__ = ("_tracer", "handle", "kind")
    __hash__ = Absences.__hash__
    METHODS = frozenset({"all", "any", "max", "min", "sum"})

    def __init__(self, tracer: Tracer, handle: int, *, scalar: bool) -> None:
        self._tracer = tracer
        self.handle = handle
        bits, signed, count = tracer.builder.integer_type(handle)
        self.kind = IntegerType(bits, signed=signed, length=count, scalar=scalar and count == 1)

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

    def _operand(self, other: object, kind: IntegerType | None = None) -> Integer:
        """`other` as an integer of this type, or of `kind`."""
        kind = kind or self.kind
        if isinstance(other, Integer):
            return other
        if _is_small(other):
            raise mixed(self, other)
        if not isinstance(other, int | np.integer | np.ndarray | Sequence) or isinstance(other, str | bytes):
            text = f", as list({text_bytes(other)!r})" if isinstance(other, str) else ""
            raise refuse(f"an encrypted {self.kind} does not combine with {type(other).__name__}; give integers{text}")
        if (shape := np.asarray(other, dtype=object).shape) == ():
            other = cast(Any, other)[()] if isinstance(other, np.ndarray) else other
        elif len(shape) > 1:
            raise refuse(
                f"an array of {' x '.join(map(str, shape))} does not combine with {self.kind}; use @ for a matrix, or flatten it"
            )
        scalar = isinstance(other, int | np.integer)
        if scalar and cast(int, other) < 0 and not kind.signed:
            one = kind.of(1, scalar=True)
            raise refuse(
                f"{other} is no {one}, which goes from 0 to {one.bounds[1]}; cast the others, as "
                f"x.cast({holding(*kind.bounds, cast(int, other))!r})"
            )
        return public(self._tracer, kind.of(1 if scalar else len(cast(Sequence[int], other)), scalar=scalar), other)

    def _binary(self, op: str, other: object) -> Integer:
        b = self._operand(other)
        return self._step(lambda builder: builder.integer_binary(op, self.handle, b.handle), b)

    # -- arithmetic ---------------------------------------------------------------------------------------------

    def __add__(self, other: Integer | Public) -> Integer:
        return self._binary("+", other)

    __radd__ = __add__

    def __sub__(self, other: Integer | Public) -> Integer:
        return self._binary("-", other)

    def __rsub__(self, other: Public) -> Integer:
        return self._operand(other)._binary("-", self)

    def __mul__(self, other: Integer | Public) -> Integer:
        return self._binary("*", other)

    __rmul__ = __mul__

    def __matmul__(self, other: Integer | Public) -> Integer:
        return dot(self, other)

    def __rmatmul__(self, other: Public) -> Integer:
        return dot(other, self)

    def __neg__(self) -> Integer:
        return self._step(lambda builder: builder.integer_unary("-", self.handle))

    def __pos__(self) -> Integer:
        return self

    def __abs__(self) -> Integer:
        return self._step(lambda builder: builder.integer_unary("abs", self.handle))

    def __pow__(self, exponent: int, modulus: int | None = None) -> Integer:
        if isinstance(exponent, Integer):
            raise refuse(
                "** takes a public exponent; multiply the powers for the bits of an encrypted one that is not negative, as "
                f"functools.reduce(operator.mul, [pf.mux(y.bit(k), x ** 2**k, 1) for k in range({min(exponent.kind.bits, 63)})])"
            )
        power = whole("the exponent", exponent, 0, (1 << 64) - 1)
        if modulus is not None:
            return self._residue(power, whole("the modulus", modulus, 1, self.kind.bounds[1]))
        return self._step(lambda builder: builder.integer_pow(self.handle, power))

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

    def __divmod__(self, other: Integer | Public) -> tuple[Integer, Integer]:
        if isinstance(other, int | np.integer) and 0 < other <= self.kind.bounds[1] and other & (other - 1) == 0:
            # By a power of two both are bits of it, rounded down as Python does, at next to no cost.
            return self >> int(other).bit_length() - 1, self & int(other) - 1
        b = self._operand(other)
        made: list[int] = []

        def step(builder: Any) -> int:  # noqa: ANN401 - the native builder
            made.extend(builder.integer_divide(self.handle, b.handle))
            return made[0]

        quotient = self._step(step, b)
        return quotient, Integer(self._tracer, made[1], scalar=quotient.kind.scalar)

    def __rdivmod__(self, other: Public) -> tuple[Integer, Integer]:
        return divmod(self._operand(other), self)

    def __floordiv__(self, other: Integer | Public) -> Integer:
        return divmod(self, other)[0]

    def __mod__(self, other: Integer | Public) -> Integer:
        return divmod(self, other)[1]

    def __rfloordiv__(self, other: Public) -> Integer:
        return divmod(self._operand(other), self)[0]

    def __rmod__(self, other: Public) -> Integer:
        return divmod(self._operand(other), self)[1]

    def _checked(self, op: str, other: Integer | Public) -> tuple[Integer, Integer]:
        b = self._operand(other)
        made: list[int] = []

        def step(builder: Any) -> int:  # noqa: ANN401 - the native builder
            made.extend(builder.integer_overflowing(op, self.handle, b.handle))
            return made[0]

        result = self._step(step, b)
        return result, Integer(self._tracer, made[1], scalar=result.kind.scalar)

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

    def __and__(self, other: Integer | Public) -> Integer:
        return self._binary("&", other)

    def __or__(self, other: Integer | Public) -> Integer:
        return self._binary("|", other)

    def __xor__(self, other: Integer | Public) -> Integer:
        return self._binary("^", other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Integer:
        return self._step(lambda builder: builder.integer_unary("~", self.handle))

    def _shift(self, direction: str, amount: Integer | int) -> Integer:
        if isinstance(amount, Integer):
            return self._step(lambda builder: builder.integer_shift(direction, self.handle, 0, amount.handle), amount)
        if _is_small(amount):
            lo, hi, _ = amount.element.bounds
            kind = holding(0, hi)
            remedy = f"declare it as {kind!r}" if hi - lo >= MOST_CAST else f"cast it, as n.cast({kind!r})"
            raise refuse(f"the amount of a shift is {amount.element}, a value of a few bits; {remedy}")
        by = whole("the amount of a shift", amount, 0, (1 << 32) - 1)
        return self._step(lambda builder: builder.integer_shift(direction, self.handle, by, None))

    def __lshift__(self, amount: Integer | int) -> Integer:
        return self._shift("<<", amount)

    def __rshift__(self, amount: Integer | int) -> Integer:
        return self._shift(">>", amount)

    def rotate_left(self, amount: Integer | int) -> Integer:
        """Bits that leave at the top come in at the bottom."""
        return self._shift("rotate_left", amount)

    def rotate_right(self, amount: Integer | int) -> Integer:
        """Bits that leave at the bottom come in at the top."""
        return self._shift("rotate_right", amount)

    def bit(self, index: int) -> Integer:
        """Bit `index`, 0 the least significant, as a `pf.UInt(1)`."""
        at = whole("the index of a bit", index, 0, self.kind.bits - 1)
        return self._step(lambda builder: builder.integer_bit(self.handle, at))

    def leading_zeros(self) -> Integer:
        """The number of zeros above the highest 1."""
        return self._step(lambda builder: builder.integer_unary("leading_zeros", self.handle))

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
                return self.cast(SInt(bits) if signed else UInt(bits))._binary(op, other)
        return self._binary(op, other)

    def __lt__(self, other: Integer | Public) -> Integer:
        return self._compared("<", other)

    def __le__(self, other: Integer | Public) -> Integer:
        return self._compared("<=", other)

    def __gt__(self, other: Integer | Public) -> Integer:
        return self._compared(">", other)

    def __ge__(self, other: Integer | Public) -> Integer:
        return self._compared(">=", other)

    def __eq__(self, other: object) -> Integer:  # type: ignore[override]
        return self._compared("==", other)

    def __ne__(self, other: object) -> Integer:  # type: ignore[override]
        return self._compared("!=", other)

    # -- elements -----------------------------------------------------------------------------------------------

    def _taken(self, indices: Sequence[int], *, scalar: bool) -> Integer:
        return self._step(lambda builder: builder.integer_take(self.handle, list(indices)), scalar=scalar)

    def __getitem__(self, index: int | slice | Sequence[int]) -> Integer:
        if self.kind.scalar:
            raise refuse(f"a single {self.kind} has no elements; use a vector, or .bit(i) for its bits")
        if isinstance(index, Integer) or _is_small(index):
            raise refuse(encrypted_index(self, index))
        elements, single = picked(index, self.kind.length, self.kind)
        return self._taken(elements, scalar=single)

    def __iter__(self) -> Iterator[Integer]:
        return (self[i] for i in range(len(self)))

    def _holds(self, rows: Sequence[Sequence[int]], *, any_of: bool, scalar: bool = True) -> Integer:
        given = [list(row) for row in rows]
        return self._step(lambda builder: builder.integer_holds(self.handle, given, any_of), scalar=scalar)

    def all(self) -> Integer:
        """Whether every condition of this vector of bits holds."""
        return self._holds([range(self.kind.length)], any_of=False)

    def any(self) -> Integer:
        """Whether a condition of this vector of bits holds."""
        return self._holds([range(self.kind.length)], any_of=True)

    def sum(self) -> Integer:
        """The sum of the elements: `pf.sum`."""
        return summed(self)

    def max(self) -> Integer:
        """The greatest element."""
        return folded(self, lambda a, b: extreme(a, b, "max"), joined)

    def min(self) -> Integer:
        """The least element."""
        return folded(self, lambda a, b: extreme(a, b, "min"), joined)


class Text(Integer):
    """An encrypted text of at most so many bytes, filled up with zeros."""

    __slots__ = ()
    __hash__ = Absences.__hash__

    def _instead(self, name: str, operands: int) -> str:  # noqa: ARG002 - as of all values
        return (
            written(TEXTS, name, self.kind)
            or "a text has ==, <, .startswith, .endswith and .contains; compute on its bytes, x[:]"
        )

    @classmethod
    def of(cls, characters: Integer) -> Text:
        """The text of these bytes."""
        text = cls.__new__(cls)
        text._tracer, text.handle = characters._tracer, characters.handle
        text.kind = TextType(8, length=characters.kind.length, scalar=False)
        return text

    def __contains__(self, part: object) -> bool:
        raise refuse(
            f"whether {part!r} is in an encrypted text is itself encrypted, and `in` gives none; use text.contains(part)"
        )

    def _characters(self, text: Text | str | bytes, length: int | None = None) -> Integer:
        if isinstance(text, Text):
            return text
        given = self._public(text)
        wanted = len(given) if length is None else length
        if not given and length is None:
            raise refuse("an empty text is in every other and starts it; give at least one byte")
        if len(given) > wanted:
            raise refuse(f"{text!r} is {len(given)} bytes, where at most {self.kind.length} are compared; shorten it")
        return public(self._tracer, UInt(8).vector(wanted), list(given.ljust(wanted, b"\0")))

    @staticmethod
    def _public(text: object) -> bytes:
        """The bytes of a public text."""
        if not isinstance(text, str | bytes):
            raise refuse(f"a text does not compare with {type(text).__name__}; give a str, bytes or an encrypted text")
        return text_bytes(text)

    def _plain(self) -> Integer:
        return Integer(self._tracer, self.handle, scalar=False)

    def _operand(self, other: object, kind: IntegerType | None = None) -> NoReturn:  # noqa: ARG002 - as of all values
        raise refuse("a text has no arithmetic, and no bits; compute on its bytes, x[:]")

    def _whole(self, other: object) -> Integer:
        """The bytes of another text of this length."""
        if isinstance(other, Text) and len(other) != len(self):
            raise refuse(f"texts of {len(self)} and {len(other)} bytes; declare them with one length")
        return _plain(self._characters(cast("Text | str", other), self.kind.length))

    def __eq__(self, other: object) -> Integer:  # type: ignore[override]
        return Integer.__eq__(self._plain(), self._whole(other)).all()

    def __ne__(self, other: object) -> Integer:  # type: ignore[override]
        return ~(self == other)

    def _before(self, op: str, other: object) -> Integer:
        """Texts are ordered as the integers whose bytes they are, the first the highest: as by their bytes in UTF-8."""
        size, most = self.kind.length, MOST_BITS // 8
        if size > most:
            raise refuse(
                f"a text of {size} bytes has no order, one of {most} has; compare a part of it, declared for itself"
            )
        kind = UInt(8 * size)
        one, another = (
            total([bytes_[i].cast(kind) << 8 * (size - 1 - i) for i in range(size)])
            for bytes_ in (self._plain(), self._whole(other))
        )
        return one._binary(op, another)

    def __lt__(self, other: Text | str | bytes) -> Integer:  # type: ignore[override]
        return self._before("<", other)

    def __le__(self, other: Text | str | bytes) -> Integer:  # type: ignore[override]
        return self._before("<=", other)

    def __gt__(self, other: Text | str | bytes) -> Integer:  # type: ignore[override]
        return self._before(">", other)

    def __ge__(self, other: Text | str | bytes) -> Integer:  # type: ignore[override]
        return self._before(">=", other)

    def _matches(self, part: Text | str | bytes, offsets: Sequence[int]) -> Integer:
        """For each offset, whether the bytes from it on are those of `part`; zeros at the end of an encrypted one fit anything, beyond the text too."""
        pattern = self._characters(part)
        size = pattern.kind.length
        if size > self.kind.length:
            raise refuse(f"a part of {size} bytes in a text of {self.kind.length}; give one that fits")
        places = [offset + i for offset in offsets for i in range(size)]
        own = self._plain()._taken([min(place, self.kind.length - 1) for place in places], scalar=False)
        wanted = _plain(pattern)._taken([i for _ in offsets for i in range(size)], scalar=False)
        fits = Integer.__eq__(own, wanted)
        if isinstance(part, Text):
            beyond = [int(place < self.kind.length) for place in places]
            fits = (fits if all(beyond) else fits & beyond) | (wanted == 0)
        rows = [range(at * size, (at + 1) * size) for at in range(len(offsets))]
        return fits._holds(rows, any_of=False, scalar=False)

    def startswith(self, part: Text | str | bytes) -> Integer:
        """Whether the text starts with `part`; the zeros at the end of an encrypted one do not count."""
        return self._matches(part, [0])[0]

    def endswith(self, part: Text | str | bytes) -> Integer:
        """Whether the text ends with `part`; the zeros at the end of either do not count."""
        if isinstance(part, Text):
            size, wanted = part.kind.length, None
        else:
            size, wanted = self._characters(part).kind.length, [*self._public(part), 0]
        length = self.kind.length
        if size > length:
            raise refuse(f"a part of {size} bytes in a text of {length}; give one that fits")
        # From each offset on: the bytes of the part, and then zeros, of which there are any number behind the text.
        offsets = range(length + 1 if wanted is None else length - size + 1)
        rows = [[at + i for i in range(size + 1) if wanted is None or at + i < length] for at in offsets]
        places = [(at, place) for at, row in zip(offsets, rows, strict=True) for place in row]
        zero = public(self._tracer, UInt(8).vector(1), [0])
        own = joined([self._plain(), zero])._taken([min(place, length) for _, place in places], scalar=False)
        if wanted is None:
            found = joined([_plain(cast(Text, part)), zero])._taken([place - at for at, place in places], scalar=False)
        else:
            found = public(self._tracer, UInt(8).vector(len(places)), [wanted[place - at] for at, place in places])
        ends, groups = 0, []
        for row in rows:
            groups.append(range(ends, ends + len(row)))
            ends += len(row)
        return Integer.__eq__(own, found)._holds(groups, any_of=False, scalar=False).any()

    def contains(self, part: Text | str | bytes) -> Integer:
        """Whether `part` is somewhere in the text; the zeros at the end of an encrypted one do not count."""
        size = part.kind.length if isinstance(part, Text) else len(self._public(part))
        if size > self.kind.length:
            raise refuse(f"a part of {size} bytes in a text of {self.kind.length}; give one that fits")
        # An encrypted part may be shorter than its type, and so begin anywhere.
        offsets = range(self.kind.length if isinstance(part, Text) else self.kind.length - size + 1)
        return self._matches(part, offsets).any()


def _plain(characters: Integer) -> Integer:
    return characters._plain() if isinstance(characters, Text) else characters


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
        self._entries = entries
        self._kind = result

    def __getitem__(self, index: Integer) -> Integer:
        if not isinstance(index, Integer):
            entries = "entries" if callable(self._entries) else "lambda k: entries[k]"
            raise refuse(
                f"a table's index is an encrypted value of a few bits; use pf.lookup(i, {entries})"
                if _is_small(index)
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
        digits = [kind.digits(value) for value in [*values, *[0] * (size - len(values))]]
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


def _is_small(value: object) -> TypeGuard[Value]:
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
    """Why a vector is not indexed by an encrypted number, and a sum of choices that does it: of bits in a type that has their sum."""
    element = "v[k]"
    if isinstance(vector, Integer):
        if vector.kind.bits == 1:
            element = f"v[k].cast({holding(*vector.kind.bounds, 2)!r})"
    elif isinstance(index, Integer):
        lo, hi, _ = vector.element.bounds
        if hi - lo >= MOST_CAST:
            return f"an encrypted {index.type} picks no element of {vector.type}; declare the vector as {holding(lo, hi)!r} too"
        element = f"v[k].cast({holding(lo, hi, 2)!r})"
    elif vector.element.kind == "boolean":
        element = "v[k] + 0"
    return (
        "an encrypted index picks no element of an encrypted vector; of public numbers use pf.Table(entries)[i], of these "
        f"pf.sum([pf.mux(i == k, {element}, 0) for k in range({len(vector)})])"
    )


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
    matrix = np.asarray(other)
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
        value.kind.digits(weight)
        if weight:
            places.setdefault(int(weight), []).append(index)
    sums = [(weight, total([value[index] for index in indices])) for weight, indices in places.items()]
    return total([part if weight == 1 else part * weight for weight, part in sums] or [value[0] * 0])


def _chosen(condition: Integer, *choices: object) -> Integer:
    """The first of public choices, in the narrowest type that has them all."""
    for choice in choices:
        if not isinstance(choice, int | np.integer | np.ndarray | list | tuple):
            raise refuse(f"mux: a choice is {type(choice).__name__}, but an integer is needed, encrypted or public")
    kind = narrowest(
        [
            whole("a choice of mux", value)
            for choice in choices
            for value in np.asarray(choice, dtype=object).reshape(-1)
        ]
    )
    first = choices[0]
    scalar = isinstance(first, int | np.integer)
    return public(condition._tracer, kind.of(1 if scalar else len(cast(Sequence[int], first)), scalar=scalar), first)


def select(condition: Integer, then: Integer | Public, otherwise: Integer | Public) -> Integer:
    """`then` where the bit `condition` is 1, else `otherwise`; a text where one of them is."""
    if isinstance(then, str) and isinstance(otherwise, str):
        kind = TextType(8, length=max(1, len(text_bytes(then)), len(text_bytes(otherwise))), scalar=False)
        then = Text.of(public(condition._tracer, kind, then))
    text = then if isinstance(then, Text) else otherwise
    if isinstance(text, Text):
        a, b = (_plain(text._characters(cast("Text | str", choice), text.kind.length)) for choice in (then, otherwise))
        return Text.of(select(condition, a, b))
    known = then if isinstance(then, Integer) else otherwise
    if not isinstance(known, Integer):
        small = [choice for choice in (then, otherwise) if _is_small(choice)]
        if small:
            ends = [end for choice in small for end in choice.element.bounds[:2]]
            raise refuse(
                f"mux: the condition is {condition.kind}, and a choice {small[0].type}; cast the choices, as x.cast({holding(*ends)!r})"
            )
        known = _chosen(condition, then, otherwise)
    a, b = known._operand(then), known._operand(otherwise)
    return condition._step(lambda builder: builder.integer_select(condition.handle, a.handle, b.handle), a, b)


def extreme(a: Integer | Public, b: Integer | Public, op: str) -> Integer:
    """The greater or the smaller of each pair; of two texts the one that stands behind or before the other."""
    for text, other in ((a, b), (b, a)):
        if isinstance(text, Text):
            return select(text > other if op == "max" else text < other, text, other)  # type: ignore[operator]
    if isinstance(a, Integer):
        return a._binary(op, b)
    return cast(Integer, b)._binary(op, a)


def total(values: Integer | Sequence[Integer]) -> Integer:
    """The sum of a vector's elements, or of all values: carried once for every few of them."""
    if isinstance(values, Integer):
        return values._step(lambda builder: builder.integer_unary("total", values.handle), scalar=True)
    first, *rest = values
    addends = [(1, value.handle) for value in values]
    return first._step(lambda builder: builder.integer_sum(addends), *rest)


def summed(values: Integer | Sequence[Integer]) -> Integer:
    """The same where a user asks for it, who counts with conditions."""
    one = values if isinstance(values, Integer) else values[0]
    if one.kind.bits == 1:
        raise refuse(
            f"a sum of {one.kind} would wrap at one bit, and say whether it is odd; to count, cast first, as pf.sum(x.cast(pf.UInt(8)))"
        )
    return total(values)


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
    first, *rest = values
    handles = [value.handle for value in values]
    return first._step(lambda builder: builder.integer_concat(handles), *rest, scalar=False)
