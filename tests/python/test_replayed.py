"""Everything that a TFHE machine times is also executed on ciphertexts, with the results of Python's integers."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.accelerators.machine import Machine, load
from polyfabric.language.types import Type
from polyfabric.run.execution import run_plan
from polyfabric.run.keys import Keys
from polyfabric.schemes.options import PlanOptions
from polyfabric.schemes.parameters import named
from polyfabric.schemes.tfhe import TfhePlan

ROOT = Path(__file__).resolve().parents[2]
MACHINES = ("fpt", "strix", "morphling", str(ROOT / "examples" / "own-tfhe-machine.toml"))
RING = "toy-256"
"""A set whose lookups take a millisecond: with widths that are derived for it, four bits come out right."""


@dataclass(frozen=True)
class Case:
    """A program, values for its inputs, and its outputs as Python's integers give them."""

    program: pf.Program
    values: dict[str, Any]
    expected: list[Any]


CASES: dict[str, Case] = {}

Inputs = dict[str, tuple[Type, Any]]


def case(encrypted: Callable[..., Any], inputs: Inputs, expected: list[Any]) -> None:
    """Adds the program `encrypted`, known by its name."""
    program = pf.program(**{name: kind for name, (kind, _) in inputs.items()})(encrypted)
    CASES[program.name] = Case(program, {name: value for name, (_, value) in inputs.items()}, expected)


def small(x: Any, bits: int = 2) -> tuple[Type, Any]:
    """An integer of a few bits in one ciphertext, or a vector of them."""
    kind = pf.Int(0, 2**bits - 1)
    return (kind.vector(len(x)), x) if isinstance(x, list) else (kind, x)


def flag(x: Any) -> tuple[Type, Any]:
    """A Boolean, or a vector of them."""
    return (pf.Bool.vector(len(x)), x) if isinstance(x, list) else (pf.Bool, x)


def wide(x: Any, bits: int = 4) -> tuple[Type, Any]:
    """An integer of several digits, or a vector of them."""
    return (pf.UInt(bits).vector(len(x)), x) if isinstance(x, list) else (pf.UInt(bits), x)


# -- one ciphertext a value ---------------------------------------------------------------------------------------


def linear(x):
    return np.array([[1, -2, 0], [0, 0, 0], [1, 1, 1]]) @ x, x[0] * 3 + 1, 2 - x[1], -x[2], x[0] - x[2]


case(linear, {"x": small([0, 1, 3])}, [[-2, 0, 4], 1, 1, -3, -3])


def rearranged(x):
    return pf.sum(x[[0, 0, 1, 2, 2, 2]]), pf.concat(x[1:], x)


case(rearranged, {"x": small([0, 1, 1], 1)}, [4, [1, 1, 0, 1, 1]])


def convolved(x):
    return pf.convolve([[1, -1], [0, 1]], x, (3, 3))


case(convolved, {"x": small([1, 0, 1, 1, 1, 0, 0, 1, 1], 1)}, [[1 - 0 + 1, 0 - 1 + 0, 1 - 1 + 1, 1 - 0 + 1]])


def looked_up(x):
    return pf.lookup(x, lambda v: 3 - v)


case(looked_up, {"x": small([0, 3, 2])}, [[3, 0, 1]])


def copied(x):
    return pf.lookup(x[[0] * 9 + [1] * 4], lambda v: v * v)


case(copied, {"x": small([3, 2])}, [[9] * 9 + [4] * 4])


def several_tables(x):
    return [pf.lookup(x, lambda v, bit=bit: (v * 5 + 3) >> bit & 3) for bit in range(9)]


case(several_tables, {"x": small(2)}, [13 >> bit & 3 for bit in range(9)])


def alone_and_looked_up(x):
    return {"before": x, "found": pf.lookup(x, lambda v: v + 1), "after": x}


case(alone_and_looked_up, {"x": small(3)}, [3, 4, 3])


def whole_torus(x):
    return pf.sign(x * 2 + 1), pf.relu(x), abs(x), x**2


case(whole_torus, {"x": (pf.Int(-2, 1), -2)}, [-1, 0, 2, 4])


def of_two(x, y):
    return x * y, pf.max(x, y), x // 2, y % 3


case(of_two, {"x": small(3), "y": small(2)}, [6, 3, 1, 2])


def compared(x, y):
    return x < y, x <= 2, x == y, x != 3, x >= y, x > 3


case(compared, {"x": small(3), "y": small(2)}, [0, 0, 0, 0, 1, 0])


def encrypted_dot(x, y):
    return x @ y


case(encrypted_dot, {"x": small([3, 1]), "y": small([2, 2])}, [8])


def exchanged(x):
    return pf.sort(x)


case(exchanged, {"x": small([1, 0, 3, 2])}, [[0, 1, 2, 3]])


def constant(x):
    return pf.lookup(x, lambda v: 3), x - x


case(constant, {"x": small(1, 1)}, [3, 0])


def promised(x):
    return pf.lookup((x + x).assume(pf.Int(0, 3)), lambda v: 3 - v)


case(promised, {"x": small(1)}, [1])


def many(x):
    found = pf.lookup(x, lambda v: v // 7)
    return pf.lookup(x[::-1], lambda v: 7 - v), pf.sum(found[:3]), found


COUNTED = [value % 8 for value in range(70)]
case(
    many,
    {"x": small(COUNTED, 3)},
    [[7 - value for value in COUNTED[::-1]], 0, [value // 7 for value in COUNTED]],
)


def fractions(x):
    return x[0] + x[1], x


case(fractions, {"x": (pf.Torus(4).vector(2), [3, -7])}, [-4, [3, -7]])


# -- gates --------------------------------------------------------------------------------------------------------


def gates(a, b):
    return (a ^ b) | ~a, a & b, pf.nand(a, b), pf.nor(a, b), pf.xnor(a, b), ~a


case(gates, {"a": flag(1), "b": flag(0)}, [1, 0, 1, 0, 0, 0])


def gates_of_one(a):
    return a & a, a ^ a, a | ~a


case(gates_of_one, {"a": flag(1)}, [1, 0, 1])


def chosen(a, b, x, y):
    return pf.where(a, b, ~b), pf.where(a, x, y), pf.where(~a, x, y)


case(chosen, {"a": flag(1), "b": flag(0), "x": small(2), "y": small(1)}, [0, 2, 1])


def counted(a):
    return pf.sum(a), a.any(), a.all()


case(counted, {"a": flag([1, 0, 1, 1])}, [3, 1, 0])


# -- integers of several digits -----------------------------------------------------------------------------------


def added(x, y):
    return x + y


case(added, {"x": wide(7), "y": wide(11)}, [18 % 16])


def arithmetic(x, y):
    return x - y, x * y, x // y, x % y, -x, x.checked_add(y)[1]


case(arithmetic, {"x": wide(13), "y": wide(5)}, [8, 65 % 16, 2, 3, 3, 1])


def bits(x, y):
    return x & y, x ^ y, ~x, x.bit(2), x.leading_zeros()


case(bits, {"x": wide(13), "y": wide(5)}, [5, 8, 2, 1, 0])


def ordered(x, y):
    return x < y, x == y, pf.max(x, y), pf.where(x > y, x, y), pf.where(x > 3, 1, 5)


case(ordered, {"x": wide(13), "y": wide(5)}, [0, 0, 13, 13, 1])


def shifted(x, n):
    return x << n, x >> n, x.rotate_left(n), x << 1, x >> 3


case(shifted, {"x": wide(13), "n": wide(3, 2)}, [13 << 3 & 15, 1, (13 << 3 | 13 >> 1) & 15, 10, 1])


def with_sign(x, y):
    return abs(x), x * y, x < y, x // 3, x >> 1


case(with_sign, {"x": (pf.SInt(4), -5), "y": (pf.SInt(4), 3)}, [5, -15 + 16, 1, -2, -3])


def of_vectors(x):
    return x.sum(), x.max(), pf.sort(x), x[1], pf.dot([1, 2, 3], x)


case(of_vectors, {"x": wide([3, 9, 5])}, [17 % 16, 9, [3, 5, 9], 9, (3 + 18 + 15) % 16])


def table(i, j):
    return pf.lookup(i, [3, 1, 4, 1, 5, 9, 2, 6], result=pf.UInt(4)), pf.lookup(
        j, lambda v: v * 7 % 16, result=pf.UInt(4)
    )


case(table, {"i": wide(5, 3), "j": wide(45, 6)}, [9, 45 * 7 % 16])


def text(t):
    return t == "Ada", t.startswith("B"), t.contains("d")


case(text, {"t": (pf.Text(3), "Ada")}, [1, 0, 1])


# -- carried out --------------------------------------------------------------------------------------------------


@cache
def machine(name: str, parameters: str = RING, readings: tuple[str, ...] = ()) -> Machine:
    """The machine, with widths with which the set's results come out right."""
    return load(name, readings).with_derived_widths(named(parameters).native)


@cache
def keys(parameters: str) -> Keys:
    """Keys of a set: all programs share them."""
    return Keys.generate(TfhePlan.make(CASES["looked_up"].program, PlanOptions(parameters=parameters)))


def planned(name: str, on: Machine, parameters: str = RING, key_switch: str | None = None) -> TfhePlan:
    options = PlanOptions(parameters=parameters, machine=on, max_failure=0)
    return TfhePlan.make(CASES[name].program, options, key_switch=key_switch)


def expect_replayed(plan: TfhePlan, name: str) -> None:
    """Times the program, carries out the schedule that was timed, and compares what it decrypts to with Python's integers."""
    case = CASES[name]
    timed = plan.machine.simulate(plan)
    done = run_plan(plan, case.values, keys=keys(plan.parameters.name))
    assert list(done.outputs.values()) == case.expected
    assert done.simulation["cycles"] == timed["cycles"]


@pytest.mark.parametrize("on", MACHINES, ids=lambda name: Path(name).stem)
@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_program_is_replayed(name, on):
    expect_replayed(planned(name, machine(on)), name)


FLAT = (
    "linear",
    "rearranged",
    "convolved",
    "looked_up",
    "copied",
    "several_tables",
    "alone_and_looked_up",
    "whole_torus",
    "fractions",
)
"""Programs in which no lookup reads another's result, so that they do without a key switch."""


@pytest.mark.parametrize("on", MACHINES, ids=lambda name: Path(name).stem)
@pytest.mark.parametrize(
    ("key_switch", "names"),
    [("before", ("copied", "several_tables", "gates", "added", "many")), ("none", FLAT)],
    ids=["before", "none"],
)
def test_wherever_the_key_switch_stands(key_switch, names, on):
    for name in names:
        plan = planned(name, machine(on), key_switch=key_switch)
        assert plan.key_switch == key_switch
        expect_replayed(plan, name)


@pytest.mark.parametrize(
    ("on", "parameters"),
    [("fpt", "toy-512-k2"), ("morphling", "toy-512-k2"), *((name, "toy-256-one-key") for name in MACHINES)],
    ids=lambda name: Path(name).stem,
)
def test_with_more_polynomials_and_with_one_key(on, parameters):
    names = ("several_tables", "added") if parameters == "toy-256-one-key" else ("copied", "gates", "many")
    for name in names:
        expect_replayed(planned(name, machine(on, parameters), parameters), name)


def drawn(source: random.Random) -> Case:
    """A program of random lookups, sums, parts and copies of vectors, with what Python makes of the same lists."""
    steps = [source.choice(("table", "tables", "part", "sum")) for _ in range(source.randint(2, 5))]
    tables = [[source.randrange(4) for _ in range(4)] for _ in range(8)]
    length = source.randint(1, 40)
    choices = [[source.randrange(length) for _ in range(length)] for _ in steps]
    values = [source.randrange(4) for _ in range(length)]

    def encrypted(x):
        outputs = [x]
        for number, step in enumerate(steps):
            last = outputs[-1]
            if step == "table":
                outputs.append(pf.lookup(last, tables[number].__getitem__))
            elif step == "tables":
                outputs += [pf.lookup(last, table.__getitem__) for table in tables]
            elif step == "part":
                outputs.append(last[choices[number]])
            else:
                outputs.append(pf.lookup(last + outputs[0], lambda v: v % 4))
        return outputs[1:]

    def python(x: list[int]) -> list[list[int]]:
        outputs = [x]
        for number, step in enumerate(steps):
            last = outputs[-1]
            if step == "table":
                outputs.append([tables[number][value] for value in last])
            elif step == "tables":
                outputs += [[table[value] for value in last] for table in tables]
            elif step == "part":
                outputs.append([last[index] for index in choices[number]])
            else:
                outputs.append([(one + first) % 4 for one, first in zip(last, x, strict=True)])
        return outputs[1:]

    program = pf.program(x=pf.Int(0, 3).vector(length))(lambda x: tuple(encrypted(x)))
    return Case(program, {"x": values}, python(values))


@pytest.mark.parametrize("on", MACHINES, ids=lambda name: Path(name).stem)
def test_random_programs_are_replayed(on):
    for seed in range(8):
        own = drawn(random.Random(seed))
        options = PlanOptions(parameters=RING, machine=machine(on), max_failure=0)
        done = run_plan(TfhePlan.make(own.program, options), own.values, keys=keys(RING))
        assert list(done.outputs.values()) == own.expected, seed


@pytest.mark.full
@pytest.mark.parametrize("on", MACHINES, ids=lambda name: Path(name).stem)
def test_by_every_reading_of_a_paper(on):
    readings = load(on).to_dict()["readings"]
    for reading in [f"{fact}={option}" for fact, open_fact in readings.items() for option in open_fact["options"]]:
        for name in CASES:
            expect_replayed(planned(name, machine(on, readings=(reading,))), name)


def test_the_programs_have_every_node_of_the_language():
    page = (ROOT / "docs" / "kernel-program.md").read_text(encoding="utf-8")
    rows = page[page.index("| node | meaning |") : page.index("## The kernel program")].strip().splitlines()
    nodes = {node for row in rows for node in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert len(nodes) > 10
    written = {node for case in CASES.values() for node in re.findall(r"= (\w+)", case.program.text())}
    # Machines have no circuit bootstrapping.
    assert nodes - written == {"lookup_wide"}
    assert {"and", "or", "xor", "nand", "nor", "xnor"} <= written


@pytest.mark.parametrize("on", MACHINES, ids=lambda name: Path(name).stem)
def test_programs_without_operations_are_neither_timed_nor_replayed(on):
    @pf.program(x=pf.Int(0, 3).vector(2))
    def swapped(x):
        return x[::-1]

    for attempt in (
        lambda: swapped.simulate(on, parameters=RING),
        lambda: swapped.run({"x": [1, 2]}, on=on, parameters=RING),
    ):
        with pytest.raises(pf.errors.MachineError):
            attempt()
