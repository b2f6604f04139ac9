"""A program's outputs have the function's names and order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from rejects import rejects

KINDS = {"wide": pf.UInt(2), "few bits": pf.Int(0, 3), "residues": pf.Mod(2)}


@pytest.mark.parametrize("kind", KINDS)
def test_outputs_are_in_the_order_of_the_function_wherever_they_are_read(kind: str, tmp_path: Path) -> None:
    """Twelve of a tuple, whose names sort otherwise: result10 stands before result2 in a dictionary's order of names."""
    program = pf.program(x=KINDS[kind])(lambda x: (x, *(x + 1 for _ in range(11))))
    names = [f"result{place}" for place in range(12)]
    assert list(program.outputs) == names
    assert program.clear(x=0) == (0, *[1] * 11)
    done = program.run(x=0)
    assert done.value == program.clear(x=0)
    assert list(done.outputs) == list(done.expected) == names
    client = pf.Client(pf.Specification.from_bytes(pf.Specification.of(program).to_bytes()))
    answer = pf.Server(program, client.evaluation_key).execute(client.encrypt(x=0))
    assert client.decrypt(answer) == done.value
    program.in_folder(tmp_path).make_keys()
    program.in_folder(tmp_path).encrypt(x=0)
    program.in_folder(tmp_path).execute()
    assert program.in_folder(tmp_path).decrypt().value == done.value


def test_a_dictionary_keeps_its_order() -> None:
    program = pf.program(x=pf.UInt(8).vector(2))(lambda x: {"won": x[0], "paid": x[1], "also": pf.sum(x)})
    assert list(program.clear(x=[1, 2]).items()) == [("won", 1), ("paid", 2), ("also", 3)]


def test_a_list_in_a_dictionary_or_a_tuple_is_a_vector() -> None:
    def several(x: Any) -> Any:
        return {"ends": [x[0], x[2]], "one": x[1], "sums": (x[0] + x[1], x[1] + x[2])}

    for kind in (pf.UInt(8), pf.Int(0, 7), pf.Mod(65537), pf.Real.bounded(7)):
        program = pf.program(x=kind.vector(3))(several)
        for found in (program.clear(x=[1, 2, 5]), program.run(x=[1, 2, 5]).value):
            for name, meant in {"ends": [1, 5], "one": 2, "sums": [3, 7]}.items():
                assert found[name] == pytest.approx(meant, abs=1e-4)
    nested = pf.program(x=pf.UInt(8).vector(3))(lambda x: (x[0], [x[1], x[2]]))
    assert nested.clear(x=[1, 2, 5]) == (1, [2, 5])


def test_a_list_of_vectors_in_slots_is_a_matrix() -> None:
    program = pf.program(x=pf.Real.vector(3))(lambda x: {"rows": [x, x * 0.5], "stats": [x.mean(), x.var()]})
    values = np.array([0.5, -0.25, 1.0])
    for found in (program.clear(x=values), program.run(x=values).value):
        np.testing.assert_allclose(found["rows"], [values, values / 2], atol=1e-6)
        np.testing.assert_allclose(found["stats"], [values.mean(), values.var()], atol=1e-6)
    with rejects(pf.errors.ProgramError, "'rows'", "real x 3"):
        pf.program(x=pf.Real.vector(3))(lambda x: {"rows": [x, x.mean()]})
