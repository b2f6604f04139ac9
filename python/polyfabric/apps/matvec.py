"""An encrypted matrix times an encrypted vector: listing 2 of F1 (MICRO 2021), after HElib."""

from __future__ import annotations

from functools import cache

from ..language.slot_program import SlotProgram
from ..language.slots import SlotValue
from ..run.statements import Add, Mul, Program, Rotate

PAPER_SET = "f1-listing2"
"""Listing 2's N and L; about 105 bits of security."""


@cache
def matvec(degree: int = 16384, limbs: int | None = 16, rows: int = 4) -> SlotProgram:
    """`rows` rows of `degree` integers each, times a vector: every slot of an output is the product of its row."""
    p = Program(N=degree, name="matvec")
    matrix = [p.Input(L=limbs, name=f"row{i}") for i in range(rows)]
    vector = p.Input(L=limbs, name="vector")

    def inner_sum(x: SlotValue) -> SlotValue:
        for i in range(degree.bit_length() - 1):
            x = Add(x, Rotate(x, 1 << i))
        return x

    for i in range(rows):
        p.Output(inner_sum(Mul(matrix[i], vector)), name=f"product{i}")
    return p.finish()
