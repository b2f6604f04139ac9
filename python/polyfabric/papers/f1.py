"""F1's table 3, figure 9 and table 5 for each program, and figure 10 for one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..accelerators import machine as accelerators
from ..apps import bgv_bootstrapping, ckks_bootstrapping
from ..apps.f1_programs import PROGRAMS as F1_PROGRAMS
from ..errors import Error
from ..host import units
from ..host.progress import ProgressHook
from ..language.slot_program import SlotProgram
from ..run.execution import plan
from ..schemes.rns import RnsPlan
from .f1_figures import (
    FIGURE_10,
    beside_figure_9,
    figure_9,
    figure_10,
    figure_11,
    ideal_registers,
    table_5,
    table_5_means,
    units_at_work,
    utilisation,
)
from .f1_tables import predictions as predictions
from .f1_worth import AUTHORS_PROGRAM, TIME_UNKNOWN, UNKNOWN, of_program
from .plans import unwarned
from .rows import Reading, failed, of
from .side_by_side import Memory, Step, side_by_side


def applications(progress: ProgressHook | None) -> list[dict[str, Any]]:
    """F1's table 3, the time of one run of each program from the first load to the last store, and figure 9 and table 5 of each. Additional rows: the
    compiler's key switch, some selected by name, the crossbars' other reading, and the memory traffic alone."""
    machine = accelerators.load("f1")
    steps = [
        Step(
            f"compile {_name(cell).replace('_', '-')}",
            partial(_of_program, cell, build, parameters, machine),
            Memory.ALL if cell in _TOO_LARGE else Memory.LITTLE,
        )
        for cell, build, parameters in paper_programs()
    ]
    steps.append(Step("machines of other sizes", lambda: _Rows("figure11", figure_11())))
    with unwarned():
        made = side_by_side(steps, progress)
    rows, variants = [row for each in made for row in each.rows], [row for each in made for row in each.variants]
    busy = {each.name: each.busy for each in made if each.busy is not None}
    ideal = {each.name: each.ideal for each in made if each.ideal is not None}
    return rows + utilisation(busy) + ideal_registers(ideal) + variants + table_5_means(variants)


@dataclass(frozen=True)
class _Rows:
    """Results for a program of table 3."""

    name: str
    """Its name in the cells of the paper's other tables."""
    rows: list[dict[str, Any]]
    variants: list[dict[str, Any]] = field(default_factory=list)
    """The rows of table 5."""
    busy: tuple[str, float] | None = None
    """For a timed program: its name here, and the share of busy units."""
    ideal: tuple[str, float] | None = None
    """For one that is compiled again: its name here, and the percent that it takes longer than with ideal register files."""


def _of_program(cell: str, build: Callable[[], SlotProgram], parameters: str, machine: accelerators.Machine) -> _Rows:
    """The rows of one of table 3's programs."""
    name = _name(cell)
    try:
        program, planned, report = _compiled(build(), parameters, machine, "set")
    except Error as error:
        lost = [cell, *beside_figure_9(name), *(["section8.highest"] if name == FIGURE_10 else [])]
        return _Rows(name, [failed(each, error) for each in lost])
    reason = _composition(planned, report)
    reason = f"{TIME_UNKNOWN}; {reason}" if name in UNKNOWN else reason
    rows = [
        of(of_program(name, cell, report["seconds"] * 1e3, reason), program=program.name, what="time"),
        _memory_alone(cell, program.name, report),
        *_compilers_choice(cell, program, parameters, machine),
    ]
    for key_switch in _BY_NAME.get(cell, ()):
        rows += _by_name(cell, program, parameters, machine, key_switch)
    if cell not in _TOO_LARGE:
        rows.append(_other_crossbars(cell, program, parameters))
    rows += figure_9(name, program.name, report)
    if name == FIGURE_10:
        rows += figure_10(machine, program.name, machine.simulate(planned))
    busy = (program.name, units_at_work(machine, report))
    if cell in _TOO_LARGE:
        return _Rows(name, rows, busy=busy)
    variants = table_5(name, machine, planned, report["seconds"])
    *_, of_ideal = _compiled(program, parameters, machine.varied(memories__register_file__accesses=_IDEAL), "set")
    longer = 100.0 * (report["seconds"] / of_ideal["seconds"] - 1.0)
    return _Rows(name, rows, variants, busy, (program.name, longer))


def _name(cell: str) -> str:
    """A program's name in the cells of the paper's other tables."""
    return cell.removeprefix("table3.")


def paper_programs() -> list[tuple[str, Callable[[], SlotProgram], str]]:
    """Table 3's cells, each with its program and the parameter set for its timing."""
    whole = [(program.cell, program) for program in F1_PROGRAMS.values() if program.cell]
    return [
        *((cell, program.build, program.parameters) for cell, program in whole),
        ("table3.bgv_bootstrapping", bgv_bootstrapping.bgv_bootstrapping, bgv_bootstrapping.PAPER_SET),
        ("table3.ckks_bootstrapping", ckks_bootstrapping.ckks_bootstrapping, ckks_bootstrapping.PAPER_SET),
    ]


def _compiled(
    program: SlotProgram, parameters: str, machine: accelerators.Machine, key_switch: str
) -> tuple[SlotProgram, RnsPlan, dict[str, Any]]:
    """A program with its plan for a machine and the report of its schedule there."""
    planned = to_be_timed(program, parameters, machine, key_switch)
    # Without its schedule, which takes gigabytes.
    return program, planned, machine.simulate(planned).to_dict()


def to_be_timed(program: SlotProgram, parameters: str, machine: accelerators.Machine, key_switch: str) -> RnsPlan:
    """The plan for timing a program with its paper's set, at any security and, if the result is exact, any failure probability."""
    exact = program.scheme == "bgv"
    return plan(program, parameters, machine=machine, key_switch=key_switch, max_failure=0.0 if exact else None)


def _memory_alone(cell: str, program: str, report: dict[str, Any], key_switch: str | None = None) -> dict[str, Any]:
    """An additional row: the time of the program's traffic at the memory's full rate."""
    what = program if key_switch is None else f"{program} with {key_switch}"
    place = ["Table 3", f"{what}: memory traffic alone", "ms"]
    milliseconds = 1e3 * report["seconds"] * report["utilisation"]["hbm"]
    row = of_program(_name(cell), cell, milliseconds, "the time in which its channels are at work", place)
    return of(row, program=program, what="memory alone", key_switch=key_switch)


def _compilers_choice(
    cell: str, program: SlotProgram, parameters: str, machine: accelerators.Machine
) -> list[dict[str, Any]]:
    """Additional rows: the program with the compiler's key switch, and the estimate by which the compiler chooses."""
    place = ["Table 3", f"{program.name}: the compiler's key switch", "ms"]
    fields = {"program": program.name, "what": "compiler's choice"}
    try:
        _, planned, report = _compiled(program, parameters, machine, "auto")
    except Error as error:
        return [of(failed(cell, error, place), **fields)]
    choice, security = planned.facts["key_switch"], planned.facts["parameters"]["security_bits"]
    seconds = {row["name"]: row["seconds"] for row in choice["considered"] if "refused" not in row}
    estimates = [
        f"{row['name']} refused" if "refused" in row else f"{row['name']} {1e3 * row['seconds']:.3g}"
        for row in choice["considered"]
    ]
    reason = (
        f"key switch {choice['name']} by the least estimate (ms): {', '.join(estimates)}; "
        f"{units.security(security)} bits of security; {_composition(planned, report)}"
    )
    made = of(of_program(_name(cell), cell, report["seconds"] * 1e3, reason, place), **fields)
    place = ["Table 3", f"{program.name}: estimate of the compiler's key switch, {choice['name']}", "ms"]
    reason = "of the groups by units, ports and memory, before there is a schedule"
    estimate = of_program(_name(cell), cell, seconds[choice["name"]] * 1e3, reason, place)
    return [made, of(estimate, program=program.name, what="estimate", key_switch=choice["name"])]


_BY_NAME = {
    "table3.bgv_bootstrapping": ("listing1", "d8", "d2", "d1"),
    "table3.ckks_bootstrapping": ("d8", "d2", "d1"),
}
"""Alternatives to the set's key switch, for programs of many limbs: those with few digits reduce the set's security."""


def _by_name(
    cell: str, program: SlotProgram, parameters: str, machine: accelerators.Machine, key_switch: str
) -> list[dict[str, Any]]:
    """Additional rows: time, memory time and hints with a named key switch."""
    what = f"{program.name} with {key_switch}"
    place = ["Table 3", f"{what}: time", "ms"]
    fields = {"program": program.name, "key_switch": key_switch}
    try:
        _, planned, report = _compiled(program, parameters, machine, key_switch)
    except Error as error:
        return [of(failed(cell, error, place), **fields, what="time")]
    security = units.security(planned.facts["parameters"]["security_bits"])
    reason = f"{security} bits of security; {_composition(planned, report)}"
    hints = report["traffic_bytes"]["hints"] / 2**20
    hints_place = ["Table 3", f"{what}: key-switch hints, compulsory", "MiB"]
    return [
        of(of_program(_name(cell), cell, report["seconds"] * 1e3, reason, place), **fields, what="time"),
        _memory_alone(cell, program.name, report, key_switch),
        of(of_program(_name(cell), cell, hints, "each hint once", hints_place), **fields, what="hints"),
    ]


def _other_crossbars(cell: str, program: SlotProgram, parameters: str) -> dict[str, Any]:
    """An additional row: the program if each read of a bank or a register file serves one cluster."""
    place = ["Table 3", f"{program.name}: crossbar=one", "ms"]
    reading: Reading = {"name": "crossbar=one", "evidence": "no section speaks of one read for several clusters"}
    fields = {"program": program.name, "what": "crossbar=one"}
    try:
        _, planned, report = _compiled(program, parameters, accelerators.load("f1", ["crossbar=one"]), "set")
    except Error as error:
        return of(failed(cell, error, place), **fields)
    made_of, readings = _composition(planned, report), [AUTHORS_PROGRAM, reading]
    return of(of_program(_name(cell), cell, report["seconds"] * 1e3, made_of, place, readings), **fields)


_IDEAL = 8
"""Reads or writes a cycle of each bank of an ideal register file: more than all units of a cluster ask for. Banks of the scratchpad have as many."""

_TOO_LARGE = ("table3.lola_cifar",)
"""Cells whose programs are not compiled again for table 5, another reading or additional rows: their schedules take 16 GiB."""


def _composition(planned: RnsPlan, report: dict[str, Any]) -> str:
    """The parts of a program's time: operations, hints, traffic, and the memory traffic alone."""
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
