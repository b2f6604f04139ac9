"""A decorated function becomes the program that its Python code describes."""

from __future__ import annotations

import itertools
import operator
from pathlib import Path

import numpy as np
import polyfabric as pf
import pytest


@pf.program(x=pf.Int(-4, 3), y=pf.Int(-4, 3))
def arithmetic(x, y):
    return {
        "sum": x + y,
        "difference": 5 - x - y,
        "scaled": 3 * x - y * 2,
        "product": x * y,
        "larger": pf.max(x, y),
        "smaller": pf.min(x, 1),
        "clipped": pf.relu(x - 1),
        "square": pf.lookup(x, lambda v: v * v),
        "listed": pf.lookup(y, [7, 6, 5, 4, 3, 2, 1, 0]),
    }


@pytest.mark.parametrize(("x", "y"), [(x, y) for x in range(-4, 4) for y in (-4, -1, 0, 3)])
def test_arithmetic_is_pythons(x, y):
    assert arithmetic.clear(x=x, y=y) == {
        "sum": x + y,
        "difference": 5 - x - y,
        "scaled": 3 * x - 2 * y,
        "product": x * y,
        "larger": max(x, y),
        "smaller": min(x, 1),
        "clipped": max(x - 1, 0),
        "square": x * x,
        "listed": 3 - y,
    }


@pf.program(x=pf.Int(0, 5), y=pf.Int(0, 5))
def comparisons(x, y):
    return {"lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y, "eq": x == y, "ne": x != y, "is3": x == 3}


@pytest.mark.parametrize(("x", "y"), [(x, y) for x in range(6) for y in range(6)])
def test_comparisons_are_pythons(x, y):
    expected = {"lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y, "eq": x == y, "ne": x != y, "is3": x == 3}
    assert comparisons.clear(x=x, y=y) == {name: int(value) for name, value in expected.items()}


@pf.program(a=pf.Bool, b=pf.Bool, c=pf.Bool)
def gates(a, b, c):
    return {
        "and": a & b,
        "or": a | b,
        "xor": a ^ b,
        "nand": pf.nand(a, b),
        "nor": pf.nor(a, b),
        "xnor": pf.xnor(a, b),
        "not": ~a,
        "mux": pf.where(c, a, b),
        "clear": a & 1,
    }


@pytest.mark.parametrize(("a", "b", "c"), [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)])
def test_gates_are_boolean_algebra(a, b, c):
    assert gates.clear(a=a, b=b, c=c) == {
        "and": a & b,
        "or": a | b,
        "xor": a ^ b,
        "nand": 1 - (a & b),
        "nor": 1 - (a | b),
        "xnor": 1 - (a ^ b),
        "not": 1 - a,
        "mux": a if c else b,
        "clear": a,
    }


@pytest.mark.parametrize("low", [0, -8])
def test_divisions_shifts_and_bits_with_public_numbers_are_pythons(low: int) -> None:
    def every(x: pf.Value) -> dict[str, pf.Value]:
        return {
            "quotient": x // 3,
            "of": 20 // (x + 20),
            "rest": x % -3,
            "left": x << 2,
            "right": x >> 1,
            "power": 1 << (x - low),
            "and": x & 5,
            "or": 5 | x,
            "xor": x ^ 5,
            "both": divmod(x, 5)[1],
        }

    program = pf.program(x=pf.Int(low, low + 15))(every)
    for x in range(low, low + 16):
        assert program.clear(x=x) == every(x)
    # A lookup each, and none where the operands are public.
    assert program.cost(max_failure=0).to_dict()["lookups"] == 10
    each = pf.program(x=pf.Int(0, 15).vector(3))(lambda x: x // [1, 2, 3])
    assert each.clear(x=[15, 15, 15]) == [15, 7, 5]


@pytest.mark.parametrize("call", [operator.add, operator.mul, operator.lt, pf.max, lambda x, y: pf.where(x > 1, x, y)])
@pytest.mark.parametrize("kind", [pf.Int(0, 7), pf.UInt(8)], ids=str)
def test_a_number_and_a_vector_of_one_give_a_vector(call, kind) -> None:
    """As numpy's arrays do, on either side, and whatever was computed of the same values before."""
    alone = pf.program(x=kind, y=kind.vector(1))(
        lambda x, y: {"n": call(x, x), "xy": call(x, y), "yx": call(y, x), "p": call(x, [2])}
    )
    shown = alone.clear(x=5, y=[3])
    assert isinstance(shown.pop("n"), int)
    assert all(isinstance(found, list) and len(found) == 1 for found in shown.values())


def test_a_boolean_is_0_or_1_for_signs_and_next_to_integers() -> None:
    given = {"b": [0, 1, 0, 1], "n": [0, 1, 1, 0]}

    @pf.program(b=pf.Bool.vector(4), n=pf.Int(0, 1).vector(4))
    def signs(b, n):
        return {"sign": pf.sign(b), "half": pf.sign(b, boolean=True), "equal": b == n, "other": b != n, "back": n == b}

    equal = [int(b == n) for b, n in zip(given["b"], given["n"], strict=True)]
    other = [1 - one for one in equal]
    assert signs.clear(**given) == {"sign": [1] * 4, "half": [1] * 4, "equal": equal, "other": other, "back": equal}


@pytest.mark.parametrize(("then", "otherwise"), [([1, -2, 3], [4, 5, 6]), ([1, 2, 1], 9), (7, np.array([7, 7, 7]))])
def test_public_choices_may_be_vectors(then, otherwise) -> None:
    wide = [np.broadcast_to(choice, 3).tolist() for choice in (otherwise, then)]
    for bits in ([0, 1, 1], [1, 0, 0]):
        chosen = pf.program(c=pf.Bool.vector(3))(lambda c: pf.where(c, then, otherwise))
        assert chosen.clear(c=bits) == [wide[bit][at] for at, bit in enumerate(bits)]
    alone = pf.program(c=pf.Bool)(lambda c: pf.where(c, then, otherwise))
    assert [alone.clear(c=bit) for bit in (0, 1)] == wide


@pytest.mark.parametrize("low", [0, -5])
@pytest.mark.parametrize("modulus", [1, 2, 7, 1000])
def test_powers_of_a_few_bits_to_a_modulus_take_one_look_up(low: int, modulus: int) -> None:
    power = pf.program(x=pf.Int(low, low + 7))(lambda x: pow(x, 1000, modulus))
    assert [power.clear(x=x) for x in range(low, low + 8)] == [pow(x, 1000, modulus) for x in range(low, low + 8)]
    assert power.text().count(" lookup ") == 1


def test_vectors_slice_join_and_multiply_like_numpy():
    matrix = np.array([[1, -2, 0, 3], [0, 1, 1, -1]])

    @pf.program(v=pf.Int(-3, 3).vector(4), s=pf.Int(0, 2))
    def vectors(v, s):
        return {
            "matrix": matrix @ v,
            "right": v @ matrix.T,
            "dot": pf.dot([1, 2, 3, 4], v),
            "last": v[-1],
            "slice": v[1:3],
            "picked": v[[3, 0, 3]],
            "stretched": v + s,
            "joined": pf.concat(v[:2], s),
            "by_array": np.array([1, 0, -1, 2]) * v,
            "each": sum(list(v)[1:], v[0]),
        }

    v, s = np.array([3, -1, 2, -3]), 2
    result = vectors.clear(v=v, s=s)
    expected = {
        "matrix": (matrix @ v).tolist(),
        "right": (matrix @ v).tolist(),
        "dot": int(np.dot([1, 2, 3, 4], v)),
        "last": -3,
        "slice": [-1, 2],
        "picked": [-3, 3, -3],
        "stretched": (v + 2).tolist(),
        "joined": [3, -1, 2],
        "by_array": (np.array([1, 0, -1, 2]) * v).tolist(),
        "each": int(v.sum()),
    }
    assert result == expected


def test_one_table_for_each_element():
    tables = [lambda x: x + 1, [9, 8, 7, 6]]

    @pf.program(v=pf.Int(0, 3).vector(3))
    def several(v):
        return pf.lookup(v, tables, choice=[0, 1, 0])

    assert several.clear(v=[1, 1, 3]) == [2, 8, 4]


def test_ranges_are_inferred_with_their_stride():
    @pf.program(v=pf.Int(-1, 1, step=2).vector(5))
    def odd(v):
        return pf.dot([1, 1, -1, 1, 1], v)

    assert str(odd.outputs["result"]) == "integer[-5..5 by 2]"


def test_text_parses_back_to_the_same_program():
    parsed = pf.Program.parse(arithmetic.text())
    assert parsed.text() == arithmetic.text()
    assert parsed.clear(x=[2], y=[-3])["product"] == [-6]


def test_every_node_knows_its_line():
    nodes = arithmetic.text().splitlines()[1:]
    assert all('test_language.py":' in node for node in nodes)
    (square,) = (node for node in nodes if "[16, 9, 4, 1, 0, 1, 4, 9]" in node)
    source = Path(__file__).read_text(encoding="utf-8").splitlines()
    written = source.index('        "square": pf.lookup(x, lambda v: v * v),') + 1
    assert square.endswith(f'test_language.py":{written}')


def test_a_program_is_traced_once():
    calls = []

    @pf.program(x=pf.Bool)
    def counted(x):
        calls.append(1)
        return ~x

    counted.clear(x=0)
    counted.clear(x=1)
    assert calls == [1]


def test_booleans_count_as_0_and_1() -> None:
    """As Python's do: votes are added, and conditions multiply."""

    @pf.program(v=pf.Bool.vector(4), x=pf.Int(0, 3), y=pf.Int(0, 3))
    def counted(v, x, y):
        above, other = x > 1, y > 1
        return {
            "votes": pf.sum(v),
            "weighted": pf.dot([1, 2, 3, 4], v),
            "product": v @ v,
            "both": above + other,
            "chosen": above * y,
            "and": above * other,
            "not": 1 - above,
            "minus": -above,
            "any": v.any(),
            "all": v.all(),
        }

    for v, x, y in itertools.product(([1, 0, 1, 1], [0] * 4, [1] * 4), range(4), range(4)):
        above, other = int(x > 1), int(y > 1)
        assert counted.clear(v=v, x=x, y=y) == {
            "votes": sum(v),
            "weighted": sum(place * one for place, one in enumerate(v, 1)),
            "product": sum(v),
            "both": above + other,
            "chosen": above * y,
            "and": above * other,
            "not": 1 - above,
            "minus": -above,
            "any": int(any(v)),
            "all": int(all(v)),
        }
    assert counted.run({"v": [1, 0, 1, 1], "x": 2, "y": 3}).correct
    # One lookup for each Boolean, however often it is counted.
    assert pf.program(v=pf.Bool.vector(4))(lambda v: (pf.sum(v), pf.sum(v))).cost()["lookups"] == 4


def test_a_parameter_with_a_default_is_public() -> None:
    program = pf.program(x=pf.UInt(8))(lambda x, factor=3, *, table=(1, 2): x * factor + table[1])
    assert list(program.inputs) == ["x"]
    assert program.clear(x=4) == 14
    typed = pf.program(x=pf.UInt(8), factor=pf.UInt(8))(lambda x, factor=3: x * factor)
    assert list(typed.inputs) == ["x", "factor"]


def test_two_encrypted_vectors_of_a_few_bits_have_a_product() -> None:
    program = pf.program(x=pf.Int(-2, 3).vector(3), y=pf.Int(0, 3).vector(3))(
        lambda x, y: (x @ y, pf.dot(x, y), pf.dot(x, x))
    )
    assert program.clear(x=[-2, 3, 1], y=[3, 2, 0]) == (0, 0, 14)
    program.plan()


def test_a_table_of_a_tables_results_is_one_lookup() -> None:
    squares = [v * v % 5 for v in range(8)]
    prices = [[3, 1, 4, 1, 5], [2, 7, 1, 8, 2]]

    @pf.program(x=pf.Int(0, 7).vector(4), y=pf.Int(0, 7))
    def program(x, y):
        small = pf.lookup(x, squares)
        return {
            "chosen": pf.lookup(small, prices, choice=[0, 1, 0, 1]),
            "count": pf.sum(x == 3),
            "others": pf.sum(x != 3),
            "twice": ((y == 2) * 4 == 4) + 1,
            "both": (y == 2) & (x == 3),
        }

    assert pf.program(x=pf.Int(0, 7).vector(4))(lambda x: pf.sum(x == 3)).cost()["lookups"] == 4
    assert pf.program(x=pf.Int(0, 7).vector(4))(lambda x: pf.sum(x != 3)).cost()["lookups"] == 4
    for x, y in (([0, 3, 7, 3], 2), ([3, 3, 3, 3], 5)):
        done = program.run(x=x, y=y)
        assert done.correct
        small = [squares[v] for v in x]
        assert [int(v) for v in done.value["chosen"]] == [prices[i % 2][v] for i, v in enumerate(small)]
        assert (done.value["count"], done.value["others"]) == (x.count(3), 4 - x.count(3))
        assert done.value["twice"] == int(y == 2) + 1
        assert [int(v) for v in done.value["both"]] == [int(y == 2 and v == 3) for v in x]
