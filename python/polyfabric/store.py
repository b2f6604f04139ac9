"""The evaluation keys of a server's clients: all of them in files, the last used ones in memory."""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from pathlib import Path
from threading import Lock, RLock
from typing import NamedTuple

from .errors import InputError, shown
from .files import made_folder, write_bytes
from .language.traced import TracedProgram
from .sides import EvaluationKey, Server, expect_traced

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What a client may be called: a file's name everywhere."""


class _Stamp(NamedTuple):
    """What tells a file from the one that takes its place."""

    inode: int
    modified_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> _Stamp:
        return cls(status.st_ino, status.st_mtime_ns)


class _Held(NamedTuple):
    """A server in memory, and the file that its key is in."""

    server: Server
    stamp: _Stamp


class KeyStore:
    """Servers of one program for many clients, of which no more are in memory than `most_bytes` of keys; the last one always is.

    What executions transform of a key counts too, when a server is next asked for. One key at a time is read and expanded, so that many who ask at once take
    no more memory; a server that computes while its place is taken stays until it has answered. Several processes may share the folder: each serves
    the key that was put last.
    """

    def __init__(
        self,
        program: TracedProgram,
        folder: str | Path,
        *,
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
        self._most_bytes = most_bytes
        self._threads = threads
        self._circuit_privacy = circuit_privacy
        self._public = public
        self._servers: OrderedDict[str, _Held] = OrderedDict()
        self._lock = Lock()
        self._writing = Lock()
        self._making = RLock()

    def _path(self, client: str) -> Path:
        if not isinstance(client, str) or not NAME.fullmatch(client):
            raise InputError(
                f"a client is called by up to 64 letters, digits, - and _, not {client!r}; choose such a name"
            )
        return self.folder / f"{client}.server.key"

    def _made(self, key: EvaluationKey) -> Server:
        with self._making:
            return Server(
                self.program, key, threads=self._threads, circuit_privacy=self._circuit_privacy, public=self._public
            )

    def put(self, client: str, key: EvaluationKey) -> None:
        """Keeps a client's key, in the place of an earlier one, once it is found to serve the program."""
        path = self._path(client)
        server = self._made(key)
        # In the order in which files are written.
        with self._writing:
            held = _Held(server, _Stamp.of(write_bytes(path, key.data)))
            with self._lock:
                self._keep(client, held)

    def server(self, client: str) -> Server:
        """The server of a client, whose key is read from its file if it is not in memory."""
        path = self._path(client)
        while True:
            found = self._found(client, path)
            if found is not None:
                return found
            with self._making:
                # Who waited for another one may find it made.
                found = self._found(client, path)
                if found is not None:
                    return found
                stamp = _stamp(path)
                if stamp is None:
                    raise InputError(f"there is no key of client {client!r}; send its evaluation key first")
                held = _Held(self._made(EvaluationKey.load(path)), stamp)
                # A key that came meanwhile is in the file's place.
                if stamp == _stamp(path):
                    with self._lock:
                        self._keep(client, held)
                    return held.server

    def _found(self, client: str, path: Path) -> Server | None:
        """The server of a client that is in memory, if it has the key that is in its file."""
        stamp = _stamp(path)
        with self._lock:
            held = self._servers.get(client)
            if held is None or held.stamp != stamp:
                return None
            self._keep(client, held)
            return held.server

    def _keep(self, client: str, held: _Held) -> None:
        """Keeps a server as the last used one, and no more of the others than may be; with the lock."""
        self._servers[client] = held
        self._servers.move_to_end(client)
        while len(self._servers) > 1 and self._bytes() > self._most_bytes:
            self._servers.popitem(last=False)

    def _bytes(self) -> int:
        return sum(held.server.key_bytes for held in self._servers.values())

    @property
    def bytes(self) -> int:
        """Memory of the keys that are in it, with what executions have transformed of them."""
        with self._lock:
            return self._bytes()


def _stamp(path: Path) -> _Stamp | None:
    try:
        return _Stamp.of(path.stat())
    except OSError:
        return None
