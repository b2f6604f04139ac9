"""Pictures of the RTL units: the parts in a unit's source, and the waveform of a test's run, from `results/rtl-waves.json`."""

from __future__ import annotations

import re
import textwrap
from itertools import pairwise
from typing import Any

from polyfabric.reports.drawing import Drawing

from . import results

RESULT = "rtl-waves"
RTL = results.ROOT / "rtl"
_WIDTH, _LEFT, _RIGHT, _ROW = 860, 96, 836, 30
_LETTERS = 126
"""Letters in a line of the ports' text."""
_DIGITS = 3
"""Hexadecimal digits of a word that are shown, the lowest."""


def units() -> list[str]:
    """The units with a recorded run."""
    return list(results.read(RESULT)["data"])


def draw(unit: str) -> Drawing:
    """Parts and waveform of a unit."""
    found = results.read(RESULT)["data"][unit]
    cycles, parts = found["cycles"], _parts(unit)
    ports = [*_ports(unit), *(["Parts, in the order of the source:"] if parts else [])]
    top = 62 + 16 * len(ports) + (62 if parts else 0)
    d = Drawing(_WIDTH, top + 5 * _ROW + 34, f"{unit}: its parts and a simulated run")
    d.text(24, 28, f"{unit}, simulated", size=16, bold=True, anchor="start")
    for number, line in enumerate(ports):
        d.text(24, 50 + 16 * number, line, size=12, anchor="start", kind="faint")
    if parts:
        _chain(d, parts, 54 + 16 * len(ports))
    _waves(d, cycles, top)
    latency = next(cycle[0] for cycle in cycles if cycle[3]) - next(cycle[0] for cycle in cycles if cycle[1])
    told = f"first output {latency} cycle{'' if latency == 1 else 's'} after the first input; data: the lowest {4 * _DIGITS} bits"
    d.text(_LEFT, top + 5 * _ROW + 22, told, size=11, anchor="start", kind="faint")
    d.text(
        _RIGHT,
        top + 5 * _ROW + 22,
        f"buses of {found['in_bytes']} and {found['out_bytes']} bytes",
        size=11,
        anchor="end",
        kind="faint",
    )
    return d


def _ports(unit: str) -> list[str]:
    """The fields of both buses, from the comment at the start of the unit's bench."""
    lines = (RTL / unit / "bench.sv").read_text(encoding="utf-8").splitlines()
    comment = " ".join(
        line.removeprefix("//").strip()
        for line in lines[: next(i for i, line in enumerate(lines) if not line.startswith("//"))]
    )
    return textwrap.wrap(comment, _LETTERS)


def _parts(unit: str) -> list[str]:
    """The modules that the unit's source instantiates, in its order."""
    source = (RTL / unit / f"{unit}.sv").read_text(encoding="utf-8")
    known = {folder.name for folder in RTL.iterdir() if (folder / f"{folder.name}.sv").is_file()} - {unit}
    return [name for name in dict.fromkeys(re.findall(r"^\s*(\w+)\s*#?\(", source, re.MULTILINE)) if name in known]


def _chain(d: Drawing, parts: list[str], top: float) -> None:
    # Many parts are drawn closer and smaller, so that no name is broken.
    gap, size = (16, 11) if len(parts) < 9 else (6, 9)
    wide = min((_RIGHT - 24 - gap * (len(parts) - 1)) / len(parts), 170)
    for number, part in enumerate(parts):
        x = 24 + (wide + gap) * number
        lines = textwrap.wrap(part.replace("_", " "), max(int((wide - 8) / (0.56 * size)), 6))
        d.box(x, top, wide, 40, kind="c")
        for at, line in enumerate(lines):
            d.text(x + wide / 2, top + 24 - 6.5 * (len(lines) - 1) + 13 * at, line, size=size)


def _waves(d: Drawing, cycles: list[list[Any]], top: float) -> None:
    """Clock, and valid flag and data of both buses. Two lines mark cycles that are left out."""
    gaps = [number for number, (a, b) in enumerate(pairwise(cycles), 1) if b[0] != a[0] + 1]
    wide = (_RIGHT - _LEFT) / (len(cycles) + len(gaps))
    starts = [_LEFT + wide * (number + sum(gap <= number for gap in gaps)) for number in range(len(cycles))]
    for row, name in enumerate(("cycle", "in_valid", "in_data", "out_valid", "out_data")):
        d.text(_LEFT - 10, top + _ROW * row + 20, name, size=12, anchor="end")
    for x, cycle in zip(starts, cycles, strict=True):
        d.text(x + wide / 2, top + 20, str(cycle[0]), size=10)
        d.rule(x, top + _ROW, x, top + 5 * _ROW, dashed=True)
    for row, flag, kind in ((1, 1, "a"), (3, 3, "b")):
        base = top + _ROW * (row + 1) - 6
        line: list[tuple[float, float]] = []
        for x, cycle in zip(starts, cycles, strict=True):
            level = base - 18 * cycle[flag]
            line += [(x, level), (x + wide, level)]
        d.curve(line, kind)
        for x, cycle in zip(starts, cycles, strict=True):
            if cycle[flag]:
                d.bar(
                    x + 1, base + _ROW - 18, wide - 2, 20, kind, faint=True, tip=f"cycle {cycle[0]}: {cycle[flag + 1]}"
                )
                d.text(x + wide / 2, base + _ROW - 4, cycle[flag + 1][-_DIGITS:], size=10)
    for gap in gaps:
        x = starts[gap] - wide / 2
        d.rule(x - 2, top + 6, x - 2, top + 5 * _ROW)
        d.rule(x + 2, top + 6, x + 2, top + 5 * _ROW)
