"""Conway's Game of Life on encrypted cells, in gates: 44 lookups per cell and generation (FPT, section 6.3).

The board is a torus. Eight neighbours are counted by adders of bits, and the two rules follow their usual statement, so that a cell takes 44 gates;
negations are free. A program with small integers would take one lookup a cell; gates are what libraries of the time had.

The server computes generation after generation on ciphertexts: what one left is what the next takes. The client decrypts each to show it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from math import ceil, log2
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ..accelerators.machine import Machine
from ..errors import InputError, NoiseError
from ..host.progress import ProgressHook
from ..language.numpy_calls import Value
from ..language.types import Bool
from ..reports import Report
from ..run.execution import execute, expect_threads
from ..run.keys import Keys, matching
from ..run.runnable_programs import Program, program
from ..schemes.options import PlanOptions
from ..schemes.tfhe import TfhePlan

Board = NDArray[np.bool_]
"""Rows of cells, alive or dead."""

GATES = 44
"""Lookups per cell and generation."""

SIZE = 8
"""Default rows and columns of a board."""

SMALLEST, LARGEST = 3, 64
"""Rows or columns: with fewer, a cell's neighbours coincide, and with more, keys and schedules take gigabytes."""

PATTERNS = {
    "glider": (".#.", "..#", "###"),
    "blinker": ("###",),
    "block": ("##", "##"),
    "toad": (".###", "###."),
    "beacon": ("##..", "##..", "..##", "..##"),
    "r-pentomino": (".##", "##.", ".#."),
}
"""Patterns by command-line name."""

Step = Callable[["Generation"], None]
"""Callback for each decrypted generation."""


def drawn(name: str, size: int = SIZE) -> Board:
    """A board: a pattern in the middle of `size` x `size` cells, "random", or a text file of `#` and `.`."""
    if not SMALLEST <= size <= LARGEST:
        raise InputError(f"a board of {size} x {size} cells; give a size from {SMALLEST} to {LARGEST}")
    if name == "random":
        return np.random.default_rng().random((size, size)) < 0.4
    if name in PATTERNS:
        cells = _cells(PATTERNS[name], name)
        rows, columns = cells.shape
        if max(rows, columns) > size:
            raise InputError(
                f"the pattern {name} has {rows} x {columns} cells, more than a board of {size} x {size}; give a larger size"
            )
        board = np.zeros((size, size), dtype=bool)
        top, left = (size - rows) // 2, (size - columns) // 2
        board[top : top + rows, left : left + columns] = cells
        return board
    path = Path(name)
    if path.suffix != ".txt":
        raise InputError(f"there is no board {name!r}; name {', '.join(PATTERNS)}, random, or a FILE.txt of # and .")
    try:
        # Some editors write a byte-order mark.
        text = path.read_text(encoding="utf-8-sig") if path.stat().st_size <= LARGEST * (LARGEST + 2) + 3 else "?"
    except OSError as error:
        raise InputError(f"{path}: cannot read ({error.strerror}); check the path") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text file ({error.reason} at byte {error.start}); check the path") from error
    return _cells(tuple(filter(None, map(str.strip, text.splitlines()))), str(path))


def _cells(lines: tuple[str, ...], name: str) -> Board:
    """A drawing's cells."""
    if not lines or len({len(line) for line in lines}) != 1 or set("".join(lines)) - set("#."):
        raise InputError(
            f"{name}: a board is up to {LARGEST} lines of equal length, of # (alive) and . (dead); correct it"
        )
    return np.array([[cell == "#" for cell in line] for line in lines])


def following(board: Board) -> Board:
    """The next generation in the clear."""
    shifts = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)]
    around = sum(np.roll(board, shift, (0, 1)).astype(int) for shift in shifts)
    return (around == 3) | (board & (around == 2))


@cache
def life(rows: int = SIZE, columns: int = SIZE, generations: int = 1) -> Program:
    """`generations` steps of a board of `rows` x `columns` cells, row by row."""
    if not all(SMALLEST <= count <= LARGEST for count in (rows, columns)):
        raise InputError(f"a board of {rows} x {columns} cells; give {SMALLEST} to {LARGEST} rows and columns")

    @program("life", board=Bool.vector(rows * columns))
    def generation(board: Value) -> Value:
        """The board after some generations."""
        for _ in range(generations):
            board = _next(board, rows, columns)
        return board

    return generation


def _next(board: Value, rows: int, columns: int) -> Value:
    """All cells' gates, each a batch over the board. A gate on opposite neighbours belongs to a single cell. Two cells would share a gate on adjacent
    neighbours, which would reduce the lookups."""
    places = np.arange(rows * columns).reshape(rows, columns)

    def neighbour(down: int, right: int) -> Value:
        return board[np.roll(places, (-down, -right), (0, 1)).reshape(-1)]

    pairs = [(neighbour(*at), neighbour(-at[0], -at[1])) for at in ((-1, -1), (-1, 0), (-1, 1), (0, -1))]
    low = [(a ^ b, a & b) for a, b in pairs]
    first, second = _add(low[0], low[1]), _add(low[2], low[3])
    ones, twos, fours, eights = _add(first, second)
    three = (ones & twos) & (~fours & ~eights)
    two = ((~ones & twos) & ~fours) & ~eights
    survives = board & (two | three)
    born = ~board & three
    return survives | born


def _add(a: tuple[Value, ...], b: tuple[Value, ...]) -> tuple[Value, ...]:
    """The sum of two numbers of bits, the lowest first: a half adder of two gates, then full adders of five."""
    bits, carry = [a[0] ^ b[0]], a[0] & b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        either = x ^ y
        bits.append(either ^ carry)
        carry = (x & y) | (either & carry)
    return (*bits, carry)


@dataclass(frozen=True)
class Generation:
    """One decrypted board."""

    number: int
    board: Board
    expected: Board
    """The clear board, computed only from the first board."""
    seconds: float
    """Of the server."""

    @property
    def correct(self) -> bool:
        """Whether every cell equals the clear one."""
        return bool((self.board == self.expected).all())

    def to_dict(self) -> dict[str, Any]:
        """The generation as data."""
        shown = ["".join("#" if cell else "." for cell in row) for row in self.board]
        return {"number": self.number, "board": shown, "correct": self.correct, "seconds": self.seconds}


@dataclass(frozen=True)
class Game:
    """The result of a game."""

    on: str
    parameters: str
    key_switch: str
    lookups: int
    """Of one generation."""
    log2_failure: float
    """log2 of the probability that any cell of any generation is wrong."""
    generations: list[Generation]
    seconds: dict[str, float]
    keys: Keys = field(repr=False)
    simulation: Report | None = field(default=None, repr=False)
    """The machine's report of one generation, if a machine's schedule was replayed."""

    @property
    def correct(self) -> bool:
        """Whether every generation equals the clear one."""
        return all(generation.correct for generation in self.generations)

    def to_dict(self) -> dict[str, Any]:
        """The result as data."""
        data = {
            "program": "life",
            "on": self.on,
            "parameters": self.parameters,
            "key_switch": self.key_switch,
            "correct": self.correct,
            "lookups": self.lookups,
            "log2_failure": self.log2_failure,
            "generations": [generation.to_dict() for generation in self.generations],
            "seconds": self.seconds,
        }
        if self.simulation is not None:
            data["machine"] = self.simulation.to_dict()
        return data


def prepare(
    rows: int,
    columns: int,
    generations: int,
    *,
    machine: Machine | None = None,
    parameters: str | _native.TfheParameters | None = None,
    max_failure: float | None = None,
    secret: str | None = None,
    unroll: int | None = None,
) -> tuple[TfhePlan, float]:
    """The plan of one generation, and log2 of the failure probability of all generations.

    A generation takes what the one before left, which has more noise than fresh ciphertexts: set, key switch and failure are those of two
    generations in one program.
    """
    options = PlanOptions(parameters=parameters, machine=machine, max_failure=max_failure, secret=secret, unroll=unroll)
    accepted, share = options.accepted_failure, log2(generations)
    # Plan with a named set whatever its noise, to report the failure probability of all generations.
    wanted = accepted - share if parameters is None else 0.0
    two = TfhePlan.make(life(rows, columns, 2), replace(options, max_failure=wanted))
    failure = two.log2_failure + share
    if parameters is not None and failure > accepted:
        most = int(2.0 ** (accepted - two.log2_failure))
        fewer = f"play at most {most}, " if most else ""
        raise NoiseError(
            f"life: {generations} generations fail with probability 2^{failure:.1f}, more than 2^{accepted:.1f}; {fewer}choose another "
            f"set, or accept it with --max-failure {ceil(failure)}"
        )
    same = replace(options, parameters=two.parameters, max_failure=0.0)
    return TfhePlan.make(life(rows, columns), same, key_switch=two.key_switch), failure


def play(
    board: Board,
    generations: int,
    *,
    on: str = "cpu",
    machine: Machine | None = None,
    parameters: str | _native.TfheParameters | None = None,
    keys: Keys | None = None,
    threads: int | None = None,
    max_failure: float | None = None,
    secret: str | None = None,
    unroll: int | None = None,
    progress: ProgressHook | None = None,
    show: Step | None = None,
) -> Game:
    """Plays `generations` steps of an encrypted board; `show` receives each one after its decryption, first the given board."""
    if generations < 1:
        raise InputError(f"{generations} generations; play at least one")
    expect_threads(on, threads)
    if keys is not None:
        parameters = matching(keys, parameters)
    rows, columns = board.shape
    planned, failure = prepare(
        rows,
        columns,
        generations,
        machine=machine,
        parameters=parameters,
        max_failure=max_failure,
        secret=secret,
        unroll=unroll,
    )
    (entry,), (exit_,) = planned.program.inputs, planned.program.outputs
    began = time.perf_counter()
    if keys is None:
        keys = Keys.generate(planned, progress)
    made = time.perf_counter()
    cells = keys.client.encrypt(planned.signature, {entry: board.reshape(-1).astype(int).tolist()})
    played, simulation = [], None
    if show is not None:
        show(Generation(0, board, board, 0.0))
    for number, expected in enumerate(_clear(board, generations), 1):
        start = time.perf_counter()
        left, found = execute(planned, keys.server, cells, on=on, threads=threads, progress=progress)
        seconds = time.perf_counter() - start
        values = planned.decrypt(keys.client, left)[exit_]
        played.append(Generation(number, np.array(values, dtype=bool).reshape(board.shape), expected, seconds))
        simulation = found if simulation is None else simulation
        if show is not None:
            show(played[-1])
        cells = left.carried({exit_: entry})
    return Game(
        on=on,
        parameters=planned.parameters.name,
        key_switch=planned.key_switch,
        lookups=planned.kernel.lookups,
        log2_failure=failure,
        generations=played,
        seconds={"keys": made - began, "execute": sum(generation.seconds for generation in played)},
        keys=keys,
        simulation=simulation,
    )


def _clear(board: Board, generations: int) -> Iterator[Board]:
    """The generations in the clear, independent of decrypted boards."""
    for _ in range(generations):
        board = following(board)
        yield board
