"""This computer: its processors and its memory."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from .errors import InputError, shown

MOST_THREADS = 1024
"""Far more than help: each takes memory and time to start."""


def workers(threads: int | None) -> int:
    """The threads that are asked for, or one a processor."""
    if threads is None:
        return cores()
    if not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS:
        raise InputError(
            f"threads={shown(threads)}; give an integer from 1 to {MOST_THREADS}, or none for all {cores()} processors"
        )
    return threads


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_bytes() -> int | None:
    """Memory that this computer has left, where it tells."""
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as info:
            return next((int(line.split()[1]) << 10 for line in info if line.startswith("MemAvailable:")), None)
    except OSError:
        return None


def give_memory_back() -> None:
    """Gives the operating system what this process has freed. glibc keeps it for itself, gigabytes after a large schedule; others need no telling."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return
