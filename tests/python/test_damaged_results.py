"""The client refuses a result with one flipped bit, or decrypts the right value, for every scheme and type.

The checksum is made right again, so that the bit reaches what reads it. Of TFHE the bits that the plan says may give another value of the type do so,
no others: encryption hides, it does not sign. Every other flip changes nothing or is refused.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from damage import flipped


@pf.program(x=pf.Int(0, 5).vector(2))
def small(x):
    return pf.lookup(x, [2, 3, 4, 5, 0, 1])


@pf.program(a=pf.Bool, b=pf.Bool)
def gates(a, b):
    return {"and": a & b, "xor": a ^ b}


@pf.program(x=pf.UInt(8))
def byte(x):
    return x + 1


@pf.program(x=pf.SInt(32))
def word(x):
    return -x


@pf.program(x=pf.UInt(72))
def wide(x):
    return x + 1


@pf.program(x=pf.UInt(256))
def widest(x):
    return x + 1


@pf.program(t=pf.Text(3))
def text(t):
    return t


@pf.program(x=pf.Int(-4, 3).vector(2))
def signed(x):
    return {"sum": x[0] - x[1], "sign": pf.sign(x[0])}


@pf.program(x=pf.Torus(4))
def torus(x):
    return x + x


@pf.program(x=pf.Real.vector(8))
def reals(x):
    return x * 0.25


@pf.program(x=pf.Real.vector(4096))
def full(x):
    return x * 0.25


@pf.program(x=pf.Real)
def real(x):
    return x * x


@pf.program(x=pf.Complex.vector(8))
def complexes(x):
    return x * x


@pf.program(x=pf.Real.matrix(2, 2))
def matrix(x):
    return x @ x


@pf.program(x=pf.Mod(65537).vector(8))
def residues(x):
    return x * x + 1


@pf.program(x=pf.Mod(2))
def bits(x):
    return x + 1


@pf.program(x=pf.Mod(2**16))
def number(x):
    return x * x


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "integers": (small, {"x": [1, 4]}),
    "integers, far from half a step": (small, {"x": [1, 4]}),
    "signed integers": (signed, {"x": [3, -4]}),
    "an element of the torus": (torus, {"x": 3}),
    "Booleans": (gates, {"a": 1, "b": 0}),
    "8 bits": (byte, {"x": 255}),
    "32 bits": (word, {"x": -123_456_789}),
    "72 bits": (wide, {"x": 2**71 + 12345}),
    "256 bits": (widest, {"x": 2**255 + 12345}),
    "a text": (text, {"t": "key"}),
    "CKKS, a vector": (reals, {"x": np.arange(8) / 8}),
    "CKKS, as many numbers as the ring holds": (full, {"x": np.arange(4096) / 4096}),
    "CKKS, a number": (real, {"x": 0.5}),
    "CKKS, complex numbers": (complexes, {"x": np.arange(8) / 8 * 1j}),
    "CKKS, a matrix": (matrix, {"x": np.eye(2)}),
    "BGV, a vector": (residues, {"x": np.arange(8)}),
    "BGV, a bit": (bits, {"x": 1}),
    "BGV, a number": (number, {"x": 300}),
}


FAR = "polyfabric-4-p64-t32"
"""A set with small errors compared with half a step (the default's reach a third of a step), so that decryption detects fractions of steps."""
SETS = {"integers, far from half a step": FAR}

PLACES = {"integers": 1600}
"""Number of random places, if not 400: with a tight set, decryption detects one flip in twenty."""

# Flipped bits of a word that may give another value, and log2 of the probability that a random phase does.
UNDETECTED = {
    "integers": (2, -0.9),
    "integers, far from half a step": (1, -5.7),
    "Booleans": (1, -3.9),
    "8 bits": (0, -8.7),
}


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.full] if case == "256 bits" else []) for case in CASES]
)
def test_one_bit_of_a_result(case: str) -> None:
    program, inputs = CASES[case]
    client = pf.Client(pf.Specification.of(program, SETS.get(case)))
    server = pf.Server(program, client.evaluation_key, parameters=SETS.get(case))
    answer = server.execute(client.encrypt(inputs))
    right = client.decrypt(answer)
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    torus = client.specification.scheme == "tfhe"
    word_bits = client.specification.data["parameters"]["torus_bits"] if torus else 0
    noise = program.plan(SETS.get(case)).noise["outputs"] if torus else []
    undetected = {row["name"]: row["undetected"] for row in noise}
    if case in UNDETECTED:
        worst = max(undetected.values(), key=lambda one: one["anywhere"])
        bits, anywhere = UNDETECTED[case]
        assert worst["bits"] == bits
        # A processor without fused multiply-adds has a little more.
        assert math.log2(worst["anywhere"]) == pytest.approx(anywhere, abs=0.1)
    refused: Counter[bool] = Counter()
    for name, data in answer.parts.items():
        size = len(data) - 32
        # The heads of the file and of the ciphertexts, byte by byte; then anywhere, and the last of all.
        places = [*range(min(size, 320)), *(chance.randrange(size) for _ in range(PLACES.get(case, 400)))]
        flips = [(place, chance.randrange(8)) for place in places]
        # Every bit of the last words: of TFHE those are a body.
        flips += [(place, bit) for place in range(size - 16, size) for bit in range(8)]
        passed: set[int] = set()
        for place, bit in flips:
            context = f"{case}: bit {bit} of byte {place} of {name}, {size} bytes; seed {seed}"
            try:
                found = client.decrypt(pf.Ciphertexts({**answer.parts, name: flipped(data, place, bit)}, ".out.ct"))
            except pf.Error as error:
                refused["damaged or altered" in str(error)] += 1
                continue
            if torus and found != right:
                terminal = next(one for one in client.specification.data["signature"]["outputs"] if one["name"] == name)
                flip = 8 * ((place - size) % (word_bits // 8)) + bit
                # Of the torus: it went to another message, as near to that as errors may be.
                steps = terminal["step"] * 2.0 ** (flip - word_bits)
                assert round(steps) >= 1, context
                assert abs(steps - round(steps)) <= 1.5 * terminal["error_bound"] * terminal["step"], context
                passed.add(flip)
                continue
            assert found == right, f"{context}: {found} for {right}"
        assert len(passed) <= (undetected[name]["bits"] if torus else 0), f"{case}: {passed} of {name}"
    # With a tight set, few bits are large enough to be detected and small enough not to give another value.
    assert refused[True] > (5 if torus else 20), f"{case}: few by what they decrypt to"
    assert refused[False] > 100, f"{case}: few by their heads"


ANOTHER: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "tfhe": (
        small,
        pf.program("small", x=pf.Int(0, 5).vector(2))(lambda x: pf.lookup(x, [0, 2, 4, 1, 3, 5])),
        {"x": [1, 4]},
    ),
    "tfhe, a type": (
        small,
        pf.program("small", x=pf.Int(0, 3).vector(2))(lambda x: pf.lookup(x, [2, 3, 0, 1])),
        {"x": [1, 2]},
    ),
    "ckks": (reals, pf.program("reals", x=pf.Real.vector(8))(lambda x: x * 0.5), {"x": np.zeros(8)}),
    "bgv": (residues, pf.program("residues", x=pf.Mod(65537).vector(8))(lambda x: x * x + 2), {"x": np.zeros(8, int)}),
}


@pytest.mark.parametrize("case", ANOTHER)
def test_ciphertexts_of_another_program_type_or_step(case: str) -> None:
    """Results with the same client key, which differ only in the program."""
    own, other, inputs = ANOTHER[case]
    specification = pf.Specification.of(own)
    key = pf.Client(specification).to_bytes()
    set_name = specification.context.parameters.name
    client, foreign = (pf.Client.from_bytes(pf.Specification.of(program, set_name), key) for program in (own, other))
    server = pf.Server(own, client.evaluation_key)
    refused = pytest.raises(pf.Error, match="program")
    with refused:
        server.execute(foreign.encrypt(inputs))
    request = client.encrypt(inputs)
    answer = server.execute(request)
    with refused:
        foreign.decrypt(answer)
    # A request as an answer, an answer as a request: the step of another file.
    (given,), (name,) = request.parts.values(), answer.parts
    with refused:
        client.decrypt(pf.Ciphertexts({name: given}, ".out.ct"))
    (given,), (name,) = answer.parts.values(), request.parts
    with refused:
        server.execute(pf.Ciphertexts({name: given}, ".in.ct"))


PROGRAMS = """import polyfabric as pf


@pf.program(x=pf.Int(0, 5).vector(2))
def small(x):
    return pf.lookup(x, [2, 3, 4, 5, 0, 1])


@pf.program(x=pf.Int(0, 5).vector(2))
def small_other(x):
    return pf.lookup(x, [0, 1, 2, 3, 4, 5])


@pf.program(x=pf.Real.vector(2))
def reals(x):
    return x * 0.25


@pf.program(x=pf.Real.vector(2))
def reals_other(x):
    return x * 0.5


@pf.program(x=pf.Mod(65537).vector(2))
def residues(x):
    return x * x + 1


@pf.program(x=pf.Mod(65537).vector(2))
def residues_other(x):
    return x * x + 2
"""

# The place of a byte from the end, and a bit: of the highest byte of the last body of TFHE, on either torus, 1/64 of it, which is less than half of a
# step; of a residue of CKKS and BGV any.
FLIPS = {"small": (-33, 4), "reals": (-1000, 2), "residues": (-1000, 3)}
CAUSE = "damaged or altered|residue"


@pytest.mark.parametrize("name", FLIPS)
def test_the_command_line_refuses_them(polyfabric: Any, tmp_path: Path, name: str) -> None:
    """For every scheme: a result with a flipped bit, and files of another program or step."""
    (tmp_path / "mine.py").write_text(PROGRAMS)

    def step(which: str, program: str = name) -> Any:
        given = ("--input", "x=0,1") if which == "encrypt" else ()
        given += ("--params", FAR) if name == "small" else ()
        return polyfabric("run", f"mine.py:{program}", *given, "--keys", "keys", "--step", which)

    assert step("encrypt").status == 0
    assert step("execute").status == 0
    result, request = tmp_path / "keys" / "result.out.ct", tmp_path / "keys" / "x.in.ct"
    kept, sent = result.read_bytes(), request.read_bytes()
    assert step("decrypt").status == 0
    place, bit = FLIPS[name]
    result.write_bytes(flipped(kept, len(kept) + place, bit))
    for which, program, why in [
        ("decrypt", name, CAUSE),
        ("execute", f"{name}_other", "bring the file that was written for this program"),
    ]:
        done = step(which, program)
        assert (done.status, "Traceback" in done.err, done.out) == (2, False, ""), done
        assert re.search(why, done.err), done
    result.write_bytes(kept)
    assert "bring the file that was written for this program" in step("decrypt", f"{name}_other").err
    result.write_bytes(sent)
    assert "bring the file that was written for this program" in step("decrypt").err
    request.write_bytes(kept)
    assert "bring the file that was written for this program" in step("execute").err
