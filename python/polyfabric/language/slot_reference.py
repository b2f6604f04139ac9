"""The meaning of a traced CKKS or BGV function, as steps on numpy arrays: the reference for decrypted results.

Every operation is recorded as the user wrote it, before it is rewritten into rotations and masks. `x.sum(axis=1)` on a matrix of 3 x 4 is one step,
`np.sum(x, axis=1)`, not the five nodes of the program. An error in the rewriting is therefore not in the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .place import place, refuse

if TYPE_CHECKING:
    from .slots import SlotValue

P = ParamSpec("P")
Array = NDArray[Any]

SLACK = 2.0**-20
"""Tolerated excess beyond an interval's end, as a fraction of its width, for rounding; as in the Rust half."""

NARROW = 1 << 23
"""For residues below this, sums of 2^16 products fit 64 bits."""


@dataclass(frozen=True)
class Step:
    """One operation."""

    compute: Callable[..., Any]
    """A function of the operands' arrays."""
    operands: tuple[int, ...]
    """Indices of earlier steps."""
    shape: tuple[int, ...]
    """Shape of the result; () for a single number."""
    place: tuple[str, int]
    """File and line in the user's function."""


class Operand:
    """An encrypted operand of slots whose operators take precedence over theirs."""

    __slots__ = ()


class Reference:
    """The steps of one program, in order."""

    def __init__(self, slots: int, rows: int, modulus: int | None) -> None:
        self.slots, self.rows, self.modulus = slots, rows, modulus
        self.steps: list[Step | str] = []
        """The steps; an input is its name."""
        self.outputs: dict[str, int] = {}
        self.rewriting = False
        """Whether an operation is being rewritten. Operations inside the rewriting are not recorded."""

    # -- recording ------------------------------------------------------------------------------------------------

    def input(self, name: str) -> int:
        """Records an input."""
        self.steps.append(name)
        return len(self.steps) - 1

    def record(
        self, operands: Sequence[SlotValue], rewrite: Callable[[], SlotValue], compute: Callable[..., Any]
    ) -> SlotValue:
        """The result of `rewrite` on the operands, recorded as one step."""
        if self.rewriting:
            return rewrite()
        assert all(value.step is not None for value in operands)
        self.rewriting = True
        try:
            made = rewrite()
        finally:
            self.rewriting = False
        self.steps.append(Step(compute, tuple(int(value.step) for value in operands), made.shape, place()))
        return made.at_step(len(self.steps) - 1)

    def number(self, given: Any) -> Any:  # noqa: ANN401 - numbers of any library
        """Public numbers in the form of the steps; copied, since the user's array may change."""
        numbers = np.asarray(given)
        if self.modulus is not None:
            return self._reduced(numbers.astype(np.int64))
        return np.array(numbers, dtype=complex if np.iscomplexobj(numbers) else float)

    @property
    def _integers(self) -> type:
        """The dtype of residues: Python integers if products exceed 64 bits."""
        return np.int64 if self.modulus is not None and self.modulus < NARROW else object

    # -- what the steps need of the slots -------------------------------------------------------------------------

    def filled(self, values: Array) -> Array:
        """A vector padded with zeros to all slots, arranged in the rows that rotate separately."""
        flat = values.reshape(-1)
        return np.concatenate([flat, np.zeros(self.slots - flat.size, dtype=flat.dtype)]).reshape(self.rows, -1)

    def rotated(self, values: Array, steps: int) -> Array:
        """All slots, with each row rotated to the left. A single number is in every slot."""
        if values.ndim == 0:
            return values
        rows = self.filled(values)
        return np.roll(rows, -int(steps) % rows.shape[1], axis=1).reshape(-1)

    def swapped(self, values: Array) -> Array:
        """All slots, with the two rows exchanged."""
        return values if values.ndim == 0 else self.filled(values)[::-1].reshape(-1)

    def repeated(self, values: Array, slots: int | None = None) -> Array:
        """In every slot, the mean of those at multiples of `slots` from it."""
        if slots is None or values.ndim == 0:
            return values
        means = values.reshape(-1, slots).mean(axis=0)
        return np.tile(means, values.size // slots)

    def diagonals(self, values: Array, factors: Iterable[tuple[int, Array]]) -> Array:
        """Σ factors · (all slots rotated by their offset); shorter factors repeat."""
        rows = self.filled(values)
        total = np.zeros(self.slots, dtype=rows.dtype)
        for offset, own in factors:
            turned = np.roll(rows, -offset, axis=1).reshape(-1, len(own))
            total = total + (turned * own).reshape(-1)
        return total

    def polynomial(self, values: Array, coefficients: Array, interval: tuple[float, float] | None = None) -> Array:
        """A polynomial with coefficients of powers, or of Chebyshev polynomials on an interval, which rejects values outside."""
        if interval is not None:
            low, high = interval
            slack = (high - low) * SLACK
            inside = (values.real >= low - slack) & (values.real <= high + slack) & (np.abs(values.imag) <= slack)
            if not inside.all():
                slot = int(np.argmin(inside))
                value = values.reshape(-1)[slot]
                raise InputError(
                    f"a polynomial approximates its function from {low:g} to {high:g}, but with these inputs slot {slot} of its operand is "
                    f"{value.real if value.imag == 0 else value:g}; widen the interval, or scale the inputs"
                )
            on_unit = (2 * values - (low + high)) / (high - low)
            return np.asarray(np.polynomial.chebyshev.chebval(on_unit, coefficients))
        total = np.zeros_like(values)
        for coefficient in self.number(coefficients)[::-1]:
            total = self._reduced(total * values + coefficient)
        return total

    def power(self, values: Array, exponent: int, _modulus: None = None) -> Array:
        """By repeated squaring."""
        if self.modulus is None:
            return np.power(values, exponent)
        result, square = np.ones_like(values), values
        while exponent:
            if exponent % 2:
                result = self._reduced(result * square)
            square, exponent = self._reduced(square * square), exponent // 2
        return result

    def _reduced(self, values: Array) -> Array:
        # An operation on arrays of single numbers gives a number, of numpy or Python, and `astype` one of Python.
        return values if self.modulus is None else np.asarray(values % self.modulus).astype(self._integers)

    # -- evaluation -----------------------------------------------------------------------------------------------

    def evaluate(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs for these inputs, with residues in [0, t). Keeps a step's array until its last use."""
        needed = self._readers()
        held: dict[int, Array] = {}
        with np.errstate(all="ignore"):
            for at, step in enumerate(self.steps):
                if at not in needed:
                    continue
                if isinstance(step, str):
                    held[at] = self.number(inputs[step])
                else:
                    try:
                        found = step.compute(*(held[operand] for operand in step.operands))
                    except InputError as problem:
                        file, line = step.place
                        raise InputError(f"{file}:{line}: {problem}") from None
                    held[at] = self._reduced(np.asarray(found)).reshape(step.shape)
                    for operand in set(step.operands):
                        if needed[operand] == at:
                            del held[operand]
        for at in self.outputs.values():
            step = self.steps[at]
            if self.modulus is None and isinstance(step, Step) and not np.isfinite(held[at]).all():
                file, line = step.place
                largest = np.finfo(np.float64).max
                raise InputError(
                    f"{file}:{line}: a result is not finite: numbers reach {largest:.1e}; give smaller inputs"
                )
        return {name: held[at] for name, at in self.outputs.items()}

    def _readers(self) -> dict[int, int]:
        """For each needed step, the last step that uses it; outputs are used at the end."""
        last = dict.fromkeys(self.outputs.values(), len(self.steps))
        for at in range(len(self.steps) - 1, -1, -1):
            step = self.steps[at]
            if at in last and isinstance(step, Step):
                for operand in step.operands:
                    last.setdefault(operand, at)
        return last


def slotwise(operation: Callable[[Array, Array], Any]) -> Callable[[Array, Array], Any]:
    """numpy's `operation` on two values. If their lengths differ, one has all slots because it was rotated; zeros pad the other."""

    def compute(a: Array, b: Array) -> Any:  # noqa: ANN401 - an array, or one number
        if a.ndim == b.ndim == 1:
            length = max(a.size, b.size)
            a, b = (np.concatenate([own, np.zeros(length - own.size, dtype=own.dtype)]) for own in (a, b))
        return operation(a, b)

    return compute


def means(
    meaning: Callable[..., Any], *, numbers: bool = False, slots: bool = False
) -> Callable[[Callable[Concatenate[SlotValue, P], SlotValue]], Callable[Concatenate[SlotValue, P], SlotValue]]:
    """Records a method as `meaning` of the arrays of its encrypted operands and of its other arguments.

    Other arguments are public `numbers`, or of other kinds, such as an axis. With `slots`, the meaning depends on the program's slots, and takes the `Reference` first.
    """

    def decorate(
        method: Callable[Concatenate[SlotValue, P], SlotValue],
    ) -> Callable[Concatenate[SlotValue, P], SlotValue]:
        @wraps(method)
        def recorded(self: SlotValue, *given: P.args, **options: P.kwargs) -> SlotValue:
            tracer, reference = self._tracer, self._tracer.reference
            if any(isinstance(value, Operand) for value in given):
                name = method.__name__
                if name.startswith("__") and name != "__getitem__":
                    return NotImplemented
                place = "an index" if name == "__getitem__" else f"an argument of .{name}"
                raise refuse(f"a selector cannot be {place}; it multiplies, bit * x, and selects, pf.where(bit, x, y)")
            if reference.rewriting:
                return method(self, *given, **options)
            encrypted = [isinstance(value, type(self)) for value in given]
            operands = [self, *(value for value, one in zip(given, encrypted, strict=True) if one)]
            public: list[Any] = []
            named = deepcopy(options)

            def rewrite() -> SlotValue:
                made = method(self, *given, **options)
                # After the call, since the method rejects wrong operands. Copied, since the user may change an array.
                own = [value for value, one in zip(given, encrypted, strict=True) if not one]
                public.extend(reference.number(tracer.public(value)) if numbers else deepcopy(value) for value in own)
                return made

            def compute(own: Array, *others: Array) -> Any:  # noqa: ANN401 - an array, or one number
                left, kept = iter(others), iter(public)
                values = [own, *(next(left if one else kept) for one in encrypted)]
                return meaning(reference, *values, **named) if slots else meaning(*values, **named)

            return reference.record(operands, rewrite, compute)

        return recorded

    return decorate
