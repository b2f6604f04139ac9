"""Zama's Deep-NN as in Strix's figure 7: NN-20, NN-50 and NN-100, with one lookup per activation.

The shapes are those of Strix's section VI-B: an image, a convolution to 2 x 21 x 20 activations, and layers of 92 neurons each. The image
has 28 x 28 pixels, as in MNIST (assumed), and hence a window of 8 x 9: without padding it gives these activations,
but with padding other windows do too. The ten class scores at the end are an addition of this project, without lookups.

Weights are drawn at random, from fixed seeds, in {-1, 0, 1}. A row has `TAPS` that are not zero, or two more where that many would not
read every activation of the layer before: a sum is odd, and its sign is read exactly. Signs stand for the rectifier, which takes one
lookup as well.
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

TAPS = 9
"""Non-zero weights per row: the fewest with which 92 neurons, six with two more weights, read the 840 activations of the first layer."""

WINDOW = (8, 9)
"""Rows and columns of the convolution's window."""

FILTERS = 2
CLASSES = 10


def signs(generator: np.random.Generator, rows: int, inputs: int, unread: NDArray[np.integer]) -> NDArray[np.integer]:
    """Rows of few random signs (rows, inputs), an odd number in each. Every column of `unread` has one."""
    drawn = generator.choice([-1, 1], size=(rows, inputs))
    counts = np.full(rows, min(TAPS, inputs - 1 + inputs % 2))
    while (missing := len(unread) - counts.sum()) > 0:
        counts[: (missing + 1) // 2] += 2
    for row, count in zip(drawn, counts, strict=True):
        own, unread = unread[:count], unread[count:]
        others = generator.permutation(np.setdiff1d(np.arange(inputs), own))
        row[others[count - len(own) :]] = 0
    return drawn


@cache
def deep_nn(depth: int, *, neurons: int = 92, side: int = 28, dense: bool = False) -> Program:
    """A Deep-NN of `depth` layers with activations: an image of `side` x `side` signs in, ten class scores out.

    With 92 neurons and a side of 28 it has 840 + 92 (`depth` - 1) lookups. `dense` makes every weight 1 or -1: a network of the same
    lookups whose sums none of them reads exactly.
    """

    @program(f"nn-{depth}", image=Int(-1, 1, step=2).vector(side * side))
    def network(image: Value) -> Value:
        """Ten class scores of an image."""
        generator = np.random.default_rng(depth)

        def weights(rows: int, inputs: int, unread: int) -> NDArray[np.integer]:
            if dense:
                return generator.choice([-1, 1], size=(rows, inputs))
            return signs(generator, rows, inputs, generator.permutation(unread))

        def layer(rows: int, value: Value) -> Value:
            return dot(weights(rows, value.length, value.length), value)

        height, width = WINDOW
        kernel = weights(FILTERS, height * width, 0).reshape(FILTERS, height, width, 1)
        value = sign(convolve(kernel, image, (side, side, 1), bias=int(dense)))
        for _ in range(depth - 1):
            sums = layer(neurons, value)
            # Dense sums have an even number of signs.
            value = sign(sums + 1 if dense else sums)
        return layer(CLASSES, value)

    return network


PROGRAMS: dict[str, Callable[[], Program]] = {f"nn-{depth}": partial(deep_nn, depth) for depth in (20, 50, 100)}
"""Programs by command-line name."""
