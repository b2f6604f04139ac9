"""The published figures of a paper beside the model's."""

from __future__ import annotations

import json

from . import _native, papers
from .progress import ProgressHook
from .reports import Report


def reproduction(paper: str, progress: ProgressHook | None = None, *, applications: bool = False) -> Report:
    """Every published figure of a paper with the model's, the deviation, and what kind of figure it is.

    A figure that cannot be computed has its cause as `failure`, and the others stand. With `applications`, the paper's applications are
    timed too, which takes minutes.
    """
    timer = papers.applications(paper) if applications else None
    timed = (timer(progress) if timer else []) if applications else None
    rows = json.loads(_native.reproduce(paper, json.dumps(timed), progress))
    return Report("reproduction", {"paper": paper, "rows": rows}, drawings=lambda: papers.drawings(paper, rows))
