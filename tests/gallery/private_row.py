"""One of sixteen rows of a public table, chosen by four encrypted bits."""

import numpy as np
import polyfabric as pf

T = 65537
TABLE = np.random.default_rng(4).integers(0, T, (16, 8))
BIT = pf.Mod(T).selector


@pf.program(b0=BIT, b1=BIT, b2=BIT, b3=BIT)
def program(b0, b1, b2, b3):
    rows = list(TABLE)
    for bit in (b0, b1, b2, b3):
        rows = [pf.where(bit, odd, even) for even, odd in zip(rows[::2], rows[1::2], strict=True)]
    return rows[0]


GIVEN = {"b0": 1, "b1": 0, "b2": 1, "b3": 1}


def clear(b0, b1, b2, b3):
    row = TABLE[b0 + 2 * b1 + 4 * b2 + 8 * b3]
    return [int(n) if n <= T // 2 else int(n) - T for n in row]
