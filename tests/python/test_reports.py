"""Reports are data; tables, plots, pages and timelines show these data."""

from __future__ import annotations

import io
import json

import polyfabric as pf
import pytest
from polyfabric.host import units
from polyfabric.reports import plots, rows, slots
from rich.console import Console


@pf.program(x=pf.Int(0, 3).vector(4))
def squares(x):
    return pf.lookup(x, lambda v: v * v % 4)


@pytest.fixture(scope="module")
def simulation():
    return squares.simulate("morphling", parameters="polyfabric-direct-1024-t32")


@pytest.fixture(scope="module")
def cost():
    return squares.cost("polyfabric-2-p128-t32")


def test_data_is_plain(simulation, cost):
    for report in (simulation, cost):
        assert json.loads(json.dumps(report.to_dict())) == report.to_dict()


def test_an_unknown_entry_is_an_error_never_0(simulation):
    with pytest.raises(pf.errors.InputError, match="no entry 'stall'"):
        simulation["stall"]


def test_an_entry_is_no_attribute_and_the_error_names_it(simulation):
    with pytest.raises(AttributeError) as found:
        _ = simulation.seconds
    assert isinstance(found.value, pf.Error)
    assert "['seconds']" in str(found.value)
    assert not hasattr(simulation, "minutes")


def test_a_machine_of_unknown_area_has_no_table_of_it(simulation):
    unknown = {"area_mm2": None, "full_power_w": None, "energy_j": None}
    components = [component | unknown for component in simulation["components"]]
    tables = [len(rows.of(pf.Report("simulation", simulation.data | own))) for own in ({}, {"components": components})]
    assert tables[1] == tables[0] - 1


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_narrow_terminal_splits_no_number(simulation, width):
    drawn = io.StringIO()
    simulation.print(Console(file=drawn, force_terminal=True, color_system=None, width=width, highlight=False))
    numbers = [cell for table in rows.of(simulation) for row in table.rows for cell in row[table.left :]]
    assert len(numbers) > 30
    assert [number for number in numbers if number not in drawn.getvalue()] == []


def test_stalls_in_the_table_sum_to_the_cycles(simulation):
    (stalls,) = (t for t in rows.of(simulation) if t.title.startswith("where the cycles"))
    cycles = sum(float(row[2].replace(",", "")) for row in stalls.rows)
    assert cycles == pytest.approx(simulation["cycles"], abs=len(stalls.rows))


def test_the_table_shows_the_data(simulation):
    text = simulation.table()
    assert f"{simulation['cycles']:,} cycles" in text
    assert units.scaled(simulation["seconds"], "s") in text


def test_a_probability_close_to_1_has_no_negative_zero():
    assert units.probability(-0.01) == units.probability(0.0)
    assert units.probability(-0.1) != units.probability(0.0)


def test_cost_is_known_before_running(cost):
    data = cost.to_dict()
    assert data["lookups"] == 4
    assert data["server_key_compressed_bytes"] < data["server_key_bytes"]
    assert data["noise"]["log2_failure"] < -40
    assert data["seconds"] > 0
    text = cost.table()
    assert "test_reports.py:" in text
    assert "failure probability" in text
    assert "at most" in text


def test_cost_names_the_true_sizes(cost):
    result = squares.run({"x": [0, 1, 2, 3]}, parameters="polyfabric-2-p128-t32")
    assert result.correct
    assert result.sizes["server_key"] == cost["server_key_bytes"]
    assert result.sizes["server_key_compressed"] == cost["server_key_compressed_bytes"]
    assert result.sizes["inputs"] == cost["input_bytes"]
    assert result.sizes["outputs"] == cost["output_bytes"]


def test_every_plot_is_drawn(simulation, cost):
    assert len(plots.of(simulation)) >= 3
    assert len(cost.plot()) == 1


def test_a_plot_is_written(simulation, tmp_path):
    simulation.plot(tmp_path / "plot.svg")
    assert len(list(tmp_path.glob("plot-*.svg"))) == len(simulation.plot())


def test_the_page_stands_alone(simulation, tmp_path):
    simulation.save(tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "<script" not in page
    assert "<link" not in page
    assert 'src="' not in page
    assert page.count("<svg") == len(plots.of(simulation))


def test_the_timeline_opens_in_perfetto(simulation):
    trace = json.loads(simulation.timeline())
    tracks = {(e["pid"], e["tid"]) for e in trace["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name"}
    slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert slices
    assert all((e["pid"], e["tid"]) in tracks for e in slices)
    last = {}
    for e in sorted(slices, key=lambda e: e["ts"]):
        track = (e["pid"], e["tid"])
        assert e["ts"] >= last.get(track, 0) - 1e-6, "two slices of one track overlap"
        last[track] = e["ts"] + e["dur"]


def test_a_report_without_schedule_has_no_timeline(cost):
    with pytest.raises(pf.errors.InputError, match="no timeline"):
        cost.timeline()


def node(number: int, op: str, level: int, bound: float | None, measured: float) -> dict:
    figures = {"scale_log2": 40.0 + number / 1000, "bound": bound, "measured": measured}
    return {"node": number, "op": op, "place": f"own.py:{level}", "level": level, **figures}


def test_few_operations_have_a_row_each():
    (table,) = slots.operations({"rows": [node(0, "input", 2, 0.5, 0.25), node(1, "input", 2, 0.25, 0.125)]})
    assert table.rows == [
        ("input %0", "own.py:2", "2", "2^40.00", "2^-1.0", "2^-2.0"),
        ("input %1", "own.py:2", "2", "2^40.00", "2^-2.0", "2^-3.0"),
    ]


def test_many_operations_share_rows_and_show_the_worst():
    many = [node(i, "add" if i % 2 else "mul", 3 - i // 50, 2.0 ** (i % 7), 2.0 ** -(i % 5)) for i in range(100)]
    many[99]["bound"] = None
    (table,) = slots.operations({"rows": many})
    assert table.rows == [
        ("mul %0, 25 in all", "own.py:3", "3", "2^40.00 to 2^40.05", "2^6.0", "2^0.0"),
        ("add %1, 25 in all", "own.py:3", "3", "2^40.00 to 2^40.05", "2^6.0", "2^0.0"),
        ("mul %50, 25 in all", "own.py:2", "2", "2^40.05 to 2^40.10", "2^6.0", "2^0.0"),
        ("add %51, 25 in all", "own.py:2", "2", "2^40.05 to 2^40.10", "none", "2^0.0"),
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 s"), (1.5, "1.5 s"), (0.00043, "430 µs"), (2.5e-9, "2.5 ns"), (123456, "123 ks"), (None, "unknown")],
)
def test_seconds_are_readable(value, text):
    assert units.scaled(value, "s") == text
