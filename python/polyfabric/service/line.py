"""The order in which one process sends its requests to a server that admits a few at a time.

    number = line.number()
    with line.turn(number, deadline):
        answer = send()
        line.refused(pause) if answer.status == 429 else line.admitted()

A refused request keeps its number, and the lowest number goes first: so no thread is overtaken for long. The line learns how many requests the
server admits: as many as were under way when it refused one. Now and then it tries one more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from math import inf
from threading import Condition

TRIALS = 10
"""How often all requests under way are answered before one more is tried."""


class Line:
    """See the module. Its methods may be called from several threads."""

    def __init__(self) -> None:
        self._numbers = count()
        self._waiting: set[int] = set()
        self._under_way = 0
        self._most = inf
        """Requests under way at a time."""
        self._answered = 0
        """Since `_most` changed."""
        self._opens = 0.0
        """The time before which no request is sent."""
        self._changed = Condition()

    def number(self) -> int:
        """A place in the line."""
        return next(self._numbers)

    @contextmanager
    def turn(self, number: int, deadline: float) -> Iterator[None]:
        """Waits until the request may be sent, and counts it as under way within the block. Raises `TimeoutError` at the deadline."""
        with self._changed:
            self._waiting.add(number)
            try:
                while (left := self._left(number)) > 0:
                    until = min(left, deadline - time.monotonic())
                    if until <= 0:
                        raise TimeoutError
                    self._changed.wait(None if until == inf else until)
                self._under_way += 1
            finally:
                self._waiting.discard(number)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def refused(self, pause: float) -> None:
        """The server refused the request under way, and the next may follow after `pause` seconds."""
        with self._changed:
            self._most, self._answered = max(1, self._under_way - 1), 0
            self._opens = max(self._opens, time.monotonic() + pause)

    def admitted(self) -> None:
        """The server took the request under way."""
        with self._changed:
            self._answered += 1
            if self._waiting and self._answered >= TRIALS * self._most:
                self._most, self._answered = self._most + 1, 0

    def _left(self, number: int) -> float:
        """Seconds after which a request may be sent, infinite until something changes. The caller has the lock."""
        if self._under_way >= self._most or number != min(self._waiting):
            return inf
        return self._opens - time.monotonic()
