"""Compares machines: times one program with one parameter set, or with each machine's own set."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import _native
from ..accelerators import machine as accelerators
from ..accelerators.machine import Kernel, Machine, multiplier_bits
from ..apps import programs
from ..errors import Error, InputError, MachineError, SecurityWarning
from ..host.names import suggestion
from ..host.progress import ProgressHook
from ..reports import Report
from ..run.runnable_programs import Program
from ..schemes.lanes import LanePlan
from ..schemes.options import DERIVED, OWN, PlanOptions
from ..schemes.plan import Plan
from ..schemes.rns import RnsPlan
from ..schemes.tfhe import TfhePlan
from .inputs import CPU, RIGHT, Inputs, here, or_reason, slots_faster

AUTO = "auto"
"""As parameters: each place chooses."""

BATCH = 1920
"""Batch of a built-in TFHE program: long enough to make the ends negligible, and a multiple of the usual batches."""


def compared(
    program: str | Program,
    on: Sequence[str | Path | Machine] = (),
    *,
    parameters: str | Mapping[str, str] | None = None,
    batch: int | None = None,
    readings: Sequence[str] = (),
    widths: str = OWN,
    progress: ProgressHook | None = None,
) -> Report:
    """See `studies.compare`."""
    on_slots = programs.is_on_slots(program)
    work = None if batch is None else Inputs.of(program, batch)
    if CPU in on and work is None:
        raise InputError(
            f"{CPU}: the time of this computer is estimated next to machines for batches of your own programs on integers; add --batch (batch=), or "
            "ask for the program's own estimate, `polyfabric run PROGRAM --cost`"
        )
    chosen = [_load(machine, readings) for machine in on if machine != CPU]
    if not on:
        chosen = _all_of(None if work else on_slots, readings)
    _expect_known(readings, chosen)
    labels = _labels(chosen)
    sets = _sets(parameters, labels if work is None else [*labels, CPU])
    if widths == DERIVED and on_slots:
        raise InputError(
            "--widths derived: widths are derived for TFHE; products of residues are exact, omit the option"
        )
    rows: list[dict[str, Any]] = []
    for done, (machine, label) in enumerate(zip(chosen, labels, strict=True)):
        if progress is not None:
            progress("compare", done, len(chosen))
        what: str | Program | Inputs = work or program
        own = {"machine": label, **_row(machine, what, sets[label], batch, on_slots=on_slots)}
        rows.append(own)
        if widths == DERIVED and not machine.on_slots:
            rows.append({"machine": label, **_derived_row(machine, what, sets[label], batch, own)})
    if work is not None and (not on or CPU in on):
        rows += here(work, sets[CPU])
    if progress is not None:
        progress("compare", len(chosen), len(chosen))
    if all("error" in row for row in rows):
        # Report a reason that several machines share only once.
        reasons: dict[str, dict[str, None]] = {}
        for row in rows:
            reasons.setdefault(row["error"], {})[row["machine"]] = None
        reason = "; ".join(f"{', '.join(names)}: {error}" for error, names in reasons.items())
        raise MachineError(f"no machine has a result; {reason}")
    data = {"program": program if isinstance(program, str) else program.name, "widths": widths, "machines": rows}
    if work is not None:
        for row in rows:
            row["right"] = "error" not in row and row["log2_failure"] <= RIGHT
        data |= {"batch": work.at_once, "slots_faster": slots_faster(rows)}
    return Report("comparison", data)


def _all_of(on_slots: bool | None, readings: Sequence[str]) -> list[Machine]:
    """The machines for CKKS and BGV, those for TFHE, or all."""
    machines = (_load(name, readings) for name in accelerators.names())
    return [machine for machine in machines if on_slots in (None, machine.on_slots)]


def _load(machine: str | Path | Machine, readings: Sequence[str]) -> Machine:
    """Loads the machine with the readings that it has."""
    facts = accelerators.chosen(machine).readings
    return accelerators.chosen(machine, [reading for reading in readings if reading.partition("=")[0] in facts])


def _expect_known(readings: Sequence[str], chosen: Sequence[Machine]) -> None:
    known = sorted({fact for machine in chosen for fact in machine.readings})
    for reading in readings:
        fact = reading.partition("=")[0]
        if fact not in known:
            raise InputError(
                f"--reading {reading}: none of these machines has the reading {fact!r}; they have {', '.join(known) or 'none'}"
            )


def _labels(chosen: Sequence[Machine]) -> list[str]:
    """A label for each machine: its name, or its file if several have the same name."""
    names = [machine.name for machine in chosen]
    return [machine.argument if names.count(machine.name) > 1 else machine.name for machine in chosen]


def _sets(parameters: str | Mapping[str, str] | None, names: Sequence[str]) -> dict[str, str | None]:
    """The parameter set of each place; `None` where it chooses."""
    if not isinstance(parameters, Mapping):
        return dict.fromkeys(names, None if parameters == AUTO else parameters)
    for name in parameters:
        if name not in names:
            raise InputError(
                f"--params {name}={parameters[name]}: {name!r} is not one of the machines; {suggestion(name, names)}"
            )
    return {name: None if parameters.get(name) == AUTO else parameters.get(name) for name in names}


def _row(
    machine: Machine, program: str | Program | Inputs, parameters: str | None, batch: int | None, *, on_slots: bool
) -> dict[str, Any]:
    """The machine's figures for the program, or the reason why there are none."""

    def timed() -> dict[str, Any]:
        if isinstance(program, Inputs):
            return _timed_inputs(machine, program, parameters)
        machine.expect_executes(program if isinstance(program, str) else program.name, on_slots=on_slots)
        return _timed(machine, program, parameters, batch)

    row = {"title": machine.to_dict()["title"], "widths_are": OWN, "estimated": False}
    return or_reason(row, timed, parameters)


def _timed(machine: Machine, program: str | Program, parameters: str | None, batch: int | None) -> dict[str, Any]:
    """Throughput of a long run and latency of a short one; for a whole program, both of one run."""
    in_batches = program in _native.built_in_names()
    planned = _planned(program, parameters, (batch or BATCH) if in_batches else batch, machine)
    found = machine.simulate(planned).to_dict()
    if in_batches:
        alone = machine.simulate(_planned(program, parameters, 1, machine)).to_dict()
        rate, of, latency = found["throughput_per_s"], found["operation"], alone["latency_s"]
    elif program in programs.MICROBENCHMARKS:
        count = (batch or programs.MICROBENCHMARK_BATCH) * programs.MICROBENCHMARK_ROUNDS
        alone = machine.simulate(_planned(program, parameters, 1, machine)).to_dict()
        rate, of, latency = count / found["seconds"], f"{program} operations", alone["latency_s"]
    else:
        rate, of, latency = 1 / found["seconds"], "runs", found["latency_s"]
    return _figures(machine, planned, found, rate, of, latency)


def _timed_inputs(machine: Machine, work: Inputs, parameters: str | None) -> dict[str, Any]:
    """Throughput of a batch, and latency of the smallest: of one input with TFHE, of a ciphertext with CKKS."""
    program, count = work.on(machine)
    planned = _planned(program, parameters, None, machine)
    found = machine.simulate(planned).to_dict()
    if machine.on_slots:
        few = _planned(work.program.in_batches(1), parameters, None, machine)
        times = work.together(
            planned, few, lambda own: (found if own is planned else machine.simulate(own))["latency_s"]
        )
    else:
        alone = machine.simulate(_planned(work.program, found["parameters"], None, machine))
        rate, latency = count / found["seconds"], alone["latency_s"]
        # Units are idle until enough inputs keep them busy.
        busy = max(1.0, rate * latency)
        idle = [(busy, latency)] if busy > 1 else []
        times = work.one_by_one([(1, latency), *idle, (2 * busy, 2 * busy / rate)])
    return {**_figures(machine, planned, found, times["throughput_per_s"], "inputs", times["latency_s"]), **times}


def _figures(
    machine: Machine, planned: Plan | Kernel, found: dict[str, Any], rate: float, of: str, latency: float
) -> dict[str, Any]:
    """The row of a simulation."""
    bandwidth = found["off_chip_bytes_per_s"] / 1e9
    return {
        "parameters": found["parameters"],
        "operation": of,
        "operations": found["operations"],
        "throughput_per_s": rate,
        "latency_s": latency,
        "area_mm2": found["area_mm2"],
        "power_w": found["power_w"],
        "off_chip_gb_per_s": bandwidth,
        "per_mm2": _over(rate, found["area_mm2"]),
        "per_watt": _over(rate, found["power_w"]),
        "per_gb_per_s": _over(rate, bandwidth),
        "bound_by": found["critical_resource"],
        "efficiency": found["efficiency"],
        "readings": found["readings"],
        "traffic_bytes": found["traffic_bytes"],
        "slots": planned.program.slots if isinstance(planned, RnsPlan) else None,
        **(_arithmetic(machine, planned) if isinstance(planned, TfhePlan) else {}),
        **({"log2_failure": planned.log2_failure, "widths": None} if isinstance(planned, LanePlan) else {}),
    }


def _planned(program: str | Program, parameters: str | None, batch: int | None, machine: Machine) -> Plan | Kernel:
    """Plans the program for timing on a machine, with any noise and security."""
    if program in programs.MICROBENCHMARKS:
        return programs.microbenchmark(program, parameters, batch or programs.MICROBENCHMARK_BATCH, machine)
    if program in _native.built_in_names():
        return programs.timed(program, parameters, batch or 1, machine)
    options = PlanOptions(parameters=parameters, machine=machine, max_failure=0.0, security=0)
    return programs.planned_to_time(program, options, batch)


def _over(rate: float, amount: float | None) -> float | None:
    """The ratio, unknown if the amount is."""
    return rate / amount if amount else None


def _arithmetic(machine: Machine, planned: TfhePlan) -> dict[str, Any]:
    """The machine's widths for a set, and the failure probability."""
    widths = machine.widths(planned.parameters)
    return {
        "log2_failure": planned.noise.get("log2_failure_of_one", planned.noise["log2_failure"]),
        "widths": widths,
        "multiplier_bits": None if widths is None else multiplier_bits(planned.parameters, widths),
    }


def _derived_row(
    machine: Machine, program: str | Program | Inputs, parameters: str | None, batch: int | None, own: dict[str, Any]
) -> dict[str, Any]:
    """The machine's row with widths derived for the set, and their cost relative to its own."""
    base = {"title": own["title"], "widths_are": DERIVED}
    name = parameters or own.get("parameters")
    if name is None:
        return {**base, "error": own["error"]}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecurityWarning)
            found = machine.with_derived_widths(_native.TfheParameters.named(name))
    except Error as error:
        return {**base, "error": str(error)}
    row = {**_row(found, program, parameters, batch, on_slots=False), **base}
    if "error" in row:
        return row
    if "error" not in own and row["widths"] == own["widths"]:
        return row
    # Area and power in the file belong to its own widths; no law scales them.
    row |= dict.fromkeys(("area_mm2", "power_w", "per_mm2", "per_watt"))
    if "error" not in own:
        key = "bootstrap_key"
        row["over_own"] = {
            "throughput": row["throughput_per_s"] / own["throughput_per_s"],
            "multiplier_bits": _over(row["multiplier_bits"], own["multiplier_bits"]),
            "key_traffic": _over(row["traffic_bytes"][key], own["traffic_bytes"][key]),
        }
    return row
