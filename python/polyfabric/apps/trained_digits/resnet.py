"""ResNet-20's reduced twin: a residual network of two stages, trained on scikit-learn's 8 x 8 digits, that classifies held-out ones in CKKS.

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
from ...execution import make_plan, place, run_plan
from ...progress import ProgressHook
from ...runnable import SlotProgram
from ...schemes.options import PlanOptions
from ...schemes.slots import SlotResult
from ..digits.data import split
from ..multiplexed import Array, subsampled
from ..resnet20 import Shape, Weights, image_input, network_program

SHAPE = Shape(side=8, colours=1, channels=(8, 16), blocks=1, classes=10, degrees=(3, 3), gap=2.0**-2, whole=2, top=9)
SET = "toy-12-boot-osiris-IV"
"""Set IV's chain on a ring of 2^12: no security, and every operation of the large one."""

FILE = Path(__file__).with_name("resnet.json")
BOUND = 1.0
"""Where the rectifier's interval ends."""
PRECISION = 2.0**-15
"""Of the scores with `SET`: four times the largest error that was seen, 2.6e-6 of fifty digits on this computer and 7e-6 on Osiris' units, whose conversions
of moduli are approximate. The bound of a run, which takes every error at its worst, is above 0.1, and says little of scores of that size."""


class Rectifier:
    """x·(1 + sign x)/2 by a shape's polynomials, of numbers in [-1, 1]; beyond, as if the sign did not go on."""

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
        """Of each number."""
        made: Array = x * (1 + self._signs(x)[0]) / 2
        return made

    def slope(self, x: Array) -> Array:
        """The derivative."""
        value, slope = self._signs(x)
        made: Array = (1 + value) / 2 + x * slope / 2
        return made


def pixels(images: NDArray[np.integer]) -> Array:
    """Digits as the network takes them: numbers from 0 to 1, a colour each."""
    return images[:, None].astype(np.float64) / 16


def _layers(weights: Weights, image: Array) -> tuple[Array, float]:
    """Scores in the clear with the polynomials, window by window, and the largest number that a rectifier takes."""
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
    """The largest number that a rectifier takes, of all these digits."""
    return max(_layers(weights, image)[1] for image in pixels(images))


@cache
def shipped() -> Weights:
    """The weights that come with the package; `python -m polyfabric.apps.trained_digits.resnet_train` makes them."""
    return Weights.from_json(FILE.read_text(encoding="utf-8"))


@cache
def resnet() -> SlotProgram:
    """The trained network with public weights, on an encrypted digit."""
    return network_program("resnet-digits", SHAPE, shipped())


@dataclass(frozen=True)
class Classified:
    """One digit and what became of it."""

    index: int
    """Among the held-out digits."""
    label: int
    scores: list[float]
    """Decrypted."""
    expected: list[float]
    """Of the network in the clear, window by window."""

    @property
    def output(self) -> int:
        """The class of the decrypted scores."""
        return int(np.argmax(self.scores))

    @property
    def clear(self) -> int:
        """The class in the clear."""
        return int(np.argmax(self.expected))

    @property
    def error(self) -> float:
        """Of the scores."""
        return float(np.abs(np.subtract(self.scores, self.expected)).max())


@dataclass(frozen=True)
class Classification:
    """The digits, and the last of their runs."""

    images: list[Classified]
    accuracy: float
    """Of the network in the clear, on all held-out digits."""
    within: bool
    """Whether every run was within its bound of the program in the clear."""
    bound: float
    """Of the scores' errors at their worst, the largest of all runs."""
    seconds: dict[str, float]
    """By step, all digits together."""
    run: SlotResult

    @property
    def correct(self) -> bool:
        """Whether every score is that of the network in the clear within the precision, and every class is."""
        same = all(image.output == image.clear and image.error <= PRECISION for image in self.images)
        return self.within and same

    def to_dict(self) -> dict[str, Any]:
        """All of it, as data."""
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
    """Encrypts, executes and decrypts the held-out digits `indices`, one after the other, all with one key."""
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
