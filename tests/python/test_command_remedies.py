"""Does every remedy that the command line's own messages give work: does the line that one advises run?

The last test holds that no message of the command line goes without a case, or without a reason why it has none.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from click.testing import CliRunner
from command_remedies import FILE, LINES, Line
from polyfabric import cli, errors

OWN_SET = Path(__file__).resolve().parents[2] / "examples" / "own-ckks.toml"

pytestmark = pytest.mark.filterwarnings("ignore::polyfabric.SecurityWarning")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that lines name; each line runs here."""
    for name, text in {
        "own.py": FILE,
        "own.json": '{"x": [1, 0, 0.5, 0]}',
        "set.toml": OWN_SET.read_text(encoding="utf-8"),
        "bad.json": "{x}",
        "twice.json": '{"x": [1], "x": [2]}',
        "deep.json": "[" * 100_000,
        "long.json": '{"x": ' + "1" * 6000 + "}",
        "list.json": "[1, 2]",
        "own.txt": "....\n.##.\n.##.\n....\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def taken(text: str) -> None:
    done = CliRunner().invoke(cli.cli, text.split())
    assert done.exception is None, (text, done.exception, done.output)


def refused(one: Line) -> str:
    for before in one.before:
        taken(before)
    error = CliRunner().invoke(cli.cli, one.wrong.split()).exception
    assert isinstance(error, errors.Error), (one.wrong, error)
    return str(error)


@pytest.mark.parametrize("one", LINES, ids=[one.wrong for one in LINES])
def test_the_advised_line_runs(one: Line) -> None:
    message = refused(one)
    assert one.words in message, message
    for line in one.right:
        taken(line)


NO_CASE = {
    "has no schedule without loops": "no program of rounds is without one but those that are refused before",
}
"""Words of messages whose remedy no test takes, and why."""


def sites() -> Iterator[tuple[str, int, str]]:
    """Every place of the command line that raises an error of Polyfabric's: its file, its first line, and its source."""
    for module in iter_modules(cli.__path__):
        file = str(import_module(f"{cli.__name__}.{module.name}").__file__)
        for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                kind = getattr(errors, ast.unparse(node.exc.func), None)
                if isinstance(kind, type) and issubclass(kind, errors.Error):
                    yield file, node.lineno, ast.unparse(node)


def test_every_message_of_the_command_line_has_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    known = list(sites())
    met: set[tuple[str, int]] = set()

    def noted(self: errors.Error, *given: object) -> None:
        frame = sys._getframe(1)
        lines = [line for file, line, _ in known if file == frame.f_code.co_filename and line <= frame.f_lineno]
        # A call over several lines is noted at its first.
        met.update({(frame.f_code.co_filename, max(lines))} if lines else ())
        Exception.__init__(self, *given)

    monkeypatch.setattr(errors.Error, "__init__", noted)
    for one in LINES:
        refused(one)
    missing = [source for file, line, source in known if (file, line) not in met]
    assert [source for source in missing if not any(part in source for part in NO_CASE)] == []
