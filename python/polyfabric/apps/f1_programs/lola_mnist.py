"""LoLa-MNIST in CKKS: the network of Low Latency CryptoNets (A. Brutzkus et al., ICML 2019), after F1's table 3.

28 x 28 pixels; a convolution of 5 x 5 with stride 2 and 5 maps; squares; 845 -> 100; squares; 100 -> 10. The packings
are LoLa's:

- *convolution*: an input for each of the window's 25 places, with a pixel for each of the 13 x 13 positions, so a map is a
  sum of 25 inputs times numbers;
- *dense*: the five maps one behind the other, by four rotations;
- *stacked*: as many copies of it as fit, so that one product takes as many rows of the matrix, and rotations sum each;
- *sparse*: a score in each of ten results.

The rows' results stay where they are, in every 1024th slot of 13 ciphertexts, and the last layer sums those alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from ...language.slot_program import tracer
from ...language.slots import SlotTracer, SlotValue
from ...language.types import Real, SlotType
from ...run.runnable_programs import SlotProgram, finished
from .packing import Array, summed, total, windows

CONVOLUTION_BITS = 3
"""Fractional bits of the convolution's weights, which are scalar constants and therefore exact."""

HIDDEN_BITS = 16
SCORE_BITS = 13
"""Fractional bits of the dense layers' weights: the most that 4 limbs allow."""


@dataclass(frozen=True)
class Shape:
    """Sizes of the network; the defaults are LoLa's."""

    side: int = 28
    window: int = 5
    maps: int = 5
    hidden: int = 100
    classes: int = 10
    slots: int = 8192

    @property
    def output_side(self) -> int:
        """Side of a map: stride 2, one row and column of zeros before the image."""
        return (self.side + 1 - self.window) // 2 + 1

    @property
    def positions(self) -> int:
        """Numbers of a map."""
        return self.output_side**2

    @property
    def places(self) -> int:
        """Weights of the window."""
        return self.window**2

    @property
    def block(self) -> int:
        """Slots per copy of the maps: their numbers, rounded up to a power of two."""
        return 1 << (self.maps * self.positions - 1).bit_length()

    @property
    def copies(self) -> int:
        """Number of copies that fit."""
        return self.slots // self.block

    @property
    def groups(self) -> int:
        """Ciphertexts of the hidden layer."""
        return -(-self.hidden // self.copies)


@dataclass(frozen=True)
class Weights:
    """A network with random weights, small enough that no layer's numbers overflow at its scale."""

    convolution: Array
    """maps x places, multiples of 2^-CONVOLUTION_BITS."""
    convolution_bias: Array
    hidden: Array
    """hidden x (maps·positions)."""
    hidden_bias: Array
    score: Array
    """classes x hidden."""
    score_bias: Array

    @classmethod
    def drawn(cls, shape: Shape, seed: int = 0) -> Weights:
        """Draws weights from a seed."""
        generator = np.random.default_rng(seed)
        inputs = shape.maps * shape.positions
        steps = generator.integers(-3, 4, (shape.maps, shape.places))
        return cls(
            steps / 2.0**CONVOLUTION_BITS,
            generator.uniform(-0.25, 0.25, shape.maps),
            generator.normal(0, 0.8 / inputs**0.5, (shape.hidden, inputs)).clip(-1, 1),
            generator.uniform(-0.25, 0.25, shape.hidden),
            generator.uniform(-1, 1, (shape.classes, shape.hidden)),
            generator.uniform(-0.25, 0.25, shape.classes),
        )


def scores(shape: Shape, weights: Weights, image: Array) -> Array:
    """The network in the clear."""
    maps = (
        weights.convolution @ windows(image[None], shape.window, shape.output_side) + weights.convolution_bias[:, None]
    )
    hidden = weights.hidden @ (maps.reshape(-1) ** 2) + weights.hidden_bias
    return weights.score @ hidden**2 + weights.score_bias


# -- packings ---------------------------------------------------------------------------------------------------------------


def dense_bias(shape: Shape, weights: Weights) -> Array:
    """The convolution's biases, concatenated."""
    packed = np.zeros(shape.slots)
    packed[: shape.maps * shape.positions] = np.repeat(weights.convolution_bias, shape.positions)
    return packed


def stacked_rows(shape: Shape, weights: Weights, group: int) -> Array:
    """Row `copies`·group + c of the hidden layer in block c."""
    packed = np.zeros((shape.copies, shape.block))
    rows = weights.hidden[group * shape.copies : (group + 1) * shape.copies]
    packed[: len(rows), : rows.shape[1]] = rows
    return packed.reshape(-1)


def at_blocks(shape: Shape, values: Array, group: int) -> Array:
    """values[copies·group + c] in block c: only the first slot counts, and a vector with few nonzero slots would round to 0."""
    packed = np.zeros((shape.copies, shape.block))
    own = values[group * shape.copies : (group + 1) * shape.copies]
    packed[: len(own)] = own[:, None]
    return packed.reshape(-1)


def encrypted_weights(shape: Shape, weights: Weights) -> dict[str, Array]:
    """The weights as inputs of the program with encrypted weights."""
    inputs: dict[str, Array] = {"convolution-bias": dense_bias(shape, weights)}
    for m in range(shape.maps):
        for k in range(shape.places):
            inputs[f"convolution-{m}-{k}"] = np.array([weights.convolution[m, k]])
    for g in range(shape.groups):
        inputs[f"hidden-{g}"] = stacked_rows(shape, weights, g)
        inputs[f"hidden-bias-{g}"] = at_blocks(shape, weights.hidden_bias, g)
        for c in range(shape.classes):
            inputs[f"score-{c}-{g}"] = at_blocks(shape, weights.score[c], g)
    for c in range(shape.classes):
        inputs[f"score-bias-{c}"] = np.array([weights.score_bias[c]])
    return inputs


# -- programs ---------------------------------------------------------------------------------------------------------------

Product = Callable[[SlotValue, str, "Array | float", int], SlotValue]
"""Multiplies a value by the weights of a name, with that number of fractional bits."""

Sum = Callable[[SlotValue, str, "Array | float"], SlotValue]


def network(
    shape: Shape, weights: Weights, pixels: list[SlotValue], product: Product, plus: Sum
) -> dict[str, SlotValue]:
    """The layers, with `multiply` and `add` for weights and biases."""

    def convolved(m: int) -> SlotValue:
        terms = [
            product(x, f"convolution-{m}-{k}", float(weights.convolution[m, k]), CONVOLUTION_BITS)
            for k, x in enumerate(pixels)
        ]
        return total(terms)

    dense = convolved(0)
    for m in range(1, shape.maps):
        dense = dense + convolved(m).rotate(-m * shape.positions)
    dense = plus(dense, "convolution-bias", dense_bias(shape, weights))
    stacked = dense * dense
    step = shape.block
    while step < shape.slots:
        stacked = stacked + stacked.rotate(-step)
        step *= 2
    stacked = stacked.rescale()
    hidden = []
    for g in range(shape.groups):
        row = summed(product(stacked, f"hidden-{g}", stacked_rows(shape, weights, g), HIDDEN_BITS), 1, shape.block)
        row = plus(row, f"hidden-bias-{g}", at_blocks(shape, weights.hidden_bias, g))
        hidden.append((row * row).rescale())
    found = {}
    for c in range(shape.classes):
        terms = [
            product(y, f"score-{c}-{g}", at_blocks(shape, weights.score[c], g), SCORE_BITS)
            for g, y in enumerate(hidden)
        ]
        score = summed(total(terms), shape.block, shape.slots)
        found[f"score{c}"] = plus(score, f"score-bias-{c}", float(weights.score_bias[c]))[0:1]
    return found


@cache
def lola_mnist(shape: Shape = Shape(), seed: int = 0) -> SlotProgram:
    """The network with public weights, on an encrypted image."""
    weights = Weights.drawn(shape, seed)
    inputs: dict[str, SlotType] = {f"pixels{k}": Real.vector(shape.positions) for k in range(shape.places)}
    made = tracer("lola-mnist", "ckks", shape.slots, inputs)
    pixels = [made.input(name, kind) for name, kind in inputs.items()]

    def product(value: SlotValue, _name: str, factors: Array | float, bits: int) -> SlotValue:
        return value.times(factors, bits)

    def plus(value: SlotValue, _name: str, addends: Array | float) -> SlotValue:
        return value + addends

    return finished(made, inputs, network(shape, weights, pixels, product, plus), lola_mnist.__doc__)


@cache
def lola_mnist_encrypted(shape: Shape = Shape(), seed: int = 0) -> SlotProgram:
    """The same network with encrypted weights."""
    weights = Weights.drawn(shape, seed)
    given = encrypted_weights(shape, weights)
    types: dict[str, SlotType] = {f"pixels{k}": Real.vector(shape.positions) for k in range(shape.places)}
    types |= {name: Real if len(values) == 1 else Real.vector(shape.slots) for name, values in given.items()}
    made: SlotTracer = tracer("lola-mnist-encrypted", "ckks", shape.slots, types)
    values = {name: made.input(name, kind) for name, kind in types.items()}
    pixels = [values[f"pixels{k}"] for k in range(shape.places)]

    def product(value: SlotValue, name: str, _factors: Array | float, _bits: int) -> SlotValue:
        return value * values[name]

    def plus(value: SlotValue, name: str, _addends: Array | float) -> SlotValue:
        return value + values[name]

    return finished(made, types, network(shape, weights, pixels, product, plus), lola_mnist_encrypted.__doc__)


def drawn_image(shape: Shape, generator: np.random.Generator) -> Array:
    """Strokes on black, similar to digits, not from a data set."""
    image = np.zeros((shape.side, shape.side))
    y, x = generator.integers(4, shape.side - 4, 2)
    for _ in range(4 * shape.side):
        image[y : y + 2, x : x + 2] = generator.uniform(0.5, 1)
        y, x = np.clip(np.add([y, x], generator.integers(-1, 2, 2)), 2, shape.side - 4)
    return image


def pixel_inputs(shape: Shape, image: Array) -> dict[str, Array]:
    """The client's inputs."""
    rows = windows(image[None], shape.window, shape.output_side)
    return {f"pixels{k}": row for k, row in enumerate(rows)}
