"""The papers' figures, drawn from the rows of a comparison: the model's values with the published ones as marks.

A row with a `point` belongs to the figure that its table names. The paper's catalog, PAPER.toml, finds the places of the other rows by their cells. A figure's published
values are those of its rows: a value that the paper shows only as a curve, or that is withheld, has no mark, and the caption says so.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..reports import panels
from ..reports.panels import Kind, Panel, Point

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """Where the rows of a table whose cell matches a pattern stand in a figure. `at` and `curve` take the pattern's groups in braces, the fields of
    the row's subject, and its last reading."""

    figure: str
    panel: str
    table: str
    """A pattern."""
    cell: str
    """A pattern."""
    axis: str
    at: str | float = "{at}"
    curve: str = "model"
    kind: Kind = "bars"

    def point(self, row: Row) -> Point | None:
        """The row's point; `None` if it does not belong here."""
        found = re.fullmatch(self.cell, row["cell"]) if re.fullmatch(self.table, row["table"]) else None
        if found is None:
            return None
        readings = row["readings"] or [{"name": ""}]
        fields = {**found.groupdict(), **row.get("of", {}), "reading": readings[-1]["name"]}
        at = self.at.format(**fields) if isinstance(self.at, str) else self.at
        at = float(at) if self.kind == "curves" else at
        return _point(row, self.curve.format(**fields), at)


def _point(row: Row, curve: str, at: float | str) -> Point:
    return Point(curve, at, row["model"], row["published"], row["published_least"], row["published_most"])


def described_figures(paper: str) -> dict[str, dict[str, Any]]:
    """The figures that the paper's catalog describes: `caption`, and the `places` of rows without a point."""
    return tomllib.loads((Path(__file__).parent / f"{paper}.toml").read_text(encoding="utf-8"))["drawn"]


def of(described: dict[str, dict[str, Any]], rows: Sequence[Row]) -> list[tuple[str, Figure]]:
    """(caption, figure) for every figure of the paper of which the rows have a value of the model. `described` is from the paper's catalog."""
    made = []
    for name, found in sorted(_figures(described, rows).items(), key=lambda item: _number(item[0])):
        points = [point for panel in found for point in panel.points]
        if all(point.model is None for point in points):
            continue
        alone = not any(point.is_published for point in points) and not any(panel.marks for panel in found)
        marks = (
            "The paper prints no numbers of it, so only the model's values are drawn."
            if alone
            else "Marks are published values."
        )
        caption = described.get(name, {}).get("caption", "the model by its rows.")
        made.append((f"{name}: {caption} {marks}", panels.draw(found)))
    return made


def _number(figure: str) -> tuple[str, int]:
    name, _, number = figure.rpartition(" ")
    return name, int(number) if number.isdigit() else 0


def places(described: dict[str, dict[str, Any]]) -> list[Place]:
    """Where rows without a point stand."""
    return [Place(name, **place) for name, figure in described.items() for place in figure.get("places", ())]


def _figures(described: dict[str, dict[str, Any]], rows: Sequence[Row]) -> dict[str, list[Panel]]:
    """The panels of each figure."""
    figures: dict[str, dict[str, Panel]] = {}
    for row in rows:
        if row.get("point"):
            where = row["point"]
            axis = where["axis"] if where["axis"] == where["unit"] else f"{where['axis']}, {where['unit']}"
            of_figure = figures.setdefault(row["table"].rstrip("ab"), {})
            marks = [other["published"] for other in rows if _is_mark(other, row)]
            made = Panel(row["table"], axis, row["unit"], marks=marks)
            panel = of_figure.setdefault(f"{row['table']}, {row['unit']}", made)
            panel.points.append(_point(row, where["curve"], where["at"]))
    for place in places(described):
        for row in rows:
            point = place.point(row)
            if point is not None:
                unit = "% of the bar's total" if place.kind == "shares" else row["unit"].replace("us", "µs")
                made = Panel(place.panel, place.axis, unit, kind=place.kind)
                figures.setdefault(place.figure, {}).setdefault(place.panel, made).points.append(point)
    return {name: list(found.values()) for name, found in figures.items()}


def _is_mark(other: Row, row: Row) -> bool:
    """Whether the published value of another row is a place on the axis of this row's point."""
    same = other["table"] == row["table"] and other["unit"] == row["point"]["unit"]
    return same and other["published"] is not None and not other.get("point")
