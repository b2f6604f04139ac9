"""Do ranges and widths mix by the documented rules: exact without a width, modulo 2 to the common width with one?"""

from __future__ import annotations

import itertools
import operator
import random
from collections.abc import Callable

import polyfabric as pf
import pytest
from polyfabric.language.types import Type

RANGES = [pf.Int(0, 7), pf.Int(-4, 3), pf.Int(1, 3), pf.Int(0, 300), pf.Bool]
WIDTHS = [pf.UInt(1), pf.UInt(3), pf.UInt(8), pf.SInt(4), pf.SInt(9)]
PAIRS = [(a, b) for a, b in itertools.product(RANGES + WIDTHS, repeat=2) if a != b or a in RANGES]


def some(kind: Type, count: int = 3) -> list[int]:
    """The ends of a type's range, and numbers within it."""
    lo, hi = kind.bounds
    draw = random.Random(hi)
    return [lo, hi, max(lo, min(hi, 0)), *(draw.randint(lo, hi) for _ in range(count))]


def common(*kinds: Type) -> Type | None:
    """The narrowest width that holds the values of all, if one of them has a width."""
    if not any(kind.wraps for kind in kinds):
        return None
    lo, hi = min(kind.lo for kind in kinds), max(kind.hi for kind in kinds)
    of = pf.SInt if lo < 0 else pf.UInt
    return next(of(bits) for bits in range(2, 99) if of(bits).lo <= lo and hi <= of(bits).hi)


def fitted(kind: Type | None, value: int) -> int:
    return value if kind is None else (value - kind.lo) % (1 << kind.bits) + kind.lo


OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "x + y": operator.add,
    "x - y": operator.sub,
    "x * y": operator.mul,
    "x & y": operator.and_,
    "x | y": operator.or_,
    "x ^ y": operator.xor,
    "pf.max(x, y)": max,
    "pf.min(x, y)": min,
    "pf.where(c, x, y)": lambda x, y: x,
    "pf.concat(x, y)[0]": lambda x, y: x,
    "x // y": lambda x, y: x // y if y else 0,
    "x % y": lambda x, y: x % y if y else 0,
}
COMPARED = {
    f"x {sign} y": rule
    for sign, rule in {"<": operator.lt, "<=": operator.le, "==": operator.eq, ">": operator.gt}.items()
}


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=repr)
def test_operations_of_two_numbers(a: Type, b: Type) -> None:
    every = {**OPERATIONS, **COMPARED}
    program = pf.program(x=a, y=b, c=pf.UInt(1))(
        lambda x, y, c: {f"r{at}": eval(code, {"pf": pf, "x": x, "y": y, "c": c}) for at, code in enumerate(every)}
    )
    truths = a.kind == b.kind == "boolean"
    width = common(a, b)
    for at, code in enumerate(OPERATIONS):
        kind = program.outputs[f"r{at}"]
        logic = truths and code not in ("x + y", "x - y", "x * y", "x // y", "x % y", "pf.max(x, y)", "pf.min(x, y)")
        assert kind.one == width if width else kind.kind == "boolean" if logic else kind.exact, (code, kind)
    for x, y in zip(some(a), reversed(some(b)), strict=True):
        found = program.clear(x=x, y=y, c=1)
        for (code, rule), result in zip(every.items(), found.values(), strict=True):
            if y or code not in ("x // y", "x % y"):
                assert result == fitted(None if code in COMPARED else width, rule(x, y)), (code, x, y)


@pytest.mark.parametrize("a", RANGES + WIDTHS, ids=repr)
@pytest.mark.parametrize("amount", [pf.Int(0, 5), pf.Int(1, 2), pf.UInt(2), pf.Bool], ids=repr)
def test_shifts_by_encrypted_amounts(a: Type, amount: Type) -> None:
    program = pf.program(x=a, n=amount)(lambda x, n: (x << n, x >> n, 3 << n, 100 >> n, 2**n, (-3) ** n))
    for x, n in itertools.product(some(a, 1), some(amount, 1)):
        left = fitted(a if a.wraps else None, x << n)
        assert program.clear(x=x, n=n) == (left, x >> n, 3 << n, 100 >> n, 2**n, (-3) ** n)


@pytest.mark.parametrize(
    "index", [pf.UInt(3), pf.SInt(4), pf.Int(0, 4), pf.Int(-2, 9), pf.Int(0, 40), pf.Bool], ids=repr
)
@pytest.mark.parametrize("kind", [pf.UInt(8), pf.SInt(5), pf.Int(0, 7), pf.Int(-30, 99), pf.Bool], ids=repr)
def test_elements_and_entries_by_an_encrypted_index(index: Type, kind: Type) -> None:
    values, entries = some(kind, 2), [7, -8, 300]
    entries = [*entries, *[0] * 38][: index.hi + 1]
    table = entries if index.lo == 0 else lambda n: entries[n] if 0 <= n < len(entries) else 0
    program = pf.program(v=kind.vector(5), i=index)(
        lambda v, i: (
            v[i],
            pf.lookup(i, table),
            pf.lookup(i, table, result=pf.SInt(12)),
            pf.lookup(i, lambda n: n * n),
        )
    )
    for at in {max(index.lo, -1), 0, 1, min(index.hi, 5), index.hi}:
        element = values[at] if 0 <= at < len(values) else 0
        entry = entries[at] if 0 <= at < len(entries) else 0
        assert program.clear(v=values, i=at) == (element, entry, entry, at * at)


def test_types_follow_from_ranges_and_widths() -> None:
    @pf.program(x=pf.UInt(8), y=pf.Int(0, 7), z=pf.Int(-4, 3), w=pf.SInt(16))
    def mixed(x, y, z, w):
        return {
            "fits": x + y,
            "signed": x + z,
            "widths": x * w,
            "number": x + 300,
            "range": y + z + 5,
            "promised": x.assume(pf.Int(0, 9)) + y,
            "cast": (y * 100).cast(pf.UInt(8)),
            "negative": x + -1,
        }

    assert [repr(kind) for kind in mixed.outputs.values()] == [
        *("pf.UInt(8)", "pf.SInt(9)", "pf.SInt(16)", "pf.UInt(9)", "pf.Int(1, 15)", "pf.Int(0, 16)", "pf.UInt(8)"),
        "pf.SInt(9)",
    ]
    found = mixed.clear(x=9, y=7, z=-4, w=-300)
    assert list(found.values()) == [16, 5, -2700, 309, 8, 16, 700 % 256, 8]
    with pytest.raises(pf.errors.InputError, match=r"integer\[0\.\.9\]"):
        mixed.clear(x=10, y=0, z=0, w=0)


def test_a_range_of_any_size_is_an_input_and_an_output() -> None:
    kind = pf.Int(-(10**30), 10**30)
    program = pf.program(x=kind, y=pf.Int(0, 60, step=20))(lambda x, y: (x * 3, x > y, y // 20 + x))
    assert program.clear(x=-(10**30), y=60) == (-3 * 10**30, 0, 3 - 10**30)
    sums = pf.program(x=pf.Int(0, 10**9).vector(2))(lambda x: 64 * x[0] - x[1])
    assert sums.clear(x=[10**9, 1]) == 64 * 10**9 - 1
    for given in ({"x": 10**30 + 1, "y": 0}, {"x": 0, "y": 30}):
        with pytest.raises(pf.errors.InputError):
            program.clear(**given)


def test_a_program_is_lowered_to_the_cheaper_form() -> None:
    """Sums and one lookup of few values on a ciphertext each; a comparison of many values in digits; a table that is asked for as one lookup, as one."""
    few = pf.program(x=pf.Int(0, 7).vector(4))(lambda x: pf.sum(x) > 20)
    many = pf.program(x=pf.Int(0, 100).vector(4))(lambda x: pf.max(x))
    asked = pf.program(x=pf.Int(0, 63))(lambda x: pf.lookup(x, lambda v: v // 5) > 3)
    assert [str(kind) for program in (few, many, asked) for kind in program.outputs.values()] == [
        "boolean",
        "integer[0..100]",
        "boolean",
    ]
    assert [program.inputs["x"].split for program in (few, many, asked)] == [False, True, False]
    assert many.clear(x=[3, 100, 99, 0]) == 100


def test_a_program_that_mixes_decrypts_right() -> None:
    @pf.program(x=pf.Int(0, 7), y=pf.UInt(6), b=pf.Bool)
    def mixed(x, y, b):
        return {"sum": x + y, "chosen": pf.where(b, x, y), "less": (x < y) & b, "shifted": y << x, "exact": x * x - 3}

    result = mixed.run({"x": 5, "y": 61, "b": 1})
    assert result.correct
    assert result.outputs == {"sum": 2, "chosen": 5, "less": 1, "shifted": (61 << 5) % 64, "exact": 22}
    [wrap, shift] = result.wrapped
    assert (wrap.operation, wrap.type, wrap.exact, wrap.value) == ("+", "uint6", 66, 2)
    assert shift.operation == "<<"
