"""Microbenchmarks of this computer: a few operations on encrypted data on one thread, timed and checked, with the installed kernels."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .._native import instruction_set
from ..host.progress import working
from ..language.types import Complex
from ..run.execution import execute, plan
from ..run.keys import Keys
from ..run.runnable_programs import SlotProgram, program
from ..schemes.tfhe import TfhePlan, named_parameters

ROUNDS = 3
LOOKUP_SETS = ("fpt-I", "strix-I", "strix-III", "morphling-IV")
"""Both torus widths, and ciphertexts of two and of three polynomials."""
BATCHES = (64, 192)
SECRET_SETS = (
    "polyfabric-2-p136-t64",
    "polyfabric-4-p136-t64",
    "polyfabric-integers-3-t64",
    "polyfabric-integers-4-t64",
)
"""Default sets with uniform keys; the sets for the same messages with block-binary keys have BLOCKS in their names."""
BLOCKS = "-block3"
SECRET_ROUNDS = 9
SLOT_SET = "ckks-bench-a-ifma"
SLOTS = 8192
"""All slots of the set."""


@dataclass(frozen=True)
class Row:
    """One operation: CPU milliseconds each, the median of several rounds."""

    operation: str
    parameters: str
    milliseconds: float
    right: bool


@dataclass(frozen=True)
class SecretRow:
    """CPU milliseconds of one lookup with a uniform key and with a block-binary one: the medians of alternating rounds."""

    parameters: str
    batch: int
    uniform_ms: float
    block_ms: float
    right: bool

    @property
    def ratio(self) -> float:
        """How many times as fast the block-binary key is."""
        return self.uniform_ms / self.block_ms


def secret_rows() -> Iterator[SecretRow]:
    """Yields the comparison of both kinds of keys for each set, for one lookup and in a batch; about half a minute in total."""
    for name in SECRET_SETS:
        sides = [named_parameters(name), named_parameters(name + BLOCKS)]
        with working(f"{name}: keys"):
            keys = [Keys.generate(parameters) for parameters in sides]
        for batch in (1, BATCHES[0]):
            values = {"x": [index % 2 for index in range(batch)]}
            planned = [TfhePlan.built_in("pbs", parameters, batch) for parameters in sides]
            inputs = [one.program.flatten(values) for one in planned]
            sent = [
                own.client.encrypt(one.signature, given) for own, one, given in zip(keys, planned, inputs, strict=True)
            ]
            times: list[list[float]] = [[], []]
            right = True
            with working(f"{name}: lookups"):
                # The first round transforms the keys.
                for timed in [False] + SECRET_ROUNDS * [True]:
                    for side, (own, one, given) in enumerate(zip(keys, planned, inputs, strict=True)):
                        results, seconds = _timed(lambda o=own, p=one, c=sent[side]: p.kernel.run(o.server, c, 1))
                        found = own.client.decrypt(one.signature, results)
                        right = right and found == one.program.native.evaluate(given)
                        times[side] += [1e3 * seconds / batch] * timed
            uniform, blocks = map(statistics.median, times)
            yield SecretRow(name, batch, uniform, blocks, right)


def rows() -> Iterator[Row]:
    """Yields each row when it is measured; about two minutes in total."""
    for name in LOOKUP_SETS:
        for unroll in (1, 2):
            yield _in_batch("pbs", "lookup" if unroll == 1 else "lookup, two key bits", name, unroll)
        yield _in_batch("keyswitch", "key switch", name, 1)
    for operation, on_slots in (("multiply", _multiply()), ("rotate", _rotate()), ("8 rotations", _rotate_eight())):
        yield _on_slots(operation, on_slots)


def report(found: list[Row] | list[SecretRow]) -> dict[str, Any]:
    """All rows as data."""
    return {"instruction_set": instruction_set(), "rows": [asdict(row) for row in found]}


def _in_batch(built_in_name: str, operation: str, set_name: str, unroll: int) -> Row:
    """Marginal time per ciphertext of a batch on one thread, from two batch sizes, which excludes the key's preparation."""
    parameters = named_parameters(set_name, warn=False)
    times: dict[int, list[float]] = {batch: [] for batch in BATCHES}
    right = True
    with working(f"{set_name}: {operation}"):
        keys = Keys.generate(parameters, unroll=unroll)
        for batch in BATCHES:
            planned = TfhePlan.built_in(built_in_name, parameters, batch, unroll=unroll)
            inputs = planned.program.flatten({"x": [index % 2 for index in range(batch)]})
            expected = planned.program.native.evaluate(inputs)
            ciphertexts = keys.client.encrypt(planned.signature, inputs)
            for _ in range(ROUNDS):
                results, seconds = _timed(lambda p=planned, c=ciphertexts: p.kernel.run(keys.server, c, 1))
                times[batch].append(seconds)
                right = right and keys.client.decrypt(planned.signature, results) == expected
    small, large = (statistics.median(times[batch]) for batch in BATCHES)
    return Row(operation, set_name, 1e3 * (large - small) / (BATCHES[1] - BATCHES[0]), right)


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def _multiply() -> SlotProgram:
    @program(x=Complex.vector(SLOTS), y=Complex.vector(SLOTS))
    def multiply(x, y):  # noqa: ANN001, ANN202 - symbols of the language
        return x * y

    return multiply


def _rotate() -> SlotProgram:
    @program(x=Complex.vector(SLOTS))
    def rotate_once(x):  # noqa: ANN001, ANN202 - symbols of the language
        return x.rotate(1)

    return rotate_once


def _rotate_eight() -> SlotProgram:
    @program(x=Complex.vector(SLOTS))
    def rotate_eight(x):  # noqa: ANN001, ANN202 - symbols of the language
        return {f"by{steps}": x.rotate(steps) for steps in range(1, 9)}

    return rotate_eight


def _on_slots(operation: str, on_slots: SlotProgram) -> Row:
    random = np.random.default_rng()
    inputs = {name: random.uniform(-0.5, 0.5, SLOTS) + 0j for name in on_slots.inputs}
    with working(f"{SLOT_SET}: {operation}"):
        planned = plan(on_slots, SLOT_SET)
        keys = Keys.generate(planned)
        given = planned.program.flatten(inputs)
        expected = planned.evaluate(given)
        ciphertexts = planned.context.encrypt(keys.client, given)
        times, right = [], True
        for _ in range(ROUNDS):
            (results, _), seconds = _timed(lambda: execute(planned, keys.server, ciphertexts, threads=1))
            times.append(seconds)
            errors = planned.errors(planned.decrypt(keys.client, results), expected.values)
            right = right and max(errors.values()) < 1e-4
    return Row(operation, SLOT_SET, 1e3 * statistics.median(times), right)
