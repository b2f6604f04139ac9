"""Pictures of programs, and what notebooks show of reports and results."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import polyfabric as pf
import pytest


@pf.program(x=pf.UInt(8).vector(3), risk=pf.Int(0, 7))
def exact(x: pf.Value, risk: pf.Value) -> dict[str, pf.Value]:
    return {"best": pf.max(x), "fee": pf.where(risk > 5, pf.lookup(risk, [0, 2, 3, 3, 3, 3, 3, 3]), 0)}


@pf.program(x=pf.Real.vector(8))
def real(x: pf.Value) -> pf.Value:
    return (x * x).rotate(1) + x


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        (exact, ["x", "pf.UInt(8).vector(3)", "> 5", "where", "lookup", "pf.Int(0, 3)", "best", "fee"]),
        (real, ["x", "pf.Real.vector(8)", "mul", "rotate by 1", "add", "result"]),
        (pf.Program.parse(exact.text()), ["x", "best"]),
    ],
)
def test_a_picture_has_the_operations_and_their_types(program: pf.Program, shown: list[str], tmp_path: Path) -> None:
    picture = program.draw()
    found = texts(picture._repr_svg_())
    assert [text for text in shown if text not in found] == []
    picture.save(tmp_path / "program.svg")
    assert (tmp_path / "program.svg").read_text() == picture.svg


def test_a_picture_of_too_many_operations_is_refused() -> None:
    many = pf.program(x=pf.Int(0, 1))(lambda x: sum((x for _ in range(500)), x))
    with pytest.raises(pf.errors.InputError, match=r"400"):
        many.draw()


def test_notebooks_show_reports_and_results_as_tables() -> None:
    program = pf.program(x=pf.Int(0, 1))(lambda x: 1 - x)
    result = program.run(x=1, parameters="toy-256", security=0, max_failure=0)
    for shown in (result._repr_html_(), program.cost()._repr_html_()):
        assert "<table>" in shown
        assert "<html" not in shown
    assert "output result" in result._repr_html_()


def test_a_range_with_one_end_and_a_picture_of_another_kind_are_refused(tmp_path):
    for call in (
        lambda: pf.Int(8),
        lambda: pf.program(x=pf.Int(0, 3))(lambda x: x + 1).draw().save(tmp_path / "x.png"),
    ):
        with pytest.raises(pf.errors.Error):
            call()
    assert list(tmp_path.iterdir()) == []
