"""One step of a xorshift generator on an encrypted 32-bit state."""

import polyfabric as pf


@pf.program(state=pf.UInt(32))
def program(state):
    state = state ^ (state << 13)
    state = state ^ (state >> 17)
    return state ^ (state << 5)


GIVEN = {"state": 2463534242}


def clear(state):
    state ^= state << 13 & 0xFFFFFFFF
    state ^= state >> 17
    return state ^ (state << 5 & 0xFFFFFFFF)
