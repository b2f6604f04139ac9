"""Neural networks with CKKS: matrices, and activations as polynomials on intervals from sample rows.

Consecutive linear maps are one matrix. The matrix before an activation scales its input to [-1, 1], so that the
interval costs no level. A ciphertext contains `batch` rows, each in its own block of slots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import erf

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ProgramError
from ..language.slot_functions import chebyshev
from ..language.slot_matrix import by_diagonals
from ..language.slots import SlotValue
from ..language.types import RING_SLOTS, Real
from ..run.runnable_programs import SlotProgram, traced
from .reading import sigmoid

Floats = NDArray[np.float64]

_erf = np.vectorize(erf, otypes=[float])

ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "relu": lambda u: np.maximum(u, 0),
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "softplus": lambda u: np.logaddexp(u, 0),
    "gelu": lambda u: u * (1 + _erf(u / np.sqrt(2))) / 2,
    "exp": np.exp,
    "erf": _erf,
    "abs": np.abs,
    "sqrt": lambda u: np.sqrt(np.maximum(u, 0)),
    "reciprocal": lambda u: 1 / u,
}
"""Activations without parameters, by name."""


@dataclass(frozen=True)
class Layer:
    """An activation of sums of matrices times earlier values, and a bias. Value 0 is the input, value i the result of layer i."""

    terms: Mapping[int, Floats]
    bias: Floats
    activation: Callable[[Floats], Floats] | None = None
    square: bool = False
    """Whether the activation is the exact square."""
    interval: tuple[float, float] = (-1.0, 1.0)

    def sums(self, values: list[Floats]) -> Floats:
        """The activation's input for rows of values."""
        total = np.tile(self.bias, (len(values[0]), 1))
        for source, matrix in self.terms.items():
            total = total + values[source] @ matrix.T
        return total


@dataclass(frozen=True)
class Network:
    """Layers; the last has no activation and gives the scores."""

    layers: tuple[Layer, ...]
    inputs: int

    @property
    def outputs(self) -> int:
        """Number of scores per row."""
        return len(self.layers[-1].bias)

    def weights(self) -> Iterator[Floats]:
        """All matrices and biases."""
        for layer in self.layers:
            yield from (*layer.terms.values(), layer.bias)

    @property
    def is_linear(self) -> bool:
        """Whether the network is a single matrix."""
        return len(self.layers) == 1

    def _evaluated(self, rows: Floats, degree: int | None) -> Iterator[tuple[Layer, Floats, Floats]]:
        """Every layer with its activation's input and output for rows: exact activations, or their polynomials of `degree`."""
        values = [rows]
        for layer in self.layers:
            sums = layer.sums(values)
            if layer.square:
                values.append(sums**2)
            elif layer.activation is None:
                values.append(sums)
            elif degree is None:
                values.append(layer.activation(sums))
            else:
                fitted = np.polynomial.Chebyshev.interpolate(layer.activation, degree, layer.interval)
                values.append(fitted(sums))
            yield layer, sums, values[-1]

    def scores(self, rows: Floats, degree: int | None = None) -> Floats:
        """The scores of rows, rows x outputs: with exact activations, or with their polynomials of `degree`."""
        *_, (_, _, scores) = self._evaluated(rows, degree)
        return scores

    def first_beyond(self, rows: Floats, degree: int) -> tuple[int, float, tuple[float, float]] | None:
        """The first row that exceeds an activation's interval: its number, the activation's input, and the interval."""
        for layer, sums, _ in self._evaluated(rows, degree):
            if layer.activation is None:
                continue
            lo, hi = layer.interval
            # Rounding errors do not count.
            room = 1e-9 * (hi - lo)
            outside = np.argwhere((sums < lo - room) | (sums > hi + room))
            if len(outside):
                row, place = outside[0]
                return int(row), float(sums[row, place]), layer.interval
        return None

    def calibrated(self, rows: Floats, margin: float) -> Network:
        """This network with each activation's interval from `rows`, widened by `margin`."""
        values, layers = [rows], []
        for layer in self.layers:
            sums = layer.sums(values)
            if layer.activation is None:
                layers.append(layer)
                values.append(sums**2 if layer.square else sums)
                continue
            lo, hi = float(sums.min()), float(sums.max())
            middle, half = (lo + hi) / 2, max((hi - lo) / 2, 1e-6) * margin
            layers.append(replace(layer, interval=(middle - half, middle + half)))
            with np.errstate(all="ignore"):
                values.append(layer.activation(sums))
            bad = np.argwhere(~np.isfinite(values[-1]))
            if len(bad):
                row, place = map(int, bad[0])
                raise ProgramError(
                    f"for row {row} an activation of the model is {values[-1][row, place]:g}, at {sums[row, place]:g}; give rows for which the "
                    "model gives finite numbers"
                )
        return replace(self, layers=tuple(layers))

    def on_unit_inputs(self, middle: Floats, half: Floats) -> Network:
        """The network as a function of u, where its input is middle + half * u."""
        layers = []
        for layer in self.layers:
            if 0 not in layer.terms:
                layers.append(layer)
                continue
            matrix = layer.terms[0]
            terms = {**layer.terms, 0: matrix * half}
            layers.append(replace(layer, terms=terms, bias=layer.bias + matrix @ middle))
        return replace(self, layers=tuple(layers))

    @property
    def block(self) -> int:
        """Slots per row: the width of the widest layer, rounded up to a power of two."""
        widest = max([self.inputs, *(len(layer.bias) for layer in self.layers)])
        return 1 << (widest - 1).bit_length()

    def program(self, degree: int, batch: int, bound: float) -> SlotProgram:
        """The program for `batch` rows, each in its block of slots, for inputs up to `bound`."""
        block = self.block
        slots = block * batch
        if block > RING_SLOTS:
            raise ProgramError(
                f"a layer has {max(self.inputs, *(len(layer.bias) for layer in self.layers))} numbers, but a ciphertext has {RING_SLOTS} slots; "
                "make it narrower before the model is trained"
            )
        if slots > RING_SLOTS:
            raise InputError(
                f"batch={batch}: a row needs {block} slots, and a ciphertext has {RING_SLOTS}; give at most {RING_SLOTS // block}"
            )

        def network(x: SlotValue) -> SlotValue:
            """Scores of rows, each in its block."""
            values = [x]
            for layer in self.layers:
                scaled, coefficients = _to_unit_interval(layer, degree)
                first, *others = (
                    by_diagonals(values[source], _diagonals(matrix, block, batch), slots)
                    for source, matrix in scaled.terms.items()
                )
                total = sum(others, start=first)
                bias = np.tile(np.pad(scaled.bias, (0, block - len(scaled.bias))), batch)
                total = total + bias if np.any(bias) else total
                if layer.square:
                    total = total * total
                values.append(total if coefficients is None else chebyshev(total, coefficients))
            return values[-1]

        made = traced(network, {"x": Real.bounded(bound).vector(slots)}, "network", slots=slots)
        assert isinstance(made, SlotProgram)
        return made


def _to_unit_interval(layer: Layer, degree: int) -> tuple[Layer, Floats | None]:
    """The layer with its interval scaled to [-1, 1], and the coefficients of its activation there."""
    if layer.activation is None:
        return layer, None
    lo, hi = layer.interval
    scale, shift = 2 / (hi - lo), (hi + lo) / (hi - lo)
    terms = {source: matrix * scale for source, matrix in layer.terms.items()}
    activation = layer.activation
    with np.errstate(all="ignore"):
        coefficients = np.polynomial.chebyshev.chebinterpolate(
            lambda nodes: activation((nodes * (hi - lo) + hi + lo) / 2), degree
        )
    if not np.all(np.isfinite(coefficients)):
        raise ProgramError(
            f"an activation is not finite everywhere from {lo:g} to {hi:g}, its range for these rows and this margin; give a smaller "
            "margin= (1 for the range itself), or other rows"
        )
    return replace(layer, terms=terms, bias=layer.bias * scale - shift), coefficients


def _diagonals(matrix: Floats, block: int, batch: int) -> dict[int, Floats]:
    """The generalised diagonals of the block-diagonal matrix of `batch` copies of `matrix`: by offset, the factors of slot i + offset in slot i."""
    rows, columns = matrix.shape
    slots = block * batch
    found: dict[int, Floats] = {}
    for offset in range(1 - rows, columns):
        own = np.diagonal(matrix, offset)
        if np.any(own):
            diagonal = np.zeros(block)
            first = max(0, -offset)
            diagonal[first : first + len(own)] = own
            # With a single block, negative offsets wrap around.
            found[offset % slots] = found.get(offset % slots, 0) + np.tile(diagonal, batch)
    return found or {0: np.zeros(slots)}
