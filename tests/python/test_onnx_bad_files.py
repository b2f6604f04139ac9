"""Damaged models in ONNX are read or refused, with an error of the package and never another."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from rejects import rejects
from test_onnx_operators import CASES, PRODUCTS, built, numpy_helper, onnx, samples, version_of

INTEGERS = (0, -1, 5, 9, 1 << 40, -(1 << 62))
NUMBERS = (np.nan, np.inf, -np.inf, 0.0, 1e38)


def damaged(model: Any, rng: random.Random) -> None:
    """Changes an operator, an operand, an attribute or a constant."""
    node = rng.choice(model.graph.node)
    names = ["x", "", "missing", *(one.name for one in model.graph.initializer)]
    change = rng.randrange(8)
    if change == 0:
        node.op_type = rng.choice([*CASES, "If", "Unknown"])
    elif change == 1:
        node.input.append(rng.choice(names))
    elif change == 2 and node.input:
        at = rng.randrange(len(node.input))
        if rng.random() < 0.5:
            del node.input[at]
        else:
            node.input[at] = rng.choice(names)
    elif change == 3 and node.attribute:
        one = rng.choice(node.attribute)
        if rng.random() < 0.3:
            node.attribute.remove(one)
        elif one.type == onnx.AttributeProto.INT:
            one.i = rng.choice(INTEGERS)
        elif one.type == onnx.AttributeProto.INTS:
            one.ints[:] = [rng.choice(INTEGERS) for _ in range(rng.randrange(5))]
        elif one.type == onnx.AttributeProto.FLOAT:
            one.f = rng.choice(NUMBERS)
    elif change == 4 and model.graph.initializer:
        one = rng.choice(model.graph.initializer)
        array = numpy_helper.to_array(one).copy()
        if array.size and array.dtype.kind in "if":
            array.flat[rng.randrange(array.size)] = rng.choice(INTEGERS if array.dtype.kind == "i" else NUMBERS)
        one.CopyFrom(numpy_helper.from_array(array, one.name))
    elif change == 5 and model.graph.initializer:
        one = rng.choice(model.graph.initializer)
        array = numpy_helper.to_array(one)
        others = (array.reshape(-1), array[None], np.zeros(0, array.dtype), array.astype(np.float32))
        one.CopyFrom(numpy_helper.from_array(rng.choice(others), one.name))
    elif change == 6:
        node.output[:] = rng.choice(([], [""], ["x"]))
    elif change == 7:
        model.graph.input[0].type.tensor_type.elem_type = rng.choice((0, 7, 9, 33, -1))


def count(seed: int, models: int) -> tuple[int, int]:
    """How many damaged models were read, and how many refused."""
    rng, read, refused = random.Random(seed), 0, 0
    pool = [*CASES.items(), *PRODUCTS.items()]
    for _ in range(models):
        name, (nodes, shape, constants) = rng.choice(pool)
        model = built(nodes, shape, constants, version_of(name))
        for _ in range(rng.randrange(1, 4)):
            damaged(model, rng)
        try:
            pf.from_onnx(model, samples(shape, 4), degree=3)
            read += 1
        except pf.errors.Error:
            refused += 1
    return read, refused


def test_names_that_are_no_text_are_named() -> None:
    """Protocol buffers keep them as bytes."""
    nodes = [("Reshape", "x sizes", "r"), ("Relu", "r", "y")]
    written = built(nodes, (4,), {"sizes": np.array([-1, 4])}).SerializeToString()
    pf.from_onnx(written, samples((4,), 4), degree=3)
    for name in (b"Reshape", b"Relu", b"sizes"):
        with rejects(pf.errors.ProgramError, repr(name[:-1] + b"\xff")):
            pf.from_onnx(written.replace(name, name[:-1] + b"\xff"), samples((4,), 4), degree=3)


def test_damaged_models() -> None:
    read, refused = count(0, 40)
    assert read
    assert refused


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1, 5))
def test_many_damaged_models(seed: int) -> None:
    read, refused = count(seed, 400)
    assert read
    assert refused
