"""What of numpy, Python and other libraries has an encrypted value not, and does what the message says to write instead compute it?"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.language import instead
from polyfabric.language.texts import Text

PUBLIC = {"pf": pf, "np": np, "functools": functools, "itertools": itertools, "operator": operator}

X, Y, CONDITION = np.array([3, 1, 6, 2]), np.array([1, 4, 6, 2]), np.array([1, 0, 0, 1])
TEXT = "aBab"
LETTERS = np.frombuffer(TEXT.encode(), dtype=np.uint8).astype(int)
REALS = np.array([0.5, 1.0, 0.75, 0.375])


def bits(x: np.ndarray) -> list[int]:
    return [int(value).bit_length() for value in x]


COMMON: dict[str, Callable[[Any, Any], Any]] = {
    "T": lambda x, y: x.reshape(2, 2).T.reshape(-1),
    "add": np.add,
    "add.reduce": lambda x, y: x.sum(),
    "and_": np.bitwise_and,
    "concatenate": lambda x, y: np.concatenate([x, y]),
    "append": lambda x, y: np.concatenate([x, y]),
    "argmax": lambda x, y: x == x.max(),
    "argmin": lambda x, y: x == x.min(),
    "average": lambda x, y: int(x.mean()),
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
    "clip": lambda x, y: np.clip(x, 2, 5),
    "count": lambda x, y: (x == y).sum(),
    "cumsum": lambda x, y: np.cumsum(x),
    "diff": lambda x, y: np.diff(x),
    "div": np.floor_divide,
    "eq": np.equal,
    "equal": np.equal,
    "extend": lambda x, y: np.concatenate([x, y]),
    "flatten": lambda x, y: x,
    "flip": lambda x, y: np.flip(x),
    "ge": np.greater_equal,
    "gt": np.greater,
    "hash": lambda x, y: x // 2,
    "if_then_else": lambda x, y: np.where(CONDITION, x, y),
    "le": np.less_equal,
    "lt": np.less,
    "max": lambda x, y: x.max(),
    "median": lambda x, y: np.sort(x)[2],
    "maximum": np.maximum,
    "mean": lambda x, y: int(x.mean()),
    "min": lambda x, y: x.min(),
    "minimum": np.minimum,
    "mul": np.multiply,
    "ne": np.not_equal,
    "neg": lambda x, y: -x,
    "or_": np.bitwise_or,
    "pow": lambda x, y: x**3,
    "power": lambda x, y: x**3,
    "prod": lambda x, y: x.prod(),
    "ravel": lambda x, y: x,
    "rem": np.remainder,
    "reshape": lambda x, y: x,
    "reverse": lambda x, y: np.flip(x),
    "select": lambda x, y: np.where(CONDITION, x, y),
    "shape": lambda x, y: len(x),
    "size": lambda x, y: len(x),
    "sort": lambda x, y: np.sort(x),
    "square": lambda x, y: x * x,
    "sub": np.subtract,
    "sum": lambda x, y: x.sum(),
    "transpose": lambda x, y: x.reshape(2, 2).T.reshape(-1),
    "var": lambda x, y: int(x.var()),
    "where": lambda x, y: np.where(CONDITION, x, y),
    "xor": np.bitwise_xor,
    "abs": lambda x, y: abs(x),
    "bit_length": lambda x, y: bits(x),
    "[]=": lambda x, y: [x[0], y[0], *x[2:]],
}
WIDE = {
    "bit_count": lambda x, y: [int(value).bit_count() for value in x],
    "bitnot": lambda x, y: ~x,
    "checked_div": np.floor_divide,
    "count_ones": lambda x, y: [int(value).bit_count() for value in x],
    "dot": np.dot,
    "inner": np.dot,
    "vdot": np.dot,
    "is_even": lambda x, y: x % 2 == 0,
    "is_odd": lambda x, y: x % 2,
    "not_": lambda x, y: ~x,
    "overflowing_add": lambda x, y: [*(x + y), 0, 0, 0, 0],
    "overflowing_mul": lambda x, y: [*(x * y), 0, 0, 0, 0],
    "overflowing_sub": lambda x, y: [*(x - y), *(x < y)],
    "saturating_add": np.add,
    "saturating_sub": lambda x, y: np.maximum(x - y, 0),
    "to_bytes": lambda x, y: x,
    "wrapping_add": np.add,
    "wrapping_mul": np.multiply,
    "wrapping_sub": np.subtract,
}
NARROW = {
    "bit": lambda x, y: x % 2,
    "convolve": lambda x, y: x.sum(),
    "dot": np.dot,
    "inner": np.dot,
    "vdot": np.dot,
    "checked_add": lambda x, y: [*(x + y), 0, 0, 0, 0],
    "checked_mul": lambda x, y: [*(x * y % 16), *(x * y > 15)],
    "checked_sub": lambda x, y: [*(x - y) % 16, *(x < y)],
    "leading_zeros": lambda x, y: 8 - np.array(bits(x)),
    "rotate_left": lambda x, y: 2 * x,
    "rotate_right": lambda x, y: x // 2 + x % 2 * 128,
    "sign": lambda x, y: [1, 1, 1, 1],
}
BITS = {
    "and_": np.bitwise_and,
    "invert": lambda x, y: 1 - x,
    "not_": lambda x, y: 1 - x,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
}
TEXTS = {
    "count": lambda x, y: TEXT.count("a"),
    "encode": lambda x, y: LETTERS,
    "find": lambda x, y: [TEXT[i : i + 2] == "ab" for i in range(3)],
    "index": lambda x, y: [TEXT[i : i + 2] == "ab" for i in range(3)],
    "isdigit": lambda x, y: TEXT.isdigit(),
    "lower": lambda x, y: list(TEXT.lower().encode()),
    "upper": lambda x, y: list(TEXT.upper().encode()),
}
SLOTS = {
    "add": np.add,
    "add.reduce": lambda x, y: x.sum(),
    "append": lambda x, y: np.concatenate([x, y]),
    "concatenate": lambda x, y: np.concatenate([x, y]),
    "conjugate": lambda x, y: x,
    "cumsum": lambda x, y: np.cumsum(x),
    "diff": lambda x, y: np.diff(x),
    "dot": np.dot,
    "extend": lambda x, y: np.concatenate([x, y]),
    "flatten": lambda x, y: x,
    "flip": lambda x, y: np.flip(x),
    "inner": np.dot,
    "matmul": np.dot,
    "mean": lambda x, y: x.mean(),
    "mm": np.dot,
    "mul": np.multiply,
    "multiply": np.multiply,
    "neg": lambda x, y: -x,
    "negate": lambda x, y: -x,
    "outer": lambda x, y: np.outer(x, y),
    "polyval": lambda x, y: 1 + 2 * x + 3 * x**2,
    "pow": lambda x, y: x**3,
    "power": lambda x, y: x**3,
    "prod": lambda x, y: x.prod(),
    "ravel": lambda x, y: x,
    "relinearize": lambda x, y: x,
    "reverse": lambda x, y: np.flip(x),
    "size": lambda x, y: len(x),
    "square": lambda x, y: x * x,
    "sub": np.subtract,
    "subtract": np.subtract,
    "sum": lambda x, y: x.sum(),
    "vdot": np.dot,
}
ON_REALS = {
    "abs": lambda x, y: abs(x),
    "exp": lambda x, y: np.exp(x),
    "imag": lambda x, y: 0 * x,
    "log": lambda x, y: np.log(x),
    "norm": lambda x, y: np.linalg.norm(x),
    "real": lambda x, y: x,
    "relu": lambda x, y: x,
    "roll": lambda x, y: np.roll(x, 1),
    "sigmoid": lambda x, y: 1 / (1 + np.exp(-x)),
    "sign": lambda x, y: np.sign(x),
    "sqrt": lambda x, y: np.sqrt(x),
    "std": lambda x, y: x.std(),
    "tanh": lambda x, y: np.tanh(x),
}


U8V, I3V, BV = pf.UInt(8).vector(4), pf.Int(0, 7).vector(4), pf.Bool.vector(4)
R4, M4 = pf.Real.bounded(2).vector(4), pf.Mod(65537).vector(4)
TABLES: dict[str, tuple[Any, dict[str, str], dict[str, Callable[[Any, Any], Any]], Any, Any, int]] = {
    # The type of x and y, the table, what its names mean, x and y, and modulo what.
    "integers": (U8V, instead.INTEGERS, COMMON | WIDE, X, Y, 256),
    "elements": (I3V, instead.ELEMENTS, COMMON | NARROW, X, Y, 0),
    "bits": (BV, instead.BITS, BITS, CONDITION, np.array([1, 1, 0, 0]), 0),
    "texts": (pf.Text(4), instead.TEXTS, TEXTS, TEXT, TEXT, 0),
    "reals": (R4, instead.REALS | instead.NUMBERS, SLOTS | ON_REALS, REALS, REALS / 2, 0),
    "residues": (M4, instead.NUMBERS, SLOTS, X, Y, 65537),
}
CLASSES = {
    "integers": pf.Integer,
    "elements": pf.Value,
    "bits": pf.Value,
    "texts": Text,
    "reals": pf.SlotValue,
    "residues": pf.SlotValue,
}
"""Of which some have a method of the name; numpy's function of that name is refused where it asks for more."""
SPREAD = np.array([-1.5, 1.0, 0.5, -1.0])
"""Numbers whose deviation is within what is approximated."""

CASES = [(kind, name) for kind, (_, table, *_) in TABLES.items() for name in table]


def test_every_name_has_a_meaning() -> None:
    for kind, (_, table, meanings, *_) in TABLES.items():
        assert table.keys() == meanings.keys(), kind


@pytest.mark.parametrize(("kind", "name"), CASES, ids=[f"{kind}-{name}" for kind, name in CASES])
def test_what_is_written_instead_computes_it(kind: str, name: str) -> None:
    of, table, meanings, x, y, modulus = TABLES[kind]
    if kind == "residues" and name in ("mean", "conjugate"):
        pytest.skip("of CKKS alone, as its own message says")
    if name == "std":
        x = SPREAD
    if kind == "integers" and name in ("average", "mean"):
        # A mean is not of a sum that wraps.
        x = np.array([200, 100, 255, 2])
    kinds, given = {"x": of, "y": of}, {"x": x, "y": y}
    if "condition" in table[name]:
        kinds["condition"], given["condition"] = BV, CONDITION

    names = ", ".join(kinds)
    if name.isidentifier() and not hasattr(CLASSES[kind], name):
        with pytest.raises(pf.ProgramError, match=r"has no \.\w+; ") as refused:
            pf.program(**kinds)(eval(f"lambda {names}: x.{name}"))
        assert str(refused.value).endswith(f" {table[name]}")
        assert isinstance(refused.value, AttributeError)

    public: list[Any] = []

    def body(**values: Any) -> Any:
        found = eval(table[name], {**PUBLIC, **values})
        public.append(found)
        if isinstance(found, int):
            return values["x"]
        return {f"r{at}": part for at, part in enumerate(found)} if isinstance(found, list | tuple) else found

    program = pf.program(**kinds)(eval(f"lambda {names}: body({', '.join(f'{n}={n}' for n in kinds)})", {"body": body}))
    outputs = program(**given)
    found = public[-1] if isinstance(public[-1], int) else np.concatenate([np.ravel(part) for part in outputs.values()])
    meant = np.ravel(np.asarray(meanings[name](x, y), dtype=float))
    found = np.real(np.ravel(found)).astype(float)
    if modulus:
        found, meant = found % modulus, meant % modulus
    np.testing.assert_allclose(found[: len(meant)], meant, atol=2e-4)
    # What the message advises is not refused by the next step.
    program.plan(security=0)


def test_an_unknown_name_says_what_there_is() -> None:
    for kind, words in (
        (pf.UInt(8), "operators, comparisons, pf.mux and tables"),
        (pf.Int(0, 7), r"pf\.lookup"),
        (pf.Text(4), r"\.endswith and \.contains"),
        (pf.Real, "polynomials"),
        (pf.Mod(65537), "sums, products and powers"),
    ):
        with pytest.raises(
            pf.ProgramError, match=rf"test_absences\.py:\d+: an encrypted .* has no \.quantile; .*{words}"
        ):
            pf.program(x=kind)(lambda x: x.quantile())
        with pytest.raises(pf.ProgramError, match="return it, and read it in the result's outputs"):
            pf.program(x=kind)(lambda x: x.tolist())
        assert pf.program(x=kind)(lambda x: x if not hasattr(x, "iloc") and not hasattr(x, "__array__") else None)


def test_values_are_no_keys_and_elements_are_not_assigned() -> None:
    def assigned(x: Any) -> Any:
        x[1] = 3
        return x

    for kind in (pf.UInt(8).vector(4), pf.Int(0, 7).vector(4), pf.Real.vector(4), pf.Mod(65537).vector(4), pf.Text(4)):
        with pytest.raises(pf.ProgramError, match="is no key of a dictionary"):
            pf.program(x=kind)(lambda x: {0: 1}[x])
        with pytest.raises(pf.ProgramError, match=r"elements of an encrypted .* are not assigned"):
            pf.program(x=kind)(assigned)


VECTORS = {"integers": pf.UInt(8).vector(5), "signed": pf.SInt(8).vector(5), "elements": pf.Int(-7, 7).vector(5)}


@pytest.mark.parametrize("kind", VECTORS)
def test_sums_and_extremes_of_a_vector(kind: str) -> None:
    program = pf.program(x=VECTORS[kind])(
        lambda x: {"sum": x.sum(), "max": x.max(), "min": np.min(x), "one": x[2:3].max(), "powers": pow(x[4], 2, 3)}
    )
    values = [3, 7, 1, 0, 5] if kind == "integers" else [-3, 7, -7, 0, 5]
    assert program(x=values) == {
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
    assert program(x=3) == {"power": 8, "quotient": 2, "rest": 1}


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
    for found in (program(**given), program.run(given).outputs):
        for name, value in meant.items():
            np.testing.assert_allclose(found[name], value, atol=1e-6, err_msg=name)


def test_where_there_is_no_variance() -> None:
    with pytest.raises(pf.ProgramError, match=r"return the sums of x and of x \* x"):
        pf.program(x=M4)(lambda x: x.var())
    with pytest.raises(pf.ProgramError, match="give a vector or a matrix"):
        pf.program(x=pf.Real)(lambda x: x.var())
    with pytest.raises(pf.ProgramError, match=r"ddof is 4; give an integer from 0 to 3"):
        pf.program(x=pf.Real.vector(4))(lambda x: x.var(ddof=4))


def test_a_part_of_a_vector_modulo_t_is_its_elements_beyond_a_row_too() -> None:
    values = [3, 1, 6, 2]
    program = pf.program(x=M4)(lambda x: {"part": x[1:4], "rest": x[2:], "matrix": np.eye(4, dtype=int)[::-1] @ x})
    for found in (program(x=values), program.run({"x": values}).outputs):
        assert [list(found[name]) for name in ("part", "rest", "matrix")] == [values[1:], values[2:], values[::-1]]
    with pytest.raises(pf.ProgramError, match="give it more with slots=8"):
        pf.program(x=M4, slots=4)(lambda x: x[1:4])


@pytest.mark.parametrize("name", instead.FUNCTIONS)
def test_functions_of_other_libraries_are_named_here(name: str) -> None:
    with pytest.raises(AttributeError) as refused:
        getattr(pf, name)
    written = instead.FUNCTIONS[name]
    assert str(refused.value) == f"polyfabric has no {name!r}; write {written}"
    bits = pf.UInt(1).vector(4)
    kinds = {"x": bits, "y": bits, "condition": bits}
    pf.program(**kinds)(
        lambda x, y, condition: (eval(written, {"pf": pf, "x": x, "y": y, "condition": condition}), x)[1]
    )


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
