"""Plans of applications in a paper's tables, with a set and an order that are not the program's defaults."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from ..accelerators.machine import Machine
from ..errors import SecurityWarning
from ..language.program import TfheProgram
from ..schemes.options import PlanOptions
from ..schemes.tfhe import TfhePlan, named_parameters


@contextmanager
def unwarned() -> Iterator[None]:
    """Accepts the papers' sets of less than 128 bits. Wraps all threads: warning filters are per process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        yield


def element_plan(program: TfheProgram, name: str, order: str, machine: Machine | None) -> TfhePlan:
    """The plan with the key switch before or after a lookup, for timing at any noise."""
    parameters = named_parameters(name, warn=False)
    options = PlanOptions(parameters=parameters, machine=machine, max_failure=0.0)
    return TfhePlan.make(program, options, key_switch=order)
