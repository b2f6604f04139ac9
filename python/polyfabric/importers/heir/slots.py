"""The meaning of `ckks`, `bgv` and `lwe` operations: vectors of slots of the language.

HEIR computes on n numbers that repeat over all slots of its ring, so that rotations are cyclic over n. A program here has n slots; with BGV
2n, because its two rows rotate separately, and both rows hold the n numbers. Levels and scales are planned again, so the operations that
place them change no value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...language import slot_functions
from ...language.place import located
from .evaluation import Plain, Values, integer
from .numbers import Place
from .tree import Operation, Tensor

KEPT = frozenset(
    {
        "relinearize",
        "rescale",
        "modulus_switch",
        "modulus_switch_to",
        "level_reduce",
        "level_reduce_min",
        "bootstrap",
        "rotate_rows",
    }
)
"""Operations that change the form of a ciphertext, but not its numbers. Both rows hold the same numbers."""


_CHEBYSHEV = frozenset({"coefficients", "heir.kernel_info"})


class Opaque:
    """Stands for every ciphertext where only the plaintexts matter."""

    def __add__(self, _other: object) -> Opaque:
        return self

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __add__

    def __neg__(self) -> Opaque:
        return self

    def rotate(self, _steps: int) -> Opaque:
        """The same."""
        return self


class Slots:
    """Executes on vectors of slots. A ciphertext is a value of the language, or an array if its numbers are public."""

    def __init__(
        self, slots: int, rows: int, modulus: int | None, file: str, given: dict[tuple[int, ...], Any] | None
    ) -> None:
        self.slots, self.rows, self.modulus, self.file = slots, rows, modulus, file
        self.given = given
        """The encrypted vectors for plaintexts of the client's public numbers, by their places; `None` to find out which are needed."""
        self.needed: list[tuple[int, ...]] = []
        """The places of such plaintexts."""

    def operation(self, one: Operation, operands: Values) -> Values | None:
        """See `Scheme`."""
        dialect, _, name = one.name.partition(".")
        if one.name in ENCODED:
            return [ENCODED[one.name](self, one, operands)]
        if dialect in ("ckks", "bgv", "lwe", "mgmt", "kernel"):
            if name in KEPT:
                return [self._expect(operands[0])]
            with located(self.file, one.line):
                if name in ("rotate", "rotate_cols"):
                    return [self._rotated(one, operands)]
                if name in ("negate", "rnegate"):
                    return [self._reduced(-self._expect(operands[0]))]
                if name == "apply_linear_transform":
                    return [self._transformed(one, operands[0], operands[1])]
                if name == "linear_transform":
                    return [self._transformed(one, operands[0], self._prepare_linear_transform(one, operands[1:]))]
                if name == "eval_chebyshev":
                    return [self._chebyshev(one, operands[0])]
                kind = name.removeprefix("r").removesuffix("_plain")
                if kind in ("add", "sub", "mul") and len(operands) == 2:
                    return [self._combined(kind, *(self._cipher(own) for own in operands))]
        return None

    def _expect(self, value: Any) -> Any:  # noqa: ANN401 - a ciphertext
        if value is None or isinstance(value, int | float | str | dict | Place | Plain):
            raise ValueError("an operand is no ciphertext")
        return value

    def _cipher(self, value: Any) -> Any:  # noqa: ANN401 - a ciphertext, or public numbers
        return self.encrypted(value) if isinstance(value, Plain) else self._expect(value)

    def encrypted(self, plain: Plain) -> Any:  # noqa: ANN401 - a ciphertext, or public numbers
        """A plaintext as an operand: public numbers, or the encrypted vector of numbers that the client gives."""
        if plain.slots.dtype != object:
            return plain.slots
        places = places_of(plain.slots)
        if self.given is not None:
            return self.given[places]
        if places not in self.needed:
            self.needed.append(places)
        return Opaque()

    def _combined(self, kind: str, a: Any, b: Any) -> Any:  # noqa: ANN401 - ciphertexts, or public numbers
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            # A product of two residues may exceed 64 bits.
            a = a if self.modulus is None else a.astype(object)
            found = self._reduced(a + b if kind == "add" else a - b if kind == "sub" else a * b)
            return found if self.modulus is None else found.astype(np.int64)
        public, other = (a, b) if isinstance(a, np.ndarray) else (b, a) if isinstance(b, np.ndarray) else (None, None)
        if public is not None:
            # No operation, where none is needed.
            if kind == "mul" and not public.any():
                return public
            if kind == "mul" and (public == 1).all():
                return other
            if kind != "mul" and not public.any() and (kind == "add" or public is b):
                return other
            if isinstance(other, Opaque):
                return other
            public = np.tile(public, self.rows)
            if (public == public[0]).all():
                public = public[0].item()
            if kind == "sub" and isinstance(a, np.ndarray):
                return (-other) + public
            return other + public if kind == "add" else other - public if kind == "sub" else other * public
        return a + b if kind == "add" else a - b if kind == "sub" else a * b

    def _reduced(self, value: Any) -> Any:  # noqa: ANN401 - a ciphertext, or public numbers
        return value % self.modulus if self.modulus is not None and isinstance(value, np.ndarray) else value

    def _rotated(self, one: Operation, operands: Values) -> Any:  # noqa: ANN401 - a ciphertext
        """Slot i takes slot i + k, for an operand or attribute k."""
        return self._turned(
            self._expect(operands[0]), integer(operands[1] if len(operands) > 1 else one.attributes["static_shift"])
        )

    def _turned(self, value: Any, shift: int) -> Any:  # noqa: ANN401 - a ciphertext
        steps = shift % self.slots
        if steps == 0 or isinstance(value, Opaque):
            return value
        return np.roll(value, -steps) if isinstance(value, np.ndarray) else value.rotate(steps)

    def _transformed(self, one: Operation, value: Any, diagonals: list[NDArray[Any]]) -> Any:  # noqa: ANN401 - a ciphertext
        """Σ diagonal · rotation."""
        total: Any = None
        for shift, diagonal in zip(one.attributes["diagonal_indices"], diagonals, strict=True):
            product = self._combined("mul", self._turned(self._expect(value), integer(shift)), diagonal)
            total = product if total is None else self._combined("add", total, product)
        if total is None:
            raise ValueError("it has no diagonals")
        return total

    def _prepare_linear_transform(self, _one: Operation, operands: Values) -> list[NDArray[Any]]:
        if not isinstance(operands[0], np.ndarray) or operands[0].ndim != 2:
            raise ValueError("its diagonals are no tensor of rows")
        return [self._filled(row) for row in operands[0]]

    def _chebyshev(self, one: Operation, value: Any) -> Any:  # noqa: ANN401 - a ciphertext
        """A polynomial on [-1, 1] with coefficients of Chebyshev polynomials."""
        coefficients = np.asarray(one.attributes["coefficients"], dtype=float)
        if coefficients.ndim != 1 or not coefficients.size or set(one.attributes) - _CHEBYSHEV:
            raise ValueError(f"it has the attributes {', '.join(one.attributes)}; supported are coefficients alone")
        if isinstance(self._expect(value), np.ndarray):
            return np.polynomial.chebyshev.chebval(value, coefficients)
        if isinstance(value, Opaque):
            return value
        return slot_functions.chebyshev(value, np.append(coefficients, 0) if coefficients.size == 1 else coefficients)

    # -- plaintexts -------------------------------------------------------------------------------------------------

    def _filled(self, values: Any) -> NDArray[Any]:  # noqa: ANN401 - whatever is encoded
        """One number, or place, for each slot. Fewer numbers than slots repeat."""
        if not isinstance(values, np.ndarray):
            found = np.empty(
                1, dtype=object if isinstance(values, Place) else float if self.modulus is None else np.int64
            )
            found[0] = values
            values = found
        flat = values.reshape(-1)
        if not flat.size or self.slots % flat.size:
            raise ValueError(f"{flat.size} numbers are encoded, but vectors have {self.slots} slots")
        if flat.dtype != object and self.modulus is not None:
            flat = flat % self.modulus
        return np.tile(flat, self.slots // flat.size)

    def _rlwe_encode(self, _one: Operation, operands: Values) -> Plain:
        return Plain(self._filled(operands[0]))

    def _rlwe_encrypt(self, _one: Operation, operands: Values) -> Any:  # noqa: ANN401 - a plaintext
        if not isinstance(operands[0], Plain):
            raise ValueError("it takes an encoded plaintext")
        return operands[0]

    def _rlwe_decrypt(self, _one: Operation, operands: Values) -> Any:  # noqa: ANN401 - a ciphertext
        return operands[0]

    def _rlwe_decode(self, one: Operation, operands: Values) -> NDArray[Any]:
        kind, plain = one.kinds[0], operands[0]
        if not isinstance(plain, Plain):
            raise ValueError("it takes a plaintext")
        if not isinstance(kind, Tensor) or None in kind.shape or int(np.prod(kind.shape)) > plain.slots.size:  # type: ignore[arg-type]
            raise ValueError(f"a plaintext of {plain.slots.size} slots is not of type {kind}")
        return plain.slots[: int(np.prod(kind.shape))].reshape(kind.shape)  # type: ignore[arg-type]


ENCODED: dict[str, Callable[[Slots, Operation, Values], Any]] = {
    "kernel.prepare_linear_transform": Slots._prepare_linear_transform,
    "lwe.rlwe_decode": Slots._rlwe_decode,
    "lwe.rlwe_decrypt": Slots._rlwe_decrypt,
    "lwe.rlwe_encode": Slots._rlwe_encode,
    "lwe.rlwe_encrypt": Slots._rlwe_encrypt,
}
"""Operations on plaintexts, and those of clients, which only move numbers."""


def places_of(slots: NDArray[Any]) -> tuple[int, ...]:
    """The index of the argument's number in each slot; -1 for 0. Raises `ValueError` for other public numbers."""
    found = []
    for own in slots.tolist():
        if isinstance(own, Place):
            found.append(own.index)
        elif own == 0 or own is None:
            found.append(-1)
        else:
            raise ValueError(f"a packing has the public number {own} besides the argument's; only 0 is supported")
    return tuple(found)
