"""The number of digits of an encrypted number."""

import polyfabric as pf


@pf.program(x=pf.UInt(16))
def program(x):
    return 16 - x.leading_zeros()


GIVEN = {"x": 1025}


def clear(x):
    return x.bit_length()
