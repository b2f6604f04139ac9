"""Matrices of 2 x 2 to 8 x 8 words, chunk after chunk, leave as their columns, G - 1 cycles after they entered."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.handle import HierarchyObject
from cocotb.triggers import FallingEdge, Timer


@cocotb.test()
async def vectors_leave_transposed(dut: HierarchyObject) -> None:
    cocotb.start_soon(Clock(dut.clock, 4, unit="ns").start())
    lanes, width = int(dut.LANES.value), int(dut.WIDTH.value)
    numbers = random.Random(3)
    dut.in_valid.value, dut.reset.value = 0, 1
    await FallingEdge(dut.clock)
    dut.reset.value = 0
    for log2_chunks in range(1, lanes.bit_length()):
        chunks = 1 << log2_chunks
        vector = [[numbers.getrandbits(width) for _ in range(lanes)] for _ in range(chunks)]
        # Chunk r, block b, place c moves to chunk c, block b, place r.
        expected = [
            [vector[lane % chunks][lane // chunks * chunks + chunk] for lane in range(lanes)] for chunk in range(chunks)
        ]
        dut.log2_chunks.value = log2_chunks
        found = []
        for cycle in range(2 * chunks - 1):
            dut.in_valid.value = cycle < chunks
            if cycle < chunks:
                dut["in"].value = sum(word << (width * lane) for lane, word in enumerate(vector[cycle]))
            # The unit has no output register: outputs are read before the next edge, when the inputs have passed.
            await Timer(1, unit="ns")
            if dut.out_valid.value == 1:
                packed = dut.out.value.to_unsigned()
                found.append((cycle, [packed >> (width * lane) & ((1 << width) - 1) for lane in range(lanes)]))
            await FallingEdge(dut.clock)
        dut.in_valid.value = 0
        await FallingEdge(dut.clock)
        assert [word for _, word in found] == expected
        assert [cycle for cycle, _ in found] == list(range(chunks - 1, 2 * chunks - 1))
