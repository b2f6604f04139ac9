"""Do the pages for newcomers, and the first programs of README, run as they stand?"""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["language", "service", "coming-from"])
def test_a_page_runs_as_it_stands(name: str) -> None:
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(blocks) >= 3
    scope: dict[str, Any] = {}
    for block in blocks:
        exec(block, scope)


def test_the_first_programs_of_readme_are_files_of_the_examples() -> None:
    shown = re.findall(r"<!-- example: (\S+) -->\n```python\n(.*?)```", README, re.S)
    assert [name for name, _ in shown] == ["integers.py", "reals.py"]
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
        if path.name != "service.py":
            assert runpy.run_path(str(path))


def test_readme_is_short() -> None:
    assert len(README.split()) <= 1200, (
        "everything counts, as `wc -w` does: tables, their rules, the picture of the demo"
    )
    assert max(len(line.split()) for line in README.split("\n") if not line.startswith(("|", "From "))) <= 40
