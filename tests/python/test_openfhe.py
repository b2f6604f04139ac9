"""Traces of OpenFHE become programs with OpenFHE's results; serialized crypto contexts become parameter sets; damaged ones are refused.

The samples are calls of OpenFHE 1.6.1, whose decryptions are `DECRYPTED`. Their lines were written in the form of its tracer, which its wheel does not have.
"""

from __future__ import annotations

import json
import random
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from rejects import rejects

ROOT = Path(__file__).parents[2]
CKKS = ROOT / "examples" / "openfhe.txt"
SAMPLES = Path(__file__).parent / "openfhe"
CONTEXT = json.loads(CKKS.with_suffix(".json").read_text())
X, Y = [0.25, 0.5, 0.75, 1.0, 2.0, 3.0, 4.0, 5.0], [5.0, 4.0, 3.0, 2.0, 1.0, 0.75, 0.5, 0.25]
DECRYPTED = [0.5625, -1.03125, -0.484375, 1, -2, -1.40625, -5.625, -4.6875]
INTEGERS = [65, -34, 73, 196, 261, -6, 15, 24]


def lines(*calls: str) -> str:
    """A trace of calls, as `NAME in, in -> out`; further calls inside it are indented by a space each."""
    found = ["Tracer (t.txt):"]
    for call in calls:
        depth = 2 + 2 * (len(call) - len(call.lstrip()))
        name, _, rest = call.strip().partition(" ")
        given, _, result = rest.partition(" -> ")
        named = name if "::" in name.partition("(")[0] else f"CryptoContext::{name}"
        found.append("\t" * depth + (f"{named}:" if "(" in name else f"{named}(..):"))
        for text in filter(None, given.split("; ")):
            found.append("\t" * (depth + 1) + f"input {typed(text)}")
        if result:
            found.append("\t" * (depth + 1) + f"output {typed(result)}")
    return "\n".join(found) + "\n"


def typed(text: str) -> str:
    """An operand with its type, which its form shows."""
    value = text.rpartition("= ")[2]
    kind = "double" if re.fullmatch(r"-?[\d.]+", value) else "plaintext" if value.startswith("p") else "ciphertext"
    kind = "complex<double>" if value.startswith("(") else kind
    kind = "int64_t" if re.fullmatch(r"-?\d+", value) else kind
    return f"{text} : {f'vector<{kind}>' if value.startswith('[') else kind}"


def small(**changes: Any) -> str:
    """The sample's context with other fields, by their names."""
    text = json.dumps(CONTEXT)
    for name, value in changes.items():
        text = re.sub(rf'"{name}": (?:"[^"]*"|[-\d.]+)', f'"{name}": {json.dumps(value)}', text)
    return text + "\n"


def read(*calls: str, **changes: Any) -> pf.Program:
    return pf.from_trace(lines(*calls), context=small(**changes))


def test_ckks_decrypts_as_openfhe() -> None:
    program = pf.from_trace(CKKS)
    assert np.allclose(program.clear(ciphertext_1=X, ciphertext_2=Y)["ciphertext_8"], DECRYPTED)
    result = program.run(ciphertext_1=X, ciphertext_2=Y, parameters=str(CKKS.with_suffix(".json")))
    assert result.correct
    assert np.allclose(result.outputs["ciphertext_8"], DECRYPTED, atol=1e-6)


@pytest.mark.parametrize("name", ["bgv", "bfv"])
def test_integers_are_those_of_openfhe(name: str) -> None:
    program = pf.from_trace(SAMPLES / f"{name}.txt")
    x, y = (np.zeros(program.inputs["ciphertext_1"].length, dtype=int) for _ in range(2))
    x[:8], y[:8] = range(1, 9), range(8, 0, -1)
    assert list(program.clear(ciphertext_1=x, ciphertext_2=y)["ciphertext_7"][:8]) == INTEGERS
    assert program.scheme == "bgv"
    assert program.simulate("f1").to_dict()["seconds"] > 0


def test_a_context_is_a_parameter_set() -> None:
    of_ckks = pf.SlotParameters.load(CKKS.with_suffix(".json")).to_dict()
    # 60 + 3 * 50 bits, without the prime that only serves encryption; two digits, as OpenFHE chose.
    assert (of_ckks["ring_degree"], round(of_ckks["log2_q"]), of_ckks["levels"]) == (16384, 210, 3)
    assert (of_ckks["scale_log2"], of_ckks["digits"], of_ckks["special_limbs"]) == (50, 2, 2)
    of_bgv = pf.SlotParameters.load(SAMPLES / "bgv.json").to_dict()
    assert (of_bgv["plaintext_modulus"], of_bgv["limbs"]) == (65537, 4)
    with rejects(pf.errors.ParameterError, "BFV"):
        pf.SlotParameters.load(SAMPLES / "bfv.json")


def test_every_operation_has_its_meaning() -> None:
    program = read(
        "EvalNegate c1 -> c3",
        "EvalSub(Plaintext,Ciphertext) p1; c1 -> c4",
        "EvalSub c1; 0.25 -> c5",
        "EvalSquareInPlace c1 -> c6",
        "EvalAddMany [c4, c5, c6] -> c7",
        "EvalMultMany [c1, c5] -> c8",
        "EvalAtIndex c1; index = -3 -> c9",
        "EvalAutomorphism c1; i = 25 -> c10",
        "LevelReduce c1; levels = 1 -> c11",
        "EvalMult c3; real = 0.5; imag = 0.25 -> c12",
        "Relinearize c8 -> c13",
        # OpenFHE's tracer notes the ciphertext first in one, and last in the other.
        "EvalSubInPlace(double,Ciphertext) c1; 0.5 -> c14",
        "EvalSub(Ciphertext,std::complex<double>) (0,1); c1 -> c15",
    )
    x = np.linspace(-1, 1, 8)
    found = {name: np.asarray(value) for name, value in program.clear(c1=x).items()}
    assert np.allclose(found["c9"], np.roll(x, 3))
    assert np.allclose(found["c10"], np.roll(x, -2))
    assert np.allclose(found["c11"], x)
    assert np.allclose(found["c12"], -x * (0.5 + 0.25j))
    assert np.allclose(found["c13"], x * (x - 0.25))
    assert np.allclose(found["c14"], 0.5 - x)
    assert np.allclose(found["c15"], x - 1j)
    # p1 is not in the trace, so its numbers are made up.
    made_up = found["c7"] - (x - 0.25) - x * x + x
    assert len(set(made_up.round(6))) == 8


def test_calls_inside_of_others_are_read_if_the_outer_one_is_unknown() -> None:
    program = read(
        "EvalSum c1; batchSize = 4 -> c5",
        " LeveledSHEBase::EvalAutomorphism c1; i = 5 -> c2",
        " LeveledSHEBase::EvalAddInPlace c1; c2 -> c3",
        " LeveledSHEBase::EvalAutomorphism c3; i = 25 -> c4",
        " LeveledSHEBase::EvalAddInPlace c3; c4 -> c5",
        # The outer call is known: what is inside does not count twice.
        "EvalMult c5; c5 -> c6",
        " LeveledSHERNS::EvalMult c5; c5 -> c7",
        "Decrypt k; c6",
    )
    x = np.arange(8.0) / 8
    window = sum(np.roll(x, -shift) for shift in range(4))
    assert list(program.outputs) == ["c6"]
    assert np.allclose(program.clear(c1=x)["c6"], window**2)


def test_encoded_levels_and_bounds_are_those_of_the_inputs() -> None:
    text = CKKS.read_text().replace("level = 0", "level = 1", 1).replace("[0.25, 0.5", "[0.25, 9.5", 1)
    # A level less than the trace's products need.
    with rejects(pf.Error, ":44", "last level"):
        pf.from_trace(text, small())
    encrypted = "\n".join(text.splitlines()[:13]) + "\n"
    given = encrypted + lines("EvalNegate ciphertext_1 -> c").partition("\n")[2]
    assert "magnitude 9.5 level 2" in pf.from_trace(given, small()).text()


REFUSED = {
    "a call that is not read": ("EvalLogistic c1; 1.0 -> c2", ":2", "EvalLogistic", "c2"),
    "a step that is not in the trace": ("EvalSum c1 -> c3\n EvalAdd c1; c9 -> c3", ":5", "c9"),
    "one operand": ("EvalAdd c1 -> c2", ":2", "EvalAdd"),
    "public operands alone": ("EvalAdd 1.0; 2.0 -> c2", ":2", "EvalAdd"),
    "no amount": ("EvalRotate c1 -> c2", ":2", "index"),
    "an even Galois element": ("EvalAutomorphism c1; i = 4 -> c2", ":2", "4"),
    "a vector that the tracer cut": ("EvalAddMany [c1, ...(3 more)] -> c2", "...(3"),
    "too many products": ("\n".join(f"EvalSquare c{at} -> c{at + 1}" for at in range(1, 6)), "last level"),
    "no result": ("EvalAdd c1; c1", ":2", "outputs"),
    "nothing": ("KeyGen", "operations"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_a_bad_trace_is_refused_by_its_line(case: tuple[str, ...]) -> None:
    with rejects(pf.Error, *case[1:]):
        read(*case[0].split("\n"))


DAMAGED = {
    "another polymorphic type": ({"polymorphic_name": "lbcrypto::SchemeNTRU"}, "lbcrypto::SchemeNTRU"),
    "a ring that is none": ({"rd": 3000}, "3000"),
    "a huge ring": ({"rd": 1 << 40}, str(1 << 40)),
    "a prime that is none": ({"v": "17"}, "17"),
    "a batch of more than the ring": ({"bs": 1 << 20}, str(1 << 20)),
    "digits by text": ({"dnum": "2"}, "2"),
}


@pytest.mark.parametrize("case", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_bad_context_is_refused(case: tuple[dict[str, Any], str]) -> None:
    with rejects(pf.errors.ParameterError, case[1]):
        read("EvalAdd c1; c1 -> c2", **case[0])


@pytest.mark.parametrize("field", ["elp", "enp", "rs", "dnum", "dp"])
def test_a_context_without_a_field_is_refused(field: str) -> None:
    with rejects(pf.errors.ParameterError, "openfhe"):
        pf.from_trace(lines("EvalAdd c1; c1 -> c2"), small().replace(f'"{field}":', '"other":'))


def test_a_deviation_beyond_floats_is_refused() -> None:
    with rejects(pf.errors.ParameterError, "openfhe"):
        read("EvalAdd c1; c1 -> c2", dp=10**400)


@pytest.mark.parametrize("text", ["{}\n", "[]\n", "\n", '{"value0": 3}\n', "[" * 100_000 + "\n", "nan\n"])
def test_what_is_no_context_is_refused(text: str) -> None:
    with rejects(pf.errors.ParameterError, "openfhe"):
        pf.from_trace(lines("EvalAdd c1; c1 -> c2"), text)


def test_without_a_context_the_error_says_how_to_write_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text(CKKS.read_text())
    with rejects(pf.errors.InputError, "mine.txt", "mine.json", "SerializeToFile"):
        pf.from_trace(file)
    with rejects(pf.errors.InputError, "context="):
        pf.from_trace(lines("EvalAdd c1; c1 -> c2"))


def test_secrets_of_other_distributions_have_no_set() -> None:
    for mo, named in ((0, "0"), (9, "9")):
        with rejects(pf.errors.ParameterError, named):
            _set_of(small(mo=mo))


def _set_of(text: str) -> pf.SlotParameters:
    from polyfabric.schemes import openfhe

    context = openfhe.read(text)
    return pf.SlotParameters.of(context.scheme, **context.fields())


def test_damaged_samples_are_read_or_refused_in_bounded_time() -> None:
    rng = random.Random(8)
    context = CKKS.with_suffix(".json").read_text()
    accepted = 0
    for round_ in range(200):
        texts = [CKKS.read_text(), context]
        which = round_ % 2
        parts = re.split(r"(\W)", texts[which])
        words = [*rng.sample(parts, 20), "0", "-1", "1e999", "99999999999999999999", "", "[", "\n", "\t", "é", "::"]
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(parts))
            if rng.random() < 0.6:
                parts[at] = rng.choice(words)
            else:
                parts[at : at + rng.randint(0, 6)] = []
        texts[which] = "".join(parts) + "\n"
        begin = time.monotonic()
        try:
            pf.from_trace(*texts)
            _set_of(texts[1])
            accepted += 1
        except pf.Error:
            pass
        assert time.monotonic() - begin < 10
    assert 0 < accepted < 200


def test_the_command_line_reads_a_trace_with_its_context(polyfabric) -> None:
    done = polyfabric("run", str(CKKS), "--cost", "--params", str(CKKS.with_suffix(".json")), "--json")
    assert json.loads(done.out)["parameters"] == "openfhe-openfhe"
