"""An encrypted query against an encrypted table, in BGV: F1's table 3, after HElib's example of countries and capitals.

As there, every entry is a pair of ciphertexts, a key and a value, and an entry's key is compared with the query in all
characters at once. F1 asks for N = 16384 and L = 17. HElib's example compares by Fermat modulo a small prime p; a ring of
this degree packs its slots only for p = 1 modulo 2N, so t = 65537, and Fermat's power would be 16 squarings, more than 17
limbs carry. Characters are therefore letters of an alphabet of 32, and equal where the polynomial in (x - y)² that is 1 at 0
and 0 at the other differences is 1: a square and a polynomial of degree 31, six products deep. Five rotations with products
make the match of 32 characters, one product takes the value. A text fills its ciphertext by repetition, so that rotations are within it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...language.slot_functions import polynomial
from ...language.slot_program import tracer
from ...language.slots import SlotValue
from ...language.types import Mod
from ...run.runnable_programs import SlotProgram, finished

Texts = NDArray[np.int64]

T = 65537
ALPHABET = " abcdefghijklmnopqrstuvwxyz'-.,"
"""Letters by their numbers; 0 also pads texts. Number 32 has no letter."""


@dataclass(frozen=True)
class Shape:
    """Sizes; the defaults are those of F1's parameters."""

    characters: int = 32
    entries: int = 47
    slots: int = 16384
    letters: int = 32
    limbs: int | None = 17


def match(letters: int) -> NDArray[np.int64]:
    """Coefficients modulo t of the polynomial that is 1 at 0 and 0 at 1, 4, 9, .., (letters - 1)²."""
    product = [1]
    for difference in range(1, letters):
        root = difference**2
        inverse = pow(-root, -1, T)
        shifted = [0, *product]
        product = [(high - root * low) * inverse % T for high, low in zip(shifted, [*product, 0], strict=True)]
    return np.array([value - T if value > T // 2 else value for value in product])


@cache
def countries() -> list[tuple[str, str]]:
    """Names of European countries, and their capitals."""
    lines = Path(__file__).with_name("countries.csv").read_text(encoding="utf-8").splitlines()[1:]
    return [(name, capital) for name, _, capital in (line.partition(",") for line in lines)]


def encoded(text: str, shape: Shape) -> list[int]:
    """A text as numbers of the alphabet."""
    if len(text) > shape.characters or any(letter not in ALPHABET for letter in text):
        raise InputError(
            f"{text!r} is not a text of up to {shape.characters} characters of {ALPHABET!r}; write it in lower case"
        )
    return [ALPHABET.index(letter) for letter in text.ljust(shape.characters)]


def decoded(letters: Texts) -> str:
    """The text that `encoded` encoded."""
    return "".join(ALPHABET[int(letter) % T] for letter in letters).rstrip()


@cache
def country_lookup(shape: Shape = Shape()) -> SlotProgram:
    """The value of the entry whose key is the query, or spaces."""
    kind = Mod(T).vector(shape.slots)
    names = ["query", *(f"{what}{i}" for i in range(shape.entries) for what in ("key", "value"))]
    made = tracer("country-lookup", "bgv", shape.slots, {"query": kind})
    level = None if shape.limbs is None else shape.limbs - 1
    given = {name: made.input(name, kind, level) for name in names}
    equal = match(shape.letters)
    found: SlotValue | None = None
    for i in range(shape.entries):
        difference = given[f"key{i}"] - given["query"]
        same = polynomial(difference * difference, equal)
        step = shape.characters
        while step > 1:
            step //= 2
            same = same * same.rotate(step)
        value = same * given[f"value{i}"]
        found = value if found is None else found + value
    if found is None:
        raise InputError("the table has no entries; give at least one")
    return finished(made, dict.fromkeys(names, kind), {"found": found}, country_lookup.__doc__)


def repeated(text: str, shape: Shape) -> Texts:
    """A text, repeated in all slots."""
    return np.tile(np.array(encoded(text, shape)), shape.slots // shape.characters)


def packed(shape: Shape, query: str, table: list[tuple[str, str]]) -> dict[str, Texts]:
    """The clients' inputs."""
    inputs = {"query": repeated(query, shape)}
    for i, (name, capital) in enumerate(table):
        inputs[f"key{i}"] = repeated(name, shape)
        inputs[f"value{i}"] = repeated(capital, shape)
    return inputs
