"""Random programs that mix ranges and widths, and what Python's own integers make of them.

A program is written as the source of a function, operation by operation, and each value is computed at the same time with the rules of the page on integers:
`Writer(seed).write()` gives both. The source is in the message of a test that fails, and the seed writes it again.

The width of a result depends on the ranges of its operands. The ranges of sums, products, choices and the like are computed here too; of other results, as of a
quotient, only a range that holds them is known here, and they meet a width that holds this range.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polyfabric as pf
from polyfabric.language.program import TfheProgram, traced_in
from polyfabric.language.tracer import Form, Tracer
from polyfabric.language.types import Type

BINARY: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
BITS: dict[str, Callable[[int, int], int]] = {"&": operator.and_, "|": operator.or_, "^": operator.xor}
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True)
class Kind:
    """The kind of a value: a number with a "width", which wraps, or with a "range", a "truth" value or a "text"."""

    name: str
    lo: int = 0
    hi: int = 1
    bits: int = 0
    known: bool = True
    """Whether the language has this very range."""
    boolean: bool = False
    """For truth-value inputs: whether they are declared pf.Bool."""

    @property
    def truth(self) -> bool:
        return self.name == "truth"

    @property
    def exact(self) -> bool:
        return self.name in ("range", "truth")

    @property
    def signed(self) -> bool:
        return self.lo < 0

    def __str__(self) -> str:
        if self.name == "width":
            return f"pf.{'SInt' if self.signed else 'UInt'}({self.bits})"
        if self.truth:
            return "pf.Bool" if self.boolean else "pf.UInt(1)"
        return f"pf.Int({self.lo}, {self.hi})"

    def fit(self, value: int) -> int:
        """The range of a declared width; `None` for all others."""
        if self.name != "width" or self.lo <= value <= self.hi:
            return value
        return (value - self.lo) % (1 << self.bits) + self.lo


TRUTH = Kind("truth")


def ranged(lo: int, hi: int, *, known: bool = True) -> Kind:
    return Kind("range", lo, hi, known=known)


def declared(bits: int, signed: bool) -> Kind:
    if bits == 1 and not signed:
        return TRUTH
    return (
        Kind("width", -(1 << (bits - 1)), (1 << (bits - 1)) - 1, bits)
        if signed
        else Kind("width", 0, (1 << bits) - 1, bits)
    )


def width_of(lo: int, hi: int) -> Kind:
    """The narrowest width that holds a range, found by trying all."""
    for bits in range(1, 5000):
        if lo >= 0 and hi < 1 << bits:
            return Kind("width", 0, (1 << bits) - 1, bits)
        if lo < 0 and -(1 << (bits - 1)) <= lo and hi < 1 << (bits - 1):
            return Kind("width", -(1 << (bits - 1)), (1 << (bits - 1)) - 1, bits)
    raise AssertionError((lo, hi))


def met(*kinds: Kind) -> Kind | None:
    """The width in which numbers meet, one of which has a width; nothing if it is not known here."""
    known = [kind for kind in kinds if kind.known]
    own = width_of(min(kind.lo for kind in known), max(kind.hi for kind in known)) if known else None
    if own is None or any(kind.lo < own.lo or kind.hi > own.hi for kind in kinds):
        return None
    return own


@dataclass(frozen=True)
class Node:
    """One value of the program: what it is called there, what it is, and its numbers."""

    name: str
    kind: Kind
    values: list[Any]
    scalar: bool

    def __len__(self) -> int:
        return len(self.values)

    @property
    def encrypted(self) -> bool:
        return self.name[0] in "xv"


def stretched(*operands: Node) -> list[tuple[Any, ...]]:
    """Element by element; single values are repeated."""
    length = max(map(len, operands))
    return list(zip(*(node.values * length if node.scalar else node.values for node in operands), strict=True))


def quotient(common: Kind, x: int, y: int) -> int:
    if y:
        return x // y
    return 0 if x < 0 else -1 if common.signed else common.hi


def rotated(kind: Kind, x: int, by: int) -> int:
    own = f"{x % (1 << kind.bits):0{kind.bits}b}"
    by %= kind.bits
    return int(own[by:] + own[:by], 2)


def array(values: list[Any]) -> str:
    """An array of numpy's, which makes floats of integers beyond 64 bits unless they are objects."""
    return f"np.array({values}{', dtype=object' if np.asarray(values).dtype.kind == 'f' else ''})"


class Writer:
    """Writes one program."""

    def __init__(self, seed: int, *, cheap: bool = False) -> None:
        self.draw = random.Random(seed)
        self.cheap = cheap
        """Whether it is to be executed on ciphertexts."""
        self.lines: list[str] = []
        self.inputs: dict[str, tuple[str, Any]] = {}
        self.nodes: list[Node] = []

    # -- the parts ----------------------------------------------------------------------------------------------

    def width(self) -> int:
        widths = [1, 2, 3, 4, 5, 6, 7] if self.cheap else [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17, 23]
        return self.draw.choice(widths if self.cheap or self.draw.random() < 0.95 else [31, 32, 33, 64, 65])

    def value(self, kind: Kind) -> int:
        ends = [kind.lo, kind.hi, *(max(kind.lo, min(kind.hi, near)) for near in (0, 1))]
        return self.draw.choice([*ends, *(self.draw.randint(kind.lo, kind.hi) for _ in range(4))])

    def input(self) -> Node:
        name = f"x{len(self.inputs)}"
        sort = self.draw.choice(["width"] * 5 + ["range"] * 5 + ["truth", "truth", "text"])
        length = self.draw.choice([0, 0, 2, 3, 4])
        if sort == "text":
            size = self.draw.randint(1, 5)
            text = self.text(size)
            self.inputs[name] = f"pf.Text({size})", text
            return self.add(Node(name, Kind("text", bits=size), [text], scalar=True))
        lo = self.draw.choice([0, 0, 0, 1, -1, -4, -8, -20])
        wide = self.draw.choice(
            [1, 3, 3, 7, 7, 15, 15, 20, 40] if self.cheap else [1, 2, 3, 3, 5, 7, 7, 15, 16, 40, 255, 1000]
        )
        kind = {
            "width": declared(self.width(), self.draw.random() < 0.4),
            "truth": Kind("truth", boolean=self.draw.random() < 0.5),
            "range": ranged(lo, lo + wide),
        }[sort]
        values = [self.value(kind) for _ in range(length or 1)]
        self.inputs[name] = f"{kind}.vector({length})" if length else str(kind), values if length else values[0]
        kind = TRUTH if kind.truth else kind
        return self.add(Node(name, kind, values, scalar=not length))

    def text(self, most: int) -> str:
        return "".join(self.draw.choice("aab") for _ in range(self.draw.randint(0, most)))

    def public(self, kind: Kind, beside_: Node | None = None) -> Node:
        """A public operand: a number of Python's or numpy's, a list or an array."""
        lengths = [0] if beside_ is None else [0, 0, len(beside_) if not beside_.scalar else self.draw.randint(1, 3)]
        length = self.draw.choice(lengths)
        values = [self.value(kind) for _ in range(length or 1)]
        own = ranged(min(values), max(values))
        if length:
            return Node(self.draw.choice([f"{values}", array(values)]), own, values, scalar=False)
        forms = [f"({values[0]})", f"({values[0]})"]
        if -(1 << 63) <= values[0] < 1 << 63:
            forms.append(f"np.int64({values[0]})")
        if values[0] in (0, 1):
            forms += [f"{bool(values[0])}", f"np.bool_({bool(values[0])})"]
        return Node(self.draw.choice(forms), own, values, scalar=True)

    def add(self, node: Node) -> Node:
        self.nodes.append(node)
        return node

    def made(self, source: str, kind: Kind, values: list[Any], *, scalar: bool) -> Node:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {source}")
        return self.add(
            Node(name, kind, [kind.fit(int(v)) if kind.name != "text" else v for v in values], scalar=scalar)
        )

    def each(self, source: str, kind: Kind, rule: Callable[..., int], *operands: Node) -> Node:
        """A value whose elements follow from those of its operands."""
        values = [rule(*own) for own in stretched(*operands)]
        return self.made(source, kind, values, scalar=all(node.scalar for node in operands))

    def numbers(self, node: Node) -> list[Node]:
        """The encrypted numbers that combine with a node element by element."""
        return [
            own
            for own in self.nodes
            if own.kind.name != "text" and (own.scalar or node.scalar or len(own) == len(node))
        ]

    def other(self, node: Node, *, far: bool = False) -> Node:
        """Another operand: any number of the program, or public ones."""
        if self.draw.random() < 0.6:
            return self.draw.choice(self.numbers(node))
        kind = node.kind
        near = kind if kind.name == "width" and self.draw.random() < 0.7 else ranged(-5, 9)
        return self.public(ranged(kind.lo - 3, kind.hi + 3) if far else near, node)

    def sided(self, node: Node, other: Node) -> tuple[Node, Node]:
        return self.draw.choice([(node, other), (other, node)])

    # -- operations ---------------------------------------------------------------------------------------------

    def result(self, a: Kind, b: Kind, ends: tuple[int, int] | None, most: tuple[int, int]) -> Kind | None:
        """Of an operation: of two ranges the range `ends`, or one that is within `most`; of others the width in which they meet."""
        if a.exact and b.exact:
            return ranged(*ends, known=a.known and b.known) if ends else ranged(*most, known=False)
        return met(a, b)

    def number(self, node: Node) -> None:
        """An operation on numbers."""
        kind, draw = node.kind, self.draw
        vast = max(abs(kind.lo), abs(kind.hi))
        if vast > 1 << 24 and kind.exact:
            self.cast(node)
            return
        op = draw.choice(
            ["ring"] * 6
            + ["bits"] * 3
            + ["compare"] * 3
            + ["extreme"] * 2
            + ["unary"] * 2
            + [
                "shift",
                "shift",
                "amount",
                "divide",
                "divide",
                "power",
                "bit",
                "zeros",
                "cast",
                "cast",
                "table",
                "table",
            ]
            + ["checked", "residue", "sign", "raised", "assume"]
        )
        getattr(self, f"_{op}")(node)

    def _ring(self, node: Node) -> None:
        other = self.other(node)
        sign, rule = self.draw.choice(list(BINARY.items()))
        left, right = self.sided(node, other)
        ends = [rule(x, y) for x in (left.kind.lo, left.kind.hi) for y in (right.kind.lo, right.kind.hi)]
        kind = self.result(left.kind, right.kind, (min(ends), max(ends)), (0, 0))
        if kind is not None:
            self.each(f"{left.name} {sign} {right.name}", kind, rule, left, right)

    def _bits(self, node: Node) -> None:
        other = self.other(node)
        sign, rule = self.draw.choice(list(BITS.items()))
        left, right = self.sided(node, other)
        kind = self.result(left.kind, right.kind, None, self.around(left.kind, right.kind))
        truths = all(own.kind.truth or (not own.encrypted and set(own.values) <= {0, 1}) for own in (left, right))
        kind = TRUTH if truths else kind
        if kind is not None:
            self.each(f"{left.name} {sign} {right.name}", kind, rule, left, right)
        if node.kind.truth:
            self.each(f"~{node.name}", TRUTH, lambda x: 1 - x, node)

    @staticmethod
    def around(*kinds: Kind) -> tuple[int, int]:
        """A range that holds all bits of these numbers."""
        most = 1 << max(abs(end) for kind in kinds for end in (kind.lo, kind.hi)).bit_length()
        return (-most if any(kind.signed for kind in kinds) else 0), most

    def _compare(self, node: Node) -> None:
        other = self.other(node, far=self.draw.random() < 0.3)
        sign, rule = self.draw.choice(list(COMPARED.items()))
        left, right = self.sided(node, other)
        self.each(f"{left.name} {sign} {right.name}", TRUTH, rule, left, right)

    def _extreme(self, node: Node) -> None:
        name, rule = self.draw.choice([("max", max), ("min", min)])
        other = self.other(node)
        a, b = node.kind, other.kind
        kind = self.result(a, b, (rule(a.lo, b.lo), rule(a.hi, b.hi)), (0, 0))
        if kind is not None:
            prefix = self.draw.choice([f"pf.{name}", f"np.{name}imum"])
            self.each(f"{prefix}({node.name}, {other.name})", kind, rule, node, other)

    def _unary(self, node: Node) -> None:
        kind = node.kind
        lo, hi = kind.lo, kind.hi
        source, rule, ends = self.draw.choice(
            [
                ("-{}", operator.neg, (-hi, -lo)),
                ("abs({})", abs, (max(0, lo, -hi), max(-lo, hi))),
                ("~{}", operator.invert, (~hi, ~lo)),
                ("+{}", operator.pos, (lo, hi)),
            ]
        )
        if kind.truth and source[0] in "~+":
            self.each(source.format(node.name), TRUTH, lambda x: 1 - x if source[0] == "~" else x, node)
            return
        # A lookup knows the absolute values that occur.
        known = kind.known and not (source[0] == "a" and lo < 0 < hi)
        self.each(source.format(node.name), kind if kind.name == "width" else ranged(*ends, known=known), rule, node)

    def _shift(self, node: Node) -> None:
        bits = max(node.kind.bits, 4)
        far = [63, 64, 65, 70, 1000] if node.kind.name == "width" else []
        amount = self.draw.choice([0, 1, bits - 1, bits, bits + 1, *far, self.draw.randint(0, 9)])
        self.shifted(node, Node(str(amount), ranged(amount, amount), [amount], scalar=True))

    def _amount(self, node: Node) -> None:
        found = [
            own for own in self.numbers(node) if own.kind.lo >= 0 and (own.kind.hi < 20 or node.kind.name == "width")
        ]
        if found:
            self.shifted(node, self.draw.choice(found))

    def shifted(self, node: Node, by: Node) -> None:
        kind = node.kind
        op = self.draw.choice(["<<", ">>", "rotate_left", "rotate_right"] if kind.name == "width" else ["<<", ">>"])
        if op in ("<<", ">>"):
            ends = (kind.lo << by.kind.hi if kind.lo < 0 else 0, max(kind.hi, 0) << by.kind.hi) if kind.exact else None
            result = (
                kind
                if ends is None
                else ranged(*ends, known=False)
                if op == "<<"
                else ranged(min(kind.lo, 0), max(kind.hi, 0), known=False)
            )
            rule = (lambda x, n: x << min(n, kind.bits or n)) if op == "<<" else operator.rshift
            self.each(f"{node.name} {op} {by.name}", result, rule, node, by)
        else:
            turn = 1 if op == "rotate_left" else -1
            self.each(f"{node.name}.{op}({by.name})", kind, lambda x, n: rotated(kind, x, turn * n), node, by)

    def _divide(self, node: Node) -> None:
        other = self.other(node)
        left, right = self.sided(node, other)
        a, b = left.kind, right.kind
        if max(abs(a.lo), abs(a.hi), abs(b.lo), abs(b.hi)) > 1 << 24:
            return
        common = met(*(own if own.name == "width" else ranged(own.lo, own.hi, known=own.known) for own in (a, b)))
        if a.exact and b.exact and 0 not in right.values:
            common = common or TRUTH
        if common is None:
            return
        _, hi = self.around(a, b)
        kind = common if "width" in (a.name, b.name) else ranged(-2 * hi, 2 * hi, known=False)
        part = self.draw.choice(["//", "%", "divmod"])
        rules = {"//": lambda x, y: quotient(common, x, y), "%": lambda x, y: x % y if y else x}
        for at, sign in enumerate(("//", "%")):
            if part == "divmod":
                self.each(f"divmod({left.name}, {right.name})[{at}]", kind, rules[sign], left, right)
            elif part == sign:
                self.each(f"{left.name} {sign} {right.name}", kind, rules[sign], left, right)

    def _power(self, node: Node) -> None:
        kind, exponent = node.kind, self.draw.choice([0, 1, 2, 3, 5])
        if max(abs(kind.lo), abs(kind.hi)) > 1 << 16:
            return
        most = max(-kind.lo, kind.hi, 1) ** exponent
        result = ranged(-most, most, known=False) if kind.exact else kind
        self.each(f"{node.name} ** {exponent}", result, lambda x: x**exponent, node)

    def _residue(self, node: Node) -> None:
        kind = node.kind
        if kind.hi - kind.lo > 300 or kind.hi < 2:
            return
        exponent, modulus = self.draw.choice([0, 1, 2, 5]), self.draw.randint(1, kind.hi)
        result = ranged(0, modulus, known=False) if kind.exact else kind
        self.each(f"pow({node.name}, {exponent}, {modulus})", result, lambda x: pow(x, exponent, modulus), node)

    def _raised(self, node: Node) -> None:
        kind, base = node.kind, self.draw.choice([2, 3, -2, 0, 1])
        if kind.lo < 0 or kind.hi > 16:
            return
        most = max(abs(base), 1) ** kind.hi
        self.each(f"({base}) ** {node.name}", ranged(-most, most, known=False), lambda e: base**e, node)
        self.each(
            f"({base}) << {node.name}", ranged(-3 << kind.hi, 3 << kind.hi, known=False), lambda e: base << e, node
        )

    def _bit(self, node: Node) -> None:
        index = self.draw.randrange(node.kind.bits) if node.kind.name == "width" else 0
        self.each(f"{node.name}.bit({index})", TRUTH, lambda x: x >> index & 1, node)
        bits = max(abs(node.kind.lo), abs(node.kind.hi)).bit_length()
        self.each(f"{node.name}.bit_count()", ranged(0, bits, known=False), int.bit_count, node)

    def _zeros(self, node: Node) -> None:
        kind = node.kind
        if kind.name == "width":
            size = 1 << kind.bits
            rule = lambda x: kind.bits - (x % size).bit_length()  # noqa: E731
            self.each(f"{node.name}.leading_zeros()", ranged(0, kind.bits), rule, node)

    def _table(self, node: Node) -> None:
        kind, draw = node.kind, self.draw
        if kind.hi - kind.lo > 40:
            return
        if draw.random() < 0.5:
            rule = lambda x: x * x % 7 - 2  # noqa: E731
            found = [rule(x) for x in range(kind.lo, kind.hi + 1)]
            self.each(
                f"pf.lookup({node.name}, lambda v: v * v % 7 - 2)",
                ranged(min(found), max(found), known=False),
                rule,
                node,
            )
        elif kind.hi >= 0:
            entries = [draw.randint(-9, 300) for _ in range(draw.randint(1, kind.hi + 1))]
            table = f"lambda v: {entries}[v] if 0 <= v < {len(entries)} else 0"
            typed = draw.random() < 0.5
            self.each(
                f"pf.lookup({node.name}, {table}{', result=pf.SInt(10)' if typed else ''})",
                declared(10, True) if typed else ranged(-9, 300, known=False),
                lambda x: entries[x] if 0 <= x < len(entries) else 0,
                node,
            )

    def _sign(self, node: Node) -> None:
        self.each(f"pf.sign({node.name})", ranged(-1, 1, known=False), lambda x: 1 if x >= 0 else -1, node)
        kind = node.kind if node.kind.name == "width" else ranged(0, max(node.kind.hi, 0), known=False)
        if not node.kind.truth:
            self.each(f"pf.relu({node.name})", kind, lambda x: max(x, 0), node)

    def _checked(self, node: Node) -> None:
        kind = node.kind
        name, rule = self.draw.choice([("add", operator.add), ("sub", operator.sub), ("mul", operator.mul)])
        other = self.other(node)
        common = met(kind, other.kind) if "width" in (kind.name, other.kind.name) else None
        if common is None or common.bits > 24:
            return
        source = f"{node.name}.checked_{name}({other.name})"
        self.each(f"{source}[0]", common, rule, node, other)
        self.each(f"{source}[1]", TRUTH, lambda x, y: not common.lo <= rule(x, y) <= common.hi, node, other)

    def _assume(self, node: Node) -> None:
        lo, hi = min(node.values), max(node.values)
        if not node.kind.truth:
            lo, hi = max(node.kind.lo, lo - 1), min(node.kind.hi, hi + 2)
            self.each(f"{node.name}.assume(pf.Int({lo}, {hi}))", ranged(lo, hi, known=node.kind.known), int, node)

    _cast = property(lambda self: self.cast)

    def cast(self, node: Node) -> Node:
        kind = declared(self.width(), self.draw.random() < 0.4)
        rule = (lambda x: x & 1) if kind == TRUTH else int
        return self.each(f"{node.name}.cast({kind})", kind, rule, node)

    def text_operation(self, node: Node) -> None:
        draw, size = self.draw, node.kind.bits
        same = [own for own in self.nodes if own.kind == node.kind]
        texts = [own for own in self.nodes if own.kind.name == "text" and own.kind.bits <= size]
        op = draw.choice(["compare", "compare", "part", "choice", "bytes"])
        public = self.text(size)
        other = draw.choice([*same, Node(repr(public), node.kind, [public], scalar=True)])
        if op == "compare":
            sign, rule = draw.choice(list(COMPARED.items()))
            self.each(f"{node.name} {sign} {other.name}", TRUTH, lambda a, b: rule(a.encode(), b.encode()), node, other)
        elif op == "part":
            name, rule = draw.choice(
                [("startswith", str.startswith), ("endswith", str.endswith), ("contains", operator.contains)]
            )
            part = draw.choice([*texts, *([Node(repr(public), node.kind, [public], scalar=True)] if public else [])])
            self.each(f"{node.name}.{name}({part.name})", TRUTH, rule, node, part)
        elif op == "choice":
            name, rule = draw.choice([("max", max), ("min", min)])
            self.each(f"pf.{name}({node.name}, {other.name})", node.kind, rule, node, other)
        else:
            numbers = [*node.values[0].encode().ljust(size, b"\0")]
            self.made(f"{node.name}.encode()", declared(8, False), numbers, scalar=False)

    def vector(self, node: Node) -> None:
        """An operation on the elements of a vector."""
        draw, kind, length = self.draw, node.kind, len(node)
        op = draw.choice(
            [
                "index",
                "slice",
                "indices",
                "encrypted",
                "concat",
                "concat",
                "sum",
                "sum",
                "builtin",
                "dot",
                "both",
                "matrix",
                "extreme",
                "sort",
                "holds",
            ]
        )
        exact = kind.exact
        if exact and max(abs(kind.lo), abs(kind.hi)) > 1 << 20:
            return
        total = ranged(length * kind.lo, length * kind.hi, known=kind.known) if exact else kind
        if op == "index":
            at = draw.randrange(-length, length)
            self.made(f"{node.name}[{at}]", kind, [node.values[at]], scalar=True)
        elif op == "slice":
            part = draw.choice(["1:", ":-1", "::-1", "::2"])
            values = eval(f"values[{part}]", {"values": node.values})
            if values:
                self.made(f"{node.name}[{part}]", kind, values, scalar=False)
        elif op == "indices":
            at = [draw.randrange(length) for _ in range(draw.randint(1, 4))]
            self.made(f"{node.name}[{at}]", kind, [node.values[i] for i in at], scalar=False)
        elif op == "encrypted":
            index = draw.choice([own for own in self.nodes if own.scalar and own.kind.name != "text"] or [node])
            if index is not node:
                at = index.values[0]
                found = node.values[at] if 0 <= at < length else 0
                result = ranged(min(kind.lo, 0), max(kind.hi, 0), known=kind.known) if kind.name == "range" else kind
                self.made(f"{node.name}[{index.name}]", result, [found], scalar=True)
        elif op == "concat":
            other = draw.choice([own for own in self.nodes if own.kind.name != "text"])
            joined = kind if kind.truth and other.kind.truth else None
            if joined is None and exact and other.kind.exact:
                joined = ranged(
                    min(kind.lo, other.kind.lo), max(kind.hi, other.kind.hi), known=kind.known and other.kind.known
                )
            joined = joined or met(kind, other.kind)
            if joined is not None:
                self.made(f"pf.concat({node.name}, {other.name})", joined, node.values + other.values, scalar=False)
        elif op == "sum":
            source = draw.choice(["pf.sum({})", "np.sum({})", "{}.sum()", "pf.sum(list({}))"])
            self.made(source.format(node.name), total, [sum(node.values)], scalar=True)
        elif op == "builtin":
            self.made(f"sum({node.name})", total, [sum(node.values)], scalar=True)
        elif op in ("dot", "matrix"):
            weight = ranged(-5, 9) if exact or draw.random() < 0.3 else ranged(kind.lo, kind.hi)
            rows = [[self.value(weight) for _ in range(length)] for _ in range(2 if op == "matrix" else 1)]
            flat = [number for row in rows for number in row]
            most = max(abs(kind.lo), abs(kind.hi)) * 9 * length
            result = ranged(-most, most, known=False) if exact else met(kind, ranged(min(flat), max(flat)))
            found = [sum(x * y for x, y in zip(row, node.values, strict=True)) for row in rows]
            if op == "dot":
                source = draw.choice(["pf.dot({w}, {v})", "np.dot({w}, {v})", "{v} @ {a}"])
                self.made(source.format(w=rows[0], a=array(rows[0]), v=node.name), result, found, scalar=True)
                return
            columns = [list(column) for column in zip(*rows, strict=True)]
            source = draw.choice([f"{array(rows)} @ {node.name}", f"{node.name} @ {array(columns)}"])
            self.made(source, result, found, scalar=False)
        elif op == "both" and kind.bits <= 16:
            other = draw.choice([own for own in self.numbers(node) if not own.scalar])
            most = max(abs(kind.lo), abs(kind.hi), 1) * max(abs(other.kind.lo), abs(other.kind.hi), 1) * length
            result = ranged(-most, most, known=False) if exact and other.kind.exact else met(kind, other.kind)
            if result is not None and most < 1 << 40:
                found = sum(x * y for x, y in zip(node.values, other.values, strict=True))
                self.made(f"{node.name} @ {other.name}", result, [found], scalar=True)
        elif op == "extreme":
            way, rule = draw.choice([("max", max), ("min", min)])
            source = draw.choice([f"pf.{way}({node.name})", f"{node.name}.{way}()", f"np.{way}({node.name})"])
            result = ranged(kind.lo, kind.hi) if kind.truth and length > 1 else kind
            self.made(source, result, [rule(node.values)], scalar=True)
        elif op == "sort":
            self.made(f"{draw.choice(['pf', 'np'])}.sort({node.name})", kind, sorted(node.values), scalar=False)
        elif op == "holds" and kind.truth:
            way, rule = draw.choice([("all", all), ("any", any)])
            source = draw.choice([f"{node.name}.{way}()", f"np.{way}({node.name})"])
            self.made(source, TRUTH, [rule(node.values)], scalar=True)

    def choose(self) -> None:
        """A choice between two values by a truth value."""
        conditions = [node for node in self.nodes if node.kind.truth]
        if not conditions:
            return
        condition = self.draw.choice(conditions)
        node = self.draw.choice(self.nodes)
        if node.kind.name == "text":
            if not condition.scalar:
                return
            public = self.text(node.kind.bits)
            other = Node(repr(public), node.kind, [public], scalar=True)
        else:
            other = self.other(node)
        if len({len(own) for own in (condition, node, other) if not own.scalar}) > 1:
            return
        then, otherwise = self.sided(node, other)
        a, b = node.kind, other.kind
        if a.name == "text":
            kind: Kind | None = a
        elif a.truth and b.truth:
            kind = TRUTH
        else:
            kind = self.result(a, b, (min(a.lo, b.lo), max(a.hi, b.hi)), (0, 0))
        if kind is None:
            return
        source = f"{self.draw.choice(['pf.where', 'np.where'])}({condition.name}, {then.name}, {otherwise.name})"
        self.each(source, kind, lambda c, a, b: a if c else b, condition, then, otherwise)

    # -- the whole ----------------------------------------------------------------------------------------------

    def write(self) -> Written:
        for _ in range(self.draw.randint(1, 3)):
            self.input()
        wanted = self.draw.randint(2, 6)
        for _ in range(40):
            if len(self.lines) >= wanted:
                break
            # Later values more often, so that operations follow each other.
            node = self.draw.choice(self.nodes[-3:] if self.draw.random() < 0.7 else self.nodes)
            if self.draw.random() < 0.1:
                self.choose()
            elif not node.scalar and self.draw.random() < 0.4:
                self.vector(node)
            elif node.kind.name == "text":
                self.text_operation(node)
            else:
                self.number(node)
        made = [node for node in self.nodes if node.name.startswith("v")]
        outputs = {made[-1].name, *(node.name for node in made if self.draw.random() < 0.4)} if made else {"x0"}
        returned = ", ".join(f'"{name}": {name}' for name in sorted(outputs))
        types = ", ".join(f"{name}={kind}" for name, (kind, _) in self.inputs.items())
        body = "".join(f"    {line}\n" for line in self.lines)
        source = f"@pf.program({types})\ndef f({', '.join(self.inputs)}):\n{body}    return {{{returned}}}\n"
        by_name = {node.name: node for node in self.nodes}
        expected = {
            name: by_name[name].values[0] if by_name[name].scalar else by_name[name].values for name in sorted(outputs)
        }
        return Written(source, {name: value for name, (_, value) in self.inputs.items()}, expected)


@dataclass(frozen=True)
class Written:
    """A program, inputs, and the outputs by Python's integers."""

    source: str
    inputs: dict[str, Any]
    expected: dict[str, Any]

    def program(self, form: Form | None = None) -> pf.Program:
        """The program; in a form, that of its values, and else in the one that is planned."""
        scope: dict[str, Any] = {"pf": pf if form is None else _In(form), "np": np}
        exec(compile(self.source, "written.py", "exec"), scope)
        return scope["f"]


class _In:
    """The package, of which programs are traced in one form."""

    def __init__(self, form: Form) -> None:
        self._form = form

    def __getattr__(self, name: str) -> Any:
        return getattr(pf, name)

    def program(self, **inputs: Type) -> Any:
        return lambda function: traced_in(Tracer("f", self._form), function, inputs, None, TfheProgram)[0]
