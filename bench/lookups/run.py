"""Lookup tables on all slots next to OpenFHE's functional bootstrapping and next to TFHE, in processor time, on one thread.

python bench/lookups/run.py --openfhe PYTHON    tables of 1, 4 and 8 bits; PYTHON has the peer's wheel
python bench/lookups/run.py --quick             tables of 1 and 4 bits, one round

The sides take turns, after a warm-up each. Both look up the same random table in random values, every result is decrypted and compared, and the largest
error of a result is given as a part of a step. TFHE executes the same program on a few values, one after another.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polyfabric as pf
from polyfabric.host import memory
from polyfabric.schemes.lanes import LanePlan
from polyfabric.schemes.options import PlanOptions
from polyfabric.schemes.rns import SlotContext
from polyfabric.schemes.tfhe import ElementPlan

PEER = Path(__file__).with_name("openfhe_peer.py")
BATCH = {1: 1 << 15, 4: 1 << 15, 8: 1 << 16}
"""Values that ours looks up at once, by their bits: all lanes of a ring."""
MEMORY_GIB = {1: (3, 4), 4: (3, 10), 8: (7, 11)}
"""Memory of ours and of the peer, which hold their keys at the same time."""
ONE_BY_ONE = 4
"""Values of a run with TFHE."""


class Peer:
    """The process of the other library."""

    def __init__(self, python: str) -> None:
        self.process = subprocess.Popen(
            [python, str(PEER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )

    def ask(self, **request: Any) -> dict[str, Any]:  # noqa: ANN401 - numbers and lists
        """The answer to a request."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"the peer ended with status {self.process.wait()}, perhaps for lack of memory")
        return dict(json.loads(line))

    def close(self) -> None:
        """Ends the process, which holds gigabytes of keys."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()


class Ours:
    """Keys and encrypted values for one table."""

    def __init__(self, program: pf.Program, table: list[int]) -> None:
        self.table, self.p = np.array(table), len(table)
        begin = time.process_time()
        made = program.in_batches(BATCH[self.p.bit_length() - 1])
        self.plan = LanePlan.make(made, PlanOptions().checked(made))
        lanes = 2 * self.plan.facts["parameters"]["slots"]
        self.context = self.plan.context
        self.client = self.context.generate()
        self.server = self.context.server_key(self.client)
        self.seconds = time.process_time() - begin
        self.values = np.random.default_rng(7).integers(0, self.p, lanes)
        self.inputs = self.context.encrypt(self.client, made.flatten({"x": self.values.tolist()}))

    def lookup(self) -> dict[str, Any]:
        """One lookup of all values, as the peer's."""
        begin = time.process_time()
        results = self.plan.compute(self.server, self.inputs, "cpu", 1, None)
        seconds = time.process_time() - begin
        (terminal,) = self.plan.program.shapes.vectors(outputs=True).items()
        vector, modulus = terminal
        real, imaginary = SlotContext.decrypt(self.context, self.client, results)[vector]
        found = np.concatenate([np.asarray(real), np.asarray(imaginary)]) * modulus
        nearest = np.rint(found)
        wrong = int((nearest.astype(np.int64) % modulus != self.table[self.values] % modulus).sum())
        return {
            "seconds": seconds,
            "values": len(self.values),
            "wrong": wrong,
            "error": float(abs(found - nearest).max()),
        }

    def facts(self) -> dict[str, Any]:
        """Parameter set and sizes."""
        own = self.plan.facts["parameters"]
        return {
            "parameters": own["name"],
            "ring_degree": own["ring_degree"],
            "security_bits": own["security_bits"],
            "log2_failure": self.plan.log2_failure,
            "setup_seconds": self.seconds,
            "key_bytes": self.plan.key_bytes,
        }


def one_by_one(table: list[int]) -> dict[str, Any]:
    """Processor seconds of a value with TFHE, after one to warm up. A table of more than 16 entries is read in digits."""

    @pf.program(x=pf.Int(0, len(table) - 1) if len(table) <= 16 else pf.UInt(8))
    def program(x: pf.Value) -> pf.Value:
        return pf.lookup(x, table)

    plan = ElementPlan.make(program, PlanOptions().checked(program))
    client = plan.context.generate()
    server = plan.context.server_key(client)
    times, wrong = [], 0
    for value in random.Random(3).choices(range(len(table)), k=ONE_BY_ONE + 1):
        inputs = plan.context.encrypt(client, program.flatten({"x": value}))
        begin = time.process_time()
        results = plan.compute(server, inputs, "cpu", 1, None)
        times.append(time.process_time() - begin)
        wrong += program.shaped(plan.context.decrypt(client, results)) != {"result": table[value]}
    return {"seconds": median(times[1:]), "wrong": wrong, "parameters": plan.parameters.name}


def expect_memory(bits: int, python: str | None) -> None:
    """Ends if the computer has too little free memory for a case, which would slow down or end other programs."""
    ours, peer = MEMORY_GIB[bits]
    needed, free = ours + (peer if python else 0), (memory.most() or 1 << 60) / (1 << 30)
    if free < needed:
        sys.exit(
            f"{bits} bits need {needed} GiB of free memory, but {free:.1f} GiB are free; end other programs, or name cases "
            f"that need less, such as --bits 1{' (without --openfhe ours needs ' + str(ours) + ' GiB)' if python else ''}"
        )


def measured(bits: int, python: str | None, rounds: int) -> dict[str, Any]:
    """One case: both sides in turns, then TFHE."""
    expect_memory(bits, python)
    draw = random.Random(bits)
    table = draw.sample(range(1 << bits), 1 << bits)

    @pf.program(x=pf.Int(0, len(table) - 1))
    def program(x: pf.Value) -> pf.Value:
        return pf.lookup(x, table)

    ours = Ours(program, table)
    row: dict[str, Any] = {"bits": bits, "ours": ours.facts()}
    sides: dict[str, Any] = {"ours": ours.lookup}
    peer = None if python is None else Peer(python)
    if peer is not None:
        row["peer"] = peer.ask(do="prepare", table=table)
        sides["peer"] = lambda: peer.ask(do="lookup")
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in sides}
    for at in range(rounds + 1):
        for name, lookup in sides.items():
            one = lookup()
            print(f"{bits} bits, {name}: {show(one)}", file=sys.stderr)
            if at:
                found[name].append(one)
    for name, runs in found.items():
        row[name] |= {
            "us": median(1e6 * run["seconds"] / run["values"] for run in runs),
            "values": runs[0]["values"],
            "wrong": sum(run["wrong"] for run in runs),
            "error": max(run["error"] for run in runs),
        }
    if peer is not None:
        row["peer"]["peak_gib"] = runs[-1]["peak_gib"]
        peer.close()
    row["tfhe"] = one_by_one(table)
    return row


def show(one: dict[str, Any]) -> str:
    """A lookup's figures as text."""
    each = 1e6 * one["seconds"] / one["values"]
    return f"{each:.1f} us a value, {one['wrong']} of {one['values']:,} wrong, error up to {one['error']:.2g} of a step"


def main() -> int:
    """Measures all cases, and prints or writes the data."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--openfhe", metavar="PYTHON", help="interpreter with the peer's wheel; without it ours alone")
    parser.add_argument(
        "--bits", type=int, action="append", choices=list(BATCH), help="one case; repeat it for several"
    )
    parser.add_argument("--rounds", type=int, default=3, help="timed lookups of a case, after one to warm up")
    parser.add_argument("--quick", action="store_true", help="1 and 4 bits, one round")
    parser.add_argument("--output", type=Path, help="the file for the data; by default it is printed")
    options = parser.parse_args()
    cases = options.bits or (list(BATCH)[:2] if options.quick else list(BATCH))
    rounds = 1 if options.quick else max(1, options.rounds)
    load = os.getloadavg()[0]
    rows = [measured(bits, options.openfhe, rounds) for bits in cases]
    data = {"threads": 1, "load": [load, os.getloadavg()[0]], "rounds": rounds, "rows": rows}
    text = json.dumps(data, indent=1)
    if options.output is None:
        print(text)
    else:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(text + "\n", encoding="utf-8")
    return 1 if any(row[side]["wrong"] for row in rows for side in ("ours", "tfhe")) else 0


if __name__ == "__main__":
    sys.exit(main())
