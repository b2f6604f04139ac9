"""Contexts and plans of programs on integers with CKKS, and on real numbers next to them. A client rounds integers that it decrypts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from .. import _native
from ..errors import InputError, NoiseError
from ..language.lane_program import LaneProgram
from ..language.lane_shapes import HALF, LaneShapes
from ..language.reference import Wrapped
from ..language.types import SlotType
from .context import Values
from .options import PlanOptions
from .plan import Execution, Expected, common
from .rns import RnsPlan, SlotContext, SlotResult, expect_ends


@dataclass(frozen=True)
class LaneContext(SlotContext):
    """A client's operations on integers with CKKS."""

    shapes: LaneShapes  # type: ignore[assignment]

    @classmethod
    def _shapes_of(cls, data: Mapping[str, Any], signature: _native.RnsSignature) -> LaneShapes:
        shapes = LaneShapes.of(data["shapes"], signature.name, signature.slots)
        expect_ends(shapes.vectors(outputs=False), shapes.vectors(outputs=True), signature)
        return shapes

    @property
    def real_outputs(self) -> list[str]:
        """None: imaginary parts are integers too."""
        return []

    def decrypt(self, client: _native.RnsClientKey, results: _native.RnsCiphertexts) -> Values:
        """Decrypts the outputs and rounds them to integers. Fails if a value is farther from an integer than in any run of the program."""
        return self.shapes.rounded(super().decrypt(client, results))


@dataclass(frozen=True, repr=False)
class LanePlan(RnsPlan):
    """A program on integers with CKKS, its parameter set, and the cost of a run."""

    program: LaneProgram  # type: ignore[assignment]

    @classmethod
    def make(cls, program: LaneProgram, options: PlanOptions) -> LanePlan:  # type: ignore[override]
        """As `RnsPlan.make`; refuses a set with which an output may round to another integer."""
        if options.measure:
            raise InputError(
                f"{program.name}: measure={options.measure!r} (--measure) measures errors of real numbers; integers are exact: leave it out"
            )
        if options.parties != 1:
            raise InputError(
                f"{program.name}: parties={options.parties} applies to vectors of CKKS and BGV; batches of integers bootstrap, which needs one "
                "owner of the keys: leave it out"
            )
        made = super().make(program, options)  # type: ignore[arg-type]
        for vector, bound in made._error_steps.items():
            if bound >= HALF:
                chosen = made.facts["parameters"]["name"]
                raise NoiseError(
                    f"{program.name}: with parameter set {chosen} output {vector} may be {bound:.2f} from its integer, so that it would be "
                    "wrong; return fewer sums of values, or name a set with more bits"
                )
        return made

    @cached_property
    def _error_steps(self) -> dict[str, float]:
        """By vector of the outputs: the largest distance from an integer."""
        # The facts have no bound above the largest float.
        own = (node["bound"] for node in self.facts["nodes"] if node["op"] == "output")
        nodes = [inf if bound is None else bound for bound in own]
        moduli = self.program.shapes.moduli(outputs=True)
        bounds = dict(zip(self.program.native.outputs, nodes, strict=True))
        return {vector: bounds[vector] * modulus for vector, modulus in moduli.items()}

    @property
    def border(self) -> float:
        """The distance from a border, in steps, up to which a real number may be rounded either way; 0 if none is rounded."""
        return max((node.get("border") or 0.0 for node in self.facts["nodes"]), default=0.0)

    @cached_property
    def context(self) -> LaneContext:
        """The client's operations."""
        return LaneContext(self.native.signature(), self.program.shapes.within(self._error_steps), self.public)

    @property
    def work(self) -> dict[str, int]:
        """Number of lookups per execution, each on the whole batch."""
        return {"lookups": sum(node["op"] == "lookup" for node in self.facts["nodes"])}

    def facts_of_cost(self) -> dict[str, Any]:
        """As `RnsPlan.facts_of_cost`, and the number of inputs at once."""
        border = {"border": self.border} if self.program.shapes.rounds else {}
        return {**super().facts_of_cost(), "batch": self.program.batch, **border}

    def check_flood(self, flood: float | None) -> None:
        """Refuses every value: rounding removes the noise of integers."""
        if flood is not None and self.program.shapes.units():
            raise InputError(
                f"flood={flood!r}: batches do not flood real numbers; keep their results to the client, or return integers alone"
            )
        if flood is not None:
            raise InputError(
                f"flood={flood!r} hides the noise of real numbers; integers are rounded, and show none: leave it out"
            )

    def evaluate(self, inputs: Values) -> Expected:
        """The outputs of the traced function on Python's integers, and the results that wrapped."""
        _, magnitudes = self.native.evaluate(inputs, {})
        values, wrapped, distances = self.program.reference_at(inputs)
        return Expected(values, magnitudes, wrapped, np.flatnonzero(distances <= self.border).tolist())

    def decrypt(
        self, client: _native.RnsClientKey, results: _native.RnsCiphertexts, flood: float | None = None
    ) -> Values:
        """Decrypts the outputs and rounds them to integers."""
        self.check_flood(flood)
        return self.context.decrypt(client, results)

    def errors(self, found: Values, expected: Values, undecided: Sequence[int] = ()) -> dict[str, float]:
        """Number of wrong values by output, and the largest error of real numbers. Real numbers of `undecided` items may be rounded either way."""
        program = self.program
        decided = ~np.isin(np.arange(program.batch), undecided)
        errors = {}
        for name, values in found.items():
            own, wanted = np.array(values, dtype=object), np.array(expected[name], dtype=object)
            if name in program.summed:
                # Each undecided item may change a sum.
                errors[name] = 0.0 if undecided else float((own != wanted).sum())
                continue
            own, wanted = (array.reshape(program.batch, -1)[decided] for array in (own, wanted))
            reals = isinstance(program.outputs[name], SlotType)
            differences = np.abs((own - wanted).astype(float)) if reals else own != wanted
            errors[name] = float(differences.max(initial=0.0) if reals else differences.sum())
        return errors

    def bounds(self, flood: float | None = None, expected: Expected | None = None) -> dict[str, float]:  # noqa: ARG002 - for any inputs
        """0 for integers, of which none may be wrong, and the error bounds of real numbers."""
        slots = self._bounds_of(self.facts["nodes"], None)
        units = self.program.shapes.units()
        reals = {
            name: max((slots[vector] * unit for vector, unit in own.items()), default=0.0)
            for name, own in units.items()
        }
        return {name: reals.get(name, 0.0) for name in self.program.outputs}

    def result(self, done: Execution) -> LaneResult:
        """Compares an execution with the expected outputs."""
        return LaneResult(
            **common(self, done),
            undecided=done.expected.undecided,
            bound=self.bounds(),
            sizes={"keys": done.keys.server.bytes, "inputs": done.ciphertext_bytes, "outputs": done.results.bytes},
            distance={},
            bound_for="any inputs",
            reference="function",
            nodes=list(self.facts["nodes"]),
            wrapped=done.expected.wrapped,
        )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LaneResult(SlotResult):
    """The result of an execution on integers with CKKS."""

    plan: LanePlan
    wrapped: list[Wrapped]
    """Results outside their declared type's range, which were reduced modulo 2^bits."""
    undecided: list[int]
    """The items with a real number so near a border that it may be rounded either way. They are not compared."""

    @property
    def exact(self) -> bool:
        """Whether all outputs are integers, which decryption rounds."""
        return not self.plan.program.shapes.units()

    def __repr__(self) -> str:
        count = len(self.undecided)
        near = f"; {count} of {self.plan.program.batch} items are near a border, and not compared" if count else ""
        return super().__repr__() + near + "".join(f"; wrapped: {wrap}" for wrap in self.wrapped)

    def facts(self) -> dict[str, Any]:
        """Operations and wrapped results."""
        border = {"border": self.plan.border, "undecided": self.undecided} if self.plan.program.shapes.rounds else {}
        return {**super().facts(), "wrapped": [wrap.to_dict() for wrap in self.wrapped], **border}
