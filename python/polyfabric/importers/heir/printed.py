"""Operations in the printed form: HEIR prints most of them as operands, properties, attributes and types.

%ct_1 = ckks.rotate %ct, %c1 : index {..} : !ct
%0 = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %x) -> (tensor<8xf32>) { .. }
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .affine import Map
from .tree import BIT, INDEX, Kind, Operation, Region, Signature, Tensor

if TYPE_CHECKING:
    from .reader import Reader

_FLAGS = re.compile(r"(?:overflow|fastmath)<[^<>]*>|\b(?:nneg|exact|disjoint|inbounds|unsigned)\b")
_PREDICATE = re.compile(r"[a-z]{2,3}\b")

Format = Callable[["Reader", Operation], None]


def operation(reader: Reader, name: str, line: int) -> Operation:
    """The operation behind its name. Its results are named by the caller."""
    made = Operation(name, line)
    if "." not in name:
        reader.fail(f"{name} is not an operation; the file may be cut or edited", line)
    FORMATS.get(name, _plain)(reader, made)
    return made


def _operands(reader: Reader) -> list[str]:
    """`%0, %1`, possibly none."""
    found: list[str] = []
    while (name := reader.value()) is not None:
        found.append(name)
        if not reader.accept(","):
            break
    return found


def _plain(reader: Reader, made: Operation) -> None:
    """Operands, then properties, attributes and types in any order. The last types have the results."""
    made.operands = _operands(reader)
    _tail(reader, made)


def _tail(reader: Reader, made: Operation) -> None:
    while True:
        if reader.match(_FLAGS) is not None:
            continue
        if reader.sees("<"):
            made.attributes |= reader.properties()
        elif reader.sees("{"):
            made.attributes |= reader.dictionary()
        elif reader.accept(":"):
            made.operand_kinds, made.kinds = _types(reader)
        else:
            return


def _types(reader: Reader) -> tuple[list[Kind], list[Kind]]:
    """`T`, `T, U`, `T -> U`, `(T, U) -> V`, `T to U` or `T into U`: the types of the operands and of the results."""
    found = [reader.type_or_parameters()]
    while reader.accept(","):
        found.append(reader.type_or_parameters())
    if reader.accept("->"):
        several = reader.accept("(")
        return found, reader.separated(")", reader.type_or_parameters) if several else [reader.type_or_parameters()]
    if reader.keyword("to") or reader.keyword("into"):
        return found, [reader.type_or_parameters()]
    if len(found) == 1 and isinstance(found[0], Signature):
        return list(found[0].inputs), list(found[0].results)
    return found, found[-1:]


def _without_results(reader: Reader, made: Operation) -> None:
    """An operation that ends a region, or stores."""
    _plain(reader, made)
    made.kinds = []


def _constant(reader: Reader, made: Operation) -> None:
    made.attributes |= reader.optional_attributes()
    made.attributes["value"], kind = reader.typed_attribute()
    made.kinds = [kind]


def _compared(reader: Reader, made: Operation) -> None:
    """`slt, %a, %b : i8`."""
    predicate = reader.match(_PREDICATE)
    if predicate is None:
        reader.fail(f"{made.name} has no predicate but {reader.here}")
    made.attributes["predicate"] = predicate.group()
    reader.expect(",")
    _plain(reader, made)
    kind = made.kinds[0] if made.kinds else BIT
    made.kinds = [Tensor(kind.shape, BIT) if isinstance(kind, Tensor) else BIT]


# -- tensors --------------------------------------------------------------------------------------------------------


def _indices(reader: Reader) -> list[str]:
    reader.expect("[")
    return reader.separated("]", reader.named_value)


def _mixed(reader: Reader, made: Operation, key: str) -> None:
    """`[0, %1]`: constants as an attribute, and operands."""
    reader.expect("[")
    dynamic = 0

    def one() -> int:
        nonlocal dynamic
        name = reader.value()
        if name is None:
            number = reader.attribute()
            return number if isinstance(number, int) else reader.fail(f"{made.name}: {number} is no integer")
        made.operands.append(name)
        dynamic += 1
        return DYNAMIC

    made.attributes[f"static_{key}"] = reader.separated("]", one)
    made.attributes.setdefault("operandSegmentSizes", []).append(dynamic)


DYNAMIC = -(1 << 63)
"""Stands for an operand in a list of constants."""


def _extract(reader: Reader, made: Operation) -> None:
    made.operands = [reader.named_value(), *_indices(reader)]
    _tail(reader, made)
    kind = made.kinds[0] if made.kinds else None
    if not isinstance(kind, Tensor):
        reader.fail(f"{made.name} of {kind}, which is no tensor")
    made.kinds = [kind.element]


def _insert(reader: Reader, made: Operation) -> None:
    made.operands = [reader.named_value()]
    if not reader.keyword("into"):
        reader.fail(f"{made.name}: expected `into` but found {reader.here}")
    made.operands += [reader.named_value(), *_indices(reader)]
    _tail(reader, made)


def _slice(reader: Reader, made: Operation) -> None:
    made.operands = [reader.named_value()]
    made.attributes["operandSegmentSizes"] = [1]
    if reader.keyword("into"):
        made.operands.append(reader.named_value())
        made.attributes["operandSegmentSizes"].append(1)
    for key in ("offsets", "sizes", "strides"):
        _mixed(reader, made, key)
    _tail(reader, made)


def _empty(reader: Reader, made: Operation) -> None:
    if reader.accept("("):
        made.operands = reader.separated(")", reader.named_value)
    _tail(reader, made)


def _splat(reader: Reader, made: Operation) -> None:
    made.operands = [reader.named_value()]
    if reader.sees("["):
        made.operands += _indices(reader)
    _tail(reader, made)


def _dimension(reader: Reader, made: Operation) -> None:
    _plain(reader, made)
    made.kinds = [INDEX]


def _reshaped(reader: Reader, made: Operation) -> None:
    made.operands = [reader.named_value()]
    made.attributes["reassociation"] = reader.attribute()
    if reader.keyword("output_shape"):
        reader.expect("[")
        made.operands += [
            own for own in reader.separated("]", lambda: reader.value() or reader.attribute()) if isinstance(own, str)
        ]
    _tail(reader, made)


def _concatenated(reader: Reader, made: Operation) -> None:
    if not reader.keyword("dim"):
        reader.fail(f"{made.name}: expected `dim` but found {reader.here}")
    reader.expect("(")
    made.attributes["dim"] = reader.attribute()
    reader.expect(")")
    _plain(reader, made)


# -- control --------------------------------------------------------------------------------------------------------


def _bindings(reader: Reader, made: Operation) -> list[str]:
    """`iter_args(%a = %x, ..) -> (types)`: the names inside; the operands are added."""
    if not reader.keyword("iter_args"):
        return []
    reader.expect("(")

    def one() -> str:
        name = reader.named_value()
        reader.expect("=")
        made.operands.append(reader.named_value())
        return name

    names = reader.separated(")", one)
    reader.expect("->")
    made.kinds = reader.results()
    return names


def _for(reader: Reader, made: Operation) -> None:
    reader.match(_FLAGS)
    counter = reader.named_value()
    for token in ("=", "to", "step"):
        reader.expect(token)
        made.operands.append(reader.named_value())
    names = _bindings(reader, made)
    kind: Kind = reader.kind() if reader.accept(":") else INDEX
    made.regions = [reader.region([counter, *names], [kind, *made.kinds])]
    made.attributes |= reader.optional_attributes()


def _if(reader: Reader, made: Operation) -> None:
    made.operands = [reader.named_value()]
    if reader.accept("->"):
        made.kinds = reader.results()
    made.regions = [reader.region()]
    if reader.keyword("else"):
        made.regions.append(reader.region())
    made.attributes |= reader.optional_attributes()


def _affine_bound(reader: Reader, made: Operation, key: str) -> int:
    """A number, a value, or a map of values; returns the number of operands."""
    _ = reader.keyword("max") or reader.keyword("min")
    name = reader.value()
    if name is not None:
        made.operands.append(name)
        made.attributes[key] = Map.of("(d0) -> (d0)")
        return 1
    found = reader.attribute()
    if isinstance(found, int):
        made.attributes[key] = Map.of(f"() -> ({found})")
        return 0
    made.attributes[key] = found
    return _map_operands(reader, made)


def _map_operands(reader: Reader, made: Operation) -> int:
    """`(%0)[%1]`; returns their number."""
    before = len(made.operands)
    if reader.accept("("):
        made.operands += reader.separated(")", reader.named_value)
    if reader.accept("["):
        made.operands += reader.separated("]", reader.named_value)
    return len(made.operands) - before


def _affine_for(reader: Reader, made: Operation) -> None:
    counter = reader.named_value()
    reader.expect("=")
    sizes = [_affine_bound(reader, made, "lowerBoundMap")]
    reader.expect("to")
    sizes.append(_affine_bound(reader, made, "upperBoundMap"))
    made.attributes["step"] = reader.attribute() if reader.keyword("step") else 1
    before = len(made.operands)
    names = _bindings(reader, made)
    made.attributes["operandSegmentSizes"] = [*sizes, len(made.operands) - before]
    made.regions = [reader.region([counter, *names], [INDEX, *made.kinds])]
    made.attributes |= reader.optional_attributes()


def _affine_apply(reader: Reader, made: Operation) -> None:
    made.attributes["map"] = reader.attribute()
    _map_operands(reader, made)
    made.attributes |= reader.optional_attributes()
    made.kinds = [INDEX]


# -- functions and storage --------------------------------------------------------------------------------------------


def _module(reader: Reader, made: Operation) -> None:
    if reader.sees("@"):
        reader.symbol()
    if reader.keyword("attributes"):
        made.attributes |= reader.dictionary()
    made.regions = [reader.region()]


def _function(reader: Reader, made: Operation) -> None:
    for word in ("private", "public", "nested"):
        if reader.keyword(word):
            made.attributes["sym_visibility"] = word
    made.attributes["sym_name"] = reader.symbol()
    reader.expect("(")
    names: list[str] = []
    kinds: list[Kind] = []
    attributes: list[dict[str, Any]] = []

    def argument() -> None:
        name = reader.value()
        if name is not None:
            names.append(name)
            reader.expect(":")
        kinds.append(reader.kind())
        attributes.append(reader.optional_attributes())
        reader.location()

    def result() -> Kind:
        kind = reader.kind()
        reader.optional_attributes()
        return kind

    reader.separated(")", argument)
    results: list[Kind] = []
    if reader.accept("->"):
        results = reader.separated(")", result) if reader.accept("(") else [reader.kind()]
    made.attributes["function_type"] = Signature(tuple(kinds), tuple(results))
    made.attributes["arg_attrs"] = attributes
    if reader.keyword("attributes"):
        made.attributes |= reader.dictionary()
    made.regions = [reader.region(names, kinds)] if reader.sees("{") else [Region([], [])]


def _call(reader: Reader, made: Operation) -> None:
    made.attributes["callee"] = reader.symbol()
    reader.expect("(")
    made.operands = reader.separated(")", reader.named_value)
    made.attributes |= reader.optional_attributes()
    reader.expect(":")
    kind = reader.kind()
    made.kinds = list(kind.results) if isinstance(kind, Signature) else reader.fail(f"a call has the type {kind}")


def _sited(reader: Reader, made: Operation) -> None:
    """`%value, %storage[%i] site 0<!pt> : ..`."""
    made.operands = _operands(reader) + _indices(reader)
    if not reader.keyword("site"):
        reader.fail(f"{made.name}: expected `site` but found {reader.here}")
    made.attributes["site_id"] = reader.attribute()
    if reader.sees("<"):
        reader.parameters()
    _tail(reader, made)
    if made.name == "preprocessing.store":
        made.kinds = []


FORMATS: dict[str, Format] = {
    "builtin.module": _module,
    "func.func": _function,
    "func.call": _call,
    "func.return": _without_results,
    "arith.constant": _constant,
    "arith.cmpi": _compared,
    "arith.cmpf": _compared,
    "tensor.extract": _extract,
    "tensor.insert": _insert,
    "tensor.extract_slice": _slice,
    "tensor.insert_slice": _slice,
    "tensor.empty": _empty,
    "tensor.splat": _splat,
    "tensor.dim": _dimension,
    "tensor.expand_shape": _reshaped,
    "tensor.collapse_shape": _reshaped,
    "tensor.concat": _concatenated,
    "scf.for": _for,
    "scf.if": _if,
    "scf.yield": _without_results,
    "affine.for": _affine_for,
    "affine.apply": _affine_apply,
    "affine.yield": _without_results,
    "preprocessing.load": _sited,
    "preprocessing.store": _sited,
}
"""How an operation is printed, unless it is printed as `_plain`."""
