"""`polyfabric bench`: measured speed of this computer."""

from __future__ import annotations

import click

from ..reports.tables import print_table
from ..studies import benchmark
from .console import grid, out, print_json, security_warnings


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
def bench(*, as_json: bool) -> int:
    """Time a handful of operations on encrypted data on one thread of this computer, and check their results; about two minutes.

    Times are processor time of one operation, in a batch for TFHE. POLYFABRIC_ISA=avx2 or portable selects an older instruction set than the
    processor has.
    """
    with security_warnings():
        found = list(benchmark.rows())
    if as_json:
        print_json(benchmark.report(found))
    else:
        table = grid(
            "operation",
            "parameters",
            "ms",
            "result",
            title=f"one thread, kernels in {benchmark.instruction_set()}",
            left=2,
        )
        for row in found:
            table.add_row(row.operation, row.parameters, f"{row.milliseconds:.3g}", "right" if row.right else "wrong")
        print_table(out(), table)
    return 0 if all(row.right for row in found) else 1
