"""A pickled program stays the same program; other pickles are refused."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.accelerators import machine as accelerators
from rejects import rejects
from values import expect_close


@pf.program(x=pf.UInt(8).vector(3), word=pf.Text(4), few=pf.Int(-3, 3))
def elements(x: pf.Value, word: pf.Text, few: pf.Value) -> dict[str, Any]:
    """Values of every kind of TFHE type."""
    return {"most": pf.max(x), "equal": word == "abcd", "less": few - 1}


@pf.program(x=pf.Real.vector(4).bounded(2))
def reals(x: pf.Value) -> pf.Value:
    """The step of this polynomial to [-1, 1] is written into the program."""
    return pf.chebyshev(x[1:] + x[1:], np.tanh, 7, (-3, 3))


@pf.program(x=pf.Mod(65537).matrix(2, 3))
def residues(x: pf.Value) -> pf.Value:
    return x * x


GIVEN: list[tuple[pf.Program, dict[str, Any]]] = [
    (elements, {"x": [1, 200, 3], "word": "abcd", "few": -2}),
    (reals, {"x": [2.0, 0.5, -1.5, 1.0]}),
    (residues, {"x": [[1, 2, 3], [4, 5, 60000]]}),
]
KINDS = pytest.mark.parametrize(("program", "inputs"), GIVEN, ids=[program.name for program, _ in GIVEN])


def ran(program: pf.Program, inputs: Mapping[str, Any]) -> tuple[bool, dict[str, Any]]:
    """In another process."""
    result = program.run(inputs)
    return result.correct, result.expected


@KINDS
def test_a_pickled_program_is_the_same(program: pf.Program, inputs: dict[str, Any]) -> None:
    again = pickle.loads(pickle.dumps(program))
    assert type(again) is type(program)
    assert (again.text(), again.__doc__) == (program.text(), program.__doc__)
    assert (again.inputs, again.outputs) == (program.inputs, program.outputs)
    # A program evaluates its function as it is written, and a pickled one is evaluated as it is lowered.
    expect_close(again.clear(inputs), program.clear(inputs), atol=1e-12)
    assert again.plan().parameters.name == program.plan().parameters.name
    if program.kind == "slots":
        assert again.mapped == program.mapped
    assert copy.copy(program) is copy.deepcopy(program) is program


def test_what_leaves_a_polynomials_interval_is_refused_of_a_pickled_program_too() -> None:
    assert reals.mapped, "the pickle has it in addition to the text, whose operand is in [-1, 1]"
    for program in (reals, pickle.loads(pickle.dumps(reals))):
        with pytest.raises(pf.errors.InputError, match=r"interval"):
            program.run({"x": [0, 0, 2.0, 0]})


def test_programs_go_to_other_processes() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        for correct, expected in pool.map(ran, *zip(*GIVEN[:1], strict=True)):
            assert correct
            assert expected == {"most": 200, "equal": 1, "less": -3}


@pytest.mark.parametrize(
    ("program", "changed", "cause"),
    [
        (elements, {"text": "program"}, "expected"),
        (elements, {"text": 5}, "int"),
        (elements, {"doc": None}, "its documentation"),
        (elements, {"shapes": {"scalars": ["x"], "integers": {}}}, "single number"),
        (elements, {"shapes": {}}, "scalars"),
        (reals, {"shapes": reals.shapes.to_dict() | {"inputs": {}}}, "inputs"),
        (reals, {"shapes": reals.shapes.to_dict() | {"outputs": {}}}, "outputs"),
        (reals, {"text": residues.text()}, "type of the program"),
        (reals, {"mapped": {"0": (1, 2.0, 3.0, 4)}}, "a node"),
        (reals, {"mapped": {0: (1, 2.0)}}, "values to unpack"),
    ],
)
def test_invalid_pickles_are_rejected(program: pf.Program, changed: dict[str, Any], cause: str) -> None:
    restore, (kind, data) = program.__reduce__()
    with pytest.raises(pickle.UnpicklingError, match=rf"program.*{cause}"):
        restore(kind, data | changed)


@KINDS
def test_a_pickled_specification_is_the_same(program: pf.Program, inputs: dict[str, Any]) -> None:
    specification = pf.Specification.of(program)
    for again in (pickle.loads(pickle.dumps(specification)), copy.deepcopy(specification)):
        assert again.to_bytes() == specification.to_bytes()
    # One that has been used is as one that has not.
    pf.Client(specification)
    again = pickle.loads(pickle.dumps(specification))
    assert pf.Client(again).encrypt(inputs).parts.keys() == inputs.keys()


def test_unpicklable_objects_name_a_remedy() -> None:
    @pf.program(x=pf.Int(0, 3))
    def small(x: pf.Value) -> pf.Value:
        return pf.lookup(x, [1, 2, 3, 0])

    result = small.run({"x": 2}, parameters="toy-256", max_failure=0)
    keys = pf.Keys.generate("toy-256")
    specification = pf.Specification.of(small, "toy-256", public=True)
    client = pf.Client(specification, security=0)
    for value, remedy in (
        (client, r"client\.save\(path\)"),
        (pf.Encryptor(specification, client.public_key, security=0), "send the public key"),
        (
            pf.Server(small, client.evaluation_key, parameters="toy-256", public=True),
            "send the program and the evaluation key",
        ),
        (small.plan(), "pickle its program"),
        (result, "pickle its outputs"),
        (keys, r"keys\.save\(folder\)"),
        (pf.load_machine(accelerators.names()[0]), r"pf\.load_machine"),
    ):
        with pytest.raises(TypeError, match=rf"(does|do) not pickle; .*{remedy}"):
            pickle.dumps(value)
    assert pickle.loads(pickle.dumps(result.outputs)) == {"result": 3}
    assert pickle.loads(pickle.dumps(result.to_dict())) == result.to_dict()


@pytest.mark.parametrize("kind", [pf.UInt(8), pf.Int(0, 7).vector(2), pf.Text(4), pf.Real, pf.Mod(65537).matrix(2, 3)])
def test_a_value_of_a_program_is_copied_but_not_pickled(kind: Any) -> None:
    program = pf.program(x=kind)(lambda x: [*copy.deepcopy({"x": x}).values(), copy.copy(x)][0])
    assert kind.takes(program.outputs["result"])
    with rejects(pf.errors.ProgramError, "test_pickled.py"):
        pf.program(x=kind)(lambda x: pickle.loads(pickle.dumps(x)))
