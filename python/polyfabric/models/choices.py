"""The user's choices for a model's quantisation, and the encrypted model that follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from math import inf
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ProgramError, shown
from .forest import Ensemble, Grid
from .model import ForestModel, Model, NetworkModel
from .network import Interval, Network
from .reading import Reading


@dataclass(frozen=True)
class Options:
    """The options of `from_sklearn` and `from_onnx`, with their defaults."""

    bits: int | Literal["exact"] = 8
    value_bits: int | None = None
    degree: int = 15
    margin: float = 1.5
    batch: int = 1
    intervals: Mapping[str, Interval] = field(default_factory=dict)

    def expect_left_out(self, why: str, *names: str) -> None:
        """Refuses options that do not apply to the model."""
        for own in fields(self):
            if own.name in names and getattr(self, own.name) != (
                own.default if own.default_factory is MISSING else own.default_factory()
            ):
                raise InputError(f"{own.name}={getattr(self, own.name)!r}; {why}: leave it out")


Core: TypeAlias = "Network | Ensemble"


def encrypted(name: str, core: Core, reading: Reading, rows: NDArray[np.float64], options: Options) -> Model:
    """The encrypted model of a network, with CKKS, or of trees, with TFHE."""
    if isinstance(core, Network):
        options.expect_left_out("it applies to trees, and this model consists of matrices", "bits", "value_bits")
        degree = in_range("degree", options.degree, 2, 255)
        batch = in_range("batch", options.batch, 1, 1 << 15)
        if not isinstance(options.margin, int | float) or not 1 <= options.margin <= 100:
            raise InputError(f"margin={options.margin!r}; give a number from 1, for the ranges of the rows, to 100")
        stated = _intervals(core, options.intervals)
        margin, whole = float(options.margin), 1 << (batch - 1).bit_length()
        return NetworkModel(name, core, reading, rows, degree, margin, whole, stated)
    if options.bits != "exact":
        in_range("bits", options.bits, 1, 16)
    options.expect_left_out("trees process one row per execution", "batch")
    options.expect_left_out("trees have no activations", "degree", "margin", "intervals")
    default = 10 if reading.classes is None else 5
    wide = in_range("value_bits", default if options.value_bits is None else options.value_bits, 1, 24)
    grid = Grid.exact(core) if options.bits == "exact" else Grid.uniform(rows, options.bits)
    return ForestModel(name, core, reading, grid, wide, rows)


def _intervals(network: Network, given: Mapping[str, Interval]) -> dict[str, Interval]:
    """The user's intervals, checked, by the name of the function."""
    names = [layer.name for layer in network.layers if layer.activation is not None]
    if not isinstance(given, Mapping):
        raise InputError(f'intervals={shown(given)}; give a dict of names and pairs, such as {{"exp": (-4, 4)}}')
    found = {}
    for name, interval in given.items():
        if name not in names:
            raise InputError(f"intervals: the model has no function {name!r}; it has {', '.join(names) or 'none'}")
        try:
            lo, hi = (float(end) for end in interval)
        except (TypeError, ValueError):
            raise InputError(f"intervals={{{name!r}: {shown(interval)}}}; give two numbers, as (-4, 4)") from None
        if not -inf < lo < hi < inf:
            raise InputError(f"intervals={{{name!r}: ({lo:g}, {hi:g})}}; give two finite numbers, the lower first")
        found[name] = (lo, hi)
    return found


def expect_classes(reading: Reading) -> None:
    """Refuses a classifier with fewer than two classes."""
    if reading.classes is not None and len(reading.classes) < 2:
        raise ProgramError(
            f"the model has a single class, {', '.join(map(str, reading.classes))}; train it on rows of at least two"
        )


def in_range(what: str, value: object, least: int, most: int) -> int:
    """`value` as an integer from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= most:
        hint = ', or "exact"' if what == "bits" else ""
        raise InputError(f"{what}={value!r}; give an integer from {least} to {most}{hint}")
    return int(value)
