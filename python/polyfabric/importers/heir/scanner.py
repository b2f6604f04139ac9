"""Reads MLIR's tokens, types and attributes.

The text comes from outside. Nesting is limited, and the size of a constant is checked before its array is made.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable
from math import prod
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ...errors import ProgramError, shown
from .affine import Map
from .tree import BIT, INDEX, Dialect, Kind, Scalar, Signature, Symbol, Tensor

MOST_NESTING = 64
"""Greatest depth of types, attributes and regions."""

MOST_ENTRIES = 1 << 22
"""Most numbers of one tensor."""

MOST_BITS = 4096
"""Widest integer."""

_BLANK = re.compile(r"(?:\s+|//[^\n]*)*")
_WORD = re.compile(r"[A-Za-z_][\w$]*")
_DOTTED = re.compile(r"[A-Za-z_][\w$.]*")
_NUMBER = re.compile(r"-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*(?:[eE][+-]?\d+)?)?)")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_SCALAR = re.compile(r"(?:(?P<int>[su]?i)(?P<bits>\d+)|(?P<float>f16|f32|f64|bf16)|(?P<index>index))\b")
_DIMENSION = re.compile(r"(\d+|\?)x")
_KEY = re.compile(r"([A-Za-z_][\w$.]*)\s*=(?!=)\s*")
_DENSE = re.compile(r"dense<([^>]*)>\s*")
_SSA = re.compile(r"%[\w$.\-]+(?:#\d+)?")
_CLOSING = {"<": ">", "[": "]", "(": ")", "{": "}"}


class Scanner:
    """A position in a text; it always stands at a token."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.at = 0
        self.aliases: dict[str, Any] = {}
        """Types and attributes by their names at the file's beginning, with `!` or `#`."""
        self._nesting = 0
        self._lines = [match.start() for match in re.finditer(r"\n", text)]
        self._skip()

    def _skip(self) -> None:
        found = _BLANK.match(self.text, self.at)
        assert found is not None
        self.at = found.end()

    @property
    def line(self) -> int:
        """The line at the position."""
        return bisect_right(self._lines, self.at - 1) + 1

    def fail(self, message: str, line: int | None = None) -> NoReturn:
        """Raises the error with file and line."""
        raise ProgramError(f"{self.file}:{line or self.line}: {message}")

    @property
    def here(self) -> str:
        """The text at the position, for messages."""
        return shown(self.text[self.at : self.at + 24].split("\n")[0]) if self.at < len(self.text) else "the end"

    def sees(self, token: str) -> bool:
        """Whether the text continues with `token`."""
        return self.text.startswith(token, self.at)

    def accept(self, token: str) -> bool:
        """Passes `token` if it follows."""
        if not self.text.startswith(token, self.at):
            return False
        self.at += len(token)
        self._skip()
        return True

    def expect(self, token: str) -> None:
        """Passes `token`, which must follow."""
        if not self.accept(token):
            self.fail(f"expected {token!r} but found {self.here}; the file may be cut or edited")

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Passes a pattern if it follows."""
        found = pattern.match(self.text, self.at)
        if found is not None and found.end() > self.at:
            self.at = found.end()
            self._skip()
            return found
        return None

    def word(self, *, dotted: bool = False) -> str | None:
        """A bare word, if one follows."""
        found = self.match(_DOTTED if dotted else _WORD)
        return found.group() if found else None

    def keyword(self, word: str) -> bool:
        """Passes `word` if it follows as a whole word."""
        found = _WORD.match(self.text, self.at)
        return found is not None and found.group() == word and self.accept(word)

    def value(self) -> str | None:
        """The name of an SSA value, if one follows."""
        found = self.match(_SSA)
        return found.group() if found else None

    def named_value(self) -> str:
        """The name of an SSA value, which must follow."""
        found = self.value()
        if found is None:
            self.fail(f"expected a value such as %0 but found {self.here}; the file may be cut or edited")
        return found

    def symbol(self) -> Symbol:
        """`@name`."""
        self.expect("@")
        quoted = self.match(_STRING)
        name = quoted.group(1) if quoted else self.word(dotted=True)
        if not name:
            self.fail(f"expected a name after @ but found {self.here}")
        return Symbol(name)

    def string(self) -> str:
        """A text in quotes."""
        found = self.match(_STRING)
        if found is None:
            self.fail(f"expected a text in quotes but found {self.here}")
        return found.group(1)

    def separated(self, closing: str, one: Callable[[], Any]) -> list[Any]:
        """Items between commas, up to `closing`."""
        found: list[Any] = []
        if self.accept(closing):
            return found
        while True:
            found.append(one())
            if self.accept(closing):
                return found
            self.expect(",")

    def nested(self, read: Callable[[], Any]) -> Any:  # noqa: ANN401 - what `read` gives
        """`read` one level deeper."""
        self._nesting += 1
        if self._nesting > MOST_NESTING:
            self.fail(f"more than {MOST_NESTING} levels are nested; HEIR writes fewer")
        found = read()
        self._nesting -= 1
        return found

    # -- types ------------------------------------------------------------------------------------------------------

    def kind(self) -> Kind:
        """A type."""
        found: Kind = self.nested(self._kind)
        return found

    def _kind(self) -> Kind:
        if self.sees("!"):
            return self._named("!")  # type: ignore[no-any-return]
        if self.accept("("):
            inputs = tuple(self.separated(")", self.kind))
            self.expect("->")
            return Signature(inputs, tuple(self.results()))
        if self.accept("tensor<"):
            shape: list[int | None] = []
            while (dimension := self.match(_DIMENSION)) is not None:
                shape.append(None if dimension[1] == "?" else self.integer(dimension[1]))
            element = self.kind()
            if self.accept(","):
                self.attribute()
            self.expect(">")
            return Tensor(tuple(shape), element)
        found = self.match(_SCALAR)
        if found is None:
            self.fail(
                f"expected a type but found {self.here}; supported are iN, fN, index, tensors and the dialects' types"
            )
        if found["index"]:
            return INDEX
        if found["float"]:
            return Scalar("float", int(found["float"].lstrip("bf")))
        bits = self.integer(found["bits"])
        if not 1 <= bits <= MOST_BITS:
            self.fail(f"an integer of {bits} bits; supported are 1 to {MOST_BITS}")
        return Scalar("int", bits)

    def results(self) -> list[Kind]:
        """The types behind an arrow: one, or several in parentheses."""
        return self.separated(")", self.kind) if self.accept("(") else [self.kind()]

    def integer(self, digits: str) -> int:
        """A public integer of bounded length."""
        if len(digits) > 1300:
            self.fail(f"a number has {len(digits)} digits; give fewer")
        return int(digits, 16) if "x" in digits else int(digits)

    def _named(self, mark: str) -> Any:  # noqa: ANN401 - a type or an attribute
        self.expect(mark)
        name = self.word(dotted=True)
        if name is None:
            self.fail(f"expected a name after {mark} but found {self.here}")
        if "." not in name:
            if mark + name not in self.aliases:
                self.fail(f"{mark}{name} is not defined; the file may lack its first lines")
            return self.aliases[mark + name]
        return Dialect(name, self.parameters() if self.sees("<") else ())

    def parameters(self) -> tuple[tuple[str | None, Any], ...]:
        """The parameters of a type or an attribute, in angle brackets."""
        self.expect("<")
        return tuple(self.nested(lambda: self.separated(">", self._parameter)))

    def _parameter(self) -> tuple[str | None, Any]:
        key = self.match(_KEY)
        start = self.at
        if self.sees("<"):
            found: Any = Dialect("", self.parameters())
        elif (found := self._plain()) is None:
            return (key[1] if key else None, self._raw(start))
        if not self.text.startswith((",", ">"), self.at):
            found = self._raw(start)
        return (key[1] if key else None, found)

    def _plain(self) -> Any:  # noqa: ANN401 - any attribute
        """An attribute whose first letter is known; `None` for others, such as polynomials."""
        if self.text[self.at : self.at + 1] in '!#"@[{(-0123456789' or _SCALAR.match(self.text, self.at):
            return self.attribute()
        if self.sees("tensor<") or self.sees("array<"):
            return self.attribute()
        return self.word(dotted=True)

    def _raw(self, start: int) -> str:
        """The text up to the end of a parameter."""
        closing: list[str] = []
        at = start
        while at < len(self.text):
            letter = self.text[at]
            if not closing and letter in ",>":
                break
            if closing and letter == closing[-1]:
                closing.pop()
            elif letter in _CLOSING and len(closing) < MOST_NESTING:
                closing.append(_CLOSING[letter])
            at += 1
        found = self.text[start:at].strip()
        self.at = at
        self._skip()
        return found

    # -- attributes -------------------------------------------------------------------------------------------------

    def attribute(self) -> Any:  # noqa: ANN401 - numbers, texts, lists, dictionaries, types, arrays
        """An attribute. The types of numbers are left out."""
        return self.nested(self._attribute)

    def _attribute(self) -> Any:  # noqa: ANN401 - as `attribute`
        letter = self.text[self.at : self.at + 1]
        if letter == "#":
            return self._named("#")
        if letter == '"':
            return self._typed(self.string())
        if letter == "@":
            return self.symbol()
        if letter == "[":
            self.expect("[")
            return self.separated("]", self.attribute)
        if letter == "{":
            return self.dictionary()
        if letter == "<":
            return Dialect("", self.parameters())
        if self.sees("dense<"):
            return self._dense()[0]
        if self.accept("array<"):
            kind = self.kind()
            self.accept(":")
            numbers = self.separated(">", self._number)
            return numbers if isinstance(kind, Scalar) else self.fail(f"an array of {kind}")
        if self.sees("affine_map<"):
            return self.affine_map()
        if letter == "-" or letter.isdigit():
            return self._typed(self._number())
        for word, constant in (("true", True), ("false", False), ("unit", True)):
            if self.keyword(word):
                return constant
        if letter in "!(" or self.sees("tensor<") or _SCALAR.match(self.text, self.at):
            return self.kind()
        found = self.word(dotted=True)
        if found is None:
            self.fail(f"expected an attribute but found {self.here}; the file may be cut or edited")
        if self.sees("<"):
            self.fail(f"an attribute {found}<..> is not supported; compile with HEIR's scheme pipelines alone")
        return found

    def typed_attribute(self) -> tuple[Any, Kind]:
        """A number or an array, and its type. A truth value has no type behind it."""
        if self.sees("dense<"):
            return self._dense()
        found = self._number()
        if isinstance(found, bool):
            return found, BIT
        self.expect(":")
        kind = self.kind()
        is_float = isinstance(kind, Scalar) and kind.kind == "float"
        return float(found) if is_float else found, kind

    def _typed(self, found: Any) -> Any:  # noqa: ANN401 - a number or text
        """The same, without the type behind it. A decimal number without a point is a float if its type is."""
        if self.accept(":"):
            kind = self.kind()
            if isinstance(kind, Scalar) and kind.kind == "float" and isinstance(found, int):
                return float(found)
        return found

    def _number(self) -> int | float | bool:
        for word in ("true", "false"):
            if self.keyword(word):
                return word == "true"
        found = self.match(_NUMBER)
        if found is None:
            self.fail(f"expected a number but found {self.here}; the file may be cut or edited")
        text = found.group()
        return float(text) if "." in text else self.integer(text)

    def dictionary(self) -> dict[str, Any]:
        """`{name = attribute, flag}`."""
        self.expect("{")
        return dict(self.nested(lambda: self.separated("}", self._entry)))

    def properties(self) -> dict[str, Any]:
        """`<name = attribute>`, as an operation's custom form has it."""
        self.expect("<")
        return dict(self.nested(lambda: self.separated(">", self._entry)))

    def _entry(self) -> tuple[str, Any]:
        quoted = self.match(_STRING)
        name = quoted.group(1) if quoted else self.word(dotted=True)
        if name is None:
            self.fail(f"expected an attribute's name but found {self.here}")
        return name, self.attribute() if self.accept("=") else True

    def affine_map(self) -> Map:
        """`affine_map<(d0) -> (d0 + 1)>`."""
        start, line = self.at, self.line
        end = self.text.find(">", self.text.find("->", start) + 2)
        if end < 0:
            self.fail("an affine map has no end; the file may be cut")
        self.at = end + 1
        self._skip()
        try:
            return Map.of(self.text[start + len("affine_map<") : end])
        except ValueError as error:
            self.fail(f"an affine map {error}", line)

    def _dense(self) -> tuple[NDArray[Any], Tensor]:
        line = self.line
        found = self.match(_DENSE)
        if found is None:
            self.fail("a constant has no end; the file may be cut")
        self.expect(":")
        kind = self.kind()
        if not isinstance(kind, Tensor) or not isinstance(kind.element, Scalar) or None in kind.shape:
            self.fail(f"a constant of type {kind}; supported are tensors of numbers", line)
        return self._filled(kind, self._entries(found[1].strip(), kind, line), line), kind

    def _filled(self, kind: Tensor, numbers: NDArray[Any], line: int) -> NDArray[Any]:
        """An array of the type's shape, from as many numbers or one."""
        size = prod(kind.shape)  # type: ignore[arg-type]
        if size > MOST_ENTRIES:
            self.fail(f"a constant of {size:,} numbers; at most {MOST_ENTRIES:,} are read", line)
        if numbers.size not in (1, size):
            self.fail(f"a constant of type {kind} has {numbers.size} numbers, not {size}", line)
        made = np.resize(numbers, size).reshape(kind.shape)  # type: ignore[arg-type]
        assert isinstance(kind.element, Scalar)
        return made.astype(float) if kind.element.kind == "float" else made

    def _entries(self, text: str, kind: Tensor, line: int) -> NDArray[Any]:
        """The numbers of a constant, flat."""
        assert isinstance(kind.element, Scalar)
        if text.startswith('"'):
            return self._bytes(text.strip('"'), kind.element, line)
        try:
            listed = json.loads(text or "[]")
            numbers = np.asarray(listed)
        except (ValueError, RecursionError):
            self.fail(f"a constant of type {kind} is not lists of numbers: {shown(text)[:40]}", line)
        allowed = "biuf" if kind.element.kind == "float" else "biu"
        if numbers.size and numbers.dtype.kind not in allowed:
            self.fail(f"a constant of type {kind} has numbers of another type, or beyond 64 bits", line)
        return numbers.reshape(-1).astype(float if kind.element.kind == "float" else np.int64)

    def _bytes(self, text: str, element: Scalar, line: int) -> NDArray[Any]:
        """The numbers of a constant that is written as the hexadecimal digits of its bytes."""
        dtypes = {
            "f16": "<f2",
            "f32": "<f4",
            "f64": "<f8",
            "i8": "<i1",
            "i16": "<i2",
            "i32": "<i4",
            "i64": "<i8",
            "index": "<i8",
        }
        dtype = dtypes.get(str(element))
        try:
            raw = bytes.fromhex(text.removeprefix("0x"))
            if dtype is None:
                self.fail(
                    f"a constant of {element} as hexadecimal digits is not supported; compile with wider integers", line
                )
            return np.frombuffer(raw, dtype).astype(float if element.kind == "float" else np.int64)
        except ValueError:
            self.fail(
                f"a constant of {element} has an odd number of bytes or other letters than hexadecimal digits", line
            )
