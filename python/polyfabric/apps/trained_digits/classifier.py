"""A trained classifier of digits as a program, and its results for encrypted held-out images."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...host.progress import ProgressHook
from ...run.execution import place, plan, run_plan
from ...run.keys import Keys, matching
from ...run.runnable_programs import Program
from ...schemes.tfhe import ElementResult
from ..digits.data import split


class Classifier(ABC):
    """A model of 8 x 8 digits with pixels from 0 to 16."""

    program: Program
    """The server's program for one image."""

    @abstractmethod
    def encode(self, image: NDArray[np.int64]) -> dict[str, Any]:
        """Inputs of the program for one image."""

    @abstractmethod
    def scores(self, decrypted: Any) -> NDArray[np.float64]:  # noqa: ANN401 - what the program returns
        """Scores of the ten classes from the program's decrypted value."""

    @abstractmethod
    def clear(self, images: NDArray[np.int64]) -> NDArray[np.int64]:
        """Classes of images by the same quantised model, computed without the program."""

    def accuracy(self) -> float:
        """Share of the held-out images that the clear model classifies correctly."""
        held_out = split()[1]
        return float(np.mean(self.clear(held_out.images) == held_out.labels))


@dataclass(frozen=True)
class Classified:
    """One image and its result."""

    index: int
    """Index among the held-out images."""
    label: int
    output: int
    """The class from the decrypted run."""
    expected: int
    """The class by the model in the clear."""
    scores: list[float]


@dataclass(frozen=True)
class Classification:
    """The images, and their last run."""

    images: list[Classified]
    accuracy: float
    """Accuracy of the clear model on all held-out images."""
    equal: bool
    """Whether every decrypted output equals the program's in the clear."""
    seconds: dict[str, float]
    """Seconds by step, for all images."""
    run: ElementResult = field(repr=False)

    @property
    def correct(self) -> bool:
        """Whether every output equals the clear program's, and every class the model's."""
        return self.equal and all(image.output == image.expected for image in self.images)

    def to_dict(self) -> dict[str, Any]:
        """The result as data."""
        data = self.run.to_dict()
        data.update(
            correct=self.correct,
            seconds=self.seconds,
            output=[image.output for image in self.images],
            expected=[image.expected for image in self.images],
            labels=[image.label for image in self.images],
            images=[vars(image) for image in self.images],
            held_out_accuracy=self.accuracy,
        )
        return data


def classify(
    classifier: Classifier,
    indices: Sequence[int],
    *,
    on: str = "cpu",
    readings: Sequence[str] = (),
    parameters: str | None = None,
    keys: Keys | None = None,
    threads: int | None = None,
    max_failure: float | None = None,
    progress: ProgressHook | None = None,
) -> Classification:
    """Encrypts, executes and decrypts the held-out images `indices`, one by one, with one key."""
    held_out = split()[1]
    for index in indices:
        if not 0 <= index < len(held_out):
            raise InputError(f"there is no held-out image {index}; they are numbered 0 to {len(held_out) - 1}")
    if len(indices) == 0:
        raise InputError("no image to classify; give at least one index")
    asked = parameters if keys is None else matching(keys, parameters)
    planned = plan(classifier.program, asked, machine=place(on, readings), max_failure=max_failure)
    expected = classifier.clear(held_out.images[np.asarray(indices)])
    images, seconds, equal = [], dict[str, float](), True
    for index, clear in zip(indices, expected, strict=True):
        given = classifier.encode(held_out.images[index])
        run = run_plan(planned, given, on=on, keys=keys, threads=threads, progress=progress)
        keys, equal = run.keys, equal and run.correct
        scores = classifier.scores(run.value)
        images.append(Classified(index, int(held_out.labels[index]), int(scores.argmax()), int(clear), scores.tolist()))
        for step, taken in run.seconds.items():
            seconds[step] = seconds.get(step, 0.0) + taken
    return Classification(images, classifier.accuracy(), equal, seconds, run)
