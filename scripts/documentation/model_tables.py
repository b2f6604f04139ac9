"""Tables of what trained models may contain, from the code."""

from __future__ import annotations

from collections.abc import Callable

from polyfabric.models.onnx_operators import How, by_meaning

Row = tuple[str, ...]


def _computed() -> list[Row]:
    """The operators that are computed: how, and their limits."""
    return [
        (operators, f"{how}: {meaning}" if at == 0 else how, note)
        for how, meaning, rows in by_meaning()
        if how != "refused"
        for at, (operators, note) in enumerate(rows)
    ]


def _refused() -> list[Row]:
    """The others, and what to use instead."""
    refused: How = "refused"
    return [row for how, _, rows in by_meaning() if how == refused for row in rows]


TABLES: dict[str, tuple[tuple[str, ...], Row, Callable[[], list[Row]]]] = {
    "onnx-computed": ((), ("operators", "computed as", "limits"), _computed),
    "onnx-refused": ((), ("operators", "use instead"), _refused),
}
