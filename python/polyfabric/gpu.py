"""The graphics card of this computer, if it has one of NVIDIA's, and the compiler of its kernels."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from . import _native
from .errors import RunError
from .parameters import ParameterSet

KEY_BITS = (1, 2)
"""Secret bits that an iteration consumes of the keys that the kernels take."""


def card(parameters: _native.Parameters, unroll: int = 1) -> str:
    """The name of the card that programs of a parameter set run on, with a key of `unroll` secret bits an iteration.

    Raises `RunError` where there is no card, no driver, no compiler for its kernels, or where the set is not one that the kernels serve.
    """
    # What is loaded is found again by its name; without the package the system's own is taken, if it has one.
    compiler()
    return _native.gpu(parameters, unroll)


def card_for_slots(plan: _native.SlotPlan) -> str:
    """The name of the card that a program on slots runs on.

    Raises `RunError` where there is no card, no driver, no compiler for its kernels, or where it does not serve or hold the program.
    """
    compiler()
    return _native.gpu_for_slots(plan)


def element_findings(sets: Sequence[ParameterSet]) -> dict[str, Any]:
    """Which sets of TFHE a card serves, with keys of one and of two secret bits an iteration: those of the card here, or of an H200 where there is none.

    Sizes are in bytes. `least_seconds` a bootstrap, and `most_per_s`, are a bound and no measurement: the multiply-adds of doubles alone, all
    multiprocessors full, at the rate that NVIDIA gives for an H200.
    """
    card = _here()
    rate = card["multiply_adds_per_s"]
    rows = []
    for chosen in sets:
        for bits in KEY_BITS:
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
    """Which sets of CKKS or BGV, as data, the kernels serve; a switching key there is at most what it is in memory here, in bytes."""
    card = _here()
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


def _here() -> dict[str, Any]:
    """The card here or why there is none, the shared memory that a block has there or on an H200, and the H200's rate."""
    compiler()
    estimated_for, shared_bytes, rate = _native.gpu_peak()
    here: dict[str, Any] = {"card": None, "no_card": None, "estimated_for": estimated_for, "multiply_adds_per_s": rate}
    try:
        here["card"], shared_bytes = _native.gpu_card()
    except RunError as absence:
        here["no_card"] = str(absence)
    return {**here, "shared_bytes": shared_bytes}


def compiler() -> ctypes.CDLL | None:
    """CUDA's run-time compiler from its Python package, where there is one: it is in no folder that the system looks into."""
    found = find_spec("nvidia")
    folders = found.submodule_search_locations if found else None
    for folder in folders or ():
        for library in sorted(Path(folder).glob("*/lib/libnvrtc.so.*")):
            try:
                # Its own library, which it asks for by name.
                for part in library.parent.glob("libnvrtc-builtins.so.*"):
                    ctypes.CDLL(str(part), mode=ctypes.RTLD_GLOBAL)
                return ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
            except OSError:
                continue
    return None
