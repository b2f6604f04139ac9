"""Executes functions of a module: public numbers in the clear, ciphertexts with the operations of a `Scheme`.

A scheme's operations are those of the language, so that the execution of an entry function traces a program. Loops are unrolled. Functions
that pack are executed on the indices of their argument instead of its numbers (`Place`), which gives the packing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import Error, ProgramError
from . import numbers
from .affine import Map
from .numbers import Place, plain, scalar_of, wrapped
from .printed import DYNAMIC
from .scanner import MOST_ENTRIES
from .tree import Kind, Module, Operation, Region, Scalar, Tensor

MOST_STEPS = 4_000_000
"""Most operations of an execution; one on a long tensor counts as several."""

MOST_CALLS = 16
"""Most functions that are called within each other."""

STEPS_PER_CIPHERTEXT = 32
"""An operation on ciphertexts takes about the time of so many on numbers, while a program is traced."""

ENTRIES_PER_STEP = 512
"""Numbers of a tensor that are moved in about the time of one operation."""

Values = list[Any]


class Plain:
    """An encoded plaintext: numbers, or places of an argument, one for each slot."""

    __slots__ = ("slots",)

    def __init__(self, slots: NDArray[Any]) -> None:
        self.slots = slots


class Scheme(Protocol):
    """The meaning of the operations on ciphertexts."""

    def operation(self, one: Operation, operands: Values) -> Values | None:
        """The results of an operation, or `None` for one that the scheme lacks. Raises `ValueError` with the reason if it cannot be executed."""


class Evaluation:
    """An execution of functions of a module."""

    def __init__(self, module: Module, scheme: Scheme, public: dict[str, Values] | None = None) -> None:
        self.module = module
        self.scheme = scheme
        self._public = {} if public is None else public
        """Results of functions without arguments, which several executions may share."""
        self._steps = 0
        self._calls: list[str] = []
        self._once: dict[int, frozenset[str]] = {}
        """By region the values that are used once, in the region itself: their use may overwrite their tensor."""

    def call(self, name: str, arguments: Sequence[Any], line: int = 1) -> Values:
        """The results of a function."""
        function = self.module.functions.get(name)
        if function is None or function.body is None:
            self.fail(line, f"@{name} is called but has no body; give the whole module")
        if len(arguments) != len(function.inputs):
            self.fail(line, f"@{name} is called with {len(arguments)} arguments, but takes {len(function.inputs)}")
        if name in self._calls or len(self._calls) >= MOST_CALLS:
            self.fail(line, f"@{name} calls itself, or more than {MOST_CALLS} functions call each other; inline them")
        if name in self._public:
            return self._public[name]
        self._calls.append(name)
        known = {name: shared(own) for name, own in zip(function.body.arguments, arguments, strict=True)}
        found = self._region(function.body, known)
        self._calls.pop()
        if len(found) != len(function.results):
            self.fail(function.line, f"@{name} returns {len(found)} values, but its type has {len(function.results)}")
        if not arguments:
            self._public[name] = found
        return found

    def fail(self, line: int, message: str) -> NoReturn:
        """Raises the error with file and line."""
        raise ProgramError(f"{self.module.file}:{line}: {message}")

    def _region(self, region: Region, known: dict[str, Any]) -> Values:
        once = self._used_once(region)
        for one in region.operations:
            operands = [self._known(one, name, known, once) for name in one.operands]
            if one.name in ENDS:
                return operands
            self._execute(one, operands, known)
        return []

    def _used_once(self, region: Region) -> frozenset[str]:
        found = self._once.get(id(region))
        if found is None:
            own = {name for one in region.operations for name in one.results} | set(region.arguments)
            uses = Counter(name for one in region.operations for inner in one.walk() for name in inner.operands)
            direct = {name for one in region.operations for name in one.operands}
            found = self._once[id(region)] = frozenset(name for name in own & direct if uses[name] == 1)
        return found

    def _known(self, one: Operation, name: str, known: dict[str, Any], once: frozenset[str]) -> Any:  # noqa: ANN401 - any value
        if name not in known:
            self.fail(one.line, f"{one.name} uses {name}, which is not defined before; the file may be edited")
        return known.pop(name) if name in once else shared(known[name])

    def _execute(self, one: Operation, operands: Values, known: dict[str, Any]) -> None:
        self._count(one, operands)
        name = one.name
        try:
            if name in PUBLIC:
                found: Values | None = PUBLIC[name](one, operands)
            elif name in CONTROL:
                found = CONTROL[name](self, one, operands, known)
            else:
                self._steps += STEPS_PER_CIPHERTEXT
                found = self.scheme.operation(one, operands)
        except Error:
            raise
        except ZeroDivisionError:
            self.fail(one.line, f"{name} divides by 0")
        except KeyError as error:
            self.fail(one.line, f"{name} lacks its attribute or entry {error}")
        except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            self.fail(one.line, f"{name}: {error}")
        if found is None:
            self.fail(one.line, f"{name} is not supported; docs/heir.md lists what is")
        if len(found) != len(one.results):
            self.fail(one.line, f"{name} gives {len(found)} results, not {len(one.results)}")
        known.update(zip(one.results, found, strict=True))

    def _count(self, one: Operation, operands: Values) -> None:
        self._steps += 1
        if one.name != "tensor.extract":
            for own in operands:
                if isinstance(own, np.ndarray) and not own.flags.writeable:
                    self._steps += own.size // ENTRIES_PER_STEP
        if self._steps > MOST_STEPS:
            self.fail(one.line, f"an execution takes more than {MOST_STEPS:,} operations; give a smaller program")

    # -- control ----------------------------------------------------------------------------------------------------

    def _called(self, one: Operation, operands: Values, _known: dict[str, Any]) -> Values:
        return self.call(str(one.attributes["callee"]), operands, one.line)

    def _loop(self, one: Operation, counts: range, initial: Values, known: dict[str, Any]) -> Values:
        region = one.regions[0]
        carried = list(initial)
        if len(region.arguments) != 1 + len(carried):
            raise ValueError(f"its region takes {len(region.arguments)} values, not {1 + len(carried)}")
        for count in counts:
            self._count(one, [])
            known[region.arguments[0]] = count
            known.update(zip(region.arguments[1:], carried, strict=True))
            following = self._region(region, known)
            if len(following) != len(carried):
                raise ValueError(f"its region yields {len(following)} values, not {len(carried)}")
            carried = following
        return carried

    def _for(self, one: Operation, operands: Values, known: dict[str, Any]) -> Values:
        low, high, step, *initial = operands
        low, high, step = (integer(own) for own in (low, high, step))
        if step < 1:
            raise ValueError(f"its step is {step}")
        return self._loop(one, range(low, high, step), initial, known)

    def _affine_for(self, one: Operation, operands: Values, known: dict[str, Any]) -> Values:
        low, high, initial = _segments(one, operands, 3)
        ends = [one.attributes[f"{which}BoundMap"] for which in ("lower", "upper")]
        if not all(isinstance(end, Map) for end in ends):
            raise ValueError("its bounds are no affine maps")
        start = max(ends[0]([integer(own) for own in low]))
        stop = min(ends[1]([integer(own) for own in high]))
        return self._loop(one, range(start, stop, max(1, integer(one.attributes.get("step", 1)))), initial, known)

    def _if(self, one: Operation, operands: Values, known: dict[str, Any]) -> Values:
        chosen = one.regions[0 if integer(operands[0]) else 1 :][:1]
        return self._region(chosen[0], known) if chosen else []


def shared(value: Any) -> Any:  # noqa: ANN401 - any value
    """The same; a tensor is marked as one that must not be overwritten."""
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
    return value


ENDS = frozenset({"func.return", "scf.yield", "affine.yield"})
Control = Callable[[Evaluation, Operation, Values, dict[str, Any]], Values]
CONTROL: dict[str, Control] = {
    "func.call": Evaluation._called,
    "scf.for": Evaluation._for,
    "scf.if": Evaluation._if,
    "affine.for": Evaluation._affine_for,
}


def integer(value: object) -> int:
    """A public integer."""
    if isinstance(value, int | np.integer | bool):
        return int(value)
    raise ValueError("an index, a bound or a condition must be a public integer")


def _segments(one: Operation, operands: Values, count: int) -> list[Values]:
    """The operands in their groups."""
    sizes = [integer(size) for size in one.attributes["operandSegmentSizes"]]
    if len(sizes) != count or min(sizes) < 0 or sum(sizes) != len(operands):
        raise ValueError(f"its operands are in groups of {sizes}, but there are {len(operands)}")
    ends = np.cumsum([0, *sizes]).tolist()
    return [operands[begin:end] for begin, end in pairwise(ends)]


# -- numbers --------------------------------------------------------------------------------------------------------


def _constant(one: Operation, _operands: Values) -> Values:
    value, kind = one.attributes["value"], one.kinds[0]
    if isinstance(value, np.ndarray) or isinstance(kind, Scalar):
        own = scalar_of(kind)
        if isinstance(value, np.ndarray):
            return [shared(value if own.kind == "float" else wrapped(value, own))]
        if own.kind == "float":
            return [float(value)]
        return [wrapped(int(value), own)]
    raise ValueError(f"a constant of type {kind} is not supported")


def _binary(one: Operation, operands: Values) -> Values:
    a, b = operands
    kind = scalar_of(one.kinds[0])
    if type(a) is not int or type(b) is not int:
        _expect_numbers(a, b)
    return [wrapped(plain(numbers.BINARY[one.name](a, b, kind)), kind)]


def _unary(one: Operation, operands: Values) -> Values:
    _expect_numbers(*operands)
    return [wrapped(plain(numbers.UNARY[one.name](*operands)), scalar_of(one.kinds[0]))]


def _expect_numbers(*operands: Any) -> None:  # noqa: ANN401 - values of a program
    for own in operands:
        if isinstance(own, Place) or (isinstance(own, np.ndarray) and own.dtype == object):
            raise ValueError("it computes with a value that is only known when the program runs")
        if not isinstance(own, int | float | np.ndarray):
            raise ValueError("it takes public numbers")


def _compared(one: Operation, operands: Values) -> Values:
    a, b = operands
    _expect_numbers(a, b)
    given = one.attributes["predicate"]
    if one.name == "arith.cmpf":
        compare = numbers.FLOAT_PREDICATES[numbers.predicate(given, numbers.FLOAT_ORDER)]
        found = compare(a, b)
    else:
        compare, signed = numbers.PREDICATES[numbers.predicate(given, tuple(numbers.PREDICATES))]
        width = Scalar("int", 64)
        found = compare(a, b) if signed else compare(numbers.unsigned(a, width), numbers.unsigned(b, width))
    return [found.astype(np.int64) if isinstance(found, np.ndarray) else int(found)]


def _selected(_one: Operation, operands: Values) -> Values:
    condition, a, b = operands
    if isinstance(condition, np.ndarray):
        return [np.where(condition != 0, a, b)]
    return [a if integer(condition) else b]


def _converted(one: Operation, operands: Values) -> Values:
    """Between integers, or a number to its own type; places stay what they are."""
    value, kind = operands[0], scalar_of(one.kinds[0])
    if type(value) is int and kind.kind == "index":
        return [value]
    if isinstance(value, Place) or (isinstance(value, np.ndarray) and value.dtype == object):
        return [value]
    _expect_numbers(value)
    if one.name in ("arith.extsi", "arith.sitofp") and one.operand_kinds and scalar_of(one.operand_kinds[0]).bits == 1:
        # A bit is 0 or 1 here, and -1 with a sign.
        value = -value
    if one.name in ("arith.extui", "arith.uitofp", "arith.index_castui") and one.operand_kinds:
        value = numbers.unsigned(value, scalar_of(one.operand_kinds[0]))
    if kind.kind == "float":
        return [value.astype(float) if isinstance(value, np.ndarray) else float(value)]
    return [wrapped(value.astype(np.int64) if isinstance(value, np.ndarray) else int(value), kind)]


# -- tensors --------------------------------------------------------------------------------------------------------


def _shape(kind: Kind, dynamic: Values) -> tuple[int, ...]:
    if not isinstance(kind, Tensor):
        raise ValueError(f"its result is {kind}, not a tensor")
    sizes = iter(dynamic)
    shape = tuple(integer(next(sizes, None)) if n is None else n for n in kind.shape)
    if min(shape, default=1) < 0 or prod(shape) > MOST_ENTRIES:
        raise ValueError(f"a tensor of {' x '.join(map(str, shape))} numbers; at most {MOST_ENTRIES:,} are supported")
    return shape


def _filled(kind: Kind, shape: tuple[int, ...], value: Any) -> NDArray[Any]:  # noqa: ANN401 - any value
    """A tensor with one value everywhere."""
    if isinstance(value, int | float):
        return np.full(shape, value, dtype=float if scalar_of(kind).kind == "float" else np.int64)
    made = np.empty(shape, dtype=object)
    made.fill(value)
    return made


def _empty(one: Operation, operands: Values) -> Values:
    kind = one.kinds[0]
    number = isinstance(kind, Tensor) and isinstance(kind.element, Scalar)
    return [_filled(kind, _shape(kind, operands), 0 if number else None)]


def _splat(one: Operation, operands: Values) -> Values:
    return [_filled(one.kinds[0], _shape(one.kinds[0], operands[1:]), operands[0])]


def _from_elements(one: Operation, operands: Values) -> Values:
    shape = _shape(one.kinds[0], [])
    if prod(shape) != len(operands):
        raise ValueError(f"{len(operands)} elements do not fill {one.kinds[0]}")
    if all(isinstance(own, int | float) for own in operands):
        dtype = float if scalar_of(one.kinds[0]).kind == "float" else np.int64
        return [np.array(operands, dtype=dtype).reshape(shape)]
    made = np.empty(len(operands), dtype=object)
    for at, own in enumerate(operands):
        made[at] = own
    return [made.reshape(shape)]


def _tensor(value: Any) -> NDArray[Any]:  # noqa: ANN401 - any value
    if isinstance(value, np.ndarray):
        return value
    raise ValueError("an operand is no tensor")


def _index(tensor: NDArray[Any], given: Values) -> tuple[int, ...]:
    index = tuple(integer(own) for own in given)
    if len(index) != tensor.ndim or not all(0 <= at < n for at, n in zip(index, tensor.shape, strict=True)):
        raise ValueError(f"index {list(index)} is outside of a tensor of {list(tensor.shape)}")
    return index


def _extract(_one: Operation, operands: Values) -> Values:
    tensor = _tensor(operands[0])
    found = tensor[_index(tensor, operands[1:])]
    if found is None:
        raise ValueError("it reads an element that was never written")
    return [plain(found)]


def _insert(_one: Operation, operands: Values) -> Values:
    value, into, *index = operands
    made = _writable(_tensor(into), value)
    made[_index(made, index)] = value
    return [made]


def _writable(into: NDArray[Any], value: Any) -> NDArray[Any]:  # noqa: ANN401 - any value
    """The tensor if nothing else uses it, or a copy that can hold the value."""
    own = value.dtype if isinstance(value, np.ndarray) else object if not isinstance(value, int | float) else into.dtype
    if into.flags.writeable and into.base is None and into.dtype in (own, object):
        return into
    return into.astype(object) if own is object or own == np.dtype(object) else into.copy()


def _window(one: Operation, tensor: NDArray[Any], groups: list[Values]) -> tuple[slice, ...]:
    """The part of a tensor that a slice means."""
    lists = []
    for key, dynamic in zip(("offsets", "sizes", "strides"), groups, strict=True):
        given = iter(dynamic)
        lists.append([integer(next(given, None)) if n == DYNAMIC else n for n in one.attributes[f"static_{key}"]])
    for at, (offset, size, stride) in enumerate(zip(*lists, strict=True)):
        if (
            at >= tensor.ndim
            or min(offset, size) < 0
            or stride < 1
            or (size and offset + (size - 1) * stride >= tensor.shape[at])
        ):
            raise ValueError(f"the part {lists} is outside of a tensor of {list(tensor.shape)}")
    if len(lists[0]) != tensor.ndim:
        raise ValueError(f"the part {lists} is not of a tensor of {list(tensor.shape)}")
    return tuple(slice(o, o + (n - 1) * s + 1 if n else o, s) for o, n, s in zip(*lists, strict=True))


def _extract_slice(one: Operation, operands: Values) -> Values:
    source, *groups = _segments(one, operands, 4)
    tensor = _tensor(source[0])
    part = tensor[_window(one, tensor, groups)]
    kind = one.kinds[0]
    if not isinstance(kind, Tensor):
        raise ValueError(f"its result is {kind}")
    return [part.reshape(_reduced(part.shape, kind.shape)).copy()]


def _reduced(found: tuple[int, ...], wanted: tuple[int | None, ...]) -> tuple[int, ...]:
    """The shape without axes of length 1 that the type lacks."""
    sizes, shape = list(found), list(wanted)
    kept: list[int] = []
    for at, size in enumerate(sizes):
        left = len(sizes) - at
        needed = len(shape) - len(kept)
        if needed and (left == needed or size != 1 or shape[len(kept)] == 1):
            kept.append(size)
    if len(kept) != len(shape) or prod(kept) != prod(found):
        raise ValueError(f"a part of {list(found)} is not of the type's shape {list(wanted)}")
    return tuple(kept)


def _insert_slice(one: Operation, operands: Values) -> Values:
    source, into, *groups = _segments(one, operands, 5)
    part = _tensor(source[0])
    made = _writable(_tensor(into[0]), part)
    window = _window(one, made, groups)
    made[window] = part.reshape(made[window].shape)
    return [made]


def _size(_one: Operation, operands: Values) -> Values:
    tensor = _tensor(operands[0])
    at = integer(operands[1])
    if not 0 <= at < tensor.ndim:
        raise ValueError(f"a tensor of {tensor.ndim} axes has no axis {at}")
    return [tensor.shape[at]]


def _reshaped(one: Operation, operands: Values) -> Values:
    tensor, kind = _tensor(operands[0]), one.kinds[0]
    shape = [-1 if n is None else n for n in kind.shape] if isinstance(kind, Tensor) else []
    return [tensor.reshape(shape).copy()]


def _concatenated(one: Operation, operands: Values) -> Values:
    return [np.concatenate([_tensor(own) for own in operands], axis=integer(one.attributes["dim"]))]


def _same(_one: Operation, operands: Values) -> Values:
    return [operands[0]]


def _applied(one: Operation, operands: Values) -> Values:
    found = one.attributes["map"]([integer(own) for own in operands])
    return [found[0]]


# -- plaintexts kept for later --------------------------------------------------------------------------------------


def _store(one: Operation, operands: Values) -> Values:
    value, storage, *index = operands
    storage[(integer(one.attributes["site_id"]), *(integer(own) for own in index))] = value
    return []


def _load(one: Operation, operands: Values) -> Values:
    storage, *index = operands
    key = (integer(one.attributes["site_id"]), *(integer(own) for own in index))
    if key not in storage:
        raise ValueError(f"nothing is stored at site {key[0]} with index {list(key[1:])}")
    return [shared(storage[key])]


PUBLIC: dict[str, Callable[[Operation, Values], Values]] = {
    **dict.fromkeys(numbers.BINARY, _binary),
    **dict.fromkeys(numbers.UNARY, _unary),
    **dict.fromkeys(
        [f"arith.{name}" for name in (
            "extsi", "extui", "trunci", "extf", "truncf", "sitofp", "uitofp", "fptosi", "fptoui", "index_cast", "index_castui",
        )],
        _converted,
    ),
    "affine.apply": _applied,
    "arith.cmpf": _compared,
    "arith.cmpi": _compared,
    "arith.constant": _constant,
    "arith.select": _selected,
    "preprocessing.empty": lambda _one, _operands: [{}],
    "preprocessing.load": _load,
    "preprocessing.store": _store,
    "tensor.cast": _same,
    "tensor.collapse_shape": _reshaped,
    "tensor.concat": _concatenated,
    "tensor.dim": _size,
    "tensor.empty": _empty,
    "tensor.expand_shape": _reshaped,
    "tensor.extract": _extract,
    "tensor.extract_slice": _extract_slice,
    "tensor.from_elements": _from_elements,
    "tensor.insert": _insert,
    "tensor.insert_slice": _insert_slice,
    "tensor.splat": _splat,
}  # fmt: skip
"""Operations on public numbers, and those that move values."""
