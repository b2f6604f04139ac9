"""Expressions of polars on encrypted columns: do programs compute what polars computes, and are other nodes refused by name?"""

from __future__ import annotations

import json
import random
from contextlib import suppress
from fractions import Fraction
from typing import Any

import polars as pl
import polyfabric as pf
import pytest
from rejects import rejects

col = pl.col

SCHEMA = {"department": pf.Int(0, 3), "age": pf.UInt(7), "salary": pf.UInt(17), "owed": pf.Int(-9, 5), "full": pf.Bool}
CHOSEN = (col("department") == 3) & (col("age") > 40)
SALARY = [
    col("salary").filter(CHOSEN).sum().alias("sum"),
    col("salary").filter(CHOSEN).count().alias("count"),
    col("salary").filter(CHOSEN).mean().alias("mean"),
]


def table(draw: random.Random, rows: int) -> dict[str, list[int]]:
    return {name: [draw.randint(*kind.bounds) for _ in range(rows)] for name, kind in SCHEMA.items()}


def frame(given: dict[str, list[int]]) -> pl.DataFrame:
    """The same in polars, whose integers have 64 bits."""
    kinds = {name: pl.Boolean if name == "full" else pl.Int64 for name in given}
    return pl.DataFrame({name: pl.Series(values).cast(kinds[name]) for name, values in given.items()})


def clear(program: pf.Program, given: dict[str, list[int]]) -> dict[str, Any]:
    found = program.clear(given)
    return found if isinstance(found, dict) else {next(iter(program.outputs)): found}


def expect_polars(expressions: list[pl.Expr], given: dict[str, list[int]], found: dict[str, Any]) -> None:
    """Equality with polars; a mean is the quotient of its two outputs."""
    for expression in expressions:
        name = expression.meta.output_name()
        values = frame(given).select(expression).to_series().to_list()
        if name in found:
            own = found[name]
            assert [int(value) for value in values] == (own if isinstance(own, list) else [own]), (
                str(expression),
                given,
            )
            continue
        total, count = found[f"{name}.sum"], found[f"{name}.count"]
        assert (values[0] is None) == (count == 0)
        if count:
            assert values[0] == float(Fraction(total, count)), str(expression)


@pytest.mark.parametrize("seed", range(3))
def test_the_salary_query(seed: int) -> None:
    draw = random.Random(seed)
    query = pf.from_polars(SALARY, SCHEMA, rows=9)
    for _ in range(20):
        given = table(draw, 9)
        expect_polars(SALARY, given, clear(query, given))


def test_an_empty_selection() -> None:
    given = table(random.Random(1), 5) | {"age": [40, 1, 2, 3, 4]}
    query = pf.from_polars(SALARY, SCHEMA, rows=5)
    assert clear(query, given) == {"sum": 0, "count": 0, "mean.sum": 0, "mean.count": 0}
    expect_polars(SALARY, given, clear(query, given))


def test_sums_have_the_range_that_holds_them() -> None:
    """Where a width would wrap, and where polars' small integers do."""
    rows = 7
    made = [
        col("salary").sum(),
        (col("salary") * col("salary") * col("age")).sum().alias("product"),
        (-col("age")).sum(),
    ]
    query = pf.from_polars(made, SCHEMA, rows=rows)
    most = 2**17 - 1
    assert query.outputs["salary"].bounds == (0, rows * most)
    given = table(random.Random(2), rows) | {"salary": [most] * rows, "age": [127] * rows}
    assert clear(query, given) == {"salary": rows * most, "product": rows * most**2 * 127, "age": -127 * rows}


# -- random expressions -------------------------------------------------------------------------------------------


def integer(draw: random.Random, depth: int) -> pl.Expr:
    """An expression of one integer a row."""
    if depth == 0:
        return draw.choice([col("department"), col("age"), col("salary"), col("owed")])
    one = integer(draw, depth - 1)
    kind = draw.randrange(9)
    if kind < 3:
        other = draw.choice([integer(draw, depth - 1), pl.lit(draw.randint(-9, 9))])
        return [one + other, one - other, one * other][kind]
    if kind == 3:
        return one // draw.choice([-7, -2, 1, 3, 10])
    if kind == 4:
        return one % draw.choice([2, 3, 10])
    if kind == 5:
        return -one
    if kind == 6:
        return one.abs()
    return pl.when(truth(draw, depth - 1)).then(one).otherwise(draw.choice([integer(draw, 0), pl.lit(3)]))


def truth(draw: random.Random, depth: int) -> pl.Expr:
    """An expression of one truth value a row."""
    one, other = integer(draw, max(0, depth - 1)), draw.choice([integer(draw, 0), pl.lit(draw.randint(-5, 50))])
    kind = draw.randrange(12)
    if kind < 6:
        return [one == other, one != other, one < other, one <= other, one > other, one >= other][kind]
    if kind == 6:
        return col("full")
    if kind == 7:
        return one.is_between(-3, 20, closed=draw.choice(["both", "left", "right", "none"]))
    left, right = truth(draw, 0), truth(draw, 0)
    return [left & right, left | right, left ^ right, ~left, pl.all_horizontal(left, right)][draw.randrange(5)]


def aggregated(draw: random.Random, name: str) -> pl.Expr:
    """A sum, count or mean, perhaps of a filtered column, or a column itself."""
    rows = draw.choice([integer(draw, 2), integer(draw, 1), truth(draw, 1)])
    kind = draw.randrange(5)
    if kind == 0:
        return rows.alias(name)
    conditions = [truth(draw, 1) for _ in range(draw.randint(kind // 4, 2))]
    rows = rows.filter(*conditions) if conditions else rows
    found = rows.mean() if kind == 1 else rows.sum() if kind < 4 else rows.count()
    return (found if kind != 2 else found * 3 + 1).alias(name)


@pytest.mark.parametrize("seed", range(8))
def test_random_expressions_on_random_tables(seed: int) -> None:
    draw = random.Random(100 + seed)
    for _ in range(3):
        rows = draw.randint(1, 5)
        expressions = [aggregated(draw, f"e{at}") for at in range(3)]
        query = pf.from_polars(expressions, SCHEMA, rows=rows)
        for _ in range(4):
            given = table(draw, rows)
            used = {name: given[name] for name in query.inputs}
            expect_polars(expressions, given, clear(query, used))


def test_a_column_is_compared_with_an_aggregate() -> None:
    made = [
        col("salary").filter(col("salary") * 5 > col("salary").sum()).count(),
        (col("age") - col("age").sum()).sum(),
    ]
    query = pf.from_polars(made, SCHEMA, rows=5)
    for seed in range(5):
        given = table(random.Random(seed), 5)
        expect_polars(made, given, clear(query, given))


def test_groups_of_public_keys() -> None:
    draw, keys = random.Random(7), [0, 2, 3, 9]
    made = [col("salary").filter(col("age") > 60).sum(), col("salary").mean().alias("mean"), pl.len()]
    schema = SCHEMA | {"department": pf.Int(0, 9)}
    query = pf.from_polars(made, schema, rows=8, groups={"department": keys})
    for _ in range(10):
        given = table(draw, 8)
        found = clear(query, given)
        grouped = frame(given).group_by("department").agg(made[0], col("salary").sum().alias("all"), made[2])
        there = {row["department"]: row for row in grouped.to_dicts()}
        empty = {"salary": 0, "all": 0, "len": 0}
        rows = [there.get(key, empty) for key in keys]
        assert found["salary"] == [row["salary"] for row in rows]
        assert found["len"] == found["mean.count"] == [row["len"] for row in rows]
        assert found["mean.sum"] == [row["all"] for row in rows]


@pytest.mark.filterwarnings("ignore::polyfabric.errors.SecurityWarning")
def test_queries_run_encrypted() -> None:
    schema = {"department": pf.Int(0, 1), "salary": pf.UInt(2)}
    made = col("salary").filter(col("department") == 1).sum()
    query = pf.from_polars(made, schema, rows=2)
    given = {"department": [1, 0], "salary": [3, 2]}
    done = query.run(given, parameters="toy-256", max_failure=0)
    assert done.correct
    assert done.value == {"salary": 3}
    both = query.in_batches(2).clear({name: [values, values[::-1]] for name, values in given.items()})
    assert list(both.values()) == [[3, 3]]


@pytest.mark.full
def test_the_salary_query_runs_encrypted() -> None:
    given = {"department": [3, 1, 3], "age": [41, 90, 12], "salary": [99_999, 5, 131_071]}
    schema = {name: SCHEMA[name] for name in given}
    done = pf.from_polars(SALARY, schema, rows=3).run(given)
    assert done.correct
    expect_polars(SALARY, given, done.value)


# -- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "named"),
    [
        (col("age").max(), "Agg.Max"),
        (col("age").sum().over("department"), "Over"),
        (col("age").is_in([1, 2]), "Boolean.IsIn"),
        (col("age").cast(pl.Int8), "Cast"),
        (col("age") / 2, "TrueDivide"),
        (col("age").sum() / col("age").count(), "TrueDivide"),
        (col("age").sum() // col("department"), "FloorDivide"),
        (col("age") % 0, "Modulus"),
        (col("age") == "Ada", "Ada"),
        (col("age") + 0.5, "0.5"),
        (col("age").eq_missing(3), "EqValidity"),
        (col("age").fill_null(0), "FillNull"),
        (col("age").is_null().sum(), "Boolean.IsNull"),
        (pl.when(col("age") > 3).then(pl.lit(None)).otherwise(1).alias("x"), "Null"),
        (col("height").sum(), "height"),
        (col("age").filter(col("full")), "filter"),
        ((col("age").filter(col("full")) + 1).sum(), "filter"),
        (col("age").filter(col("full")).filter(col("full")).sum(), "filter"),
        (col("age").filter(pl.lit(True)).sum(), "filter"),
        (col("age").mean() + 1, "mean"),
        (col("age") & 3, "And"),
        (col("full") + 1, "Plus"),
        (col("full") < col("age"), "Lt"),
        (pl.all().sum(), ".alias('total')"),
        (pl.len(), "len"),
        (pl.lit(3).alias("x"), "3"),
        (col("age").sum().sum(), "sum"),
        (col("age").map_elements(abs, return_dtype=pl.Int64), "age"),
        (3, "int"),
    ],
    ids=str,
)
def test_other_nodes_are_refused_by_name(expression: Any, named: str) -> None:
    with rejects(pf.errors.ProgramError, named):
        pf.from_polars(expression, SCHEMA, rows=4)


@pytest.mark.parametrize(
    ("schema", "options", "named"),
    [
        ({}, {}, "schema"),
        ({"age": pf.Real}, {}, "age"),
        ({"age": pf.Text(3)}, {}, "age"),
        ({"age": pf.UInt(7).vector(4)}, {}, "age"),
        ({"age": int}, {}, "age"),
        (SCHEMA, {"rows": 0}, "rows"),
        (SCHEMA, {"rows": 1.5}, "rows"),
        (SCHEMA, {"groups": {"full": [0, 1]}}, "full"),
        (SCHEMA, {"groups": {"city": [1]}}, "city"),
        (SCHEMA, {"groups": {"department": []}}, "department"),
        (SCHEMA, {"groups": {"department": [1, 1]}}, "department"),
        (SCHEMA, {"groups": {}}, "groups"),
    ],
)
def test_wrong_tables_are_refused(schema: Any, options: dict[str, Any], named: str) -> None:
    with rejects(pf.errors.ProgramError, named):
        pf.from_polars(col("age").sum(), schema, **{"rows": 4} | options)


@pytest.mark.parametrize(
    ("one", "other", "name"),
    [
        (col("age").sum(), col("age").filter(col("full")).count(), "age"),
        (col("age").mean(), col("salary").sum().alias("age.sum"), "age.sum"),
    ],
    ids=["same", "of a mean"],
)
def test_two_outputs_of_one_name_are_refused(one: pl.Expr, other: pl.Expr, name: str) -> None:
    with rejects(pf.errors.ProgramError, name):
        pf.from_polars([one, other], SCHEMA, rows=4)


def test_nulls_are_refused() -> None:
    query = pf.from_polars(col("age").sum(), SCHEMA, rows=2)
    with rejects(pf.errors.InputError, "age", "None"):
        query.clear({name: [0, 0] for name in query.inputs} | {"age": [1, None]})


def test_a_deep_expression_is_read_or_refused() -> None:
    expression = col("department")
    for _ in range(3000):
        expression = expression + 1
    with suppress(pf.errors.ProgramError):
        pf.from_polars(expression.sum(), SCHEMA, rows=1)


@pytest.mark.parametrize(
    "node",
    [
        {"Alias": ""},
        {"BinaryExpr": {"op": "Plus"}},
        {"BinaryExpr": 3},
        {"Column": ["age"]},
        {"Function": {"input": [], "function": {"Boolean": {}}}},
        {"Literal": {}},
        {"Agg": {"Sum": None}},
        {"Filter": []},
        {},
        [],
        None,
    ],
)
def test_nodes_of_another_form_are_refused(node: Any) -> None:
    """As another version of polars might write them."""
    with pytest.raises(pf.errors.ProgramError):
        pf.from_polars(with_tree(node), SCHEMA, rows=2)


def with_tree(node: Any) -> Any:
    """An expression with this tree."""

    class Other:
        def serialize(self, **_: Any) -> str:
            return json.dumps(node)

        def output_name(self, **_: Any) -> str:
            return "out"

    return type("Expression", (), {"meta": Other()})()


def damaged(node: Any, draw: random.Random) -> Any:
    """The tree with one part replaced or left out, or with two parts exchanged."""
    made = json.loads(json.dumps(node))
    places: list[tuple[Any, Any]] = []

    def visit(part: Any) -> None:
        keys = list(part) if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
        for key in keys:
            places.append((part, key))
            visit(part[key])

    visit(made)
    if not places:
        return made
    (one, at), (other, to) = draw.choice(places), draw.choice(places)
    which = draw.randrange(4)
    if which == 0:
        one[at] = draw.choice(
            [None, 0, -1, 2**70, 1e300, "", "age", "Plus", "Sum", [], {}, [[]], True, {"Column": "age"}]
        )
    elif which == 1:
        one[at] = json.loads(json.dumps(other[to]))
    elif which == 2:
        del one[at]
    elif isinstance(one, dict):
        one[draw.choice(["Literal", "Agg", "Filter", "Ternary", "Function", "x"])] = one.pop(at)
    return made


def test_damaged_trees_are_read_or_refused() -> None:
    draw, read, refused = random.Random(11), 0, 0
    for _ in range(250):
        tree = json.loads(aggregated(draw, "out").meta.serialize(format="json"))
        tree = damaged(tree, draw) if draw.random() < 0.7 else damaged(damaged(tree, draw), draw)
        try:
            pf.from_polars(with_tree(tree), SCHEMA, rows=2)
            read += 1
        except pf.Error:
            refused += 1
    assert min(read, refused) > 10
