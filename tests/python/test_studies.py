"""Machines, parameter sets, comparisons and sweeps in Python, as on the command line."""

from __future__ import annotations

import json

import polyfabric as pf
import pytest
from polyfabric.apps.programs import MICROBENCHMARK_BATCH, microbenchmark


@pf.program(x=pf.Int(0, 1))
def flipped(x: pf.Value) -> pf.Value:
    return 1 - x


def test_machines_and_parameter_sets_are_those_of_the_command_line(polyfabric) -> None:
    assert [m.to_dict() for m in pf.machines()] == json.loads(polyfabric("machines", "--json").out)
    for scheme in ("tfhe", "ckks", "bgv"):
        sets = pf.parameter_sets(scheme)
        assert {own.scheme for own in sets} == {scheme}
        assert [own.to_dict() for own in sets] == json.loads(polyfabric("params", "--scheme", scheme, "--json").out)
    assert {own.name for own in pf.parameter_sets("tfhe", toys=True)} > {own.name for own in pf.parameter_sets("tfhe")}
    with pytest.raises(pf.errors.InputError, match=r"ckks"):
        pf.parameter_sets("ckk")


def test_a_program_of_python_is_compared_too() -> None:
    report = pf.compare(flipped, ["fpt", "morphling"], parameters="toy-256")
    assert report["program"] == "flipped"
    assert [row["machine"] for row in report["machines"]] == ["fpt", "morphling"]


def test_a_mapping_of_axes_combines_each_figure_with_each() -> None:
    key = "units.cluster.count"
    report = pf.explore("f1", {key: [8, 16]}, ["ntt@12"], jobs=1)
    assert [point["values"][key] for point in report["points"]] == [16, 8]
    together = [{key: [8, 16], "units.cluster.crossbar_ports": [1, 1]}]
    with pytest.raises(pf.errors.InputError, match=r"crossbar_ports"):
        pf.explore("f1", together, ["ntt@12"], jobs=1)


def test_a_loaded_machine_is_explored_with_its_readings() -> None:
    key = "units.cluster.count"
    for reading in ("crossbar=several", "crossbar=one"):
        machine = pf.load_machine("f1", [reading])
        report = pf.explore(machine, {key: [8]}, ["ntt@12"], jobs=1)
        kernel = microbenchmark("ntt", "12", MICROBENCHMARK_BATCH, machine)
        assert report["points"][0]["seconds"]["ntt@12"] == machine.simulate(kernel).to_dict()["seconds"]
    with pytest.raises(pf.errors.InputError, match=r"f1"):
        pf.explore(machine.varied(units__cluster__count=8), {key: [8]}, ["ntt@12"], jobs=1)


def test_the_function_reproduce_hides_its_package() -> None:
    from polyfabric.papers import PAPERS

    assert callable(pf.reproduce)
    with pytest.raises(pf.errors.MachineError, match=PAPERS[0]):
        pf.reproduce("nobody")


@pytest.mark.parametrize(
    "call",
    [
        lambda: pf.compare(None),
        lambda: pf.compare(lambda x: x),
        lambda: pf.compare("pbs", "morphling"),
        lambda: pf.compare("pbs", ["morphling"], widths="x"),
        lambda: pf.explore("morphling", "units.xpu.count"),
        lambda: pf.explore("morphling", {"units.xpu.count": 4}),
        lambda: pf.explore("morphling", {"units.xpu.count": [1, 2]}, "pbs"),
    ],
)
def test_operands_of_other_types_are_refused(call) -> None:
    with pytest.raises(pf.errors.InputError):
        call()
