"""The holder of a public key encrypts for its owner, with noise within the bounds; mismatches are refused."""

from __future__ import annotations

import json
import shutil

import numpy as np
import polyfabric as pf
import pytest
from damage import cut, flip, longer, newer, other
from rejects import rejects

PROGRAMS = """
import polyfabric as pf


@pf.program(x=pf.Real.vector(64), y=pf.Real.vector(64))
def mixed(x, y):
    return x * y.rotate(3) + y


@pf.program(x=pf.Mod(65537).vector(64), y=pf.Mod(65537).vector(64))
def residues(x, y):
    return x * y.rotate(3) + y


@pf.program(x=pf.Complex.vector(4))
def turned(x):
    return x.rotate(1)


@pf.program(x=pf.Real.bounded(3).vector(8))
def signs(x):
    return pf.chebyshev(x.rotate(1), lambda u: u**3, 3)
"""
SETS = {"mixed": "toy-10", "residues": "bgv-toy-1024"}


def programs():
    found = {}
    exec(PROGRAMS, found)
    return found


MIXED, RESIDUES, TURNED = (programs()[name] for name in ("mixed", "residues", "turned"))
X, Y = np.linspace(-1, 1, 64), np.linspace(1, 0, 64) ** 2
INTEGERS = {"x": np.arange(64) * 1021, "y": 65536 - np.arange(64)}


@pytest.fixture
def line(polyfabric, tmp_path):
    (tmp_path / "mine.py").write_text(PROGRAMS)

    def run(function, *arguments, status=0):
        done = polyfabric("run", f"mine.py:{function}", *arguments, "--json")
        assert done.status == status, done.err
        return json.loads(done.out) if status == 0 else done.err

    return run


def shared(tmp_path, source, target, *names):
    (tmp_path / target).mkdir(exist_ok=True)
    for name in names:
        shutil.copy(tmp_path / source / name, tmp_path / target / name)


@pytest.mark.parametrize(("function", "values"), [("mixed", {"x": X, "y": Y}), ("residues", INTEGERS)])
def test_two_others_encrypt_for_a_client(line, tmp_path, function, values):
    """Each has the public key and one input, the server its keys and both ciphertexts, and the client alone the secret."""
    weak = ("--params", SETS[function])
    made = line(function, "--keys", "client", "--step", "keys", *weak)
    assert made["files"] == ["client.key", "server.key", "public.key"]
    assert (tmp_path / "client" / "client.key").stat().st_mode & 0o777 == 0o600
    shared(tmp_path, "client", "server", "server.key")
    for name, numbers in values.items():
        shared(tmp_path, "client", name, "public.key")
        given = ("--input", f"{name}={','.join(map(str, numbers.tolist()))}")
        done = line(function, "--keys", name, "--step", "encrypt", *weak, *given)
        assert done["inputs"] == [name]
        assert sorted(path.name for path in (tmp_path / name).iterdir()) == sorted([f"{name}.in.ct", "public.key"])
        shared(tmp_path, name, "server", f"{name}.in.ct")
    line(function, "--keys", "server", "--step", "execute")
    shared(tmp_path, "server", "client", "result.out.ct")
    done = line(function, "--keys", "client", "--step", "decrypt")
    expected = programs()[function].clear(**values)
    difference = np.abs(np.asarray(done["outputs"]["result"]) - expected)
    assert difference.max() <= done["bound"]["result"]
    assert "correct" not in done, "the client knows no inputs"


def test_python_has_the_same_steps(tmp_path):
    client, sensor, server = (tmp_path / name for name in ("client", "sensor", "server"))
    keys = TURNED.in_folder(client).make_keys().keys
    assert keys.parameters.name == "ckks-depth-1"
    shared(tmp_path, "client", "sensor", "public.key")
    x = np.array([0.5, 0.25j, -0.5, 0.75 - 0.25j])
    assert TURNED.in_folder(sensor).encrypt({"x": x}).inputs == ["x"]
    shared(tmp_path, "client", "server", "server.key")
    shared(tmp_path, "sensor", "server", "x.in.ct")
    TURNED.in_folder(server).execute()
    shared(tmp_path, "server", "client", "result.out.ct")
    assert np.abs(np.asarray(TURNED.in_folder(client).decrypt().value) - np.roll(x, -1)).max() < 1e-6
    # The client itself encrypts with its own key.
    TURNED.in_folder(client).encrypt({"x": x})
    TURNED.in_folder(client, on="interpreter").execute()
    assert np.abs(np.asarray(TURNED.in_folder(client).decrypt().value) - np.roll(x, -1)).max() < 1e-6
    # Keys of a run have a public one too.
    TURNED.run({"x": x}, keys=keys).keys.save_public(tmp_path / "more")
    assert (tmp_path / "more" / "public.key").stat().st_size == (client / "public.key").stat().st_size


@pytest.mark.filterwarnings("ignore::polyfabric.errors.SecurityWarning")
def test_the_noise_of_a_public_key_is_within_the_bounds_and_beyond_those_of_a_secret_one():
    """The largest of 64 slots' errors is measured. Under the public key each is about a complex Gaussian of √(4N/3) = 37 times the secret
    key's deviation, 1.4e-9 here, and the bound under the secret key is 5.5e-10: all 64 are below that with a probability of
    (1 − e^(−(5.5/14)²))^64 < 2^-170.
    """
    options = {"parameters": "toy-10", "measure": True}
    public = MIXED.run({"x": X, "y": Y}, public=True, **options)
    secret = MIXED.run({"x": X, "y": Y}, **options)
    assert public.correct
    assert public.first_beyond is None
    assert secret.first_beyond is None
    for by_public, by_secret in zip(public.nodes, secret.nodes, strict=True):
        assert by_public["bound"] > by_secret["bound"]
        if by_public["op"] == "input":
            assert by_secret["bound"] < by_public["measured"] < by_public["bound"]
    facts = public.to_dict()
    assert facts["public_key"]
    assert not secret.to_dict()["public_key"]
    bounds = [node["bound"] for node in MIXED.cost("toy-10", public=True)["nodes"]]
    assert bounds == [node["bound"] for node in public.nodes]


@pytest.mark.filterwarnings("ignore::polyfabric.errors.SecurityWarning")
def test_limbs_of_bgv_leave_room_for_the_noise_of_a_public_key():
    """Every operation's noise is planned for it, whichever key encrypts: the fewest limbs that do are the same."""
    done = RESIDUES.run(INTEGERS, parameters="bgv-toy-1024", public=True, measure=True)
    assert done.correct
    assert all(node["measured"] == 0 and node["budget_bits"] > 0 for node in done.nodes if node["op"] != "output")
    assert done.nodes[0]["noise_log2"] == RESIDUES.run(INTEGERS, parameters="bgv-toy-1024").nodes[0]["noise_log2"]


@pytest.fixture(scope="module")
def two_clients(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clients")
    for name in ("one", "two"):
        with pytest.warns(pf.errors.SecurityWarning):
            MIXED.in_folder(folder / name, parameters="toy-10").make_keys()
    return folder


@pytest.fixture
def clients(two_clients, tmp_path):
    shutil.copytree(two_clients, tmp_path, dirs_exist_ok=True)
    for name in ("one", "two"):
        shared(tmp_path, name, f"for_{name}", "public.key")
    return tmp_path


def test_the_set_of_a_public_key_must_have_the_security_that_its_user_wants(line, clients):
    wanted = ("mixed", "--keys", "for_one", "--step", "encrypt")
    message = line(*wanted, status=2)
    assert "for_one/public.key" in message
    assert "toy-10" in message
    assert "--security 8.8" in message
    assert not (clients / "for_one" / "x.in.ct").exists()
    line(*wanted, "--security", "8")
    line(*wanted, "--params", "toy-10")
    assert "the keys are of parameter set toy-10, not toy-11; name that set" in line(
        *wanted, "--params", "toy-11", status=2
    )


def test_public_may_be_given_to_every_step_as_with_tfhe(line, clients):
    for step in ("encrypt", "execute", "decrypt"):
        done = line("mixed", "--keys", "one", "--step", step, "--public")
    assert done["correct"]


def test_a_ciphertext_for_another_client_is_refused(line, clients):
    for name in ("one", "two"):
        line("mixed", "--keys", f"for_{name}", "--step", "encrypt", "--security", "0")
    shared(clients, "for_one", "one", "x.in.ct")
    assert "one/y.in.ct" in line("mixed", "--keys", "one", "--step", "execute", status=2)
    shared(clients, "for_two", "one", "y.in.ct")
    assert "key generation" in line("mixed", "--keys", "one", "--step", "execute", status=2)
    shared(clients, "for_one", "one", "y.in.ct")
    line("mixed", "--keys", "one", "--step", "execute")
    line("mixed", "--keys", "one", "--step", "decrypt")


@pytest.mark.parametrize("damage", [cut, flip, other, newer, longer], ids=lambda f: f.__name__)
def test_a_damaged_public_key_is_refused(line, clients, damage):
    path = clients / "for_one" / "public.key"
    path.write_bytes(damage(path.read_bytes()))
    message = line("mixed", "--keys", "for_one", "--step", "encrypt", "--security", "0", status=2)
    assert message.startswith("error: for_one/public.key: "), message
    assert not list((clients / "for_one").glob("*.ct"))


@pytest.mark.parametrize(
    ("function", "keys", "arguments", "message"),
    [
        ("mixed", "one", ("--step", "keys"), "one/client.key: keys exist here and would be replaced"),
        ("residues", "for_one", ("--step", "encrypt", "--security", "0"), "for_one/public.key: "),
        ("mixed", "for_one", ("--step", "encrypt", "--security", "0", "--input", "z=1"), "there is no input 'z'"),
        ("mixed", "for_one", ("--step", "execute"), "for_one/server.key is not there"),
        ("mixed", "for_one", ("--step", "decrypt"), "for_one/client.key is not there"),
        (
            "mixed",
            "server",
            ("--step", "encrypt"),
            "server/server.key: it belongs to a client whose client.key is missing",
        ),
        ("signs", "for_one", ("--step", "encrypt", "--security", "0", "--input", "x=0,0,0,2.5,0,0,0,0"), "2.5"),
    ],
    ids=["keys_again", "scheme", "input", "no_server_key", "no_client_key", "server_alone", "interval"],
)
def test_mismatched_keys_and_arguments_are_reported(line, clients, function, keys, arguments, message):
    shared(clients, "one", "server", "server.key")
    before = {
        path: path.read_bytes() for path in clients.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    }
    assert message in line(function, "--keys", keys, *arguments, status=2)
    after = {
        path: path.read_bytes() for path in clients.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    }
    assert after == before


def test_encrypting_takes_a_key(tmp_path):
    with rejects(pf.errors.InputError, "client.key", "public.key", "make_keys"):
        TURNED.in_folder(tmp_path).encrypt({"x": [0, 0, 0, 0]})
    assert not list(tmp_path.iterdir())
