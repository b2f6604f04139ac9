"""Machines: descriptions with a source for every figure, simulation, and replay on ciphertexts."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import log2
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from .. import _native
from ..errors import Error, FileError, InputError, MachineError, shown
from ..host import memory
from ..host.files import write_bytes, write_text
from ..host.names import pick
from ..host.progress import ProgressHook
from ..reports import Report
from . import sweep_axes

if TYPE_CHECKING:
    from ..schemes.context import Ciphertexts, ServerKey
    from ..schemes.plan import Plan

Kernel: TypeAlias = _native.TfheKernel | _native.RnsKernel
"""A kernel program, for TFHE or for CKKS and BGV."""


def names() -> list[str]:
    """Names of the built-in machines."""
    return _native.machine_names()


def machines() -> list[Machine]:
    """The built-in machines, models of published accelerators. Wherever a machine is named, a machine file of yours can be given instead."""
    return [load(name) for name in names()]


def built_in(name: str) -> str:
    """The built-in machine's name for `name` in upper or lower case; other names unchanged."""
    lowered = name.lower() if isinstance(name, str) else name
    return lowered if lowered in names() else name


def is_file(name: str | Path) -> bool:
    """Whether `name` is the path of a machine file rather than a machine's name."""
    return isinstance(name, Path) or (isinstance(name, str) and (name.endswith(".toml") or "/" in name))


def expect_list(readings: Sequence[str]) -> Sequence[str]:
    """The readings; rejects anything but a list of strings."""
    if isinstance(readings, str) or not (
        isinstance(readings, Sequence) and all(isinstance(reading, str) for reading in readings)
    ):
        raise InputError(f"readings={shown(readings)}; give a list of strings 'FACT=OPTION'")
    return readings


def load(name: str | Path, readings: Sequence[str] = ()) -> Machine:
    """Loads the machine of that name or file (`.toml`), and checks it. `readings` are choices `fact=option` where its paper is ambiguous.

    An invalid file raises `pf.errors.MachineError`, an unknown name or reading `pf.errors.InputError`.
    """
    choices = []
    for reading in expect_list(readings):
        fact, equals, option = reading.partition("=")
        if not equals:
            raise InputError(f"a reading is FACT=OPTION, not {reading!r}; `polyfabric machines {name}` lists them")
        choices.append((fact, option))
    if is_file(name):
        return parsed(str(name), text_of(name), choices)
    return Machine(_native.Machine.named(pick("machine", built_in(name), names()), choices))


Place: TypeAlias = "str | Path | Machine"
"""Where a program runs: a machine, by name, file or loaded, or a word for this computer."""


def chosen(machine: str | Path | Machine, readings: Sequence[str] = ()) -> Machine:
    """The machine of that name or file with these readings, or the loaded machine itself."""
    if not isinstance(machine, Machine):
        return load(machine, readings)
    if expect_list(readings):
        raise InputError(f"{machine.name} is loaded with its readings; give its name, or load it with {readings[0]}")
    return machine


def text_of(file: str | Path) -> str:
    """Reads the text of a machine file."""
    return _native.Machine.text_of(Path(file))


def parsed(file: str, text: str, choices: Sequence[tuple[str, str]] = ()) -> Machine:
    """Parses the text of a machine file."""
    found = Machine(_native.Machine.parse(file, text, choices), file=file)
    _expect_name(file, found.name)
    sweep_axes.expect_own_sweep(found)
    return found


def _expect_name(file: str, name: str) -> None:
    """Rejects names that print nothing or are unsuitable as file names."""
    if not name.strip() or not name.isprintable() or {"/", "\\"} & set(name) or name.strip(".") == "":
        raise MachineError(f"{file}: `name` is {name!r:.80}; give one of letters, digits and dashes")


def multiplier_bits(parameters: _native.TfheParameters, widths: dict[str, int]) -> float:
    """Model of the multiplier cost of one external product: the sum over real products, in transforms and with the key, of the product of
    both factors' bits, which is an array multiplier's number of cells."""
    literal = json.loads(parameters.to_json())
    points, columns = literal["ring_degree"] / 2, literal["glwe_dimension"] + 1
    rows = columns * literal["bootstrap_gadget"]["levels"]
    butterflies = points / 2 * log2(points)
    forward = rows * butterflies * widths["forward"] * widths["forward_twiddle"]
    products = rows * columns * points * widths["forward"] * widths["key"]
    inverse = columns * butterflies * widths["inverse"] * widths["inverse_twiddle"]
    return forward + products + inverse


class Machine:
    """A checked machine description and its mapper."""

    def __init__(self, native: _native.Machine, file: str | None = None, derived_from: Machine | None = None) -> None:
        self.native = native
        self.file = file
        self.derived_from = derived_from
        """The machine with its file's widths, if this one has derived widths."""

    def __reduce__(self) -> NoReturn:
        raise TypeError("a machine does not pickle; send its name, or its file, and load it there with pf.load_machine")

    def __repr__(self) -> str:
        return f"<machine {self.name}>"

    @property
    def argument(self) -> str:
        """The command-line argument for it: its file or its name."""
        return self.file or self.name

    @property
    def name(self) -> str:
        """The machine's name."""
        return self.native.name

    def to_dict(self) -> dict[str, Any]:
        """Every figure with unit and source, and the readings."""
        return json.loads(self.native.to_json())

    @property
    def readings(self) -> dict[str, str]:
        """The chosen option of every reading."""
        return dict(self.native.readings)

    def findings(self) -> list[dict[str, Any]]:
        """For every set over its torus: transform noise, predicted and measured, and failure probability."""
        return json.loads(self.native.findings())

    def trial(
        self,
        parameters: _native.TfheParameters,
        lookups: int,
        bits: int | None = None,
        progress: ProgressHook | None = None,
    ) -> dict[str, Any]:
        """Executes lookups of a set by the machine's schedule, with fresh ciphertexts and keys: number of wrong results, and noise. Messages have
        `bits` bits, or as many as the set supports here."""
        return json.loads(self.native.trial(parameters, lookups, bits, progress))

    def derive_widths(
        self, parameters: _native.TfheParameters, judge: str = "phase", progress: ProgressHook | None = None
    ) -> tuple[dict[str, Any], str]:
        """Fixed-point widths for a set by FPT's design method, and the text of a machine file with them."""
        found, text = self.native.derive_widths(parameters, judge, progress)
        return json.loads(found), text

    def widths(self, parameters: _native.TfheParameters) -> dict[str, int] | None:
        """Bits, including sign, of the key's points, both transforms and their twiddle factors for a set. `None` if products are exact or in
        f64."""
        return json.loads(self.native.widths(parameters))

    def with_derived_widths(self, parameters: _native.TfheParameters, progress: ProgressHook | None = None) -> Machine:
        """The machine with the widths of `derive_widths` for a set, and the same remaining readings."""
        _, text = self.derive_widths(parameters, progress=progress)
        file = f"{self.name} with widths for {parameters.name}"
        open_still = Machine(_native.Machine.parse(file, text, [])).readings
        choices = [choice for choice in self.readings.items() if choice[0] in open_still]
        return Machine(_native.Machine.parse(file, text, choices), derived_from=self)

    def _change_of_widths(self, parameters: _native.TfheParameters) -> dict[str, Any]:
        """The derived widths, those of the file, and the multipliers' cells over theirs; nothing if the widths are the file's."""
        own, derived = (
            None if self.derived_from is None else self.derived_from.widths(parameters),
            self.widths(parameters),
        )
        if own is None or derived is None:
            return {}
        cells = multiplier_bits(parameters, derived) / multiplier_bits(parameters, own)
        return {"widths": derived, "own_widths": own, "multipliers_over_own": cells}

    def varied(self, **figures: float) -> Machine:
        """The machine with other values of any figures, by their keys with `__` for dots, each in the unit of its file: of unknown area and power."""
        changes = [(key.replace("__", "."), value) for key, value in figures.items()]
        return Machine(self.native.varied(changes))

    @property
    def clock_hz(self) -> float:
        """Its clock."""
        return self.native.clock_hz()

    def figure(self, key: str) -> float:
        """The value of a figure, in the unit of its file."""
        value = self.native.figure(key)
        if value is None:
            raise MachineError(f"`{key}` of {self.name} is unknown; give it in the machine file")
        return value

    def count(self, key: str) -> int:
        """The same of a figure that is a count."""
        return round(self.figure(key))

    def components(self) -> list[dict[str, Any]]:
        """Its components: `name`, `count`, and of all of them `area_mm2` and `power_w`."""
        return json.loads(self.native.components())

    def quantities(self) -> dict[str, float]:
        """What follows from its figures: counts of parts and bytes that they hold."""
        return json.loads(self.native.quantities())

    def mapping(self, kernel: _native.TfheKernel) -> dict[str, Any]:
        """What its mapper decides of a program of TFHE: `quantities` by name, and when `instructions` run, if it has some."""
        return json.loads(self.native.mapping(kernel))

    @property
    def on_slots(self) -> bool:
        """Whether it executes CKKS and BGV; otherwise TFHE."""
        return self.native.on_slots

    def expect_executes(self, program: str, *, on_slots: bool) -> None:
        """Rejects a program of a scheme that the machine does not execute, and names the machines that do."""
        if self.on_slots != on_slots:
            others = ", ".join(machine.name for machine in machines() if machine.on_slots == on_slots)
            wants, has = ("CKKS or BGV", "TFHE") if on_slots else ("TFHE", "CKKS and BGV")
            raise MachineError(f"{program} needs {wants}, and {self.name} executes {has}; choose one of {others}")

    def map(self, planned: Kernel | Plan, **options: str | float | None) -> Mapped:
        """Maps a plan or a kernel program to the machine, for report, trace and replay.

        `options` are those of the machine (`machine_options`), with underscores instead of dashes; `None` means the default.
        """
        kernel = self._kernel(planned)
        if isinstance(kernel, _native.TfheKernel):
            needed = self.native.mapping_bytes(kernel)
        else:
            needed = kernel.mapping_bytes(self.native)
        remedy = "use fewer ciphertexts (--batch), split the program, or allow more with memory (--memory)"
        memory.expect(f"a schedule on {self.name}", needed, remedy)
        if isinstance(kernel, _native.TfheKernel):
            if given := _given(options):
                raise InputError(
                    f"--{next(iter(given))} is of programs on slots, but {kernel.name} is of TFHE; leave it out"
                )
            return MappedTfhe(self.native.map(kernel), self._change_of_widths(kernel.parameters))
        return MappedRns(self.native.compile(kernel, _given(options)), getattr(planned, "refusal", None))

    def load(self, planned: Kernel | Plan, path: Path, **options: str | float | None) -> MappedRns:
        """Loads a compiled CKKS or BGV program that `MappedRns.save` wrote, and checks it again."""
        kernel = self._kernel(planned)
        if isinstance(kernel, _native.TfheKernel):
            raise InputError("only CKKS and BGV programs can be loaded compiled; omit the file for this TFHE program")
        compiled = _read_compiled(path)
        try:
            return MappedRns(self.native.load(kernel, compiled, _given(options)), getattr(planned, "refusal", None))
        except Error as error:
            raise type(error)(f"{path}: {error}") from None

    def simulate(self, planned: Kernel | Plan) -> Report:
        """The report of the machine's schedule for a plan."""
        return self.map(planned).report()

    def _kernel(self, planned: Kernel | Plan) -> Kernel:
        """The kernel program of a plan, or a given kernel program itself."""
        kernel = getattr(planned, "kernel", planned)
        if isinstance(kernel, _native.TfheKernel | _native.RnsKernel):
            return kernel
        what = repr(planned) if isinstance(planned, str) else f"of the type {type(planned).__name__}"
        raise InputError(
            f"{self.name} times plans, not {what}; write program.simulate({self.argument!r}) for your own program, program.plan(..) for its "
            f"plan, or `polyfabric simulate NAME --on {self.argument}` for a built-in one"
        )


class Mapped(ABC):
    """A program with its schedule on a machine."""

    @abstractmethod
    def report(self) -> Report:
        """Time, stalls, traffic and energy of the checked schedule."""

    @abstractmethod
    def replay(
        self, server: ServerKey, inputs: Ciphertexts, progress: ProgressHook | None = None
    ) -> tuple[Ciphertexts, Report]:
        """Executes the schedule on ciphertexts with the machine's arithmetic, in its order; returns the outputs and the report."""


class MappedTfhe(Mapped):
    """A TFHE program on a machine, with its checked schedule, in which loops stay loops."""

    def __init__(self, native: _native.MappedTfhe, change_of_widths: dict[str, Any]) -> None:
        self.native = native
        self.change_of_widths = change_of_widths

    def report(self) -> Report:
        """Time, stalls, traffic and energy of the checked schedule."""
        return self._report({})

    def replay(
        self, server: _native.TfheServerKey, inputs: _native.TfheCiphertexts, progress: ProgressHook | None = None
    ) -> tuple[_native.TfheCiphertexts, Report]:
        """Executes the schedule on ciphertexts, with the machine's arithmetic, in its order; returns the outputs and the report."""
        outputs, saturations = self.native.replay(server, inputs, progress)
        return outputs, self._report({"saturations": saturations})

    def _report(self, more: dict[str, Any]) -> Report:
        data = {**json.loads(self.native.report()), **self.change_of_widths, **more}
        return Report("simulation", data, self.native.trace)


class MappedRns(Mapped):
    """A compiled and checked CKKS or BGV program on a machine."""

    def __init__(self, native: _native.MappedRns, refusal: str | None = None) -> None:
        self.native = native
        self.refusal = refusal
        """Why the program is only timed; `None` if it is run."""

    def report(self) -> Report:
        """Time, stalls, traffic and energy of the checked schedule; and the reason if the program is only timed."""
        data = json.loads(self.native.report())
        if self.refusal is not None:
            data["not_run"] = self.refusal
        return Report("simulation", data, self.native.trace)

    def replay(
        self,
        server: _native.RnsServerKey,
        inputs: _native.RnsCiphertexts,
        progress: ProgressHook | None = None,  # noqa: ARG002 - the replay does not say how far it is
    ) -> tuple[_native.RnsCiphertexts, Report]:
        """Executes the schedule on ciphertexts with the machine's arithmetic, in its order; returns the outputs and the report."""
        return self.native.replay(server, inputs), self.report()

    def groups(self) -> list[dict[str, Any]]:
        """The compiler's groups of operations that share a key-switch hint."""
        return json.loads(self.native.groups())

    def write_streams(self, path: Path) -> None:
        """Writes the instruction streams, in binary form to a `.bin` file, otherwise as text."""
        if path.suffix != ".bin":
            write_text(path, self.native.streams_text())
        else:
            write_bytes(path, self.native.streams())

    def save(self, path: Path) -> None:
        """Writes the compilation result, for `Machine.load`."""
        write_bytes(path, self.native.save())


def machine_options() -> list[dict[str, Any]]:
    """The options of all mappers: `machine` is the mapper, `option` the name, values and help."""
    return json.loads(_native.machine_options())


def _given(options: dict[str, str | float | None]) -> dict[str, str]:
    return {name.replace("_", "-"): str(value) for name, value in options.items() if value is not None}


LARGEST_COMPILED = 1 << 32
"""Maximum bytes of a compiled program."""


def _read_compiled(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(min(path.stat().st_size, LARGEST_COMPILED) + 1)
    except OSError as error:
        raise FileError(f"{path}: cannot read ({error.strerror}); check the path") from error
    if len(data) > LARGEST_COMPILED:
        raise FileError(f"{path}: more than {LARGEST_COMPILED >> 30} GiB; is this a compiled program?")
    return data
