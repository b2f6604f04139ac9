"""The data: scikit-learn's 569 breast tumours of 30 measurements each, and the split that every figure refers to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Tumours:
    """Measurements (count, 30), and labels: 1 benign, 0 malignant."""

    measurements: NDArray[np.float64]
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)


@cache
def split() -> tuple[Tumours, Tumours]:
    """(training, held-out): every fourth tumour is held out, 142 of 569; training and selection never use them."""
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    measurements, labels = bunch.data.astype(np.float64), bunch.target.astype(np.int64)
    held_out = np.arange(len(labels)) % 4 == 3
    return Tumours(measurements[~held_out], labels[~held_out]), Tumours(measurements[held_out], labels[held_out])
