"""Encrypted inference on held-out tumours, compared with the model in the clear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InputError
from ...host.progress import ProgressHook
from ...run.execution import place, plan, run_plan
from ...schemes.rns import SlotResult
from . import STRIDE, logistic_regression
from .data import split
from .model import shipped


@dataclass(frozen=True)
class Inference:
    """The probabilities, decrypted and in the clear."""

    probabilities: list[float]
    """Decrypted probability that each tumour is benign."""
    clear: list[float]
    """The clear model's probability, with the true sigmoid."""
    labels: list[int]
    run: SlotResult

    @property
    def classes(self) -> list[int]:
        """1 if the decrypted probability means benign."""
        return [int(p > 0.5) for p in self.probabilities]

    @property
    def right(self) -> int:
        """Number of rows that match the label."""
        return sum(found == label for found, label in zip(self.classes, self.labels, strict=True))

    @property
    def same(self) -> int:
        """Number of rows with the clear model's class."""
        return sum(found == int(p > 0.5) for found, p in zip(self.classes, self.clear, strict=True))

    @property
    def largest_difference(self) -> float:
        """Largest difference of a decrypted probability from the clear model's, mostly the polynomial's error."""
        return max(abs(a - b) for a, b in zip(self.probabilities, self.clear, strict=True))

    @property
    def correct(self) -> bool:
        """Whether the run is within its bound and every class equals the clear model's."""
        return self.run.correct and self.same == len(self.labels)

    def to_dict(self) -> dict[str, Any]:
        """The result as data."""
        run = {key: value for key, value in self.run.to_dict().items() if key not in ("outputs", "expected")}
        return {
            **run,
            "correct": self.correct,
            "rows": len(self.labels),
            "right": self.right,
            "classified_as_in_the_clear": self.same,
            "largest_difference": self.largest_difference,
            "probabilities": self.probabilities,
            "labels": self.labels,
        }


def infer(
    rows: int | None = None,
    *,
    on: str = "cpu",
    readings: Sequence[str] = (),
    parameters: str | None = None,
    threads: int | None = None,
    measure: bool = False,
    max_failure: float | None = None,
    progress: ProgressHook | None = None,
) -> Inference:
    """Encrypts the first `rows` held-out rows (default: all), computes their probabilities, decrypts."""
    model, (_, held_out) = shipped(), split()
    count = len(held_out) if rows is None else rows
    if not 1 <= count <= len(held_out):
        raise InputError(f"{count} rows; give 1 to {len(held_out)}, the number of held-out rows")
    encoded = model.encode(held_out.measurements[:count])
    padded = np.zeros((count, STRIDE))
    padded[:, : model.features] = encoded
    planned = plan(
        logistic_regression(count), parameters, measure=measure, machine=place(on, readings), max_failure=max_failure
    )
    inputs = {"rows": padded.reshape(-1)}
    result = run_plan(planned, inputs, on=on, threads=threads, progress=progress)
    return Inference(
        probabilities=result.value[::STRIDE],
        clear=model.probabilities(encoded).tolist(),
        labels=held_out.labels[:count].tolist(),
        run=result,
    )
