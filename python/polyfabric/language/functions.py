"""Functions of encrypted values: lookups, choices, sums, maxima, gates and convolutions."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .._native import ElementType
from . import fixed, lowering, ranges, reals, slot_functions, slot_parts
from . import public_operands as operands
from .cells import Cells
from .digits import Digits
from .fixed import FixedValue
from .fixed_type import FixedType
from .instead import CONVOLVED, unsuited
from .place import refuse, whole
from .public_operands import Clear, Public, integers, tabulated
from .reals import RealValue
from .reference import means
from .rules import convolution
from .selectors import SelectorValue
from .slots import SlotValue
from .texts import Text, chosen_text, extreme_text
from .tracer import Unfit
from .types import MOST_ELEMENTS, MOST_INDEX, MOST_LOOKED_UP, Bool, TextType, Type
from .values import TfheValue

_MOST_PIXELS = 1 << 16
"""Limit of a convolution's stride and padding, as in the Rust half."""


def _expect_values(what: str, values: Sequence[object], instead: str) -> None:
    """Rejects operands that are not encrypted values of TFHE."""
    for value in values:
        if isinstance(value, SlotValue):
            raise refuse(f"{what}: not available with CKKS and BGV; {instead}")
        if not isinstance(value, TfheValue):
            raise refuse(f"{what}: an operand is {type(value).__name__}, but an encrypted value is needed")


# -- lookups -------------------------------------------------------------------------------------------------------------


def lookup(
    value: TfheValue,
    table: operands.Table | Sequence[operands.Table],
    *,
    choice: Sequence[int] | NDArray[np.integer] | None = None,
    boolean: bool = False,
    result: Type | None = None,
) -> TfheValue:
    """Any function of each element.

    `table` is a Python function over the range of `value`, or a list with an entry for each value of the range, the first for the smallest. For
    a shorter list, state the range: `pf.lookup(i.assume(pf.Int(0, 2)), [5, 6, 7])`. With `choice`, `table` is a list of tables, and element i
    uses table `choice[i]`.

    By default the result is an integer with the range of the table's entries. `result` names another type that holds them, such as pf.Int(0, 99),
    pf.UInt(8) or pf.Bool, pf.Fixed(bits, point) or pf.Torus(bits); with `boolean` it is a truth value. A table of fixed-point numbers has such
    results by default.
    """
    if isinstance(value, SlotValue):
        raise refuse(
            "lookup: not available with CKKS and BGV, nor are maxima; use pf.chebyshev, pf.sign and pf.relu, or the integers of TFHE"
        )
    if not isinstance(value, TfheValue) or isinstance(value, Text):
        raise unsuited("lookup", value, "give an encrypted integer, or take the entry of a public one, table[i]")
    if boolean and result is not None:
        raise refuse(f"lookup: boolean=True and result={result!r} exclude each other; give one of them")
    if choice is None and (isinstance(value, FixedValue) or isinstance(result, FixedType)):
        return fixed.tabulated(value, table, Bool if boolean else result)
    if isinstance(value, FixedValue) or isinstance(result, FixedType):
        raise refuse("lookup: choice= is not available with pf.Fixed; write a lookup for each table")
    if result is not None and not (isinstance(result, Type) and result.scalar and not isinstance(result, TextType)):
        raise refuse(
            f"lookup: result={result!r} is not the type of one entry; write result=pf.Int(0, 7) or pf.UInt(8), also for a vector"
        )
    wraps = result is not None and result.wraps
    if choice is None:
        tables, chosen = [_tabulated(table, value, wraps)], None  # type: ignore[arg-type]
    else:
        if not isinstance(table, Sequence | np.ndarray):
            raise refuse("lookup: with choice, give a list of tables")
        tables = [_tabulated(t, value, False) for t in table]  # type: ignore[arg-type]
        last = len(tables) - 1
        chosen = [
            whole(f"choice {i} of a lookup", at, 0, last) for i, at in enumerate(integers(choice).reshape(-1).tolist())
        ]
        if len(chosen) != value.length:
            raise refuse(f"lookup: {len(chosen)} choices for {value.length} elements; give one for each element")
    if result is not None and result.kind == "integer":
        least, most = ranges.of_numbers([entry for _, entries in tables for entry in entries])
        if least < result.lo or most > result.hi:
            raise refuse(
                f"lookup: the table's entries go from {least} to {most}, beyond {result!r}; widen result=, or omit it"
            )
    if wraps:
        assert result is not None
        if chosen is None:
            return _of_width(value, tables, result)
        return _looked_up(value, tables, chosen, _element(boolean, None)).cast(result)
    return _looked_up(value, tables, chosen, _element(boolean, result))


def _element(boolean: bool, result: Type | None) -> ElementType:
    if boolean or (result is not None and result.kind == "boolean"):
        return ElementType.boolean()
    return result.element if result is not None and result.kind == "torus" else ElementType.integer(0, 0)


def _tabulated(table: operands.Table, value: TfheValue, in_digits: bool) -> tuple[int, list[int]]:
    kind = value.type
    if kind.kind == "torus":
        return tabulated(table, *_of_torus(value))
    size = ranges.size(kind.bounds)
    most = 1 << MOST_INDEX if in_digits or isinstance(value.form, Digits) else MOST_LOOKED_UP
    if size > most:
        raise refuse(
            f"a table over {kind.lo} to {kind.hi} has {size} entries, but a table has at most {most}; narrow the range first"
        )
    try:
        first, entries = tabulated(table, kind.bounds, kind.stride)
    except Exception as error:
        if value._tracer.again:
            raise Unfit from error
        raise
    if callable(table):
        return first, entries
    if len(entries) < size or (kind.lo and len(entries) > size):
        narrower = f", or state the range, as x.assume(pf.Int({kind.lo}, {kind.lo + len(entries) - 1}))"
        raise refuse(
            f"the lookup table has {len(entries)} entries, but {kind.lo} to {kind.hi} are {size} values, the first of which is {kind.lo}; give an "
            f"entry for each, or a function{narrower if len(entries) < size else ''}"
        )
    return first, entries[:size]


def _of_torus(value: TfheValue) -> tuple[tuple[int, int], int]:
    assert isinstance(value.form, Cells)
    lo, hi, stride = value.form.element.bounds
    return (lo, hi), stride


@means("lookup")
def _looked_up(
    value: TfheValue, tables: list[tuple[int, list[int]]], chosen: list[int] | None, element: ElementType
) -> TfheValue:
    return TfheValue(lowering.looked_up(value.form, tables, chosen, element))


@means("table")
def _of_width(value: TfheValue, tables: list[tuple[int, list[int]]], kind: Type) -> TfheValue:
    (first, entries), own = tables[0], lowering.split(value.form)
    return TfheValue(own.table(lambda i: entries[i - first], (kind.width, kind.signed), None))


def sign(
    value: TfheValue | SlotValue,
    *,
    boolean: bool = False,
    gap: float = slot_functions.SIGN_GAP,
    degrees: Sequence[int] = slot_functions.SIGN_DEGREES,
) -> TfheValue | SlotValue:
    """+1 where an element is at least 0, else -1: for one ciphertext, one lookup over the whole torus. With `boolean`, 1 and 0.

    With CKKS, for numbers in [-1, 1], it composes minimax polynomials of odd `degrees`, each taking ceil(log2(degree + 1))
    levels. Within (-`gap`, `gap`) the result is anything from -1 to 1.
    """
    if isinstance(value, SlotValue):
        found = slot_functions.sign(value, gap, degrees, half=boolean, margins=slot_functions.SIGN_MARGINS)
        return found + 0.5 if boolean else found
    if isinstance(value, RealValue):
        return value.sign(None if gap == slot_functions.SIGN_GAP else gap, boolean=boolean)
    if not isinstance(value, TfheValue):
        raise unsuited("sign", value, "give an encrypted value")
    slot_functions.expect_no_options("sign", gap, degrees)
    return _sign(value, boolean)


@means("sign")
def _sign(value: TfheValue, boolean: bool) -> TfheValue:
    return TfheValue(lowering.sign(value.form, boolean=boolean))


@means("relu")
def relu(
    value: TfheValue | SlotValue,
    *,
    gap: float = slot_functions.SIGN_GAP,
    degrees: Sequence[int] = slot_functions.SIGN_DEGREES,
) -> TfheValue | SlotValue:
    """max(value, 0): for one ciphertext, one lookup. With CKKS, value (1 + sign(value)) / 2, with the approximate `sign`."""
    if isinstance(value, SlotValue):
        return slot_functions.relu(value, gap, degrees)
    slot_functions.expect_no_options("relu", gap, degrees)
    if not isinstance(value, TfheValue):
        raise unsuited("relu", value, "give an encrypted value")
    if isinstance(value.form, Cells) and ranges.size(value.type.bounds) <= MOST_LOOKED_UP:
        return lookup(value, lambda x: max(x, 0))
    return maximum(value, 0)


# -- choices --------------------------------------------------------------------------------------------------------------


@means("mux")
def where(condition: Any, then: Any, otherwise: Any) -> Any:  # noqa: ANN401 - values of any scheme
    """`then` where `condition` holds, else `otherwise`, element by element: `np.where` for an encrypted condition.

    `condition` is a truth value or a vector of them. The choices are encrypted or public integers, or texts; a single value goes with every
    element. The result has the range of both choices. With CKKS and BGV, the condition is a selector, one bit for all slots.
    """
    if isinstance(condition, SelectorValue):
        return condition.choose(then, otherwise)
    if isinstance(condition, SlotValue):
        _expect_values(
            "where",
            (condition,),
            "declare a bit for all slots as pf.Mod(t).selector or pf.Real.selector; for c of 0s and 1s write c * a + (1 - c) * b",
        )
    if not isinstance(condition, TfheValue):
        raise refuse(
            f"where: the condition is {type(condition).__name__}, but an encrypted value is needed; for a public c of 0s and 1s write "
            "c * x + (1 - c) * y"
        )
    lo, hi = condition.type.bounds
    if condition.type.kind == "torus" or lo < 0 or hi > 1:
        raise refuse(f"where: the condition is {condition.type}, but a truth value is needed; compare it, as x != 0")
    choices = (then, otherwise)
    if any(isinstance(choice, Text) for choice in choices) or all(isinstance(choice, str) for choice in choices):
        return chosen_text(condition, cast("Text | str", then), cast("Text | str", otherwise))
    if fixed.first_of(choices) is not None:
        return fixed.chosen(condition, then, otherwise)
    if isinstance(then, RealValue) or isinstance(otherwise, RealValue):
        return reals.chosen(condition, then, otherwise)
    if isinstance(then, float) or isinstance(otherwise, float):
        raise refuse(
            f"where: {then} and {otherwise} do not say how many bits the result has; write condition.cast(pf.Fixed(16, 8)) * ({then} - {otherwise}) + {otherwise}"
        )
    a, b = (condition.operand(choice) for choice in (then, otherwise))
    return TfheValue(lowering.chosen(condition.form, a, b))


def _extreme(op: str, values: Sequence[Any], instead: str) -> TfheValue:
    """The greatest or the least of all values, or of the elements of a single vector or sequence, as a tree of pairs."""
    if len(values) == 1 and isinstance(values[0], FixedValue):
        return values[0].max() if op == "max" else values[0].min()
    if len(values) == 1 and isinstance(values[0], Iterable) and not isinstance(values[0], SlotValue):
        values = list(values[0])
    if any(isinstance(value, SlotValue) for value in values):
        _expect_values(op, [value for value in values if isinstance(value, SlotValue)], instead)
    encrypted = [value for value in values if isinstance(value, TfheValue)]
    real = next((value for value in values if isinstance(value, RealValue)), None)
    if real is not None:
        raise unsuited(op, real, "give an encrypted integer")
    if not encrypted:
        raise refuse("max and min: there is no encrypted operand; give values, pf.max(x, y, 3), or a vector, pf.max(x)")

    def pair(a: TfheValue, b: Any) -> TfheValue:  # noqa: ANN401 - encrypted or public
        for text, other in ((a, b), (b, a)):
            if isinstance(text, Text):
                return extreme_text(op, text, other)
        if fixed.first_of((a, b)) is not None:
            return fixed.extreme(op, a, b)
        made = TfheValue(lowering.extreme(op, a.form, a.operand(b)))
        if fixed.first_of(encrypted) is not None:
            # A pair of integers becomes an operand of a fixed-point number, which records its own operands.
            made._tracer.reference.note(op, made, (a, b), {}, within=True)
        return made

    while len(encrypted) > 1:
        pairs = [pair(a, b) for a, b in zip(encrypted[::2], encrypted[1::2], strict=False)]
        encrypted = [*pairs, *encrypted[2 * len(pairs) :]]
    return reduce(pair, [value for value in values if not isinstance(value, TfheValue)], encrypted[0])


@means("max")
def maximum(*values: Any) -> TfheValue:  # noqa: ANN401 - encrypted values, public numbers, or a sequence of them
    """The element-wise maximum of the values, or the greatest element of a single vector or sequence."""
    return _extreme(
        "max",
        values,
        "for reals with b - a within -s to s write a + s * pf.relu((b - a) * (1 / s)), or use the integers of TFHE, pf.UInt(bits)",
    )


@means("min")
def minimum(*values: Any) -> TfheValue:  # noqa: ANN401 - as `maximum`
    """The element-wise minimum of the values, or the least element of a single vector or sequence."""
    return _extreme(
        "min",
        values,
        "for reals with a - b within -s to s write a - s * pf.relu((a - b) * (1 / s)), or use the integers of TFHE, pf.UInt(bits)",
    )


_GATES = {"nand": "1 - x * y", "nor": "(1 - x) * (1 - y)", "xnor": "1 - (x - y) ** 2"}
"""The same gates on 0s and 1s in slots."""


def _gate(gate: str, a: TfheValue | Clear, b: TfheValue | Clear) -> TfheValue:
    if not isinstance(a, TfheValue):
        a, b = b, a
    _expect_values(gate, (a,), f"for 0s and 1s write {_GATES[gate]}")
    own = cast(TfheValue, a)
    other = own.operand(b)
    if not own.form.truth or not other.truth:
        raise refuse(f"{gate}: an operand is {own.type}, but gates take truth values; compare it, as x != 0")
    return TfheValue(lowering.logic(gate, own.form, other))


@means("nand")
def nand(a: TfheValue | Clear, b: TfheValue | Clear) -> TfheValue:
    """Not both, by one lookup per element."""
    return _gate("nand", a, b)


@means("nor")
def nor(a: TfheValue | Clear, b: TfheValue | Clear) -> TfheValue:
    """Neither, by one lookup per element."""
    return _gate("nor", a, b)


@means("xnor")
def xnor(a: TfheValue | Clear, b: TfheValue | Clear) -> TfheValue:
    """Both or neither, by one lookup per element."""
    return _gate("xnor", a, b)


# -- vectors --------------------------------------------------------------------------------------------------------------


def dot(weights: Clear | TfheValue | SlotValue, value: Clear | TfheValue | SlotValue) -> TfheValue | SlotValue:
    """`weights @ value`; at least one of them is encrypted."""
    if isinstance(weights, SelectorValue) or isinstance(value, SelectorValue):
        return weights @ value
    if isinstance(weights, SlotValue) and (weights.grid or getattr(value, "grid", None)):
        return weights @ value  # type: ignore[operator]
    if isinstance(weights, SlotValue):
        return (weights * value)._total()
    if isinstance(weights, TfheValue | RealValue):
        return weights @ cast("TfheValue | Clear", value)
    if not isinstance(value, TfheValue | RealValue | SlotValue):
        raise refuse(f"dot: both operands are public, the second a {type(value).__name__}; give an encrypted vector")
    return value.__rmatmul__(weights)


@means("concat")
def concat(*values: TfheValue) -> TfheValue:
    """The elements of all operands in order; with CKKS and BGV also the rows of matrices. Free, except that a single number in slots takes a level."""
    if not values:
        raise refuse("concat: there is no operand; give at least one value")
    if any(isinstance(value, RealValue) for value in values):
        return reals.concat(values)  # type: ignore[return-value]
    if all(isinstance(value, SlotValue) for value in values):
        return slot_parts.concat(cast("Sequence[SlotValue]", values))  # type: ignore[return-value]
    encrypted = [value for value in values if isinstance(value, TfheValue | SlotValue)]
    for value in values:
        if isinstance(value, list | tuple):
            raise refuse(
                f"concat: an operand is a {type(value).__name__}; give the values one by one, pf.concat(a, b, ..)"
            )
        if not isinstance(value, TfheValue | SlotValue):
            one = "x" if encrypted and encrypted[0].type.scalar else "x[:1]"
            given = f", as {one} - {one} + {value!r}" if encrypted and isinstance(value, int | float) else ""
            raise refuse(f"concat: an operand is {type(value).__name__}, but an encrypted value is needed{given}")
    if any(isinstance(value, Text) for value in values):
        raise refuse(
            "concat: a text ends where its zeros begin, which only the key's owner sees; join the bytes, as pf.concat(x.encode(), y.encode())"
        )
    if any(isinstance(value, SlotValue) for value in encrypted):
        raise refuse(
            "concat: a value of TFHE cannot be combined with one of CKKS or BGV; write one program for each scheme"
        )
    if any(value._tracer is not values[0]._tracer for value in values):
        raise refuse("the operands belong to two different programs; use values of one program")
    if fixed.first_of(values) is not None:
        return fixed.joined(values)
    return TfheValue(lowering.joined([value.form for value in values]))


@means("sum")
def total(*values: TfheValue | SlotValue | Clear | Sequence[TfheValue | Clear]) -> TfheValue | SlotValue:
    """The sum of all values, or of the elements of a single vector or sequence. Public numbers may be among them, and are added last."""
    if len(values) == 1:
        only = values[0]
        if isinstance(only, TfheValue | RealValue | SlotValue):
            return only.sum()  # type: ignore[return-value]
        values = tuple(only) if isinstance(only, Iterable) else values
    if fixed.first_of(values) is not None:
        return fixed.total(values)
    public = [value for value in values if isinstance(value, int | float | complex | np.number | np.ndarray)]
    if public and len(public) < len(values):
        encrypted = [value for value in values if isinstance(value, TfheValue | SlotValue)]
        if len(encrypted) + len(public) == len(values):
            return total(encrypted) + reduce(operator.add, public)  # type: ignore[arg-type]
    if values and all(isinstance(value, SlotValue | RealValue) for value in values):
        return reduce(operator.add, cast("Sequence[SlotValue]", values))
    if not values or not all(isinstance(value, TfheValue) and not isinstance(value, Text) for value in values):
        raise refuse("sum: give an encrypted vector, or a sequence of encrypted values of one kind")
    own = cast("Sequence[TfheValue]", values)
    return TfheValue(lowering.total([own[0].form, *(cast(Any, own[0].operand(value)) for value in own[1:])]))


@means("convolve")
def convolve(
    kernel: NDArray[np.integer],
    image: TfheValue,
    shape: tuple[int, int] | tuple[int, int, int] | None = None,
    *,
    stride: int = 1,
    padding: int = 0,
    bias: Clear = 0,
) -> TfheValue:
    """A two-dimensional convolution of `image` with public weights, as in neural networks: the kernel is not mirrored.

    `image` is a vector of height x width x channels = `shape`, channels last; `kernel` has filters x height x width x
    channels weights. With one filter and one channel both may be height x width. `padding` surrounds the image with zeros, `bias`
    is one number, or one per filter. Returns a vector of height x width x filters, where each extent is
    (extent + 2 padding - kernel extent) // stride + 1.
    """
    _expect_values(
        "convolve",
        (image,),
        "write matrix @ x, where column i of the matrix is the convolution of np.eye(len(x))[i] in the clear",
    )
    if shape is None or np.ndim(kernel) == 1:
        raise refuse(
            "convolve: it is two-dimensional, and needs the shape of the image, pf.convolve(kernel, x, (height, width)); for a vector, as numpy's "
            f"convolve, write {CONVOLVED}"
        )
    if isinstance(image, FixedValue):
        raise refuse(
            "convolve: not available with pf.Fixed; write matrix @ x, where column i is the convolution of np.eye(len(x))[i] in the clear"
        )
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
        return TfheValue(made)
    # The matrix of the convolution, one column for each pixel.
    pixels = np.eye(image.length, dtype=np.int64)
    columns = [convolution(weights, pixel, shape, stride, padding) for pixel in pixels]  # type: ignore[arg-type]
    sums = lowering.weighted(lowering.split(form), np.array(columns).T, scalar=False)
    return TfheValue(lowering.arithmetic("+", sums, Public(biases * (sums.length // filters), scalar=False)))


def _convolved_span(image: Cells, weights: NDArray[np.int64], biases: list[int]) -> tuple[int, int]:
    span = ranges.weighted(weights.reshape(len(weights), -1).tolist(), ranges.union(image.span, (0, 0)))
    return span[0] + min(biases), span[1] + max(biases)
