"""The papers' figures, drawn from the rows of a comparison: the model's values with the published ones as marks.

A row with a `point` belongs to the figure that its table names. `PLACES` finds the places of the other rows by their cells. A figure's published
values are those of its rows: a value that the paper shows only as a curve, or that is withheld, has no mark, and the caption says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
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


_STEPS = r"(?P<babies>\d+) x (?P<giants>\d+) steps"
_HOISTING = "(?P<at>(no|single|double|fastest) hoisting)"
_LANES = "lanes and TB/s"

PLACES: dict[str, tuple[Place, ...]] = {
    "fpt": (
        *(
            Place("Figure 3", "DSP blocks", "Figure 3a", cell, "points a cycle", curve=curve, kind="curves")
            for cell, curve in (
                (r"negacyclic transform of 256 points, (?P<at>\d+) a cycle, DSP", "negacyclic, changed"),
                (r"cyclic transform of 256 points, (?P<at>\d+) a cycle, DSP", "cyclic, changed"),
                (r"cyclic transform of 256 points before the changes, (?P<at>\d+) a cycle, DSP", "cyclic, before"),
            )
        ),
        Place(
            "Figure 3",
            "DSP blocks saved",
            "Figure 3a",
            r"DSP blocks saved in cyclic transforms, (?P<at>\d+) points a cycle",
            "points a cycle",
            kind="curves",
        ),
        Place(
            "Figure 3",
            "DSP blocks saved",
            "Figure 3a",
            "DSP blocks saved .* by the changes of section 3.4",
            "points a cycle",
            64.0,
            kind="curves",
        ),
        Place(
            "Figure 3",
            "throughput per resource",
            "Figure 3b",
            r"throughput per DSP block, (?P<at>\d+) points a cycle, more than with 2",
            "points a cycle",
            curve="DSP",
            kind="curves",
        ),
        Place(
            "Figure 3",
            "throughput per resource",
            "Figure 3b",
            "throughput per (?P<curve>DSP|LUT).* more by up to",
            "points a cycle",
            256.0,
            "{curve}",
            "curves",
        ),
        Place(
            "Figure 4",
            "resources over those at 53 bits",
            "Figure 4",
            r"(?P<curve>DSP) at (?P<at>\d+) bits over 53",
            "width, bits",
            curve="{curve}",
            kind="curves",
        ),
        Place(
            "Figure 4",
            "resources over those at 53 bits",
            "Figure 4",
            "(?P<curve>DSP|LUT).* at widths below 24 bits over those at 53",
            "width, bits",
            23.0,
            "{curve}",
            "curves",
        ),
    ),
    "strix": (
        Place(
            "Figure 7",
            "execution time",
            "Figure 7",
            r"(?P<at>NN-\d+, N = \d+), execution time",
            "network and ring degree",
            curve="key switch {key_switch} the rotation",
        ),
        Place(
            "Figure 8",
            "busy units",
            "Figure 8",
            "(?P<at>[A-Za-z ]+), share of the time.*",
            "",
            curve="3 ciphertexts a core, iterations 1 and 2",
        ),
        *(
            Place("Table VII", panel, "Table VII", rf"(?P<at>TvLP \d+, CLP \d+), {cell}", "", curve=curve)
            for panel, cell, curve in (
                ("throughput", "throughput", "model"),
                ("latency", "latency", "model"),
                ("required bandwidth", r"required bandwidth( \(section VI-C.*\))?", "as scheduled"),
                ("required bandwidth", "required bandwidth of one that streams without a gap", "without a gap"),
                ("required bandwidth", "required bandwidth with one ciphertext a core", "one ciphertext a core"),
            )
        ),
    ),
    "morphling": (
        *(
            Place("Figure 7", "parts of the latency, set I", "Figure 7a", cell, "", at, curve, "parts")
            for cell, at, curve in (
                ("share of the XPU in the latency", "bootstrap", "XPU"),
                ("the XPU dominates .*", "bootstrap and key switch", "XPU"),
                ("pbs of set I: share of (?P<curve>.+) in the latency", "bootstrap", "{curve}"),
                (r"pbs\+ks of set I: share of (?P<curve>.+) in the latency", "bootstrap and key switch", "{curve}"),
            )
        ),
        Place(
            "Figure 7",
            "throughput, 6 transform units pooled",
            "Figure 7b",
            "(?P<at>set .): throughput, (?P<what>no reuse|input reuse|input and output reuse|both reuses and merge-split), 6.*",
            "",
            curve="{what}",
        ),
        Place(
            "Figure 7",
            "speed-up",
            "Figure 7b",
            "set (?P<set>.): (?P<what>.*) over (no reuse|none)",
            "",
            "{set}: {what}",
            "{reading}",
        ),
    ),
    "f1": (
        Place(
            "Figure 9",
            "(a) traffic",
            "Figure 9a",
            r"(?P<at>[a-z-]+), (?P<curve>(key-switch hints|inputs|intermediates)(, | and ).*)",
            "",
            curve="{curve}",
            kind="shares",
        ),
        Place(
            "Figure 9",
            "(b) power",
            "Figure 9b",
            r"(?P<at>[a-z-]+), (?P<curve>(?!total)[a-z ]+)",
            "",
            curve="{curve}",
            kind="parts",
        ),
        Place(
            "Figure 9",
            "(b) share of computation in the power",
            "Figure 9b",
            "(?P<at>.*), computation's share of the power",
            "",
        ),
    ),
    "osiris": (
        *(
            Place(
                "Figure 10",
                name,
                r"Table III \(.\)",
                rf"{name}, {_HOISTING}, (?P<rate>\d) TB/s",
                "",
                curve="{rate} TB/s",
            )
            for name in ("Bootstrap", "ResNet-20")
        ),
        Place(
            "Figure 11",
            "(a) fastest steps of each level",
            r"Figure 11 \(a\)",
            rf"64 diagonals, level (?P<at>\d+), {_STEPS}",
            "level",
            kind="curves",
        ),
        Place(
            "Figure 11",
            "(b) steps at level 12",
            r"Figure 11 \(b\)",
            rf"64 diagonals, level 12, {_STEPS}",
            "baby x giant steps",
            "{babies} x {giants}",
        ),
        Place(
            "Figure 12",
            "(a) order of the work, 1 TB/s",
            r"Figure 12 \(a\)",
            "ResNet-20, double hoisting, 1 TB/s: (?P<at>.*)",
            "",
        ),
        Place(
            "Figure 12",
            "(a) order of the work, 1 TB/s",
            r"Table III \(a\)",
            "ResNet-20, double hoisting, 1 TB/s",
            "",
            "interleaved, giant-step-centric, divisions fused",
        ),
        *(
            Place("Figure 12", "(b) lanes and bandwidth", table, f"ResNet-20, {cell}", _LANES, at)
            for table, cell, at in (
                (r"Table III \(a\)", "double hoisting, 1 TB/s", "512, 1"),
                (r"Table III \(b\)", "double hoisting, 2 TB/s", "512, 2"),
                (r"Figure 12 \(b\)", "double hoisting, 512 lanes, 4 TB/s", "512, 4"),
                (r"Figure 12 \(b\)", "1024 lanes, 2TB/s", "1024, 2"),
            )
        ),
    ),
}

CAPTIONS = {
    ("fpt", "Figure 3"): "transforms of 256 points by their number of points a cycle; the count has no LUTs.",
    ("fpt", "Figure 4"): "a transform of 256 points by the width of its variables; the count has no LUTs.",
    ("fpt", "Figure 5"): "noise of an external product by the fractional bits of one part, while the others are wide.",
    ("strix", "Figure 7"): "one inference of Deep-NN.",
    ("strix", "Figure 8"): "the paper draws a timing diagram; these are the shares of time that its text gives.",
    ("strix", "Table VII"): "cores (TvLP) against lanes (CLP) with set IV and 300 GB/s.",
    ("morphling", "Figure 7"): "parts of the latency, and the gains of transform-domain reuse.",
    ("morphling", "Figure 8"): "size of Private-A1 and number of XPUs.",
    ("f1", "Figure 9"): "traffic to memory by class, and power by component.",
    ("f1", "Figure 10"): "utilization of units and memory over the time of LoLa-MNIST.",
    ("f1", "Figure 11"): "performance against area, where clusters, banks and memory stacks grow together.",
    (
        "osiris",
        "Figure 10",
    ): "latency; the paper scales it to that of other accelerators, whose latencies it does not print.",
    ("osiris", "Figure 11"): "a matrix-vector product with 64 diagonals.",
    ("osiris", "Figure 12"): "ResNet-20 without the paper's optimizations, and with more lanes and bandwidth.",
}


def of(paper: str, rows: Sequence[Row]) -> list[tuple[str, Figure]]:
    """(caption, figure) for every figure of the paper of which the rows have a value of the model."""
    made = []
    for name, found in sorted(_figures(paper, rows).items(), key=lambda item: _number(item[0])):
        points = [point for panel in found for point in panel.points]
        if all(point.model is None for point in points):
            continue
        alone = not any(point.is_published for point in points) and not any(panel.marks for panel in found)
        told = "The paper prints no numbers of it: the model's alone." if alone else "Marks are published values."
        made.append((f"{name}: {CAPTIONS.get((paper, name), 'the model by its rows.')} {told}", panels.draw(found)))
    return made


def _number(figure: str) -> tuple[str, int]:
    name, _, number = figure.rpartition(" ")
    return name, int(number) if number.isdigit() else 0


def _figures(paper: str, rows: Sequence[Row]) -> dict[str, list[Panel]]:
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
    for place in PLACES.get(paper, ()):
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
