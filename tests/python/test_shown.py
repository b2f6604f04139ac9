"""Results, reports, keys and ciphertexts print briefly and clearly in a session."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import polyfabric as pf
import pytest
from polyfabric.cli.show_elements import show
from rich.console import Console
from sklearn.tree import DecisionTreeClassifier


@pf.program(x=pf.Mod(65537).vector(300))
def squares(x: pf.Value) -> dict[str, pf.Value]:
    """Of three hundred numbers."""
    return {"sum": x.sum(), "squares": x * x}


@pf.program(x=pf.Int(0, 3))
def plus(x: pf.Value) -> pf.Value:
    """One more."""
    return x + 1


def test_a_result_shows_its_outputs_and_not_its_tables() -> None:
    done = squares.run({"x": [1] * 300})
    assert str(done) == repr(done)
    assert len(repr(done)) < 500
    value, facts = repr(done).split("\n")
    assert value.startswith("{'sum': 300, 'squares': [1, 1, ")
    assert re.match(r"squares on cpu with bgv-2p13-\S+: correct; ", facts)


def test_a_wrong_digit_above_an_integers_width_is_reported_even_if_shown_values_are_equal() -> None:
    @pf.program(x=pf.UInt(3))
    def same(x: pf.Value) -> pf.Value:
        return x

    done = same.run({"x": 6})
    for result, hidden in ((done, False), (replace(done, error={"result": 1.0}), True)):
        text = io.StringIO()
        show(Console(file=text), result)
        assert ("which are not shown" in " ".join(text.getvalue().split())) == hidden


@pytest.mark.parametrize("program", [squares, plus], ids=["slots", "elements"])
def test_a_report_prints_as_its_table(program: pf.Program) -> None:
    report = program.cost()
    assert str(report) == report.table().rstrip()
    assert len(repr(report)) < 200
    assert f" report of {program.name}: print it, " in repr(report)


def test_keys_and_specifications_have_descriptive_reprs() -> None:
    specification = pf.Specification.of(plus)
    client = pf.Client(specification)
    assert re.fullmatch(r"<specification of plus, with TFHE and polyfabric-\S+>", repr(specification))
    assert repr(client) == "<client of plus, with TFHE>"
    assert repr(client.evaluation_key) == f"<evaluation key: {len(client.evaluation_key.to_bytes())} bytes>"
    shared = pf.Client(pf.Specification.of(squares, public=True))
    assert repr(shared.public_key) == f"<public key: {len(shared.public_key.to_bytes())} bytes>"
    assert re.fullmatch(r"<keys of TFHE, polyfabric-\S+>", repr(plus.run({"x": 2}).keys))


TYPES = [
    pf.Bool,
    pf.Int(0, 7),
    pf.Int(0, 8, step=2).vector(2),
    pf.Torus(4),
    pf.Fixed(16, 8),
    pf.Fixed(8, 3, signed=False, rounding="nearest", overflow="refuse").vector(2),
    pf.UInt(8),
    pf.SInt(8).vector(3),
    pf.Text(3),
    pf.Real,
    pf.Real.matrix(2, 3),
    pf.Complex.bounded(5).vector(3),
    pf.Mod(65537).vector(2),
]


@pytest.mark.parametrize("kind", TYPES, ids=repr)
def test_a_type_is_shown_as_it_is_written(kind: object) -> None:
    again = eval(repr(kind), {"pf": pf})
    assert (repr(again), str(again)) == (repr(kind), str(kind))


def test_plans_machines_and_the_package_have_descriptive_reprs() -> None:
    assert re.fullmatch(r"<plan of plus with polyfabric-\S+, for this computer>", repr(plus.plan()))
    assert repr(pf.load_machine("f1")) == "<machine f1>"
    assert re.match(r"\d+\.\d+", pf.__version__)


def test_a_run_of_a_model_shows_its_predictions_and_not_its_tables() -> None:
    model = pf.from_sklearn(DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0]], [4, 5]), [[0.0], [1.0]])
    shown = repr(model.run([[0.0], [1.0]]))
    assert shown.startswith("[4 5]\n")
    assert "correct" in shown
    assert len(shown) < 300


def test_a_name_that_a_result_lacks_is_reported_with_those_that_it_has() -> None:
    result = plus.run({"x": 2})
    with pytest.raises(AttributeError) as found:
        _ = result.output
    assert isinstance(found.value, pf.Error)
    assert all(
        f"result.{name}" in str(found.value) and hasattr(result, name) for name in ("value", "outputs", "seconds")
    )
