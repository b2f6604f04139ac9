"""Lookup tables on all slots next to OpenFHE's functional bootstrapping and next to TFHE, in processor time, on one thread.

python bench/lookups/run.py --openfhe PYTHON    tables of 1, 4 and 8 bits, and all jobs; PYTHON has the peer's wheel
python bench/lookups/run.py --quick             tables of 1 and 4 bits, one round, no jobs

The sides take turns, after a warm-up each. Both look up the same random table in random values, every result is decrypted and compared, and the largest
error of a result is given as a part of a step. TFHE executes the same program on a few values, one after another.

Jobs are other programs: several tables of one input, tables after each other, 12 bits, and arithmetic on 32 bits. All their results are compared with
numpy's.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import runpy
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polyfabric as pf
from numpy.typing import NDArray
from polyfabric.host import memory
from polyfabric.schemes.lanes import LanePlan
from polyfabric.schemes.options import PlanOptions
from polyfabric.schemes.rns import SlotContext
from polyfabric.schemes.tfhe import TfhePlan

PEER = Path(__file__).with_name("openfhe_peer.py")
BATCH = {1: 1 << 15, 4: 1 << 15, 8: 1 << 16}
"""Values that ours looks up at once, by their bits: all lanes of a ring."""
MEMORY_GIB = {1: (3, 4), 4: (3, 10), 8: (7, 11)}
"""Memory of ours and of the peer, which hold their keys at the same time."""
GALLERY = Path(__file__).parents[2] / "tests" / "gallery"
ROUNDS = 2
"""Of the cipher; planning takes half a GiB a round."""
FEW = 8
"""Values of an execution with TFHE: enough for SIMD lanes."""

Arrays = dict[str, NDArray[np.int64]]
"""The values of a batch by name."""


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
    """Keys and encrypted values for one program on a batch."""

    def __init__(self, program: pf.Program, batch: int, given: Arrays, summed: Sequence[str] = ()) -> None:
        begin = time.process_time()
        made = program.in_batches(batch, summed=summed)
        self.plan = LanePlan.make(made, PlanOptions().checked(made))
        self.context = self.plan.context
        self.client = self.context.generate()
        self.server = self.context.server_key(self.client)
        self.seconds = time.process_time() - begin
        self.batch = batch
        values = {name: own.tolist() for name, own in given.items()}
        self.inputs = self.context.encrypt(self.client, made.flatten(values))

    def execute(self, wanted: Arrays) -> dict[str, Any]:
        """One execution: processor time, wrong values, and the largest error of an output as a part of a step."""
        begin = time.process_time()
        results = self.plan.compute(self.server, self.inputs, "cpu", 1, None)
        seconds = time.process_time() - begin
        slots = SlotContext.decrypt(self.context, self.client, results)
        error = 0.0
        for vector, modulus in self.plan.program.shapes.moduli(outputs=True).items():
            steps = np.concatenate([np.asarray(part) for part in slots[vector]]) * modulus
            error = max(error, float(abs(steps - np.rint(steps)).max()))
        found = self.plan.program.shaped(self.context.shapes.rounded(slots))
        wrong = sum(int((np.array(found[name]) != own).sum()) for name, own in wanted.items())
        return {"seconds": seconds, "values": self.batch, "wrong": wrong, "error": error}

    def facts(self) -> dict[str, Any]:
        """Parameter set and sizes."""
        own = self.plan.facts["parameters"]
        return {
            "parameters": own["name"],
            "ring_degree": own["ring_degree"],
            "security_bits": own["security_bits"],
            "log2_failure": self.plan.log2_failure,
            "lookups": self.plan.work["lookups"],
            "setup_seconds": self.seconds,
            "key_bytes": self.plan.key_bytes,
        }


def with_tfhe(program: pf.Program, given: Arrays, wanted: Arrays) -> dict[str, Any]:
    """Processor seconds of a value with TFHE, of a few of the batch in one execution, after one to warm up."""
    copies = program.in_batches(FEW, scheme="tfhe")
    plan = TfhePlan.make(copies, PlanOptions().checked(copies))
    client = plan.context.generate()
    server = plan.context.server_key(client)
    inputs = plan.context.encrypt(client, copies.flatten({name: own[:FEW].tolist() for name, own in given.items()}))
    for _ in range(2):
        begin = time.process_time()
        results = plan.compute(server, inputs, "cpu", 1, None)
        seconds = time.process_time() - begin
    found = copies.shaped(plan.context.decrypt(client, results))
    wrong = sum(int((np.array(found[name]) != own[:FEW]).sum()) for name, own in wanted.items())
    return {"seconds": seconds / FEW, "wrong": wrong, "parameters": plan.parameters.name}


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

    given = {"x": np.random.default_rng(7).integers(0, len(table), BATCH[bits])}
    wanted = {"result": np.array(table)[given["x"]]}
    ours = Ours(program, BATCH[bits], given)
    row: dict[str, Any] = {"bits": bits, "ours": ours.facts()}
    sides: dict[str, Any] = {"ours": lambda: ours.execute(wanted)}
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
    # A table of more than 16 entries is read in digits.
    in_digits = pf.program(x=pf.UInt(8))(lambda x: pf.lookup(x, table)) if bits == 8 else program
    row["tfhe"] = with_tfhe(in_digits, given, wanted)
    return row


@dataclass(frozen=True)
class Job:
    """A program, the same with numpy, whether TFHE executes it too, the outputs that are summed over the batch, and its size."""

    program: pf.Program
    meant: Callable[..., list[NDArray[Any]]]
    with_tfhe: bool = False
    summed: Sequence[str] = ()
    batch: int = BATCH[4]


def gallery(name: str) -> dict[str, Any]:
    """One of the gallery's programs."""
    return runpy.run_path(str(GALLERY / f"{name}.py"))


def applications() -> dict[str, Job]:
    """The gallery's programs that are measured at full size."""
    shares, edges, simon = gallery("histogram"), gallery("edges"), gallery("simon")

    def counted(byte: NDArray[np.int64], group: NDArray[np.int64], amount: NDArray[np.int64]) -> list[NDArray[Any]]:
        counts = byte[:, None] >> 4 == np.arange(16)
        return [counts, (group[:, None] == np.arange(4)) * amount[:, None]]

    def ciphered(keys: NDArray[np.int64], left: NDArray[np.int64], right: NDArray[np.int64]) -> list[NDArray[Any]]:
        for key in keys.reshape(-1, ROUNDS, 16).swapaxes(0, 1):
            turned = [np.roll(left, by, axis=1) for by in (1, 8, 2)]
            left, right = right ^ turned[0] & turned[1] ^ turned[2] ^ key, left
        return [left, right]

    return {
        "16 counts and 4 sums by group, of bytes": Job(shares["shares"], counted, True, ("counts", "sums"), BATCH[8]),
        "edges of an image": Job(edges["edge"], lambda pixels: [pixels @ edges["KERNEL"] > 20], True, (), BATCH[8]),
        f"{ROUNDS} of 32 rounds of Simon32/64": Job(simon["cipher"](ROUNDS), ciphered, True),
    }


def jobs() -> dict[str, Job]:
    """All jobs by name."""
    draw = random.Random(5)
    tables = np.array([draw.sample(range(16), 16) for _ in range(16)])
    long = np.array(draw.sample(range(1 << 12), 1 << 12))

    # A sum before each table: tables that follow each other directly become one.
    steps = tables % 15

    def chained(x: pf.Value, y: pf.Value) -> pf.Value:
        for own in steps:
            x = pf.lookup(x + y, own.tolist())
        return x

    def table(bits: int, *entries: NDArray[np.int64]) -> pf.Program:
        kind = pf.Int(0, 15) if bits == 4 else pf.UInt(bits)
        return pf.program(x=kind)(lambda x: [pf.lookup(x, own.tolist()) for own in entries])

    wide = {"x": pf.UInt(32), "y": pf.UInt(32)}
    mask = (1 << 32) - 1
    return {
        "one table of 4 bits": Job(table(4, tables[0]), lambda x: [tables[0][x]], with_tfhe=True),
        "four tables of 4 bits": Job(table(4, *tables[:4]), lambda x: list(tables[:4, x])),
        "sixteen tables of 4 bits after each other": Job(
            pf.program(x=pf.Int(0, 14), y=pf.Int(0, 1))(chained),
            lambda x, y: [reduce(lambda at, own: own[at + y], steps, x)],
        ),
        "a table of 12 bits": Job(table(12, long), lambda x: [long[x]], with_tfhe=True),
        "x + y of 32 bits": Job(pf.program(**wide)(lambda x, y: x + y), lambda x, y: [x + y & mask], with_tfhe=True),
        "x < y of 32 bits": Job(pf.program(**wide)(lambda x, y: x < y), lambda x, y: [x < y], with_tfhe=True),
        "x * y of 32 bits": Job(
            pf.program(**wide)(lambda x, y: x * y),
            lambda x, y: [x.astype(np.uint64) * y.astype(np.uint64) & np.uint64(mask)],
            with_tfhe=True,
        ),
        **applications(),
    }


def worked(name: str, job: Job, rounds: int) -> dict[str, Any]:
    """One of the jobs, on as many values at once as fit the smallest ring."""
    draw, program = np.random.default_rng(11), job.program
    given = {
        own: draw.integers(0, kind.bounds[1] + 1, (job.batch, *([] if kind.scalar else [kind.length])))
        for own, kind in program.inputs.items()
    }
    each = dict(zip(program.outputs, (own.astype(np.int64) for own in job.meant(**given)), strict=True))
    wanted = {name: own.sum(axis=0) if name in job.summed else own for name, own in each.items()}
    ours = Ours(program, job.batch, given, job.summed)
    runs = []
    for at in range(rounds + 1):
        one = ours.execute(wanted)
        print(f"{name}: {show(one)}", file=sys.stderr)
        if at:
            runs.append(one)
    own = {
        "us": median(1e6 * run["seconds"] / run["values"] for run in runs),
        "values": runs[0]["values"],
        "wrong": sum(run["wrong"] for run in runs),
        "error": max(run["error"] for run in runs),
    }
    row = {"job": name, "ours": ours.facts() | own}
    del ours
    if job.with_tfhe:
        row["tfhe"] = with_tfhe(program, given, each)
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
    parser.add_argument(
        "--job", action="append", choices=list(jobs()), help="one job; repeat it for several; without --bits no tables"
    )
    parser.add_argument("--rounds", type=int, default=3, help="timed lookups of a case, after one to warm up")
    parser.add_argument("--quick", action="store_true", help="1 and 4 bits, one round")
    parser.add_argument("--output", type=Path, help="the file for the data; by default it is printed")
    options = parser.parse_args()
    cases = options.bits or ([] if options.job else list(BATCH)[:2] if options.quick else list(BATCH))
    names = options.job or ([] if options.quick or options.bits else list(jobs()))
    rounds = 1 if options.quick else max(1, options.rounds)
    load = os.getloadavg()[0]
    rows = [measured(bits, options.openfhe, rounds) for bits in cases]
    done = [worked(name, jobs()[name], rounds) for name in names]
    data = {"threads": 1, "load": [load, os.getloadavg()[0]], "rounds": rounds, "rows": rows, "jobs": done}
    text = json.dumps(data, indent=1)
    if options.output is None:
        print(text)
    else:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(text + "\n", encoding="utf-8")
    return 1 if any(row[side]["wrong"] for row in [*rows, *done] for side in ("ours", "tfhe") if side in row) else 0


if __name__ == "__main__":
    sys.exit(main())
