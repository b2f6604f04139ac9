"""F1's figure 9 and table 5 for one program: traffic and power by part, and what slower units or another scheduler cost."""

from __future__ import annotations

from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from ..machines import Machine, simulation

if TYPE_CHECKING:
    from .. import _native
    from ..slot_execution import SlotPlan

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
    "csr": {"scheduler": "csr"},
}
"""Table 5's columns, as the compiler takes them."""


def figure_9(name: str, report: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of figure 9 for a program's report: MiB of traffic by class, with the least there can be, and watts by component."""
    traffic, seconds = report["traffic_bytes"], report["seconds"]
    total = traffic["total"]
    least = traffic["hints"] + traffic["inputs_outputs"]

    def mebibytes(label: str, size: int, reason: str) -> dict[str, Any]:
        return predicted("figure9a", size / 2**20, reason, ["Figure 9a", f"{name}, {label}", "MiB"])

    def watts(label: str, joule: float, reason: str) -> dict[str, Any]:
        return predicted("figure9b", joule / seconds, reason, ["Figure 9b", f"{name}, {label}", "W"])

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
    return rows


def table_5(
    cell: str, machine: Machine, planned: SlotPlan | _native.ResidueKernel, seconds: float
) -> list[dict[str, Any]]:
    """Rows `table5.CELL.*`: how many times as long a program takes with slower units or under CSR as the `seconds` of F1's own."""
    rows = []
    for column, options in _VARIANTS.items():
        report = simulation(machine.compile(planned, **options)).to_dict()
        mebibytes = report["traffic_bytes"]["total"] / 2**20
        reason = f"{1e3 * report['seconds']:.3g} ms against {1e3 * seconds:.3g} ms; {mebibytes:,.0f} MiB of traffic"
        rows.append(predicted(f"table5.{cell}.{column}", report["seconds"] / seconds, reason))
    return rows


def table_5_means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows `table5.gmean.*` over the programs of `rows`."""
    means = []
    for column in _VARIANTS:
        slowdowns = [row["value"] for row in rows if row["id"].endswith(f".{column}")]
        if slowdowns:
            reason = f"geometric mean over {len(slowdowns)} programs; the published one is over seven"
            means.append(predicted(f"table5.gmean.{column}", geometric_mean(slowdowns), reason))
    return means


def predicted(cell: str, value: float, reason: str, beside: list[str] | None = None) -> dict[str, Any]:
    """A row of the comparison: a published cell's, or one `beside` it with its table, name and unit."""
    return {"id": cell, "beside": beside, "value": value, "kind": "predicted", "reason": reason}
