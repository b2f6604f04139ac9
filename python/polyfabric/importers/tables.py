"""Expressions of polars on tables with encrypted columns.

    chosen = (pl.col("department") == 3) & (pl.col("age") > 40)
    schema = {"department": pf.Int(0, 9), "age": pf.UInt(7), "salary": pf.UInt(17)}
    query = from_polars(pl.col("salary").filter(chosen).sum(), schema, rows=100)

An expression is read from its JSON, so polars is not imported. A row that a filter drops counts as 0. Columns have ranges, whose arithmetic is exact:
a sum gets the range that holds it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, and_, eq, floordiv, ge, gt, le, lt, mod, mul, ne, or_, sub, xor
from typing import Any

from ..errors import Error, ProgramError, shown
from ..language.functions import total, where
from ..language.place import pass_over, refuse, whole
from ..language.types import MOST_ELEMENTS, Int, Type
from ..language.values import TfheValue
from ..run.runnable_programs import Program, traced

pass_over(__file__)

ARITHMETIC = {"Plus": add, "Minus": sub, "Multiply": mul}
DIVISION = {"FloorDivide": floordiv, "Modulus": mod}
COMPARISONS = {"Eq": eq, "NotEq": ne, "Lt": lt, "LtEq": le, "Gt": gt, "GtEq": ge}
LOGIC = {"And": and_, "Or": or_, "Xor": xor}
BINARY: Mapping[str, Callable[[Any, Any], Any]] = ARITHMETIC | DIVISION | COMPARISONS | LOGIC
"""Operators by polars' names."""

FUNCTIONS = ("Negate", "Abs", *(f"Boolean.{name}" for name in ("Not", "IsBetween", "AllHorizontal", "AnyHorizontal")))
"""Functions of values, by polars' names."""

CLOSED = {"Both": ("GtEq", "LtEq"), "Left": ("GtEq", "Lt"), "Right": ("Gt", "LtEq"), "None": ("Gt", "Lt")}
"""Comparisons of `is_between` with its lower and its upper end."""

REMEDIES = {
    "Over": "give the groups as groups={'COLUMN': [0, 1, 2]}",
    "TrueDivide": "divide after decryption, or use mean()",
    "Boolean.IsIn": "compare with each value, (x == 1) | (x == 2)",
    "Cast": "leave it out: integers are exact, and truth values can be summed",
    "Agg.Max": "return the column, and take it after decryption",
    "Agg.Min": "return the column, and take it after decryption",
}
"""What to write instead, by polars' name."""


def from_polars(
    expressions: Any,  # noqa: ANN401 - polars is not imported
    schema: Mapping[str, Type],
    *,
    rows: int,
    groups: Mapping[str, Sequence[int]] | None = None,
    name: str = "query",
) -> Program:
    """The program of one or several expressions of polars on a table of `rows` rows with encrypted columns.

    `schema` gives the type of each column: `pf.Int(lo, hi)`, `pf.UInt(bits)`, `pf.SInt(bits)` or `pf.Bool`. Results are exact integers, also where
    polars' would wrap. Outputs have the names of polars; a mean has two, `NAME.sum` and `NAME.count`, to be divided after decryption. With `groups`,
    such as `{"department": [0, 1, 2]}`, every output is a list with an item for each of these public keys.

    Nodes are columns, integers, truth values, `+ - *`, `//` and `%` by a public number, comparisons, `& | ^ ~`, `is_between`, `abs`, `when`, and
    below an aggregation `filter`; aggregations are `sum`, `count`, `len` and `mean`. Others raise `pf.errors.ProgramError` with their name.
    """
    count = whole("rows", rows, 1, MOST_ELEMENTS)
    kinds = _columns(schema, count)
    trees = [_Tree.of(one) for one in (expressions if isinstance(expressions, list | tuple) else [expressions])]
    if not trees:
        raise refuse("from_polars needs an expression, such as pl.col('x').sum()")
    keys = None if groups is None else _keys(groups, kinds)

    def query(**columns: TfheValue) -> dict[str, Any]:
        outputs: dict[str, Any] = {}
        for tree in trees:
            if keys is None:
                found = [_Reader(tree, columns, count, None).output()]
            else:
                column = columns[keys[0]]
                found = [_Reader(tree, columns, count, column == key).output() for key in keys[1]]
            for own in found[0]:
                if own in outputs:
                    raise refuse(f"two outputs have the name {own!r}; give one expression another, .alias('other')")
                values = [one[own] for one in found]
                outputs[own] = values[0] if keys is None else values
        return outputs

    return traced(query, kinds, name)


def _columns(schema: Mapping[str, Type], rows: int) -> dict[str, Type]:
    """The types of the program's inputs: vectors with a range instead of a width, so that sums do not wrap."""
    if not isinstance(schema, Mapping) or not schema:
        raise refuse(f"schema={shown(schema)}; give a type for each column, such as {{'age': pf.UInt(7)}}")
    found = {}
    for name, kind in schema.items():
        if not isinstance(kind, Type) or kind.kind not in ("boolean", "integer") or not kind.scalar:
            raise refuse(
                f"column {name!r} has the type {kind!r}; give that of one value, pf.Int(lo, hi), pf.UInt(bits), pf.SInt(bits) or pf.Bool; "
                "encode categories as integers"
            )
        found[name] = (kind if kind.kind == "boolean" or kind.bits is None else Int(*kind.bounds)).vector(rows)
    return found


def _keys(groups: Mapping[str, Sequence[int]], columns: Mapping[str, Type]) -> tuple[str, list[int]]:
    """The column of the groups, and its public keys."""
    if not isinstance(groups, Mapping) or len(groups) != 1:
        raise refuse(f"groups={shown(groups)}; give one column with its keys, such as {{'department': [0, 1, 2]}}")
    ((column, given),) = groups.items()
    if column not in columns or columns[column].kind != "integer":
        raise refuse(
            f"groups are of {column!r}, which is no column of integers; those of the table are {list(columns)}"
        )
    keys = [whole(f"a key of {column!r}", key) for key in given]
    if not keys or len(set(keys)) < len(keys):
        raise refuse(f"the keys of {column!r} are {shown(keys)}; give each key once")
    return column, keys


@dataclass(frozen=True)
class _Tree:
    """An expression as polars writes it."""

    text: str
    root: Any
    name: str

    @classmethod
    def of(cls, expression: Any) -> _Tree:  # noqa: ANN401 - polars is not imported
        """From an expression of polars."""
        meta = getattr(expression, "meta", None)
        if not hasattr(meta, "serialize") or not hasattr(meta, "output_name"):
            raise refuse(
                f"from_polars takes expressions of polars, not a {type(expression).__name__}; give one, such as pl.col('x').sum()"
            )
        text = " ".join(str(expression).split())[:200]
        try:
            root = json.loads(meta.serialize(format="json"))
        except (RecursionError, ValueError) as error:
            raise refuse(f"{text}: polars' JSON of it cannot be read ({error}); split it") from None
        name = meta.output_name(raise_if_undetermined=False)
        if name is None:
            raise refuse(f"{text}: it has no name; give it one, .alias('total')")
        return cls(text, root, name)


@dataclass(frozen=True)
class _Selected:
    """A column with a filter."""

    rows: Any
    kept: TfheValue


@dataclass(frozen=True)
class _Mean:
    """A mean, which is divided after decryption."""

    total: Any
    count: Any


@dataclass(frozen=True)
class _Reader:
    """Evaluates an expression on encrypted columns, for the rows of one group or all."""

    tree: _Tree
    columns: Mapping[str, TfheValue]
    count: int
    """Number of rows."""
    group: TfheValue | None
    """Which rows belong to the group."""

    def output(self) -> dict[str, Any]:
        """The outputs of the expression by name."""
        try:
            found, name = self.node(self.tree.root), self.tree.name
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self.refused(
                f"polars wrote it in an unknown form ({type(error).__name__}: {error})", "use polars 2.1"
            ) from None
        except RecursionError:
            raise self.refused("it is nested too deeply", "split it") from None
        if isinstance(found, _Mean):
            # Without a filter the count is public, but a program's outputs are encrypted.
            count = found.count if isinstance(found.count, TfheValue) else found.total * 0 + found.count
            return {f"{name}.sum": found.total, f"{name}.count": count}
        if isinstance(found, _Selected):
            raise self.refused("the number of rows after a filter is secret", "end with sum(), count() or mean()")
        if not isinstance(found, TfheValue):
            raise self.refused(f"it is {found} for every table", "leave it out")
        if self.group is not None and not found.type.scalar:
            raise self.refused("a group has one result", "end with sum(), count() or mean()")
        return {name: found}

    def refused(self, reason: str, remedy: str) -> ProgramError:
        """The error of an expression."""
        return refuse(f"{self.tree.text}: {reason}; {remedy}")

    def unknown(self, name: str) -> ProgramError:
        """The error of a node that cannot be computed."""
        known = [*BINARY, *FUNCTIONS, "Ternary", "Filter", "Sum", "Count", "Mean", "Len"]
        return self.refused(f"polars' {name} is not supported", REMEDIES.get(name, f"use {', '.join(known)}"))

    # -- nodes ----------------------------------------------------------------------------------------------------

    def node(self, node: Any) -> Any:  # noqa: ANN401 - an encrypted value, a number, a filtered column or a mean
        """The value of a node."""
        if node == "Len":
            return self.counted(None)
        if not isinstance(node, dict) or len(node) != 1:
            raise self.unknown(str(node)[:80])
        ((kind, content),) = node.items()
        try:
            return self._of(kind, content)
        except (AttributeError, IndexError, KeyError, RecursionError, StopIteration, TypeError, ValueError) as problem:
            if isinstance(problem, Error):
                raise
            # Another version of polars may write a node in another form.
            raise self.refused(
                f"polars wrote {kind} as {str(content)[:80]!r}, which is not read",
                "install the version of polars in pyproject.toml",
            ) from None

    def _of(self, kind: str, content: Any) -> Any:  # noqa: ANN401 - as `node`
        """The value of a node of a kind."""
        if kind == "Alias":
            return self.node(content[0])
        if kind == "Column":
            return self.column(content)
        if kind == "Literal":
            return self.literal(content)
        if kind == "BinaryExpr":
            return self.binary(content["op"], self.value(content["left"]), self.value(content["right"]))
        if kind == "Function":
            return self.function(content["function"], content["input"])
        if kind == "Ternary":
            return self.choice(*(self.value(content[part]) for part in ("predicate", "truthy", "falsy")))
        if kind == "Filter":
            return self.filtered(self.node(content["input"]), self.value(content["by"]))
        if kind == "Agg":
            return self.aggregate(content)
        raise self.unknown(kind)

    def value(self, node: Any) -> Any:  # noqa: ANN401 - an encrypted value or a number
        """The value of an operand."""
        found = self.node(node)
        if isinstance(found, _Selected):
            raise self.refused("an operand is filtered", "filter last: (x + y).filter(..).sum()")
        if isinstance(found, _Mean):
            raise self.refused("a mean is an operand", "return sums and counts, and compute with them after decryption")
        return found

    def column(self, name: str) -> TfheValue:
        """A column of the table."""
        if name not in self.columns:
            raise self.refused(f"there is no column {name!r}", f"those of the schema are {', '.join(self.columns)}")
        return self.columns[name]

    def literal(self, content: Any) -> int | bool:  # noqa: ANN401 - as polars writes it
        """A public integer or truth value."""
        ((_, typed),) = content.items()
        ((kind, value),) = typed.items()
        if isinstance(value, bool) or (isinstance(value, int) and kind.lstrip("U").startswith("Int")):
            return value
        raise self.refused(
            f"a literal is {kind} {shown(value):.80}", "use integers and truth values; encode categories as integers"
        )

    def binary(self, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401 - encrypted values or numbers
        """An operator with two operands."""
        if operator not in BINARY:
            raise self.unknown(operator)
        truths = [_is_truth(left), _is_truth(right)]
        if operator in LOGIC and not all(truths):
            raise self.refused(f"{operator} has an integer as operand", "use it on comparisons and truth values")
        if operator not in LOGIC and any(truths) and (operator in ARITHMETIC | DIVISION or not all(truths)):
            raise self.refused(
                f"{operator} has a truth value as operand", "write pl.when(condition).then(x).otherwise(y)"
            )
        if operator in DIVISION and (isinstance(right, TfheValue) or right == 0):
            raise self.refused(f"{operator} has no public number other than 0 as divisor", "divide after decryption")
        return BINARY[operator](left, right)

    def function(self, function: Any, nodes: list[Any]) -> Any:  # noqa: ANN401 - as polars writes it
        """A function of values."""
        path = _path(function)
        if path not in FUNCTIONS:
            raise self.unknown(path)
        operands = [self.value(own) for own in nodes]
        if path == "Negate":
            return self.binary("Minus", 0, *operands)
        if path == "Abs":
            return abs(self.binary("Minus", *operands, 0))
        if path == "Boolean.Not":
            return self.binary("Xor", True, *operands)
        if path == "Boolean.IsBetween":
            least, most = CLOSED[function["Boolean"]["IsBetween"]["closed"]]
            value, low, high = operands
            return self.binary("And", self.binary(least, value, low), self.binary(most, value, high))
        operator = "And" if path == "Boolean.AllHorizontal" else "Or"
        return reduce(lambda left, right: self.binary(operator, left, right), operands)

    def choice(self, condition: Any, chosen: Any, other: Any) -> Any:  # noqa: ANN401 - encrypted values or numbers
        """`pl.when(condition).then(chosen).otherwise(other)`."""
        if not _is_truth(condition) or _is_truth(chosen) != _is_truth(other):
            raise self.refused("when, then and otherwise differ in kind", "choose two integers, or two truth values")
        if not isinstance(condition, TfheValue):
            return chosen if condition else other
        return where(condition, chosen, other)

    def filtered(self, rows: Any, kept: Any) -> _Selected:  # noqa: ANN401 - encrypted values or numbers
        """A column with a filter."""
        if isinstance(rows, _Selected):
            raise self.refused("a column is filtered twice", "give one filter all conditions, .filter(a, b)")
        if not isinstance(kept, TfheValue) or not _is_truth(kept) or kept.type.scalar:
            raise self.refused("a filter's condition is no column of truth values", "compare columns in it")
        return _Selected(rows, kept)

    def aggregate(self, content: Any) -> Any:  # noqa: ANN401 - an encrypted value or a mean
        """A sum, a count or a mean."""
        ((kind, own),) = content.items()
        if kind not in ("Sum", "Count", "Mean"):
            raise self.unknown(f"Agg.{kind}")
        found = self.node(own["input"] if kind == "Count" else own)
        rows, kept = (found.rows, found.kept) if isinstance(found, _Selected) else (found, None)
        if not isinstance(rows, TfheValue) or rows.type.scalar:
            raise self.refused(f"{kind.lower()} is of one value", "aggregate a column")
        if kind == "Count":
            return self.counted(kept)
        added = self.added(rows, kept)
        return added if kind == "Sum" else _Mean(added, self.counted(kept))

    def added(self, rows: TfheValue, kept: TfheValue | None) -> TfheValue:
        """The sum of the rows that filter and group keep."""
        mask = self.mask(kept)
        if mask is None:
            return total(rows)
        return total(mask & rows if _is_truth(rows) else where(mask, rows, 0))

    def counted(self, kept: TfheValue | None) -> TfheValue | int:
        """How many rows filter and group keep."""
        mask = self.mask(kept)
        return self.count if mask is None else total(mask)

    def mask(self, kept: TfheValue | None) -> TfheValue | None:
        """Which rows filter and group keep; `None` for all."""
        masks = [own for own in (kept, self.group) if own is not None]
        return reduce(and_, masks) if masks else None


def _is_truth(value: Any) -> bool:  # noqa: ANN401 - an encrypted value or a number
    """Whether a value is a truth value rather than an integer."""
    return value.type.kind == "boolean" if isinstance(value, TfheValue) else isinstance(value, bool)


def _path(function: Any) -> str:  # noqa: ANN401 - as polars writes it
    """The name of a function, with that of its family: "Boolean.Not"."""
    if isinstance(function, str):
        return function
    ((name, own),) = function.items()
    if name != "Boolean":
        return str(name)
    return f"Boolean.{own if isinstance(own, str) else next(iter(own))}"
