"""Rows of the comparison with a paper, as the applications give them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import Error

Reading = dict[str, str | None]
"""Its name, and its evidence besides the result."""

WITHOUT_NUMBER = ("other_system", "not_modelled")
"""Kinds of figures of which the model has no number."""


def predicted(
    cell: str,
    value: float,
    reason: str,
    beside: list[str] | None = None,
    readings: list[Reading] | None = None,
) -> dict[str, Any]:
    """A row of the comparison: a published cell's, or an additional one with table, name and unit in `beside`. It is predicted, with `readings` if
    any: each with its name and its evidence besides the result."""
    kind = "predicted_under_reading" if readings else "predicted"
    row = {"id": cell, "beside": beside, "value": value, "kind": kind, "readings": readings or []}
    return {**row, "reason": reason}


def calibrated(cell: str, value: float, reason: str, beside: list[str] | None = None) -> dict[str, Any]:
    """A row that depends on a choice made after the published value was known. With `beside` it is an additional row, as in `predicted`."""
    row = {"id": cell, "beside": beside, "value": value, "kind": "calibrated", "readings": []}
    return {**row, "reason": reason}


def of(row: dict[str, Any], **fields: str | float | None) -> dict[str, Any]:
    """A row with its subject, field by field, for tables that combine several rows."""
    return {**row, "of": fields}


BOUND_KNOWN = "calibrated: the bound that these words are read as was set when the model's number was known"
"""The note for rows of statements in words that leave the choice of a bound."""


def named(readings: Sequence[Reading]) -> list[str]:
    """The names of readings, for the reason of a calibrated row, which has none."""
    return [str(reading["name"]) for reading in readings]


def identical(cell: str, value: float, reason: str, beside: list[str] | None = None) -> dict[str, Any]:
    """A row that repeats another row, or the paper's own formula."""
    return {**predicted(cell, value, reason, beside), "kind": "identity"}


def guarded(make: Callable[[], list[dict[str, Any]]], *cells: str) -> list[dict[str, Any]]:
    """The rows that `make` gives; if it fails, one of each of `cells` with the cause."""
    try:
        return make()
    except Error as error:
        return [failed(cell, error) for cell in cells]


def failed(cell: str, error: Exception, beside: list[str] | None = None) -> dict[str, Any]:
    """A row that could not be computed, with its cause."""
    cause = str(error) if isinstance(error, Error) else f"{type(error).__name__}: {error}"
    row = {"id": cell, "beside": beside, "value": None, "kind": "predicted", "readings": []}
    return {**row, "failure": cause, "reason": "it could not be computed"}


def untold(cell: str, reason: str) -> dict[str, Any]:
    """A row without a number, which is no failure."""
    row = {"id": cell, "beside": None, "value": None, "kind": "not_modelled", "readings": []}
    return {**row, "reason": reason}
