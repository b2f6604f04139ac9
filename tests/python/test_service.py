"""`polyfabric serve`, as real processes: tenants are separate, hostile input changes nothing, and errors are whose they are."""

from __future__ import annotations

import hashlib
import random
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from rejects import rejects
from serving import PROGRAMS, Served, serving, tokens_in

httpx = pytest.importorskip("httpx")
pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

TENANTS = ("acme", "bits", "operator")

# How long requests may take, in a process of its own; the defaults are seconds.
IMPATIENT = (
    "import polyfabric.service.access as a, polyfabric.service.app as b, polyfabric.service.process as c; "
    "a.GRACE = b.GRACE = c.HEAD_SECONDS = 0.3"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def tokens(folder: Path) -> dict[str, str]:
    return tokens_in(folder, *TENANTS)


@pytest.fixture(scope="module")
def served(folder: Path, tokens: dict[str, str]) -> Iterator[Served]:
    with serving(folder, "--tenant-rate", "1000", programs=("both", "following")) as found:
        yield found


@pytest.fixture(scope="module")
def client(served: Served, tokens: dict[str, str]) -> pf.Client:
    """A client of the program `both`, whose key is in no store yet."""
    found = pf.RemoteServer(served.address, tokens["acme"]).client("both")
    found.make_evaluation_key()
    return found


@pytest.fixture
def ask(served: Served, tokens: dict[str, str]) -> Callable[..., Any]:
    """A request of a tenant."""
    connections = httpx.Client(timeout=60)

    def found(method: str, path: str, tenant: str = "acme", **more: Any) -> Any:
        more.setdefault("headers", {"Authorization": f"Bearer {tokens[tenant]}"})
        return connections.request(method, f"{served.address}{path}", **more)

    return found


def raw(address: str, data: bytes, seconds: float = 20) -> bytes:
    """What comes back for these bytes, until the server closes."""
    host, _, port = address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=seconds) as connection:
        found = b""
        with suppress(ConnectionError):
            connection.sendall(data)
            while piece := connection.recv(1 << 16):
                found += piece
    return found


def program(name: str) -> pf.Program:
    scope: dict[str, Any] = {}
    exec(PROGRAMS, scope)
    return scope[name]


# -- what tenants get ---------------------------------------------------------------------------------------------


def test_two_tenants_run_programs_with_keys_of_one_name(served: Served, tokens: dict[str, str], ask: Any) -> None:
    acme, bits = (pf.RemoteServer(served.address, tokens[name], key="shared") for name in ("acme", "bits"))
    assert list(acme.programs()) == ["both", "following"]
    for x in (0, 1):
        for y in (0, 1):
            assert acme.run("both", x=x, y=y) == (x and y)
    # The first tenant's key is still its own after the second has sent one.
    assert bits.run(program("following"), {"x": 2}) == 3
    assert acme.run("both", {"x": 1, "y": 1}) == 1
    assert "shared" in ask("GET", "/programs/both/keys").json()
    assert ask("GET", "/programs/both/keys", "bits").json() == {}
    stolen = acme.client("both").encrypt(x=1, y=1).to_bytes()
    assert ask("POST", "/programs/both:run?key=shared", "bits", content=stolen).status_code == 404
    assert ask("DELETE", "/programs/both/keys/shared", "bits").status_code == 204
    assert acme.run("both", x=1, y=1) == 1
    acme.remove_key("both")
    assert "shared" not in ask("GET", "/programs/both/keys").json()
    assert acme.run("both", x=1, y=0) == 0


def test_two_clients_with_one_name_get_errors_or_their_own_results(served: Served, tokens: dict[str, str]) -> None:
    one, other = (pf.RemoteServer(served.address, tokens["acme"], key="both-of-us") for _ in range(2))
    for _ in range(2):
        assert one.run("both", x=1, y=1) == 1
        assert other.run("both", x=1, y=0) == 0


def test_a_program_of_the_client_is_the_servers_or_refused(served: Served, tokens: dict[str, str]) -> None:
    remote = pf.RemoteServer(served.address, tokens["acme"])
    assert remote.run(program("both"), x=1, y=1) == 1
    another = pf.program("both", x=pf.Bool, y=pf.Bool)(lambda x, y: x | y)
    with rejects(pf.errors.InputError, "both"):
        remote.run(another, x=1, y=0)
    with rejects(pf.errors.InputError, "404"):
        remote.run("nothing", x=1)
    with rejects(pf.errors.InputError, "'z'"):
        remote.run("both", x=1, z=1)


def test_keys_are_kept_in_a_folder(served: Served, tokens: dict[str, str], tmp_path: Path) -> None:
    one, other = (pf.RemoteServer(served.address, tokens["acme"], keys=tmp_path) for _ in range(2))
    assert other.client("both").decrypt(one.execute("both", one.client("both").encrypt(x=1, y=1))) == 1
    (path,) = tmp_path.iterdir()
    assert path.name == "both.client.key"
    assert path.stat().st_mode & 0o77 == 0


def test_slots_and_inputs_of_other_parties_are_served(tmp_path: Path) -> None:
    token = tokens_in(tmp_path, "acme")["acme"]
    with serving(tmp_path, "--public", programs=("both", "reals")) as served:
        remote = pf.RemoteServer(served.address, token)
        x = [0.5, -1.0, 0.0, 0.25]
        for given in ("reals", program("reals")):
            np.testing.assert_allclose(remote.run(given, x=x), np.square(x) + 0.5, atol=1e-6)
        owner = remote.client("both")
        ada, bob = (pf.Encryptor(owner.specification, owner.public_key).encrypt({name: 1}) for name in "xy")
        assert owner.decrypt(remote.execute("both", ada | bob)) == 1
        assert remote.run(program("both"), x=1, y=0) == 0


def test_waiting_requests_of_a_key_share_executions_and_no_errors(tmp_path: Path) -> None:
    tokens = tokens_in(tmp_path, "acme", "operator")
    # Each turn begins late, so that requests wait for it.
    late = "import time, polyfabric.service.queue as q; now = q._execute; q._execute = lambda *a: (time.sleep(0.4), now(*a))[1]"
    with serving(tmp_path, "--parallel", "1", before=late) as served:
        remote = pf.RemoteServer(served.address, tokens["acme"])
        client = remote.client("both")
        stranger = pf.Client(client.specification)
        server = pf.Server(program("both"), client.evaluation_key)
        requests = [client.encrypt(x=n & 1, y=n >> 1 & 1) for n in range(9)]
        requests[4] = stranger.encrypt(x=1, y=1)
        remote.execute("both", requests[0])

        def send(request: pf.Ciphertexts) -> Any:
            head = {"Authorization": f"Bearer {tokens['acme']}"}
            return httpx.post(
                f"{served.address}/programs/both:run?key=default",
                content=request.to_bytes(),
                headers=head,
                timeout=60,
            )

        with ThreadPoolExecutor(len(requests)) as pool:
            answers = list(pool.map(send, requests))
        right = [place for place in range(9) if place != 4]
        assert [answer.status_code for answer in answers] == [200 if place in right else 400 for place in range(9)]
        assert [answers[n].content for n in right] == [server.execute(requests[n]).to_bytes() for n in right]
        text = httpx.get(f"{served.address}/metrics", headers={"Authorization": f"Bearer {tokens['operator']}"}).text
        executions, executed = (
            int(re.search(rf'^polyfabric_{name}{{program="both"}} (\d+)$', text, re.MULTILINE)[1])
            for name in ("execution_seconds_count", "executed_requests_total")
        )
        assert executed == 1 + len(requests)
        assert executions <= 4
        assert "Traceback" not in served.log


def test_the_interface_is_described(ask: Any, client: pf.Client) -> None:
    described = ask("GET", "/openapi.json").json()
    key = client.evaluation_key.to_bytes()
    assert ask("PUT", "/programs/both/keys/k", content=key).status_code == 204
    request = client.encrypt(x=1, y=1).to_bytes()
    for path, methods in described["paths"].items():
        filled = path.format(program="both", key="k") + ("?key=k" if path.endswith(":run") else "")
        for method, operation in methods.items():
            content = {"put": key, "post": request}.get(method)
            answer = ask(method.upper(), filled, "operator" if path == "/metrics" else "acme", content=content)
            assert str(answer.status_code) in operation["responses"]
            assert answer.status_code < 300 or (path.endswith(":run") and answer.status_code == 404), (
                path,
                answer.text,
            )
            if method == "put":
                assert ask("POST", "/programs/both:run?key=k", content=request).status_code == 200


def test_the_metrics_are_the_operators_and_name_no_tenant(ask: Any) -> None:
    assert ask("GET", "/metrics").status_code == 403
    text = ask("GET", "/metrics", "operator").text
    for line in text.splitlines():
        assert re.fullmatch(r'# TYPE \w+ (gauge|counter|histogram)|\w+(\{(\w+="[^"]*",?)+\})? [0-9.e+-]+', line), line
    assert "acme" not in text
    assert re.search(r"^polyfabric_keys_stored_bytes \d+", text, re.MULTILINE)


# -- strangers ----------------------------------------------------------------------------------------------------


def test_only_valid_tokens_open_anything(ask: Any, tokens: dict[str, str], folder: Path) -> None:
    token, digest = tokens["acme"], (folder / "tokens.txt").read_text().split()[1]
    wrong = ["", "Bearer", token, f"Basic {token}", f"Bearer {token[:-1]}", f"Bearer {token}x", f"Bearer {digest}"]
    wrong += [f"Bearer {token.swapcase()}", f"Bearer {token} {token}", "Bearer " + "a" * 10_000]
    for header in wrong:
        for method, path in (
            ("GET", "/programs"),
            ("PUT", "/programs/both/keys/a"),
            ("GET", "/metrics"),
            ("GET", "/none"),
        ):
            answer = ask(method, path, headers={"Authorization": header})
            assert answer.status_code == 401, header
            assert answer.headers["www-authenticate"] == "Bearer"
    assert ask("GET", "/programs", headers={}).status_code == 401
    assert ask("GET", "/health", headers={}).status_code == 200


def test_a_stranger_is_answered_before_its_body_is_read(served: Served) -> None:
    head = b"PUT /programs/both/keys/a HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\nConnection: close\r\n\r\n"
    assert raw(served.address, head).startswith(b"HTTP/1.1 401 ")


def test_tokens_come_and_go_while_the_server_runs(served: Served, ask: Any, folder: Path) -> None:
    path = folder / "tokens.txt"
    before = path.read_text()
    try:
        new = tokens_in(folder, "guest")["guest"]
        header = {"Authorization": f"Bearer {new}"}
        assert ask("GET", "/programs", headers=header).status_code == 200
        path.write_text("damaged")
        assert ask("GET", "/programs", headers=header).status_code == 200
        path.unlink()
        assert ask("GET", "/programs").status_code == 200
        path.write_text(before)
        assert ask("GET", "/programs", headers=header).status_code == 401
    finally:
        path.write_text(before)


def test_what_is_no_http_ends_the_connection_and_nothing_else(served: Served, ask: Any, tokens: dict[str, str]) -> None:
    for data in (
        b"\0" * 1000,
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\r\n" + b"a" * 200_000,
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    ):
        assert not raw(served.address, data).startswith(b"HTTP/1.1 2")
    # A request that turns out to be none while it is answered.
    chunked = f"GET /programs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {tokens['acme']}\r\nTransfer-Encoding: chunked\r\n\r\n"
    for head in (chunked, chunked.replace("Bearer", "")):
        raw(served.address, head.encode() + b"no size\r\n")
    assert "Traceback" not in served.log
    assert ask("GET", "/programs").status_code == 200


# -- hostile tenants ----------------------------------------------------------------------------------------------


def test_no_path_name_leads_out_of_a_tenants_keys(ask: Any, client: pf.Client, folder: Path) -> None:
    key = client.evaluation_key.to_bytes()
    names = (
        "..",
        "%2e%2e",
        "..%2fa",
        "a%00",
        "a%0a",
        "a@bits",
        "a%40bits",
        "nul",
        "CON",
        "a.server.key",
        "%e2%84%aa",
        "a" * 65,
        "%252e",
        "*",
    )
    before = {path.relative_to(folder) for path in folder.rglob("*")}
    for name in names:
        answers = [
            ask("PUT", f"/programs/both/keys/{name}", content=key),
            ask("DELETE", f"/programs/both/keys/{name}"),
            ask("POST", f"/programs/both:run?key={name}", content=b""),
            ask("PUT", f"/programs/{name}/keys/a", content=b""),
            ask("GET", f"/programs/{name}"),
        ]
        if name.lower() in ("nul", "con"):
            # Together with the tenant's name they are no devices.
            assert answers[0].status_code == 204
            continue
        assert {answer.status_code for answer in answers} <= {400, 404, 405}, name
    found = {path.relative_to(folder) for path in folder.rglob("*")} - before
    assert {str(path) for path in found} <= {"keys/both/nul@acme.server.key", "keys/both/con@acme.server.key"}


def test_garbage_and_foreign_messages_are_the_senders_fault(ask: Any, client: pf.Client, served: Served) -> None:
    key, request = client.evaluation_key.to_bytes(), client.encrypt(x=1, y=1).to_bytes()
    other = pf.Client(client.specification)
    following = pf.Client(pf.Specification.of(program("following")))
    flipped = bytearray(key)
    flipped[len(key) // 2] ^= 1
    for wrong in (b"", b"garbage", client.to_bytes(), request, key[:-1], key + b"x", bytes(flipped), key[:1000]):
        answer = ask("PUT", "/programs/both/keys/wrong", content=wrong)
        assert answer.status_code == 400, answer.text
    assert "wrong" not in ask("GET", "/programs/both/keys").json()
    assert ask("PUT", "/programs/both/keys/right", content=key).status_code == 204
    foreign = [other.encrypt(x=1, y=1), following.encrypt(x=1)]
    for wrong in (
        b"",
        b"PK\5\6" + bytes(18),
        key[:4000],
        request[:-1],
        request + b"x",
        client.to_bytes(),
        *[one.to_bytes() for one in foreign],
    ):
        answer = ask("POST", "/programs/both:run?key=right", content=wrong)
        assert answer.status_code == 400, answer.text
        assert str(served.folder) not in answer.text
    # A replayed request gives its sender the same answer again, and changes nothing.
    answers = [ask("POST", "/programs/both:run?key=right", content=request) for _ in range(2)]
    assert [client.decrypt(pf.Ciphertexts.from_bytes(answer.content)) for answer in answers] == [1, 1]
    old = {"If-Match": '"' + "0" * 64 + '"', **dict(answers[0].request.headers)}
    assert ask("POST", "/programs/both:run?key=right", content=request, headers=old).status_code == 412
    assert served.log.count("Traceback") == 0


def test_every_address_takes_garbage(ask: Any, served: Served) -> None:
    described = ask("GET", "/openapi.json").json()["paths"]
    bodies = (b"", b"\0" * 5000, b"PK\3\4" + bytes(range(256)), b'{"a":' * 2000)
    for path in [*described, "/", "/programs/", "//programs", "/programs/both:", "/programs/both:run/x", "/%ff"]:
        for method in ("GET", "PUT", "POST", "DELETE", "PATCH", "HEAD"):
            for body in bodies if method in ("PUT", "POST") else bodies[:1]:
                answer = ask(method, path.format(program="both", key="x"), "bits", content=body)
                assert answer.status_code < 500
                assert method == "HEAD" or answer.status_code != 400 or answer.text.strip()
    assert "Traceback" not in served.log


@pytest.mark.parametrize("count", [60, pytest.param(2000, marks=pytest.mark.full)])
def test_damaged_requests_of_every_kind(
    count: int, ask: Any, served: Served, tokens: dict[str, str], client: pf.Client
) -> None:
    drawn, request = random.Random(count), client.encrypt(x=1, y=1).to_bytes()
    whole = []
    for path, methods in ask("GET", "/openapi.json").json()["paths"].items():
        filled = path.format(program="both", key="fuzzed") + ("?key=fuzzed" if path.endswith(":run") else "")
        for method in methods:
            line = f"{method.upper()} {filled} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {tokens['acme']}\r\n"
            line += "Accept: text/event-stream\r\n" * (method == "post")
            whole.append(f"{line}Connection: close\r\nContent-Length: {len(request)}\r\n\r\n".encode() + request)
            chunked = f"{line}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n{len(request):x}\r\n"
            whole.append(chunked.encode() + request + b"\r\n0\r\n\r\n")
    parts = (b"%00", b"..", b"/", b"\r\n", b"Expect: 100-continue\r\n", b"@", b"9" * 30, drawn.randbytes(9))
    for _ in range(count):
        data = bytearray(drawn.choice(whole))
        for _ in range(drawn.randrange(1, 4)):
            at = drawn.randrange(min(len(data), drawn.choice((250, 6000))))
            data[at : at + drawn.randrange(20)] = drawn.choice(parts)
        if drawn.random() < 0.2:
            del data[drawn.randrange(len(data)) :]
        with suppress(TimeoutError):
            assert b"HTTP/1.1 5" not in raw(served.address, bytes(data), seconds=0.2)
    assert ask("GET", "/programs").status_code == 200
    assert "Traceback" not in served.log


def test_a_body_that_is_too_large_is_not_kept(ask: Any, folder: Path) -> None:
    def endless(pieces: int) -> Iterator[bytes]:
        for _ in range(pieces):
            yield bytes(1 << 16)

    for method, path, pieces in (
        ("PUT", "/programs/both/keys/large", 300),
        ("POST", "/programs/both:run?key=right", 2),
    ):
        assert ask(method, path, content=endless(pieces)).status_code in (404, 413)
        assert ask(method, path, content=bytes(pieces << 16)).status_code in (404, 413)
    assert list((folder / "keys" / ".uploads").iterdir()) == []


def test_slow_senders_and_readers_are_cut_off(tmp_path: Path) -> None:
    token = tokens_in(tmp_path, "acme")["acme"]
    head = f"PUT /programs/both/keys/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: 20000\r\nConnection: close\r\n\r\n"
    with serving(tmp_path, "--tenant-rate", "100000", before=IMPATIENT) as served:
        assert raw(served.address, head.encode() + b"x").startswith(b"HTTP/1.1 408 ")
        begin = time.monotonic()
        assert raw(served.address, b"") == b""
        assert raw(served.address, head.encode()[:40]) == b""
        assert time.monotonic() - begin < 15
        # A connection that is in use is not cut off.
        with httpx.Client(headers={"Authorization": f"Bearer {token}"}) as connection:
            for _ in range(4):
                assert connection.get(f"{served.address}/programs").status_code == 200
                time.sleep(0.2)
        # Answers that nobody reads end, too.
        host, _, port = served.address.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as deaf:
            ask = f"GET /openapi.json HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
            with suppress(OSError):
                deaf.settimeout(10)
                deaf.sendall(ask.encode() * 3000)
            for _ in range(100):
                if "answer not taken" in [line["outcome"] for line in served.audit()]:
                    break
                time.sleep(0.1)
            else:
                pytest.fail("the server still waits")
    assert list((tmp_path / "keys" / ".uploads").iterdir()) == []
    assert "Traceback" not in served.log


def test_a_client_that_goes_away_leaves_no_traceback(served: Served, tokens: dict[str, str], ask: Any) -> None:
    host, _, port = served.address.removeprefix("http://").partition(":")
    head = f"PUT /programs/both/keys/gone HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {tokens['acme']}\r\nContent-Length: 100000\r\n\r\n"
    with socket.create_connection((host, int(port))) as leaving:
        leaving.sendall(head.encode() + bytes(1000))
    for _ in range(100):
        if any(line.get("outcome") == "client left" for line in served.audit()):
            break
        time.sleep(0.1)
    else:
        pytest.fail("the server has not noticed")
    assert list((served.folder / "keys" / ".uploads").iterdir()) == []
    assert ask("GET", "/programs").status_code == 200
    assert "Traceback" not in served.log


# -- limits -------------------------------------------------------------------------------------------------------


def test_storage_queue_and_rate_are_limited(client: pf.Client, tmp_path: Path) -> None:
    tokens = tokens_in(tmp_path, "acme", "bits")
    headers = {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}
    key = client.evaluation_key.to_bytes()
    size = str(len(key) * 3 // 2)
    with serving(tmp_path, "--tenant-storage", size, "--tenant-queue", "1", "--tenant-rate", "4") as served:

        def put(name: str, tenant: str = "acme") -> Any:
            return httpx.put(
                f"{served.address}/programs/both/keys/{name}", content=key, headers=headers[tenant], timeout=60
            )

        assert put("one").status_code == 204
        assert put("two").status_code == 403
        # The same name replaces, and another tenant has storage of its own.
        assert put("one").status_code == 204
        assert put("two", "bits").status_code == 204
        time.sleep(1)
        # One request is under way, so there is no place for another of this tenant.
        host, _, port = served.address.removeprefix("http://").partition(":")
        head = f"PUT /programs/both/keys/one HTTP/1.1\r\nHost: x\r\nAuthorization: {headers['acme']['Authorization']}\r\nContent-Length: 9\r\n\r\n"
        with socket.create_connection((host, int(port))) as waiting:
            waiting.sendall(head.encode())
            for _ in range(20):
                time.sleep(0.5)
                refused = put("one")
                if refused.status_code == 429:
                    break
            assert refused.status_code == 429
            assert 1 <= int(refused.headers["retry-after"]) <= 60
            assert put("two", "bits").status_code == 204
        time.sleep(1)
        # All at once, as a computer with other work may send less than the rate.
        one = f"GET /programs HTTP/1.1\r\nHost: x\r\nAuthorization: {headers['acme']['Authorization']}\r\n"
        answers = raw(served.address, f"{one}\r\n".encode() * 60 + f"{one}Connection: close\r\n\r\n".encode())
        refused = answers.count(b"HTTP/1.1 429 ")
        assert refused > 0
        assert answers.count(b"HTTP/1.1 200 ") == 61 - refused > 0
        assert [int(pause) >= 1 for pause in re.findall(rb"retry-after: (\d+)", answers)] == [True] * refused
        # A client waits for its turn.
        remote = pf.RemoteServer(served.address, tokens["acme"], key="one")
        assert [remote.run("both", x=1, y=y) for y in (0, 1, 0, 1)] == [0, 1, 0, 1]


@pytest.mark.parametrize("accept", ["*/*", "text/event-stream"])
def test_an_execution_ends_when_its_client_leaves(accept: str, tmp_path: Path) -> None:
    token = tokens_in(tmp_path, "acme")["acme"]
    with serving(tmp_path, "--parallel", "1", programs=("slow", "both")) as served:
        remote = pf.RemoteServer(served.address, token)
        slow = remote.client("slow")
        request = slow.encrypt(x=[1] * 200).to_bytes()
        put = f"{served.address}/programs/slow/keys/k"
        headers = {"Authorization": f"Bearer {token}"}
        assert httpx.put(put, content=slow.evaluation_key.to_bytes(), headers=headers, timeout=60).status_code == 204
        line = f"POST /programs/slow:run?key=k HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nAccept: {accept}\r\n"
        host, _, port = served.address.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as leaving:
            leaving.sendall(f"{line}Content-Length: {len(request)}\r\n\r\n".encode() + request)
            time.sleep(1)
        begin = time.monotonic()
        assert remote.run("both", x=1, y=1) == 1
        assert time.monotonic() - begin < 30, "the worker was still busy"
        assert "client left" in [line["outcome"] for line in served.audit() if line["action"] == "run"]


# -- the server's own faults --------------------------------------------------------------------------------------


def test_faults_of_the_server_show_no_path_and_are_logged(client: pf.Client, tmp_path: Path) -> None:
    token = tokens_in(tmp_path, "acme")["acme"]
    headers = {"Authorization": f"Bearer {token}"}
    key, request = client.evaluation_key.to_bytes(), client.encrypt(x=1, y=1).to_bytes()
    with serving(tmp_path) as served:
        path = tmp_path / "keys" / "both" / "a@acme.server.key"
        path.mkdir()
        faults = [httpx.put(f"{served.address}/programs/both/keys/a", content=key, headers=headers, timeout=60)]
        path.rmdir()
        path.write_bytes(key[:-1])
        faults.append(
            httpx.post(f"{served.address}/programs/both:run?key=a", content=request, headers=headers, timeout=60)
        )
        shutil.rmtree(tmp_path / "keys" / ".uploads")
        faults.append(httpx.put(f"{served.address}/programs/both/keys/b", content=key, headers=headers, timeout=60))
        for fault in faults:
            assert fault.status_code == 500
            assert str(tmp_path) not in fault.text
            assert ".key" not in fault.text
        assert served.log.count("Traceback") >= len(faults)
        for line in served.audit():
            assert set(line) <= {
                "time",
                "tenant",
                "address",
                "action",
                "program",
                "key",
                "bytes_in",
                "bytes_out",
                "outcome",
                "seconds",
            }
        assert [line["outcome"] for line in served.audit()] == [500] * 3


def test_wrong_calls_of_the_command(polyfabric: Any, tmp_path: Path) -> None:
    (tmp_path / "served.py").write_text(PROGRAMS)
    good = ["serve", "served.py:both", "--keys", "keys", "--tokens", "tokens.txt", "--port", "0"]
    assert polyfabric(*good).status == 2
    (tmp_path / "tokens.txt").write_text("# none\n")
    assert polyfabric(*good).status == 2
    (tmp_path / "tokens.txt").write_text("acme short\n")
    assert "tokens.txt:1" in polyfabric(*good).err
    assert polyfabric("token", "Acme Inc", "--tokens", "other.txt").status == 2
    assert polyfabric("token", "acme", "--tokens", "tokens.txt").status == 2
    (tmp_path / "tokens.txt").unlink()
    token = polyfabric("token", "acme", "--tokens", "tokens.txt").out.strip()
    assert token
    assert polyfabric("token", "acme", "--tokens", "tokens.txt", "--out", "acme.token").out == ""
    kept = (tmp_path / "acme.token").read_text().strip()
    assert (tmp_path / "acme.token").stat().st_mode & 0o777 == 0o600
    lines = (tmp_path / "tokens.txt").read_text()
    assert [hashlib.sha256(one.encode()).hexdigest() for one in (token, kept)] == lines.split()[1::2]
    for out in ("acme.token", "tokens.txt", "missing/acme.token", "."):
        assert polyfabric("token", "acme", "--tokens", "tokens.txt", "--out", out).status == 2
    assert (tmp_path / "tokens.txt").read_text() == lines
    assert token not in (tmp_path / "tokens.txt").read_text()
    for more in (
        ("--host", "0.0.0.0"),
        ("--tls-cert", "cert.pem"),
        ("--tenant-rate", "nan"),
        ("--tls-cert", "served.py", "--tls-key", "served.py"),
        ("--host", "no.such.host.invalid", "--plain-http"),
        ("--host", "192.0.2.1", "--plain-http"),
        ("--key-memory", "much"),
        ("--params", "nothing"),
    ):
        done = polyfabric(*good, *more)
        assert done.status == 2, (more, done.err)
        assert "Traceback" not in done.err
    done = polyfabric("serve", "served.py:both", *good[1:])
    assert (done.status, "'both'" in done.err) == (2, True)


def test_a_folder_has_one_server(served: Served, folder: Path, polyfabric: Any) -> None:
    done = polyfabric(
        "serve",
        str(folder / "served.py:both"),
        "--keys",
        str(folder / "keys"),
        "--tokens",
        str(folder / "tokens.txt"),
        "--port",
        "0",
    )
    assert done.status == 2
    assert str(folder / "keys") in done.err


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl for a certificate")
def test_tls(tmp_path: Path) -> None:
    token = tokens_in(tmp_path, "acme")["acme"]
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "2"]
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", *subject]
    subprocess.run([*make, "-keyout", "key.pem", "-out", "cert.pem"], cwd=tmp_path, check=True, capture_output=True)
    options = ("--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem"))
    with serving(tmp_path, *options, programs=("both", "slow")) as served:
        assert served.address.startswith("https://")
        assert pf.RemoteServer(served.address, token, ca=tmp_path / "cert.pem").run("both", x=1, y=1) == 1
        # A refusal arrives although the client is still sending.
        connection = pf.RemoteServer(served.address, token, ca=tmp_path / "cert.pem")._connection
        assert connection.ask("POST", "/programs/slow:run?key=missing", bytes(6_000_000)).status == 404
        with pytest.raises(pf.errors.RunError):
            pf.RemoteServer(served.address, token).programs()
        with pytest.raises(pf.errors.RunError):
            pf.RemoteServer(served.address.replace("https", "http"), token).programs()
