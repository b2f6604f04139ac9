"""The installed library's kernels use the vector instructions of every instruction set.

A function that the compiler does not inline where a set is enabled has none of the set's instructions, and each of them becomes a call. Names say
so: such a call needs a function for the instruction.
"""

from __future__ import annotations

import re
from pathlib import Path

import polyfabric._native
import pytest

# Only the package's own build is optimized so far.
pytestmark = pytest.mark.full

# Where kernels of one set are, or what they are made of: each of these functions is inlined into one that is compiled for a set.
VECTOR_MODULES = (
    "avx2",
    "avx512",
    "butterflies",
    "float",
    "ifma",
    "lanes",
    "limb_float",
    "limb_ifma",
    "neon",
    "words64_avx512",
    "words64_float",
)


@pytest.fixture(scope="module")
def names() -> list[str]:
    """The names of the library's functions, in Rust's spelling of a path: each part behind its length."""
    data = Path(polyfabric._native.__file__).read_bytes()
    found = [name.decode() for name in set(re.findall(rb"_(?:ZN|R)[0-9A-Za-z_.$]+", data))]
    assert any("18polyfabric_kernels" in name for name in found), "the library has no names: it was stripped"
    return found


def test_no_vector_instruction_is_a_function(names):
    called = [name for name in names if re.search(r"9core_arch.*(\d__?mm|7aarch64|10arm_shared)", name)]
    assert not called, f"{len(called)} instructions are called, the first is {called[0]}"


def test_no_part_of_a_vector_kernel_is_a_function(names):
    parts = "|".join(f"{len(module)}{module}" for module in VECTOR_MODULES)
    inside = re.compile(rf"18polyfabric_kernels.*(?:{parts}).*closure")
    called = [name for name in names if inside.search(name)]
    assert not called, f"{len(called)} closures are called, the first is {called[0]}"
