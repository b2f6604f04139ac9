"""Does the code that error messages suggest compute what the refused program was meant to?

Each case has the types, the refused program, the code that its message suggests, and the same on plain integers or NumPy arrays.
"""

from __future__ import annotations

import ast
import functools
import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import polyfabric as pf
import pytest

PUBLIC = {"pf": pf, "np": np, "functools": functools, "operator": operator}


def suggested(kinds: dict[str, Any], refused: str, begins: str, **public: Any) -> str:
    """The longest expression in the message that begins so."""
    names = ", ".join(kinds)
    with pytest.raises(pf.ProgramError) as error:
        pf.program(**kinds)(eval(f"lambda {names}: {refused}", {**PUBLIC, **public}))
    message = str(error.value)
    assert begins in message, message
    rest = message[message.index(f" {begins}") + 1 :]
    for end in range(len(rest), 0, -1):
        try:
            if not isinstance(ast.parse(rest[:end].strip(), mode="eval").body, ast.Tuple | ast.BoolOp):
                return rest[:end].strip()
        except SyntaxError:
            continue
    raise AssertionError(message)


PROGRAMS: dict[str, Any] = {}


def computed(kinds: dict[str, Any], code: str, given: dict[str, Any], **public: Any) -> Any:
    """What the code computes in the clear; it is traced once."""
    key = f"{kinds} {code} {public}"
    if key not in PROGRAMS:
        PROGRAMS[key] = pf.program(**kinds)(eval(f"lambda {', '.join(kinds)}: {code}", {**PUBLIC, **public}))
    return PROGRAMS[key](**given)["result"]


def ends(kind: Any) -> tuple[int, int]:
    return kind.bounds if isinstance(kind, pf.IntegerType) else kind.element.bounds[:2]


def some(kind: Any, count: int = 3) -> list[int]:
    """The ends of a type's range, and numbers within it."""
    lo, hi = ends(kind)
    draw = random.Random(hi)
    return [lo, hi, max(lo, min(hi, 0)), *(draw.randint(lo, hi) for _ in range(count))]


WIDTHS = [of(bits) for bits in (1, 4, 8, 64) for of in (pf.UInt, pf.SInt)]


@pytest.mark.parametrize("kind", WIDTHS, ids=repr)
@pytest.mark.parametrize("left", ["2 **", "(-3) **", "0 **", "(-5) <<", "(-100) >>"])
def test_public_numbers_raised_or_shifted(kind: Any, left: str) -> None:
    code = suggested({"x": kind}, f"{left} x", "pf.Table(")
    index = ast.parse(code, mode="eval").body.slice  # type: ignore[attr-defined]
    cast_to = index.args[0].args[0].value if isinstance(index, ast.Call) else kind.bits
    assert cast_to >= min(kind.bits - kind.signed, 8)
    most = min(kind.bounds[1], (1 << cast_to) - 1)
    numbers = sorted({0, most, most // 2, min(3, most), most - (most > 0)})
    found = computed({"x": kind.vector(len(numbers))}, code, {"x": numbers})
    assert found == [eval(f"{left} {number}") for number in numbers], code


@pytest.mark.parametrize("exponent", [pf.UInt(1), pf.UInt(3)], ids=repr)
@pytest.mark.parametrize("kind", [pf.UInt(8), pf.SInt(5)], ids=repr)
def test_encrypted_powers(kind: Any, exponent: Any) -> None:
    kinds = {"x": kind, "y": exponent}
    code = suggested(kinds, "x ** y", "functools.reduce(")
    for x, y in zip(some(kind), reversed(some(exponent)), strict=True):
        assert (computed(kinds, code, {"x": x, "y": y}) - x**y) % (1 << kind.bits) == 0


SMALL = [pf.Bool, pf.Int(0, 7), pf.Int(-8, 7), pf.Int(1, 3), pf.Int(-100, 100)]


def castable(kind: Any) -> bool:
    return isinstance(kind, pf.IntegerType) or ends(kind)[1] - ends(kind)[0] < 16


@pytest.mark.parametrize("vector", [pf.UInt(1), pf.SInt(1), pf.SInt(8), *SMALL], ids=repr)
@pytest.mark.parametrize("index", [pf.UInt(8), pf.SInt(4), pf.Int(-2, 9)], ids=repr)
def test_encrypted_indices(vector: Any, index: Any) -> None:
    kinds = {"v": vector.vector(5), "i": index}
    if not castable(vector) and isinstance(index, pf.IntegerType):
        with pytest.raises(pf.ProgramError, match=r"declare the vector as pf\.[SU]Int"):
            pf.program(**kinds)(lambda v, i: v[i])
        return
    code = suggested(kinds, "v[i]", "pf.sum(")
    for values in (some(vector)[:5], some(vector)[1:6]):
        for at in range(min(5, ends(index)[1] + 1)):
            assert computed(kinds, code, {"v": values, "i": at}) == values[at], code


@pytest.mark.parametrize("small", SMALL, ids=repr)
@pytest.mark.parametrize("kind", [pf.UInt(1), pf.UInt(2), pf.UInt(8), pf.SInt(3), pf.SInt(13)], ids=repr)
def test_integers_next_to_values_of_a_few_bits(kind: Any, small: Any) -> None:
    """The type that is suggested for one or both holds the values of both."""
    kinds = {"x": small, "y": kind}
    (lo, hi), both = ends(small), suggested(kinds, "y + x", "pf." if not castable(small) else "x.cast(")
    if not castable(small):
        assert lo >= eval(both, PUBLIC).bounds[0]
        assert hi <= eval(both, PUBLIC).bounds[1]
        return
    for x, y in zip(some(small), reversed(some(kind)), strict=True):
        code = f"{both} > {both.replace('x', 'y', 1)}"
        assert computed(kinds, code, {"x": x, "y": y}) == (x > y), code


@pytest.mark.parametrize("kind", [pf.UInt(2), pf.UInt(8), pf.UInt(16)], ids=repr)
@pytest.mark.parametrize("other", [-1, -1000, -(1 << 20)])
def test_negative_numbers_added_to_unsigned_ones(kind: Any, other: int) -> None:
    code = suggested({"x": kind}, f"x + {other}", "x.cast(")
    for x in some(kind):
        assert computed({"x": kind}, f"{code} + {other}", {"x": x}) == x + other


BINARY: dict[str, Callable[[int, int], int]] = {
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("a", SMALL[1:], ids=repr)
@pytest.mark.parametrize("b", SMALL[1:], ids=repr)
def test_operators_of_two_values_of_a_few_bits(a: Any, b: Any, op: str) -> None:
    kinds = {"x": a, "y": b}
    if op in ("<<", ">>") and ends(b)[0] < 0:
        return
    if not (castable(a) and castable(b)):
        with pytest.raises(pf.ProgramError, match=r"declare both .* as pf\."):
            pf.program(**kinds)(eval(f"lambda x, y: x {op} y"))
        return
    code = suggested(kinds, f"x {op} y", "x.cast(")
    for x in {*some(a)}:
        for y in {*some(b)} - ({0} if op in ("//", "%") else set()):
            assert computed(kinds, code, {"x": x, "y": y}) == BINARY[op](x, y), (code, x, y)


def test_powers_and_tables_beyond_a_few_bits() -> None:
    kind = pf.Int(-7, 7)
    for power in (15, 20, 33):
        code = suggested({"x": kind}, f"x ** {power}", "x.cast(")
        assert [computed({"x": kind}, code, {"x": x}) for x in some(kind)] == [x**power for x in some(kind)]
    kind, function = pf.Int(0, 7), lambda i: (-9) ** (3 * i)
    code = suggested({"x": kind}, "pf.lookup(x, function)", "pf.Table(", function=function)
    for x in range(8):
        assert computed({"x": kind}, code, {"x": x}, function=function) == function(x)
    kinds = {"x": pf.Int(0, 7), "y": pf.Int(0, 2)}
    code = suggested(kinds, "x ** y", "pf.mux(")
    assert all(computed(kinds, code, {"x": x, "y": y}) == x**y for x in range(8) for y in range(3))


@pytest.mark.parametrize("small", SMALL, ids=repr)
def test_choices_of_a_few_bits_under_a_condition_of_an_integer(small: Any) -> None:
    kinds = {"c": pf.UInt(1), "x": small, "y": small}
    code = suggested(kinds, "pf.mux(c, x, y)", "x.cast(")
    if castable(small):
        for x, y in zip(some(small), reversed(some(small)), strict=True):
            for c in (0, 1):
                assert computed(kinds, f"pf.mux(c, {code}, {code.replace('x', 'y', 1)})", {"c": c, "x": x, "y": y}) == (
                    x if c else y
                )


@pytest.mark.parametrize("index", [pf.Int(0, 4), pf.Int(-2, 2), pf.Int(1, 3)], ids=repr)
def test_tables_of_values_of_a_few_bits(index: Any) -> None:
    entries = [7, 8, 9, 10, 11]
    code = suggested({"i": index}, "pf.Table(entries)[i]", "pf.lookup(", entries=entries)
    other = suggested({"x": index}, "entries[x]", "pf.lookup(", entries=entries)
    for i in range(ends(index)[0], ends(index)[1] + 1):
        assert computed({"i": index}, code, {"i": i}, entries=entries) == entries[i]
        assert computed({"x": index}, other, {"x": i}, entries=entries) == entries[i]


@pytest.mark.parametrize("kind", [pf.UInt(8), pf.SInt(8), pf.Int(-7, 7), pf.Real.bounded(8)], ids=repr)
def test_public_numbers_put_next_to_encrypted_ones(kind: Any) -> None:
    for own in (kind, kind.vector(3)):
        code = suggested({"x": own}, "pf.concat(x, 3)", "x - x" if own.scalar else "x[:1]")
        found = computed({"x": own}, f"pf.concat(x, {code})", {"x": 1 if own.scalar else [1, 0, 1]})
        assert np.allclose(found, [1, 3] if own.scalar else [1, 0, 1, 3])


@pytest.mark.parametrize("gate", ["nand", "nor", "xnor"])
@pytest.mark.parametrize("kind", [pf.UInt(1), pf.Real, pf.Mod(65537)], ids=repr)
def test_gates(gate: str, kind: Any) -> None:
    kinds = {"x": kind, "y": kind}
    begins = {
        "nand": "~(" if kind == pf.UInt(1) else "1 -",
        "nor": "~(" if kind == pf.UInt(1) else "(1",
        "xnor": "~(" if kind == pf.UInt(1) else "1 -",
    }
    code = suggested(kinds, f"pf.{gate}(x, y)", begins[gate])
    meant = {"nand": lambda x, y: not (x and y), "nor": lambda x, y: not (x or y), "xnor": lambda x, y: x == y}[gate]
    for x in (0, 1):
        for y in (0, 1):
            assert round(computed(kinds, code, {"x": x, "y": y})) == meant(x, y)


@pytest.mark.parametrize("kind", [pf.UInt(8), pf.SInt(8), pf.Int(-7, 7)], ids=repr)
def test_comparisons_that_decide_no_branch(kind: Any) -> None:
    for refused, begins, meant in (
        ("x if 3 < x < 9 else 0", "(3 < x)", lambda x: 3 < x < 9),
        ("x if x in [1, 2] else 0", "(x == 1)", lambda x: x in [1, 2]),
    ):
        code = suggested({"x": kind}, refused, begins)
        for x in [*some(kind), 1, 2, 4]:
            assert computed({"x": kind}, code, {"x": x}) == meant(x)
    for own, values in ((kind.vector(4), [some(kind)[:4], [5, 1, 2, 5]]), (kind, [5, 1])):
        code = suggested({"x": own}, "5 in x", "(x" if not own.scalar else "x ==")
        assert [computed({"x": own}, code, {"x": given}) for given in values] == [
            5 in np.atleast_1d(given) for given in values
        ]


def test_a_mask_and_an_array_of_several_rows() -> None:
    for kind in (pf.UInt(8).vector(4), pf.Int(0, 7).vector(4), pf.Real.bounded(8).vector(4)):
        mask = np.array([True, False, True, True])
        code = suggested({"x": kind}, "x[mask]", "x[np.", mask=mask)
        assert np.allclose(computed({"x": kind}, code, {"x": [4, 5, 6, 7]}, mask=mask), [4, 6, 7])


WEIGHED = {"x": pf.Real.bounded(4).vector(8), "y": pf.Real.bounded(4).vector(8)}
LEFT, RIGHT = (
    np.array([1.0, -0.75, 3.5, 2.0, -4.0, 0.5, -1.0, 4.0]),
    np.array([0.5, 0.75, -3.5, 3.0, -1.0, 2.5, -3.0, -4.0]),
)


@pytest.mark.parametrize(
    ("refused", "begins", "meant"), [("pf.max(x, y)", "a + s", np.maximum), ("pf.min(x, y)", "a - s", np.minimum)]
)
def test_the_greater_of_two_reals(refused: str, begins: str, meant: Any) -> None:
    """Where they differ by s at most, and by more than the sign's gap."""
    code = suggested(WEIGHED, refused, begins)
    found = computed(WEIGHED, f"(lambda a, b, s: {code})(x, y, 8)", {"x": LEFT, "y": RIGHT})
    assert np.allclose(found, meant(LEFT, RIGHT), atol=0.01)


@pytest.mark.parametrize(
    ("refused", "begins", "meant"), [("x.max()", "x + pf.relu", np.maximum), ("x.min()", "x - pf.relu", np.minimum)]
)
def test_the_greater_of_two_reals_near_each_other(refused: str, begins: str, meant: Any) -> None:
    code = suggested(WEIGHED, refused, begins)
    near = LEFT / 2 + np.linspace(-1, 1, 8)
    assert np.allclose(computed(WEIGHED, code, {"x": LEFT / 2, "y": near}), meant(LEFT / 2, near), atol=0.01)


@pytest.mark.parametrize("exponent", ["-1", "0.5", "-0.5", "-2", "1.5"])
def test_powers_of_reals(exponent: str) -> None:
    values = np.array([0.25, 0.5, 1.0, 1.75, 2.5, 3.0, 3.5, 4.0])
    code = suggested(WEIGHED, f"x ** {exponent}", "pf.chebyshev(")
    assert np.allclose(computed(WEIGHED, code, {"x": values, "y": values}), values ** float(exponent), atol=1e-3)


def test_quotients_of_reals() -> None:
    values = np.array([0.25, 0.5, 1.0, 1.75, 2.5, 3.0, 3.5, 4.0])
    for refused, begins, left in (
        ("x / y", "pf.chebyshev(", "x *"),
        ("3 / y", "pf.chebyshev(", "3 *"),
        ("2 ** x", "pf.chebyshev(", "1 *"),
    ):
        code = suggested(WEIGHED, refused, begins)
        found = computed(
            WEIGHED,
            f"{left} {code}",
            {"x": LEFT, "y": values},
            degree=31,
            lo=-4 if "**" in refused else 0.25,
            hi=4,
            base=2,
        )
        meant = {"x / y": LEFT / values, "3 / y": 3 / values, "2 ** x": 2**LEFT}[refused]
        assert np.allclose(found, meant, atol=1e-3)


@pytest.mark.parametrize("kind", [pf.Real.bounded(8), pf.Mod(65537)], ids=repr)
def test_masks_and_lengths_of_slots(kind: Any) -> None:
    kinds = {"c": kind.vector(5), "a": kind.vector(5), "b": kind.vector(5)}
    given = {"c": [1, 0, 1, 1, 0], "a": [1, 2, 3, 4, 5], "b": [6, 7, 8, 3, 2]}
    for refused in ("pf.mux(c, a, b)", "a if c else b"):
        found = computed(kinds, suggested(kinds, refused, "c * a"), given)
        assert np.allclose(found, np.where(given["c"], given["a"], given["b"]))
    for x, y in (([1, 2], [3, 4, 5]), ([1, 2, 3], [4]), ([4], [1, 2, 3])):
        lengths = {"x": kind.vector(len(x)), "y": kind.vector(len(y))}
        code = suggested(lengths, "x + y", "x +" if len(x) < len(y) else "y +")
        least = min(len(x), len(y))
        assert np.allclose(computed(lengths, code, {"x": x, "y": y}), np.add(x[:least], y[:least]))
        if least == 1:
            one = suggested(lengths, "x + y", "x[0]" if len(x) == 1 else "y[0]")
            assert np.allclose(
                computed(lengths, f"{one} + {'y' if len(x) == 1 else 'x'}", {"x": x, "y": y}), np.add(x, y)
            )


@pytest.mark.parametrize("divisor", [3, 65536, np.int64(12)], ids=repr)
def test_quotients_modulo_a_prime(divisor: Any) -> None:
    kinds = {"x": pf.Mod(65537).vector(3)}
    code = suggested(kinds, "x / divisor", "x * pow", divisor=divisor)
    assert computed(kinds, f"divisor * ({code})", {"x": [1, 2, 3]}, divisor=int(divisor)) == [1, 2, 3]
    divisors = [1, 2, 65536]
    code = suggested(kinds, "x / np.array(divisors)", "x * [", divisors=divisors)
    assert computed(kinds, code, {"x": [1, 2, 65536]}, divisors=divisors) == [1, 1, 1]


@pytest.mark.parametrize(
    ("x", "y"),
    [(pf.UInt(8), pf.SInt(8)), (pf.UInt(8), pf.UInt(13)), (pf.SInt(4), pf.UInt(8)), (pf.SInt(8), pf.UInt(2))],
    ids=repr,
)
def test_two_integers_of_different_types(x: Any, y: Any) -> None:
    """The type that is suggested holds the values of both, whichever it is said of."""
    kinds = {"x": x, "y": y}
    to = suggested(kinds, "x > y", "x.cast(")
    for a, b in zip(some(x), reversed(some(y)), strict=True):
        assert computed(kinds, f"{to} > {to.replace('x', 'y', 1)}", {"x": a, "y": b}) == (a > b)


def test_shifts_and_tables_by_signed_numbers_that_are_not_negative() -> None:
    kinds = {"x": pf.UInt(8), "n": pf.SInt(4)}
    to = suggested(kinds, "x << n", "n.cast(")
    assert [computed(kinds, f"x << {to}", {"x": 5, "n": n}) for n in range(6)] == [5 << n & 255 for n in range(6)]
    small = {"x": pf.UInt(8), "n": pf.Int(0, 5)}
    to = suggested(small, "x << n", "n.cast(")
    assert [computed(small, f"x << {to}", {"x": 5, "n": n}) for n in range(6)] == [5 << n & 255 for n in range(6)]
    to = suggested(kinds, "pf.Table(lambda v: v * v)[n]", "i.cast(").replace("i", "n", 1)
    assert [computed(kinds, f"pf.Table(lambda v: v * v)[{to}]", {"x": 0, "n": n}) for n in range(8)] == [
        n * n for n in range(8)
    ]


def test_conditions_of_wider_integers() -> None:
    kind = pf.SInt(8).vector(3)
    code = suggested({"x": kind}, "x.any()", "x !=")
    for x in ([0, 0, 0], [-128, 0, 0], [0, 2, 0]):
        assert computed({"x": kind}, f"({code}).any()", {"x": x}) == any(x)


def test_a_convolution_is_a_product_with_its_matrix() -> None:
    """A row for each number of the result, with the weights at the places that they multiply."""
    kernel, image = np.arange(1, 5).reshape(2, 2), np.arange(12).reshape(3, 4)
    rows = [np.pad(kernel, ((i, 1 - i), (j, 2 - j))).reshape(-1) for i in range(2) for j in range(3)]
    meant = pf.program(x=pf.Int(0, 11).vector(12))(lambda x: pf.convolve(kernel, x, (3, 4)))(x=image.reshape(-1))[
        "result"
    ]
    for kind in (pf.UInt(8), pf.Real.bounded(11), pf.Mod(65537)):
        kinds = {"x": kind.vector(12)}
        code = suggested(kinds, "pf.convolve(kernel, x, (3, 4))", "matrix @ x", kernel=kernel)
        assert np.allclose(computed(kinds, code, {"x": image.reshape(-1)}, matrix=np.array(rows)), meant)


def test_a_program_within_another() -> None:
    inner = pf.program(x=pf.UInt(8))(lambda x: x + 1)
    kinds = {"x": pf.UInt(13)}
    code = suggested(kinds, "inner(x=x)", "x.cast(", inner=inner)
    assert computed(kinds, f"inner(x={code})", {"x": 200}, inner=inner) == 201
