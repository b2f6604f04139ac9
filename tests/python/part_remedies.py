"""What is refused of parts of vectors and matrices, and of values that are put together, and the programs that the messages advise; `test_remedies.py`
runs them."""

from __future__ import annotations

import numpy as np
import polyfabric as pf
from remedy import BIT, FOREIGN, HALF, I3, I3V, MV, RV, U8, U8V, R, case

SQUARE = np.array([[0.5, -0.25], [0.125, 0.75]])
RM = R.matrix(2, 2)


@pf.program(a=U8V)
def ends(a: pf.Integer) -> dict[str, pf.Integer]:
    """The sum of a vector, and its greatest element."""
    return {"sum": pf.sum(a), "most": pf.max(a)}


@pf.program(a=U8V, b=U8V)
def plus(a: pf.Integer, b: pf.Integer) -> pf.Integer:
    """The sums."""
    return a + b


READ = pf.Program.parse(pf.program(a=I3)(lambda a: a + 1).text())

PARTS = [
    case(
        {"x": U8V},
        lambda x: ends(b=x),
        "there is no input 'b'; the inputs are a",
        lambda x: ends(a=x)["sum"],
        {"x": [1, 2]},
        3,
    ),
    case(
        {"x": U8V, "y": U8V},
        lambda x, y: plus(a=x)["result"],
        "input 'b' is missing; give it a value of type uint8 x 2",
        lambda x, y: plus(a=x, b=y)["result"],
        {"x": [1, 2], "y": [3, 4]},
        [4, 6],
    ),
    case(
        {"x": pf.UInt(16).vector(2)},
        lambda x: ends(a=x)["sum"],
        "cast it, as x.cast(pf.UInt(8).vector(2))",
        lambda x: ends(a=x.cast(pf.UInt(8).vector(2)))["sum"],
        {"x": [1, 2]},
        3,
    ),
    case(
        {"x": RV},
        lambda x: ends(a=x)["sum"],
        "declare what it is made of pf.UInt(8).vector(2)",
        lambda x: ends(a=x)["sum"],
        {"x": [1, 2]},
        3,
        {"x": pf.UInt(8).vector(2)},
    ),
    case(
        {"x": I3.vector(1)},
        lambda x: READ(a=x)["result"],
        "call the function that it was made of",
        lambda x: x + 1,
        {"x": [1]},
        [2],
    ),
    case(
        {"x": RV, "y": R.vector(3)},
        lambda x, y: x + y,
        "give them one length, as y + x[:3]",
        lambda x, y: y + x[:3],
        {"x": HALF, "y": HALF[:3]},
        2 * HALF[:3],
    ),
    case({"x": RV}, lambda x: x[:1] * x, "one number for all slots is x[0]", lambda x: x[0] * x, {"x": HALF}, HALF / 2),
    case(
        {"x": MV},
        lambda x: x * x[:3],
        "as y + x[:3]",
        lambda x: x[:3] * x[:3],
        {"x": [1] * 4},
        [1] * 3,
    ),
    case({"x": RV}, lambda x: x[3:3], "give a range within them", lambda x: x[3:4], {"x": HALF}, HALF[3:4]),
    case({"x": RV}, lambda x: x[1, 2], "give an index of its numbers", lambda x: x[[1, 2]], {"x": HALF}, HALF[1:3]),
    case({"x": RM}, lambda x: x[0, 0, 0], "one of its columns", lambda x: x[0, 0], {"x": SQUARE}, SQUARE[0, 0]),
    case({"x": RM}, lambda x: x[2], "correct the index", lambda x: x[1], {"x": SQUARE}, SQUARE[1]),
    case(
        {"x": RM},
        lambda x: x[[1, 0], [0, 1]],
        "take the rows first, a[rows][:, columns]",
        lambda x: x[[1, 0]][:, [0, 1]],
        {"x": SQUARE},
        SQUARE[::-1],
    ),
    case(
        {"x": RM},
        lambda x: x - x.mean(axis=1)[:1] + x.reshape(1, -1),
        "or v[:, None] of one as long as its columns",
        lambda x: x - x.mean(axis=1)[:, None],
        {"x": SQUARE},
        SQUARE - SQUARE.mean(axis=1, keepdims=True),
    ),
    case(
        {"x": pf.Bool},
        lambda x: pf.nand(1, 1),
        "an encrypted value is needed",
        lambda x: pf.nand(x, 1),
        {"x": 1},
        0,
    ),
    case({"x": BIT}, lambda x: pf.concat(x, x), "return each by a name of its own", lambda x: x, {"x": 1}, 1),
    case(
        {"x": RV},
        lambda x: pf.concat(x, FOREIGN["slots"]),
        "use values of one program",
        lambda x: pf.concat(x, x),
        {"x": HALF},
        [*HALF, *HALF],
    ),
    case(
        {"x": RM, "y": R.vector(2)},
        lambda x, y: pf.concat(x, y),
        "or matrices of equally many columns",
        lambda x, y: pf.concat(x, y.reshape(1, 2)),
        {"x": SQUARE, "y": SQUARE[0]},
        np.vstack([SQUARE, SQUARE[:1]]),
    ),
    case(
        {"x": RV},
        lambda x: pf.concat(x, x),
        "with slots=8",
        lambda x: pf.concat(x, x),
        {"x": HALF},
        [*HALF, *HALF],
        options={"slots": 4},
        right_options={"slots": 8},
    ),
    case(
        {"x": I3V},
        lambda x: pf.concat(x, 3),
        "as 3 + x[:1] - x[:1]",
        lambda x: pf.concat(x, 3 + x[:1] - x[:1]),
        {"x": [1, 2, 3, 0]},
        [1, 2, 3, 0, 3],
    ),
    case(
        {"x": I3, "y": U8},
        lambda x, y: pf.concat(x, y),
        "cast those of a few bits",
        lambda x, y: pf.concat(x.cast(pf.UInt(8)), y),
        {"x": 1, "y": 2},
        [1, 2],
    ),
    case(
        {"x": RV},
        lambda x: pf.concat(x, FOREIGN["value"]),
        "write one program for each scheme",
        lambda x: pf.concat(x, x),
        {"x": HALF},
        [*HALF, *HALF],
    ),
    case(
        {"x": U8V},
        lambda x: {"result": [x[0], 3]},
        "return lists of encrypted values",
        lambda x: {"result": [x[0], x[1]]},
        {"x": [1, 2]},
        [1, 2],
    ),
    case(
        {"x": U8V},
        lambda x: {"result": [x, x]},
        "or pf.concat(x, y) of vectors",
        lambda x: {"result": pf.concat(x, x)},
        {"x": [1, 2]},
        [1, 2, 1, 2],
    ),
    case(
        {"x": U8V},
        lambda x: {"result": [x[0], x[1] > 1]},
        "cast the other, as x.cast(pf.UInt(8))",
        lambda x: {"result": [x[0], (x[1] > 1).cast(pf.UInt(8))]},
        {"x": [1, 2]},
        [1, 1],
    ),
    case(
        {"x": RV},
        lambda x: pf.mux(np.array([1, 0, 0, 1]), x, 1),
        "write c * x + (1 - c) * y",
        lambda x: np.array([1, 0, 0, 1]) * x + (1 - np.array([1, 0, 0, 1])) * 1,
        {"x": HALF},
        [HALF[0], 1, 1, HALF[3]],
    ),
    case(
        {"x": I3V},
        lambda x: x @ x[0],
        "an operand is a single integer[0..3]; use *",
        lambda x: x * x[0],
        {"x": [1, 2, 3, 0]},
        [1, 2, 3, 0],
    ),
    case(
        {"x": I3V, "y": pf.Int(0, 2)},
        lambda x, y: x**y,
        "pf.mux(y == 0, 1, ",
        lambda x, y: pf.mux(y == 0, 1, pf.mux(y == 1, x, x**2)),
        {"x": [1, 2, 3, 0], "y": 2},
        [1, 4, 9, 0],
    ),
    case(
        {"x": RV},
        lambda x: pf.sort(x),
        "declare the numbers as integers of TFHE",
        lambda x: pf.sort(x),
        {"x": [3, 1, 0, 2]},
        [0, 1, 2, 3],
        {"x": pf.UInt(4).vector(4)},
    ),
    case(
        {"x": I3V},
        lambda x: pf.sort(x[0]),
        "give an encrypted vector, or a list",
        lambda x: pf.sort([x[0], x[1]]),
        {"x": [3, 1, 0, 2]},
        [1, 3],
    ),
]
