"""Tables of a validation: published figures by kind, and predictions by deviation."""

from __future__ import annotations

from typing import Any

from ..host.units import words
from .rows import Rows, deviation, number, published


def rows(d: dict[str, Any]) -> list[Rows]:
    """The tables of a validation report."""
    far = [
        (row["paper"], f"{row['table']}: {row['cell']}", published(row), number(row["model"]), deviation(row))
        for row in d["worst"]
    ]
    worst = Rows("the largest deviations", ("paper", "figure", "published", "model", "deviation"), far, left=2)
    return [*counted(d["papers"], d["limits"]), worst]


def counted(papers: dict[str, dict[str, Any]], limits: list[float]) -> list[Rows]:
    """The published figures by kind, and the predictions by deviation."""
    names = list(dict.fromkeys(kind for one in papers.values() for kind in one["kinds"]))
    counts = [(name, one["cells"], *(one["kinds"].get(kind, 0) for kind in names)) for name, one in papers.items()]
    ends = [f"within {100 * most:g} %" for most in limits]
    near = [(name, sum(one["within"][-2:]), *one["within"]) for name, one in papers.items()]
    return [
        Rows("published figures by kind", ("paper", "published", *map(words, names)), _with_total(counts)),
        Rows("predictions by deviation", ("paper", "predicted", *ends, "farther"), _with_total(near)),
    ]


def _with_total(lines: list[tuple[Any, ...]]) -> list[tuple[str, ...]]:
    if len(lines) == 1:
        return [tuple(map(str, lines[0]))]
    total = ("all", *(sum(line[column] for line in lines) for column in range(1, len(lines[0]))))
    return [tuple(map(str, line)) for line in (*lines, total)]
