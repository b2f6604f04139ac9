"""Programs compiled by HEIR, read from its MLIR."""

from __future__ import annotations

from .program import from_heir, parse

__all__ = ["from_heir", "parse"]
