"""One generation of Conway's game of life on a small torus."""

import numpy as np
import polyfabric as pf

SIZE = 4
PLACES = np.arange(SIZE * SIZE).reshape(SIZE, SIZE)
NEIGHBOURS = [np.roll(PLACES, (dy, dx), (0, 1)).reshape(-1) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx]


@pf.program(cells=pf.Int(0, 1).vector(SIZE * SIZE))
def program(cells):
    neighbours = sum((cells[places] for places in NEIGHBOURS[1:]), cells[NEIGHBOURS[0]])
    # 9 is added where the cell lives: one lookup on both.
    return pf.lookup(neighbours + 9 * cells, lambda v: int(v == 3 or v - 9 in (2, 3)))


GIVEN = {"cells": [0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]}


def clear(cells):
    grid = np.reshape(cells, (SIZE, SIZE))
    around = sum(np.roll(grid, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1)) - grid
    return ((around == 3) | (grid == 1) & (around == 2)).astype(int).reshape(-1).tolist()
