"""A TFHE program during tracing, and the form of its values with a range.

Such a value is one ciphertext, on which sums are free and a function is one lookup, or it is digits. A function of up to 16 values is cheapest on one
ciphertext. Lookups of more values need larger rings and take ten times as long, so a plan in digits is tried too, and the cheaper one is kept.

    @pf.program(x=pf.Int(0, 15), y=pf.Int(0, 15))
    def less(x, y):
        return x < y            # one lookup, on the sign of x - y

    @pf.program(x=pf.Int(0, 255), y=pf.Int(0, 255))
    def less(x, y):
        return x < y            # in digits, as for pf.UInt(8): three lookups of four bits, not one of nine

- "free": values with a range are one ciphertext each, until combined with one that has a width.
- "split": those of more than 16 values are digits.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from .._native import TfheProgramBuilder
from ..host.memory import most
from . import ranges
from .cells import Cells, Table
from .digits import Digits
from .numpy_calls import Asked
from .place import place
from .ranges import Span
from .real_steps import RealSteps
from .reals import RealValue
from .reals import declared as declared_real
from .reference import Reference
from .types import FARTHEST, MOST_CAST, MOST_INDEX, MOST_LOOKED_UP, SlotType, Type

if TYPE_CHECKING:
    from .values import TfheValue

Form = Literal["free", "split"]

SIGNS = 2 * MOST_CAST - 1
"""Number of differences whose sign one lookup of 16 values can read, over the whole torus."""


class Unfit(Exception):  # noqa: N818 - not a user's error: another lowering is taken
    """A lowering does not fit the program."""


class InDigits(Unfit):
    """A value of more than 16 values is needed as digits."""


class Tracer(Asked):
    """One program being traced."""

    def __init__(
        self,
        name: str,
        form: Form = "free",
        digits: Collection[str] = (),
        *,
        again: bool = False,
        slot_tables: int | None = None,
        wide_tables: bool = False,
        wide_operations: bool = True,
        bits: bool = True,
    ) -> None:
        self.name = name
        self.builder = TfheProgramBuilder(name, most())
        if slot_tables is not None:
            self.builder.integer_slot_tables(slot_tables)
        if wide_tables:
            self.builder.integer_wide_tables(wide_operations)
        self.bits = bits or wide_tables
        """Whether integers that public shifts split keep their bits."""
        self.splits = False
        """Whether a public shift split one, so that digits alone may be cheaper."""
        self.wide_operations = wide_tables and wide_operations
        """Whether operations may become wide tables."""
        self.tabled = 1 << (MOST_INDEX if wide_tables else 8)
        """Up to this number of values a table in digits takes fewer lookups than products and remainders."""
        self.slot_tables = slot_tables
        """Most entries of a table on slots; `None` for a program of TFHE."""
        self.reals = RealSteps()
        self.signs = SIGNS if slot_tables is None else MOST_CAST
        """Number of differences whose sign one lookup reads. Tables on slots have no whole torus."""
        self.reference = Reference()
        self.made: dict[tuple[str, int, int, bool], Cells] = {}
        self.looked_up: dict[int, tuple[Cells, list[Table], list[int] | None]] = {}
        """What nodes were looked up from: operand, tables, and the table of each element."""
        self.form = form
        self.again = again
        """Whether another lowering of the program is known, so that this one may be given up."""
        self.wide = False
        """Whether an operator reads more than 16 values with one lookup, so that digits may be cheaper."""
        self.fixed = False
        """Whether the user requested a lookup of more than 16 values."""
        self.by_table = False
        """Whether an operator became a wide table, when the program is whole."""
        self.replaceable = False
        """Whether a wide table may take less than lookups of the program, when it is whole."""
        self.digits = digits
        """Inputs in digits, regardless of their range."""
        self.converted: set[str] = set()
        """Inputs with one ciphertext each that are converted to digits."""
        self._inputs: dict[int, str] = {}
        self._split: dict[tuple[int, bool], Digits] = {}

    def input(self, name: str, kind: Type | SlotType) -> TfheValue | RealValue:
        """An encrypted input."""
        if isinstance(kind, SlotType):
            real = declared_real(self, name, kind)
            self.reference.input(name, real, kind)
            return real
        from .fixed import FixedValue
        from .fixed_type import FixedType
        from .texts import Text
        from .types import TextType
        from .values import TfheValue

        self.builder.at(*place())
        if kind.split or name in self.digits or not self.holds(kind.bounds, kind):
            kind = replace(kind, split=True)
            handle = self.builder.integer_input(name, kind.width, kind.signed, kind.length)
            form = Digits(
                self,
                handle,
                scalar=kind.scalar,
                span=None if kind.wraps else kind.bounds,
                stride=kind.stride,
                truth=kind.kind == "boolean",
            )
            made = (
                Text(form)
                if isinstance(kind, TextType)
                else FixedValue(form, kind)
                if isinstance(kind, FixedType)
                else TfheValue(form)
            )
        else:
            node = self.builder.input(name, kind.element, kind.length)
            self._inputs[node] = name
            made = TfheValue(Cells(self, node, scalar=kind.scalar))
        self.reference.input(name, made, kind)
        return made

    def holds(self, span: Span, kind: Type | None = None) -> bool:
        """Whether values of a range may be one ciphertext each."""
        if kind is not None and kind.kind == "torus":
            return True
        if max(abs(span[0]), abs(span[1])) > FARTHEST:
            return False
        return self.form == "free" or ranges.size(span) <= MOST_CAST

    def reads(self, values: int, *, signs: bool = False) -> bool:
        """Whether an operator may read this many values with one lookup. With `signs`, only the sign matters."""
        if values <= (self.signs if signs else MOST_CAST):
            return True
        if self.form == "split" or (values > MOST_LOOKED_UP and not signs):
            return False
        self.wide = True
        return True

    def split(self, value: Cells) -> Digits:
        """A value as digits, converted only once."""
        key = (value.node, value.scalar)
        if value.node in self._inputs:
            self.converted.add(self._inputs[value.node])
        if key not in self._split:
            span = value.span
            if ranges.size(span) > MOST_CAST:
                raise InDigits
            bits, signed = ranges.width(span)
            self.builder.at(*place())
            handle = self.builder.integer_from(value.node, bits, signed)
            stride = value.element.bounds[2]
            self._split[key] = Digits(self, handle, scalar=value.scalar, span=span, stride=stride, truth=value.truth)
        return self._split[key]
