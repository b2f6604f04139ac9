"""A trained model as a program on encrypted rows: what the client encodes, what the server computes, how scores are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, shown
from ..execution import make_plan, place, run_plan, with_keys
from ..keys import Keys
from ..runnable import Runnable
from ..schemes.options import PlanOptions
from .forest import EncryptedForest, Ensemble, Grid, Layout, encode
from .network import Network
from .reading import Reading

if TYPE_CHECKING:
    from ..progress import ProgressHook
    from ..reports import Report

Floats: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = "NDArray[Any] | list[list[float]]"


INPUT_BOUND = 4.0
"""How far from the middle of its range in the given rows a feature of a network may be, in halves of that range."""


@dataclass(frozen=True)
class Fidelity:
    """How close the quantised model, in the clear, is to the model it was made from, on the rows that were given."""

    rows: int
    equal: float
    """Share of rows with the same prediction; of numbers, those that differ by at most a hundredth of their range."""
    deviation: float
    """Largest difference of a score."""
    basis: str
    """What was rounded or approximated."""

    def __str__(self) -> str:
        return f"{self.equal:.2%} of {self.rows} rows predicted as by the model, scores within {self.deviation:.3g} ({self.basis})"

    def to_dict(self) -> dict[str, Any]:
        """As data."""
        return asdict(self)


@dataclass(frozen=True)
class ModelRun:
    """Predictions of an encrypted execution, and what it took."""

    predictions: NDArray[Any]
    scores: Floats = field(repr=False)
    expected: NDArray[Any] = field(repr=False)
    """Predictions of the quantised model in the clear."""
    problem: str | None
    """Why it is not `correct`, with the figures and what to do."""
    parameters: str
    seconds: dict[str, float]
    """By step, all rows together."""
    keys: Keys = field(repr=False)

    @property
    def correct(self) -> bool:
        """Whether every decrypted output is the expected one, as of a program's result: exactly with TFHE, with CKKS within a bound that says something."""
        return self.problem is None


def table(what: str, rows: object, names: Sequence[str] | None = None) -> Floats:
    """Rows as an array of real numbers, all of which somebody gave, and in columns of these names if they have names."""
    if np.ma.is_masked(rows):
        raise InputError(f"{what}: some values of the rows are masked; fill them in first")
    if hasattr(rows, "toarray"):
        raise InputError(
            f"{what}: the rows are a sparse matrix, and all their numbers are encrypted; give rows.toarray()"
        )
    columns = getattr(rows, "columns", None)
    if names is not None and columns is not None and [*map(str, columns)] != [*names]:
        raise InputError(
            f"{what}: the rows have the columns {shown([*columns])}, but the model was fitted on {shown([*names])}; give these, in this order"
        )
    try:
        if np.iscomplexobj(rows):
            raise InputError(f"{what}: the rows have imaginary parts, which no model reads; give real numbers")
        return np.asarray(rows, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            f"{what}: the rows are no table of numbers; encode categories as numbers first, and give all rows as many"
        ) from None


class Model(ABC):
    """A model of scikit-learn or ONNX that predicts on encrypted rows. Made by `pf.from_sklearn` and `pf.from_onnx`."""

    program: Runnable
    """What the server executes."""
    fidelity: Fidelity
    batch: int
    """Rows of one execution."""
    names: Sequence[str] | None = None
    """Of the columns of the table that the model was fitted on, if they had names: tables with others are refused."""

    def __init__(self, name: str, features: int, reading: Reading) -> None:
        self.name = name
        self.features = features
        self.reading = reading

    def __repr__(self) -> str:
        return (
            f"<encrypted {self.name} of {self.features} features, with {self.program.scheme.upper()}; {self.fidelity}>"
        )

    # -- the client's part ----------------------------------------------------------------------------------------

    @abstractmethod
    def encode(self, rows: Rows) -> dict[str, Any]:
        """Inputs of the program for up to `batch` rows."""

    @abstractmethod
    def decode(self, outputs: Mapping[str, Any]) -> Floats:
        """Scores by row, of the program's decrypted outputs."""

    # -- predictions ----------------------------------------------------------------------------------------------

    @abstractmethod
    def clear_scores(self, rows: Rows) -> Floats:
        """Scores of the quantised model, computed in the clear."""

    def clear(self, rows: Rows) -> NDArray[Any]:
        """Predictions of the quantised model, computed in the clear."""
        return self.reading.predictions(self.clear_scores(rows))

    def predict(self, rows: Rows, **options: Any) -> NDArray[Any]:  # noqa: ANN401 - those of `run`
        """Predictions on encrypted rows, as the model's own `predict` gives them. Options are those of `run`."""
        return self.run(rows, **options).predictions

    def predict_proba(self, rows: Rows, **options: Any) -> Floats:  # noqa: ANN401 - those of `run`
        """Probabilities of the classes on encrypted rows, as the model's own `predict_proba` gives them."""
        try:
            return self.reading.probabilities(self.run(rows, **options).scores)
        except ValueError as problem:
            raise InputError(f"{self.name}: {problem}") from None

    def run(
        self,
        rows: Rows,
        *,
        on: str = "cpu",
        parameters: str | None = None,
        keys: Keys | None = None,
        threads: int | None = None,
        progress: ProgressHook | None = None,
    ) -> ModelRun:
        """Encrypts the rows, `batch` at a time and all with one key, executes, decrypts, and compares with the clear program."""
        given = self.checked(rows)
        options = PlanOptions(parameters=parameters, machine=place(on))
        if keys is not None:
            options = with_keys(self.program, options, keys)
        made = make_plan(self.program, options)
        found: list[Floats] = []
        seconds: dict[str, float] = {}
        problem: str | None = None
        for start in range(0, len(given), self.batch):
            part = given[start : start + self.batch]
            done = run_plan(made, self.encode(part), on=on, keys=keys, threads=threads, progress=progress)
            keys = done.keys
            problem = problem or done.problem
            found.append(self.decode(done.outputs)[: len(part)])
            for step, taken in done.seconds.items():
                seconds[step] = seconds.get(step, 0.0) + taken
        scores = np.concatenate(found)
        assert keys is not None
        return ModelRun(
            predictions=self.reading.predictions(scores),
            scores=scores,
            expected=self.clear(given),
            problem=problem,
            parameters=done.parameters,
            seconds=seconds,
            keys=keys,
        )

    def cost(self) -> Report:
        """What one execution, of `batch` rows, takes: before any key is made."""
        return self.program.cost()

    def part(self, rows: Rows) -> Floats:
        """Rows of one execution."""
        given = self.checked(rows)
        if len(given) > self.batch:
            raise InputError(
                f"{self.name}: {len(given)} rows, and one execution takes up to {self.batch}; encode them {self.batch} at a time, or give them "
                "to .run or .predict, which do so"
            )
        return given

    def checked(self, rows: Rows) -> Floats:
        """Rows as an array of finite numbers, of as many features as the model has."""
        given = table(self.name, rows, self.names)
        if given.ndim == 1 and given.size == self.features:
            given = given.reshape(1, -1)
        if given.ndim > 2 and given.size:
            given = given.reshape(len(given), -1)
        if given.ndim != 2 or given.shape[1] != self.features or not len(given):
            shape = " x ".join(map(str, np.shape(rows))) or "one value"
            raise InputError(f"{self.name}: the rows are {shape}, but the model takes rows x {self.features} features")
        if not np.isfinite(given).all():
            row = int(np.argwhere(~np.isfinite(given))[0][0])
            raise InputError(f"{self.name}: row {row} holds a value that is missing or not finite; fill it in first")
        return given


class ForestModel(Model):
    """Trees, with TFHE: comparisons and leaves are look-ups."""

    batch = 1

    def __init__(
        self, name: str, ensemble: Ensemble, reading: Reading, grid: Grid, value_bits: int, rows: Floats
    ) -> None:
        super().__init__(name, ensemble.features, reading)
        self.ensemble = ensemble
        self.forest = EncryptedForest.of(ensemble, grid, value_bits)
        self.layout: Layout
        self.layout, self.program = self.forest.cheapest()
        known = "the thresholds themselves" if grid.cuts is not None else f"at most {int(grid.levels.max()) + 1} levels"
        basis = f"features as {known}, values of a tree in multiples of {self.forest.unit:.3g}"
        given = self.checked(rows)
        self.fidelity = fidelity(reading, self.clear_scores(given), ensemble.scores(given), basis)

    def encode(self, rows: Rows) -> dict[str, Any]:
        """See `Model.encode`."""
        quantised = self._quantised(self.part(rows))
        return {"row": encode(quantised[0], self.forest.grid.levels, self.layout.digit_bits)}

    def decode(self, outputs: Mapping[str, Any]) -> Floats:
        """See `Model.decode`."""
        return self.forest.scores(self.forest.added(self.layout, outputs["result"]).reshape(1, -1))

    def clear_scores(self, rows: Rows) -> Floats:
        """See `Model.clear_scores`."""
        return self.forest.scores(self.forest.evaluate(self._quantised(rows)))

    def _quantised(self, rows: Rows) -> NDArray[np.int64]:
        return self.forest.grid.quantise(self.ensemble.rounded(self.checked(rows)))


class NetworkModel(Model):
    """Matrices and activations, with CKKS."""

    def __init__(
        self, name: str, network: Network, reading: Reading, rows: Floats, degree: int, margin: float, batch: int
    ) -> None:
        super().__init__(name, network.inputs, reading)
        self.batch = batch
        self.degree = degree
        given = self.checked(rows)
        self.middle, self.half = _ranges(given)
        self.network = network.calibrated(given, margin)
        self.program = self.network.on_unit_inputs(self.middle, self.half).program(degree, batch, INPUT_BOUND)
        basis = "nothing is rounded but by CKKS"
        if not network.is_linear:
            shown = "; ".join(
                f"{lo:.3g} to {hi:.3g}"
                for lo, hi in (layer.interval for layer in self.network.layers if layer.activation is not None)
            )
            basis = f"activations as polynomials of degree {degree} on {shown}" if shown else basis
        self.fidelity = fidelity(reading, self.clear_scores(given), network.scores(given), basis)

    def encode(self, rows: Rows) -> dict[str, Any]:
        """See `Model.encode`."""
        given = self.part(rows)
        block = self.network.block
        slots = np.zeros((self.batch, block))
        on_unit = (given - self.middle) / self.half
        beyond = np.argwhere(np.abs(on_unit) > INPUT_BOUND)
        if len(beyond):
            row, feature = map(int, beyond[0])
            middle, half = float(self.middle[feature]), float(self.half[feature])
            lo, hi = middle - INPUT_BOUND * half, middle + INPUT_BOUND * half
            raise InputError(
                f"{self.name}: feature {feature} of row {row} is {given[row, feature]:.6g}, and rows are taken from {lo:.6g} to {hi:.6g}, "
                f"{INPUT_BOUND:g} times as wide as those that the model was read with; read it again with rows that reach as far"
            )
        led = self.network.first_beyond(given, self.degree)
        if led is not None:
            number, value, (lo, hi) = led
            raise InputError(
                f"{self.name}: row {number} leads an activation to {value:.4g}, and its polynomial is one from {lo:.4g} to {hi:.4g}; read the "
                "model again with rows like this one, or with a larger margin="
            )
        slots[: len(given), : self.features] = on_unit
        # Rows that are not there stand in the middle of each feature's range, where activations are on their intervals.
        return {"x": slots.reshape(-1)}

    def decode(self, outputs: Mapping[str, Any]) -> Floats:
        """See `Model.decode`."""
        return np.asarray(outputs["result"]).reshape(self.batch, -1)[:, : self.network.outputs]

    def clear_scores(self, rows: Rows) -> Floats:
        """See `Model.clear_scores`."""
        return self.network.scores(self.checked(rows), self.degree)


def _ranges(rows: Floats) -> tuple[Floats, Floats]:
    low, high = rows.min(axis=0), rows.max(axis=0)
    half = (high - low) / 2
    return (low + high) / 2, np.where(half > 0, half, np.maximum(np.abs(high), 1.0))


def fidelity(reading: Reading, found: Floats, exact: Floats, basis: str) -> Fidelity:
    """How close scores are to the model's."""
    ours, own = reading.predictions(found), reading.predictions(exact)
    if reading.classes is not None:
        equal = ours == own
    else:
        width = float(np.ptp(own)) or 1.0
        equal = np.abs(ours - own) <= width / 100
        equal = equal if equal.ndim == 1 else equal.all(axis=1)
    return Fidelity(len(found), float(np.mean(equal)), float(np.abs(found - exact).max()), basis)
