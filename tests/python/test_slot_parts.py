"""Parts and combinations of vectors and matrices in slots equal numpy's, and unequal shapes are refused as in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polyfabric as pf
import pytest

X = np.array([3, -1, 4, 1, -5])
A = np.array([[1, 2, -3, 4], [0, -1, 5, 2], [3, 3, 1, -2]])

VECTORS: dict[str, Callable[[Any], Any]] = {
    "first": lambda x: x[0],
    "last": lambda x: x[-1] * x,
    "reversed": lambda x: x[::-1],
    "strided": lambda x: x[1::2],
    "listed": lambda x: x[[4, 0, 0]],
    "array": lambda x: x[np.array([2, 1])],
    "range": lambda x: x[1:4],
    "outer": lambda x: x[:, None] * x,
    "row": lambda x: x[None, :] + x,
    "below": lambda x: np.arange(10).reshape(2, 5) - x,
    "distances": lambda x: ((x - np.arange(10).reshape(2, 5)) ** 2).sum(axis=1),
    "columns": lambda x: x[:, None] * np.arange(10).reshape(5, 2),
    "rows": lambda x: x * np.array([[1], [2], [3]]),
    "one_number": lambda x: x[2] * np.arange(6).reshape(2, 3) + np.ones((2, 3), dtype=int),
    "power_0": lambda x: x**0,
    "polynomial": lambda x: sum(c * x**i for i, c in enumerate([1, -2, 3])),
}
MATRICES: dict[str, Callable[[Any], Any]] = {
    "number": lambda a: a[1, -2],
    "row": lambda a: a[-1],
    "column": lambda a: a[:, 1],
    "rows": lambda a: a[[2, 0]],
    "reversed": lambda a: a[::-1],
    "columns": lambda a: a[:, ::2],
    "corner": lambda a: a[1:, [3, 0]],
    "by_rows": lambda a: a - a.sum(axis=1, keepdims=True),
    "by_rows_spelt": lambda a: a - a.sum(axis=1)[:, None],
    "by_columns": lambda a: a * a.sum(axis=0, keepdims=True),
    "sums": lambda a: a.sum(axis=1, keepdims=True) + a.sum(axis=0, keepdims=True),
}


@pytest.mark.parametrize("kind", [pf.Real.bounded(5), pf.Mod(65537)], ids=["CKKS", "BGV"])
@pytest.mark.parametrize(("calls", "given"), [(VECTORS, X), (MATRICES, A)], ids=["vectors", "matrices"])
def test_parts_are_numpys(kind: Any, calls: dict[str, Callable[[Any], Any]], given: np.ndarray) -> None:
    of = kind.vector(*given.shape) if given.ndim == 1 else kind.matrix(*given.shape)
    program = pf.program(x=of)(lambda x: {name: call(x) for name, call in calls.items()})
    done = program.run({"x": given})
    assert done.correct
    for found in (done.expected, done.outputs):
        for name, call in calls.items():
            np.testing.assert_allclose(found[name], call(given), atol=1e-3, err_msg=name)
            assert np.shape(found[name]) == np.shape(call(given)), name


@pytest.mark.parametrize("kind", [pf.Real.bounded(5), pf.Mod(65537)], ids=["CKKS", "BGV"])
def test_vectors_and_rows_are_put_together(kind: Any) -> None:
    program = pf.program(x=kind.vector(5), a=kind.matrix(3, 4))(
        lambda x, a: {"all": pf.concat(x, x.sum(), x[1:3], x[4]), "rows": np.concatenate([a, a[:1]])}
    )
    done = program.run({"x": X, "a": A})
    assert done.correct
    np.testing.assert_allclose(done.outputs["all"], [*X, X.sum(), *X[1:3], X[4]], atol=1e-3)
    np.testing.assert_allclose(done.outputs["rows"], [*A, A[0]], atol=1e-3)


@pytest.mark.parametrize("kind", [pf.Real, pf.Mod(65537)], ids=["CKKS", "BGV"])
def test_vectors_of_different_lengths_do_not_combine(kind: Any) -> None:
    """The shorter one was filled with zeros, where numpy refuses, or takes one number for all."""
    for body in (lambda x: x + x[:3], lambda x: x[:1] * x, lambda x: pf.dot(x, x[1:])):
        with pytest.raises(pf.errors.ProgramError):
            pf.program(x=kind.vector(5))(body)


def test_a_rotated_vector_has_all_slots_and_combines_with_any_vector() -> None:
    program = pf.program(x=pf.Real.bounded(5).vector(5), slots=8)(lambda x: x + 2 * x.rotate(1) + 1)
    padded = np.array([*X, 0, 0, 0])
    assert program.clear(x=X) == pytest.approx(padded + 2 * np.roll(padded, -1) + [1] * 8)


def test_one_number_takes_a_level_and_a_rotation_for_each_doubling() -> None:
    program = pf.program(x=pf.Real.vector(8))(lambda x: x[3])
    assert program.plan().parameters.name == "ckks-depth-1"
    assert program.text().count("rotate") == 3
