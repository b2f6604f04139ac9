"""A too large program is refused before it allocates memory, with an accurate estimate."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from calls import Finished
from polyfabric.accelerators.machine import load
from polyfabric.host.memory import limited, size
from polyfabric.language.slots import SlotTracer

MiB = 1 << 20

MEASURED = """
import re
from functools import reduce
from pathlib import Path

import numpy as np
import polyfabric as pf


def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) << 10


{program}
before = peak()
{name}.plan({arguments})
print(peak() - before)
"""

PLANNED = {
    "products": (
        '@pf.program("f", x=pf.UInt(16).vector(1000), y=pf.UInt(16).vector(1000))\ndef f(x, y):\n    return x * y\n',
        "",
    ),
    "sum": ('@pf.program("f", x=pf.UInt(16).vector(4000))\ndef f(x):\n    return x.sum()\n', ""),
    "reverse": ('@pf.program("f", x=pf.Real.vector(2048))\ndef f(x):\n    return x[::-1]\n', '"ckks-depth-4"'),
    "factors": (
        '@pf.program("f", x=pf.Real.vector(8192))\ndef f(x):\n'
        "    return reduce(lambda s, i: s + x * np.cos(np.arange(8192) * i), range(1, 400), x * 1.0)\n",
        '"ckks-depth-4"',
    ),
}
"""Programs of which planning takes some 100 MiB, with the arguments of their plans."""


def taken_by(name: str) -> int:
    """Bytes that planning a program of `PLANNED` takes, measured in a separate process."""
    program, arguments = PLANNED[name]
    script = MEASURED.format(program=program, name="f", arguments=arguments)
    return int(subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout)


def planned_within(name: str, memory: int) -> bool:
    """Whether a separate process plans it within so many bytes, instead of refusing it."""
    program, arguments = PLANNED[name]
    script = f"""
from functools import reduce
import numpy as np
import polyfabric as pf
{program}
try:
    f.plan({arguments}{", " if arguments else ""}memory={memory})
    print("planned")
except pf.errors.RunError:
    print("refused")
"""
    found = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return found.stdout.strip() == "planned"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not tell a process's peak")
@pytest.mark.parametrize("name", [*PLANNED])
def test_the_estimate_of_a_plan_is_at_least_what_it_takes_and_at_most_three_times_that(name: str) -> None:
    """A process has 40 MiB in addition to the plan."""
    taken = taken_by(name)
    assert taken > 16 * MiB, f"{taken / MiB:.0f} MiB are too few to measure"
    assert not planned_within(name, taken + 40 * MiB), f"{taken / MiB:.0f} MiB taken, fewer estimated"
    assert planned_within(name, 3 * taken + 64 * MiB), (
        f"{taken / MiB:.0f} MiB taken, more than 3 times as much estimated"
    )


@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (lambda x: x[::-1], {"x": pf.Real.vector(16384)}),
        (lambda x: reduce(lambda s, i: s + x * np.full(16384, i), range(1, 1000), x), {"x": pf.Real.vector(16384)}),
        (lambda x: np.ones((4096, 4096), dtype=int) @ x, {"x": pf.Int(0, 1).vector(4096)}),
        pytest.param(
            lambda x: [element + 1 for element in x], {"x": pf.UInt(8).vector(1 << 17)}, marks=pytest.mark.full
        ),
        (lambda x, y: x // y, {"x": pf.UInt(1024), "y": pf.UInt(1024)}),
        (lambda x: x + 1, {"x": pf.Int(0, 3).vector(1 << 24)}),
    ],
    ids=["diagonals", "constants", "matrix", "elements", "division", "addends"],
)
def test_a_program_that_takes_too_much_while_it_is_traced_is_refused_where_it_is_written(
    function: Any, inputs: dict[str, Any]
) -> None:
    with limited("64M"), pytest.raises(pf.errors.ProgramError, match=Path(__file__).name):
        pf.program("large", **inputs)(function)


def test_a_program_with_more_slots_than_any_ring_has_is_refused_before_its_diagonals_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SlotTracer, "native", lambda *_: pytest.fail("a vector was made"))
    with pytest.raises(pf.errors.ProgramError):
        pf.program(a=pf.Real.matrix(192, 784), v=pf.Real.vector(784))(lambda a, v: (a * v).sum(axis=1))


@pf.program("doubled", x=pf.UInt(8).vector(8))
def doubled(x: Any) -> Any:
    return x + x


@pf.program("squared", x=pf.Real.vector(8))
def squared(x: Any) -> Any:
    return x * x


@pytest.mark.parametrize("program", [doubled, squared], ids=["tfhe", "ckks"])
def test_a_run_a_plan_its_cost_and_a_schedule_stay_within_the_memory_that_is_given(program: Any) -> None:
    needed = program.plan().memory_bytes
    inputs = {"x": [0] * 8}
    with pytest.raises(pf.errors.RunError):
        program.run(inputs, memory=needed - 1)
    with pytest.raises(pf.errors.RunError):
        program.plan(memory=MiB)
    with pytest.raises(pf.errors.RunError):
        program.cost(memory="1M")
    with pytest.raises(pf.errors.RunError):
        program.simulate("strix" if program is doubled else "f1", memory="1M")
    assert program.run(inputs, memory=2 * needed).correct


def test_existing_keys_do_not_prevent_a_run() -> None:
    done = squared.run({"x": [0] * 8})
    assert squared.run({"x": [0] * 8}, keys=done.keys).correct
    with pytest.raises(pf.errors.RunError):
        squared.run({"x": [0] * 8}, keys=done.keys, memory=MiB)


@pytest.mark.parametrize("text", ["4 G", "4GiB", "4g", 4 << 30])
def test_a_size_is_a_number_or_a_text_with_a_unit(text: str | int) -> None:
    assert size(text) == 4 << 30


@pytest.mark.parametrize("wrong", ["much", "", "-1G", 0, -5, 1.5, True])
def test_invalid_sizes_are_rejected(wrong: object) -> None:
    with pytest.raises(pf.errors.InputError):
        doubled.plan(memory=wrong)


MOST = 1 << 24
"""Ciphertexts that `--batch` takes."""


@pytest.mark.parametrize(
    ("machine", "program", "parameters"),
    [
        ("fpt", "pbs", "polyfabric-1-p128-t32-narrow"),
        ("morphling", "keyswitch", "polyfabric-1-p128-t32-narrow"),
        ("strix", "pbs+ks", "polyfabric-5-p64-t32"),
        ("f1", "ntt", "12"),
        ("osiris", "permute", "12"),
    ],
)
def test_more_ciphertexts_than_a_mapper_has_memory_for_are_refused(
    polyfabric: Callable[..., Finished], machine: str, program: str, parameters: str
) -> None:
    arguments = [program, "--params", parameters, "--batch", str(MOST), "--memory", "2G"]
    for command in ("simulate", "compare"):
        found = polyfabric(command, *arguments, "--on", machine)
        assert found.status != 0
        assert "2.0 GiB" in found.err


def test_a_command_that_runs_stays_within_the_memory_that_is_given(polyfabric: Callable[..., Finished]) -> None:
    found = polyfabric("run", "adder", "--batch", "4096", "--memory", "64M")
    assert found.status != 0
    assert "64.0 MiB" in found.err


@pytest.mark.parametrize("machine", ["fpt", "strix", "morphling"])
def test_the_estimate_of_a_schedule_grows_with_the_ciphertexts(machine: str) -> None:
    from polyfabric.apps.programs import timed

    target = load(machine)
    small, large = (
        target.native.mapping_bytes(timed("keyswitch", "polyfabric-1-p128-t32-narrow", batch, target).kernel)
        for batch in (1000, 101_000)
    )
    assert 100_000 * 1000 < large - small < 100_000 * 4000


@pytest.mark.parametrize(
    "function",
    [
        lambda x: reduce(lambda total, element: total + element, x),
        lambda x: x.sum(),
        lambda x: x.max(),
        lambda x: pf.concat(*list(x)),
        lambda x: reduce(lambda all_, element: pf.concat(all_, element), list(x)),
        lambda x: x[::-1] * 3 + 1,
    ],
    ids=["loop", "sum", "max", "concat", "concat in a loop", "vector"],
)
@pytest.mark.parametrize("kind", [pf.Int(0, 3), pf.UInt(8)], ids=["int", "uint"])
def test_the_nodes_of_a_program_grow_as_its_elements(function: Any, kind: Any) -> None:
    nodes = [pf.program(x=kind.vector(count))(function).text().count("\n") for count in (250, 1000)]
    assert nodes[1] <= 4.2 * nodes[0] + 100


@pytest.mark.parametrize(("rows", "columns"), [(16, 64), (64, 64), (128, 32)])
def test_vectors_that_sums_over_an_axis_hand_on_are_as_many_as_the_rows(
    monkeypatch: pytest.MonkeyPatch, rows: int, columns: int
) -> None:
    made, native = [], SlotTracer.native
    monkeypatch.setattr(SlotTracer, "native", lambda tracer, numbers: made.append(1) or native(tracer, numbers))
    inputs = {"a": pf.Real.matrix(rows, columns), "v": pf.Real.vector(columns)}
    pf.program(**inputs)(lambda a, v: (a * v).sum(axis=1))
    assert len(made) <= rows + 4
