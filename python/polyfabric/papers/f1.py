"""F1's table 3, with figure 9 and table 5 of each program."""

from __future__ import annotations

import warnings
from typing import Any

from .. import machines, slot_execution
from ..apps import bgv_bootstrapping, ckks_bootstrapping
from ..apps.f1_programs import PROGRAMS as F1_PROGRAMS
from ..execution import SecurityWarning
from ..language.slot_program import SlotProgram
from ..progress import ProgressHook
from .f1_figures import figure_9, predicted, table_5, table_5_means


def applications(progress: ProgressHook | None) -> list[dict[str, Any]]:
    """F1's table 3, the time of one run of each program from the first load to the last store, and figure 9 and table 5 of each."""
    machine = machines.load("f1")
    whole = [(program.cell, program) for program in F1_PROGRAMS.values() if program.cell]
    programs = [(cell, program.build, program.parameters) for cell, program in whole]
    programs += [
        ("table3.bgv_bootstrapping", bgv_bootstrapping.bgv_bootstrapping, bgv_bootstrapping.PAPER_SET),
        ("table3.ckks_bootstrapping", ckks_bootstrapping.ckks_bootstrapping, ckks_bootstrapping.PAPER_SET),
    ]
    rows, variants = [], []
    for done, (cell, build, parameters) in enumerate(programs):
        program = build()
        if progress is not None:
            progress(f"compile {program.name}", done, len(programs))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecurityWarning)
            planned = slot_execution.plan(program, parameters, machine=machine, key_switch="set")
        report = machine.simulate(planned).to_dict()
        rows.append(predicted(cell, report["seconds"] * 1e3, _composition(planned, report)))
        rows.append(_compilers_choice(cell, program, parameters, machine))
        rows += figure_9(program.name, report)
        if cell not in _TOO_LARGE:
            variants += table_5(cell.removeprefix("table3."), machine, planned, report["seconds"])
    return rows + variants + table_5_means(variants)


def _compilers_choice(cell: str, program: SlotProgram, parameters: str, machine: machines.Machine) -> dict[str, Any]:
    """The row beside a program's: the same with the key switch that the compiler chooses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        planned = slot_execution.plan(program, parameters, machine=machine, key_switch="auto")
    report = machine.simulate(planned).to_dict()
    choice, security = planned.facts["key_switch"], planned.facts["parameters"]["security_bits"]
    estimates = [
        f"{row['name']} refused" if "refused" in row else f"{row['name']} {1e3 * row['seconds']:.3g}"
        for row in choice["considered"]
    ]
    reason = (
        f"key switch {choice['name']} by the least estimate (ms): {', '.join(estimates)}; "
        f"{security:.0f} bits of security; {_composition(planned, report)}"
    )
    place = ["Table 3", f"{program.name}: the compiler's key switch", "ms"]
    return predicted(cell, report["seconds"] * 1e3, reason, place)


_TOO_LARGE = ("table3.lola_cifar",)
"""Cells whose programs are not compiled again for table 5."""


def _composition(planned: slot_execution.SlotPlan, report: dict[str, Any]) -> str:
    """What a program's time is made of: operations, hints, traffic, and what memory alone would take."""
    uses = planned.facts["key_switches"]
    hints, switches = len({use["key"] for use in uses}), sum(use["count"] for use in uses)
    mebibytes = {name: size / 2**20 for name, size in report["traffic_bytes"].items() if size >= 2**19}
    traffic = ", ".join(f"{name.replace('_', ' ')} {size:,.0f}" for name, size in mebibytes.items())
    return (
        f"program {planned.program.name} with {planned.parameters}: {planned.facts['limb_operations']['ntts']:,} "
        f"transforms, {switches:,} key switches with {hints} hints; MiB to memory: {traffic}; the bound, set by "
        f"{report['critical_resource']}, is {report['lower_bound_cycles'] / report['cycles']:.0%} of it. The authors' program "
        "is not public"
    )
