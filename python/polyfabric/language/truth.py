"""Why Python asks for the truth of an encrypted value, and what to write instead."""

from __future__ import annotations

import ast
import linecache
from itertools import islice
from types import FrameType

_IF = "for `if` use pf.where(condition, a, b)"
_WHILE = "for `while` use a `for` over the greatest number of rounds, with x = pf.where(condition, next, x) in it"
_AND = "for `and`, `or` and `not` use &, | and ~"
_CHAIN = "for 3 < x < 9 use (3 < x) & (x < 9)"
_IN = "for x in [1, 2] use (x == 1) | (x == 2)"
_CALLS = {
    **dict.fromkeys(("max", "min"), "for max and min use pf.max and pf.min"),
    **dict.fromkeys(("sorted", "sort"), "for sorted use pf.sort"),
    **dict.fromkeys(("any", "all"), "for any and all use x.any() and x.all()"),
}
_ALL = "; ".join(dict.fromkeys((_IF, _WHILE, _AND, _CHAIN, _IN, *_CALLS.values())))


def remedy(frame: FrameType) -> str:
    """What to write instead of the expression at which this frame stands; all remedies if its source is not known."""
    code = frame.f_code
    start, end, column, end_column = next(islice(code.co_positions(), frame.f_lasti // 2, None))
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename, frame.f_globals)))
    except (SyntaxError, ValueError):
        return _ALL
    above: list[tuple[ast.AST, ast.AST | None]] = [(tree, None)]
    while above:
        node, parent = above.pop()
        here = tuple(getattr(node, name, None) for name in ("lineno", "end_lineno", "col_offset", "end_col_offset"))
        # A statement that is one expression has its place too.
        if here == (start, end, column, end_column) and not isinstance(node, ast.Expr):
            return _of(node, parent)
        above += [(child, node) for child in ast.iter_child_nodes(node)]
    return _ALL


def _of(node: ast.AST, parent: ast.AST | None) -> str:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _CALLS:
            return _CALLS[name]
        case ast.Compare(ops=[ast.In() | ast.NotIn(), *_]):
            return _IN
        case ast.Compare(ops=[_, _, *_]):
            return _CHAIN
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return _AND
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            return _AND if isinstance(test, ast.BoolOp | ast.UnaryOp) else _branch(node)
    match parent:
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return _AND
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) if test is node:
            return _branch(parent)
    return _ALL


def _branch(statement: ast.AST) -> str:
    return _WHILE if isinstance(statement, ast.While) else _IF
