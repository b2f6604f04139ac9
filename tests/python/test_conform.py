"""One program at every place: do ciphertexts and values agree, and does a receipt show every change?"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from damage import flipped
from polyfabric.run import conformance
from polyfabric.run.conformance import Check
from polyfabric.run.file_steps import Steps
from polyfabric.run.receipts import Receipt
from rejects import rejects

pytestmark = pytest.mark.filterwarnings("ignore::polyfabric.errors.SecurityWarning")


@pf.program(x=pf.Int(0, 3).vector(3), n=pf.UInt(4))
def integers(x, n):
    return {"y": pf.lookup(x, [1, 3, 0, 2]), "n": n + 1}


@pf.program(x=pf.Int(0, 3).vector(3), n=pf.UInt(4))
def other_table(x, n):
    return {"y": pf.lookup(x, [1, 3, 2, 2]), "n": n + 1}


@pf.program(x=pf.Real.vector(8))
def reals(x):
    return x * x.rotate(1) + 0.5


@pf.program(x=pf.Mod(65537).vector(8))
def residues(x):
    return pf.dot(x, x)


@pf.program(x=pf.UInt(2))
def batch(x):
    return x + 1


TFHE = {"parameters": "toy-256", "max_failure": 0}
CASES: dict[str, tuple[pf.Program, dict[str, Any], dict[str, Any], Any]] = {
    "tfhe": (integers, TFHE, {"x": [0, 2, 3], "n": 15}, {"y": [1, 0, 2], "n": 0}),
    "ckks": (reals, {"parameters": "toy-10"}, {"x": np.arange(8) / 8}, None),
    "bgv": (residues, {"parameters": "bgv-toy-1024-listing1"}, {"x": np.arange(8)}, 140),
    "lanes": (batch.in_batches(3), {"parameters": "toy-10-lookup"}, {"x": [0, 2, 3]}, [1, 3, 0]),
}
"""By kind: a program, its plan, inputs, and the result that plain Python gives."""


@pytest.fixture
def two_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the processor's fastest instruction set and the slowest, to save time."""
    sets = [name for name in conformance.INSTRUCTION_SETS if name in (_native_set(), "portable")]
    monkeypatch.setattr(conformance, "INSTRUCTION_SETS", tuple(sets))


def _native_set() -> str:
    return str(pf._native.instruction_set()).split()[0]


def _hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of each output's file."""
    paths = folder.glob("*.out.ct")
    return {path.name.removesuffix(".out.ct"): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def folder_of(kind: str, path: Path) -> Steps:
    """The steps of a case, with keys and encrypted inputs."""
    program, options, inputs, _ = CASES[kind]
    steps = program.in_folder(path, **options)
    steps.make_keys()
    steps.encrypt(inputs)
    return steps


@pytest.mark.full
@pytest.mark.parametrize("kind", CASES)
def test_all_places_agree(kind: str, tmp_path: Path) -> None:
    """The files are those that every processor computes. Those of the step `execute` are this processor's. Exact arithmetic has one result in every instruction set."""
    steps = folder_of(kind, tmp_path)
    found = steps.conform()
    assert found.conforms
    assert not found.differences
    assert {"portable", _native_set()} <= {place.instruction_set for place in found.receipt.places}
    assert {"cpu", "interpreter"} <= {place.on for place in found.receipt.places}
    arithmetic = {place.arithmetic for place in found.receipt.places}
    assert arithmetic == ({"f64"} if kind == "tfhe" else {"exact"})
    portable = next(place for place in found.receipt.places if place.instruction_set == "portable")
    assert _hashes(tmp_path) == portable.outputs
    steps.execute()
    here = next(p for p in found.receipt.places if (p.on, p.instruction_set) == ("cpu", _native_set()))
    assert _hashes(tmp_path) == here.outputs
    expected = CASES[kind][3]
    if expected is not None:
        assert steps.decrypt().value == expected
    else:
        x = CASES[kind][2]["x"]
        np.testing.assert_allclose(steps.decrypt().value, x * np.roll(x, -1) + 0.5, atol=1e-2)
    for name in ("client.key", "expected.json"):
        (tmp_path / name).unlink()
    check = steps.check(found.receipt)
    assert check.conforms
    assert all(own.same for own in (*check.compared, *check.repeated))


@pytest.mark.full
@pytest.mark.parametrize(
    ("program", "machine", "options", "inputs"),
    [
        (residues, "f1", {}, {"x": np.arange(8)}),
        (residues, "osiris", {}, {"x": np.arange(8)}),
        (integers, "morphling", {**TFHE, "widths": "derived"}, {"x": [0, 2, 3], "n": 15}),
    ],
    ids=["f1", "osiris", "morphling"],
)
def test_the_replay_of_a_machine_agrees(
    program: pf.Program, machine: str, options: dict[str, Any], inputs: dict[str, Any], tmp_path: Path, two_sets: None
) -> None:
    steps = program.in_folder(tmp_path, on=machine, **options)
    steps.encrypt_or_begin(lambda _: inputs)
    found = steps.conform()
    assert found.conforms
    own = next(place for place in found.receipt.places if place.on == machine)
    reference = [place for place in found.receipt.places if place.arithmetic == own.arithmetic]
    assert {"interpreter", machine} <= {place.on for place in reference}
    assert all(place.outputs == own.outputs for place in reference)
    assert steps.check(found.receipt).conforms
    # The plan for this computer is another one.
    if program is residues:
        check = program.in_folder(tmp_path).check(found.receipt)
        assert not check.conforms
        assert differing(check) == ["machine none"]


def test_a_machine_is_compared_with_the_interpreter_alone(tmp_path: Path, two_sets: None) -> None:
    steps = integers.in_folder(tmp_path, on="morphling", **TFHE, widths="derived")
    steps.encrypt_or_begin(lambda _: {"x": [0, 2, 3], "n": 15})
    found = steps.conform(skip=["cpu", "gpu"])
    assert found.conforms
    assert [place.on for place in found.receipt.places] == ["interpreter", "morphling"]
    assert [found.same_bits(one) for one in found.computed] == [None, True]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Receipt]:
    """A folder of TFHE with its receipt, of the interpreter and the portable kernels."""
    path = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(conformance, "INSTRUCTION_SETS", ("portable",))
        found = folder_of("tfhe", path).conform()
    assert found.conforms
    return path, found.receipt


@pytest.fixture
def copied(made: tuple[Path, Receipt], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Receipt]:
    """What an auditor has: no client's key."""
    monkeypatch.setattr(conformance, "INSTRUCTION_SETS", ("portable",))
    folder = shutil.copytree(made[0], tmp_path / "copy")
    for name in ("client.key", "expected.json"):
        (folder / name).unlink()
    return folder, made[1]


def differing(check: Check) -> list[str]:
    return [own.what for own in (*check.compared, *check.repeated) if own.same is False]


def steps_of(folder: Path, program: pf.Program = integers) -> Steps:
    return program.in_folder(folder, **TFHE)


def test_a_receipt_is_repeated_with_the_evaluation_key_alone(copied: tuple[Path, Receipt], tmp_path: Path) -> None:
    folder, receipt = copied
    receipt.save(tmp_path / "receipt.json")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    check = steps_of(folder).check(tmp_path / "receipt.json", skip=["interpreter"])
    assert check.conforms
    assert differing(check) == []
    assert check.conformance is not None
    assert [one.decrypted for one in check.conformance.computed] == [None]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_changed_output_is_named(copied: tuple[Path, Receipt]) -> None:
    folder, receipt = copied
    path = folder / "y.out.ct"
    path.write_bytes(flipped(path.read_bytes(), -40, 0))
    check = steps_of(folder).check(receipt, skip=["interpreter"])
    assert not check.conforms
    assert differing(check) == ["y.out.ct"]


def test_a_file_that_no_place_here_computes_does_not_conform(copied: tuple[Path, Receipt]) -> None:
    """A forger adds a place that nobody can repeat, with the hash of another file."""
    folder, receipt = copied
    path = folder / "y.out.ct"
    path.write_bytes(flipped(path.read_bytes(), -40, 0))
    forged = {**receipt.places[0].outputs, "y": hashlib.sha256(path.read_bytes()).hexdigest()}
    for invented in ({"arithmetic": "another"}, {"instruction_set": "neon"}):
        places = [*receipt.places, replace(receipt.places[-1], **invented, outputs=forged)]
        check = steps_of(folder).check(replace(receipt, places=places), skip=["interpreter"])
        assert not check.conforms
        assert {own.what: own.same for own in check.compared}["y.out.ct"] is None


def test_a_changed_hash_of_an_output_is_named(copied: tuple[Path, Receipt]) -> None:
    folder, receipt = copied
    places = [replace(place, outputs={**place.outputs, "n": "0" * 64}) for place in receipt.places]
    (folder / "n.out.ct").unlink()
    check = steps_of(folder).check(replace(receipt, places=places), skip=["interpreter"])
    assert not check.conforms
    assert differing(check) == ["'n' on cpu with portable"]


def test_another_table_is_named(copied: tuple[Path, Receipt]) -> None:
    folder, receipt = copied
    check = steps_of(folder, other_table).check(receipt)
    assert not check.conforms
    assert differing(check) == ["program other_table"]
    assert check.conformance is None


def test_another_key_is_named(copied: tuple[Path, Receipt]) -> None:
    folder, receipt = copied
    integers.keygen("toy-256", security=0).evaluation_key.save(folder / "server.key")
    check = steps_of(folder).check(receipt)
    assert not check.conforms
    assert differing(check) == ["server.key"]


def test_another_input_is_named(copied: tuple[Path, Receipt], made: tuple[Path, Receipt], tmp_path: Path) -> None:
    folder, receipt = copied
    other = shutil.copytree(made[0], tmp_path / "other")
    steps_of(other).encrypt({"x": [0, 2, 3], "n": 15})
    shutil.copy(other / "n.in.ct", folder)
    check = steps_of(folder).check(receipt)
    assert not check.conforms
    assert differing(check) == ["n.in.ct"]


def test_places_that_the_receipt_lacks_do_not_suffice(copied: tuple[Path, Receipt]) -> None:
    folder, receipt = copied
    places = [replace(place, instruction_set="neon") for place in receipt.places]
    check = steps_of(folder).check(replace(receipt, places=places), skip=["interpreter"])
    assert differing(check) == []
    assert not check.conforms


def test_a_place_with_other_bits_is_named(made: tuple[Path, Receipt]) -> None:
    """A word of a ciphertext, changed at one place alone, in arithmetic that promises the same bits."""
    folder, receipt = made
    data = {name: (folder / f"{name}.out.ct").read_bytes() for name in ("y", "n")}

    def computed(on: str, files: dict[str, bytes]) -> conformance.Computed:
        hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        return conformance.Computed(conformance.Place(on, "portable", "exact", 1.0, hashes), files)

    changed = bytearray(data["y"])
    changed[-50] ^= 1
    rows = [computed("cpu", data), computed("interpreter", data), computed("f1", {**data, "y": bytes(changed)})]
    found = conformance.Conformance(receipt, rows, {})
    assert [found.same_bits(row) for row in rows] == [None, True, False]
    assert not found.conforms
    assert len(found.differences) == 1
    assert all(name in found.differences[0] for name in ("'y'", "f1", "cpu"))


def test_wrong_values_are_named(copied: tuple[Path, Receipt], made: tuple[Path, Receipt]) -> None:
    """The client's expected values, of other inputs."""
    folder, _ = copied
    shutil.copy(made[0] / "client.key", folder)
    expected = json.loads((made[0] / "expected.json").read_text())
    expected["values"]["y"][1] += 1
    (folder / "expected.json").write_text(json.dumps(expected))
    found = steps_of(folder).conform(skip=["interpreter"])
    assert not found.conforms
    assert "'y'" in found.differences[0]


def test_a_receipt_of_other_names_is_refused(copied: tuple[Path, Receipt]) -> None:
    folder, receipt = copied
    less = steps_of(folder).check(replace(receipt, inputs={"x": receipt.inputs["x"]}))
    assert not less.conforms
    assert differing(less) == ["names of inputs"]
    places = [replace(place, outputs={"y": place.outputs["y"]}) for place in receipt.places]
    less = steps_of(folder).check(replace(receipt, places=places), skip=["interpreter"])
    assert not less.conforms
    assert differing(less) == ["'n' on cpu with portable", "names of outputs on cpu with portable"]


def test_a_machine_with_changed_figures_needs_a_file(tmp_path: Path) -> None:
    machine = pf.load_machine("f1").varied(clock=0.5)
    steps = residues.in_folder(tmp_path, on=machine, parameters="bgv-toy-1024-listing1")
    steps.encrypt_or_begin(lambda _: {"x": np.arange(8)})
    with rejects(pf.errors.InputError, "f1"):
        steps.conform()


def test_conform_refuses_what_it_cannot_compare(copied: tuple[Path, Receipt]) -> None:
    folder, receipt = copied
    with rejects(pf.errors.InputError, "circuit_privacy"):
        integers.in_folder(folder, **TFHE, circuit_privacy=1).conform()
    with rejects(pf.errors.InputError, "machines"):
        steps_of(folder).conform(skip=["machines"])
    with rejects(pf.errors.InputError, "cpu", "gpu", "interpreter"):
        steps_of(folder).conform(skip=["cpu", "gpu", "interpreter"])
    (folder / "n.in.ct").unlink()
    with rejects(pf.errors.FileError, "n.in.ct"):
        steps_of(folder).check(receipt)


# -- files from others --------------------------------------------------------------------------------------------

WRONG: list[Any] = [
    None,
    True,
    -1,
    2**63,
    10**400,
    0.5,
    "",
    "x",
    "\x1b[31m",
    "/etc/x",
    "Ω" * 300,
    "0" * 64,
    [],
    [1],
    {},
    {"a": 1},
]


def altered(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of the data, and every wrong value there."""

    def leaves(own: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        items = own.items() if isinstance(own, dict) else enumerate(own) if isinstance(own, list) else ()
        for key, value in items:
            yield (*path, key)
            yield from leaves(value, (*path, key))

    for path in leaves(data, ()):
        for value in WRONG:
            copy = json.loads(json.dumps(data))
            place = copy
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = value
            yield path, copy


def test_a_receipt_reads_back(made: tuple[Path, Receipt]) -> None:
    receipt = made[1]
    assert Receipt.from_bytes(receipt.to_bytes()) == receipt


def test_every_field_of_a_receipt_altered(made: tuple[Path, Receipt]) -> None:
    """An error of ours, or a receipt whose texts are safe to print and whose names are safe as files."""
    refused = taken = 0
    for path, data in altered(made[1].to_dict()):
        try:
            found = Receipt.from_bytes(json.dumps(data).encode())
        except pf.Error:
            refused += 1
            continue
        except Exception as problem:
            raise AssertionError(path) from problem
        taken += 1
        assert all("/" not in name for name in (*found.inputs, *found.places[0].outputs))
        assert all(text.isprintable() for text in (found.program, found.parameters, *found.made_with.values()))
    assert refused > taken, (refused, taken)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"[" * 100_000, b"\xff", b'{"format": "polyfabric-receipt"}'])
def test_what_is_no_receipt_is_refused(data: bytes) -> None:
    with rejects(pf.errors.FileError, "r.json"):
        Receipt.from_bytes(data, "r.json")


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with rejects(pf.errors.FileError, "large.json"):
        Receipt.load(path)


# -- the command line ---------------------------------------------------------------------------------------------

FILE = """
import polyfabric as pf

@pf.program(x=pf.Int(0, 3))
def f(x):
    return pf.lookup(x, [1, 3, 0, 2])
"""


def test_the_command_line(polyfabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance, "INSTRUCTION_SETS", ("portable",))
    (tmp_path / "f.py").write_text(FILE)
    plan = ("--params", "toy-256", "--max-failure", "0")
    done = polyfabric("conform", "f.py", *plan, "--keys", "run", "--receipt", "r.json", "--input", "x=2", "--json")
    data = json.loads(done.out)
    assert data["conforms"]
    assert [place["on"] for place in data["places"]] == ["cpu", "interpreter"]
    assert {place["correct"] for place in data["places"]} == {True}
    (tmp_path / "run" / "client.key").unlink()
    check = ("conform", "f.py", *plan, "--keys", "run", "--check", "r.json", "--skip", "interpreter")
    assert polyfabric(*check).status == 0
    (tmp_path / "f.py").write_text(FILE.replace("0, 2]", "2, 2]"))
    found = polyfabric(*check, "--json")
    assert found.status == 1
    assert [own["what"] for own in json.loads(found.out)["compared"] if own["same"] is False] == ["program f"]


@pytest.mark.parametrize(
    ("options", "value"),
    [
        (("--receipt", "r.json"), "--keys"),
        (("--check", "r.json"), "--keys"),
        (("--on", "gpu"), "gpu"),
        (("--keys", "k", "--check", "r.json", "--input", "x=1"), "--input"),
    ],
)
def test_meaningless_options_are_refused(polyfabric, tmp_path: Path, options: tuple[str, ...], value: str) -> None:
    (tmp_path / "f.py").write_text(FILE)
    done = polyfabric("conform", "f.py", *options)
    assert done.status == 2
    assert value in done.err


def test_the_page_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance, "INSTRUCTION_SETS", (_native_set(),))
    page = (Path(__file__).resolve().parents[2] / "docs" / "receipts.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", page, re.S)
    exec(block, {})
    assert (tmp_path / "receipt.json").exists()


def test_the_format_on_the_page_is_the_receipts(made: tuple[Path, Receipt]) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "file-formats.md").read_text(encoding="utf-8")
    table = page.partition("## Receipts")[2]
    fields = {name for row in re.findall(r"^\| (`.*?) \|", table, re.M) for name in re.findall(r"`(\w+)`", row)}
    assert fields == made[1].to_dict().keys()
