"""`pf.RemoteServer`: progress, its place in the line of a busy server, and servers that are hostile or missing."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import polyfabric as pf
import pytest
from polyfabric.service.line import TRIALS, Line
from polyfabric.service.sharing import Sharing
from rejects import rejects
from serving import serving, tokens_in

httpx = pytest.importorskip("httpx")
pytest.importorskip("uvicorn")
pytest.importorskip("starlette")


# -- progress -----------------------------------------------------------------------------------------------------


def events_of(text: str) -> list[tuple[str, str]]:
    """Server-sent events, as a browser reads them: their names and data."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            found.append((fields["event"], fields["data"]))
    return found


def test_progress_and_answer_are_events(tmp_path: Path) -> None:
    token = tokens_in(tmp_path, "acme")["acme"]
    with serving(tmp_path, programs=("both", "slow")) as served:
        remote, stages = pf.RemoteServer(served.address, token), []
        assert remote.run("both", {"x": 1, "y": 1}, progress=lambda *told: stages.append(told)) == 1
        assert ("waiting", 0, 0) in stages
        assert {"blind rotation", "key switch"} & {stage for stage, _, _ in stages}
        assert all(0 <= done <= total for _, done, total in stages)
        client, headers = remote.client("both"), {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}

        def ask(request: pf.Ciphertexts, key: str = "default") -> Any:
            url = f"{served.address}/programs/both:run?key={key}"
            return httpx.post(url, content=request.to_bytes(), headers=headers, timeout=60)

        answer = ask(client.encrypt(x=1, y=0))
        assert answer.headers["content-type"].startswith("text/event-stream")
        *before, (last, data) = events_of(answer.text)
        assert (last, {name for name, _ in before}) == ("answer", {"progress"})
        assert client.decrypt(pf.Ciphertexts.from_bytes(base64.b64decode(data))) == 0
        # A fault that is found at once has its status; one that is found during the execution is an event.
        assert ask(client.encrypt(x=1, y=1), "missing").status_code == 404
        foreign = pf.Client(client.specification).encrypt(x=1, y=1)
        kind, data = events_of(ask(foreign).text)[-1]
        assert (kind, json.loads(data)["status"]) == ("error", 400)
        with pytest.raises(pf.errors.InputError):
            remote.execute("both", foreign, progress=lambda *_: None)
        (served.folder / "keys" / "both" / "default@acme.server.key").write_bytes(b"damaged")
        kind, data = events_of(ask(foreign).text)[-1]
        assert (kind, json.loads(data)["status"]) == ("error", 500)
        assert str(tmp_path) not in data
        assert "Traceback" in served.log
        wanted, until = [200, 404, 400, 400, 500], time.monotonic() + 30
        # A line is written after the answer.
        while (runs := [line["outcome"] for line in served.audit() if line["action"] == "run"])[-5:] != wanted:
            assert time.monotonic() < until, runs
            time.sleep(0.05)


def test_a_hook_that_raises_cancels_the_execution(tmp_path: Path) -> None:
    token = tokens_in(tmp_path, "acme")["acme"]
    with serving(tmp_path, "--parallel", "1", programs=("both", "slow")) as served:
        remote = pf.RemoteServer(served.address, token)

        def hook(stage: str, _done: int, _total: int) -> None:
            if stage in ("blind rotation", "key switch"):
                raise ZeroDivisionError

        remote.client("slow").make_evaluation_key()
        with pytest.raises(ZeroDivisionError):
            remote.run("slow", x=[1] * 200, progress=hook)
        assert remote.run("both", x=1, y=1) == 1
        assert "client left" in [line["outcome"] for line in served.audit() if line["action"] == "run"]
        with pytest.raises(pf.errors.InputError):
            remote.run("both", x=1, y=1, progress=5)


# -- a busy server ------------------------------------------------------------------------------------------------


def test_more_threads_than_places_all_get_their_results(tmp_path: Path) -> None:
    token = tokens_in(tmp_path, "acme")["acme"]
    with serving(tmp_path, "--tenant-queue", "2") as served:
        remote = pf.RemoteServer(served.address, token, timeout=60)
        assert remote.run("both", x=1, y=1) == 1

        def work(number: int) -> float:
            begin = time.monotonic()
            assert [remote.run("both", x=1, y=y) for y in (0, 1, number % 2)] == [0, 1, number % 2]
            return time.monotonic() - begin

        with ThreadPoolExecutor(12) as pool:
            seconds = list(pool.map(work, range(12)))
        refused = sum(line["outcome"] == 429 for line in served.audit())
        # Each refusal teaches the line, so there are far fewer than requests.
        assert refused <= 20
        assert max(seconds) < 60


def test_the_line_lets_the_first_go_first() -> None:
    line, order, free = Line(), [], threading.Semaphore(3)
    """The server has three places."""

    def send(name: int, number: int) -> None:
        end = time.monotonic() + 60
        while True:
            with line.turn(number, end):
                if free.acquire(blocking=False):
                    order.append(name)
                    line.admitted()
                    time.sleep(0.02)
                    free.release()
                    return
                line.refused(0.05)

    threads = [threading.Thread(target=send, args=(name, line.number())) for name in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(order) == list(range(40))
    # After the first refusals, nobody is overtaken by more than those that are under way.
    assert all(abs(place - name) <= 40 for place, name in enumerate(order))
    assert all(abs(place - name) <= 6 for place, name in list(enumerate(order))[20:])


def test_the_line_has_a_deadline_and_tries_more_requests() -> None:
    line = Line()
    with line.turn(line.number(), time.monotonic() + 1):
        line.refused(30)
    begin = time.monotonic()
    with pytest.raises(TimeoutError), line.turn(line.number(), begin + 0.1):
        pass
    assert time.monotonic() - begin < 5
    line = Line()
    with line.turn(line.number(), 1e18), line.turn(line.number(), 1e18):
        line.refused(0)
    assert line._most == 1
    waiting = threading.Thread(target=lambda: line.turn(line.number(), time.monotonic() + 30).__enter__())
    with line.turn(line.number(), 1e18):
        waiting.start()
        while not line._waiting:
            time.sleep(0.01)
        for _ in range(TRIALS):
            line.admitted()
    waiting.join(30)
    assert line._most == 2


# -- servers that cannot be, or are hostile -----------------------------------------------------------------------


@contextmanager
def answering(bodies: dict[str, bytes], kind: str) -> Iterator[str]:
    """A server that answers each address with these bytes; its own address."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = bodies[self.path.partition("?")[0]]
            self.send_response(200)
            self.send_header("Content-Type", kind if self.command == "POST" else "application/json")
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = answer  # noqa: N815 - http.server's names

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_events_of_a_hostile_server_are_errors() -> None:
    both = pf.program("both", x=pf.Bool, y=pf.Bool)(lambda x, y: x & y)
    spec = pf.Specification.of(both)
    client = pf.Client(spec)
    answer = pf.Server(both, client.evaluation_key).execute(client.encrypt(x=1, y=1)).to_bytes()
    progress = b'event: progress\ndata: {"stage": "s\\u001b[2J", "done": 1, "total": 2}\n\n'
    good = b":\n\n" + progress + b"event: answer\ndata: " + base64.b64encode(answer) + b"\n\n"
    wrong = [
        b"",
        progress,
        good[:-2],
        b"event: answer\ndata: !!!\n\n",
        b"event: answer\ndata: \n\n",
        b"event: progress\ndata: []\n\n",
        b"event: progress\ndata: " + b"[" * 100_000 + b"\n\n",
        b'event: progress\ndata: {"stage": 5, "done": 1e999, "total": null}\n\n',
        b'event: error\ndata: {"status": "x"}\n\n',
        b"event: other\ndata: {}\n\n",
        bytes(range(256)) + b"\n\n",
    ]
    bodies = {"/programs/both": spec.to_bytes()}
    with answering(bodies, "text/event-stream") as address:
        for body in [*wrong, good]:
            bodies["/programs/both:run"] = body
            remote, seen = pf.RemoteServer(address, "t"), []
            remote._clients["both"] = client
            request = client.encrypt(x=1, y=1)
            if body is good:
                found = remote.execute("both", request, progress=lambda *told, seen=seen: seen.append(told))
                assert client.decrypt(found) == 1
                assert seen[-1] == ("s[2J", 1, 2)
            else:
                with pytest.raises(pf.errors.Error):
                    remote.execute("both", request, progress=lambda *_: None)
    with answering(bodies, "application/octet-stream") as address:
        # A server that sends no events.
        bodies["/programs/both:run"] = answer
        remote = pf.RemoteServer(address, "t")
        remote._clients["both"] = client
        assert client.decrypt(remote.execute("both", request, progress=lambda *_: None)) == 1


@pytest.mark.parametrize(
    ("url", "token", "options"),
    [
        ("ftp://127.0.0.1", "t", {}),
        ("http://example.org", "t", {}),
        ("https://", "t", {}),
        ("https://a:b@example.org", "t", {}),
        ("http://127.0.0.1:99999", "t", {}),
        ("https://example.org/\r\nx", "t", {}),
        (5, "t", {}),
        ("http://127.0.0.1", "", {}),
        ("http://127.0.0.1", "a\r\nb", {}),
        ("http://127.0.0.1", "t", {"key": "../a"}),
        ("http://127.0.0.1", "t", {"timeout": 0}),
        ("https://127.0.0.1", "t", {"ca": __file__}),
    ],
)
def test_a_remote_server_that_cannot_be(url: Any, token: str, options: dict[str, Any]) -> None:
    with pytest.raises(pf.errors.InputError):
        pf.RemoteServer(url, token, **options)


def test_a_client_survives_hostile_servers() -> None:
    class Hostile(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            what = self.path.rpartition("/")[2]
            if what == "elsewhere":
                self.send_response(302)
                self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/stolen")
                self.end_headers()
                return
            if what == "stolen":
                stolen.append(self.headers)
            self.send_response(200)
            self.end_headers()
            if what == "slow":
                with suppress(OSError):
                    for _ in range(100):
                        self.wfile.write(b"[")
                        time.sleep(0.1)
                return
            with suppress(OSError):
                for _ in range(1 << 10 if what == "endless" else 1):
                    self.wfile.write(b"[" * (1 << 16))

        def log_message(self, *_: object) -> None:
            pass

    stolen: list[object] = []
    with HTTPServer(("127.0.0.1", 0), Hostile) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        remote = pf.RemoteServer(f"http://127.0.0.1:{server.server_port}", "t")
        for name in ("endless", "garbage", "elsewhere"):
            with pytest.raises(pf.Error):
                remote.run(name, x=1)
        with pytest.raises(pf.errors.RunError):
            remote.programs()
        begin = time.monotonic()
        with rejects(pf.errors.RunError, "timed out"):
            pf.RemoteServer(f"http://127.0.0.1:{server.server_port}", "t", timeout=0.5).run("slow", x=1)
        assert time.monotonic() - begin < 5
        with pytest.raises(pf.errors.RunError):
            pf.RemoteServer(f"http://127.0.0.1:{server.server_port}", "t", timeout=float("inf")).programs()
        server.shutdown()
    assert stolen == []


def test_the_example_client_reports_a_missing_service(tmp_path: Path) -> None:
    example = Path(__file__).resolve().parent.parent.parent / "examples" / "client.py"
    for token, error in (("missing", "missing"), ("token", "http://127.0.0.1:9 does not answer (")):
        (tmp_path / "token").write_text("t\n")
        command = [sys.executable, example, "http://127.0.0.1:9", token]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert error in done.stderr
        assert "Traceback" not in done.stderr


# -- several requests in one ciphertext ---------------------------------------------------------------------------------


class Batches:
    """Executes batches, and records them. The first waits until all requests are there."""

    def __init__(self, others: int = 0) -> None:
        self.executed: list[list[int]] = []
        self.waiting = threading.Barrier(others + 1)

    def __call__(self, inputs: Any) -> tuple[list[int], list[int]]:
        self.executed.append(inputs["x"])
        if len(self.executed) == 1 and self.waiting.parties > 1:
            self.waiting.wait(10)
            time.sleep(0.1)
        if -1 in inputs["x"]:
            raise pf.errors.RunError("a fault")
        return [x + 1 for x in inputs["x"]], [-x for x in inputs["x"]]


def test_requests_that_wait_share_ciphertexts() -> None:
    batches = Batches(others=5)
    sharing = Sharing(8, batches)

    def ask(first: int, count: int, *, wait: bool = True) -> Any:
        if wait:
            batches.waiting.wait(10)
        return sharing.run({"x": list(range(first, first + count))}, count)

    with ThreadPoolExecutor(6) as pool:
        alone = pool.submit(ask, 0, 2, wait=False)
        while not batches.executed:
            time.sleep(0.01)
        sizes = {10: 1, 20: 3, 30: 3, 40: 5, 50: 7}
        others = {first: pool.submit(ask, first, count) for first, count in sizes.items()}
        assert alone.result() == ([1, 2], [0, -1])
        for first, count in sizes.items():
            values = range(first, first + count)
            assert others[first].result() == ([x + 1 for x in values], [-x for x in values])
    assert batches.executed[0] == [0, 1]
    assert all(len(own) <= 8 for own in batches.executed)
    assert sorted(x for own in batches.executed for x in own) == [
        0,
        1,
        *(x for f, n in sizes.items() for x in range(f, f + n)),
    ]
    assert len(batches.executed) < 6


def test_a_fault_or_an_interrupt_leaves_later_requests_alone() -> None:
    sharing = Sharing(8, Batches())
    with pytest.raises(pf.errors.RunError):
        sharing.run({"x": [-1]}, 1)
    assert sharing.run({"x": [4]}, 1) == ([5], [-4])

    def interrupted(_: Any) -> Any:
        raise KeyboardInterrupt

    sharing._execute = interrupted
    with pytest.raises(KeyboardInterrupt):
        sharing.run({"x": [1]}, 1)
    batches = sharing._execute = Batches()
    assert sharing.run({"x": [7]}, 1) == ([8], [-7])

    class Interrupted:
        def __enter__(self) -> None:
            raise KeyboardInterrupt

        def __exit__(self, *_: object) -> None:
            pass

    turn, sharing._turn = sharing._turn, Interrupted()
    with pytest.raises(KeyboardInterrupt):
        sharing.run({"x": [9]}, 1)
    sharing._turn = turn
    assert sharing.run({"x": [2]}, 1) == ([3], [-2])
    assert batches.executed == [[7], [2]]


def test_threads_with_few_inputs_share_a_ciphertext_on_slots(tmp_path: Path) -> None:
    token = tokens_in(tmp_path, "acme")["acme"]
    table = [3, 0, 2, 1]
    with serving(tmp_path, "--params", "toy-10-lookup", programs=("many",)) as served:
        remote = pf.RemoteServer(served.address, token, security=0)
        assert remote.run("turned", x=[2, 1]) == [2, 0]
        asked = [[at % 4, (at + 1) % 4][: 1 + at % 2] for at in range(8)]
        with ThreadPoolExecutor(len(asked)) as pool:
            found = list(pool.map(lambda own: remote.run("turned", x=own), asked))
        assert found == [[table[x] for x in own] for own in asked]
        # A whole batch, and one with a hook, are sent by themselves.
        assert remote.run("turned", x=[0, 1, 2, 3, 0, 1, 2, 3]) == [*table, *table]
        assert remote.run("turned", {"x": [3]}, progress=lambda *_: None) == [1]
        for wrong in ([4], [], [0] * 9, 3):
            with pytest.raises(pf.errors.InputError):
                remote.run("turned", x=wrong)
        runs = [line for line in served.audit() if line["action"] == "run"]
        assert {line["outcome"] for line in runs} <= {200, 404}
        assert len(runs) < len(asked) + 3
