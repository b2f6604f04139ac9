"""The types of a program's values: truth values, integers and fractions with TFHE; numbers in slots with CKKS and BGV.

An integer has a range, `pf.Int(lo, hi)`, and is exact, or a width, `pf.UInt(bits)` and `pf.SInt(bits)`, and wraps. It is encrypted as one ciphertext, or
`split` into digits of two bits with one ciphertext each. An integer with a width is always split; one with a range is if that is cheaper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Literal, NoReturn, Self, TypeVar

import numpy as np

from .._native import ElementType
from ..errors import AbsentError, shown
from .place import expect_unmasked, refuse, whole

MOST_ELEMENTS = 1 << 24
"""Limit for a vector of TFHE, where each element is a ciphertext."""

MOST_SLOTS = 1 << 17
"""Slots of the largest possible ring, with BGV."""

RING_SLOTS = 1 << 15
"""Slots of the largest ring in the included parameter sets, for messages; custom sets may have more."""

MOST_TORUS_BITS = 30
"""Most bits of a fraction, as in the Rust half: a weight of 2^bits must fit a word."""

FARTHEST = 1 << 40
"""Greatest absolute value in TFHE's lookups and sums, as in the Rust half."""

FARTHEST_SIGN = 1 << 28
"""Greatest absolute value for which one lookup can read the sign of any difference: beyond, the steps of the torus are too fine."""

MOST_WEIGHT = (1 << 31) - 1
"""Greatest public factor of a single ciphertext, as in the Rust half."""

MOST_CAST = 16
"""Number of values that one lookup in digits reads, as in the Rust half."""

MOST_DECRYPTED = 1 << 29
"""Number of values of an output with one ciphertext: half the finest step, as in the Rust half."""

MOST_INDEX = 16
"""Most bits of a table's index in digits."""

MOST_LOOKED_UP = 1 << 17
"""Entries of a lookup's table, more than any parameter set has."""

BEYOND = {
    "bounded": "its type has the bounds, as pf.Int(lo, hi) or pf.UInt(bits)",
    "matrix": "declare a vector of its rows one after the other, .vector(rows * columns), or pf.Real.matrix, pf.Mod(65537).matrix",
}
"""Attributes that only types of slots have, with the equivalents for TFHE."""


Made = TypeVar("Made", bound=Callable[..., Any])


def called_as(example: str) -> Callable[[Made], Made]:
    """Marks a function that makes types with its call in examples. `pf.UInt.vector(4)` and `pf.UInt.matrix(2, 2)` lack that call."""
    name = example.partition("(")[0]

    def decorate(made: Made) -> Made:
        def vector(length: object = None) -> NoReturn:
            shown_length = length if isinstance(length, int) else 10
            raise refuse(f"{name} is no type without its arguments; write {example}.vector({shown(shown_length)})")

        def matrix(*_: object) -> NoReturn:
            if name == "pf.Mod":
                raise refuse(f"{name} is no type without its arguments; write {example}.matrix(rows, columns)")
            raise AbsentError(str(refuse(f"{name} has no .matrix; {BEYOND['matrix']}")))

        vector.__qualname__, matrix.__qualname__ = f"{name}.vector", f"{name}.matrix"
        vars(made).update(example=example, vector=vector, matrix=matrix)
        return made

    return decorate


class NotCalled:
    """Types are written without a call: `pf.Real`, not `pf.Real()`."""

    def __call__(self, *given: object) -> NoReturn:
        """Always an error."""
        if isinstance(self, SlotType) and self.modulus is None:
            most = max((abs(end) for end in given if isinstance(end, int | float)), default=0) or 10
            larger = "" if most <= self.bound else f", or {self!r}.bounded({most:g}) for up to {most:g}"
            raise refuse(f"{self!r} takes no range; write {self!r} for magnitudes up to {self.bound:g}{larger}")
        raise refuse(f"{self!r} takes nothing in parentheses; write {self!r}, or {self!r}.vector(10) for a vector")


def expect_single(kind: Type | SlotType) -> None:
    """Rejects types with several elements as the type of a vector's elements."""
    if not kind.scalar:
        raise refuse(
            f"{kind!r} has several elements, but elements of a vector are single values; declare one vector of all elements, or one input per part"
        )


class ElementKind(NotCalled):
    """Rejects attributes that TFHE's types lack, with a remedy."""

    def __getattr__(self, name: str) -> NoReturn:
        # Python and libraries probe for names with an underscore.
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        remedy = BEYOND.get(name, "types have .vector(length)")
        raise AbsentError(str(refuse(f"the type {self} has no .{name}; {remedy}")))


@dataclass(frozen=True)
class Type(ElementKind):
    """A truth value, an integer or a fraction, or a vector of them. A `scalar` has length 1, and is given and returned as one number."""

    kind: Literal["boolean", "integer", "fixed", "torus"]
    lo: int = 0
    """Least value."""
    hi: int = 1
    """Greatest value."""
    stride: int = field(default=1, kw_only=True)
    """The values are lo, lo + stride, .."""
    bits: int | None = field(default=None, kw_only=True)
    """For an integer, its declared width, at which it wraps, or `None` if it has a range. For a fraction, its bits."""
    split: bool = field(default=False, kw_only=True)
    """Whether each value is digits of two bits with one ciphertext each, instead of one ciphertext."""
    length: int = field(default=1, kw_only=True)
    scalar: bool = field(default=True, kw_only=True)

    @classmethod
    def of_element(cls, element: ElementType, length: int = 1, *, scalar: bool = True) -> Type:
        """The type of values with one ciphertext each."""
        if element.kind == "torus":
            bits = int(str(element).strip("torus[]"))
            half = 1 << (bits - 1)
            return Type("torus", -half, half - 1, bits=bits, length=length, scalar=scalar)
        lo, hi, stride = element.bounds
        kind: Literal["boolean", "integer"] = "boolean" if element.kind == "boolean" else "integer"
        return Type(kind, lo, hi, stride=stride, length=length, scalar=scalar)

    @property
    def element(self) -> ElementType:
        """The lower layers' type of one ciphertext."""
        if self.kind == "boolean":
            return ElementType.boolean()
        if self.kind == "torus":
            return ElementType.torus(self.bits or 1)
        return ElementType.integer(self.lo, self.hi, self.stride)

    @property
    def bounds(self) -> tuple[int, int]:
        """Least and greatest value."""
        return self.lo, self.hi

    @property
    def signed(self) -> bool:
        """Whether some value is below 0."""
        return self.lo < 0

    @property
    def wraps(self) -> bool:
        """Whether it is an integer of a declared width."""
        return self.kind == "integer" and self.bits is not None

    @property
    def exact(self) -> bool:
        """Whether it is an integer with a range, or a truth value."""
        return self.kind != "torus" and self.bits is None

    def takes(self, other: object) -> bool:
        """Whether a program that declares this type computes the same on values of the type `other`."""
        same = isinstance(other, Type) and (other.kind, other.length, other.scalar) == (
            self.kind,
            self.length,
            self.scalar,
        )
        return same and (self.bits, self.bits and self.bounds) == (other.bits, other.bits and other.bounds)  # type: ignore[attr-defined]

    def vector(self, length: int) -> Self:
        """A vector of `length` such elements."""
        expect_single(self)
        return self.of(whole("the length of a vector", length, 1, MOST_ELEMENTS), scalar=False)

    def of(self, length: int, *, scalar: bool) -> Self:
        """This type with `length` values, or as a single value."""
        return replace(self, length=length, scalar=scalar)

    @property
    def one(self) -> Type:
        """A single such value."""
        return self.of(1, scalar=True)

    # -- digits -----------------------------------------------------------------------------------------------------

    @property
    def width(self) -> int:
        """Bits of the digits: as declared, or as the range needs. With a sign, the last digit has both bits."""
        if self.bits:
            return self.bits
        needed = needed_bits(self.lo, self.hi)
        return needed + needed % 2 if self.signed else needed

    @property
    def size(self) -> int:
        """Number of digits of one integer."""
        return -(-self.width // 2)

    def digits(self, value: object) -> list[int]:
        """The digits of one value, least significant first."""
        number = self.whole(value)
        if not self.lo <= number <= self.hi or (number - self.lo) % self.stride:
            steps = f" in steps of {self.stride}" if self.stride > 1 else ""
            raise refuse(
                f"{number} is not of type {self.one}, from {self.lo} to {self.hi}{steps}; correct it, or use a wider type"
            )
        number &= (1 << self.width) - 1
        return [number >> 2 * place & 3 for place in range(self.size)]

    def number(self, digits: Sequence[int]) -> int:
        """The value with these digits."""
        value = sum(digit << 2 * place for place, digit in enumerate(digits)) & ((1 << self.width) - 1)
        return value - (1 << self.width) if self.signed and value >> (self.width - 1) else value

    def whole(self, value: object) -> int:
        """One value as a Python integer; numpy's bool counts as Python's."""
        return whole(f"a value of {self}", bool(value) if isinstance(value, np.bool_) else value)

    def wrap(self, value: int) -> int:
        """`value` modulo 2^bits of the width; unchanged for truth values and ranges."""
        if self.bits is None:
            return value
        value &= (1 << self.bits) - 1
        return value - (1 << self.bits) if self.signed and value >> (self.bits - 1) else value

    def elements(self, values: object) -> list[object]:
        """The user's values as a list."""
        if isinstance(values, int | np.integer):
            return [values]
        expect_unmasked(values)
        return list(np.asarray(values, dtype=object).reshape(-1))

    def given(self, flat: Sequence[Sequence[int]]) -> int | list[int] | str:
        """The user's form of the digits of each element."""
        numbers = [self.number(digits) for digits in flat]
        return numbers[0] if self.scalar else numbers

    def __str__(self) -> str:
        if self.kind == "integer" and self.bits is not None:
            name = f"{'sint' if self.signed else 'uint'}{self.bits}"
        elif self.kind == "boolean":
            name = "boolean"
        elif self.kind == "torus":
            name = f"torus[{self.bits}]"
        else:
            steps = f" by {self.stride}" if self.stride > 1 else ""
            name = f"integer[{self.lo}..{self.hi}{steps}]"
        return name if self.scalar else f"{name} x {self.length}"

    def __repr__(self) -> str:
        if self.kind == "integer" and self.bits is not None:
            named = f"pf.{'SInt' if self.signed else 'UInt'}({self.bits})"
        elif self.kind == "boolean":
            named = "pf.UInt(1)" if self.split else "pf.Bool"
        elif self.kind == "torus":
            named = f"pf.Torus({self.bits})"
        else:
            steps = f", step={self.stride}" if self.stride > 1 else ""
            named = f"pf.Int({self.lo}, {self.hi}{steps})"
        return named if self.scalar else f"{named}.vector({self.length})"


Bool = Type("boolean")
"""0 or 1."""

MOST_BITS = 4096
"""Most bits of an integer."""


@called_as("pf.Int(0, 7)")
def Int(lo: int, hi: int | None = None, *, step: int = 1) -> Type:  # noqa: N802 - used like a type
    """An integer from `lo` to `hi`; with `step`, one of lo, lo + step, .. Results are exact."""
    if hi is None:
        known = isinstance(lo, int) and 0 < lo <= MOST_BITS
        hi, bits = (lo, lo) if known else (7, 8)
        raise refuse(
            f"pf.Int({shown(lo)}) has one end; give both, as pf.Int(0, {hi}), or a width, as pf.UInt({bits}) or pf.SInt({bits})"
        )
    ends = (whole("the lower end of pf.Int", lo), whole("the upper end of pf.Int", hi))
    of = whole("the step of pf.Int", step, 1, FARTHEST)
    if ends[0] > ends[1]:
        raise refuse(f"pf.Int({ends[0]}, {ends[1]}) is empty; give the lower end first")
    if needed_bits(*ends) > MOST_BITS:
        raise refuse(f"pf.Int(lo, hi) needs more than {MOST_BITS} bits; narrow it")
    return Type("integer", ends[0], ends[1] - (ends[1] - ends[0]) % of, stride=of if ends[1] - ends[0] >= of else 1)


@called_as("pf.Torus(8)")
def Torus(bits: int) -> Type:  # noqa: N802 - used like a type
    """A fixed-point value modulo 1, in multiples of 2^-bits."""
    wide = whole("the width of pf.Torus", bits, 1, MOST_TORUS_BITS)
    return Type("torus", -(1 << (wide - 1)), (1 << (wide - 1)) - 1, bits=wide)


@dataclass(frozen=True)
class TextType(Type):
    """A text of at most `length` bytes, padded with zeros."""

    def elements(self, values: object) -> list[object]:
        """The bytes of a text, padded with zeros."""
        if not isinstance(values, str | bytes):
            return super().elements(values)
        return list(text_bytes(values).ljust(self.length, b"\0"))

    def given(self, flat: Sequence[Sequence[int]]) -> int | list[int] | str:
        """The text of these bytes, without trailing zeros."""
        return bytes(self.number(digits) for digits in flat).rstrip(b"\0").decode(errors="replace")

    def __str__(self) -> str:
        return f"text of {self.length} bytes"

    def __repr__(self) -> str:
        return f"pf.Text({self.length})"


@dataclass(frozen=True)
class Bitwise(Type):
    """An integer with a width, as digits of one bit. Programs that other compilers wrote in gates take and return them."""

    @classmethod
    def of_width(cls, bits: int) -> Bitwise:
        """With a sign."""
        kind = SInt(bits)
        return cls("integer", kind.lo, kind.hi, bits=bits, split=True)

    @property
    def size(self) -> int:
        """Number of bits."""
        return self.width

    def digits(self, value: object) -> list[int]:
        """The bits of one value, least significant first."""
        pairs = super().digits(value)
        return [pairs[place // 2] >> place % 2 & 1 for place in range(self.width)]

    def number(self, digits: Sequence[int]) -> int:
        """The value with these bits."""
        return super().number(
            [sum(bit << at for at, bit in enumerate(digits[place : place + 2])) for place in range(0, self.width, 2)]
        )


def text_bytes(text: str | bytes) -> bytes:
    """The bytes of a text in UTF-8. None of them may be 0, because zeros mark the end of a text."""
    try:
        given = text.encode() if isinstance(text, str) else text
    except UnicodeEncodeError as error:
        raise refuse(
            f"{text!r:.80} has half a surrogate pair at index {error.start}, which UTF-8 cannot encode; give the whole character"
        ) from None
    if 0 in given:
        raise refuse(
            f"{text!r:.80} has a 0 as byte {given.index(0)}, but zeros mark the end of a text; remove it, or declare a "
            "vector of pf.UInt(8)"
        )
    return given


@called_as("pf.UInt(8)")
def UInt(bits: int) -> Type:  # noqa: N802 - used like a type
    """An integer from 0 to 2^bits - 1; results wrap. `pf.UInt(1)` is a truth value, and a number from 0 to 1 in arithmetic."""
    wide = whole("the width of pf.UInt", bits, 1, MOST_BITS)
    if wide == 1:
        return Type("boolean", split=True)
    return Type("integer", 0, (1 << wide) - 1, bits=wide, split=True)


@called_as("pf.SInt(8)")
def SInt(bits: int) -> Type:  # noqa: N802 - used like a type
    """An integer from -2^(bits - 1) to 2^(bits - 1) - 1; results wrap."""
    wide = whole("the width of pf.SInt", bits, 1, MOST_BITS)
    return Type("integer", -(1 << (wide - 1)), (1 << (wide - 1)) - 1, bits=wide, split=True)


def needed_bits(*numbers: int) -> int:
    """The type of the narrowest width for all of these numbers, in two's complement if one is negative."""
    return max(1, max((~number if number < 0 else number).bit_length() for number in numbers) + (min(numbers) < 0))


def holding(*numbers: int) -> Type:
    """The type of this width."""
    return (SInt if min(numbers) < 0 else UInt)(needed_bits(*numbers))


@called_as("pf.Text(20)")
def Text(length: int) -> TextType:  # noqa: N802 - used like a type
    """A text of at most `length` bytes of UTF-8."""
    size = whole("the length of pf.Text", length, 1, MOST_ELEMENTS)
    return TextType("integer", 0, 255, bits=8, split=True, length=size, scalar=False)


def slot_count(what: str, given: object) -> int:
    """A number of slots."""
    return whole(what, given, 1, MOST_SLOTS, advised=RING_SLOTS)


def is_packed(modulus: int | None) -> bool:
    """Whether a ciphertext holds a vector of numbers modulo this: false for a power of two. `None` means CKKS."""
    return modulus is None or modulus & (modulus - 1) != 0


@dataclass(frozen=True)
class SlotType(NotCalled):
    """The values of CKKS and BGV: numbers in the slots of one ciphertext. A `scalar` is one number in every slot."""

    kind: Literal["real", "complex", "residue", "selector"]
    modulus: int | None = None
    """The plaintext modulus t of BGV: slots are integers modulo t."""
    length: int = 1
    scalar: bool = field(default=True)
    bound: float = field(default=1.0)
    """CKKS: largest absolute value of an input, which determines its precision."""
    shape: tuple[int, int] | None = None
    """Rows and columns of a matrix, which is stored in the slots row by row."""

    def takes(self, other: object) -> bool:
        """Whether values of the type `other` have the same number and kind; bounds apply only to inputs."""
        return isinstance(other, SlotType) and replace(other, bound=self.bound) == self

    @property
    def selector(self) -> SlotType:
        """An encrypted bit that multiplies and selects such numbers, and vectors of them, without a level: `pf.where(bit, x, y)`."""
        return SlotType("selector", self.modulus)

    def vector(self, length: int) -> SlotType:
        """A vector of `length` such numbers; slots beyond it hold zeros."""
        expect_single(self)
        if self.kind == "selector":
            raise refuse(f"{self!r} is one bit, which selects whole vectors; declare one for each bit")
        if not self.packed:
            raise refuse(
                f"modulo {self.modulus}, a power of two, a ciphertext holds one number, not a vector; declare {length} "
                "numbers, or use a prime modulus, as pf.Mod(65537)"
            )
        return replace(self, length=slot_count("the length of a vector", length), scalar=False, shape=None)

    def matrix(self, rows: int | tuple[int, int], columns: int | None = None) -> SlotType:
        """A matrix of such numbers, row by row in the slots; slots beyond it hold zeros. The shape may also be given as a tuple."""
        if columns is None:
            if not isinstance(rows, tuple | list) or len(rows) != 2:
                raise refuse(f"the shape of a matrix is {shown(rows)}; give its rows and columns, as .matrix(3, 4)")
            rows, columns = rows
        shape = (slot_count("the rows of a matrix", rows), slot_count("the columns of a matrix", columns))
        return replace(self.vector(shape[0] * shape[1]), shape=shape)

    def bounded(self, bound: float) -> SlotType:
        """Such numbers with absolute values up to `bound`; the default is 1."""
        if self.modulus is not None or self.kind == "selector":
            values = "selectors" if self.kind == "selector" else f"integers modulo {self.modulus}"
            raise refuse(f"{values} have no other bound; remove .bounded()")
        try:
            given = float(bound)
        except (TypeError, ValueError, OverflowError):
            given = inf
        if not 0 < given < inf:
            raise refuse(f"the bound of a type is {shown(bound)}; give a positive, finite number")
        return replace(self, bound=given)

    @property
    def packed(self) -> bool:
        """Whether a ciphertext holds a vector of them: false modulo a power of two."""
        return is_packed(self.modulus)

    @property
    def dimensions(self) -> tuple[int, ...]:
        """numpy's shape: () for a single number, the length of a vector, rows and columns of a matrix."""
        return () if self.scalar else self.shape or (self.length,)

    @property
    def scheme(self) -> str:
        """The scheme that computes on it."""
        return "ckks" if self.modulus is None else "bgv"

    def __str__(self) -> str:
        if self.kind == "selector":
            return "selector"
        name = self.kind if self.modulus is None else f"{self.kind} mod {self.modulus}"
        if self.shape is not None:
            return f"{name} x {self.shape[0]} x {self.shape[1]}"
        return name if self.scalar else f"{name} x {self.length}"

    def __repr__(self) -> str:
        if self.kind == "selector":
            return "pf.Real.selector" if self.modulus is None else f"pf.Mod({self.modulus}).selector"
        named = f"pf.{self.kind.capitalize()}" if self.modulus is None else f"pf.Mod({self.modulus})"
        bounded = f".bounded({self.bound:g})" if self.modulus is None and self.bound != 1 else ""
        shaped = f".matrix{self.shape}" if self.shape else "" if self.scalar else f".vector({self.length})"
        return named + bounded + shaped


Real = SlotType("real")
"""A real number, with CKKS."""

Complex = SlotType("complex")
"""A complex number, with CKKS."""


@called_as("pf.Mod(65537)")
def Mod(modulus: int) -> SlotType:  # noqa: N802 - used like a type
    """An integer modulo t, with BGV: exact.

    A prime t ≡ 1 modulo twice the ring degree, such as 65537 up to degree 32768, has slots for vectors. Modulo a power of two a
    ciphertext holds one number, which can be bootstrapped: `pf.Mod(2)` is a bit, with + as XOR and * as AND.
    """
    t = whole("the modulus of pf.Mod", modulus, 2, (1 << 60) - 1)
    return SlotType("residue", t, bound=t / 2)
