"""Sorting of Osiris' table III: a bitonic network on 2^14 encrypted numbers in (0, 1), with one comparison per stage.

Section VI: "bitonic sorting on 2^14 elements in the range (0,1). Each comparison is made by compositing twelve 7-degree polynomials", with sparsely packed
bootstrapping. The slots contain the numbers in order. A stage compares each slot i with slot i ^ distance, for all slots at once:

    d = x - partner,  e = d where the larger number stays, -d where the smaller one stays
    x' = x - d·(1 - sign(e)) / 2

Choices where the paper is silent:

- *Polynomials*: composed odd minimax polynomials for the sign with a gap of 2^-8 (`GAP`).
- *Bootstraps*: as few as levels allow over the whole network. A comparison takes 36 levels. Its other factor keeps its level meanwhile, so that a
  stage begins with d and e at one level, and x is bootstrapped if too few levels would remain.
- *Real parts* after each bootstrap. Its error is complex, and each polynomial of a sign multiplies a small imaginary part by about 4.5: at the
  paper's size, errors would exceed the values at the third bootstrap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise

import numpy as np

from ..language.slot_functions import SIGN_MARGINS, sign
from ..language.slot_program import tracer
from ..language.slots import SlotValue
from ..language.types import Real
from ..run.repeated_rounds import Body, Round, RoundProgram
from ..run.runnable_programs import SlotProgram, finished
from .f1_programs.packing import Array

PAPER_SET = "osiris-bootstrap-IV"
"""Set IV with the levels of bootstrapping."""

LOG2_ELEMENTS = 14
POLYNOMIALS = 12
DEGREE = 7
DEPTH = 3
"""Levels per polynomial."""

TURN = (1 << 12) + 3
"""Slots to the partner in a body of rounds. Bootstrapping has no such rotation, so the round's key serves no other operation."""

GAP = 2.0**-8
"""The sort may mix or exchange numbers that are closer. Bootstraps of set IV leave an error of 3.4·10^-4 (its deviation; the largest of 2^14 is four times
that), and polynomials for a smaller gap are steeper in all of [-1, 1]: between those for 2^-12 large numbers come so near to 0 that such an error turns signs, with 2^-10 it does
not. This is four times that, and gaps from 2^-6 to 2^-10 leave the same error of the whole network, that of the bootstraps."""


@dataclass(frozen=True)
class Stage:
    """A stage of the network, with its first and last levels."""

    block: int
    """Numbers that the stage's phase sorts in one direction."""
    distance: int
    """To the partner."""
    level: int
    """Level of x; 0 if x is bootstrapped first."""
    refreshed: bool
    """Whether x is bootstrapped first."""
    restored: tuple[int, ...]
    """Polynomials of the comparison that follow a bootstrap."""
    end: int
    """Level of the result."""

    @property
    def bootstraps(self) -> int:
        """Number of bootstraps."""
        return self.refreshed + len(self.restored)


def comparison(level: int, left: int, polynomials: int = POLYNOMIALS) -> tuple[tuple[int, ...], int]:
    """The polynomials of a comparison from `level` that need a bootstrap before them, as late as possible, and the level of the sign; a bootstrap
    leaves `left` levels."""
    restored = []
    for number in range(polynomials):
        if level < DEPTH:
            restored.append(number)
            level = left
        level -= DEPTH
    return tuple(restored), level


def _ways(level: int, left: int, polynomials: int) -> list[tuple[bool, tuple[int, ...], int]]:
    """The possible stages from x at `level`: whether x is bootstrapped first, the polynomials after a bootstrap, and the level of the result."""
    ways = []
    for refreshed in (False, True):
        start = (left if refreshed else level) - 1
        restored, end = comparison(start, left, polynomials)
        if end == 0:
            # A product follows.
            restored, end = (*restored, polynomials), left
        if start >= 1 and polynomials not in restored:
            ways.append((refreshed, restored, min(start, end) - 1))
    return ways


def network(log2_elements: int = LOG2_ELEMENTS, left: int = 9, polynomials: int = POLYNOMIALS) -> list[Stage]:
    """All stages, in order, with the fewest bootstraps; the numbers start at the level after a bootstrap."""
    places = [(1 << k, 1 << j) for k in range(1, log2_elements + 1) for j in reversed(range(k))]
    # By the level of x: the number of bootstraps so far, and their stages.
    best: dict[int, tuple[int, list[Stage]]] = {left: (0, [])}
    for block, distance in places:
        following: dict[int, tuple[int, list[Stage]]] = {}
        for level, (count, stages) in best.items():
            for refreshed, restored, end in _ways(level, left, polynomials):
                stage = Stage(block, distance, 0 if refreshed else level, refreshed, restored, end)
                found = count + stage.bootstraps
                if end not in following or found < following[end][0]:
                    following[end] = (found, [*stages, stage])
        best = following
    stages = min(best.values(), key=lambda way: way[0])[1]
    # The next operation is a bootstrap from level 0, so the result needs no level.
    return [*(replace(one, end=other.level) for one, other in pairwise(stages)), stages[-1]]


def kinds(stages: list[Stage]) -> list[tuple[Stage, int]]:
    """One stage of each kind, with the number of such stages: equal levels, bootstraps and numbers of rotations. Stages of one kind
    differ only in the amounts of their rotations and the signs of their diagonals."""
    elements = max(stage.block for stage in stages)
    counts = Counter(_kind(stage, elements) for stage in stages)
    first = {_kind(stage, elements): stage for stage in reversed(stages)}
    return [(first[kind], count) for kind, count in counts.items()]


def repeated_stages() -> list[Stage]:
    """The second and the third of the paper's network: one of each repeated kind."""
    return network()[1:3]


def _kind(stage: Stage, elements: int) -> tuple[int, tuple[int, ...], int, bool]:
    """The common properties of stages of one kind."""
    return stage.level, stage.restored, stage.end, 2 * stage.distance == elements


def sorting(
    log2_elements: int = LOG2_ELEMENTS, polynomials: int = POLYNOMIALS, gap: float = GAP, turn: int = TURN
) -> RoundProgram:
    """The whole network: each stage is a round, with its own rotations to its partners."""
    elements, stages = 1 << log2_elements, network(log2_elements, polynomials=polynomials)
    bodies = [stage for stage, _ in kinds(stages)]
    numbers = {_kind(stage, elements): number for number, stage in enumerate(bodies)}

    def rotations(stage: Stage) -> dict[int, int]:
        # The numbers repeat, so a rotation backward is also one forward.
        both = {turn: stage.distance, elements - turn: elements - stage.distance}
        return {turn: stage.distance} if 2 * stage.distance == elements else both

    return RoundProgram(
        f"sorting-{elements}",
        [
            Body(
                f"{stage.block}-{stage.distance}",
                partial(sorting_stage, stage, log2_elements, polynomials, gap, turn),
                stage.bootstraps,
            )
            for stage in bodies
        ],
        [Round(numbers[_kind(stage, elements)], rotations(stage)) for stage in stages],
    )


def compared(numbers: Array, stage: Stage) -> Array:
    """A stage in the clear, with comparisons."""
    place = np.arange(len(numbers))
    partners = numbers[place ^ stage.distance]
    larger = ((place & stage.distance) == 0) != ((place & stage.block) == 0)
    exchanged: Array = np.where(larger, np.maximum(numbers, partners), np.minimum(numbers, partners))
    return exchanged


def directions(elements: int, stage: Stage) -> tuple[Array, Array]:
    """By slot: 1 if the partner follows, else 0; and 1 if the larger number stays, else -1."""
    place = np.arange(elements)
    behind = (place & stage.distance) == 0
    ascending = (place & stage.block) == 0
    return behind.astype(float), np.where(behind == ascending, -1.0, 1.0)


def _partners(x: SlotValue, distance: int, turn: int, behind: Array, factor: Array) -> SlotValue:
    """x minus its partner at rotation `turn`, times `factor` in each slot."""
    rotated = x.rotate(turn) * (behind * factor)
    if 2 * distance < len(behind):
        rotated = rotated + x.rotate(-turn) * ((1 - behind) * factor)
    else:
        # Both partners are half of all slots away.
        rotated = x.rotate(turn) * factor
    return x * factor - rotated


@cache
def sorting_stage(
    stage: Stage,
    log2_elements: int = LOG2_ELEMENTS,
    polynomials: int = POLYNOMIALS,
    gap: float = GAP,
    turn: int | None = None,
) -> SlotProgram:
    """One stage, from numbers at its level to numbers at its end; with `turn` as a body of rounds, with that rotation to the partner."""
    elements = 1 << log2_elements
    inputs = {"numbers": Real.bounded(1).vector(elements)}
    made = tracer(f"sorting-{stage.block}-{stage.distance}", "ckks", elements, inputs)
    x = made.input("numbers", inputs["numbers"], stage.level)
    result = exchanged(x, stage, elements, polynomials, gap, turn)
    return finished(made, inputs, {"numbers": result}, sorting_stage.__doc__)


@cache
def sorting_network(log2_elements: int, polynomials: int, gap: float) -> SlotProgram:
    """All stages in one program, for so few numbers that its bound is informative: each stage multiplies errors by the slope of its comparison."""
    elements, stages = 1 << log2_elements, network(log2_elements, polynomials=polynomials)
    return _in_order(f"sorting-{elements}", stages, elements, polynomials, gap, sorting_network.__doc__)


@cache
def sorting_stages(gap: float = GAP) -> SlotProgram:
    """Two stages of the paper's network one after the other, one of each repeated kind."""
    return _in_order("sorting-stages", repeated_stages(), 1 << LOG2_ELEMENTS, POLYNOMIALS, gap, sorting_stages.__doc__)


def _in_order(
    name: str, stages: Sequence[Stage], elements: int, polynomials: int, gap: float, words: str | None
) -> SlotProgram:
    """Stages one after the other."""
    inputs = {"numbers": Real.bounded(1).vector(elements)}
    made = tracer(name, "ckks", elements, inputs)
    x = made.input("numbers", inputs["numbers"], stages[0].level)
    for stage in stages:
        x = exchanged(x, stage, elements, polynomials, gap)
    return finished(made, inputs, {"numbers": x}, words)


def exchanged(
    x: SlotValue, stage: Stage, elements: int, polynomials: int, gap: float, turn: int | None = None
) -> SlotValue:
    """A stage on numbers at its level, with partners at its own distance or `turn` slots."""
    if stage.refreshed:
        x = x.bootstrap().real_part()
    behind, larger = directions(elements, stage)
    places = (stage.distance, stage.distance if turn is None else turn, behind)
    difference = _partners(x, *places, np.ones(elements))
    compared = sign(
        _partners(x, *places, larger),
        gap,
        [DEGREE] * polynomials,
        half=True,
        restored=stage.restored,
        margins=SIGN_MARGINS,
        real=True,
    )
    return (x - difference * (0.5 - compared)).at_level(stage.end)
