"""Reduced twins of Osiris' programs that no computer runs at full size, or whose bound says nothing there: what `polyfabric run` runs of them.

Each has every kind of operation of the whole program, on a ring of 2^12 with the same chain of primes: no security, decrypted and compared with
the same computation by other means.

A run's bound takes every error at its worst, and each stage multiplies it by the steepest slope of the next: it is up to 10^6 times what is ever seen, and a wrong
program would pass it. So the answers are held to what they are worth, which is measured: four times the largest error that was seen, on Osiris' units, whose
conversions of moduli are approximate and make up to ten times the error of this computer's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import bitonic_sorting, helr_1024, osiris_programs
from .f1_programs import ExampleProgram, Inputs
from .osiris_programs import REDUCED_SET

REDUCED_SET_IV = "toy-12-boot-osiris-IV"
"""Set IV's chain on a ring of 2^12."""

SLOTS = 1 << 11
"""Of both sets."""

DIAGONALS = 16
"""Of the reduced T_Mv, in the place of 128."""


def _helr() -> ExampleProgram:
    batch = helr_1024.Batch(samples=64, features=40)

    def example(generator: np.random.Generator) -> tuple[Inputs, NDArray[Any]]:
        drawn = helr_1024.drawn(batch, generator)
        return helr_1024.packed(batch, *drawn), np.concatenate(helr_1024.step(batch, *drawn))

    def answer(outputs: dict[str, Any]) -> NDArray[Any]:
        return np.concatenate(helr_1024.unpacked(batch, np.array(outputs["state"])))

    return ExampleProgram(
        "helr-1024",
        REDUCED_SET,
        lambda: helr_1024.helr_1024(batch),
        example,
        answer,
        2.0**-14,
        None,
        security=0,
        of="64 samples of 40 features in the place of 1,024 of 196",
    )


def _sorting() -> ExampleProgram:
    log2, polynomials, gap = 2, 4, 2.0**-4

    def example(generator: np.random.Generator) -> tuple[Inputs, NDArray[Any]]:
        # Further apart than what need not be told apart.
        numbers = generator.permutation((np.arange(1 << log2) + generator.uniform(0.3, 0.7)) / (1 << log2))
        return {"numbers": numbers}, np.sort(numbers)

    return ExampleProgram(
        "sorting",
        REDUCED_SET_IV,
        lambda: bitonic_sorting.sorting_network(log2, polynomials, gap),
        example,
        lambda outputs: np.array(outputs["numbers"]),
        2.0**-19,
        None,
        security=0,
        of="four numbers and four polynomials a comparison in the place of 2^14 and twelve",
    )


def _products() -> ExampleProgram:
    def example(generator: np.random.Generator) -> tuple[Inputs, NDArray[Any]]:
        numbers = generator.uniform(0.9, 0.99, SLOTS) * np.exp(2j * np.pi * generator.uniform(0, 1, SLOTS))
        product = numbers ** (1 << osiris_programs.LEVELS)
        return {"exhausted": numbers}, np.concatenate([product.real, product.imag])

    def answer(outputs: dict[str, Any]) -> NDArray[Any]:
        product = np.array(outputs["product"])
        return np.concatenate([product.real, product.imag])

    return ExampleProgram(
        "amortised-products",
        REDUCED_SET,
        lambda: osiris_programs.products(SLOTS),
        example,
        answer,
        # A relative error of a number is 256 times as large in its 256th power.
        2.0**-5,
        None,
        security=0,
        of="2^11 slots in the place of 2^15",
    )


def _matrices() -> ExampleProgram:
    entries = osiris_programs.diagonals_drawn(SLOTS, DIAGONALS)

    def example(generator: np.random.Generator) -> tuple[Inputs, NDArray[Any]]:
        vector = generator.uniform(-1, 1, SLOTS)
        product = vector
        for _ in range(osiris_programs.LEVELS):
            product = sum(entries[k] * np.roll(product, -k) for k in range(DIAGONALS))
        return {"exhausted": vector}, product

    return ExampleProgram(
        "amortised-matrices",
        REDUCED_SET,
        lambda: osiris_programs.matrix_vectors(SLOTS, diagonals=DIAGONALS),
        example,
        lambda outputs: np.array(outputs["product"]),
        2.0**-13,
        None,
        security=0,
        of=f"2^11 slots and matrices of {DIAGONALS} diagonals in the place of 2^15 and {osiris_programs.DIAGONALS}",
    )


TWINS = {program.name: program for program in (_helr(), _sorting(), _products(), _matrices())}
"""By the name of the whole program."""
