"""The published figures of a paper beside the model's."""

from __future__ import annotations

import json

from . import _native
from .progress import ProgressHook
from .reports import Report


def reproduction(paper: str, progress: ProgressHook | None = None) -> Report:
    """Every published figure of a paper with the model's, the deviation, and what kind of figure it is."""
    rows = json.loads(_native.reproduce(paper, progress))
    return Report("reproduction", {"paper": paper, "rows": rows})
