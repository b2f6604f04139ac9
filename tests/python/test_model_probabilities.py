"""An encrypted model's probabilities and thresholds equal the model's, for every loss, link and exporter."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from rejects import rejects
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

IRIS, DIABETES = load_iris(return_X_y=True), load_diabetes(return_X_y=True)
TUMOURS = tuple(part[:200] for part in load_breast_cancer(return_X_y=True))
TWO = (TUMOURS[0][:, :4], TUMOURS[1])
FINE: dict[str, Any] = {"bits": "exact", "value_bits": 16}
ROWS, W = np.random.default_rng(5).uniform(-1, 1, size=(20, 4)), np.random.default_rng(6).normal(size=(4, 3))
TREES = {
    "n_targets": 1,
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [0, 0, 0],
    "nodes_values": [0.5, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
    "target_treeids": [0, 0],
    "target_nodeids": [1, 2],
    "target_ids": [0, 0],
    "target_weights": [1.0, 2.0],
}
CLASSES = {
    **{name: value for name, value in TREES.items() if not name.startswith(("target", "n_"))},
    **{"class_treeids": [0, 0, 0, 0], "class_nodeids": [1, 1, 2, 2], "class_ids": [0, 1, 0, 1]},
    **{"class_weights": [0.75, 0.25, 0.25, 0.75], "classlabels_int64s": [0, 1]},
}


class Named:
    """A table with names of columns, as those of pandas."""

    def __init__(self, rows: Any, names: str) -> None:
        self.rows, self.columns = rows, list(names)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.rows, dtype=dtype)


def named() -> Any:
    """A model that was fitted on such a table."""
    model = LogisticRegression(max_iter=500).fit(*IRIS)
    model.feature_names_in_ = np.array(list("abcd"), dtype=object)
    return model


def node(op: str, inputs: str, output: str = "y", domain: str = "", **attributes: Any) -> Any:
    from onnx import helper

    return helper.make_node(op, inputs.split(), output.split(), domain=domain, **attributes)


def model(
    *nodes: Any, shape: Sequence[Any] = ("rows", 4), inputs: Sequence[str] = ("x",), gives: Any = None, **numbers: Any
) -> Any:
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in inputs],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, gives)],
        [
            numpy_helper.from_array(
                np.asarray(value, dtype=np.float32 if np.asarray(value).dtype.kind == "f" else int), name
            )
            for name, value in numbers.items()
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)])


def trees(op: str = "TreeEnsembleRegressor", inputs: str = "x", **own: Any) -> Any:
    return node(op, inputs, domain="ai.onnx.ml", **({**(CLASSES if "Classifier" in op else TREES), **own}))


def read(made: Any, rows: Any = ROWS, **options: Any) -> Any:
    return pf.from_onnx(made, rows, **options)


def probabilities(encrypted: pf.models.Model, rows: Any) -> Any:
    return encrypted.reading.probabilities(encrypted.clear_scores(rows))


@pytest.mark.parametrize(
    ("unfitted", "data", "options"),
    [
        (GradientBoostingClassifier(n_estimators=4, max_depth=2, loss="exponential"), TWO, FINE),
        (GradientBoostingClassifier(n_estimators=4, max_depth=2), TWO, FINE),
        (KNeighborsClassifier(3), IRIS, {}),
        (make_pipeline(StandardScaler(), SGDClassifier(loss="modified_huber", random_state=0)), TWO, {}),
        (make_pipeline(StandardScaler(), SGDClassifier(loss="modified_huber", random_state=0)), IRIS, {}),
        (make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=0)), IRIS, {}),
    ],
)
def test_probabilities_are_those_of_the_loss(unfitted: Any, data: Any, options: dict[str, Any]) -> None:
    fitted = unfitted.fit(*data)
    encrypted = pf.from_sklearn(fitted, data[0], **options)
    np.testing.assert_allclose(probabilities(encrypted, data[0]), fitted.predict_proba(data[0]), atol=1e-4)


def test_probabilities_of_neighbours_are_their_votes() -> None:
    fitted = KNeighborsClassifier(3).fit(*IRIS)
    rows = IRIS[0][[3, 70]]
    found = pf.from_sklearn(fitted, IRIS[0]).predict_proba(rows)
    np.testing.assert_allclose(found, fitted.predict_proba(rows), atol=1e-9)


@pytest.mark.parametrize(
    "scaler", [StandardScaler(), MinMaxScaler(), RobustScaler()], ids=lambda one: type(one).__name__
)
@pytest.mark.parametrize(
    "last",
    [DecisionTreeClassifier(max_depth=4, random_state=0), HistGradientBoostingClassifier(max_iter=3, max_depth=3)],
    ids=lambda one: type(one).__name__,
)
def test_rows_on_a_threshold_go_where_the_model_behind_a_scaler_sends_them(scaler: Any, last: Any) -> None:
    """Libraries put thresholds on numbers of the training data, and a rounding brings them to the other side."""
    whole, labels = load_breast_cancer(return_X_y=True)
    rows = whole[:, :4] * 0.01 + 1000.123
    fitted = make_pipeline(scaler, last).fit(rows, labels)
    encrypted = pf.from_sklearn(fitted, rows, **FINE)
    np.testing.assert_allclose(probabilities(encrypted, rows), fitted.predict_proba(rows), atol=1e-4)


@pytest.mark.parametrize("scaled", [False, True])
def test_xgboost_that_stopped_early_is_read_as_it_predicts(scaled: bool) -> None:
    xgboost = pytest.importorskip("xgboost")
    rows, labels = TWO[0] * 0.01 + 1000.123, TWO[1]
    scaler = StandardScaler().fit(rows)
    given = scaler.transform(rows) if scaled else rows
    own = xgboost.XGBClassifier(n_estimators=40, max_depth=2, learning_rate=1.0, early_stopping_rounds=2)
    own.fit(given[::2], labels[::2], eval_set=[(given[1::2], labels[1::2])], verbose=False)
    assert own.best_iteration + 1 < own.get_booster().num_boosted_rounds()
    encrypted = pf.from_sklearn(make_pipeline(scaler, own) if scaled else own, rows, **FINE)
    np.testing.assert_allclose(probabilities(encrypted, rows), own.predict_proba(given), atol=1e-3)


@pytest.mark.parametrize("objective", ["binary:hinge", "binary:logitraw", "reg:logistic"])
def test_objectives_of_xgboost_are_read_as_it_predicts(objective: str) -> None:
    xgboost = pytest.importorskip("xgboost")
    kind = xgboost.XGBRegressor if objective.startswith("reg") else xgboost.XGBClassifier
    fitted = kind(objective=objective, n_estimators=3, max_depth=2).fit(*TWO)
    found, own = pf.from_sklearn(fitted, TWO[0], **FINE).clear(TWO[0]), fitted.predict(TWO[0])
    np.testing.assert_allclose(found, own, atol=1e-4)


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("XGBClassifier", {"booster": "gblinear"}, "with booster='gblinear'; use booster='gbtree'"),
        ("XGBRegressor", {"multi_strategy": "multi_output_tree"}, "use multi_strategy='one_output_per_tree'"),
    ],
)
def test_other_boosters_are_refused(kind: str, options: dict[str, Any], words: str) -> None:
    xgboost = pytest.importorskip("xgboost")
    targets = TWO[1] if kind == "XGBClassifier" else np.stack([TWO[1], 1 - TWO[1]], axis=1)
    fitted = getattr(xgboost, kind)(n_estimators=2, **options).fit(TWO[0], targets)
    with pytest.raises(pf.errors.ProgramError, match=words):
        pf.from_sklearn(fitted, TWO[0])
    with pytest.raises(pf.errors.InputError):
        pf.from_sklearn(xgboost.XGBClassifier(), TWO[0])


def test_a_model_of_sparse_rows_is_read() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    fitted = KNeighborsClassifier(1).fit(sparse.csr_matrix(IRIS[0]), IRIS[1])
    assert (pf.from_sklearn(fitted, IRIS[0]).clear(IRIS[0]) == fitted.predict(IRIS[0])).all()


def test_names_of_columns_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encrypted = pf.from_sklearn(named(), Named(IRIS[0], "abcd"))
    assert (encrypted.clear(Named(IRIS[0], "abcd")) == encrypted.clear(IRIS[0])).all()


def test_malformed_or_too_large_rows_give_no_traceback() -> None:
    encrypted = pf.from_sklearn(named(), IRIS[0])
    with rejects(pf.errors.InputError, "0 x 2 x 2", "4"):
        encrypted.clear(np.zeros((0, 2, 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Beyond single precision, in which trees compare.
        pf.from_sklearn(DecisionTreeClassifier(max_depth=2).fit(*IRIS), IRIS[0]).clear([[1e300] * 4])


# -- ONNX -------------------------------------------------------------------------------------------------------------


def given(made: Any) -> Any:
    """The model's own output: labels and probabilities, or only probabilities."""
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(made).run(None, {"x": ROWS.astype(np.float32)})


def classifier(last: Any, *, normalised: bool) -> Any:
    """A classifier's labels and probabilities."""
    from onnx import TensorProto, helper

    behind = [node("Normalizer", "p", "q", domain="ai.onnx.ml", norm="L1")] if normalised else []
    made = model(last, *behind)
    del made.graph.output[:]
    made.graph.output.extend(
        [
            helper.make_tensor_value_info("l", TensorProto.INT64, ["rows"]),
            helper.make_tensor_value_info("q" if normalised else "p", TensorProto.FLOAT, ["rows", "classes"]),
        ]
    )
    return made


def expect_own(made: Any, **options: Any) -> None:
    encrypted = read(made, **options)
    labels, own = given(made)
    assert encrypted.clear(ROWS).tolist() == labels.tolist()
    np.testing.assert_allclose(probabilities(encrypted, ROWS), own, atol=1e-5)


MATRICES = {
    "three": (W.T, [0.0, 1.0, 0.5]),
    "two": (W.T[:2], [-0.25, 0.5]),
    "two that are opposite": (np.stack([-W.T[0], W.T[0]]), [-0.25, 0.25]),
    "one row": (W.T[:1], [0.25]),
}


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("transform", ["LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("name", MATRICES)
def test_probabilities_of_a_linear_classifier_in_onnx(name: str, transform: str, normalised: bool) -> None:
    """As exporters write logistic regressions of two classes: two rows, one the other's opposite, and a sigmoid of each."""
    pytest.importorskip("onnx")
    matrix, bias = MATRICES[name]
    last = node(
        "LinearClassifier",
        "x",
        "l p",
        domain="ai.onnx.ml",
        coefficients=matrix.reshape(-1).tolist(),
        intercepts=bias,
        classlabels_ints=list(range(max(2, len(bias)))),
        post_transform=transform,
    )
    expect_own(classifier(last, normalised=normalised))


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("transform", ["LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("classes", [1, 2, 3])
def test_probabilities_of_trees_in_onnx(classes: int, transform: str, normalised: bool) -> None:
    """With a single score, the other class has its negation."""
    pytest.importorskip("onnx")
    weights = np.array([[-1.0, 0.5, 0.25], [2.0, -0.75, 0.5]])[:, :classes]
    own = {
        "class_treeids": [0] * 2 * classes,
        "class_nodeids": [1] * classes + [2] * classes,
        "class_ids": [*range(classes)] * 2,
        "class_weights": weights.reshape(-1).tolist(),
        "classlabels_int64s": list(range(max(2, classes))),
    }
    last = node(
        "TreeEnsembleClassifier", "x", "l p", domain="ai.onnx.ml", **{**CLASSES, **own, "post_transform": transform}
    )
    expect_own(classifier(last, normalised=normalised), bits="exact", value_bits=20)


def test_sigmoids_of_several_numbers_are_left_as_they_are() -> None:
    pytest.importorskip("onnx")
    made = model(node("MatMul", "x w", "h"), node("Sigmoid", "h"), w=W)
    np.testing.assert_allclose(probabilities(read(made), ROWS), given(made)[0], atol=1e-5)


@pytest.mark.parametrize("shape", [(4,), (4, 1, 1), (1, 3, 1)])
def test_a_rectifier_with_a_slope_for_each_number_or_channel(shape: tuple[int, ...]) -> None:
    pytest.importorskip("onnx")
    channels, images = len(shape) > 1, ROWS[:, :, None, None] * np.array([[1.0, -0.5], [0.75, 2.0], [-1.0, 0.25]])
    rows = images if channels else ROWS
    made = model(
        node("PRelu", "x s"),
        s=np.linspace(-0.5, 1.5, int(np.prod(shape))).reshape(shape),
        shape=("rows", *rows.shape[1:]),
    )
    from onnx.reference import ReferenceEvaluator

    own = ReferenceEvaluator(made).run(None, {"x": rows.astype(np.float32)})[0].reshape(len(rows), -1)
    encrypted = read(made, rows)
    np.testing.assert_allclose(encrypted.network.scores(rows.reshape(len(rows), -1)), own, atol=1e-5)
    assert np.abs(encrypted.clear_scores(rows) - own).max() < 0.2


def test_a_power_of_a_public_number_is_a_function() -> None:
    pytest.importorskip("onnx")
    made = model(node("Pow", "b x"), b=np.array(2.0))
    np.testing.assert_allclose(read(made).clear_scores(ROWS), 2.0**ROWS, atol=1e-4)


def test_what_is_read_by_its_own_input() -> None:
    """Older exporters list weights among the inputs, the first of them even."""
    onnx = pytest.importorskip("onnx")
    made = model(node("Reshape", "x one", "r"), node("MatMul", "r w"), w=W, one=np.array([1, 4]), shape=(1, 4))
    made.graph.input.insert(0, onnx.helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, W.shape))
    np.testing.assert_allclose(read(made).clear_scores(ROWS), ROWS @ W, atol=1e-5)
    del made.graph.output[:]
    with pytest.raises(pf.errors.ProgramError):
        read(made)


def test_the_tree_of_the_cases_is_read() -> None:
    pytest.importorskip("onnx")
    assert read(model(trees()), bits="exact").clear(ROWS).tolist() == [2.0 if row[0] > 0.5 else 1.0 for row in ROWS]


def test_intervals_are_not_for_trees() -> None:
    pytest.importorskip("onnx")
    with rejects(pf.errors.InputError, "intervals"):
        read(model(trees()), intervals={"y": (0, 1)})
