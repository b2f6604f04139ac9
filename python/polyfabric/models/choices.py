"""The user's choices for a model's quantisation, and the encrypted model that follows from them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ProgramError
from .forest import Ensemble, Grid
from .model import ForestModel, Model, NetworkModel
from .network import Network
from .reading import Reading


@dataclass(frozen=True)
class Options:
    """The options of `from_sklearn` and `from_onnx`, with their defaults."""

    bits: int | Literal["exact"] = 8
    value_bits: int | None = None
    degree: int = 15
    margin: float = 1.5
    batch: int = 1

    def expect_left_out(self, why: str, *names: str) -> None:
        """Refuses options that do not apply to the model."""
        for own in fields(self):
            if own.name in names and getattr(self, own.name) != own.default:
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
        return NetworkModel(name, core, reading, rows, degree, float(options.margin), 1 << (batch - 1).bit_length())
    if options.bits != "exact":
        in_range("bits", options.bits, 1, 16)
    options.expect_left_out("trees process one row per execution", "batch")
    options.expect_left_out("trees have no activations", "degree", "margin")
    default = 10 if reading.classes is None else 5
    wide = in_range("value_bits", default if options.value_bits is None else options.value_bits, 1, 24)
    grid = Grid.exact(core) if options.bits == "exact" else Grid.uniform(rows, options.bits)
    return ForestModel(name, core, reading, grid, wide, rows)


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
