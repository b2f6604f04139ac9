"""Plans of applications that a paper's tables have, with a set and an order that its program would not choose by itself."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import SecurityWarning
from ..language.program import Program
from ..machines import Machine
from ..schemes.options import PlanOptions
from ..schemes.tfhe import ElementPlan, named_parameters


@contextmanager
def unwarned() -> Iterator[None]:
    """The papers' sets of less than 128 bits are taken as they are. Around all threads: what is ignored is the whole process'."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        yield


def element_plan(program: Program, name: str, order: str, machine: Machine | None) -> ElementPlan:
    """The plan with the key switch before or after a look-up, to be timed whatever its noise."""
    parameters = named_parameters(name, warn=False)
    options = PlanOptions(parameters=parameters, machine=machine, max_failure=0.0)
    return ElementPlan.make(program, options, key_switch=order)
