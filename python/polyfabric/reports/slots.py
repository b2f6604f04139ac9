"""Tables of CKKS and BGV programs: what one costs, and level, scale and error of each of its operations."""

from __future__ import annotations

from math import log2
from typing import Any

from .rows import Rows
from .units import bytes_text, scaled, words


def cost(d: dict[str, Any]) -> list[Rows]:
    """Parameters, keys, memory, operations; then every operation."""
    set_ = d["parameters"]
    facts = [
        ("parameters", f"{set_['name']}, {set_['security_bits']:.0f} bits of security ({set_['security_source']})"),
        ("ring", f"degree {set_['ring_degree']}, {set_['limbs']} + {set_['special_limbs']} limbs, {_moduli(set_)}"),
        ("slots", f"{d['slots']:,} of {set_['slots']:,}"),
        ("levels", f"inputs at level {d['start_level']} of {set_['levels']}"),
        ("switching keys", f"{len(d['keys'])}, {bytes_text(d['key_bytes'])}"),
        ("memory", f"{bytes_text(d['memory_bytes'])} on the server"),
        ("inputs", bytes_text(d["input_bytes"])),
        ("outputs", bytes_text(d["output_bytes"])),
        ("work", ", ".join(f"{count:,} {words(name)}" for name, count in d["limb_operations"].items())),
    ]
    title = f"cost of {d['program']} with {d['scheme'].upper()}"
    return [Rows(title, ("figure", "value"), facts, left=2), *operations({"rows": d["nodes"], **d})]


def _moduli(set_: dict[str, Any]) -> str:
    return f"logQ {set_['log2_q']:.0f}, logP {set_['log2_p']:.0f}"


def operations(d: dict[str, Any]) -> list[Rows]:
    """Level, scale and error of every operation."""
    nodes = d["rows"]
    measured = any("measured" in node for node in nodes)
    exact = any("budget_bits" in node for node in nodes)
    columns = ["operation", "place", "level"]
    columns += ["factor", "noise", "budget"] if exact else ["scale", "error bound"]
    columns += [("wrong slots" if exact else "measured")] if measured else []
    rows = []
    for node in nodes:
        row = [f"{node['op']} %{node['node']}", node["place"] or "-", str(node["level"])]
        if exact:
            row += [str(node["factor"]), f"2^{node['noise_log2']:.1f}", f"{node['budget_bits']:.1f} bits"]
        else:
            row += [f"2^{node['scale_log2']:.2f}", _power(node["bound"])]
        if measured:
            value = node.get("measured")
            row.append("-" if value is None else f"{value:.0f}" if exact else _power(value))
        rows.append(tuple(row))
    return [Rows("operations", tuple(columns), rows, left=2)]


_CHOICE = {
    "set": "the parameter set's",
    "user": "as asked for",
    "compiler": "the compiler's choice",
}


def key_switch(d: dict[str, Any]) -> list[Rows]:
    """Which key switch a program has, and what the others would take: on a machine by its estimate, here by counting."""
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
    """As a power of two; what is infinite is nothing in JSON."""
    if value is None:
        return "none"
    return "0" if value <= 0 else f"2^{log2(value):.1f}"
