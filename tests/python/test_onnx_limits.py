"""Models in ONNX that are misread or hostile: outputs of different sizes, numbers that are none, results of any size, long chains."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import onnx
import polyfabric as pf
import pytest
from onnx import TensorProto, helper, numpy_helper
from polyfabric.models.onnx_file import _largest

ROWS = np.random.default_rng(0).normal(0, 3, (60, 4)).astype(np.float32)


def model(nodes: list[Any], **constants: Any) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "model",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(value, dtype=np.float32), name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


def rounded_next_to(*factors: list[float]) -> onnx.ModelProto:
    """Numbers times the factors, one after another, next to their whole parts."""
    nodes = [
        helper.make_node("Mul", ["x" if at == 0 else f"m{at}", f"c{at}"], [f"m{at + 1}"]) for at in range(len(factors))
    ]
    nodes += [
        helper.make_node("Cast", ["x"], ["whole"], to=TensorProto.INT64),
        helper.make_node("Cast", ["whole"], ["k"], to=TensorProto.FLOAT),
        helper.make_node("Concat", [f"m{len(factors)}", "k"], ["y"], axis=1),
    ]
    return model(nodes, **{f"c{at}": factor for at, factor in enumerate(factors)})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("factors", [[[1e4] * 4], [[1e20, 1, 1, 1], [1e20, 1, 1, 1]]])
def test_a_small_output_next_to_a_large_one_is_compared(factors: Any) -> None:
    with pytest.raises(pf.errors.ProgramError):
        pf.from_onnx(rounded_next_to(*factors), ROWS)


@pytest.mark.parametrize(
    "first",
    [
        [helper.make_node("Concat", ["c0"] * 10_000, ["z"], axis=0)],
        [helper.make_node("RandomNormal", [], ["z"], shape=[1 << 20, 1 << 20])],
        [helper.make_node("MatMul", ["c0", "r0"], ["z"])],
        [helper.make_node("Add", ["column", "row"], ["z"])],
    ],
    ids=["concat", "random", "matmul", "add"],
)
def test_results_of_any_size_are_refused_before_they_take_memory(first: list[Any]) -> None:
    constants = {"c0": np.ones((1 << 14, 1)), "r0": np.ones((1, 1 << 14)), "w": np.ones((4, 2))}
    constants |= {"column": np.ones((1 << 14, 1)), "row": np.ones((1, 1 << 14))}
    with pytest.raises(pf.errors.ProgramError):
        pf.from_onnx(model([*first, helper.make_node("MatMul", ["x", "w"], ["y"])], **constants), ROWS)


def test_nodes_that_share_results_are_followed_once() -> None:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["s0"]), helper.make_node("Sigmoid", ["s0"], ["t0"])]
    for at in range(30):
        nodes += [helper.make_node("Identity", [f"t{at}"], [f"{side}{at}"]) for side in "ab"]
        nodes.append(helper.make_node("Max", [f"a{at}", f"b{at}"], [f"t{at + 1}"]))
    nodes.append(helper.make_node("Identity", ["t30"], ["y"]))
    began = time.process_time()
    with pytest.raises(pf.errors.ProgramError):
        pf.from_onnx(model(nodes, w=np.ones((4, 2))), ROWS)
    assert time.process_time() - began < 20


def test_long_chains_end_without_a_traceback() -> None:
    chain = [helper.make_node("Identity", [f"i{at}"], [f"i{at + 1}"]) for at in range(1500)]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["i0"]), *chain, helper.make_node("Identity", ["i1500"], ["y"])]
    assert pf.from_onnx(model(nodes, w=np.ones((4, 2))), ROWS).fidelity.deviation < 1e-3


def test_the_bound_of_a_result_is_its_size() -> None:
    def size(op: str, *shapes: tuple[int, ...]) -> float:
        return _largest(op, [np.broadcast_to(np.float32(0), shape) for shape in shapes])

    # A whole layer on unit vectors, as models are read.
    assert size("MatMul", (4096, 64, 64), (64, 256)) == 4096 * 64 * 256
    assert size("MatMul", (2, 1, 3, 4), (5, 4, 6)) == 2 * 5 * 3 * 6
    assert [size("MatMul", (4, 7), (7,)), size("MatMul", (7,), (7, 5)), size("MatMul", (7,), (7,))] == [4, 5, 1]
    assert size("Add", (5, 1), (1, 6)) == 30
    assert size("Concat", (5, 2), (5, 3)) == 25
