"""Osiris' programs have their meaning, and its bootstrapping is correct and timed."""

from __future__ import annotations

import json

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.accelerators.machine import load
from polyfabric.apps import osiris_programs
from polyfabric.apps.ckks_bootstrapping import ckks_bootstrapping
from polyfabric.errors import SecurityWarning
from polyfabric.papers import osiris
from polyfabric.run.execution import plan
from test_osiris_rows import REPORT, STAGES

REDUCED = "toy-12-boot-osiris"


def vector(slots, seed=0):
    generator = np.random.default_rng(seed)
    return generator.uniform(-0.7, 0.7, slots) + 1j * generator.uniform(-0.7, 0.7, slots)


def test_programs_of_bgv_run_with_modulus_switches():
    square = pf.program(x=pf.Mod(65537).vector(3))(lambda x: x * x)
    assert square.run({"x": [1, 2, 300]}, on="osiris").value == [1, 4, 300**2 % 65537]
    product = pf.program(a=pf.Mod(65537).matrix(2, 2))(lambda a: a @ a @ a)
    matrix = np.array([[3, 5], [70, 11]])
    done = product.run({"a": matrix.tolist()}, on="osiris")
    assert done.correct
    wanted = [[(int(word) + 32768) % 65537 - 32768 for word in row] for row in matrix @ matrix @ matrix]
    assert np.array_equal(np.array(done.value), wanted)
    levels = {node["level"] for node in done.plan.facts["nodes"]}
    assert len(levels) > 1


def test_every_slot_of_a_first_modulus_of_two_primes_is_bootstrapped():
    with pytest.warns(SecurityWarning):
        done = ckks_bootstrapping(REDUCED).run({"exhausted": vector(2048)}, parameters=REDUCED)
    assert done.correct
    assert done.error["refreshed"] < 2**-16
    assert done.plan.facts["nodes"][-1]["level"] == 8


@pytest.mark.parametrize("hoisting", ["none", pytest.param("double", marks=pytest.mark.full)])
def test_the_reduced_bootstrapping_is_scheduled(hoisting):
    """Tests of networks cover double hoisting on another set with half of the slots."""
    machine = load("osiris", [f"hoisting={hoisting}"])
    with pytest.warns(SecurityWarning):
        planned = plan(ckks_bootstrapping(REDUCED), REDUCED, machine=machine, key_switch="set", security=0)
    # Diagonals come as one limb of 40 bits: memory has nothing but inputs, outputs, keys and those.
    report = machine.simulate(planned).to_dict()
    assert report["lower_bound_cycles"] <= report["cycles"]
    assert report["traffic_bytes"]["inputs_outputs"] < 2**22


def test_steps_follow_the_bandwidth():
    def babies(*readings):
        machine = load("osiris", ["bandwidth=1TB", *readings])
        planned = plan(osiris_programs.mlp(), "osiris-I", machine=machine, key_switch="set", security=0)
        return len(planned.facts["keys"])

    assert babies("steps=rates") < babies("steps=products")


def test_a_set_without_bootstrapping_is_named():
    with pytest.raises(
        pf.errors.InputError, match="parameter set osiris-III has no levels for bootstrapping; name one with them"
    ):
        ckks_bootstrapping("osiris-III")


def test_lola_is_its_network_window_by_window():
    image, weights = np.random.default_rng(3).uniform(0, 1, (28, 28)), osiris_programs.LolaWeights.drawn()
    padded = np.pad(image, 1)
    maps = np.array(
        [
            [[(kernel[0] * padded[2 * y : 2 * y + 5, 2 * x : 2 * x + 5]).sum() for x in range(13)] for y in range(13)]
            for kernel in weights.kernels
        ]
    )
    squares = (maps + weights.biases[0][:, None, None]) ** 2
    hidden = weights.hidden[:, :, 1:14, 1:14].reshape(100, 845) @ squares.reshape(845) + weights.biases[1]
    done = osiris_programs.lola().run(osiris_programs.lola_image(image), parameters="osiris-I")
    assert np.count_nonzero(weights.hidden) == hidden.size * squares.size
    assert np.allclose(done.outputs["scores"], weights.scores @ hidden**2 + weights.biases[2], atol=2**-15)


def test_mlp_runs_at_full_size():
    done = osiris_programs.mlp().run({"image": np.random.default_rng(0).uniform(0, 1, 784)}, parameters="osiris-I")
    assert done.correct
    assert max(done.error.values()) < 2**-17
    assert len(done.outputs["scores"]) == 10


def test_a_machine_without_instructions_is_simulated(polyfabric):
    done = polyfabric("simulate", "multiply", "--on", "osiris", "--params", "12", "--json")
    assert done.status == 0, done.err
    assert json.loads(done.out)["cycles"] > 0


def test_key_switches_of_more_digits_than_cells_are_planned():
    # F1's set has 24 digits, and a column of the Hadamard unit has three cells.
    with pytest.warns(SecurityWarning):
        planned = plan(ckks_bootstrapping(), "f1-ckks-bootstrap", machine=load("osiris"), key_switch="auto")
    refused = {row["name"]: "refused" in row for row in planned.facts["key_switch"]["considered"]}
    assert refused["d24"] is False


def test_table_3_has_every_column_and_its_notes(monkeypatch):
    def timed(program, parameters, readings):
        if parameters == "osiris-bootstrap-13":
            raise pf.errors.MachineError("the scratchpad is full")
        facts = {"limb_operations": {"multiplies": 1000}, "parameters": {"ring_degree": 65536}}
        return {"key_switches": [{"key": "k", "count": 2}], **facts}, REPORT

    monkeypatch.setattr(osiris, "_timed", timed)
    monkeypatch.setattr(osiris.repeated_rounds, "simulated", lambda *_: STAGES)
    monkeypatch.setattr(osiris, "figure_11", list)
    monkeypatch.setattr(osiris.osiris_networks, "work", list)
    monkeypatch.setattr(osiris.osiris_networks, "ratios", list)
    rows = osiris.applications(None)
    found = {row["id"]: row["value"] for row in rows if row["beside"] is None}
    assert {
        f"table3a.{name}.{column}" for name in ("bootstrap", "mult", "mlp") for column in ("nh", "sh", "dh")
    } <= found.keys()
    assert found["table3b.bootstrap.dh"] == found["table3b.helr.dh"] == 1.0
    assert found["table3a.sorting.nh"] == 2.0
    assert found["section7.stalls.2"] == 50.0
    assert found["section7.gain.1"] == 1.0
    beside = [row for row in rows if row["beside"] is not None and row["beside"][0] == "Table III (a)"]
    failed = [row["beside"][1].partition(",")[0] for row in beside if row["value"] is None]
    assert failed == ["Bootstrap", "HELR-1024", "T_mult", "T_Mv:128"]
    assert {row["failure"] for row in beside if row["value"] is None} == {"the scratchpad is full"}
