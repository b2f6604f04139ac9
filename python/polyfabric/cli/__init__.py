"""The command line: `polyfabric run | simulate | compare | explore | machines | params | reproduce | widths | bench`."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version

import click

from .._native import instruction_set
from ..errors import Error, InternalError
from ..interrupts import INTERRUPTED, raise_again
from .bench import bench
from .compare import compare
from .console import error_line
from .explore import explore
from .machines import machines
from .params import params
from .reproduce import reproduce
from .run import run
from .simulate import simulate
from .widths import widths


class _Group(click.Group):
    """A group whose unknown commands suggest the nearest known one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            from ..names import suggestion

            ctx.fail(f"there is no command {args[0]!r}; {suggestion(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


def _show_version(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        click.echo(f"polyfabric {version('polyfabric')}, kernels in {instruction_set()}")
        context.exit()


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version, and the instruction set that kernels use.",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def cli(context: click.Context, *, debug: bool) -> None:
    """One program on encrypted data: run on your machine, and executed and timed on published accelerators."""
    # A set that is not there is told before anything runs.
    instruction_set()
    context.obj = {"debug": debug}


for _command in (run, simulate, compare, explore, machines, params, reproduce, widths, bench):
    cli.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line; the process ends with status 0, 1 (an answer is wrong), 2 (the call is) or 3 (a defect)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        raise_again()
        status = cli.main(args=given, prog_name="polyfabric", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        error_line("interrupted")
        sys.stdout.flush()
        sys.stderr.flush()
        # To free a large program takes seconds, and nobody wants it any more.
        os._exit(INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except Error as error:
        if "--debug" in given:
            traceback.print_exc()
        error_line(str(error))
        sys.exit(3 if isinstance(error, InternalError) else 2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    sys.exit(status if isinstance(status, int) else 0)
