"""MLIR's arithmetic on public numbers: integers wrap at their width, `i1` is 0 or 1. Scalars are Python's, tensors numpy's."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .tree import INDEX, Kind, Scalar, Tensor

Number = Any
"""An integer, a float, or an array of them."""


class Place:
    """One number of a function's argument whose value is not known: its index. It can be moved, but not computed with."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


def scalar_of(kind: Kind) -> Scalar:
    """The type of the numbers."""
    found = kind.element if isinstance(kind, Tensor) else kind
    return found if isinstance(found, Scalar) else INDEX


def wrapped(value: Number, kind: Scalar) -> Number:
    """Integers modulo 2^bits in two's complement; `i1` as 0 or 1."""
    if kind.kind == "float":
        return value
    if type(value) is int and -(1 << 30) <= value < 1 << 30 and kind.bits > 30:
        return value
    if kind.bits == 1:
        return value & 1
    if isinstance(value, np.ndarray):
        if kind.bits >= 64:
            return value
        half = 1 << (kind.bits - 1)
        return ((value + half) & ((1 << kind.bits) - 1)) - half
    half = 1 << (kind.bits - 1)
    return ((value + half) & ((1 << kind.bits) - 1)) - half


def unsigned(value: Number, kind: Scalar) -> Number:
    """The same bits as a number that is not negative."""
    if isinstance(value, np.ndarray):
        if kind.bits >= 64:
            return value.astype(object) & ((1 << kind.bits) - 1)
        return value & ((1 << kind.bits) - 1)
    return value & ((1 << kind.bits) - 1)


def _divided(a: Number, b: Number, towards: Callable[[Any], Any]) -> Number:
    """An integer quotient, rounded as `towards` does. Raises `ZeroDivisionError`."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.vectorize(lambda x, y: _divided(int(x), int(y), towards), otypes=[np.int64])(a, b)
    return int(towards(a, b))


def _truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _shifted(move: Callable[[Any, Any], Any]) -> Callable[[Number, Number, Scalar], Number]:
    def shift(a: Number, b: Number, kind: Scalar) -> Number:
        if np.any(np.asarray(b) < 0) or np.any(np.asarray(b) >= kind.bits):
            raise ValueError(f"shifts {kind} by {b}")
        return move(a, b)

    return shift


def _signed(operation: Callable[[Any, Any], Any]) -> Callable[[Number, Number, Scalar], Number]:
    return lambda a, b, _kind: operation(a, b)


def _without_sign(operation: Callable[[Any, Any], Any]) -> Callable[[Number, Number, Scalar], Number]:
    return lambda a, b, kind: operation(unsigned(a, kind), unsigned(b, kind))


BINARY: dict[str, Callable[[Number, Number, Scalar], Number]] = {
    "arith.addi": _signed(operator.add),
    "arith.subi": _signed(operator.sub),
    "arith.muli": _signed(operator.mul),
    "arith.divsi": _signed(lambda a, b: _divided(a, b, _truncated)),
    "arith.divui": _without_sign(lambda a, b: _divided(a, b, operator.floordiv)),
    "arith.floordivsi": _signed(lambda a, b: _divided(a, b, operator.floordiv)),
    "arith.ceildivsi": _signed(lambda a, b: _divided(a, b, lambda x, y: -(-x // y))),
    "arith.ceildivui": _without_sign(lambda a, b: _divided(a, b, lambda x, y: -(-x // y))),
    "arith.remsi": _signed(lambda a, b: a - b * _divided(a, b, _truncated)),
    "arith.remui": _without_sign(lambda a, b: _divided(a, b, operator.mod)),
    "arith.andi": _signed(operator.and_),
    "arith.ori": _signed(operator.or_),
    "arith.xori": _signed(operator.xor),
    "arith.shli": _shifted(operator.lshift),
    "arith.shrsi": _shifted(operator.rshift),
    "arith.shrui": lambda a, b, kind: _shifted(operator.rshift)(unsigned(a, kind), b, kind),
    "arith.maxsi": _signed(np.maximum),
    "arith.minsi": _signed(np.minimum),
    "arith.maxui": _without_sign(np.maximum),
    "arith.minui": _without_sign(np.minimum),
    "arith.addf": _signed(operator.add),
    "arith.subf": _signed(operator.sub),
    "arith.mulf": _signed(operator.mul),
    "arith.divf": _signed(operator.truediv),
    "arith.remf": _signed(np.fmod),
    "arith.maximumf": _signed(np.maximum),
    "arith.minimumf": _signed(np.minimum),
    "arith.maxnumf": _signed(np.fmax),
    "arith.minnumf": _signed(np.fmin),
    "math.powf": _signed(np.power),
}
"""Operations on two operands of the result's type."""

UNARY: dict[str, Callable[[Number], Number]] = {
    "arith.negf": operator.neg,
    "math.absf": np.abs,
    "math.absi": np.abs,
    "math.ceil": np.ceil,
    "math.cos": np.cos,
    "math.erf": np.vectorize(math.erf, otypes=[float]),
    "math.exp": np.exp,
    "math.floor": np.floor,
    "math.log": np.log,
    "math.log2": np.log2,
    "math.rsqrt": lambda x: 1 / np.sqrt(x),
    "math.sin": np.sin,
    "math.sqrt": np.sqrt,
    "math.tanh": np.tanh,
}

PREDICATES: dict[str, tuple[Callable[[Any, Any], Any], bool]] = {
    "eq": (operator.eq, True),
    "ne": (operator.ne, True),
    "slt": (operator.lt, True),
    "sle": (operator.le, True),
    "sgt": (operator.gt, True),
    "sge": (operator.ge, True),
    "ult": (operator.lt, False),
    "ule": (operator.le, False),
    "ugt": (operator.gt, False),
    "uge": (operator.ge, False),
}
"""Comparisons of integers by name, in MLIR's order, and whether they take the sign into account."""

FLOAT_PREDICATES: dict[str, Callable[[Any, Any], Any]] = {
    name: compare
    for key, compare in {
        "eq": operator.eq, "gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le, "ne": operator.ne,
    }.items()
    for name in (f"o{key}", f"u{key}")
}  # fmt: skip
FLOAT_ORDER = (
    "false",
    "oeq",
    "ogt",
    "oge",
    "olt",
    "ole",
    "one",
    "ord",
    "ueq",
    "ugt",
    "uge",
    "ult",
    "ule",
    "une",
    "uno",
)


def predicate(given: object, names: tuple[str, ...]) -> str:
    """A comparison's name, from its name or number."""
    if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < len(names):
        return names[given]
    return str(given)


def plain(value: Number) -> Number:
    """numpy's scalars as Python's."""
    return (
        value.item() if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0) else value
    )
