"""LeNet in CKKS: two strided convolutions and two fully connected layers on an image of MNIST's size, with squares between them.

The network of CHET and EVA (R. Dathathri et al., PLDI 2019 and 2020) that Orion and Osiris run: 5 x 5 windows with stride 2 to 32 maps of
14 x 14 and 64 of 7 x 7, then 512 and 10 numbers. Four matrices and three squares take the seven levels of Osiris' set II. Convolutions are
matrices on multiplexed images; frames have 32 x 32 slots, so that channels go round cyclically. Weights are drawn, not trained.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from ..language.slot_program import tracer
from ..language.types import Real
from ..run.runnable_programs import SlotProgram, finished
from .multiplexed import Array, Packing, convolution, convolved, dense, flattened, transformed

PAPER_SET = "osiris-II"
"""Osiris' set II."""


@dataclass(frozen=True)
class Shape:
    """Sizes of the network; the defaults are the paper's."""

    side: int = 28
    frame: int = 32
    window: int = 5
    maps: tuple[int, int] = (32, 64)
    hidden: int = 512
    classes: int = 10
    slots: int = 8192

    @property
    def packings(self) -> tuple[Packing, Packing, Packing]:
        """Packings of the image and both layers of maps."""
        image = Packing(1, self.side, self.frame)
        first = image.after(self.maps[0], 2)
        return image, first, first.after(self.maps[1], 2)


@dataclass(frozen=True)
class Weights:
    """A network whose numbers stay near 1."""

    kernels: tuple[Array, Array]
    """maps x maps before x window x window of each convolution."""
    layers: tuple[Array, Array]
    """hidden x (maps, side, side), classes x hidden."""
    biases: tuple[Array, Array, Array, Array]

    @classmethod
    def drawn(cls, shape: Shape, seed: int = 0) -> Weights:
        """Draws weights from a seed, with deviations that keep the sums of products near 1."""
        generator = np.random.default_rng(seed)
        last = shape.packings[2]
        first, second = shape.maps
        area, numbers = shape.window**2, second * last.side**2
        return cls(
            (
                generator.normal(0, 1 / area**0.5, (first, 1, shape.window, shape.window)),
                generator.normal(0, 1 / (area * first) ** 0.5, (second, first, shape.window, shape.window)),
            ),
            (
                generator.normal(0, 1 / numbers**0.5, (shape.hidden, second, last.side, last.side)),
                generator.normal(0, 1 / shape.hidden**0.5, (shape.classes, shape.hidden)),
            ),
            (
                generator.uniform(-0.25, 0.25, first),
                generator.uniform(-0.25, 0.25, second),
                generator.uniform(-0.25, 0.25, shape.hidden),
                generator.uniform(-0.25, 0.25, shape.classes),
            ),
        )


def scores(weights: Weights, image: Array) -> Array:
    """The network in the clear, window by window, of side x side numbers."""
    maps = image[None]
    for kernels, bias in zip(weights.kernels, weights.biases[:2], strict=True):
        maps = (convolved(kernels, maps, 2) + bias[:, None, None]) ** 2
    hidden = (np.tensordot(weights.layers[0], maps, 3) + weights.biases[2]) ** 2
    result: Array = weights.layers[1] @ hidden + weights.biases[3]
    return result


@cache
def lenet(shape: Shape = Shape(), seed: int = 0) -> SlotProgram:
    """The network with public weights, on an encrypted image."""
    weights, packings = Weights.drawn(shape, seed), shape.packings
    inputs = {"image": Real.vector(shape.slots)}
    made = tracer("lenet", "ckks", shape.slots, inputs)
    value = made.input("image", inputs["image"])
    for kernels, bias, before, after in zip(
        weights.kernels, weights.biases[:2], packings[:2], packings[1:], strict=True
    ):
        spread = np.broadcast_to(bias[:, None, None], (after.channels, after.side, after.side))
        value = transformed(value, convolution(kernels, before, 2), shape.slots) + after.packed(spread, shape.slots)
        value = value * value
    value = dense(value, flattened(weights.layers[0], packings[2]), shape.slots)
    value = value + np.tile(_filled(weights.biases[2]), shape.slots // len(_filled(weights.biases[2])))
    value = value * value
    last = np.zeros((shape.classes, len(_filled(weights.biases[2]))))
    last[:, : shape.hidden] = weights.layers[1]
    value = dense(value, last, shape.slots)[0 : shape.classes] + weights.biases[3]
    return finished(made, inputs, {"scores": value}, lenet.__doc__)


def _filled(numbers: Array) -> Array:
    """Pads with zeros to a power of two."""
    return np.pad(numbers, (0, (1 << (len(numbers) - 1).bit_length()) - len(numbers)))


def drawn_image(shape: Shape, generator: np.random.Generator) -> Array:
    """side x side numbers from 0 to 1, in waves, not from a data set."""
    y, x = np.mgrid[0 : shape.side, 0 : shape.side]
    wave: Array = (np.sin(generator.uniform(0, 0.6) * y + generator.uniform(0, 0.6) * x) + 1) / 2
    return wave


def image_input(shape: Shape, image: Array) -> dict[str, Array]:
    """The client's inputs: the image in every frame."""
    return {"image": shape.packings[0].packed(image[None], shape.slots)}
