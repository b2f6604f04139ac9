"""Choices, gates and convolutions of encrypted values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from .choices import select
from .integers import Integer
from .place import refuse, whole
from .public_operands import Clear, integers
from .reference import means
from .slots import SlotValue
from .types import MOST_ELEMENTS, UInt
from .values import Value, ends_of, expect_elements, lookup

_MOST_PIXELS = 1 << 16
"""Of a convolution's stride and padding, as in the Rust half."""


@means("mux")
def mux(
    condition: Value | Integer, then: Value | Integer | Clear, otherwise: Value | Integer | Clear
) -> Value | Integer:
    """`then` where `condition` holds, else `otherwise`: of Booleans by two look-ups an element, of integers by one and the condition's.

    Integers of any width (`pf.UInt`, `pf.SInt`) are chosen digit by digit, one look-up each.
    """
    if isinstance(condition, SlotValue):
        expect_elements("mux", (condition,), "with c of 0s and 1s, write c * a + (1 - c) * b")
    if not isinstance(condition, Value | Integer):
        raise refuse(
            f"mux: the condition is {type(condition).__name__}, but an encrypted one is needed; by a public one c, of 0s and 1s, "
            "write c * x + (1 - c) * y"
        )
    if any(isinstance(value, Integer) for value in (condition, then, otherwise)):
        if isinstance(condition, Value):
            condition = condition.cast(UInt(1))
        return select(condition, then, otherwise)  # type: ignore[arg-type]
    if any(not isinstance(value, Value) or value.element.kind == "integer" for value in (then, otherwise)):
        return _mux_integers(condition, then, otherwise)  # type: ignore[arg-type]
    length = max(condition.length, then.length, otherwise.length)
    scalar = condition.scalar and then.scalar and otherwise.scalar
    c, t, o = (v._stretched(length, scalar=scalar) for v in (condition, then, otherwise))
    return c._new(lambda builder: builder.mux(c.node, t.node, o.node))


def _mux_integers(condition: Value, then: Value | Clear, otherwise: Value | Clear) -> Value:
    """otherwise + (condition ? then − otherwise : 0), by one look-up on the difference and the condition side by side."""
    for value in (then, otherwise):
        if isinstance(value, SlotValue) or (isinstance(value, Value) and value.element.kind != "integer"):
            raise refuse("mux: the choices have different types; give two Booleans, or two integers")
    known = then if isinstance(then, Value) else otherwise
    if not isinstance(known, Value):
        wide_enough = condition._clear(then)[0]._clear(otherwise)[0]
        (c, ones), (_, zeros) = (wide_enough._clear(value) for value in (then, otherwise))  # type: ignore[arg-type]
        if len(ones) != len(zeros):
            raise refuse(f"mux: the choices have {len(ones)} and {len(zeros)} elements; make the lengths equal")
        pairs = list(zip(zeros, ones, strict=True))
        kinds = sorted(set(pairs))
        return lookup(c, kinds[0]) if len(kinds) == 1 else lookup(c, kinds, choice=[kinds.index(own) for own in pairs])
    ends = [end for value in (then, otherwise) for end in ends_of(value)]
    difference = then - otherwise  # type: ignore[operator]
    lo, hi = difference._ends
    bit = lookup(condition, [0, hi - lo + 1])
    change = lookup(difference + bit - lo, lambda x: 0 if x <= hi - lo else x - (hi - lo + 1) + lo)
    return (change + otherwise)._within(min(ends), max(ends))


_GATES = {
    "nand": ("~(x & y)", "1 - x * y"),
    "nor": ("~(x | y)", "(1 - x) * (1 - y)"),
    "xnor": ("~(x ^ y)", "1 - (x - y) ** 2"),
}
"""What Booleans take as one look-up, written for bits of `pf.UInt(1)`, and for 0s and 1s in slots."""


def _gate(gate: str, a: Value | Clear, b: Value | Clear) -> Value:
    if not isinstance(a, Value):
        a, b = b, a
    of_bits, in_slots = _GATES[gate]
    if isinstance(a, Integer):
        raise refuse(f"{gate}: an operand is {a.type}, and gates are of pf.Bool; of single bits write {of_bits}")
    expect_elements(gate, (a,), f"of 0s and 1s write {in_slots}")
    return cast(Value, a)._gate(gate, b)


@means("nand")
def nand(a: Value | Clear, b: Value | Clear) -> Value:
    """Not both, by one look-up an element."""
    return _gate("nand", a, b)


@means("nor")
def nor(a: Value | Clear, b: Value | Clear) -> Value:
    """None, by one look-up an element."""
    return _gate("nor", a, b)


@means("xnor")
def xnor(a: Value | Clear, b: Value | Clear) -> Value:
    """Both or none, by one look-up an element."""
    return _gate("xnor", a, b)


@means("convolve")
def convolve(
    kernel: NDArray[np.integer],
    image: Value,
    shape: tuple[int, int] | tuple[int, int, int],
    *,
    stride: int = 1,
    padding: int = 0,
    bias: Clear = 0,
) -> Value:
    """A two-dimensional convolution of `image` with clear weights, as networks do it: the kernel is not mirrored.

    `image` is a vector of height x width x channels = `shape`, channels last; `kernel` has filters x height x width x
    channels weights. Both are height x width where there is one filter and one channel. `padding` surrounds the image with zeros, `bias` is one number or one a filter. Returns a vector of
    height x width x filters, with (extent + 2 padding - kernel extent) // stride + 1 for each extent.
    """
    if isinstance(image, Integer):
        raise refuse(
            f"convolve: the image is {image.type}; declare it of a few bits, pf.Int(lo, hi), or multiply with the matrix of the convolution, matrix @ x"
        )
    expect_elements("convolve", (image,), "multiply with the matrix of the convolution, matrix @ x")
    extents = shape if isinstance(shape, Sequence) else (shape,)
    shape = tuple(whole("an extent of convolve's image", n, 1, MOST_ELEMENTS) for n in extents)  # type: ignore[assignment]
    stride = whole("convolve's stride", stride, 1, _MOST_PIXELS)
    padding = whole("convolve's padding", padding, 0, _MOST_PIXELS - 1)
    weights = integers(kernel)
    if weights.ndim == 2 and len(shape) == 2:
        weights, shape = weights[None, :, :, None], (*shape, 1)
    if weights.ndim != 4 or len(shape) != 3 or weights.shape[3] != shape[2]:
        given = " x ".join(str(n) for n in weights.shape)
        raise refuse(
            f"a kernel of {given} does not fit an image of {' x '.join(map(str, shape))}; "
            "give filters x height x width x channels, with the channels of the image, or height x width of both"
        )
    if int(np.prod(shape)) != image.length:
        raise refuse(f"an image of {' x '.join(map(str, shape))} has not the {image.length} elements of {image.type}")
    filters, height, width, _ = weights.shape
    given_biases = integers(bias)
    if given_biases.shape not in ((), (1,), (filters,)):
        raise refuse(f"convolve: {given_biases.size} biases of {filters} filters; give one number, or one a filter")
    biases = np.broadcast_to(given_biases, (filters,)).tolist()
    flat = weights.reshape(-1).tolist()
    return image._new(
        lambda b: b.convolution(image.node, shape, (filters, height, width), flat, stride, padding, biases),
        scalar=False,
    )
