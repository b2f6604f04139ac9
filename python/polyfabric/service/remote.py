"""The client of `polyfabric serve`. It needs only Python's standard library.

server = pf.RemoteServer("https://fhe.example", token)
server.run("accepted", bid=200, reserve=150)
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from ..errors import InputError, RunError, shown
from ..host.files import made_folder, path_of
from ..host.progress import expect_hook
from ..language.lane_shapes import LaneShapes
from ..language.program import TfheProgram
from ..language.shapes import gathered
from ..language.traced import TracedProgram
from ..run.client_server import Client
from ..run.messages import Ciphertexts
from ..run.specification import LARGEST, Specification, served
from ..run.store import CHECKSUM
from ..schemes.context import LARGEST_KEY, STANDARD_SECURITY
from ..schemes.plan import Plan
from .connection import BUSY, Answer, Connection
from .sharing import Sharing

if TYPE_CHECKING:
    from ..host.progress import ProgressHook

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Names of programs and keys, which are parts of addresses."""


class RemoteServer:
    """A server of programs on encrypted data, `polyfabric serve`, for one tenant. Its methods may be called from several threads.

    Secret keys are made here and stay here: in memory, or in files of the folder `keys`. The server stores an evaluation key of each program under
    the name `key`. Two processes that share a token need two names, or one folder of keys and one process at a time.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        key: str = "default",
        keys: str | Path | None = None,
        security: float = STANDARD_SECURITY,
        max_key_bytes: int = LARGEST_KEY,
        timeout: float = 600.0,
        ca: str | Path | None = None,
        plain_http: bool = False,
    ) -> None:
        """`security` and `max_key_bytes` as for `pf.Client`. `timeout` in seconds limits a request with its repetitions. `ca` is a file of
        certificates in PEM to trust instead of the system's. An `http` address is accepted only of this computer, or with `plain_http`: everybody on
        the way can read the token."""
        if not isinstance(key, str) or not NAME.fullmatch(key):
            raise InputError(
                f"key={shown(key):.80}: a key's name has 1 to 64 letters, digits, - and _; choose another name"
            )
        self._connection = Connection(url, token, timeout=timeout, ca=ca, plain_http=plain_http)
        self._address, self._key = self._connection.address, key
        self._folder = None if keys is None else path_of(keys)
        self._security, self._max_key_bytes = security, max_key_bytes
        self._clients: dict[str, Client] = {}
        self._plans: dict[TracedProgram, Plan] = {}
        self._sharing: dict[str, Sharing] = {}
        self._sent: Counter[str] = Counter()
        """How often each program's evaluation key has been sent."""
        self._lock = Lock()
        """Guards all four, so that one key is made and sent for each program."""

    def __repr__(self) -> str:
        return f"<remote server {self._address}>"

    def programs(self) -> dict[str, str]:
        """Descriptions of the server's programs by name."""
        body = self._expect(self._connection.ask("GET", "/programs", most=LARGEST), 200)
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise RunError(f"{self._address}: the answer is no list of programs; check the address")
        return {str(name): str(text) for name, text in found.items()}

    def client(self, program: str) -> Client:
        """The client of a program, with its secret key; it has encrypted and decrypts what `run` sends."""
        name = _expect_name(program)
        with self._lock:
            if name not in self._clients:
                self._clients[name] = self._made_client(name)
            return self._clients[name]

    def run(
        self,
        program: str | TracedProgram,
        inputs: Mapping[str, Any] | None = None,
        /,
        *,
        progress: ProgressHook | None = None,
        **named: Any,  # noqa: ANN401 - values of the program's types
    ) -> Any:  # noqa: ANN401 - the program's types
        """Encrypts inputs, lets the server execute its program, and decrypts the result to what the program's function returns.

        `program` is the program's name. If you have the program itself, the server's must have the same hash, and inputs that break one of its
        promises are rejected. The first call makes the keys and sends the evaluation key. `progress(stage, done, total)` is called now and then;
        its exceptions cancel the execution.

        A batch on slots may have fewer inputs than the program's. Requests that wait for each other in several threads then share a ciphertext,
        except those with `progress`.
        """
        expect_hook(progress)
        if isinstance(program, TracedProgram):
            given = gathered(program.name, program.inputs, inputs, named, "run", ["progress"])
            client = self.client(program.name)
            planned = self._expect_same(program, client.specification)
            shapes = planned.program.shapes
            whole = shapes.filled(given) if isinstance(shapes, LaneShapes) else given
            planned.evaluate(planned.program.flatten(whole))
            name = program.name
        else:
            name, client = program, self.client(program)
            given = named if inputs is None else inputs
            if inputs is not None and named:
                raise InputError(
                    f"{name}: inputs are given as a dictionary and as keywords; give all of them in one way"
                )
        shapes = client.specification.context.shapes
        count = shapes.fewer(given) if isinstance(shapes, LaneShapes) else None
        if count is None or progress is not None:
            return client.decrypt(self.execute(name, client.encrypt(given), progress=progress), inputs=count)
        # Found before they share a ciphertext with others.
        shapes.flatten(shapes.filled(given))
        return self._shared(name, shapes.batch).run({own: list(given[own]) for own in shapes.inputs}, count)

    def _shared(self, name: str, most: int) -> Sharing:
        """What the threads with few inputs of a program share."""

        def execute(inputs: Mapping[str, Any]) -> Any:  # noqa: ANN401 - the program's types
            client = self.client(name)
            return client.decrypt(self.execute(name, client.encrypt(inputs)))

        with self._lock:
            if name not in self._sharing:
                self._sharing[name] = Sharing(most, execute)
            return self._sharing[name]

    def execute(self, program: str, request: Ciphertexts, *, progress: ProgressHook | None = None) -> Ciphertexts:
        """The server's answer to encrypted inputs, which may come from several parties. Sends the evaluation key if the server lacks it.
        `progress` as for `run`."""
        expect_hook(progress)
        client = self.client(program)
        with self._lock:
            key, sent = client.make_evaluation_key(progress).to_bytes(), self._sent[program]
        path, body = f"/programs/{program}:run?key={self._key}", request.to_bytes()
        only_with = {"If-Match": f'"{key[-CHECKSUM:].hex()}"'}
        answer = self._connection.ask("POST", path, body, only_with, progress=progress)
        if answer.status in (404, 412):
            with self._lock:
                # Another thread may have sent it meanwhile.
                if self._sent[program] == sent:
                    self._expect(self._connection.ask("PUT", f"/programs/{program}/keys/{self._key}", key), 204)
                    self._sent[program] += 1
            answer = self._connection.ask("POST", path, body, only_with, progress=progress)
        return Ciphertexts.from_bytes(self._expect(answer, 200))

    def remove_key(self, program: str) -> None:
        """Removes the evaluation key of a program from the server."""
        self._expect(self._connection.ask("DELETE", f"/programs/{_expect_name(program)}/keys/{self._key}"), 204)

    def _made_client(self, name: str) -> Client:
        body = self._expect(self._connection.ask("GET", f"/programs/{name}", most=LARGEST), 200)
        spec = Specification.from_bytes(body, f"the specification of {name}")
        if spec.program_name != name:
            raise RunError(
                f"{self._address}: asked for program {name}, it sends {spec.program_name!r:.80}; check the address"
            )
        limits = {"security": self._security, "max_key_bytes": self._max_key_bytes}
        if self._folder is None:
            return Client(spec, **limits)
        file = made_folder(self._folder) / f"{name}.client.key"
        if file.exists():
            return Client.load(spec, file, **limits)
        made = Client(spec, **limits)
        made.save(file)
        return made

    def _expect_same(self, program: TracedProgram, specification: Specification) -> Plan:
        """The plan of a program that is here, which must be the server's."""
        with self._lock:
            if program not in self._plans:
                context = specification.context
                # The set says whether the server reads tables by circuit bootstrapping or by lookups.
                two_forms = isinstance(program, TfheProgram) and program.wide is not None
                named = context.parameters.name if two_forms else None
                self._plans[program] = served(program, named, public=context.public)
            planned = self._plans[program]
        own, remote = planned.context.to_dict()["signature"]["hash"], specification.data["signature"]["hash"]
        if own != remote:
            raise InputError(
                f"{program.name}: the server's program of this name is another one (hash {bytes(remote).hex()}, not {bytes(own).hex()}); give "
                "the name to run the server's, or have this one served"
            )
        return planned

    def _expect(self, answer: Answer, status: int) -> bytes:
        """The body of an answer, if it has the right status."""
        if answer.status == status:
            return answer.body
        text = "".join(letter for letter in answer.body[:500].decode(errors="replace") if letter.isprintable())
        message = f"{self._address} answers {answer.status}: {text}"
        raise (RunError if answer.status >= 500 or answer.status == BUSY else InputError)(message)


def _expect_name(name: str) -> str:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InputError(f"{shown(name):.80} is not a program's name; `programs()` lists them")
    return name
