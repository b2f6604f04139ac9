"""Two threads share simulations within the memory, and rows keep their order."""

from __future__ import annotations

import threading
import time

import pytest
from polyfabric.papers.side_by_side import Memory, Step, side_by_side


def test_what_is_made_stands_in_the_order_of_the_steps_and_is_told():
    reports = []
    steps = [
        Step(f"step {number}", lambda number=number: time.sleep(0.002 * (number % 3)) or number) for number in range(12)
    ]
    assert side_by_side(steps, lambda *step: reports.append(step)) == list(range(12))
    assert {words for words, _, _ in reports} == {step.words for step in steps}
    assert all(done < total == 12 for _, done, total in reports)
    assert side_by_side([], None) == []


def test_large_ones_go_one_at_a_time_and_one_that_takes_all_memory_alone():
    at_work, beside, threads = [], {}, {}
    lock = threading.Lock()

    def step(number: int, memory: Memory) -> Step[None]:
        def make() -> None:
            with lock:
                at_work.append(memory)
                threads.setdefault(memory, set()).add(threading.get_ident())
            time.sleep(0.005)
            with lock:
                beside[number] = list(at_work)
                at_work.remove(memory)

        return Step(str(number), make, memory)

    kinds = [Memory.ALL, *[Memory.LITTLE, Memory.LARGE] * 6]
    side_by_side([step(number, memory) for number, memory in enumerate(kinds)], None)
    assert beside[0] == [Memory.ALL]
    assert max(found.count(Memory.LARGE) for found in beside.values()) == 1
    assert max(len(found) for found in beside.values()) == 2
    assert threads[Memory.LARGE] == threads[Memory.ALL] == {threading.get_ident()}


@pytest.mark.parametrize("memory", [Memory.LITTLE, Memory.LARGE])
def test_a_failure_ends_both_threads(memory):
    called = []

    def make() -> None:
        called.append(None)
        if len(called) == 2:
            raise KeyboardInterrupt
        time.sleep(0.02)

    with pytest.raises(KeyboardInterrupt):
        side_by_side([Step("", make, memory), *[Step("", make)] * 20], None)
    assert len(called) <= 4
