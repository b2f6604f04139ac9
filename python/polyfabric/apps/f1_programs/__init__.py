"""The programs of F1's table 3: real programs, at the paper's sizes, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...language.slot_program import SlotProgram
from . import country_lookup, helr, lola_cifar, lola_mnist

Inputs = dict[str, NDArray[Any]]

LOLA_MNIST_TOLERANCE = 2.0**-3
"""Four times the largest error of twelve runs, 0.031: at 4 limbs a score has an error of 0.08 (standard deviation), and the largest score is 4 to 12."""


@dataclass(frozen=True)
class ExampleProgram:
    """A program, its parameter set, and an example whose answer is computed without the program."""

    name: str
    parameters: str
    build: Callable[[], SlotProgram]
    example: Callable[[np.random.Generator], tuple[Inputs, NDArray[Any]]]
    """Inputs, and the answer in the clear."""
    answer: Callable[[Any], NDArray[Any]]
    """The answer from the decrypted value."""
    tolerance: float | None
    """The answer's largest error, relative to its largest number; 0 for BGV; `None` for the bound of the noise model."""
    cell: str | None
    """Its cell of F1's table 3; `None` for parts of a program and for other papers."""
    classifies: bool = False
    """Whether the index of the largest number of the answer is a class."""
    security: float | None = None
    """Minimum security of its set in bits; `None` for the usual rule."""
    of: str | None = None
    """For a reduced twin: the changed sizes, in words."""
    unbounded: bool = False
    """Whether its error bounds exceed its answer, so that only the tolerance is checked and the errors are measured."""


def _mnist(encrypted: bool) -> ExampleProgram:
    shape = lola_mnist.Shape()

    def example(generator: np.random.Generator) -> tuple[Inputs, NDArray[Any]]:
        weights = lola_mnist.Weights.drawn(shape)
        image = lola_mnist.drawn_image(shape, generator)
        inputs = lola_mnist.pixel_inputs(shape, image)
        if encrypted:
            inputs |= lola_mnist.encrypted_weights(shape, weights)
        return inputs, lola_mnist.scores(shape, weights, image)

    def answer(outputs: dict[str, Any]) -> NDArray[Any]:
        return np.array([outputs[f"score{c}"][0] for c in range(shape.classes)])

    if encrypted:
        name, build, tolerance = "lola-mnist-encrypted", lola_mnist.lola_mnist_encrypted, 1e-2
    else:
        name, build, tolerance = "lola-mnist", lola_mnist.lola_mnist, LOLA_MNIST_TOLERANCE
    cell = f"table3.{name.replace('-', '_')}"
    return ExampleProgram(name, f"f1-{name}", build, example, answer, tolerance, cell, classifies=True)


def _cifar(name: str, shape: lola_cifar.Shape, cell: str | None) -> ExampleProgram:

    def example(generator: np.random.Generator) -> tuple[Inputs, NDArray[Any]]:
        image = lola_cifar.drawn_image(shape, generator)
        return lola_cifar.pixel_inputs(shape, image), lola_cifar.scores(shape, lola_cifar.Weights.drawn(shape), image)

    return ExampleProgram(
        name,
        "f1-lola-cifar",
        lambda: lola_cifar.lola_cifar(shape),
        example,
        lambda outputs: np.array(outputs["scores"]),
        1e-3,
        cell,
        classifies=True,
    )


def _helr() -> ExampleProgram:
    shape = helr.Shape()

    def example(generator: np.random.Generator) -> tuple[Inputs, NDArray[Any]]:
        batch = helr.drawn(shape, generator)
        return helr.packed(shape, *batch), np.concatenate(helr.step(shape, *batch))

    def answer(outputs: dict[str, Any]) -> NDArray[Any]:
        names = [f"{what}{k}" for what in ("weights", "momentum") for k in range(shape.blocks)]
        return np.concatenate([np.array(outputs[name][: shape.width]) for name in names])

    return ExampleProgram("helr", "f1-helr", helr.helr, example, answer, None, "table3.helr")


def _country_lookup() -> ExampleProgram:
    shape = country_lookup.Shape()

    def example(generator: np.random.Generator) -> tuple[Inputs, NDArray[Any]]:
        table = country_lookup.countries()
        query = str(generator.choice([*(name for name, _ in table), "atlantis"]))
        value = dict(table).get(query, "")
        return country_lookup.packed(shape, query, table), country_lookup.repeated(value, shape)

    def answer(outputs: dict[str, Any]) -> NDArray[Any]:
        return np.array(outputs["found"])

    return ExampleProgram(
        "country-lookup", "f1-db-lookup", country_lookup.country_lookup, example, answer, 0, "table3.db"
    )


PROGRAMS = {
    program.name: program
    for program in (
        _mnist(False),
        _mnist(True),
        _helr(),
        _country_lookup(),
        _cifar("lola-cifar", lola_cifar.Shape(), "table3.lola_cifar"),
        _cifar("lola-cifar-reduced", lola_cifar.Shape(second_maps=2), None),
    )
}
"""By name."""
