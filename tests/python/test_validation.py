"""Does `polyfabric validate` count every published figure once, under its kind and its deviation?"""

from __future__ import annotations

import itertools
import json
import math
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from polyfabric.cli.validate import validate
from polyfabric.errors import FileError
from polyfabric.papers import validation

RESULTS = Path(__file__).resolve().parents[2] / "results"


NUMBERS = itertools.count()


def row(kind, deviation=None, *, published=1.0, paper="Morphling", cell=None):
    figures = {"published": published, "published_least": None, "published_most": None}
    model = None if deviation is None or published is None else published * (1 + deviation)
    place = {"paper": paper, "table": "V", "cell": cell or f"throughput {next(NUMBERS)}", "reason": "a schedule"}
    return {**place, **figures, "model": model, "deviation": deviation, "kind": kind}


ROWS = [
    row("predicted", 0.01),
    row("predicted", -0.09),
    row("predicted_under_reading", 0.2),
    row("predicted", -0.5),
    row("predicted", published=None),
    row("calibrated", 0.0),
    row("identity", 0.3),
    row("input", 0.0),
    row("other_system"),
    row("not_modelled"),
    row(None),
]


def test_published_figures_are_counted_under_their_kind_and_predictions_under_their_deviation():
    report = validation.validation({"Morphling": ROWS, "Strix": [row("predicted", 0.01, paper="Strix")]})
    assert report["papers"]["Morphling"] == {
        "cells": 10,
        "kinds": {
            "predicted": 4,
            "calibrated": 1,
            "identity": 1,
            "input": 1,
            "other_system": 1,
            "not_modelled": 1,
            "not_computed": 1,
        },
        "within": [1, 2, 3, 1],
    }
    assert report["papers"]["Strix"]["kinds"]["predicted"] == 1
    assert [one["deviation"] for one in report["worst"]] == [-0.5, 0.2, -0.09, 0.01, 0.01]
    assert report.table()


def test_a_figure_with_several_readings_counts_once_with_the_one_that_says_least():
    near, far = (row("predicted_under_reading", off, cell="share") for off in (0.0, -0.3))
    for rows in ([near, far], [far, near]):
        assert validation.counts(rows)["within"] == [0, 0, 0, 1]
    chosen = row("calibrated", 0.0, cell="share")
    assert validation.counts([far, chosen])["kinds"]["predicted"] == 0
    assert validation.counts([chosen, far])["cells"] == 1


def test_the_command_reads_recorded_rows():
    files = [str(RESULTS / f"reproduce-{name}.json") for name in ("fpt", "strix")]
    done = CliRunner().invoke(validate, [*files, "--json"])
    assert done.exit_code == 0
    for paper, file in zip(("FPT", "Strix"), files, strict=True):
        found = [one for one in json.loads(Path(file).read_text())["data"] if one["paper"] == paper]
        assert json.loads(done.output)["papers"][paper]["cells"] == len(validation.cells(found))
    assert CliRunner().invoke(validate, files).exit_code == 0
    assert CliRunner().invoke(validate, [files[0], files[0]]).exit_code != 0
    assert CliRunner().invoke(validate, [files[0], "--applications"]).exit_code != 0


def test_without_files_the_command_first_says_what_it_computes(monkeypatch):
    module = sys.modules[validate.callback.__module__]
    monkeypatch.setattr(module, "PAPERS", ["fpt", "strix"])
    monkeypatch.setattr(module, "reproduce", lambda paper, **_: {"rows": [row("predicted", 0.01, paper=paper)]})
    done = CliRunner().invoke(validate, ["--json"])
    assert list(json.loads(done.stdout)["papers"]) == ["fpt", "strix"]
    first, *papers = done.stderr.splitlines()
    assert "minutes" in first
    assert [line.split()[1] for line in papers] == ["fpt", "strix"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        '{"data": 3}',
        "[3]",
        '[{"paper": "FPT"}]',
        json.dumps([{**ROWS[0], "model": "1"}]),
        json.dumps([{**ROWS[0], "kind": ["predicted"]}]),
        json.dumps([{**ROWS[0], "cell": None}]),
        json.dumps([{**ROWS[0], "deviation": math.nan}]),
        json.dumps([{**ROWS[0], "deviation": 10**400}]),
        json.dumps([{**ROWS[0], "paper": "\ud800"}]),
        json.dumps([ROWS[0], {**ROWS[0], "paper": "Strix"}]),
        "[" * 100_000,
        "\ud800".encode("utf-8", "surrogatepass"),
    ],
)
def test_a_file_without_such_rows_is_refused(tmp_path, text):
    path = tmp_path / "rows.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FileError):
        validation.read(path)
