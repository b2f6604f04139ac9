"""MLP, LoLA and LeNet in the hybrid packing of Orion (A. Ebel et al., ASPLOS 2025), which Osiris names: as its public code packs them.

Numbers lie in image order, channels interleaved in the gaps of strides (`multiplexed`), frames without padding and vectors without copies. A matrix
with R rows is cut to blocks of H rows, R rounded up to a power of two. Each block's rows lie below each other, so a matrix has at most H diagonals, and
rotations add up its columns' parts. The last layer is not cut: its diagonals are those of a square matrix.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ..language.slot_matrix import moved
from ..language.slot_program import tracer
from ..language.slots import SlotValue
from ..language.types import Real
from ..run.runnable_programs import SlotProgram, finished
from .lenet import Shape, Weights
from .multiplexed import Array, Packing
from .osiris_programs import dense

SLOTS = 1 << 13
"""Slots of sets I and II."""

_WHOLE = Shape()

Entries = tuple[Array, Array, Array, int]
"""Rows, columns and values of a matrix's entries, and its number of rows."""


def convolution(kernels: Array, before: Packing, stride: int) -> Entries:
    """A convolution with zero padding that keeps the size, from one packing to the next."""
    outputs, window = len(kernels), kernels.shape[-1]
    after = before.after(outputs, stride)
    number, inner, dy, dx, y, x = np.indices((*kernels.shape, after.side, after.side), sparse=True)
    row, column = y * stride + dy - window // 2, x * stride + dx - window // 2
    seen = (row >= 0) & (row < before.side) & (column >= 0) & (column < before.side)
    seen = np.broadcast_to(seen, (*kernels.shape, after.side, after.side))
    targets = np.broadcast_to(after.places()[number, y, x], seen.shape)[seen]
    sources = before.places()[inner, row.clip(0, before.side - 1), column.clip(0, before.side - 1)]
    frames = -(-outputs // after.gap**2)
    return (
        targets,
        np.broadcast_to(sources, seen.shape)[seen],
        np.broadcast_to(kernels[..., None, None], seen.shape)[seen],
        frames * after.frame**2,
    )


def connected(matrix: Array, places: Array) -> Entries:
    """A fully connected layer on numbers in these slots."""
    rows = np.arange(len(matrix))[:, None]
    return (*(np.broadcast_to(of, matrix.shape) for of in (rows, places.reshape(-1), matrix)), len(matrix))


def applied(value: SlotValue, entries: Entries, slots: int, *, last: bool) -> SlotValue:
    """The matrix times the vector, which repeats as often as its rows fit, with a last one once."""
    rows, columns, weights, count = entries
    height = slots if last else 1 << (count - 1).bit_length()
    below = (columns - (columns - rows) % height) % slots
    value = moved(value, below, columns, weights, slots)
    step = slots
    while step > height:
        step //= 2
        value = value + value.rotate(step)
    return value


def network(name: str, layers: list[tuple[Entries, Array]], inputs: int, slots: int = SLOTS) -> SlotProgram:
    """The layers, a matrix and a bias in its rows each, with squares between them."""
    given = {"image": Real.vector(inputs)}
    made = tracer(name, "ckks", slots, given)
    value = made.input("image", given["image"])
    for number, (entries, bias) in enumerate(layers):
        last = number == len(layers) - 1
        value = applied(value * value if number else value, entries, slots, last=last)
        if last:
            value = value[0 : len(bias)]
        height = len(bias) if last else 1 << (entries[3] - 1).bit_length()
        padded = np.pad(bias, (0, height - len(bias)))
        value = value + (padded if last else np.tile(padded, slots // height))
    return finished(made, given, {"scores": value}, network.__doc__)


def _in_rows(bias: Array, packing: Packing) -> Array:
    """A bias for each channel, in the rows of a convolution."""
    frames = -(-packing.channels // packing.gap**2)
    found = np.zeros(frames * packing.frame**2)
    found[packing.places()] = bias[:, None, None]
    return found


@cache
def mlp() -> SlotProgram:
    """`osiris_programs.mlp` in this packing."""
    generator = np.random.default_rng(0)
    sizes = ((784, 128), (128, 128), (128, 10))
    layers = [connected(dense(generator, rows, columns), np.arange(columns)) for columns, rows in sizes]
    return network("mlp-orion", [(layer, generator.uniform(-0.25, 0.25, layer[3])) for layer in layers], 784)


@cache
def lola() -> SlotProgram:
    """LoLA in this packing: a convolution to 5 x 14 x 14 numbers, as in Orion's models, 100, 10."""
    generator = np.random.default_rng(0)
    image = Packing(1, 28, 28)
    after = image.after(5, 2)
    kernels = generator.normal(0, 0.8 / 5, (5, 1, 5, 5)).clip(-1, 1)
    biases = [generator.uniform(-0.25, 0.25, count) for count in (5, 100, 10)]
    layers = [
        (convolution(kernels, image, 2), _in_rows(biases[0], after)),
        (connected(dense(generator, 100, after.places().size), after.places()), biases[1]),
        (connected(dense(generator, 10, 100), np.arange(100)), biases[2]),
    ]
    return network("lola-orion", layers, 784)


@cache
def lenet(shape: Shape = _WHOLE, seed: int = 0) -> SlotProgram:
    """`lenet.lenet` in this packing."""
    weights, image = Weights.drawn(shape, seed), Packing(1, shape.side, shape.side)
    first = image.after(shape.maps[0], 2)
    second = first.after(shape.maps[1], 2)
    layers = [
        (convolution(weights.kernels[0], image, 2), _in_rows(weights.biases[0], first)),
        (convolution(weights.kernels[1], first, 2), _in_rows(weights.biases[1], second)),
        (connected(weights.layers[0].reshape(shape.hidden, -1), second.places()), weights.biases[2]),
        (connected(weights.layers[1], np.arange(shape.hidden)), weights.biases[3]),
    ]
    return network("lenet-orion", layers, shape.side**2, shape.slots)
