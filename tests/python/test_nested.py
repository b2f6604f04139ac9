"""A program called with encrypted values becomes a part of the calling program."""

from __future__ import annotations

import numpy as np
import polyfabric as pf
import pytest


@pf.program(x=pf.UInt(8).vector(3))
def summary(x: pf.Value) -> dict[str, pf.Value]:
    """The greatest of three, and all of them in order."""
    return {"most": pf.max(x), "sorted": pf.sort(x)}


@pf.program(x=pf.Real.vector(4), y=pf.Real.vector(4))
def moments(x: pf.Value, y: pf.Value) -> tuple[pf.Value, pf.Value]:
    """Of two series."""
    return x.mean(), pf.dot(x, y)


def test_its_outputs_are_values_of_the_program_that_calls_it() -> None:
    @pf.program(x=pf.UInt(8).vector(3), y=pf.UInt(8).vector(3))
    def both(x: pf.Value, y: pf.Value) -> dict[str, pf.Value]:
        one, other = summary(x=x), summary(x=y)
        return {"most": pf.max(one["most"], other["most"]), "middle": one["sorted"][1] + other["sorted"][1]}

    given = {"x": [3, 9, 200], "y": [7, 1, 5]}
    assert both.clear(**given) == {"most": 200, "middle": 14}
    assert both.run(given).value["most"] == 200
    # In the clear it is what it was.
    assert summary.clear(x=[3, 9, 2]) == {"most": 9, "sorted": [2, 3, 9]}


def test_public_numbers_are_accepted_next_to_encrypted_ones_and_bounds_may_differ() -> None:
    program = pf.program(x=pf.Real.bounded(2).vector(4))(lambda x: moments(x=x, y=np.arange(4))[1])
    assert program.run({"x": [2, 1, 0.5, -1]}).correct
    assert program.clear(x=[2, 1, 0.5, -1]) == pytest.approx(1 + 1 - 3)
