"""Encrypted values during tracing: every operator records its meaning and appends its lowering."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from .._native import ElementType
from . import lowering, ranges, truth
from .cells import Cells
from .digits import Digits
from .fixed_type import FixedType
from .indices import picked
from .instead import Absences, membership, of_values, written
from .lowering import Encrypted, Operand
from .numpy_calls import Value
from .place import place, refuse, users_frame, whole
from .public_operands import Clear, matrix, public
from .reals import RealValue
from .reals import from_integer as from_integer_to_real
from .reference import means
from .tracer import Tracer
from .types import MOST_BITS, SlotType, TextType, Type, needed_bits


class TfheValue(Value):
    """An encrypted integer, truth value or fraction, or a vector of them. Arithmetic as usual.

    An integer has a range and is exact, or a width and wraps. A truth value is 0 or 1: `&`, `|`, `^` and `~` are gates, and arithmetic treats it as a number.
    """

    __slots__ = ("_tracer", "form", "meaning")
    __hash__ = Absences.__hash__
    METHODS = frozenset({"all", "any", "max", "min", "sum"})

    def __init__(self, form: Encrypted) -> None:
        self._tracer: Tracer = form.tracer
        self.form = form
        """Its lowered form: one ciphertext, or digits."""
        self.meaning: int | None = None
        """Its step in the program's reference."""

    @property
    def type(self) -> Type:
        """Range or width, and length."""
        return self.form.type

    @property
    def length(self) -> int:
        """The number of elements."""
        return self.form.length

    @property
    def scalar(self) -> bool:
        """Whether it is a single value."""
        return self.form.scalar

    def _like(self, form: Encrypted) -> TfheValue:
        """Elements of this value in another form."""
        return TfheValue(form)

    def __len__(self) -> int:
        if self.scalar:
            raise refuse(f"a single {self.type} has no length; use a vector")
        return self.length

    def __repr__(self) -> str:
        return f"<encrypted {self.type}>"

    def _instead(self, name: str, operands: int) -> str:
        found = written(of_values(self.type), name, self.type)
        if found is not None:
            return found
        if operands == 1 and isinstance(getattr(np, name, None), np.ufunc):
            return "tabulate it, as pf.lookup(x, lambda v: ...), with an integer for every value of x"
        return "write it with operators, comparisons, pf.where and pf.lookup(x, lambda v: ...)"

    def __bool__(self) -> NoReturn:
        text = isinstance(self.type, TextType)
        compared = (
            ""
            if self.type.kind == "boolean"
            else f"; compare it first, as {'(x.encode() != 0).any()' if text else 'x != 0'}"
        )
        if self._tracer.reals:
            compared = "; a comparison of real numbers works on batches only, so compare the decrypted result, or use pf.sign(x - limit), a polynomial"
        raise refuse(
            f"an encrypted {self.type} cannot decide a branch, because its value is unknown; {truth.remedy(users_frame())}{compared}"
        )

    def __contains__(self, item: object) -> NoReturn:
        raise refuse(membership(item, not self.scalar, "(x == {item}).any()"))

    def __int__(self) -> NoReturn:
        raise refuse(
            f"an encrypted {self.type} cannot become a Python integer; keep computing on it, and decrypt the output. To take an entry of a "
            "public table, as np.take does, write pf.lookup(x, table)"
        )

    def __float__(self) -> NoReturn:
        raise refuse(
            f"an encrypted {self.type} cannot become a Python number or an element of a numpy array of numbers; write pf.lookup(x, f) for a "
            "function of it, such as math.isqrt, and combine values in a list, or as pf.concat(a, b)"
        )

    def __index__(self) -> NoReturn:
        raise self._tracer.asked(
            f"an encrypted {self.type} cannot be an index of a Python sequence; write pf.lookup(i, entries) for public entries, or "
            "pf.concat(x, y, ..)[i] for encrypted ones, which is 0 beyond both ends; for range(x) loop to its largest value, and select with "
            "pf.where(i < x, a, b)"
        )

    def __truediv__(self, _: object) -> NoReturn:
        low, high = self.type.bounds
        bits = min(needed_bits(low, high) + (low >= 0) + 8, MOST_BITS)
        raise refuse(
            f"/ is not available for an encrypted {self.type}; use // and %, or cast both numbers first, as x.cast(pf.Fixed({bits}, 8))"
        )

    __rtruediv__ = __truediv__

    # -- building ---------------------------------------------------------------------------------------------------

    def operand(self, other: object) -> Operand:
        """Another operand of an operation."""
        if isinstance(other, RealValue):
            raise refuse(f"{self.type} cannot be combined with real numbers; cast it first, as k.cast(pf.Real)")
        if isinstance(other, TfheValue):
            if other._tracer is not self._tracer:
                raise refuse("the operands belong to two different programs; use values of one program")
            if isinstance(other.type, TextType):
                raise refuse(f"a {other.type} cannot be combined with {self.type}; compute on its bytes, x.encode()")
            if isinstance(other.type, FixedType):
                raise refuse(
                    f"{other.type} cannot be the other operand of {self.type} here; cast it to an integer, x.cast(pf.SInt(bits))"
                )
            return other.form
        return public(other, self.type)

    # -- arithmetic -------------------------------------------------------------------------------------------------

    @means("+")
    def __add__(self, other: TfheValue | Clear) -> TfheValue:
        return TfheValue(lowering.arithmetic("+", self.form, self.operand(other)))

    __radd__ = __add__

    @means("-")
    def __sub__(self, other: TfheValue | Clear) -> TfheValue:
        return TfheValue(lowering.arithmetic("-", self.form, self.operand(other)))

    @means("-", swapped=True)
    def __rsub__(self, other: Clear) -> TfheValue:
        return TfheValue(lowering.arithmetic("-", self.operand(other), self.form))

    @means("*")
    def __mul__(self, other: TfheValue | Clear) -> TfheValue:
        return TfheValue(lowering.arithmetic("*", self.form, self.operand(other)))

    __rmul__ = __mul__

    def __pos__(self) -> TfheValue:
        return self

    @means("neg")
    def __neg__(self) -> TfheValue:
        return TfheValue(lowering.negated(self.form))

    @means("abs")
    def __abs__(self) -> TfheValue:
        return TfheValue(lowering.absolute(self.form))

    @means("**")
    def __pow__(self, exponent: int, modulus: int | None = None) -> TfheValue:
        if isinstance(exponent, TfheValue):
            bits = min(exponent.type.width, 63)
            raise refuse(
                "** takes a public exponent; for an encrypted one that is not negative multiply the powers of its bits, as "
                f"functools.reduce(operator.mul, [pf.where(y.bit(k), x ** 2**k, 1) for k in range({bits})])"
            )
        power = whole("the exponent", exponent, 0, (1 << 64) - 1)
        of = None if modulus is None else whole("the modulus", modulus, 1, 1 << (MOST_BITS // 2))
        return TfheValue(lowering.power(self.form, power, of))

    @means("**", swapped=True)
    def __rpow__(self, base: Clear) -> TfheValue:
        return TfheValue(lowering.powers(public(base, self.type), self.form))

    @means("//")
    def __floordiv__(self, other: TfheValue | Clear) -> TfheValue:
        return TfheValue(lowering.quotient(self.form, self.operand(other)))

    @means("//", swapped=True)
    def __rfloordiv__(self, other: Clear) -> TfheValue:
        return TfheValue(lowering.quotient(self.operand(other), self.form))

    @means("%")
    def __mod__(self, other: TfheValue | Clear) -> TfheValue:
        return TfheValue(lowering.remainder(self.form, self.operand(other)))

    @means("%", swapped=True)
    def __rmod__(self, other: Clear) -> TfheValue:
        return TfheValue(lowering.remainder(self.operand(other), self.form))

    @means("//", "%")
    def __divmod__(self, other: TfheValue | Clear) -> tuple[TfheValue, TfheValue]:
        quotient, remainder = lowering.divided(self.form, self.operand(other))
        return TfheValue(quotient), TfheValue(remainder)

    @means("//", "%", swapped=True)
    def __rdivmod__(self, other: Clear) -> tuple[TfheValue, TfheValue]:
        quotient, remainder = lowering.divided(self.operand(other), self.form)
        return TfheValue(quotient), TfheValue(remainder)

    def _checked(self, op: str, other: TfheValue | Clear) -> tuple[TfheValue, TfheValue]:
        result, over = map(TfheValue, lowering.checked(op, self.form, self.operand(other)))
        self._tracer.reference.note(f"checked {op}", result, (self, other), {})
        self._tracer.reference.note(f"beyond {op}", over, (self, other, result.type), {})
        return result, over

    def checked_add(self, other: TfheValue | Clear) -> tuple[TfheValue, TfheValue]:
        """The sum, and one bit that is 1 where it overflowed the width."""
        return self._checked("+", other)

    def checked_sub(self, other: TfheValue | Clear) -> tuple[TfheValue, TfheValue]:
        """The difference, and one bit that is 1 where it overflowed the width."""
        return self._checked("-", other)

    def checked_mul(self, other: TfheValue | Clear) -> tuple[TfheValue, TfheValue]:
        """The product, and one bit that is 1 where it overflowed the width."""
        return self._checked("*", other)

    @means("dot")
    def __matmul__(self, other: TfheValue | Clear) -> TfheValue:
        if isinstance(other, TfheValue):
            if self.scalar or other.scalar:
                raise refuse(
                    f"@ takes vectors, but an operand is a single {(self if self.scalar else other).type}; use *"
                )
            return TfheValue(lowering.summed(lowering.arithmetic("*", self.form, self.operand(other))))
        weights = matrix(other, self.type)
        return self._weighted(weights if weights.ndim == 1 else weights.T, weights)

    @means("dot", swapped=True)
    def __rmatmul__(self, other: Clear) -> TfheValue:
        weights = matrix(other, self.type)
        return self._weighted(weights, weights)

    def _weighted(self, rows: NDArray[Any], given: NDArray[Any]) -> TfheValue:
        if self.scalar:
            raise refuse(f"@ takes vectors, but an operand is a single {self.type}; use *")
        flat = np.atleast_2d(rows)
        if given.ndim > 2 or flat.shape[1] != self.length or not len(flat):
            shape = " x ".join(map(str, given.shape))
            raise refuse(
                f"an array of {shape} cannot be multiplied with {self.type}; give a matrix with {self.length} columns, or rows if it is the right operand"
            )
        return TfheValue(lowering.weighted(self.form, flat, scalar=given.ndim == 1))

    # -- bits -------------------------------------------------------------------------------------------------------

    @means("&")
    def __and__(self, other: TfheValue | Clear) -> TfheValue:
        return TfheValue(lowering.bits("&", self.form, self.operand(other)))

    @means("|")
    def __or__(self, other: TfheValue | Clear) -> TfheValue:
        return TfheValue(lowering.bits("|", self.form, self.operand(other)))

    @means("^")
    def __xor__(self, other: TfheValue | Clear) -> TfheValue:
        return TfheValue(lowering.bits("^", self.form, self.operand(other)))

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    @means("~")
    def __invert__(self) -> TfheValue:
        return TfheValue(lowering.inverted(self.form))

    @means("<<")
    def __lshift__(self, amount: TfheValue | Clear) -> TfheValue:
        return TfheValue(lowering.shifted("<<", self.form, self.operand(amount)))

    @means("<<", swapped=True)
    def __rlshift__(self, other: Clear) -> TfheValue:
        return TfheValue(lowering.shifted("<<", self.operand(other), self.form))

    @means(">>")
    def __rshift__(self, amount: TfheValue | Clear) -> TfheValue:
        return TfheValue(lowering.shifted(">>", self.form, self.operand(amount)))

    @means(">>", swapped=True)
    def __rrshift__(self, other: Clear) -> TfheValue:
        return TfheValue(lowering.shifted(">>", self.operand(other), self.form))

    def _declared(self, what: str) -> None:
        """Rejects values with a range, for operations that depend on a width."""
        if not self.type.wraps:
            kind = self.type
            width = "pf.SInt" if kind.signed else "pf.UInt"
            raise refuse(
                f"{what} depends on a width, but {kind.one} has none; cast it first, as x.cast({width}({kind.width}))"
            )

    @means("rotate_left")
    def rotate_left(self, amount: TfheValue | int) -> TfheValue:
        """Rotates left: bits shifted out at the top come in at the bottom."""
        self._declared("rotate_left")
        return TfheValue(lowering.shifted("rotate_left", self.form, self.operand(amount)))

    @means("rotate_right")
    def rotate_right(self, amount: TfheValue | int) -> TfheValue:
        """Rotates right: bits shifted out at the bottom come in at the top."""
        self._declared("rotate_right")
        return TfheValue(lowering.shifted("rotate_right", self.form, self.operand(amount)))

    @means("bit")
    def bit(self, index: int) -> TfheValue:
        """Bit `index`, 0 the least significant, as a truth value."""
        at = whole("the index of a bit", index, 0, self.type.width - 1)
        return TfheValue(lowering.bit(self.form, at))

    @means("bit_count")
    def bit_count(self) -> TfheValue:
        """The number of 1s in the absolute value, as Python's `int.bit_count`."""
        return TfheValue(lowering.ones(self.form))

    def leading_zeros(self) -> TfheValue:
        """The number of zeros above the highest 1 of a width."""
        self._declared("leading_zeros")
        assert isinstance(self.form, Digits)
        made = TfheValue(self.form.leading_zeros())
        self._tracer.reference.note("leading_zeros", made, (self, self.type), {})
        return made

    # -- types ------------------------------------------------------------------------------------------------------

    @means("cast")
    def cast(self, kind: Type) -> TfheValue:
        """The same values modulo 2^bits of another type, `pf.UInt(bits)` or `pf.SInt(bits)`, as `pf.Fixed` numbers, or in programs on batches as
        `pf.Real` numbers."""
        if isinstance(kind, SlotType) and kind.kind == "real":
            return from_integer_to_real(self, kind)  # type: ignore[return-value]
        if isinstance(kind, FixedType):
            from .fixed import from_integer

            return from_integer(self, kind)
        if (
            not isinstance(kind, Type)
            or not kind.split
            or isinstance(kind, TextType)
            or (kind.kind == "integer" and not kind.wraps)
        ):
            raise refuse(
                f"cast: {kind} has no width; give pf.UInt(bits) or pf.SInt(bits), or for a range x.assume(pf.Int(lo, hi))"
            )
        own = lowering.split(self.form)
        made = own.as_((kind.width, kind.signed))
        found = Digits(self._tracer, made.handle, scalar=made.scalar, truth=kind.kind == "boolean")
        return TfheValue(found.function(own, lambda value: value))

    @means("assume")
    def assume(self, kind: Type) -> TfheValue:
        """This value with the range of `kind`, which the user promises, where interval arithmetic over-estimates or the type is a width."""
        if not isinstance(kind, Type) or not (kind.kind == "integer" and kind.exact):
            raise refuse(f"assume: {kind} is not a range; give one, as x.assume(pf.Int(0, 7))")
        own = self.type
        if own.kind == "torus":
            raise refuse(f"assume: {own} is a fraction, and only integers have a range; declare it as pf.Int(lo, hi)")
        lo, hi, stride = ranges.narrowed((*own.bounds, own.stride), (*kind.bounds, kind.stride))
        if lo > hi:
            raise refuse(f"assume: {own.one} and {kind.one} have no common value; give a range that overlaps")
        if isinstance(self.form, Cells):
            return TfheValue(self.form.numbers().assumed(ElementType.integer(lo, hi, stride)))
        return TfheValue(self.form.as_(ranges.width((lo, hi))).ranged((lo, hi), stride))

    def step(self, denominator: int) -> TfheValue:
        """Requires a step of 1/denominator for the encoding of this value, and of all values that linear operations combine with it."""
        steps = whole("the denominator of a step", denominator, 1, (1 << 32) - 1)
        if not isinstance(self.form, Cells):
            raise refuse(f"step: {self.type} is in digits; declare it with a range, pf.Int(lo, hi)")
        self._tracer.builder.at(*place())
        self._tracer.builder.pin_step(self.form.node, steps)
        return self

    # -- comparisons: a truth value for each element ------------------------------------------------------------------

    def _compared(self, op: str, other: object) -> TfheValue:
        return TfheValue(lowering.compared(op, self.form, self.operand(other)))

    @means("<")
    def __lt__(self, other: TfheValue | Clear) -> TfheValue:
        return self._compared("<", other)

    @means("<=")
    def __le__(self, other: TfheValue | Clear) -> TfheValue:
        return self._compared("<=", other)

    @means(">")
    def __gt__(self, other: TfheValue | Clear) -> TfheValue:
        return self._compared(">", other)

    @means(">=")
    def __ge__(self, other: TfheValue | Clear) -> TfheValue:
        return self._compared(">=", other)

    @means("==")
    def __eq__(self, other: object) -> TfheValue:  # type: ignore[override]
        return self._compared("==", other)

    @means("!=")
    def __ne__(self, other: object) -> TfheValue:  # type: ignore[override]
        return self._compared("!=", other)

    # -- elements -----------------------------------------------------------------------------------------------------

    def __getitem__(self, index: int | slice | Sequence[int] | NDArray[np.integer] | TfheValue) -> TfheValue:
        if self.scalar:
            raise refuse(f"a single {self.type} has no elements; use a vector, or .bit(i) for its bits")
        if isinstance(index, TfheValue):
            return self._at(index)
        elements, single = picked(index, self.length, self.type)
        return self._taken(elements, scalar=single)

    @means("at")
    def _at(self, index: TfheValue) -> TfheValue:
        """The element at an encrypted index, or 0 beyond the ends.

        The server may not learn which element it is, so it selects among all: about one lookup for each digit of each element, and one comparison of
        the index with each position. 64 elements of 16 bits take about 900 lookups. A public vector costs less, `pf.lookup(index, entries)`.
        """
        self.operand(index)
        if not index.scalar:
            raise refuse(f"{index.type} cannot be an index of {self.type}; use a single value")
        return self._like(lowering.element_at(self.form, index.form))

    @means("take")
    def _taken(self, indices: list[int], *, scalar: bool) -> TfheValue:
        return self._like(lowering.taken(self.form, indices, scalar=scalar))

    def __iter__(self) -> Iterator[TfheValue]:
        return (self[i] for i in range(len(self)))

    def _vector(self, what: str) -> Encrypted:
        if self.scalar:
            raise refuse(f"{what} needs a vector, not a single {self.type}; give a vector")
        return self.form

    @means("sum")
    def sum(self) -> TfheValue:
        """The sum of the elements: `pf.sum`."""
        return TfheValue(lowering.summed(self.form))

    @means("max")
    def max(self) -> TfheValue:
        """The greatest element."""
        return self._like(lowering.folded("max", self._vector("max")))

    @means("min")
    def min(self) -> TfheValue:
        """The least element."""
        return self._like(lowering.folded("min", self._vector("min")))

    def _holds(self, what: str, *, any_of: bool) -> TfheValue:
        if self.type.kind != "boolean":
            raise refuse(f"{what} takes truth values, not {self.type}; compare them, as x != 0")
        return TfheValue(lowering.holds(self.form, any_of=any_of))

    @means("all")
    def all(self) -> TfheValue:
        """Whether every truth value of this vector holds."""
        return self._holds("all", any_of=False)

    @means("any")
    def any(self) -> TfheValue:
        """Whether any truth value of this vector holds."""
        return self._holds("any", any_of=True)
