"""Models that are refused beside those that their messages advise; `test_call_remedies.py` makes them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polyfabric as pf
from call_remedies import Call, call
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

ROWS, LABELS = load_iris(return_X_y=True)
TEXTS = np.where(ROWS > 3, "large", "small")
GAPS = np.where(ROWS > 7.5, np.nan, ROWS)
FAR = np.vstack([ROWS, 4 * ROWS.max(axis=0, keepdims=True)])


@cache
def linear() -> Any:
    return LogisticRegression(max_iter=500).fit(ROWS, LABELS)


def read(model: Any, rows: Any = ROWS, **options: Any) -> Any:
    return pf.from_sklearn(model, rows, **options)


def tree(**options: Any) -> Any:
    return DecisionTreeClassifier(max_depth=2, random_state=0).fit(ROWS, LABELS, **options)


@cache
def encrypted() -> Any:
    return read(linear())


@cache
def products() -> Any:
    return make_pipeline(PolynomialFeatures(), StandardScaler(), LogisticRegression(max_iter=2000)).fit(ROWS, LABELS)


class Named:
    """A table with names of columns, as those of pandas."""

    def __init__(self, rows: Any, names: str) -> None:
        self.rows, self.columns = rows, list(names)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.rows, dtype=dtype)


def named() -> Any:
    """A model that was fitted on such a table."""
    model = clone(linear()).fit(ROWS, LABELS)
    model.feature_names_in_ = np.array(list("abcd"), dtype=object)
    return model


LED = [[12.0, 0.0, 14.0, 5.0]]


@cache
def network() -> Any:
    return MLPClassifier((8,), activation="tanh", max_iter=800, random_state=0).fit(ROWS[::2], LABELS[::2])


def option(model: Any, name: str, wrong: Any, right: Any, words: str) -> Call:
    return call(lambda _: read(model(), **{name: wrong}), words, lambda _: read(model(), **{name: right}))


MODELS = [
    call(lambda _: read(StandardScaler().fit(ROWS)), "give a fitted model", lambda _: read(linear())),
    call(lambda _: read(LogisticRegression()), "call fit(X, y) first", lambda _: read(linear())),
    call(lambda _: read(LogisticRegression), "is a class; give a model of it", lambda _: read(linear())),
    call(lambda _: read(SVC().fit(ROWS, LABELS)), "train LinearSVC", lambda _: read(LinearSVC().fit(ROWS, LABELS))),
    call(lambda _: read(linear(), ROWS[:, :3]), "was fitted on 4", lambda _: read(linear(), ROWS)),
    call(
        lambda _: read(linear(), TEXTS),
        "encode categories as numbers first",
        lambda _: read(
            LogisticRegression().fit(np.where(TEXTS == "large", 1.0, 0.0), LABELS),
            np.where(TEXTS == "large", 1.0, 0.0),
        ),
    ),
    call(lambda _: read(linear(), ROWS[0]), "rows x features", lambda _: read(linear(), ROWS)),
    call(
        lambda _: read(linear(), GAPS),
        "fill them in first",
        lambda _: read(linear(), np.where(np.isnan(GAPS), np.nanmean(GAPS, axis=0), GAPS)),
    ),
    call(
        lambda _: read(products()),
        "let the client apply it before encryption, to rows that it asks for too: from_sklearn(model[1:], model[:1].transform(rows))",
        lambda _: read(products()[1:], products()[:1].transform(ROWS)),
    ),
    call(
        lambda _: read(make_pipeline(MinMaxScaler(clip=True), LogisticRegression()).fit(ROWS, LABELS)),
        "leave that option out",
        lambda _: read(make_pipeline(MinMaxScaler(), LogisticRegression()).fit(ROWS, LABELS)),
    ),
    call(
        lambda _: read(make_pipeline(PCA(2), DecisionTreeClassifier(max_depth=2)).fit(ROWS, LABELS)),
        "let the client apply it before encryption",
        lambda _: read(
            DecisionTreeClassifier(max_depth=2).fit(PCA(2).fit_transform(ROWS), LABELS), PCA(2).fit_transform(ROWS)
        ),
    ),
    call(
        lambda _: read(KNeighborsClassifier(3, weights="distance").fit(ROWS, LABELS)),
        "use weights='uniform' and the Euclidean metric",
        lambda _: read(KNeighborsClassifier(3, weights="uniform").fit(ROWS, LABELS)),
    ),
    call(
        lambda _: read(
            GradientBoostingRegressor(n_estimators=2, max_depth=2, init=LinearRegression()).fit(ROWS, ROWS[:, 0] ** 2)
        ),
        "train it with constant initial predictions",
        lambda _: read(GradientBoostingRegressor(n_estimators=2, max_depth=2).fit(ROWS, ROWS[:, 0] ** 2)),
    ),
    call(
        lambda _: read(
            HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]).fit(np.floor(ROWS), LABELS),
            np.floor(ROWS),
        ),
        "encode them as numbers before it is fitted",
        lambda _: read(HistGradientBoostingClassifier(max_iter=2).fit(np.floor(ROWS), LABELS), np.floor(ROWS)),
    ),
    option(tree, "bits", 0, 16, 'from 1 to 16, or "exact"'),
    option(tree, "bits", 0, "exact", 'from 1 to 16, or "exact"'),
    option(tree, "value_bits", 99, 6, "from 1 to 24"),
    option(tree, "value_bits", 0, 1, "from 1 to 24"),
    option(tree, "degree", 31, 15, "trees have no activations: leave it out"),
    option(tree, "margin", 1, 1.5, "trees have no activations: leave it out"),
    option(linear, "bits", 4, 8, "that is of trees, and this model is of matrices: leave it out"),
    option(linear, "value_bits", 4, None, "that is of trees, and this model is of matrices: leave it out"),
    call(
        lambda _: read(linear(), csr_matrix(ROWS)),
        "all their numbers are encrypted; give rows.toarray()",
        lambda _: read(linear(), csr_matrix(ROWS).toarray()),
    ),
    call(
        lambda _: encrypted().predict([[5, 1, 1, 1], [5, 1]]),
        "and give all rows as many",
        lambda _: encrypted().predict([[5, 1, 1, 1], [5, 1, 1, 1]]),
    ),
    call(
        lambda _: read(named(), Named(ROWS, "dcba")).clear(Named(ROWS, "dcba")),
        "the rows have the columns ['d', 'c', 'b', 'a'], but the model was fitted on ['a', 'b', 'c', 'd']; give these, in this order",
        lambda _: read(named(), Named(ROWS, "abcd")).clear(Named(ROWS, "abcd")),
    ),
    call(
        lambda _: encrypted().encode(ROWS[:2]),
        "2 rows, and one execution takes up to 1; encode them 1 at a time, or give them to .run or .predict",
        lambda _: (encrypted().encode(ROWS[:1]), encrypted().predict(ROWS[:2])),
    ),
    call(
        lambda _: read(tree()).encode(ROWS[:2]),
        "2 rows, and one execution takes up to 1",
        lambda _: read(tree()).encode(ROWS[1:2]),
    ),
    option(tree, "batch", 2, 1, "leave it out"),
    option(linear, "margin", 0.5, 1.0, "a number from 1"),
    option(linear, "degree", 1, 2, "from 2 to 255"),
    call(
        lambda _: encrypted().predict(TEXTS[:1]),
        "encode categories as numbers first",
        lambda _: encrypted().predict(ROWS[:1]),
    ),
    call(
        lambda _: encrypted().predict(ROWS[:1, :3]),
        "the model takes rows x 4 features",
        lambda _: encrypted().predict(ROWS[:1]),
    ),
    call(
        lambda _: encrypted().predict([[np.nan, 1, 1, 1]]),
        "fill it in first",
        lambda _: encrypted().predict([[5, 1, 1, 1]]),
    ),
    call(
        lambda _: encrypted().predict(np.ma.masked_array(ROWS[:1], [[1, 0, 0, 0]])),
        "some values of the rows are masked; fill them in first",
        lambda _: encrypted().predict(np.ma.masked_array(ROWS[:1], [[1, 0, 0, 0]]).filled(5)),
    ),
    call(
        lambda _: encrypted().predict(ROWS[:1] + 1j),
        "have imaginary parts, which no model reads; give real numbers",
        lambda _: encrypted().predict((ROWS[:1] + 1j).real),
    ),
    call(
        lambda _: encrypted().predict(None),
        "the rows are one value, but the model takes rows x 4 features",
        lambda _: encrypted().predict(ROWS[:1]),
    ),
    call(
        lambda _: encrypted().predict(FAR[-1:]),
        "read it again with rows that reach as far",
        lambda _: read(linear(), FAR).predict(FAR[-1:]),
    ),
    call(
        lambda _: read(network(), ROWS[::2]).predict(LED),
        "read the model again with rows like this one, or with a larger margin=",
        lambda _: (
            read(network(), np.vstack([ROWS[::2], LED])).predict(LED),
            read(network(), ROWS[::2], margin=3, degree=31).predict(LED),
        ),
    ),
    call(
        lambda _: read(LinearSVC().fit(ROWS, LABELS)).predict_proba(ROWS[:1]),
        "use predictions",
        lambda _: read(LinearSVC().fit(ROWS, LABELS)).predict(ROWS[:1]),
    ),
    call(
        lambda _: read(DecisionTreeClassifier().fit(ROWS, np.zeros(len(ROWS)))),
        "train it on rows of two at least",
        lambda _: read(tree()),
    ),
    call(
        lambda _: read(DecisionTreeRegressor().fit(ROWS, np.zeros(len(ROWS)))),
        "train it on rows whose results differ",
        lambda _: read(DecisionTreeRegressor(max_depth=1).fit(ROWS, ROWS[:, 0])),
    ),
    call(
        lambda _: read(tree(), ROWS[5:10]),
        'give rows on both sides of its thresholds, or bits="exact"',
        lambda _: (read(tree(), ROWS), read(tree(), ROWS[5:10], bits="exact")),
    ),
    *[
        call(
            lambda _, several=several: read(several.fit(ROWS, np.stack([LABELS > 0, LABELS > 1], axis=1))),
            "fit one model a target",
            lambda _, several=several: [read(clone(several).fit(ROWS, target)) for target in (LABELS > 0, LABELS > 1)],
        )
        for several in (DecisionTreeClassifier(max_depth=2), MLPClassifier((4,), activation="tanh", max_iter=100))
    ],
]
