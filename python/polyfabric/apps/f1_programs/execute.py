"""Runs a program of a paper on encrypted data, and compares with an independent clear computation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...host.progress import ProgressHook
from ...run.execution import make_plan, place, run_plan
from ...schemes.options import PlanOptions
from ...schemes.plan import plain
from ...schemes.rns import SlotResult
from . import ExampleProgram, Inputs


@dataclass(frozen=True)
class Answer:
    """The result of a run."""

    program: ExampleProgram
    found: list[float]
    """Decrypted."""
    expected: list[float]
    """The clear answer by the application's own arithmetic, not by the program."""
    run: SlotResult

    @property
    def error(self) -> float:
        """The largest error, relative to the largest number."""
        largest = max(abs(value) for value in self.expected)
        return max(abs(a - b) for a, b in zip(self.found, self.expected, strict=True)) / largest

    @property
    def tolerance(self) -> float:
        """The program's tolerance, or the bound of its outputs' errors relative to the largest number."""
        if self.program.tolerance is not None:
            return self.program.tolerance
        return max(self.run.bound.values()) / max(abs(value) for value in self.expected)

    @property
    def correct(self) -> bool:
        """Whether the error is within the tolerance and the bounds, the tolerance is below the largest number, and classes are equal."""
        same = not self.program.classifies or np.argmax(self.found) == np.argmax(self.expected)
        return bool(same and self.run.within_bounds and self.error <= self.tolerance < 1)

    def to_dict(self) -> dict[str, Any]:
        """The result as data, with the answer instead of all outputs."""
        run = {key: value for key, value in self.run.to_dict().items() if key not in ("outputs", "expected")}
        facts = {"answer": plain(self.found), "in_the_clear": plain(self.expected), "relative_error": self.error}
        return {**run, **facts, "tolerance": self.tolerance, "correct": self.correct}


def clear_example(program: ExampleProgram, generator: np.random.Generator) -> tuple[Inputs, NDArray[Any]]:
    """A random example. If its answer is a class, no error within the tolerance changes it: with nearly equal scores both classes would be right."""
    while True:
        inputs, expected = program.example(generator)
        if not program.classifies or program.tolerance is None:
            return inputs, expected
        second, first = np.sort(expected)[-2:]
        if first - second > 2 * program.tolerance * np.abs(expected).max():
            return inputs, expected


def execute(
    program: ExampleProgram,
    *,
    on: str = "cpu",
    readings: Sequence[str] = (),
    parameters: str | None = None,
    threads: int | None = None,
    measure: bool = False,
    max_failure: float | None = None,
    key_switch: str | None = None,
    progress: ProgressHook | None = None,
) -> Answer:
    """Draws an example, encrypts it, executes, decrypts; `key_switch` as in `SlotProgram.run`."""
    inputs, expected = clear_example(program, np.random.default_rng())
    asked = PlanOptions(
        parameters=parameters,
        machine=place(on, readings),
        measure=measure or program.unbounded,
        max_failure=max_failure,
        key_switch=key_switch,
        security=program.security,
    )
    made = make_plan(program.build(), asked.with_default_set(program.parameters))
    run = run_plan(made, inputs, on=on, threads=threads, progress=progress)
    return Answer(program, program.answer(run.value).tolist(), expected.tolist(), run)
