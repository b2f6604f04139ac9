"""The common base of programs of all schemes: name, types, text form, and evaluation in the clear."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ..errors import Error, InputError
from .numpy_calls import Value
from .place import refuse
from .shapes import expect_inputs, gathered, value_of, written_call
from .types import SlotType

if TYPE_CHECKING:
    from .. import _native
    from .lane_shapes import LaneShapes
    from .shapes import Shapes
    from .slot_shapes import SlotShapes
    from .types import Type


class TracedProgram(ABC):
    """A program on encrypted data, traced from a function or parsed from text."""

    kind: ClassVar[str]
    """Its operands: "elements" with TFHE, "slots" with CKKS and BGV, "lanes" for integers with CKKS."""
    native: _native.TfheProgram | _native.RnsProgram
    """The homomorphic program."""
    shapes: Shapes | SlotShapes | LaneShapes
    """The types of its inputs and outputs."""
    function: Callable[..., Any] | None = None
    """The traced function; `None` for a program that was parsed from text."""
    chosen: str | None = None
    """Its scheme and why, if `scheme="auto"` chose it."""

    def _begin(
        self,
        native: _native.TfheProgram | _native.RnsProgram,
        shapes: Shapes | SlotShapes | LaneShapes,
        doc: str | None,
    ) -> None:
        self.native = native
        self.shapes = shapes
        self.__name__ = native.name
        self.__doc__ = doc or f"The program {native.name}."

    @classmethod
    @abstractmethod
    def parse(cls, text: str) -> Self:
        """The program that `text()` printed."""

    @classmethod
    @abstractmethod
    def _restored(cls, data: Mapping[str, Any]) -> Self:
        """The program from the data of `_stored`."""

    def _stored(self) -> dict[str, Any]:
        """The data of a pickle: text and types. The function is left out, because decorated functions cannot be pickled."""
        return {"text": self.text(), "shapes": self.shapes.to_dict(), "doc": self.__doc__}

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[type[Self], dict[str, Any]]]:
        return _unpickled, (type(self), self._stored())

    def __copy__(self) -> Self:
        """Returns the program itself, which is immutable."""
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    @property
    @abstractmethod
    def scheme(self) -> str:
        """ "tfhe", "ckks" or "bgv"."""

    @property
    def name(self) -> str:
        """The program's name."""
        return self.native.name

    @property
    def inputs(self) -> Mapping[str, Type | SlotType]:
        """Type of each input."""
        return self.shapes.inputs

    @property
    def outputs(self) -> Mapping[str, Type | SlotType]:
        """Type of each output; with TFHE, with the inferred range."""
        return self.shapes.outputs

    @property
    def selectors(self) -> list[str]:
        """Inputs that only the secret key encrypts."""
        return [name for name, kind in self.inputs.items() if isinstance(kind, SlotType) and kind.kind == "selector"]

    def text(self) -> str:
        """The homomorphic program as text, which `parse` reads back."""
        return self.native.text()

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}: {kind}" for name, kind in self.inputs.items())
        outputs = ", ".join(f"{name}: {kind}" for name, kind in self.outputs.items())
        return f"<program {self.name}({inputs}) -> {outputs}>"

    @property
    def run_options(self) -> list[str]:
        """Names of the options of `run`, if the program has it. An input of such a name is given in a dictionary."""
        return []

    # -- values ---------------------------------------------------------------------------------------------------

    def flatten(self, inputs: Mapping[str, Any], *, partly: bool = False) -> dict[str, Any]:
        """Inputs in the form of the lower layers, checked against names, lengths and types. With `partly`, inputs may be missing."""
        return self.shapes.flatten(inputs, partly=partly)

    def shaped(self, outputs: Mapping[str, Any]) -> dict[str, Any]:
        """Outputs in the user's form: single values as numbers, texts as texts, vectors without unused slots."""
        return self.shapes.shaped(outputs)

    def clear(self, inputs: Mapping[str, Any] | None = None, /, **named: Any) -> Any:  # noqa: ANN401 - values of the program's types
        """Evaluates the program in the clear, on inputs by keyword or in one dictionary. Returns what the function returns: one value, a tuple
        or a dictionary. Every execution must return the same, up to the error of CKKS."""
        given = gathered(self.name, self.inputs, inputs, named, "clear")
        return value_of(self.shaped(self._evaluated(self.flatten(given))))

    @abstractmethod
    def _evaluated(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """The outputs in the clear, in the form of the lower layers."""

    def __call__(self, /, *unnamed: Any, **inputs: Any) -> Any:  # noqa: ANN401 - whatever the function returns
        """On encrypted values of another program, it is inlined there. Plain values raise an error, since this would encrypt nothing."""
        if any(isinstance(value, Value) for value in inputs.values()):
            return self._within(inputs)
        given = {**dict(zip(self.inputs, unnamed, strict=False)), **inputs}
        if any(isinstance(value, Value) for value in unnamed):
            call = ", ".join(f"{name}=.." for name in given)
            raise InputError(f"{self.name}: inputs are given by name; write {self.name}({call})")
        run, clear = (
            written_call(self.name, method, given or dict.fromkeys(self.inputs), self.run_options)
            for method in ("run", "clear")
        )
        raise InputError(
            f"{self.name} is called with plain values; write {run} to execute it on encrypted values, or {clear} to evaluate it "
            "in the clear"
        )

    def _within(self, inputs: Mapping[str, Any]) -> Any:  # noqa: ANN401 - whatever the function returned
        """Calls the function on encrypted values of another program."""
        from .program import named

        expect_inputs(self.name, inputs, self.inputs)
        if self.function is None:
            raise refuse(
                f"{self.name} was parsed from text, and cannot be part of another program; call its function instead"
            )
        for name, kind in self.inputs.items():
            if name not in inputs:
                raise refuse(f"{self.name}: input {name!r} is missing; give it a value of type {kind}")
            value = inputs[name]
            if isinstance(value, Value) and not kind.takes(value.type):
                castable = self.scheme == "tfhe" and value.type.length == kind.length and getattr(kind, "split", False)
                remedy = (
                    f"cast it, as x.cast({kind!r}), if its values fit"
                    if castable
                    else f"declare its inputs as {kind!r}"
                )
                raise refuse(f"{self.name}: input {name!r} is {value.type}, but {kind} is needed; {remedy}")
        return value_of(named(self.function(**inputs), self.function, None))


def _unpickled(kind: type[TracedProgram], data: Mapping[str, Any]) -> TracedProgram:
    """Restores a pickled program. Its text and types are checked like those of a file."""
    try:
        return kind._restored(data)
    except (Error, ValueError, TypeError, KeyError, AttributeError) as error:
        raise UnpicklingError(f"the pickle is not a program of this version: {error}") from None
