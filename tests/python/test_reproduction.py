"""A comparison with failing rows names them and their causes, keeps the others, and ends with a nonzero status."""

from __future__ import annotations

import importlib
import json
import platform
import resource
import threading
import time
import tomllib
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import polyfabric as pf
import pytest
from click.testing import CliRunner
from polyfabric.host.computer import give_memory_back
from polyfabric.papers import PAPERS, drawings, drawn, f1, f1_figures, fpt, morphling, strix
from polyfabric.papers.rows import predicted
from polyfabric.reports import Report, rows

#: The module, whose name its command takes in the package.
command = importlib.import_module("polyfabric.cli.reproduce")

ROOT = Path(__file__).parents[2]
FULL = pf.errors.MachineError("the scratchpad is full")


def row(**given):
    known = {"paper": "P", "table": "T", "cell": "c", "unit": "ns", "published": 2.0, "model": None, "deviation": None}
    bounds = {"published_least": None, "published_most": None}
    return {**known, **bounds, "kind": None, "readings": [], "reason": "why", "failure": None, **given}


ROWS = [
    row(cell="broken", failure="the scratchpad is full"),
    row(cell="whole", model=3.0, deviation=0.5, kind="identity"),
    row(
        cell="bounded",
        published=None,
        published_least=20.0,
        published_most=30.0,
        model=25.0,
        deviation=0.0,
        kind="predicted_under_reading",
        readings=[{"name": "fact=option", "evidence": None}],
    ),
]


def test_a_program_that_fails_leaves_the_others(monkeypatch):
    def compiled(program, parameters, machine, key_switch):
        if program.name == "bgv-bootstrapping":
            raise FULL
        report = {"seconds": 1e-3, "cycles": 1000, "lower_bound_cycles": 900, "traffic_bytes": {"hints": 2**20}}
        report["utilisation"] = {"hbm": 0.5}
        return (
            program,
            SimpleNamespace(facts={"parameters": {"security_bits": 128.0}}),
            report,
        )

    monkeypatch.setattr(f1, "F1_PROGRAMS", {})
    monkeypatch.setattr(f1, "_compiled", compiled)
    monkeypatch.setattr(f1, "_composition", lambda planned, report: "why")
    monkeypatch.setattr(f1, "_compilers_choice", lambda cell, *_: [predicted(cell, 1.0, "why", ["Table 3", "x", "ms"])])
    monkeypatch.setattr(f1, "figure_9", lambda *_: [])
    monkeypatch.setattr(f1, "figure_11", lambda: [])
    monkeypatch.setattr(f1, "units_at_work", lambda *_: 40.0)
    monkeypatch.setattr(f1, "table_5", lambda name, *_: [predicted(f"table5.{name}.ntt", 2.0, "why")])
    rows_made = f1.applications(None)
    found = {made["id"]: made for made in rows_made if made["beside"] is None}
    beside = {made["beside"][1]: made["value"] for made in rows_made if made["beside"]}
    assert beside["ckks-bootstrapping: memory traffic alone"] == 0.5
    assert beside["ckks-bootstrapping with d2: key-switch hints, compulsory"] == 1.0
    # Both readings of the crossbars stand there, and whose is whose is said.
    reasons = {made["beside"][1] if made["beside"] else made["id"]: made["reason"] for made in rows_made}
    assert "crossbar=several" in reasons["table3.ckks_bootstrapping"]
    assert "crossbar=one" in reasons["ckks-bootstrapping: crossbar=one"]
    assert "crossbar=several" not in reasons["ckks-bootstrapping: crossbar=one"]
    assert found["table3.bgv_bootstrapping"]["failure"] == "the scratchpad is full"
    for lost in ("figure9b.computation", "figure9a.not_compulsory", "figure9a.hints"):
        assert found[f"{lost}.bgv_bootstrapping"]["failure"] == "the scratchpad is full"
    assert found["table3.ckks_bootstrapping"]["value"] == 1.0
    assert found["table5.gmean.ntt"]["value"] == 2.0
    assert found["section8.utilisation"]["value"] == 40.0


def test_a_program_that_the_other_scheduler_cannot_order_is_not_an_error():
    class Machine:
        def map(self, planned, **options):
            if "scheduler" in options:
                raise pf.errors.IntractableError("after 300.0 s")
            raise FULL

    made = {each["id"]: each for each in f1_figures.table_5("db", Machine(), None, 1.0)}
    assert made["table5.db.csr"]["kind"] == "not_modelled"
    assert made["table5.db.csr"].get("failure") is None
    assert made["table5.db.csr"]["reason"] == "no order within 300 s: after 300.0 s"
    assert made["table5.db.ntt"]["failure"] == "the scratchpad is full"


def test_an_inference_that_fails_leaves_the_others(monkeypatch):
    class Machine:
        def simulate(self, planned):
            if planned == ("vgg-9", "morphling-B", "before"):
                raise FULL
            return Report("simulation", {"seconds": 0.5, "operations": 7})

    monkeypatch.setattr(morphling.accelerators, "load", lambda name: Machine())
    monkeypatch.setattr(morphling, "element_plan", lambda program, name, order, machine: (program.name, name, order))
    made = morphling.applications(None)
    (lost,) = [each for each in made if each.get("failure")]
    assert (lost["id"], lost["value"]) == ("table6.vgg-9", None)
    # Every cell has every set and order; two of them were once chosen by what was published.
    cells = [each for each in made if each["beside"] is None]
    assert len(cells) == 5 * 3 * 2
    chosen = [each["id"] for each in cells if morphling.CHOSEN in each["reason"]]
    assert sorted(chosen) == sorted(morphling.PRINTED)
    timed = [each for each in made if each is not lost]
    assert {each["kind"] for each in timed} == {"calibrated"}
    assert {each["reason"].partition(";")[0] for each in timed if each["beside"] is None} == {
        f"set {which}, key switch {order}" for which in "ABC" for order in ("after", "before", "none")
    }


def test_morphlings_cells_with_a_printed_time_are_those_that_say_so():
    path = Path(__file__).resolve().parents[2] / "figures" / "morphling.toml"
    figures = {figure["id"]: figure for figure in tomllib.loads(path.read_text())["figure"]}
    derived = {cell: figures[cell]["derived"] for cell in {case.cell for case in morphling.cases()}}
    assert {cell for cell, text in derived.items() if "that are printed are cut off" in text} == {*morphling.PRINTED}


def test_a_board_of_the_game_of_life_is_calibrated(monkeypatch):
    """Its gates wait for each other as the project has them wait, and its time was known."""

    class Machine:
        def simulate(self, planned):
            return Report("simulation", {"seconds": 0.5, "operations": 2816})

    monkeypatch.setattr(fpt.accelerators, "load", lambda *_: Machine())
    monkeypatch.setattr(fpt, "plan", lambda *_, **__: None)
    made = fpt.applications(None)
    assert [each["id"] for each in made] == ["table5.fpt.with"] * 2 + ["table5.fpt.without"] * 2 + ["section6.gates"]
    assert made[-1]["value"] == 44
    assert {each["kind"] for each in made} == {"calibrated"}
    assert all(each["reason"].startswith("calibrated: ") for each in made)
    assert ["host of" in each["reason"] for each in made] == [True, True, False, False, False]


def test_figure_7_has_every_ring_and_order(monkeypatch):
    class Machine:
        def simulate(self, planned):
            if planned.kernel.lookups == 9948 and planned.parameters.name == strix.SETS[4096][0]:
                raise FULL
            return Report("simulation", {"seconds": 0.5, "operations": planned.kernel.lookups})

    plan = strix.element_plan
    monkeypatch.setattr(strix.accelerators, "load", lambda name: Machine())
    # Of the machine's plan nothing but its kernel is asked.
    monkeypatch.setattr(strix, "element_plan", lambda program, name, order, _: plan(program, name, order, None))
    made = strix.applications(None)
    assert [each["id"] for each in made if each.get("failure")] == ["figure7.100.4096"] * 2
    cells = [each["id"] for each in made if each["beside"] is None]
    assert cells == [
        f"figure7.{depth}.{degree}" for depth in (20, 50, 100) for degree in strix.SETS for _ in strix.ORDERS
    ]
    assert all(reading["evidence"] for each in made for reading in each["readings"])
    timed = [each for each in made if not each.get("failure")]
    assert {each["kind"] for each in timed} == {"predicted_under_reading"}


def test_two_threads_share_the_inferences_and_one_alone_has_the_large_ones(monkeypatch):
    threads = {}

    class Machine:
        def simulate(self, planned):
            threads.setdefault(planned[0] == "vgg-9", set()).add(threading.get_ident())
            time.sleep(0.005)
            return Report("simulation", {"seconds": 0.5, "operations": 7})

    monkeypatch.setattr(morphling.accelerators, "load", lambda name: Machine())
    monkeypatch.setattr(morphling, "element_plan", lambda program, name, order, machine: (program.name, name, order))
    made = morphling.applications(None)
    assert threads[True] == {threading.get_ident()}
    assert threads[False] - threads[True]
    # Rows have the order of the cases, regardless of which finished first.
    assert [each["id"] for each in made] == [case.cell for case in morphling.cases()]


def test_what_is_no_fault_of_an_inference_ends_both_threads(monkeypatch):
    called = []

    class Machine:
        def simulate(self, planned):
            called.append(planned)
            if planned[0] == "vgg-9":
                raise KeyboardInterrupt
            time.sleep(0.05)
            return Report("simulation", {"seconds": 0.5, "operations": 7})

    monkeypatch.setattr(morphling.accelerators, "load", lambda name: Machine())
    monkeypatch.setattr(morphling, "element_plan", lambda program, name, order, machine: (program.name, name, order))
    with pytest.raises(KeyboardInterrupt):
        morphling.applications(None)
    assert len(called) < 5


@pytest.mark.parametrize(("found", "status"), [(ROWS, 1), (ROWS[1:], 0)])
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_failed_row_is_reported_and_the_rest_printed(monkeypatch, found, status, form):
    report = Report("reproduction", {"paper": "P", "rows": found})
    monkeypatch.setattr(command, "reproduced", lambda *_, **__: report)
    done = CliRunner().invoke(command.reproduce, ["p", *form])
    assert done.exit_code == status
    assert ("T, broken: the scratchpad is full" in " ".join(done.stderr.split())) == bool(status)
    if form:
        assert json.loads(done.stdout) == found
    else:
        assert "whole" in done.stdout


def test_a_row_names_its_kind_of_evidence():
    (table,) = rows.of(Report("reproduction", {"paper": "P", "rows": ROWS}))
    assert [cells[2:6] for cells in table.rows] == [
        ("2", "failed", "-", "-"),
        ("2", "3", "+50.00 %", "identity"),
        ("20 to 30", "25", "within", "predicted under fact=option"),
    ]
    assert "failed: the scratchpad is full" in table.note
    assert "fact=option: nothing but this result speaks for it" in table.note


def test_points_of_a_figure_are_drawn_as_its_curves(monkeypatch, tmp_path):
    def point(curve, at, unit, model):
        place = {"curve": curve, "axis": "memory", "unit": "KiB", "at": at}
        return row(table="Figure 8", cell=f"{curve} at {at}", unit=unit, published=None, model=model, point=place)

    knee = row(table="Figure 8", cell="knee", unit="KiB", published=2.0, model=4.0, deviation=1.0, kind="calibrated")
    curve = [point(name, at, unit, at) for name in ("A", "B") for at in (4.0, 1.0, 2.0) for unit in ("BS/s", "ms")]
    report = reproduced([knee, *curve, *ROWS[1:]])
    deviation, figure = report.plot()
    panels = figure.axes
    assert [axes.get_ylabel() for axes in panels] == ["BS/s", "ms"]
    assert {axes.get_xlabel() for axes in panels} == {"memory, KiB"}
    a, b, published = panels[0].lines
    assert (a.get_label(), list(a.get_xdata()), list(a.get_ydata())) == ("A", [1.0, 2.0, 4.0], [1.0, 2.0, 4.0])
    assert (b.get_label(), list(published.get_xdata())) == ("B", [2.0, 2.0])
    assert len(deviation.axes) == 1

    # Papers' axes double from point to point; time goes evenly.
    assert panels[0].get_xscale() == "log"
    over_time = [point("A", at, "%", 1.0) for at in (10.0, 30.0, 50.0, 70.0, 90.0)]
    _, figure = reproduced([*ROWS[1:], *over_time]).plot()
    assert figure.axes[0].get_xscale() == "linear"

    monkeypatch.setattr(command, "reproduced", lambda *_, **__: report)
    done = CliRunner().invoke(command.reproduce, ["p", "--plot", str(tmp_path / "p.svg")])
    assert done.exit_code == 0, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"p-1.svg", "p-2.svg"}
    assert tmp_path / "figure-8.svg" in report.save(tmp_path)


def reproduced(found):
    return Report("reproduction", {"paper": "P", "rows": found}, drawings=partial(drawn.of, {}, found))


FIGURES = {
    "f1": ["Figure 9", "Figure 10"],
    "fpt": ["Figure 3", "Figure 4", "Figure 5"],
    "morphling": ["Figure 7", "Figure 8"],
    "osiris": ["Figure 10", "Figure 11", "Figure 12", "Figure 13"],
    "strix": ["Figure 7", "Figure 8", "Table VII"],
}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_figure_of_a_paper_is_drawn_from_its_recorded_rows(paper):
    recorded = json.loads((ROOT / "results" / f"reproduce-{paper}.json").read_text(encoding="utf-8"))["data"]
    made = drawings(paper, recorded)
    assert {caption.partition(":")[0] for caption, _ in made} >= set(FIGURES[paper])
    for _, figure in made:
        for axes in figure.axes:
            assert not axes.get_visible() or axes.lines or axes.patches


def test_every_place_of_a_figure_has_a_row():
    for paper in PAPERS:
        recorded = json.loads((ROOT / "results" / f"reproduce-{paper}.json").read_text(encoding="utf-8"))["data"]
        for place in drawn.places(drawn.described_figures(paper)):
            assert any(place.point(found) for found in recorded), place


def test_a_published_value_without_the_models_is_a_mark_alone():
    found = [row(table="Figure 4", cell=cell, unit="%", published=20.0, model=model) for cell, model in CELLS_OF_4]
    ((caption, figure),) = drawn.of(drawn.described_figures("fpt"), found)
    lines = {line.get_label(): list(line.get_ydata()) for line in figure.axes[0].lines}
    assert lines == {"DSP": [30.0], "published": [20.0, 20.0]}
    assert caption.startswith("Figure 4")


CELLS_OF_4 = [
    (f"{part} at widths below 24 bits over those at 53", model) for part, model in (("DSP blocks", 30.0), ("LUT", None))
]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators give back by themselves")
def test_memory_that_was_freed_goes_back():
    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    pieces = [bytes(1000) for _ in range(200_000)]
    held = resident()
    # One of the last keeps the heap from shrinking by itself.
    del pieces[:-1]
    give_memory_back()
    assert resident() < held - 100_000_000
