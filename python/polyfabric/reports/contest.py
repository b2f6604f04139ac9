"""Machines side by side, as tables and as a plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..host.units import number, percent, probability, scaled, words
from .rows import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NOTE = (
    "a second: of a run with its ends. Latency: of one alone, from first load to last store. W: the run's mean. GB/s: what the channels to memory off the "
    "chip can move. Every machine in its own technology, nothing is scaled; - is unknown"
)
ESTIMATED = (
    "cpu: estimated for all processors of this computer, without a run. gpu: the least time that memory and arithmetic of a graphics card allow, so the "
    "most that it can do"
)
FASTER_NOTE = "of places that decrypt right. With TFHE a batch takes longer with every input, with CKKS as long as one until its ring is full; - : no batch is large enough"
FAILS = "fails: the probability that one decrypts wrongly in the machine's arithmetic"
DERIVED_NOTE = (
    "multipliers: partial products of an external product, a factor's bits times the other's, over those of the file's widths. Area and power with other "
    "widths than the file's are unknown"
)


def rows(d: dict[str, Any]) -> list[Rows]:
    """Tables: the machines that can run the program, the cost of derived widths, and the reasons of the other machines."""
    held = _held(d)
    torus = any("log2_failure" in row for row in held)
    columns = (
        "machine",
        "a second",
        "latency",
        "mm²",
        "W",
        "GB/s",
        "per mm²",
        "per W",
        "per GB/s",
        "bound by",
        "reaches",
    )
    table = [(*_figures(row), *_fails(row)) if torus else _figures(row) for row in held]
    sets = list(dict.fromkeys(row["parameters"] for row in held))
    fails = ("fails",) if torus else ()
    of = f", {sets[0]}" if len(sets) == 1 else ""
    note = f"{NOTE}; {FAILS}" if torus else NOTE
    if any(row.get("estimated") for row in held):
        note += f". {ESTIMATED}"
    tables = [Rows(f"{d['program']}{of}: {held[0]['operation']} a second", (*columns, *fails), table, note=note)]
    if len(sets) > 1:
        # A program may use all slots of its set.
        holds = [
            (row["machine"], row["parameters"], "-" if row["slots"] is None else f"{row['slots']:,}") for row in held
        ]
        tables.append(Rows("what each holds", ("machine", "parameters", "slots"), holds, left=2))
    if d.get("slots_faster"):
        tables.append(_faster(d["slots_faster"]))
    machines = [row for row in held if not row.get("estimated")]
    if d["widths"] != "own" and machines:
        tables.append(_widths(machines))
    refused = [(_name(row), row["error"]) for row in d["machines"] if "error" in row]
    if refused:
        tables.append(Rows("not held", ("machine", "reason"), refused, left=2))
    return tables


def _held(d: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in d["machines"] if "error" not in row]


def _name(row: dict[str, Any]) -> str:
    if row.get("estimated"):
        return f"{row['machine']}, {row['scheme'].upper()}"
    return row["machine"] if row["widths_are"] == "own" else f"{row['machine']}, derived"


def _faster(pairs: list[dict[str, Any]]) -> Rows:
    """The batch from which each place with CKKS is faster than each with TFHE."""
    found: dict[str, dict[str, int | None]] = {}
    for pair in pairs:
        found.setdefault(_name({**pair, "machine": pair["tfhe"]}), {})[pair["ckks"]] = pair["from"]
    places = list(dict.fromkeys(pair["ckks"] for pair in pairs))
    table = [
        (name, *("-" if own[place] is None else f"{own[place]:,}" for place in places)) for name, own in found.items()
    ]
    return Rows("inputs from which CKKS takes less time", ("TFHE on", *places), table, note=FASTER_NOTE)


def _figures(row: dict[str, Any]) -> tuple[str, ...]:
    amounts = ("-" if row[key] is None else f"{row[key]:.4g}" for key in ("area_mm2", "power_w", "off_chip_gb_per_s"))
    ratios = (_known(row[key]) for key in ("per_mm2", "per_watt", "per_gb_per_s"))
    return (
        _name(row),
        number(row["throughput_per_s"]),
        scaled(row["latency_s"], "s"),
        *amounts,
        *ratios,
        words(row["bound_by"] or "-"),
        "-" if row["efficiency"] is None else percent(row["efficiency"]),
    )


def _known(value: float | None) -> str:
    return "-" if value is None else number(value)


def _fails(row: dict[str, Any]) -> tuple[str, ...]:
    return (probability(row["log2_failure"]),)


def _widths(held: list[dict[str, Any]]) -> Rows:
    """The bits of every machine's arithmetic, and the cost of derived widths relative to the file's."""
    columns = (
        "machine",
        "key",
        "forward",
        "twiddle",
        "inverse",
        "twiddle ",
        "fails",
        "throughput",
        "multipliers",
        "key traffic",
    )
    parts = ("key", "forward", "forward_twiddle", "inverse", "inverse_twiddle")
    table = []
    for row in held:
        bits = ("-",) * len(parts) if row["widths"] is None else tuple(str(row["widths"][part]) for part in parts)
        cost = row.get("over_own")
        shown = (
            ("1", "1", "1")
            if cost is None
            else tuple(_times(cost[key]) for key in ("throughput", "multiplier_bits", "key_traffic"))
        )
        table.append((_name(row), *bits, *_fails(row), *shown))
    return Rows("widths in bits, and what they cost", columns, table, note=DERIVED_NOTE)


def _times(ratio: float | None) -> str:
    return "unknown" if ratio is None else f"{ratio:.3g}"


def plot(d: dict[str, Any]) -> Figure:
    """Four bar charts: throughput, and throughput per area, power and bandwidth. Below them, for inputs of a program, the time of a batch by its size."""
    from matplotlib.figure import Figure

    held = _held(d)
    panels = (
        ("throughput_per_s", f"{held[0]['operation']} a second"),
        ("per_mm2", "per mm²"),
        ("per_watt", "per W"),
        ("per_gb_per_s", "per GB/s of memory"),
    )
    bars, curves = 0.9 + 0.34 * len(held), 4.0 if "batch" in d else 0.0
    figure = Figure(figsize=(9.6, bars + curves), layout="constrained")
    parts = figure.subfigures(1 + bool(curves), squeeze=False, height_ratios=[bars, curves][: 1 + bool(curves)])[:, 0]
    grid = parts[0].subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (key, title) in zip(grid, panels, strict=True):
        _panel(axes, [_name(row) for row in held], [row[key] for row in held], title)
    if curves:
        _curves(parts[1].subplots(), [row for row in held if row["right"]])
    return figure


def _curves(axes: Axes, held: list[dict[str, Any]]) -> None:
    """The time of a batch by its size, in places that decrypt right."""
    from .plots import BLUE, GRID, INK, MUTED, WAITS

    colours = dict(zip(dict.fromkeys(row["machine"] for row in held), (BLUE, *WAITS[::2]), strict=False))
    for row in held:
        sizes, seconds = zip(*row["times"], strict=True)
        axes.plot(sizes, seconds, color=colours[row["machine"]], linestyle="-" if row["scheme"] == "ckks" else "--")
        axes.annotate(
            _name(row),
            (sizes[-1], seconds[-1]),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=INK,
            fontsize=8,
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_title("seconds for a batch, by its inputs: TFHE dashed, CKKS solid", loc="left", fontsize=9, color=INK)
    axes.tick_params(colors=MUTED, labelsize=8)
    axes.grid(color=GRID)
    for side in axes.spines.values():
        side.set_color(GRID)


def _panel(axes: Axes, names: list[str], values: list[float | None], title: str) -> None:
    from .plots import BLUE, GRID, INK, MUTED

    positions = range(len(names))
    axes.barh(positions, [value or 0.0 for value in values], color=BLUE, height=0.62)
    reach = max((value for value in values if value is not None), default=1.0)
    for position, value in zip(positions, values, strict=True):
        axes.annotate(
            number(value),
            (value or 0.0, position),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            color=MUTED,
            fontsize=8,
        )
    axes.set_xlim(0, 1.45 * reach)
    axes.set_yticks(positions, names, color=INK, fontsize=9)
    if not axes.yaxis_inverted():
        axes.invert_yaxis()
    axes.set_xticks([])
    axes.set_title(title, loc="left", fontsize=9, color=INK)
    axes.tick_params(length=0)
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.spines["left"].set_color(GRID)
