"""A database as numbers: country codes as keys, capitals as values."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError

T = 65537
"""Plaintext modulus t. As t - 1 = 2^16, Fermat's comparison needs sixteen squarings."""

CHARACTERS = 2
"""Bytes per number: two bytes are below t."""

PARTS = 8
"""Numbers per value, for up to 16 bytes."""


def numbers(text: str, parts: int) -> list[int]:
    """`text` in UTF-8 as `parts` numbers, zeros at the end."""
    data, length = text.encode(), parts * CHARACTERS
    if len(data) > length:
        raise InputError(f"{text!r} has {len(data)} bytes, more than the {length} that fit; shorten it")
    padded = data.ljust(length, b"\0")
    return [int.from_bytes(padded[i : i + CHARACTERS], "big") for i in range(0, length, CHARACTERS)]


def text(values: list[int]) -> str:
    """The text that `numbers` encoded; any other text for the numbers of a wrong decryption."""
    data = b"".join(min(value % T, T - 2).to_bytes(CHARACTERS, "big") for value in values)
    return data.rstrip(b"\0").decode(errors="replace")


def key(code: str) -> int:
    """A country's code of two letters, as one number."""
    letters = code.strip().upper()
    if len(letters) != 2 or not letters.isascii() or not letters.isalpha():
        raise InputError(f"{code!r} is not a country's code; give its two letters, such as CH")
    return numbers(letters, 1)[0]


@cache
def capitals() -> dict[str, str]:
    """Capital by country code."""
    lines = Path(__file__).with_name("capitals.csv").read_text(encoding="utf-8").splitlines()[1:]
    return dict(line.split(",", 1) for line in lines)


def stride(entries: int) -> int:
    """Slots per block: the number of entries, rounded up to a power of two."""
    return 1 << max(0, entries - 1).bit_length()


def columns(entries: dict[str, str]) -> dict[str, NDArray[np.int64]]:
    """The client's inputs: a block of slots for each part of the values, with the keys in every block."""
    width = stride(len(entries))
    keys = np.zeros(width, dtype=np.int64)
    keys[: len(entries)] = [key(code) for code in entries]
    values = np.zeros((PARTS, width), dtype=np.int64)
    values[:, : len(entries)] = np.array([numbers(value, PARTS) for value in entries.values()]).T
    return {"keys": np.tile(keys, PARTS), "values": values.reshape(-1)}
