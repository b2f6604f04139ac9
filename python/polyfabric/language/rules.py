"""The rule of each TFHE operation on Python's integers, without wrapping.

`RULES["+"](kind, [200], [100])` is `[300]`; the reference then reduces it to its type, 44 for `pf.UInt(8)`. A rule takes the type of its result, and its
operands as lists of numbers: integers, or fractions for fixed-point types.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .fixed_type import FixedType
from .types import Type

Numbers: TypeAlias = "list[int]"
Kind: TypeAlias = Type
"""The type of a result."""

MOST_WRITTEN = 1 << 13
"""Powers with more bits are not computed in full."""


class Vast(int):
    """Stands for a power with thousands of digits: equal to it modulo 2^bits of its type, and out of the type's range."""


def _stretched(*operands: Numbers) -> Iterable[tuple[int, ...]]:
    """The operands element by element; single ones are repeated."""
    length = max(len(operand) for operand in operands)
    return zip(*(operand * length if len(operand) == 1 else operand for operand in operands), strict=True)


def _each(rule: Callable[..., int]) -> Callable[..., Numbers]:
    # `+` makes an integer of a truth value.
    return lambda _, *operands: [+rule(*own) for own in _stretched(*operands)]


def _quotient(_: Kind, a: Numbers, b: Numbers, *, of: tuple[int, bool]) -> Numbers:
    """Rounded down. Division by 0 gives all bits of the common width `of` for numbers >= 0, and 0 for those below."""
    bits, signed = of
    ones = -1 if signed else (1 << bits) - 1
    return [x // y if y else ones if x >= 0 else 0 for x, y in _stretched(a, b)]


def _divided(kind: Kind, a: Numbers, b: Numbers) -> list[Fraction]:
    """Exact. Division by 0 gives all bits of the result for numbers >= 0, and 0 for those below."""
    assert isinstance(kind, FixedType)
    ones = Fraction(-1 if kind.signed else kind.hi, 1 << kind.point)
    return [Fraction(x) / y if y else ones if x >= 0 else Fraction(0) for x, y in _stretched(a, b)]


def _cast(kind: Kind, a: Numbers, _: Type) -> Numbers:
    if isinstance(kind, FixedType):
        return a
    return [int(x) & 1 if kind.kind == "boolean" else int(x) for x in a]


def _remainder(_: Kind, a: Numbers, b: Numbers) -> Numbers:
    """With the divisor's sign; the dividend for divisor 0."""
    return [x % y if y else x for x, y in _stretched(a, b)]


def _power(kind: Kind, a: Numbers, exponent: Numbers, modulus: Numbers | None = None) -> Numbers:
    def power(x: int, e: int) -> int:
        if x in (-1, 0, 1):
            return x ** (2 - e % 2 if e else 0)
        if kind.bits is not None and x.bit_length() * e > MOST_WRITTEN:
            return Vast(pow(x, e, 1 << kind.bits) + (1 << kind.bits))
        return int(x**e)

    if modulus is not None:
        return [pow(x, exponent[0], modulus[0]) for x in a]
    return [power(x, e) for x, e in _stretched(a, exponent)]


def _shifted_left(kind: Kind, a: Numbers, amounts: Numbers) -> Numbers:
    """Limits shift amounts to the width, beyond which no bit is left."""
    most = max(amounts) if kind.bits is None else kind.bits
    return [x << min(amount, most) for x, amount in _stretched(a, amounts)]


def _rotated_left(kind: Kind, a: Numbers, amounts: Numbers) -> Numbers:
    assert kind.bits is not None
    bits, size = kind.bits, 1 << kind.bits
    found = []
    for x, amount in _stretched(a, amounts):
        own, by = x % size, amount % bits
        found.append((own << by) % size | own >> (bits - by))
    return found


def _rotated_right(kind: Kind, a: Numbers, amounts: Numbers) -> Numbers:
    return _rotated_left(kind, a, [-amount for amount in amounts])


def _inverted(kind: Kind, a: Numbers) -> Numbers:
    """Inverts every bit; negates truth values."""
    return [1 - x if kind.kind == "boolean" else ~x for x in a]


def _leading_zeros(_: Kind, a: Numbers, of: Type) -> Numbers:
    """The number of zeros above the operand's highest 1."""
    return [of.width - (x % (1 << of.width)).bit_length() for x in a]


def _checked(rule: Callable[[int, int], int]) -> Callable[..., Numbers]:
    """Whether a result is out of the range of the type `of`."""
    return lambda _, a, b, of: [int(not of.bounds[0] <= rule(x, y) <= of.bounds[1]) for x, y in _stretched(a, b)]


# -- of vectors ---------------------------------------------------------------------------------------------------------


def _folded(rule: Callable[[Iterable[int]], int]) -> Callable[..., Numbers]:
    """Reduces several operands element by element, or the elements of a single vector."""

    def folded(_: Kind, *operands: Any) -> Numbers:  # noqa: ANN401 - a vector, or a list of operands
        if len(operands) == 1 and isinstance(operands[0][0], list):
            operands = tuple(operands[0])
        elif len(operands) == 1:
            return [rule(operands[0])]
        return [rule(own) for own in _stretched(*operands)]

    return folded


def _dot(kind: Kind, a: Any, b: Any) -> Numbers:  # noqa: ANN401 - vectors, and a matrix on one side
    if isinstance(b, np.ndarray):
        return _dot(kind, b.T, a)
    if not kind.split:
        return [int(x) for x in np.atleast_1d(np.asarray(a, dtype=np.int64) @ np.asarray(b, dtype=np.int64))]
    rows = a.tolist() if isinstance(a, np.ndarray) else [a]
    return [sum(x * y for x, y in _stretched(row, b)) for row in rows]


def _convolved(
    _: Kind,
    kernel: NDArray[np.int64],
    image: Numbers,
    shape: Numbers,
    *,
    stride: Numbers = [1],  # noqa: B006 - the form of numbers in a step; never changed
    padding: Numbers = [0],  # noqa: B006
    bias: Numbers = [0],  # noqa: B006
) -> Numbers:
    """Each window of the padded image times each filter."""
    sums = convolution(kernel, image, tuple(shape), stride[0], padding[0])
    return [int(number) for number in (sums.reshape(-1, len(bias)) + np.asarray(bias)).reshape(-1)]


def convolution(
    kernel: NDArray[np.int64],
    image: Numbers | NDArray[np.int64],
    shape: tuple[int, ...],
    stride: int,
    padding: int,
) -> NDArray[np.int64]:
    """Each window of the padded image times each filter; filters are the inner dimension."""
    weights = np.asarray(kernel, dtype=np.int64)
    weights = weights[None, :, :, None] if weights.ndim == 2 else weights
    height, width = weights.shape[1:3]
    pixels = np.asarray(image, dtype=np.int64).reshape(shape[0], shape[1], -1)
    pixels = np.pad(pixels, ((padding, padding), (padding, padding), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(pixels, (height, width), axis=(0, 1))[::stride, ::stride]
    return np.einsum("rcdhw,fhwd->rcf", windows, weights).reshape(-1)


def _looked_up(
    _: Kind, a: Numbers, tables: Sequence[tuple[int, Numbers]], choice: Numbers | None, *__: object
) -> Numbers:
    """For each element, the entry of its table; 0 beyond the table's ends."""
    found = []
    for value, at in zip(a, choice or [0] * len(a), strict=True):
        first, entries = tables[at]
        found.append(entries[value - first] if 0 <= value - first < len(entries) else 0)
    return found


def _sorted(_: Kind, values: Any, *, descending: Numbers = [0]) -> Numbers:  # noqa: ANN401, B006 - a vector, or a list of values
    flat = [number for value in values for number in (value if isinstance(value, list) else [value])]
    return sorted(flat, reverse=bool(descending[0]))


def _joined(_: Kind, *operands: Numbers) -> Numbers:
    return [number for operand in operands for number in operand]


# -- of texts -----------------------------------------------------------------------------------------------------------


def _text(numbers: Numbers) -> bytes:
    """A text without its trailing zeros."""
    return bytes(numbers).rstrip(b"\0")


def _of_texts(rule: Callable[[bytes, bytes], bool]) -> Callable[..., Numbers]:
    return lambda _, a, b: [int(rule(_text(a), _text(b)))]


def _filled(kind: Kind, text: bytes) -> Numbers:
    return list(text.ljust(kind.length, b"\0"))


def _chosen_text(kind: Kind, condition: Numbers, then: Numbers, otherwise: Numbers) -> Numbers:
    return _filled(kind, _text(then if condition[0] else otherwise))


def _text_extreme(rule: Callable[..., bytes]) -> Callable[..., Numbers]:
    def extreme(kind: Kind, *operands: Any) -> Numbers:  # noqa: ANN401 - texts, or a list of them
        texts = operands[0] if len(operands) == 1 else operands
        return _filled(kind, rule(map(_text, texts)))

    return extreme


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}

RULES: dict[str, Callable[..., Numbers]] = {
    "+": _each(operator.add),
    "-": _each(operator.sub),
    "*": _each(operator.mul),
    "/": _divided,
    "//": _quotient,
    "%": _remainder,
    "**": _power,
    "neg": _each(operator.neg),
    "abs": _each(abs),
    "<<": _shifted_left,
    ">>": _each(operator.rshift),
    "&": _each(operator.and_),
    "|": _each(operator.or_),
    "^": _each(operator.xor),
    "~": _inverted,
    "nand": _each(lambda a, b: 1 - (a & b)),
    "nor": _each(lambda a, b: 1 - (a | b)),
    "xnor": _each(lambda a, b: 1 - (a ^ b)),
    **{op: _each(rule) for op, rule in _COMPARISONS.items()},
    **{f"text {op}": _of_texts(rule) for op, rule in _COMPARISONS.items()},
    "checked +": _each(operator.add),
    "checked -": _each(operator.sub),
    "checked *": _each(operator.mul),
    "beyond +": _checked(operator.add),
    "beyond -": _checked(operator.sub),
    "beyond *": _checked(operator.mul),
    "rotate_left": _rotated_left,
    "rotate_right": _rotated_right,
    "bit": _each(lambda x, index: x >> index & 1),
    "bit_count": _each(int.bit_count),
    "leading_zeros": _leading_zeros,
    "cast": _cast,
    "assume": lambda _, a, __: a,
    "mux": _each(lambda condition, a, b: a if condition else b),
    "at": lambda _, a, index: [a[index[0]] if 0 <= index[0] < len(a) else 0],
    "table": lambda _, a, tables, __: _looked_up(_, a, tables, None),
    "lookup": _looked_up,
    "fixed lookup": lambda _, a, entries, of: [entries[int(x * (1 << of[1])) - of[0]] for x in a],
    "sign": lambda _, a, boolean: [1 if x >= 0 else boolean[0] - 1 for x in a],
    "relu": _each(lambda x: max(x, 0)),
    "sum": _folded(sum),
    "mean": lambda _, a: [Fraction(sum(a), len(a))],
    "max": _folded(max),
    "min": _folded(min),
    "all": lambda _, a: [int(all(a))],
    "any": lambda _, a: [int(any(a))],
    "dot": _dot,
    "convolve": _convolved,
    "sort": _sorted,
    "take": lambda _, a, indices, **__: [a[i] for i in indices],
    "concat": _joined,
    "text startswith": _of_texts(bytes.startswith),
    "text endswith": _of_texts(bytes.endswith),
    "text contains": _of_texts(lambda text, part: part in text),
    "text mux": _chosen_text,
    "text max": _text_extreme(max),
    "text min": _text_extreme(min),
}
"""By name of the operation."""


def holds(kind: Type, value: int) -> bool:
    """Whether the type holds a value."""
    if kind.kind == "torus":
        assert kind.bits is not None
        return centred(value, kind.bits) == value
    if kind.wraps:
        return kind.wrap(value) == value
    return kind.lo <= value <= kind.hi and (value - kind.lo) % kind.stride == 0


def centred(value: int, bits: int) -> int:
    """`value` modulo 2^bits, in [-2^(bits - 1), 2^(bits - 1))."""
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half
