"""HTTP connections to a server of `polyfabric serve`: one a request, which is repeated while the server is busy."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import InputError, RunError, shown
from ..host.computer import is_local
from ..host.files import path_of
from .line import Line

if TYPE_CHECKING:
    from http.client import HTTPResponse
    from ssl import SSLContext

    from ..host.progress import ProgressHook

MOST_ANSWER = 1 << 30
"""Bytes that are read of a server's answer."""

PIECE = 1 << 20
"""Bytes that are read at once."""

LONGEST_WAIT = 86_400.0
"""Seconds without a byte from the server after which a connection ends, however large `timeout` is; sockets take no infinite time."""

EVENTS = "text/event-stream"

BUSY = 429
"""The status of the answer to a request that comes too early."""


@dataclass(frozen=True)
class Answer:
    """What a server answers."""

    status: int
    body: bytes


class Connection:
    """A server's address, and a token for it. Its methods may be called from several threads."""

    def __init__(self, url: str, token: str, *, timeout: float, ca: str | Path | None, plain_http: bool) -> None:
        """As for `pf.RemoteServer`."""
        self._url = _parsed(url, plain_http)
        token = token.strip() if isinstance(token, str) else token
        if not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]{1,1024}", token):
            raise InputError("the token is not one that `polyfabric token` makes; give its text")
        if not isinstance(timeout, int | float) or not timeout > 0:
            raise InputError(f"timeout={shown(timeout)}; give a number of seconds above 0")
        self._token, self._timeout = token, timeout
        self._tls = _trust(ca) if self._url.scheme == "https" else None
        self._line = Line()

    @property
    def address(self) -> str:
        """The server's address."""
        return self._url.geturl()

    def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        most: int = MOST_ANSWER,
        progress: ProgressHook | None = None,
    ) -> Answer:
        """The answer to a request, which is repeated while the server is busy. Requests of several threads wait in one line."""
        deadline, number = time.monotonic() + self._timeout, self._line.number()
        accepted = {} if progress is None else {"Accept": EVENTS}
        while True:
            try:
                with self._line.turn(number, deadline):
                    answer, pause = self._ask_once(
                        method, path, body, {**(headers or {}), **accepted}, most, deadline, progress
                    )
                    if answer.status == BUSY:
                        self._line.refused(pause)
                    else:
                        self._line.admitted()
            except TimeoutError:
                raise RunError(
                    f"{self.address} is too busy to take this request within {self._timeout:g} s; send fewer at a time, or give a larger timeout"
                ) from None
            if answer.status != BUSY or time.monotonic() + pause > deadline:
                return answer

    def _ask_once(
        self,
        method: str,
        path: str,
        body: bytes,
        headers: Mapping[str, str],
        most: int,
        deadline: float,
        progress: ProgressHook | None,
    ) -> tuple[Answer, float]:
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
            with self._own_faults():
                # The server may answer and close before it has read all.
                with suppress(BrokenPipeError, ConnectionResetError):
                    connection.request(
                        method,
                        f"{self._url.path}{path}",
                        body or None,
                        {**headers, "Authorization": f"Bearer {self._token}", "Connection": "close"},
                    )
                response = connection.getresponse()
            pause = response.headers.get("Retry-After", "1")
            seconds = min(float(pause), 60.0) if pause.isdecimal() else 1.0
            pieces = self._pieces(response, deadline)
            if progress is not None and response.status == 200 and response.headers.get_content_type() == EVENTS:
                return self._last_event(pieces, most, progress), seconds
            data = bytearray()
            for piece in pieces:
                data += piece
                if len(data) > most:
                    raise self._strange(f"the answer has more than {most:,} bytes")
            return Answer(response.status, bytes(data)), seconds
        finally:
            connection.close()

    def _pieces(self, response: HTTPResponse, deadline: float) -> Iterator[bytes]:
        """The body as it arrives, so that a server that sends byte by byte does not escape the deadline."""
        while True:
            with self._own_faults():
                piece = response.read1(PIECE)
                if piece and time.monotonic() > deadline:
                    raise TimeoutError("timed out")
            if not piece:
                return
            yield piece

    def _last_event(self, pieces: Iterable[bytes], most: int, progress: ProgressHook) -> Answer:
        """The answer at the end of server-sent events, of which others report progress."""
        longest, buffer, searched = 4 * most // 3 + 1000, bytearray(), 0
        for piece in pieces:
            buffer += piece
            while (end := buffer.find(b"\n\n", searched)) >= 0:
                event, searched = bytes(buffer[:end]), 0
                del buffer[: end + 2]
                try:
                    found = _parsed_event(event)
                except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
                    raise self._strange("it sends events of another kind") from None
                if isinstance(found, Answer):
                    return found
                if found is not None:
                    progress(*found)
            if len(buffer) > longest:
                raise self._strange(f"it sends an event of more than {longest:,} bytes")
            searched = max(0, len(buffer) - 1)
        raise RunError(f"{self.address}: its events end without an answer; send the request again")

    def _strange(self, what: str) -> RunError:
        return RunError(f"{self.address}: {what}; check that this is a server of `polyfabric serve`")

    @contextmanager
    def _own_faults(self) -> Iterator[None]:
        """Turns faults of the connection into errors."""
        import http.client

        try:
            yield
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise RunError(
                f"{self.address} does not answer ({reason}); check the address, and that `polyfabric serve` runs there"
            ) from None


def _parsed_event(event: bytes) -> Answer | tuple[str, int, int] | None:
    """An answer, a report of progress, or nothing. Raises an exception for events of another kind."""
    fields: dict[bytes, bytes] = {}
    for line in event.split(b"\n"):
        name, _, value = line.partition(b":")
        fields[name] = value.removeprefix(b" ")
    kind, data = fields.get(b"event"), fields.get(b"data", b"")
    if kind == b"answer":
        return Answer(200, base64.b64decode(data, validate=True))
    if kind is None:
        return None
    found = json.loads(data)
    if kind == b"error":
        return Answer(int(found["status"]), str(found["text"]).encode(errors="replace"))
    stage = "".join(letter for letter in str(found["stage"])[:80] if letter.isprintable())
    return stage, int(found["done"]), int(found["total"])


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
