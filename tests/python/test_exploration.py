"""A sweep finds the best points at each area, continues after an interruption, and names impossible points."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polyfabric as pf
import pytest
from polyfabric.accelerators.sweep_axes import axis
from polyfabric.apps import programs
from polyfabric.schemes.options import PlanOptions
from polyfabric.studies import exploration
from polyfabric.studies.exploration import Task, own_axes, points, sweep
from rejects import rejects

FILE = Path(__file__).resolve().parents[2] / "machines" / "f1.toml"
OWN = FILE.parents[1] / "examples" / "own-tfhe-machine.toml"
TASK = Task.of("f1", ["permute@12"])
CLUSTERS = "units.cluster.count"
AXES = [
    axis(f"{CLUSTERS}=4,8,33"),
    axis("channels.hbm.count=1,2;channels.hbm.bandwidth=0.512,1.024"),
]


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    results = tmp_path_factory.mktemp("sweep") / "results.jsonl"
    calls = []
    report = sweep(TASK, AXES, results=results, jobs=1, progress=lambda *call: calls.append(call))
    assert calls[0] == ("explore", 0, 7)
    assert calls[-1] == ("explore", 7, 7)
    return results, report


def test_the_front_has_the_undominated_points(swept):
    own = swept[1]["points"][0]
    assert own | {"own": True, "performance": 1.0} == own
    assert own["values"] == {
        CLUSTERS: 16.0,
        "channels.hbm.count": 2.0,
        "channels.hbm.bandwidth": 1.024,
    }
    assert own["area_mm2"] == pytest.approx(151.4, abs=0.1)
    found = [p for p in swept[1]["points"] if "error" not in p]
    assert len(found) == 5
    for p in found:
        better = [q for q in found if q["area_mm2"] <= p["area_mm2"] and q["performance"] >= p["performance"]]
        assert p["pareto"] == (better == [p])
        assert p["performance"] == pytest.approx(own["seconds"]["permute@12"] / p["seconds"]["permute@12"])


def test_a_point_that_cannot_be_is_named_with_its_cause(swept):
    failed = [p for p in swept[1]["points"] if "error" in p]
    assert [p["values"][CLUSTERS] for p in failed] == [33.0, 33.0]
    assert "lies between 1 and 32" in failed[0]["error"]
    assert "lies between 1 and 32" in " ".join(swept[1].table().split())


def test_the_sweep_is_drawn_with_the_papers_own_point(swept, tmp_path):
    best = sum(p.get("pareto", False) and not p["own"] for p in swept[1]["points"])
    # In the drawing, and once in its title.
    assert swept[1].table().count("█") == best + 1
    assert swept[1].table().count("◆") == 2
    swept[1].plot(tmp_path / "sweep.svg")
    assert "<svg" in (tmp_path / "sweep.svg").read_text()


def test_points_in_a_results_file_are_not_computed_again(swept, tmp_path, monkeypatch):
    lines = swept[0].read_text().splitlines()
    results = tmp_path / "results.jsonl"
    # Stopped in the middle of a line.
    results.write_text("\n".join(lines[:3]) + "\n" + lines[3][:20])
    asked = []
    evaluate = exploration.evaluate
    monkeypatch.setattr(exploration, "evaluate", lambda task, point: asked.append(point) or evaluate(task, point))
    monkeypatch.setattr(exploration, "_workers", _here)
    held = [json.loads(line)["point"] for line in lines[:3]]
    report = sweep(TASK, AXES, results=results)
    assert len(asked) == 7 - sum("error" not in point for point in held)
    assert report["points"] == swept[1]["points"]
    asked.clear()
    sweep(TASK, AXES, results=results)
    # Failed tasks are tried again; another program is another task.
    assert [dict(point.values)[CLUSTERS] for point in asked] == [33.0, 33.0]
    asked.clear()
    sweep(Task.of("f1", ["ntt@12"]), [axis(f"{CLUSTERS}=8")], results=results)
    assert len(asked) == 2


def test_where_the_own_point_fails_the_others_stand(monkeypatch):
    def evaluate(task, point):
        found = {"values": dict(point.values)}
        if dict(point.values)[CLUSTERS] == 16:
            return {**found, "error": "the scratchpad is full"}
        if dict(point.values)[CLUSTERS] == 4:
            raise RuntimeError("lost")
        return {**found, "area_mm2": 1.0, "seconds": {"permute@12": 1.0}, "energy_j": {"permute@12": 1.0}}

    monkeypatch.setattr(exploration, "evaluate", evaluate)
    monkeypatch.setattr(exploration, "_workers", _here)
    report = sweep(TASK, [axis(f"{CLUSTERS}=4,8")])
    assert [p.get("error", "")[:25] for p in report["points"]] == [
        "the scratchpad is full",
        "a worker failed: RuntimeE",
        "",
    ]
    assert report["points"][2]["performance"] == 1.0
    assert "the scratchpad is full" in report.table()
    assert "over that of the first point with a result" in " ".join(report.table().split())
    with rejects(pf.errors.MachineError, "the scratchpad is full"):
        sweep(TASK, [axis(f"{CLUSTERS}=4")])


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
        try:
            future.set_result(work(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


def test_another_file_is_rejected_as_a_results_file(tmp_path):
    results = tmp_path / "results.jsonl"
    for text in ("{}\nno json\n", "[" * 100_000 + "\n"):
        results.write_text(text)
        with rejects(pf.errors.FileError, "results.jsonl:1"):
            sweep(TASK, AXES, results=results)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *[("seconds", {"permute@12": value}) for value in (0, -1.0, float("nan"), float("inf"), "1e-3", True, None)],
        *[("area_mm2", value) for value in (0, -5.0, float("nan"), 1e400, "7", True, [], {})],
        *[
            ("energy_j", value)
            for value in (5, {}, {"permute@12": -1}, {"permute@12": "1"}, {"permute@12": float("nan")})
        ],
        *[("values", value) for value in (None, {}, {CLUSTERS: 9.0})],
        ("area_mm2", None),
    ],
)
def test_a_line_that_no_sweep_wrote_is_reported(swept, tmp_path, key, value):
    line, *_ = swept[0].read_text().splitlines()
    entry = json.loads(line)
    entry["point"][key] = value
    results = tmp_path / "results.jsonl"
    results.write_text(f"{json.dumps(entry)}\n")
    with rejects(pf.errors.FileError, "results.jsonl:1"):
        sweep(TASK, AXES, results=results)


def test_a_pipe_or_a_device_is_rejected_as_a_results_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(pf.errors.FileError, match=re.escape(str(path))):
            sweep(TASK, AXES, results=path)


def test_a_file_of_something_else_stays_as_it_is(tmp_path):
    for text in ("notes", "notes\nmore", '{"key": 1}\n'):
        notes = tmp_path / "notes.txt"
        notes.write_text(text)
        with pytest.raises(pf.errors.FileError, match=r"notes\.txt"):
            sweep(TASK, AXES, results=notes)
        assert notes.read_text() == text


def test_ones_own_machine_is_swept_and_a_changed_file_agrees(polyfabric, tmp_path):
    text = FILE.read_text().replace('value = 200, unit = "cycles"', 'value = 300, unit = "cycles"')
    (tmp_path / "mine.toml").write_text(text)
    common = ("explore", "mine.toml", "--programs", "ntt@12", "--jobs", "1")
    done = polyfabric(*common, "--axis", f"{CLUSTERS}=8", "--json")
    assert done.status == 0, done.err
    own, other = json.loads(done.out)["points"]
    assert [p["values"] for p in (own, other)] == [{CLUSTERS: 16.0}, {CLUSTERS: 8.0}]
    # The file with that figure written into it is the same machine for `simulate`: area, time and energy.
    fewer = text.replace(
        'count = { value = 16, unit = "units", source = "section 3" }',
        'count = { value = 8, unit = "units", source = "mine" }',
    )
    (tmp_path / "fewer.toml").write_text(fewer)
    done = polyfabric("simulate", "ntt", "--on", "fewer.toml", "--params", "12", "--json")
    assert done.status == 0, done.err
    report = json.loads(done.out)
    assert report["area_mm2"] == pytest.approx(other["area_mm2"])
    assert report["seconds"] == other["seconds"]["ntt@12"]
    assert report["energy_j"] == pytest.approx(other["energy_j"]["ntt@12"])
    assert {part["kind"] for part in report["components"]} == {"input", "scaled"}
    (tmp_path / "mine.toml").write_text(text.replace("[units.ntt]", "[units.nttt]"))
    done = polyfabric(*common)
    assert done.status == 2
    assert "Did you mean `units.ntt.count`?" in " ".join(done.err.split())


def test_a_machine_of_tfhe_is_swept_on_its_own_figures(polyfabric):
    done = polyfabric(
        *("explore", "morphling", "--axis", "units.xpu.count=2,4", "--axis", "memories.private_a1.capacity=4,8"),
        *("--batch", "128", "--jobs", "1", "--json"),
    )
    assert done.status == 0, done.err
    data = json.loads(done.out)
    points = {tuple(p["values"].values()): p for p in data["points"]}
    half, own, larger = points[2.0, 4.0], points[4.0, 4.0], points[4.0, 8.0]
    assert own["own"] is True
    assert own["area_mm2"] == pytest.approx(74.61, abs=0.01)
    # Two of four XPUs of 9.2 mm², and their links of a network of 0.21; twice the buffer of 8.31.
    assert half["area_mm2"] == pytest.approx(own["area_mm2"] - 2 * 9.2 - 0.21 * (4096 + 1024 + 512) / 2 / 7168)
    assert larger["area_mm2"] == pytest.approx(own["area_mm2"] + 8.31)
    assert half["performance"] < 0.7


def test_a_machine_file_has_a_sweep_or_the_error_says_that_it_has_none():
    swept = [machine.name for machine in pf.machines() if machine.to_dict().get("sweep")]
    assert len(swept) >= 2
    for name in swept:
        task = Task.of(name)
        assert task.programs
        assert len(points(own_axes(task))) > 4
        assert points(own_axes(task))[0].of(task.load()).native.area() > 0
    for name in {machine.name for machine in pf.machines()} - set(swept):
        with pytest.raises(pf.errors.InputError, match=r"no \[\[sweep\]\] table"):
            own_axes(Task.of(name, ["pbs"]))


def test_a_clock_that_the_parts_do_not_reach_is_refused():
    machine = TASK.load()
    with rejects(pf.errors.MachineError, "clock"):
        machine.native.changed([("clock", 2 * machine.native.figure("clock"))])


def test_a_change_that_no_law_follows_has_no_area_for_sweeps_and_for_a_changed_file(polyfabric, tmp_path):
    # Of this machine the area of the whole chip alone is known.
    name, key = "strix", "units.core.count"
    cause = f'those of `{key}` = "8 units", not of 4 units'
    done = polyfabric("explore", name, "--programs", "pbs@toy-256", "--axis", f"{key}=4", "--jobs", "1", "--json")
    assert done.status == 0, done.err
    own, other = json.loads(done.out)["points"]
    assert own["area_mm2"] > 0
    assert other["area_mm2"] is None
    assert cause in other["area_cause"]
    # It has a time, and is not among the best, whatever that time is.
    assert (other["seconds"]["pbs@toy-256"] > own["seconds"]["pbs@toy-256"], other["pareto"]) == (True, False)
    text = pf.load_machine(name).to_dict()
    source = text["units"]["core"]["count"]["source"]
    written = (FILE.parent / f"{name}.toml").read_text()
    (tmp_path / "four.toml").write_text(
        written.replace(
            f'count = {{ value = 8, unit = "units", source = "{source}"',
            'count = { value = 4, unit = "units", source = "mine"',
        )
    )
    common = ("--params", "toy-256", "--batch", "640", "--max-failure", "0", "--json")
    four, eight = (polyfabric("simulate", "pbs", "--on", machine, *common) for machine in ("four.toml", name))
    assert cause in " ".join(four.err.split())
    four, eight = json.loads(four.out), json.loads(eight.out)
    assert [four[key] for key in ("area_mm2", "power_w", "energy_j")] == [None, None, None]
    assert four["cycles"] > eight["cycles"]
    assert eight["area_mm2"] == own["area_mm2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("morphling", "--axis", f"{CLUSTERS}=4"), "has no figure 'units.cluster.count'"),
        (("f1", "--axis", f"{CLUSTERS}=2,x"), "'x'"),
        (("f1", "--axis", f"{CLUSTERS}"), "is not KEY=V1,V2"),
        (("f1", "--axis", f"{CLUSTERS}=2,4;channels.hbm.count=1"), "has 1 and 2 values"),
        (("f1", "--programs", "pbs"), "morphling"),
        (
            ("morphling", "--programs", "permute@12"),
            "osiris",
        ),
        (("f1", "--programs", "permute@12,none"), "there is no program 'none'"),
        (("f1", "--axis", f"{CLUSTERS}=2;{CLUSTERS}=4"), f"has {CLUSTERS} twice"),
        (("f1", "--axis", f"{CLUSTERS}=2", "--axis", f"{CLUSTERS}=4"), f"{CLUSTERS} is on two axes"),
        (("f1", "--axis", f"{CLUSTERS}=nan"), "nan"),
        (("f1", "--axis", f"{CLUSTERS}=true"), f"{CLUSTERS} is 16 in the machine file; give numbers in its unit"),
        (("f1", "--axis", "units.crossbar.multicast=1"), "is true in the machine file; give true or false on its axis"),
        (("f1", "--axis", "units.cluster.coun=1"), "did you mean units.cluster.count"),
        (("f1", "--programs", "ntt@12,"), "a program of the sweep has no name"),
        (("f1", "--programs", ""), "a program of the sweep has no name"),
        (("f1", "--axis", "=2,4"), "'=2,4' is not KEY=V1,V2"),
        (("none.toml",), "cannot read the machine file"),
        (("/dev/zero",), "more than 1048576 bytes, and a machine file has fewer"),
    ],
)
def test_figures_that_cannot_be_swept_are_reported(polyfabric, arguments, message):
    done = polyfabric("explore", *arguments, "--jobs", "1")
    assert done.status == 2
    assert message in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (f'"{CLUSTERS}" = [2, 4]\n"channels.hbm.count" = [1]', "has 1 and 2 values; give equal numbers"),
        (f'"{CLUSTERS}" = []', f"the axis '{CLUSTERS}' has no values"),
        ("", "an axis has no figure; give it one with its values"),
        ('"units.none" = [1]', "f1 has no figure 'units.none'"),
        (f'"{CLUSTERS}" = [2]\n[[sweep]]\n"{CLUSTERS}" = [4]', f"{CLUSTERS} is on two axes"),
        (f'"{CLUSTERS}" = ["two"]', "'two' is not a number"),
        (
            f'"{CLUSTERS}" = [nan]',
            f"nan or inf is not a number; give numbers in the unit of the machine file for {CLUSTERS}",
        ),
        (f'"{CLUSTERS}" = [true]', f"{CLUSTERS} is 16 in the machine file"),
    ],
)
def test_a_wrong_sweep_of_a_file_is_reported(tmp_path, table, message):
    text = FILE.read_text()
    before, after = text.index("[[sweep]]"), text.index("[components.ntt]")
    (tmp_path / "mine.toml").write_text(f"{text[:before]}[[sweep]]\n{table}\n\n{text[after:]}")
    file = str(tmp_path / "mine.toml")
    for use in (lambda: own_axes(Task.of(file, ["ntt@12"])), lambda: pf.load_machine(file)):
        with pytest.raises(pf.errors.MachineError, match=re.escape(f"{file}: [[sweep]]: ") + ".*" + re.escape(message)):
            use()


@pytest.mark.parametrize(
    "key",
    ["name", "title", "mapper.a.b", "sweep", "sweep_programs.x", "clock.value", "component_clock.value", "paper.."],
)
def test_what_of_a_machine_file_is_no_figure_is_told_on_every_axis(tmp_path, key):
    message = f"kingfisher has no figure {key!r} in its file; "
    task = Task.of(str(OWN), ["pbs@toy-256"], 4)
    with pytest.raises(pf.errors.InputError, match=re.escape(message)):
        sweep(task, [axis(f"{key}=1")])
    (tmp_path / "mine.toml").write_text(f'{OWN.read_text()}\n[[sweep]]\n"{key}" = [1]\n')
    with pytest.raises(pf.errors.MachineError, match=re.escape(message)):
        pf.load_machine(str(tmp_path / "mine.toml"))


def test_a_figure_that_a_file_leaves_out_is_swept_once_it_is_there(monkeypatch, tmp_path):
    monkeypatch.setattr(exploration, "_workers", _here)
    key = "units.forward.latency"
    with pytest.raises(pf.errors.InputError, match="to sweep another figure of its mapper, add it to the file"):
        sweep(Task.of(str(OWN), ["pbs@toy-256"], 4), [axis(f"{key}=90")])
    given = '[units.forward]\nlatency = { value = 60, unit = "cycles", source = "chosen" }\n'
    without_components = OWN.read_text().partition("[component_clock]")[0]
    (tmp_path / "mine.toml").write_text(without_components + given)
    own, other = sweep(Task.of(str(tmp_path / "mine.toml"), ["pbs@toy-256"], 4), [axis(f"{key}=90")])["points"]
    assert other["seconds"]["pbs@toy-256"] > own["seconds"]["pbs@toy-256"]


def test_a_point_without_an_area_law_keeps_the_files_area(monkeypatch, tmp_path):
    monkeypatch.setattr(exploration, "_workers", _here)
    # No component says how it follows this figure.
    key = "units.core.rows"
    text = OWN.read_text().replace("units.core.count * units.core.rows", "units.core.count")
    text = text.replace("units.core.rows * units.core.columns", "units.core.columns")
    (tmp_path / "mine.toml").write_text(re.sub(r"\[components\.\w+\.holds_for\]\n(\".*\n)+", "", text))
    machine = pf.load_machine(str(tmp_path / "mine.toml"))
    own, other = sweep(Task.of(machine.argument, ["pbs@toy-256"], 4), [axis(f"{key}=1,2")])["points"]
    assert own["values"] == {key: 2.0}
    assert own["area_mm2"] == machine.native.area() > 0
    assert "no component says how its area and power follow this figure" in other["error"]


def test_a_sweep_that_is_too_large_is_rejected_at_once():
    many = {CLUSTERS: list(range(1, 1001))}
    with rejects(pf.errors.InputError, "1,000,000", "100,000"):
        sweep(TASK, [many, {"channels.hbm.count": list(range(1000))}])


def test_a_figure_begins_with_the_value_that_the_file_has_whatever_its_unit(monkeypatch, tmp_path):
    monkeypatch.setattr(exploration, "_workers", _here)
    text = OWN.read_text().replace(
        'rate = { value = 2048, unit = "bits/cycle"', 'rate = { value = 307.2, unit = "GB/s"'
    )
    (tmp_path / "mine.toml").write_text(text)
    axes = [axis("channels.key_bus.rate=153.6,307.2"), axis("channels.hbm.latency=100,1000")]
    points = sweep(Task.of(str(tmp_path / "mine.toml"), ["pbs@toy-256"], 4), axes)["points"]
    assert len(points) == 4
    assert points[0]["values"] == {"channels.key_bus.rate": 307.2, "channels.hbm.latency": 100.0}
    assert points[0]["seconds"] == sweep(Task.of(str(OWN), ["pbs@toy-256"], 4), [])["points"][0]["seconds"]
    assert all("error" not in point for point in points)


def test_a_yes_or_no_is_swept(monkeypatch):
    monkeypatch.setattr(exploration, "_workers", _here)
    task = Task.of(str(OWN), ["pbs@toy-256"], 4)
    report = sweep(task, [axis("channels.key_bus.multicast=true,false")])
    own, other = report["points"]
    assert own["values"] == {"channels.key_bus.multicast": True}
    # The area is that of a bus to all cores.
    assert "`channels.key_bus.multicast` = true, not of false" in other["area_cause"]
    assert "false" in report.table()


def test_a_sweep_of_parts_without_area_has_performance_and_says_why_nothing_else(monkeypatch, tmp_path):
    monkeypatch.setattr(exploration, "_workers", _here)
    text = re.sub(r"area = \{ value = [\d.]+", "area = { value = 0", OWN.read_text())
    (tmp_path / "mine.toml").write_text(text)
    report = sweep(Task.of(str(tmp_path / "mine.toml"), ["pbs@toy-256"], 4), [axis("units.core.count=2")])
    assert [point["area_mm2"] for point in report["points"]] == [None, None]
    assert report["points"][1]["performance"] != 1
    # Where lines break is the path's length to say.
    shown = " ".join(report.table().split())
    assert "its components have no area" in shown
    assert ("the best at each area" in shown, "points of unknown area" in shown) == (False, True)
    report.plot(tmp_path / "sweep.svg")


def test_a_program_is_lowered_for_each_point_as_for_a_file_with_its_figures(monkeypatch):
    # How many rows of the key are summed in the transform domain is the machine's to say, so the kernel program differs.
    monkeypatch.setattr(exploration, "_workers", _here)
    key = "units.core.rows"
    points = sweep(Task.of("strix", ["pbs@toy-256"], 64), [axis(f"{key}=1,2")])["points"]
    own, one = points
    assert one["values"] == {key: 1.0}
    assert one["performance"] < own["performance"]
    machine = pf.Machine(pf.load_machine("strix").native.changed([(key, 1.0)]))
    alone = machine.simulate(programs.timed("pbs", "toy-256", 64, machine))
    assert alone["seconds"] == one["seconds"]["pbs@toy-256"]


def test_a_key_switch_is_chosen_for_each_point_as_it_is_for_a_file_with_its_figures(monkeypatch):
    monkeypatch.setattr(exploration, "_workers", _here)
    key, name = "memories.scratchpad.capacity", "mlp"
    for point in sweep(Task.of("osiris", [name]), [axis(f"{key}=92000000")])["points"]:
        machine = pf.Machine(pf.load_machine("osiris").native.changed(list(point["values"].items())))
        options = PlanOptions(machine=machine, max_failure=0.0, security=0)
        assert machine.simulate(programs.planned(name, options))["seconds"] == point["seconds"][name]


def test_values_that_differ_are_shown_apart(monkeypatch):
    monkeypatch.setattr(exploration, "_workers", _here)
    report = sweep(Task.of(str(OWN), ["pbs@toy-256"], 1), [axis("channels.hbm.bandwidth=309.9999,1000001")])
    assert {"310", "309.9999", "1000001"} <= set(report.table().split())


def test_lanes_of_osiris_are_swept_alone(monkeypatch):
    monkeypatch.setattr(exploration, "_workers", _here)
    key, name = "units.ntt.lanes", "multiply@12"
    own, narrow, wide = sweep(Task.of("osiris", [name]), [axis(f"{key}=256,1024")])["points"]
    assert [point["values"][key] for point in (own, narrow, wide)] == [512.0, 256.0, 1024.0]
    assert narrow["performance"] < own["performance"] < wide["performance"]
    # Neither area nor power of other widths is published.
    assert own["area_mm2"] is not None
    assert [point["area_mm2"] for point in (narrow, wide)] == [None, None]


def test_a_point_that_fails_makes_the_status_1_and_the_rest_is_printed(polyfabric):
    done = polyfabric("explore", "f1", "--programs", "ntt@12", "--axis", f"{CLUSTERS}=8,33", "--jobs", "1")
    assert done.status == 1
    assert "1 of 3 points have no result" in " ".join(done.err.split())
    assert "the file's own" in done.out


def test_a_script_explores_at_its_top_level(tmp_path):
    script = tmp_path / "sweep.py"
    script.write_text(
        "import polyfabric as pf\n"
        f"report = pf.explore('f1', {{{CLUSTERS!r}: [8]}}, ['permute@12'], jobs=1)\n"
        "print(len(report['points']))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


def test_the_installed_command_starts_processes(polyfabric_process):
    done = polyfabric_process("explore", "f1", "--programs", "ntt@12", "--axis", f"{CLUSTERS}=8", "--jobs", "2")
    assert (done.status, "main module" in done.err) == (0, False), done.err
    assert "the file's own" in done.out


@pytest.mark.parametrize(
    ("machine", "programs", "message"),
    [
        ("strix", ["pbs@strix-I", "pbs@none"], 'no parameter set of TFHE is called "none"'),
        ("strix", ["pbs@strix-I", "pbs@f1-12-L3"], "it is one of CKKS"),
        ("strix", ["pbs@strix-I", "none.py:f"], "none.py"),
        ("f1", ["ntt@12", "matvec@none"], "there is no parameter set 'none'"),
        ("f1", ["ntt@12", "ntt@9"], "of a microbenchmark is log2 of the ring degree"),
        ("f1", ["ntt@12", "matvec@none.toml"], "none.toml"),
    ],
)
def test_a_wrong_name_is_reported_before_any_point_is_computed(monkeypatch, machine, programs, message):
    monkeypatch.setattr(exploration, "_workers", None)
    with pytest.raises(pf.errors.Error, match=re.escape(message)):
        sweep(Task.of(machine, programs), [])


def test_digits_are_swept_as_they_are_simulated(monkeypatch):
    monkeypatch.setattr(exploration, "_workers", _here)
    name, machine = "digits", pf.load_machine("strix")
    (own,) = sweep(Task.of("strix", [f"{name}@strix-I"]), [])["points"]
    options = PlanOptions(parameters="strix-I", machine=machine, max_failure=0.0, security=0)
    assert own["seconds"] == {f"{name}@strix-I": machine.simulate(programs.planned_to_time(name, options))["seconds"]}


def test_dask_is_asked_for_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(pf.errors.RunError, match=r"pip install 'polyfabric\[dask\]'"):
        sweep(TASK, AXES, dask="tcp://127.0.0.1:1")


def test_a_dask_cluster_gives_the_same(swept):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        report = sweep(TASK, AXES, dask=cluster.scheduler_address)
    assert report["points"] == swept[1]["points"]
