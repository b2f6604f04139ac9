"""`polyfabric bench`: measured speed of this computer."""

from __future__ import annotations

import click

from ..reports.tables import print_table
from ..studies import benchmark
from .console import grid, out, print_json, security_warnings


@click.command()
@click.option("--secrets", is_flag=True, help="Compare TFHE's uniform keys with block-binary ones instead.")
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
def bench(*, secrets: bool, as_json: bool) -> int:
    """Time a handful of operations on encrypted data on one thread of this computer, and check their results; about two minutes.

    Times are processor time of one operation, in a batch for TFHE. POLYFABRIC_ISA=avx2 or portable selects an older instruction set than the
    processor has.
    """
    with security_warnings():
        found = list(benchmark.secret_rows() if secrets else benchmark.rows())
    title = f"one thread, kernels in {benchmark.instruction_set()}"
    if as_json:
        print_json(benchmark.report(found))
    elif secrets:
        table = grid("parameters", "batch", "uniform, ms", "block-binary, ms", "times as fast", "result", title=title)
        for row in found:
            times = (f"{each:.3g}" for each in (row.uniform_ms, row.block_ms, row.ratio))
            table.add_row(row.parameters, str(row.batch), *times, "right" if row.right else "wrong")
        print_table(out(), table)
    else:
        table = grid(
            "operation",
            "parameters",
            "ms",
            "result",
            title=title,
            left=2,
        )
        for row in found:
            table.add_row(row.operation, row.parameters, f"{row.milliseconds:.3g}", "right" if row.right else "wrong")
        print_table(out(), table)
    return 0 if all(row.right for row in found) else 1
