"""The output of `polyfabric run` for a program of TFHE."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from ..host.units import bytes_text, probability, scaled
from ..language.fixed_type import plain_number
from ..reports.rows import circuit_privacy
from ..reports.tables import print_table
from ..schemes.tfhe import ElementResult
from .console import BAD, grid, styled

SHOWN = 24
"""Largest number of printed values per output."""


def show(console: Console, result: ElementResult) -> None:
    """Prints the outputs, the clear outputs, and the cost of the run."""
    console.print(styled((result.program, "bold"), f" on {result.on}"))
    table = grid("output", "decrypted", "expected", left=3)
    for name, values in result.outputs.items():
        table.add_row(name, _short(values), _short(result.expected[name]))
    print_table(console, table)
    verdict = ("equal to the clear program", "green") if result.correct else ("differs from the clear program", BAD)
    console.print(styled("result       ", verdict))
    if not result.correct and result.outputs == result.expected:
        console.print("             in digits above an integer's width, which are not shown")
    if result.plan.program.chosen is not None:
        console.print(f"scheme       {result.plan.program.chosen}")
    for wrap in result.wrapped:
        console.print(f"wrapped      {wrap}")
    show_common(console, result)


def _short(values: Any) -> str:  # noqa: ANN401 - an integer or a list
    if not isinstance(values, list):
        return str(plain_number(values))
    shown = ", ".join(str(plain_number(value)) for value in values[:SHOWN])
    return f"[{shown}]" if len(values) <= SHOWN else f"[{shown}, .. {len(values)} in all]"


def show_common(console: Console, result: ElementResult) -> None:
    """Prints parameters, sizes, times, and the machine's report."""
    failure = result.log2_failure
    lookups = "1 lookup" if result.lookups == 1 else f"{result.lookups} lookups"
    console.print(f"parameters   {result.parameters}; {lookups}; failure probability {probability(failure)}")
    if "circuit_privacy_bits" in result.noise:
        console.print(f"privacy      {circuit_privacy(result.noise)}")
    sizes = result.sizes
    console.print(
        f"sizes        server key {bytes_text(sizes['server_key'])} ({bytes_text(sizes['server_key_compressed'])} to send), "
        f"inputs {bytes_text(sizes['inputs'])}, outputs {bytes_text(sizes['outputs'])}"
    )
    times = ", ".join(f"{name} {scaled(value, 's')}" for name, value in result.seconds.items())
    console.print(f"this run     {times}")
    if result.simulation is not None:
        console.print()
        result.simulation.print(console)
