"""Layers on encrypted reals: matrices, and activations as polynomials on intervals that rows of data have shown.

Linear maps that follow each other are one matrix. What an activation reads is brought to [-1, 1] by the matrix before it, so that the
interval costs no level. A ciphertext holds as many rows as it is asked to, each in a block of slots of its own.
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
from ..runnable import SlotProgram, traced
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
"""By name, those that need no number of their own."""


@dataclass(frozen=True)
class Layer:
    """An activation of sums of matrices times earlier values, and a bias. Value 0 is the input, value i the result of layer i."""

    terms: Mapping[int, Floats]
    bias: Floats
    activation: Callable[[Floats], Floats] | None = None
    square: bool = False
    """In the place of an activation: the exact square."""
    interval: tuple[float, float] = (-1.0, 1.0)

    def sums(self, values: list[Floats]) -> Floats:
        """What the activation reads, for rows of values."""
        total = np.tile(self.bias, (len(values[0]), 1))
        for source, matrix in self.terms.items():
            total = total + values[source] @ matrix.T
        return total


@dataclass(frozen=True)
class Network:
    """Layers, the last of which has no activation and gives the scores."""

    layers: tuple[Layer, ...]
    inputs: int

    @property
    def outputs(self) -> int:
        """Scores of a row."""
        return len(self.layers[-1].bias)

    def weights(self) -> Iterator[Floats]:
        """All matrices and biases."""
        for layer in self.layers:
            yield from (*layer.terms.values(), layer.bias)

    @property
    def is_linear(self) -> bool:
        """Whether there is nothing but one matrix."""
        return len(self.layers) == 1

    def _evaluated(self, rows: Floats, degree: int | None) -> Iterator[tuple[Layer, Floats, Floats]]:
        """Every layer with what its activation reads of rows, and its results: with exact activations, or with their polynomials of `degree`."""
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
        """The scores of rows: with exact activations, or with their polynomials of `degree`."""
        *_, (_, _, scores) = self._evaluated(rows, degree)
        return scores

    def first_beyond(self, rows: Floats, degree: int) -> tuple[int, float, tuple[float, float]] | None:
        """The first row that leads an activation beyond its interval: its number, what is read there, and the interval."""
        for layer, sums, _ in self._evaluated(rows, degree):
            if layer.activation is None:
                continue
            lo, hi = layer.interval
            # Rounding alone leads nowhere.
            room = 1e-9 * (hi - lo)
            outside = np.argwhere((sums < lo - room) | (sums > hi + room))
            if len(outside):
                row, place = outside[0]
                return int(row), float(sums[row, place]), layer.interval
        return None

    def calibrated(self, rows: Floats, margin: float) -> Network:
        """This network with the intervals that `rows` show at each activation, widened by `margin`."""
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
                    "model itself gives finite numbers"
                )
        return replace(self, layers=tuple(layers))

    def on_unit_inputs(self, middle: Floats, half: Floats) -> Network:
        """The network of u, where its own input is middle + half * u."""
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
        """Slots of a row: the next power of two of the widest layer."""
        widest = max([self.inputs, *(len(layer.bias) for layer in self.layers)])
        return 1 << (widest - 1).bit_length()

    def program(self, degree: int, batch: int, bound: float) -> SlotProgram:
        """The program for `batch` rows, each in its block of slots, of inputs up to `bound`."""
        block = self.block
        slots = block * batch
        if block > RING_SLOTS:
            raise ProgramError(
                f"a layer has {max(self.inputs, *(len(layer.bias) for layer in self.layers))} numbers, and a ciphertext holds {RING_SLOTS}; "
                "make it narrower before the model is trained"
            )
        if slots > RING_SLOTS:
            raise InputError(
                f"batch={batch}: a row takes {block} slots, and a ciphertext has {RING_SLOTS}; give at most {RING_SLOTS // block}"
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
    """The layer with its interval brought to [-1, 1], and the coefficients of its activation there."""
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
            f"an activation is not finite everywhere from {lo:g} to {hi:g}, where rows of the data and the margin lead; give a smaller "
            "margin=, 1 for the rows' own interval, or rows that stay away from where it is not"
        )
    return replace(layer, terms=terms, bias=layer.bias * scale - shift), coefficients


def _diagonals(matrix: Floats, block: int, batch: int) -> dict[int, Floats]:
    """The generalised diagonals of the matrix that has `matrix` for each block: what slot i takes of slot i + offset, by the offset."""
    rows, columns = matrix.shape
    slots = block * batch
    found: dict[int, Floats] = {}
    for offset in range(1 - rows, columns):
        own = np.diagonal(matrix, offset)
        if np.any(own):
            diagonal = np.zeros(block)
            first = max(0, -offset)
            diagonal[first : first + len(own)] = own
            # Of one block the slots before the first are the last ones.
            found[offset % slots] = found.get(offset % slots, 0) + np.tile(diagonal, batch)
    return found or {0: np.zeros(slots)}
