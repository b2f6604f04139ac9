"""The GPU's kernels compile for the cards that people have, in the registers that their speed rests on; and what is said where there is no card."""

import ctypes
import json
import os
import re
from pathlib import Path

import polyfabric as pf
import pytest
from polyfabric import _native, gpu

LIMITS = Path(__file__).parent / "snapshots" / "gpu_kernels.json"
"""By architecture, and by set and key bits or ring and kernel: registers of a thread, bytes that it spills and keeps on its stack, and most bytes of shared memory
of a block. `UPDATE_SNAPSHOTS=1` writes them."""

CARDS = {"sm_80": 163 << 10, "sm_90": 227 << 10, "sm_100": 227 << 10}
"""Shared memory that one block can have, in bytes: A100, H100 and H200, B200."""

SETS = {
    "morphling-I": (1, 2),
    "morphling-III": (2,),
    "morphling-IV": (1, 2),
    "fpt-I": (1,),
    "polyfabric-2-p128-t32": (2,),
    "polyfabric-4-p128-t64": (1,),
}
"""Sets that are laid out in different ways, and the key bits that an iteration consumes."""

ONE = {"morphling-I": (1,)}
"""Of the other architectures, where the rest takes a quarter of a minute."""

SLOT_RINGS = (1 << 12, 1 << 16)
"""A ring that a block holds whole, and one that is transformed in two passes."""


def compiled(text: str, architecture: str) -> str:
    """What the assembler says of the kernels."""
    nvrtc = gpu.compiler()
    assert nvrtc is not None, "the compiler is among the requirements"
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None) == 0
    options = (ctypes.c_char_p * 2)(f"--gpu-architecture={architecture}".encode(), b"--ptxas-options=--verbose")
    status = nvrtc.nvrtcCompileProgram(program, len(options), options)
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    assert status == 0, log.value.decode()
    return log.value.decode()


def resources(log: str) -> dict[str, dict[str, int]]:
    """Of each kernel: registers, bytes that are spilled, and bytes on the stack."""
    found = {}
    for part in log.split("Compiling entry function '")[1:]:
        shapes = {
            "registers": r"Used (\d+) registers",
            "spilled": r"(\d+) bytes spill stores",
            "stack": r"(\d+) bytes stack frame",
        }
        figures = {what: re.search(shape, part) for what, shape in shapes.items()}
        assert all(figures.values()), part
        found[part.split("'")[0]] = {what: int(figure[1]) for what, figure in figures.items() if figure}
    return found


def expect_within_limits(architecture: str, measured: dict[str, dict[str, int]]) -> None:
    """Holds what was compiled against the snapshot, or writes it there."""
    limits = json.loads(LIMITS.read_text()) if LIMITS.exists() else {}
    if os.environ.get("UPDATE_SNAPSHOTS"):
        ours = {**limits.get(architecture, {}), **measured}
        LIMITS.write_text(json.dumps({**limits, architecture: ours}, indent=2, sort_keys=True) + "\n")
        return
    for case, found in measured.items():
        limit = limits[architecture][case]
        assert all(found[what] <= limit[what] for what in limit), f"{architecture}, {case}: {found} over {limit}"


@pytest.mark.parametrize(
    ("architecture", "sets"),
    [
        ("sm_90", SETS),
        *(pytest.param(other, ONE, id=f"{other}-one") for other in ("sm_80", "sm_100")),
        *(pytest.param(other, SETS, marks=pytest.mark.full) for other in ("sm_80", "sm_100")),
    ],
)
def test_kernels_compile_within_their_limits(architecture, sets):
    measured = {}
    for name, key_bits in sets.items():
        for bits in key_bits:
            text, shared_bytes = _native.gpu_kernels(_native.Parameters.named(name), bits, CARDS[architecture])
            kernels = resources(compiled(text, architecture))
            assert set(kernels) >= {"blind_rotation", "transform_key", "key_switch", "modulus_switch", "sample_extract"}
            measured[f"{name}, {bits}"] = {**kernels["blind_rotation"], "shared_bytes": shared_bytes}
            assert all(kernel["spilled"] == 0 for name, kernel in kernels.items() if name != "blind_rotation"), kernels
            assert shared_bytes <= CARDS[architecture]
    expect_within_limits(architecture, measured)


@pytest.mark.parametrize("architecture", CARDS)
def test_kernels_for_slots_compile_within_their_limits(architecture):
    measured = {}
    for degree in SLOT_RINGS:
        text, shared_bytes = _native.gpu_slot_kernels(degree)
        kernels = resources(compiled(text, architecture))
        in_two_passes = {"forward_columns", "inverse_columns"} if degree > 1 << 12 else set()
        assert set(kernels) == in_two_passes | {
            "forward_rows",
            "inverse_rows",
            "sums",
            "inner_products",
            "loads",
            "conversions",
        }
        measured |= {f"ring {degree}, {name}": found for name, found in kernels.items()}
        measured[f"ring {degree}"] = {"shared_bytes": shared_bytes}
        assert shared_bytes <= CARDS[architecture]
    expect_within_limits(architecture, measured)


def test_sets_that_are_not_served_are_refused_with_their_cause():
    for name, told in (("strix-IV", "has degree 16384"), ("toy-256", "serves ring degrees 512 to 8192")):
        with pytest.raises(pf.RunError, match=told):
            _native.gpu_kernels(_native.Parameters.named(name), 1, CARDS["sm_90"])
    with pytest.raises(pf.RunError, match="consumes 4 secret bits an iteration, and the GPU runtime takes at most 2"):
        _native.gpu_kernels(_native.Parameters.named("morphling-I"), 4, CARDS["sm_90"])


def card() -> str | None:
    """This computer's, if it has one."""
    try:
        return gpu.card(_native.Parameters.named("polyfabric-3-p128-t64"))
    except pf.RunError:
        return None


@pf.program(x=pf.Int(0, 7))
def doubled(x):
    return x + x


@pf.program(x=pf.Real.vector(4))
def squared(x):
    return x * x + x.rotate(1)


SLOTS = {"x": [0.5, -1.0, 0.25, 0.0]}


@pytest.mark.skipif(card() is not None, reason="this computer has a card")
@pytest.mark.parametrize(("program", "inputs"), [(doubled, {"x": 3}), (squared, SLOTS)])
def test_a_computer_without_a_card_says_so_before_keys_are_made(program, inputs):
    with pytest.raises(
        pf.RunError,
        match="no GPU here: the library of NVIDIA's driver, libcuda, was not found; install the driver, or run on cpu",
    ):
        program.run(inputs, on="gpu")


@pytest.mark.skipif(card() is None, reason="this computer has no card of NVIDIA's")
def test_programs_run_on_the_card_as_on_the_processor():
    for x in (0, 3, 7):
        result = doubled.run({"x": x}, on="gpu")
        assert result.correct
        assert result.outputs == doubled.run({"x": x}).outputs


@pytest.mark.skipif(card() is None, reason="this computer has no card of NVIDIA's")
def test_slots_on_the_card_decrypt_within_their_bound():
    assert squared.run(SLOTS, on="gpu").correct


def test_the_cost_of_slots_has_an_estimate_for_a_card():
    cost = squared.cost()
    needs, of = cost.to_dict()["gpu"], cost.to_dict()["parameters"]
    # Of each key's rows, two polynomials each, those limbs alone that the program reads; words have five to eight bytes, as their primes need.
    words = 2 * of["ring_degree"] * len(cost.to_dict()["keys"]) * of["digits"] * (of["limbs"] + of["special_limbs"])
    assert needs["key_bytes"] % (2 * of["ring_degree"]) == 0
    assert 0 < needs["key_bytes"] <= 8 * words
    parts = needs["key_bytes"] + needs["plaintext_bytes"] + needs["value_bytes"]
    assert parts < needs["memory_bytes"] < 1.1 * parts
    assert needs["levels"] <= needs["launches"]
    # Every limb of the keys is read once at least.
    assert needs["moved_bytes"] > needs["key_bytes"]
    assert needs["least_seconds"] >= needs["moved_bytes"] / 4.8e12
    assert "on an H200 (estimated, not measured)" in " ".join(cost.table().split())
