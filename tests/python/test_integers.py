"""Do encrypted integers of every width compute what Python's own integers do, and do a few of them decrypt so?"""

from __future__ import annotations

import itertools
import operator
import random
import re
from pathlib import Path

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.language.types import Type
from rejects import rejects

WIDTHS = [5, 8, 12, 16, 24, 32, 40, 64, 100, 128, 192, 256]
ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "integers.md").read_text(encoding="utf-8")


def wrapped(value: int, kind: Type) -> int:
    """`value` modulo 2^bits, in the type's range."""
    value &= (1 << kind.width) - 1
    return value - (1 << kind.width) if kind.signed and value >> (kind.width - 1) else value


def drawn(source: random.Random, kind: Type) -> int:
    """A value of any size, or one at an end."""
    lo, hi = kind.bounds
    ends = [lo, hi, 0, wrapped(1, kind), wrapped(-1, kind)]
    return source.choice([*ends, *(wrapped(source.getrandbits(source.randint(1, kind.width)), kind) for _ in range(5))])


def check(program: pf.Program, kinds: dict[str, Type], expected, rounds: int = 6, seed: int = 1) -> None:
    """Compares every output with what `expected` gives for the same numbers."""
    source = random.Random(seed)
    for _ in range(rounds):
        values = {name: drawn(source, kind) for name, kind in kinds.items()}
        wanted = tuple(
            wrapped(int(value), kind) for kind, value in zip(program.outputs.values(), expected(**values), strict=True)
        )
        assert program.clear(values) == wanted, values


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("signed", [False, True])
def test_every_operator_is_pythons(bits: int, signed: bool) -> None:
    kind = pf.SInt(bits) if signed else pf.UInt(bits)

    @pf.program(x=kind, y=kind)
    def cheap(x, y):
        return (
            *(x + y, x - y, -x, ~x, x & y, x | y, x ^ y, abs(x), x + 1, 3 - x, x * 5),
            *(x < y, x <= y, x > y, x >= y, x == y, x != y),
            *(pf.max(x, y), pf.min(x, y), pf.where(x < y, x + y, 7 % (kind.bounds[1] + 1))),
            *(x << bits // 3, x >> bits // 2, x.checked_add(y)[1], x.checked_sub(y)[1]),
        )

    def python(x: int, y: int):
        one, lo, hi = wrapped(1, kind), *kind.bounds
        left = lambda value: not lo <= value <= hi  # noqa: E731
        return (
            *(x + y, x - y, -x, ~x, x & y, x | y, x ^ y, abs(x), x + one, 3 - x, x * 5),
            *(x < y, x <= y, x > y, x >= y, x == y, x != y),
            *(max(x, y), min(x, y), x + y if x < y else 7 % (hi + 1)),
            *(x << bits // 3, x >> bits // 2, left(x + y), left(x - y)),
        )

    check(cheap, {"x": kind, "y": kind}, python)


@pytest.mark.parametrize(("bits", "signed"), [(8, False), (8, True), (32, False), (64, True), (256, False)])
def test_products_powers_and_shifts_by_encrypted_amounts(bits: int, signed: bool) -> None:
    kind = pf.SInt(bits) if signed else pf.UInt(bits)
    amount = pf.UInt(9)

    @pf.program(x=kind, y=kind, n=amount)
    def dear(x, y, n):
        return x * y, x**3, x << n, x >> n, x.rotate_left(n), x.leading_zeros(), x.checked_mul(y)[1]

    def python(x: int, y: int, n: int):
        own, turn = x & ((1 << bits) - 1), n % bits
        over = not kind.bounds[0] <= x * y <= kind.bounds[1]
        return x * y, x**3, x << n, x >> n, own << turn | own >> (bits - turn), bits - own.bit_length(), over

    check(dear, {"x": kind, "y": kind, "n": amount}, python, rounds=3)


@pytest.mark.parametrize(("bits", "signed"), [(8, False), (8, True), (20, True), (64, False), (128, False)])
def test_division_rounds_down(bits: int, signed: bool) -> None:
    kind = pf.SInt(bits) if signed else pf.UInt(bits)

    @pf.program(x=kind, y=kind)
    def divided(x, y):
        return x // y, x % y

    source = random.Random(3)
    for _ in range(12):
        x, y = drawn(source, kind), drawn(source, kind) or 1
        assert divided.clear(x=x, y=y) == (wrapped(x // y, kind), x % y), (x, y)


def test_division_by_zero_is_as_documented() -> None:
    by = {
        signed: pf.program(x=kind, y=kind)(lambda x, y: divmod(x, y))
        for signed, kind in enumerate((pf.UInt(4), pf.SInt(4)))
    }
    for x in range(16):
        assert by[0].clear(x=x, y=0) == (15, x)
    for x in range(-8, 8):
        assert by[1].clear(x=x, y=0) == (-1 if x >= 0 else 0, x)


def test_a_table_has_an_entry_for_every_value_of_its_index() -> None:
    with pytest.raises(pf.errors.ProgramError) as refused:
        pf.program(i=pf.UInt(4))(lambda i: pf.lookup(i, [5, 6, 7]))
    assert "i.assume(pf.Int(0, 2))" in str(refused.value) or "x.assume(pf.Int(0, 2))" in str(refused.value)
    for kind in (pf.UInt(4), pf.Int(0, 15)):
        table = pf.program(i=kind)(lambda i: pf.lookup(i.assume(pf.Int(0, 2)), [5, 6, 7], result=pf.UInt(8)))
        assert [table.clear(i=i) for i in range(3)] == [5, 6, 7]
    for short in ([1, 2, 3], list(range(255))):
        with pytest.raises(pf.errors.ProgramError):
            pf.program(i=pf.UInt(8))(lambda i, short=short: pf.lookup(i, short))


@pytest.mark.parametrize(("bits", "lookups"), [(4, 16), (8, 105), (12, 1265)])
def test_tables_cost_what_the_page_on_integers_says(bits: int, lookups: int) -> None:
    assert f" {lookups:,} for" in PAGE or f" {lookups:,} lookups for" in PAGE
    entries = np.random.default_rng(3).integers(0, 256, 1 << bits).tolist()
    table, wide = (
        pf.program(tables=tables, i=pf.UInt(bits))(lambda i: pf.lookup(i, entries, result=pf.UInt(8)))
        for tables in ("lookups", "auto")
    )
    assert table.plan().kernel.lookups == pytest.approx(lookups, rel=0.02, abs=1)
    assert wide.plan().kernel.lookups == bits


def test_what_the_page_on_integers_says_of_public_bits() -> None:
    """And of comparisons with numbers beyond the type."""
    for written, told in ((lambda x: x & 5, 2), (lambda x: x & 15, 0), (lambda x: x << 4, 0), (lambda x: x < 256, 0)):
        assert pf.program(x=pf.UInt(8))(written).cost().to_dict()["lookups"] == told


@pytest.mark.parametrize("kind", [pf.UInt(8), pf.SInt(7), pf.UInt(5), pf.UInt(9), pf.SInt(10)])
@pytest.mark.parametrize("modulus", [1, 2, 7, 16, 511, 1000, 1024])
def test_powers_to_a_modulus_are_exact(kind: Type, modulus: int) -> None:
    """Also for a modulus beyond the width."""
    numbers = list(range(kind.bounds[0], kind.bounds[1] + 1, 5))
    for power in (0, 1, 3, 11):
        found = pf.program(x=kind.vector(len(numbers)))(lambda x, p=power: pow(x, p, modulus))
        assert found.clear(x=numbers) == [pow(number, power, modulus) for number in numbers]


def test_a_matrix_without_rows_is_refused() -> None:
    with pytest.raises(pf.errors.ProgramError, match=r"0 x 2 .*uint8 x 2.* 2 columns"):
        pf.program(x=pf.UInt(8).vector(2))(lambda x: np.zeros((0, 2), dtype=int) @ x)


def test_an_array_of_no_dimension_is_a_number() -> None:
    added = pf.program(x=pf.UInt(8))(lambda x: (x + np.array(5), np.array(5) - x, x < np.array(300)))
    assert added.clear(x=7) == (12, 254, 1)


def test_sums_of_many_vectors_and_casts() -> None:
    kind = pf.UInt(16)

    @pf.program(x=kind.vector(20), y=pf.Int(0, 9), b=pf.Bool)
    def many(x, y, b):
        wide = x.cast(pf.SInt(24))
        return (
            pf.sum(x),
            pf.sum([wide, wide, -wide])[3],
            pf.concat(x[:2], x[[19]]),
            y * 1000,
            pf.where(b, x[0], x[1]),
        )

    source = random.Random(4)
    x = [source.getrandbits(16) for _ in range(20)]
    assert many.clear(x=x, y=7, b=1) == (sum(x) % 65536, x[3], [x[0], x[1], x[19]], 7000, x[0])


def test_tables_with_an_encrypted_index() -> None:
    names = [5, -3, 0, 100, -128, 7, 8, 9]

    @pf.program(i=pf.UInt(8), j=pf.UInt(3), k=pf.UInt(11))
    def read(i, j, k):
        return (
            pf.lookup(i, lambda i: i * i, result=pf.UInt(16)),
            pf.lookup(j, names, result=pf.SInt(8)),
            pf.lookup(k, lambda v: v // 3, result=pf.UInt(10)),
        )

    for i, j, k in [(0, 0, 0), (255, 4, 2047), (17, 1, 900), (99, 7, 3)]:
        assert read.clear(i=i, j=j, k=k) == (i * i, names[j], k // 3)


def test_a_part_of_a_text_is_a_text() -> None:
    @pf.program(name=pf.Text(8))
    def parts(name):
        return {
            "first": name[:3],
            "rest": name[4:],
            "equal": name[:3] == "Ada",
            "bytes": name.encode(),
            "chosen": pf.where(name[1:4].startswith("da"), name[:2], "no"),
        }

    kinds = [pf.Text(3), pf.Text(4), pf.UInt(1), pf.UInt(8).vector(8), pf.Text(2)]
    assert list(parts.outputs.values()) == kinds
    expected = {"first": "Ada", "rest": "Lov", "equal": 1, "bytes": [*b"Ada Lov", 0], "chosen": "Ad"}
    assert parts.clear(name="Ada Lov") == expected
    for part in (lambda x: x[::-1], lambda x: x[3:3], lambda x: x[::2]):
        with pytest.raises(pf.errors.ProgramError, match=r"encode"):
            pf.program(x=pf.Text(5))(part)


def test_public_choices_and_tables_have_the_range_of_their_numbers() -> None:
    @pf.program(x=pf.UInt(8), v=pf.UInt(8).vector(3))
    def chosen(x, v):
        more = x > 3
        return (
            pf.where(more, 9, 0),
            pf.where(more, -1, 300),
            pf.where(v > 1, 5, 70_000),
            pf.where(more, [1, 2], [3, 4]),
            pf.where(more, "yes", "maybe"),
            pf.lookup(x.cast(pf.UInt(2)), [1, 2, -3, 0]),
        )

    kinds = [str(kind) for kind in chosen.outputs.values()]
    assert kinds == [
        "integer[0..9]",
        "integer[-1..300]",
        "integer[5..70000] x 3",
        "integer[1..4] x 2",
        "text of 5 bytes",
        "integer[-3..2]",
    ]
    assert chosen.clear(x=6, v=[0, 1, 2]) == (9, -1, [70_000, 70_000, 5], [1, 2], "yes", -3)
    assert chosen.clear(x=1, v=[2, 2, 0]) == (0, 300, [5, 5, 70_000], [3, 4], "maybe", 2)
    for choice in (1.5, "b", None):
        with pytest.raises(pf.Error):
            pf.program(x=pf.UInt(8))(lambda x: pf.where(x > 3, choice, 2))  # noqa: B023 - it is called at once


def test_texts() -> None:
    @pf.program(text=pf.Text(12), part=pf.Text(4))
    def found(text, part):
        return (
            text == "hello world",
            text.startswith("hello"),
            text.contains(part),
            text.startswith(part),
            text.contains("wor"),
            text.endswith(part),
            text.endswith("bytes"),
        )

    full = [("twelve bytes", part) for part in ("s", "es", "ytes", "tes", "sx", "twel", "b")]
    for text, part in [
        ("hello world", "lo w"),
        ("hello there", "wor"),
        ("", "a"),
        ("abcd", "abcd"),
        ("bytes", "es"),
        ("abab", "ab"),
        ("aab", "ab"),
        ("ab", "abc"),
        ("twelve bytes", ""),
        ("short", ""),
        ("hell", "h"),
        *full,
    ]:
        assert found.clear(text=text, part=part) == (
            *(text == "hello world", text.startswith("hello"), part in text, text.startswith(part), "wor" in text),
            *(text.endswith(part), text.endswith("bytes")),
        )


def test_a_public_text_is_chosen_on_either_side() -> None:
    chosen = pf.program(c=pf.UInt(1), t=pf.Text(4))(lambda c, t: (pf.where(c, "yes", t), pf.where(c, t, "no")))
    assert chosen.clear(c=1, t="old") == ("yes", "old")
    assert chosen.clear(c=0, t="old") == ("old", "no")


def test_texts_are_ordered_as_python_orders_them() -> None:
    @pf.program(a=pf.Text(5), b=pf.Text(5))
    def ordered(a, b):
        return a < b, a <= b, a > b, a >= b, a < "b", a == "", pf.max(a, b), pf.min(a, "bb", b)

    texts = ["", "a", "ab", "abc", "b", "bb", "Z", "äb", "zzzzz", "zzzzy"]
    for a, b in itertools.product(texts, texts):
        assert list(ordered.clear(a=a, b=b)) == [
            *(a < b, a <= b, a > b, a >= b, a < "b", a == ""),
            *(max(a, b), min(a, b, "bb")),
        ]
    result = ordered.run({"a": "abd", "b": "abcé"})
    assert result.correct
    assert result.value == (0, 0, 1, 1, 1, 0, "abd", "abcé")


def test_extremes_of_many() -> None:
    @pf.program(x=pf.SInt(9), y=pf.SInt(9), v=pf.UInt(13).vector(5), s=pf.Int(0, 7), t=pf.Int(-3, 3))
    def extremes(x, y, v, s, t):
        return {
            "three": pf.max(x, y, -7),
            "public_first": pf.min(5, x, 3, y),
            "vector": pf.max(v),
            "list": pf.min(list(v)),
            "small": pf.max(s, t, 2),
            "sums": pf.sum(x, y, x),
        }

    for x, y, v, s, t in [(-256, 255, [8191, 0, 3, 4, 5], 7, -3), (-8, -9, [5, 5, 5, 6, 5], 0, 3)]:
        assert extremes.clear(x=x, y=y, v=v, s=s, t=t) == {
            "three": max(x, y, -7),
            "public_first": min(5, x, 3, y),
            "vector": max(v),
            "list": min(v),
            "small": max(s, t, 2),
            "sums": (2 * x + y + 256) % 512 - 256,
        }


def test_whether_a_product_overflows_and_how_a_text_ends_decrypt_right() -> None:
    @pf.program(x=pf.SInt(8), y=pf.SInt(8), text=pf.Text(6), part=pf.Text(2))
    def asked(x, y, text, part):
        product, over = x.checked_mul(y)
        return product, over, text.endswith(part), text.endswith("fgh")

    keys = None
    for (x, y, text, part), ends in {(-16, 8, "abcd", "cd"): (1, 0), (-16, -8, "abcfgh", "hf"): (0, 1)}.items():
        result = asked.run({"x": x, "y": y, "text": text, "part": part}, keys=keys)
        keys = result.keys
        assert result.correct
        assert result.value == (-128, int(x * y > 127), *ends)


def test_few_values_decrypt_right() -> None:
    @pf.program(x=pf.UInt(16), y=pf.UInt(16))
    def both(x, y):
        return x + y, pf.max(x, y), x == y

    result = both.run({"x": 54321, "y": 23456})
    assert result.correct
    assert result.value == (12241, 54321, 0)
    assert result.noise["log2_failure"] <= -128
    again = both.run({"x": 7, "y": 7}, keys=result.keys)
    assert again.correct
    assert again.outputs["result2"] == 1


def test_errors_name_a_remedy() -> None:
    def refusal(use) -> str:
        with pytest.raises(pf.errors.ProgramError) as error:
            pf.program(x=pf.UInt(8), y=pf.SInt(8), z=pf.UInt(8).vector(3), t=pf.Text(4))(use)
        return str(error.value)

    assert "float" in refusal(lambda x, y, z, t: x + 0.5)
    assert "use pf.where(condition, a, b)" in refusal(lambda x, y, z, t: x if x > 3 else x + 1)
    assert "the operands have 3 and 2 elements" in refusal(lambda x, y, z, t: z + z[:2])
    assert "** takes a public exponent" in refusal(lambda x, y, z, t: x**x)
    assert "5 bytes" in refusal(lambda x, y, z, t: t == "hello")
    with pytest.raises(pf.errors.InputError, match=r"300.*uint8"):
        pf.program(x=pf.UInt(8))(lambda x: x + 1).clear(x=300)


def test_the_page_on_integers_runs_as_written() -> None:
    scope: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) >= 4
    for block in blocks:
        exec(block, scope)


def test_many_operations_are_shown_together() -> None:
    program = pf.program(x=pf.UInt(32), y=pf.UInt(32))(lambda x, y: x // y)
    report = program.cost()
    written = report.table()
    operations = len(report["noise"]["lookups"])
    assert operations > 400
    rows = [line for line in written.splitlines() if "lookup" in line and "%" in line]
    assert 3 < len(rows) <= 40
    assert "--json" in written


def test_vectors_multiply_and_texts_are_chosen() -> None:
    @pf.program(v=pf.UInt(8).vector(3), w=pf.UInt(8).vector(3), c=pf.UInt(1), t=pf.Text(3))
    def f(v, w, c, t):
        return {"dot": pf.dot([1, 2, 3], v), "both": v @ w, "text": pf.where(c, t, "xy")}

    given = {"v": [1, 2, 3], "w": [4, 5, 6], "t": "abc"}
    assert f.clear(**given, c=1) == {"dot": 14, "both": 32, "text": "abc"}
    assert f.clear(**given, c=0) == {"dot": 14, "both": 32, "text": "xy"}


@pytest.mark.parametrize("kind", [pf.UInt(8), pf.SInt(4), pf.UInt(1)], ids=str)
def test_public_numbers_beyond_a_type_have_their_place_in_its_order(kind: Type) -> None:
    """As the last bin of a histogram asks: x < 256 of a byte."""
    lo, hi = kind.bounds
    values = [lo, hi, (lo + hi) // 2]
    operators = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
    for other in (lo - 1, hi + 1, -1000, 10**6, [lo - 1, hi, hi + 1], np.array([hi, hi + 1, lo])):
        program = pf.program(x=kind.vector(3))(lambda x, other=other: tuple(call(x, other) for call in operators))
        others = [other] * 3 if isinstance(other, int) else other
        meant = [[int(call(v, o)) for v, o in zip(values, others, strict=True)] for call in operators]
        assert list(program.clear(x=values)) == meant
    if not kind.signed:
        # Results known in advance cost nothing.
        assert pf.program(x=kind)(lambda x: x <= hi + 1).cost()["lookups"] == 0


def test_public_matrices_multiply_from_both_sides():
    matrix = np.array([[1, 2, 3], [4, 5, 250]])

    @pf.program(x=pf.UInt(8).vector(3), y=pf.SInt(16).vector(2))
    def products(x, y):
        return {"rows": matrix @ x, "columns": y @ -matrix, "dot": pf.dot(matrix, x), "numpy": np.matmul(x, matrix.T)}

    x, y = np.array([7, 100, 9]), np.array([-3, 40])
    rows = (matrix @ x % 256).tolist()
    assert products.clear(x=x, y=y) == {"rows": rows, "columns": (y @ -matrix).tolist(), "dot": rows, "numpy": rows}
    assert products.outputs["rows"] == pf.UInt(8).vector(2)


def test_weights_and_powers_of_two_cost_no_more_than_they_have_to():
    kinds = {"x": pf.UInt(16).vector(4)}

    def lookups(function):
        return pf.program(**kinds)(function).cost()["lookups"]

    assert lookups(lambda x: pf.dot([1, 1, 0, 0], x)) == lookups(lambda x: x[0] + x[1])
    assert lookups(lambda x: pf.dot([3] * 4, x)) == lookups(lambda x: pf.sum(x) * 3)
    assert lookups(lambda x: x // 4) == lookups(lambda x: x >> 2) < lookups(lambda x: x // 5)

    @pf.program(x=pf.SInt(8), y=pf.UInt(8))
    def parts(x, y):
        return {"signed": list(divmod(x, 8)), "unsigned": [y // 128, y % 128], "whole": [y // 1, y % 1]}

    for x, y in ((-128, 255), (-1, 127), (100, 128)):
        assert parts.clear(x=x, y=y) == {"signed": list(divmod(x, 8)), "unsigned": [y // 128, y % 128], "whole": [y, 0]}


def test_a_vector_of_public_factors_costs_as_much_as_single_ones():
    factors = [3, 5, 44, 0]
    x = [7, 1000, 65535, 9]
    for product in (lambda x, f: x * f, lambda x, f: f * x, lambda x, f: x.checked_mul(f)[1]):
        kinds = {"x": pf.UInt(16).vector(4)}
        together = pf.program(**kinds)(lambda x, product=product: product(x, factors))
        alone = pf.program(**kinds)(lambda x, product=product: [product(x[i], f) for i, f in enumerate(factors)])
        assert together.clear(x=x) == list(alone.clear(x=x))
        assert together.cost()["lookups"] <= alone.cost()["lookups"]
    # Equal factors are one operation on all their elements, wherever these stand.
    mixed = pf.program(x=pf.SInt(9).vector(5))(lambda x: x * [-3, 100, -3, 1, 100])
    assert mixed.clear(x=[1, 2, -3, -256, 5]) == [-3, 200, 9, -256, -12]


def test_a_condition_of_numpys_is_an_input_as_one_of_pythons_is():
    count = pf.program(bits=pf.UInt(1).vector(3), wide=pf.UInt(8))(lambda bits, wide: pf.sum(bits) + wide)
    data = np.array([3, 7, 9])
    for bits in (data > 4, [data[0] > 4, data[1] > 4, data[2] > 4], [False, True, True]):
        assert count.clear(bits=bits, wide=data[0] > 2) == 3


def test_public_values_behind_a_mask_are_none():
    masked = np.ma.masked_array([1, 2, 3], [0, 0, 1])
    for function in (
        lambda x: x * masked,
        lambda x: x < masked,
        lambda x: pf.dot(masked, x),
        lambda x: pf.dot(np.ma.masked_array([[1, 2, 3]], [[0, 0, 1]]), x),
        lambda x: pf.where(x > 1, masked, x),
    ):
        with rejects(pf.errors.ProgramError, "masked"):
            pf.program(x=pf.UInt(8).vector(3))(function)
    assert pf.program(x=pf.UInt(8).vector(3))(lambda x: x * masked.filled(0)).clear(x=[4, 5, 6]) == [4, 10, 0]


def test_a_vector_of_conditions_chooses_no_texts() -> None:
    for function in (lambda x, c: pf.where(c, x, "zzz"), lambda x, c: pf.where(c, "yes", "no")):
        with pytest.raises(pf.errors.ProgramError):
            pf.program(x=pf.Text(3), c=pf.Bool.vector(3))(function)
