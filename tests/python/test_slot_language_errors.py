"""Wrong programs and calls of CKKS and BGV are rejected with the values and the user's line."""

from __future__ import annotations

import math

import numpy as np
import polyfabric as pf
import pytest
from rejects import rejects

T = 65537
X = np.linspace(-1, 1, 8)
HERE = "test_slot_language_errors.py"


def square(x):
    return x * x


def forever(x):
    return forever(x * x)


REAL = [
    (lambda x: x.rotate(2.5), ("2.5",)),
    (lambda x: x.rotate(None), ("None",)),
    (lambda x: x.times(0.3, -1), ("-1", "0", "60")),
    (lambda x: x.times(0.3, 2.5), ("2.5",)),
    (lambda x: x.at_level(-1), ("-1",)),
    (lambda x: x / 0, ("0",)),
    (lambda x: x / [1, 1, 1, 0, 1, 1, 1, 1], ("0", "3")),
    (lambda x: x - [1, [2]], ()),
    (
        lambda x: x + ["a"] * 8,
        ("<U1",),
    ),
    (lambda x: x * 10**400, ()),
    (
        lambda x: x + np.ma.masked_array(X, X > 0),
        (),
    ),
    (
        lambda x: np.array([["a"] * 8] * 8) @ x,
        ("<U1",),
    ),
    (lambda x: np.zeros((0, 8)) @ x, ("0 x 8",)),
    (
        lambda x: x.reshape(2, -1) @ x,
        ("real x 2 x 4", "real x 8", "4", "8"),
    ),
    (lambda x: x // 2, ("CKKS",)),
    (lambda x: 7 % x, ("CKKS",)),
    (lambda x: round(x), ("CKKS",)),
    (lambda x: math.floor(x), ("CKKS",)),
    (lambda x: x & x, ("CKKS",)),
    (lambda x: ~x, ("CKKS",)),
    (lambda x: x << 1, ("CKKS",)),
    (
        lambda x: abs(x),
        ("[-1, 1]",),
    ),
    (
        lambda x: pf.concat([x, x]),
        (),
    ),
    (lambda x: pf.concat(x, 3), ("3",)),
    (lambda x: x[:2] * x, ("real x 2", "real x 8", "[:2]")),
    (lambda x: pf.where(x, x, x), ("CKKS", "BGV")),
    (lambda x: pf.concat(x.node), ()),
    (
        lambda x: pf.chebyshev(x, lambda u: 1 if u > 0 else 0, 7),
        (),
    ),
    (lambda x: pf.program(square), ()),
    (lambda x: 2**x, ("2",)),
    (lambda x: 1 / x, ()),
    (lambda x: x["a":], ("['a'::]", "real x 8")),
    (lambda x: x[1.5], ("1.5", "real x 8")),
    (lambda x: x[x], ()),
    (
        lambda x: pf.max(x),
        ("CKKS", "BGV"),
    ),
    (lambda x: pf.min(x), ("CKKS", "BGV")),
    (
        lambda x: pf.max(x, -x),
        ("CKKS", "BGV"),
    ),
    (lambda x: pf.sign(5), ("int",)),
    (lambda x: pf.dot(1, 2), ("int",)),
    (lambda x: pf.sign(x, gap=0), ("0",)),
    (lambda x: pf.sign(x, degrees=()), ()),
    (lambda x: pf.sign(x, degrees=(-1,)), ("-1",)),
    (lambda x: pf.chebyshev(x, np.exp, 3.5), ("3.5",)),
    (lambda x: pf.chebyshev(x, np.exp, 10**6), ("1000000", "1", "4095")),
    (lambda x: pf.chebyshev(x, np.exp, 3, (1, 2, 3)), ("(1, 2, 3)",)),
    (lambda x: pf.chebyshev(x, np.exp, 3, None), ("None",)),
    (lambda x: pf.chebyshev(x, np.exp, 3, (-np.inf, 1)), ("-inf", "1")),
    (lambda x: pf.chebyshev(x, math.exp, 3), ()),
    (lambda x: pf.chebyshev(x, lambda u: u[1:], 3), ("3", "float64", "4")),
    (
        lambda x: pf.chebyshev(x, lambda u: 1j * u, 3),
        ("4", "complex128"),
    ),
    (lambda x: pf.chebyshev(x, []), ()),
    (lambda x: pf.polynomial(x, [[1], [2]]), ()),
    (forever, ("forever",)),
]


@pytest.mark.parametrize(("body", "values"), REAL, ids=[str(index) for index in range(len(REAL))])
def test_operation(body, values):
    with rejects(pf.errors.ProgramError, HERE, *values):
        pf.program(x=pf.Real.vector(8))(body)


@pytest.mark.parametrize(
    ("make", "values"),
    [
        (lambda: pf.Real.vector(0), ("0", "1", "32768")),
        (lambda: pf.Real.vector(2.5), ("2.5",)),
        (lambda: pf.Real.vector(2**40), ("1099511627776",)),
        (lambda: pf.Int(0, 3).vector("a"), ("'a'",)),
        (lambda: pf.Real.bounded(-1), ("-1",)),
        (lambda: pf.Real.bounded("a"), ("'a'",)),
        (lambda: pf.Mod(T).bounded(2), (str(T),)),
        (lambda: pf.Mod(-5), ("-5",)),
        (lambda: pf.Mod(2.5), ("2.5",)),
        (lambda: pf.Mod(2**70), ("1180591620717411303424",)),
        (lambda: pf.program("p", x=pf.Real, slots="8")(square), ("'8'", "1", "32768")),
        (lambda: pf.program("p", x=pf.Real, slots=3)(square), ("3",)),
        (lambda: pf.program("p", x=pf.Mod(6))(square), ("6",)),
        (lambda: pf.program(x=pf.Real)(5), ("int",)),
        (lambda: pf.program(x=pf.Real)(lambda *x: x[0]), ("'x'",)),
    ],
)
def test_declaration(make, values):
    with rejects(pf.errors.ProgramError, HERE, *values):
        make()


@pytest.mark.parametrize(
    ("inputs", "values"),
    [
        (None, ("square.run(x=..)",)),
        ([1.0], ()),
        ({"x": [[1, 2], [3]]}, ("'x'",)),
        ({"x": np.ma.masked_array(X, X > 0)}, ("'x'",)),
        ({"x": [np.nan] * 8}, ("'x'",)),
        (
            {"x": ["1"] * 8},
            ("'x'", "'1'", "real x 8"),
        ),
    ],
)
def test_inputs(inputs, values):
    program = pf.program(x=pf.Real.vector(8))(square)
    with rejects(pf.errors.InputError, "square", *values):
        program.run(inputs)


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ({"threads": 0}, ("threads=0", "1", "1024")),
        ({"threads": 10**9}, ("threads=1000000000",)),
        ({"threads": "a"}, ("threads='a'",)),
        ({"on": None}, ("None",)),
        ({"parameters": 5}, ("parameters=5", "mine.toml")),
        ({"key_switch": 5}, ("key_switch=5",)),
        ({"security": math.nan}, ("security=nan", "128")),
        ({"keys": "folder"}, ("str",)),
    ],
)
def test_options(option, values):
    program = pf.program(x=pf.Real.vector(8))(square)
    with rejects(pf.errors.InputError, *values):
        program.run({"x": X}, **option)


def test_a_rotation_by_any_integer_is_one_modulo_the_slots():
    program = pf.program(x=pf.Real.vector(8))(lambda x: {"a": x.rotate(10**30), "b": x.rotate(np.int64(-3))})
    assert np.allclose(program.clear(x=X)["a"], np.roll(X, -(10**30 % 8)))
    assert np.allclose(program.clear(x=X)["b"], np.roll(X, 3))


def test_integers_of_any_size_are_those_modulo_t():
    @pf.program(x=pf.Mod(T).vector(8))
    def scaled(x):
        return x * 10**30 + np.full(8, 2**64 - 1, dtype=np.uint64)

    x = [10**40, -(2**70), 2**63, 1, 2, 3, 4, 5]
    expected = [(v * 10**30 + 2**64 - 1) % T for v in x]
    assert [v % T for v in scaled.clear(x=x)] == expected


def test_the_chosen_set_has_the_security_that_is_asked_for():
    program = pf.program(x=pf.Real.vector(8))(lambda x: x**64)
    assert program.run({"x": X}).parameters == "ckks-depth-6"
    done = program.run({"x": X}, security=192)
    assert done.parameters == "ckks-depth-8"
    assert done.correct
    with rejects(pf.errors.ParameterError, "CKKS", "300"):
        program.run({"x": X}, security=300)


def test_a_program_of_slots_reads_back_from_its_text():
    @pf.program(x=pf.Real.vector(8))
    def rotated(x):
        return (x * 0.5).rotate(1)

    @pf.program(x=pf.Mod(2))
    def flipped(x):
        return x + 1

    for program, x in ((rotated, X), (flipped, 1)):
        again = pf.Program.parse(program.text())
        assert again.text() == program.text()
        assert np.allclose(again.clear(x=x), program.clear(x=x))
    assert rotated.kernel_text("ckks-depth-1").startswith('kernel "rotated" degree 8192\n')
    with rejects(pf.errors.ProgramError, "line 1, column 1", "`program`", "`what`"):
        pf.Program.parse("what is this")


@pytest.mark.parametrize("name", ["bfv", "BFV"])
def test_who_asks_for_bfv_is_told_how_to_compute_it_with_bgv(name: str) -> None:
    with rejects(pf.errors.ProgramError, name, 'scheme="bgv"', "x=pf.Mod(65537).vector(8)"):
        pf.program(x=pf.Mod(65537).vector(8), scheme=name)
    for call in (pf.parameter_sets, pf.SlotParameters.of):
        with rejects(pf.errors.InputError, name, 'scheme="bgv"'):
            call(name)
    # As in the message.
    squares = pf.program(x=pf.Mod(65537).vector(8))(lambda x: x * x)
    assert squares.scheme == "bgv"
    assert squares.clear(x=[300] * 8) == [(300 * 300 + 32768) % 65537 - 32768] * 8


@pytest.mark.parametrize(("name", "scheme"), [("fhew", "tfhe"), ("cggi", "tfhe"), ("heaan", "ckks"), ("bgc", "bgv")])
def test_names_of_schemes_elsewhere(name: str, scheme: str) -> None:
    with rejects(pf.errors.ProgramError, name, scheme):
        pf.program(x=pf.Int(0, 3), scheme=name)
