"""Tables of a validation: published figures by kind, and predictions by deviation."""

from __future__ import annotations

from typing import Any

from .rows import Rows, deviation, number, published
from .units import words


def rows(d: dict[str, Any]) -> list[Rows]:
    """The tables of a validation report."""
    papers = d["papers"]
    names = list(dict.fromkeys(kind for one in papers.values() for kind in one["kinds"]))
    counts = [(name, one["cells"], *(one["kinds"].get(kind, 0) for kind in names)) for name, one in papers.items()]
    limits = [f"within {100 * most:g} %" for most in d["limits"]]
    near = [(name, sum(one["within"][-2:]), *one["within"]) for name, one in papers.items()]
    far = [
        (row["paper"], f"{row['table']}: {row['cell']}", published(row), number(row["model"]), deviation(row))
        for row in d["worst"]
    ]
    return [
        Rows("published figures by kind", ("paper", "published", *map(words, names)), _with_total(counts)),
        Rows("predictions by deviation", ("paper", "predicted", *limits, "farther"), _with_total(near)),
        Rows("the largest deviations", ("paper", "figure", "published", "model", "deviation"), far, left=2),
    ]


def _with_total(lines: list[tuple[Any, ...]]) -> list[tuple[str, ...]]:
    total = ("all", *(sum(line[column] for line in lines) for column in range(1, len(lines[0]))))
    return [tuple(map(str, line)) for line in (*lines, total)]
