"""The evidence value of F1's rows of programs, by the published figures that were known when a program was written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .rows import Reading, calibrated, named, predicted

AUTHORS_PROGRAM: Reading = {
    "name": "a program of ours after the paper's source",
    "evidence": "section 7 names the sources; the authors' programs and parameters are not public",
}
CROSSBAR: Reading = {
    "name": "crossbar=several",
    "evidence": (
        "section 6: bit-sliced crossbars; section 3: switches that change their configuration independently; chosen for table 4, after its "
        "times and table 3's were seen; table 3 has crossbar=one beside"
    ),
}
PROGRAM = [AUTHORS_PROGRAM, CROSSBAR]
"""The readings that every number of a whole program depends on."""

UNKNOWN = ("lola_mnist_encrypted", "bgv_bootstrapping")
"""Cells of the programs whose times in table 3 are unknown to us."""

TIME_UNKNOWN = "this time is not known: range and mean of table 3's speed-ups leave it an order of magnitude"
"""The note for those times."""

TIME_KNOWN = "calibrated: table 3 prints this program's time, which was known when the program was written"
_STATED = "calibrated: what section 8.2 states of this was known when the program was written"


def of_program(
    program: str,
    cell: str,
    value: float,
    reason: str,
    beside: list[str] | None = None,
    readings: Sequence[Reading] = PROGRAM,
    *,
    stated: bool = False,
) -> dict[str, Any]:
    """A row of the program that is table 3's `program`: calibrated if its time is printed there, or if the paper states the row's figure elsewhere
    (`stated`)."""
    if program in UNKNOWN and not stated:
        return predicted(cell, value, reason, beside, [*readings])
    why = _STATED if program in UNKNOWN else TIME_KNOWN
    return calibrated(cell, value, "; ".join([why, *named(readings), reason]), beside)


def of_programs(
    programs: Sequence[str], cell: str, value: float, reason: str, readings: Sequence[Reading] = PROGRAM
) -> dict[str, Any]:
    """A row computed from rows of several programs, with the lowest evidence value among them."""
    known = [program for program in programs if program not in UNKNOWN]
    if not known:
        return predicted(cell, value, reason, readings=[*readings])
    why = f"calibrated as those of {len(known)} of its {len(programs)} programs are"
    return calibrated(cell, value, "; ".join([why, *named(readings), reason]))
