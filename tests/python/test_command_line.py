"""Every command works, prints data on demand, and ends with the right status."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.accelerators import machine as accelerators
from polyfabric.apps import digits
from polyfabric.apps.digits import classify
from rejects import check

SIMULATION = {
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
}
RUN = {"correct", "outputs", "expected", "seconds", "noise"}
COMPARISON = {
    *("paper", "table", "cell", "unit", "published", "published_least", "published_most", "model", "deviation"),
    *("kind", "readings", "reason", "failure"),
}


def test_run_digits_on_the_cpu(polyfabric):
    done = polyfabric("run", "digits", "--image", "3", "--json")
    assert done.status == 0, done.err
    data = json.loads(done.out)
    assert data.keys() >= RUN
    assert data["correct"] is True
    assert data["images"][0]["index"] == 3
    assert data["noise"]["log2_failure"] <= -128


@pytest.fixture
def few_neurons(monkeypatch):
    """The network's first neurons alone, each of which counts for every class."""
    whole = digits.shipped()
    own = slice(8)
    votes = np.where(whole.class_weights[:, own] < 0, -1, 1)
    network = replace(
        whole, hidden_weights=whole.hidden_weights[own], hidden_bias=whole.hidden_bias[own], class_weights=votes
    )
    monkeypatch.setattr(classify, "shipped", lambda: network)
    monkeypatch.setattr(classify, "digits", partial(digits.build, network))
    return network.hidden


@pytest.mark.full
def test_run_digits_on_morphling(polyfabric):
    expect_digits_on_morphling(polyfabric, 64)


def test_run_digits_of_few_neurons_on_morphling(polyfabric, few_neurons):
    expect_digits_on_morphling(polyfabric, few_neurons)


def expect_digits_on_morphling(polyfabric, neurons):
    done = polyfabric("run", "digits", "--on", "morphling", "--json")
    assert done.status == 0, done.err
    data = json.loads(done.out)
    assert data["correct"] is True
    assert [image["activations_equal"] for image in data["images"]] == [neurons]
    report = data["machine"]
    assert report.keys() >= SIMULATION
    assert report["saturations"] == 0
    assert sum(report["stalls"].values()) == pytest.approx(report["cycles"])
    assert 0 < report["lower_bound_cycles"] <= report["cycles"]
    # Adding so many activations is beyond the machine's widths: that must be said, with the noise.
    assert data["encrypted_scores"] is False
    assert "noise budget" in data["reason"]
    assert data["scores_log2_failure"] > -40


def test_run_digits_for_people(polyfabric):
    done = polyfabric("run", "digits")
    assert done.status == 0, done.err
    learns = "client sees  the hidden activations and the scores, not only the class"
    for words in ("decrypted class", "true label", "64 of 64", "failure probability", learns):
        assert words in done.out


@pytest.mark.parametrize("program", ["pbs", "pbs+ks", "keyswitch"])
def test_run_built_in(polyfabric, program):
    done = polyfabric("run", program, "--batch", "3", "--json")
    assert done.status == 0, done.err
    data = json.loads(done.out)
    assert data["correct"] is True
    assert len(data["outputs"]["y"]) == 3


def test_run_adder(polyfabric):
    done = polyfabric("run", "adder", "--json")
    assert done.status == 0, done.err
    assert json.loads(done.out)["correct"] is True


PROGRAM = """
import polyfabric as pf

@pf.program(x=pf.Int(0, 7), y=pf.Int(0, 7))
def larger(x, y):
    return pf.max(x, y)
"""


def test_run_a_custom_file(polyfabric, tmp_path):
    (tmp_path / "mine.py").write_text(PROGRAM)
    done = polyfabric("run", "mine.py:larger", "--input", "x=3", "--input", "y=5", "--json")
    assert done.status == 0, done.err
    assert json.loads(done.out)["outputs"] == {"result": 5}


MATRICES = """
import polyfabric as pf


@pf.program(a=pf.Real.matrix(16, 4), b=pf.Real.matrix(4, 8))
def grades(a, b):
    centred = a - a.mean(axis=0)
    return {"product": a @ b, "covariance": centred.T @ centred / 16, "row": a[3], "shaped": a.reshape(8, 8)}


@pf.program(a=pf.Mod(65537).matrix(2, 2))
def square(a):
    return a @ a
"""


def test_run_shows_matrices(polyfabric, tmp_path):
    (tmp_path / "matrices.py").write_text(MATRICES)
    (tmp_path / "a.json").write_text('{"a": [[1, 2], [3, 4]]}')
    residues = polyfabric("run", "matrices.py:square", "--input", "a.json")
    assert residues.status == 0, residues.err
    assert residues.out.count("[[7, 10], [15, 22]]") == 2
    # As results are printed.
    assert (
        polyfabric("run", "matrices.py:square", "--input", "a=[[1, 2], [3, 4]]").out.count("[[7, 10], [15, 22]]") == 2
    )
    reals = polyfabric("run", "matrices.py:grades", "--params", "toy-12", "--security", "0")
    assert reals.status == 0, reals.err
    # Three matrices and a vector, each decrypted and expected.
    assert (reals.out.count("[["), reals.out.count("in all]")) == (6, 6)


def test_inputs_by_their_types(polyfabric, tmp_path):
    (tmp_path / "own.py").write_text(
        "import polyfabric as pf\n\n\n@pf.program(t=pf.Text(4), x=pf.Int(0, 3))\ndef f(t, x):\n    return {'same': t == 'a,b', 'more': x + 1}\n"
    )
    done = polyfabric("run", "own.py:f", "--input", "t=a,b", "--input", "x=2", "--json")
    assert done.status == 0, done.err
    assert json.loads(done.out)["outputs"] == {"same": 1, "more": 3}
    for given, expected in (
        (("x=2,t=ab",), "give each input its own option: --input x=2 --input t=ab"),
        (("x=ab",), "input 'x' is 'ab'"),
        (("x=[1, 2",), "close its brackets and separate by commas, as [1, 2] or [[1, 2], [3, 4]]"),
        (("x=2", "t=abcde"), "shorten it, or declare it pf.Text(5)"),
    ):
        done = polyfabric("run", "own.py:f", *(part for one in given for part in ("--input", one)))
        assert done.status == 2
        assert expected in " ".join(done.err.split())


def test_booleans_are_given_by_their_names(polyfabric, tmp_path):
    (tmp_path / "own.py").write_text(
        "import polyfabric as pf\n\n\n@pf.program(b=pf.Bool, c=pf.Bool.vector(3), x=pf.Int(0, 1))\n"
        "def f(b, c, x):\n    return {'b': ~b, 'c': c[0] & c[2], 'x': x}\n"
    )
    (tmp_path / "own.json").write_text('{"b": true, "c": [true, false, true], "x": 1}')
    for given in (
        ("b=true", "c=True,0,TRUE", "x=1"),
        ("b=1", "c=1,false,1", "x=1"),
        ("b=1", "c=[true, false, 1]", "x=1"),
        ("own.json",),
    ):
        done = polyfabric("run", "own.py:f", *(part for one in given for part in ("--input", one)), "--json")
        assert (done.status, json.loads(done.out)["outputs"]) == (0, {"b": 0, "c": 1, "x": 1}), done
    # An integer is a number.
    done = polyfabric("run", "own.py:f", "--input", "b=true", "--input", "c=1,1,1", "--input", "x=true")
    assert (done.status, "input 'x' is 'true'" in done.err) == (2, True), done


def test_numbers_separated_by_spaces_are_not_one(polyfabric, tmp_path):
    (tmp_path / "own.py").write_text(
        "import polyfabric as pf\n\n\n@pf.program(x=pf.Complex.bounded(16).vector(2))\ndef f(x):\n    return x + x\n"
    )
    for given in ("1 2,3", "1,2 3", "1 2j,3", "1 -2,3", "1e 1,2"):
        done = polyfabric("run", "own.py:f", "--input", f"x={given}")
        assert done.status == 2
        assert f"input 'x' is '{given}'" in done.err
    done = polyfabric("run", "own.py:f", "--input", "x= 1 + 2j , - 0.5", "--json")
    assert done.status == 0, done.err
    found = json.loads(done.out)["expected"]["result"]
    assert found == [[2, 4], [-1, 0]]


def test_files_that_begin_with_the_mark_of_an_editor_are_read(polyfabric, tmp_path):
    text = "import polyfabric as pf\n\n\n@pf.program(x=pf.Int(0, 3))\ndef f(x):\n    return x + 1\n"
    (tmp_path / "own.py").write_text(text, encoding="utf-8-sig")
    (tmp_path / "own.json").write_text('{"x": 2}', encoding="utf-8-sig")
    done = polyfabric("run", "own.py:f", "--input", "own.json", "--json")
    assert done.status == 0, done.err
    assert json.loads(done.out)["outputs"] == {"result": 3}


def test_inputs_are_of_what_encrypts_them(polyfabric):
    common = ("run", "pbs+ks", "--params", "toy-512-k2", "--max-failure", "0", "--keys", "keys", "--input", "x=1")
    assert polyfabric(*common, "--step", "encrypt").status == 0
    for step in ("keys", "execute", "decrypt"):
        done = polyfabric(*common, "--step", step)
        assert done.status == 2
        assert "--step encrypt" in done.err


def test_processors_and_places_are_of_what_is_executed(polyfabric):
    common = ("run", "pbs+ks", "--params", "toy-512-k2", "--max-failure", "0", "--keys", "keys")
    threads = "only execution uses --threads; give it with --step execute, or without --step"
    place = "only execution uses --on interpreter; give it with --step execute, or without --step"
    assert polyfabric(*common, "--step", "encrypt").status == 0
    for step in ("keys", "encrypt", "decrypt"):
        for given, expected in ((("--threads", "2"), threads), (("--on", "interpreter"), place)):
            done = polyfabric(*common, "--step", step, *given)
            assert done.status == 2
            assert expected in " ".join(done.err.split())
    assert polyfabric(*common, "--step", "execute", "--threads", "2").status == 0
    assert polyfabric(*common, "--step", "execute", "--on", "interpreter").status == 0
    for on in ("interpreter", "morphling"):
        done = polyfabric("run", "pbs+ks", "--on", on, "--threads", "2")
        assert done.status == 2
        assert f"--threads) applies to cpu, but this runs on {on}" in " ".join(done.err.split())
    for given in (("--threads", "2"), ("--report", "there"), ("--keys", "keys"), ("--flood", "0")):
        done = polyfabric("run", "pbs+ks", "--cost", *given)
        assert done.status == 2
        assert given[0] in done.err
        assert "--cost" in done.err


FOREIGN = """
import polyfabric as pf

@pf.program(x=pf.Real.vector(4))
def halved(x):
    return 0.5 * x + 0.1

@pf.program(x=pf.Real.vector(4))
def cubed(x):
    return x * x * x

@pf.program(x=pf.Mod(65537).vector(4))
def tripled(x):
    return 3 * x

@pf.program(x=pf.Mod(65537).vector(4))
def powered(x):
    return x * x * x

@pf.program(x=pf.Int(0, 1))
def kept(x):
    return pf.lookup(x, [0, 1])

@pf.program(x=pf.Int(0, 1).vector(40))
def counted(x):
    return pf.lookup(pf.sum(x), lambda v: v // 2)
"""


def test_a_file_with_one_program_needs_no_name_behind_it(polyfabric, tmp_path):
    one = "@pf.program(x=pf.UInt(8))\ndef add(x):\n    return x + 1\n"
    (tmp_path / "one.py").write_text(f"import polyfabric as pf\n\n{one}")
    (tmp_path / "two.py").write_text(f"import polyfabric as pf\n\n{one}\nother = add\n")
    (tmp_path / "none.py").write_text("import polyfabric as pf\n")
    done = polyfabric("run", "one.py", "--input", "x=4", "--json")
    assert json.loads(done.out)["outputs"] == {"result": 5}
    assert polyfabric("run", "two.py").err == "error: two.py has 2 programs, add, other; name one, as two.py:add\n"
    assert "none.py has no program; decorate a function" in polyfabric("run", "none.py").err


@pytest.mark.parametrize(
    ("ours", "theirs", "value"),
    [("halved", "cubed", "1,0,1,0"), ("tripled", "powered", "1,2,3,4"), ("kept", "counted", "1")],
)
def test_files_of_another_program_are_reported_as_such_before_levels_and_sets(
    polyfabric, tmp_path, ours, theirs, value
):
    (tmp_path / "own.py").write_text(FOREIGN)
    assert polyfabric("run", f"own.py:{ours}", "--keys", "k", "--step", "encrypt", "--input", f"x={value}").status == 0
    for step, kind in (("execute", 'input "x"'), ("decrypt", 'output "result"')):
        done = polyfabric("run", f"own.py:{theirs}", "--keys", "k", "--step", step)
        assert done.status == 2
        message = " ".join(done.err.split())
        assert f"it is {kind} of program {ours} (" in message
        assert f"but {kind} of program {theirs} (" in message
        assert "bring the file that was written for this program" in message
        assert polyfabric("run", f"own.py:{ours}", "--keys", "k", "--step", "execute").status == 0


@pytest.mark.parametrize(
    "line",
    [
        "explore strix --plot",
        "explore strix --results",
        "compare pbs --plot",
        "reproduce strix --plot",
        "widths --params strix-I --on strix --plot",
        "widths --params strix-I --on strix --out",
        "simulate pbs --on strix --timeline",
        "simulate permute --on f1 --streams",
        "simulate permute --on f1 --save",
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(polyfabric, monkeypatch, tmp_path, line):
    monkeypatch.setattr("polyfabric.accelerators.machine.load", lambda *_: pytest.fail("a machine is read"))
    (tmp_path / "file").touch()
    (tmp_path / "folder.svg").mkdir()
    for path, why in (("no/x.svg", "No such file or directory"), ("file/x.svg", "Not a directory")):
        done = polyfabric(*line.split(), path)
        assert (done.status, done.out) == (2, "")
        assert f"{path}: cannot write ({why}); check that the folder exists and that you may write there" in done.err
    assert polyfabric(*line.split(), "folder.svg").status == 2


def test_a_plot_of_no_kind_is_refused_before_the_work(polyfabric):
    for name, kind in (("x.svgg", "svgg"), ("x", "x")):
        done = polyfabric("explore", "strix", "--plot", name)
        assert done.status == 2
        assert [part for part in (name, kind, ".svg", ".pdf", ".png") if part not in done.err] == []


@pytest.mark.parametrize("line", ["explore strix", "compare pbs", "reproduce strix", "simulate pbs --on strix"])
def test_a_report_that_cannot_be_written_is_refused_before_the_work(polyfabric, tmp_path, line):
    (tmp_path / "file").touch()
    done = polyfabric(*line.split(), "--report", "file/r")
    assert (done.status, done.out) == (2, "")
    assert "file/r: cannot make this folder (Not a directory); name another one" in done.err


SMALL = """
import polyfabric as pf


@pf.program(x=pf.Real.vector(4))
def square(x):
    return x * x
"""


def test_small_numbers_are_shown_and_those_that_are_lost_are_not_correct(polyfabric, tmp_path):
    (tmp_path / "own.py").write_text(SMALL)
    lost = polyfabric("run", "own.py", "--input", "x=1e-7,1e-7,0,0")
    assert lost.status == 1
    assert "not correct" in lost.out
    assert "1.0e-14" in lost.out
    small = polyfabric("run", "own.py", "--input", "x=1e-3,1e-3,0.5,0")
    assert small.status == 0
    assert "[1.000e-06, 1.000e-06, 0.25000, 0.00000]" in " ".join(small.out.split())
    for step, status in (("encrypt", 0), ("execute", 0), ("decrypt", 1)):
        given = ("--input", "x=1e-7,0,0,0") if step == "encrypt" else ()
        assert polyfabric("run", "own.py", "--keys", "k", "--step", step, *given).status == status


def test_run_in_three_steps_through_files(polyfabric_process, tmp_path):
    client, server = tmp_path / "client", tmp_path / "server"
    server.mkdir()
    for folder, step in (("client", "encrypt"), ("server", "execute"), ("client", "decrypt")):
        done = polyfabric_process("run", "pbs+ks", "--batch", "2", "--keys", folder, "--step", step, "--json")
        assert done.status == 0, done.err
        if step == "encrypt":
            for name in ("client.key", "expected.json"):
                assert (client / name).stat().st_mode & 0o777 == 0o600, name
            for path in (client / "server.key", *client.glob("*.in.ct")):
                path.rename(server / path.name)
        if step == "execute":
            for path in server.glob("*.out.ct"):
                path.rename(client / path.name)
    assert json.loads(done.out)["correct"] is True


def test_keys_are_a_step_of_their_own(polyfabric, tmp_path):
    common = ("run", "pbs+ks", "--params", "toy-512-k2", "--max-failure", "0", "--keys", "keys")
    assert polyfabric(*common, "--step", "keys").status == 0
    made = {path.name: path.read_bytes() for path in (tmp_path / "keys").iterdir()}
    assert made.keys() == {"client.key", "server.key"}
    again = polyfabric(*common, "--step", "keys")
    assert again.status == 2
    assert "keys/client.key: keys exist here and would be replaced; name another folder" in again.err
    assert polyfabric(*common, "--step", "encrypt").status == 0
    assert all((tmp_path / "keys" / name).read_bytes() == data for name, data in made.items())


def test_somebody_elses_server_key_is_not_replaced(polyfabric, tmp_path):
    common = ("run", "pbs+ks", "--params", "toy-512-k2", "--max-failure", "0")
    assert polyfabric(*common, "--keys", "keys", "--step", "keys").status == 0
    foreign = tmp_path / "server" / "server.key"
    foreign.parent.mkdir()
    (tmp_path / "keys" / "server.key").rename(foreign)
    before = foreign.read_bytes()
    done = polyfabric(*common, "--keys", "server", "--step", "encrypt")
    assert done.status == 2
    assert "server/server.key: it belongs to a client whose client.key is missing" in done.err
    assert "client.key" in done.err
    assert foreign.read_bytes() == before
    assert list(foreign.parent.iterdir()) == [foreign]


def test_results_are_read_without_expected_values(polyfabric, tmp_path):
    common = ("run", "pbs+ks", "--params", "toy-512-k2", "--max-failure", "0", "--keys", "keys", "--json")
    for step in ("encrypt", "execute"):
        assert polyfabric(*common, "--step", step).status == 0
    compared = json.loads(polyfabric(*common, "--step", "decrypt").out)
    (tmp_path / "keys" / "expected.json").unlink()
    alone = json.loads(polyfabric(*common, "--step", "decrypt").out)
    assert alone == {"step": "decrypt", "outputs": compared["outputs"], "bound": {"y": 0.0}}
    # Nothing is within a bound of what is exact.
    shown = polyfabric(*common[:-1], "--step", "decrypt").out
    assert "output" in shown
    assert "bound" not in shown


def test_simulate(polyfabric, tmp_path):
    done = polyfabric(
        "simulate", "pbs", "--on", "morphling", "--params", "morphling-I", "--batch", "16", "--max-failure", "0",
        "--report", "report", "--timeline", "line.json", "--json",
    )  # fmt: skip
    assert done.status == 0, done.err
    data = json.loads(done.out)
    assert data.keys() >= SIMULATION
    assert sum(data["stalls"].values()) == pytest.approx(data["cycles"])
    assert data["lower_bound_cycles"] <= data["cycles"]
    assert "under the standard 128" in done.err
    page = (tmp_path / "report" / "report.html").read_text()
    assert "<svg" in page
    assert "http" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    ).replace("https://matplotlib.org", "")
    assert json.loads((tmp_path / "report" / "report.json").read_text()) == data
    events = json.loads((tmp_path / "line.json").read_text())["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert slices
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in slices)


def test_simulate_for_people(polyfabric):
    done = polyfabric("simulate", "pbs", "--on", "morphling", "--batch", "16")
    assert done.status == 0, done.err
    for words in ("throughput", "lower bound", "where the cycles of", "traffic to memory", "energy"):
        assert words in done.out


def test_a_reading_changes_the_result(polyfabric):
    common = ("simulate", "pbs", "--on", "morphling", "--params", "morphling-I", "--max-failure", "0", "--json")
    published = json.loads(polyfabric(*common).out)
    literal = json.loads(polyfabric(*common, "--reading", "fft_rate=literal").out)
    assert literal["cycles"] > 1.5 * published["cycles"]


def test_machines(polyfabric):
    listed = json.loads(polyfabric("machines", "--json").out)
    files = (Path(__file__).resolve().parents[2] / "machines").glob("*.toml")
    assert [machine["name"] for machine in listed] == sorted(file.stem for file in files)
    shown = polyfabric("machines", "morphling")
    assert shown.status == 0
    for words in ("source", "assumption", "fft_rate", "(default)"):
        assert words in shown.out
    shown = " ".join(polyfabric("machines", "fpt").out.split())
    assert "chip: its power includes the memory of channels.hbm" in shown


def test_every_figure_of_a_machine_has_a_source(polyfabric):
    def figures(node):
        if isinstance(node, dict):
            if "value" in node and "unit" in node:
                yield node
            else:
                for child in node.values():
                    yield from figures(child)

    data = json.loads(polyfabric("machines", "morphling", "--json").out)
    found = list(figures(data))
    assert len(found) > 40
    assert all(figure["source"] for figure in found)


@pytest.mark.parametrize(
    ("kind", "value"), [("pf.Int(0, 7).vector(3)", r"\d,\d,\d"), ("pf.Text(4)", r".{4}"), ("pf.Complex", r"\S+j")]
)
def test_a_run_without_inputs_shows_those_that_it_draws(polyfabric, tmp_path, kind, value):
    (tmp_path / "drawn.py").write_text(f"import polyfabric as pf\n\n\n@pf.program(x={kind})\ndef f(x):\n    return x\n")
    done = polyfabric("run", "drawn.py:f")
    assert re.search(rf"^random +--input x={value}$", done.out, re.MULTILINE)
    assert set(json.loads(polyfabric("run", "drawn.py:f", "--json").out)["drawn_inputs"]) == {"x"}


def test_params_lists_the_sets_of_every_scheme(polyfabric):
    sets = json.loads(polyfabric("params", "--json").out)
    assert {s["scheme"] for s in sets} == {"tfhe", "ckks", "bgv"}
    assert [s["name"] for s in sets] == [s.name for s in pf.parameter_sets()]
    text = polyfabric("params").out
    for name in ("LWE dimension", "GLWE dimension", "ring degree", "gadget", "ckks-depth-1"):
        assert name in text


def test_params(polyfabric):
    done = polyfabric("params", "--json")
    assert done.status == 0, done.err
    sets = {s["name"]: s for s in json.loads(done.out)}
    for name in ("fpt-I", "fpt-II", "strix-IV", "morphling-A", "morphling-B", "morphling-C", "polyfabric-4-p128-t64"):
        assert name in sets
    assert sets["strix-I"]["warning"]
    assert sets["polyfabric-4-p128-t64"]["warning"] is None
    assert sets["strix-III"]["chained"]["message_bits"] == 0, "a key switch at 128-bit noise loses this set's message"


def test_params_of_a_set_with_another_key_switch(polyfabric):
    """Key switches that a machine's compiler may choose; a report names the choice."""
    own, other = (json.loads(polyfabric("params", name, "--json").out) for name in ("osiris-I", "osiris-I-d2"))
    assert (own["digits"], other["digits"]) == (3, 2)
    assert other["log2_q"] == own["log2_q"]
    assert "another key switch" in polyfabric("params", "osiris-I-d2").out
    assert polyfabric("params", "osiris-I-d").status != 0


def test_params_of_one_set(polyfabric):
    done = polyfabric("params", "strix-I")
    assert done.status == 0
    for words in ("lwe_dimension", "500", "Table", "security", "chained"):
        assert words in done.out


def test_params_on_a_machine(polyfabric):
    done = polyfabric("params", "morphling-I", "--on", "morphling", "--json")
    assert done.status == 0, done.err
    (finding,) = json.loads(done.out)
    assert finding["log2_failure"] > finding["log2_failure_exact"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nonsense", "no parameter set of TFHE is called"),
        ("osiris-I", "it is one of CKKS"),
        ("morphling-A", "is not supported by `morphling`"),
    ],
)
def test_params_of_a_set_that_a_machine_has_not(polyfabric, name, says):
    done = polyfabric("params", name, "--on", "morphling")
    assert done.status == 2
    assert says in done.err


def test_reproduce(polyfabric):
    done = polyfabric("reproduce", "osiris", "--json")
    assert done.status == 0, done.err
    rows = json.loads(done.out)
    assert all(row.keys() == COMPARISON for row in rows)
    kinds = {
        None,
        "predicted",
        "predicted_under_reading",
        "identity",
        "calibrated",
        "input",
        "other_system",
        "not_modelled",
    }
    assert {row["kind"] for row in rows} <= kinds
    assert {"Table II", "Table III (a)", "Figure 11"} <= {row["table"] for row in rows}


def test_simulate_rejects_the_same_options_as_run(polyfabric):
    for command in ("run", "simulate"):
        done = polyfabric(command, "pbs", "--on", "morphling", "--params", "morphling-I", "--batch", "1")
        assert done.status == 2, done.out
        assert "accept it with --max-failure -1" in " ".join(done.err.split())


def test_a_custom_machine_file_is_run_on(polyfabric, tmp_path):
    text = (Path(__file__).resolve().parents[2] / "machines" / "f1.toml").read_text()
    (tmp_path / "own.toml").write_text(text.replace('name = "f1"', 'name = "own"', 1))
    (tmp_path / "own.py").write_text(
        "import polyfabric as pf\n\n\n@pf.program(x=pf.Mod(65537).vector(4))\ndef twice(x):\n    return x + x\n"
    )
    done = polyfabric("run", "own.py:twice", "--on", "own.toml", "--input", "x=1,2,3,4", "--json")
    assert done.status == 0, done.err
    assert json.loads(done.out)["correct"] is True


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("run digit", ("'digit'", "digits")),
        ("run digits --on morfling", ("'morfling'", "morphling")),
        ("run digits --image 449", ("449", "0", "448")),
        ("run digits --image 1 --images 2", ("--image", "--images")),
        ("run pbs --images 2", ("--images", "digits", "pbs")),
        ("run pbs --params strix-1", ('"strix-1"', "strix-I")),
        ("run none.py:f", ("none.py",)),
        ("run pbs --step encrypt", ("--step", "--keys")),
        ("simulate pbs --on morpling", ("'morpling'", "morphling")),
        ("simulate pbs --on none.toml", ("none.toml",)),
        ("simulate pbs --on morphling --reading literal", ("'literal'", "morphling")),
        (
            "simulate pbs --on morphling --reading fft_rate=other",
            ("fft_rate", "other", "literal", "published"),
        ),
        ("simulate pbs --on morphling --params morphling-IV", ("morphling-IV", "64", "morphling", "32")),
        ("machines stricks", ("'stricks'", "strix")),
        ("params strixI", ("'strixI'", "strix-I")),
        ("rum digits", ("'rum'", "run")),
    ],
)
def test_wrong_call(polyfabric, line, values):
    done = polyfabric(*line.split())
    assert done.status == 2
    assert done.out == ""
    assert "Traceback" not in done.err
    check(done.err, *values)


def test_an_unknown_paper_lists_the_known_ones(polyfabric):
    done = polyfabric("reproduce", "morphing")
    assert (done.status, done.out) == (2, "")
    known = ", ".join(accelerators.names())
    assert " ".join(done.err.split()).endswith(f'no published figures of "morphing" are in the project; it has {known}')


def test_the_instruction_set_is_chosen_and_reported(polyfabric_process, monkeypatch):
    printed = polyfabric_process("--version")
    assert printed.status == 0, printed.err
    assert "kernels in " in printed.out
    monkeypatch.setenv("POLYFABRIC_ISA", "portable")
    assert polyfabric_process("--version").out.endswith("kernels in portable\n")
    done = polyfabric_process("run", "pbs", "--params", "fpt-I", "--json")
    assert json.loads(done.out)["correct"] is True


@pytest.mark.parametrize("command", [("--version",), ("run", "pbs")], ids="_".join)
def test_an_unknown_instruction_set_is_reported(polyfabric_process, monkeypatch, command):
    monkeypatch.setenv("POLYFABRIC_ISA", "sse9")
    done = polyfabric_process(*command)
    assert done.status == 2
    assert "Traceback" not in done.err
    assert 'there is no instruction set "sse9" (POLYFABRIC_ISA); the sets are avx512, avx2, neon, portable' in done.err


@pytest.mark.parametrize(
    "arguments",
    [("machines", "morphling"), ("params", "strix-I", "--json"), ("rum", "digits"), ("--debug", "params", "strixI")],
    ids="_".join,
)
def test_a_separate_process_prints_the_same(polyfabric, polyfabric_process, arguments):
    """The other tests rely on this to call the command line in their own process."""
    assert polyfabric_process(*arguments) == polyfabric(*arguments)


def test_debug_shows_the_traceback(polyfabric):
    done = polyfabric("--debug", "params", "strixI")
    assert done.status == 2
    assert "Traceback" in done.err


@pytest.mark.parametrize("unroll", ["2", "4"])
def test_unrolled_keys(polyfabric, unroll):
    done = polyfabric("run", "adder", "--params", "toy-256", "--unroll", unroll, "--max-failure", "0", "--json")
    assert done.status == 0, done.err
    result = json.loads(done.out)
    assert result["correct"]
    plain = json.loads(polyfabric("run", "adder", "--params", "toy-256", "--max-failure", "0", "--json").out)
    assert result["sizes_bytes"]["server_key"] > plain["sizes_bytes"]["server_key"]
    # More noise of the rows, less of rounding: which counts more depends on the set.
    assert result["noise"]["log2_failure"] != plain["noise"]["log2_failure"]


@pytest.mark.parametrize("program", ["adder", "pbs", "matvec", "mine.py:f"])
def test_the_cost_is_reported_without_running(polyfabric, tmp_path, program):
    (tmp_path / "mine.py").write_text(
        "import polyfabric as pf\n\n\n@pf.program(x=pf.Real.vector(8))\ndef f(x):\n    return (x * x).rotate(1)\n"
    )
    done = polyfabric("run", program, "--cost")
    assert done.status == 0, done.err
    assert "memory" in done.out
    data = json.loads(polyfabric("run", program, "--cost", "--json").out)
    assert data["memory_bytes"] > 0
    if program == "mine.py:f":
        assert [key["bytes"] > 0 for key in data["keys"]] == [True, True]
        assert [node["op"] for node in data["nodes"]] == ["input", "mul", "rotate", "output"]


@pytest.mark.parametrize("program", ["database-lookup", "logistic-regression"])
def test_the_cost_of_an_application_is_refused(polyfabric, program):
    done = polyfabric("run", program, "--cost")
    assert done.status == 2
    assert "--cost" in done.err
    assert program in done.err


def test_a_built_in_program_looks_up_the_given_values(polyfabric):
    asked = ("run", "pbs", "--params", "toy-256", "--max-failure", "0", "--json", "--batch", "8")
    found = []
    for given in ("0,1,2,3,4,5,6,7", "7,6,5,4,3,2,1,0"):
        done = polyfabric(*asked, "--input", f"x={given}")
        assert done.status == 0, done.err
        found.append(json.loads(done.out)["outputs"]["y"])
    assert sorted(found[0]) == list(range(8))
    assert found[0] == found[1][::-1]
    done = polyfabric(*asked, "--input", "x=1")
    assert done.status == 2
    assert "takes 8" in done.err
