"""The value of a stock: encrypted counts times encrypted prices."""

import polyfabric as pf


@pf.program(counts=pf.Mod(786433).vector(6), prices=pf.Mod(786433).vector(6))
def program(counts, prices):
    return pf.dot(counts, prices)


GIVEN = {"counts": [3, 0, 12, 7, 1, 250], "prices": [999, 5, 120, 43, 10_000, 17]}


def clear(counts, prices):
    return sum(count * price for count, price in zip(counts, prices, strict=True))
