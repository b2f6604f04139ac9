"""Do encrypted matrices of CKKS and BGV compute what numpy computes, whatever their sizes, and however many slots there are?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polyfabric as pf
import pytest

T = 65537
RANDOM = np.random.default_rng(17)


def traced(function: Callable[..., Any], slots: int | None, **inputs: Any) -> Any:
    """The program of `function`, of as many parameters as it has inputs."""
    names = ", ".join(inputs)
    own = eval(f"lambda {names}: function({names})", {"function": function})  # the tracer reads names of parameters
    own.__name__ = "traced"
    return pf.program(slots=slots, **inputs)(own)


def compared(found: Any, expected: Any, modulus: int | None) -> None:
    assert np.shape(found) == np.shape(expected)
    if modulus is None:
        np.testing.assert_allclose(found, expected, atol=1e-9)
    else:
        np.testing.assert_array_equal(np.asarray(found) % modulus, np.asarray(expected) % modulus)


def numbers(shape: tuple[int, ...], modulus: int | None) -> Any:
    return RANDOM.uniform(-1, 1, shape) if modulus is None else RANDOM.integers(0, 200, shape)


@pytest.mark.parametrize("modulus", [None, T])
@pytest.mark.parametrize("slots", [None, 64, 1024])
@pytest.mark.parametrize(("m", "k", "n"), [(4, 4, 4), (3, 5, 2), (1, 6, 3), (5, 2, 5), (4, 7, 1), (2, 1, 9)])
def test_products_of_encrypted_matrices(m: int, k: int, n: int, slots: int | None, modulus: int | None):
    kind = pf.Real if modulus is None else pf.Mod(modulus)
    a, b, left, right = (numbers(shape, modulus) for shape in ((m, k), (k, n), (m,), (k,)))
    types = {"a": kind.matrix(m, k), "b": kind.matrix(k, n), "left": kind.vector(m), "right": kind.vector(k)}
    program = traced(
        lambda a, b, left, right: {
            "product": a @ b,
            # Reads what lies behind the ends of both.
            "again": ((a @ b) @ b.T).sum(),
            "column": a @ right,
            "row": left @ a,
            "numpy": np.matmul(a, b),
            "dot": pf.dot(a, right),
        },
        slots,
        **types,
    )
    found = program(a=a, b=b, left=left, right=right)
    expected = {
        "product": a @ b,
        "again": (a @ b @ b.T).sum(),
        "column": a @ right,
        "row": left @ a,
        "numpy": a @ b,
        "dot": a @ right,
    }
    for name, values in expected.items():
        compared(found[name], values, modulus)


@pytest.mark.parametrize("modulus", [None, T])
def test_public_matrices_and_everything_slot_by_slot(modulus: int | None):
    kind = pf.Real if modulus is None else pf.Mod(modulus)
    m, n = 4, 3
    a, v, left, right, like = (numbers(shape, modulus) for shape in ((m, n), (n,), (2, m), (n, 5), (m, n)))

    def computed(a: Any, v: Any) -> dict[str, Any]:
        return {
            "left": left @ a,
            "right": a @ right,
            "left_vector": left[0] @ a,
            "right_vector": a @ right[:, 0],
            "transposed": np.transpose(a),
            "added": 2 * a + like - v + 1,
            "row_by_row": a * v * right[:, 1],
            "squares": (a * a)[1:3],
            "row": a[2] + a[-1],
            "column": a[:, 1],
            "block": a[1:, :2],
            "rows": np.sum(a, axis=0),
            "columns": a.sum(axis=1),
            "all": (a + 1).sum(),
            "shaped": np.reshape(a, (2, -1)) @ like.reshape(6, 2),
            "flat": a.reshape(-1)[5:7],
            "last": sum(a[row] for row in range(m)),
        }

    program = traced(computed, None, a=kind.matrix(m, n), v=kind.vector(n))
    found, expected = program(a=a, v=v), computed(a, v)
    for name, values in expected.items():
        compared(found[name], values, modulus)


def test_means_and_polynomials_of_matrices():
    a = RANDOM.uniform(-1, 1, (5, 3))

    @pf.program(a=pf.Real.matrix(5, 3), x=pf.Real.vector(7))
    def statistics(a, x):
        centred = a - a.mean(axis=0)
        return {
            "covariance": (centred.T @ centred) / 5,
            "means": np.mean(a, axis=1),
            "mean": a.mean() + x.mean(),
            "exponential": pf.chebyshev(a, np.exp, 13).sum(axis=0),
        }

    x = np.arange(7) / 7
    found = statistics(a=a, x=x)
    np.testing.assert_allclose(found["covariance"], np.cov(a.T, bias=True), atol=1e-9)
    np.testing.assert_allclose(found["means"], a.mean(axis=1), atol=1e-9)
    np.testing.assert_allclose(found["mean"], a.mean() + x.mean(), atol=1e-9)
    np.testing.assert_allclose(found["exponential"], np.exp(a).sum(axis=0), atol=1e-9)


def test_one_product_of_ciphertexts_and_few_rotations_where_slots_allow():
    @pf.program(a=pf.Real.matrix(8, 8), b=pf.Real.matrix(8, 8))
    def product(a, b):
        return a @ b

    assert product.slots == 512
    text = product.text()
    assert text.count(" mul ") == 1
    # Copies along rows and columns, and the sum of planes: three doublings of three steps.
    assert text.count(" rotate ") == 9
    assert text.count(" linear_transform ") == 2

    @pf.program(slots=128, a=pf.Real.matrix(8, 8), b=pf.Real.matrix(8, 8))
    def tight(a, b):
        return a @ b

    assert tight.slots == 128
    assert tight.text().count(" mul ") == 4


def test_a_product_runs_encrypted_within_its_bounds():
    a, b = RANDOM.uniform(-1, 1, (2, 4, 4))

    @pf.program(a=pf.Real.matrix(4, 4), b=pf.Real.matrix(4, 4))
    def product(a, b):
        return a @ b

    done = product.run({"a": a, "b": b})
    assert done.correct
    np.testing.assert_allclose(done.outputs["result"], a @ b, atol=1e-4)

    @pf.program(a=pf.Mod(T).matrix(2, 3), b=pf.Mod(T).matrix(3, 2))
    def exact(a, b):
        return a @ b

    left, right = np.arange(6).reshape(2, 3), np.arange(6).reshape(3, 2)
    assert exact.run({"a": left, "b": right}).outputs["result"] == (left @ right).tolist()
