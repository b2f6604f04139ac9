"""Programs of repeated rounds, most of which share a body.

A body is lowered, scheduled and audited once; it assumes an empty chip before and an idle chip after. The schedule of all rounds is a tree of
loops over the bodies and is checked as a whole: each round loads from memory the results that the previous round stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import ProgramError
from ..host.computer import give_memory_back
from ..language.slot_program import SlotProgram
from ..reports import Report
from .execution import plan

if TYPE_CHECKING:
    from .. import _native
    from ..accelerators.machine import Machine
    from ..host.progress import ProgressHook
    from ..schemes.rns import RnsPlan
    from ..schemes.slot_parameters import SlotParameters


@dataclass(frozen=True)
class Body:
    """The common part of rounds, from one ciphertext to one."""

    name: str
    build: Callable[[], SlotProgram] = field(repr=False)
    bootstraps: int


@dataclass(frozen=True)
class Round:
    """One round."""

    body: int
    """Index of its body."""
    rotations: Mapping[int, int] = field(default_factory=dict)
    """Replacements of the body's rotation amounts, in slots."""


@dataclass(frozen=True)
class RoundProgram:
    """A program of rounds. Each round has its own public vectors, which do not affect the time."""

    name: str
    bodies: Sequence[Body]
    rounds: Sequence[Round]

    def count(self, body: int) -> int:
        """Number of rounds with that body."""
        return sum(one.body == body for one in self.rounds)


@dataclass(frozen=True)
class Folded:
    """The checked schedule of a program's rounds."""

    program: RoundProgram
    machine: str
    parameters: str
    report: Report
    parts: list[dict[str, Any]]
    """For each body, its number of rounds and one round's cycles, seconds, events, bytes and joules."""
    facts: list[dict[str, Any]]
    """Facts of each body's plan."""
    held_events: int
    """Stored events; each body's events are stored once."""

    def to_dict(self) -> dict[str, Any]:
        """The report, with each body's share."""
        bodies = []
        for body, part, facts in zip(self.program.bodies, self.parts, self.facts, strict=True):
            switches = sum(use["count"] for use in facts["key_switches"])
            bodies.append({**part, "name": body.name, "bootstraps": body.bootstraps, "key_switches": switches})
        return {
            "program": self.program.name,
            "machine": self.machine,
            "parameters": self.parameters,
            "made_of": MADE_OF,
            "rounds": len(self.program.rounds),
            "bootstraps": sum(body["rounds"] * body["bootstraps"] for body in bodies),
            "held_events": self.held_events,
            "bodies": bodies,
            "report": self.report.to_dict(),
        }


MADE_OF = "one checked schedule of all rounds, each body scheduled once, from its first load to its last store"


def simulated(
    program: RoundProgram,
    parameters: str | SlotParameters,
    machine: Machine,
    progress: ProgressHook | None = None,
    *,
    security: float | None = 0,
) -> Folded:
    """Schedules all rounds on a machine. `security` is that of `PlanOptions`, by default no minimum."""
    facts: list[dict[str, Any]] = []
    mapper: _native.RoundsMapper | None = None
    steps = len(program.bodies) + 1
    for done, body in enumerate(program.bodies):
        if progress is not None:
            progress(f"{program.name}: {body.name} on {machine.name}", done, steps)
        planned: RnsPlan = plan(body.build(), parameters, machine=machine, key_switch="set", security=security)  # type: ignore[assignment]
        if mapper is None:
            given = planned.facts["parameters"]
            rounds = [(one.body, list(one.rotations.items())) for one in program.rounds]
            log2_degree = int(given["ring_degree"]).bit_length() - 1
            mapper = machine.native.rounds(program.name, given["name"], log2_degree, rounds, {})
        mapper.body(planned.kernel)
        facts.append(dict(planned.facts))
        # Free thousands of encoded vectors.
        del planned
        give_memory_back()
    if mapper is None:
        raise ProgramError(f"{program.name} has no body; give one at least")
    _expect_scales(program, facts)
    if progress is not None:
        progress(f"{program.name}: all {len(program.rounds)} rounds on {machine.name}", steps - 1, steps)
    mapped = mapper.finish()
    report = Report("simulation", json.loads(mapped.report()), mapped.trace)
    if progress is not None:
        progress(f"{program.name} on {machine.name}", steps, steps)
    return Folded(
        program=program,
        machine=machine.name,
        parameters=facts[0]["parameters"]["name"],
        report=report,
        parts=json.loads(mapped.parts()),
        facts=facts,
        held_events=mapped.held_events,
    )


SCALES_ALIKE = 1e-3
"""Tolerance of the log2 of scales that must agree."""


def _expect_scales(program: RoundProgram, facts: Sequence[Mapping[str, Any]]) -> None:
    """Rejects rounds whose input scale differs from the previous round's output scale. Primes, and so scales, are not exact powers of two; each
    round's own constants compensate the difference with the same operations."""

    def scales(number: int, op: str) -> list[float]:
        return [node["scale_log2"] for node in facts[number]["nodes"] if node["op"] == op]

    pairs = {(one.body, other.body) for one, other in zip(program.rounds, program.rounds[1:], strict=False)}
    for before, after in sorted(pairs):
        gives, takes = scales(before, "output"), scales(after, "input")
        if len(gives) != len(takes) or any(abs(a - b) > SCALES_ALIKE for a, b in zip(gives, takes, strict=True)):
            one, other = program.bodies[before].name, program.bodies[after].name
            raise ProgramError(
                f"{program.name}: {one} gives scales of 2^{gives}, and {other} takes 2^{takes}; end each round at the level at which the next begins"
            )
