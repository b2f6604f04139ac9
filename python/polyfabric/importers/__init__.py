"""Readers of programs that were written for other tools, and a writer for them."""

from __future__ import annotations

from .heir import from_heir
from .tables import from_polars
from .trace import from_trace, to_trace

__all__ = ["from_heir", "from_polars", "from_trace", "to_trace"]
