"""A misplaced key, request or secret is refused at once, with little memory and without revealing a client."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import blake3
import polyfabric as pf
import pytest
from polyfabric import _native
from polyfabric.host import memory
from values import expect_close


@pf.program(x=pf.UInt(4), y=pf.UInt(4))
def elements(x, y):
    return x + y


@pf.program(x=pf.Real.vector(8))
def reals(x):
    return x * x + x.rotate(3)


@pf.program(x=pf.Mod(65537).vector(8))
def residues(x):
    return x * x + x.rotate(3)


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "tfhe": (elements, {"x": 3, "y": 4}),
    "ckks": (reals, {"x": [0.5] * 8}),
    "bgv": (residues, {"x": list(range(8))}),
}

OTHER_SETS = {"tfhe": "polyfabric-integers-4-t64", "ckks": "ckks-depth-8", "bgv": None}

# The file's frame, as crates/schemes/src/serial/mod.rs has it.
HEAD = struct.Struct("<8sIII")
GENERATION = 16


def whole(head: bytes, block: bytes, payload: bytes) -> bytes:
    data = head + struct.pack("<I", len(block)) + block + struct.pack("<Q", len(payload)) + payload
    return data + blake3.blake3(data).digest()


def parts(data: bytes) -> tuple[bytes, bytes, bytes]:
    """The first 16 bytes of a file, its parameter block and its payload."""
    length = HEAD.unpack_from(data)[3]
    begin = HEAD.size + length
    return data[:16], data[HEAD.size : begin], data[begin + 8 : -32]


@pytest.fixture(scope="module")
def clients() -> dict[str, pf.Client]:
    return {scheme: pf.Client(pf.Specification.of(program)) for scheme, (program, _) in CASES.items()}


# -- evaluation keys ---------------------------------------------------------------------------------------------


def foreign_key() -> bytes:
    """A key of some 30 MB for a set that somebody made up, whose key switch takes two gigabytes when it is expanded."""
    n, k, degree, levels, switch_levels, name = 15_000, 16, 16, 1, 64, b"made-up"
    block = struct.pack("<I", len(name)) + name
    block += struct.pack("<IIIIIIIIIII", 64, n, 1, k, degree, 20, levels, 1, 1, switch_levels, 0)
    block += struct.pack("<dd", -30.0, -40.0)
    bodies = n * (k + 1) * levels * degree + k * degree * switch_levels + k * degree
    payload = bytes(GENERATION) + struct.pack("<I", 1) + bytes(32) + bytes(8 * bodies)
    return whole(struct.pack("<8sII", b"PLYFTFHE", 7, 3), block, payload)


REFUSED = """
import resource
import sys
from pathlib import Path

import polyfabric as pf

program = pf.program("sum", x=pf.UInt(4), y=pf.UInt(4))(lambda x, y: x + y)
pf.Server(program, pf.Client(pf.Specification.of(program)).evaluation_key)
key = pf.EvaluationKey.from_bytes(Path(sys.argv[1]).read_bytes())
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    pf.Server(program, key)
except pf.errors.ParameterError:
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10)
"""


def test_a_key_of_a_made_up_set_is_not_expanded(tmp_path: Path) -> None:
    path = tmp_path / "server.key"
    path.write_bytes(foreign_key())
    done = subprocess.run([sys.executable, "-c", REFUSED, path], check=True, capture_output=True, text=True)
    assert int(done.stdout) < 8 << 20


@pytest.mark.parametrize("scheme", ["tfhe", "ckks"])
def test_a_server_accepts_keys_of_its_set_and_others_on_request(scheme: str, tmp_path: Path) -> None:
    program, inputs = CASES[scheme]
    other = OTHER_SETS[scheme]
    client = pf.Client(pf.Specification.of(program, other))
    key = client.evaluation_key
    for refuse in (lambda: pf.Server(program, key), lambda: pf.KeyStore(program, tmp_path).put("ada", key)):
        with pytest.raises(pf.errors.ParameterError, match=f"{other}.* is needed"):
            refuse()
    assert list(tmp_path.iterdir()) == []
    store = pf.KeyStore(program, tmp_path, parameters=other)
    store.put("ada", key)
    for server in (pf.Server(program, key, parameters=other), store.server("ada")):
        expect_close(client.decrypt(server.execute(client.encrypt(inputs))), program.clear(inputs), atol=1e-4)


def keyless(data: bytes) -> bytes:
    head, block, payload = parts(data)
    return whole(head, block, payload[:GENERATION] + bytes(4))


@pytest.mark.parametrize("scheme", ["ckks", "bgv"])
def test_switching_keys_of_another_program_are_refused(scheme: str, clients: Any) -> None:
    program = CASES[scheme][0]
    kind = program.inputs["x"]
    for other in (
        lambda x: x * x,
        lambda x: x * x + x.rotate(2),
        lambda x: x * x + x.rotate(3) + x.rotate(1),
    ):
        specification = pf.Specification.of(
            pf.program("other", x=kind)(other), clients[scheme].specification.context.parameters.name
        )
        with pytest.raises(pf.errors.ParameterError):
            pf.Server(program, pf.Client(specification).evaluation_key)
    with pytest.raises(pf.errors.ParameterError):
        pf.Server(program, pf.EvaluationKey.from_bytes(keyless(clients[scheme].evaluation_key.to_bytes())))


# -- specifications ----------------------------------------------------------------------------------------------


def huge(scheme: str) -> pf.Specification:
    """A specification of 128 bits that asks for gigabytes of keys."""
    program, other = CASES[scheme][0], OTHER_SETS[scheme]
    if scheme == "bgv":
        program = pf.program("deep", x=pf.Mod(65537).vector(8))(lambda x: x**16 + x.rotate(3))
    data = json.loads(pf.Specification.of(program, other).to_bytes())
    if scheme == "tfhe":
        own = data["parameters"]
        own.update(name="huge", torus_bits=64, lwe_dimension=2048, glwe_dimension=1, ring_degree=65_536)
        own.update(lwe_noise_log2=-18.0, glwe_noise_log2=-62.0, bootstrap_gadget={"log2_base": 9, "levels": 7})
        return pf.Specification(data)
    keys = data["signature"]["keys"]
    galois = next(key for key in keys if isinstance(key["id"], dict))
    taken = galois["id"]["Galois"]
    keys += [{**galois, "id": {"Galois": element}} for element in range(1, 16_384, 2) if element != taken]
    data["key_bytes"] = _native.RnsSignature.from_json(json.dumps(data["signature"])).key_bytes
    return pf.Specification(data)


@pytest.mark.parametrize("scheme", CASES)
def test_a_specification_cannot_ask_for_more_key_than_its_client_accepts(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = huge(scheme)
    assert spec.context.key_bytes > 4 << 30
    with pytest.raises(pf.errors.ParameterError, match=f"max_key_bytes={spec.context.key_bytes}"):
        pf.Client(spec)
    monkeypatch.setattr(memory, "available_bytes", lambda: 1 << 30)
    with pytest.raises(pf.errors.RunError):
        pf.Client(spec, max_key_bytes=1 << 40)
    with pytest.raises(pf.errors.InputError):
        pf.Client(spec, max_key_bytes=-1)


@pytest.mark.parametrize("scheme", CASES)
def test_no_key_is_made_without_enough_memory(scheme: str, clients: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for a loaded client; a client that accepts no byte of key encrypts nothing."""
    spec, secret = clients[scheme].specification, clients[scheme].to_bytes()
    with pytest.raises(pf.errors.ParameterError):
        pf.Client.from_bytes(spec, secret, max_key_bytes=spec.context.key_bytes - 1)
    client = pf.Client.from_bytes(spec, secret, max_key_bytes=spec.context.key_bytes)
    monkeypatch.setattr(memory, "available_bytes", lambda: spec.context.key_bytes - 1)
    for make in (client.make_evaluation_key, lambda: pf.Client(spec)):
        with pytest.raises(pf.errors.RunError):
            make()


SENT = """
import resource
import polyfabric as pf

program = pf.program("sum", x=pf.UInt(8), y=pf.UInt(8))(lambda x, y: x * y)
client = pf.Client(pf.Specification.of(program))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
key = client.evaluation_key.to_bytes()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10, len(key))
"""


def test_a_client_does_not_expand_keys_that_it_only_sends() -> None:
    done = subprocess.run([sys.executable, "-c", SENT], check=True, capture_output=True, text=True)
    taken, sent = map(int, done.stdout.split())
    assert taken < 3 * sent


# -- secrets -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", CASES)
def test_a_secret_key_is_rejected_as_another_key_or_a_ciphertext(scheme: str, clients: Any, tmp_path: Path) -> None:
    secret = clients[scheme].to_bytes()
    clients[scheme].save(tmp_path / "server.key")
    for send in (
        lambda: pf.EvaluationKey.from_bytes(secret),
        lambda: pf.EvaluationKey.load(tmp_path / "server.key"),
        lambda: pf.PublicKey.from_bytes(secret),
        lambda: pf.PublicKey.load(tmp_path / "server.key"),
        lambda: pf.Ciphertexts({"x": secret}, ".in.ct"),
    ):
        with pytest.raises(pf.errors.FileError, match="client key, a secret"):
            send()


def test_the_bytes_of_another_kind_are_refused(clients: Any) -> None:
    client = clients["tfhe"]
    evaluation = client.evaluation_key.to_bytes()
    encrypted = client.encrypt(CASES["tfhe"][1]).parts["x"]
    public = pf.Client(pf.Specification.of(elements, public=True)).public_key.to_bytes()
    for take, own in (
        (pf.EvaluationKey.from_bytes, evaluation),
        (pf.PublicKey.from_bytes, public),
        (lambda data: pf.Ciphertexts({"x": data}, ".in.ct"), encrypted),
    ):
        take(own)
        for data in {evaluation, encrypted, public, b"", b"PLYFTFHE", evaluation[:15]} - {own}:
            with pytest.raises(pf.errors.FileError):
                take(data)


@pytest.mark.parametrize("scheme", CASES)
def test_an_error_does_not_tell_a_key_generation(scheme: str, clients: Any) -> None:
    program, inputs = CASES[scheme]
    client = clients[scheme]
    server = pf.Server(program, client.evaluation_key)
    other = pf.Client(client.specification)
    with pytest.raises(pf.errors.FileError) as refused:
        server.execute(other.encrypt(inputs))
    generations = [parts(own.to_bytes())[2][:GENERATION] for own in (client, other)]
    assert generations[0] != generations[1]
    for generation in generations:
        assert generation[:3].hex() not in str(refused.value)


# -- requests ----------------------------------------------------------------------------------------------------


def test_bytes_that_are_of_no_ciphertext_are_refused(clients: Any) -> None:
    request = clients["tfhe"].encrypt(CASES["tfhe"][1])
    data = request.to_bytes()
    assert pf.Ciphertexts.from_bytes(data) == request

    def archive(comment: bytes = b"", extra: bytes = b"", note: bytes = b"") -> bytes:
        buffer = BytesIO()
        with zipfile.ZipFile(buffer, "w") as made:
            made.comment = comment
            for name, part in request.parts.items():
                entry = zipfile.ZipInfo(f"{name}.in.ct")
                entry.extra, entry.comment = extra, note
                made.writestr(entry, part)
        return buffer.getvalue()

    assert pf.Ciphertexts.from_bytes(archive()) == request
    for wrong in (
        data + b"\0",
        data + data,
        b"\0" + data,
        archive(comment=b"more"),
        archive(extra=struct.pack("<HH4s", 0x7777, 4, b"more")),
        archive(note=b"more"),
    ):
        with pytest.raises(pf.errors.FileError):
            pf.Ciphertexts.from_bytes(wrong)
    name, part = next(iter(request.parts.items()))
    with pytest.raises(pf.errors.FileError):
        pf.Server(elements, clients["tfhe"].evaluation_key).execute(
            pf.Ciphertexts({**request.parts, name: part + b"\0"}, ".in.ct")
        )


def renamed(part: bytes, name: str, other: str) -> bytes:
    """A file of ciphertexts for another input of its program, as whoever wants it taken would write it."""
    changed = bytearray(part)
    place = changed.index(struct.pack("<I", 1) + name.encode(), HEAD.size)
    changed[place + 4 : place + 5] = other.encode()
    changed[-32:] = blake3.blake3(bytes(changed[:-32])).digest()
    return bytes(changed)


@pytest.mark.parametrize("scheme", CASES)
def test_inputs_that_the_program_does_not_have_are_their_senders_fault(scheme: str, clients: Any) -> None:
    program, inputs = CASES[scheme]
    client = clients[scheme]
    server = pf.Server(program, client.evaluation_key)
    own = client.encrypt(inputs).parts
    other = renamed(own["x"], "x", "z")
    for sent in ({**own, "z": other}, {**own, "x": other}, {"z": other}, {"x": own["x"], "z": other}, {}):
        with pytest.raises((pf.errors.InputError, pf.errors.FileError)):
            server.execute(pf.Ciphertexts(sent, ".in.ct"))
    if scheme == "tfhe":
        with pytest.raises(pf.errors.InputError):
            server.execute(pf.Ciphertexts({"x": own["x"]}, ".in.ct"))
