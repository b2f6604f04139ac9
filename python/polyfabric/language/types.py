"""What a program's values are: Booleans, integers of a known range, torus values; single ones and vectors."""

from __future__ import annotations

from dataclasses import dataclass, field

from .._native import ElementType


@dataclass(frozen=True)
class Type:
    """Element type and length; a `scalar` is a vector of length 1 that is given and returned as one number."""

    element: ElementType
    length: int = 1
    scalar: bool = field(default=True)

    def vector(self, length: int) -> Type:
        """A vector of `length` such elements."""
        return Type(self.element, length, scalar=False)

    def __str__(self) -> str:
        return str(self.element) if self.scalar else f"{self.element} x {self.length}"


Bool = Type(ElementType.boolean())
"""0 or 1."""


def Int(lo: int, hi: int, *, step: int = 1) -> Type:  # noqa: N802 - it reads as a type
    """An integer from `lo` to `hi`; with `step`, only lo, lo + step, .. occur."""
    return Type(ElementType.integer(lo, hi, step))


def Torus(bits: int) -> Type:  # noqa: N802 - it reads as a type
    """A fixed-point value modulo 1, in multiples of 2^-bits."""
    return Type(ElementType.torus(bits))
