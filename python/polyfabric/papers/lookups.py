"""Schedules of built-in TFHE programs, as papers time them: lookups alone (`pbs`), and with a key switch each (`pbs+ks`)."""

from __future__ import annotations

from typing import Any

from .. import _native
from ..accelerators.machine import Machine
from ..schemes.tfhe import named_parameters


def kernel(machine: Machine, name: str, parameters: str, batch: int) -> _native.TfheKernel:
    """The kernel program in the form that the machine's mapper requires."""
    return _native.built_in(name, named_parameters(parameters, warn=False), batch, machine.native)[1]


def simulated(machine: Machine, name: str, parameters: str, batch: int) -> dict[str, Any]:
    """The report of its checked schedule."""
    return machine.simulate(kernel(machine, name, parameters, batch)).to_dict()
