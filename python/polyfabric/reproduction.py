"""The published figures of a paper beside the model's."""

from __future__ import annotations

import json
import warnings
from typing import Any

from . import _native, machines, slot_execution
from .apps import bgv_bootstrapping, ckks_bootstrapping
from .apps.boosted_trees import xgboost
from .apps.f1_programs import PROGRAMS as F1_PROGRAMS
from .apps.networks import deepcnn, vgg9
from .execution import Plan, SecurityWarning, named_parameters
from .f1_figures import figure_9, predicted, table_5, table_5_means
from .language.program import Program
from .language.slot_program import SlotProgram
from .progress import ProgressHook
from .reports import Report


def reproduction(paper: str, progress: ProgressHook | None = None, *, applications: bool = False) -> Report:
    """Every published figure of a paper with the model's, the deviation, and what kind of figure it is.

    With `applications`, the paper's applications are timed too, which takes minutes.
    """
    timed = _APPLICATIONS[paper](progress) if applications and paper in _APPLICATIONS else []
    rows = json.loads(_native.reproduce(paper, json.dumps(timed), progress))
    return Report("reproduction", {"paper": paper, "rows": rows})


_READING = (
    "set C: the paper names no set for its applications and says that A to C serve the experiments beside table V; of the "
    "three, C meets both cells that are known. First load to last store of one inference, every layer waiting for what it reads"
)


def _table_vi(progress: ProgressHook | None) -> list[dict[str, Any]]:
    """Morphling's table VI: the time of one inference."""
    machine = machines.load("morphling")
    sets = {"A": "morphling-A-t32", "B": "morphling-B", "C": "morphling-C"}
    decisions, trees, shallow = xgboost(leaves=False), xgboost(), deepcnn(20)
    work: list[tuple[str, Program, str, str, str | None, str]] = []
    for name, program in (("xg-boost", decisions), ("deepcnn-20", shallow)):
        work.append((name, program, "C", "calibrated", None, _READING))
        work += [(name, program, other, "predicted", f"set {other}", "the same with another set") for other in "AB"]
    work += [
        (
            "xg-boost",
            trees,
            "C",
            "predicted",
            "leaves too",
            "a look-up more for every leaf whose value is not 0, and key switches: which leaf is reached",
        ),
        ("deepcnn-20", deepcnn(20, taps=None), "C", "predicted", "dense kernels", "every weight is 1 or -1"),
    ]
    work += [(f"deepcnn-{depth}", deepcnn(depth), "C", "predicted", None, _READING) for depth in (50, 100)]
    work.append(("vgg-9", vgg9(), "C", "predicted", None, _READING))
    rows = []
    for done, (name, program, which, kind, beside, reason) in enumerate(work):
        if progress is not None:
            progress(f"simulate {program.name} with set {which}", done, len(work))
        report = machine.simulate(_after(program, sets[which], machine)).to_dict()
        place = ["Table VI", f"{program.name}, {beside}", "s"] if beside else None
        lookups = f"{report['operations']:,} look-ups"
        rows.append(
            {
                "id": f"table6.{name}",
                "beside": place,
                "value": report["seconds"],
                "kind": kind,
                "reason": f"{reason}; {lookups}",
            }
        )
    return rows


def _after(program: Program, name: str, machine: machines.Machine) -> Plan:
    """The plan with the key switch after a look-up, or none where nothing reads a result: to be timed, whatever its noise."""
    parameters = named_parameters(name, warn=False)
    order = "none" if program.name == "xgboost-comparisons" else "after"
    kernel = program.native.lower(parameters, order, machine.native)
    noise = program.native.noise(parameters, order, machine.transform(parameters))
    return Plan(program, parameters, order, kernel, json.loads(noise.to_json()))


def _f1(progress: ProgressHook | None) -> list[dict[str, Any]]:
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


_APPLICATIONS = {"f1": _f1, "morphling": _table_vi}
