"""Ranges are as tight as possible, and wide ones are lowered to digits."""

from __future__ import annotations

import itertools
import re

import numpy as np
import polyfabric as pf
import pytest

NIBBLE = pf.Int(0, 15)


def output(function, **inputs) -> pf.Type:
    return pf.program(**inputs)(function).outputs["result"]


@pytest.mark.parametrize(
    ("function", "bounds"),
    [
        (lambda x, y: pf.maximum(x, y), (0, 15)),
        (lambda x, y: pf.minimum(x, y), (0, 15)),
        (lambda x, y: pf.maximum(x, 4), (4, 15)),
        (lambda x, y: pf.minimum(3, x), (0, 3)),
        (lambda x, y: (x - y) * (x - y), (0, 225)),
        (lambda x, y: (x - y) ** 2, (0, 225)),
        (lambda x, y: abs(x - y), (0, 15)),
        (lambda x, y: x * y, (0, 225)),
        (lambda x, y: (x - 15) * y, (-225, 0)),
        (lambda x, y: pf.mux(x > y, x, y), (0, 15)),
        (lambda x, y: pf.mux(x > y, x, 20), (0, 20)),
    ],
)
def test_ranges_are_tight_without_a_promise(function, bounds) -> None:
    kind = output(function, x=NIBBLE, y=NIBBLE)
    assert kind.bounds == bounds
    program = pf.program(x=NIBBLE, y=NIBBLE)(function)
    found = [program(x=x, y=y)["result"] for x, y in itertools.product(range(0, 16, 3), repeat=2)]
    assert min(found) >= bounds[0]
    assert max(found) <= bounds[1]


def test_a_sorting_network_costs_as_much_as_the_promised_one() -> None:
    def network(x, promise):
        values = [x[i] for i in range(4)]
        for a, b in [(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)]:
            low, high = pf.minimum(values[a], values[b]), pf.maximum(values[a], values[b])
            values[a], values[b] = promise(low), promise(high)
        return pf.concat(*values)

    kind = pf.Int(0, 7).vector(4)
    own = pf.program(x=kind)(lambda x: network(x, lambda v: v))
    promised = pf.program(x=kind)(lambda x: network(x, lambda v: v.assume(pf.Int(0, 7))))
    for numbers in [[7, 0, 3, 3], [1, 2, 3, 4], [6, 5, 4, 0]]:
        assert own(x=numbers)["result"] == sorted(numbers)
    costs = [program.cost().to_dict() for program in (own, promised)]
    assert costs[0]["parameters"] == costs[1]["parameters"]
    assert costs[0]["lookups"] == costs[1]["lookups"]


def refusal(make) -> str:
    with pytest.raises(pf.Error) as error:
        make()
    return str(error.value)


def test_a_range_beyond_one_look_up_costs_as_much_as_the_same_width() -> None:
    costs = [pf.program(x=kind, y=kind)(lambda x, y: x < y).cost().to_dict() for kind in (pf.Int(0, 255), pf.UInt(8))]
    assert [cost["lookups"] for cost in costs] == [3, 3]
    assert costs[0]["noise"]["log2_failure"] <= -128


def test_a_branch_is_sent_to_a_choice_which_takes_integers() -> None:
    message = refusal(lambda: pf.program(x=NIBBLE, y=NIBBLE)(lambda x, y: x if x > y else y))
    assert "pf.mux(condition, a, b)" in message
    remedy = pf.program(x=pf.Int(0, 3), y=pf.Int(0, 3))(lambda x, y: pf.mux(x > y, x, y))
    for x, y in itertools.product(range(4), repeat=2):
        assert remedy(x=x, y=y) == {"result": max(x, y)}
    assert remedy.cost().to_dict()["lookups"] == 3


def test_bgv_comparisons_point_to_integers_of_tfhe() -> None:
    message = refusal(lambda: pf.program(x=pf.Mod(65537), y=pf.Mod(65537))(lambda x, y: x == y))
    assert "pf.sign" not in message
    assert "pf.UInt" in message
    remedy = pf.program(x=pf.UInt(16), y=pf.UInt(16))(lambda x, y: x == y)
    assert remedy(x=4, y=4) == {"result": 1}


def test_numpy_is_sent_to_calls_that_exist() -> None:
    for call, remedy in [
        (lambda x: np.maximum(x, x, where=[True] * 4), lambda x: pf.maximum(x, x)),
        (lambda x: np.concatenate([x, x], axis=1), lambda x: pf.concat(x, x)),
        (lambda x: np.sqrt(x), lambda x: pf.lookup(x, lambda v: int(v**0.5))),
    ]:
        for kind in (pf.Int(0, 3).vector(4), pf.UInt(8).vector(4)):
            message = refusal(lambda call=call, kind=kind: pf.program(x=kind)(call))
            for name in re.findall(r"pf\.(\w+)", message):
                assert hasattr(pf, name), message
        assert pf.program(x=pf.Int(0, 3).vector(4))(remedy)(x=[0, 1, 2, 3])
