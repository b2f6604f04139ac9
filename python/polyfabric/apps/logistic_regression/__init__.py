"""Private logistic regression: encrypted probabilities from encrypted measurements of tumours, with CKKS."""

from __future__ import annotations

from functools import cache

import numpy as np

from ...language.numpy_calls import Value
from ...language.slot_functions import chebyshev
from ...language.types import Real
from ...run.runnable_programs import Program, program
from .model import Model, shipped, sigmoid

DEGREE = 31
"""Degree of the polynomial sigmoid."""

STRIDE = 32
"""Slots per row: 30 measurements and two zeros. A power of two, so that five rotations sum a row."""


def build(model: Model, rows: int) -> Program:
    """The program of a model on `rows` rows, all in one ciphertext: slot 32·i of the output is row i's probability."""
    size = STRIDE * rows
    weights = np.zeros(STRIDE)
    weights[: model.features] = model.weights
    first = np.zeros(size)
    first[::STRIDE] = 1 / model.reach

    @program("logistic-regression", scheme="ckks", rows=Real.vector(size))
    def infer(rows: Value) -> Value:
        """Probability that each tumour is benign."""
        sums = rows * np.tile(weights, size // STRIDE)
        for steps in (16, 8, 4, 2, 1):
            sums = sums + sums.rotate(steps)
        # Other slots contain sums across rows; the scaling of logits to [-1, 1] sets them to zero.
        logits = (sums[:size] + model.bias) * first
        return chebyshev(logits, lambda unit: sigmoid(unit * model.reach), DEGREE)

    return infer


@cache
def logistic_regression(rows: int) -> Program:
    """The program of the model that comes with the package."""
    return build(shipped(), rows)
