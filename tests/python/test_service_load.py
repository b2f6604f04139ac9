"""`polyfabric serve` under load: several tenants get their own results, also next to a hostile one, and a kill at any time loses nothing."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polyfabric as pf
import pytest
from serving import Served, serving, tokens_in

httpx = pytest.importorskip("httpx")
pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

ROOT = Path(__file__).resolve().parents[2]

KEY_BYTES = 120 << 20
"""Of an expanded key of the programs in `serving`, with its transforms, at most."""


def asks(served: Served, token: str) -> Callable[..., Any]:
    """A function that sends requests of a tenant."""
    connection = httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=60)
    return lambda method, path, **more: connection.request(method, f"{served.address}{path}", **more)


def hostile(served: Served, token: str, key: bytes, stop: threading.Event) -> Counter[int]:
    """Sends garbage, foreign and oversized messages until stopped; the statuses of the answers."""
    ask, found = asks(served, token), Counter()
    bodies = [b"", bytes(5000), key[:5000], b"PK\5\6" + bytes(18), bytes(1 << 20)]
    while not stop.is_set():
        for body in bodies:
            answers = [
                ask("POST", "/programs/both:run?key=default", content=body),
                ask("PUT", "/programs/both/keys/default", content=body),
                ask("PUT", "/programs/following/keys/..%2f", content=body),
            ]
            found.update(answer.status_code for answer in answers)
        time.sleep(0.05)
    return found


def loaded(folder: Path, tenants: int, threads: int, requests: int) -> list[float]:
    """Seconds of every request. Each tenant has several threads that share a key; another one is hostile."""
    names = [f"tenant{number}" for number in range(tenants)]
    tokens = tokens_in(folder, "operator", "hostile", *names)
    # Memory for half of the keys, so that others are read again.
    budget = max(1, tenants // 2) * KEY_BYTES
    options = ("--key-memory", str(budget), "--tenant-queue", "3")
    with serving(folder, *options, programs=("both", "following")) as served:
        servers = {name: pf.RemoteServer(served.address, tokens[name]) for name in names}
        begin, stop, resident = threading.Barrier(tenants * threads), threading.Event(), []
        key = servers[names[0]].client("both").evaluation_key.to_bytes()

        def work(name: str, seed: int) -> list[float]:
            drawn, seconds = random.Random(seed), []
            for _ in range(requests):
                x, y = drawn.randrange(2), drawn.randrange(2)
                start = time.monotonic()
                assert servers[name].run("both", x=x, y=y) == (x and y)
                seconds.append(time.monotonic() - start)
            return seconds

        def started(name: str, seed: int) -> list[float]:
            servers[name].client("both").make_evaluation_key()
            begin.wait(120)
            return work(name, seed)

        with ThreadPoolExecutor(tenants * threads + 1) as pool:
            attack = pool.submit(hostile, served, tokens["hostile"], key, stop)
            jobs = [pool.submit(started, name, seed) for seed, name in enumerate(names * threads)]
            seconds = [one for job in jobs for one in job.result()]
            stop.set()
            statuses = attack.result()
        figures = asks(served, tokens["operator"])("GET", "/metrics").text
        resident = int(re.search(r"^polyfabric_keys_resident_bytes (\d+)", figures, re.MULTILINE)[1])
        runs = Counter(line["tenant"] for line in served.audit() if (line["action"], line["outcome"]) == ("run", 200))
    assert len(seconds) == tenants * threads * requests
    assert runs == dict.fromkeys(names, threads * requests)
    assert resident <= budget
    assert set(statuses) <= {400, 404, 413, 429}
    assert len(statuses) > 1
    assert "Traceback" not in served.log
    return seconds


def test_several_tenants_and_a_hostile_one(tmp_path: Path) -> None:
    loaded(tmp_path, tenants=2, threads=2, requests=3)


@pytest.mark.full
def test_the_load_trial() -> None:
    """A minute of the trial; documentation has ten."""
    words = [sys.executable, ROOT / "scripts" / "service-load", "--seconds", "60", "--rounds", "1"]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=False)
    found = json.loads(done.stdout)
    assert done.returncode == 0, found
    assert (found["tenants"], found["clients"], found["lost"], found["faults"]) == (10, 50, 0, 0)
    assert found["keys_resident_bytes"] <= found["key_memory_bytes"]
    # Every kind of hostile request is refused with its status, except the good one.
    assert set(found["hostile_answers"]) >= {"200", "400", "404", "413"}
    assert not {status for status in found["hostile_answers"] if status[0] == "5"}
    here, served = found["phases"]["here"], found["phases"]["served"]
    assert served["server_processor_seconds"] < 1.25 * here["other_processor_seconds"]


def killed(folder: Path, kills: int, seed: int) -> int:
    """How many keys were acknowledged while the server was killed so often, at random times under load."""
    drawn, token = random.Random(seed), tokens_in(folder, "acme")["acme"]
    spec = pf.Specification.of(program())
    clients = [pf.Client(spec) for _ in range(3)]
    keys = [client.evaluation_key.to_bytes() for client in clients]
    steady, changing = folder / "keys/both/steady@acme.server.key", folder / "keys/both/changing@acme.server.key"
    allowed: set[bytes] = set()
    """The keys of which any may be the stored one: the one acknowledged last and those sent since."""
    acknowledged = 0
    with serving(folder) as served:
        assert asks(served, token)("PUT", "/programs/both/keys/steady", content=keys[2]).status_code == 204
    for _ in range(kills):
        stop = threading.Event()

        def put(served: Served, stop: threading.Event = stop) -> None:
            nonlocal acknowledged
            ask = asks(served, token)
            while not stop.is_set():
                key = drawn.choice(keys[:2])
                allowed.add(key)
                answer = ask("PUT", "/programs/both/keys/changing", content=key)
                assert answer.status_code == 204
                allowed.clear()
                allowed.add(key)
                acknowledged += 1

        def run(served: Served, stop: threading.Event = stop) -> None:
            ask = asks(served, token)
            while not stop.is_set():
                request = clients[2].encrypt(x=1, y=1).to_bytes()
                answer = ask("POST", "/programs/both:run?key=steady", content=request)
                assert answer.status_code == 200, answer.text
                assert clients[2].decrypt(pf.Ciphertexts.from_bytes(answer.content)) == 1

        with ThreadPoolExecutor(2) as pool:
            with serving(folder) as served:
                assert list((folder / "keys" / ".uploads").iterdir()) == []
                if allowed and changing.exists():
                    ask, client = asks(served, token), clients[keys.index(changing.read_bytes())]
                    request = client.encrypt(x=1, y=1).to_bytes()
                    answer = ask("POST", "/programs/both:run?key=changing", content=request)
                    assert client.decrypt(pf.Ciphertexts.from_bytes(answer.content)) == 1
                jobs = [pool.submit(put, served), pool.submit(run, served)]
                time.sleep(drawn.uniform(0, 1.5))
            stop.set()
            for job in jobs:
                # A killed server does not answer; whatever it has answered was right.
                assert isinstance(job.exception(60), httpx.TransportError | None)
        assert steady.read_bytes() == keys[2]
        assert changing.read_bytes() in allowed if changing.exists() else not acknowledged
        assert {path.name for path in steady.parent.iterdir()} <= {steady.name, changing.name}
    return acknowledged


def program() -> pf.Program:
    """The program `both` of `serving`."""
    return pf.program("both", x=pf.Bool, y=pf.Bool)(lambda x, y: x & y)


def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    killed(tmp_path, kills=2, seed=1)


@pytest.mark.full
def test_two_hundred_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    assert killed(tmp_path, kills=200, seed=2) > 50
