"""Traces of OpenFHE's calls, as its tracing interface (`ENABLE_TRACER`) writes them with the tracer of its examples.

    Tracer (openfhe-trace.txt):
            CryptoContext::EvalMult(Ciphertext,Ciphertext):
                    input ciphertext_1 : ciphertext
                    input ciphertext_2 : ciphertext
                    output ciphertext_3 : ciphertext

Tabs indent; a call inside another one is indented by two more. A label names a content: the same ciphertext has the same label everywhere. A trace has neither ring nor
modulus, which a serialized crypto context adds. Calls whose meaning is known are operations; of others, the calls inside are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import InputError, ProgramError
from ..language.types import MOST_SLOTS
from ..run.runnable_programs import Program
from ..schemes.openfhe import Context, read
from .trace_text import MOST_LINES, TraceText, Value

MOST_TRACED = 2_000_000
"""Lines of a trace, most of which are operands."""
DEEPEST = 200
"""Calls inside calls."""
CALL = re.compile(r"(?:[A-Za-z_]\w*::)+(\w+)(?:\((.*)\))?:")
OPERAND = re.compile(r"(input|output) (?:(\w+) = )?(.*) : (\S.*)")
LABEL = re.compile(r"\w{1,80}", re.ASCII)
SCALARS = ("double", "int64_t", "size_t", "NativeInteger")
VARIANTS = re.compile(r"(?:Mutable|InPlace|NoCheck|NoRelin|AndRelinearize)+$")
"""Ends of a call's name that change neither result nor cost in our terms."""
SILENT = re.compile(r".*(?:KeyGen|KeysGen|Setup|Precompute)|Make\w*Plaintext|Decrypt|Encrypt|KeySwitchGen")
"""Calls of the client, and those that only prepare others."""


@dataclass
class Operand:
    """One line of a call."""

    name: str
    text: str
    kind: str
    line: int

    @property
    def encrypted(self) -> bool:
        """Whether it is a ciphertext, or a vector of them."""
        return "ciphertext" in self.kind

    @property
    def public(self) -> bool:
        """Whether it is an encoded plaintext."""
        return self.kind.endswith("plaintext")


@dataclass
class Call:
    """A call with the calls inside it."""

    name: str
    signature: str
    """The types of its arguments. Their order may differ from that of the inputs."""
    line: int
    inputs: list[Operand] = field(default_factory=list)
    outputs: list[Operand] = field(default_factory=list)
    inside: list[Call] = field(default_factory=list)

    @property
    def meaning(self) -> str:
        """The name without its variants."""
        return VARIANTS.sub("", self.name)


def is_header(line: str) -> bool:
    """Whether a text with this first line is such a trace."""
    return line.startswith("Tracer (") or CALL.fullmatch(line.strip()) is not None


def parse(lines: Sequence[str], file: str, context: str | Path | None) -> Program:
    """The program of a trace's lines; `file` is its name in messages."""
    if len(lines) > MOST_TRACED:
        raise ProgramError(f"{file}: {len(lines):,} lines, but at most {MOST_TRACED:,} are read; cut the trace")
    calls = _calls(lines, file)
    if context is None or (isinstance(context, Path) and not context.exists()):
        named = "" if context is None else f" as {context.name}"
        raise InputError(
            f"{file}: a trace of OpenFHE has no parameters; write them next to it{named} with Serial::SerializeToFile(file, context, SerType::JSON), "
            "or give context="
        )
    return _Reader.of(read(context), file).program(calls)


def _calls(lines: Sequence[str], file: str) -> list[Call]:
    """The calls that are in no other."""
    top: list[Call] = []
    open_calls: list[tuple[int, Call]] = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("Tracer ("):
            continue
        depth = len(line) - len(line.lstrip("\t"))
        call = CALL.fullmatch(text)
        if call is not None:
            while open_calls and open_calls[-1][0] >= depth:
                open_calls.pop()
            made = Call(call[1], call[2] or "", number)
            (open_calls[-1][1].inside if open_calls else top).append(made)
            open_calls.append((depth, made))
            if len(open_calls) > DEEPEST:
                raise ProgramError(f"{file}:{number}: more than {DEEPEST} calls inside each other; cut the trace")
            continue
        operand = OPERAND.fullmatch(text)
        while open_calls and open_calls[-1][0] >= depth:
            open_calls.pop()
        if operand is None or not open_calls:
            raise ProgramError(
                f"{file}:{number}: {text[:80]!r} is neither a call nor its input or output; check the file"
            )
        of = open_calls[-1][1]
        own = of.inputs if operand[1] == "input" else of.outputs
        own.append(Operand(operand[2] or "", operand[3], operand[4], number))
    return top


@dataclass
class _Reader:
    """Adds calls to the text of a program."""

    context: Context
    text: TraceText
    plain: dict[str, tuple[list[complex] | None, int]] = field(default_factory=dict)
    """Of a plaintext: its numbers, if the trace has all of them, and the level that it is encoded for."""
    constants: dict[str, int] = field(default_factory=dict)
    encrypted: dict[str, str] = field(default_factory=dict)
    """The plaintexts of encrypted inputs."""
    decrypted: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, context: Context, file: str) -> _Reader:
        """A reader without calls."""
        scheme = "ckks" if context.scheme == "ckks" else "bgv"
        return cls(context, TraceText(file, scheme, min(context.slots, MOST_SLOTS), context.plaintext))

    def program(self, calls: Sequence[Call]) -> Program:
        """The program of calls."""
        for call in calls:
            self._call(call, inside=False)
        # A trace that ends before decryption has the results that no call reads.
        outputs = self.decrypted & self.text.values.keys() or self.text.unread
        if not outputs:
            raise ProgramError(f"{self.text.file}: a trace without operations")
        return Program.parse(self.text.text(outputs))

    def _call(self, call: Call, *, inside: bool) -> None:
        self.text.line = call.line
        if len(self.text.nodes) > MOST_LINES:
            self.text.fail(f"more than {MOST_LINES:,} operations; cut the trace")
        if SILENT.fullmatch(call.name):
            self._client(call)
            return
        self._expect(call, inside=inside)
        operation = OPERATIONS.get(call.meaning)
        results = [label for operand in call.outputs if operand.encrypted for label in self._labels(operand)]
        if operation is not None:
            if len(results) != 1:
                self.text.fail(f"{call.name} has {len(results)} ciphertexts as outputs, not one; check the trace")
            operation(self, call, results[0])
            return
        for one in call.inside:
            self._call(one, inside=True)
        self.text.line = call.line
        missing = [label for label in results if label not in self.text.values]
        if missing:
            self.text.fail(
                f"{call.name} is not read, and no call inside it computes {missing[0]}; call its steps, such as EvalMult and EvalRotate, instead"
            )

    def _expect(self, call: Call, *, inside: bool) -> None:
        """What a user's call reads is an input, if no call computed it. Within a call, an unknown ciphertext comes from a step that the trace does not have."""
        labels = [label for operand in call.inputs if operand.encrypted for label in self._labels(operand)]
        for label in labels:
            if inside and label not in self.text.values and label not in self.encrypted:
                self.text.fail(
                    f"{call.name} reads {label}, which a step outside of the trace computes; call its steps instead"
                )
            self.encrypted.setdefault(label, "")

    def _client(self, call: Call) -> None:
        """Notes encoded and encrypted values, and which ciphertexts are decrypted."""
        for operand in call.inputs:
            if call.name == "Decrypt" and operand.encrypted:
                self.decrypted |= set(self._labels(operand))
        for operand in call.outputs:
            if operand.public and call.name.startswith("Make"):
                level = [one.text for one in call.inputs if one.name == "level"]
                values = [one for one in call.inputs if one.name in ("value", "values")]
                numbers = _numbers(values[0]) if values else None
                self.plain.setdefault(operand.text, (numbers, int(level[0]) if level and level[0].isdigit() else 0))
            elif operand.encrypted and call.name == "Encrypt":
                plaintexts = [one.text for one in call.inputs if one.public]
                self.encrypted.setdefault(operand.text, plaintexts[0] if plaintexts else "")

    # -- operations ---------------------------------------------------------------------------------------------------

    def sum(self, call: Call, result: str) -> None:
        """A sum or difference of two ciphertexts, or of one and public numbers."""
        operation = "sub" if call.meaning == "EvalSub" else "add"
        first, second = self._pair(call)
        if isinstance(first, Value) and isinstance(second, Value):
            self.text.sum(operation, result, first, second)
            return
        a, constant = (first, second) if isinstance(first, Value) else (second, first)
        assert isinstance(a, Value)
        node = a.node
        leading = call.signature.lower().partition(",")[0]
        if operation == "sub" and leading.strip(". ") and not leading.endswith("ciphertext"):
            node, operation = self.text.node(f"neg %{node}"), "add"
        self.text.write(result, f"{operation}_plain %{node}, %{constant}", a.level, product=a.product)

    def product(self, call: Call, result: str) -> None:
        """A product of two ciphertexts, or of one and public numbers."""
        first, second = self._pair(call)
        if isinstance(first, Value) and isinstance(second, Value):
            self.text.product(result, f"mul %{first.node}, %{second.node}", min(first.settled, second.settled))
        else:
            a, constant = (first, second) if isinstance(first, Value) else (second, first)
            assert isinstance(a, Value)
            self.text.product(result, f"mul_plain %{a.node}, %{constant}", a.settled)

    def square(self, call: Call, result: str) -> None:
        """A ciphertext times itself."""
        a = self._only(call)
        self.text.product(result, f"mul %{a.node}, %{a.node}", a.settled)

    def negated(self, call: Call, result: str) -> None:
        """The negative."""
        a = self._only(call)
        self.text.write(result, f"neg %{a.node}", a.level, product=a.product)

    def same(self, call: Call, result: str) -> None:
        """A relinearization, or a rescaling: both are placed by the plan."""
        a = self._only(call)
        self.text.write(result, None, a.level, product=a.product, node=a.node)

    def lowered(self, call: Call, result: str) -> None:
        """A ciphertext with fewer limbs."""
        a = self._only(call)
        if call.meaning == "Compress":
            level = self._amount(call, "towersLeft", 1) - 1
        else:
            level = a.settled - self._amount(call, "levels", 1)
        self.text.lowered(result, a, max(0, level))

    def rotated(self, call: Call, result: str) -> None:
        """A rotation by slots, or by a Galois element."""
        a = self._only(call)
        node, row = a.node, self.text.slots if self.text.scheme == "ckks" else self.text.slots // 2
        if call.meaning == "EvalAutomorphism":
            element = self._amount(call, "i", None)
            if not element % 2 or not 0 < element < 2 * self.context.degree:
                self.text.fail(f"Galois element {element}; it is odd and below {2 * self.context.degree}")
            conjugated, amount = self.text.turn(element, self.context.degree)
            if conjugated:
                node = self.text.node(f"conjugate %{node}")
        else:
            amount = self._amount(call, "index", None) % row
        text = f"rotate %{node} by {amount}" if amount else None
        self.text.write(result, text, a.level, product=a.product, node=node)

    def bootstrapped(self, call: Call, result: str) -> None:
        """CKKS: a ciphertext with its levels restored."""
        a = self._only(call)
        self.text.write(result, f"bootstrap %{a.node}", self.context.highest)

    def many(self, call: Call, result: str) -> None:
        """The sum or product of several ciphertexts, by pairs."""
        labels = [label for operand in call.inputs if operand.encrypted for label in self._labels(operand)]
        values = [self._read(label) for label in labels]
        if not values:
            self.text.fail(f"{call.name} of no ciphertexts")
        while len(values) > 1:
            paired = []
            for a, b in zip(values[::2], values[1::2], strict=False):
                if call.meaning == "EvalAddMany":
                    self.text.sum("add", result, a, b)
                else:
                    self.text.product(result, f"mul %{a.node}, %{b.node}", min(a.settled, b.settled))
                paired.append(self.text.values[result])
            values = paired + (values[-1:] if len(values) % 2 else [])
        self.text.write(result, None, values[0].level, product=values[0].product, node=values[0].node)

    # -- operands -----------------------------------------------------------------------------------------------------

    def _pair(self, call: Call) -> tuple[Value | int, Value | int]:
        """The two operands, at least one encrypted; a public one as the node of its numbers."""
        parts = [one for one in call.inputs if one.name in ("real", "imag")]
        given = [one for one in call.inputs if one not in parts and (one.encrypted or one.public or _is_number(one))]
        if len(parts) == 2 and len(given) == 1:
            real, imaginary = (_number(one.text) for one in parts)
            number = None if real is None or imaginary is None else [complex(real.real, imaginary.real)]
            public = self._constant(f"{parts[0].text} {parts[1].text}", number)
            # The order of the inputs is that of the operands.
            return (
                (self._read_of(given[0]), public) if call.inputs[0] is given[0] else (public, self._read_of(given[0]))
            )
        if len(given) != 2 or not any(one.encrypted for one in given):
            self.text.fail(
                f"{call.name} has {len(given)} operands, not two with a ciphertext among them; check the trace"
            )
        first, second = (self._read_of(one) if one.encrypted else self._public(one) for one in given)
        return first, second

    def _only(self, call: Call) -> Value:
        """The only ciphertext of a call."""
        found = [one for one in call.inputs if one.encrypted]
        if len(found) != 1:
            self.text.fail(f"{call.name} has {len(found)} ciphertexts, not one; check the trace")
        return self._read_of(found[0])

    def _amount(self, call: Call, name: str, default: int | None) -> int:
        """A number among the inputs, by its name or as the only one."""
        numbers = [one for one in call.inputs if one.kind in SCALARS and not one.encrypted]
        named = [one for one in numbers if one.name == name] or (numbers if len(numbers) == 1 else [])
        if not named and default is not None:
            return default
        if not named or not re.fullmatch(r"-?\d{1,10}", named[0].text):
            self.text.fail(f"{call.name} without {name}; the trace must have it")
        return int(named[0].text)

    def _labels(self, operand: Operand) -> list[str]:
        """The labels of a line: of one ciphertext, or of a vector."""
        text = operand.text
        labels = text[1:-1].split(", ") if text.startswith("[") and text.endswith("]") else [text]
        for label in labels:
            if not LABEL.fullmatch(label):
                self.text.line = operand.line
                self.text.fail(f"{label[:80]!r} names no ciphertext; vectors of more than 16 are cut by the tracer")
        return labels

    def _read_of(self, operand: Operand) -> Value:
        label, *more = self._labels(operand)
        if more:
            self.text.fail(f"a vector of {1 + len(more)} ciphertexts where one is needed")
        return self._read(label)

    def _read(self, label: str) -> Value:
        """A ciphertext; an input if no call has computed it."""
        if label not in self.text.values:
            numbers, lower = self.plain.get(self.encrypted.get(label, ""), (None, 0))
            largest = max((abs(number) for number in numbers or ()), default=1.0)
            # The primes of BGV and BFV are others for each machine, so their number says nothing.
            planned = self.text.scheme == "bgv"
            self.text.input(label, max(0, self.context.highest - lower), max(1.0, largest), planned=planned)
        self.text.unread.discard(label)
        return self.text.values[label]

    def _public(self, operand: Operand) -> int:
        if operand.public:
            return self._constant(operand.text, self.plain.get(operand.text, (None, 0))[0])
        number = _number(operand.text)
        return self._constant(operand.text, None if number is None else [number])

    def _constant(self, key: str, numbers: list[complex] | None) -> int:
        if key not in self.constants:
            self.constants[key] = self.text.public(numbers)
        return self.constants[key]


def _is_number(operand: Operand) -> bool:
    return operand.kind in (*SCALARS, "complex<double>") and operand.name not in ("index", "levels")


def _number(text: str) -> complex | None:
    """A number as C++ prints it; `None` for another text."""
    parts = text[1:-1].split(",") if text.startswith("(") and text.endswith(")") else [text]
    try:
        real, imaginary = float(parts[0]), float(parts[1]) if len(parts) > 1 else 0.0
    except ValueError:
        return None
    finite = abs(real) < 1e300 and abs(imaginary) < 1e300
    return complex(real, imaginary) if finite and len(parts) <= 2 else None


def _numbers(operand: Operand) -> list[complex] | None:
    """The numbers of a vector; `None` if the tracer cut it."""
    inner = re.fullmatch(r"\[(.*)\]", operand.text)
    found = list(_split(inner[1])) if inner else [None]
    return None if None in found else [one for one in found if one is not None]


def _split(text: str) -> Iterator[complex | None]:
    """The numbers between commas; complex ones have a comma inside their parentheses."""
    for one in re.findall(r"\([^()]*\)|[^,\s]+", text):
        yield _number(one)


OPERATIONS: dict[str, Callable[[_Reader, Call, str], None]] = {
    "EvalAdd": _Reader.sum,
    "EvalSub": _Reader.sum,
    "EvalMult": _Reader.product,
    "ComposedEvalMult": _Reader.product,
    "EvalSquare": _Reader.square,
    "EvalNegate": _Reader.negated,
    "EvalRotate": _Reader.rotated,
    "EvalAtIndex": _Reader.rotated,
    "EvalFastRotation": _Reader.rotated,
    "EvalAutomorphism": _Reader.rotated,
    "Relinearize": _Reader.same,
    "Rescale": _Reader.same,
    "ModReduce": _Reader.same,
    "LevelReduce": _Reader.lowered,
    "Compress": _Reader.lowered,
    "EvalBootstrap": _Reader.bootstrapped,
    "EvalAddMany": _Reader.many,
    "EvalMultMany": _Reader.many,
}
"""Operations by OpenFHE's names, without their variants."""
