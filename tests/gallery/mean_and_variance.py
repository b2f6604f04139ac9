"""Mean and variance of encrypted salaries."""

import numpy as np
import polyfabric as pf

PEOPLE = 50


@pf.program(salaries=pf.Real.vector(PEOPLE))
def program(salaries):
    mean = pf.sum(salaries) / PEOPLE
    square = pf.sum(salaries * salaries) / PEOPLE
    return {"mean": mean, "variance": square - mean * mean}


GIVEN = {"salaries": np.random.default_rng(0).uniform(0.2, 0.9, PEOPLE)}


def clear(salaries):
    return {"mean": np.mean(salaries), "variance": np.var(salaries)}
