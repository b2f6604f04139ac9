"""FPT's application: a board update of the Game of Life (table 5), as a program with its gates' dependences."""

from __future__ import annotations

from typing import Any

from .. import machines
from ..apps.life import SIZE, life
from ..errors import Error
from ..execution import plan
from ..progress import ProgressHook
from .plans import unwarned
from .rows import calibrated, failed

_LINK = "host link of 50 us each way"
_HOST = "host of 3.2e9 operations a second"
_OURS = "a program of ours of section 6.3's 44 gates a cell: which of them wait for which the paper does not print"
_KNOWN = "this board's time, which was known when the program was written"
_GATES = f"calibrated: the program's look-ups over its cells. {_OURS}, and it was written to have as many"
_BOARDS = (
    ("with", "fpt-I", [f"calibrated: section 6.3's key switches and throughput give {_KNOWN}", _OURS, _LINK, _HOST]),
    ("without", "fpt-I-one-key", [f"calibrated: TFHE-rs' time and section 6.3's speed-up give {_KNOWN}", _OURS, _LINK]),
)
"""Ends of cells, sets, and why rows are calibrated, with what they assume."""

_KERNELS = {
    "one-at-a-time": "kernels that do not overlap",
    "overlapping": "kernels that overlap",
}


def applications(progress: ProgressHook | None) -> list[dict[str, Any]]:
    """A board update with and without a key switch, by either reading of how the host calls the card."""
    work = [(cell, name, why, kernels) for cell, name, why in _BOARDS for kernels in _KERNELS]
    rows = []
    gates = 0.0
    for done, (cell, name, why, kernels) in enumerate(work):
        if progress is not None:
            progress(f"simulate life with {name}, kernels {kernels}", done, len(work))
        switch = "with" if cell == "with" else "without"
        place = ["Table 5", f"FPT, board update {switch} key switch, gate after gate, {_KERNELS[kernels]}", "s"]
        try:
            machine = machines.load("fpt", [f"kernels={kernels}"])
            with unwarned():
                planned = plan(life(), name, machine=machine, max_failure=0.0)
            report = machine.simulate(planned).to_dict()
        except Error as error:
            rows.append(failed(f"table5.fpt.{cell}", error, place))
            continue
        made_of = (
            f"the schedule of {report['operations']:,} look-ups of 44 gates a cell, each waiting for what it reads"
        )
        rows.append(calibrated(f"table5.fpt.{cell}", report["seconds"], "; ".join([*why, made_of]), place))
        gates = report["operations"] / SIZE**2
    return [*rows, calibrated("section6.gates", gates, _GATES)] if gates else rows
