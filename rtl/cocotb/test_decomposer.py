"""Signed digits of torus coefficients: their weighted sum is the coefficient, to half of the last digit's place."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.handle import HierarchyObject
from cocotb.triggers import FallingEdge

LATENCY = 2
"""Cycles: two additions, of which the first rounds."""


@cocotb.test()
async def digits_add_up_to_the_coefficient(dut: HierarchyObject) -> None:
    cocotb.start_soon(Clock(dut.clock, 2, unit="ns").start())
    width, base, levels = (int(parameter.value) for parameter in (dut.WIDTH, dut.LOG2_BASE, dut.LEVELS))
    numbers = random.Random(2)
    for _ in range(200):
        words = [numbers.getrandbits(width) for _ in range(int(dut.LANES.value))]
        for lane, word in enumerate(words):
            dut["in"][lane].value = word
        found = [0] * len(words)
        for level in range(levels):
            dut.level.value = level
            for _ in range(LATENCY):
                await FallingEdge(dut.clock)
            for lane in range(len(words)):
                digit = dut.digits[lane][0].value.to_signed()
                assert -(1 << (base - 1)) <= digit < 1 << (base - 1)
                found[lane] += digit << (width - base * (level + 1))
        for word, sum_of_digits in zip(words, found, strict=True):
            away = (word - sum_of_digits + (1 << (width - 1))) % (1 << width) - (1 << (width - 1))
            assert abs(away) <= 1 << (width - base * levels - 1)
