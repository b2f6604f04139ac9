"""User-defined CKKS and BGV parameter sets, from a TOML file or from the same fields in Python; and the built-in sets of all schemes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import _native
from ..errors import InputError
from ..host.files import path_of
from ..host.names import pick
from ..language.program import SCHEMES, SCHEMES_ELSEWHERE
from . import openfhe
from .parameters import ParameterSet
from .parameters import named as named_set


@dataclass(frozen=True)
class SlotParameters:
    """A checked user-defined parameter set."""

    native: _native.RnsParameters = field(repr=False)

    @classmethod
    def load(cls, path: str | Path) -> SlotParameters:
        """Loads a TOML file, or a crypto context of OpenFHE, serialized as `.json`."""
        file = path_of(path)
        if file.suffix == ".json":
            context = openfhe.read(file)
            return cls.of(context.scheme, **context.fields())
        return cls(_native.RnsParameters.load(file))

    @classmethod
    def named(cls, name: str) -> SlotParameters | None:
        """A built-in set, or one with another key switch: `SET-d2` has two digits. `None` if unknown."""
        found = _native.RnsParameters.named(name)
        return None if found is None else cls(found)

    @classmethod
    def of(cls, scheme: str, **fields: Any) -> SlotParameters:  # noqa: ANN401 - numbers, strings, lists, dictionaries
        """A set of `scheme` ("ckks" or "bgv") with the fields of a file; fields that are `None` are omitted."""
        chosen = pick("scheme", scheme, ["ckks", "bgv"], SCHEMES_ELSEWHERE)
        given = {name: value for name, value in fields.items() if value is not None}
        try:
            text = json.dumps(given, allow_nan=False, default=_number)
        except (TypeError, ValueError) as problem:
            raise InputError(
                f"the fields of a parameter set are numbers, strings, lists and dictionaries ({problem}); correct them"
            ) from None
        return cls(_native.RnsParameters.of_fields(chosen, text))

    @property
    def name(self) -> str:
        """The set's name."""
        return self.native.name

    @property
    def scheme(self) -> str:
        """ "ckks" or "bgv"."""
        return self.native.scheme

    def to_dict(self) -> dict[str, Any]:
        """Facts: figures, security, sizes of keys and ciphertexts."""
        return dict(json.loads(self.native.to_json()))

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<parameter set {self.name} of {self.scheme.upper()}>"


def _number(value: object) -> object:
    """Converts NumPy numbers to Python's."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not serializable")


def facts(parameters: str | SlotParameters) -> dict[str, Any]:
    """Facts about a set, given by name, file, or object."""
    asked = chosen(parameters)
    if isinstance(asked, SlotParameters):
        return asked.to_dict()
    known = {row["name"]: row for row in json.loads(_native.slot_parameter_sets())}
    return dict(known[pick("parameter set", parameters, list(known))])


def longest_table(parameters: str | SlotParameters) -> int | None:
    """Most entries of the lookup tables of a CKKS set; `None` for a set without tables, or an unknown one, which planning refuses."""
    asked = chosen(parameters)
    found = SlotParameters.named(asked) if isinstance(asked, str) else asked
    return (found.native.longest_table or None) if found else None


def parameter_sets(scheme: str | None = None, *, toys: bool = False) -> list[ParameterSet | SlotParameters]:
    """The built-in parameter sets of a scheme ("tfhe", "ckks" or "bgv"), or of all; with `toys`, also the insecure sets of tests.

    Each has a `name`, which `parameters=` takes, a `scheme`, and `to_dict()` with its figures, security in bits and sizes in bytes.
    """
    wanted = SCHEMES if scheme is None else [pick("scheme", scheme, SCHEMES, SCHEMES_ELSEWHERE)]
    found = [named_set(name) for name in _native.parameter_names()] if "tfhe" in wanted else []
    rows = [row for row in json.loads(_native.slot_parameter_sets()) if row["scheme"] in wanted]
    return [
        *(known for known in found if toys or known.family != "toy"),
        *(SlotParameters.named(row["name"]) for row in rows if toys or row["family"] != "toy"),
    ]


def is_file(name: str) -> bool:
    """Whether `name` is the path of a parameter file rather than a set's name."""
    return name.endswith((".toml", ".json")) or "/" in name


def chosen(parameters: str | SlotParameters | None) -> str | SlotParameters | None:
    """The requested set: a name, the set in a file, or `None`."""
    if isinstance(parameters, str) and is_file(parameters):
        return SlotParameters.load(parameters)
    if parameters is None or isinstance(parameters, str | SlotParameters):
        return parameters
    raise InputError(f"parameters={parameters!r}; give a name, a file's, as 'mine.toml', or pf.SlotParameters")
