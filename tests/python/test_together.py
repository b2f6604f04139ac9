"""Several requests in one execution: each has the answer, byte for byte, or the error that it has alone."""

from __future__ import annotations

from threading import Event
from typing import Any

import polyfabric as pf
import pytest


@pf.program(x=pf.Bool, y=pf.Bool.vector(3))
def bits(x, y):
    return {"all": x & y[0] & y[1], "some": y ^ x}


@pf.program(x=pf.Mod(65537).vector(4))
def residues(x):
    return x * x


def sides(program: pf.Program, **options: Any) -> tuple[pf.Client, pf.Server]:
    client = pf.Client(pf.Specification.of(program, **options), security=0)
    return client, pf.Server(program, client.evaluation_key, threads=1, **options)


@pytest.fixture(scope="module")
def made() -> tuple[pf.Client, pf.Server]:
    return sides(bits)


INPUTS = [{"x": n & 1, "y": [n >> 1 & 1, n >> 2 & 1, n >> 3]} for n in (15, 0, 7, 9, 14)]


def expected(x: int, y: list[int]) -> dict[str, Any]:
    return {"all": x & y[0] & y[1], "some": [x ^ one for one in y]}


def plain(found: dict[str, Any]) -> dict[str, Any]:
    return {"all": int(found["all"]), "some": [int(one) for one in found["some"]]}


def test_answers_are_those_of_single_executions(made: tuple[pf.Client, pf.Server]) -> None:
    client, server = made
    requests = [client.encrypt(one) for one in INPUTS]
    assert server.together > 1
    found = server.outcomes(requests)
    assert [one.to_bytes() for one in found] == [server.execute(one).to_bytes() for one in requests]
    assert [plain(client.decrypt(one)) for one in found] == [expected(**one) for one in INPUTS]
    # More than one execution takes.
    many = requests * 4
    assert [one.to_bytes() for one in server.execute_batch(many)] == [one.to_bytes() for one in found] * 4
    assert server.execute_batch([]) == []


def test_an_error_is_that_of_its_own_request(made: tuple[pf.Client, pf.Server]) -> None:
    client, server = made
    right = client.encrypt(INPUTS[0])
    foreign = pf.Client(client.specification, security=0).encrypt(INPUTS[0])
    mixed = pf.Ciphertexts({**right.parts, "x": foreign.parts["x"]}, ".in.ct")
    less = pf.Ciphertexts({"x": right.parts["x"]}, ".in.ct")
    damaged = bytearray(right.parts["y"])
    damaged[len(damaged) // 2] ^= 1
    cut = pf.Ciphertexts({**right.parts, "y": bytes(damaged)}, ".in.ct")
    swapped = pf.Ciphertexts({"x": right.parts["y"], "y": right.parts["x"]}, ".in.ct")
    answer = server.execute(right)
    wrong: list[Any] = [foreign, mixed, less, cut, swapped, answer]
    for one in wrong:
        with pytest.raises(pf.errors.Error) as alone:
            server.execute(one)
        found = server.outcomes([right, one, right])
        assert [found[0].to_bytes(), found[2].to_bytes()] == [answer.to_bytes()] * 2
        assert type(found[1]) is alone.type
        with pytest.raises(alone.type):
            server.execute_batch([right, one])
    assert all(isinstance(one, pf.errors.Error) for one in server.outcomes(wrong))


def test_what_all_together_lack_each_may_have(made: tuple[pf.Client, pf.Server]) -> None:
    client, server = made
    requests = [client.encrypt(one) for one in INPUTS[:2]]
    # An own plan, whose executions of several requests need more memory than there is.
    tight = pf.Server(bits, client.evaluation_key, threads=1)
    tight._plan._server_bytes[2] = 1 << 60
    assert [one.to_bytes() for one in tight.outcomes(requests)] == [server.execute(one).to_bytes() for one in requests]


def test_progress_is_that_of_all_and_cancelling_ends_all(made: tuple[pf.Client, pf.Server]) -> None:
    client, server = made
    requests, reports, cancel = [client.encrypt(one) for one in INPUTS], [], Event()
    server.outcomes(requests, progress=lambda *report: reports.append(report))
    assert {done <= total for _, done, total in reports} == {True}
    assert max(total for stage, _, total in reports if stage == "blind rotation") >= len(requests)
    cancel.set()
    with pytest.raises(pf.errors.CancelledError):
        server.outcomes(requests, cancel=cancel)

    def leave(*_: Any) -> None:
        raise KeyError("left")

    with pytest.raises(KeyError):
        server.execute_batch(requests, progress=leave)


def test_hidden_weights_and_public_inputs_are_those_of_each_request() -> None:
    client, server = sides(bits, circuit_privacy=6, public=True)
    encryptor = pf.Encryptor(client.specification, client.public_key, security=0)
    requests = [*(encryptor.encrypt(one) for one in INPUTS[:2]), client.encrypt(INPUTS[2])]
    found = server.execute_batch(requests)
    assert [plain(client.decrypt(one)) for one in found] == [expected(**one) for one in INPUTS[:3]]


def test_programs_on_slots_execute_requests_one_after_the_other() -> None:
    client, server = sides(residues)
    requests = [client.encrypt(x=[n, n + 1, 65536, 2]) for n in range(3)]
    foreign = pf.Client(client.specification, security=0).encrypt(x=[1, 1, 1, 1])
    assert server.together == 1
    found = server.outcomes([*requests, foreign])
    assert [one.to_bytes() for one in found[:3]] == [server.execute(one).to_bytes() for one in requests]
    assert [[v % 65537 for v in client.decrypt(one)] for one in found[:3]] == [
        [n * n, (n + 1) * (n + 1), 1, 4] for n in range(3)
    ]
    assert isinstance(found[3], pf.errors.Error)


def test_a_map_here_has_the_results_in_order() -> None:
    seen: list[tuple[str, int, int]] = []
    found = bits.map(INPUTS * 2, progress=lambda *report: seen.append(report))
    assert [plain(one) for one in found] == [expected(**one) for one in INPUTS * 2]
    assert seen[-1] == ("batch", 10, 10)
