"""Tables on the console."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from . import rows

if TYPE_CHECKING:
    from . import Report


def of(report: Report) -> list[RenderableType]:
    """What to print, in order."""
    parts: list[RenderableType] = []
    for table in rows.of(report):
        parts.append(drawn(table))
        if table.note:
            parts.append(Text(table.note, style="dim"))
        parts.append(Text())
    return parts[:-1]


def drawn(content: rows.Rows) -> Table:
    """One table: text to the left, numbers to the right, no lines."""
    table = Table(
        title=Text(content.title),
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )
    heading = any(content.columns) and content.columns != ("figure", "value")
    table.show_header = heading
    for index, column in enumerate(content.columns):
        text = index < content.left or column in ("kind", "note")
        table.add_column(Text(column), justify="left" if text else "right", header_style="dim", overflow="fold")
    for row in content.rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
