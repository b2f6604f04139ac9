"""Parameter sets of CKKS and BGV of one's own: from a TOML file, or from the same fields in Python."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import _native
from .errors import InputError
from .files import path_of
from .names import pick


@dataclass(frozen=True)
class SlotParameters:
    """A checked parameter set that does not come with the project."""

    native: _native.SlotParameters = field(repr=False)

    @classmethod
    def load(cls, path: str | Path) -> SlotParameters:
        """The set of a TOML file."""
        return cls(_native.SlotParameters.load(path_of(path)))

    @classmethod
    def named(cls, name: str) -> SlotParameters | None:
        """The named set, or a named one with another key switch: `SET-d2` has two digits. Nothing if there is none."""
        found = _native.SlotParameters.named(name)
        return None if found is None else cls(found)

    @classmethod
    def of(cls, scheme: str, **fields: Any) -> SlotParameters:  # noqa: ANN401 - numbers, strings, lists, dictionaries
        """The set of `scheme`, "ckks" or "bgv", with the fields that a file would have; those that are None are left out."""
        chosen = pick("scheme", scheme, ["ckks", "bgv"])
        given = {name: value for name, value in fields.items() if value is not None}
        try:
            text = json.dumps(given, allow_nan=False, default=_number)
        except (TypeError, ValueError) as problem:
            raise InputError(
                f"the fields of a parameter set are numbers, strings, lists and dictionaries ({problem}); correct them"
            ) from None
        return cls(_native.SlotParameters.of_fields(chosen, text))

    @property
    def name(self) -> str:
        """Its name."""
        return self.native.name

    @property
    def scheme(self) -> str:
        """ "ckks" or "bgv"."""
        return self.native.scheme

    def to_dict(self) -> dict[str, Any]:
        """What is known of it: figures, security, sizes of keys and ciphertexts."""
        return dict(json.loads(self.native.to_json()))

    def __str__(self) -> str:
        return self.name


def _number(value: object) -> object:
    """Numbers of numpy as those of Python."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not data")


def facts(parameters: str | SlotParameters) -> dict[str, Any]:
    """What is known of a set: of a name, of a file, or the set itself."""
    asked = chosen(parameters)
    if isinstance(asked, SlotParameters):
        return asked.to_dict()
    known = {row["name"]: row for row in json.loads(_native.slot_parameter_sets())}
    return dict(known[pick("parameter set", parameters, list(known))])


def is_file(name: str) -> bool:
    """Whether a parameter set is named by its file, as a machine may be."""
    return name.endswith(".toml") or "/" in name


def chosen(parameters: str | SlotParameters | None) -> str | SlotParameters | None:
    """The set that is asked for: a name as it is, the set of a file, or none."""
    if isinstance(parameters, str) and is_file(parameters):
        return SlotParameters.load(parameters)
    if parameters is None or isinstance(parameters, str | SlotParameters):
        return parameters
    raise InputError(f"parameters={parameters!r}; give a name, a file's, as 'mine.toml', or pf.SlotParameters")
