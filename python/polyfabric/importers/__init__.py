"""Readers of programs that were written for other tools."""

from __future__ import annotations

from .heir import from_heir
from .tables import from_polars
from .trace import from_trace

__all__ = ["from_heir", "from_polars", "from_trace"]
