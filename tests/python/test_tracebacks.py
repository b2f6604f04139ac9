"""Tracebacks of errors that leave the package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import polyfabric as pf
import pytest
from polyfabric.language.place import source

HEAD = """import polyfabric as pf


@pf.program(x=pf.Int(0, 7))
def plus(x):
    return x + 1


"""

CALLS = {
    "run": ("def call():\n    plus.run(x=9)\n\n\ncall()\n", 2, "InputError"),
    "trace": (
        "def choose(x):\n    return 1 if x > 3 else 0\n\n\npf.program(x=pf.Int(0, 7))(choose)\n",
        2,
        "ProgramError",
    ),
    "type": ("pf.Int(7, 0)\n", 1, "ProgramError"),
    "vector": ("pf.Int(0, 7).vector(-1)\n", 1, "ProgramError"),
    "machine": ("pf.load_machine('morphing')\n", 1, "InputError"),
    "model": ("pf.from_onnx('missing.onnx', [[1.0]])\n", 1, "FileError"),
    "bytes": ("pf.Ciphertexts.from_bytes(b'none')\n", 1, "FileError"),
    "cause": (
        "def branch(v):\n    return 1 if v > 0 else 0\n\n\n"
        "pf.program(x=pf.Real)(lambda x: pf.chebyshev(x, branch, 5))\n",
        3,
        "ProgramError",
    ),
    "misspelt": (
        "def root(x):\n    return pf.lookpu(x, [1])\n\n\npf.program(x=pf.Int(0, 7))(root)\n",
        2,
        "AbsentError",
    ),
}


def printed(tmp_path: Path, text: str, **environment: str) -> str:
    (tmp_path / "program.py").write_text(text)
    own = {name: value for name, value in os.environ.items() if name != "POLYFABRIC_TRACEBACK"}
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=own | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    return done.stderr


@pytest.mark.parametrize("name", CALLS)
def test_an_error_shows_the_users_frames_alone(tmp_path: Path, name: str) -> None:
    call, frames, kind = CALLS[name]
    shown = printed(tmp_path, HEAD + call)
    files = [line for line in shown.splitlines() if line.startswith("  File ")]
    assert len(files) == frames
    assert all("program.py" in line for line in files)
    assert shown.splitlines()[-1].startswith(f"polyfabric.errors.{kind}: ")


def test_an_error_of_a_tables_function_shows_the_users_frames_alone(tmp_path: Path) -> None:
    shown = printed(tmp_path, HEAD + "pf.program(x=pf.Int(0, 7))(lambda x: pf.lookup(x, lambda v: 1 // v))\n")
    files = [line for line in shown.splitlines() if line.startswith("  File ")]
    assert len(files) == 3
    assert all("program.py" in line for line in files)
    assert shown.splitlines()[-1].startswith("ZeroDivisionError: ")


def test_a_variable_of_the_environment_keeps_all_frames(tmp_path: Path) -> None:
    shown = printed(tmp_path, HEAD + CALLS["run"][0], POLYFABRIC_TRACEBACK="1")
    assert shown.count("  File ") > 3


def test_a_users_own_cause_stays_and_a_circle_of_causes_ends() -> None:
    def wrong(_value: int) -> int:
        raise pf.errors.InputError("bad") from ValueError("why")

    with pytest.raises(pf.errors.InputError) as found:
        pf.program(x=pf.Int(0, 7))(lambda x: pf.lookup(x, wrong))
    assert isinstance(found.value.__cause__, ValueError)

    def circular(_value: int) -> int:
        one, other = pf.errors.InputError("one"), ValueError("other")
        one.__cause__, other.__cause__ = other, one
        raise one

    with pytest.raises(pf.errors.InputError):
        pf.program(x=pf.Int(0, 7))(lambda x: pf.lookup(x, circular))


def test_a_location_in_a_notebook_names_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = {"/tmp/ipykernel_7/123.py": ("Cell", "In[3]")}
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=cells.get))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert source("/tmp/ipykernel_7/123.py", 4) == ("In[3]", 4)
    assert source("/elsewhere/own.py", 4) == ("own.py", 4)


def test_an_unknown_name_is_compared_with_the_inputs_first() -> None:
    plus = pf.program(x=pf.Int(0, 7))(lambda x: x + 1)
    for wrong, right in {"zone": "x", "wdths": "widths"}.items():
        with pytest.raises(pf.errors.InputError) as found:
            plus.run(**{wrong: 3})
        assert right in str(found.value).replace("'", " ").replace("?", " ").split()
