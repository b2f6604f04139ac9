"""Programs of BGV as statements on ciphertexts, as listing 2 of F1 (MICRO 2021) writes them.

    p = Program(N=16384)
    x = p.Input(L=16)
    y = Add(x, Rotate(x, 1))
    p.Output(Mul(x, y))
    p.finish().run({"x0": [..]}, on="f1", parameters="f1-listing2")

The set is one of N = 2^14 and L = 16. Without one a program gets the smallest ring of 128 bits of security with its limbs, which may be larger than N.

Loops are Python's and unrolled when the statements run. The program is the same graph as a decorated function's. The names are
the paper's, which is why they are capitals.
"""

from __future__ import annotations

from .language.place import pass_over, refuse
from .language.slot_program import tracer
from .language.slots import SlotValue
from .language.types import Mod, SlotType
from .runnable import SlotProgram, finished

pass_over(__file__)

PLAINTEXT_MODULUS = 65537
"""t: the smallest prime with a slot for every coefficient at the degrees of F1."""


class Program:
    """A program of BGV in the making, on vectors of N integers modulo t."""

    def __init__(self, N: int, *, t: int = PLAINTEXT_MODULUS, name: str = "program") -> None:  # noqa: N803 - the paper's
        if N < 2 or N & (N - 1):
            raise refuse(f"{name}: N={N} is no power of two; give the ring degree, such as 16384")
        self.N = N
        self._type = Mod(t).vector(N)
        self._inputs: dict[str, SlotType] = {}
        self._outputs: dict[str, SlotValue] = {}
        self._tracer = tracer(name, "bgv", N, {"x": self._type})

    def Input(self, L: int | None = None, *, name: str | None = None) -> SlotValue:  # noqa: N802, N803 - the paper's
        """An encrypted vector of N integers, over L limbs; without L, over as few as the program allows. A set with fewer than L limbs is refused."""
        own = name or f"x{len(self._inputs)}"
        if own in self._inputs:
            raise refuse(f"there are two inputs {own!r}; give each its name")
        if L is not None and L < 1:
            raise refuse(f"input {own!r} has L={L} limbs; give at least 1")
        self._inputs[own] = self._type
        return self._tracer.input(own, self._type, level=None if L is None else L - 1)

    def Output(self, value: SlotValue, *, name: str | None = None) -> None:  # noqa: N802 - the paper's
        """Makes a value a result of the program."""
        own = name or f"y{len(self._outputs)}"
        if own in self._outputs:
            raise refuse(f"there are two outputs {own!r}; give each its name")
        self._outputs[own] = value

    def finish(self) -> SlotProgram:
        """The program."""
        if not self._outputs:
            raise refuse("the program has no output; give it one with Output(..)")
        return finished(self._tracer, self._inputs, self._outputs, None)


def Add(a: SlotValue, b: SlotValue) -> SlotValue:  # noqa: N802 - the paper's
    """The sum, slot by slot."""
    return a + b


def Mul(a: SlotValue, b: SlotValue) -> SlotValue:  # noqa: N802 - the paper's
    """The product, slot by slot."""
    return a * b


def Rotate(x: SlotValue, steps: int) -> SlotValue:  # noqa: N802 - the paper's
    """Slot i takes slot i + steps, in rows of N/2 slots each; by N/2 steps, the rows change places."""
    return x.swap_rows() if steps % len(x) == len(x) // 2 else x.rotate(steps)
