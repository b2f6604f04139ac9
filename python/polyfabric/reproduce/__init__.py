"""The papers' published figures next to the models': one module a paper, of its machine's name.

A module has `predictions`, the numbers that take a minute or two, and may have `applications`, those of the paper's applications, which take longer,
and `drawings`. Each gives rows as `rows` makes them: a published cell's id, or table, name and unit of a number beside it, and what the model says.
"""

from __future__ import annotations

import importlib
from functools import partial

from ..errors import MachineError
from ..progress import ProgressHook
from ..reports import Report
from .published import FOLDER, Figures, compared

PAPERS = sorted(path.stem for path in FOLDER.glob("*.toml"))
"""By the names of their machines."""


def reproduction(paper: str, progress: ProgressHook | None = None, *, applications: bool = False) -> Report:
    """Every published figure of a paper with the model's, the deviation, and what kind of figure it is.

    A figure that cannot be computed has its cause as `failure`, and the others stand. With `applications`, the paper's applications are
    timed too, which takes minutes.
    """
    if paper not in PAPERS:
        known = ", ".join(PAPERS)
        raise MachineError(f'no published figures of "{paper}" are in the project; it has {known}')
    figures, module = Figures.read(paper), importlib.import_module(f"{__name__}.{paper}")
    timed = module.applications(progress) if applications else []
    rows = compared(figures, module.predictions(progress) + timed, timed=applications)
    draw = getattr(module, "drawings", None)
    return Report("reproduction", {"paper": paper, "rows": rows}, drawings=draw and partial(draw, rows))
