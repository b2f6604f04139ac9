"""Long operations report progress without a terminal, and short ones print nothing."""

from __future__ import annotations

import json

import polyfabric as pf
import pytest
from polyfabric.cli.inputs import inputs
from polyfabric.host.progress import SECONDS_A_LINE, lines
from rejects import rejects


def test_a_line_every_ten_seconds():
    written: list[str] = []
    now = [100.0]
    tell = lines(written.append, lambda: now[0])
    for second in range(26):
        now[0] = 100.0 + second
        tell("blind rotation", second, 50)
    assert written == ["blind rotation: 20 %, 10 s since the start\n", "blind rotation: 40 %, 20 s since the start\n"]
    now[0] += SECONDS_A_LINE
    tell("keys", 0, 0)
    assert written[-1] == "keys: under way, 35 s since the start\n"


def test_an_input_is_given_once(tmp_path):
    @pf.program(x=pf.Int(0, 7), y=pf.Int(0, 7))
    def both(x, y):
        return x + y

    assert inputs(both, ("x=1", "y=2")) == {"x": 1, "y": 2}
    with rejects(pf.errors.InputError, "'x'"):
        inputs(both, ("x=1", "x=2"))
    file = tmp_path / "values.json"
    file.write_text(json.dumps({"y": 3, "x": 1}))
    with rejects(pf.errors.InputError, "'y'", "values.json"):
        inputs(both, ("y=1", str(file)))


def test_a_failure_probability_is_accepted_by_the_same_name_everywhere():
    @pf.program(x=pf.Int(0, 31))
    def turned(x):
        return pf.lookup(x, lambda v: 31 - v)

    with pytest.raises(pf.errors.NoiseError):
        turned.cost("toy-256")
    assert turned.cost("toy-256", max_failure=0).to_dict()["parameters"] == "toy-256"
    assert turned.run({"x": 1}, parameters="toy-256", max_failure=0).parameters == "toy-256"


def test_a_simulation_tells_its_stages_and_a_hook_ends_it():
    @pf.program(x=pf.UInt(8), y=pf.UInt(8))
    def quotient(x, y):
        return x // y

    reports: list[tuple[str, int, int]] = []
    quotient.simulate("morphling", max_failure=0, progress=lambda *stage: reports.append(stage))
    stages = {stage for stage, _, _ in reports}
    # A stage that ends at once is not reported.
    assert stages & {"choosing a parameter set", "lowering", "scheduling", "checking every event"}
    assert all(0 <= done <= total or total == 0 for _, done, total in reports)

    def enough(stage, done, total):
        raise KeyError(stage)

    with pytest.raises(KeyError):
        quotient.simulate("morphling", max_failure=0, progress=enough)
    # The hook no longer receives reports.
    reports.clear()
    quotient.cost()
    assert reports == []


@pytest.mark.filterwarnings("ignore::polyfabric.errors.SecurityWarning")
def test_a_compilation_to_lists_of_instructions_says_which_share_is_done():
    @pf.program(x=pf.Real.vector(4096))
    def powers(x):
        for step in range(14):
            x = x * x + sum((x.rotate(step * 12 + turn) for turn in range(1, 12)), x)
        return x * 0.001

    reports: list[tuple[str, int, int]] = []
    powers.simulate("f1", parameters="f1-14-L16", key_switch="set", progress=lambda *stage: reports.append(stage))
    shares = {done / total for stage, done, total in reports if stage == "giving every step its cycle"}
    assert len(shares) > 1, reports
    assert max(shares) <= 1
