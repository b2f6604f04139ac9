"""Values of a TFHE program as users give and read them, and as the lower links take and give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ProgramError
from .types import MOST_BITS, IntegerType, TextType, Type

if TYPE_CHECKING:
    from .._native import Program, Signature

T = TypeVar("T")


def written(kind: type[T], value: object, what: str) -> T:
    """`value`, of data that anybody may have written, if it is of just this type."""
    if type(value) is not kind:
        raise ValueError(f"{what} is {value!r:.80}")
    return value


Clear = int | Sequence[int] | NDArray[np.integer]
Outputs = dict[str, "int | list[int] | str"]


class Shapes:
    """The types of a program's inputs and outputs: of integers of any width and single numbers, what the native program does not know."""

    def __init__(
        self,
        native: Program | Signature,
        scalars: frozenset[str] = frozenset(),
        integers: Mapping[str, IntegerType] | None = None,
    ) -> None:
        self._name = native.name
        self._scalars = scalars
        self._integers = dict(integers or {})
        self.inputs: dict[str, Type | IntegerType] = {
            name: self._integers.get(name, Type(e, n, name in scalars)) for name, e, n in native.inputs
        }
        self.outputs: dict[str, Type | IntegerType] = {
            name: self._integers.get(f"->{name}", Type(e, n, f"->{name}" in scalars)) for name, e, n in native.outputs
        }

    def to_dict(self) -> dict[str, Any]:
        """As data."""
        integers = {
            name: {
                "bits": kind.bits,
                "signed": kind.signed,
                "length": kind.length,
                "scalar": kind.scalar,
                "text": isinstance(kind, TextType),
            }
            for name, kind in self._integers.items()
        }
        return {"scalars": sorted(self._scalars), "integers": integers}

    @classmethod
    def of(cls, data: Mapping[str, Any], native: Program | Signature) -> Shapes:
        """From `to_dict`, for the same program or its signature."""
        lengths = {name: length for name, _, length in native.inputs}
        lengths |= {f"->{name}": length for name, _, length in native.outputs}
        scalars = frozenset(written(str, name, "the name of a single number") for name in data["scalars"])
        integers: dict[str, IntegerType] = {}
        for name, own in data["integers"].items():
            kind = TextType if written(bool, own["text"], "whether it is a text") else IntegerType
            bits = written(int, own["bits"], "the bits of an integer")
            length = written(int, own["length"], "the length of a vector")
            signed, scalar = (written(bool, own[key], key) for key in ("signed", "scalar"))
            if not 1 <= bits <= MOST_BITS or (kind is TextType and (bits, signed, scalar) != (8, False, False)):
                raise ValueError(f"{name} has {bits} bits")
            integers[name] = made = kind(bits, signed=signed, length=length, scalar=scalar)
            if length * made.size != lengths.get(name) or (scalar and length != 1):
                raise ValueError(f"{name} is {made}, in {lengths.get(name)} digits")
        if any(lengths.get(name) != 1 for name in scalars - set(integers)):
            raise ValueError("a vector of several is no single number")
        return cls(native, scalars, integers)

    def flatten(self, inputs: Mapping[str, Clear], *, partly: bool = False) -> dict[str, list[int]]:
        """Inputs as the lower links take them: one list of integers each, checked against names and lengths; `partly`, of those given."""
        unknown = [name for name in inputs if name not in self.inputs]
        if unknown:
            raise InputError(f"{self._name}: there is no input {unknown[0]!r}; the inputs are {', '.join(self.inputs)}")
        flat = {}
        for name, kind in self.inputs.items():
            if name not in inputs and partly:
                continue
            if name not in inputs:
                raise InputError(f"{self._name}: input {name!r} is missing; give it a value of type {kind}")
            if isinstance(kind, IntegerType):
                flat[name] = self._digits(name, kind, inputs[name])
                continue
            array = np.asarray(inputs[name])
            if array.dtype == bool:
                array = array.astype(np.int64)
            if array.dtype == object or not np.issubdtype(array.dtype, np.integer):
                raise InputError(
                    f"{self._name}: input {name!r} is {inputs[name]!r}, but {kind} takes integers; scale and round it first"
                )
            if array.size != kind.length:
                raise InputError(
                    f"{self._name}: input {name!r} has {array.size} values, but {kind} takes {kind.length}"
                )
            flat[name] = [int(x) for x in array.reshape(-1)]
        return flat

    def _digits(self, name: str, kind: IntegerType, values: Any) -> list[int]:  # noqa: ANN401 - whatever the user gave
        """The digits of an input: all first ones, then all second ones."""
        try:
            elements = kind.elements(values)
            if len(elements) != kind.length:
                raise InputError(
                    f"{self._name}: input {name!r} has {len(elements)} values, but {kind} takes {kind.length}"
                )
            digits = [kind.digits(value) for value in elements]
        except ProgramError as error:
            raise InputError(f"{self._name}: input {name!r}: {str(error).split(': ', 1)[-1]}") from None
        return [number[place] for place in range(kind.size) for number in digits]

    def shaped(self, outputs: Mapping[str, list[int]]) -> Outputs:
        """Outputs as the user reads them: single values as integers, texts as texts."""
        shaped: Outputs = {}
        for name, values in outputs.items():
            kind = self._integers.get(f"->{name}")
            if kind is not None:
                count = len(values) // kind.size
                shaped[name] = kind.given([values[element::count] for element in range(count)])
            else:
                shaped[name] = values[0] if f"->{name}" in self._scalars else values
        return shaped
