"""A number without levels made fresh: the non-packed CKKS bootstrapping that F1 measures (MICRO 2021), as in HEAAN."""

from __future__ import annotations

from functools import cache

from ..language.slots import SlotValue
from ..language.types import Complex
from ..runnable import SlotProgram, program

PAPER_SET = "f1-ckks-bootstrap"
"""F1's N and L_max, in its words; far below 128 bits of security."""

LEFT = 5
"""Levels that the set has left after it."""


@cache
def ckks_bootstrapping() -> SlotProgram:
    """A complex number in a ciphertext of one limb, bootstrapped."""

    @program("ckks-bootstrapping", exhausted=Complex)
    def refresh(exhausted: SlotValue) -> dict[str, SlotValue]:
        return {"refreshed": exhausted.at_level(0).bootstrap().at_level(LEFT)}

    return refresh
