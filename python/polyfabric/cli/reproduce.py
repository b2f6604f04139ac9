"""`polyfabric reproduce`: compares the published figures of a paper with the model's."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ..host.progress import bars
from ..papers import reproduce as reproduced
from . import named, places
from .console import error_line, out, print_json


@click.command()
@click.argument("paper", type=named.PAPER)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=places.plot,
    metavar="FILE",
    help="Draw the deviations and the paper's figures: FILE-1.svg, FILE-2.svg and so on.",
)
@click.option(
    "--report",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    callback=places.folder,
    metavar="DIR",
    help="Write report.html, report.json and every figure of the paper as SVG: figure-7.svg and so on.",
)
@click.option(
    "--applications", is_flag=True, help="Also time the paper's applications, which takes up to an hour and 17 GiB."
)
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
def reproduce(paper: str, *, plot: Path | None, folder: Path | None, applications: bool, as_json: bool) -> None:
    """Compare every published figure of PAPER with the model: published, model, deviation.

    A figure is predicted (from a schedule), predicted under a named reading, an identity (of another figure), calibrated (fitted
    to the result), an input (from the paper), of another system (a machine, software or price that the paper compares itself
    with), or not modelled. A failed computation shows its error, and the status is 1.
    """
    with bars() as progress:
        report = reproduced(paper, applications=applications, progress=progress)
    if plot is not None:
        report.plot(plot)
    if folder is not None:
        report.save(folder)
    if as_json:
        print_json(report["rows"])
    else:
        report.print(out())
    failures = [row for row in report["rows"] if row["failure"]]
    for row in failures:
        error_line(f"{row['table']}, {row['cell']}: {row['failure']}")
    if failures:
        sys.exit(1)
