"""The digits network in the clear: the quantised network, which the encrypted run must equal exactly.

An image has 64 pixels from 0 to 16. Each pixel gives two signs, "brighter than the low threshold" and "brighter than
the high one", so an image is 128 values of ±1. A hidden neuron adds 22 of them (ternary sparse weights) and an odd
bias, so its sum is odd and at most 25 in magnitude: 26 slots on each half of the torus, a margin of 1/52. Its
activation is the sign of the sum. Each of the ten class scores adds 31 of the 64 activations, each ±1: odd, and at
most 31 in magnitude.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]

_GLYPHS = {"+": 1, ".": 0, "-": -1}
_FORMAT = "polyfabric digits network 1"


@dataclass(frozen=True)
class Network:
    """Thresholds, ternary hidden weights, and class weights."""

    thresholds: tuple[int, ...]
    """Thresholds of a pixel's signs: +1 if the pixel is at least the threshold."""
    hidden_weights: IntArray
    """(hidden, signs), each -1, 0 or 1."""
    hidden_bias: IntArray
    """(hidden,), which makes every hidden sum odd."""
    class_weights: IntArray
    """(10, hidden), small integers."""

    def __post_init__(self) -> None:
        hidden, signs = self.hidden_weights.shape
        if signs != 64 * len(self.thresholds):
            message = f"{signs} hidden weights a neuron, but {len(self.thresholds)} thresholds give {self.signs} signs"
            raise ValueError(message)
        if not np.isin(self.hidden_weights, (-1, 0, 1)).all():
            raise ValueError("hidden weights must be -1, 0 or 1")
        if self.hidden_bias.shape != (hidden,) or self.class_weights.shape != (10, hidden):
            raise ValueError("the shapes of hidden biases or class weights do not match the hidden weights")
        parity = np.abs(self.hidden_weights).sum(axis=1) + self.hidden_bias
        if (parity % 2 == 0).any():
            raise ValueError("every hidden sum must be odd: correct the biases")

    @property
    def signs(self) -> int:
        """Length of an encoded image."""
        return 64 * len(self.thresholds)

    @property
    def hidden(self) -> int:
        """Number of hidden neurons, each one lookup."""
        return int(self.hidden_weights.shape[0])

    @property
    def hidden_bound(self) -> int:
        """Largest magnitude that any hidden sum can reach."""
        return int((np.abs(self.hidden_weights).sum(axis=1) + np.abs(self.hidden_bias)).max())

    @property
    def class_bound(self) -> int:
        """Largest magnitude that any class score can reach."""
        return int(np.abs(self.class_weights).sum(axis=1).max())

    def encode(self, images: NDArray[np.integer]) -> IntArray:
        """Signs of images (..., 64) or (..., 8, 8): all pixels at the first threshold, then at the next."""
        array = np.asarray(images)
        flat = array.reshape(*array.shape[:-2], 64) if array.shape[-2:] == (8, 8) else array
        return np.concatenate([np.where(flat >= t, 1, -1) for t in self.thresholds], axis=-1).astype(np.int64)

    def activations(self, signs: IntArray) -> IntArray:
        """Hidden activations, ±1."""
        sums = signs @ self.hidden_weights.T + self.hidden_bias
        return np.where(sums > 0, 1, -1).astype(np.int64)

    def scores(self, activations: IntArray) -> IntArray:
        """Class scores."""
        return activations @ self.class_weights.T

    def classify(self, images: NDArray[np.integer]) -> IntArray:
        """The class of each image: the first of the largest scores."""
        return self.scores(self.activations(self.encode(images))).argmax(axis=-1)

    def to_json(self) -> str:
        """The network as text, one line per neuron."""
        glyphs = {value: glyph for glyph, value in _GLYPHS.items()}
        return json.dumps(
            {
                "format": _FORMAT,
                "thresholds": list(self.thresholds),
                "hidden_weights": ["".join(glyphs[int(w)] for w in row) for row in self.hidden_weights],
                "hidden_bias": self.hidden_bias.tolist(),
                "class_weights": [" ".join(str(int(w)) for w in row) for row in self.class_weights],
            },
            indent=1,
        )

    @classmethod
    def from_json(cls, text: str) -> Network:
        """The network that `to_json` wrote; raises ValueError for any other text."""
        data = json.loads(text)
        if data.get("format") != _FORMAT:
            raise ValueError(f"not a digits network: format is {data.get('format')!r}, expected {_FORMAT!r}")
        return cls(
            thresholds=tuple(data["thresholds"]),
            hidden_weights=np.array([[_GLYPHS[g] for g in row] for row in data["hidden_weights"]], dtype=np.int64),
            hidden_bias=np.array(data["hidden_bias"], dtype=np.int64),
            class_weights=np.array([[int(w) for w in row.split()] for row in data["class_weights"]], dtype=np.int64),
        )


@cache
def shipped() -> Network:
    """The built-in trained network."""
    text = resources.files(__package__).joinpath("weights.json").read_text(encoding="utf-8")
    return Network.from_json(text)
