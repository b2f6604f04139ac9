"""Calls of the command line, in this process or in a new one."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sysconfig
import warnings
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from polyfabric import cli
from polyfabric.apps import programs

LOOKS = {"COLUMNS": "120", "NO_COLOR": "1"}


@dataclass(frozen=True)
class Finished:
    """A call of the command line that has ended."""

    status: int
    out: str
    err: str


def started(folder: Path, *arguments: str) -> Finished:
    """Runs the installed command in a new process and folder; half a second slower than `called`."""
    done = subprocess.run(
        [Path(sysconfig.get_path("scripts")) / "polyfabric", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, **LOOKS},
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def called(folder: Path, *arguments: str) -> Finished:
    """The command line's own `main` in a folder, as in a new process: with no program of a file read before, and Python's own filters of warnings."""
    programs.load.cache_clear()
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, LOOKS),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.resetwarnings()
        for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)
        try:
            cli.main(arguments)
            status = 0
        except SystemExit as ended:
            status = ended.code
        for each in caught:
            err.write(warnings.formatwarning(each.message, each.category, each.filename, each.lineno))
    assert isinstance(status, int), status
    return Finished(status, out.getvalue(), err.getvalue())
