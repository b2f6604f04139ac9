"""Plans of applications on elements that a paper's tables have, with a set and an order that its program would not choose by itself."""

from __future__ import annotations

from ..language.program import Program
from ..machines import Machine
from ..schemes.elements import ElementPlan, named_parameters
from ..schemes.options import PlanOptions


def element_plan(program: Program, name: str, order: str, machine: Machine | None) -> ElementPlan:
    """The plan with the key switch before or after a look-up, to be timed whatever its noise."""
    parameters = named_parameters(name, warn=False)
    options = PlanOptions(parameters=parameters, machine=machine, max_failure=0.0)
    return ElementPlan.make(program, options, key_switch=order)
