"""Tables of the machines: published figures beside the model's."""

from __future__ import annotations

from typing import Any

from polyfabric.reports import rows

Rows = list[tuple[str, ...]]
Row = dict[str, Any]

DEVIATION = ("", "cell", "unit", "published", "model", "deviation", "kind")


def deviation(row: Row) -> tuple[str, ...]:
    """One row of a table of deviations."""
    model = "failed" if row["failure"] else rows.number(row["model"])
    off = rows.deviation(row).replace("-", "", 1) if row["deviation"] is None else rows.deviation(row)
    return (row["table"], row["cell"], row["unit"], rows.published(row), model, off, rows.kind(row))


def _compared(found: list[Row]) -> list[Row]:
    """Rows with a published figure and the model's, or its failure."""
    return [row for row in found if rows.published(row) != "-" and (row["model"] is not None or row["failure"])]


def morphling(found: list[Row]) -> Rows:
    """All but the parts of the chip, whose areas are taken in one by one."""
    return [
        deviation(row)
        for row in _compared(found)
        if row["table"] != "Table IV" or row["cell"].startswith(("total", "XPU"))
    ]


TABLES = {
    "morphling": ("reproduce-morphling", DEVIATION, morphling),
}
