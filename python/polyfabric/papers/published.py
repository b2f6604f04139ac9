"""A paper's published figures, from `figures/`, next to the models' numbers. Nothing else reads these files."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import MachineError
from .rows import WITHOUT_NUMBER, identical

Row = dict[str, Any]

FOLDER = Path(__file__).parent / "figures"
"""Links to the files of `figures/`, for the installed package."""


@dataclass(frozen=True)
class Quotient:
    """Numbers of other cells, multiplied and divided: a speed-up over another machine, or the price of a number of operations. An `unmodelled` cell
    contributes its published value, every other one the model's."""

    of: Sequence[str] = ()
    over: Sequence[str] = ()
    times: float = 1.0
    """A factor between units, which the note names."""
    root: int = 1
    """The root that is taken of the quotient: a geometric mean has as many factors."""
    note: str | None = None


@dataclass(frozen=True)
class Cell:
    """A cell of a published table or figure."""

    id: str
    table: str
    cell: str
    unit: str
    value: float | None = None
    lower_bound: float | None = None
    upper_bound: float | None = None
    derived: str | None = None
    """The published numbers that imply the bounds, if the cell's own is unknown."""
    unmodelled: str | None = None
    """The reason why the model has no number."""
    other_system: bool = False
    """Whether the reason is that the number is another system's: of a machine, software or price that the paper compares itself with."""
    quotient: Quotient | None = None

    @classmethod
    def of(cls, literal: Row) -> Cell:
        """The cell of an entry of a file."""
        quotient = literal.get("quotient")
        numbers = {name: float(literal[name]) for name in ("value", "lower_bound", "upper_bound") if name in literal}
        return cls(**{**literal, **numbers, "quotient": quotient and Quotient(**quotient)})

    @property
    def published(self) -> float | None:
        """The published number, if the model has none."""
        return self.value if self.unmodelled is not None else None

    def deviation(self, model: float) -> float | None:
        """model / published - 1; for bounds, 0 within them and otherwise relative to the nearer one. `None` if it is relative to 0."""
        against = self.value
        if against is None and self.lower_bound is not None and model < self.lower_bound:
            against = self.lower_bound
        if against is None and self.upper_bound is not None and model > self.upper_bound:
            against = self.upper_bound
        if against == 0.0:
            return 0.0 if model == 0.0 else None
        if against is not None:
            return model / against - 1.0
        return None if self.lower_bound is None and self.upper_bound is None else 0.0


@dataclass(frozen=True)
class Figures:
    """A file of published figures."""

    name: str
    paper: str
    cells: dict[str, Cell] = field(default_factory=dict)

    @classmethod
    def read(cls, name: str) -> Figures:
        """The published figures of a paper."""
        return cls.of(name, tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8")))

    @classmethod
    def of(cls, name: str, literal: Row) -> Figures:
        """The published figures from a file's content, if every quotient has its factors."""
        figures = cls(name, literal["paper"], {entry["id"]: Cell.of(entry) for entry in literal["figure"]})
        for cell in figures.cells.values():
            if cell.other_system and cell.unmodelled is None:
                raise figures._fault(f'cell "{cell.id}" is another system\'s without a reason; add `unmodelled`')
            for factor in (*cell.quotient.of, *cell.quotient.over) if cell.quotient else ():
                if wrong := figures._no_factor(factor):
                    raise figures._fault(f'cell "{cell.id}" is a quotient of "{factor}", which {wrong}; correct it')
        return figures

    def _fault(self, cause: str) -> MachineError:
        return MachineError(f"figures/{self.name}.toml: {cause}")

    def _no_factor(self, cell: str) -> str | None:
        """The reason why a cell's quotient cannot be computed, if any."""
        found = self.cells.get(cell)
        if found is None:
            return "is no cell"
        if found.quotient is not None:
            return "is one itself"
        return "nobody has a number of" if found.unmodelled is not None and found.value is None else None

    def expect(self, predictions: Iterable[Row]) -> None:
        """Refuses a number that belongs to no cell and is not an additional row either."""
        for row in predictions:
            if row["beside"] is None and row["id"] not in self.cells:
                raise self._fault(f'there is no cell "{row["id"]}", of which the model has a number; add it')

    def quotients(self, predictions: Sequence[Row]) -> list[Row]:
        """The numbers of the cells that are quotients, except those with a factor that the model lacks."""
        own: dict[str, list[Row]] = {}
        for row in predictions:
            if row["beside"] is None:
                own.setdefault(row["id"], []).append(row)
        found = ((cell.id, cell.quotient) for cell in self.cells.values() if cell.quotient)
        return [
            self._quotient(cell, quotient, own)
            for cell, quotient in found
            if all(
                factor in own or self.cells[factor].published is not None for factor in (*quotient.of, *quotient.over)
            )
        ]

    def _quotient(self, cell: str, quotient: Quotient, own: dict[str, list[Row]]) -> Row:
        failures = []

        def product(factors: Iterable[str]) -> float:
            numbers = []
            for factor in factors:
                published = self.cells[factor].published
                rows = own.get(factor, [])
                if published is not None:
                    numbers.append(published)
                elif len(rows) > 1:
                    failures.append(f'cell "{factor}" has several numbers, of which a quotient is not one')
                elif rows[0]["value"] is None:
                    failures.append(rows[0].get("failure") or rows[0]["reason"])
                else:
                    numbers.append(rows[0]["value"])
            return math.prod(numbers, start=1.0)

        def words(factors: Iterable[str]) -> str:
            whose = {factor: "model's" if self.cells[factor].published is None else "published" for factor in factors}
            return " times ".join(f'the {owner} "{self.cells[factor].cell}"' for factor, owner in whose.items())

        of, over = product(quotient.of), product(quotient.over)
        parts = [words(quotient.of) or "1", *([f"over {words(quotient.over)}"] if quotient.over else [])]
        mean = [f"the root of order {quotient.root} of it"] if quotient.root > 1 else []
        reason = "; ".join([" ".join(parts), *mean, *([quotient.note] if quotient.note else [])])
        if failures:
            return {**identical(cell, 0.0, reason), "value": None, "failure": failures[0]}
        return identical(cell, (quotient.times * of / over) ** (1.0 / quotient.root), reason)


def compared(figures: Figures, predictions: Sequence[Row], *, timed: bool) -> list[Row]:
    """Every published cell with its numbers, one for each reading, and its additional rows; then those of no published cell. If the applications were
    `timed`, a cell without a number and without a reason is a failure."""
    figures.expect(predictions)
    own: dict[str, list[Row]] = {}
    beside: dict[str, list[Row]] = {}
    for row in [*predictions, *figures.quotients(predictions)]:
        (own if row["beside"] is None else beside).setdefault(row["id"], []).append(row)
    made = []
    for cell in figures.cells.values():
        made += [_published(figures, cell, row) for row in own.get(cell.id, [])] or [
            _unclaimed(figures, cell, timed=timed)
        ]
        made += [_beside(figures, row) for row in beside.get(cell.id, [])]
    return made + [_beside(figures, row) for row in predictions if row["id"] not in figures.cells]


def _row(figures: Figures, table: str, cell: str, unit: str, prediction: Row) -> Row:
    """A row of the comparison: the published value, the model's, and its evidence value."""
    value, kind = prediction.get("value"), prediction.get("kind")
    told = {"published": None, "published_least": None, "published_most": None, "model": value, "deviation": None}
    worth = {
        "kind": kind if value is not None or kind in WITHOUT_NUMBER else None,
        "readings": prediction.get("readings", []),
        "reason": prediction["reason"],
        "failure": prediction.get("failure"),
    }
    places = {name: prediction[name] for name in ("point", "range", "of") if prediction.get(name) is not None}
    return {"paper": figures.paper, "table": table, "cell": cell, "unit": unit, **told, **worth, **places}


def _beside(figures: Figures, prediction: Row) -> Row:
    return _row(figures, *prediction["beside"], prediction)


def _published(figures: Figures, cell: Cell, prediction: Row) -> Row:
    row = _row(figures, cell.table, cell.cell, cell.unit, prediction)
    row |= {"published": cell.value, "published_least": cell.lower_bound, "published_most": cell.upper_bound}
    if row["model"] is not None:
        row["deviation"] = cell.deviation(row["model"])
    if cell.derived is not None and "id" in prediction:
        row["reason"] = f"{row['reason']}; published: {cell.derived}"
    return row


def _unclaimed(figures: Figures, cell: Cell, *, timed: bool) -> Row:
    """The row of a cell without a number."""
    if cell.unmodelled is not None:
        kind = "other_system" if cell.other_system else "not_modelled"
        return _published(figures, cell, {"kind": kind, "reason": cell.unmodelled})
    if timed:
        failure = (
            f'neither the model nor an application has a number of cell "{cell.id}", and it does not say why: have one give it, or write '
            "`unmodelled` in the file of published figures"
        )
        return _published(figures, cell, {"reason": "it could not be computed", "failure": failure})
    command = f"polyfabric reproduce {figures.paper.lower()} --applications"
    return _published(figures, cell, {"reason": f"an application: `{command}` times it, which takes minutes"})
