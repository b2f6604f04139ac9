"""How long programs take here, told before they run: from what a few of their own operations take, measured once for each parameter set.

Times are of processors, added up over all of them, which other work on the computer does not lengthen. Executions are cut into parts for all processors.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import TYPE_CHECKING, Any, TypeVar

from . import _native

if TYPE_CHECKING:
    from .language.values import Value
    from .runnable import Program
    from .schemes.elements import ElementPlan
    from .schemes.slots import SlotPlan

T = TypeVar("T")

ROUNDS = 3
"""Of each measurement."""

TIMED_DIMENSION = 96
"""The LWE dimension of a set whose look-ups are timed in place of one that differs in nothing else: a look-up takes time in proportion to it, and its
key is made in a fraction of a second."""

TIMED_BATCH = 24
"""Look-ups of a timed batch."""

LANES = 8
"""Look-ups that a processor takes side by side, at most: batches of as many read the key in another form than one that stands alone."""

TIMED_CHAIN = 8
"""Look-ups of a timed chain."""

FRESH_BYTES = 64 << 20
"""Bytes with which fresh memory is timed: more than an allocator keeps."""


@dataclass(frozen=True)
class LookupTimes:
    """Seconds of look-ups: once for a key, which the first execution transforms for look-ups that stand alone and for those in batches, for each batch,
    which reads it, and for each look-up."""

    alone: float
    together: float
    batch: float
    each: float


def of_lookups(planned: ElementPlan) -> float:
    """Seconds of processor time that a plan of TFHE takes; what its look-ups take, beside which linear operations take nothing."""
    batches = planned.kernel.rotation_batches
    if not batches:
        return 0.0
    literal = json.loads(planned.parameters.to_json())
    times = lookup_times(timed_set(literal), planned.unroll)
    once = (times.alone if min(batches) < LANES else 0.0) + (times.together if max(batches) >= LANES else 0.0)
    whole = once + times.batch * len(batches) + times.each * sum(batches)
    transforms = planned.memory["server"] - planned.memory["server_key"]
    return whole * literal["lwe_dimension"] / timed_dimension(literal) + transforms * fresh_memory()


def timed_dimension(literal: Mapping[str, Any]) -> int:
    """The LWE dimension with which look-ups of the set `literal` are timed."""
    return min(TIMED_DIMENSION, literal["lwe_dimension"])


def timed_set(literal: Mapping[str, Any]) -> str:
    """The set whose look-ups are timed: that of `literal` with fewer of the same steps."""
    fewer = {**literal, "name": "timed", "lwe_dimension": timed_dimension(literal), "sources": {}}
    return json.dumps(fewer, sort_keys=True)


@cache
def lookup_times(literal: str, unroll: int) -> LookupTimes:
    """What look-ups take with the set `literal`, which is one of `timed_set`."""
    from .schemes.context import content
    from .schemes.elements import ElementContext, ElementPlan
    from .schemes.options import PlanOptions

    parameters = _native.Parameters.from_json(literal)
    context = ElementContext.of_keys(parameters, unroll)
    client = context.generate()
    server = context.server_key(client)
    sent = content(server.save())

    def of(planned: ElementPlan, count: int, key: Callable[[], _native.ServerKey] = lambda: server) -> float:
        ciphertexts = client.encrypt(planned.context.signature, {"x": [0] * count})
        return shortest(lambda server: planned.kernel.run(server, ciphertexts, 1), key)

    def loaded() -> _native.ServerKey:
        """A key that no execution has transformed."""
        return _native.ServerKey.load(sent)

    switched = parameters.key_switch_key_bytes is not None
    name = "pbs+ks" if switched else "pbs"
    single, several = (ElementPlan.built_in(name, parameters, count, unroll=unroll) for count in (1, TIMED_BATCH))
    one, many = of(single, 1), of(several, TIMED_BATCH)
    each = (many - one) / (TIMED_BATCH - 1)
    together = max(0.0, of(several, TIMED_BATCH, loaded) - many)
    if not switched:
        # No look-up reads another's result.
        return LookupTimes(max(0.0, of(single, 1, loaded) - one), together, max(0.0, one - each), each)
    options = PlanOptions(parameters=parameters, max_failure=0.0, security=0, unroll=unroll)
    # One look-up behind the other: what an execution takes besides is in one of several.
    chain = ElementPlan.make(_chain(), options)
    whole = of(chain, TIMED_CHAIN)
    alone = max(0.0, of(chain, TIMED_CHAIN, loaded) - whole)
    return LookupTimes(alone, together, max(0.0, (whole - one) / (TIMED_CHAIN - 1) - each), each)


@cache
def fresh_memory() -> float:
    """Seconds of a byte that is written for the first time, when the operating system brings its page: keys' transforms are such, and those that are
    timed are too small to be."""
    return min(_times(lambda size: bytearray(b"1") * size, lambda: FRESH_BYTES)) / FRESH_BYTES


def _chain() -> Program:
    """Look-ups of which each reads the one before."""
    from .language.types import Int
    from .language.values import lookup
    from .runnable import program

    def parity(x: Value) -> Value:
        sum_ = lookup(x[0:1], [0, 1])
        for place in range(1, TIMED_CHAIN):
            sum_ = lookup(sum_ + x[place : place + 1], [0, 1, 0])
        return sum_

    return program("timed", x=Int(0, 1).vector(TIMED_CHAIN))(parity)


def shortest(work: Callable[[T], Any], prepare: Callable[[], T]) -> float:
    """The processor time of the shortest of some rounds, each on what `prepare` gives it."""
    return min(_times(work, prepare))


def _times(work: Callable[[T], Any], prepare: Callable[[], T]) -> list[float]:
    """The processor time of some rounds, each on what `prepare` gives it."""
    times = []
    for _ in range(ROUNDS):
        given = prepare()
        begin = time.process_time()
        work(given)
        times.append(time.process_time() - begin)
    return times


def of_slots(planned: SlotPlan) -> float:
    """Seconds of processor time that a plan of CKKS or BGV takes: of each kind of work that its steps are, as often as it occurs."""
    begin = time.process_time()
    efforts = planned.native.efforts()
    # An execution finds its steps and their order as the count does.
    ordered = time.process_time() - begin
    rehearsal = planned.native.rehearsal()
    return ordered + sum(count * _of_effort(rehearsal, effort) for effort, count in efforts.items() if count)


def _of_effort(rehearsal: _native.Rehearsal, effort: str) -> float:
    """Seconds that work of a kind takes, once."""
    times = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        done = rehearsal.run(effort)
        if not done:
            return 0.0
        times.append((time.process_time() - begin) / done)
    return median(times)
