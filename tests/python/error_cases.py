"""Programs, types, inputs, parameter sets and texts that are rejected, each with a repaired version. `test_errors.py` runs both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
from polyfabric.errors import Error, InputError, ParameterError, ProgramError

I3, I15, U4, U8 = pf.Int(0, 3), pf.Int(0, 15), pf.UInt(4), pf.UInt(8)
I3V, U8V = I3.vector(4), U8.vector(2)
R, RV, M, MV, BIT = pf.Real, pf.Real.vector(4), pf.Mod(65537), pf.Mod(65537).vector(4), pf.Mod(2)
RM = R.matrix(2, 2)
HALF = np.array([0.5, -0.25, 0.125, 0.0])
SQUARE = np.array([[0.5, -0.25], [0.125, 0.75]])


@dataclass(frozen=True)
class Case:
    """A rejected call, the values that its message must contain, and the repaired call."""

    name: str
    """A stable short name: the test's id."""
    wrong: Callable[[Path], Any]
    values: tuple[str, ...]
    right: Callable[[Path], Any]
    """Both get an empty folder."""
    error: type[Error] = InputError
    place: Callable[..., Any] | None = None
    """The user's function whose file and line the message must give."""


def anything(x: Any = None) -> Any:
    return x


FOREIGN: dict[str, Any] = {}
"""Values of other programs."""


def keep(name: str, kind: Any) -> None:
    def function(x: Any) -> Any:
        FOREIGN[name] = x
        return x

    pf.program(x=kind)(function)


for label, of in (("value", I3), ("slots", RV)):
    keep(label, of)


def case(
    name: str,
    kinds: dict[str, Any],
    wrong: Callable[..., Any],
    values: tuple[str, ...],
    right: Callable[..., Any],
    given: dict[str, Any],
    meant: Any,
    instead: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
    right_options: dict[str, Any] | None = None,
) -> Case:
    """A program that is rejected while it is traced; the repaired one, of other types or options if need be, computes `meant`."""

    def repaired(_: Path) -> None:
        program = pf.program(**(right_options or {}), **(instead or kinds))(right)
        found = np.asarray(program.clear(**given), dtype=float).reshape(-1)
        expected = np.asarray(meant, dtype=float).reshape(-1)
        known = ~np.isnan(expected)
        # Rectifiers are within 2^-13, of numbers that were divided by 4 at most; polynomials of functions are far closer.
        np.testing.assert_allclose(found[: len(expected)][known], expected[known], atol=2**-11)
        # A parameter set carries it too.
        program.plan(security=0)

    return Case(
        name, lambda _: pf.program(**(options or {}), **kinds)(wrong), values, repaired, ProgramError, place=wrong
    )


def declared(name: str, wrong: Callable[[], Any], values: tuple[str, ...], right: Callable[[], Any]) -> Case:
    """A type or a signature that is rejected."""
    return Case(name, lambda _: wrong(), values, lambda _: right(), ProgramError, place=wrong)


def given(name: str, kind: Any, wrong: Any, values: tuple[str, ...], right: Any, instead: Any = None) -> Case:
    """An input `x` that is rejected; the repaired one, of another type if need be, comes back as it is."""

    def repaired(_: Path) -> None:
        found = pf.program(x=instead or kind)(anything).clear(x=right)
        if isinstance(found, str):
            assert found == right
        else:
            np.testing.assert_allclose(np.reshape(found, -1), np.reshape(right, -1), atol=1e-9)

    return Case(name, lambda _: pf.program(x=kind)(anything).clear(x=wrong), ("'x'", *values), repaired)


def put(x: pf.Value) -> pf.Value:
    array = np.zeros(3)
    array[0] = x[0]
    return x


@pf.program(a=U8V, b=U8V)
def plus(a: pf.Value, b: pf.Value) -> pf.Value:
    """The sums."""
    return a + b


READ = pf.Program.parse(pf.program(a=I3)(lambda a: a + 1).text())

FEW_BITS = [
    case("branch", {"x": I3}, lambda x: x if x > 1 else 1, ("boolean",), lambda x: pf.where(x > 1, x, 1), {"x": 3}, 3),
    case(
        "chained-comparison",
        {"x": I15},
        lambda x: 3 < x < 9,
        ("boolean",),
        lambda x: (x > 3) & (x < 9),
        {"x": 4},
        1,
    ),
    case("membership", {"x": I3V}, lambda x: 3 in x, ("3",), lambda x: (x == 3).any(), {"x": [0, 3, 1, 0]}, 1),
    case(
        "lookup-range",
        {"x": pf.Int(0, 1 << 18)},
        lambda x: pf.lookup(x, lambda v: v % 2),
        ("262144", "131072"),
        lambda x: pf.lookup(x, lambda v: v % 2),
        {"x": 7},
        1,
        {"x": I15},
    ),
    case(
        "lookup-fraction",
        {"x": I3},
        lambda x: pf.lookup(x, lambda v: v / 2),
        ("0.0", "0"),
        lambda x: pf.lookup(x, lambda v: v // 2),
        {"x": 3},
        1,
    ),
    case(
        "lookup-result",
        {"x": I15},
        lambda x: pf.lookup(x, abs, result=pf.Int(0, 7)),
        ("0", "15", "pf.Int(0, 7)"),
        lambda x: pf.lookup(x, abs, result=pf.Int(0, 15)),
        {"x": 6},
        6,
    ),
    case(
        "lookup-choice",
        {"x": I15},
        lambda x: pf.lookup(x, [range(16), [0] * 16], choice=-1),
        ("0", "-1", "1"),
        lambda x: pf.lookup(x, [range(16), [0] * 16], choice=0),
        {"x": 3},
        3,
    ),
    case("float-operand", {"x": I3}, lambda x: x * 0.5, ("float",), lambda x: x * round(0.5 * 4), {"x": 3}, 6),
    case("division", {"x": I3}, lambda x: x / 2, ("integer[0..3]",), lambda x: x // 2, {"x": 3}, 1),
    case(
        "matrix-columns",
        {"x": I3V},
        lambda x: np.ones((2, 3), dtype=int) @ x,
        ("2 x 3", "integer[0..3] x 4", "4"),
        lambda x: np.ones((2, 4), dtype=int) @ x,
        {"x": [1, 2, 3, 0]},
        [6, 6],
    ),
    case(
        "convolution-image",
        {"x": I3V},
        lambda x: pf.convolve(np.ones((1, 2, 2, 1), dtype=int), x, (3, 2, 1)),
        ("3 x 2 x 1", "4", "integer[0..3] x 4"),
        lambda x: pf.convolve(np.ones((1, 2, 2, 1), dtype=int), x, (2, 2, 1)),
        {"x": [1, 2, 3, 0]},
        [6],
    ),
    case(
        "index-mask",
        {"x": I3V},
        lambda x: x[[True, False, True, False]],
        ("[True, False, True, False]", "integer[0..3] x 4"),
        lambda x: x[np.flatnonzero([True, False, True, False])],
        {"x": [1, 2, 3, 0]},
        [1, 3],
    ),
    case("two-programs", {"x": I3}, lambda x: x + FOREIGN["value"], (), lambda x: x + x, {"x": 1}, 2),
    case("array-element", {"x": I3V}, put, ("integer[0..3]",), lambda x: pf.concat(x[0]), {"x": [1, 2, 3, 0]}, [1]),
    case(
        "output-names",
        {"x": I15},
        lambda x: {1: x, "1": x + 1},
        ("'1'",),
        lambda x: (x, x + 1),
        {"x": 3},
        [3, 4],
    ),
    case(
        "part-of-a-text",
        {"x": I3.vector(1)},
        lambda x: READ(a=x),
        ("program",),
        lambda x: x + 1,
        {"x": [1]},
        [2],
    ),
]

WIDE = [
    case(
        "shift-beyond",
        {"x": U8},
        lambda x: (x > 3) << 5000,
        ("5000", "4096", "pf.UInt(64)"),
        lambda x: (x > 3).cast(pf.UInt(64)) << 5000,
        {"x": 7},
        0,
    ),
    case(
        "exponent",
        {"x": pf.UInt(16)},
        lambda x: 2**x,
        ("uint16", "65535", "4096", "pf.Int(0, 63)"),
        lambda x: 2 ** x.assume(pf.Int(0, 63)),
        {"x": 9},
        512,
    ),
    case(
        "cast-text",
        {"x": U8},
        lambda x: x.cast(pf.Text(3)),
        ("text of 3 bytes", "pf.UInt(bits)"),
        lambda x: x.cast(pf.UInt(4)),
        {"x": 9},
        9,
    ),
    case(
        "rotation",
        {"x": I15},
        lambda x: x.rotate_left(1),
        ("integer[0..15]", "pf.UInt(4)"),
        lambda x: x.cast(pf.UInt(4)).rotate_left(1),
        {"x": 9},
        3,
    ),
    case(
        "shift-sign",
        {"x": U8, "n": pf.SInt(4)},
        lambda x, n: x << n,
        ("-8", "pf.Int(0, 7)"),
        lambda x, n: x << n.assume(pf.Int(0, 7)),
        {"x": 3, "n": 2},
        12,
    ),
    case(
        "condition",
        {"c": U8, "a": U8},
        lambda c, a: pf.where(c, a, 0),
        ("uint8",),
        lambda c, a: pf.where(c != 0, a, 0),
        {"c": 4, "a": 9},
        9,
    ),
    case(
        "text-length",
        {"t": pf.Text(4)},
        lambda t: t == "hello",
        ("'hello'", "5", "4"),
        lambda t: t == "hell",
        {"t": "hell"},
        1,
    ),
    case(
        "text-zero",
        {"x": pf.Text(4)},
        lambda x: x.contains("b\0"),
        ("'b\\x00'", "1"),
        lambda x: x.contains("b"),
        {"x": "ab"},
        1,
    ),
    case(
        "text-bytes",
        {"x": pf.Text(4)},
        lambda x: x.encode()[0:2] == "ab",
        ("uint8 x 2", "str"),
        lambda x: (x.encode()[0:2] == list(b"ab")).all(),
        {"x": "abc"},
        1,
    ),
    case(
        "part-type",
        {"x": pf.UInt(16).vector(2)},
        lambda x: plus(a=x, b=x),
        ("plus", "'a'", "uint16 x 2", "uint8 x 2", "pf.UInt(8).vector(2)"),
        lambda x: plus(a=x.cast(pf.UInt(8).vector(2)), b=x.cast(pf.UInt(8).vector(2))),
        {"x": [1, 2]},
        [2, 4],
    ),
]

SLOTS = [
    case(
        "real-maximum",
        {"a": RV.bounded(4), "b": RV.bounded(4)},
        lambda a, b: pf.max(a, b),
        (),
        lambda a, b: a + 4 * pf.relu((b - a) * (1 / 4)),
        {"a": HALF, "b": 4 * HALF},
        np.maximum(HALF, 4 * HALF),
    ),
    case(
        "real-division",
        {"x": R, "y": R},
        lambda x, y: x / y,
        (),
        lambda x, y: x * pf.chebyshev(y, lambda y: 1 / y, 15, (0.5, 1)),
        {"x": 0.5, "y": 0.75},
        2 / 3,
    ),
    case(
        "real-power",
        {"x": RV},
        lambda x: x**-0.5,
        ("-0.5", "(0.25, 4)"),
        lambda x: pf.chebyshev(x, lambda v: v**-0.5, 31, (0.25, 4)),
        {"x": HALF + 0.5},
        (HALF + 0.5) ** -0.5,
        {"x": pf.Real.bounded(4).vector(4)},
    ),
    case(
        "numpy-function",
        {"x": RV},
        lambda x: np.sin(x),
        ("sin",),
        lambda x: pf.chebyshev(x, np.sin, 15, (-4, 4)),
        {"x": HALF},
        np.sin(HALF),
    ),
    case(
        "object-operand",
        {"x": RV},
        lambda x: x * "0.5",
        ("str",),
        lambda x: x * float("0.5"),
        {"x": HALF},
        HALF / 2,
    ),
    case(
        "modular-division",
        {"x": MV},
        lambda x: x / 2,
        ("65537",),
        lambda x: x * pow(2, -1, 65537),
        {"x": [2, 4, 6, 8]},
        [1, 2, 3, 4],
    ),
    case(
        "modular-bootstrap",
        {"x": MV},
        lambda x: x.bootstrap(),
        ("65537", "pf.Mod(2)"),
        lambda x: x.bootstrap() * x,
        {"x": 1},
        1,
        {"x": BIT},
    ),
    case(
        "one-number",
        {"x": BIT},
        lambda x: x + np.array([1, 0]),
        ("residue mod 2",),
        lambda x: x + 1,
        {"x": 1},
        0,
    ),
    case(
        "function-interval",
        {"x": RV},
        lambda x: pf.chebyshev(x, lambda u: 1 / (u * 0), 3),
        ("-1", "1"),
        lambda x: pf.chebyshev(x, lambda u: 1 / (u + 2), 15),
        {"x": HALF},
        1 / (HALF + 2),
    ),
    case(
        "function-branch",
        {"x": RV},
        lambda x: pf.chebyshev(x, lambda u: u if u > 5 else -u, 3),
        (),
        lambda x: pf.chebyshev(x, lambda u: np.where(u > 5, u, -u), 3),
        {"x": HALF},
        -HALF,
    ),
    case(
        "slots-operand",
        {"x": RV},
        lambda x: x + [1] * 8,
        ("8", "4", "slots=8"),
        lambda x: x + [1] * 4,
        {"x": HALF},
        HALF + 1,
        right_options={"slots": 8},
    ),
    case(
        "slots-matrix",
        {"x": RV},
        lambda x: np.ones((8, 4)) @ x,
        ("8 x 4", "4", "slots=8"),
        lambda x: np.ones((8, 4)) @ x,
        {"x": HALF},
        [HALF.sum()] * 8,
        options={"slots": 4},
        right_options={"slots": 8},
    ),
    case("two-schemes", {"x": RV}, lambda x: x + FOREIGN["value"], (), lambda x: x + x, {"x": HALF}, HALF * 2),
    case(
        "vector-lengths",
        {"x": RV, "y": R.vector(3)},
        lambda x, y: x + y,
        ("real x 4", "real x 3", "x[:3]"),
        lambda x, y: y + x[:3],
        {"x": HALF, "y": HALF[:3]},
        2 * HALF[:3],
    ),
    case(
        "matrix-and-vector",
        {"x": RM, "y": R.vector(3)},
        lambda x, y: x + y,
        ("real x 2 x 2", "real x 3"),
        lambda x, y: x + y,
        {"x": SQUARE, "y": [0.5, 0.25]},
        SQUARE + np.array([0.5, 0.25]),
        {"x": RM, "y": R.vector(2)},
    ),
    case(
        "matrix-product",
        {"x": R.matrix(2, 3)},
        lambda x: x @ x,
        ("real x 2 x 3", "3", "2"),
        lambda x: x @ x.T,
        {"x": np.arange(6).reshape(2, 3) / 8},
        np.arange(6).reshape(2, 3) @ np.arange(6).reshape(2, 3).T / 64,
    ),
    case(
        "reshape",
        {"x": RM},
        lambda x: x.reshape(3, -1),
        ("real x 2 x 2", "3 x -1", "4"),
        lambda x: x.reshape(4, -1),
        {"x": SQUARE},
        SQUARE,
    ),
    case(
        "rows-and-columns",
        {"x": RM},
        lambda x: x[[1, 0], [0, 1]],
        ("real x 2 x 2",),
        lambda x: x[[1, 0]][:, [0, 1]],
        {"x": SQUARE},
        SQUARE[::-1],
    ),
    case("modular-mean", {"x": M.matrix(2, 2)}, lambda x: x.mean(), (), lambda x: x.sum(), {"x": [[1, 2], [3, 4]]}, 10),
    case("iteration", {"x": RV}, lambda x: list(x), (), lambda x: x[1], {"x": HALF}, HALF[1]),
]

DECLARED = [
    declared(
        "nested-vector", lambda: pf.UInt(8).vector(2).vector(3), ("pf.UInt(8).vector(2)",), lambda: pf.UInt(8).vector(6)
    ),
    declared(
        "modulus-of-a-vector", lambda: pf.Mod(8).vector(3), ("8", "3", "pf.Mod(65537)"), lambda: pf.Mod(65537).vector(3)
    ),
    declared("range-beyond", lambda: pf.Int(0, 1 << 4096), ("4096",), lambda: pf.Int(0, 1 << 4095)),
    declared(
        "python-type",
        lambda: pf.program(x=int)(anything),
        ("'x'", "int", "pf.SInt(32)"),
        lambda: pf.program(x=pf.SInt(32))(anything),
    ),
    declared(
        "type-without-size",
        lambda: pf.program(x=pf.Text)(anything),
        ("'x'", "Text", "pf.Text(20)"),
        lambda: pf.program(x=pf.Text(20))(anything),
    ),
    declared(
        "parameter",
        lambda: pf.program(x=I3, y=I3)(anything),
        ("anything", "'y'", "x"),
        lambda: pf.program(x=I3)(anything),
    ),
    declared(
        "scheme",
        lambda: pf.program(scheme="fhew", x=I3)(anything),
        ("'fhew'", "tfhe"),
        lambda: pf.program(scheme="tfhe", x=I3)(anything),
    ),
    declared(
        "scheme-of-reals",
        lambda: pf.program(scheme="tfhe", x=RV)(anything),
        ("'x'", "real x 4"),
        lambda: pf.program(scheme="ckks", x=RV)(anything),
    ),
    declared(
        "two-moduli",
        lambda: pf.program(x=MV, y=pf.Mod(786433))(lambda x, y: x + 1),
        ("65537", "786433"),
        lambda: pf.program(x=MV, y=M)(lambda x, y: x + y),
    ),
    declared(
        "slots", lambda: pf.program(slots=2, x=RV)(anything), ("2", "4"), lambda: pf.program(slots=4, x=RV)(anything)
    ),
    declared(
        "method",
        lambda: pf.program(x=I3)(lambda self, x: x + 1),
        ("'self'",),
        lambda: pf.program(x=I3)(lambda x: x + 1),
    ),
]

GIVEN = [
    given("input-fraction", I3, 1.5, ("1.5", "integer[0..3]"), 2),
    given("input-beyond", I3, 10**30, (str(10**30), "0", "integer[0..3]"), 3),
    given("input-width", U8, 300, ("300", "uint8", "255"), 300, pf.UInt(16)),
    given("input-length", RV, [0.5, 0.25], ("2", "real x 4", ".vector(2)"), [0.5, 0.25], R.vector(2)),
    given("input-bound", R, 1.5, ("1.5", "1", ".bounded(1.5)"), 1.5, R.bounded(1.5)),
    given("input-shape", R.vector(4), SQUARE, ("2 x 2", "real x 4"), SQUARE.reshape(-1)),
    given("input-matrix", I3.vector(4), [[0, 1], [2, 3]], ("2 x 2", "integer[0..3] x 4"), [0, 1, 2, 3]),
    given("input-short-bytes", U8V, b"abc", ("3", "uint8 x 2"), [97, 98]),
    given("input-bytes", pf.UInt(16).vector(2), b"ab", ("b'ab'", "uint16 x 2"), [97, 98]),
    given("input-digits", U8, 10**5000, ("16,610", "8,192"), 255),
    given("input-not-finite", R, np.inf, (), 0.5),
    given("input-text", pf.Text(4), "abcde", ("'abcde'", "5", "4", "pf.Text(5)"), "abcde", pf.Text(5)),
    given("input-surrogate", pf.Text(4), "a\ud83d", ("'a\\ud83d'", "1"), "\U0001f600"),
    given("input-set", I3V, {1, 2}, ("{1, 2}", "integer[0..3] x 4", "4"), [0, 1, 2, 3]),
]


def ckks_set(**changed: Any) -> pf.SlotParameters:
    fields = {
        "name": "mine",
        "ring_degree": 16384,
        "q": [{"bits": 50}, {"bits": 40, "count": 3}],
        "p": [{"bits": 50, "count": 2}],
        "gadget": {"hybrid": {"digit_limbs": 2}},
        "scale_log2": 40,
        "secret": "uniform-ternary",
        "noise_std": 3.2,
    }
    return pf.SlotParameters.of("ckks", **{**fields, **changed})


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


def sets(name: str, make: Any, field: str, wrong: Any, values: tuple[str, ...], right: Any, **more: Any) -> Case:
    """A field of a parameter set."""
    return Case(
        name,
        lambda _: make(**{field: wrong}, **more),
        ("mine", *values),
        lambda _: make(**{field: right}, **more),
        ParameterError,
    )


PRIME = 1099510054913


SETS = [
    sets("set-ring", ckks_set, "ring_degree", 1000, ("1000", "1024", "2048"), 16384),
    sets(
        "set-few-primes",
        ckks_set,
        "q",
        [{"bits": 50}, {"bits": 20, "count": 40}],
        ("2", "40", "32768", "524288", "1048575"),
        [{"bits": 50}, {"bits": 40, "count": 40}],
        scale_log2=20,
    ),
    sets(
        "set-wrong-prime",
        ckks_set,
        "q",
        [{"bits": 50}, {"prime": 1099511627791}],
        ("1099511627791", "32768"),
        [{"bits": 50}, {"prime": PRIME}],
    ),
    sets("set-special-primes", ckks_set, "p", [{"bits": 30}], ("29", "0", "90"), [{"bits": 50, "count": 2}]),
    sets("set-scale", ckks_set, "scale_log2", 400, ("400", "1", "100"), 40),
    sets(
        "set-plaintext-modulus",
        bgv_set,
        "plaintext_modulus",
        {"packed": 65539},
        ("65539", "32768", "65537", "786433"),
        {"packed": 65537},
    ),
    sets("set-secret", bgv_set, "secret", {"sparse-ternary": 99_999}, ("99999", "16384"), {"sparse-ternary": 1024}),
]


TFHE_TEXT = """program "own"
%0 = input "x" : integer[0..3] x 1 @ 1/14
%1 = input "y" : integer[0..3] x 1 @ 1/14
%2 = add %0, %1 : integer[0..6] x 1 @ 1/14
%3 = lookup %2 {0: [0, 1, 2, 3, 0, 1, 2]} : integer[0..3] x 1 @ 1/4
%4 = output "result" %3 : integer[0..3] x 1 @ 1/4
"""


CKKS_TEXT = """program "own" ckks slots 4
%0 = input "x" magnitude 1.0
%1 = mul %0, %0
%2 = rotate %1 by 1
%3 = constant [0.5]
%4 = mul_plain %2, %3
%5 = output "result" %4
"""


def texts(name: str, text: str, old: str, new: str, values: tuple[str, ...], right: str) -> Case:
    """The text of a program with a part replaced."""
    assert old in text
    return Case(
        name,
        lambda _: pf.Program.parse(text.replace(old, new)),
        values,
        lambda _: pf.Program.parse(text.replace(old, right)).plan(),
        ProgramError,
    )


TEXTS = [
    texts("text-operand", TFHE_TEXT, "add %0, %1", "add %0, %9", ("line 4, column 1", "%9"), "add %0, %1"),
    texts(
        "text-type",
        TFHE_TEXT,
        "integer[0..6]",
        "integer[0..5]",
        ("line 4, column 19", "integer[0..5] x 1", "integer[0..6] x 1"),
        "integer[0..6]",
    ),
    texts("text-table", TFHE_TEXT, "3, 0, 1, 2]", "3]", ("line 5, column 1", "6", "3"), "3, 0, 1, 2]"),
    texts("text-public", CKKS_TEXT, "mul_plain %2, %3", "mul_plain %2, %0", ("line 6, column 1", "%0"), "mul %2, %0"),
    texts("text-slots", CKKS_TEXT, "[0.5]", "[0.5, 1]", ("line 5, column 1", "2", "4"), "[0.5, 1, 1, 1]"),
]


CASES = [*FEW_BITS, *WIDE, *SLOTS, *DECLARED, *GIVEN, *SETS, *TEXTS]
