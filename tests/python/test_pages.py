"""The newcomers' pages and README's first programs run unchanged."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import polyfabric as pf
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name",
    [
        "bgv",
        "ckks-bootstrapping",
        "coming-from",
        "f1",
        "fixed-point",
        "language",
        "service",
        "tables",
        "troubleshooting",
    ],
)
def test_a_page_runs_as_it_stands(name: str) -> None:
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    assert blocks
    scope: dict[str, Any] = {"pf": pf}
    for block in blocks:
        exec(block, scope)


def test_the_page_on_slots_runs_where_its_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "slots.md").read_text(encoding="utf-8")
    (name, shown), *_ = re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)```", page, re.S)
    (tmp_path / name).write_text(shown, encoding="utf-8")
    # The parties' files are in one folder here.
    (tmp_path / "all").mkdir()
    for party in ("client", "sensor", "server"):
        (tmp_path / party).symlink_to(tmp_path / "all")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "risk", raising=False)
    scope: dict[str, Any] = {"values": [number / 30 for number in range(30)]}
    for block in re.findall(r"```python\n(.*?)```", page, re.S):
        exec(block, scope)
    assert (tmp_path / "keys" / "server.key").exists()
    assert (tmp_path / "server" / "result.out.ct").exists()


def test_the_page_for_assistants_runs_and_its_remedies_are_in_the_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "assistants.md").read_text(encoding="utf-8")
    first, *others = re.findall(r"```python\n(.*?)```", page, re.S)
    (tmp_path / "score.py").write_text(first, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "score", raising=False)
    for block in others:
        exec(block, {})
    for name in set(re.findall(r"pf\.(\w+)", page)):
        assert hasattr(pf, name), name
    for name in re.findall(r"`(\w+Error)`", page):
        assert hasattr(pf.errors, name), name


def quoted(field: str) -> list[str]:
    """The words in quotes of a field's row in the table of docs/slots.md, which are values of it."""
    page = (ROOT / "docs" / "slots.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| (?:`{field}`|{field}) \|(.*)$", page, re.M)
    return re.findall(r'`"([^"]+)"`', row)


@pytest.mark.parametrize(
    ("field", "name", "count"),
    [("primes", "primes", 2), ("digits of the key switch", "gadget", 2), ("secret", "secret", 1)],
)
def test_words_of_the_table_of_own_sets_are_taken(field: str, name: str, count: int) -> None:
    given = {
        "ring_degree": 8192,
        "q": [{"bits": 50}, {"bits": 40, "count": 2}],
        "gadget": "per-limb",
        "scale_log2": 40,
        "secret": "uniform-ternary",
        "noise_std": 3.2,
    }
    words = quoted(field)
    assert len(words) == count
    for number, word in enumerate(words):
        changed = {"p": [{"bits": 50, "count": 3}]} if word == "one-digit" else {}
        assert pf.SlotParameters.of("ckks", name=f"own-{number}", **{**given, **changed, name: word})
    with pytest.raises(pf.Error):
        pf.SlotParameters.of("ckks", name="own", **{**given, name: "another"})


def test_the_first_program_of_readme_is_a_file_of_the_examples() -> None:
    shown = re.findall(r"<!-- example: (\S+) -->\n```python\n(.*?)```", README, re.S)
    assert [name for name, _ in shown] == ["first.py"]
    for name, text in shown:
        assert text == (ROOT / "examples" / name).read_text(encoding="utf-8")


def test_the_first_program_on_reals_runs() -> None:
    """That on integers runs in `test_first_minutes.py`."""
    program = ROOT / "examples" / "reals.py"
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_every_example_can_be_read() -> None:
    for path in sorted((ROOT / "examples").glob("*.py")):
        assert runpy.run_path(str(path))


def test_readme_is_short() -> None:
    assert len(README.split()) <= 650, (
        "everything counts, as `wc -w` does: tables, their rules, the picture of the demo"
    )
    assert max(len(line.split()) for line in README.split("\n") if not line.startswith(("|", "From "))) <= 40
