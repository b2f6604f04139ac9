"""The networks and trees of Strix's and Morphling's applications compute their weights' results, in the clear and encrypted."""

from __future__ import annotations

import json
import re

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.apps.boosted_trees import Forest, classify, xgboost
from polyfabric.apps.deep_nn import TAPS, deep_nn, signs
from polyfabric.apps.networks import deepcnn, vgg9
from polyfabric.papers import strix
from polyfabric.papers.plans import element_plan
from polyfabric.run.execution import place, plan, run_plan


def convolved(kernel, image, stride, padding):
    """The sum over the window of each position, as numpy slices it."""
    padded = np.pad(image, ((padding, padding), (padding, padding), (0, 0)))
    filters, height, width, _ = kernel.shape
    rows = range(0, padded.shape[0] - height + 1, stride)
    columns = range(0, padded.shape[1] - width + 1, stride)
    windows = [[padded[y : y + height, x : x + width] for x in columns] for y in rows]
    return np.array([[[(kernel[f] * w).sum() for f in range(filters)] for w in row] for row in windows])


@pytest.mark.parametrize(("stride", "padding"), [(1, 0), (2, 1), (3, 2)])
def test_convolutions_are_sums_over_windows(stride, padding):
    generator = np.random.default_rng(stride)
    kernel = generator.integers(-3, 4, size=(2, 3, 2, 3))
    image = generator.integers(0, 4, size=(5, 6, 3))

    @pf.program(x=pf.Int(0, 3).vector(90))
    def program(x):
        return pf.convolve(kernel, x, (5, 6, 3), stride=stride, padding=padding, bias=[5, -5])

    expected = convolved(kernel, image, stride, padding) + np.array([5, -5])
    assert program.clear(x=image.reshape(-1)) == expected.reshape(-1).tolist()


def test_one_filter_on_one_channel_needs_no_more_axes():
    kernel, image = np.array([[-1, 0, 1], [-2, 0, 2]]), np.arange(20).reshape(4, 5) % 4

    @pf.program(x=pf.Int(0, 3).vector(20))
    def edges(x):
        return pf.convolve(kernel, x, image.shape)

    expected = convolved(kernel[None, :, :, None], image[:, :, None], 1, 0)
    assert edges.clear(x=image.reshape(-1)) == expected.reshape(-1).tolist()


@pytest.mark.parametrize(
    ("kernel", "shape", "words"),
    [
        (np.ones((1, 3, 3, 2), int), (4, 4, 1), "channels of the image"),
        (np.ones((1, 3, 3, 1), int), (5, 5, 1), "25 elements.* 16"),
        (np.ones((1, 5, 5, 1), int), (4, 4, 1), "use a smaller kernel or more padding"),
    ],
)
def test_invalid_convolutions_are_rejected(kernel, shape, words):
    with pytest.raises(pf.errors.ProgramError, match=words):

        @pf.program(x=pf.Int(0, 1).vector(16))
        def program(x):
            return pf.convolve(kernel, x, shape)


def test_the_shapes_are_the_papers():
    # 6 x 6 x 2, then 368 a layer, then 16.
    lines = [line for line in deepcnn(20).text().splitlines() if " = sign" in line]
    lengths = [int(re.search(r"by 2\] x (\d+)", line).group(1)) for line in lines]
    assert lengths == [72, *[368] * 21, 16]


@pytest.mark.parametrize("depth", strix.DEPTHS)
def test_the_shapes_of_deep_nn_are_the_papers(depth):
    # 2 x 21 x 20, then 92 a layer, and none of them is left out because nothing reads it.
    lines = [line for line in deep_nn(depth).text().splitlines() if " = sign" in line]
    lengths = [int(re.search(r"by 2\] x (\d+)", line).group(1)) for line in lines]
    assert lengths == [840, *[92] * (depth - 1)]
    for dense in (False, True):
        assert element_plan(deep_nn(depth, dense=dense), "strix-II", "after", None).kernel.lookups == sum(lengths)


def test_deep_nn_decrypts_with_the_sets_that_it_is_timed_with():
    accepted = {1024: -15, 2048: -128, 4096: -128}
    for degree, (name, _) in strix.SETS.items():
        planned = element_plan(deep_nn(100), name, "before", None)
        assert json.loads(planned.parameters.to_json())["ring_degree"] == degree
        assert planned.log2_failure < accepted[degree]


def test_rows_of_few_signs_read_every_activation():
    drawn = signs(np.random.default_rng(1), 92, 840, np.arange(840))
    counts = np.count_nonzero(drawn, axis=1)
    assert sorted(counts) == [TAPS] * 86 + [TAPS + 2] * 6
    assert np.abs(drawn).sum(axis=0).min() == 1


def test_a_deep_nn_runs_encrypted():
    network = deep_nn(4, neurons=20, side=12)
    image = np.random.default_rng(3).choice([-1, 1], size=144)
    done = network.run({"image": image})
    assert done.correct
    assert done.lookups == 100


@pytest.mark.parametrize(("machine", "readings"), [("strix", ["twiddle=wide"]), ("fpt", []), ("morphling", [])])
def test_a_deep_nn_runs_on_every_machine_for_elements(machine, readings):
    # A toy ring: with it the replay takes a moment.
    planned = plan(deep_nn(3, neurons=8, side=10), "toy-256", machine=place(machine, readings), max_failure=-100)
    image = np.random.default_rng(4).choice([-1, 1], size=100)
    assert run_plan(planned, {"image": image}, on=machine).correct


def test_a_deep_network_runs_encrypted():
    network = deepcnn(2, filters=4)
    image = np.random.default_rng(1).choice([-1, 1], size=64)
    assert network.run({"image": image}).correct


@pytest.mark.full
def test_a_vgg_network_runs_encrypted():
    network = vgg9(width=2, size=4)
    image = np.random.default_rng(2).choice([-1, 1], size=48)
    assert network.run({"image": image}).correct


def walked(forest, tree, row):
    """The value of the leaf that a row reaches, node by node."""
    node, inner = 0, forest.features.shape[1]
    while node < inner:
        reached = row[forest.features[tree, node]] >= forest.thresholds[tree, node]
        node = 2 * node + (2 if reached else 1)
    return int(forest.values[tree, node - inner])


def test_trees_give_the_leaf_that_is_reached():
    forest = Forest.random(5, 3, seed=3)
    program = classify(forest)
    generator = np.random.default_rng(4)
    for _ in range(50):
        row = generator.integers(0, 32, size=forest.columns)
        assert program.clear(row=row) == [2 * walked(forest, tree, row) for tree in range(5)]
    assert program.run({"row": row}).correct


def test_no_two_nodes_of_the_classifier_ask_the_same():
    forest = Forest.random(100, 6, seed=6)
    assert len(set(zip(forest.features.flat, forest.thresholds.flat, strict=True))) == 6300
    assert xgboost(leaves=False).outputs["result"].length == 6300
