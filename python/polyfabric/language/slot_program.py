"""Programs on vectors of slots, with CKKS or BGV."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ..errors import InputError
from .place import refuse, whole
from .slots import Native, SlotTracer, SlotValue, array, native
from .types import MOST_SLOTS, SlotType, is_packed

if TYPE_CHECKING:
    from ..machines import Machine
    from ..progress import ProgressHook
    from ..reports import Report
    from ..slot_execution import SlotKeys, SlotRunResult
    from ..slot_parameters import SlotParameters
    from .slots import Numbers

SlotOutputs = dict[str, Any]
"""Numbers by output: one, or a list of them."""


class SlotProgram:
    """A CKKS or BGV program. Made by `@pf.program`."""

    def __init__(
        self,
        program: _native.SlotProgram,
        inputs: Mapping[str, SlotType],
        outputs: Mapping[str, SlotType],
        doc: str | None = None,
        mapped: Mapping[int, tuple[int, float, float, int]] | None = None,
    ) -> None:
        self.native = program
        self.mapped = dict(mapped or {})
        """Of polynomials whose operand was brought to [-1, 1] before, by node: what it was, its interval, and in how many slots."""
        self.inputs = dict(inputs)
        """Type of each input."""
        self.outputs = dict(outputs)
        """Type of each output."""
        self.__name__ = program.name
        self.__doc__ = doc or f"The program {program.name}."

    @property
    def name(self) -> str:
        """The program's name."""
        return self.native.name

    @property
    def scheme(self) -> str:
        """ "ckks" or "bgv"."""
        return self.native.scheme

    @property
    def slots(self) -> int:
        """Slots of every vector."""
        return self.native.slots

    @classmethod
    def parse(cls, text: str) -> SlotProgram:
        """The program that `text()` printed. Every input and output fills all slots, with CKKS of complex numbers."""
        program = _native.SlotProgram.parse(text)
        modulus = program.plaintext_modulus
        kind: Literal["complex", "residue"] = "complex" if modulus is None else "residue"
        slots, scalar = program.slots, not is_packed(modulus)
        inputs = {name: SlotType(kind, modulus, slots, scalar, bound) for name, bound in program.inputs}
        return cls(program, inputs, {name: SlotType(kind, modulus, slots, scalar) for name in program.outputs})

    def text(self) -> str:
        """The homomorphic program as text, which `SlotProgram.parse` reads back."""
        return self.native.text()

    def kernel_text(self, parameters: str | SlotParameters | None = None) -> str:
        """The kernel program as text: what a runtime or a machine executes."""
        from ..slot_execution import plan

        return plan(self, parameters, security=0).native.kernel().text()

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}: {kind}" for name, kind in self.inputs.items())
        outputs = ", ".join(f"{name}: {kind}" for name, kind in self.outputs.items())
        return f"<program {self.name}({inputs}) -> {outputs}>"

    # -- values -----------------------------------------------------------------------------------------------------

    def flatten(self, inputs: Mapping[str, Numbers], *, partly: bool = False) -> dict[str, Native]:
        """Inputs as the lower links take them: all slots of each, checked against names, lengths and types; `partly`, of those given."""
        if not isinstance(inputs, Mapping):
            raise InputError(
                f"{self.name}: inputs are {type(inputs).__name__}; give a dictionary with {', '.join(self.inputs)}"
            )
        unknown = [name for name in inputs if name not in self.inputs]
        if unknown:
            known = ", ".join(self.inputs)
            raise InputError(f"{self.name}: there is no input {unknown[0]!r}; the inputs are {known}")
        wanted = {name: kind for name, kind in self.inputs.items() if name in inputs or not partly}
        return {name: self._flat(name, kind, inputs) for name, kind in wanted.items()}

    def _flat(self, name: str, kind: SlotType, inputs: Mapping[str, Numbers]) -> Native:
        if name not in inputs:
            raise InputError(f"{self.name}: input {name!r} is missing; give it a value of type {kind}")
        try:
            values = array(inputs[name], self.native.plaintext_modulus)
        except ValueError as problem:
            raise InputError(f"{self.name}: input {name!r}: {problem}") from None
        if values.ndim > 1 and values.shape != kind.shape:
            shape = " x ".join(str(n) for n in values.shape)
            raise InputError(
                f"{self.name}: input {name!r} is an array of {shape}, but {kind} is needed; give it "
                + (".reshape(-1)" if kind.shape is None else "in that shape")
            )
        values = values.reshape(-1)
        if kind.kind == "residue" and values.dtype.kind == "b":
            values = values.astype(np.int64)
        taken = {"residue": np.integer, "real": np.floating, "complex": np.number}[kind.kind]
        if kind.kind != "residue" and values.dtype.kind in "biu":
            values = values.astype(float)
        if values.dtype == object or not np.issubdtype(values.dtype, taken):
            remedy = "scale and round it first" if kind.kind == "residue" else "give numbers of that type"
            raise InputError(f"{self.name}: input {name!r} holds {values.dtype}, but {kind} is needed; {remedy}")
        if len(values) != kind.length:
            raise InputError(f"{self.name}: input {name!r} has {len(values)} values, but {kind} takes {kind.length}")
        if not np.all(np.isfinite(values)):
            raise InputError(f"{self.name}: input {name!r} holds a value that is not finite; correct the data")
        largest = np.abs(values).max(initial=0)
        if kind.kind != "residue" and largest > kind.bound:
            raise InputError(
                f"{self.name}: input {name!r} holds {largest:g}, beyond the bound {kind.bound:g} of its type; scale it, "
                f"or declare it .bounded({float(f'{largest * 1.05:.1g}'):g})"
            )
        padded = np.zeros(self.slots, dtype=values.dtype)
        padded[: self.slots if kind.scalar else kind.length] = values
        return native(padded, self.native.plaintext_modulus)

    def shaped(self, outputs: Mapping[str, Native]) -> SlotOutputs:
        """Outputs as the user reads them: single numbers as such, vectors without the slots behind their end."""
        return {name: self._shaped(kind, outputs[name]) for name, kind in self.outputs.items()}

    def _shaped(self, kind: SlotType, slots: Native) -> Any:  # noqa: ANN401 - a number or a list of them
        found = numbers(slots)
        if kind.kind == "real":
            found = found.real
        values = found[: kind.length]
        if kind.shape is not None:
            return values.reshape(kind.shape).tolist()
        return values.tolist()[0] if kind.scalar else values.tolist()

    def evaluate(self, inputs: Mapping[str, Numbers]) -> SlotOutputs:
        """What the program computes, in the clear: what every execution must give, up to the error of CKKS."""
        return self.shaped(self.native.evaluate(self.flatten(inputs)))

    def __call__(self, **inputs: Numbers) -> SlotOutputs:
        """`evaluate`, by keyword."""
        return self.evaluate(inputs)

    # -- execution --------------------------------------------------------------------------------------------------

    def run(
        self,
        inputs: Mapping[str, Numbers],
        *,
        on: str = "cpu",
        parameters: str | SlotParameters | None = None,
        keys: SlotKeys | None = None,
        threads: int | None = None,
        measure: bool = False,
        security: float | None = None,
        key_switch: str | None = None,
        flood: float | None = None,
        public: bool = False,
        progress: ProgressHook | None = None,
    ) -> SlotRunResult:
        """Encrypts, executes, decrypts, and compares with the program in the clear; with `measure` every operation.

        `on` is "cpu", "interpreter", or a machine for CKKS and BGV, whose schedule is then carried out. Without `parameters`, a set's name or
        file or `pf.SlotParameters`, the smallest ring of 128 bits of security is taken whose modulus carries the program's levels; a set below
        `security` bits is refused, and one of your own below 128 unless `security` allows it. `key_switch` is "set" for the parameter set's,
        "auto" for the compiler's choice, or a name ("listing1", "d8"); without it, "auto" on a machine if no set is named.
        `flood`, with CKKS, is for outputs that others will see: noise of that deviation is added to every slot, and a warning says what it hides.
        With `public`, inputs are encrypted with the public key, as others encrypt them, and errors are bounded for that.
        """
        from ..slot_execution import run

        return run(
            self,
            inputs,
            on=on,
            parameters=parameters,
            keys=keys,
            threads=threads,
            measure=measure,
            security=security,
            key_switch=key_switch,
            flood=flood,
            public=public,
            progress=progress,
        )

    def simulate(
        self, machine: str | Machine, *, parameters: str | SlotParameters | None = None, key_switch: str | None = None
    ) -> Report:
        """The time, stalls, traffic and energy of the program on a machine, from a checked schedule; `key_switch` as in `run`."""
        from ..machines import load
        from ..slot_execution import plan

        target = load(machine) if isinstance(machine, str) else machine
        return target.simulate(plan(self, parameters, machine=target, key_switch=key_switch, security=0))

    def cost(self, parameters: str | SlotParameters | None = None, *, public: bool = False) -> Report:
        """What running takes, before running: levels, keys and their sizes, memory, operations, error bounds.

        With `public`, the error bounds of inputs that are encrypted with a public key.
        """
        from ..slot_execution import cost

        return cost(self, parameters, public=public)

    # -- execution in steps through files, by several parties -----------------------------------------------------------

    def make_keys(
        self,
        folder: str | Path,
        *,
        parameters: str | SlotParameters | None = None,
        security: float | None = None,
        key_switch: str | None = None,
        progress: ProgressHook | None = None,
    ) -> SlotKeys:
        """Makes keys in `folder`: `client.key` for the client alone, `server.key` for the server, `public.key` for whoever encrypts."""
        from .. import slot_stages
        from ..slot_execution import SlotKeys

        options: dict[str, Any] = {"parameters": parameters, "security": security, "key_switch": key_switch}
        slot_stages.make_keys(self, Path(folder), **options, progress=progress)
        return SlotKeys.load(folder, self.scheme)

    def encrypt(
        self, inputs: Mapping[str, Numbers], folder: str | Path, *, security: float | None = None
    ) -> dict[str, Any]:
        """Encrypts inputs with the client key in `folder`, or with the public key in it: `NAME.in.ct` for each.

        With a public key alone only some of the inputs may be given. Its parameter set must have `security` bits, or 128.
        """
        from .. import slot_stages

        path = Path(folder)
        if not any((path / name).exists() for name in ("client.key", "public.key")):
            raise InputError(
                f"{self.name}: {path} has neither client.key nor public.key; bring one, or make_keys(folder) first"
            )
        return slot_stages.encrypt(self, path, inputs, security=security)

    def execute(
        self,
        folder: str | Path,
        *,
        on: str = "cpu",
        threads: int | None = None,
        progress: ProgressHook | None = None,
    ) -> dict[str, Any]:
        """Executes on the inputs in `folder`, with its `server.key`: `NAME.out.ct` for each output."""
        from .. import slot_stages
        from ..execution import place

        return slot_stages.execute(self, Path(folder), on=on, machine=place(on), threads=threads, progress=progress)

    def decrypt(self, folder: str | Path, *, flood: float | None = None) -> SlotOutputs:
        """Decrypts the outputs in `folder` with its `client.key`; with `flood`, for others."""
        from .. import slot_stages

        return self.shaped(slot_stages.decrypted(self, Path(folder), None, flood)[1])


def numbers(slots: Native) -> NDArray[Any]:
    """What the Rust links give, as one array."""
    if isinstance(slots, tuple):
        return np.asarray(slots[0]) + 1j * np.asarray(slots[1])
    return np.asarray(slots, dtype=np.int64)


def tracer(name: str, scheme: str, slots: int | None, inputs: Mapping[str, SlotType], *, least: int = 1) -> SlotTracer:
    """The tracer of a program on `inputs`, with as many slots as they need, or `least`, if none are asked for."""
    for parameter, kind in inputs.items():
        if kind.scheme != scheme:
            remedy = "residues modulo t" if scheme == "bgv" else "real and complex numbers"
            raise refuse(f"{name}: parameter {parameter!r} is {kind}, but {scheme} computes on {remedy}")
    moduli = sorted({kind.modulus for kind in inputs.values() if kind.modulus is not None})
    if len(moduli) > 1:
        raise refuse(f"{name}: its inputs are modulo {moduli[0]} and {moduli[1]}; a program has one modulus")
    packed = all(kind.packed for kind in inputs.values())
    rows = 2 if scheme == "bgv" and packed else 1
    # A matrix stands in one row of slots.
    longest = max((kind.length * (rows if kind.shape else 1) for kind in inputs.values()), default=1)
    needed = max(1 << (longest - 1).bit_length(), rows)
    elastic = slots is None
    if slots is None:
        slots = max(needed, least)
    elif whole(f"{name}: slots", slots, 1, MOST_SLOTS) < longest:
        raise refuse(f"{name}: slots={slots}, but its longest input has {longest} values; give at least {needed} slots")
    return SlotTracer(name, slots, moduli[0] if moduli else None, elastic=elastic)


def finish(
    made: SlotTracer, inputs: Mapping[str, SlotType], named: Mapping[str, SlotValue], doc: str | None
) -> SlotProgram:
    """The program whose outputs are `named`."""
    for output, value in named.items():
        made.builder.output(output, value.node)
    outputs = {name: value.type for name, value in named.items()}
    return SlotProgram(made.builder.finish(), inputs, outputs, doc, made.mapped)
