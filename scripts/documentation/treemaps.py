"""Area and power of a chip by component, as rectangles in proportion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from polyfabric.reports.drawing import COLOURS, Drawing

from .charts import named
from .machine_diagrams import description, figures, value_of

_WATTS = {"W": 1.0, "mW": 1e-3}
_WIDTH, _GAP, _HIGH = 860, 24, 250
Place = tuple[float, float, float, float]


def draw(name: str) -> Drawing:
    """The treemaps of a machine file's components."""
    machine = description(name)
    area, power = (_parts(machine, quantity) for quantity in ("area", "power"))
    d = Drawing(_WIDTH, 70 + _HIGH, f"Area and power of {machine['title']}, by component")
    wide = (_WIDTH - 3 * _GAP) / 2
    kinds = dict(zip(area, list(COLOURS) * len(area), strict=False))
    title = machine["title"].partition(",")[0]
    for left, parts, unit in ((_GAP, area, "mm²"), (2 * _GAP + wide, power, "W")):
        total = sum(parts.values())
        what = "area" if unit == "mm²" else "full power"
        d.text(left, 28, f"{title}, {what}: {total:.4g} {unit}", size=16, bold=True, anchor="start")
        for part, place in _squarified(list(parts.items()), (left, 44, wide, _HIGH)):
            _box(d, place, named(part), f"{parts[part]:.3g} {unit}", kinds.get(part, ""))
    return d


def _parts(machine: dict[str, Any], quantity: str) -> dict[str, float]:
    """Value of each component, the largest first."""
    found, parts = figures(machine), {}
    for name, part in machine["components"].items():
        figure = part.get(quantity, {})
        if figure.get("value", "unknown") != "unknown":
            count = value_of(str(part.get("count", 1)), found)
            parts[name] = figure["value"] * _WATTS.get(figure["unit"], 1.0) * count
    return dict(sorted(parts.items(), key=lambda item: -item[1]))


def _box(d: Drawing, place: Place, name: str, value: str, kind: str) -> None:
    """A rectangle with its name and value, in one to three lines, as far as they fit; the rest shows under the pointer."""
    x, y, wide, high = place
    d.bar(x, y, max(wide - 2, 0.5), max(high - 2, 0.5), f"box {kind}", tip=f"{name}: {value}")
    words = name.split(" ")
    for size, lines in (
        (12, [name, value]),
        (12, [*words, value]),
        (10, [name, value]),
        (10, [*words, value]),
        (10, words),
        (8, words),
    ):
        if wide > 0.62 * size * max(map(len, lines)) + 8 and high > 1.25 * size * len(lines) + 6:
            top = y + high / 2 - 1 - 0.625 * size * (len(lines) - 1) + 0.35 * size
            for number, line in enumerate(lines):
                bold = size == 12 and not (line == value and number)
                d.text(x + wide / 2 - 1, top + 1.25 * size * number, line, size=size, bold=bold)
            return


def _squarified(parts: Sequence[tuple[str, float]], place: Place) -> list[tuple[str, Place]]:
    """Rectangles as square as rows of decreasing parts allow."""
    parts = [part for part in parts if part[1] > 0]
    x, y, wide, high = place
    made: list[tuple[str, Place]] = []
    while parts:
        scale = wide * high / sum(value for _, value in parts)
        side = min(wide, high)
        count = min(range(1, len(parts) + 1), key=_worst(parts, scale, side))
        row, parts = parts[:count], parts[count:]
        thick = sum(value for _, value in row) * scale / side
        at = y if wide >= high else x
        for name, value in row:
            long = value * scale / thick
            made.append((name, (x, at, thick, long) if wide >= high else (at, y, long, thick)))
            at += long
        if wide >= high:
            x, wide = x + thick, wide - thick
        else:
            y, high = y + thick, high - thick
    return made


def _worst(parts: Sequence[tuple[str, float]], scale: float, side: float) -> Callable[[int], float]:
    """The largest ratio of sides in a row of that many parts; the row stops before it gets worse."""

    def ratio(count: int) -> float:
        values = [value * scale for _, value in parts[:count]]
        thick = sum(values) / side
        return max(max(thick * thick / value, value / (thick * thick)) for value in values)

    best, stops = ratio(1), 1
    while stops < len(parts) and ratio(stops + 1) <= best:
        stops += 1
        best = ratio(stops)
    return lambda count: abs(count - stops)
