"""A newcomer's first commands from README work: 32-bit integers, a model of scikit-learn, and a server."""

from __future__ import annotations

import os
import resource
import shlex
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

ROOT = Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")

MOST_SECONDS = 120
"""For all of it."""


def shown(beginning: str) -> list[str]:
    """The command of README that begins so, as it is typed there with the package's own environment first in the path."""
    found = [line.partition("#")[0] for line in README.splitlines() if line.startswith(f"    {beginning}")]
    assert len(found) == 1, f"README shows one command {beginning!r}"
    words = shlex.split(found[0])
    assert (Path(sys.executable).parent / words[0]).exists(), f"make install brings {words[0]}"
    return [str(Path(sys.executable).parent / words[0]), *words[1:]]


def run(command: list[str], folder: Path = ROOT) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.full
def test_integers_a_model_and_a_server_in_two_minutes(tmp_path: Path) -> None:
    begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    integers = run(shown("python examples/integers.py"))
    assert "'paid': 40000" in integers
    assert f"'sum': {1200 + 40_000 + 39_999}" in integers

    model = run(shown("python examples/model.py"))
    encrypted, clear = (
        next(line for line in model.splitlines() if line.startswith(name)) for name in ("encrypted ", "clear ")
    )
    assert encrypted.split("[")[1].split("]")[0] == clear.split("[")[1].split("]")[0]

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    run(shown("polyfabric token "), tmp_path)
    # Another port than README's, which may be taken here.
    process = subprocess.Popen([*shown("polyfabric serve "), "--port", str(port)], cwd=tmp_path)
    try:
        for _ in range(600):
            try:
                urlopen(f"{address}/health").close()
                break
            except URLError:
                assert process.poll() is None, "the service ended"
                time.sleep(0.1)
        assert "'surplus': 50" in run([*shown("python examples/client.py"), address], tmp_path)
    finally:
        process.terminate()
        process.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = sum(getattr(after, name) - getattr(before, name) for name in ("ru_utime", "ru_stime"))
    # Where other work keeps the processors busy: what it takes of two.
    taken = min(time.monotonic() - begin, processor / min(2, os.cpu_count() or 1))
    assert taken <= MOST_SECONDS, f"{taken:.0f} s"
