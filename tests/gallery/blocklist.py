"""Is an encrypted number one of a list?"""

import polyfabric as pf

BLOCKED = [17, 4711, 65_535, 1234]


@pf.program(number=pf.UInt(16))
def program(number):
    found = number == BLOCKED[0]
    for blocked in BLOCKED[1:]:
        found = found | (number == blocked)
    return found


GIVEN = {"number": 4711}


def clear(number):
    return int(number in BLOCKED)
