"""Simulations of a paper's applications, two in parallel if memory allows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from threading import Event
from typing import Generic, TypeVar

from ..host.computer import give_memory_back
from ..host.progress import ProgressHook, watched

Made = TypeVar("Made")


class Memory(Enum):
    """The memory that a simulation leaves for others."""

    LITTLE = "any other goes beside it"
    LARGE = "its schedules take gigabytes: one such at a time"
    ALL = "nothing goes beside it"


@dataclass(frozen=True)
class Step(Generic[Made]):
    """Simulations in sequence."""

    words: str
    """The name of the simulation, for messages."""
    make: Callable[[], Made]
    memory: Memory = Memory.LITTLE


def side_by_side(steps: Sequence[Step[Made]], progress: ProgressHook | None) -> list[Made]:
    """The results of every step, in order. Two threads share the steps. This thread takes the large ones, and, after the other has ended, those that
    need all memory."""
    made: dict[int, Made] = {}
    stop = Event()

    def take(number: int) -> None:
        if progress is not None:
            progress(steps[number].words, len(made), len(steps))
        made[number] = steps[number].make()
        give_memory_back()

    little, large, alone = (
        deque(number for number, step in enumerate(steps) if step.memory is memory) for memory in Memory
    )

    def help_out() -> None:
        # The other thread stops early if the caller cancels.
        with watched(lambda *_: _go_on(stop)):
            try:
                while not stop.is_set() and (number := _next(little)) is not None:
                    take(number)
            except BaseException:
                stop.set()
                raise

    with ThreadPoolExecutor(1) as helper:
        helping = helper.submit(help_out)
        try:
            while not stop.is_set() and (number := _next(large, little)) is not None:
                take(number)
            helping.result()
        finally:
            stop.set()
    for number in alone:
        take(number)
    return [made[number] for number in range(len(steps))]


def _next(*queues: deque[int]) -> int | None:
    """The next step of the first queue that has one."""
    for queue in queues:
        # Another thread may take the last one meanwhile.
        with suppress(IndexError):
            return queue.popleft()
    return None


def _go_on(stop: Event) -> None:
    if stop.is_set():
        raise KeyboardInterrupt
