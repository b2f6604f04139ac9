"""A risk from ten figures that nobody but their owner sees."""

import numpy as np
import polyfabric as pf

WEIGHTS = np.linspace(-1, 1, 10)


@pf.program(x=pf.Real.vector(10))
def risk(x: pf.Value) -> pf.Value:
    """A weighted sum through a sigmoid, as a polynomial."""
    return pf.chebyshev(pf.dot(WEIGHTS, x), lambda u: 1 / (1 + np.exp(-u)), 15, (-8, 8))


if __name__ == "__main__":
    result = risk.run(x=np.linspace(0, 1, 10))
    print(result.value, "within", f"{result.bound['result']:.0e}", "in", f"{result.seconds['execute']:.2f} s")
    assert result.correct
