"""A sealed-bid auction: the highest bidder wins and pays the second price."""

import polyfabric as pf


@pf.program(bids=pf.UInt(12).vector(4))
def program(bids):
    best, second = bids[0], bids[0] & 0
    for bid in (bids[1], bids[2], bids[3]):
        second = pf.max(second, pf.min(best, bid))
        best = pf.max(best, bid)
    return {"won": bids == best, "pays": second}


GIVEN = {"bids": [120, 3999, 4000, 7]}


def clear(bids):
    return {"won": [int(bid == max(bids)) for bid in bids], "pays": sorted(bids)[-2]}
