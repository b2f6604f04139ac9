"""Programs on integers with TFHE for a batch of inputs: a copy of the program for each.

two = copied(substitute, 2, CopiesProgram)        # input "x" of its copies: "x.0" and "x.1"
two.flatten({"x": [3, 5]})                        # {"x.0": [3], "x.1": [5]}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from .. import _native
from ..errors import InputError
from .lane_shapes import MOST_BATCH, expect_column, in_batch
from .place import whole
from .program import TfheProgram, repeated
from .shapes import Shapes, expect_inputs, written

C = TypeVar("C", bound="CopiesProgram")


class CopyShapes(Shapes):
    """The types of one copy's inputs and outputs, and the values of all copies as lists."""

    def __init__(self, copies: Shapes, batch: int) -> None:
        self._copies = copies
        self._name = copies._name
        self.batch = batch
        """Number of copies."""
        self.inputs = {name[:-2]: kind for name, kind in copies.inputs.items() if name.endswith(".0")}
        self.outputs = {name[:-2]: kind for name, kind in copies.outputs.items() if name.endswith(".0")}
        for own, found in ((self.inputs, copies.inputs), (self.outputs, copies.outputs)):
            # Counted first: the number may come from others.
            if len(found) != batch * len(own) or any(
                found.get(copy) != kind for name, kind in own.items() for copy in self._names(name)
            ):
                raise ValueError(f"the inputs and outputs are not those of {batch} copies")

    def to_dict(self) -> dict[str, Any]:
        """As data."""
        return {"copies": self.batch, **self._copies.to_dict()}

    @classmethod
    def of(cls, data: Mapping[str, Any], native: _native.TfheProgram | _native.TfheSignature) -> Self:
        """From `to_dict`, for the same program or its signature."""
        return cls(Shapes.of(data, native), written(int, data["copies"], "the number of copies"))

    def flatten(self, inputs: Mapping[str, Any], *, partly: bool = False) -> dict[str, list[int]]:
        """Lists of inputs as those of the copies, checked against names, lengths and types. With `partly`, inputs may be missing."""
        expect_inputs(self._name, inputs, self.inputs)
        flat = {}
        for name, kind in self.inputs.items():
            if name not in inputs and partly:
                continue
            if name not in inputs:
                raise InputError(f"{self._name}: input {name!r} is missing; give a list of {self.batch} of {kind}")
            for at, value in enumerate(expect_column(self._name, name, kind, inputs[name], self.batch)):
                try:
                    flat |= self._copies.flatten({f"{name}.{at}": value}, partly=True)
                except InputError as error:
                    raise in_batch(at, error) from None
        return flat

    def shaped(self, outputs: Mapping[str, list[int]]) -> dict[str, Any]:
        """Outputs in the user's form: lists of those of all copies."""
        return {
            name: [self._copies.shaped_output(copy, outputs[copy]) for copy in self._names(name)]
            for name in self.outputs
        }

    def names(self, *, outputs: bool) -> list[str]:
        """Names of the ciphertexts that hold the inputs or outputs of all copies."""
        return self._copies.names(outputs=outputs)

    def by_output(self, wrong: Mapping[str, float]) -> dict[str, float]:
        """Numbers of wrong values in all copies, by output."""
        return {name: sum(wrong[copy] for copy in self._names(name)) for name in self.outputs}

    def _names(self, name: str) -> list[str]:
        return [f"{name}.{at}" for at in range(self.batch)]


class CopiesProgram(TfheProgram):
    """A program with TFHE, in copies for a batch of inputs."""

    shapes: CopyShapes
    single: TfheProgram
    """The program on one input."""

    @property
    def batch(self) -> int:
        """Number of inputs that one execution takes."""
        return self.shapes.batch

    @classmethod
    def _restored(cls, data: Mapping[str, Any]) -> Self:
        made = cls.parse(data["text"])
        made._begin(
            made.native, CopyShapes.of(data["shapes"], made.native), written(str, data["doc"], "its documentation")
        )
        return made._with_wide_of(data)


def copied(program: TfheProgram, batch: int, kind: type[C]) -> C:
    """The program in `batch` copies."""
    batch = whole("batch", batch, 1, MOST_BATCH)

    def own(made: TfheProgram) -> C:
        copies = kind(made.native)
        copies._begin(made.native, CopyShapes(made.shapes, batch), program.__doc__)
        copies.function, copies.reference, copies.single = program.function, made.reference, program
        copies.tables, copies.wide = made.tables, None if made.wide is None else own(made.wide)
        return copies

    return own(repeated(program, batch))
