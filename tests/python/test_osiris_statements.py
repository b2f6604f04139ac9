"""Osiris' statements in words are compared with the model's numbers."""

from __future__ import annotations

import pytest
import test_osiris_rows
from polyfabric.papers import osiris, osiris_roofline, osiris_statements, osiris_steps, osiris_timing
from polyfabric.papers.rows import BOUND_KNOWN

CHAIN = osiris._CHAIN

made = test_osiris_rows.made


def cell(name, value):
    return {"id": name, "beside": None, "value": value}


def point(program, hoisting, bandwidth, what, value):
    place = ["Figure 13", f"{program}, {hoisting} hoisting, {bandwidth} TB/s: {what}", "%"]
    return {"id": "figure13", "beside": place, "value": value}


def found(rows):
    return {row["id"]: row for row in osiris_statements.statements(rows, CHAIN)}


TIMES = {
    "table3a.bootstrap.nh": 4.0,
    "table3a.bootstrap.dh": 5.0,
    "table3b.bootstrap.nh": 3.0,
    "table3b.bootstrap.dh": 2.5,
    "section7.stalls.1": 60.0,
    "section7.stalls.2": 45.0,
}


def test_bootstrapping_with_more_bandwidth():
    rows = [cell(*each) for each in TIMES.items()]
    rows += [
        point("Bootstrap", name, "1", osiris_roofline.INTENSITY, at) for name, at in (("none", 8.0), ("double", 6.0))
    ]
    made = found(rows)
    values = {name: row["value"] for name, row in made.items() if name.startswith("section7")}
    # A quarter of the time is saved without hoisting and a half with it; gains are 4 / 5 and 3 / 2.5.
    assert values == pytest.approx(
        {
            "section7.none.saving": 0.25 / 0.5,
            "section7.gain.rises": (3.0 / 2.5) / (4.0 / 5.0),
            "section7.stalls.falls": 0.75,
            "section7.intensity": 0.75,
        }
    )
    saving = made.pop("section7.none.saving")
    assert (saving["kind"], saving["reason"].partition(";")[0]) == ("calibrated", BOUND_KNOWN)
    assert "25 % of the time without hoisting, 50 % with" in saving["reason"]
    assert {row["kind"] for name, row in made.items() if name in values} == {"calibrated"}
    assert all(CHAIN["name"] in row["reason"] for name, row in made.items() if name in values)
    assert osiris_roofline.TWO_A_BUTTERFLY["name"] in made["section7.intensity"]["reason"]


@pytest.mark.parametrize("missing", TIMES)
def test_what_was_not_timed_makes_no_statement(missing):
    made = found([cell(name, None if name == missing else value) for name, value in TIMES.items()])
    of_times = {"section7.none.saving", "section7.gain.rises"}
    assert set(made) == ({"section7.stalls.falls"} if missing.startswith("table3") else of_times)


def test_a_share_of_nothing_is_not_a_number():
    made = found([cell(name, 4.0) for name in TIMES])
    assert (made["section7.none.saving"]["value"], made["section7.none.saving"]["kind"]) == (None, "not_modelled")
    assert made["section7.gain.rises"]["value"] == 1


def test_figure_13_with_more_bandwidth():
    uses = {
        ("MLP", "none"): (50.0, 55.0),
        ("MLP", "double"): (20.0, 30.0),
        ("LoLA", "none"): (40.0, 40.0),
        ("LoLA", "double"): (40.0, 36.0),
        ("LeNet", "none"): (20.0, 22.0),
        ("LeNet", "double"): (20.0, 24.2),
        # A row without a time, and none of the seven.
        ("ResNet-20", "double"): (20.0, 24.0),
        ("T_mult,a/s", "double"): (50.0, 5.0),
    }
    rows = [
        point(*place, bandwidth, osiris_roofline.USE, use)
        for place, both in uses.items()
        for bandwidth, use in zip("12", both, strict=True)
    ]
    made = found(rows)
    assert made["figure13.utilisation.rises"]["value"] == pytest.approx(0.9), "LoLA speaks against it"
    assert made["figure13.utilisation.hoisting"]["value"] == pytest.approx(200 / 3), "and so it does here"
    assert "LeNet 1.1 times" in made["figure13.utilisation.hoisting"]["reason"]
    assert {row["kind"] for row in made.values()} == {"calibrated"}
    assert "LoLA 0.9" in made["figure13.utilisation.rises"]["reason"]


def test_figure_13_next_to_its_ridge():
    # 73 multipliers of 512 lanes, a cycle of 1,000 bytes.
    ridge = 73 * 512 / 1e3
    assert osiris_roofline.ridge("1TB") == pytest.approx(ridge)
    assert osiris_roofline.ridge("2TB", 1024) == pytest.approx(ridge)
    places = {
        ("MLP", "1"): ridge / 2,
        ("MLP", "2"): ridge / 2.5,
        ("LoLA", "1"): 3 * ridge,
        ("LoLA", "2"): 1.01 * 3 * ridge,
        ("LeNet", "1"): 1.0,
    }
    rows = [point(name, "double", bandwidth, osiris_roofline.INTENSITY, at) for (name, bandwidth), at in places.items()]
    made = found(rows[:4])
    assert made["figure13.intensity.falls"]["value"] == 50
    # At 2 TB/s the ridge is at half: LoLA is beyond it by twice as much.
    assert made["figure13.ridge"]["value"] == pytest.approx(6.06)
    assert "LoLA at 2 TB/s" in made["figure13.ridge"]["reason"]
    assert found(rows)["figure13.ridge"]["value"] == pytest.approx(ridge), "far on the memory's side, too"
    assert found([]) == {}


def test_products_with_keys_are_reported_at_the_level_with_the_most():
    def at(width, keys):
        ways = [{"width": other, "figures": {"keys": 9.0, "multiplications": 10.0}} for other in (1, 2, 4)]
        ways[width // 2]["figures"] = {"keys": keys, "multiplications": 100.0}
        return {"width": width, "tried": ways}

    row = osiris_steps._keys({9: at(1, 3.0), 10: at(4, 12.0), 11: at(2, 5.0)})
    assert (row["id"], row["value"], row["kind"]) == ("figure11.keys", pytest.approx(12), "calibrated")
    assert row["reason"].startswith(BOUND_KNOWN)
    assert "; at level 10; 3.0% at level 9" in row["reason"]


def test_a_wait_for_memory_says_how_much_of_it_is_for_keys(made):
    stalls = {"key_switch_key": 2.0, "other_transfer": 3.0, "pipeline": 1.0, "busy": 4.0}
    traffic = {"total": 20, "hints": 9, "hints_again": 3}
    report = {"stalls": stalls, "traffic_bytes": traffic, "utilisation": {"hbm": 0.7, "ntt": 0.4}}
    assert osiris._waiting(report) == pytest.approx(0.5)
    words = osiris._waited(report)
    assert "20% for what keys make and the rest for other limbs" in words
    assert "60% of what memory moves is keys" in words
    assert "memory is at work 70% of the time, the NTT units 40%" in words
    # A share that is said to wait for keys is read as all waits for memory, and says so.
    # A row that is calibrated has its readings in its reason.
    name = osiris_timing.FOR_KEYS["name"]
    read = {row["id"] for row in made if osiris_timing.FOR_KEYS in row["readings"] or name in row["reason"]}
    stalls = (
        "section7.stalls.1",
        "section7.stalls.2",
        "section7.stalls.falls",
        "figure11.stalls.1",
        "figure11.stalls.64",
    )
    assert read == set(stalls)
    assert all(
        "for what keys make" in row["reason"] for row in made if row["id"] in stalls and "falls" not in row["id"]
    )
