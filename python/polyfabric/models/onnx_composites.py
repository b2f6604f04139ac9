"""Operators of several steps on encrypted tensors: softmax, normalisations and products of matrices.

Example: `LayerNormalization` subtracts means (a matrix), squares (exact), takes 1 / sqrt of the variances (a polynomial), and multiplies.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .network import Floats
from .tensors import Layers, Tensor

MASKED = -1e30
"""Exporters mask numbers before a softmax by adding this or less, or minus infinity."""


def _reciprocal(numbers: Floats) -> Floats:
    return 1 / numbers


def softmax(layers: Layers, tensor: Tensor, axis: int, name: str, *, logarithm: bool) -> Tensor:
    """Softmax along an axis, or its logarithm. It ignores a common summand, so the mean is subtracted, which keeps exponentials near 1."""
    allowed = tensor.sums.bias > MASKED
    if logarithm or allowed.all():
        count = tensor.shape[axis]
        centred = tensor.added(tensor.total([axis]).times(-1 / count).like(tensor))
        powers = layers.function(centred, np.exp, f"{name}.exp")
        total = powers.total([axis])
        if logarithm:
            return centred.added(layers.function(total, np.log, f"{name}.log", one_sided=True).times(-1).like(tensor))
        return layers.product(powers, layers.function(total, _reciprocal, f"{name}.reciprocal", one_sided=True), name)
    return _masked_softmax(layers, tensor, axis, name, allowed)


def _masked_softmax(layers: Layers, tensor: Tensor, axis: int, name: str, allowed: NDArray[np.bool_]) -> Tensor:
    """Softmax of the numbers that a mask leaves; the others give 0."""
    places = np.flatnonzero(allowed)
    groups = np.broadcast_to(tensor.total([axis]).places, tensor.shape).reshape(-1)[places]
    _, group = np.unique(groups, return_inverse=True)
    member = (group[:, None] == np.arange(group.max() + 1)).astype(float)
    left = tensor.at(places)
    centred = left.added(left.transformed(-(member / member.sum(axis=0)) @ member.T, left.shape))
    powers = layers.function(centred, np.exp, f"{name}.exp")
    total = powers.transformed(member.T, (member.shape[1],))
    shares = layers.product(
        powers, layers.function(total, _reciprocal, f"{name}.reciprocal", one_sided=True).at(group), name
    )
    back = np.zeros((tensor.size, len(places)))
    back[places, np.arange(len(places))] = 1
    return shares.transformed(back, tensor.shape)


def mean_square(layers: Layers, tensor: Tensor, axes: Sequence[int], name: str) -> Tensor:
    """The means of squares along axes, which keep size 1."""
    return (
        layers.product(tensor, tensor, name).total(axes).times(1 / int(np.prod([tensor.shape[axis] for axis in axes])))
    )


def normalised(
    layers: Layers, tensor: Tensor, axes: Sequence[int], epsilon: float, name: str, *, centred: bool
) -> Tensor:
    """The numbers divided by the root of their mean square plus epsilon, along axes; `centred`: after the mean was subtracted."""
    if centred:
        count = int(np.prod([tensor.shape[axis] for axis in axes]))
        tensor = tensor.added(tensor.total(axes).times(-1 / count).like(tensor))
    squares = mean_square(layers, tensor, axes, name).plus(epsilon)
    return layers.product(tensor, layers.function(squares, lambda u: u**-0.5, f"{name}.rsqrt", one_sided=True), name)


def matrix_product(layers: Layers, a: Tensor, b: Tensor, name: str) -> Tensor:
    """The product of encrypted matrices, as numpy's `matmul`: all products of numbers in one layer, then sums."""
    a, b = layers.bounded(a, f"{name}.left"), layers.bounded(b, f"{name}.right")
    left = a.places[None, :] if a.places.ndim == 1 else a.places
    right = b.places[:, None] if b.places.ndim == 1 else b.places
    rows, columns = left[..., :, None, :], np.swapaxes(right, -1, -2)[..., None, :, :]
    shape = np.broadcast_shapes(rows.shape, columns.shape)
    products = layers.product(a.at(np.broadcast_to(rows, shape)), b.at(np.broadcast_to(columns, shape)), name)
    total = products.total([len(shape) - 1])
    kept = [*shape[:-1]]
    if b.places.ndim == 1:
        del kept[-1]
    if a.places.ndim == 1:
        del kept[-1 if b.places.ndim == 1 else -2]
    return total.at(total.places.reshape(kept))
