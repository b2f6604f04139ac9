"""Shared code of the modules for Morphling's paper: rows, sets, and the lookups that its tables and figures time."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from .. import _native
from ..accelerators import machine as accelerators
from ..schemes.tfhe import named_parameters
from .catalog import Catalog

ROWS = Catalog("morphling")

SETS_OF_FIGURES = {"A": "morphling-A-t32", "B": "morphling-B", "C": "morphling-C", "I": "morphling-I"}
"""The candidate sets for the figures' curves: those of section VI's other experiments, as a 32-bit machine runs them, and the first of table V."""

BOTH = (True, True)
"""Products share input transforms, and are summed in the transform domain."""


@dataclass(frozen=True)
class Sizes:
    """(n, k, N, l_b, l_k) of a set, for counting keys and operations."""

    lwe: int
    glwe: int
    degree: int
    levels: int
    switch_levels: int

    @classmethod
    def of(cls, name: str) -> Sizes:
        """The counts of a named set."""
        fields = json.loads(named_parameters(name, warn=False).to_json())
        levels = [(fields[f"{of}_gadget"] or {"levels": 0})["levels"] for of in ("bootstrap", "key_switch")]
        return cls(fields["lwe_dimension"], fields["glwe_dimension"], fields["ring_degree"], *levels)

    @property
    def products(self) -> int:
        """Polynomial products of a bootstrap."""
        return self.lwe * (self.glwe + 1) ** 2 * self.levels

    @property
    def bootstrapping_key(self) -> float:
        """Bytes of the bootstrapping key, in words of 64 bits."""
        return float(self.products * self.degree * 8)

    @property
    def key_switching_key(self) -> float:
        """Bytes of the key-switching key, in words of 32 bits."""
        return self.key_switch * 4.0

    @property
    def transforms(self) -> float:
        """Multiplications of numbers in the transforms, two for each product. A complex product is four of numbers; folded, a transform twists N/2
        points and takes log2(N/2) layers of N/4 products."""
        points = self.degree / 2
        return 2.0 * self.products * 4.0 * (points + math.log2(points) * points / 2.0)

    @property
    def pointwise(self) -> float:
        """Multiplications of the products in the transform domain."""
        return self.products * (self.degree / 2) * 4.0

    @property
    def key_switch(self) -> float:
        """Multiplications of the key switch."""
        return float(self.glwe * self.degree * (self.lwe + 1) * self.switch_levels)

    @property
    def digits(self) -> float:
        """Digits of all decompositions."""
        return float(self.lwe * (self.glwe + 1) * self.degree * self.levels)


def lookups(name: str, parameters: str, batch: int, choice: tuple[bool, bool] = BOTH) -> _native.TfheKernel:
    """The kernel program of lookups."""
    return _native.TfheKernel.of_transforms(name, named_parameters(parameters, warn=False), batch, *choice)


def lookups_with(levels: int, parameters: str, batch: int) -> _native.TfheKernel:
    """Lookups with key switches of that many levels, of which table III says nothing."""
    literal = json.loads(named_parameters(parameters, warn=False).to_json())
    literal["key_switch_gadget"]["levels"] = levels
    changed = _native.TfheParameters.from_json(json.dumps(literal))
    return _native.TfheKernel.of_transforms("pbs+ks", changed, batch, *BOTH)


def four_vector_units(machine: accelerators.Machine) -> accelerators.Machine:
    """The machine with the abstract's four vector units instead of section IV-A's one, each of four groups of lanes: a group here is four of them,
    and its links to the buffers grow likewise."""
    return machine.varied(
        units__vpu__lanes=4 * machine.count("units.vpu.lanes"),
        channels__network__vector_read=4 * machine.count("channels.network.vector_read"),
        channels__network__vector_write=4 * machine.count("channels.network.vector_write"),
    )


def cycles(
    machine: accelerators.Machine, name: str, parameters: str, batch: int, choice: tuple[bool, bool] = BOTH
) -> int:
    """The cycles of a schedule that was checked and audited. Without reuse it is checked alone: the audit refuses values that are computed twice."""
    program = lookups(name, parameters, batch, choice)
    return cycles_of(machine, program) if choice == BOTH else machine.native.cycles(program)


def cycles_of(machine: accelerators.Machine, program: _native.TfheKernel) -> int:
    """The cycles of a program's schedule, which was checked and audited."""
    return int(machine.simulate(program)["cycles"])
