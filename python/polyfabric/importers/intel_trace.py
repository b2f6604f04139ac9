"""Traces of Intel's encrypted-computing-sdk: CSV with one operation a line.

    instruction,scheme,poly_modulus_degree,rns_terms,arg0,arg1,arg2
    mul,BGV,16384,14,ct2-3-13,ct0-2-13,ct1-2-13
    relin,BGV,16384,14,ct3-2-13,ct2-3-13

arg0 is the result. `ct2-3-13` is ciphertext ct2 of 3 polynomials in 13 limbs. A ciphertext that no line has computed is an input, and one that no line reads
is an output. A trace has no data: inputs are of magnitude 1, or any integers, and public operands are made up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..errors import ProgramError
from ..host.names import suggestion
from ..language.types import MOST_SLOTS
from ..run.runnable_programs import Program
from .trace_text import MOST_LINES, TraceText, Value

MOST_LIMBS = 128
DEGREES = [1 << log2 for log2 in range(10, 18)]

COLUMNS = ("instruction", "scheme", "poly_modulus_degree", "rns_terms")
"""The first columns, in this order: Intel's traces have them so, also below headers that name others. The last one has the limbs of a key, which
is not needed, because a parameter set has its own special primes."""

OPERAND = re.compile(r"([A-Za-z_]\w{0,63})-([1-3])-(\d{1,3})", re.ASCII)
Operand = tuple[str, int, int]
"""Label, limbs and polynomials."""


def is_header(line: str) -> bool:
    """Whether a text with this first line is such a trace."""
    return {"instruction", "scheme"} <= {cell.strip() for cell in line.split(",")}


def parse(lines: Sequence[str], file: str) -> Program:
    """The program of a trace's lines; `file` is its name in messages."""
    if len(lines) > MOST_LINES:
        raise ProgramError(f"{file}: {len(lines):,} lines, but at most {MOST_LINES:,} are read; cut the trace")
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
    return Program.parse(made.text.text(made.text.unread))


@dataclass
class _Trace:
    """Writes the text of a program, line by line."""

    text: TraceText
    degree: int
    public: dict[str, int] = field(default_factory=dict)

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
        ring = int(degree)
        slots = min(ring if scheme == "bgv" else ring // 2, MOST_SLOTS)
        # A plaintext modulus with slots in this ring; a trace does not have it.
        return cls(TraceText(file, scheme, slots, 65_537 if ring <= 1 << 15 else 786_433), ring)

    # -- lines --------------------------------------------------------------------------------------------------------

    def add(self, cells: Sequence[str], line: int) -> None:
        """One operation."""
        self.text.line = line
        for name, found, own in zip(COLUMNS[1:], cells[1:], (self.text.scheme, str(self.degree)), strict=False):
            if found.lower() != own:
                self.text.fail(f"{name} is {found[:80]!r}, but {own} in the lines before; split the trace")
        instruction = cells[0].lower()
        if instruction not in OPERATIONS:
            self.text.fail(f"instruction {cells[0][:80]!r} is not read; {suggestion(instruction, list(OPERATIONS))}")
        OPERATIONS[instruction](self, instruction, [cell for cell in cells[len(COLUMNS) :] if cell])

    def _sum_or_product(self, instruction: str, arguments: list[str]) -> None:
        result, first, second = self._operands(arguments, 3)
        a, b = self._read(first), self._read(second)
        if instruction == "mul":
            self.text.product(self._new(result), f"mul %{a.node}, %{b.node}", min(a.settled, b.settled))
        else:
            self.text.sum(instruction, self._new(result), a, b)

    def _square(self, _: str, arguments: list[str]) -> None:
        result, operand = self._operands(arguments, 2)
        a = self._read(operand)
        self.text.product(self._new(result), f"mul %{a.node}, %{a.node}", a.settled)

    def _plain(self, instruction: str, arguments: list[str]) -> None:
        result, operand, public = self._operands(arguments, 3)
        a, constant = self._read(operand), self._constant(public[0])
        text = f"{instruction} %{a.node}, %{constant}"
        if instruction == "mul_plain":
            self.text.product(self._new(result), text, a.settled)
        else:
            self.text.write(self._new(result), text, a.level, product=a.product)

    def _relin(self, _: str, arguments: list[str]) -> None:
        result, operand = self._operands(arguments, 2, numbers=True)
        a = self._read(operand)
        self.text.write(self._new(result), f"relinearise %{a.node}", a.level, product=a.product)

    def _rescale(self, _: str, arguments: list[str]) -> None:
        result, operand = self._operands(arguments, 2, numbers=True)
        if self.text.scheme == "bgv":
            self.text.fail("rescale is an operation of CKKS; BGV has mod_switch")
        a = self._read(operand)
        if a.product:
            self.text.write(self._new(result), f"rescale %{a.node}", a.level - 1)
        else:
            self._lower(result, a)

    def _mod_switch(self, _: str, arguments: list[str]) -> None:
        result, operand = self._operands(arguments, 2)
        self._lower(result, self._read(operand))

    def _lower(self, result: Operand, a: Value) -> None:
        level = result[1] - 1
        if level > a.level:
            self.text.fail(f"{result[0]} has {result[1]} limbs, more than the {a.level + 1} of its operand")
        self.text.lowered(self._new(result), a, level)

    def _rotate(self, _: str, arguments: list[str]) -> None:
        numbers = [int(one) for one in arguments[2:] if re.fullmatch(r"\d{1,6}", one)]
        result, operand = self._operands(arguments, 2, numbers=True)
        if not numbers or not numbers[0] % 2 or numbers[0] >= 2 * self.degree:
            self.text.fail(f"rotate needs a Galois element, an odd number below {2 * self.degree}, behind its operand")
        a = self._read(operand)
        node = a.node
        conjugated, amount = self.text.turn(numbers[0], self.degree)
        if conjugated:
            node = self.text.node(f"conjugate %{node}")
        self.text.write(
            self._new(result), f"rotate %{node} by {amount}" if amount else None, a.level, product=a.product, node=node
        )

    # -- operands and nodes -------------------------------------------------------------------------------------------

    def _operands(self, arguments: list[str], count: int, *, numbers: bool = False) -> list[Operand]:
        """Ciphertexts; some operations have numbers behind them."""
        more = arguments[count:]
        if len(arguments) < count or (more and not (numbers and all(re.fullmatch(r"\d{1,6}", one) for one in more))):
            self.text.fail(f"{len(arguments)} arguments, but {count} are needed: the result comes first")
        found = []
        for argument in arguments[:count]:
            match = OPERAND.fullmatch(argument)
            if match is None or not 1 <= int(match[3]) <= MOST_LIMBS:
                self.text.fail(f"{argument[:80]!r} is no operand; one is LABEL-POLYNOMIALS-LIMBS, such as ct0-2-13")
            found.append((match[1], int(match[3]), int(match[2])))
        return found

    def _read(self, operand: Operand) -> Value:
        """A ciphertext; an input if no line has computed it."""
        label, limbs, polynomials = operand
        if label in self.public:
            self.text.fail(f"{label} is public in a line before; name the ciphertext otherwise")
        if label not in self.text.values and polynomials != 2:
            self.text.fail(f"{label} has {polynomials} polynomials, but no line before computes it; inputs have 2")
        value = self.text.values.get(label) or self.text.input(label, limbs - 1)
        self.text.unread.discard(label)
        return self.text.at(value, limbs - 1) if limbs - 1 < value.settled else value

    def _constant(self, label: str) -> int:
        """A public operand: numbers that no compiler can simplify, others for each label."""
        if label in self.text.values:
            self.text.fail(f"{label} is a ciphertext in a line before; name the public operand otherwise")
        if label not in self.public:
            self.public[label] = self.text.public(None)
        return self.public[label]

    def _new(self, result: Operand) -> str:
        """The label of a result."""
        if result[0] in self.public:
            self.text.fail(f"{result[0]} is public in a line before; name the result otherwise")
        return result[0]


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
