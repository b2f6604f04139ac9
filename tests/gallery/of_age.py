"""Is somebody eighteen today? Neither the birthday nor the answer is seen by who computes it."""

import polyfabric as pf

TODAY = (2026, 11, 23)


@pf.program(year=pf.UInt(11), month=pf.UInt(4), day=pf.UInt(5))
def program(year, month, day):
    born = (year.cast(pf.UInt(20)) << 9) | (month.cast(pf.UInt(20)) << 5) | day.cast(pf.UInt(20))
    latest = ((TODAY[0] - 18) << 9) | (TODAY[1] << 5) | TODAY[2]
    return born <= latest


GIVEN = {"year": 2008, "month": 11, "day": 24}


def clear(year, month, day):
    return {"result": int((year, month, day) <= (TODAY[0] - 18, *TODAY[1:]))}
