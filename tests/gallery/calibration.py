"""Encrypted sensor readings through a calibration curve."""

import numpy as np
import polyfabric as pf


@pf.program(volts=pf.Real.vector(16))
def program(volts):
    return pf.chebyshev(volts, lambda v: np.exp(v) / (1 + v * v), 15)


GIVEN = {"volts": np.linspace(-1, 1, 16)}
CLOSE = 1e-4


def clear(volts):
    return np.exp(volts) / (1 + volts**2)
