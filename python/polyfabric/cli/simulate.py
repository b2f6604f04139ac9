"""`polyfabric simulate`: the time, stalls, traffic and energy of a machine's schedule."""

from __future__ import annotations

from pathlib import Path

import click

from .. import _native
from ..machines import load
from ..progress import working
from . import programs
from .console import out, print_json, security_warnings


@click.command()
@click.argument("program")
@click.option(
    "--machine", "machine_name", required=True, metavar="M", help="A machine's name, or a file.toml of yours."
)
@click.option("--params", "parameters", metavar="SET", help="Parameter set; without it, one is chosen.")
@click.option("--batch", type=click.IntRange(1), metavar="N", help="Ciphertexts of a built-in program; 64 without it.")
@click.option(
    "--reading", "readings", multiple=True, metavar="FACT=OPTION", help="How to read what the paper leaves open."
)
@click.option(
    "--max-failure",
    "target",
    type=float,
    metavar="LOG2",
    help="Largest failure probability, as a power of 2; -128 without it, -64 on a machine, -40 for a named set.",
)
@click.option(
    "--timeline", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write the Perfetto timeline."
)
@click.option(
    "--report",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write report.html, report.json and timeline.json.",
)
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
def simulate(
    program: str,
    *,
    machine_name: str,
    parameters: str | None,
    batch: int | None,
    readings: tuple[str, ...],
    target: float | None,
    timeline: Path | None,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Time PROGRAM on a machine, from a checked schedule of all its operations.

    PROGRAM is digits, adder, deepcnn-20, -50 or -100, vgg-9, xgboost, pbs, pbs+ks, keyswitch, or your own:
    FILE.py:FUNCTION.
    """
    machine = load(machine_name, readings)
    with security_warnings(), working(f"mapping {program} onto {machine.name} and checking every event"):
        if program in _native.built_in_names():
            planned = programs.timed(program, parameters, batch or 64, machine)
        elif program == "digits":
            from ..apps.digits.classify import prepare

            planned, _ = prepare(batch or 1, machine, parameters, target)
        else:
            planned = programs.planned(program, parameters, batch, machine, target)
        report = machine.simulate(planned)
        if timeline is not None:
            report.timeline(timeline)
        if folder is not None:
            report.save(folder)
    if as_json:
        print_json(report.to_dict())
    else:
        report.print(out())
        for path in filter(None, (timeline, folder)):
            out().print(f"\nwritten: {path}")
