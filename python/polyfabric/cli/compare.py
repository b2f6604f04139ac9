"""`polyfabric compare`: one program on several machines."""

from __future__ import annotations

from pathlib import Path

import click

from ..apps.programs import MICROBENCHMARK_BATCH
from ..errors import InputError, ParameterError
from ..host.progress import bars
from ..language.types import MOST_ELEMENTS
from ..schemes.options import OWN, WIDTHS
from ..studies import compare as compared
from ..studies.comparison import BATCH
from . import machine_choices, memory_option, named, places
from .console import out, print_json


@click.command()
@click.argument("program", type=named.PROGRAM)
@click.option(
    "--on",
    metavar="M1,M2,..",
    help="Machines by name, or files.toml of yours; default: all that support its scheme. With --batch of your own program also cpu, this computer.",
)
@click.option(
    "--params",
    "parameters",
    metavar="SET",
    help="Parameter set, or one for each machine: M1=SET,M2=SET. Default: a built-in program's own; for others auto, each machine's choice.",
)
@click.option(
    "--batch",
    type=click.IntRange(1, MOST_ELEMENTS),
    metavar="N",
    help=f"Ciphertexts of a built-in program, default {BATCH:,}, and {MICROBENCHMARK_BATCH} of operations on residues. Of your own program on integers: inputs, on all machines.",
)
@machine_choices.readings
@click.option(
    "--widths",
    type=click.Choice(WIDTHS),
    default=OWN,
    show_default=True,
    help="TFHE: use the widths of each machine's file, or compare them with the widths derived for the set.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=places.plot,
    metavar="FILE",
    help="Draw it: FILE.svg.",
)
@click.option(
    "--report",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    callback=places.folder,
    metavar="DIR",
    help="Write report.html and report.json.",
)
@memory_option.option
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
def compare(
    program: str,
    *,
    on: str | None,
    parameters: str | None,
    batch: int | None,
    readings: tuple[str, ...],
    widths: str,
    plot: Path | None,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Time PROGRAM on several machines: throughput, latency, ratios per area, power and bandwidth, and the bottleneck.

    PROGRAM is any that `simulate` takes. Noise causes no refusal: a column gives the failure probability on each machine. A machine that cannot
    hold the parameter set says why.
    """
    with bars() as progress:
        report = compared(
            program,
            () if on is None else on.split(","),
            parameters=_by_machine(parameters),
            batch=batch,
            readings=readings,
            widths=widths,
            progress=progress,
        )
    if plot is not None:
        report.plot(plot)
    if folder is not None:
        report.save(folder)
    data = report.to_dict()
    if as_json:
        print_json(data)
    else:
        report.print(out())
        for path in filter(None, (plot, folder)):
            out().print(f"\nwritten: {path}")
    # The results of the other machines remain valid, but the call was wrong.
    wrong = next((row for row in data["machines"] if row.get("set_refused")), None)
    if wrong is not None:
        raise ParameterError(f"--params: {wrong['machine']}: {wrong['error']}")


def _by_machine(text: str | None) -> str | dict[str, str] | None:
    """One set for all machines, or one for each: `M1=SET,M2=SET`."""
    if text is None or "=" not in text:
        return text
    pairs = [item.partition("=") for item in text.split(",")]
    for item, (machine, _, chosen) in zip(text.split(","), pairs, strict=True):
        if not machine or not chosen:
            raise InputError(f"--params {text}: {item!r} is not MACHINE=SET; give each machine its set: M1=SET,M2=SET")
    return {machine: chosen for machine, _, chosen in pairs}
