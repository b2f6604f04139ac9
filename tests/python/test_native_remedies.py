"""Does every remedy that the Rust half's own messages name work, from Python and the command line?

A text in its sources that advises something, found by a rule, is walked: a case provokes it, and its advice is carried out. Or it stands in a list with the
reason why nobody outside meets it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from call_remedies import Call
from click.testing import CliRunner
from command_remedies import FILE, LINES
from native_absences import NOT_MET
from native_file_remedies import READ
from native_machine_remedies import AT_MACHINES
from native_program_remedies import WRITTEN
from native_remedies import NATIVE
from polyfabric import cli
from polyfabric.errors import Error
from polyfabric.language import place
from rust_messages import Text, advising
from test_call_remedies import CALLS
from test_remedies import CASES, INPUTS, TYPES, anything

pytestmark = pytest.mark.filterwarnings("ignore")

REFUSED = [*NATIVE, *AT_MACHINES, *WRITTEN, *READ]


@pytest.mark.parametrize("one", REFUSED, ids=[f"{number}: {one.words}" for number, one in enumerate(REFUSED)])
def test_the_advised_call_is_taken(one: Call, tmp_path: Path) -> None:
    (tmp_path / "wrong").mkdir()
    (tmp_path / "right").mkdir()
    with pytest.raises(Error) as error:
        one.wrong(tmp_path / "wrong")
    assert one.words in str(error.value), str(error.value)
    one.right(tmp_path / "right")


def refusals(folder: Path) -> Iterator[Callable[[], Any]]:
    """What each case of all suites does first, which is refused."""
    for one in CASES:
        yield lambda one=one: pf.program(**(one.options or {}), **one.kinds)(one.wrong)
    for wrong, _, _ in TYPES:
        yield wrong
    for given in INPUTS:
        yield lambda given=given: given.call(pf.program(**given.kinds)(anything), given.wrong)
    for number, call in enumerate([*CALLS, *REFUSED]):
        own = folder / str(number)
        own.mkdir()
        yield lambda call=call, own=own: call.wrong(own)
    for line in LINES:
        if not line.before:
            yield lambda line=line: CliRunner().invoke(cli.cli, line.wrong.split(), catch_exceptions=False)


def test_every_text_that_advises_is_walked_or_listed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(place, "_PASSED", [*place._PASSED, __file__])
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("own.py").write_text(FILE, encoding="utf-8")
    messages = []
    with np.errstate(all="ignore"), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for refused in refusals(tmp_path):
            try:
                refused()
            except Error as error:
                messages.append(str(error))
    messages += {str(warning.message) for warning in told}
    texts = advising()
    walked = {text for text in texts if any(text.is_in(message) for message in messages)}
    known = [(file, words) for files in NOT_MET.values() for file, listed in files.items() for words in listed]

    def is_listed(text: Text) -> bool:
        return any(file == text.file and words in text.text for file, words in known)

    unlisted = [text for text in texts if text not in walked and not is_listed(text)]
    assert not unlisted, "\n".join(f"{text.file}: {text.text}" for text in unlisted)
    # A text that is walked, or gone, leaves the list.
    left = [text for text in texts if text not in walked]
    stale = [(file, words) for file, words in known if not any(file == t.file and words in t.text for t in left)]
    assert not stale, "\n".join(map(str, stale))
