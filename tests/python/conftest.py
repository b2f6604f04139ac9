"""Shared fixtures: the command line and snapshots."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path

import numpy as np
import pytest
from calls import Finished, called, started
from polyfabric.language.program import TfheProgram
from polyfabric.language.reference import Wrapped
from polyfabric.language.slot_program import SlotProgram

# A failing test shows where the error was raised.
os.environ.setdefault("POLYFABRIC_TRACEBACK", "1")

SNAPSHOTS = Path(__file__).with_name("snapshots")


@pytest.fixture(autouse=True)
def lowered_as_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compares everything that a test evaluates in the clear with the lowered program, digit by digit."""
    evaluate = TfheProgram.reference_values

    @wraps(evaluate)
    def both(program: TfheProgram, inputs: Mapping[str, Sequence[int]]) -> tuple[dict[str, list[int]], list[Wrapped]]:
        values, wrapped = evaluate(program, inputs)
        # With real numbers, the program on integers is a part, with hidden inputs.
        if program.reals is None:
            assert program.native.evaluate(inputs) == values, "the lowered program computes something else"
        return values, wrapped

    monkeypatch.setattr(TfheProgram, "reference_values", both)


@pytest.fixture
def polyfabric(tmp_path: Path) -> Callable[..., Finished]:
    """Runs the command line in an empty folder, in this process."""
    return partial(called, tmp_path)


@pytest.fixture
def polyfabric_process(tmp_path: Path) -> Callable[..., Finished]:
    """Runs the command line in the same folder in a new process, for tests of the process."""
    return partial(started, tmp_path)


@pytest.fixture(autouse=True)
def two_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is evaluated of CKKS and BGV in a test: the rewritten program gives what the reference gives."""
    of_reference = SlotProgram.reference_values

    @wraps(of_reference)
    def values(program, inputs):
        found = of_reference(program, inputs)
        expected = program.shaped(found)
        for name, own in program.shaped(program.native.evaluate(inputs)).items():
            if program.scheme == "bgv":
                assert own == expected[name], name
            else:
                largest = np.abs(expected[name]).max(initial=1e-3)
                np.testing.assert_allclose(own, expected[name], rtol=0, atol=1e-9 * largest, err_msg=name)
        return found

    monkeypatch.setattr(SlotProgram, "reference_values", values)


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Holds a text against the file of the test's name. UPDATE_SNAPSHOTS=1 writes it, for a person to read."""

    def check(text: str) -> None:
        name = re.sub(r"[^A-Za-z0-9_.-]+", ".", f"{request.node.path.stem}.{request.node.name}").rstrip(".") + ".txt"
        file = SNAPSHOTS / name
        if os.environ.get("UPDATE_SNAPSHOTS") == "1":
            SNAPSHOTS.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert file.exists(), (
            f"there is no snapshot {file.name}; read the text below, then set UPDATE_SNAPSHOTS=1\n{text}"
        )
        assert text == file.read_text(encoding="utf-8")

    return check
