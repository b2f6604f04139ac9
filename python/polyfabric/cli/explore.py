"""`polyfabric explore`: the figures of a machine, performance against area."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ..accelerators.sweep_axes import axis
from ..host.progress import bars
from ..language.types import MOST_ELEMENTS
from ..studies import explore as explored
from . import memory_option, named, places
from .console import error_line, out, print_json


@click.command()
@click.argument("machine", type=named.MACHINE)
@click.option(
    "--programs",
    metavar="LIST",
    help="Programs to time, each PROGRAM or PROGRAM@SET; default: the file's `sweep_programs`.",
)
@click.option(
    "--axis",
    "written",
    multiple=True,
    metavar="KEY=V1,V2,..",
    help="A figure of the machine file and its values, in the file's unit; join figures that change together with a semicolon. "
    "Default: the axes of the file's [[sweep]].",
)
@click.option(
    "--batch",
    type=click.IntRange(1, MOST_ELEMENTS),
    default=640,
    show_default=True,
    metavar="N",
    help="Ciphertexts of a built-in program of TFHE.",
)
@click.option(
    "--results",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=places.file,
    metavar="FILE",
    help="Append every point to this file; points already in it are not computed again.",
)
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes; default: one per core.")
@click.option("--dask", metavar="ADDRESS", help="Compute on the Dask cluster with this scheduler.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=places.plot,
    metavar="FILE",
    help="Draw area and performance: FILE.svg.",
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
def explore(
    machine: str,
    *,
    programs: str | None,
    written: tuple[str, ...],
    batch: int,
    results: Path | None,
    jobs: int | None,
    dask: str | None,
    plot: Path | None,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Time programs on MACHINE (a name, or a file.toml of yours) with varied figures, and show the best point at each area.

    Performance is the geometric mean of the programs' speeds relative to the unchanged machine. A point whose area no law predicts
    is listed separately, with the cause. An impossible point shows its error; the others remain, and the status is 1.
    """
    axes, named = [axis(text) for text in written], () if programs is None else programs.split(",")
    with bars() as progress:
        report = explored(machine, axes, named, batch=batch, results=results, jobs=jobs, dask=dask, progress=progress)
    if plot is not None:
        report.plot(plot)
    if folder is not None:
        report.save(folder)
    if as_json:
        print_json(report.to_dict())
    else:
        report.print(out())
        for path in filter(None, (plot, folder)):
            out().print(f"\nwritten: {path}")
    failed = [point for point in report["points"] if "error" in point]
    if failed:
        error_line(
            f"{len(failed)} of {len(report['points'])} points have no result, the first because: {failed[0]['error']}"
        )
        sys.exit(1)
