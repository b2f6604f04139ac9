"""Programs that a planner's choice once made several times dearer than their best form, and others whose cost must not jump."""

from __future__ import annotations

import numpy as np
import polyfabric as pf

CENTERS = ((10, 20, 30), (200, 100, 50), (90, 180, 70), (250, 5, 128))
POLYNOMIAL = 0x1021
"""That of CRC-16."""
ENTRIES = np.random.default_rng(2).permutation(256).tolist()

small = pf.Int(0, 15)


@pf.program(x=pf.UInt(20))
def tfhe_square(x):
    return x * x


@pf.program(x=pf.UInt(20), y=pf.UInt(20))
def tfhe_product(x, y):
    return x * y


@pf.program(x=pf.UInt(20))
def tfhe_distance(x):
    difference = x.cast(pf.SInt(20)) - 100
    return difference * difference


@pf.program(x=pf.UInt(8).vector(3))
def tfhe_assignment(x):
    """The nearest of four centers."""
    signed = [x[axis].cast(pf.SInt(10)) for axis in range(3)]
    squares = [[(value - at) * (value - at) for value, at in zip(signed, center, strict=True)] for center in CENTERS]
    distances = [pf.sum(terms) for terms in squares]
    nearest, least = 0, distances[0]
    for number, distance in enumerate(distances[1:], 1):
        closer = distance < least
        nearest, least = pf.where(closer, number, nearest), pf.where(closer, distance, least)
    return nearest


@pf.program(x=pf.UInt(8).vector(3))
def tfhe_assignment_by_hand(x):
    """The same without squares of the coordinates, which all distances share."""
    signed = [x[axis].cast(pf.SInt(20)) for axis in range(3)]
    least, nearest = None, 0
    for number, center in enumerate(CENTERS):
        terms = [value * (-2 * at) for value, at in zip(signed, center, strict=True)]
        distance = pf.sum(terms) + sum(at * at for at in center)
        closer = True if least is None else distance < least
        nearest = 0 if least is None else pf.where(closer, number, nearest)
        least = distance if least is None else pf.where(closer, distance, least)
    return nearest


@pf.program(x=small, a=small, b=small)
def tfhe_choice(x, a, b):
    return pf.where(x > 7, a, b)


@pf.program(x=pf.UInt(4), a=pf.UInt(4), b=pf.UInt(4))
def tfhe_choice_of_digits(x, a, b):
    return pf.where(x > 7, a, b)


@pf.program(data=pf.Bool.vector(32))
def tfhe_crc_of_bits(data):
    register = [False] * 16
    for bit in data:
        top = register[15] ^ bit
        register = [top] + [register[at - 1] ^ top if POLYNOMIAL >> at & 1 else register[at - 1] for at in range(1, 16)]
    return register


@pf.program(data=pf.UInt(8).vector(4))
def tfhe_crc_of_bytes(data):
    register = (data[0] * 0).cast(pf.UInt(16))
    for byte in data:
        register = register ^ (byte.cast(pf.UInt(16)) << 8)
        for _ in range(8):
            register = pf.where(register >> 15 == 1, (register << 1) ^ POLYNOMIAL, register << 1)
    return register


@pf.program(x=pf.Real.vector(8))
def ckks_power(x):
    return x**15


@pf.program(x=pf.Real.vector(8))
def ckks_high_power(x):
    return x**1023


@pf.program(x=pf.Mod(65537).vector(8))
def bgv_power(x):
    return x**8


@pf.program(x=pf.UInt(8), y=pf.UInt(8))
def tfhe_quotient(x, y):
    return x // y


@pf.program(x=pf.UInt(16), y=pf.UInt(16))
def tfhe_remainder(x, y):
    return x % y


@pf.program(x=pf.UInt(16), amount=pf.UInt(4))
def tfhe_shift(x, amount):
    return x << amount


@pf.program(x=pf.UInt(16).vector(4))
def tfhe_least(x):
    return pf.min(x)


@pf.program(x=pf.UInt(8).vector(4))
def tfhe_sorted(x):
    return pf.sort(x)


@pf.program(x=pf.UInt(8).vector(20))
def tfhe_sum(x):
    return pf.sum([value.cast(pf.UInt(16)) for value in x])


@pf.program(x=pf.UInt(32), y=pf.UInt(32))
def tfhe_less(x, y):
    return x < y


@pf.program(x=pf.UInt(32), y=pf.UInt(32))
def tfhe_equal(x, y):
    return x == y


@pf.program(x=pf.UInt(8), y=pf.UInt(8))
def tfhe_apart(x, y):
    return abs(x.cast(pf.SInt(10)) - y.cast(pf.SInt(10)))


@pf.program(x=pf.UInt(8).vector(4))
def tfhe_substituted(x):
    return pf.lookup(x, ENTRIES, result=pf.UInt(8))


@pf.program(x=pf.Bool.vector(16))
def tfhe_majority(x):
    return pf.sum(x) > 8
