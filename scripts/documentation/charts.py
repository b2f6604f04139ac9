"""Charts of recorded results: predictions against papers, speed against peers; and areas of the machine files."""

from __future__ import annotations

import math
from typing import Any

from polyfabric.papers import validation
from polyfabric.reports.drawing import Drawing

from . import bench_tables, results
from .machine_diagrams import NAMES, description, figures, value_of

KINDS = dict(zip(NAMES, "abcde", strict=True))
"""Accents of the machines."""


def deviations() -> Drawing:
    """Every predicted cell: the model's figure over the published one, on a logarithmic axis."""
    d = Drawing(860, 400, "Predicted figures over published ones, by paper")
    top, bottom, least, most = 60, 340, 0.4, 2.5

    def y(ratio: float) -> float:
        share = (math.log(ratio) - math.log(least)) / (math.log(most) - math.log(least))
        return bottom - (bottom - top) * share

    d.text(24, 28, "predicted / published, every predicted cell", size=16, bold=True, anchor="start")
    d.bar(70, y(1.1), 770, y(1 / 1.1) - y(1.1), "band")
    for ratio in (least, 0.5, 0.75, 1, 1.5, 2, most):
        d.rule(70, y(ratio), 840, y(ratio), dashed=ratio != 1)
        sign = {least: "≤ ", most: "≥ "}.get(ratio, "")
        d.text(62, y(ratio) + 4, f"{sign}{ratio:g}", size=12, anchor="end")
    rows = {name: _predicted(name) for name in NAMES}
    step = 740 / sum(len(found) + 3 for found in rows.values())
    x = 85.0
    for name, found in rows.items():
        first = x
        for row in found:
            ratio = min(max(1 + row["deviation"], least), most)
            tip = f"{row['table']}, {row['cell']}: {100 * row['deviation']:+.1f} %"
            d.dot(x, y(ratio), KINDS[name], hollow=row["kind"] != "predicted", tip=tip)
            x += step
        d.text((first + x - step) / 2, 366, f"{name} ({len(found)})", size=13, bold=True, kind=f"t{KINDS[name]}")
        x += 3 * step
    d.text(
        840,
        28,
        "filled: predicted; hollow: predicted under a reading; band: ±10 %",
        size=12,
        anchor="end",
        kind="faint",
    )
    return d


def _predicted(name: str) -> list[dict[str, Any]]:
    found = validation.predictions(results.read(f"reproduce-{name.lower()}")["data"])
    return sorted(found, key=lambda row: row["deviation"])


def areas() -> Drawing:
    """Areas of the chips by component, as the machine files give them."""
    chips = []
    for name in NAMES:
        machine = description(name.lower())
        parts = _areas(machine)
        if parts:
            chips.append((machine["title"], name, parts))
    d = Drawing(860, 60 + 84 * len(chips), "Areas of the chips, by component")
    d.text(24, 28, "area by component, mm²", size=16, bold=True, anchor="start")
    widest = max(sum(parts.values()) for _, _, parts in chips)
    for index, (title, name, parts) in enumerate(chips):
        top, x = 60 + 84 * index, 24.0
        total = sum(parts.values())
        process = title.rpartition(", ")[2]
        d.text(24, top, f"{name}, {process}: {total:.4g} mm²", size=13, bold=True, anchor="start")
        for at, (part, area) in enumerate(sorted(parts.items(), key=lambda item: -item[1])):
            wide = 790 * area / widest
            d.bar(x, top + 8, wide - 1, 34, KINDS[name], tip=f"{named(part)}: {area:.3g} mm²", faint=at % 2 == 1)
            x += wide
        d.text(24, top + 57, _largest(parts), size=11, anchor="start", kind="faint")
    return d


def _largest(parts: dict[str, float], shown: int = 6) -> str:
    """The largest parts with their areas."""
    ordered = sorted(parts.items(), key=lambda item: -item[1])
    texts = [f"{named(part)} {area:.3g}" for part, area in ordered[:shown]]
    rest = sum(area for _, area in ordered[shown:])
    return ", ".join([*texts, *([f"{len(ordered) - shown} others {rest:.3g}"] if rest else [])])


def named(part: str) -> str:
    """A component's name, with its abbreviations in capitals."""
    return " ".join(
        word.upper() if word in {"fft", "ifft", "ntt", "hbm", "phy", "noc", "vpu", "vpe"} else word
        for word in part.split("_")
    )


def _areas(machine: dict[str, Any]) -> dict[str, float]:
    found = figures(machine)
    parts = {}
    for name, part in machine.get("components", {}).items():
        area = part.get("area", {}).get("value", "unknown")
        if area != "unknown":
            parts[name] = area * value_of(str(part.get("count", 1)), found)
    return parts


def batches() -> Drawing:
    """Time of a batch in every place that decrypts it right: of TFHE one input after another, of CKKS at once."""
    data = results.read("compare-batch")["data"]
    places = [row for row in data["machines"] if row["right"]]
    left, right, top, bottom, most, least, longest = 90, 680, 60, 380, data["batch"], 1e-3, 1000.0
    d = Drawing(860, 440, "Time of a batch by its size, on five machines, a CPU and a GPU")
    d.text(24, 28, "seconds for a batch of lookups in a table of 16 entries", size=16, bold=True, anchor="start")

    def x(count: float) -> float:
        return left + (right - left) * math.log(count) / math.log(most)

    def y(seconds: float) -> float:
        return bottom - (bottom - top) * math.log(seconds / least) / math.log(longest / least)

    for seconds in (0.001, 0.01, 0.1, 1, 10, 100, 1000):
        d.rule(left, y(seconds), right, y(seconds), dashed=True)
        d.text(left - 8, y(seconds) + 4, f"{seconds:g} s", size=12, anchor="end")
    for count in (1, 16, 256, 4096, most):
        d.text(x(count), bottom + 20, f"{count:,}", size=12)
    d.text((left + right) / 2, bottom + 42, "inputs", size=12, kind="faint")
    below = 0.0
    for row in sorted(places, key=lambda row: -row["times"][-1][1]):
        name = next((own for own in NAMES if own.lower() == row["machine"]), row["machine"].replace("pu", "PU"))
        name = name[0].upper() + name[1:]
        points = [(x(count), y(seconds)) for count, seconds in row["times"]]
        kind = KINDS.get(name, "")
        d.curve(points, kind)
        below = max(below + 14, points[-1][1] + 4)
        label = f"{name}, {row['scheme'].upper()}"
        d.text(right + 8, below, label, size=12, anchor="start", kind=kind and f"t{kind}")
    for pair in data["slots_faster"]:
        if pair["tfhe"] == pair["ckks"] == "cpu" and pair["from"]:
            (own,) = (row for row in places if (row["machine"], row["scheme"]) == ("cpu", "ckks"))
            d.text(x(pair["from"]) - 6, y(own["times"][0][1]) - 8, f"{pair['from']:,}", size=12, anchor="end")
    return d


def speed() -> Drawing:
    """Speed on one core over tfhe-rs and Lattigo."""
    sets = [("AVX-512", "avx512", "a"), ("AVX2", "avx2", "b")]
    found = [
        (label, kind, bench_tables.speed(*(results.read(f"bench-{of}-{isa}")["data"] for of in ("tfhe", "rns"))))
        for label, isa, kind in sets
    ]
    rows = [row[0] for row in found[0][2]]
    d = Drawing(860, 90 + 46 * len(rows), "Speed on one core over tfhe-rs and Lattigo")
    d.text(24, 28, "speed on one core; tfhe-rs and Lattigo are 1", size=16, bold=True, anchor="start")
    bottom, ratios = 60 + 46 * len(rows), [float(row[3].partition("×")[0]) for _, _, lines in found for row in lines]
    scale = 570 / math.ceil(max(ratios))
    for tick in range(math.ceil(max(ratios)) + 1):
        d.rule(230 + scale * tick, 48, 230 + scale * tick, bottom, dashed=tick != 1)
        d.text(230 + scale * tick, bottom + 18, f"{tick}×", size=12)
    for index, name in enumerate(rows):
        top = 56 + 46 * index
        d.text(220, top + 22, name, size=13, anchor="end")
        for at, (label, kind, lines) in enumerate(found):
            ratio = float(lines[index][3].partition("×")[0])
            d.bar(230, top + 17 * at, scale * ratio, 15, kind, tip=f"{name}, {label}: {lines[index][3]}")
            d.text(234 + scale * ratio, top + 12 + 17 * at, f"{ratio:.2f}", size=11, anchor="start")
    for at, (label, _, kind) in enumerate(sets):
        d.bar(660 + 100 * at, 18, 12, 12, kind)
        d.text(678 + 100 * at, 29, label, size=12, anchor="start")
    return d
