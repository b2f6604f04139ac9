"""The workloads of the fhe-benchmarking suite, through its folders and stages, compared with Python's integers and numpy."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SUITE = ROOT / "bench" / "suite"
EDGES = [0, 1, 255, 256, 2**32, 2**63, 2**64 - 1, 2**64 - 1]


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The modules, which find each other by their bare names."""
    monkeypatch.syspath_prepend(SUITE)
    names = ("instance", "integers", "mlp", "similarity", "stage", "submit")
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in names})
    for name in names:
        sys.modules.pop(name, None)


def run(workload: Any, instance: Any) -> None:
    instance.io.mkdir(parents=True, exist_ok=True)
    for stage in workload.stages.values():
        stage(instance)


@pytest.mark.parametrize(
    ("name", "size", "x", "y"),
    [
        ("addition", "single", [2**64 - 1], [3]),
        ("addition", "small", EDGES, EDGES[::-1]),
        ("multiplication", "small", EDGES, [0x0123456789ABCDEF, *EDGES[1:]]),
        pytest.param("multiplication", "single", [2**64 - 59], [0x9E3779B97F4A7C15], marks=pytest.mark.full),
    ],
)
def test_integers_are_pythons(suite: Any, tmp_path: Path, name: str, size: str, x: list[int], y: list[int]) -> None:
    instance = suite.instance.Instance(tmp_path, size)
    instance.data.mkdir(parents=True)
    for side, values in (("lhs", x), ("rhs", y)):
        (instance.data / f"{side}.txt").write_text("".join(f"{value}\n" for value in values))
    run(suite.integers.WORKLOADS[name], instance)
    found = [int(line) for line in (instance.io / "cleartext_output" / "out.txt").read_text().split()]
    expected = [a + b if name == "addition" else a * b for a, b in zip(x, y, strict=True)]
    assert found == [value % 2**64 for value in expected]


@pytest.mark.parametrize("count_only", [False, pytest.param(True, marks=pytest.mark.full)])
def test_matches_are_numpys(suite: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count_only: bool) -> None:
    # A flatter step on fewer levels: these similarities are far from the threshold. Three parts, the last one with padding.
    monkeypatch.setattr(suite.similarity, "STEEPNESS", 12.0)
    monkeypatch.setattr(suite.similarity, "DEGREE", 127)
    layout = suite.similarity.Layout(records=40, dimension=5, slots=16)
    monkeypatch.setitem(suite.similarity.SIZES, "toy", layout)
    rng = np.random.default_rng(7)
    records = np.eye(5, dtype=np.float32)[rng.integers(5, size=40)]
    payloads = rng.integers(512, size=(40, 7), dtype=np.int16)
    instance = suite.instance.Instance(tmp_path, "toy", count_only=count_only)
    instance.data.mkdir(parents=True)
    for name, values in (("db", records), ("payloads", payloads), ("query", records[3])):
        values.tofile(instance.data / f"{name}.bin")
    run(suite.similarity.Similarity(), instance)
    matches = records @ records[3] > 0.8
    assert 1 < matches.sum() < 40
    if count_only:
        assert np.fromfile(instance.io / "results.bin", np.int64).tolist() == [matches.sum()]
    else:
        found = np.fromfile(instance.io / "results.bin", np.int16).reshape(-1, 7)
        assert found.tolist() == sorted(payloads[matches].tolist())


@pytest.mark.parametrize(("records", "slots"), [(1, 16), (16, 16), (17, 16), (3, 16)])
def test_columns_survive_packing(suite: Any, records: int, slots: int) -> None:
    layout = suite.similarity.Layout(records, 7, slots)
    columns = np.arange(7 * min(records, slots), dtype=float).reshape(7, -1)
    found = layout.unpacked(layout.packed(columns), 7)
    assert np.array_equal(found[:, : columns.shape[1]], columns)
    assert not found[:, columns.shape[1] :].any()


def test_a_submission_needs_a_clone(suite: Any, tmp_path: Path) -> None:
    (tmp_path / "submission").mkdir()
    with pytest.raises(SystemExit, match="harness"):
        suite.submit.submit("multiplication", tmp_path)
    assert (tmp_path / "submission").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["addition", "client_fly", "single"],
        ["addition", "client_key_generation", "huge"],
        ["addition", "client_key_generation"],
    ],
)
def test_a_wrong_stage_or_instance_is_named(suite: Any, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        suite.stage.main(words)
    message = capsys.readouterr().err
    assert any(word in message for word in ("client_fly", "'huge'", "''"))


def submission(suite: Any, name: str, root: Path, build: str) -> Callable[..., None]:
    """A submission, built by its script; a function that calls a stage as the harness does, from the clone's folder."""
    (root / "harness").mkdir()
    (root / "harness" / "run_submission.py").touch()
    suite.submit.submit(name, root)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

    def call(*words: Path | str) -> None:
        subprocess.run(words, cwd=root, env={**os.environ, "PATH": path}, check=True)

    call(root / "scripts" / "build_task.sh", "./submission")
    return lambda stage, *words: call(root / "submission" / build / stage, *words)


@pytest.mark.full
def test_a_submission_of_products_runs_by_its_commands(suite: Any, tmp_path: Path) -> None:
    """With a name, or with a name and the number of pairs."""
    call = submission(suite, "multiplication", tmp_path, "target/release")
    data = tmp_path / "datasets" / "small"
    data.mkdir(parents=True)
    (data / "lhs.txt").write_text("3\n18446744073709551615\n")
    (data / "rhs.txt").write_text("5\n18446744073709551615\n")
    (tmp_path / "io" / "small").mkdir(parents=True)
    call("client_preprocess_input", "1000")
    call("client_key_generation", "small")
    call("client_encode_encrypt_input", "small")
    for _ in range(2):
        call("server_encrypted_compute", "small", "1000")
        call("client_decrypt_decode", "small", "1000")
        call("client_postprocess", "small", "1000")
    assert (tmp_path / "io" / "small" / "cleartext_output" / "out.txt").read_text().split() == ["15", "1"]


@pytest.mark.full
@pytest.mark.parametrize("count", [False, True])
def test_a_submission_of_a_search_runs_by_its_commands(suite: Any, tmp_path: Path, count: bool) -> None:
    """With the number of the size, and options; the table is the harness', and the query another one in each run."""
    call = submission(suite, "similarity", tmp_path, "build")
    layout, rng = suite.similarity.SIZES["toy"], np.random.default_rng(3)
    records = np.eye(layout.dimension, dtype=np.float32)[rng.integers(layout.dimension, size=layout.records)]
    payloads = rng.integers(512, size=(layout.records, 7), dtype=np.int16)
    instance = suite.instance.Instance(tmp_path, "toy", count_only=count)
    instance.data.mkdir(parents=True)
    instance.io.mkdir(parents=True)
    records.tofile(instance.data / "db.bin")
    payloads.tofile(instance.data / "payloads.bin")
    words = ["0", *(["--count_only"] if count else []), "--seed", "5"]
    for stage in ("preprocess_dataset", "key_generation", "encode_encrypt_db"):
        call(f"client_{stage}", *words)
    call("server_preprocess_dataset", *words)
    for wanted in (0, 7):
        records[wanted].tofile(instance.data / "query.bin")
        call("client_preprocess_query", *words)
        call("client_encode_encrypt_query", *words)
        call("server_encrypted_compute", *words)
        call("client_decrypt_decode", *words)
        call("client_postprocess", *words)
        matches = records @ records[wanted] > 0.8
        assert 0 < matches.sum() < layout.records
        result = instance.io / "results.bin"
        if count:
            assert np.fromfile(result, np.int64).tolist() == [matches.sum()]
        else:
            assert np.fromfile(result, np.int16).reshape(-1, 7).tolist() == sorted(payloads[matches].tolist())


@pytest.mark.full
def test_a_submission_of_a_network_runs_by_its_commands(suite: Any, tmp_path: Path) -> None:
    """With the number of the size; the server's model is prepared without one."""
    call = submission(suite, "mlp", tmp_path, "build")
    instance = suite.instance.Instance(tmp_path, "single")
    pixels, labels = suite.mlp.digits()
    (instance.data / "intermediate").mkdir(parents=True)
    instance.io.mkdir(parents=True)
    call("client_key_generation", "0")
    call("server_preprocess_model")
    for image in (0, 4):
        np.savetxt(instance.data / "intermediate" / "test_pixels.txt", pixels[image : image + 1], fmt="%.6f")
        for stage in ("preprocess_input", "encode_encrypt_input"):
            call(f"client_{stage}", "0")
        call("server_encrypted_compute", "0")
        for stage in ("decrypt_decode", "postprocess"):
            call(f"client_{stage}", "0")
        found = np.loadtxt(instance.io / "encrypted_model_predictions.txt", ndmin=1)
        assert found.tolist() == [labels[image]]


@pytest.mark.full
def test_the_runner_checks_every_workload() -> None:
    cases = ["multiplication/small", "mlp/single", "mlp/small", "similarity/toy", "count/toy"]
    subprocess.run([sys.executable, str(SUITE / "run.py"), *cases], check=True)
