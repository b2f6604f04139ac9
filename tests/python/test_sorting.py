"""Encrypted vectors of every length and type are sorted as in Python, with the network's number of exchanges."""

from __future__ import annotations

import itertools
import random

import numpy as np
import polyfabric as pf
import pytest

KINDS = {"wide": pf.UInt(5), "signed": pf.SInt(4), "few bits": pf.Int(-3, 4), "Booleans": pf.Bool}
RANGES = {"wide": (0, 31), "signed": (-8, 7), "few bits": (-3, 4), "Booleans": (0, 1)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 7, 8, 13])
def test_a_vector_is_sorted_both_ways(kind: str, count: int) -> None:
    drawn = random.Random(count)
    program = pf.program(x=KINDS[kind].vector(count))(lambda x: (pf.sort(x), pf.sort(x, descending=True)))
    for _ in range(5):
        values = [drawn.randint(*RANGES[kind]) for _ in range(count)]
        assert program.clear(x=values) == (sorted(values), sorted(values, reverse=True))


@pytest.mark.parametrize("count", range(1, 9))
def test_every_vector_of_zeros_and_ones_is_sorted(count: int) -> None:
    """A network that sorts these sorts everything (Knuth, 5.3.4, theorem Z)."""
    program = pf.program(x=pf.Bool.vector(count))(lambda x: pf.sort(x))
    for values in itertools.product((0, 1), repeat=count):
        assert program.clear(x=list(values)) == sorted(values)


def test_sorted_values_are_decrypted() -> None:
    program = pf.program(x=pf.UInt(8).vector(5), y=pf.Int(0, 7).vector(8))(
        lambda x, y: {"median": pf.sort(x)[2], "all": np.sort(y), "some": pf.sort([y[0], y[1] + 1], descending=True)}
    )
    done = program.run({"x": [9, 200, 3, 4, 77], "y": [7, 1, 4, 2, 2, 0, 7, 5]})
    assert done.correct
    assert done.outputs == {"median": 9, "all": [0, 1, 2, 2, 4, 5, 7, 7], "some": [7, 2]}


@pytest.mark.parametrize(("count", "exchanges"), [(2, 1), (4, 5), (8, 19), (16, 63)])
def test_an_exchange_of_a_few_bits_is_one_look_up(count: int, exchanges: int) -> None:
    """Batcher's numbers."""
    program = pf.program(x=pf.Int(0, 7).vector(count))(lambda x: pf.sort(x))
    assert program.cost()["lookups"] == exchanges
