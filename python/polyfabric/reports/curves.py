"""Curves of a comparison with a paper, drawn like the paper's figures."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = dict[str, Any]


def of(found: list[Row]) -> list[tuple[str, Figure]]:
    """(caption, figure) for every table of the paper whose rows have points, with one panel per unit."""
    tables: dict[str, list[Row]] = {}
    for row in found:
        if row.get("point") and row["model"] is not None:
            tables.setdefault(row["table"], []).append(row)
    return [
        (f"{table}: the model's curves; the published ones are dashed.", _figure(table, points, found))
        for table, points in tables.items()
    ]


def _figure(table: str, points: list[Row], found: list[Row]) -> Figure:
    from matplotlib.figure import Figure

    panels: dict[tuple[str, str, str], list[Row]] = {}
    for row in points:
        panels.setdefault((row["unit"], row["point"]["axis"], row["point"]["unit"]), []).append(row)
    figure = Figure(figsize=(4.8 * len(panels), 3.6), layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, ((unit, axis, axis_unit), rows) in zip(grid, panels.items(), strict=True):
        _panel(axes, rows)
        name = axis if axis == axis_unit else f"{axis}, {axis_unit}"
        axes.set_xlabel(name, fontsize=9)
        axes.set_ylabel(unit, fontsize=9)
        axes.set_title(table, loc="left", fontsize=10, fontweight="bold")
        for row in found:
            if row["table"] == table and row["unit"] == axis_unit and row["published"] is not None:
                axes.axvline(row["published"], linestyle="--", linewidth=1, color="#7b8794")
    return figure


def _panel(axes: Axes, rows: list[Row]) -> None:
    curves: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        curves.setdefault(row["point"]["curve"], []).append((row["point"]["at"], row["model"]))
    for name, curve in curves.items():
        ordered = sorted(curve)
        axes.plot([at for at, _ in ordered], [value for _, value in ordered], marker="o", markersize=3, label=name)
    marks = sorted({row["point"]["at"] for row in rows})
    if not _is_even(marks):
        # In papers the points roughly double.
        axes.set_xscale("log", base=2)
        doubled = [at for at in marks if math.log2(at / marks[0]).is_integer()]
        axes.set_xticks(doubled, [f"{at:g}" for at in doubled], fontsize=8)
        axes.minorticks_off()
    axes.set_ylim(0)
    axes.grid(color="#e4e7eb")
    axes.legend(frameon=False, fontsize=8)


def _is_even(marks: list[float]) -> bool:
    """Whether there are many equidistant points, as on a time axis."""
    steps = [after - before for before, after in pairwise(marks)]
    return len(steps) > 3 and max(steps) - min(steps) <= 1e-9 * marks[-1]
