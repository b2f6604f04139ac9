"""Traces of operations become programs with the meaning of their lines; damaged ones are refused with the line's number."""

from __future__ import annotations

import json
import random
import re
import time
from pathlib import Path

import numpy as np
import polyfabric as pf
import pytest
from rejects import rejects

EXAMPLE = Path(__file__).parents[2] / "examples" / "trace.csv"
HEADER = "instruction,scheme,poly_modulus_degree,rns_terms,arg0,arg1,arg2,arg3\n"


def trace(*lines: str, scheme: str = "CKKS", degree: int = 2048) -> str:
    """A trace of lines without their scheme, ring and limbs of a key."""
    rows = [line.partition(",") for line in lines]
    return HEADER + "".join(f"{name},{scheme},{degree},9,{rest}\n" for name, _, rest in rows)


def test_the_example_is_timed_at_its_levels() -> None:
    program = pf.from_trace(EXAMPLE)
    x, y = np.random.default_rng(1).uniform(-1, 1, (2, 8192))
    assert np.allclose(program.clear(ct0=x, ct1=y)["ct6"], x * y + np.roll(x * y, -2))
    on_f1 = program.simulate("f1").to_dict()["seconds"]
    short = EXAMPLE.read_text().replace("-8", "-3").replace("-7", "-2")
    assert 0 < pf.from_trace(short).simulate("f1").to_dict()["seconds"] < on_f1 / 2


def test_ckks_has_the_meaning_of_its_lines() -> None:
    lines = (
        "square,a-3-5,x-2-5",
        "relin,a-2-5,a-3-5",
        "rescale,a-2-4,a-2-5",
        "sub,b-2-4,a-2-4,y-2-4",
        "rotate,c-2-4,b-2-4,5",
        "rotate,d-2-4,b-2-4,4095",
        "mul,e-3-4,c-2-4,d-2-4",
        "add,f-3-4,e-3-4,e-3-4",
        "mod_switch,g-2-2,c-2-4",
    )
    program = pf.from_trace(trace(*lines))
    x, y = np.random.default_rng(2).uniform(-1, 1, (2, 1024))
    b = x * x - y
    found = program.clear(x=x, y=y)
    # 4095 is -1: a conjugation, which leaves real numbers as they are.
    assert np.allclose(found["f"], 2 * np.roll(b, -1) * b)
    assert np.allclose(found["g"], np.roll(b, -1))
    assert program.run(x=x, y=y).correct


def test_bgv_has_the_meaning_of_its_lines() -> None:
    lines = ("mul,c-3-3,a-2-3,b-2-3", "relin,c-2-3,c-3-3", "mod_switch,c-2-2,c-2-3", "rotate,d-2-2,c-2-2,3")
    program = pf.from_trace(trace(*lines, scheme="BGV"))
    a, b = np.random.default_rng(3).integers(-100, 100, (2, 2048))
    # SEAL's generator 3 moves each of the two rows by one.
    expected = np.roll((a * b).reshape(2, -1), -1, axis=1).reshape(-1)
    assert np.array_equal(program.clear(a=a, b=b)["d"], expected)
    assert program.run(a=a, b=b).correct


def test_public_operands_differ_by_label() -> None:
    lines = ("mul_plain,b-2-4,a-2-4,p-1-4", "mul_plain,c-2-4,a-2-4,q-1-4", "add_plain,d-2-4,a-2-4,p-1-4")
    program = pf.from_trace(trace(*lines))
    found = {name: np.asarray(value) for name, value in program.clear(a=np.ones(1024)).items()}
    assert not np.allclose(found["b"], found["c"])
    assert np.allclose(found["d"], found["b"] + 1)


def test_headers_may_name_a_column_that_lines_lack() -> None:
    header = HEADER.replace("rns_terms", "rns_terms,cipher_degree")
    given = trace("add,c-2-2,a-2-2,b-2-2").replace(HEADER, header)
    assert np.allclose(pf.from_trace(given).clear(a=np.ones(1024), b=np.ones(1024))["c"], 2)


def test_outputs_are_the_results_that_no_line_reads() -> None:
    """Also of a label that names an input too, and of one whose BGV ciphertext is that of a label that is read."""
    lines = ("add,a-2-3,a-2-3,b-2-3", "mod_switch,c-2-2,a-2-3", "add,d-2-3,a-2-3,a-2-3", "add,b-2-3,b-2-3,b-2-3")
    program = pf.from_trace(trace(*lines, scheme="BGV"))
    a, b = np.random.default_rng(3).integers(-100, 100, (2, 2048))
    found = program.clear(a=a, b=b)
    assert {name: list(value) for name, value in found.items()} == {
        "b": list(2 * b),
        "c": list(a + b),
        "d": list(2 * (a + b)),
    }


REFUSED = {
    "an unknown instruction": ("bootstrap,c-2-3,a-2-3", "bootstrap"),
    "an instruction on polynomials": ("ntt,c-2-3,a-2-3", "ntt"),
    "an operand without limbs": ("add,c-2-3,a-2,b-2-3", "a-2"),
    "an operand of no limbs": ("add,c-2-3,a-2-0,b-2-3", "a-2-0"),
    "an operand of too many polynomials": ("add,c-2-3,a-4-3,b-2-3", "a-4-3"),
    "an input of three polynomials": ("relin,c-2-3,a-3-3", "a"),
    "a missing operand": ("add,c-2-3,a-2-3", "2 arguments"),
    "an even Galois element": ("rotate,c-2-3,a-2-3,4", "Galois"),
    "no Galois element": ("rotate,c-2-3,a-2-3", "Galois"),
    "a Galois element beyond the ring": ("rotate,c-2-3,a-2-3,4097", "Galois"),
    "limbs that appear": ("mod_switch,c-2-4,a-2-3", "4"),
    "a product without a limb to drop": ("mul,c-3-1,a-2-1,a-2-1", "last level"),
    "a hostile label": ('add,c-2-3,a"b-2-3,b-2-3', 'a"b'),
}


@pytest.mark.parametrize(("line", "named"), REFUSED.values(), ids=REFUSED.keys())
def test_a_bad_line_is_refused_by_its_number(line: str, named: str) -> None:
    with rejects(pf.Error, ":3", named):
        pf.from_trace(trace("add,z-2-3,y-2-3,y-2-3", line))


WRONG = {
    "no header": ("add,BGV,4096,3,a-2-2,b-2-2,c-2-2\n", ":1"),
    "nothing": ("\n", ":1"),
    "no operation": (HEADER, "operations"),
    "BFV": (trace("add,c-2-2,a-2-2,b-2-2", scheme="BFV"), "BFV"),
    "a ring that is none": (trace("add,c-2-2,a-2-2,b-2-2", degree=3000), "3000"),
    "a huge ring": (trace("add,c-2-2,a-2-2,b-2-2", degree=1 << 40), "degree"),
    "two schemes": (trace("add,c-2-2,a-2-2,b-2-2") + "add,BGV,2048,9,d-2-2,c-2-2,c-2-2\n", "scheme"),
    "too many lines": (HEADER + "\n" * 200_000, "100,000"),
    "too many public numbers": (
        trace(*(f"add_plain,c{at}-2-2,a-2-2,p{at}-1-2" for at in range(300)), degree=32768),
        "public operands",
    ),
}


@pytest.mark.parametrize(("text", "named"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_trace_is_refused(text: str, named: str) -> None:
    with rejects(pf.Error, named):
        pf.from_trace(text)


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"\xff\xfe")
    for given, named in ((3, "int"), ("", "from_trace"), (tmp_path / "none.csv", "none.csv"), (binary, "binary.csv")):
        with rejects(pf.Error, named):
            pf.from_trace(given)


def test_the_file_may_have_any_name(tmp_path: Path) -> None:
    file = tmp_path / "größe 3.csv"
    file.write_text(trace("add,c-2-2,a-2-2,b-2-2"))
    assert list(pf.from_trace(file).outputs) == ["c"]


def test_damaged_traces_are_read_or_refused_in_bounded_time() -> None:
    rng = random.Random(5)
    text = EXAMPLE.read_text() + "mul_plain,CKKS,16384,9,ct7-2-7,ct6-2-7,pt-1-7\n"
    words = [*sorted(set(re.findall(r"\w+", text))), "0", "-1", "999999", "2", "", ",", '"', "\n", "é"]
    accepted = 0
    for _ in range(300):
        parts = re.split(r"(\W)", text)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(parts))
            if rng.random() < 0.5:
                parts[at] = rng.choice(words)
            else:
                parts[at : at + rng.randint(0, 4)] = []
        begin = time.monotonic()
        try:
            pf.from_trace("".join(parts) + "\n")
            accepted += 1
        except pf.Error:
            pass
        assert time.monotonic() - begin < 10
    assert 0 < accepted < 300


def test_a_trace_is_timed_on_the_command_line(polyfabric) -> None:
    done = polyfabric("simulate", str(EXAMPLE), "--on", "f1", "--json")
    assert json.loads(done.out)["seconds"] > 0
    missing = polyfabric("simulate", f"{EXAMPLE}:f", "--on", "f1")
    assert "trace.csv" in missing.err
