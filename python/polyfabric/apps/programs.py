"""Programs by name: built-in ones and functions in the user's files."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from functools import cache, lru_cache
from importlib.machinery import SourceFileLoader
from math import ceil
from pathlib import Path
from types import CodeType

from .. import _native
from ..accelerators.machine import Machine
from ..errors import Error, FileError, InputError, MachineError, NoiseError, ProgramError
from ..host import memory
from ..host.files import read_bytes
from ..host.names import suggestion
from ..importers import heir, trace
from ..language.lane_program import LONG
from ..language.lane_shapes import MOST_BATCH
from ..language.program import with_tables
from ..models.model import Model
from ..run.execution import make_plan
from ..run.repeated_rounds import RoundProgram
from ..run.runnable_programs import Program, SlotProgram
from ..schemes.context import STANDARD_SECURITY
from ..schemes.options import BLOCK_BINARY, DERIVED, PlanOptions
from ..schemes.plan import Plan
from ..schemes.slot_parameters import longest_table
from ..schemes.tfhe import DEFAULT_SETS, TfhePlan, expect_secret, expect_security, named_parameters
from ..schemes.ways import AUTO, SLOTS, TFHE
from . import (
    bgv_bootstrapping,
    bitonic_sorting,
    ckks_bootstrapping,
    helr_1024,
    lenet,
    matvec,
    osiris_programs,
    resnet20,
)
from .boosted_trees import PROGRAMS as TREES
from .deep_nn import PROGRAMS as DEEP_NN
from .f1_programs import PROGRAMS as F1_PROGRAMS
from .life import life
from .networks import PROGRAMS as NETWORKS
from .trained_digits import PROGRAMS as TRAINED

DEFAULT_SET = "polyfabric-3-p128-t32"
"""Default set of a built-in program on this computer."""

DEFAULT_SET_ON_MACHINE = "polyfabric-1-p128-t32-narrow"
"""Default set on a machine: its key switch suits 32-bit transforms."""


def _whatever(build: Callable[[], SlotProgram]) -> Callable[[str], SlotProgram]:
    """A program that does not depend on the parameter set."""
    return lambda _: build()


PAPERS: dict[str, tuple[Callable[[str], SlotProgram], str]] = {
    "matvec": (_whatever(matvec.matvec), matvec.PAPER_SET),
    "bgv-bootstrapping": (_whatever(bgv_bootstrapping.bgv_bootstrapping), bgv_bootstrapping.PAPER_SET),
    "ckks-bootstrapping": (ckks_bootstrapping.ckks_bootstrapping, ckks_bootstrapping.PAPER_SET),
    **{name: (_whatever(program.build), program.parameters) for name, program in F1_PROGRAMS.items()},
    "mlp": (_whatever(osiris_programs.mlp), osiris_programs.SMALL_SET),
    "lola": (_whatever(osiris_programs.lola), osiris_programs.SMALL_SET),
    "amortised-products": (_whatever(osiris_programs.products), ckks_bootstrapping.FULL_SET),
    "amortised-matrices": (_whatever(osiris_programs.matrix_vectors), ckks_bootstrapping.FULL_SET),
    "helr-1024": (_whatever(helr_1024.helr_1024), helr_1024.PAPER_SET),
    "lenet": (_whatever(lenet.lenet), lenet.PAPER_SET),
    "resnet20": (_whatever(resnet20.resnet20), resnet20.PAPER_SET),
    "resnet20-block": (_whatever(resnet20.residual_block), resnet20.PAPER_SET),
    "sorting-stages": (_whatever(bitonic_sorting.sorting_stages), bitonic_sorting.PAPER_SET),
}
"""Programs of papers, runnable like the user's own, by parameter set; with the set of the paper."""

ROUNDS: dict[str, tuple[Callable[[], RoundProgram], str]] = {
    "resnet20": (resnet20.rounds, resnet20.PAPER_SET),
    "sorting": (bitonic_sorting.sorting, bitonic_sorting.PAPER_SET),
}
"""Programs of repeated rounds, with the set of their paper."""

ONLY_ROUNDS = ("sorting",)
"""Programs too long for a schedule without loops, or to run."""

ON_SLOTS = ("logistic-regression", "database-lookup", *PAPERS)
"""CKKS and BGV applications."""

MICROBENCHMARKS = ("ntt", "automorphism", "multiply", "permute")
"""Single operations on limbs, for timing on a machine."""

MICROBENCHMARK_SIZES = {"12": (12, 3), "13": (13, 6), "14": (14, 13), "15": (15, 26)}
"""By --params: log2 of the ring degree, and limbs besides the special one: 109, 218 and 438 bits in total (F1, table 4), and
864 where a polynomial takes two of F1's vectors (881 is the maximum for 128 bits)."""

MICROBENCHMARK_BATCH = 64
"""Default number of ciphertexts."""

MICROBENCHMARK_ROUNDS = 8
"""Consecutive operations on each ciphertext."""


REPEATED = frozenset({"adder", "digits", *_native.built_in_names()})
"""Built-in programs that a batch repeats with TFHE."""


def known() -> list[str]:
    """Names of the built-in programs."""
    own = [*DEEP_NN, *NETWORKS, *TREES, *TRAINED]
    return ["digits", "life", "adder", *own, *_native.built_in_names(), *ON_SLOTS, *ONLY_ROUNDS]


def on_slots(name: str | Program, parameters: str | None = None) -> SlotProgram | None:
    """The CKKS or BGV program that `name` (a built-in name, `FILE.py:FUNCTION`, `FILE.pf`, `FILE.mlir`, or the file of a trace) means, for a parameter set or the default. `None`
    for a TFHE program or an unknown name."""
    if isinstance(name, Program):
        return name if isinstance(name, SlotProgram) else None
    if name in PAPERS:
        build, own = PAPERS[name]
        return build(parameters or own)
    if name in ONLY_ROUNDS:
        raise InputError(
            f"{name} is a sequence of stages that can only be timed: `polyfabric simulate {name} --on M`; `polyfabric run {name}-stages` runs two of them"
        )
    found = load(name) if ":" in name or name.endswith((".pf", ".py", ".mlir", *trace.SUFFIXES)) else None
    return found if isinstance(found, SlotProgram) else None


def is_on_slots(name: str | Program) -> bool:
    """Whether a program is for CKKS or BGV rather than TFHE, without building built-in ones. Rejects unknown names."""
    if name in MICROBENCHMARKS or name in PAPERS or on_slots(name) is not None:
        return True
    if name in ON_SLOTS or name not in known():
        load(name)
    return False


def scheme_of(name: str, options: PlanOptions, batch: int | None = None, scheme: str | None = None) -> str:
    """The scheme of a program for `planned`: "tfhe", "ckks" or "bgv"."""
    own = on_slots(name, options.parameters)
    if own is not None:
        return own.scheme
    if batch is None or name in REPEATED:
        return "tfhe"
    return (
        _in_batches(load(name), batch, scheme, options).scheme if scheme == AUTO else {TFHE: "tfhe"}.get(scheme, "ckks")
    )


def microbenchmark(name: str, parameters: str | None, batch: int, machine: Machine) -> _native.RnsKernel:
    """The kernel program of a microbenchmark. Fails if mapping it to the machine would not fit the memory."""
    size = parameters or "13"
    if size not in MICROBENCHMARK_SIZES:
        raise InputError(
            f"{name}: --params of a microbenchmark is log2 of the ring degree; {suggestion(size, MICROBENCHMARK_SIZES)}"
        )
    log2_degree, limbs = MICROBENCHMARK_SIZES[size]

    def build(ciphertexts: int) -> _native.RnsKernel:
        return _native.RnsKernel.microbenchmark(name, log2_degree, limbs, ciphertexts, MICROBENCHMARK_ROUNDS)

    memory.expect_many(name, batch, lambda count: build(count).mapping_bytes(machine.native))
    return build(batch)


def rns_kernel(name: str, parameters: str | None, machine: Machine) -> _native.RnsKernel:
    """The kernel program of a CKKS or BGV program, with the key switch chosen for the machine, or of a microbenchmark."""
    if name in MICROBENCHMARKS:
        return microbenchmark(name, parameters, MICROBENCHMARK_BATCH, machine)
    own = on_slots(name, parameters)
    if own is None:
        choice = [*MICROBENCHMARKS, *PAPERS]
        raise InputError(
            f"{name!r} is not a CKKS or BGV program for timing; {suggestion(name, choice)}, or FILE.py:FUNCTION"
        )
    options = PlanOptions(parameters=parameters, machine=machine, max_failure=0.0, security=0)
    return planned(name, options).kernel


class _SourceLoader(SourceFileLoader):
    """Compiles the file every time: Python's cache would not notice an edit of the same length within a second."""

    def get_code(self, fullname: str) -> CodeType:
        """The compiled file."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


@cache
def load(name: str | Program) -> Program:
    """Loads the program `FILE.py:FUNCTION`, `FILE.pf`, compiled by HEIR `FILE.mlir:FUNCTION`, or of a trace, `FILE.csv` or `FILE.txt`; the file alone if it has one program.
    A loaded program is itself.

    The program of an encrypted model has the model's name.
    """
    if isinstance(name, Program):
        return name
    if name in known():
        raise InputError(
            f"{name} runs only as a whole, with its data, so machines cannot time it; name another program"
        )
    path, _, function = name.partition(":")
    file = Path(path)
    if file.suffix == ".pf" and not function:
        text = read(file)
        try:
            return Program.parse(text)
        except Error as error:
            raise type(error)(f"{file}: {error}") from None
    if file.suffix == ".mlir":
        return heir.parse(read(file), str(file), function or None)
    if file.suffix == trace.FHETCH and not function:
        raise InputError(
            f"{file}: instructions on polynomials without keys, which can only be timed; write `polyfabric simulate {file} --on MACHINE`"
        )
    if file.suffix in trace.SUFFIXES and not function:
        return trace.from_trace(file)
    if file.suffix != ".py":
        script = f"{path}.py"
        near = (
            f"did you mean {script}:{function or 'FUNCTION'}?" if Path(script).is_file() else suggestion(name, known())
        )
        raise InputError(
            f"there is no program {name!r}, and it is not FILE.py:FUNCTION, FILE.pf, FILE.mlir or a trace, FILE.csv or FILE.txt; {near}"
        )
    read(file)
    spec = importlib.util.spec_from_file_location(file.stem, file, loader=_SourceLoader(file.stem, str(file.resolve())))
    if spec is None or spec.loader is None:
        raise InputError(f"{file}: not a Python file; give FILE.py:FUNCTION")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.parent.resolve()))
    try:
        # Standard output belongs to the command, which may write data.
        with redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except SyntaxError as error:
        raise ProgramError(f"{file}:{error.lineno}: {error.msg}; correct the file") from error
    except Error:
        raise
    except (Exception, SystemExit) as error:  # Whatever a user's file does.
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if Path(frame.filename) == file.resolve()
        ]
        place = f"{file}:{lines[-1]}" if lines else str(file)
        remedy = "install it" if isinstance(error, ModuleNotFoundError) else "correct the file"
        raise ProgramError(f"{place}: {type(error).__name__}: {error}; {remedy}") from error
    finally:
        sys.path.pop(0)
    models = {key: value.program for key, value in vars(module).items() if isinstance(value, Model)}
    programs = models | {key: value for key, value in vars(module).items() if isinstance(value, Program)}
    found = programs.get(function) if function or len(programs) != 1 else next(iter(programs.values()))
    if found is None:
        if programs and not function:
            raise InputError(
                f"{file} has {len(programs)} programs, {', '.join(programs)}; name one, as {file}:{next(iter(programs))}"
            )
        raise InputError(
            f"{file} has no program{f' {function!r}' if function else ''}; "
            + (suggestion(function, list(programs)) if programs else "decorate a function with @pf.program(..)")
        )
    return found


LARGEST_TEXT = 1 << 28
"""Maximum bytes of an input file or a program's text."""


def read(file: Path) -> str:
    """Reads a text file without a byte order mark."""
    try:
        text = read_bytes(file, LARGEST_TEXT).decode("utf-8-sig")
        return text.replace("\r\n", "\n").replace("\r", "\n")
    except FileError as error:
        raise InputError(str(error)) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not a text file ({error.reason} at byte {error.start}); check the path") from error


def default_set(name: str, machine: Machine | None) -> str:
    """The default set of a built-in program. On a machine that does not support the usual one: the supported default set with its security
    that fails least."""
    if machine is None:
        return DEFAULT_SET

    def held(parameters: str) -> TfhePlan:
        plan = TfhePlan.built_in(name, parameters, 1, machine=machine)
        machine.simulate(plan)
        return plan

    try:
        return held(DEFAULT_SET_ON_MACHINE).parameters.name
    except MachineError as error:
        refused = error
    plans = []
    for other in _native.parameter_names():
        with suppress(Error):
            parameters = _native.TfheParameters.named(other)
            uniform = parameters.block == 1
            if other.startswith(DEFAULT_SETS) and uniform and parameters.security_bits >= STANDARD_SECURITY:
                plans.append(held(other))
    if not plans:
        raise refused
    return min(plans, key=lambda plan: plan.log2_failure).parameters.name


def timed(name: str, parameters: str | None, batch: int, machine: Machine) -> TfhePlan:
    """Plans a built-in program for timing, with any noise."""
    return TfhePlan.built_in(name, parameters or default_set(name, machine), batch, machine=machine)


def planned_to_time(
    name: str | Program, options: PlanOptions, batch: int | None = None, scheme: str | None = None
) -> Plan:
    """Plans any program for timing on a machine: as `planned`, and the digits application on `batch` images or one."""
    if name == "digits":
        from .digits.classify import prepare

        return prepare(batch or 1, options)[0]
    return planned(name, options, batch, scheme)


def planned(
    name: str | Program,
    options: PlanOptions,
    batch: int | None = None,
    scheme: str | None = None,
) -> Plan:
    """Plans a program, except those that run only with their data: a built-in one on `batch` ciphertexts, your own in batches with `scheme`,
    by default on slots.

    A program of a paper has the paper's parameter set by default.
    """
    named = options.parameters if isinstance(options.parameters, str) else None
    own = on_slots(name, named)
    if scheme is not None and (own is not None or batch is None or name in REPEATED):
        raise InputError(
            f"--scheme {scheme} is for a batch of inputs of your own program on integers; add --batch, or omit it"
        )
    applications = {**DEEP_NN, **NETWORKS, **TREES, **TRAINED, "life": life}
    if options.tables is not None and (own is not None or name in (*_native.built_in_names(), *applications, "adder")):
        raise InputError(
            f"--tables {options.tables} is for tables of integers in a program of your own, with TFHE; leave it out for {name}"
        )
    if options.tables is not None and batch is not None and scheme != TFHE:
        raise InputError(f"--tables {options.tables} is for TFHE, not for slots; add --scheme tfhe, or leave it out")
    if own is None and name in _native.built_in_names():
        return _built_in(name, options, batch or 1)
    if name == "adder":
        from .adder import adder

        return make_plan(adder(8, batch or 1), options)
    if own is not None and batch is not None:
        raise InputError(f"--batch is for programs on integers; {name} takes many values in its vectors")
    if own is not None:
        return make_plan(own, options.with_default_set(PAPERS[name][1]) if name in PAPERS else options)
    application = applications.get(name)
    program = load(name) if application is None else application()
    if options.tables is not None:
        program = with_tables(program, options.tables)
    if batch is not None and batch > MOST_BATCH:
        raise InputError(f"--batch {batch}: {name} takes at most {MOST_BATCH:,} inputs at once; run several batches")
    if batch is None:
        return make_plan(program, options)
    return make_plan(_in_batches(program, batch, scheme, options), options)


def _in_batches(program: Program, batch: int, scheme: str | None, options: PlanOptions) -> Program:
    """The program in batches with `scheme`. If a machine or a set is named, "auto" is its scheme."""
    if scheme is None and options.machine is not None and not options.machine.on_slots:
        scheme = TFHE
    if scheme == AUTO and options.machine is not None:
        scheme = SLOTS if options.machine.on_slots else TFHE
    if scheme == AUTO and options.parameters is not None:
        scheme = TFHE if options.parameters in _native.parameter_names() else SLOTS
    return _made(program, batch, scheme or SLOTS, _longest_table(options) if scheme in (None, SLOTS) else None)


@lru_cache(maxsize=1)
def _made(program: Program, batch: int, scheme: str, entries: int | None) -> Program:
    """The program in batches; a command asks for its scheme first, then for its plan."""
    return program.in_batches(batch, scheme=scheme, longest_table=entries)


def _longest_table(options: PlanOptions) -> int | None:
    """The entries of the tables of the chosen parameter set; `None` if any set may be chosen."""
    if options.parameters is None:
        return None
    own = longest_table(options.parameters)
    return own and min(own, LONG)


def _built_in(name: str, options: PlanOptions, batch: int) -> TfhePlan:
    """Plans a built-in program; rejects an unacceptable failure probability."""
    machine = options.machine
    if options.circuit_privacy is not None:
        raise InputError(f"--circuit-privacy hides a program's weights, but {name} has none; omit it")
    if options.public:
        raise InputError(f"--public applies to your own programs and applications, not to {name}; omit it")
    if options.secret == BLOCK_BINARY and options.parameters is None:
        raise InputError(
            f"--secret chooses a set for a program's messages; for {name} name one that ends in -block3 (--params)"
        )
    chosen = options.parameters or default_set(name, machine)
    options = replace(options, parameters=chosen)
    if options.widths == DERIVED and machine is not None:
        machine = machine.with_derived_widths(named_parameters(chosen) if isinstance(chosen, str) else chosen)
    made = TfhePlan.built_in(name, chosen, batch, machine=machine, unroll=options.unroll)
    options.checked(made.program)
    expect_security(made.program, made.parameters, options)
    expect_secret(made.program, made.parameters, options.secret)
    accepted = options.accepted_failure
    if made.log2_failure > accepted:
        place = "this computer" if machine is None else machine.name
        what = "a ciphertext" if batch == 1 else f"one of {batch:,} ciphertexts"
        raise NoiseError(
            f"{name} on {place}: {what} of parameter set {made.parameters.name} fails with probability "
            f"2^{made.log2_failure:.1f}, more than 2^{accepted:.1f}, even with a message of 1 bit; {_too_narrow(made, accepted)}choose "
            f"another set, or accept it with --max-failure {ceil(made.log2_failure)}"
        )
    return made


def _too_narrow(made: TfhePlan, accepted: float) -> str:
    """A remedy if only the machine's widths make a built-in program fail."""
    if made.machine is None:
        return ""
    here = TfhePlan.built_in(made.program.name, made.parameters, made.kernel.lookups, unroll=made.unroll)
    widths = made.machine.widths(made.parameters)
    if here.log2_failure > accepted or widths is None:
        return ""
    own = ", ".join(f"{part.replace('_', ' ')} {bits}" for part, bits in widths.items())
    return (
        f"on this computer with 2^{here.log2_failure:.1f}, so it is the machine's widths, in bits: {own} (`machine.arithmetic` in its file). Derive "
        f"wider ones (polyfabric widths --on {made.machine.argument} --params {made.parameters.name} --out FILE.toml), "
    )
