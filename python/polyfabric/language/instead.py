"""Replacements for methods of NumPy, pandas, Python and other libraries that encrypted values lack.

For x = pf.UInt(8).vector(10), `np.mean(x)` fails with "write pf.sum(x.cast(pf.UInt(12))) // 10". The tables hold such code for the type of x: x and y
are values of that type, and all other names are public. A test compares each entry with NumPy's function on plain data.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, ClassVar, NoReturn, Self, TypeAlias

import numpy as np

from .. import errors
from ..errors import AbsentError, ProgramError
from .place import refuse
from .types import MOST_BITS, SlotType, TextType, Type, holding


class Absences:
    """Rejects names that a value lacks, with the code to write instead."""

    __slots__ = ()
    OWN: ClassVar[str]
    """The available operations, for names that no table has."""

    def _instead(self, name: str, operands: int) -> str:
        """The replacement for `name`, or for numpy's function with this number of operands."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> NoReturn:
        # Python and libraries probe for names with an underscore.
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise AbsentError(str(refuse(f"an encrypted {self.type} has no .{name}; {self._instead(name, 1)}")))

    def __setitem__(self, index: object, value: object) -> NoReturn:
        raise refuse(f"elements of an encrypted {self.type} cannot be assigned; {self._instead('[]=', 1)}")

    def __format__(self, form: str) -> str:
        if form:
            raise refuse(f"an encrypted {self.type} cannot be formatted as {form!r}: {ONLY_AFTER}")
        return str(self)

    def __copy__(self) -> Self:
        """Returns the value itself, which is immutable."""
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise refuse(
            f"an encrypted {self.type} of a program cannot be pickled or sent to another process, because it has no value yet; "
            "return it, and store the result's outputs"
        )

    def __round__(self, _digits: int = 0) -> NoReturn:
        raise refuse(f"an encrypted {self.type} is not rounded; use it directly, and // to divide")

    __trunc__ = __floor__ = __ceil__ = __round__

    def __hash__(self) -> int:
        raise refuse(
            f"an encrypted {self.type} cannot be a key of a dictionary or a set, because its value is unknown; {self._instead('hash', 1)}"
        )


def unsuited(what: str, value: object, remedy: str) -> ProgramError:
    """The error for an operand that `what` does not take; `remedy` is for a public one."""
    if isinstance(value, Absences):
        return refuse(f"{what} does not take {value.type}; {value._instead(what, 1)}")
    return refuse(f"{what}: the operand is {type(value).__name__}; {remedy}")


class Reason(str):
    """Why no code replaces a name, and the remedy."""

    __slots__ = ()


Entry: TypeAlias = "str | Callable[[Any], str]"
"""Code for values of a type, a function that returns it, or a `Reason`."""

OF_VECTORS = frozenset(
    [
        "T",
        "[]=",
        "add.reduce",
        "argmax",
        "argmin",
        "average",
        "convolve",
        "count",
        "cumsum",
        "diff",
        "dot",
        "flatten",
        "flip",
        "inner",
        "matmul",
        "max",
        "mean",
        "median",
        "min",
        "mm",
        "norm",
        "outer",
        "prod",
        "ravel",
        "reshape",
        "reverse",
        "roll",
        "shape",
        "size",
        "sort",
        "std",
        "sum",
        "transpose",
        "var",
        "vdot",
    ]
)
"""Names without a meaning for a single value."""


def _cast(kind: Type, *numbers: int, name: str = "x") -> str:
    """`name`, cast to a type that holds its values and these numbers; unchanged if it has a range."""
    return f"{name}.cast({holding(*kind.bounds, *numbers)!r})" if kind.wraps else name


def _summed(kind: Type) -> str:
    """`x` in a type that holds the sum of its elements, and their number."""
    return _cast(kind, *(end * kind.length for end in kind.bounds), kind.length, 2)


def _variance(kind: Type) -> str:
    count, furthest = kind.length, max(map(abs, kind.bounds))
    x = _cast(kind, (count * furthest) ** 2)
    return f"({count} * pf.sum({x} ** 2) - pf.sum({x}) ** 2) // {count**2}"


def _product(kind: Type) -> str:
    lo, hi = kind.bounds
    furthest = max(abs(lo), hi) ** kind.length
    holding(furthest, -furthest)
    return f"functools.reduce(operator.mul, {_cast(kind, furthest, -furthest if lo < 0 else 0)})"


def _dot(kind: Type) -> str:
    ends = [kind.length * a * b for a in kind.bounds for b in kind.bounds]
    return f"pf.dot({_cast(kind, *ends)}, {_cast(kind, *ends, name='y')})"


def _saturating(op: str) -> Callable[[Type], str]:
    def of(kind: Type) -> str:
        lo, hi = kind.bounds
        if kind.kind == "boolean" and op == "+":
            return "x | y"
        if kind.wraps and not kind.signed:
            return f"pf.where(x.checked_add(y)[1], {hi}, x + y)" if op == "+" else "pf.where(x < y, 0, x - y)"
        both = f"{_cast(kind, 2 * lo)} {op} {_cast(kind, 2 * lo, name='y')}"
        clipped = f"pf.min(pf.max({both}, {lo}), {hi})"
        return f"{clipped}.cast(pf.SInt({kind.bits}))" if kind.wraps else clipped

    return of


def _median(kind: Type) -> str:
    middle = kind.length // 2
    if kind.length % 2:
        return f"pf.sort(x)[{middle}]"
    two = f"pf.sort(x)[{middle - 1}:{middle + 1}]"
    return f"pf.sum({_cast(kind, *(2 * end for end in kind.bounds), 2, name=two)}) // 2"


def _clipped(kind: Type) -> str:
    """Clips to 2..5, as far as the type has these values."""
    low, high = (min(end, kind.hi) if kind.wraps else end for end in (2, 5))
    return f"pf.min(pf.max(x, {low}), {high})"


def _tabulated(kind: Type) -> str:
    if kind.hi - kind.lo >= 1 << 16:
        return Reason(
            "a table has at most 2^16 entries; narrow x, as x.assume(pf.Int(0, 65535)), if its values fit, or take a part, (x >> 16).cast(pf.UInt(16))"
        )
    return "pf.lookup(x, lambda i: i // 2)"


def _rolled(kind: Type | SlotType) -> str:
    flat = _flat(kind)
    back = f".reshape{kind.shape}" if isinstance(kind, SlotType) and flat != "x" else ""
    return f"pf.concat({flat}[-1:], {flat}[:-1]){back}" if kind.length > 1 else "x"


def _differences(kind: Type | SlotType) -> str:
    shape = getattr(kind, "shape", None)
    if (shape or (kind.length,))[-1] == 1:
        return Reason("one number has no differences; declare several")
    x = _cast(kind, kind.lo - kind.hi, kind.hi - kind.lo) if isinstance(kind, Type) else "x"
    return "x[:, 1:] - x[:, :-1]" if shape else f"{x}[1:] - {x}[:-1]"


def _assigned(kind: Type) -> str:
    return (
        "y[:1]"
        if kind.length == 1
        else "pf.concat(x[:1], y[:1])"
        if kind.length == 2
        else "pf.concat(x[:1], y[:1], x[2:])"
    )


CONVOLVED = "np.array([np.convolve(unit, kernel) for unit in np.eye(len(x), dtype=int)]).T @ x"
FIRST = "pf.min(pf.where({found}, np.arange(len(x)), len(x)))"

COMMON: dict[str, Entry] = {
    "T": "x[np.arange(len(x)).reshape(rows, -1).T.reshape(-1)]",
    "add": "x + y",
    "add.reduce": lambda kind: f"pf.sum({_summed(kind)})",
    "and_": "x & y",
    "append": "pf.concat(x, y)",
    "argmax": FIRST.format(found="x == x.max()"),
    "argmin": FIRST.format(found="x == x.min()"),
    "bitand": "x & y",
    "bitor": "x | y",
    "bitxor": "x ^ y",
    "concatenate": "pf.concat(x, y)",
    "convolve": CONVOLVED,
    "count": "pf.sum(x == y)",
    "count_nonzero": "pf.sum(x != 0)",
    "cumsum": lambda kind: f"list(itertools.accumulate({_summed(kind)}))",
    "diff": _differences,
    "eq": "x == y",
    "equal": "x == y",
    "extend": "pf.concat(x, y)",
    "flatten": "x",
    "flip": "x[::-1]",
    "ge": "x >= y",
    "gt": "x > y",
    "if_then_else": "pf.where(condition, x, y)",
    "le": "x <= y",
    "lt": "x < y",
    "max": "x.max()",
    "min": "x.min()",
    "mul": "x * y",
    "ne": "x != y",
    "neg": "-x",
    "or_": "x | y",
    "pow": "x ** 3",
    "power": "x ** 3",
    "prod": _product,
    "ravel": "x",
    "reshape": "[x[i : i + columns] for i in range(0, len(x), columns)]",
    "reverse": "x[::-1]",
    "roll": _rolled,
    "median": _median,
    "select": "pf.where(condition, x, y)",
    "shape": "(len(x),)",
    "size": "len(x)",
    "sort": "pf.sort(x)",
    "square": "x * x",
    "sub": "x - y",
    "sum": lambda kind: f"pf.sum({_summed(kind)})",
    "transpose": "x[np.arange(len(x)).reshape(rows, -1).T.reshape(-1)]",
    "var": _variance,
    "where": "pf.where(condition, x, y)",
    "xor": "x ^ y",
    "[]=": _assigned,
}
"""For integers; `TORUS` selects those that fractions have."""


def _ones(kind: Type, x: str) -> str:
    return f"pf.sum([{x}.bit(i) for i in range({kind.width})])"


def _bit_length(kind: Type) -> str:
    """Of the magnitude, which needs a width."""
    if kind.wraps:
        return f"{kind.width} - {'abs(x)' if kind.signed else 'x'}.leading_zeros()"
    width = max(2, kind.width)
    return f"{width} - abs(x).cast(pf.UInt({width})).leading_zeros()"


INTEGERS = COMMON | {
    "abs": lambda kind: f"abs({_cast(kind, -kind.lo)})",
    "average": lambda kind: f"pf.sum({_summed(kind)}) // {kind.length}",
    "bit_length": _bit_length,
    "bitnot": "~x",
    "checked_div": "pf.where(y == 0, 0, x // y)",
    "clip": _clipped,
    "count_ones": lambda kind: _ones(kind, "x"),
    "div": "x // y",
    "dot": _dot,
    "inner": _dot,
    "vdot": _dot,
    "hash": _tabulated,
    "invert": "~x",
    "is_even": "x.bit(0) == 0",
    "is_odd": "x.bit(0)",
    "maximum": "pf.max(x, y)",
    "mean": lambda kind: f"pf.sum({_summed(kind)}) // {kind.length}",
    "minimum": "pf.min(x, y)",
    "not_": "~x",
    "overflowing_add": "x.checked_add(y)",
    "overflowing_mul": "x.checked_mul(y)",
    "overflowing_sub": "x.checked_sub(y)",
    "rem": "x % y",
    "saturating_add": _saturating("+"),
    "saturating_sub": _saturating("-"),
    "sign": "(x > 0) - (x < 0)",
    "to_bytes": lambda kind: f"[(x >> 8 * i).cast(pf.UInt(8)) for i in reversed(range({-(-kind.width // 8)}))]",
    "wrapping_add": "x + y",
    "wrapping_mul": "x * y",
    "wrapping_sub": "x - y",
}
"""For integers and truth values."""

SUMS = [
    "add",
    "append",
    "concatenate",
    "convolve",
    "extend",
    "flatten",
    "flip",
    "neg",
    "ravel",
    "reshape",
    "reverse",
    "roll",
    "shape",
    "size",
    "sub",
    "T",
    "transpose",
    "[]=",
]
TORUS: dict[str, Entry] = {name: COMMON[name] for name in [*SUMS, "add.reduce", "cumsum", "diff", "sum"]}
"""For fractions, which have sums and public multiples."""

TORUS_ALONE = "a fraction has only sums and public multiples; for anything else declare an integer, pf.Int(lo, hi)"


def of_values(kind: Type) -> dict[str, Entry]:
    """The table for values of a TFHE type."""
    return TORUS if kind.kind == "torus" else INTEGERS


def _found(kind: TextType) -> str:
    """The first index of a part of a text, or the text's length if there is none."""
    part = "ab"[: kind.length]
    places = kind.length - len(part) + 1
    matches = f"pf.concat(*[x[i : i + {len(part)}] == '{part}' for i in range({places})])"
    return f"pf.min(pf.where({matches}, np.arange({places}), {kind.length}))"


def _found_or_not(kind: TextType) -> str:
    return f"pf.where(x.contains('{'ab'[: kind.length]}'), {_found(kind)}, -1)"


TEXTS: dict[str, Entry] = {
    "find": _found_or_not,
    "index": _found,
    "count": "pf.sum(x.encode() == ord('a'))",
    "isdigit": "((x.encode() >= 48) & (x.encode() <= 57) | (x.encode() == 0)).all() & (x[0] != 0)",
}
"""For texts, whose bytes are x.encode(); digits are those of ASCII."""


def _flat(kind: Any, name: str = "x") -> str:  # noqa: ANN401 - any type
    """The numbers as one vector."""
    return f"{name}.reshape(-1)" if getattr(kind, "shape", None) else name


NUMBERS: dict[str, Entry] = {
    "add": "x + y",
    "add.reduce": "x.sum()",
    "append": lambda kind: f"pf.concat({_flat(kind)}, {_flat(kind, 'y')})",
    "concatenate": "pf.concat(x, y)",
    "convolve": CONVOLVED,
    "cumsum": lambda kind: f"np.tril(np.ones(({kind.length}, {kind.length}), dtype=int)) @ {_flat(kind)}",
    "diff": _differences,
    "dot": "pf.dot(x, y)",
    "extend": "pf.concat(x, y)",
    "flatten": "x.reshape(-1)",
    "flip": lambda kind: "x[::-1, ::-1]" if kind.shape else "x[::-1]",
    "inner": lambda kind: "x @ y.T" if kind.shape else "pf.dot(x, y)",
    "matmul": "x @ y",
    "mm": "x @ y",
    "mul": "x * y",
    "multiply": "x * y",
    "neg": "-x",
    "negate": "-x",
    "outer": lambda kind: f"{_flat(kind)}[:, None] * {_flat(kind, 'y')}",
    "polyval": "pf.polynomial(x, coefficients[::-1])",
    "pow": "x ** 3",
    "power": "x ** 3",
    "prod": lambda kind: f"functools.reduce(operator.mul, [{_flat(kind)}[i] for i in range({kind.length})])",
    "ravel": "x.reshape(-1)",
    "relinearize": "x.relinearise()",
    "reverse": "x[::-1]",
    "roll": _rolled,
    "size": lambda kind: f"{kind.length}",
    "square": "x * x",
    "sub": "x - y",
    "subtract": "x - y",
    "sum": "x.sum()",
    "vdot": "(x * y).sum()",
}
"""For numbers in slots."""


def _of_reals(code: str) -> Callable[[SlotType], str]:
    """Code for real numbers only."""
    return lambda kind: (
        code
        if kind.kind == "real"
        else Reason("functions are approximated on a real interval; compute on x.real_part()")
    )


def _squares(kind: SlotType) -> str:
    """The squares of absolute values."""
    return "x * x" if kind.kind == "real" else "(x * x.conjugate()).real_part()"


def _absolute(kind: SlotType) -> str:
    return "x * pf.sign(x / s)" if kind.kind == "real" else f"pf.chebyshev({_squares(kind)}, np.sqrt, 31, (0.25, 4))"


REALS: dict[str, Entry] = {
    "abs": _absolute,
    "conjugate": "x.conjugate()",
    "fabs": _absolute,
    "imag": "((x - x.conjugate()) * -0.5j).real_part()",
    "mean": "x.mean()",
    "norm": lambda kind: f"pf.chebyshev(({_squares(kind)}).sum(), np.sqrt, 31, (0.25, 4))",
    "real": "x.real_part()",
    "relu": _of_reals("s * pf.relu(x / s)"),
    "sigmoid": _of_reals("pf.chebyshev(x, lambda u: 1 / (1 + np.exp(-u)), 31, (-8, 8))"),
    "sign": _of_reals("pf.sign(x / s)"),
    "std": "pf.chebyshev(x.var(), np.sqrt, 31, (0.25, 4))",
    "vdot": lambda kind: "(x * y).sum()" if kind.kind == "real" else "(x.conjugate() * y).sum()",
}
"""For CKKS, in addition to `NUMBERS`; the intervals must hold the values."""


def approximated(function: np.ufunc, kind: SlotType) -> str:
    """A polynomial for a unary numpy function, on an interval where it is smooth."""
    series = np.polynomial.Chebyshev
    if kind.kind == "complex":
        return _of_reals("")(kind)
    for lo, hi in ((-4, 4), (0.25, 4), (-0.9, 0.9), (1.25, 4)):
        numbers = np.linspace(lo, hi, 1000)
        for degree in (15, 31, 63):
            try:
                with np.errstate(all="ignore"):
                    meant = function(numbers)
                    close = np.allclose(
                        series.interpolate(function, degree, (lo, hi))(numbers), meant, rtol=0, atol=1e-4
                    )
            except (TypeError, ValueError):
                continue
            if close and meant.dtype.kind == "f":
                return advised(f"pf.chebyshev(x, np.{function.__name__}, {degree}, ({lo}, {hi}))")
    return Reason(
        f"no polynomial is close to np.{function.__name__}; apply it to the decrypted output, or use the integers of TFHE, pf.UInt(bits)"
    )


FUNCTIONS = {
    "Boolean": "pf.Bool",
    "Double": "pf.Real",
    "Float": "pf.Real",
    "Integer": "pf.Int(0, 7)",
    "Str": "pf.Text(8)",
    "String": "pf.Text(8)",
    "abs": "abs(x)",
    "any": "x.any()",
    "all": "x.all()",
    "argmax": FIRST.format(found="x == x.max()"),
    "argmin": FIRST.format(found="x == x.min()"),
    "array": "pf.concat(x, y)",
    "compile": "@pf.program(x=pf.Int(0, 7)) above the function",
    "concatenate": "pf.concat(x, y)",
    "cond": "pf.where(condition, x, y)",
    "div": "x // y",
    "decrypt": "program.decrypt(keys, answer); program.run(x=..) does all steps",
    "encrypt": "program.encrypt(keys, x=..); program.run(x=..) does all steps",
    "if_else": "pf.where(condition, x, y)",
    "if_then_else": "pf.where(condition, x, y)",
    "inner": "pf.dot(x, y)",
    "keygen": "program.keygen(); program.run(x=..) does all steps",
    "matmul": "pf.dot(x, y)",
    "maximum": "pf.max(x, y)",
    "minimum": "pf.min(x, y)",
    "mux": "pf.where(condition, x, y)",
    "select": "pf.where(condition, x, y)",
    "sigmoid": "pf.chebyshev(x, lambda u: 1 / (1 + np.exp(-u)), 15, (-8, 8)), for real numbers",
    "sorted": "pf.sort(x)",
    "stack": "pf.concat(x, y)",
}
"""Names of other libraries, with this package's equivalents. The types' widths are arguments, `pf.UInt(8)`."""


def function(name: str, public: list[str]) -> AbsentError:
    """The error for a missing `name` of this package, with its equivalent, or the most similar of the `public` names."""
    kind = name.rstrip("0123456789")
    bits = name.removeprefix(kind)
    wide = {
        "UInt": "UInt",
        "Int": "SInt",
        "SInt": "SInt",
        "FheUint": "UInt",
        "FheInt": "SInt",
        "uint": "UInt",
        "int": "SInt",
    }
    known = f"pf.{wide[kind]}({bits})" if kind in wide and bits else FUNCTIONS.get(name)
    if isinstance(getattr(errors, name, None), type):
        known = f"pf.errors.{name}"
    elif known is None and callable(getattr(np, name, None)):
        known = f"np.{name}(x); if it does not apply to x, its error names a replacement"
    elif name in ("all", "any"):
        known = f"{known}, where x of several values is pf.concat(a, b, ..)"
    near = [
        *difflib.get_close_matches(name, public, n=1, cutoff=0.7),
        *difflib.get_close_matches(name, FUNCTIONS, n=1, cutoff=0.7),
    ]
    meant = FUNCTIONS.get(near[0], f"pf.{near[0]}") if near else ""
    hint = f"; write {known}" if known else f"; did you mean {meant}?" if near else ""
    return AbsentError(str(refuse(f"polyfabric has no {name!r}{hint}")))


def declared(kind: object) -> str | None:
    """The equivalent of a Python or numpy type, or the completed form of an own type without its width; otherwise `None`."""
    plain = {bool: "pf.Bool", int: "pf.SInt(32)", float: "pf.Real", complex: "pf.Complex", str: "pf.Text(20)"}
    if isinstance(kind, type) and kind in plain:
        return plain[kind]
    if isinstance(kind, type) and issubclass(kind, np.generic):
        of = np.dtype(kind)
        wide = {"u": f"pf.UInt({8 * of.itemsize})", "i": f"pf.SInt({8 * of.itemsize})"}
        return wide.get(of.kind, {"b": "pf.Bool", "f": "pf.Real", "c": "pf.Complex"}.get(of.kind))
    return vars(kind).get("example") if isinstance(kind, FunctionType) else None


ONLY_AFTER = "values are known only after decryption; return it, and read it in the result's outputs"

SENTENCES = dict.fromkeys(("decrypt", "item", "numpy", "to_numpy", "tolist", "values"), ONLY_AFTER) | {
    "copy": "values are immutable; use it directly",
    "detach": "values are immutable; use it directly",
}
"""For all values: names that no expression replaces."""


def membership(item: object, vector: bool, anywhere: str) -> str:
    """The error of `item in x`: the remedy is `anywhere` for a vector, and a comparison for a single value."""
    shown = f"{item!r}" if isinstance(item, int) else "y"
    remedy = anywhere.format(item=shown) if vector else f"x == {shown}"
    return f"`in` returns a Python bool, but whether {shown} is among encrypted values is encrypted; use {remedy}"


def written(tables: Mapping[str, Entry], name: str, kind: Type | SlotType) -> str | None:
    """The tables' remedy for `name` on values of type `kind`."""
    if name not in tables:
        return SENTENCES.get(name, TORUS_ALONE if tables is TORUS else None)
    if kind.scalar and name in OF_VECTORS:
        return f"it is a single value; declare a vector, {kind!r}.vector(length)"
    entry = tables[name]
    try:
        code = entry(kind) if callable(entry) else entry
    except ProgramError:
        return (
            f"its result has more than {MOST_BITS:,} bits, the most of any type; use fewer elements, or narrower ones"
        )
    return code if isinstance(code, Reason) else advised(code)


def advised(code: str) -> str:
    """The remedy as a sentence, with the condition on the values."""
    if "pf.chebyshev" in code:
        return f"approximate it on an interval that holds the values, as {code}"
    if "rows" in code or "columns" in code:
        return f"for a matrix stored row by row write {code}"
    return f"for numbers within -s to s write {code}" if " / s)" in code else f"write {code}"
