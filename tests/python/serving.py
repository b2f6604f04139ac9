"""Processes of `polyfabric serve` for tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyfabric.service.tokens import make_token

PROGRAMS = """
import polyfabric as pf


@pf.program(x=pf.Bool, y=pf.Bool)
def both(x, y):
    return x & y


@pf.program(x=pf.UInt(2))
def following(x):
    return x + 1


@pf.program(x=pf.Real.vector(4))
def reals(x):
    return x * x + 0.5


@pf.program(x=pf.Int(0, 3))
def turned(x):
    return pf.lookup(x, [3, 0, 2, 1])


many = turned.in_batches(8)


@pf.program(x=pf.UInt(3).vector(200))
def slow(x):
    for _ in range(20):
        x = x * x
    return x
"""

STARTED = "import sys; {before}; from polyfabric.cli import main; main(sys.argv[1:])"


@dataclass
class Served:
    """A server's process."""

    address: str
    folder: Path
    process: subprocess.Popen[bytes]

    def audit(self) -> list[dict[str, Any]]:
        """The audit log."""
        return [json.loads(line) for line in (self.folder / "audit.log").read_text().splitlines()]

    @property
    def log(self) -> str:
        """What the server has written on standard error."""
        return (self.folder / "error.log").read_text()


def tokens_in(folder: Path, *tenants: str) -> dict[str, str]:
    """A new token of each tenant."""
    return {tenant: make_token(folder / "tokens.txt", tenant) for tenant in tenants}


@contextmanager
def serving(
    folder: Path, *options: str, programs: tuple[str, ...] = ("both",), before: str = "pass"
) -> Iterator[Served]:
    """A process that serves, killed without warning at the end. `before` is Python that it executes first."""
    source = folder / "served.py"
    source.write_text(PROGRAMS)
    arguments = ["serve", *(f"{source}:{name}" for name in programs), "--keys", str(folder / "keys")]
    arguments += ["--tokens", str(folder / "tokens.txt"), "--port", "0", *options]
    with (folder / "audit.log").open("wb") as audit, (folder / "error.log").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", STARTED.format(before=before), *arguments],
            stdout=audit,
            stderr=errors,
            env={**os.environ, "COLUMNS": "200"},
        )
    served = Served("", folder, process)
    try:
        for _ in range(1200):
            if " on http" in served.log:
                break
            assert process.poll() is None, served.log
            time.sleep(0.05)
        served.address = served.log.split(" on ")[-1].split()[0]
        yield served
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
