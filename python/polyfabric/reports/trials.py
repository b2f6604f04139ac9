"""Tables of executed lookups."""

from __future__ import annotations

from typing import Any

from ..host.units import probability
from .rows import Rows

NOTE = (
    "fails: the probability of one lookup, by the formulas and for the worst key. Noise: standard deviation of a result's phase, a fraction of the torus, of those that came out "
    "right, and by the formulas. Saturated: values that left their width. Would do: bits of key, forward and inverse transform by `polyfabric widths`"
)


def rows(d: dict[str, Any]) -> list[Rows]:
    """For each machine, a table of its sets, and one of the sets that it cannot hold."""
    tables = []
    for name in dict.fromkeys(row["machine"] for row in d["trials"]):
        own = [row for row in d["trials"] if row["machine"] == name]
        held = [row for row in own if "error" not in row]
        columns = ("set", "message", "right", "of", "fails", "noise", "predicted", "saturated", "would do")
        table = [
            (
                row["set"],
                f"{row['message_bits']} bit{'s' if row['message_bits'] > 1 else ''}",
                f"{row['lookups'] - row['wrong']:,}",
                f"{row['lookups']:,}",
                probability(row["log2_failure"]),
                "-" if row["log2_deviation"] is None else f"2^{row['log2_deviation']:.1f}",
                f"2^{row['log2_predicted']:.1f}",
                f"{row['saturations']:,}",
                would_do(row),
            )
            for row in held
        ]
        widths = "" if d["widths"] == "own" else ", with derived widths"
        tables.append(Rows(f"lookups on {name}{widths}", columns, table, note=NOTE))
        refused = [(row["set"], row["error"]) for row in own if "error" in row]
        if refused:
            tables.append(Rows(f"not held by {name}", ("set", "reason"), refused, left=2))
    return tables


def would_do(row: dict[str, Any]) -> str:
    """The widths that would suffice, if the machine's do not."""
    found = row.get("suffices")
    if found is None:
        return "-"
    if "error" in found:
        return "none"
    return f"{found['key']}, {found['forward']}, {found['inverse']}: {probability(found['log2_failure'])}"
