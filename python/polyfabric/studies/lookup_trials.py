"""Runs lookups on machines, set by set: correctness with a machine's own arithmetic, and sufficient widths."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from .. import _native
from ..accelerators import machine as accelerators
from ..accelerators.machine import Machine
from ..errors import Error, SecurityWarning
from ..host.progress import ProgressHook
from ..reports import Report
from ..schemes.options import DERIVED, OWN
from ..schemes.tfhe import named_parameters

TOO_COARSE = -40.0
"""log2 of the failure probability above which sufficient widths are derived."""


def trials(
    names: Sequence[str],
    set_name: str | None = None,
    *,
    lookups: int = 1,
    bits: int | None = None,
    widths: str = OWN,
    progress: ProgressHook | None = None,
) -> Report:
    """Replays `lookups` lookups of every set over each machine's torus, or of one set, with fresh keys and ciphertexts.

    Messages have `bits` bits, or as many as a set supports on the machine. An unsupported set has its reason. With `widths="derived"`, each
    machine has the widths derived for the set.
    """
    rows = []
    for name in names:
        machine = accelerators.load(name)
        sets = [set_name] if set_name is not None else [found["set"] for found in machine.findings()]
        for done, each in enumerate(sets):
            if progress is not None:
                progress(f"lookups on {machine.name}", done, len(sets))
            rows.append({"machine": machine.name, "set": each, **_trial(machine, each, lookups, bits, widths)})
    return Report("trials", {"widths": widths, "trials": rows})


def _trial(machine: Machine, name: str, lookups: int, bits: int | None, widths: str) -> dict[str, Any]:
    parameters = named_parameters(name, warn=False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecurityWarning)
            chosen = machine.with_derived_widths(parameters) if widths == DERIVED else machine
            found = chosen.trial(parameters, lookups, bits)
    except Error as error:
        return {"error": str(error)}
    if widths == OWN and found["log2_failure"] > TOO_COARSE:
        found["suffices"] = _suffices(machine, parameters)
    return {**found, "bits": chosen.widths(parameters)}


def _suffices(machine: Machine, parameters: _native.TfheParameters) -> dict[str, Any]:
    """Sufficient widths with their failure probability; or why there are none."""
    try:
        found, _ = machine.derive_widths(parameters)
    except Error as error:
        return {"error": str(error)}
    bits = {form["part"]: form["width"] for form in found["widths"]["formats"]}
    return {**bits, "log2_failure": found["log2_failure"]}
