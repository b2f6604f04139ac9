"""Indexing and concatenation of encrypted vectors and matrices of CKKS and BGV.

A range of a vector, or of a matrix's rows, is a rotation, or free if it begins at the first slot; the following values stay behind its end. Other parts are
moved by generalised diagonals, for one level. A single number is a product with a mask and the sum of the slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .indices import picked
from .place import refuse
from .slot_matrix import expect_room, moved, reshaped

if TYPE_CHECKING:
    from .slots import SlotValue


def expect_lengths(a: SlotValue, b: SlotValue) -> None:
    """Rejects two vectors of different lengths, as numpy does. A rotated vector has all slots of the program, and combines with any."""
    if a.scalar or b.scalar or a.grid or b.grid or a.length == b.length or a._rotated or b._rotated:
        return
    shorter = min(a, b, key=len)
    short, long = ("x", "y") if a is shorter else ("y", "x")
    one = f"; one number for all slots is {short}[0]" if shorter.length == 1 else ""
    raise refuse(
        f"{a.type} and {b.type} cannot be combined; give them one length, as {short} + {long}[:{shorter.length}]{one}"
    )


def of_both(value: SlotValue, shape: tuple[int, ...]) -> tuple[int, int] | None:
    """numpy's broadcast shape of an encrypted value and a public matrix, or `None` if there is none."""
    try:
        rows, columns = np.broadcast_shapes(value.shape, shape)
    except ValueError:
        return None
    return rows, columns


def part(value: SlotValue, index: object) -> SlotValue:
    """numpy's indexing: `x[i]`, `x[i:j]`, `x[::2]`, `x[[3, 0]]` and `x[:, None]` of a vector, `a[i]`, `a[i, j]`, `a[:, j]`,
    `a[i:j, k:l]` of a matrix."""
    given = index if isinstance(index, tuple) else (index,)
    new = [axis for axis, own in enumerate(given) if own is None]
    if value.grid is None and len(given) == 2 and len(new) == 1 and _is_all(given[1 - new[0]]):
        return reshaped(value, (1, -1) if new == [0] else (-1, 1))
    axes = value.grid or (value.length,)
    if len(given) > len(axes):
        raise refuse(
            f"{value.type} has {'one axis' if len(axes) == 1 else 'two axes'}, not {len(given)}; give an index of "
            + ("its numbers" if len(axes) == 1 else "its rows and one of its columns")
        )
    taken = [_along(value, axis, given[axis] if axis < len(given) else slice(None)) for axis in range(len(axes))]
    if all(single for _, single in taken):
        return _number(value, int(np.ravel_multi_index([places[0] for places, _ in taken], axes)))
    if sum(not isinstance(own, slice | int | np.integer) for own in given) == 2:
        raise refuse(
            f"numpy would pair the lists of rows and columns of {value.type}; select the rows first, a[rows][:, columns]"
        )
    sources = np.ravel_multi_index(np.ix_(*[places for places, _ in taken]), axes)
    kept = [len(places) for places, single in taken if not single]
    shape = (kept[0], kept[1]) if len(kept) == 2 else kept[0]
    flat = sources.reshape(-1)
    if np.array_equal(flat, flat[0] + np.arange(len(flat))):
        found = _range(value, int(flat[0]), int(flat[0]) + len(flat))
        return found if isinstance(shape, int) else found._viewed(found.length, shape, clean=found._clean)
    expect_room(value, max(value.length, len(flat)), f"{len(flat)} numbers of {value.type}")
    return moved(value, np.arange(len(flat)), flat, 1, shape)


def _is_all(index: object) -> bool:
    """Whether `index` is `:`. `==` on an array would be element-wise."""
    return isinstance(index, slice) and index == slice(None)


def _along(value: SlotValue, axis: int, index: object) -> tuple[list[int], bool]:
    """The positions along an axis that `index` selects, and whether it is a single one."""
    what = "the numbers" if value.grid is None else ("the rows", "the columns")[axis]
    if isinstance(index, type(value)):
        index.__index__()
    places, single = picked(index, (value.grid or (value.length,))[axis], f"{what} of {value.type}")
    if not places:
        raise refuse(f"the index selects none of {what} of {value.type}; give a range within them")
    return places, single


def _number(value: SlotValue, at: int) -> SlotValue:
    """One number, in every slot."""
    mask = np.zeros(value.length, dtype=np.int64)
    mask[at] = 1
    return value._viewed(value.length, None)._combined("mul", mask)._total()


def _range(value: SlotValue, start: int, stop: int) -> SlotValue:
    """The numbers from `start` to before `stop`, moved to the front."""
    if start == 0:
        return value._viewed(stop, None, clean=value._clean and stop == value.length)
    # Rows rotate separately.
    expect_room(value, value.length, f"[{start}:{stop}] of {value.type}")
    return value._viewed(value.length, None).rotate(start)._viewed(stop - start, None, clean=False)


def concat(values: Sequence[SlotValue]) -> SlotValue:
    """The numbers of all operands in order; for matrices with the same number of columns, their rows. A single number takes a level, to mask
    its slot."""
    for value in values:
        if not value._tracer.packed:
            raise refuse(
                f"concat: {value.type} holds only one number, as its modulus is a power of two; return each under its own name"
            )
        if value._tracer is not values[0]._tracer:
            raise refuse("the operands belong to two different programs; use values of one program")
        if (value.grid or (0, 0))[1] != (values[0].grid or (0, 0))[1]:
            raise refuse(
                f"concat: {values[0].type} and {value.type} have different rows; give vectors, or matrices with the same number of columns"
            )
    return values[0]._tracer.reference.record(values, lambda: _joined(values), _concatenated)


def _concatenated(*parts: NDArray[Any]) -> NDArray[Any]:
    """As in numpy, including single numbers."""
    return np.concatenate([np.atleast_1d(part) for part in parts])


def _joined(values: Sequence[SlotValue]) -> SlotValue:
    """See `concat`."""
    total = sum(value.length for value in values)
    expect_room(values[0], total, f"concat to {total} numbers")
    result, begin = None, 0
    for value in values:
        placed = _placed(value, begin, total)
        result = placed if result is None else result._joined("add", placed)
        begin += value.length
    assert result is not None
    columns = (values[0].grid or (0, 0))[1]
    return result._viewed(total, (total // columns, columns) if columns else None, clean=True)


def _placed(value: SlotValue, begin: int, total: int) -> SlotValue:
    """`value` moved to slot `begin`, with zeros elsewhere among `total` numbers."""
    if value.scalar:
        mask = np.zeros(total, dtype=np.int64)
        mask[begin] = 1
        return value._combined("mul", mask)
    cleared = value._viewed(value.length, None)._cleared()
    return (cleared.rotate(-begin) if begin else cleared)._viewed(total, None, clean=True)
