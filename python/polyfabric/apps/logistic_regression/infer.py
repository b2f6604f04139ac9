"""Encrypted inference on held-out tumours, compared with the model in the clear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InputError
from ...execution import place, plan, run_plan
from ...progress import ProgressHook
from ...schemes.slots import SlotResult
from . import STRIDE, logistic_regression
from .data import split
from .model import shipped


@dataclass(frozen=True)
class Inference:
    """The probabilities, and how they compare."""

    probabilities: list[float]
    """Decrypted: that each tumour is benign."""
    clear: list[float]
    """By the model in the clear, with its true sigmoid."""
    labels: list[int]
    run: SlotResult

    @property
    def classes(self) -> list[int]:
        """1 where the decrypted probability says benign."""
        return [int(p > 0.5) for p in self.probabilities]

    @property
    def right(self) -> int:
        """How many are as labelled."""
        return sum(found == label for found, label in zip(self.classes, self.labels, strict=True))

    @property
    def same(self) -> int:
        """How many are classified as in the clear."""
        return sum(found == int(p > 0.5) for found, p in zip(self.classes, self.clear, strict=True))

    @property
    def largest_difference(self) -> float:
        """Between a decrypted probability and the clear model's: the polynomial's error, mostly."""
        return max(abs(a - b) for a, b in zip(self.probabilities, self.clear, strict=True))

    @property
    def correct(self) -> bool:
        """Whether the run is the clear program's up to its bound, and every class the clear model's."""
        return self.run.correct and self.same == len(self.labels)

    def to_dict(self) -> dict[str, Any]:
        """All of it, as data."""
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
    """Encrypts the first `rows` held-out rows (all without it), computes their probabilities, decrypts."""
    model, (_, held_out) = shipped(), split()
    count = len(held_out) if rows is None else rows
    if not 1 <= count <= len(held_out):
        raise InputError(f"{count} rows, but 1 to {len(held_out)} are held out; give a number of those")
    encoded = model.encode(held_out.measurements[:count])
    padded = np.zeros((count, STRIDE))
    padded[:, : model.features] = encoded
    planned = plan(
        logistic_regression(count), parameters, measure=measure, machine=place(on, readings), max_failure=max_failure
    )
    inputs = {"rows": padded.reshape(-1)}
    result = run_plan(planned, inputs, on=on, threads=threads, progress=progress)
    return Inference(
        probabilities=result.outputs["result"][::STRIDE],
        clear=model.probabilities(encoded).tolist(),
        labels=held_out.labels[:count].tolist(),
        run=result,
    )
