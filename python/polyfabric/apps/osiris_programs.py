"""Programs of Osiris' table III, at the paper's sizes.

Weights are drawn from fixed seeds, so that no layer's numbers leave the scale's room: what a network takes on a machine does not depend on them.
Convolutions are matrices, as the paper has them (section III).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from ..language.slot_matrix import by_diagonals
from ..language.slot_program import tracer
from ..language.slots import SlotValue
from ..language.types import Complex, Real
from ..run.runnable_programs import SlotProgram, finished, program
from . import multiplexed
from .multiplexed import Array, Packing

SMALL_SET = "osiris-I"
"""Parameter set of MLP and LoLA."""

REDUCED_SET = "toy-12-boot-osiris"
"""Set III's chain with the levels of a bootstrapping on a ring of 2^12, for execution on the machine's units."""

LEVELS = 8
"""L_eff of set III: levels after a bootstrapping."""

DIAGONALS = 128
"""Number of diagonals of the matrix of T_Mv:128."""


_LOLA_SLOTS = 1 << 13
"""Slots of set I."""


def dense(generator: np.random.Generator, rows: int, columns: int) -> Array:
    """A random matrix whose products with vectors of numbers up to 1 stay near 1."""
    return generator.normal(0, 0.8 / columns**0.5, (rows, columns)).clip(-1, 1)


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


_LOLA = Packing(1, 30, 32)
"""LoLA's image, 28 x 28 numbers behind a row and a column of zeros. A 5 x 5 window with stride 2 over the number (y, x) of the next layer, from 1 to
13, then begins at (2y - 3, 2x - 3) of the image: its own windows of 13 x 13, with one row and column of zeros in front."""


@dataclass(frozen=True)
class LolaWeights:
    """A network whose numbers stay near 1: 5 maps, 100 and 10 numbers."""

    kernels: Array
    hidden: Array
    """100 x maps x side x side, zero for numbers that the network does not have."""
    scores: Array
    biases: tuple[Array, Array, Array]

    @classmethod
    def drawn(cls) -> LolaWeights:
        """Draws them from a fixed seed."""
        generator = np.random.default_rng(0)
        after = _LOLA.after(5, 2)
        hidden = np.zeros((100, after.channels, after.side, after.side))
        hidden[:, :, 1:14, 1:14] = dense(generator, 100, 845).reshape(100, 5, 13, 13)
        kernels = generator.normal(0, 0.8 / 5, (after.channels, 1, 5, 5)).clip(-1, 1)
        biases = tuple(generator.uniform(-0.25, 0.25, count) for count in (after.channels, 100, 10))
        return cls(kernels, hidden, dense(generator, 10, 100), biases)


def lola_image(image: Array) -> dict[str, Array]:
    """The client's inputs: 28 x 28 numbers in every frame."""
    return {"image": _LOLA.packed(np.pad(image, ((1, 1), (1, 1)))[None], _LOLA_SLOTS)}


@cache
def lola() -> SlotProgram:
    """LoLA-MNIST with public weights (A. Brutzkus et al., ICML 2019): a convolution to 5 x 13 x 13 numbers, 100, 10, with squares between them, as
    matrices on multiplexed images."""
    weights, after = LolaWeights.drawn(), _LOLA.after(5, 2)
    inputs = {"image": Real.vector(_LOLA_SLOTS)}
    made = tracer("lola", "ckks", _LOLA_SLOTS, inputs)
    spread = np.broadcast_to(weights.biases[0][:, None, None], (after.channels, after.side, after.side))
    value = multiplexed.transformed(
        made.input("image", inputs["image"]), multiplexed.convolution(weights.kernels, _LOLA, 2), _LOLA_SLOTS
    )
    value = value + after.packed(spread, _LOLA_SLOTS)
    value = multiplexed.dense(value * value, multiplexed.flattened(weights.hidden, after), _LOLA_SLOTS)
    value = value + np.tile(np.pad(weights.biases[1], (0, 28)), _LOLA_SLOTS // 128)
    scores = multiplexed.dense(value * value, np.pad(weights.scores, ((0, 0), (0, 28))), _LOLA_SLOTS)
    return finished(made, inputs, {"scores": scores[0:10] + weights.biases[2]}, lola.__doc__)


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
