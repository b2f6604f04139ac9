"""LoLa-CIFAR in CKKS: the larger network of Low Latency CryptoNets (A. Brutzkus et al., ICML 2019), after F1's table 3.

32 x 32 pixels of three colours; a convolution of 8 x 8 with stride 2 and 83 maps; squares; a convolution of 6 x 6 with stride 2
and 163 maps; squares; 10 scores. Weights are public. The packings are LoLa's:

- *convolution*: an input for each of the window's 192 places, with a pixel for each of the 14 x 14 positions;
- *dense*: the maps one behind the other, 41 or 42 in each of two ciphertexts;
- *row by row*: each of the second convolution's 4,075 numbers is a product with a row of its matrix, and thirteen rotations
  that sum it into every slot;
- each of those, squared, is multiplied by the column of scores that it counts for, and the products are summed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from ...language.slot_program import tracer
from ...language.slots import SlotValue
from ...language.types import Real
from ...run.runnable_programs import SlotProgram, finished
from .packing import Array, summed, total, windows


@dataclass(frozen=True)
class Shape:
    """Sizes of the network; the defaults are LoLa's."""

    side: int = 32
    colours: int = 3
    window: int = 8
    maps: int = 83
    second_window: int = 6
    second_maps: int = 163
    classes: int = 10
    slots: int = 8192
    level: int | None = 6
    """Level of the inputs: 8 limbs."""
    end: int | None = 1

    @property
    def output_side(self) -> int:
        """Side of a map: stride 2, a border of one zero."""
        return (self.side + 2 - self.window) // 2 + 1

    @property
    def positions(self) -> int:
        """Numbers of a map."""
        return self.output_side**2

    @property
    def second_side(self) -> int:
        """Side of a map of the second convolution: stride 2, no border."""
        return (self.output_side - self.second_window) // 2 + 1

    @property
    def places(self) -> int:
        """Weights of the first window, over all colours."""
        return self.window**2 * self.colours

    @property
    def packs(self) -> int:
        """Ciphertexts of the maps."""
        return -(-self.maps // (self.slots // self.positions))

    @property
    def per_pack(self) -> int:
        """Most maps per ciphertext."""
        return -(-self.maps // self.packs)


@dataclass(frozen=True)
class Weights:
    """A network with random weights."""

    first: Array
    """maps x places."""
    first_bias: Array
    second: Array
    """second_maps x maps x second_window x second_window."""
    second_bias: Array
    score: Array
    """classes x second_maps x positions of the second convolution."""
    score_bias: Array

    @classmethod
    def drawn(cls, shape: Shape, seed: int = 0) -> Weights:
        """Draws weights from a seed."""
        generator = np.random.default_rng(seed)
        inputs = shape.maps * shape.second_window**2
        hidden = shape.second_maps * shape.second_side**2
        return cls(
            generator.normal(0, 1 / shape.places**0.5, (shape.maps, shape.places)),
            generator.uniform(-0.25, 0.25, shape.maps),
            generator.normal(
                0, 1 / inputs**0.5, (shape.second_maps, shape.maps, shape.second_window, shape.second_window)
            ),
            generator.uniform(-0.25, 0.25, shape.second_maps),
            generator.normal(0, 1 / hidden**0.5, (shape.classes, shape.second_maps, shape.second_side**2)),
            generator.uniform(-0.25, 0.25, shape.classes),
        )


def scores(shape: Shape, weights: Weights, image: Array) -> Array:
    """The network in the clear, window by window."""
    maps = (weights.first @ windows(image, shape.window, shape.output_side) + weights.first_bias[:, None]) ** 2
    maps = maps.reshape(shape.maps, shape.output_side, shape.output_side)
    hidden = np.zeros((shape.second_maps, shape.second_side, shape.second_side))
    for y in range(shape.second_side):
        for x in range(shape.second_side):
            seen = maps[:, 2 * y : 2 * y + shape.second_window, 2 * x : 2 * x + shape.second_window]
            hidden[:, y, x] = np.tensordot(weights.second, seen, 3) + weights.second_bias
    squares = hidden.reshape(shape.second_maps, -1) ** 2
    result: Array = np.tensordot(weights.score, squares, 2) + weights.score_bias
    return result


def second_row(shape: Shape, weights: Weights, number: int, position: int) -> Array:
    """packs x slots: the row of the second convolution's matrix for one map and position."""
    y, x = divmod(position, shape.second_side)
    row = np.zeros((shape.packs * shape.per_pack, shape.output_side, shape.output_side))
    row[: shape.maps, 2 * y : 2 * y + shape.second_window, 2 * x : 2 * x + shape.second_window] = weights.second[number]
    packed = np.zeros((shape.packs, shape.slots))
    packed[:, : shape.per_pack * shape.positions] = row.reshape(shape.packs, -1)
    return packed


@cache
def lola_cifar(shape: Shape = Shape(), seed: int = 0) -> SlotProgram:
    """The network with public weights, on an encrypted image."""
    weights = Weights.drawn(shape, seed)
    inputs = {f"pixels{k}": Real.vector(shape.positions) for k in range(shape.places)}
    made = tracer("lola-cifar", "ckks", shape.slots, inputs)
    pixels = [made.input(name, kind, shape.level) for name, kind in inputs.items()]
    packs: list[SlotValue] = []
    for p in range(shape.packs):
        own = range(p * shape.per_pack, min((p + 1) * shape.per_pack, shape.maps))
        maps = (total(x * float(w) for x, w in zip(pixels, weights.first[m], strict=True)) for m in own)
        dense = total(value.rotate(-place * shape.positions) for place, value in enumerate(maps))
        bias = np.zeros(shape.slots)
        bias[: len(own) * shape.positions] = np.repeat(weights.first_bias[own.start : own.stop], shape.positions)
        dense = dense + bias
        packs.append(dense * dense)

    def counted(number: int, position: int) -> SlotValue:
        """One number of the second convolution, squared, times its column of the scores."""
        rows = second_row(shape, weights, number, position)
        value = summed(total(pack * row for pack, row in zip(packs, rows, strict=True)), 1, shape.slots)
        value = value + float(weights.second_bias[number])
        column = np.zeros(shape.slots)
        column[: shape.classes] = weights.score[:, number, position]
        return value * value * column

    positions = range(shape.second_side**2)
    result = total(counted(number, position) for number in range(shape.second_maps) for position in positions)
    bias = np.zeros(shape.slots)
    bias[: shape.classes] = weights.score_bias
    result = result + bias
    result = result if shape.end is None else result.at_level(shape.end)
    return finished(made, inputs, {"scores": result[0 : shape.classes]}, lola_cifar.__doc__)


def drawn_image(shape: Shape, generator: np.random.Generator) -> Array:
    """An image of waves in three colours, not from a data set."""
    y, x = np.mgrid[0 : shape.side, 0 : shape.side]
    waves = [np.sin(generator.uniform(0, 0.6) * y + generator.uniform(0, 0.6) * x) for _ in range(shape.colours)]
    return (np.array(waves) + 1) / 2


def pixel_inputs(shape: Shape, image: Array) -> dict[str, Array]:
    """The client's inputs."""
    return {f"pixels{k}": row for k, row in enumerate(windows(image, shape.window, shape.output_side))}
