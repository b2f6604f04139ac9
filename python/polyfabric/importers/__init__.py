"""Readers of programs that other compilers wrote."""

from __future__ import annotations

from .heir import from_heir

__all__ = ["from_heir"]
