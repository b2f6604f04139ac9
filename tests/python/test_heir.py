"""Programs that HEIR compiled: right values in the clear and encrypted, against the function's definition in numpy.

`heir/NAME.mlir` is what `heir-opt` wrote for `heir/NAME.source.mlir`, whose first line is the command.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polyfabric as pf
import pytest
from test_heir_bad_files import SMALL

ROOT = Path(__file__).parent.parent.parent
SAMPLES = Path(__file__).parent / "heir"
RANDOM = np.random.default_rng(56)


def weights(rows: int, columns: int) -> Any:
    """The matrices of the sources."""
    i, j = np.ogrid[:rows, :columns]
    return (3 * i + 5 * j) % 7 / 8 - 0.375


def layer(rows: int, x: Any) -> Any:
    """A matrix times a vector plus a bias."""
    return weights(rows, len(x)) @ x + np.arange(rows) / 4


def convolution(x: Any) -> Any:
    """Two filters of 3 x 3 on two channels of 4 x 4."""
    o, c, i, j = np.ogrid[:2, :2, :3, :3]
    kernel = (o + 2 * c + i + 3 * j) % 5 / 8 - 0.25
    windows = np.lib.stride_tricks.sliding_window_view(x[0], (3, 3), axis=(1, 2))
    return np.einsum("chwij,ocij->ohw", windows, kernel)[None]


def polynomial(x: Any, y: Any) -> Any:
    """Two results on integers."""
    c = np.array([1, 2, 3, 4, 5, 6, 7, -8])
    return x * y + c - x, (x * y + c - x) * c


def wrapped(value: Any, bits: int) -> int:
    """As a signed integer of that many bits."""
    return (int(value) + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


class Case(NamedTuple):
    """A sample: the function in numpy, its arguments, and the modulus of BGV."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    modulus: int | None = None


def reals(*shape: int) -> Any:
    return RANDOM.uniform(-1, 1, shape)


def integers(*shape: int) -> Any:
    return RANDOM.integers(-50, 50, shape)


CASES = {
    "matvec": Case(lambda x: layer(3, x), (reals(5),)),
    "matvec_unrolled": Case(lambda x: layer(3, x), (reals(5),)),
    "two_layers": Case(lambda x: layer(4, layer(8, x) ** 2), (reals(8),)),
    "in_vectors": Case(lambda x, y: (x * y - x, -y), (reals(16), reals(16))),
    "convolution": Case(convolution, (reals(1, 2, 4, 4),)),
    "number": Case(lambda x, y: (x * y + 0.75) ** 2, (0.5, -0.3)),
    "power": Case(lambda x: x**8, (0.9,)),
    "exponential": Case(np.exp, (reals(8) * 2,)),
    "public": Case(lambda x, w: x * w, (reals(8), reals(8))),
    "dot": Case(lambda a, b: a @ b + 3, (integers(8), integers(8)), 65537),
    "polynomial": Case(polynomial, (integers(8), integers(8)), 786433),
    "polynomial_bfv": Case(polynomial, (integers(8), integers(8)), 65537),
    "less": Case(lambda a, b: a < b, (-100, 77)),
    "add_lut3": Case(lambda a, b: wrapped(a + b, 8), (100, 77)),
    "add_lut4": Case(lambda a, b: wrapped(a + b, 4), (7, 3)),
    "linear_lut3": Case(lambda a: wrapped((a + 17) * 17, 8), (-30,)),
    "sum": Case(lambda a: wrapped(a.sum(), 8), (np.array([100, 27, -3, 90]),)),
    "integers": Case(lambda a, b: wrapped(a * b + 17, 16), (-77, 99)),
    "bitwise_integer": Case(lambda a, b: wrapped(3 - ((a >> 3) ^ b), 8), (-77, 99)),
    "less_integer": Case(lambda a, b: a >= b, (-100, 77)),
}

QUICK = ("matvec", "dot", "integers")
"""Samples that run encrypted in every test run."""


BOUNDS = {"exponential": 2.0}
"""Samples with inputs above 1."""


def program(name: str) -> pf.Program:
    return pf.from_heir(SAMPLES / f"{name}.mlir", bound=BOUNDS.get(name, 1.0))


def check(name: str, found: Any) -> None:
    """Compares what a program returned with the function in numpy."""
    case = CASES[name]
    wanted = case.function(*case.arguments)
    results = (wanted,) if not isinstance(wanted, tuple) else wanted
    returned = (found,) if not isinstance(found, tuple) else found
    assert len(returned) == len(results)
    for one, expected in zip(returned, results, strict=True):
        assert np.shape(one) == np.shape(expected)
        if case.modulus is not None:
            assert not np.any((np.asarray(one) - expected) % case.modulus)
        elif np.asarray(expected).dtype.kind == "f":
            np.testing.assert_allclose(one, expected, atol=1e-3)
        else:
            assert np.array_equal(one, expected)


def inputs(name: str) -> dict[str, Any]:
    return {f"arg{at}": own for at, own in enumerate(CASES[name].arguments)}


@pytest.mark.parametrize("name", CASES)
def test_clear_value(name: str) -> None:
    check(name, program(name).clear(inputs(name)))


def run_encrypted(name: str) -> None:
    done = program(name).run(inputs(name))
    assert done.correct, done.problem
    check(name, done.value)


@pytest.mark.parametrize("name", QUICK)
def test_encrypted_value(name: str) -> None:
    run_encrypted(name)


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in CASES if name not in QUICK])
def test_encrypted_values(name: str) -> None:
    run_encrypted(name)


def test_drawn() -> None:
    assert "arg0.1" in program("in_vectors").draw().svg


def test_diagonals_in_one_operation() -> None:
    """Version 2026.10.1 writes it with the diagonals as an operand."""
    text = (SAMPLES / "two_layers.mlir").read_text()
    prepared = re.search(
        r"(%\S+) = kernel.prepare_linear_transform (%\S+) <diagonal_indices = (\[0, 1, 2, 3, 4, 5, 6, 7\])>[^\n]*", text
    )
    assert prepared
    stored = f"preprocessing.store {prepared[1]}, "
    line = next(line for line in text.splitlines() if stored in line)
    diagonals = next(line for line in text.splitlines() if line.lstrip().startswith(f"{prepared[2]} = "))
    site = re.search(r"site \d+", line)[0]  # type: ignore[index]
    loaded = next(line for line in text.splitlines() if "preprocessing.load" in line and site + "<" in line)
    name = loaded.split()[0]
    applied = re.search(rf"kernel.apply_linear_transform (%\S+), {name} [^\n]*", text)
    assert applied
    text = (
        text.replace(prepared[0] + "\n", "")
        .replace(line + "\n", "")
        .replace(loaded, diagonals.replace(prepared[2], "%diagonals"))
    )
    text = text.replace(
        applied[0],
        f"kernel.linear_transform {applied[1]}, %diagonals <diagonal_indices = {prepared[3]}> : !ct_L4, tensor<8x8xf32> -> !ct_L3",
    )
    check("two_layers", pf.from_heir(text).clear(inputs("two_layers")))


@pytest.mark.parametrize("name", ["in_vectors", "sum"])
def test_client_and_server(name: str, tmp_path: Path) -> None:
    """The client needs the specification alone, also for inputs in several ciphertexts."""
    own = program(name)
    pf.Specification.of(own).save(tmp_path / "specification")
    client = pf.Client(pf.Specification.load(tmp_path / "specification"))
    server = pf.Server(own, client.evaluation_key)
    check(name, client.decrypt(server.execute(client.encrypt(inputs(name)))))


@pytest.mark.parametrize("name", ["in_vectors", "sum", "number"])
def test_pickled(name: str) -> None:
    restored = pickle.loads(pickle.dumps(program(name)))
    assert repr(restored) == repr(program(name))
    check(name, restored.clear(inputs(name)))


UNSIGNED = """\
    %a = arith.constant dense<[-1, 5, -128, 127]> : tensor<4xi8>
    %wide = arith.{0} %a : tensor<4xi8> to tensor<4xi32>
    %cst = arith.sitofp %wide : tensor<4xi32> to tensor<4xf32>
"""


@pytest.mark.parametrize(("name", "numbers"), [("extui", [255, 5, 128, 127]), ("extsi", [-1, 5, -128, 127])])
def test_public_integers_are_widened_with_or_without_sign(name: str, numbers: list[int]) -> None:
    start, end = (SMALL.index(part) for part in ("    %cst", "    %pt"))
    text = SMALL[:start] + UNSIGNED.format(name) + SMALL[end:]
    assert pf.from_heir(text).clear(arg0=[1, 1, 1, 1]) == pytest.approx(numbers)


def test_the_pages_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of its own, since it writes a trace."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "heir.md").read_text(encoding="utf-8")
    scope: dict[str, Any] = {"pf": pf}
    for block in re.findall(r"```python\n(.*?)```", page, re.S):
        exec(block, scope)


def test_from_the_command_line() -> None:
    command = [sys.executable, "-m", "polyfabric", "run", SAMPLES / "dot.mlir", "--json"]
    given = ["--input", "arg0=1,2,3,4,5,6,7,8", "--input", "arg1=1,1,1,1,1,1,1,1"]
    done = subprocess.run([*command, *given], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["outputs"] == {"result": 39}


def timed(name: str, machine: str, **options: str) -> None:
    assert program(name).simulate(machine, **options).to_dict()["seconds"] > 0


@pytest.mark.parametrize(("name", "machine"), [("matvec", "osiris"), ("dot", "f1")])
def test_timed_on_machines(name: str, machine: str) -> None:
    timed(name, machine)


@pytest.mark.full
def test_gates_timed_on_morphling() -> None:
    timed("less", "morphling", widths="derived")


@pytest.mark.full
@pytest.mark.skipif(shutil.which("heir-opt") is None, reason="needs heir-opt: pip install heir-py")
@pytest.mark.parametrize("form", [[], ["--mlir-print-op-generic"]])
@pytest.mark.parametrize("name", CASES)
def test_compiled_afresh(name: str, form: list[str], tmp_path: Path) -> None:
    """Both forms of what an installed HEIR writes."""
    source = SAMPLES / f"{name}.source.mlir"
    option = source.read_text().split("'")[1]
    home = Path(shutil.which("heir-opt") or "").resolve().parent
    found = next(home.parent.rglob("abc_bin"), home)
    environment = dict(os.environ, HEIR_ABC_BINARY=str(found), HEIR_YOSYS_SCRIPTS_DIR=str(found.parent / "techmaps"))
    made = subprocess.run(
        ["heir-opt", option, *form, source], capture_output=True, text=True, env=environment, check=True
    )
    (tmp_path / "made.mlir").write_text(made.stdout)
    check(name, pf.from_heir(tmp_path / "made.mlir", bound=BOUNDS.get(name, 1.0)).clear(inputs(name)))
