"""Programs as application developers write them run unchanged and equal plain Python.

Each file of this folder is one program, its inputs (`GIVEN`) and the same computation without it (`clear`). A short selection runs always;
all of them with `make gallery`, in a few minutes.
"""

from __future__ import annotations

import ast
import os
import runpy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.language.shapes import value_of

FOLDER = Path(__file__).resolve().parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("test_"))

SHORT = ("adder", "rock_paper_scissors", "blocklist", "permissions", "vote", "mean_and_variance", "risk_score", "stock")
"""Of every scheme, and of small and wide integers."""

ON_SLOTS = (
    "adder",
    "blocklist",
    "check_digit",
    "game_of_life",
    "hamming",
    "magnitude",
    "median",
    "permissions",
    "rock_paper_scissors",
    "simon",
    "tariff",
    "transfer",
    "vote",
)
"""Programs that run encrypted on slots too."""

QUICK_REPLAYS = ("rock_paper_scissors", "stock")
"""Of TFHE and of slots, with few operations for a machine to replay."""

WHOLE = os.environ.get("POLYFABRIC_GALLERY") == "all"


def load(name: str) -> dict[str, Any]:
    return runpy.run_path(str(FOLDER / f"{name}.py"))


def expect_equal(found: Any, expected: Any, close: float) -> None:
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            expect_equal(found[name], value, close)
    elif close:
        np.testing.assert_allclose(found, expected, atol=close)
    else:
        assert found == expected


def check(example: dict[str, Any], value: Any, bound: float = 0.0) -> None:
    """Compares a value with plain Python's, up to the program's own distance, or a greater `bound` of the error."""
    exact = type(example["program"]).__name__ == "Program" or example["program"].scheme == "bgv"
    read = example.get("read", lambda found: found)
    close = max(bound, example.get("CLOSE", 0.0 if exact else 1e-6))
    expect_equal(read(value), example["clear"](**example["GIVEN"]), close)


REFUSALS = (pf.errors.MachineError, pf.errors.NoiseError, pf.errors.ParameterError)
"""Errors of a program that a machine does not take."""


def options(example: dict[str, Any], on: str) -> dict[str, str]:
    """How a program is planned for a machine or this processor."""
    return {"on": on} | ({"widths": "derived"} if on != "cpu" and example["program"].scheme == "tfhe" else {})


def encrypted(example: dict[str, Any], on: str, folder: Path) -> Any:
    """The steps of a program whose inputs are encrypted."""
    steps = example["program"].in_folder(folder, **options(example, on))
    steps.encrypt_or_begin(lambda _: example["GIVEN"])
    return steps


@pytest.mark.parametrize("name", NAMES)
def test_a_program_says_in_the_clear_what_plain_python_says(name: str) -> None:
    example = load(name)
    check(example, example["program"].clear(example["GIVEN"]))


@pytest.mark.parametrize("name", [name for name in NAMES if WHOLE or name in SHORT])
def test_a_program_runs_encrypted(name: str) -> None:
    example = load(name)
    done = example["program"].run(example["GIVEN"])
    assert done.correct
    check(example, done.value)


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "on"),
    [
        (name, on)
        for name in NAMES
        for on in ("cpu", *(machine.name for machine in pf.machines()))
        if WHOLE or name in QUICK_REPLAYS or (name in SHORT and on == "cpu")
    ],
)
def test_a_program_conforms(name: str, on: str, tmp_path: Path) -> None:
    """In every instruction set of this processor, and as schedules of the machines that take it."""
    example = load(name)
    try:
        steps = encrypted(example, on, tmp_path)
    except REFUSALS as refused:
        pytest.skip(f"{on} does not take it: {refused}")
    found = steps.conform(skip=("interpreter",))
    assert found.conforms
    assert {"cpu", on} == {place.on for place in found.receipt.places}
    assert "portable" in {place.instruction_set for place in found.receipt.places}
    check_decrypted(example, steps)


def check_decrypted(example: dict[str, Any], steps: Any) -> None:
    """Compares what steps decrypt; sets of machines may have less precision than this processor's."""
    found = steps.decrypt()
    check(example, found.value, max(found.bound.values()) if example["program"].kind == "slots" else 0.0)


@pytest.mark.parametrize("name", NAMES)
def test_a_program_on_integers_says_the_same_on_slots(name: str) -> None:
    example = load(name)
    program = example["program"]
    if program.scheme != "tfhe":
        pytest.skip("it has slots already")
    batch = program.in_batches(2)
    given = batch.flatten({name: [value, value] for name, value in example["GIVEN"].items()})
    shapes = batch.shapes.within(dict.fromkeys(batch.shapes.vectors(outputs=True), 1e-6))
    found = batch.shaped(shapes.rounded(batch.native.evaluate(given)))
    for at in range(2):
        check(example, value_of({name: values[at] for name, values in found.items()}))


@pytest.mark.parametrize(
    "name",
    [
        name if name in ("check_digit", "rock_paper_scissors") else pytest.param(name, marks=pytest.mark.full)
        for name in ON_SLOTS
    ],
)
def test_a_program_runs_on_slots_as_with_tfhe(name: str) -> None:
    example = load(name)
    program, given = example["program"], example["GIVEN"]
    batch = program.in_batches(2, longest_table=16)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pf.errors.SecurityWarning)
        done = batch.run({own: [value, value] for own, value in given.items()}, parameters="toy-10-lookup")
    assert done.correct
    tfhe = program.run(given).value
    for at in range(2):
        found = value_of({own: values[at] for own, values in done.outputs.items()})
        expect_equal(found, tfhe, 0.0)
        check(example, found)


def test_simon_encrypts_as_its_designers_say() -> None:
    """The test vector of Simon32/64, and all rounds on slots in the clear."""
    simon = load("simon")
    assert simon["encrypted"](simon["KEYS"], 0x6565, 0x6877) == (0xC69B, 0xE9BB)
    bits, word, rounds = simon["bits"], simon["word"], len(simon["KEYS"])
    batch = simon["cipher"](rounds).in_batches(2)
    counters = [(0x6565, 0x6877), (0x6565, 0x6878)]
    given = {"keys": [bits(*simon["KEYS"])] * 2}
    given |= {name: [bits(own[half]) for own in counters] for half, name in enumerate(("left", "right"))}
    shapes = batch.shapes.within(dict.fromkeys(batch.shapes.vectors(outputs=True), 1e-6))
    found = batch.shaped(shapes.rounded(batch.native.evaluate(batch.flatten(given))))
    for at, counter in enumerate(counters):
        expected = simon["encrypted"](simon["KEYS"], *counter)
        assert (word(found["left"][at]), word(found["right"][at])) == expected
    assert batch.text().count("= lookup") == 16 * rounds


@pytest.mark.full
def test_a_network_of_eight_bits_classifies_a_thousand_digits() -> None:
    example = load("perceptron")
    pixels = example["PIXELS"][:1024]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pf.errors.SecurityWarning)
        done = example["network"](8)[0].in_batches(1024).run(pixels=pixels, parameters="toy-10-lookup-256")
    assert done.correct
    scores, wanted = np.array(done.value), example["classified"](pixels, 8)
    decided = np.setdiff1d(np.arange(1024), done.undecided)
    assert len(decided) > 1000
    np.testing.assert_allclose(scores[decided], wanted[decided], atol=1e-4)
    assert (scores.argmax(axis=1) == example["MODEL"].predict(pixels)).mean() > 0.99


def test_the_page_lists_every_program() -> None:
    page = (FOLDER.parent.parent / "docs" / "gallery.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert f"| [{name}](../tests/gallery/{name}.py) | " in page
        assert ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8")))


def test_there_are_thirty() -> None:
    assert len(NAMES) >= 30
    assert set(SHORT) <= set(NAMES)
