"""The applications of each machine's paper, timed for the comparison with what it published: a module a machine, of its name."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..progress import ProgressHook

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def applications(machine: str) -> Callable[[ProgressHook | None], list[dict[str, Any]]] | None:
    """What times the applications of that machine's paper, and gives a row for each; `None` if it has none."""
    module = _module(machine)
    return None if module is None else module.applications


def drawings(machine: str, rows: list[dict[str, Any]]) -> list[tuple[str, Figure]]:
    """(caption, figure) of what that machine's paper draws in a way of its own, from rows of the comparison."""
    draw = getattr(_module(machine), "drawings", None)
    return [] if draw is None else draw(rows)


def _module(machine: str) -> ModuleType | None:
    name = f"{__name__}.{machine}"
    if not machine.isidentifier() or importlib.util.find_spec(name) is None:
        return None
    return importlib.import_module(name)
