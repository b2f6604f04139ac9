"""Operations that encrypted numbers in slots lack, with the code to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from ..errors import ProgramError
from .instead import Absences
from .place import refuse

if TYPE_CHECKING:
    from .slots import SlotTracer


class Rounds(Exception):  # noqa: N818 - not a user's error: the program is traced as one with integers
    """Real numbers are rounded or compared, or used so that they may be: `refusal` is the error if they are not."""

    def __init__(self, refusal: ProgramError | None = None) -> None:
        self.refusal = refusal


class Refusals:
    """Operators that are not polynomials: each raises an error with a remedy."""

    __slots__ = ()
    __hash__ = Absences.__hash__
    _tracer: SlotTracer

    def __bool__(self) -> bool:
        raise refuse(
            "an encrypted number cannot decide a branch, because its value is unknown; compute both sides and "
            "combine them with a mask, c * a + (1 - c) * b; for 0 and 1, a * b is `and`, a + b - a * b `or`, and 1 - a `not`"
        )

    def _as_number(self) -> NoReturn:
        raise self._tracer.asked(
            "an encrypted number cannot become a Python number, an index or an element of a numpy array of numbers; approximate the whole "
            "function, as pf.chebyshev(x, lambda u: 1 / (1 + np.exp(-u)), 15, (-8, 8))"
        )

    __int__ = __index__ = __float__ = __complex__ = _as_number

    def quantize(self, *_given: object, **_options: object) -> NoReturn:
        """The integers nearest to x / step, in a program for batches: `RealValue.quantize`."""
        self._expect_rounding()
        raise refuse(
            f"{self._tracer.scheme} cannot round numbers in slots; leave scheme= and slots= out, for a program on batches"
        )

    def argmax(self, **_options: object) -> NoReturn:
        """The index of the greatest element, in a program for batches: `RealValue.argmax`."""
        self.quantize()

    def _expect_rounding(self) -> None:
        """Traces the program again if it may have integers too."""
        if self._rounds_in_batches():
            raise Rounds

    def _rounds_in_batches(self) -> bool:
        return self._tracer.may_round and self._tracer.modulus is None

    def _ordered(self, other: object) -> NoReturn:
        self._expect_rounding()
        self._compared(other)

    def _compared(self, _other: object) -> NoReturn:
        remedy = (
            "use"
            if self._tracer.modulus is not None
            else "use pf.sign of the difference, which is a polynomial, x > y without scheme= and slots=, for batches, or"
        )
        raise refuse(
            f"{self._tracer.scheme} cannot compare encrypted numbers; {remedy} the integers of TFHE, pf.UInt(bits) or pf.Int(lo, hi)"
        )

    # `in` also compares.
    __contains__ = __eq__ = __ne__ = _compared  # type: ignore[assignment]
    __lt__ = __le__ = __gt__ = __ge__ = _ordered

    def _rounded(self, *_others: object) -> NoReturn:
        batches = "x.quantize(pf.Int(lo, hi), step) for batches, or " if self._rounds_in_batches() else ""
        raise refuse(
            f"{self._tracer.scheme} cannot round or divide with a remainder, which are not polynomials; round the "
            f"decrypted output, or use {batches}the integers of TFHE, pf.UInt(bits) or pf.SInt(bits)"
        )

    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = _rounded
    __round__ = __floor__ = __ceil__ = __trunc__ = _rounded

    def _bitwise(self, *_others: object) -> NoReturn:
        raise refuse(
            f"{self._tracer.scheme} has no bits of encrypted numbers: for bits, + is XOR and * is AND of pf.Mod(2); for a "
            "shift to the left, multiply with a power of two"
        )

    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _bitwise
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _bitwise

    def __abs__(self) -> NoReturn:
        if self._tracer.modulus is not None:
            raise refuse(
                "integers modulo t have no absolute value; use the integers of TFHE, pf.SInt(bits) or pf.Int(lo, hi)"
            )
        raise refuse(
            "an absolute value is not a polynomial; for numbers in [-1, 1] use the approximation x * pf.sign(x)"
        )

    def __rpow__(self, base: object) -> NoReturn:
        if self._tracer.modulus is not None:
            raise refuse(
                f"BGV has no encrypted exponents; declare x as an integer of TFHE, pf.UInt(4), and use pf.lookup(x, lambda i: {base!r} ** i)"
            )
        raise refuse(
            f"{base!r} to an encrypted power is not a polynomial; approximate it, as "
            "pf.chebyshev(x, lambda u: base**u, degree, (lo, hi))"
        )

    def __rtruediv__(self, _other: object) -> NoReturn:
        self._divides_residues()
        raise refuse(
            "encrypted numbers cannot be divisors; use a polynomial for the reciprocal, such as "
            "pf.chebyshev(y, lambda y: 1 / y, degree, (lo, hi))"
        )

    def _divides_residues(self) -> None:
        if self._tracer.modulus is not None:
            raise refuse("BGV cannot divide by encrypted numbers; use the integers of TFHE, pf.UInt(bits), and //")
