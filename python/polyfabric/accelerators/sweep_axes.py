"""Axes of a sweep: a machine's figures with lists of values, from its file or the command line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import Error, InputError, MachineError
from ..host.names import suggestion

if TYPE_CHECKING:
    from .machine import Machine

Value = float | bool
"""A point on an axis: a figure's value in the unit of the machine file, or a Boolean."""

MOST_POINTS = 100_000
"""Maximum number of points of a sweep."""

SECTIONS = ("units", "memories", "channels", "machine")
"""Sections of a machine file whose figures can be on an axis, in addition to the clock."""

Axis = dict[str, list[Value]]
"""Lists of values by the figure's key; figures of one axis change together."""


def own_values(machine: Machine, axes: Sequence[Axis]) -> list[tuple[str, Value]]:
    """The machine file's own values on these axes."""
    found = []
    for axis in axes:
        for key, values in axis.items():
            own = _figure(machine, key)
            _expect_kind(key, own, values)
            found.append((key, own))
    return found


def expect_own_sweep(machine: Machine) -> None:
    """Rejects a machine file with an invalid sweep, whatever it is loaded for."""
    axes = machine.to_dict().get("sweep", [])
    try:
        expect_axes(axes)
        own_values(machine, axes)
    except Error as error:
        raise MachineError(f"{machine.argument}: [[sweep]]: {error}") from None


def _figure(machine: Machine, key: str) -> Value:
    """The value in the machine's file."""
    value, written = machine.native.figure(key), _written(machine.to_dict(), key)
    if value is None and written:
        raise InputError(f"{machine.name} has no value of {key!r}; add one to the machine file")
    if value is None and key.startswith("components."):
        raise InputError(
            f"{key!r} belongs to a component and depends on the figures of its `count` and `size`; sweep one of those, or change a copy of "
            "the file"
        )
    if value is None:
        known = suggestion(key, machine.native.figure_keys())
        raise InputError(
            f"{machine.name} has no figure {key!r} in its file; {known}; to sweep another figure of its mapper, add it to the file"
        )
    return bool(value) if any(figure["unit"] == "flag" for figure in written) else value


def _written(described: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """A figure as written in the file and in the options of its readings."""
    section, _, rest = key.partition(".")
    group, _, name = rest.partition(".")
    held = described.get(section, {}) if section in SECTIONS else {}
    own = described["clock"] if key == "clock" else held.get(group, {}).get(name)
    options = (option for reading in described["readings"].values() for option in reading["options"].values())
    found = [own, *(option["figures"].get(key) for option in options)]
    return [figure for figure in found if isinstance(figure, dict)]


def _expect_kind(key: str, own: Value, values: Sequence[Value]) -> None:
    """Rejects a Boolean for a number and vice versa."""
    if any(isinstance(value, bool) != isinstance(own, bool) for value in values):
        raise InputError(f"{key} is {_shown(own)} in the machine file; give {_kind(own)} on its axis")


def _kind(own: Value) -> str:
    return "true or false" if isinstance(own, bool) else "numbers in its unit"


def _shown(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:.10g}"


def expect_axes(axes: Sequence[Axis]) -> None:
    """Rejects axes without values or with unequal lists, figures on two axes, and too many points."""
    keys = [key for axis in axes for key in axis]
    for axis in axes:
        lengths = sorted({len(values) for values in axis.values()})
        if not axis:
            raise InputError("an axis has no figure; give it one with its values, or omit it")
        if lengths[0] == 0:
            raise InputError(f"the axis {', '.join(axis)!r} has no values; give some, or omit it")
        if len(lengths) > 1:
            counts = " and ".join(map(str, lengths))
            raise InputError(f"the axis {', '.join(axis)!r} has {counts} values; give equal numbers")
        for key, values in axis.items():
            if keys.count(key) > 1:
                raise InputError(f"{key} is on two axes; give all of its values on one")
            _expect_values(key, values)
    count = math.prod(len(next(iter(axis.values()))) for axis in axes)
    if count > MOST_POINTS:
        raise InputError(f"the axes have {count:,} points, but a sweep has at most {MOST_POINTS:,}; give fewer values")


def _expect_values(key: str, values: Sequence[Value]) -> None:
    for value in values:
        if not isinstance(value, int | float) or not math.isfinite(value):
            written = "nan or inf" if value is None else repr(value)  # JSON, as which a file's axes come, has neither
            raise InputError(
                f"{written} is not a number; give numbers in the unit of the machine file for {key}, or true and false"
            )


def axis(text: str) -> Axis:
    """Parses an axis: `KEY=V1,V2`, or several figures that change together: `KEY=W1,W2;KEY=V1,V2`."""
    found: dict[str, list[Any]] = {}
    for part in text.split(";"):
        key, equals, values = (word.strip() for word in part.partition("="))
        if not (key and equals and values):
            raise InputError(f"--axis: {part!r} is not KEY=V1,V2,..; correct it")
        if key in found:
            raise InputError(f"--axis: {text!r} has {key} twice; give all of its values at once")
        found[key] = [_value(value.strip()) for value in values.split(",")]
    expect_axes([found])
    return found


def _value(text: str) -> Value | str:
    """Parses a number or a Boolean; other text stays text, which no figure takes."""
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text)
    except ValueError:
        return text
