"""The client of `polyfabric serve`. It needs only Python's standard library.

server = pf.RemoteServer("https://fhe.example", token)
server.run("accepted", bid=200, reserve=150)
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import InputError, RunError, shown
from ..host.computer import is_local
from ..host.files import made_folder, path_of
from ..language.shapes import gathered
from ..language.traced import TracedProgram
from ..run.client_server import Client
from ..run.messages import Ciphertexts
from ..run.specification import LARGEST, Specification, served
from ..run.store import CHECKSUM
from ..schemes.context import LARGEST_KEY, STANDARD_SECURITY
from ..schemes.plan import Plan

if TYPE_CHECKING:
    from ssl import SSLContext

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Names of programs and keys, which are parts of addresses."""

MOST_ANSWER = 1 << 30
"""Bytes that are read of a server's answer."""

PIECE = 1 << 20
"""Bytes that are read at once."""

LONGEST_WAIT = 86_400.0
"""Seconds without a byte from the server after which a connection ends, however large `timeout` is; sockets take no infinite time."""


@dataclass(frozen=True)
class _Answer:
    status: int
    body: bytes


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
        self._url = _parsed(url, plain_http)
        if not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]{1,1024}", token):
            raise InputError("the token is not one that `polyfabric token` prints; give its text")
        if not isinstance(key, str) or not NAME.fullmatch(key):
            raise InputError(
                f"key={shown(key):.80}: a key's name has 1 to 64 letters, digits, - and _; choose another name"
            )
        if not isinstance(timeout, int | float) or not timeout > 0:
            raise InputError(f"timeout={shown(timeout)}; give a number of seconds above 0")
        self._token, self._key = token, key
        self._folder = None if keys is None else path_of(keys)
        self._security, self._max_key_bytes, self._timeout = security, max_key_bytes, timeout
        self._tls = _trust(ca) if self._url.scheme == "https" else None
        self._clients: dict[str, Client] = {}
        self._plans: dict[TracedProgram, Plan] = {}
        self._sent: Counter[str] = Counter()
        """How often each program's evaluation key has been sent."""
        self._lock = Lock()
        """Guards the three, so that one key is made and sent for each program."""

    def __repr__(self) -> str:
        return f"<remote server {self._url.geturl()}>"

    def programs(self) -> dict[str, str]:
        """Descriptions of the server's programs by name."""
        body = self._expect(self._ask("GET", "/programs", most=LARGEST), 200)
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise RunError(f"{self._url.geturl()}: the answer is no list of programs; check the address")
        return {str(name): str(text) for name, text in found.items()}

    def client(self, program: str) -> Client:
        """The client of a program, with its secret key; it has encrypted and decrypts what `run` sends."""
        name = _expect_name(program)
        with self._lock:
            if name not in self._clients:
                self._clients[name] = self._made_client(name)
            return self._clients[name]

    def run(self, program: str | TracedProgram, inputs: Mapping[str, Any] | None = None, /, **named: Any) -> Any:  # noqa: ANN401 - the program's types
        """Encrypts inputs, lets the server execute its program, and decrypts the result to what the program's function returns.

        `program` is the program's name. If you have the program itself, the server's must have the same hash, and inputs that break one of its
        promises are rejected. The first call makes the keys and sends the evaluation key.
        """
        if isinstance(program, TracedProgram):
            given = gathered(program.name, program.inputs, inputs, named, "run")
            client = self.client(program.name)
            self._expect_same(program, client.specification).evaluate(program.flatten(given))
            name = program.name
        else:
            name, client = program, self.client(program)
            given = named if inputs is None else inputs
            if inputs is not None and named:
                raise InputError(
                    f"{name}: inputs are given as a dictionary and as keywords; give all of them in one way"
                )
        return client.decrypt(self.execute(name, client.encrypt(given)))

    def execute(self, program: str, request: Ciphertexts) -> Ciphertexts:
        """The server's answer to encrypted inputs, which may come from several parties. Sends the evaluation key if the server lacks it."""
        client = self.client(program)
        with self._lock:
            key, sent = client.evaluation_key.to_bytes(), self._sent[program]
        path, body = f"/programs/{program}:run?key={self._key}", request.to_bytes()
        only_with = {"If-Match": f'"{key[-CHECKSUM:].hex()}"'}
        answer = self._ask("POST", path, body, only_with)
        if answer.status in (404, 412):
            with self._lock:
                # Another thread may have sent it meanwhile.
                if self._sent[program] == sent:
                    self._expect(self._ask("PUT", f"/programs/{program}/keys/{self._key}", key), 204)
                    self._sent[program] += 1
            answer = self._ask("POST", path, body, only_with)
        return Ciphertexts.from_bytes(self._expect(answer, 200))

    def remove_key(self, program: str) -> None:
        """Removes the evaluation key of a program from the server."""
        self._expect(self._ask("DELETE", f"/programs/{_expect_name(program)}/keys/{self._key}"), 204)

    def _made_client(self, name: str) -> Client:
        body = self._expect(self._ask("GET", f"/programs/{name}", most=LARGEST), 200)
        spec = Specification.from_bytes(body, f"the specification of {name}")
        if spec.program_name != name:
            raise RunError(
                f"{self._url.geturl()}: asked for program {name}, it sends {spec.program_name!r:.80}; check the address"
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
                self._plans[program] = served(program, None, public=specification.context.public)
            planned = self._plans[program]
        own, remote = planned.context.to_dict()["signature"]["hash"], specification.data["signature"]["hash"]
        if own != remote:
            raise InputError(
                f"{program.name}: the server's program of this name is another one (hash {bytes(remote).hex()}, not {bytes(own).hex()}); give "
                "the name to run the server's, or have this one served"
            )
        return planned

    def _expect(self, answer: _Answer, status: int) -> bytes:
        """The body of an answer, if it has the right status."""
        if answer.status == status:
            return answer.body
        text = "".join(letter for letter in answer.body[:500].decode(errors="replace") if letter.isprintable())
        message = f"{self._url.geturl()} answers {answer.status}: {text}"
        raise (RunError if answer.status >= 500 or answer.status == 429 else InputError)(message)

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        most: int = MOST_ANSWER,
    ) -> _Answer:
        """The answer to a request, which is repeated while the server is busy."""
        deadline = time.monotonic() + self._timeout
        while True:
            answer, pause = self._ask_once(method, path, body, headers or {}, most, deadline)
            if answer.status != 429 or time.monotonic() + pause > deadline:
                return answer
            time.sleep(pause)

    def _ask_once(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str], most: int, deadline: float
    ) -> tuple[_Answer, float]:
        """An answer, and after how many seconds another attempt makes sense."""
        # Here, because it is slow to import and few need it.
        import http.client

        left = min(max(1.0, deadline - time.monotonic()), LONGEST_WAIT)
        host, port = self._url.hostname, self._url.port
        if self._tls is None:
            connection = http.client.HTTPConnection(host, port, timeout=left)
        else:
            connection = http.client.HTTPSConnection(host, port, timeout=left, context=self._tls)
        try:
            # The server may answer and close before it has read all.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request(
                    method,
                    f"{self._url.path}{path}",
                    body or None,
                    {**headers, "Authorization": f"Bearer {self._token}", "Connection": "close"},
                )
            response = connection.getresponse()
            data = bytearray()
            # What has arrived, so that a server that sends byte by byte does not escape the deadline.
            while piece := response.read1(PIECE):
                data += piece
                if time.monotonic() > deadline:
                    raise TimeoutError("timed out")
                if len(data) > most:
                    raise RunError(
                        f"{self._url.geturl()}: the answer has more than {most:,} bytes; check that this is a server of `polyfabric serve`"
                    )
            pause = response.headers.get("Retry-After", "1")
            return _Answer(response.status, bytes(data)), min(float(pause), 60.0) if pause.isdecimal() else 1.0
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise RunError(
                f"{self._url.geturl()} does not answer ({reason}); check the address, and that `polyfabric serve` runs there"
            ) from None
        finally:
            connection.close()


def _parsed(url: str, plain_http: bool) -> Any:  # noqa: ANN401 - urllib's own
    """The parts of an address."""
    try:
        found = urlsplit(url.rstrip("/"))
        usable = found.scheme in ("http", "https") and found.hostname and found.port != 0
    except (AttributeError, TypeError, ValueError):
        usable = False
    if not usable or found.query or found.fragment or found.username or not url.isascii() or not url.isprintable():
        raise InputError(f"{shown(url):.200} is not the address of a server; give one as https://fhe.example:8000")
    if found.scheme == "http" and not plain_http and not is_local(found.hostname):
        raise InputError(
            f"{url}: everybody on the way can read a token sent without TLS; use https, or accept it with plain_http=True"
        )
    return found


def _trust(ca: str | Path | None) -> SSLContext:
    """The certificates to trust."""
    import ssl

    try:
        return ssl.create_default_context(cafile=None if ca is None else path_of(ca))
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"ca={ca}: no certificates in PEM ({error.strerror or error}); give the file of an authority"
        ) from None


def _expect_name(name: str) -> str:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InputError(f"{shown(name):.80} is not a program's name; `programs()` lists them")
    return name
