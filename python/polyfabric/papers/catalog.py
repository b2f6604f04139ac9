"""The evidence value of the models' numbers: for each paper a file here, with a row for each number that a module computes.

A row is named by the id of its published cell. An additional row of a cell has a suffix after a slash, and `place`: table, cell and unit. It has the
`kind` of the number (default: `predicted`), the `readings` that it depends on, and its `reason`. The module fills in placeholders in braces.

`drawn` has the paper's figures, for `drawn.py`.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from .rows import Reading, predicted


class Catalog:
    """The rows of a paper."""

    def __init__(self, paper: str) -> None:
        found = tomllib.loads((Path(__file__).parent / f"{paper}.toml").read_text(encoding="utf-8"))
        self._readings: dict[str, list[str]] = found["readings"]
        self._rows: dict[str, dict[str, Any]] = found["rows"]

    def reading(self, name: str, /, **fields: str | float) -> Reading:
        """A reading: its name, and its evidence besides the result, if any."""
        words = [word.format(**fields) for word in self._readings[name]]
        return {"name": words[0], "evidence": words[1] if len(words) > 1 else None}

    def row(self, key: str, value: float, /, kind: str | None = None, **fields: str | float) -> dict[str, Any]:
        """The row of that name with its number; `kind` overrides the catalog's."""
        row = self._rows[key]
        kind = kind or row.get("kind")
        place = [word.format(**fields) for word in row["place"]] if "place" in row else None
        readings = [self.reading(name, **fields) for name in row.get("readings", [])] if kind is None else []
        reason = row.get("reason", "taken in by the machine file").format(**fields)
        made = predicted(key.partition("/")[0].format(**fields), float(value), reason, place, readings)
        return made if kind is None else {**made, "kind": kind}
