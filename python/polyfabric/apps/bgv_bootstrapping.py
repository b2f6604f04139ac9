"""BGV bootstrapping of an encrypted bit, as F1 measures it (MICRO 2021), after Alperin-Sheriff and Peikert."""

from __future__ import annotations

from functools import cache

from ..language.slots import SlotValue
from ..language.types import Mod
from ..run.runnable_programs import SlotProgram, program

PAPER_SET = "f1-bootstrap"
"""F1's N and L_max; far below 128 bits of security."""


@cache
def bgv_bootstrapping() -> SlotProgram:
    """The program: a bit in a ciphertext of one limb, bootstrapped."""

    @program("bgv-bootstrapping", exhausted=Mod(2))
    def refresh(exhausted: SlotValue) -> dict[str, SlotValue]:
        return {"refreshed": exhausted.at_level(0).bootstrap()}

    return refresh
