"""Does a wrong program or call of CKKS and BGV say what is wrong, with which values, where, and what to do?"""

from __future__ import annotations

import math
import re

import numpy as np
import polyfabric as pf
import pytest

T = 65537
X = np.linspace(-1, 1, 8)
HERE = r"(tests/python/)?test_slot_language_errors\.py:\d+: "


def square(x):
    return x * x


def forever(x):
    return forever(x * x)


def is_told(message, make):
    with pytest.raises(pf.Error) as caught:
        make()
    assert re.fullmatch(message, str(caught.value)), str(caught.value)


REAL = [
    (lambda x: pf.rotate(x, 2.5), r"rotate: the number of steps is 2\.5; give an integer"),
    (lambda x: pf.rotate(x, None), r"rotate: the number of steps is None; .*"),
    (lambda x: x.times(0.3, -1), r"times: the number of bits after the point is -1; give an integer from 0 to 60"),
    (lambda x: x.times(0.3, 2.5), r"times: .* is 2\.5; .*"),
    (lambda x: x.at_level(-1), r"at_level: the level is -1; .*"),
    (lambda x: x / 0, r"a division by 0, in slot 0; correct the divisor"),
    (lambda x: x / [1, 1, 1, 0, 1, 1, 1, 1], r"a division by 0, in slot 3; .*"),
    (lambda x: x - [1, [2]], r"a public operand: its rows have different lengths; .*"),
    (
        lambda x: x + ["a"] * 8,
        r"public operands are numbers, not list \(<U1\); give integers, floats or arrays of them",
    ),
    (lambda x: x * 10**400, r"a public operand: an integer is beyond the range of floating-point numbers; scale it"),
    (
        lambda x: x + np.ma.masked_array(X, X > 0),
        r"a public operand: some of its values are masked; fill them in first",
    ),
    (
        lambda x: np.array([["a"] * 8] * 8) @ x,
        r"public operands are numbers, not ndarray \(<U1\); give integers, floats or arrays of them",
    ),
    (lambda x: np.zeros((0, 8)) @ x, r"@ takes a vector or a matrix of public numbers, not 0 x 8"),
    (
        lambda x: x.reshape(2, -1) @ x,
        r"real x 2 x 4 @ real x 8: 4 columns and 8 rows; make them equal, or transpose .*",
    ),
    (lambda x: x // 2, r"CKKS does not round, nor divide with a remainder: .*"),
    (lambda x: 7 % x, r"CKKS does not round, .*"),
    (lambda x: round(x), r"CKKS does not round, .*"),
    (lambda x: math.floor(x), r"CKKS does not round, .*"),
    (lambda x: x & x, r"CKKS has no bits of encrypted numbers: .* pf\.Mod\(2\); .*"),
    (lambda x: ~x, r"CKKS has no bits .*"),
    (lambda x: x << 1, r"CKKS has no bits .* for a shift, multiply with a power of two"),
    (
        lambda x: abs(x),
        r"an absolute value is no polynomial; for numbers in \[-1, 1\], x \* pf\.sign\(x\) is close to it",
    ),
    (
        lambda x: pf.concat([x, x]),
        r"concat: an operand is a list; give the values one by one, pf\.concat\(a, b, \.\.\)",
    ),
    (lambda x: pf.concat(x, 3), r"concat: an operand is int, but an encrypted value is needed, as 3 \+ .*"),
    (lambda x: x[:2] * x, r"real x 2 and real x 8 do not combine; give them one length, as x \+ y\[:2\]"),
    (lambda x: pf.mux(x, x, x), r"mux: CKKS and BGV have none; .*c \* a \+ \(1 - c\) \* b"),
    (lambda x: pf.concat(x.node), r"concat: an operand is int, but an encrypted value is needed"),
    (
        lambda x: pf.chebyshev(x, lambda u: 1 if u > 0 else 0, 7),
        r"chebyshev: the function fails on an array .*; write a branch as np\.where\(\.\.\), or use np\.vectorize",
    ),
    (lambda x: pf.program(is_told), r"@pf\.program needs the types of the parameters; write @pf\.program\(x=.*"),
    (lambda x: 2**x, r"2 to an encrypted power is no polynomial; approximate it, as pf\.chebyshev.*"),
    (lambda x: 1 / x, r"public numbers do not divide by encrypted ones; .* reciprocal, such as pf\.chebyshev.*"),
    (lambda x: x["a":], r"\['a'::\] is no range of elements of the numbers of real x 8; give integers, x\[i:j\] .*"),
    (lambda x: x[1.5], r"1\.5 is no index of the numbers of real x 8, .*"),
    (lambda x: x[x], r"an encrypted number is no Python number, nor an index, .*"),
    (
        lambda x: pf.max(x),
        r"maximum: CKKS and BGV have none; with reals, a \+ s \* pf\.relu\(\(b - a\) \* \(1 / s\)\), where .*",
    ),
    (lambda x: pf.min(x), r"minimum: CKKS and BGV have none; with reals, .*"),
    (
        lambda x: pf.maximum(x, -x),
        r"maximum: CKKS and BGV have none; with reals, a \+ s \* pf\.relu\(\(b - a\) \* \(1 / s\)\), where .*",
    ),
    (lambda x: pf.sign(5), r"sign: the operand is int, but an encrypted value is needed"),
    (lambda x: pf.dot(1, 2), r"dot: the operands are public, int the second; give an encrypted vector"),
    (lambda x: pf.sign(x, gap=0), r"sign: gap around 0 .* is 0; .*"),
    (lambda x: pf.sign(x, degrees=()), r"sign: no stage is left; give at least one odd degree"),
    (lambda x: pf.sign(x, degrees=(-1,)), r"sign: the degree of a stage is -1; .*"),
    (lambda x: pf.chebyshev(x, np.exp, 3.5), r"chebyshev: the degree is 3\.5; .*"),
    (lambda x: pf.chebyshev(x, np.exp, 10**6), r"chebyshev: the degree is 1000000; give an integer from 1 to 4095"),
    (lambda x: pf.chebyshev(x, np.exp, 3, (1, 2, 3)), r"chebyshev: the interval is \(1, 2, 3\); give its two ends, .*"),
    (lambda x: pf.chebyshev(x, np.exp, 3, None), r"chebyshev: the interval is None; .*"),
    (lambda x: pf.chebyshev(x, np.exp, 3, (-np.inf, 1)), r"chebyshev: the interval -inf to 1 is empty or endless; .*"),
    (lambda x: pf.chebyshev(x, math.exp, 3), r"chebyshev: the function does not take an array \(.*\); use numpy's .*"),
    (lambda x: pf.chebyshev(x, lambda u: u[1:], 3), r"chebyshev: the function gives 3 of float64 for 4 numbers; .*"),
    (
        lambda x: pf.chebyshev(x, lambda u: 1j * u, 3),
        r"chebyshev: the function gives 4 of complex128 for 4 numbers; .*",
    ),
    (lambda x: pf.chebyshev(x, []), r"chebyshev: give a function, or at least two real coefficients, .*"),
    (lambda x: pf.polynomial(x, [[1], [2]]), r"polynomial: give at least two coefficients, the constant first"),
    (forever, r"forever calls itself without end: it is traced once, .* let a public number count it down"),
]


@pytest.mark.parametrize(("body", "message"), REAL, ids=[str(index) for index in range(len(REAL))])
def test_an_operation_that_is_none(body, message):
    is_told(HERE + message, lambda: pf.program(x=pf.Real.vector(8))(body))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pf.Real.vector(0), r"the length of a vector is 0; give an integer from 1 to 32768"),
        (lambda: pf.Real.vector(2.5), r"the length of a vector is 2\.5; .*"),
        (lambda: pf.Real.vector(2**40), r"the length of a vector is 1099511627776; .*"),
        (lambda: pf.Int(0, 3).vector("a"), r"the length of a vector is 'a'; .*"),
        (lambda: pf.Real.bounded(-1), r"the bound of a type is -1; give a positive, finite number"),
        (lambda: pf.Real.bounded("a"), r"the bound of a type is 'a'; .*"),
        (lambda: pf.Mod(T).bounded(2), rf"integers modulo {T} have no other bound; leave \.bounded\(\) out"),
        (lambda: pf.Mod(-5), r"the modulus of pf\.Mod is -5; .*"),
        (lambda: pf.Mod(2.5), r"the modulus of pf\.Mod is 2\.5; .*"),
        (lambda: pf.Mod(2**70), r"the modulus of pf\.Mod is 1180591620717411303424; .*"),
        (lambda: pf.program("p", x=pf.Real, slots="8")(square), r"p: slots is '8'; give an integer from 1 to 32768"),
        (lambda: pf.program("p", x=pf.Real, slots=3)(square), r"p: 3 slots: a program has a power of two of slots, .*"),
        (lambda: pf.program("p", x=pf.Mod(6))(square), r"p: plaintext modulus 6: .*"),
        (lambda: pf.program(x=pf.Real)(5), r"@pf\.program decorates a function, not int; write def f\(x\): \.\."),
        (lambda: pf.program(x=pf.Real)(lambda *x: x[0]), r"<lambda>: parameter 'x' takes any number of values; .*"),
    ],
)
def test_a_declaration_that_is_none(make, message):
    is_told(HERE + message, make)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (None, r'square: inputs are missing; write square\.run\({"x": \.\.}\)'),
        ([1.0], r"square: inputs are list; give a dictionary with x"),
        ({"x": [[1, 2], [3]]}, r"square: input 'x': its rows have different lengths; give as many numbers in each"),
        ({"x": np.ma.masked_array(X, X > 0)}, r"square: input 'x': some of its values are masked; fill them in first"),
        ({"x": [np.nan] * 8}, r"square: input 'x' holds a value that is not finite; correct the data"),
        (
            {"x": ["1"] * 8},
            r"square: input 'x' holds '1', but real x 8 is needed; give numbers of that type",
        ),
    ],
)
def test_inputs_that_are_none(inputs, message):
    program = pf.program(x=pf.Real.vector(8))(square)
    is_told(message, lambda: program.run(inputs))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"threads": 0}, r"threads=0; give an integer from 1 to 1024, or none for all \d+ processors"),
        ({"threads": 10**9}, r"threads=1000000000; .*"),
        ({"threads": "a"}, r"threads='a'; .*"),
        ({"on": None}, r"there is no place to run None; .*"),
        ({"parameters": 5}, r"parameters=5; give a name, a file's, as 'mine\.toml', or pf\.SlotParameters"),
        ({"key_switch": 5}, r"key_switch=5; give a name"),
        ({"security": math.nan}, r"security=nan; give a number of bits, such as 128"),
        ({"keys": "folder"}, r"keys are str; give those of a result, or pf\.Keys\.load\(folder\)"),
    ],
)
def test_options_that_are_none(option, message):
    program = pf.program(x=pf.Real.vector(8))(square)
    is_told(message, lambda: program.run({"x": X}, **option))


def test_a_rotation_by_any_integer_is_one_modulo_the_slots():
    program = pf.program(x=pf.Real.vector(8))(lambda x: {"a": pf.rotate(x, 10**30), "b": pf.rotate(x, np.int64(-3))})
    assert np.allclose(program(x=X)["a"], np.roll(X, -(10**30 % 8)))
    assert np.allclose(program(x=X)["b"], np.roll(X, 3))


def test_integers_of_any_size_are_those_modulo_t():
    @pf.program(x=pf.Mod(T).vector(8))
    def scaled(x):
        return x * 10**30 + np.full(8, 2**64 - 1, dtype=np.uint64)

    x = [10**40, -(2**70), 2**63, 1, 2, 3, 4, 5]
    expected = [(v * 10**30 + 2**64 - 1) % T for v in x]
    assert [v % T for v in scaled(x=x)["result"]] == expected


def test_the_chosen_set_has_the_security_that_is_asked_for():
    program = pf.program(x=pf.Real.vector(8))(lambda x: x**64)
    assert program.run({"x": X}).parameters == "ckks-depth-6"
    done = program.run({"x": X}, security=192)
    assert done.parameters == "ckks-depth-8"
    assert done.correct
    is_told(
        r"no default parameter set of CKKS has 300 bits of security; ask for fewer",
        lambda: program.run({"x": X}, security=300),
    )


def test_a_program_of_slots_reads_back_from_its_text():
    @pf.program(x=pf.Real.vector(8))
    def rotated(x):
        return pf.rotate(x * 0.5, 1)

    @pf.program(x=pf.Mod(2))
    def flipped(x):
        return x + 1

    for program, x in ((rotated, X), (flipped, 1)):
        again = pf.SlotProgram.parse(program.text())
        assert again.text() == program.text()
        assert np.allclose(again(x=x)["result"], program(x=x)["result"])
    assert rotated.kernel_text("ckks-depth-1").startswith('kernel "rotated" degree 8192\n')
    is_told(r"line 1, column 1: expected `program`, found `what`", lambda: pf.SlotProgram.parse("what is this"))
