"""Activations that exporters write as several operators are read as one function."""

from __future__ import annotations

from math import erf, pi, sqrt
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from test_models import node, onnx_model, own_outputs

RANDOM = np.random.default_rng(1)
WEIGHTS = {"first": RANDOM.normal(size=(4, 6)) / 2, "second": RANDOM.normal(size=(6, 2)) / 2}
ROWS = RANDOM.normal(size=(40, 4))
NUMBERS = {
    "one": 1,
    "half": 0.5,
    "two": 2,
    "three": 3,
    "root": sqrt(2),
    "beta": sqrt(2 / pi),
    "kappa": 0.044715,
    "a row": [[1]],
}

Step = tuple[str, list[str]]

# As PyTorch's exporter writes them, except those with a comment; each result has the number of its step.
IN_PARTS: dict[str, tuple[list[Step], Any]] = {
    "silu": ([("Sigmoid", ["h"]), ("Mul", ["h", "0"])], lambda u: u / (1 + np.exp(-u))),
    # The definition.
    "silu as a quotient": (
        [("Neg", ["h"]), ("Exp", ["0"]), ("Add", ["1", "a row"]), ("Div", ["h", "2"])],
        lambda u: u / (1 + np.exp(-u)),
    ),
    "silu by a quotient": (
        [("Neg", ["h"]), ("Exp", ["0"]), ("Add", ["1", "one"]), ("Div", ["one", "2"]), ("Mul", ["h", "3"])],
        lambda u: u / (1 + np.exp(-u)),
    ),
    "sigmoid": (
        [("Neg", ["h"]), ("Exp", ["0"]), ("Add", ["one", "1"]), ("Div", ["one", "2"])],
        lambda u: 1 / (1 + np.exp(-u)),
    ),
    "gelu": (
        [("Div", ["h", "root"]), ("Erf", ["0"]), ("Add", ["1", "one"]), ("Mul", ["h", "2"]), ("Mul", ["3", "half"])],
        lambda u: u * (1 + np.vectorize(erf)(u / sqrt(2))) / 2,
    ),
    # The half goes to the other factor.
    "gelu of a half": (
        [("Mul", ["half", "h"]), ("Div", ["h", "root"]), ("Erf", ["1"]), ("Add", ["one", "2"]), ("Mul", ["0", "3"])],
        lambda u: u * (1 + np.vectorize(erf)(u / sqrt(2))) / 2,
    ),
    "gelu by tanh": (
        [
            ("Mul", ["h", "h"]),
            ("Mul", ["h", "0"]),
            ("Mul", ["kappa", "1"]),
            ("Add", ["h", "2"]),
            ("Mul", ["beta", "3"]),
            ("Tanh", ["4"]),
            ("Add", ["one", "5"]),
            ("Mul", ["h", "6"]),
            ("Mul", ["half", "7"]),
        ],
        lambda u: u * (1 + np.tanh(sqrt(2 / pi) * (u + 0.044715 * u**3))) / 2,
    ),
    # As TensorFlow's exporter does.
    "gelu by tanh of a power": (
        [
            ("Pow", ["h", "three"]),
            ("Mul", ["0", "kappa"]),
            ("Add", ["h", "1"]),
            ("Mul", ["2", "beta"]),
            ("Tanh", ["3"]),
            ("Add", ["4", "one"]),
            ("Mul", ["h", "half"]),
            ("Mul", ["6", "5"]),
        ],
        lambda u: u * (1 + np.tanh(sqrt(2 / pi) * (u + 0.044715 * u**3))) / 2,
    ),
    "mish": ([("Softplus", ["h"]), ("Tanh", ["0"]), ("Mul", ["h", "1"])], lambda u: u * np.tanh(np.logaddexp(u, 0))),
}


def network(steps: list[Step]) -> Any:
    """Two matrices with an activation between them; the numbers of the steps are read from initialisers."""
    nodes = [node(op, operands, [str(number)]) for number, (op, operands) in enumerate(steps)]
    read = {name: number for name, number in NUMBERS.items() if any(name in operands for _, operands in steps)}
    return onnx_model(
        [
            node("MatMul", ["x", "first"], ["h"]),
            *nodes,
            node("MatMul", [str(len(steps) - 1), "second"], ["y"]),
        ],
        {**WEIGHTS, **read},
        (4,),
        ["y"],
    )


def layers(model: pf.models.Model) -> int:
    return model.program.text().count(" chebyshev ")


@pytest.mark.parametrize("name", IN_PARTS)
def test_an_activation_in_parts_is_one_function(name: str) -> None:
    steps, function = IN_PARTS[name]
    given = network(steps)
    read = pf.from_onnx(given, ROWS, degree=31)
    clear = function(ROWS @ WEIGHTS["first"]) @ WEIGHTS["second"]
    np.testing.assert_allclose(own_outputs(given, ROWS)[0], clear, atol=1e-5)
    np.testing.assert_allclose(read.clear(ROWS), clear, atol=2e-3)
    # Its parts become one polynomial, as for a single operator.
    assert layers(read) == layers(pf.from_onnx(network([("Tanh", ["h"])]), ROWS, degree=31)) == 1


def test_encrypted() -> None:
    given = network(IN_PARTS["silu"][0])
    done = pf.from_onnx(given, ROWS, degree=31).run(ROWS[:2])
    assert done.correct
    np.testing.assert_allclose(done.predictions, own_outputs(given, ROWS[:2])[0], atol=0.01)


def test_silu_as_one_operator() -> None:
    onnx = pytest.importorskip("onnx")
    if not onnx.defs.has("Swish"):
        pytest.skip("this version of the package onnx has no Swish")
    given = network([("Swish", ["h"])])
    given.opset_import[0].version = 24
    np.testing.assert_allclose(
        pf.from_onnx(given, ROWS, degree=31).clear(ROWS),
        pf.from_onnx(network(IN_PARTS["silu"][0]), ROWS, degree=31).clear(ROWS),
        atol=1e-5,
    )


def test_two_in_a_row_are_one() -> None:
    """A function of a function's results."""
    silu = IN_PARTS["silu"][0]
    given = network([*silu, ("Sigmoid", ["1"]), ("Mul", ["1", "2"])])
    read = pf.from_onnx(given, ROWS, degree=31)
    assert layers(read) == 1
    np.testing.assert_allclose(read.clear(ROWS), own_outputs(given, ROWS)[0], atol=2e-3)


def test_a_part_that_is_read_otherwise_too_is_kept() -> None:
    given = network([*IN_PARTS["silu"][0], ("Add", ["0", "1"])])
    read = pf.from_onnx(given, ROWS, degree=31)
    assert layers(read) == 2
    np.testing.assert_allclose(read.clear(ROWS), own_outputs(given, ROWS)[0], atol=2e-3)


@pytest.mark.parametrize(
    "steps",
    [
        # A figure for each column, and the numbers of another place: no function of one number.
        [("Sigmoid", ["h"]), ("Mul", ["0", "column"]), ("Mul", ["h", "1"])],
        [("MatMul", ["h", "others"]), ("Mul", ["h", "0"])],
    ],
)
def test_others_are_products(steps: list[Step]) -> None:
    nodes = [node(op, operands, [str(number)]) for number, (op, operands) in enumerate(steps)]
    given = onnx_model(
        [node("MatMul", ["x", "first"], ["h"]), *nodes],
        {**WEIGHTS, "column": np.arange(6.0), "others": np.ones((6, 6))},
        (4,),
        [str(len(steps) - 1)],
    )
    exact = own_outputs(given, ROWS)[0]
    np.testing.assert_allclose(pf.from_onnx(given, ROWS, degree=31).clear(ROWS), exact, atol=2e-3 * np.abs(exact).max())


@pytest.mark.parametrize(
    ("function", "degree", "end", "within"),
    [
        (lambda u: 1 / (1 + np.exp(-u)), 15, 8, 0.002),
        (np.tanh, 15, 4, 0.003),
        (np.tanh, 15, 8, 0.06),
        (np.tanh, 31, 8, 0.003),
    ],
    ids=["sigmoid", "tanh on a short interval", "tanh", "tanh of degree 31"],
)
def test_activations_are_as_near_as_the_page_on_models_says(
    function: Any, degree: int, end: int, within: float
) -> None:
    numbers = np.linspace(-end, end, 4096)
    program = pf.program(x=pf.Real.bounded(end).vector(4096))(lambda x: pf.chebyshev(x, function, degree, (-end, end)))
    error = np.abs(np.array(program.clear(x=numbers)) - function(numbers)).max()
    assert within / 2 < error <= within
