"""Figure 13: modular multiplications a byte and a second, of Osiris' programs.

Counted are the multiplications that multipliers do: two a butterfly, as each has one multiplier for the factor and one for the product (section
IV-B), and every product of residues elsewhere, those of base conversion included. On-the-fly limbs count with their transforms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING, Any

from ..errors import Error
from .rows import Reading, calibrated, failed, named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TWO_A_BUTTERFLY: Reading = {
    "name": "a butterfly counts two multiplications",
    "evidence": "section IV-B: each butterfly has two modular multipliers, and table IV counts multipliers",
}
"""The note for every count of multiplications."""

ALL_MULTIPLIERS: Reading = {
    "name": "utilisation is of the 73 multipliers a lane that the units as described have",
    "evidence": "sections IV-B, IV-C, IV-E and V; table IV counts fewer",
}
"""The note for every utilization, whose value depends on the count of multipliers."""

LANES, MULTIPLIERS, CLOCK = 512, 73, 1e9
"""Lanes of the machine, multipliers per lane as its units need them (docs), and cycles per second."""

COUNT, INTENSITY, USE = "modular multiplications", "multiplications a byte", "multiplier utilisation"
"""The subjects of rows."""

BENCHMARKS = ("MLP", "LoLA", "LeNet", "Bootstrap", "HELR-1024", "ResNet-20", "Sorting")
"""The seven of figure 13 (a)."""

_BYTES_A_SECOND = {"1TB": 1e12, "2TB": 2e12, "4TB": 4e12}


@dataclass
class Multiplications:
    """Modular multiplications of schedules, and the bytes that they move."""

    lanes: int = LANES
    transforms: float = 0.0
    products: float = 0.0
    traffic: float = 0.0

    def add(self, facts: dict[str, Any], report: dict[str, Any]) -> None:
        """The work of a program's checked schedule."""
        self.schedule(facts["parameters"]["ring_degree"], report)
        self.program(1, facts)

    def schedule(self, degree: int, report: dict[str, Any]) -> None:
        """Transforms and bytes of a checked schedule, from the work of the NTT units."""
        residues = 2 * self.lanes * report["utilisation"]["ntt"] * report["cycles"]
        self.transforms += residues * log2(degree)
        self.traffic += report["traffic_bytes"]["total"]

    def program(self, count: int, facts: dict[str, Any]) -> None:
        """All other multiplications of a program that occurs that often."""
        self.products += count * facts["parameters"]["ring_degree"] * facts["limb_operations"]["multiplies"]

    @property
    def all(self) -> float:
        """The multiplications of all units."""
        return self.transforms + self.products

    def share(self, seconds: float) -> float:
        """As a share of the capacity of all multipliers in that time."""
        return self.all / (self.lanes * MULTIPLIERS * CLOCK * seconds)


def ridge(bandwidth: str, lanes: int = LANES) -> float:
    """Multiplications per byte at which memory and multipliers are both always busy."""
    return lanes * MULTIPLIERS * CLOCK / _BYTES_A_SECOND[bandwidth]


def roofline(
    name: str,
    hoisting: str,
    bandwidth: str,
    work: Multiplications,
    seconds: float,
    readings: list[Reading],
    why: str,
) -> list[dict[str, Any]]:
    """Rows of figure 13, for which the paper prints no numbers: multiplications, intensity, and the multipliers' utilization. They are calibrated,
    as the time is, for the reason `why`."""
    intensity, share = work.all / work.traffic, work.share(seconds)
    reason = (
        f"{work.all:.4g} multiplications, {work.transforms / work.all:.0%} of them in transforms, and {work.traffic / 1e9:.4g} GB; "
        f"{work.all / seconds / 1e12:.3g} T a second; the ridge is at {ridge(bandwidth, work.lanes):.3g}"
    )
    where = f"{name}, {hoisting} hoisting, {bandwidth[0]} TB/s"
    counted = [*readings, TWO_A_BUTTERFLY]
    cells = (
        (COUNT, "G", work.all / 1e9, counted),
        (INTENSITY, "1/byte", intensity, counted),
        (USE, "%", 100 * share, [*counted, ALL_MULTIPLIERS]),
    )
    rows = []
    for what, unit, value, given in cells:
        place = ["Figure 13", f"{where}: {what}", unit]
        rows.append(calibrated("figure13", value, "; ".join([why, *named(given), reason]), place))
    return rows


def no_point(name: str, hoisting: str, bandwidth: str, error: Error) -> dict[str, Any]:
    """The row of a failed schedule that only gives points of the figure."""
    return failed("figure13", error, ["Figure 13", f"{name}, {hoisting} hoisting, {bandwidth[0]} TB/s: {COUNT}", "G"])


def points(rows: Sequence[dict[str, Any]], what: str) -> dict[tuple[str, str, str], float]:
    """Intensities or utilizations of the figure's rows, by program, hoisting and TB/s."""
    found = {}
    for row in rows:
        place = _CELL.fullmatch(row["beside"][1]) if row["id"] == "figure13" and row["value"] is not None else None
        if place is not None and place["what"] == what:
            found[place["name"], place["hoisting"], place["bandwidth"]] = row["value"]
    return found


def least_and_most(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Figure 13 (a): the range of the seven benchmarks' utilizations with double hoisting, at both bandwidths."""
    found = {
        f"{name} at {bandwidth} TB/s": value
        for (name, hoisting, bandwidth), value in points(rows, USE).items()
        if hoisting == "double" and name in BENCHMARKS
    }
    if not found:
        return []
    ends = (("least", min(found, key=found.__getitem__)), ("most", max(found, key=found.__getitem__)))
    names = "; ".join(named([TWO_A_BUTTERFLY, ALL_MULTIPLIERS]))
    why = f"calibrated, as most of the {len(found)} rows of the benchmarks with double hoisting are"
    return [calibrated(f"figure13.utilisation.{end}", found[of], f"{why}; {names}; that of {of}") for end, of in ends]


_CELL = re.compile(
    rf"(?P<name>.+), (?P<hoisting>\w+) hoisting, (?P<bandwidth>[\d.]+) TB/s: (?P<what>{INTENSITY}|{USE})"
)
_PEAK = LANES * MULTIPLIERS * CLOCK / 1e12
"""The peak of all multipliers: multiplications per picosecond."""


def drawings(rows: list[dict[str, Any]]) -> list[tuple[str, Figure]]:
    """Figure 13: the programs with double hoisting, and the one with all three, under the roofs of memory and multipliers."""
    from matplotlib.figure import Figure

    drawn: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in rows:
        found = _CELL.fullmatch(row["cell"]) if row["table"] == "Figure 13" and row["model"] is not None else None
        if found is not None:
            drawn.setdefault(found.group("name", "hoisting", "bandwidth"), {})[found["what"]] = row["model"]
    whole = {place: figures for place, figures in drawn.items() if figures.keys() == {INTENSITY, USE}}
    if not whole:
        return []
    figure = Figure(figsize=(12.5, 6), layout="constrained")
    left, right = figure.subplots(1, 2)
    _roofs(left, {place: figures for place, figures in whole.items() if place[1] == "double"}, 0)
    _roofs(right, {place: figures for place, figures in whole.items() if place[0] == "ResNet-20"}, 1)
    for axes, title in ((left, "double hoisting"), (right, "ResNet-20 by hoisting")):
        axes.set_title(f"Figure 13: {title}", loc="left", fontsize=10, fontweight="bold")
    return [("Figure 13: multiplications of a schedule by its traffic; lines are the roofs.", figure)]


_ROOM = (0.55, 0.08)
"""The size of a name on the axes, in doublings: from left to right, and from top to bottom."""


def _apart(own: list[tuple[float, float]], others: list[tuple[float, float]], way: int) -> list[tuple[float, float]]:
    """Positions of the names of points, from the highest down: next to its point, on the right (`way` is 1) or on the left (-1), or the least distance
    below that avoids the other names and points. In doublings, as the points."""
    wide, high = _ROOM
    places: dict[int, tuple[float, float]] = {}

    def is_free(x: float, y: float, itself: int) -> bool:
        points = [*(point for number, point in enumerate(own) if number != itself), *others]
        return not any(abs(x - left) < wide and abs(y - top) < high for left, top in places.values()) and not any(
            -0.05 < way * (left - x) < wide and abs(y - top) < high for left, top in points
        )

    for number in sorted(range(len(own)), key=lambda number: -own[number][1]):
        x, y = own[number]
        while not is_free(x, y, number):
            y -= high / 8
        places[number] = x, y
    return [places[number] for number in range(len(own))]


def _mark(figures: dict[str, float]) -> tuple[float, float]:
    return figures[INTENSITY], figures[USE] / 100 * _PEAK


def _roofs(axes: Axes, points: dict[tuple[str, str, str], dict[str, float]], label: int) -> None:
    """Points by multiplications per byte and per second; `label` is the part of a place that names them, on one side with each bandwidth."""
    bandwidths = sorted({place[2] for place in points})
    looks = ("#2f6db3", "left", 4), ("#d9822b", "right", -4), ("#5b8c5a", "left", 4)
    for bandwidth, (colour, side, gap) in zip(bandwidths, looks, strict=False):
        at_ridge = _PEAK / float(bandwidth)
        ends = [at_ridge / 16, at_ridge, 4 * at_ridge]
        axes.plot(ends, [min(_PEAK, at * float(bandwidth)) for at in ends], color=colour, label=f"{bandwidth} TB/s")
        own = {place: figures for place, figures in points.items() if place[2] == bandwidth}
        marks = [_mark(figures) for figures in own.values()]
        others = [_mark(figures) for place, figures in points.items() if place[2] != bandwidth]
        in_doublings, of_others = ([(log2(at), log2(height)) for at, height in each] for each in (marks, others))
        names = _apart(in_doublings, of_others, 1 if side == "left" else -1)
        for place, (at, height), (x, y) in zip(own, marks, names, strict=True):
            axes.plot([at], [height], marker="o", markersize=5, linestyle="", color=colour)
            axes.annotate(
                place[label].removesuffix(",a/s"),
                (2**x, 2**y),
                textcoords="offset points",
                xytext=(gap, -3),
                ha=side,
                fontsize=7,
                color=colour,
            )
    every = [_mark(figures) for figures in points.values()]
    if every:
        axes.set_xlim(min(at for at, _ in every) / 2, 2 * _PEAK / float(bandwidths[0]))
        axes.set_ylim(min(height for _, height in every) / 1.4, 1.3 * _PEAK)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xlabel("modular multiplications a byte", fontsize=9)
    axes.set_ylabel("T modular multiplications a second", fontsize=9)
    axes.grid(color="#e4e7eb")
    axes.legend(frameon=False, fontsize=8)
