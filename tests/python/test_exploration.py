"""Does a sweep give the best sizes at each area, go on where it was stopped, and name the sizes that cannot be?"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polyfabric as pf
import pytest
from polyfabric import exploration
from polyfabric.exploration import Size, Task, explore, sizes

FILE = Path(__file__).resolve().parents[2] / "machines" / "f1.toml"
TASK = Task.of("f1", ["permute@12"])
POINTS = [*sizes([4, 8], [16], [1, 2]), Size(16, 16, 2, "clos"), Size(33, 16, 2)]


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    results = tmp_path_factory.mktemp("sweep") / "results.jsonl"
    calls = []
    report = explore(TASK, POINTS, results=results, jobs=1, progress=lambda *call: calls.append(call))
    assert calls[0] == ("explore", 0, 7)
    assert calls[-1] == ("explore", 7, 7)
    return results, report


def test_the_front_is_what_nothing_beats(swept):
    points = swept[1]["points"]
    assert points[0] | {"own": True, "performance": 1.0} == points[0]
    assert (points[0]["clusters"], points[0]["banks"], points[0]["stacks"]) == (16, 16, 2)
    assert points[0]["area_mm2"] == pytest.approx(151.4, abs=0.1)
    found = [p for p in points if "error" not in p]
    assert len(found) == 6
    for p in found:
        better = [q for q in found if q["area_mm2"] <= p["area_mm2"] and q["performance"] >= p["performance"]]
        assert p["pareto"] == (better == [p])
        assert p["performance"] == pytest.approx(points[0]["seconds"]["permute@12"] / p["seconds"]["permute@12"])


def test_a_size_that_cannot_be_is_named_with_its_cause(swept):
    (failed,) = [p for p in swept[1]["points"] if "error" in p]
    assert failed["clusters"] == 33
    assert "lies between 1 and 32" in failed["error"]
    assert "lies between 1 and 32" in " ".join(swept[1].table().split())


def test_the_sweep_is_drawn(swept, tmp_path):
    assert swept[1].table().count("█") == sum(p.get("pareto", False) for p in swept[1]["points"]) + 1
    swept[1].plot(tmp_path / "sweep.svg")
    assert "<svg" in (tmp_path / "sweep.svg").read_text()


def test_what_a_results_file_holds_is_not_computed_again(swept, tmp_path, monkeypatch):
    lines = swept[0].read_text().splitlines()
    results = tmp_path / "results.jsonl"
    # Stopped in the middle of a line.
    results.write_text("\n".join(lines[:3]) + "\n" + lines[3][:20])
    asked = []
    evaluate = exploration.evaluate
    monkeypatch.setattr(exploration, "evaluate", lambda task, size: asked.append(size) or evaluate(task, size))
    monkeypatch.setattr(exploration, "_workers", _here)
    held = [json.loads(line)["point"] for line in lines[:3]]
    report = explore(TASK, POINTS, results=results)
    assert len(asked) == 7 - sum("error" not in point for point in held)
    assert report["points"] == swept[1]["points"]
    asked.clear()
    explore(TASK, POINTS, results=results)
    # What failed is tried again; another program is another task.
    assert asked == [Size(33, 16, 2)]
    asked.clear()
    explore(Task.of("f1", ["ntt@12"]), POINTS[:1], results=results)
    assert len(asked) == 2


class _here:  # noqa: N801 - stands for a function
    """Workers in this process."""

    def __init__(self, jobs, dask):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def submit(self, work, *arguments):
        from concurrent.futures import Future

        future = Future()
        future.set_result(work(*arguments))
        return future


def test_another_file_is_no_results_file(tmp_path):
    results = tmp_path / "results.jsonl"
    results.write_text("{}\nno json\n")
    with pytest.raises(pf.FileError, match=r"results\.jsonl:1: no line of a results file"):
        explore(TASK, POINTS, results=results)


def test_a_file_of_something_else_stays_as_it_is(tmp_path):
    for text in ("notes", "notes\nmore", '{"key": 1}\n'):
        notes = tmp_path / "notes.txt"
        notes.write_text(text)
        with pytest.raises(pf.FileError, match=r"notes\.txt.*no "):
            explore(TASK, POINTS, results=notes)
        assert notes.read_text() == text


def test_ones_own_machine_is_swept(polyfabric, tmp_path):
    text = FILE.read_text().replace('value = 200, unit = "cycles"', 'value = 300, unit = "cycles"')
    (tmp_path / "mine.toml").write_text(text)
    common = ("explore", "mine.toml", "--programs", "ntt@12", "--clusters", "8", "--banks", "8", "--jobs", "1")
    done = polyfabric(*common, "--stacks", "1", "--json")
    assert done.status == 0, done.err
    assert [p["clusters"] for p in json.loads(done.out)["points"]] == [16, 8]
    (tmp_path / "mine.toml").write_text(text.replace("[units.ntt]", "[units.nttt]"))
    done = polyfabric(*common)
    assert done.status == 2
    assert "Did you mean `units.ntt.count`?" in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("morphling",), "units.cluster.count"),
        (("f1", "--clusters", "2,x"), "not whole numbers"),
        (("f1", "--banks", "0"), "less than one"),
        (("f1", "--programs", "pbs"), "no program of CKKS or BGV"),
        (("none.toml",), "cannot read the machine file"),
    ],
)
def test_what_cannot_be_swept_is_told(polyfabric, arguments, message):
    done = polyfabric("explore", *arguments, "--jobs", "1")
    assert done.status == 2
    assert message in " ".join(done.err.split())


def test_dask_is_asked_for_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(pf.RunError, match=r"pip install 'polyfabric\[dask\]'"):
        explore(TASK, POINTS, dask="tcp://127.0.0.1:1")


def test_a_dask_cluster_gives_the_same(swept):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        report = explore(TASK, POINTS, dask=cluster.scheduler_address)
    assert report["points"] == swept[1]["points"]
