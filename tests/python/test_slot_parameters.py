"""A user's parameter set, from a file or from Python, works like a named one, and a weak one is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polyfabric as pf
import pytest
from rejects import rejects

EXAMPLES = Path(__file__).parents[2] / "examples"

SMALL = {
    "name": "small",
    "ring_degree": 1024,
    "q": [{"bits": 50}, {"bits": 40, "count": 4}],
    "p": [{"bits": 50, "count": 2}],
    "gadget": {"hybrid": {"digit_limbs": 2}},
    "scale_log2": 40,
    "secret": "uniform-ternary",
    "noise_std": 3.2,
}
"""Insecure."""


@pf.program(x=pf.Real.vector(8))
def squared(x):
    return x * x + x.rotate(1)


X = np.linspace(-1, 1, 8)


@pytest.fixture
def command(polyfabric, tmp_path):
    """The command line in a folder with the examples."""
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    return polyfabric


@pytest.mark.parametrize(
    ("program", "file", "inputs"),
    [
        ("scores", "own-ckks.toml", ("x=0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8",)),
        ("inner_product", "own-bgv.toml", ("x=1,2,3,4,5,6,7,8", "y=100000,2,3,4,5,6,7,8")),
    ],
)
def test_an_example_runs_end_to_end(command, program, file, inputs):
    """Encrypted, computed, decrypted and compared with the clear program, whole and in three steps through files."""
    wanted = (f"examples/slots.py:{program}", "--params", f"examples/{file}", "--json")
    given = [word for value in inputs for word in ("--input", value)]
    done = command("run", *wanted, *given)
    assert done.status == 0, done.err
    assert done.err == ""
    found = json.loads(done.out)
    assert found["correct"]
    assert found["parameter_set"]["name"] == file.removesuffix(".toml")
    assert found["parameter_set"]["security_bits"] >= 128
    if program == "inner_product":
        assert found["outputs"]["result"] == (100_000 + sum(k * k for k in range(2, 9))) % 786_433
    steps = [("--step", "encrypt", *given), ("--step", "execute"), ("--step", "decrypt")]
    for step in steps:
        # The keys' files say which set they are of.
        params = wanted[1:3] if step[1] == "encrypt" else ()
        done = command("run", wanted[0], *params, "--keys", "keys", *step, "--json")
        assert done.status == 0, done.err
    assert json.loads(done.out)["correct"]
    assert command("run", wanted[0], "--keys", "keys", *given).status == 0


def test_a_file_is_shown_as_a_named_set_is(command, snapshot):
    done = command("params", "examples/own-ckks.toml")
    assert done.status == 0
    snapshot(done.out + done.err)
    shown = json.loads(command("params", "examples/own-ckks.toml", "--json").out)
    named = json.loads(command("params", "ckks-depth-5", "--json").out)
    assert shown.keys() == named.keys()
    assert shown["family"] == "own"
    assert shown["key_bytes"] > shown["transport_key_bytes"] > 0


def test_python_takes_the_fields_of_a_file(tmp_path):
    own = pf.SlotParameters.of("ckks", **SMALL)
    assert (own.name, own.scheme, own.to_dict()["levels"]) == ("small", "ckks", 4)
    with pytest.warns(pf.errors.SecurityWarning, match="parameter set small has about"):
        done = squared.run({"x": X}, parameters=own, security=0)
    assert done.correct
    assert done.parameters == "small"
    # The set was accepted when the keys were made, and key files carry it.
    done.keys.save(tmp_path)
    keys = pf.Keys.load(tmp_path)
    assert keys.parameters == own
    with pytest.warns(pf.errors.SecurityWarning):
        assert squared.run({"x": X}, keys=keys).correct
    # The same set: planned, and warned of, once.
    assert squared.run({"x": X}, keys=keys, parameters=own).correct
    with rejects(pf.errors.InputError, "small", "toy-10"):
        squared.run({"x": X}, keys=keys, parameters="toy-10")
    other = pf.SlotParameters.of("ckks", **{**SMALL, "noise_std": 3.3})
    with rejects(pf.errors.InputError, "small"):
        squared.run({"x": X}, keys=keys, parameters=other)


def test_a_file_and_its_fields_are_one_set():
    import tomllib

    for scheme in ("ckks", "bgv"):
        path = EXAMPLES / f"own-{scheme}.toml"
        fields = tomllib.loads(path.read_text(encoding="utf-8"))[scheme]
        assert pf.SlotParameters.of(scheme, **fields) == pf.SlotParameters.load(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {},
            r"squared: parameter set small has (\d+\.\d) bits of security .* but 128 are needed; .* security=\1 \(--security \1\)",
        ),
        (
            {"secret": {"sparse-ternary": 100}},
            r"unknown: no table .*security=0",
        ),
        ({"noise_std": 1.0}, r"unknown: .*3\.19"),
        ({"ring_degree": 512}, r"unknown: .*512"),
    ],
)
def test_a_weak_custom_set_is_rejected_unless_requested(changes, message):
    own = pf.SlotParameters.of("ckks", **{**SMALL, **changes})
    with pytest.raises(pf.errors.ParameterError, match=message):
        squared.run({"x": X}, parameters=own)
    # Its cost may still be estimated.
    with pytest.warns(pf.errors.SecurityWarning):
        assert squared.cost(own).to_dict()["parameters"] == "small"
    with pytest.warns(pf.errors.SecurityWarning):
        assert squared.run({"x": X}, parameters=own, security=0).correct


def test_the_command_line_refuses_a_weak_file_too(command, tmp_path):
    text = (EXAMPLES / "own-ckks.toml").read_text(encoding="utf-8")
    (tmp_path / "weak.toml").write_text(text.replace("16384", "8192"))
    done = command("run", "examples/slots.py:scores", "--params", "weak.toml", "--keys", "new")
    assert done.status == 2
    assert "but 128 are needed; take a set with a larger ring_degree or fewer bits of moduli" in done.err
    assert not (tmp_path / "new").exists()
    done = command(
        "run", "examples/slots.py:scores", "--params", "weak.toml", "--security", "0", *("--input", "x=0,0,0,0,0,0,0,0")
    )
    assert done.status == 0
    assert "warning: parameter set own-ckks has about" in done.err


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: pf.SlotParameters.load("nowhere.toml"), pf.errors.ParameterError, "nowhere.toml: cannot read"),
        (
            lambda: pf.SlotParameters.load(5),
            pf.errors.InputError,
            "5 is not a path of a file or folder; give a str or a pathlib.Path",
        ),
        (
            lambda: pf.SlotParameters.of("tfhe", **SMALL),
            pf.errors.InputError,
            "there is no scheme 'tfhe'; known are ckks, bgv",
        ),
        (
            lambda: pf.SlotParameters.of("bgv", **SMALL),
            pf.errors.ParameterError,
            "unknown field `gadget`, expected one of",
        ),
        (
            lambda: pf.SlotParameters.of("ckks", **{**SMALL, "ring_degree": "many"}),
            pf.errors.ParameterError,
            r'the parameter set: TOML parse error at line \d+, column \d+(.|\n)*ring_degree = "many"(.|\n)*docs/slots.md',
        ),
        (
            lambda: pf.SlotParameters.of("ckks", **{**SMALL, "q": None}),
            pf.errors.ParameterError,
            "missing field `q`",
        ),
        (
            lambda: pf.SlotParameters.of("ckks", **{**SMALL, "noise_std": float("nan")}),
            pf.errors.InputError,
            "the fields of a parameter set are numbers",
        ),
        (lambda: pf.SlotParameters.of("ckks", **{**SMALL, "q": {1, 2}}), pf.errors.InputError, "set"),
        (
            lambda: squared.run({"x": X}, parameters=str(EXAMPLES / "own-bgv.toml")),
            pf.errors.ParameterError,
            "squared: parameter set own-bgv is for BGV, but the program is for CKKS; give a set for CKKS",
        ),
    ],
)
def test_invalid_sets_are_reported(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


def test_a_plaintext_modulus_of_another_program_is_said():
    @pf.program(x=pf.Mod(65537).vector(8))
    def doubled(x):
        return x + x

    with pytest.raises(pf.errors.ProgramError, match=r"65537.*786433|786433.*65537"):
        doubled.run({"x": np.arange(8)}, parameters=pf.SlotParameters.load(EXAMPLES / "own-bgv.toml"))


def test_a_key_switch_by_name_keeps_the_security():
    """Its special primes count: six digits take one of them, one digit six, which leave too little."""
    own = pf.SlotParameters.load(EXAMPLES / "own-ckks.toml")
    assert squared.run({"x": X}, parameters=own, key_switch="d6").parameters == "own-ckks-d6"
    with pytest.raises(pf.Error, match="security"):
        squared.run({"x": X}, parameters=own, key_switch="d1")


def slim():
    """Slim bootstrapping in a small ring: no named set has it. Insecure."""
    reduction = [{"bits": 49}, {"pair_bits": 76}] * 5 + [{"bits": 49}]
    return {
        "name": "slim",
        "ring_degree": 1024,
        "q": [{"bits": 48}, {"bits": 40, "count": 5}, *reduction, {"pair_bits": 70}, {"bits": 49}],
        "p": [{"bits": 49, "count": 4}],
        "gadget": {"hybrid": {"digit_limbs": 4}},
        "scale_log2": 40,
        "secret": {"sparse-ternary": 192},
        "ephemeral_weight": 32,
        "bootstrap": {
            "order": "slim",
            "coefficients_to_slots": 2,
            "slots_to_coefficients": 2,
            "range": 17,
            "degree": 30,
            "doublings": 3,
            "arcsine_degree": 5,
        },
        "noise_std": 3.2,
    }


@pytest.mark.parametrize("slots", [1, 2, 16, 512])
@pytest.mark.filterwarnings("ignore::polyfabric.errors.SecurityWarning")
def test_slim_bootstrapping(slots):
    @pf.program(x=pf.Real.vector(slots))
    def twice(x):
        once = (x * x - 0.5).bootstrap()
        return (once * x).bootstrap() + 0.25

    own = pf.SlotParameters.of("ckks", **slim())
    x = np.linspace(-1, 1, slots)
    done = twice.run({"x": x}, parameters=own, security=0, measure=True)
    assert done.correct
    assert done.first_beyond is None
    np.testing.assert_allclose(done.value, (x * x - 0.5) * x + 0.25, atol=2**-12)
    # Slots to coefficients come first: the operand still has their levels, and the result none that they took.
    levels = [node["level"] for node in done.nodes if node["op"] == "bootstrap"]
    assert min(levels) >= 4
