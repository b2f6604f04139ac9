"""The covariance matrix of encrypted measurements."""

import numpy as np
import polyfabric as pf

SAMPLES, QUANTITIES = 16, 3


@pf.program(measured=pf.Real.matrix(SAMPLES, QUANTITIES))
def program(measured):
    centred = measured - measured.mean(axis=0)
    return centred.T @ centred / SAMPLES


GIVEN = {"measured": np.random.default_rng(6).uniform(-1, 1, (SAMPLES, QUANTITIES))}


def clear(measured):
    return np.cov(measured.T, bias=True).tolist()
