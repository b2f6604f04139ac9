"""The graphics card of this computer, if it has one of NVIDIA's: whether a parameter set's programs run there."""

from __future__ import annotations

import ctypes
from importlib.util import find_spec
from pathlib import Path

from . import _native


def card(parameters: _native.Parameters) -> str:
    """The name of the card that programs of a parameter set run on.

    Raises `RunError` where there is no card, no driver, no compiler for its kernels, or where the set is not one that the kernels serve.
    """
    _load_compiler()
    return _native.gpu(parameters)


def _load_compiler() -> None:
    """Loads CUDA's run-time compiler from its Python package, where there is one: it is in no folder that the system looks into.

    What is loaded is found again by its name. Without the package the system's own is taken, if it has one.
    """
    found = find_spec("nvidia")
    for folder in found.submodule_search_locations or () if found else ():
        for library in sorted(Path(folder).glob("*/lib/libnvrtc.so.*")):
            try:
                ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
            except OSError:
                continue
