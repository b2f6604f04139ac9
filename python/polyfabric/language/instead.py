"""What encrypted values have not, by the names that numpy, pandas, Python and other libraries have for it, and what to write instead.

`INTEGERS`, `ELEMENTS` and `SLOTS` are expressions: x is the value, y and z others of its type, and what else they name is public. A test runs each.
"""

from __future__ import annotations

from typing import ClassVar, NoReturn

import numpy as np

from ..errors import ProgramError
from .place import refuse


class AbsentError(ProgramError, AttributeError):
    """An encrypted value has no such method: also an `AttributeError`, which `hasattr` and other libraries ask for."""


class Absences:
    """Names that a value has not, each refused with the way around."""

    __slots__ = ()
    OWN: ClassVar[str]
    """What the values have, for names that are in no table."""

    def _instead(self, name: str, operands: int) -> str:
        """What to write in the place of `name`, as numpy's function of so many operands."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> NoReturn:
        # Names with an underscore are protocols, which ask whether they are there.
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise AbsentError(str(refuse(f"an encrypted {self.type} has no .{name}; {self._instead(name, 1)}")))

    def __setitem__(self, index: object, value: object) -> NoReturn:
        raise refuse(f"elements of an encrypted {self.type} are not assigned; {self._instead('[]=', 1)}")

    def __format__(self, form: str) -> str:
        if form:
            raise refuse(f"an encrypted {self.type} is not written as {form!r}: {ONLY_AFTER}")
        return str(self)

    def __round__(self, _digits: int = 0) -> NoReturn:
        raise refuse(f"an encrypted {self.type} has nothing to round; use it as it is, and // to divide")

    __trunc__ = __floor__ = __ceil__ = __round__

    def __hash__(self) -> int:
        raise refuse(
            f"an encrypted {self.type} is no key of a dictionary or a set, as its value is not known; {self._instead('hash', 1)}"
        )


COMMON = {
    "T": "x[np.arange(len(x)).reshape(2, -1).T.reshape(-1)]",
    "add": "x + y",
    "and_": "x & y",
    "append": "pf.concat(x, y)",
    "argmax": "x == x.max()",
    "argmin": "x == x.min()",
    "bitand": "x & y",
    "bitor": "x | y",
    "bitxor": "x ^ y",
    "add.reduce": "x.sum()",
    "concatenate": "pf.concat(x, y)",
    "count": "pf.sum(x == y)",
    "cumsum": "list(itertools.accumulate(x))",
    "diff": "x[1:] - x[:-1]",
    "eq": "x == y",
    "equal": "x == y",
    "extend": "pf.concat(x, y)",
    "flatten": "x",
    "flip": "x[::-1]",
    "ge": "x >= y",
    "gt": "x > y",
    "if_then_else": "pf.mux(condition, x, y)",
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
    "ravel": "x",
    "reshape": "[x[i : i + 2] for i in range(0, len(x), 2)]",
    "reverse": "x[::-1]",
    "median": "pf.sort(x)[len(x) // 2]",
    "select": "pf.mux(condition, x, y)",
    "shape": "len(x)",
    "size": "len(x)",
    "sort": "pf.sort(x)",
    "square": "x * x",
    "sub": "x - y",
    "sum": "x.sum()",
    "transpose": "x[np.arange(len(x)).reshape(2, -1).T.reshape(-1)]",
    "var": "(len(x) * pf.sum(x.cast(pf.SInt(32)) ** 2) - pf.sum(x.cast(pf.SInt(32))) ** 2) // len(x) ** 2",
    "where": "pf.mux(condition, x, y)",
    "xor": "x ^ y",
    "[]=": "pf.concat(x[:1], y[0:1], x[2:])",
}
"""Of integers of any width and of few bits."""

INTEGERS = COMMON | {
    "abs": "abs(x)",
    "average": "pf.sum(x.cast(pf.SInt(32))) // len(x)",
    "bit_count": "pf.sum([x.bit(i) for i in range(x.type.bits)])",
    "bit_length": "x.type.bits - x.leading_zeros()",
    "bitnot": "~x",
    "checked_div": "pf.mux(y == 0, 0, x // y)",
    "clip": "pf.min(pf.max(x, 2), 5)",
    "count_ones": "pf.sum([x.bit(i) for i in range(x.type.bits)])",
    "div": "x // y",
    "dot": "pf.dot(x, y)",
    "inner": "pf.dot(x, y)",
    "vdot": "pf.dot(x, y)",
    "hash": "pf.Table(lambda i: i // 2, pf.UInt(8))[x]",
    "is_even": "x.bit(0) == 0",
    "is_odd": "x.bit(0)",
    "maximum": "pf.max(x, y)",
    "mean": "pf.sum(x.cast(pf.SInt(32))) // len(x)",
    "minimum": "pf.min(x, y)",
    "not_": "~x",
    "overflowing_add": "x.checked_add(y)",
    "overflowing_mul": "x.checked_mul(y)",
    "overflowing_sub": "x.checked_sub(y)",
    "prod": "functools.reduce(operator.mul, x)",
    "rem": "x % y",
    "saturating_add": "pf.mux(x.checked_add(y)[1], x.type.bounds[1], x + y)",
    "saturating_sub": "pf.mux(x < y, 0, x - y)",
    "to_bytes": "[(x >> 8 * i).cast(pf.UInt(8)) for i in range(x.type.bits // 8)]",
    "wrapping_add": "x + y",
    "wrapping_mul": "x * y",
    "wrapping_sub": "x - y",
}
"""Of integers of any width."""

ELEMENTS = COMMON | {
    "and_": "x.cast(pf.UInt(4)) & y.cast(pf.UInt(4))",
    "bitand": "x.cast(pf.UInt(4)) & y.cast(pf.UInt(4))",
    "bitor": "x.cast(pf.UInt(4)) | y.cast(pf.UInt(4))",
    "bitxor": "x.cast(pf.UInt(4)) ^ y.cast(pf.UInt(4))",
    "or_": "x.cast(pf.UInt(4)) | y.cast(pf.UInt(4))",
    "xor": "x.cast(pf.UInt(4)) ^ y.cast(pf.UInt(4))",
    "abs": "abs(x)",
    "average": "pf.sum(x) // len(x)",
    "bit": "x.cast(pf.UInt(8)).bit(0)",
    "bit_length": "8 - x.cast(pf.UInt(8)).leading_zeros()",
    "checked_add": "x.cast(pf.UInt(4)).checked_add(y.cast(pf.UInt(4)))",
    "checked_mul": "x.cast(pf.UInt(4)).checked_mul(y.cast(pf.UInt(4)))",
    "checked_sub": "x.cast(pf.UInt(4)).checked_sub(y.cast(pf.UInt(4)))",
    "clip": "pf.minimum(pf.maximum(x, 2), 5)",
    "convolve": "pf.convolve(np.ones((1, 2, 2, 1), dtype=int), x, (2, 2, 1))",
    "dot": "pf.dot(x, y)",
    "inner": "pf.dot(x, y)",
    "vdot": "pf.dot(x, y)",
    "div": "x.cast(pf.UInt(4)) // y.cast(pf.UInt(4))",
    "hash": "pf.lookup(x, lambda i: i // 2)",
    "leading_zeros": "x.cast(pf.UInt(8)).leading_zeros()",
    "maximum": "pf.maximum(x, y)",
    "mean": "pf.sum(x) // len(x)",
    "minimum": "pf.minimum(x, y)",
    "prod": "functools.reduce(operator.mul, x.cast(pf.UInt(16)))",
    "rem": "x.cast(pf.UInt(4)) % y.cast(pf.UInt(4))",
    "rotate_left": "x.cast(pf.UInt(8)).rotate_left(1)",
    "rotate_right": "x.cast(pf.UInt(8)).rotate_right(1)",
    "sign": "pf.sign(x)",
}
"""Of values of a few bits."""

BITS = {
    "and_": "x & y",
    "or_": "x | y",
    "xor": "x ^ y",
    "not_": "~x",
    "invert": "~x",
}
"""Of Booleans, before those of `ELEMENTS`."""

TEXTS = {
    "lower": "pf.mux((x[:] >= 65) & (x[:] <= 90), x[:] + 32, x[:])",
    "upper": "pf.mux((x[:] >= 97) & (x[:] <= 122), x[:] - 32, x[:])",
    "find": "[(x[i:i + 2] == list(b'ab')).all() for i in range(len(x) - 1)]",
    "index": "[(x[i:i + 2] == list(b'ab')).all() for i in range(len(x) - 1)]",
    "count": "pf.sum(x[:] == ord('a'))",
    "isdigit": "((x[:] >= 48) & (x[:] <= 57) | (x[:] == 0)).all()",
    "encode": "x[:]",
}
"""Of texts, whose bytes are x[:]."""

NUMBERS = {
    "add": "x + y",
    "append": "pf.concat(x, y)",
    "concatenate": "pf.concat(x, y)",
    "extend": "pf.concat(x, y)",
    "flip": "x[::-1]",
    "cumsum": "np.tril(np.ones((len(x), len(x)), dtype=int)) @ x",
    "diff": "x[1:len(x)] - x[0:len(x) - 1]",
    "dot": "pf.dot(x, y)",
    "flatten": "x.reshape(-1)",
    "inner": "pf.dot(x, y)",
    "matmul": "x @ y",
    "mm": "x @ y",
    "mul": "x * y",
    "multiply": "x * y",
    "neg": "-x",
    "negate": "-x",
    "outer": "x[:, None] * y",
    "polyval": "pf.polynomial(x, [1, 2, 3])",
    "pow": "x ** 3",
    "power": "x ** 3",
    "prod": "functools.reduce(operator.mul, [x[i] for i in range(len(x))])",
    "ravel": "x.reshape(-1)",
    "relinearize": "x.relinearise()",
    "reverse": "x[::-1]",
    "size": "len(x)",
    "square": "x * x",
    "sub": "x - y",
    "subtract": "x - y",
    "vdot": "pf.dot(x, y)",
    "add.reduce": "x.sum()",
    "sum": "x.sum()",
    "mean": "x.mean()",
    "conjugate": "x.conjugate()",
}
"""Of numbers in slots."""

REALS = {
    "abs": "x * pf.sign(x)",
    "exp": "pf.chebyshev(x, np.exp, 15, (-4, 4))",
    "imag": "(x - x.conjugate()) * -0.5j",
    "log": "pf.chebyshev(x, np.log, 31, (0.25, 4))",
    "norm": "pf.chebyshev(pf.dot(x, x), np.sqrt, 31, (0.25, 4))",
    "real": "x.real_part()",
    "relu": "pf.relu(x)",
    "roll": "pf.rotate(x, -1)",
    "sigmoid": "pf.chebyshev(x, lambda u: 1 / (1 + np.exp(-u)), 31, (-8, 8))",
    "sign": "pf.sign(x)",
    "sqrt": "pf.chebyshev(x, np.sqrt, 31, (0.25, 4))",
    "std": "pf.chebyshev(x.var(), np.sqrt, 31, (0.25, 4))",
    "tanh": "pf.chebyshev(x, np.tanh, 31, (-4, 4))",
}
"""Of CKKS's numbers, on intervals that hold the values."""

FUNCTIONS = {
    "Boolean": "pf.Bool",
    "Double": "pf.Real",
    "Float": "pf.Real",
    "Str": "pf.Text(8)",
    "String": "pf.Text(8)",
    "abs": "abs(x)",
    "any": "x.any()",
    "all": "x.all()",
    "argmax": "x == x.max()",
    "argmin": "x == x.min()",
    "array": "pf.concat(x, y)",
    "concatenate": "pf.concat(x, y)",
    "cond": "pf.mux(condition, x, y)",
    "if_then_else": "pf.mux(condition, x, y)",
    "inner": "pf.dot(x, y)",
    "matmul": "pf.dot(x, y)",
    "select": "pf.mux(condition, x, y)",
    "sorted": "pf.sort(x)",
    "stack": "pf.concat(x, y)",
    "where": "pf.mux(condition, x, y)",
}
"""Of this package: what other libraries call so. The types' widths are arguments, `pf.UInt(8)`."""


def function(name: str) -> AttributeError:
    """Why this package has no `name`, and what it has instead."""
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
    return AttributeError(f"polyfabric has no {name!r}" + (f"; write {known}" if known else ""))


def declared(kind: object) -> str | None:
    """The type of this package for a type of Python or numpy, or for one of its own that lacks its width; nothing for anything else."""
    plain = {bool: "pf.Bool", int: "pf.SInt(32)", float: "pf.Real", complex: "pf.Complex", str: "pf.Text(20)"}
    if isinstance(kind, type) and kind in plain:
        return plain[kind]
    if isinstance(kind, type) and issubclass(kind, np.generic):
        of = np.dtype(kind)
        wide = {"u": f"pf.UInt({8 * of.itemsize})", "i": f"pf.SInt({8 * of.itemsize})"}
        return wide.get(of.kind, {"b": "pf.Bool", "f": "pf.Real", "c": "pf.Complex"}.get(of.kind))
    name = getattr(kind, "__name__", "")
    lacking = {"UInt": "(8)", "SInt": "(8)", "Int": "(0, 7)", "Text": "(20)", "Mod": "(65537)", "Torus": "(8)"}
    return f"pf.{name}{lacking[name]}" if callable(kind) and name in lacking else None


BRANCHES = (
    "decides no branch: its value is not known to the program; for `if` use pf.mux(condition, a, b), for `and`, `or` and `not` of conditions "
    "&, | and ~, for 3 < x < 9 (3 < x) & (x < 9), for x in [1, 2] (x == 1) | (x == 2), for max, min and sorted pf.max, pf.min and pf.sort"
)
"""Why an encrypted value is neither true nor false. Python asks in the same way for all of these."""

ONLY_AFTER = "values are known after decryption alone; return it, and read it in the result's outputs"

SENTENCES = dict.fromkeys(("decrypt", "item", "numpy", "to_numpy", "tolist", "values"), ONLY_AFTER) | {
    "copy": "no value changes; use it as it is",
    "detach": "no value changes; use it as it is",
}
"""Of every value: what no expression says."""


def membership(item: object, vector: bool, anywhere: str) -> str:
    """Why `in` does not look an item up in encrypted values, and what does it: `anywhere` of a vector, a comparison of a single one."""
    shown = f"{item!r}" if isinstance(item, int) else "y"
    remedy = anywhere.format(item=shown) if vector else f"x == {shown}"
    return f"whether {shown} is among encrypted values is itself encrypted, and `in` gives a Python bool; use {remedy}"


def written(tables: dict[str, str], name: str) -> str | None:
    """What the tables say of `name`."""
    if name in tables:
        approximated = "pf.chebyshev" in tables[name]
        return (
            f"{'approximate it on an interval that holds the values, as' if approximated else 'write'} {tables[name]}"
        )
    return SENTENCES.get(name)
