"""F1's figures 9 and 10 and table 5 for one program: traffic and power by part, utilization over time, and the cost of slower units or another
scheduler; and figure 11, performance against area."""

from __future__ import annotations

import json
from itertools import pairwise
from statistics import fmean, geometric_mean
from typing import TYPE_CHECKING, Any

from ..accelerators.machine import Machine
from ..errors import Error, IntractableError, MachineError
from ..studies.exploration import Point, Task, evaluate
from .f1_worth import CROSSBAR, PROGRAM, UNKNOWN, of_program, of_programs
from .rows import Reading, failed, of, predicted, untold

if TYPE_CHECKING:
    from .. import _native
    from ..reports import Report
    from ..schemes.rns import RnsPlan

_CLASSES = {
    "hints": "key-switch hints, compulsory",
    "hints_again": "key-switch hints, loaded again",
    "inputs_outputs": "inputs and outputs, compulsory",
    "inputs_again": "inputs, loaded again",
    "intermediate_loads": "intermediates, loads",
    "intermediate_stores": "intermediates, stores",
}
"""Figure 9a's division of the traffic."""

_TIME_LIMIT = 300
"""Time limit of the other scheduler, in seconds."""

_VARIANTS: dict[str, dict[str, Any]] = {
    "ntt": {"low_throughput": "ntt"},
    "automorphism": {"low_throughput": "automorphism"},
    "csr": {"scheduler": "csr", "time_limit": _TIME_LIMIT},
}
"""Table 5's columns, as options of the compiler."""


_COMPUTATION = ("ntt", "automorphism", "multiply", "add")
"""Components that compute; the others move data."""

_VARIANT: Reading = {
    "name": "slow units and CSR as the project has them",
    "evidence": "section 8.3 names HEAX, a serial memory and Goodman's scheduler, and prints no more of them",
}
_IDLE: Reading = {
    "name": "three tenths of a component's power always flow",
    "evidence": "an assumption: nothing published divides the power",
}
_IDEAL_REGISTERS: Reading = {
    "name": "ideal register files: eight reads or writes a cycle of each bank",
    "evidence": "section 3 names ideal files of unlimited ports; banks of the scratchpad get as many",
}
_ENCODING: Reading = {
    "name": "the model's own encoding of instructions",
    "evidence": "an assumption: section 3 gives its form alone",
}


def figure_9(cell: str, name: str, report: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of figure 9 for the report of a program, which is table 3's `cell`: MiB of traffic by class, with the compulsory minimum, watts by
    component, and the shares that the paper states in words."""
    traffic, seconds = report["traffic_bytes"], report["seconds"]
    total = traffic["total"]
    least = traffic["hints"] + traffic["inputs_outputs"]

    def mebibytes(label: str, size: int, reason: str) -> dict[str, Any]:
        place = ["Figure 9a", f"{name}, {label}", "MiB"]
        return of_program(cell, "figure9a", size / 2**20, reason, place)

    def watts(label: str, joule: float, reason: str) -> dict[str, Any]:
        place = ["Figure 9b", f"{name}, {label}", "W"]
        return of_program(cell, "figure9b", joule / seconds, reason, place, [*PROGRAM, _IDLE])

    rows = [
        mebibytes(label, traffic[key], f"{traffic[key] / total:.1%} of the traffic") for key, label in _CLASSES.items()
    ]
    rows[0] = of(rows[0], program=name, what="hints")
    reason = f"hints, inputs and outputs once each; the schedule moves {total / least:.2f} times as much"
    rows.append(mebibytes("compulsory minimum", least, reason))
    parts = [(part["name"].replace("_", " "), part) for part in report["components"]]
    rows += [
        watts(
            label,
            part["energy_j"],
            f"{part['activity']:.1%} active; full power by activity, with the idle share assumed",
        )
        for label, part in parts
        if part["energy_j"] is not None
    ]
    if report["off_chip_energy_j"] is not None:
        rows.append(watts("memory off chip", report["off_chip_energy_j"], "energy a bit of the traffic"))
    if report["energy_j"] is not None:
        rows.append(watts("total", report["energy_j"], "average over the program"))
        computing = [part["energy_j"] for _, part in parts if part["name"] in _COMPUTATION]
        if None not in computing:
            share = 100 * sum(computing) / report["energy_j"]
            reason = "power of units over that of chip and memory"
            own, given = f"figure9b.computation.{cell}", [*PROGRAM, _IDLE]
            rows.append(of_program(cell, own, share, reason, readings=given, stated=True))
            rows.append(_by_activity(cell, name, report))
    hints = 100 * (traffic["hints"] + traffic["hints_again"]) / total
    if cell in HINTS_DOMINATE:
        reason = "hints, loaded once or again, over all traffic"
        rows.append(of_program(cell, f"figure9a.hints.{cell}", hints, reason, stated=True))
    else:
        reason, place = "hints, loaded once or again, over all traffic", ["Figure 9a", f"{name}, share of hints", "%"]
        rows.append(of_program(cell, "figure9a", hints, reason, place))
    rows += _not_compulsory(cell, name, report)
    fetched = 100 * traffic["instructions"] / total
    place = ["Section 3", f"{name}: instruction fetches' share of the memory traffic", "%"]
    rows.append(of_program(cell, "section3.fetch", fetched, "all streams, once", place, [*PROGRAM, _ENCODING]))
    return rows


def _by_activity(cell: str, name: str, report: dict[str, Any]) -> dict[str, Any]:
    """Computation's share of the power if a component that does nothing takes none."""
    seconds = report["seconds"]
    active = {part["name"]: part["full_power_w"] * part["activity"] * seconds for part in report["components"]}
    energy = sum(active.values()) + (report["off_chip_energy_j"] or 0.0)
    share = 100 * sum(active[part] for part in _COMPUTATION) / energy
    place = ["Figure 9b", f"{name}, computation's share of the power, nothing flows without activity", "%"]
    reason = "full power by activity: section 8.2 has activity-level energies"
    return of_program(cell, f"figure9b.computation.{cell}", share, reason, place, stated=True)


def _not_compulsory(cell: str, name: str, report: dict[str, Any]) -> list[dict[str, Any]]:
    """The paper's statements on noncompulsory traffic: only intermediates for the program that it excepts, and all capacity misses for the others.
    Each program has both rows, one of them its cell."""
    traffic = report["traffic_bytes"]
    intermediates = traffic["intermediate_loads"] + traffic["intermediate_stores"]
    shares = {
        "intermediates": (intermediates, "share of intermediates", "loads and stores over all traffic"),
        "not_compulsory": (
            report["not_compulsory_bytes"],
            "share of what is not compulsory",
            "hints and inputs loaded again, and intermediates, over all traffic",
        ),
    }
    rows = []
    for share, (size, label, reason) in shares.items():
        own = share == ("intermediates" if cell in INTERMEDIATES_CONSUME else "not_compulsory")
        place = None if own else ["Figure 9a", f"{name}, {label}", "%"]
        id_ = f"figure9a.{share}.{cell}" if own else "figure9a"
        rows.append(of_program(cell, id_, 100 * size / traffic["total"], reason, place, stated=own))
    return rows


def units_at_work(machine: Machine, report: dict[str, Any]) -> float:
    """Percent of busy functional units, averaged over a program's time. All units count equally, as many of a kind as a cluster has."""
    counts = {kind: machine.to_dict()["units"][kind]["count"]["value"] for kind in _COMPUTATION}
    at_work = sum(count * report["utilisation"][kind] for kind, count in counts.items())
    return 100.0 * at_work / sum(counts.values())


def utilisation(busy: dict[str, tuple[str, float]]) -> list[dict[str, Any]]:
    """Rows of section 8.2: the mean over the programs, and each program. `busy` maps cells of table 3 to a program's name and share."""
    if not busy:
        return []
    cell, reason = "section8.utilisation", "share of the units' cycles in which they take elements up"
    mean = sum(share for _, share in busy.values()) / len(busy)
    rows = [of_programs([*busy], cell, mean, f"mean over {len(busy)} programs; {reason}")]
    for program, (name, share) in busy.items():
        place = ["Section 8.2", f"{name}: utilisation of the functional units", "%"]
        rows.append(of_program(program, cell, share, reason, place))
    return rows


def ideal_registers(longer: dict[str, tuple[str, float]]) -> list[dict[str, Any]]:
    """Rows of section 3: the percent that programs take longer than with ideal register files. `longer` maps cells of table 3 to a program's name and
    percent. The cell's own is the most of the programs whose times are unknown to us."""
    cell, readings = "section3.registers", [*PROGRAM, _IDEAL_REGISTERS]
    rows = []
    unknown = {program: percent for program, (_, percent) in longer.items() if program in UNKNOWN}
    if unknown:
        worst = max(unknown, key=unknown.__getitem__)
        reason = f"the most of {len(unknown)} programs, that of {longer[worst][0]}; the time over that with ideal files, less 1"
        rows.append(of_program(worst, cell, unknown[worst], reason, readings=readings))
    for program, (name, percent) in longer.items():
        place = ["Section 3", f"{name}: what register files cost against ideal ones", "%"]
        rows.append(of_program(program, cell, percent, "the time over that with ideal files, less 1", place, readings))
    return rows


FIGURE_10 = "lola_mnist"
"""The cell of the program whose unit and memory utilization the paper plots over time."""

_WINDOWS = 20
"""Equal parts of a program's time, one point of a curve each."""

_MIDDLES = [100 * (part + 0.5) / _WINDOWS for part in range(_WINDOWS)]
"""For each part, in percent of the time."""


def figure_10(machine: Machine, name: str, report: Report) -> list[dict[str, Any]]:
    """Rows of figure 10: utilization in percent of each kind of unit and of the memory's bandwidth, in each part of a program's time; and the time,
    in percent, when most units are busy."""
    counts = {kind: machine.to_dict()["units"][kind]["count"]["value"] for kind in _COMPUTATION}
    counted: dict[str, list[float]] = {}
    for event in json.loads(report.timeline())["traceEvents"]:
        if event["ph"] == "C":
            counted.setdefault(event["name"].removesuffix(", busy %"), []).append(event["args"]["busy"])
    # The last window of the timeline is followed by a zero, or by the rest of the time.
    curves = {kind: _means(counted[kind]) for kind in (*_COMPUTATION, "hbm")}
    rows = []
    for kind, shares in curves.items():
        for at, share in zip(_MIDDLES, shares, strict=True):
            place = ["Figure 10", f"{name}, {kind}, around {at:g} % of the time", "%"]
            row = of_program(FIGURE_10, "figure10", share, "share of its cycles in this part", place)
            rows.append({**row, "point": {"curve": kind, "axis": "time of the program", "unit": "% of it", "at": at}})
    at_work = [
        sum(counts[kind] * curves[kind][part] for kind in _COMPUTATION) / sum(counts.values())
        for part in range(_WINDOWS)
    ]
    most = max(at_work)
    reason = f"the middle of the one of {_WINDOWS} equal parts with {most:.1f} % of the units at work; the last has {at_work[-1]:.1f} %"
    where = _MIDDLES[at_work.index(most)]
    return [of_program(FIGURE_10, "section8.highest", where, reason, stated=True), *rows]


def _means(shares: list[float]) -> list[float]:
    """Means over equal parts of the windows of a timeline. Its last window is shorter than the others."""
    ends = [len(shares[:-1]) * part // _WINDOWS for part in range(_WINDOWS + 1)]
    return [fmean(shares[begin:end]) for begin, end in pairwise(ends)]


_SIZES = {
    "units.cluster.count": (4, 8, 16, 32),
    "memories.scratchpad.banks": (8, 8, 16, 32),
    "channels.hbm.count": (1, 1, 2, 4),
    "channels.hbm.bandwidth": (0.512, 0.512, 1.024, 2.048),
}
"""The sizes of the machine in figure 11, from small to large: four points of the machine file's sweep."""


def figure_11() -> list[dict[str, Any]]:
    """Rows of figure 11: performance over that of F1, at the area of machines of several sizes, with the programs of the machine file's sweep."""
    task = Task.of("f1")
    places = [Point(tuple(zip(_SIZES, map(float, size), strict=True))) for size in zip(*_SIZES.values(), strict=True)]
    own, *found = (evaluate(task, place) for place in (task.own([{key: list(_SIZES[key])} for key in _SIZES]), *places))
    rows = []
    for clusters, at in zip(_SIZES["units.cluster.count"], found, strict=True):
        place = ["Figure 11", f"{clusters} clusters: performance over that of F1", "x"]
        cause = at.get("error") or own.get("error")
        if cause is not None:
            rows.append(failed("figure11", MachineError(cause), place))
            continue
        speed = geometric_mean(own["seconds"][name] / seconds for name, seconds in at["seconds"].items())
        reason = f"geometric mean over {', '.join(task.programs)}; {at['area_mm2']:.1f} mm², as the components grow with their figures"
        row = predicted("figure11", speed, reason, place, [CROSSBAR])
        rows.append({**row, "point": {"curve": "model", "axis": "area", "unit": "mm²", "at": at["area_mm2"]}})
    return rows


HINTS_DOMINATE = ("helr", "db", "bgv_bootstrapping", "ckks_bootstrapping")
"""Cells of the programs whose traffic is mostly hints, as section 8.2 says."""

INTERMEDIATES_CONSUME = ("lola_cifar",)
"""Cells of the programs that section 8.2 excepts from those near their compulsory traffic, for their intermediates."""


def beside_figure_9(cell: str) -> list[str]:
    """The published statements on the program of a cell that `figure_9` computes."""
    excepted = "intermediates" if cell in INTERMEDIATES_CONSUME else "not_compulsory"
    shares = ["figure9b.computation", f"figure9a.{excepted}"] + (["figure9a.hints"] if cell in HINTS_DOMINATE else [])
    return [f"{share}.{cell}" for share in shares]


def table_5(cell: str, machine: Machine, planned: RnsPlan | _native.RnsKernel, seconds: float) -> list[dict[str, Any]]:
    """Rows `table5.CELL.*`: slowdown of a program with slower units or under CSR, relative to `seconds` on F1."""
    rows = []
    for column, options in _VARIANTS.items():
        name = f"table5.{cell}.{column}"
        try:
            report = machine.map(planned, **options).report().to_dict()
        except IntractableError as error:
            # The paper too reports this for some programs.
            rows.append(untold(name, f"no order within {_TIME_LIMIT} s: {error}"))
            continue
        except Error as error:
            rows.append(failed(name, error))
            continue
        mebibytes = report["traffic_bytes"]["total"] / 2**20
        reason = f"{1e3 * report['seconds']:.3g} ms against {1e3 * seconds:.3g} ms; {mebibytes:,.0f} MiB of traffic"
        slowdown = report["seconds"] / seconds
        rows.append(of_program(cell, name, slowdown, reason, readings=[*PROGRAM, _VARIANT]))
    return rows


def table_5_means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows `table5.gmean.*` over the programs of `rows` that could be timed."""
    means = []
    for column in _VARIANTS:
        slowdowns = {
            row["id"].split(".")[1]: row["value"]
            for row in rows
            if row["id"].endswith(f".{column}") and row["value"] is not None
        }
        if slowdowns:
            reason = f"geometric mean over {len(slowdowns)} programs; the published one is over seven"
            mean, readings = geometric_mean(slowdowns.values()), [*PROGRAM, _VARIANT]
            means.append(of_programs([*slowdowns], f"table5.gmean.{column}", mean, reason, readings))
    return means
