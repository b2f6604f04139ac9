"""Worker processes that end with their caller."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType


class _Worker(SpawnProcess):
    """A process that does not import the main module, since it needs none: a script would start there again."""

    def start(self) -> None:
        """Starts it."""
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            super().start()
        finally:
            sys.modules["__main__"] = main


class _WorkerContext(SpawnContext):
    """Starts workers. A forked process would inherit locks of threads that do not exist in it."""

    Process = _Worker


@contextmanager
def spawned(count: int) -> Iterator[ProcessPoolExecutor]:
    """`count` new processes, which end at once if the block raises an exception, such as Ctrl-C."""
    before = set(multiprocessing.active_children())
    with ProcessPoolExecutor(count, mp_context=_WorkerContext()) as pool:
        try:
            yield pool
        except BaseException:
            # The pool waits for its processes, and they would finish their computation first.
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()
            raise
