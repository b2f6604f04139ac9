"""Everything that a machine for CKKS and BGV times is also executed on ciphertexts, with numpy's results."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.accelerators.machine import Machine, load
from polyfabric.apps.bgv_bootstrapping import bgv_bootstrapping
from polyfabric.apps.ckks_bootstrapping import ckks_bootstrapping
from polyfabric.language.types import SlotType
from polyfabric.run.execution import plan, run_plan

ROOT = Path(__file__).resolve().parents[2]
OWN = str(ROOT / "examples" / "own-rns-machine.toml")
MACHINES = ("f1", "osiris", OWN)
MODULUS = 65537
DRAWN = np.random.default_rng(3)


@cache
def parameters(scheme: str) -> pf.SlotParameters | str:
    """A small ring with primes that every machine's words hold."""
    if scheme == "bgv":
        return "bgv-toy-1024-listing1"
    chain = {"q": [{"pair_bits": 62}, {"pair_bits": 56, "count": 3}], "p": [{"bits": 31, "count": 3}]}
    common = {"secret": "uniform-ternary", "ring_degree": 1024, "noise_std": 3.2, "scale_log2": 56}
    gadget = {"hybrid": {"digit_limbs": 2}}
    return pf.SlotParameters.of("ckks", name="small-32", primes="1-mod-2^16", gadget=gadget, **common, **chain)


@dataclass(frozen=True)
class Case:
    """A program, values for its inputs, and its outputs as numpy gives them."""

    program: pf.Program
    values: dict[str, Any]
    expected: list[Any]


CASES: dict[str, Case] = {}


def case(encrypted: Callable[..., Any], expected: Callable[..., Any], **values: np.ndarray) -> None:
    """Adds the program `encrypted`, known by its name, of vectors and matrices of these values; `expected` computes its outputs in the clear.
    A truth value is a selector."""
    integers = any(np.issubdtype(value.dtype, np.integer) for value in values.values())

    def kind(value: np.ndarray) -> SlotType:
        if value.dtype == bool:
            return (pf.Mod(MODULUS) if integers else pf.Real).selector
        if np.issubdtype(value.dtype, np.integer):
            own = pf.Mod(MODULUS)
        else:
            own = pf.Complex if np.iscomplexobj(value) else pf.Real
        return own.vector(len(value)) if value.ndim == 1 else own.matrix(value.shape)

    program = pf.program(**{name: kind(value) for name, value in values.items()})(encrypted)
    found = expected(**values)
    CASES[program.name] = Case(program, values, list(found) if isinstance(found, tuple) else [found])


def reals(*shape: int) -> np.ndarray:
    return DRAWN.uniform(-1, 1, shape)


def residues(*shape: int) -> np.ndarray:
    return DRAWN.integers(0, MODULUS, shape)


X, Y, MATRIX = reals(8), reals(8), reals(8, 8)
V, W, WHOLE = residues(8), residues(8), residues(8, 8)


# -- CKKS ---------------------------------------------------------------------------------------------------------


def ckks_sums(x, y):
    return x + y, x - y, -x, x + 1.5, x - Y, X - y


case(ckks_sums, ckks_sums, x=X, y=Y)


def ckks_products(x, y):
    return x * y, x * x, x * y + y * y - x


case(ckks_products, ckks_products, x=X, y=Y)


def ckks_plain_products(x):
    return x * 0.5, x * X, 3 * x


case(ckks_plain_products, ckks_plain_products, x=X)


def ckks_scaled(x):
    return x.times(Y, bits=30)


case(ckks_scaled, lambda x: x * Y, x=X)


def ckks_rotated(x):
    return x.rotate(1), x.rotate(-3)


case(ckks_rotated, lambda x: (np.roll(x, -1), np.roll(x, 3)), x=X)


def ckks_conjugated(x):
    return x.conjugate(), x.real_part()


case(ckks_conjugated, lambda x: (x.conj(), x.real), x=(X + 1j * Y) / 2)


def ckks_levels(x, y):
    return (x * 0.5).rescale(), x.at_level(0), (x * y).relinearise(), (x * y).at_level(1) * y


case(ckks_levels, lambda x, y: (x * 0.5, x, x * y, x * y * y), x=X, y=Y)


def ckks_polynomials(x):
    return pf.polynomial(x, [0.5, 0.2, 0.1]), pf.chebyshev(x, lambda u: u**3 - u, 3)


case(ckks_polynomials, lambda x: (0.5 + 0.2 * x + 0.1 * x**2, x**3 - x), x=X)


def ckks_matrix(x):
    return MATRIX @ x


case(ckks_matrix, ckks_matrix, x=X)


def ckks_reduced(x, y):
    return x.sum(), x @ y, x[1]


case(ckks_reduced, lambda x, y: (x.sum(), x @ y, x[1]), x=X, y=Y)


def ckks_parts(x):
    return x[2:5], x[::-1], x[[3, 0]], pf.concat(x[4:], x[:4])


case(ckks_parts, lambda x: (x[2:5], x[::-1], x[[3, 0]], np.roll(x, 4)), x=X)


def ckks_matrices(a, b):
    return a @ b, a.T, a + b


case(ckks_matrices, ckks_matrices, a=reals(2, 2), b=reals(2, 2))


def ckks_untouched(x):
    return {"one": x, "other": x}


case(ckks_untouched, lambda x: (x, x), x=X)


# -- BGV ----------------------------------------------------------------------------------------------------------


def bgv_sums(x, y):
    return x + y, x - y, -x, x + 3, x + V


case(bgv_sums, bgv_sums, x=V, y=W)


def bgv_products(x, y):
    return x * y, x * x, x * 3, x * V


case(bgv_products, bgv_products, x=V, y=W)


def bgv_rotated(x):
    return x.rotate(1), x.swap_rows()


case(bgv_rotated, lambda x: (np.roll(x.reshape(2, 4), -1, axis=1).ravel(), np.roll(x, 4)), x=V)


def bgv_polynomial(x):
    return pf.polynomial(x, [3, 2, 1])


case(bgv_polynomial, lambda x: 3 + 2 * x + x**2, x=V)


def bgv_levels(x, y):
    return (x + y).at_level(1), (x * y).relinearise()


case(bgv_levels, lambda x, y: (x + y, x * y), x=V, y=W)


def bgv_matrix(x):
    return WHOLE @ x


case(bgv_matrix, bgv_matrix, x=V)


def bgv_parts(x):
    return x[2:5], x[::-1], x[[3, 0]]


case(bgv_parts, bgv_parts, x=V)


def ckks_selected(b, x, y):
    return pf.where(b, x, y), b * x, pf.where(~b, X, x), pf.where(b, X, Y)


def selected(b, x, y, one, other):
    return np.where(b, x, y), b * x, np.where(b, x, one), np.where(b, one, other)


case(ckks_selected, lambda b, x, y: selected(b, x, y, X, Y), b=np.array(True), x=X, y=Y)


def bgv_selected(b, x, y):
    return pf.where(b, x, y), b * x, pf.where(~b, V, x), pf.where(b, V, W)


case(bgv_selected, lambda b, x, y: selected(b, x, y, V, W), b=np.array(True), x=V, y=W)


# -- carried out --------------------------------------------------------------------------------------------------


def planned(name: str, on: Machine) -> Any:
    program = CASES[name].program
    return plan(program, parameters(program.scheme), machine=on, security=0)


def expect_replayed(name: str, on: Machine) -> None:
    """Times the program, carries out the schedule that was timed, and compares what it decrypts to with numpy."""
    case = CASES[name]
    own = planned(name, on)
    timed = on.simulate(own)
    done = run_plan(own, case.values)
    assert done.simulation["cycles"] == timed["cycles"]
    for found, expected in zip(done.outputs.values(), case.expected, strict=True):
        if case.program.scheme == "bgv":
            np.testing.assert_array_equal(np.array(found) % MODULUS, expected % MODULUS)
        else:
            np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("on", MACHINES, ids=lambda name: Path(name).stem)
@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_program_is_replayed(name, on):
    expect_replayed(name, load(on))


@pytest.mark.parametrize(
    ("program", "number", "tolerance", "given"),
    [
        (bgv_bootstrapping(), 1, 0, {"parameters": "bgv-toy-1024-bootstrap", "max_failure": -40}),
        (ckks_bootstrapping(), 0.6 - 0.8j, 2**-12, {"parameters": "toy-11-boot-f1"}),
    ],
    ids=["bgv", "ckks"],
)
def test_bootstrapping_is_replayed_by_a_custom_machine(program, number, tolerance, given):
    done = program.run({"exhausted": number}, on=OWN, **given)
    assert abs(done.outputs["refreshed"] - number) <= tolerance


@pytest.mark.full
def test_bootstrapping_is_replayed_by_osiris():
    name = "toy-12-boot-osiris"
    numbers = (DRAWN.uniform(-0.7, 0.7, (2, 2048)) * [[1], [1j]]).sum(axis=0)
    done = ckks_bootstrapping(name).run({"exhausted": numbers}, on="osiris", parameters=name, security=0)
    np.testing.assert_allclose(done.outputs["refreshed"], numbers, atol=2**-12)


@pytest.mark.full
@pytest.mark.parametrize("on", ["f1", "osiris"])
def test_by_every_reading_of_a_paper(on):
    readings = load(on).to_dict()["readings"]
    for reading in [f"{fact}={option}" for fact, open_fact in readings.items() for option in open_fact["options"]]:
        for name in CASES:
            expect_replayed(name, load(on, [reading]))


def test_the_programs_have_every_node_of_the_language():
    page = (ROOT / "docs" / "rns-program.md").read_text(encoding="utf-8")
    rows = page[page.index("| node | meaning |") : page.index("The text prints and parses")].strip().splitlines()
    nodes = {text.split()[0] for row in rows for text in re.findall(r"`([^`]+)`", row.split("|")[1])}
    written = {node for case in CASES.values() for node in re.findall(r"= (\w+)", case.program.text())}
    # Bootstraps and lookups have separate tests.
    assert nodes - written == {"bootstrap", "lookup"}


@pytest.mark.parametrize("on", MACHINES, ids=lambda name: Path(name).stem)
def test_a_report_marks_programs_that_are_timed_but_not_run(on):
    rotated = CASES["ckks_rotated"]
    # The key switch of this set has noise beyond the scale.
    coarse = {"parameters": "toy-10-f1", "security": 0}
    assert "would be only noise" in rotated.program.simulate(on, **coarse)["not_run"]
    with pytest.raises(pf.errors.NoiseError):
        rotated.program.run(rotated.values, on=on, **coarse)
    assert "not_run" not in rotated.program.simulate(on, parameters=parameters("ckks"), security=0).to_dict()
