"""Programs on vectors of slots, with CKKS or BGV."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from .. import _native
from .place import refuse
from .shapes import written
from .slot_packing import PackedShapes, Packing
from .slot_reference import Reference
from .slot_shapes import SlotShapes, numbers
from .slots import Approximated, SlotTracer, SlotValue
from .traced import TracedProgram
from .types import MOST_SLOTS, SlotType, is_packed, slot_count

if TYPE_CHECKING:
    from .slots import Native

S = TypeVar("S", bound="SlotProgram")


class SlotProgram(TracedProgram):
    """A program on vectors of slots, with CKKS or BGV."""

    kind = "slots"
    native: _native.RnsProgram
    shapes: SlotShapes

    def __init__(
        self,
        program: _native.RnsProgram,
        inputs: Mapping[str, SlotType],
        outputs: Mapping[str, SlotType],
        doc: str | None = None,
        mapped: Mapping[int, tuple[int, float, float, int]] | None = None,
        functions: Mapping[int, Approximated] | None = None,
        reference: Reference | None = None,
    ) -> None:
        self._begin(program, SlotShapes(program.name, program.slots, program.plaintext_modulus, inputs, outputs), doc)
        self.functions = dict(functions or {})
        """The approximated functions, by the last node of the approximation."""
        self.mapped = dict(mapped or {})
        """By node of a polynomial whose operand was mapped to [-1, 1]: the original operand, its interval, and its number of slots."""
        self.reference = reference
        """The function's meaning, as steps of numpy; `None` for a program that was parsed from text."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """The program that `text()` printed. Every input and output fills all slots; with CKKS, numbers are complex."""
        program = _native.RnsProgram.parse(text)
        modulus = program.plaintext_modulus
        kind: Literal["complex", "residue"] = "complex" if modulus is None else "residue"
        slots, scalar = program.slots, not is_packed(modulus)
        inputs = {
            name: SlotType("selector", modulus) if bound is None else SlotType(kind, modulus, slots, scalar, bound)
            for name, bound in program.inputs
        }
        made = cls(program, inputs, {name: SlotType(kind, modulus, slots, scalar) for name in program.outputs})
        made.shapes.declared = False
        return made

    def _stored(self) -> dict[str, Any]:
        """Leaves out the approximated functions: most are lambdas, which cannot be pickled."""
        return {**super()._stored(), "mapped": self.mapped}

    @classmethod
    def _restored(cls, data: Mapping[str, Any]) -> Self:
        program = cls.parse(data["text"])
        native = program.native
        shapes = PackedShapes.of(data["shapes"], native.name, native.slots, native.plaintext_modulus)
        bounds = {
            name: None if kind.kind == "selector" else kind.bound
            for name, kind in shapes.vectors(outputs=False).items()
        }
        if bounds != dict(native.inputs):
            raise ValueError("the types do not match the inputs")
        if list(shapes.vectors(outputs=True)) != list(native.outputs):
            raise ValueError("the types do not match the outputs")
        program._begin(native, shapes, written(str, data["doc"], "its documentation"))
        program.mapped = {
            written(int, node, "a node"): (int(of), float(low), float(high), int(length))
            for node, (of, low, high, length) in data["mapped"].items()
        }
        return program

    def packed(
        self, inputs: Mapping[str, SlotType], outputs: Mapping[str, SlotType], packings: Mapping[str, Packing]
    ) -> Self:
        """This program with other inputs and outputs, which its vectors hold as `packings` say; changes the program."""
        self.shapes = PackedShapes(self.shapes, inputs, outputs, packings)
        return self

    @property
    def scheme(self) -> str:
        """ "ckks" or "bgv"."""
        return self.native.scheme

    @property
    def slots(self) -> int:
        """Slots of every vector."""
        return self.native.slots

    def reference_values(self, inputs: Mapping[str, Native]) -> dict[str, Native]:
        """Evaluates the function with numpy, on values in the lower layers' form. A program without a trace is evaluated itself."""
        if self.reference is None:
            return self.native.evaluate(inputs)
        values = {
            name: numbers(inputs[name])[: 1 if kind.scalar else kind.length].reshape(kind.dimensions)
            for name, kind in self.shapes.vectors(outputs=False).items()
        }
        found = self.reference.evaluate(values)
        return {name: self.shapes.filled(name, found[name]) for name in self.shapes.vectors(outputs=True)}

    def _evaluated(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        return self.reference_values(inputs)


def tracer(name: str, scheme: str, slots: int | None, inputs: Mapping[str, SlotType], *, least: int = 1) -> SlotTracer:
    """The tracer of a program on `inputs`. Without `slots`, it has as many as the inputs need, at least `least`."""
    for parameter, kind in inputs.items():
        if kind.scheme != scheme:
            remedy = "residues modulo t" if scheme == "bgv" else "real and complex numbers"
            raise refuse(f"{name}: parameter {parameter!r} is {kind}, but {scheme.upper()} computes on {remedy}")
    moduli = sorted({kind.modulus for kind in inputs.values() if kind.modulus is not None})
    if len(moduli) > 1:
        raise refuse(f"{name}: its inputs are modulo {moduli[0]} and {moduli[1]}; a program has one modulus")
    packed = all(kind.packed for kind in inputs.values())
    rows = 2 if scheme == "bgv" and packed else 1
    # A matrix must fit one row of slots.
    longest = max((kind.length * (rows if kind.shape else 1) for kind in inputs.values()), default=1)
    needed = max(1 << (longest - 1).bit_length(), rows)
    most = MOST_SLOTS // (2 if scheme == "ckks" else 1)
    if needed > most:
        raise refuse(
            f"{name}: its longest input has {longest:,} values, but a ciphertext has at most {most:,} slots; split it into several inputs"
        )
    elastic = slots is None
    if slots is None:
        slots = max(needed, least)
    elif slot_count(f"{name}: slots", slots) < longest:
        raise refuse(f"{name}: slots={slots}, but its longest input has {longest} values; give at least {needed} slots")
    return SlotTracer(name, slots, moduli[0] if moduli else None, elastic=elastic)


def finish(
    made: SlotTracer, inputs: Mapping[str, SlotType], named: Mapping[str, SlotValue], doc: str | None, kind: type[S]
) -> S:
    """The program whose outputs are `named`."""
    for output, value in named.items():
        made.builder.output(output, value.node)
        assert value.step is not None
        made.reference.outputs[output] = value.step
    outputs = {name: value.type for name, value in named.items()}
    return kind(made.builder.finish(), inputs, outputs, doc, made.mapped, made.functions, made.reference)
