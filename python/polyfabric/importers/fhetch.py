"""`.fhetch` traces: instructions on polynomials modulo one prime, read as the kernel program that machines execute, and written from one.

    modulus_count 2
    m[0] 0xFFFFFFFFFFFFFFFF
    m[1] 0x3FFFFE80001
    sr_mulp %3, %1, %2, m=1
    sr_ntt %4, %3, m=1, omega=5
    halt

An address such as `%3` is written again and again; m[0] is no prime and marks copies. The manifest next to the trace, `fhetch_replay.json`, has the ring dimension, and files
that it names have the addresses of inputs, keys and outputs. Without those, addresses that are read first are inputs, and results that nothing reads are outputs.

Evaluations are in another order than here, which no instruction shows. Four instructions that move a polynomial to another prime, as OpenFHE's probes write them, are one base
conversion.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from .. import _native
from ..errors import InputError, ProgramError
from ..host.files import path_of, read_bytes, write_bytes, write_together
from ..host.names import suggestion

MANIFEST, TRACE = "fhetch_replay.json", "program.fhetch"
"""Names of the files in a folder; those of read traces may have others."""
LARGEST_MANIFEST = 1 << 26
LARGEST_IDS = 1 << 26
MOST_INSTRUCTIONS = 500_000
MOST_MODULI = 4_096
DEGREES = [1 << log2 for log2 in range(10, 18)]
COPY = (1 << 64) - 1
"""The modulus of instructions that only move values."""
MODULUS = re.compile(r"m\[(\d{1,6})\]\s+0[xX]([0-9A-Fa-f]{1,16})")
INSTRUCTION = re.compile(r"([A-Za-z_]\w{0,40})\b\s*(.*)", re.ASCII)
OUTPUT = re.compile(r"# output (\S{1,100}) %(\d{1,18})")
EVALUATION, COEFFICIENT = "evaluation", "coefficient"
MOST_PARTS = 1 << 16
"""Polynomials of one input or output."""


@dataclass(frozen=True)
class Instruction:
    """One line."""

    name: str
    target: int
    operands: tuple[int, ...]
    modulus: int
    """Its place in the table."""
    number: int
    """The scalar, or the Galois element."""
    line: int


def is_header(lines: Sequence[str]) -> bool:
    """Whether a text is such a trace."""
    first = next((line.strip() for line in lines if line.strip() and not line.startswith("#")), "")
    return first.startswith(("modulus_count", "m[", "sr_"))


def parse(lines: Sequence[str], file: str, manifest: str | Path | None) -> _native.RnsKernel:
    """The kernel program of a trace's lines; `file` is its name in messages."""
    if manifest is None or not Path(manifest).exists():
        raise InputError(
            f"{file}: a .fhetch trace has no ring dimension; put its manifest {MANIFEST} next to it, or give context="
        )
    given = _Manifest.read(Path(manifest))
    table, instructions, tagged = _read(lines, file)
    moduli = [modulus for modulus in table if modulus != COPY]
    if len(set(moduli)) != len(moduli) or not moduli:
        raise ProgramError(f"{file}: {len(moduli)} moduli, which must be different primes; check the table")
    reader = _Reader(file, given.degree, table, [table.index(modulus) for modulus in moduli], given.names)
    for one in _conversions(instructions, table):
        reader.add(one)
    text = reader.text(Path(file).stem, given.outputs or tagged)
    try:
        return _native.RnsKernel.parse(text)
    except ProgramError as error:
        raise ProgramError(f"{file}: the program that it means is refused: {error}") from None


# -- the text ---------------------------------------------------------------------------------------------------------


def _read(lines: Sequence[str], file: str) -> tuple[list[int], list[Instruction], list[tuple[str, int]]]:
    """The table of moduli, the instructions, and the named outputs."""
    table: list[int] = []
    instructions: list[Instruction] = []
    tagged: list[tuple[str, int]] = []
    for number, line in enumerate(lines, 1):
        output = OUTPUT.fullmatch(line.strip())
        if output is not None:
            tagged.append((output[1], int(output[2])))
        text = line.partition("#")[0].strip()
        if not text or text.startswith("modulus_count"):
            continue
        where = f"{file}:{number}"
        modulus = MODULUS.fullmatch(text)
        if modulus is not None:
            if int(modulus[1]) != len(table) or len(table) >= MOST_MODULI:
                raise ProgramError(f"{where}: modulus {modulus[1]}, but {len(table)} comes next, {MOST_MODULI} at most")
            table.append(int(modulus[2], 16))
            continue
        found = INSTRUCTION.fullmatch(text)
        if found is None:
            raise ProgramError(f"{where}: {text[:80]!r} is no instruction; check the file")
        name = found[1].lower()
        if name == "halt":
            break
        if name not in FORMS:
            why = UNREAD.get(name) or suggestion(name, list(FORMS))
            raise ProgramError(f"{where}: instruction {name[:80]!r} is not read; {why}")
        instructions.append(_instruction(name, found[2], len(table), number, where))
        if len(instructions) > MOST_INSTRUCTIONS:
            raise ProgramError(f"{where}: more than {MOST_INSTRUCTIONS:,} instructions; cut the trace")
    if not instructions:
        raise ProgramError(f"{file}: a trace without instructions")
    return table, instructions, tagged


def _instruction(name: str, text: str, moduli: int, line: int, where: str) -> Instruction:
    polynomials, scalar, named = FORMS[name]
    cells = [cell.strip() for cell in text.split(",")]
    needed = 1 + polynomials + scalar
    addresses = [re.fullmatch(r"%(\d{1,18})", cell) for cell in cells[: 1 + polynomials]]
    numbers = {
        key: int(value)
        for key, _, value in (cell.partition("=") for cell in cells[needed:])
        if re.fullmatch(r"\d{1,20}", value)
    }
    if len(cells) < needed or None in addresses or "m" not in numbers or (named and named not in numbers):
        form = ", ".join(
            [*["%ADDRESS"] * (1 + polynomials), *["NUMBER"] * scalar, "m=INDEX", *[f"{named}=.."] * bool(named)]
        )
        raise ProgramError(f"{where}: {name} {text[:80]!r}, but it takes {form}; check the file")
    if scalar and not re.fullmatch(r"\d{1,20}", cells[needed - 1]):
        raise ProgramError(f"{where}: scalar {cells[needed - 1][:80]!r} is no number; check the file")
    if numbers["m"] >= moduli:
        raise ProgramError(f"{where}: modulus {numbers['m']} of a table with {moduli}; check the table")
    target, *operands = (int(one[1]) for one in addresses if one is not None)
    number = int(cells[needed - 1]) if scalar else numbers.get(named, 0)
    return Instruction(name, target, tuple(operands), numbers["m"], number, line)


def _conversions(instructions: Sequence[Instruction], table: Sequence[int]) -> Iterable[Instruction]:
    """The instructions, where four that move a polynomial to another prime, by its representative nearest to 0, are one `convert`."""
    at = 0
    while at < len(instructions):
        four = instructions[at : at + 4]
        if [one.name for one in four] == ["sr_mulps", "sr_addps", "sr_mulps", "sr_addps"]:
            first, half, second, back = four
            old, new = table[first.modulus], table[second.modulus]
            chained = all(one.target == first.target for one in four) and all(
                one.operands == (first.target,) for one in four[1:]
            )
            numbers = (first.number, half.number, second.number, back.number)
            if (
                chained
                and (half.modulus, back.modulus) == (first.modulus, second.modulus)
                and COPY not in (old, new)
                and old != new
                and numbers == (1, (old - 1) // 2, 1, -((old - 1) // 2) % new)
            ):
                yield Instruction("convert", first.target, first.operands, second.modulus, first.modulus, first.line)
                at += 4
                continue
        yield instructions[at]
        at += 1


# -- the manifest -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Manifest:
    """What a manifest and the files that it names say of a trace."""

    degree: int
    names: dict[int, tuple[str, int]]
    """The name and the number of the polynomial at an address that is given."""
    outputs: list[tuple[str, int]]

    @classmethod
    def read(cls, path: Path) -> _Manifest:
        """From the manifest's path."""
        try:
            data = json.loads(read_bytes(path, LARGEST_MANIFEST))
            degree = data["crypto_context"]["ring_dimension"]
            if type(degree) is not int or degree not in DEGREES:
                raise ProgramError(
                    f"{path}: ring dimension {degree!r:.40}; it is one of {', '.join(map(str, DEGREES))}"
                )
            files = data.get("files", {})
            return cls(degree, dict(_inputs(path.parent, files)), _outputs(path.parent, files))
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            raise ProgramError(
                f"{path}: not the manifest of a .fhetch trace, or one whose files are not; it needs crypto_context with ring_dimension"
            ) from None


def _beside(folder: Path, name: object) -> Path:
    """A file of the manifest, which is in its folder."""
    if not isinstance(name, str) or Path(name).name != name:
        raise ValueError
    return folder / name


def _inputs(folder: Path, files: dict[str, Any]) -> Iterable[tuple[int, tuple[str, int]]]:
    """Addresses of inputs and keys."""
    lists = [(name, files[field]) for name, field in KEYS.items() if field in files]
    index = _beside(folder, files["inputs"]) if "inputs" in files else None
    if index is not None and index.exists():
        listed = json.loads(read_bytes(index, LARGEST_MANIFEST))["inputs"]
        lists += [(str(one["name"])[:100], one["ids_file"]) for one in listed]
    for name, ids in lists:
        path = _beside(folder, ids)
        if path.exists():
            data = read_bytes(path, LARGEST_IDS)
            words = [int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data) & ~7, 8)]
            if words[:1] != [len(words) - 1] or len(words) > MOST_PARTS:
                raise ValueError
            yield from ((address, (_safe(name), part)) for part, address in enumerate(words[1:]))


def _outputs(folder: Path, files: dict[str, Any]) -> list[tuple[str, int]]:
    path = _beside(folder, files["outputs"]) if "outputs" in files else None
    if path is None or not path.exists():
        return []
    return [
        (str(output["name"])[:100], int(address))
        for output in json.loads(read_bytes(path, LARGEST_MANIFEST))["outputs"]
        for polynomial in output["ciphertext_data"]
        for address in polynomial["elements"]
    ]


def _safe(name: str) -> str:
    return re.sub(r"[^\w.+-]", "_", name, flags=re.ASCII)[:100] or "_"


KEYS = {
    "evalmult-key": "evalmult_ids",
    "automorphism-keys": "evalautomorphism_ids",
    "precomputed-values": "bootstrap_precomp_ids",
}
"""Names of the inputs that are no ciphertexts, by the manifest's field with their addresses. No parameter of Python has a hyphen."""


KIND_KEYS = {"relinearisation": "evalmult-key", "galois": "automorphism-keys", "public": "precomputed-values"}
"""Names in `KEYS` of what is given to a kernel program besides inputs, by its kind."""


def write(kernel: _native.RnsKernel, folder: str | Path, scheme: str | None = None) -> Path:
    """Writes a kernel program, its manifest and the files that it names to a folder; returns the path of the trace. Values of public polynomials
    have no place in the format, so they are inputs."""
    degree, text, given, outputs = kernel.fhetch(MOST_INSTRUCTIONS)
    if degree not in DEGREES:
        raise ProgramError(
            f"a ring of {degree} coefficients; those of .fhetch have {DEGREES[0]} to {DEGREES[-1]}: choose a larger parameter set"
        )
    contents = {TRACE: text.encode()}
    files = {"instructions": TRACE, "inputs": "inputs.json", "outputs": "outputs.json"}
    inputs = []
    for number, (kind, name, addresses) in enumerate(given):
        if len(addresses) > MOST_PARTS:
            raise ProgramError(
                f"{len(addresses):,} polynomials of {name or KIND_KEYS[kind]}, but a trace lists {MOST_PARTS:,} at most; write a part of the program"
            )
        if kind in KIND_KEYS:
            ids = files[KEYS[KIND_KEYS[kind]]] = f"{kind}.ids"
        else:
            ids = f"input-{number}.ids"
            inputs.append({"name": name, "ids_file": ids})
        contents[ids] = b"".join(word.to_bytes(8, "little") for word in (len(addresses), *addresses))
    returned: dict[str, list[dict[str, Any]]] = {}
    for name, part, elements in outputs:
        returned.setdefault(name, []).append({"poly_index": part, "elements": elements})
    listed = [{"name": name, "ciphertext_data": parts} for name, parts in returned.items()]
    context = {**({} if scheme is None else {"scheme_name": scheme.upper()}), "ring_dimension": degree}
    manifest = {"program_name": TRACE, "crypto_context": context, "files": files}
    for name, data in (
        ("inputs.json", {"inputs": inputs}),
        ("outputs.json", {"outputs": listed}),
        (MANIFEST, manifest),
    ):
        contents[name] = json.dumps(data, indent=1).encode()
    write_together(folder, {name: partial(write_bytes, data=data) for name, data in contents.items()})
    return path_of(folder) / TRACE


# -- the program ------------------------------------------------------------------------------------------------------


@dataclass
class _Fact:
    """Something that several values have in common, known or not."""

    value: Any = None
    same: _Fact | None = None

    def found(self) -> _Fact:
        """The fact that stands for all equal ones."""
        fact = self
        while fact.same is not None:
            fact.same = fact.same.same or fact.same
            fact = fact.same
        return fact


@dataclass
class _Value:
    """A polynomial in single assignment. Domain and limb may be known later than the value: those of a copy, of inputs."""

    text: str | None
    """Its operation, with {0}, {1} for its operands; `None` for an input."""
    operands: tuple[_Value, ...] = ()
    address: int = -1
    domain: _Fact = field(default_factory=_Fact)
    limb: _Fact = field(default_factory=_Fact)
    zero: bool = False
    number: int = -1
    """In the text."""


@dataclass
class _Reader:
    """Adds instructions to a kernel program."""

    file: str
    degree: int
    table: Sequence[int]
    places: Sequence[int]
    """The table's indices of the primes, by limb."""
    names: dict[int, tuple[str, int]]
    at: dict[int, _Value] = field(default_factory=dict)
    """What each address holds."""
    inputs: list[_Value] = field(default_factory=list)
    values: list[_Value] = field(default_factory=list)
    read: set[int] = field(default_factory=set)
    """Identities of the values that something reads."""
    line: int = 0
    target: int = 0

    def __post_init__(self) -> None:
        self.limbs = {place: limb for limb, place in enumerate(self.places)}

    def add(self, one: Instruction) -> None:
        """One instruction."""
        self.line, self.target = one.line, one.target
        if one.name == "sr_mulps" and one.number == 0:
            # Writes zeros; its operand is not read.
            self.at[one.target] = self._made("", (), zero=True, limb=self.limbs.get(one.modulus))
            return
        operands = tuple(self._read(address) for address in one.operands)
        if one.name == "sr_addps" and one.number == 0:
            self.at[one.target] = operands[0]
            return
        limb = self.limbs.get(one.modulus)
        if limb is None and one.name != "sr_automorph_eval":
            self._fail(f"{one.name} modulo m[{one.modulus}], which marks copies; it needs a prime")
        self.at[one.target] = OPERATIONS[one.name](self, one, operands, limb)

    def _sum(self, one: Instruction, operands: tuple[_Value, ...], limb: int) -> _Value:
        a, b = operands
        if b.zero or (a.zero and one.name == "sr_addp"):
            kept = a if b.zero else b
            self._same(kept, limb=limb)
            return kept
        made = self._made("add {0}, {1}" if one.name == "sr_addp" else "sub {0}, {1}", operands, limb=limb)
        self._same(a, b, made)
        return made

    def _product(self, _: Instruction, operands: tuple[_Value, ...], limb: int) -> _Value:
        made = self._made("multiply {0}, {1}", operands, limb=limb, domain=EVALUATION)
        self._same(*operands, made)
        return made

    def _scaled(self, one: Instruction, operands: tuple[_Value, ...], limb: int) -> _Value:
        (a,) = operands
        own = a.limb.found().value
        if own is not None and own != limb:
            # The residues as they are, modulo another prime.
            a = self._converted(a, limb, "approximate")
        if one.number == 1:
            self._same(a, limb=limb)
            return a
        made = self._made(f"scale {{0}} [{one.number % self._modulus(limb)}]", (a,), limb=limb)
        self._same(a, made)
        return made

    def _shifted(self, one: Instruction, operands: tuple[_Value, ...], limb: int) -> _Value:
        sign = -1 if "subps" in one.name else 1
        domain = COEFFICIENT if one.name.endswith("coeff") else EVALUATION
        addend = sign * one.number % self._modulus(limb)
        made = self._made(f"add_constant {{0}} [{addend}]", operands, limb=limb, domain=domain)
        self._same(*operands, made)
        return made

    def _negated(self, _: Instruction, operands: tuple[_Value, ...], limb: int) -> _Value:
        made = self._made("negate {0}", operands, limb=limb)
        self._same(*operands, made)
        return made

    def _transformed(self, one: Instruction, operands: tuple[_Value, ...], limb: int) -> _Value:
        forward = one.name == "sr_ntt"
        before, after = (COEFFICIENT, EVALUATION) if forward else (EVALUATION, COEFFICIENT)
        self._same(*operands, limb=limb, domain=before)
        return self._made(f"{'forward' if forward else 'inverse'}_ntt {{0}}", operands, limb=limb, domain=after)

    def _turned(self, one: Instruction, operands: tuple[_Value, ...], limb: int | None) -> _Value:
        domain = EVALUATION if one.name == "sr_automorph_eval" else COEFFICIENT
        if not one.number % 2 or one.number >= 2 * self.degree:
            self._fail(f"Galois element {one.number}; it is odd and below {2 * self.degree}")
        made = self._made(f"automorphism {{0}} by {one.number}", operands, limb=limb, domain=domain)
        self._same(*operands, made)
        return made

    def _moved(self, one: Instruction, operands: tuple[_Value, ...], limb: int) -> _Value:
        self._same(*operands, limb=self.limbs[one.number])
        return self._converted(operands[0], limb, "centred")

    def _converted(self, a: _Value, limb: int, conversion: str) -> _Value:
        self._same(a, domain=COEFFICIENT)
        return self._made(f"base_conversion {{0}} to {{{{{limb}}}}} {conversion}", (a,), limb=limb, domain=COEFFICIENT)

    # -- values -------------------------------------------------------------------------------------------------------

    def _read(self, address: int) -> _Value:
        """What an address holds; an input if nothing was written there."""
        if address not in self.at:
            self.at[address] = made = _Value(None, address=address)
            self.inputs.append(made)
        return self.at[address]

    def _made(
        self,
        text: str,
        operands: tuple[_Value, ...],
        *,
        limb: int | None = None,
        domain: str | None = None,
        zero: bool = False,
    ) -> _Value:
        made = _Value(text, operands, self.target, domain=_Fact(domain), limb=_Fact(limb), zero=zero)
        self.values.append(made)
        self.read |= {id(one) for one in operands}
        return made

    def _same(self, first: _Value, *others: _Value, limb: int | None = None, domain: str | None = None) -> None:
        """Values of one limb and domain."""
        for facts, given in (
            ([one.limb for one in (first, *others)], limb),
            ([one.domain for one in (first, *others)], domain),
        ):
            for fact in [_Fact(given), *facts[1:]]:
                one, other = fact.found(), facts[0].found()
                if one is other:
                    continue
                if None not in (one.value, other.value) and one.value != other.value:
                    self._fail(
                        f"its operands are {self._said(other.value)} and {self._said(one.value)}, but it needs the same"
                    )
                if other.value is None:
                    other.value = one.value
                one.same = other

    def _said(self, fact: int | str) -> str:
        return f"modulo m[{self.places[fact]}]" if isinstance(fact, int) else f"in {fact} form"

    def _modulus(self, limb: int) -> int:
        return self.table[self.places[limb]]

    def _fail(self, message: str) -> NoReturn:
        raise ProgramError(f"{self.file}:{self.line}: {message}")

    # -- the text -----------------------------------------------------------------------------------------------------

    def text(self, name: str, outputs: Sequence[tuple[str, int]]) -> str:
        """The kernel program with named outputs, or with all results that nothing reads."""
        wanted = [(label, self.at[address]) for label, address in outputs if address in self.at]
        if not wanted:
            wanted = [
                (f"%{address}", value)
                for address, value in self.at.items()
                if value.text is not None and id(value) not in self.read
            ]
        lines = [
            f'kernel "{_safe(name)}" degree {self.degree}',
            f"moduli [{', '.join(map(str, map(self._modulus, range(len(self.places)))))}]",
        ]
        count = 0
        needed = self._needed(wanted)
        if any(value.zero and id(value) in needed for value in self.values):
            lines.append(f"plaintext 0 = narrow [{self.degree} x 0]")
        for value in [*self.inputs, *self.values]:
            if id(value) not in needed:
                continue
            # A polynomial that is only added and scaled may be in either form.
            limb, domain = value.limb.found().value, value.domain.found().value or EVALUATION
            if limb is None:
                raise ProgramError(
                    f"{self.file}: no instruction says modulo which prime %{value.address} is, or a copy of it; cut them off"
                )
            if value.text is None:
                label, part = self.names.get(value.address, (f"%{value.address}", 0))
                text = f'input "{label}" part {part} {domain} {{{limb}}}'
            elif value.zero:
                text = f"plaintext 0 {domain} {{{limb}}}"
            else:
                text = value.text.format(*(f"%{one.number}" for one in value.operands))
            value.number = count
            lines.append(f"%{count} = {text}")
            count += 1
        parts: dict[str, int] = {}
        for label, value in wanted:
            part = parts.setdefault(label, 0)
            parts[label] += 1
            if part >= MOST_PARTS:
                raise ProgramError(f"{self.file}: output {label[:80]!r} has more than {MOST_PARTS:,} polynomials")
            lines.append(f'output "{_safe(label)}" part {part} = %{value.number}')
        return "\n".join([*lines, ""])

    def _needed(self, wanted: Iterable[tuple[str, _Value]]) -> set[int]:
        """Identities of the values that outputs depend on."""
        found: set[int] = set()
        left = [value for _, value in wanted]
        while left:
            value = left.pop()
            if id(value) not in found:
                found.add(id(value))
                left.extend(value.operands)
        return found


FORMS = {
    "sr_addp": (2, 0, ""),
    "sr_subp": (2, 0, ""),
    "sr_mulp": (2, 0, ""),
    "sr_addps": (1, 1, ""),
    "sr_subps": (1, 1, ""),
    "sr_mulps": (1, 1, ""),
    "sr_addps_coeff": (1, 1, ""),
    "sr_subps_coeff": (1, 1, ""),
    "sr_negp": (1, 0, ""),
    "sr_ntt": (1, 0, ""),
    "sr_intt": (1, 0, ""),
    "sr_automorph_eval": (1, 0, "k"),
    "sr_automorph_coeff": (1, 0, "k"),
}
"""By instruction: its operands that are polynomials, its scalars, and its named number besides the modulus."""

UNREAD = {
    "sr_permute": "a trace does not say which permutation it is",
    "sr_rot_automorph_coeff": "kernel programs of CKKS and BGV do not multiply by powers of X in coefficient form",
    **dict.fromkeys(
        [
            f"sr_{name}_ni"
            for name in ("addp", "subp", "mulp", "addps", "subps", "mulps", "negp", "addps_coeff", "subps_coeff")
        ]
        + ["sr_ft", "sr_ift"],
        "kernel programs of CKKS and BGV compute with integers only",
    ),
}
"""Instructions that are not read, and why."""

OPERATIONS: dict[str, Callable[..., _Value]] = {
    "sr_addp": _Reader._sum,
    "sr_subp": _Reader._sum,
    "sr_mulp": _Reader._product,
    "sr_addps": _Reader._shifted,
    "sr_subps": _Reader._shifted,
    "sr_mulps": _Reader._scaled,
    "sr_addps_coeff": _Reader._shifted,
    "sr_subps_coeff": _Reader._shifted,
    "sr_negp": _Reader._negated,
    "sr_ntt": _Reader._transformed,
    "sr_intt": _Reader._transformed,
    "sr_automorph_eval": _Reader._turned,
    "sr_automorph_coeff": _Reader._turned,
    "convert": _Reader._moved,
}
