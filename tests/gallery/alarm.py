"""A thermometer: how far from the target, and whether to ring."""

import polyfabric as pf


@pf.program(celsius=pf.SInt(12), target=pf.SInt(12))
def program(celsius, target):
    off = abs(celsius - target)
    return {"off": off, "ring": (off > 50) | (celsius < -180)}


GIVEN = {"celsius": -181, "target": -150}


def clear(celsius, target):
    off = abs(celsius - target)
    return {"off": off, "ring": int(off > 50 or celsius < -180)}
