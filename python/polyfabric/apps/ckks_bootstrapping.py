"""Bootstrapping of a vector without levels, with the parameter set's method.

With F1's sets it is the non-packed CKKS bootstrapping that F1 measures (MICRO 2021), as in HEAAN: one slot. With any other set all slots
contain numbers, as in the fully packed bootstrapping (Bossuat et al., EUROCRYPT 2021) that Osiris measures.
"""

from __future__ import annotations

from functools import cache

from ..errors import InputError
from ..language.slots import SlotValue
from ..language.types import Complex
from ..run.runnable_programs import SlotProgram, program
from ..schemes.slot_parameters import SlotParameters, facts

PAPER_SET = "f1-ckks-bootstrap"
"""F1's N and L_max; far below 128 bits of security."""

FULL_SET = "osiris-bootstrap"
"""Osiris' set III with the levels of a bootstrapping."""

LEFT = 5
"""Levels after bootstrapping with F1's sets."""


@cache
def ckks_bootstrapping(parameters: str | SlotParameters = PAPER_SET) -> SlotProgram:
    """Complex numbers in a ciphertext at level 0, bootstrapped: one number with F1's sets, all slots with others."""
    if str(parameters).startswith(PAPER_SET):

        @program("ckks-bootstrapping", exhausted=Complex)
        def refresh(exhausted: SlotValue) -> dict[str, SlotValue]:
            return {"refreshed": exhausted.at_level(0).bootstrap().at_level(LEFT)}

        return refresh

    known = facts(parameters)
    left = known.get("levels_left")
    if left is None:
        raise InputError(
            f"parameter set {known['name']} has no levels for bootstrapping; name one with them, such as {FULL_SET}"
        )

    @program("ckks-bootstrapping", exhausted=Complex.vector(known["slots"]))
    def refresh_all(exhausted: SlotValue) -> dict[str, SlotValue]:
        return {"refreshed": exhausted.at_level(0).bootstrap().at_level(left)}

    return refresh_all
