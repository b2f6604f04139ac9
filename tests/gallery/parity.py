"""The parity of encrypted bits, and whether all are set."""

import polyfabric as pf


@pf.program(a=pf.Mod(2), b=pf.Mod(2), c=pf.Mod(2))
def program(a, b, c):
    return {"parity": a + b + c, "all": a * b * c}


GIVEN = {"a": 1, "b": 0, "c": 1}


def clear(a, b, c):
    return {"parity": (a + b + c) % 2, "all": a * b * c}
