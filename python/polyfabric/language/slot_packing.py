"""Inputs and outputs whose numbers lie at chosen slots of one or several ciphertexts, so that users give and get plain arrays.

An input of 3 numbers in two vectors of 4 slots, twice each and 0 elsewhere, has the sources [[0, 0, 1, 1], [2, 2, -1, -1]].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .shapes import written
from .slot_shapes import SlotOutputs, SlotShapes, kind_data, kind_of, numbers
from .slots import Native, native
from .types import MOST_SLOTS, SlotType

MOST_VECTORS = 1 << 16
"""Most ciphertexts of an input or output."""


@dataclass(frozen=True)
class Packing:
    """The ciphertexts of an input or output, and the number in each of their slots."""

    vectors: tuple[str, ...]
    sources: NDArray[np.int64]
    """Of an input: for each slot of each vector the index of its number, -1 for 0. Of an output: for each number its slot, counted through the vectors."""
    dimensions: tuple[int, ...]
    """The shape of the user's array; () for one number."""

    def to_dict(self) -> dict[str, Any]:
        """As data."""
        return {
            "vectors": list(self.vectors),
            "sources": self.sources.reshape(-1).tolist(),
            "dimensions": list(self.dimensions),
        }

    @classmethod
    def of(cls, data: Mapping[str, Any], kind: SlotType, slots: int, *, output: bool) -> Packing:
        """From `to_dict`, which may come from others."""
        vectors = tuple(written(str, name, "a name") for name in data["vectors"])
        dimensions = tuple(written(int, n, "a dimension") for n in data["dimensions"])
        sources = [written(int, at, "the place of a number") for at in data["sources"]]
        if not 1 <= len(vectors) <= MOST_VECTORS or min(dimensions, default=1) < 1 or prod(dimensions) != kind.length:
            raise ValueError(f"{len(vectors)} vectors do not hold {kind}")
        wanted, least, most = (
            (kind.length, 0, len(vectors) * slots) if output else (len(vectors) * slots, -1, kind.length)
        )
        if len(sources) != wanted or not all(least <= at < most for at in sources):
            raise ValueError(f"the places of the numbers are not those of {kind}")
        made = np.asarray(sources, dtype=np.int64)
        return cls(vectors, made if output else made.reshape(len(vectors), slots), dimensions)


class PackedShapes(SlotShapes):
    """The types of a program's inputs and outputs, and how its vectors of slots hold them."""

    wider = "read the file with bound={0:g}"
    declared = False

    def __init__(
        self,
        vectors: SlotShapes,
        inputs: Mapping[str, SlotType],
        outputs: Mapping[str, SlotType],
        packings: Mapping[str, Packing],
    ) -> None:
        super().__init__(vectors.name, vectors.slots, vectors.modulus, inputs, outputs)
        self._vectors = vectors
        self._packings = dict(packings)
        """By input, and by output with "->" before its name."""

    def vectors(self, *, outputs: bool) -> dict[str, SlotType]:
        """The types of the vectors of slots that hold the inputs or outputs."""
        return self._vectors.vectors(outputs=outputs)

    def dimensions(self, name: str) -> tuple[int, ...]:
        """The shape of an input's array."""
        return self._packings[name].dimensions

    def to_dict(self) -> dict[str, Any]:
        """As data."""
        kinds = {"inputs": self.inputs, "outputs": self.outputs}
        return {
            "vectors": self._vectors.to_dict(),
            "packings": {name: packing.to_dict() for name, packing in self._packings.items()},
            **{which: {name: kind_data(kind) for name, kind in own.items()} for which, own in kinds.items()},
        }

    @classmethod
    def of(cls, data: Mapping[str, Any], name: str, slots: int, modulus: int | None) -> SlotShapes:
        """From `to_dict`, for the same program or its signature; of a program without packing too."""
        if "packings" not in data:
            return SlotShapes.of(data, name, slots, modulus)
        vectors = SlotShapes.of(data["vectors"], name, slots, modulus)
        most = MOST_VECTORS * MOST_SLOTS
        inputs, outputs = (
            {own: kind_of(kind, most, modulus) for own, kind in data[which].items()} for which in ("inputs", "outputs")
        )
        kinds = {**inputs, **{f"->{own}": kind for own, kind in outputs.items()}}
        if set(data["packings"]) != set(kinds):
            raise ValueError("the packings are not those of the inputs and outputs")
        packings = {
            own: Packing.of(data["packings"][own], kind, slots, output=own.startswith("->"))
            for own, kind in kinds.items()
        }
        for which, outgoing in ((vectors.inputs, False), (vectors.outputs, True)):
            held = [one for own in kinds if own.startswith("->") == outgoing for one in packings[own].vectors]
            if sorted(held) != sorted(which):
                raise ValueError("the vectors do not hold the inputs and outputs")
        return cls(vectors, inputs, outputs, packings)

    def by_output(self, figures: Mapping[str, float]) -> dict[str, float]:
        """The largest figure of an output's vectors."""
        return {name: max(figures[one] for one in self._packings[f"->{name}"].vectors) for name in self.outputs}

    def _slots_of(self, name: str, values: NDArray[Any]) -> dict[str, Native]:
        packing = self._packings[name]
        # The number at -1 is 0.
        padded = np.concatenate([values, np.zeros(1, dtype=values.dtype)])
        return {
            one: native(padded[sources], self.modulus)
            for one, sources in zip(packing.vectors, packing.sources, strict=True)
        }

    def shaped(self, outputs: Mapping[str, Native]) -> SlotOutputs:
        """Outputs in the user's form: numbers, and nested lists."""
        found: SlotOutputs = {}
        for name, kind in self.outputs.items():
            packing = self._packings[f"->{name}"]
            slots = np.concatenate([numbers(outputs[one]) for one in packing.vectors])
            values = slots[packing.sources]
            found[name] = (values.real if kind.kind == "real" else values).reshape(packing.dimensions).tolist()
        return found
