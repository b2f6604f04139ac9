"""Random programs on fixed-point numbers, and what they are on exact fractions: written with integers alone, without the package's own rounding."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import polyfabric as pf

ROUNDINGS, OVERFLOWS = ("floor", "nearest", "zero"), ("wrap", "saturate", "refuse")
MOST_BITS = 40


class Beyond(Exception):  # noqa: N818 - an expected outcome
    """A result is beyond a type that refuses this."""


def over(numerator: int, denominator: int, rounding: str) -> int:
    """A quotient of integers, rounded."""
    if denominator < 0:
        numerator, denominator = -numerator, -denominator
    down, rest = numerator // denominator, numerator % denominator
    if rounding == "nearest":
        return down + (2 * rest > denominator or (2 * rest == denominator and down % 2 == 1))
    return down + (rounding == "zero" and down < 0 and rest > 0)


@dataclass
class Known:
    """A type as the page describes it. Integers have point 0."""

    least: int
    most: int
    point: int
    modes: tuple[str, str] | None
    wraps: int = 0

    def fit(self, value: Fraction, *, quiet: bool = False) -> Fraction:
        assert self.modes is not None
        rounding, overflow = self.modes
        scaled = value * 2**self.point
        steps = over(scaled.numerator, scaled.denominator, rounding)
        if self.least <= steps <= self.most:
            return Fraction(steps, 2**self.point)
        if overflow == "refuse":
            raise Beyond
        if overflow == "saturate":
            return Fraction(self.least if steps < self.least else self.most, 2**self.point)
        self.wraps += not quiet
        size = self.most - self.least + 1
        return Fraction((steps - self.least) % size + self.least, 2**self.point)


def narrowest(*kinds: Known) -> Known:
    """The type that holds the values of all."""
    point = max(kind.point for kind in kinds)
    least = min(kind.least * 2 ** (point - kind.point) for kind in kinds)
    most = max(kind.most * 2 ** (point - kind.point) for kind in kinds)
    bits = 2
    while not (-(2 ** (bits - 1)) <= least and most < 2 ** (bits - 1) if least < 0 else most < 2**bits):
        bits += 1
    ends = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if least < 0 else (0, 2**bits - 1)
    return Known(*ends, point, next(kind.modes for kind in kinds if kind.modes))


def quotient(kind: Known) -> Callable[[Fraction, Fraction], Fraction]:
    """Division, with all bits 1 or 0 for the divisor 0."""
    ones = Fraction(-1 if kind.least < 0 else kind.most, 2**kind.point)
    return lambda x, y: x / y if y else ones if x >= 0 else Fraction(0)


EXACT: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "max": max,
    "min": min,
}
COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
}
PROGRAM: dict[str, Callable[[Any, Any], Any]] = {
    **EXACT,
    "/": lambda x, y: x / y,
    "max": lambda x, y: pf.max(x, y),
    "min": lambda x, y: pf.min(x, y),
    **COMPARED,
}


@dataclass
class Made:
    """A value of a random program: how to compute it, its type, and its number; an integer if the type has no modes."""

    code: Callable[[dict[str, Any]], Any]
    kind: Known
    value: Fraction
    text: str

    def at(self, values: dict[str, Any]) -> Any:
        """The value inside a program, computed once."""
        if self.text not in values:
            values[self.text] = self.code(values)
        return values[self.text]


class Random:
    """The random program of a seed."""

    def __init__(self, seed: int, *, widest: int = 16, modes: tuple[str, str] | None = None) -> None:
        self.random = random.Random(seed)
        self.widest = widest
        self.modes = modes or (self.random.choice(ROUNDINGS), self.random.choice(OVERFLOWS))
        self.inputs: dict[str, Any] = {}
        self.given: dict[str, Any] = {}
        self.made: list[Made] = []
        self.refused = False
        self.wrapped: set[str] = set()

    def _drawn(self, least: int, most: int) -> int:
        ends = [least, most, 0, 1, -1, least + 1, most - 1]
        drawn = self.random.choice(ends) if self.random.random() < 0.4 else self.random.randint(least, most)
        return min(max(drawn, least), most)

    def _input(self, name: str, kind: Known, declared: Any) -> None:
        value = Fraction(self._drawn(kind.least, kind.most), 2**kind.point)
        self.inputs[name] = declared
        self.given[name] = (
            float(value) if kind.modes and self.random.random() < 0.5 else value if kind.modes else int(value)
        )
        self.made.append(Made(lambda values: values[name], kind, value, name))

    def _fixed(self, name: str) -> None:
        bits = self.random.randint(2, self.widest)
        point, signed = self.random.randint(0, bits), self.random.random() < 0.75
        ends = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        rounding, overflow = self.modes
        self._input(
            name,
            Known(*ends, point, self.modes),
            pf.Fixed(bits, point, signed=signed, rounding=rounding, overflow=overflow),
        )

    def _integer(self, name: str) -> None:
        bits = self.random.randint(2, 8)
        least, most, declared = self.random.choice(
            [
                (0, 2**bits - 1, pf.UInt(bits)),
                (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, pf.SInt(bits)),
                (-3, 11, pf.Int(-3, 11)),
                (0, 1, pf.UInt(1)),
            ]
        )
        self._input(name, Known(least, most, 0, None), declared)

    def _public(self, kind: Known) -> tuple[Any, Fraction]:
        """A public number that the type holds once it is rounded, as any of Python's types."""
        inner = [self._drawn(kind.least, kind.most), self._drawn(kind.least, kind.most)]
        value = Fraction(sum(inner), 2 ** (kind.point + 1))
        if value == int(value) and self.random.random() < 0.5:
            return int(value), value
        given = self.random.choice([value, float(value), Decimal(value.numerator) / Decimal(value.denominator)])
        return given, Fraction(given)

    def _operation(self) -> None:
        fixed = [own for own in self.made if own.kind.modes]
        a, b = self.random.choice(fixed), self.random.choice(self.made)
        op = self.random.choice(
            ["+", "-", "*", "*", "/", "max", "min", "neg", "abs", "where", "sum", "cast", "integer", "from", *COMPARED]
        )
        if op in ("neg", "abs"):
            exact = -a.value if op == "neg" else abs(a.value)
            apply: Callable[[Any], Any] = (lambda x: -x) if op == "neg" else abs
            return self._add(lambda values: apply(a.at(values)), a.kind, exact, f"{op}({a.text})")
        if op == "cast":
            bits = self.random.randint(2, self.widest)
            point, modes = self.random.randint(0, bits), self.modes
            kind = Known(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, point, modes)
            to = pf.Fixed(bits, point, rounding=modes[0], overflow=modes[1])
            return self._add(lambda values: a.at(values).cast(to), kind, a.value, f"{a.text}.cast({to!r})")
        if op == "integer":
            bits = self.random.randint(2, self.widest)
            whole = over(a.value.numerator, a.value.denominator, self.modes[0])
            kept = (whole + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
            kind = Known(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 0, None)
            self.made.append(
                Made(
                    lambda values: a.at(values).cast(pf.SInt(bits)),
                    kind,
                    Fraction(kept),
                    f"{a.text}.cast(SInt({bits}))",
                )
            )
            return None
        if op == "from":
            integers = [own for own in self.made if not own.kind.modes]
            if not integers:
                return self._operation()
            own, point = self.random.choice(integers), self.random.randint(0, 6)
            to = pf.Fixed(14, point, rounding=self.modes[0], overflow=self.modes[1])
            kind = Known(-(2**13), 2**13 - 1, point, self.modes)
            return self._add(lambda values: own.at(values).cast(to), kind, own.value, f"{own.text}.cast({to!r})")
        if op == "where":
            c = self.random.choice(fixed)
            common = narrowest(a.kind, b.kind)
            exact = a.value if c.value < a.value else b.value
            return self._add(
                lambda values: pf.where(c.at(values) < a.at(values), a.at(values), b.at(values)),
                common,
                exact,
                f"where({c.text} < {a.text}, {a.text}, {b.text})",
            )
        if op == "sum":
            c = self.random.choice(self.made)
            given, value = self._public(narrowest(a.kind, b.kind, c.kind))
            common = narrowest(a.kind, b.kind, c.kind)
            exact = a.value + b.value + c.value + common.fit(value, quiet=True)
            return self._add(
                lambda values: pf.sum(a.at(values), b.at(values), given, c.at(values)),
                common,
                exact,
                f"sum({a.text}, {b.text}, {given!r}, {c.text})",
            )
        return self._pair(op, a, b)

    def _pair(self, op: str, a: Made, b: Made) -> None:
        kind = narrowest(a.kind, b.kind)
        codes, values, text = [a.at, b.at], [a.value, b.value], [a.text, b.text]
        if self.random.random() < 0.35:
            kind = Known(a.kind.least, a.kind.most, a.kind.point, a.kind.modes)
            given, exact = self._public(kind)
            codes[1] = lambda _: given
            text[1] = repr(given)
            values[1] = exact if op in COMPARED else kind.fit(exact, quiet=True)
            if op == "/" and exact and not values[1]:
                self._operation()
                return
        if self.random.random() < 0.5:
            codes.reverse()
            values.reverse()
            text.reverse()
        written = f"({text[0]} {op} {text[1]})"

        def code(values: dict[str, Any]) -> Any:
            return PROGRAM[op](codes[0](values), codes[1](values))

        if op in COMPARED:
            self.made.append(Made(code, Known(0, 1, 0, None), Fraction(COMPARED[op](*values)), written))
        else:
            exact = (quotient(kind) if op == "/" else EXACT[op])(*values)
            self._add(code, kind, exact, written, by_zero=op == "/" and not values[1])

    def _add(
        self,
        code: Callable[[dict[str, Any]], Any],
        kind: Known,
        exact: Fraction,
        text: str,
        *,
        by_zero: bool = False,
    ) -> None:
        own = Known(kind.least, kind.most, kind.point, kind.modes)
        if own.most - own.least >= 2**MOST_BITS:
            return self._operation()
        try:
            value = own.fit(exact)
        except Beyond:
            self.refused = True
            value = exact
        if own.wraps or by_zero:
            self.wrapped.add(text)
        self.made.append(Made(code, own, value, text))
        return None

    def write(self) -> Random:
        for name in ("x", "y"):
            self._fixed(name)
        self._integer("n")
        inputs = len(self.made)
        for _ in range(self.random.randint(2, 6)):
            if not self.refused:
                self._operation()
        self.results = self.made[inputs:]
        return self

    def text(self) -> str:
        return f"{self.inputs}\n{self.given}\n" + "\n".join(f"{own.text} = {own.value}" for own in self.results)

    def program(self) -> pf.Program:
        def random_program(**values: Any) -> dict[str, Any]:
            return {f"r{at}": own.at(values) for at, own in enumerate(self.results)}

        return pf.program(**self.inputs)(random_program)

    @property
    def expected(self) -> dict[str, Fraction]:
        return {f"r{at}": own.value for at, own in enumerate(self.results)}
