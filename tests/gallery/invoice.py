"""The total of an invoice, with a discount on large bills, up to a limit."""

import polyfabric as pf


@pf.program(price=pf.UInt(16), count=pf.UInt(16), limit=pf.UInt(16))
def program(price, count, limit):
    total = price * count
    reduced = pf.where(total > 1000, total - total // 8, total)
    return {"to_pay": pf.min(reduced, limit), "over": reduced > limit}


GIVEN = {"price": 125, "count": 12, "limit": 1300}


def clear(price, count, limit):
    total = price * count
    if total > 1000:
        total -= total // 8
    return {"to_pay": min(total, limit), "over": int(total > limit)}
