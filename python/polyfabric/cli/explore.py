"""`polyfabric explore`: the figures of a machine, performance against area."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ..axes import EXCHANGES, axis
from ..exploration import Task, own_axes
from ..exploration import explore as swept
from ..language.types import MOST_ELEMENTS
from ..progress import bars
from . import memory_option, places
from .console import error_line, out, print_json

_EXCHANGES = " or ".join(f"{name}={','.join(values)}" for name, values in EXCHANGES.items())


@click.command()
@click.argument("machine")
@click.option(
    "--programs",
    metavar="LIST",
    help="Programs to be timed, each PROGRAM or PROGRAM@SET; without it, the file's `sweep_programs`.",
)
@click.option(
    "--axis",
    "written",
    multiple=True,
    metavar="KEY=V1,V2,..",
    help="A figure of the machine file and its values, in the file's unit; figures that change together are joined by a semicolon. "
    f"{_EXCHANGES} is one, where the machine has such. Without it, the axes of the file's [[sweep]].",
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
    help="Add every point to this file as it is found; what it holds is not computed again.",
)
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes; as many as there are cores without it.")
@click.option("--dask", metavar="ADDRESS", help="Compute on the Dask cluster with its scheduler there.")
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
    """Time programs on MACHINE (a name, or a file.toml of yours) with other figures, and show the best at each area.

    Performance is the geometric mean of the programs' speeds over those of the machine as its file has it. A point whose area no law tells
    is listed apart, with its cause. A point that cannot be says why, and the others stand; the status is then 1.
    """
    task = Task.of(machine, () if programs is None else programs.split(","), batch)
    axes = [axis(text) for text in written] or own_axes(task)
    with bars() as progress:
        report = swept(task, axes, results=results, jobs=jobs, dask=dask, progress=progress)
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
