"""Is somebody eighteen today?"""

import polyfabric as pf

TODAY = (2026, 11, 23)


@pf.program(year=pf.Int(0, 2047), month=pf.Int(1, 12), day=pf.Int(1, 31))
def program(year, month, day):
    born = (year << 9) + (month << 5) + day
    latest = ((TODAY[0] - 18) << 9) | (TODAY[1] << 5) | TODAY[2]
    return born <= latest


GIVEN = {"year": 2008, "month": 11, "day": 24}


def clear(year, month, day):
    return int((year, month, day) <= (TODAY[0] - 18, *TODAY[1:]))
