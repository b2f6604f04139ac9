"""A ripple-carry adder of encrypted bits: a chain of gates, one lookup each, as long as the numbers."""

from __future__ import annotations

from functools import cache

from ..language.functions import concat
from ..language.numpy_calls import Value
from ..language.types import Bool
from ..run.runnable_programs import Program, program


@cache
def adder(bits: int, batch: int = 1) -> Program:
    """Adds `batch` pairs of `bits`-bit numbers. Bit i of all numbers comes before bit i + 1."""

    @program("adder", a=Bool.vector(bits * batch), b=Bool.vector(bits * batch))
    def add(a: Value, b: Value) -> Value:
        """a + b; the last bits are the carries."""
        half = a ^ b
        both = a & b
        sums, carry = [], None
        for i in range(bits):
            place = slice(i * batch, (i + 1) * batch)
            if carry is None:
                sums.append(half[place])
                carry = both[place]
            else:
                sums.append(half[place] ^ carry)
                carry = both[place] | (half[place] & carry)
        return concat(*sums, *([] if carry is None else [carry]))

    return add
