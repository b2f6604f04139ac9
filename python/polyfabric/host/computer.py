"""Processors, memory and addresses of this computer."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path, PurePosixPath

from ..errors import InputError, shown

MOST_THREADS = 1024
"""Well above any useful number, since each thread takes memory and time to start."""

ROOT = Path("/")
"""Root of `/proc`; tests replace it."""

GROUP_FILES = {
    "cgroup2": ("memory.max", "memory.current", ""),
    "cgroup": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
}
"""By cgroup version: files of a group's limit and usage, and the prefix of whole-group counts in `memory.stat`."""


def workers(threads: int | None) -> int:
    """The requested number of threads, or one per processor."""
    if threads is None:
        return cores()
    if not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS:
        raise InputError(
            f"threads={shown(threads)}; give an integer from 1 to {MOST_THREADS}, or omit it for all {cores()} processors"
        )
    return threads


def cores() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_local(host: str) -> bool:
    """Whether an address reaches this computer alone."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def available_bytes() -> int | None:
    """Memory that this process can still allocate: the minimum over the computer and its cgroups. `None` if unknown."""
    known = [left for left in (_left_of_computer(), *_left_of_groups()) if left is not None]
    return min(known, default=None)


def _left_of_computer() -> int | None:
    return _counts(ROOT / "proc/meminfo", 1 << 10).get("MemAvailable:")


def memory_facts() -> dict[str, int | None]:
    """Bytes: of this computer, of the smallest limit of this process's cgroups, and still available to this process."""
    total = _counts(ROOT / "proc/meminfo", 1 << 10).get("MemTotal:")
    limits = [most for folder, names in _groups() if (most := _number(folder / names[0])) is not None]
    # Version 1 writes a huge number if there is no limit.
    limits = [most for most in limits if total is None or most < total]
    return {
        "total": total,
        "cgroup_limit": min(limits, default=None),
        "available": available_bytes(),
    }


def _left_of_groups() -> Iterator[int | None]:
    """Remaining memory of this process's cgroups and their ancestors."""
    for folder, names in _groups():
        yield _left_of_group(folder, *names)


def _groups() -> Iterator[tuple[Path, tuple[str, str, str]]]:
    """The folders of this process's cgroups and their ancestors, each with its entry of `GROUP_FILES`."""
    own = {}
    for line in _lines(ROOT / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if not controllers:
            own["cgroup2"] = path
        elif "memory" in controllers.split(","):
            own["cgroup"] = path
    for line in _lines(ROOT / "proc/self/mountinfo"):
        mounted, _, system = line.partition(" - ")
        kind, _, options = system.split(maxsplit=2)
        if kind not in own or (kind == "cgroup" and "memory" not in options.split(",")):
            continue
        top, place = (_unescaped(part) for part in mounted.split()[3:5])
        mount = ROOT / place.lstrip("/")
        path = PurePosixPath(own[kind])
        # In a container the cgroup may be the root of the mount, while the path is the host's.
        inner = path.relative_to(top) if path.is_relative_to(top) else PurePosixPath()
        group = mount / inner if ".." not in inner.parts else mount
        for folder in (group, *group.parents):
            yield folder, GROUP_FILES[kind]
            if folder == mount:
                break


def _left_of_group(folder: Path, limit: str, used: str, prefix: str) -> int | None:
    """Remaining memory of one group. File pages do not count as used, because the kernel drops them first."""
    most, taken = (_number(folder / name) for name in (limit, used))
    if most is None or taken is None:
        return None
    pages = _counts(folder / "memory.stat")
    files = sum(pages.get(f"{prefix}{name}_file", 0) for name in ("active", "inactive"))
    return max(0, most - max(0, taken - files))


def _number(path: Path) -> int | None:
    """The number in a file of a group; `None` if there is none, as without a limit, for which version 2 writes "max"."""
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _counts(path: Path, unit: int = 1) -> dict[str, int]:
    """Parses a file with a name and a number per line."""
    rows = (line.split() for line in _lines(path))
    return {row[0]: int(row[1]) * unit for row in rows if len(row) > 1 and row[1].isdecimal()}


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []


def _unescaped(path: str) -> str:
    """Decodes a path of `mountinfo`, which writes spaces in octal."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), path)


def give_memory_back() -> None:
    """Returns freed memory to the operating system. glibc retains it, gigabytes after a large schedule; other C libraries do not."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return
