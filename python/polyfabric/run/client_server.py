"""Clients and servers: separate holders of secret and evaluation keys, and the messages between them, for all schemes.

    spec = pf.Specification.of(program)          # the server's operator publishes it
    client = pf.Client(spec)                     # with its own secret key
    server = pf.Server(program, client.evaluation_key)
    client.decrypt(server.execute(client.encrypt(x=3)))

All messages have `to_bytes` and `from_bytes`, `save` and `load`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import CancelledError, Error, FileError, InputError, ParameterError, shown
from ..host.computer import workers
from ..host.files import bytes_of, path_of, read_bytes, write_new
from ..host.progress import expect_hook
from ..language.lane_shapes import LaneShapes, results_of
from ..language.shapes import gathered, value_of
from ..language.traced import TracedProgram
from ..schemes.context import LARGEST_KEY, STANDARD_SECURITY, ClientKey, Context, ServerKey, Values, content
from ..schemes.context import Ciphertexts as AnyCiphertexts
from ..schemes.context import PublicKey as AnyPublicKey
from ..schemes.options import LEAST_SMUDGING
from ..schemes.plan import Plan
from .execution import execute, execute_each
from .keys import (
    held_bytes,
    load_client_key,
    load_public_key,
    load_server_key,
    parameters_of,
    public_key_of,
)
from .messages import INPUTS, OUTPUTS, Ciphertexts, EvaluationKey, PublicKey
from .specification import Specification, served

if TYPE_CHECKING:
    from ..host.progress import Cancel, ProgressHook

LOG = logging.getLogger("polyfabric.server")
"""One record per execution, with attributes `program`, `requests`, `seconds`, `bytes_in` and `bytes_out`."""


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
        combine it with the others' inputs: `ours | theirs`. A batch on slots may have fewer inputs, unless they are summed."""
        context = self._context
        given = _gathered(self.specification, inputs, named)
        if isinstance(context.shapes, LaneShapes):
            given = context.shapes.filled(given)
        flat = context.shapes.flatten(given, partly=context.public)
        if len(context.encrypted(flat)) < len(context.names(outputs=False)):
            return Encryptor(self.specification, self.public_key, security=0).encrypt(given)
        return encrypted(context, self._key, flat)

    def decrypt(self, answer: Ciphertexts, *, inputs: int | None = None) -> Any:  # noqa: ANN401 - whatever the program's function returns
        """Decrypts an answer to what the program's function returns: one value, a tuple or a dictionary. Rejects values that no execution of
        the program produces. `inputs`: the number of inputs in a batch that had fewer, and so of results."""
        shapes = self._context.shapes
        if inputs is not None and not isinstance(shapes, LaneShapes):
            raise InputError(
                f"inputs={shown(inputs)}: {self.specification.program_name} takes no batch on slots; omit it"
            )
        if inputs is not None and (not isinstance(inputs, int) or not 1 <= inputs <= shapes.batch):
            raise InputError(f"inputs={shown(inputs)}: give a number from 1 to {shapes.batch}, the inputs of a batch")
        value = decrypted(self._context, self._key, answer)
        return value if inputs is None else results_of(value, 0, inputs)

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
        parts = {
            name: content(self._context.encrypt_to(self._key, name, values))
            for name, values in self._context.encrypted(flat).items()
        }
        if not parts:
            name, needed = self.specification.program_name, ", ".join(self._context.names(outputs=False))
            raise InputError(f"results of {name} depend on none of the inputs given; give one of those in {needed}")
        return Ciphertexts(parts, INPUTS)


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
        parties: int = 1,
        smudging: float = LEAST_SMUDGING,
    ) -> None:
        """`parameters`, `circuit_privacy`, `public`, `parties` and `smudging` must equal those of the client's specification (`Specification.of`). A key of another set,
        or with other switching keys, is rejected after reading only its header. With `circuit_privacy` (TFHE), answers hide their computation
        with that many bits; with `public`, inputs may be encrypted with a public key."""
        expect_traced(program)
        if not isinstance(evaluation_key, EvaluationKey):
            raise InputError(
                f"a server needs an evaluation key, not a {type(evaluation_key).__name__}; use client.evaluation_key, or "
                "pf.EvaluationKey.load(path)"
            )
        planned = served(
            program, parameters, circuit_privacy=circuit_privacy, public=public, parties=parties, smudging=smudging
        )
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
        self.together = planned.together(self._threads)
        """Number of requests that are faster in one execution than in several."""
        try:
            self._key = load_server_key(planned.program.scheme, evaluation_key.data, expected=planned.context)
        except ParameterError as refused:
            raise ParameterError(
                f"{self.program.name}: {refused}. The server's parameters, circuit_privacy, public, parties and smudging must equal those of the client's "
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
        return held_bytes(self._key)

    def execute(
        self, request: Ciphertexts, *, progress: ProgressHook | None = None, cancel: Cancel | None = None
    ) -> Ciphertexts:
        """Executes on one client's encrypted inputs.

        `progress(stage, done, total)` is called occasionally; its exceptions cancel the execution and are raised here. Setting `cancel` cancels it
        too, with a `pf.errors.CancelledError`.
        """
        return self.execute_batch([request], progress=progress, cancel=cancel)[0]

    def execute_batch(
        self, requests: Sequence[Ciphertexts], *, progress: ProgressHook | None = None, cancel: Cancel | None = None
    ) -> list[Ciphertexts]:
        """Executes several requests of the client, `together` at a time: sooner than one after the other, with the same answers."""
        if not isinstance(requests, Sequence):
            raise InputError(
                f"requests are {type(requests).__name__}; give a list of pf.Ciphertexts, or one to `execute`"
            )
        found: list[Ciphertexts] = []
        for first in range(0, len(requests), self.together):
            some = requests[first : first + self.together]
            found += answers(self.outcomes(some, progress=progress, cancel=cancel))
        return found

    def outcomes(
        self, requests: Sequence[Ciphertexts], *, progress: ProgressHook | None = None, cancel: Cancel | None = None
    ) -> list[Ciphertexts | BaseException]:
        """One execution on several requests of the client: the answer to each, or its error, which no other request has. Arguments as of
        `execute`."""
        begin, watched = time.perf_counter(), _watched(progress, cancel)
        try:
            found = executed_each(self._plan, self._key, requests, threads=self._threads, progress=watched)
        except (Error, MemoryError) as error:
            if len(requests) == 1 or isinstance(error, CancelledError):
                raise
            # Alone, each may have what all together lack.
            return [self._alone(request, progress, cancel) for request in requests]
        answered = [(_size(own), _size(one)) for own, one in zip(requests, found, strict=True) if _size(one)]
        facts = {
            "program": self.program.name,
            "requests": len(answered),
            "seconds": time.perf_counter() - begin,
            "bytes_in": sum(size for size, _ in answered),
            "bytes_out": sum(size for _, size in answered),
        }
        if answered:
            LOG.info("executed %s in %.3f s", facts["program"], facts["seconds"], extra=facts)
        return found

    def _alone(
        self, request: Ciphertexts, progress: ProgressHook | None, cancel: Cancel | None
    ) -> Ciphertexts | BaseException:
        try:
            return self.execute(request, progress=progress, cancel=cancel)
        except CancelledError:
            raise
        except (Error, MemoryError) as error:
            return error


def answers(outcomes: Sequence[Ciphertexts | BaseException]) -> list[Ciphertexts]:
    """The answers of an execution, if all requests have one; raises the first error otherwise."""
    found: list[Ciphertexts] = []
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
        found.append(outcome)
    return found


def encrypted(context: Context, key: ClientKey, values: Values) -> Ciphertexts:
    """Encrypts all inputs, given in the form of the lower layers."""
    ciphertexts = context.encrypt(key, values)
    names = context.names(outputs=False)
    return Ciphertexts({name: content(context.write(ciphertexts, name, outputs=False)) for name in names}, INPUTS)


def executed(
    planned: Plan,
    key: ServerKey,
    request: Ciphertexts,
    *,
    on: str | None = None,
    threads: int | None = None,
    progress: ProgressHook | None = None,
) -> Ciphertexts:
    """Executes a plan on encrypted inputs."""
    planned.check_memory(held_bytes(key))
    results, _ = execute(planned, key, _inputs(planned, key, request), on=on, threads=threads, progress=progress)
    return _answer(planned, results)


def executed_each(
    planned: Plan,
    key: ServerKey,
    requests: Sequence[Ciphertexts],
    *,
    threads: int | None = None,
    progress: ProgressHook | None = None,
) -> list[Ciphertexts | BaseException]:
    """One execution of a plan on the CPU for several requests: the answer to each, or its error."""
    planned.check_memory(held_bytes(key), len(requests))
    inputs: list[Any] = []
    for request in requests:
        try:
            inputs.append(_inputs(planned, key, request))
        except Error as error:
            inputs.append(error)
    right = [own for own in inputs if not isinstance(own, Error)]
    results = iter(execute_each(planned, key, right, threads=threads, progress=progress) if right else [])
    found = [own if isinstance(own, Error) else next(results) for own in inputs]
    return [one if isinstance(one, BaseException) else _answer(planned, one) for one in found]


def _inputs(planned: Plan, key: ServerKey, request: Ciphertexts) -> AnyCiphertexts:
    """The inputs in a request."""
    if not isinstance(request, Ciphertexts):
        raise InputError(
            f"a request is {type(request).__name__}; give pf.Ciphertexts (pf.Ciphertexts.from_bytes of bytes)"
        )
    if request.ending != INPUTS:
        raise InputError("these are a program's outputs; give the client's encrypted inputs")
    return planned.context.read(dict(request.parts), outputs=False, server=key)


def _answer(planned: Plan, results: AnyCiphertexts) -> Ciphertexts:
    """The answer with the results of an execution."""
    context = planned.context
    names = context.names(outputs=True)
    return Ciphertexts({name: content(context.write(results, name, outputs=True)) for name in names}, OUTPUTS)


def decrypted(context: Context, key: ClientKey, answer: Ciphertexts) -> Any:  # noqa: ANN401 - whatever the program's function returns
    """Decrypts all outputs, to the form in which the program's function returns them."""
    if not isinstance(answer, Ciphertexts):
        raise InputError(
            f"an answer is {type(answer).__name__}; give pf.Ciphertexts (pf.Ciphertexts.from_bytes of bytes)"
        )
    if answer.ending != OUTPUTS:
        raise InputError("these are a program's inputs; give the server's answer")
    results = context.read(dict(answer.parts), outputs=True)
    return value_of(context.shapes.shaped(context.decrypt(key, results)))


def _gathered(
    specification: Specification, inputs: Mapping[str, Any] | None, named: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The inputs of a call of `encrypt`."""
    return gathered(specification.program_name, specification.context.shapes.inputs, inputs, named, "encrypt")


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


def _size(message: object) -> int:
    """Bytes of ciphertexts; an error has none."""
    return sum(map(len, message.parts.values())) if isinstance(message, Ciphertexts) else 0


def _watched(progress: ProgressHook | None, cancel: Cancel | None) -> ProgressHook | None:
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
