"""What a program's values are: Booleans, integers and torus values with TFHE; numbers in slots with CKKS and BGV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Literal, NoReturn

import numpy as np

from .._native import ElementType
from ..errors import shown
from .place import AbsentError, expect_unmasked, placed, refuse, whole

MOST_ELEMENTS = 1 << 24
"""Of a vector of TFHE, where each is a ciphertext."""

MOST_SLOTS = 1 << 17
"""Of the largest ring that parameters may have, with BGV."""

RING_SLOTS = 1 << 15
"""Of the largest ring that parameters come with, as messages say; one of one's own may have more."""

MOST_TORUS_BITS = 30
"""Of a fraction, as much as programs take: a weight of 2^bits must not leave a word, as in the Rust half."""

FARTHEST = 1 << 40
"""From 0: as far as a value of TFHE's look-ups and sums may lie, as in the Rust half."""

MOST_CAST = 16
"""Values of one that a look-up makes an integer of any width of, as in the Rust half."""

MOST_LOOKED_UP = 1 << 17
"""Entries of a look-up's table, more than any parameter set has."""

BEYOND = {
    "bounded": "its type bounds it, as pf.Int(lo, hi) or pf.UInt(bits)",
    "matrix": "declare a vector of its rows one after the other, .vector(rows * columns), or pf.Real.matrix, pf.Mod(65537).matrix",
}
"""Of types of slots alone, and what to write with TFHE."""


class NotCalled:
    """Types that stand for themselves: `pf.Real`, not `pf.Real()`."""

    def __call__(self, *given: object) -> NoReturn:
        """Refused: calling makes nothing."""
        more = (
            ""
            if not isinstance(self, SlotType) or self.modulus
            else f", or .bounded({given[0] if given else 10}) of numbers beyond 1"
        )
        raise refuse(f"the type {self} is not called; leave the () away, with .vector(10) for a vector{more}")


def expect_single(kind: Type | IntegerType | SlotType) -> None:
    """Refuses a type that has several elements already as that of a vector's elements."""
    if not kind.scalar:
        raise refuse(
            f"{kind!r} has several elements, and those of a vector are single values; declare one vector of them all, or an input for each part"
        )


class ElementKind(NotCalled):
    """What types of TFHE have not, each refused with the way around."""

    def __getattr__(self, name: str) -> NoReturn:
        # Names with an underscore are protocols, which ask whether they are there.
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        remedy = BEYOND.get(name, "types have .vector(length)")
        raise AbsentError(str(refuse(f"the type {self} has no .{name}; {remedy}")))


@dataclass(frozen=True)
class Type(ElementKind):
    """Element type and length; a `scalar` is a vector of length 1 that is given and returned as one number."""

    element: ElementType
    length: int = 1
    scalar: bool = field(default=True)

    def takes(self, other: object) -> bool:
        """Whether values of the type `other` are as many, and of a kind that computes as these."""
        own = isinstance(other, Type) and other.element.kind == self.element.kind
        return own and (other.length, other.scalar) == (self.length, self.scalar)  # type: ignore[attr-defined]

    def vector(self, length: int) -> Type:
        """A vector of `length` such elements."""
        expect_single(self)
        return Type(self.element, whole("the length of a vector", length, 1, MOST_ELEMENTS), scalar=False)

    def __str__(self) -> str:
        return str(self.element) if self.scalar else f"{self.element} x {self.length}"

    def __repr__(self) -> str:
        lo, hi, step = self.element.bounds if self.element.kind == "integer" else (0, 0, 1)
        kinds = {
            "boolean": "pf.Bool",
            "integer": f"pf.Int({lo}, {hi}{f', step={step}' if step > 1 else ''})",
        }
        named = kinds.get(self.element.kind) or f"pf.Torus({str(self.element).strip('torus[]')})"
        return named if self.scalar else f"{named}.vector({self.length})"


Bool = Type(ElementType.boolean())
"""0 or 1."""


def Int(lo: int, hi: int, *, step: int = 1) -> Type:  # noqa: N802 - it reads as a type
    """An integer from `lo` to `hi`; with `step`, only lo, lo + step, .. occur."""
    ends = (whole("the lower end of pf.Int", lo), whole("the upper end of pf.Int", hi))
    for end in ends:
        if abs(end) > FARTHEST:
            raise refuse(
                f"pf.Int({ends[0]}, {ends[1]}) goes beyond ±2^40; narrow it, or take pf.UInt(bits) or pf.SInt(bits), of any width"
            )
    of = whole("the step of pf.Int", step, 1, FARTHEST)
    return Type(placed(f"pf.Int({ends[0]}, {ends[1]})", lambda: ElementType.integer(*ends, of)))


def Torus(bits: int) -> Type:  # noqa: N802 - it reads as a type
    """A fixed-point value modulo 1, in multiples of 2^-bits."""
    return Type(ElementType.torus(whole("the width of pf.Torus", bits, 1, MOST_TORUS_BITS)))


MOST_BITS = 4096
"""Of an integer of any width."""


@dataclass(frozen=True)
class IntegerType(ElementKind):
    """An integer modulo 2^bits, from 0 up, or in two's complement if signed. One digit of two bits is a ciphertext."""

    bits: int
    signed: bool = field(default=False, kw_only=True)
    length: int = field(default=1, kw_only=True)
    scalar: bool = field(default=True, kw_only=True)

    def takes(self, other: object) -> bool:
        """Whether values of the type `other` are such."""
        return self == other

    def vector(self, length: int) -> IntegerType:
        """A vector of `length` such integers."""
        expect_single(self)
        return self.of(whole("the length of a vector", length, 1, MOST_ELEMENTS), scalar=False)

    def of(self, length: int, *, scalar: bool) -> IntegerType:
        """Such integers, so many."""
        return IntegerType(self.bits, signed=self.signed, length=length, scalar=scalar)

    @property
    def bounds(self) -> tuple[int, int]:
        """Least and greatest value."""
        return (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1) if self.signed else (0, (1 << self.bits) - 1)

    @property
    def size(self) -> int:
        """Digits of one integer."""
        return -(-self.bits // 2)

    def digits(self, value: object) -> list[int]:
        """The digits of one value, least significant first."""
        (lo, hi), number = self.bounds, self.whole(value)
        if not lo <= number <= hi:
            raise refuse(
                f"{number} is no {self.of(1, scalar=True)}, which goes from {lo} to {hi}; give one, or a wider type"
            )
        number &= (1 << self.bits) - 1
        return [number >> 2 * place & 3 for place in range(self.size)]

    def number(self, digits: Sequence[int]) -> int:
        """The value with these digits."""
        return self.wrap(sum(digit << 2 * place for place, digit in enumerate(digits)))

    def whole(self, value: object) -> int:
        """One value as Python's integer, whatever it is; a condition of numpy's is one of Python's."""
        return whole(f"a value of {self}", bool(value) if isinstance(value, np.bool_) else value)

    def wrap(self, value: int) -> int:
        """`value` modulo 2^bits, within the bounds."""
        value &= (1 << self.bits) - 1
        return value - (1 << self.bits) if self.signed and value >> (self.bits - 1) else value

    def elements(self, values: object) -> list[object]:
        """Values as they are given for this type, one by one."""
        if isinstance(values, int | np.integer):
            return [values]
        expect_unmasked(values)
        return list(np.asarray(values, dtype=object).reshape(-1))

    def given(self, flat: Sequence[Sequence[int]]) -> int | list[int] | str:
        """The digits of each element as the caller reads them."""
        numbers = [self.number(digits) for digits in flat]
        return numbers[0] if self.scalar else numbers

    def __str__(self) -> str:
        name = f"{'sint' if self.signed else 'uint'}{self.bits}"
        return name if self.scalar else f"{name} x {self.length}"

    def __repr__(self) -> str:
        named = f"pf.{'SInt' if self.signed else 'UInt'}({self.bits})"
        return named if self.scalar else f"{named}.vector({self.length})"


@dataclass(frozen=True)
class TextType(IntegerType):
    """A text of at most `length` bytes, filled up with zeros."""

    def elements(self, values: object) -> list[object]:
        """The bytes of a text, filled up with zeros."""
        if not isinstance(values, str | bytes):
            return super().elements(values)
        return list(text_bytes(values).ljust(self.length, b"\0"))

    def given(self, flat: Sequence[Sequence[int]]) -> int | list[int] | str:
        """The text of these bytes, without the zeros at its end."""
        return bytes(self.number(digits) for digits in flat).rstrip(b"\0").decode(errors="replace")

    def __str__(self) -> str:
        return f"text of {self.length} bytes"

    def __repr__(self) -> str:
        return f"pf.Text({self.length})"


def text_bytes(text: str | bytes) -> bytes:
    """The bytes of a text in UTF-8. None of them is 0: those fill a text up behind its end, and would be taken for its end."""
    try:
        given = text.encode() if isinstance(text, str) else text
    except UnicodeEncodeError as error:
        raise refuse(
            f"{text!r:.80} has half a surrogate pair at index {error.start}, which UTF-8 does not write; give the whole character"
        ) from None
    if 0 in given:
        raise refuse(
            f"{text!r:.80} has a 0 as byte {given.index(0)}, which fills texts up behind their end; leave it out, or declare a "
            "vector of pf.UInt(8)"
        )
    return given


def UInt(bits: int) -> IntegerType:  # noqa: N802 - it reads as a type
    """An integer from 0 to 2^bits - 1; results wrap. `pf.UInt(1)` is a truth value, and counts in arithmetic."""
    return IntegerType(whole("the width of pf.UInt", bits, 1, MOST_BITS))


def SInt(bits: int) -> IntegerType:  # noqa: N802 - it reads as a type
    """An integer from -2^(bits - 1) to 2^(bits - 1) - 1; results wrap."""
    return IntegerType(whole("the width of pf.SInt", bits, 1, MOST_BITS), signed=True)


def holding(*numbers: int) -> IntegerType:
    """The narrowest type that has all of these numbers: signed if one is negative."""
    signed = min(numbers) < 0
    bits = max((~number if number < 0 else number).bit_length() for number in numbers) + signed
    return (SInt if signed else UInt)(max(1, bits))


def narrowest(values: Sequence[int]) -> IntegerType:
    """The same, of 8, 16, 32, .. bits."""
    needed = holding(0, *values)
    return replace(needed, bits=max(8, 1 << (needed.bits - 1).bit_length()))


def Text(length: int) -> TextType:  # noqa: N802 - it reads as a type
    """A text of at most `length` bytes of UTF-8."""
    return TextType(8, length=whole("the length of pf.Text", length, 1, MOST_ELEMENTS), scalar=False)


def slot_count(what: str, given: object) -> int:
    """So many slots."""
    return whole(what, given, 1, MOST_SLOTS, advised=RING_SLOTS)


def is_packed(modulus: int | None) -> bool:
    """Whether a ciphertext holds a vector of numbers modulo this (none for CKKS): not so modulo a power of two."""
    return modulus is None or modulus & (modulus - 1) != 0


@dataclass(frozen=True)
class SlotType(NotCalled):
    """What CKKS and BGV compute on: numbers in the slots of one ciphertext. A `scalar` is one number in every slot."""

    kind: Literal["real", "complex", "residue"]
    modulus: int | None = None
    """t of residues: slots are integers modulo t."""
    length: int = 1
    scalar: bool = field(default=True)
    bound: float = field(default=1.0)
    """CKKS: largest absolute value of an input, on which its precision rests."""
    shape: tuple[int, int] | None = None
    """Rows and columns of a matrix, which lies in the slots row by row."""

    def takes(self, other: object) -> bool:
        """Whether values of the type `other` are as many, of the same kind; bounds are of inputs alone."""
        return isinstance(other, SlotType) and replace(other, bound=self.bound) == self

    def vector(self, length: int) -> SlotType:
        """A vector of `length` such numbers; slots beyond it hold zeros."""
        expect_single(self)
        if not self.packed:
            raise refuse(
                f"modulo {self.modulus}, a power of two, a ciphertext holds one number and no vector; declare {length} "
                "numbers, or take a prime modulus, as pf.Mod(65537)"
            )
        return replace(self, length=slot_count("the length of a vector", length), scalar=False, shape=None)

    def matrix(self, rows: int | tuple[int, int], columns: int | None = None) -> SlotType:
        """A matrix of such numbers, row by row in the slots; slots beyond it hold zeros. Its rows and columns may be given as numpy's shape."""
        if columns is None:
            if not isinstance(rows, tuple | list) or len(rows) != 2:
                raise refuse(f"the shape of a matrix is {shown(rows)}; give its rows and columns, as .matrix(3, 4)")
            rows, columns = rows
        shape = (slot_count("the rows of a matrix", rows), slot_count("the columns of a matrix", columns))
        return replace(self.vector(shape[0] * shape[1]), shape=shape)

    def bounded(self, bound: float) -> SlotType:
        """Such numbers of an absolute value up to `bound`; without it, up to 1."""
        if self.modulus is not None:
            raise refuse(f"integers modulo {self.modulus} have no other bound; leave .bounded() out")
        try:
            given = float(bound)
        except (TypeError, ValueError, OverflowError):
            given = inf
        if not 0 < given < inf:
            raise refuse(f"the bound of a type is {shown(bound)}; give a positive, finite number")
        return replace(self, bound=given)

    @property
    def packed(self) -> bool:
        """Whether a ciphertext holds a vector of them: not so modulo a power of two."""
        return is_packed(self.modulus)

    @property
    def dimensions(self) -> tuple[int, ...]:
        """As numpy has it: none of a single number, the length of a vector, rows and columns of a matrix."""
        return () if self.scalar else self.shape or (self.length,)

    @property
    def scheme(self) -> str:
        """The scheme that computes on it."""
        return "bgv" if self.kind == "residue" else "ckks"

    def __str__(self) -> str:
        name = self.kind if self.modulus is None else f"{self.kind} mod {self.modulus}"
        if self.shape is not None:
            return f"{name} x {self.shape[0]} x {self.shape[1]}"
        return name if self.scalar else f"{name} x {self.length}"

    def __repr__(self) -> str:
        named = f"pf.{self.kind.capitalize()}" if self.modulus is None else f"pf.Mod({self.modulus})"
        bounded = f".bounded({self.bound:g})" if self.modulus is None and self.bound != 1 else ""
        shaped = f".matrix{self.shape}" if self.shape else "" if self.scalar else f".vector({self.length})"
        return named + bounded + shaped


Real = SlotType("real")
"""A real number, with CKKS."""

Complex = SlotType("complex")
"""A complex number, with CKKS."""


def Mod(modulus: int) -> SlotType:  # noqa: N802 - it reads as a type
    """An integer modulo t, with BGV: exact.

    A prime t ≡ 1 modulo twice the ring's degree, as 65537 up to degree 32768, has slots, for vectors. Modulo a power of two a
    ciphertext holds one number, which can be bootstrapped: `pf.Mod(2)` is a bit, + its XOR and * its AND.
    """
    t = whole("the modulus of pf.Mod", modulus, 2, (1 << 60) - 1)
    return SlotType("residue", t, bound=t / 2)
