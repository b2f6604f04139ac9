"""The slots after a vector's end never harm a result, whether they contain amplified noise or other numbers."""

from __future__ import annotations

import numpy as np
import polyfabric as pf
import pytest

T = 65537
RANDOM = np.random.default_rng(31)
FUNCTIONS = {
    "log": (np.log, (1, 3)),
    "inverse": (lambda u: 1 / u, (0.5, 1)),
    "root": (np.sqrt, (0.25, 1)),
    "negative": (lambda u: 1 / u, (-2, -1)),
}


@pytest.mark.parametrize("length", [5, 10])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_interval_without_0(name, length):
    function, (lo, hi) = FUNCTIONS[name]

    @pf.program(x=pf.Real.bounded(4).vector(length))
    def applied(x):
        values = pf.chebyshev(x, function, 7, (lo, hi))
        return {"vector": values, "total": pf.sum(values)}

    x = RANDOM.uniform(lo, hi, length)
    x[:2] = lo, hi
    done = applied.run({"x": x}, parameters="toy-10", measure=True)
    assert done.correct, (done.error, done.bound)
    assert done.first_beyond is None
    expected = function(x)
    np.testing.assert_allclose(done.outputs["vector"], expected, atol=1e-3)
    np.testing.assert_allclose(done.outputs["total"], expected.sum(), atol=1e-2)


def test_a_high_degree_with_noise_behind_the_end():
    @pf.program(x=pf.Real.vector(10))
    def total_log(x):
        return pf.sum(pf.chebyshev(x + 2, np.log, 31, (1, 3)))

    x = RANDOM.uniform(-1, 1, 10)
    done = total_log.run({"x": x}, measure=True)
    assert done.correct, (done.error, done.bound)
    assert done.first_beyond is None
    assert done.bound["result"] < 1e-4
    assert abs(done.value - np.log(x + 2).sum()) < 1e-4
    # The text form keeps the ends, without other information.
    padded = np.concatenate([x, np.zeros(6)])
    again = pf.Program.parse(total_log.text()).run({"x": padded})
    assert again.correct
    assert abs(again.value[0] - np.log(x + 2).sum()) < 1e-4


@pytest.mark.parametrize("interval", [(-1, 1), (-0.5, 1), (0.5, 1)])
def test_other_numbers_behind_the_end(interval):
    lo, hi = interval

    @pf.program(x=pf.Real.bounded(8).vector(8))
    def of_a_part(x):
        values = pf.chebyshev(x[0:5], lambda u: np.cos(u), 7, interval)
        return {"values": values, "total": pf.sum(values), "twice": 2 * values - 1}

    x = np.concatenate([np.linspace(lo, hi, 5), [8, -8, 8]])
    done = of_a_part.run({"x": x}, parameters="toy-10", measure=True)
    assert done.correct, (done.error, done.bound)
    assert done.first_beyond is None
    expected = np.cos(x[:5])
    np.testing.assert_allclose(done.outputs["values"], expected, atol=1e-3)
    np.testing.assert_allclose(done.outputs["total"], expected.sum(), atol=1e-2)
    # The message quotes the written interval if the part itself leaves it.
    x[3] = 2.5
    with pytest.raises(
        pf.errors.InputError, match=rf"from {lo} to {hi}, but with these inputs slot 3 of its operand is 2.5"
    ):
        of_a_part.run({"x": x}, parameters="toy-10")


def test_an_interval_other_than_the_unit_one_clears_the_end_at_no_level():
    @pf.program(x=pf.Real.bounded(8).vector(8))
    def of_a_part(x):
        return pf.chebyshev(x[0:5], np.cos, 7, (-2, 2))

    @pf.program(x=pf.Real.bounded(8).vector(8))
    def of_all(x):
        return pf.chebyshev(x, np.cos, 7, (-2, 2))

    assert of_a_part.cost()["start_level"] == of_all.cost()["start_level"]


def test_the_sign_and_relu_of_a_part():
    @pf.program(x=pf.Real.bounded(8).vector(8))
    def of_a_part(x):
        part = x[0:5]
        return {"relu": pf.relu(part), "sign": pf.sign(part), "total": pf.sum(pf.relu(part))}

    x = np.array([-1, -0.25, 0.125, 0.5, 1, 8, -7, 6])
    done = of_a_part.run({"x": x})
    assert done.correct, (done.error, done.bound)
    np.testing.assert_allclose(done.outputs["relu"], np.maximum(x[:5], 0), atol=1e-3)
    np.testing.assert_allclose(done.outputs["sign"], np.sign(x[:5]), atol=1e-3)
    np.testing.assert_allclose(done.outputs["total"], np.maximum(x[:5], 0).sum(), atol=1e-3)


def test_slots_behind_an_outputs_end_are_not_compared():
    @pf.program(x=pf.Mod(T).vector(8))
    def part(x):
        return (x * x)[0:5]

    done = part.run({"x": np.arange(8)}, parameters="bgv-2p13-218")
    assert done.correct
    assert done.value == [0, 1, 4, 9, 16]
    wrong = done.plan.program.native.evaluate({"x": list(range(8))})
    wrong["result"][6] += 1
    assert done.plan.errors(wrong, part.native.evaluate({"x": list(range(8))})) == {"result": 0.0}
    wrong["result"][4] += 1
    assert done.plan.errors(wrong, part.native.evaluate({"x": list(range(8))})) == {"result": 1.0}


@pytest.mark.parametrize("length", [5, 8])
def test_polynomials_of_residues(length):
    @pf.program(x=pf.Mod(T).vector(8))
    def of_a_part(x):
        values = pf.polynomial(x[:length], [3, 2, 1])
        return {"values": values, "total": pf.sum(values), "turned": values.rotate(1)}

    x = RANDOM.integers(0, T, 8)
    done = of_a_part.run({"x": x}, parameters="bgv-2p13-218")
    expected = [(3 + 2 * int(v) + int(v) ** 2) % T for v in x[:length]]
    assert done.correct
    assert [v % T for v in done.outputs["values"]] == expected
    assert done.outputs["total"] % T == sum(expected) % T
    row = [*expected, 0, 0, 0][:8]
    assert [v % T for v in done.outputs["turned"]] == [*np.roll(row[:4], -1), *np.roll(row[4:], -1)]
