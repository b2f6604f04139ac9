"""ResNet-20's reduced twin: a residual network of two stages, trained on scikit-learn's 8 x 8 digits. It classifies held-out digits in CKKS.

Every kind of layer of the whole network is there: the first convolution, blocks with their shortcuts, a stage of stride 2 with multiplexed channels,
composed rectifiers with bootstraps, mean and last layer (`..resnet20`). It is small enough for its error bound to stay far below its scores, and for the
reduced ring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from ..._native import composite_sign
from ...errors import InputError
from ...host.progress import ProgressHook
from ...run.execution import make_plan, place, run_plan
from ...run.runnable_programs import SlotProgram
from ...schemes.options import PlanOptions
from ...schemes.rns import SlotResult
from ..digits.data import split
from ..multiplexed import Array, subsampled
from ..resnet20 import Shape, Weights, image_input, network_program

SHAPE = Shape(side=8, colours=1, channels=(8, 16), blocks=1, classes=10, degrees=(3, 3), gap=2.0**-2, whole=2, top=9)
SET = "toy-12-boot-osiris-IV"
"""Set IV's chain on a ring of 2^12: no security, but every operation of the full set."""

FILE = Path(__file__).with_name("resnet.json")
BOUND = 1.0
"""End of the rectifier's interval."""
PRECISION = 2.0**-15
"""Tolerance of scores with `SET`: four times the largest measured error, 2.6e-6 for fifty digits on a CPU and 7e-6 on Osiris' units, whose conversions
of moduli are approximate. The worst-case bound of a run is above 0.1, too large for these scores."""


class Rectifier:
    """x·(1 + sign x)/2 by a shape's polynomials, for numbers in [-1, 1]; outside, the sign is that of the end of the interval."""

    def __init__(self, shape: Shape) -> None:
        stages, _ = composite_sign(shape.gap, list(shape.degrees))
        self.stages = [(end, np.asarray(coefficients)) for end, coefficients in stages]

    def _signs(self, x: Array) -> tuple[Array, Array]:
        """The sign's polynomial and its slope."""
        value, slope = np.clip(x, -BOUND, BOUND), (np.abs(x) <= BOUND).astype(float)
        for end, coefficients in self.stages:
            slope = slope * chebyshev.chebval(value / end, chebyshev.chebder(coefficients)) / end
            value = chebyshev.chebval(value / end, coefficients)
        return value, slope

    def __call__(self, x: Array) -> Array:
        """The function's values."""
        made: Array = x * (1 + self._signs(x)[0]) / 2
        return made

    def slope(self, x: Array) -> Array:
        """The derivative's values."""
        value, slope = self._signs(x)
        made: Array = (1 + value) / 2 + x * slope / 2
        return made


def pixels(images: NDArray[np.integer]) -> Array:
    """Digits in the network's format: numbers from 0 to 1, one colour."""
    return images[:, None].astype(np.float64) / 16


def _layers(weights: Weights, image: Array) -> tuple[Array, float]:
    """Scores in the clear with the polynomials, window by window, and the largest input of a rectifier."""
    rectifier, sums = Rectifier(SHAPE), [weights.stem.applied(image)]
    value = rectifier(sums[-1])
    for (stage, block), (first, second) in zip(SHAPE.places, weights.blocks, strict=True):
        _, stride = SHAPE.before(stage, block)
        sums.append(first.applied(value, stride))
        inner = rectifier(sums[-1])
        sums.append(second.applied(inner) + subsampled(value, SHAPE.channels[stage], stride))
        value = rectifier(sums[-1])
    scores: Array = weights.scores @ value.mean((1, 2)) + weights.bias
    return scores, max(float(np.abs(each).max()) for each in sums)


def scores(weights: Weights, image: NDArray[np.integer]) -> Array:
    """Scores of a digit in the clear, with the rectifier's polynomials."""
    return _layers(weights, pixels(image[None])[0])[0]


def classes(weights: Weights, images: NDArray[np.integer]) -> NDArray[np.int64]:
    """Classes of digits in the clear."""
    return np.array([scores(weights, image).argmax() for image in images])


def largest(weights: Weights, images: NDArray[np.integer]) -> float:
    """The largest input of a rectifier over all these digits."""
    return max(_layers(weights, image)[1] for image in pixels(images))


@cache
def shipped() -> Weights:
    """The built-in weights; `python -m polyfabric.apps.trained_digits.resnet_train` makes them."""
    return Weights.from_json(FILE.read_text(encoding="utf-8"))


@cache
def resnet() -> SlotProgram:
    """The trained network with public weights, on an encrypted digit."""
    return network_program("resnet-digits", SHAPE, shipped())


@dataclass(frozen=True)
class Classified:
    """One digit and its result."""

    index: int
    """Index among the held-out digits."""
    label: int
    scores: list[float]
    """Decrypted."""
    expected: list[float]
    """Scores of the clear network, window by window."""

    @property
    def output(self) -> int:
        """The class of the decrypted scores."""
        return int(np.argmax(self.scores))

    @property
    def clear(self) -> int:
        """The class of the clear scores."""
        return int(np.argmax(self.expected))

    @property
    def error(self) -> float:
        """Largest error of the scores."""
        return float(np.abs(np.subtract(self.scores, self.expected)).max())


@dataclass(frozen=True)
class Classification:
    """The digits, and their last run."""

    images: list[Classified]
    accuracy: float
    """Accuracy of the clear network on all held-out digits."""
    within: bool
    """Whether every run was within its error bound."""
    bound: float
    """Bound of the scores' errors, the largest of all runs."""
    seconds: dict[str, float]
    """Seconds by step, for all digits."""
    run: SlotResult

    @property
    def correct(self) -> bool:
        """Whether every score equals the clear network's within the tolerance, and every class equals."""
        same = all(image.output == image.clear and image.error <= PRECISION for image in self.images)
        return self.within and same

    def to_dict(self) -> dict[str, Any]:
        """The result as data."""
        run = {key: value for key, value in self.run.to_dict().items() if key not in ("outputs", "expected")}
        return {
            **run,
            "correct": self.correct,
            "seconds": self.seconds,
            "output": [image.output for image in self.images],
            "expected": [image.clear for image in self.images],
            "labels": [image.label for image in self.images],
            "images": [{**vars(image), "error": image.error} for image in self.images],
            "held_out_accuracy": self.accuracy,
            "tolerance": PRECISION,
        }


def classify(
    indices: Sequence[int],
    *,
    on: str = "cpu",
    readings: Sequence[str] = (),
    parameters: str | None = None,
    threads: int | None = None,
    measure: bool = False,
    max_failure: float | None = None,
    key_switch: str | None = None,
    progress: ProgressHook | None = None,
) -> Classification:
    """Encrypts, executes and decrypts the held-out digits `indices`, one by one, with one key."""
    weights, held_out = shipped(), split()[1]
    for index in indices:
        if not 0 <= index < len(held_out):
            raise InputError(f"there is no held-out image {index}; they are numbered 0 to {len(held_out) - 1}")
    if len(indices) == 0:
        raise InputError("no image to classify; give at least one index")
    asked = PlanOptions(
        parameters=SET if parameters is None else parameters,
        machine=place(on, readings),
        measure=measure,
        max_failure=max_failure,
        key_switch=key_switch,
        security=0,
    )
    planned, keys = make_plan(resnet(), asked), None
    images, seconds, within, bound = [], dict[str, float](), True, 0.0
    for index in indices:
        digit = held_out.images[index]
        given = image_input(SHAPE, pixels(digit[None])[0])
        run = run_plan(planned, given, on=on, keys=keys, threads=threads, progress=progress)
        keys, within, bound = run.keys, within and run.within_bounds, max(bound, *run.bound.values())
        found, expected = np.array(run.outputs["scores"]).tolist(), scores(weights, digit).tolist()
        images.append(Classified(index, int(held_out.labels[index]), found, expected))
        for step, taken in run.seconds.items():
            seconds[step] = seconds.get(step, 0.0) + taken
    accuracy = float(np.mean(classes(weights, held_out.images) == held_out.labels))
    return Classification(images, accuracy, within, bound, seconds, run)
