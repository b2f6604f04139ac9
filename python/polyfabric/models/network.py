"""Neural networks with CKKS: matrices, products, and functions of one number as polynomials on intervals.

Consecutive linear maps are one matrix. The matrix before a function scales its input to [-1, 1], so that the
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
Interval = tuple[float, float]

LOOSE = 4
"""How many times a bound from the worst inputs may exceed the numbers that rows show before products take an interval instead."""

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


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums of matrices times earlier values, and a bias. Value 0 is the input, value i the result of layer i."""

    terms: Mapping[int, Floats]
    bias: Floats

    def of(self, values: list[Floats]) -> Floats:
        """The sums for rows of values."""
        total = np.tile(self.bias, (len(values[0]), 1))
        for source, matrix in self.terms.items():
            total = total + values[source] @ matrix.T
        return total


@dataclass(frozen=True, eq=False)
class Layer:
    """Sums, then a function of each, or the product of each with a factor."""

    sums: Sums
    activation: Callable[[Floats], Floats] | None = None
    factor: Sums | None = None
    """Other sums to multiply with, number by number; for squares the sums themselves."""
    name: str = ""
    """What the user calls the function: the operator's name, for `intervals=`."""
    one_sided: bool = False
    """Whether the function has no value at 0, or on one side of it, so that its interval must not cross 0."""
    bounding: bool = False
    """Whether the function is the identity, there for its interval: operands of products have one if the bound that follows from the worst inputs is far
    greater, because bounds of errors multiply. It takes a level."""
    interval: Interval = (-1.0, 1.0)

    def of(self, values: list[Floats], function: Callable[[Floats], Floats] | None) -> tuple[Floats, Floats]:
        """The sums and the result for rows of values, with this function."""
        sums = self.sums.of(values)
        if self.factor is not None:
            return sums, sums * (sums if self.factor is self.sums else self.factor.of(values))
        return sums, sums if function is None else function(sums)

    def changed(self, change: Callable[[Sums], Sums]) -> Layer:
        """The layer with other sums; a square stays one."""
        sums = change(self.sums)
        factor = None if self.factor is None else sums if self.factor is self.sums else change(self.factor)
        return replace(self, sums=sums, factor=factor)

    def parts(self) -> tuple[Sums, ...]:
        """The sums, and the factor unless it is the same."""
        return (self.sums,) if self.factor is None or self.factor is self.sums else (self.sums, self.factor)

    def polynomial(self, degree: int) -> Floats:
        """The Chebyshev coefficients of the function on its interval, without those that are zero except for rounding."""
        assert self.activation is not None
        lo, hi = self.interval
        activation = self.activation
        with np.errstate(all="ignore"):
            found = np.polynomial.chebyshev.chebinterpolate(
                lambda nodes: activation((nodes * (hi - lo) + hi + lo) / 2), degree
            )
        if not np.all(np.isfinite(found)):
            raise ProgramError(
                f"{self.name or 'an activation'} is not finite everywhere from {lo:g} to {hi:g}, its range for these rows and this margin; give a "
                "smaller margin= (1 for the range itself), or other rows"
            )
        used = np.flatnonzero(np.abs(found) > 1e-13 * np.abs(found).max())
        return found[: max(2, used[-1] + 1 if len(used) else 0)]


@dataclass(frozen=True)
class Approximation:
    """A function that a polynomial replaces, and by how much the two differ on the interval."""

    name: str
    interval: Interval
    degree: int
    error: float
    """Largest difference on the interval; `inf` if the function has no value at one of its ends."""


@dataclass(frozen=True)
class Network:
    """Layers; the last has no activation and gives the scores."""

    layers: tuple[Layer, ...]
    inputs: int

    @property
    def outputs(self) -> int:
        """Number of scores per row."""
        return len(self.layers[-1].sums.bias)

    def weights(self) -> Iterator[Floats]:
        """All matrices and biases."""
        for layer in self.layers:
            for sums in layer.parts():
                yield from (*sums.terms.values(), sums.bias)

    @property
    def is_linear(self) -> bool:
        """Whether the network is a single matrix."""
        return len(self.layers) == 1

    def _evaluated(self, rows: Floats, degree: int | None) -> Iterator[tuple[Layer, Floats, Floats]]:
        """Every layer with its sums and its result for rows: exact functions, or their polynomials of `degree`."""
        values = [rows]
        for layer in self.layers:
            function = layer.activation
            if function is not None and degree is not None:
                function = np.polynomial.Chebyshev(layer.polynomial(degree), layer.interval)
            sums, result = layer.of(values, function)
            values.append(result)
            yield layer, sums, result

    def scores(self, rows: Floats, degree: int | None = None) -> Floats:
        """The scores of rows, rows x outputs: with exact functions, or with their polynomials of `degree`."""
        *_, (_, _, scores) = self._evaluated(rows, degree)
        return scores

    def first_beyond(self, rows: Floats, degree: int) -> tuple[int, float, Layer] | None:
        """The first row that exceeds a function's interval: its number, the function's input, and the layer."""
        for layer, sums, _ in self._evaluated(rows, degree):
            if layer.activation is None:
                continue
            lo, hi = layer.interval
            # Rounding errors do not count.
            room = 1e-9 * (hi - lo)
            outside = np.argwhere((sums < lo - room) | (sums > hi + room))
            if len(outside):
                row, place = outside[0]
                return int(row), float(sums[row, place]), layer
        return None

    def calibrated(self, rows: Floats, margin: float, stated: Mapping[str, Interval], largest: Floats) -> Network:
        """This network with each function's interval: the `stated` one, or that of `rows`, widened by `margin`. `largest` bounds the inputs."""
        layers: list[Layer] = []
        values, bounds = [rows], _Bounds(largest)
        for layer in self.layers:
            with np.errstate(all="ignore"):
                sums, result = layer.of(values, layer.activation)
            values.append(result)
            if layer.activation is None:
                layers.append(layer)
                bounds.append(layer)
                continue
            if (
                layer.bounding
                and layer.name not in stated
                and bounds.of(layer.sums).max() <= LOOSE * np.abs(sums).max()
            ):
                layers.append(replace(layer, activation=None))
                bounds.append(layers[-1])
                continue
            bad = np.argwhere(~np.isfinite(result))
            if len(bad):
                row, place = map(int, bad[0])
                raise ProgramError(
                    f"for row {row} {layer.name or 'an activation of the model'} is {result[row, place]:g}, at {sums[row, place]:g}; give rows for "
                    "which the model gives finite numbers"
                )
            seen = float(sums.min()), float(sums.max())
            own = stated.get(layer.name)
            interval = _widened(layer, seen, margin) if own is None else _stated(layer, seen, own)
            layers.append(replace(layer, interval=interval))
            bounds.append(layers[-1])
        return replace(self, layers=tuple(layers))

    def approximations(self, degree: int) -> list[Approximation]:
        """The functions and their polynomials of `degree`."""
        found = []
        for layer in self.layers:
            if layer.activation is None:
                continue
            coefficients = layer.polynomial(degree)
            points = np.linspace(*layer.interval, 4001)
            with np.errstate(all="ignore"):
                off = np.abs(np.polynomial.Chebyshev(coefficients, layer.interval)(points) - layer.activation(points))
            error = float(np.where(np.isfinite(off), off, np.inf).max())
            found.append(Approximation(layer.name, layer.interval, len(coefficients) - 1, error))
        return found

    def after(self, matrix: Floats, shift: Floats) -> Network:
        """The network as a function of u, where its input is matrix · u + shift."""

        def of_u(sums: Sums) -> Sums:
            if 0 not in sums.terms:
                return sums
            own = sums.terms[0]
            return Sums({**sums.terms, 0: own @ matrix}, sums.bias + own @ shift)

        return Network(tuple(layer.changed(of_u) for layer in self.layers), matrix.shape[1])

    @property
    def widest(self) -> int:
        """Numbers in the widest layer."""
        return max([self.inputs, *(len(layer.sums.bias) for layer in self.layers)])

    @property
    def block(self) -> int:
        """Slots per row: the width of the widest layer, rounded up to a power of two."""
        return 1 << (self.widest - 1).bit_length()

    def program(self, degree: int, batch: int, bound: float) -> SlotProgram:
        """The program for `batch` rows, each in its block of slots, for inputs up to `bound`."""
        block = self.block
        slots = block * batch
        if block > RING_SLOTS:
            raise ProgramError(
                f"a layer has {self.widest} numbers, but a ciphertext has {RING_SLOTS} slots; make it narrower before the model is trained"
            )
        if slots > RING_SLOTS:
            raise InputError(
                f"batch={batch}: a row needs {block} slots, and a ciphertext has {RING_SLOTS}; give at most {RING_SLOTS // block}"
            )

        def network(x: SlotValue) -> SlotValue:
            """Scores of rows, each in its block."""
            values = [x]

            def summed(sums: Sums) -> SlotValue:
                first, *others = (
                    by_diagonals(values[source], _diagonals(matrix, block, batch), slots)
                    for source, matrix in sums.terms.items()
                )
                total = sum(others, start=first)
                bias = np.tile(np.pad(sums.bias, (0, block - len(sums.bias))), batch)
                return total + bias if np.any(bias) else total

            for layer in self.layers:
                if layer.activation is None:
                    total = summed(layer.sums)
                    factor = (
                        None if layer.factor is None else total if layer.factor is layer.sums else summed(layer.factor)
                    )
                    values.append(total if factor is None else total * factor)
                else:
                    values.append(chebyshev(summed(_to_unit_interval(layer)), layer.polynomial(degree)))
            return values[-1]

        made = traced(network, {"x": Real.bounded(bound).vector(slots)}, "network", slots=slots)
        assert isinstance(made, SlotProgram)
        return made


class _Bounds:
    """Bounds of the values of layers for the worst inputs, as error bounds assume."""

    def __init__(self, largest: Floats) -> None:
        self._values = [largest]

    def of(self, sums: Sums) -> Floats:
        """Bounds of sums."""
        found = np.abs(sums.bias)
        for source, matrix in sums.terms.items():
            found = found + np.abs(matrix) @ self._values[source]
        return found

    def append(self, layer: Layer) -> None:
        """Adds the bounds of the next layer's results."""
        if layer.activation is None:
            parts = (
                [self.of(layer.sums)] * 2 if layer.factor is layer.sums else [self.of(part) for part in layer.parts()]
            )
            self._values.append(np.prod(parts, axis=0))
            return
        with np.errstate(all="ignore"):
            values = np.abs(layer.activation(np.linspace(*layer.interval, 101)))
        self._values.append(np.full(len(layer.sums.bias), values[np.isfinite(values)].max(initial=0)))


def _widened(layer: Layer, seen: Interval, margin: float) -> Interval:
    """The range that rows show, widened by `margin` around its middle; for a one-sided function never to or across 0."""
    lo, hi = seen
    middle = (lo + hi) / 2
    # Also of a constant, however large, so that the interval has a width.
    half = max((hi - lo) / 2, 1e-6, abs(middle) * 1e-9) * margin
    first, last = middle - half, middle + half
    if not layer.one_sided:
        return first, last
    if lo < 0 < hi:
        raise ProgramError(
            f"{layer.name} takes values from {lo:.4g} to {hi:.4g} on these rows, but has no value at 0; give rows, or change the model, so that they "
            "keep one sign"
        )
    return (max(first, lo / margin), last) if lo >= 0 else (first, min(last, hi / margin))


def _stated(layer: Layer, seen: Interval, stated: Interval) -> Interval:
    """The user's interval, which must hold the range that rows show."""
    if not stated[0] <= seen[0] <= seen[1] <= stated[1] or stated[0] == stated[1]:
        raise InputError(
            f"intervals={{{layer.name!r}: ({stated[0]:g}, {stated[1]:g})}}: on these rows it takes values from {seen[0]:.6g} to {seen[1]:.6g}; "
            "state an interval that holds them"
        )
    return stated


def _to_unit_interval(layer: Layer) -> Sums:
    """The layer's sums with its interval scaled to [-1, 1]."""
    lo, hi = layer.interval
    scale, shift = 2 / (hi - lo), (hi + lo) / (hi - lo)
    return Sums(
        {source: matrix * scale for source, matrix in layer.sums.terms.items()}, layer.sums.bias * scale - shift
    )


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
