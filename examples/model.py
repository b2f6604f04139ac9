"""A forest of scikit-learn that classifies encrypted rows: nobody but the client sees a tumour's figures, or the result.

python examples/model.py
"""

import polyfabric as pf
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split


def train() -> tuple[RandomForestClassifier, pf.models.Model, list]:
    """The model, its encrypted twin, and rows that it was not trained on."""
    rows, labels = load_breast_cancer(return_X_y=True)
    seen, unseen, known, _ = train_test_split(rows, labels, random_state=0)
    model = RandomForestClassifier(10, max_depth=4, random_state=0).fit(seen, known)
    return model, pf.from_sklearn(model, seen), unseen


if __name__ == "__main__":
    model, encrypted, unseen = train()
    print(encrypted)
    done = encrypted.run(unseen[:3])
    print("encrypted", done.predictions, "in", f"{done.seconds['execute'] / 3:.1f} s a row with", done.parameters)
    print("clear    ", model.predict(unseen[:3]))
    assert done.correct
