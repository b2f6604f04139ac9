"""Tables of the machines: published figures beside the model's."""

from __future__ import annotations

from typing import Any

Rows = list[tuple[str, ...]]
Row = dict[str, Any]

DEVIATION = ("", "cell", "unit", "published", "model", "deviation", "kind")


def number(value: float | None) -> str:
    """A figure with as many digits as a reader needs: four, and all of a whole number."""
    if value is None:
        return "unknown"
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def kind(row: Row) -> str:
    """What a row's figure is worth as evidence, in words."""
    return row["kind"].replace("_", " ")


def deviation(row: Row) -> tuple[str, ...]:
    """One row of a table of deviations."""
    model = "failed" if row.get("failure") else number(row["model"])
    percent = "" if row["deviation"] is None else f"{100 * row['deviation']:+.2f} %"
    return (row["table"], row["cell"], row["unit"], number(row["published"]), model, percent, kind(row))


def _compared(rows: list[Row]) -> list[Row]:
    """Rows with a published figure and the model's, or its failure."""
    return [row for row in rows if row["published"] is not None and (row["model"] is not None or row.get("failure"))]


def morphling(rows: list[Row]) -> Rows:
    """All but the parts of the chip, whose areas are taken in one by one."""
    return [
        deviation(row)
        for row in _compared(rows)
        if row["table"] != "Table IV" or row["cell"].startswith(("total", "XPU"))
    ]


TABLES = {
    "morphling": ("reproduce-morphling", DEVIATION, morphling),
}
