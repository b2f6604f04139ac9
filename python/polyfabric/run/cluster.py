"""Executions on the workers of a Dask cluster, for `polyfabric serve --workers` and `program.map(.., client=..)`.

    cluster = Cluster(distributed.Client("tcp://scheduler:8786"))
    server = cluster.server(cluster.program(planned), client.evaluation_key)
    server.execute(request)

A key is scattered as it was sent. Dask copies it to each worker that needs it, once; the worker expands it and keeps the last used ones, within a
budget. A worker gets the program and plans it itself, and checks that its plan has the same specification. Dask repeats the work of a worker that
is lost; a key that was lost with it is scattered again.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError as LostError
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from ..errors import CancelledError, Error, RunError
from ..host.computer import cores
from ..host.progress import expect_hook
from ..language.traced import TracedProgram
from ..schemes.plan import Plan
from .client_server import Server, answers
from .key_memory import Held, KeyMemory
from .messages import Ciphertexts, EvaluationKey
from .specification import Specification, served

if TYPE_CHECKING:
    from distributed import Client, Future, Worker

    from ..host.progress import Cancel, ProgressHook

KEY_MEMORY = 2 << 30
"""Bytes of expanded keys that each worker keeps, by default."""

ATTEMPTS = 5
"""How often work is sent that is lost with its key."""

PATIENCE = 180
"""Seconds to wait for a worker."""

PAUSE = 0.1
"""Seconds between two looks at a task's progress, and at whether its caller still wants it."""

MOST_PLANS = 64
"""Programs that a worker keeps planned."""


@dataclass(frozen=True)
class Recipe:
    """What a worker needs to make the plan of `served` for a program."""

    program: TracedProgram
    parameters: str
    circuit_privacy: float | None
    public: bool
    specification: bytes


class _Task(NamedTuple):
    """The data of a task, in addition to program, key and request."""

    name: str
    topic: str
    """Of the events that report progress; none are reported if it is empty."""
    place: str
    """Tells program and key from all others."""
    key_memory: int
    owner: str
    """Of the key, as `KeyMemory` has it."""


class Cluster:
    """The workers of a Dask cluster. Each keeps at most `key_memory` bytes of expanded keys, but always one."""

    def __init__(self, client: Client, *, key_memory: int = KEY_MEMORY) -> None:
        self._client, self._key_memory = client, key_memory
        self._topic = f"polyfabric-{uuid4().hex}"
        self._latest: dict[str, tuple[str, int, int] | None] = {}
        """The latest progress of each task that somebody watches."""
        client.subscribe_topic(self._topic, self._report)

    def close(self) -> None:
        """Listens to the workers' progress no longer."""
        self._client.unsubscribe_topic(self._topic)

    @property
    def slots(self) -> int:
        """Number of executions that the workers do at a time, now."""
        return sum(self._client.nthreads().values())

    def program(self, planned: Plan, *, circuit_privacy: float | None = None) -> Scattered:
        """A program for `server`, from a plan of `served` with this circuit privacy."""
        specification = Specification._of(planned).to_bytes()
        recipe = Recipe(planned.program, planned.parameters.name, circuit_privacy, planned.public, specification)
        return Scattered(self._client, pickle.dumps(recipe))

    def server(self, program: Scattered, key: EvaluationKey, owner: str = "") -> ClusterServer:
        """A server with a key of the owner, which a worker has found to serve the program."""
        made = ClusterServer(self, program, Scattered(self._client, key.data, owner))
        made.check()
        return made

    def result(
        self,
        work: Callable[..., Any],
        recipe: Scattered,
        key: Scattered,
        requests: Sequence[bytes] = (),
        progress: ProgressHook | None = None,
        cancel: Cancel | None = None,
    ) -> Any:  # noqa: ANN401 - what `work` returns
        """The result of `work(task, recipe, key, requests)` on a worker."""
        topic = "" if progress is None else self._topic
        for _ in range(ATTEMPTS):
            place = recipe.digest + key.digest
            task = _Task(f"polyfabric-{uuid4().hex}", topic, place, self._key_memory, key.owner)
            future = self._sent(work, task, recipe, key, requests, cancel)
            self._wait(future, progress, cancel)
            with _faults():
                return future.result()
            recipe.forget()
            key.forget()
        raise RunError(f"the Dask cluster's workers were lost {ATTEMPTS} times; see their logs, and send it again")

    def _sent(
        self,
        work: Callable[..., Any],
        task: _Task,
        recipe: Scattered,
        key: Scattered,
        requests: Sequence[bytes],
        cancel: Cancel | None,
    ) -> Future:
        """A task. Waits for a worker."""
        end = time.monotonic() + PATIENCE
        while True:
            _expect_wanted(cancel)
            try:
                data = recipe.future(), key.future()
                return self._client.submit(work, task, *data, requests, key=task.name, pure=False)
            # Among them are lookup errors of the scheduler, if a worker is lost while it gets data.
            except Exception as error:
                if time.monotonic() > end:
                    raise RunError(
                        f"the Dask cluster has taken no work for {PATIENCE} s ({type(error).__name__}: {error}); start a worker, `dask worker "
                        "SCHEDULER`"
                    ) from error
            time.sleep(PAUSE)

    def _wait(self, future: Future, progress: ProgressHook | None, cancel: Cancel | None) -> None:
        """Waits for a task. Reports its progress, and cancels it if `cancel` is set or `progress` raises an exception."""
        done, reported = Event(), None
        future.add_done_callback(lambda _: done.set())
        with self._watched(future.key if progress is not None else None):
            try:
                while not done.wait(PAUSE):
                    _expect_wanted(cancel)
                    latest = self._latest.get(future.key)
                    if progress is not None and latest not in (None, reported):
                        reported = latest
                        progress(*latest)
            except BaseException:
                future.cancel()
                raise

    @contextmanager
    def _watched(self, task: str | None) -> Iterator[None]:
        if task is None:
            yield
            return
        self._latest[task] = None
        try:
            yield
        finally:
            del self._latest[task]

    def _report(self, event: tuple[Any, Any]) -> None:
        """Keeps the progress that a worker reports."""
        task, *latest = event[1]
        if task in self._latest:
            self._latest[task] = tuple(latest)


def _expect_wanted(cancel: Cancel | None) -> None:
    if cancel is not None and cancel.is_set():
        raise CancelledError("the execution was cancelled by the caller; start it again for its result")


@contextmanager
def _faults() -> Iterator[None]:
    """Turns a worker's exceptions into errors. Passes over those of lost data and connections, after which work is sent again."""
    try:
        yield
    except Error:
        raise
    except (LostError, OSError):
        pass
    except Exception as error:
        raise RunError(
            f"no worker of the Dask cluster could do this ({type(error).__name__}: {error}); see the workers' logs"
        ) from error


class Scattered:
    """Bytes on the cluster: with one worker at first, then with each that has needed them, as long as this object exists."""

    def __init__(self, client: Client, data: bytes, owner: str = "") -> None:
        self._client, self.data, self.owner = client, data, owner
        self.digest = sha256(data).hexdigest()
        self._future: Future | None = None
        self._lock = Lock()

    def future(self) -> Future:
        """The data as an argument of a task. Scatters them if no worker has them."""
        with self._lock:
            if self._future is None or self._future.status in ("cancelled", "lost"):
                self._future = self._client.scatter(self.data, hash=False)
            return self._future

    def forget(self) -> None:
        """Says that the data may be lost, so that they are scattered again."""
        with self._lock:
            self._future = None


class ClusterServer:
    """Executes a program for one client on the workers of a cluster, like `pf.Server`."""

    def __init__(self, cluster: Cluster, recipe: Scattered, key: Scattered) -> None:
        self._cluster, self._recipe, self._key = cluster, recipe, key
        self.together = 1
        """Number of requests that a worker takes at a time."""

    @property
    def key_bytes(self) -> int:
        """Bytes of the key as it was sent, here and with each worker."""
        return len(self._key.data)

    def check(self) -> None:
        """Fails unless the key serves the program. Learns how many requests a worker takes at a time."""
        self.together = self._cluster.result(_checked, self._recipe, self._key)

    def execute(
        self, request: Ciphertexts, *, progress: ProgressHook | None = None, cancel: Cancel | None = None
    ) -> Ciphertexts:
        """As `pf.Server.execute`."""
        (answer,) = self.execute_batch([request], progress=progress, cancel=cancel)
        return answer

    def execute_batch(
        self, requests: Sequence[Ciphertexts], *, progress: ProgressHook | None = None, cancel: Cancel | None = None
    ) -> list[Ciphertexts]:
        """As `pf.Server.execute_batch`, on one worker."""
        return answers(self.outcomes(requests, progress=progress, cancel=cancel))

    def outcomes(
        self, requests: Sequence[Ciphertexts], *, progress: ProgressHook | None = None, cancel: Cancel | None = None
    ) -> list[Ciphertexts | BaseException]:
        """As `pf.Server.outcomes`, on one worker."""
        expect_hook(progress)
        bodies = [request.to_bytes() for request in requests]
        found = self._cluster.result(_executed, self._recipe, self._key, bodies, progress, cancel)
        return [one if isinstance(one, BaseException) else Ciphertexts.from_bytes(one) for one in found]


# -- on a worker ------------------------------------------------------------------------------------------------------

_MEMORY = KeyMemory(KEY_MEMORY)
"""A worker's expanded keys, of all programs and callers."""


def _checked(task: _Task, recipe: bytes, key: bytes, _: Sequence[bytes]) -> int:
    """Expands a key for a program; gives the number of requests to send at a time."""
    return _server(task, recipe, key).together


def _executed(task: _Task, recipe: bytes, key: bytes, requests: Sequence[bytes]) -> list[bytes | BaseException]:
    """Executes a program on the inputs of several requests: the answer to each, or its error."""
    from distributed import get_worker

    server, inputs = _server(task, recipe, key), [Ciphertexts.from_bytes(request) for request in requests]
    found = server.outcomes(inputs, progress=_Watch(get_worker(), task))
    return [one if isinstance(one, BaseException) else one.to_bytes() for one in found]


class _Watch:
    """The progress hook of a task."""

    def __init__(self, worker: Worker, task: _Task) -> None:
        self._worker, self._task, self._last = worker, task, 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Reports progress now and then. Ends the execution if nobody waits for it any more."""
        own = self._worker.state.tasks.get(self._task.name)
        if own is None or own.state == "cancelled":
            raise CancelledError("nobody waits for this execution any more; start it again for its result")
        now = time.monotonic()
        if self._task.topic and now - self._last >= PAUSE:
            self._last = now
            self._worker.log_event(self._task.topic, [self._task.name, stage, done, total])


def _server(task: _Task, recipe: bytes, key: bytes) -> Server:
    """The server of a recipe with a key, from memory if it is there."""
    from distributed import get_worker

    planned, place = _planned(recipe), Path(task.place)
    threads = max(1, cores() // get_worker().state.nthreads)
    _MEMORY.most_bytes = task.key_memory
    with _MEMORY.reading(place):
        found = _MEMORY.found(place, b"")
        if found is None:

            def make() -> Held:
                return Held(Server._of(planned, EvaluationKey(key), threads), b"", task.owner)

            found = _MEMORY.make(place, planned.key_bytes, make).server
    assert isinstance(found, Server)
    return found


@lru_cache(maxsize=MOST_PLANS)
def _planned(recipe: bytes) -> Plan:
    """The plan of a recipe."""
    own: Recipe = pickle.loads(recipe)
    planned = served(own.program, own.parameters, circuit_privacy=own.circuit_privacy, public=own.public)
    if Specification._of(planned).to_bytes() != own.specification:
        raise RunError(
            f"{own.program.name}: a worker plans this program in another way; install the same version of polyfabric on all computers"
        )
    return planned
