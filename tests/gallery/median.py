"""The median of five small numbers, by a sorting network."""

import polyfabric as pf

NETWORK = [(0, 1), (3, 4), (2, 4), (2, 3), (1, 4), (0, 3), (0, 2), (1, 3), (1, 2)]


@pf.program(x=pf.Int(0, 7).vector(5))
def program(x):
    values = list(x)
    for a, b in NETWORK:
        values[a], values[b] = pf.minimum(values[a], values[b]), pf.maximum(values[a], values[b])
    return values[2]


GIVEN = {"x": [7, 0, 5, 5, 1]}


def clear(x):
    return {"result": sorted(x)[2]}
