"""A secret vote: the count, and whether two thirds are for it."""

import polyfabric as pf

VOTERS = 12


@pf.program(votes=pf.Bool.vector(VOTERS))
def program(votes):
    count = pf.sum(votes)
    return {"count": count, "carried": count >= -(-2 * VOTERS // 3)}


GIVEN = {"votes": [1, 1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 0]}


def clear(votes):
    return {"count": sum(votes), "carried": int(3 * sum(votes) >= 2 * VOTERS)}
