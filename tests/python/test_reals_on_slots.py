"""Real numbers next to integers in batches: do roundings, comparisons and sums decrypt to numpy's, except near borders?"""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.language.lane_shapes import LaneShapes
from rejects import rejects

TOY = "toy-10-lookup"


@pytest.fixture(autouse=True)
def _toy_sets_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pf.errors.SecurityWarning)
        yield


WEIGHTS = np.array([[0.5, -0.25, 0.1], [0.2, 0.3, -0.4]])


def everything(x, k):
    """Every operation on real numbers, and integers from them and to them."""
    mixed = WEIGHTS @ x
    rounded = x.quantize(pf.Int(-4, 4), 0.25)
    return {
        "rounded": rounded,
        "clipped": x[1:].quantize(pf.UInt(2), 0.2),
        "above": mixed > 0.1,
        "below": x < [0.5, -0.5, 0.0],
        "sign": pf.sign(x[0] - x[2]),
        "greatest": x.argmax(),
        "rectified": pf.where(x > 0.1, x, 0.1),
        "many": x[0].quantize(pf.Int(-5, 5), 0.2) * x[1].quantize(pf.Int(-5, 5), 0.2) >> 1,
        "both": pf.where(x[0] > 0.25, rounded[1] + k, k),
        "sum": rounded.sum() * 2 - k,
        "real": rounded.cast(pf.Real) * 0.25 + k.cast(pf.Real),
        "product": x[0] * mixed,
        "linear": pf.concat(mixed, -x, x.mean() + pf.sum(x)) / 2,
    }


def meant(x, k):
    """The same with numpy, for one item."""
    mixed = WEIGHTS @ x
    rounded = np.clip(np.round(x / 0.25), -4, 4).astype(int)
    return {
        "rounded": rounded.tolist(),
        "clipped": np.clip(np.round(x[1:] / 0.2), 0, 3).astype(int).tolist(),
        "above": (mixed > 0.1).astype(int).tolist(),
        "below": (x < [0.5, -0.5, 0.0]).astype(int).tolist(),
        "sign": int(np.sign(x[0] - x[2])),
        "greatest": int(np.argmax(x)),
        "rectified": np.maximum(x, 0.1).tolist(),
        "many": int(np.round(x[0] / 0.2)) * int(np.round(x[1] / 0.2)) >> 1,
        "both": int(rounded[1] + k if x[0] > 0.25 else k),
        "sum": int(rounded.sum() * 2 - k),
        "real": (rounded * 0.25 + k).tolist(),
        "product": (x[0] * mixed).tolist(),
        "linear": (np.concatenate([mixed, -x, [x.mean() + x.sum()]]) / 2).tolist(),
    }


PROGRAM = pf.program(x=pf.Real.vector(3), k=pf.Int(0, 3))(everything)


def drawn(seed: int, batch: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    return draw.uniform(-1, 1, (batch, 3)), draw.integers(0, 4, batch)


def expect_close(found: dict, wanted: dict, close: float) -> None:
    for name, value in wanted.items():
        if name in ("real", "product", "linear", "rectified"):
            np.testing.assert_allclose(found[name], value, atol=close)
        else:
            assert found[name] == value, name


def test_the_clear_program_is_numpys() -> None:
    x, k = drawn(1, 8)
    batch = PROGRAM.in_batches(8, longest_table=16)
    together = batch.clear(x=x, k=k)
    for at in range(8):
        alone = PROGRAM.clear(x=x[at], k=int(k[at]))
        expect_close(alone, meant(x[at], k[at]), 1e-12)
        expect_close({name: values[at] for name, values in together.items()}, alone, 1e-9)


def test_slots_in_the_clear_are_numpys() -> None:
    """The lowering, on exact numbers: no item is near a border."""
    x, k = drawn(2, 60)
    batch = PROGRAM.in_batches(60, longest_table=16)
    shapes = batch.shapes.within(dict.fromkeys(batch.shapes.moduli(outputs=True), 1e-6))
    found = batch.shaped(shapes.rounded(batch.native.evaluate(batch.flatten({"x": x, "k": k}))))
    for at in range(60):
        expect_close({name: values[at] for name, values in found.items()}, meant(x[at], k[at]), 1e-9)


def decided(result: pf.RunResult, batch: int) -> np.ndarray:
    return np.setdiff1d(np.arange(batch), result.undecided)


@pf.program(x=pf.Real.vector(2), k=pf.Int(0, 3))
def small(x, k):
    rounded = x.quantize(pf.Int(-4, 4), 0.25)
    return {
        "rounded": rounded,
        "above": x[0] + x[1] > 0.3,
        "table": pf.lookup(rounded[0], lambda v: v * v % 7) + k,
        "real": rounded[0].cast(pf.Real) * 0.3 + 0.5,
    }


def test_batches_decrypt_to_numpys_numbers() -> None:
    count = 400
    batch = small.in_batches(count)
    draw = np.random.default_rng(3)
    x, k = draw.uniform(-1, 1, (count, 2)), draw.integers(0, 4, count)
    result = batch.run(x=x, k=k, parameters=TOY)
    assert result.correct, result.problem
    near = np.abs(np.abs(x / 0.25 % 1) - 0.5).min(axis=1)
    own = decided(result, count)
    # Borders of the first two outputs; beyond them, all values are numpy's.
    assert 0 < len(result.undecided) < count / 2
    assert near[own].min() > result.plan.border
    rounded = np.clip(np.round(x / 0.25), -4, 4).astype(int)
    np.testing.assert_array_equal(np.array(result.outputs["rounded"])[own], rounded[own])
    np.testing.assert_array_equal(np.array(result.outputs["above"])[own], (x.sum(axis=1) > 0.3)[own])
    np.testing.assert_array_equal(np.array(result.outputs["table"])[own], (rounded[:, 0] ** 2 % 7 + k)[own])
    np.testing.assert_allclose(np.array(result.outputs["real"])[own], rounded[own, 0] * 0.3 + 0.5, atol=1e-2)
    assert json.loads(json.dumps(result.to_dict()))["border"] == result.plan.border
    # Near a border, one of both neighbours comes out for most, and always a value of the type.
    values = np.array(result.outputs["rounded"])
    assert (np.abs(values) <= 4).all()
    assert (np.abs(values - x / 0.25) < 0.7).mean() > 0.95
    assert result.bound["real"] < 0.05
    assert result.error["real"] <= result.bound["real"]


def test_more_than_sixteen_values_are_rounded_to_digits() -> None:
    @pf.program(x=pf.Real.vector(2))
    def program(x):
        y = x.quantize(pf.Int(0, 90), 0.02)
        return y[0] * y[1] % 100, y.sum().cast(pf.Real) / 2

    x = np.random.default_rng(6).uniform(-1, 1, (40, 2))
    batch = program.in_batches(40)
    shapes = batch.shapes.within(dict.fromkeys(batch.shapes.moduli(outputs=True), 1e-6))
    found = batch.shaped(shapes.rounded(batch.native.evaluate(batch.flatten({"x": x}))))
    y = np.clip(np.round(x / 0.02), 0, 90).astype(int)
    assert found["result0"] == (y[:, 0] * y[:, 1] % 100).tolist()
    np.testing.assert_allclose(found["result1"], y.sum(axis=1) / 2)
    assert program.draw().svg
    with rejects(pf.errors.InputError, "0.5"):
        small.in_batches(2).run(x=[[0, 0.1], [0.3, 0.1]], k=[0, 1], flood=0.5, parameters=TOY)


def test_a_gap_takes_more_steps_and_narrows_the_border() -> None:
    count = 300
    x = np.random.default_rng(4).uniform(-1, 1, count)
    wide, narrow = (
        pf.program(x=pf.Real)(lambda x, gap=gap: x.quantize(pf.Int(-8, 8), 0.25, gap=gap)).in_batches(count)
        for gap in (None, 0.003)
    )
    results = [program.run(x=x, parameters=TOY) for program in (wide, narrow)]
    assert results[1].plan.border < results[0].plan.border / 4
    assert len(results[1].undecided) < len(results[0].undecided)
    for result in results:
        own = decided(result, count)
        assert result.correct
        np.testing.assert_array_equal(np.array(result.value)[own], np.round(x / 0.25).astype(int)[own])
    assert results[1].plan.facts["bootstraps"]["in_all"] == results[0].plan.facts["bootstraps"]["in_all"] + 1


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(1, 4))])
def test_random_programs_decrypt_to_numpys(seed: int) -> None:
    draw = np.random.default_rng(seed)
    weights = draw.uniform(-1, 1, (2, 3)).round(2)
    step = float(draw.uniform(0.35, 0.6))
    table = draw.integers(-5, 6, 32)
    threshold = float(draw.uniform(-0.5, 0.5))

    @pf.program(x=pf.Real.vector(3))
    def program(x):
        y = weights @ x
        rounded = y.quantize(pf.Int(-6, 6), step)
        looked = pf.lookup(rounded, lambda value: int(table[value + 6]))
        return looked, looked[0] + looked[1] * (y[0] - x[1] > threshold)

    count = 64
    x = draw.uniform(-1, 1, (count, 3))
    result = program.in_batches(count, longest_table=16).run(x=x, parameters=TOY)
    y = x @ weights.T
    looked = table[np.clip(np.round(y / step), -6, 6).astype(int) + 6]
    own = decided(result, count)
    assert result.correct
    np.testing.assert_array_equal(np.array(result.value[0])[own], looked[own])
    wanted = looked[:, 0] + looked[:, 1] * (y[:, 0] - x[:, 1] > threshold)
    np.testing.assert_array_equal(np.array(result.value[1])[own], wanted[own])


def test_sums_over_a_batch_count_decided_items() -> None:
    program = pf.program(x=pf.Real)(lambda x: {"count": x > 0.2})
    x = np.array([0.9, -0.3, 0.5, 0.1, -1.0, 0.6, 0.0, 1.0])
    result = program.in_batches(8, summed="count").run(x=x, parameters=TOY)
    assert result.value["count"] == 4
    with rejects(pf.errors.ProgramError, "6", "8"):
        program.in_batches(6, summed="count")


def test_the_client_needs_no_program(tmp_path) -> None:
    batch = small.in_batches(4)
    plan = batch.plan(parameters=TOY)
    shapes = plan.context.shapes
    read = LaneShapes.of(json.loads(json.dumps(shapes.to_dict())), "small", batch.slots)
    assert (read.inputs, read.outputs) == (shapes.inputs, shapes.outputs)
    x, k = np.array([[0.1, 0.2], [0.5, -1], [1, 0.25], [-0.5, 0.75]]), [0, 1, 2, 3]
    assert read.flatten({"x": x, "k": k}) == shapes.flatten({"x": x, "k": k})
    steps = batch.in_folder(tmp_path, parameters=TOY)
    steps.make_keys()
    steps.encrypt(x=x, k=k)
    steps.execute()
    assert steps.decrypt().value["rounded"] == np.round(x / 0.25).astype(int).tolist()


def test_an_untrusted_shape_is_refused() -> None:
    data = small.in_batches(4).plan(parameters=TOY).context.shapes.to_dict()
    for damage in (
        {"names": [["x", "y"], ["rounded"]]},
        {"inputs": [["x", 2, 1.0, [["x.0", 0.0], ["x.1", 1.0]]]]},
        {"inputs": [["x", 1 << 40, 1.0, []]]},
        {"inputs": [["x", 2, 1.0, [0.5, 0.5]]]},
        {"outputs": [["real", None, float("nan"), [["real", 1.0]]]]},
    ):
        with pytest.raises((ValueError, TypeError, KeyError)):
            LaneShapes.of({**data, "reals": {**data["reals"], **damage}}, "small", 2)


def test_refusals_give_values_and_a_remedy() -> None:
    def made(function, **kinds):
        return pf.program(**(kinds or {"x": pf.Real}))(function)

    with rejects(pf.errors.ProgramError, "0.001", "256"):
        made(lambda x: x.quantize(pf.Int(0, 9), 0.001))
    with rejects(pf.errors.ProgramError, "33", "16"):
        made(lambda x: x.quantize(pf.Int(0, 9), 1 / 16)).in_batches(2, longest_table=16)
    with rejects(pf.errors.ProgramError, "4.94066e-324"):
        made(lambda x: x.quantize(pf.Int(0, 9), 5e-324))
    for function in (
        lambda x, k: abs(x) > k,
        lambda x, k: (x // 2) + k.cast(pf.Real),
        lambda x, k: pf.max(x, 0.5) > k.cast(pf.Real),
        lambda x, k: pf.chebyshev(x, np.tanh, 7, (-1, 1)) > k.cast(pf.Real),
        lambda x, k: x * 0.5,
    ):
        with rejects(pf.errors.ProgramError, "test_reals_on_slots.py"):
            made(function, x=pf.Real, k=pf.Int(0, 3))
    with rejects(pf.errors.InputError, "program.in_batches(n)"):
        made(lambda x: x > 0).simulate("f1")
    for step in (0, -1.0, float("nan"), "a"):
        with rejects(pf.errors.ProgramError, str(step)):
            made(lambda x, step=step: x.quantize(pf.Int(0, 9), step))
    with rejects(pf.errors.ProgramError, "2"):
        made(lambda x: x > 2)
    with rejects(pf.errors.ProgramError, "pf.Real"):
        made(lambda x, k: x * 2 + k, x=pf.Real, k=pf.UInt(4))
    for mixture in (lambda x, k: k + x, lambda x, k: k * x, lambda x, k: k < x):
        with rejects(pf.errors.ProgramError, "pf.Real"):
            made(mixture, x=pf.Real, k=pf.UInt(4))
    for option in ({"tables": "wide"}, {"lanes": 4}):
        with rejects(pf.errors.ProgramError, "slots"):
            pf.program(x=pf.Real, k=pf.UInt(4), **option)(lambda x, k: (x, k))
    with rejects(pf.errors.ProgramError, "x.quantize"):
        made(lambda x, k: (k, x == 0.5), x=pf.Real, k=pf.UInt(4))
    with rejects(pf.errors.ProgramError, "1e-09"):
        made(lambda x: x.quantize(pf.Int(0, 9), 0.25, gap=1e-9))
    with rejects(pf.errors.ProgramError, "4095", "2048"):
        made(lambda x, k: k.cast(pf.Real) + x, x=pf.Real, k=pf.Int(0, 4095))
    with rejects(pf.errors.InputError, "small.in_batches(n)"):
        small.run(x=[0, 0], k=1)
    with rejects(pf.errors.InputError, "tfhe"):
        small.in_batches(2, scheme="tfhe")
    with rejects(pf.errors.InputError, "1.5", "1"):
        small.in_batches(2).clear(x=[[0, 0], [0, 1.5]], k=[0, 0])
    with rejects(pf.errors.InputError, "2"):
        small.in_batches(2).clear(x=[0, 0.5], k=[0, 0])
    with rejects(pf.errors.InputError, "1.00000001", "1.1"):
        small.in_batches(2).clear(x=[[0, 0], [0, 1.00000001]], k=[0, 0])
    for wrong in ("0.5", None, 1j):
        with rejects(pf.errors.InputError, str(wrong)):
            small.in_batches(2).clear(x=[[0, 0], [0, wrong]], k=[0, 0])
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(small)


def test_a_real_far_below_in_levels_is_refused() -> None:
    """A rounding needs the levels of slots to coefficients, which products after a lookup have used."""

    @pf.program(x=pf.Real)
    def again(x):
        y = x.quantize(pf.Int(-4, 4), 0.25).cast(pf.Real)
        return (y * y).quantize(pf.Int(0, 15), 2.0)

    with pytest.raises(pf.errors.Error):
        again.in_batches(2).plan(parameters=TOY)
