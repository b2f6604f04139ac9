"""The encrypted network equals the clear one, which is accurate enough."""

from __future__ import annotations

import numpy as np
import pytest
from polyfabric.apps.digits import digits
from polyfabric.apps.digits.classify import classify
from polyfabric.apps.digits.data import ascii_art, split
from polyfabric.apps.digits.network import Network, shipped
from polyfabric.apps.digits.train import Recipe, accuracy, augmented, train


def test_at_least_95_percent_of_the_held_out_images_are_right():
    _, held_out = split()
    assert len(held_out) == 449
    assert accuracy(shipped(), held_out) >= 0.95


def test_no_image_is_in_both_halves():
    training, held_out = split()
    assert len(training) + len(held_out) == 1797


def test_sums_are_odd_and_bounded_by_what_a_look_up_carries():
    network = shipped()
    training, held_out = split()
    for data in (training, held_out):
        sums = network.encode(data.images) @ network.hidden_weights.T + network.hidden_bias
        assert (sums % 2 == 1).all()
        assert np.abs(sums).max() <= network.hidden_bound <= 25
    assert str(digits().outputs["scores"]) == "integer[-31..31 by 2] x 10"


def test_the_program_in_the_clear_is_the_network():
    network, (_, held_out) = shipped(), split()
    for image in held_out.images[:20]:
        signs = network.encode(image)
        hidden = network.activations(signs)
        result = digits().clear(pixels=signs)
        assert result == {"hidden": hidden.tolist(), "scores": network.scores(hidden).tolist()}


def test_weights_survive_their_file():
    network = shipped()
    again = Network.from_json(network.to_json())
    assert again.to_json() == network.to_json()


def test_a_file_that_is_not_a_network_is_rejected():
    with pytest.raises(ValueError, match="not a digits network"):
        Network.from_json('{"format": "something else"}')


def test_training_gives_the_same_weights_again():
    recipe = Recipe(epochs=2, dense_epochs=1, copies=0)
    data = augmented(split()[0], recipe, 1)
    first, second = train(data, recipe, 3), train(data, recipe, 3)
    assert first.to_json() == second.to_json()
    assert accuracy(first, data) > 0.3


def test_art_has_the_shape_of_the_image():
    lines = ascii_art(split()[1].images[0])
    assert [len(line) for line in lines] == [16] * 8


@pytest.mark.parametrize("images", [3, pytest.param(50, marks=pytest.mark.full)])
def test_images_on_the_cpu(images):
    done = classify(range(images))
    assert done.encrypted_scores
    assert [image.activations_equal for image in done.images] == [64] * images
    assert done.correct
    assert [image.output for image in done.images] == [image.expected for image in done.images]


@pytest.mark.full
def test_images_by_morphlings_replay():
    """One, of few neurons, is in the tests of the command line."""
    done = classify(range(3), on="morphling")
    assert [image.activations_equal for image in done.images] == [64] * 3
    assert done.correct
    report = done.run.simulation
    assert report is not None
    assert report["saturations"] == 0
    assert sum(report["stalls"].values()) == pytest.approx(report["cycles"])
    assert report["lower_bound_cycles"] <= report["cycles"]
    # Adding 31 activations is beyond the machine's widths: that must be said, with the noise.
    assert not done.encrypted_scores
    assert done.why_not is not None
    assert "noise budget" in done.why_not.reason
    assert done.why_not.log2_failure > -40
