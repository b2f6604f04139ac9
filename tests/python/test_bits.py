"""Are chains of shifts, exclusive ors, masks and choices right, with bits next to digits and with digits alone, and is the cheaper form taken?"""

from __future__ import annotations

import random
from typing import Any

import polyfabric as pf
import pytest
from polyfabric.language.program import traced_in
from polyfabric.language.tracer import Tracer
from polyfabric.run.execution import plan
from polyfabric.run.runnable_programs import TfheProgram


def chain(seed: int) -> tuple[int, Any]:
    """A width, and a function on encrypted integers or, with `public`, on Python's."""
    stream = random.Random(seed)
    bits = stream.choice([5, 8, 16])
    steps = [
        (
            stream.randrange(9),
            stream.randrange(3),
            stream.randrange(3),
            stream.randrange(bits),
            stream.getrandbits(bits),
        )
        for _ in range(14)
    ]

    def computed(x: Any, y: Any, public: bool = False) -> list[Any]:
        values = [x, y, x]
        for number, (what, one, other, by, mask) in enumerate(steps):
            p, q = values[one], values[other]
            if what < 6:
                turned = p << by | p >> (bits - by) if public else p.rotate_left(by)
                found = [p << by, p >> by, p ^ q, p + q, turned, p & mask][what]
            elif what == 6:
                found = (p ^ mask if q >> by & 1 else p) if public else pf.where(q.bit(by), p ^ mask, p)
            elif what == 7:
                found = p ^ q
            else:
                found = (q if p >> by & 1 else p) if public else pf.where((p & (1 << by)) == (1 << by), q, p)
            values[number % 3] = found & ((1 << bits) - 1) if public else found
        return values

    return bits, computed


@pytest.mark.parametrize("part", range(8))
def test_random_chains_are_pythons_and_no_dearer_than_with_digits_alone(part: int) -> None:
    for seed in range(5 * part, 5 * part + 5):
        bits, computed = chain(seed)
        types = {"x": pf.UInt(bits), "y": pf.UInt(bits)}
        made = pf.program(**types)(lambda x, y, computed=computed: computed(x, y))
        alone = traced_in(Tracer("alone", bits=False), computed, types, None, TfheProgram)[0]
        assert plan(made).kernel.multiplications <= 1.001 * plan(alone).kernel.multiplications, seed
        for _ in range(4):
            x, y = random.Random(seed).getrandbits(bits), random.Random(-seed).getrandbits(bits)
            for program in (made, alone):
                found = program.shaped(program.native.evaluate(program.flatten({"x": x, "y": y})))
                assert list(found.values()) == computed(x, y, public=True), (seed, x, y)
