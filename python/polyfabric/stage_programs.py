"""Programs that are too long for one schedule: a sequence of stages, of which many are alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .execution import plan
from .language.slot_program import SlotProgram
from .machines import Machine
from .progress import ProgressHook


@dataclass(frozen=True)
class Repeated:
    """A stage of a kind, and how many of the sequence are of that kind."""

    program: SlotProgram
    count: int
    bootstraps: int
    """Of one such stage."""


def simulated(
    name: str,
    stages: Sequence[Repeated],
    parameters: str,
    machine: Machine,
    progress: ProgressHook | None = None,
) -> dict[str, Any]:
    """The time of all stages one after the other: of each kind the report of its checked schedule, as often as the kind comes.

    A stage's time is from its first load to its last store, so what a stage leaves goes to memory and comes back, and nothing of it hides behind
    another stage. Seconds, joules, bytes.
    """
    kinds = []
    for done, stage in enumerate(stages):
        if progress is not None:
            progress(f"{name}: {stage.program.name} on {machine.name}", done, len(stages))
        planned = plan(stage.program, parameters, machine=machine, key_switch="set", security=0)
        report = machine.simulate(planned).to_dict()
        kinds.append(
            {
                "stage": stage.program.name,
                "count": stage.count,
                "bootstraps": stage.bootstraps,
                "key_switches": sum(use["count"] for use in planned.facts["key_switches"]),
                "report": report,
            }
        )
    if progress is not None:
        progress(f"{name} on {machine.name}", len(stages), len(stages))

    def summed(key: str) -> float:
        return sum(kind["count"] * kind["report"][key] for kind in kinds)

    return {
        "program": name,
        "machine": machine.name,
        "parameters": parameters,
        "made_of": "the sum of the checked schedules of all stages, each kind scheduled once",
        "seconds": summed("seconds"),
        "energy_j": summed("energy_j") if all(kind["report"]["energy_j"] is not None for kind in kinds) else None,
        "traffic_bytes": sum(kind["count"] * kind["report"]["traffic_bytes"]["total"] for kind in kinds),
        "stages": sum(kind["count"] for kind in kinds),
        "bootstraps": sum(kind["count"] * kind["bootstraps"] for kind in kinds),
        "kinds": kinds,
    }
