"""Progress of long work: a hook that the Rust links call, and bars on the error stream."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

SECONDS_A_LINE = 10.0
"""Between two lines of progress where there is no terminal, as in a log."""

ProgressHook: TypeAlias = Callable[[str, int, int], None]
"""Called as `hook(stage, done, total)`, now and then, from any thread."""


@contextmanager
def bars(*, enabled: bool = True) -> Iterator[ProgressHook]:
    """Bars on the error stream, one a stage; a line now and then when the stream is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not enabled:
        yield lambda _stage, _done, _total: None
        return
    if not console.is_terminal:
        yield lines(sys.stderr.write)
        return
    tasks: dict[str, TaskID] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as progress:

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, total=total)
            progress.update(tasks[stage], completed=done, total=total)

        yield tell


def lines(write: Callable[[str], object], clock: Callable[[], float] = time.monotonic) -> ProgressHook:
    """A hook that writes a line when work has taken `SECONDS_A_LINE`, and then as often; nothing for what is done before."""
    began = last = clock()

    def tell(stage: str, done: int, total: int) -> None:
        nonlocal last
        now = clock()
        if now - last >= SECONDS_A_LINE:
            last = now
            share = f"{100 * done // total} %" if total > 0 else "under way"
            write(f"{stage}: {share}, {now - began:.0f} s since the start\n")

    return tell


@contextmanager
def working(text: str) -> Iterator[None]:
    """A sign of life on the error stream for work that cannot say how far it is."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(text):
        yield
