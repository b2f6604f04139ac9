"""The evaluation keys of a server's clients: all in files, the most recently used ones also in memory."""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import Condition, Lock
from typing import NamedTuple
from weakref import WeakValueDictionary

from ..errors import FileError, InputError, RunError, shown
from ..host.files import made_folder, write_bytes
from ..language.traced import TracedProgram
from .client_server import Server, expect_traced
from .messages import EvaluationKey
from .specification import served

NAME = re.compile(r"[a-z0-9_-]{1,64}")
"""Valid client names, in lower case, because many file systems ignore case."""

DEVICES = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9]")
"""Device names that Windows reserves, with any extension."""

CHECKSUM = 32
"""Size of the checksum at the end of a key file."""


class _Held(NamedTuple):
    """A server in memory, and the checksum of its key's file."""

    server: Server
    checksum: bytes


class KeyStore:
    """Servers of one program for many clients. At most `most_bytes` of keys are in memory, but always the last one used.

    Cached transforms of a key count from the next request for a server. Keys are loaded and expanded concurrently as far as `most_bytes` permits;
    others wait. An evicted server that is computing finishes its answer. Several processes may share the folder; each serves the last key put.

    A client's name has up to 64 letters, digits, - and _, and ignores case. `parameters`, `circuit_privacy` and `public` are those of the clients'
    specification, as for `Server`. Keys that do not fit it raise `FileError` or `ParameterError`, a missing client raises `InputError`, and failures
    of the store itself, such as a full disk, raise `RunError`.
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
        """Bytes of keys being expanded."""
        self._changed = Condition()
        """Guards the mutable state; notified when a key has been expanded."""
        self._reading: WeakValueDictionary[str, Lock] = WeakValueDictionary()
        """Lock by client, so that concurrent requests load its key once."""

    def __repr__(self) -> str:
        return f"<store of keys for {self.program.name}, in {self.folder}>"

    def put(self, client: str, key: EvaluationKey) -> None:
        """Stores a client's key, replacing an earlier one, after checking that it suits the program."""
        path = self._path(client)

        def write() -> None:
            try:
                write_bytes(path, key.data)
            except FileError as error:
                raise RunError(f"the key of client {client!r} cannot be kept; send it again later") from error

        self._make(client.lower(), lambda: key, write)

    def server(self, client: str) -> Server:
        """The server of a client; loads its key if it is not in memory."""
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
                        f"the stored key of client {client!r} cannot be read; send its evaluation key again"
                    ) from error
                # Another key may have been stored meanwhile.
                if held.checksum == _checksum(path):
                    return held.server

    @property
    def bytes(self) -> int:
        """Memory of the loaded keys, including cached transforms."""
        with self._changed:
            return self._bytes()

    def _path(self, client: str) -> Path:
        name = client.lower() if isinstance(client, str) and client.isascii() else ""
        if not NAME.fullmatch(name) or DEVICES.fullmatch(name):
            raise InputError(
                f"{shown(client):.80} is not a client's name: it needs 1 to 64 letters, digits, - and _, and must not be a Windows device; choose another name"
            )
        return self.folder / f"{name}.server.key"

    def _make(self, name: str, load: Callable[[], EvaluationKey], write: Callable[[], None] = lambda: None) -> _Held:
        """Loads, expands and keeps a client's key as the most recently used; calls `write` before others see it. Waits while keys being expanded
        leave too little memory."""
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
        """The client's server in memory, if it has the key of the file."""
        with self._changed:
            held = self._servers.get(name)
            if held is None or held.checksum != checksum:
                return None
            self._keep(name, held)
            return held.server

    def _keep(self, name: str, held: _Held) -> None:
        """Keeps a server as the most recently used. The caller has the lock."""
        self._servers[name] = held
        self._servers.move_to_end(name)
        self._shrink(1)

    def _shrink(self, least: int) -> None:
        """Evicts the least recently used servers until the rest fits, but leaves `least`. The caller has the lock."""
        while len(self._servers) > least and self._bytes() + self._expanding > self._most_bytes:
            self._servers.popitem(last=False)

    def _bytes(self) -> int:
        return sum(held.server.key_bytes for held in self._servers.values())


def _checksum(path: Path) -> bytes | None:
    """The checksum in a key's file, which identifies its version; `None` without a file."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - CHECKSUM))
            return file.read(CHECKSUM)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunError("a stored key cannot be read; ask again later") from error
