"""Models of scikit-learn, and of libraries with its interface, as networks and trees."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ProgramError
from .choices import Core, Options, encrypted, expect_classes
from .forest import Ensemble, Tree
from .model import Model, table
from .network import ACTIVATIONS, Layer, Network, Sums
from .reading import Link, Reading

Floats: TypeAlias = NDArray[np.float64]

LINEAR_REGRESSORS = (
    *("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "LassoLars", "LassoLarsCV", "Lars", "LarsCV"),
    *("ElasticNet", "ElasticNetCV", "OrthogonalMatchingPursuit", "BayesianRidge", "ARDRegression", "HuberRegressor"),
    *("TheilSenRegressor", "QuantileRegressor", "SGDRegressor", "LinearSVR"),
)
LOG_LINK = ("PoissonRegressor", "GammaRegressor", "TweedieRegressor")
LINEAR_CLASSIFIERS = (
    *("LogisticRegression", "LogisticRegressionCV", "SGDClassifier", "LinearSVC", "RidgeClassifier"),
    *("RidgeClassifierCV", "Perceptron", "PassiveAggressiveClassifier", "LinearDiscriminantAnalysis"),
)
TREES = ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor")
FORESTS = ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor")
BOOSTED = ("GradientBoostingClassifier", "GradientBoostingRegressor")
HISTOGRAMS = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
XGBOOST = ("XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor")
XGBOOST_LINKS: dict[str, Link] = {
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie"), "exp"),
    **dict.fromkeys(("reg:logistic", "binary:logistic"), "sigmoid"),
}
"""Links of xgboost's regressors by objective, if the prediction is not the sum of trees."""
CENTERS = ("KMeans", "MiniBatchKMeans", "NearestCentroid")
PERCEPTRONS = ("MLPClassifier", "MLPRegressor")
SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")
PROJECTIONS = ("PCA", "TruncatedSVD", "IncrementalPCA")

LINKS: dict[str, Link] = {"log_loss": "sigmoid", "modified_huber": "clip"}
"""Links of linear classifiers by loss, if they give probabilities."""

SUPPORTED = (
    *LINEAR_REGRESSORS,
    *LOG_LINK,
    *LINEAR_CLASSIFIERS,
    *TREES,
    *FORESTS,
    *BOOSTED,
    *HISTOGRAMS,
    *XGBOOST,
    *PERCEPTRONS,
    *CENTERS,
    "IsolationForest",
    "KNeighborsClassifier",
)
"""Names of the classes that `from_sklearn` supports."""

INSTEAD = {
    "SVC": "LinearSVC; to approximate a kernel, let the client apply Nystroem before encryption",
    "SVR": "LinearSVR",
    "NuSVC": "LinearSVC",
    "GaussianNB": "LogisticRegression, whose decision is linear",
    "QuadraticDiscriminantAnalysis": "LinearDiscriminantAnalysis",
    "OneVsRestClassifier": "the classifier in it, which supports several classes itself",
    "GridSearchCV": "it first, with refit=True: the best estimator is converted",
    "RandomizedSearchCV": "it first, with refit=True: the best estimator is converted",
    "KNeighborsRegressor": "RandomForestRegressor",
    "AdaBoostClassifier": "GradientBoostingClassifier",
    "BaggingClassifier": "RandomForestClassifier",
    "VotingClassifier": "its members, one by one, and vote on the decrypted predictions",
    "StackingClassifier": "its members, one by one",
    "GaussianProcessClassifier": "MLPClassifier",
    "LGBMClassifier": "HistGradientBoostingClassifier, which grows the same kind of trees",
    "CatBoostClassifier": "HistGradientBoostingClassifier",
}
"""Replacements for unsupported classes."""

_CELLS = 1 << 22
"""Numbers per call in the search for thresholds."""


def from_sklearn(
    model: Any,  # noqa: ANN401 - any fitted estimator
    rows: NDArray[Any],
    *,
    bits: int | Literal["exact"] = 8,
    value_bits: int | None = None,
    degree: int = 15,
    margin: float = 1.5,
    batch: int = 1,
) -> Model:
    """Converts a fitted model of scikit-learn or xgboost, or a search's best model, to a program on encrypted rows.

    `rows` are sample data, usually the training data. They give the ranges of values, and `fidelity` compares
    the quantised model with the model on them. Linear models, networks, nearest neighbours and centers run with CKKS, trees with TFHE.

    Trees: `bits` is the width of a quantised feature over its range in `rows`. With "exact", features become ranks among the
    model's thresholds, which the client then knows, and every comparison equals the model's. `value_bits` is the width of a tree's
    values; default 5 for classifiers and 10 for regressors.

    Networks: polynomials of degree `degree` approximate activations on their intervals for `rows`, widened by `margin`;
    encoding refuses a row that exceeds one. One ciphertext contains `batch` rows.
    """
    if isinstance(model, type):
        raise InputError(
            f"from_sklearn: {model.__name__} is a class; give a fitted model, {model.__name__}().fit(X, y)"
        )
    own, transformers = _last(model)
    name = type(own).__name__
    if name not in INSTEAD and not hasattr(own, "predict"):
        raise InputError(
            f"from_sklearn: {name} has no predict; give a fitted model, such as LogisticRegression().fit(X, y)"
        )
    if name not in SUPPORTED:
        remedy = INSTEAD.get(name, f"one of {', '.join(SUPPORTED)}")
        raise ProgramError(f"from_sklearn: {name} is not computed on encrypted data; train {remedy}")
    given = getattr(model, "feature_names_in_", None)
    names = None if given is None else [*map(str, given)]
    data = _table(rows, names)
    try:
        core, reading = _reader(name)(own)
    except AttributeError:
        if not _is_fitted(own):
            raise InputError(f"from_sklearn: {name} is not fitted; call fit(X, y) first") from None
        raise
    expect_classes(reading)
    with warnings.catch_warnings():
        # The warning concerns names of columns, which `_table` has compared.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        for step in reversed(transformers):
            core = _after(step, core)
        wanted = core.inputs if isinstance(core, Network) else core.features
        if data.shape[1] != wanted:
            raise InputError(
                f"from_sklearn: the rows have {data.shape[1]} columns, but {name} was fitted on {wanted}; give these"
            )
        if isinstance(core, Ensemble):
            core = _with_base(core, own, transformers, data)
        if reading.classes is None:
            reading = replace(reading, column=np.ndim(model.predict(data[:1])) > 1)
        _expect_same(name, core, reading, model, data)
    made = encrypted(name, core, reading, data, Options(bits, value_bits, degree, margin, batch))
    made.names = names
    return made


def _table(rows: object, names: list[str] | None) -> Floats:
    data = table("from_sklearn", rows, names)
    if data.ndim != 2 or len(data) < 2:
        raise InputError(
            f"from_sklearn: the rows are an array of {' x '.join(map(str, data.shape)) or 'no dimension'}; give the training data, rows x features"
        )
    if not np.isfinite(data).all():
        raise InputError("from_sklearn: some values of the rows are missing or infinite; fill them in")
    return data


def _last(model: Any) -> tuple[Any, list[Any]]:  # noqa: ANN401 - any estimator
    """The model at the end of a pipeline, and its transformers; for a search, those of its best estimator."""
    model = getattr(model, "best_estimator_", model)
    *before, last = _steps(model)
    for step in before:
        name = type(step).__name__
        if name not in (*SCALERS, *PROJECTIONS):
            place = next(at for at, (_, own) in enumerate(model.steps, 1) if step in _steps(own))
            raise ProgramError(
                f"from_sklearn: the pipeline has a {name}, which is not one of {', '.join((*SCALERS, *PROJECTIONS))}; let the client apply it before "
                f"encryption, and to these rows: from_sklearn(model[{place}:], model[:{place}].transform(rows))"
            )
    return last, before


def _steps(model: Any) -> list[Any]:  # noqa: ANN401 - any estimator
    """The steps of a pipeline and of nested pipelines, without "passthrough"."""
    if type(model).__name__ != "Pipeline":
        return [model]
    own = (step for _, step in model.steps if step is not None and step != "passthrough")
    return [inner for step in own for inner in _steps(step)]


def _is_fitted(model: Any) -> bool:  # noqa: ANN401 - any estimator
    return any(name.endswith("_") and not name.startswith("_") for name in vars(model))


def _after(step: Any, core: Core) -> Core:  # noqa: ANN401 - a fitted transformer
    """`core` for rows before `step` transforms them."""
    count = int(step.n_features_in_)
    shift = step.transform(np.zeros((1, count)))[0]
    matrix = (step.transform(np.eye(count)) - shift).T
    if getattr(step, "clip", False) or getattr(step, "whiten", False):
        raise ProgramError(f"from_sklearn: {type(step).__name__} with clip or whiten; leave that option out")
    if isinstance(core, Network):
        return core.after(matrix, shift)
    if type(step).__name__ in PROJECTIONS:
        raise ProgramError(
            f"from_sklearn: trees on the mixed features of a {type(step).__name__}; let the client apply it before encryption"
        )
    thresholds = _unscaled(step, core, shift, np.diag(matrix))
    ends = np.cumsum([len(tree.feature) for tree in core.trees])[:-1]
    own = zip(core.trees, np.split(thresholds, ends), strict=True)
    return replace(core, trees=tuple(replace(tree, threshold=found) for tree, found in own), single=False)


def _unscaled(step: Any, core: Ensemble, shift: Floats, scale: Floats) -> Floats:  # noqa: ANN401 - a fitted scaler
    """The thresholds of all nodes for features before `step`, which maps a feature's number to scale * number + shift: the greatest
    numbers whose image does not exceed them. A binary search finds them: libraries place thresholds on numbers of the training data, which roundings could
    move to the other side."""
    features = np.concatenate([tree.feature for tree in core.trees])
    thresholds = np.concatenate([tree.threshold for tree in core.trees]).astype(float)
    asked = np.flatnonzero((features >= 0) & np.isfinite(thresholds))
    for part in np.array_split(asked, -(-len(asked) * len(shift) // _CELLS) or 1):
        feature, threshold = features[part], thresholds[part]

        def beyond(numbers: Floats, feature: Any = feature, threshold: Any = threshold) -> NDArray[np.bool_]:  # noqa: ANN401 - arrays
            rows = np.zeros((len(numbers), len(shift)))
            rows[np.arange(len(rows)), feature] = numbers
            within: NDArray[np.bool_] = core.rounded(step.transform(rows)[np.arange(len(rows)), feature]) > threshold
            return within

        middle = (threshold - shift[feature]) / scale[feature]
        room = 2.0**-20 * (np.abs(middle) + np.abs(threshold / scale[feature])) + np.finfo(float).tiny
        low, high = middle - room, middle + room
        while len(part) and (outside := beyond(low) | ~beyond(high)).any():
            room = np.where(outside, 2 * room, room)
            low, high = middle - room, middle + room
        while ((low < (middle := low + (high - low) / 2)) & (middle < high)).any():
            over = beyond(middle)
            low, high = np.where(over, low, middle), np.where(over, middle, high)
        thresholds[part] = low
    return thresholds


def _with_base(core: Ensemble, own: Any, transformers: list[Any], rows: Floats) -> Ensemble:  # noqa: ANN401 - any estimator
    """`core` with the constant that the library adds to the sum of its trees. Refuses a value that varies by row."""
    name = type(own).__name__
    if name in (*TREES, *FORESTS, "IsolationForest"):
        return core
    given = rows
    for step in transformers:
        given = step.transform(given)
    if name in XGBOOST:
        scores = own.predict(given, output_margin=True)
    elif hasattr(own, "decision_function"):
        scores = own.decision_function(given)
    else:
        scores = own.predict(given)
        if getattr(own, "loss", "") in ("poisson", "gamma"):
            scores = np.log(scores)
    scores = np.asarray(scores, dtype=float).reshape(len(rows), -1)
    whole = replace(core, base=np.median(scores - core.scores(rows), axis=0))
    ours = whole.scores(rows)
    differing = (np.abs(ours - scores) > 1e-4 * (float(np.ptp(scores)) or 1.0)).any(axis=1)
    _expect_few(name, "has the score", differing, scores, ours)
    return whole


def _expect_few(name: str, does: str, differing: NDArray[np.bool_], own: NDArray[Any], ours: NDArray[Any]) -> None:
    """Refuses a model that differs from its conversion in more than 0.2% of the rows; rounding may move rows that lie on a boundary."""
    if np.mean(differing) > 0.002:
        row = int(np.argwhere(differing)[0][0])
        raise ProgramError(
            f"from_sklearn: {name} {does} {own[row]} for row {row}, but its converted parameters give {ours[row]}; this "
            "version or option of it is not supported: train it with constant initial predictions and no missing values or categories"
        )


def _expect_same(name: str, core: Core, reading: Reading, model: Any, rows: Floats) -> None:  # noqa: ANN401 - any estimator
    """Refuses a model whose predictions differ from those of its conversion."""
    own = np.asarray(model.predict(rows))
    if reading.classes is not None and own.ndim > 1:
        raise _of_several_targets(name)
    scores = core.scores(rows)
    ours = reading.predictions(scores)
    if reading.classes is None:
        width = float(np.ptp(own)) or 1.0
        differing = np.abs(ours - own.reshape(ours.shape)) > 1e-4 * width
    else:
        differing = (ours != own) & ~reading.is_open(scores)
    _expect_few(name, "predicts", differing, own, ours)


# -- readers --------------------------------------------------------------------------------------------------------


def _reader(name: str) -> Callable[[Any], tuple[Core, Reading]]:
    for names, reader in (
        ((*LINEAR_REGRESSORS, *LOG_LINK), _linear_regressor),
        (LINEAR_CLASSIFIERS, _linear_classifier),
        (TREES, lambda model: _trees([model], model)),
        (FORESTS, lambda model: _trees(list(model.estimators_), model)),
        (BOOSTED, _boosted),
        (HISTOGRAMS, _histograms),
        (XGBOOST, _xgboost),
        (PERCEPTRONS, _perceptron),
        (CENTERS, _centers),
        (("IsolationForest",), _isolation),
    ):
        if name in names:
            return reader
    return _neighbours


def _dense(weights: object) -> Floats:
    toarray = getattr(weights, "toarray", None)
    return np.atleast_2d(np.asarray(toarray() if toarray else weights, dtype=float))


def _one_matrix(weights: object, bias: object) -> Network:
    matrix = _dense(weights)
    whole = np.broadcast_to(np.atleast_1d(np.asarray(bias, dtype=float)), (len(matrix),)).copy()
    return Network((Layer(Sums({0: matrix}, whole)),), matrix.shape[1])


def _linear_regressor(model: Any) -> tuple[Network, Reading]:  # noqa: ANN401 - a fitted model
    name = type(model).__name__
    log = name in ("PoissonRegressor", "GammaRegressor")
    if name == "TweedieRegressor":
        log = model.link == "log" or (model.link == "auto" and model.power > 0)
    return _one_matrix(model.coef_, model.intercept_), Reading("exp" if log else "identity")


def _of_several_targets(name: str) -> ProgramError:
    return ProgramError(f"from_sklearn: {name} was fitted on several targets at once; fit one model per target")


def _labels(model: Any) -> tuple[Any, ...]:  # noqa: ANN401 - a fitted model
    classes = model.classes_
    if isinstance(classes, list):
        raise _of_several_targets(type(model).__name__)
    return tuple(np.asarray(classes).tolist())


def _linear_classifier(model: Any) -> tuple[Network, Reading]:  # noqa: ANN401 - a fitted model
    name = type(model).__name__
    labels = _labels(model)
    link: Link = "identity"
    if name.startswith("LogisticRegression") or name == "LinearDiscriminantAnalysis":
        by_class = len(labels) == 2 or getattr(model, "solver", "") == "liblinear"
        link = "sigmoid" if by_class else "softmax"
    else:
        link = LINKS.get(getattr(model, "loss", ""), "identity")
    return _one_matrix(model.coef_, model.intercept_), Reading(link, labels)


def _perceptron(model: Any) -> tuple[Network, Reading]:  # noqa: ANN401 - a fitted model
    names = {"logistic": "sigmoid", "tanh": "tanh", "relu": "relu", "identity": None}
    hidden = names[model.activation]
    layers: list[Layer] = []
    for number, (weights, bias) in enumerate(zip(model.coefs_, model.intercepts_, strict=True)):
        last = number == len(model.coefs_) - 1
        activation = None if last or hidden is None else ACTIVATIONS[hidden]
        sums = Sums({number: np.asarray(weights, dtype=float).T}, np.asarray(bias, dtype=float))
        layers.append(Layer(sums, activation))
    network = Network(tuple(layers), int(model.n_features_in_))
    if not hasattr(model, "classes_"):
        return network, Reading()
    links: dict[str, Link] = {"logistic": "sigmoid", "softmax": "softmax"}
    return network, Reading(links[model.out_activation_], _labels(model))


def _neighbours(model: Any) -> tuple[Network, Reading]:  # noqa: ANN401 - a fitted model
    if model.weights != "uniform" or model.effective_metric_ != "euclidean":
        raise ProgramError(
            f"from_sklearn: KNeighborsClassifier with weights={model.weights!r} and metric={model.effective_metric_!r}; "
            "use weights='uniform' and the Euclidean metric"
        )
    points = _dense(model._fit_X)
    labels = np.asarray(_labels(model))[np.asarray(model._y).reshape(-1)]
    # |t - x|² - |x|²; the term |x|² is equal for all training rows t.
    network = _one_matrix(-2 * points, (points**2).sum(axis=1))
    return network, Reading(classes=tuple(labels.tolist()), neighbours=int(model.n_neighbors))


def _centers(model: Any) -> tuple[Network, Reading]:  # noqa: ANN401 - a fitted model
    """The nearest center c: the greatest 2 c·x - |c|²."""
    if getattr(model, "metric", "euclidean") != "euclidean":
        raise ProgramError(f"from_sklearn: NearestCentroid with metric={model.metric!r}; use metric='euclidean'")
    by_class = hasattr(model, "classes_")
    centers = _dense(model.centroids_ if by_class else model.cluster_centers_)
    labels = _labels(model) if by_class else tuple(range(len(centers)))
    return _one_matrix(2 * centers, -(centers**2).sum(axis=1)), Reading(classes=labels)


def _isolation(model: Any) -> tuple[Ensemble, Reading]:  # noqa: ANN401 - a fitted model
    """The mean depth at which trees isolate a row: below a limit, the row is an outlier, -1.

    scikit-learn's score is -2^(-depth / c), with the mean depth c of all training rows, and outliers have a score below `offset_`.
    """
    trees = []
    for member, features in zip(model.estimators_, model.estimators_features_, strict=True):
        own = member.tree_
        depth = np.zeros(own.node_count)
        # Children have higher numbers than their parents.
        for node in np.flatnonzero(own.children_left >= 0):
            depth[[own.children_left[node], own.children_right[node]]] = depth[node] + 1
        made = _tree(own, (depth + _mean_depth(own.n_node_samples))[:, None])
        trees.append(replace(made, feature=np.where(made.feature < 0, -1, features[made.feature])))
    limit = -float(_mean_depth(np.array([model.max_samples_]))[0]) * np.log2(-model.offset_)
    # At the limit itself a row is no outlier. Sums of depths and the logarithm are rounded, so the limit has a margin.
    reading = Reading(classes=(-1, 1), threshold=limit - 1e-9 * max(1.0, abs(limit)))
    return Ensemble(tuple(trees), np.zeros(1), int(model.n_features_in_), 1 / len(trees), single=True), reading


def _mean_depth(rows: NDArray[Any]) -> Floats:
    """The mean depth of a row in a random tree that isolates all of this number of rows."""
    count = np.maximum(rows.astype(float), 2)
    deep = 2 * (np.log(np.maximum(count - 1, 1)) + np.euler_gamma) - 2 * (count - 1) / count
    return np.where(rows <= 1, 0.0, np.where(rows == 2, 1.0, deep))


def _tree(own: Any, values: Floats) -> Tree:  # noqa: ANN401 - scikit-learn's arrays of a tree
    leaf = own.children_left < 0
    return Tree(
        np.where(leaf, -1, own.feature), own.threshold.astype(float), own.children_left, own.children_right, values
    )


def _trees(members: list[Any], model: Any) -> tuple[Ensemble, Reading]:  # noqa: ANN401 - fitted models
    """The mean of the members' trees."""
    share = 1 / len(members)
    count = int(model.n_features_in_)
    if not hasattr(model, "classes_"):
        trees = tuple(_tree(member.tree_, member.tree_.value[:, :, 0].astype(float)) for member in members)
        return Ensemble(trees, np.zeros(trees[0].values.shape[1]), count, share, single=True), Reading()
    labels = _labels(model)

    def shares(own: Any) -> Floats:  # noqa: ANN401 - scikit-learn's arrays of a tree
        votes = own.value[:, 0, :].astype(float)
        votes = votes / votes.sum(axis=1, keepdims=True)
        return votes[:, 1:] if len(labels) == 2 else votes

    trees = tuple(_tree(member.tree_, shares(member.tree_)) for member in members)
    reading = Reading("normalise", labels, 0.5 if len(labels) == 2 else 0.0)
    return Ensemble(trees, np.zeros(trees[0].values.shape[1]), count, share, single=True), reading


def _placed(values: Floats, output: int, outputs: int) -> Floats:
    """A tree's values as one column of several outputs."""
    wide = np.zeros((len(values), outputs))
    wide[:, output] = values
    return wide


def _boosted(model: Any) -> tuple[Ensemble, Reading]:  # noqa: ANN401 - a fitted model
    rounds = model.estimators_
    outputs = rounds.shape[1]
    trees = tuple(
        _tree(member.tree_, _placed(model.learning_rate * member.tree_.value[:, 0, 0], output, outputs))
        for row in rounds
        for output, member in enumerate(row)
    )
    ensemble = Ensemble(trees, np.zeros(outputs), int(model.n_features_in_), single=True)
    return ensemble, _margins(model, outputs)


def _margins(model: Any, outputs: int) -> Reading:  # noqa: ANN401 - a fitted model
    """The reading of the sums of boosted trees."""
    if not hasattr(model, "classes_"):
        return Reading("exp" if getattr(model, "loss", "") in ("poisson", "gamma") else "identity")
    if getattr(model, "loss", "") == "exponential":
        return Reading("half-logit", _labels(model))
    return Reading("sigmoid" if outputs == 1 else "softmax", _labels(model))


def _histograms(model: Any) -> tuple[Ensemble, Reading]:  # noqa: ANN401 - a fitted model
    rounds = model._predictors
    outputs = len(rounds[0])
    trees = []
    for row in rounds:
        for output, member in enumerate(row):
            nodes = member.nodes
            if nodes["is_categorical"].any():
                raise ProgramError(
                    f"from_sklearn: {type(model).__name__} has categorical features; encode them as numbers before fitting"
                )
            leaf = nodes["is_leaf"].astype(bool)
            trees.append(
                Tree(
                    np.where(leaf, -1, nodes["feature_idx"]),
                    np.where(leaf, 0.0, nodes["num_threshold"]),
                    nodes["left"].astype(int),
                    nodes["right"].astype(int),
                    _placed(nodes["value"].astype(float), output, outputs),
                )
            )
    return Ensemble(tuple(trees), np.zeros(outputs), int(model.n_features_in_)), _margins(model, outputs)


def _xgboost(model: Any) -> tuple[Ensemble, Reading]:  # noqa: ANN401 - a fitted model
    whole, best = model.get_booster(), getattr(model, "best_iteration", None)
    learner = json.loads(bytes(whole.save_raw("json")))["learner"]
    if learner["gradient_booster"].get("name") != "gbtree":
        name = learner["gradient_booster"].get("name")
        raise ProgramError(f"from_sklearn: {type(model).__name__} with booster={name!r}; use booster='gbtree'")
    if best is not None:
        # After an early stop the model predicts with the rounds up to the best.
        learner = json.loads(bytes(whole[: best + 1].save_raw("json")))["learner"]
    booster = learner["gradient_booster"]
    information = booster["model"]["tree_info"]
    outputs = max(information) + 1
    trees = []
    for own, output in zip(booster["model"]["trees"], information, strict=True):
        if any(own.get("split_type", ())):
            raise ProgramError(
                f"from_sklearn: {type(model).__name__} has categorical features; encode them as numbers before fitting"
            )
        if int(own["tree_param"].get("size_leaf_vector") or 1) > 1:
            raise ProgramError(
                f"from_sklearn: {type(model).__name__} has trees of several outputs each; use multi_strategy='one_output_per_tree'"
            )
        left = np.asarray(own["left_children"])
        conditions = np.asarray(own["split_conditions"], dtype=np.float32)
        # xgboost goes left below the threshold and right at it.
        below = np.nextafter(conditions, np.float32(-np.inf)).astype(float)
        trees.append(
            Tree(
                np.where(left < 0, -1, np.asarray(own["split_indices"])),
                below,
                left,
                np.asarray(own["right_children"]),
                _placed(conditions.astype(float), output, outputs),
            )
        )
    ensemble = Ensemble(tuple(trees), np.zeros(outputs), int(model.n_features_in_), single=True)
    objective = learner["objective"]["name"]
    if not hasattr(model, "classes_"):
        return ensemble, Reading(XGBOOST_LINKS.get(objective, "identity"))
    if objective in ("binary:hinge", "binary:logitraw"):
        return ensemble, Reading("identity", _labels(model), 0.5 if objective == "binary:logitraw" else 0.0)
    return ensemble, _margins(model, outputs)
