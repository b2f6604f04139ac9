"""Strix's figure 7: the time of one inference of Zama's Deep-NN, in the rings of the paper and with both orders of the key switch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from .. import machines
from ..apps.deep_nn import deep_nn
from ..errors import Error
from ..progress import ProgressHook
from ..reports.units import probability
from .plans import element_plan
from .rows import failed, predicted
from .side_by_side import Step, side_by_side

DEPTHS = (20, 50, 100)

SETS = {
    1024: ("strix-II", "of table IV's two sets with this ring the one of more security"),
    2048: (
        "polyfabric-3-p128-t32",
        "the project's default set of 32 bits and 2^-128 with this ring: table IV's, III, leaves no room for a message after a key switch",
    ),
    4096: (
        "polyfabric-4-p128-t32",
        "the project's default set of 32 bits and 2^-128 with this ring, of which table IV has none",
    ),
}
"""By ring degree: the set, and why. Each has GLWE dimension 1, as all of table IV."""

ORDERS = {
    "after": "section IV-C: what comes from a blind rotation is forwarded to the key-switching cluster",
    "before": "the order of the program's own plan: sums are then over the large key, which makes less noise",
}

_PROGRAM = {
    "name": "a program of ours in section VI-B's shapes",
    "evidence": "section VI-B has the layers and the activations of each, and neither weights nor the window; no time of figure 7 is known",
}
_KEY_BUS = {
    "name": "key_bus=each",
    "evidence": "what eight points of 64 bits of a VMA unit take; chosen with the rates of sets I to III in sight",
}
_REASON = (
    "the paper takes its sets from another one, which names none of these. First load to last store of one inference, every layer waiting "
    "for what it reads; linear layers on the key-switch clusters, an assumption; an image of 28 x 28, as MNIST's, and a window of 8 x 9, "
    "inferences: other windows leave 21 x 20 with padding, by as many look-ups"
)


@dataclass(frozen=True)
class Case:
    """One simulation of figure 7."""

    depth: int
    degree: int
    order: str
    dense: bool = False

    @property
    def cell(self) -> str:
        """The published cell that its row is of, or stands beside."""
        return f"figure7.{self.depth}.{self.degree}"

    def row(self, machine: machines.Machine) -> dict[str, Any]:
        """Its row of the comparison."""
        place = ["Figure 7", f"NN-{self.depth}, N = {self.degree}, dense layers", "ms"] if self.dense else None
        name, why = SETS[self.degree]
        network = deep_nn(self.depth, dense=self.dense)
        try:
            report = machine.simulate(element_plan(network, name, self.order, machine)).to_dict()
            exact = element_plan(network, name, self.order, None).log2_failure
        except Error as error:
            return failed(self.cell, error, place)
        readings: list[dict[str, str | None]] = [
            _PROGRAM,
            _KEY_BUS,
            {"name": f"set {name}", "evidence": why},
            {"name": f"key switch {self.order}", "evidence": ORDERS[self.order]},
        ]
        weights = "every weight is 1 or -1; " if self.dense else ""
        fails = f"on this computer one inference comes out wrong with probability {probability(exact)}"
        reason = f"key switch {self.order}; {report['operations']:,} look-ups; {weights}{_REASON}; {fails}"
        return predicted(self.cell, 1e3 * report["seconds"], reason, place, readings)


def cases() -> Iterator[Case]:
    """Every simulation of figure 7."""
    for depth in DEPTHS:
        for degree in SETS:
            yield from (Case(depth, degree, order) for order in ORDERS)
    # Whether the number of weights matters.
    yield from (Case(DEPTHS[0], degree, "after", dense=True) for degree in SETS)


def applications(progress: ProgressHook | None) -> list[dict[str, Any]]:
    """Figure 7: the time of one inference of each network in each ring, and NN-20 with dense layers beside it."""
    machine = machines.load("strix")
    steps = [
        Step(f"simulate nn-{case.depth}, N = {case.degree}, key switch {case.order}", partial(case.row, machine))
        for case in cases()
    ]
    return side_by_side(steps, progress)
