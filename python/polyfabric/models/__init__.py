"""Trained models as programs on encrypted rows."""

from __future__ import annotations

from .model import Fidelity, Model, ModelRun
from .onnx_graph import from_onnx
from .scikit import from_sklearn

__all__ = ["Fidelity", "Model", "ModelRun", "from_onnx", "from_sklearn"]
