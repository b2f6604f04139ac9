"""BGV programs as statements on ciphertexts, in the style of Listing 2 of F1 (MICRO 2021).

    p = Program(N=16384)
    x = p.Input(L=16)
    y = Add(x, Rotate(x, 1))
    p.Output(Mul(x, y))
    p.finish().run({"x0": [..]}, on="f1", parameters="f1-listing2")

The set in the last line has N = 2^14 and L = 16. By default a program gets the smallest ring with 128 bits of security and its limbs, which may be
larger than N.

Loops are Python loops and are unrolled when the statements run. The resulting graph is the same as a decorated function's. Names are capitalized as
in the paper.
"""

from __future__ import annotations

from ..language.place import pass_over, refuse
from ..language.slot_program import tracer
from ..language.slots import SlotValue
from ..language.types import Mod, SlotType
from .runnable_programs import SlotProgram, finished

pass_over(__file__)

PLAINTEXT_MODULUS = 65537
"""t: the smallest prime with a slot per coefficient at F1's degrees."""


class Program:
    """A BGV program under construction, on vectors of N integers modulo t."""

    def __init__(self, N: int, *, t: int = PLAINTEXT_MODULUS, name: str = "program") -> None:  # noqa: N803 - the paper's
        if N < 2 or N & (N - 1):
            raise refuse(f"{name}: N={N} is not a power of two; give the ring degree, such as 16384")
        self.N = N
        self._type = Mod(t).vector(N)
        self._inputs: dict[str, SlotType] = {}
        self._outputs: dict[str, SlotValue] = {}
        self._tracer = tracer(name, "bgv", N, {"x": self._type})

    def Input(self, L: int | None = None, *, name: str | None = None) -> SlotValue:  # noqa: N802, N803 - the paper's
        """An encrypted vector of N integers with L limbs; by default as few as possible. Sets with fewer than L limbs are rejected."""
        own = name or f"x{len(self._inputs)}"
        if own in self._inputs:
            raise refuse(f"there are two inputs {own!r}; give each its name")
        if L is not None and L < 1:
            raise refuse(f"input {own!r} has L={L} limbs; give at least 1")
        self._inputs[own] = self._type
        return self._tracer.input(own, self._type, level=None if L is None else L - 1)

    def Output(self, value: SlotValue, *, name: str | None = None) -> None:  # noqa: N802 - the paper's
        """Declares a value as an output of the program."""
        own = name or f"y{len(self._outputs)}"
        if own in self._outputs:
            raise refuse(f"there are two outputs {own!r}; give each its name")
        self._outputs[own] = value

    def finish(self) -> SlotProgram:
        """Returns the program."""
        if not self._outputs:
            raise refuse("the program has no output; give it one with Output(..)")
        return finished(self._tracer, self._inputs, self._outputs, None)


def Add(a: SlotValue, b: SlotValue) -> SlotValue:  # noqa: N802 - the paper's
    """The slotwise sum."""
    return a + b


def Mul(a: SlotValue, b: SlotValue) -> SlotValue:  # noqa: N802 - the paper's
    """The slotwise product."""
    return a * b


def Rotate(x: SlotValue, steps: int) -> SlotValue:  # noqa: N802 - the paper's
    """Slot i takes slot i + steps, within rows of N/2 slots; N/2 steps swap the rows."""
    return x.swap_rows() if steps % len(x) == len(x) // 2 else x.rotate(steps)
