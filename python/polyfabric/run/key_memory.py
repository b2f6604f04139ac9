"""Expanded evaluation keys in memory, within a budget that is fair to their owners.

memory = KeyMemory(2 << 30)
with memory.reading(path):                        # one thread expands a key, others wait for it
    server = memory.found(path, checksum) or memory.make(path, wanted, expand).server
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Condition, Lock
from typing import TYPE_CHECKING, NamedTuple, Protocol
from weakref import WeakValueDictionary

from ..errors import InputError, shown
from .messages import Ciphertexts

if TYPE_CHECKING:
    from ..host.progress import Cancel, ProgressHook


class Executor(Protocol):
    """Executes a program with one key: a `pf.Server` here, or a `ClusterServer`."""

    @property
    def key_bytes(self) -> int:
        """Memory that the key takes."""

    def execute(
        self, request: Ciphertexts, *, progress: ProgressHook | None = None, cancel: Cancel | None = None
    ) -> Ciphertexts:
        """As of `pf.Server`."""

    @property
    def together(self) -> int:
        """As of `pf.Server`."""

    def outcomes(
        self, requests: Sequence[Ciphertexts], *, progress: ProgressHook | None = None, cancel: Cancel | None = None
    ) -> list[Ciphertexts | BaseException]:
        """As of `pf.Server`."""


class Held(NamedTuple):
    """A server in memory."""

    server: Executor
    checksum: bytes
    """Of its key's file."""
    owner: str = ""
    """The tenant whose key it is."""


class KeyMemory:
    """The keys of one store or of several in memory: at most `most_bytes`, but always one.

    Cached transforms of a key count from its next use. Keys are expanded concurrently as far as `most_bytes` permits; others wait. A key that
    nobody has used goes first, then the least recently used key of the owner with most bytes: so nobody evicts the keys of an owner with fewer.
    """

    def __init__(self, most_bytes: int) -> None:
        if not isinstance(most_bytes, int) or most_bytes < 0:
            raise InputError(f"most_bytes={shown(most_bytes)}; give the bytes of memory for keys, from 0")
        self.most_bytes = most_bytes
        self._held: OrderedDict[Path, Held] = OrderedDict()
        """By the key's file, the least recently used first."""
        self._unused: set[Path] = set()
        """Those that have been sent and not been used."""
        self._expanding = 0
        """Bytes of keys being expanded."""
        self._changed = Condition()
        """Guards the mutable state; notified when a key has been expanded."""
        self._reading: WeakValueDictionary[Path, Lock] = WeakValueDictionary()
        """Lock by key, so that concurrent requests expand it once."""

    def __len__(self) -> int:
        """Number of keys in memory."""
        return len(self._held)

    @property
    def bytes(self) -> int:
        """Memory of the loaded keys, including cached transforms."""
        with self._changed:
            return self._bytes()

    @contextmanager
    def reading(self, path: Path) -> Iterator[None]:
        """Within the block no other thread reads this key."""
        with self._changed:
            lock = self._reading.setdefault(path, Lock())
        with lock:
            yield

    def make(self, path: Path, wanted: int, make: Callable[[], Held], *, used: bool = True) -> Held:
        """Expands a key of `wanted` bytes and keeps it, not `used` if it has only been sent. Waits while keys being expanded leave too little
        memory."""
        held = None
        with self._changed:
            self._changed.wait_for(lambda: not self._expanding or self._expanding + wanted <= self.most_bytes)
            self._expanding += wanted
            self._shrink(0)
        try:
            held = make()
            return held
        finally:
            with self._changed:
                self._expanding -= wanted
                if held is not None:
                    self._keep(path, held, used=used)
                self._changed.notify_all()

    def found(self, path: Path, checksum: bytes) -> Executor | None:
        """The server in memory, if it has the key of the file."""
        with self._changed:
            held = self._held.get(path)
            if held is None or held.checksum != checksum:
                return None
            self._keep(path, held, used=True)
            return held.server

    def drop(self, path: Path) -> None:
        """Forgets a server."""
        with self._changed:
            self._held.pop(path, None)
            self._unused.discard(path)

    def _keep(self, path: Path, held: Held, *, used: bool) -> None:
        """Keeps a server as the most recently used. The caller has the lock."""
        self._held[path] = held
        self._held.move_to_end(path)
        if used:
            self._unused.discard(path)
        else:
            self._unused.add(path)
        self._shrink(1)

    def _shrink(self, least: int) -> None:
        """Evicts servers until the rest fits, but leaves `least`. The caller has the lock."""
        while len(self._held) > least and self._bytes() + self._expanding > self.most_bytes:
            taken: Counter[str] = Counter()
            for held in self._held.values():
                taken[held.owner] += held.server.key_bytes
            largest = max(taken.values())
            path = next(
                (path for path in self._held if path in self._unused),
                next(path for path, held in self._held.items() if taken[held.owner] == largest),
            )
            del self._held[path]
            self._unused.discard(path)

    def _bytes(self) -> int:
        return sum(held.server.key_bytes for held in self._held.values())
