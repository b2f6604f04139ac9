"""The reading of a model's decrypted scores: plain data, so that a client needs no model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EQUAL = 1e-8
"""Relative tolerance of equal distances to neighbours. CKKS's error is about 2e-9 of the greatest distance."""

Link = Literal["identity", "exp", "sigmoid", "sigmoids", "half-logit", "clip", "softmax", "normalise"]
"""Function from scores to predictions or probabilities. "sigmoid" normalises the probabilities of several classes to a sum of 1,
"sigmoids" does not. A "half-logit" is half the logarithm of the odds; "clip" maps -1 to 1 onto 0 to 1."""


def sigmoid(scores: Floats) -> Floats:
    """1 / (1 + e^-s), without an overflow."""
    return np.exp(-np.logaddexp(0, -scores))


@dataclass(frozen=True)
class Reading:
    """The map from scores to predictions: numbers or classes."""

    link: Link = "identity"
    classes: tuple[Any, ...] | None = None
    """Labels of a classifier, in the order of its scores; a single score selects between two by comparison with `threshold`."""
    threshold: float = 0.0
    neighbours: int | None = None
    """For nearest neighbours: how many of the smallest scores vote; `classes` then has a label for each score."""
    column: bool = False
    """For a regressor with one score: whether its predictions are a column, because it was fitted on one."""

    def predictions(self, scores: Floats) -> NDArray[Any]:
        """The result of the model's `predict` for scores, rows x outputs."""
        if self.classes is None:
            values = np.exp(scores) if self.link == "exp" else sigmoid(scores) if self.link == "sigmoid" else scores
            return values[:, 0] if values.shape[1] == 1 and not self.column else values
        labels = np.asarray(self.classes)
        if self.neighbours is not None:
            kinds, votes = self._votes(scores, labels)
            return kinds[np.argmax(np.round(votes, 9), axis=1)]
        if scores.shape[1] == 1:
            return labels[(scores[:, 0] > self.threshold).astype(int)]
        return labels[np.argmax(scores, axis=1)]

    def _votes(self, scores: Floats, labels: NDArray[Any]) -> tuple[NDArray[Any], Floats]:
        """The classes, and each row's number of neighbours per class."""
        kinds, kind_of = np.unique(labels, return_inverse=True)
        nearer, last, left = self._nearest(scores)
        weights = nearer + last * (left / last.sum(axis=1))[:, None]
        return kinds, np.stack([weights[:, kind_of == kind].sum(axis=1) for kind in range(len(kinds))], axis=1)

    def _nearest(self, scores: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int_]]:
        """Training rows nearer than the last neighbour, those equally near, and the votes that the latter share."""
        assert self.neighbours is not None
        farthest = np.sort(scores, axis=1)[:, self.neighbours - 1, None]
        margin = EQUAL * np.abs(scores).max(axis=1)[:, None]
        nearer = scores < farthest - margin
        return nearer, np.abs(scores - farthest) <= margin, self.neighbours - nearer.sum(axis=1)

    def is_open(self, scores: Floats) -> NDArray[np.bool_]:
        """Rows with ties: more training rows are as near as the last neighbour than have a vote, so other predictions are equally right."""
        if self.neighbours is None:
            return np.zeros(len(scores), dtype=bool)
        _, last, left = self._nearest(scores)
        return last.sum(axis=1) > left

    def probabilities(self, scores: Floats) -> Floats:
        """The result of the model's `predict_proba`. Raises `ValueError` if it has none."""
        if self.classes is not None and self.neighbours is not None:
            return self._votes(scores, np.asarray(self.classes))[1] / self.neighbours
        if self.classes is None or self.link in ("identity", "exp"):
            raise ValueError("this model gives no probabilities; use predictions")
        if self.link == "normalise":
            # The scores are probabilities already, except for rounding.
            first = np.clip(scores, 0, 1)
            return np.hstack([1 - first, first]) if scores.shape[1] == 1 else first / first.sum(axis=1, keepdims=True)
        if self.link in ("sigmoid", "sigmoids", "half-logit", "clip"):
            each = (np.clip(scores, -1, 1) + 1) / 2
            if self.link != "clip":
                each = sigmoid(2 * scores if self.link == "half-logit" else scores)
            if scores.shape[1] == 1:
                return np.hstack([1 - each, each])
            total = each.sum(axis=1, keepdims=True)
            # If no class has any probability, all get the same.
            return (
                each
                if self.link == "sigmoids"
                else np.where(total > 0, each, 1) / np.where(total > 0, total, each.shape[1])
            )
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def to_dict(self) -> dict[str, Any]:
        """As data."""
        return asdict(self)

    @classmethod
    def of(cls, data: dict[str, Any]) -> Reading:
        """From `to_dict`."""
        classes = data.get("classes")
        return cls(**{**data, "classes": None if classes is None else tuple(classes)})
