"""How long programs take here, told before they run: from what a few of their own operations take, measured once for each parameter set.

Times are of processors, added up over all of them, which other work on the computer does not lengthen. Executions are cut into parts for all processors.
"""

from __future__ import annotations

import json
import mmap
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import TYPE_CHECKING, Any, TypeVar

from . import _native
from .computer import cores

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
"""Look-ups that a processor takes side by side: fewer are taken one by one, and read the key in another form."""

TIMED_CHAIN = 8
"""Look-ups of a timed chain."""

TIMED_KEYS = 3
"""Switching keys that are made to time all of a program."""

FRESH_BYTES = 64 << 20
"""Bytes with which fresh memory is timed: more than an allocator keeps."""


@dataclass(frozen=True)
class ClientSeconds:
    """Processor time of what a client does for one run."""

    keys: float
    """Its own, and its server's."""
    encrypt: float
    decrypt: float


@dataclass(frozen=True)
class LookupTimes:
    """Seconds of a set's keys and look-ups."""

    keys: float
    keys_each: float
    """Of them each secret bit."""
    alone: float
    """Once for a key, which the first execution transforms for look-ups that a processor takes one by one."""
    together: float
    """The same for those that it takes side by side."""
    cut: float
    """Once for a key that switches batches."""
    single: float
    """A look-up by itself."""
    each: float
    """One of those side by side."""
    switch: float
    """A key switch of a batch."""
    step: float
    """What a look-up that waits for another takes besides, its key switch being no batch."""


def of_lookups(planned: ElementPlan) -> float:
    """Seconds of processor time that a plan of TFHE takes; what its look-ups take, beside which linear operations take nothing."""
    rotations, switches = planned.kernel.rotation_batches, planned.kernel.key_switch_batches
    if not rotations and not switches:
        return 0.0
    literal = json.loads(planned.parameters.to_json())
    times = lookup_times(timed_set(literal), planned.unroll)
    # Each processor has its part of a batch.
    apart = [count for count in rotations if -(-count // cores()) < LANES]
    side_by_side = [count for count in rotations if -(-count // cores()) >= LANES]
    whole = times.cut if max(switches, default=0) > cores() else 0.0
    whole += times.switch * sum(switches)
    if apart:
        whole += times.alone + times.step * len(apart) + times.single * sum(apart)
    if side_by_side:
        whole += times.together + times.each * sum(side_by_side)
    transforms = planned.memory["server_key_transformed"] * fresh_memory()
    return whole * literal["lwe_dimension"] / timed_dimension(literal) + transforms


def of_element_client(planned: ElementPlan) -> ClientSeconds:
    """Seconds of processor time that the client of a plan of TFHE takes: its server's keys in proportion to smaller ones, and the least values of its inputs and
    outputs encrypted and decrypted."""
    literal = json.loads(planned.parameters.to_json())
    times, more = lookup_times(timed_set(literal), planned.unroll), literal["lwe_dimension"] - timed_dimension(literal)
    server = times.keys + times.keys_each * more + planned.memory["server_key"] * fresh_memory()
    client = _native.ClientKey.generate(planned.parameters)
    own = _usual(lambda: _native.ClientKey.generate(planned.parameters))
    known = json.loads(planned.signature.to_json())

    def least(terminal: Mapping[str, Any]) -> list[int]:
        kind = terminal["element"]
        return [kind["integer"][0] if "integer" in kind else 0] * terminal["length"]

    # Its inputs are of the form of the outputs, which a client encrypts so.
    results = [{**terminal, "error_bound": None} for terminal in known["outputs"]]
    outputs = _native.Signature.from_json(json.dumps({**known, "inputs": results}))
    given, found = ({each["name"]: least(each) for each in known[terminals]} for terminals in ("inputs", "outputs"))
    ciphertexts = client.encrypt(outputs, found)
    return ClientSeconds(
        keys=own + server,
        encrypt=_usual(lambda: client.encrypt(planned.signature, given)),
        decrypt=_usual(lambda: client.decrypt(outputs, ciphertexts)),
    )


def timed_dimension(literal: Mapping[str, Any]) -> int:
    """The LWE dimension with which look-ups of the set `literal` are timed."""
    return min(TIMED_DIMENSION, literal["lwe_dimension"])


def timed_set(literal: Mapping[str, Any]) -> str:
    """The set whose look-ups are timed: that of `literal` with fewer of the same steps."""
    return _with_dimension(literal, timed_dimension(literal))


def _with_dimension(literal: Mapping[str, Any], bits: int) -> str:
    return json.dumps({**literal, "name": "timed", "lwe_dimension": bits, "sources": {}}, sort_keys=True)


@cache
def lookup_times(literal: str, unroll: int) -> LookupTimes:
    """What keys and look-ups take with the set `literal`, which is one of `timed_set`."""
    from .schemes.context import content
    from .schemes.elements import ElementContext, ElementPlan
    from .schemes.options import PlanOptions

    parameters, dimension = _native.Parameters.from_json(literal), json.loads(literal)["lwe_dimension"]
    context = ElementContext.of_keys(parameters, unroll)
    client = context.generate()
    server = context.server_key(client)
    sent = content(server.save())

    def keys_of(bits: int) -> float:
        fewer = ElementContext.of_keys(_native.Parameters.from_json(_with_dimension(json.loads(literal), bits)), unroll)
        own = fewer.generate()
        return shortest(lambda _: fewer.server_key(own), lambda: None)

    keys, few = keys_of(dimension), keys_of(dimension // 2)
    keys_each = max(0.0, keys - few) / (dimension - dimension // 2)

    def of(planned: ElementPlan, count: int, key: Callable[[], _native.ServerKey] = lambda: server) -> float:
        ciphertexts = client.encrypt(planned.context.signature, {"x": [0] * count})
        return shortest(lambda server: planned.kernel.run(server, ciphertexts, 1), key)

    def loaded() -> _native.ServerKey:
        """A key that no execution has transformed."""
        return _native.ServerKey.load(sent)

    def several(name: str, fewer: int, more: int) -> tuple[float, float]:
        """Of a built-in program one ciphertext among several, and the first execution with a key besides what each takes."""
        few, many = (ElementPlan.built_in(name, parameters, count, unroll=unroll) for count in (fewer, more))
        usual = of(many, more)
        return max(0.0, usual - of(few, fewer)) / (more - fewer), max(0.0, of(many, more, loaded) - usual)

    single, alone = several("pbs", 1, LANES - 1)
    each, together = several("pbs", LANES, TIMED_BATCH)
    switch = cut = step = 0.0
    # Without a key switch no look-up reads another's result.
    if parameters.key_switch_key_bytes is not None:
        switch, cut = several("keyswitch", LANES, TIMED_BATCH)
        options = PlanOptions(parameters=parameters, max_failure=0.0, security=0, unroll=unroll)
        chained = of(ElementPlan.make(_chain(), options), TIMED_CHAIN) / TIMED_CHAIN
        step = max(0.0, chained - single - switch)
    return LookupTimes(
        keys=keys,
        keys_each=keys_each,
        alone=alone,
        together=together,
        cut=cut,
        single=single,
        each=each,
        switch=switch,
        step=step,
    )


@cache
def fresh_memory() -> float:
    """Seconds of a byte that is written for the first time, when the operating system brings its page, a large one where it has such: keys and their transforms
    are such, and those that are timed are too small to be."""
    held: list[mmap.mmap] = []

    def fresh() -> mmap.mmap:
        memory = mmap.mmap(-1, FRESH_BYTES)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)
        # None is given back meanwhile, to be brought again.
        held.append(memory)
        return memory

    def touch(memory: mmap.mmap) -> None:
        memory[:: mmap.PAGESIZE] = bytes(FRESH_BYTES // mmap.PAGESIZE)

    return median(_times(touch, fresh)) / FRESH_BYTES


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


def _usual(work: Callable[[], Any]) -> float:
    """The processor time of the middle one of some rounds."""
    return median(_times(lambda _: work(), lambda: None))


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


def of_slot_client(planned: SlotPlan) -> ClientSeconds:
    """Seconds of processor time that the client of a plan of CKKS or BGV takes: a few of its switching keys are made, and zeros encrypted and decrypted as
    its inputs and outputs are."""
    known = json.loads(planned.signature.to_json())
    zeros = ([0.0], [0.0]) if planned.program.scheme == "ckks" else [0]

    def altered(**fields: object) -> _native.SlotSignature:
        return _native.SlotSignature.from_json(json.dumps({**known, **fields}))

    # Its inputs are of the form of the outputs, which a client encrypts so; a product that is measured before its relinearisation has a part more.
    ends = [{**each, "parts": 2} for each in known["outputs"]]
    outputs = altered(inputs=ends, outputs=ends, keys=[])
    given, found = ({each["name"]: zeros for each in terminals} for terminals in (known["inputs"], ends))
    client = _native.SlotClient.generate(outputs)
    ciphertexts = client.encrypt(outputs, found)
    keys = _usual(lambda: _native.SlotClient.generate(outputs))
    if known["keys"]:
        # Evenly from all, which are over more limbs and over fewer.
        step = -(-len(known["keys"]) // TIMED_KEYS)
        some, sizes = altered(keys=known["keys"][::step]), [key["bytes"] for key in planned.facts["keys"]]
        keys += _usual(lambda: client.server(some)) * sum(sizes) / sum(sizes[::step])
    return ClientSeconds(
        keys=keys,
        encrypt=_usual(lambda: client.encrypt(planned.signature, given)),
        decrypt=_usual(lambda: client.decrypt(outputs, ciphertexts, None)),
    )
