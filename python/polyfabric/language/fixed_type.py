"""The type of fixed-point numbers: an integer of a declared width in steps of 2^-point, with its rounding and its overflow.

`pf.Fixed(16, 8)` holds the multiples of 1/256 from -128 to 127 + 255/256: the number 1.5 is the integer 384 = 1.5 * 2^8. Inside a program's
reference, its values are exact fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from math import floor, isfinite, trunc
from typing import Any, Literal, get_args

import numpy as np

from ..errors import shown
from .place import expect_unmasked, refuse, whole
from .types import MOST_BITS, Type, called_as, needed_bits

Rounding = Literal["floor", "nearest", "zero"]
Overflow = Literal["wrap", "saturate", "refuse"]

ROUND: Mapping[Rounding, Callable[[Fraction], int]] = {"floor": floor, "nearest": round, "zero": trunc}
"""Python's rule of each rounding. `round` takes the even one of two equally near integers."""

FLOAT_BITS = 53
"""Up to this width every number is a float; wider ones are returned as fractions."""

MOST_EXPONENT = 5000
"""Greatest decimal exponent of a public number: no type holds numbers beyond."""


@dataclass(frozen=True)
class FixedType(Type):
    """A fixed-point number, or a vector of them. `lo` and `hi` are the least and the greatest integer; the number is 2^-point times that."""

    point: int = field(default=0, kw_only=True)
    """Bits after the binary point."""
    rounding: Rounding = field(default="floor", kw_only=True)
    overflow: Overflow = field(default="wrap", kw_only=True)

    @property
    def wraps(self) -> bool:
        """True: it has a declared width."""
        return True

    @property
    def modes(self) -> tuple[Rounding, Overflow]:
        """Rounding and overflow."""
        return self.rounding, self.overflow

    def takes(self, other: object) -> bool:
        """Whether a program that declares this type computes the same on values of the type `other`."""
        return self == other

    # -- values -----------------------------------------------------------------------------------------------------

    def steps(self, value: Fraction | int) -> int:
        """A number in steps of 2^-point, rounded."""
        return ROUND[self.rounding](Fraction(value) * (1 << self.point))

    def rounded(self, value: Fraction | int) -> Fraction:
        """A number as a multiple of 2^-point, which may be beyond the type."""
        return Fraction(self.steps(value), 1 << self.point)

    def wrap(self, value: Fraction | int) -> Fraction:  # type: ignore[override]
        """A multiple of 2^-point as the declared overflow leaves it."""
        steps = self.steps(value)
        kept = min(max(steps, self.lo), self.hi) if self.overflow == "saturate" else super().wrap(steps)
        return Fraction(kept, 1 << self.point)

    def constant(self, value: object) -> Fraction:
        """A public number, rounded to this type; refused beyond it."""
        given = number(f"a value of {self.one}", value)
        if not self.lo <= self.steps(given) <= self.hi:
            ends = " to ".join(str(self.user(Fraction(end, 1 << self.point))) for end in self.bounds)
            raise refuse(
                f"{value if isinstance(value, Decimal) else shown(value)} is not of type {self.one}, from {ends}; correct it, or use a wider type, as {self.wider(given)!r}"
            )
        return self.rounded(given)

    def wider(self, value: Fraction) -> FixedType:
        """The type with as many more bits as this number needs."""
        low = min(self.lo, self.steps(value))
        bits = needed_bits(low, max(self.hi, self.steps(value)))
        return self.one._spanning(min(bits, MOST_BITS), signed=low < 0)

    def _spanning(self, bits: int, *, signed: bool) -> FixedType:
        """The type with another width."""
        half = 1 << (bits - 1)
        lo, hi = (-half, half - 1) if signed else (0, 2 * half - 1)
        return replace(self, lo=lo, hi=hi, bits=bits)

    def user(self, value: Fraction) -> float | Fraction:
        """A number as users get it: a float, or a fraction if not every number of this width is a float."""
        return float(value) if self.width <= FLOAT_BITS and Fraction(float(value)) == value else value

    # -- the forms of inputs and outputs ----------------------------------------------------------------------------

    def whole(self, value: object) -> int:
        """A user's number in steps of 2^-point."""
        return self.steps(self.constant(value))

    def number(self, digits: Sequence[int]) -> Fraction:  # type: ignore[override]
        """The number with these digits."""
        return Fraction(super().number(digits), 1 << self.point)

    def elements(self, values: object) -> list[object]:
        """The user's numbers as a list."""
        return numbers_of(values).reshape(-1).tolist()

    def given(self, flat: Sequence[Sequence[int]]) -> Any:  # noqa: ANN401 - a number, or a list of them
        """The user's form of the digits of each element."""
        numbers = [self.user(self.number(digits)) for digits in flat]
        return numbers[0] if self.scalar else numbers

    # -- as text and data ---------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """What it has beyond an integer, as data."""
        return {"point": self.point, "rounding": self.rounding, "overflow": self.overflow}

    def __str__(self) -> str:
        modes = [mode for mode, usual in zip(self.modes, USUAL, strict=True) if mode != usual]
        name = " ".join([f"{'' if self.signed else 'u'}fixed[{self.bits}, {self.point}]", *modes])
        return name if self.scalar else f"{name} x {self.length}"

    def __repr__(self) -> str:
        options = [
            f"{name}={mode!r}" for name, mode, usual in zip(NAMES, self.modes, USUAL, strict=True) if mode != usual
        ]
        signed = [] if self.signed else ["signed=False"]
        named = f"pf.Fixed({', '.join([str(self.bits), str(self.point), *signed, *options])})"
        return named if self.scalar else f"{named}.vector({self.length})"


NAMES = ("rounding", "overflow")
USUAL: tuple[Rounding, Overflow] = ("floor", "wrap")


@called_as("pf.Fixed(16, 8)")
def Fixed(  # noqa: N802 - used like a type
    bits: int, point: int, *, signed: bool = True, rounding: Rounding = "floor", overflow: Overflow = "wrap"
) -> FixedType:
    """A fixed-point number of `bits` bits, `point` of them after the binary point: `pf.Fixed(16, 8)` is a multiple of 1/256 from -128 to 127.996.

    Exact results are rounded to their type: down ("floor"), to the nearest, ties to even ("nearest"), or toward 0 ("zero"). Beyond the type they
    `wrap`, `saturate` at its ends, or are refused: `run` and `clear` then reject such inputs before anything is encrypted.
    """
    wide = whole("the width of pf.Fixed", bits, 2, MOST_BITS)
    after = whole(f"the point of pf.Fixed({wide}, ..)", point, 0, wide)
    for name, mode, known in (("rounding", rounding, get_args(Rounding)), ("overflow", overflow, get_args(Overflow))):
        if mode not in known:
            raise refuse(f"{name}={shown(mode)} of pf.Fixed; give {', '.join(map(repr, known[:-1]))} or {known[-1]!r}")
    if not isinstance(signed, bool):
        raise refuse(f"signed={shown(signed)} of pf.Fixed; give True or False")
    made = FixedType("fixed", bits=wide, split=True, point=after, rounding=rounding, overflow=overflow)
    return made._spanning(wide, signed=signed)


def common(first: FixedType, *others: Type) -> FixedType:
    """The narrowest type that holds the values of all, which are fixed-point numbers and integers. Its modes are those of all fixed-point numbers."""
    point = max(first.point, *(_point(kind) for kind in others), 0)
    for kind in others:
        if isinstance(kind, FixedType) and kind.modes != first.modes:
            raise refuse(
                f"{first.one} and {kind.one} differ in rounding or overflow; cast one of them, as "
                f"y.cast({replace(kind.one, rounding=first.rounding, overflow=first.overflow)!r})"
            )
    ends = [end << (point - _point(kind)) for kind in (first, *others) for end in kind.bounds]
    bits = needed_bits(*ends)
    if bits > MOST_BITS:
        raise refuse(
            f"a result needs {bits} bits, but types have at most {MOST_BITS}; cast an operand to a narrower type first"
        )
    return replace(first.one, point=point)._spanning(max(bits, 2), signed=min(ends) < 0)


def _point(kind: Type) -> int:
    return kind.point if isinstance(kind, FixedType) else 0


def number(what: str, value: object) -> Fraction:
    """A public number as a fraction, without an error."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Fraction):
        return value
    if isinstance(value, float | np.longdouble) and isfinite(value):
        return Fraction(*value.as_integer_ratio())
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) <= MOST_EXPONENT:
        return Fraction(value)
    if isinstance(value, float | np.longdouble | Decimal | complex | str | bytes):
        raise refuse(f"{what} is {shown(value)}; give a finite real number, as 1.25, 3 or fractions.Fraction(5, 4)")
    return Fraction(whole(what, value))


def numbers_of(values: object) -> np.ndarray[Any, Any]:
    """Public numbers as an array of Python's numbers."""
    expect_unmasked(values)
    try:
        return np.asarray(values, dtype=object)
    except ValueError:
        raise refuse("the rows of a public operand have different lengths; give them one length") from None


def plain_number(value: Any) -> Any:  # noqa: ANN401 - any value
    """A value for JSON and texts: a fraction as an exact decimal number, all others as they are."""
    return _decimal(value) if isinstance(value, Fraction) else value


def _decimal(value: Fraction) -> str:
    """A multiple of a power of two as an exact decimal number."""
    places = value.denominator.bit_length() - 1
    digits = f"{abs(value.numerator) * 5**places:0{places + 1}d}"
    whole_part, after = digits[: len(digits) - places], digits[len(digits) - places :]
    return f"{'-' if value < 0 else ''}{whole_part}{'.' if after else ''}{after}"
