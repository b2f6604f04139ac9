"""Do sets with block-binary keys decrypt to what Python computes, have 128 bits, and stay apart from uniform ones?"""

from __future__ import annotations

import json
import random
from pathlib import Path

import polyfabric as pf
import pytest
from polyfabric import _native
from polyfabric.apps.programs import planned
from polyfabric.schemes.options import PlanOptions

SETS = [name for name in _native.default_parameter_names() if _native.TfheParameters.named(name).block > 1]
HEAVY = ("polyfabric-5-p136-t64-block3", "polyfabric-6-p136-t64-block3")
TOY = "toy-256-block3"


def test_every_default_kind_has_a_set_of_128_bits() -> None:
    assert {name.split("-p136")[0] for name in SETS if "p136" in name} == {f"polyfabric-{bits}" for bits in range(2, 7)}
    assert sum("integers" in name for name in SETS) == 2
    for name in SETS:
        parameters = _native.TfheParameters.named(name)
        assert parameters.block == 3
        assert parameters.security_bits >= 128
        assert parameters.estimated_bits is not None
        assert parameters.estimated_bits >= 128
        assert parameters.security_warning is None


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.full] * (name in HEAVY)) for name in SETS])
def test_random_inputs_decrypt(name: str) -> None:
    bits = int(name.split("-")[2 if "integers" in name else 1])
    values = random.choices(range(2**bits), k=2**bits)
    table = random.choices(range(2**bits), k=2**bits)

    @pf.program(x=pf.Int(0, 2**bits - 1).vector(4))
    def looked_up(x):
        return pf.lookup(x, table)

    given = random.choices(values, k=4)
    done = looked_up.run(x=given, parameters=name)
    assert list(done.value) == [table[value] for value in given]
    assert done.plan.unroll == 3


def test_the_default_is_uniform_and_the_option_chooses_blocks() -> None:
    @pf.program(x=pf.UInt(8), y=pf.UInt(8))
    def product(x, y):
        return x * y + 7

    assert product.plan().parameters.block == 1
    assert product.plan(secret="uniform").parameters.block == 1
    x, y = random.randrange(256), random.randrange(256)
    done = product.run(x=x, y=y, secret="block-binary")
    assert done.plan.parameters.block == 3
    assert done.value == (x * y + 7) % 256
    assert product.cost(secret="block-binary").to_dict()["parameters"] == done.plan.parameters.name


@pf.program(x=pf.Int(0, 1).vector(3))
def flipped(x):
    """A lookup that the toy sets carry."""
    return 1 - x * x


ACCEPTED = {"max_failure": 0.0}


def test_every_place_takes_blocks() -> None:
    for on in ("cpu", "interpreter"):
        done = flipped.run(x=[0, 1, 0], on=on, parameters=TOY, **ACCEPTED)
        assert list(done.value) == [1, 0, 1]
        assert done.plan.unroll == 3
    # One bit a step: no machine multiplies by a monomial in the transform domain.
    done = flipped.run(x=[0, 1, 0], on="morphling", parameters=TOY, widths="derived", **ACCEPTED)
    assert list(done.value) == [1, 0, 1]
    assert done.plan.unroll == 1


def test_params_shows_the_blocks(polyfabric) -> None:
    shown = json.loads(polyfabric("params", SETS[0], "--json").out)
    assert shown["secret"] == {"block": 3}
    assert polyfabric("params", SETS[0]).status == 0
    n = shown["lwe_dimension"]
    assert f"{n // 3}·3" in polyfabric("params").out


def test_options_that_contradict_each_other_are_refused() -> None:
    for options in (
        {"secret": "blocks"},
        {"secret": "uniform", "parameters": TOY},
        {"secret": "block-binary", "parameters": "toy-256"},
        {"secret": "block-binary", "unroll": 2},
        {"secret": "block-binary", "on": "morphling"},
        {"unroll": 2, "parameters": TOY},
        {"unroll": 3},
    ):
        with pytest.raises(pf.errors.Error):
            flipped.plan(**ACCEPTED, **options)

    @pf.program(x=pf.Real.vector(4))
    def on_slots(x):
        return x * x

    with pytest.raises(pf.errors.InputError):
        on_slots.plan(secret="block-binary")
    with pytest.raises(pf.errors.Error):
        planned("pbs", PlanOptions(parameters=TOY, unroll=4, max_failure=0.0))


def test_keys_of_both_kinds_are_told_apart(tmp_path: Path) -> None:
    clients = {name: pf.Client(pf.Specification.of(flipped, name), security=0) for name in (TOY, "toy-256")}
    for name, other in ((TOY, "toy-256"), ("toy-256", TOY)):
        pf.Server(flipped, clients[name].evaluation_key, parameters=name)
        with pytest.raises(pf.errors.ParameterError):
            pf.Server(flipped, clients[other].evaluation_key, parameters=name)
    keys = flipped.keygen(TOY)
    keys.save(tmp_path)
    again = pf.Keys.load(tmp_path)
    assert list(flipped.run(x=[1, 1, 0], keys=again, **ACCEPTED).value) == [0, 0, 1]
    for file in sorted(tmp_path.iterdir()):
        whole = file.read_bytes()
        file.write_bytes(whole[:300] + bytes([whole[300] ^ 1]) + whole[301:])
        with pytest.raises(pf.errors.FileError):
            pf.Keys.load(tmp_path)
        file.write_bytes(whole)
