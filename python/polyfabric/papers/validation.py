"""How far the models agree with the papers, counted over all published figures.

A published figure is a row of a reproduction (`polyfabric reproduce`). It is counted under its kind, and a prediction also by its deviation.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import FileError
from ..host.files import read_bytes
from ..reports import Report
from ..reports.rows import published
from .rows import WITHOUT_NUMBER

Row = dict[str, Any]

PREDICTED = ("predicted", "predicted_under_reading")
KINDS = ("predicted", "calibrated", "identity", "input", *WITHOUT_NUMBER)
"""Of published figures. `predicted` has those under a reading too."""
WITHIN = (0.03, 0.1, 0.25)
"""Deviations up to which predictions are counted."""
WORST = 10

_LARGEST = 64 << 20
_MOST = 1e100
_FIELDS = (
    "paper",
    "table",
    "cell",
    "published",
    "published_least",
    "published_most",
    "model",
    "deviation",
    "kind",
    "reason",
)


def cells(rows: Iterable[Row]) -> list[Row]:
    """A row for each published figure. Of several, under different readings of the paper, it is the one that says least for the model: one that is
    not predicted, and otherwise the farthest."""
    found: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        if published(row) == "-":
            continue
        place = row["paper"], row["table"], row["cell"]
        if place not in found or _against(row) > _against(found[place]):
            found[place] = row
    return list(found.values())


def _against(row: Row) -> tuple[bool, float]:
    """How much a row says against the model."""
    return row["kind"] not in PREDICTED, math.inf if row["deviation"] is None else abs(row["deviation"])


def predictions(rows: Iterable[Row]) -> list[Row]:
    """A row for each published figure that the model predicts."""
    return [row for row in cells(rows) if row["kind"] in PREDICTED and row["deviation"] is not None]


def kinds(rows: Iterable[Row]) -> dict[str, int]:
    """Number of published figures by kind. A figure that this run did not compute has none: its kind is `not_computed`."""
    counts = Counter(row["kind"] or "not_computed" for row in cells(rows))
    found = {kind: sum(counts[one] for one in (PREDICTED if kind == "predicted" else (kind,))) for kind in KINDS}
    return found | ({"not_computed": counts["not_computed"]} if counts["not_computed"] else {})


def within(rows: Iterable[Row]) -> list[int]:
    """Number of predictions within each deviation of `WITHIN`, and of those that are farther."""
    off = [abs(row["deviation"]) for row in predictions(rows)]
    return [*(sum(one <= most for one in off) for most in WITHIN), sum(one > WITHIN[-1] for one in off)]


def worst(rows: Iterable[Row]) -> list[Row]:
    """The predictions that are farthest from the papers."""
    return sorted(predictions(rows), key=lambda row: -abs(row["deviation"]))[:WORST]


def counts(rows: Sequence[Row]) -> dict[str, Any]:
    """The counts of one paper."""
    return {"cells": len(cells(rows)), "kinds": kinds(rows), "within": within(rows)}


def validation(papers: Mapping[str, Sequence[Row]]) -> Report:
    """The report on the rows of the papers' reproductions."""
    counted = {paper: counts(rows) for paper, rows in papers.items()}
    everything = [row for rows in papers.values() for row in rows]
    data = {
        "papers": counted,
        "limits": list(WITHIN),
        "worst": [{name: row[name] for name in _FIELDS} for row in worst(everything)],
    }
    return Report("validation", data)


def read(path: Path) -> tuple[str, list[Row]]:
    """The paper and the rows of a file that `polyfabric reproduce PAPER --json` or a recording of it wrote.

    Raises:
        FileError: the file has no such rows, or those of several papers.
    """
    wrong = f"{path}: no rows of a reproduction; write them with `polyfabric reproduce PAPER --json > FILE`"
    try:
        found = json.loads(read_bytes(path, _LARGEST))
        rows = found.get("data") if isinstance(found, dict) else found
        valid = isinstance(rows, list) and rows != [] and all(map(_is_row, rows))
    except (ValueError, RecursionError) as error:
        raise FileError(wrong) from error
    if not valid:
        raise FileError(wrong)
    papers = list(dict.fromkeys(row["paper"] for row in rows))
    if len(papers) > 1:
        raise FileError(f"{path}: rows of {', '.join(papers)}; split it into one file per paper")
    return papers[0], rows


def _is_row(row: object) -> bool:
    """Whether the values have the types of a row's. Raises `ValueError` for a text that is no Unicode."""
    if not isinstance(row, dict) or not row.keys() >= {*_FIELDS}:
        return False
    numbers = (row[name] for name in ("published", "published_least", "published_most", "model", "deviation"))
    if not all(number is None or (isinstance(number, int | float) and abs(number) < _MOST) for number in numbers):
        return False
    texts = [row[name] for name in ("paper", "table", "cell", "reason")]
    return row["kind"] in (None, *PREDICTED, *KINDS) and all(
        isinstance(text, str) and text.encode() != b"" for text in texts
    )
