"""The picture of a program: its operations from inputs to outputs, with the types of their results.

A TFHE program that was traced shows the operations as they are written; any other program those of its text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..host.files import path_of, write_text
from .drawing import Drawing

if TYPE_CHECKING:
    from ..language.traced import TracedProgram

MOST_NODES = 400
"""Largest picture; larger ones are unreadable."""

_LINE = re.compile(r"%(?P<at>\d+) = (?P<op>\w+) (?P<rest>.*)")
_TYPE = re.compile(r" : (?P<type>[^\"]+?)(?: @ \S+)?(?: at \"|$)")
_WIDTH, _HEIGHT, _GAP, _ROOM = 150, 44, 36, 60


@dataclass
class Node:
    """One operation, input or output."""

    title: str
    kind: str
    """The type of its result, as text."""
    needs: list[int] = field(default_factory=list)
    """Nodes whose results it uses."""
    accent: str = ""


@dataclass(frozen=True, repr=False)
class Picture:
    """An SVG that notebooks show and `save` writes."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Writes the file, whose name ends in .svg."""
        file = path_of(path)
        if file.suffix.lower() != ".svg":
            raise InputError(f"{file}: a picture is written as SVG; end the name in .svg")
        write_text(file, self.svg)

    def __repr__(self) -> str:
        return f"<picture of {len(self.svg):,} bytes of SVG: .save('program.svg') writes it>"


def picture(program: TracedProgram) -> Picture:
    """Draws a program."""
    nodes = _written(program) or _of_text(program)
    if len(nodes) > MOST_NODES:
        raise InputError(
            f"{program.name} has {len(nodes):,} operations, but a picture shows at most {MOST_NODES}; print its .text(), or draw a smaller size of it"
        )
    return Picture(_drawn(program.name, nodes))


def _written(program: TracedProgram) -> list[Node]:
    """The operations of the traced function; none if they are unknown."""
    graph = getattr(getattr(program, "reference", None), "graph", None)
    if graph is None:
        return []
    accents = {"input": "a", "operation": "", "output": "c"}
    return [Node(title, repr(kind), needs, accents[role]) for title, kind, needs, role in graph()]


def _of_text(program: TracedProgram) -> list[Node]:
    """The operations of the homomorphic program."""
    nodes: list[Node] = []
    at: dict[str, int] = {}
    for line in program.text().splitlines():
        if found := _LINE.match(line):
            kind, rest = _TYPE.search(line), found["rest"].split(" at ")[0]
            title, accent = found["op"], {"input": "a", "output": "c"}.get(found["op"], "")
            of = kind["type"] if kind else ""
            if accent:
                title = rest.split('"')[1]
                kinds = program.inputs if accent == "a" else program.outputs
                # An input in several ciphertexts: "x.0", "x.1", ..
                of = repr(kinds[title if title in kinds else title.rpartition(".")[0]])
            elif amount := re.search(r"\bby (-?\d+)", rest):
                title += f" by {amount[1]}"
            at[found["at"]] = len(nodes)
            needs = [at[operand] for operand in re.findall(r"%(\d+)", rest)]
            nodes.append(Node(title, of, needs, accent))
    return nodes


def _drawn(name: str, nodes: Sequence[Node]) -> str:
    """Draws layers from left to right; an operation is one layer after its last operand."""
    layer: list[int] = []
    for node in nodes:
        layer.append(1 + max((layer[need] for need in node.needs), default=-1))
    last = max(layer, default=0)
    layer = [last if node.accent == "c" else own for node, own in zip(nodes, layer, strict=True)]
    used = layer.copy()
    for node, own in zip(nodes, layer, strict=True):
        for need in node.needs:
            used[need] = max(used[need], own)
    taken: dict[int, set[int]] = {}
    rows = [0] * len(nodes)
    for at in sorted(range(len(nodes)), key=lambda at: (layer[at], at)):
        row = min((rows[need] for need in nodes[at].needs), default=0)
        while row in taken.setdefault(layer[at], set()):
            row += 1
        rows[at] = row
        # Its arrow keeps the row free until the last use.
        for between in range(layer[at], max(used[at], layer[at] + 1)):
            taken.setdefault(between, set()).add(row)
    places = [(20 + own * (_WIDTH + _ROOM), 20 + row * (_HEIGHT + _GAP)) for own, row in zip(layer, rows, strict=True)]
    width = 40 + (last + 1) * _WIDTH + last * _ROOM
    height = 40 + (max(rows, default=0) + 1) * (_HEIGHT + _GAP) - _GAP
    drawing = Drawing(width, height, f"The operations of {name}")
    for node, (x, y) in zip(nodes, places, strict=True):
        for need in dict.fromkeys(node.needs):
            from_x, from_y = (places[need][0] + _WIDTH, places[need][1] + _HEIGHT / 2)
            bend = [(x - _ROOM, from_y)] if x - _ROOM > from_x else []
            drawing.arrow([(from_x, from_y), *bend, (x, y + _HEIGHT / 2)])
    for node, (x, y) in zip(nodes, places, strict=True):
        lines = [line if len(line) <= 22 else f"{line[:20]}.." for line in (node.title, node.kind) if line]
        drawing.box(x, y, _WIDTH, _HEIGHT, "\n".join(lines), kind=node.accent)
    return drawing.svg()
