"""Block diagrams of the machines. The figures are those of `machines/NAME.toml` under its default readings."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import Any

from polyfabric.reports.drawing import Drawing

from . import results

NAMES = ("Morphling", "Strix", "FPT", "F1", "Osiris")


def description(name: str) -> dict[str, Any]:
    """A machine file."""
    return tomllib.loads((results.ROOT / "machines" / f"{name}.toml").read_text(encoding="utf-8"))


def figures(machine: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Every figure by its dotted name, with those of the default readings."""
    found: dict[str, dict[str, Any]] = {"clock": machine["clock"]}
    for group in ("units", "memories", "channels"):
        for part, values in machine.get(group, {}).items():
            found |= {f"{group}.{part}.{name}": figure for name, figure in values.items()}
    for reading in machine.get("readings", {}).values():
        found |= reading["options"][reading["default"]].get("figures", {})
    return found


def value_of(expression: str, found: dict[str, dict[str, Any]]) -> float:
    """A product or sum of figures, as a machine file's component counts are."""
    numbers = re.sub(r"[a-z_]+(\.[a-z0-9_]+)+", lambda name: str(found[name[0]]["value"]), expression)
    if not re.fullmatch(r"[\d.+* ()]+", numbers):
        raise ValueError(f"{expression}: only sums and products of figures are known here")
    return eval(numbers)


def filled(text: str, found: dict[str, dict[str, Any]]) -> str:
    """A text with `{units.core.count}` replaced by the figure, and `{=channels.hbm.bandwidth}` by it with its unit."""

    def one(name: re.Match[str]) -> str:
        figure = found[name[1].removeprefix("=")]
        number = f"{figure['value']:,}" if isinstance(figure["value"], int) else f"{figure['value']:g}"
        if figure["unit"] == "bytes":
            number, figure = f"{figure['value'] / 1e6:g}", {"unit": "MB"}
        return f"{number} {figure['unit']}" if name[1].startswith("=") else number

    return re.sub(r"\{([^}]+)\}", one, text)


@dataclass(frozen=True)
class Block:
    """A box of a diagram: title, further lines, and units in a chain inside it. `share` is its part of the row's width."""

    title: str
    text: str = ""
    share: float = 1
    kind: str = ""
    copies: str = "1"
    chain: tuple[str, ...] = ()
    linked: bool = True
    """Whether data goes along the chain."""


@dataclass(frozen=True)
class Structure:
    """Rows of blocks, from memory down to units; wires lead from (row, block) to (row, block)."""

    rows: tuple[tuple[Block, ...], ...]
    wires: tuple[tuple[tuple[int, int], tuple[int, int], str, bool], ...] = field(default=())


_HBM = "off-chip memory (HBM)"

STRUCTURES = {
    "morphling": Structure(
        (
            (Block(_HBM, "{=channels.hbm.bandwidth}, {channels.hbm.count} channels", kind="b"),),
            (
                Block("Private-A2", "{=memories.private_a2.capacity}\nbootstrapping key", kind="a"),
                Block("Private-A1", "{=memories.private_a1.capacity}\naccumulators", kind="a"),
                Block("Shared", "{=memories.shared.capacity}\nXPUs to VPU", kind="a"),
                Block("Private-B", "{=memories.private_b.capacity}\nciphertexts, switch key", kind="a"),
            ),
            (
                Block(
                    "XPU, {units.xpu.count} of them: blind rotation",
                    share=3,
                    kind="c",
                    copies="units.xpu.count",
                    chain=(
                        "{units.xpu.decomposition_units} decomposition",
                        "{units.xpu.fft_units} FFT",
                        "{units.xpu.rows} × {units.xpu.columns} VPE array",
                        "{units.xpu.ifft_units} IFFT",
                        "{units.xpu.accumulators} adders",
                    ),
                ),
                Block("VPU", "{units.vpu.groups} groups of {=units.vpu.lanes}\nkey switch", kind="c"),
            ),
        ),
        (
            ((0, 0), (1, 0), "key", False),
            ((0, 0), (1, 3), "", True),
            ((1, 0), (2, 0), "{channels.network.key} bytes/cycle a column", False),
            ((1, 1), (2, 0), "", True),
            ((1, 2), (2, 0), "", True),
            ((1, 3), (2, 1), "", True),
        ),
    ),
    "strix": Structure(
        (
            (
                Block(
                    _HBM,
                    "{=channels.hbm.bandwidth}; channels: {channels.hbm.key_channels} bootstrapping key, "
                    "{channels.hbm.switch_channels} key-switching key, {channels.hbm.ciphertext_channels} ciphertexts",
                    kind="b",
                ),
            ),
            (Block("global scratchpad", "{=memories.global.capacity}, {memories.global.buffers} buffers", kind="a"),),
            (
                Block(
                    "streaming core, {units.core.count} of them: PBS cluster, {=units.core.lanes}",
                    share=3,
                    kind="c",
                    copies="units.core.count",
                    chain=(
                        "{units.core.rows} rotators",
                        "{units.core.rows} decomposers",
                        "{units.core.rows} FFT",
                        "{units.core.columns} VMA",
                        "{units.core.columns} IFFT",
                        "{units.core.columns} accumulators",
                    ),
                ),
                Block(
                    "key-switch cluster",
                    "{units.switch.lanes} × {units.switch.columns}\nin each core",
                    kind="c",
                    copies="units.core.count",
                ),
            ),
            (Block("local scratchpad", "{=memories.local.capacity} in each core", kind="a"),),
        ),
        (
            ((0, 0), (1, 0), "", True),
            ((1, 0), (2, 0), "key bus {channels.key_bus.rate} bits/cycle, broadcast", False),
            ((1, 0), (2, 1), "{channels.switch_bus.rate} bits/cycle", False),
            ((2, 0), (3, 0), "", True),
            ((2, 1), (3, 0), "", True),
        ),
    ),
    "fpt": Structure(
        (
            (Block("host", "modulus switch, key switch", kind="b"),),
            (Block(_HBM, "key: {channels.hbm.key_channels} channels of {=channels.hbm.bandwidth}", kind="b"),),
            (
                Block("key buffer", "two halves", kind="a"),
                Block("input FIFO", "{=memories.fifo.capacity}", kind="a"),
                Block("test polynomials", "{=memories.tables.capacity}", kind="a"),
                Block("output buffer", "{=memories.outputs.capacity}", kind="a"),
            ),
            (
                Block(
                    "one CMUX pipeline, {units.cmux.batch} ciphertexts in flight",
                    kind="c",
                    chain=(
                        "rotate",
                        "decompose",
                        "FFT, {units.cmux.forward_points} points",
                        "multiply-add",
                        "IFFT",
                        "accumulate",
                    ),
                ),
            ),
        ),
        (
            ((0, 0), (1, 0), "{=channels.host_link.bandwidth}", True),
            ((1, 0), (2, 0), "key", False),
            ((1, 0), (2, 1), "ciphertexts", False),
            ((2, 3), (1, 0), "ciphertexts", False),
            ((2, 0), (3, 0), "", False),
            ((2, 1), (3, 0), "", False),
            ((2, 2), (3, 0), "", False),
            ((3, 0), (2, 3), "", False),
        ),
    ),
    "f1": Structure(
        (
            (Block(_HBM, "{channels.hbm.count} stacks, {=channels.hbm.bandwidth}", kind="b"),),
            (Block("scratchpad", "{memories.scratchpad.banks} banks of {=memories.scratchpad.bank}", kind="a"),),
            (Block("crossbars", "between all banks and all clusters", kind="d"),),
            (
                Block(
                    "compute cluster, {units.cluster.count} of them: {=units.cluster.lanes}",
                    share=3,
                    kind="c",
                    copies="units.cluster.count",
                    chain=(
                        "register file {=memories.register_file.capacity}",
                        "{units.ntt.count} NTT",
                        "{units.automorphism.count} automorphism",
                        "{units.multiply.count} multipliers",
                        "{units.add.count} adders",
                    ),
                    linked=False,
                ),
            ),
        ),
        (((0, 0), (1, 0), "", True), ((1, 0), (2, 0), "", True), ((2, 0), (3, 0), "", True)),
    ),
    "osiris": Structure(
        (
            (Block(_HBM, "{=channels.hbm.bandwidth}", kind="b"),),
            (Block("scratchpads", "{=memories.scratchpad.capacity}: keys, partial sums, twiddle factors", kind="a"),),
            (
                Block(
                    "change of modulus, {=units.ntt.lanes}",
                    share=2.4,
                    kind="c",
                    chain=(
                        "NTT unit, {units.ntt.stages} stages",
                        "base conversion, {units.base_conversion.height} cells tall",
                        "NTT unit, {units.ntt.stages} stages",
                    ),
                ),
                Block(
                    "{units.hadamard.count} Hadamard units",
                    "one behind each NTT unit\n{=units.ntt.lanes}, height {units.hadamard.height}",
                    kind="c",
                    copies="units.hadamard.count",
                ),
                Block("automorphism", "Beneš network\n{=units.ntt.lanes}", kind="c"),
            ),
        ),
        (
            ((0, 0), (1, 0), "", True),
            ((1, 0), (2, 0), "a tile of each limb in turn", True),
            ((1, 0), (2, 1), "", True),
            ((1, 0), (2, 2), "", True),
        ),
    ),
}

_WIDTH, _MARGIN, _GAP, _HIGH, _CHAIN = 860, 24, 22, 62, 118
_BETWEEN = 46


def draw(name: str) -> Drawing:
    """The block diagram of a machine."""
    machine = description(name)
    found, structure = figures(machine), STRUCTURES[name]
    heights = [_CHAIN if any(block.chain for block in row) else _HIGH for row in structure.rows]
    clock = f"{machine['clock']['value']:g} {machine['clock']['unit']}"
    drawing = Drawing(
        _WIDTH, 46 + sum(heights) + _BETWEEN * (len(heights) - 1) + 20, f"{machine['title']}: block diagram"
    )
    drawing.text(_MARGIN, 28, f"{machine['title'].partition(',')[0]}, {clock}", size=16, bold=True, anchor="start")
    places: dict[tuple[int, int], tuple[float, float, float, float]] = {}
    top = 46.0
    for at, (row, high) in enumerate(zip(structure.rows, heights, strict=True)):
        left, unit = (
            float(_MARGIN),
            (_WIDTH - 2 * _MARGIN - 12 - _GAP * (len(row) - 1)) / sum(block.share for block in row),
        )
        for column, block in enumerate(row):
            wide = unit * block.share
            places[at, column] = (left, top, wide, high)
            _block(drawing, block, places[at, column], found)
            left += wide + _GAP
        top += high + _BETWEEN
    for start, end, text, both in structure.wires:
        (x1, y1, w1, h1), (x2, y2, w2, h2) = places[start], places[end]
        x = (max(x1, x2) + min(x1 + w1, x2 + w2)) / 2
        if y1 > y2:
            drawing.arrow([(x, y1), (x, y2 + h2)], filled(text, found), both=both)
            continue
        above = 10 if _copies(structure.rows[end[0]][end[1]], found) > 1 else 0
        drawing.arrow([(x, y1 + h1), (x, y2 - above)], filled(text, found), both=both)
    return drawing


def _copies(block: Block, found: dict[str, dict[str, Any]]) -> int:
    return int(value_of(block.copies, found))


def _block(
    drawing: Drawing, block: Block, place: tuple[float, float, float, float], found: dict[str, dict[str, Any]]
) -> None:
    left, top, wide, high = place
    title = filled(block.title, found)
    if not block.chain:
        drawing.box(
            left,
            top,
            wide,
            high,
            f"{title}\n{filled(block.text, found)}",
            kind=block.kind,
            copies=_copies(block, found),
        )
        return
    drawing.box(left, top, wide, high, kind=block.kind, copies=_copies(block, found))
    drawing.text(left + wide / 2, top + 24, title, bold=True, size=14)
    step = (wide - 20) / len(block.chain)
    for index, unit in enumerate(block.chain):
        x, y = left + 14 + step * index, top + 42
        drawing.box(x, y, step - 18, high - 58)
        size = 12 if len(block.chain) < 6 or wide > 700 else 11
        words = _wrapped(filled(unit, found), (step - 18) / (0.55 * size))
        for line, text in enumerate(words):
            drawing.text(
                x + (step - 18) / 2, y + (high - 58) / 2 + 4 - 7.5 * (len(words) - 1) + 15 * line, text, size=size
            )
        if block.linked and index + 1 < len(block.chain):
            drawing.arrow([(x + step - 18, y + (high - 58) / 2), (x + step, y + (high - 58) / 2)])


def _wrapped(text: str, letters: float) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) + 1 > letters:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
