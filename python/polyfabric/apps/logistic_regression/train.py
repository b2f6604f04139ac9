"""Trains the logistic regression in the clear: `python -m polyfabric.apps.logistic_regression.train [--write]`.

The regularisation is the strongest whose accuracy in five-fold cross-validation on the training rows is within one
standard error of the best: strong regularisation keeps the logits small, and so the polynomial sigmoid cheap. The
held-out rows choose nothing. Takes seconds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from .data import Tumours, split
from .model import Model

STRENGTHS = tuple(float(c) for c in np.geomspace(0.05, 50, 13))
"""Candidate inverse strengths of regularisation."""


def train(training: Tumours) -> Model:
    """Trains the model on the training rows."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score

    means, deviations = training.measurements.mean(axis=0), training.measurements.std(axis=0)
    blank = Model(means.tolist(), deviations.tolist(), [], 0.0, 0.0)
    encoded = blank.encode(training.measurements)

    def scores(c: float) -> tuple[float, float]:
        folds = cross_val_score(LogisticRegression(C=c, max_iter=10_000), encoded, training.labels, cv=5)
        return float(folds.mean()), float(folds.std(ddof=1) / np.sqrt(len(folds)))

    tried = {c: scores(c) for c in STRENGTHS}
    best, error = max(tried.values())
    chosen = min(c for c, (mean, _) in tried.items() if mean >= best - error)
    fitted = LogisticRegression(C=chosen, max_iter=10_000).fit(encoded, training.labels)
    weights, bias = fitted.coef_[0], float(fitted.intercept_[0])
    reach = 1.1 * float(np.abs(encoded @ weights + bias).max())
    return Model(means.tolist(), deviations.tolist(), weights.tolist(), bias, reach)


def accuracy(model: Model, tumours: Tumours) -> float:
    """Fraction of correctly classified tumours."""
    benign = model.logits(model.encode(tumours.measurements)) > 0
    return float((benign == tumours.labels).mean())


def main() -> None:
    """Trains, reports, and with --write replaces the shipped weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the shipped weights")
    arguments = parser.parse_args()
    training, held_out = split()
    model = train(training)
    print(f"logits of the training rows   within ±{model.reach / 1.1:.2f}")
    print(f"training rows, right          {accuracy(model, training):.4f}")
    print(f"held-out rows, right          {accuracy(model, held_out):.4f}")
    if arguments.write:
        path = Path(__file__).with_name("weights.json")
        path.write_text(model.to_json() + "\n", encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
