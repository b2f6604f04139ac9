"""Functions of encrypted values: look-ups, choices, sums, maxima, gates and convolutions."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from copy import copy
from functools import reduce
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .._native import ElementType
from ..errors import shown
from . import lowering, ranges, slot_functions, slot_parts
from . import public_operands as operands
from .cells import Cells
from .digits import Digits
from .place import refuse, whole
from .public_operands import Clear, Public, integers, tabulated
from .reference import means
from .rules import convolution
from .slots import SlotValue
from .texts import Text, chosen_text, extreme_text
from .tracer import Unfit
from .types import MOST_ELEMENTS, MOST_INDEX, MOST_LOOKED_UP, Type
from .values import Value

_MOST_PIXELS = 1 << 16
"""Limit of a convolution's stride and padding, as in the Rust half."""


def _expect_values(what: str, values: Sequence[object], instead: str) -> None:
    """Rejects operands that are not encrypted values of TFHE."""
    for value in values:
        if isinstance(value, SlotValue):
            raise refuse(f"{what}: not available with CKKS and BGV; {instead}")
        if not isinstance(value, Value):
            raise refuse(f"{what}: an operand is {type(value).__name__}, but an encrypted value is needed")


# -- look-ups -------------------------------------------------------------------------------------------------------------


def lookup(
    value: Value,
    table: operands.Table | Sequence[operands.Table],
    *,
    choice: Sequence[int] | NDArray[np.integer] | None = None,
    boolean: bool = False,
    result: Type | None = None,
) -> Value:
    """Any function of each element.

    `table` is a Python function over the range of `value`, or the list of results from the smallest value up. With
    `choice`, `table` is a list of tables, and element i uses table `choice[i]`. The result is an integer with the range of the
    table's entries, which must lie in the range of `result` if given. With `boolean` it is a truth value. If `result` is pf.Bool or
    pf.Torus(bits), it has that type.
    """
    if isinstance(value, SlotValue):
        raise refuse(
            "look-up: not available with CKKS and BGV, nor are maxima; use pf.chebyshev, pf.sign and pf.relu, or the integers of TFHE"
        )
    if not isinstance(value, Value):
        raise refuse(f"look-up: the operand is {type(value).__name__}, but an encrypted value is needed")
    if choice is None:
        tables, chosen = [_tabulated(table, value)], None  # type: ignore[arg-type]
    else:
        if not isinstance(table, Sequence | np.ndarray):
            raise refuse("look-up: with choice, give a list of tables")
        tables = [_tabulated(t, value) for t in table]  # type: ignore[arg-type]
        last = len(tables) - 1
        chosen = [
            whole(f"choice {i} of a look-up", at, 0, last) for i, at in enumerate(integers(choice).reshape(-1).tolist())
        ]
        if len(chosen) != value.length:
            raise refuse(f"look-up: {len(chosen)} choices for {value.length} elements; give one for each element")
    if result is not None and (not isinstance(result, Type) or result.wraps):
        raise refuse(
            f"look-up: result={result!r} is not a range; write result=pf.Int(0, 7), and cast the result for a width"
        )
    if boolean and result is not None:
        raise refuse(f"look-up: boolean=True and result={result!r} exclude each other; give one of them")
    if result is not None and result.kind == "integer":
        least, most = ranges.of_numbers([entry for _, entries in tables for entry in entries])
        if least < result.lo or most > result.hi:
            raise refuse(
                f"look-up: the table's entries go from {least} to {most}, beyond {result!r}; widen result=, or omit it"
            )
    return _looked_up(value, tables, chosen, _element(boolean, result))


def _element(boolean: bool, result: Type | None) -> ElementType:
    if boolean or (result is not None and result.kind == "boolean"):
        return ElementType.boolean()
    return result.element if result is not None and result.kind == "torus" else ElementType.integer(0, 0)


def _tabulated(table: operands.Table, value: Value) -> tuple[int, list[int]]:
    kind = value.type
    if kind.kind == "torus":
        return tabulated(table, *_of_torus(value))
    size, in_digits = ranges.size(kind.bounds), isinstance(value.form, Digits)
    most = 1 << MOST_INDEX if in_digits else MOST_LOOKED_UP
    if size > most and (in_digits or callable(table)):
        raise refuse(
            f"a table over {kind.lo} to {kind.hi} has {size} entries, but a table has at most {most}; narrow the range first"
        )
    try:
        first, entries = tabulated(table, kind.bounds, kind.stride)
    except Exception as error:
        if value._tracer.again:
            raise Unfit from error
        raise
    # With digits, operands beyond a list's end give 0, which the result's range must include.
    return first, entries + [0] * (size - len(entries) if in_digits else 0)


def _of_torus(value: Value) -> tuple[tuple[int, int], int]:
    assert isinstance(value.form, Cells)
    lo, hi, stride = value.form.element.bounds
    return (lo, hi), stride


@means("lookup")
def _looked_up(
    value: Value, tables: list[tuple[int, list[int]]], chosen: list[int] | None, element: ElementType
) -> Value:
    return Value(lowering.looked_up(value.form, tables, chosen, element))


class Table:
    """A public table with encrypted indices: `table[i]`. Indices beyond its ends give 0. The entries have the type `result`, or their own range."""

    def __init__(self, entries: operands.Table, result: Type | None = None) -> None:
        if result is not None and (not isinstance(result, Type) or result.kind == "torus"):
            raise refuse(
                f"a table cannot have entries of {result}; give a type of integers or truth values, as pf.Table(entries, pf.UInt(8))"
            )
        self._entries = copy(entries)
        self._kind = result

    def __getitem__(self, index: Value) -> Value:
        if not isinstance(index, Value) or isinstance(index, Text) or index.type.kind == "torus":
            of = index.type if isinstance(index, Value) else type(index).__name__
            raise refuse(
                f"a table's index is {of}; give an encrypted integer, or for a public index use the list of entries"
            )
        lo, hi = index.type.bounds
        entries = self._entries
        if callable(entries):
            _, values = _tabulated(entries, index)
            first = lo
        elif isinstance(entries, Sequence | np.ndarray) and np.ndim(entries):
            values = [whole(f"entry {i} of a table", entry) for i, entry in enumerate(entries)]
            first = 0
        else:
            raise refuse(f"the entries of a table are {shown(entries)}; give a list of integers, or a function")
        if not values:
            raise refuse("the table has no entries; give one for each index")
        if ranges.size((lo, hi)) > 1 << MOST_INDEX:
            raise refuse(
                f"a table's index goes from {lo} to {hi}, but has at most 2^{MOST_INDEX} values; narrow it first"
            )
        return _entry(index, [(lo, [_at(values, first, i) for i in range(lo, hi + 1)])], self._kind)


def _at(values: list[int], first: int, index: int) -> int:
    return values[index - first] if 0 <= index - first < len(values) else 0


@means("table")
def _entry(index: Value, tables: list[tuple[int, list[int]]], kind: Type | None) -> Value:
    first, values = tables[0]
    if kind is None:
        return Value(lowering.looked_up(index.form, tables, None, ElementType.integer(0, 0)))
    for value in values:
        kind.digits(value)
    if kind.kind == "boolean":
        return Value(lowering.looked_up(index.form, tables, None, ElementType.boolean()))
    if not kind.wraps:
        return Value(lowering.looked_up(index.form, tables, None, ElementType.integer(0, 0)))
    own: Digits = lowering.split(index.form)
    width = (kind.width, kind.signed)
    return Value(own.table(lambda i: _at(values, first, i), width, None))


def sign(
    value: Value | SlotValue,
    *,
    boolean: bool = False,
    gap: float = slot_functions.SIGN_GAP,
    degrees: Sequence[int] = slot_functions.SIGN_DEGREES,
) -> Value | SlotValue:
    """+1 where an element is at least 0, else -1: for one ciphertext, one look-up over the whole torus. With `boolean`, 1 and 0.

    With CKKS, for numbers in [-1, 1], it composes minimax polynomials of odd `degrees`, each taking ceil(log2(degree + 1))
    levels. Within (-`gap`, `gap`) the result is anything from -1 to 1.
    """
    if isinstance(value, SlotValue):
        found = slot_functions.sign(value, gap, degrees, half=boolean, margins=slot_functions.SIGN_MARGINS)
        return found + 0.5 if boolean else found
    if not isinstance(value, Value):
        raise refuse(f"sign: the operand is {type(value).__name__}, but an encrypted value is needed")
    slot_functions.expect_no_options("sign", gap, degrees)
    return _sign(value, boolean)


@means("sign")
def _sign(value: Value, boolean: bool) -> Value:
    return Value(lowering.sign(value.form, boolean=boolean))


@means("relu")
def relu(
    value: Value | SlotValue,
    *,
    gap: float = slot_functions.SIGN_GAP,
    degrees: Sequence[int] = slot_functions.SIGN_DEGREES,
) -> Value | SlotValue:
    """max(value, 0): for one ciphertext, one look-up. With CKKS, value (1 + sign(value)) / 2, with the approximate `sign`."""
    if isinstance(value, SlotValue):
        return slot_functions.relu(value, gap, degrees)
    slot_functions.expect_no_options("relu", gap, degrees)
    if not isinstance(value, Value):
        raise refuse(f"relu: the operand is {type(value).__name__}, but an encrypted value is needed")
    if isinstance(value.form, Cells) and ranges.size(value.type.bounds) <= MOST_LOOKED_UP:
        return lookup(value, lambda x: max(x, 0))
    return maximum(value, 0)


# -- choices --------------------------------------------------------------------------------------------------------------


@means("mux")
def mux(condition: Value, then: Value | Clear | str, otherwise: Value | Clear | str) -> Value:
    """`then` where `condition` holds, else `otherwise`."""
    if isinstance(condition, SlotValue):
        _expect_values("mux", (condition,), "for c of 0s and 1s write c * a + (1 - c) * b")
    if not isinstance(condition, Value):
        raise refuse(
            f"mux: the condition is {type(condition).__name__}, but an encrypted value is needed; for a public c of 0s and 1s write "
            "c * x + (1 - c) * y"
        )
    lo, hi = condition.type.bounds
    if condition.type.kind == "torus" or lo < 0 or hi > 1:
        raise refuse(f"mux: the condition is {condition.type}, but a truth value is needed; compare it, as x != 0")
    choices = (then, otherwise)
    if any(isinstance(choice, Text) for choice in choices) or all(isinstance(choice, str) for choice in choices):
        return chosen_text(condition, cast("Text | str", then), cast("Text | str", otherwise))
    a, b = (condition.operand(choice) for choice in (then, otherwise))
    return Value(lowering.chosen(condition.form, a, b))


def _extreme(op: str, values: Sequence[Any], instead: str) -> Value:
    """The greatest or the least of all values, or of the elements of a single vector or sequence, as a tree of pairs."""
    if len(values) == 1 and isinstance(values[0], Iterable) and not isinstance(values[0], SlotValue):
        values = list(values[0])
    if any(isinstance(value, SlotValue) for value in values):
        _expect_values(op, [value for value in values if isinstance(value, SlotValue)], instead)
    encrypted = [value for value in values if isinstance(value, Value)]
    if not encrypted:
        raise refuse("max and min: there is no encrypted operand; give values, pf.max(x, y, 3), or a vector, pf.max(x)")

    def pair(a: Value, b: Any) -> Value:  # noqa: ANN401 - encrypted or public
        for text, other in ((a, b), (b, a)):
            if isinstance(text, Text):
                return extreme_text(op, text, other)
        return Value(lowering.extreme(op, a.form, a.operand(b)))

    while len(encrypted) > 1:
        pairs = [pair(a, b) for a, b in zip(encrypted[::2], encrypted[1::2], strict=False)]
        encrypted = [*pairs, *encrypted[2 * len(pairs) :]]
    return reduce(pair, [value for value in values if not isinstance(value, Value)], encrypted[0])


@means("max")
def maximum(*values: Any) -> Value:  # noqa: ANN401 - encrypted values, public numbers, or a sequence of them
    """The element-wise maximum of the values, or the greatest element of a single vector or sequence."""
    return _extreme(
        "max",
        values,
        "for reals with b - a within -s to s write a + s * pf.relu((b - a) * (1 / s)), or use the integers of TFHE, pf.UInt(bits)",
    )


@means("min")
def minimum(*values: Any) -> Value:  # noqa: ANN401 - as `maximum`
    """The element-wise minimum of the values, or the least element of a single vector or sequence."""
    return _extreme(
        "min",
        values,
        "for reals with a - b within -s to s write a - s * pf.relu((a - b) * (1 / s)), or use the integers of TFHE, pf.UInt(bits)",
    )


_GATES = {"nand": "1 - x * y", "nor": "(1 - x) * (1 - y)", "xnor": "1 - (x - y) ** 2"}
"""The same gates on 0s and 1s in slots."""


def _gate(gate: str, a: Value | Clear, b: Value | Clear) -> Value:
    if not isinstance(a, Value):
        a, b = b, a
    _expect_values(gate, (a,), f"for 0s and 1s write {_GATES[gate]}")
    own = cast(Value, a)
    other = own.operand(b)
    if not own.form.truth or not other.truth:
        raise refuse(f"{gate}: an operand is {own.type}, but gates take truth values; compare it, as x != 0")
    return Value(lowering.logic(gate, own.form, other))


@means("nand")
def nand(a: Value | Clear, b: Value | Clear) -> Value:
    """Not both, by one look-up per element."""
    return _gate("nand", a, b)


@means("nor")
def nor(a: Value | Clear, b: Value | Clear) -> Value:
    """Neither, by one look-up per element."""
    return _gate("nor", a, b)


@means("xnor")
def xnor(a: Value | Clear, b: Value | Clear) -> Value:
    """Both or neither, by one look-up per element."""
    return _gate("xnor", a, b)


# -- vectors --------------------------------------------------------------------------------------------------------------


def dot(weights: Clear | Value | SlotValue, value: Clear | Value | SlotValue) -> Value | SlotValue:
    """`weights @ value`; at least one of them is encrypted."""
    if isinstance(weights, SlotValue) and (weights.grid or getattr(value, "grid", None)):
        return weights @ value  # type: ignore[operator]
    if isinstance(weights, SlotValue):
        return (weights * value).sum_slots()
    if isinstance(weights, Value):
        return weights @ cast("Value | Clear", value)
    if not isinstance(value, Value | SlotValue):
        raise refuse(f"dot: both operands are public, the second a {type(value).__name__}; give an encrypted vector")
    return value.__rmatmul__(weights)


@means("concat")
def concat(*values: Value) -> Value:
    """The elements of all operands in order; with CKKS and BGV also the rows of matrices. Free, except that a single number in slots takes a level."""
    if not values:
        raise refuse("concat: there is no operand; give at least one value")
    if all(isinstance(value, SlotValue) for value in values):
        return slot_parts.concat(cast("Sequence[SlotValue]", values))  # type: ignore[return-value]
    encrypted = [value for value in values if isinstance(value, Value | SlotValue)]
    for value in values:
        if isinstance(value, list | tuple):
            raise refuse(
                f"concat: an operand is a {type(value).__name__}; give the values one by one, pf.concat(a, b, ..)"
            )
        if not isinstance(value, Value | SlotValue):
            one = "x" if encrypted and encrypted[0].type.scalar else "x[:1]"
            given = f", as {one} - {one} + {value!r}" if encrypted and isinstance(value, int | float) else ""
            raise refuse(f"concat: an operand is {type(value).__name__}, but an encrypted value is needed{given}")
    if any(isinstance(value, SlotValue) for value in encrypted):
        raise refuse(
            "concat: a value of TFHE cannot be combined with one of CKKS or BGV; write one program for each scheme"
        )
    if any(value._tracer is not values[0]._tracer for value in values):
        raise refuse("the operands belong to two different programs; use values of one program")
    return Value(lowering.joined([value.form for value in values]))


@means("sum")
def total(*values: Value | SlotValue | Clear | Sequence[Value | Clear]) -> Value | SlotValue:
    """The sum of all values, or of the elements of a single vector or sequence. Public numbers may be among them, and are added last."""
    if len(values) == 1:
        only = values[0]
        if isinstance(only, Value | SlotValue):
            return only.sum()
        values = tuple(only) if isinstance(only, Iterable) else values
    public = [value for value in values if isinstance(value, int | float | complex | np.number | np.ndarray)]
    if public and len(public) < len(values):
        encrypted = [value for value in values if isinstance(value, Value | SlotValue)]
        if len(encrypted) + len(public) == len(values):
            return total(encrypted) + reduce(operator.add, public)  # type: ignore[arg-type]
    if values and all(isinstance(value, SlotValue) for value in values):
        return reduce(operator.add, cast("Sequence[SlotValue]", values))
    if not values or not all(isinstance(value, Value) and not isinstance(value, Text) for value in values):
        raise refuse("sum: give an encrypted vector, or a sequence of encrypted values of one kind")
    own = cast("Sequence[Value]", values)
    return Value(lowering.total([own[0].form, *(cast(Any, own[0].operand(value)) for value in own[1:])]))


@means("convolve")
def convolve(
    kernel: NDArray[np.integer],
    image: Value,
    shape: tuple[int, int] | tuple[int, int, int],
    *,
    stride: int = 1,
    padding: int = 0,
    bias: Clear = 0,
) -> Value:
    """A two-dimensional convolution of `image` with public weights, as in neural networks: the kernel is not mirrored.

    `image` is a vector of height x width x channels = `shape`, channels last; `kernel` has filters x height x width x
    channels weights. With one filter and one channel both may be height x width. `padding` surrounds the image with zeros, `bias`
    is one number, or one per filter. Returns a vector of height x width x filters, where each extent is
    (extent + 2 padding - kernel extent) // stride + 1.
    """
    _expect_values("convolve", (image,), "multiply with the matrix of the convolution, matrix @ x")
    extents = shape if isinstance(shape, Sequence) else (shape,)
    shape = tuple(whole("an extent of convolve's image", n, 1, MOST_ELEMENTS) for n in extents)  # type: ignore[assignment]
    stride = whole("convolve's stride", stride, 1, _MOST_PIXELS)
    padding = whole("convolve's padding", padding, 0, _MOST_PIXELS - 1)
    weights = integers(kernel)
    if weights.ndim == 2 and len(shape) == 2:
        weights, shape = weights[None, :, :, None], (*shape, 1)
    if weights.ndim != 4 or len(shape) != 3 or weights.shape[3] != shape[2]:
        given = " x ".join(str(n) for n in weights.shape)
        raise refuse(
            f"a kernel of {given} does not fit an image of {' x '.join(map(str, shape))}; "
            "give filters x height x width x channels, with the channels of the image, or height x width of both"
        )
    if int(np.prod(shape)) != image.length:
        raise refuse(
            f"an image of {' x '.join(map(str, shape))} needs {int(np.prod(shape))} elements, but {image.type} has {image.length}; correct the shape"
        )
    filters, height, width, _ = weights.shape
    given_biases = integers(bias)
    if given_biases.shape not in ((), (1,), (filters,)):
        raise refuse(f"convolve: {given_biases.size} biases for {filters} filters; give one number, or one per filter")
    biases = np.broadcast_to(given_biases, (filters,)).tolist()
    form = image.form
    if isinstance(form, Cells) and form.tracer.holds(_convolved_span(form, weights, biases)):
        flat = weights.reshape(-1).tolist()
        made = form.new(
            lambda b: b.convolution(form.node, shape, (filters, height, width), flat, stride, padding, biases),
            scalar=False,
        )
        return Value(made)
    # The matrix of the convolution, one column for each pixel.
    pixels = np.eye(image.length, dtype=np.int64)
    columns = [convolution(weights, pixel, shape, stride, padding) for pixel in pixels]  # type: ignore[arg-type]
    sums = lowering.weighted(lowering.split(form), np.array(columns).T, scalar=False)
    return Value(lowering.arithmetic("+", sums, Public(biases * (sums.length // filters), scalar=False)))


def _convolved_span(image: Cells, weights: NDArray[np.int64], biases: list[int]) -> tuple[int, int]:
    span = ranges.weighted(weights.reshape(len(weights), -1).tolist(), ranges.union(image.span, (0, 0)))
    return span[0] + min(biases), span[1] + max(biases)
