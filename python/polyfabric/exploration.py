"""Sweeps over the sizes of a machine: performance against area, and the best at each area (F1, figure 11)."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from itertools import product
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from . import _native, machines, programs
from .errors import Error, FileError, InputError, MachineError, RunError
from .execution import SecurityWarning
from .progress import ProgressHook
from .reports import Report, write_text


@dataclass(frozen=True)
class Size:
    """How many of each a machine has."""

    clusters: int
    banks: int
    stacks: int
    network: str = "crossbar"


@dataclass(frozen=True)
class Task:
    """A machine, and the programs that are timed on it in every size: all that a worker is sent."""

    machine: str
    """Name or file."""
    text: str | None
    """The file's text; nothing for a name."""
    programs: tuple[str, ...]
    """Each PROGRAM or PROGRAM@PARAMS."""

    @staticmethod
    def of(machine: str, programs: Sequence[str]) -> Task:
        """The task for a machine's name, or for a file, which is read here and not by workers."""
        if not (machine.endswith(".toml") or "/" in machine):
            return Task(machine, None, tuple(programs))
        try:
            return Task(machine, Path(machine).read_text(encoding="utf-8"), tuple(programs))
        except (OSError, UnicodeDecodeError) as error:
            raise MachineError(f"{machine}: cannot read the machine file ({error}); check the path") from error

    def load(self) -> machines.Machine:
        """The machine in its own size."""
        if self.text is None:
            return machines.load(self.machine)
        return machines.Machine(_native.Machine.parse(self.machine, self.text, []))

    def size(self) -> Size:
        """Its own size."""
        return Size(*self.load().native.size())


def sizes(
    clusters: Iterable[int], banks: Iterable[int], stacks: Iterable[int], networks: Iterable[str] = ("crossbar",)
) -> list[Size]:
    """Every combination, each once."""
    return [Size(*values) for values in dict.fromkeys(product(clusters, banks, stacks, networks))]


def evaluate(task: Task, size: Size) -> dict[str, Any]:
    """Area in mm² and, for each program, seconds from the checked schedule; or the error that says why there are none.

    Workers call it: in processes of this computer, or of a cluster.
    """
    point: dict[str, Any] = asdict(size)
    try:
        machine = machines.Machine(_machine(task).native.scaled(size.clusters, size.banks, size.stacks, size.network))
        area = machine.native.area()
        if area is None:
            raise MachineError(f"{task.machine}: the area of a component is unknown; give it, or remove the component")
        seconds = {name: machine.compile(_kernel(task, name)) for name in task.programs}
        point["area_mm2"] = area
        point["seconds"] = {name: json.loads(mapped.report())["seconds"] for name, mapped in seconds.items()}
    except Error as error:
        point["error"] = str(error)
    return point


@cache
def _machine(task: Task) -> machines.Machine:
    return task.load()


@cache
def _kernel(task: Task, name: str) -> _native.ResidueKernel:
    """A program, lowered once a worker: for every size the same. Nothing is encrypted, so any set's security will do."""
    program, _, parameters = name.partition("@")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        return programs.residue_kernel(program, parameters or None, _machine(task))


def explore(
    task: Task,
    points: Sequence[Size],
    *,
    results: Path | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    progress: ProgressHook | None = None,
) -> Report:
    """Times the task's programs in every size.

    `results` is a file to which each point is added as it is found; what it holds of the same task is not computed again. The
    work is done by `jobs` processes (as many as there are cores), or by the Dask cluster whose scheduler is at `dask`.
    """
    own = task.size()
    wanted = list(dict.fromkeys([own, *points]))
    found = {} if results is None else _read(results, task, wanted)
    missing = [size for size in wanted if size not in found]
    done = len(found)
    if progress is not None:
        progress("explore", done, len(wanted))
    if missing:
        with _workers(jobs, dask) as workers:
            futures = {workers.submit(evaluate, task, size): size for size in missing}
            try:
                for future in as_completed(futures):
                    size = futures[future]
                    found[size] = _result(future.result, size)
                    if results is not None:
                        _append(results, task, size, found[size])
                    done += 1
                    if progress is not None:
                        progress("explore", done, len(wanted))
            except BaseException:
                for future in futures:
                    future.cancel()
                raise
    return Report("exploration", _data(task, own, [found[size] for size in wanted]))


def _result(result: Any, size: Size) -> dict[str, Any]:  # noqa: ANN401 - a method of any library's future
    try:
        return result()
    except Exception as error:
        raise RunError(f"a worker failed on {asdict(size)}: {type(error).__name__}: {error}; start again") from error


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _workers(jobs: int | None, dask: str | None) -> Iterator[Executor]:
    if dask is None:
        # A forked process would inherit locks of threads that it has not.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(jobs or _cores(), mp_context=context) as pool:
            yield pool
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise RunError("--dask needs dask.distributed; install it: pip install 'polyfabric[dask]'") from error
    try:
        client = Client(dask, timeout="10s")
    except (OSError, ValueError) as error:
        raise RunError(f"there is no Dask scheduler at {dask} ({error}); give the address that it prints") from error
    with client, client.get_executor(pure=False) as pool:
        yield pool


def _key(task: Task, size: Size) -> str:
    """What a result depends on."""
    content = [version("polyfabric"), _machine(task).to_dict(), task.programs, asdict(size)]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _read(path: Path, task: Task, points: Sequence[Size]) -> dict[Size, dict[str, Any]]:
    """The points of a results file that are of this task and have no error."""
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: cannot read the results file ({error}); name another one") from error
    whole, newline, torn = text.rpartition("\n")
    keys = {_key(task, size): size for size in points}
    found = {}
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            entry = json.loads(line)
            size, point = keys.get(entry["key"]), entry["point"]
            if size is not None and "error" not in point:
                float(point["area_mm2"]), [float(point["seconds"][name]) for name in task.programs]
                found[size] = point
        except (ValueError, KeyError, TypeError) as error:
            raise FileError(
                f"{path}:{number}: no line of a results file; name another file, or remove the line"
            ) from error
    if torn and not torn.startswith(_BEGIN[: len(torn)]):
        raise FileError(f"{path}: no results file; name another one")
    if torn:
        # The process that wrote it was stopped in the middle of a line.
        write_text(path, whole + newline)
    return found


_BEGIN = '{"key": "'
"""How a line of a results file begins."""


def _append(path: Path, task: Task, size: Size, point: dict[str, Any]) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": _key(task, size), "point": point}) + "\n")
    except OSError as error:
        raise FileError(f"{path}: cannot write ({error.strerror}); check that the folder exists") from error


def _data(task: Task, own: Size, points: list[dict[str, Any]]) -> dict[str, Any]:
    """Performance of every point, as a multiple of the machine's own, and which points none beats at their area."""
    base = points[0]
    if "error" in base:
        raise MachineError(f"{task.machine} in its own size: {base['error']}")
    for point in points:
        point["own"] = point is base
        if "error" in point:
            continue
        speedups = [base["seconds"][name] / point["seconds"][name] for name in task.programs]
        point["performance"] = geometric_mean(speedups)
    best = 0.0
    for point in sorted((p for p in points if "error" not in p), key=lambda p: (p["area_mm2"], -p["performance"])):
        point["pareto"] = point["performance"] > best
        best = max(best, point["performance"])
    return {"machine": task.machine, "programs": list(task.programs), "own": asdict(own), "points": points}


NETWORKS = ("crossbar", "clos", "benes")
"""What can connect clusters and banks."""


def networks(text: str, option: str) -> list[str]:
    """Names from `crossbar,clos`."""
    for name in (names := text.split(",")):
        if name not in NETWORKS:
            raise InputError(f"{option}: there is no network {name!r}; take {', '.join(NETWORKS)}")
    return names


def positive(text: str, option: str) -> list[int]:
    """Numbers from `1,2,4`."""
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"{option}: {text!r} is not whole numbers separated by commas; correct it") from error
    if min(numbers) < 1:
        raise InputError(f"{option}: {min(numbers)} is less than one; correct it")
    return numbers
