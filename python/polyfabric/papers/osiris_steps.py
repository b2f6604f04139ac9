"""Osiris' figure 11: a matrix of 64 diagonals times a vector with double hoisting, by level and by the ratio of baby to giant steps."""

from __future__ import annotations

from typing import Any

from ..accelerators import machine as accelerators
from ..apps.osiris_programs import matrix_vector
from ..errors import Error
from .osiris_choices import ORDER_KNOWN
from .osiris_roofline import ALL_MULTIPLIERS, TWO_A_BUTTERFLY
from .osiris_timing import CHAIN_IV, FOR_KEYS, planned, waits
from .rows import BOUND_KNOWN, Reading, calibrated, failed, identical, named

SET = "osiris-bootstrap-IV"
"""Set IV with the levels of bootstrapping, as the figure's text says."""

DIAGONALS = 64
LEVELS = range(9, 25)
"""From L_eff to L."""

LEVEL = 12
"""The level of the part of the figure that varies the ratio."""

RATIO_1, MOST_BABIES = 8, 64
"""Baby steps at both ends of that part: n1 / n2 of 1, and of 64."""


def figure_11() -> list[dict[str, Any]]:
    """The rows of both parts, at 1 TB/s; times in us. Kernels' shares are of modular multiplications."""
    try:
        machine = accelerators.load("osiris", ["hoisting=double", "bandwidth=1TB"])
        tried = {level: _tried(machine, level) for level in LEVELS}
    except Error as error:
        return [failed("section7.steps.utilisation.1", error)]
    rows = [_level(level, found) for level, found in tried.items()]
    ways = {way["babies"]: way for way in tried[LEVEL]["tried"] if way["seconds"] is not None}
    rows += [_ratio(way) for way in ways.values()]
    return [*rows, _keys(tried), *_ends(ways)]


def _ordered(
    cell: str, value: float, reason: str, readings: list[Reading], place: list[str] | None = None
) -> dict[str, Any]:
    """A row that depends on the order of products."""
    return calibrated(cell, value, "; ".join([ORDER_KNOWN, *named(readings), reason]), place)


def _tried(machine: accelerators.Machine, level: int) -> dict[str, Any]:
    """The steps that were tried for the matrix at that level."""
    found: dict[str, Any] = planned(matrix_vector(level, DIAGONALS), SET, machine).facts["steps"][0]
    return found


def _level(level: int, found: dict[str, Any]) -> dict[str, Any]:
    """The fastest steps at a level, with the kernels' shares."""
    best = next(way for way in found["tried"] if way["width"] == found["width"])
    figures = best["figures"]
    names = {
        "decompose": "Decompose",
        "mod_down": "ModDown",
        "keys": "KeyMult",
        "diagonals": "DiagMult with OF-Limb",
    }
    shares = ", ".join(f"{words} {figures[name] / figures['multiplications']:.0%}" for name, words in names.items())
    others = ", ".join(
        f"{way['babies']} x {way['giants']} {1e6 * way['seconds']:,.0f}"
        for way in found["tried"]
        if way is not best and way["seconds"] is not None
    )
    place = ["Figure 11 (a)", f"{DIAGONALS} diagonals, level {level}, {best['babies']} x {best['giants']} steps", "us"]
    reason = (
        f"of {figures['multiplications'] / 1e9:.2f} G modular multiplications {shares}; other steps take {others} us"
    )
    return _ordered("figure11a", 1e6 * best["seconds"], reason, [CHAIN_IV], place)


def _ratio(way: dict[str, Any]) -> dict[str, Any]:
    """One ratio at the level of part (b)."""
    figures = way["figures"]
    place = ["Figure 11 (b)", f"{DIAGONALS} diagonals, level {LEVEL}, {way['babies']} x {way['giants']} steps", "us"]
    reason = (
        f"{figures['multiplications'] / 1e9:.2f} G modular multiplications; {figures['key_bytes'] / 1e6:,.0f} MB of keys; multipliers at work "
        f"{figures['utilisation']:.0%}, memory {figures['memory_busy']:.0%}"
    )
    return _ordered("figure11b", 1e6 * way["seconds"], reason, [CHAIN_IV], place)


def _keys(tried: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """The largest share of products with keys in the multiplications, over all levels, with the fastest steps of each."""
    shares = {}
    for level, found in tried.items():
        figures = next(way for way in found["tried"] if way["width"] == found["width"])["figures"]
        shares[level] = figures["keys"] / figures["multiplications"]
    most, least = (end(shares, key=shares.__getitem__) for end in (max, min))
    reason = f"at level {most}; {shares[least]:.1%} at level {least}. With the fastest steps of each level"
    why = "; ".join([BOUND_KNOWN, *named([CHAIN_IV, TWO_A_BUTTERFLY]), reason])
    return calibrated("figure11.keys", 100 * shares[most], why)


def _ends(ways: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    """The text's statements on both ends of part (b)."""
    if RATIO_1 not in ways or MOST_BABIES not in ways:
        return []
    first, last = ways[RATIO_1], ways[MOST_BABIES]
    latency = 100 * (last["seconds"] / first["seconds"] - 1)
    fewer = 100 * (1 - last["figures"]["multiplications"] / first["figures"]["multiplications"])
    reason = f"{1e6 * first['seconds']:,.0f} us with 8 x 8 steps, {1e6 * last['seconds']:,.0f} us with 64 x 1"
    counted = "multiplications over all multipliers, in all cycles"
    first_waits, last_waits = (
        f"with {steps} steps: {waits(figures['key_waits'], figures['key_bytes'] / figures['traffic_bytes'])}, each key counted once. Memory is at work "
        f"{figures['memory_busy']:.0%} of the time"
        for steps, figures in (("8 x 8", first["figures"]), ("64 x 1", last["figures"]))
    )
    again = "section VII-C's cell is the same number"
    products = [CHAIN_IV, TWO_A_BUTTERFLY]
    of_all = [*products, ALL_MULTIPLIERS]
    return [
        identical("figure11.utilisation.1", 100 * first["figures"]["utilisation"], again),
        calibrated(
            "figure11.stalls.1",
            100 * first["figures"]["memory_waits"],
            "; ".join([BOUND_KNOWN, *named([CHAIN_IV, FOR_KEYS]), first_waits]),
        ),
        _ordered("figure11.stalls.64", 100 * last["figures"]["memory_waits"], last_waits, [CHAIN_IV, FOR_KEYS]),
        identical("figure11.utilisation.64", 100 * last["figures"]["utilisation"], again),
        _ordered("section7.steps.utilisation.1", 100 * first["figures"]["utilisation"], counted, of_all),
        _ordered("section7.steps.utilisation.64", 100 * last["figures"]["utilisation"], counted, of_all),
        _ordered(
            "section7.steps.utilisation.falls",
            last["figures"]["utilisation"] / first["figures"]["utilisation"],
            "the two cells above",
            products,
        ),
        _ordered("section7.steps.latency", latency, reason, [CHAIN_IV]),
        _ordered("section7.steps.multiplications", fewer, "transforms, conversions and products of residues", products),
    ]
