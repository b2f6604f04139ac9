"""What sections VII-A and VII-C of Osiris' paper say in words: of bootstrapping with and without hoisting, and of figure 13.

A cell has the words and how they are read; these rows have the model's number for it, from times, stalls and multiplications of checked schedules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .osiris_choices import ORDER_KNOWN
from .osiris_roofline import BENCHMARKS, INTENSITY, TWO_A_BUTTERFLY, USE, points, ridge
from .osiris_timing import FOR_KEYS
from .rows import BOUND_KNOWN, Reading, calibrated, named, untold

Row = dict[str, Any]

_MIXED = "calibrated, as most of the benchmarks' rows are"


def statements(rows: Sequence[Row], chain: Reading) -> list[Row]:
    """The rows derived from others; those whose parts could not be computed are omitted, as their parts give the reason."""
    return [*_bootstrapping(rows, chain), *_utilisation(rows), *_intensity(rows)]


def _bootstrapping(rows: Sequence[Row], chain: Reading) -> list[Row]:
    """Bootstrapping: the effect of hoisting and bandwidth on time, waiting and intensity."""
    found = {row["id"]: row["value"] for row in rows if row["beside"] is None and row["value"] is not None}
    made = []
    cells = [f"table3{part}.bootstrap.{column}" for part in ("a", "b") for column in ("nh", "dh")]
    if all(cell in found for cell in cells):
        none_1, double_1, none_2, double_2 = (found[cell] for cell in cells)
        none, double = 1 - none_2 / none_1, 1 - double_2 / double_1
        saved = (
            f"2 TB/s save {100 * none:.3g} % of the time without hoisting, {100 * double:.3g} % with double hoisting"
        )
        gains = none_1 / double_1, none_2 / double_2
        words = "{:.3g} at 1 TB/s, {:.3g} at 2 TB/s".format(*gains)
        made += [
            calibrated("section7.none.saving", none / double, "; ".join([BOUND_KNOWN, *named([chain]), saved]))
            if double > 0
            else untold("section7.none.saving", f"nothing is saved with double hoisting: {saved}"),
            calibrated("section7.gain.rises", gains[1] / gains[0], "; ".join([ORDER_KNOWN, *named([chain]), words])),
        ]
    stalls = [f"section7.stalls.{bandwidth}" for bandwidth in "12"]
    if all(cell in found for cell in stalls):
        slow, fast = (found[cell] for cell in stalls)
        words = f"{slow:.3g} % at 1 TB/s, {fast:.3g} % at 2 TB/s"
        why = "; ".join([ORDER_KNOWN, *named([chain, FOR_KEYS]), words])
        made.append(calibrated("section7.stalls.falls", fast / slow, why))
    intensity = points(rows, INTENSITY)
    double_byte, none_byte = (intensity.get(("Bootstrap", hoisting, "1")) for hoisting in ("double", "none"))
    if double_byte is not None and none_byte is not None:
        words = f"{double_byte:.3g} with double hoisting, {none_byte:.3g} without; the ridge is at {ridge('1TB'):.3g}"
        why = "; ".join([ORDER_KNOWN, *named([chain, TWO_A_BUTTERFLY]), words])
        made.append(calibrated("section7.intensity", double_byte / none_byte, why))
    return made


def _utilisation(rows: Sequence[Row]) -> list[Row]:
    """Figure 13: the effect of twice the bandwidth on the multipliers' utilization."""
    rises = _rises(points(rows, USE))
    benchmarks = {name: rises[name, "double"] for name in BENCHMARKS if (name, "double") in rises}
    made = []
    if benchmarks:
        listed = ", ".join(f"{name} {rise:.3g}" for name, rise in benchmarks.items())
        why = f"{_MIXED}; {listed} times"
        made.append(calibrated("figure13.utilisation.rises", min(benchmarks.values()), why))
    more = {name: double / rises[name, "none"] for name, double in benchmarks.items() if (name, "none") in rises}
    if more:
        listed = ", ".join(f"{name} {rise:.3g}" for name, rise in more.items())
        share = 100 * sum(rise > 1 for rise in more.values()) / len(more)
        why = f"{_MIXED}; with double hoisting over none it rises {listed} times as much"
        made.append(calibrated("figure13.utilisation.hoisting", share, why))
    return made


def _intensity(rows: Sequence[Row]) -> list[Row]:
    """Figure 13: the position of the benchmarks with double hoisting relative to the ridge, and how many move left with twice the bandwidth."""
    found = {place: value for place, value in points(rows, INTENSITY).items() if _drawn(place)}
    moves = {name: rise for (name, _), rise in _rises(found).items()}
    made = []
    if moves:
        listed = ", ".join(f"{name} {move:.4g}" for name, move in moves.items())
        share = 100 * sum(move < 1 for move in moves.values()) / len(moves)
        made.append(calibrated("figure13.intensity.falls", share, f"{_MIXED}; {listed} times"))
    if found:
        far = {
            place: max(value / ridge(f"{place[2]}TB"), ridge(f"{place[2]}TB") / value) for place, value in found.items()
        }
        furthest = max(far, key=far.__getitem__)
        name, _, bandwidth = furthest
        why = f"{_MIXED}; {name} at {bandwidth} TB/s, {found[furthest]:.3g} a byte where the ridge is at {ridge(f'{bandwidth}TB'):.3g}"
        made.append(calibrated("figure13.ridge", far[furthest], why))
    return made


def _drawn(place: tuple[str, str, str]) -> bool:
    """Whether a point belongs to figure 13 (a)."""
    name, hoisting, _ = place
    return name in BENCHMARKS and hoisting == "double"


def _rises(found: dict[tuple[str, str, str], float]) -> dict[tuple[str, str], float]:
    """For programs and hoistings timed at both bandwidths: a figure at 2 TB/s over that at 1 TB/s."""
    slow = {(name, hoisting): value for (name, hoisting, bandwidth), value in found.items() if bandwidth == "1"}
    fast = {(name, hoisting): value for (name, hoisting, bandwidth), value in found.items() if bandwidth == "2"}
    return {place: fast[place] / value for place, value in slow.items() if place in fast}
