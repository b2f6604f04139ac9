"""The output of `polyfabric run` for a program of CKKS or BGV."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from rich.console import Console

from ..host.units import bytes_text, scaled, security
from ..language.fixed_type import plain_number
from ..reports.slots import failure
from ..reports.tables import print_table
from ..schemes.rns import SlotResult
from .console import BAD, grid, styled

SHOWN = 6
"""Largest number of printed values per row of an output."""


def show(console: Console, result: SlotResult) -> None:
    """Prints the outputs, the clear outputs, the errors, and the cost of the run."""
    console.print(styled((result.program, "bold"), f" with {result.scheme.upper()} on {result.on}"))
    exact = result.exact
    table = grid(
        "output", "decrypted", "expected", "wrong" if exact else "error", *([] if exact else ["bound"]), left=3
    )
    for name, values in result.outputs.items():
        error, bound = result.error[name], result.bound[name]
        figures = (f"{error:.0f}",) if exact else (f"{error:.1e}", f"{bound:.1e}")
        table.add_row(name, _short(values), _short(result.expected[name]), *figures)
    print_table(console, table)
    if result.plan.program.chosen is not None:
        console.print(f"scheme            {result.plan.program.chosen}")
    show_common(console, result)


def _short(values: Any) -> str:  # noqa: ANN401 - a number, a list, or a list of rows
    if not isinstance(values, list):
        return _number(values)
    if not isinstance(values[0], list):
        return _row(values, f" {len(values)} in all")
    rows, columns = len(values), len(values[0])
    shown = max(1, SHOWN // columns)
    more = f", .. {rows} x {columns} in all" if rows > shown or columns > SHOWN else ""
    return f"[{', '.join(_row(row, '') for row in values[:shown])}{more}]"


def _row(values: list[complex], size: str) -> str:
    """The first numbers, then `size` if some are left out."""
    shown = ", ".join(_number(value) for value in values[:SHOWN])
    more = f", ..{size}" if len(values) > SHOWN else ""
    return f"[{shown}{more}]"


def _number(value: complex) -> str:
    if isinstance(value, int | str | Fraction):
        return str(plain_number(value))
    # Small nonzero numbers need an exponent, or they would print as 0.
    return f"{value:.5f}" if value == 0 or 0.01 <= abs(value) < 1e7 else f"{value:.3e}"


def show_common(console: Console, result: SlotResult, *, operations: bool = True, tolerated: bool = False) -> None:
    """Prints errors and bounds, parameters, sizes, times, the machine's report, and the errors of every operation if they were measured.

    With `tolerated`, the application's own tolerance decides, even if the bound of the run exceeds the expected values.
    """
    if result.exact:
        verdict = "equal to the clear program in every value"
    else:
        name = max(result.error, key=lambda output: result.error[output])
        of = "" if result.bound_for == "any inputs" else f" for {result.bound_for}"
        empty = tolerated and result.verdict[name] == "bound says nothing"
        says = ", larger than the values: the tolerance decides" if empty else ""
        verdict = f"within {result.error[name]:.1e} of the clear program (bound {result.bound[name]:.1e}{of}{says})"
    if result.distance:
        verdict += f"; within {max(result.distance.values()):.1e} of the true functions, which polynomials approximate"
    right = result.correct or (tolerated and result.within_bounds)
    if not right:
        verdict = f"not correct: {result.problem}"
    console.print(styled("result            ", (verdict, "green" if right else BAD)))
    facts, set_ = result.plan.facts, result.plan.facts["parameters"]
    console.print(
        f"parameters        {set_['name']}: degree {set_['ring_degree']}, logQP {set_['log2_q'] + set_['log2_p']:.0f}, "
        f"{security(set_['security_bits'])} bits of security; inputs at level {facts['start_level']}"
        + (", encrypted with a public key" if result.plan.public else "")
    )
    _, how_often = failure(result.scheme, facts["log2_failure"])
    console.print(f"fails             {how_often}" if result.exact else f"bound             exceeded {how_often}")
    sizes = result.sizes
    console.print(
        f"sizes             {len(facts['keys'])} switching keys {bytes_text(sizes['keys'])}, "
        f"inputs {bytes_text(sizes['inputs'])}, outputs {bytes_text(sizes['outputs'])}"
    )
    times = ", ".join(f"{name} {scaled(value, 's')}" for name, value in result.seconds.items())
    console.print(f"this run          {times}")
    if result.simulation is not None:
        console.print()
        result.simulation.print(console)
    if result.plan.key_switch is not None:
        console.print()
        result.plan.key_switch.print(console)
    if result.plan.measure and operations:
        console.print()
        result.operations.print(console)
        beyond = result.first_beyond
        if beyond is not None:
            console.print(f"first above its bound: {beyond['op']} %{beyond['node']}, {beyond['place']}", style=BAD)
