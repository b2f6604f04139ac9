"""The service's queue is bounded, fair, and gives jobs of one group to a worker together; its rate and its tokens keep their limits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from polyfabric.service import access
from polyfabric.service.metrics import BOUNDS, Metrics
from polyfabric.service.queue import BATCH, LONGEST_PAUSE, BusyError, Job, Queue
from polyfabric.service.tokens import Tokens, make_token


def run(work: Coroutine[Any, Any, Any], queue: Queue) -> Any:
    """The result of `work` while the queue's workers run."""

    async def both() -> Any:
        workers = asyncio.create_task(queue.work())
        try:
            return await asyncio.wait_for(work, 30)
        finally:
            workers.cancel()
            await asyncio.gather(workers, return_exceptions=True)

    return asyncio.run(both())


def test_tenants_take_turns_and_groups_stay_together() -> None:
    queue, order, prepared = Queue(parallel=1, most_bytes=100, most_of_tenant=100), [], []

    def job(tenant: str, group: Any, name: int) -> Job:
        return Job(
            tenant, group, lambda: prepared.append(group) or group, lambda found, _: order.append((tenant, found, name))
        )

    async def work() -> None:
        gate = threading.Event()
        first = asyncio.create_task(queue.do(Job("gate", None, lambda: None, lambda _, __: gate.wait(20))))
        await asyncio.sleep(0.05)
        many = [("a", "k", n) for n in range(BATCH + 2)] + [
            ("a", "l", 50),
            ("b", "k", 0),
            ("c", None, 0),
            ("c", None, 1),
        ]
        jobs = [asyncio.create_task(queue.do(job(*one))) for one in many]
        await asyncio.sleep(0.05)
        assert len(queue) == len(many)
        gate.set()
        await asyncio.gather(first, *jobs)
        assert len(queue) == 0

    run(work(), queue)
    a = [("a", "k", n) for n in range(BATCH + 2)]
    assert order == [*a[:BATCH], ("b", "k", 0), ("c", None, 0), *a[BATCH:], ("c", None, 1), ("a", "l", 50)]
    # One preparation for each turn.
    assert prepared == ["k", "k", None, "k", None, "l"]


def test_errors_reach_their_own_job_and_those_of_preparing_all() -> None:
    queue = Queue(parallel=1, most_bytes=100, most_of_tenant=100)

    def fail(text: str) -> Any:
        raise ValueError(text)

    async def work() -> None:
        good = Job("a", "k", lambda: 5, lambda found, _: found)
        bad = Job("a", "k", lambda: 5, lambda _, __: fail("own"))
        found = await asyncio.gather(queue.do(bad), queue.do(good), return_exceptions=True)
        assert (str(found[0]), found[1]) == ("own", 5)
        both = [Job("a", "k", lambda: fail("all"), lambda found, _: found) for _ in range(2)]
        assert [str(one) for one in await asyncio.gather(*map(queue.do, both), return_exceptions=True)] == ["all"] * 2

    run(work(), queue)


def test_cancelled_jobs_leave_the_queue_or_end() -> None:
    queue, done = Queue(parallel=1, most_bytes=100, most_of_tenant=100), []

    async def work() -> None:
        running = Job("a", None, lambda: None, lambda _, cancelled: done.append(cancelled.wait(20)))
        tasks = [asyncio.create_task(queue.do(running))]
        await asyncio.sleep(0.05)
        tasks.append(asyncio.create_task(queue.do(Job("b", None, lambda: None, lambda _, __: done.append("never")))))
        await asyncio.sleep(0.05)
        assert (len(queue), queue.running) == (1, 1)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert len(queue) == 0
        # The worker is free again.
        assert await queue.do(Job("c", None, lambda: 7, lambda found, _: found)) == 7

    run(work(), queue)
    assert done == [True]


def test_places_are_bounded_for_each_tenant_and_for_all() -> None:
    queue = Queue(parallel=1, most_bytes=10, most_of_tenant=2)
    with queue.place("a", 3), queue.place("a", 3):
        with pytest.raises(BusyError), queue.place("a"):
            pass
        with queue.place("b", 3):
            with pytest.raises(BusyError) as caught, queue.place("b", 2):
                pass
            assert 1 <= caught.value.seconds <= LONGEST_PAUSE
            with queue.place("b", 1):
                pass
        # The first request of a tenant is admitted, whatever others do.
        with queue.place("c", 100), pytest.raises(BusyError), queue.place("c"):
            pass
    with queue.place("c", 1), queue.place("c", 9):
        pass


def test_the_rate_allows_a_burst_and_then_so_many_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(access.time, "monotonic", lambda: now[0])
    rate, taken = access.Rate(5), 0
    for _ in range(1000):
        now[0] += 0.01
        try:
            rate.take("a")
            taken += 1
        except BusyError:
            pass
    assert taken == pytest.approx(10 + 10 * 5, abs=1)
    rate.take("b")


def test_a_histogram_counts_every_duration_once() -> None:
    metrics = Metrics()
    for seconds in (0.0, 0.01, 0.5, 1e6):
        metrics.time("t_seconds", seconds, program="p")
    lines = dict(line.rsplit(" ", 1) for line in metrics.text({}).splitlines())
    counts = [int(lines[f'polyfabric_t_seconds_bucket{{program="p",le="{bound}"}}']) for bound in (*BOUNDS, "+Inf")]
    assert counts == [sum(seconds <= bound for seconds in (0.0, 0.01, 0.5, 1e6)) for bound in (*BOUNDS, float("inf"))]


def test_a_token_is_found_by_its_hash_alone(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    first, second, other = make_token(path, "a"), make_token(path, "a"), make_token(path, "b")
    path.write_text("# comment\n\n" + path.read_text())
    tokens = Tokens(path)
    assert [tokens.tenant(token) for token in (first, second, other, "", "é", first[:-1])] == [
        "a",
        "a",
        "b",
        None,
        None,
        None,
    ]
    assert not any(token in path.read_text() for token in (first, second, other))
