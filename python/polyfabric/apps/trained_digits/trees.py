"""Boosted trees as in the XG-Boost classifier of Morphling's section VI-A: 100 of depth six at most, ten rounds of ten classes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...models import from_sklearn
from ..digits.data import split
from .classifier import Classifier

BITS = 3
"""Bits per pixel."""

VALUE_BITS = 4
"""Bits of a tree's values."""


class Trees(Classifier):
    """scikit-learn's gradient boosting, fitted on demand in a second, always with the same trees."""

    def __init__(self) -> None:
        from sklearn.ensemble import GradientBoostingClassifier

        training = split()[0]
        rows = training.images.reshape(-1, 64)
        model = GradientBoostingClassifier(
            n_estimators=10, max_depth=6, subsample=0.5, max_features=8, random_state=0
        ).fit(rows, training.labels)
        self.model = from_sklearn(model, rows, bits=BITS, value_bits=VALUE_BITS)
        self.program = self.model.program

    def encode(self, image: NDArray[np.int64]) -> dict[str, Any]:
        """See `Classifier.encode`."""
        return self.model.encode(image.reshape(1, -1))

    def scores(self, decrypted: Any) -> NDArray[np.float64]:  # noqa: ANN401 - what the program returns
        """See `Classifier.scores`."""
        return self.model.decode(decrypted)[0]

    def clear(self, images: NDArray[np.int64]) -> NDArray[np.int64]:
        """See `Classifier.clear`."""
        return np.asarray(self.model.clear(images.reshape(len(images), -1)), dtype=np.int64)


@cache
def xgboost() -> Trees:
    """The classifier."""
    return Trees()
