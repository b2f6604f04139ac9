"""The command line refuses impossible calls for CKKS and BGV early, with place, values and remedy."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from calls import called
from damage import cut, flip, longer, older, other
from polyfabric.host import memory
from rejects import check

PROGRAMS = """
import polyfabric as pf

T = 65537


@pf.program(x=pf.Real.vector(8))
def squared(x):
    return x * x


@pf.program(x=pf.Real.vector(8))
def turned(x):
    return x * x + x.rotate(3)


@pf.program(x=pf.Real.vector(8))
def deep(x):
    return x**64


@pf.program(x=pf.Real.vector(8))
def raised(x):
    return x.at_level(1).at_level(3)


@pf.program(x=pf.Real.vector(8))
def mixed(x):
    return x.times(0.3, 10) + x


@pf.program(x=pf.Real.vector(1024))
def wide(x):
    return x + 1


@pf.program(x=pf.Real.vector(8192))
def many(x):
    return (sum((x.rotate(r) for r in range(1, 256)), start=x) / 256) ** 64


@pf.program(x=pf.Real.bounded(1e12).vector(8))
def large(x):
    return x * x * x * x


@pf.program(x=pf.Real.bounded(3).vector(8))
def signs(x):
    return pf.chebyshev(x.rotate(1), lambda u: u**3, 3)


@pf.program(x=pf.Mod(T).vector(8))
def residues(x):
    return x * x + x.rotate(1)


@pf.program(x=pf.Mod(T).vector(8))
def residues_turned(x):
    return x * x + x.rotate(2)
"""
ENCRYPT = ("--params", "toy-10", "--step", "encrypt")


WRAPPED = ("mine.py:44", "%2", "1.000e36", "2^196.6", "2^80.0", "2", "2^129.0")
"""The values of a number that wraps around."""


def without_warnings(text):
    return re.sub(r"^warning: .*\n", "", text, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def clients(tmp_path_factory):
    """Two clients' folders, and one of the client of BGV: keys, an encrypted input, an encrypted output."""
    folder = tmp_path_factory.mktemp("clients")
    (folder / "mine.py").write_text(PROGRAMS)
    bgv = [("residues", "bgv", ("--step", "encrypt"))]
    for function, keys, encrypt in [("squared", "one", ENCRYPT), ("squared", "two", ENCRYPT), *bgv]:
        for step in (encrypt, ("--step", "execute"), ("--step", "decrypt")):
            done = called(folder, "run", f"mine.py:{function}", "--keys", keys, *step)
            assert done.status == 0, done.err
    return folder


@pytest.fixture
def own(polyfabric, tmp_path, clients):
    """Runs one of the programs above in a copy of the clients' folders."""
    shutil.copytree(clients, tmp_path, dirs_exist_ok=True)

    def run(function, *arguments):
        return polyfabric("run", f"mine.py:{function}", *arguments)

    return run


def refused(done, *values):
    assert done.status == 2, done.err
    assert done.out == ""
    for word in ("Traceback", "panicked"):
        assert word not in done.err
    check(without_warnings(done.err), *values)


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("deep --params toy-10", ("mine.py:19", "%5", "%4", "0", "4", "2")),
        ("raised --params toy-10", ("mine.py:24", "%2", "3", "1")),
        ("mixed --params toy-10", ("mine.py:29", "%3", "2^50.0000", "2^40.0000")),
        ("wide --params toy-10", ('"wide"', "1024", "512", "2048")),
        ("squared --params toy-10 --security 128", ("squared", "toy-10", "8.8", "128")),
        ("squared --params toy-10 --key-switch d4000", ("squared", "toy-10", '"d4000"', "5", "listing1", "d5")),
        (
            "turned --params toy-10 --key-switch listing1",
            ("mine.py:14", "%2", "2^24.1", "0", "2^40.0", '"result"'),
        ),
        ("large --params toy-10 --input x=10,100,1e12,0,0,0,0,0", WRAPPED),
        ("large --params toy-10 --step encrypt --keys new --input x=10,100,1e12,0,0,0,0,0", WRAPPED),
        ("signs --params toy-10 --input x=0,0,0,2.5,0,0,0,0", ("mine.py:49", "%2", "-1", "1", "2", "2.5")),
        ("turned --keys one", ("mine.py:14", "%2", "125", "1")),
        ("residues_turned --keys bgv", ("mine.py:59", "%2", "25", "2")),
        ("squared --keys bgv", ("bgv/client.key", "BGV", "CKKS")),
        ("squared --keys one --params toy-11", ("toy-10", "toy-11")),
        ("squared --step execute", ("--step", "--keys")),
        ("squared --keys nowhere --step execute", ("nowhere/server.key",)),
    ],
    ids=[
        "level_exhausted",
        "level_raised",
        "scale_mismatch",
        "too_many_slots",
        "security",
        "key_switch",
        "nothing_left",
        "wrap_around",
        "wrap_around_before_keys",
        "outside_the_interval",
        "missing_rotation_key",
        "missing_rotation_key_of_bgv",
        "keys_of_another_scheme",
        "keys_of_another_set",
        "step_without_keys",
        "step_without_files",
    ],
)
def test_rejected_before_the_work(own, line, values):
    refused(own(*line.split()), *values)


def test_memory_that_will_not_fit(own, monkeypatch):
    """255 rotations' keys at N = 2^14 are over a GiB as seeds: refused before one is made, where a computer has less."""
    left = memory.available_bytes()
    monkeypatch.setattr(memory, "available_bytes", lambda: min(left or 1 << 30, 1 << 30))
    done = own("many")
    assert done.status == 2
    assert re.search(r"many .* \([\d.]+ GiB for 256 switching keys\)", done.err), done.err


@pytest.mark.parametrize(
    ("file", "step", "other"),
    [
        ("client.key", "encrypt", "server.key"),
        ("client.key", "decrypt", "result.out.ct"),
        ("x.in.ct", "execute", "server.key"),
        ("result.out.ct", "decrypt", "client.key"),
    ],
)
def test_files_of_two_key_generations(own, tmp_path, file, step, other):
    shutil.copy(tmp_path / "two" / file, tmp_path / "one" / file)
    done = own("squared", "--keys", "one", "--step", step)
    refused(done, f"one/{file}", f"one/{other}", "toy-10")


@pytest.mark.parametrize("damage", [cut, flip, other, older, longer], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("file", "step"),
    [("client.key", "decrypt"), ("server.key", "execute"), ("x.in.ct", "execute"), ("result.out.ct", "decrypt")],
)
@pytest.mark.parametrize(("function", "keys"), [("squared", "one"), ("residues", "bgv")])
def test_damaged_file(own, tmp_path, function, keys, file, step, damage):
    path = tmp_path / keys / file
    path.write_bytes(damage(path.read_bytes()))
    before = {path: path.read_bytes() for path in (tmp_path / keys).iterdir()}
    done = own(function, "--keys", keys, "--step", step)
    assert done.status == 2, done.err
    message = without_warnings(done.err)
    assert message.startswith(f"error: {keys}/{file}: "), message
    assert re.search("checksum|cut off|Polyfabric file|format version 1, but|bytes follow|malformed", message), message
    assert {path: path.read_bytes() for path in (tmp_path / keys).iterdir()} == before, "something was written"


def test_an_input_of_another_program(own, tmp_path):
    """An output, at a lower level and another scale, in an input's place."""
    shutil.copy(tmp_path / "one" / "result.out.ct", tmp_path / "one" / "x.in.ct")
    refused(own("squared", "--keys", "one", "--step", "execute"), "one/x.in.ct", '"result"', "squared", '"x"')


@pytest.mark.parametrize("content", ["", "[1, 2]", '{"result": [[1], [2]]}', '{"result": 5}'])
def test_expected_values_that_are_none(own, tmp_path, content):
    (tmp_path / "one" / "expected.json").write_text(content)
    done = own("squared", "--keys", "one", "--step", "decrypt")
    assert done.status == 2
    assert "one/expected.json: not the file that --step encrypt wrote" in done.err


@pytest.mark.parametrize(
    ("old", "new", "values"),
    [
        ("rotate %0 by 1", "rotate %9 by 1", ("line 3, column 1", "%9")),
        ("rotate %0 by 1", "turn %0 by 1", ("line 3, column 6", "`turn`")),
        ("rotate %0 by 1", "rotate %0 by 99999999999999999999", ("line 3, column 19", "99999999999999999999")),
        ("slots 8", "slots 8388608", ("line 1, column 1", "8388608", "65536")),
        ("by 1", '"', ("line 3, column 16",)),
        ("program", "", ("line 1, column 2", "`program`", '"turned"')),
    ],
    ids=["operand", "operation", "number", "slots", "cut", "no_header"],
)
def test_a_program_in_a_file_that_is_damaged(polyfabric, tmp_path, old, new, values):
    text = 'program "turned" ckks slots 8\n%0 = input "x" magnitude 1.0\n%1 = rotate %0 by 1\n%2 = output "y" %1\n'
    (tmp_path / "mine.pf").write_text(text)
    assert polyfabric("run", "mine.pf", "--params", "toy-10").status == 0
    (tmp_path / "mine.pf").write_text(text.replace(old, new, 1))
    refused(polyfabric("run", "mine.pf", "--params", "toy-10"), "mine.pf", *values)


def test_a_file_that_fails_is_reported_without_its_traceback(polyfabric, tmp_path):
    (tmp_path / "mine.py").write_text("import polyfabric as pf\n\n\ndef f(x):\n    return pf.turn(x)\n\n\nf(1)\n")
    refused(polyfabric("run", "mine.py:f"), "mine.py:5", "'turn'")


def test_the_compiler_chooses_a_key_switch_for_this_computer(own):
    found = {}
    for wanted in ("set", "auto", "d8"):
        done = own("turned", "--params", "ckks-depth-7", "--key-switch", wanted, "--json")
        assert done.status == 0, done.err
        found[wanted] = json.loads(done.out)
    assert found["set"]["key_switch"] is None
    auto = found["auto"]["key_switch"]
    assert auto["by"] == "compiler"
    weighed = {row["name"]: row for row in auto["considered"]}
    assert {"listing1", "d8", "d4", "d3", "d2", "d1"} == set(weighed)
    # Listing 1 costs more precision than a bit, one digit more security than there is.
    assert "with the set's own key switch" in weighed["listing1"]["refused"]
    assert "security" in weighed["d1"]["refused"]
    taken = {name: row["word_products"] for name, row in weighed.items() if "refused" not in row}
    assert auto["name"] == min(taken, key=taken.get)
    assert found["d8"]["parameters"] == "ckks-depth-7-d8"
