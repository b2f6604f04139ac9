"""A comparison of encrypted bids with an encrypted reserve price, to be served; client.py is its client.

polyfabric token acme --tokens tokens.txt --out acme.token
polyfabric serve examples/auction.py --keys keys --tokens tokens.txt
"""

import polyfabric as pf


@pf.program(bid=pf.UInt(8), reserve=pf.UInt(8))
def accepted(bid: pf.Value, reserve: pf.Value) -> dict[str, pf.Value]:
    """Whether a bid is accepted, and by how much it is above the reserve price."""
    above = bid >= reserve
    return {"accepted": above, "surplus": pf.where(above, bid - reserve, bid & 0)}
