"""Tables of the synthesized RTL units, and their export for Accelergy."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from . import results

Row = dict[str, Any]

SYNTHESIS = ("unit", "what", "transistors", "flip-flops", "gates in the longest path", "LUTs", "DSP48E2")
CELLS = (
    "unit",
    "what",
    "um2",
    "cells",
    "flip-flops",
    "memory bits",
    "longest path, ns",
    "ECP5: LUTs",
    "MULT18X18D",
    "MHz",
    "missing",
)
NODES = ("node", "area, factor", "longest path, factor", "by the square of the node", "by the node")
AREAS = (
    "unit",
    "machine",
    "node, nm",
    "um2 of the machine's file",
    "um2 of ours at 180 nm",
    "scaled",
    "ratio",
    "within the error",
)
ENERGIES = (
    "unit",
    "what",
    "operation",
    "pJ, settled",
    "pJ, with glitches",
    "pJ of the clock",
    "machine",
    "pJ of its file",
    "ours, scaled",
)
RESULT = "rtl-cells"
PARTS = {"osu018", "ecp5"}
EXPORT = results.ROOT / "rtl" / "accelergy.yaml"

LIBRARY_NODE = 180
AREA_FACTORS = {180: 1.0, 32: 0.025, 14: 0.0093, 7: 0.0032}
"""Area of a circuit relative to 180 nm: A. Stillmaker, B. Baas, Integration 58 (2017), pages 74 to 81."""
DELAYS = {
    180: (1.8, (0, 97.09, -356.7, 406.5)),
    32: (0.9, (-1047, 2982, -2797, 873.5)),
    14: (0.8, (-40.66, 109.2, -100.6, 35.92)),
    7: (0.7, (-28.58, 76.6, -70.26, 24.69)),
}
"""From the same source, for the high-performance models: a nominal voltage, and the cubic polynomial of the delay in the voltage."""
ERROR = 2.0
"""Either way. Assumption: as far as these factors and the classical rule, the square of the node, are apart at 7 nm."""

MACHINE_AREAS = (
    ("F1's adder, 32 bits", "f1", "add", 128, 14),
    ("F1's multiplier, 32 bits", "f1", "multiply", 128, 14),
    ("the same for Osiris, 40 bits", "osiris", "ntt_multipliers", 1, 7),
)
"""The label of a unit, and a machine's component that consists of so many of it, at a node; F1's has 14 and 12 nm."""


def delay_factor(node: int) -> float:
    """The delay of a gate relative to 180 nm, each at its nominal voltage."""

    def delay(at: int) -> float:
        volts, terms = DELAYS[at]
        return sum(term * volts ** (3 - power) for power, term in enumerate(terms))

    return delay(node) / delay(LIBRARY_NODE)


def energy_factor(node: int) -> float:
    """The energy of a transition relative to 180 nm: capacitance as the node, and the square of the nominal voltage."""
    return node / LIBRARY_NODE * (DELAYS[node][0] / DELAYS[LIBRARY_NODE][0]) ** 2


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


def _cells(unit: Row) -> tuple[str, ...]:
    """What of a unit follows its name."""
    gates, fpga = unit.get("osu018"), unit.get("ecp5")
    frequency = "" if not fpga or "MHz" not in fpga else "-" if fpga["MHz"] is None else str(fpga["MHz"])
    return (
        unit["label"],
        *(f"{gates[key]:,}" if gates else "" for key in ("um2", "cells", "flip_flops", "memory_bits")),
        "" if not gates else "-" if gates["path_ps"] is None else f"{gates['path_ps'] / 1000:.1f}",
        *(f"{fpga[key]:,}" if fpga else "" for key in ("LUT", "MULT18X18D")),
        frequency,
        "; ".join(f"{part}: {reason}" for part, reason in unit.get("left_out", {}).items()),
    )


def cells(found: list[Row]) -> list[tuple[str, ...]]:
    """Each synthesized unit with its parameters: standard cells, and cells of an ECP5."""
    return [
        (f"[{unit['module']}](../rtl/{unit['module']}/README.md)", *_cells(unit))
        for unit in found
        if unit.keys() & PARTS
    ]


def of_unit(module: str) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Columns and rows of the page of one unit, also if it is too large."""
    return CELLS[1:], [_cells(unit) for unit in results.read(RESULT)["data"] if unit["module"] == module]


def nodes() -> list[tuple[str, ...]]:
    """The factors from 180 nm."""
    return [
        (
            f"{node} nm",
            f"{AREA_FACTORS[node]:.4f}",
            f"{delay_factor(node):.3f}",
            f"{(node / LIBRARY_NODE) ** 2:.4f}",
            f"{node / LIBRARY_NODE:.3f}",
        )
        for node in AREA_FACTORS
        if node != LIBRARY_NODE
    ]


def areas(found: list[Row]) -> list[tuple[str, ...]]:
    """Areas of machine files next to those of our units, scaled."""
    units, rows = {unit["label"]: unit for unit in found}, []
    for label, machine, component, count, node in MACHINE_AREAS:
        file = tomllib.loads((results.ROOT / "machines" / f"{machine}.toml").read_text(encoding="utf-8"))
        published = file["components"][component]["area"]["value"] * 1e6 / count
        if "osu018" not in (unit := units[label]):
            continue
        ours = unit["osu018"]["um2"]
        scaled = ours * AREA_FACTORS[node]
        ratio = scaled / published
        rows.append(
            (
                f"`{unit['module']}`",
                machine,
                str(node),
                f"{published:,.0f}",
                f"{ours:,}",
                f"{scaled:,.0f}",
                f"{ratio:.2f}",
                "yes" if 1 / ERROR <= ratio <= ERROR else "no",
            )
        )
    return rows


def energies(found: list[Row]) -> list[tuple[str, ...]]:
    """Energy of an operation, next to what the power of a machine file is at one operation a cycle."""
    machines, rows = {label: rest for label, *rest in MACHINE_AREAS}, []
    for unit in found:
        if "energy" not in unit:
            continue
        counted, compared = unit["energy"], ("", "", "")
        if unit["label"] in machines:
            machine, component, count, node = machines[unit["label"]]
            file = tomllib.loads((results.ROOT / "machines" / f"{machine}.toml").read_text(encoding="utf-8"))
            power = file["components"][component]["power"]
            watts = power["value"] * {"W": 1, "mW": 1e-3}[power["unit"]]
            hertz = file["clock"]["value"] * {"GHz": 1e9, "MHz": 1e6}[file["clock"]["unit"]]
            factor = energy_factor(node)
            scaled = " to ".join(f"{counted[key] * factor:.2f}" for key in ("settled", "glitches"))
            compared = (machine, f"{watts / count / hertz * 1e12:.2f}", scaled)
        numbers = (f"{counted[key]:,.0f}" for key in ("settled", "glitches", "clock"))
        rows.append((f"`{unit['module']}`", unit["label"], unit["operation"], *numbers, *compared))
    return rows


def export() -> tuple[Path, str]:
    """The component table for Accelergy. JSON is YAML, so values are written as JSON."""
    found = results.read(RESULT)
    lines = [
        "# The RTL units as components in the manner of Accelergy. Drawn from results/rtl-cells.json by `python scripts/document.py tables`.",
        "# Area in um2 without memories, wires and clock tree; cycle_ns is the longest path.",
        "# Energy in pJ of one operation with random operands, with glitches; units without one have no energy.",
        'version: "0.4"',
        "components:",
    ]
    for unit in found["data"]:
        if "osu018" not in unit:
            continue
        attributes = {"technology": "180nm", **unit.get("parameters", {}), "memory_bits": unit["osu018"]["memory_bits"]}
        path = unit["osu018"]["path_ps"]
        lines += [
            f"  - class: {unit['module']}",
            f"    name: {json.dumps(unit['label'])}",
            "    attributes:",
            *(f"      {name}: {json.dumps(value)}" for name, value in attributes.items()),
            *([f"      cycle_ns: {path / 1000}"] if path else []),
            f"    area: {unit['osu018']['um2']}",
        ]
        if "energy" in unit:
            lines += [
                "    actions:",
                f"      - name: {json.dumps(unit['operation'])}",
                f"        energy: {unit['energy']['glitches']}",
            ]
    return EXPORT, "\n".join([*lines, ""])


TABLES = {
    "rtl-synthesis": ("rtl-synthesis", SYNTHESIS, synthesis),
    "rtl-cells": (RESULT, CELLS, cells),
    "rtl-nodes": ((), NODES, nodes),
    "rtl-areas": (RESULT, AREAS, areas),
    "rtl-energies": (RESULT, ENERGIES, energies),
}
