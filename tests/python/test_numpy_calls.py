"""numpy's arrays and functions work with encrypted values as operators, or fail with name, line and remedy."""

from __future__ import annotations

import operator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polyfabric as pf
import pytest
from rejects import rejects

KINDS = {"real": pf.Real.bounded(4).vector(4), "residue": pf.Mod(65537).vector(4), "integer": pf.Int(0, 3).vector(4)}


def traced(kind, body):
    return pf.program(x=KINDS[kind])(body)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", [np.add, np.subtract, np.multiply], ids=lambda call: call.__name__)
def test_arithmetic_of_arrays_is_that_of_the_operators(kind, call):
    """By numpy's function and by the operator, with the array on either side, and with one of numpy's numbers."""
    numbers, values = np.array([1, 2, 0, 1]), np.array([0, 1, 2, 3])
    written = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul}[call.__name__]
    bodies = [
        lambda x: {"left": call(numbers, x), "right": call(x, numbers), "one": call(np.int64(2), x)},
        lambda x: {"left": written(numbers, x), "right": written(x, numbers), "one": written(np.int64(2), x)},
    ]
    one, other = (traced(kind, body).clear(x=values) for body in bodies)
    assert one == other
    expected = {"left": call(numbers, values), "right": call(values, numbers), "one": call(2, values)}
    assert all(np.array_equal(one[name], found) for name, found in expected.items())


def test_other_operators_of_arrays():
    matrix, values = np.arange(8).reshape(2, 4) % 3, np.array([0, 1, 2, 3])
    for kind in ("real", "integer"):
        found = traced(kind, lambda x: np.matmul(matrix, x)).clear(x=values)
        assert np.allclose(found, matrix @ values)
    assert np.allclose(traced("real", lambda x: np.power(x, 3)).clear(x=values / 4), (values / 4) ** 3)
    assert np.allclose(traced("real", lambda x: np.negative(x)).clear(x=values / 4), -values / 4)
    assert np.allclose(traced("real", lambda x: np.true_divide(x, 2)).clear(x=values / 4), values / 8)
    compared = traced("integer", lambda x: np.array([1, 1, 1, 1]) < x).clear(x=values)
    assert [bool(value) for value in compared] == [False, False, True, True]


FUNCTIONS = {
    "dot": lambda x: np.dot(x, x),
    "weighted": lambda x: np.dot([1, 2, 3, 4], x),
    "scaled": lambda x: np.dot(2, x),
    "inner": lambda x: np.inner(x, x),
    "inner_matrix": lambda x: np.inner(x, [[1, 2, 3, 4], [0, 1, 0, 1]]),
    "matrix_inner": lambda x: np.inner([[1, 2, 3, 4], [0, 1, 0, 1]], x),
    "multiples": lambda x: np.inner(x, 2),
    "vdot": lambda x: np.vdot(x, x),
    "weighted_vdot": lambda x: np.vdot([[1, 2], [3, 4]], x),
    "joined": lambda x: np.concatenate([x, x[:2]]),
    "squares": np.square,
}
OF_ELEMENTS = {
    "larger": lambda x: np.maximum(x, 1),
    "reversed": lambda x: np.minimum(1, x),
    "clipped": lambda x: np.clip(x, 1, 2),
    "above": lambda x: np.clip(x, 1, None),
    "chosen": lambda x: np.where(x > 1, x, 0),
    "any": lambda x: np.any(x == 2),
    "all": lambda x: np.all(x > 0),
}
OF_REALS = {
    "sample": lambda x: np.var(x, ddof=1),
    "column": lambda x: np.sum(x.reshape(2, 2), axis=1, keepdims=True),
}


@pytest.mark.parametrize("kind", [*KINDS, "wide"])
def test_functions_of_the_language_go_by_numpys_names_too(kind):
    calls = FUNCTIONS | (OF_ELEMENTS if kind in ("integer", "wide") else OF_REALS if kind == "real" else {})
    values = np.array([0, 1, 2, 3])
    program = pf.program(x=KINDS.get(kind, pf.UInt(8).vector(4)))(lambda x: {name: of(x) for name, of in calls.items()})
    found = program.clear(x=values)
    for name, of in calls.items():
        np.testing.assert_allclose(np.asarray(found[name], dtype=float), of(values), err_msg=name)
    program.plan(security=0)


@pytest.mark.parametrize(
    ("kind", "call", "values"),
    [
        ("real", np.sin, ("sin", "(-4, 4)")),
        ("real", np.exp, ("exp", "(-4, 4)")),
        ("real", lambda x: np.sum(x, where=[True] * 4), ("sum",)),
        ("integer", lambda x: np.sum(x, axis=0), ("sum",)),
        ("real", np.add.reduce, ("add.reduce",)),
        ("real", np.std, ("std",)),
        ("real", np.median, ("median", "CKKS")),
        ("real", lambda x: np.outer(x, x), ("outer",)),
        ("integer", lambda x: np.vdot(2, x), ("vdot",)),
        ("real", lambda x: np.concatenate([x, x], axis=1), ("concatenate",)),
        ("real", lambda x: np.add(x, 1, where=[True] * 4), ("add",)),
        ("residue", np.sin, ("sin", "BGV")),
        ("integer", np.sin, ("sin",)),
        ("integer", lambda x: np.clip(x, 2, 5, dtype=int), ("clip", "dtype")),
        ("integer", lambda x: np.maximum(x, 1, where=[True] * 4), ("maximum",)),
    ],
)
def test_a_function_of_numpy_is_refused_by_its_name(kind, call, values):
    with rejects(pf.errors.ProgramError, "test_numpy_calls.py", *values):
        traced(kind, lambda x: call(x))


def test_products_of_matrices_and_of_complex_numbers():
    x, y = np.arange(6.0).reshape(2, 3) / 6, np.array([[1, 2, 0], [0, 1, 3]])
    calls = {
        "inner": lambda x: np.inner(x, x),
        "public": lambda x: np.inner(y, x),
        "vector": lambda x: np.inner(x, [1, 2, 3]),
        "vdot": lambda x: np.vdot(x, y),
    }
    found = pf.program(x=pf.Real.matrix(2, 3))(lambda x: {name: of(x) for name, of in calls.items()}).clear(x=x)
    for name, of in calls.items():
        np.testing.assert_allclose(found[name], of(x), err_msg=name)
    z, w = np.array([0.5 + 0.25j, -0.5j]), np.array([1j, 2])
    products = {"left": lambda z: np.vdot(z, w), "right": lambda z: np.vdot(w, z), "inner": lambda z: np.inner(z, w)}
    found = pf.program(z=pf.Complex.vector(2))(lambda z: {name: of(z) for name, of in products.items()}).clear(z=z)
    for name, of in products.items():
        np.testing.assert_allclose(found[name], of(z), err_msg=name)


def test_an_array_of_objects_is_one_of_numbers():
    values = np.array([1, 2, 3, 4]) / 4
    exact = [1, 2.5, Fraction(1, 4), np.float32(0.5)]
    for entries in (exact, [Decimal("0.25"), True, 10**20, 0]):
        numbers = np.array(entries, dtype=object)
        found = traced("real", lambda x, numbers=numbers: (x * numbers, x + numbers)).clear(x=values)
        plain = numbers.astype(float)
        np.testing.assert_allclose(found[0], values * plain)
        np.testing.assert_allclose(found[1], values + plain)
    rotated = pf.program(z=pf.Complex.vector(2))(lambda z: z * np.array([1j, 2], dtype=object)).clear(z=[1, 0.5j])
    np.testing.assert_allclose(rotated, [1j, 1j])
    large = traced("residue", lambda x: x + np.array([2**70, 1, np.int64(3), 0], dtype=object)).clear(x=[1, 1, 1, 1])
    assert list(large) == [(2**70 + 1) % 65537, 2, 4, 1]
    for kind, entry in [("real", "a"), ("real", None), ("residue", 0.5), ("residue", [1])]:
        numbers = np.array([1, 2, 3, None], dtype=object)
        numbers[3] = entry
        with rejects(pf.errors.ProgramError, "test_numpy_calls.py"):
            traced(kind, lambda x, numbers=numbers: x * numbers)


@pytest.mark.parametrize("kind", KINDS)
def test_an_array_of_numbers_takes_no_encrypted_value(kind):
    def added(x):
        total = np.zeros(4, dtype=int)
        total += x
        return total

    with rejects(pf.errors.ProgramError, "test_numpy_calls.py", "add"):
        traced(kind, added)


def test_the_remedies_work():
    values = np.array([0.1, -0.2, 0.3, 0.4])
    found = traced(
        "real", lambda x: {"mean": np.mean(x), "sum": np.sum(x), "turned": x.rotate(-1), "dot": pf.dot(x, x)}
    ).clear(x=values)
    assert found["mean"] == pytest.approx(values.mean())
    assert found["sum"] == pytest.approx(values.sum())
    assert found["turned"] == pytest.approx(np.roll(values, 1))
    assert found["dot"] == pytest.approx(values @ values)
    assert traced("real", lambda x: pf.chebyshev(x, np.sin, 15, (-4, 4))).clear(x=values) == pytest.approx(
        np.sin(values), abs=1e-5
    )
    assert traced("integer", lambda x: np.sum(x) + np.max(x)).clear(x=[0, 1, 2, 3]) == 9


def test_keys_are_of_a_plan():
    for wrong in (5, None):
        with rejects(pf.errors.InputError, "Keys.generate"):
            pf.Keys.generate(wrong)
    done = traced("real", lambda x: x * x).run({"x": [0.5, 0, 0, 0]})
    assert pf.Keys.generate(done.plan).parameters.name == done.parameters


@pytest.mark.parametrize("kind", [pf.UInt(8), pf.Int(0, 7)], ids=str)
def test_numpys_product_with_a_single_number_is_one_of_each_element(kind) -> None:
    products = pf.program(x=kind, y=kind, v=kind.vector(2))(
        lambda x, y, v: [np.dot(x, y), np.dot(v, x), np.dot(np.array(2), v), np.dot(v, v)]
    )
    assert products.clear(x=2, y=3, v=[1, 4]) == (6, [2, 8], [2, 8], 17)


def test_numpys_divisions_of_small_integers_are_those_of_the_operators() -> None:
    values = [0, 1, 2, 3]
    calls = (np.floor_divide, np.remainder, np.right_shift, np.left_shift, np.bitwise_and)
    found = traced("integer", lambda x: {call.__name__: call(x, 2) for call in calls}).clear(x=values)
    assert found == {call.__name__: call(values, 2).tolist() for call in calls}
    for divide in (lambda x: np.true_divide(x, 2), lambda x: np.array([1, 1, 1, 1]) / x):
        with rejects(pf.errors.ProgramError, "test_numpy_calls.py"):
            traced("integer", divide)


@pytest.mark.parametrize(
    ("call", "option"),
    [
        (lambda x: np.roll(x, 2), "2"),
        (lambda x: np.sum(x, where=[True, False, False, True]), "where"),
        (lambda x: np.sum(x, initial=5), "initial"),
        (lambda x: np.max(x, initial=50), "initial"),
        (lambda x: np.average(x, weights=[1, 0, 0, 0]), "weights"),
        (lambda x: np.average(x, None, [1, 0, 0, 0]), "weights"),
        (lambda x: np.diff(x, n=2), "n"),
        (lambda x: np.concatenate([x, x], axis=None), "axis"),
        (lambda x: np.add(x, 1, where=[True, False, False, False]), "where"),
    ],
)
@pytest.mark.parametrize("kind", [pf.UInt(8), pf.Int(0, 7), pf.Real], ids=repr)
def test_code_for_a_call_without_options_is_not_advised_for_one_with_them(call, option, kind):
    with rejects(pf.errors.ProgramError, option) as refused:
        pf.program(x=kind.vector(4))(lambda x: call(x))
    assert "write" not in str(refused.value)


def test_an_index_is_of_one_axis():
    assert pf.program(x=pf.UInt(8).vector(4))(lambda x: x[1,]).clear(x=[1, 2, 3, 4]) == 2
    with rejects(pf.errors.ProgramError, "0, 1"):
        pf.program(x=pf.UInt(8).vector(4))(lambda x: x[0, 1])
