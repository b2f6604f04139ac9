"""What Python and numpy ask of encrypted values by themselves, and the programs that the messages advise; `test_remedies.py` runs them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polyfabric as pf
from remedy import BIT, HALF, I3, I3V, MV, RV, U8, U8V, R, case

I15, B3, UB = pf.Int(0, 15), pf.Bool.vector(3), pf.UInt(1)
HUGE = 10**5000


def put(x: pf.Value) -> pf.Value:
    array = np.zeros(3)
    array[0] = x[0]
    return x


def convolved(**options: Any) -> Any:
    shape = options.pop("shape", (2, 2))
    return lambda x: pf.convolve(np.ones((2, 2), dtype=int), x, shape, **options)


def by_place_alone(x: pf.Value, /) -> pf.Value:
    return x * 2


PYTHON = [
    case({"x": I15}, by_place_alone, "leave the / out of its parameters", lambda x: x * 2, {"x": 3}, 6),
    case(
        {"x": R},
        lambda x: x * 2,
        "lanes=4 is for integers of TFHE, whose look-ups run side by side; leave it out",
        lambda x: x * 2,
        {"x": 0.25},
        0.5,
        options={"lanes": 4},
        right_options={},
    ),
    *[
        case({"x": kind}, wrong, words, right, {"x": 4}, meant)
        for kind in (I15, U8)
        for wrong, words, right, meant in (
            (lambda x: 3 < x < 9, "for 3 < x < 9 (3 < x) & (x < 9)", lambda x: (x > 3) & (x < 9), 1),
            (lambda x: x in [1, 2], "for x in [1, 2] (x == 1) | (x == 2)", lambda x: (x == 1) | (x == 2), 0),
            (lambda x: (x > 1) and (x < 4), "of conditions &, | and ~", lambda x: (x > 1) & (x < 4), 0),
            (lambda x: not (x > 5), "of conditions &, | and ~", lambda x: ~(x > 5), 1),
            (lambda x: not x, "compare it first, as x != 0", lambda x: ~(x != 0), 0),
            (lambda x: max(x, 7), "for max, min and sorted pf.max, pf.min and pf.sort", lambda x: pf.max(x, 7), 7),
            (lambda x: 1 in x, "gives a Python bool; use x == 1", lambda x: x == 1, 0),
        )
    ],
    case(
        {"x": pf.Text(3)},
        lambda x: 1 if x else 0,
        "compare it first, as (x[:] != 0).any()",
        lambda x: (x[:] != 0).any(),
        {"x": "ab"},
        1,
    ),
    case(
        {"x": U8.vector(3)},
        lambda x: sorted(x)[2],
        "pf.min and pf.sort",
        lambda x: pf.sort(x)[2],
        {"x": [7, 9, 3]},
        9,
    ),
    case({"x": U8V}, lambda x: 9 in x, "use (x == 9).any()", lambda x: (x == 9).any(), {"x": [7, 9]}, 1),
    case(
        {"x": I3V},
        lambda x: 3 in x,
        "use (x == 3).any()",
        lambda x: (x == 3).any(),
        {"x": [0, 3, 1, 0]},
        1,
    ),
    case({"x": R}, lambda x: not x, "and 1 - a `not`", lambda x: 1 - x, {"x": 1}, 0),
    case(
        {"x": MV, "y": MV},
        lambda x, y: x and y,
        "a + b - a * b `or`",
        lambda x, y: x + y - x * y,
        {"x": [0, 0, 1, 1], "y": [0, 1, 0, 1]},
        [0, 1, 1, 1],
    ),
    case({"x": MV}, lambda x: 1 in x, "pf.UInt(bits)", lambda x: (x == 1).any(), {"x": [2, 1]}, 1, {"x": U8V}),
    case(
        {"x": I15},
        lambda x: np.arange(16)[x],
        "an entry of public numbers is pf.lookup(x, entries)",
        lambda x: pf.lookup(x, np.arange(16)),
        {"x": 4},
        4,
    ),
    case(
        {"x": U8},
        lambda x: np.arange(4)[x],
        "use pf.Table(entries, pf.UInt(8))[i]",
        lambda x: pf.Table(np.arange(4), U8)[x],
        {"x": 3},
        3,
    ),
    *[
        case({"x": kind}, wrong, words, right, {"x": 4}, meant)
        for kind in (I15, U8)
        for wrong, words, right, meant in (
            (lambda x: round(x), "use it as it is, and // to divide", lambda x: x // 3, 1),
            (lambda x: f"{x:5d}", "values are known after decryption alone", lambda x: x, 4),
            (lambda x: pf.max([2, 3]) + x, "give some, pf.max(x, y, 3)", lambda x: pf.max(x, x + 2, 3), 6),
            (lambda x: pf.min() + x, "a vector of them, pf.max(x)", lambda x: pf.min([x, 3]), 3),
        )
    ],
    *[
        case({"x": UB, "y": UB}, wrong, words, right, {"x": 1, "y": 0}, meant)
        for wrong, words, right, meant in (
            (lambda x, y: pf.nand(x, y), "of single bits write ~(x & y)", lambda x, y: ~(x & y), 1),
            (lambda x, y: pf.nor(1, y), "of single bits write ~(x | y)", lambda x, y: ~(x | y), 0),
            (lambda x, y: pf.xnor(x, y), "of single bits write ~(x ^ y)", lambda x, y: ~(x ^ y), 0),
        )
    ],
    *[
        case({"x": BIT, "y": BIT}, wrong, words, right, {"x": 1, "y": 0}, meant)
        for wrong, words, right, meant in (
            (lambda x, y: pf.nand(x, y), "of 0s and 1s write 1 - x * y", lambda x, y: 1 - x * y, 1),
            (lambda x, y: pf.nor(1, y), "of 0s and 1s write (1 - x) * (1 - y)", lambda x, y: (1 - x) * (1 - y), 0),
            (lambda x, y: pf.xnor(x, y), "of 0s and 1s write 1 - (x - y) ** 2", lambda x, y: 1 - (x - y) ** 2, 0),
        )
    ],
    case(
        {"x": pf.Text(3), "y": pf.Text(3)},
        lambda x, y: x + y,
        "compute on its bytes, x[:]",
        lambda x, y: pf.concat(x[:], y[:]),
        {"x": "ab", "y": "c"},
        [97, 98, 0, 99, 0, 0],
    ),
    case(
        {"x": pf.Text(600), "y": pf.Text(600)},
        lambda x, y: x < y,
        "compare a part of it, declared for itself",
        lambda x, y: x < y,
        {"x": "ab", "y": "b"},
        1,
        {"x": pf.Text(512), "y": pf.Text(512)},
    ),
    case(
        {"x": U8.vector(4)},
        lambda x: pf.convolve(np.ones((1, 2, 2, 1), dtype=int), x, (2, 2, 1)),
        "or write each sum, pf.dot(weights, x)",
        lambda x: pf.dot([1, 1, 1, 1], x),
        {"x": [1, 2, 3, 4]},
        10,
    ),
    case(
        {"x": RV},
        lambda x: pf.convolve(np.ones((1, 2, 2, 1), dtype=int), x, (2, 2, 1)),
        "the matrix of the convolution, matrix @ x",
        lambda x: np.ones((1, 4)) @ x,
        {"x": HALF},
        0.375,
    ),
    case({"x": I15}, lambda x: int(x), "keep computing on it", lambda x: x * 2, {"x": 3}, 6),
    case({"x": R}, lambda x: np.arange(4)[x], "keep computing on it", lambda x: x * 0.5, {"x": 1}, 0.5),
    case({"x": I3V}, put, "as pf.concat(a, b)", lambda x: pf.concat(x[0], x[1]), {"x": [1, 2, 3, 0]}, [1, 2]),
    case({"x": U8V}, put, "as pf.concat(a, b)", lambda x: pf.concat(x[:1], x[:1]), {"x": [7, 9]}, [7, 7]),
    case({"x": RV}, lambda x: np.zeros(3).__setitem__(0, x), "keep computing on it", lambda x: x, {"x": HALF}, HALF),
    # -- too large ------------------------------------------------------------------------------------------------
    *[
        case(
            {"x": kind},
            wrong,
            "as pf.UInt(51)",
            right,
            {"x": [1, 0]},
            meant,
            {"x": pf.UInt(51).vector(2)},
        )
        for kind in (I3.vector(2), pf.Bool.vector(2), pf.Torus(4).vector(2))
        for wrong, right, meant in (
            (lambda x: x * np.uint64(1 << 50), lambda x: x * (1 << 50), [1 << 50, 0]),
            (lambda x: x < np.uint64(1 << 50), lambda x: x < (1 << 50), [1, 1]),
        )
    ],
    case({"x": I3}, lambda x: x * 10**30, "as pf.UInt(100)", lambda x: x * 10**30, {"x": 1}, 1e30, {"x": pf.UInt(100)}),
    case({"x": I3}, lambda x: x - -(10**30), "as pf.SInt(101)", lambda x: x * -1, {"x": 1}, -1, {"x": pf.SInt(101)}),
    case(
        {"x": I15},
        lambda x: pf.lookup(x, lambda v: v * 10**30),
        "pf.Table([function(i) for i in range(16)], pf.UInt(104))[x.cast(pf.UInt(4))]",
        lambda x: pf.Table([i * 10**30 for i in range(16)], pf.UInt(104))[x.cast(pf.UInt(4))],
        {"x": 3},
        3e30,
    ),
    case(
        {"x": pf.Int(-7, 7)},
        lambda x: pf.lookup(x, lambda v: v * 10**30),
        "let it give smaller integers",
        lambda x: pf.lookup(x, lambda v: v * 10),
        {"x": 3},
        30,
    ),
    case(
        {"x": I15},
        lambda x: x**20,
        "write x.cast(pf.UInt(79)) ** 20",
        lambda x: x.cast(pf.UInt(79)) ** 20,
        {"x": 2},
        2**20,
    ),
    case({"x": I15}, lambda x: x**11, "give an integer from 0 to 4", lambda x: x**4, {"x": 15}, 15**4),
    case({"x": I15}, lambda x: x**2.5, "give an integer from 0 to 4", lambda x: x**2, {"x": 2}, 4),
    # -- indices, ranges and types --------------------------------------------------------------------------------
    *[
        case({"x": kind}, wrong, words, right, {"x": [1, 2, 3, 0]}, meant)
        for kind in (I3V, U8.vector(4))
        for wrong, words, right, meant in (
            (lambda x: x[1.5], "1.5 is no index of", lambda x: x[1], 2),
            (lambda x: x[10**30], "correct the index", lambda x: x[3], 0),
            (lambda x: x["a"], "a range x[i:j], or a list of integers", lambda x: x[1:3], [2, 3]),
            (lambda x: x[0:2.5], "[0:2.5:] is no range of elements", lambda x: x[0:2], [1, 2]),
            (
                lambda x: x[[True, False, True, False]],
                "x[np.flatnonzero(mask)]",
                lambda x: x[np.flatnonzero([True, False, True, False])],
                [1, 3],
            ),
        )
    ],
    case(
        {"x": I3V},
        lambda x: x - [[1], [2, 3]],
        "give as many integers in each",
        lambda x: [[1, 2, 3, 0], [0, 0, 0, 1]] @ x,
        {"x": [1, 2, 3, 0]},
        [14, 0],
    ),
    case({"x": I15}, lambda x: x.assume(3), "as x.assume(pf.Int(0, 7))", lambda x: x.assume(pf.Int(0, 7)), {"x": 3}, 3),
    case(
        {"x": I15},
        lambda x: pf.lookup(x, abs, result=3),
        "as result=pf.Int(0, 7)",
        lambda x: pf.lookup(x, lambda v: v // 2, result=pf.Int(0, 7)),
        {"x": 9},
        4,
    ),
    case(
        {"x": pf.UInt(2)},
        lambda x: pf.Table([1, 1.5], U8)[x],
        "entry 1 of a table is 1.5; give an integer",
        lambda x: pf.Table([1, 2], U8)[x],
        {"x": 1},
        2,
    ),
    case(
        {"x": pf.UInt(2)},
        lambda x: pf.Table(lambda i: i / 2, U8)[x],
        "entry 0 of a table is 0.0; give an integer",
        lambda x: pf.Table(lambda i: i // 2, U8)[x],
        {"x": 3},
        1,
    ),
    *[
        case({"x": I15}, wrong, words, right, {"x": 3}, 3)
        for wrong, words, right in (
            (
                lambda x: {1: x, "1": x + 1},
                "returned two outputs called '1'; give each a name",
                lambda x: {"result": x, "1": x},
            ),
            (lambda x: 5, "returned 5; return an encrypted value", lambda x: x),
            (lambda x: {}, "has no output; return at least one value", lambda x: {"result": x}),
            (lambda x: pf.lookup(x, []), "is empty; give one entry for each", lambda x: pf.lookup(x, range(16))),
        )
    ],
    case(
        {"x": pf.UInt(2)},
        lambda x: pf.Table([], U8)[x],
        "has no entries; give one for each value of its index",
        lambda x: pf.Table(range(4), U8)[x],
        {"x": 3},
        3,
    ),
    *[
        case(
            {"x": I15, "u": U8},
            wrong,
            "has thousands of digits, more than any type holds; give a smaller",
            right,
            {"x": 3, "u": 1},
            4,
        )
        for wrong, right in (
            (lambda x, u: x + HUGE, lambda x, u: x + 1),
            (lambda x, u: pf.lookup(x, lambda v: HUGE), lambda x, u: pf.lookup(x, lambda v: v + 1)),
            (lambda x, u: u * -HUGE, lambda x, u: u * 4),
        )
    ],
    case({"x": I15}, lambda x: x.step(2.5), "give an integer from 1", lambda x: x.step(64), {"x": 3}, 3),
    *[
        case({"x": I15}, wrong, words, right, {"x": 3}, meant)
        for wrong, words, right, meant in (
            (
                lambda x: pf.lookup(x, 5),
                "table is 5; give a function, or a list",
                lambda x: pf.lookup(x, [5] * 16),
                5,
            ),
            (
                lambda x: pf.lookup(x, [range(16), [0] * 16], choice=-1),
                "choice 0 of a look-up is -1; give an integer from 0 to 1",
                lambda x: pf.lookup(x, [range(16), [0] * 16], choice=0),
                3,
            ),
            (
                lambda x: pf.lookup(x, range(16), choice=[0]),
                "table is 0; give a function, or a list",
                lambda x: pf.lookup(x, [range(16)], choice=[0]),
                3,
            ),
            (
                lambda x: pf.lookup(x, lambda v: v > 2, boolean=True, result=pf.Int(0, 1)),
                "give one of both",
                lambda x: pf.lookup(x, lambda v: v > 2, result=pf.Int(0, 1)),
                1,
            ),
            (
                lambda x: pf.lookup(x, abs, result=pf.Int(0, 7)),
                "gives 0 to 15, and not pf.Int(0, 7) alone; widen result=, or leave it out",
                lambda x: pf.lookup(x, abs, result=pf.Int(0, 15)) + pf.lookup(x, abs),
                6,
            ),
            (lambda x: pf.relu(x - 8, gap=0.1), "exact: leave them out", lambda x: pf.relu(x - 8), 0),
            (lambda x: pf.sign(x, degrees=(7,)), "exact: leave them out", lambda x: pf.sign(x), 1),
            (lambda x: x.assume(pf.Bool), "as x.assume(pf.Int(0, 7))", lambda x: x.assume(pf.Int(0, 7)), 3),
            (lambda x: pow(x, 2, 0), "the modulus is 0; give an integer from 1", lambda x: pow(x, 2, 5), 4),
            (lambda x: pf.max(3), "give some, pf.max(x, y, 3)", lambda x: pf.max(x, 3), 3),
            (lambda x: pf.sum(3), "give an encrypted vector", lambda x: pf.sum([x, x]), 6),
        )
    ],
    case(
        {"x": B3},
        lambda x: pf.mux(x, [1, 2, 3], [4, 5]),
        "the choices have 3 and 2 elements; make the lengths equal",
        lambda x: pf.mux(x, [1, 2, 3], [4, 5, 6]),
        {"x": [0, 1, 0]},
        [4, 2, 6],
    ),
    *[
        case({"x": I3V}, convolved(**wrong), words, convolved(**right), {"x": [1, 2, 3, 0]}, meant)
        for wrong, words, right, meant in (
            ({"bias": [1, 2]}, "2 biases of 1 filters; give one number, or one a filter", {"bias": [1]}, [7]),
            ({"stride": 1.5}, "stride is 1.5; give an integer from 1", {"stride": 1}, [6]),
            ({"padding": -1}, "padding is -1; give an integer from 0", {"padding": 0}, [6]),
            ({"shape": (2.0, 2)}, "an extent of convolve's image is 2.0; give an integer", {"shape": [2, 2]}, [6]),
            ({"shape": 4}, "does not fit an image of 4; give filters", {"shape": (2, 2)}, [6]),
        )
    ],
    *[
        case({"x": U8V, "n": I3}, wrong, words, right, {"x": [1, 2], "n": 1}, meant)
        for wrong, words, right, meant in (
            (
                lambda x, n: x + np.ones((2, 1), dtype=int),
                "an array of 2 x 1 does not combine with uint8 x 2; use @ for a matrix, or flatten it",
                lambda x, n: x + np.ones((2, 1), dtype=int).reshape(-1),
                [2, 3],
            ),
            (lambda x, n: x << n, "cast it, as n.cast(pf.UInt(2))", lambda x, n: x << n.cast(pf.UInt(2)), [2, 4]),
            (lambda x, n: pf.dot(5, x), "use *, or give a weight for each element", lambda x, n: 5 * x, [5, 10]),
            (lambda x, n: pf.dot(5, x), "give a weight for each element", lambda x, n: pf.dot([5, 5], x), 15),
            (lambda x, n: pow(x, 3, 256), "modulus is 256; give an integer from 1 to 255", lambda x, n: x**3, [1, 8]),
            (
                lambda x, n: pf.Table(5)[x],
                "table are 5; give a list of integers",
                lambda x, n: pf.Table([0, 5])[x],
                [5, 0],
            ),
        )
    ],
]
