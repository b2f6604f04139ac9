"""Programs of BGV run by F1's schedule, which is also what the simulation times."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import polyfabric as pf
import pytest
from calls import called
from polyfabric import _native
from polyfabric.accelerators.machine import load
from polyfabric.apps.bgv_bootstrapping import bgv_bootstrapping
from polyfabric.apps.ckks_bootstrapping import ckks_bootstrapping
from polyfabric.apps.matvec import matvec
from polyfabric.apps.programs import microbenchmark
from polyfabric.errors import SecurityWarning
from polyfabric.host.memory import limited
from polyfabric.papers.f1_figures import (
    figure_9,
    figure_10,
    ideal_registers,
    table_5,
    table_5_means,
    units_at_work,
    utilisation,
)
from polyfabric.papers.f1_worth import UNKNOWN, of_program
from polyfabric.run import statements
from polyfabric.run.execution import plan
from polyfabric.run.statements import Add, Mul, Program, Rotate
from rejects import rejects

PUBLISHED = tomllib.loads((Path(__file__).resolve().parents[2] / "figures" / "f1.toml").read_text())["figure"]
SMALL = {"degree": 1024, "limbs": 8, "rows": 2}
SET = "bgv-toy-1024-listing1"


def test_a_small_listing_2_replays_right():
    program = matvec(**SMALL)
    generator = np.random.default_rng(5)
    inputs = {name: generator.integers(0, 65537, 1024) for name in program.inputs}
    with pytest.warns(SecurityWarning):
        done = program.run(inputs, on="f1", parameters=SET)
    assert done.correct
    for row in range(2):
        product = int((inputs[f"row{row}"].astype(object) * inputs["vector"]).sum() % 65537)
        assert {value % 65537 for value in done.outputs[f"product{row}"]} == {product}
    assert done.simulation is not None
    assert done.simulation["operations"] == 2 * 11
    assert done.simulation["lower_bound_cycles"] <= done.simulation["cycles"]
    trace = json.loads(done.simulation.timeline())
    assert any(event["ph"] == "X" for event in trace["traceEvents"])


@pytest.mark.parametrize("on", ["cpu", pytest.param("f1", marks=pytest.mark.full)])
def test_bootstrappings_are_replayed_and_decrypt(on):
    for bit in (0, 1):
        done = bgv_bootstrapping().run({"exhausted": bit}, on=on, parameters="bgv-toy-1024-bootstrap", max_failure=-40)
        assert done.correct
        assert done.outputs["refreshed"] == bit
    number = 0.6 - 0.8j
    done = ckks_bootstrapping().run({"exhausted": number}, on=on, parameters="toy-11-boot-f1")
    assert done.correct
    assert abs(done.outputs["refreshed"] - number) < 2**-12
    levels = {node["op"]: node["level"] for node in done.nodes}
    assert (levels["input"], levels["bootstrap"], levels["output"]) == (0, 5, 5)


def test_statements_and_decorated_functions_are_the_same_graph():
    p = Program(N=64, name="same")
    x, y = p.Input(name="x"), p.Input(name="y")
    p.Output(Add(Mul(x, y), Rotate(x, 3)), name="result")
    p.Output(Rotate(y, 32), name="swapped")

    @pf.program(x=pf.Mod(65537).vector(64), y=pf.Mod(65537).vector(64))
    def same(x, y):
        return {"result": x * y + x.rotate(3), "swapped": y.swap_rows()}

    mine, theirs = (re.sub(r' at ".*?":\d+', "", made.text()) for made in (p.finish(), same))
    assert mine == theirs


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda p: p.Input(L=0), "L=0 limbs"),
        (lambda p: (p.Input(name="a"), p.Input(name="a")), "two inputs"),
        (lambda p: p.finish(), "no output"),
        (lambda p: statements.Program(N=100), "100"),
    ],
)
def test_wrong_statements_are_refused(step, message):
    with pytest.raises(pf.errors.ProgramError, match=message) as refused:
        step(Program(N=64))
    assert "test_f1.py:" in str(refused.value)


def listing_2(**wanted):
    program = Program(N=16384)
    x = program.Input(**wanted)
    program.Output(Add(x, Rotate(x, 1)))
    return program.finish()


def test_inputs_are_over_the_limbs_that_are_asked_for():
    machine = load("f1")
    limbs = {}
    for parameters in (None, "f1-listing2"):
        planned = plan(listing_2(L=16), parameters, machine=machine, key_switch="set", security=0)
        limbs[parameters] = {node["limbs"] for node in planned.facts["nodes"]}
    assert limbs == {None: {16}, "f1-listing2": {16}}
    with rejects(pf.errors.ProgramError, "40", "39", "16"):
        plan(listing_2(L=40), "f1-listing2", machine=machine, key_switch="set", security=0)


def test_the_compiler_takes_no_key_switch_that_fails_too_often():
    @pf.program(x=pf.Mod(65537).vector(4096), y=pf.Mod(65537).vector(4096))
    def products(x, y):
        z = x + x.rotate(1)
        for _ in range(3):
            z *= y
        z = z * z
        return z * y

    planned = plan(products, machine=load("f1"))
    rows = {row["name"]: row for row in planned.facts["key_switch"]["considered"]}
    assert "it may fail with probability 2^-30" in rows["listing1"]["refused"]
    assert planned.facts["log2_failure"] <= -128
    assert products.simulate("f1")["cycles"] > 0
    turned = pf.program(x=pf.Mod(65537).vector(4096))(lambda x: x + x.rotate(1))
    done = turned.run({"x": list(range(4096))}, key_switch="auto")
    assert done.correct
    assert done.plan.facts["log2_failure"] <= -128
    rows = {row["name"]: row for row in done.plan.facts["key_switch"]["considered"]}
    assert "it may fail with probability 2^-38" in rows["listing1"]["refused"]


PERMUTE = ("simulate", "permute", "--on", "f1", "--params", "12", "--batch", "4", "--json")


@pytest.fixture(scope="module")
def permuted(tmp_path_factory):
    """The report of the command above."""
    return json.loads(called(tmp_path_factory.mktemp("permuted"), *PERMUTE).out)


def test_a_microbenchmark_is_timed(permuted):
    report = permuted
    assert report["operations"] == 4 * 8
    for key in (
        "cycles",
        "seconds",
        "latency_s",
        "throughput_per_s",
        "lower_bound_cycles",
        "utilisation",
        "stalls",
        "traffic_bytes",
        "area_mm2",
        "power_w",
        "energy_j",
    ):
        assert key in report
    assert sum(report["stalls"].values()) == pytest.approx(report["cycles"])


def test_streams_and_groups_are_shown(polyfabric, tmp_path):
    common = ("simulate", "permute", "--on", "f1", "--params", "12", "--batch", "2")
    done = polyfabric(*common, "--streams", "streams.txt", "--groups", "--json")
    assert done.status == 0, done.err
    text = (tmp_path / "streams.txt").read_text()
    assert text.count("\n    ntt q") + text.count("\n    intt q") == 2 * 8 * 20
    assert re.search(r"^hbm 0: from cycle \d+$", text, re.MULTILINE)
    groups = json.loads(done.out)["groups"]
    assert sum(group["operations"] for group in groups) == 2 * 8
    assert polyfabric(*common, "--streams", "streams.bin").status == 0
    assert (tmp_path / "streams.bin").stat().st_size < len(text) / 4


@pytest.mark.parametrize("kind", ["ntt", "automorphism"])
def test_units_of_low_throughput(polyfabric, permuted, kind):
    full, low = permuted, json.loads(polyfabric(*PERMUTE, "--low-throughput", kind).out)
    # The same work at the same throughput, of more units with a longer latency.
    assert low["limits"][kind] >= full["limits"][kind]
    assert low["cycles"] > full["cycles"]
    assert low["area_mm2"] is None
    assert low["energy_j"] is None


def test_figure_9_divides_the_reports_numbers(permuted):
    report = permuted
    rows = figure_9("table3.none", "permute", report)
    beside = [row for row in rows if row["beside"]]
    values = {row["beside"][1].removeprefix("permute, "): row["value"] for row in beside}
    traffic = report["traffic_bytes"]
    mebibytes = {
        row["beside"][1].removeprefix("permute, "): row["value"] for row in beside if row["beside"][2] == "MiB"
    }
    classes = sum(value for name, value in mebibytes.items() if name != "compulsory minimum")
    assert classes == pytest.approx((traffic["total"] - traffic["instructions"]) / 2**20)
    assert values["compulsory minimum"] == (traffic["hints"] + traffic["inputs_outputs"]) / 2**20
    watts = [row["value"] for row in beside if row["beside"][2] == "W"]
    assert sum(watts[:-1]) == pytest.approx(watts[-1]) == pytest.approx(report["power_w"])


def test_compulsory_traffic_is_not_approached_where_hints_come_again(permuted):
    """Section 8.2 speaks of whatever came or went for want of room; intermediates are a part of that."""
    cell = "figure9a.not_compulsory.helr"
    (bound,) = [figure["upper_bound"] for figure in PUBLISHED if figure["id"] == cell]
    again = {**dict.fromkeys(permuted["traffic_bytes"], 0), "hints": 50, "hints_again": 50, "total": 100}
    rows = figure_9("helr", "helr", {**permuted, "traffic_bytes": again, "not_compulsory_bytes": 50})
    (row,) = [row for row in rows if row["id"] == cell]
    assert row["value"] == 50.0 > bound
    (beside,) = [row for row in rows if row["beside"] and row["beside"][1] == "helr, share of intermediates"]
    assert beside["value"] == 0.0
    # The paper excepts LoLa-CIFAR, and says so of its intermediates.
    rows = figure_9("lola_cifar", "lola-cifar", permuted)
    own = {row["id"] for row in rows if row["beside"] is None}
    assert {id_ for id_ in own if not id_.startswith("figure9b")} == {"figure9a.intermediates.lola_cifar"}


def test_what_registers_cost_is_that_of_programs_whose_time_is_not_known():
    made = ideal_registers({"helr": ("helr", 9.0), "bgv_bootstrapping": ("b", 1.0), "lola_mnist_encrypted": ("l", 2.0)})
    own, *beside = made
    assert (own["id"], own["value"], own["kind"]) == ("section3.registers", 2.0, "predicted_under_reading")
    assert [(row["value"], row["kind"]) for row in beside] == [
        (9.0, "calibrated"),
        (1.0, "predicted_under_reading"),
        (2.0, "predicted_under_reading"),
    ]


def test_programs_whose_time_is_not_known_are_those_of_the_published_table():
    times = [figure for figure in PUBLISHED if figure["id"].startswith("table3.") and figure["unit"] == "ms"]
    cells = [figure for figure in times if "unmodelled" not in figure]
    assert sorted(figure["id"] for figure in cells if "value" not in figure) == sorted(
        f"table3.{program}" for program in UNKNOWN
    )
    assert {figure["id"].removeprefix("table3.") for figure in cells} > {*UNKNOWN}


@pytest.mark.parametrize("program", ["helr", "bgv_bootstrapping"])
def test_every_row_of_a_program_is_worth_what_was_known_of_it(permuted, program):
    """For a program with a published time all rows are calibrated; for others, only rows that the paper states."""
    stated = {figure["id"] for figure in PUBLISHED if {"value", "lower_bound", "upper_bound"} & figure.keys()}
    time = of_program(program, f"table3.{program}", 1.0, "why")
    assert (time["kind"] == "calibrated") == (f"table3.{program}" in stated)
    slowdown = of_program(program, f"table5.{program}.ntt", 1.0, "why")
    rows = [*figure_9(program, program, permuted), time, slowdown]
    for row in rows:
        # How much power flows without activity was read another way when the shares of computation were known.
        own = row["beside"] is None or row["id"].startswith("figure9b.computation.")
        known = time["kind"] == "calibrated" or (own and row["id"] in stated)
        assert row["kind"] == ("calibrated" if known else "predicted_under_reading")
        assert row["reason"].startswith("calibrated: ") == known
        for name in ("crossbar=several", "a program of ours after the paper's source"):
            assert (name in row["reason"]) == known
            assert (name in [reading["name"] for reading in row["readings"]]) != known
    assert len({row["kind"] for row in rows}) == (1 if program == "helr" else 2)


def test_what_is_made_of_several_programs_is_worth_no_more_than_the_least():
    busy = {program: (program, 10.0) for program in ("helr", *UNKNOWN)}
    kinds = [row["kind"] for row in utilisation(busy)]
    assert kinds == ["calibrated", "calibrated", *["predicted_under_reading"] * len(UNKNOWN)]
    del busy["helr"]
    assert {row["kind"] for row in utilisation(busy)} == {"predicted_under_reading"}
    slowdowns = [of_program(program, f"table5.{program}.ntt", 2.0, "why") for program in ("helr", *UNKNOWN)]
    (mean,) = table_5_means(slowdowns)
    assert mean["kind"] == "calibrated"
    assert "those of 1 of its 3 programs" in mean["reason"]
    assert [row["kind"] for row in table_5_means(slowdowns[1:])] == ["predicted_under_reading"]


def test_a_scheduler_that_gives_up_raises_its_own_error():
    kernel = _native.RnsKernel.microbenchmark("permute", 12, 3, 16, 2)
    with pytest.raises(pf.errors.IntractableError, match="limit"):
        load("f1").map(kernel, scheduler="csr", time_limit=1e-9)


def test_figure_10_is_the_timeline_in_equal_parts():
    class Drawn:
        """Units are idle except the multipliers in the last tenth; a 0 follows the last window."""

        def timeline(self):
            names = ("ntt", "automorphism", "multiply", "add", "hbm", "register_output")
            shares = {name: [0.0] * 401 for name in names} | {"multiply": [0.0] * 360 + [60.0] * 40 + [0.0]}
            events = [
                {"ph": "C", "name": f"{name}, busy %", "args": {"busy": share}}
                for name, windows in shares.items()
                for share in windows
            ]
            return json.dumps({"traceEvents": [{"ph": "X", "name": "ntt"}, *events]})

    highest, *points = figure_10(load("f1"), "lola-mnist", Drawn())
    # The first of both parts; two of a cluster's six units are multipliers.
    assert (highest["id"], highest["value"]) == ("section8.highest", 92.5)
    assert "with 20.0 % of the units at work" in highest["reason"]
    curves = {}
    for row in points:
        curves.setdefault(row["point"]["curve"], []).append((row["point"]["at"], row["value"]))
    assert set(curves) == {"ntt", "automorphism", "multiply", "add", "hbm"}
    assert [at for at, _ in curves["ntt"]] == [2.5 + 5 * part for part in range(20)]
    assert [share for _, share in curves["multiply"]] == [0.0] * 18 + [60.0] * 2


def test_units_at_work_are_the_mean_of_all_units(permuted):
    # A cluster has one NTT unit, one automorphism unit, two multipliers and two adders.
    busy = permuted["utilisation"]
    share = (busy["ntt"] + busy["automorphism"] + 2 * busy["multiply"] + 2 * busy["add"]) / 6
    assert units_at_work(load("f1"), permuted) == pytest.approx(100 * share)
    mean, *beside = utilisation({"helr": ("one", 10.0), "db": ("other", 30.0)})
    assert (mean["id"], mean["value"], mean["beside"]) == ("section8.utilisation", 20.0, None)
    assert [(row["beside"][1], row["value"]) for row in beside] == [
        ("one: utilisation of the functional units", 10.0),
        ("other: utilisation of the functional units", 30.0),
    ]
    assert utilisation({}) == []


def test_table_5_is_relative_to_the_full_machine():
    kernel = _native.RnsKernel.microbenchmark("permute", 12, 3, 4, 2)
    machine = load("f1")
    own = machine.simulate(kernel)["seconds"]
    variants = {
        "ntt": {"low_throughput": "ntt"},
        "automorphism": {"low_throughput": "automorphism"},
        "csr": {"scheduler": "csr"},
    }
    rows = table_5("lola_mnist", machine, kernel, own)
    assert [row["id"] for row in rows] == [f"table5.lola_mnist.{column}" for column in variants]
    for row, options in zip(rows, variants.values(), strict=True):
        assert row["value"] * own == pytest.approx(machine.map(kernel, **options).report()["seconds"])
    squared = [{**row, "id": row["id"].replace("lola_mnist", "db"), "value": row["value"] ** 3} for row in rows]
    means = table_5_means(rows + squared)
    assert [row["id"] for row in means] == [f"table5.gmean.{column}" for column in variants]
    assert [mean["value"] for mean in means] == pytest.approx([row["value"] ** 2 for row in rows])


def test_a_compiled_program_is_saved_and_loaded(polyfabric, tmp_path):
    common = ("simulate", "permute", "--on", "f1", "--params", "12", "--batch", "2", "--json", "--groups")
    compiled = polyfabric(*common, "--save", "permute.compiled")
    loaded = polyfabric(*common, "--load", "permute.compiled")
    assert (loaded.status, loaded.err) == (0, "")
    assert json.loads(loaded.out) == json.loads(compiled.out)
    other = polyfabric("simulate", "permute", "--on", "f1", "--params", "13", "--load", "permute.compiled")
    assert other.status == 2
    assert "compiled from another program" in " ".join(other.err.split())
    data = (tmp_path / "permute.compiled").read_bytes()
    (tmp_path / "cut").write_bytes(data[: len(data) // 2])
    cut = polyfabric(*common, "--load", "cut")
    assert cut.status == 2
    assert "damaged" in cut.err
    assert "error: none: cannot read" in polyfabric(*common, "--load", "none").err


def test_the_comparisons_scheduler_is_chosen(polyfabric):
    common = ("simulate", "multiply", "--on", "f1", "--params", "12", "--batch", "2", "--json")
    priority, csr = (json.loads(polyfabric(*common, *more).out) for more in ((), ("--scheduler", "csr")))
    assert csr["traffic_bytes"]["hints"] == priority["traffic_bytes"]["hints"]
    assert csr["lower_bound_cycles"] <= csr["cycles"] != priority["cycles"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("simulate", "permute", "--on", "f1", "--scheduler", "csr", "--time-limit", "1e-9"),
            "CSR is intractable",
        ),
        (
            ("simulate", "permute", "--on", "f1", "--load", "x", "--scheduler", "csr"),
            "--load reads a compiled program",
        ),
        (("simulate", "permute", "--on", "f1", "--time-limit", "5"), "--time-limit is of --scheduler csr"),
        (("simulate", "pbs", "--on", "f1"), "morphling"),
        (("run", "matvec", "--on", "morphling"), "osiris"),
        (("simulate", "permute", "--on", "f1", "--params", "17"), "log2 of the ring degree"),
        (("simulate", "permute", "--on", "morphling", "--batch", "1"), "executes programs of TFHE"),
    ],
)
def test_programs_that_do_not_fit_are_reported(polyfabric, arguments, message):
    done = polyfabric(*arguments)
    assert done.status == 2
    assert message in " ".join(done.err.split())


@pytest.mark.parametrize(
    "key_switch", ["auto", "listing1", *(pytest.param(name, marks=pytest.mark.full) for name in ("set", "d1", "d3"))]
)
def test_every_key_switch_replays_and_decrypts(key_switch):
    number = 0.6 - 0.8j
    if key_switch in ("auto", "set", "d3", "d1"):
        done = ckks_bootstrapping().run(
            {"exhausted": number}, on="f1", parameters="toy-11-boot-f1", key_switch=key_switch
        )
        assert done.correct
        assert abs(done.outputs["refreshed"] - number) < 2**-12
    done = bgv_bootstrapping().run(
        {"exhausted": 1}, on="f1", parameters="bgv-toy-1024-bootstrap", key_switch=key_switch, max_failure=-40
    )
    assert done.correct
    assert done.outputs["refreshed"] == 1
    if key_switch not in ("auto", "set"):
        assert done.plan.facts["key_switch"]["name"] == key_switch
        assert done.parameters == f"bgv-toy-1024-bootstrap-{key_switch}"
    # Keys go with their set's name.
    again = bgv_bootstrapping().run({"exhausted": 0}, on="f1", keys=done.keys, max_failure=-40)
    assert again.correct
    assert again.parameters == done.parameters


@pytest.mark.full
def test_the_compilers_choice_is_reported(polyfabric):
    done = json.loads(polyfabric("simulate", "matvec", "--on", "f1", "--json").out)
    choice = done["key_switch"]
    assert choice["by"] == "compiler"
    names = [row["name"] for row in choice["considered"]]
    assert names == ["listing1", "d16", "d8", "d6", "d4", "d3", "d2", "d1"]
    # The set has fewer than 128 bits of security, and special primes would leave it fewer still.
    assert choice["name"] == "listing1"
    assert all("refused" in row and "seconds" not in row for row in choice["considered"][1:])
    # Where several variants are secure, the one of the least estimate is taken.
    loaded = json.loads(polyfabric("simulate", "lola-mnist", "--on", "f1", "--json").out)
    estimates = {row["name"]: row["seconds"] for row in loaded["key_switch"]["considered"] if "seconds" in row}
    assert len(estimates) > 1
    assert min(estimates, key=estimates.__getitem__) == loaded["key_switch"]["name"]
    # A named set or key switch is used.
    for more, name, by in (
        (("--params", "f1-listing2"), "listing1", "set"),
        (("--key-switch", "set"), "listing1", "set"),
        (("--key-switch", "d2"), "d2", "user"),
    ):
        done = json.loads(polyfabric("simulate", "matvec", "--on", "f1", *more, "--json").out)
        assert (done["key_switch"]["name"], done["key_switch"]["by"]) == (name, by)
    text = polyfabric("simulate", "matvec", "--on", "f1").out
    assert "the compiler's choice" in text
    assert f"{choice['name']}*" in text


def test_a_key_switch_that_swamps_the_scale_is_refused_and_never_chosen():
    with pytest.warns(SecurityWarning):
        made = plan(ckks_bootstrapping(), "f1-ckks-bootstrap", machine=load("f1"), key_switch="auto")
    rows = {row["name"]: row for row in made.facts["key_switch"]["considered"]}
    assert "with the set's own key switch" in rows["listing1"]["refused"]
    assert made.facts["key_switch"]["name"] != "listing1"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            ("simulate", "matvec", "--on", "f1", "--key-switch", "d7"),
            '"d7" for 16 limbs; choose from: listing1, d16',
        ),
        (("run", "digits", "--key-switch", "d4"), "--key-switch does not apply to digits"),
        (("simulate", "permute", "--on", "f1", "--key-switch", "d4"), "leave it out"),
        (
            ("simulate", "pbs", "--on", "morphling", "--key-switch", "d4"),
            "pbs: key_switch='d4' (--key-switch) applies to programs of CKKS and BGV; planning places TFHE's",
        ),
        (("run", "database-lookup", "--on", "f1", "--key-switch", "d4"), "leave it out"),
    ],
)
def test_key_switches_that_there_are_not(polyfabric, call, message):
    done = polyfabric(*call)
    assert done.status != 0
    assert message in " ".join(done.err.split())


def test_special_primes_do_not_take_a_set_below_128_bits():
    @pf.program(scheme="ckks", x=pf.Real.vector(8))
    def rotated(x):
        return {"rotated": x.rotate(1)}

    machine = load("f1")
    made = plan(rotated, "f1-14-L13", machine=machine, key_switch="auto")
    rows = {row["name"]: row for row in made.facts["key_switch"]["considered"]}
    assert "security" in rows["d1"]["refused"]
    assert made.facts["parameters"]["security_bits"] >= 128
    with pytest.raises(pf.errors.ParameterError, match=r"its special primes reduce the security to .* bits"):
        plan(rotated, "f1-14-L13", machine=machine, key_switch="d1")


@pytest.mark.parametrize(("name", "size"), [("multiply", "12"), ("ntt", "15")])
def test_the_memory_of_mapping_follows_the_instructions(name, size):
    machine = load("f1")
    bytes_of = [microbenchmark(name, size, batch, machine).mapping_bytes(machine.native) for batch in (1, 2, 4)]
    instructions = [
        sum(group["instructions"] for group in machine.map(microbenchmark(name, size, batch, machine)).groups())
        for batch in (1, 2, 4)
    ]
    each = (bytes_of[1] - bytes_of[0]) / (instructions[1] - instructions[0])
    # At most 190 bytes for each were measured.
    assert each > 200
    assert (bytes_of[2] - bytes_of[1]) / (instructions[2] - instructions[1]) == pytest.approx(each)


def test_a_key_switch_is_not_chosen_beyond_the_memory():
    @pf.program(scheme="ckks", x=pf.Real.vector(8))
    def rotated(x):
        return {"rotated": x.rotate(1)}

    with limited("100M"), rejects(pf.errors.RunError, "--memory"):
        plan(rotated, "f1-14-L13", machine=load("f1"), key_switch="auto")
