"""This computer's NVIDIA GPU, if any, and the compiler of its kernels."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .. import _native
from ..errors import RunError
from .parameters import ParameterSet

KEY_BITS = (1, 2)
"""Secret bits per iteration of uniform keys for which kernels exist."""


def card(parameters: _native.TfheParameters, unroll: int | None = None) -> str:
    """The name of the GPU for programs of a parameter set, with `unroll` secret bits per iteration.

    Raises `RunError` if there is no GPU, driver, or kernel compiler, or if the kernels do not support the set.
    """
    # Libraries loaded now are found by name later; without the package, the system's own is used if it exists.
    compiler()
    return _native.gpu(parameters, unroll)


def card_for_slots(plan: _native.RnsPlan) -> str:
    """The name of the GPU for a CKKS or BGV program.

    Raises `RunError` if there is no GPU, driver, or kernel compiler, or if the program is unsupported or does not fit.
    """
    compiler()
    return _native.gpu_for_slots(plan)


def element_findings(sets: Sequence[ParameterSet]) -> dict[str, Any]:
    """Which TFHE sets the GPU supports, with one and two secret bits per iteration, or a block of a block-binary key: this computer's GPU, or an H200 if there is none.

    Sizes are in bytes. `least_seconds` per bootstrap and `most_per_s` are bounds, not measurements: double multiply-adds only, with all
    multiprocessors busy at NVIDIA's rate for an H200.
    """
    card = here()
    rate = card["multiply_adds_per_s"]
    rows = []
    for chosen in sets:
        for bits in KEY_BITS if chosen.native.block == 1 else (1, chosen.native.block):
            row: dict[str, Any] = {"set": chosen.name, "key_bits": bits, "served": True}
            try:
                layout = _native.gpu_layout(chosen.native, bits, card["shared_bytes"])
            except RunError as refusal:
                rows.append({**row, "served": False, "reason": str(refusal)})
                continue
            key_bytes = layout["bootstrap_key_bytes"] + (chosen.native.key_switch_key_bytes or 0)
            seconds = layout["multiply_adds"] / rate
            rows.append({**row, **layout, "key_bytes": key_bytes, "least_seconds": seconds, "most_per_s": 1 / seconds})
    return {**card, "sets": rows}


def slot_findings(sets: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Which CKKS or BGV sets the kernels support; a switching key takes at most its size in main memory, in bytes."""
    card = here()
    rows = []
    for chosen in sets:
        degree = chosen["ring_degree"]
        row: dict[str, Any] = {"set": chosen["name"], "ring_degree": degree, "served": True}
        try:
            _, shared_bytes = _native.gpu_slot_kernels(degree)
        except RunError as refusal:
            rows.append({**row, "served": False, "reason": str(refusal)})
            continue
        sizes = {name: chosen[name] for name in ("ciphertext_bytes", "key_bytes")}
        rows.append({**row, "shared_bytes": shared_bytes, **sizes})
    return {**card, "sets": rows}


def here() -> dict[str, Any]:
    """This computer's GPU or why there is none, its (or an H200's) shared memory per block, and the H200's rate."""
    compiler()
    estimated_for, shared_bytes, rate = _native.gpu_peak()
    here: dict[str, Any] = {"card": None, "no_card": None, "estimated_for": estimated_for, "multiply_adds_per_s": rate}
    try:
        here["card"], shared_bytes = _native.gpu_card()
    except RunError as absence:
        here["no_card"] = str(absence)
    return {**here, "shared_bytes": shared_bytes}


def compiler() -> ctypes.CDLL | None:
    """Loads CUDA's run-time compiler from its Python package if installed, since the system does not search there."""
    found = find_spec("nvidia")
    folders = found.submodule_search_locations if found else None
    for folder in folders or ():
        for library in sorted(Path(folder).glob("*/lib/libnvrtc.so.*")):
            try:
                # The compiler loads this library by name.
                for part in library.parent.glob("libnvrtc-builtins.so.*"):
                    ctypes.CDLL(str(part), mode=ctypes.RTLD_GLOBAL)
                return ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
            except OSError:
                continue
    return None
