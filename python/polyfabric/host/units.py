"""Formats numbers with units for people."""

from __future__ import annotations

from math import floor
from typing import Any


def bytes_text(count: float) -> str:
    """A size, in the largest binary unit that leaves at least 1."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(count) < 1024 or unit == "TiB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError("the last unit has no limit")


def scaled(value: float | None, unit: str) -> str:
    """A value with three digits and a metric prefix; "unknown" for `None`."""
    if value is None:
        return "unknown"
    if value == 0:
        return f"0 {unit}"
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")):
        if abs(value) >= factor or prefix == "n":
            number = value / factor
            return f"{number:.0f} {prefix}{unit}" if abs(number) >= 100 else f"{number:.3g} {prefix}{unit}"
    raise AssertionError("the last prefix has no limit")


def percent(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:.1f} %"


def number(value: float | None) -> str:
    """A table's figure: thousands separated, at most four significant digits after the point."""
    if value is None:
        return "unknown"
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def probability(log2: float | None, *, digits: int = 1) -> str:
    """A probability from its base-2 logarithm, shown with `digits` after the point; `None` means never."""
    return "0" if log2 is None or log2 == float("-inf") else f"2^{log2:z.{digits}f}"


def security(bits: float) -> str:
    """Security in bits, rounded down to one decimal so that it is never overstated."""
    return f"{floor(bits * 10 + 1e-6) / 10:.1f}"


def words(name: str) -> str:
    """A field name as words."""
    return name.replace("_", " ")


def estimated_times(d: dict[str, Any]) -> list[tuple[str, str]]:
    """The estimated time of an execution on this computer and of a whole run with its other steps, or of a machine's schedule and the client's
    steps here."""
    whole = d["whole_run_seconds"]
    parts = ", ".join(f"{name} {scaled(value, 's')}" for name, value in whole.items())
    if "machine" in d:
        return [
            (f"time on {d['machine']}", f"{scaled(d['seconds'], 's')}, of its checked schedule"),
            (f"energy on {d['machine']}", scaled(d["energy_j"], "J")),
            ("other steps", f"{scaled(sum(whole.values()), 's')} of processor time here: {parts}"),
        ]
    own = f"{scaled(d['processor_seconds'], 's')} of processor time, {scaled(d['seconds'], 's')} on all processors"
    return [
        ("execution", f"{own} (estimated from a few operations here)"),
        ("whole run", f"{scaled(sum(whole.values()), 's')} of processor time: {parts}"),
    ]
