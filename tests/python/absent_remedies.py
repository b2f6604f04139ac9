"""What is refused of methods that encrypted values have not, and the programs that the messages advise; `test_remedies.py` runs them."""

from __future__ import annotations

import numpy as np
import polyfabric as pf
from remedy import HALF, MV, RV, U8, M, R, case

U8V = pf.UInt(8).vector(3)


def assigned(x: pf.Integer) -> pf.Integer:
    x[1] = x[0]  # type: ignore[index]
    return x


ABSENT = [
    case(
        {"x": RV},
        lambda x: pf.sign(x, gap=2),
        "it must be from 0.000000001 to 0.999",
        lambda x: pf.sign(x, gap=2.0**-6),
        {"x": HALF},
        [1, -1, 1, None],
    ),
    case({"x": U8V}, lambda x: x.argmax(), "x == x.max()", lambda x: x == x.max(), {"x": [3, 9, 1]}, [0, 1, 0]),
    case(
        {"x": U8V},
        assigned,
        "write pf.concat(x[:1], y[0:1], x[2:])",
        lambda x: pf.concat(x[:1], x[0:1], x[2:]),
        {"x": [3, 9, 1]},
        [3, 3, 1],
    ),
    case(
        {"x": U8},
        lambda x: {5: 1}[x],
        "pf.Table(lambda i: i // 2, pf.UInt(8))[x]",
        lambda x: pf.Table(lambda i: i // 2, pf.UInt(8))[x],
        {"x": 201},
        100,
    ),
    case(
        {"x": pf.Text(3)},
        lambda x: x.endswith("abcd"),
        "give one that fits",
        lambda x: x.endswith("bc"),
        {"x": "abc"},
        1,
    ),
    case(
        {"x": M},
        lambda x: pow(x, 3, 65537),
        "declare them pf.Mod(modulus)",
        lambda x: pow(x, 3),
        {"x": 300},
        300**3 % 65537 - 65537,
    ),
    case(
        {"x": MV},
        lambda x: x.var(),
        "return the sums of x and of x * x",
        lambda x: (x * x).sum() * 4 - x.sum() * x.sum(),
        {"x": [1, 4, 2, 7]},
        int(np.var([1, 4, 2, 7]) * 16),
    ),
    case(
        {"x": R}, lambda x: x.var(), "give a vector or a matrix", lambda x: x.var(), {"x": HALF}, HALF.var(), {"x": RV}
    ),
    case(
        {"x": pf.Real.vector(6)},
        lambda x: x.bootstrap(4),
        "declare a vector of all 8 slots",
        lambda x: x.bootstrap(4),
        {"x": np.tile(HALF, 2)},
        np.tile(HALF, 2),
        {"x": pf.Real.vector(8)},
    ),
]
