"""How far the models' predictions agree with the papers, over all published figures."""

from __future__ import annotations

from collections import Counter
from typing import Any

from polyfabric.reports import rows

Rows = list[tuple[str, ...]]
Row = dict[str, Any]

PAPERS = ("Morphling", "Strix", "FPT", "F1", "Osiris")
RESULTS = tuple(f"reproduce-{name.lower()}" for name in PAPERS)
PREDICTED = ("predicted", "predicted_under_reading")
_KINDS = ("calibrated", "identity", "input", "not_modelled")
_WITHIN = (0.03, 0.1, 0.25)
_WORST = 10


def published(found: list[Row]) -> list[Row]:
    """Rows with a published figure."""
    return [row for row in found if rows.published(row) != "-"]


def compared(found: list[Row]) -> list[Row]:
    """Rows with a published figure and the model's."""
    return [row for row in published(found) if row["deviation"] is not None]


def kinds(*papers: list[Row]) -> Rows:
    """Published cells by kind of evidence."""
    counts = [Counter(row["kind"] for row in published(found)) for found in papers]
    return _with_total(
        [(sum(one.values()), sum(one[kind] for kind in PREDICTED), *(one[kind] for kind in _KINDS)) for one in counts]
    )


def predictions(*papers: list[Row]) -> Rows:
    """Predicted cells by the size of their deviation."""
    lines = []
    for found in papers:
        off = [abs(row["deviation"]) for row in compared(found) if row["kind"] in PREDICTED]
        lines.append(
            (len(off), *(sum(one <= most for one in off) for most in _WITHIN), sum(one > _WITHIN[-1] for one in off))
        )
    return _with_total(lines)


def _with_total(lines: list[tuple[int, ...]]) -> Rows:
    total = tuple(map(sum, zip(*lines, strict=True)))
    named = zip((*PAPERS, "all"), (*lines, total), strict=True)
    return [(name, *map(str, line)) for name, line in named]


def worst(*papers: list[Row]) -> Rows:
    """The predictions that are farthest from the papers."""
    found = [row for one in papers for row in compared(one) if row["kind"] in PREDICTED]
    found.sort(key=lambda row: -abs(row["deviation"]))
    return [
        (
            row["paper"],
            f"{row['table']}: {row['cell']}",
            rows.published(row),
            rows.number(row["model"]),
            rows.deviation(row),
            row["reason"],
        )
        for row in found[:_WORST]
    ]


TABLES = {
    "validation-kinds": (
        RESULTS,
        ("paper", "published cells", "predicted", *(kind.replace("_", " ") for kind in _KINDS)),
        kinds,
    ),
    "validation-predictions": (
        RESULTS,
        ("paper", "predicted", "within 3 %", "within 10 %", "within 25 %", "farther"),
        predictions,
    ),
    "validation-worst": (RESULTS, ("paper", "cell", "published", "model", "deviation", "what the record says"), worst),
}
