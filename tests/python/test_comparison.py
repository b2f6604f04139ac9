"""A comparison shows each machine's own simulation, or why the machine cannot run the program."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polyfabric as pf
import pytest
from polyfabric.accelerators import machine as accelerators
from polyfabric.apps import programs
from polyfabric.reports import plots, rows
from polyfabric.schemes import ways
from polyfabric.schemes.tfhe import named_parameters
from polyfabric.studies.comparison import BATCH
from rejects import rejects

TORUS = [name for name in accelerators.names() if not pf.load_machine(name).on_slots]
SET = "morphling-I"


@pytest.fixture(scope="module")
def side_by_side():
    return pf.compare("pbs", parameters=SET, batch=96)


def test_all_machines_of_a_scheme_are_there(side_by_side):
    assert [row["machine"] for row in side_by_side["machines"]] == TORUS
    assert all("error" not in row for row in side_by_side["machines"])


@pytest.mark.parametrize("name", TORUS)
def test_a_row_is_the_machines_own_simulation(side_by_side, name):
    (row,) = (row for row in side_by_side["machines"] if row["machine"] == name)
    machine = pf.load_machine(name)
    many, one = (machine.simulate(programs.timed("pbs", SET, batch, machine)) for batch in (96, 1))
    assert (row["throughput_per_s"], row["latency_s"]) == (many["throughput_per_s"], one["latency_s"])
    for key in ("area_mm2", "power_w", "efficiency"):
        assert row[key] == many[key]
    assert row["off_chip_gb_per_s"] == pytest.approx(many["off_chip_bytes_per_s"] / 1e9)
    for ratio, amount in (("per_mm2", "area_mm2"), ("per_watt", "power_w"), ("per_gb_per_s", "off_chip_gb_per_s")):
        if row[amount] is None:
            assert row[ratio] is None
        else:
            assert row[ratio] * row[amount] == pytest.approx(row["throughput_per_s"])
    # The traffic does not exceed the bandwidth of the channels.
    moved = many["traffic_bytes"]["total"] / many["seconds"]
    assert 0 < moved <= many["off_chip_bytes_per_s"]


def test_the_widths_are_those_of_the_arithmetic(side_by_side):
    for row in side_by_side["machines"]:
        machine = pf.load_machine(row["machine"])
        parameters = named_parameters(SET, warn=False)
        assert row["widths"] == machine.widths(parameters)
        assert row["log2_failure"] <= 0
        assert set(row["widths"]) == {"key", "forward", "inverse", "forward_twiddle", "inverse_twiddle"}


def test_machines_of_one_name_are_distinguished_by_their_files(tmp_path):
    (own := tmp_path / "slower.toml").write_text(
        (Path(__file__).resolve().parents[2] / "machines/morphling.toml").read_text().replace("1.2 GHz", "0.6 GHz")
    )
    rows = pf.compare("pbs", ["morphling", str(own)], parameters={"morphling": SET, str(own): SET}, batch=96)[
        "machines"
    ]
    assert [row["machine"] for row in rows] == ["morphling", str(own)]


def test_a_machine_that_cannot_hold_the_set_says_why_and_the_others_stand():
    report = pf.compare("pbs", parameters="fpt-I", batch=24)
    refused = [row for row in report["machines"] if "error" in row]
    assert 0 < len(refused) < len(report["machines"])
    assert "accumulator has 3 polynomials" in refused[0]["error"]
    assert "accumulator has 3 polynomials" in " ".join(report.table().split())


@pf.program(x=pf.Int(0, 3))
def turned(x):
    return pf.lookup(x, [3, 0, 2, 1])


def test_a_batch_of_inputs_keeps_a_tfhe_machine_busy():
    (row,) = pf.compare(turned, ["morphling"], batch=64)["machines"]
    alone = turned.simulate("morphling", max_failure=0)
    assert row["operation"] == "inputs"
    assert row["latency_s"] == pytest.approx(alone["latency_s"])
    assert row["throughput_per_s"] > 8 / alone["seconds"]


@pf.program(x=pf.Int(0, 15))
def substituted(x):
    return pf.lookup(x, [12, 5, 6, 11, 9, 0, 10, 13, 3, 14, 15, 8, 4, 7, 1, 2])


@pytest.mark.full
@pytest.mark.parametrize("machine", ["f1", "osiris"])
def test_a_batch_of_inputs_takes_a_slot_machine_as_long_as_one(machine):
    few, many = (pf.compare(substituted, [machine], batch=batch)["machines"][0] for batch in (64, 1 << 16))
    assert many["latency_s"] == few["latency_s"]
    assert many["throughput_per_s"] == pytest.approx(1024 * few["throughput_per_s"])


def test_this_computer_stands_next_to_the_machines():
    report = pf.compare(substituted, ["cpu", "morphling"], parameters="auto", batch=1 << 16, widths="derived")
    rows_of = {(row["machine"], row["scheme"], row["widths_are"]): row for row in report["machines"]}
    machine = rows_of["morphling", "tfhe", "derived"]
    tfhe, ckks = rows_of["cpu", "tfhe", "own"], rows_of["cpu", "ckks", "own"]
    # The published widths of this machine fail.
    assert [row["right"] for row in (rows_of["morphling", "tfhe", "own"], machine, tfhe, ckks)] == [
        False,
        True,
        True,
        True,
    ]
    assert (tfhe["area_mm2"], ckks["power_w"]) == (None, None)
    # As the program's own estimates, which count an execution's preparations once for a batch.
    alone = substituted.cost()
    assert tfhe["parameters"] == alone["parameters"]
    assert tfhe["times"][0][1] * tfhe["throughput_per_s"] > 2
    few = substituted.in_batches(1).cost()
    assert ckks["times"][0] == (1, pytest.approx(few["seconds"], rel=1.0))
    assert ckks["times"][-1][0] == report["batch"] == 1 << 16
    for pair in report["slots_faster"]:
        least = pair["from"]
        if pair["ckks"] == "cpu":
            times = (machine if pair["tfhe"] == "morphling" else tfhe)["times"]
            assert ways.seconds_of(times, least) > _seconds(ckks["times"], least)
            assert ways.seconds_of(times, least - 1) <= _seconds(ckks["times"], least - 1)
    assert {(pair["tfhe"], pair["ckks"]) for pair in report["slots_faster"]} >= {("cpu", "cpu"), ("morphling", "cpu")}
    shown = report.table()
    assert "cpu, TFHE" in shown
    assert "cpu, CKKS" in shown
    ((_, figure),) = plots.of(report)
    curves = figure.axes[-1].lines
    assert len(curves) == sum(row["right"] for row in report["machines"])
    assert [tuple(point) for point in curves[0].get_xydata()] == [tuple(point) for point in machine["times"]]


def _seconds(steps, batch):
    """The time of a batch with CKKS, which grows in steps."""
    return next(seconds for size, seconds in steps if batch <= size)


def test_times_between_the_estimated_sizes_lie_on_lines():
    times = [(1, 10.0), (8, 10.0), (16, 18.0)]
    assert [ways.seconds_of(times, size) for size in (1, 4, 8, 12, 16, 24)] == [10, 10, 10, 14, 18, 26]
    assert [ways.first_longer(times, seconds) for seconds in (9.0, 10.0, 14.0, 14.5, 26.0)] == [1, 9, 13, 13, 25]


def test_this_computer_is_compared_for_batches_of_integers_alone(tmp_path, polyfabric):
    for call in (
        lambda: pf.compare("pbs", ["cpu"], parameters=SET, batch=8),
        lambda: pf.compare(turned, ["cpu"]),
    ):
        with rejects(pf.errors.InputError, "cpu"):
            call()
    for batch in (2.5, True, 0):
        with rejects(pf.errors.InputError, "batch", str(batch)):
            pf.compare(turned, ["cpu"], batch=batch)
    one, many = (pf.compare(turned, ["cpu"], batch=batch) for batch in (1, 1 << 10))
    # A batch need not be as large as that from which slots are faster.
    found = {pair["ckks"]: pair["from"] for pair in one["slots_faster"]}
    assert found["cpu"] > 1
    assert found["cpu"] == pytest.approx({pair["ckks"]: pair["from"] for pair in many["slots_faster"]}["cpu"], rel=0.5)
    assert plots.of(one)
    # A set of one scheme leaves the other without a row.
    rows_of = pf.compare(turned, ["cpu"], parameters={"cpu": "ckks-lookup-762"}, batch=8)["machines"]
    assert [("error" in row, row["scheme"]) for row in rows_of] == [(False, "ckks"), (False, "ckks")]
    assert rows_of[0]["parameters"] == "ckks-lookup-762"


def test_a_program_without_lookups_has_no_estimate_with_tfhe():
    moved = pf.program(x=pf.UInt(8))(lambda x: x << 2)
    rows_of = pf.compare(moved, ["cpu"], batch=8)["machines"]
    assert {row["scheme"]: "error" in row for row in rows_of} == {"tfhe": True, "ckks": False}


def test_no_machine_at_all_is_an_error():
    with pytest.raises(pf.errors.MachineError, match=r"no machine has a result.*64") as refused:
        pf.compare("pbs", parameters="polyfabric-1-p128-t64", batch=1)
    assert all(str(refused.value).count(f"{name}: ") == 1 for name in TORUS)


def test_an_unknown_set_is_reported_once_for_all_machines():
    with pytest.raises(
        pf.errors.MachineError, match=rf"no machine has a result; {', '.join(TORUS)}: no parameter set"
    ) as refused:
        pf.compare("pbs", parameters="none", batch=1)
    assert str(refused.value).count("no parameter set of TFHE") == 1


@pytest.mark.parametrize("as_json", [False, True])
def test_a_set_of_one_machine_that_is_none_ends_the_command_though_the_others_stand(polyfabric, as_json):
    asked = ("compare", "pbs", "--on", "strix,fpt", "--params", "strix=none,fpt=fpt-I", "--batch", "8")
    done = polyfabric(*asked, *(["--json"] if as_json else []))
    assert done.status == 2
    assert 'strix: no parameter set of TFHE is called "none"' in done.err
    if as_json:
        rows = json.loads(done.out)["machines"]
        assert [row["machine"] for row in rows if "error" in row] == ["strix"]
        assert rows[1]["throughput_per_s"] > 0
    else:
        assert re.search(r"^fpt +[\d,]+ ", done.out, re.MULTILINE)
    # A machine that cannot hold a set has said so, and the call was right.
    held = polyfabric(
        "compare", "pbs", "--on", "strix,fpt", "--params", "strix=strix-I,fpt=strix-IV-t64", "--batch", "8"
    )
    assert (held.status, held.err) == (0, "")
    assert "not held" in held.out


@pytest.mark.parametrize("name", TORUS[-1:])
def test_derived_widths_decrypt_and_their_price_is_reported(name):
    report = pf.compare("pbs", [name], parameters=SET, batch=96, widths="derived")
    own, derived = report["machines"]
    assert (own["widths_are"], derived["widths_are"]) == ("own", "derived")
    assert derived["log2_failure"] < min(own["log2_failure"], -64)
    cost = derived["over_own"]
    assert cost["multiplier_bits"] == pytest.approx(derived["multiplier_bits"] / own["multiplier_bits"])
    assert cost["throughput"] == pytest.approx(derived["throughput_per_s"] / own["throughput_per_s"])
    # Nothing says what wider units take: not the area of the narrow ones.
    assert (derived["area_mm2"], derived["per_mm2"], derived["power_w"], derived["per_watt"]) == (None,) * 4
    table = rows.of(report)[1]
    assert [row[0] for row in table.rows] == [name, f"{name}, derived"]


def test_multipliers_cost_the_product_of_their_factors_bits():
    from polyfabric.accelerators.machine import multiplier_bits

    parameters = named_parameters("toy-256", warn=False)
    literal = json.loads(parameters.to_json())
    half, columns = literal["ring_degree"] // 2, literal["glwe_dimension"] + 1
    levels = literal["bootstrap_gadget"]["levels"]
    stages = half.bit_length() - 1
    bits = {"key": 3, "forward": 5, "inverse": 7, "forward_twiddle": 11, "inverse_twiddle": 13}
    total = 0
    for _ in range(columns * levels):
        total += sum(5 * 11 for _ in range(stages) for _ in range(half // 2))
        total += sum(5 * 3 for _ in range(columns) for _ in range(half))
    total += columns * stages * (half // 2) * 7 * 13
    assert multiplier_bits(parameters, bits) == total


def test_a_custom_file_is_compared(tmp_path):
    text = (Path(__file__).resolve().parents[2] / "machines" / f"{TORUS[0]}.toml").read_text()
    own = tmp_path / "own.toml"
    own.write_text(text.replace(f'name = "{TORUS[0]}"', 'name = "mine"', 1))
    report = pf.compare("pbs", [str(own), TORUS[0]], parameters=SET, batch=12)
    mine, theirs = report["machines"]
    assert mine["machine"] == "mine"
    assert {**mine, "machine": 0} == {**theirs, "machine": 0}


def test_programs_on_slots_go_to_machines_for_them(tmp_path):
    report = pf.compare("ntt", parameters="12", batch=8)
    assert [row["machine"] for row in report["machines"]] == [
        n for n in accelerators.names() if pf.load_machine(n).on_slots
    ]
    row = report["machines"][0]
    machine = pf.load_machine(row["machine"])
    many, alone = (machine.simulate(programs.microbenchmark("ntt", "12", batch, machine)) for batch in (8, 1))
    assert row["throughput_per_s"] == 8 * programs.MICROBENCHMARK_ROUNDS / many["seconds"]
    assert row["latency_s"] == alone["latency_s"] < many["latency_s"]
    assert "log2_failure" not in row
    mixed = pf.compare("ntt", [row["machine"], TORUS[0]], parameters="12", batch=8)
    assert report["machines"][0]["machine"] in mixed["machines"][1]["error"]
    with rejects(pf.errors.InputError, "exact"):
        pf.compare("ntt", parameters="12", widths="derived")


def test_widths_are_derived_for_the_set_that_each_machine_is_given():
    own, derived = pf.compare("digits", [TORUS[0]], parameters={TORUS[0]: SET}, widths="derived")["machines"]
    assert (own["widths_are"], derived["widths_are"]) == ("own", "derived")
    assert own["parameters"] == derived["parameters"] == SET


@pf.program(x=pf.Int(0, 3).vector(4))
def squares(x):
    return pf.lookup(x, lambda v: v * v % 4)


def test_without_a_set_widths_are_derived_for_the_set_that_each_machine_chooses():
    rows = pf.compare(squares, TORUS[-2:], widths="derived")["machines"]
    assert {row["machine"] for row in rows if row["widths_are"] == "derived"} == set(TORUS[-2:])
    for name in TORUS[-2:]:
        assert len({row["parameters"] for row in rows if row["machine"] == name}) == 1


def test_each_machine_may_have_its_own_set(polyfabric):
    sets = {"f1": "f1-lola-mnist", "osiris": "f1-lola-mnist-d2"}
    report = pf.compare("lola-mnist", ["f1", "osiris"], parameters=sets)
    assert {row["machine"]: row["parameters"] for row in report["machines"]} == sets
    assert len({row["slots"] for row in report["machines"]}) == 1
    shown = report.table()
    assert all(name in shown for name in sets.values())
    with rejects(pf.errors.InputError, "'strix'"):
        pf.compare("lola-mnist", ["f1"], parameters={"strix": "x"})
    for asked in ("f1=", "f1=a,b"):
        done = polyfabric("compare", "lola-mnist", "--on", "f1", "--params", asked)
        assert done.status == 2
        assert "is not MACHINE=SET" in done.err


def test_a_whole_program_is_measured_in_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(
        "import polyfabric as pf\n\n@pf.program(x=pf.Int(0, 3).vector(4))\ndef squares(x):\n    return pf.lookup(x, lambda v: v * v % 4)\n"
    )
    report = pf.compare("own.py:squares", [TORUS[-1]], parameters="polyfabric-direct-1024-t32")
    (row,) = report["machines"]
    alone = squares.simulate(TORUS[-1], parameters="polyfabric-direct-1024-t32", max_failure=0.0)
    assert row["operation"] == "runs"
    assert row["throughput_per_s"] == pytest.approx(1 / alone["seconds"])


def test_an_empty_list_of_machines_is_not_all_of_them(polyfabric):
    done = polyfabric("compare", "pbs", "--on", "")
    assert done.status == 2
    assert "there is no machine ''; known are" in done.err


def test_impossible_requests_are_reported():
    for call, message in (
        (lambda: pf.compare("pbss", parameters=SET), "there is no program 'pbss'"),
        (lambda: pf.compare("pbs", ["nobody"], parameters=SET), "there is no machine 'nobody'"),
        (lambda: pf.compare("database-lookup"), "runs only as a whole, with its data"),
        (
            lambda: pf.compare("pbs", parameters=SET, readings=["colour=red"]),
            "none of these machines has the reading 'colour'",
        ),
    ):
        with pytest.raises(pf.errors.InputError, match=message):
            call()


def test_a_reading_goes_to_the_machine_that_has_it():
    fact, option = next(
        (fact, option)
        for fact, reading in pf.load_machine(TORUS[-1]).to_dict()["readings"].items()
        for option in reading["options"]
        if option != reading["default"]
    )
    report = pf.compare("pbs", TORUS, parameters=SET, batch=12, readings=[f"{fact}={option}"])
    chosen = {row["machine"]: row["readings"].get(fact) for row in report["machines"]}
    assert chosen[TORUS[-1]] == option
    assert any(value is None for value in chosen.values())


def test_it_is_drawn(side_by_side, tmp_path):
    ((_, figure),) = plots.of(side_by_side)
    assert len(figure.axes) == 4
    widths = [bar.get_width() for bar in figure.axes[0].patches]
    assert widths == [row["throughput_per_s"] for row in side_by_side["machines"]]
    side_by_side.save(tmp_path)
    assert json.loads((tmp_path / "report.json").read_text()) == side_by_side.to_dict()


def test_the_command(polyfabric):
    done = polyfabric("compare", "pbs", "--on", ",".join(TORUS), "--params", SET, "--batch", "12", "--json")
    assert done.status == 0, done.err
    assert [row["machine"] for row in json.loads(done.out)["machines"]] == TORUS
    done = polyfabric("compare", "pbs", "--params", SET, "--batch", "12", "--plot", "sides.svg")
    assert done.status == 0, done.err
    assert "bound by" in done.out
    assert "written: sides.svg" in done.out
    done = polyfabric("compare", "pbs", "--params", "polyfabric-1-p128-t64")
    assert done.status == 2
    assert "no machine has a result" in done.err


def test_a_long_run_divides_into_usual_batches():
    assert all(BATCH % batch == 0 for batch in (12, 16, 32, 64))
