"""One batch of logistic regression with Nesterov's gradient, as HELR (K. Han et al., AAAI 2019), in CKKS: F1's table 3.

256 samples of 256 features. A ciphertext has all samples of 32 features: sample i, feature j in slot 32·i + j; so the batch is
eight ciphertexts of z = y·x, with labels y of -1 and 1. From the weights w and the momentum's v:

    u = z v,  one number a sample
    g = (rate / samples)·sum over samples of sigmoid(-u)·z
    w' = v + g,  v' = (1 - momentum)·w' + momentum·w

The sigmoid is a polynomial of degree 7 on [-8, 8], by interpolation in Chebyshev's points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from ...language.slot_functions import chebyshev
from ...language.slot_program import tracer
from ...language.slots import SlotValue
from ...language.types import Real
from ...run.runnable_programs import SlotProgram, finished
from .packing import Array, summed, total

INTERVAL = 8.0
DEGREE = 7
RATE = 1.0
MOMENTUM = -0.25
"""gamma: v' extrapolates w' by a quarter of the step."""


@dataclass(frozen=True)
class Shape:
    """Sizes of a batch; the defaults are F1's."""

    samples: int = 256
    features: int = 256
    slots: int = 8192
    level: int | None = 15
    """Level of the inputs: 16 limbs."""
    end: int | None = 8
    """Level of the results: seven products below."""

    @property
    def width(self) -> int:
        """Features per ciphertext."""
        return self.slots // self.samples

    @property
    def shrink(self) -> int:
        """Divisor of samples before encryption: about the square root of their number, so that no number is too small."""
        return 1 << ((self.samples.bit_length() - 1) // 2)

    @property
    def largest_weight(self) -> float:
        """Bound of weights and momentum: four standard deviations of the random values."""
        return 4 / self.features**0.5

    @property
    def blocks(self) -> int:
        """Ciphertexts of the batch."""
        return self.features // self.width


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x)."""
    return 1 / (1 + np.exp(-x))


def coefficients() -> Array:
    """Chebyshev coefficients of sigmoid(-8·t) on [-1, 1]."""
    fitted: Array = np.polynomial.chebyshev.chebinterpolate(lambda t: sigmoid(-INTERVAL * t), DEGREE)
    return fitted


def step(shape: Shape, z: Array, v: Array, w: Array) -> tuple[Array, Array]:
    """The new weights and momentum in the clear, with the same polynomial; each has one number per feature."""
    scores = z @ v / INTERVAL
    gradient = RATE / shape.samples * np.polynomial.chebyshev.chebval(scores, coefficients()) @ z
    weights = v + gradient
    return weights, (1 - MOMENTUM) * weights + MOMENTUM * w


@cache
def helr(shape: Shape = Shape()) -> SlotProgram:
    """One step, on encrypted samples and weights."""
    bounds = {"samples": 1 / shape.shrink, "momentum": shape.largest_weight, "weights": shape.largest_weight}
    inputs = {
        f"{what}{k}": Real.bounded(bound).vector(shape.slots)
        for what, bound in bounds.items()
        for k in range(shape.blocks)
    }
    made = tracer("helr", "ckks", shape.slots, inputs)
    given = {name: made.input(name, kind, shape.level) for name, kind in inputs.items()}
    z, v, w = ([given[f"{what}{k}"] for k in range(shape.blocks)] for what in ("samples", "momentum", "weights"))

    score = summed(total(a * b for a, b in zip(z, v, strict=True)), 1, shape.width)
    first = np.zeros(shape.slots)
    first[:: shape.width] = shape.shrink / INTERVAL
    score = score * first
    shift = 1
    while shift < shape.width:
        score = score + score.rotate(-shift)
        shift *= 2
    slope = chebyshev(score, RATE * shape.shrink / shape.samples * coefficients())
    results: dict[str, SlotValue] = {}
    for k in range(shape.blocks):
        weights = v[k] + summed(slope * z[k], shape.width, shape.slots)
        momentum = weights * (1 - MOMENTUM) + w[k] * MOMENTUM
        for name, value in ((f"weights{k}", weights), (f"momentum{k}", momentum)):
            results[name] = value if shape.end is None else value.at_level(shape.end)
    return finished(made, inputs, results, helr.__doc__)


def drawn(shape: Shape, generator: np.random.Generator) -> tuple[Array, Array, Array]:
    """A random batch, momentum and weights, not from a data set."""
    labels = generator.choice([-1.0, 1.0], shape.samples)
    z = labels[:, None] * generator.uniform(0, 1, (shape.samples, shape.features))
    largest = shape.largest_weight
    momentum, weights = generator.normal(0, largest / 4, (2, shape.features)).clip(-largest, largest)
    return z, momentum, weights


def packed(shape: Shape, z: Array, v: Array, w: Array) -> dict[str, Array]:
    """The client's inputs."""
    inputs: dict[str, Array] = {}
    for k in range(shape.blocks):
        own = slice(k * shape.width, (k + 1) * shape.width)
        inputs[f"samples{k}"] = z[:, own].reshape(-1) / shape.shrink
        inputs[f"momentum{k}"] = np.tile(v[own], shape.samples)
        inputs[f"weights{k}"] = np.tile(w[own], shape.samples)
    return inputs
