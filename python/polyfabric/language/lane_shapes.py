"""Converts values of a program on integers with CKKS between the user's form and slots.

Every element of an input or output is a vector of slots. Its lanes, the real and the imaginary parts, hold the inputs of a batch. An integer v
modulo p in a lane is the fraction v/p, in (-1/2, 1/2]. An output that is summed over the batch has two such fractions in every slot: the sums of
the real and of the imaginary parts, beyond that interval. A real number is a fraction of its vector's unit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .._native import ElementType
from ..errors import InputError, ProgramError, shown
from .mixed_shapes import real_numbers
from .real_steps import kind_data, kind_of
from .shapes import Shapes, expect_inputs, written
from .types import SlotType, TextType, Type, text_bytes

MOST_BATCH = 1 << 16
"""Largest batch: the lanes of the largest ring."""

MOST_MODULUS = 1 << 12
"""Largest modulus of a lookup table on slots."""

MOST_UNDECIDED = 0.5
"""The part of a batch that may be far from integers, if real numbers are rounded."""

HALF = 0.5
"""Distance from an integer, in steps of 1/p, from which on a fraction may stand for another one."""

NO_VALUE = np.iinfo(np.int64).min
"""Stands for a residue that no value of a type has."""

DAMAGED = (
    "The ciphertext was damaged or altered, or belongs to another computation or other keys, so its values are not shown; use the outputs of one "
    "execution of this program"
)

Vector = tuple[list[float], list[float]]
"""Real and imaginary parts of all slots."""


@dataclass(frozen=True)
class Terminal:
    """How vectors of slots hold an input or output."""

    name: str
    modulus: int
    """The values of its type differ modulo this number."""
    elements: list[str | int]
    """For each element the vector of slots that holds it, or its value if it is public."""
    summed: bool
    """Whether it is summed over the batch."""

    @classmethod
    def of(cls, data: Sequence[Any]) -> Terminal:
        """From four values, which may come from others."""
        name, modulus, elements, summed = data
        if not 2 <= written(int, modulus, "a modulus") <= MOST_MODULUS:
            raise ValueError(f"{modulus} is not a modulus")
        if not all(type(one) in (str, int) for one in elements):
            raise ValueError("an element is neither in a vector nor public")
        return cls(written(str, name, "a name"), modulus, list(elements), written(bool, summed, "whether it is summed"))

    def to_list(self) -> list[Any]:
        """As data."""
        return [self.name, self.modulus, self.elements, self.summed]

    @property
    def vectors(self) -> list[str]:
        """The vectors of slots that hold it."""
        return [one for one in self.elements if isinstance(one, str)]


@dataclass(frozen=True)
class RealTerminal:
    """How vectors of slots hold an input or output of real numbers."""

    name: str
    kind: SlotType
    elements: list[tuple[str, float] | float]
    """For each element the vector of slots that holds it and its unit, or its value if it is public."""

    @classmethod
    def of(cls, data: Sequence[Any]) -> RealTerminal:
        """From four values, which may come from others."""
        name, dimensions, bound, elements = data
        kind = kind_of(dimensions, bound)
        made = [
            float(written(float, own, "a public number"))
            if not isinstance(own, list)
            else (written(str, own[0], "a name"), float(written(float, own[1], "a unit")))
            for own in elements
        ]
        if not all(isfinite(own if isinstance(own, float) else own[1]) for own in made):
            raise ValueError("a number is not finite")
        if len(made) != kind.length or any(isinstance(own, tuple) and not own[1] for own in made):
            raise ValueError("the elements are not those of the type")
        return cls(written(str, name, "a name"), kind, made)

    def to_list(self) -> list[Any]:
        """As data."""
        elements = [own if isinstance(own, float) else list(own) for own in self.elements]
        return [self.name, *kind_data(self.kind), elements]

    @property
    def vectors(self) -> list[str]:
        """The vectors of slots that hold it."""
        return [own[0] for own in self.elements if isinstance(own, tuple)]

    def numbers(self, vectors: Mapping[str, Vector], batch: int) -> NDArray[np.float64]:
        """The numbers of every item, one row each."""
        columns = [
            np.full(batch, own) if isinstance(own, float) else np.concatenate(vectors[own[0]])[:batch] * own[1]
            for own in self.elements
        ]
        return np.stack(columns, axis=1)


@dataclass(frozen=True)
class RealEnds:
    """The inputs and outputs of real numbers, and the names of all in the user's order."""

    inputs: Sequence[RealTerminal] = ()
    outputs: Sequence[RealTerminal] = ()
    names: tuple[Sequence[str], Sequence[str]] = ((), ())
    rounds: bool = False
    """Whether real numbers are rounded, so that those near a border may be rounded either way."""

    def to_dict(self) -> dict[str, Any]:
        """As data."""
        return {
            "inputs": [one.to_list() for one in self.inputs],
            "outputs": [one.to_list() for one in self.outputs],
            "names": [list(own) for own in self.names],
            "rounds": self.rounds,
        }

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> RealEnds:
        """From `to_dict`, which may come from others."""
        inputs, outputs = ([RealTerminal.of(own) for own in data[which]] for which in ("inputs", "outputs"))
        given, returned = ([written(str, name, "a name") for name in own] for own in data["names"])
        if any(one.vectors != [own[0] if isinstance(own, tuple) else None for own in one.elements] for one in inputs):
            raise ValueError("an input is public")
        return cls(inputs, outputs, (given, returned), written(bool, data["rounds"], "whether it rounds"))


class Ends(NamedTuple):
    """Names, element types and lengths of inputs and outputs, as a native program has them."""

    name: str
    inputs: list[tuple[str, ElementType, int]]
    outputs: list[tuple[str, ElementType, int]]

    @classmethod
    def of(cls, data: Mapping[str, Any], name: str) -> Ends:
        """From `to_dict`."""
        made: list[list[tuple[str, ElementType, int]]] = []
        for which in ("inputs", "outputs"):
            own = []
            for terminal, bounds, length in data[which]:
                try:
                    kind = ElementType.boolean() if bounds is None else ElementType.integer(*bounds)
                except ProgramError as error:
                    raise ValueError(f"{terminal}: {error}") from None
                own.append((written(str, terminal, "a name"), kind, written(int, length, "a length")))
            made.append(own)
        return cls(name, *made)

    def to_dict(self) -> dict[str, Any]:
        """As data."""

        def bounds(kind: ElementType) -> list[int] | None:
            return None if kind.kind == "boolean" else list(kind.bounds)

        return {
            which: [[name, bounds(kind), length] for name, kind, length in own]
            for which, own in (("inputs", self.inputs), ("outputs", self.outputs))
        }


def _by_residue(kind: ElementType, terminal: Terminal) -> NDArray[np.int64]:
    """The value of the type with each residue, or `NO_VALUE`."""
    (lo, hi, stride), modulus = kind.bounds, terminal.modulus
    if not terminal.vectors or terminal.summed:
        return np.zeros(0, dtype=np.int64)
    if (hi - lo) // stride >= modulus:
        raise ValueError(f"{kind} has more than {modulus} values")
    values = np.arange(lo, hi + 1, stride)
    found = np.full(modulus, NO_VALUE, dtype=np.int64)
    found[values % modulus] = values
    if not (found[values % modulus] == values).all():
        raise ValueError(f"values of {kind} are equal modulo {modulus}")
    return found


def _is_value(kind: ElementType, number: int) -> bool:
    lo, hi, stride = kind.bounds
    return lo <= number <= hi and (number - lo) % stride == 0


def in_batch(at: int, error: InputError) -> InputError:
    """`error`, about one item of a batch."""
    return InputError(f"item {at} of the batch: {error}")


def results_of(value: Any, first: int, last: int) -> Any:  # noqa: ANN401 - whatever the program's function returns
    """The results of some inputs of a batch, from those of all in the form in which the program's function returns them."""
    if isinstance(value, tuple):
        return tuple(own[first:last] for own in value)
    if isinstance(value, dict):
        return {name: own[first:last] for name, own in value.items()}
    return value[first:last]


def expect_column(program: str, name: str, kind: Type, given: Any, batch: int) -> list[Any]:  # noqa: ANN401 - whatever the user gave
    """One input of all items. Sets have no order, and dictionaries would give their keys."""
    needed = f"but a batch has {batch} of {kind}"
    array = isinstance(given, np.ndarray)
    if isinstance(given, str | bytes | Set | Mapping) or not (given.ndim if array else isinstance(given, Collection)):
        raise InputError(f"{program}: input {name!r} is {shown(given):.80}, {needed}; give a list of them")
    if len(given) != batch:
        raise InputError(f"{program}: input {name!r} is a list of {len(given)}, {needed}; give as many")
    return given.tolist() if array else list(given)


MOST_AT_ONCE = 62
"""Most bits of integers that are split into digits as numbers of 64 bits."""


def _rows(kind: Type, column: list[Any]) -> NDArray[np.int64] | None:
    """The integers or the bytes of each item, if all items have a usual form: integers of at most 64 bits, or texts."""
    if isinstance(kind, TextType):
        try:
            texts = [text_bytes(text) for text in column if isinstance(text, str | bytes)]
        except ProgramError:
            return None
        if len(texts) < len(column) or max(map(len, texts)) > kind.length:
            return None
        padded = b"".join(text.ljust(kind.length, b"\0") for text in texts)
        return np.frombuffer(padded, dtype=np.uint8).reshape(len(column), -1).astype(np.int64)
    if any(isinstance(value, np.ma.MaskedArray) for value in column):
        return None
    try:
        array = np.asarray(column)
    except (ValueError, OverflowError):
        return None
    if array.dtype.kind not in "bi" or array.shape[1:] != (() if kind.scalar else (kind.length,)):
        return None
    return array.reshape(len(column), -1).astype(np.int64)


def _digits(kind: Type, rows: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The digits of each item, as `Shapes.flatten` orders them, if all values are of the type."""
    if kind.width > MOST_AT_ONCE or ((rows < kind.lo) | (rows > kind.hi) | ((rows - kind.lo) % kind.stride != 0)).any():
        return None
    bits = rows & (1 << kind.width) - 1
    return np.concatenate([bits >> 2 * place & 3 for place in range(kind.size)], axis=1)


class LaneShapes:
    """The types of a program's inputs and outputs, and the vectors of slots that hold them."""

    def __init__(
        self,
        integers: Shapes,
        ends: Any,  # noqa: ANN401 - a native program, or `Ends`
        slots: int,
        batch: int,
        inputs: Iterable[Sequence[Any]],
        outputs: Iterable[Sequence[Any]],
        reals: RealEnds | None = None,
    ) -> None:
        self._integers = integers
        self._reals = reals or RealEnds()
        self._ends = Ends(ends.name, list(ends.inputs), list(ends.outputs))
        self._slots = slots
        self.batch = batch
        """Number of inputs that one execution takes."""
        self._given = [Terminal.of(data) for data in inputs]
        self._returned = [Terminal.of(data) for data in outputs]
        for terminals, own in ((self._given, self._ends.inputs), (self._returned, self._ends.outputs)):
            if [(one.name, len(one.elements)) for one in terminals] != [(name, length) for name, _, length in own]:
                raise ValueError("the vectors do not hold the inputs and outputs")
        self._values = [
            [_by_residue(kind, terminal) for terminal, (_, kind, _) in zip(terminals, own, strict=True)]
            for terminals, own in ((self._given, self._ends.inputs), (self._returned, self._ends.outputs))
        ]
        self._bounds: dict[str, float] = {}
        """By vector of the outputs: the largest distance from an integer, in steps, in any run of a plan."""

    @property
    def inputs(self) -> Mapping[str, Type]:
        """Type of each input, in one item of the batch."""
        return _with_reals(self._integers.inputs, self._reals.inputs, self._reals.names[0])

    @property
    def outputs(self) -> Mapping[str, Type]:
        """Type of each output: in one item of the batch, or of its sum."""
        summed = {terminal.name for terminal in self._returned if terminal.summed}
        integers = {
            name: _summed_type(kind, self.batch) if name in summed else kind
            for name, kind in self._integers.outputs.items()
        }
        return _with_reals(integers, self._reals.outputs, self._reals.names[1])

    def to_dict(self) -> dict[str, Any]:
        """As data."""
        terminals = {"inputs": self._given, "outputs": self._returned}
        return {
            "integers": self._integers.to_dict(),
            "ends": self._ends.to_dict(),
            "batch": self.batch,
            **{which: [one.to_list() for one in own] for which, own in terminals.items()},
            "bounds": self._bounds,
            **({"reals": self._reals.to_dict()} if self._reals.names != ((), ()) else {}),
        }

    @classmethod
    def of(cls, data: Mapping[str, Any], name: str, slots: int) -> LaneShapes:
        """From `to_dict`, which may come from others."""
        ends = Ends.of(data["ends"], name)
        batch = written(int, data["batch"], "the number of inputs")
        if not 1 <= batch <= min(MOST_BATCH, 2 * slots):
            raise ValueError(f"{batch} inputs do not fit {slots} slots")
        reals = RealEnds.of(data["reals"]) if "reals" in data else None
        made = cls(Shapes.of(data["integers"], ends), ends, slots, batch, data["inputs"], data["outputs"], reals)  # type: ignore[arg-type]
        _ = made.inputs, made.outputs
        if any(one.vectors != one.elements or one.summed for one in made._given):
            raise ValueError("an input is public or summed")
        for terminal, (_, kind, _) in zip(made._returned, ends.outputs, strict=True):
            if not all(_is_value(kind, one) for one in terminal.elements if isinstance(one, int)):
                raise ValueError(f"a public element of {terminal.name} is not of {kind}")
        for terminals in ((*made._given, *made._reals.inputs), (*made._returned, *made._reals.outputs)):
            vectors = [vector for terminal in terminals for vector in terminal.vectors]
            if len(set(vectors)) < len(vectors):
                raise ValueError("a vector of slots holds two elements")
        bounds = {written(str, vector, "a name"): float(bound) for vector, bound in data["bounds"].items()}
        if set(bounds) != set(made.moduli(outputs=True)) or not all(0 <= bound < HALF for bound in bounds.values()):
            raise ValueError("the bounds are not those of the outputs")
        return made.within(bounds)

    def within(self, bounds: Mapping[str, float]) -> Self:
        """The same, with the bounds of a plan."""
        made = copy(self)
        made._bounds = dict(bounds)
        return made

    @property
    def rounds(self) -> bool:
        """Whether real numbers are rounded."""
        return self._reals.rounds

    def vectors(self, *, outputs: bool) -> list[str]:
        """The vectors of slots that hold the inputs or outputs."""
        reals = self._reals.outputs if outputs else self._reals.inputs
        return [*self.moduli(outputs=outputs), *(vector for terminal in reals for vector in terminal.vectors)]

    def units(self) -> dict[str, dict[str, float]]:
        """By output of real numbers: the units of its vectors of slots."""
        return {
            terminal.name: {own[0]: abs(own[1]) for own in terminal.elements if isinstance(own, tuple)}
            for terminal in self._reals.outputs
        }

    def moduli(self, *, outputs: bool) -> dict[str, int]:
        """The vectors of integers of the inputs or outputs, and their moduli."""
        terminals = self._returned if outputs else self._given
        return {vector: terminal.modulus for terminal in terminals for vector in terminal.vectors}

    # -- values -----------------------------------------------------------------------------------------------------

    def flatten(self, inputs: Mapping[str, Any], *, partly: bool = False) -> dict[str, Vector]:
        """Inputs as vectors of slots, checked against names, lengths and types. With `partly`, inputs may be missing."""
        expect_inputs(self._ends.name, inputs, self.inputs)
        if not partly and len(inputs) < len(self.inputs):
            missing = next(name for name in self.inputs if name not in inputs)
            raise InputError(
                f"{self._ends.name}: input {missing!r} is missing; give a list of {self.batch} of {self.inputs[missing]}"
            )
        vectors: dict[str, Vector] = {}
        for terminal, (name, kind, _) in zip(self._given, self._ends.inputs, strict=True):
            if name in inputs:
                values = self._flattened(
                    name, expect_column(self._ends.name, name, self.inputs[name], inputs[name], self.batch)
                )
                self._expect_values(name, kind, values)
                vectors |= self._packed(terminal, values)
        for real in self._reals.inputs:
            if real.name in inputs:
                vectors |= self._packed_reals(real, inputs[real.name])
        return vectors

    def fewer(self, inputs: Mapping[str, Any]) -> int | None:
        """The number of inputs if they are fewer than a batch; `None` for a whole batch, or for what is none. A sum needs all inputs of a batch."""
        if set(inputs) != set(self.inputs) or any(terminal.summed for terminal in self._returned):
            return None
        lists = all(
            isinstance(own, list | tuple) or (isinstance(own, np.ndarray) and own.ndim) for own in inputs.values()
        )
        counts = {len(own) for own in inputs.values()} if lists else set()
        return counts.pop() if len(counts) == 1 and max(counts) in range(1, self.batch) else None

    def filled(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Inputs of a whole batch: the last of fewer ones is repeated. What cannot be is returned as it is."""
        count = self.fewer(inputs)
        if count is None:
            return inputs
        return {name: [*own, *[own[-1]] * (self.batch - count)] for name, own in inputs.items()}

    def _packed_reals(self, terminal: RealTerminal, given: Any) -> dict[str, Vector]:  # noqa: ANN401 - whatever the user gave
        """One input of real numbers of all items."""
        program, name, kind = self._ends.name, terminal.name, terminal.kind
        column = expect_column(program, name, kind, given, self.batch)
        values = real_numbers(program, name, kind, column)
        if values.shape != (self.batch, *kind.dimensions):
            shape = " x ".join(map(str, values.shape))
            raise InputError(
                f"{program}: input {name!r} is an array of {shape}, but a batch has {self.batch} of {kind}; give as many"
            )
        lanes = np.zeros((len(terminal.elements), 2 * self._slots))
        lanes[:, : self.batch] = values.reshape(self.batch, -1).T
        units = [own for own in terminal.elements if isinstance(own, tuple)]
        return {
            vector: ((own[: self._slots] / unit).tolist(), (own[self._slots :] / unit).tolist())
            for (vector, unit), own in zip(units, lanes, strict=True)
        }

    def _flattened(self, name: str, column: list[Any]) -> NDArray[np.int64]:
        """One input of all items, as one row each."""
        kind = self.inputs[name]
        rows = _rows(kind, column)
        if rows is not None and kind.split:
            rows = _digits(kind, rows)
        return rows if rows is not None else self._one_by_one(name, column)

    def _one_by_one(self, name: str, column: list[Any]) -> NDArray[np.int64]:
        """The same for values in any form. Rejects an item of another type."""
        rows = []
        for at, value in enumerate(column):
            try:
                rows.append(self._integers.flatten({name: value}, partly=True)[name])
            except InputError as error:
                raise in_batch(at, error) from None
        return np.array(rows, dtype=np.int64)

    def _expect_values(self, name: str, kind: ElementType, values: NDArray[np.int64]) -> None:
        """Rejects values outside the type of their input."""
        lo, hi, stride = kind.bounds
        wrong = (values < lo) | (values > hi) | ((values - lo) % stride != 0)
        if wrong.any():
            at, element = np.argwhere(wrong)[0]
            needed = f"but {self.inputs[name]} is needed; correct the value"
            raise in_batch(at, InputError(f"{self._ends.name}: input {name!r} holds {values[at, element]}, {needed}"))

    def _packed(self, terminal: Terminal, values: NDArray[np.int64]) -> dict[str, Vector]:
        residues = values % terminal.modulus
        fractions = np.where(residues > terminal.modulus // 2, residues - terminal.modulus, residues) / terminal.modulus
        lanes = np.zeros((len(terminal.vectors), 2 * self._slots))
        lanes[:, : len(values)] = fractions.T
        return {
            vector: (own[: self._slots].tolist(), own[self._slots :].tolist())
            for vector, own in zip(terminal.vectors, lanes, strict=True)
        }

    def items(self, inputs: Mapping[str, Vector]) -> list[dict[str, list[Any]]]:
        """The elements of inputs in vectors of slots, for each item of the batch."""
        columns = {
            terminal.name: self._unpacked(terminal, values, inputs).tolist()
            for terminal, values in zip(self._given, self._values[0], strict=True)
        }
        columns |= {real.name: real.numbers(inputs, self.batch).tolist() for real in self._reals.inputs}
        return [{name: own[at] for name, own in columns.items()} for at in range(self.batch)]

    def joined(self, items: Sequence[Mapping[str, list[Any]]]) -> dict[str, list[Any]]:
        """The outputs of all items in the form of `rounded`."""
        return {
            terminal.name: [sum(own) for own in zip(*(item[terminal.name] for item in items), strict=True)]
            if getattr(terminal, "summed", False)
            else [value for item in items for value in item[terminal.name]]
            for terminal in [*self._returned, *self._reals.outputs]
        }

    def _unpacked(
        self, terminal: Terminal, values: NDArray[np.int64], vectors: Mapping[str, Vector]
    ) -> NDArray[np.int64]:
        found = np.empty((self.batch, len(terminal.elements)), dtype=np.int64)
        for column, one in enumerate(terminal.elements):
            if isinstance(one, int):
                found[:, column] = one
            else:
                lanes = np.concatenate(vectors[one])[: len(found)]
                found[:, column] = values[np.rint(lanes * terminal.modulus).astype(np.int64) % terminal.modulus]
                absent = found[:, column] == NO_VALUE
                if self.rounds:
                    # Some numbers were near a border; `rounded` has counted them.
                    found[absent, column] = values[values != NO_VALUE][0]
                elif absent.any():
                    raise InputError(f"output {one!r}: a value is not of the output's type. {DAMAGED}")
        return found

    def _sums(self, terminal: Terminal, vectors: Mapping[str, Vector]) -> list[int]:
        """The sums of an output's elements over the batch. All slots have them."""
        found = []
        for one in terminal.elements:
            if isinstance(one, int):
                found.append(one * self.batch)
                continue
            parts = np.rint(np.array(vectors[one]) * terminal.modulus)
            if not self.rounds and (parts != parts[:, :1]).any():
                raise InputError(f"output {one!r}: its slots have several sums. {DAMAGED}")
            found.append(int(parts[0, 0]) + int(parts[1, 0]))
        return found

    def rounded(self, outputs: Mapping[str, Vector]) -> dict[str, list[Any]]:
        """The integers of decrypted outputs, item by item, or their sums. Rejects a value that is farther from an integer than in any run, and a
        residue that no value of its type has."""
        for vector, modulus in self.moduli(outputs=True).items():
            steps = np.concatenate(outputs[vector]) * modulus
            distances = np.abs(steps - np.rint(steps))
            if self.rounds:
                # Lanes without an input, and some near a border, may hold anything.
                distances = distances[: self.batch]
                beyond = float((~(distances <= self._bounds[vector])).mean())
                if beyond > MOST_UNDECIDED:
                    raise InputError(
                        f"output {vector!r}: {beyond:.0%} of its values are not near an integer, more than {MOST_UNDECIDED:.0%}. If so many real "
                        f"numbers are near a border at which they are rounded, move it, as (x + 0.1).quantize(..). Otherwise: {DAMAGED}"
                    )
                continue
            farthest = float(distances.max())
            if not farthest <= self._bounds[vector]:
                raise InputError(
                    f"output {vector!r}: a value is {farthest:.3f} from the nearest integer, but at most {self._bounds[vector]:.3f} in every run "
                    f"of this program. {DAMAGED}"
                )
        integers = {
            terminal.name: self._sums(terminal, outputs)
            if terminal.summed
            else self._unpacked(terminal, values, outputs).reshape(-1).tolist()
            for terminal, values in zip(self._returned, self._values[1], strict=True)
        }
        return integers | {
            real.name: real.numbers(outputs, self.batch).reshape(-1).tolist() for real in self._reals.outputs
        }

    def shaped(self, outputs: Mapping[str, list[int]]) -> dict[str, Any]:
        """Outputs in the user's form: lists of those of all items, or their sums."""
        shaped = {}
        for terminal in self._returned:
            name, values = terminal.name, outputs[terminal.name]
            kind = self._integers.outputs[name]
            if terminal.summed:
                shaped[name] = _sum_of(kind, values)
            elif kind.scalar and not kind.split:
                shaped[name] = values
            else:
                size = len(values) // self.batch
                rows = (values[at : at + size] for at in range(0, len(values), size))
                shaped[name] = [self._integers.shaped_output(name, row) for row in rows]
        for real in self._reals.outputs:
            shaped[real.name] = np.reshape(outputs[real.name], (self.batch, *real.kind.dimensions)).tolist()
        return {name: shaped[name] for name in self._reals.names[1] or shaped}


def _with_reals(integers: Mapping[str, Type], reals: Sequence[RealTerminal], names: Sequence[str]) -> Mapping[str, Any]:
    """The types in the user's order. Without names, there are no real numbers."""
    if not names:
        return integers
    known = {**integers, **{real.name: real.kind for real in reals}}
    if not set(names) <= set(known) or len(set(names)) != len(names):
        raise ValueError("the names are not those of the types")
    return {name: known[name] for name in names}


def _summed_type(kind: Type, batch: int) -> Type:
    """The type of the sum of a batch of values."""
    return Type("integer", kind.lo * batch, kind.hi * batch, length=kind.length, scalar=kind.scalar)


def _sum_of(kind: Type, values: list[int]) -> Any:  # noqa: ANN401 - a number, or a list
    """The sums of a batch of values of a type, of which `values` are the sums of their elements or digits."""
    sums = [
        sum(number << 2 * place for place, number in enumerate(values[element :: kind.length]))
        for element in range(kind.length)
    ]
    return sums[0] if kind.scalar else sums
