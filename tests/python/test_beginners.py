"""Calls that newcomers write have a result, or an error that names what to write instead."""

from __future__ import annotations

import json
import operator
import pickle
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.errors import InputError, MachineError, ProgramError
from rejects import rejects


@pytest.fixture(scope="module")
def result() -> Any:
    return pf.program("halved", x=pf.Int(0, 7))(lambda x: pf.lookup(x, lambda v: v // 2)).run(x=5)


@pytest.mark.parametrize(
    "use",
    [
        lambda r: r + 1,
        lambda r: 1 - r,
        lambda r: r["x"],
        lambda r: r[0],
        lambda r: r == 2,
        lambda r: r < 3,
        int,
        float,
        len,
        list,
        bool,
        operator.neg,
        np.asarray,
        lambda r: np.add(r, 1),
        lambda r: f"{r:>5}",
    ],
)
def test_a_result_used_as_a_value_names_its_value(result: Any, use: Any) -> None:
    with rejects(InputError, "halved", ".value"):
        use(result)


def test_results_are_compared_by_identity_and_printed(result: Any) -> None:
    assert result == result
    assert result in [result]
    assert len({result, result}) == 1
    assert result.value == 2
    assert str(result).startswith("2\n")
    assert f"{result}" == str(result)


def test_public_functions_pickle() -> None:
    for function in (pf.lookup, pf.max, pf.sum, pf.sort, pf.where, pf.load_machine, pf.models.from_sklearn):
        assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize(
    ("function", "values"),
    [
        (lambda x: np.take(np.arange(256), x[0]), ["pf.lookup(x, table)"]),
        (lambda x: [x[0], x[1]][x[2]], ["pf.lookup", "pf.concat"]),
        (lambda x: pf.max(x, axis=0), ["max", "axis="]),
        (lambda x: pf.sum(x, axis=0), ["sum", "axis="]),
        (lambda x: pf.lookup(x, lambda v: v % 4, result=pf.Text(3)), ["pf.Text(3)", "pf.UInt(8)"]),
        (lambda x: pf.lookup(x, lambda v: v % 4, result=pf.UInt(2).vector(3)), ["pf.UInt(2).vector(3)"]),
    ],
)
def test_calls_without_an_encrypted_form_name_one(function: Any, values: list[str]) -> None:
    with rejects(ProgramError, *values):
        pf.program(x=pf.UInt(8).vector(3))(function)


def test_an_encrypted_index_selects_among_encrypted_values_as_advised() -> None:
    chosen = pf.program(x=pf.UInt(4), i=pf.UInt(2))(lambda x, i: pf.concat(x, x + 1)[i])
    assert [chosen.clear(x=3, i=i) for i in range(3)] == [3, 4, 0]


def test_texts_change_case_and_are_not_joined_blindly() -> None:
    cased = pf.program(t=pf.Text(6))(lambda t: (t.upper(), t.lower(), t.upper()[1:3]))
    assert cased.clear(t="aZ{[ä") == ("AZ{[ä", "az{[ä", "Z{")
    with rejects(ProgramError, "concat", ".encode()"):
        pf.program(t=pf.Text(6))(lambda t: pf.concat(t, t))
    assert pf.program(t=pf.Text(2))(lambda t: t.upper()).clear(t="q") == "Q"


def test_a_clear_evaluation_warns_of_wrapped_values() -> None:
    added = pf.program(x=pf.UInt(8), y=pf.UInt(8))(lambda x, y: x + y)
    with pytest.warns(RuntimeWarning, match="300"):
        assert added.clear(x=200, y=100) == 44


def test_machines_are_named_in_any_case_and_by_scheme() -> None:
    program = pf.program("small", x=pf.Int(0, 3))(lambda x: pf.lookup(x, [3, 1, 2, 0]))
    assert program.simulate("Morphling")["machine"] == "morphling"
    fitting = [machine.name for machine in pf.machines() if not machine.on_slots]
    with rejects(MachineError, "small", "f1", *fitting):
        program.run(x=3, on="f1")


def test_a_cost_on_a_machine_is_that_of_its_schedule() -> None:
    program = pf.program("small", x=pf.Int(0, 3))(lambda x: pf.lookup(x, [3, 1, 2, 0]))
    simulated, cost = program.simulate("morphling"), program.cost(on="morphling")
    for name in ("machine", "parameters", "seconds", "energy_j"):
        assert cost[name] == simulated[name]
    assert "processor_seconds" not in cost
    assert "execute" not in cost["whole_run_seconds"]
    assert "morphling" in cost.table()
    for place in ("gpu", "interpreter"):
        with rejects(InputError, place, "--on"):
            program.cost(on=place)


@pytest.mark.full
def test_a_set_that_derived_widths_do_not_carry_is_replaced() -> None:
    """A random table of 8 bits: the cheapest set suffices with exact products, but not with the widths derived for it."""
    table = pf.program(x=pf.UInt(8))(lambda x: pf.lookup(x, [(7 * i + 3) % 256 for i in range(256)]))
    cost = table.cost(on="morphling", widths="derived")
    assert cost["noise"]["log2_failure"] <= -128


MINE = """
import polyfabric as pf

@pf.program(x=pf.Int(0, 3))
def small(x):
    return pf.lookup(x, [3, 1, 2, 0])
"""


def test_the_command_line_estimates_a_machine_and_takes_inputs(polyfabric: Any, tmp_path: Any) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    done = polyfabric("run", "mine.py:small", "--on", "morphling", "--cost", "--input", "x=2", "--json")
    assert done.status == 0, done.err
    assert json.loads(done.out)["machine"] == "morphling"
    done = polyfabric("run", "mine.py:small", "--cost", "--input", "x=9")
    assert done.status == 2
    assert "9" in done.err
    done = polyfabric("run", "mine.py:small", "x=3")
    assert done.status == 2
    assert "--input x=3" in " ".join(done.err.split())


def test_the_list_of_machines_has_their_schemes(polyfabric: Any) -> None:
    lines = {line.split()[0]: line for line in polyfabric("machines").out.splitlines() if line.split()}
    for machine in pf.machines():
        assert ("CKKS" if machine.on_slots else "TFHE") in lines[machine.name]


@pytest.mark.parametrize(
    "trace",
    [
        lambda name: pf.program(x=pf.UInt(8))(lambda x: {name: x}),
        lambda name: pf.program(name, x=pf.UInt(8))(lambda x: x),
        lambda name: pf.program(**{name: pf.UInt(8)})(lambda **inputs: inputs[name]),
    ],
)
@pytest.mark.parametrize("name", ["\udc80", "a b"])
def test_names_that_no_file_can_have_are_refused(trace: Any, name: str) -> None:
    with pytest.raises(ProgramError):
        trace(name)
