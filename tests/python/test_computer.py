"""The available memory is the minimum of what the computer and its control groups leave."""

from __future__ import annotations

from pathlib import Path

import pytest
from polyfabric.host import computer

MIB = 1 << 20


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="ascii")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A computer of 64 GiB, of which 40 are left."""
    monkeypatch.setattr(computer, "ROOT", tmp_path)
    written(tmp_path / "proc/meminfo", f"MemTotal: {64 << 20} kB\nMemAvailable: {40 << 20} kB\nHugePages_Total: 0\n")
    return tmp_path


def group(folder: Path, limit: int | str, used: int, *, version: int, files: int = 0) -> None:
    names = ("memory.max", "memory.current") if version == 2 else ("memory.limit_in_bytes", "memory.usage_in_bytes")
    prefix = "" if version == 2 else "total_"
    written(folder / names[0], f"{limit}\n")
    written(folder / names[1], f"{used}\n")
    written(
        folder / "memory.stat",
        f"anon 7\n{prefix}inactive_file {files // 2}\n{prefix}active_file {files - files // 2}\n",
    )


def mounted(root: Path, *rows: str) -> None:
    written(root / "proc/self/mountinfo", "".join(f"{row}\n" for row in rows))


TMPFS = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755"
V2 = "41 31 0:38 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw"
V1_CPU = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu"


def v1(top: str) -> str:
    return f"35 31 0:32 {top} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory"


def test_without_groups_it_is_the_computers(root: Path) -> None:
    assert computer.available_bytes() == 40 << 30
    (root / "proc/meminfo").unlink()
    assert computer.available_bytes() is None


@pytest.mark.parametrize(("outer", "inner", "left"), [("max", 2048, 1748), (1024, "max", 624), (1024, 4096, 624)])
def test_version_2_and_the_groups_around(root: Path, outer: int | str, inner: int | str, left: int) -> None:
    """A group has 300 MiB in use without its files, the one around it 400."""
    mounted(root, V2)
    written(root / "proc/self/cgroup", "0::/outer/in ner\n")
    top = root / "sys/fs/cgroup"
    limits = [limit if isinstance(limit, str) else limit * MIB for limit in (outer, inner)]
    group(top / "outer", limits[0], 600 * MIB, version=2, files=200 * MIB)
    group(top / "outer/in ner", limits[1], 350 * MIB, version=2, files=50 * MIB)
    assert computer.available_bytes() == left * MIB


@pytest.mark.parametrize(
    ("top", "own", "folder"),
    [("/", "/a/b", "a/b"), ("/docker/1f", "/docker/1f", "."), ("/docker/1f", "/", "."), ("/", "/../x", ".")],
    ids=["host", "container", "namespace", "outside"],
)
def test_version_1(root: Path, top: str, own: str, folder: str) -> None:
    mounted(root, TMPFS, V1_CPU, v1(top))
    written(root / "proc/self/cgroup", f"9:name=systemd:/\n4:cpu,memory:{own}\n1:cpu:/other\n0::/\n")
    group(root / "sys/fs/cgroup/memory" / folder, 512 * MIB, 212 * MIB, version=1, files=100 * MIB)
    assert computer.available_bytes() == 400 * MIB


def test_no_limit_and_one_that_is_passed(root: Path) -> None:
    mounted(root, TMPFS, v1("/"))
    written(root / "proc/self/cgroup", "4:memory:/\n")
    folder = root / "sys/fs/cgroup/memory"
    group(folder, 9223372036854771712, 7 * MIB, version=1)
    assert computer.available_bytes() == 40 << 30
    group(folder, 512 * MIB, 600 * MIB, version=1)
    assert computer.available_bytes() == 0
