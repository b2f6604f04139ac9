"""The output of `polyfabric simulate` for programs of repeated rounds and for the steps of matrices."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from ..accelerators.machine import Machine
from ..apps import programs
from ..errors import InputError
from ..host.progress import bars, working
from ..reports import Report
from ..reports.tables import print_table
from ..run import repeated_rounds
from ..run.execution import plan
from .console import grid, out, print_json, security_warnings


def is_given(value: object) -> bool:
    """Whether the user gave an option; 0 counts as a value."""
    return value is not None and value is not False


def folded(
    program: str,
    parameters: str | None,
    machine: Machine,
    of_flat: Mapping[str, Any],
    files: Mapping[str, Path | None],
    *,
    security: float | None,
    shorter: bool,
    as_json: bool,
) -> None:
    """Times a program of repeated rounds, also without loops if the user asks for the shorter schedule. `of_flat` maps the options that loops do not support;
    `files` maps the options that name output files."""
    for option, value in of_flat.items():
        if is_given(value):
            alone = (
                f"leave it out, or use --schedule flat for {program}"
                if program not in programs.ONLY_ROUNDS
                else "leave it out"
            )
            raise InputError(
                f"{option} needs a schedule without loops, but here the rounds of {program} are loops; {alone}"
            )
    build, own = programs.ROUNDS[program]
    with security_warnings(), bars() as progress:
        found = repeated_rounds.simulated(build(), parameters or own, machine, progress, security=security)
    flat = _flat(program, parameters or own, machine, security) if shorter else None
    timeline, folder = files["--timeline"], files["--report"]
    if timeline is not None:
        found.report.timeline(timeline)
    if folder is not None:
        found.report.save(folder)
    data = found.to_dict()
    if flat is not None:
        data["flat"] = flat.to_dict()
        data["shorter"] = "folded" if data["report"]["cycles"] <= data["flat"]["cycles"] else "flat"
    if as_json:
        print_json(data)
        return
    console = out()
    (found.report if flat is None or data["shorter"] == "folded" else flat).print(console)
    table = grid("body", "rounds", "ms", "bootstraps", "key switches", "GB from and to memory", title=program)
    for body in data["bodies"]:
        table.add_row(
            body["name"],
            f"{body['rounds']:,}",
            f"{1e3 * body['seconds']:.3f}",
            f"{body['bootstraps']}",
            f"{body['key_switches']:,}",
            f"{body['traffic_bytes'] / 1e9:.3g}",
        )
    console.print()
    print_table(console, table)
    console.print(
        f"\n{data['rounds']:,} rounds with {data['bootstraps']:,} bootstraps: {data['report']['seconds']:.4g} s on {found.machine}, set {found.parameters}; "
        f"{data['held_events']:,} events for {data['report']['events']:,}"
    )
    console.print(found_of(data))
    for path in filter(None, files.values()):
        console.print(f"\nwritten: {path}")


def found_of(data: Mapping[str, Any]) -> str:
    """A sentence on the schedules."""
    if "flat" not in data:
        return f"{data['made_of']}"
    times = {"folded": data["report"]["seconds"], "flat": data["flat"]["seconds"]}
    words = ", ".join(f"{name} {seconds:.4g} s" for name, seconds in times.items())
    return f"{data['made_of']}; {words}: the {data['shorter']} one is shorter"


def _flat(program: str, parameters: str, machine: Machine, security: float | None) -> Report:
    """The report of the schedule without loops."""
    whole = programs.on_slots(program, parameters)
    if whole is None:
        raise InputError(f"{program} has no schedule without loops; leave --schedule out")
    with security_warnings(), working(f"mapping {program} onto {machine.name} without loops and checking every event"):
        return machine.simulate(plan(whole, parameters, machine=machine, key_switch="set", security=security))


def steps(console: Console, tried: list[dict[str, Any]]) -> None:
    """Prints the tried baby x giant steps of each matrix, with the time of the product alone."""
    console.print()
    if not tried:
        console.print("no matrix whose steps were chosen by schedules (--reading steps=schedules)")
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
    print_table(console, table)
