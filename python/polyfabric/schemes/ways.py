"""The two ways to execute a batch of a program on integers: one input after another with TFHE, or all at once on slots."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import floor, log2
from typing import TYPE_CHECKING, Any

from ..errors import Error
from ..host import memory
from ..host.computer import cores
from ..host.units import bytes_text, scaled
from .options import PlanOptions
from .tfhe import TfhePlan

if TYPE_CHECKING:
    from ..language.program import TfheProgram
    from .plan import Plan

TFHE, SLOTS, AUTO = "tfhe", "slots", "auto"
"""One input after another with TFHE; all at once with CKKS; the cheaper of the two."""

SCHEMES = (SLOTS, TFHE, AUTO)
"""All of them."""


@dataclass(frozen=True)
class Way:
    """A way to execute a batch, on this computer."""

    parameters: str
    seconds: float
    """Of the whole batch, on all processors."""
    memory_bytes: int
    key_bytes: int
    log2_failure: float
    """log2 of the probability that a value of the batch is wrong."""


@dataclass(frozen=True)
class Ways:
    """Both ways, each `None` if it does not exist, and which is cheaper."""

    batch: int
    tfhe: Way | None
    slots: Way | None
    cheaper: str
    """ "tfhe" or "slots"."""
    why: str
    cheaper_from: int | None
    """The batch from which slots take less time; `None` beyond the lanes of the ring."""
    lanes: int | None
    """Inputs that fit the ring."""

    @classmethod
    def of(cls, single: TfheProgram, batch: int, on_slots: Plan | Error) -> Ways:
        """The ways for `batch` inputs. `single` is the program on one input, `on_slots` the plan of the batch on slots, or why there is none."""
        tfhe = _tfhe(single, batch)
        if isinstance(on_slots, Error):
            return cls(batch, tfhe, None, TFHE, f"slots do not take it: {on_slots}", None, None)
        at_once = on_slots.processor_seconds()
        slots = Way(
            on_slots.parameters.name,
            at_once / cores(),
            on_slots.memory_bytes,
            on_slots.key_bytes,
            on_slots.log2_failure,
        )
        lanes = 2 * int(on_slots.parameter_figures["slots"])
        if tfhe is None:
            return cls(batch, None, slots, SLOTS, "no parameter set of TFHE fails rarely enough", 1, lanes)
        least = floor(slots.seconds * batch / tfhe.seconds) + 1
        least_of_ring = least if least <= lanes else None
        if not memory.allows(slots.memory_bytes):
            why = f"slots need {bytes_text(slots.memory_bytes)} of memory"
            return cls(batch, tfhe, slots, TFHE, why, least_of_ring, lanes)
        why = f"{scaled(tfhe.seconds, 's')} with TFHE, {scaled(slots.seconds, 's')} on slots"
        return cls(batch, tfhe, slots, TFHE if batch < least else SLOTS, why, least_of_ring, lanes)

    def to_dict(self) -> dict[str, Any]:
        """As data."""
        return asdict(self)


def _tfhe(single: TfheProgram, batch: int) -> Way | None:
    """The batch with TFHE; `None` if no parameter set suffices, as for one lookup of 256 values."""
    try:
        plan = TfhePlan.make(single, PlanOptions(security=0))
    except Error:
        return None
    return Way(
        plan.parameters.name,
        batch * plan.processor_seconds() / cores(),
        plan.memory_bytes,
        plan.key_bytes,
        plan.log2_failure + log2(batch),
    )
