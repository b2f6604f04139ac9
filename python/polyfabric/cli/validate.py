"""`polyfabric validate`: how far the models agree with the papers, over all published figures."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import FileError
from ..host.progress import bars
from ..papers import PAPERS, reproduce
from ..papers import validation as validated
from .console import note_line, out, print_json


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, dir_okay=False), metavar="[FILE]...")
@click.option(
    "--applications",
    is_flag=True,
    help="Without files: also time the papers' applications, which takes up to two hours and 17 GiB.",
)
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
def validate(files: tuple[Path, ...], *, applications: bool, as_json: bool) -> None:
    """Count the published figures of all papers by kind, and the predictions by deviation.

    Each FILE holds the rows of one paper, as `polyfabric reproduce PAPER --json` prints them. Without files, all papers are reproduced, which
    takes about ten minutes. `polyfabric reproduce --help` explains the kinds.
    """
    papers: dict[str, list[validated.Row]] = {}
    if files:
        if applications:
            raise click.UsageError("--applications is for a run without files; leave it out, or leave out the files")
        for path in files:
            paper, rows = validated.read(path)
            if paper in papers:
                raise FileError(f"{path}: another file has rows of {paper} too; give one of them")
            papers[paper] = rows
    else:
        took = "up to two hours" if applications else "about ten minutes"
        note_line(
            f"reproducing {len(PAPERS)} papers, {took}; to count recorded rows instead, give their files, as results/reproduce-*.json"
        )
        for at, paper in enumerate(PAPERS, 1):
            note_line(f"{paper} ({at} of {len(PAPERS)})")
            with bars() as progress:
                rows = reproduce(paper, applications=applications, progress=progress)["rows"]
            papers[rows[0]["paper"]] = rows
    report = validated.validation(papers)
    if as_json:
        print_json(report.to_dict())
    else:
        report.print(out())
