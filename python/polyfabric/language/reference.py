"""The meaning of a TFHE program on Python's integers, independent of its lowering.

Tracing records each operation of the source as one step, before it is lowered to digits, carries and lookups:

    @pf.program(x=pf.UInt(8))
    def f(x):
        return (x + 5) % 3        # step 1: "+" of step 0 and 5, a UInt(8); step 2: "%" of step 1 and 3, a UInt(8)

Evaluating the steps gives the values that an execution must decrypt to, and the results that left the range of their type.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import wraps
from inspect import Signature, signature
from typing import Any, ParamSpec, TypeVar

import numpy as np

from .._native import ElementType
from ..errors import InputError
from .fixed_type import FixedType, plain_number
from .numpy_calls import Value
from .place import place, refuse
from .rules import RULES, Numbers, Vast, centred, holds
from .shapes import wrong_value
from .types import MOST_BITS, SlotType, TextType, Type, needed_bits, text_bytes

P = ParamSpec("P")
R = TypeVar("R")

ARITHMETIC = frozenset({"+", "-", "*", "/", "**", "//", "neg", "abs", "<<", "sum", "dot"})
"""Operations whose results are reported if they leave the range of their type. All others stay within it, or wrap by design."""


SHOWN = {"mux": "where", "at": "[i]", "take": "[..]", "neg": "-", "table": "lookup", "fixed lookup": "lookup"}
"""Names of operations as the user wrote them, if they have others here."""

DIVISIONS = frozenset({"//", "%", "/"})
"""Operations whose results are reported if the divisor is 0."""


@dataclass(frozen=True)
class Wrapped:
    """Results of one operation that left the range of their type, returned modulo 2^bits, or divisions by 0."""

    location: str
    """File and line in the user's program."""
    operation: str
    type: str
    count: int
    """Number of elements that left it."""
    index: int
    """Index of the first of them."""
    exact: int | float | Fraction | None
    """Its exact value, for `pf.Fixed` rounded; `None` if it has thousands of digits, and for a division by 0."""
    value: int | float | Fraction
    """Its value modulo 2^bits."""

    def __str__(self) -> str:
        more = f", and {self.count - 1} more" if self.count > 1 else ""
        if self.operation in DIVISIONS and self.exact is None:
            return f"{self.operation} at {self.location}: division by 0 gave {plain_number(self.value)}{more}"
        exact = "a number of thousands of digits" if self.exact is None else plain_number(self.exact)
        wider, own = "", self.type.removeprefix("uint").removeprefix("sint")
        if own.isdigit() and isinstance(self.exact, int):
            # One bit more than the operands at least: other values need more bits than these.
            signed = self.exact < 0 or self.type.startswith("sint")
            bits = max(needed_bits(self.exact) + (signed and self.exact > 0), int(own) + 1)
            if bits <= MOST_BITS:
                wider = f"; cast the operands first, as x.cast(pf.{'SInt' if signed else 'UInt'}({bits}))"
        return f"{self.operation} at {self.location}: {exact} is beyond {self.type} and wrapped to {plain_number(self.value)}{more}{wider}"

    def to_dict(self) -> dict[str, Any]:
        """As data."""
        return asdict(self) | {"exact": plain_number(self.exact), "value": plain_number(self.value)}


@dataclass(frozen=True)
class Operand:
    """The result of an earlier step."""

    step: int


@dataclass(frozen=True)
class Step:
    """One operation. Its operands are results of earlier steps, public numbers, and other arguments of its rule."""

    op: str
    operands: tuple[Any, ...]
    options: Mapping[str, Any]
    kind: Type
    """Type of its result."""
    location: tuple[str, int]

    @property
    def wraps(self) -> bool:
        """Whether its result is an integer of a declared width."""
        return isinstance(self.kind, Type) and self.kind.wraps

    @property
    def needs(self) -> Iterable[int]:
        """The steps whose results it uses."""
        for operand in self.operands:
            for value in operand if isinstance(operand, tuple) else (operand,):
                if isinstance(value, Operand):
                    yield value.step


class Reference:
    """The steps of one program."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._inputs: dict[str, tuple[int, Type]] = {}
        self._outputs: dict[str, tuple[int, Type]] = {}
        self._order: list[int] = []
        """The steps that outputs depend on."""
        self._spent: dict[int, list[int]] = {}
        """By step: the results that no later step uses."""
        self.distances: list[float] = []
        """By rounding of the last evaluation: the smallest distance of a real number from a border, in steps."""
        self.nested = False
        """Whether an operation is being lowered. Operations inside its lowering are not recorded."""

    # -- while tracing ------------------------------------------------------------------------------------------

    def input(self, name: str, made: Any, kind: Type) -> None:  # noqa: ANN401 - an encrypted value
        """Records an input of the program."""
        self.note("input", made, (), {})
        self._inputs[name] = made.meaning, kind

    def output(self, name: str, value: Any) -> None:  # noqa: ANN401 - an encrypted value
        """Records an output of the program."""
        self._outputs[name] = value.meaning, value.type

    @property
    def size(self) -> int:
        """The number of values of all steps."""
        return sum(step.kind.length for step in self._steps)

    def note(
        self,
        op: str,
        made: Any,  # noqa: ANN401
        operands: Sequence[Any],
        options: Mapping[str, Any],
        *,
        within: bool = False,
    ) -> None:
        """Records `made` as `op` of the operands, unless it is an operand itself or already recorded. Inside of another operation only if
        `within`: its operands are recorded then."""
        if (self.nested and not within) or made.meaning is not None:
            return
        kind = made.type
        if isinstance(kind, TextType) and f"text {op}" in RULES:
            op = f"text {op}"
        given = {name: _noted(value) for name, value in options.items()}
        if op == "//":
            given["of"] = _in_common(operands)
        made.meaning = len(self._steps)
        self._steps.append(Step(op, tuple(map(_noted, operands)), given, kind, place()))

    def note_real(
        self,
        op: str,
        made: Any,  # noqa: ANN401
        operands: Sequence[Any],
        rule: Callable[..., Numbers],
    ) -> None:
        """Records `made` as the result of `rule` on encrypted operands, of which some are real numbers."""
        made.meaning = len(self._steps)
        self._steps.append(Step(op, tuple(map(_noted, operands)), {"rule": rule}, made.type, place()))

    def finish(self) -> Reference:
        """Finds the steps that outputs depend on, and the last use of each result."""
        kept = {step for step, _ in self._outputs.values()}
        needed = kept | {step for step, _ in self._inputs.values()}
        last: dict[int, int] = {}
        for at in reversed(range(len(self._steps))):
            if at in needed:
                self._order.append(at)
                for need in self._steps[at].needs:
                    needed.add(need)
                    last.setdefault(need, at)
        self._order.reverse()
        for step, at in last.items():
            if step not in kept:
                self._spent.setdefault(at, []).append(step)
        return self

    @property
    def widths(self) -> list[tuple[str, tuple[int, int] | None, Any]]:
        """For each operation, its wrapping range and its width for division by 0. Lowerings for which these are equal compute the same values."""
        return [(step.op, step.kind.bounds if step.wraps else None, step.options.get("of")) for step in self._steps]

    def graph(self) -> list[tuple[str, Type, list[int], str]]:
        """The inputs, operations and outputs: title, type of the result, the earlier entries that it uses, and "input", "operation" or "output"."""
        names = {step: name for name, (step, _) in self._inputs.items()}
        order = sorted({*self._order, *names})
        at = {step: place for place, step in enumerate(order)}
        made = []
        for index in order:
            step = self._steps[index]
            given = [
                f" {plain_number(operand[0])}"
                for operand in step.operands
                if isinstance(operand, list) and len(operand) == 1
            ]
            title = names.get(index) or SHOWN.get(step.op, step.op) + (
                "".join(given) if len(step.operands) == 2 else ""
            )
            made.append(
                (title, step.kind, [at[need] for need in step.needs], "input" if index in names else "operation")
            )
        return made + [(name, kind, [at[step]], "output") for name, (step, kind) in self._outputs.items()]

    # -- afterwards ---------------------------------------------------------------------------------------------

    def evaluate(self, inputs: Mapping[str, Sequence[int]]) -> tuple[dict[str, Numbers], list[Wrapped]]:
        """The outputs, and the results that wrapped. Values have the lower layers' form: digits for integers in digits."""
        found = {at: _read(name, kind, inputs[name]) for name, (at, kind) in self._inputs.items()}
        wrapped: dict[tuple[Any, ...], Wrapped] = {}
        self.distances = []
        for at in self._order:
            step = self._steps[at]
            if step.op != "input":
                operands = [_value(operand, found) for operand in step.operands]
                rule = step.options.get("rule")
                found[at] = (
                    rule(*operands)
                    if rule
                    else _fitted(step, RULES[step.op](step.kind, *operands, **step.options), wrapped)
                )
                if step.op in DIVISIONS:
                    _note_zeros(step, operands[1], found[at], wrapped)
                if step.op == "assume":
                    _expect_kept(step, found[at])
                for spent in self._spent.get(at, ()):
                    del found[spent]
        outputs = {name: _written(kind, found[at]) for name, (at, kind) in self._outputs.items()}
        return outputs, list(wrapped.values())


def means(*ops: str, swapped: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Records each result of the decorated function as one operation: the first as `ops[0]`, the second as `ops[1]`.

    The operands of a reflected operator are `swapped`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        parameters = signature(function)

        @wraps(function)
        def noted(*given: Any, **options: Any) -> Any:  # noqa: ANN401 - arguments and results of the function
            if options:
                given, options = _bound(parameters, ops[0], given, options)
            # A user's generator records its own operations, before this one begins.
            operands = tuple(list(value) if _is_stream(value) else value for value in given)
            reference = _reference(operands)
            if reference is None or reference.nested:
                return function(*operands, **options)  # type: ignore[call-arg]
            reference.nested = True
            try:
                found = function(*operands, **options)  # type: ignore[call-arg]
            finally:
                reference.nested = False
            if found is not NotImplemented:
                for op, result in zip(ops, found if isinstance(found, tuple) else (found,), strict=True):
                    reference.note(op, result, operands[::-1] if swapped else operands, options)
            return found

        return noted  # type: ignore[return-value]

    return decorate


def _bound(
    parameters: Signature, op: str, given: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call by position and by name; rejects options that the function lacks, such as numpy's `axis`."""
    lacking = next((name for name in options if name not in parameters.parameters), None)
    if lacking is not None:
        raise refuse(f"{SHOWN.get(op, op)} has no option {lacking}=; omit it")
    bound = parameters.bind(*given, **options)
    return bound.args, bound.kwargs


def _is_stream(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, Collection | Value)


def _reference(operands: Iterable[Any]) -> Reference | None:
    """The reference of the first TFHE value among the operands, or in a list of them."""
    for operand in operands:
        for value in operand if isinstance(operand, list | tuple) else (operand,):
            if hasattr(type(value), "meaning"):
                found: Reference = value._tracer.reference
                return found
    return None


def _noted(operand: Any) -> Any:  # noqa: ANN401 - an encrypted value, public numbers, a type, or tables
    """An operand in the form that a step stores. Public numbers are copied, since the user may change them later."""
    if hasattr(type(operand), "meaning"):
        return Operand(operand.meaning)
    if isinstance(operand, list | tuple) and any(hasattr(type(value), "meaning") for value in operand):
        return tuple(map(_noted, operand))
    if isinstance(operand, str | bytes):
        return list(text_bytes(operand))
    if operand is None or isinstance(operand, Type | ElementType):
        return operand
    if isinstance(operand, list) and operand and isinstance(operand[0], tuple) and isinstance(operand[0][1], list):
        return operand
    array = np.array(operand, dtype=operand.dtype if isinstance(operand, np.ndarray) else object)
    if array.ndim > 1:
        return array
    return [number if isinstance(number, Fraction) else int(number) for number in array.reshape(-1).tolist()]


def _value(operand: Any, found: Mapping[int, Numbers]) -> Any:  # noqa: ANN401 - from `_noted`
    if isinstance(operand, Operand):
        return found[operand.step]
    return [_value(value, found) for value in operand] if isinstance(operand, tuple) else operand


def _fitted(step: Step, exact: Numbers, wrapped: dict[tuple[Any, ...], Wrapped]) -> Numbers:
    """Results reduced to their type. Results of arithmetic outside its range are added to `wrapped`."""
    kind = step.kind
    if kind.kind == "torus":
        assert kind.bits is not None
        return [centred(value, kind.bits) for value in exact]
    if isinstance(kind, FixedType):
        exact = [kind.rounded(value) for value in exact]
        if kind.overflow == "saturate":
            return [kind.wrap(value) for value in exact]
    values = [kind.wrap(value) for value in exact]
    if isinstance(kind, FixedType) and kind.overflow == "refuse":
        _expect_fitting(step, kind, values, exact)
    converts = step.op == "cast" and isinstance(kind, FixedType)
    if (step.op in ARITHMETIC or converts) and values != exact:
        places = [at for at, (value, own) in enumerate(zip(values, exact, strict=True)) if value != own]
        first = exact[places[0]]
        _add(wrapped, step, places, None if isinstance(first, Vast) else _shown(kind, first), values)
    return values


def _note_zeros(step: Step, divisors: Numbers, values: Numbers, wrapped: dict[tuple[Any, ...], Wrapped]) -> None:
    """Adds divisions by 0 to `wrapped`."""
    own = divisors * len(values) if len(divisors) == 1 else divisors
    places = [at for at, divisor in enumerate(own) if divisor == 0]
    if places:
        _add(wrapped, step, places, None, values)


def _add(
    wrapped: dict[tuple[Any, ...], Wrapped],
    step: Step,
    places: list[int],
    exact: Any,  # noqa: ANN401
    values: Numbers,
) -> None:
    """Adds the results of one step at `places`, of which the first has this exact value."""
    file, line = step.location
    now = Wrapped(
        location=f"{file}:{line}",
        operation={"neg": "-"}.get(step.op, step.op),
        type=str(step.kind.one),
        count=len(places),
        index=places[0],
        exact=exact,
        value=_shown(step.kind, values[places[0]]),
    )
    key = (now.location, now.operation, now.type, exact is None)
    before = wrapped.get(key)
    wrapped[key] = now if before is None else Wrapped(**asdict(before) | {"count": before.count + now.count})


def _shown(kind: Type, value: Any) -> Any:  # noqa: ANN401 - an integer, or a fraction
    return kind.user(value) if isinstance(kind, FixedType) else value


def _expect_fitting(step: Step, kind: FixedType, values: Numbers, exact: Numbers) -> None:
    """Rejects inputs for which a result is beyond a type that refuses this."""
    for at, (value, own) in enumerate(zip(values, exact, strict=True)):
        if value != own:
            file, line = step.location
            raise InputError(
                f"{file}:{line}: the result of {SHOWN.get(step.op, step.op)} is {plain_number(_shown(kind, own))} in element {at} for these inputs, beyond "
                f"{kind.one}; correct them, or give the type more bits or another overflow="
            )


def _in_common(operands: Sequence[Any]) -> tuple[int, bool]:
    """Bits and sign of the narrowest width that holds the values of all operands."""
    ends: list[int] = []
    for operand in operands:
        ends += operand.type.bounds if hasattr(type(operand), "meaning") else _noted(operand)
    return needed_bits(*ends), min(ends) < 0


def _read(name: str, kind: Type, given: Sequence[int]) -> Numbers:
    """The numbers of an input, checked against its type."""
    numbers = list(given)
    if isinstance(kind, SlotType):
        return numbers
    if kind.split:
        numbers = [kind.number(given[element :: kind.length]) for element in range(kind.length)]
    for at, value in enumerate(numbers):
        if not holds(kind, value):
            raise wrong_value(name, kind, at, value)
    return numbers


def _expect_kept(step: Step, values: Numbers) -> None:
    """Rejects inputs that violate an `assume`."""
    kind, (file, line) = step.operands[1], step.location
    for at, value in enumerate(values):
        if not holds(kind, value):
            raise InputError(
                f"{file}:{line}: a value is assumed to be {kind.one}, but element {at} is {value} for these inputs; widen the assumed range"
            )


def _written(kind: Type, numbers: Numbers) -> Numbers:
    """The numbers of an output, or their digits."""
    if isinstance(kind, SlotType) or not kind.split:
        return numbers
    digits = [kind.digits(number) for number in numbers]
    return [number[at] for at in range(kind.size) for number in digits]
