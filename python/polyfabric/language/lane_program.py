"""Programs on integers with CKKS: every operation is a lookup table on the slots of a ciphertext, for thousands of inputs at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

from .. import _native
from ..host.memory import most
from .lane_shapes import MOST_BATCH, LaneShapes, Vector, joined
from .place import warn_user, whole
from .program import TfheProgram
from .reference import Wrapped
from .slots import Approximated
from .traced import TracedProgram


class LaneProgram(TracedProgram):
    """A program on integers with CKKS, which executes on a batch of inputs."""

    kind = "lanes"
    native: _native.SlotProgram
    shapes: LaneShapes
    scheme = "ckks"
    integers: TfheProgram
    """The same program on one input, with integers that are encrypted one by one."""
    mapped: Mapping[int, tuple[int, float, float, int]] = {}
    functions: Mapping[int, Approximated] = {}

    def __init__(self, integers: TfheProgram, batch: int | None = None) -> None:
        self.integers = integers
        count = 1 if batch is None else whole("batch", batch, 1, MOST_BATCH)
        native, inputs, outputs = integers.native.on_slots(count, most())
        shapes = LaneShapes(integers.shapes, integers.native, native.slots, batch, inputs, outputs)
        self._begin(native, shapes, integers.__doc__)
        self.function = integers.function
        self.reference = integers.reference

    @classmethod
    def parse(cls, text: str) -> Self:
        """The program on integers of a TFHE program's text."""
        return cls(TfheProgram.parse(text))

    def _stored(self) -> dict[str, Any]:
        return {**self.integers._stored(), "batch": self.batch}

    @classmethod
    def _restored(cls, data: Mapping[str, Any]) -> Self:
        return cls(TfheProgram._restored(data), data["batch"])

    def __repr__(self) -> str:
        return super().__repr__() if self.batch is None else f"{super().__repr__()[:-1]}, in batches of {self.batch}>"

    @property
    def batch(self) -> int | None:
        """Number of inputs that one execution takes; `None` for a single one, which is not in a list."""
        return self.shapes.batch

    @property
    def slots(self) -> int:
        """Slots of every vector."""
        return self.native.slots

    def reference_values(self, inputs: Mapping[str, Vector]) -> tuple[dict[str, list[int]], list[Wrapped]]:
        """The outputs on Python's integers, item by item, and the results that wrapped. `index` of a wrap is the item of the batch."""
        items, wrapped = [], {}
        for at, item in enumerate(self.shapes.integers(inputs, outputs=False)):
            values, own = self.integers.reference_values(item)
            items.append(values)
            for wrap in own:
                key = (wrap.location, wrap.operation, wrap.type)
                first = wrapped.get(key) or replace(wrap, index=wrap.index if self.batch is None else at, count=0)
                wrapped[key] = replace(first, count=first.count + wrap.count)
        return joined(items), list(wrapped.values())

    def _evaluated(self, inputs: Mapping[str, Vector]) -> Mapping[str, Any]:
        values, wrapped = self.reference_values(inputs)
        for wrap in wrapped:
            warn_user(f"{self.name}: {wrap}", RuntimeWarning)
        return values
