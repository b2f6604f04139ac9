"""Real numbers next to integers, in the lanes of a batch: sums and products with CKKS, rounded to integers by tables on slots.

    @pf.program(x=pf.Real.vector(2))
    def f(x):
        k = x.quantize(pf.Int(-8, 8), 0.125)    # round(x / 0.125): an input of the program on integers
        return (k * k).sum(), k.cast(pf.Real) * 0.125

Every element is one vector of slots. Steps on them are recorded (`real_steps.py`), and the rest is a program on integers, with hidden inputs for rounded
numbers and hidden outputs for integers that become real numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import ceil, floor, inf, log
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._native import ElementType
from . import ranges
from .cells import Cells
from .digits import Digits
from .instead import Absences
from .numpy_calls import Value
from .place import expect_unmasked, place, refuse, whole
from .ranges import Span
from .real_steps import element_name, nearest
from .types import Int, SlotType, Type
from .types import Real as RealType

if TYPE_CHECKING:
    from .tracer import Tracer
    from .values import TfheValue

Numbers: TypeAlias = "float | Sequence[float] | NDArray[Any]"

MOST_STAGES = 4
"""Most bootstrappings of one rounding, besides that of its table."""

LONGEST, USUAL = 256, 16
"""Entries of the longest tables, and of those of every parameter set."""

EDGE, RADIX = 0.055, 6
"""With one stage and tables of 16 entries, numbers within this part of a step from a border are undecided; each further stage divides it."""

LEAST_STEP = float(np.finfo(float).tiny)
"""Smallest step of a rounding: the smallest float with full precision."""

MOST_INTEGER = 2048
"""Greatest absolute value of an integer that becomes a real number, as in the Rust half."""


class RealValue(Value):
    """An encrypted real number of a batch, or a vector or matrix of them, in a program that has integers too."""

    __slots__ = ("_hi", "_lo", "_steps", "_tracer", "meaning")
    __hash__ = Absences.__hash__
    METHODS = frozenset({"argmax", "mean", "reshape", "sum", "transpose"})

    def __init__(self, tracer: Tracer, steps: Any, lo: Any, hi: Any) -> None:  # noqa: ANN401 - numbers or arrays of one shape
        self._tracer = tracer
        self._steps = np.asarray(steps)
        self._lo, self._hi = np.asarray(lo, dtype=float), np.asarray(hi, dtype=float)
        if not (np.isfinite(self._lo) & np.isfinite(self._hi)).all():
            raise refuse(
                "a real number may exceed all floating-point numbers here; declare smaller bounds, as pf.Real.bounded(1000), and scale the inputs"
            )
        self.meaning: int | None = None

    @property
    def steps(self) -> list[int]:
        """The step of each element, row by row."""
        return list(self._steps.reshape(-1).tolist())

    @property
    def spans(self) -> list[tuple[float, float]]:
        """Least and greatest value of each element."""
        return list(zip(self._lo.reshape(-1).tolist(), self._hi.reshape(-1).tolist(), strict=True))

    @property
    def shape(self) -> tuple[int, ...]:
        """numpy's shape: () for a single number."""
        return self._steps.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._steps.ndim

    @property
    def scalar(self) -> bool:
        """Whether it is a single number."""
        return self.ndim == 0

    @property
    def length(self) -> int:
        """The number of elements."""
        return self._steps.size

    @property
    def type(self) -> SlotType:
        """Real numbers up to the greatest magnitude that they can have."""
        most = float(max(abs(self._lo).max(), abs(self._hi).max())) or 1.0
        made = RealType.bounded(most)
        return made if self.scalar else made.matrix(*self.shape) if self.ndim == 2 else made.vector(self.length)

    def __len__(self) -> int:
        if self.scalar:
            raise refuse("a single real number has no length; use a vector")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<encrypted {self.type}>"

    def _instead(self, _name: str, _operands: int) -> str:
        return (
            "in a program that also compares or rounds real numbers, or has integers, they have only +, -, *, @, .sum(), .mean(), .T, .reshape(..), "
            ".quantize(..), .argmax() and comparisons; compare the decrypted result instead, or use pf.sign(x - limit), a polynomial, or round first: "
            "k = x.quantize(pf.Int(-8, 7), step)"
        )

    def __bool__(self) -> NoReturn:
        raise refuse(
            "an encrypted number cannot decide a branch, because its value is unknown; compute both sides, and select with pf.where(x > 0.5, a, b)"
        )

    def _as_number(self) -> NoReturn:
        raise self._tracer.asked(
            "an encrypted number cannot become a Python number or an index; round it, as x.quantize(pf.UInt(4), step)"
        )

    __int__ = __index__ = __float__ = __complex__ = _as_number

    def _only_rounded(self, *_others: object) -> NoReturn:
        raise refuse(f"an encrypted {self.type} has no such operator; {self._instead('', 1)}")

    __abs__ = __round__ = __trunc__ = __floor__ = __ceil__ = __invert__ = _only_rounded
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = _only_rounded
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _only_rounded
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _only_rounded

    # -- building ---------------------------------------------------------------------------------------------------

    def _public(self, given: object) -> NDArray[np.float64]:
        """Public numbers of an operation."""
        if hasattr(type(given), "meaning") or isinstance(given, Value):
            kind = getattr(given, "type", None)
            raise refuse(f"{kind} cannot be combined with real numbers; cast it first, as k.cast(pf.Real)")
        expect_unmasked(given)
        try:
            numbers = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            raise refuse(f"a public operand is {given!r:.80}; give a real number, or an array of them") from None
        if not np.isfinite(numbers).all():
            raise refuse("a public operand is not finite; correct the data")
        return numbers

    def _shape_with(self, other: RealValue | NDArray[np.float64], op: str) -> tuple[int, ...]:
        """The shape of a result of each element with its own of `other`."""
        try:
            return np.broadcast_shapes(self.shape, other.shape)
        except ValueError:
            own, given = (" x ".join(map(str, shape)) for shape in (self.shape, other.shape))
            raise refuse(f"{op}: {own} numbers with {given}; give as many, or one number") from None

    def _to(self, shape: tuple[int, ...]) -> RealValue:
        """Copies of elements, as numpy broadcasts them."""
        return RealValue(self._tracer, *(np.broadcast_to(own, shape) for own in (self._steps, self._lo, self._hi)))

    def _expect_own(self, other: RealValue) -> RealValue:
        if other._tracer is not self._tracer:
            raise refuse("the operands belong to two different programs; use values of one program")
        return other

    def _weighted(
        self,
        op: str,
        rows: list[list[tuple[int, float]]],
        bias: NDArray[np.float64],
        shape: tuple[int, ...],
        operands: Sequence[RealValue],
        rule: Callable[..., NDArray[Any]],
    ) -> RealValue:
        """Sums of weighted steps, one for each element of a result of `shape`."""
        known = {step: span for value in operands for step, span in zip(value.steps, value.spans, strict=True)}
        steps, spans = [], []
        for terms, constant in zip(rows, bias.reshape(-1).tolist(), strict=True):
            ends = [sorted((weight * known[step][0], weight * known[step][1])) for step, weight in terms]
            spans.append((constant + sum(lo for lo, _ in ends), constant + sum(hi for _, hi in ends)))
            unchanged = len(terms) == 1 and terms[0][1] == 1.0 and not constant
            steps.append(terms[0][0] if unchanged else self._tracer.reals.add(terms, constant))
        lo, hi = (np.reshape(ends, shape) for ends in zip(*spans, strict=True))
        return noted(self._tracer, op, RealValue(self._tracer, np.reshape(steps, shape), lo, hi), operands, rule)

    def _plus(self, other: object, sign: float, op: str) -> RealValue:
        if isinstance(other, RealValue):
            shape = self._shape_with(self._expect_own(other), op)
            pairs = zip(self._to(shape).steps, other._to(shape).steps, strict=True)
            rows = [[(a, 1.0 + sign)] if a == b else [(a, 1.0), (b, sign)] for a, b in pairs]
            return self._weighted(op, rows, np.zeros(shape), shape, (self, other), lambda a, b: a + sign * b)
        numbers = self._public(other)
        shape = self._shape_with(numbers, op)
        rows = [[(step, 1.0)] for step in self._to(shape).steps]
        bias = np.broadcast_to(sign * numbers, shape)
        return self._weighted(op, rows, bias, shape, (self,), lambda a: a + bias)

    # -- arithmetic -------------------------------------------------------------------------------------------------

    def __add__(self, other: RealValue | Numbers) -> RealValue:
        return self._plus(other, 1.0, "+")

    __radd__ = __add__

    def __sub__(self, other: RealValue | Numbers) -> RealValue:
        return self._plus(other, -1.0, "-")

    def __rsub__(self, other: Numbers) -> RealValue:
        return (-self) + other

    def __pos__(self) -> RealValue:
        return self

    def __neg__(self) -> RealValue:
        return self * -1.0

    def __mul__(self, other: RealValue | Numbers) -> RealValue:
        if isinstance(other, RealValue):
            shape = self._shape_with(self._expect_own(other), "*")
            left, right = self._to(shape), other._to(shape)
            steps = [self._tracer.reals.add(a, b) for a, b in zip(left.steps, right.steps, strict=True)]
            with np.errstate(over="ignore"):
                ends = np.stack([a * b for a in (left._lo, left._hi) for b in (right._lo, right._hi)])
            # A square is not negative.
            least = np.where(left._steps == right._steps, ends.min(axis=0).clip(min=0), ends.min(axis=0))
            made = RealValue(self._tracer, np.reshape(steps, shape), least, ends.max(axis=0))
            return noted(self._tracer, "*", made, (self, other), lambda a, b: a * b)
        numbers = self._public(other)
        shape = self._shape_with(numbers, "*")
        weights = np.broadcast_to(numbers, shape)
        rows = [[own] for own in zip(self._to(shape).steps, weights.reshape(-1).tolist(), strict=True)]
        return self._weighted("*", rows, np.zeros(shape), shape, (self,), lambda a: a * weights)

    __rmul__ = __mul__

    def __truediv__(self, other: Numbers) -> RealValue:
        divisors = self._public(other)
        if not divisors.all():
            raise refuse("a division by 0; give other numbers")
        return self * (1 / divisors)

    def __rtruediv__(self, _other: object) -> NoReturn:
        raise refuse("encrypted numbers cannot be divisors; tabulate the quotient of a rounded number with pf.lookup")

    def __pow__(self, exponent: int) -> RealValue:
        power = whole("the exponent", exponent, 1, 4)
        made = self if power % 2 else None
        square = self * self if power > 1 else self
        for _ in range(power // 2):
            made = square if made is None else made * square
        assert made is not None
        return made

    def __matmul__(self, other: RealValue | Numbers) -> RealValue:
        if not isinstance(other, RealValue):
            weights = self._public(other)
            self._expect_factors(self.shape, weights.shape)
            return self.T._times(weights.T, lambda a: weights.T @ a).T
        self._expect_factors(self.shape, self._expect_own(other).shape)
        # Rows next to columns.
        left = self if self.ndim == 1 or other.ndim == 1 else self._view((self.shape[0], 1, self.shape[1]))
        return (left * other.T).sum(axis=-1)

    def __rmatmul__(self, other: Numbers) -> RealValue:
        weights = self._public(other)
        self._expect_factors(weights.shape, self.shape)
        return self._times(weights, lambda a: weights @ a)

    def _expect_factors(self, left: tuple[int, ...], right: tuple[int, ...]) -> None:
        """Rejects shapes without a product of matrices."""
        if not left or not right or max(len(left), len(right)) > 2 or left[-1] != right[0] or 0 in left + right:
            own, given = (" x ".join(map(str, shape)) or "one number" for shape in (left, right))
            raise refuse(f"@: {own} with {given}; give vectors and matrices whose lengths fit, or use *")

    def _times(self, weights: NDArray[np.float64], rule: Callable[..., NDArray[Any]]) -> RealValue:
        """Public weights @ this."""
        columns = self._steps.reshape(self.shape[0], -1).T.tolist()
        rows = [
            [(step, weight) for step, weight in zip(column, row, strict=True) if weight]
            for row in np.atleast_2d(weights).tolist()
            for column in columns
        ]
        shape = weights.shape[:-1] + self.shape[1:]
        return self._weighted("@", rows, np.zeros(shape), shape, (self,), rule)

    def sum(self, axis: int | None = None) -> RealValue:
        """The sum of the elements, or of those along an axis."""
        return self._total(axis, "sum", np.sum, 1.0)

    def mean(self, axis: int | None = None) -> RealValue:
        """The mean of the elements, or of those along an axis."""
        count = self.length if axis is None else self.shape[self._axis(axis)]
        return self._total(axis, "mean", np.mean, 1 / count)

    def _axis(self, axis: int) -> int:
        most = self.ndim - 1
        if self.scalar:
            raise refuse("a single real number has no axis; leave axis= out")
        return whole("the axis", axis, -self.ndim, most) % self.ndim

    def _total(self, axis: int | None, op: str, rule: Callable[..., Any], weight: float) -> RealValue:
        if self.scalar and axis is None:
            return self
        at = None if axis is None else self._axis(axis)
        flat = self._steps.reshape(1, -1) if at is None else np.moveaxis(self._steps, at, -1)
        shape = () if at is None else flat.shape[:-1]
        # A number that is there several times has one weight.
        rows = [
            [(step, weight * count) for step, count in Counter(row).items()]
            for row in flat.reshape(-1, flat.shape[-1]).tolist()
        ]
        return self._weighted(op, rows, np.zeros(shape), shape, (self,), lambda a: rule(a, axis=at))

    # -- parts ------------------------------------------------------------------------------------------------------

    def _view(self, shape: tuple[int, ...]) -> RealValue:
        """The same elements in another shape."""
        made = RealValue(self._tracer, *(own.reshape(shape) for own in (self._steps, self._lo, self._hi)))
        made.meaning = self.meaning
        return made

    def _taken(self, op: str, take: Callable[[NDArray[Any]], NDArray[Any]]) -> RealValue:
        """Elements in another order."""
        made = RealValue(self._tracer, *(take(own) for own in (self._steps, self._lo, self._hi)))
        return noted(self._tracer, op, made, (self,), take)

    def __getitem__(self, index: Any) -> RealValue:  # noqa: ANN401 - whatever the user writes
        if self.scalar:
            raise refuse("a single real number has no elements; use a vector")
        try:
            taken = self._steps[index]
        except (IndexError, TypeError, ValueError):
            shape = " x ".join(map(str, self.shape))
            raise refuse(
                f"the index {index!r:.80} is not one of {shape} numbers; give public integers or slices"
            ) from None
        if not taken.size or taken.ndim > 2:
            raise refuse(
                f"the index {index!r:.80} takes {taken.size} elements with {taken.ndim} axes; take at least one, and two axes at most"
            )
        return self._taken("take", lambda a: np.asarray(a[index]))

    def __iter__(self) -> Iterator[RealValue]:
        return (self[at] for at in range(len(self)))

    @property
    def T(self) -> RealValue:  # noqa: N802 - as in numpy
        """The transpose."""
        return self if self.ndim < 2 else self._taken("transpose", np.transpose)

    def transpose(self) -> RealValue:
        """See `T`."""
        return self.T

    def reshape(self, *shape: int) -> RealValue:
        """The same elements in another shape, of two axes at most."""
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        try:
            made = self._steps.reshape(wanted)
        except (TypeError, ValueError):
            raise refuse(f"{self.length} numbers have no shape {wanted!r:.80}; give one of as many") from None
        if not 1 <= made.ndim <= 2:
            raise refuse(f"the shape {wanted!r:.80} has {made.ndim} axes; give one or two")
        return self._taken("reshape", lambda a: a.reshape(made.shape))

    # -- integers ---------------------------------------------------------------------------------------------------

    def quantize(self, kind: Type, step: float = 1.0, *, gap: float | None = None) -> TfheValue:
        """The integers nearest to x / `step`, clipped to the range of `kind`: `np.clip(np.round(x / step), lo, hi)`.

        A number near a border between two integers may become either; `cost()` prints how near. With `gap`, it is at most so near, at the price
        of more bootstrappings.
        """
        if not isinstance(kind, Type) or kind.kind != "integer" or not kind.scalar or kind.stride != 1:
            raise refuse(
                f"quantize: {kind} has no range of integers; give pf.Int(lo, hi), pf.UInt(bits) or pf.SInt(bits)"
            )
        size = self._positive("step", step)
        lo, hi = kind.bounds
        self._expect_vector("quantize")

        def levels(span: tuple[float, float]) -> tuple[float, list[int]]:
            count = span[1] / size - span[0] / size
            # A quarter of a step beyond the range keeps it away from the border at which the table starts again.
            first, last = (floor(span[0] / size + 0.25), ceil(span[1] / size - 0.25)) if count < inf else (0, inf)
            if last - first >= self._longest:
                raise refuse(
                    f"quantize: numbers from {span[0]:g} to {span[1]:g} have {last - first + 1:g} multiples of {size:g}, but tables have "
                    f"{self._longest} entries; take a larger step, or inputs with smaller bounds, as pf.Real.bounded(1)"
                )
            return first * size, [min(max(level, lo), hi) for level in range(first, max(last, first + 1) + 1)]

        return self._rounded("quantize", size, levels, (lo, hi), gap)

    def _expect_vector(self, op: str) -> None:
        """Rejects matrices, which integers do not have."""
        if self.ndim > 1:
            raise refuse(
                f"{op}: {self.type} is a matrix, but integers are numbers and vectors; take rows, [row > 0 for row in x], or x.reshape(-1)"
            )

    def _positive(self, what: str, given: float) -> float:
        try:
            number = float(given)
        except (TypeError, ValueError, OverflowError):
            number = inf
        if not LEAST_STEP <= number < inf:
            raise refuse(f"the {what} is {given!r:.80}; give a positive, finite number of at least {LEAST_STEP:g}")
        return number

    @property
    def _longest(self) -> int:
        """Most entries of a table."""
        return self._tracer.slot_tables or LONGEST

    def _rounded(
        self,
        op: str,
        size: float | NDArray[np.float64],
        levels: Callable[..., tuple[float, list[int]]],
        bounds: Span,
        gap: float | None,
        stride: int = 1,
        *,
        truth: bool = False,
    ) -> TfheValue:
        """A table of the numbers, rounded to multiples of `size` above an offset: `levels` gives both, for the range of an element."""
        from .values import TfheValue

        tracer = self._tracer
        sizes = np.broadcast_to(np.asarray(size, dtype=float), (self.length,)).tolist()
        tables = [levels(span) if np.ndim(size) == 0 else levels(span, at) for at, span in enumerate(self.spans)]
        stages = 1
        if gap is not None:
            finest = self._positive("gap", gap) / max(sizes)
            stages = max(1, 1 + ceil(log(EDGE / finest, RADIX))) if finest < EDGE else 1
            if stages > MOST_STAGES:
                least = max(sizes) * EDGE / RADIX ** (MOST_STAGES - 1)
                raise refuse(f"a gap of {gap:g} needs too many bootstrappings; give at least {least:.2g}")
        used = [entry for _, entries in tables for entry in entries]
        lo, hi = (0, 1) if truth else (max(min(used), bounds[0]), min(max(used), bounds[1]))
        if lo == hi:
            raise refuse(
                f"{op}: every number becomes {lo}; the range of the numbers is {self.spans[0][0]:g} to {self.spans[0][1]:g}"
            )
        name = tracer.reals.hide("rounded")
        tracer.builder.at(*place())
        digits = 1
        if truth or tracer.holds((lo, hi)):
            element = ElementType.boolean() if truth else ElementType.integer(lo, hi, stride)
            made = TfheValue(Cells(tracer, tracer.builder.input(name, element, self.length), scalar=self.scalar))
        else:
            bits, signed = ranges.width((lo, hi))
            handle = tracer.builder.integer_input(name, bits, signed, self.length)
            made = TfheValue(Digits(tracer, handle, scalar=self.scalar, span=(lo, hi), stride=stride))
            digits = -(-bits // 2)
        for place_of in range(digits):
            for at, ((offset, entries), own) in enumerate(zip(tables, sizes, strict=True)):
                table = entries if digits == 1 else [entry >> 2 * place_of & 3 for entry in entries]
                tracer.reals.add(self.steps[at], own, offset, table, stages, name, place_of * self.length + at)

        def rule(x: NDArray[Any]) -> NDArray[Any]:
            entries, distances = zip(*map(nearest, np.atleast_1d(x).tolist(), sizes, tables), strict=True)
            tracer.reference.distances.append(min(distances))
            return np.array(entries)

        return noted(tracer, op, made, (self,), rule)

    def _above(self, other: RealValue | Numbers, yes: int, no: int, op: str, gap: float | None = None) -> TfheValue:
        """`yes` where this is greater than the other operand, else `no`."""
        if isinstance(other, RealValue):
            return (self - other)._above(0.0, yes, no, op, gap)
        numbers = self._public(other)
        shape = self._shape_with(numbers, op)
        value = self if shape == self.shape else self + np.zeros(shape)
        value._expect_vector(op)
        thresholds = np.broadcast_to(numbers, shape).reshape(-1)
        half = USUAL // 2
        # The border lies between the two middle entries.
        reach = [max(t - lo, hi - t) for t, (lo, hi) in zip(thresholds.tolist(), value.spans, strict=True)]
        sizes = np.array(reach) / (half - 1)
        if not (sizes >= LEAST_STEP).all():
            raise refuse(
                f"{op}: the numbers differ from the other operand by at most {min(reach):g}, too little for floating point; scale both sides"
            )

        def levels(span: tuple[float, float], at: int) -> tuple[float, list[int]]:
            threshold = float(thresholds[at])
            if not span[0] < threshold < span[1]:
                raise refuse(
                    f"{op}: the other operand is {threshold:g}, but the numbers range from {span[0]:g} to {span[1]:g}, so that the result is public; give a number within"
                )
            return threshold - (half - 0.5) * float(sizes[at]), [no] * half + [yes] * half

        truth = {yes, no} == {0, 1}
        return value._rounded(op, sizes, levels, (-1, 1), gap, stride=1 if truth else 2, truth=truth)

    def __gt__(self, other: RealValue | Numbers) -> TfheValue:
        return self._above(other, 1, 0, ">")

    def __lt__(self, other: RealValue | Numbers) -> TfheValue:
        return self._above(other, 0, 1, "<")

    __ge__, __le__ = __gt__, __lt__

    def _equal(self, _other: object) -> NoReturn:
        raise refuse(
            "real numbers have errors, so they are not compared for equality; round them first, as x.quantize(pf.Int(-8, 7), step) == 3"
        )

    __eq__ = __ne__ = _equal  # type: ignore[assignment]

    def __contains__(self, _item: object) -> NoReturn:
        self._equal(None)

    def sign(self, gap: float | None = None, *, boolean: bool = False) -> TfheValue:
        """1 where a number is above 0, else -1, or 0 with `boolean`."""
        return self._above(0.0, 1, 0 if boolean else -1, "sign", gap)

    def argmax(self, *, gap: float | None = None) -> TfheValue:
        """The index of the greatest element: all pairs are compared."""
        self._expect_vector("argmax")
        count = len(self)
        if count < 2:
            raise refuse("argmax: the vector has one element; give two or more")
        if count > USUAL:
            raise refuse(f"argmax: of {count} elements, but at most {USUAL}; take it of parts")
        pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
        differences, scores = np.zeros((len(pairs), count)), np.zeros((count, len(pairs)), dtype=int)
        for at, (i, j) in enumerate(pairs):
            differences[at, [i, j]] = 1, -1
            scores[[i, j], at] = 1, -1
        beats = (differences @ self)._above(0.0, 1, 0, "argmax", gap)
        # An element wins against later ones by 1, and against earlier ones by the comparison's 0.
        greatest = scores @ beats + np.arange(count) == count - 1
        return (np.arange(count) @ greatest).assume(Int(0, count - 1))


def noted(tracer: Tracer, op: str, made: Any, operands: Sequence[Any], rule: Callable[..., NDArray[Any]]) -> Any:  # noqa: ANN401
    """Records the meaning of a step on real numbers."""
    shapes = [one.shape if isinstance(one, RealValue) else () if one.scalar else (one.length,) for one in operands]

    def flat(*given: Any) -> list[Any]:  # noqa: ANN401 - numbers of each operand
        arrays = (np.reshape(one, shape) for one, shape in zip(given, shapes, strict=True))
        return list(np.asarray(rule(*arrays)).reshape(-1).tolist())

    tracer.reference.note_real(op, made, operands, flat)
    return made


def declared(tracer: Tracer, name: str, kind: SlotType) -> RealValue:
    """An input of the program."""
    if kind.kind != "real":
        raise refuse(
            f"{tracer.name}: parameter {name!r} is {kind}, which integers cannot be mixed with; use pf.Real, or a program without integers"
        )
    tracer.reals.inputs[name] = kind
    bound = float(kind.bound)
    steps = [tracer.reals.add(element_name(name, at, kind.length), bound) for at in range(kind.length)]
    made = np.reshape(steps, kind.dimensions)
    return RealValue(tracer, made, np.full(made.shape, -bound), np.full(made.shape, bound))


def from_integer(value: TfheValue, kind: SlotType) -> RealValue:
    """Integers as real numbers of `kind`. Without a bound of their own, those have the integers' range."""
    tracer, form = value._tracer, value.form
    lo, hi = value.type.bounds
    if kind.bound != RealType.bound and max(-lo, hi) > kind.bound:
        raise refuse(
            f"cast: {value.type} has values up to {max(-lo, hi)}, but {kind!r} has at most {kind.bound:g}; cast to pf.Real, or narrow the range with "
            "x.assume(pf.Int(lo, hi))"
        )
    if not kind.scalar and kind.dimensions != (() if value.scalar else (value.length,)):
        raise refuse(f"cast: {value.type} is not as long as {kind!r}; cast to pf.Real, which keeps the length")
    if max(-lo, hi) > MOST_INTEGER:
        raise refuse(
            f"cast: {value.type} has values up to {max(-lo, hi)}, but integers as real numbers have at most {MOST_INTEGER}; narrow its range with "
            "x.assume(pf.Int(lo, hi)), or shift bits out"
        )
    name = tracer.reals.hide("integer")
    tracer.builder.at(*place())
    length = value.length
    if isinstance(form, Cells):
        tracer.builder.output(name, form.node)
        steps = [tracer.reals.add(name, at) for at in range(length)]
    else:
        if value.type.signed:
            raise refuse(
                f"cast: {value.type} is in digits, which do not show the sign; cast x + {-lo}, and subtract {-lo} from the real number"
            )
        tracer.builder.integer_output(name, form.handle)
        digits = [tracer.reals.add(name, at) for at in range(length * value.type.size)]
        steps = [
            tracer.reals.add([(digit, float(4**place_of)) for place_of, digit in enumerate(digits[at::length])], 0.0)
            for at in range(length)
        ]
    shape = () if value.scalar else (length,)
    made = RealValue(tracer, np.reshape(steps, shape), np.full(shape, lo), np.full(shape, hi))
    return noted(tracer, "cast", made, (value,), lambda k: k.astype(float))


def chosen(condition: TfheValue, then: Any, otherwise: Any) -> RealValue:  # noqa: ANN401 - real or public numbers
    """`then` where the condition holds, else `otherwise`: a product of real numbers."""
    factor = from_integer(condition, RealType)
    difference = then - otherwise
    return factor * difference + otherwise


def concat(values: Sequence[Any]) -> RealValue:
    """The elements of all values in order."""
    other = next((value for value in values if not isinstance(value, RealValue)), None)
    if other is not None:
        raise refuse(f"concat: {getattr(other, 'type', other)} next to real numbers; cast it, as k.cast(pf.Real)")
    first = values[0]
    for value in values:
        first._expect_own(value)
    parts = [value if value.ndim else value._view((1,)) for value in values]
    if len({part.shape[1:] for part in parts}) > 1:
        shapes = ", ".join(str(value.type) for value in values)
        raise refuse(f"concat: {shapes}; give vectors, or matrices of one width")
    arrays = ([getattr(part, name) for part in parts] for name in ("_steps", "_lo", "_hi"))
    made = RealValue(first._tracer, *map(np.concatenate, arrays))
    return noted(first._tracer, "concat", made, parts, lambda *given: np.concatenate(given))
