"""Is what a session prints of results, reports, keys and ciphertexts short, and does it say what they are?"""

from __future__ import annotations

import re

import polyfabric as pf
import pytest


@pf.program(x=pf.Mod(65537).vector(300))
def squares(x: pf.SlotValue) -> dict[str, pf.SlotValue]:
    """Of three hundred numbers."""
    return {"sum": x.sum(), "squares": x * x}


@pf.program(x=pf.Int(0, 3))
def plus(x: pf.Value) -> pf.Value:
    """One more."""
    return x + 1


def test_a_result_shows_its_outputs_and_not_its_tables() -> None:
    done = squares.run({"x": [1] * 300})
    assert str(done) == repr(done)
    assert len(repr(done)) < 500
    assert re.fullmatch(
        r"<squares on cpu with bgv-2p13-\S+: sum = 300, squares = \[1, 1, .*; correct; keys .* m?s, encrypt .*, execute .*, decrypt .*>",
        repr(done),
    )
    assert re.match(r"<plus on cpu with \S+: result = 3; correct; ", repr(plus.run({"x": 2})))


@pytest.mark.parametrize("program", [squares, plus], ids=["slots", "elements"])
def test_a_report_prints_as_its_table(program: pf.Program | pf.SlotProgram) -> None:
    report = program.cost()
    assert str(report) == report.table().rstrip()
    assert len(repr(report)) < 200
    assert f" report of {program.name}: print it, " in repr(report)


def test_keys_and_specifications_say_of_what_they_are() -> None:
    specification = pf.Specification.of(plus)
    client = pf.Client(specification)
    assert re.fullmatch(r"<specification of plus, with TFHE and polyfabric-\S+>", repr(specification))
    assert repr(client) == "<client of plus, with TFHE>"
    assert repr(client.evaluation_key) == f"<evaluation key: {len(client.evaluation_key.to_bytes())} bytes>"
    shared = pf.Client(pf.Specification.of(squares, public=True))
    assert repr(shared.public_key) == f"<public key: {len(shared.public_key.to_bytes())} bytes>"
    assert re.fullmatch(r"<keys of TFHE, polyfabric-\S+>", repr(plus.run({"x": 2}).keys))
