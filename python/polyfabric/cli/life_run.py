"""`polyfabric run life`: an encrypted board, generation by generation."""

from __future__ import annotations

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ..apps.life import SIZE, Game, Generation, Step, drawn, play
from ..errors import InputError
from ..host.progress import ProgressHook, bars, share, watched
from ..host.units import probability, scaled
from ..run.keys import CLIENT, SERVER, Keys, present
from .console import BAD, out, print_json, security_warnings
from .run_options import RunOptions

GENERATIONS = 4
"""Default number of generations."""


def run(options: RunOptions) -> int:
    """Plays and prints; returns 0 if every generation equals the clear one."""
    options.take_only("board", "size", "generations", "folder", "secret", "unroll")
    options.expect_places()
    size, board = options.size, options.board
    cells = drawn(board or "glider", SIZE if size is None else size)
    if size is not None and cells.shape != (size, size):
        raise InputError(f"--size applies to a pattern; {board} fixes a board of {cells.shape[0]} x {cells.shape[1]}")
    count = GENERATIONS if options.generations is None else options.generations
    console = out()
    kept = options.folder is not None and present(options.folder, CLIENT, SERVER)
    keys = Keys.load(options.folder, "tfhe") if options.folder is not None and kept else None
    if options.unroll not in (None, 1) and options.folder is not None:
        raise InputError("--keys excludes --unroll: key files support one secret bit per iteration; leave it out")

    def played(progress: ProgressHook | None, show: Step | None) -> Game:
        return play(
            cells,
            count,
            on=options.on,
            machine=options.machine,
            parameters=options.parameters,
            keys=keys,
            threads=options.threads,
            max_failure=options.max_failure,
            secret=options.secret,
            unroll=options.unroll,
            progress=progress,
            show=show,
        )

    with security_warnings():
        if options.as_json:
            with bars() as progress:
                game = played(progress, None)
        elif console.is_terminal:
            with Live(Text(""), console=console, auto_refresh=False) as live:
                board = Text("")

                def show(generation: Generation) -> None:
                    nonlocal board
                    board = _drawing(generation)
                    live.update(board, refresh=True)

                def tell(stage: str, done: int, total: int) -> None:
                    # Print below the board, because bars would move it.
                    live.update(Text.assemble(board, f"\n{stage}: {share(done, total)}"), refresh=True)

                with watched(tell):
                    game = played(tell, show)
                live.update(board)
        else:
            with bars() as progress:
                game = played(progress, lambda generation: console.print(_drawing(generation), end="\n\n"))
    options.keep(keys, game.keys, game.simulation)
    if options.as_json:
        print_json(game.to_dict())
    else:
        _show(console, game)
    return 0 if game.correct else 1


def _drawing(generation: Generation) -> Text:
    """The board, two characters per cell; cells that differ from the clear board are red."""
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
    switch = "no key switch" if game.key_switch == "none" else f"key switch {game.key_switch} the lookup"
    console.print(
        f"parameters   {game.parameters}, {switch}; {game.lookups:,} lookups a generation; failure probability of all "
        f"{probability(game.log2_failure)}"
    )
    times = ", ".join(f"{name} {scaled(value, 's')}" for name, value in game.seconds.items())
    console.print(f"this run     {times}")
    if not game.correct:
        console.print("wrong: an encrypted generation differs from the clear one", style=BAD)
    if game.simulation is not None:
        console.print()
        game.simulation.print(console)
