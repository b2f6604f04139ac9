"""DSP blocks of streaming transforms and of complex products, counted from their multipliers.

A complex product with a factor c + jd takes three real ones (FPT, equation (6)): c times a difference of the data, and c - d and c + d,
which are kept ready, times its parts. Sums and differences have a bit more than their terms. A real product is cut into tiles of an
UltraScale+ DSP block, 27 by 18 bits, signed.

Which products a streaming transform has follows from its structure. Point i of a cycle passes lane i. The points of a radix-2^k group
lie in adjacent lanes, and the cycles count the most significant of the bits outside of it, so inside of a group a lane has one factor in
all cycles, and between groups several. A lane without a factor but quarter turns has no multiplier; one whose factor is always the same
eighth of a turn has two, by the square root of a half; every other has three.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

TILE = (27, 18)
"""Widths of a DSP block's multiplier, signed."""


def real_product(a: int, b: int) -> int:
    """DSP blocks of a product of `a` by `b` signed bits: all tiles except the highest are unsigned, so they have one bit less."""

    def tiles(bits: int, size: int) -> int:
        return -(-(bits - 1) // (size - 1))

    return min(tiles(a, TILE[0]) * tiles(b, TILE[1]), tiles(b, TILE[0]) * tiles(a, TILE[1]))


def complex_product(data: int, factor: int, products: int = 3) -> int:
    """DSP blocks of a complex product of parts of `data` bits with a factor of parts of `factor` bits, in three real products of sums or four."""
    if products == 4:
        return 4 * real_product(data, factor)
    return real_product(data + 1, factor) + 2 * real_product(data, factor + 1)


@dataclass(frozen=True)
class Transform:
    """A streaming transform."""

    points: int
    width: int
    """Points a cycle."""
    log2_radix: int
    negacyclic: bool
    """Whether it has a twist."""

    @cached_property
    def lanes(self) -> tuple[int, int]:
        """Its lanes with general factors, or with several, and those with one eighth of a turn."""
        general = eighths = 0
        for turns, order, copies in self._turns():
            if all((turn << 2) % (1 << order) == 0 for turn in turns):
                continue
            if all(turn == turns[0] for turn in turns) and (turns[0] << 3) % (1 << order) == 0:
                eighths += copies
            else:
                general += copies
        return general, eighths

    def _turns(self) -> Iterator[tuple[Sequence[int], int, int]]:
        """For each lane of each multiplying stage: the turns of its points by cycle, log2 of their denominator, and the number of equal lanes."""
        log2, cycles = self.points.bit_length() - 1, (self.points // self.width).bit_length() - 1
        if self.negacyclic:
            for lane in range(self.width):
                yield range(lane, self.points, self.width), log2 + 2, 1
        for stage in range(log2 - 1):
            first, end = self._group(log2, stage)
            output_bits, input_bits, order = stage + 1 - first, end - stage - 1, end - first
            # Cycles count bits that the factor does not depend on, then the input's most significant, then the output's.
            inside = max(cycles - (log2 - order), 0)
            of_input = min(inside, input_bits)
            inputs, outputs = 1 << (input_bits - of_input), 1 << (output_bits - (inside - of_input))
            for lane in range(inputs * outputs):
                output, own = divmod(lane, inputs)
                moved = (divmod(cycle, 1 << of_input) for cycle in range(1 << inside))
                turns = [(own + inputs * low) * (output + outputs * high) % (1 << order) for high, low in moved]
                yield turns, order, self.width // (inputs * outputs)

    def _group(self, log2: int, stage: int) -> tuple[int, int]:
        """The first stage of the transform that is split behind this stage, and the one after its last."""
        first, end = 0, log2
        while True:
            stages = end - first
            split = first + (self.log2_radix if stages > self.log2_radix else -(-stages // 2))
            if split == stage + 1:
                return first, end
            first, end = (split, end) if split < stage + 1 else (first, split)

    def dsp(self, data: int, factor: int, products: int = 3) -> int:
        """DSP blocks for parts of `data` bits and factors of `factor` bits."""
        general, eighths = self.lanes
        return general * complex_product(data, factor, products) + eighths * 2 * real_product(data + 1, factor)
