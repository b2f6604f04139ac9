"""Lowered programs keep their counts of transforms, products, key switches and lookups.

A guard of performance that measures no time: `operation_counts.json` holds what each program of `costed_programs` and `cliff_programs` takes, and a count may move by 3 %. A change
that means to move one writes the file anew with UPDATE_SNAPSHOTS=1, and says so in its message.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import cliff_programs
import costed_programs
import pytest
from polyfabric.language.traced import TracedProgram
from polyfabric.run import execution

FILE = Path(__file__).with_name("operation_counts.json")
PROGRAMS = {
    name: value
    for programs in (costed_programs, cliff_programs)
    for name, value in vars(programs).items()
    if isinstance(value, TracedProgram)
}
TOLERANCE = 0.03


def counted(program: TracedProgram) -> dict[str, int]:
    """The operations of the lowered program, and the bytes of its keys."""
    plan = execution.plan(program)
    facts = plan.facts_of_cost()
    if "limb_operations" in facts:
        counts = {name: facts["operations"].get(name, 0) for name in ("mod_down", "mod_up", "inner_product")}
        return {**facts["limb_operations"], **counts, "key_bytes": facts["key_bytes"]}
    ring_degree = plan.parameter_figures["ring_degree"]
    return {**plan.kernel.counts(), "ring_degree": ring_degree, "key_bytes": facts["server_key_bytes"]}


def test_every_program_takes_its_recorded_operations() -> None:
    found = {name: counted(program) for name, program in PROGRAMS.items()}
    if os.environ.get("UPDATE_SNAPSHOTS") == "1":
        FILE.write_text(json.dumps(found, indent=2) + "\n")
    recorded = json.loads(FILE.read_text())
    assert found.keys() == recorded.keys(), "set UPDATE_SNAPSHOTS=1 for programs that are new"
    moved = [
        f"{program}: {name} {recorded[program][name]} → {count}"
        for program, counts in found.items()
        for name, count in counts.items()
        if count != pytest.approx(recorded[program][name], rel=TOLERANCE)
    ]
    assert not moved, "\n".join(moved)


@pytest.mark.parametrize(
    ("program", "by_hand", "most"),
    [
        ("tfhe_square", "tfhe_product", 0.7),
        ("tfhe_distance", "tfhe_square", 1.2),
        ("tfhe_choice", "tfhe_choice_of_digits", 1.2),
        ("tfhe_assignment", "tfhe_assignment_by_hand", 1.2),
        ("tfhe_crc_of_bytes", "tfhe_crc_of_bits", 1.2),
    ],
)
def test_a_program_costs_about_as_much_as_its_form_by_hand(program: str, by_hand: str, most: float) -> None:
    costs = [execution.plan(PROGRAMS[name]).kernel.multiplications for name in (program, by_hand)]
    assert costs[0] <= most * costs[1]
