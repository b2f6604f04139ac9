"""The example HTTP service serves two clients with separate keys, and survives a kill between any two steps."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import polyfabric as pf
import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


@contextmanager
def serving(keys: Path) -> Iterator[str]:
    """A process of the service, killed without warning at the end; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "uvicorn",
            "--app-dir",
            str(EXAMPLES),
            "service:app",
            "--port",
            str(port),
            "--log-level",
            "error",
        ],
        env={**os.environ, "KEYS": str(keys)},
    )
    try:
        address = f"http://127.0.0.1:{port}"
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                assert process.poll() is None, "the service ended"
                time.sleep(0.1)
        yield address
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def test_two_clients_are_served_and_a_kill_between_any_two_steps_loses_nothing(tmp_path: Path) -> None:
    with serving(tmp_path) as address:
        spec = pf.Specification.from_bytes(httpx.get(f"{address}/specification").content)
    ada, bob = pf.Client(spec), pf.Client(spec)
    with serving(tmp_path) as address:
        for name, client in (("ada", ada), ("bob", bob)):
            key = client.evaluation_key.to_bytes()
            assert httpx.put(f"{address}/keys/{name}", content=key, timeout=60).status_code == 204
    with serving(tmp_path) as address:
        for name, client, bid in (("ada", ada, 200), ("bob", bob, 99)):
            request = client.encrypt({"bid": bid, "reserve": 100}).to_bytes()
            answer = httpx.post(f"{address}/run/{name}", content=request, timeout=120)
            assert answer.status_code == 200, answer.text
            found = client.decrypt(pf.Ciphertexts.from_bytes(answer.content))
            assert found == {"accepted": int(bid >= 100), "surplus": max(bid - 100, 0)}
        # No client computes with another's key, and mistakes give errors.
        foreign = httpx.post(f"{address}/run/bob", content=ada.encrypt({"bid": 1, "reserve": 2}).to_bytes(), timeout=60)
        assert foreign.status_code == 400
        assert "key generation" in foreign.text
        unknown = httpx.post(f"{address}/run/eve", content=ada.encrypt({"bid": 1, "reserve": 2}).to_bytes(), timeout=60)
        assert "send its evaluation key first" in unknown.text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ada.server.key", "bob.server.key"]


@pytest.mark.full
def test_a_kill_in_the_middle_of_a_step_loses_nothing_but_the_step(tmp_path: Path) -> None:
    """Killed while a key comes in, and while a request is executed: what was answered stays, the rest is sent again."""
    while_stored, while_run = (0.0, 0.02, 0.1, 0.3, 1.0), (0.0, 0.05, 0.2, 0.5)
    with serving(tmp_path) as address:
        spec = pf.Specification.from_bytes(httpx.get(f"{address}/specification").content)
    client = pf.Client(spec)
    key = client.evaluation_key.to_bytes()

    def interrupted(send: Callable[[str], httpx.Response], delay: float) -> httpx.Response | None:
        """The response to a request, if any, before the service was killed this long after it began."""
        with ThreadPoolExecutor(1) as pool:
            with serving(tmp_path) as address:
                begun = pool.submit(send, address)
                time.sleep(delay)
            try:
                return begun.result()
            except httpx.TransportError:
                return None

    def put(address: str) -> httpx.Response:
        return httpx.put(f"{address}/keys/ada", content=key, timeout=60)

    def run(address: str) -> httpx.Response:
        request = client.encrypt({"bid": 120, "reserve": 100}).to_bytes()
        return httpx.post(f"{address}/run/ada", content=request, timeout=120)

    stored = False
    for delay in while_stored:
        answer = interrupted(put, delay)
        stored = stored or (answer is not None and answer.status_code == 204)
        with serving(tmp_path) as address:
            answer = run(address)
            # A key is there as a whole, or not at all; one that was acknowledged is there.
            assert answer.status_code == 200 or (not stored and "send its evaluation key first" in answer.text)
    with serving(tmp_path) as address:
        assert put(address).status_code == 204
    for delay in while_run:
        interrupted(run, delay)
    with serving(tmp_path) as address:
        answer = run(address)
    found = client.decrypt(pf.Ciphertexts.from_bytes(answer.content))
    assert found == {"accepted": 1, "surplus": 20}


def test_a_client_that_goes_away_leaves_no_traceback_and_the_service_goes_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path) as address:
        host, _, port = address.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as leaving:
            leaving.sendall(b"POST /run/ada HTTP/1.1\r\nHost: here\r\nContent-Length: 100000\r\n\r\n" + bytes(1000))
        time.sleep(1)  # until the service has seen that nobody is there
        answer = httpx.post(f"{address}/run/ada", content=b"", timeout=60)
        assert answer.status_code == 400
        assert "archive" in answer.text
    assert "Traceback" not in capfd.readouterr().err


def test_a_request_that_is_larger_than_any_is_not_kept(tmp_path: Path) -> None:
    def endless(most: int) -> Iterator[bytes]:
        for _ in range(most // (1 << 16) + 1):
            yield bytes(1 << 16)

    with serving(tmp_path) as address:
        for method, path, most in (("PUT", "keys/ada", 1 << 25), ("POST", "run/ada", 1 << 20)):
            answer = httpx.request(method, f"{address}/{path}", content=endless(most), timeout=60)
            assert answer.status_code == 413
            assert f"more than {most:,} bytes" in answer.text
    assert list(tmp_path.iterdir()) == []


def test_errors_of_a_client_are_returned_and_those_of_the_server_are_not(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A client's mistakes are 400 with their text; a key that cannot be kept, or is damaged, is 500 and in the log."""
    with serving(tmp_path) as address:
        client = pf.Client(pf.Specification.from_bytes(httpx.get(f"{address}/specification").content))
        key = client.evaluation_key.to_bytes()
        request = client.encrypt({"bid": 1, "reserve": 2}).to_bytes()
        for wrong in (client.to_bytes(), key[:-1], b""):
            answer = httpx.put(f"{address}/keys/ada", content=wrong, timeout=60)
            assert answer.status_code == 400
            assert "evaluation key" in answer.text or "checksum" in answer.text
        for wrong in (b"", request + b"1", key[:1000]):
            assert httpx.post(f"{address}/run/ada", content=wrong, timeout=60).status_code == 400
        assert httpx.put(f"{address}/keys/nul", content=key, timeout=60).status_code == 400
        path = tmp_path / "ada.server.key"
        path.mkdir()
        faults = [httpx.put(f"{address}/keys/ada", content=key, timeout=60)]
        path.rmdir()
        path.write_bytes(key[:-1])
        faults.append(httpx.post(f"{address}/run/ada", content=request, timeout=60))
    for fault in faults:
        assert fault.status_code == 500
        assert str(tmp_path) not in fault.text
        assert "key" not in fault.text
    assert capfd.readouterr().err.count("RunError") >= len(faults)


def test_the_example_client_does_not_read_an_endless_answer() -> None:
    class Endless(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                for _ in range(1 << 12):
                    self.wfile.write(bytes(1 << 16))

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Endless) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        done = subprocess.run(
            [sys.executable, EXAMPLES / "client.py", address], capture_output=True, text=True, check=False, timeout=120
        )
        server.shutdown()
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert f"{1 << 24:,} bytes" in done.stderr


def test_the_example_client_reports_a_missing_service():
    done = subprocess.run(
        [sys.executable, EXAMPLES / "client.py", "http://127.0.0.1:9"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("http://127.0.0.1:9 does not answer (")
    assert done.stderr.endswith("start the service: uvicorn --app-dir examples service:app\n")
