"""Every row of Osiris' tables is computed, and states its kind of evidence."""

from __future__ import annotations

import json
from contextlib import contextmanager
from copy import deepcopy
from functools import cache

import pytest
from polyfabric import _native
from polyfabric.apps.bitonic_sorting import PAPER_SET as SORTING_SET
from polyfabric.apps.ckks_bootstrapping import FULL_SET
from polyfabric.papers import osiris, osiris_choices, osiris_networks, osiris_roofline, osiris_steps, published
from polyfabric.papers.osiris_networks import Timed
from polyfabric.reports import Report
from polyfabric.run.repeated_rounds import Body, Folded, Round, RoundProgram

FACTS = {
    "limb_operations": {"multiplies": 1000},
    "parameters": {"ring_degree": 65536},
    "key_switches": [{"key": "k", "count": 2}],
    "nodes": [{"op": "bootstrap"}],
}
REPORT = {
    "seconds": 1e-3,
    "cycles": 1e6,
    "stalls": {"key_switch_key": 1.0, "other_transfer": 1.0, "busy": 2.0},
    "traffic_bytes": {"total": 1, "hints": 0, "hints_again": 0},
    "utilisation": {"hbm": 1.0, "ntt": 0.5, "automorphism": 0.1},
    "energy_j": 1e-3,
    "off_chip_energy_j": 5e-4,
}
SORTING = RoundProgram("sorting", [Body("stage", None, 4)], [Round(0)] * 105)
STAGES = Folded(
    SORTING,
    "osiris",
    "a set",
    Report("simulation", {**REPORT, "seconds": 2.0}),
    [{"rounds": 105, "seconds": 0.02}],
    [FACTS],
    1000,
)
FIGURES = {
    **dict.fromkeys(
        ("multiplications", "decompose", "mod_down", "keys", "diagonals", "key_bytes", "traffic_bytes"), 1e9
    ),
    **dict.fromkeys(("utilisation", "memory_busy", "memory_waits", "key_waits"), 0.5),
}


def timed(*_, **__):
    done = Timed()
    done.schedule(65536, REPORT)
    done.add("all", 1, FACTS, REPORT)
    return done


def test_unknown_energy_is_reported_as_unknown():
    unknown = {**REPORT, "energy_j": None}
    done = Timed()
    done.schedule(65536, unknown)
    done.add("all", 1, FACTS, unknown)
    assert "energy unknown" in done.words
    assert osiris._composition(FACTS, unknown).endswith("energy unknown")


@contextmanager
def unscheduled():
    """Applications whose programs are traced, and none of which is scheduled."""
    ways = [
        {"width": width, "babies": width, "giants": 64 // width, "seconds": 1e-6 * width, "figures": FIGURES}
        for width in (8, 64)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(osiris, "_timed", lambda *_: (FACTS, REPORT))
        patch.setattr(osiris.repeated_rounds, "simulated", lambda *_: STAGES)
        patch.setattr(osiris_steps, "_tried", lambda *_: {"width": 8, "tried": ways})
        patch.setattr(osiris_networks, "resnet20_timed", timed)
        patch.setattr(osiris_networks, "_lenet_timed", timed)
        yield patch


@cache
def models_own():
    """The rows that are not applications."""
    return osiris.predictions(None)


def with_models_own(rows):
    """The comparison that all applications' rows give."""
    return published.compared(published.Figures.read("osiris"), [*models_own(), *rows], timed=True)


@pytest.fixture(scope="module")
def made():
    """The rows of every application."""
    with unscheduled():
        return osiris.applications(None)


@pytest.fixture
def rows(made):
    """A copy of them, which a test may change."""
    return deepcopy(made)


def test_every_published_cell_is_claimed_by_the_model_or_an_application_or_says_why_not(rows):
    compared = with_models_own(rows)
    assert [row["failure"] for row in compared if row["failure"] is not None] == []
    assert [row["cell"] for row in compared if row["kind"] is None] == []


PROGRAMS = ("Bootstrap", "T_mult,a/s", "T_Mv:128,a/s", "MLP", "LoLA", "LeNet", "HELR-1024", "Sorting", "ResNet-20")
"""As table III has them."""


def additional_to_table_3(rows):
    """By program: the rows of alternatives to its default, by their description."""
    found = {name: {} for name in PROGRAMS}
    for row in rows:
        if row["beside"] is not None and row["beside"][0] == "Table III (a)":
            name, _, words = row["beside"][1].partition(", double hoisting: ")
            found[name][words] = row
    return found


def test_what_rests_on_another_choice_names_it(rows):
    """Beside table III's cells stand rows of other sets and readings: each says which, or that it was chosen when the time was known."""
    additional = additional_to_table_3(rows)
    for name, own in additional.items():
        for words, row in own.items():
            if row["kind"] == "calibrated":
                assert row["readings"] == []
                why = osiris_choices.SINGLE.why if words == osiris_choices.SINGLE.words else osiris_choices.KNOWN
                assert row["reason"].startswith(why), (name, words)
            else:
                # The default of the time before table III's times were known.
                assert (words, row["kind"]) == (osiris_choices.APART.words, "predicted_under_reading")
    apart = additional["Bootstrap"][osiris_choices.APART.words]["readings"]
    names = [reading["name"] for reading in apart]
    # The paper's note has double-prime scaling.
    assert additional["Bootstrap"]["one prime of 40 bits a level"]["kind"] == "calibrated"
    assert names == [osiris._CHAIN["name"], "sums=apart", "dataflow=giant_step_centric"]
    single = additional["Sorting"]["one prime of 40 bits a level"]
    assert "osiris-bootstrap-IV-single" in single["reason"]
    assert "osiris-bootstrap-single" in additional["T_Mv:128,a/s"]["one prime of 40 bits a level"]["reason"]
    assert "osiris-II, steps=rates" in additional["LeNet"]["steps by the rates of units and memory"]["reason"]
    loaded = additional["HELR-1024"]["diagonals from memory"]
    assert "osiris-bootstrap, limb_extension=loaded" in loaded["reason"]


def test_every_program_is_timed_with_every_choice_that_applies_to_it(rows):
    """Limb chain, diagonals of the transforms, the modular reduction and the split of baby and giant steps where a program has a bootstrap."""
    additional = additional_to_table_3(rows)
    of_machine = {choice.words for choice in osiris_choices.READINGS}
    for name in ("MLP", "LoLA", "LeNet"):
        assert set(additional[name]) == of_machine | {osiris_choices.ORION.words}
    chains = {"one prime of 40 bits a level", "coefficients to slots in three levels, of 63 diagonals"}
    chains.add("modular reduction of degree 62 and two doublings")
    for name in ("Bootstrap", "T_mult,a/s", "T_Mv:128,a/s", "HELR-1024"):
        assert of_machine | chains <= set(additional[name])
    order = osiris_choices.APART.words
    assert set(additional["Sorting"]) == chains | {order, "steps by the fewest products", "diagonals from memory"}
    assert set(additional["ResNet-20"]) == {"one prime of 40 bits a level", order, "steps by the fewest products"}


def test_a_point_of_figure_13_is_worth_what_its_time_is_and_says_what_it_counts(rows):
    points = [row for row in rows if row["id"] == "figure13"]
    by_program = {name: [row for row in points if row["beside"][1].startswith(f"{name}, ")] for name in PROGRAMS}
    assert sum(map(len, by_program.values())) == len(points)
    times = {
        row["id"].split(".")[1]: row["kind"] for row in rows if row["id"].startswith("table3a") and not row["beside"]
    }
    ids = dict(
        zip(
            PROGRAMS,
            ("bootstrap", "mult", "matvec", "mlp", "lola", "lenet", "helr", "sorting", "resnet20"),
            strict=True,
        )
    )
    for name, own in by_program.items():
        # Each hoisting at both bandwidths, and the two amortised times at 1 TB/s.
        assert len(own) == 3 * 3 * (1 if name.startswith("T_") else 2), name
        for row in own:
            assert row["kind"] == times[ids[name]], row
            said = " ".join([row["reason"], *(reading["name"] for reading in row["readings"])])
            assert osiris_roofline.TWO_A_BUTTERFLY["name"] in said
            use = row["beside"][1].endswith(osiris_roofline.USE)
            assert (osiris_roofline.ALL_MULTIPLIERS["name"] in said) == use


def test_times_of_programs_are_calibrated(rows):
    """The default order of products was chosen when they were known."""
    assert {row["kind"] for row in rows if row["id"].startswith("table3") and row["beside"] is None} == {"calibrated"}


def test_the_parts_of_amortized_times_are_those_of_nine_levels(rows):
    found = {row["id"]: row["value"] for row in rows if row["beside"] is None}
    whole, boot = found["table3a.mult.dh"], found["table3a.bootstrap.dh"]
    assert found["table3a.mult.dh.parts"] == pytest.approx(9 * 2**15 * whole / 1e6 - boot)
    assert found["table3a.bootstrap.nh.implied"] == found["table3a.bootstrap.nh"]
    cells = {name: cell.value for name, cell in published.Figures.read("osiris").cells.items()}
    double = cells["table3a.bootstrap.dh"]
    for column in ("nh", "sh"):
        more = cells[f"table3a.mult.{column}"] - cells["table3a.mult.dh"]
        assert cells[f"table3a.bootstrap.{column}.implied"] == pytest.approx(double + 9 * 2**15 * more / 1e6, abs=1e-3)


def test_figure_13_has_the_ends_of_its_utilisation():
    def row(program, hoisting, value):
        place = ["Figure 13", f"{program}, {hoisting} hoisting, 2 TB/s: {osiris_roofline.USE}", "%"]
        return {"id": "figure13", "beside": place, "value": value}

    rows = [
        row("MLP", "double", 30.0),
        row("LoLA", "double", 20.0),
        row("LoLA", "none", 1.0),
        row("T_mult,a/s", "double", 90.0),
    ]
    least, most = osiris_roofline.least_and_most(rows)
    assert (least["id"], least["value"], most["id"], most["value"]) == (
        "figure13.utilisation.least",
        20.0,
        "figure13.utilisation.most",
        30.0,
    )
    assert least["reason"].endswith("that of LoLA at 2 TB/s")
    assert osiris_roofline.least_and_most([]) == []


def test_the_gain_of_twice_the_bandwidth_is_that_of_the_fastest_hoistings():
    rows = [
        {"id": f"table3{part}.resnet20.{column}", "beside": None, "value": value, "kind": "calibrated", "readings": []}
        for part, times in (("a", (9.0, 6.0, 8.0)), ("b", (7.0, 5.0, 4.0)))
        for column, value in zip(("nh", "sh", "dh"), times, strict=True)
    ]
    (gain,) = [row for row in osiris._ratios(rows) if row["id"] == "section7.resnet20.2"]
    assert (gain["value"], gain["kind"]) == (6.0 / 4.0, "calibrated")


def test_bootstrapping_without_baby_steps_and_hoisting_names_its_readings(rows):
    own = {row["id"]: set(row["reason"].split("; ")) for row in rows if "plain" in row["id"]}
    plain = {osiris._CHAIN["name"], "hoisting=none", "steps=diagonals"}
    counted = {osiris_roofline.TWO_A_BUTTERFLY["name"], osiris_roofline.ALL_MULTIPLIERS["name"]}
    assert plain <= own["section7.plain"]
    assert plain | counted <= own["section7.plain.utilisation"]


def test_the_sets_of_choices_come_with_the_project():
    known = {row["name"] for row in json.loads(_native.slot_parameter_sets())}
    for default, choices in (
        (FULL_SET, osiris_choices.OF_SET_III),
        (SORTING_SET, osiris_choices.OF_SORTING),
    ):
        assert {choice.set(default) for choice in choices} <= known


def test_a_default_has_the_range_over_what_else_the_paper_allows(rows):
    additional = [("a", 3.0), ("b", 1.0), (osiris_choices.FASTER.words, 0.1)]
    made = [{"id": "table3a.x.dh", "beside": None, "value": 2.0, "readings": [], "reason": "made"}]
    for name, value in additional:
        place = ["Table III (a)", f"X, double hoisting: {name}", "ms"]
        own = {"program": "x", "choice": name}
        made.append({"id": "table3a.x.dh", "beside": place, "value": value, "readings": [], "of": own})
    osiris_choices.add_ranges(made)
    assert made[0]["range"] == {"least": 1.0, "least_of": "b", "most": 3.0, "most_of": "a", "choices": 3}
    names = ("bootstrap", "mult", "matvec", "mlp", "lola", "helr", "sorting", "lenet", "resnet20")
    assert [row["id"] for row in rows if "range" in row] == [f"table3a.{name}.dh" for name in names]
    assert len(names) == len(PROGRAMS)


def test_the_range_stands_in_the_data_and_in_the_table_and_a_cell_that_nobody_claims_is_told():
    times = iter(float(number) for number in range(2, 200))
    with unscheduled() as patch:
        patch.setattr(osiris, "_timed", lambda *_: (FACTS, {**REPORT, "seconds": 1e-3 * next(times)}))
        rows = osiris.applications(None)
    without = [row for row in rows if row["id"] != "figure11.stalls.64"]
    compared = with_models_own(without)
    (failure,) = [row["failure"] for row in compared if row["failure"] is not None]
    assert 'has a number of cell "figure11.stalls.64"' in failure
    (default,) = [row for row in compared if row["cell"] == "Bootstrap, double hoisting, 1 TB/s"]
    additional = [row for row in compared if row["cell"].startswith("Bootstrap, double hoisting: ")]
    elsewhere = [choice.words for choice in osiris_choices.ELSEWHERE]
    others = [row for row in additional if not row["cell"].endswith(tuple(f": {words}" for words in elsewhere))]
    own = (*osiris_choices.OF_SET_III, osiris_choices.DRAM, osiris_choices.IN_TURN)
    assert [row["cell"].partition(": ")[2] for row in others] == [choice.words for choice in own]
    found = [default["model"], *(row["model"] for row in others)]
    ends = default["range"]
    assert (ends["least"], ends["most"], ends["choices"]) == (min(found), max(found), len(found))
    assert ends["least_of"] == "the default"
    assert others[found.index(max(found)) - 1]["cell"].endswith(f": {ends['most_of']}")
    table = Report("reproduction", {"paper": "osiris", "rows": compared}).table()
    assert "over the choices" in table
    assert f"{ends['most']:.4g} ({ends['most_of']})" in " ".join(table.split())
    assert f"{min(found):.4g} to {max(found):.4g}" in table
    # Tables without such a row have no such column.
    plain = [row for row in compared if row["table"] != "Table III (a)"]
    assert "over the choices" not in Report("reproduction", {"paper": "osiris", "rows": plain}).table()
