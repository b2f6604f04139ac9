"""A wrong result is never shown as right, whatever happened to the file; and a forked process computes."""

from __future__ import annotations

import math
import multiprocessing
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from damage import flipped as flipped_bytes
from polyfabric.host.units import security
from polyfabric.schemes.tfhe import TfhePlan
from rejects import rejects

ROOT = Path(__file__).parents[2]


@pf.program(x=pf.Mod(65537).vector(8))
def squares(x):
    return x * x + 1


@pf.program(x=pf.Mod(65537).vector(8))
def others(x):
    return x * x + 2


@pf.program(x=pf.Real.vector(8))
def scaled(x):
    return x * 0.25


@pf.program(x=pf.Int(0, 5).vector(2))
def turned(x):
    return pf.lookup(x, [2, 3, 4, 5, 0, 1])


@pf.program(x=pf.Int(0, 11).vector(2))
def wide(x):
    return pf.lookup(x, [(5 * value + 3) % 12 for value in range(12)])


VALUES = np.arange(8)


def flipped(path: Path, byte: int, bit: int) -> None:
    """Flips a bit of a file, and makes its checksum right again."""
    path.write_bytes(flipped_bytes(path.read_bytes(), byte, bit))


def test_bits_of_a_bgv_result(tmp_path: Path) -> None:
    squares.in_folder(tmp_path).make_keys()
    squares.in_folder(tmp_path).encrypt({"x": VALUES})
    squares.in_folder(tmp_path).execute()
    kept = tmp_path / "kept"
    shutil.copy(tmp_path / "result.out.ct", kept)
    size = kept.stat().st_size
    assert list(squares.in_folder(tmp_path).decrypt().value) == list(VALUES**2 + 1)
    for byte in [size // 2, size - 1000, size - 33, size - size // 3]:
        shutil.copy(kept, tmp_path / "result.out.ct")
        flipped(tmp_path / "result.out.ct", byte, 3)
        with pytest.raises(pf.Error, match=r"plan|modulus"):
            squares.in_folder(tmp_path).decrypt()


def test_bits_of_a_ckks_result(tmp_path: Path) -> None:
    scaled.in_folder(tmp_path).make_keys()
    scaled.in_folder(tmp_path).encrypt({"x": VALUES / 8})
    scaled.in_folder(tmp_path).execute()
    kept = tmp_path / "kept"
    shutil.copy(tmp_path / "result.out.ct", kept)
    size = kept.stat().st_size
    for byte in [size // 2, size - 1000, size - 33, size - size // 3]:
        shutil.copy(kept, tmp_path / "result.out.ct")
        flipped(tmp_path / "result.out.ct", byte, 2)
        with pytest.raises(pf.Error, match=r"plan|modulus"):
            scaled.in_folder(tmp_path).decrypt()


def test_bits_of_a_tfhe_result(tmp_path: Path) -> None:
    turned.in_folder(tmp_path, parameters="toy-256", max_failure=0.0).make_keys()
    turned.in_folder(tmp_path, max_failure=0.0).encrypt({"x": [1, 4]})
    turned.in_folder(tmp_path, max_failure=0.0).execute(threads=1)
    assert turned.in_folder(tmp_path, max_failure=0.0).decrypt().value == [3, 0]
    # The body of the last ciphertext: its bit 26 is 1/64 of the torus, which errors do not reach, its bit 30 a step and a half.
    path = tmp_path / "result.out.ct"
    kept = tmp_path / "kept"
    shutil.copy(path, kept)
    for byte, bit in [(-33, 2), (-33, 6)]:
        shutil.copy(kept, path)
        flipped(path, path.stat().st_size + byte, bit)
        with pytest.raises(pf.Error, match="damaged"):
            turned.in_folder(tmp_path, max_failure=0.0).decrypt()
    # Bit 31 is half of the torus, three whole steps: another value that the program may give. Encryption hides, it does not sign.
    shutil.copy(kept, path)
    flipped(path, path.stat().st_size - 33, 7)
    assert turned.in_folder(tmp_path, max_failure=0.0).decrypt().value == [3, 3]


def test_ciphertexts_of_another_program_or_step(tmp_path: Path) -> None:
    squares.in_folder(tmp_path / "squares").make_keys()
    squares.in_folder(tmp_path / "squares").encrypt({"x": VALUES})
    squares.in_folder(tmp_path / "squares").execute()
    shutil.copytree(tmp_path / "squares", tmp_path / "other")
    with rejects(pf.Error, "squares", "others"):
        others.in_folder(tmp_path / "other").decrypt()
    shutil.copy(tmp_path / "other" / "x.in.ct", tmp_path / "other" / "result.out.ct")
    with pytest.raises(pf.Error, match=r'it is input "x" of program squares .*, but output "result"'):
        squares.in_folder(tmp_path / "other").decrypt()


def _in_a_child(scheme: str) -> list[float]:
    program, given = {"bgv": (squares, VALUES), "ckks": (scaled, VALUES / 8), "tfhe": (turned, [1, 4])}[scheme]
    return [round(value, 5) for value in program.run({"x": given}, threads=2).value]


@pytest.mark.parametrize("scheme", ["tfhe", "ckks", "bgv"])
def test_a_forked_child_computes(scheme: str) -> None:
    """After its parent has computed, so that the shared threads are there, and in the child are not."""
    expected = _in_a_child(scheme)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_in_a_child, (scheme,)).get(timeout=120) == expected


def test_failure_probability_is_2_to_the_minus_128_unless_more_is_accepted() -> None:
    with rejects(pf.errors.NoiseError, "2^-128.0"):
        wide.cost("strix-II")
    report = wide.cost("strix-II", max_failure=-10).to_dict()
    assert -128 < report["noise"]["log2_failure"] < -10
    assert wide.cost().to_dict()["noise"]["log2_failure"] <= -128


@pf.program(x=pf.Torus(20))
def doubled(x):
    return x + x


def test_fractions_of_the_torus_fail_too() -> None:
    """Results are multiples of what inputs are: a set whose noise is as large is not chosen, and refused."""
    run = doubled.run({"x": 12345})
    assert run.correct
    assert run.value == 24690
    assert -1e6 < doubled.cost().to_dict()["noise"]["log2_failure"] <= -128
    with pytest.raises(pf.errors.NoiseError, match=r'output "result" .*, more than 2\^-128'):
        pf.program("finer", x=pf.Torus(30))(lambda x: x + x).cost("toy-256")


@pf.program(x=pf.Int(0, 3).vector(2))
def weighed(x):
    return pf.lookup(3 * x, [value % 4 for value in range(10)])


def test_outputs_hide_how_they_were_computed(tmp_path: Path) -> None:
    """With circuit privacy results are right, differ from one execution to the next, and the plan counts the noise."""
    report = weighed.cost(circuit_privacy=4)
    assert "circuit privacy      4 bits a value, by noise of 2^-" in report.table()
    noise = report.to_dict()["noise"]
    assert noise["log2_failure"] <= -128
    assert noise["circuit_privacy_bits"] == 4
    run = weighed.run({"x": [1, 3]}, circuit_privacy=4)
    assert run.correct
    assert run.value == [3, 1]
    specification = pf.Specification.of(weighed, circuit_privacy=4)
    client = pf.Client(specification)
    request = client.encrypt({"x": [1, 3]})
    server = pf.Server(weighed, client.evaluation_key, circuit_privacy=4)
    answers = [server.execute(request) for _ in range(2)]
    assert [client.decrypt(answer) for answer in answers] == [[3, 1]] * 2
    first, second = (np.frombuffer(answer.parts["result"][-4096:-32], np.uint32) for answer in answers)
    assert np.mean(first == second) < 0.01, "masks are drawn anew"
    plain = pf.Server(weighed, client.evaluation_key, parameters=specification.context.parameters.name)
    same = [plain.execute(request).parts["result"] for _ in range(2)]
    assert same[0] == same[1], "without, a result is a function of the request, and tells of the program"

    weighed.in_folder(tmp_path, circuit_privacy=4).make_keys()
    weighed.in_folder(tmp_path, circuit_privacy=4).encrypt({"x": [1, 3]})
    weighed.in_folder(tmp_path, circuit_privacy=4).execute(threads=1)
    assert weighed.in_folder(tmp_path, circuit_privacy=4).decrypt().value == [3, 1]


def test_circuit_privacy_without_room_is_refused() -> None:
    with pytest.raises(pf.errors.NoiseError, match=r"59 bits of circuit privacy.* bits fit.*--circuit-privacy"):
        weighed.cost(circuit_privacy=59)
    with rejects(pf.errors.InputError, "circuit_privacy='much'"):
        weighed.run({"x": [1, 3]}, circuit_privacy="much")  # type: ignore[arg-type]
    # The server cannot detect that its key belongs to another program.
    key = pf.Client(pf.Specification.of(weighed)).evaluation_key
    for bits, words in ((-1, "-1 bits of circuit privacy; ask for 0 to 60"), ("much", "as 10")):
        with pytest.raises(pf.errors.InputError, match=f"{words}$"):
            pf.Server(weighed, key, circuit_privacy=bits)  # type: ignore[arg-type]
    with rejects(pf.errors.InputError, "circuit_privacy=4", "TFHE"):
        pf.Specification.of(squares, circuit_privacy=4)


def power(kind: Any, depth: int) -> Any:
    def program(x: Any) -> Any:
        for _ in range(depth):
            x = x * x
        return x

    return pf.program(f"power-{depth}", x=kind)(program)


@pytest.mark.parametrize("kind", [pf.Mod(65537).vector(8), pf.Real.vector(8)], ids=["bgv", "ckks"])
def test_sets_that_are_chosen_have_128_bits_by_the_guidelines_and_by_the_estimator(kind: Any) -> None:
    chosen = [power(kind, depth).plan().parameters.to_dict() for depth in (1, 2, 4, 7, 9, 12)]
    assert len({data["name"] for data in chosen}) > 4
    for data in chosen:
        # The smaller one is printed.
        assert 128 <= data["security_bits"] <= data["estimated_bits"], data
        assert data["warning"] is None


def test_the_table_of_estimates_records_how_it_was_made() -> None:
    table = tomllib.loads((ROOT / "crates/schemes/src/estimates.toml").read_text(encoding="utf-8"))
    run = table["run"]
    assert run["command"].endswith("scripts/check-security")
    assert re.fullmatch("[0-9a-f]{12}", run["revision"])
    assert run["revision"] in run["estimator"]
    binary = [row for row in table["instance"] if row["secret"] == "binary" and row["dimension"] <= 2048]
    assert all({"primal-hybrid", "primal-hybrid-mitm-babai"} <= row["hybrids"].keys() for row in binary)
    # Without the estimator the script says what is missing, and does not pass.
    done = subprocess.run(
        [sys.executable, "-S", ROOT / "scripts/check-security"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "put Sage and the lattice estimator on the path" in done.stderr


def test_levels_of_security_are_never_rounded_up() -> None:
    assert [security(bits) for bits in (127.59, 127.99, 128.0, 8.7)] == ["127.5", "127.9", "128.0", "8.7"]


def test_a_machine_reports_the_limits_of_its_look_ups(polyfabric: Any) -> None:
    printed = polyfabric("params", "--on", "morphling").out
    assert re.search(r"^morphling-C +only 2\^-\d+ ", printed, re.M)
    assert "fits: fails with 2^-128 at most" in " ".join(printed.split())


def test_sets_state_failures_for_every_key() -> None:
    """Errors of one key share a mean, which is in the figure at its bound: mean squares over all keys alone give a smaller one."""
    compared = 0
    for found in pf.parameter_sets("tfhe", toys=True):
        data = found.to_dict()
        noise, chained = data["variances"], data["chained"]
        if chained is None:
            continue
        square = noise["blind_rotation"] + noise["key_switch"] + noise["modulus_switch"]
        average = math.erfc(0.25 / 2 ** max(chained["message_bits"], 1) / math.sqrt(2 * square))
        # Further out the mean ends at its bound, where a normal variable's tail goes on.
        if 2.0**-200 < average < 0.5:
            assert chained["log2_failure"] > math.log2(average), found.name
            compared += 1
    assert compared > 10


def test_programs_on_slots_state_how_likely_their_bounds_are_passed() -> None:
    exact, approximate = squares.cost(), scaled.cost()
    assert re.search(r"\nfails +with probability 2\^-", exact.table())
    assert exact.to_dict()["log2_failure"] < -20
    assert "2^-40.0" in approximate.table()
    assert squares.run({"x": VALUES}).to_dict()["log2_failure"] == exact.to_dict()["log2_failure"]


@pytest.mark.parametrize("name", ["pbs", "pbs+ks", "keyswitch"])
def test_a_built_in_program_states_its_whole_batch_and_bounds_its_phases(name: str) -> None:
    one, many = (TfhePlan.built_in(name, "polyfabric-3-p128-t64", batch) for batch in (1, 64))
    assert many.log2_failure == pytest.approx(one.log2_failure + 6)
    # Within half the distance of two messages, and so much less that a damaged phase is seen.
    half = 2.0 ** -(one.noise["message_bits"] + 2)
    assert 0 < one.error_bounds["y"] == many.error_bounds["y"] <= half


def test_look_ups_that_read_the_same_share_a_key_switch() -> None:
    table = pf.program(i=pf.UInt(8), tables="lookups")(lambda i: pf.lookup(i, lambda v: v * v % 251, result=pf.UInt(8)))
    kernel = table.plan().kernel
    # Those of both halves of the index, each by itself.
    assert kernel.rotation_batches[0] >= 32
    assert kernel.key_switch_batches[0] == 2
