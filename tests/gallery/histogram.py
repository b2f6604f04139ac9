"""A histogram of many encrypted bytes, by their leading four bits, and the sum of those of each kind."""

import polyfabric as pf


@pf.program(byte=pf.UInt(8), kind=pf.Int(0, 3))
def shares(byte, kind):
    """What one byte adds to the counts and sums."""
    leading = byte >> 4
    return {
        "counts": [leading == bar for bar in range(16)],
        "sums": [pf.where(kind == own, leading, 0) for own in range(4)],
    }


program = shares.in_batches(40, summed=("counts", "sums"))
GIVEN = {"byte": [at * at % 251 for at in range(40)], "kind": [at % 3 for at in range(40)]}


def clear(byte, kind):
    leading = [own >> 4 for own in byte]
    return {
        "counts": [leading.count(bar) for bar in range(16)],
        "sums": [sum(value for value, own in zip(leading, kind, strict=True) if own == group) for group in range(4)],
    }
