"""One stage of a workload, as the suite's harness starts it: in the folder of its repository, with the instance's name or number and options.

python stage.py WORKLOAD STAGE [INSTANCE ..] [--count_only]
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import polyfabric as pf
from instance import Instance

MODULES = {"addition": "integers", "multiplication": "integers", "mlp": "mlp", "similarity": "similarity"}


def workload(name: str) -> tuple[Any, dict[str, Any]]:
    """A workload, and its instances by name. Only its own module is imported: stages are timed with their start."""
    module = import_module(MODULES[name])
    return module.WORKLOADS[name], module.SIZES


def main(words: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", choices=MODULES)
    parser.add_argument("stage")
    parser.add_argument("instance", nargs="*", help="a name or a number; the harness adds other words to some stages")
    parser.add_argument("--count_only", action="store_true")
    # The harness gives its seed to every stage; keys and ciphertexts have the operating system's randomness.
    given, _ = parser.parse_known_args(words)
    found, sizes = workload(given.workload)
    if given.stage not in found.stages:
        parser.error(f"{given.workload} has no stage {given.stage}; choose from {', '.join(found.stages)}")
    name = given.instance[0] if given.instance else ""
    if name.isdigit() and int(name) < len(sizes):
        name = list(sizes)[int(name)]
    stage = found.stages[given.stage]
    # Some stages without work get no instance, or a count in its place.
    if name not in sizes and stage.__name__ != "nothing":
        parser.error(f"there is no instance {name!r}; choose from {', '.join(sizes)}, or their numbers from 0")
    try:
        stage(Instance(Path.cwd(), name, count_only=given.count_only))
    except (pf.Error, OSError) as problem:
        print(f"{given.workload} {given.stage}: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
