"""The public interface of a program for its clients, as one file published by the program's server.

It contains names, types and encodings of inputs and outputs, the parameter set, and the program's hash. For CKKS and BGV it also lists the
switching keys and bounds of the outputs' values and errors. It reveals no more about the program's operations than these facts do.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from math import floor
from pathlib import Path
from typing import Any

from ..errors import FileError, InputError, ParameterError, shown
from ..host.files import bytes_of, path_of, read_bytes, write_text
from ..host.units import security as security_text
from ..language.shapes import written
from ..language.traced import TracedProgram
from ..schemes.context import LARGEST_KEY, Context
from ..schemes.lanes import LaneContext
from ..schemes.options import LEAST_SMUDGING, PlanOptions, expect_bits
from ..schemes.plan import Plan
from ..schemes.rns import SlotContext
from ..schemes.slot_parameters import is_file
from ..schemes.tfhe import ElementContext
from .execution import make_plan
from .keys import SCHEMES

FORMAT = "polyfabric-specification"
VERSION = 2

LARGEST = 1 << 24
"""Maximum bytes of a specification; ten thousand inputs take less. Its Python objects take about thirty times as much memory."""


def served(
    program: TracedProgram,
    parameters: str | None,
    *,
    circuit_privacy: float | None = None,
    public: bool = False,
    parties: int = 1,
    smudging: float = LEAST_SMUDGING,
) -> Plan:
    """The plan of a served program: it determines the specification, and servers accept only keys of its set."""
    if parameters is not None and (not isinstance(parameters, str) or is_file(parameters)):
        raise InputError(
            f"{program.name}: a specification needs a built-in parameter set, not {parameters}; name one of "
            "`polyfabric params` (for CKKS and BGV with --scheme), or omit it"
        )
    options = PlanOptions(
        parameters=parameters, circuit_privacy=circuit_privacy, public=public, parties=parties, smudging=smudging
    )
    return make_plan(program, options)


@dataclass(frozen=True)
class Specification:
    """The public interface of a program. Created by `pf.Specification.of(program)`, or loaded from a file."""

    data: dict[str, Any] = field(repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return Specification.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return f"<specification of {self.program_name}, with {self.scheme.upper()} and {self.context.parameters.name}>"

    @classmethod
    def of(
        cls,
        program: TracedProgram,
        parameters: str | None = None,
        *,
        circuit_privacy: float | None = None,
        public: bool = False,
        parties: int = 1,
        smudging: float = LEAST_SMUDGING,
    ) -> Specification:
        """The specification of `program`, with a given or automatically chosen parameter set. `circuit_privacy`: bits with which answers hide
        their computation, at the cost of larger errors. `public`: inputs may be encrypted with a client's public key. `parties`: owners of
        the keys (CKKS and BGV), each a `pf.Party`; they hide the errors of results with `smudging` bits, 40 or more."""
        if not isinstance(program, TracedProgram):
            raise InputError(
                f"a specification needs a program, not a {type(program).__name__}; decorate it with @pf.program(..)"
            )
        return cls._of(
            served(
                program,
                parameters,
                circuit_privacy=circuit_privacy,
                public=public,
                parties=parties,
                smudging=smudging,
            )
        )

    @classmethod
    def _of(cls, planned: Plan) -> Specification:
        """The specification of a plan from `served`."""
        program = planned.program
        head = {"format": FORMAT, "version": VERSION, "program": program.name, "scheme": program.scheme}
        return cls({**head, **planned.context.to_dict()})

    # -- as bytes and files ---------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """The specification as JSON."""
        return json.dumps(self.data, indent=1).encode()

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "the specification") -> Specification:
        """Parses the result of `to_bytes`."""
        text = bytes_of(data, name)
        if len(text) > LARGEST:
            raise FileError(
                f"{name}: {len(text):,} bytes, but a specification has at most {LARGEST:,}; get it from the program's server"
            )
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise FileError(f"{name}: not a specification ({problem}); get it from the program's server") from None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise FileError(f"{name}: not a specification; get it from the program's server")
        if found.get("version") != VERSION:
            raise FileError(
                f"{name}: a specification of version {found.get('version')}, but this Polyfabric reads {VERSION}; update the older side"
            )
        made = cls(found)
        try:
            made.program_name, made.scheme, made.context  # noqa: B018 - report missing fields now
        except ParameterError as error:
            raise ParameterError(f"{name}: {error}; get it from the program's server") from None
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
            raise FileError(
                f"{name}: a damaged specification ({type(problem).__name__}: {problem}); get it again"
            ) from None
        return made

    def save(self, path: str | Path) -> None:
        """Writes the file atomically."""
        write_text(path_of(path), self.to_bytes().decode())

    @classmethod
    def load(cls, path: str | Path) -> Specification:
        """Loads a file that `save` wrote."""
        return cls.from_bytes(read_bytes(path_of(path), LARGEST), str(path))

    # -- contents -------------------------------------------------------------------------------------------------

    @property
    def program_name(self) -> str:
        """The program's name."""
        return written(str, self.data["program"], "the program's name")

    @property
    def scheme(self) -> str:
        """ "tfhe", "ckks" or "bgv"."""
        return str(self.data["scheme"])

    def expect_security(self, bits: float) -> None:
        """Rejects a parameter set of less than `bits` bits, since the server's operator chose it."""
        expect_bits(bits)
        name, found = self.context.parameters.name, self.context.security_bits
        if found < bits:
            raise ParameterError(
                f"the specification of {self.program_name} needs parameter set {name}, which has {security_text(found)} bits of "
                f"security, not {bits:g}: what is encrypted with it may be read; ask for a specification with more, or accept it "
                f"with security={floor(found)}"
            )

    def expect_key_bytes(self, most: int) -> None:
        """Rejects an evaluation key of more than `most` bytes, since the server's operator chose its size."""
        if not isinstance(most, int) or most < 0:
            raise InputError(
                f"max_key_bytes={shown(most)}; give the bytes of the largest evaluation key to make, such as {LARGEST_KEY}"
            )
        found = self.context.key_bytes
        if found > most:
            raise ParameterError(
                f"the specification of {self.program_name} needs an evaluation key of {found:,} bytes, more than the accepted {most:,}; "
                f"ask for a specification with a smaller key, or accept it with max_key_bytes={found}"
            )

    @cached_property
    def context(self) -> Context:
        """The scheme-specific operations of clients and servers."""
        if self.scheme not in SCHEMES:
            raise ValueError(f"there is no scheme {self.scheme:.80}")
        if self.scheme == "tfhe":
            return ElementContext.of(self.data)
        return (LaneContext if "batch" in self.data["shapes"] else SlotContext).of(self.data, self.scheme)
