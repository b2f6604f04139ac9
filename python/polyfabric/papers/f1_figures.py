"""F1's figure 9 and table 5 for one program: traffic and power by part, and what slower units or another scheduler cost."""

from __future__ import annotations

from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from ..errors import Error
from ..machines import Machine
from .rows import failed, predicted, untold

if TYPE_CHECKING:
    from .. import _native
    from ..schemes.slots import SlotPlan

_CLASSES = {
    "hints": "key-switch hints, compulsory",
    "hints_again": "key-switch hints, loaded again",
    "inputs_outputs": "inputs and outputs, compulsory",
    "inputs_again": "inputs, loaded again",
    "intermediate_loads": "intermediates, loads",
    "intermediate_stores": "intermediates, stores",
}
"""Figure 9a's division of the traffic."""

_VARIANTS: dict[str, dict[str, Any]] = {
    "ntt": {"low_throughput": "ntt"},
    "automorphism": {"low_throughput": "automorphism"},
    "csr": {"scheduler": "csr", "time_limit": 300},
}
"""Table 5's columns, as the compiler takes them."""


_COMPUTATION = ("ntt", "automorphism", "multiply", "add")
"""Components that compute; the others move data."""

AUTHORS_PROGRAM = {
    "name": "a program of ours after the paper's source",
    "evidence": "section 7 names the sources; the authors' programs and parameters are not public",
}
_VARIANT: dict[str, str | None] = {
    "name": "slow units and CSR as the project has them",
    "evidence": "section 8.3 names HEAX, a serial memory and Goodman's scheduler, and prints no more of them",
}
_IDLE = {
    "name": "three tenths of a component's power always flow",
    "evidence": "an assumption: nothing published divides the power",
}
_ENCODING = {
    "name": "the model's own encoding of instructions",
    "evidence": "an assumption: section 3 gives its form alone",
}


def figure_9(cell: str, name: str, report: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of figure 9 for the report of a program, which is table 3's `cell`: MiB of traffic by class, with the least there can be, watts by
    component, and the shares of which the paper says in words what they are."""
    traffic, seconds = report["traffic_bytes"], report["seconds"]
    total = traffic["total"]
    least = traffic["hints"] + traffic["inputs_outputs"]

    def mebibytes(label: str, size: int, reason: str) -> dict[str, Any]:
        place = ["Figure 9a", f"{name}, {label}", "MiB"]
        return predicted("figure9a", size / 2**20, reason, place, readings=[AUTHORS_PROGRAM])

    def watts(label: str, joule: float, reason: str) -> dict[str, Any]:
        place = ["Figure 9b", f"{name}, {label}", "W"]
        return predicted("figure9b", joule / seconds, reason, place, readings=[AUTHORS_PROGRAM, _IDLE])

    rows = [
        mebibytes(label, traffic[key], f"{traffic[key] / total:.1%} of the traffic") for key, label in _CLASSES.items()
    ]
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
            rows.append(predicted(f"figure9b.computation.{cell}", share, reason, readings=[AUTHORS_PROGRAM, _IDLE]))
    hints = 100 * (traffic["hints"] + traffic["hints_again"]) / total
    intermediates = 100 * (traffic["intermediate_loads"] + traffic["intermediate_stores"]) / total
    if cell in HINTS_DOMINATE:
        reason = "hints, loaded once or again, over all traffic"
        rows.append(predicted(f"figure9a.hints.{cell}", hints, reason, readings=[AUTHORS_PROGRAM]))
    else:
        reason, place = "hints, loaded once or again, over all traffic", ["Figure 9a", f"{name}, share of hints", "%"]
        rows.append(predicted("figure9a", hints, reason, place, readings=[AUTHORS_PROGRAM]))
    reason = "loads and stores over all traffic"
    rows.append(predicted(f"figure9a.intermediates.{cell}", intermediates, reason, readings=[AUTHORS_PROGRAM]))
    fetched = 100 * traffic["instructions"] / total
    place = ["Section 3", f"{name}: instruction fetches' share of the memory traffic", "%"]
    readings = [AUTHORS_PROGRAM, _ENCODING]
    rows.append(predicted("section3.fetch", fetched, "all streams, once", place, readings=readings))
    return rows


def units_at_work(machine: Machine, report: dict[str, Any]) -> float:
    """Percent of the functional units that are at work, on average over a program's time: all units alike, as many of a kind as a cluster has."""
    counts = {kind: machine.to_dict()["units"][kind]["count"]["value"] for kind in _COMPUTATION}
    at_work = sum(count * report["utilisation"][kind] for kind, count in counts.items())
    return 100.0 * at_work / sum(counts.values())


def utilisation(busy: dict[str, float]) -> list[dict[str, Any]]:
    """Rows of section 8.2: the mean over the programs, and each beside it."""
    if not busy:
        return []
    cell, reason = "section8.utilisation", "share of the units' cycles in which they take elements up"
    mean = predicted(
        cell, sum(busy.values()) / len(busy), f"mean over {len(busy)} programs; {reason}", readings=[AUTHORS_PROGRAM]
    )
    places = {name: ["Section 8.2", f"{name}: utilisation of the functional units", "%"] for name in busy}
    return [mean, *(predicted(cell, share, reason, places[name], [AUTHORS_PROGRAM]) for name, share in busy.items())]


HINTS_DOMINATE = ("helr", "db", "bgv_bootstrapping", "ckks_bootstrapping")
"""Cells of the programs whose traffic is mostly hints, as section 8.2 says."""


def beside_figure_9(cell: str) -> list[str]:
    """The published statements on the program of a cell that `figure_9` has numbers for."""
    shares = ["figure9b.computation", "figure9a.intermediates"] + (["figure9a.hints"] if cell in HINTS_DOMINATE else [])
    return [f"{share}.{cell}" for share in shares]


def table_5(
    cell: str, machine: Machine, planned: SlotPlan | _native.ResidueKernel, seconds: float
) -> list[dict[str, Any]]:
    """Rows `table5.CELL.*`: how many times as long a program takes with slower units or under CSR as the `seconds` of F1's own."""
    rows = []
    for column, options in _VARIANTS.items():
        name = f"table5.{cell}.{column}"
        try:
            report = machine.map(planned, **options).report().to_dict()
        except Error as error:
            # The paper too has programs for which that scheduler is intractable.
            rows.append(untold(name, str(error)) if "CSR is intractable" in str(error) else failed(name, error))
            continue
        mebibytes = report["traffic_bytes"]["total"] / 2**20
        reason = f"{1e3 * report['seconds']:.3g} ms against {1e3 * seconds:.3g} ms; {mebibytes:,.0f} MiB of traffic"
        rows.append(predicted(name, report["seconds"] / seconds, reason, readings=[AUTHORS_PROGRAM, _VARIANT]))
    return rows


def table_5_means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows `table5.gmean.*` over the programs of `rows` that could be timed."""
    means = []
    for column in _VARIANTS:
        slowdowns = [row["value"] for row in rows if row["id"].endswith(f".{column}") and row["value"] is not None]
        if slowdowns:
            reason = f"geometric mean over {len(slowdowns)} programs; the published one is over seven"
            readings = [AUTHORS_PROGRAM, _VARIANT]
            means.append(predicted(f"table5.gmean.{column}", geometric_mean(slowdowns), reason, readings=readings))
    return means
