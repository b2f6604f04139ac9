"""Inputs of programs from the command line, and random ones."""

from __future__ import annotations

import json
import re
from collections import Counter
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..apps.programs import read as read_file
from ..errors import InputError
from ..language.copies import CopiesProgram
from ..language.fixed_type import FixedType
from ..language.lane_program import LaneProgram
from ..language.traced import TracedProgram
from ..language.types import SlotType, TextType, Type

BOOLEANS = {"false": "0", "true": "1"}
"""Accepted spellings of a Boolean, in addition to 0 and 1."""


def inputs(program: TracedProgram, given: tuple[str, ...]) -> dict[str, Any]:
    """Inputs from `NAME=VALUE[,VALUE..]`, `NAME=[..]` as JSON, of a text `NAME=TEXT`, and from JSON files."""
    values: dict[str, Any] = {}
    for item in given:
        name, equals, text = item.partition("=")
        if equals:
            if name in values:
                raise InputError(f"input {name!r} appears twice; give it once")
            values[name] = _decimals(program, name, _read(program, name, text))
            continue
        try:
            content = read_file(Path(item))
        except InputError as error:
            named = next((own for own in program.inputs if own not in values), "NAME")
            raise InputError(f"{error}, or name the input: --input {named}={item:.80}") from None
        try:
            data = json.loads(content, object_pairs_hook=partial(_object, item))
        except json.JSONDecodeError as error:
            raise InputError(f"{item}:{error.lineno}: {error.msg}; give a JSON object of inputs") from error
        except RecursionError:
            raise InputError(
                f"{item}: its lists are nested too deeply; an input is a list, or a list of rows"
            ) from None
        except ValueError as error:
            # Python raises this for numbers of thousands of digits.
            raise InputError(f"{item}: a number has too many digits ({error}); correct it") from None
        if not isinstance(data, dict):
            raise InputError(f"{item}: give a JSON object with one entry for each of {', '.join(program.inputs)}")
        twice = sorted(values.keys() & data.keys())
        if twice:
            raise InputError(f"input {twice[0]!r} appears twice, also in {item}; give it once")
        values |= {name: _decimals(program, name, value) for name, value in data.items()}
    return values


def _decimals(program: TracedProgram, name: str, value: Any) -> Any:  # noqa: ANN401 - whatever the user gave
    """A value whose texts are decimal numbers, if the input is one of `pf.Fixed`: no float holds all numbers of 64 bits."""
    if not isinstance(program.inputs.get(name), FixedType):
        return value
    if isinstance(value, list):
        return [_decimals(program, name, own) for own in value]
    try:
        return Decimal(value) if isinstance(value, str) else value
    except InvalidOperation:
        raise _unread(name, value, "a number") from None


def _object(file: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of a JSON file; a repeated name is an error."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise InputError(f"{file}: {twice!r} appears twice; give it once")
    return found


def of(program: TracedProgram, given: tuple[str, ...]) -> dict[str, Any]:
    """Inputs of a program from the command line, or random ones if the user gives none."""
    if given:
        return inputs(program, given)
    generator = np.random.default_rng()
    batch, drawn = _batch(program), {}
    for name, kind in program.inputs.items():
        if isinstance(kind, SlotType):
            drawn[name] = _drawn_slots(kind, generator)
        elif batch is None:
            drawn[name] = _drawn_elements(kind, generator)
        else:
            drawn[name] = [_drawn_elements(kind, generator) for _ in range(batch)]
    return drawn


def _batch(program: TracedProgram) -> int | None:
    """Number of inputs that an execution takes; `None` if it takes one."""
    return program.batch if isinstance(program, LaneProgram | CopiesProgram) else None


def _drawn_elements(kind: Type, generator: np.random.Generator) -> Any:  # noqa: ANN401 - a number, or a list of them
    lo, hi = (ord(" "), ord("~")) if isinstance(kind, TextType) else kind.bounds
    count = (hi - lo) // kind.stride + 1
    # An integer can be wider than the generator's own integers.
    size = -(-count.bit_length() // 8) + 8
    numbers = [lo + kind.stride * (int.from_bytes(generator.bytes(size)) % count) for _ in range(kind.length)]
    if isinstance(kind, FixedType):
        numbers = [Fraction(number, 1 << kind.point) for number in numbers]  # type: ignore[misc]
    return numbers[0] if kind.scalar else numbers


def _drawn_slots(kind: SlotType, generator: np.random.Generator) -> NDArray[Any]:
    if kind.modulus is not None:
        return generator.integers(0, kind.modulus, kind.length)
    if kind.kind == "real":
        return generator.uniform(-kind.bound, kind.bound, kind.length)
    re, im = generator.uniform(-1, 1, (2, kind.length)) * kind.bound / 2**0.5
    return re + 1j * im


def _read(program: TracedProgram, name: str, text: str) -> Any:  # noqa: ANN401 - of the input's type
    kind = program.inputs.get(name)
    batch = _batch(program)
    if isinstance(kind, TextType) and batch is None:
        return text
    if isinstance(kind, TextType) and not text.lstrip().startswith("["):
        raise InputError(
            f'input {name!r}: {text:.80} is not a list of texts; give one for each item of the batch, as --input \'{name}=["a", "b"]\''
        )
    if text.lstrip().startswith("["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise InputError(
                f"input {name!r}: {text:.80} is not a list of numbers; close its brackets and separate by commas, as [1, 2] or [[1, 2], [3, 4]]"
            ) from None
    if isinstance(kind, Type) and kind.kind == "boolean":
        text = ",".join(BOOLEANS.get(part.strip().lower(), part) for part in text.split(","))
    if not isinstance(kind, Type):
        return _numbers(name, text)
    numbers = [part.strip() for part in text.split(",")] if isinstance(kind, FixedType) else _integers(name, text)
    return numbers[0] if len(numbers) == 1 and batch is None else numbers


def _numbers(name: str, text: str) -> complex | list[complex]:
    try:
        # Space around a sign does not separate two numbers.
        numbers = [complex(re.sub(r"\s*([+-])\s*", r"\1", part.strip())) for part in text.split(",")]
    except ValueError as error:
        raise _unread(name, text, "a number") from error
    if all(number.imag == 0 for number in numbers):
        real = [number.real for number in numbers]
        numbers = [int(x) for x in real] if all(x.is_integer() for x in real) else real  # type: ignore[assignment]
    return numbers[0] if len(numbers) == 1 else numbers


def _integers(name: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise _unread(name, text, "an integer") from error


def _unread(name: str, text: str, what: str) -> InputError:
    own, equals, others = text.partition("=")
    first, comma, other = own.rpartition(",")
    if equals and comma:
        return InputError(
            f"input {name!r}: {text!r} contains another input's name; give each input its own option: --input {name}={first} "
            f"--input {other.strip()}={others}"
        )
    return InputError(f"input {name!r} is {text!r}; give {what}, several with commas between them, or a JSON file")
