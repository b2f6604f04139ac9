"""The Hamming distance of two encrypted words."""

import polyfabric as pf


@pf.program(x=pf.UInt(16), y=pf.UInt(16))
def program(x, y):
    return (x ^ y).bit_count()


GIVEN = {"x": 0b1010_1100_0011_0101, "y": 0b0110_1100_1111_0001}


def clear(x, y):
    return (x ^ y).bit_count()
