"""Decision trees on encrypted features: one lookup per comparison (three on wide features) and one per leaf.

A feature is encrypted as digits of its quantised value. A node compares a feature with a threshold: the answer is the sign of
a difference, ±1. Equal comparisons of all trees share one lookup. A row reaches a leaf if all answers on its path agree: one
lookup on their sum, after another for the first of more than 15, gives the leaf's value then, and 0 otherwise. A tree's output is the sum of its leaves. One ciphertext carries
sums of few trees if values have several bits: the program returns sums of groups of trees, and the client adds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import Error, NoiseError, ProgramError
from ..language.functions import concat, dot, lookup, sign
from ..language.types import Int
from ..language.values import TfheValue
from ..run.execution import plan
from ..run.runnable_programs import Program, traced

Floats = NDArray[np.float64]

DIGITS = (4, 3, 2)
"""Candidate bits per digit of a feature; `cheapest` takes the one with the fewest multiplications."""

LIMB_BITS = 6
"""Most bits of a value per sum; wider values are split into limbs."""

LONGEST = 15
"""Most answers on a path that a lookup of 16 values reads; the first answers of longer paths are read before."""

SUMS = (63, 31)
"""Candidate limits of the sum in one ciphertext; `cheapest` takes the one with the fewest multiplications."""


@dataclass(frozen=True)
class Tree:
    """One tree. Node i sends a row to `right[i]` where `row[feature[i]] > threshold[i]`, else to `left[i]`; a leaf has feature -1."""

    feature: NDArray[np.integer]
    threshold: Floats
    left: NDArray[np.integer]
    right: NDArray[np.integer]
    values: Floats
    """Nodes x outputs; only the rows of leaves count."""

    def leaves(self) -> list[tuple[int, list[tuple[int, bool]]]]:
        """Each leaf with its path: the nodes, and whether the path goes right at each."""
        found: list[tuple[int, list[tuple[int, bool]]]] = []
        pending: list[tuple[int, list[tuple[int, bool]]]] = [(0, [])]
        while pending:
            node, path = pending.pop()
            if self.feature[node] < 0:
                found.append((node, path))
                continue
            pending.append((int(self.right[node]), [*path, (node, True)]))
            pending.append((int(self.left[node]), [*path, (node, False)]))
        return found


@dataclass(frozen=True)
class Ensemble:
    """Trees whose sum, times `scale`, is added to `base`."""

    trees: tuple[Tree, ...]
    base: Floats
    """By output."""
    features: int
    scale: float = 1.0
    """Factor of the sum of the trees' values."""
    single: bool = False
    """Whether the model rounds features to single precision before it compares them."""

    def rounded(self, rows: Floats) -> Floats:
        """Rows as the model compares them."""
        with np.errstate(over="ignore"):
            return rows.astype(np.float32).astype(float) if self.single else rows

    def scores(self, rows: Floats) -> Floats:
        """The scores of the trees without quantisation, rows x outputs."""
        rows = self.rounded(rows)
        total = np.zeros((len(rows), len(self.base)))
        for tree in self.trees:
            node = np.zeros(len(rows), dtype=np.int64)
            while (inner := tree.feature[node] >= 0).any():
                feature = np.maximum(tree.feature[node], 0)
                beyond = rows[np.arange(len(rows)), feature] > tree.threshold[node]
                node = np.where(inner, np.where(beyond, tree.right[node], tree.left[node]), node)
            total += tree.values[node]
        return self.base + self.scale * total


@dataclass(frozen=True)
class Grid:
    """Quantised features: value v of feature f is the integer nearest to (v - low[f]) / step[f], from 0 to `levels[f]`.

    With `cuts`, v is instead the number of the feature's cuts below it, which is exact for thresholds that are cuts.
    """

    low: Floats
    step: Floats
    levels: NDArray[np.integer]
    cuts: tuple[Floats, ...] | None = None

    @classmethod
    def uniform(cls, rows: Floats, bits: int) -> Grid:
        """2^bits levels over the range of each feature; integers of a smaller range stay as they are."""
        low, high = rows.min(axis=0), rows.max(axis=0)
        whole = np.all(rows == np.rint(rows), axis=0) & (high - low < 2**bits)
        most = 2**bits - 1
        levels = np.where(whole, np.maximum(high - low, 1), most).astype(np.int64)
        # If a feature has one value in all rows, only its side of each threshold matters.
        step = np.where(whole | (high == low), 1.0, np.maximum((high - low) / most, np.finfo(float).tiny))
        return cls(low, step, levels)

    @classmethod
    def exact(cls, ensemble: Ensemble) -> Grid:
        """The thresholds as cuts: every node answers as in the model, but the client knows the thresholds."""
        cuts: list[set[float]] = [set() for _ in range(ensemble.features)]
        for tree in ensemble.trees:
            for feature, threshold in zip(tree.feature, tree.threshold, strict=True):
                if feature >= 0:
                    cuts[feature].add(float(threshold))
        ordered = tuple(np.asarray(sorted(own)) for own in cuts)
        zeros = np.zeros(ensemble.features)
        return cls(zeros, zeros + 1, np.asarray([max(len(own), 1) for own in ordered]), ordered)

    def quantise(self, rows: Floats) -> NDArray[np.int64]:
        """The quantised rows, as integers."""
        if self.cuts is not None:
            columns = [np.searchsorted(own, rows[:, f], side="left") for f, own in enumerate(self.cuts)]
            return np.stack(columns, axis=1).astype(np.int64)
        scaled = np.rint((rows - self.low) / self.step)
        return np.clip(scaled, 0, self.levels).astype(np.int64)

    def at_least(self, feature: int, threshold: float) -> int:
        """The smallest quantised value that exceeds `threshold`."""
        if self.cuts is not None:
            return int(np.searchsorted(self.cuts[feature], threshold, side="left")) + 1
        with np.errstate(over="ignore"):
            below = np.floor((threshold - self.low[feature]) / self.step[feature])
        return int(np.clip(below, -1, self.levels[feature])) + 1

    def to_dict(self) -> dict[str, Any]:
        """As data."""
        return {
            "low": self.low.tolist(),
            "step": self.step.tolist(),
            "levels": self.levels.tolist(),
            "cuts": None if self.cuts is None else [own.tolist() for own in self.cuts],
        }


@dataclass(frozen=True)
class _Leaf:
    """A reachable leaf: the answer to each question on its path."""

    answers: dict[tuple[int, int], bool]
    values: NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """The layout of rows and sums: bits per digit of a feature, and the group of each tree."""

    digit_bits: int
    groups: tuple[int, ...]


@dataclass(frozen=True)
class EncryptedForest:
    """Trees on quantised features, with their values as multiples of `unit`."""

    grid: Grid
    unit: float
    base: Floats
    trees: tuple[tuple[_Leaf, ...], ...]
    """The values of a leaf are ordered by output, then by limb, least significant first."""
    limb_bits: int
    limbs: int

    @classmethod
    def of(cls, ensemble: Ensemble, grid: Grid, value_bits: int) -> EncryptedForest:
        """`ensemble` on `grid`, with at most 2^`value_bits` levels for the values of a tree."""
        reachable = [_reachable(tree, grid) for tree in ensemble.trees]
        if not _asks(reachable):
            if not _asks([_reachable(tree, Grid.exact(ensemble)) for tree in ensemble.trees]):
                raise ProgramError(
                    "the model's result does not depend on the features; train it on rows with different results"
                )
            raise ProgramError(
                "with this quantisation, the model gives one result for the whole range of these rows; give rows on both sides of its "
                'thresholds, or bits="exact"'
            )
        lowest = np.zeros(len(ensemble.base))
        shifted: list[list[Floats]] = []
        for leaves in reachable:
            values = np.stack([value for _, value in leaves])
            lowest += values.min(axis=0)
            shifted.append(list(values - values.min(axis=0)))
        unit = _unit(shifted, 2**value_bits - 1)
        whole = [[np.rint(value / unit).astype(np.int64) for value in values] for values in shifted]
        width = max(int(value.max()) for values in whole for value in values).bit_length()
        limbs = max(1, -(-width // LIMB_BITS))
        limb_bits = max(1, -(-width // limbs))
        places = np.arange(limbs) * limb_bits
        trees = tuple(
            tuple(
                _Leaf(answers, (value[:, None] >> places & (1 << limb_bits) - 1).reshape(-1))
                for (answers, _), value in zip(leaves, values, strict=True)
            )
            for leaves, values in zip(reachable, whole, strict=True)
        )
        base = ensemble.base + ensemble.scale * lowest
        return cls(grid, ensemble.scale * unit, base, trees, limb_bits, limbs)

    @property
    def outputs(self) -> int:
        """Number of sums per group: limbs times scores."""
        return len(self.base) * self.limbs

    def scores(self, sums: NDArray[np.integer]) -> Floats:
        """Scores from the sums of all trees' limbs, rows x outputs."""
        weights = 2.0 ** (self.limb_bits * np.arange(self.limbs))
        return self.base + self.unit * (sums.reshape(len(sums), -1, self.limbs) @ weights)

    def added(self, layout: Layout, sums: Sequence[int]) -> NDArray[np.int64]:
        """The sums over all trees, from the program's sums by group."""
        return np.asarray(sums, dtype=np.int64).reshape(max(layout.groups) + 1, self.outputs).sum(axis=0)

    def program(self, layout: Layout) -> Program:
        """The program from the digits of a row's features to the sums of each group's values in units."""
        digits = [_digits_of(int(top), layout.digit_bits) for top in self.grid.levels]
        starts = np.concatenate([[0], np.cumsum(digits)]).astype(int)
        leaves = [
            (group * self.outputs, leaf)
            for group, tree in zip(layout.groups, self.trees, strict=True)
            for leaf in tree
            if leaf.values.any()
        ]
        questions = sorted({question for _, leaf in leaves for question in leaf.answers})
        tops = np.zeros(((max(layout.groups) + 1), self.outputs), dtype=np.int64)
        for group, tree in zip(layout.groups, self.trees, strict=True):
            tops[group] += np.max([leaf.values for leaf in tree], axis=0)

        def forest(row: TfheValue) -> TfheValue:
            """Sums of the values of the leaves that a row reaches."""
            answers = _answers(row, questions, digits, starts, layout.digit_bits)
            return _sums(answers, questions, leaves, tops.reshape(-1))

        types = {"row": Int(0, 2**layout.digit_bits - 1).vector(int(starts[-1]))}
        made = traced(forest, types, "forest")
        assert isinstance(made, Program)
        return made

    def cheapest(self) -> tuple[Layout, Program]:
        """The layout with the fewest multiplications, and its program."""
        found: list[tuple[float, Layout, Program]] = []
        refusal: Error | None = None
        for digit_bits in DIGITS:
            for most in SUMS:
                layout = Layout(digit_bits, self._groups(most))
                if any(layout == other for _, other, _ in found):
                    continue
                program = self.program(layout)
                try:
                    found.append((plan(program).kernel.multiplications, layout, program))
                except NoiseError as error:
                    refusal = error
        if not found:
            raise NoiseError(f"no layout of digits and sums fits this model: {refusal}; reduce value_bits")
        return min(found, key=lambda candidate: candidate[0])[1:]

    def _groups(self, most: int) -> tuple[int, ...]:
        """The group of each tree: consecutive trees whose sums are at most `most`."""
        groups: list[int] = []
        total: NDArray[np.int64] = np.zeros(self.outputs, dtype=np.int64)
        for tree in self.trees:
            top = np.max([leaf.values for leaf in tree], axis=0)
            fits = bool(groups) and int((total + top).max()) <= most
            groups.append(0 if not groups else groups[-1] + (not fits))
            total = total + top if fits else top
        return tuple(groups)

    def evaluate(self, quantised: NDArray[np.integer]) -> NDArray[np.int64]:
        """The sums of all trees' limbs for rows of quantised features, in the clear."""
        total = np.zeros((len(quantised), self.outputs), dtype=np.int64)
        for leaves in self.trees:
            for leaf in leaves:
                reached = np.ones(len(quantised), dtype=bool)
                for (feature, least), yes in leaf.answers.items():
                    reached &= (quantised[:, feature] >= least) == yes
                total[reached] += leaf.values
        return total


def encode(row: NDArray[np.integer], levels: NDArray[np.integer], digit_bits: int) -> list[int]:
    """The digits of a row of quantised features, least significant first."""
    mask = (1 << digit_bits) - 1
    return [
        int(value) >> digit_bits * place & mask
        for value, top in zip(row, levels, strict=True)
        for place in range(_digits_of(int(top), digit_bits))
    ]


def _digits_of(top: int, digit_bits: int) -> int:
    return max(1, -(-top.bit_length() // digit_bits))


def _asks(reachable: Sequence[Sequence[tuple[dict[tuple[int, int], bool], Floats]]]) -> bool:
    """Whether some result depends on the features."""
    return any(np.ptp(np.stack([value for _, value in leaves]), axis=0).any() for leaves in reachable)


def _reachable(tree: Tree, grid: Grid) -> list[tuple[dict[tuple[int, int], bool], Floats]]:
    """The leaves that some row of the grid reaches, each with the answers that select it: per feature only the tightest two."""
    found = []
    for leaf, path in tree.leaves():
        least: dict[int, int] = {}
        below: dict[int, int] = {}
        for node, right in path:
            feature = int(tree.feature[node])
            at = grid.at_least(feature, float(tree.threshold[node]))
            if right:
                least[feature] = max(least.get(feature, 0), at)
            else:
                below[feature] = min(below.get(feature, int(grid.levels[feature]) + 1), at)
        asked = set(least) | set(below)
        tops = {feature: int(grid.levels[feature]) for feature in asked}
        if any(max(least.get(f, 0), 0) >= min(below.get(f, tops[f] + 1), tops[f] + 1) for f in asked):
            continue
        answers = {(f, at): True for f, at in least.items() if at > 0}
        answers |= {(f, at): False for f, at in below.items() if at <= tops[f]}
        found.append((answers, np.asarray(tree.values[leaf], dtype=float)))
    return found


def _unit(shifted: Sequence[Sequence[Floats]], most: int) -> float:
    """The unit of values: 1 if values are few integers, such as votes of fully grown trees; else the widest tree's range over `most`."""
    widest = max(float(value.max()) for values in shifted for value in values)
    whole = all(np.array_equal(value, np.rint(value)) for values in shifted for value in values)
    return 1.0 if widest == 0 or (whole and widest <= most) else widest / most


def _answers(
    row: TfheValue,
    questions: Sequence[tuple[int, int]],
    digits: Sequence[int],
    starts: NDArray[np.integer],
    digit_bits: int,
) -> TfheValue:
    """±1 for each question, in the order of `questions`: whether a feature reaches a threshold."""
    mask = (1 << digit_bits) - 1
    parts: list[TfheValue] = []
    order: list[int] = []
    for count in sorted({digits[feature] for feature, _ in questions}):
        own = [i for i, (feature, _) in enumerate(questions) if digits[feature] == count]
        order += own
        # The feature's digit at each place, and the threshold's.
        places = [
            {(starts[questions[i][0]] + place, questions[i][1] >> digit_bits * place & mask) for i in own}
            for place in range(count)
        ]
        compared: list[tuple[TfheValue, dict[tuple[int, int], int]]] = []
        for place, pairs in enumerate(places):
            ordered = sorted((int(at), int(digit)) for at, digit in pairs)
            taken, wanted = row[[at for at, _ in ordered]], [digit for _, digit in ordered]
            if place == 0:
                value = cast(TfheValue, sign(taken - np.asarray(wanted)))
            else:
                tables = sorted(set(wanted))
                value = lookup(
                    taken,
                    [[int(np.sign(v - digit)) for v in range(mask + 1)] for digit in tables],
                    choice=[tables.index(digit) for digit in wanted],
                )
            compared.append((value, {pair: at for at, pair in enumerate(ordered)}))
        joined: TfheValue | None = None
        for place, (value, index) in enumerate(compared):
            picked = value[
                [
                    index[int(starts[questions[i][0]] + place), int(questions[i][1] >> digit_bits * place & mask)]
                    for i in own
                ]
            ]
            joined = picked if joined is None else joined + picked * 2**place
        assert joined is not None
        # The most significant differing digits decide: each weight exceeds the sum of all lower weights.
        parts.append(joined if count == 1 else cast(TfheValue, sign(joined)))
    answers = concat(*parts) if len(parts) > 1 else parts[0]
    return answers[[order.index(i) for i in range(len(questions))]]


Path: TypeAlias = dict[int, bool]
"""By the index of an answer, whether it must be +1."""


def _agreeing(answers: TfheValue, paths: Sequence[Path]) -> TfheValue:
    """For each path the answers that agree less those that do not."""
    rows = np.zeros((len(paths), answers.length), dtype=np.int64)
    for row, path in zip(rows, paths, strict=True):
        row[list(path)] = [1 if yes else -1 for yes in path.values()]
    return cast(TfheValue, dot(rows, answers))


def _shortened(answers: TfheValue, paths: list[Path]) -> TfheValue:
    """Shortens `paths` to `LONGEST` answers each: one more answer, ±1, is whether all first ones of a longer path agree. Equal beginnings share it."""
    while long := [at for at, path in enumerate(paths) if len(path) > LONGEST]:
        begins = {at: tuple(sorted(paths[at].items())[: min(len(paths[at]) - LONGEST + 1, LONGEST)]) for at in long}
        ordered = sorted(set(begins.values()), key=lambda begin: (len(begin), begin))
        for at, begin in begins.items():
            paths[at] = dict(paths[at].items() - begin) | {answers.length + ordered.index(begin): True}
        parts = [answers]
        for length in sorted(set(map(len, ordered))):
            agreeing = _agreeing(answers, [dict(begin) for begin in ordered if len(begin) == length])
            parts.append(lookup(agreeing, lambda total, length=length: 1 if total == length else -1))
        answers = concat(*parts)
    return answers


def _sums(
    answers: TfheValue,
    questions: Sequence[tuple[int, int]],
    leaves: Sequence[tuple[int, _Leaf]],
    tops: NDArray[np.int64],
) -> TfheValue:
    """Sums of the values of the reached leaves; each leaf comes with the index of its first output."""
    index = {question: i for i, question in enumerate(questions)}
    paths: list[Path] = [{index[question]: yes for question, yes in leaf.answers.items()} for _, leaf in leaves]
    answers = _shortened(answers, paths)
    parts: list[TfheValue] = []
    places: list[int] = []
    # Leaves with paths of equal length have sums of equal range.
    for length in sorted(set(map(len, paths))):
        own = [(path, start, leaf) for path, (start, leaf) in zip(paths, leaves, strict=True) if len(path) == length]
        jobs = [
            (number, start + output, int(value))
            for number, (_, start, leaf) in enumerate(own)
            for output, value in enumerate(leaf.values)
            if value
        ]
        agreeing = _agreeing(answers, [path for path, _, _ in own])
        wanted = sorted({value for _, _, value in jobs})
        parts.append(
            lookup(
                agreeing[[number for number, _, _ in jobs]],
                [[value if total == length else 0 for total in range(-length, length + 1)] for value in wanted],
                choice=[wanted.index(value) for _, _, value in jobs],
            )
        )
        places += [place for _, place, _ in jobs]
    reached = concat(*parts) if len(parts) > 1 else parts[0]
    rows = [[int(place == at) for place in places] for at in range(len(tops))]
    return cast(TfheValue, dot(np.asarray(rows), reached)).assume(Int(0, max(1, int(tops.max()))))
