"""Lowers each operation on integers, truth values and fractions to one ciphertext per value, or to digits.

    arithmetic("+", x, y) for x from 0 to 7 and y of pf.UInt(16): x is converted to digits, and both are added in digits

If an operand is in digits, so is the result. Otherwise the tracer decides whether one lookup may read that many values, and whether the result may be one
ciphertext. Both lowerings compute the same values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from .._native import ElementType
from . import cells, digits, ranges
from .cells import Cells
from .digits import Digits
from .place import refuse
from .public_operands import Public
from .ranges import Span
from .tracer import SIGNS, Tracer
from .types import FARTHEST, FARTHEST_SIGN, MOST_BITS, MOST_CAST, MOST_WEIGHT

Encrypted: TypeAlias = "Cells | Digits"
Operand: TypeAlias = "Cells | Digits | Public"

ORDERS = frozenset({"<", "<=", ">", ">="})


def _tracer(*operands: Operand) -> Tracer:
    return next(operand.tracer for operand in operands if not isinstance(operand, Public))


def split(value: Operand) -> Any:  # noqa: ANN401 - digits, or public numbers as they are
    """An operand in digits."""
    if isinstance(value, Cells):
        if value.element.kind == "torus":
            raise refuse(
                f"{value.type} cannot be combined with an integer in digits; declare it as an integer, pf.Int(lo, hi)"
            )
        return value.tracer.split(value)
    return value


def _span(value: Operand) -> Span:
    return value.bounds if isinstance(value, Digits) else value.span


def _in_cells(*operands: Operand) -> bool:
    return not any(isinstance(operand, Digits) for operand in operands)


def _torus(*operands: Operand) -> bool:
    return any(isinstance(operand, Cells) and operand.element.kind == "torus" for operand in operands)


def _truths(*operands: Operand) -> bool:
    """Whether all are truth values; public ones are 0 or 1."""
    return all(operand.truth for operand in operands) and any(not isinstance(operand, Public) for operand in operands)


def _pair_size(a: Operand, b: Operand) -> int:
    """The number of possible values of a sum or a difference."""
    return ranges.size(_span(a)) + ranges.size(_span(b)) - 1


# -- arithmetic -----------------------------------------------------------------------------------------------------------


def _keeps(op: str, a: Operand, b: Operand) -> bool:
    """Whether the result of +, - or * stays one ciphertext per value."""
    if not _in_cells(a, b):
        return False
    if _torus(a, b):
        return True
    tracer = _tracer(a, b)
    if not tracer.holds(ranges.SPANS[op](_span(a), _span(b))):
        return False
    if op != "*":
        return True
    if isinstance(a, Public) or isinstance(b, Public):
        return _are_weights(_span(a if isinstance(a, Public) else b))
    if _truths(a, b):
        return True
    assert isinstance(a, Cells)
    assert isinstance(b, Cells)
    furthest = max(abs(end) for span in (a.span, b.span) for end in span)
    return furthest * furthest <= FARTHEST and tracer.reads(
        ranges.size(a.span) if a.node == b.node else _pair_size(a, b)
    )


def _are_weights(span: Span) -> bool:
    """Whether public numbers may be factors of single ciphertexts."""
    return span[0] >= -MOST_WEIGHT and span[1] <= MOST_WEIGHT


def arithmetic(op: str, a: Operand, b: Operand) -> Encrypted:
    """+, - and *."""
    if _keeps(op, a, b):
        if isinstance(a, Public):
            encrypted = cast(Cells, b)
            return -encrypted + a if op == "-" else {"+": operator.add, "*": operator.mul}[op](encrypted, a)
        one = cast(Cells, a)
        other = cast("Cells | Public", b)
        return one + other if op == "+" else one - other if op == "-" else one * other
    return _in_digits(op, a, b)


def _in_digits(op: str, a: Operand, b: Operand) -> Digits:
    a, b = split(a), split(b)
    if isinstance(a, Public):
        return cast(Digits, b).binary(op, a, swapped=True)
    return cast(Digits, a.binary(op, b))


def negated(a: Encrypted) -> Encrypted:
    """-a."""
    return -a


def absolute(a: Encrypted) -> Encrypted:
    """abs(a)."""
    if isinstance(a, Cells) and not _torus(a):
        number = a.numbers()
        if number.tracer.reads(ranges.size(number.span)):
            return number.tabled(abs)
    return abs(cast(Digits, split(a)))


def inverted(a: Encrypted) -> Encrypted:
    """~a: negates truth values, inverts every bit of a width, and is -1 - a for a range."""
    if a.truth or (isinstance(a, Digits) and a.span is None):
        return ~a
    return arithmetic("-", Public([-1], scalar=True), a)


def power(a: Encrypted, exponent: int, modulus: int | None) -> Encrypted:
    """a**exponent, modulo `modulus` if given."""
    if isinstance(a, Cells):
        number = a.numbers()
        span = ranges.power(number.span, exponent) if modulus is None else (0, modulus - 1)
        if number.tracer.holds(span) and number.tracer.reads(ranges.size(number.span)):
            return number.tabled(lambda x: pow(x, exponent, modulus))
    own: Digits = split(a)
    if modulus is None:
        return own**exponent
    if modulus & (modulus - 1) and ranges.size(own.bounds) <= own.tracer.tabled:
        span = None if own.span is None else (0, modulus - 1)
        width = ranges.width(own.bounds, (0, modulus)) if span is None else ranges.width(span)
        return own.table(lambda x: pow(x, exponent, modulus), width, span)
    return own.power_modulo(exponent, modulus)


def powers(a: Public, b: Encrypted) -> Encrypted:
    """Public numbers to an encrypted exponent, with one table for each number."""
    lo, hi = _span(b)
    if lo < 0:
        raise refuse(
            f"an exponent of type {b.type} may be negative; if it is not, declare that with .assume(pf.Int(0, {max(0, hi)}))"
        )
    if hi >= MOST_BITS:
        raise refuse(
            f"an exponent of type {b.type} goes up to {hi}, where powers exceed {MOST_BITS} bits; if it is less, declare that with "
            ".assume(pf.Int(0, 63))"
        )
    span = ranges.spanned("**", a.span, (lo, hi), a.numbers, swapped=True)
    width = ranges.width(span)
    made = _next_to_public("**", a, b)
    if made is not None:
        return made
    own: Digits = split(b)
    if a.scalar:
        base = a.numbers[0]
        return own.table(lambda exponent: base**exponent, width, span)
    parts = [own.taken([at % own.length], scalar=True) for at in range(len(a.numbers))]
    return digits.joined(
        [
            part.table(lambda exponent, base=base: base**exponent, width, span)
            for base, part in zip(a.numbers, parts, strict=True)
        ]
    )


def bits(op: str, a: Operand, b: Operand) -> Encrypted:
    """&, | and ^: gates on truth values, bitwise on numbers."""
    if _truths(a, b):
        return logic({"&": "and", "|": "or", "^": "xor"}[op], a, b)
    made = _next_to_public(op, a, b)
    return _in_digits(op, a, b) if made is None else made


def logic(gate: str, a: Operand, b: Operand) -> Encrypted:
    """A gate of truth values."""
    if isinstance(a, Public):
        a, b = b, a
    if _in_cells(a, b):
        return cast(Cells, a).gate(gate, cast("Cells | Public", b))
    inverse = gate in ("nand", "nor", "xnor")
    op = {"and": "&", "nand": "&", "or": "|", "nor": "|", "xor": "^", "xnor": "^"}[gate]
    a, b = split(a), split(b)
    made = cast(Digits, a).logic(op, cast("Digits | Public", b))
    return ~made if inverse else made


def _next_to_public(op: str, a: Operand, b: Operand) -> Cells | None:
    """One lookup for an operation with public numbers; `None` if the value has too many values for it."""
    value, other = (b, a) if isinstance(a, Public) else (a, b)
    if not isinstance(value, Cells) or not isinstance(other, Public) or _torus(value):
        return None
    value = value.numbers()
    swapped = other is a
    spans = (other.span, value.span) if swapped else (value.span, other.span)
    if not value.tracer.reads(ranges.size(value.span)):
        return None
    if not value.tracer.holds(ranges.spanned(op, *spans, other.numbers, swapped=swapped)):
        return None
    return value.next_to_public(op, other, swapped=swapped)


def divided(a: Operand, b: Operand) -> tuple[Encrypted, Encrypted]:
    """Quotient and remainder."""
    quotient, remainder = _next_to_public("//", a, b), _next_to_public("%", a, b)
    if quotient is not None and remainder is not None:
        return quotient, remainder
    return _divided_in_digits(a, b)


def quotient(a: Operand, b: Operand) -> Encrypted:
    """a // b."""
    made = _next_to_public("//", a, b)
    return _divided_in_digits(a, b)[0] if made is None else made


def remainder(a: Operand, b: Operand) -> Encrypted:
    """a % b."""
    made = _next_to_public("%", a, b)
    return _divided_in_digits(a, b)[1] if made is None else made


def _divided_in_digits(a: Operand, b: Operand) -> tuple[Digits, Digits]:
    a, b = split(a), split(b)
    if isinstance(a, Public):
        return cast(Digits, b).divided(a, swapped=True)
    return cast(Digits, a).divided(cast("Digits | Public", b))


def checked(op: str, a: Encrypted, b: Operand) -> tuple[Digits, Digits]:
    """The result, and whether it overflowed its width."""
    return cast(Digits, split(a)).checked(op, split(b))


# -- shifts ---------------------------------------------------------------------------------------------------------------


_OPPOSITE = {"<<": ">>", ">>": "<<", "rotate_left": "rotate_right", "rotate_right": "rotate_left"}


def shifted(op: str, a: Operand, b: Operand) -> Encrypted:
    """<<, >> and rotations by amounts that are not negative."""
    lo, hi = _span(b)
    if lo < 0 and isinstance(b, Public):
        other = _OPPOSITE[op]
        raise refuse(f"{op} by {lo}: the amount may not be negative; use {other} by {-lo} instead")
    if lo < 0:
        raise refuse(
            f"{op} by {lo} to {hi}: the amount may not be negative; if it is not, declare that with .assume(pf.Int(0, {max(0, hi)}))"
        )
    made = None if op.startswith("rotate") or (op == "<<" and hi > MOST_BITS) else _next_to_public(op, a, b)
    if made is not None:
        return made
    tracer = _tracer(a, b)
    own = Digits.public(tracer, ranges.width(a.span), a, span=a.span) if isinstance(a, Public) else split(a)
    if not isinstance(b, Public):
        return own.shifted(op, split(b))
    amounts = b.numbers
    if op.startswith("rotate"):
        amounts = [by % own.width[0] for by in amounts]
    elif op == ">>" or own.span in (None, (0, 0)):
        # Shifting by more than every width leaves nothing.
        amounts = [min(by, MOST_BITS) for by in amounts]
    if len(set(amounts)) == 1 and (b.scalar or len(amounts) == own.length):
        found = own.shifted(op, amounts[0])
        return found if b.scalar else Digits(tracer, found.handle, scalar=False, span=found.span, stride=found.stride)
    if own.length not in (1, len(amounts)):
        raise refuse(f"{op}: the operands have {own.length} and {len(amounts)} elements; give both the same length")
    each = [own.taken([at % own.length], scalar=True).shifted(op, by) for at, by in enumerate(amounts)]
    return digits.joined(each)


def bit(a: Encrypted, index: int) -> Encrypted:
    """Bit `index` in two's complement."""
    if isinstance(a, Cells) and not _torus(a) and a.tracer.reads(ranges.size(a.span)):
        return a.numbers().tabled(lambda x: x >> index & 1, boolean=True)
    return cast(Digits, split(a)).bit(index)


def ones(a: Encrypted) -> Encrypted:
    """The number of 1s in the absolute value."""
    if isinstance(a, Cells) and not _torus(a) and a.tracer.reads(ranges.size(a.span)):
        return a.numbers().tabled(int.bit_count)
    own: Digits = split(a)
    own = abs(own) if own.bounds[0] < 0 else own
    return digits.total([own.bit(at) for at in range(own.width[0])])


# -- comparisons and choices ----------------------------------------------------------------------------------------------


def compared(op: str, a: Encrypted, b: Operand) -> Encrypted:
    """Truth values."""
    if isinstance(b, Public) and not _torus(a):
        # Every number beyond the range compares like the nearest one.
        lo, hi = _span(a)
        b = Public([min(max(number, lo - 1), hi + 1) for number in b.numbers], scalar=b.scalar)
    if _in_cells(a, b):
        tracer = _tracer(a, b)
        gate = op not in ORDERS and _truths(a, b)
        far = max(abs(end) for end in ranges.SPANS["-"](_span(a), _span(b))) >= FARTHEST_SIGN
        if _torus(a, b) or gate or (not far and tracer.reads(_pair_size(a, b), signs=op in ORDERS)):
            return cast(Cells, a).compared(op, cast("Cells | Public", b))
    own, other = split(a), split(b)
    return cast(Digits, own).compared(op, other)


def extreme(op: str, a: Operand, b: Operand) -> Encrypted:
    """The greater or the lesser of each pair: "max" or "min"."""
    if isinstance(a, Public):
        a, b = b, a
    if isinstance(b, Public) and not _torus(a) and not (isinstance(a, Digits) and a.span is None):
        # A number beyond the end where it never is the result may as well be that end. It counts for the width of a result that has one.
        lo, hi = _span(a)
        b = Public([min(n, hi) if op == "min" else max(n, lo) for n in b.numbers], scalar=b.scalar)
    if _in_cells(a, b):
        one = cast(Cells, a).numbers()
        other = b.numbers() if isinstance(b, Cells) else cast(Public, b)
        span = ranges.SPANS[op](one.span, other.span)
        if _torus(one) or (one.tracer.reads(_pair_size(one, other)) and one.tracer.holds(span)):
            return one.greater(other) if op == "max" else one.lesser(other)
    return _in_digits(op, a, b)


def chosen(condition: Encrypted, then: Operand, otherwise: Operand) -> Encrypted:
    """`then` where the condition holds, else `otherwise`."""
    if _in_cells(condition, then, otherwise):
        tracer = condition.tracer
        truths = all(isinstance(choice, Cells) and choice.truth for choice in (then, otherwise))
        public = isinstance(then, Public) and isinstance(otherwise, Public)
        span = ranges.union(_span(then), _span(otherwise))
        if (
            truths
            or _torus(then, otherwise)
            or (tracer.holds(span) and (public or tracer.reads(2 * _pair_size(then, otherwise))))
        ):
            return cast(Cells, condition).chosen(cast("Cells | Public", then), cast("Cells | Public", otherwise))
    own = cast(Digits, split(condition))
    if not own.truth:
        own = Digits(own.tracer, own.as_((1, False)).handle, scalar=own.scalar, truth=True)
    return own.chosen(split(then), split(otherwise))


# -- lookups -------------------------------------------------------------------------------------------------------------


def looked_up(
    a: Encrypted, tables: list[tuple[int, list[int]]], chosen_: list[int] | None, element: ElementType
) -> Encrypted:
    """For each element, the entry of its table; 0 beyond the table's ends."""
    found = [entry for _, entries in tables for entry in entries[:: a.type.stride]]
    span = ranges.TRUTH if element.kind == "boolean" else ranges.of_numbers(found)
    if isinstance(a, Cells):
        tracer = a.tracer
        if element.kind == "torus" or tracer.holds(span):
            number = a if a.truth or _torus(a) else a.numbers()
            tracer.fixed |= ranges.size(number.span) > MOST_CAST
            return number.lookup(tables, chosen_, element)
        a = split(a)
    if element.kind == "torus":
        raise refuse(
            f"a lookup in digits returns integers, not {element}; declare its operand with a range, pf.Int(lo, hi)"
        )
    truth = element.kind == "boolean"
    width = (1, False) if truth else ranges.width(span)
    kinds = [0] * a.length if chosen_ is None else chosen_
    parts, places = [], [0] * a.length
    for kind in sorted(set(kinds)):
        at = [place for place, own in enumerate(kinds) if own == kind]
        for new, place in enumerate(at, sum(part.length for part in parts)):
            places[place] = new
        part = a if len(at) == a.length else a.taken(at)
        parts.append(part.table(partial(cells.entry, tables[kind]), width, None if truth else span, truth=truth))
    if len(parts) == 1:
        return parts[0]
    return digits.joined(parts).taken(places, scalar=a.scalar)


def sign(a: Encrypted, *, boolean: bool) -> Encrypted:
    """+1 where an element is at least 0, else -1; with `boolean`, 1 and 0."""
    if isinstance(a, Cells):
        number = a.numbers()
        if number.tracer.form == "free" or number.tracer.reads(ranges.size(number.span), signs=True):
            number.tracer.fixed |= ranges.size(number.span) > SIGNS
            return number.sign(boolean=boolean)
    positive = cast(Digits, split(a)).compared(">=", Public([0], scalar=True))
    if boolean:
        return positive
    return arithmetic("-", arithmetic("*", positive, Public([2], scalar=True)), Public([1], scalar=True))


# -- vectors --------------------------------------------------------------------------------------------------------------


def taken(a: Encrypted, indices: Sequence[int], *, scalar: bool) -> Encrypted:
    """The elements at these indices."""
    return a.taken(indices, scalar=scalar)


def joined(parts: Sequence[Encrypted]) -> Encrypted:
    """The elements of all parts in order."""
    if _in_cells(*parts):
        kept = cast("Sequence[Cells]", parts)
        if len({part.element.kind for part in kept}) > 1 and not _torus(*kept):
            kept = [part.numbers() for part in kept]
        if _torus(*kept) or _tracer(*kept).holds(ranges.union(*(part.span for part in kept))):
            return cells.joined(kept)
    return digits.joined([split(part) for part in parts])


def element_at(a: Encrypted, index: Encrypted) -> Encrypted:
    """The element at an encrypted index, or 0 beyond the ends: the sum of all choices, of which at most one is not 0."""
    if _torus(a, index):
        raise refuse(f"{index.type} cannot be an index of {a.type}; declare both as integers")
    parts: list[Encrypted] = []
    for at in range(a.length):
        here = compared("==", index, Public([at], scalar=True))
        element = a.taken([at], scalar=True)
        if a.truth:
            both = (here, element) if _in_cells(here, element) else (split(here), split(element))
            parts.append(logic("and", *both))
        else:
            parts.append(chosen(here, element, Public([0], scalar=True)))
    if a.truth:
        return holds(joined(parts), any_of=True)
    if _in_cells(*parts):
        return reduce(operator.add, cast("Sequence[Cells]", parts)).within(ranges.union(_span(a), (0, 0)))
    span = None if isinstance(a, Digits) and a.span is None else ranges.union(_span(a), (0, 0))
    return digits.total([split(part) for part in parts], span)


def total(parts: Sequence[Encrypted]) -> Encrypted:
    """The sum of several values."""
    if _in_cells(*parts):
        span = reduce(ranges.SPANS["+"], map(_span, parts))
        if _torus(*parts) or _tracer(*parts).holds(span):
            return reduce(operator.add, cast("Sequence[Cells]", parts))
    return digits.total([split(part) for part in parts])


def summed(a: Encrypted) -> Encrypted:
    """The sum of a vector's elements."""
    return weighted(a, np.ones((1, a.length), dtype=np.int64), scalar=True) if isinstance(a, Cells) else a.total()


def weighted(a: Encrypted, rows: NDArray[Any], *, scalar: bool) -> Encrypted:
    """For each row of weights, the weighted sum of a vector's elements."""
    if isinstance(a, Cells):
        if _torus(a) or (
            a.tracer.holds(_weighted_span(rows, a.span)) and _are_weights((int(rows.min()), int(rows.max())))
        ):
            return a.linear(rows, scalar=scalar)
        if len(rows) == 1 and (rows == 1).all():
            return cast(Digits, split(a)).total()
        a = split(a)
    width = ranges.width(a.bounds, ranges.of_numbers(rows.reshape(-1).tolist())) if a.span is None else None
    sums = [a.weighted(row.tolist(), width) for row in rows]
    return sums[0] if scalar else digits.joined(sums)


def _weighted_span(rows: NDArray[Any], span: Span) -> Span:
    if rows.dtype == object:
        return ranges.weighted(rows.tolist(), span)
    above, below = np.maximum(rows, 0).sum(axis=1, dtype=object), np.minimum(rows, 0).sum(axis=1, dtype=object)
    least, most = above * span[0] + below * span[1], above * span[1] + below * span[0]
    return (int(min(least)), int(max(most))) if len(rows) else (0, 0)


def _in_halves(value: Encrypted, op: Callable[[Any, Any], Encrypted]) -> Encrypted:
    """Reduces the elements by `op`, as a tree of pairs."""
    while value.length > 1:
        half = value.length // 2
        pairs = op(value.taken(range(half)), value.taken(range(half, 2 * half)))
        if 2 * half < value.length:
            pairs = joined([pairs, value.taken(range(2 * half, value.length))])
        value = pairs
    return value.taken([0], scalar=True)


def folded(op: str, a: Encrypted) -> Encrypted:
    """The greatest or the least element: "max" or "min"."""
    if isinstance(a, Cells):
        number = a.numbers()
        if _torus(number) or number.tracer.reads(_pair_size(number, number)):
            return _in_halves(number, Cells.greater if op == "max" else Cells.lesser)
    own: Digits = split(a)
    if own.truth:
        own = own.ranged(ranges.TRUTH)
    return _in_halves(own, lambda one, other: one.binary(op, other))


def holds(a: Encrypted, *, any_of: bool) -> Encrypted:
    """Whether all truth values of a vector hold, or any."""
    if isinstance(a, Cells):
        return _in_halves(a, lambda one, other: one.gate("or" if any_of else "and", other))
    return a.holds([range(a.length)], any_of=any_of)
