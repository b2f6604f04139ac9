"""`polyfabric bench` measures processor time and reports wrong results."""

from __future__ import annotations

import time

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.cli import cli
from polyfabric.studies import benchmark


@pf.program(x=pf.Complex.vector(8))
def product(x):
    return x * x


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """One operation of either kind, with small sets."""
    monkeypatch.setattr(benchmark, "SLOT_SET", "toy-10")
    monkeypatch.setattr(benchmark, "SLOTS", 8)
    monkeypatch.setattr(benchmark, "BATCHES", (64, 512))
    monkeypatch.setattr(
        benchmark,
        "rows",
        lambda: iter([benchmark._in_batch("pbs", "lookup", "toy-256", 1), benchmark._on_slots("square", product)]),
    )


@pytest.mark.usefixtures("small")
def test_every_operation_is_timed_and_right(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench"], standalone_mode=False) == 0
    assert capsys.readouterr().out.count("right") == 2


@pytest.mark.usefixtures("small")
def test_times_are_processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of time that passes runs a thousand times too fast."""
    passed = time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: 1000 * passed())
    begin = time.process_time()
    found = list(benchmark.rows())
    assert all(0 < row.milliseconds < 1e3 * (time.process_time() - begin) for row in found), found


@pytest.mark.usefixtures("small")
def test_a_wrong_result_is_reported_and_ends_with_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = {"result": np.full(8, 9j)}
    monkeypatch.setattr("polyfabric.schemes.rns.RnsPlan.decrypt", lambda *_: wrong)
    assert cli.main(["bench"], standalone_mode=False) == 1
    assert "wrong" in capsys.readouterr().out
