"""The scripts that check the security table compute something, or say that they cannot."""

import pathlib
import subprocess
import sys

import pytest

HYBRIDS = pathlib.Path(__file__).resolve().parent.parent / "scripts/hybrid-attacks"


def hybrids(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, HYBRIDS, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.full
def test_hybrid_attacks_on_a_sparse_secret_are_the_estimators() -> None:
    run = hybrids("--check", "--rows", "2")
    assert run.returncode == 0, run.stderr
    assert "ternary of weight 192" in run.stdout
    assert "in 2 rows, 0 rows that differ" in run.stderr


def test_a_check_of_nothing_fails() -> None:
    run = hybrids("--check", "--dimension", "1024")
    assert run.returncode == 1
    assert "0 figures in 0 rows" in run.stderr
