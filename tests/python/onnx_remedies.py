"""Models in ONNX that are refused beside those that their messages advise; `test_call_remedies.py` makes them, where the package onnx is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from call_remedies import Call, call

ROWS = np.random.default_rng(5).uniform(-1, 1, size=(20, 4))
W, SQUARE = np.random.default_rng(6).normal(size=(4, 3)), np.array([[[[1.0, -1.0], [0.5, 2.0]]]])
IMAGES = ROWS[:, :, None, None] * np.ones((1, 1, 2, 2))
TREES = {
    "n_targets": 1,
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [0, 0, 0],
    "nodes_values": [0.5, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
    "target_treeids": [0, 0],
    "target_nodeids": [1, 2],
    "target_ids": [0, 0],
    "target_weights": [1.0, 2.0],
}
CLASSES = {
    **{name: value for name, value in TREES.items() if not name.startswith(("target", "n_"))},
    **{"class_treeids": [0, 0, 0, 0], "class_nodeids": [1, 1, 2, 2], "class_ids": [0, 1, 0, 1]},
    **{"class_weights": [0.75, 0.25, 0.25, 0.75], "classlabels_int64s": [0, 1]},
}


def node(op: str, inputs: str, output: str = "y", domain: str = "", **attributes: Any) -> Any:
    from onnx import helper

    return helper.make_node(op, inputs.split(), output.split(), domain=domain, **attributes)


def model(
    *nodes: Any, shape: Sequence[Any] = ("rows", 4), inputs: Sequence[str] = ("x",), gives: Any = None, **numbers: Any
) -> Any:
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in inputs],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, gives)],
        [
            numpy_helper.from_array(
                np.asarray(value, dtype=np.float32 if np.asarray(value).dtype.kind == "f" else int), name
            )
            for name, value in numbers.items()
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)])


def filtered(size: int, filters: int, stride: int) -> Any:
    convolution = node("Conv", "x k", pads=[1] * 4, strides=[stride] * 2)
    return model(convolution, shape=("rows", 1, size, size), k=np.ones((filters, 1, 3, 3)))


def linear() -> Any:
    return model(node("MatMul", "x w"), w=W)


def trees(op: str = "TreeEnsembleRegressor", inputs: str = "x", **own: Any) -> Any:
    return node(op, inputs, domain="ai.onnx.ml", **({**(CLASSES if "Classifier" in op else TREES), **own}))


def read(made: Any, rows: Any = ROWS, **options: Any) -> Any:
    return pf.from_onnx(made, rows, **options)


def pair(wrong: Any, words: str, right: Any, rows: Any = ROWS) -> Call:
    """A graph and the advised one."""
    return call(lambda _: read(wrong(), rows), words, lambda _: read(right(), rows))


def damaged(at: Path, content: bytes) -> Path:
    (at / "net.onnx").write_bytes(content)
    return at / "net.onnx"


def saved(at: Path) -> Path:
    return damaged(at, linear().SerializeToString())


def checked(made: Any, words: str) -> None:
    """The checker that a message names says the same of the model."""
    import onnx

    with pytest.raises((onnx.checker.ValidationError, onnx.shape_inference.InferenceError), match=words):
        onnx.checker.check_model(made, full_check=True)


def lost() -> Any:
    return model(node("MatMul", "x w"), gives=("rows", 3))


def misshapen() -> Any:
    return model(node("MatMul", "x w"), w=W.T, gives=("rows", 3))


def apart(at: Path, *, lost: bool = False) -> Path:
    """A file whose weights lie in another one beside it, or not there."""
    import onnx

    onnx.save(linear(), at / "net.onnx", save_as_external_data=True, location="weights", size_threshold=0)
    if lost:
        (at / "weights").unlink()
    return at / "net.onnx"


def unloaded(at: Path) -> Any:
    """That file's model without its weights."""
    import onnx

    return onnx.load(str(apart(at)), load_external_data=False)


def classifier(**own: Any) -> Any:
    given = {"coefficients": [1.0, 0.0, 0.0, -1.0], "intercepts": [0.5], "classlabels_ints": [0, 1], **own}
    return node("LinearClassifier", "x", "y scores", domain="ai.onnx.ml", **given)


REVERSED = {name: np.array([value]) for name, value in {"last": -1, "first": -(1 << 40), "rows": 0, "back": -1}.items()}
GELU = {"approximate": "none"}
ONNX = [
    call(lambda _: read(linear(), [["a"] * 4] * 3), "encode categories as numbers first", lambda _: read(linear())),
    call(lambda _: read(linear(), ROWS[:1]), "an array of at least 2 of these", lambda _: read(linear(), ROWS[:2])),
    call(lambda _: read(linear(), ROWS[:, :3]), "takes rows of 4", lambda _: read(linear(), ROWS)),
    call(lambda at: read(at / "none.onnx"), "check the path", lambda at: read(saved(at))),
    call(lambda _: read(5), "give a path or an onnx.ModelProto", lambda at: (read(saved(at)), read(linear()))),
    call(lambda at: read(damaged(at, b"\xff\xff no")), "export it again", lambda at: read(saved(at))),
    call(lambda at: read(damaged(at, b"")), "it has no operators); export it again", lambda at: read(saved(at))),
    pair(
        lambda: model(node("Relu", "x"), shape=(4,)),
        "rows as the first of at least two",
        lambda: model(node("Relu", "x")),
    ),
    pair(
        lambda: model(node("Relu", "x"), shape=("rows", "n")),
        "export the model with fixed sizes",
        lambda: model(node("Relu", "x")),
    ),
    pair(
        lambda: model(node("Add", "x z"), inputs=("x", "z"), shape=("rows", 2)),
        "give one with one input, joined from the parts",
        lambda: model(node("Split", "x two", "a b", axis=1), node("Add", "a b"), two=np.array([2, 2])),
    ),
    pair(lambda: model(node("Relu", "w"), w=W), "check how it was exported", linear),
    call(
        lambda _: read(lost()),
        "it reads 'w', which nothing before it gives; correct the model: onnx.checker.check_model(model, full_check=True)",
        lambda _: (checked(lost(), "input 'w'"), read(linear())),
    ),
    call(
        lambda _: read(misshapen()),
        "cannot evaluate it on 1 x 4, 3 x 4",
        lambda _: (checked(misshapen(), "MatMul"), read(linear())),
    ),
    pair(
        lambda: model(node("ReduceSum", "x", "s"), node("Add", "x s")),
        "use it on the numbers of each row, not on axis 0",
        lambda: model(node("ReduceSum", "x axis", "s"), node("Add", "x s"), axis=np.array([1])),
    ),
    pair(
        lambda: model(node("MatMul", "x w", "m"), node("Mul", "x m"), w=np.eye(4)[::-1]),
        "or an activation, whose product is of functions of the same number",
        lambda: model(node("Sigmoid", "x", "s"), node("Mul", "x s")),
    ),
    pair(
        lambda: model(node("Div", "some x"), some=np.arange(1.0, 5.0)),
        "use a layer with public weights, or an activation",
        lambda: model(node("Reciprocal", "x", "r"), node("Mul", "r some"), some=np.arange(1.0, 5.0)),
        ROWS + 3,
    ),
    pair(
        lambda: model(node("MaxPool", "x", kernel_shape=[2, 2]), shape=("rows", 4, 2, 2)),
        "use AveragePool, which is linear",
        lambda: model(node("AveragePool", "x", kernel_shape=[2, 2]), shape=("rows", 4, 2, 2)),
        IMAGES,
    ),
    pair(
        lambda: model(node("GlobalMaxPool", "x"), shape=("rows", 4, 2, 2)),
        "use GlobalAveragePool, which is linear",
        lambda: model(node("GlobalAveragePool", "x"), shape=("rows", 4, 2, 2)),
        IMAGES,
    ),
    *[
        pair(
            lambda op=op: model(node(op, "x one one"), one=np.ones(4), shape=("rows", 4, 2, 2)),
            "use BatchNormalization, whose figures are public",
            lambda: model(
                node("BatchNormalization", "x one zero zero one"),
                one=np.ones(4),
                zero=np.zeros(4),
                shape=("rows", 4, 2, 2),
            ),
            IMAGES,
        )
        for op in ("LayerNormalization", "InstanceNormalization")
    ],
    *[
        pair(
            lambda op=op: model(
                node(op, "x w r", hidden_size=2), w=np.zeros((1, 8, 4)), r=np.zeros((1, 8, 2)), shape=("rows", 1, 4)
            ),
            "use a convolution over the sequence",
            lambda: model(node("Conv", "x k"), k=np.ones((2, 1, 3)), shape=("rows", 1, 4)),
            ROWS[:, None],
        )
        for op in ("LSTM", "GRU")
    ],
    *[
        pair(
            lambda op=op: model(node(op, "x", "s", axis=1), node("Mul", "s k"), k=np.array(2.0)),
            "use it as the last operator only, where the client computes it",
            lambda op=op: model(node("Mul", "x k", "s"), node(op, "s", axis=1), k=np.array(2.0)),
        )
        for op in ("Softmax", "ArgMax")
    ],
    pair(
        lambda: model(node("Max", "x h"), h=np.zeros(4)),
        "use Relu or Clip, of one number",
        lambda: model(node("Relu", "x", "r"), node("Clip", "r zero"), zero=np.array(0.0)),
    ),
    pair(
        lambda: model(node("Min", "x h"), h=np.zeros(4)),
        "use Clip, of one number",
        lambda: model(node("Clip", "x low high"), low=np.array(-9.0), high=np.array(0.0)),
    ),
    *[
        pair(
            lambda op=op: model(node(op, "x zero", "c"), node("Where", "c x zero"), zero=np.array(0.0)),
            "use activations such as Relu and Clip, of one number",
            lambda: model(node("Relu", "x")),
        )
        for op in ("Greater", "Less")
    ],
    pair(
        lambda: model(node("Where", "c x zero"), c=np.array([1, 0, 1, 0]), zero=np.array(0.0)),
        "use activations such as Relu and Clip, of one number",
        lambda: model(node("Relu", "x")),
    ),
    *[
        pair(
            lambda op=op, given=given, results=results: model(node(op, given, results), s=np.array(0.1)),
            "use the model as it was before it was quantised",
            linear,
        )
        for op, given, results in (("QuantizeLinear", "x s", "y"), ("DynamicQuantizeLinear", "x", "y u v"))
    ],
    pair(lambda: model(node("Ceil", "x")), "such as Relu and Tanh", lambda: model(node("Tanh", "x"))),
    call(
        lambda _: read(filtered(64, 16, 1), np.zeros((2, 1, 64, 64))),
        "use a smaller image, fewer filters or a larger stride",
        lambda _: [
            read(filtered(*size), np.ones((2, 1, size[0], size[0]))) for size in ((8, 16, 1), (16, 1, 1), (16, 4, 4))
        ],
    ),
    pair(
        lambda: model(
            node("Scaler", "x", "s", domain="ai.onnx.ml", offset=[0.0] * 4, scale=[2.0] * 4), trees(inputs="s")
        ),
        "use the trees alone, on the client's features",
        lambda: model(trees(nodes_values=[0.25, 0.0, 0.0])),
    ),
    pair(
        lambda: model(trees("TreeEnsemble")),
        "export the model as TreeEnsembleClassifier or TreeEnsembleRegressor",
        lambda: model(trees()),
    ),
    pair(
        lambda: model(trees(nodes_modes=["BRANCH_GT", "LEAF", "LEAF"])),
        "use BRANCH_LEQ or BRANCH_LT",
        lambda: model(trees(nodes_modes=["BRANCH_LT", "LEAF", "LEAF"])),
    ),
    pair(
        lambda: model(trees("TreeEnsembleClassifier", post_transform="PROBIT")),
        "use NONE, LOGISTIC or SOFTMAX",
        lambda: model(trees("TreeEnsembleClassifier", post_transform="NONE")),
    ),
    pair(
        lambda: model(node("Slice", "x last first rows back"), shape=(20, 4), **REVERSED),
        "an operator treats rows by their place: export the model with an open number of rows",
        linear,
    ),
    call(
        lambda _: read(model(node("Log", "x"))),
        "give rows for which the model itself gives finite numbers",
        lambda _: read(model(node("Log", "x")), ROWS + 3),
    ),
    call(
        lambda _: read(model(node("Log", "x")), ROWS + 1.01),
        "give a smaller margin=, 1 for the rows' own interval",
        lambda _: read(model(node("Log", "x")), ROWS + 1.01, margin=1),
    ),
    call(
        lambda _: read(model(node("MatMul", "x w"), w=np.ones((4, 40_000)))),
        "make it narrower before the model is trained",
        lambda _: read(linear()),
    ),
    pair(
        lambda: model(node("MatMul", "x w"), w=np.where(W > 1, np.nan, W)),
        "is not finite; export it again, or train it until it is",
        linear,
    ),
    call(
        lambda at: read(apart(at, lost=True)),
        "lie in another file cannot be read",
        lambda at: read(apart(at)),
    ),
    call(
        lambda at: read(unloaded(at)),
        "the weights 'w' cannot be read",
        lambda at: (read(linear()), read(apart(at))),
    ),
    call(
        lambda _: read(model(node("Relu", "x"), shape=("rows", 20_000)), np.ones((2, 20_000))),
        "has rows of 20000 numbers, and 11585 at most are taken",
        lambda _: read(linear()),
    ),
    pair(
        lambda: model(node("Reshape", "x pairs", "p"), node("Softmax", "p", axis=2), pairs=np.array([-1, 2, 2])),
        "use it on all numbers of a row at once",
        lambda: model(node("Softmax", "x", axis=1)),
    ),
    pair(
        lambda: model(node("PRelu", "x s"), s=np.ones(3)),
        "its slopes are 3, of rows of 4; correct the model",
        lambda: model(node("PRelu", "x s"), s=np.ones(4)),
    ),
    pair(
        lambda: model(node("Pow", "x e"), e=np.array([2.0, 3.0, 2.0, 3.0])),
        "use one public number for all",
        lambda: model(node("Pow", "x e"), e=np.array(3.0)),
    ),
    pair(
        lambda: model(node("Transpose", "x", "t", perm=[1, 0]), node("MatMul", "v t"), v=W.T),
        "use nodes that leave axis 0 to the rows",
        linear,
    ),
    *[
        pair(lambda own=own: model(trees(**own)), words, lambda: model(trees()))
        for own, words in (
            ({"nodes_values": [0.5]}, "1 (nodes_values)"),
            ({"nodes_modes": ["LEAF"]}, "1 (nodes_modes)"),
            ({"target_weights": [1.0]}, "1 (target_weights)"),
            ({"n_targets": 1 << 40}, "it gives 1099511627776 numbers, of 3 nodes; export the model again"),
            ({"nodes_featureids": [4, 0, 0]}, "a feature that is none of the rows' 4, at place 0"),
            ({"nodes_featureids": [-2, 0, 0]}, "a feature that is none of the rows' 4, at place 0"),
            ({"nodes_values": [np.nan, 0.0, 0.0]}, "a threshold that is not finite, at place 0"),
            ({"target_weights": [1.0, np.inf]}, "a weight that is not finite, at place 1"),
            ({"target_ids": [0, 1]}, "a weight of an output that is none of its 1, at place 1"),
            ({"target_nodeids": [1, 7]}, "a weight is of node 7 of tree 0, which is not there"),
            ({"nodes_truenodeids": [0, 0, 0]}, "tree 0 is none"),
            ({"nodes_truenodeids": [9, 0, 0]}, "tree 0 is none"),
            ({"nodes_truenodeids": [2, 0, 0]}, "tree 0 is none"),
            ({"nodes_nodeids": [0, 1, 1]}, "tree 0 is none"),
            ({"base_values": [1.0, 2.0, 3.0]}, "its base values are [1.0, 2.0, 3.0], of 1 outputs"),
        )
    ],
    pair(
        lambda: model(trees(aggregate_function="MAX")),
        "use SUM or AVERAGE",
        lambda: model(trees(aggregate_function="AVERAGE")),
    ),
    pair(
        lambda: model(trees(post_transform="LOGISTIC")),
        "with post_transform LOGISTIC; use NONE",
        lambda: model(trees(post_transform="NONE")),
    ),
    pair(
        lambda: model(classifier(coefficients=[1.0, 2.0, 3.0])),
        "3 coefficients, 1 intercepts and 2 labels are none of rows of 4 numbers; export the model again",
        lambda: model(classifier()),
    ),
    pair(
        lambda: model(classifier(classlabels_ints=[0, 1, 2])),
        "4 coefficients, 1 intercepts and 3 labels are none of rows of 4 numbers",
        lambda: model(classifier()),
    ),
    call(lambda _: read(linear(), batch=32_768), "give at most 8192", lambda _: read(linear(), batch=8192)),
]
