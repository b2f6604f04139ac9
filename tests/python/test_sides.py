"""A client with a specification and a server with an evaluation key work together through bytes and files alone."""

from __future__ import annotations

import io
import json
import logging
import threading
import time
import warnings
import zipfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from rejects import rejects
from values import expect_close

SECRET_WEIGHTS = [3, -1, 2]


@pf.program(x=pf.Int(0, 3).vector(3), n=pf.UInt(6), t=pf.Text(2))
def elements(x, n, t):
    return {"score": pf.lookup(pf.dot(SECRET_WEIGHTS, x), lambda v: max(v, 0)), "more": n + 1, "same": t == "ab"}


@pf.program(x=pf.Real.vector(4))
def reals(x):
    return x * x + 0.5


@pf.program(x=pf.Mod(786433).vector(4), y=pf.Mod(786433).vector(4))
def residues(x, y):
    return x * y


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "tfhe": (elements, {"x": [1, 2, 3], "n": 63, "t": "ab"}),
    "ckks": (reals, {"x": [0.5, -0.25, 0.0, 1.0]}),
    "bgv": (residues, {"x": [1, 2, 3, 4], "y": [5, 6, 7, 8]}),
}


@pytest.fixture(scope="module")
def sides() -> dict[str, tuple[pf.Client, pf.Server]]:
    made = {}
    for scheme, (program, _) in CASES.items():
        client = pf.Client(pf.Specification.of(program))
        made[scheme] = (client, pf.Server(program, client.evaluation_key))
    return made


def expect(program: Any, inputs: dict[str, Any], found: Any) -> None:
    expect_close(found, program.clear(inputs), atol=1e-6 if program.scheme == "ckks" else 0.0)


@pytest.mark.parametrize(("scheme", "other"), [("tfhe", "ckks"), ("ckks", "tfhe"), ("ckks", "bgv"), ("bgv", "tfhe")])
def test_keys_of_another_scheme_are_reported(scheme: str, other: str, sides: Any, tmp_path: Any) -> None:
    program, client = CASES[scheme][0], sides[other][0]
    expected = (
        rf"a {other.upper()} file, but the program is for {scheme.upper()}; use keys that were made for this program"
    )
    specification = sides[scheme][0].specification
    file = tmp_path / "client.key"
    client.save(file)
    for make in (
        lambda: pf.Client.load(specification, file),
        lambda: pf.Client.from_bytes(specification, client.to_bytes()),
        lambda: pf.Server(program, client.evaluation_key),
    ):
        with pytest.raises(pf.errors.FileError, match=expected):
            make()


@pf.program(x=pf.Real.vector(4), y=pf.Real.vector(4))
def first_of_reals(x, y):
    return x * 2


@pf.program(x=pf.Mod(65537).vector(4), y=pf.Mod(65537).vector(4))
def first_of_residues(x, y):
    return x * 2


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize(("program", "parameters"), [(first_of_reals, "toy-10"), (first_of_residues, "bgv-toy-1024")])
def test_inputs_that_no_result_depends_on_have_no_ciphertext(
    program: Any, parameters: str, public: bool, tmp_path: Any
) -> None:
    given = {"x": [1, 0, -1, 1], "y": [1, 1, 1, 1]}
    specification = pf.Specification.of(program, parameters, public=public)
    specification = pf.Specification.from_bytes(specification.to_bytes())
    client = pf.Client(specification, security=0)
    sender = pf.Encryptor(specification, client.public_key, security=0) if public else client
    if public and specification.context.names(outputs=False) == ["x"]:
        with pytest.raises(pf.errors.InputError):
            sender.encrypt(y=given["y"])
    server = pf.Server(program, client.evaluation_key, parameters=parameters, public=public)
    np.testing.assert_allclose(client.decrypt(server.execute(sender.encrypt(given))), [2, 0, -2, 2], atol=1e-4)
    steps = program.in_folder(tmp_path, parameters=parameters, public=public)
    steps.make_keys()
    if public:
        (tmp_path / "client.key").rename(tmp_path / "away")
    steps.encrypt(given)
    if public:
        (tmp_path / "away").rename(tmp_path / "client.key")
    steps.execute()
    np.testing.assert_allclose(steps.decrypt().value, [2, 0, -2, 2], atol=1e-4)
    assert (tmp_path / "x.in.ct").exists()


def test_a_batch_whose_tables_read_some_digits_of_an_input_needs_no_others(tmp_path: Any) -> None:
    """Bytes have four residues as digits, of which the high bits are two."""
    batch = pf.program(byte=pf.Int(0, 255))(lambda byte: pf.lookup(byte, lambda value: value >> 4 == 3)).in_batches(
        4, longest_table=16
    )
    planned = batch.plan(parameters="toy-10-lookup")
    specification = pf.Specification._of(planned)
    assert pf.Specification.from_bytes(specification.to_bytes()).context.names(outputs=False) == planned.context.names(
        outputs=False
    )
    assert 0 < len(planned.context.names(outputs=False)) < len(batch.flatten({"byte": [1, 48, 255, 50]}))


def test_a_vector_of_slots_holds_one_element_of_a_batch() -> None:
    batch = pf.program(x=pf.Int(0, 1).vector(2))(lambda x: x[0] + x[1]).in_batches(2, longest_table=16)
    planned = batch.plan(parameters="toy-10-lookup")
    given = json.loads(pf.Specification._of(planned).to_bytes())
    pf.Specification.from_bytes(json.dumps(given).encode())
    elements = given["shapes"]["inputs"][0][2]
    elements[1] = elements[0]
    with pytest.raises(pf.errors.FileError):
        pf.Specification.from_bytes(json.dumps(given).encode())


def test_a_batch_may_have_fewer_inputs() -> None:
    rows = pf.program(x=pf.Int(0, 3), y=pf.Int(0, 3).vector(2))(
        lambda x, y: {"x": pf.lookup(x, [2, 0, 3, 1]), "y": y + y}
    )
    batch = rows.in_batches(5)
    client = pf.Client(pf.Specification.of(batch, "toy-10-lookup"), security=0)
    server = pf.Server(batch, client.evaluation_key, parameters="toy-10-lookup")
    x, y = np.array([1, 2, 0]), [[1, 2], [3, 0], [0, 1]]
    answer = server.execute(client.encrypt(x=x, y=y))
    found = client.decrypt(answer, inputs=3)
    assert found == {"x": [0, 3, 2], "y": [[2, 4], [6, 0], [0, 2]]}
    whole = client.decrypt(answer)
    assert {name: values[:3] for name, values in whole.items()} == found
    assert {len(values) for values in whole.values()} == {5}
    for wrong in ({"x": [1], "y": y}, {"x": [], "y": []}, {"x": [1] * 6, "y": [[1, 1]] * 6}, {"x": 1, "y": [1, 1]}):
        with pytest.raises(pf.errors.InputError):
            client.encrypt(wrong)
    for count in (0, 6, "3"):
        with pytest.raises(pf.errors.InputError):
            client.decrypt(answer, inputs=count)
    # A sum needs all inputs of a batch.
    total = pf.program(x=pf.Int(0, 3))(lambda x: pf.lookup(x, [2, 0, 3, 1])).in_batches(5, summed="result")
    with pytest.raises(pf.errors.InputError):
        pf.Client(pf.Specification.of(total, "toy-10-lookup"), security=0).encrypt(x=[1, 2])


def test_a_violated_assumption_is_reported_by_the_programs_owner() -> None:
    """As documented: a client, which has no program, encrypts the input, and other numbers are decrypted."""
    program = pf.program(x=pf.Int(0, 7))(lambda x: pf.lookup((x * 3).assume(pf.Int(0, 9)), lambda v: v))
    with pytest.raises(pf.errors.InputError):
        program.run({"x": 7})
    client = pf.Client(pf.Specification.of(program))
    server = pf.Server(program, client.evaluation_key)
    assert client.decrypt(server.execute(client.encrypt(x=3))) == 9
    # Another number of the promised range.
    assert client.decrypt(server.execute(client.encrypt(x=7))) in range(10)


@pytest.mark.parametrize("scheme", CASES)
def test_everything_goes_through_bytes(scheme: str, sides: Any) -> None:
    program, inputs = CASES[scheme]
    client, _ = sides[scheme]
    # The client's side knows the specification's bytes alone, the server's the program and what the client sent.
    spec = pf.Specification.from_bytes(client.specification.to_bytes())
    own = pf.Client.from_bytes(spec, client.to_bytes())
    request = own.encrypt(inputs).to_bytes()
    server = pf.Server(program, pf.EvaluationKey.from_bytes(client.evaluation_key.to_bytes()))
    answer = server.execute(pf.Ciphertexts.from_bytes(request)).to_bytes()
    expect(program, inputs, own.decrypt(pf.Ciphertexts.from_bytes(answer)))


@pytest.mark.parametrize("scheme", CASES)
def test_everything_goes_through_files(scheme: str, sides: Any, tmp_path: Any) -> None:
    program, inputs = CASES[scheme]
    client, _ = sides[scheme]
    client.specification.save(tmp_path / "program.spec")
    client.save(tmp_path / "client.key")
    client.evaluation_key.save(tmp_path / "server.key")
    assert (tmp_path / "client.key").stat().st_mode & 0o077 == 0
    own = pf.Client.load(pf.Specification.load(tmp_path / "program.spec"), tmp_path / "client.key")
    own.encrypt(inputs).save(tmp_path)
    server = pf.Server(program, pf.EvaluationKey.load(tmp_path / "server.key"))
    server.execute(pf.Ciphertexts.load(tmp_path)).save(tmp_path)
    expect(program, inputs, own.decrypt(pf.Ciphertexts.load(tmp_path, outputs=True)))


def test_a_specification_of_tfhe_does_not_hold_the_program() -> None:
    spec = pf.Specification.of(elements)
    text = spec.to_bytes().decode()
    assert "lookup" not in text
    assert "linear" not in text
    # Another program with the same types has another hash, and nothing else that differs.
    other = pf.program("elements", x=pf.Int(0, 3).vector(3), n=pf.UInt(6), t=pf.Text(2))(
        lambda x, n, t: {
            "score": pf.lookup(pf.dot([2, -1, 3], x), lambda v: max(v, 0)),
            "more": n + 1,
            "same": t == "ab",
        }
    )
    one, two = json.loads(text), json.loads(pf.Specification.of(other).to_bytes())
    assert one["signature"].pop("hash") != two["signature"].pop("hash")
    assert one == two


@pytest.mark.parametrize("scheme", ["ckks", "bgv"])
def test_a_specification_of_slots_does_not_hold_the_program(scheme: str) -> None:
    kind = pf.Real.vector(4) if scheme == "ckks" else pf.Mod(786433).vector(4)

    def made(weights: list[int]) -> dict[str, Any]:
        program = pf.program("scored", x=kind)(lambda x: x * x * np.asarray(weights))
        return json.loads(pf.Specification.of(program).to_bytes())

    one, two = made([3, 1, 2, 7]), made([7, 2, 1, 3])
    assert one["signature"].pop("hash") != two["signature"].pop("hash")
    assert one == two
    assert set(one) == {"format", "version", "program", "scheme", "signature", "shapes", "key_bytes", "public"}
    assert set(one["signature"]) == {"program", "slots", "parameters", "inputs", "outputs", "keys"}


def test_a_client_of_slots_decrypts_results_of_programs_only(sides: Any) -> None:
    client, server = sides["ckks"]
    answer = server.execute(client.encrypt(CASES["ckks"][1]))
    with pytest.raises(pf.errors.InputError):
        client.decrypt(answer, inputs=1)
    found = client.decrypt(answer)
    np.testing.assert_allclose(found, [0.75, 0.5625, 0.5, 1.5], atol=1e-6)
    # An answer with another's polynomial in it is none.
    other = pf.Client(client.specification)
    with pytest.raises(pf.errors.FileError, match="key generation"):
        other.decrypt(answer)


def test_a_specification_with_impossible_figures_is_refused(sides: Any) -> None:
    def changed(change: Any) -> bytes:
        data = json.loads(sides["ckks"][0].specification.to_bytes())
        change(data)
        return json.dumps(data).encode()

    def port(data: Any) -> Any:
        return data["signature"]["inputs"][0]

    for change, message in (
        (lambda data: data["signature"].update(slots=3), "the number of slots is 3"),
        (lambda data: port(data).update(limbs=[0, 900]), "the list of limbs"),
        (lambda data: port(data).update(parts=9), "the number of parts"),
        (lambda data: port(data)["encoding"]["ckks"].update(level=99), "the level of"),
        (lambda data: port(data)["encoding"]["ckks"].update(scale=0.0), "the scale of"),
        (lambda data: data["signature"]["inputs"].append(port(data)), "there twice"),
        (lambda data: data["signature"]["keys"][0].update(id={"galois": 2}), "cannot be read|an automorphism"),
        (lambda data: data["signature"]["parameters"]["ckks"].update(noise_std=-1.0), "the signature of reals"),
        (lambda data: data["shapes"]["inputs"].pop("x"), "damaged specification"),
        (lambda data: data["shapes"]["inputs"]["x"].update(length=1 << 40), "damaged specification"),
        (lambda data: data.pop("key_bytes"), "damaged specification"),
        (
            lambda data: data.update(key_bytes=0),
            r"damaged specification \(ValueError: the keys take \d+ bytes, but 0 are stated\)",
        ),
        (
            lambda data: data["signature"].update(keys=3 * data["signature"]["keys"]),
            "the relinearisation key is there twice",
        ),
        (lambda data: data.pop("public"), "damaged specification"),
        (lambda data: data.update(public=1), "damaged specification"),
        (lambda data: data.update(scheme="bgv"), "damaged specification"),
    ):
        with pytest.raises(pf.errors.FileError, match=message):
            pf.Specification.from_bytes(changed(change))


def test_ciphertexts_of_another_program_client_or_direction_are_refused(sides: Any) -> None:
    client, server = sides["tfhe"]
    inputs = CASES["tfhe"][1]
    same_types = pf.program("elements", x=pf.Int(0, 3).vector(3), n=pf.UInt(6), t=pf.Text(2))(
        lambda x, n, t: {"score": pf.lookup(pf.dot([2, -1, 3], x), abs), "more": n + 1, "same": t == "ab"}
    )
    with pytest.raises(pf.errors.FileError, match="program"):
        server.execute(pf.Client(pf.Specification.of(same_types)).encrypt(inputs))
    with pytest.raises(pf.errors.FileError, match="key generation"):
        server.execute(pf.Client(client.specification).encrypt(inputs))
    request = client.encrypt(inputs)
    with pytest.raises(pf.errors.InputError, match="inputs"):
        client.decrypt(request)
    with pytest.raises(pf.errors.InputError, match="outputs"):
        server.execute(pf.Ciphertexts(request.parts, ".out.ct"))
    with pytest.raises(pf.errors.FileError, match="program"):
        client.decrypt(pf.Ciphertexts({"score": request.parts["x"]}, ".out.ct"))


def test_damaged_and_foreign_bytes_are_refused(sides: Any) -> None:
    client, server = sides["tfhe"]
    request = client.encrypt(CASES["tfhe"][1])
    damaged = bytearray(request.parts["x"])
    damaged[-40] ^= 1
    with pytest.raises(pf.errors.FileError, match=r"checksum|damaged"):
        server.execute(pf.Ciphertexts({**request.parts, "x": bytes(damaged)}, ".in.ct"))
    for data in (b"", b"nothing", request.to_bytes()[:100]):
        with pytest.raises(pf.errors.FileError, match="not an archive of ciphertexts"):
            pf.Ciphertexts.from_bytes(data)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.in.ct", bytes(1 << 20))
    with rejects(pf.errors.FileError, "compressed"):
        pf.Ciphertexts.from_bytes(buffer.getvalue())
    with pytest.raises(pf.errors.FileError, match="bytes"):
        pf.Server(elements, pf.EvaluationKey.from_bytes(b"no key"))
    for data in (
        b"{",
        b"[]",
        b'{"format": "polyfabric-specification", "version": 2, "program": "x", "scheme": "tfhe"}',
    ):
        with pytest.raises(pf.errors.FileError, match="get it"):
            pf.Specification.from_bytes(data)
    with pytest.raises(pf.errors.FileError, match="version"):
        pf.Specification.from_bytes(b'{"format": "polyfabric-specification", "version": 3}')


def test_wrong_kinds_are_reported(sides: Any) -> None:
    client, _ = sides["tfhe"]
    with pytest.raises(pf.errors.InputError, match=r"pf\.Specification\.of\(program\)"):
        pf.Client(elements)  # type: ignore[arg-type]
    with pytest.raises(pf.errors.InputError, match=r"use client\.evaluation_key"):
        pf.Server(elements, client)  # type: ignore[arg-type]
    with rejects(pf.errors.InputError, "@pf.program"):
        pf.Specification.of(len)  # type: ignore[arg-type]


def test_bytes_and_folders_of_the_other_direction_are_reported(sides: Any, tmp_path: Any) -> None:
    (client, server), (_, inputs) = sides["ckks"], CASES["ckks"]
    request = client.encrypt(inputs)
    answer = server.execute(request)
    with rejects(pf.errors.InputError, "bytes", "pf.Ciphertexts"):
        server.execute(request.to_bytes())
    with rejects(pf.errors.InputError, "bytes", "pf.Ciphertexts"):
        client.decrypt(answer.to_bytes())
    answer.save(tmp_path)
    with rejects(pf.errors.FileError, "outputs=True"):
        pf.Ciphertexts.load(tmp_path)
    found = client.decrypt(pf.Ciphertexts.load(tmp_path, outputs=True))
    np.testing.assert_allclose(found, client.decrypt(answer))


@pytest.mark.parametrize("scheme", CASES)
def test_a_batch_is_logged_with_its_times_and_sizes(scheme: str, sides: Any, caplog: pytest.LogCaptureFixture) -> None:
    program, inputs = CASES[scheme]
    client, server = sides[scheme]
    caplog.set_level(logging.INFO, logger="polyfabric.server")
    stages: list[str] = []
    answers = server.execute_batch(
        [client.encrypt(inputs), client.encrypt(inputs)], progress=lambda stage, _done, _total: stages.append(stage)
    )
    for answer in answers:
        expect(program, inputs, client.decrypt(answer))
    assert stages
    assert {record.program for record in caplog.records} == {program.name}
    assert sum(record.requests for record in caplog.records) == 2
    assert all(record.seconds > 0 and record.bytes_in > 0 and record.bytes_out > 0 for record in caplog.records)


@pytest.mark.parametrize("scheme", CASES)
def test_a_hooks_exception_ends_the_execution_and_the_server_continues(scheme: str, sides: Any) -> None:
    program, inputs = CASES[scheme]
    client, server = sides[scheme]
    request = client.encrypt(inputs)

    def hook(_stage: str, _done: int, _total: int) -> None:
        raise LookupError("no more of this")

    with pytest.raises(LookupError, match="no more of this"):
        server.execute(request, progress=hook)
    wanted = threading.Event()
    wanted.set()
    with pytest.raises(pf.errors.CancelledError, match="start it again"):
        server.execute(request, cancel=wanted)
    expect(program, inputs, client.decrypt(server.execute(request)))


@pytest.mark.parametrize("scheme", CASES)
def test_a_hook_that_cannot_be_called_is_refused_before_the_work(scheme: str, sides: Any) -> None:
    client, server = sides[scheme]
    request = client.encrypt(CASES[scheme][1])
    wrong: Any = 5
    for refused in (
        lambda: server.execute(request, progress=wrong),
        lambda: server.execute(request, progress=wrong, cancel=threading.Event()),
        lambda: pf.Client(client.specification).make_evaluation_key(wrong),
    ):
        with rejects(pf.errors.InputError, "progress=5"):
            refused()


def test_an_execution_that_a_hook_has_ended_ends_no_other_one() -> None:
    @pf.program(x=pf.UInt(8), y=pf.UInt(8))
    def larger(x: pf.Value, y: pf.Value) -> pf.Value:
        return pf.max(x, y)

    client = pf.Client(pf.Specification.of(larger))
    server = pf.Server(larger, client.evaluation_key)
    request = client.encrypt({"x": 3, "y": 200})

    def hook(_stage: str, _done: int, _total: int) -> None:
        # Called again, from the threads that are still at work, before these have seen that nobody wants more.
        raise LookupError("no more of this")

    for _ in range(3):
        with pytest.raises(LookupError, match="no more of this"):
            server.execute(request, progress=hook)
        assert client.decrypt(server.execute(request)) == 200


def test_a_store_keeps_no_more_in_memory_than_it_may(tmp_path: Any) -> None:
    spec = pf.Specification.of(reals)
    clients = {name: pf.Client(spec) for name in ("ada", "bob", "eve")}
    store = pf.KeyStore(reals, tmp_path, most_bytes=1)
    one = pf.Server(reals, clients["ada"].evaluation_key).key_bytes
    for name, client in clients.items():
        store.put(name, client.evaluation_key)
        assert store.bytes == one
    # Those that went are read again.
    for name, client in clients.items():
        answer = store.server(name).execute(client.encrypt({"x": [0.5] * 4}))
        np.testing.assert_allclose(client.decrypt(answer), [0.75] * 4, atol=1e-6)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{name}.server.key" for name in clients]
    with rejects(pf.errors.InputError, "'mallory'"):
        store.server("mallory")
    with rejects(pf.errors.InputError, "'../ada'"):
        store.server("../ada")
    # A key that does not serve the program does not replace one that does.
    with pytest.raises(pf.errors.ParameterError):
        store.put("ada", pf.Client(pf.Specification.of(reals, "ckks-depth-4")).evaluation_key)
    store.server("ada").execute(clients["ada"].encrypt({"x": [0.5] * 4}))


def test_a_store_serves_no_key_older_than_the_last_one_put(tmp_path: Any, monkeypatch: Any) -> None:
    spec = pf.Specification.of(reals)
    old, new, other = (pf.Client(spec) for _ in range(3))
    store = pf.KeyStore(reals, tmp_path, most_bytes=1)
    store.put("ada", old.evaluation_key)
    store.put("bob", other.evaluation_key)
    load = pf.EvaluationKey.load

    def meanwhile(path: Any) -> pf.EvaluationKey:
        found = load(path)
        monkeypatch.setattr(pf.EvaluationKey, "load", load)
        pf.KeyStore(reals, tmp_path).put("ada", new.evaluation_key)
        return found

    monkeypatch.setattr(pf.EvaluationKey, "load", meanwhile)
    answer = store.server("ada").execute(new.encrypt({"x": [0.5] * 4}))
    np.testing.assert_allclose(new.decrypt(answer), [0.75] * 4, atol=1e-6)


def test_a_store_counts_transformed_keys(tmp_path: Any) -> None:
    spec, inputs = pf.Specification.of(elements), CASES["tfhe"][1]
    clients = {name: pf.Client(spec) for name in ("ada", "bob")}
    fresh = pf.Server(elements, clients["ada"].evaluation_key).key_bytes
    store = pf.KeyStore(elements, tmp_path, most_bytes=2 * fresh)
    for name, client in clients.items():
        store.put(name, client.evaluation_key)
    assert store.bytes == 2 * fresh
    server = store.server("bob")
    server.execute(clients["bob"].encrypt(inputs))
    assert store.server("bob") is server
    assert store.bytes == server.key_bytes > fresh
    # The other one has gone, and is read again.
    store.server("ada")
    assert store.bytes == fresh


def test_two_stores_on_one_folder_serve_the_last_key(tmp_path: Any) -> None:
    spec, inputs = pf.Specification.of(reals), {"x": [0.5] * 4}
    old, new = (pf.Client(spec) for _ in range(2))
    one, other = (pf.KeyStore(reals, tmp_path) for _ in range(2))
    one.put("ada", old.evaluation_key)
    held = other.server("ada")
    assert other.server("ada") is held
    one.put("ada", new.evaluation_key)
    for store in (one, other):
        answer = store.server("ada").execute(new.encrypt(inputs))
        np.testing.assert_allclose(new.decrypt(answer), [0.75] * 4, atol=1e-6)
    # A client whose file is gone has no key any more.
    (tmp_path / "ada.server.key").unlink()
    with rejects(pf.errors.InputError, "'ada'"):
        other.server("ada")


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_store_reads_a_key_once_for_many_requests(at_once: int, tmp_path: Any, monkeypatch: Any) -> None:
    """And as many at once as `most_bytes` has room for: the others wait."""
    spec, load = pf.Specification.of(reals), pf.EvaluationKey.load
    first = pf.KeyStore(reals, tmp_path)
    for name in ("ada", "bob"):
        first.put(name, pf.Client(spec).evaluation_key)
    one = first.bytes // 2
    store = pf.KeyStore(reals, tmp_path, most_bytes=at_once * one)
    reading, most, begin = [], [], threading.Barrier(8)

    def slowly(path: Any) -> pf.EvaluationKey:
        reading.append(path)
        time.sleep(0.2)
        most.append(len(reading))
        found = load(path)
        reading.remove(path)
        return found

    def ask(name: str) -> pf.Server:
        begin.wait()
        return store.server(name)

    monkeypatch.setattr(pf.EvaluationKey, "load", slowly)
    with ThreadPoolExecutor(8) as pool:
        servers = set(pool.map(ask, ["ada", "bob"] * 4))
    assert max(most) == at_once
    # A store without room for both reads one again when it has gone.
    assert at_once == 1 or len(most) == len(servers) == 2


def test_a_store_tells_its_bytes_while_servers_come_and_go(tmp_path: Any) -> None:
    spec = pf.Specification.of(reals)
    keys = {name: pf.Client(spec).evaluation_key for name in ("ada", "bob", "eve")}
    store = pf.KeyStore(reals, tmp_path, most_bytes=1)
    with ThreadPoolExecutor(1) as pool:
        puts = pool.submit(lambda: [store.put(name, key) for _ in range(5) for name, key in keys.items()])
        sizes = {store.bytes}
        while not puts.done():
            sizes.add(store.bytes)
        puts.result()
    assert sizes <= {0, store.bytes}


@pytest.mark.parametrize("kind", ["elements", "slots"])
def test_a_weak_set_is_warned_of_wherever_its_keys_are_used(kind: str, tmp_path: Any) -> None:
    """Also if the encrypting party did not name the set: the keys' folder does."""
    program, inputs, weak, options = {
        "elements": (pf.program(x=pf.Bool)(lambda x: ~x), {"x": 1}, "toy-256", {"max_failure": 0}),
        "slots": (reals, CASES["ckks"][1], "toy-12", {}),
    }[kind]
    program.in_folder(tmp_path, parameters=weak, **options).make_keys()
    found = pf.Keys.load(tmp_path)
    client = pf.Client(pf.Specification.of(program, weak), security=0)
    for use in (
        lambda: program.in_folder(tmp_path, **options).encrypt(inputs),
        lambda: program.in_folder(tmp_path, parameters=weak, **options).encrypt(inputs),
        lambda: program.in_folder(tmp_path, **options).execute(),
        lambda: program.in_folder(tmp_path, **options).decrypt().value,
        lambda: program.run(inputs, keys=found, **options),
        lambda: pf.Server(program, client.evaluation_key, parameters=weak),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            use()
        assert [warning.category for warning in caught] == [pf.errors.SecurityWarning], use
        assert weak in str(caught[0].message)


def test_a_key_is_not_saved_over_another(tmp_path: Any) -> None:
    path = tmp_path / "client.key"
    client, other = (pf.Client(pf.Specification.of(elements)) for _ in range(2))
    client.save(path)
    client.save(path)
    with rejects(pf.errors.FileError, "client.key"):
        other.save(path)
    assert path.read_bytes() == client.to_bytes()


def test_a_server_transforms_a_key_once() -> None:
    client = pf.Client(pf.Specification.of(elements))
    server = pf.Server(elements, client.evaluation_key)
    inputs = CASES["tfhe"][1]
    before = server.key_bytes
    answers, held = [], []
    for _ in range(2):
        answers.append(client.decrypt(server.execute(client.encrypt(inputs))))
        held.append(server.key_bytes)
    # The second execution reuses everything that the first one transformed.
    assert before < held[0] == held[1]
    assert answers[0] == answers[1] == elements.clear(inputs)


def test_outputs_of_other_inputs_are_not_decrypted(tmp_path: Any) -> None:
    program, folder = pf.program(x=pf.Int(0, 3))(lambda x: pf.lookup(x, [3, 2, 1, 0])), tmp_path / "keys"
    program.in_folder(folder).make_keys()
    program.in_folder(folder).encrypt({"x": 1})
    program.in_folder(folder).execute()
    assert program.in_folder(folder).decrypt().value == 2
    program.in_folder(folder).encrypt({"x": 3})
    with pytest.raises(pf.errors.FileError, match=r"result\.out\.ct"):
        program.in_folder(folder).decrypt()
    program.in_folder(folder).execute()
    assert program.in_folder(folder).decrypt().value == 0
