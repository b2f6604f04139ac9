"""The meaning of `cggi` operations: truth values of the language, or its integers in HEIR's integer mode."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ...language import functions
from ...language.place import located
from ...language.types import Bool, SInt, UInt
from ...language.values import TfheValue
from .evaluation import Values, integer
from .numbers import PREDICATES, predicate
from .tree import Dialect, Kind, Operation, Scalar

GATES: dict[str, Callable[[Any, Any], Any]] = {
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "nand": functions.nand,
    "nor": functions.nor,
    "xnor": functions.xnor,
}
CLEAR: dict[str, Callable[[int, int], int]] = {
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "nand": lambda a, b: 1 - (a & b),
    "nor": lambda a, b: 1 - (a | b),
    "xnor": lambda a, b: 1 - (a ^ b),
}
LUTS = {"lut2": 2, "lut3": 3, "lut4": 4}
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "max": functions.maximum,
    "min": functions.minimum,
}
BITWISE = frozenset({*GATES, *LUTS, "lut_lincomb", "packed_lut3", "packed_gates", "multi_lut_lincomb"}) - {
    "and",
    "or",
    "xor",
}
"""Operations on bits alone; `and`, `or`, `xor` and `not` are operations of integers too."""


def message_bits(kind: Kind) -> int:
    """Bits of a ciphertext's message. Raises `ValueError` if its type does not say."""
    space = kind.get("plaintext_space") if isinstance(kind, Dialect) else None
    ring = space.get("ring") if isinstance(space, Dialect) else None
    message = ring.get("coefficientType") if isinstance(ring, Dialect) else None
    if not isinstance(message, Scalar) or message.kind != "int":
        raise ValueError(f"the type {kind} does not state the bits of a message")
    return message.bits


class Gates:
    """Executes on truth values or integers. A ciphertext is a value of the language, or a public integer."""

    def __init__(self, file: str, *, bits: bool) -> None:
        self.file, self.bits = file, bits

    def operation(self, one: Operation, operands: Values) -> Values | None:
        """See `Scheme`."""
        dialect, _, name = one.name.partition(".")
        if one.name in ("lwe.encode", "lwe.trivial_encrypt"):
            value = operands[0]
            return [integer(value) & 1 if self.bits else value]
        if dialect != "cggi":
            return None
        if name == "create_trivial":
            return [integer(one.attributes["value"])]
        with located(self.file, one.line):
            found = self._gate(name, one, operands) if self.bits else self._integer(name, one, operands)
        return None if found is None else [found]

    def _gate(self, name: str, one: Operation, operands: Values) -> Any:  # noqa: ANN401 - a truth value
        values = [self._bit(own) for own in operands]
        if name == "not":
            return 1 - values[0] if isinstance(values[0], int) else ~values[0]
        if name in GATES and len(values) == 2:
            a, b = values
            if isinstance(a, int) and isinstance(b, int):
                return CLEAR[name](a, b)
            if isinstance(a, int) or isinstance(b, int):
                known, value = (a, b) if isinstance(a, int) else (b, a)
                return _of_one(value, CLEAR[name](0, known), CLEAR[name](1, known))
            return GATES[name](a, b)
        if name in LUTS and len(values) == LUTS[name]:
            return _looked_up(values, integer(one.attributes["lookup_table"]))
        if name == "lut_lincomb":
            weights = [integer(own) for own in one.attributes["coefficients"]]
            if len(weights) != len(values) or any(not 0 <= own < 1 << 8 for own in weights):
                raise ValueError("its coefficients do not belong to its operands")
            return _combined(values, weights, integer(one.attributes["lookup_table"]))
        return None

    def _bit(self, value: Any) -> Any:  # noqa: ANN401 - a truth value
        if isinstance(value, TfheValue):
            return value
        return integer(value) & 1

    def _integer(self, name: str, one: Operation, operands: Values) -> Any:  # noqa: ANN401 - an integer
        bits = message_bits(one.kinds[0])
        values = [own if isinstance(own, TfheValue) else integer(own) for own in operands]
        if name in ARITHMETIC and len(values) == 2:
            return self._of_width(ARITHMETIC[name](*self._encrypted(values, bits)), bits)
        if name == "cmp" and len(values) == 2:
            return self._compared(one, values)
        if name == "cast":
            return self._of_width(values[0], bits)
        if name == "select" and len(values) == 3:
            return self._of_width(functions.where(values[0], *self._encrypted(values[1:], bits)), bits)
        if name in ("sshl", "sshr", "shl", "shr"):
            amount = integer(one.attributes["shiftAmount"] if len(values) == 1 else values[1])
            if not 0 <= amount < bits:
                raise ValueError(f"it shifts an integer of {bits} bits by {amount}")
            return self._of_width(values[0] << amount if name.endswith("l") else values[0] >> amount, bits)
        if name == "not":
            return ~values[0]
        if name in ("and", "or", "xor") and len(values) == 2:
            return self._of_width(GATES[name](*self._encrypted(values, bits)), bits)
        return None

    def _encrypted(self, values: Values, bits: int) -> Values:
        """Public integers of the width's range."""
        half = 1 << (bits - 1)
        return [own if isinstance(own, TfheValue) else (own + half) % (1 << bits) - half for own in values]

    def _of_width(self, value: Any, bits: int) -> Any:  # noqa: ANN401 - an integer
        if not isinstance(value, TfheValue):
            return value
        kind = Bool if bits == 1 else SInt(bits)
        if value.type.kind == "boolean":
            return value if bits == 1 else functions.where(value, 1, 0).cast(kind)
        return value if value.type.bits == bits and value.type.signed else value.cast(kind)

    def _compared(self, one: Operation, values: Values) -> Any:  # noqa: ANN401 - a truth value
        compare, signed = PREDICATES[predicate(one.attributes["predicate"], tuple(PREDICATES))]
        bits = next(own.type.width for own in values if isinstance(own, TfheValue))
        a, b = self._encrypted(values, bits)
        if not signed:
            a, b = (own.cast(UInt(bits)) if isinstance(own, TfheValue) else own % (1 << bits) for own in (a, b))
        return compare(a, b)


def _of_one(value: TfheValue, at_0: int, at_1: int) -> Any:  # noqa: ANN401 - a truth value
    """A function of one bit."""
    return at_0 if at_0 == at_1 else value if at_1 else ~value


def _looked_up(values: Values, table: int) -> Any:  # noqa: ANN401 - a truth value
    """Bit {c, b, a} of the table, with the first operand most significant."""
    weights = [1 << (len(values) - 1 - at) for at in range(len(values))]
    return _combined(values, weights, table)


def _combined(values: Values, weights: list[int], table: int) -> Any:  # noqa: ANN401 - a truth value
    """Bit Σ weight · value of the table."""
    constant, summed = 0, {}
    for value, weight in zip(values, weights, strict=True):
        if isinstance(value, int):
            constant += weight * value
        else:
            known = summed.get(id(value))
            summed[id(value)] = (value, weight + (known[1] if known else 0))
    terms = list(summed.values())
    if not terms:
        return table >> constant & 1
    if len(terms) == 1:
        value, weight = terms[0]
        return _of_one(value, table >> constant & 1, table >> (constant + weight) & 1)
    used = dict.fromkeys(table >> (constant + total) & 1 for total in _sums([weight for _, weight in terms]))
    if len(used) == 1:
        return next(iter(used))
    most = sum(weight for _, weight in terms)
    total = reduce(operator.add, (value if weight == 1 else value * weight for value, weight in terms))
    return functions.lookup(total, [table >> (constant + at) & 1 for at in range(most + 1)], boolean=True)


def _sums(weights: list[int]) -> list[int]:
    """All sums of some of the weights."""
    sums = np.array([0])
    for weight in weights:
        sums = np.unique(np.concatenate([sums, sums + weight]))
    return sums.tolist()  # type: ignore[no-any-return]
