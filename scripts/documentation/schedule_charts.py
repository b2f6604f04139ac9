"""Charts of `results/small-schedules.json`: a timeline of each machine, a roofline of all, and failure probability by transform width."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from polyfabric.reports.drawing import COLOURS, Drawing

from . import results
from .charts import KINDS
from .machine_diagrams import NAMES

_WIDTH, _LEFT, _RIGHT = 860, 188, 820
_ACCENTS = "".join(COLOURS)


RESULT = "small-schedules"


def _data() -> dict[str, Any]:
    return results.read(RESULT)["data"]


def timeline(name: str) -> Drawing:
    """The units of a machine in a small schedule, over cycles."""
    found = _data()["timelines"][name]
    rows, first, last = found["rows"], found["first"], found["last"]
    title = next(each for each in NAMES if each.lower() == name)
    d = Drawing(_WIDTH, 92 + 26 * len(rows), f"Timeline of {title}: {found['program']}")
    d.text(24, 28, f"{title}: {found['program']}", size=16, bold=True, anchor="start")
    bottom = 44 + 26 * len(rows)
    scale = (_RIGHT - _LEFT) / (last - first)
    step = _step((last - first) / 6)
    for cycle in range(-(-first // step) * step, last, step):
        x = _LEFT + (cycle - first) * scale
        d.rule(x, 44, x, bottom)
        d.text(x, bottom + 16, f"{cycle:,}", size=11)
    d.text(_RIGHT, bottom + 34, f"cycles of {1e9 / found['clock_hz']:.3g} ns", size=11, anchor="end", kind="faint")
    groups = _groups(rows)
    for number, (unit, events) in enumerate(rows.items()):
        top = 48 + 26 * number
        d.text(_LEFT - 10, top + 14, unit.replace("_", " "), size=12, anchor="end")
        for start, end, group in events:
            kind, faint = groups(group)
            wide = max((end - start) * scale - 0.4, 0.6)
            d.bar(_LEFT + (start - first) * scale, top, wide, 19, kind, faint=faint)
    legend = "a color is a kind of unit" if isinstance(_some(rows), str) else _LOOKUPS
    d.text(24, bottom + 34, legend, size=11, anchor="start", kind="faint")
    return d


_LOOKUPS = "a color is a ciphertext of the unit, pale in every second iteration; gray is the key, for all ciphertexts"


def _some(rows: dict[str, list[list[Any]]]) -> Any:  # noqa: ANN401 - a group is a name or a pair
    return next(event[2] for events in rows.values() for event in events)


def _groups(rows: dict[str, list[list[Any]]]) -> Callable[[Any], tuple[str, bool]]:
    """Color and paleness of a group of events."""
    every = [event[2] for events in rows.values() for event in events]
    if isinstance(every[0], str):
        names = list(dict.fromkeys(every))
        return lambda group: (_ACCENTS[names.index(group) % len(_ACCENTS)], False)
    ciphertexts = sorted({ciphertext for _, ciphertext in every if ciphertext >= 0})
    first = min(iteration for iteration, _ in every if iteration >= 0)

    def of(group: list[int]) -> tuple[str, bool]:
        iteration, ciphertext = group
        if ciphertext < 0 or iteration < 0:
            return "faint", False
        return _ACCENTS[ciphertexts.index(ciphertext) % len(_ACCENTS)], (iteration - first) % 2 == 1

    return of


def _step(least: float) -> int:
    """The next of 1, 2, 5, 10, 20 and so on."""
    power = 10 ** math.floor(math.log10(least))
    return int(next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least))


def roofline() -> Drawing:
    """Use of the busiest unit by operations per byte, relative to the ridge, where units and memory are busy equally long."""
    d = Drawing(_WIDTH, 440, "Roofline of every machine")
    left, right, top, bottom, least, most = 80, 836, 96, 370, 1 / 8, 64
    d.text(24, 28, "how busy is the busiest unit, and what limits it?", size=16, bold=True, anchor="start")

    def x(ratio: float) -> float:
        return left + (right - left) * math.log(ratio / least) / math.log(most / least)

    def y(share: float) -> float:
        return top - (bottom - top) * math.log(share) / math.log(8)

    for share in (0.125, 0.25, 0.5, 1):
        d.rule(left, y(share), right, y(share), dashed=True)
        d.text(left - 8, y(share) + 4, f"{100 * share:g} %", size=12, anchor="end")
    for ratio in (0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64):
        d.text(x(ratio), bottom + 20, f"{ratio:g}", size=12)
    d.curve([(x(1 / 8), y(1 / 8)), (x(1), y(1)), (x(most), y(1))])
    d.text(x(0.3), y(0.62), "limited by memory", size=12, kind="faint")
    d.text(x(10), y(0.6), "limited by units", size=12, kind="faint")
    d.text((left + right) / 2, bottom + 42, "operations a byte over those at the ridge", size=12, kind="faint")
    marks = [(row, x(row["busy"] / row["memory"]), y(row["busy"])) for row in _data()["rooflines"]]
    taken = [(x(1), y(1) - 3, right, y(1) + 3)]
    taken += [(at - 5, high - 5, at + 5, high + 5) for _, at, high in marks]
    for names, at, high in _together(marks):
        kind = KINDS[next(each for each in NAMES if each.lower() == names[0][0])]
        text = _joined([program for _, program in names])
        d.dot(at, high, kind, tip=f"{names[0][0]}: {text}")
        place = _free(text, at, high, taken)
        d.text(place[0], place[1], text, size=12, anchor="start", kind=f"t{kind}")
    for number, name in enumerate(NAMES):
        d.dot(360 + 96 * number, 50, KINDS[name])
        d.text(370 + 96 * number, 54, name, size=12, anchor="start")
    return d


def _together(marks: Sequence[tuple[dict[str, Any], float, float]]) -> list[tuple[list[tuple[str, str]], float, float]]:
    """Points of one machine less than 4 pixels apart, as one."""
    made: list[tuple[list[tuple[str, str]], float, float]] = []
    for row, x, y in marks:
        name = (row["machine"], row["program"])
        near = next((m for m in made if m[0][0][0] == name[0] and math.hypot(m[1] - x, m[2] - y) < 4), None)
        if near is None:
            made.append(([name], x, y))
        else:
            near[0].append(name)
    return made


def _joined(programs: Sequence[str]) -> str:
    """Programs of a point: of one with several sets its name with the sets."""
    names = {program.partition("@")[0] for program in programs}
    sets = [program.partition("@")[2].rpartition("-")[2] for program in programs]
    if len(names) > 1 or not all(sets) or not sets[0].startswith("I"):
        return ", ".join(programs)
    return f"{names.pop()}, set{'s' if len(sets) > 1 else ''} {', '.join(sets)}"


def _free(text: str, x: float, y: float, taken: list[tuple[float, float, float, float]]) -> tuple[float, float]:
    """The start of a label near a point, where it covers neither another one nor a point."""
    wide, high = 7 * len(text), 14
    sides = [(dx, dy) for dy in (0, -14, 18, -30, 32) for dx in (8, -wide / 2, -8 - wide, 24, 48)]
    for dx, dy in sides:
        left, middle = x + dx, y + dy
        box = (left, middle - high / 2, left + wide, middle + high / 2)
        inside = left > 80 and left + wide < _WIDTH - 10
        if inside and not any(
            box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3] for other in taken
        ):
            taken.append(box)
            return left, middle + 4
    raise ValueError(f"no place for the label {text}")


def widths() -> Drawing:
    """Failure probability of a lookup on FPT's pipeline by the width of its transforms, and by the cost of their multipliers."""
    rows = _data()["widths"]
    sets = list(dict.fromkeys(row["set"] for row in rows))
    d = Drawing(_WIDTH, 380, "Failure probability of a lookup by the width of fixed-point transforms, and by its cost")
    d.text(24, 28, "failure probability of a lookup in fixed-point arithmetic", size=16, bold=True, anchor="start")
    top, bottom, worst = 60, 310, -480

    def y(log2: float) -> float:
        return top + (bottom - top) * log2 / worst

    panels = (
        ("forward_bits", "bits of the forward transform", 80, [24, 28, 32, 36, 40], 22.0, 41.0),
        ("cells", "multipliers' cells over those of the derived widths", 490, [0.4, 0.6, 0.8, 1], 0.37, 1.16),
    )
    for key, name, left, ticks, least, most in panels:
        right = left + 346

        def x(value: float, left: float = left, least: float = least, most: float = most) -> float:
            return left + 346 * (value - least) / (most - least)

        for log2 in range(0, worst - 1, -80):
            d.rule(left, y(log2), right, y(log2), dashed=log2 != 0)
            d.text(left - 8, y(log2) + 4, f"2^{log2}" if log2 else "1", size=12, anchor="end")
        for tick in ticks:
            d.text(x(tick), bottom + 18, f"{tick:g}", size=12)
        d.text((left + right) / 2, bottom + 38, name, size=12, kind="faint")
        for name_of, kind in zip(sets, _ACCENTS, strict=False):
            own = [row for row in rows if row["set"] == name_of]
            d.curve([(x(row[key]), y(row["log2_failure"])) for row in own], kind)
            for row in own:
                is_derived = row["cells"] == 1
                tip = f"{name_of}, {row['forward_bits']} bits: 2^{row['log2_failure']:.0f}"
                d.dot(x(row[key]), y(row["log2_failure"]), kind, hollow=not is_derived, tip=tip)
    for number, (name_of, kind) in enumerate(zip(sets, _ACCENTS, strict=False)):
        d.dot(90 + 110 * number, 366, kind)
        d.text(100 + 110 * number, 370, name_of, size=12, anchor="start")
    d.text(836, 370, "filled: the derived widths", size=12, anchor="end", kind="faint")
    return d
