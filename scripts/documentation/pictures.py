"""Draws the pictures of README and docs into `docs/pictures/`, from machine files and recorded results."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable

from polyfabric.reports.drawing import Drawing

from . import charts, diagrams, machine_diagrams, results, schedule_charts, treemaps, waves

FOLDER = results.ROOT / "docs" / "pictures"

RESULTS = {schedule_charts.RESULT, waves.RESULT}
"""Results that no table shows."""

PICTURES: dict[str, Callable[[], Drawing]] = {
    "system": diagrams.system,
    "keys": diagrams.keys,
    "scheme": diagrams.scheme,
    "ciphertext": diagrams.ciphertext,
    "lookup": diagrams.lookup,
    "levels": diagrams.levels,
    **{f"machine-{name}": functools.partial(machine_diagrams.draw, name) for name in machine_diagrams.STRUCTURES},
    **{f"timeline-{name}": functools.partial(schedule_charts.timeline, name) for name in machine_diagrams.STRUCTURES},
    **{f"chip-{name}": functools.partial(treemaps.draw, name) for name in ("morphling", "f1", "osiris")},
    **{f"rtl-{unit}": functools.partial(waves.draw, unit) for unit in waves.units()},
    "roofline": schedule_charts.roofline,
    "widths": schedule_charts.widths,
    "deviations": charts.deviations,
    "areas": charts.areas,
    "batches": charts.batches,
    "speed": charts.speed,
}


def main(*, check: bool) -> int:
    """Draw every picture, or report those that differ from their data."""
    status = 0
    for name, draw in PICTURES.items():
        path, text = FOLDER / f"{name}.svg", draw().svg()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if check:
            print(
                f"{path.relative_to(results.ROOT)} differs from its data; run scripts/document.py pictures",
                file=sys.stderr,
            )
            status = 1
        else:
            path.write_text(text, encoding="utf-8")
            print(f"drawn: {path.relative_to(results.ROOT)}")
    return status
