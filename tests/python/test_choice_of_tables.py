"""Is a table read by circuit bootstrapping where that is cheaper, by lookups where it must be, and do keys, files and servers follow the choice?"""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path

import polyfabric as pf
import pytest
from polyfabric.language.program import LOOKUPS, TABLES, WIDE, with_tables
from polyfabric.run import execution
from polyfabric.run.specification import Specification
from polyfabric.schemes import tfhe
from polyfabric.schemes.options import PlanOptions
from polyfabric.service.remote import RemoteServer

OWN, MIXED = "polyfabric-wide-t64", "polyfabric-wide-integers-t64"
LOOKED_UP = "polyfabric-4-p136-t64"

ENTRIES = random.sample(range(256), 256)


@pf.program(x=pf.UInt(8))
def table(x):
    return pf.lookup(x, ENTRIES)


@pytest.fixture(scope="module")
def keys() -> dict[str, pf.Keys]:
    """Keys for both ways, by set."""
    return {name: table.keygen(name) for name in (OWN, LOOKED_UP)}


def test_a_table_is_wide_by_default() -> None:
    x = random.randrange(256)
    done = table.run(x=x)
    assert done.value == ENTRIES[x] == table.clear(x=x)
    assert (done.plan.parameters.name, done.lookups) == (OWN, 8)
    assert done.plan.other.parameters.name == LOOKED_UP


def test_a_range_that_no_lookup_distinguishes_has_a_wide_table() -> None:
    @pf.program(x=pf.Int(-100, 155))
    def ranged(x):
        return pf.lookup(x, lambda value: value * value % 251)

    with pytest.raises(pf.errors.NoiseError):
        with_tables(ranged, LOOKUPS).plan()
    x = random.randrange(-100, 156)
    assert ranged.run(x=x).value == x * x % 251


def test_the_cheaper_way_is_taken() -> None:
    """Of a plan by itself and with each way named: multiplications and keys, as its documentation counts them."""
    u8, u4 = pf.UInt(8), pf.UInt(4)
    for operation, kinds, way in (
        (lambda x, y: x // y, (u8, u8), WIDE),
        (lambda x, y: pf.lookup(x, ENTRIES) + y, (u8, u8), WIDE),
        (lambda x, y: pf.lookup(x, ENTRIES[:16]) < y, (u4, u8), LOOKUPS),
        (lambda x, y: x * y, (u8, u8), LOOKUPS),
        (lambda x, y: x * y, (pf.UInt(32), pf.UInt(32)), LOOKUPS),
        (lambda x, y: pf.max(x, y), (u8, u8), LOOKUPS),
    ):
        program = pf.program(x=kinds[0], y=kinds[1])(operation)
        plan = program.plan()
        assert plan.way == way
        costs = []
        for tables in (WIDE, LOOKUPS):
            other = with_tables(program, tables).plan()
            costs.append(other.kernel.multiplications + 6 * other.memory["server_key"])
        assert plan.kernel.multiplications + 6 * plan.memory["server_key"] <= min(costs)


def test_places_without_circuit_bootstrapping_take_lookups() -> None:
    for options in (
        {"on": "gpu"},
        {"on": "morphling", "max_failure": 0.0},
        {"secret": "block-binary"},
        {"parameters": LOOKED_UP},
    ):
        assert table.plan(**options).way == LOOKUPS
    assert table.plan(OWN).way == WIDE
    assert table.plan(on="interpreter").way == WIDE
    assert table.simulate("morphling", max_failure=0.0).to_dict()["parameters"] not in (OWN, MIXED)


def test_the_memory_of_wide_tables_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quotients that fit the memory with lookups alone take them; without an option the limit is the same on every computer."""
    kind = pf.UInt(4).vector(200)
    many = pf.program(x=kind, y=kind)(lambda x, y: x // y)
    assert many.plan().way == WIDE
    plan = many.plan(memory="580M")
    assert (plan.way, plan.other.way) == (LOOKUPS, WIDE)
    assert plan.memory_bytes < 580 << 20 < plan.other.memory_bytes
    monkeypatch.setattr(tfhe, "WIDE_BYTES", 580 << 20)
    assert many.plan().way == LOOKUPS


def test_keys_decide(keys: dict[str, pf.Keys]) -> None:
    x = random.randrange(256)
    for name, own in keys.items():
        done = table.run(x=x, keys=own)
        assert (done.value, done.plan.parameters.name) == (ENTRIES[x], name)
        request = table.encrypt(own, x=x)
        assert table.decrypt(own, table.execute(own.evaluation_key, request)) == ENTRIES[x]
    with pytest.raises(pf.errors.InputError):
        table.run(x=x, keys=keys[OWN], on="gpu")
    with pytest.raises(pf.errors.Error):
        table.run(x=x, keys=keys[OWN], on="morphling")


def test_inputs_of_both_forms_are_encrypted_in_their_own() -> None:
    """An input with a range is one ciphertext for lookups, and digits for a wide table."""

    @pf.program(x=pf.Int(0, 31))
    def ranged(x):
        return pf.lookup(x, ENTRIES[:32])

    x = random.randrange(32)
    for parameters in (OWN, "polyfabric-5-p136-t64"):
        own = ranged.keygen(parameters)
        assert ranged.decrypt(own, ranged.execute(own.evaluation_key, ranged.encrypt(own, x=x))) == ENTRIES[x]


def test_client_and_server_agree_without_naming_a_set(keys: dict[str, pf.Keys]) -> None:
    for program, name in ((table, OWN), (with_tables(table, LOOKUPS), LOOKED_UP)):
        specification = Specification.from_bytes(pf.Specification.of(program).to_bytes())
        assert specification.context.parameters.name == name
    client = pf.Client(pf.Specification.of(table))
    server = pf.Server(table, client.evaluation_key)
    x = random.randrange(256)
    assert client.decrypt(server.execute(client.encrypt(x=x))) == ENTRIES[x]
    with pytest.raises(pf.errors.ParameterError):
        pf.Server(table, keys[LOOKED_UP].evaluation_key)
    # A client that has the program compares it with the form that the server's operator chose.
    remote = RemoteServer("http://127.0.0.1:9", "token")
    for parameters in (LOOKED_UP, OWN):
        specification = pf.Specification.of(table, parameters)
        assert remote._expect_same(table, specification).program.native.has_wide_tables == (parameters == OWN)
        remote._plans.clear()


@pytest.mark.parametrize("tables", ["auto", *(pytest.param(tables, marks=pytest.mark.full) for tables in TABLES[1:])])
def test_steps_through_files_follow_the_keys(tables: str, tmp_path: Path, polyfabric) -> None:
    file = tmp_path / "own.py"
    file.write_text(
        f"import polyfabric as pf\n\n@pf.program(x=pf.UInt(4))\ndef own(x):\n    return pf.lookup(x, {ENTRIES[:16]})\n"
    )
    step = ["run", f"{file}:own", "--keys", str(tmp_path / tables), "--step"]
    assert polyfabric(*step, "keys", "--tables", tables).status == 0
    # Without the option the keys' set says it.
    assert polyfabric(*step, "encrypt", "--input", "x=9").status == 0
    assert polyfabric(*step, "execute").status == 0
    done = json.loads(polyfabric(*step, "decrypt", "--json").out)
    assert (done["outputs"]["result"], done["correct"]) == (ENTRIES[9], True)
    if tables != LOOKUPS:
        assert polyfabric(*step, "execute", "--on", "gpu").status == 2


def test_options_that_do_not_fit_the_keys_are_no_fault_of_the_files(keys: dict[str, pf.Keys], tmp_path: Path) -> None:
    for name, own in keys.items():
        own.save(tmp_path / name)
        table.in_folder(tmp_path / name).encrypt({"x": 9})
        with pytest.raises(pf.errors.InputError):
            table.in_folder(tmp_path / name, secret="block-binary").execute()


def test_pickles_and_copies_have_both_forms() -> None:
    x = [random.randrange(256) for _ in range(2)]
    copies = table.in_batches(2, scheme="tfhe")
    for program in (pickle.loads(pickle.dumps(table)), copies, pickle.loads(pickle.dumps(copies))):
        assert program.plan().way == WIDE
        assert program.plan(LOOKED_UP).way == LOOKUPS
    assert copies.run(x=x).value == [ENTRIES[value] for value in x]


def test_the_cost_has_both_ways(polyfabric, tmp_path: Path) -> None:
    cost = table.cost().to_dict()["tables"]
    assert cost["chosen"] == WIDE
    assert cost[WIDE]["lookups"] == 8
    assert cost[WIDE]["processor_seconds"] < cost[LOOKUPS]["processor_seconds"]
    assert cost[WIDE]["server_key_bytes"] > cost[LOOKUPS]["server_key_bytes"]
    assert "tables" not in with_tables(table, LOOKUPS).cost().to_dict()
    assert "tables" not in table.cost(on="morphling", max_failure=0.0).to_dict()
    file = tmp_path / "own.py"
    file.write_text(
        "import polyfabric as pf\n\n@pf.program(x=pf.UInt(8))\ndef own(x):\n    return pf.lookup(x, list(range(255, -1, -1)))\n"
    )
    found = json.loads(polyfabric("run", f"{file}:own", "--tables", "lookups", "--cost", "--json").out)
    assert found["parameters"] == LOOKED_UP
    assert "tables" not in found
    shown = polyfabric("run", f"{file}:own", "--cost").out
    assert OWN in shown
    assert LOOKED_UP in shown


def test_a_form_that_does_not_plan_leaves_the_other() -> None:
    """More circuit privacy than wide tables leave room for, and more security than any set has."""
    for bits in range(1, 40):
        try:
            execution.make_plan(with_tables(table, WIDE), PlanOptions(circuit_privacy=bits))
        except pf.errors.NoiseError:
            break
    assert table.plan(circuit_privacy=bits).way == LOOKUPS
    with pytest.raises(pf.errors.ParameterError):
        table.plan(security=500)


def test_a_wide_table_that_no_output_needs_leaves_a_set_that_can_be_named() -> None:
    def limited(x):
        pow(x, 0, 11)
        return pf.relu(x)

    program = pf.program(x=pf.Int(-8, 12))(limited)
    done = program.run(x=7)
    assert done.value == 7
    assert program.run(x=-3, parameters=done.parameters, keys=done.keys).value == 0
