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
        {"inputs": [["x", [2], 1.0, [["x.0", 0.0], ["x.1", 1.0]]]]},
        {"inputs": [["x", [1 << 40], 1.0, []]]},
        {"inputs": [["x", [1 << 20, 1 << 20], 1.0, []]]},
        {"inputs": [["x", [1, 1, 2], 1.0, [["x.0", 1.0], ["x.1", 1.0]]]]},
        {"inputs": [["x", [2], 1.0, [0.5, 0.5]]]},
        {"outputs": [["real", [], float("nan"), [["real", 1.0]]]]},
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
    with rejects(pf.errors.ProgramError, "5e-324"):
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
    with rejects(pf.errors.ProgramError, ">", "9.99989e-321"):
        made(lambda x: x * 1e-320 > 0)
    with rejects(pf.errors.ProgramError, "15", "pf.Real.bounded(3)"):
        made(lambda x, k: (x > 0, k.cast(pf.Real.bounded(3))), x=pf.Real, k=pf.Int(0, 15))
    with rejects(pf.errors.ProgramError, "chebyshev", "x[i]"):
        made(lambda x: pf.sum(pf.chebyshev(v, np.tanh, 7, (-1, 1)) for v in x), x=pf.Real.vector(3))
    with rejects(pf.errors.ProgramError, "x[i]"):
        made(lambda x: sum(v * v for v in x), x=pf.Real.vector(3))


def test_numbers_beyond_floats_are_refused_at_their_line() -> None:
    def function(x, n):
        y = x * 2
        return y * y > 3, n

    line = function.__code__.co_firstlineno + 2
    with warnings.catch_warnings(), rejects(pf.errors.ProgramError, f"test_reals_on_slots.py:{line}"):
        warnings.simplefilter("error")
        pf.program(x=pf.Real.bounded(1e200), n=pf.UInt(3))(function)


def test_numbers_that_became_real_are_rounded_again() -> None:
    """A rounding needs the levels of slots to coefficients, which products after a lookup have used: a set with levels between is chosen."""

    @pf.program(x=pf.Real)
    def again(x):
        y = x.quantize(pf.Int(-4, 4), 0.25).cast(pf.Real)
        return (y * y).quantize(pf.Int(0, 15), 2.0), y * y * 0.5 > 1.2

    with rejects(pf.errors.ProgramError, "level"):
        again.in_batches(2).plan(parameters=TOY)
    batch = again.in_batches(40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert batch.plan().facts["parameters"]["security_bits"] >= 128
    # The set that is chosen, on a small ring.
    own = pf.SlotParameters.of(
        "ckks",
        name="small-levels",
        ring_degree=1024,
        q=[
            {"bits": 36},
            {"bits": 34, "count": 3},
            {"bits": 36, "count": 7},
            {"bits": 40, "count": 8},
            {"bits": 33, "count": 3},
        ],
        p=[{"bits": 40, "count": 5}],
        gadget={"hybrid": {"digit_limbs": 4}},
        scale_log2=34,
        secret={"sparse-ternary": 128},
        noise_std=3.2,
        ephemeral_weight=32,
        bootstrap={
            "order": "slim",
            "method": {"tables": {"levels": 4}},
            "coefficients_to_slots": 3,
            "slots_to_coefficients": 3,
            "range": 17,
            "degree": 31,
            "doublings": 3,
        },
    )
    x = np.random.default_rng(8).uniform(-1, 1, 40)
    result = batch.run(x=x, parameters=own, security=0)
    assert result.correct, result.problem
    kept = decided(result, 40)
    assert len(kept) > 8
    y = np.round(x / 0.25)
    np.testing.assert_array_equal(np.array(result.value[0])[kept], np.round(y * y / 2).astype(int)[kept])
    np.testing.assert_array_equal(np.array(result.value[1])[kept], (y * y * 0.5 > 1.2)[kept])


def test_a_table_of_rounded_numbers_takes_no_lookup_more() -> None:
    """With 255 entries and large jumps, a table of the rounded numbers would be wrong; so the rounding reads it itself."""
    entries = np.random.default_rng(9).integers(0, 255, 255)

    @pf.program(x=pf.Real)
    def tabled(x):
        k = x.quantize(pf.Int(-127, 127), 1 / 127)
        return pf.lookup(k, lambda value: int(entries[value + 127])), k == 5, k - 3

    batch = tabled.in_batches(300)
    x = np.random.default_rng(10).uniform(-1, 1, 300)
    result = batch.run(x=x, parameters="toy-10-lookup-256")
    assert result.correct, result.problem
    kept = decided(result, 300)
    k = np.round(x * 127).astype(int)
    assert len(kept) > 250
    for found, wanted in zip(result.value, (entries[k + 127], k == 5, k - 3), strict=True):
        np.testing.assert_array_equal(np.array(found)[kept], wanted[kept])
    # One bootstrapping to round, and one for all tables.
    assert result.plan.facts["bootstraps"]["in_all"] == 2


def test_a_pickled_batch_rounds_as_before() -> None:
    @pf.program(x=pf.Real.matrix(2, 2), k=pf.Int(0, 3))
    def program(x, k):
        rounded = x[0].quantize(pf.Int(-4, 4), 0.25)
        return {
            "table": pf.lookup(rounded[0], lambda v: v * v % 7) + k,
            "real": rounded[0].cast(pf.Real) * 0.3 + x,
            "again": (rounded.cast(pf.Real) * 0.1 + x[1]).sum() > 0.2,
        }

    draw = np.random.default_rng(11)
    x, k = draw.uniform(-1, 1, (20, 2, 2)), draw.integers(0, 4, 20)
    batch = program.in_batches(20)
    own = batch.flatten({"x": x, "k": k})
    for restored in (pickle.loads(pickle.dumps(batch)), pickle.loads(pickle.dumps(program)).in_batches(20)):
        assert (restored.inputs, restored.outputs) == (batch.inputs, batch.outputs)
        found, wanted = restored.reference_at(own), batch.reference_at(own)
        assert found[0]["table"] == wanted[0]["table"]
        assert found[0]["again"] == wanted[0]["again"]
        np.testing.assert_allclose(found[0]["real"], wanted[0]["real"])
        np.testing.assert_allclose(found[2], wanted[2])
    assert pickle.loads(pickle.dumps(batch)).text() == batch.text()
    kind, data = batch.__reduce__()[1]
    for damage in ({"steps": [(7, 7)]}, {"steps": [("x", "y", "z")]}, {"inputs": {"x": [[1 << 40], 1.0]}}):
        with pytest.raises(pickle.UnpicklingError):
            batch.__reduce__()[0](kind, {**data, "reals": {**data["reals"], **damage}})


WIDE = np.arange(6).reshape(3, 2) / 10


@pf.program(x=pf.Real.matrix(2, 3))
def matrices(x):
    return {
        "above": next(row > 0.1 for row in x),
        "right": x @ WIDE,
        "left": WIDE @ x,
        "own": x @ x.T,
        "vector": x @ [1, 2, 3],
        "row": x[0] @ x.T,
        "transposed": x.T,
        "columns": x.sum(axis=0),
        "rows": np.mean(x, axis=1),
        "all": x.sum(),
        "reshaped": x.reshape(3, 2)[1:],
        "listed": [x[0] * 2, x[1]],
        "broadcast": x + np.array([1, 2, 3]),
        "rounded": x[:, 0].quantize(pf.Int(0, 4), 0.25),
        "joined": pf.concat(x, x[:1]),
    }


def of_matrices(x):
    return {
        "above": x[0] > 0.1,
        "right": x @ WIDE,
        "left": WIDE @ x,
        "own": x @ x.T,
        "vector": x @ [1, 2, 3],
        "row": x[0] @ x.T,
        "transposed": x.T,
        "columns": x.sum(axis=0),
        "rows": x.mean(axis=1),
        "all": x.sum(),
        "reshaped": x.reshape(3, 2)[1:],
        "listed": np.array([x[0] * 2, x[1]]),
        "broadcast": x + np.array([1, 2, 3]),
        "rounded": np.clip(np.round(x[:, 0] / 0.25), 0, 4),
        "joined": np.concatenate([x, x[:1]]),
    }


def test_matrices_of_real_numbers_are_numpys() -> None:
    x = np.random.default_rng(12).uniform(-1, 1, (6, 2, 3))
    batch = matrices.in_batches(6)
    clear = batch.clear(x=x)
    result = batch.run(x=x, parameters=TOY)
    assert result.correct, result.problem
    for at in range(6):
        alone = matrices.clear(x=x[at])
        for name, wanted in of_matrices(x[at]).items():
            np.testing.assert_allclose(alone[name], wanted, atol=1e-9, err_msg=name)
            np.testing.assert_allclose(clear[name][at], wanted, atol=1e-9, err_msg=name)
            if at not in result.undecided:
                np.testing.assert_allclose(result.value[name][at], wanted, atol=1e-2, err_msg=name)
    with rejects(pf.errors.InputError, "2 x 3"):
        matrices.clear(x=np.zeros((3, 2)))
    with rejects(pf.errors.InputError, "6", "2 x 3"):
        batch.clear(x=np.zeros((6, 3, 2)))
    for function in (lambda x: x > 0, lambda x: x.argmax(), lambda x: x.quantize(pf.Int(0, 3))):
        with rejects(pf.errors.ProgramError, "2 x 3", "x.reshape(-1)"):
            pf.program(x=pf.Real.matrix(2, 3))(function)
    for function in (
        lambda x: x @ x,
        lambda x: x[5],
        lambda x: x + np.array([1, 2]),
        lambda x: x.reshape(4, 2),
        lambda x: x.sum(axis=2),
    ):
        with pytest.raises(pf.errors.ProgramError):
            pf.program(x=pf.Real.matrix(2, 3), k=pf.Int(0, 1))(lambda x, k, function=function: (function(x), k))


def test_vectors_of_real_numbers_are_iterated() -> None:
    program = pf.program(x=pf.Real.vector(3))(lambda x: sum((v > 0) * 1 for v in x))
    assert program.in_batches(2).clear(x=[[0.5, -0.5, 0.2], [-1, -1, 1]]) == [2, 1]


def test_steps_in_a_folder_know_undecided_items(tmp_path) -> None:
    batch = small.in_batches(30)
    draw = np.random.default_rng(13)
    x, k = draw.uniform(-1, 1, (30, 2)), draw.integers(0, 4, 30)
    x[0] = 0.125
    steps = batch.in_folder(tmp_path, parameters=TOY)
    steps.make_keys()
    steps.encrypt(x=x, k=k)
    steps.execute()
    done = steps.decrypt()
    assert done.correct, done.problem
    assert 0 in done.undecided
    assert done.to_dict()["undecided"] == list(done.undecided)
    assert 0 < done.error["real"] < done.bound["real"]
