"""The types of a program with real numbers next to integers, for one input of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._native import TfheProgram
from ..errors import InputError, shown
from .real_steps import RealSteps
from .shapes import Shapes, expect_count, expect_inputs, expect_numbers
from .slot_shapes import expect_bounded
from .slots import array
from .types import SlotType, Type


class MixedShapes(Shapes):
    """The inputs and outputs of the user's function. Those of the program on integers may be hidden, and real numbers are steps next to it."""

    def __init__(
        self, native: TfheProgram, integers: Shapes, reals: RealSteps, inputs: Sequence[str], outputs: Sequence[str]
    ) -> None:
        super().__init__(native, integers._scalars, integers._integers)
        given: dict[str, Type | SlotType] = {**self.inputs, **reals.inputs}
        returned: dict[str, Type | SlotType] = {**self.outputs, **reals.outputs}
        self.inputs = {name: given[name] for name in inputs}  # type: ignore[misc]
        self.outputs = {name: returned[name] for name in outputs}  # type: ignore[misc]

    def flatten(self, inputs: Mapping[str, Any], *, partly: bool = False) -> dict[str, list[Any]]:
        """Inputs as one list of numbers each, checked against names, lengths and types. With `partly`, inputs may be missing."""
        expect_inputs(self._name, inputs, self.inputs)
        flat: dict[str, list[Any]] = {}
        for name, kind in self.inputs.items():
            if name not in inputs:
                if partly:
                    continue
                raise InputError(f"{self._name}: input {name!r} is missing; give it a value of type {kind}")
            given = inputs[name]
            if isinstance(kind, SlotType):
                expect_numbers(self._name, name, given, kind)
                numbers = real_numbers(self._name, name, kind, given)
                expect_count(self._name, name, numbers.size, kind)
                if kind.shape is not None and numbers.shape != kind.shape:
                    shape = " x ".join(map(str, numbers.shape))
                    raise InputError(
                        f"{self._name}: input {name!r} has the shape {shape}, but {kind} is needed; reshape it"
                    )
                flat[name] = numbers.reshape(-1).tolist()
            else:
                flat[name] = self._digits(name, kind, given) if kind.split else self._numbers(name, kind, given)
        return flat

    def shaped_output(self, name: str, values: list[Any]) -> Any:  # noqa: ANN401 - a number or a list
        """One output in the user's form."""
        kind = self.outputs[name]
        if isinstance(kind, SlotType):
            return np.reshape(values, kind.dimensions).tolist()
        return super().shaped_output(name, values)


def real_numbers(program: str, name: str, kind: SlotType, given: Any) -> NDArray[np.float64]:  # noqa: ANN401 - whatever the user gave
    """Real numbers within the bound of their type."""
    try:
        numbers = array(given, None)
    except ValueError as reason:
        raise InputError(f"{program}: input {name!r}: {reason}") from None
    if numbers.dtype.kind not in "biuf":
        raise InputError(f"{program}: input {name!r} is {shown(given):.80}, but {kind} is needed; give real numbers")
    numbers = numbers.astype(float)
    if not np.isfinite(numbers).all():
        raise InputError(f"{program}: input {name!r} holds {numbers[~np.isfinite(numbers)][0]}; give finite numbers")
    expect_bounded(program, name, numbers, kind, "pf.Real.bounded({})")
    return numbers
