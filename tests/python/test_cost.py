"""Cost estimates of every program are complete. `scripts/estimated-costs` records their accuracy."""

from __future__ import annotations

import costed_programs
import polyfabric as pf
import pytest
from polyfabric.run import execution


def test_a_cost_is_estimated_without_running() -> None:
    small, large = (
        program.cost().to_dict() for program in (costed_programs.ckks_matrix, costed_programs.ckks_large_matrix)
    )
    assert 0 < small["processor_seconds"] < large["processor_seconds"]
    assert small["seconds"] <= small["processor_seconds"]


@pytest.mark.parametrize("name", ["ckks_polynomial", "bgv_product", "tfhe_one_lookup"])
def test_a_cost_lists_each_part_of_a_whole_run(name: str) -> None:
    report = getattr(costed_programs, name).cost()
    parts = report["whole_run_seconds"]
    # A program that this process has made is not started by a run.
    assert list(parts) == ["plan", "keys", "encrypt", "execute", "decrypt"]
    assert parts["execute"] == report["processor_seconds"]
    assert min(parts.values()) >= 0
    assert parts["keys"] > 0
    assert "whole run" in report.table()


def test_the_cost_of_a_measured_run_has_the_decryption_of_every_operation() -> None:
    """A product of ciphertexts that is measured has a part more than what a client encrypts."""
    squared = pf.program(x=pf.Real.vector(512))(lambda x: (x * x) * (x + 1))
    plans = [execution.plan(squared, "toy-10", security=0, measure=measure) for measure in (False, True)]
    costs = [planned.cost({}).to_dict() for planned in plans]
    sizes = [cost["output_bytes"] for cost in costs]
    assert sizes[0] * 4 < sizes[1]
    assert all(cost["whole_run_seconds"]["decrypt"] > 0 for cost in costs)
