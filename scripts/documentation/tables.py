"""Tables of README and docs, drawn from recorded results or from the code between two markers, ports and synthesis on the pages of the RTL units, and their
export:

<!-- table: NAME -->
..
<!-- end of table -->
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import bench_tables, machine_tables, model_tables, results, unit_pages, unit_tables, validation_tables

ROOT = results.ROOT
_BLOCK = re.compile(r"<!-- table: (?P<name>\S+) -->\n(?P<body>.*?)<!-- end of table -->", re.DOTALL)


@dataclass(frozen=True)
class Table:
    """A table: its results, columns and rows."""

    results: tuple[str, ...]
    """`results/RESULT.json` of each; none for a table of the code."""
    columns: tuple[str, ...]
    rows: Callable[..., list[tuple[str, ...]]]
    """Rows of text, from the results' data."""

    def source(self, found: list[dict[str, Any]]) -> str:
        """The line below the table: command, date and processor of one result. Of several, whose own tables show the command, only the rest."""
        if not found:
            return "Drawn from the code."
        if len(found) == 1:
            return results.provenance(found[0])
        places: dict[str, dict[str, None]] = {}
        for result in found:
            places.setdefault(results.where(result), {})[results.when(result)] = None
        return "; ".join(", ".join(filter(None, ("; ".join(times), place))) for place, times in places.items()) + "."


TABLES: dict[str, Table] = {
    name: Table((found,) if isinstance(found, str) else found, columns, rows)
    for topic in (machine_tables, bench_tables, unit_tables, validation_tables, model_tables)
    for name, (found, columns, rows) in topic.TABLES.items()
}
"""Every table by name. Other modules of this package have the rows of a topic."""


def texts() -> list[Path]:
    """README and the other pages at the root, docs and notes."""
    return [page for folder in ("", "docs", "notes") for page in sorted((ROOT / folder).glob("*.md"))]


def draw(name: str) -> str:
    """A table as Markdown, with its source below."""
    if name not in TABLES:
        raise ValueError(f"there is no table {name!r}; scripts/documentation/tables.py has {', '.join(TABLES)}")
    table = TABLES[name]
    found = [results.read(name) for name in table.results]
    lines = ["| " + " | ".join(table.columns) + " |", "|" + "---|" * len(table.columns)]
    lines += [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
        for row in table.rows(*(one["data"] for one in found))
    ]
    return "\n".join([*lines, "", table.source(found), ""])


def drawn(text: str) -> str:
    """A page with every table redrawn."""
    return _BLOCK.sub(
        lambda block: f"<!-- table: {block['name']} -->\n{draw(block['name'])}<!-- end of table -->", text
    )


def main(*, check: bool) -> int:
    """Draw every table, or report those that differ from their results."""
    status = 0
    pages = [(path, drawn(path.read_text(encoding="utf-8"))) for path in texts()]
    for path, new in [*pages, *unit_pages.pages(), unit_tables.export()]:
        if path.is_file() and path.read_text(encoding="utf-8") == new:
            continue
        place = path.relative_to(ROOT)
        if check:
            print(f"{place}: a table differs from its result; run scripts/document.py tables", file=sys.stderr)
            status = 1
        else:
            path.write_text(new, encoding="utf-8")
            print(f"drawn: {place}")
    return status
