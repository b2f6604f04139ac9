"""The content of every table: titles, columns and rows of text, for the console and for the page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..host.units import bytes_text, estimated_times, number, percent, probability, scaled, security, words

if TYPE_CHECKING:
    from . import Report

BAR = 24


@dataclass(frozen=True)
class Rows:
    """One table."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    left: int = 1
    """Number of text columns, which come first; the others are numbers."""
    note: str = ""
    """A note below the table."""


def of(report: Report) -> list[Rows]:
    """All tables of a report."""
    from . import contest, slots, sweep, trials, validation

    make = {
        "simulation": _simulation,
        "cost": _cost,
        "slot cost": slots.cost,
        "operations": slots.operations,
        "key switch": slots.key_switch,
        "reproduction": _reproduction,
        "validation": validation.rows,
        "exploration": sweep.rows,
        "comparison": contest.rows,
        "trials": trials.rows,
    }[report.kind]
    return make(report.to_dict())


def _bar(share: float) -> str:
    return "█" * round(BAR * max(0.0, min(1.0, share)))


def _change_of_widths(d: dict[str, Any]) -> str:
    widths = ", ".join(f"{words(part)} {bits} ({d['own_widths'][part]})" for part, bits in d["widths"].items())
    return f"derived, bits (the file's): {widths}; {d['multipliers_over_own']:.2f} times the multipliers' cells"


def _checked(events: int, single: int) -> str:
    """How the schedule's events were checked: loops by induction, the others one by one."""
    how = f": {single:,} one by one, the others as their repetitions" if single < events else ""
    return f"{events:,} events, all checked{how}"


def _simulation(d: dict[str, Any]) -> list[Rows]:
    cycles = d["cycles"]
    readings = ", ".join(f"{fact}: {option}" for fact, option in d["readings"].items())
    facts = [
        ("time", f"{scaled(d['seconds'], 's')} ({cycles:,} cycles)"),
        ("first load to last store", scaled(d["latency_s"], "s")),
        ("throughput", f"{d['throughput_per_s']:,.0f} {d['operation']} a second ({d['operations']:,} in all)"),
        (
            "lower bound",
            f"{d['lower_bound_cycles']:,} cycles, set by {words(d['critical_resource'])}: the schedule reaches {percent(d['efficiency'])}",
        ),
        ("area", scaled_area(d["area_mm2"]) + (" with derived widths" if "widths" in d else "")),
        ("energy", f"{scaled(d['energy_j'], 'J')} (mean power {scaled(d['power_w'], 'W')})"),
        ("schedule", _checked(d["events"], d["replayed_events"])),
    ]
    if "widths" in d:
        facts.append(("transform widths", _change_of_widths(d)))
    if "not_run" in d:
        facts.append(("timed, not run", d["not_run"]))
    if readings:
        facts.append(("readings", readings))
    tables = [Rows(f"{d['program']} on {d['machine']}, {d['parameters']}", ("figure", "value"), facts, left=2)]
    stalls = sorted(d["stalls"].items(), key=lambda item: (item[0] != "busy", -item[1]))
    first = d["stalls_by_class"][0]["class"] if d["stalls_by_class"] else "first unit class"
    tables.append(
        Rows(
            f"where the cycles of {words(first)} went",
            ("", "", "cycles", "share"),
            [
                (words(name), _bar(spent / cycles), f"{spent:,.0f}", percent(spent / cycles))
                for name, spent in stalls
                if spent > 0
            ],
            left=2,
        )
    )
    shares = utilisation(d)
    busy = [(name, share) for name, share in shares if share >= 0.001]
    tables.append(
        Rows(
            "utilisation",
            ("resource", "", "busy"),
            [(words(name), _bar(share), percent(share)) for name, share in busy],
            left=2,
            note="" if len(busy) == len(shares) else f"{len(shares) - len(busy)} more are busy for less than 0.1 %",
        )
    )
    traffic = [(words(k), bytes_text(v)) for k, v in d["traffic_bytes"].items() if v and k != "total"]
    total, again = d["traffic_bytes"]["total"], d.get("not_compulsory_bytes")
    traffic.append(("total", bytes_text(total)))
    if again is not None:
        # Caused by limited memory on the chip: reloaded data, and intermediate values.
        traffic.append(("not compulsory", f"{bytes_text(again)} ({percent(again / max(total, 1))})"))
    tables.append(Rows("traffic to memory", ("class", "bytes"), traffic))
    if any(c["area_mm2"] is not None or c["energy_j"] is not None for c in d["components"]):
        columns = ("component", "area", "full power", "kind", "active", "energy")
        tables.append(Rows("area and energy by component", columns, [_component(c) for c in d["components"]]))
    return tables


def _component(c: dict[str, Any]) -> tuple[str, ...]:
    return (
        words(c["name"]),
        scaled_area(c["area_mm2"]),
        scaled(c["full_power_w"], "W"),
        c["kind"],
        percent(c["activity"]),
        scaled(c["energy_j"], "J"),
    )


def utilisation(d: dict[str, Any]) -> list[tuple[str, float]]:
    """Shares by class, the highest first. Equal memories of several units share a line, with their mean."""
    groups: dict[str, list[float]] = {}
    for name, share in d["utilisation"].items():
        bare = re.sub(r"^([a-z]+)\d+\.(.+?)\d*$", r"\1.\2", name.removeprefix("memory:"))
        groups.setdefault(bare, []).append(share)
    means = {name if len(v) == 1 else f"{name} (mean of {len(v)})": sum(v) / len(v) for name, v in groups.items()}
    return sorted(means.items(), key=lambda item: -item[1])


def scaled_area(area: float | None) -> str:
    """An area in mm²."""
    return "unknown" if area is None else f"{area:.4g} mm²"


def circuit_privacy(noise: dict[str, Any]) -> str:
    """The statistical distance, in bits, by which a plan's outputs hide their computation, and the noise added for it."""
    floods = [_log2(row["flood_deviation"]) for row in noise["outputs"]]
    return (
        f"{noise['circuit_privacy_bits']:g} bits a value, by noise of 2^{max(floods):.1f} of the torus on fresh masks"
        if floods
        else "no output"
    )


def _cost(d: dict[str, Any]) -> list[Rows]:
    from . import slots

    facts = [
        ("parameters", f"{d['parameters']}, {security(d['security_bits'])} bits of security"),
        ("lookups", _bootstraps(d)),
        *estimated_times(d),
        ("memory", f"{bytes_text(d['memory_bytes'])} on the server"),
        ("server key", f"{bytes_text(d['server_key_bytes'])}; {bytes_text(d['server_key_compressed_bytes'])} to send"),
        ("client key", bytes_text(d["client_key_bytes"])),
        ("inputs", bytes_text(d["input_bytes"])),
        ("outputs", bytes_text(d["output_bytes"])),
        ("failure probability", f"{probability(d['noise']['log2_failure'])} at most"),
    ]
    if "circuit_privacy_bits" in d["noise"]:
        facts.append(("circuit privacy", circuit_privacy(d["noise"])))
    tables = [Rows(f"cost of {d['program']}", ("figure", "value"), facts, left=2), *slots.ways(d), *_ways_of_tables(d)]
    noise = d["noise"]
    if "lookups" in noise:
        rows, note = _lookups(noise["lookups"])
        rows += [
            (
                f"output {n['name']}",
                n["location"] or "-",
                n["element"],
                f"{n['count']:,}",
                f"2^{_log2_std(n['variance']):.2f}",
                f"2^{_log2(n['margin']):.2f}",
                probability(n["log2_failure"]),
            )
            for n in noise["outputs"]
        ]
        columns = ("operation", "place", "reads", "count", "noise", "margin", "one fails")
        lines: dict[str, int] = {}
        for n in noise["lookups"]:
            lines[n["location"] or "-"] = lines.get(n["location"] or "-", 0) + n["count"]
        if len(lines) > 1:
            most = sorted(lines.items(), key=lambda line: -line[1])
            tables.append(Rows("tables by line", ("line", "tables"), [(line, f"{count:,}") for line, count in most]))
        tables.append(Rows("noise of each operation, as a fraction of the torus", columns, rows, left=3, note=note))
    return tables


def _ways_of_tables(d: dict[str, Any]) -> list[Rows]:
    """Both ways to read the program's tables."""
    if "tables" not in d:
        return []
    found = d["tables"]
    rows = [
        (
            name + ("*" if name == found["chosen"] else ""),
            way["parameters"],
            f"{way['lookups']:,}",
            scaled(way["processor_seconds"], "s"),
            scaled(way["key_seconds"], "s"),
            bytes_text(way["server_key_bytes"]),
            bytes_text(way["memory_bytes"]),
        )
        for name, way in found.items()
        if name not in ("chosen", "why")
    ]
    columns = ("tables", "parameters", "lookups", "first execution", "making keys", "keys", "memory")
    note = f"* is chosen: {found['why']}. tables= (--tables) names one."
    return [Rows("ways to read tables", columns, rows, left=2, note=note)]


def _bootstraps(d: dict[str, Any]) -> str:
    """The number of lookups, and of the tables that they apply: one lookup can apply several tables to its index."""
    tables = sum(row["count"] for row in d["noise"].get("lookups", ()))
    return f"{d['lookups']:,}" + (f", for {tables:,} tables" if tables > d["lookups"] else "")


FEW_LOOKUPS = 40
"""Up to this number, operations with lookups are shown one by one."""


def _lookups(noise: list[dict[str, Any]]) -> tuple[list[tuple[str, ...]], str]:
    """Rows of the operations with lookups. If there are many, similar ones share a row, with the noise of the one that fails most often."""
    alike: dict[Any, list[dict[str, Any]]] = {}
    few = len(noise) <= FEW_LOOKUPS
    for n in noise:
        alike.setdefault(n["node"] if few else (n["op"], n["location"], n["operand"]), []).append(n)
    rows = []
    for group in alike.values():
        worst = max(group, key=lambda n: n["log2_failure"])
        name = f"{worst['op']} %{worst['node']}"
        rows.append(
            (
                name if len(group) == 1 else f"{len(group):,} like {name}",
                worst["location"] or "-",
                worst["operand"],
                f"{sum(n['count'] for n in group):,}",
                f"2^{_log2_std(worst['variance']):.2f}",
                f"2^{_log2(worst['margin']):.2f}",
                probability(worst["log2_failure"]),
            )
        )
    note = "noise is a standard deviation; an operation fails if its noise exceeds its margin"
    if any(n["op"] == "lookup_whole" for n in noise):
        note += "\nlookup_whole reads a range twice as wide: results of values half the range apart are each other's negatives"
    return (
        rows,
        note if few else f"{note}. Of operations alike, the one that fails most often; --json lists all of them",
    )


def _log2(value: float) -> float:
    from math import log2

    return log2(value) if value > 0 else float("-inf")


def _log2_std(variance: float) -> float:
    return _log2(variance) / 2


def _reproduction(d: dict[str, Any]) -> list[Rows]:
    tables: dict[str, list[dict[str, Any]]] = {}
    for row in d["rows"]:
        tables.setdefault(row["table"], []).append(row)
    made = []
    for name, rows in tables.items():
        said = [_said(row) for row in rows]
        ranged = any(row.get("range") for row in rows)
        ranges = ["over the choices"] if ranged else []
        columns = ("cell", "unit", "published", "model", *ranges, "deviation", "kind", "note")
        notes = {text: number for number, text in enumerate(dict.fromkeys(text for text in said if text), 1)}
        cells = [
            (
                row["cell"],
                row["unit"],
                published(row),
                "failed" if row["failure"] else "-" if row["model"] is None else number(row["model"]),
                *([over_choices(row) or "-"] if ranged else []),
                deviation(row),
                kind(row),
                f"[{notes[text]}]" if text else "",
            )
            for row, text in zip(rows, said, strict=True)
        ]
        note = "\n".join(f"[{index}] {text}" for text, index in notes.items())
        made.append(Rows(f"{d['paper']}, {name}", columns, cells, left=2, note=note))
    from . import validation

    return made + (validation.counted({d["paper"]: d["summary"]}, d["limits"]) if "summary" in d else [])


def published(row: dict[str, Any]) -> str:
    """A row's published figure, or its bounds."""
    least, most = row["published_least"], row["published_most"]
    if row["published"] is not None:
        return number(row["published"])
    if least is not None and most is not None:
        return f"{number(least)} to {number(most)}"
    if least is not None:
        return f"> {number(least)}"
    return "-" if most is None else f"< {number(most)}"


def over_choices(row: dict[str, Any]) -> str:
    """The range of the model's figure over the open readings of the paper; empty if none was computed."""
    ends = row.get("range")
    return f"{number(ends['least'])} to {number(ends['most'])}" if ends else ""


def deviation(row: dict[str, Any]) -> str:
    """The model's deviation from the published figure, or that it is within bounds."""
    if row["deviation"] is None:
        return "-"
    if row["published"] is None and row["deviation"] == 0:
        return "within"
    return f"{100 * row['deviation']:+.2f} %"


def kind(row: dict[str, Any]) -> str:
    """The kind of evidence of the model's figure."""
    if row["kind"] is None:
        return "-"
    if row["kind"] != "predicted_under_reading":
        return words(row["kind"])
    return "predicted under " + ", ".join(reading["name"] for reading in row["readings"])


def _said(row: dict[str, Any]) -> str:
    """The note on a row below the table: its failure, or its reason and the evidence for its readings."""
    if row["failure"]:
        return f"failed: {row['failure']}"
    readings = [
        f"{reading['name']}: {reading['evidence'] or 'nothing but this result speaks for it'}"
        for reading in row["readings"]
    ]
    ends = row.get("range")
    range_ = (
        f"over {ends['choices']} choices {number(ends['least'])} ({ends['least_of']}) to {number(ends['most'])} ({ends['most_of']})"
        if ends
        else ""
    )
    return ". ".join(filter(None, [row["reason"], range_, *readings]))
