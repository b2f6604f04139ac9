"""How many sessions each pair of people attended."""

import numpy as np
import polyfabric as pf

PEOPLE, SESSIONS = 5, 8


@pf.program(present=pf.Mod(65537).matrix(PEOPLE, SESSIONS))
def program(present):
    return {"together": present @ present.T, "sessions": present.sum(axis=1)}


GIVEN = {"present": np.random.default_rng(7).integers(0, 2, (PEOPLE, SESSIONS))}


def clear(present):
    rows = present.tolist()
    together = [[sum(a * b for a, b in zip(one, other, strict=True)) for other in rows] for one in rows]
    return {"together": together, "sessions": [sum(row) for row in rows]}
