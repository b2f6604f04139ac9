"""`polyfabric simulate`: time, stalls, traffic and energy of a machine's schedule."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from .. import _native
from ..accelerators.machine import Kernel, Machine, Mapped, MappedRns, load
from ..apps import programs
from ..errors import InputError
from ..host.progress import working
from ..importers.trace import FHETCH, from_trace, to_trace
from ..language.types import MOST_ELEMENTS
from ..reports import Report
from ..reports.tables import print_table
from ..schemes.options import PlanOptions
from ..schemes.plan import Plan
from ..schemes.rns import RnsPlan
from ..schemes.tfhe import TfhePlan
from . import machine_choices, memory_option, named, places
from .console import grid, out, print_json, security_warnings, warning_line
from .simulate_rounds import folded, is_given, steps

BATCH = 64
"""Default number of ciphertexts of a built-in program."""


@click.command()
@click.argument("program", type=named.PROGRAM)
@click.option(
    "--on",
    type=named.MACHINE,
    required=True,
    metavar="MACHINE",
    help="A machine (polyfabric machines lists them), by name or as a file.toml of yours.",
)
@click.option(
    "--params",
    "parameters",
    metavar="SET",
    help="Parameter set, of CKKS and BGV also a file.toml of yours; default: chosen automatically.",
)
@click.option(
    "--batch",
    type=click.IntRange(1, MOST_ELEMENTS),
    metavar="N",
    help="Ciphertexts of a built-in program, default 64; inputs of your own on integers: at once with CKKS, one after another with TFHE.",
)
@machine_choices.readings
@machine_choices.widths
@click.option(
    "--max-failure",
    "max_failure",
    type=float,
    metavar="LOG2",
    help="log2 of the largest accepted failure probability; default -128, for CKKS that of its error bounds.",
)
@click.option(
    "--timeline",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=places.file,
    metavar="FILE",
    help="Write the Perfetto timeline.",
)
@click.option(
    "--report",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    callback=places.folder,
    metavar="DIR",
    help="Write report.html, report.json and timeline.json.",
)
@click.option(
    "--streams",
    "stream_file",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=places.file,
    metavar="FILE",
    help="CKKS, BGV: write the instruction streams, as text, or as binary for FILE.bin.",
)
@click.option(
    "--fhetch",
    "trace_folder",
    type=click.Path(path_type=Path, file_okay=False),
    callback=places.folder,
    metavar="DIR",
    help="CKKS, BGV: write the kernel program as a .fhetch trace with its manifest.",
)
@click.option(
    "--groups",
    "show_groups",
    is_flag=True,
    help="CKKS, BGV: print the compiler's groups of operations that share a key-switch hint.",
)
@machine_choices.of_mappers
@click.option(
    "--key-switch",
    "key_switch",
    metavar="NAME",
    help="CKKS, BGV: auto (the compiler chooses), set (the parameter set's), listing1, or d8 for eight digits; default: auto, or set with --params.",
)
@click.option(
    "--security",
    type=float,
    metavar="BITS",
    help="Refuse a parameter set with fewer bits of security; default 128 for your own sets.",
)
@click.option(
    "--save",
    "save_file",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=places.file,
    metavar="FILE",
    help="CKKS, BGV: write the compiled program.",
)
@click.option(
    "--load",
    "load_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="CKKS, BGV: load PROGRAM from a file that --save wrote; it is checked again but not compiled.",
)
@click.option(
    "--operations",
    "show_operations",
    is_flag=True,
    help="CKKS, BGV: print the program's operations by kind and limbs, and its key switches by limbs.",
)
@click.option(
    "--steps",
    "show_steps",
    is_flag=True,
    help="CKKS: print the tried numbers of baby and giant steps of each matrix, with their times.",
)
@click.option(
    "--schedule",
    type=click.Choice(["folded", "flat", "shorter"]),
    help="resnet20 and sorting: schedule rounds as loops (default), without loops (flat), or take the shorter of both.",
)
@memory_option.option
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
def simulate(
    program: str,
    *,
    on: str,
    parameters: str | None,
    batch: int | None,
    readings: tuple[str, ...],
    widths: str,
    max_failure: float | None,
    timeline: Path | None,
    folder: Path | None,
    stream_file: Path | None,
    trace_folder: Path | None,
    show_groups: bool,
    show_operations: bool,
    show_steps: bool,
    key_switch: str | None,
    security: float | None,
    save_file: Path | None,
    load_file: Path | None,
    schedule: str | None,
    as_json: bool,
    **choices: str | None,
) -> None:
    """Time PROGRAM on a machine, from a checked schedule of all its operations.

    `simulate` refuses what `run` refuses, except that a CKKS program whose error bounds exceed its values is timed, and the report says so.

    PROGRAM is your own, FILE.py:FUNCTION, FILE.pf, FILE.mlir of HEIR, FILE.csv, FILE.txt or FILE.fhetch of a trace, or a built-in one, which `polyfabric programs` lists. Of single operations on limbs (ntt,
    automorphism, multiply, permute) --params is the log2 of the ring degree, 12 to 15.
    """
    if load_file is not None and choices.get("scheduler") is not None:
        raise InputError("--load reads a compiled program, and --scheduler affects compilation; leave one out")
    machine = load(on, readings)
    if (cause := machine.native.area_cause()) is not None:
        warning_line(f"{on}: area, power and energy are unknown: {cause}")
    _expect_rounds(program, schedule)
    asked = _Asked(timeline, folder, stream_file, trace_folder, save_file, show_groups, show_operations, show_steps)
    if program in programs.ROUNDS and schedule != "flat":
        shorter = schedule == "shorter"
        flat = {
            "--batch": batch,
            **asked.of_streams(),
            **asked.of_plans(),
            "--key-switch": key_switch,
            "--save": save_file,
            "--load": load_file,
            "--max-failure": max_failure,
            **{f"--{name.replace('_', '-')}": choice for name, choice in choices.items()},
            **(asked.of_reports() if shorter else {}),
        }
        written = asked.of_reports()
        folded(program, parameters, machine, flat, written, security=security, shorter=shorter, as_json=as_json)
        return
    options = PlanOptions(
        parameters=parameters,
        machine=machine,
        widths=widths,
        max_failure=max_failure,
        security=security,
        key_switch=key_switch,
    )
    with security_warnings(), working(f"mapping {program} onto {machine.name} and checking every event"):
        planned = _planned(program, options, machine, batch, asked.of_plans())
        if isinstance(planned, TfhePlan):
            asked.expect_nothing_of_slots(program)
        elif trace_folder is not None:
            to_trace(planned, trace_folder)
        # A plan with derived widths has its own machine.
        timed = planned.machine if isinstance(planned, TfhePlan) and planned.machine else machine
        mapped: Mapped = (
            timed.map(planned, **choices) if load_file is None else timed.load(planned, load_file, **choices)
        )
        report = mapped.report()
        groups = mapped.groups() if show_groups and isinstance(mapped, MappedRns) else []
        asked.write(mapped, report)
    on_slots = planned if isinstance(planned, RnsPlan) else None
    if as_json:
        print_json(_data(report, on_slots, groups if show_groups else None, show_operations, show_steps))
    else:
        _show(report, on_slots, groups, asked)


@dataclass(frozen=True)
class _Asked:
    """The files to write and the tables to print in addition to the report."""

    timeline: Path | None
    folder: Path | None
    streams: Path | None
    trace: Path | None
    save: Path | None
    groups: bool
    operations: bool
    steps: bool

    def of_reports(self) -> dict[str, Path | None]:
        """Options that write the report's files."""
        return {"--timeline": self.timeline, "--report": self.folder}

    def of_streams(self) -> dict[str, Path | bool | None]:
        """Options for a compiler's output."""
        return {"--streams": self.streams, "--fhetch": self.trace, "--groups": self.groups}

    def of_plans(self) -> dict[str, bool]:
        """Options for plans of CKKS and BGV on any machine."""
        return {"--operations": self.operations, "--steps": self.steps}

    def expect_nothing_of_slots(self, program: str) -> None:
        """Refuses the options that only CKKS and BGV support."""
        of_slots = {**self.of_streams(), **self.of_plans(), "--save": self.save}
        for option in (option for option, given in of_slots.items() if given):
            raise InputError(f"{option} applies to CKKS and BGV, but {program} is of TFHE; leave it out")

    def write(self, mapped: Mapped, report: Report) -> None:
        """Writes every file."""
        if isinstance(mapped, MappedRns):
            if self.streams is not None:
                mapped.write_streams(self.streams)
            if self.save is not None:
                mapped.save(self.save)
        if self.timeline is not None:
            report.timeline(self.timeline)
        if self.folder is not None:
            report.save(self.folder)

    def written(self) -> list[Path]:
        """The written files, in the order in which the command prints them."""
        return [path for path in (self.timeline, self.folder, self.streams, self.trace, self.save) if path is not None]


def _expect_rounds(program: str, schedule: str | None) -> None:
    """Refuses --schedule for programs without repeated rounds."""
    if schedule is not None and program not in programs.ROUNDS:
        of_rounds = ", ".join(programs.ROUNDS)
        raise InputError(
            f"--schedule applies to programs with repeated rounds ({of_rounds}); leave it out for {program}"
        )
    if schedule not in (None, "folded") and program in programs.ONLY_ROUNDS:
        raise InputError(f"{program} is too long for a schedule without loops; leave --schedule out")


def _show(report: Report, planned: RnsPlan | None, groups: list[dict[str, Any]], asked: _Asked) -> None:
    """Prints the report and the requested tables."""
    report.print(out())
    if planned is not None:
        if planned.key_switch is not None:
            out().print()
            planned.key_switch.print(out())
        if asked.operations:
            _operations(out(), planned)
        if asked.steps:
            steps(out(), planned.facts["steps"])
    if asked.groups:
        table = grid("hint", "operations", "instructions")
        for group in groups:
            table.add_row(group["hint"] or "-", f"{group['operations']:,}", f"{group['instructions']:,}")
        out().print()
        print_table(out(), table)
    for path in asked.written():
        out().print(f"\nwritten: {path}")


def _planned(
    program: str, options: PlanOptions, machine: Machine, batch: int | None, of_programs: dict[str, bool]
) -> Plan | Kernel:
    """The plan to map, or the kernel program of a microbenchmark or a .fhetch trace, which accept none of the options `of_programs`."""
    polynomials = program.endswith(FHETCH)
    if polynomials or program in programs.MICROBENCHMARKS:
        if options.key_switch is not None:
            raise InputError(f"--key-switch applies to whole programs; {program} has its own, leave it out")
        of_programs = {"--security": options.security, "--max-failure": options.max_failure, **of_programs}
        for option, given in of_programs.items():
            if is_given(given):
                raise InputError(
                    f"{option} applies to whole programs; {program} consists of operations on residues, leave it out"
                )
        if polynomials:
            if options.parameters is not None or batch is not None:
                raise InputError(f"{program} has its own parameters and is timed once; leave --params and --batch out")
            return from_trace(Path(program))
        named = options.parameters if isinstance(options.parameters, str) else None
        return programs.microbenchmark(program, named, batch or programs.MICROBENCHMARK_BATCH, machine)
    if program in _native.built_in_names():
        batch = batch or BATCH
    return programs.planned_to_time(program, options, batch)


def _data(
    report: Report, planned: RnsPlan | None, groups: list[dict[str, Any]] | None, operations: bool, steps: bool
) -> dict[str, Any]:
    """The report and the requested tables as data."""
    data = report.to_dict() if groups is None else {**report.to_dict(), "groups": groups}
    if planned is None:
        return data
    data = {**data, "key_switch": planned.facts["key_switch"]}
    if operations:
        data["homomorphic_operations"] = planned.operation_counts()
        data["key_switches"] = planned.facts["key_switches"]
    if steps:
        data["steps"] = planned.facts["steps"]
    return data


def _operations(console: Console, planned: RnsPlan) -> None:
    """Homomorphic operations by kind and limbs; key switches, and the hints that they read, by limbs."""
    counts = planned.operation_counts()
    limbs = sorted({row["limbs"] for row in [*counts, *planned.facts["key_switches"]]}, reverse=True)
    table = grid("operation", *[f"{count} limbs" for count in limbs])
    rows = [(row["operation"], row["limbs"], row["count"]) for row in counts]
    switches = planned.facts["key_switches"]
    rows += [("key switch", use["limbs"], use["count"]) for use in switches]
    rows += [("hint", use["limbs"], 1) for use in switches]
    for name in dict.fromkeys(name for name, _, _ in rows):
        cells = [sum(count for other, held, count in rows if (other, held) == (name, level)) for level in limbs]
        table.add_row(name, *[f"{cell:,}" if cell else "-" for cell in cells])
    console.print()
    print_table(console, table)
