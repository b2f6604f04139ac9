"""Tables of CKKS and BGV programs: cost, and level, scale and error of each operation."""

from __future__ import annotations

from collections.abc import Iterable
from math import log2
from typing import Any

from ..host.units import bytes_text, estimated_times, probability, scaled, security, words
from .rows import Rows


def cost(d: dict[str, Any]) -> list[Rows]:
    """Parameters, keys, memory and counts, then every operation."""
    set_ = d["parameter_set"]
    facts = [
        (
            "parameters",
            f"{set_['name']}, {security(set_['security_bits'])} bits of security ({set_['security_source']})",
        ),
        ("ring", f"degree {set_['ring_degree']}, {set_['limbs']} + {set_['special_limbs']} limbs, {_moduli(set_)}"),
        ("slots", f"{d['slots']:,} of {set_['slots']:,}"),
        *_batch(d),
        ("levels", f"inputs at level {d['start_level']} of {set_['levels']}"),
        *_bootstraps(d["bootstraps"]),
        *estimated_times(d),
        ("switching keys", f"{len(d['keys'])}, {bytes_text(d['key_bytes'])}"),
        ("memory", f"{bytes_text(d['memory_bytes'])} on the server"),
        *_gpu(None if "machine" in d else d["gpu"]),
        ("inputs", bytes_text(d["input_bytes"])),
        ("outputs", bytes_text(d["output_bytes"])),
        failure(d["scheme"], d["log2_failure"]),
        ("work", ", ".join(f"{count:,} {words(name)}" for name, count in d["limb_operations"].items())),
    ]
    title = f"cost of {d['program']} with {d['scheme'].upper()}"
    return [Rows(title, ("figure", "value"), facts, left=2), *ways(d), *operations({"rows": d["nodes"], **d})]


def failure(scheme: str, log2_failure: float) -> tuple[str, str]:
    """The failure probability of a BGV program; with CKKS, that an output exceeds its error bound or a bootstrap overflows."""
    what = "fails" if scheme == "bgv" else "error bounds exceeded"
    return what, f"with probability {probability(log2_failure)} at most"


def _batch(d: dict[str, Any]) -> list[tuple[str, str]]:
    """The inputs of one execution of a program in batches, and the share of its time that each takes."""
    if "batch" not in d:
        return []
    packed = ", two a slot" if d["batch"] > d["slots"] else ""
    each = f"{scaled(d['seconds'] / d['batch'], 's')} each" + ("" if "machine" in d else " on all processors")
    rows = [("inputs at once", f"{d['batch']:,}{packed}: {each}")]
    if "border" in d:
        rows.append(("undecided numbers", f"up to {d['border']:.2g} steps from a border at which they are rounded"))
    return rows


def ways(d: dict[str, Any]) -> list[Rows]:
    """Both ways to execute a batch on this computer: one input after another with TFHE, and all at once on slots."""
    if "ways" not in d:
        return []
    found = d["ways"]
    batch, lanes, least = found["batch"], found["lanes"], found["cheaper_from"]
    rows = []
    for scheme, what in (("tfhe", "one after another"), ("slots", "at once, with CKKS")):
        way = found[scheme]
        if way is not None:
            rows.append(
                (
                    scheme + ("*" if scheme == found["cheaper"] else ""),
                    what,
                    way["parameters"],
                    scaled(way["seconds"], "s"),
                    scaled(way["seconds"] / batch, "s"),
                    bytes_text(way["memory_bytes"]),
                    bytes_text(way["key_bytes"]),
                    probability(way["log2_failure"]),
                )
            )
    columns = ("scheme", "inputs", "parameters", "time", "each", "memory", "keys", "fails")
    note = f"* is cheaper: {found['why']}."
    if found["tfhe"] and found["slots"]:
        note += f" Slots are faster from {f'{least:,}' if least else f'more than {lanes:,}'} inputs on."
    return [Rows(f"a batch of {batch:,}", columns, rows, left=3, note=note)]


def _gpu(needs: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Memory and work of an execution on a graphics card."""
    if needs is None:
        return []
    moved = f"{bytes_text(needs['moved_bytes'])} read and written in {needs['launches']:,} launches"
    least = f"{scaled(needs['least_seconds'], 's')} at best on an {needs['card']} (estimated, not measured)"
    return [("graphics card", f"{bytes_text(needs['memory_bytes'])}; {moved}: {least}")]


def _bootstraps(count: dict[str, int]) -> list[tuple[str, str]]:
    if not count["in_all"]:
        return []
    placed = f", {count['placed']} placed by the compiler: without it the program is deeper than the set"
    return [("bootstraps", f"{count['in_all']}{placed if count['placed'] else ''}")]


def _moduli(set_: dict[str, Any]) -> str:
    return f"logQ {set_['log2_q']:.0f}, logP {set_['log2_p']:.0f}"


# With more rows, similar operations are grouped.
_MOST_ROWS = 20


def operations(d: dict[str, Any]) -> list[Rows]:
    """Level, scale and error of every operation.

    If there are many, those of one kind and place share a row, with the worst of their figures.
    """
    nodes = d["rows"]
    few = len(nodes) <= _MOST_ROWS
    measured = any("measured" in node for node in nodes)
    exact = any("budget_bits" in node for node in nodes)
    groups: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for node in nodes:
        single = node["node"] if few else -1
        groups.setdefault((node["op"], node["place"] or "-", single), []).append(node)
    columns = ["operation", "place", "level"]
    columns += ["factor", "noise", "budget"] if exact else ["scale", "error bound"]
    columns += [("wrong slots" if exact else "measured")] if measured else []
    rows = []
    for (op, place, _), group in groups.items():
        first = f"{op} %{group[0]['node']}"
        levels = sorted({node["level"] for node in group}, reverse=True)
        level = str(levels[0]) if len(levels) == 1 else f"{levels[0]} to {levels[-1]}"
        row = [first if len(group) == 1 else f"{first}, {len(group):,} in all", place, level]
        if exact:
            factors = {node["factor"] for node in group}
            row.append(str(factors.pop()) if len(factors) == 1 else "several")
            row.append(f"2^{max(node['noise_log2'] for node in group):.1f}")
            row.append(f"{min(node['budget_bits'] for node in group):.1f} bits")
        else:
            row += [_span([node["scale_log2"] for node in group]), _power(_worst(node["bound"] for node in group))]
        if measured:
            found = [node["measured"] for node in group if node.get("measured") is not None]
            row.append("-" if not found else f"{max(found):.0f}" if exact else _power(max(found)))
        rows.append(tuple(row))
    note = "" if few else "of operations alike, the worst figures; --json lists all of them"
    return [Rows("operations", tuple(columns), rows, left=2, note=note)]


def _span(log2s: list[float]) -> str:
    """Scales; those of one level differ by rounding."""
    least, most = f"2^{min(log2s):.2f}", f"2^{max(log2s):.2f}"
    return least if least == most else f"{least} to {most}"


def _worst(bounds: Iterable[float | None]) -> float | None:
    """The largest bound; `None` is infinite."""
    worst = 0.0
    for bound in bounds:
        if bound is None:
            return None
        worst = max(worst, bound)
    return worst


_CHOICE = {
    "set": "the parameter set's",
    "user": "as asked for",
    "compiler": "the compiler's choice",
}


def key_switch(d: dict[str, Any]) -> list[Rows]:
    """A program's key switch, with the costs of the alternatives: a machine's estimates, or counts for this computer."""
    title = f"key switch {d['name']}: {_CHOICE[d['by']]}"
    if not d["considered"]:
        return [Rows("", ("figure", "value"), [(title,)])]
    rows = []
    refused = []
    for row in d["considered"]:
        if "refused" in row:
            refused.append(f"{row['name']} is refused: {row['refused']}")
            continue
        chosen = "*" if row["name"] == d["name"] else ""
        if "word_products" in row:
            rows.append((row["name"] + chosen, f"{row['word_products'] / 1e6:,.1f}", bytes_text(row["hint_bytes"])))
            continue
        again = row["hint_bytes"] / row["hint_bytes_once"] if row["hint_bytes_once"] else 0.0
        sizes = (bytes_text(row["hint_bytes"]), f"{again:.2f}", bytes_text(row["other_bytes"]))
        rows.append((row["name"] + chosen, words(row["busiest"]), scaled(row["seconds"], "s"), *sizes))
    columns: tuple[str, ...] = ("variant", "products, millions", "keys read")
    if rows and len(rows[0]) > len(columns):
        columns = ("variant", "busiest", "estimate", "hints", "loads of each", "other traffic")
    return [Rows(title, columns, rows, left=2, note="\n".join(refused))]


def _power(value: float | None) -> str:
    """As a power of two; infinity is null in JSON."""
    if value is None:
        return "none"
    return "0" if value <= 0 else f"2^{log2(value):.1f}"
