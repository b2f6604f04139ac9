"""The reduced twins of Osiris' programs equal independent clear computations, and the residual network is trained."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from polyfabric.apps import bitonic_sorting, helr_1024, osiris_programs, programs
from polyfabric.apps.ckks_bootstrapping import FULL_SET
from polyfabric.apps.f1_programs.execute import execute
from polyfabric.apps.reduced import TWINS, WHOLE
from polyfabric.apps.resnet20 import Weights
from polyfabric.apps.trained_digits import resnet, resnet_train

pytestmark = pytest.mark.filterwarnings("ignore:.*security:UserWarning")


HERE = {
    "helr-1024": 2.0**-17,
    "sorting": 2.0**-20,
    "amortised-products": 2.0**-8,
    "amortised-matrices": 2.0**-16,
}
"""Precision on this computer, relative to the largest number: four times the largest error of fifty runs, each with different numbers and keys. An error is a
sum of thousands of independent ones, and the largest of a run's slots is some four deviations of it, so that none comes so far by chance."""


@pytest.mark.parametrize("name", TWINS)
def test_a_twin_gives_the_answer_in_the_clear(name):
    done = execute(TWINS[name])
    assert done.run.correct
    assert done.correct, (done.error, done.tolerance)
    assert done.error < HERE[name] < done.tolerance
    assert sum(node["op"] == "bootstrap" for node in done.run.plan.facts["nodes"]) >= 1


def _without_last_diagonal(*given):
    entries = DIAGONALS_DRAWN(*given)
    entries[-1] = 0
    return entries


def _other_way(elements, stage):
    """Directions of a network whose last stage keeps the smaller number where the larger one belongs."""
    behind, larger = DIRECTIONS(elements, stage)
    return behind, -larger if stage.distance == 1 and stage.block == elements else larger


def _steeper(degree):
    return COEFFICIENTS(degree) * np.append(np.ones(degree), 0.99)


def _a_product_less(slots):
    return PRODUCTS.__wrapped__(slots, osiris_programs.LEVELS - 1)


def _two_polynomials(log2_elements, _, gap):
    return NETWORK.__wrapped__(log2_elements, 2, gap)


NETWORK = bitonic_sorting.sorting_network
COEFFICIENTS, DIRECTIONS = helr_1024.coefficients, bitonic_sorting.directions
DIAGONALS_DRAWN, PRODUCTS = osiris_programs.diagonals_drawn, osiris_programs.products
WRONG = [
    ("helr-1024", helr_1024, "MOMENTUM", 1.01 * helr_1024.MOMENTUM),
    ("helr-1024", helr_1024, "RATE", 1.01 * helr_1024.RATE),
    ("helr-1024", helr_1024, "coefficients", _steeper),
    ("sorting", bitonic_sorting, "directions", _other_way),
    ("sorting", bitonic_sorting, "sorting_network", _two_polynomials),
    ("amortised-products", osiris_programs, "products", _a_product_less),
    ("amortised-matrices", osiris_programs, "diagonals_drawn", _without_last_diagonal),
    ("amortised-matrices", osiris_programs, "diagonals_drawn", lambda *given: 1.001 * DIAGONALS_DRAWN(*given)),
]
"""For each twin, possible mistakes in its program: the module, the name, and the wrong value."""


CACHED = (helr_1024.helr_1024, NETWORK, PRODUCTS, osiris_programs.matrix_vectors)


@pytest.fixture
def traced():
    """The cache of traced programs, cleared after the test."""
    yield CACHED
    for built in CACHED:
        built.cache_clear()


@pytest.mark.parametrize(("name", "module", "what", "instead"), WRONG)
def test_a_slightly_wrong_program_is_detected(name, module, what, instead, monkeypatch, traced):
    twin = TWINS[name]
    inputs, expected = twin.example(np.random.default_rng(8))
    right = twin.answer(twin.build().clear(inputs))
    largest = np.abs(expected).max()
    assert np.abs(right - expected).max() / largest < HERE[name] / 4
    monkeypatch.setattr(module, what, instead)
    for built in traced:
        built.cache_clear()
    wrong = twin.answer(twin.build().clear(inputs))
    assert np.abs(wrong - expected).max() / largest > 4 * HERE[name]


@pytest.fixture(scope="module")
def classified():
    return resnet.classify([3])


def test_a_digit_is_classified_under_encryption(classified):
    assert classified.correct
    assert [image.output for image in classified.images] == [image.clear for image in classified.images]
    assert max(image.error for image in classified.images) < 2.0**-16.5 < resnet.PRECISION
    assert json.loads(json.dumps(classified.to_dict()))["correct"] is True


def test_other_scores_are_reported(classified):
    first = classified.images[0]
    moved = replace(first, expected=[value + 2 * resnet.PRECISION for value in first.expected])
    assert not replace(classified, images=[moved]).correct


def test_a_slightly_wrong_network_is_detected():
    """A weight of one of its filters is a tenth off."""
    digit = resnet.split()[1].images[0]
    right, weights = resnet.scores(resnet.shipped(), digit), Weights.from_json(resnet.shipped().to_json())
    kernels = weights.blocks[0][1].kernels
    kernels[np.unravel_index(np.abs(kernels).argmax(), kernels.shape)] *= 1.1
    assert np.abs(resnet.scores(weights, digit) - right).max() > 4 * resnet.PRECISION


def test_the_shipped_network_is_trained():
    held_out = resnet.split()[1]
    weights = resnet.shipped()
    assert np.mean(resnet.classes(weights, held_out.images) == held_out.labels) > 0.94
    drawn = Weights.drawn(resnet.SHAPE)
    assert np.mean(resnet.classes(drawn, held_out.images) == held_out.labels) < 0.3
    # A number beyond the rectifier's interval would be refused.
    assert resnet.largest(weights, held_out.images) < resnet.BOUND


def test_weights_come_back_from_their_text():
    weights = Weights.drawn(resnet.SHAPE)
    again = Weights.from_json(weights.to_json())
    for one, other in zip(resnet_train.flat(weights), resnet_train.flat(again), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_the_training_goes_downhill():
    recipe, rectifier = resnet_train.Recipe(punishment=3.0, edge=0.1), resnet.Rectifier(resnet.SHAPE)
    weights = [array.copy() for array in resnet_train.flat(Weights.drawn(resnet.SHAPE))]
    generator = np.random.default_rng(0)
    images, targets = generator.uniform(0, 1, (3, 1, 8, 8)), np.eye(10)[[1, 2, 3]]

    def loss() -> float:
        seen = resnet_train.Pass(weights, images, recipe, rectifier)
        logits = seen.scores * recipe.score
        entropy = np.log(np.exp(logits).sum(1)) - (logits * targets).sum(1)
        beyond = sum((np.maximum(np.abs(sums) - recipe.edge, 0) ** 2).sum() for *_, sums in seen.steps)
        return float(entropy.mean() + recipe.punishment * beyond / 2 / len(images))

    found = resnet_train.Pass(weights, images, recipe, rectifier).gradients(targets)
    step = 1e-5
    for array, gradient in zip(weights, found, strict=True):
        place = tuple(generator.integers(0, size) for size in array.shape)
        array[place] += step
        above = loss()
        array[place] -= 2 * step
        below = loss()
        array[place] += step
        assert gradient[place] == pytest.approx((above - below) / (2 * step), rel=1e-4, abs=1e-6)


STANDS_FOR = {"sorting-stages": 2.0**-20, "resnet20-block": 2.0**-11}
"""Largest deviation of polynomials from exact comparisons and ReLUs, relative to the largest number; other programs only round."""


SLOW = "amortised-matrices"
"""Half a minute in the clear alone; its twin is of the same code."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.full] * (name == SLOW)) for name in WHOLE])
def test_a_whole_program_is_the_one_that_is_timed_and_gives_the_answer_in_the_clear(name):
    whole = WHOLE[name]
    build, parameters = programs.PAPERS[name]
    assert whole.parameters == parameters
    built = whole.build()
    assert built.text() == build(parameters).text()
    inputs, expected = whole.example(np.random.default_rng(4))
    found = whole.answer(built.clear(inputs))
    assert np.abs(found - expected).max() < STANDS_FOR.get(name, 1e-9) * np.abs(expected).max()


def test_the_command_with_the_papers_set_runs_the_whole_program(monkeypatch):
    """A whole program takes a minute, so another one of the same code stands for it, on the reduced ring."""
    command = importlib.import_module("polyfabric.cli.run")
    stands = replace(TWINS["amortised-products"], of=None)
    monkeypatch.setattr(command.run_applications, "WHOLE", {stands.name: stands})

    def run(*options):
        done = CliRunner().invoke(command.run, [stands.name, "--params", stands.parameters, *options])
        assert done.exception is None, done.output
        return done.stdout

    found = json.loads(run("--measure", "--json"))
    assert found["correct"] is True
    assert 0 < found["relative_error"] < found["tolerance"] == stands.tolerance
    assert all("measured" in node for node in found["operations"] if node["op"] == "mul")
    text = run()
    assert "in the clear" in text
    assert "reduced" not in text


@pytest.mark.full
def test_a_whole_program_with_a_useless_bound_is_right(polyfabric):
    """Takes 4 GiB."""
    done = polyfabric("run", "helr-1024", "--params", FULL_SET)
    assert done.status == 2
    assert "would be only noise" in done.err
    done = polyfabric("run", "helr-1024", "--params", FULL_SET, "--measure", "--json")
    assert done.status == 0, done.err
    found = json.loads(done.out)
    assert found["verdict"] == {"state": "bound says nothing"}
    assert found["relative_error"] < found["tolerance"]


@pytest.mark.full
def test_the_command_runs_twins(polyfabric):
    done = polyfabric("run", "resnet20", "--image", "3")
    assert done.status == 0, done.err
    assert "decrypted class   5" in done.out
    assert "reduced" in done.out
    done = polyfabric("run", "sorting")
    assert done.status == 0, done.err
    assert "four numbers" in done.out


@pytest.mark.full
def test_the_bootstrapping_of_f1_runs_on_osiris(polyfabric):
    done = polyfabric("run", "ckks-bootstrapping", "--on", "osiris", "--json")
    assert done.status == 0, done.err
    assert json.loads(done.out)["correct"] is True
