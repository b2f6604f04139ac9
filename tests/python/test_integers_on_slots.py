"""Batches of integers with CKKS: are results exact, and does a client see integers alone?"""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import polyfabric as pf
import pytest
from damage import flipped
from polyfabric.apps.programs import planned
from polyfabric.cli.inputs import inputs as read_inputs
from polyfabric.host.computer import cores
from polyfabric.language.copies import CopyShapes
from polyfabric.schemes.options import PlanOptions
from polyfabric.schemes.plan import Plan
from random_programs import Writer
from rejects import rejects

TOY = "toy-10-lookup"


@pytest.fixture(autouse=True)
def _toy_sets_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pf.errors.SecurityWarning)
        yield


def digits(x, y):
    """Sums, products, comparisons and choices."""
    return {
        "sum": x + y,
        "product": x * y,
        "larger": pf.max(x, y),
        "less": x < y,
        "equal": x == y,
        "quotient": x // (y + 1),
    }


def meant(x: int, y: int, bits: int) -> dict[str, int]:
    """The same on Python's integers."""
    wrapped = 1 << bits
    return {
        "sum": (x + y) % wrapped,
        "product": x * y % wrapped,
        "larger": max(x, y),
        "less": int(x < y),
        "equal": int(x == y),
        "quotient": x // ((y + 1) % wrapped) if (y + 1) % wrapped else wrapped - 1,
    }


def twice(values: dict) -> dict:
    """A batch of two equal items."""
    return {name: [value, value] for name, value in values.items()}


def in_lanes(program: pf.Program, inputs: dict) -> dict:
    """The outputs of the program on slots, evaluated in the clear."""
    shapes = program.shapes.within(dict.fromkeys(program.shapes.vectors(outputs=True), 1e-6))
    return program.shaped(shapes.rounded(program.native.evaluate(program.flatten(inputs))))


def test_batches_decrypt_to_pythons_integers() -> None:
    draw = np.random.default_rng(5)
    bits, batch = 2, 9
    program = pf.program(x=pf.UInt(bits), y=pf.UInt(bits))(digits).in_batches(batch)
    x, y = draw.integers(0, 1 << bits, (2, batch))
    result = program.run(x=x, y=y.tolist(), parameters=TOY)
    for at in range(batch):
        assert {name: values[at] for name, values in result.outputs.items()} == meant(int(x[at]), int(y[at]), bits)
    assert result.correct
    assert result.error == dict.fromkeys(program.outputs, 0)
    assert result.to_dict()["scheme"] == "ckks"
    sums = x + y
    first = int(np.flatnonzero(sums >> bits)[0])
    wrap = next(wrap for wrap in result.wrapped if wrap.operation == "+" and wrap.exact == sums[first])
    assert (wrap.index, wrap.count) == (first, (sums >> bits).sum())


def test_random_programs_are_pythons() -> None:
    taken = 0
    for seed in range(150):
        written = Writer(seed).write()
        try:
            program = written.program().in_batches(2)
        except pf.errors.ProgramError as error:
            print(seed, error)
            continue
        taken += 1
        inputs, expected = (twice(values) for values in (written.inputs, written.expected))
        assert in_lanes(program, inputs) == expected, f"seed {seed}\n{written.source}{written.inputs}"
    assert taken > 130


def test_random_programs_decrypt_right() -> None:
    run = 0
    for seed in range(60):
        written = Writer(seed, cheap=True).write()
        try:
            program = written.program().in_batches(2, longest_table=16)
        except pf.errors.ProgramError:
            continue
        if not 0 < program.text().count("lookup") < 12:
            continue
        run += 1
        result = program.run(twice(written.inputs), parameters=TOY)
        assert result.outputs == twice(written.expected), f"seed {seed}\n{written.source}{written.inputs}"
        if run == 5:
            return
    pytest.fail(f"only {run} programs ran")


@pf.program(x=pf.Int(-3, 4).vector(2), k=pf.Int(0, 3), b=pf.Bool, name=pf.Text(2))
def one(x, k, b, name):
    return pf.where(b, x - k, x), (x[0] > k) ^ b, pf.sum(x), name == "ab"


mixed = one.in_batches(3)

product = pf.program(x=pf.Int(0, 3), y=pf.Int(0, 3))(lambda x, y: x * y % 5)
small = product.in_batches(3)
larger_ones = pf.program(x=pf.Int(0, 3), y=pf.Int(0, 3))(lambda x, y: pf.max(x, y)).in_batches(3)
SMALL, RESULT = {"x": [0, 2, 3], "y": [3, 2, 3]}, [0, 4, 4]


INPUTS = {"x": [[-3, -1], [0, 1], [2, 4]], "k": [2, 0, 1], "b": [1, 0, 1], "name": ["ab", "ba", "a"]}
OUTPUTS = ([[-5, -3], [0, 1], [1, 3]], [1, 0, 0], [-4, 1, 6], [1, 0, 0])


def test_vectors_texts_and_truth_values_in_a_batch() -> None:
    result = mixed.run(INPUTS, parameters=TOY)
    assert result.value == OUTPUTS
    assert result.correct
    assert mixed.clear(INPUTS) == OUTPUTS
    assert in_lanes(pickle.loads(pickle.dumps(mixed)), INPUTS) == result.outputs
    assert mixed.draw().svg


def test_public_elements_are_no_ciphertexts() -> None:
    quarter = pf.program(x=pf.UInt(6))(lambda x: x >> 2).in_batches(1)
    result = quarter.run(x=[63], parameters=TOY)
    assert result.value == [15]
    # The highest digit is 0.
    assert len(quarter.native.outputs) == 2


def test_a_client_and_a_server_need_the_specification_alone() -> None:
    spec = pf.Specification.from_bytes(pf.Specification.of(small, parameters=TOY, public=True).to_bytes())
    client = pf.Client(spec, security=0)
    server = pf.Server(small, client.evaluation_key, parameters=TOY, public=True)
    theirs = pf.Encryptor(spec, client.public_key, security=0).encrypt(y=SMALL["y"])
    answer = server.execute(client.encrypt(x=SMALL["x"]) | theirs)
    assert client.decrypt(answer) == RESULT
    other = pf.Client(spec, security=0)
    with rejects(pf.errors.Error):
        other.decrypt(answer)


def test_the_steps_in_a_folder(tmp_path) -> None:
    steps = small.in_folder(tmp_path / "keys", parameters=TOY)
    steps.make_keys()
    steps.encrypt(SMALL)
    steps.execute()
    found = steps.decrypt()
    assert found.correct
    assert found.value == RESULT


def test_values_between_integers_are_refused() -> None:
    shapes = mixed.shapes.within(dict.fromkeys(mixed.shapes.vectors(outputs=True), 0.01))
    found = mixed.native.evaluate(mixed.flatten(INPUTS))
    assert shapes.rounded(found)
    name, (re, im) = next(iter(found.items()))
    modulus = mixed.shapes.moduli(outputs=True)[name]
    moved = [re[0] + 0.02 / modulus, *re[1:]]
    with rejects(pf.errors.InputError, repr(name), "0.020"):
        shapes.rounded({**found, name: (moved, im)})


@pytest.mark.parametrize(
    "change",
    [
        lambda shapes: shapes.update(batch=1 << 40),
        lambda shapes: shapes.update(batch=0),
        lambda shapes: shapes.pop("batch"),
        lambda shapes: shapes["bounds"].update(dict.fromkeys(shapes["bounds"], 0.6)),
        lambda shapes: shapes["bounds"].clear(),
        lambda shapes: shapes["inputs"][0].__setitem__(1, 1 << 40),
        lambda shapes: shapes["inputs"][0].__setitem__(1, 2),
        lambda shapes: shapes["inputs"][0][2].pop(),
        lambda shapes: shapes["inputs"][0][2].__setitem__(0, 1),
        lambda shapes: shapes["ends"]["inputs"][0].__setitem__(2, 10**12),
        lambda shapes: shapes["ends"]["inputs"][0].__setitem__(1, [0, 1 << 39, 1]),
        lambda shapes: shapes["ends"]["outputs"][0].__setitem__(1, [1 << 62, 1 << 62, 1]),
        lambda shapes: shapes["outputs"][0][2].__setitem__(0, 1 << 70),
        lambda shapes: shapes["outputs"][0][2].__setitem__(0, -1),
        lambda shapes: shapes.pop("ends"),
    ],
)
def test_damaged_specifications_are_refused(change) -> None:
    data = json.loads(pf.Specification.of(small, parameters=TOY).to_bytes())
    change(data["shapes"])
    with rejects(pf.errors.FileError):
        pf.Specification.from_bytes(json.dumps(data).encode())


def test_a_damaged_answer_shows_no_values() -> None:
    keys = small.keygen(TOY, security=0)
    answer = small.execute(keys.evaluation_key, small.encrypt(keys, SMALL))
    data = dict(answer.parts)
    name = next(iter(data))
    data[name] = flipped(data[name], len(data[name]) // 2, 6)
    with rejects(pf.errors.Error):
        small.decrypt(keys, pf.Ciphertexts(data, ".out.ct"))


def test_another_batch_is_another_program() -> None:
    larger = product.in_batches(4)
    keys = larger.keygen(TOY, security=0)
    inputs = larger.encrypt(keys, {name: [*values, 0] for name, values in SMALL.items()})
    assert larger.slots == small.slots
    with rejects(pf.errors.Error):
        small.execute(keys.evaluation_key, inputs)
    answer = larger.execute(keys.evaluation_key, inputs)
    with rejects(pf.errors.Error):
        small.decrypt(keys, answer)
    assert larger.decrypt(keys, answer) == [*RESULT, 0]


def test_what_slots_lack_is_refused() -> None:
    for batch in (0, 70_000, 2.5):
        with rejects(pf.errors.ProgramError, str(batch)):
            one.in_batches(batch)
    with rejects(pf.errors.ProgramError):
        pf.program(x=pf.Torus(4))(lambda x: x).in_batches(2)
    with rejects(pf.errors.InputError):
        pf.program(x=pf.Real)(lambda x: x).in_batches(2)
    with rejects(pf.errors.InputError):
        mixed.in_batches(2)


def test_a_program_of_text_or_of_another_is_batched_too() -> None:
    text = pf.Program.parse(pf.program(x=pf.Int(0, 7), y=pf.Int(0, 7))(lambda x, y: x + y).text()).in_batches(2)
    assert in_lanes(text, {"x": [[3], [7]], "y": [[5], [7]]}) == {"result": [[8], [14]]}


def test_inputs_of_a_batch_are_lists_of_its_length() -> None:
    for wrong in ([[1, 2]], 3, "abc", [[1, 2], [1, 2], [1, 2, 3]], [[1, 2], [1, 2], [1, 5]], np.array(3)):
        with rejects(pf.errors.InputError, "'x'"):
            mixed.flatten({**INPUTS, "x": wrong})
    for unordered in ({0, 1, 2}, dict.fromkeys(range(3))):
        with rejects(pf.errors.InputError, "'k'"):
            mixed.flatten({**INPUTS, "k": unordered})


def test_a_batch_is_flattened_as_its_items_are() -> None:
    single = pf.program(
        a=pf.UInt(7),
        b=pf.SInt(5).vector(2),
        c=pf.Int(-6, 9, step=3),
        d=pf.Text(3),
        e=pf.Bool,
        f=pf.UInt(80),
        g=pf.Bool.vector(2),
    )(lambda a, b, c, d, e, f, g: (a, b, c, d == "é", e, f, g))
    batch = single.in_batches(3)
    inputs = {
        "a": np.array([0, 127, 5], dtype=np.uint8),
        "b": [[-16, 15], np.array([0, -1]), (3, 4)],
        "c": [-6, 9, 0],
        "d": ["é", b"abc", [97, 0, 0]],
        "e": [True, np.bool_(False), 1],
        "f": [1 << 79, 3, (1 << 80) - 1],
        "g": np.array([[True, False], [False, False], [True, True]]),
    }
    found = batch.shapes.items(batch.flatten(inputs))
    items = [{name: values[at] for name, values in inputs.items()} for at in range(3)]
    assert found == [batch.integers.flatten(item) for item in items]


def test_an_error_names_the_item_of_the_batch() -> None:
    with rejects(pf.errors.InputError, "item 2", "'name'"):
        mixed.flatten({**INPUTS, "name": ["a", "b", "abc"]})
    with rejects(pf.errors.InputError, "item 1", "'k'"):
        mixed.flatten({**INPUTS, "k": [0, 4, 0]})
    with rejects(pf.errors.InputError, "'k'"):
        mixed.flatten({name: values for name, values in INPUTS.items() if name != "k"})
    with rejects(pf.errors.InputError, "item 2", "'name'"):
        mixed.flatten({**INPUTS, "name": ["a", "b", "\0a"]})
    assumed = pf.program(x=pf.UInt(8))(lambda x: x.assume(pf.Int(0, 9)) + 1).in_batches(3)
    assert assumed.clear(x=[9, 0, 3]) == [10, 1, 4]
    with rejects(pf.errors.InputError, "item 1", "10"):
        assumed.clear(x=[9, 10, 11])


def test_the_command_line_reads_lists_of_a_batch() -> None:
    single = one.in_batches(1)
    given = ("x=[[1,2]]", "k=3", "b=true", 'name=["a,b"]')
    assert read_inputs(single, given) == {"x": [[1, 2]], "k": [3], "b": [1], "name": ["a,b"]}
    with rejects(pf.errors.InputError, "'name'"):
        read_inputs(single, ("name=ab",))


def test_residues_of_no_value_are_refused() -> None:
    # Sums of 0 to 3 are read modulo 7, the output has four values.
    program = pf.program(x=pf.Int(0, 3), y=pf.Int(0, 3))(lambda x, y: (x, x + y)).in_batches(1)
    shapes = program.shapes.within(dict.fromkeys(program.shapes.vectors(outputs=True), 1e-6))
    found = program.native.evaluate(program.flatten({"x": [3], "y": [3]}))
    assert shapes.rounded(found) == {"result0": [3], "result1": [6]}
    with rejects(pf.errors.InputError, "'result0'"):
        shapes.rounded({**found, "result0": ([5 / 7], [0.0])})


def test_options_without_meaning_are_refused() -> None:
    for options in ({"flood": 1.0}, {"measure": True}, {"unroll": 2}):
        with rejects(pf.errors.InputError, next(iter(options))):
            small.run(SMALL, parameters=TOY, **options)
    # This set has no tables.
    with rejects(pf.errors.ProgramError):
        small.run(SMALL, parameters="ckks-boot-1519")


def test_the_cost_of_a_batch_counts_its_inputs() -> None:
    report = small.cost(parameters=TOY)
    assert report["batch"] == small.batch
    assert "inputs at once" in report.table()
    ways, each = report["ways"], product.cost()
    tfhe, slots = ways["tfhe"], ways["slots"]
    assert (tfhe["parameters"], tfhe["key_bytes"]) == (each["parameters"], each["server_key_bytes"])
    assert (slots["parameters"], slots["memory_bytes"]) == (TOY, report["memory_bytes"])
    # Keys are transformed once for all inputs.
    first = each["processor_seconds"] / cores()
    assert first / 2 < tfhe["seconds"] < small.batch * first
    least = ways["cheaper_from"] or ways["lanes"] + 1
    assert ways["cheaper"] == ("slots" if small.batch >= least else "tfhe")
    assert (tfhe["seconds"] > slots["seconds"]) == (small.batch >= least)


def test_one_prepared_program_serves_several_keys() -> None:
    plan, other = small.plan(TOY, security=0), larger_ones.plan(TOY, security=0)
    owners = [pf.Keys.generate(plan) for _ in range(2)]

    def answers(on: Plan, keys: pf.Keys, inputs: dict) -> list[int]:
        ciphertexts = on.context.encrypt(keys.client, on.program.flatten(inputs))
        found = on.decrypt(keys.client, on.compute(keys.server, ciphertexts, "cpu", 1, None))
        return on.program.shaped(found)["result"]

    for keys in owners * 2:
        assert answers(plan, keys, SMALL) == RESULT
    assert plan.native.prepared_bytes() > 0
    # One program is kept.
    assert answers(other, pf.Keys.generate(other), SMALL) == [3, 2, 3]
    assert other.native.prepared_bytes() > 0
    assert plan.native.prepared_bytes() == 0
    assert answers(plan, owners[0], SMALL) == RESULT


@pytest.mark.full
def test_a_batch_in_all_lanes_of_a_secure_set() -> None:
    batch = 1 << 15

    sums = pf.program(x=pf.UInt(8), y=pf.UInt(8))(lambda x, y: x + y).in_batches(batch)
    x, y = np.random.default_rng(7).integers(0, 256, (2, batch)).tolist()
    result = sums.run(x=x, y=y, security=128)
    assert result.value == [(a + b) % 256 for a, b in zip(x, y, strict=True)]
    assert result.log2_failure < -120


@pytest.mark.full
def test_a_batch_decrypts_right_after_f1s_schedule() -> None:
    batch = 1000
    entries = [12, 5, 6, 11, 9, 0, 10, 13, 3, 14, 15, 8, 4, 7, 1, 2]
    table = pf.program(x=pf.Int(0, 15))(lambda x: pf.lookup(x, entries)).in_batches(batch)
    x = np.random.default_rng(8).integers(0, 16, batch).tolist()
    assert table.run(x=x, on="f1", security=128).value == [entries[value] for value in x]


def test_the_command_line_names_the_largest_batch(tmp_path) -> None:
    file = tmp_path / "kept.py"
    file.write_text("import polyfabric as pf\n\nkept = pf.program(x=pf.Int(0, 3))(lambda x: x)\n")
    with rejects(pf.errors.InputError, "--batch 70000"):
        planned(f"{file}:kept", PlanOptions(), 70_000)


# -- sums over the batch ------------------------------------------------------------------------------------------------


@pf.program(x=pf.Int(-3, 4).vector(2), k=pf.Int(0, 3), wide=pf.UInt(8))
def contributions(x, k, wide):
    """What each input of a batch adds to sums."""
    return {
        "counts": [k == value for value in range(4)],
        "first": x[0] + 2 * k - 1,
        "both": x,
        "wide": wide ^ 5,
        "each": x[0] > k,
        "public": pf.concat(k == 1, k >= 0),
    }


def summed_up(x, k, wide) -> dict:
    """The same with Python."""
    return {
        "counts": [k.count(value) for value in range(4)],
        "first": sum(own[0] + 2 * by - 1 for own, by in zip(x, k, strict=True)),
        "both": [sum(own[0] for own in x), sum(own[1] for own in x)],
        "wide": sum(own ^ 5 for own in wide),
        "each": [int(own[0] > by) for own, by in zip(x, k, strict=True)],
        "public": [k.count(1), len(k)],
    }


SUMMED = ("counts", "first", "both", "wide", "public")


def random_batch(batch: int, seed: int) -> dict:
    generator = np.random.default_rng(seed)
    return {
        "x": generator.integers(-3, 5, (batch, 2)).tolist(),
        "k": generator.integers(0, 4, batch).tolist(),
        "wide": generator.integers(0, 256, batch).tolist(),
    }


@pytest.mark.parametrize("batch", [1, 2, 3, 5, 8, 13])
def test_sums_over_a_batch(batch: int) -> None:
    program = contributions.in_batches(batch, summed=SUMMED)
    inputs = random_batch(batch, batch)
    assert program.clear(inputs) == summed_up(**inputs)
    # The same on slots, where lanes without an input add nothing.
    assert in_lanes(program, inputs) == summed_up(**inputs)


def test_sums_over_a_batch_run_and_travel() -> None:
    inputs = random_batch(21, 1)
    program = contributions.in_batches(21, summed=SUMMED)
    result = program.run(inputs, parameters=TOY)
    assert result.value == summed_up(**inputs)
    assert result.correct
    assert in_lanes(pickle.loads(pickle.dumps(program)), inputs) == result.value
    client = pf.Client(pf.Specification.from_bytes(pf.Specification.of(program, TOY).to_bytes()), security=0)
    server = pf.Server(program, client.evaluation_key, parameters=TOY)
    assert client.decrypt(server.execute(client.encrypt(inputs))) == result.value


def test_sums_without_meaning_are_refused() -> None:
    signed = pf.program(x=pf.SInt(8), name=pf.Text(2))(lambda x, name: {"x": x + 1, "name": name})
    for program, name in ((signed, "x"), (signed, "name")):
        with rejects(pf.errors.ProgramError, f"'{name}'"):
            program.in_batches(2, summed=name)
    for wrong in ("sum", [["sum"]]):
        with rejects(pf.errors.InputError, "'sum'"):
            contributions.in_batches(2, summed=wrong)


def test_comparisons_with_public_numbers_share_a_lookup() -> None:
    """A table of x − 3 is one of x, so that all tables are of one vector."""
    lookups = [line for line in contributions.in_batches(2).native.text().splitlines() if " = lookup " in line]
    of_k = pf.program(k=pf.Int(0, 15))(lambda k: [k == value for value in range(16)]).in_batches(2).native.text()
    assert len({line.split()[3] for line in of_k.splitlines() if " = lookup " in line}) == 1
    assert lookups


# -- the cheaper way ----------------------------------------------------------------------------------------------------


def test_a_batch_one_after_another_is_the_same_with_tfhe() -> None:
    copies = one.in_batches(3, scheme="tfhe")
    assert (copies.scheme, copies.batch, dict(copies.inputs)) == ("tfhe", 3, dict(one.inputs))
    result = copies.run(INPUTS, parameters="toy-256", max_failure=0)
    assert result.expected == dict(zip(("result0", "result1", "result2", "result3"), OUTPUTS, strict=True))
    assert copies.clear(INPUTS) == OUTPUTS == pickle.loads(pickle.dumps(copies)).clear(INPUTS)
    copies = product.in_batches(3, scheme="tfhe")
    assert copies.run(SMALL).value == RESULT
    specification = pf.Specification.from_bytes(pf.Specification.of(copies).to_bytes())
    client = pf.Client(specification)
    assert client.decrypt(pf.Server(copies, client.evaluation_key).execute(client.encrypt(SMALL))) == RESULT
    for wrong, part in (({"x": [0, 2], "y": [3, 2, 3]}, "'x'"), ({"x": [0, 2, 9], "y": [3, 2, 3]}, "'x.2'")):
        with rejects(pf.errors.InputError, part):
            copies.clear(wrong)


def test_damaged_copies_of_a_specification_are_refused() -> None:
    copies = product.in_batches(2, scheme="tfhe")
    stored = copies.shapes.to_dict()
    assert CopyShapes.of(stored, copies.native).to_dict() == stored
    for wrong in (0, 1, 3, -2, 1 << 60, "2", True):
        with pytest.raises(ValueError, match="copies"):
            CopyShapes.of({**stored, "copies": wrong}, copies.native)
    for others in (
        product.native,
        pf.program(**{"x.0": pf.Bool, "y.7": pf.Bool})(lambda **x: {"z.0": x["x.0"], "z.3": x["y.7"]}).native,
    ):
        with pytest.raises(ValueError, match="copies"):
            CopyShapes.of({"copies": 2, "scalars": [], "integers": {}}, others)


def test_the_cheaper_way_is_chosen_for_the_batch() -> None:
    few = product.in_batches(3, scheme="auto")
    assert few.scheme == "tfhe"
    assert few.chosen is not None
    assert few.run(SMALL).to_dict()["chosen"] == few.chosen
    ways = few.cost()["ways"]
    assert ways["cheaper"] == "tfhe"
    assert ways["slots"]["key_bytes"] > 0
    assert ways["cheaper_from"] > 3
    many = product.in_batches(1 << 16, scheme="auto")
    assert many.scheme == "ckks"
    assert many.cost()["ways"]["cheaper"] == "slots"
    # Not chosen, so not explained.
    assert small.chosen is None
    with rejects(pf.errors.InputError, "'fastest'"):
        product.in_batches(3, scheme="fastest")
    for options in ({"summed": "result"}, {"longest_table": 16}):
        with rejects(pf.errors.InputError, "omit"):
            product.in_batches(3, scheme="tfhe", **options)
        assert product.in_batches(3, scheme="auto", **options).scheme == "ckks"


def test_the_command_line_takes_the_cheaper_way(polyfabric, tmp_path) -> None:
    (tmp_path / "own.py").write_text(
        "import polyfabric as pf\n\n@pf.program(x=pf.Int(0, 3))\ndef f(x):\n    return x * x % 5\n"
    )
    common = ("run", "own.py:f", "--input", "x=[1,2,3]", "--json", "--batch", "3")
    for scheme in ("auto", "tfhe"):
        done = polyfabric(*common, "--scheme", scheme)
        assert done.status == 0, done.err
        data = json.loads(done.out)
        assert (data["scheme"], data["outputs"], data["correct"]) == ("tfhe", {"result": [1, 4, 4]}, True)
        assert ("chosen" in data) == (scheme == "auto")
    # A named set is of one scheme.
    done = polyfabric(*common, "--scheme", "auto", "--params", TOY)
    assert json.loads(done.out)["scheme"] == "ckks"
    for command in (common[:5], ("run", "pbs", "--batch", "3")):
        done = polyfabric(*command, "--scheme", "auto")
        assert done.status == 2
        assert "--scheme auto" in done.err


def test_runs_with_the_same_keys_plan_once() -> None:
    program = pf.program(x=pf.UInt(4))(lambda x: (x + 3, x > 7)).in_batches(3)
    keys = program.run(x=[1, 2, 3], parameters=TOY).keys
    first, second, other = (
        program.run(x=[4, 9, 15], parameters=TOY, keys=keys, **options) for options in ({}, {}, {"max_failure": -100})
    )
    assert first.plan is second.plan
    assert other.plan is not second.plan
    for result in (first, second, other):
        assert result.correct
        assert result.value == ([7, 12, 2], [0, 1, 1])
    again = pf.program(x=pf.UInt(4))(lambda x: (x + 2, x > 7)).in_batches(3)
    assert again.run(x=[4, 9, 15], keys=keys).value == ([6, 11, 1], [0, 1, 1])


def test_a_run_of_another_thread_does_not_change_the_plan() -> None:
    """The other program is planned while the options of the first are compared."""
    keys, plans, options = pf.Keys(None, None), {"own": object(), "other": object()}, PlanOptions()
    keys.planned("own", options, lambda: plans["own"])

    class Meanwhile:
        def __eq__(self, _: object) -> bool:
            keys.planned("other", options, lambda: plans["other"])
            return True

    assert keys.planned("own", Meanwhile(), lambda: plans["own"]) is plans["own"]


@pytest.mark.parametrize("bits", [8, 16, 31])
def test_wide_comparisons_are_pythons_in_few_lookups(bits: int) -> None:
    def compared(x, y):
        return x < y, x <= y, x > y, x >= y, x < 1 << bits - 1, x > 5, pf.max(x, y)

    top = (1 << bits) - 1
    x, y = np.random.default_rng(bits).integers(0, top + 1, (2, 40)).tolist()
    x[:6], y[:6] = [0, top, 0, top, 7, 8], [0, top, top, 0, 8, 7]
    kinds = {"x": pf.UInt(bits), "y": pf.UInt(bits)}
    found = in_lanes(pf.program(**kinds)(compared).in_batches(40), {"x": x, "y": y})
    meant = [(a < b, a <= b, a > b, a >= b, a < 1 << bits - 1, a > 5, max(a, b)) for a, b in zip(x, y, strict=True)]
    assert list(found.values()) == [list(map(int, own)) for own in zip(*meant, strict=True)]
    less = pf.program(**kinds)(lambda x, y: x < y).in_batches(40)
    assert less.text().count("= lookup") <= bits // 2 + 2
