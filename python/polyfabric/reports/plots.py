"""Plots, as matplotlib figures."""

from __future__ import annotations

import re
import textwrap
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.figure import Figure

from ..errors import FileError
from ..host.files import write_bytes
from ..host.units import bytes_text, percent, scaled, words
from . import contest, rows, sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from . import Report

INK, MUTED, GRID = "#1f2933", "#7b8794", "#e4e7eb"
BLUE, AMBER = "#2f6db3", "#d9822b"
LONGEST_LABEL = 54
"""Characters per line of a bar's label."""
WAITS = (
    AMBER,
    "#f0c48a",
    "#5b8c5a",
    "#a7cba5",
    "#8d6cab",
    "#c9b6dc",
    "#c0504d",
    "#e8a9a7",
    "#7b8794",
    "#b8c2cc",
    "#e4e7eb",
)


def expect_kind(path: Path) -> None:
    """Rejects file names without a supported extension."""
    kinds = FigureCanvasBase.get_supported_filetypes()
    kind = path.suffix.lower().removeprefix(".")
    if kind not in kinds:
        raise FileError(
            f"{path}: plots cannot be written as {kind or 'a file without an extension'}; use .svg, .pdf or .png"
        )


def write(figure: Figure, path: Path) -> None:
    """Writes a figure to a file, completely or not at all."""
    expect_kind(path)
    drawn = BytesIO()
    figure.savefig(drawn, format=path.suffix.lower().removeprefix("."))
    write_bytes(path, drawn.getvalue())


def file_name(caption: str) -> str:
    """The name of a plot's file: the start of its caption, as in figure-7."""
    return re.sub(r"[^a-z0-9]+", "-", re.split(r"[:.,]", caption)[0].lower()).strip("-")


def of(report: Report) -> list[tuple[str, Figure]]:
    """(caption, figure) of a report."""
    data = report.to_dict()
    if report.kind == "simulation":
        figures = [
            ("Where the cycles went: the categories exclude each other and sum to the total.", _stalls(data)),
            ("Share of the time at work.", _utilisation(data)),
            ("Traffic between chip and memory.", _traffic(data)),
        ]
        if any(c["energy_j"] for c in data["components"]):
            figures.append(("Energy by component.", _energy(data)))
        return figures
    if report.kind == "cost":
        return [("Sizes.", _sizes(data))]
    if report.kind in ("slot cost", "operations", "trials"):
        return []
    if report.kind == "exploration":
        return [("Performance against area.", sweep.plot(data))]
    if report.kind == "comparison":
        return [("Throughput, and throughput per area, power and memory bandwidth.", contest.plot(data))]
    figure = _deviation(data)
    deviation = [] if figure is None else [("Deviation of the model from the published figure.", figure)]
    return [*deviation, *([] if report.drawings is None else report.drawings())]


def _bars(
    labels: list[str], values: list[float], texts: list[str], *, colours: list[str] | str = BLUE, title: str
) -> Figure:
    figure = Figure(figsize=(7.2, 0.6 + 0.32 * max(1, len(labels))), layout="constrained")
    axes = figure.add_subplot()
    positions = range(len(labels))
    axes.barh(positions, values, color=colours, height=0.66)
    axes.set_yticks(positions, labels, color=INK, fontsize=9)
    axes.invert_yaxis()
    reach = max([abs(v) for v in values], default=0) or 1
    for position, value, text in zip(positions, values, texts, strict=True):
        axes.annotate(
            text,
            (max(value, 0), position),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=MUTED,
            fontsize=8,
        )
    axes.set_xlim(min([0, *values]) * 1.1, reach * 1.22)
    _plain(axes, title)
    return figure


def _plain(axes: Axes, title: str) -> None:
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.spines["left"].set_color(GRID)
    axes.tick_params(length=0)
    axes.set_xticks([])
    axes.set_title(title, loc="left", fontsize=10, color=INK, fontweight="bold")


def _stalls(d: dict[str, Any]) -> Figure:
    """One bar per unit class, divided by category."""
    classes = d["stalls_by_class"] or [{"class": "all", "cycles": d["stalls"]}]
    used = [name for name in classes[0]["cycles"] if any(c["cycles"][name] > 0 for c in classes)]
    categories = sorted(used, key=lambda name: name != "busy")
    colour = {name: WAITS[index % len(WAITS)] for index, name in enumerate(classes[0]["cycles"])} | {"busy": BLUE}
    figure = Figure(figsize=(7.2, 1.5 + 0.4 * len(classes)), layout="constrained")
    axes = figure.add_subplot()
    start = [0.0] * len(classes)
    for category in categories:
        shares = [100 * c["cycles"][category] / d["cycles"] for c in classes]
        axes.barh(
            range(len(classes)),
            shares,
            left=start,
            color=colour[category],
            label=words(category),
            height=0.6,
        )
        start = [a + b for a, b in zip(start, shares, strict=True)]
    axes.set_yticks(range(len(classes)), [words(c["class"]) for c in classes], fontsize=9, color=INK)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    _plain(axes, f"cycles by cause, {d['cycles']:,} in all")
    axes.set_xticks(range(0, 101, 25), [f"{x} %" for x in range(0, 101, 25)], fontsize=8, color=MUTED)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=4, fontsize=8, frameon=False)
    return figure


def _utilisation(d: dict[str, Any]) -> Figure:
    items = rows.utilisation(d)
    return _bars(
        [words(name) for name, _ in items],
        [share for _, share in items],
        [percent(share) for _, share in items],
        title="utilisation",
    )


def _traffic(d: dict[str, Any]) -> Figure:
    items = [(k, v) for k, v in d["traffic_bytes"].items() if v and k != "total"]
    items.sort(key=lambda item: -item[1])
    return _bars(
        [words(k) for k, _ in items], [float(v) for _, v in items], [bytes_text(v) for _, v in items], title="traffic"
    )


def _energy(d: dict[str, Any]) -> Figure:
    items = [(c["name"], c["energy_j"]) for c in d["components"] if c["energy_j"]]
    if d.get("off_chip_energy_j"):
        items.append(("memory off chip", d["off_chip_energy_j"]))
    items.sort(key=lambda item: -item[1])
    return _bars(
        [words(k) for k, _ in items], [v for _, v in items], [scaled(v, "J") for _, v in items], title="energy"
    )


def _sizes(d: dict[str, Any]) -> Figure:
    items = [
        (words(k.removesuffix("_bytes")), d[k])
        for k in ("server_key_bytes", "server_key_compressed_bytes", "client_key_bytes", "input_bytes", "output_bytes")
    ]
    return _bars([k for k, _ in items], [float(v) for _, v in items], [bytes_text(v) for _, v in items], title="sizes")


def _deviation(d: dict[str, Any]) -> Figure | None:
    """Only predicted cells: inputs have no deviation."""
    compared = [r for r in d["rows"] if r["deviation"] is not None and r["kind"] != "input"]
    if not compared:
        return None
    return _bars(
        [textwrap.fill(f"{r['table']}: {r['cell']}", LONGEST_LABEL) for r in compared],
        [100 * r["deviation"] for r in compared],
        [f"{100 * r['deviation']:+.2f} %" for r in compared],
        colours=[BLUE if r["kind"] == "predicted" else AMBER for r in compared],
        title="model against paper",
    )
