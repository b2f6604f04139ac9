"""A banded matrix times an encrypted vector, whose way through Osiris' units docs/osiris-matrix.md follows.

polyfabric run examples/matrix_vector.py:banded --params osiris-I
polyfabric simulate examples/matrix_vector.py:banded --on osiris --params osiris-I --timeline banded.json
"""

import numpy as np
import polyfabric as pf

SLOTS, DIAGONALS = 8192, 8

rows = np.arange(SLOTS)
matrix = np.zeros((SLOTS, SLOTS), dtype=np.float32)
for offset in range(DIAGONALS):
    matrix[rows, (rows + offset) % SLOTS] = (1 + offset) / 40 * (1 - rows % 3 / 10)


@pf.program(x=pf.Real.vector(SLOTS))
def banded(x: pf.Value) -> dict[str, pf.Value]:
    """Eight diagonals, at the highest level of osiris-I."""
    return {"y": (matrix @ x).at_level(4)}
