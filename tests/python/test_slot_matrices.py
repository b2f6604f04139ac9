"""Encrypted matrices of CKKS and BGV equal numpy's, for every size and number of slots."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.apps import programs

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
    found = program.clear(a=a, b=b, left=left, right=right)
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
    found, expected = program.clear(a=a, v=v), computed(a, v)
    for name, values in expected.items():
        compared(found[name], values, modulus)


def test_shapes_are_numpys():
    @pf.program(matrix=pf.Real.matrix(3, 5), vector=pf.Real.vector(7), number=pf.Real)
    def shaped(matrix: Any, vector: Any, number: Any) -> Any:
        assert (matrix.shape, matrix.T.shape, matrix[1].shape, matrix.mean(axis=0).shape) == (
            (3, 5),
            (5, 3),
            (5,),
            (5,),
        )
        assert (vector.shape, vector[2:].shape, (+vector).shape, vector.sum().shape, number.shape) == (
            (7,),
            (5,),
            (7,),
            (),
            (),
        )
        return matrix.sum() / matrix.shape[0] + number

    result = shaped.clear(matrix=np.full((3, 5), 0.5), vector=np.zeros(7), number=0.25)
    np.testing.assert_allclose(result, 2.75, atol=1e-12)


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
    found = statistics.clear(a=a, x=x)
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
    np.testing.assert_allclose(done.value, a @ b, atol=1e-4)

    @pf.program(a=pf.Mod(T).matrix(2, 3), b=pf.Mod(T).matrix(3, 2))
    def exact(a, b):
        return a @ b

    left, right = np.arange(6).reshape(2, 3), np.arange(6).reshape(3, 2)
    assert exact.run({"a": left, "b": right}).value == (left @ right).tolist()


OWN_FILE = """
import numpy as np
import polyfabric as pf

LEFT, RIGHT = np.arange(8).reshape(2, 4) / 8, np.arange(15).reshape(3, 5) / 16
WEIGHTS = np.arange(12).reshape(3, 4)


@pf.program(a=pf.Real.matrix(4, 3), v=pf.Real.vector(3))
def reals(a, v):
    centred = a - a.mean(axis=0)
    return {
        "covariance": centred.T @ centred / 4,
        "public": LEFT @ a @ RIGHT,
        "by_row": a * v + 1,
        "column": a[:, 1],
        "shaped": a.reshape(2, 6)[1],
        "mean": a.mean(),
    }


@pf.program(a=pf.Mod(65537).matrix(3, 4), b=pf.Mod(65537).matrix(4, 2))
def residues(a, b):
    return {"product": a @ b, "weighted": (a * WEIGHTS).sum(axis=1), "rows": a[1:] + 7, "flat": b.T.reshape(-1)}
"""

NUMPY = {
    "reals": lambda a, v: {
        "covariance": np.cov(a.T, bias=True),
        "public": (np.arange(8).reshape(2, 4) / 8) @ a @ (np.arange(15).reshape(3, 5) / 16),
        "by_row": a * v + 1,
        "column": a[:, 1],
        "shaped": a.reshape(2, 6)[1],
        "mean": a.mean(),
    },
    "residues": lambda a, b: {
        "product": a @ b,
        "weighted": (a * np.arange(12).reshape(3, 4)).sum(axis=1),
        "rows": a[1:] + 7,
        "flat": b.T.reshape(-1),
    },
}
SHAPES = {"reals": {"a": (4, 3), "v": (3,)}, "residues": {"a": (3, 4), "b": (4, 2)}}


@pytest.mark.parametrize("name", SHAPES)
def test_matrices_go_the_way_of_a_user(name: str, polyfabric: Any, tmp_path: Path):
    """A file of one's own, inputs in JSON and no option: cost, a run, the steps through files, and a client with its server, all as numpy has it."""
    modulus = None if name == "reals" else T
    given = {key: numbers(shape, modulus) for key, shape in SHAPES[name].items()}
    expected = NUMPY[name](**given)
    (tmp_path / "own.py").write_text(OWN_FILE, encoding="utf-8")
    (tmp_path / "given.json").write_text(json.dumps({key: value.tolist() for key, value in given.items()}))
    program = f"own.py:{name}"

    def expect(found: dict[str, Any]) -> None:
        assert list(found) == list(expected)
        for key, values in expected.items():
            assert np.shape(found[key]) == np.shape(values)
            if modulus is None:
                np.testing.assert_allclose(found[key], values, atol=2.0**-16)
            else:
                compared(found[key], values, modulus)

    def said(*arguments: str) -> dict[str, Any]:
        done = polyfabric("run", program, *arguments, "--json")
        assert done.status == 0, done.err
        assert "warning" not in done.err
        return json.loads(done.out)

    assert said("--cost")["memory_bytes"] > 0
    done = said("--input", "given.json")
    assert done["correct"] is True
    expect(done["outputs"])
    said("--step", "encrypt", "--keys", "files", "--input", "given.json")
    said("--step", "execute", "--keys", "files")
    decrypted = said("--step", "decrypt", "--keys", "files")
    assert decrypted["correct"] is True
    expect(decrypted["outputs"])
    own = programs.load(str(tmp_path / program))
    client = pf.Client(pf.Specification.from_bytes(pf.Specification.of(own).to_bytes()))
    server = pf.Server(own, pf.EvaluationKey.from_bytes(client.evaluation_key.to_bytes()))
    request = pf.Ciphertexts.from_bytes(client.encrypt(given).to_bytes())
    expect(client.decrypt(pf.Ciphertexts.from_bytes(server.execute(request).to_bytes())))
