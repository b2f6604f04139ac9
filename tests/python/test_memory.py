"""The memory estimate before key generation matches the run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SLOTS = """
import numpy as np

import polyfabric as pf


@pf.program("turns", x=pf.Real.vector(4096), y=pf.Real.vector(4096))
def turns(x, y):
    product = x * y
    return {"z": product + sum(product.rotate(steps) for steps in range(1, 25))}


values = np.linspace(-1, 1, 4096)
turns.run({"x": values, "y": values}, parameters="ckks-depth-8", threads=1)
cost = turns.cost("ckks-depth-8")
"""

ELEMENTS = """
import polyfabric as pf


@pf.program("products", x=pf.UInt(16).vector(100), y=pf.UInt(16).vector(100))
def products(x, y):
    return {"z": x * y}


products.run({"x": range(100), "y": range(100)})
cost = products.cost()
"""

PEAK = """
import re
from pathlib import Path

peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
"""

TOLD = """
print(cost.to_dict()["memory_bytes"], int(peak[1]) << 10)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not tell a process's peak")
@pytest.mark.parametrize("program", [SLOTS, pytest.param(ELEMENTS, marks=pytest.mark.full)], ids=["slots", "elements"])
def test_the_reported_memory_is_that_of_a_run(program: str) -> None:
    """Not less, and at most a third more: of this size Python's own part, which differs by machine, is a tenth."""
    run, cost = program.rsplit("\n", 2)[:2]
    found = subprocess.run(
        [sys.executable, "-c", "\n".join([run, PEAK, cost, TOLD])], check=True, capture_output=True, text=True
    )
    estimate, peak = map(int, found.stdout.split())
    assert peak <= estimate <= peak * 4 / 3, f"{estimate >> 20} MiB estimated, {peak >> 20} MiB taken"
