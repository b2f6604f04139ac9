"""Two 32-bit integers, added."""

import polyfabric as pf


@pf.program(x=pf.UInt(32), y=pf.UInt(32))
def program(x, y):
    return x + y


GIVEN = {"x": 3_000_000_000, "y": 2_000_000_000}


def clear(x, y):
    return (x + y) % 2**32
