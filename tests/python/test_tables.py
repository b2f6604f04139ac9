"""Tables with an encrypted index of 8, 12 and 16 bits give their entries on ciphertexts."""

from __future__ import annotations

import polyfabric as pf
import pytest


def mixed(index: int) -> int:
    """An entry that neighbouring indices do not have."""
    return index * 40_503 % 65_521 >> 8


@pytest.mark.parametrize("bits", [8, *(pytest.param(bits, marks=pytest.mark.full) for bits in (12, 16))])
def test_a_table_with_an_encrypted_index_decrypts_to_its_entries(bits: int) -> None:
    program = pf.program("table", i=pf.UInt(bits))(lambda i: pf.lookup(i, mixed, result=pf.UInt(8)))
    keys = None
    for index in (0x5A37 % (1 << bits), *((255,) if bits == 8 else ())):
        result = program.run({"i": index}, keys=keys)
        keys = result.keys
        assert result.value == mixed(index)
        assert result.noise["log2_failure"] <= -128


@pytest.mark.parametrize("bits", [8, *(pytest.param(bits, marks=pytest.mark.full) for bits in (12, 16))])
def test_a_function_of_an_encrypted_integer_by_a_table_and_by_operators_is_one(bits: int) -> None:
    """Both on ciphertexts, of signed entries as wide as the index."""
    kind = pf.SInt(bits)

    def both(i: pf.Value) -> dict[str, pf.Value]:
        return {"table": pf.lookup(i, lambda v: -(v // 3), result=kind), "operators": -(i.cast(pf.SInt(bits + 1)) // 3)}

    index = 0x9C71 % (1 << bits)
    result = pf.program("both", i=pf.UInt(bits))(both).run({"i": index})
    assert result.outputs == {"table": -(index // 3), "operators": -(index // 3)}
