"""HELR-1024 of Osiris' table III: an iteration of logistic regression on encrypted images, with its bootstrapping.

K. Han, S. Hong, J. H. Cheon and D. Park (AAAI 2019) train a binary classifier on images of 14 x 14 with Nesterov's gradient. Osiris' section VI gives a
mini-batch of 1024 images, a forward and a backward pass in each "epoch", the mean time of an epoch, and sparsely packed bootstrapping. Choices
where the paper is silent:

- *Packing*: as the authors of HELR partition a batch. A ciphertext has all samples of 32 features, sample i's feature j in slot 32·i + j; 196 features
  take seven ciphertexts of z = y·x, with labels y of -1 and 1.
- *Weights*: momentum v and weights w are the real and the imaginary part of one ciphertext that repeats after 8·32 = 256 slots. That is what is
  bootstrapped, sparsely.
- *Sigmoid*: of degree 3, which the authors of HELR take for images; interpolated in Chebyshev's points of [-8, 8].
- *Bootstraps*: an iteration takes seven levels, and bootstrapping leaves eight. So each iteration has one bootstrap, every iteration is like the other,
  and their mean is the time of one.

    u = z v,  one number a sample
    g = (rate / samples)·sum over samples of sigmoid(-u)·z
    w' = v + g,  v' = (1 - momentum)·w' + momentum·w
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ..language.slot_functions import chebyshev
from ..language.slot_program import tracer
from ..language.slots import SlotValue
from ..language.types import Complex, Real
from ..run.runnable_programs import SlotProgram, finished
from .f1_programs.packing import Array, summed, total

PAPER_SET = "osiris-bootstrap"
"""Set III with the levels of bootstrapping."""

INTERVAL = 8.0
RATE = 1.0
MOMENTUM = -0.25
"""gamma: v' extrapolates w' by a quarter of the step."""

ABOVE_SIGMOID = 5
"""Levels of an iteration without the sigmoid: separating the weights, their product with the samples, copying each score to all slots of its
sample, the product of slope and samples, and combining the gradient."""


@dataclass(frozen=True)
class Batch:
    """Sizes of a mini-batch; the defaults are the paper's. All but `features` and `degree` are powers of two."""

    samples: int = 1024
    features: int = 196
    width: int = 32
    """Features per ciphertext."""
    degree: int = 3
    """Degree of the sigmoid's polynomial."""
    left: int = 8
    """Levels after bootstrapping."""

    @property
    def slots(self) -> int:
        """Slots of the program."""
        return self.samples * self.width

    @property
    def blocks(self) -> int:
        """Ciphertexts of the batch."""
        return -(-self.features // self.width)

    @property
    def period(self) -> int:
        """Period of the weights in slots."""
        return self.width * (1 << (self.blocks - 1).bit_length())

    @property
    def largest_weight(self) -> float:
        """Bound of weights and momentum: four standard deviations of the random values."""
        return 4 / self.features**0.5

    @property
    def end(self) -> int:
        """Level of the result of an iteration."""
        return self.left - ABOVE_SIGMOID - self.degree.bit_length()

    def block(self, number: int) -> Array:
        """A mask over all slots: 1 for the weights of ciphertext `number`, else 0."""
        place = np.arange(self.slots) // self.width % (self.period // self.width)
        return (place == number).astype(float)


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x)."""
    return 1 / (1 + np.exp(-x))


def coefficients(degree: int) -> Array:
    """Chebyshev coefficients of sigmoid(-8·t) on [-1, 1]."""
    fitted: Array = np.polynomial.chebyshev.chebinterpolate(lambda t: sigmoid(-INTERVAL * t), degree)
    return fitted


def step(batch: Batch, z: Array, v: Array, w: Array) -> tuple[Array, Array]:
    """The new momentum and weights in the clear, with the same polynomial: `features` numbers each. `z` is samples x features."""
    gradient = np.polynomial.chebyshev.chebval(z @ v / INTERVAL, coefficients(batch.degree)) @ z
    weights = v + RATE / batch.samples * gradient
    return (1 - MOMENTUM) * weights + MOMENTUM * w, weights


def _spread(value: SlotValue, first: int, end: int, sign: int) -> SlotValue:
    """The sum of each slot and those `first`, 2·`first`, .. up to `end` before it (`sign` -1) or after it (1)."""
    shift = first
    while shift < end:
        value = value + value.rotate(sign * shift)
        shift *= 2
    return value


@cache
def helr_1024(batch: Batch = Batch()) -> SlotProgram:
    """One iteration, on encrypted samples and weights; the weights start and end without levels, because a bootstrap begins each iteration."""
    inputs = {f"samples{k}": Real.bounded(1).vector(batch.slots) for k in range(batch.blocks)}
    given = {**inputs, "state": Complex.bounded(2**0.5 * batch.largest_weight).vector(batch.slots)}
    made = tracer("helr-1024", "ckks", batch.slots, given)
    state = made.input("state", given["state"], 0).bootstrap(slots=batch.period)
    z = [made.input(name, kind, None) for name, kind in inputs.items()]

    conjugate = state.conjugate()
    twice_momentum = state + conjugate
    v = [_spread(twice_momentum * (batch.block(k) / 2), batch.width, batch.period, 1) for k in range(batch.blocks)]
    score = summed(total(a * b for a, b in zip(z, v, strict=True)), 1, batch.width)
    first = np.zeros(batch.slots)
    first[:: batch.width] = 1 / INTERVAL
    slope = chebyshev(_spread(score * first, 1, batch.width, -1), coefficients(batch.degree))

    both = (1 - MOMENTUM) + 1j
    """The gradient's part of v' + i·w'."""
    parts = (
        summed(slope * z[k], batch.width, batch.period) * (batch.block(k) * (both * RATE / batch.samples))
        for k in range(batch.blocks)
    )
    gradient = summed(total(parts), batch.period, batch.slots)
    # v = (s + s̄) / 2 and w = (s - s̄) / 2i of the state s.
    of_state, of_conjugate = (both + MOMENTUM / 1j) / 2, (both - MOMENTUM / 1j) / 2
    result = state * of_state + conjugate * of_conjugate + gradient
    return finished(made, given, {"state": result.at_level(batch.end)}, helr_1024.__doc__)


def drawn(batch: Batch, generator: np.random.Generator) -> tuple[Array, Array, Array]:
    """A random batch of signed samples, momentum and weights, not from a data set."""
    labels = generator.choice([-1.0, 1.0], batch.samples)
    z = labels[:, None] * generator.uniform(0, 1, (batch.samples, batch.features))
    largest = batch.largest_weight
    momentum, weights = generator.normal(0, largest / 4, (2, batch.features)).clip(-largest, largest)
    return z, momentum, weights


def packed(batch: Batch, z: Array, v: Array, w: Array) -> dict[str, NDArray[np.complex128] | Array]:
    """The client's inputs."""
    missing = batch.period - batch.features
    state = np.pad(v + 1j * w, (0, missing))
    padded = np.pad(z, ((0, 0), (0, missing)))
    inputs: dict[str, NDArray[np.complex128] | Array] = {"state": np.tile(state, batch.slots // batch.period)}
    for k in range(batch.blocks):
        inputs[f"samples{k}"] = padded[:, k * batch.width : (k + 1) * batch.width].reshape(-1)
    return inputs


def unpacked(batch: Batch, state: NDArray[np.complex128]) -> tuple[Array, Array]:
    """Momentum and weights of a decrypted state."""
    numbers = np.asarray(state)[: batch.features]
    return numbers.real, numbers.imag
