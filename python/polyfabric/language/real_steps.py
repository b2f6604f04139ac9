"""The steps on real numbers of a program that has integers too, in the form of the lower layers.

("x", 1.0)                                  # step 0: an input up to 1
([(0, 2.0)], 0.5)                           # step 1: 2 x + 0.5
(0, 1)                                      # step 2: the product of both
(2, 0.25, 0.0, [0, 1, 2], 1, "rounded-0", 0)    # rounded to a multiple of 0.25: element 0 of a hidden input of the program on integers
("integer-1", 0)                            # an element of a hidden output of that program, as a real number
(4, "result")                               # an output
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, inf, prod
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from .shapes import written
from .types import RING_SLOTS, Real, SlotType

if TYPE_CHECKING:
    from .._native import TfheProgram
    from .reals import RealValue

Native: TypeAlias = tuple[Any, ...]
"""A step in the form of the lower layers."""

Numbers = Mapping[str, Sequence[Any]]
"""Numbers of inputs or outputs."""


class RealSteps:
    """The steps on real numbers of one program."""

    def __init__(self) -> None:
        self.steps: list[Native] = []
        self.inputs: dict[str, SlotType] = {}
        self.outputs: dict[str, SlotType] = {}
        self.hidden: set[str] = set()
        """The inputs and outputs of the program on integers that only real numbers use."""

    def __bool__(self) -> bool:
        return bool(self.steps)

    def add(self, *step: Any) -> int:  # noqa: ANN401 - numbers, names and lists
        """Appends one step."""
        self.steps.append(step)
        return len(self.steps) - 1

    def hide(self, what: str) -> str:
        """A name of a hidden input or output. No parameter of Python has a hyphen."""
        name = f"{what}-{len(self.hidden)}"
        self.hidden.add(name)
        return name

    @property
    def integer_outputs(self) -> bool:
        """Whether integers become real numbers."""
        return any(name.startswith("integer-") for name in self.hidden)

    def output(self, name: str, value: RealValue) -> None:
        """An output of the program."""
        self.outputs[name] = value.type
        for at, step in enumerate(value.steps):
            self.add(step, element_name(name, at, value.length))

    # -- files ------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """As data."""
        kinds = {"inputs": self.inputs, "outputs": self.outputs}
        return {
            "steps": self.steps,
            "hidden": sorted(self.hidden),
            **{which: {name: kind_data(kind) for name, kind in own.items()} for which, own in kinds.items()},
        }

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """From `to_dict`. The lower layers check the steps."""
        made = cls()
        made.steps = [tuple(step) for step in data["steps"]]
        made.hidden = {written(str, name, "a name") for name in data["hidden"]}
        for which, own in (("inputs", made.inputs), ("outputs", made.outputs)):
            own.update({written(str, name, "a name"): kind_of(*kind) for name, kind in data[which].items()})
        return made

    # -- in the clear -----------------------------------------------------------------------------------------------

    def evaluate(self, program: TfheProgram, inputs: Numbers) -> tuple[dict[str, list[Any]], list[float]]:
        """The outputs for one input of the batch, and the distances of the rounded numbers from their borders, in steps. For programs without a
        function, of which `program` is the part on integers."""
        rounded = {
            name: [element.bounds[0]] * length for name, element, length in program.inputs if name in self.hidden
        }
        own = {name: list(values) for name, values in inputs.items() if name not in self.inputs}
        # A rounding may need an integer that an earlier rounding gives. Each turn makes one more of such a chain right.
        for _ in range(len(self.hidden) + 1):
            returned = program.evaluate({**own, **rounded})
            known = {name: list(values) for name, values in rounded.items()}
            outputs, distances = self._turn(inputs, returned, rounded)
            if rounded == known:
                break
        integers = {name: values for name, values in returned.items() if name not in self.hidden}
        return {**integers, **outputs}, distances

    def _turn(
        self, inputs: Numbers, returned: Numbers, rounded: dict[str, list[Any]]
    ) -> tuple[dict[str, list[float]], list[float]]:
        """All steps, with integers from `returned`, and the rounded numbers in `rounded`."""
        given = {
            element_name(name, at, kind.length): number
            for name, kind in self.inputs.items()
            for at, number in enumerate(inputs[name])
        }
        values: list[float] = []
        found: dict[str, float] = {}
        distances = []
        for step in self.steps:
            value = 0.0
            match step:
                case (str(name), float()):
                    value = given[name]
                case (str(name), int(at)):
                    value = float(returned[name][at])
                case (list(terms), float(bias)):
                    value = bias + sum(weight * values[of] for of, weight in terms)
                case (int(of), str(name)):
                    found[name] = values[of]
                case (int(a), int(b)):
                    value = values[a] * values[b]
                case (of, size, offset, entries, _, name, at):
                    rounded[name][at], distance = nearest(values[of], size, (offset, entries))
                    distances.append(distance)
            values.append(value)
        names = {
            name: [element_name(name, at, kind.length) for at in range(kind.length)]
            for name, kind in self.outputs.items()
        }
        return {name: [found[own] for own in elements] for name, elements in names.items()}, distances


def element_name(name: str, at: int, length: int) -> str:
    """The vector of slots that holds an element, as the Rust half names it."""
    return name if length == 1 else f"{name}.{at}"


def nearest(x: float, size: float, table: tuple[float, list[int]]) -> tuple[int, float]:
    """The entry of the nearest multiple, and the distance in steps from a border between different entries."""
    offset, entries = table
    at = (x - offset) / size
    index = min(max(floor(at + 0.5), 0), len(entries) - 1)
    own = entries[index]
    above = index + 0.5 - at if index + 1 < len(entries) and entries[index + 1] != own else inf
    below = at - index + 0.5 if index and entries[index - 1] != own else inf
    return own, min(above, below)


def kind_data(kind: SlotType) -> list[Any]:
    """A type of real numbers as data: its lengths and its bound."""
    return [list(kind.dimensions), float(kind.bound)]


def kind_of(dimensions: Sequence[int], bound: float) -> SlotType:
    """The type from `kind_data`, which may come from others."""
    sizes = [written(int, size, "a length") for size in dimensions]
    if len(sizes) > 2 or not all(1 <= size <= RING_SLOTS for size in sizes) or prod(sizes) > RING_SLOTS:
        raise ValueError(f"{sizes} are not lengths")
    if not 0 < written(float, bound, "a bound") < inf:
        raise ValueError(f"{bound} is not a bound")
    one = Real.bounded(bound)
    return one.matrix(*sizes) if len(sizes) == 2 else one.vector(*sizes) if sizes else one
