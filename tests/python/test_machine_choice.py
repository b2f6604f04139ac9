"""A program of wide integers without a named set runs on every machine of TFHE, or the refusal says which option to pass."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from pathlib import Path

import numpy as np
import polyfabric as pf
import pytest
from calls import Finished
from rejects import rejects

MACHINES = [machine.name for machine in pf.machines() if not machine.on_slots]

PROGRAMS = {
    "sum": pf.program("sum", x=pf.UInt(8), y=pf.UInt(8))(lambda x, y: x + y),
    "product": pf.program("product", x=pf.UInt(16), y=pf.UInt(16))(lambda x, y: x * y),
    "comparison": pf.program("comparison", x=pf.UInt(16), y=pf.UInt(16))(lambda x, y: x < y),
    "quotient": pf.program("quotient", x=pf.UInt(8), y=pf.UInt(8))(lambda x, y: x // y),
}

ADVICE = re.compile(r'parameters="([^"]+)", max_failure=(\S+) \(--params \1 --max-failure \2\)')


def refused(program: pf.Program, machine: str) -> str | None:
    """Why a program does not run on a machine without more words."""
    try:
        program.simulate(machine)
    except pf.errors.NoiseError as error:
        return str(error)
    return None


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_rejected_code_runs_with_the_messages_remedy(name: str, machine: str) -> None:
    program = PROGRAMS[name]
    refusal = refused(program, machine)
    if refusal is None:
        return
    advised = ADVICE.search(refusal)
    assert advised is not None, refusal
    parameters, failure = advised[1], float(advised[2])
    report = program.simulate(machine, parameters=parameters, max_failure=failure)
    assert report["parameters"] == parameters
    assert report["seconds"] > 0
    # This is the smallest value that must be accepted.
    with pytest.raises(pf.errors.NoiseError):
        program.simulate(machine, parameters=parameters, max_failure=failure - 0.2)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_set_that_is_chosen_is_one_that_the_machine_maps(machine: str) -> None:
    for program in PROGRAMS.values():
        assert program.simulate(machine, max_failure=0)["seconds"] > 0


ON_SLOTS = [machine.name for machine in pf.machines() if machine.on_slots]


@pytest.mark.parametrize("machine", ON_SLOTS)
def test_a_machine_of_slots_refuses_integers_by_its_family(machine: str) -> None:
    with rejects(pf.errors.MachineError, machine, "sum", *MACHINES):
        PROGRAMS["sum"].simulate(machine)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_machine_of_tfhe_refuses_reals_by_its_family(machine: str) -> None:
    square = pf.program("square", x=pf.Real.vector(8))(lambda x: x * x)
    with rejects(pf.errors.MachineError, machine, "square", *ON_SLOTS):
        square.simulate(machine)


@pf.program(x=pf.Real.vector(8))
def square(x: pf.Value) -> pf.Value:
    return x * x


@pf.program(x=pf.Real.vector(16).bounded(4))
def affine(x: pf.Value) -> pf.Value:
    return pf.dot([0.25] * 16, x) + 1.5


@pf.program(x=pf.Real.vector(30))
def logistic(x: pf.Value) -> pf.Value:
    return pf.chebyshev(pf.dot(np.linspace(-1, 1, 30), x), np.tanh, 15, (-8, 8))


@pytest.mark.parametrize("program", [square, affine, logistic], ids=lambda program: program.name)
@pytest.mark.parametrize("machine", ON_SLOTS)
def test_a_program_of_reals_that_names_no_set_gets_one_of_128_bits(program: pf.Program, machine: str) -> None:
    plan = program.plan(on=machine)
    assert plan.parameter_figures["security_bits"] >= 128
    magnitudes = [node["magnitude"] for node in plan.facts["nodes"] if node["op"] == "output"]
    # By its bound a thousandth of the numbers, or less.
    assert plan.bounds()["result"] <= magnitudes[0] / 1000
    report = program.simulate(machine)
    assert (report["parameters"], report["seconds"] > 0) == (plan.parameters.name, True)


@pytest.mark.parametrize("machine", ON_SLOTS)
def test_it_runs_there_with_that_set(machine: str) -> None:
    done = square.run({"x": np.linspace(-1, 1, 8)}, on=machine)
    assert done.correct
    assert done.parameters == square.simulate(machine)["parameters"]


@pytest.mark.filterwarnings("ignore::polyfabric.errors.SecurityWarning")
def test_sets_of_fewer_bits_are_named_not_chosen() -> None:
    deep = pf.program("deep", x=pf.Real.vector(8))(lambda x: reduce(lambda y, _: y * y, range(16), x))
    with rejects(pf.errors.ParameterError, "128") as refusal:
        deep.simulate("f1")
    advised = re.findall(r"(\S+) \(-?[\d.]+ bits of security\)", str(refusal.value))
    assert advised, refusal.value
    for name in advised:
        assert deep.simulate("f1", parameters=name)["seconds"] > 0


@pytest.mark.parametrize("machine", ON_SLOTS)
def test_programs_beyond_every_set_ask_for_a_custom_set(machine: str) -> None:
    deep = pf.program("deep", x=pf.Real.vector(8))(lambda x: reduce(lambda y, _: y * y, range(40), x))
    with rejects(pf.Error, "deep"):
        deep.simulate(machine)


def test_the_command_line_takes_the_advice(polyfabric: Callable[..., Finished], tmp_path: Path) -> None:
    (tmp_path / "sum.py").write_text(
        "import polyfabric as pf\n\n\n@pf.program(x=pf.UInt(8), y=pf.UInt(8))\ndef added(x, y):\n    return x + y\n"
    )
    simulate = ("simulate", "sum.py:added", "--on", MACHINES[0])
    refusal = polyfabric(*simulate)
    advised = re.search(r"\((--params \S+ --max-failure \S+)\)", refusal.err)
    assert refusal.status == 2
    assert advised is not None, refusal.err
    taken = polyfabric(*simulate, *advised[1].split())
    assert taken.status == 0, taken.err


@pytest.mark.parametrize("failure", [5, 0.5, float("nan")])
def test_no_probability_is_more_than_one(failure: float) -> None:
    with rejects(pf.errors.InputError, "0", "-40"):
        PROGRAMS["sum"].simulate(MACHINES[0], max_failure=failure)


def test_the_reason_for_no_key_switch_is_reported_once(polyfabric: Callable[..., Finished]) -> None:
    refused = polyfabric("simulate", "bgv-bootstrapping", "--on", "osiris", "--max-failure", "-54")
    assert refused.status == 2
    assert refused.err.count("run the program on the processor") == 1
    matched = re.search(r"So it is with the key switches (.*?)((?:; (?:listing1|d\d+): .*)+)", refused.err)
    assert matched is not None, refused.err
    mapped, others = set(matched[1].split(", ")), set(re.findall(r"; (listing1|d\d+): ", matched[2]))
    assert mapped
    assert others
    assert not mapped & others
