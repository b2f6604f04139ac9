"""The S-box of AES on encrypted bytes, as one table of 256 entries.

polyfabric run examples/s_box.py:s_box --input state=83,0,255
"""

import polyfabric as pf


def product(a: int, b: int) -> int:
    """The product of two bytes modulo x^8 + x^4 + x^3 + x + 1."""
    result = 0
    while b:
        result ^= a if b & 1 else 0
        a = (a << 1) ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return result


def entry(byte: int) -> int:
    """FIPS 197, section 5.1.1: the inverse, or 0 for 0, then an affine map."""
    inverse = next((other for other in range(256) if product(byte, other) == 1), 0)
    turned = [(inverse << turn | inverse >> (8 - turn)) & 0xFF for turn in range(5)]
    return turned[0] ^ turned[1] ^ turned[2] ^ turned[3] ^ turned[4] ^ 0x63


S_BOX = [entry(byte) for byte in range(256)]


@pf.program(state=pf.UInt(8).vector(3))
def s_box(state: pf.Value) -> pf.Value:
    """SubBytes on three bytes of the state."""
    return pf.lookup(state, S_BOX)
