"""numpy functions that map to functions of this language; operators and methods are in `numpy_calls`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .functions import concat, maximum, minimum, where
from .numpy_calls import Value
from .place import refuse
from .slots import SlotValue
from .sorting import sort
from .values import TfheValue


def _product(a: Any, b: Any) -> Any:  # noqa: ANN401 - encrypted values and public numbers
    """As np.dot: element-wise if one operand is a single number, else a product of vectors or matrices."""
    if any(value.type.scalar if isinstance(value, Value) else np.ndim(value) == 0 for value in (a, b)):
        return a * b
    # Integers beyond 64 bits would become floats.
    listed = isinstance(a, list | tuple) and not isinstance(b, TfheValue)
    return (np.asarray(a) if listed else a) @ b


def _inner(a: Any, b: Any) -> Any:  # noqa: ANN401 - as `_product`
    """As np.inner: sums over the last dimension of both operands."""
    b = b if isinstance(b, Value) else _array(b)
    return _product(a, b.T if _dimensions(b) == 2 else b)


def _vdot(a: Any, b: Any) -> Any:  # noqa: ANN401 - as `_product`
    """As np.vdot: the product of all numbers, row by row, with the conjugates of the left operand."""
    left, right = _flat(a), _flat(b)
    if _dimensions(left) != _dimensions(right):
        raise refuse("numpy's vdot takes operands with equally many numbers, not a vector and a single one; use *")
    if isinstance(left, Value):
        conjugated = left.conjugate() if isinstance(left, SlotValue) and left.kind == "complex" else left
    else:
        conjugated = np.conjugate(left)
    return _product(conjugated, right)


def _array(numbers: Any) -> NDArray[Any]:  # noqa: ANN401 - public numbers
    return numbers if isinstance(numbers, np.ndarray) else np.asarray(numbers, dtype=object)


def _dimensions(value: Any) -> int:  # noqa: ANN401 - as `_product`
    return len(value.shape) if isinstance(value, SlotValue | np.ndarray) else int(not value.type.scalar)


def _flat(value: Any) -> Any:  # noqa: ANN401 - as `_product`
    """One vector, or a single number."""
    if _dimensions(value if isinstance(value, Value) else (value := _array(value))) == 2:
        return value.reshape(-1)
    return value


def _concatenated(parts: Any) -> Any:  # noqa: ANN401 - encrypted values
    return concat(*parts)


def _clipped(value: Any, low: Any = None, high: Any = None) -> Any:  # noqa: ANN401 - encrypted values and public numbers
    value = value if low is None else maximum(value, low)
    return value if high is None else minimum(value, high)


FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.dot: _product,
    np.inner: _inner,
    np.vdot: _vdot,
    np.concatenate: _concatenated,
    np.sort: sort,
    np.where: where,
    np.clip: _clipped,
}
"""For calls without options such as `axis=`."""

UFUNCS: dict[np.ufunc, Callable[..., Any]] = {
    np.maximum: maximum,
    np.minimum: minimum,
    np.square: lambda value: value * value,
}
