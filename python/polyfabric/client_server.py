"""Clients and servers: separate holders of secret and evaluation keys, and the messages between them, for all schemes.

    spec = pf.Specification.of(program)          # the server's operator publishes it
    client = pf.Client(spec)                     # with its own secret key
    server = pf.Server(program, client.evaluation_key)
    client.decrypt(server.execute(client.encrypt(x=3)))

All messages have `to_bytes` and `from_bytes`, `save` and `load`.
"""

from __future__ import annotations

import io
import logging
import re
import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, NoReturn

from .computer import workers
from .errors import CancelledError, FileError, InputError, ParameterError, shown
from .execution import execute
from .files import bytes_of, path_of, read_bytes, write_bytes, write_new, write_together
from .keys import (
    CIPHERTEXT_KINDS,
    EVALUATION_KINDS,
    PUBLIC_KINDS,
    expect_kind,
    load_client_key,
    load_public_key,
    load_server_key,
    parameters_of,
    public_key_of,
    transformed_bytes,
)
from .language.shapes import gathered, value_of
from .language.traced import TracedProgram
from .progress import expect_hook
from .schemes.context import LARGEST_KEY, STANDARD_SECURITY, ClientKey, content
from .schemes.context import PublicKey as AnyPublicKey
from .schemes.plan import Plan
from .specification import Specification, served

if TYPE_CHECKING:
    from .progress import ProgressHook

LOG = logging.getLogger("polyfabric.server")
"""One record per execution, with attributes `program`, `seconds`, `bytes_in` and `bytes_out`."""

NAME = re.compile(r"[A-Za-z0-9_.+-]{1,256}")
"""Valid names of inputs and outputs, which are file names too."""


@dataclass(frozen=True)
class Ciphertexts:
    """The encrypted inputs or outputs of one execution: file contents by name."""

    parts: dict[str, bytes] = field(repr=False)
    ending: str
    """ ".in.ct" for inputs, ".out.ct" for outputs."""

    def __post_init__(self) -> None:
        """Rejects invalid names, since they become file names, and bytes that are not ciphertexts."""
        wrong = next((name for name in self.parts if not NAME.fullmatch(name)), None)
        if wrong is not None:
            raise FileError(
                f"the ciphertexts: {wrong[:64]!r} is not a valid name, which has only letters, digits and _ - + .; "
                "send the result of to_bytes()"
            )
        for name, data in self.parts.items():
            expect_kind(data, f"the ciphertexts {name!r}", CIPHERTEXT_KINDS, "send the result of to_bytes()")

    def __repr__(self) -> str:
        what = "inputs" if self.ending == ".in.ct" else "outputs"
        return f"<encrypted {what} {', '.join(self.parts)}: {sum(map(len, self.parts.values()))} bytes>"

    def to_bytes(self) -> bytes:
        """All of them as a zip archive, stored without compression."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for name, data in self.parts.items():
                # Without timestamps, which would reveal the client's time zone.
                archive.writestr(zipfile.ZipInfo(name + self.ending), data)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Ciphertexts:
        """Parses the result of `to_bytes`."""
        try:
            with zipfile.ZipFile(io.BytesIO(bytes_of(data, "the ciphertexts"))) as archive:
                entries = archive.infolist()
                # Compressed entries, or entries that share bytes, could expand far beyond the received size.
                stored = all(entry.compress_type == zipfile.ZIP_STORED for entry in entries)
                if not stored or sum(entry.file_size for entry in entries) > len(data):
                    raise FileError("the ciphertexts: their archive is compressed; send the result of to_bytes()")
                behind = len(data) - _archive_bytes(entries)
                if behind and len(data) < zipfile.ZIP64_LIMIT:
                    raise FileError(
                        f"the ciphertexts: {behind:,} bytes of their archive belong to no entry; send the result of to_bytes()"
                    )
                files = {entry.filename: archive.read(entry) for entry in entries}
                if len(files) < len(entries):
                    raise FileError("the ciphertexts: two of them have one name; send the result of to_bytes()")
        except (zipfile.BadZipFile, EOFError, NotImplementedError, OverflowError, RuntimeError, ValueError) as problem:
            raise FileError(
                f"the ciphertexts: not an archive of ciphertexts ({problem}); send the result of to_bytes()"
            ) from None
        return cls._of(files, "the ciphertexts")

    def save(self, folder: str | Path) -> None:
        """Writes `NAME.in.ct` or `NAME.out.ct` files to `folder`, as the command line does; all or none."""
        write_together(
            folder, {name + self.ending: partial(write_bytes, data=data) for name, data in self.parts.items()}
        )

    @classmethod
    def load(cls, folder: str | Path, *, outputs: bool = False) -> Ciphertexts:
        """Loads all inputs, or all `outputs`, in `folder`."""
        ending, other = (".out.ct", ".in.ct") if outputs else (".in.ct", ".out.ct")
        place = path_of(folder)
        files = {path.name: read_bytes(path) for path in sorted(place.glob(f"*{ending}"))}
        if not files and any(place.glob(f"*{other}")):
            held, wanted = ("inputs", "outputs") if outputs else ("outputs", "inputs")
            raise FileError(f"{folder}: it has {held} and no {wanted}; load them with outputs={not outputs}")
        return cls._of(files, str(folder))

    def __or__(self, other: Ciphertexts) -> Ciphertexts:
        """Combines inputs encrypted by two parties into one request."""
        if not isinstance(other, Ciphertexts):
            return NotImplemented
        twice = sorted(set(self.parts) & set(other.parts))
        if self.ending != ".in.ct" or other.ending != ".in.ct" or twice:
            raise InputError(
                f"{self} and {other} are not the inputs of one request"
                + (f": both have {twice[0]!r}; encrypt it once" if twice else "; combine results of encrypt()")
            )
        return Ciphertexts({**self.parts, **other.parts}, self.ending)

    @classmethod
    def _of(cls, files: Mapping[str, bytes], place: str) -> Ciphertexts:
        for ending in (".in.ct", ".out.ct"):
            parts = {name.removesuffix(ending): data for name, data in files.items() if name.endswith(ending)}
            if parts and len(parts) == len(files):
                return cls(parts, ending)
        raise FileError(f"{place}: no ciphertexts of inputs, or of outputs; give those of one execution")


@dataclass(frozen=True)
class EvaluationKey:
    """Keys that a server needs to execute for one client; they decrypt nothing."""

    data: bytes

    def __post_init__(self) -> None:
        """Rejects other files' bytes, especially secret keys, before they are sent."""
        expect_kind(
            self.data, "the evaluation key", EVALUATION_KINDS, "give client.evaluation_key.to_bytes(), or a server.key"
        )

    def __repr__(self) -> str:
        return f"<evaluation key: {len(self.data)} bytes>"

    def to_bytes(self) -> bytes:
        """The content of `server.key`."""
        return self.data

    @classmethod
    def from_bytes(cls, data: bytes) -> EvaluationKey:
        """Parses the result of `to_bytes`; the server checks its content."""
        return cls(bytes_of(data, "the evaluation key"))

    def save(self, path: str | Path) -> None:
        """Writes the file atomically."""
        write_bytes(path_of(path), self.data)

    @classmethod
    def load(cls, path: str | Path) -> EvaluationKey:
        """Loads a `server.key`."""
        return cls(read_bytes(path_of(path)))


@dataclass(frozen=True)
class PublicKey:
    """A key with which anybody encrypts for one client; it decrypts nothing."""

    data: bytes

    def __post_init__(self) -> None:
        """Rejects other files' bytes, especially secret keys, before they are published."""
        expect_kind(self.data, "the public key", PUBLIC_KINDS, "give client.public_key.to_bytes(), or a public.key")

    def __repr__(self) -> str:
        return f"<public key: {len(self.data)} bytes>"

    def to_bytes(self) -> bytes:
        """The content of `public.key`."""
        return self.data

    @classmethod
    def from_bytes(cls, data: bytes) -> PublicKey:
        """Parses the result of `to_bytes`; the encryptor checks its content."""
        return cls(bytes_of(data, "the public key"))

    def save(self, path: str | Path) -> None:
        """Writes the file atomically."""
        write_bytes(path_of(path), self.data)

    @classmethod
    def load(cls, path: str | Path) -> PublicKey:
        """Loads a `public.key`."""
        return cls(read_bytes(path_of(path)))


class Client:
    """Encrypts inputs and decrypts outputs, with a secret key and a specification; needs no program."""

    def __init__(
        self,
        specification: Specification,
        *,
        security: float = STANDARD_SECURITY,
        max_key_bytes: int = LARGEST_KEY,
    ) -> None:
        """Generates a key with the operating system's randomness. Specifications come from others: one with less than `security` bits, or with
        an evaluation key of more than `max_key_bytes`, is rejected."""
        self._begin(specification, security, max_key_bytes)
        self._key = self._context.generate()

    def _begin(self, specification: Specification, security: float, max_key_bytes: int) -> None:
        if not isinstance(specification, Specification):
            raise InputError(
                f"a client needs a specification, not a {type(specification).__name__}; give pf.Specification.of(program), "
                "or its file by pf.Specification.load"
            )
        self.specification = specification
        self._context = specification.context
        specification.expect_security(security)
        specification.expect_key_bytes(max_key_bytes)
        self._evaluation_key: EvaluationKey | None = None

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a client does not pickle; write its secret key with client.save(path), and read it with pf.Client.load(specification, path)"
        )

    def __repr__(self) -> str:
        return f"<client of {self.specification.program_name}, with {self.specification.scheme.upper()}>"

    @property
    def evaluation_key(self) -> EvaluationKey:
        """The server's keys, generated once."""
        return self.make_evaluation_key()

    def make_evaluation_key(self, progress: ProgressHook | None = None) -> EvaluationKey:
        """`evaluation_key`, with progress."""
        expect_hook(progress)
        if self._evaluation_key is None:
            self._evaluation_key = EvaluationKey(self._context.evaluation_key(self._key, progress))
        return self._evaluation_key

    @property
    def public_key(self) -> PublicKey:
        """A fresh public key of the same secret key; the specification needs `public=True`."""
        return PublicKey(content(public_key_of(self._key).save()))

    def encrypt(self, inputs: Mapping[str, Any] | None = None, /, **named: Any) -> Ciphertexts:  # noqa: ANN401 - of the inputs' types
        """Encrypts inputs for the server, by keyword or in one dictionary. With a specification made with `public=True`, a subset is allowed;
        combine it with the others' inputs: `ours | theirs`."""
        context = self._context
        given = _gathered(self.specification, inputs, named)
        flat = context.shapes.flatten(given, partly=context.public)
        if len(flat) < len(context.shapes.inputs):
            return Encryptor(self.specification, self.public_key, security=0).encrypt(given)
        ciphertexts = context.encrypt(self._key, flat)
        names = context.shapes.inputs
        return Ciphertexts({name: content(context.write(ciphertexts, name, outputs=False)) for name in names}, ".in.ct")

    def decrypt(self, answer: Ciphertexts) -> Any:  # noqa: ANN401 - whatever the program's function returns
        """Decrypts an answer to what the program's function returns: one value, a tuple or a dictionary. Rejects values that no execution of
        the program produces."""
        if not isinstance(answer, Ciphertexts):
            raise InputError(
                f"an answer is {type(answer).__name__}; give pf.Ciphertexts (pf.Ciphertexts.from_bytes of bytes)"
            )
        if answer.ending != ".out.ct":
            raise InputError("these are a program's inputs; give the server's answer")
        results = self._context.read(dict(answer.parts), outputs=True)
        return value_of(self._context.shapes.shaped(self._context.decrypt(self._key, results)))

    def to_bytes(self) -> bytes:
        """The secret key, which decrypts everything."""
        return content(self._key.save())

    @classmethod
    def from_bytes(
        cls,
        specification: Specification,
        data: bytes,
        *,
        security: float = STANDARD_SECURITY,
        max_key_bytes: int = LARGEST_KEY,
    ) -> Client:
        """The client with a secret key from `to_bytes`."""
        return cls._of(specification, bytes_of(data, "the secret key"), security, max_key_bytes)

    def save(self, path: str | Path) -> None:
        """Writes the secret key atomically, readable only by its owner. Does not replace other files."""
        file = path_of(path)
        if file.is_dir() or not file.exists():
            write_new(file, self._key.save)
            return
        own = self.to_bytes()
        if file.is_file() and (file.stat().st_size != len(own) or read_bytes(file) != own):
            raise FileError(f"{file}: another key or file exists here and would be replaced; name another path")
        # Rejects a device or a pipe.
        self._key.save(file)

    @classmethod
    def load(
        cls,
        specification: Specification,
        path: str | Path,
        *,
        security: float = STANDARD_SECURITY,
        max_key_bytes: int = LARGEST_KEY,
    ) -> Client:
        """The client with a `client.key`."""
        return cls._of(specification, path_of(path), security, max_key_bytes)

    @classmethod
    def _of(cls, specification: Specification, source: bytes | Path, security: float, max_key_bytes: int) -> Client:
        made = cls.__new__(cls)
        made._begin(specification, security, max_key_bytes)
        made._key = load_client_key(made._context.scheme, source)
        _expect_set(made._key, specification, "client", "make a client of this specification")
        return made


class Encryptor:
    """Encrypts for another party's client, with a specification and that client's public key; decrypts nothing."""

    def __init__(
        self, specification: Specification, public_key: PublicKey, *, security: float = STANDARD_SECURITY
    ) -> None:
        """Rejects a specification whose parameter set has less than `security` bits."""
        if not isinstance(specification, Specification) or not isinstance(public_key, PublicKey):
            raise InputError(
                f"an encryptor needs a specification and a public key, not {type(specification).__name__} and "
                f"{type(public_key).__name__}; take client.public_key, or pf.PublicKey.load(path)"
            )
        specification.expect_security(security)
        self.specification = specification
        self._context = specification.context
        self._key = load_public_key(self._context.scheme, public_key.data)
        _expect_set(self._key, specification, "public", "bring the key of a client of this specification")

    def __reduce__(self) -> NoReturn:
        raise TypeError("an encryptor does not pickle; send the public key, and make it where it encrypts")

    def __repr__(self) -> str:
        return f"<encryptor for {self.specification.program_name}, with {self.specification.scheme.upper()}>"

    def encrypt(self, inputs: Mapping[str, Any] | None = None, /, **named: Any) -> Ciphertexts:  # noqa: ANN401 - of the inputs' types
        """Encrypts inputs by keyword or in one dictionary, all or a subset. Combine several parties' inputs to one request: `ours | theirs`."""
        flat = self._context.shapes.flatten(_gathered(self.specification, inputs, named), partly=True)
        parts = {name: content(self._context.encrypt_to(self._key, name, values)) for name, values in flat.items()}
        return Ciphertexts(parts, ".in.ct")


class Server:
    """Executes a program for one client, with the program and that client's evaluation key."""

    def __init__(
        self,
        program: TracedProgram,
        evaluation_key: EvaluationKey,
        *,
        parameters: str | None = None,
        threads: int | None = None,
        circuit_privacy: float | None = None,
        public: bool = False,
    ) -> None:
        """`parameters`, `circuit_privacy` and `public` must equal those of the client's specification (`Specification.of`). A key of another set,
        or with other switching keys, is rejected after reading only its header. With `circuit_privacy` (TFHE), answers hide their computation
        with that many bits; with `public`, inputs may be encrypted with a public key."""
        expect_traced(program)
        if not isinstance(evaluation_key, EvaluationKey):
            raise InputError(
                f"a server needs an evaluation key, not a {type(evaluation_key).__name__}; use client.evaluation_key, or "
                "pf.EvaluationKey.load(path)"
            )
        planned = served(program, parameters, circuit_privacy=circuit_privacy, public=public)
        self._begin(planned, evaluation_key, threads)

    @classmethod
    def _of(cls, planned: Plan, evaluation_key: EvaluationKey, threads: int | None) -> Server:
        """A server for an existing plan, as `KeyStore` uses for many clients."""
        made = cls.__new__(cls)
        made._begin(planned, evaluation_key, threads)
        return made

    def _begin(self, planned: Plan, evaluation_key: EvaluationKey, threads: int | None) -> None:
        self.program = planned.program
        self._threads = workers(threads)
        self._plan = planned
        try:
            self._key = load_server_key(planned.program.scheme, evaluation_key.data, expected=planned.context)
        except ParameterError as refused:
            raise ParameterError(
                f"{self.program.name}: {refused}. The server's parameters, circuit_privacy and public must equal those of the client's "
                "specification; give it the same, or use a key for its specification"
            ) from None

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a server does not pickle; send the program and the evaluation key, and make it where it executes"
        )

    def __repr__(self) -> str:
        return f"<server of {self.program.name}>"

    @property
    def key_bytes(self) -> int:
        """Memory of the client's keys, including cached transforms."""
        return int(self._key.bytes) + transformed_bytes(self._key)

    def execute(
        self, request: Ciphertexts, *, progress: ProgressHook | None = None, cancel: Event | None = None
    ) -> Ciphertexts:
        """Executes on one client's encrypted inputs.

        `progress(stage, done, total)` is called occasionally; its exceptions cancel the execution and are raised here. Setting `cancel` cancels it
        too, with a `pf.CancelledError`.
        """
        if not isinstance(request, Ciphertexts):
            raise InputError(
                f"a request is {type(request).__name__}; give pf.Ciphertexts (pf.Ciphertexts.from_bytes of bytes)"
            )
        if request.ending != ".in.ct":
            raise InputError("these are a program's outputs; give the client's encrypted inputs")
        begin = time.perf_counter()
        context = self._plan.context
        self._plan.check_memory(self.key_bytes)
        inputs = context.read(dict(request.parts), outputs=False, server=self._key)
        results, _ = execute(self._plan, self._key, inputs, threads=self._threads, progress=_watched(progress, cancel))
        names = context.shapes.outputs
        parts = {name: content(context.write(results, name, outputs=True)) for name in names}
        answer = Ciphertexts(parts, ".out.ct")
        facts = {
            "program": self.program.name,
            "seconds": time.perf_counter() - begin,
            "bytes_in": sum(map(len, request.parts.values())),
            "bytes_out": sum(map(len, answer.parts.values())),
        }
        LOG.info("executed %s in %.3f s", facts["program"], facts["seconds"], extra=facts)
        return answer

    def execute_batch(
        self, requests: Sequence[Ciphertexts], *, progress: ProgressHook | None = None, cancel: Event | None = None
    ) -> list[Ciphertexts]:
        """Executes several requests of the client in order."""
        if not isinstance(requests, Sequence):
            raise InputError(
                f"requests are {type(requests).__name__}; give a list of pf.Ciphertexts, or one to `execute`"
            )
        return [self.execute(request, progress=progress, cancel=cancel) for request in requests]


def _gathered(
    specification: Specification, inputs: Mapping[str, Any] | None, named: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The inputs of a call of `encrypt`."""
    return gathered(specification.program_name, specification.context.shapes.inputs, inputs, named, "encrypt")


def _archive_bytes(entries: Sequence[zipfile.ZipInfo]) -> int:
    """Size of an archive that stores exactly these entries."""
    return 22 + sum(30 + 46 + 2 * len(entry.filename) + entry.file_size for entry in entries)


def expect_traced(program: TracedProgram) -> None:
    """Rejects anything but a traced program."""
    if not isinstance(program, TracedProgram):
        raise InputError(
            f"a server executes a program, not {shown(program):.80}; give the one that @pf.program(..) made"
        )


def _expect_set(key: ClientKey | AnyPublicKey, specification: Specification, which: str, remedy: str) -> None:
    """Rejects a key of another parameter set."""
    found, wanted = parameters_of(key), specification.context.parameters
    if found != wanted:
        raise InputError(
            f"the {which} key belongs to parameter set {found.name}, but the specification needs {wanted.name}; {remedy}"
        )


def _watched(progress: ProgressHook | None, cancel: Event | None) -> ProgressHook | None:
    expect_hook(progress)
    if cancel is None:
        return progress
    if not callable(getattr(cancel, "is_set", None)):
        raise InputError(f"cancel={shown(cancel)}; give a threading.Event, which ends the execution once it is set")

    def hook(stage: str, done: int, total: int) -> None:
        if cancel.is_set():
            raise CancelledError("the execution was cancelled by the caller; start it again for its result")
        if progress is not None:
            progress(stage, done, total)

    return hook
