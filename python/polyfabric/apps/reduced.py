"""Osiris' programs with bootstraps on this computer: reduced twins, which `polyfabric run` runs of them, and whole with the paper's set, where a computer has the
memory and the time.

A twin has every kind of operation of the whole program, on a ring of 2^12 with the same chain of primes: no security, decrypted and compared with
the same computation by other means.

A run's bound takes every error at its worst, and each stage multiplies it by the steepest slope of the next: it is up to 10^6 times what is ever seen, and a wrong
program would pass it. So the answers are held to what they are worth, which is measured: of twins four times the largest error that was seen, on Osiris' units,
whose conversions of moduli are approximate and make up to ten times the error of this computer's; of whole programs four times the largest of a few runs here.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import bitonic_sorting, helr_1024, osiris_programs, resnet20
from .ckks_bootstrapping import FULL_SET
from .f1_programs import ExampleProgram, Inputs
from .osiris_programs import REDUCED_SET

REDUCED_SET_IV = "toy-12-boot-osiris-IV"
"""Set IV's chain on a ring of 2^12."""

SLOTS = 1 << 11
"""Of both sets."""

FULL_SLOTS = 1 << 15
"""Security of the paper's set in bits."""

DIAGONALS = 16
"""Diagonals of the reduced T_Mv, instead of 128."""


def _helr(batch: helr_1024.Batch, parameters: str, tolerance: float, of: str | None) -> ExampleProgram:
    def example(generator: np.random.Generator) -> tuple[Inputs, NDArray[Any]]:
        drawn = helr_1024.drawn(batch, generator)
        return helr_1024.packed(batch, *drawn), np.concatenate(helr_1024.step(batch, *drawn))

    def answer(outputs: dict[str, Any]) -> NDArray[Any]:
        return np.concatenate(helr_1024.unpacked(batch, np.array(outputs["state"])))

    return ExampleProgram(
        "helr-1024", parameters, lambda: helr_1024.helr_1024(batch), example, answer, tolerance, None, security=0, of=of
    )


def _sorting() -> ExampleProgram:
    log2, polynomials, gap = 2, 4, 2.0**-4

    def example(generator: np.random.Generator) -> tuple[Inputs, NDArray[Any]]:
        # The gaps exceed the comparison's resolution.
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
        unbounded=True,
        of="four numbers and four polynomials per comparison instead of 2^14 and twelve",
    )


def _stages() -> ExampleProgram:
    def example(generator: np.random.Generator) -> tuple[Inputs, NDArray[Any]]:
        stages = bitonic_sorting.repeated_stages()
        numbers = generator.uniform(0, 1, 1 << bitonic_sorting.LOG2_ELEMENTS)
        return {"numbers": numbers}, reduce(bitonic_sorting.compared, stages, numbers)

    return ExampleProgram(
        "sorting-stages",
        bitonic_sorting.PAPER_SET,
        bitonic_sorting.sorting_stages,
        example,
        lambda outputs: np.array(outputs["numbers"]),
        2.0**-7,
        None,
        security=0,
        unbounded=True,
        of="two of the 105 stages of sorting, at its size",
    )


def _block() -> ExampleProgram:
    shape = resnet20.Shape()
    packing = shape.packing(0)

    def example(generator: np.random.Generator) -> tuple[Inputs, NDArray[Any]]:
        weights = resnet20.Weights.drawn(shape)
        value = np.maximum(weights.stem.applied(resnet20.drawn_image(shape, generator)), 0)
        expected = resnet20.block_in_the_clear(weights, value, shape, 0, 0)
        return {"image": packing.packed(value, shape.slots)}, packing.packed(expected, shape.slots)

    return ExampleProgram(
        "resnet20-block",
        resnet20.PAPER_SET,
        resnet20.residual_block,
        example,
        np.array,
        2.0**-6,
        None,
        security=0,
        unbounded=True,
        of="one of the nine blocks of ResNet-20, at its size",
    )


def _products(slots: int, parameters: str, tolerance: float, of: str | None) -> ExampleProgram:
    def example(generator: np.random.Generator) -> tuple[Inputs, NDArray[Any]]:
        numbers = generator.uniform(0.9, 0.99, slots) * np.exp(2j * np.pi * generator.uniform(0, 1, slots))
        product = numbers ** (1 << osiris_programs.LEVELS)
        return {"exhausted": numbers}, np.concatenate([product.real, product.imag])

    def answer(outputs: dict[str, Any]) -> NDArray[Any]:
        product = np.array(outputs["product"])
        return np.concatenate([product.real, product.imag])

    return ExampleProgram(
        "amortised-products",
        parameters,
        lambda: osiris_programs.products(slots),
        example,
        answer,
        tolerance,
        None,
        security=0,
        of=of,
    )


def _matrices(slots: int, diagonals: int, parameters: str, tolerance: float, of: str | None) -> ExampleProgram:
    def example(generator: np.random.Generator) -> tuple[Inputs, NDArray[Any]]:
        entries, vector = osiris_programs.diagonals_drawn(slots, diagonals), generator.uniform(-1, 1, slots)
        product = vector
        for _ in range(osiris_programs.LEVELS):
            product = sum(entries[k] * np.roll(product, -k) for k in range(diagonals))
        return {"exhausted": vector}, product

    return ExampleProgram(
        "amortised-matrices",
        parameters,
        lambda: osiris_programs.matrix_vectors(slots, diagonals=diagonals),
        example,
        lambda outputs: np.array(outputs["product"]),
        tolerance,
        None,
        security=0,
        of=of,
    )


TWINS = {
    program.name: program
    for program in (
        _helr(
            helr_1024.Batch(samples=64, features=40),
            REDUCED_SET,
            2.0**-14,
            "64 samples of 40 features instead of 1,024 of 196",
        ),
        _sorting(),
        # The 256th power multiplies a number's relative error by 256.
        _products(SLOTS, REDUCED_SET, 2.0**-5, "2^11 slots instead of 2^15"),
        _matrices(
            SLOTS,
            DIAGONALS,
            REDUCED_SET,
            2.0**-13,
            f"2^11 slots and matrices of {DIAGONALS} diagonals instead of 2^15 and {osiris_programs.DIAGONALS}",
        ),
    )
}
"""Reduced twins by the name of the whole program."""

WHOLE = {
    program.name: program
    for program in (
        _helr(helr_1024.Batch(), FULL_SET, 2.0**-11, None),
        _products(FULL_SLOTS, FULL_SET, 2.0**-2, None),
        _matrices(FULL_SLOTS, osiris_programs.DIAGONALS, FULL_SET, 2.0**-11, None),
        _stages(),
        _block(),
    )
}
"""Programs that run in 8 GiB and some minutes with the paper's set, and parts of the larger ones. Most error bounds exceed
the answers, so the errors are measured."""
