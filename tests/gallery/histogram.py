"""A histogram of encrypted bytes by their leading four bits, and sums by group."""

import polyfabric as pf


@pf.program(byte=pf.Int(0, 255), group=pf.Int(0, 3), amount=pf.Int(0, 3))
def shares(byte, group, amount):
    """What one record adds to the counts and sums. Tables of one value share most of their work."""
    both = 4 * group + amount
    return {
        "counts": [pf.lookup(byte, lambda value, bar=bar: value >> 4 == bar) for bar in range(16)],
        "sums": [pf.lookup(both, lambda value, own=own: value % 4 if value // 4 == own else 0) for own in range(4)],
    }


program = shares.in_batches(40, summed=("counts", "sums"))
GIVEN = {
    "byte": [at * at % 251 for at in range(40)],
    "group": [at % 3 for at in range(40)],
    "amount": [at * 5 % 4 for at in range(40)],
}


def clear(byte, group, amount):
    return {
        "counts": [sum(value >> 4 == bar for value in byte) for bar in range(16)],
        "sums": [sum(paid for paid, by in zip(amount, group, strict=True) if by == own) for own in range(4)],
    }
