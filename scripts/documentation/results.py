"""Recorded results: the data of a command, with the processor, date and commit of its run.

A file `results/NAME.json` has

    command    as a person types it
    commit     of the source tree; a + means that files differed from that commit. Of two, the second is of rows that were computed later and
               set into the record; the notes name them
    date       YYYY-MM-DD
    processor  its name, the number of usable cores, and its vector instructions
    seconds    processor time of the command
    data       its output, unchanged
"""

from __future__ import annotations

import datetime
import functools
import json
import os
import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from .jobs import Job

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "results"
FIELDS = ("command", "commit", "date", "processor", "seconds", "data")

FULL_SIZE: dict[str, tuple[str, int]] = {
    "reproduce-osiris": ("polyfabric reproduce osiris --applications --json", 6),
    "reproduce-f1": ("polyfabric reproduce f1 --applications --json", 17),
    "reproduce-morphling": ("polyfabric reproduce morphling --applications --json", 8),
    "whole-programs": ("python scripts/whole-programs", 8),
    "reproduce-strix": ("polyfabric reproduce strix --applications --json", 2),
    "reproduce-fpt": ("polyfabric reproduce fpt --applications --json", 1),
    "replays-fast": ("polyfabric params toy-256 --on fpt --replay 10000 --message-bits 6 --widths derived --json", 1),
    "compare-batch": ("polyfabric compare examples/lookup.py:substitute --batch 65536 --widths derived --json", 4),
    "compare-pbs": ("polyfabric compare pbs --params morphling-III --widths derived --json", 1),
    "rtl-waves": ("python scripts/rtl-waves", 2),
    "rtl-synthesis": ("python scripts/rtl-synthesis", 2),
    "small-schedules": ("python scripts/small-schedules", 2),
    "params-morphling": ("polyfabric params --on morphling --json", 1),
}
"""Every result that `make records` makes, slowest first: its command, which prints the data, and its peak memory in GiB."""

SHORT = 240.0
"""Most seconds of processor time, as recorded, of a result that `make test-full` makes too."""

_SIMULATIONS = ("polyfabric reproduce ", "polyfabric compare ")
_VECTOR_INSTRUCTIONS = {"avx2": "AVX2", "avx512f": "AVX-512", "avx512ifma": "AVX-512 IFMA"}


def processor() -> dict[str, Any]:
    """Name, cores and vector instructions of this computer."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    field = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}
    known = field.get("flags", "").split()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    name = field.get("model name", "unknown")
    if "cpu family" in field:
        name += f" (family {field['cpu family']}, model {field.get('model', '?')})"
    return {
        "name": name,
        "cores": cores,
        "instructions": [shown for flag, shown in _VECTOR_INSTRUCTIONS.items() if flag in known],
    }


def commit() -> str:
    """The short name of the commit, with a + if the sources differ from it."""
    name = _git("rev-parse", "--short=10", "HEAD")
    changed = _git("status", "--porcelain", "--", ".", ":!results", ":!README.md", ":!docs")
    return name + ("+" if changed else "")


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def environment() -> dict[str, str]:
    """The environment of commands: the package's own command line comes first."""
    path = os.pathsep.join([str(ROOT / ".venv" / "bin"), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "120"}


def record(name: str, words: list[str], file: Path | None = None, runs: int = 1) -> dict[str, Any]:
    """Run a command in the repository's root and store its data in `results/NAME.json`; several runs as `{"runs": [..]}`.

    Exit status 1 means that rows failed: the data is stored, and the rows say so.
    """
    if not re.fullmatch(r"[a-z0-9-]+", name):
        sys.exit(f"results/{name}.json: use only lower-case letters, digits and hyphens in the name")
    if not words:
        sys.exit("write the command to run after --")
    if runs < 1:
        sys.exit(f"--runs {runs}: use at least 1")
    # The commit at the start, whatever is committed during the run.
    tree, began = commit(), _processor_seconds()
    data = [_run(words, file) for _ in range(runs)]
    seconds = _processor_seconds() - began
    return write(name, (shlex.join(words), tree), seconds, data[0] if runs == 1 else {"runs": data})


def _processor_seconds() -> float:
    """Processor time of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run(words: list[str], file: Path | None) -> Any:  # noqa: ANN401 - any data
    before = _written(file)
    done = subprocess.run(words, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True, check=False)
    try:
        data = json.loads(done.stdout if file is None else (ROOT / file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        sys.exit(f"`{shlex.join(words)}` ended with status {done.returncode} and gave no data ({error})")
    if done.returncode not in (0, 1):
        sys.exit(f"`{shlex.join(words)}` ended with status {done.returncode}; nothing is recorded")
    if file is not None and _written(file) == before:
        sys.exit(
            f"`{shlex.join(words)}` ended with status {done.returncode} and left {file} as it was before; nothing is recorded"
        )
    return data


def _written(file: Path | None) -> int | None:
    """Modification time of a file; None if it does not exist."""
    path = None if file is None else ROOT / file
    return path.stat().st_mtime_ns if path is not None and path.exists() else None


def write(name: str, ran: tuple[str, str], seconds: float, data: Any) -> dict[str, Any]:  # noqa: ANN401 - any data
    """Store `data` in `results/NAME.json`; `ran` is the command and the commit."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    found = {"command": ran[0], "commit": ran[1], "date": today, "processor": processor()}
    found |= {"seconds": round(seconds, 1), "data": data}
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps(found, indent=1, ensure_ascii=False)
    replace(FOLDER / f"{name}.json", text + "\n")
    return found


def replace(path: Path, text: str) -> None:
    """Write a temporary file and rename it, so that an interruption keeps the previous file."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def read(name: str) -> dict[str, Any]:
    """The fields of `results/NAME.json`."""
    path = FOLDER / f"{name}.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"results/{name}.json: {error}; `make records` makes it") from error
    missing = [field for field in FIELDS if field not in found]
    if missing:
        raise ValueError(f"results/{name}.json: {', '.join(missing)} missing; `make records` makes it again")
    return found


def provenance(found: dict[str, Any]) -> str:
    """The line below a table: command, date and processor."""
    return f"From `{found['command']}`, {recorded(found)}."


def recorded(found: dict[str, Any]) -> str:
    """When a result was found, and on what."""
    return ", ".join(filter(None, (when(found), where(found))))


def when(found: dict[str, Any]) -> str:
    """Number of runs, date and commit of a result."""
    data = found["data"]
    several = f"{len(data['runs'])} runs, " if isinstance(data, dict) and "runs" in data else ""
    return f"{several}{found['date']}, commit {found['commit']}"


def where(found: dict[str, Any]) -> str:
    """The processor of a result, or nothing for a simulation without estimates, which gives the same on every processor."""
    if found["command"].startswith(_SIMULATIONS) and " --batch " not in found["command"]:
        return ""
    on = found["processor"]
    instructions = f", {', '.join(on['instructions'])}" if on["instructions"] else ""
    return f"on {on['cores']} cores of {on['name']}{instructions}"


def jobs(*, keep: bool, short: bool = False) -> list[Job]:
    """One job per full-size result; with `short`, those that took little time; with `keep`, except those of this commit."""
    wanted = []
    for name, (_, gibibytes) in FULL_SIZE.items():
        if short and read(name)["seconds"] > SHORT:
            continue
        if keep and _is_of_this_commit(name):
            print(f"kept      results/{name}.json", flush=True)
        else:
            wanted.append(Job(gibibytes, functools.partial(_make, name)))
    return wanted


def _is_of_this_commit(name: str) -> bool:
    return (FOLDER / f"{name}.json").exists() and read(name)["commit"] == commit()


def _make(name: str) -> int:
    """Record one result; return 1 if there is none or some of its rows failed. Other results are recorded nevertheless."""
    command, _ = FULL_SIZE[name]
    print(f"recording results/{name}.json: {command}", flush=True)
    try:
        found = record(name, shlex.split(command))
    except SystemExit as error:
        print(f"FAILED    results/{name}.json: {error}", flush=True)
        return 1
    failed = [row for row in found["data"] if isinstance(row, dict) and row.get("failure")]
    for row in failed:
        print(f"FAILED    {row['table']}, {row['cell']}: {row['failure']}", flush=True)
    return int(bool(failed))
