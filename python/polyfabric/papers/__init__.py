"""Comparison of the papers' published figures with the models': one module per paper, with its machine's name.

A module has `predictions`, the numbers that take a minute or two. It may have `applications`, for the paper's applications, which take longer, and
`drawings`. Each gives rows in the form of `rows`: a published cell's id, or table, name and unit of an additional number, and the model's value.
"""

from __future__ import annotations

import importlib
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import MachineError
from ..host.progress import ProgressHook
from ..reports import Report
from . import drawn, validation
from .published import FOLDER, Figures, compared

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPERS = sorted(path.stem for path in FOLDER.glob("*.toml"))
"""The modules, by machine name."""


def reproduce(paper: str, *, applications: bool = False, progress: ProgressHook | None = None) -> Report:
    """Every published figure of a paper with the model's, the deviation, and the kind of figure.

    `paper` is the name of its machine. A figure is predicted (from a schedule), predicted under a named reading, an identity (of another figure),
    calibrated (fitted to the result), an input (from the paper), of another system, or not modelled. One that cannot be computed has its cause as
    `failure`; the others are unaffected. With `applications`, the paper's applications are timed too, which takes minutes to an hour, and up to 17 GiB.
    """
    if paper not in PAPERS:
        known = ", ".join(PAPERS)
        raise MachineError(f'no published figures of "{paper}" are in the project; it has {known}')
    figures, module = Figures.read(paper), importlib.import_module(f"{__name__}.{paper}")
    timed = module.applications(progress) if applications else []
    rows = compared(figures, module.predictions(progress) + timed, timed=applications)
    data = {"paper": paper, "rows": rows, "summary": validation.counts(rows), "limits": list(validation.WITHIN)}
    return Report("reproduction", data, drawings=partial(drawings, paper, rows))


def drawings(paper: str, rows: list[dict[str, Any]]) -> list[tuple[str, Figure]]:
    """(caption, figure) for every figure of the paper that can be drawn from rows of its comparison."""
    own = getattr(importlib.import_module(f"{__name__}.{paper}"), "drawings", None)
    return [*drawn.of(drawn.described_figures(paper), rows), *([] if own is None else own(rows))]
