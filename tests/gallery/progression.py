"""A linear regression of scikit-learn on four encrypted patients at once."""

import polyfabric as pf
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

ROWS, TARGETS = load_diabetes(return_X_y=True)
MODEL = Ridge(0.1).fit(ROWS[10:], TARGETS[10:])
encrypted = pf.from_sklearn(MODEL, ROWS[10:], batch=4)
program = encrypted.program
GIVEN = encrypted.encode(ROWS[:4])
CLOSE = 1e-3


def read(decrypted):
    """Predictions, of the decrypted slots."""
    return encrypted.reading.predictions(encrypted.decode(decrypted))


def clear(x):
    return MODEL.predict(ROWS[:4])
