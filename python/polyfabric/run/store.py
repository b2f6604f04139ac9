"""The evaluation keys of a server's clients: all in files, the most recently used ones also in memory."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

from ..errors import FileError, InputError, RunError, shown
from ..host.files import made_folder, path_of, put_in_place, read_bytes, write_bytes
from ..language.traced import TracedProgram
from .client_server import Server, expect_traced
from .cluster import Cluster, Scattered
from .key_memory import Executor, Held, KeyMemory
from .messages import EvaluationKey
from .specification import Specification, served

NAME = re.compile(r"[a-z0-9_-]{1,64}(@[a-z0-9_-]{1,64})?")
"""Valid client names, in lower case, because many file systems ignore case."""

DEVICES = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9]")
"""Device names that Windows reserves, with any extension."""

ENDING = ".server.key"

CHECKSUM = 32
"""Size of the checksum at the end of a key file."""

FRAMING = 4096
"""Largest number of bytes that a file, or one entry of a request, has beyond its ciphertexts or keys."""


class KeyStore:
    """Servers of one program for many clients. `most_bytes` limits the keys in memory, or is the `KeyMemory` that several stores share. With a
    `Cluster`, its workers have the keys and execute, and the memory holds keys as they were sent.

    An evicted server that is computing finishes its answer. Several processes may share the folder; each serves the last key put.

    A client's name has up to 64 letters, digits, - and _, and ignores case; `ada@acme` is a client of an organisation. `parameters`,
    `circuit_privacy` and `public` are those of the clients' specification, as for `Server`. Keys that do not fit it raise `FileError` or
    `ParameterError`, a missing client raises `InputError`, and failures of the store itself, such as a full disk, raise `RunError`.
    """

    def __init__(
        self,
        program: TracedProgram,
        folder: str | Path,
        *,
        parameters: str | None = None,
        most_bytes: int | KeyMemory = 2 << 30,
        threads: int | None = None,
        circuit_privacy: float | None = None,
        public: bool = False,
        cluster: Cluster | None = None,
    ) -> None:
        expect_traced(program)
        self._memory = most_bytes if isinstance(most_bytes, KeyMemory) else KeyMemory(most_bytes)
        self.program = program
        self.folder = made_folder(folder)
        self._plan = served(program, parameters, circuit_privacy=circuit_privacy, public=public)
        self._threads = threads
        self._cluster, self._circuit_privacy = cluster, circuit_privacy

    def __repr__(self) -> str:
        return f"<store of keys for {self.program.name}, in {self.folder}>"

    @cached_property
    def specification(self) -> Specification:
        """What the program's clients need."""
        return Specification._of(self._plan)

    @property
    def most_key_bytes(self) -> int:
        """No file of a client's evaluation key is larger."""
        return self._plan.context.key_bytes + FRAMING

    @cached_property
    def most_request_bytes(self) -> int:
        """No request of a client is larger."""
        names = self._plan.context.names(outputs=False)
        return int(self._plan.facts_of_cost()["input_bytes"]) + FRAMING * len(names)

    def put(self, client: str, key: EvaluationKey | Path) -> None:
        """Stores a client's key, replacing an earlier one, after checking that it suits the program. A file with the key, which must be on the
        folder's file system, is moved into the folder."""
        path = self._path(client)

        if isinstance(key, EvaluationKey):
            loaded = key
        else:
            file = path_of(key)
            with _own_faults(client):
                data = read_bytes(file)
            loaded = EvaluationKey(data)

        def write() -> None:
            with _own_faults(client):
                if isinstance(key, EvaluationKey):
                    write_bytes(path, loaded.data)
                else:
                    put_in_place(file, path)

        self._make(path, lambda: loaded, write)

    def server(self, client: str) -> Executor:
        """The server of a client; loads its key if it is not in memory."""
        path = self._path(client)
        with self._memory.reading(path):
            while True:
                checksum = _checksum(path)
                if checksum is None:
                    raise InputError(f"there is no key of client {client!r}; send its evaluation key first")
                found = self._memory.found(path, checksum)
                if found is not None:
                    return found
                try:
                    held = self._make(path, lambda: EvaluationKey.load(path))
                except FileError as error:
                    raise RunError(
                        f"the stored key of client {client!r} cannot be read; send its evaluation key again"
                    ) from error
                # Another key may have been stored meanwhile.
                if held.checksum == _checksum(path):
                    return held.server

    def remove(self, client: str) -> None:
        """Removes a client's key, if there is one."""
        path = self._path(client)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise RunError(f"the key of client {client!r} cannot be removed; try again later") from error
        self._memory.drop(path)

    def checksum(self, client: str) -> bytes | None:
        """The checksum that ends the file of a client's key, and so tells keys apart; `None` without a key."""
        return _checksum(self._path(client))

    def sizes(self) -> dict[str, int]:
        """Bytes of the stored keys by client."""
        found: dict[str, int] = {}
        try:
            for path in self.folder.iterdir():
                if path.name.endswith(ENDING) and path.name[0] != ".":
                    # A file may be removed meanwhile.
                    with suppress(FileNotFoundError):
                        found[path.name.removesuffix(ENDING)] = path.stat().st_size
        except OSError as error:
            raise RunError("the stored keys cannot be listed; ask again later") from error
        return found

    @property
    def bytes(self) -> int:
        """Memory of the loaded keys, including cached transforms."""
        return self._memory.bytes

    def _path(self, client: str) -> Path:
        name = client.lower() if isinstance(client, str) and client.isascii() else ""
        if not NAME.fullmatch(name) or DEVICES.fullmatch(name):
            raise InputError(
                f"{shown(client):.80} is not a client's name: it needs 1 to 64 letters, digits, - and _, and must not be a Windows device; choose another name"
            )
        return self.folder / f"{name}{ENDING}"

    def _make(self, path: Path, load: Callable[[], EvaluationKey], write: Callable[[], None] | None = None) -> Held:
        """Loads, expands and keeps a client's key; calls `write` for a new one, before others see it."""

        def make() -> Held:
            key, owner = load(), path.name.removesuffix(ENDING).partition("@")[2]
            server = self._served(key, owner)
            if write is not None:
                write()
            return Held(server, key.data[-CHECKSUM:], owner)

        wanted = self._plan.key_bytes if self._cluster is None else self.most_key_bytes
        return self._memory.make(path, wanted, make, used=write is None)

    def _served(self, key: EvaluationKey, owner: str) -> Executor:
        """A server with a key of the owner, which is found to serve the program."""
        if self._cluster is None:
            return Server._of(self._plan, key, self._threads)
        return self._cluster.server(self._on_cluster, key, owner)

    @cached_property
    def _on_cluster(self) -> Scattered:
        """The program for the cluster's workers."""
        assert self._cluster is not None
        return self._cluster.program(self._plan, circuit_privacy=self._circuit_privacy)


@contextmanager
def _own_faults(client: str) -> Iterator[None]:
    """Turns errors of the store's files, which name paths, into those of a store."""
    try:
        yield
    except FileError as error:
        raise RunError(f"the key of client {client!r} cannot be kept; send it again later") from error


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
