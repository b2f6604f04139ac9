"""The evaluation keys of a server's clients: all of them in files, the last used ones in memory."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from pathlib import Path
from threading import Lock

from .errors import InputError, shown
from .files import made_folder
from .language.traced import TracedProgram
from .sides import EvaluationKey, Server, expect_traced

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What a client may be called: a file's name everywhere."""


class KeyStore:
    """Servers of one program for many clients, of which no more are in memory than `most_bytes` of keys; the last one always is."""

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
        self._servers: OrderedDict[str, Server] = OrderedDict()
        self._puts: Counter[str] = Counter()
        self._lock = Lock()
        self._writing = Lock()

    def _path(self, client: str) -> Path:
        if not isinstance(client, str) or not NAME.fullmatch(client):
            raise InputError(
                f"a client is called by up to 64 letters, digits, - and _, not {client!r}; choose such a name"
            )
        return self.folder / f"{client}.server.key"

    def _made(self, key: EvaluationKey) -> Server:
        return Server(
            self.program, key, threads=self._threads, circuit_privacy=self._circuit_privacy, public=self._public
        )

    def put(self, client: str, key: EvaluationKey) -> None:
        """Keeps a client's key, in the place of an earlier one, once it is found to serve the program."""
        path = self._path(client)
        server = self._made(key)
        # In the order in which files are written.
        with self._writing:
            key.save(path)
            with self._lock:
                self._puts[client] += 1
                self._keep(client, server)

    def server(self, client: str) -> Server:
        """The server of a client, whose key is read from its file if it is not in memory."""
        path = self._path(client)
        while True:
            with self._lock:
                if client in self._servers:
                    self._servers.move_to_end(client)
                    return self._servers[client]
                puts = self._puts[client]
            if not path.exists():
                raise InputError(f"there is no key of client {client!r}; send its evaluation key first")
            server = self._made(EvaluationKey.load(path))
            with self._lock:
                # A key that came meanwhile is in the file's place.
                if puts == self._puts[client]:
                    self._keep(client, server)
                    return server

    def _keep(self, client: str, server: Server) -> None:
        self._servers[client] = server
        self._servers.move_to_end(client)
        while len(self._servers) > 1 and self.bytes > self._most_bytes:
            self._servers.popitem(last=False)

    @property
    def bytes(self) -> int:
        """Memory of the keys that are in it."""
        return sum(server.key_bytes for server in self._servers.values())
