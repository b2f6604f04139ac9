"""HELR-1024 and sorting are correct on a reduced ring, and the simulation times the same programs."""

from __future__ import annotations

import json
from functools import reduce
from itertools import pairwise
from pathlib import Path

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.accelerators.machine import load
from polyfabric.apps import bitonic_sorting, helr_1024, resnet20
from polyfabric.apps.bitonic_sorting import Stage
from polyfabric.apps.osiris_programs import matrix_vector
from polyfabric.errors import SecurityWarning
from polyfabric.language.slot_program import SlotProgram
from polyfabric.language.slots import SlotValue
from polyfabric.run import repeated_rounds
from polyfabric.run.execution import plan
from rejects import rejects
from test_osiris_networks import folded

EXAMPLES = Path(__file__).parents[2] / "examples"
HELR_SET = "toy-12-boot-osiris"
SORTING_SET = "toy-12-boot-osiris-IV"
SMALL = helr_1024.Batch(samples=64, features=40)


def test_an_iteration_on_encrypted_weights_is_a_step_of_nesterov():
    z, v, w = helr_1024.drawn(SMALL, np.random.default_rng(2))
    with pytest.warns(SecurityWarning):
        done = helr_1024.helr_1024(SMALL).run(helr_1024.packed(SMALL, z, v, w), parameters=HELR_SET)
    assert done.correct
    momentum, weights = helr_1024.unpacked(SMALL, done.outputs["state"])
    expected = helr_1024.step(SMALL, z, v, w)
    # Four times the largest error of many runs, here and below.
    np.testing.assert_allclose([momentum, weights], expected, atol=2.0**-18)
    # The polynomial is near the sigmoid, so that the step is one of logistic regression.
    exact = v + helr_1024.RATE / SMALL.samples * helr_1024.sigmoid(-z @ v) @ z
    np.testing.assert_allclose(weights, exact, atol=0.1)
    assert done.plan.facts["bootstraps"] == {"in_all": 1, "placed": 0}
    assert done.plan.facts["nodes"][-1]["level"] == SMALL.end == 1


def test_the_papers_batch_has_the_papers_sizes():
    batch = helr_1024.Batch()
    assert (batch.slots, batch.blocks, batch.period, batch.end) == (1 << 15, 7, 256, 1)
    z, v, w = helr_1024.drawn(batch, np.random.default_rng(3))
    state = helr_1024.helr_1024(batch).clear(helr_1024.packed(batch, z, v, w))["state"]
    np.testing.assert_allclose(helr_1024.unpacked(batch, state), helr_1024.step(batch, z, v, w), atol=1e-9)


def test_a_value_that_repeats_is_bootstrapped_as_few_slots():
    @pf.program(x=pf.Complex.vector(2048))
    def refresh(x):
        return {"few": x.at_level(0).bootstrap(slots=64), "all": x.at_level(0).bootstrap()}

    generator = np.random.default_rng(4)
    values = np.tile(generator.uniform(-0.7, 0.7, 64) + 1j * generator.uniform(-0.7, 0.7, 64), 32)
    with pytest.warns(SecurityWarning):
        done = refresh.run({"x": values}, parameters=HELR_SET)
    assert done.correct
    assert max(done.error.values()) < 2**-16
    # Slots that do not repeat become their mean.
    mixed = refresh.clear({"x": values / 4 + 0.5 * (np.arange(2048) // 1024)})
    np.testing.assert_allclose(mixed["few"], values / 4 + 0.25)


def test_a_bootstrap_of_too_few_slots_raises_an_error_with_the_slots_that_fit():
    def traced(length, slots):
        @pf.program(slots=2048, x=pf.Complex.vector(length))
        def refresh(x):
            return x.bootstrap(slots=slots)

        return refresh

    with pytest.raises(
        pf.errors.ProgramError, match=r"cannot repeat every 48 slots; give a power of two up to the program.s 2048"
    ):
        traced(2048, 48)
    with rejects(pf.errors.ProgramError, "64"):
        traced(64, 64)


def test_the_network_sorts():
    stages = bitonic_sorting.network(8)
    assert len(stages) == 8 * 9 // 2
    numbers = np.random.default_rng(5).uniform(0, 1, 256)
    expected = np.sort(numbers)
    for stage in stages:
        numbers = bitonic_sorting.compared(numbers, stage)
    np.testing.assert_array_equal(numbers, expected)


def test_the_papers_network_has_105_stages_of_four_kinds():
    stages = bitonic_sorting.network()
    assert len(stages) == 14 * 15 // 2
    for before, after in pairwise(stages):
        assert after.refreshed or after.level == before.end
    # 38 levels a stage, of nine that a bootstrap leaves, are 4.2 bootstraps at least.
    assert 105 * 38 / 9 <= sum(stage.bootstraps for stage in stages) == 472
    kinds = bitonic_sorting.kinds(stages)
    assert sum(count for _, count in kinds) == 105
    assert sum(count * stage.bootstraps for stage, count in kinds) == 472
    assert len(kinds) == 4


def numbers_apart(count: int) -> np.ndarray:
    """Numbers in (0, 1) that lie apart, in no order."""
    return np.random.default_rng(6).permutation((np.arange(count) + 0.5) / count)


@pytest.mark.parametrize("number", [0, -1])
def test_an_encrypted_stage_exchanges(number):
    # Four polynomials tell 64 numbers apart.
    stages = bitonic_sorting.network(6, polynomials=4)
    stage = stages[number]
    program = bitonic_sorting.sorting_stage(stage, 6, 4, gap=2.0**-6)
    numbers = numbers_apart(64)
    with pytest.warns(SecurityWarning):
        done = program.run({"numbers": numbers}, parameters=SORTING_SET)
    assert done.correct
    np.testing.assert_allclose(done.outputs["numbers"], bitonic_sorting.compared(numbers, stage), atol=2.0**-18)
    assert done.plan.facts["bootstraps"] == {"in_all": stage.bootstraps, "placed": 0}
    assert done.plan.facts["nodes"][-1]["level"] == stage.end


def test_a_stage_at_the_papers_size_has_no_bound_and_is_refused():
    """Behind a bootstrap errors are imaginary too, and each polynomial of a sign multiplies those of small numbers: beyond every number by the third bootstrap."""
    stage = bitonic_sorting.network()[1]
    planned = plan(bitonic_sorting.sorting_stage(stage), bitonic_sorting.PAPER_SET, security=0)
    assert planned.bounds() == {"numbers": np.inf}
    with pytest.raises(pf.errors.NoiseError, match='output "numbers" would be only noise'):
        _ = planned.signature


BOOTSTRAP_ERROR = 3.4e-4
"""Deviation of the real and of the imaginary part of what a bootstrapping of the paper's set IV adds to a slot: of 2^16 that were decrypted, whatever they held."""


@pytest.fixture
def erring(monkeypatch):
    """Bootstraps of programs that are traced add errors of that size, drawn."""
    generator = np.random.default_rng(12)

    def bootstrap(value: SlotValue) -> SlotValue:
        real, imaginary = generator.normal(0, BOOTSTRAP_ERROR, (2, value.length))
        return value + (real + 1j * imaginary)

    monkeypatch.setattr(SlotValue, "bootstrap", bootstrap)


def error_of_stages(gap: float = bitonic_sorting.GAP) -> float:
    """The largest of the two stages at the paper's size that are run."""
    numbers = np.random.default_rng(13).uniform(0, 1, 1 << 14)
    expected = reduce(bitonic_sorting.compared, bitonic_sorting.repeated_stages(), numbers)
    found = bitonic_sorting.sorting_stages.__wrapped__(gap).clear({"numbers": numbers})["numbers"]
    return float(np.abs(found - expected).max())


def test_stages_at_the_papers_size_are_right_with_the_errors_of_its_bootstraps(erring):
    # That of the numbers' own bootstrap, and no more.
    assert error_of_stages() < 5 * BOOTSTRAP_ERROR


def test_the_whole_network_sorts_to_seven_bits_with_the_errors_of_its_bootstraps(erring):
    # Errors lead no number beyond what an input may be.
    drawn = np.random.default_rng(14).uniform(0.01, 0.99, 1 << 14)
    numbers = drawn
    for stage in bitonic_sorting.network():
        numbers = np.array(bitonic_sorting.sorting_stage.__wrapped__(stage).clear({"numbers": numbers})["numbers"]).real
    assert np.abs(numbers - np.sort(drawn)).max() < 2.0**-7


def test_polynomials_for_a_small_gap_turn_signs_with_such_errors(erring):
    assert error_of_stages(2.0**-26) > 0.1


def without_real_parts(monkeypatch):
    monkeypatch.setattr(SlotValue, "conjugate", lambda value: value)
    # The real parts are lost in the rewriting, which the reference knows nothing of.
    monkeypatch.setattr(SlotProgram, "reference_values", lambda program, inputs: program.native.evaluate(inputs))


def test_nothing_is_left_of_stages_whose_bootstraps_errors_stay_complex(erring, monkeypatch):
    without_real_parts(monkeypatch)
    with rejects(pf.errors.InputError, "1.8e308"):
        error_of_stages()


def error_of_resnet() -> float:
    """Error of the scores of a network with the paper's polynomials and blocks, but a smaller image and fewer channels, relative to the largest."""
    shape = resnet20.Shape(side=16, channels=(4, 8, 16))
    weights, image = resnet20.Weights.drawn(shape), resnet20.drawn_image(shape, np.random.default_rng(7))
    expected = resnet20.scores(shape, weights, image)
    found = resnet20.network_program("resnet", shape, weights).clear(resnet20.image_input(shape, image))["scores"]
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def test_resnets_scores_are_right_with_the_errors_of_bootstraps(erring, monkeypatch):
    # The reference refuses numbers whose imaginary part is an error.
    monkeypatch.setattr(SlotProgram, "reference_values", lambda program, inputs: program.native.evaluate(inputs))
    assert error_of_resnet() < 2.0**-6


def test_nothing_is_left_of_a_resnet_whose_bootstraps_errors_stay_complex(erring, monkeypatch):
    without_real_parts(monkeypatch)
    with rejects(pf.errors.InputError, "1.8e308"):
        error_of_resnet()


def test_the_stages_that_run_are_those_that_are_timed():
    """A round's body is the stage with a placeholder rotation and meaningless public vectors."""

    def written(amount: int) -> str:
        return f"by {amount - (1 << 14 if amount > 1 << 13 else 0)} at"

    network = bitonic_sorting.sorting()
    for place, stage in enumerate(bitonic_sorting.repeated_stages(), 1):
        own = network.rounds[place]
        timed = network.bodies[own.body].build().text()
        for of_body, of_stage in own.rotations.items():
            assert written(of_body) in timed
            timed = timed.replace(written(of_body), written(of_stage))
        assert timed == bitonic_sorting.sorting_stage(stage).text()
    assert network.count(1) + network.count(2) == 103


def test_twelve_polynomials_tell_close_numbers_apart():
    stage = Stage(2, 1, 30 + 8, False, (), 0)
    program = bitonic_sorting.sorting_stage(stage, 1, gap=bitonic_sorting.GAP)
    apart = 1.5 * bitonic_sorting.GAP
    found = program.clear({"numbers": [0.5 + apart, 0.5]})["numbers"]
    np.testing.assert_allclose(found, [0.5, 0.5 + apart], atol=apart / 100)


def test_stages_are_rounds_of_one_schedule():
    stages = bitonic_sorting.network(6, polynomials=3)
    network = bitonic_sorting.sorting(6, 3, gap=2.0**-6, turn=21)
    assert len(network.bodies) == len(bitonic_sorting.kinds(stages))
    for one, stage in zip(network.rounds, stages, strict=True):
        # A round is its body with the stage's own rotations.
        assert set(one.rotations.values()) <= {stage.distance, 64 - stage.distance}
        assert network.bodies[one.body].bootstraps == stage.bootstraps
    with pytest.warns(SecurityWarning):
        found, alone = folded(network, SORTING_SET)
    report = found.report.to_dict()
    assert report["cycles"] == sum(alone[one.body]["cycles"] for one in network.rounds)
    assert found.to_dict()["rounds"] == len(stages)
    assert found.to_dict()["bootstraps"] == sum(stage.bootstraps for stage in stages)
    # Not each of its rounds is gone through.
    assert found.held_events < report["events"]
    assert report["replayed_events"] <= report["events"]


def test_a_bodys_own_rotation_is_no_other_operations_too():
    # Bootstrapping rotates by two.
    network = bitonic_sorting.sorting(6, 4, gap=2.0**-6, turn=2)
    with (
        pytest.warns(SecurityWarning),
        pytest.raises(pf.errors.MachineError, match="give the body's rotation an amount that nothing else"),
    ):
        repeated_rounds.simulated(network, SORTING_SET, load("osiris"))


def test_a_stage_as_a_body_takes_as_long_as_by_itself():
    machine = load("osiris")
    stage = Stage(16, 2, 9, False, (2,), 5)
    times = []
    for turn in (None, 21):
        program = bitonic_sorting.sorting_stage(stage, 6, 4, 2.0**-6, turn)
        with pytest.warns(SecurityWarning):
            planned = plan(program, SORTING_SET, machine=machine, key_switch="set", security=0)
        times.append(machine.simulate(planned).to_dict()["cycles"])
    # But for a key that bootstrapping may have too.
    assert times[0] == pytest.approx(times[1], rel=0.03)


@pytest.mark.full
def test_the_whole_network_is_timed_and_not_run(polyfabric):
    done = polyfabric("run", "sorting", "--params", bitonic_sorting.PAPER_SET)
    assert done.status != 0
    assert "sorting is a sequence of stages that can only be timed" in done.err
    done = polyfabric("simulate", "sorting", "--on", "osiris", "--steps")
    assert "--steps needs a schedule without loops, but here the rounds of sorting are loops" in done.err
    done = polyfabric("simulate", "sorting", "--on", "osiris", "--security", "200")
    assert "osiris-bootstrap-IV has 128.0 bits of security" in " ".join(done.err.split())
    done = polyfabric("simulate", "sorting", "--on", "osiris", "--schedule", "flat")
    assert "sorting is too long for a schedule without loops; leave --schedule out" in done.err
    done = polyfabric("simulate", "mlp", "--on", "osiris", "--schedule", "flat")
    assert "--schedule applies to programs with repeated rounds (resnet20, sorting)" in done.err


def test_steps_have_the_shortest_schedule_of_those_tried(polyfabric):
    given = (
        "simulate",
        f"{EXAMPLES}/matrix_vector.py:banded",
        "--on",
        "osiris",
        "--params",
        "osiris-I",
        "--steps",
    )
    done = polyfabric(*given, "--json")
    assert done.status == 0, done.err
    (matrix,) = json.loads(done.out)["steps"]
    times = {way["width"]: way["seconds"] for way in matrix["tried"]}
    assert matrix["diagonals"] == 8
    assert len(times) >= 4
    assert times[matrix["width"]] == min(times.values())
    assert "taken" in polyfabric(*given).out


def test_a_program_has_the_time_that_was_found_for_its_matrix():
    machine = load("osiris")
    planned = plan(matrix_vector(4, 8, 8192), "osiris-I", machine=machine, key_switch="set", security=0)
    (matrix,) = planned.facts["steps"]
    least = min(way["seconds"] for way in matrix["tried"])
    # A product alone, as here the program is.
    assert machine.simulate(planned).to_dict()["seconds"] == pytest.approx(least, rel=0.05)
