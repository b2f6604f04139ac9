"""Morphling's table VI: the time of one inference, with every set and order that the paper leaves open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from .. import machines
from ..apps.boosted_trees import xgboost
from ..apps.networks import deepcnn, vgg9
from ..errors import Error
from ..language.program import Program
from ..progress import ProgressHook
from .plans import element_plan
from .rows import calibrated, failed
from .side_by_side import Memory, Step, side_by_side

SETS = {"A": "morphling-A-t32", "B": "morphling-B", "C": "morphling-C"}
ORDERS = ("after", "before")

_OF_A_SET = "section VI says that sets A to C serve the experiments beside table V; table VI names none"
_OF_AN_ORDER = {
    "after": "section V-E: modulus switch, XPU, sample extraction, key switch",
    "before": "sums are then over the large key, which makes less noise; the order that `plan` takes by itself",
    "none": "nothing reads what the last look-ups give, so no key switch follows them",
}
_REASON = "first load to last store of one inference, every layer waiting for what it reads"
ALONE = ("vgg-9", "A", "before")
"""Program, set and order that nothing else is timed beside: sums are then of ciphertexts of 16 KiB, and the schedule takes nearly 8 GiB."""

LARGE = "vgg-9"
"""The program whose schedules take gigabytes."""

PRINTED = ("table6.xg-boost", "table6.deepcnn-20")
"""Cells whose times reached this project; those of the others follow of other figures, within a range."""

_KNOWN = "which was known when the program was written: ours, in section VI-A's shapes"
_OF_PRINTED = f"calibrated: table VI prints this time, {_KNOWN}"
_OF_BOUNDED = f"calibrated: table VI's CPU time and section VI-C's speed-ups bound this time, {_KNOWN}"
CHOSEN = (
    "of the sets, C was once taken as the default because it meets this cell; the rows of the others stand beside it"
    """Of the cells that a set was once chosen by."""
)


@dataclass(frozen=True)
class Case:
    """One simulation of table VI."""

    cell: str
    program: Program
    set: str
    order: str
    beside: str | None = None
    """What the row is named if it is no published cell's."""
    reason: str = _REASON

    @property
    def memory(self) -> Memory:
        """What it leaves others of the memory."""
        if (self.program.name, self.set, self.order) == ALONE:
            return Memory.ALL
        return Memory.LARGE if self.program.name == LARGE else Memory.LITTLE

    @property
    def chosen(self) -> bool:
        """Whether set and order were once chosen by this cell's published value too."""
        return self.cell in PRINTED and self.set == "C" and self.order != "before" and self.beside is None

    def row(self, machine: machines.Machine) -> dict[str, Any]:
        """Its row of the comparison."""
        place = ["Table VI", f"{self.program.name}, {self.beside}", "s"] if self.beside else None
        try:
            report = machine.simulate(element_plan(self.program, SETS[self.set], self.order, machine)).to_dict()
        except Error as error:
            return failed(self.cell, error, place)
        why = _OF_PRINTED if self.cell in PRINTED else _OF_BOUNDED
        why = f"{why}; {CHOSEN}" if self.chosen else why
        choice = f"set {self.set}, key switch {self.order}; {_OF_A_SET}; {_OF_AN_ORDER[self.order]}"
        reason = f"{choice}; {why}; {self.reason}; {report['operations']:,} look-ups"
        return calibrated(self.cell, report["seconds"], reason, place)


def cases() -> Iterator[Case]:
    """Every simulation of table VI, the longest first."""
    networks = {"vgg-9": vgg9(), **{f"deepcnn-{depth}": deepcnn(depth) for depth in (100, 50, 20)}}
    for name, program in networks.items():
        for order in ORDERS:
            yield from (Case(f"table6.{name}", program, which, order) for which in SETS)
    # The decisions alone are the comparisons that the paper mentions: no key switch follows them.
    for order in ("none", "before"):
        yield from (Case("table6.xg-boost", xgboost(leaves=False), which, order) for which in SETS)
    leaves = "a look-up more for every leaf whose value is not 0, and key switches: which leaf is reached"
    for which in SETS:
        yield Case("table6.xg-boost", xgboost(), which, "after", f"leaves too, set {which}", leaves)
        dense = f"dense kernels, set {which}"
        yield Case("table6.deepcnn-20", deepcnn(20, taps=None), which, "after", dense, "every weight is 1 or -1")


def applications(progress: ProgressHook | None) -> list[dict[str, Any]]:
    """Morphling's table VI: the time of one inference."""
    machine = machines.load("morphling")
    steps = [
        Step(
            f"simulate {case.program.name} with set {case.set}, key switch {case.order}",
            partial(case.row, machine),
            case.memory,
        )
        for case in cases()
    ]
    return side_by_side(steps, progress)
