"""Progress of long work: hooks for the native module, and bars on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Protocol, TypeAlias

from .._native import watch
from ..errors import InputError, shown

SECONDS_A_LINE = 10.0
"""Interval of progress lines without a terminal, such as in a log."""

ProgressHook: TypeAlias = Callable[[str, int, int], None]
"""Called occasionally as `hook(stage, done, total)`, from any thread."""


class Cancel(Protocol):
    """Such as a `threading.Event`: ends work once it is set."""

    def is_set(self) -> bool:
        """Whether to end."""


def expect_hook(hook: ProgressHook | None) -> None:
    """Rejects an invalid hook."""
    if hook is not None and not callable(hook):
        raise InputError(f"progress={shown(hook)} is not callable; give a function of stage, done and total")
    if hook is not None:
        try:
            signature(hook).bind("", 0, 0)
        except TypeError:
            raise InputError(
                f"progress={shown(hook)} does not take three arguments; give a function of stage, done and total"
            ) from None
        except ValueError:
            # A built-in function may not show its parameters.
            pass


@contextmanager
def watched(hook: ProgressHook | None) -> Iterator[None]:
    """Reports the progress of this thread's planning, compilation and simulation to `hook` within the block. An exception of the hook cancels
    them.

    Without a hook, an outer one stays active.
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
    """Progress bars on standard error, one per stage; occasional lines if it is not a terminal."""
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
    """A hook that writes a line every `SECONDS_A_LINE`; nothing for shorter work."""
    began = last = clock()

    def tell(stage: str, done: int, total: int) -> None:
        nonlocal last
        now = clock()
        if now - last >= SECONDS_A_LINE:
            last = now
            write(f"{stage}: {share(done, total)}, {now - began:.0f} s since the start\n")

    return tell


def share(done: int, total: int) -> str:
    """Progress as text."""
    return f"{100 * done // total} %" if total > 0 else f"{done:,} steps" if done else "under way"


@contextmanager
def working(text: str) -> Iterator[None]:
    """Shows a status with the current stage and progress: on a terminal, otherwise as occasional lines."""
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
