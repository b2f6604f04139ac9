"""Sorts encrypted vectors of TFHE with a fixed network of exchanges, independent of the values.

The network is merge exchange (K. E. Batcher; D. E. Knuth, The Art of Computer Programming, vol. 3, 5.2.2, algorithm M): about n·log²(n)/4 exchanges for n elements, in
log(n)·(log(n) + 1)/2 layers. The exchanges of a layer form one batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from . import lowering, ranges
from .cells import Cells
from .functions import concat
from .instead import unsuited
from .lowering import Encrypted
from .place import refuse
from .reals import RealValue
from .reference import means
from .slots import SlotValue
from .texts import Text
from .values import TfheValue


@means("sort")
def sort(values: TfheValue | Sequence[TfheValue], *, descending: bool = False) -> TfheValue:
    """The sorted elements of a vector, or of a sequence of single values, in ascending or descending order.

    An exchange takes one lookup for values of one ciphertext, two for truth values, and a comparison and two choices for values in digits.
    """
    vector: Any = concat(*values) if isinstance(values, list | tuple) and values else values
    if isinstance(vector, SlotValue):
        raise refuse(
            "sort: CKKS and BGV cannot compare; declare the numbers as integers of TFHE, pf.UInt(bits) or pf.Int(lo, hi)"
        )
    if isinstance(vector, RealValue):
        raise unsuited("sort", vector, "give an encrypted vector")
    if not isinstance(vector, TfheValue) or isinstance(vector, Text) or vector.type.scalar:
        shown = vector.type if isinstance(vector, TfheValue) else type(vector).__name__
        raise refuse(f"sort: the operand is {shown}; give an encrypted vector, or a list of encrypted values")
    count = len(vector)
    found: Encrypted = vector.form
    if isinstance(found, Cells) and not found.truth and not found.tracer.reads(2 * (found.span[1] - found.span[0]) + 1):
        found = lowering.split(found)
    for layer in _layers(count):
        low, high = (found.taken([pair[side] for pair in layer]) for side in (0, 1))
        places = list(range(count))
        for at, (first, second) in enumerate(layer, count):
            places[first], places[second] = at, at + len(layer)
        found = lowering.joined([found, *_exchanged(low, high)]).taken(places)
    return vector._like(found.taken(range(count)[::-1]) if descending else found)  # type: ignore[no-any-return]


def _layers(count: int) -> Iterator[list[tuple[int, int]]]:
    """The pairs of indices to exchange, layer by layer."""
    most = 1 << (count - 1).bit_length() >> 1
    span = most
    while span:
        reach, rest, distance = most, 0, span
        while distance:
            yield [(place, place + distance) for place in range(count - distance) if place & span == rest]
            distance, reach, rest = reach - span, reach >> 1, span
        span >>= 1


def _exchanged(low: Encrypted, high: Encrypted) -> tuple[Encrypted, Encrypted]:
    """The lesser and the greater of each pair."""
    if isinstance(low, Cells) and isinstance(high, Cells):
        if low.truth:
            return low.gate("and", high), low.gate("or", high)
        span = ranges.union(low.span, high.span)
        change = (low - high).tabled(lambda difference: min(difference, 0))
        return (high + change).within(span), (low - change).within(span)
    turned = lowering.compared("<", high, low)
    return lowering.chosen(turned, high, low), lowering.chosen(turned, low, high)
