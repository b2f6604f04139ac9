"""The tables of README and docs match the recorded results, and their commands are valid."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from documentation import (  # noqa: E402
    bench_tables,
    commands,
    jobs,
    machine_tables,
    pictures,
    results,
    tables,
    unit_pages,
    validation_tables,
)

COMMANDS = [command for page in commands.pages().values() for command in page.commands]


@pytest.mark.parametrize("path", tables.texts(), ids=lambda path: path.name)
def test_a_table_matches_its_result(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert tables.drawn(text) == text, "run `python scripts/document.py tables`"


def test_the_ports_of_every_unit_are_those_of_its_source() -> None:
    different = [path.parent.name for path, drawn in unit_pages.pages() if path.read_text(encoding="utf-8") != drawn]
    assert different == [], "run `python scripts/document.py tables`"


def test_a_table_that_differs_from_its_result_is_noticed() -> None:
    name = next(iter(tables.TABLES))
    text = f"<!-- table: {name} -->\n{tables.draw(name)}<!-- end of table -->\n"
    assert tables.drawn(text) == text
    figure = next(word for word in text.split() if word[:1].isdigit())
    assert tables.drawn(text.replace(figure, "77", 1)) == text


def test_every_table_is_in_a_text_and_every_result_is_shown() -> None:
    written = "".join(path.read_text(encoding="utf-8") for path in tables.texts())
    assert [name for name in tables.TABLES if f"<!-- table: {name} -->" not in written] == []
    used = {result for table in tables.TABLES.values() for result in table.results}
    assert {path.stem for path in results.FOLDER.glob("*.json")} == used | pictures.RESULTS


F1_PAGES = ("f1.md", "f1-programs.md", "bgv.md", "ckks-bootstrapping.md")
_GENERATED = re.compile(r"<!-- table: .*?<!-- end of table -->", re.DOTALL)


def with_times(text: str) -> list[str]:
    """The lines of tables, but generated ones, that have milliseconds."""
    lines = [line.strip() for line in _GENERATED.sub("", text).splitlines()]
    return [line for line in lines if line.startswith("|") and re.search(r"\bms\b", line)]


@pytest.mark.parametrize("name", F1_PAGES)
def test_f1s_times_are_in_generated_tables_alone(name: str) -> None:
    assert with_times((ROOT / "docs" / name).read_text(encoding="utf-8")) == []


def test_a_time_in_a_table_by_hand_is_noticed() -> None:
    generated = "<!-- table: f1 -->\n| a | ms |\n<!-- end of table -->\n"
    assert with_times(f"{generated}| program | terms |\n  | `helr` | 0.77 ms |\n") == ["| `helr` | 0.77 ms |"]


def program_row(
    program: str,
    what: str,
    model: float,
    key_switch: str | None = None,
    published: float | None = None,
    failure: str | None = None,
) -> machine_tables.Row:
    bounds = {"published_least": None, "published_most": None}
    row = {"table": "Table 3", "cell": program, "model": model, "published": published, "failure": failure}
    return row | bounds | {"of": {"program": program, "what": what, "key_switch": key_switch}}


def test_tables_of_f1s_programs_are_drawn_from_what_rows_are_of() -> None:
    mnist, encrypted = "lola-mnist", "lola-mnist-encrypted"
    found = [
        program_row(mnist, "time", 0.1415, published=0.17),
        program_row(mnist, "memory alone", 0.0759),
        program_row(mnist, "compiler's choice", 0.1437),
        program_row(mnist, "estimate", 0.0847, "d2"),
        program_row(mnist, "crossbar=one", 0.1432),
        program_row(mnist, "time", 0.15, "d4"),
        program_row(mnist, "hints", 36.0, "d4"),
        program_row(mnist, "memory alone", 0.08, "d4"),
        program_row(encrypted, "time", 0.3374),
        program_row(encrypted, "compiler's choice", 0.0, failure="broken"),
        program_row(mnist, "hints", 37.0),
    ]
    assert machine_tables.f1_key_switches(found) == [
        ("`lola-mnist`", "d2", "0.0847", "0.1437", "0.1415"),
        ("`lola-mnist-encrypted`", "-", "-", "failed", "0.3374"),
    ]
    assert machine_tables.f1_programs(found) == [
        ("`lola-mnist`", "0.1415", "0.0759", "0.1432", "0.1437", "0.17"),
        ("`lola-mnist-encrypted`", "0.3374", "-", "-", "failed", "unknown"),
    ]
    assert machine_tables.f1_digits("lola-mnist")(found) == [
        ("the set's own", "37", "0.1415", "0.0759"),
        ("`d4`", "36", "0.15", "0.08"),
    ]


def test_several_runs_give_medians_and_the_range(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    found = results.record("rows", [sys.executable, "-c", "print('{}')"], runs=3)
    assert found["data"] == {"runs": [{}, {}, {}]}
    assert "`, 3 runs, " in results.provenance(found)
    times = [(10.0, 30.0), (30.0, 30.0), (15.0, 30.0)]
    named = {"op": "ckks rotate", "params": "N=2^14", "peer": "Lattigo"}
    named |= {"ours_log_q": 320.0, "peer_log_q": 320.1, "ours_log_p": 96.0, "peer_log_p": 110.0}
    rows = [
        named
        | {"ours_ms": ours, "peer_ms": peer, "ratio": peer / ours}
        | {"ours_median_ms": 2 * ours, "peer_median_ms": 5 * peer, "ours_error": 2**-ours, "peer_error": 0.0}
        for ours, peer in times
    ]
    drawn = bench_tables.rns({"runs": [{"rows": [row]} for row in rows]})
    parameters = "N=2^14; ours 416"
    assert drawn == [
        ("ckks rotate", parameters, "15", "Lattigo", "30", "2.00× (1.00 to 3.00)", "5.00×", "2^-10.0", "none")
    ]
    # Without a peer, as where OpenFHE does not install, ours alone.
    alone = [{key: row[key] for key in row if key == "op" or key == "params" or key.startswith("ours")} for row in rows]
    drawn = bench_tables.rns({"runs": [{"rows": [row, other]} for row, other in zip(rows, alone, strict=True)]})
    assert [line[3] for line in drawn] == ["Lattigo", "–"]
    assert drawn[1] == ("ckks rotate", "N=2^14", "15", "–", "–", "", "", "2^-10.0", "–")
    named = {"set": "toy", "operation": "pbs", "torus_bits": 32, "batch": 1, "unroll": 1, "threads": 1}
    rows = [
        named
        | {
            "ours_ms": ours,
            "floor_fraction": 0.5,
            "wrong": 3,
            "decrypted": 8,
            "peer": {"ms": peer, "ratio": peer / ours, "wrong": 4},
        }
        for ours, peer in times
    ]
    runs = [{"rows": [row, {**row, "operation": "keyswitch"}]} for row in rows]
    line = bench_tables.tfhe({"runs": runs})[0]
    assert line[:4] == ("toy", "32", "15 against 30", "2.00× (1.00 to 3.00)")
    assert line[-1] == "38 %, tfhe-rs 50 %"


def test_data_of_an_earlier_run_is_not_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    file = tmp_path / "rows.json"
    file.write_text('{"rows": []}')
    # As a benchmark that finds no card, or no peer.
    with pytest.raises(SystemExit, match=r"left .*rows\.json as it was before; nothing is recorded"):
        results.record("rows", [sys.executable, "-c", "raise SystemExit(1)"], file)
    assert not (tmp_path / "rows.json.partial").exists()
    (tmp_path / "results").mkdir()
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    writes = f"import pathlib; pathlib.Path({str(file)!r}).write_text('[1]'); raise SystemExit(1)"
    assert results.record("rows", [sys.executable, "-c", writes], file)["data"] == [1]
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["rows.json"]


def test_a_single_round_has_no_range() -> None:
    peer = {"times": {"processor_ms": 30.0}, "ratio": 3.0, "least_ratio": 2.5, "largest_ratio": 3.5}
    row = {"operation": "add", "bits": 8, "threads": 1, "lookups": 4, "ours": {"processor_ms": 10.0}, "peer": peer}
    once, often = (bench_tables.integers({"repetitions": count, "rows": [row]})[0][5] for count in (1, 3))
    assert (once, often) == ("3.00×", "3.00× (2.50 to 3.50)")


def test_results_that_are_recorded_side_by_side_fit_into_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    # It ends when so many have begun.
    script = """
import pathlib, sys, time
log, wanted = pathlib.Path(sys.argv[1]), int(sys.argv[2])
log.open("a").write("+")
while log.read_text().count("+") < wanted:
    time.sleep(0.01)
log.open("a").write("-")
print("[]")
"""
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    for gibibytes, wanted, begun in ((1, 2, "++--"), (10**6, 1, "+-+-")):
        log.write_text("")
        command = shlex.join([sys.executable, "-c", script, str(log), str(wanted)])
        monkeypatch.setattr(results, "FULL_SIZE", dict.fromkeys(("one", "two"), (command, gibibytes)))
        assert jobs.run(results.jobs(keep=False)) == 0
        assert log.read_text() == begun
    log.write_text("")
    assert jobs.run(results.jobs(keep=True)) == 0
    assert log.read_text() == ""


def test_results_and_commands_that_take_long_are_left_to_make_records(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(results.jobs(keep=False)) == len(results.FULL_SIZE)
    short = [seconds for name in results.FULL_SIZE if (seconds := results.read(name)["seconds"]) <= results.SHORT]
    assert len(results.jobs(keep=False, short=True)) == len(short)
    # Minutes of the budget of `make test-full`, if each keeps two processors busy.
    assert 0 < 2 * sum(short) < 30 * 60
    log = tmp_path / "log"
    texts = [f"sh -c 'echo {word} >> {log}'" for word in ("long", "quick")]
    page = commands.Page([commands.Command("one.md", 1, text) for text in texts])
    monkeypatch.setattr(commands, "rules", lambda: {texts[0]: commands.Rule(records=True)})
    for short_runs, ran in ((True, ["quick"]), (False, ["quick", "long", "quick"])):
        assert commands.Runs(short=short_runs).page(page, page.commands) == 0
        assert log.read_text().split() == ran
    assert capsys.readouterr().out.count("SKIPPED") == 1


def test_a_result_that_cannot_be_recorded_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    ends = {"killed": "import os; os.kill(os.getpid(), 9)", "right": "print('[]')"}
    commands_of = {name: (shlex.join([sys.executable, "-c", script]), 1) for name, script in ends.items()}
    monkeypatch.setattr(results, "FULL_SIZE", commands_of)
    assert jobs.run(results.jobs(keep=False)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["right.json"]
    assert "FAILED    results/killed.json" in capsys.readouterr().out


def test_a_command_that_many_pages_show_runs_once_and_pages_that_serve_take_turns(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    often, serving = f"cp /dev/null {tmp_path}/copy", f"sh -c 'echo + >> {log}; sleep 0.3; echo - >> {log}'"
    pages = {
        name: commands.Page([commands.Command(name, 1, often), commands.Command(name, 2, serving)])
        for name in ("one.md", "two.md")
    }
    monkeypatch.setattr(commands, "pages", lambda: pages)
    monkeypatch.setattr(commands, "rules", lambda: {serving: commands.Rule(serves="nowhere")})

    def serve(command: commands.Command, _: commands.Rule, folder: Path, __: contextlib.ExitStack) -> str:
        return commands.run(command, commands.Rule(), folder)

    monkeypatch.setattr(commands, "serve", serve)
    assert commands.main([], only_list=False) == 0
    said = capsys.readouterr().out
    assert said.count("ran already, at ") == 1
    assert "documented commands: 3 ok, 0 failed, 1 skipped" in said
    assert log.read_text().split() == ["+", "-", "+", "-"]


@pytest.mark.parametrize("path", sorted(results.FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_a_result_says_where_it_comes_from(path: Path) -> None:
    found = results.read(path.stem)
    assert tuple(found) == results.FIELDS
    assert found["processor"]["name"]
    assert "/" + "tmp" not in json.dumps(found)


def test_an_unknown_table_or_result_is_reported() -> None:
    with pytest.raises(ValueError, match="there is no table 'none'"):
        tables.drawn("<!-- table: none -->\n<!-- end of table -->")
    with pytest.raises(ValueError, match=r"results/none\.json.*make records"):
        results.read("none")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.place)
def test_a_shown_command_has_known_options(command: commands.Command) -> None:
    assert commands.options_are_known(command) == ""


def test_a_command_that_cannot_be_right_is_noticed() -> None:
    for text in ("polyfabric run digits --onn cpu", "polyfabric fly", "make fly", "polyfabric reproduce"):
        assert commands.options_are_known(commands.Command("README.md", 1, text)) != "", text
    lost = "cargo run --release -p polyfabric-runtime --example lost"
    assert "lost.rs" in commands.options_are_known(commands.Command("README.md", 1, lost))


def test_make_knows_how_to_make_all_that_its_help_names() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^#   make ([a-z0-9-]+) ", makefile, re.MULTILINE)
    assert "test-full" in targets
    # Not as a part of the make that runs this.
    apart = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    for target in targets:
        done = subprocess.run(
            ["make", "--dry-run", target], cwd=ROOT, env=apart, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"make {target}: {done.stderr}"


def test_every_rule_is_of_a_shown_command() -> None:
    assert set(commands.rules()) <= {command.text for command in COMMANDS}


def test_every_result_that_a_rule_names_is_there() -> None:
    named = {name for rule in commands.rules().values() for name in re.findall(r"results/[\w.-]+\.json", rule.skip)}
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_commands_are_found_with_their_output_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "ROOT", tmp_path)
    text = """# A page

    polyfabric run a.py:f --input x="#1"    # a comment

<!-- file: a.py -->
```python
polyfabric = 1
```

    $ make demo
    polyfabric is what make prints
    time   1.2 s
"""
    (tmp_path / "page.md").write_text(text)
    page = commands.page_of(tmp_path / "page.md")
    assert [(c.place, c.text) for c in page.commands] == [
        ("page.md:3", 'polyfabric run a.py:f --input x="#1"'),
        ("page.md:10", "make demo"),
    ]
    assert page.commands[1].shown == ("polyfabric is what make prints", "time   1.2 s")
    assert page.files["a.py"].strip() == "polyfabric = 1"


def test_output_that_drifts_is_noticed() -> None:
    printed = (
        "time    1.82 ms (2,180 cycles)\nthis run   keys 3 ms, execute 7.06 s\nscores 3: +29, 2: +7, 5: +5, 1: 0\n"
    )
    shown = ("time 1.82 ms (2,180 cycles)", "this run keys 387 ms, execute 1 s", "scores 3: +29, 2: +7, ..")
    assert commands.differences(shown, printed) == []
    assert commands.differences(("time 1.83 ms (2,181 cycles)", ".."), printed) == ["time 1.83 ms (2,181 cycles)"]
    assert commands.differences(("this run keys 387 ms", ".."), printed) == ["this run keys 387 ms"]
    assert commands.differences((*shown[:2], ".."), printed) == []
    assert len(commands.differences(shown[:2], printed)) == 1


def test_a_failing_or_slow_command_is_reported(tmp_path: Path) -> None:
    command = commands.Command("README.md", 1, "true")
    assert commands.run(command, commands.Rule(), tmp_path) == ""
    assert "status 3 instead of 0:\nwhy" in commands.run(command, commands.Rule(run="echo why; exit 3"), tmp_path)
    assert commands.run(command, commands.Rule(run="exit 2", status=2), tmp_path) == ""
    assert "not finished" in commands.run(command, commands.Rule(run="sleep 9", minutes=0.001), tmp_path)


def test_servers_run_until_their_page_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    page = commands.Page([commands.Command("page.md", 1, f"python -m http.server {port} --bind 127.0.0.1")])
    asks = f"from urllib.request import urlopen; urlopen('http://127.0.0.1:{port}').close()"
    page.commands.append(commands.Command("page.md", 2, f'python -c "{asks}"'))
    monkeypatch.setattr(commands, "pages", lambda: {"page.md": page})
    monkeypatch.setattr(
        commands, "rules", lambda: {page.commands[0].text: commands.Rule(serves=f"http://127.0.0.1:{port}/")}
    )
    # What serves is started for the one that is asked for, and has ended when that has.
    assert commands.main(["urlopen"], only_list=False) == 0
    assert commands.run(page.commands[1], commands.Rule(), tmp_path) != ""
    ended = commands.Command("page.md", 3, "sh -c 'exit 4'")
    with contextlib.ExitStack() as servers:
        assert "ended with status 4" in commands.serve(
            ended, commands.Rule(serves="http://127.0.0.1:1/"), tmp_path, servers
        )


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_a_picture_matches_its_data(name: str) -> None:
    path = pictures.FOLDER / f"{name}.svg"
    text = path.read_text(encoding="utf-8")
    assert pictures.PICTURES[name]().svg() == text, "run `python scripts/document.py pictures`"
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert len(text) < 60_000


def test_every_picture_is_drawn_and_shown() -> None:
    assert {path.stem for path in pictures.FOLDER.iterdir()} == set(pictures.PICTURES)
    pages = [*tables.texts(), *(results.ROOT / "rtl").glob("*/README.md")]
    written = "".join(path.read_text(encoding="utf-8") for path in pages)
    # README shows the system and the speed.
    shown = {name for name in pictures.PICTURES if f"pictures/{name}.svg" in written}
    assert set(pictures.PICTURES) - shown <= {"system", "speed"}


def test_validation_counts_every_published_cell_once() -> None:
    papers = [results.read(name)["data"] for name in validation_tables.RESULTS]
    for line in validation_tables.kinds(*papers):
        cells, *kinds = map(int, line[1:])
        assert cells == sum(kinds)
    for line in validation_tables.predictions(*papers):
        predicted, *within, farther = map(int, line[1:])
        assert within == sorted(within)
        assert within[-1] + farther == predicted


def test_readme_says_how_many_predictions_are_near() -> None:
    papers = [results.read(name)["data"] for name in validation_tables.RESULTS]
    cells, predicted = validation_tables.kinds(*papers)[-1][1:3]
    within = validation_tables.predictions(*papers)[-1][3]
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"Of {cells} published figures in the five papers, the models predict {predicted}; {within} of these" in text
