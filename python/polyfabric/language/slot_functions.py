"""Functions of each slot: polynomials, and approximations by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._native import composite_sign
from .place import placed, refuse, whole
from .slots import Number, SlotValue, on_slots

MOST_DEGREES = 4095
"""Limit for interpolated polynomials: higher degrees need more levels than any set has."""


def polynomial(value: SlotValue, coefficients: Sequence[Number] | NDArray[Any]) -> SlotValue:
    """c_0 + c_1·x + c_2·x² + .. for each slot x."""
    value = on_slots("polynomial", value)
    numbers = value._tracer.public(coefficients)
    if numbers.ndim != 1 or len(numbers) < 2:
        raise refuse("polynomial: give at least two coefficients, the constant first")
    return value._polynomial(numbers)


def chebyshev(
    value: SlotValue,
    function: Callable[[NDArray[np.float64]], NDArray[np.float64]] | Sequence[float] | NDArray[np.float64],
    degree: int | None = None,
    interval: tuple[float, float] = (-1.0, 1.0),
) -> SlotValue:
    """A function of each slot, by Chebyshev interpolation of `degree` on `interval`. It is invalid outside the interval.

    Instead of a function, the coefficients of T_0, T_1, .. of the interval may be given.
    """
    value = on_slots("chebyshev", value)
    if value._tracer.modulus is not None:
        raise refuse("chebyshev: integers modulo t have no such approximation; use pf.polynomial")
    try:
        lo, hi = (float(end) for end in interval)
    except (TypeError, ValueError):
        raise refuse(f"chebyshev: the interval is {interval!r}; give its two ends, as (-1, 1)") from None
    if not -inf < lo < hi < inf:
        raise refuse(
            f"chebyshev: the interval {lo:g} to {hi:g} is empty or infinite; give two finite ends, the lower first"
        )
    series = np.polynomial.chebyshev
    if callable(function):
        if degree is None:
            raise refuse("chebyshev: the degree is missing; write for example pf.chebyshev(x, np.exp, 15)")
        highest = whole("chebyshev: the degree", degree, 1, MOST_DEGREES)
        values = _on_nodes(function, lo + (series.chebpts1(highest + 1) + 1) * (hi - lo) / 2)
        coefficients = series.chebinterpolate(lambda _nodes: values, highest)
    else:
        coefficients = value._tracer.public(function)
        if coefficients.ndim != 1 or len(coefficients) < 2 or np.iscomplexobj(coefficients):
            raise refuse("chebyshev: give a function, or at least two real coefficients, that of T_0 first")
    if not np.all(np.isfinite(coefficients)):
        raise refuse(f"chebyshev: the function is not finite on {lo:g} to {hi:g}; choose an interval where it is")
    result = value._polynomial(coefficients, (lo, hi))
    return result._approximating(value, function) if callable(function) else result


def _on_nodes(function: Callable[[NDArray[np.float64]], Any], nodes: NDArray[np.float64]) -> NDArray[np.float64]:
    """A function's real values at the nodes of its interpolation."""
    try:
        values = np.asarray(function(nodes))
    except TypeError as error:
        raise refuse(
            f"chebyshev: the function does not accept an array ({error}); use numpy's functions, or np.vectorize"
        ) from error
    except ValueError as error:
        raise refuse(
            f"chebyshev: the function fails on an array of numbers ({error}); write a branch as np.where(..), or use np.vectorize"
        ) from error
    if values.shape != nodes.shape or values.dtype.kind not in "biuf":
        raise refuse(
            f"chebyshev: the function returned {values.size} values of {values.dtype} for {nodes.size} numbers; it must return a real "
            "number for each"
        )
    return values.astype(float)


SIGN_GAP = 2.0**-7
SIGN_DEGREES = (7, 15, 15)
"""The default sign: within 2^-13 of ±1 outside (-2^-7, 2^-7), in 3 + 4 + 4 levels."""

SIGN_MARGINS = (3 * 2.0**-8, 2.0**-8)
"""By how much the intervals of a sign's stages exceed [-1, 1]: the first for the operand, the second between stages. Errors leave [-1, 1], and a polynomial
of high degree is steep at the ends of its interval; without margins, three ReLUs in a row amplified bootstrapping errors until the result was lost."""


def sign(
    value: SlotValue,
    gap: float,
    degrees: Sequence[int],
    half: bool = False,
    restored: Sequence[int] = (),
    margins: tuple[float, float] = (0.0, 0.0),
    below: bool = False,
    real: bool = False,
) -> SlotValue:
    """The sign of each slot, for numbers in [-1, 1], by composed minimax polynomials of the given odd degrees.

    In (-gap, gap) the result is anything from -1 to 1. `half` returns half the sign, at no cost. A bootstrap restores the levels before the
    stages in `restored`, counted from 0. `real` then takes the real part: near 0 the sign is steep, so an imaginary error grows from stage to
    stage, while the saturation at ±1 limits a real one. The factor 1/2 of the real part is in the stage before, at no cost. `margins` as in
    `SIGN_MARGINS`. With `below` the result never exceeds the sign.
    """
    value = on_slots("sign", value)
    if value._tracer.modulus is not None:
        raise refuse("sign: integers modulo t have no sign; use TFHE's integers, or CKKS")
    stages_of = [whole("sign: the degree of a stage", degree, 1, MOST_DEGREES) for degree in degrees]
    if not stages_of:
        raise refuse("sign: there is no degree; give at least one odd degree")
    operand = value
    stages, error = placed("sign", lambda: _sign_stages(gap, tuple(stages_of), margins))
    stages[-1] = (stages[-1] - np.eye(1, len(stages[-1]))[0] * (error if below else 0)) * (0.5 if half else 1)
    for stage, coefficients in enumerate(stages):
        if stage in restored:
            value = value.bootstrap()
            if real:
                value = value + value.conjugate() if stage else value.real_part()
        halved = real and stage + 1 in restored and stage + 1 < len(stages)
        value = chebyshev(value, coefficients * (0.5 if halved else 1))
    return value._approximating(operand, lambda numbers: np.sign(numbers) * (0.5 if half else 1.0))


def relu(value: SlotValue, gap: float, degrees: Sequence[int]) -> SlotValue:
    """max(x, 0) for each slot x in [-1, 1], by the sign. The result never exceeds x, so it stays in [-1, 1] for the next function."""
    return value * (sign(value, gap, degrees, half=True, margins=SIGN_MARGINS, below=True) + 0.5)


def _sign_stages(
    gap: float, degrees: tuple[int, ...], margins: tuple[float, float]
) -> tuple[list[NDArray[np.float64]], float]:
    """Coefficients of a sign's polynomials on [-1, 1], in order of application, and the maximum error of their composition."""
    # Errors about the gap name the user's gap.
    composite_sign(gap, list(degrees[:1]))
    series = np.polynomial.chebyshev
    made: list[tuple[float, NDArray[np.float64]]] = []
    low, high, error = gap, 1 + margins[0], 1.0
    for degree in degrees:
        ((_, found),), error = composite_sign(low / high, [degree])
        coefficients = np.asarray(found)
        if not made and high != 1:
            # Re-expands in x instead of x / high: scaling the operand would take a level.
            nodes = series.chebpts1(degree + 1)
            coefficients = series.chebfit(nodes, series.chebval(nodes / high, coefficients), degree)
        made.append((high, coefficients))
        # Rounding error leaves no valid interval.
        if error < SIGN_ROUNDING:
            break
        low, high = 1 - error, (1 + error) * (1 + margins[1])
    # Each stage divides its result by the end of the next interval, which then is [-1, 1] at no cost.
    ends = [*(end for end, _ in made[1:]), 1.0]
    return [coefficients / end for (_, coefficients), end in zip(made, ends, strict=True)], error


SIGN_ROUNDING = 1e-13
"""A smaller error of a stage is rounding error, which leaves the next stage no interval; as in the Rust half."""


def expect_no_options(what: str, gap: float, degrees: Sequence[int]) -> None:
    """Rejects options of polynomials for values of TFHE."""
    if gap != SIGN_GAP or degrees is not SIGN_DEGREES:
        raise refuse(f"{what}: gap= and degrees= are for CKKS, but TFHE uses an exact lookup; omit them")
