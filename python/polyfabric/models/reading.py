"""How a client reads the decrypted scores of a model: plain data, so that a client needs no model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EQUAL = 1e-8
"""Distances of nearest neighbours that differ by less, of the greatest one, are equal: CKKS's error is some 2e-9 of it."""

Link = Literal["identity", "exp", "sigmoid", "sigmoids", "half-logit", "clip", "softmax", "normalise"]
"""What turns scores into predictions or probabilities. Of several classes each with a "sigmoid" of its own the probabilities are made to sum to 1,
those of "sigmoids" are left as they are. A "half-logit" is half the logarithm of the odds; "clip" takes -1 to 1 for 0 to 1."""


def sigmoid(scores: Floats) -> Floats:
    """1 / (1 + e^-s), without an overflow."""
    return np.exp(-np.logaddexp(0, -scores))


@dataclass(frozen=True)
class Reading:
    """Scores to predictions: numbers, or one of some classes."""

    link: Link = "identity"
    classes: tuple[Any, ...] | None = None
    """Labels of a classifier, in the order of its scores; a single score decides between two, by its sign against `threshold`."""
    threshold: float = 0.0
    neighbours: int | None = None
    """Of a classifier by nearest neighbours: how many of the least scores vote; `classes` then has a label for each score."""
    column: bool = False
    """Of a regressor with one score: whether its predictions are a column, as they are where it was fitted on one."""

    def predictions(self, scores: Floats) -> NDArray[Any]:
        """What the model's `predict` gives, for rows of scores."""
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
        """The classes, and how many neighbours of each row are of each."""
        kinds, kind_of = np.unique(labels, return_inverse=True)
        nearer, last, left = self._nearest(scores)
        weights = nearer + last * (left / last.sum(axis=1))[:, None]
        return kinds, np.stack([weights[:, kind_of == kind].sum(axis=1) for kind in range(len(kinds))], axis=1)

    def _nearest(self, scores: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int_]]:
        """Which rows are nearer than the last neighbour, which as near, and how many of these vote: equally near ones share the votes."""
        assert self.neighbours is not None
        farthest = np.sort(scores, axis=1)[:, self.neighbours - 1, None]
        margin = EQUAL * np.abs(scores).max(axis=1)[:, None]
        nearer = scores < farthest - margin
        return nearer, np.abs(scores - farthest) <= margin, self.neighbours - nearer.sum(axis=1)

    def is_open(self, scores: Floats) -> NDArray[np.bool_]:
        """Of which rows of scores other predictions are as right: more training rows are as near as the last neighbour than have a vote."""
        if self.neighbours is None:
            return np.zeros(len(scores), dtype=bool)
        _, last, left = self._nearest(scores)
        return last.sum(axis=1) > left

    def probabilities(self, scores: Floats) -> Floats:
        """What the model's `predict_proba` gives; `ValueError` where it has none."""
        if self.classes is not None and self.neighbours is not None:
            return self._votes(scores, np.asarray(self.classes))[1] / self.neighbours
        if self.classes is None or self.link in ("identity", "exp"):
            raise ValueError("this model gives no probabilities; use predictions")
        if self.link == "normalise":
            # Scores that are probabilities already, but for rounding.
            first = np.clip(scores, 0, 1)
            return np.hstack([1 - first, first]) if scores.shape[1] == 1 else first / first.sum(axis=1, keepdims=True)
        if self.link in ("sigmoid", "sigmoids", "half-logit", "clip"):
            each = (np.clip(scores, -1, 1) + 1) / 2
            if self.link != "clip":
                each = sigmoid(2 * scores if self.link == "half-logit" else scores)
            if scores.shape[1] == 1:
                return np.hstack([1 - each, each])
            total = each.sum(axis=1, keepdims=True)
            # Where no class has any, all are alike.
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
