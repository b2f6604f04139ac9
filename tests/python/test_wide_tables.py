"""Do wide tables decrypt to what Python's lists hold, alone and next to other operations, and are they refused elsewhere?"""

from __future__ import annotations

import json
import random
from pathlib import Path

import polyfabric as pf
import pytest
from polyfabric import _native

OWN, MIXED = "polyfabric-wide-t64", "polyfabric-wide-integers-t64"
ROOT = Path(__file__).resolve().parents[2]


def tables(bits: int, *, entry_bits: int = 8, length: int | None = None):
    """A program with a random table, and the table."""
    entries = [random.randrange(1 << entry_bits) for _ in range(1 << bits)]
    kind = pf.UInt(bits) if length is None else pf.UInt(bits).vector(length)

    @pf.program(tables="wide", x=kind)
    def looked_up(x):
        return pf.lookup(x, entries)

    return looked_up, entries


def test_the_sets_have_128_bits_and_are_for_wide_tables_alone(polyfabric) -> None:
    names = [
        name
        for name in _native.default_parameter_names()
        if "circuit" in json.loads(_native.TfheParameters.named(name).to_json())
    ]
    assert names == [OWN, MIXED]
    for name in names:
        parameters = _native.TfheParameters.named(name)
        assert parameters.security_bits >= 128
        assert parameters.estimated_bits >= 128
        assert parameters.security_warning is None
        assert polyfabric("params", name).status == 0

    @pf.program(tables="lookups", x=pf.UInt(8))
    def narrow(x):
        return pf.lookup(x, list(range(256)))

    assert narrow.plan().parameters.name not in names


@pytest.mark.parametrize("bits", [1, 5, 8, 10, 12])
def test_random_tables_decrypt(bits: int) -> None:
    program, entries = tables(bits)
    x = random.randrange(1 << bits)
    done = program.run(x=x)
    assert done.plan.parameters.name == OWN
    assert done.value == entries[x]
    assert done.lookups == bits


def test_entries_of_other_widths_and_vectors_decrypt() -> None:
    program, entries = tables(4, entry_bits=36, length=3)
    x = [random.randrange(16) for _ in range(3)]
    assert list(program.run(x=x).value) == [entries[value] for value in x]


def test_a_table_after_a_sum_and_a_comparison_after_a_table_decrypt() -> None:
    entries = random.sample(range(256), 256)

    @pf.program(tables="wide", x=pf.UInt(8), y=pf.UInt(8))
    def mixed(x, y):
        found = pf.lookup(x + y, entries)
        return {"found": found, "less": found < y, "chained": pf.lookup(found, entries)}

    x, y = random.randrange(256), random.randrange(256)
    done = mixed.run(x=x, y=y)
    assert done.plan.parameters.name == MIXED
    found = entries[(x + y) % 256]
    assert done.outputs == {"found": found, "less": found < y, "chained": entries[found]}


def test_signed_and_ranged_indices_decrypt() -> None:
    @pf.program(tables="wide", x=pf.SInt(6), y=pf.Int(0, 200))
    def ranged(x, y):
        return pf.lookup(x, lambda value: value * value), pf.lookup(y, lambda value: value // 3)

    x, y = random.randrange(-32, 32), random.randrange(201)
    assert list(ranged.run(x=x, y=y).outputs.values()) == [x * x, y // 3]


def test_operations_become_tables_where_the_program_is_cheaper_so() -> None:
    operations = {
        "//": (lambda x, y: divmod(x, y), 16),
        "**": (lambda x, y: x**3 ^ y**3, 16),
        "<<": (lambda x, y: (x << y) ^ (x >> y), 16),
        "*": (lambda x, y: pf.lookup(x * y, lambda product: product * 7 % 256), 24),
    }
    for operation, lookups in operations.values():
        program = pf.program(tables="wide", x=pf.UInt(8), y=pf.UInt(8))(operation)
        own = pf.program(tables="lookups", x=pf.UInt(8), y=pf.UInt(8))(operation)
        plan = program.plan()
        # Digits of exclusive ors take lookups too.
        assert lookups <= plan.kernel.lookups <= lookups + 8
        assert plan.parameters.name == OWN
        assert plan.kernel.multiplications < own.plan().kernel.multiplications
        given = [{"x": random.randrange(256), "y": random.randrange(256)} for _ in range(20)]
        assert [program.native.evaluate(program.flatten(one)) for one in given] == [
            own.native.evaluate(own.flatten(one)) for one in given
        ]
    # Next to other lookups, digits are cheaper; and so are they for comparisons.
    for operation in (lambda x, y: x * y + y, lambda x, y: pf.max(x, y)):
        program = pf.program(tables="wide", x=pf.UInt(8), y=pf.UInt(8))(operation)
        own = pf.program(tables="lookups", x=pf.UInt(8), y=pf.UInt(8))(operation)
        assert program.plan().kernel.multiplications == own.plan().kernel.multiplications


def test_operations_as_tables_decrypt() -> None:
    @pf.program(tables="wide", x=pf.UInt(6), y=pf.SInt(6), n=pf.Int(1, 60))
    def computed(x, y, n):
        return *divmod(x, n), y**5, y // 7, x << x, pow(x, 11, 61)

    x, y, n = random.randrange(64), random.randrange(-32, 32), random.randrange(1, 61)
    done = computed.run(x=x, y=y, n=n)
    quotient, remainder = divmod(x, n)
    power, shifted = (y**5 + 32) % 64 - 32, (x << min(x, 6)) % 64
    assert list(done.outputs.values()) == [quotient, remainder, power, y // 7, shifted, pow(x, 11, 61)]


def test_lanes_stay_when_the_command_asks_for_wide_tables() -> None:
    from polyfabric.language.program import with_tables

    programs = [pf.program(lanes=lanes, x=pf.UInt(32), y=pf.UInt(32))(lambda x, y: x + y) for lanes in (64, None)]
    lookups = [with_tables(program, "wide").plan().kernel.lookups for program in programs]
    assert lookups == [program.plan().kernel.lookups for program in programs]
    assert lookups[0] > lookups[1]


def test_the_option_of_the_command_traces_the_program_again(polyfabric, tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(
        "import polyfabric as pf\n\n@pf.program(x=pf.UInt(8))\ndef own(x):\n    return pf.lookup(x, [(v * 7 + 3) % 256 for v in range(256)])\n"
    )
    done = polyfabric("run", f"{file}:own", "--tables", "wide", "--input", "x=200", "--json")
    shown = json.loads(done.out)
    assert (done.status, shown["parameters"]) == (0, OWN)
    assert polyfabric("run", f"{file}:own", "--tables", "wide", "--on", "morphling").status == 2
    assert polyfabric("run", f"{file}:own", "--tables", "wide", "--batch", "4").status == 2
    assert polyfabric("run", "pbs", "--tables", "wide").status == 2
    cost = json.loads(polyfabric("run", f"{file}:own", "--tables", "wide", "--cost", "--json").out)
    assert (cost["parameters"], cost["lookups"]) == (OWN, 8)


def test_other_places_refuse_wide_tables() -> None:
    program, _ = tables(4)
    for on in ("gpu", "morphling"):
        with pytest.raises(pf.errors.Error):
            program.run(x=1, on=on)
    with pytest.raises(pf.errors.Error):
        program.plan(secret="block-binary")
    with pytest.raises(pf.errors.Error):
        program.plan("polyfabric-4-p136-t64")
    with pytest.raises(pf.errors.ProgramError):
        pf.program(tables="broad", x=pf.UInt(4))(lambda x: x)
    with pytest.raises(pf.errors.ProgramError):
        pf.program(tables="wide", x=pf.Real.vector(4))(lambda x: x)


def test_a_batch_beyond_the_memory_is_refused() -> None:
    program, _ = tables(8, length=1000)
    with pytest.raises(pf.errors.Error):
        program.run(x=[0] * 1000, memory="1G")


def test_keys_in_files_and_copies_serve_wide_tables(tmp_path: Path) -> None:
    program, entries = tables(6)
    client = pf.Client(pf.Specification.of(program))
    server = pf.Server(program, client.evaluation_key)
    assert client.decrypt(server.execute(client.encrypt(x=9))) == entries[9]
    copies = program.in_batches(2, scheme="tfhe")
    assert copies.plan().parameters.name == OWN


def test_the_s_box_of_aes() -> None:
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("s_box", ROOT / "examples/s_box.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    # FIPS 197, section 5.1.1 and figure 7.
    assert [module.S_BOX[byte] for byte in (0x53, 0x00, 0xFF)] == [0xED, 0x63, 0x16]
    assert list(module.s_box.run(state=[0x53, 0x00, 0xFF]).value) == [0xED, 0x63, 0x16]


@pytest.mark.parametrize("kind", [pf.UInt(3), pf.SInt(4), pf.UInt(8), pf.SInt(8), pf.Int(-90, 100)])
@pytest.mark.parametrize("tables", ["auto", "lookups", "wide"])
def test_functions_of_one_small_integer_are_its_table(kind, tables) -> None:
    def chain(x):
        own = x.cast(pf.SInt(20)) - 100 if kind.wraps else x - 100
        narrow = (x * 3).cast(pf.SInt(6))
        return {
            "square": own * own,
            "product": (5 - own) * (2 * own + 1),
            "power": own**3,
            "wrapped": narrow * (narrow + 1),
        }

    program = pf.program(x=kind, tables=tables)(chain)
    lo, hi = kind.bounds
    for x in {lo, lo + 1, 0, (lo + hi) // 2, hi - 1, hi}:
        own = x - 100
        product = 3 * x
        if kind.wraps:
            bits = kind.bits
            product &= (1 << bits) - 1
            product -= (product >> (bits - 1) << bits) if kind.signed else 0
        narrow = (product + 32) % 64 - 32
        found = program.clear(x=x)
        lowered = program.shaped(program.native.evaluate(program.flatten({"x": x})))
        assert found == lowered
        assert found["square"] == own * own
        assert found["product"] == (5 - own) * (2 * own + 1)
        assert (found["power"] - own**3) % (1 << 20) == 0
        assert (found["wrapped"] - narrow * (narrow + 1)) % 64 == 0
