"""Models of scikit-learn and ONNX predict the same on encrypted rows; unsupported models are refused with a remedy."""

from __future__ import annotations

import importlib.util
import itertools
import re
import runpy
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.models.forest import Ensemble, Grid, Tree
from polyfabric.models.scikit import SUPPORTED
from rejects import rejects
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    SGDClassifier,
    SGDRegressor,
    TweedieRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

ROOT = Path(__file__).resolve().parent.parent.parent
IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


def fitted(model: Any, data: Any) -> tuple[Any, Any, Any]:
    """The model fitted on every second row, those rows, and the others."""
    rows, labels = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(rows[::2], labels[::2]), rows[::2], rows[1::2]


LINEAR = {
    "logistic": (make_pipeline(StandardScaler(), LogisticRegression()), CANCER, 4),
    "logistic, three classes": (LogisticRegression(max_iter=500), IRIS, 1),
    "stochastic gradient": (make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=0)), CANCER, 1),
    "support vectors": (LinearSVC(), IRIS, 2),
    "centers": (KMeans(3, n_init=2, random_state=0), IRIS, 2),
    "centroids": (NearestCentroid(), IRIS, 2),
    "discriminant": (LinearDiscriminantAnalysis(), IRIS, 1),
    "neighbours": (KNeighborsClassifier(3), IRIS, 1),
    "least squares": (LinearRegression(), DIABETES, 8),
    "least squares of a column": (LinearRegression(), (DIABETES[0], DIABETES[1][:, None]), 4),
    "ridge on components": (make_pipeline(make_pipeline(MinMaxScaler(), PCA(5)), Ridge()), DIABETES, 1),
    "lasso": (Lasso(0.1), DIABETES, 1),
    "elastic net": (ElasticNet(0.001), DIABETES, 1),
    "support vector regression": (LinearSVR(random_state=0), DIABETES, 1),
    "stochastic gradient regression": (SGDRegressor(random_state=0), DIABETES, 1),
    "Poisson": (PoissonRegressor(), DIABETES, 1),
    "gamma": (GammaRegressor(), DIABETES, 1),
    "Tweedie": (TweedieRegressor(power=1.5), DIABETES, 1),
}


@pytest.mark.parametrize("name", LINEAR)
def test_a_linear_model_predicts_as_itself(name: str) -> None:
    unfitted, data, batch = LINEAR[name]
    model, seen, unseen = fitted(unfitted, data)
    encrypted = pf.from_sklearn(model, seen, batch=batch)
    done = encrypted.run(unseen[:5])
    assert done.correct
    assert encrypted.fidelity.equal == 1
    own = model.predict(unseen[:5])
    if own.dtype.kind == "f":
        np.testing.assert_allclose(done.predictions, own, rtol=1e-5)
    else:
        assert done.predictions.tolist() == own.tolist()


def test_probabilities_are_the_models() -> None:
    for data in (IRIS, CANCER):
        model, seen, unseen = fitted(make_pipeline(StandardScaler(), LogisticRegression()), data)
        found = pf.from_sklearn(model, seen, batch=4).predict_proba(unseen[:4])
        np.testing.assert_allclose(found, model.predict_proba(unseen[:4]), atol=1e-5)
    with pytest.raises(pf.errors.InputError):
        pf.from_sklearn(fitted(LinearSVC(), IRIS)[0], IRIS[0]).predict_proba(IRIS[0][:1])


@pytest.mark.parametrize("algorithm", ["auto", "brute", "ball_tree"])
def test_neighbours_vote_as_the_models_where_none_are_equally_near(algorithm: str) -> None:
    """With ties, the class is one of those that the votes allow."""
    for data in (IRIS, load_wine(return_X_y=True)):
        for count in (1, 2, 4, 5, 10):
            model, seen, unseen = fitted(KNeighborsClassifier(count, algorithm=algorithm), data)
            encrypted = pf.from_sklearn(model, seen)
            rows = np.concatenate([seen, unseen])
            distances = ((rows[:, None] - seen[None]) ** 2).sum(axis=2)
            labels, found, own = model.classes_[model._y], encrypted.clear(rows), model.predict(rows)
            for row, near in enumerate(distances):
                farthest = np.sort(near)[count - 1]
                sure, last = np.flatnonzero(near < farthest - 1e-9), np.flatnonzero(abs(near - farthest) < 1e-9)
                choices = itertools.islice(itertools.combinations(last, count - len(sure)), 2000)
                possible = {int(np.argmax(np.bincount(labels[[*sure, *choice]]))) for choice in choices}
                assert found[row] in possible
                assert len(possible) > 1 or found[row] == own[row]


def test_equally_near_neighbours_encrypted() -> None:
    model, seen, unseen = fitted(KNeighborsClassifier(), IRIS)
    encrypted = pf.from_sklearn(model, seen)
    open_rows = unseen[encrypted.reading.is_open(encrypted.clear_scores(unseen))][:3]
    assert len(open_rows)
    done = encrypted.run(open_rows)
    assert done.correct
    assert done.predictions.tolist() == encrypted.clear(open_rows).tolist()


@pytest.mark.parametrize("options", [{}, {"max_features": 2, "contamination": 0.1}])
def test_isolation_finds_the_models_outliers(options: dict[str, Any]) -> None:
    rows = np.random.default_rng(0).normal(size=(200, 3))
    rows[:20] *= 4
    model = IsolationForest(n_estimators=10, max_samples=32, random_state=0, **options).fit(rows)
    exact = pf.from_sklearn(model, rows, bits="exact", value_bits=16)
    assert exact.clear(rows).tolist() == model.predict(rows).tolist()
    assert exact.fidelity.equal == 1
    assert pf.from_sklearn(model, rows).fidelity.equal >= 0.97


def test_the_fidelity_of_a_regressor_is_a_share_of_its_range() -> None:
    model, seen, _ = fitted(RandomForestRegressor(3, max_depth=3, random_state=0), DIABETES)
    found = pf.from_sklearn(model, seen).fidelity
    assert found.range == pytest.approx(np.ptp(model.predict(seen)))
    assert f"{found.deviation / found.range:.2%}" in str(found)


CLASSIFIERS = {
    "tree": (DecisionTreeClassifier(max_depth=4, random_state=0), IRIS),
    "forest": (RandomForestClassifier(5, max_depth=3, random_state=0), IRIS),
    "extra trees": (ExtraTreesClassifier(4, max_depth=3, random_state=0), CANCER),
    "fully grown forest": (RandomForestClassifier(3, random_state=0), CANCER),
    "boosted": (GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=0), CANCER),
    "boosted, three classes": (GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0), IRIS),
    "histograms": (HistGradientBoostingClassifier(max_iter=4, max_depth=3, random_state=0), CANCER),
    "tree behind a scaler": (
        make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3, random_state=0)),
        IRIS,
    ),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_trees_with_exact_thresholds_predict_as_themselves(name: str) -> None:
    unfitted, data = CLASSIFIERS[name]
    model, seen, unseen = fitted(unfitted, data)
    encrypted = pf.from_sklearn(model, seen, bits="exact")
    # On every row in the clear, on two of different classes encrypted.
    assert np.mean(encrypted.clear(unseen) == model.predict(unseen)) >= 0.99
    labels = model.predict(unseen)
    rows = unseen[[int(np.argmax(labels == label)) for label in np.unique(labels)[:2]]]
    done = encrypted.run(rows)
    assert done.correct
    assert done.predictions.tolist() == model.predict(rows).tolist()


REGRESSORS = {
    "tree": DecisionTreeRegressor(max_depth=4, random_state=0),
    "forest": RandomForestRegressor(3, max_depth=3, random_state=0),
    "boosted": GradientBoostingRegressor(n_estimators=5, max_depth=2, random_state=0),
    "histograms": HistGradientBoostingRegressor(max_iter=3, max_depth=3, random_state=0),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_regression_trees_are_as_close_as_they_say(name: str) -> None:
    model, seen, unseen = fitted(REGRESSORS[name], DIABETES)
    encrypted = pf.from_sklearn(model, seen, bits="exact")
    assert encrypted.fidelity.equal == 1
    done = encrypted.run(unseen[:1])
    assert done.correct
    assert abs(done.predictions[0] - model.predict(unseen[:1])[0]) <= 2 * encrypted.fidelity.deviation


def test_features_of_few_bits_cost_accuracy_and_the_fidelity_says_so() -> None:
    model, seen, unseen = fitted(RandomForestClassifier(10, max_depth=4, random_state=0), CANCER)
    shares = {}
    for bits in (1, 8):
        encrypted = pf.from_sklearn(model, seen, bits=bits)
        assert encrypted.fidelity.equal == np.mean(encrypted.clear(seen) == model.predict(seen))
        shares[bits] = np.mean(encrypted.clear(unseen) == model.predict(unseen))
    assert shares[1] < 0.9 < 0.98 <= shares[8]


def test_wide_features_are_compared_digit_by_digit() -> None:
    # A stump on each of three features; 7 bits are several digits of 2, 3 or 4 bits.
    threshold = np.array([36.5, 0.0, 0.0])
    trees = tuple(
        Tree(np.array([f, -1, -1]), threshold + 20 * f, np.array([1, -1, -1]), np.array([2, -1, -1]), np.eye(3)[:, 2:])
        for f in range(3)
    )
    ensemble = Ensemble(trees, np.zeros(1), 3)
    grid = Grid.uniform(np.array([[0.0, 0, 0], [100, 100, 100]]), 7)
    from polyfabric.models.forest import EncryptedForest, Layout, encode

    forest = EncryptedForest.of(ensemble, grid, 5)
    rows = np.array([[f, f, f] for f in range(101)])
    expected = (rows[:, 0] > 36.5).astype(int) + (rows[:, 1] > 56.5) + (rows[:, 2] > 76.5)
    for digit_bits in (2, 3, 4):
        layout = Layout(digit_bits, (0, 0, 0))
        program = forest.program(layout)
        found = [program.clear(row=encode(row, grid.levels, digit_bits))[0] for row in rows]
        assert found == expected.tolist() == forest.evaluate(rows)[:, 0].tolist()


@pytest.mark.parametrize("length", [15, 16, 17, 40])
def test_long_paths_are_read_in_parts(length: int) -> None:
    # A row leaves the chain at its first feature that is 0; two chains share their beginnings.
    inner = np.arange(length)
    feature = np.concatenate([inner, np.full(length + 1, -1)])
    left, right = np.full((2, 2 * length + 1), -1)
    left[:length], right[:length] = length + inner, inner + 1
    right[length - 1] = 2 * length
    values = np.arange(2 * length + 1)[:, None] % 3
    tree = Tree(feature, np.full(2 * length + 1, 0.5), left, right, values)
    ensemble = Ensemble((tree, tree), np.zeros(1), length)
    grid = Grid.uniform(np.array([[0.0] * length, [1.0] * length]), 4)
    from polyfabric.models.forest import EncryptedForest, Layout

    forest = EncryptedForest.of(ensemble, grid, 5)
    program = forest.program(Layout(4, (0, 0)))
    rows = np.tril(np.ones((length + 1, length), dtype=int), -1)
    found = [program.clear(row=row.tolist())[0] for row in rows]
    assert found == [2 * int(values[min(length + reached, 2 * length), 0]) for reached in range(length + 1)]
    assert found == forest.evaluate(rows)[:, 0].tolist()


NETWORKS = {
    "rectifiers": (make_pipeline(StandardScaler(), MLPClassifier((12,), max_iter=600, random_state=0)), IRIS, 15),
    "hyperbolic tangents": (
        make_pipeline(StandardScaler(), MLPClassifier((8, 6), activation="tanh", max_iter=900, random_state=0)),
        IRIS,
        15,
    ),
    "two classes": (
        make_pipeline(StandardScaler(), MLPClassifier((6,), activation="logistic", max_iter=300, random_state=0)),
        CANCER,
        7,
    ),
    "regression": (
        make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(8,), max_iter=2000, random_state=0)),
        DIABETES,
        31,
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_predicts_nearly_as_itself(name: str) -> None:
    unfitted, data, degree = NETWORKS[name]
    model, seen, unseen = fitted(unfitted, data)
    encrypted = pf.from_sklearn(model, seen, degree=degree, batch=2)
    assert encrypted.fidelity.equal >= 0.95
    done = encrypted.run(unseen[:3])
    assert done.correct
    if done.predictions.dtype.kind == "f":
        np.testing.assert_allclose(done.predictions, model.predict(unseen[:3]), atol=2 * encrypted.fidelity.deviation)
    else:
        assert done.predictions.tolist() == model.predict(unseen[:3]).tolist()


@pytest.mark.parametrize("classes", [2, 3])
def test_xgboost_is_read(classes: int) -> None:
    xgboost = pytest.importorskip("xgboost")
    model, seen, unseen = fitted(xgboost.XGBClassifier(n_estimators=3, max_depth=2), CANCER if classes == 2 else IRIS)
    encrypted = pf.from_sklearn(model, seen, bits="exact", value_bits=12)
    assert np.array_equal(encrypted.clear(unseen), model.predict(unseen))
    done = encrypted.run(unseen[:1])
    assert done.correct
    assert done.predictions.tolist() == model.predict(unseen[:1]).tolist()
    regressor, seen, unseen = fitted(xgboost.XGBRegressor(n_estimators=3, max_depth=3), DIABETES)
    assert pf.from_sklearn(regressor, seen, bits="exact").fidelity.equal == 1


def test_keys_of_one_run_serve_the_next() -> None:
    model, seen, unseen = fitted(LogisticRegression(max_iter=500), IRIS)
    encrypted = pf.from_sklearn(model, seen)
    first = encrypted.run(unseen[:1])
    second = encrypted.run(unseen[1:2], keys=first.keys)
    assert second.correct
    assert "keys" not in second.seconds


def test_the_page_runs_as_it_stands() -> None:
    pytest.importorskip("onnx")
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    blocks = re.findall(r"(<!-- needs torch -->\n)?```python\n(.*?)```", page, re.S)
    assert len(blocks) == 4
    scope: dict[str, Any] = {}
    for needs_torch, block in blocks:
        if not needs_torch or importlib.util.find_spec("torch"):
            exec(block, scope)


@pytest.mark.full
def test_the_example_runs() -> None:
    example = runpy.run_path(str(ROOT / "examples" / "model.py"))
    model, encrypted, unseen = example["train"]()
    assert encrypted.fidelity.equal > 0.98
    done = encrypted.run(unseen[:1])
    assert done.correct
    assert done.predictions.tolist() == model.predict(unseen[:1]).tolist()


def test_rows_beyond_those_that_a_model_was_read_with_are_refused_with_what_takes_them() -> None:
    far = [[100.0, 2.0, 3.0, 4.0]]
    model, seen, _ = fitted(LogisticRegression(max_iter=500), IRIS)
    with rejects(pf.errors.InputError, "0", "1", "100"):
        pf.from_sklearn(model, seen, batch=2).predict([seen[0], *far])
    again = pf.from_sklearn(model, np.vstack([seen, far]))
    assert again.predict(far) == model.predict(far)

    led = [[12.0, 0.0, 14.0, 5.0]]
    model, seen, _ = fitted(MLPClassifier((8,), activation="tanh", max_iter=800, random_state=0), IRIS)
    with rejects(pf.errors.InputError, "0"):
        pf.from_sklearn(model, seen).predict(led)
    for taken in (pf.from_sklearn(model, seen, margin=3, degree=31), pf.from_sklearn(model, np.vstack([seen, led]))):
        assert taken.predict(led) == model.predict(led)


def test_of_a_search_the_best_is_taken() -> None:
    search, seen, held = fitted(GridSearchCV(LogisticRegression(max_iter=500), {"C": [0.1, 1.0]}), IRIS)
    encrypted = pf.from_sklearn(search, seen)
    assert encrypted.name == "LogisticRegression"
    assert list(encrypted.predict(held[:2])) == list(search.predict(held[:2]))
    for unfitted in (
        GridSearchCV(LogisticRegression(), {"C": [1.0]}),
        GridSearchCV(LogisticRegression(max_iter=500), {"C": [1.0]}, refit=False).fit(*IRIS),
    ):
        with rejects(pf.errors.ProgramError, "refit=True"):
            pf.from_sklearn(unfitted, seen)


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unfitted", "remedy"),
    [
        (SVC(), "train LinearSVC"),
        (GaussianNB(), "train LogisticRegression"),
        (OneVsRestClassifier(LogisticRegression(max_iter=500)), "train the classifier in it"),
        (
            make_pipeline(PolynomialFeatures(), LogisticRegression(max_iter=2000)),
            "let the client apply it before encryption",
        ),
        (KNeighborsClassifier(3, weights="distance"), "use weights='uniform'"),
    ],
    ids=["kernel", "Bayes", "one against the rest", "features", "weights"],
)
def test_what_is_not_computed_is_refused_with_what_is(unfitted: Any, remedy: str) -> None:
    model, seen, _ = fitted(unfitted, IRIS)
    with pytest.raises(pf.errors.ProgramError, match=remedy):
        pf.from_sklearn(model, seen)


@pytest.mark.parametrize("unfitted", [MLPClassifier((2,), max_iter=5), DecisionTreeClassifier(max_depth=1)])
def test_a_classifier_of_several_targets_is_refused(unfitted: Any) -> None:
    rows, labels = IRIS
    model, seen, _ = fitted(unfitted, (rows, np.stack([labels > 0, labels > 1], axis=1)))
    with pytest.raises(pf.errors.ProgramError):
        pf.from_sklearn(model, seen)


def test_every_model_named_as_a_remedy_is_supported() -> None:
    from polyfabric.models.scikit import INSTEAD

    for remedy in INSTEAD.values():
        named = [word for word in re.findall(r"\w+", remedy) if word[0].isupper() and word in SUPPORTED]
        assert named or "its members" in remedy or "the best estimator" in remedy or "the classifier in it" in remedy


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"bits": 0}, ("bits=0", "1", "16", '"exact"')),
        ({"bits": 40}, ("bits=40", "1", "16")),
        ({"value_bits": 99}, ("value_bits=99", "1", "24")),
        ({"batch": 2}, ("batch=2",)),
    ],
)
def test_options_of_trees_are_checked(options: dict[str, Any], values: tuple[str, ...]) -> None:
    model, seen, _ = fitted(DecisionTreeClassifier(max_depth=2), IRIS)
    with rejects(pf.errors.InputError, *values):
        pf.from_sklearn(model, seen, **options)


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"degree": 1}, ("degree=1", "2", "255")),
        ({"margin": 0.5}, ("margin=0.5", "1")),
        ({"batch": 0}, ("batch=0", "1")),
    ],
)
def test_options_of_networks_are_checked(options: dict[str, Any], values: tuple[str, ...]) -> None:
    model, seen, _ = fitted(LogisticRegression(max_iter=500), IRIS)
    with rejects(pf.errors.InputError, *values):
        pf.from_sklearn(model, seen, **options)


def test_rows_that_do_not_fit_are_refused() -> None:
    model, seen, _ = fitted(LogisticRegression(max_iter=500), IRIS)
    encrypted = pf.from_sklearn(model, seen)
    with rejects(pf.errors.InputError, "4"):
        encrypted.predict([[1.0, 2.0, 3.0]])
    with rejects(pf.errors.InputError, "0"):
        encrypted.predict([[1.0, 2.0, 3.0, np.nan]])
    with rejects(pf.errors.InputError, "3", "LogisticRegression", "4"):
        pf.from_sklearn(model, seen[:, :3])
    with rejects(pf.errors.InputError, "LogisticRegression"):
        pf.from_sklearn(LogisticRegression(), seen)
    with pytest.raises(pf.errors.InputError):
        pf.from_sklearn(StandardScaler().fit(seen), seen)


def test_an_initial_estimator_that_is_not_constant_is_refused() -> None:
    model, seen, _ = fitted(GradientBoostingRegressor(n_estimators=2, max_depth=2, init=LinearRegression()), DIABETES)
    with pytest.raises(pf.errors.ProgramError):
        pf.from_sklearn(model, seen)


# -- ONNX ---------------------------------------------------------------------------------------------------------------


def onnx_model(nodes: list[Any], numbers: dict[str, Any], shape: tuple[int, ...], outputs: list[str]) -> Any:
    """A model in ONNX with these nodes and weights, of inputs of this shape."""
    onnx = pytest.importorskip("onnx")
    floats = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        nodes,
        "net",
        [onnx.helper.make_tensor_value_info("x", floats, ["rows", *shape])],
        [onnx.helper.make_tensor_value_info(name, floats, None) for name in outputs],
        [onnx.numpy_helper.from_array(np.asarray(value, dtype=np.float32), name) for name, value in numbers.items()],
    )
    versions = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("ai.onnx.ml", 3)]
    return onnx.helper.make_model(graph, opset_imports=versions)


def node(*arguments: Any, **attributes: Any) -> Any:
    return pytest.importorskip("onnx").helper.make_node(*arguments, **attributes)


def own_outputs(model: Any, rows: Any) -> list[Any]:
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(model).run(None, {"x": np.asarray(rows, dtype=np.float32)})


def convolution() -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    nodes = [
        node("Conv", ["x", "kernel", "bias"], ["c"], pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["n"]),
        node("Relu", ["n"], ["r"]),
        node("AveragePool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["p"], ["f"]),
        node("Gemm", ["f", "weights", "last"], ["g"], transB=1),
        node("Softmax", ["g"], ["y"]),
    ]
    numbers = {
        "kernel": random.normal(size=(2, 1, 3, 3)),
        "bias": random.normal(size=2),
        **{"scale": [1, 0.5], "shift": [0.1, 0], "mean": [0, 0.1], "variance": [1, 2]},
        "weights": random.normal(size=(3, 18)) / 2,
        "last": random.normal(size=3),
    }
    return onnx_model(nodes, numbers, (1, 6, 6), ["y"]), random.uniform(-1, 1, size=(40, 1, 6, 6))


def test_a_convolution_predicts_nearly_as_itself() -> None:
    model, rows = convolution()
    encrypted = pf.from_onnx(model, rows, degree=15)
    own = own_outputs(model, rows)[0]
    done = encrypted.run(rows[:2])
    assert done.correct
    assert done.predictions.tolist() == own[:2].argmax(axis=1).tolist()
    np.testing.assert_allclose(encrypted.reading.probabilities(done.scores), own[:2], atol=0.1)
    assert encrypted.fidelity.equal >= 0.95


def test_a_network_whose_flattening_reads_its_own_shape_is_read() -> None:
    """As exporters write `x.view(x.size(0), -1)`."""
    model, rows = convolution()
    nodes = [one for one in model.graph.node if one.op_type != "Flatten"]
    flatten = [
        node("Shape", ["p"], ["sizes"]),
        node("Constant", [], ["zero"], value_int=0),
        node("Gather", ["sizes", "zero"], ["count"], axis=0),
        node("Unsqueeze", ["count", "first"], ["counts"]),
        node("Concat", ["counts", "rest"], ["shape"], axis=0),
        node("Reshape", ["p", "shape"], ["f"]),
    ]
    at = next(place for place, one in enumerate(nodes) if one.op_type == "Gemm")
    other = type(model)()
    other.CopyFrom(model)
    del other.graph.node[:]
    other.graph.node.extend([*nodes[:at], *flatten, *nodes[at:]])
    helper = pytest.importorskip("onnx").numpy_helper
    other.graph.initializer.extend(helper.from_array(np.array([v]), name) for name, v in (("first", 0), ("rest", -1)))
    one, another = (pf.from_onnx(each, rows) for each in (model, other))
    np.testing.assert_array_equal(one.clear_scores(rows), another.clear_scores(rows))


@pytest.mark.parametrize("texts", [False, True])
def test_labels_behind_probabilities_are_the_clients(texts: bool) -> None:
    """As exporters of scikit-learn write a network of two classes: both probabilities, a dictionary of them, and the label's name."""
    data = CANCER[0], np.where(CANCER[1], "benign", "malign") if texts else CANCER[1] + 5
    own, seen, unseen = fitted(make_pipeline(StandardScaler(), MLPClassifier((4,), max_iter=300, random_state=0)), data)
    scaler, network = own.steps[0][1], own.steps[1][1]
    (first, second), (bias, last) = network.coefs_, network.intercepts_
    named = {"value_strings": own.classes_.tolist()} if texts else {"value_ints": own.classes_.tolist()}
    names = [node("Reshape", ["named", "all"], ["label"])]
    if not texts:
        names = [
            node("Cast", ["named"], ["n"], to=1),
            node("Reshape", ["n", "all"], ["m"]),
            node("Cast", ["m"], ["label"], to=7),
        ]
    nodes = [
        node(
            "Scaler",
            ["x"],
            ["s"],
            domain="ai.onnx.ml",
            offset=scaler.mean_.tolist(),
            scale=(1 / scaler.scale_).tolist(),
        ),
        *(node("MatMul", ["s", "first"], ["h"]), node("Add", ["h", "bias"], ["a"]), node("Relu", ["a"], ["r"])),
        *(node("MatMul", ["r", "second"], ["g"]), node("Add", ["g", "last"], ["z"]), node("Sigmoid", ["z"], ["p"])),
        *(node("Sub", ["one", "p"], ["q"]), node("Concat", ["q", "p"], ["both"], axis=1)),
        *(node("ArgMax", ["both"], ["place"], axis=1), node("Constant", [], ["classes"], **named)),
        node("ArrayFeatureExtractor", ["classes", "place"], ["named"], domain="ai.onnx.ml"),
        *names,
        node("ZipMap", ["both"], ["by_label"], domain="ai.onnx.ml", classlabels_int64s=[0, 1]),
    ]
    numbers = {"first": first, "bias": bias, "second": second, "last": last, "one": [1]}
    model = onnx_model(nodes, numbers, (30,), ["label", "by_label"])
    model.graph.initializer.append(pytest.importorskip("onnx").numpy_helper.from_array(np.array([-1]), "all"))
    encrypted = pf.from_onnx(model, seen)
    assert encrypted.fidelity.equal >= 0.99
    done = encrypted.run(unseen[:2])
    assert done.correct
    assert done.predictions.tolist() == own.predict(unseen[:2]).tolist()


def test_what_the_package_does_not_evaluate_itself_is_refused() -> None:
    nodes = [
        node(
            *("LinearClassifier", ["x"], ["label", "scores"]),
            **{"domain": "ai.onnx.ml", "coefficients": [1.0, -1.0], "intercepts": [0.0], "classlabels_ints": [0, 1]},
        ),
        node("Unknown", ["scores"], ["y"], domain="ai.onnx.ml"),
    ]
    with rejects(pf.errors.ProgramError, "'Unknown'"):
        pf.from_onnx(onnx_model(nodes, {}, (2,), ["label", "y"]), np.eye(2))


def test_a_residual_layer_and_a_square_are_computed() -> None:
    random = np.random.default_rng(1)
    nodes = [
        node("MatMul", ["x", "first"], ["h"]),
        node("Tanh", ["h"], ["t"]),
        node("Add", ["t", "x"], ["sum"]),
        node("Mul", ["sum", "sum"], ["squared"]),
        node("Concat", ["squared", "x"], ["joined"], axis=1),
        node("MatMul", ["joined", "second"], ["y"]),
    ]
    numbers = {"first": random.normal(size=(4, 4)) / 2, "second": random.normal(size=(8, 2))}
    model, rows = onnx_model(nodes, numbers, (4,), ["y"]), random.uniform(-1, 1, size=(40, 4))
    encrypted = pf.from_onnx(model, rows, degree=11)
    done = encrypted.run(rows[:2])
    assert done.correct
    np.testing.assert_allclose(done.predictions, own_outputs(model, rows[:2])[0], atol=0.01)


def test_a_model_is_read_from_a_file(tmp_path: Any) -> None:
    onnx = pytest.importorskip("onnx")
    model, rows = convolution()
    onnx.save(model, tmp_path / "net.onnx")
    assert np.array_equal(pf.from_onnx(tmp_path / "net.onnx", rows).clear(rows), pf.from_onnx(model, rows).clear(rows))
    with pytest.raises(pf.errors.FileError, match="cannot read"):
        pf.from_onnx(tmp_path / "none.onnx", rows)
    for damaged in (b"\xff\xff no model", b""):
        (tmp_path / "damaged.onnx").write_bytes(damaged)
        with pytest.raises(pf.errors.FileError, match="not a model in ONNX"):
            pf.from_onnx(tmp_path / "damaged.onnx", rows)


def test_trees_in_onnx_are_read() -> None:
    model = onnx_model(
        [
            node(
                "TreeEnsembleRegressor",
                ["x"],
                ["y"],
                domain="ai.onnx.ml",
                n_targets=1,
                nodes_treeids=[0, 0, 0, 1, 1, 1],
                nodes_nodeids=[0, 1, 2, 0, 1, 2],
                nodes_featureids=[0, 0, 0, 1, 0, 0],
                nodes_values=[0.5, 0, 0, -0.25, 0, 0],
                nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LT", "LEAF", "LEAF"],
                nodes_truenodeids=[1, 0, 0, 1, 0, 0],
                nodes_falsenodeids=[2, 0, 0, 2, 0, 0],
                target_treeids=[0, 0, 1, 1],
                target_nodeids=[1, 2, 1, 2],
                target_ids=[0, 0, 0, 0],
                target_weights=[1.0, 2.0, 10.0, 20.0],
            )
        ],
        {},
        (2,),
        ["y"],
    )
    rows = np.array([[0.5, -0.25], [0.6, -0.3], [0, 0], [1, 1]])
    encrypted = pf.from_onnx(model, rows, bits="exact")
    np.testing.assert_allclose(encrypted.clear(rows), own_outputs(model, rows)[0].reshape(-1), atol=0.02)
    done = encrypted.run(rows[:2])
    assert done.correct
    np.testing.assert_allclose(done.predictions, [21, 12], atol=0.02)


@pytest.mark.parametrize(
    ("op", "attributes", "remedy"),
    [
        ("MaxPool", {"kernel_shape": [2, 2]}, "use AveragePool, which is linear"),
        ("Ceil", {}, "use the numbers without rounding"),
    ],
)
def test_an_operator_that_is_not_computed_is_refused(op: str, attributes: dict[str, Any], remedy: str) -> None:
    model = onnx_model([node(op, ["x"], ["y"], **attributes)], {}, (1, 4, 4), ["y"])
    with pytest.raises(pf.errors.ProgramError, match=f"{op} 'y': .*{remedy}"):
        pf.from_onnx(model, np.zeros((4, 16)))


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(pf.errors.ProgramError, match="pip install onnx"):
        pf.from_onnx("net.onnx", np.zeros((4, 4)))


def test_variants_of_exporters_are_read_alike() -> None:
    onnx = pytest.importorskip("onnx")
    rows = np.random.default_rng(0).uniform(-1, 1, size=(30, 4))
    nodes = [
        node("Split", ["x", "sizes"], ["first", "second"], axis=1),
        node("Sub", ["first", "second"], ["d"]),
        node("Max", ["zero", "d"], ["r"]),
        node("Min", ["r", "one"], ["m"]),
        node("MatMul", ["m", "weights"], ["y"]),
    ]
    model = onnx_model(nodes, {"zero": 0.0, "one": 1.0, "weights": [[2.0], [-1.0]]}, (4,), ["y"])
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([2, 2]), "sizes"))
    exact = np.clip(rows[:, :2] - rows[:, 2:], 0, 1) @ [2, -1]
    encrypted = pf.from_onnx(model, rows, degree=63, margin=1)
    np.testing.assert_allclose(encrypted.clear(rows), exact, atol=0.05)
    done = encrypted.run(rows[:2])
    assert done.correct
    np.testing.assert_allclose(done.predictions, exact[:2], atol=0.05)


def test_a_model_in_doubles_is_read() -> None:
    onnx = pytest.importorskip("onnx")
    rows, weights = np.random.default_rng(0).uniform(-1, 1, size=(30, 4)), np.random.default_rng(1).normal(size=(4, 3))
    doubles = onnx.TensorProto.DOUBLE
    graph = onnx.helper.make_graph(
        [node("MatMul", ["x", "w"], ["h"]), node("Tanh", ["h"], ["y"])],
        "doubles",
        [onnx.helper.make_tensor_value_info("x", doubles, ["rows", 4])],
        [onnx.helper.make_tensor_value_info("y", doubles, None)],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    encrypted = pf.from_onnx(onnx.helper.make_model(graph), rows, degree=15)
    np.testing.assert_allclose(encrypted.clear(rows), np.tanh(rows @ weights), atol=0.01)


def test_a_ciphertext_is_filled_with_rows() -> None:
    rows, labels = IRIS
    model = LogisticRegression(max_iter=500).fit(rows, labels)
    many = np.tile(rows, (40, 1))
    encrypted = pf.from_sklearn(model, rows, batch=8192)
    assert np.array_equal(encrypted.predict(many), model.predict(many))


def test_a_feature_that_never_changes_takes_either_side() -> None:
    rows, labels = IRIS
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(rows, labels)
    same = rows.copy()
    same[:, 2] = 4.7
    assert np.array_equal(pf.from_sklearn(model, same).clear(same), model.predict(same))
