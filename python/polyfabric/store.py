"""The evaluation keys of a server's clients: all of them in files, the last used ones in memory."""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import Condition, Lock
from typing import NamedTuple
from weakref import WeakValueDictionary

from .errors import FileError, InputError, RunError, shown
from .files import made_folder, write_bytes
from .language.traced import TracedProgram
from .sides import EvaluationKey, Server, expect_traced
from .specification import served

NAME = re.compile(r"[a-z0-9_-]{1,64}")
"""What a client may be called, in lower case: many file systems do not tell cases apart."""

DEVICES = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9]")
"""Names that Windows keeps for devices, with any ending."""

CHECKSUM = 32
"""Bytes at the end of a key's file that no other key's file has."""


class _Held(NamedTuple):
    """A server in memory, and the checksum of the file that its key is in."""

    server: Server
    checksum: bytes


class KeyStore:
    """Servers of one program for many clients, of which no more are in memory than `most_bytes` of keys; the last one always is.

    What executions transform of a key counts too, when a server is next asked for. Keys are read and expanded at once as far as `most_bytes` has room
    for all of them; others wait. A server that computes while its place is taken stays until it has answered. Several processes may share the
    folder: each serves the key that was put last.

    A client's name has up to 64 letters, digits, - and _, and no case. `parameters`, `circuit_privacy` and `public` are those of the clients'
    specification, as `Server` takes them. Keys that do not fit it are refused by a `FileError` or a `ParameterError`, a client without a key by an
    `InputError`, and what is the store's own fault, as a full disk, is a `RunError`.
    """

    def __init__(
        self,
        program: TracedProgram,
        folder: str | Path,
        *,
        parameters: str | None = None,
        most_bytes: int = 2 << 30,
        threads: int | None = None,
        circuit_privacy: float | None = None,
        public: bool = False,
    ) -> None:
        expect_traced(program)
        if not isinstance(most_bytes, int) or most_bytes < 0:
            raise InputError(f"most_bytes={shown(most_bytes)}; give the bytes of memory for keys, from 0")
        self.program = program
        self.folder = made_folder(folder)
        self._plan = served(program, parameters, circuit_privacy=circuit_privacy, public=public)
        self._most_bytes = most_bytes
        self._threads = threads
        self._servers: OrderedDict[str, _Held] = OrderedDict()
        self._expanding = 0
        """Bytes of keys that are being expanded."""
        self._changed = Condition()
        """Guards all that changes here; notified when a key has been expanded."""
        self._reading: WeakValueDictionary[str, Lock] = WeakValueDictionary()
        """By client: the lock under which its key is read, so that it is read once for many who ask."""

    def __repr__(self) -> str:
        return f"<store of keys for {self.program.name}, in {self.folder}>"

    def put(self, client: str, key: EvaluationKey) -> None:
        """Keeps a client's key instead of an earlier one, once it is found to serve the program."""
        path = self._path(client)

        def write() -> None:
            try:
                write_bytes(path, key.data)
            except FileError as error:
                raise RunError(f"the key of client {client!r} cannot be kept; send it again later") from error

        self._make(client.lower(), lambda: key, write)

    def server(self, client: str) -> Server:
        """The server of a client, whose key is read from its file if it is not in memory."""
        path, name = self._path(client), client.lower()
        with self._changed:
            reading = self._reading.setdefault(name, Lock())
        with reading:
            while True:
                checksum = _checksum(path)
                if checksum is None:
                    raise InputError(f"there is no key of client {client!r}; send its evaluation key first")
                found = self._found(name, checksum)
                if found is not None:
                    return found
                try:
                    held = self._make(name, lambda: EvaluationKey.load(path))
                except FileError as error:
                    raise RunError(
                        f"the key of client {client!r} that is kept cannot be read; send its evaluation key again"
                    ) from error
                # Another key may have come meanwhile.
                if held.checksum == _checksum(path):
                    return held.server

    @property
    def bytes(self) -> int:
        """Memory of the keys that are in it, with what executions have transformed of them."""
        with self._changed:
            return self._bytes()

    def _path(self, client: str) -> Path:
        name = client.lower() if isinstance(client, str) and client.isascii() else ""
        if not NAME.fullmatch(name) or DEVICES.fullmatch(name):
            raise InputError(
                f"a client is called by up to 64 letters, digits, - and _, and not as a device of Windows, not {shown(client):.80}; choose such a name"
            )
        return self.folder / f"{name}.server.key"

    def _make(self, name: str, load: Callable[[], EvaluationKey], write: Callable[[], None] = lambda: None) -> _Held:
        """Loads, expands and keeps a client's key as the last used one, with `write` before others see it; waits while keys that are being expanded
        leave no memory for it."""
        held, wanted = None, self._plan.key_bytes
        with self._changed:
            self._changed.wait_for(lambda: not self._expanding or self._expanding + wanted <= self._most_bytes)
            self._expanding += wanted
            self._shrink(0)
        try:
            key = load()
            server = Server._of(self._plan, key, self._threads)
            write()
            held = _Held(server, key.data[-CHECKSUM:])
            return held
        finally:
            with self._changed:
                self._expanding -= wanted
                if held is not None:
                    self._keep(name, held)
                self._changed.notify_all()

    def _found(self, name: str, checksum: bytes) -> Server | None:
        """The server of a client that is in memory, if it has the key that is in its file."""
        with self._changed:
            held = self._servers.get(name)
            if held is None or held.checksum != checksum:
                return None
            self._keep(name, held)
            return held.server

    def _keep(self, name: str, held: _Held) -> None:
        """Keeps a server as the last used one; under the lock."""
        self._servers[name] = held
        self._servers.move_to_end(name)
        self._shrink(1)

    def _shrink(self, least: int) -> None:
        """Lets the servers go that were used longest ago, until the others fit, or so few are left; under the lock."""
        while len(self._servers) > least and self._bytes() + self._expanding > self._most_bytes:
            self._servers.popitem(last=False)

    def _bytes(self) -> int:
        return sum(held.server.key_bytes for held in self._servers.values())


def _checksum(path: Path) -> bytes | None:
    """The checksum in a key's file, which tells it from its replacement; `None` if there is no file."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - CHECKSUM))
            return file.read(CHECKSUM)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunError("a key that is kept cannot be read; ask again later") from error
