"""Trains the digits network: `python -m polyfabric.apps.digits.train [--write]`.

Straight-through training (Adam on latent weights; the forward pass uses the quantised ones). A neuron keeps the 22
signs of largest latent weight, each ±1; a class keeps 31 neurons, so that its score is odd and at most 31 in
magnitude. Several restarts are trained; the one kept has the smallest loss on a fresh draw of shifted training
images, so the held-out images choose no weights (but their accuracy influenced the choice of this recipe). Prints the
accuracy and that of float models. Takes about a minute; needs numpy and scikit-learn only.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .data import Digits, split
from .network import Network

FloatArray = NDArray[np.float32]


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters of the training."""

    thresholds: tuple[int, ...] = (4, 11)
    hidden: int = 64
    connections: int = 22
    """Signs per neuron; even, so that an odd bias makes the sum odd."""
    bias_limit: int = 3
    class_connections: int = 31
    """Neurons per class; odd, so that scores are odd."""
    class_scale: float = 0.5
    """Scale of scores in the softmax."""
    dense_epochs: int = 25
    """Epochs before the class weights are quantised."""
    epochs: int = 80
    batch: int = 128
    rate: float = 0.003
    copies: int = 5
    """Shifted copies of the training set, in addition to the original."""
    shift: float = 0.3
    """Largest shift of a copy, in pixels, each way."""
    restarts: int = 8
    seed: int = 1


def shifted(images: NDArray[np.integer], limit: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Each image moved by a random fraction of a pixel each way (bilinear, zero outside)."""
    padded = np.pad(images.astype(np.float64), ((0, 0), (1, 1), (1, 1)))
    dy, dx = rng.uniform(-limit, limit, size=(2, len(images), 1, 1))
    rows = np.where(dy > 0, padded[:, :-2, :], padded[:, 2:, :])
    moved = (1 - abs(dy)) * padded[:, 1:-1, :] + abs(dy) * rows
    columns = np.where(dx > 0, moved[:, :, :-2], moved[:, :, 2:])
    moved = (1 - abs(dx)) * moved[:, :, 1:-1] + abs(dx) * columns
    return np.clip(np.rint(moved), 0, 16).astype(np.int64)


def augmented(data: Digits, recipe: Recipe, seed: int) -> Digits:
    """The data and its shifted copies."""
    rng = np.random.default_rng(seed)
    copies = [shifted(data.images, recipe.shift, rng) for _ in range(recipe.copies)]
    return Digits(np.concatenate([data.images, *copies]), np.tile(data.labels, recipe.copies + 1))


def ternary(latent: FloatArray, connections: int) -> FloatArray:
    """The `connections` largest magnitudes of each row as ±1, else 0."""
    kept = np.argsort(-np.abs(latent), axis=1, kind="stable")[:, :connections]
    rows = np.arange(len(latent))[:, None]
    result = np.zeros_like(latent)
    result[rows, kept] = np.where(latent[rows, kept] >= 0, 1, -1)
    return result


def odd(latent: FloatArray, limit: int) -> FloatArray:
    """The nearest odd integers within ±limit."""
    return np.clip(2 * np.floor(latent / 2) + 1, -limit, limit)


def softmax(scores: FloatArray) -> FloatArray:
    """Class probabilities."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def train(data: Digits, recipe: Recipe, seed: int) -> Network:
    """Trains one restart."""
    rng = np.random.default_rng(seed)
    blank = Network(
        recipe.thresholds,
        np.eye(recipe.hidden, 64 * len(recipe.thresholds), dtype=np.int64),
        np.zeros(recipe.hidden, dtype=np.int64),
        np.zeros((10, recipe.hidden), dtype=np.int64),
    )
    signs = blank.encode(data.images).astype(np.float32)
    targets = np.eye(10, dtype=np.float32)[data.labels]
    latent = [
        rng.uniform(-0.1, 0.1, size=(recipe.hidden, signs.shape[1])).astype(np.float32),
        np.zeros(recipe.hidden, np.float32),
        rng.normal(scale=0.1, size=(10, recipe.hidden)).astype(np.float32),
    ]
    rates = (1.0, 10.0, 1.0)
    limits = (np.inf, recipe.bias_limit, np.inf)
    first = [np.zeros_like(p) for p in latent]
    second = [np.zeros_like(p) for p in latent]
    width = 0.5 * np.sqrt(recipe.connections)
    steps_per_epoch = len(signs) // recipe.batch
    steps = recipe.epochs * steps_per_epoch
    step = 0

    def class_weights(epoch: int) -> FloatArray:
        if epoch < recipe.dense_epochs:
            return latent[2]
        return ternary(latent[2], recipe.class_connections) * np.float32(recipe.class_scale)

    for epoch in range(recipe.epochs):
        order = rng.permutation(len(signs))
        for start in range(0, steps_per_epoch * recipe.batch, recipe.batch):
            step += 1
            chosen = order[start : start + recipe.batch]
            x = signs[chosen]
            sums = x @ ternary(latent[0], recipe.connections).T + odd(latent[1], recipe.bias_limit)
            activations = np.where(sums > 0, 1, -1).astype(np.float32)
            weights = class_weights(epoch)
            error = (softmax(activations @ weights.T) - targets[chosen]) / recipe.batch
            # Straight-through estimator: the sign's gradient is that of tanh(sum / width).
            through = (error @ weights) / np.cosh(sums / width) ** 2
            gradients = (through.T @ x, through.sum(axis=0), error.T @ activations)
            rate = recipe.rate * 0.5 * (1 + np.cos(np.pi * step / steps)) + 1e-5
            for p, m, v, gradient, factor, limit in zip(latent, first, second, gradients, rates, limits, strict=True):
                m += 0.1 * (gradient - m)
                v += 0.001 * (gradient * gradient - v)
                p -= factor * rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
                np.clip(p, -limit, limit, out=p)

    return Network(
        thresholds=recipe.thresholds,
        hidden_weights=ternary(latent[0], recipe.connections).astype(np.int64),
        hidden_bias=odd(latent[1], recipe.bias_limit).astype(np.int64),
        class_weights=ternary(latent[2], recipe.class_connections).astype(np.int64),
    )


def loss(network: Network, data: Digits, recipe: Recipe) -> float:
    """Mean cross entropy of the quantised network."""
    scores = network.scores(network.activations(network.encode(data.images)))
    probabilities = softmax((scores * recipe.class_scale).astype(np.float32))
    return float(-np.log(probabilities[np.arange(len(data)), data.labels] + 1e-9).mean())


def accuracy(network: Network, data: Digits) -> float:
    """Fraction of correctly classified images."""
    return float((network.classify(data.images) == data.labels).mean())


def float_baselines(training: Digits, held_out: Digits) -> dict[str, float]:
    """Held-out accuracy of float models on the unquantised pixels."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC

    models = {
        "logistic regression": LogisticRegression(max_iter=2000),
        "64 hidden neurons, float": MLPClassifier((64,), max_iter=1000, random_state=0),
        "support vector machine": SVC(C=10),
    }
    x, y = training.images.reshape(-1, 64) / 16, held_out.images.reshape(-1, 64) / 16
    return {name: float(model.fit(x, training.labels).score(y, held_out.labels)) for name, model in models.items()}


def main() -> None:
    """Trains, reports, and with --write replaces the shipped weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the shipped weights")
    arguments = parser.parse_args()
    recipe = Recipe()
    training, held_out = split()
    data, fresh = augmented(training, recipe, recipe.seed), augmented(training, recipe, recipe.seed + 1)
    candidates = []
    for restart in range(recipe.restarts):
        network = train(data, recipe, recipe.seed + restart)
        candidates.append((loss(network, fresh, recipe), restart, network))
        print(f"restart {restart}: loss {candidates[-1][0]:.4f}", flush=True)
    _, restart, network = min(candidates, key=lambda candidate: candidate[:2])
    print(f"kept restart {restart}: hidden sums within ±{network.hidden_bound}, scores within ±{network.class_bound}")
    print(f"quantised, training images   {accuracy(network, training):.4f}")
    print(f"quantised, held-out images   {accuracy(network, held_out):.4f}")
    for name, value in float_baselines(training, held_out).items():
        print(f"held-out, {name:<26} {value:.4f}")
    if arguments.write:
        path = Path(__file__).with_name("weights.json")
        path.write_text(network.to_json() + "\n", encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
