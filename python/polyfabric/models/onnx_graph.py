"""Models in ONNX as networks and trees. The reference evaluator of `onnx` computes the operators.

A tensor is affine in the input and in the results of functions and products before it. Evaluating a linear operator on zeros and on
unit vectors gives its matrix; so all linear operators, convolutions and pooling included, need no code here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ProgramError
from . import onnx_composites as composites
from .choices import Core, Options, encrypted, expect_classes
from .model import table
from .network import ACTIVATIONS, Interval, Layer, Network, Sums
from .onnx_file import OnnxFile
from .onnx_operators import instead, named
from .onnx_trees import attributes, linear_classifier, trees
from .reading import Link, Reading, sigmoid
from .tensors import Layers, Tensor, expect_room

if TYPE_CHECKING:
    from .model import Model

Floats: TypeAlias = NDArray[np.float64]

SHAPING, SELECTING, MATRICES, FUNCTIONS = named("shape"), named("selection"), named("matrix"), named("function")

ADDING = ("Add", "Sub", "Sum", "Mean")
"""Linear operators of several encrypted operands."""

BROADCASTING = (*ADDING, "Mul", "Div", "Neg", "MatMul")
"""Linear operators that treat every index of a further first axis alike."""

SEVERAL = (*ADDING, "Concat", "MatMul", "Gemm", "Mul", "Einsum")
"""Operators of which any operand may be encrypted."""

OPERANDS = {"Where": (1, 2), "ScatterElements": (0, 2), "ScatterND": (0, 2), "TensorScatter": (0, 1)}
"""The operands that may be encrypted, if it is not the first alone."""

OF_ONE_NUMBER = FUNCTIONS | {"Add", "Sub", "Mul", "Div", "Neg", "Sum", "Identity", "Cast", "Dropout"}
"""Operators that are functions of one number if their other operands are public numbers."""

ONE_SIDED = ("Sqrt", "Log", "Reciprocal")
"""Functions without a value at 0, or on one side of it."""

ENDS: dict[str, Link] = {"Softmax": "softmax", "LogSoftmax": "softmax", "Sigmoid": "sigmoid"}
"""Final operators, which the client computes on decrypted scores."""

BEHIND = (*SHAPING, "ArgMax", "ArrayFeatureExtractor", "Normalizer")
"""Operators that may follow final ones: they choose or name the class with the highest score, or change the format."""


def from_onnx(
    model: Any,  # noqa: ANN401 - a path, bytes, or onnx.ModelProto
    rows: NDArray[Any],
    *,
    bits: int | Literal["exact"] = 8,
    value_bits: int | None = None,
    degree: int = 15,
    margin: float = 1.5,
    intervals: Mapping[str, Interval] | None = None,
    batch: int = 1,
) -> Model:
    """Converts a model in ONNX, a file or an `onnx.ModelProto`, to a program on encrypted rows.

    `rows` are sample data, rows first; each row has the shape of the model's input. The options are those of
    `from_sklearn`: `bits` and `value_bits` of tree ensembles, `degree`, `margin` and `batch` of networks. `intervals` states the intervals of
    functions by name, instead of the range that the rows show, widened by `margin`; the model's `approximations` lists all. A Softmax, Sigmoid or
    ArgMax at the end is computed by the client. Needs the package `onnx`.
    """
    options = Options(bits, value_bits, degree, margin, batch, intervals or {})
    return read(Graph.load(model), rows, options)


def read(graph: Graph, rows: Any, options: Options, own: Callable[[Floats], Any] | None = None) -> Model:  # noqa: ANN401 - the user's rows
    """The encrypted model of a graph, checked on rows against the graph's outputs, or against those of `own`."""
    data = table("from_onnx", rows)
    if data.ndim < 2 or data.size != len(data) * prod(graph.shape) or len(data) < 2:
        raise InputError(
            f"from_onnx: the rows are {' x '.join(map(str, data.shape)) or 'one number'}, but the model's input {graph.input!r} needs rows "
            f"of {' x '.join(map(str, graph.shape))}; give an array of at least 2 of these, rows first"
        )
    flat = data.reshape(len(data), -1)
    core, reading = graph.read()
    if isinstance(core, Network) and not all(np.isfinite(weights).all() for weights in core.weights()):
        raise ProgramError(
            "from_onnx: a weight of the model, or a value computed from its constants, is not finite; export or train it again"
        )
    expect_classes(reading)
    few = flat[:50]
    _expect_same(core, reading, few, np.asarray(graph.own_outputs(few)[0] if own is None else own(few)))
    return encrypted(graph.name, core, reading, flat, options)


class Graph(OnnxFile):
    """A graph of ONNX with one input, as layers."""

    def __init__(self, proto: Any) -> None:  # noqa: ANN401 - onnx has no types
        super().__init__(proto)
        self.makers = {name: at for at, node in enumerate(self.proto.graph.node) for name in node.output if name}
        """Index of the node that computes a value, by the value's name."""
        self.layers = Layers()

    def read(self) -> tuple[Core, Reading]:
        """The network or the trees, and the reading of their scores."""
        whole = prod(self.shape)
        given = Tensor(Sums({0: np.eye(whole)}, np.zeros(whole)), (1, *self.shape), self.kind)
        tensors = {self.input: given}
        reading = Reading()
        for node in self.proto.graph.node:
            with self.fitting(node):
                encrypted_operands = [name for name in node.input if name in tensors]
                nowhere = [name for name in node.input if name and name not in tensors and name not in self.constants]
                if nowhere:
                    raise self.unusable(node, f"it reads {nowhere[0]!r}, which no earlier node computes")
                if node.op_type in ("Shape", "Size") and encrypted_operands:
                    # The shape for one row, as the readers of this node are evaluated.
                    sample = np.zeros(tensors[node.input[0]].shape, dtype=np.float32)
                    self.constants[node.output[0]] = self.evaluated(node, [sample])[0]
                    continue
                if not encrypted_operands:
                    public = [self.constants[name] if name else None for name in node.input]
                    self.constants.update(zip(self.read_outputs(node), self.evaluated(node, public), strict=True))
                    continue
                if node.op_type.startswith("TreeEnsemble"):
                    if encrypted_operands != [self.input]:
                        raise self.refused(
                            node, "the trees read computed features", "the trees alone, on the client's features"
                        )
                    return trees(node, whole, normalised=self._normalised(node))
                if node.op_type == "LinearClassifier":
                    return self._linear_classifier(node, tensors[node.input[0]])
                ends = self._only_ends_follow(node)
                if ends and node.op_type in ENDS and self._is_of_all(node, tensors[node.input[0]]):
                    operand = tensors[node.input[0]]
                    size = operand.size
                    labels = tuple(range(2 if size == 1 else size))
                    reading = Reading(ENDS[node.op_type], labels)
                    if node.op_type == "Sigmoid":
                        reading = Reading("sigmoid" if self._normalised(node) else "sigmoids", labels)
                    tensors[node.output[0]] = tensors[node.input[0]]
                elif ends and node.op_type == "ArgMax":
                    reading = Reading(reading.link, tuple(range(max(2, tensors[node.input[0]].size))))
                    tensors[node.output[0]] = tensors[node.input[0]]
                elif ends and node.op_type == "ArrayFeatureExtractor" and node.input[0] in self.constants:
                    labels = tuple(self.constants[node.input[0]].reshape(-1).tolist())
                    reading = Reading(
                        reading.link, tuple(each.decode() if isinstance(each, bytes) else each for each in labels)
                    )
                    tensors[node.output[0]] = tensors[node.input[1]]
                elif ends and reading.classes is not None and (node.op_type in BEHIND or self._pairs(node)):
                    tensors[node.output[0]] = tensors[encrypted_operands[0]]
                else:
                    tensors.update(zip(self.read_outputs(node), self._node(node, tensors), strict=True))
        last = tensors.get(self.proto.graph.output[0].name) if self.proto.graph.output else None
        if last is None or not last.size:
            raise ProgramError("from_onnx: the model's output does not depend on its input; check the export")
        return self._network(last.sums), reading

    def _network(self, scores: Sums) -> Network:
        self.layers.append(Layer(scores))
        return Network(self.layers.read_by_the_last(), prod(self.shape))

    def _normalised(self, node: Any) -> bool:  # noqa: ANN401 - a node of onnx
        """Whether a later node normalises the numbers to a sum of 1."""
        return any(one.op_type == "Normalizer" for one in self.all_following(node))

    def _is_of_all(self, node: Any, operand: Tensor) -> bool:  # noqa: ANN401 - a node of onnx
        """Whether a softmax normalises all numbers of a row together, not several groups; other ends have none."""
        if node.op_type == "Sigmoid":
            return True
        given = self.evaluated(node, [np.zeros(operand.shape, dtype=operand.kind)])[0].astype(float)
        return abs((np.exp(given) if node.op_type == "LogSoftmax" else given).sum() - 1) < 1e-2

    def _only_ends_follow(self, node: Any) -> bool:  # noqa: ANN401 - a node of onnx
        """Whether the client can compute all nodes after this one."""
        return self._ends[self.makers[node.output[0]]]

    @cached_property
    def _ends(self) -> list[bool]:
        """For each node, whether the client can compute all that depend on it."""
        nodes = self.proto.graph.node
        found = [True] * len(nodes)
        readers: dict[str, list[int]] = {}
        for at in reversed(range(len(nodes))):
            after = [other for name in nodes[at].output for other in readers.get(name, [])]
            found[at] = all(found[one] and (nodes[one].op_type in BEHIND or self._pairs(nodes[one])) for one in after)
            for name in nodes[at].input:
                readers.setdefault(name, []).append(at)
        return found

    def _pairs(self, node: Any) -> bool:  # noqa: ANN401 - a node of onnx
        """Whether a node is one of the two that compute both classes' probabilities from the second's."""
        if node.op_type == "Concat" and len(node.input) == 2:
            first, second = node.input
            makers = [one for one in self.proto.graph.node if first in one.output]
            return (
                bool(makers) and makers[0].op_type == "Sub" and makers[0].input[1] == second and self._pairs(makers[0])
            )
        one = self.constants.get(node.input[0]) if node.op_type == "Sub" else None
        after = self.following(node)
        return one is not None and bool(np.all(one == 1)) and [each.op_type for each in after] == ["Concat"]

    def _node(self, node: Any, tensors: dict[str, Tensor]) -> list[Tensor]:  # noqa: ANN401 - a node of onnx
        operands = [tensors.get(name) for name in node.input]
        held = [operand for operand in operands if operand is not None]
        op, name = node.op_type, node.name or node.output[0]
        if op == "PRelu" and len(held) == 1 and operands[0] is not None and self.constants[node.input[1]].size > 1:
            return [self._rectified(node, held[0])]
        if op == "Pow" and len(held) == 1 and operands[0] is not None and np.all(self.constants[node.input[1]] == 2):
            return [self.layers.product(held[0], held[0], name)]
        public = [self.constants[one] for one in node.input if one and one not in tensors]
        if op in FUNCTIONS and len(held) == 1:
            if any(number.size > 1 for number in public):
                raise self.refused(node, "it has several public numbers for a row", "one public number for all")
            if op not in ("Max", "Min") or len(node.input) == 2:
                return [
                    self.layers.function(
                        held[0], self._function(node, held[0]), name, one_sided=self._is_one_sided(node)
                    )
                ]
        if (op == "Mul" and len(held) == 2) or (op == "Div" and operands[1] is not None):
            return [self._product(node, tensors, name)]
        if op in ("MatMul", "Gemm") and operands[0] is not None and operands[1] is not None:
            return [self._matrix_product(node, operands, name)]
        if op in named("composite"):
            if len(held) != 1 or operands[0] is None:
                raise self.refused(node, "its parameters are encrypted", "public parameters")
            return [self._composite(node, held[0], name)]
        allowed = range(len(operands)) if op in SEVERAL else OPERANDS.get(op, (0,))
        for place, operand in enumerate(operands):
            if op in SHAPING | SELECTING | MATRICES and operand is not None and place not in allowed:
                raise self.refused(node, f"its operand {node.input[place]!r} is encrypted", "a public one")
        if op == "Einsum" and len(held) > 1:
            raise self.refused(node, "several operands are encrypted", "MatMul, with Transpose and Reshape")
        if op in SHAPING:
            zero = self.evaluated(node, self._given(node, operands, {}))[0]
            return [replace(held[0], shape=zero.shape, kind=zero.dtype if zero.dtype.kind == "f" else held[0].kind)]
        if op in SELECTING:
            return self._selected(node, operands)
        if op in MATRICES:
            return [self._linear(node, operands)]
        raise self.refused(node, "this operator is not computed on encrypted numbers", instead(op))

    def _function(self, node: Any, operand: Tensor) -> Callable[[Floats], Floats]:  # noqa: ANN401 - a node of onnx
        public = [self.constants.get(name) for name in node.input]
        at = next(place for place, value in enumerate(public) if value is None)
        evaluate = self.evaluator(node)

        def function(numbers: Floats) -> Floats:
            flat = np.asarray(numbers, dtype=operand.kind)
            given = [*public[:at], flat, *public[at + 1 :]]
            return np.asarray(evaluate(given)[0], dtype=float).reshape(np.shape(numbers))

        return function

    def _are_numbers(self, node: Any, tensors: dict[str, Tensor]) -> bool:  # noqa: ANN401 - a node of onnx
        """Whether all public operands of a node are single numbers, and its result has the shape of its encrypted operand."""
        rank = min(len(tensors[name].shape) for name in node.input if name in tensors)
        public = (self.constants[name] for name in node.input if name and name not in tensors)
        return all(number.size == 1 and number.ndim <= rank for number in public)

    def _in_parts(
        self,
        head: Any,  # noqa: ANN401 - a node of onnx
        tensors: dict[str, Tensor],
    ) -> tuple[tuple[str, Tensor], Callable[[Floats], Floats]] | None:
        """A product or quotient of functions of one number as a single function. Exporters write SiLU as x * Sigmoid(x), and GELU similarly.
        Its argument is the last earlier value that determines all operands, number by number. Returns `None` if there is none."""
        reads, parts = {name for name in head.input if name in tensors}, [head]
        if head.op_type not in ("Mul", "Div"):
            return None
        # A public number divided by a value can end a longer function of an earlier value, such as Sigmoid from its formula.
        wanted, found = len(reads), None
        while True:
            if len(reads) == 1 and self._are_numbers(parts[-1], tensors):
                found = (next(iter(reads)), tuple(reversed(parts)))
            # The last computed value depends on none of the others.
            last = max(reads, key=lambda name: self.makers.get(name, -1))
            node = self.proto.graph.node[self.makers[last]] if last in self.makers else None
            if (wanted > 1 and found) or node is None or node.op_type not in OF_ONE_NUMBER or node.output[0] != last:
                break
            if not self._are_numbers(node, tensors):
                break
            reads = (reads - {last}) | {name for name in node.input if name in tensors}
            parts.append(node)
        if found is None or not self._are_numbers(head, tensors):
            return None
        source, steps = found
        operand, each = tensors[source], [self.evaluator(node) for node in steps]
        public = {name for node in steps for name in node.input if name and name not in tensors}
        given = {name: self.constants[name].reshape(()) for name in public}

        def function(numbers: Floats) -> Floats:
            values: dict[str, NDArray[Any]] = {**given, source: np.asarray(numbers, dtype=operand.kind)}
            for node, evaluate in zip(steps, each, strict=True):
                values[node.output[0]] = evaluate([values[name] if name else None for name in node.input])[0]
            return np.asarray(values[head.output[0]], dtype=float).reshape(np.shape(numbers))

        return (source, operand), function

    def _rectified(self, node: Any, tensor: Tensor) -> Tensor:  # noqa: ANN401 - a node of onnx
        """s x + (1 - s) max(x, 0), with a slope s for each number or channel: a rectifier and a matrix."""
        slope = self._broadcast(node, self.constants[node.input[1]], tensor)
        positive = self.layers.function(tensor, ACTIVATIONS["relu"], node.name or node.output[0])
        return tensor.times(slope).added(positive.times(1 - slope))

    def _broadcast(self, node: Any, numbers: NDArray[Any], tensor: Tensor) -> Floats:  # noqa: ANN401 - a node of onnx
        """Public numbers in a tensor's shape."""
        try:
            return np.broadcast_to(numbers, tensor.shape).astype(float)
        except ValueError:
            given, own = (" x ".join(map(str, shape)) for shape in (numbers.shape, tensor.shape))
            raise self.unusable(node, f"its numbers are {given}, of rows of {own}") from None

    def _is_one_sided(self, node: Any) -> bool:  # noqa: ANN401 - a node of onnx
        if node.op_type != "Pow" or node.input[1] not in self.constants:
            return node.op_type in ONE_SIDED
        exponent = float(self.constants[node.input[1]].reshape(-1)[0])
        return exponent < 0 or exponent != int(exponent)

    def _product(self, node: Any, tensors: dict[str, Tensor], name: str) -> Tensor:  # noqa: ANN401 - a node of onnx
        """A product of encrypted numbers, or a quotient by them."""
        first, second = node.input
        if node.op_type == "Mul" and first == second:
            return self.layers.product(tensors[first], tensors[first], name)
        made = self._in_parts(node, tensors)
        if made is not None:
            (source, operand), function = made
            return self.layers.function(operand, function, name, one_sided=node.op_type == "Div" and source == second)
        a, b = tensors.get(first), tensors.get(second)
        assert b is not None
        if node.op_type == "Mul":
            assert a is not None
            return self.layers.product(a, b, name)
        inverse = self.layers.function(b, lambda u: 1 / u, f"{name}.reciprocal", one_sided=True)
        if a is not None:
            return self.layers.product(a, inverse, name)
        public = self.constants[first]
        wide = inverse.at(np.broadcast_to(inverse.places, np.broadcast_shapes(inverse.shape, public.shape)))
        return wide.times(public)

    def _matrix_product(self, node: Any, operands: Sequence[Tensor | None], name: str) -> Tensor:  # noqa: ANN401 - a node of onnx
        a, b = operands[0], operands[1]
        assert a is not None
        assert b is not None
        if node.op_type == "MatMul":
            return composites.matrix_product(self.layers, a, b, name)
        own = attributes(node)
        a, b = (one.at(one.places.T) if own.get(key) else one for one, key in ((a, "transA"), (b, "transB")))
        product = composites.matrix_product(self.layers, a, b, name).times(own.get("alpha", 1.0))
        if len(node.input) < 3 or not node.input[2]:
            return product
        beta, third = own.get("beta", 1.0), operands[2]
        if third is not None:
            return product.added(third.like(product).times(beta))
        return product.plus(beta * self._broadcast(node, self.constants[node.input[2]], product))

    def _composite(self, node: Any, tensor: Tensor, name: str) -> Tensor:  # noqa: ANN401 - a node of onnx
        own, op, layers, rank = attributes(node), node.op_type, self.layers, len(tensor.shape)
        public = [self.constants[one] if one else None for one in node.input[1:]]
        axis = int(own.get("axis", -1)) % rank

        def scaled(numbers: Tensor, *, channels: bool) -> Tensor:
            """Times the operator's scale, plus its bias, if it has one."""
            shaped = [
                None if each is None else each.reshape(-1, *[1] * (rank - 2)) if channels else each for each in public
            ]
            scale = 1.0 if not shaped or shaped[0] is None else self._broadcast(node, shaped[0], numbers)
            made = numbers.times(scale)
            return made if len(shaped) < 2 or shaped[1] is None else made.plus(self._broadcast(node, shaped[1], made))

        if op in ("Softmax", "LogSoftmax"):
            if self.version < 13:
                axis = int(own.get("axis", 1)) % rank
                if prod(tensor.shape[axis + 1 :]) > 1:
                    raise self.refused(
                        node, "before version 13 it normalises several axes together", "a later opset_version"
                    )
            return composites.softmax(layers, tensor, axis, name, logarithm=op == "LogSoftmax")
        epsilon = float(own.get("epsilon", 1e-5))
        if op in ("LayerNormalization", "RMSNormalization"):
            centred, axes = op == "LayerNormalization", range(axis, rank)
            return scaled(composites.normalised(layers, tensor, axes, epsilon, name, centred=centred), channels=False)
        if op == "InstanceNormalization":
            return scaled(
                composites.normalised(layers, tensor, range(2, rank), epsilon, name, centred=True), channels=True
            )
        if op == "GroupNormalization":
            groups = int(own["num_groups"])
            if len(public[0]) == groups:
                public = [np.repeat(each, tensor.shape[1] // groups) for each in public]
            flat = replace(tensor, shape=(tensor.shape[0], groups, tensor.size // (groups * tensor.shape[0])))
            made = composites.normalised(layers, flat, [2], epsilon, name, centred=True)
            return scaled(replace(made, shape=tensor.shape), channels=True)
        if op == "MeanVarianceNormalization":
            axes = [int(each) % rank for each in own.get("axes", [0, 2, 3])]
            return composites.normalised(layers, tensor, axes, 0.0, name, centred=True)
        if op == "LpNormalization":
            if own.get("p", 2) != 2:
                raise self.refused(node, f"its norm is of degree {own['p']}", "p=2")
            total = layers.product(tensor, tensor, name).total([axis])
            return layers.product(
                tensor, layers.function(total, lambda u: u**-0.5, f"{name}.rsqrt", one_sided=True), name
            )
        return self._reduced(node, tensor, own, name)

    def _reduced(self, node: Any, tensor: Tensor, own: Mapping[str, Any], name: str) -> Tensor:  # noqa: ANN401 - a node of onnx
        """Norms and logarithms of sums along axes."""
        op, rank = node.op_type, len(tensor.shape)
        given = own.get("axes")
        if len(node.input) > 1 and node.input[1]:
            given = self.constants[node.input[1]].reshape(-1).tolist()
        if not given and own.get("noop_with_empty_axes"):
            raise self.refused(node, "it has no axes", "axes")
        axes = [int(axis) % rank for axis in given] if given else [*range(rank)]
        if op == "ReduceLogSumExp":
            tensor = self.layers.function(tensor, np.exp, f"{name}.exp")
        elif op != "ReduceLogSum":
            tensor = self.layers.product(tensor, tensor, name)
        total = tensor.total(axes)
        if op == "ReduceL2":
            total = self.layers.function(total, np.sqrt, f"{name}.sqrt", one_sided=True)
        elif op in ("ReduceLogSum", "ReduceLogSumExp"):
            total = self.layers.function(total, np.log, f"{name}.log", one_sided=True)
        kept = (
            total.shape
            if own.get("keepdims", 1)
            else tuple(n for axis, n in enumerate(total.shape) if axis not in axes)
        )
        return replace(total, shape=kept)

    # -- linear operators -----------------------------------------------------------------------------------------

    def _given(
        self,
        node: Any,  # noqa: ANN401 - a node of onnx
        operands: Sequence[Tensor | None],
        chosen: Mapping[int, NDArray[Any]],
    ) -> list[NDArray[Any] | None]:
        """The node's operands, with the chosen values of encrypted ones and zeros for the others."""
        return [
            (self.constants[name] if name else None)
            if operand is None
            else chosen[place].astype(operand.kind)
            if place in chosen
            else np.zeros(operand.shape, dtype=operand.kind)
            for place, (name, operand) in enumerate(zip(node.input, operands, strict=True))
        ]

    def _selected(self, node: Any, operands: Sequence[Tensor | None]) -> list[Tensor]:  # noqa: ANN401 - a node of onnx
        """The results of an operator that moves numbers: it is evaluated on the numbers' places, once forwards and once backwards."""
        evaluator = self.evaluator(node)

        def evaluate(chosen: Mapping[int, NDArray[Any]]) -> list[NDArray[Any]]:
            # Doubles hold every place, and the operators treat all types alike.
            wide = [None if operand is None else replace(operand, kind=np.dtype(float)) for operand in operands]
            given = self._given(node, wide, chosen)
            return evaluator(
                [each.astype(float) if each is not None and each.dtype.kind == "f" else each for each in given]
            )

        zeros = evaluate({})
        biases, terms = [zero.reshape(-1).astype(float) for zero in zeros], [{} for _ in zeros]
        for place, operand in enumerate(operands):
            if operand is None:
                continue
            forwards, backwards = (
                evaluate({place: numbers.reshape(operand.shape)})
                for numbers in (np.arange(1, operand.size + 1), np.arange(operand.size, 0, -1))
            )
            for result, zero in enumerate(zeros):
                found, back = forwards[result].reshape(-1), backwards[result].reshape(-1)
                used = np.flatnonzero((found != zero.reshape(-1)) | (back != zero.reshape(-1)))
                if not np.array_equal(found[used] + back[used], np.full(len(used), operand.size + 1.0)):
                    raise self.refused(node, "it also computes with the numbers that it moves", "separate operators")
                source = found[used].astype(int) - 1
                biases[result][used] = operand.sums.bias[source]
                for value, matrix in operand.sums.terms.items():
                    expect_room(len(found), matrix.shape[1])
                    own = terms[result].setdefault(value, np.zeros((len(found), matrix.shape[1])))
                    own[used] = matrix[source]
        kind = next(operand.kind for operand in operands if operand is not None)
        return [Tensor(Sums(own, bias), zero.shape, kind) for own, bias, zero in zip(terms, biases, zeros, strict=True)]

    def _linear(self, node: Any, operands: Sequence[Tensor | None]) -> Tensor:  # noqa: ANN401 - a node of onnx
        evaluate = self.evaluator(node)
        zero = evaluate(self._given(node, operands, {}))[0]
        offset = zero.reshape(-1).astype(float)
        terms: dict[int, Floats] = {}
        bias = offset.copy()
        for place, operand in enumerate(operands):
            if operand is None:
                continue
            expect_room(len(offset), operand.size)
            unit = np.eye(operand.size)
            further = node.op_type in BROADCASTING and zero.ndim == len(operand.shape) >= 2
            columns = None
            if further or (operand.shape[:1] == zero.shape[:1] == (1,) and node.op_type != "Einsum"):
                shape = (operand.size, *operand.shape) if further else (operand.size, *operand.shape[1:])
                columns = evaluate(self._given(node, operands, {place: unit.reshape(shape)}))[0]
            if columns is None or len(columns) != operand.size:
                columns = np.stack(
                    [evaluate(self._given(node, operands, {place: one.reshape(operand.shape)}))[0] for one in unit]
                )
            # Infinite numbers mask what a softmax then leaves out.
            with np.errstate(invalid="ignore"):
                matrix = columns.reshape(operand.size, -1).astype(float).T - offset[:, None]
                bias += matrix @ operand.sums.bias
                for source, own in operand.sums.terms.items():
                    terms[source] = terms.get(source, 0) + matrix @ own
        return Tensor(Sums(terms, bias), zero.shape, zero.dtype)

    def _linear_classifier(self, node: Any, tensor: Tensor) -> tuple[Network, Reading]:  # noqa: ANN401 - a node of onnx
        matrix, bias, reading = linear_classifier(node, tensor.size, normalised=self._normalised(node))
        scores = tensor.transformed(matrix, (1, len(matrix))).plus(bias)
        return self._network(scores.sums), reading


def _expect_same(core: Core, reading: Reading, rows: Floats, own: NDArray[Any]) -> None:
    """Refuses a model whose outputs differ from those of the network or trees read from it."""
    with np.errstate(all="ignore"):
        found = core.scores(rows)
    if reading.classes is not None and own.size == len(rows) and (len(reading.classes) > 2 or own.dtype.kind in "iUOS"):
        differing = reading.predictions(found) != own.reshape(-1)
    else:
        ours = found
        if reading.link == "softmax":
            ours = reading.probabilities(found)
            own = np.exp(own) if (own <= 0).all() else own
        elif reading.link in ("sigmoid", "sigmoids"):
            ours = sigmoid(found)
        if own.size != ours.size:
            raise ProgramError(
                f"from_onnx: for {len(rows)} rows the model gives {' x '.join(map(str, own.shape))} numbers, not {' x '.join(map(str, ours.shape))}: it combines rows, or its output is not "
                "an array with rows first; export it without operators along axis 0"
            )
        own = own.reshape(len(rows), -1)
        # By column, since a small output may be next to a large one. What is no number differs.
        with np.errstate(all="ignore"):
            near = np.abs(ours - own) <= 1e-3 * (np.abs(own).max(axis=0) + 1e-6)
        differing = ~near.all(axis=1) | ~np.isfinite(own).all(axis=1)
    if np.mean(differing) > 0.02:
        raise ProgramError(
            f"from_onnx: for row {int(np.argmax(differing))} the model gives {own[int(np.argmax(differing))]}, but its nodes as "
            "read differ; a Cast to integers rounds them, or an operator depends on a row's index: export the model with an open number of rows"
        )
