"""numpy functions that map to functions of this language; operators and methods are in `numpy_calls`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .functions import concat, maximum, minimum, mux
from .numpy_calls import NumpyCalls
from .sorting import sort
from .values import Value


def _product(a: Any, b: Any) -> Any:  # noqa: ANN401 - encrypted values and public numbers
    """As np.dot: element-wise if one operand is a single number, else a product of vectors or matrices."""
    if any(value.type.scalar if isinstance(value, NumpyCalls) else np.ndim(value) == 0 for value in (a, b)):
        return a * b
    # Integers beyond 64 bits would become floats.
    listed = isinstance(a, list | tuple) and not isinstance(b, Value)
    return (np.asarray(a) if listed else a) @ b


def _concatenated(parts: Any) -> Any:  # noqa: ANN401 - encrypted values
    return concat(*parts)


def _clipped(value: Any, low: Any = None, high: Any = None) -> Any:  # noqa: ANN401 - encrypted values and public numbers
    value = value if low is None else maximum(value, low)
    return value if high is None else minimum(value, high)


FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.dot: _product,
    np.concatenate: _concatenated,
    np.sort: sort,
    np.where: mux,
    np.clip: _clipped,
}
"""For calls without options such as `axis=`."""

UFUNCS: dict[np.ufunc, Callable[..., Any]] = {
    np.maximum: maximum,
    np.minimum: minimum,
    np.square: lambda value: value * value,
}
