"""All schemes share calls, steps and options, and options that do not apply are refused with the reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.run.execution import run_plan
from rejects import rejects

PROGRAMS = """
import polyfabric as pf


@pf.program(x=pf.Int(0, 3).vector(2))
def elements(x):
    return pf.lookup(x, [3, 2, 1, 0])


@pf.program(x=pf.Real.vector(4))
def reals(x):
    return x * x


@pf.program(x=pf.Mod(65537).vector(4))
def residues(x):
    return x * x + 1


@pf.program(x=pf.UInt(70), t=pf.Text(3))
def wide(x, t):
    return {"more": x + 1, "same": t == "abc"}
"""
found: dict[str, Any] = {}
exec(PROGRAMS, found)
CASES = {
    "tfhe": (found["elements"], {"x": [1, 3]}),
    "ckks": (found["reals"], {"x": [0.5, -1.0, 0.25, 0.0]}),
    "bgv": (found["residues"], {"x": [1, 2, 3, 4]}),
}
SAME = {
    *("program", "scheme", "on", "parameters", "parameter_set", "correct", "outputs", "expected", "error", "bound"),
    "log2_failure",
}


@pytest.fixture(scope="module")
def done() -> dict[str, pf.RunResult]:
    return {scheme: program.run(inputs) for scheme, (program, inputs) in CASES.items()}


@pytest.mark.parametrize("scheme", CASES)
def test_a_result_says_the_same_of_all_schemes(scheme: str, done: Any) -> None:
    result = done[scheme]
    assert isinstance(result, pf.RunResult)
    assert (result.scheme, result.program, result.correct) == (scheme, CASES[scheme][0].name, True)
    assert list(result.seconds) == ["keys", "encrypt", "execute", "decrypt"]
    assert all(0 <= result.error[name] <= result.bound[name] for name in result.outputs)
    assert (result.bound["result"] > 0) == (scheme == "ckks")
    assert result.log2_failure == result.plan.log2_failure < -39
    assert result.plan.parameters == result.keys.parameters
    assert result.to_dict().keys() >= {*SAME, "seconds", "sizes_bytes"}
    json.dumps(result.to_dict())


@pytest.mark.parametrize("scheme", CASES)
def test_a_cost_says_the_same_of_all_schemes(scheme: str) -> None:
    program, _ = CASES[scheme]
    cost = program.cost()
    assert (cost["program"], cost["scheme"]) == (program.name, scheme)
    # The set by name, as in results and machine reports, and its figures.
    assert cost["parameters"] == cost["parameter_set"]["name"] == program.plan().parameters.name
    assert cost["security_bits"] == cost["parameter_set"]["security_bits"] >= 128
    assert min(cost["memory_bytes"], cost["input_bytes"], cost["output_bytes"]) > 0


@pytest.mark.parametrize("scheme", CASES)
def test_keys_say_which_scheme_they_are_of(scheme: str, done: Any, tmp_path: Path) -> None:
    program, inputs = CASES[scheme]
    done[scheme].keys.save(tmp_path)
    keys = pf.Keys.load(tmp_path)
    assert (keys.scheme, keys.parameters.name) == (scheme, done[scheme].parameters)
    again = program.run(inputs, keys=keys)
    assert again.correct
    assert "keys" not in again.seconds
    for other in CASES.keys() - {scheme}:
        with rejects(pf.errors.InputError, scheme.upper(), other.upper()):
            CASES[other][0].run(CASES[other][1], keys=keys)
        with rejects(pf.errors.FileError, scheme.upper(), other.upper()):
            pf.Keys.load(tmp_path, other)


@pytest.mark.parametrize("scheme", CASES)
def test_the_steps_of_three_parties(scheme: str, tmp_path: Path) -> None:
    program, inputs = CASES[scheme]
    client, sensor, server = (tmp_path / name for name in ("client", "sensor", "server"))
    keys = program.in_folder(client, public=True).make_keys().keys
    assert keys.scheme == scheme
    for folder, name in ((sensor, "public.key"), (server, "server.key")):
        folder.mkdir()
        (client / name).rename(folder / name)
    assert program.in_folder(sensor).encrypt(inputs).inputs == ["x"]
    (sensor / "x.in.ct").rename(server / "x.in.ct")
    assert program.in_folder(server, public=True).execute().on == "cpu"
    (server / "result.out.ct").rename(client / "result.out.ct")
    read = program.in_folder(client, public=True).decrypt().value
    np.testing.assert_allclose(read, program.clear(**inputs), atol=1e-5)


@pytest.mark.parametrize("scheme", CASES)
def test_a_command_has_the_same_flags(scheme: str, polyfabric: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PROGRAMS)
    name = f"mine.py:{CASES[scheme][0].name}"
    numbers = ",".join(map(str, CASES[scheme][1]["x"]))
    common = ("run", name, "--public", "--max-failure", "-20", "--security", "100", "--json")
    whole = polyfabric(*common, "--input", f"x={numbers}")
    assert whole.status == 0, whole.err
    assert json.loads(whole.out).keys() >= SAME
    printed = {}
    for step, more in (("keys", ()), ("encrypt", ("--input", f"x={numbers}")), ("execute", ()), ("decrypt", ())):
        made = polyfabric(*common, "--keys", "keys", "--step", step, *more)
        assert made.status == 0, made.err
        printed[step] = json.loads(made.out)
    assert printed["keys"]["files"] == ["client.key", "server.key", "public.key"]
    assert printed["encrypt"]["inputs"] == ["x"]
    assert printed["decrypt"].keys() == {
        *("step", "outputs", "bound", "correct", "verdict", "problem", "expected", "error")
    }
    assert printed["decrypt"]["correct"]
    drawn = polyfabric("run", name, "--json")
    assert json.loads(drawn.out)["correct"], drawn.err


def test_integers_and_texts_are_drawn_too(polyfabric: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PROGRAMS)
    done = polyfabric("run", "mine.py:wide", "--json")
    assert done.status == 0, done.err
    assert json.loads(done.out)["correct"]


@pytest.mark.parametrize(
    ("scheme", "option", "message"),
    [
        (
            "tfhe",
            {"key_switch": "auto"},
            r"\(--key-switch\) applies to programs of CKKS and BGV; planning places TFHE's before",
        ),
        ("tfhe", {"measure": True}, r"measure=True \(--measure\) applies to programs of CKKS and BGV; TFHE's noise is"),
        (
            "tfhe",
            {"flood": 1e-3},
            r"flood=0.001 \(--flood\) applies to programs of CKKS and BGV; TFHE decrypts exactly",
        ),
        (
            "ckks",
            {"unroll": 2},
            r"unroll=2 \(--unroll\) applies to programs of TFHE; CKKS has no blind rotation: leave it",
        ),
        ("bgv", {"circuit_privacy": 4}, r"applies to programs of TFHE; a client of BGV sees the noise of its answer"),
        ("bgv", {"flood": 1e-3}, "BGV decrypts exactly"),
        ("tfhe", {"security": 200}, "128.0 bits of security, but 200 are required"),
        ("ckks", {"security": 1000, "parameters": "ckks-depth-4"}, "but 1000 are required"),
        ("tfhe", {"max_failure": -1e4, "parameters": "polyfabric-3-p128-t32"}, "2\\^-10000"),
        ("ckks", {"max_failure": -60}, r"2\^-40.0, more than 2\^-60.0; .* max_failure=-40 \(--max"),
        ("bgv", {"max_failure": "never"}, "max_failure='never' is not a number; give log2 of it, as -40"),
    ],
)
def test_what_means_nothing_or_asks_too_much_is_refused(scheme: str, option: dict[str, Any], message: str) -> None:
    program, inputs = CASES[scheme]
    with pytest.raises(pf.Error, match=message):
        program.run(inputs, **option)


def test_a_plan_is_executed_where_it_is_for() -> None:
    program, inputs = CASES["tfhe"]
    with rejects(pf.errors.InputError, "elements", "cpu", "morphling"):
        run_plan(program.plan(), inputs, on="morphling")
    planned = program.plan(on="morphling")
    with rejects(pf.errors.InputError, "elements", "morphling", "interpreter"):
        run_plan(planned, inputs, on="interpreter")
    assert run_plan(planned, inputs).on == "morphling"


def test_a_reading_takes_a_machine(polyfabric: Any) -> None:
    done = polyfabric("run", "pbs", "--reading", "fft_rate=literal")
    assert done.status == 2
    assert "readings apply to machines, but cpu is this computer" in done.err
