"""Errors name their type, values and place, and the repaired call works.

A case is a short name, a call that is rejected, the values that the message must contain, and the repaired call. Wording is not tested.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from damage import flipped
from error_cases import CASES as OF_PROGRAMS
from error_cases import Case, bgv_set
from polyfabric.accelerators import machine as accelerators
from polyfabric.apps import life, programs
from polyfabric.errors import (
    FileError,
    IntractableError,
    MachineError,
    NoiseError,
    ParameterError,
    ProgramError,
    RunError,
)
from polyfabric.host import memory
from polyfabric.run import keys
from polyfabric.studies import exploration
from rejects import check
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier

pytestmark = pytest.mark.filterwarnings("ignore")

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES, MACHINES = ROOT / "examples", ROOT / "machines"
SET, OTHER_SET, WEAK_SET, WEAK_CKKS, DIRECT = (
    "polyfabric-1-p64-t32",
    "polyfabric-1-p128-t32",
    "toy-256-t64",
    "toy-12",
    "polyfabric-direct-t32",
)
I3, I15, R4 = pf.Int(0, 3), pf.Int(0, 15), pf.Real.vector(4)
BITS, NUMBERS = {"x": [0, 1]}, {"x": [0.5, -0.25, 0.125, 0.0]}
PROGRAMS = """
import polyfabric as pf


@pf.program(x=pf.Int(0, 1).vector(2))
def elements(x):
    return pf.lookup(x, [1, 0])


@pf.program(x=pf.Real.vector(4))
def reals(x):
    return x * x
"""
_found: dict[str, Any] = {}
exec(PROGRAMS, _found)
ELEMENTS, REALS = _found["elements"], _found["reals"]


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def traced(function: Callable[..., Any], **kinds: Any) -> Any:
    return pf.program(**kinds)(function)


TURNED = traced(lambda x: x * x.rotate(1), x=R4)


@cache
def tfhe_keys(name: str) -> pf.Keys:
    return pf.Keys.generate(name)


@cache
def ckks_keys() -> pf.Keys:
    return pf.Keys.generate(REALS.plan())


@cache
def specification(public: bool = False) -> pf.Specification:
    return pf.Specification.of(REALS, public=public)


@cache
def client(public: bool = False) -> pf.Client:
    return pf.Client(specification(public))


@cache
def server() -> pf.Server:
    return pf.Server(REALS, client().evaluation_key)


@cache
def side(parameters: str, public: bool = False) -> tuple[pf.Client, pf.Server]:
    """A client and a server of ELEMENTS."""
    made = pf.Client(pf.Specification.of(ELEMENTS, parameters, public=public))
    return made, pf.Server(ELEMENTS, made.evaluation_key, parameters=parameters, public=public)


def saved(folder: Path, *made: pf.Keys) -> Path:
    """The client key of the first keys and the server key of the last."""
    made[0].client.save(folder / keys.CLIENT)
    made[-1].server.save(folder / keys.SERVER)
    return folder


def plans(
    name: str,
    error: Any,
    values: tuple[str, ...],
    wrong: tuple[Any, dict[str, Any]],
    *right: tuple[Any, dict[str, Any]],
) -> Case:
    """Plans: each a program and its options."""
    return Case(
        name,
        lambda _: wrong[0].plan(**wrong[1]),
        values,
        lambda _: [program.plan(**options) for program, options in right],
        error,
    )


PLANNING = [
    Case(
        "machine-name",
        lambda _: accelerators.load("morfling"),
        ("'morfling'", "morphling"),
        lambda _: accelerators.load("morphling"),
    ),
    Case(
        "option-name",
        lambda _: REALS.run(NUMBERS, thread=1),
        ("reals", "'thread'", "threads"),
        lambda _: REALS.run(NUMBERS, threads=1),
    ),
    Case(
        "failure-is-log2",
        lambda _: ELEMENTS.plan(max_failure=1.0),
        ("max_failure=1.0", "-40"),
        lambda _: ELEMENTS.plan(max_failure=-40),
    ),
    Case(
        "flooding",
        lambda _: REALS.run(NUMBERS, flood=1e-30),
        ("flood=1e-30", "2.6e-12", "0"),
        lambda _: REALS.run(NUMBERS, flood=1e-3),
    ),
    Case(
        "keys-of-another-scheme",
        lambda _: ELEMENTS.run(BITS, keys=ckks_keys()),
        ("CKKS", "elements", "TFHE"),
        lambda _: ELEMENTS.run(BITS, keys=tfhe_keys(SET)),
    ),
    Case(
        "keys-of-another-set",
        lambda _: ELEMENTS.run(BITS, parameters=OTHER_SET, keys=tfhe_keys(SET)),
        (SET, OTHER_SET),
        lambda _: ELEMENTS.run(BITS, parameters=SET, keys=tfhe_keys(SET)),
    ),
    Case(
        "weak-set",
        lambda _: ELEMENTS.plan(parameters=WEAK_SET, security=128),
        ("elements", WEAK_SET, "0.0", "128"),
        lambda _: (ELEMENTS.plan(security=128), ELEMENTS.plan(parameters=WEAK_SET, security=0)),
        ParameterError,
    ),
    Case(
        "memory",
        lambda _: expected_to_fit(REALS.plan(), 1 << 20),
        ("reals", "ckks-depth-1", "1.0 MiB"),
        lambda _: expected_to_fit(REALS.plan(parameters=WEAK_CKKS), 1 << 28),
        RunError,
    ),
    Case(
        "circuit-privacy",
        lambda _: ELEMENTS.plan(parameters="polyfabric-2-p128-t64", circuit_privacy=20),
        ("20", "2^-128.0", "polyfabric-2-p128-t64", "6.0"),
        lambda _: ELEMENTS.plan(parameters="polyfabric-2-p128-t64", circuit_privacy=6),
        NoiseError,
    ),
]

FILES = [
    Case(
        "no-keys",
        lambda at: ELEMENTS.in_folder(at).execute(),
        (keys.SERVER,),
        lambda at: (
            ELEMENTS.in_folder(at).make_keys(),
            ELEMENTS.in_folder(at).encrypt(BITS),
            ELEMENTS.in_folder(at).execute(),
        ),
        FileError,
    ),
    Case(
        "two-key-generations",
        lambda at: pf.Keys.load(saved(at, tfhe_keys(SET), tfhe_keys(OTHER_SET))),
        (keys.CLIENT, SET, keys.SERVER, OTHER_SET),
        lambda at: pf.Keys.load(saved(at, tfhe_keys(SET))),
        ParameterError,
    ),
    Case(
        "keys-kept",
        lambda at: (saved(at, ckks_keys()), REALS.in_folder(at).make_keys()),
        (keys.CLIENT,),
        lambda at: (saved(at, ckks_keys()), REALS.in_folder(at / "other").make_keys()),
        FileError,
    ),
    Case(
        "weak-public-key",
        lambda at: (
            REALS.in_folder(at, parameters=WEAK_CKKS).make_keys(),
            (at / keys.CLIENT).unlink(),
            REALS.in_folder(at).encrypt(NUMBERS),
        ),
        (keys.PUBLIC, WEAK_CKKS, "23.4", "128"),
        lambda at: (
            REALS.in_folder(at, parameters=WEAK_CKKS).make_keys(),
            (at / keys.CLIENT).unlink(),
            REALS.in_folder(at, parameters=WEAK_CKKS).encrypt(NUMBERS),
        ),
        ParameterError,
    ),
    Case(
        "syntax",
        lambda at: programs.load(f"{written(at / 'own.py', '1 / 0')}:f"),
        ("own.py:1", "ZeroDivisionError"),
        lambda at: programs.load(f"{written(at / 'own.py', PROGRAMS)}:reals"),
        ProgramError,
    ),
    Case(
        "several-programs",
        lambda at: programs.load(str(written(at / "own.py", PROGRAMS))),
        ("2", "elements", "reals", "own.py:elements"),
        lambda at: programs.load(f"{written(at / 'own.py', PROGRAMS)}:elements"),
    ),
]


@cache
def run_in_steps() -> Path:
    """The files that a client and a server of REALS have written."""
    import atexit
    from tempfile import TemporaryDirectory

    kept = TemporaryDirectory()
    atexit.register(kept.cleanup)
    at = Path(kept.name)
    REALS.in_folder(at).make_keys()
    REALS.in_folder(at).encrypt(NUMBERS)
    REALS.in_folder(at).execute()
    return at


def copied(at: Path, name: str = "", change: Callable[[bytes], bytes] = bytes) -> Path:
    shutil.copytree(run_in_steps(), at, dirs_exist_ok=True)
    if name:
        (at / name).write_bytes(change((at / name).read_bytes()))
    return at


def damaged(name: str, values: tuple[str, ...], change: Callable[[bytes], bytes]) -> Case:
    return Case(
        name,
        lambda at: REALS.in_folder(copied(at, "x.in.ct", change)).execute(),
        ("x.in.ct", *values),
        lambda at: REALS.in_folder(copied(at)).execute(),
        FileError,
    )


def altered(made: pf.Specification, *path: str | int, to: Any) -> pf.Specification:
    """A specification with one entry changed."""
    data = json.loads(made.to_bytes())
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return pf.Specification.from_bytes(json.dumps(data).encode())


def of_tfhe() -> pf.Specification:
    return pf.Specification.of(ELEMENTS, SET)


def expected_to_fit(planned: Any, most: int) -> None:
    with memory.limited(most):
        planned.check_memory()


def with_little_memory(data: bytes) -> pf.Server:
    """Enough to plan the program, and too little for its keys."""
    with memory.limited(48 << 20):
        return pf.Server(ELEMENTS, pf.EvaluationKey(data))


@cache
def answered(program: Any) -> tuple[pf.Client, pf.Ciphertexts]:
    made = pf.Client(pf.Specification.of(program))
    return made, pf.Server(program, made.evaluation_key).execute(made.encrypt({"x": [1, 0]}))


FIVE = traced(lambda x: pf.lookup(x, [2, 3, 4, 0, 1]), x=pf.Int(0, 4).vector(2))


def decrypted(bit: int | None = None) -> Any:
    """The answer of FIVE, or the answer with a bit of its second element's phase flipped."""
    made, ciphertexts = answered(FIVE)
    ((name, data),) = ciphertexts.parts.items()
    kept = data if bit is None else flipped(data, len(data) - 33, bit)
    return made.decrypt(pf.Ciphertexts({name: kept}, ".out.ct"))


SIDES = [
    damaged("cut-off", ("184421", "184430"), lambda data: data[:-9]),
    damaged("format-version", ("99", "4"), lambda data: data[:8] + b"\x63\0\0\0" + data[12:]),
    Case(
        "missing-rotation-key",
        lambda _: pf.Server(TURNED, client().evaluation_key),
        ("1", "2"),
        lambda _: pf.Server(TURNED, pf.Client(pf.Specification.of(TURNED)).evaluation_key),
        ParameterError,
    ),
    Case(
        "specification-version",
        lambda _: altered(specification(), "version", to=1),
        ("1", "2"),
        lambda _: pf.Specification.from_bytes(specification().to_bytes()),
        FileError,
    ),
    Case(
        "specification-set",
        lambda _: altered(of_tfhe(), "parameters", "ring_degree", to=511),
        (SET, "511", "16", "131072"),
        lambda _: altered(of_tfhe(), "parameters", "ring_degree", to=512),
        ParameterError,
    ),
    Case(
        "specification-gadget",
        lambda _: altered(of_tfhe(), "parameters", "bootstrap_gadget", to={"log2_base": 12, "levels": 3}),
        ("12", "3", "36", "32"),
        lambda _: altered(of_tfhe(), "parameters", "bootstrap_gadget", to={"log2_base": 12, "levels": 2}),
        ParameterError,
    ),
    Case(
        "specification-step",
        lambda _: altered(of_tfhe(), "signature", "inputs", 0, "step", to=1),
        ('"x"', "1/1", "integer[0..1]"),
        lambda _: pf.Specification.from_bytes(of_tfhe().to_bytes()),
        FileError,
    ),
    Case(
        "weak-specification",
        lambda _: pf.Client(pf.Specification.of(REALS, WEAK_CKKS)),
        ("reals", WEAK_CKKS, "23.4", "128"),
        lambda _: pf.Client(pf.Specification.of(REALS, WEAK_CKKS), security=0),
        ParameterError,
    ),
    Case(
        "unplanned-public-key",
        lambda _: pf.Server(ELEMENTS, side(SET, public=True)[0].evaluation_key).execute(by_public_key()),
        ('"x"', "elements", "public=True"),
        lambda _: side(SET, public=True)[1].execute(by_public_key()),
        FileError,
    ),
    Case(
        "ciphertexts-of-another-set",
        lambda _: side(SET)[1].execute(side(OTHER_SET)[0].encrypt(BITS)),
        (SET, OTHER_SET),
        lambda _: side(SET)[1].execute(side(SET)[0].encrypt(BITS)),
        FileError,
    ),
    Case("damaged-phase", lambda _: decrypted(4), ('"result"', "1", "2^-4.9"), lambda _: decrypted()),
    Case("damaged-value", lambda _: decrypted(7), ('"result"', "1", "integer[0..4]"), lambda _: decrypted()),
    Case(
        "memory-of-keys",
        lambda _: with_little_memory(side(SET)[0].evaluation_key.to_bytes()),
        (SET, "49.1 MiB", "48.0 MiB"),
        lambda _: pf.Server(ELEMENTS, side(SET)[0].evaluation_key),
        RunError,
    ),
]


def by_public_key() -> pf.Ciphertexts:
    made = side(SET, public=True)[0]
    return pf.Encryptor(made.specification, made.public_key).encrypt(BITS)


def powers(steps: int) -> Any:
    def power(x: Any) -> Any:
        for _ in range(steps):
            x = x * x
        return x

    return power


SIGN = traced(lambda x: pf.chebyshev(x, np.sin, 7, (-0.25, 0.25)), x=R4)
FLIPPED = {count: traced(lambda x: pf.lookup(x, [1, 0]), x=pf.Int(0, 1).vector(count)) for count in (4, 4096)}
RARELY = {"parameters": "bgv-toy-256-bootstrap-t8", "key_switch": "auto", "security": 0}
DIGITS = traced(lambda x: x.bootstrap(), x=pf.Mod(8))
NOISE = [
    plans(
        "levels",
        ProgramError,
        ("%2", "%1", "0", "1", "2"),
        (traced(lambda x: x**8, x=R4), {"parameters": "ckks-depth-1"}),
        (traced(lambda x: x**8, x=R4), {"parameters": "ckks-depth-3"}),
    ),
    plans(
        "level-of-a-value",
        ProgramError,
        ("test_errors.py", "%2", "%1", "0", "2"),
        (traced(lambda x: x.at_level(0) * x, x=R4), {"parameters": "ckks-depth-2"}),
        (traced(lambda x: x.at_level(1) * x, x=R4), {"parameters": "ckks-depth-2"}),
    ),
    plans(
        "coefficient-beyond",
        ProgramError,
        ("test_errors.py", "%1", "1e50", "2^40.0000", "2^120"),
        (traced(lambda x: pf.polynomial(x, [0, 1e50, 1]), x=R4), {"parameters": "ckks-depth-2"}),
        (traced(lambda x: pf.polynomial(x, [0, 1e5, 1]), x=R4), {"parameters": "ckks-depth-2"}),
    ),
    Case(
        "interval",
        lambda _: SIGN.run(NUMBERS),
        ("test_errors.py", "%1", "-0.25", "0.25", "0", "0.5"),
        lambda _: SIGN.run({"x": [number / 2 for number in NUMBERS["x"]]}),
    ),
    plans(
        "failure-of-bounds",
        NoiseError,
        ("reals", "ckks-depth-1", "2^-40.0", "2^-100.0", "max_failure=-40"),
        (REALS, {"max_failure": -100.0}),
        (REALS, {"max_failure": -40}),
    ),
    plans(
        "modular-noise",
        ProgramError,
        ("test_errors.py", "2^67.2", "2^43.0", "1"),
        (traced(powers(6), x=pf.Mod(65537).vector(4)), {"parameters": bgv_set()}),
        (traced(powers(6), x=pf.Mod(65537).vector(4)), {"parameters": bgv_set(q_bits=[43] * 9), "security": 0}),
        (traced(powers(1), x=pf.Mod(65537).vector(4)), {"parameters": bgv_set()}),
    ),
    plans(
        "key-switches",
        NoiseError,
        ("listing1", "2^-55.1", "2^-128.0", "d10", "2^-39.6"),
        (DIGITS, RARELY),
        (DIGITS, {**RARELY, "max_failure": -10}),
    ),
    Case(
        "wraps-around",
        lambda _: traced(lambda x: (x * 200 * 100).at_level(0), x=R4).run({"x": [1.0] * 4}, parameters="ckks-depth-3"),
        ("%4", "2.000e4", "2^54.3", "2^40.0", "0", "2^49.0"),
        lambda _: traced(lambda x: (x * 200 * 100).at_level(1), x=R4).run({"x": [1.0] * 4}, parameters="ckks-depth-3"),
        NoiseError,
    ),
    plans(
        "comparison-of-ranges",
        NoiseError,
        ("test_errors.py", "%3", "polyfabric-6-p128-t64", "integer[-255..255]", "2^-41.0", "2^-128.0", "2"),
        (traced(lambda x, y: pf.sign(x - y), x=pf.Int(0, 255), y=pf.Int(0, 255)), {}),
        (traced(lambda x, y: x < y, x=pf.UInt(8), y=pf.UInt(8)), {}),
    ),
    plans(
        "output-noise",
        NoiseError,
        ("test_errors.py", '"result"', SET, "integer[0..30 by 30]", "2^-10.1", "2^-128.0", "900"),
        (traced(lambda x: pf.lookup(x, [0, 1]) * 30, x=pf.Int(0, 1)), {"parameters": SET}),
        (traced(lambda x: pf.lookup(x, [0, 1]) * 3, x=pf.Int(0, 1)), {"parameters": SET}),
        (traced(lambda x: pf.lookup(x, [0, 1]) * 30, x=pf.Int(0, 1)), {"parameters": SET, "max_failure": -10}),
    ),
    plans(
        "failure-of-a-program",
        NoiseError,
        (SET, "4096", "2^-862.8", "2^-865.0"),
        (FLIPPED[4096], {"parameters": SET, "max_failure": -865.0}),
        (FLIPPED[4], {"parameters": SET, "max_failure": -865.0}),
    ),
    plans(
        "weights-beyond",
        NoiseError,
        ("test_errors.py", "%2", "3600000000", "32"),
        (traced(lambda x: x * 60_000 * 60_000, x=pf.Torus(8)), {}),
        (traced(lambda x: x * 6 * 6, x=pf.Torus(8)), {}),
    ),
    plans(
        "no-key-switch",
        ProgramError,
        ("test_errors.py", "%3"),
        (traced(lambda x: pf.lookup(x + pf.lookup(x, [0, 1, 1, 0]), lambda v: v % 2), x=I3), {"parameters": DIRECT}),
        (
            traced(lambda x: pf.lookup(x + pf.lookup(x, [0, 1, 1, 0]), lambda v: v % 2), x=I3),
            {"parameters": "polyfabric-3-p128-t32"},
        ),
    ),
    Case(
        "torus-steps",
        lambda _: traced(lambda x: pf.lookup(x.step(4), [0] * 4), x=I3),
        ("test_errors.py", "1/4", "%1", "integer[0..3]", "8"),
        lambda _: traced(lambda x: pf.lookup(x.step(16), [0] * 4), x=I3).plan(),
        ProgramError,
    ),
    Case(
        "generations",
        lambda _: life.prepare(8, 8, 1024, parameters=SET, max_failure=-150.0),
        ("1024", "2^-143.3", "2^-150.0", "9", "-143"),
        lambda _: life.prepare(8, 8, 9, parameters=SET, max_failure=-150.0),
        NoiseError,
    ),
]


KINGFISHER = EXAMPLES / "own-tfhe-machine.toml"
Changes = tuple[tuple[str, str], ...]


def changed(folder: Path, source: Path, changes: Changes) -> str:
    """A copy of a machine file with parts replaced."""
    text = source.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return str(written(folder / "own.toml", text))


def machine(name: str, source: str, wrong: Changes, values: tuple[str, ...], right: Changes, **options: Any) -> Case:
    """A simulation on a machine whose file is changed."""
    path = KINGFISHER if source == "kingfisher" else MACHINES / f"{source}.toml"
    program = options.pop("program", ELEMENTS)
    options = options or {"parameters": "strix-I", "max_failure": 0}
    return Case(
        name,
        lambda at: program.simulate(changed(at, path, wrong), **options),
        values,
        lambda at: program.simulate(changed(at, path, right), **options),
        MachineError,
    )


def on_f1(program: Any = REALS) -> Any:
    return program.plan("f1-12-L3", on="f1", security=0)


def compiled(at: Path, change: Callable[[bytes], bytes] = bytes) -> Any:
    """A compiled program, read back from its file."""
    accelerators.load("f1").map(on_f1()).save(at / "own.bin")  # type: ignore[attr-defined]
    (at / "own.bin").write_bytes(change((at / "own.bin").read_bytes()))
    return accelerators.load("f1").load(on_f1(), at / "own.bin")


def scheduled(**options: Any) -> Any:
    turns = traced(lambda x: sum((x.rotate(steps) for steps in range(1, 32)), x), x=pf.Real.vector(64))
    return accelerators.load("f1").map(on_f1(turns), **options)


CORES = 'count = { value = 4, unit = "units", source = "chosen" }'
CLOCK, PARTS = "clock = { value = 1.2", "[component_clock]\nvalue = 1.2"
POINT = "point = { value = 64"
OSIRIS = {"program": REALS, "parameters": "osiris-III", "security": 0}
PRIVATE = 'capacity = { value = 4, unit = "MiB", source = "section VI-B, table IV: 16 banks'
AT_MACHINES = [
    machine(
        "figure-unit",
        "kingfisher",
        ((CORES, CORES.replace('"units"', '"GHz"')),),
        ("own.toml", "units.core.count", "4", '"GHz"', "units"),
        (),
    ),
    machine(
        "figure-missing",
        "kingfisher",
        ((CORES, ""),),
        ("own.toml", "units.core.count", "[units.core]"),
        ((CORES, CORES.replace("4", "2")),),
    ),
    machine(
        "clock",
        "kingfisher",
        ((CLOCK, "clock = { value = 1.5"),),
        ("own.toml", "clock", "1.5 GHz", "1.2 GHz"),
        ((CLOCK, "clock = { value = 1.5"), (PARTS, "[component_clock]\nvalue = 1.5")),
    ),
    machine(
        "width-of-a-point",
        "kingfisher",
        ((POINT, "point = { value = 16"),),
        ("machine.arithmetic.point", "16", "machine.arithmetic.transform", "32"),
        ((POINT, "point = { value = 80"),),
    ),
    machine(
        "capacity",
        "morphling",
        ((PRIVATE, PRIVATE.replace("4", "0.125", 1)),),
        ("elements", "morphling", "131072", "163136", "morphling-I", "memories.private_a1.capacity"),
        ((PRIVATE, PRIVATE.replace("4", "1", 1)),),
        parameters="morphling-I",
        max_failure=0,
    ),
    machine(
        "bandwidth",
        "osiris",
        (("reads = { value = 37", "reads = { value = 35"),),
        ("memories.scratchpad.reads", "35", "channels.hbm.bandwidth", "1000000000000"),
        (("reads = { value = 37", "reads = { value = 36"),),
        **OSIRIS,
    ),
    machine(
        "scratchpad",
        "osiris",
        (("capacity = { value = 184000000", "capacity = { value = 1840000"),),
        ("reals", "osiris", "2", "5", "327680", "memories.scratchpad.capacity"),
        (("capacity = { value = 184000000", "capacity = { value = 18400000"),),
        **OSIRIS,
    ),
    Case(
        "torus-width",
        lambda _: ELEMENTS.simulate("morphling", parameters="polyfabric-1-p64-t64"),
        ("polyfabric-1-p64-t64", "64", "morphling", "32"),
        lambda _: ELEMENTS.simulate("morphling", parameters=SET, max_failure=0),
        MachineError,
    ),
    Case(
        "no-set-carries-it",
        lambda _: traced(lambda x, y: x + y, x=pf.UInt(8), y=pf.UInt(8)).simulate("morphling"),
        ("morphling", "2^0.0", "polyfabric-4-p128-t32"),
        lambda _: traced(lambda x, y: x + y, x=pf.UInt(8), y=pf.UInt(8)).simulate(
            "morphling", parameters="polyfabric-4-p128-t32", max_failure=0
        ),
        NoiseError,
    ),
    Case(
        "class-of-primes",
        lambda _: REALS.simulate("f1", parameters="ckks-depth-1"),
        ("reals", "f1", "0", "1125899906826241", "2^32", "2^16", '"1-mod-2^16"'),
        lambda _: REALS.simulate("f1", parameters="f1-12-L3", security=0),
        MachineError,
    ),
    Case(
        "sets-of-a-machine",
        lambda _: traced(powers(14), x=R4).simulate("f1"),
        ("f1", "32", "power", "128", "f1-14-L15", "112.9"),
        lambda _: traced(powers(14), x=R4).simulate("f1", parameters="f1-14-L15"),
        ParameterError,
    ),
    Case(
        "scheduler-time",
        lambda _: scheduled(scheduler="csr", time_limit=1e-7),
        ("f1", "0.0"),
        lambda _: (scheduled(scheduler="csr", time_limit=60), scheduled(scheduler="priority")),
        IntractableError,
    ),
    Case(
        "compiled-otherwise",
        # A number in its order of instructions.
        lambda at: compiled(at, lambda data: data[:11] + bytes([data[11] ^ 1]) + data[12:]),
        ("own.bin", "reals", "2"),
        compiled,
        MachineError,
    ),
]


def explored(axis: dict[str, list[float]], at: Path) -> pf.Report:
    task = exploration.Task.of(str(KINGFISHER), ("pbs@strix-I",), 8)
    return exploration.sweep(task, [axis], results=at / "points.jsonl", jobs=1)


SWEEPS = [
    Case(
        "axis-figure",
        lambda at: explored({"units.none": [1.0]}, at),
        ("kingfisher", "'units.none'"),
        lambda at: explored({"units.core.count": [2.0]}, at),
    ),
    Case(
        "axis-points",
        lambda at: explored({"units.core.count": [1 / number for number in range(1, 200_000)]}, at),
        ("199,999", "100,000"),
        lambda at: explored({"units.core.count": [2.0]}, at),
    ),
]

ROWS, LABELS = load_iris(return_X_y=True)
FAR = np.vstack([ROWS, 4 * ROWS.max(axis=0, keepdims=True)])
LED = [[12.0, 0.0, 14.0, 5.0]]


@cache
def linear() -> Any:
    return LogisticRegression(max_iter=500).fit(ROWS, LABELS)


@cache
def products() -> Any:
    return make_pipeline(PolynomialFeatures(), StandardScaler(), LogisticRegression(max_iter=2000)).fit(ROWS, LABELS)


@cache
def network() -> Any:
    return MLPClassifier((8,), activation="tanh", max_iter=800, random_state=0).fit(ROWS[::2], LABELS[::2])


def tree() -> Any:
    return DecisionTreeClassifier(max_depth=2, random_state=0).fit(ROWS, LABELS)


MODELS = [
    Case(
        "model-columns",
        lambda _: pf.from_sklearn(linear(), ROWS[:, :3]),
        ("3", "LogisticRegression", "4"),
        lambda _: pf.from_sklearn(linear(), ROWS),
    ),
    Case(
        "model-step",
        lambda _: pf.from_sklearn(products(), ROWS),
        ("PolynomialFeatures", "model[1:]", "model[:1]"),
        lambda _: pf.from_sklearn(products()[1:], products()[:1].transform(ROWS)),
        ProgramError,
    ),
    Case(
        "model-rows",
        lambda _: pf.from_sklearn(linear(), ROWS).encode(ROWS[:2]),
        ("LogisticRegression", "2", "1"),
        lambda _: pf.from_sklearn(linear(), ROWS).predict(ROWS[:2]),
    ),
    Case(
        "model-feature",
        lambda _: pf.from_sklearn(linear(), ROWS).predict(FAR[-1:]),
        ("0", "31.6", "-1.1", "13.3"),
        lambda _: pf.from_sklearn(linear(), FAR).predict(FAR[-1:]),
    ),
    Case(
        "model-activation",
        lambda _: pf.from_sklearn(network(), ROWS[::2]).predict(LED),
        ("MLPClassifier", "0", "margin"),
        lambda _: pf.from_sklearn(network(), ROWS[::2], margin=3, degree=31).predict(LED),
    ),
    Case(
        "model-thresholds",
        lambda _: pf.from_sklearn(tree(), ROWS[5:10]),
        ('bits="exact"',),
        lambda _: pf.from_sklearn(tree(), ROWS[5:10], bits="exact"),
        ProgramError,
    ),
]

CASES = [*OF_PROGRAMS, *PLANNING, *FILES, *SIDES, *NOISE, *AT_MACHINES, *SWEEPS, *MODELS]


@pytest.mark.parametrize("one", CASES, ids=[one.name for one in CASES])
def test_error_and_repair(one: Case, tmp_path: Path) -> None:
    for name in ("wrong", "right"):
        (tmp_path / name).mkdir()
    with np.errstate(all="ignore"), pytest.raises(one.error) as error:
        one.wrong(tmp_path / "wrong")
    message = str(error.value)
    if one.place:
        file, line, message = message.split(":", 2)
        code = one.place.__code__  # type: ignore[attr-defined]
        assert Path(file).name == Path(code.co_filename).name
        assert int(line) in {line for _, _, line in code.co_lines()}
    check(message, *one.values)
    one.right(tmp_path / "right")


def test_names_are_unique() -> None:
    assert len({one.name for one in CASES}) == len(CASES)
