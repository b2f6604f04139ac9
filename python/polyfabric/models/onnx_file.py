"""A file of ONNX with one input: its weights, and the results of its operators, which the package `onnx` computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from math import inf, isqrt, prod
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError, InputError, ProgramError
from .onnx_trees import MOST_NUMBERS

Floats: TypeAlias = NDArray[np.float64]
Evaluator: TypeAlias = "Callable[[Sequence[NDArray[Any] | None]], list[NDArray[Any]]]"


SIZED = {"ConstantOfShape": 0, "Expand": 1, "Resize": 3, "CenterCropPad": 1}
"""The operand that has the result's sizes, for operators whose result is of any size."""

REPEATED = {"Tile": 1, "Pad": 1, "Resize": 2}
"""The operand that has factors or summands of the sizes of operand 0."""


def _largest(op: str, operands: Sequence[NDArray[Any] | None]) -> float:
    """A bound of the numbers in a node's result, for operators whose result may be of any size; 0 for others."""

    def numbers(place: int | None) -> Floats:
        given = operands[place] if place is not None and place < len(operands) else None
        return (
            np.zeros(0) if given is None or given.dtype.kind not in "iuf" else np.abs(given.reshape(-1).astype(float))
        )

    if op == "Range":
        first, last, step = (numbers(place)[:1].sum() for place in range(3))
        return float((first + last) / step) if step else 0.0
    if op.startswith("Random"):
        return inf
    shapes = [operand.shape for operand in operands if operand is not None]
    if op == "Concat":
        return float(sum(map(prod, shapes)))
    if op == "MatMul" and all(shapes):
        first, second = shapes
        columns = second[-1] if len(second) > 1 else 1
        try:
            return float(prod(np.broadcast_shapes(first[:-2], second[:-2])) * prod(first[-2:-1]) * columns)
        except ValueError:
            return 0.0
    if op == "Gemm" and all(shapes):
        # Either side may be transposed.
        return float(max(shapes[0]) * max(shapes[1]))
    sizes, factors = numbers(SIZED.get(op)), numbers(REPEATED.get(op))
    if sizes.size:
        return float(np.prod(np.maximum(sizes, 1)))
    own = operands[0].size if operands and operands[0] is not None else 1
    if factors.size:
        return float(own * np.prod(factors + 1))
    try:
        return float(prod(np.broadcast_shapes(*shapes)))
    except ValueError:
        # No operator that combines number by number.
        return 0.0


def _expect_texts(graph: Any) -> None:  # noqa: ANN401 - onnx has no types
    """Rejects names that are no UTF-8: the package onnx reads them as bytes."""
    of_nodes = ((node.op_type, node.domain, node.name, *node.input, *node.output) for node in graph.node)
    attributes = ([one.name for one in node.attribute] for node in graph.node)
    others = ([one.name for one in (*graph.initializer, *graph.input, *graph.output)],)
    for name in chain.from_iterable((*of_nodes, *attributes, *others)):
        if not isinstance(name, str):
            raise ProgramError(f"from_onnx: the name {name!r} is no text; export the model again")


class OnnxFile:
    """A model in ONNX with one input."""

    def __init__(self, proto: Any) -> None:  # noqa: ANN401 - onnx has no types
        from onnx import TensorProto, checker, helper, numpy_helper

        _expect_texts(proto.graph)
        self.proto = _without_maps(proto)
        self.name = proto.graph.name or "onnx"
        self.constants: dict[str, NDArray[Any]] = {}
        for tensor in proto.graph.initializer:
            try:
                self.constants[tensor.name] = numpy_helper.to_array(tensor)
            except (LookupError, ValueError, TypeError, OSError, checker.ValidationError) as problem:
                raise ProgramError(
                    f"from_onnx: the weights {tensor.name!r} cannot be read ({problem}); export the model again, or give the path of its file next "
                    "to them"
                ) from None
        for node in proto.graph.node:
            if not any(node.output):
                raise ProgramError(
                    f"from_onnx: operator {node.op_type} {node.name!r} has no result; export the model again"
                )
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
        kind = inputs[0].type.tensor_type.elem_type or TensorProto.FLOAT
        if kind not in TensorProto.DataType.values():
            raise ProgramError(f"from_onnx: input {self.input!r} has the unknown type {kind}; export the model again")
        given = helper.tensor_dtype_to_np_dtype(kind)
        self.kind = given if given.kind == "f" else np.dtype(np.float32)
        self.version = max((one.version for one in proto.opset_import if one.domain in ("", "ai.onnx")), default=1)
        """Version of the standard operators."""

    @classmethod
    def load(cls, model: Any) -> Self:  # noqa: ANN401 - a path, bytes, or onnx.ModelProto
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

    def evaluator(self, node: Any) -> Evaluator:  # noqa: ANN401 - a node of onnx
        """A function from a node's operands to its results, for operands of the same types in every call."""
        from onnx import TensorProto, helper
        from onnx.reference import ReferenceEvaluator

        made: list[ReferenceEvaluator] = []

        def evaluate(operands: Sequence[NDArray[Any] | None]) -> list[NDArray[Any]]:
            given = {
                name: value for name, value in zip(node.input, operands, strict=True) if name and value is not None
            }
            if _largest(node.op_type, operands) > MOST_NUMBERS:
                raise self.unusable(node, f"its result has more than {MOST_NUMBERS} numbers")
            try:
                if not made:
                    inputs = [
                        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), None)
                        for name, value in given.items()
                    ]
                    outputs = [
                        helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None)
                        for name in self.read_outputs(node)
                    ]
                    graph = helper.make_graph([node], "node", inputs, outputs)
                    made.append(ReferenceEvaluator(helper.make_model(graph, opset_imports=self.proto.opset_import)))
                with np.errstate(all="ignore"):
                    return [np.asarray(result) for result in made[0].run(None, given)]
            except Exception as problem:
                # The evaluator, or numpy below it, raises any exception for wrong models: it has no error class.
                of = ", ".join(" x ".join(map(str, value.shape)) or "one number" for value in given.values())
                raise self.unusable(node, f"the package onnx cannot evaluate it on {of} ({problem})") from None

        return evaluate

    def evaluated(self, node: Any, operands: Sequence[NDArray[Any] | None]) -> list[NDArray[Any]]:  # noqa: ANN401 - a node of onnx
        """The results of one node."""
        return self.evaluator(node)(operands)

    def read_outputs(self, node: Any) -> list[str]:  # noqa: ANN401 - a node of onnx
        """The results of a node that others can read: only the first, except for Split."""
        return [name for name in node.output if name] if node.op_type == "Split" else [node.output[0]]

    def unusable(self, node: Any, why: str) -> ProgramError:  # noqa: ANN401 - a node of onnx
        """The error about a node that is wrong."""
        where = f"{node.op_type} {node.name or node.output[0]!r}"
        return ProgramError(
            f"from_onnx: {where}: {why}; correct the model: onnx.checker.check_model(model, full_check=True) reports the cause"
        )

    @contextmanager
    def fitting(self, node: Any) -> Iterator[None]:  # noqa: ANN401 - a node of onnx
        """Errors within are errors of the node: a file can give it any operands and attributes."""
        try:
            yield
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as problem:
            reason = f"{type(problem).__name__}: {problem}"
            raise self.unusable(node, f"its operands and attributes do not fit it ({reason})") from None

    def refused(self, node: Any, why: str, remedy: str) -> ProgramError:  # noqa: ANN401 - a node of onnx
        """The error about a node that is not computed."""
        where = f"{node.op_type} {node.name or node.output[0]!r}"
        return ProgramError(f"from_onnx: {where}: {why}; use {remedy}")

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

    def following(self, node: Any) -> list[Any]:  # noqa: ANN401 - a node of onnx
        """The nodes that read a node's results."""
        return [other for other in self.proto.graph.node if set(node.output) & set(other.input)]

    def all_following(self, node: Any) -> list[Any]:  # noqa: ANN401 - a node of onnx
        """The nodes that depend on a node's results, in the order of the file, which is that of their evaluation."""
        known, found = set(node.output), []
        for other in self.proto.graph.node:
            if known & set(other.input):
                known |= set(other.output)
                found.append(other)
        return found


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
