"""Do plans have exactly the facts that `facts.py` declares? The native module writes them as JSON."""

from __future__ import annotations

from typing import Any, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

import costed_programs
import pytest
from polyfabric.language.traced import TracedProgram
from polyfabric.run import execution
from polyfabric.schemes.facts import ElementMemory, ElementNoise, SlotFacts
from polyfabric.schemes.rns import RnsPlan

CASES = [
    (costed_programs.ckks_polynomial, {}),
    (costed_programs.bgv_polynomial, {}),
    (costed_programs.tfhe_lookups, {}),
    (costed_programs.tfhe_one_lookup, {"circuit_privacy": 6}),
]


def differences(value: Any, declared: Any, place: str) -> list[str]:
    """Where keys of `value` differ from those that `declared` has, at any depth."""
    if get_origin(declared) is list:
        (one,) = get_args(declared)
        return [line for at, item in enumerate(value) for line in differences(item, one, f"{place}[{at}]")]
    if not is_typeddict(declared):
        return []
    hints = get_type_hints(declared)
    required = {
        key
        for key, hint in get_type_hints(declared, include_extras=True).items()
        if get_origin(hint) is not NotRequired
    }
    found = [f"{place}: {key} is not declared" for key in value.keys() - hints.keys()]
    found += [f"{place}: {key} is missing" for key in required - value.keys()]
    common = value.keys() & hints.keys()
    return found + [line for key in common for line in differences(value[key], hints[key], f"{place}.{key}")]


@pytest.mark.parametrize(("program", "options"), CASES, ids=lambda case: getattr(case, "name", ""))
def test_a_plan_has_the_declared_facts(program: TracedProgram, options: dict[str, Any]) -> None:
    plan = execution.plan(program, **options)
    if isinstance(plan, RnsPlan):
        assert not differences(plan.facts, SlotFacts, "facts")
    else:
        assert not differences(plan.noise, ElementNoise, "noise") + differences(plan.memory, ElementMemory, "memory")
