"""What encrypted numbers in slots do not do, and what to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from .instead import Absences
from .place import refuse

if TYPE_CHECKING:
    from .slots import SlotTracer


class Refusals:
    """Operators without a polynomial, each refused with the way around."""

    __slots__ = ()
    __hash__ = Absences.__hash__
    _tracer: SlotTracer

    def __bool__(self) -> bool:
        raise refuse(
            "an encrypted number decides no branch: its value is not known to the program; compute both sides and "
            "combine them with a mask, c * a + (1 - c) * b; of 0 and 1, a * b is `and`, a + b - a * b `or`, and 1 - a `not`"
        )

    def _as_number(self) -> NoReturn:
        raise self._tracer.asked(
            "an encrypted number is no Python number, nor an index, nor an element of a numpy array of numbers; keep computing on it, and "
            "decrypt the output"
        )

    __int__ = __index__ = __float__ = __complex__ = _as_number

    def _compared(self, _other: object) -> NoReturn:
        remedy = (
            "use" if self._tracer.modulus is not None else "use pf.sign of the difference, which is a polynomial, or"
        )
        raise refuse(
            f"{self._tracer.scheme} does not compare encrypted numbers; {remedy} the integers of TFHE, pf.UInt(bits) or pf.Int(lo, hi)"
        )

    # `in` compares as well.
    __contains__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _compared  # type: ignore[assignment]

    def _rounded(self, *_others: object) -> NoReturn:
        raise refuse(
            f"{self._tracer.scheme} does not round, nor divide with a remainder: these are no polynomials; round the "
            "decrypted output, or use the integers of TFHE, pf.UInt(bits) or pf.SInt(bits)"
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
        raise refuse("an absolute value is no polynomial; for numbers in [-1, 1], x * pf.sign(x) is close to it")

    def __rpow__(self, base: object) -> NoReturn:
        if self._tracer.modulus is not None:
            raise refuse(
                f"BGV has no encrypted exponents; declare x as an integer of TFHE, pf.UInt(4), and use pf.Table(lambda i: {base!r} ** i)[x]"
            )
        raise refuse(
            f"{base!r} to an encrypted power is no polynomial; approximate it, as "
            "pf.chebyshev(x, lambda u: base**u, degree, (lo, hi))"
        )

    def __rtruediv__(self, _other: object) -> NoReturn:
        self._divides_residues()
        raise refuse(
            "public numbers do not divide by encrypted ones; use a polynomial for the reciprocal, such as "
            "pf.chebyshev(y, lambda y: 1 / y, degree, (lo, hi))"
        )

    def _divides_residues(self) -> None:
        if self._tracer.modulus is not None:
            raise refuse("BGV does not divide by encrypted numbers; use the integers of TFHE, pf.UInt(bits), and //")
