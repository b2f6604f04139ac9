"""The model in the clear: its file, the client's preparation, and the expected results."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FORMAT = "polyfabric logistic regression 1"
CLIP = 4.0
"""Largest distance of a measurement from its mean in standard deviations; larger ones are clipped."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Model:
    """Weights of standardised measurements, clipped and scaled to [-1, 1]."""

    means: list[float]
    deviations: list[float]
    weights: list[float]
    bias: float
    reach: float
    """End of the sigmoid's interval: the largest absolute logit of the training data plus a tenth."""

    @property
    def features(self) -> int:
        """Measurements per row."""
        return len(self.weights)

    def encode(self, measurements: Floats) -> Floats:
        """The client's inputs: standardised measurements within [-1, 1]."""
        standard = (measurements - np.asarray(self.means)) / np.asarray(self.deviations)
        return np.clip(standard, -CLIP, CLIP) / CLIP

    def logits(self, encoded: Floats) -> Floats:
        """The logits of rows."""
        return encoded @ np.asarray(self.weights) + self.bias

    def probabilities(self, encoded: Floats) -> Floats:
        """Probability that a tumour is benign."""
        return sigmoid(self.logits(encoded))

    def to_json(self) -> str:
        """The model as text."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Model:
        """The model that `to_json` wrote."""
        data = json.loads(text)
        if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
            raise ValueError(f"not a file of the format {FORMAT!r}; write one with the training script")
        return cls(**data)


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + e^-x)."""
    return 1 / (1 + np.exp(-x))


@cache
def shipped() -> Model:
    """The built-in model."""
    return Model.from_json(Path(__file__).with_name("weights.json").read_text(encoding="utf-8"))
