"""Converts values of a TFHE program between the user's form and that of the lower layers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ProgramError, shown
from ..host.names import near_names
from .fixed_type import NAMES, Fixed, FixedType
from .types import MOST_BITS, Bitwise, SInt, SlotType, Text, TextType, Type, UInt, needed_bits, text_bytes

if TYPE_CHECKING:
    from .._native import TfheProgram, TfheSignature

T = TypeVar("T")


def expect_inputs(program: str, given: object, known: Collection[str]) -> None:
    """Rejects inputs that are not a dictionary, or that have names not in `known`."""
    if not isinstance(given, Mapping):
        raise InputError(f"{program}: inputs are a {type(given).__name__}; give a dictionary with {', '.join(known)}")
    unknown = [name for name in given if name not in known]
    if unknown:
        raise InputError(f"{program}: there is no input {unknown[0]!r}; the inputs are {', '.join(known)}")


def gathered(
    program: str,
    known: Collection[str],
    inputs: Mapping[str, Any] | None,
    named: Mapping[str, Any],
    method: str,
    options: Collection[str] = (),
) -> Mapping[str, Any]:
    """The inputs of a call of `method`, which gives them as one dictionary `inputs`, or by keyword as `named`."""
    if inputs is not None and not isinstance(inputs, Mapping):
        call = written_call(program, method, dict.fromkeys(known), options)
        kind = type(inputs).__name__
        raise InputError(f"{program}: inputs are given by name, in a dictionary instead of {kind}; write {call}")
    unknown = next((name for name in named if name not in known), None)
    if unknown is not None:
        what = "neither an input nor an option" if options else "no input"
        # An option must be nearer than an input: `zone` is no `on`.
        near = near_names(unknown, [*known]) or near_names(unknown, [*options], 0.75)
        remedy = f"did you mean {' or '.join(near)}?" if near else f"its inputs are {', '.join(known) or 'none'}"
        if unknown == "batch":
            remedy = f"{program}.in_batches(n) computes on n inputs at once, {program}.map([..]) on one after another"
        raise InputError(f"{program}: {method} has {what} {unknown!r}; {remedy}")
    if inputs is not None and named:
        raise InputError(
            f"{program}: inputs are given as a dictionary and as keywords ({', '.join(named)}); give all of them in one way"
        )
    if inputs is None and not named.keys() >= {*known}:
        taken = next((name for name in known if name in options), None)
        if taken is not None:
            call = written_call(program, method, dict.fromkeys(known), options)
            raise InputError(
                f"{program}: input {taken!r} has the name of an option of {method}; give the inputs as a dictionary: {call}"
            )
        if not named:
            raise InputError(
                f"{program}: inputs are missing; write {written_call(program, method, dict.fromkeys(known))}"
            )
    return named if inputs is None else inputs


def written_call(program: str, method: str, values: Mapping[str, Any], options: Collection[str] = ()) -> str:
    """A call of `method` with inputs, as a user writes it; `None` stands for a value to be filled in."""
    texts = {name: ".." if value is None else shown(value) for name, value in values.items()}
    texts = {name: text if len(text) <= 40 and "\n" not in text else ".." for name, text in texts.items()}
    if any(name in options for name in values):
        return f"{program}.{method}({{{', '.join(f'{name!r}: {text}' for name, text in texts.items())}}})"
    return f"{program}.{method}({', '.join(f'{name}={text}' for name, text in texts.items())})"


def value_of(outputs: Mapping[str, Any]) -> Any:  # noqa: ANN401 - whatever the function returned
    """Outputs in the form in which the function returned them: one value, a tuple, or a dictionary. Their names determine it."""
    names = list(outputs)
    if names == ["result"]:
        return outputs["result"]
    if names == [f"result{i}" for i in range(len(names))]:
        return tuple(outputs.values())
    return dict(outputs)


def expect_numbers(program: str, name: str, given: object, kind: Type | SlotType) -> None:
    """Rejects inputs that are neither a number nor an array of numbers, and matrices for a vector of integers."""
    try:
        shape = np.shape(given)  # type: ignore[arg-type]
    except ValueError:
        # Rows of different lengths: the conversion to an array reports them.
        return
    single = not shape
    numbers = int | float | complex | np.generic | np.ndarray
    if isinstance(kind, FixedType):
        numbers |= Fraction | Decimal
    if isinstance(given, str | bytes) or (single and not isinstance(given, numbers)):
        wanted = "give one number" if kind.scalar else f"give a list or an array of {kind.length} numbers"
        raise InputError(f"{program}: input {name!r} is {shown(given)}, but {kind} is needed; {wanted}")
    if len(shape) > 1 and not isinstance(kind, SlotType):
        raise wrong_shape(program, name, shape, kind, flat(program, shape, kind))
    if np.ma.is_masked(given):
        # The numbers behind the mask are arbitrary.
        raise InputError(f"{program}: input {name!r}: some of its values are masked; fill them in first")


def listed(given: Any, kind: Type) -> Any:  # noqa: ANN401 - whatever the user gave
    """Bytes as a list, for a vector of 8-bit integers."""
    of_bytes = (kind.lo, kind.hi) == (0, 255) and not (kind.scalar or isinstance(kind, FixedType))
    return list(given) if isinstance(given, bytes) and of_bytes else given


def wrong_shape(program: str, name: str, shape: Sequence[int], kind: Type | SlotType, remedy: str) -> InputError:
    """The error for an input that is an array of another shape."""
    size = " x ".join(map(str, shape))
    return InputError(f"{program}: input {name!r} is an array of {size}, but {kind} is needed; {remedy}")


def flat(program: str, shape: Sequence[int], kind: Type | SlotType) -> str:
    """What to do with an array for a vector: it may be the vector, or several inputs."""
    if shape[1:] == (kind.length,):
        return f"for {shape[0]} inputs of {kind.length}, write {program}.map([{{..}}, ..])"
    return "give it .reshape(-1)"


def expect_count(program: str, name: str, found: int, kind: Type | SlotType, *, declared: bool = True) -> None:
    """Rejects an input with another number of values; `declared` if the user can change its type."""
    if found != kind.length:
        wanted = "give one number" if kind.scalar else f"give {kind.length}"
        if not declared:
            pass
        elif isinstance(kind, TextType):
            wanted += f", or declare it pf.Text({max(1, found)})"
        elif not isinstance(kind, SlotType) or kind.shape is None:
            wanted += f", or declare it .vector({found})" if found else ""
        values = "1 value" if found == 1 else f"{found} values"
        raise InputError(f"{program}: input {name!r} has {values}, but {kind} takes {kind.length}; {wanted}")


def written(kind: type[T], value: object, what: str) -> T:
    """`value` from untrusted data, if it has exactly this type."""
    if type(value) is not kind:
        raise ValueError(f"{what} is {value!r:.80}")
    return value


def wrong_value(name: str, kind: Type, at: int, value: int) -> InputError:
    """The error for a value of an input that is not of its type."""
    where = "" if kind.scalar else f" at index {at}"
    return InputError(
        f"input {name!r} is {shown(value)}{where}, but {kind.one} is needed; correct the value, or widen the type"
    )


Clear = int | Sequence[int] | NDArray[np.integer]
Outputs = dict[str, "int | list[int] | str"]


def _of_width(bits: int, signed: bool) -> Type:
    return SInt(bits) if signed else UInt(bits)


def _fixed(bits: int, signed: bool, given: object) -> Type:
    """A fixed-point type."""
    data = written(dict, given, "a fixed-point type")
    point = written(int, data["point"], "a point")
    modes = {name: written(str, data[name], name) for name in NAMES}
    try:
        return Fixed(bits, point, signed=signed, **modes)  # type: ignore[arg-type]
    except ProgramError as error:
        raise ValueError(str(error)) from None


def _ranged(given: object) -> Type:
    """A range in digits."""
    lo, hi, stride = (written(int, number, "an end of a range") for number in written(list, given, "a range"))
    if lo > hi or stride < 1 or needed_bits(lo, hi) > MOST_BITS:
        raise ValueError(f"a range is {lo} to {hi}")
    return Type("integer", lo, hi, stride=stride, split=True)


class Shapes:
    """The types of a program's inputs and outputs. The native program does not know which are single numbers or integers in digits."""

    declared = True
    """Whether a function of the user declares them, instead of a text."""

    def __init__(
        self,
        native: TfheProgram | TfheSignature,
        scalars: frozenset[str] = frozenset(),
        integers: Mapping[str, Type] | None = None,
    ) -> None:
        self._name = native.name
        self._scalars = scalars
        self._integers = dict(integers or {})
        self.inputs: dict[str, Type] = {
            name: self._integers.get(name, Type.of_element(e, n, scalar=name in scalars))
            for name, e, n in native.inputs
        }
        self.outputs: dict[str, Type] = {
            name: self._integers.get(f"->{name}", Type.of_element(e, n, scalar=f"->{name}" in scalars))
            for name, e, n in native.outputs
        }

    def with_bits(self, native: TfheProgram | TfheSignature, bitwise: Mapping[str, Type]) -> Shapes:
        """The same, with vectors of truth values as the bits of integers; an output has "->" before its name."""
        made = Shapes(native, self._scalars - set(bitwise), {**self._integers, **bitwise})
        made.declared = self.declared
        return made

    def to_dict(self) -> dict[str, Any]:
        """As data."""
        integers = {
            name: {
                "bits": kind.width,
                "signed": kind.signed,
                "range": None if kind.wraps or kind.kind == "boolean" else [kind.lo, kind.hi, kind.stride],
                "length": kind.length,
                "scalar": kind.scalar,
                "text": isinstance(kind, TextType),
                "bitwise": isinstance(kind, Bitwise),
                **({"fixed": kind.to_dict()} if isinstance(kind, FixedType) else {}),
            }
            for name, kind in self._integers.items()
        }
        return {"scalars": sorted(self._scalars), "integers": integers}

    @classmethod
    def of(cls, data: Mapping[str, Any], native: TfheProgram | TfheSignature) -> Shapes:
        """From `to_dict`, for the same program or its signature."""
        lengths = {name: length for name, _, length in native.inputs}
        lengths |= {f"->{name}": length for name, _, length in native.outputs}
        scalars = frozenset(written(str, name, "the name of a single number") for name in data["scalars"])
        integers: dict[str, Type] = {}
        for name, own in data["integers"].items():
            text = written(bool, own["text"], "whether it is a text")
            bits = written(int, own["bits"], "the bits of an integer")
            length = written(int, own["length"], "the length of a vector")
            signed, scalar = (written(bool, own[key], key) for key in ("signed", "scalar"))
            if not 1 <= bits <= MOST_BITS or (text and (bits, signed, scalar) != (8, False, False)):
                raise ValueError(f"{name} has {bits} bits")
            one = (
                Text(length)
                if text
                else _fixed(bits, signed, own["fixed"])
                if "fixed" in own
                else _ranged(own["range"])
                if own.get("range")
                else _of_width(bits, signed)
            )
            if own.get("bitwise"):
                one = Bitwise.of_width(bits)
            integers[name] = made = one.of(length, scalar=scalar)
            if length * made.size != lengths.get(name) or (scalar and length != 1):
                raise ValueError(f"{name} is {made}, in {lengths.get(name)} digits")
        if any(lengths.get(name) != 1 for name in scalars - set(integers)):
            raise ValueError("a vector with several elements cannot be a single number")
        return cls(native, scalars, integers)

    def flatten(self, inputs: Mapping[str, Clear], *, partly: bool = False) -> dict[str, list[int]]:
        """Inputs as one list of integers each, checked against names and lengths. With `partly`, inputs may be missing."""
        expect_inputs(self._name, inputs, self.inputs)
        flat = {}
        for name, kind in self.inputs.items():
            if name not in inputs and partly:
                continue
            if name not in inputs:
                raise InputError(f"{self._name}: input {name!r} is missing; give it a value of type {kind}")
            if kind.split:
                flat[name] = self._digits(name, kind, inputs[name])
                continue
            flat[name] = self._numbers(name, kind, inputs[name])
        return flat

    def _numbers(self, name: str, kind: Type, given: Any) -> list[int]:  # noqa: ANN401 - whatever the user gave
        given = listed(given, kind)
        expect_numbers(self._name, name, given, kind)
        try:
            array = np.asarray(given)
        except ValueError:
            raise InputError(
                f"{self._name}: input {name!r} has rows of different lengths, but {kind} takes {kind.length} numbers; give an array"
            ) from None
        if array.dtype == bool or not array.size:
            array = array.astype(np.int64)
        # Integers beyond 64 bits stay Python integers.
        wide = array.dtype in (object, np.uint64)
        numbers = array.reshape(-1).tolist()
        if not (all(isinstance(number, int) for number in numbers) if wide else array.dtype.kind in "iu"):
            raise InputError(
                f"{self._name}: input {name!r} is {given!r}, but {kind} takes integers; round it first, or declare it pf.Fixed(16, 8)"
            )
        expect_count(self._name, name, len(numbers), kind, declared=self.declared)
        for at, number in enumerate(numbers if wide else []):
            if not -(1 << 63) <= number < 1 << 63:
                raise wrong_value(name, kind, at, number)
        return numbers

    def _digits(self, name: str, kind: Type, values: Any) -> list[int]:  # noqa: ANN401 - whatever the user gave
        """The digits of an input: the first digits of all values, then the second ones, and so on."""
        try:
            if isinstance(kind, TextType):
                self._expect_text(name, kind, values)
            else:
                values = listed(values, kind)
                expect_numbers(self._name, name, values, kind)
            elements = kind.elements(values)
            expect_count(self._name, name, len(elements), kind, declared=self.declared)
            digits = [kind.digits(value) for value in elements]
        except ProgramError as error:
            raise InputError(f"{self._name}: input {name!r}: {str(error).split(': ', 1)[-1]}") from None
        return [number[place] for place in range(kind.size) for number in digits]

    def _expect_text(self, name: str, kind: TextType, given: Any) -> None:  # noqa: ANN401 - whatever the user gave
        if not isinstance(given, str | bytes):
            if np.ndim(given) == 1:
                # Zeros pad a text; no other byte may follow them.
                text_bytes(bytes(kind.whole(byte) & 255 for byte in given).rstrip(b"\0"))
                return
            raise InputError(
                f"{self._name}: input {name!r} is {given!r}, but {kind} takes a str, or bytes; give one of at most {kind.length} bytes"
            )
        size = len(text_bytes(given))
        if size > kind.length:
            raise InputError(
                f"{self._name}: input {name!r} is {given!r:.80} of {size} bytes, but {kind} takes at most {kind.length}; shorten it, or declare "
                f"it pf.Text({size})"
            )

    def shaped(self, outputs: Mapping[str, list[int]]) -> Outputs:
        """Outputs in the user's form and the program's order: single values as integers, texts as texts."""
        return {name: self.shaped_output(name, outputs[name]) for name in self.outputs}

    def names(self, *, outputs: bool) -> list[str]:
        """Names of the ciphertexts that hold the inputs or outputs."""
        return list(self.outputs if outputs else self.inputs)

    def by_output(self, wrong: Mapping[str, float]) -> dict[str, float]:
        """Numbers of wrong values by output."""
        return dict(wrong)

    def shaped_output(self, name: str, values: list[int]) -> int | list[int] | str:
        """One output in the user's form."""
        kind = self._integers.get(f"->{name}")
        if kind is None:
            return values[0] if f"->{name}" in self._scalars else values
        count = len(values) // kind.size
        return kind.given([values[element::count] for element in range(count)])
