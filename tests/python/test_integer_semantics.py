"""Do random programs give what Python's integers give: in the clear, digit by digit, and on ciphertexts?"""

from __future__ import annotations

import polyfabric as pf
import pytest
from polyfabric.language.tracer import InDigits
from random_programs import Writer


def checked(seed: int) -> bool:
    """Compares the program of a seed in the clear, in both forms that its values may have; false if the language refuses it."""
    written = Writer(seed).write()
    told = f"seed {seed}\n{written.source}{written.inputs}\nexpected {written.expected}"
    refused = 0
    for form in ("free", "split"):
        try:
            program = written.program(form)
        except pf.errors.ProgramError as error:
            print(f"{error}\n{told}\n")
            refused += 1
            continue
        except InDigits:
            # A value of more than 16 values meets a width, which only digits do.
            assert form == "free", told
            continue
        except Exception as error:
            raise AssertionError(told) from error
        assert program.reference is not None
        flat = program.flatten(written.inputs)
        meant, lowered = (
            program.shaped(values) for values in (program.reference.evaluate(flat)[0], program.native.evaluate(flat))
        )
        assert meant == written.expected, f"the reference gives {meant}; {told}"
        assert lowered == meant, f"the lowered program gives {lowered} ({form}); {told}"
    return not refused


def decrypted(seeds: range) -> None:
    """Executes the programs of seeds on ciphertexts."""
    keys: dict[str, pf.Keys] = {}
    for seed in seeds:
        written = Writer(seed, cheap=True).write()
        told = f"seed {seed}\n{written.source}{written.inputs}\nexpected {written.expected}"
        try:
            program = written.program()
            name = program.plan().parameters.name
        except (pf.errors.ProgramError, pf.errors.NoiseError):
            continue
        result = program.run(written.inputs, keys=keys.get(name))
        keys[name] = result.keys
        assert result.outputs == written.expected, f"decrypted {result.outputs}; {told}"
        assert result.correct, told


def test_random_programs_are_pythons() -> None:
    refused = [seed for seed in range(300) if not checked(seed)]
    assert len(refused) < 15, refused


@pytest.mark.full
@pytest.mark.parametrize("part", range(10))
def test_many_random_programs_are_pythons(part: int) -> None:
    refused = [seed for seed in range(1000 + 1000 * part, 2000 + 1000 * part) if not checked(seed)]
    assert len(refused) < 50, refused


def test_few_random_programs_decrypt_right() -> None:
    decrypted(range(3))


@pytest.mark.full
@pytest.mark.parametrize("part", range(10))
def test_random_programs_decrypt_right(part: int) -> None:
    decrypted(range(100 + 20 * part, 120 + 20 * part))


def test_rotation_by_an_encrypted_amount_beyond_64_bits() -> None:
    @pf.program(x=pf.UInt(6), n=pf.UInt(70))
    def turned(x, n):
        return x.rotate_left(n), x.rotate_right(n)

    by = (1 << 66) % 6
    left, right = (0b100110 << by | 0b100110 >> (6 - by)) & 63, (0b100110 >> by | 0b100110 << (6 - by)) & 63
    assert turned.clear(x=0b100110, n=1 << 66) == (left, right)


FAR = pf.Int(10**9, 10**9 + 5)
"""A few values that take 30 bits."""


@pytest.mark.parametrize(
    ("kind", "function", "result", "given", "expected"),
    [
        (pf.UInt(32), lambda x: pf.lookup(x.assume(FAR), lambda v: v % 7), (0, 6), FAR.lo + 2, (FAR.lo + 2) % 7),
        (FAR, lambda x: pf.lookup(x, lambda v: v % 7, result=pf.UInt(4)), (0, 15), FAR.hi, FAR.hi % 7),
        (pf.Int(0, 7), lambda x: pf.lookup(x * 2**35 >> 33, lambda v: v % 9), (0, 8), 5, 2),
        (pf.Int(0, 7), lambda x: x * 2**35 > 5, (0, 1), 5, 1),
        (pf.Int(2**31 - 8, 2**31 - 1), lambda x: x < 2**31 - 3, (0, 1), 2**31 - 3, 0),
        (pf.SInt(7), lambda x: x << 10**20, (-64, 63), 5, 0),
        (pf.SInt(7), lambda x: x >> 10**20, (-64, 63), -5, -1),
        (pf.UInt(8), lambda x: x.rotate_left(10**20 + 1), (0, 255), 129, 3),
        (pf.Int(0, 7), lambda x: x * 2**33, (0, 7 << 33), 5, 5 << 33),
        (pf.Int(0, 7), lambda x: pf.dot([2**33, 1], pf.concat(x, x)), (0, (7 << 33) + 7), 5, (5 << 33) + 5),
    ],
)
def test_ends_of_tables_shifts_and_factors(kind, function, result, given, expected) -> None:
    """Far from 0, beyond a machine word or the steps of the torus."""
    program = pf.program(x=kind)(function)
    assert program.outputs["result"].bounds == result
    assert program.clear(x=given) == expected


@pytest.mark.parametrize(
    "function",
    [lambda x: pf.lookup(x[0].cast(pf.UInt(32)), [1, 2]), lambda x: pf.lookup(x, [abs, lambda v: 0], choice=[0, 1])],
)
def test_tables_of_another_size_are_refused(function) -> None:
    """An index of too many values, and choices for other elements."""
    with pytest.raises(pf.errors.ProgramError):
        pf.program(x=pf.UInt(8).vector(3))(function)


def test_the_width_of_a_result_does_not_depend_on_the_lowering() -> None:
    """The ranges of digits have values between the steps of an input, for which a table may have larger entries or none."""
    kind = pf.Int(0, 20, step=10)
    entries = {0: 1, 10: 2, 20: 3}
    for table in (entries.__getitem__, lambda v: entries.get(v, 1000)):
        program = pf.program(x=kind, y=pf.UInt(8))(lambda x, y, table=table: (pf.lookup(x, table) + y, x + y, x * y))
        assert {kind.bits for kind in program.outputs.values()} == {8}
        assert program.clear(x=0, y=255) == (0, 255, 0)


@pytest.mark.parametrize("kind", [pf.Int(0, 7), pf.Int(-3, 4), pf.UInt(8), pf.Bool], ids=repr)
@pytest.mark.parametrize("number", [-(2**70), -(2**45), -4, 0, 5, 300, 2**62, 2**70])
def test_extremes_with_public_numbers_of_any_size(kind: pf.Value, number: int) -> None:
    program = pf.program(x=kind)(lambda x: (pf.min(x, number), pf.max(x, number)))
    for x in {kind.lo, kind.hi, max(kind.lo, min(kind.hi, number))}:
        assert program.clear(x=x) == (min(x, number), max(x, number))
