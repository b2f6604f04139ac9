"""Calls of a program: encrypted runs, evaluation in the clear, and the form of what they return."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from rejects import rejects
from values import expect_close


@pf.program(x=pf.Int(0, 3))
def one(x: pf.Value) -> pf.Value:
    return pf.lookup(x, [3, 2, 1, 0])


@pf.program(x=pf.Int(0, 3))
def several(x: pf.Value) -> tuple[pf.Value, pf.Value]:
    return pf.lookup(x, [3, 2, 1, 0]), x + 1


@pf.program(x=pf.Int(0, 3))
def named(x: pf.Value) -> dict[str, Any]:
    return {"turned": pf.lookup(x, [3, 2, 1, 0]), "more": [x, x + 1]}


@pf.program(x=pf.Real.vector(4))
def reals(x: pf.Value) -> tuple[pf.Value, pf.Value]:
    return x * 0.5, x.sum()


@pf.program(x=pf.Mod(65537).vector(4))
def residues(x: pf.Value) -> pf.Value:
    return x * x


@pf.program(on=pf.Int(0, 3), x=pf.Int(0, 3))
def shared(on: pf.Value, x: pf.Value) -> pf.Value:
    return pf.lookup(on, [1, 0, 3, 2]) + x


CASES = {
    "one": (one, {"x": 1}, 2),
    "several": (several, {"x": 1}, (2, 2)),
    "named": (named, {"x": 1}, {"turned": 2, "more": [1, 2]}),
    "reals": (reals, {"x": [1, 0.5, 0, -1]}, ([0.5, 0.25, 0, -0.5], 0.5)),
    "residues": (residues, {"x": [1, 2, 3, 4]}, [1, 4, 9, 16]),
}


@pytest.mark.parametrize("case", CASES)
def test_every_way_returns_what_the_function_returns(case: str) -> None:
    program, inputs, expected = CASES[case]
    atol = 1e-5 if case == "reals" else 0.0
    done = program.run(**inputs)
    client = pf.Client(pf.Specification.of(program))
    answer = pf.Server(program, client.evaluation_key).execute(client.encrypt(**inputs))
    for value in (program.clear(**inputs), program.clear(inputs), done.value, client.decrypt(answer)):
        expect_close(value, expected, atol)
    assert list(done.outputs) == list(program.outputs)
    # Names alone determine the form, which a program keeps without its function.
    expect_close(pickle.loads(pickle.dumps(program)).clear(inputs), expected, atol)
    parsed = type(program).parse(program.text()).clear({name: np.atleast_1d(value) for name, value in inputs.items()})
    assert type(parsed) is (list if not isinstance(expected, tuple | dict) else type(expected))


def test_a_call_with_plain_values_names_both_methods() -> None:
    for call in (lambda: one(x=3), lambda: one(3)):
        with rejects(pf.errors.InputError, "one.run(x=3)", "one.clear(x=3)"):
            call()
    with rejects(pf.errors.InputError, "one.run(x=..)", "one.clear(x=..)"):
        one()
    # An input with the name of an option is given in a dictionary.
    with rejects(pf.errors.InputError, "shared.run({'on': 1, 'x': 2})"):
        shared(on=1, x=2)
    assert not hasattr(one, "evaluate")


def test_a_program_within_another_returns_what_its_function_returns() -> None:
    @pf.program(x=pf.Int(0, 3))
    def outer(x: pf.Value) -> dict[str, pf.Value]:
        first, second = several(x=x)
        assert isinstance(one(x=x), pf.Value)
        return {"first": first, "second": second, "one": one(x=x), "named": named(x=x)["turned"]}

    assert outer.clear(x=1) == {"first": 2, "second": 2, "one": 2, "named": 2}


def test_inputs_are_given_in_one_way() -> None:
    client = pf.Client(pf.Specification.of(one))
    for call in (one.run, one.clear, client.encrypt):
        with rejects(pf.errors.InputError, "dictionary", "keywords"):
            call({"x": 1}, x=1)
        with rejects(pf.errors.InputError, "missing", "x=.."):
            call()
        with rejects(pf.errors.InputError, "'y'", "x"):
            call(y=1)
        with rejects(pf.errors.InputError, "x=.."):
            call(1)
    with rejects(pf.errors.InputError, "'thread'", "threads"):
        one.run(x=1, thread=2)


def test_an_input_with_the_name_of_an_option_is_given_in_a_dictionary() -> None:
    with rejects(pf.errors.InputError, "'on'", "option", "dictionary", "shared.run({'on': .., 'x': ..})"):
        shared.run(x=1, on="cpu")
    done = shared.run({"on": 2, "x": 1}, on="interpreter")
    assert (done.value, done.on) == (4, "interpreter")
    assert shared.clear(on=2, x=1) == 4


def test_a_result_shows_its_value_first() -> None:
    done = named.run(x=1)
    value, facts = repr(done).split("\n")
    assert eval(value) == done.value
    for fact in (done.program, done.on, done.parameters, "correct", "execute"):
        assert fact in facts


@pytest.mark.parametrize("case", ["named", "reals", "residues"])
def test_the_steps_in_memory(case: str) -> None:
    program, inputs, expected = CASES[case]
    atol = 1e-5 if case == "reals" else 0.0
    keys = program.keygen()
    request = pf.Ciphertexts.from_bytes(program.encrypt(keys, **inputs).to_bytes())
    key = pf.EvaluationKey.from_bytes(keys.evaluation_key.to_bytes())
    answer = pf.Ciphertexts.from_bytes(program.execute(key, request).to_bytes())
    expect_close(program.decrypt(keys, answer), expected, atol)
    # A server and a run take the same objects.
    expect_close(program.decrypt(keys, pf.Server(program, key).execute(request)), expected, atol)
    expect_close(program.run(inputs, keys=keys, on="interpreter").value, expected, atol)


def test_a_step_rejects_what_belongs_to_another() -> None:
    keys = one.keygen()
    request = one.encrypt(keys, {"x": 1})
    with rejects(pf.errors.InputError, "Keys", "keys.evaluation_key"):
        one.execute(keys, request)  # type: ignore[arg-type]
    with rejects(pf.errors.InputError, "inputs"):
        one.decrypt(keys, request)
    with rejects(pf.errors.InputError, "morphling", "run"):
        one.execute(keys.evaluation_key, request, on="morphling")
    with pytest.raises(pf.errors.FileError):
        one.execute(one.keygen().evaluation_key, request)
    promised = pf.program(x=pf.Int(0, 7))(lambda x: pf.lookup(x.assume(pf.Int(0, 3)), [3, 2, 1, 0]))
    with pytest.raises(pf.errors.InputError):
        promised.encrypt(promised.keygen(), x=7)
    with rejects(pf.errors.InputError, "one.keygen()", "one.encrypt(keys, x=3)"):
        one.encrypt(x=3)
