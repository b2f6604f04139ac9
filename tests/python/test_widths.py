"""A machine file with derived widths corrects programs that fail with the original widths; impossible sets are refused with cause and remedy."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polyfabric as pf
import pytest
from polyfabric.accelerators import machine as accelerators
from rejects import rejects

FILES = Path(__file__).resolve().parents[2] / "machines"
SET = "toy-256"


@pytest.mark.parametrize("name", ["morphling", "strix"])
def test_sums_of_results_are_right_with_the_file_that_widths_writes(name, polyfabric):
    asked = ("run", "digits", "--params", SET, "--image", "3", "--max-failure", "-50", "--json")
    # With its own, no result of a lookup carries a score, nor a sum of them.
    done = polyfabric(*asked, "--on", name)
    if done.status == 0:
        assert json.loads(done.out)["encrypted_scores"] is False
    else:
        assert "leaves its noise budget" in done.err
    done = polyfabric("widths", "--params", SET, "--on", name, "--out", "derived.toml")
    assert done.status == 0, done.err
    done = polyfabric(*asked, "--on", "derived.toml")
    assert done.status == 0, done.err
    found = json.loads(done.out)
    assert found["correct"] is True
    assert found["encrypted_scores"] is True
    assert found["machine"]["parameters"] == SET


def test_more_noise_of_the_key_allows_narrower_words(polyfabric):
    asked = ("widths", "--params", SET, "--on", "fpt", "--json")
    made = {}
    for noise in ("1", "1.1", "4"):
        done = polyfabric(*asked, "--noise", noise)
        assert done.status == 0, done.err
        made[noise] = json.loads(done.out)["widths"]
    limits = [found["log2_limit"] for found in made.values()]
    # Four times the deviation are 16 times the variance, of which rounding the digits makes a part.
    assert limits[0] < limits[1] < limits[2] <= limits[0] + 4
    own, tenth, four = ([part["width"] for part in found["formats"]] for found in made.values())
    assert all(0 <= a - b <= 1 for a, b in zip(own, tenth, strict=True))
    assert all(0 <= a - b <= 3 for a, b in zip(own, four, strict=True))
    assert own != four
    assert polyfabric(*asked, "--noise", "0").status == 2


def test_a_machine_file_has_a_name_by_which_commands_know_it(polyfabric, monkeypatch, tmp_path):
    monkeypatch.setattr("polyfabric.accelerators.machine.load", lambda *_: pytest.fail("a machine is read"))
    for name in ("wide.txt", "wide"):
        done = polyfabric("widths", "--params", SET, "--on", "strix", "--out", name)
        assert done.status == 2
        assert f"{name}: the name of a machine file ends in .toml; name it wide.toml" in done.err
        assert not (tmp_path / name).exists()


def with_width(bits: int) -> str:
    """FPT's file with a forward transform of so many bits."""
    text = (FILES / "fpt.toml").read_text()
    changed = re.sub(r'("machine\.arithmetic\.forward" = \{ value = )\d+', rf"\g<1>{bits}", text)
    assert changed != text
    return changed


def test_widths_that_no_transform_has_are_refused(polyfabric, tmp_path):
    for bits in (3, 61):
        (tmp_path / "own.toml").write_text(with_width(bits))
        done = polyfabric("simulate", "pbs", "--on", "own.toml", "--params", SET, "--max-failure", "0")
        assert done.status == 2
        assert f'"machine.arithmetic.forward"` = {bits}' in done.err
        assert "lies between 8 and 58 bits" in done.err


def test_widths_too_small_for_a_message_are_reported(polyfabric, tmp_path):
    (tmp_path / "own.toml").write_text(with_width(8))
    asked = ("run", "pbs", "--on", "own.toml", "--params", SET, "--batch", "12")
    done = polyfabric(*asked)
    assert done.status == 2
    assert f"one of 12 ciphertexts of parameter set {SET} fails with probability 2^0.0" in done.err
    assert (
        "so it is the machine's widths, in bits: forward 8, forward twiddle 31, inverse 36, inverse twiddle 32, key 32"
        in done.err
    )
    assert f"polyfabric widths --on own.toml --params {SET} --out FILE.toml" in done.err
    assert "choose another set, or accept it with --max-failure 0" in done.err
    # Accepted, results are wrong, or no message at all: then the reason is the machine's arithmetic, not damage.
    done = polyfabric(*asked, "--max-failure", "0")
    assert done.status in (1, 2)
    if done.status == 2:
        assert "which the caller accepted" in done.err
        assert f"polyfabric widths --on own.toml --params {SET}" in done.err


@pytest.mark.parametrize(
    ("name", "parameters", "cause", "remedy"),
    [
        ("morphling", "polyfabric-6-p64-t32", "has ring degree N = 16384", "choose a set with a smaller ring"),
        (
            "fpt",
            "polyfabric-6-p64-t32",
            "is 1048576 bytes and 1572960 are needed",
            "choose a smaller set, or enlarge it",
        ),
        (
            "strix",
            "polyfabric-1-p128-t64",
            "is on a torus of 64 bits and `strix` computes on 32",
            "choose a set of the",
        ),
    ],
)
def test_a_set_that_does_not_fit_is_reported(name, parameters, cause, remedy, polyfabric):
    assert name in accelerators.names()
    done = polyfabric("simulate", "pbs", "--on", name, "--params", parameters, "--max-failure", "0", "--batch", "12")
    assert done.status == 2
    assert cause in done.err
    assert remedy in done.err


def test_an_impossible_look_up_is_reported(polyfabric, tmp_path):
    (tmp_path / "own.py").write_text(
        "import polyfabric as pf\n\n\n@pf.program(x=pf.Int(0, 2**16))\ndef wide(x):\n    return pf.lookup(x, lambda v: v % 4)\n"
    )
    for asked in (
        ("simulate", "own.py:wide", "--on", "fpt"),
        ("run", "own.py:wide", "--on", "fpt", "--input", "x=3"),
    ):
        done = polyfabric(*asked, "--params", "fpt-I")
        assert done.status == 2
        assert "own.py:6: lookup %1 reads integer[0..65536]" in done.err
        assert "the ring degree 512 gives 1024 phases; narrow the range" in done.err


FEES = [0, 2, 3, 5, 8, 13, 21, 34]


@pf.program(risk=pf.Int(0, 7).vector(2))
def fee(risk):
    return pf.lookup(risk, FEES)


@pytest.mark.parametrize("name", ["fpt", "morphling", "strix"])
def test_with_derived_widths_a_look_up_of_eight_values_decrypts_right(name):
    report = fee.simulate(name, widths="derived")
    assert report["cycles"] > 0
    assert report["widths"]["forward"] > report["own_widths"]["forward"]
    assert report["multipliers_over_own"] > 1
    if name != "fpt":
        # FPT's file has derived widths already, for its own sets.
        with rejects(pf.errors.NoiseError, "widths", "derived", name):
            fee.simulate(name)


def test_the_schedule_with_derived_widths_decrypts_right():
    done = fee.run({"risk": [3, 6]}, on="morphling", widths="derived")
    assert list(done.outputs["result"]) == [FEES[3], FEES[6]]
    assert done.correct
    assert done.simulation is not None


def test_derived_widths_are_refused_where_nothing_has_widths():
    with rejects(pf.errors.InputError, "widths"):
        fee.run({"risk": [3, 6]}, widths="derived")
    with rejects(pf.errors.InputError, "widths", "printed"):
        fee.simulate("morphling", widths="printed")
