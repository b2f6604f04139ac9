"""Measure lookups and key switches of every default parameter set; the planner uses the table to choose the fastest set.

python scripts/lookup_rates.py      measure with AVX2 and with AVX-512, and write the table

Milliseconds of processor time per ciphertext of a batch, scaled from a key of fewer secret bits. The table needs a processor with AVX-512.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

from documentation.results import processor, replace

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "crates/program/src/tfhe/noise/rates.toml"
SETS = ROOT / "crates/schemes/src/tfhe/sets/defaults.toml"
INSTRUCTIONS = ("avx2", "avx512")
UNROLLED = (1, 2, 4)
BATCH = 24
ROUNDS = 3
FEWER = 96
"""LWE dimension of the timed keys; the time of a lookup is proportional to it."""


def default_sets() -> list[dict[str, Any]]:
    """The parameters of every default set."""
    return [entry["parameters"] for entry in tomllib.loads(SETS.read_text(encoding="utf-8"))["set"]]


def timed_dimension(parameters: dict[str, Any]) -> int:
    """The LWE dimension of the timed lookups of a set."""
    return min(FEWER, parameters["lwe_dimension"])


def one_of_a_batch(parameters: dict[str, Any], program: str, unroll: int | None = None) -> float:
    """Milliseconds of a built-in program per further ciphertext, with fewer secret bits."""
    from polyfabric import _native
    from polyfabric.schemes.tfhe import ElementContext, TfhePlan

    fewer = {**parameters, "name": "timed", "lwe_dimension": timed_dimension(parameters), "sources": {}}
    few = _native.TfheParameters.from_json(json.dumps(fewer))
    context = ElementContext.of_keys(few, unroll)
    client = context.generate()
    server = context.server_key(client)

    def seconds(count: int) -> float:
        planned = TfhePlan.built_in(program, few, count, unroll=unroll)
        inputs = {"x": [0] * count}
        ciphertexts = client.encrypt(planned.signature, inputs)
        times = []
        for _ in range(ROUNDS):
            begin = time.process_time()
            results = planned.kernel.run(server, ciphertexts, 1)
            times.append(time.process_time() - begin)
        if client.decrypt(planned.signature, results) != planned.program.native.evaluate(inputs):
            sys.exit(f"{parameters['name']}: {program} gives a wrong result; nothing is written")
        return min(times)

    return 1e3 * (seconds(BATCH) - seconds(1)) / (BATCH - 1)


def measured() -> dict[str, dict[str, Any]]:
    """Times by set, with the selected instructions."""
    found = {}
    for parameters in default_sets():
        bits, few = parameters["lwe_dimension"], timed_dimension(parameters)
        unrolled = [None] if "secret" in parameters else UNROLLED
        lookup = [one_of_a_batch(parameters, "pbs", unroll) * bits / few for unroll in unrolled]
        # Of every column of the key, the body's too.
        switched = "key_switch_gadget" in parameters
        key_switch = one_of_a_batch(parameters, "keyswitch") * (bits + 1) / (few + 1) if switched else 0.0
        found[parameters["name"]] = {"lookup": lookup, "key_switch": key_switch}
        print(parameters["name"], *(f"{each:.2f}" for each in lookup), file=sys.stderr)
    return found


def table(by_instructions: dict[str, dict[str, dict[str, Any]]]) -> str:
    """The text of the table."""
    lines = [
        "# Milliseconds of processor time of one lookup, with 1, 2 and 4 secret bits an iteration or a block of a block-binary key, and of one key switch, in batches.",
        f"# Measured on {datetime.date.today()}, on {processor()['name']}, by `.venv/bin/python scripts/lookup_rates.py`. Do not edit.",
    ]
    for parameters in default_sets():
        name = parameters["name"]
        lines += ["", "[[set]]", f'name = "{name}"']
        for instructions, found in by_instructions.items():
            lookup = ", ".join(f"{each:.3f}" for each in found[name]["lookup"])
            lines.append(f"{instructions} = {{ lookup = [{lookup}], key_switch = {found[name]['key_switch']:.4f} }}")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure each instruction set in a separate process, because a process cannot change it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instructions", choices=INSTRUCTIONS, help=argparse.SUPPRESS)
    if parser.parse_args().instructions:
        print(json.dumps(measured()))
        return 0
    found = {}
    for instructions in INSTRUCTIONS:
        done = subprocess.run(
            [sys.executable, __file__, "--instructions", instructions],
            env={**os.environ, "POLYFABRIC_ISA": instructions},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode:
            return done.returncode
        found[instructions] = json.loads(done.stdout)
    replace(TABLE, table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
