"""A table of 16 entries: for one input with TFHE, and for 65,536 at once with CKKS."""

import polyfabric as pf

SUBSTITUTED = [12, 5, 6, 11, 9, 0, 10, 13, 3, 14, 15, 8, 4, 7, 1, 2]


@pf.program(x=pf.Int(0, 15))
def substitute(x: pf.Value) -> pf.Value:
    """The entry at x."""
    return pf.lookup(x, SUBSTITUTED)


if __name__ == "__main__":
    print(substitute.run(x=6))
    many = substitute.in_batches(1 << 16)
    print(many.clear(x=[index % 16 for index in range(1 << 16)])[:16])
    print(many.cost())
