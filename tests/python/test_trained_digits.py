"""The trained models of digits have the stated accuracy, and their programs equal the models."""

from __future__ import annotations

import numpy as np
import pytest
from polyfabric.apps.digits.data import split
from polyfabric.apps.trained_digits import CLASSIFIERS
from polyfabric.apps.trained_digits.classifier import classify
from polyfabric.apps.trained_digits.deep import DeepCnn, Layer, Network

ACCURACY = {"deepcnn-20-digits": 0.746, "xgboost-digits": 0.933}
"""In the clear, of the held-out images: as notes/papers/morphling.md has it."""


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_program_computes_the_model(name):
    classifier, held_out = CLASSIFIERS[name](), split()[1]
    classes = classifier.clear(held_out.images[:8])
    for image, expected in zip(held_out.images, classes, strict=False):
        outputs = classifier.program.clear(classifier.encode(image))
        assert np.argmax(classifier.scores(outputs)) == expected
    assert classifier.accuracy() == pytest.approx(ACCURACY[name], abs=5e-4)


def test_images_are_classified_under_encryption():
    # The trained ones take thousands of lookups; so a layer of two filters, and classes, drawn.
    draw = np.random.default_rng(3)
    weights = draw.choice([-1, 1], (2, 9))
    network = Network((Layer(weights, 3, 2),), draw.choice([-1, 0, 1], (10, 18)))
    done = classify(DeepCnn(network), [3, 5])
    assert done.correct
    assert [image.output for image in done.images] == list(network.scores(split()[1].images[[3, 5]]).argmax(axis=1))


def test_options_that_do_not_apply_to_trained_models_are_rejected(polyfabric):
    for option in (("--batch", "2"), ("--input", "image=1"), ("--image", "9999"), ("--image", "1", "--images", "2")):
        done = polyfabric("run", "deepcnn-20-digits", *option)
        assert done.status != 0
        assert "Traceback" not in done.err
