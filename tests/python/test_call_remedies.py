"""Does every remedy that a refused call names work: of planning, running, keys, files, clients, servers, programs in files, sweeps, comparisons, reports, applications and models?

A case is a call that is refused, words of its message, and the call that the message advises, which is made. The last test holds that no message of
these modules goes without a case, or without a reason why it has none.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import polyfabric as pf
import pytest
from call_remedies import CALLS as OF_PROGRAMS
from call_remedies import Call
from model_remedies import MODELS
from polyfabric import (
    comparison,
    computer,
    execution,
    exploration,
    keys,
    machines,
    names,
    programs,
    reports,
    runnable,
    sides,
    slot_parameters,
    specification,
    stages,
    store,
)
from polyfabric.apps import life
from polyfabric.errors import Error
from polyfabric.models import choices, model, scikit
from polyfabric.schemes import elements, options, plan, slots
from tool_remedies import TOOLS

pytestmark = pytest.mark.filterwarnings("ignore::polyfabric.SecurityWarning")

CALLS = [*OF_PROGRAMS, *TOOLS, *MODELS]

MODULES = (
    *(comparison, exploration, machines, reports, life),
    *(computer, execution, keys, names, programs, runnable, sides, slot_parameters, specification, stages, store),
    *(elements, options, plan, slots),
    *(choices, model, scikit),
)

NO_CASE = {
    "more memory": "the remedy is another computer",
    "booster=": "of a package that the tests do not have",
    "has categorical features": "of that package too; the same words of scikit-learn have a case",
    "install it": "the remedy is another package",
    "there is no Dask scheduler": "the remedy is a scheduler",
    "no point has a result": "it repeats the message of a point",
    "its area is unknown": "it repeats what the machine file says, whose remedies its own tests take",
    "is this a compiled program?": "of a file of gigabytes",
    "which was accepted": "a failure that no test waits for; its remedies are those of a set or of widths that are named",
    "not a Python file": "of a file that ends in .py the interpreter never says so",
    "cannot remove the output": "the operating system's, which a test run by root does not meet",
    "run --step encrypt first": "the operating system's, of a file that has just been there",
}
"""Words of messages whose remedy no test takes, and why."""


def refused(one: Call, folder: Path) -> str:
    with pytest.raises(Error) as error:
        one.wrong(folder)
    return str(error.value)


@pytest.mark.parametrize("one", CALLS, ids=[f"{number}: {one.words}" for number, one in enumerate(CALLS)])
def test_the_advised_call_is_taken(one: Call, tmp_path: Path) -> None:
    (tmp_path / "wrong").mkdir()
    (tmp_path / "right").mkdir()
    message = refused(one, tmp_path / "wrong")
    assert one.words in message, message
    one.right(tmp_path / "right")


def sites() -> Iterator[tuple[str, int, str]]:
    """Every place that raises an error of Polyfabric's: its file, its first line, and its source."""
    for module in MODULES:
        text = Path(str(module.__file__)).read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                kind = getattr(pf.errors, ast.unparse(node.exc.func), None)
                if isinstance(kind, type) and issubclass(kind, Error):
                    yield str(module.__file__), node.lineno, ast.unparse(node)


def test_every_message_of_these_modules_has_a_case(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    known = list(sites())
    met: set[tuple[str, int]] = set()

    def noted(self: Error, *given: object) -> None:
        frame = sys._getframe(1)
        lines = [line for file, line, _ in known if file == frame.f_code.co_filename and line <= frame.f_lineno]
        # A call over several lines is noted at its first.
        met.update({(frame.f_code.co_filename, max(lines))} if lines else ())
        Exception.__init__(self, *given)

    monkeypatch.setattr(Error, "__init__", noted)
    for number, one in enumerate(CALLS):
        (tmp_path / str(number)).mkdir()
        refused(one, tmp_path / str(number))
    missing = [source for file, line, source in known if (file, line) not in met]
    unexplained = [source for source in missing if not any(part in source for part in NO_CASE)]
    assert not unexplained, "\n".join(unexplained)
