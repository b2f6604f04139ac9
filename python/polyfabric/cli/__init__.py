"""The command line, `polyfabric`: one command a module."""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from typing import Any

import click

from .._native import instruction_set
from ..errors import Error, InternalError
from ..host.files import expect_working_folder
from ..host.interrupts import INTERRUPTED, raise_again
from ..run.tracebacks import SHOW_ALL
from .bench import bench
from .compare import compare
from .conform import conform
from .console import error_line
from .doctor import doctor
from .explore import explore
from .grouped import first_sentence
from .machines import machines
from .operators import operators
from .params import params
from .programs import programs
from .reproduce import reproduce
from .run import run
from .serve import serve, token
from .simulate import simulate
from .validate import validate
from .widths import widths


class _UnreadError(Exception):
    """The reader closed the output. Click would end with status 1, which means a wrong result here."""


@contextmanager
def _reader_may_go() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise _UnreadError from error


class _Group(click.Group):
    """A group whose unknown commands suggest the nearest known one, and which ends quietly when the output is closed."""

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:  # noqa: ANN401 - click's own
        with _reader_may_go():
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - what a command returns
        with _reader_may_go():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's own
        """The commands in the order of their definition: the usual ones first."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes each command with the first sentence of its help, uncut."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, first_sentence(self.commands[name].help or "")) for name in self.list_commands(ctx)]
            )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            from ..host.names import suggestion

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
    """One program on encrypted data: run it on this computer, or time it on published accelerators."""
    # Report an instruction set that the processor lacks before anything runs.
    instruction_set()
    context.obj = {"debug": debug}
    if debug:
        os.environ[SHOW_ALL] = "1"


for _command in (
    run,
    simulate,
    compare,
    explore,
    reproduce,
    conform,
    programs,
    operators,
    machines,
    params,
    validate,
    widths,
    serve,
    token,
    bench,
    doctor,
):
    cli.add_command(_command)


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""Errors of the output stream itself. Files that a command writes have messages of their own."""


def _forget_output() -> None:
    """Redirects Python's buffered output to nowhere before the process ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line; the process ends with status 0, 1 (wrong answer), 2 (wrong call) or 3 (defect)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A character that the terminal's encoding lacks must not be an error.
            stream.reconfigure(errors="replace")
    try:
        raise_again()
        expect_working_folder()
        status = cli.main(args=given, prog_name="polyfabric", standalone_mode=False)
        sys.stdout.flush()
    except (click.exceptions.Abort, KeyboardInterrupt):
        error_line("interrupted")
        sys.stdout.flush()
        sys.stderr.flush()
        # Freeing a large program takes seconds, and nobody waits for it after an interrupt.
        os._exit(INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except Error as error:
        if "--debug" in given:
            traceback.print_exc()
        error_line(str(error))
        sys.exit(3 if isinstance(error, InternalError) else 2)
    except (BrokenPipeError, _UnreadError):
        _forget_output()
        sys.exit(0)
    except OSError as error:
        if error.errno not in FULL:
            raise
        _forget_output()
        error_line(f"standard output: cannot write ({error.strerror}); free some space, or write it somewhere else")
        sys.exit(2)
    sys.exit(status if isinstance(status, int) else 0)
