"""The two ways to execute a batch of a program on integers: one input after another with TFHE, or all at once on slots."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from math import floor, log2
from typing import TYPE_CHECKING, Any

from ..errors import Error
from ..host import memory
from ..host.computer import cores
from ..host.units import bytes_text, scaled
from ..language.program import repeated
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
        tfhe, times = _tfhe(single, batch)
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
        least = first_longer(times, slots.seconds)
        least_of_ring = least if least <= lanes else None
        if not memory.allows(slots.memory_bytes):
            why = f"slots need {bytes_text(slots.memory_bytes)} of memory"
            return cls(batch, tfhe, slots, TFHE, why, least_of_ring, lanes)
        why = f"{scaled(tfhe.seconds, 's')} with TFHE, {scaled(slots.seconds, 's')} on slots"
        return cls(batch, tfhe, slots, TFHE if batch < least else SLOTS, why, least_of_ring, lanes)

    def to_dict(self) -> dict[str, Any]:
        """As data."""
        return asdict(self)


def _tfhe(single: TfheProgram, batch: int) -> tuple[Way | None, Times]:
    """The batch with TFHE, and the times by size; none if no parameter set suffices, as for one lookup of 256 values."""
    try:
        found = OneByOne.of(single, PlanOptions(security=0))
    except Error:
        return None, []
    plan, seconds = found.plan, seconds_of(found.times, batch)
    failure = found.log2_failure + log2(batch)
    return Way(plan.parameters.name, seconds, plan.memory_bytes, plan.key_bytes, failure), found.times


COPIES = 16
"""Inputs a processor in the largest timed batch with TFHE. From half of it on, lookups are executed in SIMD lanes."""

MOST_LOOKUPS = 1 << 12
"""Lookups of the largest timed batch. With more, what an execution does once for all inputs takes little of its time."""

Times = list[tuple[float, float]]
"""Sizes of batches, ascending, with their seconds. Between two sizes, and beyond the last, the time follows the line through both."""


@dataclass(frozen=True)
class OneByOne:
    """A program with TFHE on batches of inputs, one after another, on all processors of this computer."""

    plan: TfhePlan
    """Of the largest timed batch: the set for many inputs may be another than for one."""
    log2_failure: float
    """log2 of the probability that a value of one input is wrong."""
    times: Times

    @classmethod
    def of(cls, single: TfheProgram, options: PlanOptions) -> OneByOne:
        """An execution transforms the keys once, for all inputs, so the time is estimated for one input and for two larger batches."""
        plan = TfhePlan.make(single, options)
        form, alone = plan.program, plan.processor_seconds() / cores()
        copies = min(COPIES * cores(), MOST_LOOKUPS // max(plan.kernel.lookups, 1))
        evenly = cls(plan, plan.log2_failure, [(1, alone), (2, 2 * alone)])
        if form.function is None or copies < 2:
            return evenly
        times: Times = [(1, alone)]
        try:
            for size in sorted({copies // 2, copies} - {1}):
                # Each input as rarely wrong as alone.
                accepted = replace(options, max_failure=min(0.0, options.accepted_failure + log2(size)))
                plan = TfhePlan.make(repeated(form, size), accepted)
                times.append((size, plan.processor_seconds() / cores()))
        except Error:
            # Copies may have another form, which no set carries.
            return evenly
        return cls(plan, plan.log2_failure - log2(copies), times)


def seconds_of(times: Times, batch: int) -> float:
    """The time of a batch."""
    (first, start), (last, end) = next((pair for pair in pairwise(times) if batch <= pair[1][0]), times[-2:])
    return start + (batch - first) * (end - start) / (last - first)


def first_longer(times: Times, seconds: float) -> int:
    """The smallest batch that takes longer than `seconds`."""
    if times[0][1] > seconds:
        return 1
    (first, start), (last, end) = next((pair for pair in pairwise(times) if seconds < pair[1][1]), times[-2:])
    return floor(last if end <= start else first + (seconds - start) * (last - first) / (end - start)) + 1
