"""Modules of PyTorch, by way of ONNX: `torch.onnx` exports a module for one row, which is then read as any model in ONNX."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, ProgramError
from .choices import Options
from .network import Floats, Interval
from .onnx_graph import Graph, read

if TYPE_CHECKING:
    from .model import Model

INSTALL = "pip install torch onnx onnxscript"
OPSET = 20
"""The version of ONNX that modules are exported to: later ones have attention as one operator, which is not computed."""


def from_torch(
    module: Any,  # noqa: ANN401 - torch is optional
    example: Any,  # noqa: ANN401 - a tensor or an array
    *,
    samples: Any = None,  # noqa: ANN401 - a tensor or an array
    degree: int = 15,
    margin: float = 1.5,
    intervals: Mapping[str, Interval] | None = None,
    batch: int = 1,
) -> Model:
    """Converts a module of PyTorch with one input to a program on encrypted rows.

    `example` is an input of the module, rows first. `samples`, by default the example, gives the ranges of values: take rows as in use.
    The other options are those of `from_onnx`. The module is exported in evaluation mode and is not changed. Needs the packages
    torch, onnx and onnxscript.
    """
    # PyTorch imports the other two only when it exports.
    missing = [name for name in ("torch", "onnx", "onnxscript") if not _is_installed(name)]
    if missing:
        raise ProgramError(
            f"from_torch needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed; run: {INSTALL}"
        )
    import torch

    if not isinstance(module, torch.nn.Module):
        raise InputError(
            f"from_torch: the module is {type(module).__name__}; give a torch.nn.Module, such as a trained one"
        )
    like = next(module.parameters(), torch.zeros(0))
    options = Options(degree=degree, margin=margin, batch=batch, intervals=intervals or {})

    def tensor(what: str, given: Any) -> Any:  # noqa: ANN401 - torch has no types here
        """Numbers as the module takes them."""
        try:
            return torch.as_tensor(given).detach().to(device=like.device, dtype=like.dtype)
        except (TypeError, ValueError, RuntimeError) as problem:
            raise InputError(f"from_torch: {what} is not a tensor of numbers ({problem}); give rows first") from None

    def own(rows: Floats) -> Floats:
        """The module's own result."""
        found = module(tensor("the rows", rows.reshape(len(rows), *one.shape[1:])))
        found = found[0] if isinstance(found, tuple | list) and found else found
        if not isinstance(found, torch.Tensor):
            raise InputError(f"from_torch: the module returns {type(found).__name__}; return a tensor, with rows first")
        return _numpy(found)

    first = tensor("the example", example)
    if first.ndim < 2 or not len(first):
        raise InputError(
            f"from_torch: the example has the shape {tuple(first.shape)}; give an input of the module with rows as the first of at least two axes"
        )
    one = first[:1]
    rows = first if samples is None else tensor("samples", samples)
    if len(rows) < 2:
        raise InputError(
            f"from_torch: {'the example' if samples is None else 'samples'} has {len(rows)} rows, which show no range of values; give rows as in use, "
            "with samples="
        )
    with _evaluating(module), torch.no_grad():
        try:
            with _quietly():
                proto = torch.onnx.export(module, (one,), dynamo=True, opset_version=OPSET, verbose=False).model_proto
        except Exception as problem:
            # The exporter runs the module's own code, so that it can raise anything.
            cause = problem.__cause__ or problem
            raise ProgramError(
                f"from_torch: torch.onnx cannot export the module ({_first_line(cause)}); try module(example[:1]) and "
                "torch.onnx.export(module, (example[:1],), dynamo=True), and remove branches that depend on values"
            ) from None
        proto.graph.name = type(module).__name__
        return read(Graph(proto), _numpy(rows), options, own)


def _is_installed(package: str) -> bool:
    try:
        import_module(package)
    except ImportError:
        return False
    return True


def _numpy(tensor: Any) -> Floats:  # noqa: ANN401 - torch has no types here
    return np.asarray(tensor.detach().cpu().double().numpy())


def _first_line(problem: BaseException) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]


@contextmanager
def _evaluating(module: Any) -> Iterator[None]:  # noqa: ANN401 - torch has no types here
    """The module in evaluation mode, and afterwards each of its parts as it was."""
    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the exporter's warnings, which concern its own parts."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
