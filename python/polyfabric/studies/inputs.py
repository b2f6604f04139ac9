"""A batch of inputs of one program on integers: on machines, on this computer, and the batch from which slots are faster than TFHE.

TFHE takes one input after another, so the time of a batch grows with it. CKKS takes all inputs of a ring at once, in the time of one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from operator import gt, lt
from typing import Any

from ..accelerators.machine import Machine
from ..apps import programs
from ..errors import Error, MachineError, ParameterError, SecurityWarning
from ..host.computer import cores
from ..language.lane_shapes import MOST_BATCH
from ..language.program import repeated
from ..run.execution import HERE, make_plan
from ..run.runnable_programs import Program, TfheProgram
from ..schemes.lanes import LanePlan
from ..schemes.options import OWN, PlanOptions
from ..schemes.plan import Plan
from ..schemes.ways import OneByOne, Times, first_longer, seconds_of

CPU, GPU, *_ = HERE

MOST_COPIES = 64
"""Largest number of inputs that a TFHE machine's schedule takes: enough to keep its units busy."""

RIGHT = -40.0
"""log2 of the largest failure probability of a place that takes part in the comparison of TFHE and slots."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Inputs:
    """A batch of inputs of one program on integers: with TFHE one after another, with CKKS at once."""

    program: TfheProgram
    batch: int

    @classmethod
    def of(cls, program: str | Program, batch: int) -> Inputs | None:
        """The batch of a program of the user's; `None` for others, whose batches are of ciphertexts."""
        if isinstance(program, str):
            if program in programs.known() or programs.is_on_slots(program):
                return None
            program = programs.load(program)
        return cls(program, batch) if isinstance(program, TfheProgram) else None

    @property
    def name(self) -> str:
        """The program's name."""
        return self.program.name

    @property
    def at_once(self) -> int:
        """The inputs of one execution with CKKS."""
        return min(self.batch, MOST_BATCH)

    def on(self, machine: Machine) -> tuple[Program, int]:
        """The program that a machine executes, and its number of inputs."""
        if machine.on_slots:
            return self.program.in_batches(self.at_once), self.at_once
        count = min(self.batch, MOST_COPIES)
        return repeated(self.program, count), count

    def one_by_one(self, times: Times) -> Row:
        """The figures of a place with TFHE."""
        whole = seconds_of(times, self.at_once)
        if whole == 0:
            raise MachineError(
                f"{self.name} has no lookup, and times are estimated from lookups; `polyfabric run` measures it"
            )
        before, after = ([point for point in times if keep(point[0], self.at_once)] for keep in (lt, gt))
        rows = [*before, (self.at_once, whole), *after]
        return {"scheme": "tfhe", "throughput_per_s": self.at_once / whole, "latency_s": times[0][1], "times": rows}

    def together(self, whole: LanePlan, few: LanePlan, seconds: Callable[[LanePlan], float]) -> Row:
        """The figures of a place with CKKS, where a plan takes `seconds`: of the whole batch, and of few inputs, which may fit a smaller ring."""
        # A ring takes as long for few inputs as for as many as it has room for.
        room = max(2 * int(whole.parameter_figures["slots"]), self.at_once)
        all_of_them, alone, lanes = seconds(whole), None, room
        if few.parameters.name != whole.parameters.name:
            alone, lanes = seconds(few), min(2 * int(few.parameter_figures["slots"]), lanes)
        latency = all_of_them if alone is None else alone
        times = [(1, latency), (lanes, latency)]
        if lanes < room:
            times += [(lanes + 1, all_of_them), (room, all_of_them)]
        rate = self.at_once / all_of_them
        return {"scheme": "ckks", "throughput_per_s": rate, "latency_s": latency, "times": times}


def or_reason(row: Row, make: Callable[[], Row], parameters: str | None) -> Row:
    """The row with what `make` finds, or the reason why there is nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecurityWarning)
            return {**row, **make()}
    except Error as error:
        return {**row, "error": str(error), "set_refused": parameters is not None and isinstance(error, ParameterError)}


def here(work: Inputs, parameters: str | None) -> list[Row]:
    """The rows of this computer, as the planner estimates them: TFHE and CKKS on all processors, and the least time of CKKS on a graphics card."""
    options = PlanOptions(parameters=parameters, security=0)

    @cache
    def on_slots(count: int) -> LanePlan:
        return make_plan(work.program.in_batches(count), options)

    def one_by_one() -> Row:
        found = OneByOne.of(work.program, options)
        return {**_common(found.plan, found.log2_failure), **work.one_by_one(found.times)}

    def together(seconds: Callable[[LanePlan], float]) -> Row:
        whole = on_slots(work.at_once)
        return {**_common(whole, whole.log2_failure), **work.together(whole, on_slots(1), seconds)}

    processors = f"this computer, {cores()} processors"
    rows = []
    for place, title, scheme, make in (
        (CPU, processors, "tfhe", one_by_one),
        (CPU, processors, "ckks", lambda: together(_on_processors)),
        (f"{GPU} at most", "a graphics card", "ckks", lambda: together(_on_card)),
    ):
        row = {"machine": place, "title": f"{title}, estimated", "widths_are": OWN, "scheme": scheme, "estimated": True}
        rows.append(or_reason(row, make, parameters))
    # A set is of one scheme.
    return [row for row in rows if not row.get("set_refused")] or rows


def _on_processors(planned: Plan) -> float:
    return planned.processor_seconds() / cores()


def _on_card(planned: LanePlan) -> float:
    needs = planned.needs_of_card()
    if needs is None:
        raise MachineError(f"{planned.program.name}: the kernels for graphics cards do not support it; take the CPU")
    return needs["least_seconds"]


def _common(planned: Plan, log2_failure: float) -> Row:
    unknown = ("area_mm2", "power_w", "off_chip_gb_per_s", "per_mm2", "per_watt", "per_gb_per_s", "bound_by")
    return {
        **dict.fromkeys((*unknown, "efficiency", "widths")),
        "parameters": planned.parameters.name,
        "operation": "inputs",
        "slots": planned.program.slots if isinstance(planned, LanePlan) else None,
        "log2_failure": log2_failure,
    }


def slots_faster(rows: Sequence[Row]) -> list[Row]:
    """For each place with TFHE and each with CKKS that decrypt right: the batch from which CKKS takes less time; `None` if it never does."""
    right = [row for row in rows if row["right"]]
    pairs = ((one, other) for one in right for other in right if (one["scheme"], other["scheme"]) == ("tfhe", "ckks"))
    of_tfhe = ("widths_are", "scheme", "estimated")
    return [
        {
            "tfhe": one["machine"],
            **{key: one[key] for key in of_tfhe},
            "ckks": other["machine"],
            "from": _faster_from(one, other),
        }
        for one, other in pairs
    ]


def _faster_from(tfhe: Row, ckks: Row) -> int | None:
    steps = ckks["times"]
    for (first, seconds), (last, _) in zip(steps[::2], steps[1::2], strict=True):
        least = max(first, first_longer(tfhe["times"], seconds))
        if least <= last:
            return least
    return None
