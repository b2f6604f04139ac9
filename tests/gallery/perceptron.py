"""A neural network on a batch of handwritten digits: real weights, and a table."""

import numpy as np
import polyfabric as pf
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

PIXELS, LABELS = load_digits(return_X_y=True)
PIXELS = PIXELS / 16 - 0.5
MODEL = MLPClassifier((12,), alpha=1, max_iter=1000, random_state=0).fit(PIXELS[100:], LABELS[100:])
FIRST, SECOND = MODEL.coefs_
RANGE = 2 * np.abs(MODEL.intercepts_[0]) + np.abs(FIRST).sum(axis=0)
STEP = RANGE.max() / 14
EXACT = (PIXELS @ FIRST + MODEL.intercepts_[0]) / STEP
NEAR = (abs(EXACT % 1 - 0.5) < 0.02).any(axis=1)
"""Digits with a number near a border, which may be rounded either way."""


@pf.program(pixels=pf.Real.bounded(0.5).vector(64))
def scores(pixels):
    hidden = (pixels @ FIRST + MODEL.intercepts_[0]).quantize(pf.UInt(4), STEP, gap=STEP / 60)
    return hidden.cast(pf.Real) @ (STEP * SECOND) + MODEL.intercepts_[1]


program = scores.in_batches(20)
GIVEN = {"pixels": PIXELS[~NEAR][:20]}
CLOSE = 0.02


def clear(pixels):
    hidden = np.clip(np.round((pixels @ FIRST + MODEL.intercepts_[0]) / STEP), 0, 15)
    return STEP * hidden @ SECOND + MODEL.intercepts_[1]
