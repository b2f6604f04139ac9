"""Arguments by name: the error for a missing one says what can be given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ..accelerators import machine as accelerators
from ..papers import PAPERS


class Named(click.ParamType):
    """A text, with a sentence on its choices."""

    def __init__(self, name: str, choices: Callable[[], str]) -> None:
        self.name = name
        self.choices = choices

    def get_missing_message(self, *_: Any, **__: Any) -> str:  # noqa: ANN401 - click's own, which depend on its version
        """The choices."""
        return self.choices()


PROGRAM = Named(
    "program",
    lambda: (
        "Give FILE.py:FUNCTION, FILE.pf, FILE.mlir of HEIR, FILE.csv or FILE.txt of a trace, or a built-in one (polyfabric programs)."
    ),
)
MACHINE = Named("machine", lambda: f"Give {', '.join(accelerators.names())}, or a file.toml of yours.")
PAPER = Named("paper", lambda: f"Give {', '.join(PAPERS)}.")
