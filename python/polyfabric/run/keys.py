"""Keys of all schemes and their files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from .. import _native
from ..errors import FileError, InputError, ParameterError
from ..host import memory
from ..host.files import expect_whole, path_of, read_bytes, write_together
from ..host.names import pick
from ..schemes.context import ClientKey, Context, Parameters, PublicKey, ServerKey, Source, content
from ..schemes.plan import Plan
from ..schemes.slot_parameters import SlotParameters, is_file
from ..schemes.tfhe import ElementContext, named_parameters, warned
from .messages import EvaluationKey

if TYPE_CHECKING:
    from ..host.progress import ProgressHook
    from ..language.traced import TracedProgram
    from ..schemes.options import PlanOptions

    _Planned = tuple[TracedProgram, PlanOptions, Plan]

SCHEMES = ("tfhe", "ckks", "bgv")

MARKS = {b"PLYFTFHE": "tfhe", b"PLYFCKKS": "ckks", b"PLYF_BGV": "bgv"}
"""First bytes of the CKKS and BGV files; other files go to the TFHE reader, which reports the error."""

CLIENT, SERVER, PUBLIC = "client.key", "server.key", "public.key"
"""File names of the secret key, the evaluation key, and the public key."""


def _of_scheme(scheme: str, source: Source) -> Source:
    """`source`; rejects a file of another scheme."""
    found = _mark(source)
    if found not in (None, scheme):
        name = f"{source}: it" if isinstance(source, Path) else "it"
        raise FileError(
            f"{name} is a {found.upper()} file, but the program is for {scheme.upper()}; use keys that were made for this program, or run "
            "their program"
        )
    return source


def _mark(source: Source) -> str | None:
    """The scheme of a file by its first bytes. `None` if unreadable; the full reader reports why."""
    if not isinstance(source, Path):
        return MARKS.get(bytes(source[:8]))
    expect_whole(source)
    try:
        with source.open("rb") as file:
            return MARKS.get(file.read(8))
    except OSError:
        return None


def load_client_key(scheme: str, source: Source) -> ClientKey:
    """Loads a secret key."""
    source = _of_scheme(scheme, source)
    return _native.TfheClientKey.load(source) if scheme == "tfhe" else _native.RnsClientKey.load(scheme, source)


def load_server_key(
    scheme: str, source: Source, progress: ProgressHook | None = None, *, expected: Context | None = None
) -> ServerKey:
    """Loads evaluation keys; rejects TFHE keys that would not fit in memory before expanding them.

    With `expected`, they must belong to its parameter set and, for CKKS and BGV, be those that its program reads. Otherwise raises
    `ParameterError` before reading them.
    """
    source = _of_scheme(scheme, source)
    if scheme == "tfhe":
        needed = (expected.parameters, expected.unroll) if isinstance(expected, ElementContext) else None
        return _native.TfheServerKey.load(source, progress, memory.most(), needed)
    return _native.RnsServerKey.load(scheme, source, expected.signature if expected else None)


def load_public_key(scheme: str, source: Source) -> PublicKey:
    """Loads a public key."""
    source = _of_scheme(scheme, source)
    return _native.TfhePublicKey.load(source) if scheme == "tfhe" else _native.RnsPublicKey.load(scheme, source)


def parameters_of(key: ClientKey | ServerKey | PublicKey) -> Parameters:
    """The parameter set of a key."""
    own = key.parameters
    return SlotParameters(own) if isinstance(own, _native.RnsParameters) else own


def held_bytes(server: ServerKey) -> int:
    """Bytes of evaluation keys in memory, with the transforms that executions have cached of a TFHE key."""
    return int(server.bytes) + (server.transformed_bytes if isinstance(server, _native.TfheServerKey) else 0)


def public_key_of(client: ClientKey) -> PublicKey:
    """A fresh public key of the client's secret key."""
    return client.public() if isinstance(client, _native.RnsClientKey) else _native.TfhePublicKey.generate(client)


def present(folder: Path, *names: str) -> list[str]:
    """The key files that exist in `folder`."""
    return [name for name in names or (CLIENT, SERVER, PUBLIC) if (folder / name).exists()]


def matching(key: ClientKey | ServerKey | PublicKey | Keys, named: str | Parameters | None) -> Parameters:
    """The parameter set of the keys, which must be the named one, if any. Warns below 128 bits of security; for CKKS and BGV the plan does."""
    own = key.parameters if isinstance(key, Keys) else parameters_of(key)
    asked: object = named
    if isinstance(named, str):
        # A name may be a file of the user's own or a built-in set.
        asked = named_parameters(named, warn=False) if isinstance(own, _native.TfheParameters) else _of_slots(named)
    if asked is not None and asked != (own.name if isinstance(asked, str) else own):
        raise InputError(
            f"the keys are of parameter set {own.name}, not {_name(asked)}; name that set, or make new keys"
        )
    return warned(own) if isinstance(own, _native.TfheParameters) else own


def _of_slots(named: str) -> SlotParameters | str:
    return SlotParameters.load(named) if is_file(named) else named


def _name(asked: object) -> str:
    return str(getattr(asked, "name", asked))


@dataclass(frozen=True)
class Keys:
    """A client's secret key and its evaluation keys: for TFHE those of a parameter set, for CKKS and BGV those that one program needs."""

    client: ClientKey
    server: ServerKey
    _last: list[_Planned] = field(default_factory=list, init=False, repr=False, compare=False)
    """The last program that ran with them, its options and its plan; empty before the first run."""

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "keys do not pickle; write them with keys.save(folder), and read them with pf.Keys.load(folder)"
        )

    def __repr__(self) -> str:
        return f"<keys of {self.scheme.upper()}, {self.parameters.name}>"

    @property
    def parameters(self) -> Parameters:
        """The parameter set, built-in or user-defined."""
        return parameters_of(self.client)

    @property
    def scheme(self) -> str:
        """ "tfhe", "ckks" or "bgv"."""
        own = self.client.parameters
        return own.scheme if isinstance(own, _native.RnsParameters) else "tfhe"

    @classmethod
    def generate(
        cls, of: Plan | str | _native.TfheParameters, progress: ProgressHook | None = None, *, unroll: int | None = None
    ) -> Keys:
        """Generates keys from the operating system's randomness, for a plan or for a TFHE parameter set. The latter serve all programs with
        `unroll` secret bits per iteration."""
        if isinstance(of, Plan):
            of.check_memory()
            context = of.context
        elif isinstance(of, str | _native.TfheParameters):
            context = ElementContext.of_keys(named_parameters(of) if isinstance(of, str) else of, unroll)
        else:
            raise InputError(
                f"Keys.generate takes the plan of a program, which says what keys it needs, or a parameter set of TFHE, not {of!r}; give the "
                "plan of a result, done.plan, or let program.run(..) make the keys"
            )
        client = context.generate()
        return cls(client, context.server_key(client, progress))

    def planned(self, program: TracedProgram, options: PlanOptions, make: Callable[[], Plan]) -> Plan:
        """The plan of the last run with these keys if it was of the same program with the same options. Otherwise a new one, which `make` returns."""
        for before, asked, plan in self._last:
            if before is program and asked == options:
                return plan
        plan = make()
        # In one step, because other threads may run other programs with these keys.
        self._last[:] = [(program, options, plan)]
        return plan

    @cached_property
    def evaluation_key(self) -> EvaluationKey:
        """The evaluation keys to send to a server. They decrypt nothing."""
        return EvaluationKey(content(self.server.save()))

    def public(self) -> PublicKey:
        """Generates a public key of the same secret key."""
        return public_key_of(self.client)

    def save(self, folder: str | Path) -> None:
        """Writes `client.key` (secret) and `server.key` (with seeded masks) to `folder`. Does not replace keys of another generation."""
        path = path_of(folder) / CLIENT
        there = path.exists()
        if there and read_bytes(path) != content(self.client.save()):
            raise FileError(f"{path}: another key exists here and would be replaced; name another folder")
        self._expect_own(path.with_name(SERVER), load_server_key)
        # Another process may create keys in that folder meanwhile.
        new = () if there else (CLIENT,)
        write_together(folder, {CLIENT: self.client.save, SERVER: self.server.save}, new=new)

    def save_public(self, folder: str | Path) -> None:
        """Writes `public.key` to `folder`, with which others encrypt for this client but cannot decrypt. Does not replace a key of another
        generation."""
        self._expect_own(path_of(folder) / PUBLIC, load_public_key)
        write_together(folder, {PUBLIC: self.public().save})

    def _expect_own(self, path: Path, load: Callable[[str, Source], ServerKey | PublicKey]) -> None:
        """Rejects replacing a file that is not a key of this client."""
        if not path.is_file():
            return
        try:
            load(self.scheme, path).expect_client(self.client)  # type: ignore[arg-type]
        except FileError as error:
            raise FileError(
                f"{path}: not a key of this client, but would be replaced; name another folder ({error})"
            ) from None

    @classmethod
    def load(cls, folder: str | Path, scheme: str | None = None, progress: ProgressHook | None = None) -> Keys:
        """Loads the keys that `save` wrote, of one key generation. With `scheme` ("tfhe", "ckks" or "bgv"), rejects other schemes."""
        path = path_of(folder)
        chosen = (_mark(path / CLIENT) or "tfhe") if scheme is None else pick("scheme", scheme, SCHEMES)
        keys = cls(load_client_key(chosen, path / CLIENT), load_server_key(chosen, path / SERVER, progress))
        if keys.parameters != parameters_of(keys.server):
            raise ParameterError(
                f"{path}: {CLIENT} belongs to {keys.parameters.name}, {SERVER} to {parameters_of(keys.server).name}; "
                "use the two files of one key generation"
            )
        keys.server.expect_client(keys.client)  # type: ignore[arg-type]
        return keys
