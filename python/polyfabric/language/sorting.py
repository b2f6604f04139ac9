"""Sorting encrypted vectors of TFHE by a network of exchanges, whose order depends on no value.

The network is merge exchange (K. E. Batcher; D. E. Knuth, The Art of Computer Programming, vol. 3, 5.2.2, algorithm M): for n elements about n·log²(n)/4 exchanges in
log(n)·(log(n) + 1)/2 layers, those of a layer side by side in one batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .functions import mux
from .integers import Integer
from .place import refuse
from .reference import means
from .slots import SlotValue
from .texts import Text
from .values import Value, concat, lookup


@means("sort")
def sort(values: Value | Integer | Sequence[Value] | Sequence[Integer], *, descending: bool = False) -> Value | Integer:
    """The elements of a vector, or of a sequence of single values, the least first, or the greatest.

    An exchange of two integers of any width takes a comparison and two choices, of two values of a few bits one look-up, of two Booleans two.
    """
    vector: Any = concat(*values) if isinstance(values, list | tuple) and values else values
    if isinstance(vector, SlotValue):
        raise refuse(
            "sort: CKKS and BGV compare nothing; declare the numbers as integers of TFHE, pf.UInt(bits) or pf.Int(lo, hi)"
        )
    if not isinstance(vector, Value | Integer) or isinstance(vector, Text) or vector.type.scalar:
        shown = vector.type if isinstance(vector, Value | Integer) else type(vector).__name__
        raise refuse(f"sort: the operand is {shown}; give an encrypted vector, or a list of encrypted values")
    count = len(vector)
    for layer in _layers(count):
        low, high = (vector[[pair[side] for pair in layer]] for side in (0, 1))
        places = list(range(count))
        for at, (first, second) in enumerate(layer, count):
            places[first], places[second] = at, at + len(layer)
        vector = concat(vector, *_exchanged(low, high))[places]
    return vector[::-1] if descending else vector


def _layers(count: int) -> Iterator[list[tuple[int, int]]]:
    """The pairs of places to exchange, layer by layer."""
    most = 1 << (count - 1).bit_length() >> 1
    span = most
    while span:
        reach, rest, distance = most, 0, span
        while distance:
            yield [(place, place + distance) for place in range(count - distance) if place & span == rest]
            distance, reach, rest = reach - span, reach >> 1, span
        span >>= 1


def _exchanged(low: Any, high: Any) -> tuple[Any, Any]:  # noqa: ANN401 - two values of one of both kinds
    """The lesser and the greater of each pair."""
    if isinstance(low, Integer):
        turned = high < low
        return mux(turned, high, low), mux(turned, low, high)
    if low.element.kind == "boolean":
        return low & high, low | high
    ends = low._ends
    change = lookup(low - high, lambda difference: min(difference, 0))
    return (high + change)._within(*ends), (low - change)._within(*ends)
