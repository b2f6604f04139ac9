"""Ranges are as tight as possible, and wide ones are lowered to digits."""

from __future__ import annotations

import itertools
import operator
import pickle
import re

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.language.types import Type

NIBBLE = pf.Int(0, 15)


def output(function, **inputs) -> Type:
    return pf.program(**inputs)(function).outputs["result"]


@pytest.mark.parametrize(
    ("function", "bounds"),
    [
        (lambda x, y: pf.max(x, y), (0, 15)),
        (lambda x, y: pf.min(x, y), (0, 15)),
        (lambda x, y: pf.max(x, 4), (4, 15)),
        (lambda x, y: pf.min(3, x), (0, 3)),
        (lambda x, y: (x - y) * (x - y), (0, 225)),
        (lambda x, y: (x - y) ** 2, (0, 225)),
        (lambda x, y: abs(x - y), (0, 15)),
        (lambda x, y: x * y, (0, 225)),
        (lambda x, y: (x - 15) * y, (-225, 0)),
        (lambda x, y: pf.where(x > y, x, y), (0, 15)),
        (lambda x, y: pf.where(x > y, x, 20), (0, 20)),
    ],
)
def test_ranges_are_tight_without_a_promise(function, bounds) -> None:
    kind = output(function, x=NIBBLE, y=NIBBLE)
    assert kind.bounds == bounds
    program = pf.program(x=NIBBLE, y=NIBBLE)(function)
    found = [program.clear(x=x, y=y) for x, y in itertools.product(range(0, 16, 3), repeat=2)]
    assert min(found) >= bounds[0]
    assert max(found) <= bounds[1]


def test_a_sorting_network_costs_as_much_as_the_promised_one() -> None:
    def network(x, promise):
        values = [x[i] for i in range(4)]
        for a, b in [(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)]:
            low, high = pf.min(values[a], values[b]), pf.max(values[a], values[b])
            values[a], values[b] = promise(low), promise(high)
        return pf.concat(*values)

    kind = pf.Int(0, 7).vector(4)
    own = pf.program(x=kind)(lambda x: network(x, lambda v: v))
    promised = pf.program(x=kind)(lambda x: network(x, lambda v: v.assume(pf.Int(0, 7))))
    for numbers in [[7, 0, 3, 3], [1, 2, 3, 4], [6, 5, 4, 0]]:
        assert own.clear(x=numbers) == sorted(numbers)
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
    assert "pf.where(condition, a, b)" in message
    remedy = pf.program(x=pf.Int(0, 3), y=pf.Int(0, 3))(lambda x, y: pf.where(x > y, x, y))
    for x, y in itertools.product(range(4), repeat=2):
        assert remedy.clear(x=x, y=y) == max(x, y)
    assert remedy.cost().to_dict()["lookups"] == 2


def test_bgv_comparisons_point_to_integers_of_tfhe() -> None:
    message = refusal(lambda: pf.program(x=pf.Mod(65537), y=pf.Mod(65537))(lambda x, y: x == y))
    assert "pf.sign" not in message
    assert "pf.UInt" in message
    remedy = pf.program(x=pf.UInt(16), y=pf.UInt(16))(lambda x, y: x == y)
    assert remedy.clear(x=4, y=4) == 1


def test_numpy_is_sent_to_calls_that_exist() -> None:
    for call, remedy in [
        (lambda x: np.maximum(x, x, where=[True] * 4), lambda x: pf.max(x, x)),
        (lambda x: np.concatenate([x, x], axis=1), lambda x: pf.concat(x, x)),
        (lambda x: np.sqrt(x), lambda x: pf.lookup(x, lambda v: int(v**0.5))),
    ]:
        for kind in (pf.Int(0, 3).vector(4), pf.UInt(8).vector(4)):
            message = refusal(lambda call=call, kind=kind: pf.program(x=kind)(call))
            for name in re.findall(r"pf\.(\w+)", message):
                assert hasattr(pf, name), message
        pf.program(x=pf.Int(0, 3).vector(4))(remedy).clear(x=[0, 1, 2, 3])


COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@pytest.mark.parametrize(
    "kind", [pf.UInt(8), pf.SInt(8), pf.UInt(1), pf.Int(0, 7), pf.Int(-300, 300)], ids=lambda kind: str(kind)
)
def test_a_number_beyond_the_range_is_compared_as_in_python(kind) -> None:
    numbers = [2**5000, -(2**5000), 2**41, kind.hi + 1, kind.lo - 1, kind.hi, kind.lo]
    program = pf.program(x=kind)(
        lambda x: pf.concat(*[compare(x, number) for number in numbers for compare in COMPARISONS])
    )
    lowered = pickle.loads(pickle.dumps(program))
    for value in kind.bounds:
        expected = [int(compare(value, number)) for number in numbers for compare in COMPARISONS]
        assert list(program.clear(x=value)) == expected
        assert list(lowered.clear(x=value)) == expected


def test_numbers_of_which_some_are_beyond_the_range() -> None:
    limits = [2**5000, 3, -(2**5000)]
    program = pf.program(x=pf.UInt(8).vector(3))(lambda x: x < limits)
    assert pickle.loads(pickle.dumps(program)).clear(x=[255, 2, 0]) == [1, 1, 0]


@pytest.mark.parametrize("split", [False, True])
def test_a_table_needs_entries_only_for_values_that_occur(split: bool) -> None:
    """Digits keep the step between the values as single ciphertexts do."""
    own = pf.Int(0, 40, step=2)

    @pf.program(x=own, y=pf.Int(0, 8), v=own.vector(2))
    def steps(x, y, v):
        found = {"wide": x + y.cast(pf.UInt(8))} if split else {}
        values = {
            "times": (y * 4, 4),
            "negative": (y * -4 + 1, 4),
            "sum": (x + 4 * y, 2),
            "difference": (x - 4 * y, 2),
            "neg": (-x, 2),
            "shift": (x << 2, 8),
            "taken": (v[1], 2),
            "total": (pf.sum(v), 2),
            "sums": (pf.sum(x, y * 6, x), 2),
            "weighted": (pf.dot([2, 4], v), 4),
            "joined": (pf.concat(x, x + 10)[1], 2),
            "promised": (x.assume(pf.Int(3, 20)), 2),
        }
        if split:
            values |= {
                "product": (x * (y * 2), 4),
                "greater": (pf.max(x, 4 * y), 2),
                "chosen": (pf.where(y > 3, x, 4 * y), 2),
            }
        for name, (value, step) in values.items():
            lo, hi = value.type.bounds
            table = {entry: entry // step for entry in range(lo, hi + 1, step)}
            found[name] = pf.lookup(value, table.__getitem__)
        return found

    given = {"x": 18, "y": 4, "v": [2, 40]}
    assert pickle.loads(pickle.dumps(steps)).clear(**given) == steps.clear(**given)


def test_a_promise_wider_than_any_range_is_kept() -> None:
    for most in (2**41, 2**70):
        wide = pf.Int(-most, most)
        for kind in (pf.Bool, pf.Int(0, 7), pf.Int(0, 3000), pf.UInt(8)):
            program = pf.program(x=kind)(lambda x, wide=wide: x.assume(wide) + 1)
            assert program.outputs["result"].bounds == (1, kind.hi + 1)
            assert program.clear(x=1) == 2
    assert output(lambda x: x.assume(pf.Int(1, 7)), x=pf.Int(0, 8, step=2)) == pf.Int(2, 6, step=2)
    for kind, promise in [(NIBBLE, pf.Int(2**41, 2**42)), (NIBBLE, pf.Int(16, 20)), (pf.Torus(4), pf.Int(0, 2**50))]:
        message = refusal(lambda kind=kind, promise=promise: output(lambda x: x.assume(promise), x=kind))
        assert message.startswith("tests/python/test_ranges.py:")


def test_only_a_lowering_that_does_not_fit_is_given_up() -> None:
    """A comparison of many values is lowered to digits too, if that is cheaper."""
    lowered = []

    def entry(value: int) -> int:
        if len(lowered) > 1:
            raise KeyError(value)
        return value // 2

    def tabled(x):
        lowered.append("tabled")
        return pf.lookup(x >> 4, entry), x > 70

    program = pf.program(x=pf.Int(0, 100))(tabled)
    assert len(lowered) == 2
    assert program.clear(x=64) == (2, 0)

    def faulty(x):
        lowered.append("faulty")
        if lowered.count("faulty") > 1:
            raise TypeError
        return x > 70

    with pytest.raises(TypeError):
        pf.program(x=pf.Int(0, 100))(faulty)
