"""Two programs on slots, one of CKKS and one of BGV."""

import numpy as np
import polyfabric as pf

WEIGHTS = np.linspace(-1, 1, 8)


@pf.program(x=pf.Real.vector(8))
def scores(x: pf.Value) -> pf.Value:
    """A weighted sum through a polynomial sigmoid."""
    return pf.chebyshev(pf.dot(WEIGHTS, x), lambda u: 1 / (1 + np.exp(-u)), 7, (-8, 8))


@pf.program(x=pf.Mod(786433).vector(8), y=pf.Mod(786433).vector(8))
def inner_product(x: pf.Value, y: pf.Value) -> pf.Value:
    """The inner product of two encrypted vectors."""
    return pf.dot(x, y)
