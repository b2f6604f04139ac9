"""Does the comparison with published figures put every number next to its cell, and say why where there is none?"""

from __future__ import annotations

import tomllib

import polyfabric as pf
import pytest
from polyfabric.papers import PAPERS, reproduce
from polyfabric.papers.published import Figures, compared
from polyfabric.papers.rows import calibrated, failed, identical, predicted

FIGURES = """
    paper = "P"
    title = "A paper"
    [[figure]]
    id = "a"
    table = "T"
    cell = "a number"
    unit = "ns"
    value = 2
    [[figure]]
    id = "b"
    table = "T"
    cell = "a bound"
    unit = "%"
    lower_bound = 20.0
    upper_bound = 30.0
    derived = "of two others"
    [[figure]]
    id = "c"
    table = "T"
    cell = "neither computed nor modelled"
    unit = "x"
    unmodelled = "there is no model"
    [[figure]]
    id = "d"
    table = "T"
    cell = "an application"
    unit = "s"
"""
QUOTIENTS = """
    [[figure]]
    id = "e"
    table = "T"
    cell = "another machine's"
    unit = "ns"
    value = 4.0
    unmodelled = "another machine"
    other_system = true
    [[figure]]
    id = "q"
    table = "T"
    cell = "how much faster"
    unit = "x"
    value = 20.0
    quotient = { of = ["e"], over = ["a"], times = 10.0, note = "of ten" }
    [[figure]]
    id = "r"
    table = "T"
    cell = "a rate"
    unit = "1/ns"
    quotient = { over = ["a"] }
"""
FULL = pf.errors.MachineError("the scratchpad is full")


def rows(*predictions, timed=False, more=""):
    return compared(Figures.of("p", tomllib.loads(FIGURES + more)), predictions, timed=timed)


def test_a_cell_that_nobody_claims_says_why():
    *_, unmodelled, untimed = rows()
    assert (unmodelled["kind"], unmodelled["reason"]) == ("not_modelled", "there is no model")
    assert (untimed["kind"], untimed["failure"]) == (None, None)
    assert "`polyfabric reproduce p --applications`" in untimed["reason"]
    *_, timed = rows(timed=True)
    assert 'has a number of cell "d"' in timed["failure"]


def test_a_number_that_fails_says_why_and_the_rest_stands():
    beside = {**identical("a", 3.0, "of a", ["T", "beside it", "ns"]), "point": {"curve": "one", "at": 4.0}}
    lost, point, *_ = rows(failed("a", FULL), beside, predicted("b", 25.0, "why"))
    assert (lost["model"], lost["deviation"], lost["kind"], lost["failure"]) == (
        None,
        None,
        None,
        "the scratchpad is full",
    )
    assert (point["cell"], point["model"], point["kind"], point["point"]["at"]) == ("beside it", 3.0, "identity", 4.0)
    assert "point" not in lost


def test_every_reading_has_its_row():
    found = rows(*(predicted("a", value, "why", readings=[{"name": "r", "evidence": None}]) for value in (2.0, 3.0)))
    assert [(row["published"], row["model"], row["deviation"]) for row in found[:2]] == [
        (2.0, 2.0, 0.0),
        (2.0, 3.0, 0.5),
    ]
    assert {row["kind"] for row in found[:2]} == {"predicted_under_reading"}
    assert len(found) == 5


@pytest.mark.parametrize(("model", "deviation"), [(20.0, 0), (25.0, 0), (30.0, 0), (10.0, -0.5), (45.0, 0.5)])
def test_a_bound_is_met_within_and_missed_beyond(model, deviation):
    found = rows(predicted("b", model, "why"))[1]
    assert found["deviation"] == pytest.approx(deviation)
    assert found["reason"] == "why; published: of two others"


def test_a_quotient_is_computed_from_other_cells():
    *_, faster, rate = rows(calibrated("a", 2.5, "why"), more=QUOTIENTS)
    assert [(row["model"], row["deviation"], row["kind"]) for row in (faster, rate)] == [
        (16.0, 16.0 / 20.0 - 1.0, "identity"),
        (0.4, None, "identity"),
    ]
    assert faster["reason"] == 'the published "another machine\'s" over the model\'s "a number"; of ten'
    assert rate["reason"] == '1 over the model\'s "a number"'


def test_a_quotient_has_no_number_where_a_factor_has_none():
    without = rows(predicted("b", 2.5, "why"), more=QUOTIENTS)[-2:]
    assert [(row["model"], row["failure"]) for row in without] == [(None, None)] * 2
    lost = rows(failed("a", FULL), more=QUOTIENTS)[-2:]
    assert [row["failure"] for row in lost] == ["the scratchpad is full"] * 2
    several = rows(*(predicted("a", value, "why") for value in (1.0, 2.0)), more=QUOTIENTS)[-2:]
    assert all("several numbers" in row["failure"] for row in several)


@pytest.mark.parametrize(("factor", "wrong"), [("none", "is no cell"), ("q", "is one itself"), ("c", "nobody has")])
def test_a_quotient_of_cells_without_numbers_is_rejected(factor, wrong):
    more = f'[[figure]]\nid = "s"\ntable = "T"\ncell = "s"\nunit = "x"\nquotient = {{ of = ["{factor}"] }}\n'
    with pytest.raises(pf.errors.MachineError, match=f'p.toml: cell "s" is a quotient of "{factor}", which {wrong}'):
        rows(more=QUOTIENTS + more)


def test_a_number_of_no_published_cell_is_refused():
    with pytest.raises(pf.errors.MachineError, match='no cell "none"'):
        rows(predicted("none", 1.0, "why"))


def test_every_paper_has_its_file_and_its_module():
    for paper in PAPERS:
        assert Figures.read(paper).cells
    with pytest.raises(pf.errors.MachineError, match=r'figures of "none".* it has f1, fpt'):
        reproduce("none")
