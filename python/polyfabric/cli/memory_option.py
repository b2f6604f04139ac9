"""`--memory`, of every command that plans, runs or times programs."""

from __future__ import annotations

import click

from ..memory import limited


def _limit(context: click.Context, _option: click.Parameter, memory: str | None) -> None:
    """Holds for the whole command."""
    context.with_resource(limited(memory))


option = click.option(
    "--memory",
    metavar="SIZE",
    expose_value=False,
    callback=_limit,
    help="Most memory that a step may take, as 4G or 512M; what this computer has left without it. What needs more is refused before it takes any.",
)
