"""The digits: scikit-learn's 1,797 handwritten 8x8 images, and the split that every figure refers to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Digits:
    """Images (count, 8, 8) with pixels 0 to 16, and their labels 0 to 9."""

    images: IntArray
    labels: IntArray

    def __len__(self) -> int:
        return len(self.labels)


@cache
def split() -> tuple[Digits, Digits]:
    """(training, held-out): every fourth image is held out, 449 of 1,797; training and selection never use them."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images, labels = bunch.images.astype(np.int64), bunch.target.astype(np.int64)
    held_out = np.arange(len(labels)) % 4 == 3
    return (
        Digits(images[~held_out], labels[~held_out]),
        Digits(images[held_out], labels[held_out]),
    )


def ascii_art(image: NDArray[np.integer]) -> list[str]:
    """Eight lines that show an image, two characters per pixel."""
    shades = " ░▒▓█"
    return ["".join(shades[min(4, (int(pixel) + 3) // 4)] * 2 for pixel in row) for row in image]
