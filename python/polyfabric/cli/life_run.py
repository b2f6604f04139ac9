"""`polyfabric run life`: an encrypted board, generation by generation."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ..apps.life import SIZE, Game, Generation, Step, drawn, play
from ..errors import InputError
from ..execution import Keys
from ..machines import Machine
from ..progress import ProgressHook, bars
from ..reports.units import probability, scaled
from .console import out, print_json, security_warnings, warning_line

GENERATIONS = 4
"""Played unless another number is asked for."""


def run(
    board: str | None,
    size: int | None,
    generations: int | None,
    *,
    on: str,
    machine: Machine | None,
    parameters: str | None,
    folder: Path | None,
    threads: int | None,
    target: float | None,
    unroll: int,
    report_to: Path | None,
    as_json: bool,
) -> int:
    """Plays and shows; 0 if every generation equals the clear one."""
    cells = drawn(board or "glider", SIZE if size is None else size)
    if size is not None and cells.shape != (size, size):
        raise InputError(
            f"--size is of a pattern's board; {board} draws its own of {cells.shape[0]} x {cells.shape[1]}"
        )
    count = GENERATIONS if generations is None else generations
    console = out()
    kept = folder is not None and any((folder / name).exists() for name in ("client.key", "server.key"))
    keys = Keys.load(folder) if folder is not None and kept else None

    def played(progress: ProgressHook | None, show: Step | None) -> Game:
        return play(
            cells,
            count,
            on=on,
            machine=machine,
            parameters=parameters,
            keys=keys,
            threads=threads,
            target=target,
            unroll=unroll,
            progress=progress,
            show=show,
        )

    with security_warnings():
        if as_json:
            with bars() as progress:
                game = played(progress, None)
        elif console.is_terminal:
            # The board itself shows how far it is: no bars beside it.
            with Live(Text(""), console=console, auto_refresh=False) as live:
                game = played(None, lambda generation: live.update(_drawing(generation), refresh=True))
        else:
            with bars() as progress:
                game = played(progress, lambda generation: console.print(_drawing(generation), end="\n\n"))
    if folder is not None and not kept:
        game.keys.save(folder)
    if report_to is not None and game.report is not None:
        game.report.save(report_to)
    elif report_to is not None:
        warning_line("--report writes a machine's report; this run was not on a machine")
    if as_json:
        print_json(game.to_dict())
    else:
        _show(console, game)
    return 0 if game.correct else 1


def _drawing(generation: Generation) -> Text:
    """The board, two characters a cell, under its number; what differs from the clear board is red."""
    seconds = f", {scaled(generation.seconds, 's')}" if generation.number else ", as it was encrypted"
    text = Text(f"generation {generation.number}{seconds}\n", style="bold")
    for row, expected in zip(generation.board, generation.expected, strict=True):
        text.append("    ")
        for cell, right in zip(row, expected, strict=True):
            text.append("██" if cell else "· ", style=None if cell == right else "bold red")
        text.append("\n")
    text.rstrip()
    return text


def _show(console: Console, game: Game) -> None:
    right = sum(generation.correct for generation in game.generations)
    console.print(f"generations  {right} of {len(game.generations)} equal those of the clear game")
    switch = "no key switch" if game.key_switch == "none" else f"key switch {game.key_switch} the look-up"
    console.print(
        f"parameters   {game.parameters}, {switch}; {game.lookups:,} look-ups a generation; failure probability of all "
        f"{probability(game.log2_failure)}"
    )
    times = ", ".join(f"{name} {scaled(value, 's')}" for name, value in game.seconds.items())
    console.print(f"this run     {times}")
    if not game.correct:
        console.print("[bold red]wrong: an encrypted generation differs from the clear one[/]")
    if game.report is not None:
        console.print()
        game.report.print(console)
