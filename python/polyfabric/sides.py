"""Clients and servers: who has which key, and what goes between them, for elements and slots alike.

    spec = pf.Specification.of(program)          # whoever serves the program makes it, and gives it away
    client = pf.Client(spec)                     # keys that nobody else has
    server = pf.Server(program, client.evaluation_key)
    client.decrypt(server.execute(client.encrypt({"x": 3})))

Everything that goes between them has `to_bytes` and `from_bytes`, `save` and `load`.
"""

from __future__ import annotations

import io
import logging
import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from . import _native
from .errors import CancelledError, FileError, InputError
from .execution import Plan, hidden, workers
from .execution import plan as plan_elements
from .language.program import Program
from .language.shapes import Shapes
from .language.slot_program import SlotProgram
from .language.slot_shapes import SlotShapes
from .reports import write_bytes, write_together
from .slot_execution import STANDARD_SECURITY, SlotPlan, check_key_memory, real_outputs
from .slot_execution import plan as plan_slots
from .slot_parameters import SlotParameters
from .specification import Specification, refuse_circuit_privacy

if TYPE_CHECKING:
    from .progress import ProgressHook

LOG = logging.getLogger("polyfabric.server")
"""One record an execution: `program`, `seconds`, `bytes_in` and `bytes_out` are its attributes."""

MOST_BYTES = 1 << 34
"""Of all parts of a request or an answer."""


@dataclass(frozen=True)
class Ciphertexts:
    """The encrypted inputs of one execution, or its outputs: by name, the bytes of a file each."""

    parts: dict[str, bytes] = field(repr=False)
    ending: str
    """ ".in.ct" of inputs, ".out.ct" of outputs."""

    def __repr__(self) -> str:
        what = "inputs" if self.ending == ".in.ct" else "outputs"
        return f"<encrypted {what} {', '.join(self.parts)}: {sum(map(len, self.parts.values()))} bytes>"

    def to_bytes(self) -> bytes:
        """All of them: a zip archive of their files, stored."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for name, data in self.parts.items():
                archive.writestr(name + self.ending, data)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Ciphertexts:
        """From what `to_bytes` gave."""
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                entries = archive.infolist()
                # What is not stored as it is could be far larger than what came.
                if any(entry.compress_type != zipfile.ZIP_STORED or entry.file_size > len(data) for entry in entries):
                    raise FileError("the ciphertexts: their archive is compressed; send what to_bytes() gives")
                files = {entry.filename: archive.read(entry) for entry in entries}
        except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as problem:
            raise FileError(f"the ciphertexts: no archive of them ({problem}); send what to_bytes() gives") from None
        return cls._of(files, "the ciphertexts")

    def save(self, folder: str | Path) -> None:
        """Writes each to a file of `folder`, `NAME.in.ct` or `NAME.out.ct`, as the steps of the command line do; all or none."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        write_together(
            path,
            {name + self.ending: partial(write_bytes, data=data) for name, data in self.parts.items()},
        )

    @classmethod
    def load(cls, folder: str | Path, *, outputs: bool = False) -> Ciphertexts:
        """All inputs that are in `folder`, or all `outputs`."""
        ending = ".out.ct" if outputs else ".in.ct"
        files = {path.name: path.read_bytes() for path in sorted(Path(folder).glob(f"*{ending}"))}
        return cls._of(files, str(folder))

    def __or__(self, other: Ciphertexts) -> Ciphertexts:
        """Inputs of two who encrypted some each, as one request."""
        if not isinstance(other, Ciphertexts):
            return NotImplemented
        twice = sorted(set(self.parts) & set(other.parts))
        if self.ending != ".in.ct" or other.ending != ".in.ct" or twice:
            raise InputError(
                f"{self} and {other} are not the inputs of one request"
                + (f": both have {twice[0]!r}; let one encrypt it" if twice else "; give what was encrypted")
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
    """What a server needs to execute for one client, and no more: it decrypts nothing."""

    data: bytes = field(repr=False)

    def to_bytes(self) -> bytes:
        """The content of `server.key`."""
        return self.data

    @classmethod
    def from_bytes(cls, data: bytes) -> EvaluationKey:
        """From what `to_bytes` gave; a server that is given it checks it."""
        return cls(bytes(data))

    def save(self, path: str | Path) -> None:
        """Writes it, whole or not at all."""
        write_bytes(Path(path), self.data)

    @classmethod
    def load(cls, path: str | Path) -> EvaluationKey:
        """From a `server.key`."""
        return cls(_content(Path(path)))


@dataclass(frozen=True)
class PublicKey:
    """What anybody encrypts with for one client, and decrypts nothing."""

    data: bytes = field(repr=False)

    def to_bytes(self) -> bytes:
        """The content of `public.key`."""
        return self.data

    @classmethod
    def from_bytes(cls, data: bytes) -> PublicKey:
        """From what `to_bytes` gave; who encrypts with it checks it."""
        return cls(bytes(data))

    def save(self, path: str | Path) -> None:
        """Writes it, whole or not at all."""
        write_bytes(Path(path), self.data)

    @classmethod
    def load(cls, path: str | Path) -> PublicKey:
        """From a `public.key`."""
        return cls(_content(Path(path)))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise FileError(f"{path}: cannot read ({problem.strerror}); check the path") from None


@dataclass(frozen=True)
class Elements:
    """TFHE's half of a client, and of a server where `planned` is there."""

    signature: _native.Signature
    parameters: _native.Parameters
    shapes: Shapes
    planned: Plan | None = None

    @property
    def security(self) -> tuple[str, float]:
        """The parameter set, and its bits."""
        return self.parameters.name, self.parameters.security_bits

    def generate(self) -> _native.ClientKey:
        """A fresh secret key."""
        return _native.ClientKey.generate(self.parameters)

    def load(self, source: bytes | Path) -> _native.ClientKey:
        """A secret key, which must be of the specification's parameter set."""
        key = _native.ClientKey.load(source)
        if key.parameters != self.parameters:
            raise InputError(
                f"the client key is of parameter set {key.parameters.name}, the specification asks for {self.parameters.name}; "
                "make a client of this specification"
            )
        return key

    def evaluation_key(self, key: _native.ClientKey, progress: ProgressHook | None) -> bytes:
        """The server's keys, for transport."""
        return _bytes(_native.ServerKey.generate(key, progress).save())

    def public_key(self, key: _native.ClientKey) -> bytes:
        """What others encrypt with."""
        return _bytes(_native.PublicKey.generate(key).save())

    def load_public(self, data: bytes) -> _native.PublicKey:
        """A public key, which must be of the specification's parameter set."""
        public = _native.PublicKey.load(data)
        if public.parameters != self.parameters:
            raise InputError(
                f"the public key is of parameter set {public.parameters.name}, the specification asks for {self.parameters.name}; "
                "bring the key of a client of this specification"
            )
        return public

    def encrypt_publicly(self, public: _native.PublicKey, inputs: Mapping[str, Any]) -> dict[str, bytes]:
        """A file's bytes for each input that is given."""
        flat = self.shapes.flatten(inputs, partly=True)
        return {name: _bytes(public.encrypt_to(self.signature, name, values)) for name, values in flat.items()}

    def encrypt(self, key: _native.ClientKey, inputs: Mapping[str, Any]) -> dict[str, bytes]:
        """A file's bytes for each input."""
        ciphertexts = key.encrypt(self.signature, self.shapes.flatten(inputs))
        return {
            name: _bytes(ciphertexts.save(self.parameters, self.signature, False, name)) for name in self.shapes.inputs
        }

    def decrypt(self, key: _native.ClientKey, parts: Mapping[str, bytes]) -> dict[str, Any]:
        """The values of the outputs."""
        ciphertexts = _native.Ciphertexts.load(self.parameters, self.signature, True, dict(parts))
        return dict(self.shapes.shaped(key.decrypt(self.signature, ciphertexts)))

    @classmethod
    def served(
        cls, program: Program, data: bytes, circuit_privacy: float | None, public: bool
    ) -> tuple[Elements, _native.ServerKey]:
        """What serves `program` for the client of an evaluation key."""
        server = _native.ServerKey.load(data)
        planned = plan_elements(program, server.parameters, circuit_privacy=circuit_privacy, public=public)
        return cls(planned.signature, planned.parameters, program.shapes, planned), server

    def execute(
        self, server: _native.ServerKey, parts: Mapping[str, bytes], threads: int, progress: ProgressHook | None
    ) -> dict[str, bytes]:
        """A file's bytes for each output."""
        assert self.planned is not None
        ciphertexts = _native.Ciphertexts.load(self.parameters, self.signature, False, dict(parts), server)
        results = hidden(self.planned, server, self.planned.kernel.run(server, ciphertexts, threads, progress))
        return {name: _bytes(results.save(self.parameters, self.signature, True, name)) for name in self.shapes.outputs}


@dataclass(frozen=True)
class Slots:
    """The half of CKKS and BGV of a client, and of a server where `planned` is there."""

    signature: _native.SlotSignature
    shapes: SlotShapes
    key_bytes: int
    public: bool
    planned: SlotPlan | None = None

    @property
    def security(self) -> tuple[str, float]:
        """The parameter set, and its bits."""
        found = SlotParameters(self.signature.parameters).to_dict()
        return str(found["name"]), float(found["security_bits"])

    def generate(self) -> _native.SlotClient:
        """A fresh secret key."""
        check_key_memory(self.signature.name, self.key_bytes)
        return _native.SlotClient.generate(self.signature)

    def load(self, source: bytes | Path) -> _native.SlotClient:
        """A secret key."""
        return _native.SlotClient.load(self.signature.scheme, source)

    def evaluation_key(self, key: _native.SlotClient, progress: ProgressHook | None) -> bytes:
        """The keys that the program asks for, for transport."""
        return _bytes(key.server(self.signature, progress).save())

    def public_key(self, key: _native.SlotClient) -> bytes:
        """What others encrypt with."""
        return _bytes(key.public().save())

    def load_public(self, data: bytes) -> _native.SlotPublicKey:
        """A public key."""
        return _native.SlotPublicKey.load(self.signature.scheme, data)

    def encrypt_publicly(self, public: _native.SlotPublicKey, inputs: Mapping[str, Any]) -> dict[str, bytes]:
        """A file's bytes for each input that is given."""
        if not self.public:
            raise InputError(
                f"{self.signature.name} is not planned for inputs of a public key, which have more noise; make the specification with "
                "public=True"
            )
        flat = self.shapes.flatten(inputs, partly=True)
        return {name: _bytes(public.encrypt_to(self.signature, name, values)) for name, values in flat.items()}

    def encrypt(self, key: _native.SlotClient, inputs: Mapping[str, Any]) -> dict[str, bytes]:
        """A file's bytes for each input."""
        ciphertexts = key.encrypt(self.signature, self.shapes.flatten(inputs))
        return {name: _bytes(ciphertexts.save(self.signature, False, name)) for name in self.shapes.inputs}

    def decrypt(self, key: _native.SlotClient, parts: Mapping[str, bytes]) -> dict[str, Any]:
        """The values of the outputs."""
        ciphertexts = _native.SlotCiphertexts.load(self.signature, True, dict(parts))
        return self.shapes.shaped(key.decrypt(self.signature, ciphertexts, real_outputs(self.shapes)))

    @classmethod
    def served(cls, program: SlotProgram, data: bytes, public: bool) -> tuple[Slots, _native.SlotServer]:
        """What serves `program` for the client of an evaluation key."""
        server = _native.SlotServer.load(program.scheme, data)
        planned = plan_slots(program, SlotParameters(server.parameters), security=0, key_switch="set", public=public)
        server.expect_keys(planned.native)
        return cls(planned.signature, program.shapes, planned.facts["key_bytes"], public, planned), server

    def execute(
        self, server: _native.SlotServer, parts: Mapping[str, bytes], threads: int, progress: ProgressHook | None
    ) -> dict[str, bytes]:
        """A file's bytes for each output."""
        assert self.planned is not None
        ciphertexts = _native.SlotCiphertexts.load(self.signature, False, dict(parts))
        results = server.execute(self.planned.native, ciphertexts, threads, progress)
        return {name: _bytes(results.save(self.signature, True, name)) for name in self.shapes.outputs}


def _bytes(data: bytes | None) -> bytes:
    assert data is not None
    return bytes(data)


class Client:
    """Who encrypts and decrypts: has a specification and a secret key, and needs no program."""

    def __init__(self, specification: Specification, *, security: float = STANDARD_SECURITY) -> None:
        """With a fresh key, from the operating system's randomness. A specification is somebody else's: one whose parameter set has less than
        `security` bits is refused."""
        self._begin(specification, security)
        self._key = self._half.generate()

    def _begin(self, specification: Specification, security: float) -> None:
        if not isinstance(specification, Specification):
            raise InputError(
                f"a client is made of a specification, not of {type(specification).__name__}; give pf.Specification.of(program), "
                "or its file by pf.Specification.load"
            )
        self.specification = specification
        self._half: Any = specification.half
        specification.expect_security(security)
        self._evaluation_key: EvaluationKey | None = None

    def __repr__(self) -> str:
        return f"<client of {self.specification.program_name}, with {self.specification.scheme}>"

    @property
    def evaluation_key(self) -> EvaluationKey:
        """What its server needs: made once, and given away."""
        return self.make_evaluation_key()

    def make_evaluation_key(self, progress: ProgressHook | None = None) -> EvaluationKey:
        """`evaluation_key`, with progress."""
        if self._evaluation_key is None:
            self._evaluation_key = EvaluationKey(self._half.evaluation_key(self._key, progress))
        return self._evaluation_key

    @property
    def public_key(self) -> PublicKey:
        """What others encrypt with for this client, where the specification was made with `public=True`: a fresh one each time, of the same secret key."""
        return PublicKey(self._half.public_key(self._key))

    def encrypt(self, inputs: Mapping[str, Any]) -> Ciphertexts:
        """Inputs by name, encrypted: what is sent to the server."""
        return Ciphertexts(self._half.encrypt(self._key, inputs), ".in.ct")

    def decrypt(self, answer: Ciphertexts) -> dict[str, Any]:
        """The values of an answer. What no execution of the program leaves is refused."""
        if answer.ending != ".out.ct":
            raise InputError("these are the inputs of a program; give what the server answered")
        return dict(self._half.decrypt(self._key, answer.parts))

    def to_bytes(self) -> bytes:
        """Its secret key: whoever has it reads everything."""
        return _bytes(self._key.save())

    @classmethod
    def from_bytes(cls, specification: Specification, data: bytes, *, security: float = STANDARD_SECURITY) -> Client:
        """The client of a secret key that `to_bytes` gave."""
        return cls._of(specification, data, security)

    def save(self, path: str | Path) -> None:
        """Writes its secret key, readable by its owner alone; whole or not at all."""
        self._key.save(Path(path))

    @classmethod
    def load(cls, specification: Specification, path: str | Path, *, security: float = STANDARD_SECURITY) -> Client:
        """The client of a `client.key`."""
        return cls._of(specification, Path(path), security)

    @classmethod
    def _of(cls, specification: Specification, source: bytes | Path, security: float) -> Client:
        made = cls.__new__(cls)
        made._begin(specification, security)
        made._key = made._half.load(source)
        return made


class Encryptor:
    """Who encrypts for somebody else's client: has a specification and that client's public key, and decrypts nothing."""

    def __init__(
        self, specification: Specification, public_key: PublicKey, *, security: float = STANDARD_SECURITY
    ) -> None:
        """A specification whose parameter set has less than `security` bits is refused."""
        if not isinstance(specification, Specification) or not isinstance(public_key, PublicKey):
            raise InputError(
                f"an encryptor is made of a specification and a public key, not of {type(specification).__name__} and "
                f"{type(public_key).__name__}; take client.public_key, or pf.PublicKey.load(path)"
            )
        specification.expect_security(security)
        self.specification = specification
        self._half: Any = specification.half
        self._key = self._half.load_public(public_key.data)

    def __repr__(self) -> str:
        return f"<encryptor for {self.specification.program_name}, with {self.specification.scheme}>"

    def encrypt(self, inputs: Mapping[str, Any]) -> Ciphertexts:
        """Inputs by name, encrypted: all of them, or some. Those of several who encrypt make one request, `ours | theirs`."""
        return Ciphertexts(self._half.encrypt_publicly(self._key, inputs), ".in.ct")


class Server:
    """Who executes a program for one client: has the program and that client's evaluation key, and no other key."""

    def __init__(
        self,
        program: Program | SlotProgram,
        evaluation_key: EvaluationKey,
        *,
        threads: int | None = None,
        circuit_privacy: float | None = None,
        public: bool = False,
    ) -> None:
        """With `circuit_privacy`, of TFHE, its answers hide with so many bits how they were computed; with `public`, it takes inputs of a public key: both as
        the client's specification was made with."""
        if not isinstance(evaluation_key, EvaluationKey):
            raise InputError(
                f"a server is given an evaluation key, not {type(evaluation_key).__name__}; take client.evaluation_key, or "
                "pf.EvaluationKey.load(path)"
            )
        self.program = program
        self._threads = workers(threads)
        self._half: Elements | Slots
        self._key: Any
        if isinstance(program, Program):
            self._half, self._key = Elements.served(program, evaluation_key.data, circuit_privacy, public)
        else:
            refuse_circuit_privacy(program, circuit_privacy)
            self._half, self._key = Slots.served(program, evaluation_key.data, public)

    def __repr__(self) -> str:
        return f"<server of {self.program.name}>"

    @property
    def key_bytes(self) -> int:
        """Memory that the client's keys take here."""
        return int(self._key.bytes)

    def execute(
        self, request: Ciphertexts, *, progress: ProgressHook | None = None, cancel: Event | None = None
    ) -> Ciphertexts:
        """Executes on one client's encrypted inputs.

        `progress(stage, done, total)` is called now and then; what it raises ends the execution, and is raised here. `cancel` ends
        it likewise, once it is set, by a `pf.CancelledError`.
        """
        if request.ending != ".in.ct":
            raise InputError("these are the outputs of a program; give what the client encrypted")
        begin = time.perf_counter()
        answer = Ciphertexts(
            self._half.execute(self._key, request.parts, self._threads, _watched(progress, cancel)), ".out.ct"
        )
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
        """Executes on each of several requests of the client, in order."""
        return [self.execute(request, progress=progress, cancel=cancel) for request in requests]


def _watched(progress: ProgressHook | None, cancel: Event | None) -> ProgressHook | None:
    if cancel is None:
        return progress

    def hook(stage: str, done: int, total: int) -> None:
        if cancel.is_set():
            raise CancelledError("the execution was cancelled, as it was asked to be; start it again for its result")
        if progress is not None:
            progress(stage, done, total)

    return hook
