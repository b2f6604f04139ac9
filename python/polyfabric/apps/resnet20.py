"""ResNet-20 in CKKS, on an image of CIFAR-10's size: after E. Lee et al. (ICML 2022) with convolutions as matrices, as in Osiris.

A convolution of 3 x 3 to 16 channels; three stages of three blocks of two convolutions, with 16 channels of 32 x 32, 32 of 16 x 16 and 64 of 8 x 8;
the mean of each channel, and a fully connected layer to 10 scores. Convolutions are one matrix each on multiplexed images, the two of stride 2
as well (`multiplexed`). The batch normalisation is in the weights. A shortcut to a smaller stage takes every second pixel (K. He et al., CVPR 2016, option A).
The rectifier is x·(1 + sign x)/2, the sign being composed of minimax polynomials of degrees 15, 15 and 27. Mean and last layer are one matrix.

Weights are drawn, not trained, and brought to a size with which drawn images stay within the rectifier's interval.

Bootstraps are where levels run out. A convolution with its rectifier takes 15 levels, and a bootstrapping of Osiris' set IV leaves nine: so there are two
for each, one before the sign, one before its last polynomial, and the next convolution is at the low levels behind that (`Network.activated`). All slots of the
program are bootstrapped, 2^14 of 2^15, in the smaller stages too, where they repeat. Of a sign's operand the real
part is taken: a bootstrapping's error is complex, the first two polynomials multiply an imaginary one of a number near 0 by some 12 each, and by the third block
nothing would be left.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from ..language.slot_functions import sign
from ..language.slot_program import tracer
from ..language.slots import SlotTracer, SlotValue
from ..language.types import Real
from ..run.repeated_rounds import Body, Round, RoundProgram
from ..run.runnable_programs import SlotProgram, finished
from .multiplexed import (
    Array,
    Diagonals,
    Packing,
    convolution,
    convolved,
    dense,
    flattened,
    subsampled,
    subsampling,
    transformed,
)

PAPER_SET = "osiris-bootstrap-IV"
"""Osiris' set IV with the levels of a bootstrapping."""

LOW = 1
"""Level of a rectifier's result, for the next convolution or the last layer."""


@dataclass(frozen=True)
class Shape:
    """Sizes of the network; the defaults are the paper's."""

    side: int = 32
    colours: int = 3
    channels: tuple[int, ...] = (16, 32, 64)
    """Of each stage."""
    blocks: int = 3
    """Of each stage."""
    classes: int = 10
    degrees: tuple[int, ...] = (15, 15, 27)
    """Degrees of the sign's polynomials."""
    gap: float = 2.0**-9
    """Half width of the interval around 0 without guarantee for the sign: the smallest power of two with an error below 2^-13 outside."""
    whole: int = 2
    """Polynomials of the sign per bootstrapping."""
    top: int = 9
    """Levels after a bootstrapping, and of the encrypted image."""

    @property
    def image(self) -> Packing:
        """Packing of the image, with one empty channel."""
        return Packing(1 << (self.colours - 1).bit_length(), self.side, self.side)

    @property
    def slots(self) -> int:
        """Slots of the program: the number of the first stage's numbers."""
        return self.channels[0] * self.side**2

    @property
    def places(self) -> list[tuple[int, int]]:
        """Stage and block of every block."""
        return [(stage, block) for stage in range(len(self.channels)) for block in range(self.blocks)]

    def packing(self, stage: int) -> Packing:
        """Packing of a stage's numbers."""
        return Packing(self.channels[stage], self.side >> stage, self.side, 1 << stage)

    def before(self, stage: int, block: int) -> tuple[Packing, int]:
        """Packing of a block's input, and the stride of its first convolution."""
        smaller = block == 0 and stage > 0
        return self.packing(stage - smaller), 1 + smaller


@dataclass(frozen=True)
class Layer:
    """A convolution that includes its batch normalisation."""

    kernels: Array
    """channels x channels before x 3 x 3."""
    bias: Array

    def scaled(self, factor: float) -> Layer:
        """The convolution with results multiplied by a factor."""
        return Layer(factor * self.kernels, factor * self.bias)

    def applied(self, image: Array, stride: int = 1) -> Array:
        """The result in the clear, channels x side x side."""
        return convolved(self.kernels, image, stride) + self.bias[:, None, None]


@dataclass(frozen=True)
class Weights:
    """A network."""

    stem: Layer
    blocks: tuple[tuple[Layer, Layer], ...]
    """Two convolutions per block, in the order of `Shape.places`."""
    scores: Array
    """classes x channels of the last stage."""
    bias: Array

    @classmethod
    def drawn(cls, shape: Shape, seed: int = 0) -> Weights:
        """Draws weights from a seed. Three random images fix each layer's scale: up to 0.4 after the first one, up to 0.5 within blocks, and from
        a block to the next one 0.3 more in all. The rectifier's interval ends at 1."""
        generator = np.random.default_rng(seed)

        def layer(channels: int, before: int) -> Layer:
            kernels = generator.normal(0, 1 / (9 * before) ** 0.5, (channels, before, 3, 3))
            return Layer(kernels, generator.uniform(-0.1, 0.1, channels))

        def fitted(layer: Layer, images: Sequence[Array], stride: int, most: float) -> tuple[Layer, list[Array]]:
            made = [layer.applied(image, stride) for image in images]
            factor = most / max(float(np.abs(image).max()) for image in made)
            return layer.scaled(factor), [factor * image for image in made]

        images: list[Array] = [drawn_image(shape, np.random.default_rng((seed, number))) for number in range(3)]
        stem, images = fitted(layer(shape.channels[0], shape.colours), images, 1, 0.4)
        images = [np.maximum(image, 0) for image in images]
        blocks = []
        for stage, block in shape.places:
            before, stride = shape.before(stage, block)
            channels = shape.channels[stage]
            first, inner = fitted(layer(channels, before.channels), images, stride, 0.5)
            inner = [np.maximum(image, 0) for image in inner]
            second, outer = fitted(layer(channels, channels), inner, 1, 0.3 / len(shape.places))
            images = [
                np.maximum(image + subsampled(old, channels, stride), 0)
                for image, old in zip(outer, images, strict=True)
            ]
            blocks.append((first, second))
        scores = generator.normal(0, 1 / shape.channels[-1] ** 0.5, (shape.classes, shape.channels[-1]))
        return cls(stem, tuple(blocks), scores, generator.uniform(-0.1, 0.1, shape.classes))

    def to_json(self) -> str:
        """The weights as text, five digits each."""
        layers = [self.stem, *(layer for block in self.blocks for layer in block)]
        arrays = [*((layer.kernels, layer.bias) for layer in layers), (self.scores, self.bias)]
        return json.dumps([[np.round(array, 5).tolist() for array in pair] for pair in arrays])

    @classmethod
    def from_json(cls, text: str) -> Weights:
        """The weights that `to_json` wrote."""
        *layers, (scores, bias) = [[np.array(array) for array in pair] for pair in json.loads(text)]
        stem, *inner = [Layer(kernels, bias) for kernels, bias in layers]
        return cls(stem, tuple(zip(inner[::2], inner[1::2], strict=True)), scores, bias)


def scores(shape: Shape, weights: Weights, image: Array) -> Array:
    """The network in the clear with true rectifiers, window by window, of colours x side x side numbers."""
    value = np.maximum(weights.stem.applied(image), 0)
    for stage, block in shape.places:
        value = block_in_the_clear(weights, value, shape, stage, block)
    result: Array = weights.scores @ value.mean((1, 2)) + weights.bias
    return result


@dataclass(frozen=True)
class Network:
    """The layers as operations on encrypted vectors."""

    shape: Shape
    weights: Weights

    def stem(self, image: SlotValue) -> SlotValue:
        """The first convolution and its rectifier."""
        shape, layer = self.shape, self.weights.stem
        spread = np.zeros((len(layer.kernels), shape.image.channels, 3, 3))
        spread[:, : shape.colours] = layer.kernels
        value = transformed(image, convolution(spread, shape.image), shape.slots)
        return self.activated(self._biased(value, layer, shape.packing(0)))

    def block(self, value: SlotValue, stage: int, block: int) -> SlotValue:
        """Two convolutions, the shortcut, and the rectifiers."""
        shape = self.shape
        first, second = self.weights.blocks[shape.places.index((stage, block))]
        (before, stride), packing = shape.before(stage, block), shape.packing(stage)
        inner = transformed(value, convolution(first.kernels, before, stride), shape.slots)
        inner = self.activated(self._biased(inner, first, packing).bootstrap().real_part())
        outer = self._biased(transformed(inner, convolution(second.kernels, packing), shape.slots), second, packing)
        shortcut = (
            value if stride == 1 else transformed(value, subsampling(before, packing.channels, stride), shape.slots)
        )
        return self.activated((outer + shortcut).bootstrap().real_part())

    def head(self, value: SlotValue) -> SlotValue:
        """The means of channels and the last layer."""
        packing = self.shape.packing(len(self.shape.channels) - 1)
        means = np.broadcast_to(
            self.weights.scores[:, :, None, None] / packing.side**2,
            (*self.weights.scores.shape, packing.side, packing.side),
        )
        return dense(value, flattened(means, packing), self.shape.slots)[0 : self.shape.classes] + self.weights.bias

    def activated(self, value: SlotValue) -> SlotValue:
        """max(x, 0) of a vector with the levels of a bootstrapping, at level `LOW`."""
        signs = sign(value, self.shape.gap, self.shape.degrees, half=True, restored=(self.shape.whole,))
        return (value * (signs + 0.5)).at_level(LOW)

    def _biased(self, value: SlotValue, layer: Layer, packing: Packing) -> SlotValue:
        image = np.broadcast_to(layer.bias[:, None, None], (packing.channels, packing.side, packing.side))
        return value + packing.packed(image, self.shape.slots)


@cache
def resnet20(shape: Shape = Shape(), seed: int = 0) -> SlotProgram:
    """The network with random public weights, on an encrypted image."""
    return network_program("resnet20", shape, Weights.drawn(shape, seed))


def network_program(name: str, shape: Shape, weights: Weights) -> SlotProgram:
    """The network with public weights, on an encrypted image."""
    network = Network(shape, weights)
    made, image, inputs = _traced(name, shape, shape.top)
    value = network.stem(image)
    for stage, block in shape.places:
        value = network.block(value, stage, block)
    return finished(made, inputs, {"scores": network.head(value)}, network_program.__doc__)


@cache
def _drawn(shape: Shape, seed: int) -> Weights:
    """The weights of all parts, cached: fitting them takes longer than tracing a part."""
    return Weights.drawn(shape, seed)


@dataclass(frozen=True)
class Part:
    """A part of the network, from one ciphertext to one at level `LOW`."""

    name: str
    count: int
    """Number of such parts: blocks with equal operations and different weights."""
    stage: int = 0
    block: int = 0

    @property
    def bootstraps(self) -> int:
        """Bootstraps per part: two for each convolution, one if its input has levels."""
        return {"stem": 1, "head": 0}.get(self.name, 4)

    def program(self, shape: Shape = Shape(), seed: int = 0) -> SlotProgram:
        """The part as a separate program."""
        network = Network(shape, _drawn(shape, seed))
        made, value, inputs = _traced(f"resnet20-{self.name}", shape, shape.top if self.name == "stem" else LOW)
        if self.name == "stem":
            result = network.stem(value)
        elif self.name == "head":
            result = network.head(value)
        else:
            result = network.block(value, self.stage, self.block)
        return finished(made, inputs, {"result": result}, f"ResNet-20: {self.name}.")


@cache
def residual_block() -> SlotProgram:
    """A block of the paper's first stage, from one ciphertext to one: two convolutions with their rectifiers, and four bootstraps."""
    return Part("stage1-block", 1).program()


def block_in_the_clear(weights: Weights, value: Array, shape: Shape, stage: int, block: int) -> Array:
    """A block in the clear with true rectifiers, channels x side x side."""
    first, second = weights.blocks[shape.places.index((stage, block))]
    _, stride = shape.before(stage, block)
    inner = np.maximum(first.applied(value, stride), 0)
    return np.maximum(second.applied(inner) + subsampled(value, shape.channels[stage], stride), 0)


def parts(shape: Shape = Shape()) -> list[Part]:
    """The network, cut before its first block, between blocks and after the last one. Equal parts appear once."""
    found = [Part("stem", 1)]
    for stage in range(len(shape.channels)):
        smaller = int(stage > 0)
        if smaller:
            found.append(Part(f"stage{stage + 1}-first", 1, stage))
        if shape.blocks > smaller:
            found.append(Part(f"stage{stage + 1}-block", shape.blocks - smaller, stage, smaller))
    return [*found, Part("head", 1)]


def rounds(shape: Shape = Shape(), seed: int = 0) -> RoundProgram:
    """The network with its parts as bodies of rounds."""
    own = parts(shape)
    bodies = [Body(part.name, partial(part.program, shape, seed), part.bootstraps) for part in own]
    order = [Round(number) for number, part in enumerate(own) for _ in range(part.count)]
    return RoundProgram("resnet20", bodies, order)


def _traced(name: str, shape: Shape, level: int) -> tuple[SlotTracer, SlotValue, dict[str, Real]]:
    inputs = {"image": Real.vector(shape.slots)}
    made = tracer(name, "ckks", shape.slots, inputs)
    return made, made.input("image", inputs["image"], level), inputs


def matrices(shape: Shape = Shape(), seed: int = 0) -> dict[str, Diagonals]:
    """Number of diagonals of every convolution, by its place."""
    weights = Weights.drawn(shape, seed)
    spread = np.zeros((shape.channels[0], shape.image.channels, 3, 3))
    spread[:, : shape.colours] = weights.stem.kernels
    found = {"stem": convolution(spread, shape.image)}
    for (stage, block), (first, second) in zip(shape.places, weights.blocks, strict=True):
        before, stride = shape.before(stage, block)
        found[f"stage {stage + 1}, block {block + 1}, first"] = convolution(first.kernels, before, stride)
        found[f"stage {stage + 1}, block {block + 1}, second"] = convolution(second.kernels, shape.packing(stage))
    return found


@dataclass(frozen=True)
class Rotations:
    """Rotations of a convolution."""

    as_matrix: int
    """Nonzero baby and giant steps, with the power-of-two width that needs the fewest."""
    by_channels: int
    """Rotations of the multiplexed parallel convolution of Lee et al. (section 4): of the input by taps; sums over a gap's rows, its
    columns and frames, for each group of results; moves of results to their places; and copies to all slots."""


@cache
def rotations(shape: Shape = Shape(), slots: int = 1 << 15) -> dict[str, Rotations]:
    """Rotations of every convolution, by its place, in vectors of `slots` slots."""
    found, strides = {}, {"stem": (shape.image, 1, shape.channels[0])}
    for stage, block in shape.places:
        place = f"stage {stage + 1}, block {block + 1}"
        strides[f"{place}, first"] = (*shape.before(stage, block), shape.channels[stage])
        strides[f"{place}, second"] = (shape.packing(stage), 1, shape.channels[stage])
    for name, diagonals in matrices(shape).items():
        before, stride, channels = strides[name]
        if name == "stem":
            before = Packing(shape.colours, before.side, before.frame)
        found[name] = Rotations(_steps(diagonals), _by_channels(before, channels, stride, slots))
    return found


def _steps(diagonals: Diagonals) -> int:
    """The fewest baby and giant steps."""
    offsets = np.array(list(diagonals))

    def steps(width: int) -> int:
        babies = offsets % width
        return len(np.union1d(babies, [0])) + len(np.union1d(offsets - babies, [0])) - 2

    return min(steps(1 << bits) for bits in range(16))


def _by_channels(before: Packing, channels: int, stride: int, slots: int) -> int:
    """See `Rotations.by_channels`."""

    def summed(count: int) -> int:
        return count.bit_length() - 1 + count.bit_count() - 1

    after = before.after(channels, stride)
    frames, frames_after = -(-before.channels // before.gap**2), -(-channels // after.gap**2)
    copies, copies_after = (
        1 << ((slots // (each * before.frame**2)).bit_length() - 1) for each in (frames, frames_after)
    )
    groups = -(-channels // copies)
    taps, places = 3 * 3 - 1, channels - 1
    return taps + groups * (2 * summed(before.gap) + summed(frames)) + places + copies_after.bit_length() - 1


def drawn_image(shape: Shape, generator: np.random.Generator) -> Array:
    """colours x side x side numbers from 0 to 1, in waves, not from a data set."""
    y, x = np.mgrid[0 : shape.side, 0 : shape.side]
    waves = [np.sin(generator.uniform(0, 0.6) * y + generator.uniform(0, 0.6) * x) for _ in range(shape.colours)]
    return (np.array(waves) + 1) / 2


def image_input(shape: Shape, image: Array) -> dict[str, Array]:
    """The client's inputs."""
    whole = np.zeros((shape.image.channels, shape.side, shape.side))
    whole[: shape.colours] = image
    return {"image": shape.image.packed(whole, shape.slots)}
