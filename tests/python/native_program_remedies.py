"""Programs, sets and inputs that the Rust half refuses, beside those that its messages advise; `test_native_remedies.py` plans and runs them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polyfabric as pf
from call_remedies import Call, call
from native_remedies import (
    ELEMENT_TEXT,
    I3,
    I15,
    R4,
    SLOT_TEXT,
    TINY,
    bgv_set,
    ckks_set,
    planned,
    plans,
    programs,
    texts,
    traced,
)
from polyfabric import statements
from polyfabric.programs import timed

DIRECT = "polyfabric-direct-t32"
"""A set without a key switch."""


def powers(steps: int) -> Any:
    def power(x: pf.SlotValue) -> pf.SlotValue:
        for _ in range(steps):
            x = x * x
        return x

    return power


def squared_over(limbs: int) -> Any:
    """The square of an input over so many limbs."""
    program = statements.Program(N=1024)
    x = program.Input(L=limbs)
    program.Output(statements.Mul(x, x))
    return program.finish()


# -- slots -----------------------------------------------------------------------------------------------------------

BGV_TEXT = """program "own" bgv(65537) slots 4
%0 = input "x" magnitude 32768.5
%1 = constant [2]
%2 = mul_plain %0, %1
%3 = polynomial %2 monomial [1, 2, 3]
%4 = output "result" %3
"""
ONE_TEXT = """program "own" bgv(4) slots 1
%0 = input "x" magnitude 2.0
%1 = mul %0, %0
%2 = output "result" %1
"""
LEVELS_TEXT = """program "own" ckks slots 4
%0 = input "x" magnitude 1.0 level 1
%1 = mul %0, %0
%2 = mul %1, %1
%3 = output "result" %2
"""


def slots(text: str, old: str, new: str, words: str, *right: str) -> list[Call]:
    return [texts(pf.SlotProgram, text, old, new, words, one) for one in right]


SLOT_TEXTS = [
    *slots(BGV_TEXT, "mul_plain %0, %1", "mul_plain_scaled %0, %1 bits 4", "use mul_plain", "mul_plain %0, %1"),
    *slots(
        SLOT_TEXT,
        "mul_plain %2, %3",
        "mul_plain_scaled %2, %3 bits 61",
        "give fewer",
        "mul_plain_scaled %2, %3 bits 20",
    ),
    *slots(SLOT_TEXT, "mul %0, %0", "polynomial %0 monomial [1.0]", "use a public vector instead", "mul %0, %0"),
    *slots(
        BGV_TEXT,
        "monomial [1, 2, 3]",
        "chebyshev from -1.0 to 1.0 [1, 2, 3]",
        "give monomial coefficients",
        "monomial [1, 2, 3]",
    ),
    *slots(
        SLOT_TEXT,
        "mul %0, %0",
        "polynomial %0 chebyshev from 1.0 to -1.0 [1.0, 2.0, 3.0]",
        "give a lower end below the upper one",
        "polynomial %0 chebyshev from -1.0 to 1.0 [1.0, 2.0, 3.0]",
    ),
    *slots(ONE_TEXT, "mul %0, %0", "rotate %0 by 1", "write one value for each number", "mul %0, %0"),
    call(
        lambda _: pf.SlotProgram.parse(ONE_TEXT.replace("slots 1", "slots 4")),
        "or take a prime t ≡ 1 mod 2N",
        lambda _: pf.SlotProgram.parse(ONE_TEXT.replace("slots 1", "slots 4").replace("bgv(4)", "bgv(65537)")).plan(),
    ),
    *slots(
        SLOT_TEXT, "rotate %1 by 1", "linear_transform %1 {}", "give at least one", "linear_transform %1 {0: [1.0]}"
    ),
    *slots(SLOT_TEXT, "mul %0, %0", "mul %0", "correct the operand list", "mul %0, %0"),
    *slots(SLOT_TEXT, "rotate %1 by 1", 'output "square" %1', "use the value that it gives back", "neg %1"),
    call(
        lambda _: pf.SlotProgram.parse(LEVELS_TEXT).plan("ckks-depth-3"),
        "raise the level that is named before it, by .at_level(l) or of an input, by at least 1",
        lambda _: pf.SlotProgram.parse(LEVELS_TEXT.replace("level 1", "level 2")).plan("ckks-depth-3"),
    ),
]

DEEP = traced(lambda x: x * x * x * x * x * x, x=R4)
STEEP = traced(lambda x: pf.chebyshev(x.bootstrap(), np.sin, 200, (-1, 1)), x=R4)
BOOTSTRAPPED = traced(lambda x: x.bootstrap(), x=R4)
BITS = traced(lambda x: x.bootstrap(), x=pf.Mod(2))
DIGITS = traced(lambda x: x.bootstrap(), x=pf.Mod(8))
RARELY = {"parameters": "bgv-toy-256-bootstrap-t8", "key_switch": "auto", "security": 0}
ON_F1 = {"parameters": "bgv-toy-1024-bootstrap", "key_switch": "auto", "security": 0}
TOY = "toy-11-boot"


TALLER = [
    {"bits": 50},
    {"bits": 40, "count": 7},
    {"bits": 39, "count": 3},
    {"bits": 49, "count": 9},
    {"bits": 48, "count": 4},
]


def own_bootstrapping(**changed: Any) -> pf.SlotParameters:
    """The set TOY with other fields."""
    transforms = {"coefficients_to_slots": 4, "slots_to_coefficients": 3, "range": 9, "degree": 30, "doublings": 3}
    fields = {
        "ring_degree": 2048,
        "q": [
            {"bits": 50},
            {"bits": 40, "count": 4},
            {"bits": 39, "count": 3},
            {"bits": 49, "count": 9},
            {"bits": 48, "count": 4},
        ],
        "p": [{"bits": 50, "count": 5}],
        "gadget": {"hybrid": {"digit_limbs": 5}},
        "secret": {"sparse-ternary": 64},
        "ephemeral_weight": 16,
        "bootstrap": {**transforms, **changed.pop("bootstrap", {})},
        **changed,
    }
    return ckks_set(**fields)


def bootstraps(words: str, wrong: dict[str, Any], *right: dict[str, Any]) -> Call:
    return call(
        lambda _: BOOTSTRAPPED.plan(own_bootstrapping(**wrong), security=0),
        words,
        lambda _: [BOOTSTRAPPED.plan(own_bootstrapping(**one), security=0) for one in right],
    )


def own_bits(first: int, **changed: Any) -> pf.SlotParameters:
    """A set that refreshes a bit, whose lowest limb has `first` bits."""
    fields = {
        "ring_degree": 256,
        "q_bits": [first, *[30] * 14],
        "special_bits": [30],
        "plaintext_modulus": {"power-of-two": 1},
        "secret": {"sparse-ternary": 128},
        "bootstrap": {"exponent": 7},
        **changed,
    }
    return bgv_set(**fields)


SLOT_SETS = [
    call(
        lambda _: planned(lambda x: pf.polynomial(x, [1.0] * 5000)),
        "so compose polynomials of lower degrees",
        lambda _: planned(lambda x: pf.polynomial(pf.polynomial(x, [0.0] * 50 + [1.0]), [0.0] * 50 + [1.0])),
    ),
    plans(
        (DEEP, {"parameters": "ckks-depth-2"}),
        "take parameters with at least 3 more level(s), or with bootstrapping",
        (DEEP, {"parameters": "ckks-depth-5"}),
        (DEEP, {"parameters": TOY, "security": 0}),
    ),
    call(
        lambda _: planned(lambda x: x.at_level(0) * x, parameters="ckks-depth-2"),
        "raise the level that is named before it, by .at_level(l) or of an input, by at least 1",
        lambda _: planned(lambda x: x.at_level(1) * x, parameters="ckks-depth-2"),
    ),
    call(
        # It takes more levels than bootstrapping leaves.
        lambda _: STEEP.plan(TOY, security=0),
        "take parameters with at least",
        lambda _: STEEP.plan(own_bootstrapping(q=TALLER), security=0),
    ),
    call(
        lambda _: planned(lambda x: pf.polynomial(x, [0, 1e50, 1]), parameters="ckks-depth-2"),
        "beyond 2^120; use a smaller factor or scale",
        lambda _: planned(lambda x: pf.polynomial(x, [0, 1e5, 1]), parameters="ckks-depth-2"),
    ),
    call(
        lambda _: pf.SlotProgram.parse(BGV_TEXT.replace("polynomial %2 monomial [1, 2, 3]", "bootstrap %2")).plan(),
        "declare the numbers pf.Mod(2), each a ciphertext of its own, or take parameters with limbs enough",
        lambda _: (BITS.plan(), traced(powers(6), x=pf.Mod(65537).vector(4)).plan()),
    ),
    plans(
        (BITS, {"parameters": bgv_set(plaintext_modulus={"power-of-two": 1})}),
        "take a parameter set with a bootstrap exponent, such as f1-bootstrap",
        (BITS, {"parameters": "f1-bootstrap", "security": 0, "max_failure": -50}),
    ),
    plans(
        (traced(lambda x: x + x, x=pf.Mod(65537).vector(4)), {"parameters": "bgv-toy-128-t257", "security": 0}),
        "take one plaintext modulus for both",
        (traced(lambda x: x + x, x=pf.Mod(257).vector(4)), {"parameters": "bgv-toy-128-t257", "security": 0}),
        (traced(lambda x: x + x, x=pf.Mod(65537).vector(4)), {"parameters": bgv_set()}),
    ),
    plans(
        (traced(lambda x: x + x, x=pf.Mod(65537).vector(32768)), {"parameters": bgv_set()}),
        "take fewer slots or a larger ring",
        (traced(lambda x: x + x, x=pf.Mod(65537).vector(16384)), {"parameters": bgv_set()}),
        (traced(lambda x: x + x, x=pf.Mod(65537).vector(32768)), {"parameters": bgv_set(ring_degree=32768)}),
    ),
    plans(
        (traced(powers(6), x=pf.Mod(65537).vector(4)), {"parameters": bgv_set()}),
        "take parameters with more or larger limbs, a smaller plaintext modulus, or fewer products in a row",
        (traced(powers(6), x=pf.Mod(65537).vector(4)), {"parameters": bgv_set(q_bits=[43] * 9), "security": 0}),
        (
            traced(powers(6), x=pf.Mod(65537).vector(4)),
            {"parameters": bgv_set(q_bits=[58] * 7, special_bits=[58]), "security": 0},
        ),
        (
            traced(powers(2), x=pf.Mod(257).vector(4)),
            {"parameters": bgv_set(ring_degree=128, plaintext_modulus={"packed": 257}), "security": 0},
        ),
        (traced(powers(1), x=pf.Mod(65537).vector(4)), {"parameters": bgv_set()}),
    ),
    *[
        call(
            lambda _, limbs=limbs: squared_over(limbs).plan(bgv_set()),
            words,
            lambda _: [squared_over(2).plan(bgv_set()), squared_over(9).plan()],
        )
        for limbs, words in (
            (9, "lower L, or take parameters with as many limbs"),
            (1, "raise L, the limbs of an input"),
        )
    ],
    programs(
        pf.Mod(1 << 59),
        lambda x: x.bootstrap(),
        "declare them with fewer bits, such as pf.Mod(256)",
        lambda x: x.bootstrap(),
        instead=pf.Mod(256),
    ),
    plans(
        (DIGITS, RARELY),
        "unless that is accepted with max_failure=",
        (DIGITS, {**RARELY, "max_failure": -10}),
        (DIGITS, {}),
    ),
    call(
        lambda _: BITS.simulate("f1", **ON_F1),
        "; take another parameter set",
        lambda _: [BITS.simulate("f1", **ON_F1, max_failure=-40), BITS.simulate("f1", key_switch="set")],
    ),
    plans(
        (BITS, {"parameters": own_bits(17), "security": 0, "max_failure": 0}),
        "or take parameters with larger limbs",
        (BITS, {"parameters": own_bits(20), "security": 0, "max_failure": 0}),
    ),
    bootstraps(
        "give it at least one", {"bootstrap": {"coefficients_to_slots": 0}}, {"bootstrap": {"coefficients_to_slots": 1}}
    ),
    bootstraps(
        "give the chain more levels, or bootstrapping fewer",
        {"q": [{"bits": 50}, {"bits": 40, "count": 12}]},
        {},
        {
            "q": [{"bits": 50}, {"bits": 40, "count": 12}],
            "bootstrap": {"coefficients_to_slots": 2, "slots_to_coefficients": 1},
        },
    ),
    bootstraps("name special primes with as many bits", {"p": [], "gadget": "per-limb"}, {}),
    call(
        lambda _: own_bits(17, bootstrap={"exponent": 5}), "raise the exponent until it leaves", lambda _: own_bits(17)
    ),
    call(
        lambda _: bgv_set(bootstrap={"exponent": 9}),
        "the plaintext modulus must be a power of two: write { power-of-two = 1 }",
        lambda _: bgv_set(bootstrap={"exponent": 12}, plaintext_modulus={"power-of-two": 1}),
    ),
    call(
        lambda _: ckks_set(ring_degree=1024, q=[{"bits": 50}, {"prime": 12289}]),
        "take primes of 28 bits and more",
        lambda _: ckks_set(ring_degree=1024, q=[{"bits": 50}, {"bits": 28}]),
    ),
    call(
        lambda _: traced(lambda x: (x * 200 * 100).at_level(0), x=R4).run({"x": [1.0] * 4}, parameters="ckks-depth-3"),
        "scale the inputs down, or keep it at a higher level with .at_level(l)",
        lambda _: (
            traced(lambda x: (x * 200 * 100).at_level(0), x=R4).run({"x": [0.001] * 4}, parameters="ckks-depth-3"),
            traced(lambda x: (x * 200 * 100).at_level(1), x=R4).run({"x": [1.0] * 4}, parameters="ckks-depth-3"),
        ),
    ),
]

# -- TFHE ------------------------------------------------------------------------------------------------------------

CONSTANT_TEXT = """program "own"
%0 = input "x" : integer[0..3] x 1 @ 1/4
%1 = constant [3] : integer[3..3] x 1 @ 1/4
%2 = add %0, %1 : integer[3..6] x 1 @ 1/4
%3 = output "result" %2 : integer[3..6] x 1 @ 1/4
"""
SELECT_TEXT = """program "own"
%0 = input "x" : integer[0..3] x 4 @ 1/4
%1 = select %0 [0] : integer[0..3] x 1 @ 1/4
%2 = output "result" %1 : integer[0..3] x 1 @ 1/4
"""


def flipping(count: int) -> Any:
    return traced(lambda x: pf.lookup(x, [1, 0]), x=pf.Int(0, 1).vector(count))


ELEMENTS = [
    call(
        lambda _: pf.Int(3, 0),
        "3 to 0 by 1 is no range of integers within ±2^40; correct the bounds",
        lambda _: planned(lambda x: x, pf.Int(0, 3)),
    ),
    *[
        texts(pf.Program, text, old, new, words, right)
        for text, old, new, words, right in (
            (
                ELEMENT_TEXT,
                'input "x" : integer[0..3]',
                'input "x" : integer[3..0]',
                "correct the bounds",
                'input "x" : integer[0..3]',
            ),
            (CONSTANT_TEXT, "constant [3]", "constant [9]", "correct the value or widen the type", "constant [3]"),
            (SELECT_TEXT, "select %0 [0]", "select %0 [4]", "correct the index", "select %0 [0]"),
        )
    ],
    call(
        lambda _: traced(lambda x, y: x + y, x=pf.Torus(8), y=I3),
        "give both operands the same type",
        lambda _: traced(lambda x, y: x + y, x=pf.Torus(8), y=pf.Torus(8)).plan(),
    ),
    programs(
        pf.Int(0, 1 << 31), lambda x: x, "narrow the range, or split the value into digits", lambda x: x, instead=I15
    ),
    call(
        lambda _: planned(lambda x: x, pf.Int(0, 1 << 31)),
        "or split the value into digits",
        lambda _: planned(lambda x: x, pf.UInt(32)),
    ),
    programs(
        I3,
        lambda x: pf.lookup(x, [0] * 200_000),
        "that any parameter set can tell apart; narrow the operand's range",
        lambda x: pf.lookup(x, [0] * 4),
    ),
    programs(
        pf.Torus(4),
        lambda x: x.cast(pf.UInt(8)),
        "declare it as one, as pf.Int(0, 15) or pf.UInt(8)",
        lambda x: x.cast(pf.UInt(8)),
        instead=I15,
    ),
    programs(
        pf.Torus(4), lambda x: x.cast(pf.UInt(8)), "or pf.UInt(8)", lambda x: x.cast(pf.UInt(16)), instead=pf.UInt(8)
    ),
    call(
        lambda _: traced(lambda x: pf.convolve(np.ones((1, 5, 5, 1), dtype=int), x, (2, 2, 1)), x=I3.vector(4)),
        "use a smaller kernel or more padding",
        lambda _: (
            traced(lambda x: pf.convolve(np.ones((1, 2, 2, 1), dtype=int), x, (2, 2, 1)), x=I3.vector(4)).plan(),
            traced(
                lambda x: pf.convolve(np.ones((1, 5, 5, 1), dtype=int), x, (2, 2, 1), padding=2), x=I3.vector(4)
            ).plan(),
        ),
    ),
    programs(
        pf.Torus(8),
        lambda x: x * 60_000 * 60_000,
        "put a look-up between them or use smaller weights",
        lambda x: x * 6 * 6,
    ),
    *[
        plans(
            (traced(program, x=I3), {"parameters": DIRECT}),
            words,
            (traced(program, x=I3), {"parameters": "polyfabric-3-p128-t32"}),
        )
        for program, words in (
            (
                lambda x: pf.lookup(pf.lookup(x, [0, 1, 1, 0]), [1, 0]),
                "reads the result of another look-up, which needs a key switch between them; choose a parameter set with a key-switching key",
            ),
            (
                lambda x: x + pf.lookup(x, [0, 1, 1, 0]),
                "are under different keys without a key switch; choose a parameter set with a key-switching key",
            ),
        )
    ],
    call(
        lambda _: timed("pbs+ks", DIRECT, 8, None),
        "has no key-switch gadget; choose another set, or the program pbs",
        lambda _: (timed("pbs+ks", TINY, 8, None), timed("pbs", DIRECT, 8, None)),
    ),
    plans(
        (flipping(1), {"parameters": DIRECT, "public": True}),
        "has no key-switch gadget, but a key switch is asked for; choose another set",
        (flipping(1), {"parameters": TINY, "public": True}),
    ),
    plans(
        (traced(lambda x: pf.lookup(x, [0, 1]) * 30, x=pf.Int(0, 1)), {"parameters": TINY}),
        "use smaller weights or a narrower range, or accept this with max_failure (--max-failure)",
        (traced(lambda x: pf.lookup(x, [0, 1]) * 3, x=pf.Int(0, 1)), {"parameters": TINY}),
        (traced(lambda x: pf.lookup(x, [0, 1]) * 30, x=pf.Int(0, 1)), {"parameters": TINY, "max_failure": -10}),
    ),
    plans(
        (flipping(4096), {"parameters": TINY, "max_failure": -865.0}),
        "use fewer look-ups, or accept this with max_failure (--max-failure)",
        (flipping(4), {"parameters": TINY, "max_failure": -865.0}),
        (flipping(4096), {"parameters": TINY, "max_failure": -860.0}),
    ),
]

WRITTEN = [*SLOT_TEXTS, *SLOT_SETS, *ELEMENTS]
