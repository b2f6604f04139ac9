"""Images of several channels in slots, and layers of networks as matrices by their generalised diagonals.

The packing is multiplexed (E. Lee et al., ICML 2022): every channel of every layer has the frame of the input image. A layer of stride s
leaves every s-th row and column of a frame, and the gaps take other channels, gap x gap of them a frame. All of a vector's periods hold the
same numbers, so channels go round cyclically and a diagonal repeats as the vectors do.

A convolution is one matrix from one packing to the next (Osiris, section III, after A. Ebel et al., Orion), strided ones too, for one level. The
distance from a number to one that it is made of depends on the tap and on both channels' places, not on the pixel: so many diagonals there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..language.slot_matrix import by_diagonals
from ..language.slots import SlotValue

Array = NDArray[np.float64]
Diagonals = dict[int, Array]


@dataclass(frozen=True)
class Packing:
    """The slots of a layer's numbers: `channels` of `side` x `side`, `gap` slots apart, in zero-padded frames of `frame` x `frame`."""

    channels: int
    side: int
    frame: int
    gap: int = 1

    @property
    def period(self) -> int:
        """Period in slots: a power of two, as the frame's side is."""
        frames = -(-self.channels // self.gap**2)
        return (1 << (frames - 1).bit_length()) * self.frame**2

    def after(self, channels: int, stride: int) -> Packing:
        """The packing after a layer with these channels and this stride, which must divide `side`."""
        return Packing(channels, self.side // stride, self.frame, self.gap * stride)

    def corners(self) -> NDArray[np.int64]:
        """The slot of each channel's first pixel."""
        block, inner = np.divmod(np.arange(self.channels), self.gap**2)
        row, column = np.divmod(inner, self.gap)
        return block * self.frame**2 + row * self.frame + column

    def places(self) -> NDArray[np.int64]:
        """The slot of each number, channels x side x side."""
        steps = np.arange(self.side) * self.gap
        return self.corners()[:, None, None] + steps[:, None] * self.frame + steps

    def packed(self, image: Array, slots: int) -> Array:
        """channels x side x side numbers in `slots` slots, repeated each period."""
        once = np.zeros(self.period)
        once[self.places()] = image
        return np.tile(once, slots // self.period)


def convolution(kernels: Array, before: Packing, stride: int = 1) -> Diagonals:
    """Diagonals by offset of a convolution with zero padding that keeps the size, each as long as the longer period.

    `kernels` has after x before x window x window weights, the window odd; it is not mirrored. Where a window of stride s stands: over the pixel
    s·(y, x), as with stride 1.
    """
    outputs, window = len(kernels), kernels.shape[-1]
    after = before.after(outputs, stride)
    period, around = max(before.period, after.period), window // 2
    copies = np.arange(period // after.period) * after.period
    places, pixels = after.places(), np.arange(after.side) * stride
    sources, targets = before.corners(), after.corners()
    diagonals: Diagonals = {}
    for dy, dx in np.ndindex(window, window):
        moved = (dy - around, dx - around)
        rows, columns = (np.flatnonzero((pixels + d >= 0) & (pixels + d < before.side)) for d in moved)
        if not (len(rows) and len(columns)):
            continue
        step = before.gap * (moved[0] * before.frame + moved[1])
        for o in range(outputs):
            seen = places[o][np.ix_(rows, columns)]
            for i in np.flatnonzero(kernels[o, :, dy, dx]):
                for copy in copies:
                    offset = _centred(int(sources[i] - targets[o] + step - copy), before.period)
                    _diagonal(diagonals, offset, period)[seen + copy] += kernels[o, i, dy, dx]
    return diagonals


def subsampling(before: Packing, channels: int, stride: int) -> Diagonals:
    """Diagonals of a shortcut without weights (K. He et al., CVPR 2016, option A): every `stride`-th pixel, and new zero channels, equally many before
    and after the old ones."""
    kernels = np.zeros((channels, before.channels, 1, 1))
    first = (channels - before.channels) // 2
    old = np.arange(before.channels)
    kernels[first + old, old] = 1
    return convolution(kernels, before, stride)


def transformed(value: SlotValue, diagonals: Mapping[int, Array], slots: int) -> SlotValue:
    """Σ diagonal · (vector rotated by its offset) in `slots` slots, with repeated diagonals."""
    return by_diagonals(value, diagonals, slots)


def dense(value: SlotValue, matrix: Array, slots: int) -> SlotValue:
    """A matrix with one column per slot of the vector's period, a power of two. Rows are padded to a power of two, the result's period.

    With R rows that takes R diagonals at most, and the rotations that add up each R-th slot.
    """
    rows, columns = matrix.shape
    wide = np.zeros((1 << (rows - 1).bit_length(), columns))
    wide[:rows] = matrix
    places = np.arange(columns)
    diagonals = {offset: wide[places % len(wide), (places + offset) % columns] for offset in range(len(wide))}
    result = transformed(value, {offset: diagonal for offset, diagonal in diagonals.items() if diagonal.any()}, slots)
    step = columns
    while step > len(wide):
        step //= 2
        result = result + result.rotate(step)
    return result


def flattened(weights: Array, before: Packing) -> Array:
    """The matrix, rows x period, of a fully connected layer with rows x channels x side x side weights."""
    matrix = np.zeros((len(weights), before.period))
    matrix[:, before.places().reshape(-1)] = weights.reshape(len(weights), -1)
    return matrix


def convolved(kernels: Array, image: Array, stride: int = 1) -> Array:
    """The same convolution in the clear, window by window: channels x side x side."""
    window = kernels.shape[-1]
    around = window // 2
    padded = np.pad(image, ((0, 0), (around, around), (around, around)))
    seen = np.lib.stride_tricks.sliding_window_view(padded, (window, window), axis=(1, 2))[:, ::stride, ::stride]
    result: Array = np.einsum("oikl,iyxkl->oyx", kernels, seen, optimize=True)
    return result


def subsampled(image: Array, channels: int, stride: int) -> Array:
    """`subsampling` in the clear."""
    first = (channels - len(image)) // 2
    return np.pad(image[:, ::stride, ::stride], ((first, channels - len(image) - first), (0, 0), (0, 0)))


def _diagonal(diagonals: Diagonals, offset: int, period: int) -> Array:
    if offset not in diagonals:
        diagonals[offset] = np.zeros(period)
    return diagonals[offset]


def _centred(offset: int, period: int) -> int:
    """The offset modulo the period that is nearest to 0."""
    return (offset + period // 2 - 1) % period - period // 2 + 1
