"""What a program may be planned with: one set of options for elements and slots, and why some have no meaning for one of the two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from .. import _native
from ..errors import InputError, shown

if TYPE_CHECKING:
    from ..language.traced import TracedProgram
    from ..machines import Machine
    from .context import Parameters


UNROLLED = (1, 2, 4)
"""Secret bits that an iteration of blind rotation can take."""

MOST_SECURITY = 1e6
"""Bits, beyond those of any set."""


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """How a program is planned; what is left out is chosen."""

    parameters: str | Parameters | None = None
    """The parameter set: its name, of CKKS and BGV also a file of one's own, or the set itself."""
    machine: Machine | None = None
    """The machine that is to execute; this computer without one."""
    max_failure: float | None = None
    """log2 of the failure probability that is accepted: -128 without it, of CKKS what the bounds of its errors are drawn for."""
    security: float | None = None
    """Bits of security that the set must have; without it 128 of a set of one's own, and any of a named one, with a warning below 128."""
    public: bool = False
    """Whether inputs may be encrypted with the client's public key, which leaves more noise."""
    unroll: int = 1
    """TFHE: secret bits that one iteration of blind rotation takes, 1, 2 or 4."""
    circuit_privacy: float | None = None
    """TFHE: bits with which every output hides how it was computed, by fresh noise of the server."""
    measure: bool = False
    """CKKS, BGV: whether the value of every operation is kept, so that its error can be measured."""
    key_switch: str | None = None
    """CKKS, BGV: "set" for the parameter set's, so on this computer or if a set is named; "auto" for the compiler's choice, so on a
    machine; or a named one, "listing1", or "d8" for eight digits."""
    memory: int | str | None = None
    """Most memory that any step may take: bytes, or a text such as "4G"; without it, what this computer has left."""

    def __post_init__(self) -> None:
        if isinstance(self.max_failure, int | float) and not self.max_failure <= 0:
            raise InputError(
                f"max_failure={shown(self.max_failure)} (--max-failure) is log2 of a probability, which is 0 at most; give log2 of it, as -40"
            )

    @property
    def accepted_failure(self) -> float:
        """log2 of the failure probability that is accepted where a failure is a wrong result."""
        return _native.DEFAULT_FAILURE_LOG2 if self.max_failure is None else self.max_failure

    def with_default_set(self, parameters: str) -> PlanOptions:
        """These options with the set that a paper has for a program, unless one is named: the key switch is chosen as if none was."""
        if self.parameters is not None:
            return self
        switch = self.key_switch or ("set" if self.machine is None else "auto")
        return replace(self, parameters=parameters, key_switch=switch)

    def accepting(self, parameters: str | Parameters | None) -> PlanOptions:
        """These options with a set of any security, unless bits of it are asked for: whoever made keys has accepted their set, and where nothing is
        encrypted none is too weak."""
        return replace(self, parameters=parameters, security=0 if self.security is None else self.security)

    def checked(self, program: TracedProgram) -> PlanOptions:
        """These options, once all that are given mean something for `program`, and are of their types."""
        given = {own.name: value for own in fields(self) if (value := getattr(self, own.name)) != own.default}
        refuse_meaningless(program, given)
        for name, what in (
            ("circuit_privacy", "the bits that are to be hidden, as 10"),
            ("max_failure", "log2 of it, as -40"),
        ):
            value = getattr(self, name)
            if value is not None and not isinstance(value, int | float):
                raise InputError(f"{name}={value!r} is no number; give {what}")
        for name in ("public", "measure"):
            value = getattr(self, name)
            if not isinstance(value, bool | int) or value not in (0, 1):
                raise InputError(f"{name}={shown(value)}; give True or False")
        if self.unroll not in UNROLLED:
            raise InputError(f"unroll={shown(self.unroll)}; give 1, 2 or 4")
        if self.security is not None:
            expect_bits(self.security)
        if self.key_switch is not None and not isinstance(self.key_switch, str):
            raise InputError(f"key_switch={self.key_switch!r}; give a name")
        return self


def expect_bits(security: object) -> None:
    """Refuses what is no number of bits of security."""
    if not (isinstance(security, int | float) and 0 <= security <= MOST_SECURITY):
        raise InputError(f"security={shown(security)}; give a number of bits, such as 128")


OF_ELEMENTS = {
    "unroll": "{scheme} has no blind rotation",
    "circuit_privacy": "an answer of {scheme} shows its noise to its client, as docs/threat-model.md says",
}
"""Options of TFHE, and why programs on slots have none such."""

OF_SLOTS = {
    "measure": "TFHE's noise is predicted for every look-up, and --cost prints it",
    "key_switch": "TFHE's stands before or after the look-ups, as the noise asks for",
    "flood": "what TFHE decrypts is exact, and has no noise in it",
}
"""Options of CKKS and BGV, and why programs on elements have none such."""


def refuse_meaningless(program: TracedProgram, given: Mapping[str, object]) -> None:
    """Fails with the reason if one of the options that are given means nothing for programs of this kind."""
    others, owner = (OF_SLOTS, "CKKS and BGV") if program.kind == "elements" else (OF_ELEMENTS, "TFHE")
    for name, value in given.items():
        if name in others:
            reason = others[name].format(scheme=program.scheme.upper())
            flag = name.replace("_", "-")
            raise InputError(
                f"{program.name}: {name}={value!r} (--{flag}) is for programs of {owner}; {reason}: leave it out"
            )
