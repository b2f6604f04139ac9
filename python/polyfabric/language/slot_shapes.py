"""Converts values of a CKKS or BGV program between the user's form and that of the lower layers."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, Context
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, shown
from .shapes import expect_count, expect_inputs, expect_numbers, flat, written, wrong_shape
from .slots import Native, array, native
from .types import SlotType

if TYPE_CHECKING:
    from .slots import Numbers

_ROUNDED_UP = Context(prec=2, rounding=ROUND_CEILING)

SlotOutputs = dict[str, Any]
"""Numbers by output: one, or a list of them."""


def expect_bounded(program: str, name: str, numbers: NDArray[Any], kind: SlotType, wider: str) -> None:
    """Rejects numbers beyond the bound of their type; `wider` is such a type, with {} for its bound."""
    largest = np.abs(numbers).max(initial=0)
    if largest <= kind.bound:
        return
    bound = float(_ROUNDED_UP.create_decimal(float(largest)))
    held = f"{largest:.12g}"
    if float(held) <= kind.bound:
        held = f"{largest:.17g}"
    remedy = "scale it" + (f", or widen its type: {wider.format(bound)}" if bound < inf else "")
    raise InputError(
        f"{program}: input {name!r} holds {held}, beyond the bound {kind.bound:.12g} of its type; {remedy}"
    )


class SlotShapes:
    """The types of a program's inputs and outputs, and its slots."""

    wider = ".bounded({0:g}) in Python, magnitude {0:g} in a .pf file"
    """How a user declares a larger bound."""
    declared = True
    """Whether a function of the user declares the types, instead of a text."""

    def __init__(
        self,
        name: str,
        slots: int,
        modulus: int | None,
        inputs: Mapping[str, SlotType],
        outputs: Mapping[str, SlotType],
    ) -> None:
        self.name = name
        self.slots = slots
        self.modulus = modulus
        self.inputs = dict(inputs)
        self.outputs = dict(outputs)

    def vectors(self, *, outputs: bool) -> dict[str, SlotType]:
        """The types of the vectors of slots that hold the inputs or outputs."""
        return self.outputs if outputs else self.inputs

    def dimensions(self, name: str) -> tuple[int, ...]:
        """The shape of an input's array."""
        return self.inputs[name].dimensions

    def by_output(self, figures: Mapping[str, float]) -> dict[str, float]:
        """Figures of the outputs' vectors as those of the outputs."""
        return dict(figures)

    def to_dict(self) -> dict[str, Any]:
        """As data."""
        kinds = {"inputs": self.inputs, "outputs": self.outputs}
        return {which: {name: kind_data(kind) for name, kind in own.items()} for which, own in kinds.items()}

    @classmethod
    def of(cls, data: Mapping[str, Any], name: str, slots: int, modulus: int | None) -> SlotShapes:
        """From `to_dict`, for the same program or its signature."""
        inputs, outputs = (
            {name: kind_of(own, slots, modulus) for name, own in data[of].items()} for of in ("inputs", "outputs")
        )
        return cls(name, slots, modulus, inputs, outputs)

    def flatten(self, inputs: Mapping[str, Numbers], *, partly: bool = False) -> dict[str, Native]:
        """All slots of each input, checked against names, lengths and types. With `partly`, inputs may be missing."""
        expect_inputs(self.name, inputs, self.inputs)
        wanted = {name: kind for name, kind in self.inputs.items() if name in inputs or not partly}
        found: dict[str, Native] = {}
        for name, kind in wanted.items():
            found |= self._slots_of(name, self._numbers(name, kind, inputs))
        return found

    def _numbers(self, name: str, kind: SlotType, inputs: Mapping[str, Numbers]) -> NDArray[Any]:
        """An input's numbers, flat, checked against its type."""
        if name not in inputs:
            raise InputError(f"{self.name}: input {name!r} is missing; give it a value of type {kind}")
        expect_numbers(self.name, name, inputs[name], kind)
        try:
            values = array(inputs[name], self.modulus)
        except ValueError as problem:
            raise InputError(f"{self.name}: input {name!r}: {problem}") from None
        dimensions = self.dimensions(name)
        if values.ndim > 1 and values.shape != dimensions:
            remedy = (
                flat(self.name, values.shape, kind)
                if len(dimensions) < 2
                else f"give it in the shape {' x '.join(map(str, dimensions))}"
            )
            raise wrong_shape(self.name, name, values.shape, kind, remedy)
        values = values.reshape(-1)
        if kind.kind == "selector":
            expect_count(self.name, name, len(values), kind, declared=self.declared)
            if values[0] not in (0, 1):
                raise InputError(
                    f"{self.name}: input {name!r} holds {shown(values.tolist()[0])}, but a selector is one bit; give 0 or 1"
                )
            return values.astype(np.int64)
        if kind.kind == "residue" and (values.dtype.kind == "b" or not values.size):
            values = values.astype(np.int64)
        taken = {"residue": np.integer, "real": np.floating, "complex": np.number}[kind.kind]
        if kind.kind != "residue" and values.dtype.kind in "biu":
            values = values.astype(float)
        if values.dtype == object or not np.issubdtype(values.dtype, taken):
            numeric = values.dtype.kind in "fc"
            remedy = "scale and round it first" if numeric and kind.kind == "residue" else "give numbers of that type"
            held = str(values.dtype) if numeric else shown(values.tolist()[0])
            raise InputError(f"{self.name}: input {name!r} holds {held}, but {kind} is needed; {remedy}")
        expect_count(self.name, name, len(values), kind, declared=self.declared)
        if not np.all(np.isfinite(values)):
            raise InputError(f"{self.name}: input {name!r} holds a value that is not finite; correct the data")
        if kind.kind != "residue":
            expect_bounded(self.name, name, values, kind, self.wider)
        return values

    def _slots_of(self, name: str, values: NDArray[Any]) -> dict[str, Native]:
        """The vectors of slots that hold an input's numbers."""
        kind = self.inputs[name]
        padded = np.zeros(self.slots, dtype=values.dtype)
        padded[: self.slots if kind.scalar else kind.length] = values
        return {name: native(padded, self.modulus)}

    def filled(self, name: str, values: NDArray[Any]) -> Native:
        """All slots of an output's vector: zeros pad it, and a single number is in every slot. Residues are in (-t/2, t/2]."""
        slots = np.zeros(self.slots, dtype=values.dtype)
        slots[: self.slots if self.vectors(outputs=True)[name].scalar else values.size] = values.reshape(-1)
        if self.modulus is not None:
            slots = np.where(slots > self.modulus // 2, slots - self.modulus, slots)
        return native(slots, self.modulus)

    def shaped(self, outputs: Mapping[str, Native]) -> SlotOutputs:
        """Outputs in the user's form: single numbers as numbers, vectors without unused slots."""
        return {name: self._shaped(kind, outputs[name]) for name, kind in self.outputs.items()}

    def _shaped(self, kind: SlotType, slots: Native) -> Any:  # noqa: ANN401 - a number or a list of them
        found = numbers(slots)
        if kind.kind == "real":
            found = found.real
        values = found[: kind.length]
        if kind.shape is not None:
            return values.reshape(kind.shape).tolist()
        return values.tolist()[0] if kind.scalar else values.tolist()


def numbers(slots: Native) -> NDArray[Any]:
    """The Rust layers' numbers as one array."""
    if isinstance(slots, tuple):
        return np.asarray(slots[0]) + 1j * np.asarray(slots[1])
    return np.asarray(slots, dtype=np.int64)


def kind_data(kind: SlotType) -> dict[str, Any]:
    """A type as data."""
    return {
        "kind": kind.kind,
        "modulus": kind.modulus,
        "length": kind.length,
        "scalar": kind.scalar,
        "bound": kind.bound,
        "shape": kind.shape,
    }


def kind_of(data: Mapping[str, Any], slots: int, modulus: int | None) -> SlotType:
    """The type from data, if a program with these slots and `modulus` can have it."""
    kind, own = data["kind"], data["modulus"]
    shape, length = data["shape"], written(int, data["length"], "the length of a vector")
    kinds = ("real", "complex", "selector") if modulus is None else ("residue", "selector")
    if kind not in kinds or own != modulus or isinstance(own, bool | float):
        raise ValueError(f"{kind!r:.80} modulo {own!r:.80} is not a type of the program")
    bound = float(data["bound"])
    if not 0 < bound < inf or not 1 <= length <= slots:
        raise ValueError(f"{length} numbers up to {bound} are not a type of the program")
    if shape is not None:
        rows, columns = (written(int, n, "the shape of a matrix") for n in shape)
        if min(rows, columns) < 1 or rows * columns != length:
            raise ValueError(f"a matrix of {rows} x {columns} does not have {length} elements")
        shape = (rows, columns)
    scalar = written(bool, data["scalar"], "whether it is one number")
    if kind == "selector" and not (scalar and length == 1):
        raise ValueError(f"{length} numbers are not a selector")
    if scalar and length not in (1, slots):
        raise ValueError(f"{length} numbers are not a single number")
    return SlotType(kind, own, length, scalar, bound, shape)
