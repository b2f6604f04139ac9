"""The set-up names missing tools and how to install them before it builds anything."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
#: What any Debian-like machine has, and the check itself uses.
BASE_COMMANDS = ["bash", "cut", "head", "printf", "sed", "sort", "env"]


def fake_command(folder: Path, name: str, prints: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{prints}'\n")
    path.chmod(0o755)


def check(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    for name in BASE_COMMANDS:
        found = shutil.which(name)
        if found and not (folder / name).exists():
            (folder / name).symlink_to(found)
    return subprocess.run(
        [ROOT / "scripts" / "check-tools"],
        cwd=ROOT,
        env={"PATH": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_empty_machine_has_all_its_errors_reported_at_once(tmp_path: Path) -> None:
    result = check(tmp_path)
    assert result.returncode == 1
    assert result.stderr.splitlines()[0::2] == [
        "missing: rustc and cargo",
        "missing: Python 3.11 or newer ('python3' is not a command here)",
        "missing: a C compiler ('cc' is not a command here), which Rust links with",
        "3 thing(s) missing; nothing was built",
    ]
    remedies = result.stderr.splitlines()[1::2]
    assert all(line.startswith("    remedy: ") for line in remedies)


def test_a_lesser_instruction_set_is_the_peers_in_every_benchmark() -> None:
    targets = ["bench", "bench-check", "bench-types", "bench-integers", "gpu-peer"]
    for isa, lesser in (("avx2", True), ("avx512", False)):
        done = subprocess.run(
            ["make", "--dry-run", "GPU_PEER=/opt/cuda/bin/nvcc", *targets],
            cwd=ROOT,
            env={**os.environ, "POLYFABRIC_ISA": isa},
            capture_output=True,
            text=True,
            check=True,
        )
        builds = re.findall(r"^cd bench/tfhe/peer .*$", done.stdout.replace("\\\n", " "), re.MULTILINE)
        assert len(builds) == len(targets)
        for build in builds:
            assert ("-C target-cpu=x86-64-v3" in build, "--no-default-features" in build) == (lesser, lesser), build


@pytest.mark.parametrize(
    ("rust", "python", "expected"),
    [
        ("1.70.0", "3.11.2", r"Rust 1\.\d+ or newer \(rustc is 1\.70\.0\)"),
        ("1.200.0", "3.9.18", r"Python 3\.11 or newer \(python3 is 3\.9\.18\)"),
    ],
)
def test_an_old_tool_is_named_with_its_version(tmp_path: Path, rust: str, python: str, expected: str) -> None:
    fake_command(tmp_path, "rustc", f"rustc {rust} (0123456 2023-01-01)")
    fake_command(tmp_path, "cargo", f"cargo {rust}")
    fake_command(tmp_path, "cc", "cc")
    fake_command(tmp_path, "python3", python)
    result = check(tmp_path)
    assert result.returncode == 1
    assert re.search(expected, result.stderr)
    assert "1 thing(s) missing" in result.stderr


def test_a_complete_machine_passes_silently(tmp_path: Path) -> None:
    fake_command(tmp_path, "rustc", "rustc 1.200.0 (0123456 2030-01-01)")
    fake_command(tmp_path, "cargo", "cargo 1.200.0")
    fake_command(tmp_path, "cc", "cc")
    fake_command(tmp_path, "interpreter", "3.13.0")
    result = check(tmp_path, PYTHON="interpreter")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_pins_name_no_registry_and_no_hash() -> None:
    text = (ROOT / "requirements.txt").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert lines
    for line in lines:
        # A pin may be for some computers alone.
        assert re.fullmatch(r"""[A-Za-z0-9._-]+==[0-9A-Za-z.]+(; [a-z0-9_ ="]+)?""", line), line
    assert not (ROOT / "uv.lock").exists()


#: A stand-in for Python 3.10: creates an environment that contains it, and installs what the test sets.
PYTHON_310 = """#!/bin/sh
case "$2" in
  venv) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  pip) eval "$INSTALLING" ;;
  *) echo 3 10 ;;
esac
"""


@pytest.mark.parametrize(
    ("installing", "status"), [("exit 0", 0), ("exit 1", 1), ("kill -TERM $PPID", -15), ("kill -KILL $PPID", -9)]
)
def test_an_environment_of_a_peer_is_there_whole_or_not_at_all(installing: str, status: int, tmp_path: Path) -> None:
    python, folder = tmp_path / "python3.10", tmp_path / "peers" / "openfhe"
    python.write_text(PYTHON_310)
    python.chmod(0o755)

    def made(installing: str) -> int:
        return subprocess.run(
            [ROOT / "scripts" / "openfhe-venv", folder, "requirements.txt"],
            env={**os.environ, "OPENFHE_PYTHON": str(python), "INSTALLING": installing},
            capture_output=True,
            check=False,
        ).returncode

    assert made(installing) == status
    assert folder.exists() == (status == 0)
    # Whatever is left of an interruption is in nobody's way.
    assert made("exit 0") == 0
    assert [path.name for path in folder.parent.iterdir()] == ["openfhe"]


@pytest.mark.parametrize("variable", ["SLOW", "MORE_CASES"])
def test_rust_tests_that_the_makefile_names_exist(variable: str) -> None:
    """A name that no test has would select nothing, without an error."""
    listed = re.search(rf"^{variable} := \\\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert listed
    sources = "\n".join(path.read_text() for path in (ROOT / "crates").rglob("*.rs"))
    functions = [name.rpartition("::")[2] for name in listed.group(1).replace("\\", " ").split()]
    assert functions
    assert [name for name in functions if not re.search(rf"\bfn {name}\b", sources)] == []
