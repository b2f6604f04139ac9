"""Does a wrong program say what is wrong, with which values, where, and what to do?"""

from __future__ import annotations

import re

import numpy as np
import polyfabric as pf
import pytest


def branch(x):
    return x if x > 3 else x + 1


def fraction(x):
    return x * 0.5


def boolean_image(x):
    return pf.convolve(np.ones((1, 1, 1, 1), dtype=int), x > 3, (1, 1, 1))


def too_wide(x):
    return x * (1 << 40)


def wrong_length(x):
    return pf.concat(x, x) + pf.concat(x, x, x)


def wrong_matrix(x):
    return np.ones((2, 3), dtype=int) @ pf.concat(x, x)


def beyond(x):
    return pf.concat(x, x)[2]


def short_table(x):
    return pf.lookup(x, [1, 2, 3])


def no_integer(x):
    return pf.lookup(x, lambda v: v / 2)


def nothing(x):
    return None


def clear_result(x):
    return 3


def as_integer(x):
    return range(x)


def gate_of_integers(x):
    return x & x


@pytest.mark.parametrize(
    "function",
    [
        branch,
        fraction,
        boolean_image,
        too_wide,
        wrong_length,
        wrong_matrix,
        beyond,
        short_table,
        no_integer,
        nothing,
        clear_result,
        as_integer,
        gate_of_integers,
    ],
    ids=lambda function: function.__name__,
)
def test_program(function, snapshot):
    with pytest.raises(pf.ProgramError) as error:
        pf.program(x=pf.Int(0, 7))(function)
    snapshot(without_lines(str(error.value)))


def without_lines(text):
    """Lines of this file move; that there is one does not."""
    return re.sub(r"(\w+\.py):\d+", r"\1:LINE", text.replace("tests/python/", ""))


def test_missing_type(snapshot):
    with pytest.raises(pf.ProgramError) as error:
        pf.program(y=pf.Bool)(lambda x, y: x & y)
    snapshot(without_lines(str(error.value)))


def test_empty_range(snapshot):
    with pytest.raises(pf.ProgramError) as error:
        pf.Int(5, 4)
    snapshot(without_lines(str(error.value)))


@pytest.mark.parametrize(
    "kind",
    [
        pf.UInt,
        pf.Text,
        pf.Torus,
        pf.Mod,
        pf.Real.bounded,
        pf.Bool.vector,
        lambda huge: pf.Int(0, huge),
        lambda huge: pf.Int(-huge, 0),
        lambda huge: pf.Int(0, 1, step=huge),
    ],
)
def test_a_number_of_thousands_of_digits(kind):
    with pytest.raises(pf.ProgramError, match="is an integer of 16,610 bits; give a"):
        kind(10**5000)


@pf.program(x=pf.Int(0, 7), v=pf.Bool.vector(3))
def small(x, v):
    return x + 1, ~v


@pytest.mark.parametrize(
    "inputs",
    [
        {"x": 8, "v": [0, 1, 0]},
        {"x": 1, "v": [0, 1]},
        {"x": 1},
        {"x": 1, "v": [0, 1, 0], "w": 3},
        {"x": 1.5, "v": [0, 1, 0]},
        {"x": 1, "v": [0, 2, 0]},
    ],
    ids=["range", "length", "missing", "unknown", "fraction", "boolean"],
)
def test_input(inputs, snapshot):
    with pytest.raises(pf.InputError) as error:
        small.evaluate(inputs)
    snapshot(str(error.value))


def test_text_with_a_fault(snapshot):
    with pytest.raises(pf.ProgramError) as error:
        pf.Program.parse(small.text().replace("boolean", "bolean", 1))
    snapshot(str(error.value))


def test_noise_budget(snapshot):
    @pf.program(v=pf.Int(0, 7).vector(64))
    def heavy(v):
        return pf.lookup(pf.dot([1] * 64, v).assume(pf.Int(0, 448)), lambda s: s % 2)

    with pytest.raises(pf.NoiseError) as error:
        heavy.cost("polyfabric-3-p128-t32")
    snapshot(without_lines(str(error.value)))


def test_unknown_set(snapshot):
    with pytest.raises(pf.ParameterError) as error:
        small.cost("strix-V")
    snapshot(str(error.value))


def test_unknown_place(snapshot):
    with pytest.raises(pf.InputError) as error:
        small.run({"x": 1, "v": [0, 0, 0]}, on="morfling")
    snapshot(str(error.value))


def test_a_set_under_128_bits_warns(snapshot):
    with pytest.warns(UserWarning, match="under the standard 128") as caught:
        small.cost("strix-I")
    snapshot(str(caught[0].message))


def test_a_call_without_inputs_is_told_how_it_is_made():
    for program in (small, pf.program("slots", x=pf.Real.vector(3))(lambda x: x + x)):
        values = ", ".join(f'"{name}": ..' for name in program.inputs)
        call = f"write {program.name}.run({{{values}}})"
        with pytest.raises(pf.InputError, match=re.escape(f"inputs are missing; {call}")):
            program.run()
        with pytest.raises(pf.InputError, match=re.escape(f"inputs are given as one dictionary; {call}")):
            program.run(x=1)
        with pytest.raises(pf.InputError, match=r"run has no option 'thread'; did you mean threads\?"):
            program.run({"x": 1}, thread=2)
