"""A DeepCNN-20 in the shapes of Morphling's section VI-A, trained on the digits, and the same network in the clear.

An image is 64 pixels of two bits, -3, -1, 1 or 3. Activations are signs. A filter of a 1 x 1 layer adds its own channel `OWN` times and a few others,
so that a deep network of signs can be trained: a layer corrects what comes to it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...language.functions import convolve, dot, sign
from ...language.numpy_calls import Value
from ...language.types import Int
from ...run.runnable_programs import Program, program
from .classifier import Classifier

CUTS = (3, 8, 13)
"""Thresholds between a pixel's levels."""

FILTERS = 92
"""Channels of the inner layers."""

DEPTH = 20
"""Number of 1 x 1 layers."""

_FORMAT = "polyfabric deepcnn digits 1"


def levels(images: NDArray[np.integer]) -> NDArray[np.int64]:
    """Pixels from 0 to 16 as -3, -1, 1 or 3."""
    return 2 * np.searchsorted(CUTS, images, side="right") - 3


def patches(image: NDArray[Any], size: int, stride: int) -> NDArray[Any]:
    """Images (count, height, width, channels) as the inputs of a convolution at each place: (count, height, width, size · size · channels)."""
    count, height, width, channels = image.shape
    rows, columns = (height - size) // stride + 1, (width - size) // stride + 1
    seen = np.empty((count, rows, columns, size, size, channels), image.dtype)
    for y in range(size):
        for x in range(size):
            seen[:, :, :, y, x] = image[:, y : y + stride * rows : stride, x : x + stride * columns : stride]
    return seen.reshape(count, rows, columns, -1)


@dataclass(frozen=True)
class Layer:
    """A convolution without padding, then the signs of its sums."""

    weights: NDArray[np.int64]
    """filters x (size · size · channels)."""
    size: int = 1
    stride: int = 1


@dataclass(frozen=True)
class Network:
    """Convolutions, then a class score for each digit."""

    layers: tuple[Layer, ...]
    classes: NDArray[np.int64]

    def __post_init__(self) -> None:
        even = [number for number, layer in enumerate(self.layers) if (layer.weights.sum(axis=1) % 2 == 0).any()]
        if even:
            raise ValueError(f"every sum must be odd, so that it has a sign: layer {even[0]} has an even filter")

    def scores(self, images: NDArray[np.integer]) -> NDArray[np.int64]:
        """Scores of the ten classes of images (count, 8, 8)."""
        values = levels(images).reshape(-1, 8, 8, 1)
        for layer in self.layers:
            values = np.where(patches(values, layer.size, layer.stride) @ layer.weights.T > 0, 1, -1)
        return values.reshape(len(images), -1) @ self.classes.T

    def to_json(self) -> str:
        """The network as text: for each filter the nonzero weights, each after its index."""
        rows = [
            {
                "size": layer.size,
                "stride": layer.stride,
                "inputs": layer.weights.shape[1],
                "filters": [_sparse(row) for row in layer.weights],
            }
            for layer in self.layers
        ]
        return json.dumps(
            {"format": _FORMAT, "layers": rows, "classes": [_sparse(row) for row in self.classes]}, indent=1
        )

    @classmethod
    def from_json(cls, text: str) -> Network:
        """The network that `to_json` wrote; raises ValueError for any other text."""
        data = json.loads(text)
        if data.get("format") != _FORMAT:
            raise ValueError(f"not a trained DeepCNN: format is {data.get('format')!r}, expected {_FORMAT!r}")
        layers = tuple(
            Layer(_dense(layer["filters"], layer["inputs"]), layer["size"], layer["stride"]) for layer in data["layers"]
        )
        return cls(layers, _dense(data["classes"], len(data["layers"][-1]["filters"])))


def _sparse(row: NDArray[np.integer]) -> str:
    return " ".join(f"{place}:{row[place]}" for place in np.flatnonzero(row))


def _dense(rows: list[str], inputs: int) -> NDArray[np.int64]:
    dense = np.zeros((len(rows), inputs), dtype=np.int64)
    for row, text in zip(dense, rows, strict=True):
        for entry in text.split():
            place, _, weight = entry.partition(":")
            row[int(place)] = int(weight)
    return dense


class DeepCnn(Classifier):
    """A network as a program."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.program = build(network)

    def encode(self, image: NDArray[np.int64]) -> dict[str, Any]:
        """See `Classifier.encode`."""
        return {"image": levels(image).reshape(-1)}

    def scores(self, decrypted: Any) -> NDArray[np.float64]:  # noqa: ANN401 - what the program returns
        """See `Classifier.scores`."""
        return np.asarray(decrypted, dtype=np.float64)

    def clear(self, images: NDArray[np.int64]) -> NDArray[np.int64]:
        """See `Classifier.clear`."""
        return self.network.scores(images).argmax(axis=1)


def build(network: Network) -> Program:
    """The program of a network: 64 pixels of two bits in, ten class scores out."""

    @program("deepcnn-20-digits", image=Int(-3, 3, step=2).vector(64))
    def classified(image: Value) -> Value:
        """Ten class scores of an 8 x 8 digit."""
        value, shape = image, (8, 8, 1)
        for layer in network.layers:
            filters = len(layer.weights)
            kernel = layer.weights.reshape(filters, layer.size, layer.size, shape[2])
            value = sign(convolve(kernel, value, shape, stride=layer.stride))
            extent = (shape[0] - layer.size) // layer.stride + 1
            shape = (extent, extent, filters)
        return dot(network.classes, value)

    return classified


@cache
def deepcnn_20() -> DeepCnn:
    """The built-in trained network."""
    text = resources.files(__package__).joinpath("deepcnn-20.json").read_text(encoding="utf-8")
    return DeepCnn(Network.from_json(text))
