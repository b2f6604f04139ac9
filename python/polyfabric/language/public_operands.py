"""Public numbers beside encrypted values of a few bits: operands, and the tables of look-ups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import shown
from .place import expect_unmasked, refuse
from .types import FARTHEST, MOST_BITS, MOST_CAST, MOST_LOOKED_UP, holding

if TYPE_CHECKING:
    from .values import Value

Clear: TypeAlias = "int | bool | Sequence[int] | NDArray[np.integer] | np.integer"
Table: TypeAlias = "Sequence[int] | NDArray[np.integer] | Callable[[int], int]"


def integers(values: object) -> NDArray[np.int64]:
    """`values` as an integer array; a float or a string is refused, and what no operation of small values takes."""
    expect_unmasked(values)
    try:
        array = np.asarray(values)
    except ValueError:
        raise refuse("the rows of a clear operand have different lengths; give as many integers in each") from None
    if array.dtype == bool:
        array = array.astype(np.int64)
    # Integers beyond 64 bits are Python's own.
    if array.size and array.dtype in (object, np.uint64):
        given = array.reshape(-1).tolist()
        if all(isinstance(number, int) for number in given):
            largest = max(given, key=abs)
            if abs(largest) > FARTHEST:
                wide_enough = (
                    f"pf.UInt({largest.bit_length()})" if largest > 0 else f"pf.SInt({largest.bit_length() + 1})"
                )
                raise refuse(
                    f"the clear operand {largest} is too large beside values of a few bits, which stay within ±2^40; give a smaller "
                    f"one, or declare the values as integers of a width that holds it, as {wide_enough}"
                )
            array = np.asarray(given, dtype=np.int64).reshape(array.shape)
    if array.size == 0:
        # Of which numpy makes an array of floats, and Rust says what is empty.
        array = array.astype(np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        raise refuse(
            f"clear operands are integers, not {type(values).__name__} ({array.dtype}); scale and round to integers first"
        )
    return array.astype(np.int64)


def tabulated(table: Table, value: Value) -> tuple[int, list[int]]:
    """(first operand, entries) of a table given as function or sequence, for the range of `value`."""
    lo, hi, stride = value.element.bounds
    if not callable(table):
        listed = integers(table)
        if listed.ndim != 1:
            raise refuse(
                f"the look-up table is {shown(table)}; give a function, or a list with an integer for each value of the operand"
            )
        if not (given := listed.tolist()):
            raise refuse("the look-up table is empty; give one entry for each value of the operand")
        return lo, _expect_near(value, lo, given)
    if hi - lo >= MOST_LOOKED_UP:
        raise refuse(
            f"a function over {lo} to {hi} has {hi - lo + 1} entries, more than the {MOST_LOOKED_UP} of any parameter set; narrow the range first"
        )
    entries = [0] * (hi - lo + 1)
    for operand in range(lo, hi + 1, stride):
        result = table(operand)
        if not isinstance(result, int | np.integer | np.bool_):
            raise refuse(f"the function of a look-up gave {result!r} for {operand}; it must give an integer")
        entries[operand - lo] = int(result)
    return lo, _expect_near(value, lo, entries)


def _expect_near(value: Value, lo: int, entries: list[int]) -> list[int]:
    """The entries, none of them beyond what a look-up gives."""
    for operand, entry in enumerate(entries, lo):
        if abs(entry) > FARTHEST:
            table = f"pf.Table([function(i) for i in range({len(entries)})], {{type}})[{{index}}]"
            remedy = cast_remedy(value, table, entries) if lo == 0 else ""
            raise refuse(
                f"the look-up gives {entry} for {operand}, beyond ±2^40; let it give smaller integers, or narrow the range of its operand"
                f"{remedy}"
            )
    return entries


def cast_remedy(value: Value, written: str, results: list[int]) -> str:
    """What gives `results`, which are beyond small values, by integers of any width: `written`, where a cast can be."""
    lo, hi = value._ends
    if value.element.kind == "torus" or hi - lo >= MOST_CAST or max(map(abs, results)) >> (MOST_BITS - 1):
        return ""
    kind = holding(lo, hi, *results)
    index = f"x.cast({holding(0, hi)!r})"
    return ", or write " + written.format(x=f"x.cast({kind!r})", type=repr(kind), index=index)


def two_encrypted(op: str, a: Value, b: Value) -> str:
    """Why two values of a few bits do not combine by `op`, and what does it."""
    what = f"{op} of an encrypted {a.element} and an encrypted {b.element} is no look-up of one of them"
    if "integer" not in (a.element.kind, b.element.kind) or a.element.kind != b.element.kind:
        return f"{what}; give two integers, or a public number"
    shifts, (low, high) = op in ("<<", ">>"), b._ends
    if shifts and low < 0:
        return f"{what}, and no amount is below 0; say so with .assume(pf.Int(0, {max(0, high)})), and cast both to pf.UInt(bits) or pf.SInt(bits)"
    lo, hi = a._ends
    if max(hi - lo, high - low) >= MOST_CAST:
        widths = " and ".join(dict.fromkeys(repr(holding(*value._ends)) for value in (a, b)))
        return f"{what}; declare both as integers of any width, which have it, as {widths}"
    # A quotient may be as far above 0 as the least value is below; a shift to the left makes values longer.
    ends = [lo << high, hi << high] if op == "<<" else [lo, hi] if shifts else [lo, hi, low, high, -lo]
    own = holding(lo, hi, *ends)
    amount = holding(0, high) if shifts else own
    return f"{what}; cast both, as x.cast({own!r}) {op} y.cast({amount!r})"
