"""`polyfabric explore`: the sizes of a machine, performance against area."""

from __future__ import annotations

from pathlib import Path

import click

from ..exploration import NETWORKS, Task, networks, positive, sizes
from ..exploration import explore as swept
from ..progress import bars
from .console import out, print_json

DEFAULT_PROGRAMS = ("matvec", "permute@13", "multiply@13", "permute@12")


@click.command()
@click.argument("machine")
@click.option(
    "--programs",
    default=",".join(DEFAULT_PROGRAMS),
    show_default=True,
    metavar="LIST",
    help="Programs on slots to be timed, each PROGRAM or PROGRAM@SET.",
)
@click.option("--clusters", default="4,8,12,16,24,32", show_default=True, metavar="LIST", help="Compute clusters.")
@click.option("--banks", default="8,16,32", show_default=True, metavar="LIST", help="Scratchpad banks.")
@click.option("--stacks", default="1,2,4", show_default=True, metavar="LIST", help="Memory stacks and controllers.")
@click.option(
    "--networks",
    "topologies",
    default=NETWORKS[0],
    show_default=True,
    metavar="LIST",
    help=f"What connects clusters and banks: {', '.join(NETWORKS)}.",
)
@click.option(
    "--results",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Add every point to this file as it is found; what it holds is not computed again.",
)
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes; as many as there are cores without it.")
@click.option("--dask", metavar="ADDRESS", help="Compute on the Dask cluster with its scheduler there.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw area and performance: FILE.svg.",
)
@click.option(
    "--report",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write report.html and report.json.",
)
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
def explore(
    machine: str,
    *,
    programs: str,
    clusters: str,
    banks: str,
    stacks: str,
    topologies: str,
    results: Path | None,
    jobs: int | None,
    dask: str | None,
    plot: Path | None,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Time programs on MACHINE (f1, or a file.toml of yours) in many sizes, and show the best at each area.

    Performance is the geometric mean of the programs' speeds over those of the machine as its file has it.
    """
    task = Task.of(machine, programs.split(","))
    points = sizes(
        positive(clusters, "--clusters"),
        positive(banks, "--banks"),
        positive(stacks, "--stacks"),
        networks(topologies, "--networks"),
    )
    with bars() as progress:
        report = swept(task, points, results=results, jobs=jobs, dask=dask, progress=progress)
    if plot is not None:
        report.plot(plot)
    if folder is not None:
        report.save(folder)
    if as_json:
        print_json(report.to_dict())
        return
    report.print(out())
    for path in filter(None, (plot, folder)):
        out().print(f"\nwritten: {path}")
