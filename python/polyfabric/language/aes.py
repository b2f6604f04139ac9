"""AES under an encrypted key (FIPS 197): turns ciphertexts of AES, which are as short as their plaintexts, into encrypted integers.

A client encrypts its AES key with TFHE once, 16 to 32 bytes, and then sends data that it encrypted with AES. With `tables="wide"` an exclusive or is a sum of bits,
so only S-boxes take lookups: 16 for each round and block, and 40 to 52 for the key schedule, each a table of 8 bits.

    state = table(S, state[shifted rows]) .. ^ round key        four tables and four exclusive ors a round

Decryption is the equivalent inverse cipher (section 5.3.5): its round keys pass the inverse of MixColumns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import cache, reduce
from numbers import Integral
from operator import xor

from .functions import concat, lookup
from .place import refuse
from .types import UInt
from .values import TfheValue

BLOCK = 16
KEYS = (16, 24, 32)
"""Bytes of a key."""
MIXED, UNMIXED = (2, 3, 1, 1), (14, 11, 13, 9)
"""Factors of a column's next bytes in MixColumns and in its inverse."""


def aes_decrypt(key: TfheValue, blocks: Sequence[int], *, counter: Sequence[int] | None = None) -> TfheValue:
    """The plaintext of AES ciphertext under an encrypted key, as a vector of encrypted pf.UInt(8).

    `key` is a pf.UInt(8).vector(16), 24 or 32. `blocks` are public bytes, fixed in the program. Without `counter` each 16 bytes are one block, decrypted by
    itself. With the first `counter`, of 16 bytes, they are of counter mode (CTR) and of any length. Write `@pf.program(tables="wide", ..)`: with a key
    of 16 bytes, a block then takes at most 1408 lookups, and the key 448.
    """
    if not isinstance(key, TfheValue) or key.type != UInt(8).vector(key.length) or key.length not in KEYS:
        found = key.type if isinstance(key, TfheValue) else type(key).__name__
        raise refuse(f"aes_decrypt: the key is {found}; declare it as pf.UInt(8).vector(16), of 24 or of 32 bytes")
    given = _octets("the ciphertext", blocks)
    if counter is None:
        if not given or len(given) % BLOCK:
            raise refuse(
                f"aes_decrypt: {len(given)} bytes of ciphertext are not blocks of {BLOCK}; pad them, or give counter= for counter mode"
            )
        return _inverse_cipher(key, given)
    first = _octets("the counter", counter)
    if len(first) != BLOCK:
        raise refuse(f"aes_decrypt: counter= has {len(first)} bytes; give the first counter block, of {BLOCK}")
    if not given:
        raise refuse("aes_decrypt: there is no ciphertext; give at least one byte")
    start = int.from_bytes(first, "big")
    counters = [(start + at) % (1 << 128) for at in range(-(-len(given) // BLOCK))]
    stream = _cipher(key, b"".join(number.to_bytes(BLOCK, "big") for number in counters))
    return (stream if len(given) == stream.length else stream[: len(given)]) ^ list(given)


def _octets(what: str, given: Sequence[int]) -> bytes:
    """Bytes, or the numbers of an ordered collection."""
    try:
        if isinstance(given, str | Set | Mapping):
            raise TypeError
        numbers = list(given)
    except TypeError:
        raise refuse(f"aes_decrypt: {what} is {type(given).__name__}; give bytes, or numbers from 0 to 255") from None
    for at, number in enumerate(numbers):
        if not isinstance(number, Integral) or not 0 <= number <= 255:
            raise refuse(f"aes_decrypt: byte {at} of {what} is {number!r:.40}; give bytes, or numbers from 0 to 255")
    return bytes(numbers)


# -- tables ---------------------------------------------------------------------------------------------------------------


def product(a: int, b: int) -> int:
    """The product of two bytes modulo x^8 + x^4 + x^3 + x + 1 (section 4.2)."""
    result = 0
    while b:
        result ^= a if b & 1 else 0
        a = (a << 1) ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return result


@cache
def s_box() -> tuple[int, ...]:
    """Section 5.1.1: the inverse, or 0 for 0, then an affine map."""

    def entry(byte: int) -> int:
        inverse = next((other for other in range(256) if product(byte, other) == 1), 0)
        return reduce(xor, ((inverse << turn | inverse >> (8 - turn)) & 0xFF for turn in range(5)), 0x63)

    return tuple(entry(byte) for byte in range(256))


def _substituted(state: TfheValue, box: Sequence[int], factor: int = 1) -> TfheValue:
    return lookup(state, [product(entry, factor) for entry in box], result=UInt(8))


# -- round keys -----------------------------------------------------------------------------------------------------------


def _added(a: Sequence[TfheValue], b: Sequence[TfheValue]) -> list[TfheValue]:
    return [x ^ y for x, y in zip(a, b, strict=True)]


def _unmixed(column: Sequence[TfheValue], box: Sequence[int]) -> list[TfheValue]:
    """The inverse of MixColumns on the entries of `box` for a column. Its factors are in the tables, so that it takes no lookup more than they do."""
    read = [{factor: _substituted(byte, box, factor) for factor in UNMIXED} for byte in column]
    return [reduce(xor, (read[(row + i) % 4][f] for i, f in enumerate(UNMIXED))) for row in range(4)]


def _round_keys(key: TfheValue, *, unmixed: bool = False) -> list[list[TfheValue]]:
    """The bytes of each round key (section 5.2). With `unmixed`, all but the first and the last have passed the inverse of MixColumns, which commutes with
    the key schedule except for its S-boxes."""
    # Read as a table, the key has bits whose exclusive ors are sums.
    itself = range(256)
    bytes_, length = [key[at] for at in range(key.length)], key.length // 4
    plain = [[_substituted(byte, itself) for byte in bytes_[4 * at : 4 * at + 4]] for at in range(length)]
    turned = [_unmixed(bytes_[4 * at : 4 * at + 4], itself) for at in range(length)] if unmixed else []
    constant = 1
    for at in range(length, 4 * (length + 7)):
        word, other = plain[-1], turned[-1] if unmixed else []
        if at % length == 0 or (length > 6 and at % length == 4):
            column = word if at % length else [*word[1:], word[0]]
            word = [_substituted(byte, s_box()) for byte in column]
            other = _unmixed(column, s_box()) if unmixed else []
        if at % length == 0:
            word = [word[0] ^ constant, *word[1:]]
            other = [byte ^ product(constant, UNMIXED[-row % 4]) for row, byte in enumerate(other)]
            constant = product(constant, 2)
        plain.append(_added(plain[at - length], word))
        if unmixed:
            turned.append(_added(turned[at - length], other))
    own = [plain[at : at + 4] for at in range(0, len(plain), 4)]
    if unmixed:
        own[1:-1] = [turned[at : at + 4] for at in range(4, len(turned) - 4, 4)]
    return [[byte for word in words for byte in word] for words in own]


# -- the ciphers ----------------------------------------------------------------------------------------------------------


def _with_key(state: TfheValue | list[int], key: list[TfheValue], blocks: int) -> TfheValue:
    """AddRoundKey to all blocks."""
    own = concat(*key)
    return (own if blocks == 1 else own[list(range(BLOCK)) * blocks]) ^ state


def _moved(blocks: int, step: int, down: int) -> list[int]:
    """Where each byte comes from, `down` rows below it, if row r has moved by step · r columns."""

    def source(at: int) -> int:
        column, row = divmod(at, 4)
        row = (row + down) % 4
        return 4 * ((column + step * row) % 4) + row

    return [BLOCK * block + source(at) for block in range(blocks) for at in range(BLOCK)]


def _rounds(
    keys: list[list[TfheValue]], given: bytes, box: Sequence[int], factors: tuple[int, ...], step: int
) -> TfheValue:
    blocks = len(given) // BLOCK
    state = _with_key(list(given), keys[0], blocks)
    for key in keys[1:-1]:
        tables = {factor: _substituted(state, box, factor) for factor in set(factors)}
        mixed = [tables[factor][_moved(blocks, step, down)] for down, factor in enumerate(factors)]
        state = _with_key(reduce(xor, mixed), key, blocks)
    return _with_key(_substituted(state, box)[_moved(blocks, step, 0)], keys[-1], blocks)


def _cipher(key: TfheValue, given: bytes) -> TfheValue:
    return _rounds(_round_keys(key), given, s_box(), MIXED, 1)


def _inverse_cipher(key: TfheValue, given: bytes) -> TfheValue:
    inverse = [s_box().index(byte) for byte in range(256)]
    return _rounds(_round_keys(key, unmixed=True)[::-1], given, inverse, UNMIXED, -1)
