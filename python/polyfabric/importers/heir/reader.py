"""Reads a module: functions and operations in MLIR's generic form, and in the printed form through `printed`.

Generic: `%1 = "ckks.rotate"(%0, %c) {..} : (!ct, index) -> !ct`. Printed: `%1 = ckks.rotate %0, %c : index {..} : !ct`.
"""

from __future__ import annotations

import re
from typing import Any

from . import printed
from .scanner import Scanner
from .tree import Dialect, Function, Kind, Module, Operation, Region, Signature

MOST_OPERATIONS = 1_000_000
"""Most operations of a file."""

_COUNT = re.compile(r":(\d+)")
_ALIAS = re.compile(r"([!#][A-Za-z_][\w$]*)\s*=(?!=)\s*")
_LABEL = re.compile(r"\^[\w$.\-]+")
_LOCATION = re.compile(r"loc\([^()]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)[^()]*)*\)")
_RESOURCES = re.compile(r"\{-#.*?#-\}", re.DOTALL)
MOST_RESULTS = 4096

SHORT = {"return": "func.return", "call": "func.call", "module": "builtin.module"}
"""Operations that are printed without their dialect."""


def read(text: str, file: str) -> Module:
    """The module of a text."""
    return Reader(text, file).module()


class Reader(Scanner):
    """Reads operations."""

    def __init__(self, text: str, file: str) -> None:
        super().__init__(text, file)
        self._operations = 0

    def module(self) -> Module:
        """The whole text: aliases, and one module."""
        found: Operation | None = None
        functions: list[Operation] = []
        while self.at < len(self.text):
            alias = self.match(_ALIAS)
            if alias is not None:
                # MLIR writes both kinds before their uses.
                self.aliases[alias[1]] = self.kind() if alias[1][0] == "!" else self.attribute()
            elif self.match(_RESOURCES) is None:
                one = self.operation()
                if one.name == "builtin.module" and found is None:
                    found = one
                elif one.name == "func.func":
                    functions.append(one)
                else:
                    self.fail(f"{one.name} is outside of a module; give a file with one module", one.line)
            self.location()
        if found is not None:
            functions += found.regions[0].operations if found.regions else []
        if not functions:
            self.fail("there is no function; give MLIR that heir-opt wrote, with ckks, bgv or cggi operations", 1)
        attributes = found.attributes if found is not None else {}
        module = Module(self.file, attributes, {})
        for one in functions:
            if one.name != "func.func":
                self.fail(f"{one.name} is no function; a module holds functions alone", one.line)
            made = self._function(one)
            if made.name in module.functions:
                self.fail(f"function @{made.name} appears twice; remove one", one.line)
            module.functions[made.name] = made
        return module

    def _function(self, one: Operation) -> Function:
        kind, name = one.attributes.get("function_type"), one.attributes.get("sym_name")
        if not isinstance(kind, Signature) or not isinstance(name, str):
            self.fail("a function lacks its name or type; the file may be edited", one.line)
        body = one.regions[0] if one.regions and (one.regions[0].operations or one.regions[0].arguments) else None
        if body is not None and len(body.arguments) != len(kind.inputs):
            self.fail(f"@{name} has {len(body.arguments)} arguments, but its type {len(kind.inputs)}", one.line)
        given = one.attributes.get("arg_attrs")
        attributes = given if isinstance(given, list) and len(given) == len(kind.inputs) else [{} for _ in kind.inputs]
        attributes = [own if isinstance(own, dict) else {} for own in attributes]
        return Function(name, one.line, kind.inputs, kind.results, attributes, one.attributes, body)

    # -- operations -------------------------------------------------------------------------------------------------

    def operation(self) -> Operation:
        """One operation, in either form."""
        made: Operation = self.nested(self._operation)
        return made

    def _operation(self) -> Operation:
        line = self.line
        self._operations += 1
        if self._operations > MOST_OPERATIONS:
            self.fail(f"more than {MOST_OPERATIONS:,} operations; leave loops rolled (unroll-fhe-kernel-loops=false)")
        results: list[str] = []
        if self.sees("%"):
            while True:
                name = self.named_value()
                counted = self.match(_COUNT)
                count = 1 if counted is None else self.integer(counted[1])
                if not 1 <= count <= MOST_RESULTS:
                    self.fail(f"{name} has {count} results; at most {MOST_RESULTS} are read")
                results += [name] if count == 1 else [f"{name}#{at}" for at in range(count)]
                if not self.accept(","):
                    break
            self.expect("=")
        if self.sees('"'):
            made = self._generic(line)
        else:
            name = self.word(dotted=True)
            if name is None:
                self.fail(f"expected an operation but found {self.here}; the file may be cut or edited")
            made = printed.operation(self, SHORT.get(name, name), line)
        made.results = results
        if len(made.kinds) != len(results):
            self.fail(f"{made.name} has {len(made.kinds)} results, but {len(results)} names", line)
        self.location()
        return made

    def _generic(self, line: int) -> Operation:
        made = Operation(self.string(), line)
        self.expect("(")
        made.operands = self.separated(")", self.named_value)
        if self.sees("["):
            self.fail(f"{made.name} branches to blocks, which is not supported; compile without --convert-scf-to-cf")
        if self.sees("<"):
            self.expect("<")
            made.attributes |= self.dictionary()
            self.expect(">")
        if self.accept("("):
            made.regions = self.separated(")", self.region)
        if self.sees("{"):
            made.attributes |= self.dictionary()
        self.expect(":")
        kind = self.kind()
        if not isinstance(kind, Signature):
            self.fail(f"{made.name} has the type {kind} instead of (..) -> ..")
        made.operand_kinds, made.kinds = list(kind.inputs), list(kind.results)
        return made

    def region(self, arguments: list[str] | None = None, kinds: list[Kind] | None = None) -> Region:
        """`{ ^bb0(%0: i8): .. }`, or operations alone."""
        made = Region(list(arguments or []), [], list(kinds or []))
        self.expect("{")
        if self.match(_LABEL) is not None:
            if self.accept("("):
                for name, kind in self.separated(")", self.argument):
                    made.arguments.append(name)
                    made.kinds.append(kind)
            self.expect(":")
        while not self.accept("}"):
            if self.sees("^"):
                self.fail("a region has several blocks, which is not supported; compile without --convert-scf-to-cf")
            if self.at >= len(self.text):
                self.fail("a region has no end; the file may be cut")
            made.operations.append(self.operation())
        return made

    def argument(self) -> tuple[str, Kind]:
        """`%0: i8`."""
        name = self.named_value()
        self.expect(":")
        kind = self.kind()
        self.location()
        return name, kind

    def location(self) -> None:
        """Passes `loc(..)`."""
        self.match(_LOCATION)

    def optional_attributes(self) -> dict[str, Any]:
        """`{..}`, if it follows."""
        return self.dictionary() if self.sees("{") else {}

    def type_or_parameters(self) -> Kind:
        """A type, or `<..>`, which stands for a type whose name the operation implies."""
        return Dialect("", self.parameters()) if self.sees("<") else self.kind()
