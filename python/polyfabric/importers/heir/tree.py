"""MLIR as a tree: types, operations, regions and functions. Both forms of the text are read to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Scalar:
    """`i8`, `f32` or `index`."""

    kind: Literal["int", "float", "index"]
    bits: int

    def __str__(self) -> str:
        return "index" if self.kind == "index" else f"{self.kind[0]}{self.bits}"


@dataclass(frozen=True)
class Tensor:
    """`tensor<4x8xi8>`; `None` is an unknown dimension."""

    shape: tuple[int | None, ...]
    element: Kind

    def __str__(self) -> str:
        return f"tensor<{''.join('?x' if n is None else f'{n}x' for n in self.shape)}{self.element}>"


@dataclass(frozen=True)
class Dialect:
    """A type or attribute of a dialect, such as `!lwe.lwe_ciphertext<..>`, with its parameters."""

    name: str
    parameters: tuple[tuple[str | None, Any], ...] = field(default=(), hash=False)

    def get(self, key: str) -> Any:  # noqa: ANN401 - any attribute
        """The parameter of a name, or `None`."""
        return next((value for name, value in self.parameters if name == key), None)

    def __str__(self) -> str:
        return f"!{self.name}"


@dataclass(frozen=True)
class Signature:
    """`(i8, i8) -> i8`."""

    inputs: tuple[Kind, ...]
    results: tuple[Kind, ...]


Kind = Scalar | Tensor | Dialect | Signature

INDEX = Scalar("index", 64)
BIT = Scalar("int", 1)


class Symbol(str):
    """`@name`."""

    __slots__ = ()


@dataclass
class Region:
    """The operations of a region's only block, and the names of the block's arguments."""

    arguments: list[str]
    operations: list[Operation]
    kinds: list[Kind] = field(default_factory=list)


@dataclass
class Operation:
    """One operation. Operands and results are names such as `%0` or `%0#1`."""

    name: str
    line: int
    results: list[str] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    kinds: list[Kind] = field(default_factory=list)
    """Types of the results."""
    operand_kinds: list[Kind] = field(default_factory=list)
    """Types of the operands, if the text has them; the printed form of some operations leaves types out."""
    regions: list[Region] = field(default_factory=list)

    def walk(self) -> Iterator[Operation]:
        """The operation, and all within it."""
        pending = [self]
        while pending:
            one = pending.pop()
            yield one
            pending += [inner for region in one.regions for inner in region.operations]


@dataclass
class Function:
    """A function. `body` is `None` for a declaration."""

    name: str
    line: int
    inputs: tuple[Kind, ...]
    results: tuple[Kind, ...]
    argument_attributes: list[dict[str, Any]]
    attributes: dict[str, Any]
    body: Region | None


@dataclass
class Module:
    """A file: its functions and the module's attributes."""

    file: str
    attributes: dict[str, Any]
    functions: dict[str, Function]


def is_ciphertext(kind: Kind) -> bool:
    """Whether it is a ciphertext or a tensor of them."""
    return isinstance(kind.element if isinstance(kind, Tensor) else kind, Dialect) and "ciphertext" in str(
        kind.element if isinstance(kind, Tensor) else kind
    )
