"""`from_trace`: a log of homomorphic operations, as a program that machines time and whose cost on a computer is estimated.

It is the CSV trace of Intel's encrypted-computing-sdk, with one operation a line:

    instruction,scheme,poly_modulus_degree,rns_terms,arg0,arg1,arg2
    mul,BGV,16384,14,ct2-3-13,ct0-2-13,ct1-2-13
    relin,BGV,16384,14,ct3-2-13,ct2-3-13

arg0 is the result. `ct2-3-13` is ciphertext ct2 of 3 polynomials in 13 limbs. A ciphertext that no line has computed is an input, and one that no line reads
is an output. A trace has no data: inputs are of magnitude 1, or any integers, and public operands are made up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from ..errors import ProgramError
from ..host.names import suggestion
from ..language.types import MOST_SLOTS
from ..run.runnable_programs import Program
from .source import text_of

LARGEST_FILE = 1 << 26
MOST_LINES = 100_000
MOST_PUBLIC = 1 << 22
"""Numbers in all public operands together."""
MOST_LIMBS = 128
DEGREES = [1 << log2 for log2 in range(10, 18)]

COLUMNS = ("instruction", "scheme", "poly_modulus_degree", "rns_terms")
"""The first columns, in this order: Intel's traces have them so, also below headers that name others. The last one has the limbs of a key, which
is not needed, because a parameter set has its own special primes."""

OPERAND = re.compile(r"([A-Za-z_]\w{0,63})-([1-3])-(\d{1,3})", re.ASCII)
Operand = tuple[str, int, int]
"""Label, limbs and polynomials."""

PRINTED = re.compile(r'[^ -~]|["\\]')
"""What a program's text does not take in a place's name."""
PUBLIC_FACTOR = 65_537


def from_trace(trace: str | Path) -> Program:
    """The program of a CSV trace: `trace` is the file's path, or its text.

    Operations run at the levels of the trace; parameter set and key switch are chosen again for each machine. A line that is not understood is refused
    with its number.
    """
    return parse(*text_of(trace, reader="from_trace", file="the file of a trace", largest=LARGEST_FILE))


def parse(text: str, file: str) -> Program:
    """The program of a trace's text; `file` is its name in messages."""
    lines = text.splitlines()
    if len(lines) > MOST_LINES:
        raise ProgramError(f"{file}: {len(lines):,} lines, but at most {MOST_LINES:,} are read; cut the trace")
    if not lines or not {"instruction", "scheme"} <= {cell.strip() for cell in lines[0].split(",")}:
        raise ProgramError(f"{file}:1: not the header of a trace, {','.join(COLUMNS)},arg0,arg1,..; check the file")
    made: _Trace | None = None
    for number, line in enumerate(lines[1:], 2):
        cells = [cell.strip() for cell in line.rstrip(", ").split(",")]
        if cells == [""]:
            continue
        if len(cells) <= len(COLUMNS):
            raise ProgramError(
                f"{file}:{number}: {len(cells)} columns; an operation has {','.join(COLUMNS)} and arguments"
            )
        made = made or _Trace.of(cells, file, number)
        made.add(cells, number)
    if made is None:
        raise ProgramError(f"{file}: a trace without operations")
    return Program.parse(made.text())


@dataclass(frozen=True)
class _Value:
    """A ciphertext: its node, level, and whether it is a product of CKKS whose scale has not been reduced yet."""

    node: int
    level: int
    product: bool = False

    @property
    def settled(self) -> int:
        """The level once its scale is reduced."""
        return self.level - self.product


@dataclass
class _Trace:
    """Writes the text of a program, line by line."""

    file: str
    scheme: str
    degree: int
    base: int = 5
    amounts: dict[int, int] = field(default_factory=dict)
    """Amounts of rotations by their Galois elements, the powers of `base`."""
    nodes: list[str] = field(default_factory=list)
    values: dict[str, _Value] = field(default_factory=dict)
    public: dict[str, int] = field(default_factory=dict)
    numbers: list[str] = field(default_factory=list)
    """The slots of the public operands; each has them turned by another amount."""
    unread: set[str] = field(default_factory=set)
    """Labels of results that no line has read."""
    line: int = 0

    @classmethod
    def of(cls, cells: Sequence[str], file: str, line: int) -> _Trace:
        """An empty trace of the scheme and ring of its first operation."""
        scheme, degree = cells[1].lower(), cells[2]
        if scheme not in ("bgv", "ckks"):
            raise ProgramError(f"{file}:{line}: scheme {cells[1][:80]!r}; traces of BGV and CKKS are read")
        if degree not in map(str, DEGREES):
            raise ProgramError(
                f"{file}:{line}: degree {degree[:80]!r}; it is a power of two from {DEGREES[0]} to {DEGREES[-1]}"
            )
        return cls(file, scheme, int(degree))

    @property
    def slots(self) -> int:
        """Slots of the program: those of the ring, if sets have so many."""
        return min(self.degree if self.scheme == "bgv" else self.degree // 2, MOST_SLOTS)

    @property
    def modulus(self) -> int:
        """A plaintext modulus with slots in this ring; a trace does not have it."""
        return 65_537 if self.degree <= 1 << 15 else 786_433

    # -- lines --------------------------------------------------------------------------------------------------------

    def add(self, cells: Sequence[str], line: int) -> None:
        """One operation."""
        self.line = line
        for name, found, own in zip(COLUMNS[1:], cells[1:], (self.scheme, str(self.degree)), strict=False):
            if found.lower() != own:
                self._fail(f"{name} is {found[:80]!r}, but {own} in the lines before; split the trace")
        instruction = cells[0].lower()
        if instruction not in OPERATIONS:
            self._fail(f"instruction {cells[0][:80]!r} is not read; {suggestion(instruction, list(OPERATIONS))}")
        OPERATIONS[instruction](self, instruction, [cell for cell in cells[len(COLUMNS) :] if cell])

    def _sum_or_product(self, instruction: str, arguments: list[str]) -> None:
        result, first, second = self._operands(arguments, 3)
        a, b = self._read(first), self._read(second)
        if instruction == "mul":
            self._product(result, f"mul %{a.node}, %{b.node}", min(a.settled, b.settled))
        else:
            # A product and a sum of products are added with their scales; other numbers are added after reducing them.
            both = a.product and b.product
            level = min(a.level, b.level) if both else min(a.settled, b.settled)
            self._write(result, f"{instruction} %{a.node}, %{b.node}", level, product=both)

    def _square(self, _: str, arguments: list[str]) -> None:
        result, operand = self._operands(arguments, 2)
        a = self._read(operand)
        self._product(result, f"mul %{a.node}, %{a.node}", a.settled)

    def _plain(self, instruction: str, arguments: list[str]) -> None:
        result, operand, public = self._operands(arguments, 3)
        a, constant = self._read(operand), self._constant(public[0])
        text = f"{instruction} %{a.node}, %{constant}"
        if instruction == "mul_plain":
            self._product(result, text, a.settled)
        else:
            self._write(result, text, a.level, product=a.product)

    def _relin(self, _: str, arguments: list[str]) -> None:
        result, operand = self._operands(arguments, 2, numbers=True)
        a = self._read(operand)
        self._write(result, f"relinearise %{a.node}", a.level, product=a.product)

    def _rescale(self, _: str, arguments: list[str]) -> None:
        result, operand = self._operands(arguments, 2, numbers=True)
        if self.scheme == "bgv":
            self._fail("rescale is an operation of CKKS; BGV has mod_switch")
        a = self._read(operand)
        if a.product:
            self._write(result, f"rescale %{a.node}", a.level - 1)
        else:
            self._lowered(result, a)

    def _mod_switch(self, _: str, arguments: list[str]) -> None:
        result, operand = self._operands(arguments, 2)
        self._lowered(result, self._read(operand))

    def _lowered(self, result: Operand, a: _Value) -> None:
        level = result[1] - 1
        if level > a.level:
            self._fail(f"{result[0]} has {result[1]} limbs, more than the {a.level + 1} of its operand")
        lowered = self._at(a, min(level, a.settled))
        self._write(result, None, lowered.level, node=lowered.node)

    def _at(self, a: _Value, level: int) -> _Value:
        """A ciphertext at a lower level. BGV's plan switches moduli by noise, so there it stays as it is."""
        if self.scheme == "bgv":
            return replace(a, level=level)
        return _Value(self._node(f"mod_switch %{a.node} to {level}"), level)

    def _rotate(self, _: str, arguments: list[str]) -> None:
        numbers = [int(one) for one in arguments[2:] if re.fullmatch(r"\d{1,6}", one)]
        result, operand = self._operands(arguments, 2, numbers=True)
        if not numbers or not numbers[0] % 2 or numbers[0] >= 2 * self.degree:
            self._fail(f"rotate needs a Galois element, an odd number below {2 * self.degree}, behind its operand")
        a = self._read(operand)
        node = a.node
        conjugated, amount = self._turn(numbers[0])
        if conjugated:
            node = self._node(f"conjugate %{node}")
        self._write(result, f"rotate %{node} by {amount}" if amount else None, a.level, product=a.product, node=node)

    def _turn(self, element: int) -> tuple[bool, int]:
        """An automorphism as a rotation, perhaps after a conjugation: by powers of 5, or of 3 if the trace's first element is one, as SEAL has them."""
        order = 2 * self.degree
        if not self.amounts:
            self.base = 3 if element % 8 == 3 else 5
            power = 1
            for amount in range(self.degree // 2):
                self.amounts[power] = amount
                power = power * self.base % order
        conjugated = element not in self.amounts
        amount = self.amounts.get(order - element if conjugated else element)
        if amount is None:
            self._fail(f"Galois element {element} is no power of {self.base}, nor is its negative")
        row = self.slots if self.scheme == "ckks" else self.slots // 2
        return conjugated, amount % row

    # -- operands and nodes -------------------------------------------------------------------------------------------

    def _operands(self, arguments: list[str], count: int, *, numbers: bool = False) -> list[Operand]:
        """Ciphertexts; some operations have numbers behind them."""
        more = arguments[count:]
        if len(arguments) < count or (more and not (numbers and all(re.fullmatch(r"\d{1,6}", one) for one in more))):
            self._fail(f"{len(arguments)} arguments, but {count} are needed: the result comes first")
        found = []
        for argument in arguments[:count]:
            match = OPERAND.fullmatch(argument)
            if match is None or not 1 <= int(match[3]) <= MOST_LIMBS:
                self._fail(f"{argument[:80]!r} is no operand; one is LABEL-POLYNOMIALS-LIMBS, such as ct0-2-13")
            found.append((match[1], int(match[3]), int(match[2])))
        return found

    def _read(self, operand: Operand) -> _Value:
        """A ciphertext; an input if no line has computed it."""
        label, limbs, polynomials = operand
        if label in self.public:
            self._fail(f"{label} is public in a line before; name the ciphertext otherwise")
        if label not in self.values:
            if polynomials != 2:
                self._fail(f"{label} has {polynomials} polynomials, but no line before computes it; inputs have 2")
            magnitude = "1.0" if self.scheme == "ckks" else f"{self.modulus / 2}"
            node = self._node(f'input "{label}" magnitude {magnitude} level {limbs - 1}')
            self.values[label] = _Value(node, limbs - 1)
        value = self.values[label]
        self.unread.discard(label)
        if limbs - 1 < value.settled:
            return self._at(value, limbs - 1)
        return value

    def _constant(self, label: str) -> int:
        """A public operand: numbers that no compiler can simplify, others for each label."""
        if label in self.values:
            self._fail(f"{label} is a ciphertext in a line before; name the public operand otherwise")
        if label not in self.public:
            count = len(self.public) + 1
            if count * self.slots > MOST_PUBLIC:
                self._fail(
                    f"{count} public operands of {self.slots:,} numbers; at most {MOST_PUBLIC:,} numbers are held"
                )
            if not self.numbers:
                factors = (pow(3, at, PUBLIC_FACTOR) for at in range(1, self.slots + 1))
                on_unit = self.scheme == "ckks"
                self.numbers = [f"{factor / PUBLIC_FACTOR:.6f}" if on_unit else str(factor) for factor in factors]
            amount = count % self.slots
            turned = ", ".join((*self.numbers[amount:], *self.numbers[:amount]))
            self.public[label] = self._node(f"constant [{turned}]", placed=False)
        return self.public[label]

    def _product(self, result: Operand, text: str, level: int) -> None:
        if level < (self.scheme == "ckks"):
            self._fail("a product at the last level, whose scale cannot be reduced; the trace needs a limb more")
        self._write(result, text, level, product=self.scheme == "ckks")

    def _write(
        self, result: Operand, text: str | None, level: int, *, product: bool = False, node: int | None = None
    ) -> None:
        """A result, of a new node or of an existing one."""
        label = result[0]
        if label in self.public:
            self._fail(f"{label} is public in a line before; name the result otherwise")
        made = self._node(text) if text is not None else node
        assert made is not None
        self.values[label] = _Value(made, level, product)
        self.unread.add(label)

    def _node(self, text: str, *, placed: bool = True) -> int:
        where = f' at "{PRINTED.sub("_", self.file)[-200:]}":{self.line}' if placed else ""
        self.nodes.append(f"%{len(self.nodes)} = {text}{where}")
        return len(self.nodes) - 1

    def text(self) -> str:
        """The program. Outputs keep their level, so that everything before them does."""
        outputs = {label: value for label, value in self.values.items() if label in self.unread}
        for label, value in outputs.items():
            kept = self._at(value, value.settled)
            self._node(f'output "{label}" %{kept.node}', placed=False)
        scheme = self.scheme if self.scheme == "ckks" else f"bgv({self.modulus})"
        name = re.sub(r"\W", "_", Path(self.file).stem, flags=re.ASCII)[:100] or "trace"
        return "\n".join([f'program "{name}" {scheme} slots {self.slots}', *self.nodes, ""])

    def _fail(self, message: str) -> NoReturn:
        raise ProgramError(f"{self.file}:{self.line}: {message}")


OPERATIONS: dict[str, Callable[[_Trace, str, list[str]], None]] = {
    "add": _Trace._sum_or_product,
    "sub": _Trace._sum_or_product,
    "mul": _Trace._sum_or_product,
    "square": _Trace._square,
    "add_plain": _Trace._plain,
    "mul_plain": _Trace._plain,
    "relin": _Trace._relin,
    "rescale": _Trace._rescale,
    "mod": _Trace._mod_switch,
    "mod_switch": _Trace._mod_switch,
    "rotate": _Trace._rotate,
}
"""Operations by Intel's names."""
