"""The options of planning for all schemes, with the reasons why some apply only to TFHE or only to CKKS and BGV."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from .. import _native
from ..errors import InputError, shown

if TYPE_CHECKING:
    from ..accelerators.machine import Machine
    from ..language.traced import TracedProgram
    from .context import Parameters


OWN, DERIVED = "own", "derived"
WIDTHS = (OWN, DERIVED)
"""Transform widths: the machine file's, or those derived by the design method for the parameter set."""

UNIFORM, BLOCK_BINARY = "uniform", "block-binary"
SECRETS = (UNIFORM, BLOCK_BINARY)
"""Distributions of TFHE's small secret key: uniform bits, or blocks of bits with at most one 1 each (docs/tfhe.md, Block-binary keys)."""

UNROLLED = (1, 2, 4)
"""Supported numbers of secret bits per iteration of blind rotation, for uniform keys."""

MOST_SECURITY = 1e6
"""Largest accepted number of bits, more than any set has."""


LEAST_SMUDGING = 40.0
"""Least and default bits of smudging noise."""


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """The options of planning a program. Planning chooses what is left out."""

    parameters: str | Parameters | None = None
    """The parameter set: its name, for CKKS and BGV also a file, or the set itself."""
    machine: Machine | None = None
    """The machine that executes; `None` for this computer."""
    gpu: bool = False
    """Whether this computer's GPU executes, which reads no wide tables."""
    widths: str = OWN
    """TFHE on a machine: the widths of its transforms, "own" for those of its file, "derived" for those that the design method gives for the set."""
    max_failure: float | None = None
    """log2 of the accepted failure probability; default -128, for CKKS that of its error bounds."""
    security: float | None = None
    """Minimum security in bits. Default: 128 for the user's own sets; any for named sets, with a warning below 128."""
    public: bool = False
    """Whether inputs may be encrypted with the client's public key, which adds noise."""
    secret: str | None = None
    """TFHE: the distribution of the secret key, "uniform", the default, or "block-binary"; a named set has its own."""
    unroll: int | None = None
    """TFHE: secret bits per iteration of blind rotation, 1, 2 or 4; default: 1, or a block of a block-binary key."""
    tables: str | None = None
    """TFHE, a command's program: how to trace it, as `pf.program(.., tables=..)`."""
    circuit_privacy: float | None = None
    """TFHE: bits of circuit privacy, by re-randomisation and flooding on the server."""
    parties: int = 1
    """CKKS, BGV: owners of the keys, who decrypt together."""
    smudging: float = LEAST_SMUDGING
    """CKKS, BGV: bits with which several owners hide the errors of results from each other."""
    measure: bool = False
    """CKKS, BGV: whether execution keeps the value of every operation, to measure its error."""
    key_switch: str | None = None
    """CKKS, BGV: "set" for the parameter set's, the default on this computer and for named sets; "auto" for the compiler's choice, the default on a
    machine; or a named one, "listing1", or "d8" for eight digits."""
    memory: int | str | None = None
    """Memory limit of each step: bytes, or a text such as "4G"; default: this computer's free memory."""

    def __post_init__(self) -> None:
        if isinstance(self.max_failure, int | float) and not self.max_failure <= 0:
            raise InputError(
                f"max_failure={shown(self.max_failure)} (--max-failure) must be log2 of a probability, at most 0; give for example -40"
            )

    @property
    def accepted_failure(self) -> float:
        """log2 of the accepted failure probability for schemes where a failure is a wrong result."""
        return _native.DEFAULT_FAILURE_LOG2 if self.max_failure is None else self.max_failure

    def with_default_set(self, parameters: str) -> PlanOptions:
        """These options with a paper's set for a program, unless the user named one. The key switch is chosen as without a named set."""
        if self.parameters is not None:
            return self
        switch = self.key_switch or ("set" if self.machine is None else "auto")
        return replace(self, parameters=parameters, key_switch=switch)

    def accepting(self, parameters: str | Parameters | None) -> PlanOptions:
        """These options with a set of any security, unless `security` requires more. The owner of existing keys has accepted their set, and without
        encryption no set is too weak."""
        return replace(self, parameters=parameters, security=0 if self.security is None else self.security)

    def checked(self, program: TracedProgram) -> PlanOptions:
        """These options, after checks of their types and of their relevance to `program`."""
        given = {own.name: value for own in fields(self) if (value := getattr(self, own.name)) != own.default}
        refuse_meaningless(program, given)
        for name, what in (
            ("circuit_privacy", "a number of bits, as 10"),
            ("max_failure", "log2 of it, as -40"),
        ):
            value = getattr(self, name)
            if value is not None and not isinstance(value, int | float):
                raise InputError(f"{name}={value!r} is not a number; give {what}")
        for name in ("public", "measure"):
            value = getattr(self, name)
            if not isinstance(value, bool | int) or value not in (0, 1):
                raise InputError(f"{name}={shown(value)}; give True or False")
        if not isinstance(self.parties, int) or isinstance(self.parties, bool) or self.parties < 1:
            raise InputError(f"parties={shown(self.parties)}; give the number of owners of the keys, 1 or more")
        if not isinstance(self.smudging, int | float) or not self.smudging >= LEAST_SMUDGING:
            raise InputError(
                f"smudging={shown(self.smudging)}; less than {LEAST_SMUDGING:g} bits let decryption shares reveal the secrets: give that or more"
            )
        if self.widths not in WIDTHS:
            raise InputError(f"widths={shown(self.widths)}; give {' or '.join(map(repr, WIDTHS))}")
        if self.widths == DERIVED and self.machine is None:
            raise InputError(
                f"{program.name}: widths={DERIVED!r} (--widths) applies to machines; leave it out on this computer"
            )
        if self.secret is not None and self.secret not in SECRETS:
            raise InputError(f"secret={shown(self.secret)} (--secret); give {' or '.join(map(repr, SECRETS))}")
        if self.unroll is not None and self.unroll not in UNROLLED:
            raise InputError(f"unroll={shown(self.unroll)}; give 1, 2 or 4")
        if self.secret == BLOCK_BINARY and self.unroll not in (None, 1):
            raise InputError(f"unroll={self.unroll} (--unroll) is for uniform keys; leave it out with {BLOCK_BINARY!r}")
        if self.security is not None:
            expect_bits(self.security)
        if self.key_switch is not None and not isinstance(self.key_switch, str):
            raise InputError(f"key_switch={self.key_switch!r}; give a name")
        return self


def expect_bits(security: object) -> None:
    """Checks that `security` is a number of bits."""
    if not (isinstance(security, int | float) and 0 <= security <= MOST_SECURITY):
        raise InputError(f"security={shown(security)}; give a number of bits, such as 128")


OF_ELEMENTS = {
    "secret": "the sets of {scheme} have secrets of their own",
    "unroll": "{scheme} has no blind rotation",
    "tables": "{scheme} has no circuit bootstrapping",
    "widths": "the transforms of {scheme} are exact",
    "circuit_privacy": "a client of {scheme} sees the noise of its answer (docs/threat-model.md)",
}
"""Options of TFHE, and why programs of CKKS and BGV lack them."""

OF_SLOTS = {
    "parties": "the bootstrapping key of TFHE for several owners needs a protocol of its own, which is not there",
    "smudging": "only keys of several owners need it",
    "measure": "TFHE's noise is predicted for every lookup, and --cost prints it",
    "key_switch": "planning places TFHE's before or after the lookups, according to the noise",
    "flood": "TFHE decrypts exactly, without noise",
}
"""Options of CKKS and BGV, and why programs of TFHE lack them."""


def refuse_meaningless(program: TracedProgram, given: Mapping[str, object]) -> None:
    """Fails with the reason if one of the given options does not apply to the program's schemes."""
    others, owner = (OF_SLOTS, "CKKS and BGV") if program.kind == "elements" else (OF_ELEMENTS, "TFHE")
    for name, value in given.items():
        if name in others:
            reason = others[name].format(scheme=program.scheme.upper())
            flag = name.replace("_", "-")
            raise InputError(
                f"{program.name}: {name}={value!r} (--{flag}) applies to programs of {owner}; {reason}: leave it out"
            )
