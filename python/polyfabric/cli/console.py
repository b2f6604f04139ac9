"""Output functions that all commands share."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..errors import SecurityWarning
from ..reports.tables import GAP

BAD = "bold red"
"""The style of wrong results."""


class _Output(Console):
    """A console that ends without an error when the output is closed."""

    def on_broken_pipe(self) -> None:
        """Raises `BrokenPipeError`, on which `main` ends without an error."""
        raise BrokenPipeError


def out() -> Console:
    """The output stream, wide enough without a terminal that tables do not wrap. Texts of files and programs are printed without markup."""
    console = _Output(highlight=False, markup=False)
    return console if console.is_terminal else _Output(highlight=False, markup=False, width=120)


def error_line(message: str) -> None:
    """An error, on the error stream."""
    _line(("error:", BAD), message)


def warning_line(message: str) -> None:
    """A warning, on the error stream."""
    _line(("warning:", "bold yellow"), message)


def note_line(message: str) -> None:
    """A note on a long command, on the error stream."""
    _line(("note:", "bold"), message)


def _line(what: tuple[str, str], message: str) -> None:
    Console(stderr=True, highlight=False, soft_wrap=True).print(styled(what, f" {message}"))


def styled(*parts: str | Text | tuple[str, str]) -> Text:
    """Text from parts, some with a style."""
    return Text.assemble(*parts)


def print_json(data: Mapping[str, Any] | Sequence[Any]) -> None:
    """Prints data as JSON."""
    sys.stdout.write(json.dumps(data, indent=2, default=_number) + "\n")


def _number(value: object) -> object:
    """Converts numbers of numpy to Python's."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not data")


@contextmanager
def security_warnings() -> Iterator[None]:
    """Prints each warning about a weak parameter set once, on the error stream."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SecurityWarning)
        try:
            yield
        finally:
            for message in dict.fromkeys(str(w.message) for w in caught):
                warning_line(message)


def grid(*columns: str, title: str | None = None, left: int = 1) -> Table:
    """A table whose first `left` columns are text and whose others are numbers."""
    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, GAP, 0, 0)
    )
    for index, column in enumerate(columns):
        table.add_column(
            column,
            justify="left" if index < left else "right",
            header_style="bold",
            overflow="fold",
            no_wrap=index == 0 or index >= left,
        )
    return table
