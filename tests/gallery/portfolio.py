"""The variance of an encrypted portfolio under a public covariance matrix."""

import numpy as np
import polyfabric as pf

FACTORS = np.random.default_rng(2).normal(size=(8, 8)) / 4
COVARIANCE = FACTORS @ FACTORS.T


@pf.program(weights=pf.Real.vector(8))
def program(weights):
    return pf.dot(weights, COVARIANCE @ weights)


GIVEN = {"weights": np.array([0.3, 0.1, 0.05, 0.2, 0.1, 0.05, 0.1, 0.1])}


def clear(weights):
    return sum(w * v * c for w, row in zip(weights, COVARIANCE, strict=True) for v, c in zip(weights, row, strict=True))
