"""Income tax by brackets, on 24 bits."""

import polyfabric as pf

BRACKETS = ((0, 1), (12_000, 2), (50_000, 4))
"""From an income on, so many more sixteenths of what is above it."""


@pf.program(income=pf.UInt(24))
def program(income):
    shares = [pf.where(income > start, (income - start) * rate, income & 0) for start, rate in BRACKETS]
    return pf.sum(shares) >> 4


GIVEN = {"income": 61_234}


def clear(income):
    return sum(max(income - start, 0) * rate for start, rate in BRACKETS) >> 4
