"""The suggested replacement of each missing method of NumPy, Python and other libraries computes the same.

Each is evaluated in the clear, on extreme and random values of several types, and compared with Python's integers or NumPy on the same values.
"""

from __future__ import annotations

import functools
import itertools
import operator
import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.language import instead
from polyfabric.language.slots import SlotValue
from polyfabric.language.texts import Text
from polyfabric.language.types import SlotType
from polyfabric.language.values import TfheValue

COEFFICIENTS, S = [3, 1, 2], 4
PUBLIC = {
    "pf": pf,
    "np": np,
    "functools": functools,
    "itertools": itertools,
    "operator": operator,
    "coefficients": COEFFICIENTS,
    "s": S,
}
"""Public names in replacements."""

Values = list[Any]


def each(function: Callable[..., Any]) -> Callable[[Values, Values], Values]:
    """An operator, element by element."""
    return lambda x, y: [function(a, b) for a, b in zip(x, y, strict=True)]


def own(function: Callable[..., Any]) -> Callable[[Values, Values], Any]:
    """A function of x alone."""
    return lambda x, _y: function(x)


def one(function: Callable[..., Any]) -> Callable[[Values, Values], Values]:
    """A function of each element of x."""
    return lambda x, _y: [function(a) for a in x]


def dot(x: Values, y: Values) -> Any:
    return sum(map(operator.mul, x, y))


def rows(x: Values) -> int:
    """Those of the matrix that a vector may hold."""
    return next(count for count in (2, 5, 1) if len(x) % count == 0)


def median(x: Values, _y: Values) -> int:
    """The mean of the two in the middle is rounded down."""
    middle = sorted(x)[(len(x) - 1) // 2 : len(x) // 2 + 1]
    return sum(middle) // len(middle)


def variance(x: Values, _y: Values) -> int:
    """Rounded down."""
    return (len(x) * dot(x, x) - sum(x) ** 2) // len(x) ** 2


def sign(a: int) -> int:
    return (a > 0) - (a < 0)


def transposed(x: Values, _y: Values) -> Any:
    return np.array(x, dtype=object).reshape(rows(x), -1).T


def divided(x: Values, y: Values) -> Values:
    return [a // b if b else 0 for a, b in zip(x, y, strict=True)]


def chosen(x: Values, y: Values) -> Values:
    return [(b, a)[bit] for a, b, bit in zip(x, y, condition(x), strict=True)]


def condition(x: Values) -> list[int]:
    return [place % 3 % 2 for place in range(len(x))]


def joined(x: Values, y: Values) -> Values:
    return [*x, *y]


def mean(x: Values, _y: Values) -> int:
    """Rounded down."""
    return sum(x) // len(x)


COMMON: dict[str, Callable[[Any, Any], Any]] = {
    "T": transposed,
    "add": each(operator.add),
    "add.reduce": own(sum),
    "and_": each(operator.and_),
    "append": joined,
    "argmax": own(lambda x: x.index(max(x))),
    "argmin": own(lambda x: x.index(min(x))),
    "average": mean,
    "bitand": each(operator.and_),
    "bitor": each(operator.or_),
    "bitxor": each(operator.xor),
    "concatenate": joined,
    "count": lambda x, y: sum(map(operator.eq, x, y)),
    "count_nonzero": own(lambda x: sum(a != 0 for a in x)),
    "cumsum": own(itertools.accumulate),
    "diff": own(lambda x: [b - a for a, b in itertools.pairwise(x)]),
    "div": divided,
    "dot": dot,
    "eq": each(operator.eq),
    "equal": each(operator.eq),
    "extend": joined,
    "flatten": own(list),
    "flip": own(lambda x: x[::-1]),
    "ge": each(operator.ge),
    "gt": each(operator.gt),
    "hash": one(lambda a: a // 2),
    "if_then_else": chosen,
    "inner": dot,
    "le": each(operator.le),
    "lt": each(operator.lt),
    "max": own(max),
    "maximum": each(max),
    "mean": mean,
    "median": median,
    "min": own(min),
    "minimum": each(min),
    "mul": each(operator.mul),
    "ne": each(operator.ne),
    "neg": one(operator.neg),
    "or_": each(operator.or_),
    "pow": one(lambda a: a**3),
    "power": one(lambda a: a**3),
    "prod": own(lambda x: functools.reduce(operator.mul, x)),
    "ravel": own(list),
    "rem": each(lambda a, b: a % b if b else 0),
    "reshape": own(list),
    "reverse": own(lambda x: x[::-1]),
    "roll": own(lambda x: [x[-1], *x[:-1]]),
    "select": chosen,
    "shape": own(lambda x: np.array(x).shape),
    "sign": one(sign),
    "size": own(len),
    "sort": own(sorted),
    "square": one(lambda a: a * a),
    "sub": each(operator.sub),
    "sum": own(sum),
    "transpose": transposed,
    "var": variance,
    "vdot": dot,
    "where": chosen,
    "xor": each(operator.xor),
    "abs": one(abs),
    "bit_length": one(int.bit_length),
    "[]=": lambda x, y: [x[0], y[0], *x[2:]] if len(x) > 1 else [y[0]],
}


def clipped(x: Values, hi: int) -> Values:
    return [max(min(2, hi), min(a, min(5, hi))) for a in x]


def kernel(hi: int = 2) -> list[int]:
    """Weights that a type up to `hi` has."""
    return [min(1, hi), min(2, hi), 0]


def of_integers(kind: Any) -> dict[str, Callable[[Any, Any], Any]]:
    """The meaning of names for integers of a type."""
    bits, (lo, hi) = kind.width, kind.bounds
    size = -(-bits // 8)

    def within(function: Callable[[int, int], int]) -> Callable[[Values, Values], Values]:
        """The results, and where they were beyond the width; those of ranges are exact."""
        return lambda x, y: each(function)(x, y) + [kind.wraps and not lo <= end <= hi for end in each(function)(x, y)]

    def turned(a: int, left: int) -> int:
        of = a % (1 << bits)
        return (of << left | of >> (bits - left)) % (1 << bits)

    inverted = one((lambda a: 1 - a) if kind.kind == "boolean" else operator.invert)
    return {
        "bit": one(lambda a: a & 1),
        "bitnot": inverted,
        "invert": inverted,
        "checked_add": within(operator.add),
        "checked_div": divided,
        "checked_mul": within(operator.mul),
        "checked_sub": within(operator.sub),
        "count_ones": one(lambda a: (a % (1 << bits)).bit_count()),
        "is_even": one(lambda a: a % 2 == 0),
        "is_odd": one(lambda a: a % 2),
        "leading_zeros": one(lambda a: bits - (a % (1 << bits)).bit_length()),
        "not_": inverted,
        "overflowing_add": within(operator.add),
        "overflowing_mul": within(operator.mul),
        "overflowing_sub": within(operator.sub),
        "rotate_left": one(lambda a: turned(a, 1)),
        "rotate_right": one(lambda a: turned(a, bits - 1)),
        "saturating_add": each(lambda a, b: max(lo, min(a + b, hi))),
        "saturating_sub": each(lambda a, b: max(lo, min(a - b, hi))),
        "to_bytes": own(lambda x: np.array([list(a.to_bytes(size, "big", signed=lo < 0)) for a in x]).T),
        "wrapping_add": each(operator.add),
        "wrapping_mul": each(operator.mul),
        "wrapping_sub": each(operator.sub),
    }


WRAPPING = frozenset(
    [
        "add",
        "bitnot",
        "invert",
        "checked_add",
        "checked_div",
        "checked_mul",
        "checked_sub",
        "convolve",
        "div",
        "mul",
        "neg",
        "not_",
        "overflowing_add",
        "overflowing_mul",
        "overflowing_sub",
        "pow",
        "power",
        "rotate_left",
        "rotate_right",
        "square",
        "sub",
        "wrapping_add",
        "wrapping_mul",
        "wrapping_sub",
    ]
)
"""Operators of integers with a width wrap, as the language says; so does a product with a matrix, which is one."""


def code(table: Mapping[str, Any], name: str, kind: Any) -> str | None:
    """The replacement that is printed of `name` for values of a type; nothing where it says why there is none."""
    said = instead.written(table, name, kind)
    assert said is not None
    found = [said.partition(word)[2] for word in ("write ", "values, as ") if word in said]
    return found[0] if found else None


def printed(name: str, kind: Any) -> str:
    """The error where a program uses it."""
    with pytest.raises(pf.errors.ProgramError, match=r"test_absences\.py:\d+: ") as refused:
        pf.program(x=kind)(lambda x: getattr(x, name))
    assert isinstance(refused.value, AttributeError)
    return str(refused.value)


def evaluated(written: str, kinds: Mapping[str, Any], samples: list[dict[str, Any]], plan: bool) -> list[Any]:
    """The results of a replacement for samples, in the clear."""
    public: list[Any] = []
    count = 1 if kinds["x"].scalar else kinds["x"].length
    weights = kernel(kinds["x"].hi if getattr(kinds["x"], "wraps", False) else 2)
    shape = {"rows": rows([0] * count), "columns": count // rows([0] * count)}

    def body(**values: Any) -> Any:
        found = eval(written, {**PUBLIC, "kernel": weights, **shape, **values})
        public.append(found)
        if isinstance(found, int) or (isinstance(found, tuple) and isinstance(found[0], int)):
            return values["x"]
        return {f"r{at}": part for at, part in enumerate(found)} if isinstance(found, list | tuple) else found

    names = ", ".join(kinds)
    program = pf.program(**kinds)(eval(f"lambda {names}: body({', '.join(f'{n}={n}' for n in kinds)})", {"body": body}))
    if plan:
        # The next step does not refuse the advised code.
        program.plan(security=0)
    found = []
    for sample in samples:
        outputs = program.clear(**sample)
        named = isinstance(outputs, dict)
        computed = (
            public[-1]
            if isinstance(public[-1], int | tuple) and not named
            else list(outputs.values())
            if named
            else [outputs]
        )
        found.append(
            np.concatenate(
                [np.ravel(np.array(part, dtype=object)) for part in np.atleast_1d(np.array(computed, dtype=object))]
            )
        )
    return found


def flat(values: Any) -> Values:
    """Results one after the other."""
    return list(np.ravel(np.array(list(values) if hasattr(values, "__iter__") else [values], dtype=object)))


UNSIGNED, SIGNED = (
    [of(bits).vector(length) for bits, length in ((1, most), (4, 5), (8, 4), (13, 8), (16, 2), (32, 5), (64, 2))]
    for of, most in ((pf.UInt, 100), (pf.SInt, 2))
)
INTEGERS = [*UNSIGNED, *SIGNED, pf.UInt(1).vector(2), pf.UInt(8).vector(100), pf.SInt(8).vector(1)]
RANGES = (
    pf.Int(0, 7),
    pf.Int(-7, 7),
    pf.Int(-8, 7),
    pf.Int(1, 3),
    pf.Int(-2, 2),
    pf.Int(0, 40),
    pf.Int(-100, 100),
    pf.Bool,
)
ELEMENTS = [of.vector(length) for of in RANGES for length in (2, 4, 5, 8)]
ELEMENTS += [pf.Int(-7, 7).vector(1), pf.Int(0, 7).vector(100), pf.Int(0, 40).vector(100), pf.Bool.vector(100)]
PLANNED = (pf.UInt(8).vector(4), pf.Int(0, 7).vector(4), pf.Int(-2, 2).vector(4), pf.Bool.vector(4))


def some(kinds: list[Any], kept: list[Any]) -> list[Any]:
    """All `kinds` for `make test-full`, and those `kept` for `make test` too."""
    return [pytest.param(kind, marks=[] if kind in kept else [pytest.mark.full]) for kind in kinds]


def samples(lo: int, hi: int, length: int) -> list[tuple[Values, Values]]:
    """The ends of a range, and numbers within it."""
    draw = random.Random(length)
    one, two = ([draw.randint(lo, hi) for _ in range(length)] for _ in range(2))
    ends = [draw.choice((lo, hi)) for _ in range(length)]
    return [
        ([lo] * length, [hi] * length),
        ([hi] * length, [hi] * length),
        ([lo] * length, [lo] * length),
        (ends, one),
        (one, two),
        (two, two),
    ]


@pytest.mark.parametrize(
    "kind", some(INTEGERS, UNSIGNED[2:7:4] + SIGNED[1:2]) + some(ELEMENTS, ELEMENTS[1:32:4]), ids=repr
)
def test_replacements_for_integers(kind: Any) -> None:
    lo, hi = kind.bounds
    table = instead.of_values(kind)
    meanings = COMMON | of_integers(kind)
    weights = kernel(hi if kind.wraps else 2)
    meanings["clip"] = own(lambda x: clipped(x, hi if kind.wraps else 5))
    meanings["convolve"] = own(lambda x: np.convolve(np.array(x, dtype=object), weights))
    assert table.keys() <= meanings.keys()
    wrong, refused = [], []
    for name in table:
        written = code(table, name, kind)
        if written is None:
            refused.append(name)
            continue
        if name.isidentifier() and not hasattr(TfheValue, name):
            assert printed(name, kind).endswith(f"write {written}")
        kinds = {"x": kind, "y": kind}
        if "condition" in written:
            kinds["condition"] = (pf.UInt(1) if kind.split else pf.Bool).vector(kind.length)
        given = samples(lo, hi, kind.length)
        if name in ("div", "rem"):
            given = [(x, [b or hi or lo for b in y]) for x, y in given]
        try:
            found = evaluated(
                written,
                kinds,
                [dict(zip(kinds, (x, y, condition(x)), strict=False)) for x, y in given],
                kind in PLANNED,
            )
        except pf.Error as error:
            wrong.append(f"{name}: {written}: {error}")
            continue
        for (x, y), computed in zip(given, found, strict=True):
            meant = flat(meanings[name](x, y))
            wraps = kind.wraps and name in WRAPPING
            same = len(meant) == len(computed) and all(
                (a - b) % (1 << kind.bits if wraps else 1 << 9999) == 0 for a, b in zip(computed, meant, strict=True)
            )
            if not same:
                wrong.append(f"{name}: {written}: {x[:8]} and {y[:8]} give {list(computed)[:8]}, not {meant[:8]}")
                break
    assert not wrong, "\n".join(wrong)
    # A reason is given where no type holds the result, and where no table has so many entries.
    assert refused == [] or kind.length == 1 or hi - lo >= 1 << 16, refused


TEXT_MEANINGS: dict[str, Callable[[str, int], Any]] = {
    "count": lambda text, _: text.count("a"),
    "find": lambda text, length: text.find("ab"[:length]),
    "index": lambda text, length: text.index("ab"[:length]) if "ab"[:length] in text else length,
    "isdigit": lambda text, _: text.isdigit(),
}


@pytest.mark.parametrize("length", [1, 2, 6, 300])
def test_replacements_for_texts(length: int) -> None:
    assert TEXT_MEANINGS.keys() == instead.TEXTS.keys()
    texts = [
        text
        for text in ("", "a", "1", "Z", "ab", "7x", "aBab", "@[`{", "007", "xxabab", "a" * length)
        if len(text) <= length
    ]
    kind = pf.Text(length)
    for name, meaning in TEXT_MEANINGS.items():
        written = code(instead.TEXTS, name, kind)
        assert written is not None
        assert hasattr(Text, name) or printed(name, kind).endswith(written)
        for text, found in zip(
            texts, evaluated(written, {"x": kind}, [{"x": text} for text in texts], False), strict=True
        ):
            assert list(found) == flat(meaning(text, length)), (name, text)


def test_replacements_on_the_torus() -> None:
    kind, unit = pf.Torus(4).vector(6), 16
    for name in instead.TORUS:
        written = code(instead.TORUS, name, kind)
        assert written is not None
        for x, y in samples(-unit // 2, unit // 2 - 1, 6):
            (found,) = evaluated(written, {"x": kind, "y": kind}, [{"x": x, "y": y}], False)
            meaning = COMMON.get(name) or own(lambda x: np.convolve(x, kernel()))
            meant = flat(meaning(x, y))
            exact = name in ("shape", "size")
            assert [a if exact else a % unit for a in found] == [b if exact else b % unit for b in meant], name
    assert "declare an integer" in printed("clip", kind)


@pytest.mark.parametrize(
    "kind", [pf.UInt(8), pf.SInt(16), pf.Int(-7, 7), pf.Bool, pf.Real, pf.Complex, pf.Mod(65537), pf.Torus(4)], ids=repr
)
def test_a_single_value_is_not_a_vector(kind: Any) -> None:
    of = pf.program(x=kind)(lambda x: {"x": x}).outputs["x"]
    tables = instead.NUMBERS | instead.REALS if isinstance(of, SlotType) else instead.of_values(of)
    for name in instead.OF_VECTORS & tables.keys():
        assert code(tables, name, of) is None
        assert "vector(" in (instead.written(tables, name, of) or "")


def array(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """A function of NumPy's of x."""
    return lambda x, _y: function(x)


SLOTS: dict[str, Callable[[Any, Any], Any]] = {
    "abs": array(np.abs),
    "add": np.add,
    "add.reduce": array(np.sum),
    "append": np.append,
    "concatenate": lambda x, y: np.concatenate([x, y]),
    "conjugate": array(np.conjugate),
    "convolve": array(lambda x: np.convolve(x, kernel())),
    "cumsum": array(np.cumsum),
    "diff": array(np.diff),
    "dot": np.dot,
    "extend": lambda x, y: np.concatenate([x, y]),
    "fabs": array(np.abs),
    "flatten": array(np.ravel),
    "flip": array(np.flip),
    "imag": array(np.imag),
    "inner": np.inner,
    "matmul": np.matmul,
    "mean": array(np.mean),
    "mm": np.matmul,
    "mul": np.multiply,
    "multiply": np.multiply,
    "neg": array(np.negative),
    "negate": array(np.negative),
    "norm": array(np.linalg.norm),
    "outer": np.outer,
    "polyval": array(lambda x: np.polyval(COEFFICIENTS, x)),
    "pow": array(lambda x: x**3),
    "power": array(lambda x: x**3),
    "prod": array(np.prod),
    "ravel": array(np.ravel),
    "real": array(np.real),
    "relinearize": array(np.copy),
    "relu": array(lambda x: np.maximum(x, 0)),
    "reverse": array(lambda x: x[::-1]),
    "roll": array(lambda x: np.roll(x, 1)),
    "sigmoid": array(lambda x: 1 / (1 + np.exp(-x))),
    "sign": array(np.sign),
    "size": array(np.size),
    "square": array(np.square),
    "std": array(np.std),
    "sub": np.subtract,
    "subtract": np.subtract,
    "sum": array(np.sum),
    "vdot": np.vdot,
}
T = 65537
SLOT_KINDS = [
    of.vector(length) for of in (pf.Real.bounded(S), pf.Complex.bounded(S), pf.Mod(T)) for length in (1, 2, 5, 8, 100)
]
SLOT_KINDS += [
    of.matrix(*shape)
    for of in (pf.Real.bounded(S), pf.Complex.bounded(S), pf.Mod(T))
    for shape in ((3, 3), (2, 5), (4, 1))
]


def numbers(kind: Any, draw: np.random.Generator) -> list[tuple[Any, Any]]:
    """Numbers of both signs, none of them near 0, and so many that their squares have a sum in the interval of a root."""
    shape = kind.shape or (kind.length,)
    if kind.modulus:
        return [
            (draw.integers(0, T, shape).astype(object), draw.integers(0, T, shape).astype(object)) for _ in range(2)
        ]
    made = []
    for _ in range(4):
        signs, turned = (
            draw.choice([-1, 1], shape),
            np.exp(1j * draw.uniform(0, 7, shape)) if kind.kind == "complex" else 1,
        )
        made.append(draw.uniform(0.55, 1.9, shape) * signs * turned)
    return [(made[0], made[1]), (made[2], made[3])]


@pytest.mark.parametrize("kind", some(SLOT_KINDS, SLOT_KINDS[2:15:5] + SLOT_KINDS[15::3]), ids=repr)
def test_replacements_for_numbers_in_slots(kind: Any) -> None:
    table = instead.NUMBERS if kind.modulus else instead.NUMBERS | instead.REALS
    assert table.keys() <= SLOTS.keys()
    given = numbers(kind, np.random.default_rng(kind.length))
    refused = set()
    for name in table:
        traced = pf.program(x=kind)(lambda x: {"x": x}).outputs["x"]
        written = code(table, name, traced)
        if written is None:
            refused.add(name)
            continue
        if name.isidentifier() and not hasattr(SlotValue, name):
            assert printed(name, kind).endswith(written)
        if kind.shape and (name == "convolve" or (name in ("dot", "matmul", "mm") and kind.shape[0] != kind.shape[1])):
            continue
        of_root = {"norm": lambda x: 1.5 * x / np.linalg.norm(x), "std": lambda x: 0.75 * x / x.std()}.get(
            name, lambda x: x
        )
        if name == "std" and kind.length == 1:
            continue
        own_given = [(of_root(x), y) for x, y in given]
        if name == "prod":
            own_given = [(x / np.abs(x) ** 0.9, y) if not kind.modulus else (x, y) for x, y in given]
        found = evaluated(
            written,
            {"x": kind, "y": kind},
            [{"x": x, "y": y} for x, y in own_given],
            kind.length == 5 and not kind.shape,
        )
        for (x, y), computed in zip(own_given, found, strict=True):
            meant = np.ravel(SLOTS[name](x, y))
            if kind.modulus:
                assert [a % T for a in computed] == [b % T for b in meant], (name, written)
            else:
                np.testing.assert_allclose(
                    computed.astype(complex), meant.astype(complex), atol=2e-3, rtol=1e-4, err_msg=f"{name}: {written}"
                )
    of_complex = {"relu", "sigmoid", "sign"} if kind.kind == "complex" else set()
    assert refused == of_complex | ({"diff"} if (kind.shape or (kind.length,))[-1] == 1 else set())


def test_functions_of_one_real_number_are_approximated_where_they_are_smooth() -> None:
    taken, left = set(), set()
    for name in sorted(
        name for name in dir(np) if isinstance(getattr(np, name), np.ufunc) and getattr(np, name).nin == 1
    ):
        function = getattr(np, name)
        said = instead.approximated(function, pf.Real)
        if "pf.chebyshev" not in said:
            left.add(name)
            continue
        taken.add(name)
        written = said.partition("values, as ")[2]
        lo, hi = map(float, written.rpartition(", (")[2].removesuffix("))").split(", "))
        x = np.linspace(lo, hi, 64)
        (found,) = evaluated(written, {"x": pf.Real.bounded(S).vector(64)}, [{"x": x}], False)
        np.testing.assert_allclose(found.astype(float), function(x), atol=2e-4, err_msg=written)
    assert {"exp", "log", "sqrt", "tanh", "sin", "arctan", "arcsin", "arccosh"} <= taken
    assert {"floor", "rint", "ceil", "isnan", "invert"} <= left
    assert "x.real_part()" in instead.approximated(np.exp, pf.Complex)
    with pytest.raises(pf.errors.ProgramError, match=r"np\.tanh, 31"):
        pf.program(x=pf.Real.vector(4))(lambda x: np.tanh(x))


def test_an_unknown_name_lists_the_known_ones() -> None:
    for kind, words in (
        (pf.UInt(8), r"pf\.where"),
        (pf.Int(0, 7), r"pf\.lookup"),
        (pf.Text(4), r"\.contains"),
        (pf.Real, "polynomials"),
        (pf.Mod(65537), "sums, products and powers"),
    ):
        with pytest.raises(pf.errors.ProgramError, match=rf"test_absences\.py:\d+: .*\.quantile.*{words}"):
            pf.program(x=kind)(lambda x: x.quantile())
        with pytest.raises(pf.errors.ProgramError, match="outputs"):
            pf.program(x=kind)(lambda x: x.tolist())
        assert pf.program(x=kind)(lambda x: x if not hasattr(x, "iloc") and not hasattr(x, "__array__") else None)


def test_values_are_not_keys_and_elements_are_not_assigned() -> None:
    def assigned(x: Any) -> Any:
        x[1] = 3
        return x

    for kind in (pf.UInt(8).vector(4), pf.Int(0, 7).vector(4), pf.Real.vector(4), pf.Mod(65537).vector(4), pf.Text(4)):
        with pytest.raises(pf.errors.ProgramError, match="dictionary"):
            pf.program(x=kind)(lambda x: {0: 1}[x])
        with pytest.raises(pf.errors.ProgramError, match="assigned"):
            pf.program(x=kind)(assigned)


VECTORS = {"integers": pf.UInt(8).vector(5), "signed": pf.SInt(8).vector(5), "elements": pf.Int(-7, 7).vector(5)}


@pytest.mark.parametrize("kind", VECTORS)
def test_sums_and_extremes_of_a_vector(kind: str) -> None:
    program = pf.program(x=VECTORS[kind])(
        lambda x: {"sum": x.sum(), "max": x.max(), "min": np.min(x), "one": x[2:3].max(), "powers": pow(x[4], 2, 3)}
    )
    values = [3, 7, 1, 0, 5] if kind == "integers" else [-3, 7, -7, 0, 5]
    assert program.clear(x=values) == {
        "sum": sum(values),
        "max": max(values),
        "min": min(values),
        "one": values[2],
        "powers": pow(values[4], 2, 3),
    }
    program.plan(security=0)


def test_public_numbers_to_encrypted_powers_and_divided() -> None:
    program = pf.program(x=pf.Int(1, 3))(
        lambda x: {"power": 2**x, "quotient": divmod(7, x)[0], "rest": divmod(7, x)[1]}
    )
    assert program.clear(x=3) == {"power": 8, "quotient": 2, "rest": 1}


def test_variances() -> None:
    numbers = np.array([[0.5, -0.25, 1.0], [-0.75, 0.125, 0.25]])
    program = pf.program(x=pf.Real.matrix(2, 3), v=pf.Real.vector(5), c=pf.Complex.vector(3))(
        lambda x, v, c: {
            "all": x.var(),
            "columns": np.var(x, axis=0),
            "rows": x.var(1),
            "vector": v.var(),
            "sample": v.var(ddof=1),
            "complex": c.var(),
        }
    )
    vector, complexes = np.array([1.0, -0.5, 0.25, 0.75, 0.0]), np.array([0.5 + 0.5j, -0.25j, 0.25])
    meant = {
        "all": numbers.var(),
        "columns": numbers.var(0),
        "rows": numbers.var(1),
        "vector": vector.var(),
        "sample": vector.var(ddof=1),
        "complex": complexes.var(),
    }
    given = {"x": numbers, "v": vector, "c": complexes}
    for found in (program.clear(**given), program.run(given).value):
        for name, value in meant.items():
            np.testing.assert_allclose(found[name], value, atol=1e-6, err_msg=name)


def test_cases_without_a_variance() -> None:
    with pytest.raises(pf.errors.ProgramError, match=r"x \* x"):
        pf.program(x=pf.Mod(T).vector(4))(lambda x: x.var())
    with pytest.raises(pf.errors.ProgramError, match="var: real"):
        pf.program(x=pf.Real)(lambda x: x.var())
    with pytest.raises(pf.errors.ProgramError, match=r"ddof.*4.*0 to 3"):
        pf.program(x=pf.Real.vector(4))(lambda x: x.var(ddof=4))


def test_a_part_of_a_vector_modulo_t_is_its_elements_beyond_a_row_too() -> None:
    values = [3, 1, 6, 2]
    program = pf.program(x=pf.Mod(T).vector(4))(
        lambda x: {"part": x[1:4], "rest": x[2:], "matrix": np.eye(4, dtype=int)[::-1] @ x}
    )
    for found in (program.clear(x=values), program.run(x=values).value):
        assert [list(found[name]) for name in ("part", "rest", "matrix")] == [values[1:], values[2:], values[::-1]]
    with pytest.raises(pf.errors.ProgramError, match="slots=8"):
        pf.program(x=pf.Mod(T).vector(4), slots=4)(lambda x: x[1:4])


FUNCTIONS: dict[str, Callable[[Values, Values], Any]] = {
    "abs": one(abs),
    "any": own(any),
    "all": own(all),
    "array": joined,
    "cond": chosen,
    "div": each(lambda a, b: a // b),
    "if_else": chosen,
    "mux": chosen,
    "sorted": own(sorted),
    "stack": joined,
}


@pytest.mark.parametrize("name", instead.FUNCTIONS)
def test_functions_of_other_libraries_are_named_here(name: str) -> None:
    with pytest.raises(AttributeError) as refused:
        getattr(pf, name)
    written = instead.FUNCTIONS[name]
    assert repr(name) in str(refused.value)
    assert written in str(refused.value)
    if "program" in written:
        return
    if name == "sigmoid":
        program = pf.program(x=pf.Real)(lambda x: eval(written.partition(", for")[0], {"pf": pf, "np": np, "x": x}))
        assert abs(program.clear(x=0.5) - 1 / (1 + np.exp(-0.5))) < 1e-3
        return
    if written in ("pf.Bool", "pf.Int(0, 7)", "pf.Real", "pf.Text(8)"):
        assert eval(written, {"pf": pf})
        return
    for kind in (pf.UInt(1), pf.Bool) if name in ("any", "all") else (pf.UInt(8), pf.SInt(8), pf.Int(-2, 2)):
        bit = pf.UInt(1) if kind.split else pf.Bool
        kinds = {"x": kind.vector(5), "y": kind.vector(5), "condition": bit.vector(5)}
        given = [([1, 0, 1, 1, 0], [0, 1, 1, 0, 0]), ([1] * 5, [0] * 5), ([0] * 5, [1] * 5)]
        given = [(x, y) for x, y in given if name != "div" or all(y)]
        found = evaluated(written, kinds, [{"x": x, "y": y, "condition": condition(x)} for x, y in given], False)
        for (x, y), computed in zip(given, found, strict=True):
            meaning = FUNCTIONS.get(name) or COMMON.get(name) or dot
            assert list(computed) == flat(meaning(x, y)), (name, kind)


@pytest.mark.parametrize("name", ["exp", "mean", "sqrt", "cumsum"])
def test_functions_of_numpy_are_named_there(name: str) -> None:
    with pytest.raises(AttributeError) as refused:
        getattr(pf, name)
    assert f"np.{name}(x)" in str(refused.value)


def test_types_of_other_libraries_are_named_here() -> None:
    for name, kind in {
        "UInt8": pf.UInt(8),
        "Int32": pf.SInt(32),
        "FheUint64": pf.UInt(64),
        "uint16": pf.UInt(16),
    }.items():
        with pytest.raises(AttributeError) as refused:
            getattr(pf, name)
        assert eval(str(refused.value).rpartition("write ")[2], {"pf": pf}) == kind
    assert not hasattr(pf, "Int5x")
    with pytest.raises(ImportError):
        from polyfabric import nothing_of_that_name  # noqa: F401
