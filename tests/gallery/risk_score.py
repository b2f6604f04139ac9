"""Logistic regression on ten encrypted figures."""

import numpy as np
import polyfabric as pf

WEIGHTS = np.linspace(-1, 1.4, 10)


@pf.program(x=pf.Real.vector(10))
def program(x):
    return pf.chebyshev(pf.dot(WEIGHTS, x) - 0.5, lambda u: 1 / (1 + np.exp(-u)), 15, (-8, 8))


GIVEN = {"x": np.linspace(-0.5, 1, 10)}
CLOSE = 2e-3
"""A polynomial of degree 15 stands for the sigmoid."""


def clear(x):
    return 1 / (1 + np.exp(-(WEIGHTS @ x - 0.5)))
