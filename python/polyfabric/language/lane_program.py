"""Programs on integers with CKKS: every operation is a lookup table on the slots of a ciphertext, for thousands of inputs at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ..errors import InputError, ProgramError
from ..host.memory import most
from ..host.names import pick
from .fixed_type import FixedType
from .lane_shapes import MOST_BATCH, Ends, LaneShapes, RealEnds, RealTerminal, Vector, in_batch
from .place import refuse, traced_again, warn_user, whole
from .program import TfheProgram, traced_in
from .real_steps import RealSteps, element_name
from .reference import Wrapped
from .slots import Approximated
from .traced import TracedProgram
from .tracer import Form, InDigits, Tracer
from .types import Bitwise, SlotType, TextType

L = TypeVar("L", bound="LaneProgram")

SHORT, LONG = 16, 256
"""Entries of the tables of the built-in parameter sets."""


class LaneProgram(TracedProgram):
    """A program on integers with CKKS, which executes on a batch of inputs."""

    kind = "lanes"
    native: _native.RnsProgram
    shapes: LaneShapes
    scheme = "ckks"
    integers: TfheProgram
    """The same program on one input, as it is lowered for slots."""
    single: TfheProgram
    """The same program on one input, as TFHE executes it."""
    summed: frozenset[str]
    """The outputs that are summed over the batch."""
    mapped: Mapping[int, tuple[int, float, float, int]] = {}
    functions: Mapping[int, Approximated] = {}

    def __init__(
        self,
        integers: TfheProgram,
        batch: int,
        single: TfheProgram | None = None,
        longest_table: int = LONG,
        summed: Collection[str] = (),
    ) -> None:
        _expect_sums(integers, summed)
        self.integers = integers
        self.single = single or integers
        self.summed = frozenset(summed)
        reals = integers.reals
        native, inputs, outputs, *ends = integers.native.on_slots(
            batch, longest_table, self.summed, reals.steps if reals else [], most()
        )
        shapes = LaneShapes(
            integers.shapes,
            _visible(integers),
            native.slots,
            batch,
            inputs,
            outputs,
            None if reals is None else _real_ends(integers, reals, *ends),
        )
        self._begin(native, shapes, integers.__doc__)
        self.function = integers.function
        self.reference = integers.reference

    @classmethod
    def parse(cls, text: str) -> Self:
        """The program of a TFHE program's text, on batches of one input."""
        return cls(TfheProgram.parse(text), 1)

    def _stored(self) -> dict[str, Any]:
        return {**self.integers._stored(), "batch": self.batch, "summed": sorted(self.summed)}

    @classmethod
    def _restored(cls, data: Mapping[str, Any]) -> Self:
        return cls(TfheProgram._restored(data), data["batch"], summed=data["summed"])

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, in batches of {self.batch}>"

    @property
    def batch(self) -> int:
        """Number of inputs that one execution takes."""
        return self.shapes.batch

    @property
    def slots(self) -> int:
        """Slots of every vector."""
        return self.native.slots

    def reference_values(self, inputs: Mapping[str, Vector]) -> tuple[dict[str, list[Any]], list[Wrapped]]:
        """The outputs on Python's numbers, item by item or summed, and the results that wrapped. `index` of a wrap is the item of the batch."""
        values, wrapped, _ = self.reference_at(inputs)
        return values, wrapped

    def reference_at(
        self, inputs: Mapping[str, Vector]
    ) -> tuple[dict[str, list[Any]], list[Wrapped], NDArray[np.float64]]:
        """As `reference_values`, and for each item the smallest distance of a real number from a border at which it is rounded, in steps."""
        items, wrapped = [], {}
        distances = np.full(self.batch, np.inf)
        for at, item in enumerate(self.shapes.items(inputs)):
            try:
                values, own, distances[at] = self.integers.reference_at(item)
            except InputError as error:
                raise in_batch(at, error) from None
            items.append(values)
            for wrap in own:
                key = (wrap.location, wrap.operation, wrap.type)
                first = wrapped.get(key) or replace(wrap, index=at, count=0)
                wrapped[key] = replace(first, count=first.count + wrap.count)
        return self.shapes.joined(items), list(wrapped.values()), distances

    def _evaluated(self, inputs: Mapping[str, Vector]) -> Mapping[str, Any]:
        values, wrapped = self.reference_values(inputs)
        for wrap in wrapped:
            warn_user(f"{self.name}: {wrap}", RuntimeWarning)
        return values


def _visible(program: TfheProgram) -> Any:  # noqa: ANN401 - a native program, or its names and types
    """The inputs and outputs of a program on integers that are the user's."""
    if program.reals is None:
        return program.native
    hidden, native = program.reals.hidden, program.native
    return Ends(
        native.name,
        [one for one in native.inputs if one[0] not in hidden],
        [one for one in native.outputs if one[0] not in hidden],
    )


def _real_ends(
    program: TfheProgram,
    reals: RealSteps,
    inputs: list[tuple[str, float]],
    outputs: list[tuple[str, float | None, float | None]],
) -> RealEnds:
    """The inputs and outputs of real numbers, with the vectors that hold them."""
    units = dict(inputs)
    returned = {name: (name, unit) if unit is not None else value for name, unit, value in outputs}

    def vectors(name: str, kind: SlotType) -> list[str]:
        return [element_name(name, at, kind.length) for at in range(kind.length)]

    return RealEnds(
        [
            RealTerminal(name, kind, [(vector, units[vector]) for vector in vectors(name, kind)])
            for name, kind in reals.inputs.items()
        ],
        [
            RealTerminal(name, kind, [returned[vector] for vector in vectors(name, kind)])
            for name, kind in reals.outputs.items()
        ],
        (list(program.inputs), list(program.outputs)),
        any(name.startswith("rounded-") for name in reals.hidden),
    )


def batched(
    program: TfheProgram,
    batch: int,
    kind: type[L],
    longest_table: int | None = None,
    summed: str | Iterable[str] = (),
) -> L:
    """The program on batches of inputs, with tables of at most `longest_table` entries; by default short or long ones, which take less work.
    The outputs in `summed` are summed over the batch."""
    batch = whole("batch", batch, 1, MOST_BATCH)
    most = LONG if longest_table is None else whole("longest_table", longest_table, 2, LONG)
    names = [summed] if isinstance(summed, str) else summed
    sums = frozenset(pick("output", name, program.outputs) for name in names)

    def made(entries: int) -> L:
        return _with_tables(program, lambda own: kind(own, batch, program, entries, sums), entries)

    try:
        long = made(LONG)
    except ProgramError:
        return made(SHORT if longest_table is None else most)
    # Many values may have few residues, so this form has short tables too. It is the same with and without a limit.
    if long.native.longest_table <= min(SHORT, most):
        return long
    if longest_table is not None:
        return made(most)
    try:
        short = made(SHORT)
    except ProgramError:
        return long
    return min(short, long, key=lambda made: made.native.lookup_work())


def _expect_sums(program: TfheProgram, summed: Iterable[str]) -> None:
    """Rejects outputs whose sums over a batch are not those of their elements or digits."""
    for name in summed:
        kind = program.outputs[pick("output", name, program.outputs)]
        if isinstance(kind, TextType | FixedType | Bitwise | SlotType) or kind.kind == "torus":
            raise refuse(
                f"{program.name}: output {name!r} is {kind}; sums over a batch are of integers and truth values"
            )
        if kind.split and kind.signed:
            raise refuse(
                f"{program.name}: output {name!r} is {kind} in digits, whose sums over a batch do not see the sign; return the value plus {-kind.lo}, "
                "cast to a pf.UInt, and subtract that for each input"
            )


def _with_tables(program: TfheProgram, make: Callable[[TfheProgram], L], longest_table: int) -> L:
    """The program with one vector of slots a value if the tables suffice, otherwise with digits."""
    if program.function is None or program.declared is None:
        return make(program)
    refused, widths = None, None
    integers = [name for name, declared in program.declared.items() if declared.kind == "integer"]
    forms: list[tuple[Form, Collection[str]]] = [("free", ()), ("split", ()), ("split", integers)]
    for form, digits in forms:
        tracer = Tracer(program.name, form, digits, slot_tables=longest_table)
        try:
            with traced_again(program.function):
                made, _ = traced_in(tracer, program.function, program.declared, None, TfheProgram)
            # Another lowering may have wider results, which wrap at another width.
            widths = widths or tracer.reference.widths
            if tracer.reference.widths == widths:
                return make(made)
        except InDigits:
            continue
        except ProgramError as error:
            refused = error
    raise refused or refuse(
        f"{program.name}: a table on slots would read more than {longest_table} values; allow longer ones, longest_table={SHORT}, or declare its inputs "
        "with widths, as pf.UInt(8)"
    )
