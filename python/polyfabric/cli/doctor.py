"""`polyfabric doctor`: what this computer and this installation offer."""

from __future__ import annotations

import platform
import shutil
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import click

from .._native import instruction_set
from ..host import computer
from ..host.units import bytes_text
from ..reports.tables import print_table
from ..schemes import gpu
from .console import grid, out, print_json

PACKAGES = {
    "sklearn": ("reads models of scikit-learn", "pip install scikit-learn"),
    "onnx": ("reads models in ONNX", "pip install 'polyfabric[onnx]'"),
    "polars": ("writes queries on tables", "pip install 'polyfabric[polars]'"),
    "distributed": ("work on a Dask cluster", "pip install 'polyfabric[dask]'"),
    "uvicorn": ("serves programs over HTTP", "pip install 'polyfabric[service]'"),
    "starlette": ("serves programs over HTTP", "pip install 'polyfabric[service]'"),
}
"""Optional Python packages: what each is for, and how to install it."""

COMMANDS = {
    "verilator": ("simulates the units in rtl/", "apt install verilator"),
    "yosys": ("synthesizes the units in rtl/", "apt install yosys"),
}
"""Optional programs, of the system or from a wheel."""


def facts() -> dict[str, Any]:
    """What this computer offers, as data; sizes in bytes."""
    card = gpu.here()
    found = {name: find_spec(name) is not None for name in PACKAGES} | {
        name: shutil.which(name) is not None or find_spec(name) is not None for name in COMMANDS
    }
    return {
        "polyfabric": version("polyfabric"),
        "python": platform.python_version(),
        "processor": platform.machine(),
        "instruction_set": instruction_set(),
        "cores": computer.cores(),
        "memory_bytes": computer.memory_facts(),
        "gpu": {"card": card["card"], "reason": card["no_card"]},
        "tools": {
            name: {"found": found[name], "for": purpose, "install": install}
            for name, (purpose, install) in (PACKAGES | COMMANDS).items()
        },
    }


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
def doctor(*, as_json: bool) -> None:
    """Show what this computer offers: instruction set, cores, memory, GPU, and optional tools.

    POLYFABRIC_ISA=avx2 or portable selects an older instruction set than the processor has.
    """
    found = facts()
    if as_json:
        print_json(found)
        return
    table = grid("item", "here", "", left=3)
    for name in ("polyfabric", "python", "processor", "cores"):
        table.add_row(name, str(found[name]), "")
    table.add_row("instruction set", found["instruction_set"], "of the kernels")
    for name, size in found["memory_bytes"].items():
        unknown = "no limit" if name == "cgroup_limit" else "unknown"
        table.add_row(f"memory, {name.replace('_', ' ')}", unknown if size is None else bytes_text(size), "")
    table.add_row("GPU", found["gpu"]["card"] or "none", found["gpu"]["reason"] or "")
    for name, tool in found["tools"].items():
        advice = "" if tool["found"] else f"; {tool['install']}"
        table.add_row(name, "yes" if tool["found"] else "no", f"{tool['for']}{advice}")
    print_table(out(), table)
