"""The service's queue is bounded, fair, and gives jobs of one group to a worker together; its rate and its tokens keep their limits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from polyfabric.service import access, app
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


def single(work: Callable[[Any, threading.Event], Any]) -> Any:
    """`finish` of jobs that are executed one after the other."""
    return lambda found, jobs: ((job, work(found, job.cancelled)) for job in jobs)


def test_tenants_take_turns_and_groups_stay_together() -> None:
    queue, order, prepared = Queue(parallel=1, most_bytes=100, most_of_tenant=100), [], []

    def job(tenant: str, group: Any, name: int) -> Job:
        def finish(found: Any, jobs: Sequence[Job]) -> Iterator[tuple[Job, Any]]:
            order.extend((tenant, found, own.work) for own in jobs)
            return ((own, None) for own in jobs)

        return Job(tenant, group, lambda: prepared.append(group) or group, finish, name)

    async def work() -> None:
        gate = threading.Event()
        first = asyncio.create_task(queue.do(Job("gate", None, lambda: None, single(lambda _, __: gate.wait(20)))))
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
        def finish(found: Any, jobs: Sequence[Job]) -> Iterator[tuple[Job, Any]]:
            return ((own, own.work or found) for own in jobs)

        jobs = [Job("a", "k", lambda: 5, finish, work) for work in (None, ValueError("own"), 6)]
        found = await asyncio.gather(*map(queue.do, jobs), return_exceptions=True)
        assert (found[0], str(found[1]), found[2]) == (5, "own", 6)

        # Answers from before a failure count.
        def half(found: Any, jobs: Sequence[Job]) -> Iterator[tuple[Job, Any]]:
            yield jobs[0], found
            fail("rest")

        jobs = [Job("a", "k", lambda: 5, half) for _ in range(3)]
        found = await asyncio.gather(*map(queue.do, jobs), return_exceptions=True)
        assert [str(one) for one in found] == ["5", "rest", "rest"]
        both = [Job("a", "k", lambda: fail("all"), finish) for _ in range(2)]
        assert [str(one) for one in await asyncio.gather(*map(queue.do, both), return_exceptions=True)] == ["all"] * 2

    run(work(), queue)


def test_cancelled_jobs_leave_the_queue_or_end() -> None:
    queue, done = Queue(parallel=1, most_bytes=100, most_of_tenant=100), []

    async def work() -> None:
        running = Job("a", None, lambda: None, single(lambda _, cancelled: done.append(cancelled.wait(20))))
        tasks = [asyncio.create_task(queue.do(running))]
        await asyncio.sleep(0.05)
        tasks.append(
            asyncio.create_task(queue.do(Job("b", None, lambda: None, single(lambda _, __: done.append("never")))))
        )
        await asyncio.sleep(0.05)
        assert (len(queue), queue.running) == (1, 1)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert len(queue) == 0
        # The worker is free again.
        assert await queue.do(Job("c", None, lambda: 7, single(lambda found, _: found))) == 7

    run(work(), queue)
    assert done == [True]


class Pairs:
    """Executes two requests at a time; a request is what it is answered with."""

    together = 2

    def __init__(self) -> None:
        self.executions: list[list[Any]] = []

    def outcomes(self, requests: Sequence[Any], *, progress: Any, cancel: Any) -> list[Any]:
        self.executions.append(list(requests))
        progress("half", 1, 2)
        assert not cancel.is_set()
        if b"all" in requests:
            raise RuntimeError("all")
        return [one if isinstance(one, ValueError) else pf_answer(one) for one in requests]


def pf_answer(data: bytes) -> Any:
    return type("Answer", (), {"to_bytes": lambda _: data})()


def test_an_execution_is_cancelled_when_nobody_waits_for_any_of_its_requests() -> None:
    async def work() -> None:
        server, counted, reports = Pairs(), [], []
        own = ValueError("own")
        inputs = [b"0", own, b"2", b"gone", b"4", b"all", b"6"]
        jobs = [Job("a", "k", lambda: None, lambda *_: [], app._Work(one, None)) for one in inputs]
        jobs[0].work = app._Work(b"0", lambda *report: reports.append(report))
        jobs[3].cancelled.set()
        found = dict(app._execute(server, jobs, lambda *one: counted.append(one[0])))
        assert server.executions == [[b"0", own], [b"2"], [b"4", b"all"], [b"6"]]
        assert [found.get(job) for job in jobs[:4]] == [b"0", own, b"2", None]
        assert [str(found[job]) for job in jobs[4:]] == ["all", "all", str(b"6")]
        assert (counted, reports) == ([2, 1, 1], [("half", 1, 2)])
        batch = app._Batch(jobs[:2])
        jobs[0].cancelled.set()
        assert not batch.is_set()
        jobs[1].cancelled.set()
        assert batch.is_set()

    asyncio.run(work())


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
