"""Lookups of every set run where a machine claims to support them, with the stated noise, and the table names sufficient widths."""

from __future__ import annotations

import json

import polyfabric as pf
import pytest
from polyfabric.accelerators import machine as accelerators
from polyfabric.studies.lookup_trials import TOO_COARSE, trials

TORUS = [name for name in accelerators.names() if not pf.load_machine(name).on_slots]
TOY = "toy-256"


@pytest.mark.parametrize("name", TORUS)
def test_look_ups_come_out_right_with_derived_widths(name):
    (row,) = trials([name], TOY, lookups=24, widths="derived")["trials"]
    assert (row["lookups"], row["wrong"], row["saturations"]) == (24, 0, 0)
    assert row["log2_failure"] < -64
    # The formulas are for the worst key. The deviation of 24 results is within a factor of two, except with probability 1e-6.
    assert row["log2_predicted"] - 3 < row["log2_deviation"] < row["log2_predicted"] + 0.8


def test_too_coarse_arithmetic_is_detected_with_sufficient_widths():
    found = trials(TORUS, TOY, lookups=24)["trials"]
    assert [row["machine"] for row in found] == TORUS
    coarse = [row for row in found if row["log2_failure"] > TOO_COARSE]
    assert coarse, "one of them has twiddle factors of 16 bits"
    for row in coarse:
        assert row["wrong"] > 0
        assert row["suffices"]["log2_failure"] < -64
        assert all(row["suffices"][part] >= row["bits"][part] for part in ("forward", "inverse"))
    assert all("suffices" not in row for row in found if row not in coarse)


def test_a_set_that_cannot_be_held_has_its_reason():
    (row,) = trials([TORUS[0]], "toy-256-t64")["trials"]
    assert "64-bit torus" in row["error"] or "torus of 64 bits" in row["error"]


def test_failures_are_some_and_no_more_than_the_formula_says():
    # So many bits that lookups fail: the modulus switch of a small ring. Keys differ much, so there is one for each machine.
    rows = trials(TORUS, TOY, lookups=400, bits=6, widths="derived")["trials"]
    expected = sum(400 * 2 ** row["log2_failure"] for row in rows)
    assert expected > 4
    # The formula's key is the worst one, and others fail less often; a draw beyond seven deviations above it is one in 10^11.
    assert 0 < sum(row["wrong"] for row in rows) < expected + 7 * expected**0.5


def test_the_command(polyfabric):
    asked = ("params", TOY, "--on", ",".join(TORUS), "--replay", "2", "--widths", "derived")
    done = polyfabric(*asked, "--json")
    assert done.status == 0, done.err
    assert [row["wrong"] for row in json.loads(done.out)["trials"]] == [0] * len(TORUS)
    done = polyfabric(*asked)
    assert done.status == 0, done.err
    assert f"lookups on {TORUS[0]}, with derived widths" in done.out
    for words, message in (
        (("params", "--replay", "2"), "name them with --on"),
        (("params", "--on", TORUS[0], "--message-bits", "2"), "add --replay COUNT"),
    ):
        done = polyfabric(*words)
        assert done.status == 2
        assert message in done.err
    done = polyfabric("params", TOY, "--on", TORUS[0], "--replay", "1", "--message-bits", "9")
    assert "9 is not in the range 1<=x<=6" in done.err
