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
SUMS = PIXELS @ FIRST + MODEL.intercepts_[0]


def network(bits):
    """Scores with activations of `bits` bits, and the step of an activation. The largest possible sum takes all but one of their values."""
    step = RANGE.max() / (2**bits - 2)

    @pf.program(pixels=pf.Real.bounded(0.5).vector(64))
    def scores(pixels):
        hidden = (pixels @ FIRST + MODEL.intercepts_[0]).quantize(pf.UInt(bits), step, gap=step / 60)
        return hidden.cast(pf.Real) @ (step * SECOND) + MODEL.intercepts_[1]

    return scores, step


def near(step):
    """Digits with a number near a border, which may be rounded either way."""
    return (abs(SUMS / step % 1 - 0.5) < 0.02).any(axis=1)


def classified(pixels, bits):
    """The scores with numpy."""
    _, step = network(bits)
    hidden = np.clip(np.round((pixels @ FIRST + MODEL.intercepts_[0]) / step), 0, 2**bits - 1)
    return step * hidden @ SECOND + MODEL.intercepts_[1]


BITS = 4
program = network(BITS)[0].in_batches(20)
GIVEN = {"pixels": PIXELS[~near(network(BITS)[1])][:20]}
CLOSE = 0.02


def clear(pixels):
    return classified(pixels, BITS)
