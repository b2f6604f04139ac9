"""What is refused of encrypted matrices, and the programs that the messages advise; `test_remedies.py` runs them."""

from __future__ import annotations

import numpy as np
from remedy import FOREIGN, HALF, RV, M, R, case

SQUARE = np.array([[0.5, -0.25], [0.125, 0.75]])
WIDE = np.array([[0.5, -0.25, 0.0], [0.125, 0.75, 0.25]])
RM, RW, MM = R.matrix(2, 2), R.matrix(2, 3), M.matrix(2, 2)

MATRICES = [
    case(
        {"x": RM},
        lambda x: np.ones((4, 2)) @ x,
        "give it more with slots=8",
        lambda x: np.ones((4, 2)) @ x,
        {"x": SQUARE},
        np.ones((4, 2)) @ SQUARE,
        options={"slots": 4},
        right_options={"slots": 8},
    ),
    case(
        {"x": RM, "y": R.vector(3)},
        lambda x, y: x + y,
        "or a matrix and a vector as long as its rows",
        lambda x, y: x + y,
        {"x": SQUARE, "y": [0.5, 0.25]},
        SQUARE + np.array([0.5, 0.25]),
        {"x": RM, "y": R.vector(2)},
    ),
    case(
        {"x": RM},
        lambda x: x @ FOREIGN["slots"],
        "values of one program",
        lambda x: x @ x,
        {"x": SQUARE},
        SQUARE @ SQUARE,
    ),
    case(
        {"x": RM, "y": R},
        lambda x, y: x @ y,
        "multiply with *",
        lambda x, y: x * y,
        {"x": SQUARE, "y": 0.5},
        SQUARE / 2,
    ),
    case({"x": RW}, lambda x: x @ x, "transpose one with .T", lambda x: x @ x.T, {"x": WIDE}, WIDE @ WIDE.T),
    case(
        {"x": RM},
        lambda x: np.ones((2, 3)) @ x,
        "give it 2 columns",
        lambda x: np.ones((3, 2)) @ x,
        {"x": SQUARE},
        np.ones((3, 2)) @ SQUARE,
    ),
    case(
        {"x": RM},
        lambda x: x @ np.ones((3, 2)),
        "give it 2 rows",
        lambda x: x @ np.ones((2, 3)),
        {"x": SQUARE},
        SQUARE @ np.ones((2, 3)),
    ),
    case(
        {"x": RM},
        lambda x: x.sum(axis=2),
        "over axis 0 or 1",
        lambda x: x.sum(axis=1),
        {"x": SQUARE},
        SQUARE.sum(axis=1),
    ),
    case(
        {"x": R},
        lambda x: x.reshape(1, 1),
        "reshape a vector or a matrix",
        lambda x: x.reshape(1, 1),
        {"x": [0.5]},
        0.5,
        {"x": R.vector(1)},
    ),
    case({"x": RM}, lambda x: x.reshape(2, 2, 1), "give one or two", lambda x: x.reshape(1, 4), {"x": SQUARE}, SQUARE),
    case(
        {"x": RM}, lambda x: x.reshape(3, -1), "whose product is 4", lambda x: x.reshape(4, -1), {"x": SQUARE}, SQUARE
    ),
    case({"x": RM}, lambda x: x * np.ones(3), "give one of its shape", lambda x: x * np.ones(2), {"x": SQUARE}, SQUARE),
    case(
        {"x": RM},
        lambda x: x * np.ones(3),
        "or @ for a product",
        lambda x: x @ np.ones(2),
        {"x": SQUARE},
        SQUARE.sum(axis=1),
    ),
    case({"x": MM}, lambda x: x.mean(), "return the sum", lambda x: x.sum(), {"x": [[1, 2], [3, 4]]}, 10),
    case({"x": RV}, lambda x: list(x), "or take one, x[i], or a range", lambda x: x[1], {"x": HALF}, HALF[1]),
]
