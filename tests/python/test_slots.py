"""Programs on slots equal numpy in the clear, whatever follows a vector's end."""

from __future__ import annotations

import math

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.apps.logistic_regression import STRIDE, logistic_regression
from polyfabric.apps.logistic_regression.data import split
from polyfabric.apps.logistic_regression.model import Model, shipped
from polyfabric.apps.logistic_regression.train import accuracy
from polyfabric.run.execution import plan
from rejects import rejects

T = 65537
RANDOM = np.random.default_rng(4)
MATRIX = RANDOM.uniform(-1, 1, (5, 30))


@pf.program(scheme="ckks", x=pf.Real.vector(30), y=pf.Real.vector(30))
def everything(x, y):
    return {
        "sum": x * y + 1 - (2 - y),
        "total": (x + 1).sum(),
        "dot": pf.dot(x, y),
        "weighted": MATRIX[0] @ x,
        "matrix": MATRIX @ x,
        "matrix_total": (MATRIX @ x).sum(),
        "exponential": pf.chebyshev(x, np.exp, 13),
        "exponential_total": pf.chebyshev(x, np.exp, 13).sum(),
        "polynomial": pf.polynomial(x, [1, 2, 3]) / 2,
        "power": x**5,
        "part": x[2:5],
        "part_total": x[2:5].sum(),
        "centred": (x - pf.sum(x) / 30) * y,
        "rotated": x.rotate(3)[:27],
    }


def test_arithmetic_of_real_slots():
    x, y = RANDOM.uniform(-1, 1, (2, 30))
    expected = {
        "sum": x * y + 1 - (2 - y),
        "total": (x + 1).sum(),
        "dot": x @ y,
        "weighted": MATRIX[0] @ x,
        "matrix": MATRIX @ x,
        "matrix_total": (MATRIX @ x).sum(),
        "exponential": np.exp(x),
        "exponential_total": np.exp(x).sum(),
        "polynomial": (1 + 2 * x + 3 * x * x) / 2,
        "power": x**5,
        "part": x[2:5],
        "part_total": x[2:5].sum(),
        "centred": (x - x.mean()) * y,
        "rotated": x[3:],
    }
    found = everything.clear(x=x, y=y)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, atol=1e-9, err_msg=name)


def test_rotation_is_over_all_slots():
    @pf.program(x=pf.Complex.vector(5))
    def rotated(x):
        return x.rotate(2), x.conjugate(), x.real_part()

    x = RANDOM.normal(size=5) * 0.2 + 0.3j
    found = rotated.clear(x=x)
    np.testing.assert_allclose(found[0], np.roll([*x, 0, 0, 0], -2))
    np.testing.assert_allclose(found[1], x.conj())
    np.testing.assert_allclose(found[2], x.real)


def test_arithmetic_modulo_a_prime():
    matrix = np.arange(60).reshape(4, 15)

    @pf.program(scheme="bgv", v=pf.Mod(T).vector(20), key=pf.Mod(T))
    def lookup(v, key):
        equal = 1 - (v - key) ** (T - 1)
        return {
            "equal": equal,
            "found": equal.sum(),
            "matrix": matrix @ v[:15],
            "dot": pf.dot(v, v),
            "swapped": v.swap_rows(),
            "cube": pf.polynomial(v, [0, 0, 0, 1]),
        }

    v = RANDOM.integers(0, T, 20)
    v[7] = v[3]
    found = lookup.clear(v=v, key=v[3])
    whole = np.zeros(32, dtype=np.int64)
    whole[:20] = v
    assert found["equal"] == (v == v[3]).astype(int).tolist()
    assert found["found"] == 2
    assert np.array_equal(np.array(found["matrix"]) % T, matrix @ v[:15] % T)
    assert found["dot"] % T == sum(int(x) ** 2 for x in v) % T
    assert np.array_equal(np.array(found["swapped"]) % T, np.roll(whole, 16))
    assert [x % T for x in found["cube"]] == [pow(int(x), 3, T) for x in v]


def test_text_says_where_every_operation_was_written():
    text = everything.text()
    assert text.startswith('program "everything" ckks slots 32')
    assert 'mul %0, %1 at "tests/python/test_slots.py"' in text.replace("\\", "/")


def test_the_shipped_model_is_good_and_its_program_is_the_model():
    model, (training, held_out) = shipped(), split()
    assert (len(training), len(held_out)) == (427, 142)
    assert accuracy(model, held_out) >= 0.95
    encoded = model.encode(held_out.measurements)
    rows = np.zeros((len(held_out), STRIDE))
    rows[:, : model.features] = encoded
    found = np.array(logistic_regression(len(held_out)).clear(rows=rows.reshape(-1)))
    probabilities = model.probabilities(encoded)
    # The polynomial sigmoid is within 0.003 of the sigmoid; what lies between the rows is the sigmoid of zero.
    np.testing.assert_allclose(found[::STRIDE], probabilities, atol=0.003)
    assert ((found[::STRIDE] > 0.5) == (probabilities > 0.5)).all()


def test_a_file_that_is_not_a_model_is_rejected():
    with pytest.raises(ValueError, match="not a file of the format"):
        Model.from_json('{"format": "something else"}')


@pf.program(x=pf.Real.vector(200))
def signs(x):
    return {
        "sign": pf.sign(x),
        "step": pf.sign(x, boolean=True),
        "relu": pf.relu(x),
        "coarse": pf.sign(x, gap=0.25, degrees=(7,)),
    }


def test_the_sign_and_relu_are_close_outside_of_the_gap():
    large = np.linspace(2**-7, 1, 100)
    x = np.concatenate([-large[::-1], large])
    found = {name: np.asarray(values) for name, values in signs.clear(x=x).items()}
    np.testing.assert_allclose(found["sign"], np.sign(x), atol=2**-13)
    np.testing.assert_allclose(found["step"], x > 0, atol=2**-14)
    np.testing.assert_allclose(found["relu"], np.maximum(x, 0), atol=2**-13)
    # So that one may follow another.
    assert np.all(np.asarray(found["relu"]) <= np.maximum(x, 0) + np.where(x < 0, 2**-13, 2**-40))
    far = np.abs(x) >= 0.25
    # The margin beyond [-1, 1] included; 0.083 without it.
    np.testing.assert_allclose(found["coarse"][far], np.sign(x[far]), atol=0.085)
    # Inside it, anything from -1 to 1.
    assert np.abs(np.asarray(signs.clear(x=np.linspace(-(2**-7), 2**-7, 200))["sign"])).max() <= 1 + 2**-13


def test_inputs_of_other_forms():
    @pf.program(x=pf.Mod(2))
    def flipped(x):
        return x + 1

    assert flipped.clear(x=True) % 2 == 0

    @pf.program(x=pf.Real.vector(8))
    def same(x):
        return -x

    with rejects(pf.errors.InputError, "2 x 4", "real x 8"):
        same.clear(x=np.zeros((2, 4)))


@pytest.mark.parametrize("exponent", [2, 3, 7, 16, 31, 100])
def test_a_power_is_as_deep_as_a_balanced_tree_of_products(exponent):
    @pf.program(x=pf.Real.vector(64))
    def power(x):
        return x**exponent

    assert plan(power).facts["start_level"] == math.ceil(math.log2(exponent))


def test_powers_that_are_no_powers_of_two_decrypt_right():
    @pf.program(x=pf.Mod(65537).vector(64))
    def powers(x):
        return {"7": x**7, "11": x**11}

    numbers = [pow(3, i, 65537) for i in range(64)]
    done = powers.run(x=numbers)
    for exponent in (7, 11):
        assert [int(v) % 65537 for v in done.value[str(exponent)]] == [pow(v, exponent, 65537) for v in numbers]
