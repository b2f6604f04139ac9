"""A smoothed series, as one matrix."""

import numpy as np
import polyfabric as pf

LENGTH = 32
MATRIX = sum(np.eye(LENGTH, k=k) for k in (-1, 0, 1)) / 3


@pf.program(series=pf.Real.vector(LENGTH))
def program(series):
    return MATRIX @ series


GIVEN = {"series": np.sin(np.arange(LENGTH) / 3)}


def clear(series):
    return np.convolve(series, np.ones(3) / 3, mode="same")
