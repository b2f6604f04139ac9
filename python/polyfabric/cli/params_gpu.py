"""The tables of `polyfabric params --on gpu`."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from ..host.units import bytes_text, number, scaled
from ..reports.tables import print_table
from .console import grid, out


def show_gpu_elements(found: dict[str, Any]) -> None:
    """Prints the table for sets of TFHE."""
    table = grid("set", "key bits", "served", "ciphertexts", "shared memory", "keys", "PBS, least", "PBS/s, most")
    for row in found["sets"]:
        shown = ["no", *"-----"]
        if row["served"]:
            shown = [
                "yes",
                str(row["ciphertexts"]),
                bytes_text(row["shared_bytes"]),
                bytes_text(row["key_bytes"]),
                scaled(row["least_seconds"], "s"),
                number(round(row["most_per_s"])),
            ]
        table.add_row(row["set"], str(row["key_bits"]), *shown)
    _show(found, table)
    out().print(
        f"\nkey bits: secret bits per iteration (--unroll). ciphertexts: ciphertexts per multiprocessor at once, with their shared memory. keys: size on the "
        f"card.\nPBS, least: time of the double-precision multiply-adds alone, all multiprocessors busy, at the {found['multiply_adds_per_s'] / 1e12:.0f} T a second that NVIDIA states "
        f"for an {found['estimated_for']} (estimated, a bound, not measured); a single one takes longer."
    )


def show_gpu_slots(found: dict[str, Any]) -> None:
    """Prints the table for sets of CKKS or BGV."""
    table = grid("set", "N", "served", "shared memory", "ciphertext", "switching key")
    for row in found["sets"]:
        shown = ["no", *"---"]
        if row["served"]:
            shown = ["yes", *(bytes_text(row[f"{what}_bytes"]) for what in ("shared", "ciphertext", "key"))]
        table.add_row(row["set"], str(row["ring_degree"]), *shown)
    _show(found, table)
    out().print(
        "\nshared memory: per block. switching key: one key; the card stores only the limbs that a program reads.\nA program's memory on the card, and its least time "
        "there: polyfabric run PROGRAM --cost."
    )


def _show(found: dict[str, Any], table: Table) -> None:
    """Prints the card, the table and the reasons for unsupported sets."""
    if found["card"] is not None:
        out().print(f"card here: {found['card']}")
    else:
        out().print(f"figures are for an {found['estimated_for']}; {found['no_card']}")
    print_table(out(), table)
    for reason in dict.fromkeys(row["reason"] for row in found["sets"] if not row["served"]):
        out().print(f"not served: {reason}")
