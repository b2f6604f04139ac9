"""Who has won a game of noughts and crosses?"""

import polyfabric as pf

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


@pf.program(board=pf.Bool.vector(9))
def program(board):
    first, second, third = (board[[line[i] for line in LINES]] for i in range(3))
    lines = first & second & third
    won = lines[0]
    for i in range(1, 8):
        won = won | lines[i]
    return won


GIVEN = {"board": [1, 0, 1, 0, 1, 0, 1, 0, 0]}


def clear(board):
    return int(any(all(board[i] for i in line) for line in LINES))
