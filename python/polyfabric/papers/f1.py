"""F1's table 3, with figure 9 and table 5 of each program."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .. import machines
from ..apps import bgv_bootstrapping, ckks_bootstrapping
from ..apps.f1_programs import PROGRAMS as F1_PROGRAMS
from ..computer import give_memory_back
from ..errors import Error, SecurityWarning
from ..execution import plan
from ..language.slot_program import SlotProgram
from ..progress import ProgressHook
from ..reports import units
from ..schemes.slots import SlotPlan
from .f1_figures import AUTHORS_PROGRAM, beside_figure_9, figure_9, table_5, table_5_means, units_at_work, utilisation
from .rows import failed, predicted


def applications(progress: ProgressHook | None) -> list[dict[str, Any]]:
    """F1's table 3, the time of one run of each program from the first load to the last store, and figure 9 and table 5 of each."""
    machine = machines.load("f1")
    rows, variants = [], []
    busy: dict[str, float] = {}
    programs = paper_programs()
    for done, (cell, build, parameters) in enumerate(programs):
        give_memory_back()
        name = cell.removeprefix("table3.")
        if progress is not None:
            progress(f"compile {name.replace('_', '-')}", done, len(programs))
        try:
            program, planned, report = _compiled(build(), parameters, machine, "set")
        except Error as error:
            lost = [cell, *beside_figure_9(name)]
            rows += [failed(each, error) for each in lost]
            continue
        rows.append(predicted(cell, report["seconds"] * 1e3, _composition(planned, report), readings=[AUTHORS_PROGRAM]))
        rows.append(_compilers_choice(cell, program, parameters, machine))
        rows += figure_9(name, program.name, report)
        busy[program.name] = units_at_work(machine, report)
        if cell not in _TOO_LARGE:
            variants += table_5(name, machine, planned, report["seconds"])
    return rows + utilisation(busy) + variants + table_5_means(variants)


def paper_programs() -> list[tuple[str, Callable[[], SlotProgram], str]]:
    """Table 3's cells, each with its program and the parameter set that it is timed with."""
    whole = [(program.cell, program) for program in F1_PROGRAMS.values() if program.cell]
    return [
        *((cell, program.build, program.parameters) for cell, program in whole),
        ("table3.bgv_bootstrapping", bgv_bootstrapping.bgv_bootstrapping, bgv_bootstrapping.PAPER_SET),
        ("table3.ckks_bootstrapping", ckks_bootstrapping.ckks_bootstrapping, ckks_bootstrapping.PAPER_SET),
    ]


def _compiled(
    program: SlotProgram, parameters: str, machine: machines.Machine, key_switch: str
) -> tuple[SlotProgram, SlotPlan, dict[str, Any]]:
    """A program with its plan for a machine and the report of its schedule there."""
    planned = to_be_timed(program, parameters, machine, key_switch)
    return program, planned, machine.simulate(planned).to_dict()


def to_be_timed(program: SlotProgram, parameters: str, machine: machines.Machine, key_switch: str) -> SlotPlan:
    """The plan of a program that is timed with its paper's set, whatever its security and, where the result is exact, how often it fails."""
    exact = program.scheme == "bgv"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        return plan(program, parameters, machine=machine, key_switch=key_switch, max_failure=0.0 if exact else None)


def _compilers_choice(cell: str, program: SlotProgram, parameters: str, machine: machines.Machine) -> dict[str, Any]:
    """The row beside a program's: the same with the key switch that the compiler chooses."""
    place = ["Table 3", f"{program.name}: the compiler's key switch", "ms"]
    try:
        _, planned, report = _compiled(program, parameters, machine, "auto")
    except Error as error:
        return failed(cell, error, place)
    choice, security = planned.facts["key_switch"], planned.facts["parameters"]["security_bits"]
    estimates = [
        f"{row['name']} refused" if "refused" in row else f"{row['name']} {1e3 * row['seconds']:.3g}"
        for row in choice["considered"]
    ]
    reason = (
        f"key switch {choice['name']} by the least estimate (ms): {', '.join(estimates)}; "
        f"{units.security(security)} bits of security; {_composition(planned, report)}"
    )
    return predicted(cell, report["seconds"] * 1e3, reason, place, readings=[AUTHORS_PROGRAM])


_TOO_LARGE = ("table3.lola_cifar",)
"""Cells whose programs are not compiled again for table 5."""


def _composition(planned: SlotPlan, report: dict[str, Any]) -> str:
    """What a program's time is made of: operations, hints, traffic, and what memory alone would take."""
    uses = planned.facts["key_switches"]
    hints, switches = len({use["key"] for use in uses}), sum(use["count"] for use in uses)
    mebibytes = {name: size / 2**20 for name, size in report["traffic_bytes"].items() if size >= 2**19}
    traffic = ", ".join(f"{name.replace('_', ' ')} {size:,.0f}" for name, size in mebibytes.items())
    fails = (
        f"; a run fails with a probability of 2^{planned.log2_failure:.1f}" if planned.program.scheme == "bgv" else ""
    )
    return (
        f"program {planned.program.name} with {planned.parameters}: {planned.facts['limb_operations']['ntts']:,} "
        f"transforms, {switches:,} key switches with {hints} hints; MiB to memory: {traffic}; the bound, set by "
        f"{report['critical_resource']}, is {report['lower_bound_cycles'] / report['cycles']:.0%} of it{fails}"
    )
