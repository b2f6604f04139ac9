"""Writes the program of a trace as text, operation by operation, with the level that each ciphertext has in the trace.

For example, `text.product("c", "mul %0, %1", 3)` adds `%2 = mul %0, %1 at "trace.csv":7` and calls its value c.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from ..errors import ProgramError

MOST_LINES = 100_000
"""Of operations."""
MOST_PUBLIC = 1 << 22
"""Numbers in all public operands together."""
PRINTED = re.compile(r'[^ -~]|["\\]')
"""What a program's text does not take in a place's name."""
PUBLIC_FACTOR = 65_537


@dataclass(frozen=True)
class Value:
    """A ciphertext: its node, level, and whether it is a product of CKKS whose scale has not been reduced yet."""

    node: int
    level: int
    product: bool = False

    @property
    def settled(self) -> int:
        """The level once its scale is reduced."""
        return self.level - self.product


@dataclass
class TraceText:
    """The nodes so far."""

    file: str
    scheme: str
    """ "ckks" or "bgv"."""
    slots: int
    modulus: int
    """Of BGV's plaintexts."""
    nodes: list[str] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)
    """Labels of results that no line has read."""
    public_numbers: int = 0
    line: int = 0
    base: int = 5
    amounts: dict[int, int] = field(default_factory=dict)
    """Amounts of rotations by their Galois elements, the powers of `base`."""
    _factors: list[str] = field(default_factory=list)

    def input(self, label: str, level: int, magnitude: float = 1.0, *, planned: bool = False) -> Value:
        """A ciphertext that no line has computed; `planned` if the plan chooses where it is encrypted."""
        bound = magnitude if self.scheme == "ckks" else self.modulus / 2
        where = "" if planned else f" level {level}"
        made = Value(self.node(f'input "{label}" magnitude {bound}{where}'), level)
        self.values[label] = made
        return made

    def sum(self, operation: str, result: str, a: Value, b: Value) -> None:
        """A sum or difference. A product and a sum of products are added with their scales; other numbers are added after reducing them."""
        both = a.product and b.product
        level = min(a.level, b.level) if both else min(a.settled, b.settled)
        self.write(result, f"{operation} %{a.node}, %{b.node}", level, product=both)

    def product(self, result: str, text: str, level: int) -> None:
        """A product of operands whose scales are reduced, at their lower level."""
        if level < (self.scheme == "ckks"):
            self.fail("a product at the last level, whose scale cannot be reduced; the trace needs a limb more")
        self.write(result, text, level, product=self.scheme == "ckks")

    def at(self, a: Value, level: int) -> Value:
        """A ciphertext at a lower level. BGV's plan switches moduli by noise, so there it stays as it is."""
        if self.scheme == "bgv":
            return replace(a, level=level)
        return Value(self.node(f"mod_switch %{a.node} to {level}"), level)

    def lowered(self, result: str, a: Value, level: int) -> None:
        """A ciphertext with fewer limbs, after its scale is reduced."""
        lower = self.at(a, min(level, a.settled))
        self.write(result, None, lower.level, node=lower.node)

    def turn(self, element: int, degree: int) -> tuple[bool, int]:
        """An automorphism as a rotation, perhaps after a conjugation: by powers of 5, or of 3 if the trace's first element is one, as SEAL has them."""
        order = 2 * degree
        if not self.amounts:
            self.base = 3 if element % 8 == 3 else 5
            power = 1
            for amount in range(degree // 2):
                self.amounts[power] = amount
                power = power * self.base % order
        conjugated = element not in self.amounts
        amount = self.amounts.get(order - element if conjugated else element)
        if amount is None:
            self.fail(f"Galois element {element} is no power of {self.base}, nor is its negative")
        row = self.slots if self.scheme == "ckks" else self.slots // 2
        return conjugated, amount % row

    def public(self, numbers: Collection[complex] | None) -> int:
        """The node of a public vector: the given numbers and then zeros, one number in all slots, or, for `None`, numbers that differ in each vector."""
        self.public_numbers += self.slots
        if self.public_numbers > MOST_PUBLIC:
            count = self.public_numbers // self.slots
            self.fail(f"{count} public operands of {self.slots:,} numbers; at most {MOST_PUBLIC:,} numbers are held")
        if numbers is None:
            made = self._made_up(self.public_numbers // self.slots % self.slots)
        else:
            made = [self._number(number) for number in numbers]
            made += [self._number(0)] * (self.slots - len(made) if len(made) > 1 else 0)
        return self.node(f"constant [{', '.join(made)}]", placed=False)

    def _number(self, number: complex) -> str:
        if self.scheme == "bgv":
            return str(int(number.real) % self.modulus)
        return f"({number.real!r}, {number.imag!r})" if number.imag else repr(float(number.real))

    def _made_up(self, turned: int) -> list[str]:
        """Numbers that no compiler can simplify, turned by some slots."""
        if not self._factors:
            factors = (pow(3, at, PUBLIC_FACTOR) for at in range(1, self.slots + 1))
            on_unit = self.scheme == "ckks"
            self._factors = [f"{factor / PUBLIC_FACTOR:.6f}" if on_unit else str(factor) for factor in factors]
        return [*self._factors[turned:], *self._factors[:turned]]

    def write(
        self, label: str, text: str | None, level: int, *, product: bool = False, node: int | None = None
    ) -> None:
        """A result, of a new node or of an existing one."""
        made = self.node(text) if text is not None else node
        assert made is not None
        self.values[label] = Value(made, level, product)
        self.unread.add(label)

    def node(self, text: str, *, placed: bool = True) -> int:
        """A new node, at the current line."""
        where = f' at "{PRINTED.sub("_", self.file)[-200:]}":{self.line}' if placed else ""
        self.nodes.append(f"%{len(self.nodes)} = {text}{where}")
        return len(self.nodes) - 1

    def text(self, outputs: Collection[str]) -> str:
        """The program with these outputs. They keep their level, so that everything before them does."""
        for label, value in self.values.items():
            if label in outputs:
                kept = self.at(value, value.settled)
                self.node(f'output "{label}" %{kept.node}', placed=False)
        scheme = self.scheme if self.scheme == "ckks" else f"bgv({self.modulus})"
        name = re.sub(r"\W", "_", Path(self.file).stem, flags=re.ASCII)[:100] or "trace"
        return "\n".join([f'program "{name}" {scheme} slots {self.slots}', *self.nodes, ""])

    def fail(self, message: str) -> NoReturn:
        """The error at the current line."""
        raise ProgramError(f"{self.file}:{self.line}: {message}")
