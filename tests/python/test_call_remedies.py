"""Does every remedy that a refused call names work: of planning, running, keys, files, clients, servers, programs in files, sweeps, comparisons, reports, applications and models?

A case is a call that is refused, words of its message, and the call that the message advises, which is made. The last test holds that no message of
these modules goes without a case, or without a reason why it has none.
"""

from __future__ import annotations

import ast
import builtins
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages
from unittest import mock

import polyfabric as pf
import pytest
from call_remedies import CALLS as OF_PROGRAMS
from file_remedies import FILES
from model_remedies import MODELS
from onnx_remedies import ONNX
from polyfabric import cli, language
from polyfabric.errors import Error
from tool_remedies import TOOLS

pytestmark = pytest.mark.filterwarnings("ignore::polyfabric.SecurityWarning")

ONNX_IS_HERE = find_spec("onnx") is not None
CALLS = [*OF_PROGRAMS, *FILES, *TOOLS, *MODELS, *(ONNX if ONNX_IS_HERE else [])]

OF_OTHER_TESTS = (f"{language.__name__}.", f"{cli.__name__}.", f"{pf.__name__}.__main__.", f"{pf.__name__}._native.")
"""Modules whose messages `test_remedies.py`, `test_command_remedies.py` and, of Rust, `test_native_remedies.py` walk."""

MODULES = [
    import_module(module.name)
    for module in walk_packages(pf.__path__, f"{pf.__name__}.")
    if not f"{module.name}.".startswith(OF_OTHER_TESTS) and (ONNX_IS_HERE or not module.name.endswith("onnx_graph"))
]

NO_CASE = {
    "more memory": "the remedy is another computer",
    "booster=": "of a package that the tests do not have",
    "has trees of several outputs each": "of that package too",
    "has categorical features": "of that package too; the same words of scikit-learn have a case",
    "install it": "the remedy is another package",
    "from_onnx needs the package onnx": "the remedy is another package",
    "does not evaluate the model itself": "of an operator of another domain behind what the client computes; the remedy is another exporter",
    "give fewer value_bits": "no model is known of which some layout of digits and sums does not fit a set",
    "has no body; give one at least": "rounds are of programs that come with the project, and each has a body",
    "{one} gives scales of 2^{gives}": "the same, and each ends at the scale that the next begins with",
    "polyfabric.runnable: raise refuse(": "test_remedies.py walks those",
    "raise type(error)(f'{file}: {error}')": "it puts the file before the message of a program in it, which has its own case",
    "apps.trained_digits": "the same words of digits have cases; an image of these networks takes a minute",
    "there is no Dask scheduler": "the remedy is a scheduler",
    "is this a compiled program?": "of a file of gigabytes",
    "which was accepted": "a failure that no test waits for; its remedies are those of a set or of widths that are named",
    "not a Python file": "of a file that ends in .py the interpreter never says so",
    "cannot remove the output": "the operating system's, which a test run by root does not meet",
    "the working folder is gone": "the remedy is another folder; test_command_ends.py goes there",
    "{target}: cannot write ({error.strerror})": "the operating system's, which a test run by root does not meet",
    "_unwritten(path, error.strerror)": "the operating system's, which wrote that file a moment before",
    "run --step encrypt first": "the operating system's, of a file that has just been there",
}
"""Words of messages whose remedy no test takes, and why."""


MET: dict[int, set[tuple[str, range]]] = {}
"""By number, the places that the refusals of this run of the tests have met."""


def refused(number: int, folder: Path) -> str:
    """The message of a case's call that is refused; the places that it comes from are noted."""
    met: set[tuple[str, range]] = set()

    def noted(self: Error, *given: object) -> None:
        # A message that a function makes is that of the place that raises it, further out.
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != __file__:
            of = frame.f_code.co_filename
            met.update((file, lines) for file, lines, _ in sites() if file == of and frame.f_lineno in lines)
            frame = frame.f_back
        Exception.__init__(self, *given)

    with mock.patch.object(Error, "__init__", noted), pytest.raises(Error) as error:
        CALLS[number].wrong(folder)
    MET[number] = met
    return str(error.value)


@pytest.mark.parametrize("number", range(len(CALLS)), ids=[f"{at}: {one.words}" for at, one in enumerate(CALLS)])
def test_the_advised_call_is_taken(number: int, tmp_path: Path) -> None:
    (tmp_path / "wrong").mkdir()
    (tmp_path / "right").mkdir()
    message = refused(number, tmp_path / "wrong")
    assert CALLS[number].words in message, message
    CALLS[number].right(tmp_path / "right")


@cache
def sites() -> list[tuple[str, range, str]]:
    """Every place that raises an error of Polyfabric's, or what a function of its own makes one of: its file, its lines, and its module and source."""
    found = []
    for module in MODULES:
        text = Path(str(module.__file__)).read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                name = ast.unparse(node.exc.func)
                if name not in dir(builtins):
                    lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
                    found.append((str(module.__file__), lines, f"{module.__name__}: {ast.unparse(node)}"))
    return found


def test_every_message_of_these_modules_has_a_case(tmp_path: Path) -> None:
    for number in range(len(CALLS)):
        # Those above have been refused already, where they ran.
        if number not in MET:
            (tmp_path / str(number)).mkdir()
            refused(number, tmp_path / str(number))
    met = set().union(*MET.values())
    missing = [source for file, lines, source in sites() if (file, lines) not in met]
    unexplained = [source for source in missing if not any(part in source for part in NO_CASE)]
    assert not unexplained, "\n".join(unexplained)
    unneeded = [part for part in NO_CASE if not any(part in source for source in missing)]
    assert not unneeded, "\n".join(unneeded)
