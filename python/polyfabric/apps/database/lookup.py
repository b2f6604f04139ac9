"""One encrypted lookup, compared with the table in the clear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...host.progress import ProgressHook
from ...run.execution import place, plan, run_plan
from ...schemes.rns import SlotResult
from . import database_lookup
from .store import T, capitals, columns, key, stride, text


@dataclass(frozen=True)
class Answer:
    """The result of a lookup."""

    query: str
    entries: int
    found: str
    """Decrypted; empty if no entry has the key."""
    expected: str
    run: SlotResult

    @property
    def correct(self) -> bool:
        """Whether the decrypted value is the table's, in every slot."""
        return self.run.correct and self.found == self.expected

    def to_dict(self) -> dict[str, Any]:
        """The result as data."""
        facts = {
            "query": self.query,
            "entries": self.entries,
            "found": self.found,
            "looked_up_in_the_clear": self.expected,
        }
        return {**self.run.to_dict(), "correct": self.correct, **facts}


def look_up(
    query: str,
    *,
    on: str = "cpu",
    readings: Sequence[str] = (),
    parameters: str | None = None,
    threads: int | None = None,
    measure: bool = False,
    max_failure: float | None = None,
    progress: ProgressHook | None = None,
) -> Answer:
    """Encrypts the database and the query, looks up, decrypts."""
    table = capitals()
    inputs = {"query": key(query), **columns(table)}
    width = stride(len(table))
    planned = plan(
        database_lookup(width), parameters, measure=measure, machine=place(on, readings), max_failure=max_failure
    )
    run = run_plan(planned, inputs, on=on, threads=threads, progress=progress)
    found = text([part % T for part in run.value[::width]])
    return Answer(query, len(table), found, table.get(query.strip().upper(), ""), run)
