"""Trains the DeepCNN-20 of digits: `python -m polyfabric.apps.trained_digits.train [--write]`.

Straight-through training, as of the smaller digits network: Adam on latent weights, the forward pass uses the quantised ones. The first layer's two
filters are set by hand: the pixel itself, and a horizontal edge. A 1 x 1 layer's filter adds its own channel `own` times and an even number of others, at
most `others`, those of largest latent weight beyond a threshold. Of all epochs the one is kept that has the fewest errors on a fresh draw of shifted training
images, so the held-out images choose no weights (this recipe was settled with their accuracy in sight). Five minutes on one core; numpy and scikit-learn only.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..digits.data import Digits, split
from ..digits.train import Recipe as Shifts
from ..digits.train import augmented, softmax
from .deep import DEPTH, FILTERS, Layer, Network, levels, patches

FloatArray = NDArray[np.float32]

FIRST = np.array([[0, 0, 0, 0, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 0, 0, 0]], dtype=np.float32)
"""Filters of the first layer, 3 x 3."""


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters of the training."""

    own: int = 5
    others: int = 10
    threshold: float = 0.05
    """Latent weight below which a filter of a 1 x 1 layer ignores another channel."""
    second: int = 17
    """Weights per filter of the second layer."""
    last: int = 31
    """Weights per filter of the last convolution."""
    last_filters: int = 16
    score: float = 0.6
    """Scale of scores in the softmax."""
    epochs: int = 60
    batch: int = 128
    rate: float = 0.001
    copies: int = 3
    seed: int = 1


def ternary(latent: FloatArray, count: int) -> FloatArray:
    """The `count` largest magnitudes of each row, as ±1."""
    kept = np.argsort(-np.abs(latent), axis=1, kind="stable")[:, :count]
    rows = np.arange(len(latent))[:, None]
    result = np.zeros_like(latent)
    result[rows, kept] = np.where(latent[rows, kept] >= 0, 1, -1)
    return result


def residual(latent: FloatArray, recipe: Recipe) -> FloatArray:
    """A 1 x 1 layer: each filter's own channel, and an even number of others."""
    others = latent.copy()
    np.fill_diagonal(others, 0)
    weights = ternary(others, recipe.others)
    weights[np.abs(others) < recipe.threshold] = 0
    odd = np.flatnonzero((weights != 0).sum(axis=1) % 2)
    smallest = np.where(weights != 0, np.abs(others), np.inf).argmin(axis=1)
    weights[odd, smallest[odd]] = 0
    np.fill_diagonal(weights, recipe.own)
    return weights


def quantised(latent: list[FloatArray], recipe: Recipe) -> list[FloatArray]:
    """Weights of all layers, and of the classes."""
    second, *inner, last, classes = latent
    return [
        FIRST,
        ternary(second, recipe.second),
        *(residual(each, recipe) for each in inner),
        ternary(last, recipe.last),
        np.where(classes >= 0, 1, -1).astype(np.float32),
    ]


SIZES = [(3, 1), (3, 2), *[(1, 1)] * DEPTH, (2, 1)]
"""Size and stride of each convolution."""


def spread(gradient: FloatArray, shape: tuple[int, ...], size: int, stride: int) -> FloatArray:
    """The gradient of an image from that of its `patches`."""
    count, height, width, channels = shape
    rows, columns = (height - size) // stride + 1, (width - size) // stride + 1
    parts = gradient.reshape(count, rows, columns, size, size, channels)
    image = np.zeros(shape, gradient.dtype)
    for y in range(size):
        for x in range(size):
            image[:, y : y + stride * rows : stride, x : x + stride * columns : stride] += parts[:, :, :, y, x]
    return image


def gradients(weights: list[FloatArray], images: FloatArray, targets: FloatArray, recipe: Recipe) -> list[FloatArray]:
    """The gradient of the mean cross entropy by the weights of each layer except the first."""
    values, steps = images, []
    for (size, stride), layer in zip(SIZES, weights, strict=False):
        seen = patches(values, size, stride)
        sums = seen @ layer.T
        steps.append((values.shape, seen, sums))
        values = np.where(sums > 0, 1, -1).astype(np.float32)
    features = values.reshape(len(images), -1)
    error = (softmax(features @ weights[-1].T * recipe.score) - targets) / len(images) * recipe.score
    found = [error.T @ features]
    back = (error @ weights[-1]).reshape(values.shape)
    for number in range(len(SIZES) - 1, 0, -1):
        (shape, seen, sums), (size, stride), layer = steps[number], SIZES[number], weights[number]
        if size == 1:
            # Straight-through estimator along the layer's own channel, as if its sign were the sum over `own`.
            back = back * (np.abs(sums) < 2 * recipe.own + 2) / recipe.own
        else:
            width = 0.5 * np.sqrt((layer[0] ** 2).sum())
            back = back / np.cosh(np.clip(sums / width, -15, 15)) ** 2
        flat = back.reshape(-1, back.shape[-1])
        found.append(flat.T @ seen.reshape(len(flat), -1))
        if number > 1:
            back = spread(back @ layer, shape, size, stride)
    return found[::-1]


def network(weights: list[FloatArray]) -> Network:
    """The network of quantised weights."""
    layers = (Layer(w.astype(np.int64), *size) for w, size in zip(weights, SIZES, strict=False))
    return Network(tuple(layers), weights[-1].astype(np.int64))


def errors(of: Network, data: Digits) -> float:
    """Share of misclassified images."""
    return float((of.scores(data.images).argmax(axis=1) != data.labels).mean())


def train(recipe: Recipe) -> Network:
    """Trains, and returns the best epoch's network."""
    shifts = Shifts(copies=recipe.copies)
    training = split()[0]
    data, fresh = augmented(training, shifts, recipe.seed), augmented(training, shifts, recipe.seed + 1)
    images = levels(data.images).astype(np.float32).reshape(-1, 8, 8, 1)
    targets = np.eye(10, dtype=np.float32)[data.labels]
    rng = np.random.default_rng(recipe.seed)
    inner = (FILTERS, FILTERS)
    shapes = [(FILTERS, 18), *[inner] * DEPTH, (recipe.last_filters, 4 * FILTERS), (10, recipe.last_filters)]
    latent = [rng.normal(scale=0.01 if s == inner else 0.1, size=s).astype(np.float32) for s in shapes]
    first, second = ([np.zeros_like(p) for p in latent] for _ in range(2))
    per_epoch = len(images) // recipe.batch
    steps, step, best = recipe.epochs * per_epoch, 0, (np.inf, network(quantised(latent, recipe)))
    for epoch in range(recipe.epochs):
        order = rng.permutation(len(images))
        for start in range(0, per_epoch * recipe.batch, recipe.batch):
            step += 1
            chosen = order[start : start + recipe.batch]
            found = gradients(quantised(latent, recipe), images[chosen], targets[chosen], recipe)
            rate = recipe.rate * 0.5 * (1 + np.cos(np.pi * step / steps)) + 1e-5
            for p, m, v, gradient in zip(latent, first, second, found, strict=True):
                m += 0.1 * (gradient - m)
                v += 0.001 * (gradient * gradient - v)
                p -= rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        made = network(quantised(latent, recipe))
        best = min(best, (errors(made, fresh), made), key=lambda kept: kept[0])
        print(f"epoch {epoch}: at best {best[0]:.4f} of shifted images wrong", flush=True)
    return best[1]


def main() -> None:
    """Trains, reports, and with --write replaces the shipped weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the shipped weights")
    arguments = parser.parse_args()
    made = train(Recipe())
    for name, data in zip(("training", "held-out"), split(), strict=True):
        right = (made.scores(data.images).argmax(axis=1) == data.labels).mean()
        print(f"{name} images  {right:.4f}")
    if arguments.write:
        path = Path(__file__).with_name("deepcnn-20.json")
        path.write_text(made.to_json() + "\n", encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
