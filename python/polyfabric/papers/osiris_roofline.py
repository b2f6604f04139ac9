"""Figure 13: modular multiplications a byte and a second, of Osiris' programs.

Counted are the multiplications that multipliers do: two a butterfly, as each has one multiplier for the factor and one for the product (section
IV-B), and every product of residues elsewhere, those of base conversion included. On-the-fly limbs count with their transforms.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import Any

from .rows import predicted

_TWO_A_BUTTERFLY: dict[str, str | None] = {
    "name": "a butterfly counts two multiplications",
    "evidence": "section IV-B: each butterfly has two modular multipliers, and table IV counts multipliers",
}

LANES, MULTIPLIERS, CLOCK = 512, 73, 1e9
"""Lanes of the machine, multipliers of one as its units make them (docs), and cycles a second."""

COUNT, USE = "modular multiplications", "multiplier utilisation"
"""What rows are of."""

_BYTES_A_SECOND = {"1TB": 1e12, "2TB": 2e12, "4TB": 4e12}


@dataclass
class Multiplications:
    """Modular multiplications of schedules, and the bytes that they move."""

    lanes: int = LANES
    transforms: float = 0.0
    products: float = 0.0
    traffic: float = 0.0

    def add(self, count: int, facts: dict[str, Any], report: dict[str, Any]) -> None:
        """Those of a checked schedule, which counts so often; its transforms are what the NTT units were given to do."""
        degree, ops = facts["parameters"]["ring_degree"], facts["limb_operations"]
        residues = 2 * self.lanes * report["utilisation"]["ntt"] * report["cycles"]
        self.transforms += count * residues * log2(degree)
        self.products += count * degree * ops["multiplies"]
        self.traffic += count * report["traffic_bytes"]["total"]

    @property
    def all(self) -> float:
        """Of all units."""
        return self.transforms + self.products

    def share(self, seconds: float) -> float:
        """Of what all multipliers could do in that time."""
        return self.all / (self.lanes * MULTIPLIERS * CLOCK * seconds)


def roofline(
    name: str,
    hoisting: str,
    bandwidth: str,
    work: Multiplications,
    seconds: float,
    readings: list[dict[str, str | None]],
) -> list[dict[str, Any]]:
    """Rows of figure 13 beside the paper's, which prints no numbers: multiplications, intensity, and the multipliers' utilisation."""
    intensity, share = work.all / work.traffic, work.share(seconds)
    ridge = work.lanes * MULTIPLIERS * CLOCK / _BYTES_A_SECOND[bandwidth]
    reason = (
        f"{work.all:.4g} multiplications, {work.transforms / work.all:.0%} of them in transforms, and {work.traffic / 1e9:.4g} GB; "
        f"{work.all / seconds / 1e12:.3g} T a second; the ridge is at {ridge:.3g}"
    )
    where = f"{name}, {hoisting} hoisting, {bandwidth[0]} TB/s"
    cells = ((COUNT, "G", work.all / 1e9), ("multiplications a byte", "1/byte", intensity), (USE, "%", 100 * share))
    given = [*readings, _TWO_A_BUTTERFLY]
    return [
        predicted("figure13", value, reason, ["Figure 13", f"{where}: {what}", unit], given)
        for what, unit, value in cells
    ]
