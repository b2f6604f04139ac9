"""A random forest of scikit-learn on an encrypted tumour."""

import polyfabric as pf
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

ROWS, LABELS = load_breast_cancer(return_X_y=True)
MODEL = RandomForestClassifier(6, max_depth=3, random_state=0).fit(ROWS[100:], LABELS[100:])
encrypted = pf.from_sklearn(MODEL, ROWS[100:], bits="exact")
program = encrypted.program
GIVEN = encrypted.encode(ROWS[:1])


def read(decrypted):
    """The class, of the decrypted sums."""
    return {"class": int(encrypted.reading.predictions(encrypted.decode(decrypted))[0])}


def clear(row):
    return {"class": int(MODEL.predict(ROWS[:1])[0])}
