"""Random programs on integers, and what Python's own integers make of them.

A program is written as the source of a function, operation by operation, and each value is computed at the same time with the rules of the pages on integers and on
the TFHE language: `Writer(seed).write()` gives both. The source is in the message of a test that fails, and the seed writes it again.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polyfabric as pf

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
    """What a value is: an "int" of a declared width, a "count", a "small" value of a range, a "bool" or a "text"."""

    name: str
    lo: int = 0
    hi: int = 1
    bits: int = 0

    @property
    def truth(self) -> bool:
        return self.name == "count" and self.lo >= 0 and self.hi <= 1

    @property
    def signed(self) -> bool:
        return self.lo < 0

    def __str__(self) -> str:
        if self.name == "int":
            return f"pf.{'SInt' if self.signed else 'UInt'}({self.bits})"
        return {"count": "pf.UInt(1)", "bool": "pf.Bool", "small": f"pf.Int({self.lo}, {self.hi})"}[self.name]

    def fit(self, value: int) -> int:
        """What a declared width leaves; all others have none."""
        if self.name != "int" or self.lo <= value <= self.hi:
            return value
        return (value - self.lo) % (1 << self.bits) + self.lo


TRUTH, BOOL = Kind("count"), Kind("bool")


def declared(bits: int, signed: bool) -> Kind:
    if bits == 1 and not signed:
        return TRUTH
    return (
        Kind("int", -(1 << (bits - 1)), (1 << (bits - 1)) - 1, bits)
        if signed
        else Kind("int", 0, (1 << bits) - 1, bits)
    )


@dataclass(frozen=True)
class Node:
    """One value of the program: what it is called there, what it is, and its numbers."""

    name: str
    kind: Kind
    values: list[Any]
    scalar: bool

    def __len__(self) -> int:
        return len(self.values)


def stretched(*operands: Node) -> list[tuple[Any, ...]]:
    """Element by element; single values are repeated."""
    length = max(map(len, operands))
    return list(zip(*(node.values * length if node.scalar else node.values for node in operands), strict=True))


def quotient(kind: Kind, x: int, y: int) -> int:
    if y:
        return x // y
    return kind.hi if not kind.signed else -1 if x >= 0 else 0


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
        sort = self.draw.choice(["int"] * 8 + ["truth", "small", "bool", "text"])
        length = self.draw.choice([0, 0, 2, 3, 4])
        if sort == "text":
            size = self.draw.randint(1, 5)
            text = self.text(size)
            self.inputs[name] = f"pf.Text({size})", text
            return self.add(Node(name, Kind("text", bits=size), [text], scalar=True))
        lo = self.draw.randint(-4, 3)
        kind = {
            "int": declared(self.width(), self.draw.random() < 0.4),
            "truth": TRUTH,
            "small": Kind("small", lo, lo + self.draw.randint(1, 7)),
            "bool": BOOL,
        }[sort]
        values = [self.value(kind) for _ in range(length or 1)]
        self.inputs[name] = f"{kind}.vector({length})" if length else str(kind), values if length else values[0]
        return self.add(Node(name, kind, values, scalar=not length))

    def text(self, most: int) -> str:
        return "".join(self.draw.choice("aab") for _ in range(self.draw.randint(0, most)))

    def public(self, kind: Kind, beside_: Node | None = None) -> Node:
        """A public operand: a number of Python's or numpy's, a list or an array."""
        lengths = [0] if beside_ is None else [0, 0, len(beside_) if not beside_.scalar else self.draw.randint(1, 3)]
        length = self.draw.choice(lengths)
        values = [self.value(kind) for _ in range(length or 1)]
        if length:
            return Node(self.draw.choice([f"{values}", array(values)]), kind, values, scalar=False)
        forms = [f"({values[0]})", f"({values[0]})"]
        if -(1 << 63) <= values[0] < 1 << 63:
            forms.append(f"np.int64({values[0]})")
        if values[0] in (0, 1):
            forms += [f"{bool(values[0])}", f"np.bool_({bool(values[0])})"]
        return Node(self.draw.choice(forms), kind, values, scalar=True)

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

    def other(self, node: Node, *, wide: bool = False) -> Node:
        """Another operand for arithmetic with a node: of its kind, a count that fits it, or public."""
        fitting = [
            own
            for own in self.nodes
            if (own.scalar or node.scalar or len(own) == len(node))
            and (
                own.kind == node.kind
                or (node.kind.name == own.kind.name and node.kind.name in ("small", "count"))
                or (
                    node.kind.name == "int"
                    and own.kind.name == "count"
                    and node.kind.lo <= own.kind.lo
                    and own.kind.hi <= node.kind.hi
                )
            )
        ]
        if fitting and self.draw.random() < 0.6:
            return self.draw.choice(fitting)
        public = Kind("count", -5, 9) if node.kind.name != "int" or wide else replace(node.kind, name="count")
        return self.public(public, node)

    # -- operations ---------------------------------------------------------------------------------------------

    def integer(self, node: Node) -> None:
        """An operation on integers of a declared width."""
        kind, draw = node.kind, self.draw
        wide = kind.bits > 24
        op = draw.choice(
            ["ring"] * 5
            + ["bits"] * 2
            + ["compare"] * 3
            + [
                "extreme",
                "unary",
                "unary",
                "shift",
                "shift",
                "amount",
                "divide",
                "power",
                "bit",
                "zeros",
                "cast",
                "cast",
                "table",
                "checked",
                "residue",
                "mixed",
                "mixed",
            ]
        )
        if op in ("ring", "bits"):
            sign, rule = draw.choice(list((BINARY if op == "ring" else BITS).items()))
            self.infix(sign, node, self.other(node), kind, rule)
        elif op == "compare":
            sign, rule = draw.choice(list(COMPARED.items()))
            self.infix(sign, node, self.other(node), TRUTH, rule)
            if draw.random() < 0.3:
                far = self.public(Kind("count", kind.lo - 3, kind.hi + 3), node)
                self.infix(sign, node, far, TRUTH, rule)
        elif op == "extreme":
            name, rule = draw.choice([("max", max), ("min", min)])
            other = self.other(node)
            prefix = draw.choice([f"pf.{name}", f"np.{name}imum"])
            self.each(f"{prefix}({node.name}, {other.name})", kind, rule, node, other)
        elif op == "unary":
            source, rule = draw.choice(
                [("-{}", operator.neg), ("abs({})", abs), ("~{}", operator.invert), ("+{}", operator.pos)]
            )
            self.each(source.format(node.name), kind, rule, node)
        elif op in ("shift", "amount"):
            self.shift(node, self.unsigned() if op == "amount" else None)
        elif op == "divide" and not wide:
            other = self.other(node)
            part = draw.choice(["//", "%"])
            left, right = draw.choice([(node, other), (other, node)])
            rule = (lambda x, y: quotient(kind, x, y)) if part == "//" else (lambda x, y: x % y if y else x)
            if left.name[0] not in "xv" and right.name[0] not in "xv":
                return
            self.each(f"{left.name} {part} {right.name}", kind, rule, left, right)
        elif op == "power" and not wide:
            exponent = draw.choice([0, 1, 2, 3, 5])
            self.each(f"{node.name} ** {exponent}", kind, lambda x: x**exponent, node)
        elif op == "residue" and kind.bits < 9 and kind.hi > 1:
            exponent, modulus = draw.choice([0, 1, 2, 5]), draw.randint(1, kind.hi)
            self.each(f"pow({node.name}, {exponent}, {modulus})", kind, lambda x: pow(x, exponent, modulus), node)
        elif op == "mixed" and not wide:
            others = [
                own
                for own in self.nodes
                if own.kind.name == "int" and (own.scalar or node.scalar or len(own) == len(node))
            ]
            other = draw.choice(others)
            sign, rule = draw.choice(list({**BINARY, **BITS}.items()))
            self.each(
                f"{node.name} {sign} {other.name}.cast({kind})", kind, lambda x, y: rule(x, kind.fit(y)), node, other
            )
        elif op == "bit":
            index = draw.randrange(kind.bits)
            self.each(f"{node.name}.bit({index})", TRUTH, lambda x: x >> index & 1, node)
        elif op == "zeros":
            size = 1 << kind.bits
            self.each(
                f"{node.name}.leading_zeros()",
                Kind("count", 0, kind.bits),
                lambda x: kind.bits - (x % size).bit_length(),
                node,
            )
        elif op == "cast":
            self.cast(node)
        elif op == "table" and not kind.signed and kind.bits <= 5:
            entries = [draw.randint(-9, 300) for _ in range(draw.randint(1, 1 << kind.bits))]
            self.each(
                f"pf.Table({entries}, pf.SInt(10))[{node.name}]",
                declared(10, True),
                lambda x: entries[x] if x < len(entries) else 0,
                node,
            )
        elif op == "checked" and not wide:
            name, rule = draw.choice([("add", operator.add), ("sub", operator.sub), ("mul", operator.mul)])
            other = self.other(node)
            source = f"{node.name}.checked_{name}({other.name})"
            self.each(f"{source}[0]", kind, rule, node, other)
            self.each(f"{source}[1]", TRUTH, lambda x, y: not kind.lo <= rule(x, y) <= kind.hi, node, other)

    def infix(self, sign: str, node: Node, other: Node, kind: Kind, rule: Callable[..., int]) -> Node:
        left, right = self.draw.choice([(node, other), (other, node)])
        return self.each(f"{left.name} {sign} {right.name}", kind, rule, left, right)

    def unsigned(self) -> Node | None:
        found = [node for node in self.nodes if node.kind.name in ("int", "count") and node.kind.lo >= 0]
        return self.draw.choice(found) if found else None

    def shift(self, node: Node, by: Node | None) -> None:
        kind, bits = node.kind, node.kind.bits
        if by is not None and not (by.scalar or node.scalar or len(by) == len(node)):
            by = None
        if by is None:
            amount = self.draw.choice([0, 1, bits - 1, bits, bits + 1, 63, 64, 65, 70, 1000, self.draw.randint(0, 90)])
            by = Node(str(amount), kind, [amount], scalar=True)
        op = self.draw.choice(["<<", ">>", "rotate_left", "rotate_right"])
        if op == "<<":
            self.each(f"{node.name} << {by.name}", kind, lambda x, n: x << min(n, bits), node, by)
        elif op == ">>":
            self.each(f"{node.name} >> {by.name}", kind, lambda x, n: x >> n, node, by)
        else:
            turn = 1 if op == "rotate_left" else -1
            self.each(f"{node.name}.{op}({by.name})", kind, lambda x, n: rotated(kind, x, turn * n), node, by)

    def cast(self, node: Node) -> Node | None:
        kind = declared(self.width(), self.draw.random() < 0.4)
        if node.kind.name in ("small", "bool"):
            if node.kind.hi - node.kind.lo > 15:
                return None
            kind = declared(max(~node.kind.lo, node.kind.hi).bit_length() + self.draw.randint(1, 4), True)
        rule = (lambda x: x & 1) if kind == TRUTH else int
        return self.each(f"{node.name}.cast({kind})", kind, rule, node)

    def count(self, node: Node) -> None:
        """An operation on counts, which are exact."""
        kind, draw = node.kind, self.draw
        if max(abs(kind.lo), abs(kind.hi)) > 1 << 40:
            self.cast(node)
            return
        op = draw.choice(
            ["ring"] * 5
            + ["compare"] * 2
            + ["unary", "power", "shift", "right", "cast", "extreme", "divide", "bits", "mixed", "mixed"]
        )
        other = self.other(node)
        a, b = kind, other.kind
        if op == "mixed":
            typed = [
                own
                for own in self.nodes
                if own.kind.name == "int"
                and own.kind.lo <= a.lo
                and a.hi <= own.kind.hi
                and (own.scalar or node.scalar or len(own) == len(node))
            ]
            if typed:
                other = draw.choice(typed)
                sign, rule = draw.choice(list({**BINARY, **COMPARED}.items()))
                self.infix(sign, node, other, TRUTH if sign in COMPARED else other.kind, rule)
        elif op == "ring":
            sign, rule = draw.choice(list(BINARY.items()))
            left, right = draw.choice([(node, other), (other, node)])
            ends = [rule(x, y) for x in (left.kind.lo, left.kind.hi) for y in (right.kind.lo, right.kind.hi)]
            self.each(f"{left.name} {sign} {right.name}", Kind("count", min(ends), max(ends)), rule, left, right)
        elif op == "compare":
            sign, rule = draw.choice(list(COMPARED.items()))
            self.infix(sign, node, other, TRUTH, rule)
        elif op == "unary":
            source, rule, lo, hi = draw.choice(
                [("-{}", operator.neg, -a.hi, -a.lo), ("abs({})", abs, 0, max(-a.lo, a.hi))]
            )
            self.each(source.format(node.name), Kind("count", lo, hi), rule, node)
        elif op == "power":
            exponent = draw.randint(0, 3)
            most = max(-a.lo, a.hi, 1) ** exponent
            self.each(f"{node.name} ** {exponent}", Kind("count", -most, most), lambda x: x**exponent, node)
        elif op == "shift":
            by = draw.randint(0, 5)
            self.each(f"{node.name} << {by}", Kind("count", a.lo << by, a.hi << by), lambda x: x << by, node)
        elif op == "right":
            by = draw.choice([0, 1, 2, 70])
            self.each(f"{node.name} >> {by}", Kind("count", min(a.lo, 0), max(a.hi, 0)), lambda x: x >> by, node)
        elif op == "extreme":
            name, rule = draw.choice([("max", max), ("min", min)])
            result = Kind("count", min(a.lo, b.lo), max(a.hi, b.hi))
            self.each(f"pf.{name}({node.name}, {other.name})", result, rule, node, other)
        elif op == "divide":
            by = draw.choice([-3, -1, 1, 2, 3, 4, 7])
            part, rule = draw.choice([("//", operator.floordiv), ("%", operator.mod)])
            most = 2 * max(-a.lo, a.hi, 8)
            self.each(f"{node.name} {part} {by}", Kind("count", -most, most), lambda x: rule(x, by), node)
        elif op == "bits":
            sign, rule = draw.choice(list(BITS.items()))
            most = 4 * max(-a.lo, a.hi, -b.lo, b.hi, 1)
            lo = -most if a.signed or b.signed else 0
            self.infix(sign, node, other, TRUTH if a.truth and b.truth else Kind("count", lo, most), rule)
            if a.truth:
                self.each(f"~{node.name}", TRUTH, lambda x: 1 - x, node)
        else:
            self.cast(node)

    def small(self, node: Node) -> None:
        """An operation on values of a few bits, which are exact."""
        kind, draw = node.kind, self.draw
        if kind.name == "bool" and draw.random() < 0.6:
            sign, rule = draw.choice(list(BITS.items()))
            others = [
                own for own in self.nodes if own.kind == BOOL and (own.scalar or node.scalar or len(own) == len(node))
            ]
            self.infix(sign, node, draw.choice(others), BOOL, rule)
            self.each(f"~{node.name}", BOOL, lambda x: 1 - x, node)
            return
        if kind.hi - kind.lo > 60:
            return
        op = draw.choice(["ring", "ring", "compare", "divide", "lookup", "cast", "cast", "unary"])
        other = self.other(node)
        if op == "ring":
            sign, rule = draw.choice(list(BINARY.items()))
            left, right = draw.choice([(node, other), (other, node)])
            ends = [rule(x, y) for x in (left.kind.lo, left.kind.hi) for y in (right.kind.lo, right.kind.hi)]
            self.each(f"{left.name} {sign} {right.name}", Kind("small", min(ends), max(ends)), rule, left, right)
        elif op == "compare" and kind.name == "small":
            sign, rule = draw.choice(list(COMPARED.items()))
            self.infix(sign, node, other, BOOL, rule)
        elif op == "divide":
            by = draw.choice([-3, -1, 1, 2, 5])
            part, rule = draw.choice([("//", operator.floordiv), ("%", operator.mod), ("&", operator.and_)])
            if kind.name == "small":
                self.each(f"{node.name} {part} {by}", Kind("small", -70, 70), lambda x: rule(x, by), node)
        elif op == "lookup":
            self.each(
                f"pf.lookup({node.name}, lambda v: v * v % 7 - 2)", Kind("small", -2, 4), lambda x: x * x % 7 - 2, node
            )
        elif op == "unary" and kind.name == "small":
            source, rule = draw.choice(
                [
                    ("-{}", operator.neg),
                    ("abs({})", abs),
                    ("{} ** 2", lambda x: x * x),
                    ("pf.relu({})", lambda x: max(x, 0)),
                    ("pf.sign({})", lambda x: 1 if x >= 0 else -1),
                ]
            )
            self.each(
                source.format(node.name),
                Kind("small", -64, 64) if "2" not in source else Kind("small", 0, 5000),
                rule,
                node,
            )
        else:
            self.cast(node)

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
            self.made(f"{node.name}[:]", declared(8, False), numbers, scalar=False)

    def vector(self, node: Node) -> None:
        """An operation on the elements of a vector."""
        draw, kind, length = self.draw, node.kind, len(node)
        op = draw.choice(
            [
                "index",
                "slice",
                "indices",
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
        exact = kind.name != "int"
        name = "small" if kind.name in ("small", "bool") else kind.name
        if exact and max(abs(kind.lo), abs(kind.hi)) > (1 << 40 if name == "count" else 60):
            return
        total = kind if not exact else Kind(name, length * min(kind.lo, 0), length * max(kind.hi, 0))
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
        elif op == "concat":
            same = [own for own in self.nodes if own.kind == kind]
            other = draw.choice(same)
            self.made(f"pf.concat({node.name}, {other.name})", kind, node.values + other.values, scalar=False)
        elif op == "sum":
            source = draw.choice(["pf.sum({})", "np.sum({})", "{}.sum()", "pf.sum(list({}))"])
            self.made(source.format(node.name), total, [sum(node.values)], scalar=True)
        elif op == "builtin":
            self.made(f"sum({node.name})", total, [sum(node.values)], scalar=True)
        elif op == "dot":
            weight = Kind("count", -5, 9) if exact else replace(kind, name="count")
            weights = [self.value(weight) for _ in range(length)]
            source = draw.choice(["pf.dot({w}, {v})", "np.dot({w}, {v})", "{v} @ {a}"])
            most = max(abs(kind.lo), abs(kind.hi)) * 9 * length
            result = Kind(name, -most, most) if exact else kind
            found = sum(x * y for x, y in zip(weights, node.values, strict=True))
            self.made(source.format(w=weights, a=array(weights), v=node.name), result, [found], scalar=True)
        elif op == "matrix":
            weight = Kind("count", -3, 3) if exact else replace(kind, name="count")
            matrix = [[self.value(weight) for _ in range(length)] for _ in range(2)]
            most = max(abs(kind.lo), abs(kind.hi)) * 3 * length
            found = [sum(x * y for x, y in zip(row, node.values, strict=True)) for row in matrix]
            columns = [list(column) for column in zip(*matrix, strict=True)]
            source = draw.choice([f"{array(matrix)} @ {node.name}", f"{node.name} @ {array(columns)}"])
            self.made(source, Kind(name, -most, most) if exact else kind, found, scalar=False)
        elif op == "both" and kind.bits <= 16:
            same = [own for own in self.nodes if own.kind == kind and not own.scalar and len(own) == length]
            other = draw.choice(same)
            most = max(abs(kind.lo), abs(kind.hi)) ** 2 * length
            result = Kind(name, -most, most) if exact else kind
            found = sum(x * y for x, y in zip(node.values, other.values, strict=True))
            self.made(f"{node.name} @ {other.name}", result, [found], scalar=True)
        elif op == "extreme" and kind.name != "bool":
            way, rule = draw.choice([("max", max), ("min", min)])
            source = draw.choice([f"pf.{way}({node.name})", f"{node.name}.{way}()", f"np.{way}({node.name})"])
            self.made(source, kind, [rule(node.values)], scalar=True)
        elif op == "sort":
            self.made(f"{draw.choice(['pf', 'np'])}.sort({node.name})", kind, sorted(node.values), scalar=False)
        elif op == "holds" and (kind.truth or kind.name == "bool"):
            way, rule = draw.choice([("all", all), ("any", any)])
            source = draw.choice([f"{node.name}.{way}()", f"np.{way}({node.name})"])
            self.made(source, kind if kind.name == "bool" else TRUTH, [rule(node.values)], scalar=True)

    def choose(self) -> None:
        """A choice between two values of one kind by a truth value."""
        conditions = [node for node in self.nodes if node.kind.truth or node.kind.name == "bool"]
        if not conditions:
            return
        condition = self.draw.choice(conditions)
        node = self.draw.choice(self.nodes)
        if node.kind.name == "bool" or (
            node.kind.name == "small" and (condition.kind.truth or node.kind.hi - node.kind.lo > 12)
        ):
            return
        if node.kind.name == "text":
            if not condition.scalar:
                return
            public = self.text(node.kind.bits)
            other = Node(repr(public), node.kind, [public], scalar=True)
        else:
            other = self.other(node)
        if len({len(own) for own in (condition, node, other) if not own.scalar}) > 1:
            return
        then, otherwise = self.draw.choice([(node, other), (other, node)])
        kind = node.kind
        if kind.name in ("count", "small"):
            kind = Kind(kind.name, min(kind.lo, other.kind.lo), max(kind.hi, other.kind.hi))
        source = f"{self.draw.choice(['pf.mux', 'np.where'])}({condition.name}, {then.name}, {otherwise.name})"
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
                {"int": self.integer, "count": self.count, "small": self.small, "bool": self.small}[node.kind.name](
                    node
                )
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

    def program(self) -> pf.Program:
        scope: dict[str, Any] = {"pf": pf, "np": np}
        exec(compile(self.source, "written.py", "exec"), scope)
        return scope["f"]
