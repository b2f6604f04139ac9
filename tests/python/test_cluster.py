"""Work on the two processes of a Dask cluster gives what this computer gives, also if one of them is killed."""

from __future__ import annotations

import os
import pickle
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polyfabric as pf
import pytest
from polyfabric.host.clusters import connected
from polyfabric.run import cluster as clusters
from polyfabric.run.specification import served
from rejects import rejects
from serving import PROGRAMS, serving, tokens_in

distributed = pytest.importorskip("distributed")
httpx = pytest.importorskip("httpx")
pytest.importorskip("uvicorn")
pytest.importorskip("starlette")


def program(name: str) -> pf.Program:
    scope: dict[str, Any] = {}
    exec(PROGRAMS, scope)
    return scope[name]


@pytest.fixture(scope="module")
def dask() -> Iterator[Any]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def processes(dask: Any) -> dict[int, tuple[int, int, int]]:
    """Of each worker's process: tasks under way, expanded keys, and their budget."""

    def state(dask_worker: Any) -> tuple[int, tuple[int, int, int]]:
        memory = clusters._MEMORY
        return os.getpid(), (len(dask_worker.state.executing), len(memory), memory.most_bytes)

    return dict(dask.run(state).values())


def kill_a_busy_worker(dask: Any, seconds: float = 30) -> None:
    """Kills a worker once it executes something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for process, (busy, *_) in processes(dask).items():
            if busy:
                os.kill(process, signal.SIGKILL)
                return
        time.sleep(0.02)
    pytest.fail("no worker is busy")


def kill_all_workers(dask: Any) -> None:
    dask.wait_for_workers(1, timeout=300)
    for process in processes(dask):
        os.kill(process, signal.SIGKILL)


def made(dask: Any, name: str) -> tuple[pf.Client, clusters.ClusterServer]:
    """A client of a program, and a server on the cluster with its key."""
    own = program(name)
    client = pf.Client(pf.Specification.of(own))
    cluster = clusters.Cluster(dask)
    return client, cluster.server(cluster.program(served(own, None)), client.evaluation_key)


def test_a_batch_survives_a_killed_worker(dask: Any) -> None:
    drawn = random.Random(5)
    inputs = [{"x": [drawn.randrange(8) for _ in range(30)]} for _ in range(3)]
    expected = [[pow(x, 4, 8) for x in one["x"]] for one in inputs]

    @pf.program(x=pf.UInt(3).vector(30))
    def fourth(x):
        x = x * x
        return x * x

    killer = threading.Thread(target=kill_a_busy_worker, args=(dask,))
    killer.start()
    seen: list[tuple[str, int, int]] = []
    assert fourth.map(iter(inputs), client=dask, progress=lambda *told: seen.append(told)) == expected
    killer.join()
    assert [done for stage, done, _ in seen if stage == "batch"] == [1, 2, 3]


def test_workers_share_a_batch_evenly(dask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    alone = clusters.ClusterServer.outcomes

    def outcomes(self: clusters.ClusterServer, requests: Any, **more: Any) -> Any:
        sizes.append(len(requests))
        return alone(self, requests, **more)

    monkeypatch.setattr(clusters.ClusterServer, "outcomes", outcomes)
    assert program("both").map([{"x": n % 2, "y": 1} for n in range(10)], client=dask) == [n % 2 for n in range(10)]
    assert sorted(sizes) == [5, 5]


def test_here_a_batch_gives_the_same() -> None:
    following = program("following")
    assert following.map([{"x": x} for x in range(4)]) == [1, 2, 3, 0]
    for wrong in ({"x": 1}, 5, "x"):
        with pytest.raises(pf.errors.InputError):
            following.map(wrong)
    with pytest.raises(pf.errors.InputError):
        following.map([{"x": 4}])


def test_a_client_without_a_connection_is_refused() -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            pass
        with rejects(pf.errors.InputError, "closed"):
            pf.program(x=pf.UInt(2))(lambda x: x + 1).map([{"x": 1}], client=client)


def test_workers_give_the_ciphertexts_of_this_computer(dask: Any) -> None:
    for name, inputs in (("both", {"x": 1, "y": 1}), ("reals", {"x": [0.5] * 4})):
        client, server = made(dask, name)
        request = client.encrypt(inputs)
        here = pf.Server(program(name), client.evaluation_key).execute(request)
        assert server.execute(request).to_bytes() == here.to_bytes()
        foreign = pf.Client(client.specification).encrypt(inputs)
        found = server.outcomes([request, foreign, request])
        assert [found[0].to_bytes(), found[2].to_bytes()] == [here.to_bytes()] * 2
        assert isinstance(found[1], pf.errors.FileError)
        assert (server.together > 1) == (name == "both")
    with pytest.raises(pf.errors.FileError):
        server.execute(pf.Client(client.specification).encrypt(x=[0.5] * 4))


@pytest.mark.full
def test_keys_that_were_lost_are_sent_again_and_work_is_cancelled(dask: Any) -> None:
    client, server = made(dask, "slow")
    request, stages, cancel = client.encrypt(x=[1] * 200), [], threading.Event()

    def told(stage: str, _done: int, _total: int) -> None:
        stages.append(stage)
        cancel.set()

    kill_all_workers(dask)
    with pytest.raises(pf.errors.CancelledError):
        server.execute(request, progress=told, cancel=cancel)
    assert stages
    with pytest.raises(ZeroDivisionError):
        server.execute(request, progress=lambda *_: 1 // 0)
    for _ in range(100):
        if not any(busy for busy, *_ in processes(dask).values()):
            break
        time.sleep(0.05)
    else:
        pytest.fail("a worker still executes what nobody waits for")


def test_a_server_sends_work_to_the_cluster(dask: Any, tmp_path: Path) -> None:
    tokens = tokens_in(tmp_path, "acme", "bits")
    options = ("--workers", dask.scheduler.address, "--key-memory", "1")
    with serving(tmp_path, *options, programs=("both", "following")) as own:
        acme, bits = (pf.RemoteServer(own.address, token) for token in tokens.values())
        assert acme.run("both", x=1, y=1) == 1
        assert bits.run("following", x=2) == 3
        # A worker keeps one key beyond the budget of one byte.
        assert {keys for _, keys, most in processes(dask).values() if most == 1} == {1}
        kill_all_workers(dask)
        stages: list[str] = []
        assert acme.run("both", {"x": 1, "y": 0}, progress=lambda stage, *_: stages.append(stage)) == 0
        assert "waiting" in stages
        wrong = bits.client("following").evaluation_key.to_bytes()[:-1]
        header = {"Authorization": f"Bearer {tokens['acme']}"}
        assert (
            httpx.put(f"{own.address}/programs/both/keys/k", content=wrong, headers=header, timeout=60).status_code
            == 400
        )
        assert "Traceback" not in own.log


def test_clusters_that_cannot_be(monkeypatch: pytest.MonkeyPatch, polyfabric: Any, tmp_path: Path) -> None:
    (tmp_path / "served.py").write_text(PROGRAMS)
    tokens_in(tmp_path, "acme")
    good = ["serve", "served.py:both", "--keys", "keys", "--tokens", "tokens.txt", "--port", "0", "--workers"]
    for wrong in ("tcp://127.0.0.1:99999", "http://127.0.0.1:1"):
        done = polyfabric(*good, wrong)
        assert (done.status, "Traceback" in done.err) == (2, False), (wrong, done.err)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(pf.errors.RunError, match=r"pip install 'polyfabric\[dask\]'"):
        connected("tcp://127.0.0.1:1", "--workers")


def test_a_worker_with_another_plan_is_refused(dask: Any) -> None:
    own = program("both")
    recipe = clusters.Recipe(own, served(own, None).parameters.name, None, public=False, specification=b"{}")
    key = pf.Client(pf.Specification.of(own)).evaluation_key
    with pytest.raises(pf.errors.RunError):
        clusters.Cluster(dask).server(clusters.Scattered(dask, pickle.dumps(recipe)), key)
