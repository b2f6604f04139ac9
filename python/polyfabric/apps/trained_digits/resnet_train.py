"""Trains the residual network of digits: `python -m polyfabric.apps.trained_digits.resnet_train [--write]`.

Adam on the mean cross entropy, with the very rectifier that runs under encryption: x·(1 + sign x)/2 by composed minimax polynomials, whose interval ends
at 1. The loss penalises layer outputs above `Recipe.edge`, so that images stay within it. Training keeps the epoch with the fewest errors on a
fresh draw of shifted training images, so the held-out images choose no weights (but their accuracy and the bound of a run influenced this
recipe). Half a minute on one core; numpy and scikit-learn only.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from ..digits.data import split
from ..digits.train import Recipe as Shifts
from ..digits.train import augmented, softmax
from ..multiplexed import Array
from ..resnet20 import Layer, Weights
from .resnet import FILE, SHAPE, Rectifier, classes, largest, pixels


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters of the training."""

    score: float = 60.0
    """Scale of scores in the softmax."""
    edge: float = 0.8
    """Magnitude from which the loss penalises numbers."""
    punishment: float = 30.0
    most: float = 0.95
    """Largest input of a rectifier for shifted images with which training keeps an epoch."""
    cap: float = 4.0
    """Largest sum of a filter's magnitudes. Errors grow by this factor, so it limits the bound of a run."""
    epochs: int = 10
    batch: int = 64
    rate: float = 0.008
    copies: int = 1
    seed: int = 1


def _patches(images: Array, stride: int) -> Array:
    """The input of each window, images x side x side x (channels·9)."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    seen = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::stride, ::stride]
    count, channels, height, width = seen.shape[:4]
    moved: Array = seen.transpose(0, 2, 3, 1, 4, 5).reshape(count, height, width, channels * 9)
    return moved


def _unpatched(gradient: Array, shape: tuple[int, ...], stride: int) -> Array:
    """The gradient of images from that of their `_patches`."""
    count, channels, height, width = shape
    rows, columns = gradient.shape[1:3]
    parts = gradient.reshape(count, rows, columns, channels, 3, 3)
    padded = np.zeros((count, channels, height + 2, width + 2))
    for y, x in np.ndindex(3, 3):
        padded[:, :, y : y + stride * rows : stride, x : x + stride * columns : stride] += parts[..., y, x].transpose(
            0, 3, 1, 2
        )
    return padded[:, :, 1:-1, 1:-1]


class Pass:
    """One pass through the network, and back."""

    def __init__(self, weights: list[Array], images: Array, recipe: Recipe, rectifier: Rectifier) -> None:
        self.weights, self.recipe, self.rectifier = weights, recipe, rectifier
        self.steps: list[tuple[Array, tuple[int, ...], int, Array]] = []
        value = self._rectified(self._convolved(images, 0, 1))
        self.shortcuts = []
        for place, (stage, block) in enumerate(SHAPE.places):
            _, stride = SHAPE.before(stage, block)
            inner = self._rectified(self._convolved(value, 1 + 2 * place, stride))
            outer = self._convolved(inner, 2 + 2 * place, 1)
            added = (SHAPE.channels[stage] - value.shape[1]) // 2
            shortcut = np.pad(value[:, :, ::stride, ::stride], ((0, 0), (added, added), (0, 0), (0, 0)))
            self.shortcuts.append((value.shape, stride, added))
            value = self._rectified(outer + shortcut)
        self.last = value
        self.scores = value.mean((2, 3)) @ weights[-2].T + weights[-1]

    def _convolved(self, images: Array, layer: int, stride: int) -> Array:
        seen = _patches(images, stride)
        kernels, bias = self.weights[2 * layer], self.weights[2 * layer + 1]
        self.steps.append((seen, images.shape, stride, np.empty(0)))
        made: Array = (seen @ kernels.reshape(len(kernels), -1).T + bias).transpose(0, 3, 1, 2)
        return made

    def _rectified(self, sums: Array) -> Array:
        self.steps[-1] = (*self.steps[-1][:3], sums)
        return self.rectifier(sums)

    def gradients(self, targets: Array) -> list[Array]:
        """The gradient of the loss by each weight."""
        count = len(targets)
        found = [np.empty(0)] * len(self.weights)
        error = (softmax(self.scores * self.recipe.score) - targets) / count * self.recipe.score
        found[-2], found[-1] = error.T @ self.last.mean((2, 3)), error.sum(0)
        side = self.last.shape[-1]
        back = np.broadcast_to((error @ self.weights[-2])[:, :, None, None] / side**2, self.last.shape)
        for place in reversed(range(len(SHAPE.places))):
            shape, stride, added = self.shortcuts[place]
            through = self._before_rectifier(back, 2 + 2 * place)
            back = self._before_convolution(through, 2 + 2 * place, found)
            back = self._before_convolution(self._before_rectifier(back, 1 + 2 * place), 1 + 2 * place, found)
            back = back.copy()
            back[:, :, ::stride, ::stride] += through[:, added : added + shape[1]]
        self._before_convolution(self._before_rectifier(back, 0), 0, found)
        return found

    def _before_rectifier(self, back: Array, layer: int) -> Array:
        sums = self.steps[layer][3]
        beyond = np.sign(sums) * np.maximum(np.abs(sums) - self.recipe.edge, 0)
        made: Array = back * self.rectifier.slope(sums) + self.recipe.punishment * beyond / len(sums)
        return made

    def _before_convolution(self, back: Array, layer: int, found: list[Array]) -> Array:
        seen, shape, stride, _ = self.steps[layer]
        moved = back.transpose(0, 2, 3, 1)
        flat = moved.reshape(-1, moved.shape[-1])
        kernels = self.weights[2 * layer]
        found[2 * layer] = (flat.T @ seen.reshape(len(flat), -1)).reshape(kernels.shape)
        found[2 * layer + 1] = flat.sum(0)
        return _unpatched(moved @ kernels.reshape(len(kernels), -1), shape, stride)


def network(weights: list[Array]) -> Weights:
    """The network of those weights."""
    layers = [Layer(weights[at], weights[at + 1]) for at in range(0, len(weights) - 2, 2)]
    blocks = tuple((layers[at], layers[at + 1]) for at in range(1, len(layers), 2))
    return Weights(layers[0], blocks, weights[-2], weights[-1])


def flat(made: Weights) -> list[Array]:
    """The weights of a network."""
    layers = [made.stem, *(layer for block in made.blocks for layer in block)]
    return [*(array for layer in layers for array in (layer.kernels, layer.bias)), made.scores, made.bias]


def train(recipe: Recipe) -> Weights:
    """Trains, and returns the best epoch's network."""
    shifts, rectifier = Shifts(copies=recipe.copies), Rectifier(SHAPE)
    training = split()[0]
    data, fresh = augmented(training, shifts, recipe.seed), augmented(training, shifts, recipe.seed + 1)
    images, targets = pixels(data.images), np.eye(10)[data.labels]
    rng = np.random.default_rng(recipe.seed)
    weights = [array.copy() for array in flat(Weights.drawn(SHAPE, recipe.seed))]
    first, second = ([np.zeros_like(p) for p in weights] for _ in range(2))
    per_epoch = len(images) // recipe.batch
    steps, step, best = recipe.epochs * per_epoch, 0, (np.inf, network(weights))
    for epoch in range(recipe.epochs):
        order = rng.permutation(len(images))
        for start in range(0, per_epoch * recipe.batch, recipe.batch):
            step += 1
            chosen = order[start : start + recipe.batch]
            found = Pass(weights, images[chosen], recipe, rectifier).gradients(targets[chosen])
            rate = recipe.rate * 0.5 * (1 + np.cos(np.pi * step / steps)) + 1e-5
            for p, m, v, gradient in zip(weights, first, second, found, strict=True):
                m += 0.1 * (gradient - m)
                v += 0.001 * (gradient * gradient - v)
                p -= rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
                if p.ndim == 4:
                    p *= np.minimum(1, recipe.cap / np.abs(p).sum((1, 2, 3), keepdims=True))
        made = network([array.copy() for array in weights])
        seen = Pass(weights, pixels(fresh.images), recipe, rectifier)
        wrong = float((seen.scores.argmax(1) != fresh.labels).mean())
        inside = max(float(np.abs(sums).max()) for *_, sums in seen.steps)
        if inside < recipe.most:
            best = min(best, (wrong, made), key=lambda kept: kept[0])
        print(f"epoch {epoch}: {wrong:.4f} of shifted images wrong, numbers up to {inside:.3f}", flush=True)
    return best[1]


def main() -> None:
    """Trains, reports, and with --write replaces the shipped weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the shipped weights")
    arguments = parser.parse_args()
    made = train(Recipe())
    for name, data in zip(("training", "held-out"), split(), strict=True):
        right = (classes(made, data.images) == data.labels).mean()
        print(f"{name} images  {right:.4f} right, numbers up to {largest(made, data.images):.3f}")
    if arguments.write:
        FILE.write_text(made.to_json() + "\n", encoding="utf-8")
        print(f"wrote {FILE}")


if __name__ == "__main__":
    main()
