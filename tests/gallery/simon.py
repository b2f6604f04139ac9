"""Rounds of the cipher Simon32/64 on a batch of counters: a lookup a bit."""

import polyfabric as pf

ROUNDS = 2
"""Of 32."""
BIT = pf.Int(0, 1)
MASK = 0xFFFF


def rotated(bits, by):
    """A word to the left, of bits from the lowest."""
    return [bits[at - by] for at in range(16)]


def cipher(rounds):
    """The first `rounds` rounds on bits. Sums are free, so the round is one table of 12 entries: the parity of three bits, and a product."""

    @pf.program(keys=BIT.vector(16 * rounds), left=BIT.vector(16), right=BIT.vector(16))
    def simon(keys, left, right):
        left, right = list(left), list(right)
        for at in range(rounds):
            sums = zip(
                rotated(left, 1), rotated(left, 8), rotated(left, 2), right, keys[16 * at : 16 * at + 16], strict=True
            )
            mixed = [4 * (a + b) + (c + d + key) for a, b, c, d, key in sums]
            left, right = [pf.lookup(each, lambda value: value >> 3 ^ value & 1) for each in mixed], left
        return {"left": left, "right": right}

    return simon


def expanded(key):
    """The round keys of four words, the first one last."""
    words, constant = list(key[::-1]), 0b11111010001001010110000111001101111101000100101011000011100110
    for at in range(28):
        mixed = (words[-1] >> 3 | words[-1] << 13) & MASK ^ words[-3]
        mixed ^= (mixed >> 1 | mixed << 15) & MASK
        words.append(~words[-4] & MASK ^ mixed ^ constant >> 61 - at % 62 & 1 ^ 3)
    return words


def encrypted(keys, left, right):
    """The rounds of `keys` on words."""
    for key in keys:
        turned = [(left << by | left >> 16 - by) & MASK for by in (1, 8, 2)]
        left, right = right ^ turned[0] & turned[1] ^ turned[2] ^ key, left
    return left, right


def bits(*words):
    return [word >> at & 1 for word in words for at in range(16)]


def word(own):
    return sum(bit << at for at, bit in enumerate(own))


program = cipher(ROUNDS)
KEYS = expanded((0x1918, 0x1110, 0x0908, 0x0100))
GIVEN = {"keys": bits(*KEYS[:ROUNDS]), "left": bits(0x6565), "right": bits(0x6877)}


def clear(keys, left, right):
    words = [word(keys[at : at + 16]) for at in range(0, len(keys), 16)]
    done = encrypted(words, word(left), word(right))
    return {"left": bits(done[0]), "right": bits(done[1])}
