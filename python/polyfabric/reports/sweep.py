"""Tables and plots of a sweep over a machine's figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .rows import Rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 72, 18
"""Width and height of the console plot, in characters."""


def rows(d: dict[str, Any]) -> list[Rows]:
    """Tables: the best point at each area, a plot of all, points of unknown area, and failures."""
    found = with_area(d["points"])
    best = sorted((p for p in found if p["pareto"] or p["own"]), key=lambda p: p["area_mm2"])
    table = [
        (
            "the file's own" if p["own"] else "",
            *_values(d, p),
            f"{p['area_mm2']:.1f} mm²",
            f"{p['performance']:.3f}",
            f"{1000 * p['performance'] / p['area_mm2']:.2f}",
        )
        for p in best
    ]
    axes = tuple(_short(key) for key in d["axes"])
    base = "the first point with a result" if "error" in d["points"][0] else f"{d['machine']} itself"
    note = (
        f"of {len(d['points'])} points; performance is the geometric mean over {', '.join(d['programs'])} of the speed over that "
        f"of {base}. Area: the file's components, as their counts and sizes follow its figures"
    )
    tables = []
    if found:
        heads = ("", *axes, "area", "performance", "per 1000 mm²")
        title = "performance against area (█ the best, ◆ the file's own, · others)"
        tables = [
            Rows(f"{d['machine']}: the best at each area", heads, table, note=note),
            Rows(title, ("",), [(line,) for line in _drawing(found)]),
        ]
    unknown = [(*_values(d, p), f"{p['performance']:.3f}", p["area_cause"]) for p in without_area(d["points"])]
    if unknown:
        heads = (*axes, "performance", "cause")
        title = f"{d['machine']}: points of unknown area"
        tables.append(Rows(title, heads, unknown, left=len(axes) + 2, note="" if found else note))
    failed = [(*_values(d, p), p["error"]) for p in d["points"] if "error" in p]
    if failed:
        tables.append(Rows("without a result", (*axes, "cause"), failed, left=len(axes) + 1))
    return tables


def with_area(points: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The points with a known area."""
    return [point for point in points if point.get("area_mm2") is not None]


def without_area(points: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The points with a time but without an area; `area_cause` has the reason."""
    return [point for point in points if "area_cause" in point]


def _short(key: str) -> str:
    """A figure's key without its section."""
    return key.split(".", 1)[-1]


def _values(d: dict[str, Any], point: dict[str, Any]) -> tuple[str, ...]:
    """A point's values on the axes."""
    values = [point["values"][key] for key in d["axes"]]
    return tuple(_value(value) for value in values)


def _value(value: float | str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else f"{value:.10g}"


def _drawing(points: list[dict[str, Any]]) -> list[str]:
    """Both axes from zero."""
    right, top = max(p["area_mm2"] for p in points), max(p["performance"] for p in points)
    cells = [[" "] * WIDTH for _ in range(HEIGHT)]
    for p in sorted(points, key=lambda p: (p["own"], p["pareto"])):
        column = round((WIDTH - 1) * p["area_mm2"] / right)
        row = HEIGHT - 1 - round((HEIGHT - 1) * p["performance"] / top)
        cells[row][column] = "◆" if p["own"] else "█" if p["pareto"] else "·"
    scale = [f"{top:6.2f} │", *["       │"] * (HEIGHT - 2), "  0.00 │"]
    lines = [left + "".join(cell) for left, cell in zip(scale, cells, strict=True)]
    end = f"{right:.0f} mm²"
    return [*lines, "       └" + "─" * WIDTH, "        0" + end.rjust(WIDTH - 1)]


def plot(d: dict[str, Any]) -> Figure:
    """Area and performance of all points. The best are joined, the file's own is marked, and points of unknown area are at the margin."""
    from matplotlib.figure import Figure

    from .plots import AMBER, BLUE, GRID, INK, MUTED

    found, unknown = with_area(d["points"]), without_area(d["points"])
    best = sorted((p for p in found if p["pareto"]), key=lambda p: p["area_mm2"])
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    axes = figure.add_subplot()
    axes.scatter([p["area_mm2"] for p in found], [p["performance"] for p in found], color=MUTED, s=12, label="points")
    axes.plot(
        [p["area_mm2"] for p in best],
        [p["performance"] for p in best],
        color=BLUE,
        marker="o",
        label="best at its area",
    )
    own = [p for p in found if p["own"]]
    axes.scatter(
        [p["area_mm2"] for p in own],
        [p["performance"] for p in own],
        color=AMBER,
        marker="D",
        s=48,
        zorder=3,
        label=f"{d['machine']}, the file's own",
    )
    if unknown:
        performance = [p["performance"] for p in unknown]
        axes.scatter(
            [0] * len(unknown), performance, color=MUTED, marker="_", s=48, label="area unknown", clip_on=False
        )
    axes.set_xlim(0)
    axes.set_ylim(0)
    axes.set_xlabel("area, mm²", color=INK)
    axes.set_ylabel("performance, relative", color=INK)
    axes.grid(color=GRID)
    axes.legend(frameon=False, fontsize=8)
    return figure
