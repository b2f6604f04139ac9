"""`--memory`, for every command that plans, runs or times programs."""

from __future__ import annotations

import click

from ..host.memory import limited


def _limit(context: click.Context, _option: click.Parameter, memory: str | None) -> None:
    """Applies the limit to the whole command."""
    context.with_resource(limited(memory))


option = click.option(
    "--memory",
    metavar="SIZE",
    expose_value=False,
    callback=_limit,
    help="Memory limit of a step, such as 4G or 512M; default: this computer's free memory. A step that needs more fails before it starts.",
)
