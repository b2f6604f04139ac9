"""Models in ONNX as networks and trees. The reference evaluator of `onnx` computes the operators.

A tensor is affine in the input and in the results of activations before it. Evaluating a linear operator on zeros and on
unit vectors gives its matrix; so all linear operators, convolutions and pooling included, need no code here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isqrt, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError, InputError, ProgramError
from .choices import Core, Options, encrypted, expect_classes
from .model import table
from .network import ACTIVATIONS as FUNCTIONS
from .network import Layer, Network
from .onnx_trees import MOST_NUMBERS, linear_classifier, trees
from .reading import Link, Reading, sigmoid

if TYPE_CHECKING:
    from .model import Model

Floats: TypeAlias = NDArray[np.float64]

RESHAPING = ("Flatten", "Reshape", "Squeeze", "Unsqueeze", "Identity", "Dropout", "Cast")
"""Operators that only change the shape."""

BY_ROW = ("Transpose", "Slice", "Gather", "Concat", "Pad", "Expand", "Split")
"""Linear operators whose result can depend on a row's index; rows are evaluated one by one."""

LINEAR = (
    *("Gemm", "MatMul", "Add", "Sub", "Mul", "Div", "Neg", "Sum", "Mean", "Conv", "ConvTranspose"),
    *("AveragePool", "GlobalAveragePool", "BatchNormalization", "ReduceMean", "ReduceSum"),
    *("Scaler", "LinearRegressor"),
)
"""Linear operators that treat every row alike."""

ACTIVATIONS = (
    *(
        "Relu",
        "LeakyRelu",
        "PRelu",
        "Sigmoid",
        "Tanh",
        "Elu",
        "Selu",
        "Celu",
        "Softplus",
        "Softsign",
        "Gelu",
        "Erf",
        "Exp",
    ),
    *(
        "Log",
        "Abs",
        "Sqrt",
        "Reciprocal",
        "Clip",
        "HardSigmoid",
        "HardSwish",
        "Swish",
        "Mish",
        "Sin",
        "Cos",
        "ThresholdedRelu",
    ),
)
"""Functions of one number; polynomials approximate them."""

OF_ONE_NUMBER = (
    *ACTIVATIONS,
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Neg",
    "Sum",
    "Pow",
    "Max",
    "Min",
    "Identity",
    "Cast",
    "Dropout",
)
"""Operators that are functions of one number if their other operands are public numbers."""

ENDS: dict[str, Link] = {"Softmax": "softmax", "LogSoftmax": "softmax", "Sigmoid": "sigmoid"}
"""Final operators, which the client computes on decrypted scores."""

BEHIND = (*RESHAPING, "ArgMax", "ArrayFeatureExtractor", "Normalizer")
"""Operators that may follow final ones: they choose or name the class with the highest score, or change the format."""

INSTEAD = {
    "MaxPool": "AveragePool, which is linear",
    "GlobalMaxPool": "GlobalAveragePool, which is linear",
    "LayerNormalization": "BatchNormalization, whose parameters are public",
    "InstanceNormalization": "BatchNormalization, whose parameters are public",
    "LSTM": "a convolution over the sequence",
    "GRU": "a convolution over the sequence",
    "Softmax": "it only as the last operator, which the client computes",
    "ArgMax": "it only as the last operator, which the client computes",
    "Max": "Relu or Clip, of one number",
    "Min": "Clip, of one number",
    "Where": "activations such as Relu and Clip, of one number",
    "Greater": "activations such as Relu and Clip, of one number",
    "Less": "activations such as Relu and Clip, of one number",
    "QuantizeLinear": "the model before quantisation",
    "DynamicQuantizeLinear": "the model before quantisation",
}


def from_onnx(
    model: Any,  # noqa: ANN401 - a path, bytes, or onnx.ModelProto
    rows: NDArray[Any],
    *,
    bits: int | Literal["exact"] = 8,
    value_bits: int | None = None,
    degree: int = 15,
    margin: float = 1.5,
    batch: int = 1,
) -> Model:
    """Converts a model in ONNX, a file or an `onnx.ModelProto`, to a program on encrypted rows.

    `rows` are sample data, rows first; each row has the shape of the model's input. The options are those of
    `from_sklearn`: `bits` and `value_bits` of tree ensembles, `degree`, `margin` and `batch` of networks. A Softmax, Sigmoid or ArgMax at
    the end is computed by the client. Needs the package `onnx`.
    """
    graph = _Graph.load(model)
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
    _expect_same(graph, core, reading, flat)
    return encrypted(graph.name, core, reading, flat, Options(bits, value_bits, degree, margin, batch))


@dataclass(frozen=True)
class _Tensor:
    """Numbers of a row as matrices times earlier values plus a bias; flat, with their shape without rows."""

    terms: dict[int, Floats]
    bias: Floats
    shape: tuple[int, ...]
    kind: np.dtype[Any]
    """The model's number type for it."""


class _Graph:
    """A graph of ONNX with one input."""

    def __init__(self, proto: Any) -> None:  # noqa: ANN401 - onnx has no types
        from onnx import TensorProto, checker, helper, numpy_helper

        self.proto = _without_maps(proto)
        self.name = proto.graph.name or "onnx"
        self.constants: dict[str, NDArray[Any]] = {}
        for tensor in proto.graph.initializer:
            try:
                self.constants[tensor.name] = numpy_helper.to_array(tensor)
            except (ValueError, TypeError, OSError, checker.ValidationError) as problem:
                raise ProgramError(
                    f"from_onnx: the weights {tensor.name!r} cannot be read ({problem}); export the model again, or give the path of its file next "
                    "to them"
                ) from None
        inputs = [value for value in proto.graph.input if value.name not in self.constants]
        if len(inputs) != 1:
            raise ProgramError(
                f"from_onnx: the model has {len(inputs)} inputs; give one with one input, joined from the parts"
            )
        self.input = inputs[0].name
        sizes = [dimension.dim_value for dimension in inputs[0].type.tensor_type.shape.dim]
        if len(sizes) < 2:
            raise ProgramError(
                f"from_onnx: input {self.input!r} has {len(sizes)} dimensions; export the model with rows as the first of at least two"
            )
        if any(size < 1 for size in sizes[1:]):
            raise ProgramError(
                f"from_onnx: the shape of input {self.input!r} is open in more than the rows; export the model with fixed sizes"
            )
        self.shape = tuple(sizes[1:])
        self.rows = sizes[0]
        """Number of rows of the input; 0 if it is open."""
        if prod(self.shape) ** 2 > MOST_NUMBERS:
            raise ProgramError(
                f"from_onnx: input {self.input!r} has rows of {prod(self.shape)} numbers, but at most {isqrt(MOST_NUMBERS)} are supported; reduce them "
                "before training"
            )
        given = helper.tensor_dtype_to_np_dtype(inputs[0].type.tensor_type.elem_type or TensorProto.FLOAT)
        self.kind = given if given.kind == "f" else np.dtype(np.float32)
        self.makers = {name: at for at, node in enumerate(proto.graph.node) for name in node.output if name}
        """Index of the node that computes a value, by the value's name."""
        self.layers: list[Layer] = []
        self.sizes = [prod(self.shape)]

    @classmethod
    def load(cls, model: Any) -> _Graph:  # noqa: ANN401 - a path, bytes, or onnx.ModelProto
        """The graph of a file, of its bytes, or of a model in memory."""
        try:
            import onnx
            from google.protobuf.message import DecodeError
        except ImportError:
            raise ProgramError("from_onnx needs the package onnx; install it with: pip install onnx") from None
        if isinstance(model, onnx.ModelProto):
            return cls(model)
        what = "the bytes" if isinstance(model, bytes) else str(model)
        try:
            proto = onnx.load_from_string(model) if isinstance(model, bytes) else onnx.load(str(Path(model)))
        except OSError as problem:
            raise FileError(f"{what}: cannot read ({problem.strerror}); check the path") from None
        except TypeError:
            raise InputError(
                f"from_onnx: the model is {type(model).__name__}; give a path or an onnx.ModelProto"
            ) from None
        except (ValueError, onnx.checker.ValidationError) as problem:
            raise FileError(
                f"{what}: cannot read the weights in another file ({problem}); put that file next to this one"
            ) from None
        except DecodeError as problem:
            raise FileError(f"{what}: not a model in ONNX ({problem}); export it again") from None
        if not proto.graph.node:
            raise FileError(f"{what}: not a model in ONNX (it has no operators); export it again")
        return cls(proto)

    # -- evaluation of nodes -------------------------------------------------------------------------------------

    def evaluated(self, node: Any, operands: Sequence[NDArray[Any] | None]) -> list[NDArray[Any]]:  # noqa: ANN401 - a node of onnx
        """The results of one node."""
        from onnx import TensorProto, helper
        from onnx.reference import ReferenceEvaluator

        given = {name: value for name, value in zip(node.input, operands, strict=True) if name and value is not None}
        graph = helper.make_graph(
            [node],
            "node",
            [
                helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), None)
                for name, value in given.items()
            ],
            [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in self.read_outputs(node)],
        )
        single = helper.make_model(graph, opset_imports=self.proto.opset_import)
        try:
            with np.errstate(all="ignore"):
                return [np.asarray(result) for result in ReferenceEvaluator(single).run(None, given)]
        except Exception as problem:
            # The evaluator, or numpy below it, raises any exception for wrong models: it has no error class.
            of = ", ".join(" x ".join(map(str, value.shape)) or "one number" for value in given.values())
            raise self._unusable(node, f"the package onnx cannot evaluate it on {of} ({problem})") from None

    def read_outputs(self, node: Any) -> list[str]:  # noqa: ANN401 - a node of onnx
        """The results of a node that others can read: only the first, except for Split."""
        return [name for name in node.output if name] if node.op_type == "Split" else [node.output[0]]

    def _unusable(self, node: Any, why: str) -> ProgramError:  # noqa: ANN401 - a node of onnx
        where = f"{node.op_type} {node.name or node.output[0]!r}"
        return ProgramError(
            f"from_onnx: {where}: {why}; correct the model: onnx.checker.check_model(model, full_check=True) reports the cause"
        )

    def own_outputs(self, rows: Floats) -> list[Any]:
        """The model's own outputs for rows."""
        from onnx.reference import ReferenceEvaluator

        try:
            with np.errstate(all="ignore"):
                return self._own(ReferenceEvaluator(self.proto), rows)
        except Exception as problem:
            # The evaluator, or numpy below it, raises any exception for wrong models: it has no error class.
            raise ProgramError(
                f"from_onnx: the package onnx cannot evaluate the model ({str(problem).partition(' in')[0]}); export it with operators "
                "of standard ONNX"
            ) from None

    def _own(self, evaluator: Any, rows: Floats) -> list[Any]:  # noqa: ANN401 - onnx has no types
        shaped = rows.astype(self.kind).reshape(-1, *self.shape)
        if self.rows == 1:
            each = [evaluator.run(None, {self.input: row[None]}) for row in shaped]
            return [np.concatenate([np.atleast_1d(own[i]) for own in each]) for i in range(len(each[0]))]
        return evaluator.run(None, {self.input: shaped})

    # -- reading --------------------------------------------------------------------------------------------------

    def read(self) -> tuple[Core, Reading]:
        """The network or the trees, and the reading of their scores."""
        whole = prod(self.shape)
        tensors: dict[str, _Tensor] = {self.input: _Tensor({0: np.eye(whole)}, np.zeros(whole), self.shape, self.kind)}
        reading = Reading()
        for node in self.proto.graph.node:
            encrypted_operands = [name for name in node.input if name in tensors]
            nowhere = [name for name in node.input if name and name not in tensors and name not in self.constants]
            if nowhere:
                raise self._unusable(node, f"it reads {nowhere[0]!r}, which no earlier node computes")
            if node.op_type in ("Shape", "Size") and encrypted_operands:
                # The shape for one row, as the readers of this node are evaluated.
                sample = np.zeros((1, *tensors[node.input[0]].shape), dtype=np.float32)
                self.constants[node.output[0]] = self.evaluated(node, [sample])[0]
                continue
            if not encrypted_operands:
                public = [self.constants[name] if name else None for name in node.input]
                self.constants.update(zip(self.read_outputs(node), self.evaluated(node, public), strict=True))
                continue
            if node.op_type.startswith("TreeEnsemble"):
                if encrypted_operands != [self.input]:
                    raise self._refused(
                        node, "the trees read computed features", "the trees alone, on the client's features"
                    )
                return trees(node, whole, normalised=self._normalised(node))
            if node.op_type == "LinearClassifier":
                return self._linear_classifier(node, tensors[node.input[0]])
            ends = self._only_ends_follow(node)
            if ends and node.op_type in ENDS:
                operand = tensors[node.input[0]]
                size = len(operand.bias)
                labels = tuple(range(2 if size == 1 else size))
                reading = Reading(ENDS[node.op_type], labels)
                if node.op_type == "Sigmoid":
                    reading = Reading("sigmoid" if self._normalised(node) else "sigmoids", labels)
                elif not self._is_of_all(node, operand):
                    raise self._refused(
                        node,
                        "it computes probabilities within several groups of numbers",
                        "it on all numbers of a row at once",
                    )
                tensors[node.output[0]] = tensors[node.input[0]]
            elif ends and node.op_type == "ArgMax":
                reading = Reading(reading.link, tuple(range(max(2, len(tensors[node.input[0]].bias)))))
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
        if last is None:
            raise ProgramError("from_onnx: the model's output does not depend on its input; check the export")
        self.layers.append(Layer(last.terms, last.bias))
        return Network(_read_by_the_last(self.layers), whole), reading

    def _following(self, node: Any) -> list[Any]:  # noqa: ANN401 - a node of onnx
        return [other for other in self.proto.graph.node if set(node.output) & set(other.input)]

    def _normalised(self, node: Any) -> bool:  # noqa: ANN401 - a node of onnx
        """Whether a later node normalises the numbers to a sum of 1."""
        return any(one.op_type == "Normalizer" or self._normalised(one) for one in self._following(node))

    def _is_of_all(self, node: Any, operand: _Tensor) -> bool:  # noqa: ANN401 - a node of onnx
        """Whether a softmax normalises all numbers of a row together, not several groups."""
        given = self.evaluated(node, [np.zeros((1, *operand.shape), dtype=operand.kind)])[0].astype(float)
        return abs((np.exp(given) if node.op_type == "LogSoftmax" else given).sum() - 1) < 1e-2

    def _only_ends_follow(self, node: Any) -> bool:  # noqa: ANN401 - a node of onnx
        """Whether the client can compute all nodes after this one."""
        following = self._following(node)
        return all((one.op_type in BEHIND or self._pairs(one)) and self._only_ends_follow(one) for one in following)

    def _pairs(self, node: Any) -> bool:  # noqa: ANN401 - a node of onnx
        """Whether a node is one of the two that compute both classes' probabilities from the second's."""
        if node.op_type == "Concat" and len(node.input) == 2:
            first, second = node.input
            makers = [one for one in self.proto.graph.node if first in one.output]
            return (
                bool(makers) and makers[0].op_type == "Sub" and makers[0].input[1] == second and self._pairs(makers[0])
            )
        one = self.constants.get(node.input[0]) if node.op_type == "Sub" else None
        after = self._following(node)
        return one is not None and bool(np.all(one == 1)) and [each.op_type for each in after] == ["Concat"]

    def _refused(self, node: Any, why: str, remedy: str) -> ProgramError:  # noqa: ANN401 - a node of onnx
        where = f"{node.op_type} {node.name or node.output[0]!r}"
        return ProgramError(f"from_onnx: {where}: {why}; use {remedy}")

    def _node(self, node: Any, tensors: dict[str, _Tensor]) -> list[_Tensor]:  # noqa: ANN401 - a node of onnx
        operands = [tensors.get(name) for name in node.input]
        held = [operand for operand in operands if operand is not None]
        op = node.op_type
        if op == "PRelu" and len(held) == 1 and operands[0] is not None and self.constants[node.input[1]].size > 1:
            return [self._rectified(node, held[0])]
        public = [self.constants[name] for name in node.input if name and name not in tensors]
        if op in (*ACTIVATIONS, "Pow") and len(held) == 1 and any(number.size > 1 for number in public):
            squared = op == "Pow" and operands[0] is not None and bool(np.all(public[0] == 2))
            if not squared:
                raise self._refused(node, "it has several public numbers for a row", "one public number for all")
        if (op in ACTIVATIONS and len(held) == 1) or self._of_one_number(node, operands):
            return [self._activated(held[0], self._function(node, held[0]))]
        if len(held) == 2 and op == "Mul" and node.input[0] == node.input[1]:
            return [self._activated(held[0], None)]
        if op == "Pow" and len(held) == 1:
            if operands[0] is not None and np.all(self.constants[node.input[1]] == 2):
                return [self._activated(held[0], None)]
            return [self._activated(held[0], self._function(node, held[0]))]
        if (op in ("Mul", "Div", "MatMul", "Gemm", "Conv") and len(held) != 1) or (op == "Div" and operands[0] is None):
            made = self._in_parts(node, tensors)
            if made is None:
                raise self._refused(
                    node,
                    "it multiplies or divides by encrypted values",
                    "a layer with public weights, or an activation, that multiplies functions of the same number",
                )
            operand, function = made
            return [self._activated(operand, function)]
        if op not in (*RESHAPING, *BY_ROW, *LINEAR):
            raise self._refused(
                node,
                "this operator is neither linear nor a function of one number",
                INSTEAD.get(op, f"{', '.join(LINEAR)}, and activations such as Relu and Tanh"),
            )
        return [self._linear(node, operands, result) for result in range(len(self.read_outputs(node)))]

    def _of_one_number(self, node: Any, operands: Sequence[_Tensor | None]) -> bool:  # noqa: ANN401 - a node of onnx
        """Whether the node is the maximum or minimum of a number and a public one, as exporters write rectifiers."""
        public = [self.constants[name] for name, operand in zip(node.input, operands, strict=True) if operand is None]
        return (
            node.op_type in ("Max", "Min")
            and len(node.input) == 2
            and all(number.size == 1 for number in public)
            and len(public) == 1
        )

    def _function(self, node: Any, operand: _Tensor) -> Callable[[Floats], Floats]:  # noqa: ANN401 - a node of onnx
        public = [self.constants.get(name) for name in node.input]
        at = next(place for place, value in enumerate(public) if value is None)

        def function(numbers: Floats) -> Floats:
            flat = np.asarray(numbers, dtype=operand.kind)
            given = [*public[:at], flat, *public[at + 1 :]]
            return np.asarray(self.evaluated(node, given)[0], dtype=float).reshape(np.shape(numbers))

        return function

    def _are_numbers(self, node: Any, tensors: dict[str, _Tensor]) -> bool:  # noqa: ANN401 - a node of onnx
        """Whether all public operands of a node are single numbers, and its result has the shape of its encrypted operand."""
        rank = 1 + min(len(tensors[name].shape) for name in node.input if name in tensors)
        public = (self.constants[name] for name in node.input if name and name not in tensors)
        return all(number.size == 1 and number.ndim <= rank for number in public)

    def _in_parts(
        self,
        head: Any,  # noqa: ANN401 - a node of onnx
        tensors: dict[str, _Tensor],
    ) -> tuple[_Tensor, Callable[[Floats], Floats]] | None:
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
        operand = tensors[source]
        public = {name for node in steps for name in node.input if name and name not in tensors}
        given = {name: self.constants[name].reshape(()) for name in public}

        def function(numbers: Floats) -> Floats:
            values: dict[str, NDArray[Any]] = {**given, source: np.asarray(numbers, dtype=operand.kind)}
            for node in steps:
                values[node.output[0]] = self.evaluated(node, [values[name] if name else None for name in node.input])[
                    0
                ]
            return np.asarray(values[head.output[0]], dtype=float).reshape(np.shape(numbers))

        return operand, function

    def _rectified(self, node: Any, tensor: _Tensor) -> _Tensor:  # noqa: ANN401 - a node of onnx
        """s x + (1 - s) max(x, 0), with a slope s for each number or channel: a rectifier and a matrix."""
        try:
            slope = np.broadcast_to(self.constants[node.input[1]], (1, *tensor.shape)).reshape(-1).astype(float)
        except ValueError:
            given = " x ".join(map(str, self.constants[node.input[1]].shape))
            raise self._unusable(
                node, f"its slopes are {given}, of rows of {' x '.join(map(str, tensor.shape))}"
            ) from None
        positive = self._activated(tensor, FUNCTIONS["relu"])
        terms = {source: slope[:, None] * matrix for source, matrix in tensor.terms.items()}
        (own,) = positive.terms
        return replace(positive, terms={**terms, own: np.diag(1 - slope)}, bias=slope * tensor.bias)

    def _activated(self, tensor: _Tensor, function: Callable[[Floats], Floats] | None) -> _Tensor:
        self.layers.append(Layer(tensor.terms, tensor.bias, function, square=function is None))
        size = len(tensor.bias)
        self.sizes.append(size)
        return _Tensor({len(self.layers): np.eye(size)}, np.zeros(size), tensor.shape, tensor.kind)

    def _linear(self, node: Any, operands: Sequence[_Tensor | None], result: int) -> _Tensor:  # noqa: ANN401 - a node of onnx
        def applied(at: int, rows: Floats) -> NDArray[Any]:
            """The node's result if operand `at` has these rows and the other encrypted operands are zero."""
            given: list[NDArray[Any] | None] = []
            for place, name in enumerate(node.input):
                operand = operands[place]
                if operand is None:
                    given.append(self.constants[name] if name else None)
                elif place == at:
                    given.append(rows.astype(operand.kind).reshape(len(rows), *operand.shape))
                else:
                    given.append(np.zeros((len(rows), *operand.shape), dtype=operand.kind))
            return self.evaluated(node, given)[result]

        held = [place for place, operand in enumerate(operands) if operand is not None]
        first = operands[held[0]]
        assert first is not None
        if any(prod(operand.shape) != len(operand.bias) for operand in operands if operand is not None):
            raise self._refused(
                node, "an earlier node moved the rows from axis 0", "nodes that keep the rows on axis 0"
            )
        zero = applied(held[0], np.zeros((1, len(first.bias))))
        shape = tuple(zero.shape[1:])
        offset = zero.reshape(-1).astype(float)
        if node.op_type in RESHAPING:
            return _Tensor(first.terms, first.bias, shape, zero.dtype if zero.dtype.kind == "f" else first.kind)
        terms: dict[int, Floats] = {}
        bias = offset.copy()
        for place in held:
            operand = operands[place]
            assert operand is not None
            size = len(operand.bias)
            if size * len(offset) > MOST_NUMBERS:
                raise self._refused(
                    node,
                    f"it is a matrix of {len(offset)} x {size}",
                    "a smaller image, fewer filters or a larger stride",
                )
            unit = np.eye(size)
            if node.op_type in BY_ROW:
                columns = np.stack([applied(place, unit[i : i + 1]).reshape(-1) for i in range(size)])
            else:
                columns = applied(place, unit)
                if columns.shape[:1] != (size,):
                    raise self._refused(node, "it combines rows", "it on the numbers of each row, not on axis 0")
                columns = columns.reshape(size, -1)
            matrix = columns.astype(float).T - offset[:, None]
            bias += matrix @ operand.bias
            for source, own in operand.terms.items():
                terms[source] = terms.get(source, 0) + matrix @ own
        return _Tensor(terms, bias, shape, zero.dtype)

    def _linear_classifier(self, node: Any, tensor: _Tensor) -> tuple[Network, Reading]:  # noqa: ANN401 - a node of onnx
        matrix, bias, reading = linear_classifier(node, len(tensor.bias), normalised=self._normalised(node))
        self.layers.append(
            Layer({source: matrix @ m for source, m in tensor.terms.items()}, matrix @ tensor.bias + bias)
        )
        return Network(_read_by_the_last(self.layers), self.sizes[0]), reading


def _read_by_the_last(layers: Sequence[Layer]) -> tuple[Layer, ...]:
    """The layers that later layers read. A product that was replaced by one activation leaves unread layers."""
    kept, wanted = [], {len(layers)}
    for number in range(len(layers), 0, -1):
        if number in wanted:
            kept.append(number)
            wanted |= layers[number - 1].terms.keys()
    kept.reverse()
    renamed = {0: 0, **{number: place for place, number in enumerate(kept, 1)}}
    return tuple(
        replace(layer, terms={renamed[source]: matrix for source, matrix in layer.terms.items()})
        for layer in (layers[number - 1] for number in kept)
    )


def _without_maps(proto: Any) -> Any:  # noqa: ANN401 - onnx has no types
    """The model without ZipMap, the dictionaries by label that exporters of scikit-learn add after probabilities."""
    if all(node.op_type != "ZipMap" for node in proto.graph.node):
        return proto
    own = type(proto)()
    own.CopyFrom(proto)
    for node in own.graph.node:
        if node.op_type == "ZipMap":
            node.op_type, node.domain = "Identity", ""
            del node.attribute[:]
    return own


def _expect_same(graph: _Graph, core: Core, reading: Reading, rows: Floats) -> None:
    """Refuses a model whose outputs differ from those of the network or trees read from it."""
    few = rows[:50]
    found = core.scores(few)
    own = np.asarray(graph.own_outputs(few)[0])
    if reading.classes is not None and own.size == len(few) and (len(reading.classes) > 2 or own.dtype.kind in "iUOS"):
        differing = reading.predictions(found) != own.reshape(-1)
    else:
        ours = found
        if reading.link == "softmax":
            ours = reading.probabilities(found)
            own = np.exp(own) if (own <= 0).all() else own
        elif reading.link in ("sigmoid", "sigmoids"):
            ours = sigmoid(found)
        own = own.reshape(len(few), -1)
        differing = np.abs(ours - own).max(axis=1) > 1e-3 * (np.abs(own).max() + 1e-6)
    if np.mean(differing) > 0.02:
        raise ProgramError(
            f"from_onnx: for row {int(np.argmax(differing))} the model gives {own[int(np.argmax(differing))]}, but its nodes as "
            "read differ; a Cast to integers rounds them, or an operator depends on a row's index: export the model with an open number of rows"
        )
