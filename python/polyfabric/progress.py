"""Progress of long work: a hook that the Rust links call, and bars on the error stream."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from ._native import watch
from .errors import InputError, shown

SECONDS_A_LINE = 10.0
"""Between two lines of progress where there is no terminal, as in a log."""

ProgressHook: TypeAlias = Callable[[str, int, int], None]
"""Called as `hook(stage, done, total)`, now and then, from any thread."""


def expect_hook(hook: ProgressHook | None) -> None:
    """Refuses what cannot be told how far an operation is."""
    if hook is not None and not callable(hook):
        raise InputError(
            f"progress={shown(hook)} is nothing to be called; give a function of a stage, what is done and the total"
        )


@contextmanager
def watched(hook: ProgressHook | None) -> Iterator[None]:
    """Tells `hook` how far operations of this thread are meanwhile: planning, compilation, simulation. What it raises ends them.

    Without a hook, whoever is told already is told on.
    """
    expect_hook(hook)
    if hook is None:
        yield
        return
    before = watch(hook)
    try:
        yield
    finally:
        watch(before)


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
        tell = lines(sys.stderr.write)
        with watched(tell):
            yield tell
        return
    tasks: dict[str, TaskID] = {}
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.percentage:3.0f} %"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as progress:

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, total=total or None)
            progress.update(tasks[stage], completed=done, total=total or None)

        with watched(tell):
            yield tell


def lines(write: Callable[[str], object], clock: Callable[[], float] = time.monotonic) -> ProgressHook:
    """A hook that writes a line when work has taken `SECONDS_A_LINE`, and then as often; nothing for what is done before."""
    began = last = clock()

    def tell(stage: str, done: int, total: int) -> None:
        nonlocal last
        now = clock()
        if now - last >= SECONDS_A_LINE:
            last = now
            write(f"{stage}: {share(done, total)}, {now - began:.0f} s since the start\n")

    return tell


def share(done: int, total: int) -> str:
    """How much that is, as words."""
    return f"{100 * done // total} %" if total > 0 else f"{done:,} steps" if done else "under way"


@contextmanager
def working(text: str) -> Iterator[None]:
    """What is being done, and its stage and how far that is where it says so: on a terminal, and a line now and then without one."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True)
    if not console.is_terminal:
        with watched(lines(sys.stderr.write)):
            yield
        return
    with console.status(Text(text)) as status:
        tell = lambda stage, done, total: status.update(Text(f"{text}: {stage}, {share(done, total)}"))  # noqa: E731
        with watched(tell):
            yield
