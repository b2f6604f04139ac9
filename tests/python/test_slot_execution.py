"""CKKS and BGV programs decrypt to the clear results within the predicted bounds."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from math import inf

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.apps.database import database_lookup
from polyfabric.apps.database.store import capitals, columns, key, stride, text
from polyfabric.apps.logistic_regression.infer import infer
from polyfabric.host.memory import limited
from polyfabric.run.execution import plan
from rejects import rejects

T = 65537
RANDOM = np.random.default_rng(7)
MATRIX = RANDOM.uniform(-1, 1, (3, 20)) / 4

pytestmark = pytest.mark.filterwarnings("ignore:.*bits of security:UserWarning")


@pf.program(scheme="ckks", x=pf.Real.vector(20), y=pf.Complex.vector(32))
def real_and_complex(x, y):
    return {
        "product": x * y[:20] + 1,
        "rotated": y.rotate(5) - y.conjugate(),
        "matrix": MATRIX @ x,
        "total": (x * x).sum(),
        "cubic": pf.polynomial(x, [0.5, 0, 0, 0.25]),
        "sine": pf.chebyshev(x, np.sin, 7),
    }


@pf.program(scheme="bgv", v=pf.Mod(T).vector(20), w=pf.Mod(T).vector(20))
def residues(v, w):
    return {"product": v * w - 3, "rotated": v.rotate(2), "dot": pf.dot([1] * 20, v), "rows": v.swap_rows() + w}


def inputs():
    complex_numbers = RANDOM.uniform(-0.7, 0.7, 32) + 1j * RANDOM.uniform(-0.7, 0.7, 32)
    return {"x": RANDOM.uniform(-1, 1, 20), "y": complex_numbers}


@pf.program(x=pf.Real.vector(20))
def moving_average(x):
    state = 0.1 * x[0:1]
    for step in range(1, 20):
        state = 0.9 * state + 0.1 * x[step : step + 1]
    return state


@pf.program(v=pf.Mod(T).vector(4))
def residues_twice(v):
    return 30000 * (20000 * v + 5) - 7


def test_linear_code_is_folded():
    # As written, twenty levels: a factor a step.
    assert plan(moving_average).facts["start_level"] == 1
    x = RANDOM.uniform(-1, 1, 20)
    done = moving_average.run({"x": x}, measure=True)
    assert done.correct
    assert done.first_beyond is None
    np.testing.assert_allclose(
        done.expected["result"], [sum(0.1 * 0.9 ** (19 - i) * x[i] for i in range(1, 20)) + 0.1 * 0.9**19 * x[0]]
    )
    done = residues_twice.run({"v": [1, 2, 3, -4]})
    assert done.correct
    assert done.expected["result"][0] == (30000 * 20005 - 7 + T // 2) % T - T // 2


def steps(x, count):
    for _ in range(count):
        x = 0.5 * x * x + 0.25
    return x


@pf.program(x=pf.Real.vector(16))
def twelve_steps(x):
    return steps(x, 12)


@pf.program(x=pf.Real.vector(16))
def twelve_steps_with_a_bootstrap(x):
    return steps(steps(x, 6).bootstrap(), 6)


def test_bootstraps_are_placed_where_a_program_is_deeper_than_its_set():
    x = RANDOM.uniform(-1, 1, 16)
    done = twelve_steps.run({"x": x}, parameters="toy-11-boot", security=0, measure=True)
    assert done.correct
    assert done.first_beyond is None
    placed = done.plan.facts["bootstraps"]
    assert placed["placed"] == placed["in_all"] == sum(node["op"] == "bootstrap" for node in done.nodes) > 0
    # The author's bootstraps stay, and the compiler adds others.
    own = plan(twelve_steps_with_a_bootstrap, "toy-11-boot", security=0).facts["bootstraps"]
    assert own["in_all"] == own["placed"] + 1
    table = "\n".join(" ".join(row.split()) for row in twelve_steps.cost("toy-11-boot").table().splitlines())
    assert f"bootstraps {placed['in_all']}, {placed['in_all']} placed by the compiler" in table


def rectifiers(count, length=64):
    def deep(x):
        for _ in range(count):
            x = pf.relu(0.9 * x - 0.05) + 0.02
        return x

    def clear(x):
        for _ in range(count):
            x = np.maximum(0.9 * x - 0.05, 0) + 0.02
        return x

    return pf.program("rectifiers", x=pf.Real.vector(length))(deep), clear


@pytest.mark.parametrize(
    ("count", "length"), [(2, 64), *(pytest.param(3, length, marks=pytest.mark.full) for length in (64, 50))]
)
def test_rectifiers_in_a_row_run(count, length):
    program, clear = rectifiers(count, length)
    x = RANDOM.uniform(-1, 1, length)
    done = program.run({"x": x}, parameters="toy-11-boot", security=0, measure=True)
    assert done.correct
    assert done.first_beyond is None
    # x·sign(x) is as steep as it is: what the bootstraps leave grows little.
    assert max(done.bound.values()) < 2**-4
    assert done.bound_for == "any inputs"
    true = clear(x)
    np.testing.assert_allclose(done.value, true, atol=2**-6)
    assert done.distance == {"result": pytest.approx(np.abs(np.asarray(done.value) - true).max(), rel=1e-4)}
    assert 0 < done.distance["result"] < 2**-6


def test_bare_rectifiers_in_a_row_have_a_set_and_run():
    """Their operands reach the end of the interval, where errors lead beyond it."""

    def deep(x):
        return pf.relu(pf.relu(pf.relu(x)))

    program = pf.program("bare", x=pf.Real.vector(64))(deep)
    planned = program.plan()
    assert planned.context.security_bits >= 128
    assert planned.facts["bootstraps"]["placed"] > 0
    assert max(planned.bounds().values()) < 2**-9
    x = np.concatenate([RANDOM.uniform(-1, 1, 60), [1, 1, -1, 2**-7]])
    done = program.run({"x": x}, parameters="toy-11-boot", security=0, measure=True)
    assert done.correct
    assert done.first_beyond is None
    assert done.bound_for == "any inputs"
    assert max(done.bound.values()) < 2**-9
    np.testing.assert_allclose(done.value, np.maximum(x, 0), atol=2**-9)


def test_two_rectifiers_find_a_set_without_a_bootstrap():
    program, _ = rectifiers(2)
    facts = plan(program).facts
    assert facts["bootstraps"]["in_all"] == 0
    assert facts["start_level"] <= 26


def test_three_rectifiers_find_a_set_and_bootstraps():
    facts = plan(rectifiers(3)[0]).facts
    assert facts["parameters"]["security_bits"] >= 128
    assert facts["bootstraps"]["placed"] >= 1
    assert next(node["bound"] for node in facts["nodes"] if node["op"] == "output") < 2**-6


def test_the_distance_from_a_function_is_reported_next_to_that_from_its_polynomial():
    @pf.program(x=pf.Real.vector(10))
    def waves(x):
        rough = pf.chebyshev(x, np.cos, 3, (-2, 2))
        return {"rough": rough, "sum": pf.sum(rough), "exact": pf.polynomial(x, [1.0, 0.0, -0.5])}

    x = np.linspace(-1, 1, 10)
    done = waves.run({"x": x}, parameters="toy-10", security=0)
    assert done.correct
    assert done.error["rough"] < 1e-4 < 1e-2 < done.distance["rough"] < 0.2
    np.testing.assert_allclose(
        done.distance["rough"], np.abs(np.asarray(done.outputs["rough"]) - np.cos(x)).max(), atol=1e-12
    )
    # Behind the end there is nothing that would add to a sum.
    np.testing.assert_allclose(done.distance["sum"], abs(done.outputs["sum"] - np.cos(x).sum()), atol=1e-9)
    assert done.distance["exact"] == done.error["exact"]
    assert done.to_dict()["distance_from_true_functions"] == done.distance
    square = pf.program("square", x=pf.Real)(lambda x: x * x)
    assert square.run({"x": 0.5}, parameters="toy-10", security=0).distance == {}


def test_an_interval_behind_factors_takes_no_level():
    @pf.program(x=pf.Real.vector(8))
    def sine(x):
        return pf.chebyshev(pf.dot(np.linspace(-1, 1, 8), x), np.sin, 15, (-4, 4))

    assert plan(sine).facts["start_level"] == 5
    assert sine.run({"x": np.full(8, 0.5)}).correct
    # The message names the written interval.
    with pytest.raises(
        pf.errors.InputError, match=r"its function from -4 to 4, but with these inputs slot 0 of its operand is 4\.57"
    ):
        sine.run({"x": np.sign(np.linspace(-1, 1, 8))})


@pytest.mark.parametrize("on", ["cpu", "interpreter"])
def test_ckks_decrypts_within_its_bounds(on):
    values = inputs()
    done = real_and_complex.run(values, on=on, parameters="toy-10")
    assert done.correct
    x, y = values["x"], values["y"]
    assert max(done.bound.values()) < 2**-12
    np.testing.assert_allclose(done.outputs["product"], x * y[:20] + 1, atol=1e-4)
    np.testing.assert_allclose(done.outputs["rotated"], np.roll(y, -5) - y.conj(), atol=1e-4)
    np.testing.assert_allclose(done.outputs["matrix"], MATRIX @ x, atol=1e-4)
    np.testing.assert_allclose(done.outputs["total"], x @ x, atol=1e-4)
    np.testing.assert_allclose(done.outputs["sine"], np.sin(x), atol=1e-4)
    assert json.loads(json.dumps(done.to_dict()))["correct"] is True


def test_every_operation_is_measured_and_within_its_bound():
    done = real_and_complex.run(inputs(), parameters="toy-10", measure=True)
    measured = [node for node in done.nodes if "measured" in node]
    assert len(measured) >= len(done.nodes) - len(done.outputs)
    assert done.first_beyond is None
    assert all(0 < node["measured"] <= node["bound"] for node in measured)
    table = done.operations.table()
    assert "test_slot_execution.py" in table
    assert "linear_transform" in table


def test_bgv_is_exact():
    v, w = RANDOM.integers(0, T, (2, 20))
    done = residues.run({"v": v, "w": w}, parameters="bgv-2p13-218", measure=True)
    assert done.correct
    assert [x % T for x in done.outputs["product"]] == [(int(a) * int(b) - 3) % T for a, b in zip(v, w, strict=True)]
    assert done.outputs["dot"] % T == v.sum() % T
    assert all(node["measured"] == 0 for node in done.nodes if "measured" in node)


@pf.program(x=pf.Mod(8), y=pf.Mod(8))
def refreshed(x, y):
    once = (x * y + 3).bootstrap()
    return {"once": once, "twice": (once * x - y).bootstrap()}


@pytest.mark.parametrize(("x", "y"), [(5, 7), (0, 1), (4, 4)])
def test_numbers_modulo_a_power_of_two_are_bootstrapped(x, y):
    done = refreshed.run({"x": x, "y": y}, parameters="bgv-toy-256-bootstrap-t8", measure=True, max_failure=-20)
    assert done.correct
    assert done.outputs["once"] % 8 == (x * y + 3) % 8
    assert done.outputs["twice"] % 8 == ((x * y + 3) * x - y) % 8
    assert all(node["measured"] == 0 for node in done.nodes if "measured" in node)
    after = [node["level"] for node in done.nodes if node["op"] == "bootstrap"]
    before = [node["level"] for node in done.nodes if node["op"] == "input"]
    assert min(after) > max(before)


def test_a_bootstrapping_of_bits_finds_a_secure_set():
    @pf.program(x=pf.Mod(2))
    def refreshed(x):
        return x.bootstrap()

    cost = refreshed.cost()
    assert cost["parameter_set"]["security_bits"] >= 128
    assert cost["parameter_set"]["bootstraps"]
    assert cost["log2_failure"] <= -128


def test_a_set_with_which_a_program_fails_too_often_is_refused_unless_that_is_accepted():
    with pytest.raises(
        pf.errors.NoiseError, match=r"bgv-toy-256-bootstrap-t8 it may fail with probability 2\^-2\d.*max_failure=-2"
    ):
        refreshed.plan("bgv-toy-256-bootstrap-t8")
    accepted = refreshed.plan("bgv-toy-256-bootstrap-t8", max_failure=-20)
    assert -30 < accepted.log2_failure <= -20


@pytest.mark.parametrize(
    ("kind", "function", "message"),
    [
        (pf.Mod(T).vector(4), lambda x: x.bootstrap(), "extracts the digits of one coefficient; declare each number"),
        (pf.Mod(4), lambda x: x + np.ones(2, dtype=int), "combine it with one public integer"),
    ],
)
def test_types_without_slots_are_reported(kind, function, message):
    with pytest.raises(pf.errors.ProgramError, match=message):
        pf.program(x=kind)(function)
    with rejects(pf.errors.ProgramError, "4"):
        pf.Mod(2).vector(4)


def test_cost_is_reported_before_running():
    cost = real_and_complex.cost()
    assert cost["parameter_set"]["security_bits"] >= 128
    assert cost["key_bytes"] == sum(key["bytes"] for key in cost["keys"])
    assert cost["limb_operations"]["ntts"] > 0
    assert cost["start_level"] <= cost["parameter_set"]["levels"]
    assert "error bound" in cost.table()


def test_encrypted_tumours_are_classified_as_in_the_clear():
    done = infer(16, parameters="toy-12")
    assert done.correct
    assert done.right >= 14
    assert done.largest_difference < 0.003


def test_database_in_the_clear_gives_the_table():
    table = capitals()
    width = stride(len(table))
    program = database_lookup(width)
    store = columns(table)
    for code, capital in list(table.items())[::40]:
        found = program.clear(query=key(code), **store)
        assert text([part % T for part in found[::width]]) == capital
    assert text([part % T for part in program.clear(query=key("XX"), **store)[::width]]) == ""


@pytest.mark.parametrize("wrong", [[T - 1], [0xFF00, 0xC3], [-1, 5]])
def test_a_wrong_answer_of_the_database_is_a_text_and_no_traceback(wrong):
    assert text(wrong) not in ("", *capitals().values())


def test_the_database_finds_a_secure_set():
    # Sixteen squarings and a product modulo 65537, whose slots end at N = 2^15: hardly anything of the modulus may go to special primes.
    cost = database_lookup(stride(len(capitals()))).cost()
    assert cost["parameter_set"]["security_bits"] >= 128
    assert cost["log2_failure"] <= -128


def test_exact_programs_get_sets_that_fail_rarely():
    @pf.program(x=pf.Mod(65537).vector(8), y=pf.Mod(65537).vector(8))
    def quartic(x, y):
        return (x * x + y) * (x * y - 3)

    assert quartic.cost()["log2_failure"] <= -128


@pytest.mark.parametrize("code", ["Switzerland", "C", "12"])
def test_a_code_that_is_none(code):
    with rejects(pf.errors.InputError, f"'{code}'", "CH"):
        key(code)


# -- bad input ------------------------------------------------------------------------------------------------------------


HERE = "test_slot_execution.py"


@pf.program(x=pf.Real.vector(16))
def deep(x):
    return x**64


@pf.program(x=pf.Real.vector(16))
def raised(x):
    return (x * x).at_level(1) + x.at_level(1).at_level(3)


@pf.program(x=pf.Real.vector(16))
def by_one(x):
    return x.rotate(1)


@pf.program(x=pf.Real.vector(16))
def by_two(x):
    return x.rotate(2)


@pf.program(x=pf.Real.vector(1024))
def wide(x):
    return x + 1


@pf.program(v=pf.Mod(T).vector(16))
def deep_residues(v):
    return v**64


def test_level_exhausted():
    with rejects(pf.errors.ProgramError, HERE, "%5", "%4", "0", "4", "2"):
        deep.cost("toy-10")


def test_noise_exhausted():
    with rejects(pf.errors.ProgramError, HERE, "%2", "2^68.7", "2^36.0"):
        deep_residues.cost("bgv-2p12-109")


def test_level_raised():
    with rejects(pf.errors.ProgramError, HERE, "%4", "3", "1"):
        plan(raised, "toy-10")


def test_missing_rotation_key():
    keys = pf.Keys.generate(plan(by_one, "toy-10"))
    with rejects(pf.errors.InputError, HERE, "%1", "25", "1"):
        by_two.run({"x": np.zeros(16)}, keys=keys)


def test_too_many_slots():
    with rejects(pf.errors.ProgramError, '"wide"', "1024", "512", "2048"):
        wide.cost("toy-10")


def test_below_the_asked_security():
    with rejects(pf.errors.ParameterError, "by_one", "toy-10", "8.8", "128"):
        by_one.run({"x": np.zeros(16)}, parameters="toy-10", security=128)


def test_memory_that_will_not_fit():
    planned = plan(by_one, "ckks-depth-4")
    with limited(1 << 20), rejects(pf.errors.RunError, "by_one", "57.7 MiB", "ckks-depth-4", "1.0 MiB"):
        planned.check_memory()


def test_unknown_set():
    with rejects(pf.errors.ParameterError, '"ckks-depth-0"', "ckks-depth-1"):
        by_one.cost("ckks-depth-0")


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ({}, ("real x 16",)),
        ({"x": np.zeros(15)}, ("15", "real x 16")),
        ({"x": np.full(16, 2.0)}, ("2", "1", ".bounded(2)")),
        ({"x": np.full(16, np.nan)}, ()),
        ({"x": 1j * np.ones(16)}, ("complex128", "real x 16")),
    ],
    ids=["missing", "length", "bound", "finite", "complex"],
)
def test_input(given, values):
    with rejects(pf.errors.InputError, "by_one", "'x'", *values):
        by_one.clear(given)


@pytest.mark.parametrize(
    ("function", "values"),
    [
        (lambda x: x == 0, ("CKKS",)),
        (lambda x: 1 if x else 0, ()),
        (lambda x: x / x, ()),
        (lambda x: x[99], ("99", "16", "real x 16")),
        (lambda x: x + np.ones(5), ("5", "real x 16")),
        (lambda x: np.ones((2, 3)) @ x, ("2 x 3", "real x 16")),
        (lambda x: x + "1", ("str",)),
        (lambda x: x.swap_rows(), ("CKKS",)),
        (lambda x: pf.chebyshev(x, np.log, 7), ("-1", "1")),
        (lambda x: pf.lookup(x, [1, 2]), ("CKKS",)),
    ],
    ids=[
        "compared",
        "branch",
        "quotient",
        "slot",
        "length",
        "columns",
        "text",
        "rows_of_bgv",
        "finite",
        "lookup",
    ],
)
def test_program(function, values):
    with rejects(pf.errors.ProgramError, HERE, *values):
        pf.program(x=pf.Real.vector(16))(function)


def test_scheme_of_another_type():
    with rejects(pf.errors.ProgramError, HERE, "'x'", "real x 4", "BGV"):
        pf.program(scheme="bgv", x=pf.Real.vector(4))(lambda x: x)


def test_the_sign_of_encrypted_numbers():
    @pf.program(x=pf.Real.vector(64))
    def compared(x):
        return {"sign": pf.sign(x, gap=0.1, degrees=(7, 7)), "relu": pf.relu(x, gap=0.1, degrees=(7, 7))}

    x = np.linspace(-1, 1, 64)
    done = compared.run({"x": x})
    assert done.correct
    far = np.abs(x) >= 0.1
    np.testing.assert_allclose(np.asarray(done.outputs["sign"])[far], np.sign(x[far]), atol=0.02)
    np.testing.assert_allclose(done.outputs["relu"], np.maximum(x, 0), atol=0.06)


@pytest.mark.parametrize("length", [1, 2, 4, 8, 64, 1024])
def test_bootstrapping_restores_levels(length):
    @pf.program(x=pf.Real.vector(length))
    def twice(x):
        # Four levels each, of five that a bootstrapping leaves.
        once = pf.polynomial(x, [0, 0.5, 0, 0.25, 0, 0.125, 0, 0.0625, 0, 0.03])
        return pf.polynomial(once.bootstrap(), [0, 1, 0, -0.25])

    x = RANDOM.uniform(-1, 1, length)
    done = twice.run({"x": x}, parameters="toy-11-boot")
    assert done.correct
    np.testing.assert_allclose(done.value, done.expected["result"], atol=1e-4)


@pytest.mark.parametrize("length", [1, 2, 4, 8, 16])
def test_few_slots_bootstrap_on_the_chosen_set(length):
    def levels(count):
        facts = pf.program(x=pf.Real.vector(count))(lambda x: x.bootstrap()).plan().facts
        assert facts["parameters"]["security_bits"] >= 128
        return [node["level"] for node in facts["nodes"] if node["op"] == "bootstrap"]

    # Levels that the transforms do not take are left to the result.
    assert min(levels(length)) >= min(levels(1024))


def test_the_bound_of_a_bootstrapping_follows_its_message():
    """One coefficient has all of a vector of equal slots: the sine errs by the cube of its size."""

    def refreshed(largest):
        return pf.program(x=pf.Real.bounded(largest).vector(64))(lambda x: x.bootstrap())

    done = refreshed(4).run({"x": np.full(64, 4.0)}, parameters="toy-11-boot")
    assert done.correct
    assert (done.bound_for, done.bound["result"] < 4) == ("any inputs", True)
    # What was the bound of every message, up to 1.
    assert done.error["result"] > refreshed(1).run({"x": np.full(64, 1.0)}, parameters="toy-11-boot").bound["result"]


def test_a_bound_that_says_nothing_is_that_of_the_inputs_given():
    @pf.program(x=pf.Real.bounded(1000).vector(64))
    def powers(x):
        return x**16

    done = powers.run({"x": np.linspace(-1, 1, 64)}, parameters="toy-10", measure=True)
    assert done.correct
    assert done.first_beyond is None
    assert powers.cost("toy-10").to_dict()["nodes"][-1]["bound"] > 1
    assert (done.bound_for, done.bound["result"] < 1e-4) == ("these inputs", True)


def test_a_set_without_bootstrapping_says_so():
    @pf.program(x=pf.Real.vector(64))
    def refreshed(x):
        return x.bootstrap()

    with pytest.raises(pf.Error, match="bootstrapping"):
        refreshed.run({"x": np.zeros(64)}, parameters="toy-10")


def refreshing():
    @pf.program(x=pf.Real.vector(16))
    def refreshed(x):
        return x.bootstrap() * x

    return refreshed


@pytest.mark.parametrize("parameters", ["toy-11-boot", "toy-11-boot-dense"])
def test_bootstrapping_keys_come_back_from_their_files(parameters, tmp_path):
    refreshed, x = refreshing(), np.linspace(-1, 1, 16)
    done = refreshed.run({"x": x}, parameters=parameters)
    assert done.correct
    done.keys.save(tmp_path)
    keys = pf.Keys.load(tmp_path)
    assert (keys.parameters.name, keys.server.bytes) == (parameters, done.keys.server.bytes)
    again = refreshed.run({"x": x}, keys=keys)
    assert again.correct
    # Saved again, they are the same files.
    keys.save(tmp_path / "again")
    for name in ("client.key", "server.key"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / name).read_bytes()
    # Keys of a program without bootstraps are refused before encryption.
    squared = pf.program(x=pf.Real.vector(16))(lambda x: x * x)
    fewer = squared.run({"x": x}, parameters=parameters).keys
    with rejects(pf.errors.InputError, "%1"):
        refreshed.run({"x": x}, keys=fewer)


@pytest.mark.parametrize("name", ["client.key", "server.key"])
def test_damaged_bootstrapping_keys_are_refused(name, tmp_path):
    refreshed = refreshing()
    refreshed.run({"x": np.zeros(16)}, parameters="toy-11-boot").keys.save(tmp_path)
    whole = (tmp_path / name).read_bytes()
    places = np.random.default_rng(4).integers(0, len(whole), 40)
    damaged = [whole[:place] for place in places[:20]]
    damaged += [whole[:place] + bytes([whole[place] ^ 0x20]) + whole[place + 1 :] for place in places]
    damaged += [b"", whole + b"\0", whole[len(whole) // 2 :]]
    for content in damaged:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(pf.errors.FileError, match=name):
            pf.Keys.load(tmp_path)


@pytest.mark.parametrize("scheme", ["ckks", "bgv"])
def test_keys_come_back_from_their_files(scheme, tmp_path):
    kind = pf.Real if scheme == "ckks" else pf.Mod(T)

    @pf.program(x=kind.vector(16))
    def squared(x):
        return x * x + x.rotate(1)

    x = np.arange(16) if scheme == "bgv" else np.linspace(-1, 1, 16)
    parameters = "toy-10" if scheme == "ckks" else None
    done = squared.run({"x": x}, parameters=parameters)
    done.keys.save(tmp_path)
    assert (tmp_path / "client.key").stat().st_mode & 0o777 == 0o600
    keys = pf.Keys.load(tmp_path, scheme)
    assert keys.parameters.name == done.parameters
    assert squared.run({"x": x}, keys=keys).correct
    other = "bgv" if scheme == "ckks" else "ckks"
    with rejects(pf.errors.FileError, scheme.upper(), other.upper()):
        pf.Keys.load(tmp_path, other)


def test_noise_for_others_is_in_the_outputs_alone():
    @pf.program(x=pf.Real.vector(16))
    def cubed(x):
        return x * x * x

    with pytest.warns(pf.errors.SecurityWarning, match="carries flooding noise"):
        done = cubed.run({"x": np.linspace(-1, 1, 16)}, flood=1e-3, measure=True)
    assert done.correct
    assert done.first_beyond is None
    assert done.error["result"] > 1e-5


def test_a_warning_is_of_the_users_line():
    @pf.program(x=pf.Real.vector(16))
    def turned(x):
        return x.rotate(1)

    with pytest.warns(pf.errors.SecurityWarning) as found:
        turned.run({"x": np.zeros(16)}, parameters="toy-10")
    assert found[0].filename == __file__


def test_published_outputs_have_noise_and_a_warning():
    @pf.program(x=pf.Real.vector(16))
    def turned(x):
        return x.rotate(1)

    x = np.linspace(-1, 1, 16)
    own = turned.run({"x": x})
    keys = own.keys
    with pytest.warns(pf.errors.SecurityWarning, match="contains the encryption noise"):
        bare = turned.run({"x": x}, keys=keys, flood=0)
    assert bare.bound == own.bound
    with pytest.warns(pf.errors.SecurityWarning, match=r"carries flooding noise .* \d+ bits of statistical security"):
        shared = turned.run({"x": x}, keys=keys, flood=1e-3)
    assert shared.correct
    # Each of 16 numbers has at most a hundredth of the deviation with a probability of 1e-4, and more than the bound allows with 2^-44.
    assert 1e-5 < shared.error["result"] <= shared.bound["result"] < 1e-2
    assert own.error["result"] < 1e-6


@pytest.mark.parametrize(("kind", "share"), [(pf.Real, 0.5**0.5), (pf.Complex, 1.0)], ids=["real", "complex"])
def test_noise_for_others_has_the_deviation_that_the_page_on_ckks_says(kind, share):
    """Error of the complex number in every slot; a real output has its real part."""
    program = pf.program(x=kind.vector(4096))(lambda x: x + x)
    with pytest.warns(pf.errors.SecurityWarning, match="carries flooding noise"):
        done = program.run({"x": np.zeros(4096)}, flood=1e-3)
    assert np.std(done.value) == pytest.approx(share * 1e-3, rel=0.06)


@pytest.mark.parametrize(
    ("kind", "flood", "values"),
    [
        (pf.Real, -1.0, ("flood=-1.0",)),
        (pf.Real, math.nan, ("flood=nan",)),
        (pf.Real, 1e-30, ("flood=1e-30", "0")),
        (pf.Mod(65537), 0.5, ("BGV",)),
    ],
)
def test_noise_that_is_none_is_refused(kind, flood, values):
    program = pf.program(x=kind)(lambda x: x + 1)
    with rejects(pf.Error, *values):
        program.run({"x": 1}, flood=flood)


@pytest.mark.parametrize(("kind", "name"), [(pf.Real, "bgv-2p13-218"), (pf.Mod(65537), "ckks-depth-1")])
def test_a_named_set_of_the_other_scheme(kind, name):
    same = pf.program(x=kind.vector(8))(lambda x: -x)
    with rejects(pf.errors.ParameterError, name, "BGV", "CKKS"):
        same.cost(parameters=name)


def faint(factor: float) -> pf.Program:
    """Numbers of that size, and with toy-10 an error that does not depend on it."""
    return pf.program("faint", x=pf.Real.vector(64))(lambda x: factor * x)


def test_what_by_its_bound_is_all_error_runs_where_errors_are_measured():
    """Numbers a little smaller than the bound of their error, which is ten and more times the largest that is seen."""
    x = np.linspace(-1, 1, 64)
    bound = plan(faint(0.5), "toy-10", security=0).bounds()["result"]
    program = faint(0.9 * bound)
    with rejects(pf.errors.NoiseError, '"result"', "measure=True"):
        program.run({"x": x}, parameters="toy-10")
    done = program.run({"x": x}, parameters="toy-10", measure=True)
    assert done.verdict == {"result": "bound says nothing"}
    assert 0 < done.error["result"] < 0.9 * bound < done.bound["result"]
    assert all("measured" in node for node in done.nodes if node["op"] != "output")
    assert (done.correct, done.within_bounds, done.first_beyond) == (False, True, None)
    assert done.to_dict()["verdict"] == done.verdict
    assert done.to_dict()["problem"] in repr(done)
    for figure in (done.bound["result"], np.abs(done.expected["result"]).max(), done.error["result"]):
        assert f"{figure:.1e}" in done.problem
    # Of numbers that are a thousandth of that nothing is left indeed.
    lost = faint(1e-3 * bound).run({"x": x}, parameters="toy-10", measure=True)
    assert 1e-3 * bound < lost.error["result"] <= lost.bound["result"]
    assert (lost.verdict, lost.correct) == (done.verdict, False)


def test_numbers_that_are_smaller_than_their_error_are_not_correct():
    done = faint(0.5).run({"x": np.full(64, 1e-12)}, parameters="toy-10")
    assert 1e-12 < done.error["result"] <= done.bound["result"]
    assert (done.verdict, done.correct) == ({"result": "bound says nothing"}, False)
    zeros = faint(0.5).run({"x": np.zeros(64)}, parameters="toy-10")
    assert (zeros.verdict, zeros.problem, zeros.correct) == ({"result": "correct"}, None, True)


def test_a_zero_whose_error_may_exceed_the_inputs_is_not_correct():
    """The clear program rounds here too, so its result has no correct digit either."""
    for program in (lambda x: (x + 1e20) - 1e20, lambda x: (x * x + 1e15) * 0.5 - 0.5e15):
        done = pf.program(x=pf.Real.vector(4))(program).run({"x": [0.1, 0.2, 0.3, 0.35]})
        assert done.error["result"] <= done.bound["result"]
        assert done.bound["result"] > 1
        assert (done.verdict, done.correct) == ({"result": "bound says nothing"}, False)


def test_a_step_is_not_measured(tmp_path):
    with rejects(pf.errors.InputError, "measure=True"):
        faint(0.5).in_folder(tmp_path, parameters="toy-10", measure=True).make_keys()
    assert list(tmp_path.iterdir()) == []


def test_a_bound_as_large_as_the_values_is_not_correct(polyfabric, tmp_path):
    """Large declared inputs, small given ones: the bound for those given still exceeds the values, and the error is far below them."""
    text = "import polyfabric as pf\n\n@pf.program(x=pf.Real.bounded(1000).vector(64))\ndef powers(x):\n    return 1e-6 * x**4\n"
    (tmp_path / "powers.py").write_text(text)
    (tmp_path / "x.json").write_text(json.dumps({"x": [0.2] * 64}))
    done = polyfabric("run", "powers.py:powers", "--params", "toy-10", "--input", "x.json", "--json")
    data = json.loads(done.out)
    size, bound, error = data["expected"]["result"][0], data["bound"]["result"], data["error"]["result"]
    assert error < size / 2 < bound / 2
    assert (done.status, data["correct"], data["bound_for"]) == (1, False, "these inputs")
    assert data["verdict"] == {"result": "bound says nothing"}
    shown = polyfabric("run", "powers.py:powers", "--params", "toy-10", "--input", "x.json")
    assert (shown.status, f"{bound:.1e}" in shown.out, f"{size:.1e}" in shown.out) == (1, True, True)


def test_a_result_off_by_more_than_its_bound_says_so():
    done = faint(0.5).run({"x": np.linspace(-1, 1, 64)}, parameters="toy-10")
    off = replace(done, error={"result": 2 * done.bound["result"]})
    assert (done.verdict, done.correct) == ({"result": "correct"}, True)
    assert (off.verdict, off.correct, off.within_bounds) == ({"result": "not within bound"}, False, False)
    assert f"{off.error['result']:.1e}" in off.problem
    # A bound beyond the largest number says nothing of zeros either.
    endless = replace(done, bound={"result": inf}, expected={"result": [0.0] * 64})
    assert endless.verdict == {"result": "bound says nothing"}


def test_a_run_in_steps_is_judged_as_a_whole_run(tmp_path):
    @pf.program(x=pf.Real.bounded(1000).vector(64))
    def powers(x):
        return x**4

    x = {"x": np.linspace(-1, 1, 64)}
    whole = powers.run(x, parameters="toy-10")
    powers.in_folder(tmp_path, parameters="toy-10").make_keys()
    powers.in_folder(tmp_path).encrypt(x)
    powers.in_folder(tmp_path).execute()
    done = powers.in_folder(tmp_path).decrypt()
    assert (whole.bound_for, whole.correct, done.correct) == ("these inputs", True, True)
    # As for a public key, which inputs may have been encrypted with.
    assert whole.bound["result"] < done.bound["result"] < 1e-6 < powers.plan("toy-10", security=0).bounds()["result"]
    noted = json.loads((tmp_path / "expected.json").read_text())
    noted["values"]["result"][0] = [0.0] * 64
    (tmp_path / "expected.json").write_text(json.dumps(noted))
    other = powers.in_folder(tmp_path).decrypt()
    assert (other.correct, other.verdict) == (False, {"result": "not within bound"})
