"""A boosted-tree classifier: 100 trees of depth six (Morphling's section VI-A), evaluated on an encrypted row.

Every inner node is one lookup, the sign of a feature less its threshold; every leaf whose value is not 0 is one
more, which tests whether all six decisions on its path agree with it. A tree's output is the sum of its leaves' values times those answers. Trees
are drawn at random, from a fixed seed, complete, and no two nodes are equal: a trained model would have fewer nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from ..language.functions import concat, dot, sign
from ..language.numpy_calls import Value
from ..language.types import Int
from ..run.runnable_programs import Program, program

BITS = 5
"""Bits of a feature."""


@dataclass(frozen=True)
class Forest:
    """Complete trees of one depth; node i of a tree has children 2i + 1 (below the threshold) and 2i + 2."""

    depth: int
    features: NDArray[np.integer]
    """Feature of each inner node, trees x nodes."""
    thresholds: NDArray[np.integer]
    """Threshold from which the row goes to the second child."""
    values: NDArray[np.integer]
    """Value of each leaf, trees x leaves."""

    @property
    def columns(self) -> int:
        """Features of a row."""
        return int(self.features.max()) + 1

    @classmethod
    def random(cls, trees: int, depth: int, seed: int) -> Forest:
        """Trees with random, distinct nodes."""
        generator = np.random.default_rng(seed)
        inner = trees * (2**depth - 1)
        thresholds = 2**BITS - 1
        asked = generator.permutation(-(-inner // thresholds) * thresholds)[:inner].reshape(trees, -1)
        values = generator.integers(-3, 4, size=(trees, 2**depth))
        return cls(depth, asked // thresholds, 1 + asked % thresholds, values)

    def paths(self) -> NDArray[np.integer]:
        """For each leaf of a tree and each inner node: 1 or -1 if the leaf is after the second or first child, else 0."""
        nodes, leaves = 2**self.depth - 1, 2**self.depth
        paths = np.zeros((leaves, nodes), dtype=np.int64)
        for leaf in range(leaves):
            child = nodes + leaf
            while child > 0:
                parent = (child - 1) // 2
                paths[leaf, parent] = 1 if child == 2 * parent + 2 else -1
                child = parent
        return paths


def classify(forest: Forest, *, leaves: bool = True) -> Program:
    """The program of a forest: a row in, twice the value of each tree out; the client adds them.

    Without `leaves`, the decisions of all nodes come out, and the reader walks the trees.
    """
    name = "xgboost" if leaves else "xgboost-comparisons"
    trees, nodes = forest.features.shape

    @program(name, row=Int(0, 2**BITS - 1).vector(forest.columns))
    def trees_of(row: Value) -> Value:
        """Twice the value of each tree for one row."""
        decisions = sign(row[forest.features.reshape(-1)] - forest.thresholds.reshape(-1))
        if not leaves:
            return decisions
        paths = forest.paths()
        # A leaf is reached if all `depth` signs agree: their sum is `depth`.
        reached = [sign(dot(paths, decisions[t * nodes : (t + 1) * nodes]) - (forest.depth - 1)) for t in range(trees)]
        return concat(*(_tree(forest.values[t], reached[t]) for t in range(trees)))

    return trees_of


def _tree(values: NDArray[np.integer], reached: Value) -> Value:
    """Σ value · (reached + 1): twice the value of the reached leaf."""
    most = 2 * int(np.abs(values).max())
    total = dot(values.reshape(1, -1), reached) + int(values.sum())
    return total.assume(Int(-most, most, step=2))


@cache
def xgboost(*, trees: int = 100, depth: int = 6, leaves: bool = True) -> Program:
    """The classifier of 100 trees of depth six."""
    return classify(Forest.random(trees, depth, seed=6), leaves=leaves)


PROGRAMS: dict[str, Callable[[], Program]] = {
    "xgboost": xgboost,
    "xgboost-comparisons": partial(xgboost, leaves=False),
}
"""Programs by command-line name."""
