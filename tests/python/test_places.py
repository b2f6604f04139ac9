"""Places to run: wherever a place is named, it is a machine by name, file or loaded, or a word for this computer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polyfabric as pf
import pytest
from calls import Finished

FILE = Path(__file__).resolve().parents[2] / "machines" / "morphling.toml"


@pf.program(x=pf.Bool, y=pf.Bool)
def both(x: pf.Value, y: pf.Value) -> pf.Value:
    return x & y


def places() -> list[str | Path | pf.Machine]:
    return ["morphling", str(FILE), FILE, pf.load_machine("morphling"), pf.load_machine(FILE)]


def test_every_way_to_name_a_machine_has_the_same_cost_and_time() -> None:
    for name, figures in {"cost": both.cost, "simulate": both.simulate, "plan": both.plan}.items():
        found = [figures(on=on) for on in places()]
        seconds = [own.memory_bytes if name == "plan" else own["seconds"] for own in found]
        assert len(set(seconds)) == 1


def test_a_loaded_machine_runs_a_program_and_gives_the_run_its_name(tmp_path: Path) -> None:
    done = both.run(x=True, y=True, on=pf.load_machine("morphling"))
    assert (done.value, done.on, done.correct) == (1, "morphling", True)
    steps = both.in_folder(tmp_path, on=pf.load_machine(FILE))
    steps.make_keys()
    steps.encrypt(x=True, y=False)
    assert steps.execute().on == str(FILE)
    assert steps.decrypt().value == 0


def test_a_comparison_takes_loaded_machines() -> None:
    rows = pf.compare(both, on=[pf.load_machine("morphling"), FILE, "fpt"])["machines"]
    assert [row["machine"] for row in rows] == ["morphling", str(FILE), "fpt"]


def test_a_loaded_machine_already_has_its_readings() -> None:
    machine = pf.load_machine("morphling")
    fact, option = next(iter(machine.readings.items()))
    with pytest.raises(pf.errors.InputError):
        both.simulate(machine, readings=[f"{fact}={option}"])


@pytest.mark.parametrize("on", [3, None, ["morphling"], "cpu", "nobody"])
def test_other_values_are_no_machines(on: object) -> None:
    with pytest.raises(pf.errors.InputError):
        both.simulate(on)


def test_the_command_line_takes_a_file_with_a_model(polyfabric: Callable[..., Finished], tmp_path: Path) -> None:
    (tmp_path / "stump.py").write_text(
        "import polyfabric as pf\n"
        "from sklearn.tree import DecisionTreeClassifier\n"
        "rows = [[0.0], [1.0], [2.0], [3.0]]\n"
        "stump = pf.from_sklearn(DecisionTreeClassifier(max_depth=1).fit(rows, [0, 0, 1, 1]), rows)\n"
    )
    for program in ("stump.py", "stump.py:stump"):
        done = polyfabric("run", program, "--json")
        assert done.status == 0, done.err
        assert json.loads(done.out)["correct"] is True
