"""What a client has to know of a program to encrypt for it and to read its answers: one file, made by whoever serves the program.

Of a TFHE program it holds names, types and encodings of inputs and outputs, the parameter set, and the program's hash; nothing of what it
computes. Of CKKS and BGV it holds the program's text too, from which the client derives levels, scales, keys and error bounds.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native
from .errors import FileError, InputError
from .execution import plan as plan_elements
from .language.program import Program
from .language.shapes import Shapes, written
from .language.slot_program import SlotProgram
from .language.types import SlotType
from .reports import write_text
from .slot_execution import SlotPlan
from .slot_execution import plan as plan_slots
from .slot_parameters import is_file

if TYPE_CHECKING:
    from .sides import Elements, Slots

SCHEMES = ("tfhe", "ckks", "bgv")

FORMAT = "polyfabric-specification"
VERSION = 1


def refuse_circuit_privacy(program: SlotProgram, bits: float | None) -> None:
    """Fails where answers of CKKS or BGV are asked to hide how they were computed."""
    if bits is not None:
        raise InputError(
            f"{program.name}: circuit_privacy={bits!r} is for programs of TFHE; an answer of {program.scheme.upper()} shows its noise to "
            "its client, as docs/threat-model.md says: leave it out"
        )


@dataclass(frozen=True)
class Specification:
    """A program's outside. Made by `pf.Specification.of(program)`, or read from its file."""

    data: dict[str, Any] = field(repr=False)

    @classmethod
    def of(
        cls, program: Program | SlotProgram, parameters: str | None = None, *, circuit_privacy: float | None = None
    ) -> Specification:
        """That of `program`, with a parameter set that is chosen for it unless one is named. `circuit_privacy`: the bits with which the server's
        answers hide how they were computed, which make their errors larger."""
        if not isinstance(program, Program | SlotProgram):
            raise InputError(
                f"a specification is of a program, not of {type(program).__name__}; decorate it with @pf.program(..)"
            )
        head = {"format": FORMAT, "version": VERSION, "program": program.name}
        if isinstance(program, Program):
            planned = plan_elements(program, parameters, circuit_privacy=circuit_privacy)
            return cls(
                {
                    **head,
                    "scheme": "tfhe",
                    "signature": json.loads(planned.signature.to_json()),
                    "parameters": json.loads(planned.parameters.to_json()),
                    "shapes": program.shapes.to_dict(),
                }
            )
        refuse_circuit_privacy(program, circuit_privacy)
        if parameters is not None and (not isinstance(parameters, str) or is_file(parameters)):
            raise InputError(
                f"{program.name}: a specification names its parameter set, and {parameters} does not come with the project; name one of "
                "`polyfabric params --scheme`, or none"
            )
        plan_slots(program, parameters, key_switch="set")
        return cls(
            {
                **head,
                "scheme": program.scheme,
                "parameters": parameters,
                "text": program.text(),
                "inputs": {name: _of_type(kind) for name, kind in program.inputs.items()},
                "outputs": {name: _of_type(kind) for name, kind in program.outputs.items()},
            }
        )

    # -- as bytes and files ---------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """As JSON."""
        return json.dumps(self.data, indent=1).encode()

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "the specification") -> Specification:
        """From what `to_bytes` gave."""
        try:
            found = json.loads(data)
        except (ValueError, RecursionError) as problem:
            raise FileError(
                f"{name}: not a specification ({problem}); get it from whoever serves the program"
            ) from None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise FileError(f"{name}: not a specification; get it from whoever serves the program")
        if found.get("version") != VERSION:
            raise FileError(
                f"{name}: a specification of version {found.get('version')}, but this Polyfabric reads {VERSION}; update the older side"
            )
        made = cls(found)
        try:
            made.program_name, made.scheme, made.half  # noqa: B018 - whatever is missing is told now
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
            raise FileError(
                f"{name}: a damaged specification ({type(problem).__name__}: {problem}); get it again"
            ) from None
        return made

    def save(self, path: str | Path) -> None:
        """Writes it, whole or not at all."""
        write_text(Path(path), self.to_bytes().decode())

    @classmethod
    def load(cls, path: str | Path) -> Specification:
        """From the file that `save` wrote."""
        try:
            data = Path(path).read_bytes()
        except OSError as problem:
            raise FileError(f"{path}: cannot read ({problem.strerror}); check the path") from None
        return cls.from_bytes(data, str(path))

    # -- what it says ---------------------------------------------------------------------------------------------

    @property
    def program_name(self) -> str:
        """The program's name."""
        return written(str, self.data["program"], "the program's name")

    @property
    def scheme(self) -> str:
        """ "tfhe", "ckks" or "bgv"."""
        return str(self.data["scheme"])

    @property
    def has_program(self) -> bool:
        """Whether it holds what the program computes."""
        return "text" in self.data

    @cached_property
    def half(self) -> Elements | Slots:
        """What clients and servers of the scheme do with it."""
        from .sides import Elements, Slots

        if self.scheme not in SCHEMES:
            raise ValueError(f"there is no scheme {self.scheme:.80}")
        if self.scheme == "tfhe":
            signature = _native.Signature.from_json(json.dumps(self.data["signature"]))
            parameters = _native.Parameters.from_json(json.dumps(self.data["parameters"]))
            return Elements(signature, parameters, Shapes.of(self.data["shapes"], signature))
        return Slots(self._planned())

    def _planned(self) -> SlotPlan:
        native = _native.SlotProgram.parse(written(str, self.data["text"], "the program"))
        if (self.scheme == "ckks") != (native.plaintext_modulus is None):
            raise ValueError(f"the program is not of {self.scheme}")
        inputs = {name: _type_of(own, native) for name, own in self.data["inputs"].items()}
        outputs = {name: _type_of(own, native) for name, own in self.data["outputs"].items()}
        bounds = dict(native.inputs)
        if set(inputs) != set(bounds) or set(outputs) != set(native.outputs):
            raise ValueError("the types are not those of the program's inputs and outputs")
        if self.scheme == "ckks" and any(kind.bound != bounds[name] for name, kind in inputs.items()):
            raise ValueError("the program is planned for inputs of other sizes")
        chosen = self.data["parameters"]
        if chosen is not None:
            # A name: whoever wrote the specification has no file here.
            written(str, chosen, "the parameter set")
            if is_file(chosen):
                raise ValueError(f"the parameter set is the file {chosen:.80}")
        return plan_slots(SlotProgram(native, inputs, outputs), chosen, key_switch="set")


def _of_type(kind: SlotType) -> dict[str, Any]:
    return {
        "kind": kind.kind,
        "modulus": kind.modulus,
        "length": kind.length,
        "scalar": kind.scalar,
        "bound": kind.bound,
        "shape": kind.shape,
    }


def _type_of(data: dict[str, Any], program: _native.SlotProgram) -> SlotType:
    """The type that was written, if it can be one of `program`'s."""
    kind, modulus = data["kind"], data["modulus"]
    shape, length = data["shape"], written(int, data["length"], "the length of a vector")
    kinds = ("real", "complex") if program.plaintext_modulus is None else ("residue",)
    if kind not in kinds or modulus != program.plaintext_modulus or isinstance(modulus, bool | float):
        raise ValueError(f"{kind!r:.80} modulo {modulus!r:.80} is no type of the program")
    bound = float(data["bound"])
    if not 0 < bound < inf or not 1 <= length <= program.slots:
        raise ValueError(f"{length} numbers up to {bound} are no type of the program")
    if shape is not None:
        rows, columns = (written(int, n, "the shape of a matrix") for n in shape)
        if min(rows, columns) < 1 or rows * columns != length:
            raise ValueError(f"a matrix of {rows} x {columns} has no {length} elements")
        shape = (rows, columns)
    scalar = written(bool, data["scalar"], "whether it is one number")
    if scalar and length not in (1, program.slots):
        raise ValueError(f"{length} numbers are not one")
    return SlotType(kind, modulus, length, scalar, bound, shape)
