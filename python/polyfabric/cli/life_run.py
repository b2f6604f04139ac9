"""`polyfabric run life`: an encrypted board, generation by generation."""

from __future__ import annotations

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ..apps.life import SIZE, Game, Generation, Step, drawn, play
from ..errors import InputError
from ..keys import CLIENT, SERVER, Keys, present
from ..progress import ProgressHook, bars
from ..reports.units import probability, scaled
from .asked import Asked
from .console import out, print_json, security_warnings

GENERATIONS = 4
"""Played unless another number is asked for."""


def run(asked: Asked) -> int:
    """Plays and shows; 0 if every generation equals the clear one."""
    asked.take_only("board", "size", "generations", "folder", "unroll")
    asked.expect_places()
    size, board = asked.size, asked.board
    cells = drawn(board or "glider", SIZE if size is None else size)
    if size is not None and cells.shape != (size, size):
        raise InputError(
            f"--size is of a pattern's board; {board} draws its own of {cells.shape[0]} x {cells.shape[1]}"
        )
    count = GENERATIONS if asked.generations is None else asked.generations
    console = out()
    kept = asked.folder is not None and present(asked.folder, CLIENT, SERVER)
    keys = Keys.load(asked.folder, "tfhe") if asked.folder is not None and kept else None
    if asked.unroll != 1 and asked.folder is not None:
        raise InputError("--unroll is not taken with --keys, whose files are of one bit an iteration; leave it out")

    def played(progress: ProgressHook | None, show: Step | None) -> Game:
        return play(
            cells,
            count,
            on=asked.on,
            machine=asked.machine,
            parameters=asked.parameters,
            keys=keys,
            threads=asked.threads,
            max_failure=asked.max_failure,
            unroll=asked.unroll,
            progress=progress,
            show=show,
        )

    with security_warnings():
        if asked.as_json:
            with bars() as progress:
                game = played(progress, None)
        elif console.is_terminal:
            # The board itself shows how far it is: no bars beside it.
            with Live(Text(""), console=console, auto_refresh=False) as live:
                game = played(None, lambda generation: live.update(_drawing(generation), refresh=True))
        else:
            with bars() as progress:
                game = played(progress, lambda generation: console.print(_drawing(generation), end="\n\n"))
    asked.keep(keys, game.keys, game.simulation)
    if asked.as_json:
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
    if game.simulation is not None:
        console.print()
        game.simulation.print(console)
