"""Draws a figure of several panels: curves, bars, or bars divided into parts, with published values as marks.

panel = Panel("throughput", "set", "BS/s", points=[Point("model", "I", 150_000.0, published=150_000.0)], kind="bars")
figure = draw([panel])
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Kind = Literal["curves", "bars", "parts", "shares"]
"""Parts are stacked; shares are parts in percent of their bar."""

_COLOURS = (
    "#2f6db3",
    "#d9822b",
    "#5b8c5a",
    "#8d6cab",
    "#c0504d",
    "#3fa7b5",
    "#7b8794",
    "#f0c48a",
    "#a7cba5",
    "#c9b6dc",
)
_INK, _GRID = "#1f2933", "#e4e7eb"
_WIDE, _HIGH, _MOST = 4.9, 3.9, 3
"""Size of a panel in inches, and the most panels in a row."""
_DOUBLING = 4
"""Least ratio of the ends of a logarithmic axis."""
_LETTERS = 34
"""Letters of a bar's name that fit a line of a horizontal panel."""


@dataclass(frozen=True)
class Point:
    """The model's value and the published one, or its bounds, at a place of an axis: a number, or a bar's name."""

    curve: str
    at: float | str
    model: float | None
    published: float | None = None
    least: float | None = None
    most: float | None = None

    @property
    def is_published(self) -> bool:
        """Whether the paper gives a value or a bound."""
        return not (self.published is None and self.least is None and self.most is None)


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    axis: str
    """Name of the horizontal axis, with its unit."""
    unit: str
    points: list[Point] = field(default_factory=list)
    kind: Kind = "curves"
    marks: list[float] = field(default_factory=list)
    """Published places on the horizontal axis."""


def draw(panels: Sequence[Panel]) -> Figure:
    """The figure."""
    from matplotlib.figure import Figure

    columns = min(len(panels), _MOST)
    lines = -(-len(panels) // columns)
    figure = Figure(figsize=(max(_WIDE * columns, 6.4), _HIGH * lines), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False).flatten()
    for axes, panel in zip(grid, panels, strict=False):
        _curves(axes, panel) if panel.kind == "curves" else _bars(axes, panel)
        axes.set_title(panel.title, loc="left", fontsize=10, color=_INK, fontweight="bold")
        axes.tick_params(labelsize=8)
        axes.set_axisbelow(True)
        _legend(axes)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    return figure


def _legend(axes: Axes) -> None:
    """Below the panel, published values last."""
    named = sorted(
        zip(*axes.get_legend_handles_labels(), strict=True), key=lambda pair: pair[1].startswith("published")
    )
    if len(named) > 1:
        handles, labels = zip(*named, strict=True)
        columns = 1 if len(named) <= 3 else 2
        axes.legend(
            handles, labels, frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=columns
        )


def _curves(axes: Axes, panel: Panel) -> None:
    for (name, curve), colour in zip(_by_curve(panel).items(), _cycled(), strict=False):
        ordered = sorted((float(p.at), p.model) for p in curve if p.model is not None)
        if ordered:
            axes.plot(
                [at for at, _ in ordered],
                [value for _, value in ordered],
                marker="o",
                markersize=3,
                label=name,
                color=colour,
            )
    _published(axes, [(float(p.at), p) for p in panel.points])
    marks = sorted({float(p.at) for p in panel.points})
    if marks[0] > 0 and marks[-1] >= _DOUBLING * marks[0] and not _is_even(marks):
        # In papers the points roughly double.
        axes.set_xscale("log", base=2)
        doubled = [at for at in marks if math.log2(at / marks[0]).is_integer()]
        axes.set_xticks(doubled, [f"{at:g}" for at in doubled])
        axes.minorticks_off()
    if all(p.model is None or p.model >= 0 for p in panel.points):
        axes.set_ylim(0, 1.05 * axes.get_ylim()[1])
    for at in panel.marks:
        axes.axvline(at, linestyle="--", linewidth=1, color=_INK, label="published" if at == panel.marks[0] else None)
    axes.grid(color=_GRID)
    axes.set_xlabel(panel.axis, fontsize=9)
    axes.set_ylabel(panel.unit, fontsize=9)


def _bars(axes: Axes, panel: Panel) -> None:
    """Horizontal bars, as their names are long."""
    curves = _by_curve(panel)
    names = list(dict.fromkeys(str(p.at) for p in panel.points))
    stacked = panel.kind != "bars"
    high = 0.7 if stacked else 0.8 / len(curves)
    totals = {name: sum(p.model or 0 for p in panel.points if p.at == name) for name in names}
    start = dict.fromkeys(names, 0.0)
    drawn: list[tuple[float, Point]] = []
    for number, ((curve, points), colour) in enumerate(zip(curves.items(), _cycled(), strict=False)):
        places, values, left = [], [], []
        for point in points:
            name = str(point.at)
            shift = 0.0 if stacked else (number - (len(curves) - 1) / 2) * high
            scale = 100 / totals[name] if panel.kind == "shares" and totals[name] else 1.0
            places.append(names.index(name) + shift)
            values.append((point.model or 0) * scale)
            left.append(start[name])
            drawn.append((places[-1], point))
            start[name] += values[-1] if stacked else 0.0
        axes.barh(places, values, high, left=left, label=curve, color=colour)
    if panel.kind != "shares":
        _published(axes, drawn, across=True)
    axes.set_yticks(range(len(names)), [textwrap.fill(name, _LETTERS) for name in names])
    axes.invert_yaxis()
    axes.set_xlim(0, 100 if panel.kind == "shares" else 1.03 * axes.get_xlim()[1])
    axes.grid(axis="x", color=_GRID)
    axes.set_xlabel(panel.unit, fontsize=9)
    axes.set_ylabel(panel.axis, fontsize=9)


def _published(axes: Axes, points: Sequence[tuple[float, Point]], *, across: bool = False) -> None:
    """Diamonds at published values and triangles at published bounds, each named once."""
    looks = (
        ("published", "D", "published"),
        ("least", ">" if across else "^", "published: at least"),
        ("most", "<" if across else "v", "published: at most"),
    )
    for name, marker, label in looks:
        found = [(at, getattr(p, name)) for at, p in points if getattr(p, name) is not None]
        if found:
            at, values = zip(*found, strict=True)
            xy = (values, at) if across else (at, values)
            axes.plot(*xy, marker, markersize=6, markerfacecolor="white", color=_INK, label=label, zorder=4)


def _by_curve(panel: Panel) -> dict[str, list[Point]]:
    curves: dict[str, list[Point]] = {}
    for point in panel.points:
        curves.setdefault(point.curve, []).append(point)
    return curves


def _cycled() -> list[str]:
    return [*_COLOURS] * 4


def _is_even(marks: list[float]) -> bool:
    """Whether there are many equidistant points, as on a time axis."""
    steps = [after - before for before, after in pairwise(marks)]
    return len(steps) > 3 and max(steps) - min(steps) <= 1e-9 * marks[-1]
