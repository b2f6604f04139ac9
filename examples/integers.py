"""Who bids most, and how much all bid, without anybody seeing a bid."""

import polyfabric as pf


@pf.program(bids=pf.UInt(32).vector(3))
def auction(bids: pf.Value) -> dict[str, pf.Value]:
    """Who won, what they pay, and the sum of all bids."""
    best = pf.max(bids)
    won = bids == best
    return {"won": won, "paid": best, "sum": pf.sum(bids)}


if __name__ == "__main__":
    result = auction.run(bids=[1200, 40_000, 39_999])
    print(result.value, "on", result.parameters, "in", f"{result.seconds['execute']:.1f} s")
    assert result.correct
