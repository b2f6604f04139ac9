"""A substitution box on bytes: any table of 256 entries."""

import polyfabric as pf

BOX = [(i * 167 + 41) % 256 for i in range(256)]


@pf.program(x=pf.UInt(8), key=pf.UInt(8))
def program(x, key):
    return pf.lookup(x ^ key, BOX, result=pf.UInt(8))


GIVEN = {"x": 0x53, "key": 0xA7}


def clear(x, key):
    return BOX[x ^ key]
