"""Kinds of damage to a file of keys or ciphertexts."""

from __future__ import annotations

import blake3


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flip(data: bytes) -> bytes:
    return data[:-100] + bytes([data[-100] ^ 1]) + data[-99:]


def other(data: bytes) -> bytes:
    return b"PK\x03\x04" + data


def longer(data: bytes) -> bytes:
    return data + b"\0"


def of_version(data: bytes, version: int) -> bytes:
    return data[:8] + version.to_bytes(4, "little") + data[12:]


def older(data: bytes) -> bytes:
    return of_version(data, 1)


def newer(data: bytes) -> bytes:
    return of_version(data, int.from_bytes(data[8:12], "little") + 1)


def flipped(data: bytes, byte: int, bit: int) -> bytes:
    """With one bit flipped, and the checksum made right again, as who wants it to pass would do."""
    changed = bytearray(data)
    changed[byte] ^= 1 << bit
    changed[-32:] = blake3.blake3(bytes(changed[:-32])).digest()
    return bytes(changed)
