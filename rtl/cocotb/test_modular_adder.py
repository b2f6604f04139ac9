"""Sums and differences modulo q: one register, against Python's integers."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.handle import HierarchyObject
from cocotb.triggers import FallingEdge


@cocotb.test()
async def sums_and_differences(dut: HierarchyObject) -> None:
    cocotb.start_soon(Clock(dut.clock, 2, unit="ns").start())
    numbers = random.Random(1)
    for _ in range(500):
        q = numbers.randrange(1 << 31, 1 << 32)
        a, b, subtract = numbers.randrange(q), numbers.randrange(q), numbers.randrange(2)
        await FallingEdge(dut.clock)
        dut.q.value, dut.a.value, dut.b.value, dut.subtract.value = q, a, b, subtract
        await FallingEdge(dut.clock)
        assert dut.result.value.to_unsigned() == (a - b if subtract else a + b) % q
