"""Command-line options that mappers define; a command accepts the options of all mappers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ..accelerators.machine import machine_options
from ..errors import InputError
from ..schemes.options import OWN, WIDTHS


def _each_once(_context: click.Context, _option: click.Parameter, readings: tuple[str, ...]) -> tuple[str, ...]:
    """Checks that each fact has at most one reading."""
    found: dict[str, str] = {}
    for reading in readings:
        fact = reading.partition("=")[0]
        if fact in found:
            raise InputError(f"--reading {found[fact]} and {reading} set the same fact; give one of the two")
        found[fact] = reading
    return readings


readings = click.option(
    "--reading",
    "readings",
    multiple=True,
    metavar="FACT=OPTION",
    callback=_each_once,
    help="Choose one reading of a fact that a machine's paper leaves open.",
)

widths = click.option(
    "--widths",
    type=click.Choice(WIDTHS),
    default=OWN,
    show_default=True,
    help="TFHE on a machine: the widths of its transforms, those of its file or those that `polyfabric widths` derives for the set.",
)


def of_mappers(command: Callable[..., Any]) -> Callable[..., Any]:
    """`command` with an option for each name that some mapper lists."""
    for entry in reversed(machine_options()):
        option, values = entry["option"], entry["option"]["values"]
        kind = click.Choice(values["words"]) if "words" in values else click.FloatRange(0, min_open=True)
        metavar = None if "words" in values else str(values).upper()
        text = f"{entry['machine']}: {option['help']}."
        command = click.option(f"--{option['name']}", type=kind, metavar=metavar, help=text)(command)
    return command
