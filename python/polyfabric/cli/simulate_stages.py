"""What `polyfabric simulate` prints of programs in stages, and of the steps that were tried for matrices."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from .. import programs, stage_programs
from ..errors import InputError
from ..machines import Machine
from ..progress import bars
from .console import grid, out, print_json, security_warnings


def stages(program: str, parameters: str | None, machine: Machine, given: dict[str, Any], *, as_json: bool) -> None:
    """Times a program in stages; `given` are the options that it does not take, by name."""
    for option, value in given.items():
        if value:
            raise InputError(
                f"{option} is of one schedule, and {program} has one for each kind of its stages; leave it out"
            )
    build, own = programs.STAGES[program]
    with security_warnings(), bars() as progress:
        found = stage_programs.simulated(program, build(), parameters or own, machine, progress)
    if as_json:
        print_json(found)
        return
    table = grid("stage", "times", "ms", "bootstraps", "key switches", "GB from and to memory", title=program)
    for kind in found["kinds"]:
        report = kind["report"]
        table.add_row(
            kind["stage"],
            f"{kind['count']:,}",
            f"{1e3 * report['seconds']:.3f}",
            f"{kind['bootstraps']}",
            f"{kind['key_switches']:,}",
            f"{report['traffic_bytes']['total'] / 1e9:.3g}",
        )
    console = out()
    console.print(table)
    console.print(
        f"\n{found['stages']:,} stages with {found['bootstraps']:,} bootstraps: {found['seconds']:.4g} s, "
        f"{found['traffic_bytes'] / 1e12:.3g} TB from and to memory on {found['machine']}, set {found['parameters']}"
    )
    console.print(f"{found['made_of']}")


def steps(console: Console, tried: list[dict[str, Any]]) -> None:
    """What was tried for each matrix: baby x giant steps and the time of the product alone."""
    console.print()
    if not tried:
        console.print("no matrix whose steps were weighed by schedules (--reading steps=schedules)")
        return
    table = grid("level", "limbs", "diagonals", "steps", "us", "products", "keys", "multipliers", "memory", "")
    for matrix in tried:
        for way in matrix["tried"]:
            figures = way["figures"]
            known = way["seconds"] is not None
            table.add_row(
                f"{matrix['level']}",
                f"{matrix['limbs']}",
                f"{matrix['diagonals']}",
                f"{way['babies']} x {way['giants']}",
                f"{1e6 * way['seconds']:,.1f}" if known else "does not fit",
                f"{figures['multiplications'] / 1e6:,.0f} M" if known else "",
                f"{figures['key_bytes'] / 1e6:,.0f} MB" if known else "",
                f"{figures['utilisation']:.0%}" if known else "",
                f"{figures['memory_busy']:.0%}" if known else "",
                "taken" if way["width"] == matrix["width"] else "",
            )
    console.print(table)
