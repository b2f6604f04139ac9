"""Affine maps, such as `(d0)[s0] -> (d0 * 2 + s0 mod 4)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_MAP = re.compile(r"\s*\(([^()]*)\)\s*(?:\[([^\[\]]*)\])?\s*->\s*\((.*)\)\s*", re.DOTALL)
_LONGEST = 2000


@dataclass(frozen=True)
class Map:
    """Integers as functions of integers."""

    names: tuple[str, ...]
    results: tuple[ast.expr, ...]

    @classmethod
    def of(cls, text: str) -> Map:
        """From its text. Raises `ValueError` with the reason."""
        found = _MAP.fullmatch(text)
        if found is None or len(text) > _LONGEST:
            raise ValueError("is not of the form (d0)[s0] -> (d0 + s0)")
        names = tuple(name.strip() for part in found.groups()[:2] for name in (part or "").split(",") if name.strip())
        # floordiv and mod are Python's // and %; a ceildiv b is -(-a // b).
        written = re.sub(r"\bfloordiv\b", "//", re.sub(r"\bmod\b", "%", re.sub(r"\bceildiv\b", "@", found[3])))
        try:
            parsed = ast.parse(f"({written.strip()},)", mode="eval").body
        except (SyntaxError, RecursionError, MemoryError):
            raise ValueError(f"has the results {found[3]:.60}, which are not sums and products") from None
        if not isinstance(parsed, ast.Tuple):
            raise ValueError("has no list of results")
        return cls(names, tuple(parsed.elts))

    def __call__(self, values: Sequence[int]) -> list[int]:
        """The results. Raises `ValueError` for another number of values, or an expression that is not affine."""
        if len(values) != len(self.names):
            raise ValueError(f"takes {len(self.names)} values, not {len(values)}")
        known = dict(zip(self.names, values, strict=True))
        return [_evaluated(result, known) for result in self.results]


def _evaluated(expression: ast.expr, known: Mapping[str, int]) -> int:
    match expression:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name) if name in known:
            return known[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluated(operand, known)
        case ast.BinOp(left=left, op=operation, right=right):
            a, b = _evaluated(left, known), _evaluated(right, known)
            match operation:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.FloorDiv() if b:
                    return a // b
                case ast.Mod() if b:
                    return a % b
                case ast.MatMult() if b:
                    return -(-a // b)
    raise ValueError("is not a sum of products, divisions and remainders")
