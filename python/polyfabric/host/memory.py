"""Memory limits: steps are rejected before they allocate too much.

with limited(4 << 30):
    program.run(inputs)          # rejected if keys and ciphertexts need more than 4 GiB
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..errors import InputError, RunError, shown
from .computer import available_bytes
from .units import bytes_text

_LIMIT: ContextVar[int | None] = ContextVar("memory", default=None)

UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}

SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?", re.IGNORECASE)


def most() -> int | None:
    """The memory limit in bytes, or this computer's free memory; `None` if unknown."""
    asked = _LIMIT.get()
    return available_bytes() if asked is None else asked


def asked() -> int | None:
    """The memory limit that the user asked for, in bytes; `None` without one."""
    return _LIMIT.get()


@contextmanager
def limited(memory: int | str | None) -> Iterator[None]:
    """Limits every step within to `memory`: bytes, or a text such as "4G". `None` changes nothing."""
    if memory is None:
        yield
        return
    token = _LIMIT.set(size(memory))
    try:
        yield
    finally:
        _LIMIT.reset(token)


def size(memory: object) -> int:
    """Parses bytes given as a number or a text with a binary unit."""
    found = SIZE.fullmatch(memory.strip()) if isinstance(memory, str) else None
    if found is not None:
        return int(float(found[1]) * (1 << UNITS[found[2].upper()]))
    if isinstance(memory, int) and not isinstance(memory, bool) and memory > 0:
        return memory
    raise InputError(f"memory={shown(memory)} (--memory) is not a size; give bytes, or a text such as '4G'")


def allows(needed: int, held: int = 0) -> bool:
    """Whether `needed` bytes are within the limit; `held` of them are already allocated, and so not part of the free memory."""
    allowed = most()
    return allowed is None or needed - (held if _LIMIT.get() is None else 0) <= allowed


def expect(what: str, needed: int, remedy: str, held: int = 0) -> None:
    """Rejects `what` if it needs more than the limit; `held` bytes of it are already allocated, and so not part of the free memory."""
    allowed = most()
    if allowed is None or allows(needed, held):
        return
    limit = "are free" if _LIMIT.get() is None else "is the limit (memory, --memory)"
    raise RunError(
        f"{what}: up to {bytes_text(needed)} of memory are needed, but {bytes_text(allowed)} {limit}; {remedy}"
    )


def expect_many(name: str, count: int, needed: Callable[[int], int]) -> None:
    """Checks the memory of `count` ciphertexts of program `name` before it is created, by extrapolating from one and two."""
    one = needed(1)
    remedy = "use fewer (--batch), or allow more with memory (--memory)"
    expect(f"{name} on {count:,} ciphertexts", one + (count - 1) * (needed(2) - one), remedy)
