"""Ctrl-C while the command line is still importing its modules: the process ends as it does later, without a traceback.

The first import of the package, and by being imported it does its work: so it takes little time, and nothing but Python's own.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130
"""Status of a process that Ctrl-C has ended: 128 and the number of the signal."""


def end_quietly() -> None:
    """From now on Ctrl-C ends this process at once, if it is the command line, and nobody but its script has said otherwise. A program that imports the
    package gets Python's exception."""
    if _is_command_line() and signal.getsignal(signal.SIGINT) in (signal.default_int_handler, signal.SIG_DFL):
        signal.signal(signal.SIGINT, _end)


def raise_again() -> None:
    """From now on Ctrl-C raises: whoever calls this has what it takes to catch it."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_command_line() -> bool:
    """Whether the process was started as `polyfabric` or as `python -m polyfabric`."""
    called = sys.argv[0] if sys.argv else ""
    if called == "-m":
        # While the package of -m is imported; what it is stands behind it.
        options = sys.orig_argv
        return options[options.index("-m") + 1 :][:1] == ["polyfabric"] if "-m" in options else False
    return os.path.splitext(os.path.basename(called))[0] == "polyfabric"  # noqa: PTH119, PTH122 - pathlib takes a while


def _end(_number: int, _frame: FrameType | None) -> None:
    os.write(2, b"error: interrupted\n")
    os._exit(INTERRUPTED)


end_quietly()
