"""The reference of a CKKS or BGV result is independent of the program's rewriting."""

from __future__ import annotations

import pickle

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.language import slot_matrix, slot_parts
from polyfabric.language.slot_program import SlotProgram
from rejects import check

X = np.array([0.5, -0.25, 1.0, 0.125, 0.75, -1.0])


def first_is_last(value, start, stop):
    """A range that is one place off."""
    return RANGE(value, start - 1, stop - 1)


def unrepeated(value, count, step, length):
    """A vector that is not repeated for every row of a matrix."""
    return value._viewed(length, None, clean=True)


RANGE = slot_parts._range
WRONG = [
    (slot_parts, "_range", first_is_last, lambda x: x[1:4]),
    (slot_matrix, "repeated", unrepeated, lambda x: x.reshape(2, 3) @ x[:3]),
]


@pytest.mark.parametrize(("module", "what", "instead", "function"), WRONG)
def test_an_error_in_the_rewriting_is_not_correct(module, what, instead, function, monkeypatch):
    monkeypatch.setattr(SlotProgram, "reference_values", SlotProgram.reference_values.__wrapped__)
    right = pf.program("right", x=pf.Real.vector(6))(function)
    monkeypatch.setattr(module, what, instead)
    wrong = pf.program("wrong", x=pf.Real.vector(6))(function)
    assert right.run({"x": X}, parameters="toy-10").correct
    done = wrong.run({"x": X}, parameters="toy-10")
    assert (done.correct, done.verdict) == (False, {"result": "not within bound"})
    np.testing.assert_array_equal(done.expected["result"], function(X))
    # The clear twin of the program has the error as well.
    assert np.abs(wrong.native.evaluate(wrong.flatten({"x": X}))["result"][0][:2] - function(X)[:2]).max() > 0.1


@pytest.mark.parametrize("kind", [pf.Real.vector(6), pf.Mod(65537).vector(6)])
def test_a_program_without_its_function_is_compared_with_itself(kind):
    program = pf.program("tripled", x=kind)(lambda x: x * 3)
    x = X if kind.modulus is None else [1, 2, 3, 4, 5, 6]
    parameters = "toy-10" if kind.modulus is None else "bgv-toy-1024"
    for one, reference in ((program, "function"), (pickle.loads(pickle.dumps(program)), "program")):
        done = one.run({"x": x}, parameters=parameters)
        assert (done.correct, done.reference, done.to_dict()["reference"]) == (True, reference, reference)
        np.testing.assert_allclose(done.expected["result"], np.asarray(x) * 3)


def cubed(x):
    return pf.chebyshev(x * 2, lambda u: u**3, 7, (-0.5, 1.5))


@pytest.mark.parametrize("kind", [pf.Real.vector(3), pf.Real])
def test_values_outside_of_an_interval_are_rejected_in_the_clear_and_before_a_run(kind):
    program = pf.program("cubed", x=kind)(cubed)
    # Both ends are in the interval, and what rounding adds to them.
    for x in (-0.25, 0.75, 0.75 + 2.0**-23):
        given = x if kind.scalar else [0, 0.1, x]
        assert np.asarray(program.clear(x=given)).reshape(-1)[-1] == pytest.approx((2 * x) ** 3)
    for x in (-0.3, 0.8, np.inf):
        given = x if kind.scalar else [0, 0.1, x]
        found = []
        for method in (program.clear, lambda x: program.run(x=x, parameters="toy-10")):
            with pytest.raises(pf.errors.InputError) as error:
                method(x=given)
            found.append(str(error.value))
        if np.isfinite(x):
            place = f"test_slot_reference.py:{cubed.__code__.co_firstlineno + 1}:"
            for message in found:
                check(message, place, "-0.5", "1.5", str(2 * x), "0" if kind.scalar else "2")


def test_the_operand_of_a_sign_is_rejected_too():
    program = pf.program("signs", x=pf.Real.bounded(4).vector(2))(lambda x: pf.sign(x))
    np.testing.assert_allclose(program.clear(x=[0.5, -1.0]), [1, -1], atol=1e-3)
    with pytest.raises(pf.errors.InputError):
        program.clear(x=[0.5, -1.1])


def test_public_numbers_are_those_of_the_trace():
    factors, places = np.arange(6.0), [3, 0]
    program = pf.program(x=pf.Real.vector(6))(lambda x: (x * factors)[places])
    factors[:] = 0
    places[:] = [1, 1]
    assert program.clear(x=X) == program.shaped(program.reference_values(program.flatten({"x": X})))["result"]
    assert program.clear(x=X) == [0.375, 0.0]


def test_residues_of_any_modulus():
    """Products are beyond 64 bits."""
    t = (1 << 59) - 55
    a, x = np.array([[t - 1, t // 2], [3, t - 5]]), [t - 2, t // 3]
    program = pf.program(x=pf.Mod(t).vector(2), s=pf.Mod(t))(lambda x, s: (a @ x * s) ** 5 + s)
    given = {"x": x, "s": t - 7}
    exact = (a.astype(object) @ np.array(x, dtype=object) * (t - 7)) ** 5 - 7
    found = program.shaped(program.reference_values(program.flatten(given)))["result"]
    assert [value % t for value in found] == [value % t for value in exact]
