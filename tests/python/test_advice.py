"""The code that error messages suggest computes what the refused program meant.

Each case has the types, the refused program, the code that its message suggests, and the same on plain integers or NumPy arrays.
"""

from __future__ import annotations

import ast
import functools
import operator
import random
import re
from typing import Any

import numpy as np
import polyfabric as pf
import pytest

PUBLIC = {"pf": pf, "np": np, "functools": functools, "operator": operator}


def suggested(kinds: dict[str, Any], refused: str, begins: str, **public: Any) -> str:
    """The longest expression in the message that begins so."""
    names = ", ".join(kinds)
    with pytest.raises(pf.errors.ProgramError) as error:
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
    """The results of code in the clear; it is traced once."""
    key = f"{kinds} {code} {public}"
    if key not in PROGRAMS:
        PROGRAMS[key] = pf.program(**kinds)(eval(f"lambda {', '.join(kinds)}: {code}", {**PUBLIC, **public}))
    return PROGRAMS[key].clear(**given)


def ends(kind: Any) -> tuple[int, int]:
    return kind.bounds


def some(kind: Any, count: int = 3) -> list[int]:
    """The ends of a type's range, and numbers within it."""
    lo, hi = ends(kind)
    draw = random.Random(hi)
    return [lo, hi, max(lo, min(hi, 0)), *(draw.randint(lo, hi) for _ in range(count))]


@pytest.mark.parametrize("exponent", [pf.UInt(1), pf.UInt(3)], ids=repr)
@pytest.mark.parametrize("kind", [pf.UInt(8), pf.SInt(5)], ids=repr)
def test_encrypted_powers(kind: Any, exponent: Any) -> None:
    kinds = {"x": kind, "y": exponent}
    code = suggested(kinds, "x ** y", "functools.reduce(")
    for x, y in zip(some(kind), reversed(some(exponent)), strict=True):
        assert (computed(kinds, code, {"x": x, "y": y}) - x**y) % (1 << kind.bits) == 0


@pytest.mark.parametrize("kind", [pf.UInt(8), pf.SInt(8), pf.Int(-7, 7), pf.Real.bounded(8)], ids=repr)
def test_public_numbers_put_next_to_encrypted_ones(kind: Any) -> None:
    for own in (kind, kind.vector(3)):
        code = suggested({"x": own}, "pf.concat(x, 3)", "x - x" if own.scalar else "x[:1]")
        found = computed({"x": own}, f"pf.concat(x, {code})", {"x": 1 if own.scalar else [1, 0, 1]})
        assert np.allclose(found, [1, 3] if own.scalar else [1, 0, 1, 3])


@pytest.mark.parametrize("gate", ["nand", "nor", "xnor"])
@pytest.mark.parametrize("kind", [pf.Real, pf.Mod(65537)], ids=repr)
def test_gates(gate: str, kind: Any) -> None:
    kinds = {"x": kind, "y": kind}
    code = suggested(kinds, f"pf.{gate}(x, y)", {"nand": "1 -", "nor": "(1", "xnor": "1 -"}[gate])
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
    """For operands that differ by at most s, and by more than the sign's gap."""
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
    for refused in ("pf.where(c, a, b)", "a if c else b"):
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


def test_conditions_of_wider_integers() -> None:
    kind = pf.SInt(8).vector(3)
    code = suggested({"x": kind}, "x.any()", "x !=")
    for x in ([0, 0, 0], [-128, 0, 0], [0, 2, 0]):
        assert computed({"x": kind}, f"({code}).any()", {"x": x}) == any(x)


def test_a_convolution_is_a_product_with_its_matrix() -> None:
    """A row for each number of the result, with the weights at the places that they multiply."""
    kernel, image = np.arange(1, 5).reshape(2, 2), np.arange(12).reshape(3, 4)
    rows = [np.pad(kernel, ((i, 1 - i), (j, 2 - j))).reshape(-1) for i in range(2) for j in range(3)]
    meant = pf.program(x=pf.Int(0, 11).vector(12))(lambda x: pf.convolve(kernel, x, (3, 4))).clear(x=image.reshape(-1))
    assert (
        pf.program(x=pf.UInt(8).vector(12))(lambda x: pf.convolve(kernel, x, (3, 4))).clear(x=image.reshape(-1))
        == meant
    )
    for kind in (pf.Real.bounded(11), pf.Mod(65537)):
        kinds = {"x": kind.vector(12)}
        code = suggested(kinds, "pf.convolve(kernel, x, (3, 4))", "matrix @ x", kernel=kernel)
        assert np.allclose(computed(kinds, code, {"x": image.reshape(-1)}, matrix=np.array(rows)), meant)


def test_a_program_within_another() -> None:
    inner = pf.program(x=pf.UInt(8))(lambda x: x + 1)
    kinds = {"x": pf.UInt(13)}
    code = suggested(kinds, "inner(x=x)", "x.cast(", inner=inner)
    assert computed(kinds, f"inner(x={code})", {"x": 200}, inner=inner) == 201


def test_advice_names_types_that_exist() -> None:
    for lo in (0, -3, 7, "x"):
        with pytest.raises(pf.errors.ProgramError) as found:
            pf.Int(lo)  # type: ignore[arg-type]
        for kind in re.findall(r"pf\.\w+\([^)]*\)", str(found.value))[1:]:
            assert eval(kind, PUBLIC)


@pytest.mark.parametrize("given", [(0, 7), (-7, 2), (7,)])
@pytest.mark.parametrize("kind", [pf.Real, pf.Complex, pf.Real.vector(4)])
def test_a_range_of_reals_is_declared_by_its_bound(kind: Any, given: tuple[int, ...]) -> None:
    with pytest.raises(pf.errors.ProgramError) as found:
        kind(*given)
    assert f"{kind!r}.bounded(7)" in str(found.value)


@pytest.mark.parametrize(("refused", "meant"), [("x << -1", ">> by 1"), ("x >> -2", "<< by 2")])
def test_a_shift_by_a_negative_number_is_the_other_shift(refused: str, meant: str) -> None:
    with pytest.raises(pf.errors.ProgramError) as found:
        pf.program(x=pf.UInt(8))(eval(f"lambda x: {refused}"))
    assert meant in str(found.value)


def test_an_index_is_only_that_of_a_vectors_element() -> None:
    sums = pf.program(x=pf.Int(0, 7), v=pf.Int(0, 7).vector(2))(lambda x, v: x + v)
    for inputs, shown in (({"x": 9, "v": [0, 0]}, False), ({"x": 0, "v": [0, 9]}, True)):
        with pytest.raises(pf.errors.InputError) as found:
            sums.clear(inputs)
        assert "9" in str(found.value)
        assert ("index" in str(found.value)) == shown
