"""The graphics card of this computer, if it has one of NVIDIA's, and the compiler of its kernels."""

from __future__ import annotations

import ctypes
from importlib.util import find_spec
from pathlib import Path

from . import _native


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
