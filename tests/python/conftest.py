"""What several suites share: the command line as a process, and texts held by snapshots."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

SNAPSHOTS = Path(__file__).with_name("snapshots")


@dataclass(frozen=True)
class Finished:
    """A process that has ended."""

    status: int
    out: str
    err: str


@pytest.fixture
def polyfabric(tmp_path: Path) -> Callable[..., Finished]:
    """Runs the command line in an empty folder."""

    def run(*arguments: str) -> Finished:
        done = subprocess.run(
            [sys.executable, "-m", "polyfabric", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1"},
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Holds a text against the file of the test's name. UPDATE_SNAPSHOTS=1 writes it, for a person to read."""

    def check(text: str) -> None:
        name = re.sub(r"[^A-Za-z0-9_.-]+", ".", f"{request.node.path.stem}.{request.node.name}").rstrip(".") + ".txt"
        file = SNAPSHOTS / name
        if os.environ.get("UPDATE_SNAPSHOTS") == "1":
            SNAPSHOTS.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert file.exists(), (
            f"there is no snapshot {file.name}; read the text below, then set UPDATE_SNAPSHOTS=1\n{text}"
        )
        assert text == file.read_text(encoding="utf-8")

    return check
