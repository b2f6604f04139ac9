"""Ctrl-C during the command line's imports: ends the process without a traceback, as later.

Importing this module installs the handler. It is the package's first import, so it must be fast and import only the standard library.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 plus the signal's number."""


def end_quietly() -> None:
    """Makes Ctrl-C end the process immediately if it is the command line and the signal has its default handler. Programs that import the
    package get Python's exception."""
    if _is_command_line() and signal.getsignal(signal.SIGINT) in (signal.default_int_handler, signal.SIG_DFL):
        signal.signal(signal.SIGINT, _end)


def raise_again() -> None:
    """Makes Ctrl-C raise again; the caller catches the exception."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_command_line() -> bool:
    """Whether the process was started as `polyfabric` or as `python -m polyfabric`."""
    called = sys.argv[0] if sys.argv else ""
    if called == "-m":
        # While the package of -m is imported; its name follows the option.
        options = sys.orig_argv
        return options[options.index("-m") + 1 :][:1] == ["polyfabric"] if "-m" in options else False
    return os.path.splitext(os.path.basename(called))[0] == "polyfabric"  # noqa: PTH119, PTH122 - pathlib takes a while


def _end(_number: int, _frame: FrameType | None) -> None:
    os.write(2, b"error: interrupted\n")
    os._exit(INTERRUPTED)


end_quietly()
