"""How far the models' predictions agree with the papers, over all published figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polyfabric.papers import validation
from polyfabric.reports import rows

Rows = list[tuple[str, ...]]
Row = dict[str, Any]

PAPERS = ("Morphling", "Strix", "FPT", "F1", "Osiris")
RESULTS = tuple(f"reproduce-{name.lower()}" for name in PAPERS)


def _table(number: int) -> Callable[..., Rows]:
    """The rows of one of the report's tables."""

    def made(*papers: list[Row]) -> Rows:
        report = validation.validation(dict(zip(PAPERS, papers, strict=True)))
        return rows.of(report)[number].rows

    return made


kinds, predictions = _table(0), _table(1)


def worst(*papers: list[Row]) -> Rows:
    """The predictions that are farthest from the papers, with what their rows say."""
    return [
        (*line, row["reason"])
        for line, row in zip(_table(2)(*papers), validation.worst(row for one in papers for row in one), strict=True)
    ]


TABLES = {
    "validation-kinds": (
        RESULTS,
        ("paper", "published cells", *(kind.replace("_", " ") for kind in validation.KINDS)),
        kinds,
    ),
    "validation-predictions": (
        RESULTS,
        ("paper", "predicted", "within 3 %", "within 10 %", "within 25 %", "farther"),
        predictions,
    ),
    "validation-worst": (RESULTS, ("paper", "cell", "published", "model", "deviation", "what the record says"), worst),
}
