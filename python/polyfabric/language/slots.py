"""Encrypted vectors of slots during tracing of a CKKS or BGV program: every operator appends nodes to the program.

All vectors of a program have the same number of slots. Zeros pad shorter vectors. Other operations may write behind a vector's end;
those that read there clear these slots first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from math import sqrt
from numbers import Number as _Number
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._native import RnsProgramBuilder
from ..errors import shown
from ..host.memory import most
from . import slot_matrix, slot_parts
from .instead import NUMBERS, REALS, Absences, approximated, unsuited, written
from .numpy_calls import Asked, Value
from .place import place, placed, refuse, whole
from .slot_reference import Reference, means, slotwise
from .slot_refusals import Refusals, Rounds
from .slot_repeats import repeating
from .types import SlotType, is_packed

Number: TypeAlias = "float | complex | np.number[Any]"
Numbers: TypeAlias = "Number | Sequence[Number] | NDArray[Any]"
Native: TypeAlias = "list[int] | tuple[list[float], list[float]]"
Approximated: TypeAlias = "tuple[int, int, Callable[[Sequence[float]], list[float]]]"
"""The operand's node, its number of slots, and the approximated function."""

MOST_LEVELS = 1000
"""More than any parameter set has; the set's own limit is checked later."""

NODES = {"add": RnsProgramBuilder.add, "sub": RnsProgramBuilder.sub, "mul": RnsProgramBuilder.mul}
"""Each operation on two vectors as a node of the program."""


class SlotTracer(Asked):
    """One program of CKKS or BGV being traced."""

    def __init__(self, name: str, slots: int, modulus: int | None, *, elastic: bool = False) -> None:
        self.slots = slots
        self.elastic = elastic
        """Whether the program may be traced again with more slots."""
        self.modulus = modulus
        self.may_round = False
        """Whether the program may be traced again as one on batches, which has integers too."""
        self.builder = placed(name, lambda: RnsProgramBuilder(name, slots, modulus, most()))
        self.mapped: dict[int, tuple[int, float, float, int]] = {}
        """By node of a polynomial whose operand was mapped to [-1, 1]: the original operand, its interval, and its number of slots."""
        self.functions: dict[int, Approximated] = {}
        """The approximated functions, by the last node of the approximation."""
        self.reference = Reference(slots, self.rows, modulus)
        """The program's meaning, as steps of numpy."""

    @property
    def packed(self) -> bool:
        """Whether a ciphertext holds a vector: false for BGV modulo a power of two."""
        return is_packed(self.modulus)

    @property
    def rows(self) -> int:
        """Rows of slots that rotate separately: two with BGV."""
        return 2 if self.modulus is not None and self.packed else 1

    @property
    def row(self) -> int:
        """Slots of a row."""
        return self.slots // self.rows

    @property
    def scheme(self) -> str:
        """Its name, for messages."""
        return "CKKS" if self.modulus is None else "BGV"

    def node(self, step: Callable[[RnsProgramBuilder], int]) -> int:
        """Appends one node, with the user's file and line."""
        self.builder.at(*place())
        return step(self.builder)

    def input(self, name: str, kind: SlotType, level: int | None = None) -> SlotValue:
        """An encrypted input, at a given level or at the lowest that the program allows."""
        node = self.node(lambda b: b.input(name, kind.bound, level))
        assert kind.kind != "selector"
        numbers: Literal["real", "complex", "residue"] = kind.kind
        value = SlotValue(
            self, node, kind=numbers, length=kind.length, scalar=kind.scalar, clean=True, shape=kind.shape
        )
        return value.at_step(self.reference.input(name))

    def public(self, given: object) -> NDArray[Any]:
        """Public numbers, checked against the scheme's types."""
        try:
            numbers = array(given, self.modulus)
        except ValueError as problem:
            raise refuse(f"a public operand: {problem}") from None
        if numbers.dtype.kind not in "biufc":
            raise refuse(
                f"public operands must be numbers, not {type(given).__name__} ({numbers.dtype}); give integers, floats or arrays of them"
            )
        if self.modulus is not None and numbers.dtype.kind not in "biu":
            raise refuse(f"BGV computes on integers, not on {numbers.dtype}; scale and round them first")
        return numbers

    def native(self, numbers: NDArray[Any]) -> NDArray[np.int64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Public numbers in the form of the Rust layers: arrays, without a Python object per number."""
        if self.modulus is not None:
            return np.ascontiguousarray(numbers, dtype=np.int64)
        return np.ascontiguousarray(numbers.real, dtype=float), np.ascontiguousarray(numbers.imag, dtype=float)

    def constant(self, numbers: NDArray[Any]) -> int:
        """A public vector, padded with zeros to the program's slots, or one number for all slots."""
        if numbers.ndim and len(numbers) < self.slots:
            numbers = np.concatenate([numbers, np.zeros(self.slots - len(numbers), dtype=numbers.dtype)])
        values = self.native(np.atleast_1d(numbers))
        return self.node(lambda b: b.constant(values))


def array(given: object, modulus: int | None) -> NDArray[Any]:
    """The user's numbers as an array; with BGV, integers of any size reduced modulo t. Raises `ValueError` with the reason."""
    if np.ma.is_masked(given):
        raise ValueError("some of its values are masked; fill them in first")
    try:
        numbers = np.asarray(given)
    except ValueError:
        raise ValueError("its rows have different lengths; give them one length") from None
    # Integers beyond 64 bits stay Python integers.
    if numbers.dtype == object or numbers.dtype == np.uint64:
        values = numbers.reshape(-1).tolist()
        for at, value in enumerate(values):
            if not isinstance(value, _Number | np.bool_):
                raise ValueError(f"element {at} is {shown(value)}, which is not a number")
        if modulus and all(isinstance(value, int | np.integer | np.bool_) for value in values):
            return np.asarray([int(value) % modulus for value in values], dtype=np.int64).reshape(numbers.shape)
        real = all(isinstance(value, Real | Decimal | np.bool_) for value in values)
        try:
            return np.asarray(values, dtype=float if real else complex).reshape(numbers.shape)
        except OverflowError:
            raise ValueError("an integer exceeds the range of floating-point numbers; scale it") from None
    return numbers


def native(numbers: NDArray[Any], modulus: int | None) -> Native:
    """Numbers in the form of the Rust layers: integers with BGV, else real and imaginary parts."""
    if modulus is not None:
        return [int(x) for x in numbers]
    imaginary = numbers.imag.astype(float).tolist() if np.iscomplexobj(numbers) else [0.0] * len(numbers)
    return numbers.real.astype(float).tolist(), imaginary


class SlotValue(Refusals, Value):
    """An encrypted vector or matrix in slots, or one encrypted number in every slot. Arithmetic as usual, slot by slot."""

    __slots__ = ("_clean", "_rotated", "_tracer", "grid", "kind", "length", "node", "scalar", "step")
    METHODS = frozenset({"sum", "mean", "reshape", "transpose", "var"})
    __hash__ = Absences.__hash__

    def __init__(
        self,
        tracer: SlotTracer,
        node: int,
        *,
        kind: Literal["real", "complex", "residue"],
        length: int,
        scalar: bool,
        clean: bool,
        shape: tuple[int, int] | None = None,
        rotated: bool = False,
    ) -> None:
        self._tracer = tracer
        self.node = node
        self.kind = kind
        # Number of elements; those of a matrix are stored row by row, without gaps.
        self.length = length
        self.scalar = scalar
        # Rows and columns of a matrix.
        self.grid = shape
        # Whether the slots behind the vector's end hold zeros. A single number has no end.
        self._clean = clean or (not scalar and length == tracer.slots)
        # Whether a rotation made it fill all slots of the program, so that it combines with shorter vectors.
        self._rotated = rotated
        # Step of the reference; `None` while an operation is rewritten.
        self.step: int | None = None

    def _with(self, *, clean: bool) -> SlotValue:
        """The same slots; `clean` means zeros behind the vector's end."""
        return SlotValue(
            self._tracer,
            self.node,
            kind=self.kind,
            length=self.length,
            scalar=self.scalar,
            clean=clean,
            shape=self.grid,
            rotated=self._rotated,
        )

    def at_step(self, step: int) -> SlotValue:
        """This value as the result of a step of the reference."""
        value = self._with(clean=self._clean)
        value.step = step
        return value

    @property
    def type(self) -> SlotType:
        """Kind, modulus and shape of the values."""
        return SlotType(self.kind, self._tracer.modulus, self.length, self.scalar, shape=self.grid)

    @property
    def shape(self) -> tuple[int, ...]:
        """See `SlotType.dimensions`."""
        return self.type.dimensions

    def __len__(self) -> int:
        if self.scalar:
            raise refuse(f"a single encrypted {self.kind} number has no length; use a vector")
        return self.grid[0] if self.grid else self.length

    def __repr__(self) -> str:
        return f"<encrypted {self.type}, node %{self.node}>"

    def _instead(self, name: str, operands: int) -> str:
        found = written(NUMBERS if self._tracer.modulus is not None else NUMBERS | REALS, name, self.type)
        if found is not None:
            return found
        if self._tracer.modulus is not None:
            return "BGV has sums, products and powers: write it with +, -, *, ** and pf.polynomial(x, coefficients)"
        if name in ("max", "min"):
            of_two = "x + pf.relu(y - x)" if name == "max" else "x - pf.relu(x - y)"
            return f"for two values that differ by at most 1 write {of_two}; for more use the integers of TFHE, pf.UInt(bits)"
        function = getattr(np, name, None)
        if operands == 1 and isinstance(function, np.ufunc):
            return approximated(function, self.type)
        return "CKKS has sums, products and polynomials: write it with +, -, *, **, pf.chebyshev and pf.sign"

    def __pos__(self) -> SlotValue:
        return self

    @means(np.true_divide, numbers=True)
    def __truediv__(self, other: Numbers | SlotValue) -> SlotValue:
        if isinstance(other, SlotValue):
            self._divides_residues()
            raise refuse(
                "encrypted numbers cannot be divisors; use a polynomial for the reciprocal, such as "
                "pf.chebyshev(y, lambda y: 1 / y, degree, (lo, hi))"
            )
        if self._tracer.modulus is not None:
            each = (
                f"pow({other}, -1, {self._tracer.modulus})"
                if np.ndim(other) == 0
                else f"[pow(int(n), -1, {self._tracer.modulus}) for n in divisors]"
            )
            raise refuse(
                f"/ is not available for integers modulo t; multiply with the inverse, if it exists, as x * {each}"
            )
        divisor = self._tracer.public(other)
        if not np.all(divisor):
            raise refuse(f"element {int(np.argmin(np.abs(divisor)))} of the divisor is 0; correct it")
        return self * (1 / divisor)

    # -- building ---------------------------------------------------------------------------------------------------

    def _new(
        self,
        step: Callable[[RnsProgramBuilder], int],
        *,
        clean: bool,
        kind: Literal["real", "complex", "residue"] | None = None,
        length: int | None = None,
        scalar: bool | None = None,
        shape: tuple[int, int] | None = None,
        rotated: bool | None = None,
    ) -> SlotValue:
        """A new value from this one, with the same shape if no length is given."""
        return SlotValue(
            self._tracer,
            self._tracer.node(step),
            kind=self.kind if kind is None else kind,
            length=self.length if length is None else length,
            scalar=self.scalar if scalar is None else scalar,
            clean=clean,
            shape=self.grid if length is None else shape,
            rotated=self._rotated and length in (None, self.length) if rotated is None else rotated,
        )

    def _viewed(self, length: int, shape: tuple[int, int] | None, *, clean: bool | None = None) -> SlotValue:
        """The same slots as `length` numbers of another shape."""
        known = self._clean if clean is None else clean
        return SlotValue(self._tracer, self.node, kind=self.kind, length=length, scalar=False, clean=known, shape=shape)

    def _cleared(self) -> SlotValue:
        """This vector with zeros behind its end."""
        if self._clean or self.scalar:
            return self
        mask = self._tracer.constant(np.ones(self.length, dtype=np.int64))
        return self._new(lambda b: b.mul(self.node, mask), clean=True)

    def _numbers(self, other: Numbers) -> NDArray[Any]:
        """Public numbers, checked to combine with this vector."""
        numbers = self._tracer.public(other)
        if self.grid is not None and numbers.ndim:
            try:
                numbers = np.broadcast_to(numbers, self.grid).reshape(-1)
            except ValueError:
                shape = slot_matrix.size(numbers.shape)
                raise refuse(
                    f"an array of {shape} cannot be combined with {self.type}; give an array of this shape, or use @ for a product"
                ) from None
        if numbers.ndim > 1:
            shape = slot_matrix.size(numbers.shape)
            raise refuse(f"an array of {shape} cannot be combined with {self.type}; use @ for a matrix")
        if numbers.ndim == 1 and not self._tracer.packed:
            raise refuse(
                f"{self.type} is one number, as its modulus is a power of two; combine it with one public integer"
            )
        if numbers.ndim == 1 and len(numbers) > self._tracer.slots:
            raise refuse(
                f"there are {len(numbers)} public numbers, but the program's vectors have {self._tracer.slots} slots; give the "
                f"program more with slots={_power(len(numbers))}"
            )
        if numbers.ndim == 1 and not self.scalar and len(numbers) != self.length:
            raise refuse(
                f"{len(numbers)} public numbers cannot be combined with {self.type}; give {self.length} numbers, or one"
            )
        return numbers

    def _joined(self, op: str, other: SlotValue) -> SlotValue:
        if other._tracer is not self._tracer:
            raise refuse("the operands belong to two different programs; use values of one program")
        a, b = self, other
        if not (a.scalar or b.scalar) and a.grid != b.grid:
            a, b = slot_matrix.broadcast(a, b)
        if not (a.scalar or b.scalar) and a.length != b.length:
            a, b = (v if v.length == max(a.length, b.length) else v._cleared() for v in (a, b))
        length = max(v.length for v in (a, b) if not v.scalar) if not (a.scalar and b.scalar) else 1
        ends = [v._clean for v in (a, b) if not v.scalar]
        # A sum is clean if both operands are, a product if one is.
        clean = any(ends) if op == "mul" else len(ends) == 2 and all(ends)
        return a._new(
            lambda builder: NODES[op](builder, a.node, b.node),
            clean=clean,
            kind="complex" if "complex" in (a.kind, b.kind) else a.kind,
            length=length,
            scalar=a.scalar and b.scalar,
            shape=a.grid or b.grid,
            rotated=any(v._rotated and v.length == length for v in (a, b)),
        )

    def _combined(self, op: str, other: Numbers) -> SlotValue:
        numbers = self._tracer.public(other)
        if numbers.ndim == 2 and numbers.shape != self.grid and self._tracer.packed:
            whole_shape = slot_parts.of_both(self, numbers.shape)
            if self.scalar:
                slot_matrix.expect_room(self, numbers.size, f"an array of {slot_matrix.size(numbers.shape)}")
                return self._combined(op, numbers.reshape(-1))._viewed(numbers.size, whole_shape)
            if whole_shape is not None and whole_shape != self.grid:
                return slot_matrix.stretched(self, whole_shape)._combined(op, numbers)
        numbers = self._numbers(other)
        kind = "complex" if np.iscomplexobj(numbers) else self.kind
        if numbers.ndim == 0 and op != "mul" and self._clean and not self.scalar:
            # Added only to the vector's own slots, so that it stays clean.
            numbers = np.full(self.length, numbers)
        constant = self._tracer.constant(numbers)
        vector = numbers.ndim == 1
        return self._new(
            lambda builder: NODES[op](builder, self.node, constant),
            clean=(self._clean or vector) if op == "mul" else (self._clean and vector and not self.scalar),
            kind=kind,
            length=len(numbers) if vector else self.length,
            scalar=self.scalar and not vector,
            shape=self.grid,
        )

    def _arithmetic(self, op: str, other: SlotValue | Numbers) -> SlotValue:
        if isinstance(other, SlotValue):
            slot_parts.expect_lengths(self, other)
            return self._joined(op, other)
        if type(other).__name__ == "TfheValue":
            raise refuse(
                "a value of TFHE cannot be combined with one of CKKS or BGV; write one program for each scheme"
            )
        return self._combined(op, other)

    # -- arithmetic -------------------------------------------------------------------------------------------------

    @means(slotwise(np.add), numbers=True)
    def __add__(self, other: SlotValue | Numbers) -> SlotValue:
        return self._arithmetic("add", other)

    __radd__ = __add__

    @means(slotwise(np.subtract), numbers=True)
    def __sub__(self, other: SlotValue | Numbers) -> SlotValue:
        return self._arithmetic("sub", other)

    @means(lambda x, other: other - x, numbers=True)
    def __rsub__(self, other: Numbers) -> SlotValue:
        return (-self) + other

    @means(np.negative)
    def __neg__(self) -> SlotValue:
        return self._new(lambda builder: builder.neg(self.node), clean=self._clean)

    @means(slotwise(np.multiply), numbers=True)
    def __mul__(self, other: SlotValue | Numbers) -> SlotValue:
        return self._arithmetic("mul", other)

    __rmul__ = __mul__

    @means(lambda x, factors, bits: x * factors, numbers=True)  # noqa: ARG005 - rounding is an error of the execution
    def times(self, factors: Numbers, bits: int) -> SlotValue:
        """CKKS: the product with public factors rounded to `bits` bits after the point, without using a level.

        Instead the scale grows by `bits` bits, which the modulus must have room for. The error of the factors is about
        2^-bits · sqrt(N / 12) in every slot, or at most 2^-bits / 2 for one number in all slots.
        """
        if self._tracer.modulus is not None:
            raise refuse("integers modulo t have no fractional bits; use *")
        numbers = self._numbers(factors)
        digits = whole("times: the number of bits after the point", bits, 0, 60)
        constant = self._tracer.constant(numbers)
        vector = numbers.ndim == 1
        return self._new(
            lambda builder: builder.mul_plain_scaled(self.node, constant, digits),
            clean=self._clean or vector,
            kind="complex" if np.iscomplexobj(numbers) else self.kind,
            length=len(numbers) if vector else self.length,
            scalar=self.scalar and not vector,
            shape=self.grid,
        )

    @means(Reference.power, slots=True)
    def __pow__(self, exponent: int, modulus: int | None = None) -> SlotValue:
        if modulus is not None:
            raise refuse("numbers in slots have no remainder; declare them as pf.Mod(modulus), for powers modulo it")
        if not isinstance(exponent, int | np.integer) or exponent < 0:
            others = ""
            if self._tracer.modulus is None and isinstance(exponent, int | float | np.number):
                others = f", or approximate it on an interval that holds the values, as pf.chebyshev(x, lambda v: v**{exponent}, 31, (0.25, 4))"
            raise refuse(
                f"the exponent of an encrypted number is 0, 1, 2, .., not {exponent}; give one of these{others}"
            )
        if exponent == 0:
            return self - self + 1
        # From the least significant bit on, the product is never deeper than the next square: ⌈log2 of the exponent⌉ levels.
        product, square = None, self
        while True:
            if exponent % 2:
                product = square if product is None else product * square
            exponent //= 2
            if exponent == 0:
                return product
            square = square._squared()

    def _squared(self) -> SlotValue:
        return self._new(lambda builder: builder.mul(self.node, self.node), clean=self._clean)

    @means(np.matmul, numbers=True)
    def __matmul__(self, other: SlotValue | Numbers) -> SlotValue:
        if isinstance(other, SlotValue):
            return slot_matrix.product(self, other)
        numbers = self._operand(other)
        if self.grid is not None:
            return slot_matrix.product_public(self, numbers)
        return self.__rmatmul__(numbers.T)

    @means(lambda x, other: other @ x, numbers=True)
    def __rmatmul__(self, other: Numbers) -> SlotValue:
        numbers = self._operand(other)
        if self.grid is not None:
            return slot_matrix.public_product(numbers, self)
        return (self * numbers)._total() if numbers.ndim == 1 else self._matrix(numbers)

    def _operand(self, other: Numbers) -> NDArray[Any]:
        """A public vector or matrix as an operand of @."""
        numbers = self._tracer.public(other)
        if numbers.ndim not in (1, 2) or numbers.size == 0:
            shape = slot_matrix.size(numbers.shape) or "one number"
            raise refuse(f"@ takes a vector or a matrix of public numbers, not {shape}")
        return numbers

    def _matrix(self, matrix: NDArray[Any]) -> SlotValue:
        """Multiplies by a matrix's generalised diagonals, or by those of its repeated rows if that takes fewer rotations."""
        rows, columns = matrix.shape
        row = self._tracer.row
        if self.scalar or columns != self.length:
            raise refuse(
                f"a matrix of {rows} x {columns} cannot be multiplied with {self.type}; give it {self.length} columns"
            )
        slot_matrix.expect_room(self, max(rows, columns), f"a matrix of {rows} x {columns}")
        # Baby-step giant-step takes about twice the root of the number of diagonals.
        folded = _power(rows)
        i, j = np.nonzero(matrix)
        direct = np.unique((j - i) % row).tolist() or [0]
        fold = folded < row and 2 * sqrt(folded) + np.log2(row // folded) < 2 * sqrt(len(direct))
        period = folded if fold else row
        places = np.arange(row)

        def diagonals() -> Iterator[tuple[int, Any]]:
            for number, offset in enumerate(range(period) if fold else direct):
                i, j = places % period, (places + offset) % row
                inside = (i < rows) & (j < columns)
                diagonal = np.zeros(self._tracer.slots, dtype=matrix.dtype)
                diagonal[places[inside]] = matrix[i[inside], j[inside]]
                if number == 0 or np.any(diagonal):
                    yield offset, self._tracer.native(diagonal)

        kind = "complex" if np.iscomplexobj(matrix) else self.kind
        product = self._new(
            lambda builder: builder.linear_transform(self.node, diagonals()), clean=not fold, kind=kind, length=rows
        )
        step = row
        while step > period:
            step //= 2
            product = product._turned_and_added(step)
        return product

    def _turned_and_added(self, steps: int) -> SlotValue:
        turned = self._tracer.node(lambda b: b.rotate(self.node, steps))
        return self._new(lambda b: b.add(self.node, turned), clean=False)

    # -- slots ------------------------------------------------------------------------------------------------------

    @means(Reference.rotated, slots=True)
    def rotate(self, steps: int) -> SlotValue:
        """Slot i becomes slot i + `steps`, cyclically over all slots, or with BGV over each of the two rows."""
        if self.scalar:
            return self
        turns = whole("rotate: the number of steps", steps)
        if abs(turns) > self._tracer.row:
            turns %= self._tracer.row
        cleared = self._cleared()
        return cleared._new(
            lambda b: b.rotate(cleared.node, turns), clean=True, length=self._tracer.slots, rotated=True
        )

    @means(np.conjugate)
    def conjugate(self) -> SlotValue:
        """The complex conjugate of each slot."""
        if self._tracer.modulus is not None:
            raise refuse("integers modulo t have no conjugate; swap_rows() exchanges the two rows of slots")
        return self._new(lambda builder: builder.conjugate(self.node), clean=self._clean)

    @means(np.real)
    def real_part(self) -> SlotValue:
        """CKKS: the real part of each slot, as half the sum with the conjugate.

        For real numbers this removes the imaginary half of the error. A bootstrap adds a complex error, and a polynomial that is flat along the
        real axis may be steep away from it.
        """
        if self._tracer.modulus is not None:
            raise refuse("integers modulo t have no imaginary part; remove real_part()")
        half = (self + self.conjugate()) * 0.5
        half.kind = "real"
        return half

    @means(Reference.swapped, slots=True)
    def swap_rows(self) -> SlotValue:
        """BGV: the two rows of slots exchanged."""
        if self._tracer.modulus is None:
            raise refuse("CKKS has one row of slots; rotate(slots // 2) exchanges its halves")
        if self.scalar:
            return self
        cleared = self._cleared()
        return cleared._new(lambda b: b.conjugate(cleared.node), clean=True, length=self._tracer.slots, rotated=True)

    @means(np.sum)
    def _total(self) -> SlotValue:
        """The sum of all numbers, in every slot; see `sum`."""
        if self.scalar:
            raise refuse(
                f"a single encrypted {self.kind} number has no elements to sum; multiply it by their number instead"
            )
        total = self._cleared()
        step = self._tracer.row
        while step > 1:
            step //= 2
            total = total._turned_and_added(step)
        if self._tracer.rows == 2:
            swapped = self._tracer.node(lambda b: b.conjugate(total.node))
            total = total._new(lambda b: b.add(total.node, swapped), clean=False)
        return SlotValue(self._tracer, total.node, kind=self.kind, length=1, scalar=True, clean=False)

    @means(np.sum)
    def sum(self, axis: int | None = None, *, keepdims: bool = False) -> SlotValue:
        """The sum of all numbers, in every slot; for a matrix also of each column (`axis` 0), or of each row (1). With `keepdims` the result along
        an axis is a matrix of one row or column. The sum of all numbers is always a single number, which combines with any shape."""
        return slot_matrix.kept(slot_matrix.total(self, axis), axis, keepdims)

    @means(np.mean)
    def mean(self, axis: int | None = None, *, keepdims: bool = False) -> SlotValue:
        """`sum`, divided by the number of summands."""
        if self._tracer.modulus is not None:
            raise refuse("integers modulo t have no mean; return the sum, and divide after decryption")
        result = self.sum(axis, keepdims=keepdims)
        return result * (result.length / self.length)

    @means(lambda x, axis=None, ddof=0, keepdims=False: np.var(x, axis, ddof=ddof, keepdims=keepdims))
    def var(self, axis: int | None = None, ddof: int = 0, *, keepdims: bool = False) -> SlotValue:
        """The variance, for two levels. `axis` as in `sum`; `ddof` as in numpy: the divisor is the count minus `ddof`."""
        if self._tracer.modulus is not None:
            raise refuse(
                "integers modulo t have no variance; return the sums of x and of x * x, and divide after decryption"
            )
        return slot_matrix.kept(slot_matrix.variance(self, axis, ddof), axis, keepdims)

    @means(lambda x, *shape: x.reshape(*shape))
    def reshape(self, *shape: int | tuple[int, ...]) -> SlotValue:
        """The same numbers, row by row, as a matrix or a vector; -1 for a size to infer. Free."""
        return slot_matrix.reshaped(self, shape)

    @property
    @means(np.transpose)
    def T(self) -> SlotValue:  # noqa: N802 - numpy's name
        """The transpose of a matrix, for one level."""
        return slot_matrix.transposed(self)

    def transpose(self) -> SlotValue:
        """See `T`."""
        return self.T

    def __iter__(self) -> Iterator[SlotValue]:
        if self.grid is None:
            refusal = refuse(
                "a vector of slots cannot be iterated, since each slot would take a rotation; compute on all of them at once, "
                "x * x and x.sum(), or select one, x[i], or a range, x[i:j]"
            )
            # Elements of a batch are vectors of slots each.
            raise Rounds(refusal) if self._rounds_in_batches() else refusal
        return (self[row] for row in range(self.grid[0]))

    @means(lambda x, index: x[index])
    def __getitem__(self, index: Any) -> SlotValue:  # noqa: ANN401 - whatever the user writes
        if self.scalar:
            raise refuse(f"a single encrypted {self.kind} number has no elements; use a vector")
        return slot_parts.part(self, index)

    # -- polynomials ------------------------------------------------------------------------------------------------

    @means(Reference.polynomial, slots=True)
    def _polynomial(self, coefficients: NDArray[Any], interval: tuple[float, float] | None = None) -> SlotValue:
        """A polynomial of each slot, with coefficients of powers, or of Chebyshev polynomials on an interval.

        Outside the interval the polynomial is unbounded: it would amplify noise there until values wrap around, which damages all slots.
        Slots behind the end are therefore mapped into the interval too.
        """
        operand, ends, behind = self, interval, 0.0
        if interval is not None and not self.scalar:
            lo, hi = interval
            if self._clean and not lo <= 0 <= hi:
                behind = (lo + hi) / 2
                operand = self._plus_behind(behind, clean=False)
            elif not self._clean and interval == (-1.0, 1.0):
                operand = self._cleared()
            elif not self._clean:
                # The map to [-1, 1] takes a level anyway; with vectors as factors it also clears the end.
                scale, shift = (np.full(self.length, number / (hi - lo)) for number in (2.0, hi + lo))
                operand, ends = self * scale - shift, (-1.0, 1.0)
        values = self._tracer.native(coefficients)
        kind = "complex" if np.iscomplexobj(coefficients) else self.kind
        result = operand._new(lambda builder: builder.polynomial(operand.node, values, ends), clean=False, kind=kind)
        if interval is not None and ends != interval:
            self._tracer.mapped[result.node] = (self.node, *interval, self.length)
        if self.scalar or not (operand._clean or behind):
            return result
        # The slots behind the end are public.
        series = np.polynomial.chebyshev
        at_end = (
            coefficients[0] if ends is None else series.chebval(series.Chebyshev([0, 1], ends)(behind), coefficients)
        )
        return result._plus_behind(-at_end, clean=True)

    def _plus_behind(self, number: Number, *, clean: bool) -> SlotValue:
        """This vector with a public number added behind its end; `clean` if that leaves zeros there."""
        if not number or self.length == self._tracer.slots:
            return self._with(clean=clean)
        end = np.zeros(self._tracer.slots, dtype=np.asarray(number).dtype)
        end[self.length :] = number
        constant = self._tracer.constant(end)
        return self._new(lambda builder: builder.add(self.node, constant), clean=clean)

    def _approximating(
        self, operand: SlotValue, function: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    ) -> SlotValue:
        """This value, recorded as an approximation of a function of `operand`."""
        slots = self._tracer.slots if operand.scalar else operand.length
        true = lambda numbers: np.asarray(function(np.asarray(numbers)), dtype=float).tolist()  # noqa: E731
        self._tracer.functions[self.node] = (operand.node, slots, true)
        return self

    # -- overrides of automatic placement ---------------------------------------------------------------------------

    @means(lambda x: x)
    def rescale(self) -> SlotValue:
        """This value, rescaled here (with BGV: switched to the next modulus) instead of where the compiler would."""
        return self._new(lambda builder: builder.rescale(self.node), clean=self._clean)

    @means(lambda x, _level: x)
    def at_level(self, level: int) -> SlotValue:
        """This value at `level`."""
        wanted = whole("at_level: the level", level, 0, MOST_LEVELS)
        return self._new(lambda builder: builder.mod_switch(self.node, wanted), clean=self._clean)

    @means(lambda x: x)
    def relinearise(self) -> SlotValue:
        """This value, relinearised here instead of where the compiler would."""
        return self._new(lambda builder: builder.relinearise(self.node), clean=self._clean)

    @means(Reference.repeated, slots=True)
    def bootstrap(self, slots: int | None = None) -> SlotValue:
        """This value with its levels restored (CKKS), or with its noise reduced (BGV modulo a power of two).

        With CKKS, a value that repeats every `slots` slots takes less time; each slot becomes the mean of its copies.
        """
        if self._tracer.modulus is not None and self._tracer.packed:
            raise refuse(
                f"bootstrap: the slots of numbers modulo {self._tracer.modulus} stand in one polynomial, and bootstrapping "
                "extracts the digits of one coefficient; declare each number pf.Mod(2), or pf.Mod(2**k), in a ciphertext of "
                "its own, or take parameters with limbs enough for the whole program"
            )
        period = None if slots is None or self.scalar else repeating(self, slots)
        return self._new(lambda builder: builder.bootstrap(self.node, period), clean=self._clean)


def _power(length: int) -> int:
    """The least power of two that is at least `length`."""
    return 1 << max(0, length - 1).bit_length()


def on_slots(what: str, value: SlotValue) -> SlotValue:
    """`value`, if it is in slots; otherwise an error about the operand of `what`."""
    if not isinstance(value, SlotValue):
        raise unsuited(what, value, "give an encrypted vector of CKKS or BGV")
    return value
