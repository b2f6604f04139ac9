"""Trained models as programs on encrypted rows."""

from __future__ import annotations

from .model import Fidelity, Model, ModelRun
from .network import Approximation
from .onnx_graph import from_onnx
from .scikit import from_sklearn
from .torch_module import from_torch

__all__ = ["Approximation", "Fidelity", "Model", "ModelRun", "from_onnx", "from_sklearn", "from_torch"]
