"""Programs of Osiris' table III, at the paper's sizes.

Weights are drawn from fixed seeds, so that no layer's numbers leave the scale's room: what a network takes on a machine does not depend on them.
Convolutions are matrices, as the paper has them (section III).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ..language.slot_matrix import by_diagonals
from ..language.slots import SlotValue
from ..language.types import Complex, Real
from ..run.runnable_programs import SlotProgram, program
from .f1_programs.packing import Array

SMALL_SET = "osiris-I"
"""Parameter set of MLP and LoLA."""

REDUCED_SET = "toy-12-boot-osiris"
"""Set III's chain with the levels of a bootstrapping on a ring of 2^12, for execution on the machine's units."""

LEVELS = 8
"""L_eff of set III: levels after a bootstrapping."""

DIAGONALS = 128
"""Number of diagonals of the matrix of T_Mv:128."""


def dense(generator: np.random.Generator, rows: int, columns: int) -> Array:
    """A random matrix whose products with vectors of numbers up to 1 stay near 1."""
    return generator.normal(0, 0.8 / columns**0.5, (rows, columns)).clip(-1, 1)


def convolution(generator: np.random.Generator, side: int, window: int, maps: int, stride: int, before: int) -> Array:
    """The matrix of a convolution of one map of `side` x `side` to `maps`, with `before` rows and columns of zeros in front."""
    out = (side + before - window) // stride + 1
    kernels = generator.normal(0, 0.8 / window, (maps, window, window)).clip(-1, 1)
    matrix = np.zeros((maps, out, out, side, side))
    for y, x, dy, dx in np.ndindex(out, out, window, window):
        row, column = stride * y + dy - before, stride * x + dx - before
        if 0 <= row < side and 0 <= column < side:
            matrix[:, y, x, row, column] = kernels[:, dy, dx]
    return matrix.reshape(maps * out * out, side * side)


def _squares(layers: list[Array], value: SlotValue, generator: np.random.Generator) -> SlotValue:
    """The layers in order, with squares between them."""
    for number, matrix in enumerate(layers):
        if number:
            value = value * value
        value = matrix @ value + generator.uniform(-0.25, 0.25, len(matrix))
    return value


@cache
def mlp() -> SlotProgram:
    """SecureML's network for MNIST (P. Mohassel and Y. Zhang, S&P 2017): 784-128-128-10 with squares."""
    generator = np.random.default_rng(0)
    layers = [dense(generator, rows, columns) for columns, rows in ((784, 128), (128, 128), (128, 10))]

    @program("mlp", image=Real.vector(784))
    def network(image: SlotValue) -> dict[str, SlotValue]:
        return {"scores": _squares(layers, image, np.random.default_rng(1))}

    return network


@cache
def lola() -> SlotProgram:
    """LoLA-MNIST with public weights (A. Brutzkus et al., ICML 2019): a convolution to 845 numbers, 100, 10, with squares, all as matrices."""
    generator = np.random.default_rng(0)
    layers = [convolution(generator, 28, 5, 5, 2, 1), dense(generator, 100, 845), dense(generator, 10, 100)]

    @program("lola", image=Real.vector(784))
    def network(image: SlotValue) -> dict[str, SlotValue]:
        return {"scores": _squares(layers, image, np.random.default_rng(1))}

    return network


@cache
def products(slots: int = 1 << 15, levels: int = LEVELS) -> SlotProgram:
    """A bootstrapping, and a product at each level after it."""

    @program("amortised-products", exhausted=Complex.vector(slots))
    def chain(exhausted: SlotValue) -> dict[str, SlotValue]:
        value = exhausted.at_level(0).bootstrap()
        for _ in range(levels):
            value = value * value
        return {"product": value}

    return chain


def diagonals_drawn(slots: int, diagonals: int) -> Array:
    """The matrix of T_Mv, as diagonals from 0."""
    return np.random.default_rng(0).normal(0, 0.5 / diagonals**0.5, (diagonals, slots))


@cache
def matrix_vectors(slots: int = 1 << 15, levels: int = LEVELS, diagonals: int = DIAGONALS) -> SlotProgram:
    """A bootstrapping, and a matrix of `diagonals` diagonals times the vector at each level after it."""
    entries = diagonals_drawn(slots, diagonals)

    @program("amortised-matrices", exhausted=Real.vector(slots))
    def chain(exhausted: SlotValue) -> dict[str, SlotValue]:
        value = exhausted.at_level(0).bootstrap()
        for _ in range(levels):
            value = _banded(value, entries)
        return {"product": value}

    return chain


@cache
def matrix_vector(level: int, diagonals: int, slots: int = 1 << 15) -> SlotProgram:
    """A matrix of `diagonals` diagonals times a vector at `level`, as in figure 11."""
    entries = np.random.default_rng(0).normal(0, 0.5 / diagonals**0.5, (diagonals, 1)) * np.ones(slots)

    @program(f"matrix-vector-{level}", vector=Real.vector(slots))
    def product(vector: SlotValue) -> dict[str, SlotValue]:
        return {"product": _banded(vector.at_level(level), entries).at_level(level - 1)}

    return product


def _banded(value: SlotValue, entries: Array) -> SlotValue:
    """The matrix with these diagonals, from 0, times the vector."""
    return by_diagonals(value, dict(enumerate(entries)), entries.shape[1])
