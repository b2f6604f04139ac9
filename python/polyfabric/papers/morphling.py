"""Morphling's table VI: the time of one inference."""

from __future__ import annotations

import json
from typing import Any

from .. import machines
from ..apps.boosted_trees import xgboost
from ..apps.networks import deepcnn, vgg9
from ..errors import Error
from ..execution import Plan, named_parameters
from ..language.program import Program
from ..progress import ProgressHook
from .rows import failed

_READING = (
    "set C: the paper names no set for its applications and says that A to C serve the experiments beside table V; of the "
    "three, C meets both cells that are known. First load to last store of one inference, every layer waiting for what it reads"
)


def applications(progress: ProgressHook | None) -> list[dict[str, Any]]:
    """Morphling's table VI: the time of one inference."""
    machine = machines.load("morphling")
    sets = {"A": "morphling-A-t32", "B": "morphling-B", "C": "morphling-C"}
    decisions, trees, shallow = xgboost(leaves=False), xgboost(), deepcnn(20)
    work: list[tuple[str, Program, str, str, str | None, str]] = []
    for name, program in (("xg-boost", decisions), ("deepcnn-20", shallow)):
        work.append((name, program, "C", "calibrated", None, _READING))
        work += [
            (name, program, other, "predicted_under_reading", f"set {other}", "the same with another set")
            for other in "AB"
        ]
    work += [
        (
            "xg-boost",
            trees,
            "C",
            "predicted_under_reading",
            "leaves too",
            "a look-up more for every leaf whose value is not 0, and key switches: which leaf is reached",
        ),
        (
            "deepcnn-20",
            deepcnn(20, taps=None),
            "C",
            "predicted_under_reading",
            "dense kernels",
            "every weight is 1 or -1",
        ),
    ]
    work += [
        (f"deepcnn-{depth}", deepcnn(depth), "C", "predicted_under_reading", None, _READING) for depth in (50, 100)
    ]
    work.append(("vgg-9", vgg9(), "C", "predicted_under_reading", None, _READING))
    rows = []
    for done, (name, program, which, kind, beside, reason) in enumerate(work):
        if progress is not None:
            progress(f"simulate {program.name} with set {which}", done, len(work))
        place = ["Table VI", f"{program.name}, {beside}", "s"] if beside else None
        try:
            report = machine.simulate(_after(program, sets[which], machine)).to_dict()
        except Error as error:
            rows.append(failed(f"table6.{name}", error, place))
            continue
        readings = [] if kind == "calibrated" else [{"name": f"set {which}", "evidence": _OF_A_SET[which]}]
        found = {
            "id": f"table6.{name}",
            "beside": place,
            "value": report["seconds"],
            "kind": kind,
            "readings": readings,
        }
        rows.append({**found, "reason": f"{reason}; {report['operations']:,} look-ups"})
    return rows


_OF_A_SET = {
    "A": "section VI says that A to C serve the experiments beside table V",
    "B": "section VI says that A to C serve the experiments beside table V",
    "C": "section VI says that A to C serve the experiments beside table V; of them it was chosen to meet the two known cells",
}


def _after(program: Program, name: str, machine: machines.Machine) -> Plan:
    """The plan with the key switch after a look-up, or none where nothing reads a result: to be timed, whatever its noise."""
    parameters = named_parameters(name, warn=False)
    order = "none" if program.name == "xgboost-comparisons" else "after"
    kernel = program.native.lower(parameters, order, machine.native)
    noise = program.native.noise(parameters, order, machine.transform(parameters))
    return Plan(program, parameters, order, kernel, json.loads(noise.to_json()))
