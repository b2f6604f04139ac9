"""The table of the RTL units as gates."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]

SYNTHESIS = ("unit", "what", "transistors", "flip-flops", "gates in the longest path", "LUTs", "DSP48E2")


def synthesis(found: list[Row]) -> list[tuple[str, ...]]:
    """Each unit with its parameters: simple gates, and cells of an UltraScale+ FPGA."""
    return [
        (
            f"`{unit['module']}`",
            unit["label"],
            *(f"{unit['gates'][key]:,}" for key in ("transistors", "flip_flops", "levels")),
            *(f"{unit['fpga'][key]:,}" for key in ("LUT", "DSP48E2")),
        )
        for unit in found
    ]


TABLES = {"rtl-synthesis": ("rtl-synthesis", SYNTHESIS, synthesis)}
