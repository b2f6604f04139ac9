"""Tables of up to 256 entries on slots: are results Python's, and is the form that takes less work chosen?"""

from __future__ import annotations

import random
import warnings

import polyfabric as pf
import pytest
from polyfabric.apps.programs import planned
from polyfabric.schemes.options import PlanOptions
from rejects import rejects

TOY, SHORT_TOY = "toy-10-lookup-256", "toy-10-lookup"
DRAW = random.Random(8)
ENTRIES = [DRAW.randrange(256) for _ in range(256)]
EVERY = list(range(256))


@pytest.fixture(autouse=True)
def _toy_sets_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pf.errors.SecurityWarning)
        yield


@pf.program(x=pf.Int(0, 255))
def ranged(x):
    return pf.lookup(x, ENTRIES)


@pf.program(x=pf.UInt(8))
def wide(x):
    return pf.lookup(x, ENTRIES, result=pf.UInt(8))


def test_every_entry_is_read_right_by_one_bootstrap() -> None:
    for program in (ranged, wide):
        batch = program.in_batches(256)
        result = batch.run(x=EVERY, parameters=TOY)
        assert result.value == ENTRIES
        assert result.correct
        assert batch.plan(TOY).facts["bootstraps"]["in_all"] == 1


def test_tables_after_each_other_and_sums_between_them() -> None:
    def chained(x, y):
        once = pf.lookup(x, ENTRIES)
        twice = pf.lookup(once, lambda value: (7 * value + 3) % 256)
        # A table of two inputs, packed, and one of a sum.
        pair = pf.lookup(16 * pf.lookup(x, lambda value: value // 16) + y, lambda both: (both // 16) ** 2 ^ (both % 16))
        return twice, pair, pf.lookup(pf.lookup(x, lambda value: value // 2) + y, lambda total: total % 3)

    program = pf.program(x=pf.Int(0, 255), y=pf.Int(0, 15))(chained).in_batches(200)
    x, y = DRAW.choices(range(256), k=200), DRAW.choices(range(16), k=200)
    result = program.run(x=x, y=y, parameters=TOY)
    pairs = list(zip(x, y, strict=True))
    assert result.outputs == {
        "result0": [(7 * ENTRIES[a] + 3) % 256 for a in x],
        "result1": [(a // 16) ** 2 ^ b for a, b in pairs],
        "result2": [(a // 2 + b) % 3 for a, b in pairs],
    }
    assert result.log2_failure <= -128


def test_digits_next_to_a_long_table() -> None:
    def mixed(x, y):
        entry = pf.lookup(x ^ 5, ENTRIES, result=pf.UInt(8))
        return {"entry": entry, "larger": entry > y}

    program = pf.program(x=pf.UInt(8), y=pf.UInt(8))(mixed).in_batches(5, longest_table=256)
    x, y = [0, 1, 200, 255, 37], [0, 255, 100, 255, 91]
    wanted = [ENTRIES[a ^ 5] for a in x]
    assert program.run(x=x, y=y, parameters=TOY).outputs == {
        "entry": wanted,
        "larger": [int(entry > b) for entry, b in zip(wanted, y, strict=True)],
    }


def test_the_form_with_less_work_is_taken() -> None:
    assert ranged.in_batches(2).native.longest_table == 256
    assert wide.in_batches(2).native.longest_table == 256
    for program in (ranged, wide):
        with_short = program.in_batches(2, longest_table=16)
        assert with_short.native.longest_table <= 16
        assert with_short.native.lookup_work() > program.in_batches(2).native.lookup_work() > 0
    short = pf.program(x=pf.UInt(8).vector(4))(lambda x: pf.sum(x)).in_batches(2)
    assert short.native.longest_table <= 16


def test_values_of_few_residues_have_one_form() -> None:
    low = pf.program(x=pf.UInt(8))(lambda x: pf.lookup(x, lambda value: value % 4))
    free, short = low.in_batches(2), low.in_batches(2, longest_table=16)
    assert free.native.longest_table == 4
    assert free.text() == short.text()
    assert free.clear(x=[7, 250]) == short.clear(x=[7, 250]) == [3, 2]


def test_the_cost_next_to_tfhe() -> None:
    # One lookup of 256 values fails too often with every set of TFHE; a wide table does not.
    by_lookups = pf.program(x=pf.Int(0, 255), tables="lookups")(lambda x: pf.lookup(x, ENTRIES))
    assert by_lookups.in_batches(2).cost(parameters=TOY)["ways"]["tfhe"] is None
    assert ranged.in_batches(2).cost(parameters=TOY)["ways"]["tfhe"]["seconds"] > 0
    assert wide.in_batches(2).cost(parameters=TOY)["ways"]["tfhe"]["seconds"] > 0


def test_machines_and_sets_with_short_tables_get_them(tmp_path) -> None:
    file = tmp_path / "table.py"
    file.write_text(
        "import polyfabric as pf\n\nsquare = pf.program(x=pf.UInt(6))(lambda x: pf.lookup(x, lambda v: 63 - v))\n"
    )
    name = f"{file}:square"
    for parameters, longest in ((SHORT_TOY, 16), (TOY, 64)):
        found = planned(name, PlanOptions(parameters=parameters), 3)
        assert found.program.native.longest_table == longest
    with rejects(pf.errors.ProgramError, "longest_table"):
        wide.in_batches(2, longest_table=512)
    with rejects(pf.errors.ProgramError):
        wide.in_batches(2).plan(SHORT_TOY)


@pytest.mark.full
@pytest.mark.parametrize(
    ("machine", "q", "p", "digit"),
    [
        (
            "osiris",
            [
                {"pair_bits": 52},
                {"bits": 40, "count": 9},
                {"pair_bits": 52, "count": 4},
                {"pair_bits": 56, "count": 8},
                {"bits": 40, "count": 3},
            ],
            {"bits": 40, "count": 8},
            7,
        ),
        (
            "f1",
            [{"pair_bits": 52, "count": 12}, {"pair_bits": 56, "count": 8}, {"pair_bits": 52, "count": 3}],
            {"bits": 32, "count": 2},
            1,
        ),
    ],
)
def test_a_machines_schedule_reads_long_tables_right(machine: str, q: list, p: dict, digit: int) -> None:
    """The sets of machines on a small ring."""
    small = pf.SlotParameters.of(
        "ckks",
        name="small-words",
        primes="1-mod-2^16",
        ring_degree=1024,
        q=q,
        p=[p],
        gadget={"hybrid": {"digit_limbs": digit}},
        scale_log2=50,
        secret={"sparse-ternary": 128},
        noise_std=3.2,
        ephemeral_weight=32,
        bootstrap={
            "order": "slim",
            "method": {"tables": {"levels": 8}},
            "coefficients_to_slots": 3,
            "slots_to_coefficients": 3,
            "range": 17,
            "degree": 55,
            "doublings": 2,
        },
    )
    batch = ranged.in_batches(256)
    result = batch.run(x=EVERY, on=machine, parameters=small, security=0)
    assert result.correct
    assert result.value == ENTRIES
