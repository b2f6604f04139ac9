"""Random programs of CKKS and BGV equal numpy: rewritten, by their reference, and on ciphertexts.

numpy computes here on plain arrays, and of residues on Python's integers. A program that the language refuses is drawn again, as long as few are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from random_slots import Drawn, T, drawn

KINDS = ("real", "complex", "residue", "bits")


def compared(program: Drawn, found: dict[str, Any], clear: list[Any], by: str, atol: float) -> None:
    for name, values in found.items():
        expected = clear[int(name[1:])]
        assert np.shape(values) == expected.shape, (
            f"{name} by {by}: {np.shape(values)}, not {expected.shape}\n{program}"
        )
        if program.modulus is not None:
            same = np.array_equal(np.asarray(values, dtype=object) % program.modulus, expected % program.modulus)
        else:
            same = np.allclose(values, expected, rtol=0, atol=atol)
        assert same, f"{name} by {by}: {values}, not {expected % (program.modulus or np.inf)}\n{program}"


def in_the_clear(program: Drawn) -> bool:
    """Compares both evaluations with numpy; false if the language refuses the program."""
    try:
        traced = program.traced()
        flat = traced.flatten(program.inputs)
        found = {"the rewritten program": traced.native.evaluate(flat), "its reference": traced.reference_values(flat)}
    except pf.errors.ProgramError:
        return False
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}\n{program}") from error
    clear = program.clear(traced.slots)
    atol = 1e-10 * max(1.0, *(float(np.abs(value).max()) for value in clear)) if program.modulus is None else 0
    for by, outputs in found.items():
        compared(program, traced.shaped(outputs), clear, by, atol)
    return True


def all_in_the_clear(kind: str, seeds: range) -> None:
    refused = [seed for seed in seeds if not in_the_clear(drawn(seed, kind))]
    assert len(refused) < len(seeds) / 5, f"refused: {refused}"


@pytest.mark.parametrize("kind", KINDS)
def test_random_programs_in_the_clear(kind):
    all_in_the_clear(kind, range(75))


SETS = {"real": "toy-10", "complex": "toy-10", "residue": "bgv-toy-1024", "bits": None}
"""Small ones, with slots enough; by which a few of the programs are too deep."""


@pytest.mark.parametrize("kind", KINDS)
def test_random_programs_on_ciphertexts(kind):
    right = 0
    for seed in range(12):
        program = replace(drawn(seed, kind, count=3, modulus=T if kind == "residue" else None), slots=None)
        try:
            traced = program.traced()
            done = traced.run(program.inputs, parameters=SETS[kind], security=0)
        except (pf.errors.ProgramError, pf.errors.ParameterError, pf.errors.NoiseError):
            continue
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}\n{program}") from error
        clear = program.clear(traced.slots)
        for name, values in done.outputs.items():
            compared(program, {name: values}, clear, "ciphertexts", done.bound[name])
        assert done.correct, f"{done!r}\n{program}"
        right += 1
    assert right >= 8


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_many_random_programs_in_the_clear(kind):
    all_in_the_clear(kind, range(1000, 3000))
