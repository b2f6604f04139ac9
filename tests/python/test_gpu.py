"""The GPU's kernels compile for common cards with the expected registers; without a card, commands say so."""

import ctypes
import json
import os
import re
from pathlib import Path

import polyfabric as pf
import pytest
from polyfabric import _native
from polyfabric.schemes import gpu
from rejects import rejects

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
"""For the other architectures, where the rest takes 15 seconds."""

TREE = Path(__file__).parents[2]

SLOT_RINGS = (1 << 12, 1 << 16)
"""A ring that a block holds whole, and one that is transformed in two passes, whose kernels are those of the first and two more."""


def compiled(text: str, architecture: str) -> str:
    """The assembler's report on the kernels."""
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
    """For each kernel: registers, spilled bytes, and bytes on the stack."""
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
        *(pytest.param(one, ONE, id=f"{one}-one") for one in ("sm_80", "sm_90", "sm_100")),
        *(pytest.param(one, SETS, marks=pytest.mark.full) for one in ("sm_80", "sm_90", "sm_100")),
    ],
)
def test_kernels_compile_within_their_limits(architecture, sets):
    measured = {}
    for name, key_bits in sets.items():
        for bits in key_bits:
            text, shared_bytes = _native.gpu_kernels(_native.TfheParameters.named(name), bits, CARDS[architecture])
            kernels = resources(compiled(text, architecture))
            assert set(kernels) >= {"blind_rotation", "transform_key", "key_switch", "modulus_switch", "sample_extract"}
            measured[f"{name}, {bits}"] = {**kernels["blind_rotation"], "shared_bytes": shared_bytes}
            assert all(kernel["spilled"] == 0 for name, kernel in kernels.items() if name != "blind_rotation"), kernels
            assert shared_bytes <= CARDS[architecture]
    expect_within_limits(architecture, measured)


@pytest.mark.parametrize(
    ("architecture", "rings"),
    [
        ("sm_90", SLOT_RINGS),
        *(pytest.param(other, SLOT_RINGS[1:], id=f"{other}-one") for other in ("sm_80", "sm_100")),
        *(pytest.param(other, SLOT_RINGS[:1], marks=pytest.mark.full) for other in ("sm_80", "sm_100")),
    ],
)
def test_kernels_for_slots_compile_within_their_limits(architecture, rings):
    measured = {}
    for degree in rings:
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


@pytest.mark.parametrize("architecture", CARDS)
def test_kernels_of_the_benchmark_compile_within_their_limits(architecture):
    ours, measured = TREE / "bench/tfhe/src/gpu", {}
    beneath = (TREE / "crates/runtime/src/gpu/kernels/device.h").read_text() + (ours / "products.h").read_text()
    cases = {"peaks": ("peaks.cu", "")}
    for number, arithmetic in enumerate(("double", "fixed", "split")):
        cases[arithmetic] = ("transforms.cu", f"#define ARITHMETIC {number}u\n")
    for case, (file, definitions) in cases.items():
        kernels = resources(compiled(definitions + beneath + (ours / file).read_text(), architecture))
        # The measurement is of arithmetic: everything is in registers.
        assert kernels, case
        assert all(found["spilled"] == found["stack"] == 0 for found in kernels.values()), kernels
        measured |= {f"benchmark, {case}, {name}": found for name, found in kernels.items()}
    expect_within_limits(architecture, measured)


def test_sets_that_are_not_served_are_refused_with_their_cause():
    for name, told in (("strix-IV", "has degree 16384"), ("toy-256", "supports ring degrees 512 to 8192")):
        with pytest.raises(pf.errors.RunError, match=told):
            _native.gpu_kernels(_native.TfheParameters.named(name), 1, CARDS["sm_90"])
    with rejects(pf.errors.RunError, "4", "2"):
        _native.gpu_kernels(_native.TfheParameters.named("morphling-I"), 4, CARDS["sm_90"])


def card() -> str | None:
    """This computer's, if it has one."""
    try:
        return gpu.card(_native.TfheParameters.named("polyfabric-3-p128-t64"))
    except pf.errors.RunError:
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
        pf.errors.RunError,
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
    needs, of = cost.to_dict()["gpu"], cost.to_dict()["parameter_set"]
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


def in_this_computer(monkeypatch, name: str | None, shared_bytes: int = 0) -> None:
    """A card of that name, or none."""

    def found() -> tuple[str, int]:
        if name is None:
            raise pf.errors.RunError("no GPU here: the driver says nothing; attach a card, or run on cpu")
        return name, shared_bytes

    monkeypatch.setattr(_native, "gpu_card", found)


def findings(polyfabric, *arguments: str) -> tuple[dict, dict]:
    """All, and their rows by set and key bits."""
    done = polyfabric("params", "--on", "gpu", "--json", *arguments)
    assert done.status == 0, done.err
    data = json.loads(done.out)
    return data, {(row["set"], row["key_bits"]): row for row in data["sets"]}


def counted(s: dict, bits: int) -> int:
    """Multiply-adds of doubles of a bootstrap: n / bits iterations, each with (k + 1) l transforms forwards and k + 1 back, of N/2 points and log2(N/2) levels of N/4
    butterflies: 6 a butterfly forwards, 8 back, one for each of N coefficients. A complex product has 4: one for each of the (k + 1)^2 l polynomials of the key. With
    two bits, or a block of three, each of those is the sum of three others times complex factors: at a point and for a row three powers of X and 1 off each, 15 in all.
    """
    n, k, degree, levels = (s[what] for what in ("lwe_dimension", "glwe_dimension", "ring_degree", "bootstrap_gadget"))
    level = levels["levels"]
    butterflies = degree // 4 * ((degree // 2).bit_length() - 1)
    forwards, back = (k + 1) * level, k + 1
    transforms = forwards * (6 * butterflies + degree) + back * (8 * butterflies + degree)
    polynomials = (k + 1) * forwards
    products = polynomials * degree // 2 * 4
    unrolled = polynomials * degree // 2 * 3 * 4 + forwards * degree // 2 * 15
    return -(-n // bits) * (transforms + products + (unrolled if bits > 1 else 0))


def test_the_sets_that_an_h200_serves_and_a_bound_of_their_rates(polyfabric, monkeypatch):
    in_this_computer(monkeypatch, None)
    data, rows = findings(polyfabric)
    assert (data["card"], data["estimated_for"], data["shared_bytes"]) == (None, "H200", CARDS["sm_90"])
    sets = {s["name"]: s for s in json.loads(polyfabric("params", "--scheme", "tfhe", "--json").out)}
    assert rows.keys() == {
        (name, bits) for name in sets for bits in ((1, 3) if "secret" in sets[name]["figures"] else (1, 2))
    }
    served = 0
    for (name, bits), row in rows.items():
        s = sets[name]
        if not row["served"]:
            with pytest.raises(pf.errors.RunError) as refusal:
                _native.gpu_kernels(_native.TfheParameters.named(name), bits, CARDS["sm_90"])
            assert row["reason"] == str(refusal.value)
            continue
        served += 1
        assert row["multiply_adds"] == counted(s, bits)
        # 34 TFLOPS, two a multiply-add.
        assert row["least_seconds"] == pytest.approx(row["multiply_adds"] / 17e12)
        assert row["most_per_s"] == pytest.approx(17e12 / row["multiply_adds"])
        assert row["ciphertexts"] > 0
        # The accumulators alone, k + 1 polynomials of N words.
        words = (s["glwe_dimension"] + 1) * s["ring_degree"]
        assert row["ciphertexts"] * words * s["torus_bits"] // 8 < row["shared_bytes"] <= CARDS["sm_90"]
        # Three patterns of two bits; 48 bits a number on the 32-bit torus, and a row more at the end.
        of_row = words * (3 if bits > 1 else 1) * (6 if s["torus_bits"] == 32 else 8)
        ggsws = -(-s["lwe_dimension"] // bits)
        ggsw_rows = (s["glwe_dimension"] + 1) * s["bootstrap_gadget"]["levels"]
        assert row["bootstrap_key_bytes"] == (ggsws * ggsw_rows + 1) * of_row
        assert row["key_bytes"] == row["bootstrap_key_bytes"] + (s["key_switch_key_bytes"] or 0)
    assert 0 < served < len(rows)
    # As the page tells: eight ciphertexts of set I on a multiprocessor.
    assert rows["morphling-I", 1]["ciphertexts"] == 8


def test_the_table_of_a_card_says_whose_figures_it_has(polyfabric, monkeypatch):
    in_this_computer(monkeypatch, None)
    alone = " ".join(polyfabric("params", "strix-IV", "--on", "gpu").out.split())
    for words in (
        "figures are for an H200; no GPU here: the driver says nothing",
        "not served: the GPU runtime",
        "has degree 16384",
    ):
        assert words in alone
    in_this_computer(monkeypatch, "NVIDIA A100", CARDS["sm_80"])
    printed = polyfabric("params", "polyfabric-3-p128-t64", "--on", "gpu").out
    assert printed.startswith("card here: NVIDIA A100\n")
    assert "17 T a second that NVIDIA states for an H200 (estimated, a bound, not measured)" in " ".join(
        printed.split()
    )
    data, rows = findings(polyfabric, "morphling-I")
    assert (data["card"], data["shared_bytes"]) == ("NVIDIA A100", CARDS["sm_80"])
    assert rows.keys() == {("morphling-I", 1), ("morphling-I", 2)}
    assert all(row["shared_bytes"] <= CARDS["sm_80"] for row in rows.values())


@pytest.mark.parametrize("scheme", ["ckks", "bgv"])
def test_the_sets_on_slots_that_a_card_serves(polyfabric, monkeypatch, scheme):
    in_this_computer(monkeypatch, None)
    sets = {s["name"]: s for s in json.loads(polyfabric("params", "--scheme", scheme, "--json").out)}
    rows = {
        row["set"]: row
        for row in json.loads(polyfabric("params", "--scheme", scheme, "--on", "gpu", "--json").out)["sets"]
    }
    assert rows.keys() == sets.keys()
    for name, row in rows.items():
        assert row["served"] == (16 <= sets[name]["ring_degree"] <= 1 << 17)
        assert row["key_bytes"] == sets[name]["key_bytes"]
        assert 0 < row["shared_bytes"] <= CARDS["sm_90"]
    name = next(iter(sets))
    (own,) = json.loads(polyfabric("params", name, "--on", "gpu", "--json").out)["sets"]
    assert own == rows[name]
    assert name in polyfabric("params", name, "--on", "gpu").out
