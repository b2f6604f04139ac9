"""Encrypted bits that select between vectors of slots: `pf.where(bit, x, y)` and `bit * x` without a level.

A selector is a ring-GSW ciphertext, and each selection an external product. Its noise is added to that of the chosen vector, not multiplied with it.
"""

from __future__ import annotations

from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from . import slot_matrix
from .numpy_calls import Value
from .place import refuse
from .slot_reference import Operand
from .slots import Numbers, SlotTracer, SlotValue
from .types import SlotType

_ONLY = "a selector multiplies and selects, bit * x and pf.where(bit, x, y), with ~bit as its negation"


class SelectorValue(Operand, Value):
    """An encrypted bit of `pf.Mod(t).selector` or `pf.Real.selector`."""

    __slots__ = ("_negated", "_tracer", "node", "step")

    def __init__(self, tracer: SlotTracer, node: int, step: int, *, negated: bool = False) -> None:
        self._tracer = tracer
        self.node = node
        self.step = step
        self._negated = negated

    @property
    def type(self) -> SlotType:
        """A selector of the program's numbers."""
        return SlotType("selector", self._tracer.modulus)

    def __repr__(self) -> str:
        return f"<encrypted {self.type}, node %{self.node}>"

    def _instead(self, _name: str, _operands: int) -> str:
        return _ONLY

    def __invert__(self) -> SelectorValue:
        return SelectorValue(self._tracer, self.node, self.step, negated=not self._negated)

    def __mul__(self, other: SlotValue | Numbers) -> SlotValue:
        return self.choose(other, 0)

    __rmul__ = __mul__

    def __rsub__(self, other: object) -> SelectorValue:
        return ~self if isinstance(other, int) and other == 1 else self._refuse()

    def _refuse(self, *_others: object) -> NoReturn:
        raise refuse(
            f"{_ONLY}; for both of two bits write pf.where(a, pf.where(b, x, y), y), for sums declare the bit as a number"
        )

    __add__ = __radd__ = __sub__ = __truediv__ = __rtruediv__ = __matmul__ = __rmatmul__ = __pow__ = __rpow__ = _refuse
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __neg__ = __abs__ = __floordiv__ = __mod__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _refuse  # type: ignore[assignment]
    __int__ = __index__ = __float__ = __len__ = __iter__ = __getitem__ = _refuse
    __hash__ = Value.__hash__

    def __bool__(self) -> NoReturn:
        raise refuse(
            "a selector cannot decide a branch, because its value is unknown; for `if` write pf.where(bit, x, y), for `not` ~bit"
        )

    def choose(self, then: SlotValue | Numbers, otherwise: SlotValue | Numbers) -> SlotValue:
        """`then` if the bit is 1, else `otherwise`; each encrypted or public."""
        tracer, reference = self._tracer, self._tracer.reference
        if isinstance(then, SelectorValue) or isinstance(otherwise, SelectorValue):
            raise refuse("a selector cannot be chosen or multiplied with another; write a * (b * x) for a * b * x")
        choices = [choice if isinstance(choice, SlotValue) else tracer.public(choice) for choice in (then, otherwise)]
        for choice in choices:
            if isinstance(choice, SlotValue) and choice._tracer is not tracer:
                raise refuse("where: the operands belong to two different programs; use values of one program")
        encrypted = [choice for choice in choices if isinstance(choice, SlotValue)]
        public = [None if isinstance(choice, SlotValue) else reference.number(choice) for choice in choices]

        def meaning(bit: NDArray[Any], *others: NDArray[Any]) -> Any:  # noqa: ANN401 - an array, or one number
            left = iter(others)
            one, zero = (next(left) if number is None else number for number in public)
            return one if (np.real(bit) != 0) != self._negated else zero

        shape = self._shape(choices)

        def compute(bit: NDArray[Any], *others: NDArray[Any]) -> NDArray[Any]:
            chosen = np.asarray(meaning(bit, *others))
            if chosen.ndim == 1:
                chosen = np.concatenate([chosen, np.zeros(shape[0] - chosen.size, dtype=chosen.dtype)])
            return np.broadcast_to(chosen, shape)

        return reference.record([self, *encrypted], lambda: self._selected(choices, shape), compute)

    def _shape(self, choices: list[SlotValue | NDArray[Any]]) -> tuple[int, ...]:
        """The common shape: that of both, of one if the other is a single number, or of a rotated vector, which combines with any."""
        shapes = [tuple(choice.shape) for choice in choices]
        shape = max(shapes, key=lambda own: (len(own), own))
        vectors = len(shape) == 1 and all(isinstance(choice, SlotValue) for choice in choices)
        other = any(own not in ((), shape) for own in shapes) and not (vectors and _rotated(choices))
        if other or len(shape) > 2 or 0 in shape:
            a, b = (slot_matrix.size(own) or "one number" for own in shapes)
            raise refuse(f"where: the choices have the shapes {a} and {b}; give both one shape, or a single number")
        if shape and not self._tracer.packed:
            raise refuse(
                f"where: modulo {self._tracer.modulus}, a power of two, a ciphertext holds one number, but a choice has "
                f"{slot_matrix.size(shape)}; select each number"
            )
        length = int(np.prod(shape))
        rows = self._tracer.rows if len(shape) == 2 else 1
        if length * rows > self._tracer.slots:
            slots = 1 << (length * rows - 1).bit_length()
            if self._tracer.elastic:
                raise slot_matrix.MoreSlots(slots)
            raise refuse(
                f"where: the choices have {length} numbers, but the program {self._tracer.slots} slots; give it slots={slots}"
            )
        return shape

    def _selected(self, choices: list[SlotValue | NDArray[Any]], shape: tuple[int, ...]) -> SlotValue:
        tracer = self._tracer
        length = int(np.prod(shape))
        nodes, clean = [], True
        complex_ = False
        for choice in choices:
            if isinstance(choice, SlotValue):
                nodes.append((choice if choice.length == length else choice._cleared()).node)
                clean &= choice._clean and not choice.scalar
                complex_ |= choice.kind == "complex"
                continue
            complex_ |= np.iscomplexobj(choice)
            # A number for each slot of the vector only, so that those behind its end stay 0. A zero everywhere costs nothing.
            numbers = choice if not shape or not np.any(choice) else np.broadcast_to(choice, shape).reshape(-1)
            nodes.append(tracer.constant(numbers if np.any(numbers) else np.zeros((), dtype=choice.dtype)))
        if self._negated:
            nodes.reverse()
        kind: Literal["real", "complex", "residue"] = (
            "residue" if tracer.modulus is not None else "complex" if complex_ else "real"
        )
        node = tracer.node(lambda builder: builder.select(self.node, *nodes))
        grid = (shape[0], shape[1]) if len(shape) == 2 else None
        return SlotValue(
            tracer,
            node,
            kind=kind,
            length=length if shape else 1,
            scalar=not shape,
            clean=clean and bool(shape),
            shape=grid,
            rotated=_rotated(choices),
        )


def _rotated(choices: list[SlotValue | NDArray[Any]]) -> bool:
    """Whether a choice has all slots of the program because it was rotated."""
    return any(isinstance(choice, SlotValue) and choice._rotated for choice in choices)


def declared(tracer: SlotTracer, name: str) -> SelectorValue:
    """The input `name` of a program."""
    node = tracer.node(lambda builder: builder.selector(name))
    return SelectorValue(tracer, node, tracer.reference.input(name))
