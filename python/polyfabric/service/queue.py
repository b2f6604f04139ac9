"""A bounded queue of work, fair among tenants.

    queue = Queue(parallel=2, most_bytes=1 << 30, most_of_tenant=16)
    with queue.place("acme", 5_000):                            # refused at once if the queue is full
        answer = await queue.do(Job("acme", ("larger", "ada"), load_the_server, execute, inputs))

A request takes its place before its body is read, for as many bytes as the body may have, so the places bound the memory of bodies. Workers serve the tenants in turn. A turn is the
tenant's oldest job and a worker's share of those of the same group behind it, up to `BATCH`: they share what `prepare` returns, such as an expanded key,
and `finish` may execute them together.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event
from typing import Any

BATCH = 8
"""Largest number of jobs in one turn."""

LONGEST_PAUSE = 10
"""Largest number of seconds after which a refused tenant is asked to come again."""


class BusyError(Exception):
    """The queue is full, or the tenant sends too fast; after `seconds` another attempt may succeed."""

    def __init__(self, reason: str, seconds: float) -> None:
        super().__init__(reason)
        self.reason = reason
        self.seconds = min(max(1, math.ceil(seconds)), LONGEST_PAUSE)


@dataclass(eq=False)
class Job:
    """Work of a tenant, in another thread."""

    tenant: str
    group: Hashable
    """Jobs of one group share `prepare`; `None` shares with no other."""
    prepare: Callable[[], Any]
    finish: Callable[[Any, Sequence[Job]], Iterable[tuple[Job, Any]]]
    """Given what `prepare` returned and the jobs of a turn: each job with its result, or its exception, as soon as it is there. May leave out
    cancelled jobs."""
    work: Any = None
    """What `finish` needs to know of this job."""
    cancelled: Event = field(default_factory=Event)
    done: asyncio.Future[Any] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Queue:
    """See the module."""

    def __init__(self, *, parallel: int, most_bytes: int, most_of_tenant: int) -> None:
        self.parallel = parallel
        self._most_bytes, self._most_of_tenant = most_bytes, most_of_tenant
        self._bytes = 0
        """Of the bodies of all admitted requests."""
        self._places: Counter[str] = Counter()
        """Requests by tenant that have been admitted and not been answered."""
        self._waiting: OrderedDict[str, deque[Job]] = OrderedDict()
        """The tenants with waiting jobs, in the order of their turns."""
        self._arrived = asyncio.Event()
        self._typical = 0.1
        """Moving average of the seconds of a job."""
        self.running = 0
        """Jobs in execution."""

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    @contextmanager
    def place(self, tenant: str, size: int = 0) -> Iterator[None]:
        """A place from the request's admission to its answer, with so many bytes of memory. A tenant's only request is always admitted, so that no
        tenant shuts others out."""
        taken, full = self._places[tenant], self._bytes + size > self._most_bytes
        if taken >= self._most_of_tenant or (taken and full):
            raise BusyError("queue", (len(self) + 1) * self._typical / self.parallel)
        self._places[tenant] += 1
        self._bytes += size
        try:
            yield
        finally:
            self._bytes -= size
            self._places[tenant] -= 1
            if not self._places[tenant]:
                del self._places[tenant]

    async def do(self, job: Job) -> Any:  # noqa: ANN401 - what the job returns
        """The result of a job. If the waiting task is cancelled, the job is too."""
        self._waiting.setdefault(job.tenant, deque()).append(job)
        self._arrived.set()
        try:
            return await job.done
        finally:
            job.cancelled.set()
            self._withdraw(job)

    async def work(self) -> None:
        """Executes jobs until cancelled."""
        with ThreadPoolExecutor(self.parallel, "polyfabric-execution") as pool:
            await asyncio.gather(*(self._work(pool) for _ in range(self.parallel)))

    async def _work(self, pool: ThreadPoolExecutor) -> None:
        loop = asyncio.get_running_loop()
        while True:
            while not self._waiting:
                self._arrived.clear()
                await self._arrived.wait()
            batch = self._turn()
            self.running += len(batch)
            try:
                seconds = await loop.run_in_executor(pool, _execute, batch, loop)
            finally:
                self.running -= len(batch)
                # A shutdown cancels this task before its jobs have ended.
                for job in batch:
                    job.cancelled.set()
            self._typical += (seconds / len(batch) - self._typical) / 8

    def _turn(self) -> list[Job]:
        """Takes the jobs of the next turn."""
        tenant, jobs = next(iter(self._waiting.items()))
        first = jobs[0]
        same = [job for job in jobs if job is first or (first.group is not None and job.group == first.group)]
        # Other workers take their share of the group.
        same = same[: min(BATCH, math.ceil(len(same) / self.parallel))]
        for job in same:
            self._withdraw(job)
        if tenant in self._waiting:
            self._waiting.move_to_end(tenant)
        return same

    def _withdraw(self, job: Job) -> None:
        """Removes a job that may be waiting."""
        jobs = self._waiting.get(job.tenant, deque())
        with suppress(ValueError):
            jobs.remove(job)
            if not jobs:
                del self._waiting[job.tenant]


def _execute(batch: list[Job], loop: asyncio.AbstractEventLoop) -> float:
    """Executes the jobs of a turn, in a worker's thread. Returns the seconds."""
    begin = time.perf_counter()

    def settle(job: Job, outcome: Any) -> None:  # noqa: ANN401 - what the job returns
        with suppress(RuntimeError):
            # The loop has been closed if the server stops.
            loop.call_soon_threadsafe(_settle, job, outcome)

    wanted = [job for job in batch if not job.cancelled.is_set()]
    # Whatever happens, this thread goes on, and the waiting requests report it.
    try:
        if wanted:
            for job, outcome in wanted[0].finish(wanted[0].prepare(), wanted):
                settle(job, outcome)
    except BaseException as error:
        for job in wanted:
            settle(job, error)
    return time.perf_counter() - begin


def _settle(job: Job, outcome: Any) -> None:  # noqa: ANN401 - what the job returns
    if job.done.done():
        return
    if isinstance(outcome, BaseException):
        job.done.set_exception(outcome)
    else:
        job.done.set_result(outcome)
