"""Integers with a range, truth values and fractions as one ciphertext each: sums are free, and a function of one value is one lookup.

The product of two values takes two lookups, of the squares of sum and difference:

    x * y = q(x + y) - q(x - y),  q(s) = floor(s^2 / 4)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from .._native import ElementType, TfheProgramBuilder
from . import ranges
from .place import place, refuse
from .public_operands import Public
from .ranges import Span
from .types import MOST_CAST, Type

if TYPE_CHECKING:
    from .tracer import Tracer

Table = tuple[int, list[int]]
"""The least operand, and the results for it and the following operands."""


class _Node(Protocol):
    def __call__(self, builder: TfheProgramBuilder) -> int: ...


class Cells:
    """A vector of values with one ciphertext each, or a single one."""

    __slots__ = ("length", "node", "scalar", "tracer")

    def __init__(self, tracer: Tracer, node: int, *, scalar: bool, length: int | None = None) -> None:
        self.tracer = tracer
        self.node = node
        self.scalar = scalar
        self.length = tracer.builder.length(node) if length is None else length

    @classmethod
    def made(cls, tracer: Tracer, step: _Node, *, scalar: bool) -> Cells:
        """Appends one node, with the user's file and line."""
        tracer.builder.at(*place())
        return cls(tracer, step(tracer.builder), scalar=scalar)

    @property
    def element(self) -> ElementType:
        """Type of each element, with the range inferred so far."""
        return self.tracer.builder.element(self.node)

    @property
    def type(self) -> Type:
        """The type of one value, and their number."""
        return Type.of_element(self.element, self.length, scalar=self.scalar)

    @property
    def truth(self) -> bool:
        """Whether they are truth values."""
        return self.element.kind == "boolean"

    @property
    def span(self) -> Span:
        """The least and the greatest value."""
        lo, hi, _ = self.element.bounds
        return lo, hi

    # -- building ---------------------------------------------------------------------------------------------------

    def new(self, step: _Node, *, scalar: bool | None = None) -> Cells:
        """The result of a step."""
        return Cells.made(self.tracer, step, scalar=self.scalar if scalar is None else scalar)

    def _once(self, op: str, other: Cells, make: Callable[[], Cells]) -> Cells:
        """Reuses the result of the same operation on the same operands, so range assertions apply to both."""
        key = (op, self.node, other.node, self.scalar)
        if key not in self.tracer.made:
            self.tracer.made[key] = make()
        return self.tracer.made[key]

    def stretched(self, length: int, *, scalar: bool = False) -> Cells:
        """A single value repeated `length` times, unless the other operand is `scalar` too."""
        if not self.scalar or scalar:
            return self
        if length == 1:
            return Cells(self.tracer, self.node, scalar=False, length=1)
        return self.new(lambda b: b.select(self.node, [0] * length), scalar=False)

    def matched(self, other: Cells) -> tuple[Cells, Cells]:
        """Both operands at one length."""
        return self.stretched(other.length, scalar=other.scalar), other.stretched(self.length, scalar=self.scalar)

    def numbers(self) -> Cells:
        """Truth values as the numbers 0 and 1, by one lookup that later calls reuse."""
        if not self.truth:
            return self
        return self._once("number", self, lambda: self.lookup([(0, [0, 1])], None, ElementType.integer(0, 0)))

    def _next_to(self, other: Public) -> tuple[Cells, list[int]]:
        """This value and public numbers, at one length."""
        if other.scalar:
            return self, other.numbers * self.length
        if not self.scalar and self.length != len(other.numbers):
            raise refuse(
                f"a vector of {self.length} with {len(other.numbers)} public numbers; give {self.length}, or a single one"
            )
        return self.stretched(len(other.numbers)), other.numbers

    # -- arithmetic -------------------------------------------------------------------------------------------------

    def __add__(self, other: Cells | Public) -> Cells:
        if isinstance(other, Cells):
            a, b = self.numbers().matched(other.numbers())
            return a._once("add", b, lambda: a.new(lambda builder: builder.add(a.node, b.node)))
        a, values = self.numbers()._next_to(other)
        return a.new(lambda builder: builder.add_clear(a.node, values))

    def __sub__(self, other: Cells | Public) -> Cells:
        if isinstance(other, Cells):
            a, b = self.numbers().matched(other.numbers())
            return a._once("sub", b, lambda: a.new(lambda builder: builder.sub(a.node, b.node)))
        return self + Public([-v for v in other.numbers], scalar=other.scalar)

    def __neg__(self) -> Cells:
        number = self.numbers()
        return number.new(lambda builder: builder.neg(number.node))

    def __mul__(self, other: Cells | Public) -> Cells:
        if isinstance(other, Public):
            a, values = self.numbers()._next_to(other)
            return a.new(lambda builder: builder.mul_clear(a.node, values))
        if other.node == self.node:
            return self.tabled(lambda x: x * x)
        if self.truth and other.truth:
            return self.gate("and", other).numbers()
        a, b = self.numbers().matched(other.numbers())
        product = (a + b).tabled(lambda s: s * s // 4) - (a - b).tabled(lambda s: s * s // 4)
        return product.within(ranges.SPANS["*"](a.span, b.span))

    def linear(self, rows: NDArray[Any], *, scalar: bool) -> Cells:
        """For each row of weights, the weighted sum of this vector's elements."""
        terms = ((used.tolist(), row[used].tolist()) for row in rows for used in [np.flatnonzero(row)])
        bias = [0] * len(rows)
        number = self.numbers()
        return number.new(lambda b: b.linear(number.node, self.length, terms, bias), scalar=scalar)

    def total(self) -> Cells:
        """The sum of the elements."""
        return self.linear(np.ones((1, self.length), dtype=np.int64), scalar=True)

    def within(self, span: Span) -> Cells:
        """This value, with a known range that interval arithmetic cannot infer."""
        (lo, hi), (own_lo, own_hi) = span, self.span
        if lo <= own_lo and own_hi <= hi:
            return self
        return self.assumed(ElementType.integer(max(lo, own_lo), min(hi, own_hi)))

    def assumed(self, known: ElementType) -> Cells:
        """This value, which the user promises to lie in a range."""
        return self.new(lambda builder: builder.assume(self.node, known))

    # -- lookups ---------------------------------------------------------------------------------------------------

    def lookup(self, tables: list[Table], chosen: list[int] | None, element: ElementType) -> Cells:
        """An entry of each element's table: table `chosen[i]` for element i. A table of a table's results is one table of its operand, so
        that is looked up."""
        source, tables, chosen = self._composed(tables, chosen)
        made = source.new(lambda builder: builder.lookup(source.node, tables, chosen, element), scalar=self.scalar)
        if "torus" not in (source.element.kind, element.kind):
            self.tracer.looked_up[made.node] = (source, tables, chosen)
        return made

    def _composed(self, tables: list[Table], chosen: list[int] | None) -> tuple[Cells, list[Table], list[int] | None]:
        """Tables of this value, as tables of the operand that it was looked up from, if any."""
        if self.node not in self.tracer.looked_up:
            return self, tables, chosen
        source, own, own_chosen = self.tracer.looked_up[self.node]
        zeros = [0] * self.length
        pairs = list(zip(own_chosen or zeros, chosen or zeros, strict=True))
        kinds = sorted(set(pairs))
        composed = [table(lambda x, i=i, o=o: entry(tables[o], entry(own[i], x)), source) for i, o in kinds]
        return source, composed, None if len(kinds) == 1 else [kinds.index(pair) for pair in pairs]

    def tabled(self, function: Callable[[int], int], *, boolean: bool = False) -> Cells:
        """A function of each element."""
        return self.lookup(
            [table(function, self)], None, ElementType.boolean() if boolean else ElementType.integer(0, 0)
        )

    def next_to_public(self, op: str, other: Public, *, swapped: bool = False) -> Cells:
        """`op` of each element and a public number, or of the number and the element if `swapped`: one lookup per element."""
        value, numbers = self._next_to(other)
        kinds = sorted(set(numbers))
        spans = (ranges.of_numbers(kinds), value.span) if swapped else (value.span, ranges.of_numbers(kinds))
        of = ranges.function(op, *spans)
        tables = [table(lambda v, k=k: of(k, v) if swapped else of(v, k), value) for k in kinds]
        chosen = None if len(tables) == 1 else [kinds.index(number) for number in numbers]
        return value.lookup(tables, chosen, ElementType.integer(0, 0))

    def sign(self, *, boolean: bool) -> Cells:
        """+1 where an element is at least 0, else -1, by one lookup over the whole torus; with `boolean`, 1 and 0."""
        number = self.numbers()
        made = number.new(lambda builder: builder.sign(number.node, boolean))
        if ranges.size(number.span) <= MOST_CAST and number.element.kind == "integer":
            # A table of the sign is one of the number.
            signs = table(lambda value: int(value >= 0) if boolean else 1 if value >= 0 else -1, number)
            self.tracer.looked_up[made.node] = (number, [signs], None)
        return made

    def compared(self, op: str, other: Cells | Public) -> Cells:
        """Truth values of a comparison."""
        if op in ("==", "!="):
            if self.truth and other.truth:
                equal = ~self.gate("xor", other)
            else:
                equal = (self - other).tabled(lambda difference: int(difference == 0), boolean=True)
            return ~equal if op == "!=" else equal
        difference = self - other if op in (">=", "<") else -(self - other)
        found = difference.sign(boolean=True)
        return ~found if op in ("<", ">") else found

    def greater(self, other: Cells | Public) -> Cells:
        """The greater of each pair, by a lookup on their difference."""
        larger = (self - other).tabled(lambda difference: max(difference, 0)) + other
        return larger.within(ranges.SPANS["max"](self.span, other.span))

    def lesser(self, other: Cells | Public) -> Cells:
        """The lesser of each pair."""
        smaller = (self - other).tabled(lambda difference: min(difference, 0)) + other
        return smaller.within(ranges.SPANS["min"](self.span, other.span))

    # -- truth values -----------------------------------------------------------------------------------------------

    def gate(self, gate: str, other: Cells | Public) -> Cells:
        """A gate of truth values."""
        if isinstance(other, Public):
            a, values = self._next_to(other)
            b = a.new(lambda builder: builder.constant(ElementType.boolean(), values))
        else:
            a, b = self.matched(other)
        return a.new(lambda builder: builder.gate(gate, a.node, b.node))

    def __invert__(self) -> Cells:
        """The opposite of truth values."""
        made = self.new(lambda builder: builder.not_(self.node))
        if self.node in self.tracer.looked_up:
            self.tracer.looked_up[made.node] = self._composed([(0, [1, 0])], None)
        return made

    def chosen(self, then: Cells | Public, otherwise: Cells | Public) -> Cells:
        """`then` where this truth value holds, else `otherwise`."""
        if isinstance(then, Cells) and isinstance(otherwise, Cells) and then.truth and otherwise.truth:
            length = max(self.length, then.length, otherwise.length)
            scalar = self.scalar and then.scalar and otherwise.scalar
            c, t, o = (v.stretched(length, scalar=scalar) for v in (self, then, otherwise))
            return c.new(lambda builder: builder.mux(c.node, t.node, o.node))
        if isinstance(then, Public) and isinstance(otherwise, Public):
            return self._public_choice(then, otherwise)
        then, otherwise = (value.numbers() if isinstance(value, Cells) else value for value in (then, otherwise))
        # otherwise + (condition ? then - otherwise : 0), by one lookup on the difference shifted by the condition.
        difference = then - otherwise if isinstance(then, Cells) else -cast(Cells, otherwise) + then
        lo, hi = difference.span
        bit = self.lookup([(0, [0, hi - lo + 1])], None, ElementType.integer(0, 0))
        shifted = difference + bit + Public([-lo], scalar=True)
        change = shifted.tabled(lambda x: 0 if x <= hi - lo else x - (hi - lo + 1) + lo)
        return (change + otherwise).within(ranges.union(then.span, otherwise.span))

    def _public_choice(self, then: Public, otherwise: Public) -> Cells:
        condition = self._next_to(then)[0]._next_to(otherwise)[0]
        (c, ones), (_, zeros) = condition._next_to(then), condition._next_to(otherwise)
        if len(ones) != len(zeros):
            raise refuse(f"where: the choices have {len(ones)} and {len(zeros)} elements; give both the same length")
        pairs = list(zip(zeros, ones, strict=True))
        kinds = sorted(set(pairs))
        tables = [(0, list(kind)) for kind in kinds]
        return c.lookup(
            tables, None if len(kinds) == 1 else [kinds.index(own) for own in pairs], ElementType.integer(0, 0)
        )

    # -- elements ---------------------------------------------------------------------------------------------------

    def taken(self, indices: Sequence[int], *, scalar: bool = False) -> Cells:
        """The elements at these indices."""
        return self.new(lambda builder: builder.select(self.node, list(indices)), scalar=scalar)


def joined(parts: Sequence[Cells]) -> Cells:
    """The elements of all parts in order."""
    return parts[0].new(lambda builder: builder.concat([part.node for part in parts]), scalar=False)


def entry(table: Table, operand: int) -> int:
    """An entry of a table, 0 beyond its ends."""
    first, entries = table
    return entries[operand - first] if 0 <= operand - first < len(entries) else 0


def table(function: Callable[[int], int], value: Cells) -> Table:
    """The results of a function over the range of `value`; entries for values that do not occur are 0."""
    lo, hi, stride = value.element.bounds
    entries = [0] * (hi - lo + 1)
    for operand in range(lo, hi + 1, stride):
        entries[operand - lo] = function(operand)
    return lo, entries
