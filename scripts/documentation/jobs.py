"""Jobs beside one another, as far as this computer's memory allows."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

SIDE_BY_SIDE = 2
"""How many run at a time: most of them are one thread for most of their time."""


OTHERS = 2.0
"""GiB that are left to all else on this computer."""


@dataclass(frozen=True)
class Job:
    """What is to be done."""

    gibibytes: float
    """Memory that it takes at most."""
    do: Callable[[], int] = field(repr=False)
    """Returns 1 if something of it failed."""


def run(jobs: Sequence[Job]) -> int:
    """Runs them all, those that come first first; 1 if something of one failed."""
    memory = _Memory()

    def taken(job: Job) -> int:
        with memory.taken(job.gibibytes):
            return job.do()

    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        return max(threads.map(taken, jobs), default=0)


class _Memory:
    """What jobs side by side may take of this computer's memory; one alone may take whatever it wants."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30 - OTHERS
        self.running: list[float] = []

    @contextlib.contextmanager
    def taken(self, gibibytes: float) -> Iterator[None]:
        """As soon as there is so much beside what runs."""
        with self.changed:
            self.changed.wait_for(lambda: not self.running or sum(self.running) + gibibytes <= self.whole)
            self.running.append(gibibytes)
        try:
            yield
        finally:
            with self.changed:
                self.running.remove(gibibytes)
                self.changed.notify_all()
