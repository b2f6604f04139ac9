"""What is refused of operands of different types, and of the schemes' integers and reals, and the programs that the messages advise;
`test_remedies.py` runs them."""

from __future__ import annotations

import numpy as np
import polyfabric as pf
from remedy import HALF, I3, I3V, MV, RV, U8, U8V, case

I8, U1, U5 = pf.Int(-4, 3), pf.UInt(1), pf.UInt(5)
SMALL, WIDE = [1, 2, 3, 0], pf.UInt(8).vector(4)
FAR = np.array([2.0, -1.0, 0.5, 3.0])

SIGNED, BITS2 = pf.Int(-3, 12), pf.Int(0, 2)

MIXED = [
    case(
        {"x": pf.Int(0, 15), "y": I3},
        lambda x, y: x >> y,
        "x.cast(pf.UInt(4)) >> y.cast(pf.UInt(2))",
        lambda x, y: x.cast(pf.UInt(4)) >> y.cast(pf.UInt(2)),
        {"x": 13, "y": 2},
        3,
    ),
    case(
        {"x": SIGNED, "y": I3},
        lambda x, y: x // y,
        "x.cast(pf.SInt(5)) // y.cast(pf.SInt(5))",
        lambda x, y: x.cast(pf.SInt(5)) // y.cast(pf.SInt(5)),
        {"x": -3, "y": 2},
        -2,
    ),
    case(
        {"x": I3, "y": pf.Int(0, 7)},
        lambda x, y: x & y,
        "x.cast(pf.UInt(3)) & y.cast(pf.UInt(3))",
        lambda x, y: x.cast(pf.UInt(3)) & y.cast(pf.UInt(3)),
        {"x": 3, "y": 6},
        2,
    ),
    case(
        {"x": I3, "y": I8},
        lambda x, y: x << y,
        ".assume(pf.Int(0, 3)), and cast both",
        lambda x, y: x.cast(pf.UInt(4)) << y.assume(pf.Int(0, 3)).cast(pf.UInt(2)),
        {"x": 3, "y": 2},
        12,
    ),
    case(
        {"x": I3, "y": pf.Bool},
        lambda x, y: x & y,
        "give two integers, or a public number",
        lambda x, y: x & 2,
        {"x": 3, "y": 1},
        2,
    ),
    case({"x": I3}, lambda x: 12 // x, ".assume(pf.Int(1, 3))", lambda x: 12 // x.assume(pf.Int(1, 3)), {"x": 3}, 4),
    case({"x": I3}, lambda x: x % 0, "give another one", lambda x: x % 2, {"x": 3}, 1),
    case({"x": I3}, lambda x: x << -1, "shift by 0 to 62", lambda x: x << 1, {"x": 3}, 6),
    case({"x": pf.Text(4)}, lambda x: "b" in x, "use text.contains(part)", lambda x: x.contains("b"), {"x": "abc"}, 1),
    case({"x": I3}, lambda x: x / 2, "use // and %", lambda x: (x // 2, x % 2)[0], {"x": 3}, 1),
    case(
        {"i": BITS2},
        lambda i: pf.Table([5, 6, 7], U8)[i],
        "cast it, as i.cast(pf.UInt(4)), or use pf.lookup(i, entries)",
        lambda i: pf.Table([5, 6, 7], U8)[i.cast(pf.UInt(4))] + pf.lookup(i, [5, 6, 7]).cast(U8),
        {"i": 2},
        14,
    ),
    case({"x": U8}, lambda x: x + (-1), "subtract 1 where it is added", lambda x: x - 1, {"x": 3}, 2),
    case(
        {"x": U8},
        lambda x: x < -1,
        "as x.cast(pf.SInt(9))",
        lambda x: x.cast(pf.SInt(9)) < -1,
        {"x": 3},
        0,
    ),
    case(
        {"i": I3, "u": U8},
        lambda i, u: i + u,
        "cast the latter, as x.cast(pf.UInt(8))",
        lambda i, u: i.cast(pf.UInt(8)) + u,
        {"i": 3, "u": 200},
        203,
    ),
    case(
        {"i": I8, "u": U8},
        lambda i, u: u + i,
        "cast both to a signed type, as x.cast(pf.SInt(9))",
        lambda i, u: u.cast(pf.SInt(9)) + i.cast(pf.SInt(9)),
        {"i": -4, "u": 200},
        196,
    ),
    case(
        {"i": I3, "u": U8},
        lambda i, u: i == u,
        "cast the latter, as x.cast(pf.UInt(8))",
        lambda i, u: i.cast(pf.UInt(8)) == u,
        {"i": 3, "u": 3},
        1,
    ),
    case(
        {"i": I8},
        lambda i: i.cast(pf.UInt(16)),
        "cast it to pf.SInt(16), and that to pf.UInt(16), to wrap",
        lambda i: i.cast(pf.SInt(16)).cast(pf.UInt(16)),
        {"i": -4},
        65_532,
    ),
    case(
        {"i": pf.Int(0, 7)},
        lambda i: i.cast(pf.UInt(2)),
        "cast it to pf.UInt(3), and that to pf.UInt(2), to wrap",
        lambda i: i.cast(pf.UInt(3)).cast(pf.UInt(2)),
        {"i": 6},
        2,
    ),
    case(
        {"i": pf.Int(0, 100)},
        lambda i: i.cast(U8),
        "declare it as an integer, pf.UInt(bits)",
        lambda i: i.cast(U8),
        {"i": 100},
        100,
        {"i": pf.UInt(7)},
    ),
    case(
        {"v": U8V, "i": pf.UInt(1)},
        lambda v, i: v[i],
        "pf.sum([pf.mux(i == k, v[k], 0) for k in range(2)])",
        lambda v, i: pf.sum([pf.mux(i == k, v[k], 0) for k in range(2)]),
        {"v": [7, 9], "i": 1},
        9,
    ),
    case(
        {"v": I3V, "i": pf.Int(0, 3)},
        lambda v, i: v[i],
        "pf.sum([pf.mux(i == k, v[k], 0) for k in range(4)])",
        lambda v, i: pf.sum([pf.mux(i == k, v[k], 0) for k in range(4)]),
        {"v": SMALL, "i": 2},
        3,
    ),
    case(
        {"v": I3V, "i": pf.UInt(2)},
        lambda v, i: v[i],
        "pf.sum([pf.mux(i == k, v[k].cast(pf.UInt(4)), 0) for k in range(4)])",
        lambda v, i: pf.sum([pf.mux(i == k, v[k].cast(pf.UInt(4)), 0) for k in range(4)]),
        {"v": SMALL, "i": 1},
        2,
    ),
    case(
        {"c": U1, "a": pf.Bool, "b": pf.Bool},
        lambda c, a, b: pf.mux(c, a, b),
        "cast the choices, as x.cast(pf.UInt(4))",
        lambda c, a, b: pf.mux(c, a.cast(pf.UInt(4)), b.cast(pf.UInt(4))),
        {"c": 0, "a": 1, "b": 0},
        0,
    ),
    case(
        {"c": U8, "a": U8},
        lambda c, a: pf.mux(c, a, 0),
        "compare it, as x != 0",
        lambda c, a: pf.mux(c != 0, a, 0),
        {"c": 4, "a": 9},
        9,
    ),
    case(
        {"x": U8, "n": pf.SInt(4)},
        lambda x, n: x << n,
        "cast it, as n.cast(pf.UInt(4))",
        lambda x, n: x << n.cast(pf.UInt(4)),
        {"x": 3, "n": 2},
        12,
    ),
    case(
        {"i": pf.SInt(2)},
        lambda i: pf.Table([1, 2, 3, 4], U8)[i],
        "cast it, as i.cast(pf.UInt(2))",
        lambda i: pf.Table([1, 2, 3, 4], U8)[i.cast(pf.UInt(2))],
        {"i": 1},
        2,
    ),
    *[
        case(
            {"x": U5, "n": pf.UInt(3)},
            lambda x, n: x.rotate_left(n),
            "write it with shifts, (x << n) | (x >> 5 - n), n up to 5",
            lambda x, n: (x << n) | (x >> 5 - n),
            {"x": 0b10011, "n": amount},
            (0b10011 << amount | 0b10011 >> 5 - amount) & 31,
        )
        for amount in (0, 2, 5)
    ],
    case(
        {"x": pf.SInt(5)},
        lambda x: x.rotate_left(2),
        "of x.cast(pf.UInt(5)), (x << n) | (x >> 5 - n)",
        lambda x: (x.cast(U5) << 2) | (x.cast(U5) >> 5 - 2),
        {"x": -13},
        0b01110,
    ),
    case({"v": U8V}, lambda v: pf.dot([1, 2], v[0]), "is a single uint8; use *", lambda v: v[0] * 2, {"v": [7, 9]}, 14),
    case(
        {"v": U8V},
        lambda v: np.array([[1, 2], [3, 4]]) @ v,
        "pf.concat(*[pf.dot(row, x) for row in matrix])",
        lambda v: pf.concat(*[pf.dot(row, v) for row in [[1, 2], [3, 4]]]),
        {"v": [7, 9]},
        [25, 57],
    ),
    case({"v": U8V}, lambda v: np.inner(v, v), "write pf.dot(x, y)", lambda v: pf.dot(v, v), {"v": [7, 9]}, 130),
    case(
        {"x": MV, "y": MV},
        lambda x, y: x / y,
        "use the integers of TFHE, pf.UInt(bits), and //",
        lambda x, y: x // y,
        {"x": [6, 8, 9, 4], "y": [2, 4, 3, 4]},
        [3, 2, 3, 1],
        {"x": WIDE, "y": WIDE},
    ),
    case(
        {"y": MV},
        lambda y: 12 / y,
        "use the integers of TFHE, pf.UInt(bits), and //",
        lambda y: 12 // y,
        {"y": [2, 4, 3, 6]},
        [6, 3, 4, 2],
        {"y": WIDE},
    ),
    case(
        {"x": MV},
        lambda x: 2**x,
        "pf.Table(lambda i: 2**i, pf.UInt(64))[x]",
        lambda x: pf.Table(lambda i: 2**i, pf.UInt(64))[x],
        {"x": 5},
        32,
        {"x": pf.UInt(3)},
    ),
    *[
        case(
            {"a": RV.bounded(4), "b": RV.bounded(4)},
            wrong,
            words,
            right,
            {"a": HALF, "b": FAR},
            meant,
        )
        for wrong, words, right, meant in (
            (
                lambda a, b: pf.maximum(a, b),
                "a + s * pf.relu((b - a) * (1 / s))",
                lambda a, b: a + 4 * pf.relu((b - a) * (1 / 4)),
                np.maximum(HALF, FAR),
            ),
            (
                lambda a, b: pf.minimum(a, b),
                "a - s * pf.relu((a - b) * (1 / s))",
                lambda a, b: a - 4 * pf.relu((a - b) * (1 / 4)),
                np.minimum(HALF, FAR),
            ),
        )
    ],
]
