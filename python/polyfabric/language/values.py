"""Encrypted values while a program is traced: every operator appends one node to the program."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from .._native import ElementType, ProgramBuilder
from ..memory import most
from . import integers as wide
from . import slot_functions, slot_parts
from .choices import extreme
from .indices import picked
from .instead import BRANCHES, OF_ELEMENTS, Absences, membership, written
from .integers import Integer
from .numpy_calls import Asked, NumpyCalls
from .place import place, refuse, whole
from .public_operands import Clear, Table, cast_remedy, integers, tabulated, two_encrypted
from .reference import Reference, means
from .slots import SlotValue
from .texts import Text
from .types import FARTHEST, IntegerType, TextType, Type

_WIDEST_SHIFT = 62

_CARRIED = 1 << 16
"""As far as results of look-ups are decoded with a default parameter set within 2^-128."""


class _Node(Protocol):
    def __call__(self, builder: ProgramBuilder) -> int: ...


class Tracer(Asked):
    """One program being traced."""

    def __init__(self, name: str) -> None:
        self.builder = ProgramBuilder(name, most())
        self.reference = Reference()
        self.made: dict[tuple[str, int, int, bool], Value] = {}

    def node(self, step: _Node, *, scalar: bool) -> Value:
        """Appends one node, at the user's place."""
        self.builder.at(*place())
        return Value(self, step(self.builder), scalar=scalar)

    def input(self, name: str, kind: Type | IntegerType) -> Value | Integer:
        """An encrypted input."""
        made: Value | Integer
        if isinstance(kind, IntegerType):
            self.builder.at(*place())
            handle = self.builder.integer_input(name, kind.bits, kind.signed, kind.length)
            made = Integer(self, handle, scalar=kind.scalar)
            made = Text.of(made) if isinstance(kind, TextType) else made
        else:
            made = self.node(lambda b: b.input(name, kind.element, kind.length), scalar=kind.scalar)
        self.reference.input(name, made, kind)
        return made


class Value(NumpyCalls):
    """An encrypted vector, or a single encrypted number. Arithmetic as usual; `&`, `|`, `^`, `~` on Booleans."""

    __slots__ = ("_tracer", "length", "meaning", "node", "scalar")
    __hash__ = Absences.__hash__
    METHODS = frozenset({"all", "any", "max", "min", "sum"})

    def __init__(self, tracer: Tracer, node: int, *, scalar: bool, length: int | None = None) -> None:
        self._tracer = tracer
        self.node = node
        self.scalar = scalar
        self.meaning: int | None = None
        """Its step in the program's reference."""
        self.length = tracer.builder.length(node) if length is None else length

    @property
    def element(self) -> ElementType:
        """Type of each element, with the range inferred so far."""
        return self._tracer.builder.element(self.node)

    @property
    def type(self) -> Type:
        """Element type and length."""
        return Type(self.element, self.length, self.scalar)

    def __len__(self) -> int:
        if self.scalar:
            raise refuse(f"a single {self.element} has no length; use a vector")
        return self.length

    def __repr__(self) -> str:
        return f"<encrypted {self.type}, node %{self.node}>"

    def _instead(self, name: str, operands: int) -> str:
        found = written(OF_ELEMENTS[self.element.kind], name, self.type)
        if found is not None:
            return found
        if operands == 1 and isinstance(getattr(np, name, None), np.ufunc):
            return "tabulate it, as pf.lookup(x, lambda v: ...), with an integer for every value of x"
        return "write it with operators, comparisons and pf.lookup(x, lambda v: ...)"

    def __bool__(self) -> bool:
        compared = "" if self.element.kind == "boolean" else "; compare it first, as x != 0"
        raise refuse(f"an encrypted {self.element} {BRANCHES}{compared}")

    def __contains__(self, item: object) -> bool:
        raise refuse(membership(item, not self.scalar, "(x == {item}).any()"))

    def __int__(self) -> int:
        raise refuse(f"an encrypted {self.element} is no Python integer; keep computing on it, and decrypt the output")

    def __float__(self) -> float:
        raise refuse(wide.no_number(self.element))

    def __index__(self) -> int:
        raise self._tracer.asked(
            f"an encrypted {self.element} is no Python integer, and no index; keep computing on it, and decrypt the output; an entry of public "
            "numbers is pf.lookup(x, lambda i: entries[i])"
        )

    # -- building -----------------------------------------------------------------------------------------------

    def _new(self, step: _Node, *, scalar: bool | None = None) -> Value:
        return self._tracer.node(step, scalar=self.scalar if scalar is None else scalar)

    def _once(self, op: str, other: Value, step: _Node) -> Value:
        """One node for the same operation on the same operands, so that what is said of a value twice is said of one."""
        key = (op, self.node, other.node, self.scalar)
        if key not in self._tracer.made:
            self._tracer.made[key] = self._new(step)
        return self._tracer.made[key]

    def _stretched(self, length: int, *, scalar: bool = False) -> Value:
        """This single value, `length` times, unless it is beside others that are `scalar`."""
        if not self.scalar or scalar:
            return self
        if length == 1:
            return Value(self._tracer, self.node, scalar=False, length=1)
        return self._new(lambda b: b.select(self.node, [0] * length), scalar=False)

    def _with(self, other: Value) -> tuple[Value, Value]:
        if other._tracer is not self._tracer:
            raise refuse("the operands belong to two different programs; use values of one program")
        return self._stretched(other.length, scalar=other.scalar), other._stretched(self.length, scalar=self.scalar)

    def _numbers(self, other: Value) -> tuple[Value, Value]:
        """Both of one length, as integers."""
        return self._number()._with(other._number() if other._tracer is self._tracer else other)

    def _clear(self, other: Clear) -> tuple[Value, list[int]]:
        """This value and clear numbers, of equal length."""
        if isinstance(other, Integer):
            raise wide.mixed(other, self)
        array = integers(other)
        if array.ndim > 1:
            shape = " x ".join(str(n) for n in array.shape)
            raise refuse(f"an array of {shape} does not combine with {self.type}; use @ for a matrix")
        if array.ndim == 0:
            return self, [int(array)] * self.length
        return self._stretched(len(array)), [int(x) for x in array]

    # -- arithmetic ---------------------------------------------------------------------------------------------

    def _number(self) -> Value:
        """This value as an integer: of a Boolean 0 or 1, by one look-up, once however often it is computed with."""
        if self.element.kind != "boolean":
            return self
        return self._once(
            "number", self, lambda builder: builder.lookup(self.node, [(0, [0, 1])], None, ElementType.integer(0, 0))
        )

    @means("+")
    def __add__(self, other: Value | Clear) -> Value:
        if isinstance(other, Value):
            a, b = self._numbers(other)
            return a._once("add", b, lambda builder: builder.add(a.node, b.node))
        a, values = self._number()._clear(other)
        return a._new(lambda builder: builder.add_clear(a.node, values))

    __radd__ = __add__

    @means("-")
    def __sub__(self, other: Value | Clear) -> Value:
        if isinstance(other, Value):
            a, b = self._numbers(other)
            return a._once("sub", b, lambda builder: builder.sub(a.node, b.node))
        a, values = self._number()._clear(other)
        return a._new(lambda builder: builder.add_clear(a.node, [-v for v in values]))

    @means("-", swapped=True)
    def __rsub__(self, other: Clear) -> Value:
        return (-self) + other

    def __pos__(self) -> Value:
        return self

    @means("neg")
    def __neg__(self) -> Value:
        number = self._number()
        return number._new(lambda builder: builder.neg(number.node))

    @means("*")
    def __mul__(self, other: Value | Clear) -> Value:
        if isinstance(other, Value):
            if other.node == self.node:
                return lookup(self, lambda x: x * x)
            if self.element.kind == other.element.kind == "boolean":
                return (self & other)._number()
            # a·b = q(a+b) − q(a−b) with q(s) = ⌊s²/4⌋, since a+b and a−b have the same parity.
            a, b = self._numbers(other)
            product = lookup(a + b, lambda s: s * s // 4) - lookup(a - b, lambda s: s * s // 4)
            ends = [x * y for x in a._ends for y in b._ends]
            return product._within(min(ends), max(ends))
        a, values = self._number()._clear(other)
        return a._new(lambda builder: builder.mul_clear(a.node, values))

    __rmul__ = __mul__

    @means("**")
    def __pow__(self, exponent: int, modulus: int | None = None) -> Value:
        if isinstance(exponent, Value | Integer):
            raise refuse(
                "** takes a public exponent; of an encrypted one from 0 to 2, say, write pf.mux(y == 0, 1, pf.mux(y == 1, x, x ** 2))"
            )
        if modulus is not None:
            power, of = whole("the exponent", exponent, 0, (1 << 64) - 1), whole("the modulus", modulus, 1, FARTHEST)
            return lookup(self, lambda x: pow(x, power, of))
        furthest = max(map(abs, self._ends))
        carried = next((power for power in range(1, 64) if furthest ** (power + 1) > _CARRIED), 64)
        power = whole("the exponent", exponent, 0, 64, advised=carried)
        if furthest**power > FARTHEST:
            remedy = cast_remedy(self, f"{{x}} ** {power}", [end**power for end in self._ends])
            raise refuse(
                f"the exponent is {power}, with which {self.element} goes beyond ±2^40; give an integer from 0 to {carried}{remedy}"
            )
        return lookup(self, lambda x: x**power)

    @means("**", swapped=True)
    def __rpow__(self, base: Clear) -> Value:
        return self._tabled("**", base, operator.pow, swapped=True)

    @means("abs")
    def __abs__(self) -> Value:
        return lookup(self, abs)

    def _tabled(
        self, op: str, other: Value | Clear, function: Callable[[int, int], int], *, swapped: bool = False
    ) -> Value:
        """`function` of each element and a public number, or of the number and the element if `swapped`: one look-up an element."""
        if isinstance(other, Value):
            raise refuse(two_encrypted(op, self, other))
        value, numbers = self._clear(other)
        shifts = op in ("<<", ">>")
        right = (value._ends if swapped else (min(numbers), max(numbers))) if numbers else (0, 0)
        if shifts and not 0 <= right[0] <= right[1] <= _WIDEST_SHIFT:
            raise refuse(f"{op} by {right[0]} to {right[1]}; shift by 0 to {_WIDEST_SHIFT}")
        if op in ("//", "%") and right[0] <= 0 <= right[1] and (swapped or 0 in numbers):
            where = f"; if it is not, say so with .assume(pf.Int(1, {right[1]}))" if swapped and right[1] else ""
            raise refuse(f"{op} by a number that may be 0{where or '; give another one'}")
        kinds = sorted(set(numbers))
        tables = [lambda v, k=k: function(k, v) if swapped else function(v, k) for k in kinds]
        if len(tables) == 1:
            return lookup(value, tables[0])
        return lookup(value, tables, choice=[kinds.index(number) for number in numbers])

    @means("//")
    def __floordiv__(self, other: Value | Clear) -> Value:
        return self._tabled("//", other, operator.floordiv)

    @means("//", swapped=True)
    def __rfloordiv__(self, other: Clear) -> Value:
        return self._tabled("//", other, operator.floordiv, swapped=True)

    @means("%")
    def __mod__(self, other: Value | Clear) -> Value:
        return self._tabled("%", other, operator.mod)

    @means("%", swapped=True)
    def __rmod__(self, other: Clear) -> Value:
        return self._tabled("%", other, operator.mod, swapped=True)

    def __divmod__(self, other: Value | Clear) -> tuple[Value, Value]:
        return self // other, self % other

    def __rdivmod__(self, other: Clear) -> tuple[Value, Value]:
        return other // self, other % self

    @means("<<")
    def __lshift__(self, other: Value | Clear) -> Value:
        return self._tabled("<<", other, operator.lshift)

    @means("<<", swapped=True)
    def __rlshift__(self, other: Clear) -> Value:
        return self._tabled("<<", other, operator.lshift, swapped=True)

    @means(">>")
    def __rshift__(self, other: Value | Clear) -> Value:
        return self._tabled(">>", other, operator.rshift)

    @means(">>", swapped=True)
    def __rrshift__(self, other: Clear) -> Value:
        return self._tabled(">>", other, operator.rshift, swapped=True)

    def __truediv__(self, _: object) -> Value:
        raise refuse(f"/ of an encrypted {self.element} is no integer; use // and %")

    __rtruediv__ = __truediv__

    @means("dot")
    def __matmul__(self, other: Value | Clear) -> Value:
        if isinstance(other, Value):
            if self.scalar or other.scalar:
                raise refuse(
                    f"@ takes vectors, and an operand is a single {(self if self.scalar else other).element}; use *"
                )
            return cast(Value, total(self * other))
        if isinstance(other, Integer):
            raise wide.mixed(other, self)
        matrix = integers(other)
        if matrix.ndim == 1:
            return self.__rmatmul__(matrix)
        return self.__rmatmul__(matrix.T)

    @means("dot", swapped=True)
    def __rmatmul__(self, other: Clear) -> Value:
        matrix = integers(other)
        if matrix.ndim not in (1, 2):
            raise refuse(f"@ takes a vector or a matrix of clear integers, not an array of {matrix.ndim} dimensions")
        rows = np.atleast_2d(matrix)
        if rows.shape[1] != self.length:
            raise refuse(
                f"a matrix of {rows.shape[0]} x {rows.shape[1]} does not multiply {self.type}; give it {self.length} columns"
            )
        terms = ((used.tolist(), row[used].tolist()) for row in rows for used in [np.flatnonzero(row)])
        bias = [0] * len(rows)
        number = self._number()
        return number._new(lambda b: b.linear(number.node, self.length, terms, bias), scalar=matrix.ndim == 1)

    @property
    def _ends(self) -> tuple[int, int]:
        lo, hi, _ = self.element.bounds
        return lo, hi

    def _within(self, lo: int, hi: int) -> Value:
        """This value, which is known to lie from `lo` to `hi`: what interval arithmetic does not see."""
        own_lo, own_hi = self._ends
        if lo <= own_lo and own_hi <= hi:
            return self
        known = ElementType.integer(max(lo, own_lo), min(hi, own_hi))
        return self._new(lambda builder: builder.assume(self.node, known))

    # -- comparisons: a Boolean for each element ---------------------------------------------------------------

    def _positive(self) -> Value:
        """Whether each element is at least 0, by one look-up on the sign."""
        return self._new(lambda builder: builder.sign(self.node, True))

    @means(">=")
    def __ge__(self, other: Value | Clear) -> Value:
        return (self - other)._positive()

    @means(">")
    def __gt__(self, other: Value | Clear) -> Value:
        return ~(self <= other)

    @means("<=")
    def __le__(self, other: Value | Clear) -> Value:
        return (-(self - other))._positive()

    @means("<")
    def __lt__(self, other: Value | Clear) -> Value:
        return ~(self >= other)

    @means("==")
    def __eq__(self, other: object) -> Value:  # type: ignore[override]
        if isinstance(other, Integer):
            raise wide.mixed(other, self)
        if not isinstance(other, Value | int | Sequence | np.ndarray | np.integer):
            raise refuse(f"an encrypted {self.element} is not comparable with {type(other).__name__}; give integers")
        if self.element.kind == "boolean" and not (isinstance(other, Value) and other.element.kind == "integer"):
            return ~(self ^ other)
        return (self - other)._is_zero()

    def _is_zero(self) -> Value:
        """Whether each element is 0, by one look-up."""
        return lookup(self, lambda difference: int(difference == 0), boolean=True)

    @means("!=")
    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return ~(self == other)

    # -- gates --------------------------------------------------------------------------------------------------

    def _gate(self, gate: str, other: Value | Clear) -> Value:
        if not isinstance(other, Value):
            a, values = self._clear(other)
            other = a._new(lambda b: b.constant(ElementType.boolean(), values))
            return a._gate(gate, other)
        a, b = self._with(other)
        return a._new(lambda builder: builder.gate(gate, a.node, b.node))

    def _bitwise(self, op: str, gate: str, other: Value | Clear, function: Callable[[int, int], int]) -> Value:
        """A gate of Booleans; of an integer and public numbers, a look-up."""
        if self.element.kind == "integer":
            return self._tabled(op, other, function)
        return self._gate(gate, other)

    @means("&")
    def __and__(self, other: Value | Clear) -> Value:
        return self._bitwise("&", "and", other, operator.and_)

    @means("|")
    def __or__(self, other: Value | Clear) -> Value:
        return self._bitwise("|", "or", other, operator.or_)

    @means("^")
    def __xor__(self, other: Value | Clear) -> Value:
        return self._bitwise("^", "xor", other, operator.xor)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    @means("~")
    def __invert__(self) -> Value:
        return self._new(lambda builder: builder.not_(self.node))

    # -- elements -----------------------------------------------------------------------------------------------

    def __getitem__(self, index: int | slice | Sequence[int] | NDArray[np.integer]) -> Value:
        if self.scalar:
            raise refuse(f"a single {self.element} has no elements; use a vector")
        if isinstance(index, Value | Integer):
            raise refuse(wide.encrypted_index(self, index))
        elements, single = picked(index, self.length, self.type)
        return self._taken(elements, scalar=single)

    @means("take")
    def _taken(self, indices: list[int], *, scalar: bool) -> Value:
        return self._new(lambda builder: builder.select(self.node, indices), scalar=scalar)

    def __iter__(self) -> Iterator[Value]:
        return (self[i] for i in range(len(self)))

    @means("sum")
    def sum(self) -> Value:
        """The sum of the elements: `pf.sum`."""
        return cast(Value, total(self))

    @means("all")
    def all(self) -> Value:
        """Whether every Boolean of this vector is 1."""
        return wide.folded(self, lambda a, b: a._gate("and", b), lambda parts: concat(*parts))

    @means("any")
    def any(self) -> Value:
        """Whether a Boolean of this vector is 1."""
        return wide.folded(self, lambda a, b: a._gate("or", b), lambda parts: concat(*parts))

    @means("max")
    def max(self) -> Value:
        """The greatest element."""
        return wide.folded(self._number(), maximum, lambda parts: concat(*parts))

    @means("min")
    def min(self) -> Value:
        """The least element."""
        return wide.folded(self._number(), minimum, lambda parts: concat(*parts))

    @means("cast")
    def cast(self, kind: IntegerType) -> Integer:
        """The same values as integers of any width, `pf.UInt(bits)` or `pf.SInt(bits)`."""
        if not isinstance(kind, IntegerType):
            raise refuse(f"cast: {kind} is no integer of any width; give pf.UInt(bits) or pf.SInt(bits)")
        return wide.converted(self, kind)

    @means("assume")
    def assume(self, kind: Type) -> Value:
        """This value, promised to lie in the range of `kind`: narrows what interval arithmetic over-estimates."""
        if not isinstance(kind, Type) or kind.element.kind != "integer":
            raise refuse(f"assume: {kind} is no range of small values; give one, as x.assume(pf.Int(0, 7))")
        return self._new(lambda builder: builder.assume(self.node, kind.element))

    def step(self, denominator: int) -> Value:
        """Demands that this value, and all that linear operations join with it, is carried in steps of 1/denominator."""
        steps = whole("the denominator of a step", denominator, 1, (1 << 32) - 1)
        self._tracer.builder.at(*place())
        self._tracer.builder.pin_step(self.node, steps)
        return self


def _operand(what: str, value: object) -> str:
    """Why something is no operand of a look-up."""
    if isinstance(getattr(value, "kind", None), IntegerType):
        return f"{what}: the operand is an integer of any width; use pf.Table(function)[x], or comparisons and pf.mux"
    return f"{what}: the operand is {type(value).__name__}, but an encrypted value is needed"


def lookup(
    value: Value,
    table: Table | Sequence[Table],
    *,
    choice: Sequence[int] | NDArray[np.integer] | None = None,
    boolean: bool = False,
    result: Type | None = None,
) -> Value:
    """Any function of each element, by one programmable bootstrapping an element.

    `table` is a Python function over the range of `value`, or the list of results from the smallest value up. With
    `choice`, `table` is a list of tables, and element i uses table `choice[i]`. The result is an integer whose range
    is taken from the table, and lies in that of `result` where one is given; a Boolean with `boolean`, or the type `result`
    if that is pf.Bool or pf.Torus(bits).
    """
    if isinstance(value, SlotValue):
        raise refuse(
            "look-up: CKKS and BGV have none, nor maxima; use pf.chebyshev, pf.sign and pf.relu, or the integers of TFHE"
        )
    if not isinstance(value, Value):
        raise refuse(_operand("look-up", value))
    if choice is None:
        tables, chosen = [tabulated(table, value)], None  # type: ignore[arg-type]
    else:
        if not isinstance(table, Sequence | np.ndarray):
            raise refuse("look-up: with choice, give a list of tables")
        tables = [tabulated(t, value) for t in table]  # type: ignore[arg-type]
        last = len(tables) - 1
        chosen = [
            whole(f"choice {i} of a look-up", at, 0, last) for i, at in enumerate(integers(choice).reshape(-1).tolist())
        ]
    if result is not None and not isinstance(result, Type):
        raise refuse(f"look-up: result={result!r} is no type of small values; give one, as result=pf.Int(0, 7)")
    if boolean and result is not None:
        raise refuse(
            f"look-up: its result is a Boolean with boolean=True, and {result!r} with result=; give one of both"
        )
    element = ElementType.boolean() if boolean else result.element if result else ElementType.integer(0, 0)
    made = _looked_up(value, tables, chosen, element)
    if result is not None and result.element.kind == "integer":
        (lo, hi), (least, most, _) = made._ends, result.element.bounds
        if lo < least or hi > most:
            raise refuse(
                f"look-up: the table gives {lo} to {hi}, and not {result!r} alone; widen result=, or leave it out"
            )
    return made


@means("lookup")
def _looked_up(
    value: Value, tables: list[tuple[int, list[int]]], chosen: list[int] | None, element: ElementType
) -> Value:
    return value._new(lambda builder: builder.lookup(value.node, tables, chosen, element))


@means("sign")
def sign(
    value: Value | SlotValue,
    *,
    boolean: bool = False,
    gap: float = slot_functions.SIGN_GAP,
    degrees: Sequence[int] = slot_functions.SIGN_DEGREES,
) -> Value | SlotValue:
    """+1 where an element is at least 0, else -1, by one look-up over the whole torus; with `boolean`, 1 and 0.

    With CKKS, of numbers in [-1, 1], by composed minimax polynomials of odd `degrees`, each of ceil(log2(degree + 1))
    levels; within (-`gap`, `gap`) the result is anything from -1 to 1.
    """
    if isinstance(value, SlotValue):
        found = slot_functions.sign(value, gap, degrees, half=boolean, margins=slot_functions.SIGN_MARGINS)
        return found + 0.5 if boolean else found
    if not isinstance(value, Value):
        raise refuse(_operand("sign", value))
    slot_functions.expect_no_options("sign", gap, degrees)
    number = value._number()
    return number._new(lambda builder: builder.sign(number.node, boolean))


def dot(weights: Clear | Value | SlotValue, value: Clear | Value | SlotValue) -> Value | SlotValue:
    """`weights @ value`, one of which is encrypted, or both."""
    if isinstance(weights, Integer) or isinstance(value, Integer):
        return wide.dot(weights, value)  # type: ignore[arg-type, return-value]
    if isinstance(weights, SlotValue) and (weights.grid or getattr(value, "grid", None)):
        return weights @ value  # type: ignore[operator]
    if isinstance(weights, SlotValue):
        return (weights * value).sum_slots()
    if isinstance(weights, Value):
        return weights @ value  # type: ignore[operator]
    if not isinstance(value, Value | SlotValue):
        raise refuse(f"dot: the operands are public, {type(value).__name__} the second; give an encrypted vector")
    return value.__rmatmul__(weights)


def expect_elements(what: str, values: Sequence[object], instead: str) -> None:
    """Refuses operands that are no encrypted values of TFHE."""
    for value in values:
        if isinstance(value, SlotValue):
            raise refuse(f"{what}: CKKS and BGV have none; {instead}")
        if not isinstance(value, Value):
            raise refuse(f"{what}: an operand is {type(value).__name__}, but an encrypted value is needed")


@means("concat")
def concat(*values: Value) -> Value:
    """The elements of all operands, one after the other; of CKKS and BGV also the rows of matrices. Free, but for a level of a single number in slots."""
    if not values:
        raise refuse("concat: no operand; give at least one value")
    if all(isinstance(value, Integer) for value in values):
        return wide.joined(values)  # type: ignore[arg-type, return-value]
    if all(isinstance(value, SlotValue) for value in values):
        return slot_parts.concat(cast("Sequence[SlotValue]", values))  # type: ignore[return-value]
    encrypted = [value for value in values if isinstance(value, Value | Integer | SlotValue)]
    for value in values:
        if isinstance(value, list | tuple):
            raise refuse(
                f"concat: an operand is a {type(value).__name__}; give the values one by one, pf.concat(a, b, ..)"
            )
        if not isinstance(value, Value | Integer | SlotValue):
            one = "x" if encrypted and encrypted[0].type.scalar else "x[:1]"
            public = f", as {one} - {one} + {value!r}" if encrypted and isinstance(value, int | float) else ""
            raise refuse(f"concat: an operand is {type(value).__name__}, but an encrypted value is needed{public}")
    if any(isinstance(value, SlotValue) for value in encrypted):
        raise refuse("concat: a value of TFHE and one of CKKS or BGV do not combine; write one program for each scheme")
    other = next(
        (value for value in encrypted if isinstance(value, Integer) != isinstance(encrypted[0], Integer)), None
    )
    if other is not None:
        raise refuse(
            f"concat: {encrypted[0].type} and {other.type} are of different kinds; cast those of a few bits, as x.cast(pf.UInt(8))"
        )
    return values[0]._new(lambda builder: builder.concat([v.node for v in values]), scalar=False)


def _extreme(values: Sequence[object], pair: Callable[..., Value | Integer]) -> Value | Integer:
    """`pair` of all values, half of them at a time; of a single vector or sequence, of its elements."""
    if len(values) == 1 and isinstance(values[0], Iterable) and not isinstance(values[0], SlotValue):
        values = list(values[0])
    if len(values) == 1 and isinstance(values[0], SlotValue):
        # Of slots there is neither, of one vector as little as of two.
        return pair(values[0], values[0])
    encrypted = [value for value in values if isinstance(value, Value | Integer | SlotValue)]
    if not encrypted:
        raise refuse("max and min: no encrypted value; give some, pf.max(x, y, 3), or a vector of them, pf.max(x)")
    while len(encrypted) > 1:
        pairs = [pair(a, b) for a, b in zip(encrypted[::2], encrypted[1::2], strict=False)]
        encrypted = [*pairs, *encrypted[2 * len(pairs) :]]
    public = [value for value in values if not isinstance(value, Value | Integer | SlotValue)]
    return cast("Value | Integer", reduce(pair, public, encrypted[0]))


@means("max")
def maximum(*values: Value | Integer | Text | Clear | Sequence[Value] | Sequence[Integer]) -> Value | Integer:
    """The largest of the values at each place, or of the elements of a single vector or sequence.

    Two values of a few bits take one look-up on their difference; of integers of any width, a comparison and a choice.
    """
    return _extreme(values, _larger)


@means("min")
def minimum(*values: Value | Integer | Text | Clear | Sequence[Value] | Sequence[Integer]) -> Value | Integer:
    """The smallest of the values at each place, or of the elements of a single vector or sequence: as `maximum`."""
    return _extreme(values, _smaller)


def _larger(a: Value | Integer | Clear, b: Value | Integer | Clear) -> Value | Integer:
    if isinstance(a, Integer) or isinstance(b, Integer):
        return extreme(a, b, "max")  # type: ignore[arg-type]
    expect_elements(
        "maximum",
        (a,),
        "with reals, a + s * pf.relu((b - a) * (1 / s)), where b - a lies within -s to s; or the integers of TFHE, pf.UInt(bits)",
    )
    (low, high), (other_low, other_high) = ends_of(a), ends_of(b)  # type: ignore[arg-type]
    larger = lookup(a - b, lambda difference: max(difference, 0)) + b  # type: ignore[operator, arg-type]
    return larger._within(max(low, other_low), max(high, other_high))


def _smaller(a: Value | Integer | Clear, b: Value | Integer | Clear) -> Value | Integer:
    if isinstance(a, Integer) or isinstance(b, Integer):
        return extreme(a, b, "min")  # type: ignore[arg-type]
    expect_elements(
        "minimum",
        (a,),
        "with reals, a - s * pf.relu((a - b) * (1 / s)), where a - b lies within -s to s; or the integers of TFHE, pf.UInt(bits)",
    )
    (low, high), (other_low, other_high) = ends_of(a), ends_of(b)  # type: ignore[arg-type]
    smaller = lookup(a - b, lambda difference: min(difference, 0)) + b  # type: ignore[operator, arg-type]
    return smaller._within(min(low, other_low), min(high, other_high))


@means("sum")
def total(*values: Value | Integer | SlotValue | Sequence[Integer] | Sequence[Value]) -> Value | Integer | SlotValue:
    """The sum of all values; of a single vector or sequence, of its elements."""
    if len(values) == 1:
        only = values[0]
        if isinstance(only, SlotValue):
            return only.sum()
        if isinstance(only, Value):
            return cast(Value, dot([1] * only.length, only))
        if isinstance(only, Integer):
            return only.sum()
        values = tuple(only) if isinstance(only, Iterable) else values
    if values and all(isinstance(value, Integer) for value in values):
        return wide.total(cast("Sequence[Integer]", values))
    if not values or not any(all(isinstance(value, kind) for value in values) for kind in (Value, SlotValue)):
        raise refuse("sum: give an encrypted vector, or a sequence of encrypted values of one kind")
    return reduce(operator.add, cast("Sequence[Value]", values))


@means("relu")
def relu(
    value: Value | SlotValue,
    *,
    gap: float = slot_functions.SIGN_GAP,
    degrees: Sequence[int] = slot_functions.SIGN_DEGREES,
) -> Value | SlotValue:
    """max(value, 0), by one look-up an element; with CKKS, value (1 + sign(value)) / 2, as `sign` gives it."""
    if isinstance(value, SlotValue):
        return slot_functions.relu(value, gap, degrees)
    slot_functions.expect_no_options("relu", gap, degrees)
    return lookup(value, lambda x: max(x, 0))


def ends_of(value: Value | Clear) -> tuple[int, int]:
    """The least and the greatest value."""
    if isinstance(value, Value):
        return value._ends
    array = integers(value)
    return int(array.min()), int(array.max())
