"""Command-line options that come from the mappers: each lists its own, and a command takes those of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ..machines import machine_options


def machine_choices(command: Callable[..., Any]) -> Callable[..., Any]:
    """`command` with an option for each name that some mapper lists."""
    for entry in reversed(machine_options()):
        option, values = entry["option"], entry["option"]["values"]
        kind = click.Choice(values["words"]) if "words" in values else click.FloatRange(0, min_open=True)
        metavar = None if "words" in values else str(values).upper()
        text = f"{entry['machine']}: {option['help']}."
        command = click.option(f"--{option['name']}", type=kind, metavar=metavar, help=text)(command)
    return command
