"""Types of inputs from annotations, which are strings here, and public numbers in sums."""

from __future__ import annotations

from typing import Any

import polyfabric as pf
import pytest
from rejects import rejects

SMALL = pf.Int(0, 5)


@pf.program()
def typed(x: pf.UInt(8), y: SMALL, scale: int = 2) -> pf.Value:
    return x + y * scale


def test_annotations_are_the_types_of_inputs() -> None:
    assert {name: repr(kind) for name, kind in typed.inputs.items()} == {"x": "pf.UInt(8)", "y": "pf.Int(0, 5)"}
    assert typed.clear(x=7, y=5) == 17


def test_a_keyword_takes_precedence_and_order_is_that_of_the_parameters() -> None:
    @pf.program(y=SMALL)
    def mixed(x: pf.UInt(8), y: pf.UInt(8)) -> pf.Value:
        return x + y

    assert [repr(kind) for kind in mixed.inputs.values()] == ["pf.UInt(8)", "pf.Int(0, 5)"]
    assert list(mixed.inputs) == ["x", "y"]


def test_other_annotations_are_no_types() -> None:
    @pf.program(x=pf.UInt(8))
    def other(x: pf.Value, table: unknown = (1, 2)) -> Any:  # noqa: F821 - cannot be evaluated
        return x + table[0]

    assert list(other.inputs) == ["x"]
    for wrong, values in ((lambda x: x, ("'x'",)), (plain, ("'x'", "int", "pf.SInt(32)")), (inside, ("'x'",))):
        with rejects(pf.errors.ProgramError, *values):
            pf.program()(wrong)


def plain(x: int) -> int:
    return x


def inside(x: pf.Value) -> pf.Value:
    return x


def test_the_annotations_of_slots() -> None:
    @pf.program()
    def scaled(x: pf.Real.vector(4), y: pf.Real) -> pf.Value:
        return x * 0.5 + y

    assert scaled.scheme == "ckks"
    assert scaled.clear(x=[1, 0, -1, 0.5], y=0.25) == pytest.approx([0.75, 0.25, -0.25, 0.5])


def test_sums_with_public_numbers() -> None:
    def summed(x: Any, y: Any) -> Any:
        return pf.sum([x, 3, y]), pf.sum(1, x, 2, y), pf.sum([x, y])

    for kind in (pf.UInt(8), pf.Int(0, 100), pf.Mod(65537), pf.Real.bounded(100)):
        program = pf.program(x=kind, y=kind)(summed)
        assert program.clear(x=10, y=20) == pytest.approx((33, 33, 30))
    assert pf.program(x=pf.Bool, y=pf.Bool)(summed).clear(x=1, y=1) == (5, 5, 2)
    for wrong in ([1, 2], ["a", 1]):
        with pytest.raises(pf.errors.ProgramError):
            pf.program(x=pf.UInt(8))(lambda x, wrong=wrong: pf.sum(wrong))
