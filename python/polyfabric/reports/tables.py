"""Tables on the console."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from . import rows

if TYPE_CHECKING:
    from . import Report

GAP = 2
"""Spaces between the columns of a table."""

LEAST_TEXT = 16
"""Narrowest folded width of a text column, in characters."""


def of(report: Report) -> list[RenderableType]:
    """The tables to print, in order."""
    parts: list[RenderableType] = []
    for table in rows.of(report):
        parts.append(drawn(table))
        if table.note:
            parts.append(Text(table.note, style="dim"))
        parts.append(Text())
    return parts[:-1]


def drawn(content: rows.Rows) -> Table:
    """One table, without lines: text aligned left, numbers right."""
    table = Table(
        title=Text(content.title),
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        padding=(0, GAP, 0, 0),
    )
    heading = any(content.columns) and content.columns != ("figure", "value")
    table.show_header = heading
    for index, column in enumerate(content.columns):
        text = index < content.left or column in ("kind", "note")
        table.add_column(
            Text(column), justify="left" if text else "right", header_style="dim", overflow="fold", no_wrap=not text
        )
    for row in content.rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def print_table(console: Console, table: Table) -> None:
    """A table; if the terminal is too narrow for its numbers, one line per figure."""
    wide = [max(cell_len(str(cell)) for cell in (column.header, *column.cells)) for column in table.columns]
    least = [
        size if column.no_wrap else min(size, LEAST_TEXT) for size, column in zip(wide, table.columns, strict=True)
    ]
    needed, own = sum(least) + GAP * len(least), console.width
    if needed <= own or not console.is_terminal:
        console.width = max(needed, own)
        console.print(table)
        console.width = own
        return
    if table.title:
        console.print(Text(str(table.title), style="bold"))
    headers = [str(column.header).strip() for column in table.columns]
    longest = max(map(cell_len, headers))
    for first, *others in zip(*(column.cells for column in table.columns), strict=True):
        console.print(Text(str(first), style="bold"))
        for header, cell in zip(headers[1:], others, strict=True):
            console.print(f"  {header:<{longest}}  {cell}")
