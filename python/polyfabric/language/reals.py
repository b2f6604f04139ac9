"""Real numbers next to integers, in the lanes of a batch: sums and products with CKKS, rounded to integers by tables on slots.

    @pf.program(x=pf.Real.vector(2))
    def f(x):
        k = x.quantize(pf.Int(-8, 8), 0.125)    # round(x / 0.125): an input of the program on integers
        return (k * k).sum(), k.cast(pf.Real) * 0.125

Every element is one vector of slots. Steps on them are recorded here, and the rest is a program on integers, with hidden inputs for rounded
numbers and hidden outputs for integers that become real numbers.
"""

from __future__ import annotations

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
from .types import Int, SlotType, Type
from .types import Real as RealType

if TYPE_CHECKING:
    from .tracer import Tracer
    from .values import TfheValue

Native: TypeAlias = tuple[Any, ...]
"""A step in the form of the lower layers."""

Numbers: TypeAlias = "float | Sequence[float] | NDArray[Any]"

MOST_STAGES = 4
"""Most bootstrappings of one rounding, besides that of its table."""

LONGEST, USUAL = 256, 16
"""Entries of the longest tables, and of those of every parameter set."""

EDGE, RADIX = 0.055, 6
"""With one stage and tables of 16 entries, numbers within this part of a step from a border are undecided; each further stage divides it."""

MOST_INTEGER = 2048
"""Greatest absolute value of an integer that becomes a real number, as in the Rust half."""


class RealSteps:
    """The steps on real numbers of one program."""

    def __init__(self) -> None:
        self.steps: list[Native] = []
        self.inputs: dict[str, SlotType] = {}
        self.outputs: dict[str, SlotType] = {}
        self.hidden: set[str] = set()
        """The inputs and outputs of the program on integers that only real numbers use."""

    def __bool__(self) -> bool:
        return bool(self.steps)

    def add(self, *step: Any) -> int:  # noqa: ANN401 - numbers, names and lists
        """Appends one step."""
        self.steps.append(step)
        return len(self.steps) - 1

    def hide(self, what: str) -> str:
        """A name of a hidden input or output. No parameter of Python has a hyphen."""
        name = f"{what}-{len(self.hidden)}"
        self.hidden.add(name)
        return name

    @property
    def integer_outputs(self) -> bool:
        """Whether integers become real numbers."""
        return any(name.startswith("integer-") for name in self.hidden)

    def output(self, name: str, value: RealValue) -> None:
        """An output of the program."""
        self.outputs[name] = value.type
        for at, step in enumerate(value.steps):
            self.add(step, element_name(name, at, value.length))


def element_name(name: str, at: int, length: int) -> str:
    """The vector of slots that holds an element, as the Rust half names it."""
    return name if length == 1 else f"{name}.{at}"


class RealValue(Value):
    """An encrypted real number of a batch, or a vector of them, in a program that has integers too."""

    __slots__ = ("_tracer", "meaning", "scalar", "spans", "steps")
    __hash__ = Absences.__hash__
    METHODS = frozenset({"argmax", "mean", "sum"})

    def __init__(self, tracer: Tracer, steps: list[int], spans: list[tuple[float, float]], *, scalar: bool) -> None:
        self._tracer = tracer
        self.steps = steps
        """The step of each element."""
        self.spans = spans
        """Least and greatest value of each element."""
        self.scalar = scalar
        self.meaning: int | None = None

    @property
    def length(self) -> int:
        """The number of elements."""
        return len(self.steps)

    @property
    def type(self) -> SlotType:
        """Real numbers up to the greatest magnitude that they can have."""
        most = max(max(abs(lo), abs(hi)) for lo, hi in self.spans) or 1.0
        made = RealType.bounded(most)
        return made if self.scalar else made.vector(self.length)

    def __len__(self) -> int:
        if self.scalar:
            raise refuse("a single real number has no length; use a vector")
        return self.length

    def __repr__(self) -> str:
        return f"<encrypted {self.type}>"

    def _instead(self, _name: str, _operands: int) -> str:
        return (
            "in a program that also compares or rounds real numbers, or has integers, they have only +, -, *, @, .sum(), .mean(), .quantize(..), "
            ".argmax() and comparisons; compare the decrypted result instead, or use pf.sign(x - limit), a polynomial, or round first: "
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

    def _made(
        self,
        op: str,
        steps: list[int],
        spans: list[tuple[float, float]],
        operands: Sequence[Any],
        rule: Callable[..., NDArray[Any]],
        *,
        scalar: bool,
    ) -> RealValue:
        made = RealValue(self._tracer, steps, spans, scalar=scalar)
        return noted(self._tracer, op, made, operands, rule)

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

    def _broadcast(self, other: RealValue | NDArray[np.float64], op: str) -> tuple[int, bool]:
        """Number of elements of a result, and whether it is a single number."""
        length, scalar = (other.length, other.scalar) if isinstance(other, RealValue) else (other.size, not other.ndim)
        if not isinstance(other, RealValue) and other.ndim > 1:
            raise refuse(f"{op}: real numbers next to integers have no matrices; give a vector of {self.length}")
        if not (self.scalar or scalar or length == self.length):
            raise refuse(f"{op}: a vector of {self.length} with one of {length}; give vectors of one length")
        return (self.length if scalar else length), self.scalar and scalar

    def _expect_own(self, other: RealValue) -> RealValue:
        if other._tracer is not self._tracer:
            raise refuse("the operands belong to two different programs; use values of one program")
        return other

    def _weighted(
        self,
        op: str,
        rows: list[list[tuple[int, float]]],
        bias: NDArray[np.float64],
        operands: Sequence[RealValue],
        rule: Callable[..., NDArray[Any]],
        *,
        scalar: bool,
    ) -> RealValue:
        """Sums of weighted steps, one for each row."""
        known = {step: span for value in operands for step, span in zip(value.steps, value.spans, strict=True)}
        steps, spans = [], []
        for terms, constant in zip(rows, bias.tolist(), strict=True):
            ends = [sorted((weight * known[step][0], weight * known[step][1])) for step, weight in terms]
            spans.append((constant + sum(lo for lo, _ in ends), constant + sum(hi for _, hi in ends)))
            unchanged = len(terms) == 1 and terms[0][1] == 1.0 and not constant
            steps.append(terms[0][0] if unchanged else self._tracer.reals.add(terms, constant))
        return self._made(op, steps, spans, operands, rule, scalar=scalar)

    def _plus(self, other: object, sign: float, op: str) -> RealValue:
        if isinstance(other, RealValue):
            length, scalar = self._broadcast(self._expect_own(other), op)
            pairs = [(self._at(at), other._at(at)) for at in range(length)]
            rows = [[(a, 1.0 + sign)] if a == b else [(a, 1.0), (b, sign)] for a, b in pairs]
            return self._weighted(op, rows, np.zeros(length), (self, other), lambda a, b: a + sign * b, scalar=scalar)
        numbers = self._public(other)
        length, scalar = self._broadcast(numbers, op)
        bias = np.broadcast_to(sign * numbers, (length,))
        rows = [[(self._at(at), 1.0)] for at in range(length)]
        return self._weighted(op, rows, bias, (self,), lambda a: a + bias, scalar=scalar)

    def _at(self, at: int) -> int:
        return self.steps[0 if self.scalar else at]

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
            length, scalar = self._broadcast(self._expect_own(other), "*")
            steps, spans = [], []
            for at in range(length):
                steps.append(self._tracer.reals.add(self._at(at), other._at(at)))
                ends = [
                    a * b for a in self.spans[0 if self.scalar else at] for b in other.spans[0 if other.scalar else at]
                ]
                spans.append((min(ends), max(ends)))
            return self._made("*", steps, spans, (self, other), lambda a, b: a * b, scalar=scalar)
        numbers = self._public(other)
        length, scalar = self._broadcast(numbers, "*")
        weights = np.broadcast_to(numbers, (length,))
        rows = [[(self._at(at), weight)] for at, weight in enumerate(weights.tolist())]
        return self._weighted("*", rows, np.zeros(length), (self,), lambda a: a * weights, scalar=scalar)

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
        if isinstance(other, RealValue):
            if self.scalar or other.scalar:
                raise refuse("@ takes vectors, but an operand is a single real number; use *")
            return (self * other).sum()
        weights = self._public(other)
        return self._matrix(weights.T, weights)

    def __rmatmul__(self, other: Numbers) -> RealValue:
        weights = self._public(other)
        return self._matrix(weights, weights)

    def _matrix(self, rows: NDArray[np.float64], given: NDArray[np.float64]) -> RealValue:
        if self.scalar or not 1 <= given.ndim <= 2 or np.atleast_2d(rows).shape[1] != self.length or not rows.size:
            shape = " x ".join(map(str, given.shape)) or "one number"
            raise refuse(
                f"an array of {shape} cannot be multiplied with {self.type}; give a matrix with {self.length} columns, or rows if it is the right operand"
            )
        flat = np.atleast_2d(rows)
        terms = [
            [(step, weight) for step, weight in zip(self.steps, row, strict=True) if weight] for row in flat.tolist()
        ]
        scalar = rows.ndim == 1
        return self._weighted("@", terms, np.zeros(len(flat)), (self,), lambda a: flat @ a, scalar=scalar)

    def sum(self) -> RealValue:
        """The sum of the elements."""
        return self @ np.ones(self.length) if not self.scalar else self

    def mean(self) -> RealValue:
        """The mean of the elements."""
        return self @ np.full(self.length, 1 / self.length) if not self.scalar else self

    # -- parts ------------------------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> RealValue:  # noqa: ANN401 - whatever the user writes
        if self.scalar:
            raise refuse("a single real number has no elements; use a vector")
        try:
            taken = np.arange(self.length)[index]
        except (IndexError, TypeError, ValueError):
            raise refuse(
                f"the index {index!r:.80} is not one of a vector of {self.length}; give public integers or a slice"
            ) from None
        places = np.atleast_1d(taken).reshape(-1).tolist()
        if not places:
            raise refuse(f"the index {index!r:.80} takes no element; take at least one")
        return self._made(
            "take",
            [self.steps[at] for at in places],
            [self.spans[at] for at in places],
            (self,),
            lambda a: np.asarray(a)[places],
            scalar=np.ndim(taken) == 0,
        )

    def __iter__(self) -> Iterator[RealValue]:
        return (self[at] for at in range(len(self)))

    def reshape(self, *shape: int) -> RealValue:
        """The same vector: real numbers next to integers have no matrices."""
        if shape not in ((-1,), (self.length,)):
            raise refuse(f"real numbers next to integers have no matrices; keep the vector of {self.length}")
        return self

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

        def levels(span: tuple[float, float]) -> tuple[float, list[int]]:
            count = span[1] / size - span[0] / size
            # A quarter of a step beyond the range keeps it away from the border at which the table starts again.
            first, last = (floor(span[0] / size + 0.25), ceil(span[1] / size - 0.25)) if count < inf else (0, inf)
            if last - first >= self._longest:
                raise refuse(
                    f"quantize: numbers from {span[0]:g} to {span[1]:g} have {last - first + 1} multiples of {size:g}, but tables have "
                    f"{self._longest} entries; take a larger step, or inputs with smaller bounds, as pf.Real.bounded(1)"
                )
            return first * size, [min(max(level, lo), hi) for level in range(first, max(last, first + 1) + 1)]

        return self._rounded("quantize", size, levels, (lo, hi), gap)

    def _positive(self, what: str, given: float) -> float:
        try:
            number = float(given)
        except (TypeError, ValueError, OverflowError):
            number = inf
        if not 0 < number < inf:
            raise refuse(f"the {what} is {given!r:.80}; give a positive, finite number")
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
            nearest, distances = zip(*map(_nearest, np.atleast_1d(x).tolist(), sizes, tables), strict=True)
            tracer.reference.distances.append(min(distances))
            return np.array(nearest)

        return noted(tracer, op, made, (self,), rule)

    def _above(self, other: RealValue | Numbers, yes: int, no: int, op: str, gap: float | None = None) -> TfheValue:
        """`yes` where this is greater than the other operand, else `no`."""
        if isinstance(other, RealValue):
            return (self - other)._above(0.0, yes, no, op, gap)
        numbers = self._public(other)
        length, _ = self._broadcast(numbers, op)
        value = self if length == self.length else self + np.zeros(length)
        thresholds = np.broadcast_to(numbers, (length,))
        half = USUAL // 2
        # The border lies between the two middle entries.
        reach = [max(t - lo, hi - t) for t, (lo, hi) in zip(thresholds.tolist(), value.spans, strict=True)]
        sizes = np.array(reach) / (half - 1)

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


def _nearest(x: float, size: float, table: tuple[float, list[int]]) -> tuple[int, float]:
    """The entry of the nearest multiple, and the distance in steps from a border between different entries."""
    offset, entries = table
    at = (x - offset) / size
    nearest = min(max(floor(at + 0.5), 0), len(entries) - 1)
    own = entries[nearest]
    above = nearest + 0.5 - at if nearest + 1 < len(entries) and entries[nearest + 1] != own else inf
    below = at - nearest + 0.5 if nearest and entries[nearest - 1] != own else inf
    return own, min(above, below)


def noted(tracer: Tracer, op: str, made: Any, operands: Sequence[Any], rule: Callable[..., NDArray[Any]]) -> Any:  # noqa: ANN401
    """Records the meaning of a step on real numbers."""
    tracer.reference.note_real(op, made, operands, lambda *given: rule(*map(np.asarray, given)).reshape(-1).tolist())
    return made


def declared(tracer: Tracer, name: str, kind: SlotType) -> RealValue:
    """An input of the program."""
    if kind.kind != "real":
        raise refuse(
            f"{tracer.name}: parameter {name!r} is {kind}, which integers cannot be mixed with; use pf.Real, or a program without integers"
        )
    if kind.shape is not None:
        raise refuse(
            f"{tracer.name}: parameter {name!r} is a matrix, but real numbers next to integers are numbers and vectors; declare it pf.Real.vector({kind.length})"
        )
    tracer.reals.inputs[name] = kind
    bound = float(kind.bound)
    steps = [tracer.reals.add(element_name(name, at, kind.length), bound) for at in range(kind.length)]
    return RealValue(tracer, steps, [(-bound, bound)] * kind.length, scalar=kind.scalar)


def from_integer(value: TfheValue) -> RealValue:
    """Integers as real numbers."""
    tracer, form = value._tracer, value.form
    lo, hi = value.type.bounds
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
    made = RealValue(tracer, steps, [(float(lo), float(hi))] * length, scalar=value.scalar)
    return noted(tracer, "cast", made, (value,), lambda k: k.astype(float))


def chosen(condition: TfheValue, then: Any, otherwise: Any) -> RealValue:  # noqa: ANN401 - real or public numbers
    """`then` where the condition holds, else `otherwise`: a product of real numbers."""
    factor = from_integer(condition)
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
    steps = [step for value in values for step in value.steps]
    spans = [span for value in values for span in value.spans]
    return first._made(
        "concat",
        steps,
        spans,
        values,
        lambda *given: np.concatenate([np.atleast_1d(one) for one in given]),
        scalar=False,
    )
