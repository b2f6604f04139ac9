"""Encrypted matrices of CKKS and BGV: products, transposes, sums along an axis, and broadcasting.

A matrix is stored in the slots row by row without gaps, so `reshape` is free, and slot-wise operations are those of vectors. Permutations are sums of
generalised diagonals, Σ mask · (vector rotated), which the lowering computes with baby and giant steps on hoisted rotations, for one level. Copies and
sums at equal distances are rotations by doubling, without a level.

The product of encrypted matrices, m × k by k × n, uses planes: plane l repeats every number of the left operand's column l n times, and the right
operand's row l m times. One product of ciphertexts multiplies as many planes as fit, and rotations add them up. With k · m · n slots this takes one
product and two levels for any size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .place import refuse, whole

if TYPE_CHECKING:
    from .slots import SlotValue

Shape = tuple[int, int]

FREE_SLOTS = 4096
"""Slots of the smallest ring with 128 bits of security and enough levels for a product of matrices."""


class MoreSlots(Exception):  # noqa: N818 - not a user's error: the program is traced again
    """The program needs this number of slots, or takes fewer operations with it, and the user gave none."""

    def __init__(self, slots: int) -> None:
        super().__init__(slots)
        self.slots = slots


def size(shape: tuple[int, ...]) -> str:
    """A shape in words."""
    return " x ".join(str(n) for n in shape)


def expect_room(value: SlotValue, needed: int, what: str) -> None:
    """Raises an error, or has the program traced again, if `what` does not fit a row of slots."""
    tracer = value._tracer
    if needed > tracer.row:
        slots = tracer.rows << (needed - 1).bit_length()
        if tracer.elastic:
            raise MoreSlots(slots)
        raise refuse(f"{what} needs {needed} slots in a row, but this program has {tracer.row}; use slots={slots}")


def moved(
    value: SlotValue, targets: NDArray[Any], sources: NDArray[Any], weights: NDArray[Any] | int, shape: Shape | int
) -> SlotValue:
    """In each given target slot, Σ weight · source slot; 0 in all others. Reads only the source slots."""
    tracer = value._tracer
    targets, sources = targets.reshape(-1), sources.reshape(-1)
    factors = np.broadcast_to(np.asarray(weights).reshape(-1), targets.shape)
    used = factors != 0
    targets, offsets, factors = targets[used], (sources - targets)[used] % tracer.row, factors[used]
    # One diagonal at a time, each in the given order; without any, a product with zeros.
    order = np.argsort(offsets, kind="stable")
    found, begins = np.unique(offsets[order], return_index=True)

    def diagonals() -> Iterator[tuple[int, NDArray[Any]]]:
        if not len(found):
            yield 0, np.zeros(tracer.slots, dtype=factors.dtype)
            return
        for offset, own in zip(found, np.split(order, begins[1:]), strict=True):
            diagonal = np.zeros(tracer.slots, dtype=factors.dtype)
            np.add.at(diagonal, targets[own], factors[own])
            yield int(offset), diagonal

    return _transformed(value, diagonals, np.iscomplexobj(factors), shape)


def by_diagonals(value: SlotValue, diagonals: Mapping[int, NDArray[Any]], shape: Shape | int) -> SlotValue:
    """Σ diagonal · (slots rotated by its offset). A diagonal shorter than the program's slots repeats."""
    return _transformed(value, diagonals.items, any(map(np.iscomplexobj, diagonals.values())), shape)


def _transformed(
    value: SlotValue,
    diagonals: Callable[[], Iterable[tuple[int, NDArray[Any]]]],
    complex_ones: bool,
    shape: Shape | int,
) -> SlotValue:
    """As above, with diagonals generated one at a time."""
    length = shape if isinstance(shape, int) else shape[0] * shape[1]
    reference = value._tracer.reference
    return reference.record(
        [value],
        lambda: _lowered(value, diagonals(), complex_ones, shape),
        lambda values: reference.diagonals(values, diagonals())[:length],
    )


def _lowered(
    value: SlotValue, diagonals: Iterable[tuple[int, NDArray[Any]]], complex_ones: bool, shape: Shape | int
) -> SlotValue:
    tracer = value._tracer
    native = (
        (offset, tracer.native(np.tile(diagonal, tracer.slots // len(diagonal)))) for offset, diagonal in diagonals
    )
    return value._new(
        lambda builder: builder.linear_transform(value.node, native),
        clean=True,
        kind="complex" if complex_ones else value.kind,
        length=shape if isinstance(shape, int) else shape[0] * shape[1],
        scalar=False,
        shape=None if isinstance(shape, int) else shape,
    )


def _turned(value: SlotValue, steps: int) -> SlotValue:
    return value._new(lambda builder: builder.rotate(value.node, steps), clean=False)


def _doubled(value: SlotValue, count: int, step: int) -> SlotValue:
    """Σ over c below `count` of the value rotated by c · `step`, by doubling."""
    if count == 1:
        return value
    half = _doubled(value, count // 2, step)
    both = half._joined("add", _turned(half, count // 2 * step))
    return both._joined("add", _turned(value, (count - 1) * step)) if count % 2 else both


def repeated(value: SlotValue, count: int, step: int, length: int) -> SlotValue:
    """`count` copies, `step` slots apart, of a value with zeros in the slots of the copies."""
    return _doubled(value, count, -step)._viewed(length, None, clean=True)


def summed(value: SlotValue, count: int, step: int, length: int) -> SlotValue:
    """In the first `length` slots, the sums of `count` slots at a distance of `step`; arbitrary values behind them."""
    return _doubled(value, count, step)._viewed(length, None, clean=value._clean and count == 1)


def broadcast(a: SlotValue, b: SlotValue) -> tuple[SlotValue, SlotValue]:
    """Broadcasts both operands to one shape: repeats a vector, or a matrix of one row, for each row, and a matrix of one column for each column."""
    shapes = [v.grid or (1, v.length) for v in (a, b)]
    rows, columns = (max(sizes) for sizes in zip(*shapes, strict=True))
    if any(own not in (1, whole) for shape in shapes for own, whole in zip(shape, (rows, columns), strict=True)):
        raise refuse(
            f"{a.type} and {b.type} cannot be combined; give them one shape, or a matrix and a vector as long as its rows, or v[:, None] of one as long as "
            "its columns"
        )
    return stretched(a, (rows, columns)), stretched(b, (rows, columns))


def stretched(value: SlotValue, shape: Shape) -> SlotValue:
    """A value broadcast to `shape`: a vector, or a matrix of one row, for each row, or a matrix of one column for each column."""
    (rows, columns), (own_rows, own_columns) = shape, value.grid or (1, value.length)
    expect_room(value, rows * columns, f"{value.type} as {size(shape)}")
    if own_columns < columns:
        places = np.arange(own_rows)
        spread = moved(value, places * columns, places, 1, own_rows * columns)
        value = repeated(spread, columns, 1, own_rows * columns)
    if own_rows < rows:
        value = repeated(value._cleared(), rows, columns, rows * columns)
    return value._viewed(rows * columns, shape, clean=value._clean)


def kept(value: SlotValue, axis: int | None, keepdims: bool) -> SlotValue:
    """A sum over an axis of a matrix, as a matrix of one row or column if `keepdims`."""
    if not keepdims or value.scalar:
        return value
    return reshaped(value, (1, -1) if axis in (0, -2) else (-1, 1))


def product(a: SlotValue, b: SlotValue) -> SlotValue:
    """`a @ b` of encrypted operands, matrices or vectors."""
    if a._tracer is not b._tracer:
        raise refuse("the operands belong to two different programs; use values of one program")
    for value in (a, b):
        if value.scalar:
            raise refuse(f"@ takes vectors and matrices, not {value.type}; multiply with *")
    left = a.grid or (1, a.length)
    right = b.grid or (b.length, 1)
    if left[1] != right[0]:
        raise refuse(
            f"{a.type} @ {b.type}: {left[1]} columns and {right[0]} rows; make them equal, or transpose one with .T"
        )
    if a.grid is None and b.grid is None:
        return (a * b)._total()
    (m, k), n = left, right[1]
    if b.grid is None:
        return _matrix_vector(a, b, m, k)
    if a.grid is None:
        return _vector_matrix(a, b, k, n)
    return _matrices(a, b, m, k, n)


def _matrix_vector(a: SlotValue, b: SlotValue, m: int, k: int) -> SlotValue:
    copies = repeated(b._cleared(), m, k, m * k)
    sums = summed(a._viewed(m * k, None)._joined("mul", copies), k, 1, m * k)
    rows = np.arange(m)
    return moved(sums, rows, rows * k, 1, m)


def _vector_matrix(a: SlotValue, b: SlotValue, k: int, n: int) -> SlotValue:
    places = np.arange(k)
    copies = repeated(moved(a, places * n, places, 1, k * n), n, 1, k * n)
    return summed(copies._joined("mul", b._viewed(k * n, None)), k, n, n)


def _matrices(a: SlotValue, b: SlotValue, m: int, k: int, n: int) -> SlotValue:
    tracer, plane = a._tracer, m * n
    expect_room(a, plane, f"the product of {size((m, k))} and {size((k, n))}")
    wanted = tracer.rows << (plane * k - 1).bit_length()
    if tracer.elastic and tracer.slots < min(wanted, FREE_SLOTS):
        raise MoreSlots(min(wanted, FREE_SLOTS))
    planes = min(k, tracer.row // plane)
    total: SlotValue | None = None
    for first in range(0, k, planes):
        inner = np.arange(first, min(first + planes, k))
        length = len(inner) * plane
        i, j, at = np.arange(m)[:, None], np.arange(n)[:, None], inner[None, :]
        columns = moved(a, (at - first) * plane + i * n, i * k + at, 1, length)
        rows = moved(b, (at - first) * plane + j, at * n + j, 1, length)
        own = repeated(columns, n, 1, length)._joined("mul", repeated(rows, m, n, length))
        total = own if total is None else total._joined("add", own)
    assert total is not None
    return summed(total, planes, plane, plane)._viewed(plane, (m, n))


def public_product(matrix: NDArray[Any], value: SlotValue) -> SlotValue:
    """A public matrix, or vector, times an encrypted matrix."""
    assert value.grid is not None
    wide = np.atleast_2d(matrix)
    (p, rows), (m, n) = wide.shape, value.grid
    if rows != m:
        raise refuse(f"a matrix of {size(wide.shape)} cannot be multiplied with {value.type}; give it {m} columns")
    expect_room(value, p * n, f"the product of {size(wide.shape)} and {size(value.grid)}")
    i, at, j = np.arange(p)[:, None, None], np.arange(m)[None, :, None], np.arange(n)[None, None, :]
    weights = np.broadcast_to(wide[:, :, None], (p, m, n))
    targets, sources = (np.broadcast_to(slots, (p, m, n)) for slots in (i * n + j, at * n + j))
    return moved(value, targets, sources, weights, n if matrix.ndim == 1 else (p, n))


def product_public(value: SlotValue, matrix: NDArray[Any]) -> SlotValue:
    """An encrypted matrix times a public matrix, or vector."""
    assert value.grid is not None
    wide = matrix if matrix.ndim == 2 else matrix[:, None]
    (m, k), (rows, n) = value.grid, wide.shape
    if rows != k:
        raise refuse(
            f"{value.type} cannot be multiplied with a matrix of {size(matrix.shape)}; give the matrix {k} rows"
        )
    expect_room(value, m * n, f"the product of {size(value.grid)} and {size(matrix.shape)}")
    i, at, j = np.arange(m)[:, None, None], np.arange(k)[None, :, None], np.arange(n)[None, None, :]
    weights = np.broadcast_to(wide[None, :, :], (m, k, n))
    targets, sources = (np.broadcast_to(slots, (m, k, n)) for slots in (i * n + j, i * k + at))
    return moved(value, targets, sources, weights, m if matrix.ndim == 1 else (m, n))


def transposed(value: SlotValue) -> SlotValue:
    """The transpose, by m + n - 1 diagonals, or more if it is not square."""
    if value.grid is None:
        return value
    m, n = value.grid
    i, j = np.arange(m)[:, None], np.arange(n)[None, :]
    return moved(value, j * m + i, i * n + j, 1, (n, m))


def total(value: SlotValue, axis: int | None) -> SlotValue:
    """The sum of all numbers, in every slot; for a matrix also of each column (axis 0), or of each row (axis 1)."""
    if axis is None or (value.grid is None and axis in (0, -1)):
        return value._total()
    found = whole("sum: the axis", axis)
    if value.grid is None or found not in (0, 1, -1, -2):
        raise refuse(f"{value.type} has no axis {found}; sum over axis 0 or 1 of a matrix, or over all without one")
    m, n = value.grid
    flat = value._viewed(m * n, None, clean=value._clean)
    if found in (0, -2):
        return summed(flat, m, n, n)
    rows = np.arange(m)
    return moved(summed(flat, n, 1, m * n), rows, rows * n, 1, m)


def variance(value: SlotValue, axis: int | None, ddof: int) -> SlotValue:
    """The variance of all numbers, in every slot; for a matrix also of each column (axis 0), or of each row (axis 1)."""
    if value.scalar:
        raise refuse(f"var: {value.type} is one number, in every slot; give a vector or a matrix")
    if value.grid is not None and axis in (1, -1):
        return variance(transposed(value), 0, ddof)
    sums = total(value, axis)
    count = value.length // sums.length
    free = count - whole("var: ddof", ddof, 0, count - 1)
    # One level subtracts the mean and divides by the root of the divisor: the factors are vectors with zeros behind the end.
    own, mean = (
        np.full(value.length, free**-0.5),
        np.full(sums.length if axis is not None else value.length, free**-0.5 / count),
    )
    if axis is None or value.grid is None:
        flat = value._viewed(value.length, None)
        deviations = flat * own - sums * mean
        squares = deviations * (deviations.conjugate() if value.kind == "complex" else deviations)
        return squares._total()
    deviations = value * own.reshape(value.grid) - sums * mean
    squares = deviations * (deviations.conjugate() if value.kind == "complex" else deviations)
    return squares.sum(0)


def reshaped(value: SlotValue, shape: tuple[Any, ...]) -> SlotValue:
    """The same numbers, row by row, as a matrix or a vector: free."""
    if value.scalar:
        raise refuse(f"reshape: {value.type} is one number, in every slot; reshape a vector or a matrix")
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    given = [whole("reshape: a size", n) for n in sizes]
    if len(given) not in (1, 2):
        raise refuse(f"reshape: {len(given)} axes; give one or two, as encrypted values have")
    known = [n for n in given if n != -1]
    rest = int(np.prod(known, dtype=np.int64)) if known else 1
    if given.count(-1) == 1 and rest > 0 and value.length % rest == 0:
        given = [value.length // rest if n == -1 else n for n in given]
    if any(n < 1 for n in given) or int(np.prod(given, dtype=np.int64)) != value.length:
        raise refuse(
            f"reshape: {value.type} has {value.length} numbers, which do not fit {size(tuple(given))}; give sizes "
            f"whose product is {value.length}"
        )
    if len(given) == 2:
        expect_room(value, value.length, f"a matrix of {size(tuple(given))}")
    return value._viewed(value.length, (given[0], given[1]) if len(given) == 2 else None, clean=value._clean)
