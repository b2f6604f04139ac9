"""Tables of the CPU benchmarks: ours beside the peers."""

from __future__ import annotations

from typing import Any

Rows = list[tuple[str, ...]]

TFHE = (
    "set",
    "torus",
    "one PBS, ms",
    "",
    "batch of 64, ms each",
    "",
    "two key bits",
    "",
    "key switch in a batch",
    "alone",
)
RNS = ("operation", "parameters", "ours, ms", "peer", "ms", "")


def tfhe(found: dict[str, Any]) -> Rows:
    """One line a set: our time against tfhe-rs's, and how many times faster ours is, with the range of single rounds where it was kept."""
    by: dict[str, dict[tuple[str, int, int], dict[str, Any]]] = {}
    for row in found["rows"]:
        if row["threads"] == 1:
            by.setdefault(row["set"], {})[row["operation"], row["batch"], row["unroll"]] = row
    lines = []
    for name, rows in by.items():
        largest = max(batch for _, batch, _ in rows)
        torus = str(next(iter(rows.values()))["torus_bits"])
        of = " (of 8)" if largest < 64 else ""
        cells = [*_times(rows.get(("pbs", 1, 1))), *_times(rows.get(("pbs", largest, 1)), of)]
        cells += [*_times(rows.get(("pbs", largest, 2)))]
        cells += [_times(rows.get(("keyswitch", batch, 1)))[1] for batch in (largest, 1)]
        lines.append((name, torus, *cells))
    return lines


def _times(row: dict[str, Any] | None, note: str = "") -> tuple[str, str]:
    if row is None:
        return ("–", "")
    peer = row["peer"]
    ratio = f"{peer['ratio']:.2f}×"
    if "least_ratio" in peer:
        ratio += f" ({peer['least_ratio']:.2f} to {peer['largest_ratio']:.2f})"
    return (f"{_ms(row['ours_ms'])} against {_ms(peer['ms'])}{note}", ratio)


TFHE_SMALL = ("set", "one look-up, ms", "tfhe-rs", "", "in a batch of 64, ms", "tfhe-rs", "")
SHOWN = ("fpt-I", "morphling-IV")
"""Of the sets that were measured, one a width and ring degree."""

RNS_SMALL = ("operation", "parameters", "ours, ms", "Lattigo, ms", "")


def tfhe_small(found: dict[str, Any]) -> Rows:
    """Look-ups alone, one at a time and in the largest batch."""
    by: dict[str, dict[int, dict[str, Any]]] = {}
    for row in found["rows"]:
        if row["set"] in SHOWN and (row["operation"], row["threads"], row["unroll"]) == ("pbs", 1, 1):
            by.setdefault(row["set"], {})[row["batch"]] = row
    return [(name, *(cell for batch in (1, 64) for cell in _pair(rows.get(batch)))) for name, rows in by.items()]


def _pair(row: dict[str, Any] | None) -> tuple[str, str, str]:
    if row is None:
        return ("–", "–", "")
    return (_ms(row["ours_ms"]), _ms(row["peer"]["ms"]), f"{row['peer']['ratio']:.2f}×")


def rns_small(found: dict[str, Any]) -> Rows:
    """The operations of programs beside Lattigo."""
    return [
        (row["op"], row["params"], _ms(row["ours_ms"]), _ms(row["peer_ms"]), f"{row['ratio']:.2f}×")
        for row in found["rows"]
        if row["peer"] == "Lattigo" and row["op"].split()[-1] in ("multiply", "hoisted")
    ]


def rns(found: dict[str, Any]) -> Rows:
    """One line an operation and peer, the least times of the run."""
    return [
        (row["op"], row["params"], _ms(row["ours_ms"]), row["peer"], _ms(row["peer_ms"]), f"{row['ratio']:.2f}×")
        for row in found["rows"]
    ]


INTEGERS = ("operation", "bits", "look-ups", "ours, ms", "tfhe-rs, ms", "", "on two threads", "", "")


def integers(found: dict[str, Any]) -> Rows:
    """One line an operation and width: processor time of one thread, with the range of the ratio over single rounds, and of two."""
    by: dict[tuple[str, int], dict[int, dict[str, Any]]] = {}
    for row in found["rows"]:
        by.setdefault((row["operation"], row["bits"]), {})[row["threads"]] = row
    return [
        (name, str(bits), f"{rows[1]['lookups']:,}", *_processor(rows.get(1), whole=True), *_processor(rows.get(2)))
        for (name, bits), rows in by.items()
    ]


def _processor(row: dict[str, Any] | None, *, whole: bool = False) -> tuple[str, str, str]:
    if row is None:
        return ("–", "–", "")
    peer = row["peer"]
    ratio = f"{peer['ratio']:.2f}×" + (f" ({peer['least_ratio']:.2f} to {peer['largest_ratio']:.2f})" if whole else "")
    return (_ms(row["ours"]["processor_ms"]), _ms(peer["times"]["processor_ms"]), ratio)


def _ms(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


TABLES = {
    "integers": ("bench-integers", INTEGERS, integers),
    "integers-64": ("bench-integers-64", INTEGERS[:6], lambda found: [row[:6] for row in integers(found)]),
    "tfhe-small": ("bench-tfhe-avx512", TFHE_SMALL, tfhe_small),
    "rns-small": ("bench-rns-avx512", RNS_SMALL, rns_small),
    "tfhe-avx512": ("bench-tfhe-avx512", TFHE, tfhe),
    "tfhe-avx2": ("bench-tfhe-avx2", TFHE, tfhe),
    "rns-avx512": ("bench-rns-avx512", RNS, rns),
    "rns-avx2": ("bench-rns-avx2", RNS, rns),
}
