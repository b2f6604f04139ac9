"""Trees and linear classifiers of ai.onnx.ml, from the attributes of one node. A file can contain anything, so all attributes are checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ProgramError
from .forest import Ensemble, Tree
from .reading import Link, Reading

Floats = NDArray[np.float64]

MOST_NUMBERS = 1 << 27
"""Most numbers of one array: a gibibyte."""

NODES = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
"""Attributes with an entry for each node."""

WEIGHTS = ("treeids", "nodeids", "ids", "weights")
"""Attributes with an entry for each number in a leaf."""


def attributes(node: Any) -> dict[str, Any]:  # noqa: ANN401 - a node of onnx
    """A node's attributes by name."""
    from onnx import helper

    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def labels_of(own: dict[str, Any]) -> tuple[Any, ...]:
    """The names of a classifier's classes."""
    texts = [text.decode(errors="replace") for text in own.get("classlabels_strings", [])]
    numbers = own.get("classlabels_int64s", own.get("classlabels_ints", []))
    return tuple(texts or [int(number) for number in numbers])


def _unread(node: Any, why: str) -> ProgramError:  # noqa: ANN401 - a node of onnx
    return ProgramError(f"from_onnx: {node.op_type} {node.name or node.output[0]!r}: {why}; export the model again")


def _columns(node: Any, own: dict[str, Any], kind: str, names: tuple[str, ...]) -> dict[str, NDArray[Any]]:  # noqa: ANN401
    """The attributes `kind`_`name`, which must have equal lengths."""
    found = {name: np.asarray(own.get(f"{kind}_{name}", [])) for name in names}
    lengths = {name: len(values) for name, values in found.items()}
    if len(set(lengths.values())) != 1 or not all(lengths.values()):
        raise _unread(
            node,
            "its attributes have the lengths " + ", ".join(f"{n} ({kind}_{name})" for name, n in lengths.items()),
        )
    return found


def linear_classifier(node: Any, size: int, *, normalised: bool) -> tuple[Floats, Floats, Reading]:  # noqa: ANN401 - a node of onnx
    """The matrix and the bias of LinearClassifier on rows of `size` numbers, and the reading of its scores; `normalised` if its probabilities are."""
    own = attributes(node)
    labels, weights = labels_of(own), np.asarray(own.get("coefficients", []), dtype=float)
    rows, rest = divmod(len(weights), size)
    bias = np.asarray(own.get("intercepts", np.zeros(rows)), dtype=float)
    if rest or not rows or len(bias) != rows or rows not in (len(labels), 1 if len(labels) == 2 else -1):
        raise _unread(
            node,
            f"{len(weights)} coefficients, {len(bias)} intercepts and {len(labels)} labels do not fit rows of {size} numbers",
        )
    matrix = weights.reshape(rows, size)
    transform = bytes(own.get("post_transform", b"NONE")).decode(errors="replace")
    links: dict[str, Link] = {"SOFTMAX": "softmax", "LOGISTIC": "sigmoid" if normalised else "sigmoids"}
    link = links.get(transform, "identity")
    if rows == 2:
        opposite = np.array_equal(matrix[0], -matrix[1]) and bias[0] == -bias[1]
        if opposite:
            # The first class has the negated score of the second, as with a single row.
            matrix, bias, rows = matrix[1:], bias[1:], 1
        elif transform != "LOGISTIC":
            # The difference decides, and its sigmoid is the softmax of both.
            return (
                matrix[1:] - matrix[:1],
                bias[1:] - bias[:1],
                Reading("sigmoid" if link == "softmax" else link, labels),
            )
    if rows == 1 and link == "softmax":
        link = "half-logit"
    return matrix, bias, Reading(link, labels)


def trees(node: Any, features: int, *, normalised: bool) -> tuple[Ensemble, Reading]:  # noqa: ANN401 - a node of onnx
    """TreeEnsembleClassifier and TreeEnsembleRegressor; `normalised` if a later node normalises a classifier's probabilities."""
    own = attributes(node)
    classifier = node.op_type == "TreeEnsembleClassifier"
    if node.op_type not in ("TreeEnsembleClassifier", "TreeEnsembleRegressor"):
        raise ProgramError(
            f"from_onnx: {node.op_type}; export the model as TreeEnsembleClassifier or TreeEnsembleRegressor of ai.onnx.ml"
        )
    nodes = _columns(node, own, "nodes", NODES)
    leaves = _columns(node, own, "class" if classifier else "target", WEIGHTS)
    modes = np.asarray([mode.decode(errors="replace") for mode in own["nodes_modes"]])
    other = set(modes.tolist()) - {"BRANCH_LEQ", "BRANCH_LT", "LEAF"}
    if other:
        raise ProgramError(f"from_onnx: {node.op_type} with nodes of {other.pop()}; use BRANCH_LEQ or BRANCH_LT")
    labels = labels_of(own) if classifier else ()
    places = leaves["ids"]
    single = classifier and len(labels) == 2 and len(set(places.tolist())) == 1
    outputs = 1 if single else len(labels) or int(own.get("n_targets", 1))
    if outputs < 1 or outputs * len(modes) > MOST_NUMBERS:
        raise _unread(node, f"it has {outputs} outputs and {len(modes)} nodes")
    branch = modes != "LEAF"
    for what, taken in (
        (
            "a feature index outside 0 to " + str(features),
            branch & ((nodes["featureids"] < 0) | (nodes["featureids"] >= features)),
        ),
        ("a threshold that is not finite", branch & ~np.isfinite(nodes["values"])),
        ("a weight that is not finite", ~np.isfinite(leaves["weights"])),
        (
            f"an output index outside its {len(labels) or outputs}",
            (places < 0) | (places >= (len(labels) or outputs)),
        ),
    ):
        if taken.any():
            raise _unread(node, f"it has {what}, at place {int(np.argmax(taken))} of its lists")
    thresholds = nodes["values"].astype(np.float32)
    below = np.nextafter(thresholds, np.float32(-np.inf))
    thresholds = np.where(modes == "BRANCH_LT", below, thresholds).astype(float)
    made = [
        _tree(node, nodes, leaves, modes, thresholds, number, outputs, single=single)
        for number in sorted(set(nodes["treeids"].tolist()))
    ]
    base = np.zeros(outputs)
    given = np.asarray(own.get("base_values", []), dtype=float)
    if len(given) not in (0, 1, outputs, len(labels)) or not np.isfinite(given).all():
        raise _unread(node, f"its base values are {given.tolist()[:8]}, of {outputs} outputs")
    if len(given):
        base = base + given[-outputs:]
    aggregate = bytes(own.get("aggregate_function", b"SUM")).decode(errors="replace")
    if aggregate not in ("SUM", "AVERAGE"):
        raise ProgramError(f"from_onnx: {node.op_type} with aggregate_function {aggregate}; use SUM or AVERAGE")
    scale = 1 / len(made) if aggregate == "AVERAGE" else 1.0
    ensemble = Ensemble(tuple(made), base, features, scale, single=True)
    transform = bytes(own.get("post_transform", b"NONE")).decode(errors="replace")
    links: dict[str, Link] = {
        "SOFTMAX": "half-logit" if single else "softmax",
        "LOGISTIC": "sigmoid" if single or normalised else "sigmoids",
        "NONE": "normalise",
    }
    if transform not in (links if classifier else ("NONE",)):
        known = "NONE, LOGISTIC or SOFTMAX" if classifier else "NONE"
        raise ProgramError(f"from_onnx: {node.op_type} with post_transform {transform}; use {known}")
    if not classifier:
        return ensemble, Reading()
    return ensemble, Reading(links[transform], labels, 0.5 if single and transform == "NONE" else 0.0)


def _tree(
    node: Any,  # noqa: ANN401 - a node of onnx
    nodes: dict[str, NDArray[Any]],
    leaves: dict[str, NDArray[Any]],
    modes: NDArray[Any],
    thresholds: Floats,
    number: int,
    outputs: int,
    *,
    single: bool,
) -> Tree:
    """Tree `number`. Its first node is the root; every other node has at most one parent, so there are no cycles."""
    mine = np.flatnonzero(nodes["treeids"] == number)
    index = {int(own): at for at, own in enumerate(nodes["nodeids"][mine])}
    leaf = modes[mine] == "LEAF"
    left, right = (
        np.asarray(
            [
                0 if end else index.get(int(child), -1)
                for end, child in zip(leaf, nodes[f"{side}nodeids"][mine], strict=True)
            ]
        )
        for side in ("true", "false")
    )
    children = [*left[~leaf].tolist(), *right[~leaf].tolist()]
    if len(index) != len(mine) or min(children, default=1) < 1 or len(set(children)) != len(children):
        raise _unread(
            node, f"tree {number} is not a tree: a child is missing, or has two parents, or is its own parent"
        )
    values = np.zeros((len(mine), outputs))
    for at in np.flatnonzero(leaves["treeids"] == number):
        place = index.get(int(leaves["nodeids"][at]))
        if place is None:
            raise _unread(
                node, f"a weight belongs to node {leaves['nodeids'][at]} of tree {number}, which does not exist"
            )
        values[place, 0 if single else int(leaves["ids"][at])] += leaves["weights"][at]
    return Tree(np.where(leaf, -1, nodes["featureids"][mine]), thresholds[mine], left, right, values)
