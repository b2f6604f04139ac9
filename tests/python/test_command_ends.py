"""The command line ends with a message for bad input, output or environment."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from rich.console import Console

ADD = """
import sys
import polyfabric as pf


@pf.program(x=pf.Int(0, 7))
def add(x):
    return x + 1
"""


def process(folder: Path, command: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A shell's line in a folder, in which $P is the command line."""
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "P": f"{sys.executable} -m polyfabric", **more},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    "line",
    [
        "run pbs --batch",
        "simulate pbs --on strix --batch",
        "compare pbs --batch",
        "explore strix --batch",
        "params toy-256 --on fpt --replay 2 --message-bits",
    ],
)
def test_a_number_beyond_all_bounds(polyfabric, line):
    for number in ("99999999999999999999999", "0", "-1"):
        done = polyfabric(*line.split(), number)
        assert (done.status, done.out) == (2, "")
        assert f"{number} is not in the range 1<=x<=" in done.err


def test_a_file_that_ends_python_is_refused(polyfabric, tmp_path):
    (tmp_path / "own.py").write_text(f"{ADD}\nsys.exit(0)\n")
    done = polyfabric("run", "own.py", "--input", "x=1")
    assert (done.status, done.out) == (2, "")
    assert "own.py:10: SystemExit: 0; correct the file" in done.err


def test_output_of_a_users_file_is_not_in_the_data(polyfabric, tmp_path):
    (tmp_path / "own.py").write_text(f"{ADD}\nprint('read')\n")
    done = polyfabric("run", "own.py", "--input", "x=1", "--json")
    assert json.loads(done.out)["outputs"] == {"result": 2}
    assert "read\n" in done.err


@pytest.mark.parametrize(
    "encoding", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
def test_an_encoding_without_some_characters(tmp_path, encoding):
    done = process(tmp_path, "$P params", **encoding)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2^4?6" in done.stdout or "?" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no file that is full")
@pytest.mark.parametrize("line", ["machines", "machines --json", "params", "--help", "--version"])
def test_an_output_that_is_full(tmp_path, line):
    done = process(tmp_path, f"$P {line} > /dev/full")
    assert done.returncode == 2
    assert done.stderr == (
        "error: standard output: cannot write (No space left on device); free some space, or write it somewhere else\n"
    )


@pytest.mark.parametrize("line", ["machines", "machines --json", "params strix-I", "--help"])
def test_an_output_that_nobody_reads(tmp_path, line):
    # The reader is gone before a word is written.
    done = process(tmp_path, f"(sleep 1.5; $P {line}; echo $? >&2) | true")
    assert done.stderr == "0\n"


def test_a_folder_that_is_gone(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    done = process(folder, "rmdir ../gone; $P machines")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: the working folder was deleted (No such file or directory); change to another one\n"


@pytest.mark.parametrize("line", ["params", "params --scheme ckks", "params --on strix"])
@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_narrow_terminal_splits_no_number(polyfabric, monkeypatch, line, width):
    drawn = io.StringIO()
    piped = polyfabric(*line.split()).out
    console = Console(file=drawn, force_terminal=True, color_system=None, width=width, markup=False, highlight=False)
    monkeypatch.setattr(import_module("polyfabric.cli.params"), "out", lambda: console)
    assert polyfabric(*line.split()).status == 0
    table, _, _ = piped.partition("\n\n")
    cells = {cell for row in table.splitlines()[1:] for cell in re.split(r" {2,}", row.strip())}
    assert len(cells) > 30
    shown = table.splitlines()[0]
    headers = {"params": ("direct", "chained"), "params --scheme ckks": ("scale or t", "estimator")}
    assert all(header in shown for header in headers.get(line, ("lookup fails",)))
    assert [cell for cell in cells if cell not in drawn.getvalue()] == []
