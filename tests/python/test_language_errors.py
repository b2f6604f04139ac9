"""Wrong programs and inputs of TFHE are rejected with the values and the user's line."""

from __future__ import annotations

import polyfabric as pf
import pytest
from rejects import check, rejects

HUGE = 10**5000


def too_wide(x):
    return x * (1 << 5000)


def wrong_length(x):
    return pf.concat(x, x) + pf.concat(x, x, x)


def boolean_image(x):
    return pf.convolve([[[[1]]]], x > 3, (1, 1, 1))


def nothing(x):
    return None


def clear_result(x):
    return 3


def as_integer(x):
    return range(x)


@pytest.mark.parametrize(
    ("function", "values"),
    [
        (too_wide, ("4096",)),
        (wrong_length, ("2", "3")),
        (boolean_image, ("boolean",)),
        (nothing, ("nothing", "None")),
        (clear_result, ("clear_result", "3")),
        (as_integer, ("integer[0..7]",)),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_program(function, values):
    with rejects(pf.errors.ProgramError, *values) as error:
        pf.program(x=pf.Int(0, 7))(function)
    # Errors of a function's body are at the line that it is written on, those of its result at the function.
    file, line, _ = str(error.value).split(":", 2)
    assert file.endswith("test_language_errors.py")
    code = function.__code__
    assert int(line) in {line for _, _, line in code.co_lines()} or function in (nothing, clear_result)


def test_missing_type():
    with rejects(pf.errors.ProgramError, "test_language_errors.py", "'x'"):
        pf.program(y=pf.Bool)(lambda x, y: x & y)


def test_empty_range():
    with rejects(pf.errors.ProgramError, "test_language_errors.py", "5", "4"):
        pf.Int(5, 4)


@pytest.mark.parametrize(
    "make",
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
def test_a_number_of_thousands_of_digits(make):
    with rejects(pf.errors.ProgramError, "16,610"):
        make(HUGE)


@pf.program(x=pf.Int(0, 7), v=pf.Bool.vector(3))
def small(x, v):
    return x + 1, ~v


@pytest.mark.parametrize(
    ("inputs", "values"),
    [
        ({"x": 8, "v": [0, 1, 0]}, ("8", "0", "integer[0..7]")),
        ({"x": 1, "v": [0, 1]}, ("small", "'v'", "2", "boolean x 3")),
        ({"x": 1}, ("small", "'v'", "boolean x 3")),
        ({"x": 1, "v": [0, 1, 0], "w": 3}, ("small", "'w'", "x", "v")),
        ({"x": 1.5, "v": [0, 1, 0]}, ("small", "'x'", "1.5", "integer[0..7]")),
        ({"x": 1, "v": [0, 2, 0]}, ("2", "1", "boolean")),
    ],
    ids=["range", "length", "missing", "unknown", "fraction", "boolean"],
)
def test_input(inputs, values):
    with rejects(pf.errors.InputError, *values):
        small.clear(inputs)


def test_text_with_a_fault():
    with rejects(pf.errors.ProgramError, "line 3, column 18", "bolean"):
        pf.Program.parse(small.text().replace("boolean", "bolean", 1))


def test_noise_budget():
    @pf.program(v=pf.Int(0, 7).vector(64))
    def heavy(v):
        return pf.lookup(pf.dot([1] * 64, v).assume(pf.Int(0, 448)), lambda s: s % 2)

    values = ("test_language_errors.py", "%3", "polyfabric-3-p128-t32", "integer[0..448]", "2^-0.7", "2^-128.0", "64")
    with rejects(pf.errors.NoiseError, *values):
        heavy.cost("polyfabric-3-p128-t32")


def test_unknown_set():
    with rejects(pf.errors.ParameterError, "strix-V", "strix-I", "strix-IV"):
        small.cost("strix-V")


def test_unknown_place():
    with rejects(pf.errors.InputError, "'morfling'", "morphling"):
        small.run({"x": 1, "v": [0, 0, 0]}, on="morfling")


def test_a_set_under_128_bits_warns():
    with pytest.warns(pf.errors.SecurityWarning) as caught:
        small.cost("strix-I")
    check(str(caught[0].message), "strix-I", "93.6", "128")
