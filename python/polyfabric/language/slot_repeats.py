"""Vectors that repeat after some of their slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .place import refuse, whole

if TYPE_CHECKING:
    from .slots import SlotValue


def repeating(value: SlotValue, slots: int) -> int:
    """Checks the period of a value for bootstrapping: the value must fill all slots of its program."""
    most = value._tracer.slots
    period = whole("bootstrap: the period of the value", slots, 1, most)
    if value.length != most:
        raise refuse(
            f"bootstrap: {value.type} does not repeat every {period} slots, because zeros pad it; declare a vector of all {most} "
            "slots of the program"
        )
    return period
