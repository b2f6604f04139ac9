"""A trained model as a program on encrypted rows: the client's encoding, the server's program, and the reading of scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, shown
from ..host.units import scaled
from ..run.execution import GPU, make_plan, place, run_plan, with_keys
from ..run.keys import Keys
from ..run.runnable_programs import Program
from ..schemes.options import PlanOptions
from .forest import EncryptedForest, Ensemble, Grid, Layout, encode
from .network import Approximation, Interval, Network
from .reading import Reading

if TYPE_CHECKING:
    from ..accelerators.machine import Place
    from ..host.progress import ProgressHook
    from ..reports import Report

Floats: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = "NDArray[Any] | list[list[float]]"


INPUT_BOUND = 4.0
"""Largest distance of a network's feature from the middle of its range in the given rows, in half ranges."""


@dataclass(frozen=True)
class Fidelity:
    """How close the quantised model in the clear is to the original model, on the given rows."""

    rows: int
    equal: float
    """Share of rows with equal predictions; for regressors, with predictions that differ by at most 1% of their range."""
    deviation: float
    """Largest difference of a score; for regressors, of a prediction."""
    basis: str
    """The roundings and approximations, in words."""

    range: float | None = None
    """For regressors, the range of the model's own predictions."""

    def __str__(self) -> str:
        if self.range is not None:
            share = f", {self.deviation / self.range:.2%} of their range" if self.range else ""
            return f"predictions within {self.deviation:.3g} of the model's{share}, on {self.rows} rows ({self.basis})"
        return f"{self.equal:.2%} of {self.rows} rows have the model's prediction, scores within {self.deviation:.3g} ({self.basis})"

    def to_dict(self) -> dict[str, Any]:
        """As data."""
        return asdict(self)


@dataclass(frozen=True, repr=False)
class ModelRun:
    """Predictions of an encrypted execution, and its cost."""

    predictions: NDArray[Any]
    scores: Floats
    deviation: float
    """Largest difference of a decrypted score from the original model's, on these rows."""
    expected: NDArray[Any]
    """Predictions of the quantised model in the clear."""
    problem: str | None
    """Why the run is not `correct`, with figures and a remedy."""
    parameters: str
    seconds: dict[str, float]
    """Seconds of each step, for all rows."""
    keys: Keys

    def __repr__(self) -> str:
        seconds = ", ".join(f"{step} {scaled(taken, 's')}" for step, taken in self.seconds.items())
        verdict = "correct" if self.problem is None else f"not correct: {self.problem}"
        rows = f"{len(self.predictions)} row{'' if len(self.predictions) == 1 else 's'}"
        return f"{self.predictions}\n{rows} with {self.parameters}: {verdict}; scores within {self.deviation:.3g} of the model's; {seconds}"

    @property
    def correct(self) -> bool:
        """Whether every decrypted output equals the clear one: exactly with TFHE, within a bound below the values with CKKS."""
        return self.problem is None


def table(what: str, rows: object, names: Sequence[str] | None = None) -> Floats:
    """Rows as an array of real numbers. Refuses masked values, sparse matrices, and columns with other names."""
    if np.ma.is_masked(rows):
        raise InputError(f"{what}: some values of the rows are masked; fill them in")
    if hasattr(rows, "toarray"):
        raise InputError(
            f"{what}: the rows are a sparse matrix, but encryption needs every number; give rows.toarray()"
        )
    columns = getattr(rows, "columns", None)
    if names is not None and columns is not None and [*map(str, columns)] != [*names]:
        raise InputError(
            f"{what}: the rows have the columns {shown([*columns])}, but the model was fitted on {shown([*names])}; give these, in this order"
        )
    try:
        if np.iscomplexobj(rows):
            raise InputError(f"{what}: the rows are complex; give real numbers")
        return np.asarray(rows, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            f"{what}: the rows are not a table of numbers; encode categories as numbers, and give rows of equal length"
        ) from None


class Model(ABC):
    """A model of scikit-learn or ONNX that predicts on encrypted rows; made by `pf.from_sklearn` and `pf.from_onnx`."""

    program: Program
    """The server's program."""
    fidelity: Fidelity
    batch: int
    """Number of rows per execution."""
    approximations: Sequence[Approximation] = ()
    """The functions that polynomials replace, with their intervals and errors."""
    names: Sequence[str] | None = None
    """Column names of the table that the model was fitted on, if any; tables with other names are refused."""

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
        """The program's inputs for up to `batch` rows."""

    @abstractmethod
    def decode(self, decrypted: Any) -> Floats:  # noqa: ANN401 - what the program returns
        """Scores, rows x outputs, from the program's decrypted value."""

    # -- predictions ----------------------------------------------------------------------------------------------

    @abstractmethod
    def clear_scores(self, rows: Rows) -> Floats:
        """Scores of the quantised model in the clear, rows x outputs."""

    @abstractmethod
    def exact_scores(self, rows: Rows) -> Floats:
        """Scores of the original model, rows x outputs."""

    def clear(self, rows: Rows) -> NDArray[Any]:
        """Predictions of the quantised model in the clear."""
        return self.reading.predictions(self.clear_scores(rows))

    def predict(self, rows: Rows, **options: Any) -> NDArray[Any]:  # noqa: ANN401 - those of `run`
        """Predictions on encrypted rows, in the format of the model's own `predict`. The options are those of `run`."""
        return self.run(rows, **options).predictions

    def predict_proba(self, rows: Rows, **options: Any) -> Floats:  # noqa: ANN401 - those of `run`
        """Probabilities of the classes on encrypted rows, in the format of the model's own `predict_proba`."""
        try:
            return self.reading.probabilities(self.run(rows, **options).scores)
        except ValueError as problem:
            raise InputError(f"{self.name}: {problem}") from None

    def run(
        self,
        rows: Rows,
        *,
        on: Place = "cpu",
        parameters: str | None = None,
        keys: Keys | None = None,
        threads: int | None = None,
        measure: bool = False,
        progress: ProgressHook | None = None,
    ) -> ModelRun:
        """Encrypts the rows, `batch` at a time with one key, executes, decrypts, and compares with the clear program. `measure`: see `Program.run`; deep
        networks need it, because bounds for the worst inputs exceed their values."""
        given = self.checked(rows)
        options = PlanOptions(parameters=parameters, machine=place(on), gpu=on == GPU, measure=measure)
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
            found.append(self.decode(done.value)[: len(part)])
            for step, taken in done.seconds.items():
                seconds[step] = seconds.get(step, 0.0) + taken
        scores = np.concatenate(found)
        assert keys is not None
        return ModelRun(
            predictions=self.reading.predictions(scores),
            scores=scores,
            deviation=float(np.abs(scores - self.exact_scores(given)).max()),
            expected=self.clear(given),
            problem=problem,
            parameters=done.parameters,
            seconds=seconds,
            keys=keys,
        )

    def cost(self) -> Report:
        """The cost of one execution on `batch` rows, without making keys."""
        return self.program.cost()

    def part(self, rows: Rows) -> Floats:
        """Checked rows of one execution; refuses more than `batch`."""
        given = self.checked(rows)
        if len(given) > self.batch:
            raise InputError(
                f"{self.name}: {len(given)} rows, but one execution processes at most {self.batch}; encode them {self.batch} at a time, or pass them "
                "to .run or .predict"
            )
        return given

    def checked(self, rows: Rows) -> Floats:
        """Rows as an array of finite numbers, rows x features."""
        given = table(self.name, rows, self.names)
        if given.ndim == 1 and given.size == self.features:
            given = given.reshape(1, -1)
        if given.ndim > 2 and given.size:
            given = given.reshape(len(given), -1)
        if given.ndim != 2 or given.shape[1] != self.features or not len(given):
            shape = " x ".join(map(str, np.shape(rows))) or "one value"
            raise InputError(f"{self.name}: the rows are {shape}, but the model needs rows x {self.features} features")
        if not np.isfinite(given).all():
            row = int(np.argwhere(~np.isfinite(given))[0][0])
            raise InputError(f"{self.name}: row {row} contains a missing or infinite value; fill it in")
        return given


class ForestModel(Model):
    """Trees, with TFHE: comparisons and leaves are lookups."""

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

    def decode(self, decrypted: Any) -> Floats:  # noqa: ANN401 - see `Model.decode`
        """See `Model.decode`."""
        return self.forest.scores(self.forest.added(self.layout, decrypted).reshape(1, -1))

    def clear_scores(self, rows: Rows) -> Floats:
        """See `Model.clear_scores`."""
        return self.forest.scores(self.forest.evaluate(self._quantised(rows)))

    def exact_scores(self, rows: Rows) -> Floats:
        """See `Model.exact_scores`."""
        return self.ensemble.scores(self.checked(rows))

    def _quantised(self, rows: Rows) -> NDArray[np.int64]:
        return self.forest.grid.quantise(self.ensemble.rounded(self.checked(rows)))


class NetworkModel(Model):
    """Matrices and activations, with CKKS."""

    def __init__(
        self,
        name: str,
        network: Network,
        reading: Reading,
        rows: Floats,
        degree: int,
        margin: float,
        batch: int,
        stated: Mapping[str, Interval],
    ) -> None:
        super().__init__(name, network.inputs, reading)
        self.batch = batch
        self.degree = degree
        given = self.checked(rows)
        self.middle, self.half = _ranges(given)
        largest = np.abs(self.middle) + INPUT_BOUND * self.half
        self.network = network.calibrated(given, margin, stated, largest)
        self.approximations = self.network.approximations(degree)
        self.program = self.network.after(np.diag(self.half), self.middle).program(degree, batch, INPUT_BOUND)
        basis = "CKKS alone rounds"
        if not network.is_linear:
            shown = "; ".join(f"{lo:.3g} to {hi:.3g}" for lo, hi in (one.interval for one in self.approximations))
            if len(self.approximations) > 4:
                basis = f"{len(self.approximations)} functions as polynomials of degree {degree}"
            elif shown:
                basis = f"activations as polynomials of degree {degree} on {shown}"
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
                f"{self.name}: feature {feature} of row {row} is {given[row, feature]:.6g}, outside {lo:.6g} to {hi:.6g}, "
                f"{INPUT_BOUND:g} times the range of the rows that the model was read with; read it again with a wider range of rows"
            )
        led = self.network.first_beyond(given, self.degree)
        if led is not None:
            number, value, layer = led
            lo, hi = layer.interval
            raise InputError(
                f"{self.name}: row {number} gives {layer.name or 'an activation'} the input {value:.4g}, but its polynomial is valid from {lo:.4g} to {hi:.4g}; read the "
                "model again with rows like this one, or with a larger margin="
            )
        slots[: len(given), : self.features] = on_unit
        # Padding repeats a row, for which every function stays within its interval.
        slots[len(given) :, : self.features] = on_unit[-1]
        return {"x": slots.reshape(-1)}

    def decode(self, decrypted: Any) -> Floats:  # noqa: ANN401 - see `Model.decode`
        """See `Model.decode`."""
        return np.asarray(decrypted).reshape(self.batch, -1)[:, : self.network.outputs]

    def clear_scores(self, rows: Rows) -> Floats:
        """See `Model.clear_scores`."""
        return self.network.scores(self.checked(rows), self.degree)

    def exact_scores(self, rows: Rows) -> Floats:
        """See `Model.exact_scores`."""
        return self.network.scores(self.checked(rows))


def _ranges(rows: Floats) -> tuple[Floats, Floats]:
    low, high = rows.min(axis=0), rows.max(axis=0)
    half = (high - low) / 2
    return (low + high) / 2, np.where(half > 0, half, np.maximum(np.abs(high), 1.0))


def fidelity(reading: Reading, found: Floats, exact: Floats, basis: str) -> Fidelity:
    """Compares scores with the model's."""
    ours, own = reading.predictions(found), reading.predictions(exact)
    if reading.classes is not None:
        return Fidelity(len(found), float(np.mean(ours == own)), float(np.abs(found - exact).max()), basis)
    width = float(np.ptp(own))
    near = np.abs(ours - own) <= (width or 1.0) / 100
    near = near if near.ndim == 1 else near.all(axis=1)
    return Fidelity(len(found), float(np.mean(near)), float(np.abs(ours - own).max()), basis, width)
