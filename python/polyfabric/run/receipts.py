"""Receipts: hashes of one computation on ciphertexts, with which anybody who has the evaluation key can repeat and check it.

A receipt is a JSON file without secrets and without values. It comes from others, so it is checked when it is read. It is no proof and no
signature: it states which computation gave which ciphertexts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from ..errors import FileError
from ..host.files import bytes_of, path_of, read_bytes, write_text
from ..language.shapes import written
from .keys import SCHEMES
from .messages import NAME

FORMAT = "polyfabric-receipt"
VERSION = 1

LARGEST = 1 << 24
"""Maximum bytes of a receipt; ten thousand inputs and outputs take about a tenth."""

MOST_TEXT = 256
"""Longest text of a field."""

PROGRAM_HASH = re.compile(r"[0-9a-f]{32}")
SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Place:
    """An execution at one place."""

    on: str
    """ "cpu", "interpreter", "gpu", or the machine whose schedule was executed."""
    instruction_set: str
    """Of this computer's kernels: "avx512", "avx2", "neon" or "portable"."""
    arithmetic: str
    """ "exact", "f64", or the machine whose arithmetic it is. Executions in f64 may differ by their rounding; all others give the same bits."""
    seconds: float
    outputs: dict[str, str]
    """SHA-256 of each output's file."""

    def __str__(self) -> str:
        return f"{self.on} with {self.instruction_set}"


@dataclass(frozen=True)
class Receipt:
    """The hashes of a computation: of what went in, and of what came out at each place."""

    program: str
    scheme: str
    program_hash: str
    """The hash of the program that its ciphertexts name."""
    parameters: str
    parameters_sha256: str
    machine: str | None
    """The machine whose plan was executed, by name; `None` for a plan for this computer."""
    machine_sha256: str | None
    """SHA-256 of all of its figures and readings."""
    evaluation_key: str
    """SHA-256 of the file."""
    inputs: dict[str, str]
    """SHA-256 of each input's file."""
    places: list[Place]
    made_with: dict[str, str]
    """Versions of this package and of Python; the processor, and its instructions that kernels use."""

    def is_of(self, other: Receipt) -> bool:
        """Whether both are of one program, planned for one machine."""
        return (self.program_hash, self.machine) == (other.program_hash, other.machine)

    def to_dict(self) -> dict[str, Any]:
        """The receipt as data."""
        return {"format": FORMAT, "version": VERSION, **asdict(self)}

    def to_bytes(self) -> bytes:
        """The receipt as JSON."""
        return (json.dumps(self.to_dict(), indent=1) + "\n").encode()

    def save(self, path: str | Path) -> None:
        """Writes the file atomically."""
        write_text(path_of(path), self.to_bytes().decode())

    @classmethod
    def load(cls, path: str | Path) -> Receipt:
        """Loads a file that `save` wrote."""
        return cls.from_bytes(read_bytes(path_of(path), LARGEST), str(path))

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "the receipt") -> Receipt:
        """Parses the result of `to_bytes`."""
        text = bytes_of(data, name)
        if len(text) > LARGEST:
            raise FileError(f"{name}: {len(text):,} bytes, but a receipt has at most {LARGEST:,}; check the path")
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise FileError(f"{name}: not a receipt ({problem}); check the path") from None
        if not isinstance(found, dict) or found.pop("format", None) != FORMAT:
            raise FileError(f"{name}: not a receipt; give the file that `polyfabric conform --receipt` wrote")
        version = found.pop("version", None)
        if version != VERSION:
            raise FileError(
                f"{name}: a receipt of version {version!r:.80}, but this Polyfabric reads {VERSION}; update the older side"
            )
        try:
            return _receipt(found)
        except (KeyError, TypeError, ValueError, OverflowError) as problem:
            raise FileError(f"{name}: a damaged receipt ({type(problem).__name__}: {problem}); get it again") from None


def _receipt(data: dict[str, Any]) -> Receipt:
    """A receipt from untrusted data."""
    _expect_fields(data, Receipt)
    places = [_place(place) for place in written(list, data["places"], "the list of places")]
    if not places:
        raise ValueError("it has no place")
    names = set(places[0].outputs)
    if not names or any(set(place.outputs) != names for place in places):
        raise ValueError("its places have other outputs")
    machine, machine_hash = data["machine"], data["machine_sha256"]
    if (machine is None) != (machine_hash is None):
        raise ValueError("a machine has a name and a hash")
    if data["scheme"] not in SCHEMES:
        raise ValueError(f"there is no scheme {data['scheme']!r:.80}")
    return Receipt(
        program=_name(data["program"], "the program's name"),
        scheme=data["scheme"],
        program_hash=_hash(data["program_hash"], "the program's hash", PROGRAM_HASH),
        parameters=_text(data["parameters"], "the parameter set"),
        parameters_sha256=_hash(data["parameters_sha256"], "the hash of the parameter set"),
        machine=None if machine is None else _text(machine, "the machine"),
        machine_sha256=None if machine is None else _hash(machine_hash, "the hash of the machine"),
        evaluation_key=_hash(data["evaluation_key"], "the hash of the evaluation key"),
        inputs=_hashes(data["inputs"], "inputs"),
        places=places,
        made_with={
            _text(name, "a name of what it was made with"): _text(value, f"the {name}")
            for name, value in written(dict, data["made_with"], "what it was made with").items()
        },
    )


def _place(data: object) -> Place:
    found = written(dict, data, "a place")
    _expect_fields(found, Place)
    seconds = found["seconds"]
    if type(seconds) not in (int, float) or not (isfinite(seconds) and seconds >= 0):
        raise ValueError(f"the seconds are {seconds!r:.80}")
    return Place(
        on=_text(found["on"], "a place"),
        instruction_set=_text(found["instruction_set"], "an instruction set"),
        arithmetic=_text(found["arithmetic"], "an arithmetic"),
        seconds=float(seconds),
        outputs=_hashes(found["outputs"], "outputs"),
    )


def _expect_fields(data: Mapping[str, Any], kind: type) -> None:
    """Rejects data with other fields than those of `kind`."""
    other = data.keys() ^ kind.__dataclass_fields__.keys()  # type: ignore[attr-defined]
    if other:
        raise ValueError(f"missing or unknown: {sorted(other)!r:.200}")


def _text(value: object, what: str) -> str:
    """A short text without control characters, as it is printed."""
    text = written(str, value, what)
    if not text or len(text) > MOST_TEXT or not text.isprintable():
        raise ValueError(f"{what} is {text!r:.80}")
    return text


def _name(value: object, what: str) -> str:
    """A name of a program, an input or an output."""
    if not NAME.fullmatch(written(str, value, what)):
        raise ValueError(f"{what} is {value!r:.80}")
    return str(value)


def _hash(value: object, what: str, form: re.Pattern[str] = SHA256) -> str:
    if not form.fullmatch(written(str, value, what)):
        raise ValueError(f"{what} is {value!r:.80}")
    return str(value)


def _hashes(data: object, what: str) -> dict[str, str]:
    """Hashes by name."""
    found = written(dict, data, f"the {what}")
    return {_name(name, f"a name of {what}"): _hash(value, f"the hash of {name}") for name, value in found.items()}
