"""Vectors that repeat after some of their slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .place import refuse, whole

if TYPE_CHECKING:
    from .slots import SlotValue


def repeating(value: SlotValue, slots: int) -> int:
    """After how many slots a value repeats that is to be bootstrapped as so many: it has to fill all slots of its program."""
    most = value._tracer.slots
    period = whole("bootstrap: the slots after which the value repeats", slots, 1, most)
    if value.length != most:
        raise refuse(
            f"bootstrap: {value.type} does not repeat after {period} slots, as zeros lie behind its end; declare a vector of all {most} "
            "slots of the program"
        )
    return period
