"""FPT's application: a board update of the Game of Life (table 5), as a program with its gates' dependences."""

from __future__ import annotations

import warnings
from typing import Any

from .. import machines
from ..apps.life import life
from ..errors import Error, SecurityWarning
from ..execution import plan
from ..progress import ProgressHook
from .rows import failed, predicted

_LINK = {"name": "host link of 50 us each way", "evidence": None}
_HOST = {"name": "host of 3.2e9 operations a second", "evidence": None}
_BOARDS = (("with", "fpt-I", [_LINK, _HOST]), ("without", "fpt-I-one-key", [_LINK]))
_KERNELS = {
    "one-at-a-time": "kernels that do not overlap",
    "overlapping": "kernels that overlap",
}


def applications(progress: ProgressHook | None) -> list[dict[str, Any]]:
    """A board update with and without a key switch, by either reading of how the host calls the card."""
    work = [(cell, name, assumed, kernels) for cell, name, assumed in _BOARDS for kernels in _KERNELS]
    rows = []
    for done, (cell, name, assumed, kernels) in enumerate(work):
        if progress is not None:
            progress(f"simulate life with {name}, kernels {kernels}", done, len(work))
        switch = "with" if cell == "with" else "without"
        place = ["Table 5", f"FPT, board update {switch} key switch, gate after gate, {_KERNELS[kernels]}", "s"]
        try:
            machine = machines.load("fpt", [f"kernels={kernels}"])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SecurityWarning)
                planned = plan(life(), name, machine=machine, max_failure=0.0)
            report = machine.simulate(planned).to_dict()
        except Error as error:
            rows.append(failed(f"table5.fpt.{cell}", error, place))
            continue
        reason = f"the schedule of {report['operations']:,} look-ups of 44 gates a cell, each waiting for what it reads"
        rows.append(predicted(f"table5.fpt.{cell}", report["seconds"], reason, place, assumed))
    return rows
