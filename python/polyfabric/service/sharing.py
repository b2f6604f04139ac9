"""Requests of several threads in one ciphertext, for a program on slots whose ciphertexts take more inputs than a request has.

    sharing = Sharing(32_768, execute)                      # `execute` encrypts a whole batch, has it executed, and decrypts
    sharing.run({"x": [3, 9]}, 2)                           # in several threads: the results of these two inputs

While one execution is under way, further requests wait. Then one of their threads executes on the inputs of as many as fit. So a request never waits
for others to come, and all have one owner's key: different keys share no ciphertext.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from ..language.lane_shapes import results_of

Columns = Mapping[str, list[Any]]
"""Lists of inputs by name."""


@dataclass(eq=False)
class _Request:
    inputs: Columns
    count: int
    done: bool = False
    result: Any = None
    error: Exception | None = None


class Sharing:
    """See the module. `run` may be called from several threads."""

    def __init__(self, most: int, execute: Callable[[Columns], Any]) -> None:
        self._most, self._execute = most, execute
        self._waiting: deque[_Request] = deque()
        self._lock, self._turn = Lock(), Lock()
        """They guard the requests that wait, and the execution under way."""

    def run(self, inputs: Columns, count: int) -> Any:  # noqa: ANN401 - whatever the program's function returns
        """The results of `count` inputs, alone or with those of other threads. An error is one of all that share the ciphertext."""
        request = _Request(inputs, count)
        with self._lock:
            self._waiting.append(request)
        try:
            with self._turn:
                # Earlier requests may fill a ciphertext.
                while not request.done:
                    self._execute_some()
        finally:
            # Nobody waits for the request of an interrupted thread.
            with self._lock:
                if request in self._waiting:
                    self._waiting.remove(request)
        if request.error is not None:
            raise request.error
        return request.result

    def _execute_some(self) -> None:
        with self._lock:
            some = [self._waiting.popleft()]
            while self._waiting and sum(one.count for one in some) + self._waiting[0].count <= self._most:
                some.append(self._waiting.popleft())
        try:
            found = self._execute(
                {name: [item for one in some for item in one.inputs[name]] for name in some[0].inputs}
            )
            first = 0
            for one in some:
                one.result, first = results_of(found, first, first + one.count), first + one.count
        except Exception as error:
            for one in some:
                one.error = error
        except BaseException:
            # Only this thread is interrupted. The others execute what it leaves.
            with self._lock:
                self._waiting.extendleft(reversed(some))
            raise
        for one in some:
            one.done = True
