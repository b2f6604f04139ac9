"""Progress of long work: a hook that the Rust links call, and bars on the error stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

ProgressHook: TypeAlias = Callable[[str, int, int], None]
"""Called as `hook(stage, done, total)`, now and then, from any thread."""


@contextmanager
def bars(*, enabled: bool = True) -> Iterator[ProgressHook]:
    """Bars on the error stream, one a stage; nothing when the stream is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not enabled or not console.is_terminal:
        yield lambda _stage, _done, _total: None
        return
    tasks: dict[str, TaskID] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as progress:

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, total=total)
            progress.update(tasks[stage], completed=done, total=total)

        yield tell


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
