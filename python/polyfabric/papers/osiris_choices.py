"""What Osiris' paper leaves open of its programs, as named choices: chains of moduli, levels of a bootstrapping, readings of the machine, a program's own.

Each row of table III at 1 TB/s with double hoisting stands for the default choices. Beside it stands a row for each other choice that applies to its
program, one changed at a time, and the range over all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .rows import Reading, of

Row = dict[str, Any]

DEFAULT = "the default"
"""The default's name among the choices."""

KNOWN = "calibrated: the choice was added when the default's time was known"
"""The note for a row of such a choice."""


ORDER_KNOWN = "calibrated: sums in place and products by groups of limbs became the default when the times of table III were known"
"""The note for a row of a schedule of matrix-vector products whose program is the paper's own."""

TIME_KNOWN = "calibrated: table III prints this time, or its times of a CPU and improvements give it, and it was known when the program was written"
"""The note for a program that we wrote: the paper names its source and leaves packing and layout open."""


@dataclass(frozen=True)
class Choice:
    """An option that the paper allows instead of one default."""

    words: str
    suffix: str = ""
    """The set's name, if the choice is a chain of moduli."""
    readings: tuple[str, ...] = ()
    source: str | None = None
    """The paper's evidence for the set; without it the row is calibrated."""
    why: str = KNOWN
    """The reason why it is calibrated."""

    def set(self, default: str) -> str:
        """Its set, for a program with that default."""
        return f"{default}{self.suffix}"

    def named(self, default: str) -> Reading:
        """The set as a reading of the row."""
        return {"name": f"{self.set(default)}: {self.words}", "evidence": self.source}

    def named_on(self, default: str) -> str:
        """The set and the readings, by name."""
        return ", ".join([self.set(default), *self.readings])


@dataclass(frozen=True)
class Beside:
    """The place of a program's additional rows with double hoisting at 1 TB/s."""

    name: str
    """The program's name in the cell."""
    words: str
    unit: float
    """A second in the cell's unit."""
    unit_name: str

    @property
    def cell(self) -> str:
        """The place of the default."""
        return f"table3a.{self.name}.dh"

    def of(self, row: Row, choice: str) -> Row:
        """The name of a choice's row, as text."""
        return of(row, program=self.words, choice=choice)

    def place(self, choice: str) -> list[str]:
        """Table, cell and unit of a choice's row, as text."""
        return ["Table III (a)", f"{self.words}, double hoisting: {choice}", self.unit_name]


DIGITS_13 = Choice(
    "scales of 60 and 56 bits, digits of 13 limbs, P of 12 primes of 39 bits",
    "-13",
    source="the scales are those of the library's default bootstrapping set, which table II's note names; alpha and P are not",
)
SINGLE = Choice(
    "one prime of 40 bits a level",
    "-single",
    why="calibrated: nothing but the time speaks for single primes, as table II's note has double-prime scaling",
)
TO_SLOTS = Choice("coefficients to slots in three levels, of 63 diagonals", "-to-slots-3")
DEGREE_62 = Choice("modular reduction of degree 62 and two doublings", "-degree-62")
DEGREE_44 = Choice("modular reduction of degree 44 in nine levels, pairs of primes of 47 and 48 bits", "-degree-44")
PRODUCTS = Choice("steps by the fewest products", readings=("steps=products",))
RATES = Choice("steps by the rates of units and memory", readings=("steps=rates",))
LOADED = Choice("diagonals from memory", readings=("limb_extension=loaded",))
ALL_LIMBS = Choice("one baby step over all limbs after the other", readings=("dataflow=giant_step_centric",))
APART = Choice(f"{ALL_LIMBS.words}, sums apart", readings=("sums=apart", *ALL_LIMBS.readings))
"""The default before the times of table III were known."""
ONE_HADAMARD = Choice("one Hadamard unit", readings=("hadamard=one",))
SEPARATE = Choice("rescaling apart from the division by P", readings=("rescaling=separate",))
FASTER = Choice("4 TB/s", readings=("bandwidth=4TB",))
"""The paper's third bandwidth, which is no choice: another cell."""
DRAM = Choice("the bandwidth that DRAM sustains", readings=("memory=dram",))
ORION = Choice("Orion's public packing, of vectors without copies")
"""Of the small networks, other programs: section III names Orion's packing, and its code has this one."""
IN_TURN = Choice("delays whose length changes behind a stream", readings=("delays=in_turn",))
FAST_IN_TURN = Choice(f"2 TB/s, {IN_TURN.words}", readings=("bandwidth=2TB", *IN_TURN.readings))
ELSEWHERE = (FASTER, FAST_IN_TURN)
"""Choices at another bandwidth, which are in no range."""

CHAIN_CHOICES = (DIGITS_13, SINGLE, TO_SLOTS, DEGREE_62, DEGREE_44)
READINGS = (ALL_LIMBS, APART, PRODUCTS, RATES, LOADED, ONE_HADAMARD, SEPARATE)
OF_SET_III = (*CHAIN_CHOICES, *READINGS)
"""Choices for programs with bootstraps on set III."""
OF_SORTING = (SINGLE, TO_SLOTS, DEGREE_62, APART, PRODUCTS, LOADED)
"""Choices for sorting, on set IV, which has no levels left within log QP for the library's scales, or for a ninth level of the modular reduction. A
choice takes a minute, so those with an effect of at most a seventh of a bootstrapping's time are omitted."""
OF_RESNET = (SINGLE, APART, PRODUCTS)
"""Choices for ResNet-20, on the same set: a choice takes some minutes, most of them for its own matrices."""


def add_ranges(rows: Sequence[Row]) -> None:
    """Gives each default of table III the range of its times over the paper's other options, from the additional rows."""
    for row in rows:
        if row["beside"] is not None or row["value"] is None or not row["id"].startswith("table3"):
            continue
        others = [other for other in rows if other["id"] == row["id"] and other["beside"] is not None]
        elsewhere = [choice.words for choice in ELSEWHERE]
        own = [other for other in others if other["of"]["choice"] not in elsewhere]
        times = {other["of"]["choice"]: other["value"] for other in own if other["value"] is not None}
        if not times:
            continue
        times[DEFAULT] = row["value"]
        row["of"] = {"program": own[0]["of"]["program"], "choice": DEFAULT}
        least, most = min(times, key=times.__getitem__), max(times, key=times.__getitem__)
        ends = {"least": times[least], "least_of": least, "most": times[most], "most_of": most}
        row["range"] = {**ends, "choices": len(times)}
