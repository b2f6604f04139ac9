"""`from_heir`: a program from the MLIR that HEIR's scheme pipelines write (`heir-opt --mlir-to-ckks`, `-bgv`, `-bfv`, `-cggi`).

The entry function is traced on encrypted values. Its arguments and results are HEIR's ciphertexts; the functions that HEIR wrote next to it
to pack and unpack them are executed on indices, so that the program's inputs and outputs are the numbers of the original function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, prod
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, ProgramError
from ...host.names import suggestion
from ...host.sources import text_of
from ...language import functions
from ...language.place import located
from ...language.slot_packing import MOST_VECTORS, Packing
from ...language.types import MOST_SLOTS, Bitwise, Bool, SInt, SlotType, Type
from ...run.runnable_programs import Program, SlotProgram, TfheProgram, traced
from .evaluation import Evaluation, Plain
from .gates import BITWISE, Gates, message_bits
from .numbers import Place
from .reader import read
from .scanner import MOST_ENTRIES
from .slots import Opaque, Slots, places_of
from .tree import Function, Kind, Module, Scalar, Tensor, is_ciphertext

LARGEST_FILE = 1 << 28
"""Maximum bytes of a file."""


def from_heir(mlir: str | Path, function: str | None = None, *, bound: float = 1.0) -> Program:
    """The program that HEIR compiled: `mlir` is the file's path, or its text.

    The file is the output of `heir-opt --mlir-to-ckks`, `--mlir-to-bgv`, `--mlir-to-bfv` or `--mlir-to-cggi`, in the printed or the generic form. Inputs
    are called arg0, arg1, .. and are the numbers of the original function. `function` names the function, if the file has several. With CKKS,
    inputs are up to `bound` in absolute value. Levels, scales and bootstraps are planned again, for the parameter set and machine of each run.
    """
    text, file = text_of(
        mlir, reader="from_heir", file="the file that heir-opt wrote", largest=LARGEST_FILE, marks="\n{"
    )
    return parse(text, file, function, bound=bound)


def parse(text: str, file: str, function: str | None = None, *, bound: float = 1.0) -> Program:
    """The program of a file's text; `file` is its name in messages."""
    if not isinstance(bound, int | float) or not isfinite(bound) or bound <= 0:
        raise InputError(f"from_heir: bound={bound!r} is no bound of the inputs; give a positive number")
    module = read(text, file)
    entry = _entry(module, function)
    used = {
        one.name for own in module.functions.values() if own.body for top in own.body.operations for one in top.walk()
    }
    dialects = {name.partition(".")[0] for name in used}
    if {"cggi"} & dialects or "scheme.cggi" in module.attributes:
        bits = "scheme.cggi" in module.attributes or any(f"cggi.{name}" in used for name in BITWISE)
        return _Bits(module, entry, bits=bits).program()
    if not {"ckks", "bgv"} & dialects and not any(
        name.startswith(("scheme.", "ckks.", "bgv.")) for name in module.attributes
    ):
        _fail(
            module,
            entry,
            "there are no operations of ckks, bgv or cggi; run heir-opt with --mlir-to-ckks, --mlir-to-bgv or --mlir-to-cggi",
        )
    return _Packed(module, entry, bound).program()


def _fail(module: Module, function: Function, message: str) -> NoReturn:
    raise ProgramError(f"{module.file}:{function.line}: @{function.name}: {message}")


def _entry(module: Module, name: str | None) -> Function:
    """The function that a program runs: HEIR marks it, and writes others next to it."""
    called = {
        str(one.attributes.get("callee"))
        for own in module.functions.values()
        if own.body
        for top in own.body.operations
        for one in top.walk()
        if one.name == "func.call"
    }
    marked = [own for own in module.functions.values() if "entry" in _roles(own)]
    found = marked or [
        own
        for own in module.functions.values()
        if own.body is not None
        and own.name not in called
        and not re.search(r"__(encrypt|decrypt|preprocess)", own.name)
        and not any(key.startswith("client.") for key in own.attributes)
        and any(is_ciphertext(kind) for kind in own.inputs)
    ]
    names = [own.name for own in found]
    if name is not None:
        chosen = next((own for own in found if own.name == name), None)
        if chosen is None:
            raise InputError(f"{module.file} has no program {name!r}; {suggestion(name, names)}")
        return chosen
    if not found:
        raise ProgramError(
            f"{module.file}: there is no function on ciphertexts; mark arguments as {{secret.secret}} before heir-opt compiles them"
        )
    if len(found) > 1:
        raise InputError(
            f"{module.file} has {len(found)} programs, {', '.join(names)}; name one, as {module.file}:{names[0]}, or from_heir(.., {names[0]!r})"
        )
    return found[0]


def _interface(function: Function) -> Mapping[str, Any]:
    found = function.attributes.get("heir.interface")
    return found if isinstance(found, dict) else {}


def _roles(function: Function) -> list[Any]:
    found = _interface(function).get("roles")
    return found if isinstance(found, list) else []


def _named(entry: Function) -> str:
    return re.sub(r"\W", "_", entry.name)[:200] or "program"


@dataclass
class _Input:
    """An argument of the original function."""

    kind: SlotType
    dimensions: tuple[int, ...]
    packings: list[tuple[int, ...]]
    """For each ciphertext the place of the number in each slot."""


class _Packed:
    """A function on packed vectors, with CKKS or BGV."""

    def __init__(self, module: Module, entry: Function, bound: float) -> None:
        self.module, self.entry, self.bound = module, entry, bound
        self.modulus = self._modulus()
        self.scheme = "ckks" if self.modulus is None else "bgv"
        self.rows = 1 if self.modulus is None else 2
        self.slots = self._slots()
        self._preprocessed: dict[str, list[Any]] = {}

    def fail(self, message: str) -> NoReturn:
        """Raises the error with the function's line."""
        _fail(self.module, self.entry, message)

    def _modulus(self) -> int | None:
        """The plaintext modulus of BGV, or `None` with CKKS."""
        attributes = self.module.attributes
        parameters = attributes.get("bgv.schemeParam") or attributes.get("bfv.schemeParam")
        if parameters is None:
            if "ckks.schemeParam" not in attributes and "scheme.ckks" not in attributes:
                self.fail(
                    "the module has neither ckks.schemeParam nor bgv.schemeParam; give the whole file that heir-opt wrote"
                )
            return None
        found = getattr(parameters, "get", lambda _: None)("plaintextModulus")
        if not isinstance(found, int) or not 2 < found < 1 << 60:
            self.fail(f"the plaintext modulus is {found}; BGV takes primes up to 2^60, such as 65537")
        return found

    def _slots(self) -> int:
        found = self.module.attributes.get("scheme.requested_slot_count")
        if found is None:
            found = self._encoded()
        if not isinstance(found, int) or not 1 <= found <= MOST_SLOTS // 2 or found & (found - 1):
            self.fail(f"scheme.requested_slot_count is {found}; a power of two up to {MOST_SLOTS // 2} is needed")
        return found

    def _encoded(self) -> int | None:
        """The longest vector that is encoded: older versions do not state the number of slots."""
        lengths = [
            prod(n or 1 for n in kind.shape)
            for own in self.module.functions.values()
            if own.body
            for top in own.body.operations
            for one in top.walk()
            if one.name in ("lwe.rlwe_encode", "lwe.rlwe_decode")
            for kind in (*one.operand_kinds[:1], *one.kinds)
            if isinstance(kind, Tensor)
        ]
        return max(lengths, default=None)

    # -- the client's functions -------------------------------------------------------------------------------------

    def _helper(self, role: str, index: int, name: str) -> Function:
        """The function that HEIR wrote for an argument or result."""
        for own in self.module.functions.values():
            interface = _interface(own)
            if role in _roles(own) and (interface.get("func_name"), interface.get("index")) == (self.entry.name, index):
                return own
            older = own.attributes.get("client.enc_func" if "encrypt" in role else "client.dec_func")
            if isinstance(older, dict) and (older.get("func_name"), older.get("index")) == (self.entry.name, index):
                return own
        found = self.module.functions.get(f"{self.entry.name}{name}{index}")
        if found is None or not found.inputs or not found.results:
            self.fail(
                f"there is no function @{self.entry.name}{name}{index}, which packs or unpacks; give the whole file that heir-opt wrote"
            )
        return found

    def _type(self, kind: Kind, what: str) -> tuple[SlotType, tuple[int, ...]]:
        """The type of the numbers of an argument or result, and their shape."""
        own = kind.element if isinstance(kind, Tensor) else kind
        shape = kind.shape if isinstance(kind, Tensor) else ()
        if not isinstance(own, Scalar) or None in shape or (own.kind == "float") != (self.modulus is None):
            self.fail(f"{what} is {kind}, which {self.scheme.upper()} cannot encrypt")
        dimensions = tuple(n or 0 for n in shape)
        if not 1 <= prod(dimensions) <= MOST_ENTRIES:
            self.fail(f"{what} has {prod(dimensions):,} numbers; from 1 to {MOST_ENTRIES:,} are supported")
        if self.modulus is None:
            made = SlotType("real", None, prod(dimensions), not dimensions, float(self.bound))
        else:
            made = SlotType("residue", self.modulus, prod(dimensions), not dimensions, self.modulus / 2)
        if len(dimensions) == 2:
            made = SlotType(made.kind, made.modulus, made.length, False, made.bound, (dimensions[0], dimensions[1]))
        return made, dimensions

    def _scheme(self, given: dict[tuple[int, ...], Any] | None = None) -> Slots:
        return Slots(self.slots, self.rows, self.modulus, self.module.file, given)

    def _called(self, function: Function, arguments: list[Any], scheme: Slots) -> list[Any]:
        return Evaluation(self.module, scheme, self._preprocessed).call(function.name, arguments)

    def _given(self, index: int) -> _Input:
        """An encrypted argument, and its packing: its function, executed on indices."""
        function = self._helper("client.encrypt", index, "__encrypt__arg")
        kind, dimensions = self._type(function.inputs[0], f"argument {index}")
        places = _places(dimensions)
        (found,) = self._called(function, [places, *[None] * (len(function.inputs) - 1)], self._scheme())
        plains = found.reshape(-1).tolist() if isinstance(found, np.ndarray) else [found]
        return _Input(kind, dimensions, [self._places(own, function) for own in plains])

    def _places(self, plain: Any, function: Function) -> tuple[int, ...]:  # noqa: ANN401 - whatever the function returned
        if not isinstance(plain, Plain):
            _fail(self.module, function, "it does not return encrypted vectors")
        try:
            return places_of(plain.slots)
        except ValueError as error:
            _fail(self.module, function, str(error))

    def _returned(self, index: int, count: int) -> tuple[SlotType, tuple[int, ...], NDArray[np.int64]]:
        """A result's type, shape, and the slot of each of its numbers, counted through its `count` ciphertexts."""
        function = self._helper("client.decrypt", index, "__decrypt__result")
        kind, dimensions = self._type(function.results[0], f"result {index}")
        whole = self.slots * self.rows
        plains = np.empty(count, dtype=object)
        for at in range(count):
            plains[at] = Plain(_places((self.slots,), at * whole))
        held = function.inputs[0]
        shape = [n or 1 for n in held.shape] if isinstance(held, Tensor) else [1]
        if prod(shape) != count:
            _fail(self.module, function, f"it decrypts {prod(shape)} ciphertexts, but the function returns {count}")
        argument = plains.reshape(shape) if isinstance(held, Tensor) else plains[0]
        (found,) = self._called(function, [argument, *[None] * (len(function.inputs) - 1)], self._scheme())
        flat = found.reshape(-1).tolist() if isinstance(found, np.ndarray) else [found]
        if len(flat) != kind.length or not all(isinstance(own, Place) for own in flat):
            _fail(self.module, function, "it computes with decrypted numbers; only their order may change")
        return kind, dimensions, np.array([own.index for own in flat], dtype=np.int64)

    # -- the program ------------------------------------------------------------------------------------------------

    def program(self) -> Program:
        """The traced entry function, whose packing is hidden."""
        inputs, arguments = self._arguments()
        scheme = self._scheme()
        results = self._called(self.entry, [make(lambda _: Opaque()) for make in arguments], scheme)
        self._public_vectors(scheme.needed, inputs)
        outputs = [self._returned(at, np.size(own)) for at, own in enumerate(results)]
        if not outputs:
            self.fail("it returns nothing, so there is nothing to compute")
        names = ["result"] if len(outputs) == 1 else [f"result{at}" for at in range(len(outputs))]
        kinds = {
            one: SlotType(own.kind.kind, self.modulus, self.slots * self.rows, False, own.kind.bound)
            for name, own in inputs.items()
            for one in _vectors(name, len(own.packings))
        }

        def entry(**values: Any) -> dict[str, Any]:  # noqa: ANN401 - encrypted values
            given = {
                places: values[one]
                for name, own in inputs.items()
                for one, places in zip(_vectors(name, len(own.packings)), own.packings, strict=True)
            }
            found = self._called(self.entry, [make(values.__getitem__) for make in arguments], self._scheme(given))
            flat = [
                own.reshape(-1).tolist() if isinstance(own, np.ndarray) and own.dtype == object else [own]
                for own in found
            ]
            return {
                one: self._encrypted(value, values)
                for name, own in zip(names, flat, strict=True)
                for one, value in zip(_vectors(name, len(own)), own, strict=True)
            }

        entry.__name__ = _named(self.entry)
        entry.__doc__ = f"The function @{self.entry.name} of {self.module.file}, compiled by HEIR."
        with located(self.module.file, self.entry.line):
            made = traced(entry, kinds, _named(self.entry), scheme=self.scheme, slots=self.slots * self.rows)
        assert isinstance(made, SlotProgram)
        made.function = None
        packings = {
            name: Packing(_vectors(name, len(own.packings)), np.tile(np.array(own.packings), self.rows), own.dimensions)
            for name, own in inputs.items()
        }
        for name, (_, dimensions, sources), own in zip(names, outputs, results, strict=True):
            packings[f"->{name}"] = Packing(_vectors(name, np.size(own)), sources, dimensions)
        return made.packed(
            {name: own.kind for name, own in inputs.items()},
            {name: kind for name, (kind, _, _) in zip(names, outputs, strict=True)},
            packings,
        )

    def _arguments(self) -> tuple[dict[str, _Input], list[Callable[[Callable[[str], Any]], Any]]]:
        """The inputs by name, and for each argument of the entry function how it is made from the encrypted vectors."""
        inputs: dict[str, _Input] = {}
        arguments: list[Callable[[Callable[[str], Any]], Any]] = []
        begin = 0
        for at, (kind, attributes) in enumerate(zip(self.entry.inputs, self.entry.argument_attributes, strict=True)):
            shape = tuple(n or 1 for n in kind.shape) if isinstance(kind, Tensor) else None
            if "client.enc_zero_arg" in attributes:
                zero = np.zeros(self.slots, dtype=float if self.modulus is None else np.int64)
                zeros = [zero] * prod(shape or ())
                arguments.append(lambda _of, shape=shape, zeros=zeros: _made(shape, zeros))
                continue
            if is_ciphertext(kind):
                inputs[f"arg{at}"] = own = self._given(at)
                count = len(own.packings)
                if count != prod(shape or ()) or count > MOST_VECTORS:
                    self.fail(f"argument {at} is {kind}, but its packing gives {count} ciphertexts")
                names = _vectors(f"arg{at}", count)
                arguments.append(lambda of, shape=shape, names=names: _made(shape, [of(name) for name in names]))
                continue
            # Public for HEIR's server; here the client encrypts it too, in the vectors that the server would encode.
            own_kind, dimensions = self._type(kind, f"argument {at}")
            inputs[f"arg{at}"] = _Input(own_kind, dimensions, [])
            places = _places(dimensions, begin)
            begin += own_kind.length
            arguments.append(lambda _of, places=places: places)
        return inputs, arguments

    def _public_vectors(self, needed: list[tuple[int, ...]], inputs: dict[str, _Input]) -> None:
        """Gives the vectors of public arguments to them."""
        begin = 0
        for at, kind in enumerate(self.entry.inputs):
            own = inputs.get(f"arg{at}")
            if own is None or is_ciphertext(kind):
                continue
            for places in needed:
                inside = [begin <= place < begin + own.kind.length for place in places if place >= 0]
                if any(inside):
                    if not all(inside):
                        self.fail("a plaintext combines numbers of two arguments, which is not supported")
                    own.packings.append(places)
            if not own.packings:
                self.fail(f"argument {at} is not used; remove it")
            begin += own.kind.length

    def _encrypted(self, value: Any, values: Mapping[str, Any]) -> Any:  # noqa: ANN401 - an encrypted vector
        """A result; one that is public is encrypted by adding it to 0."""
        if not isinstance(value, np.ndarray):
            return value
        return next(iter(values.values())) * 0 + np.tile(value, self.rows)


def _places(dimensions: tuple[int, ...], begin: int = 0) -> Any:  # noqa: ANN401 - one place or an array of them
    """The indices of an argument's numbers."""
    if not dimensions:
        return Place(begin)
    made = np.empty(prod(dimensions), dtype=object)
    for at in range(made.size):
        made[at] = Place(begin + at)
    return made.reshape(dimensions)


def _vectors(name: str, count: int) -> tuple[str, ...]:
    """Names of the ciphertexts of an input or output."""
    return (name,) if count == 1 else tuple(f"{name}.{at}" for at in range(count))


def _made(shape: tuple[int, ...] | None, values: Sequence[Any]) -> Any:  # noqa: ANN401 - a ciphertext, or a tensor of them
    """An argument of the entry function from its ciphertexts."""
    if shape is None:
        return values[0]
    made = np.empty(len(values), dtype=object)
    for at, own in enumerate(values):
        made[at] = own
    return made.reshape(shape)


class _Bits:
    """A function on bits or integers, with TFHE."""

    def __init__(self, module: Module, entry: Function, *, bits: bool) -> None:
        self.module, self.entry, self.bits = module, entry, bits

    def _kind(self, kind: Kind, what: str) -> tuple[Type, tuple[int, ...] | None]:
        """The type of the user's value, and the shape of its ciphertexts (`None` for a single one)."""
        if not is_ciphertext(kind):
            _fail(
                self.module,
                self.entry,
                f"{what} is {kind}, but TFHE's programs take encrypted values; mark it as {{secret.secret}}",
            )
        shape = tuple(n or 0 for n in kind.shape) if isinstance(kind, Tensor) else None
        if shape is not None and not 1 <= prod(shape) <= MOST_VECTORS:
            _fail(
                self.module,
                self.entry,
                f"{what} has {prod(shape):,} ciphertexts; from 1 to {MOST_VECTORS:,} are supported",
            )
        if not self.bits:
            try:
                width = message_bits(kind.element if isinstance(kind, Tensor) else kind)
            except ValueError as error:
                _fail(self.module, self.entry, f"{what}: {error}")
            one: Type = Bool if width == 1 else SInt(width)
            return (one if shape is None else one.of(prod(shape), scalar=False)), shape
        if shape is None:
            return Bool, None
        # The bits of an integer, the least significant first.
        integer: Type = Bool if shape[-1] == 1 else Bitwise.of_width(shape[-1])
        count = prod(shape[:-1])
        return integer.of(count, scalar=len(shape) == 1), shape

    def program(self) -> Program:
        """The traced function."""
        inputs = {f"arg{at}": self._kind(kind, f"argument {at}") for at, kind in enumerate(self.entry.inputs)}
        if not inputs or not self.entry.results:
            _fail(self.module, self.entry, "it has no arguments or no results, so there is nothing to compute")
        results = [self._kind(kind, f"result {at}") for at, kind in enumerate(self.entry.results)]
        names = ["result"] if len(results) == 1 else [f"result{at}" for at in range(len(results))]

        def entry(**values: Any) -> dict[str, Any]:  # noqa: ANN401 - encrypted values
            given = [self._ciphertexts(values[name], kind, shape) for name, (kind, shape) in inputs.items()]
            found = Evaluation(self.module, Gates(self.module.file, bits=self.bits)).call(self.entry.name, given)
            first = next(iter(values.values()))
            return {
                name: self._output(value, kind, shape, first)
                for name, value, (kind, shape) in zip(names, found, results, strict=True)
            }

        entry.__name__ = _named(self.entry)
        entry.__doc__ = f"The function @{self.entry.name} of {self.module.file}, compiled by HEIR."
        native = {name: _in_bits(kind) for name, (kind, _) in inputs.items()}
        with located(self.module.file, self.entry.line):
            made = traced(entry, native, _named(self.entry), tables="lookups")
        assert isinstance(made, TfheProgram)
        made.function = None
        bitwise = {name: kind for name, (kind, _) in inputs.items() if isinstance(kind, Bitwise)}
        bitwise |= {
            f"->{name}": kind for name, (kind, _) in zip(names, results, strict=True) if isinstance(kind, Bitwise)
        }
        made.shapes = made.shapes.with_bits(made.native, bitwise)
        return made

    def _ciphertexts(self, value: Any, kind: Type, shape: tuple[int, ...] | None) -> Any:  # noqa: ANN401 - one or a tensor
        """An input as the function takes it: `Bitwise` values come as the first bits of all numbers, then the second ones."""
        if shape is None:
            return value
        made = np.empty(prod(shape), dtype=object)
        for at in range(made.size):
            made[at] = value if value.scalar else value[at]
        if isinstance(kind, Bitwise):
            made = made.reshape(kind.width, kind.length).T
        return made.reshape(shape)

    def _output(self, found: Any, kind: Type, shape: tuple[int, ...] | None, first: Any) -> Any:  # noqa: ANN401 - an encrypted value
        if shape is None:
            return _encrypted(found, first, kind)
        flat = found.reshape(-1, kind.width).T if isinstance(kind, Bitwise) else found
        values = [_encrypted(own, first, kind) for own in flat.reshape(-1).tolist()]
        if len(values) == 1 and kind.scalar:
            return values[0]
        return functions.concat(*values)


def _encrypted(value: Any, first: Any, kind: Type) -> Any:  # noqa: ANN401 - an encrypted value
    """A result; one that is public is a lookup whose entries are equal."""
    if not isinstance(value, int):
        return value
    bit = first if first.scalar else first[0]
    constant = functions.where(bit == bit, value, value)
    return constant if isinstance(kind, Bitwise) or kind.kind == "boolean" else constant.cast(kind)


def _in_bits(kind: Type) -> Type:
    """The type of a value's ciphertexts."""
    if not isinstance(kind, Bitwise):
        return kind
    return Bool.vector(kind.width * kind.length)
