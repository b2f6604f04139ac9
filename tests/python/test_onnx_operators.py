"""Every operator of the table of ONNX computes as the package onnx, on random rows; every other is refused with other operators to use."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.models.onnx_operators import OPERATORS, named
from rejects import rejects

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

RANDOM = np.random.default_rng(3)
W, V, B = RANDOM.normal(size=(6, 4)), RANDOM.normal(size=(4, 3)), RANDOM.normal(size=6)

TOY = pf.SlotParameters.of(
    "ckks",
    name="toy",
    ring_degree=1024,
    q=[{"bits": 58}, {"bits": 45, "count": 46}],
    p=[{"bits": 58, "count": 4}],
    gadget={"hybrid": {"digit_limbs": 4}},
    scale_log2=45,
    secret="uniform-ternary",
    noise_std=3.2,
)
"""A set without security, for deep programs in short time."""

Node = tuple[Any, ...]


def built(nodes: list[Node], shape: tuple[int, ...], constants: dict[str, Any] | None = None, version: int = 21) -> Any:
    """A model of nodes (operator, operands, results, attributes); constants are floats, unless integers or truth values."""
    arrays = {name: np.asarray(value) for name, value in (constants or {}).items()}
    floats = TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node(op, i.split(), o.split(), **(rest[0] if rest else {})) for op, i, o, *rest in nodes],
        "net",
        [helper.make_tensor_value_info("x", floats, ["rows", *shape])],
        [helper.make_tensor_value_info(nodes[-1][2].split()[0], floats, None)],
        [
            numpy_helper.from_array(array.astype(np.float32) if array.dtype.kind == "f" else array, name)
            for name, array in arrays.items()
        ],
    )
    domains = [helper.make_opsetid("", version), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=domains)


def own(model: Any, rows: Any) -> Any:
    found = ReferenceEvaluator(model).run(None, {"x": np.asarray(rows, dtype=np.float32)})[0]
    return np.asarray(found, dtype=float).reshape(len(rows), -1)


def of_one_row(model: Any, rows: Any) -> Any:
    """Fixes the number of the model's rows to one; its results for all."""
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    return np.concatenate([own(model, row[None]) for row in rows])


def samples(shape: tuple[int, ...], count: int = 30, low: float = -1.5) -> Any:
    return np.random.default_rng(0).uniform(low, 1.5, size=(count, *shape))


def selections() -> dict[str, tuple[list[Node], tuple[int, ...], dict[str, Any], float]]:
    """By operator: nodes, the shape of rows, constants, and the least number in the rows."""
    grid, image = (2, 3), (4, 2, 2)
    return {
        "Identity": ([("Identity", "x", "y")], grid, {}),
        "Dropout": ([("Dropout", "x", "y")], grid, {}),
        "Cast": ([("Cast", "x", "y", {"to": TensorProto.FLOAT})], grid, {}),
        "CastLike": ([("CastLike", "x l", "y")], grid, {"l": 1.0}),
        "Flatten": ([("Flatten", "x", "y")], grid, {}),
        "Reshape": ([("Reshape", "x s", "y")], grid, {"s": [0, 3, 2]}),
        "Squeeze": ([("Squeeze", "x a", "y")], (1, 3), {"a": [1]}),
        "Unsqueeze": ([("Unsqueeze", "x a", "y")], grid, {"a": [1, 4]}),
        "Shape": ([("Shape", "x", "s"), ("Reshape", "x s", "y")], grid, {}),
        "Size": ([("Reshape", "x f", "r"), ("Size", "r", "n"), ("Div", "n n", "m"), ("Cast", "m", "c", {"to": 1}), ("Mul", "x c", "y")], grid, {"f": [0, -1]}),
        "Compress": ([("Compress", "x c", "y", {"axis": 2})], grid, {"c": [True, False, True]}),
        "Concat": ([("Concat", "x k x", "y", {"axis": 1})], (3,), {"k": np.ones((1, 2))}),
        "DepthToSpace": ([("DepthToSpace", "x", "y", {"blocksize": 2})], image, {}),
        "SpaceToDepth": ([("SpaceToDepth", "x", "y", {"blocksize": 2})], image, {}),
        "Expand": ([("Unsqueeze", "x a", "u"), ("Expand", "u s", "y")], grid, {"a": [2], "s": [1, 2, 4, 3]}),
        "Gather": ([("Gather", "x i", "y", {"axis": 2})], grid, {"i": [2, 0, 2]}),
        "GatherElements": ([("GatherElements", "x i", "y", {"axis": 2})], grid, {"i": [[[2, 0], [1, 1]]]}),
        "GatherND": ([("GatherND", "x i", "y", {"batch_dims": 1})], grid, {"i": [[[1, 2], [0, 0]]]}),
        "Pad": ([("Pad", "x p v", "y")], grid, {"p": [0, 1, 0, 0, 0, 2], "v": 0.5}),
        "ReverseSequence": ([("ReverseSequence", "x n", "y", {"batch_axis": 0, "time_axis": 1})], grid, {"n": [2]}),
        "Slice": ([("Slice", "x b e a s", "y")], (5,), {"b": [4], "e": [0], "a": [1], "s": [-2]}),
        "Split": ([("Split", "x", "a b", {"axis": 2, "num_outputs": 2}), ("Concat", "b a", "y", {"axis": 2})], (2, 4), {}),
        "Tile": ([("Tile", "x r", "y")], grid, {"r": [1, 2, 2]}),
        "Transpose": ([("Transpose", "x", "y", {"perm": [0, 2, 1]})], grid, {}),
        "Trilu": ([("Trilu", "x", "y", {"upper": 0})], (3, 3), {}),
        "CenterCropPad": ([("CenterCropPad", "x s", "y", {"axes": [1, 2]})], grid, {"s": [4, 2]}),
        "ScatterElements": ([("ScatterElements", "z i x", "y", {"axis": 2})], grid, {"z": np.ones((1, 2, 5)), "i": [[[4, 0, 2], [1, 3, 0]]]}),
        "ScatterND": ([("Reshape", "x s", "r"), ("ScatterND", "r i u", "y")], grid, {"s": [1, 6], "i": [[0, 2]], "u": [7.0]}),
        "TensorScatter": ([("TensorScatter", "z x w", "y")], (2, 3), {"z": np.ones((1, 4, 3)), "w": [1]}),
        "Where": ([("Where", "c x k", "y")], (4,), {"c": [True, False, True, False], "k": 2.0}),
    }  # fmt: skip


def matrices() -> dict[str, Any]:
    image = (2, 4, 4)
    return {
        "Add": ([("Add", "x x", "s"), ("Add", "b s", "y")], (6,), {"b": B}),
        "Sub": ([("Sub", "b x", "s"), ("Sub", "s x", "y")], (6,), {"b": B}),
        "Neg": ([("Neg", "x", "y")], (6,), {}),
        "Sum": ([("Sum", "x b x", "y")], (6,), {"b": B}),
        "Mean": ([("Mean", "x b x", "y")], (6,), {"b": B}),
        "ReduceMean": ([("ReduceMean", "x a", "y", {"keepdims": 0})], image, {"a": [1, 3]}),
        "ReduceSum": ([("ReduceSum", "x a", "y")], image, {"a": [-1]}),
        "CumSum": ([("CumSum", "x a", "y")], image, {"a": 2}),
        "AveragePool": ([("AveragePool", "x", "y", {"kernel_shape": [2, 2]})], image, {}),
        "GlobalAveragePool": ([("GlobalAveragePool", "x", "y")], image, {}),
        "BatchNormalization": ([("BatchNormalization", "x a b b a", "y")], image, {"a": [1.0, 2.0], "b": [0.5, -1.0]}),
        "Conv": ([("Conv", "x k", "y", {"pads": [1, 1, 1, 1]})], image, {"k": RANDOM.normal(size=(3, 2, 3, 3))}),
        "ConvTranspose": ([("ConvTranspose", "x k", "y")], image, {"k": RANDOM.normal(size=(2, 1, 2, 2))}),
        "Col2Im": ([("Col2Im", "x s b", "y")], (4, 9), {"s": [4, 4], "b": [2, 2]}),
        "Resize": ([("Resize", "x e s", "y", {"mode": "linear"})], image, {"e": np.zeros(0), "s": [1.0, 1.0, 1.5, 2.0]}),
        "Einsum": ([("Einsum", "x w", "y", {"equation": "bij,jk->bki"})], (3, 6), {"w": W}),
        "MatMul": ([("MatMul", "x w", "h"), ("MatMul", "v h", "y")], (4, 6), {"w": W, "v": V.T}),
        "Gemm": ([("Gemm", "x w b", "y", {"alpha": 2.0, "transB": 1})], (4,), {"w": W, "b": B}),
        "Mul": ([("Mul", "b x", "y")], (2, 6), {"b": B}),
        "Div": ([("Div", "x b", "y")], (2, 6), {"b": B}),
        "Scaler": ([("Scaler", "x", "y", {"domain": "ai.onnx.ml", "offset": [1.0, 2.0], "scale": [0.5, 3.0]})], (2,), {}),
        "LinearRegressor": ([("LinearRegressor", "x", "y", {"domain": "ai.onnx.ml", "coefficients": [1.0, 2.0], "intercepts": [0.5]})], (2,), {}),
    }  # fmt: skip


def functions() -> dict[str, Any]:
    alone = "Relu LeakyRelu Elu Selu Celu Gelu Mish HardSigmoid HardSwish ThresholdedRelu Shrink Tanh Softplus Softsign Erf Exp Abs"
    # At the end of a model the client computes a sigmoid.
    made = {
        name: ([(name, "x", "y")], (5,), {}) for name in (*alone.split(), "Sin", "Cos", "Atan", "Sinh", "Cosh", "Asinh")
    }
    for name in ("Tan", "Asin", "Acos", "Atanh"):
        made[name] = ([("Mul", "x h", "s"), (name, "s", "y")], (5,), {"h": 0.4})
    made["Acosh"] = ([("Add", "x h", "s"), ("Acosh", "s", "y")], (5,), {"h": 4.0})
    for name in ("Sqrt", "Log", "Reciprocal"):
        made[name] = ([("Add", "x h", "s"), (name, "s", "y")], (5,), {"h": 2.5})
    return made | {
        "Sigmoid": ([("Sigmoid", "x", "s"), ("Neg", "s", "y")], (5,), {}),
        "PRelu": ([("PRelu", "x s", "y")], (3, 2), {"s": np.array([[0.1], [0.2], [-0.5]])}),
        "Clip": ([("Clip", "x l", "y")], (5,), {"l": -0.25}),
        "Pow": ([("Pow", "x n", "y")], (5,), {"n": 3.0}),
        "Max": ([("Max", "x n", "y")], (5,), {"n": 0.25}),
        "Min": ([("Min", "n x", "y")], (5,), {"n": 0.25}),
    }


def composites() -> dict[str, Any]:
    image, grid, scale = (4, 2, 3), (3, 5), {"s": np.linspace(0.5, 1.5, 4), "b": np.linspace(-1, 1, 4)}
    five = {"s": np.linspace(0.5, 1.5, 5), "b": np.linspace(-1, 1, 5)}
    # Behind them a matrix, so that the client does not compute them.
    return {
        "Softmax": ([("Softmax", "x", "p", {"axis": 1}), ("MatMul", "p s", "y")], grid, five),
        "LogSoftmax": ([("LogSoftmax", "x", "p"), ("MatMul", "p s", "y")], grid, five),
        "LayerNormalization": ([("LayerNormalization", "x s b", "y", {"epsilon": 1e-3})], grid, five),
        "RMSNormalization": ([("RMSNormalization", "x s", "y")], grid, {"s": five["s"]}),
        "InstanceNormalization": ([("InstanceNormalization", "x s b", "y")], image, scale),
        "GroupNormalization": ([("GroupNormalization", "x s b", "y", {"num_groups": 2})], image, scale),
        "MeanVarianceNormalization": ([("MeanVarianceNormalization", "x", "y", {"axes": [2, 3]})], image, {}),
        "LpNormalization": ([("LpNormalization", "x", "y", {"axis": 2})], grid, {}),
        "ReduceL2": ([("ReduceL2", "x a", "y", {"keepdims": 0})], grid, {"a": [2]}),
        "ReduceSumSquare": ([("ReduceSumSquare", "x a", "y")], grid, {"a": [1]}),
        "ReduceLogSum": ([("Exp", "x", "e"), ("ReduceLogSum", "e a", "y")], grid, {"a": [1]}),
        "ReduceLogSumExp": ([("ReduceLogSumExp", "x a", "y")], grid, {"a": [2]}),
    }  # fmt: skip


KINKED = {"Shrink": 0.4, "ThresholdedRelu": 0.6, "Sqrt": 0.02, "Celu": 0.02}
"""Largest deviation of polynomials of degree 31, for functions that jump or bend; others have 0.05."""

OF_ONE_ROW = {
    "Concat",
    "GatherElements",
    "GatherND",
    "ReverseSequence",
    "ScatterElements",
    "ScatterND",
    "TensorScatter",
}
"""Operators whose public operands have the axis of rows, with size 1, as exporters write."""

CASES = {**selections(), **matrices(), **functions(), **composites()}
ELSEWHERE = {"ArgMax", "Normalizer", "ArrayFeatureExtractor", "ZipMap", "LinearClassifier", "Swish"} | named("trees")
"""Operators with tests of their own, in test_models.py, test_model_activations.py and test_model_probabilities.py."""


def version_of(name: str) -> int:
    """21, or the first version that has the operator."""
    schema = onnx.defs.get_schema(name) if onnx.defs.has(name) else None
    return 21 if schema is None else max(21, min(s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.name == name and s.domain == ""))  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_an_operator_computes_as_the_package_onnx(name: str) -> None:
    nodes, shape, constants = CASES[name]
    rows = samples(shape)
    model = built(nodes, shape, constants, version_of(name))
    exact = of_one_row(model, rows) if name in OF_ONE_ROW else own(model, rows)
    read = pf.from_onnx(model, rows, degree=31)
    np.testing.assert_allclose(
        read.network.scores(rows.reshape(len(rows), -1)), exact, atol=2e-5 * (1 + np.abs(exact).max())
    )
    np.testing.assert_allclose(read.clear_scores(rows), exact, atol=KINKED.get(name, 0.05) * (1 + np.abs(exact).max()))
    if OPERATORS[name].how in ("shape", "selection", "matrix"):
        assert read.network.is_linear
    # The stated deviation is the largest on the rows.
    assert abs(np.abs(read.clear_scores(rows) - exact).max() - read.fidelity.deviation) < 1e-4 * (
        1 + np.abs(exact).max()
    )


def test_every_computed_operator_has_a_case() -> None:
    assert {name for name, row in OPERATORS.items() if row.how != "refused"} == {*CASES, *ELSEWHERE}


def test_every_operator_of_onnx_has_a_row() -> None:
    known = {s.name for s in onnx.defs.get_all_schemas() if not s.deprecated}
    assert known <= OPERATORS.keys(), known - OPERATORS.keys()


@pytest.mark.parametrize("name", sorted(named("refused")))
def test_others_are_refused_with_something_else(name: str) -> None:
    with pytest.raises(pf.errors.ProgramError) as refusal:
        pf.from_onnx(built([(name, "x", "h"), ("Neg", "h", "y")], (2, 3)), samples((2, 3)))
    assert name in str(refusal.value)
    assert OPERATORS[name].note in str(refusal.value)


def test_operators_named_as_remedies_are_computed() -> None:
    for row in OPERATORS.values():
        if row.how == "refused":
            mentioned = set(re.findall(r"[A-Z]\w+", row.note)) & OPERATORS.keys()
            assert all(OPERATORS[name].how != "refused" for name in mentioned), row


@pytest.mark.parametrize("name", ["ArgMax", "TreeEnsembleRegressor"])
def test_ends_are_refused_elsewhere(name: str) -> None:
    with pytest.raises(pf.errors.ProgramError):
        pf.from_onnx(built([("Neg", "x", "n"), (name, "n", "h"), ("Neg", "h", "y")], (3,)), samples((3,)))


# -- products of encrypted tensors --------------------------------------------------------------------------------------

PRODUCTS: dict[str, tuple[list[Node], tuple[int, ...], dict[str, Any]]] = {
    "numbers": ([("MatMul", "x w", "h"), ("Mul", "h x", "y")], (4, 6), {"w": RANDOM.normal(size=(6, 6))}),
    "broadcast": ([("ReduceMean", "x a", "m"), ("Mul", "x m", "y")], (4, 6), {"a": [2]}),
    "matrices": ([("Transpose", "x", "t", {"perm": [0, 2, 1]}), ("MatMul", "x t", "y")], (2, 3), {}),
    "heads": ([("Transpose", "x", "t", {"perm": [0, 1, 3, 2]}), ("MatMul", "t x", "y")], (2, 3, 2), {}),
    "matrix and vector": ([("Squeeze", "x a", "r"), ("ReduceSum", "r z", "v", {"keepdims": 0}), ("MatMul", "r v", "s"), ("Reshape", "s o", "y")], (3, 4), {"a": [0], "z": [0], "o": [1, 3]}),
    "vectors": ([("Reshape", "x o", "v"), ("MatMul", "v v", "s"), ("Reshape", "s l", "y")], (4,), {"o": [4], "l": [1, 1]}),
    "gemm": ([("Reshape", "x s", "m"), ("Gemm", "m m m", "g", {"transB": 1, "alpha": 0.5, "beta": 2.0}), ("Reshape", "g l", "y")], (3, 3), {"s": [3, 3], "l": [1, 9]}),
    "gemm with a public summand": ([("Reshape", "x s", "m"), ("Gemm", "m m b", "g", {"transA": 1}), ("Reshape", "g l", "y")], (2, 3), {"s": [2, 3], "l": [1, 9], "b": [1.0, 2.0, 3.0]}),
    "quotient": ([("Exp", "x", "e"), ("ReduceSum", "e a", "s"), ("Div", "x s", "y")], (2, 3), {"a": [2]}),
    "public dividend": ([("Add", "x k", "s"), ("ReduceSum", "s a", "t"), ("Div", "b t", "y")], (2, 6), {"a": [2], "b": B, "k": 3.0}),
    "norm": ([("ReduceL2", "x a", "n"), ("Clip", "n l", "c"), ("Expand", "c s", "e"), ("Div", "x e", "y")], (5,), {"a": [1], "l": 1e-6, "s": [1, 5]}),
}  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_encrypted_tensors(name: str) -> None:
    nodes, shape, constants = PRODUCTS[name]
    rows = samples(shape)
    model = built(nodes, shape, constants)
    exact = of_one_row(model, rows) if any(op in ("Squeeze", "Reshape") for op, *_ in nodes) else own(model, rows)
    read = pf.from_onnx(model, rows, degree=31)
    flat = rows.reshape(len(rows), -1)
    np.testing.assert_allclose(read.network.scores(flat), exact, atol=1e-4)
    done = read.program.run(x=read.encode(flat[:1])["x"], parameters=TOY, security=0)
    assert done.correct
    found = read.decode(done.value)[:1]
    np.testing.assert_allclose(found, read.clear_scores(flat[:1]), atol=1e-4)
    np.testing.assert_allclose(found, exact[:1], atol=0.02 * (1 + np.abs(exact).max()))


def attention(masked: bool) -> tuple[Any, Any]:
    """Attention of four places with three numbers each, as exporters of PyTorch write it, between normalisations."""
    weights = {name: RANDOM.normal(size=(3, 3)) * 0.7 for name in ("wq", "wk", "wv")}
    mask = np.where(np.tri(4) == 1, 0.0, -np.inf)
    nodes = [
        ("LayerNormalization", "x s b", "n", {"epsilon": 0.1}),
        *[("MatMul", f"n w{name}", name) for name in "qkv"],
        ("Transpose", "k", "t", {"perm": [0, 2, 1]}),
        ("MatMul", "q t", "a"),
        ("Mul", "a root", "c"),
        *([("Add", "c mask", "d")] if masked else [("Identity", "c", "d")]),
        ("Softmax", "d", "p"),
        ("MatMul", "p v", "y"),
    ]
    constants = {**weights, "root": 3**-0.5, "s": np.ones(3), "b": np.zeros(3), "mask": mask}
    return built(nodes, (4, 3), constants), samples((4, 3), 60)


@pytest.mark.parametrize("masked", [False, True])
def test_attention_encrypted(masked: bool) -> None:
    model, rows = attention(masked)
    read = pf.from_onnx(model, rows, degree=15, margin=1.2)
    exact, flat = own(model, rows), rows.reshape(len(rows), -1)
    np.testing.assert_allclose(read.network.scores(flat), exact, atol=1e-4)
    done = read.program.run(x=read.encode(flat[:1])["x"], parameters=TOY, security=0)
    assert done.correct
    assert np.abs(read.decode(done.value)[:1] - exact[:1]).max() < read.fidelity.deviation + 1e-3 < 0.1


@pytest.mark.full
def test_attention_with_a_secure_set() -> None:
    model, rows = attention(False)
    read = pf.from_onnx(model, rows, degree=15, margin=1.2)
    done = read.run(rows[:1], measure=True)
    assert np.abs(done.scores - own(model, rows[:1])).max() < read.fidelity.deviation + 1e-2
    assert done.deviation < read.fidelity.deviation + 1e-2


def test_softmax_of_old_versions_over_several_axes_is_refused() -> None:
    """The package onnx computes it as newer versions do, so nothing would notice."""
    with pytest.raises(pf.errors.ProgramError):
        pf.from_onnx(built([("Softmax", "x", "p"), ("Neg", "p", "y")], (2, 3), version=11), samples((2, 3)))


# -- intervals ----------------------------------------------------------------------------------------------------------

ROOTS = built([("ReduceSumSquare", "x a", "s"), ("Sqrt", "s", "y")], (5,), {"a": [1]})


def test_a_stated_interval_is_taken() -> None:
    rows = samples((5,), low=0.5)
    read = pf.from_onnx(ROOTS, rows, intervals={"y": (0.25, 20)})
    (one,) = read.approximations
    assert one.name == "y"
    assert one.interval == (0.25, 20)
    points = np.linspace(0.25, 20, 999)
    fitted = np.polynomial.Chebyshev.interpolate(np.sqrt, 15, (0.25, 20))
    assert one.error == pytest.approx(np.abs(fitted(points) - np.sqrt(points)).max(), rel=0.05)
    # Rows beyond the samples, within the interval.
    assert read.clear_scores([[2.0, 2, 2, 2, 1]])[0, 0] == pytest.approx(17**0.5, abs=one.error)


def test_a_large_constant_has_an_interval_with_a_width() -> None:
    model = built(
        [("Mul", "x z", "h"), ("Add", "h c", "s"), ("Sqrt", "s", "y")],
        (5,),
        {"z": 0 * W[:5, 0], "c": 1e13 + 0 * W[:5, 0]},
    )
    rows = samples((5,))
    read = pf.from_onnx(model, rows, degree=3)
    np.testing.assert_allclose(read.clear_scores(rows), 1e13**0.5, rtol=1e-3)


@pytest.mark.parametrize(
    ("intervals", "values"),
    [
        ({"y": (2, 2)}, ("2",)),
        ({"z": (1, 2)}, ("'z'", "y")),
        ({"y": (2, 1)}, ("2", "1")),
        ({"y": (1, float("inf"))}, ("inf",)),
        ({"y": 3}, ("3",)),
        ({"y": (1, 1.5)}, ("1.5",)),
        ([(1, 2)], ("[(1, 2)]",)),
    ],
)
def test_wrong_intervals_are_refused(intervals: Any, values: tuple[str, ...]) -> None:
    with rejects(pf.errors.InputError, *values):
        pf.from_onnx(ROOTS, samples((5,), low=0.5), intervals=intervals)


def test_a_divisor_that_changes_its_sign_is_refused() -> None:
    model = built([("MatMul", "x w", "h"), ("ReduceSum", "h a", "s"), ("Div", "x s", "y")], (6,), {"w": W, "a": [1]})
    with rejects(pf.errors.ProgramError, "y.reciprocal"):
        pf.from_onnx(model, samples((6,)))


@pytest.mark.parametrize("sign", [1, -1])
def test_margins_keep_a_divisors_sign(sign: int) -> None:
    model = built([("Mul", "x k", "s"), ("Reciprocal", "s", "y")], (3,), {"k": float(sign)})
    read = pf.from_onnx(model, samples((3,), low=0.1), margin=2)
    lo, hi = read.approximations[0].interval
    assert lo * hi > 0


def test_a_row_beyond_an_interval_is_refused_with_the_function() -> None:
    read = pf.from_onnx(ROOTS, samples((5,), low=1.0))
    with rejects(pf.errors.InputError, "y"):
        read.encode([[0.5] * 5])


def test_a_row_that_fills_no_block_disturbs_none() -> None:
    """Blocks without a row of their own hold one for which divisors are no zeros."""
    model = built([("LpNormalization", "x", "y", {"axis": 1})], (2,))
    rows = samples((2,))
    rows = rows[np.linalg.norm(rows, axis=1) > 0.5]
    read = pf.from_onnx(model, rows, degree=31, batch=8)
    done = read.program.run(x=read.encode(rows[:3])["x"], parameters=TOY, security=0)
    assert done.correct
    np.testing.assert_allclose(read.decode(done.value)[:3], own(model, rows[:3]), atol=0.05)


# -- wrong models -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "shape", "constants"),
    [
        ([("Where", "x x k", "y")], (3,), {"k": 1.0}),
        ([("Gather", "k x", "y")], (3,), {"k": B}),
        ([("ScatterElements", "z i x", "y", {"axis": 1, "reduction": "mul"})], (2,), {"z": np.full((1, 3), 2.0), "i": [[0, 2]]}),
        ([("Conv", "k x", "y")], (1, 2, 2), {"k": np.ones((1, 1, 4, 4))}),
        ([("LayerNormalization", "x x", "y")], (3,), {}),
        ([("LpNormalization", "x", "y", {"p": 1})], (3,), {}),
        ([("Einsum", "x x", "y", {"equation": "bi,bi->bi"})], (3,), {}),
        ([("ReduceSum", "x a", "y", {"keepdims": 0})], (3,), {"a": [0]}),
        ([("LayerNormalization", "x s", "y")], (3,), {"s": np.ones(2)}),
    ],
    ids=["condition", "indices", "reduction", "weights", "scale", "norm", "two of einsum", "rows", "size"],
)  # fmt: skip
def test_what_cannot_be_computed_is_refused(
    nodes: list[Node], shape: tuple[int, ...], constants: dict[str, Any]
) -> None:
    with pytest.raises(pf.errors.ProgramError):
        pf.from_onnx(built(nodes, shape, constants), samples(shape))


def test_a_product_too_wide_for_the_memory_is_refused() -> None:
    nodes = [("Transpose", "x", "t", {"perm": [0, 2, 1]}), ("MatMul", "x t", "y")]
    with pytest.raises(pf.errors.ProgramError):
        pf.from_onnx(built(nodes, (48, 48)), samples((48, 48), 2))


@pytest.mark.parametrize(
    ("nodes", "constants"),
    [
        ([("Expand", "x s", "y")], {"s": [1, 1 << 20, 1 << 20, 3]}),
        ([("Tile", "x s", "y")], {"s": [1, 1 << 20, 1 << 20]}),
        ([("Pad", "x s", "y")], {"s": [0, 1 << 20, 1 << 20, 0, 0, 0]}),
        ([("Resize", "x e e s", "y")], {"e": np.zeros(0), "s": [1, 1 << 20, 1 << 20]}),
        ([("ConstantOfShape", "s", "k"), ("Add", "x k", "y")], {"s": [1 << 16, 1 << 16]}),
        ([("Range", "a b c", "k"), ("Add", "x k", "y")], {"a": 0, "b": 1 << 40, "c": 1}),
    ],
    ids=lambda given: given[0][0] if isinstance(given, list) else "",
)
def test_a_result_of_any_size_is_refused_before_it_takes_memory(nodes: list[Node], constants: dict[str, Any]) -> None:
    with pytest.raises(pf.errors.ProgramError):
        pf.from_onnx(built(nodes, (2, 3), constants), samples((2, 3)))


def test_probabilities_of_several_groups_are_computed() -> None:
    """The client computes a softmax of all numbers of a row alone."""
    model, rows = built([("Softmax", "x", "y")], (2, 3)), samples((2, 3))
    read = pf.from_onnx(model, rows, degree=31)
    np.testing.assert_allclose(read.clear_scores(rows), own(model, rows), atol=0.01)


def test_an_operand_takes_a_stated_interval() -> None:
    model, rows = built([("MatMul", "x w", "h"), ("Mul", "h x", "y")], (6,), {"w": np.eye(6)}), samples((6,))
    assert pf.from_onnx(model, rows).approximations == []
    (one,) = pf.from_onnx(model, rows, intervals={"y.left": (-4, 4)}).approximations
    assert (one.name, one.interval, one.degree) == ("y.left", (-4, 4), 1)
    assert one.error < 1e-12
