"""Calls that the Rust half refuses, beside those that its messages advise; `test_native_remedies.py` makes them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
from call_remedies import (
    ELEMENTS,
    NUMBERS,
    REALS,
    RESIDUES,
    SET,
    WEAK_CKKS,
    Call,
    call,
    client,
    own_set,
    request,
    server,
)
from polyfabric import machines
from tool_remedies import compiled, on_f1

R4, B4 = pf.Real.vector(4), pf.Bool.vector(4)
I3, I15 = pf.Int(0, 3), pf.Int(0, 15)


def traced(function: Callable[..., Any], **kinds: Any) -> Any:
    return pf.program(**kinds)(function)


def planned(function: Callable[..., Any], kind: Any = R4, **options: Any) -> Any:
    return traced(function, x=kind).plan(**options)


def programs(kind: Any, wrong: Any, words: str, *right: Any, instead: Any = None, **options: Any) -> Call:
    """A function of `x` that is refused when it is traced or planned, and the advised ones, of another type if need be."""
    return call(
        lambda _: planned(wrong, kind, **options),
        words,
        lambda _: [planned(one, instead or kind, **options) for one in right],
    )


def plans(wrong: Any, words: str, *right: Any) -> Call:
    """Options of a plan that are refused, and the advised ones: each a program and its options."""
    return call(
        lambda _: wrong[0].plan(**wrong[1]), words, lambda _: [program.plan(**options) for program, options in right]
    )


# -- sets of one's own -----------------------------------------------------------------------------------------------


def ckks_set(**changed: Any) -> pf.SlotParameters:
    return pf.SlotParameters.of("ckks", **own_set(**changed))


def bgv_set(**changed: Any) -> pf.SlotParameters:
    fields = {
        "name": "mine",
        "ring_degree": 16384,
        "q_bits": [43, 43, 43],
        "special_bits": [43],
        "digit_limbs": 1,
        "plaintext_modulus": {"packed": 65537},
        "secret": "uniform-ternary",
        "noise_std": 3.2,
    }
    return pf.SlotParameters.of("bgv", **{**fields, **changed})


def sets(make: Any, field: str, wrong: Any, words: str, *right: Any, **more: Any) -> Call:
    """A field of a set that is refused, and the advised ones."""
    return call(
        lambda _: make(**{field: wrong}, **more), words, lambda _: [make(**{field: one}, **more) for one in right]
    )


CHAIN = [{"bits": 50}, {"bits": 40, "count": 3}]
PRIME, OTHER_PRIME = 1099511480321, 1099510054913
SETS = [
    *[sets(make, "name", "a b", "rename the set, for example toy-1024", "toy-1024") for make in (ckks_set, bgv_set)],
    *[sets(make, "ring_degree", 1000, "choose one, such as 1024 or 2048", 16384) for make in (ckks_set, bgv_set)],
    *[sets(make, "noise_std", 0.1, "it must be from 0.5", 3.2) for make in (ckks_set, bgv_set)],
    *[
        sets(make, "secret", {"sparse-ternary": 99_999}, "take a weight from 1 to", {"sparse-ternary": 1024})
        for make in (ckks_set, bgv_set)
    ],
    sets(ckks_set, "name", "ckks-depth-1", "give your set another name, such as own-ckks-depth-1", "own-ckks-depth-1"),
    sets(ckks_set, "q", [], "give level 0 at least one modulus", [{"bits": 50}]),
    sets(ckks_set, "q", [{"bits": 50}, {"bits": 14}], "primes", CHAIN),
    sets(ckks_set, "q", [{"bits": 50}, {"prime": 1099510054915}], "give primes, or bits in their place", CHAIN),
    sets(ckks_set, "q", [{"bits": 50}, {"prime": 1099511627791}], "take one that is, or give bits", CHAIN),
    sets(
        ckks_set,
        "q",
        [{"bits": 50}, {"prime": OTHER_PRIME}, {"prime": OTHER_PRIME}],
        "is given twice; give distinct primes",
        [{"bits": 50}, {"prime": OTHER_PRIME}],
    ),
    sets(
        ckks_set,
        "q",
        [{"bits": 50}, {"pair_bits": 20}],
        "pairs of primes of 20 bits together; take",
        [{"bits": 50}, {"pair_bits": 60}],
    ),
    sets(
        ckks_set,
        "q",
        [{"bits": 50, "prime": OTHER_PRIME}],
        "give one of the three",
        [{"bits": 50}, {"prime": OTHER_PRIME}],
    ),
    sets(ckks_set, "q", [{"bits": 50}, {"bits": 40, "count": 999}], "give fewer", CHAIN),
    sets(
        ckks_set,
        "q",
        [{"bits": 50}, {"bits": 20, "count": 40}],
        "take another bit size or fewer primes",
        [{"bits": 50}, {"bits": 40, "count": 40}],
        scale_log2=20,
    ),
    sets(ckks_set, "gadget", "per-limb", "leave p out, or take a hybrid gadget", {"hybrid": {"digit_limbs": 2}}),
    call(
        lambda _: ckks_set(gadget="per-limb"),
        "leave p out",
        lambda _: pf.SlotParameters.of("ckks", **{k: v for k, v in own_set(gadget="per-limb").items() if k != "p"}),
    ),
    sets(
        ckks_set,
        "gadget",
        {"hybrid": {"digit_limbs": 0}},
        "give digit_limbs of at least 1",
        {"hybrid": {"digit_limbs": 1}},
    ),
    sets(ckks_set, "gadget", {"sub-limb": {"bits": 0}}, "take 1 to 60", {"sub-limb": {"bits": 8}}),
    sets(
        ckks_set,
        "p",
        [{"bits": 30}],
        "take more or larger special primes, or smaller digits",
        [{"bits": 50, "count": 2}],
    ),
    sets(ckks_set, "scale_log2", 400, "it must be from 1 to", 40),
    sets(ckks_set, "scale_log2", 60, "lower the scale, or enlarge the first of q", 40),
    sets(bgv_set, "q_bits", [], "at least one in q_bits", [43]),
    sets(bgv_set, "digit_limbs", 0, "give digit_limbs of at least 1", 1),
    sets(bgv_set, "plaintext_modulus", {"power-of-two": 0}, "take 2^1 to", {"power-of-two": 1}),
    sets(bgv_set, "plaintext_modulus", {"packed": 1 << 62}, "take", {"packed": 65537}),
    sets(bgv_set, "plaintext_modulus", {"packed": 65539}, "has no slots", {"packed": 65537}),
    call(
        lambda at: REALS.plan(str(at / "none.toml")),
        "cannot read the parameter set",
        lambda _: REALS.plan(str(Path(__file__).parents[2] / "examples" / "own-ckks.toml")),
    ),
    call(
        lambda at: ((at / "big.toml").write_text("#" * 20_000_000), REALS.plan(str(at / "big.toml"))),
        "is this the file?",
        lambda _: REALS.plan(str(Path(__file__).parents[2] / "examples" / "own-ckks.toml")),
    ),
]


# -- files -----------------------------------------------------------------------------------------------------------


@cache
def other() -> pf.Client:
    return pf.Client(pf.Specification.of(REALS))


@cache
def folder() -> Path:
    """What a client and a server of REALS have written, which tests copy from."""
    import atexit
    from tempfile import TemporaryDirectory

    kept = TemporaryDirectory()
    atexit.register(kept.cleanup)
    at = Path(kept.name)
    REALS.make_keys(at)
    REALS.encrypt(NUMBERS, at)
    REALS.execute(at)
    return at


def copied(at: Path, name: str = "", change: Callable[[bytes], bytes] = bytes) -> Path:
    shutil.copytree(folder(), at, dirs_exist_ok=True)
    if name:
        (at / name).write_bytes(change((at / name).read_bytes()))
    return at


def flipped(data: bytes) -> bytes:
    half = len(data) // 2
    return data[:half] + bytes([data[half] ^ 1]) + data[half + 1 :]


def damaged(words: str, change: Callable[[bytes], bytes]) -> list[Call]:
    """Files that are read damaged, and a fresh copy of each."""
    return [
        call(lambda at: REALS.execute(copied(at, "x.in.ct", change)), words, lambda at: REALS.execute(copied(at))),
        call(lambda at: REALS.decrypt(copied(at, "client.key", change)), words, lambda at: REALS.decrypt(copied(at))),
    ]


FILES = [
    call(
        lambda _: server().execute(pf.Client(pf.Specification.of(ELEMENTS)).encrypt({"x": [0, 1]})),
        "and one of CKKS is needed; bring the file that was written for this program",
        lambda _: server().execute(request()),
    ),
    *damaged("bring a fresh copy", flipped),
    *damaged("it was cut off, bring a fresh copy", lambda data: data[:-9]),
    *damaged("something was appended, bring a fresh copy", lambda data: data + b"1"),
    *damaged("this is no Polyfabric file", lambda data: b"\x7fELF" + data[4:]),
    *damaged("write the file again with this version", lambda data: data[:8] + b"\x63\0\0\0" + data[12:]),
    call(
        lambda at: REALS.execute(copied(at, "x.in.ct", lambda _: (folder() / "client.key").read_bytes())),
        "give the other file",
        lambda at: REALS.execute(copied(at)),
    ),
    call(
        lambda _: server().execute(other().encrypt(NUMBERS)),
        "use files of one key generation",
        lambda _: (
            server().execute(client().encrypt(NUMBERS)),
            pf.Server(REALS, other().evaluation_key).execute(other().encrypt(NUMBERS)),
        ),
    ),
    call(
        lambda _: server().execute(cubed().encrypt(NUMBERS)),
        "bring the file that was written for this program",
        lambda _: server().execute(request()),
    ),
]


@cache
def cubed() -> pf.Client:
    return pf.Client(pf.Specification.of(traced(lambda x: x * x * x, x=R4)))


# -- programs --------------------------------------------------------------------------------------------------------


def kernels(rows: int, padding: int) -> Any:
    return lambda x: pf.convolve(np.ones((1, rows, rows, 1), dtype=int), x, (2, 2, 1), padding=padding)


ELEMENT_PROGRAMS = [
    programs(
        B4,
        kernels(2, 0),
        "use a gate, as x & y, or make an integer of each by a look-up, as pf.lookup(x, [0, 1])",
        lambda x: x[0] & x[1],
        lambda x: kernels(2, 0)(pf.lookup(x, [0, 1])),
    ),
    programs(I15, lambda x: ~x, "compare the value first, or use a look-up with Boolean result", lambda x: ~(x > 3)),
    programs(I3, lambda x: x * (1 << 40), "scale the weights down", lambda x: x * 2),
    programs(
        pf.Int(0, 1 << 20),
        lambda x: x * (1 << 30),
        "use smaller weights or narrow the operand with a look-up",
        lambda x: x * 2,
    ),
    programs(
        I3, lambda x: pf.lookup(x, []), "give one entry for each value of the operand", lambda x: pf.lookup(x, [0] * 4)
    ),
    programs(
        I3,
        lambda x: pf.lookup(x, [0, 1]),
        "extend the table or narrow the operand",
        lambda x: pf.lookup(x, [0, 1, 0, 0]),
    ),
]


SIGN = traced(lambda x: pf.chebyshev(x, np.sin, 7, (-0.25, 0.25)), x=R4)
THREE = traced(lambda x: x**8, x=R4)
SMALL = traced(lambda x: x * 1e9, x=pf.Real.bounded(1e-9).vector(4))
SLOT_PROGRAMS = [
    plans(
        (THREE, {"parameters": "ckks-depth-1"}),
        "take parameters with at least 2 more level(s)",
        (THREE, {"parameters": "ckks-depth-3"}),
    ),
    call(
        lambda _: SMALL.run({"x": [1e-9, 0, 0, 0]}),
        "scale the numbers up to about 1 before they are encrypted",
        lambda _: traced(lambda x: x * 1, x=R4).run({"x": [1, 0, 0, 0]}),
    ),
    programs(
        R4,
        lambda x: pf.sign(x, gap=1e-6, degrees=[63, 63, 63]),
        "lower that degree",
        lambda x: pf.sign(x, gap=1e-6, degrees=[7, 7, 7]),
        lambda x: pf.sign(x, gap=1e-6, degrees=[31, 31]),
    ),
    programs(R4, lambda x: x.at_level(99), "ask for a lower level", lambda x: x.at_level(1), parameters="ckks-depth-2"),
    plans(
        (traced(lambda x: x.bootstrap(), x=R4), {"parameters": "ckks-depth-2"}),
        "choose a set that has",
        (traced(lambda x: x.bootstrap(), x=R4), {}),
    ),
    plans((REALS, {"security": 300}), "ask for fewer", (REALS, {"security": 128})),
    plans(
        (REALS, {"parameters": "bgv-toy-1024-listing1"}), "give one of CKKS", (REALS, {"parameters": "ckks-depth-1"})
    ),
    plans((RESIDUES, {"parameters": "ckks-depth-1"}), "give one of BGV", (RESIDUES, {})),
    plans((REALS, {"max_failure": -100.0}), "leave max_failure (--max-failure) out", (REALS, {})),
    call(
        lambda _: SIGN.run(NUMBERS),
        "widen the interval, or scale the inputs",
        lambda _: (
            traced(lambda x: pf.chebyshev(x, np.sin, 7, (-0.5, 0.5)), x=R4).run(NUMBERS),
            SIGN.run({"x": [number / 2 for number in NUMBERS["x"]]}),
        ),
    ),
]

# -- programs as text ------------------------------------------------------------------------------------------------

ELEMENT_TEXT = """program "own"
%0 = input "x" : integer[0..3] x 1 @ 1/14
%1 = input "y" : integer[0..3] x 1 @ 1/14
%2 = add %0, %1 : integer[0..6] x 1 @ 1/14
%3 = lookup %2 {0: [0, 1, 2, 3, 0, 1, 2]} : integer[0..3] x 1 @ 1/4
%4 = output "result" %3 : integer[0..3] x 1 @ 1/4
"""
SLOT_TEXT = """program "own" ckks slots 4
%0 = input "x" magnitude 1.0
%1 = mul %0, %0
%2 = rotate %1 by 1
%3 = constant [0.5]
%4 = mul_plain %2, %3
%5 = output "result" %4
"""


def texts(kind: Any, text: str, old: str, new: str, words: str, right: str) -> Call:
    """A program's text with a part that is refused, and with the advised one."""
    assert old in text
    return call(
        lambda _: kind.parse(text.replace(old, new)).plan(),
        words,
        lambda _: kind.parse(text.replace(old, right)).plan(),
    )


TEXTS = [
    *[
        texts(kind, text, name, 'input ""', "choose another", 'input "z"')
        for kind, text, name in ((pf.Program, ELEMENT_TEXT, 'input "x"'), (pf.SlotProgram, SLOT_TEXT, 'input "x"'))
    ],
    texts(pf.Program, ELEMENT_TEXT, "add %0, %1", "add %0, %9", "use a node of this program", "add %0, %1"),
    texts(pf.SlotProgram, SLOT_TEXT, "mul %0, %0", "mul %0, %9", "use a node of this program", "mul %0, %0"),
    texts(
        pf.SlotProgram,
        SLOT_TEXT,
        "mul_plain %2, %3",
        "mul_plain %2, %0",
        "use the operation on two encrypted vectors",
        "mul %2, %0",
    ),
    texts(
        pf.SlotProgram,
        SLOT_TEXT,
        "constant [0.5]",
        "constant [0.5, 1]",
        "give 4 values, or one for all slots",
        "constant [0.5, 1, 1, 1]",
    ),
    texts(
        pf.SlotProgram, SLOT_TEXT, "magnitude 1.0", "magnitude -1.0", "give a positive, finite bound", "magnitude 2.0"
    ),
    texts(pf.SlotProgram, SLOT_TEXT, "slots 4", "slots 5", "pad the vectors to the next power", "slots 8"),
    texts(
        pf.SlotProgram,
        SLOT_TEXT,
        '%5 = output "result" %4\n',
        "",
        "return at least one value",
        '%5 = output "result" %4\n',
    ),
    texts(
        pf.Program,
        ELEMENT_TEXT,
        '%4 = output "result" %3 : integer[0..3] x 1 @ 1/4\n',
        "",
        "return at least one value",
        '%4 = output "result" %3 : integer[0..3] x 1 @ 1/4\n',
    ),
    texts(
        pf.Program,
        ELEMENT_TEXT,
        "%2 = add %0, %1 : integer[0..6]",
        "%2 = add %0, %1 : integer[0..5]",
        "correct the type, or what it follows from",
        "%2 = add %0, %1 : integer[0..6]",
    ),
    texts(
        pf.Program,
        ELEMENT_TEXT,
        "[0, 1, 2, 3, 0, 1, 2]}",
        "[0, 1, 2, 3]}",
        "extend the table or narrow the operand",
        "[0, 1, 2, 3, 0, 1, 2]}",
    ),
    texts(pf.Program, ELEMENT_TEXT, "%1 = input", "%2 = input", "number definitions from 0 in order", "%1 = input"),
]

# -- machines --------------------------------------------------------------------------------------------------------

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
OWN = (EXAMPLES / "own-tfhe-machine.toml").read_text(encoding="utf-8")
OWN_SET, TINY = "strix-I", "polyfabric-1-p64-t32"


def machine(folder: Path, old: str, new: str) -> Any:
    """A run on the machine of the examples with a part of its file changed."""
    assert old in OWN
    (folder / "own.toml").write_text(OWN.replace(old, new, 1), encoding="utf-8")
    return ELEMENTS.simulate(str(folder / "own.toml"), parameters=OWN_SET, max_failure=0)


def files(old: str, wrong: str, words: str, *right: str) -> Call:
    """A machine file with a part that is refused, and with the advised ones."""
    return call(lambda at: machine(at, old, wrong), words, lambda at: [machine(at, old, one) for one in right])


def simulated(on: str, program: Any, wrong: dict[str, Any], words: str, *right: dict[str, Any]) -> Call:
    return call(
        lambda _: program.simulate(on, **wrong), words, lambda _: [program.simulate(on, **one) for one in right]
    )


CORES = 'count = { value = 4, unit = "units", source = "chosen" }'
CLOCK = (
    'clock = { value = 1.2, unit = "GHz", source = "assumption: the clock that the parts below were synthesised for" }'
)
ADDITION = traced(lambda x, y: x + y, x=pf.UInt(8), y=pf.UInt(8))

MACHINES = [
    call(
        lambda _: REALS.simulate("morphling"),
        "name a machine of that family",
        lambda _: REALS.simulate("f1", parameters="f1-12-L3", security=0),
    ),
    simulated(
        "morphling",
        ELEMENTS,
        {"parameters": "polyfabric-1-p64-t64"},
        "choose a set of the machine's width",
        {"parameters": TINY, "max_failure": 0},
    ),
    simulated(
        "morphling",
        ADDITION,
        {},
        'pass parameters="polyfabric-4-p128-t32", max_failure=0',
        {"parameters": "polyfabric-4-p128-t32", "max_failure": 0},
    ),
    simulated(
        "f1",
        REALS,
        {"parameters": "ckks-depth-1"},
        "choose a set of that class",
        {"parameters": "f1-12-L3", "security": 0},
    ),
    simulated(
        "osiris",
        REALS,
        {"parameters": "ckks-depth-1"},
        "such as osiris-III",
        {"parameters": "osiris-III", "security": 0},
    ),
    call(
        lambda _: ELEMENTS.plan(parameters=WEAK_CKKS),
        "it is one of CKKS; name one of the program's own scheme (polyfabric params --scheme tfhe, ckks or bgv)",
        lambda _: (ELEMENTS.plan(parameters=SET), REALS.plan(parameters=WEAK_CKKS, security=0)),
    ),
    call(lambda _: ELEMENTS.plan(circuit_privacy=400), "ask for 0 to", lambda _: ELEMENTS.plan(circuit_privacy=6)),
    call(lambda _: REALS.plan(key_switch="d99"), "choose from", lambda _: REALS.plan(key_switch="set")),
    call(
        lambda _: ELEMENTS.simulate(str(EXAMPLES / "own-tfhe-machine.toml"), parameters=TINY, max_failure=0),
        "choose a parameter set with a smaller GLWE dimension",
        lambda _: ELEMENTS.simulate(str(EXAMPLES / "own-tfhe-machine.toml"), parameters=OWN_SET, max_failure=0),
    ),
    files('mapper = "torus-pipeline"', 'mapper = "none"', "choose from", 'mapper = "torus-pipeline"'),
    files(CORES, CORES.replace('"units"', '"GHz"'), "Use one of", CORES),
    files(CORES, CORES.replace("4", '"four"'), "Write a number", CORES),
    files(CORES, CORES.replace("4", "1.5"), "Write a whole number", CORES.replace("4", "2")),
    files(CORES, CORES.replace("4", "-1"), 'Correct the value, or write "unknown"', CORES.replace("4", "2")),
    files(
        CORES,
        CORES.replace('"chosen"', '""'),
        "Name the paper and place, or write a sentence",
        CORES.replace('"chosen"', '"assumption: as many"'),
    ),
    files(CORES, CORES.replace("4", '"unknown"'), "Give it a value with a source", CORES),
    files(CORES, "", "`units.core.count` is missing. Add `count = ", CORES),
    files("folding = { value = true", "folding = { value = 7", "Write true, false or", "folding = { value = false"),
    files(
        "largest_ring = { value = 4096",
        "largest_ring = { value = 256",
        "enlarge `units.core.largest_ring`",
        "largest_ring = { value = 4096",
    ),
    files(
        "capacity = { value = 512",
        "capacity = { value = 1",
        "or enlarge it in the machine file",
        "capacity = { value = 512",
    ),
]

# -- what fails too often --------------------------------------------------------------------------------------------

WIDE = pf.Int(0, 255)
NOISE = [
    call(
        lambda _: traced(lambda x, y: x < y, x=WIDE, y=WIDE).plan(),
        "integers of more values than a look-up tells apart are UInt(bits) and SInt(bits)",
        lambda _: traced(lambda x, y: x < y, x=pf.UInt(8), y=pf.UInt(8)).plan(),
    ),
    programs(
        I15,
        lambda x: pf.lookup(x, lambda v: v % 3),
        "use smaller weights or a narrower range",
        lambda x: pf.lookup(x, lambda v: v % 3),
        instead=pf.Int(0, 1),
        parameters=TINY,
    ),
    programs(
        pf.Mod(65539).vector(4),
        lambda x: x * x,
        "take integers of TFHE, as pf.UInt(34)",
        lambda x: x * x % 65539,
        instead=pf.UInt(34).vector(4),
    ),
    programs(
        pf.Real.vector(100_000),
        lambda x: x + x,
        "split them into inputs of at most 32768 numbers each",
        lambda x: x + x,
        instead=pf.Real.vector(32_768),
    ),
    programs(
        I3,
        lambda x: pf.lookup(x.step(4), [0] * 4),
        "raise the denominator or narrow the range",
        lambda x: pf.lookup(x.step(16), [0] * 4),
    ),
    programs(
        I3.vector(2),
        lambda x: x[0].step(16) + x[1].step(32),
        "demand one only",
        lambda x: x[0].step(16) + x[1],
    ),
]


def saved(at: Path, change: Callable[[bytes], bytes] = bytes) -> Any:
    """A compiled program, read back from its file."""
    compiled().save(at / "own.bin")
    (at / "own.bin").write_bytes(change((at / "own.bin").read_bytes()))
    return machines.load("f1").load(on_f1(), at / "own.bin")


OTHERS = [
    plans(
        (ELEMENTS, {"parameters": "polyfabric-2-p128-t64", "circuit_privacy": 20}),
        "(6.0 bits fit); ask for fewer bits of circuit privacy (--circuit-privacy)",
        (ELEMENTS, {"parameters": "polyfabric-2-p128-t64", "circuit_privacy": 6}),
        (ELEMENTS, {"circuit_privacy": 5}),
    ),
    plans(
        (ELEMENTS, {"parameters": TINY, "circuit_privacy": 40}),
        "(not even 0 bits fit); name a set with less noise",
        (ELEMENTS, {"circuit_privacy": 6}),
    ),
    call(lambda at: saved(at, lambda _: b"garbage" * 9), "`simulate --save` writes them", saved),
    call(lambda at: saved(at, lambda data: data[:-5]), "the compiled program is damaged: compile it again", saved),
    call(
        lambda _: machines.load("f1").map(on_f1(), time_limit="5"),
        "--time-limit is of --scheduler csr",
        lambda _: machines.load("f1").map(on_f1()),
    ),
    programs(
        pf.Int(0, 70_000),
        lambda x: pf.lookup(x, lambda v: v % 2),
        "narrow the range",
        lambda x: pf.lookup(x, lambda v: v % 2),
        instead=I15,
    ),
    texts(
        pf.SlotProgram,
        SLOT_TEXT,
        "mul_plain %2, %3",
        "mul_plain %3, %3",
        "or use the operation on a public operand",
        "mul_plain %2, %3",
    ),
    programs(
        pf.Real.vector(8), lambda x: x.bootstrap(3), "give a power of two up to the 8 slots", lambda x: x.bootstrap(4)
    ),
    call(
        lambda _: planned(lambda x: x * x, pf.Real.vector(8192), parameters="ckks-depth-1"),
        "use a ring degree of at least 16384",
        lambda _: planned(lambda x: x * x, pf.Real.vector(8192), parameters="ckks-depth-3"),
    ),
    call(
        lambda at: client().save(at / "none" / "client.key"),
        "check that the path exists",
        lambda at: client().save(at / "client.key"),
    ),
]

NATIVE = [*SETS, *FILES, *ELEMENT_PROGRAMS, *SLOT_PROGRAMS, *TEXTS, *MACHINES, *NOISE, *OTHERS]
