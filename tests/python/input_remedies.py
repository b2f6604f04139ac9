"""Inputs that are refused, and those that the messages advise; `test_remedies.py` runs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polyfabric as pf
from remedy import HALF, I3, I3V, MV, RV, U8, U8V, R


def by_name(program: Any, given: Any) -> Any:
    return program(x=given)


def by_place(program: Any, given: Any) -> Any:
    return program(given)


def all_of_them(program: Any, given: Any) -> Any:
    return program.evaluate(given)


@dataclass(frozen=True)
class Given:
    """An input `x` that is refused, and the advised one."""

    kinds: dict[str, Any]
    wrong: Any
    words: str
    right: Any
    instead: dict[str, Any] | None = None
    """The advised type."""
    call: Callable[[Any, Any], Any] = by_name


TEXT, SQUARE = pf.Text(4), np.array([[0.5, -0.25], [0.125, 0.75]])
MASKED, COUNTED = np.ma.masked_array(HALF, HALF > 0), np.ma.masked_array([1, 2, 3, 0], [0, 0, 1, 0])

INPUTS = [
    Given({"x": I3}, 3, "inputs are given by name; write anything(x=..)", 3, call=by_place),
    Given({"x": I3}, 3, "inputs are int; give a dictionary with x", 3, call=all_of_them),
    Given({"x": R}, 3, "inputs are int; give a dictionary with x", 0.5, call=all_of_them),
    Given({"x": I3}, {"y": 3}, "there is no input 'y'; the inputs are x", 3, call=all_of_them),
    Given({"x": I3}, {}, "give it a value of type integer[0..3]", 3, call=all_of_them),
    Given({"x": R}, {}, "give it a value of type real", 0.5, call=all_of_them),
    Given({"x": I3}, 1.5, "takes integers; scale and round it first", 2),
    Given({"x": I3V}, [[1], [1, 2]], "rows of different lengths", [[1, 2], [3, 0]]),
    Given({"x": I3}, 10**30, "is no integer[0..3]; correct the value", 3),
    Given({"x": I3}, np.uint64(1 << 63), "is no integer[0..3]; correct the value", 3),
    Given({"x": pf.Torus(4)}, 10**30, "is no torus[4]; correct the value", 3),
    Given({"x": pf.Bool}, 10**30, "is no boolean; correct the value", 1),
    Given({"x": I3V}, [1, 2], "has 2 values, but integer[0..3] x 4 takes 4; give 4", [1, 2, 0, 0]),
    Given({"x": I3V}, [1, 2], "or declare it .vector(2)", [1, 2], {"x": I3.vector(2)}),
    Given({"x": I3V}, 1, "has 1 value, but", [1] * 4),
    Given({"x": R}, [0.5, 0.25], "has 2 values, but real takes 1; give one number", 0.5),
    Given({"x": RV}, [0.5, 0.25], "or declare it .vector(2)", [0.5, 0.25], {"x": R.vector(2)}),
    Given({"x": U8V}, [1, 2, 3], "or declare it .vector(3)", [1, 2, 3], {"x": U8.vector(3)}),
    Given({"x": U8}, 300, "give one, or a wider type", 300, {"x": pf.UInt(16)}),
    Given({"x": TEXT}, None, "is None, but text of 4 bytes takes a str, or bytes; give one of at most 4 bytes", "abcd"),
    Given({"x": TEXT}, 5, "give one of at most 4 bytes", "ab"),
    Given({"x": TEXT}, "abcde", "of 5 bytes, but text of 4 bytes takes at most 4; shorten it", "abcd"),
    Given({"x": TEXT}, "abcde", "or declare it pf.Text(5)", "abcde", {"x": pf.Text(5)}),
    *[
        Given({"x": TEXT}, wrong, words, right)
        for wrong, words, right in (
            ("ab\0", "has a 0 as byte 2, which fills texts up behind their end; leave it out", "ab"),
            (b"a\0b", "has a 0 as byte 1", "ab"),
            (
                "a\ud83d",
                "half a surrogate pair at index 1, which UTF-8 does not write; give the whole ch",
                "\U0001f600",
            ),
        )
    ],
    Given({"x": TEXT}, "a\0b", "or declare a vector of pf.UInt(8)", [97, 0, 98, 0], {"x": U8.vector(4)}),
    Given({"x": TEXT}, [97, 98], "or declare it pf.Text(2)", "ab", {"x": pf.Text(2)}),
    *[
        Given({"x": kind}, masked, "some of its values are masked; fill them in first", masked.filled(0))
        for kind, masked in ((RV, MASKED), (I3V, COUNTED), (pf.UInt(8).vector(4), COUNTED), (MV, COUNTED))
    ],
    Given({"x": MV}, ["1"] * 4, "holds '1', but residue mod 65537 x 4 is needed; give numbers of that type", [1] * 4),
    Given({"x": R.vector(4)}, SQUARE, "give it .reshape(-1)", SQUARE.reshape(-1)),
    Given({"x": R.matrix(2, 2)}, SQUARE[:, :1], "in that shape", SQUARE),
    Given({"x": R.matrix(2, 2)}, [0.5, 0.25], "takes 4; give 4", [0.5, 0.25, 0, 0]),
    Given({"x": RV}, ["a"] * 4, "give numbers of that type", HALF),
    Given({"x": MV}, HALF, "scale and round it first", [4, -2, 1, 0]),
    Given({"x": I3}, 10**5000, "an integer of 16,610 bits at index 0 is no integer[0..3]; correct the value", 3),
    Given({"x": U8}, 10**5000, "an integer of 16,610 bits; give an integer of at most 8,192 bits", 255),
    Given({"x": R}, 10**400, "an integer is beyond the range of floating-point numbers; scale it", 0.5),
    Given({"x": RV}, [[0.5], [0.5, 0.25]], "its rows have different lengths; give as many numbers in each", HALF),
    Given({"x": R}, np.inf, "not finite; correct the data", 0.5),
    *[
        Given({"x": R}, value, f"declare it .bounded({bound})", value, {"x": R.bounded(float(bound))})
        for value, bound in ((1.0000001, "1.1"), (1234567.8, "1.3e+06"), (1.5, "1.5"), (-3, "3"))
    ],
    *[
        Given({"x": kind}, wrong, f"give a list or an array of {size} numbers", list(range(size)))
        for kind, size in ((I3V, 4), (U8V, 2), (R.bounded(4).vector(4), 4), (MV, 4))
        for wrong in (None, "abc", {1: 2}, (i for i in range(size)), {1, 2})
    ],
    *[Given({"x": kind}, None, "is needed; give one number", 1) for kind in (I3, U8, R)],
    *[Given({"x": kind}, [], f"takes {size}; give {size}", [1] * size) for kind, size in ((I3V, 4), (U8V, 2), (MV, 4))],
    Given({"x": RV}, [None] * 4, "holds None, but real x 4 is needed; give numbers", HALF),
    Given({"x": R}, 1 + 1e-12, "holds 1.0000000000010001, beyond the bound 1 of its type; scale it", 1),
    Given({"x": R}, 1.79e308, "of its type; scale it", 1.79e308 / 2e308),
]
