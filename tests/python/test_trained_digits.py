"""Are the trained models of digits as accurate as is said, and do their programs compute what the models do?"""

from __future__ import annotations

import json

import numpy as np
import pytest
from polyfabric.apps.digits.data import split
from polyfabric.apps.trained_digits import CLASSIFIERS

ACCURACY = {"deepcnn-20-digits": 0.746, "xgboost-digits": 0.933}
"""In the clear, of the held-out images: as docs/morphling.md has it."""


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_program_computes_the_model(name):
    classifier, held_out = CLASSIFIERS[name](), split()[1]
    classes = classifier.clear(held_out.images[:8])
    for image, expected in zip(held_out.images, classes, strict=False):
        outputs = classifier.program.evaluate(classifier.encode(image))
        assert np.argmax(classifier.scores(outputs)) == expected
    assert classifier.accuracy() == pytest.approx(ACCURACY[name], abs=5e-4)


def test_an_image_is_classified_under_encryption(polyfabric):
    done = polyfabric("run", "deepcnn-20-digits", "--image", "3", "--params", "polyfabric-3-p128-t32", "--json")
    assert done.status == 0, done.err
    found = json.loads(done.out)
    assert found["correct"] is True
    assert found["output"] == found["expected"]


def test_what_is_not_for_a_trained_model_is_refused(polyfabric):
    for option in (("--batch", "2"), ("--input", "image=1"), ("--image", "9999"), ("--image", "1", "--images", "2")):
        done = polyfabric("run", "deepcnn-20-digits", *option)
        assert done.status != 0
        assert "Traceback" not in done.err
