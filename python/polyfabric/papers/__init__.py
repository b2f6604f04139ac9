"""The applications of each machine's paper, timed for the comparison with what it published: a module a machine, of its name."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

from ..progress import ProgressHook


def applications(machine: str) -> Callable[[ProgressHook | None], list[dict[str, Any]]] | None:
    """What times the applications of that machine's paper, and gives a row for each; `None` if it has none."""
    name = f"{__name__}.{machine}"
    if not machine.isidentifier() or importlib.util.find_spec(name) is None:
        return None
    return importlib.import_module(name).applications
