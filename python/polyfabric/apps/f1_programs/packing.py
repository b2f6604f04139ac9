"""Shared by the programs: the windows of a convolution, and sums over slots."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from ...language.slots import SlotValue

Array = NDArray[np.float64]


def windows(image: Array, window: int, output_side: int) -> Array:
    """The pixel under each place of a square window at each position, stride 2: (colours·window²) x output_side².

    `image` is colours x side x side; there is a border of one zero before it, and as many behind it as the last window needs.
    """
    padded = np.pad(image, ((0, 0), (1, window), (1, window)))
    span = 2 * output_side
    rows = [
        colour[dy : dy + span : 2, dx : dx + span : 2].reshape(-1)
        for colour in padded
        for dy in range(window)
        for dx in range(window)
    ]
    return np.array(rows)


def total(terms: Iterable[SlotValue]) -> SlotValue:
    """The sum of one or more values."""
    return reduce(add, terms)


def summed(value: SlotValue, first: int, end: int) -> SlotValue:
    """The sum of each slot and those `first`, 2·`first`, .. after it, up to `end`."""
    shift = end
    while shift > first:
        shift //= 2
        value = value + value.rotate(shift)
    return value
