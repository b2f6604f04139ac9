"""Deep networks whose activations are lookups: DeepCNN-20, -50 and -100, and VGG-9.

The shapes are those of Morphling's section VI-A, one lookup an activation. Weights are drawn at random, from fixed seeds,
in {-1, 0, 1}, and a filter has at most `TAPS` of them that are not zero, an odd number: a sum is then odd and far
enough from zero for its sign to be read exactly. Signs stand for the rectifier, which takes one lookup as well.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from ..language.functions import convolve, dot, sign
from ..language.numpy_calls import Value
from ..language.types import Int
from ..run.runnable_programs import Program, program

TAPS = 31
"""Most non-zero weights per filter."""

Shape = tuple[int, int, int]


class _Layers:
    """A network under construction: its value, its shape, and the generator of its weights."""

    def __init__(self, image: Value, shape: Shape, seed: int, taps: int | None) -> None:
        self.value, self.shape, self.taps = image, shape, taps
        self.spread = 1
        self.generator = np.random.default_rng(seed)

    def kernel(self, filters: int, size: int, channels: int) -> NDArray[np.integer]:
        """Filters of random signs, each with an odd number of them; all weights are non-zero if `taps` is None."""
        inputs = size * size * channels
        kernel = self.generator.choice([-1, 1], size=(filters, inputs))
        if self.taps is not None:
            kept = min(max(self.taps // self.spread, 1), inputs)
            kept -= 1 - kept % 2
            for row in kernel:
                row[self.generator.permutation(inputs)[kept:]] = 0
        return kernel.reshape(filters, size, size, channels)

    def convolution(self, filters: int, size: int, *, stride: int = 1, padding: int = 0) -> None:
        """A convolution and its activations."""
        height, width, channels = self.shape
        kernel = self.kernel(filters, size, channels)
        # Activations need odd sums: pooled values are even, and so are sums of an even number of signs.
        odd = self.spread == 1 and np.count_nonzero(kernel[0]) % 2 == 1
        bias = 0 if odd else 1
        self.value = sign(convolve(kernel, self.value, self.shape, stride=stride, padding=padding, bias=bias))
        extent = [(n + 2 * padding - size) // stride + 1 for n in (height, width)]
        self.shape, self.spread = (extent[0], extent[1], filters), 1

    def pool(self) -> None:
        """2 x 2 average pooling, without the division."""
        height, width, channels = self.shape
        places = np.arange(height * width * channels).reshape(self.shape)
        corners = [places[dy::2, dx::2].reshape(-1) for dy in (0, 1) for dx in (0, 1)]
        first, *others = [self.value[corner] for corner in corners]
        for other in others:
            first = first + other
        self.value, self.shape, self.spread = first, (height // 2, width // 2, channels), 4

    def dense(self, neurons: int) -> None:
        """A fully connected layer and its activations."""
        self.convolution(neurons, self.shape[0]) if self.shape[0] > 1 else self.convolution(neurons, 1)

    def scores(self, classes: int) -> Value:
        """The last layer, without activations."""
        return dot(self.kernel(classes, 1, self.value.length).reshape(classes, -1), self.value)


@cache
def deepcnn(depth: int, *, filters: int = 92, taps: int | None = TAPS) -> Program:
    """DeepCNN of `depth` 1 x 1 layers: an 8 x 8 image of signs in, ten class scores out.

    With 92 filters a layer has 368 activations. `taps=None` makes every weight ±1: a network of the same work for a
    machine with dense kernels, whose sums no lookup reads exactly.
    """

    @program(f"deepcnn-{depth}", image=Int(-1, 1, step=2).vector(64))
    def network(image: Value) -> Value:
        """Ten class scores of an 8 x 8 image."""
        layers = _Layers(image, (8, 8, 1), depth, taps)
        layers.convolution(2, 3)
        layers.convolution(filters, 3, stride=2)
        for _ in range(depth):
            layers.convolution(filters, 1)
        layers.convolution(16, 2)
        return layers.scores(10)

    return network


@cache
def vgg9(*, width: int = 64, size: int = 32) -> Program:
    """VGG-9: an image of `size` x `size` x 3 signs in, ten class scores out.

    Six 3 x 3 convolutions of `width` to 4 `width` filters that keep the extent, 2 x 2 average pooling after the second
    and the fourth, and fully connected layers of 8 `width`, 8 `width` and 10 neurons.
    """

    @program("vgg-9", image=Int(-1, 1, step=2).vector(size * size * 3))
    def network(image: Value) -> Value:
        """Ten class scores of a colour image."""
        layers = _Layers(image, (size, size, 3), 9, TAPS)
        for filters in (width, 2 * width, 4 * width):
            layers.convolution(filters, 3, padding=1)
            layers.convolution(filters, 3, padding=1)
            if filters < 4 * width:
                layers.pool()
        layers.dense(8 * width)
        layers.dense(8 * width)
        return layers.scores(10)

    return network


PROGRAMS: dict[str, Callable[[], Program]] = {
    **{f"deepcnn-{depth}": partial(deepcnn, depth) for depth in (20, 50, 100)},
    "vgg-9": vgg9,
}
"""Programs by command-line name."""
