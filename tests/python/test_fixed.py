"""Fixed-point numbers against exact fractions: results, roundings, overflows, public numbers, inputs and outputs."""

from __future__ import annotations

import json
import math
import operator
import pickle
import random
from decimal import ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from calls import called
from fixed_programs import OVERFLOWS, ROUNDINGS, Random, over
from polyfabric.language.shapes import Shapes
from rejects import rejects

pytestmark = pytest.mark.filterwarnings("ignore:.*(wrapped to|division by 0):RuntimeWarning")

F = pf.Fixed(16, 8)
DECIMAL = {"floor": ROUND_FLOOR, "nearest": ROUND_HALF_EVEN, "zero": ROUND_DOWN}


def compared(seed: int) -> None:
    """The reference and the lowered program of a seed are the exact fractions, and the wraps are reported."""
    written = Random(seed).write()
    told = f"seed {seed}\n{written.text()}"
    program = written.program()
    flat = program.flatten(written.given)
    assert program.reference is not None
    for kind, own in zip(program.outputs.values(), written.results, strict=True):
        assert (kind.lo, kind.hi, getattr(kind, "point", 0)) == (own.kind.least, own.kind.most, own.kind.point), told
    if written.refused:
        with pytest.raises(pf.errors.InputError):
            program.reference.evaluate(flat)
        return
    meant, wrapped = program.reference.evaluate(flat)
    assert program.shaped(meant) == written.expected, told
    assert program.shaped(program.native.evaluate(flat)) == written.expected, told
    assert sum(wrap.count for wrap in wrapped) == len(written.wrapped), told


@pytest.mark.parametrize("part", range(6))
def test_random_programs_are_exact_fractions(part: int) -> None:
    for seed in range(50 * part, 50 * part + 50):
        compared(seed)


@pytest.mark.full
@pytest.mark.parametrize("part", range(10))
def test_many_random_programs_are_exact_fractions(part: int) -> None:
    for seed in range(1000 + 1000 * part, 2000 + 1000 * part):
        compared(seed)


def decrypted(seeds: range, widest: int) -> None:
    for seed in seeds:
        written = Random(seed, widest=widest, modes=(ROUNDINGS[seed % 3], OVERFLOWS[seed // 3 % 2])).write()
        result = written.program().run(written.given)
        assert result.outputs == written.expected, written.text()
        assert result.correct


def test_a_random_program_decrypts_right() -> None:
    decrypted(range(7, 8), 4)


@pytest.mark.full
@pytest.mark.parametrize("part", range(5))
def test_random_programs_decrypt_right(part: int) -> None:
    decrypted(range(6 * part, 6 * part + 6), 6)


# -- vectors ------------------------------------------------------------------------------------------------------------


def fit(value: Fraction, kind: Any) -> Fraction:
    scaled = value * 2**kind.point
    steps = over(scaled.numerator, scaled.denominator, kind.rounding)
    if kind.overflow == "saturate":
        steps = min(max(steps, kind.lo), kind.hi)
    size = kind.hi - kind.lo + 1
    return Fraction((steps - kind.lo) % size + kind.lo, 2**kind.point)


def test_extremes_of_vectors_and_of_integers_among_them() -> None:
    @pf.program(x=F.vector(3), i=pf.SInt(4), j=pf.Int(-9, 9))
    def extremes(x, i, j):
        return {
            "elements": pf.max(x) - pf.min(x),
            "integers": pf.max(i, j, x[0]),
            "vectors": pf.min(i, j, x, 1.25),
        }

    drawn = random.Random(1)
    for _ in range(20):
        x = [drawn.randint(-3000, 3000) / 256 for _ in range(3)]
        i, j = drawn.randint(-8, 7), drawn.randint(-9, 9)
        expected = {
            "elements": max(x) - min(x),
            "integers": max(i, j, x[0]),
            "vectors": [min(i, j, own, 1.25) for own in x],
        }
        given = {"x": x, "i": i, "j": j}
        assert extremes.clear(given) == expected
        assert extremes.shaped(extremes.native.evaluate(extremes.flatten(given))) == expected


@pytest.mark.parametrize("overflow", ["wrap", "saturate"])
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_vectors_are_summed_exactly_and_fitted_once(rounding: Any, overflow: Any) -> None:
    drawn = random.Random(f"{rounding} {overflow}")
    kind, other = (pf.Fixed(bits, point, rounding=rounding, overflow=overflow) for bits, point in ((9, 4), (7, 5)))
    weights = [[0.5, -1.25, 0.3, 2], [7.9, 7.9, 7.9, 7.9], [0, 0, 0, -0.0625]]

    @pf.program(x=kind.vector(4), y=other.vector(4), n=pf.Int(0, 9).vector(4))
    def vectors(x, y, n):
        return {
            "sum": pf.sum(x),
            "mean": np.mean(x),
            "dot": x @ y,
            "counted": np.dot(n, x),
            "row": pf.dot(weights[0], x),
            "rows": np.array(weights) @ x,
            "columns": x @ np.array(weights).T,
            "scaled": np.array(weights[0]) * x,
            "largest": x.max(),
            "sorted": pf.sort(x, descending=True),
            "joined": pf.concat(x[1:], y[:2]),
            "all": pf.sum([x[0], y[0], n[0], 0.25]),
            "at": x[n[0]],
        }

    assert vectors.outputs["joined"].one == pf.Fixed(10, 5, rounding=rounding, overflow=overflow)
    for _ in range(20):
        x = [Fraction(drawn.choice([-256, 255, drawn.randint(-256, 255)]), 16) for _ in range(4)]
        y = [Fraction(drawn.choice([-64, 63, drawn.randint(-64, 63)]), 32) for _ in range(4)]
        n = [drawn.randint(0, 9) for _ in range(4)]
        both = vectors.outputs["joined"].one
        public = [[fit(Fraction(own), kind) for own in row] for row in weights]
        rows = [fit(sum(map(operator.mul, row, x)), kind) for row in public]
        expected = {
            "sum": fit(sum(x), kind),
            "mean": fit(sum(x) / Fraction(4), kind),
            "dot": fit(sum(map(operator.mul, x, y)), both),
            "counted": fit(sum(map(operator.mul, x, n)), vectors.outputs["counted"]),
            "row": rows[0],
            "rows": rows,
            "columns": rows,
            "scaled": [fit(own * factor, kind) for own, factor in zip(x, public[0], strict=True)],
            "largest": max(x),
            "sorted": sorted(x, reverse=True),
            "joined": x[1:] + y[:2],
            "all": fit(x[0] + y[0] + n[0] + Fraction(1, 4), both),
            "at": x[n[0]] if n[0] < 4 else 0,
        }
        flat = vectors.flatten({"x": x, "y": y, "n": n})
        assert vectors.clear(x=x, y=y, n=n) == expected
        assert vectors.shaped(vectors.native.evaluate(flat)) == expected


# -- rules of the page ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_roundings_are_those_of_decimal(rounding: Any) -> None:
    whole, half = (pf.Fixed(8, point, rounding=rounding) for point in (0, 1))
    program = pf.program(x=pf.Fixed(8, 2))(lambda x: (x.cast(whole), x.cast(half), x.cast(half).cast(pf.SInt(8))))
    for steps in range(-128, 128):
        x = Decimal(steps) / 4
        expected = x.quantize(Decimal(1), DECIMAL[rounding])
        halves = (2 * x).quantize(Decimal(1), DECIMAL[rounding]) / 2
        found = program.clear(x=x)
        assert found[:2] == (expected, halves)
        assert found[2] == halves.quantize(Decimal(1), DECIMAL[rounding])


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda x, y, n, u: x + x, pf.Fixed(16, 8)),
        (lambda x, y, n, u: x * x, pf.Fixed(16, 8)),
        (lambda x, y, n, u: x / y, pf.Fixed(18, 10)),
        (lambda x, y, n, u: y - x, pf.Fixed(18, 10)),
        (lambda x, y, n, u: x + n, pf.Fixed(19, 8)),
        (lambda x, y, n, u: n * x, pf.Fixed(19, 8)),
        (lambda x, y, n, u: u + u, pf.Fixed(8, 6, signed=False)),
        (lambda x, y, n, u: u + x, pf.Fixed(16, 8)),
        (lambda x, y, n, u: u * n, pf.Fixed(16, 6, signed=False)),
        (lambda x, y, n, u: pf.where(x > y, u, 0.5), pf.Fixed(8, 6, signed=False)),
        (lambda x, y, n, u: x + (x > 0), pf.Fixed(16, 8)),
        (lambda x, y, n, u: x.cast(pf.UInt(4)), pf.UInt(4)),
        (lambda x, y, n, u: n.cast(pf.Fixed(6, 3)), pf.Fixed(6, 3)),
        (lambda x, y, n, u: x < 1000, pf.UInt(1)),
        (lambda x, y, n, u: pf.lookup(y, abs, result=F), None),
        (lambda x, y, n, u: pf.lookup(u, math.sqrt), pf.Fixed(8, 6, signed=False)),
        (lambda x, y, n, u: pf.lookup(n.cast(pf.UInt(2)), [0.5, 1, 2, 3.25], result=F), F),
    ],
)
def test_a_result_has_the_narrowest_type_that_holds_the_operands(function: Any, kind: Any) -> None:
    make = pf.program(x=F, y=pf.Fixed(18, 10), n=pf.UInt(10), u=pf.Fixed(8, 6, signed=False))
    if kind is None:
        with rejects(pf.errors.ProgramError, "2^16"):
            make(function)
        return
    assert make(function).outputs["result"] == kind


def test_overflow_is_as_declared() -> None:
    def double(overflow: Any) -> pf.Program:
        return pf.program(x=pf.Fixed(8, 4, overflow=overflow).vector(2))(lambda x: x + x)

    given = [7.5, -5]
    wrapped, saturated, refused = map(double, OVERFLOWS)
    with pytest.warns(RuntimeWarning, match="15.0"):
        assert wrapped.clear(x=given) == [-1, 6]
    assert saturated.clear(x=given) == [7.9375, -8]
    assert refused.clear(x=[3.5, -4]) == [7, -8]
    for call in (refused.clear, refused.run):
        with rejects(pf.errors.InputError, "test_fixed.py", "15.0", "element 0"):
            call(x=given)
    found = wrapped.reference_values(wrapped.flatten({"x": given}))[1]
    assert [(wrap.exact, wrap.value, wrap.count, wrap.type) for wrap in found] == [(15.0, -1.0, 2, "fixed[8, 4]")]
    assert saturated.reference_values(saturated.flatten({"x": given}))[1] == []


@pytest.mark.parametrize("overflow", OVERFLOWS)
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("signed", [True, False])
def test_a_quotient_by_0_has_all_bits_1_or_0(rounding: Any, overflow: Any, signed: bool) -> None:
    kind = pf.Fixed(6, 2, signed=signed, rounding=rounding, overflow=overflow)
    program = pf.program(x=kind, y=kind, n=pf.UInt(3))(lambda x, y, n: (x / y, x / 0, n / y, 3 / y, x / n))
    for x in [0, 0.25, 1, 7.75] + ([-0.25, -8] if signed else []):
        ones = -0.25 if signed else 15.75
        own = ones if x >= 0 else 0
        flat = program.flatten({"x": x, "y": 0, "n": 0})
        assert tuple(program.clear(x=x, y=0, n=0)) == (own, own, ones, ones, own)
        assert tuple(program.shaped(program.native.evaluate(flat)).values()) == (own, own, ones, ones, own)
        [wrap] = program.reference_values(flat)[1]
        assert (wrap.operation, wrap.type, wrap.count, wrap.exact, wrap.value) == ("/", str(kind), 5, None, own)


def test_a_public_number_is_rounded_to_the_type_and_refused_beyond_it() -> None:
    program = pf.program(x=F, z=pf.Fixed(8, 2, rounding="nearest"))(
        lambda x, z: (x * 0.1, 0.1 - x, x + Decimal("0.5"), Fraction(1, 3) + z, z * 3, np.float32(1.5) + z, z - True)
    )
    tenth = Fraction(25, 256)
    assert program.clear(x=2, z=1) == (2 * tenth, tenth - 2, 2.5, 1.25, 3, 2.5, 0)
    for wrong in (128, -129, 1e300, Decimal(200), Fraction(257, 2), math.inf, math.nan, 1j, "1", None, [1, 200]):
        with pytest.raises(pf.errors.ProgramError):
            pf.program(x=F)(lambda x, wrong=wrong: x + wrong)
    with pytest.raises(pf.errors.ProgramError):
        pf.program(x=F)(lambda x: x / 0.001)


@pytest.mark.parametrize("op", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_comparisons_with_public_numbers_are_exact(op: str) -> None:
    compare = getattr(operator, op)
    numbers = [0.1, -0.1, 0, 0.25, 7.75, 7.8, -8, -8.1, 10**6, -1e300, Fraction(1, 3)]
    program = pf.program(x=pf.Fixed(6, 2), y=pf.Fixed(9, 5, rounding="zero", overflow="saturate"))(
        lambda x, y: (
            [compare(x, n) for n in numbers] + [compare(n, x) for n in numbers] + [compare(x, y), compare(y, x)]
        )
    )
    for x in [-8, -0.25, 0, 0.25, 7.75]:
        y = Fraction(7, 32)
        expected = [compare(x, n) for n in numbers] + [compare(n, x) for n in numbers] + [compare(x, y), compare(y, x)]
        assert list(program.clear(x=x, y=y)) == expected
        assert list(program.shaped(program.native.evaluate(program.flatten({"x": x, "y": y}))).values()) == expected


def test_numpy_functions() -> None:
    a = [1.5, -2.25, 0.75]
    calls = {
        "add": lambda x: np.add(x, a),
        "subtract": lambda x: np.subtract(a, x),
        "multiply": lambda x: np.multiply(x, a),
        "divide": lambda x: np.divide(x, 2),
        "negative": np.negative,
        "absolute": np.abs,
        "clip": lambda x: np.clip(x, -1, 1.5),
        "maximum": lambda x: np.maximum(x, a),
        "where": lambda x: np.where(x > 0, x, 0.5),
        "sum": np.sum,
        "mean": np.mean,
        "dot": lambda x: np.dot(x, a),
        "square": np.square,
        "sort": np.sort,
        "max": np.max,
        "concatenate": lambda x: np.concatenate([x, x]),
    }
    program = pf.program(x=F.vector(3))(lambda x: {name: call(x) for name, call in calls.items()})
    given = np.array([0.5, -3.0, 2.75])
    for name, found in program.clear(x=given).items():
        expected = calls[name](given)
        np.testing.assert_allclose(found, expected, atol=2**-8 if name == "mean" else 0, err_msg=name)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n, z: x // 2,
        lambda x, n, z: n % x,
        lambda x, n, z: x**2,
        lambda x, n, z: x & 1,
        lambda x, n, z: n << x,
        lambda x, n, z: ~x,
        lambda x, n, z: n.checked_add(x),
        lambda x, n, z: x.bit(0),
        lambda x, n, z: round(x),
        lambda x, n, z: x.assume(pf.Int(0, 3)),
        lambda x, n, z: x.cast(pf.UInt(1)),
        lambda x, n, z: x.cast(pf.Real),
        lambda x, n, z: x + z,
        lambda x, n, z: pf.where(x, 1, 0),
        lambda x, n, z: pf.where(x > 0, 1.5, -1.5),
        lambda x, n, z: pf.nand(x > 0, x),
        lambda x, n, z: pf.lookup(x, lambda v: v, choice=[0]),
        lambda x, n, z: np.exp(x),
        lambda x, n, z: np.mean(x, axis=0),
        lambda x, n, z: x.std(),
        lambda x, n, z: x @ [1, 2],
        lambda x, n, z: n[x],
        lambda x, n, z: pf.convolve([[1]], x, (1, 1)),
    ],
)
def test_what_fixed_point_numbers_lack_is_refused_at_its_line(function: Any) -> None:
    with rejects(pf.errors.Error, "test_fixed.py"):
        pf.program(x=F, n=pf.UInt(8), z=pf.Fixed(16, 8, overflow="saturate"))(function)


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ((1, 0), {}),
        ((8, 9), {}),
        ((8, -1), {}),
        ((4097, 1), {}),
        (("8", 1), {}),
        ((8, 1), {"rounding": "up"}),
        ((8, 1), {"overflow": []}),
        ((8, 1), {"signed": 1}),
    ],
)
def test_wrong_types_are_refused(given: Any, options: Any) -> None:
    with rejects(pf.errors.ProgramError, "test_fixed.py"):
        pf.Fixed(*given, **options)


# -- inputs and outputs ---------------------------------------------------------------------------------------------------


@pf.program()
def twice(x: F, wide: pf.Fixed(64, 40, rounding="nearest")):
    """Both doubled."""
    return {"x": x + x, "wide": wide + wide}


def test_outputs_are_floats_or_beyond_53_bits_fractions() -> None:
    found = twice.clear(x=0.1, wide=Fraction(1, 3))
    assert found == {"x": 2 * Fraction(25, 256), "wide": 2 * Fraction(round(Fraction(2**40, 3)), 2**40)}
    assert [type(value) for value in found.values()] == [float, Fraction]
    assert twice.clear(x=np.float64(1.5), wide=Decimal("-0.5")) == {"x": 3, "wide": -1}


@pytest.mark.parametrize("x", [128, -128.5, "1.5", [1.5, 2], math.nan, math.inf, None, 1j, Decimal("1e999999999"), {}])
def test_wrong_inputs_are_refused(x: Any) -> None:
    with rejects(pf.errors.InputError, "'x'"):
        twice.clear(x=x, wide=0)


def test_a_program_within_another_takes_the_same_type_alone() -> None:
    outer = pf.program(x=F, y=pf.Fixed(64, 40, rounding="nearest"))(lambda x, y: twice(x=x + 1, wide=y)["x"])
    assert outer.clear(x=1.5, y=0) == 5
    for other in (pf.SInt(16), pf.Fixed(16, 7), pf.Fixed(16, 8, rounding="zero"), pf.Fixed(16, 8, overflow="refuse")):
        with pytest.raises(pf.errors.ProgramError):
            pf.program(x=other, y=pf.Fixed(64, 40, rounding="nearest"))(lambda x, y: twice(x=x, wide=y))


def test_a_pickle_and_a_specification_keep_the_types() -> None:
    again = pickle.loads(pickle.dumps(twice))
    assert again.inputs == twice.inputs
    assert again.clear(x=1.5, wide=2) == {"x": 3, "wide": 4}
    specification = pf.Specification.from_bytes(pf.Specification.of(twice).to_bytes())
    assert specification.context.shapes.inputs == twice.inputs
    client = pf.Client(specification)
    answer = pf.Server(twice, client.evaluation_key).execute(client.encrypt(x=-0.1, wide=0.25))
    assert client.decrypt(answer) == {"x": 2 * Fraction(-26, 256), "wide": 0.5}


@pytest.mark.parametrize(
    "wrong",
    [
        {"point": 17},
        {"point": -1},
        {"point": 1.5},
        {"point": True},
        {"rounding": "up"},
        {"overflow": 3},
        {"rounding": None},
    ],
)
def test_damaged_types_are_refused(wrong: dict[str, Any]) -> None:
    data = twice.shapes.to_dict()
    assert Shapes.of(data, twice.native).inputs == twice.inputs
    data["integers"]["x"]["fixed"] |= wrong
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Shapes.of(data, twice.native)
    del data["integers"]["x"]["fixed"]["point"]
    with pytest.raises(KeyError):
        Shapes.of(data, twice.native)


def test_batches_are_the_same() -> None:
    program = pf.program(x=pf.Fixed(8, 4), n=pf.UInt(3))(
        lambda x, n: {"product": x * n, "third": x / 3, "less": x < 0.3}
    )
    batch = program.in_batches(3)
    given = {"x": [0.25, -1.5, 7.9375], "n": [0, 7, 1]}
    expected = [program.clear(x=x, n=n) for x, n in zip(*given.values(), strict=True)]
    assert batch.clear(given) == {name: [own[name] for own in expected] for name in expected[0]}
    shapes = batch.shapes.within(dict.fromkeys(batch.shapes.vectors(outputs=True), 1e-6))
    assert batch.shaped(shapes.rounded(batch.native.evaluate(batch.flatten(given)))) == batch.clear(given)


@pytest.mark.full
def test_batches_decrypt_right() -> None:
    kind = pf.Fixed(4, 2, rounding="nearest")
    numbers = [at / 4 for at in range(-8, 8)]
    program = pf.program(x=kind, y=kind)(lambda x, y: (x + y * 0.5, x < 0.3))
    result = program.in_batches(16).run(x=numbers, y=numbers[::-1])
    halves = [fit(Fraction(y) / 2, program.outputs["result0"]) for y in numbers[::-1]]
    sums = [fit(Fraction(x) + half, program.outputs["result0"]) for x, half in zip(numbers, halves, strict=True)]
    assert result.value == (sums, [int(x < 0.3) for x in numbers])
    assert result.correct


SOURCE = """
import polyfabric as pf

@pf.program(x=pf.Fixed(6, 3), wide=pf.Fixed(60, 58).vector(2))
def same(x, wide):
    return {"x": x, "wide": wide}
"""


def test_the_command_line_reads_and_prints_exact_decimal_numbers(tmp_path: Path) -> None:
    file = tmp_path / "same.py"
    file.write_text(SOURCE)
    tiny = Fraction(3, 2**58)
    text = f"{Decimal(3) / Decimal(2**58):f}"
    done = json.loads(
        called(tmp_path, "run", f"{file}:same", "--input", "x=-1.3", "--input", f"wide={text},-1e-1", "--json").out
    )
    assert done["correct"]
    assert done["outputs"]["x"] == -1.375
    assert list(map(Fraction, done["outputs"]["wide"])) == [tiny, Fraction(math.floor(Fraction(-1, 10) * 2**58), 2**58)]
    (tmp_path / "in.json").write_text(json.dumps({"x": 0.125, "wide": done["outputs"]["wide"]}))
    again = json.loads(called(tmp_path, "run", f"{file}:same", "--input", str(tmp_path / "in.json"), "--json").out)
    assert again["outputs"] == {"x": 0.125, "wide": done["outputs"]["wide"]}
    drawn = json.loads(called(tmp_path, "run", f"{file}:same", "--json").out)
    assert list(map(Fraction, drawn["drawn_inputs"]["wide"])) == list(map(Fraction, drawn["outputs"]["wide"]))
