"""The encrypted Game of Life equals the clear one in every generation, with the number of gates in FPT's paper."""

from __future__ import annotations

import io
import json
import re
from itertools import pairwise

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.apps import life
from polyfabric.apps.life import GATES, drawn, following, play, prepare
from polyfabric.cli import life_run
from polyfabric.run.execution import plan
from rich.console import Console

pytestmark = pytest.mark.filterwarnings("ignore::polyfabric.errors.SecurityWarning")

TOY = "toy-512-k2"
"""Few products, and no security: four generations of a small board take seconds."""


def counted(board):
    """The rules of the game, cell by cell."""
    rows, columns = board.shape
    alive = {(r, c) for r in range(rows) for c in range(columns) if board[r, c]}
    around = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
    following = np.zeros_like(board)
    for r in range(rows):
        for c in range(columns):
            count = sum(((r + a) % rows, (c + b) % columns) in alive for a, b in around)
            following[r, c] = count == 3 or (board[r, c] and count == 2)
    return following


@pytest.mark.parametrize("shape", [(3, 3), (5, 4), (8, 8)])
def test_the_gates_are_the_rules(shape):
    program = life.life(*shape)
    random = np.random.default_rng()
    boards = [random.random(shape) < share for share in (0, 0.2, 0.5, 0.8, 1)]
    for board in boards:
        found = program.clear(board=board.reshape(-1).astype(int).tolist())
        assert (np.array(found).reshape(shape) == counted(board)).all()
        assert (following(board) == counted(board)).all()


def test_every_neighbourhood_of_a_cell():
    program = life.life(3, 3)
    for number in range(512):
        board = np.array([number >> bit & 1 for bit in range(9)], dtype=bool).reshape(3, 3)
        assert program.clear(board=board.reshape(-1).astype(int).tolist())[4] == counted(board)[1, 1]


@pytest.mark.parametrize("size", [5, 8])
def test_a_cell_takes_44_look_ups(size):
    planned, _ = prepare(size, size, 1, parameters=TOY, max_failure=0.0)
    assert planned.kernel.lookups == GATES * size * size


def test_a_generation_leaves_the_input_of_the_next():
    planned, _ = prepare(5, 5, 2, parameters=TOY, max_failure=0.0)
    signature = json.loads(planned.signature.to_json())
    (taken,), (left,) = signature["inputs"], signature["outputs"]
    for fact in ("step", "key", "length"):
        assert taken[fact] == left[fact], fact
    # The noise is that of two generations: the second takes what the first left.
    two = plan(life.life(5, 5, 2), TOY, max_failure=0.0)
    assert planned.key_switch == two.key_switch
    _, failure = prepare(5, 5, 8, parameters=TOY, max_failure=0.0)
    assert failure == pytest.approx(two.noise["log2_failure"] + 3)


@pytest.mark.parametrize("parameters", [TOY, "toy-256-one-key"])
def test_generations_on_ciphertexts_equal_the_clear_ones(parameters):
    seen = []
    board = np.random.default_rng().random((5, 5)) < 0.4
    game = play(board, 3, parameters=parameters, max_failure=0.0, show=seen.append)
    assert game.correct
    assert [generation.number for generation in seen] == [0, 1, 2, 3]
    for before, after in pairwise(seen):
        assert (after.board == counted(before.board)).all()
    assert (game.key_switch == "none") == parameters.endswith("one-key")


def test_a_wrong_generation_is_reported(monkeypatch):
    monkeypatch.setattr(life, "following", lambda board: ~board)
    game = play(np.zeros((3, 3), dtype=bool), 1, parameters=TOY, max_failure=0.0)
    assert not game.correct


def test_too_many_generations_for_a_set_are_refused():
    _, one = prepare(5, 5, 1, parameters=TOY, max_failure=0.0)
    with pytest.raises(pf.errors.NoiseError):
        prepare(5, 5, 64, parameters=TOY, max_failure=one)


def test_boards_are_drawn(tmp_path):
    assert drawn("block", 6).sum() == 4
    assert drawn("glider", 8).shape == (8, 8)
    file = tmp_path / "board.txt"
    file.write_text("..#\n###\n...\n...\n")
    assert drawn(str(file)).tolist() == [[False, False, True], [True] * 3, [False] * 3, [False] * 3]
    # As an editor of Windows writes the largest.
    file.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join([b"#" * 64] * 64) + b"\r\n")
    assert drawn(str(file)).all()
    assert drawn(str(file)).shape == (64, 64)


@pytest.mark.parametrize(
    ("name", "size", "text", "message"),
    [
        ("gliider", 8, None, "there is no board 'gliider'"),
        ("toad", 3, None, "more than a board of 3 x 3"),
        ("glider", 65, None, "give a size from 3 to 64"),
        ("board.txt", 8, None, "cannot read"),
        ("board.txt", 8, "", "lines of equal length"),
        ("board.txt", 8, "##\n#\n", "lines of equal length"),
        ("board.txt", 8, "#x\n##\n", "of # .alive. and"),
        ("board.txt", 8, "### ###\n... ...\n### ###\n", "of # .alive. and"),
        ("board.txt", 8, "#" * 100_000, "lines of equal length"),
    ],
)
def test_a_board_that_is_none_is_refused(name, size, text, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(pf.errors.InputError, match=message):
        drawn(name, size)


def test_the_command(polyfabric):
    asked = ("run", "life", "--params", TOY, "--max-failure", "0", "--size", "5", "--generations", "2")
    done = polyfabric(*asked, "--json")
    assert done.status == 0, done.err
    data = json.loads(done.out)
    assert data["correct"] is True
    boards = [np.array([[cell == "#" for cell in row] for row in g["board"]]) for g in data["generations"]]
    assert (boards[0] == counted(drawn("glider", 5))).all()
    assert (boards[1] == counted(boards[0])).all()
    done = polyfabric(*asked, "--board", "blinker")
    assert done.status == 0, done.err
    for words in ("generation 0, as it was encrypted", "generation 2", "2 of 2 equal", "1,100 lookups a generation"):
        assert words in done.out
    # Plain: no terminal, so nothing is drawn over.
    assert "\x1b" not in done.out


def test_calls_that_the_command_rejects(polyfabric):
    for words, message in (
        (("run", "life", "--step", "keys", "--keys", "k"), "--step does not apply to life, which accepts --board"),
        (("run", "adder", "--board", "glider"), "--board"),
        (("run", "life", "--generations", "4", "--size", "3", "--params", "fpt-I"), "more than 2^-1"),
    ):
        done = polyfabric(*words)
        assert done.status == 2
        assert message in done.err, done.err


def test_a_terminal_shows_the_steps_before_the_first_board(polyfabric, monkeypatch):
    drawn = io.StringIO()
    monkeypatch.setattr(life_run, "out", lambda: Console(file=drawn, force_terminal=True, width=80, markup=False))
    done = polyfabric("run", "life", "--size", "3", "--generations", "1", "--params", TOY, "--max-failure", "0")
    assert done.status == 0, done.err
    before, board, _ = drawn.getvalue().partition("generation 0")
    assert board
    assert re.search(r"\w: (\d+ %|under way)", before)
