"""Parallel jobs within this computer's memory."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

SIDE_BY_SIDE = 2
"""Most jobs at a time: most of them use one thread most of the time."""


OTHERS = 2.0
"""GiB that are left for other programs."""


@dataclass(frozen=True)
class Job:
    """A unit of work."""

    gibibytes: float
    """Its peak memory."""
    do: Callable[[], int] = field(repr=False)
    """Returns 1 on failure."""


def run(jobs: Sequence[Job]) -> int:
    """Run all jobs, in order of their start; return 1 if one fails."""
    memory = _Memory()

    def taken(job: Job) -> int:
        with memory.taken(job.gibibytes):
            return job.do()

    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        return max(threads.map(taken, jobs), default=0)


class _Memory:
    """The memory that parallel jobs may use; a single job may use any amount."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30 - OTHERS
        self.running: list[float] = []

    @contextlib.contextmanager
    def taken(self, gibibytes: float) -> Iterator[None]:
        """Wait until this much memory is free."""
        with self.changed:
            self.changed.wait_for(lambda: not self.running or sum(self.running) + gibibytes <= self.whole)
            self.running.append(gibibytes)
        try:
            yield
        finally:
            with self.changed:
                self.running.remove(gibibytes)
                self.changed.notify_all()
