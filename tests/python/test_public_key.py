"""Several holders of a client's public key encrypt for one request, with the right noise; mismatches are refused."""

from __future__ import annotations

import json
from typing import Any

import polyfabric as pf
import pytest
from rejects import rejects
from values import expect_close


@pf.program(ours=pf.UInt(8), theirs=pf.Int(0, 3).vector(3))
def elements(ours, theirs):
    return {"more": ours + 1, "turned": pf.lookup(theirs, [3, 2, 1, 0])}


@pf.program(ours=pf.Real.vector(4), theirs=pf.Real.vector(4))
def reals(ours, theirs):
    return ours * theirs


@pf.program(ours=pf.Mod(65537).vector(4), theirs=pf.Mod(65537).vector(4))
def residues(ours, theirs):
    return ours * theirs + 1


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "tfhe": (elements, {"ours": 255, "theirs": [0, 1, 3]}),
    "ckks": (reals, {"ours": [0.5, 0.25, -1, 1], "theirs": [1, 1, 0.5, -0.5]}),
    "bgv": (residues, {"ours": [1, 2, 3, 4], "theirs": [5, 6, 7, 8]}),
}


@pytest.mark.parametrize("scheme", CASES)
def test_two_encrypt_for_a_third(scheme: str, tmp_path: Any) -> None:
    program, inputs = CASES[scheme]
    spec = pf.Specification.from_bytes(pf.Specification.of(program, public=True).to_bytes())
    client = pf.Client(spec)
    client.public_key.save(tmp_path / "public.key")
    public = pf.PublicKey.from_bytes(pf.PublicKey.load(tmp_path / "public.key").to_bytes())
    ours, theirs = (pf.Encryptor(spec, public).encrypt({name: inputs[name]}).to_bytes() for name in ("ours", "theirs"))
    server = pf.Server(program, client.evaluation_key, public=True)
    request = pf.Ciphertexts.from_bytes(ours) | pf.Ciphertexts.from_bytes(theirs)
    found = client.decrypt(server.execute(request))
    expected, atol = program.clear(inputs), 1e-5 if scheme == "ckks" else 0.0
    # Inputs that the client encrypts itself are accepted too, also mixed.
    half = pf.Ciphertexts({**client.encrypt(inputs).parts, **pf.Ciphertexts.from_bytes(ours).parts}, ".in.ct")
    for answer in (found, client.decrypt(server.execute(half))):
        expect_close(answer, expected, atol)
    with rejects(pf.errors.InputError, "'ours'"):
        request | pf.Ciphertexts.from_bytes(ours)


@pytest.mark.parametrize("scheme", CASES)
def test_who_has_the_key_encrypts_its_own_part(scheme: str) -> None:
    program, inputs = CASES[scheme]
    client = pf.Client(pf.Specification.of(program, public=True))
    own = client.encrypt({"ours": inputs["ours"]})
    other = pf.Encryptor(client.specification, client.public_key).encrypt({"theirs": inputs["theirs"]})
    answer = client.decrypt(pf.Server(program, client.evaluation_key, public=True).execute(own | other))
    expect_close(answer, program.clear(inputs), atol=1e-5)
    # Where nobody else encrypts, an input is missing.
    alone = pf.Client(pf.Specification.of(program))
    with rejects(pf.errors.InputError, "'theirs'"):
        alone.encrypt({"ours": inputs["ours"]})


@pytest.mark.parametrize("scheme", CASES)
def test_public_key_inputs_are_rejected_unless_planned(scheme: str) -> None:
    program, inputs = CASES[scheme]
    spec = pf.Specification.of(program)
    client = pf.Client(spec)
    with pytest.raises(pf.errors.InputError, match="public=True"):
        pf.Encryptor(spec, client.public_key).encrypt(inputs)
    with pytest.raises(pf.errors.InputError, match=r"take client\.public_key"):
        pf.Encryptor(spec, client.evaluation_key)  # type: ignore[arg-type]
    with pytest.raises(pf.errors.FileError):
        pf.Encryptor(spec, pf.PublicKey.from_bytes(client.evaluation_key.to_bytes()))


def test_a_server_of_tfhe_rejects_public_key_inputs_unless_enabled() -> None:
    program, inputs = CASES["tfhe"]
    spec = pf.Specification.of(program, public=True)
    client = pf.Client(spec)
    request = pf.Encryptor(spec, client.public_key).encrypt(inputs)
    with rejects(pf.errors.FileError, "elements", "--public"):
        pf.Server(program, client.evaluation_key).execute(request)
    # A file of another client, and an input instead of a result.
    other = pf.Encryptor(spec, pf.Client(spec).public_key).encrypt(inputs)
    with pytest.raises(pf.errors.FileError, match="key generation"):
        pf.Server(program, client.evaluation_key, public=True).execute(other)
    with pytest.raises(pf.errors.FileError, match="program"):
        client.decrypt(pf.Ciphertexts({"more": request.parts["ours"], "turned": request.parts["theirs"]}, ".out.ct"))


def test_the_noise_of_a_public_key_is_counted() -> None:
    own = elements.cost(parameters="polyfabric-integers-4-t64").to_dict()["noise"]
    public = elements.cost(parameters="polyfabric-integers-4-t64", public=True).to_dict()["noise"]
    assert "inputs" not in own
    assert public["inputs"] == "public"
    pairs = list(zip(own["lookups"], public["lookups"], strict=True))
    assert all(more["variance"] >= less["variance"] for less, more in pairs)
    # The noise that lookups read before the switches. With this set the switches add more than that.
    assert any(more["operand_variance"] > 100 * less["operand_variance"] for less, more in pairs)
    assert own["log2_failure"] <= public["log2_failure"] <= -128
    run = elements.run(CASES["tfhe"][1], public=True)
    assert run.correct
    # Compact: less than one ciphertext a digit, and one mask for all of an input's.
    spec = pf.Specification.of(elements, public=True)
    client = pf.Client(spec)
    encrypted = pf.Encryptor(spec, client.public_key).encrypt({"ours": 1})
    set_ = spec.data["parameters"]
    masks = set_["glwe_dimension"] * set_["ring_degree"]
    assert len(encrypted.parts["ours"]) < (masks + 4) * set_["torus_bits"] // 8 + 400


def test_steps_with_a_public_key(polyfabric: Any, tmp_path: Any) -> None:
    (tmp_path / "mine.py").write_text(
        "import polyfabric as pf\n\n\n@pf.program(x=pf.UInt(8), y=pf.UInt(8))\ndef f(x, y):\n    return x + y\n"
    )
    common = ("run", "mine.py:f", "--public", "--keys")
    assert polyfabric(*common, "client", "--step", "keys").status == 0
    assert sorted(path.name for path in (tmp_path / "client").iterdir()) == ["client.key", "public.key", "server.key"]
    for name, value in (("ada", "x=200"), ("bob", "y=55")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "public.key").write_bytes((tmp_path / "client" / "public.key").read_bytes())
        done = polyfabric(*common, name, "--step", "encrypt", "--input", value)
        assert done.status == 0, done.err
        sent = tmp_path / name / f"{value[0]}.in.ct"
        (tmp_path / "client" / sent.name).write_bytes(sent.read_bytes())
    for step in ("execute", "decrypt"):
        done = polyfabric(*common, "client", "--step", step, "--json")
        assert done.status == 0, done.err
    assert json.loads(done.out)["outputs"] == {"result": 255}
    without = polyfabric("run", "mine.py:f", "--keys", "client", "--step", "execute")
    assert without.status == 2
    assert "plan it with public=True (--public)" in without.err


def test_the_encrypting_party_must_accept_a_weak_set(polyfabric: Any, tmp_path: Any) -> None:
    (tmp_path / "mine.py").write_text("import polyfabric as pf\n\n\n@pf.program(x=pf.Bool)\ndef f(x):\n    return ~x\n")
    common = ("run", "mine.py:f", "--public", "--keys")
    assert polyfabric(*common, "client", "--step", "keys", "--params", "strix-I").status == 0
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "public.key").write_bytes((tmp_path / "client" / "public.key").read_bytes())
    encrypt = (*common, "ada", "--step", "encrypt", "--input", "x=1")
    for arguments, expected in (((), "bits of security, not 128"), (("--params", "strix-II"), "not strix-II")):
        refused = polyfabric(*encrypt, *arguments)
        assert refused.status == 2
        assert expected in " ".join(refused.err.split())
        assert not list((tmp_path / "ada").glob("*.ct"))
    done = polyfabric(*encrypt, "--params", "strix-I")
    assert done.status == 0, done.err


def test_a_public_key_of_another_set_is_reported() -> None:
    program, inputs = CASES["tfhe"]
    other = pf.Client(pf.Specification.of(program, "polyfabric-integers-4-t64", public=True))
    spec = pf.Specification.of(pf.program("bit", x=pf.Bool)(lambda x: ~x), public=True)
    with rejects(pf.errors.InputError, "polyfabric-integers-4-t64"):
        pf.Encryptor(spec, other.public_key)
    with rejects(pf.errors.InputError, "'mine'"):
        pf.Encryptor(other.specification, other.public_key).encrypt({**inputs, "mine": 1})


def test_each_of_many_parties_encrypts_one_input_of_a_vector() -> None:
    count = 4

    @pf.program(**{f"bid{i}": pf.Int(0, 7) for i in range(count)})
    def auction(**bids):
        return pf.max(*bids.values())

    shared = pf.Specification.of(auction, public=True)
    owner = pf.Client(shared)
    request, *others = (pf.Encryptor(shared, owner.public_key).encrypt({f"bid{i}": 2 * i % 7}) for i in range(count))
    for other in others:
        request |= other
    assert owner.decrypt(pf.Server(auction, owner.evaluation_key, public=True).execute(request)) == 6
