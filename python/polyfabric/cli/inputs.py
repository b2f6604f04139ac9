"""Inputs of programs from the command line, and random ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..language.program import Program
from ..language.slot_program import SlotProgram
from ..programs import read as read_file


def inputs(
    program: Program | SlotProgram, given: tuple[str, ...], read: Callable[[str, str], Any] | None = None
) -> dict[str, Any]:
    """Inputs from `NAME=VALUE[,VALUE..]` and from JSON files; `read` gives the values of a text, integers without it."""
    read = _integers if read is None else read
    values: dict[str, Any] = {}
    for item in given:
        name, equals, text = item.partition("=")
        if equals:
            if name in values:
                raise InputError(f"input {name!r} is given twice; give it once")
            values[name] = read(name, text)
            continue
        content = read_file(Path(item))
        try:
            data = json.loads(content)
        except json.JSONDecodeError as error:
            raise InputError(f"{item}:{error.lineno}: {error.msg}; give a JSON object of inputs") from error
        if not isinstance(data, dict):
            raise InputError(f"{item}: a JSON object is needed, with one entry for each of {', '.join(program.inputs)}")
        twice = sorted(values.keys() & data.keys())
        if twice:
            raise InputError(f"input {twice[0]!r} is given twice, in {item} too; give it once")
        values.update(data)
    return values


def slot_inputs(program: SlotProgram, given: tuple[str, ...]) -> dict[str, Any]:
    """Inputs of a program on slots, as `inputs` takes them, but of any numbers; drawn at random where none are given."""
    import numpy as np

    if given:
        return inputs(program, given, _numbers)
    generator = np.random.default_rng()
    values: dict[str, Any] = {}
    for name, kind in program.inputs.items():
        if kind.modulus is not None:
            values[name] = generator.integers(0, kind.modulus, kind.length)
        elif kind.kind == "real":
            values[name] = generator.uniform(-kind.bound, kind.bound, kind.length)
        else:
            re, im = generator.uniform(-1, 1, (2, kind.length)) * kind.bound / 2**0.5
            values[name] = re + 1j * im
    return values


def _numbers(name: str, text: str) -> complex | list[complex]:
    try:
        numbers = [complex(part.replace(" ", "")) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"input {name!r}: {text!r} is not numbers separated by commas; correct it") from error
    if all(number.imag == 0 for number in numbers):
        real = [number.real for number in numbers]
        numbers = [int(x) for x in real] if all(x.is_integer() for x in real) else real  # type: ignore[assignment]
    return numbers[0] if len(numbers) == 1 else numbers


def _integers(name: str, text: str) -> int | list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"input {name!r}: {text!r} is not integers separated by commas; correct it") from error
    return numbers[0] if len(numbers) == 1 else numbers


def drawn(program: Program) -> dict[str, int | list[int]]:
    """Random inputs, for programs that are run to see them run."""
    import numpy as np

    generator = np.random.default_rng()
    values: dict[str, int | list[int]] = {}
    for name, kind in program.inputs.items():
        lo, hi, stride = kind.element.bounds
        drawn = (lo + stride * generator.integers(0, (hi - lo) // stride + 1, size=kind.length)).tolist()
        values[name] = drawn[0] if kind.scalar else drawn
    return values
