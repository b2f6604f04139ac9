"""Does every remedy that the language's messages give work: does the program that it leads to trace, plan and compute what was meant?

A case is a program that is refused, words of its message, and the program that the message advises, with inputs and the result that was
meant. The last test holds that no message of the language goes without a case.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from absent_remedies import ABSENT
from input_remedies import INPUTS, Given
from matrix_remedies import MATRICES
from mixed_remedies import MIXED
from part_remedies import PARTS
from polyfabric import language, runnable
from polyfabric.language import numpy_calls, place
from python_remedies import PYTHON
from remedy import BIT, FOREIGN, HALF, I3, I3V, MV, RV, U4, U8, U8V, Case, M, R, anything, case
from type_remedies import TYPES

MODULES = [
    *(import_module(f"{language.__name__}.{module.name}") for module in iter_modules(language.__path__)),
    runnable,
]


ELEMENTS = [
    case({"x": I3}, lambda x: x if x > 1 else 1, "use pf.mux(", lambda x: pf.mux(x > 1, x, 1), {"x": 3}, 3),
    case({"x": I3}, lambda x: range(x), "keep computing on it", lambda x: x * 2, {"x": 3}, 6),
    case({"x": I3}, lambda x: x * 0.5, "scale and round to integers", lambda x: x * round(0.5 * 4), {"x": 3}, 6),
    case(
        {"x": pf.Int(0, 1 << 18)},
        lambda x: pf.lookup(x, lambda v: v % 2),
        "narrow the range first",
        lambda x: pf.lookup(x, lambda v: v % 2),
        {"x": 7},
        1,
        {"x": pf.Int(0, 15)},
    ),
    case(
        {"x": RV},
        lambda x: pf.lookup(x, abs),
        "use pf.chebyshev, pf.sign",
        lambda x: x * pf.sign(x),
        {"x": HALF},
        abs(HALF),
    ),
    case(
        {"x": I3}, lambda x: pf.lookup(3, abs), "an encrypted value is needed", lambda x: pf.lookup(x, abs), {"x": 3}, 3
    ),
    case({"x": I3}, lambda x: pf.sign(3), "an encrypted value is needed", lambda x: pf.sign(x - 2), {"x": 1}, -1),
    case(
        {"x": I3V},
        lambda x: pf.dot([1], [2]),
        "give an encrypted vector",
        lambda x: pf.dot([1] * 4, x),
        {"x": [1] * 4},
        4,
    ),
    case({"x": I3}, lambda x: pf.concat(), "give at least one value", lambda x: pf.concat(x), {"x": 2}, [2]),
    case({"x": I3}, lambda x: pf.sum([1, 2]), "a sequence of encrypted values", lambda x: pf.sum([x, x]), {"x": 2}, 4),
    case(
        {"x": I3V},
        lambda x: pf.convolve(np.ones((1, 2, 2), dtype=int), x, (2, 2, 1)),
        "give filters x height x width x channels",
        lambda x: pf.convolve(np.ones((1, 2, 2, 1), dtype=int), x, (2, 2, 1)),
        {"x": [1, 2, 3, 0]},
        [6],
    ),
    case(
        {"x": I3V},
        lambda x: pf.convolve(np.ones((1, 2, 2, 1), dtype=int), x, (3, 2, 1)),
        "has not the 4 elements",
        lambda x: pf.convolve(np.ones((1, 2, 2, 1), dtype=int), x, (2, 2, 1)),
        {"x": [1, 2, 3, 0]},
        [6],
    ),
    case({"x": I3}, lambda x: len(x), "use a vector", lambda x: x * len(x), {"x": [1] * 4}, [4] * 4, {"x": I3V}),
    case({"x": I3}, lambda x: x + FOREIGN["value"], "use values of one program", lambda x: x + x, {"x": 1}, 2),
    case(
        {"x": I3V},
        lambda x: x + np.ones((2, 4), dtype=int),
        "use @ for a matrix",
        lambda x: np.ones((2, 4), dtype=int) @ x,
        {"x": [1, 2, 3, 0]},
        [6, 6],
    ),
    case(
        {"x": I3V},
        lambda x: np.ones((2, 2, 4), dtype=int) @ x,
        "a vector or a matrix",
        lambda x: np.ones(4, dtype=int) @ x,
        {"x": [1, 2, 3, 0]},
        6,
    ),
    case(
        {"x": I3V},
        lambda x: np.ones((2, 3), dtype=int) @ x,
        "give it 4 columns",
        lambda x: np.ones((2, 4), dtype=int) @ x,
        {"x": [1, 2, 3, 0]},
        [6, 6],
    ),
    case({"x": I3}, lambda x: x == {}, "give integers", lambda x: x == 2, {"x": 2}, 1),
    case({"x": I3}, lambda x: x[0], "use a vector", lambda x: x[0], {"x": [3, 2, 1, 0]}, 3, {"x": I3V}),
    case({"x": I3V}, lambda x: x[4], "correct the index", lambda x: x[3], {"x": [3, 2, 1, 0]}, 0),
    case({"x": I3}, lambda x: x.cast(I3), "give pf.UInt(bits) or pf.SInt(bits)", lambda x: x.cast(U8), {"x": 3}, 3),
    case(
        {"x": I3},
        lambda x: pf.lookup(x, lambda v: v / 2),
        "it must give an integer",
        lambda x: pf.lookup(x, lambda v: v // 2),
        {"x": 3},
        1,
    ),
    case(
        {"x": I3V},
        lambda x: pf.lookup(x, abs, choice=[0] * 4),
        "give a list of tables",
        lambda x: pf.lookup(x, [abs, lambda v: v + 1], choice=[0, 1, 0, 1]),
        {"x": [1, 1, 1, 1]},
        [1, 2, 1, 2],
    ),
    case(
        {"x": RV},
        lambda x: pf.maximum(x, x),
        "a + s * pf.relu((b - a) * (1 / s))",
        lambda x: x + pf.relu(-x),
        {"x": HALF},
        np.maximum(HALF, 0),
    ),
    case(
        {"x": RV},
        lambda x: pf.minimum(x, x),
        "a - s * pf.relu((a - b) * (1 / s))",
        lambda x: x - pf.relu(x),
        {"x": HALF},
        np.minimum(HALF, 0),
    ),
    case(
        {"c": RV},
        lambda c: pf.mux(c, c, c),
        "c * a + (1 - c) * b",
        lambda c: c * 0.5 + (1 - c) * 0.25,
        {"c": [0, 1, 0, 1]},
        [0.25, 0.5] * 2,
    ),
    case(
        {"x": I3V},
        lambda x: pf.concat([x, x]),
        "give the values one by one, pf.concat(a, b, ..)",
        lambda x: pf.concat(x, x),
        {"x": [1] * 4},
        [1] * 8,
    ),
    case(
        {"x": I3},
        lambda x: pf.concat(x, 3),
        "an encrypted value is needed",
        lambda x: pf.concat(x, x),
        {"x": 3},
        [3, 3],
    ),
    case(
        {"x": U8}, lambda x: pf.mux(1, x, x), "an encrypted one is needed", lambda x: pf.mux(x > 2, x, 2), {"x": 1}, 2
    ),
    case({"x": I3}, lambda x: pf.mux(x > 1, x, x > 2), "or two integers", lambda x: pf.mux(x > 1, x, 0), {"x": 1}, 0),
]

INTEGERS = [
    case({"x": U8}, lambda x: x if x > 1 else 1, "use pf.mux(", lambda x: pf.mux(x > 1, x, 1), {"x": 0}, 1),
    case({"x": U8}, lambda x: range(int(x)), "keep computing on it", lambda x: x * 2, {"x": 3}, 6),
    case(
        {"x": U8},
        lambda x: pf.mux(x > 1, 0.5, 0),
        "an integer is needed, encrypted or public",
        lambda x: pf.mux(x > 1, 5, 0),
        {"x": 3},
        5,
    ),
    case({"x": U8}, lambda x: x * len(x), "use a vector", lambda x: x * len(x), {"x": [1, 2]}, [2, 4], {"x": U8V}),
    case({"x": U8}, lambda x: x + FOREIGN["integer"], "use values of one program", lambda x: x + x, {"x": 1}, 2),
    case({"x": U8}, lambda x: x + 0.5, "give integers", lambda x: x + 1, {"x": 1}, 2),
    case({"x": U8}, lambda x: x / 2, "use // and %", lambda x: x // 2, {"x": 7}, 3),
    case(
        {"x": U8},
        lambda x: [1, 2][x],
        "pf.Table(entries, pf.UInt(8))[i]",
        lambda x: pf.Table([1, 2], U8)[x],
        {"x": 1},
        2,
    ),
    case(
        {"x": U4},
        lambda x: 2**x,
        "pf.Table(lambda i: 2**i, pf.UInt(64))[x]",
        lambda x: pf.Table(lambda i: 2**i, pf.UInt(64))[x],
        {"x": 9},
        512,
    ),
    case(
        {"x": U4},
        lambda x: 1 << x,
        "pf.Table(lambda i: 1 << i, pf.UInt(64))[x]",
        lambda x: pf.Table(lambda i: 1 << i, pf.UInt(64))[x],
        {"x": 9},
        512,
    ),
    case(
        {"x": U4},
        lambda x: 100 >> x,
        "pf.Table(lambda i: 100 >> i, pf.UInt(8))[x]",
        lambda x: pf.Table(lambda i: 100 >> i, U8)[x],
        {"x": 2},
        25,
    ),
    case(
        {"x": U4},
        lambda x: pf.lookup(x, abs),
        "use pf.Table(function, pf.UInt(8))[x]",
        lambda x: pf.Table(lambda i: 3 * i, U8)[x],
        {"x": 2},
        6,
    ),
    case({"x": U8}, lambda x: pf.sign(x), "or comparisons and pf.mux", lambda x: pf.mux(x > 3, x, 3), {"x": 2}, 3),
    case(
        {"t": pf.Text(4)}, lambda t: t.contains(""), "give at least one byte", lambda t: t.contains("a"), {"t": "ab"}, 1
    ),
    case({"x": U8}, lambda x: x**x, "pf.mux(bit, x * x, x)", lambda x: pf.mux(x.bit(1), x * x, x), {"x": 3}, 9),
    case(
        {"x": U8},
        lambda x: x.cast(I3),
        "give pf.UInt(bits) or pf.SInt(bits)",
        lambda x: x.cast(pf.SInt(16)),
        {"x": 3},
        3,
    ),
    case({"x": U8}, lambda x: x[0], "or .bit(i) for its bits", lambda x: x.bit(0), {"x": 3}, 1),
    case({"x": U8V}, lambda x: x[2], "correct the index", lambda x: x[1], {"x": [1, 2]}, 2),
    case(
        {"t": pf.Text(4)},
        lambda t: t == 3,
        "give a str, bytes or an encrypted text",
        lambda t: t == "ab",
        {"t": "ab"},
        1,
    ),
    case({"t": pf.Text(4)}, lambda t: t == "hello", "shorten it", lambda t: t == "hell", {"t": "hell"}, 1),
    case(
        {"t": pf.Text(4), "u": pf.Text(3)},
        lambda t, u: t == u,
        "declare them with one length",
        lambda t, u: t == u,
        {"t": "ab", "u": "ab"},
        1,
        {"t": pf.Text(4), "u": pf.Text(4)},
    ),
    case(
        {"t": pf.Text(3), "u": pf.Text(4)},
        lambda t, u: t.startswith(u),
        "give one that fits",
        lambda t, u: t.startswith(u),
        {"t": "abcd", "u": "abc"},
        1,
        {"t": pf.Text(4), "u": pf.Text(3)},
    ),
    case(
        {"t": pf.Text(3)},
        lambda t: t.contains("abcd"),
        "give one that fits",
        lambda t: t.contains("bc"),
        {"t": "abc"},
        1,
    ),
    case(
        {"x": U4},
        lambda x: pf.Table([1], 8)[x],
        "pf.Table(entries, pf.UInt(8))",
        lambda x: pf.Table([1], pf.UInt(8))[x],
        {"x": 0},
        1,
    ),
    case(
        {"x": U4},
        lambda x: pf.Table([1, 2], U8)[1] + x,
        "index the entries themselves",
        lambda x: x + [1, 2][1],
        {"x": 1},
        3,
    ),
    case(
        {"x": U4},
        lambda x: pf.Table(range(20), U8)[x],
        "cast the index to a wider type",
        lambda x: pf.Table(range(20), U8)[x.cast(pf.UInt(5))],
        {"x": 7},
        7,
    ),
    case(
        {"x": pf.UInt(20)},
        lambda x: pf.Table(abs, U8)[x],
        "an index has at most 16 bits",
        lambda x: pf.Table(lambda i: i + 1, U8)[x.cast(U4)],
        {"x": 7},
        8,
    ),
    case({"x": U8}, lambda x: x + 300, "give one, or a wider type", lambda x: x.cast(pf.UInt(16)) + 300, {"x": 1}, 301),
    case({"x": U8}, lambda x: x << 0.5, "give an integer from 0", lambda x: x << 1, {"x": 1}, 2),
]

ON_SLOTS = [
    case(
        {"x": R}, lambda x: x if x else 1, "combine them with a mask", lambda x: x * 1 + (1 - x) * 0.5, {"x": 0.0}, 0.5
    ),
    case({"x": R}, lambda x: float(x), "keep computing on it", lambda x: x * 2, {"x": 0.5}, 1.0),
    case(
        {"x": RV},
        lambda x: x > 0.1,
        "use pf.sign of the difference",
        lambda x: (pf.sign(x - 0.0625) + 1) * 0.5,
        {"x": HALF},
        HALF > 0.1,
    ),
    case({"x": MV}, lambda x: x == 1, "pf.UInt(bits)", lambda x: x == 1, {"x": 1}, 1, {"x": U8}),
    case({"x": RV}, lambda x: x // 2, "round the decrypted output", lambda x: x * 0.5, {"x": HALF}, HALF / 2),
    case({"x": RV}, lambda x: x << 1, "multiply with a power of two", lambda x: x * 2, {"x": HALF}, HALF * 2),
    case({"x": BIT, "y": BIT}, lambda x, y: x ^ y, "+ is XOR", lambda x, y: x + y, {"x": 1, "y": 1}, 0),
    case({"x": RV}, lambda x: abs(x), "x * pf.sign(x)", lambda x: x * pf.sign(x), {"x": HALF}, abs(HALF)),
    case({"x": MV}, lambda x: abs(x), "pf.SInt(bits)", lambda x: abs(x), {"x": -3}, 3, {"x": pf.SInt(8)}),
    case(
        {"x": RV},
        lambda x: 2.0**x,
        "pf.chebyshev(x, lambda u: base**u",
        lambda x: pf.chebyshev(x, lambda u: 2.0**u, 9, (-1, 1)),
        {"x": HALF},
        2**HALF,
    ),
    case(
        {"y": R},
        lambda y: 1 / y,
        "lambda y: 1 / y",
        lambda y: pf.chebyshev(y, lambda y: 1 / y, 15, (0.5, 1)),
        {"y": 0.75},
        4 / 3,
    ),
    case(
        {"x": R, "y": R},
        lambda x, y: x / y,
        "lambda y: 1 / y",
        lambda x, y: x * pf.chebyshev(y, lambda y: 1 / y, 15, (0.5, 1)),
        {"x": 0.5, "y": 0.75},
        2 / 3,
    ),
    case(
        {"x": MV},
        lambda x: x / 2,
        "as x * pow(2, -1, 65537)",
        lambda x: x * pow(2, -1, 65537),
        {"x": [2, 4, 6, 8]},
        [1, 2, 3, 4],
    ),
    case({"x": RV}, lambda x: x / 0, "correct the divisor", lambda x: x / 2, {"x": HALF}, HALF / 2),
    case(
        {"x": RV},
        lambda x: pf.rotate(3, 1),
        "an encrypted vector of CKKS or BGV is needed",
        lambda x: pf.rotate(x, 1),
        {"x": HALF},
        np.roll(HALF, -1),
    ),
    case(
        {"x": RV},
        lambda x: pf.polynomial(x, [1]),
        "at least two coefficients",
        lambda x: pf.polynomial(x, [1, 0, 1]),
        {"x": HALF},
        1 + HALF**2,
    ),
    case(
        {"x": MV},
        lambda x: pf.chebyshev(x, abs, 3),
        "use pf.polynomial",
        lambda x: pf.polynomial(x, [1, 0, 1]),
        {"x": [1, 2, 3, 4]},
        [2, 5, 10, 17],
    ),
    case(
        {"x": RV},
        lambda x: pf.chebyshev(x, abs, 3, (1, -1)),
        "give its lower end first",
        lambda x: pf.chebyshev(x, np.cos, 9, (-1, 1)),
        {"x": HALF},
        np.cos(HALF),
    ),
    case(
        {"x": RV},
        lambda x: pf.chebyshev(x, abs, 3, 7),
        "give its two ends",
        lambda x: pf.chebyshev(x, np.cos, 9, (-1, 1)),
        {"x": HALF},
        np.cos(HALF),
    ),
    case(
        {"x": RV},
        lambda x: pf.chebyshev(x, np.cos),
        "a degree of at least 1",
        lambda x: pf.chebyshev(x, np.cos, 9),
        {"x": HALF},
        np.cos(HALF),
    ),
    case(
        {"x": RV},
        lambda x: pf.chebyshev(x, [1j, 2]),
        "at least two real coefficients",
        lambda x: pf.chebyshev(x, [1.0, 2.0]),
        {"x": HALF},
        1 + 2 * HALF,
    ),
    case(
        {"x": RV},
        lambda x: pf.chebyshev(x, lambda u: 1 / (u * 0), 3),
        "choose an interval where it is",
        lambda x: pf.chebyshev(x, lambda u: 1 / (u + 2), 15),
        {"x": HALF},
        1 / (HALF + 2),
    ),
    case(
        {"x": RV},
        lambda x: pf.chebyshev(x, lambda u: u[0], 3),
        "a real number for each",
        lambda x: pf.chebyshev(x, lambda u: u, 3),
        {"x": HALF},
        HALF,
    ),
    case(
        {"x": RV},
        lambda x: pf.chebyshev(x, lambda u: int(u), 3),
        "np.vectorize",
        lambda x: pf.chebyshev(x, np.vectorize(lambda u: u), 3),
        {"x": HALF},
        HALF,
    ),
    case(
        {"x": RV},
        lambda x: pf.chebyshev(x, lambda u: u if u > 5 else -u, 3),
        "np.where(..)",
        lambda x: pf.chebyshev(x, lambda u: np.where(u > 5, u, -u), 3),
        {"x": HALF},
        -HALF,
    ),
    case(
        {"x": MV},
        lambda x: pf.sign(x),
        "use TFHE's integers, or CKKS",
        lambda x: pf.sign(x),
        {"x": HALF},
        [1, -1, 1, None],
        {"x": RV},
    ),
    case(
        {"x": RV},
        lambda x: pf.sign(x, degrees=[]),
        "at least one odd degree",
        lambda x: pf.sign(x, degrees=[7, 15, 15]),
        {"x": HALF},
        [1, -1, 1, None],
    ),
    case(
        {"x": RV},
        lambda x: x + np.ma.masked_array(HALF, HALF > 0),
        "fill them in first",
        lambda x: x + np.ma.masked_array(HALF, HALF > 0).filled(0),
        {"x": HALF},
        HALF + np.minimum(HALF, 0),
    ),
    case(
        {"x": RV}, lambda x: x + ["a"] * 4, "public operands are numbers", lambda x: x + [1] * 4, {"x": HALF}, HALF + 1
    ),
    case(
        {"x": MV},
        lambda x: x * 0.5,
        "scale and round them first",
        lambda x: x * round(0.5 * 4),
        {"x": [1, 2, 3, 4]},
        [2, 4, 6, 8],
    ),
    case(
        {"x": R},
        lambda x: x * len(x),
        "has no length; use a vector",
        lambda x: x * len(x),
        {"x": HALF},
        HALF * 4,
        {"x": RV},
    ),
    case(
        {"x": RV},
        lambda x: x + np.ones((2, 3)),
        "use @ for a matrix",
        lambda x: np.ones((2, 4)) @ x,
        {"x": HALF},
        [HALF.sum()] * 2,
    ),
    case({"x": BIT}, lambda x: x + np.array([1, 0]), "with one public integer", lambda x: x + 1, {"x": 1}, 0),
    case(
        {"x": RV},
        lambda x: x + [1] * 8,
        "with slots=8",
        lambda x: x + [1] * 4,
        {"x": HALF},
        HALF + 1,
        right_options={"slots": 8},
    ),
    case({"x": RV}, lambda x: x + np.array([1, 2]), "give 4, or one", lambda x: x + 1, {"x": HALF}, HALF + 1),
    case(
        {"x": RV}, lambda x: x + FOREIGN["slots"], "use values of one program", lambda x: x + x, {"x": HALF}, HALF * 2
    ),
    case(
        {"x": RV},
        lambda x: x + FOREIGN["value"],
        "write one program for each scheme",
        lambda x: x + x,
        {"x": HALF},
        HALF * 2,
    ),
    case({"x": MV}, lambda x: x.times(3, 4), "use *", lambda x: x * 3, {"x": [1, 2, 3, 4]}, [3, 6, 9, 12]),
    case({"x": RV}, lambda x: x**-1, "has powers 0, 1, 2", lambda x: x**3, {"x": HALF}, HALF**3),
    case(
        {"x": RV},
        lambda x: np.ones((2, 2, 4)) @ x,
        "a vector or a matrix",
        lambda x: np.ones((2, 4)) @ x,
        {"x": HALF},
        [HALF.sum()] * 2,
    ),
    case(
        {"x": RV},
        lambda x: np.ones((2, 3)) @ x,
        "give it 4 columns",
        lambda x: np.ones((2, 4)) @ x,
        {"x": HALF},
        [HALF.sum()] * 2,
    ),
    case(
        {"x": RV},
        lambda x: np.ones((8, 4)) @ x,
        "with slots=8",
        lambda x: np.ones((8, 4)) @ x,
        {"x": HALF},
        [HALF.sum()] * 8,
        options={"slots": 4},
        right_options={"slots": 8},
    ),
    case(
        {"x": MV},
        lambda x: x.conjugate(),
        "swap_rows() exchanges",
        lambda x: x.swap_rows(),
        {"x": [1, 2, 3, 4]},
        [3, 4, 1, 2],
    ),
    case({"x": MV}, lambda x: x.real_part(), "leave real_part() out", lambda x: x, {"x": [1, 2, 3, 4]}, [1, 2, 3, 4]),
    case(
        {"x": RV}, lambda x: x.swap_rows(), "rotate(slots // 2)", lambda x: x.rotate(2), {"x": HALF}, np.roll(HALF, 2)
    ),
    case({"x": R}, lambda x: x.sum_slots(), "multiply it by the count", lambda x: x * 4, {"x": 0.5}, 2.0),
    case(
        {"x": R}, lambda x: x[0:1], "has no elements; use a vector", lambda x: x[0:1], {"x": HALF}, HALF[:1], {"x": RV}
    ),
    case(
        {"x": MV},
        lambda x: x.bootstrap(),
        "declare each number pf.Mod(2)",
        lambda x: x.bootstrap() * x,
        {"x": 1},
        1,
        {"x": BIT},
    ),
    case(
        {"x": RV},
        lambda x: pf.rotate(x, 2.5),
        "give an integer",
        lambda x: pf.rotate(x, 2),
        {"x": HALF},
        np.roll(HALF, 2),
    ),
    case(
        {"x": MV, "y": pf.Mod(786433)},
        lambda x, y: x + 1,
        "a program has one modulus",
        lambda x, y: x + y,
        {"x": [1] * 4, "y": 2},
        [3] * 4,
        {"x": MV, "y": M},
    ),
    case(
        {"x": RV},
        anything,
        "computes on residues",
        anything,
        {"x": HALF},
        HALF,
        options={"scheme": "bgv"},
        right_options={},
    ),
    case(
        {"x": RV},
        anything,
        "give at least 4 slots",
        anything,
        {"x": HALF},
        HALF,
        options={"slots": 2},
        right_options={"slots": 4},
    ),
    case(
        {"x": RV},
        lambda x: np.sin(x),
        "pf.chebyshev(x, np.sin, 15, (-4, 4))",
        lambda x: pf.chebyshev(x, np.sin, 15, (-4, 4)),
        {"x": HALF},
        np.sin(HALF),
    ),
    case(
        {"x": RV},
        lambda x: np.add(x, x, out=np.zeros(4)),
        "a name of its own",
        lambda x: np.add(x, x),
        {"x": HALF},
        HALF * 2,
    ),
]

SIGNATURES = [
    case(
        {"x": RV},
        anything,
        "use scheme='ckks'",
        anything,
        {"x": HALF},
        HALF,
        options={"scheme": "tfhe"},
        right_options={"scheme": "ckks"},
    ),
    case(
        {"x": I3},
        anything,
        "TFHE encrypts every element by itself",
        anything,
        {"x": 1},
        1,
        options={"slots": 4},
        right_options={},
    ),
    case(
        {"x": I3},
        anything,
        "use pf.Real or pf.Complex",
        anything,
        {"x": 0.5},
        0.5,
        {"x": R},
        options={"scheme": "ckks"},
    ),
    case(
        {"x": I3},
        anything,
        "there is no scheme 'fhew'",
        anything,
        {"x": 1},
        1,
        options={"scheme": "fhew"},
        right_options={"scheme": "tfhe"},
    ),
    case({"x": I3}, 3, "write def f(x): ..", anything, {"x": 1}, 1),
    case({"x": I3}, lambda *x: x[0], "give each a name and a type", anything, {"x": 1}, 1),
    case({}, lambda x: x, "write @pf.program(x=pf.Int(0, 7), ..)", anything, {"x": 1}, 1, {"x": pf.Int(0, 7)}),
    case({"x": I3, "y": I3}, anything, "its parameters are x", anything, {"x": 1}, 1, {"x": I3}),
    case({"x": [1]}, anything, "give pf.Bool, pf.Int(lo, hi)", anything, {"x": 1}, 1, {"x": pf.Bool}),
    case({"x": int}, anything, "write pf.SInt(32)", anything, {"x": 1}, 1, {"x": pf.SInt(32)}),
]

CASES = [*ELEMENTS, *INTEGERS, *MIXED, *ON_SLOTS, *MATRICES, *PARTS, *ABSENT, *PYTHON, *SIGNATURES]
NAMES = [f"{number}: {one.words}" for number, one in enumerate(CASES)]


def refused(make: Callable[[], Any]) -> str:
    with pytest.raises(pf.Error) as error:
        make()
    return str(error.value)


@pytest.mark.parametrize("one", CASES, ids=NAMES)
@pytest.mark.filterwarnings("ignore:overflow|divide|invalid")
def test_the_advised_program_computes_what_was_meant(one: Case) -> None:
    with np.errstate(all="ignore"):
        message = refused(lambda: pf.program(**(one.options or {}), **one.kinds)(one.wrong))
    assert one.words in message, message
    options = one.options if one.right_options is None else one.right_options
    program = pf.program(**(options or {}), **(one.instead or one.kinds))(one.right)
    found = np.asarray(program(**one.given)["result"], dtype=float).reshape(-1)
    meant = np.asarray(one.meant, dtype=float).reshape(-1)
    known = ~np.isnan(meant)
    # Rectifiers are within 2^-13, of numbers that were divided by 4 at most; polynomials of functions are far closer.
    np.testing.assert_allclose(found[: len(meant)][known], meant[known], atol=2**-11)
    # A parameter set carries it: the next step does not refuse what the message advised.
    program.plan(security=0)


@pytest.mark.parametrize(("wrong", "words", "right"), TYPES, ids=[words for _, words, _ in TYPES])
def test_the_advised_type_is_taken(wrong: Callable[[], Any], words: str, right: Callable[[], Any]) -> None:
    assert words in refused(wrong)
    right()


@pytest.mark.parametrize("one", INPUTS, ids=[one.words for one in INPUTS])
def test_the_advised_input_is_taken(one: Given) -> None:
    message = refused(lambda: one.call(pf.program(**one.kinds)(anything), one.wrong))
    assert one.words in message, message
    found = pf.program(**(one.instead or one.kinds))(anything)(x=one.right)["result"]
    if isinstance(found, str):
        assert found == one.right
    else:
        np.testing.assert_allclose(np.reshape(found, -1), np.reshape(one.right, -1), atol=1e-9)


REFUSALS = ("refuse", "asked", "InputError")
"""Functions that make an error with a message."""


def sites(module: ModuleType) -> set[tuple[str, int]]:
    """Every place of a module that refuses something, by the line of its call."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    name = module.__name__.rpartition(".")[2]
    # Of the package's own what decorates, not what runs.
    counted = REFUSALS if module is not runnable else ("refuse",)
    return {
        (name, node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in counted
    }


def test_every_message_of_the_language_has_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    met: set[tuple[str, int]] = set()
    lines = {str(module.__file__): sites(module) for module in MODULES}

    def noted(make: Callable[..., Any]) -> Callable[..., Any]:
        def made(*given: Any) -> Any:
            # A call over several lines is noted at its first.
            frame = sys._getframe(1)
            met.add(max(site for site in lines[frame.f_code.co_filename] if site[1] <= frame.f_lineno))
            return make(*given)

        return made

    for module in MODULES:
        for name in REFUSALS:
            if hasattr(module, name):
                monkeypatch.setattr(module, name, noted(getattr(module, name)))
    monkeypatch.setattr(numpy_calls.Asked, "asked", noted(numpy_calls.Asked.asked))
    monkeypatch.setattr(place, "_PASSED", [*place._PASSED, __file__])
    with np.errstate(all="ignore"):
        for one in CASES:
            refused(lambda one=one: pf.program(**(one.options or {}), **one.kinds)(one.wrong))
    for wrong, _, _ in TYPES:
        refused(wrong)
    for given in INPUTS:
        refused(lambda given=given: given.call(pf.program(**given.kinds)(anything), given.wrong))
    assert set().union(*lines.values()) - met == set()


def test_a_vector_that_no_ring_holds_is_split() -> None:
    wide = pf.program(x=pf.Real.vector(100_000))(lambda x: x + x)
    with pytest.raises(pf.Error, match=r"; split them into inputs of at most 32768 numbers each$"):
        wide.cost()
    parts = {f"x{part}": pf.Real.vector(32_768) for part in range(4)}
    pf.program(**parts)(lambda x0, x1, x2, x3: (x0 + x0, x1 + x1, x2 + x2, x3 + x3)).cost()
