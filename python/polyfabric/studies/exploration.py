"""Sweeps of a machine's figures: performance versus area, and the Pareto front."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from itertools import product
from math import isfinite
from pathlib import Path
from statistics import geometric_mean
from typing import Any, TypeVar

from .. import _native
from ..accelerators import machine as accelerators
from ..accelerators.machine import Kernel
from ..accelerators.sweep_axes import Axis, Value, expect_axes, own_values
from ..apps import programs
from ..errors import Error, FileError, InputError, MachineError, SecurityWarning
from ..host.clusters import connected
from ..host.files import read_bytes, write_text
from ..host.memory import limited, most
from ..host.processes import spawned
from ..host.progress import ProgressHook
from ..reports import Report
from ..reports.sweep import with_area
from ..schemes import slot_parameters
from ..schemes.options import PlanOptions
from ..schemes.plan import Plan
from ..schemes.slot_parameters import SlotParameters

Made = TypeVar("Made")


@dataclass(frozen=True)
class Point:
    """A machine with changed figures, as pairs of key and value."""

    values: tuple[tuple[str, Value], ...]

    def of(self, machine: accelerators.Machine) -> accelerators.Machine:
        """The machine with these values."""
        wanted = [(key, float(value)) for key, value in self.values]
        # Values equal to the file's are omitted; changes would require area laws.
        figures = [(key, value) for key, value in wanted if machine.native.figure(key) != value]
        return accelerators.Machine(machine.native.changed(figures) if figures else machine.native)


@dataclass(frozen=True)
class Task:
    """A machine and the programs timed on it at every point: everything that a worker receives."""

    machine: str
    """Name or file."""
    text: str | None
    """The file's text; `None` for a built-in machine."""
    readings: tuple[tuple[str, str], ...]
    """The chosen options of its readings."""
    programs: tuple[str, ...]
    """Each is PROGRAM or PROGRAM@PARAMS."""
    batch: int = 640
    """Batch of a built-in TFHE program."""
    memory: int | None = None
    """Maximum bytes per worker; `None` for its computer's free memory."""

    @staticmethod
    def of(machine: str | Path | accelerators.Machine, programs: Sequence[str] = (), batch: int = 640) -> Task:
        """The task for a machine, by name, loaded, or by file, which is read here rather than by workers. Default programs are those of the
        machine file's sweep."""
        loaded = machine if isinstance(machine, accelerators.Machine) else None
        named = str(machine) if loaded is None else loaded.argument
        text = accelerators.text_of(named) if accelerators.is_file(named) else None
        readings = () if loaded is None else tuple(loaded.readings.items())
        task = Task(named, text, readings, _named(programs), batch)
        if loaded is not None and task.load().to_dict() != loaded.to_dict():
            raise InputError(
                f"explore: the loaded machine {loaded.name} differs from {named}, which every process of the sweep loads; write its file and give that"
            )
        if programs:
            return task
        own = task.load().to_dict().get("sweep_programs", [])
        if not own:
            raise InputError(f"{named}: the machine file names no `sweep_programs`; name some with --programs")
        return replace(task, programs=_named(own))

    def load(self) -> accelerators.Machine:
        """Loads the machine as in its file."""
        if self.text is None:
            return accelerators.load(self.machine, [f"{fact}={option}" for fact, option in self.readings])
        return accelerators.parsed(self.machine, self.text, self.readings)

    def own(self, axes: Sequence[Axis]) -> Point:
        """The file's own values on these axes."""
        return Point(tuple(own_values(self.load(), axes)))


def _named(names: Sequence[str]) -> tuple[str, ...]:
    """The programs of a sweep, without repetitions."""
    if not all(name.partition("@")[0].strip() for name in names):
        raise InputError("a program of the sweep has no name; give each as PROGRAM or PROGRAM@SET")
    return tuple(dict.fromkeys(names))


def own_axes(task: Task) -> list[Axis]:
    """The axes of the machine file's own sweep."""
    axes = task.load().to_dict().get("sweep", [])
    if not axes:
        raise InputError(f"{task.machine}: the machine file has no [[sweep]] table; name axes with --axis KEY=V1,V2,..")
    return axes


def points(axes: Sequence[Axis]) -> list[Point]:
    """All combinations of the axes, without repetitions."""
    steps = [[tuple(zip(axis, values, strict=True)) for values in zip(*axis.values(), strict=True)] for axis in axes]
    made = [Point(tuple((key, _plain(value)) for step in chosen for key, value in step)) for chosen in product(*steps)]
    return list(dict.fromkeys(made))


def _plain(value: Value) -> Value:
    """Normalizes numbers for comparison."""
    return value if isinstance(value, bool | str) else float(value)


def evaluate(task: Task, point: Point) -> dict[str, Any]:
    """For each program, seconds and joules from the checked schedule, or an error; and the area in mm², or why it is unknown.

    Workers call it in local processes or on a cluster.
    """
    found: dict[str, Any] = {"values": dict(point.values)}
    try:
        with limited(task.memory):
            machine = point.of(_machine(task))
            reports = {name: machine.simulate(_planned(task, name, point)).to_dict() for name in task.programs}
    except Error as error:
        return found | {"error": str(error)}
    found["seconds"] = {name: report["seconds"] for name, report in reports.items()}
    found["energy_j"] = {name: report["energy_j"] for name, report in reports.items()}
    found["area_mm2"] = machine.native.area() or None
    if found["area_mm2"] is None:
        found["area_cause"] = _area_cause(machine)
    return found


def _area_cause(machine: accelerators.Machine) -> str:
    """Why the area is unknown."""
    if machine.native.area() == 0:
        return "its components have no area; give their areas"
    return machine.native.area_cause() or "no [components] are described, or one of them has no area; give it"


@cache
def _machine(task: Task) -> accelerators.Machine:
    return task.load()


def _planned(task: Task, name: str, point: Point) -> Plan | Kernel:
    """Plans a program for a machine with the point's figures, which determine accumulation, key switch and baby steps. Nothing is encrypted,
    so any security is accepted."""
    program, _, parameters = name.partition("@")
    machine = point.of(_machine(task))
    if machine.on_slots:
        return _with_any_set(lambda: programs.rns_kernel(program, parameters or None, machine))
    return _elements(task, program, parameters or _own_set(task, program), machine)


def _expect_programs(task: Task) -> None:
    """Rejects unknown programs and parameter sets, and programs of another scheme, before any point is computed."""
    machine = _machine(task)
    for name in task.programs:
        program, _, parameters = name.partition("@")
        machine.expect_executes(program, on_slots=programs.is_on_slots(program))
        if program in programs.MICROBENCHMARKS:
            programs.microbenchmark(program, parameters or None, 1, machine)
        elif parameters and not machine.on_slots:
            _native.TfheParameters.named(parameters)
        elif parameters and SlotParameters.named(parameters) is None:
            slot_parameters.facts(parameters)


@cache
def _own_set(task: Task, program: str) -> str:
    """The set of a TFHE program without a named set: the one chosen for the machine as in its file, for all points."""
    return _elements(task, program, None, _machine(task)).parameters.name


def _elements(task: Task, program: str, parameters: str | None, machine: accelerators.Machine) -> Plan:
    if program in _native.built_in_names():
        return _with_any_set(lambda: programs.timed(program, parameters, task.batch, machine))
    options = PlanOptions(parameters=parameters, machine=machine, max_failure=0.0)
    return _with_any_set(lambda: programs.planned_to_time(program, options))


def _with_any_set(make: Callable[[], Made]) -> Made:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        return make()


def sweep(
    task: Task,
    axes: Sequence[Axis],
    *,
    results: Path | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    progress: ProgressHook | None = None,
) -> Report:
    """Times the task's programs at every combination of the axes, and on the unchanged machine.

    `results` is a file that each point is appended to when it is done; points of the same task in it are not recomputed. `jobs` processes
    (by default one per core), or the Dask cluster with its scheduler at `dask`, do the work.
    """
    expect_axes(axes)
    own = task.own(axes)
    _expect_programs(task)
    wanted = list(dict.fromkeys([own, *points(axes)]))
    found = {} if results is None else _read(results, task, wanted)
    missing = [point for point in wanted if point not in found]
    done = len(found)
    if progress is not None:
        progress("explore", done, len(wanted))
    if missing:
        allowed = most()
        if dask is None and allowed is not None:
            task = replace(task, memory=max(1, allowed // (jobs or _cores())))
        with _workers(jobs, dask) as workers:
            futures = {workers.submit(evaluate, task, point): point for point in missing}
            try:
                for future in as_completed(futures):
                    point = futures[future]
                    found[point] = _result(future.result, point)
                    if results is not None:
                        _append(results, task, point, found[point])
                    done += 1
                    if progress is not None:
                        progress("explore", done, len(wanted))
            except BaseException:
                for future in futures:
                    future.cancel()
                raise
    return Report("exploration", _data(task, own, [found[point] for point in wanted]))


def _result(result: Any, point: Point) -> dict[str, Any]:  # noqa: ANN401 - a method of any library's future
    """A worker's result, or a point with the error if the worker failed."""
    try:
        return result()
    except Exception as error:
        cause = f"a worker failed: {type(error).__name__}: {error}; start again"
        return {"values": dict(point.values), "error": cause}


def _cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _workers(jobs: int | None, dask: str | None) -> Iterator[Executor]:
    if dask is None:
        with spawned(jobs or _cores()) as pool:
            yield pool
        return
    with connected(dask, "--dask") as client, client.get_executor(pure=False) as pool:
        yield pool


def _key(task: Task, point: Point) -> str:
    """Identifies the inputs of a result."""
    content = [version("polyfabric"), _machine(task).to_dict(), task.programs, task.batch, sorted(point.values)]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _read(path: Path, task: Task, wanted: Sequence[Point]) -> dict[Point, dict[str, Any]]:
    """The successful points of this task in a results file."""
    try:
        text = read_bytes(path).decode() if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: cannot read the results file ({error}); name another one") from error
    whole, newline, torn = text.rpartition("\n")
    keys = {_key(task, point): point for point in wanted}
    found = {}
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            entry = json.loads(line)
            point, held = keys.get(entry["key"]), dict(entry["point"])
            if point is not None and "error" not in held:
                found[point] = _held(held, task, point)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise FileError(
                f"{path}:{number}: not a line of a results file; name another file, or remove the line"
            ) from error
    if torn and not torn.startswith(_BEGIN[: len(torn)]):
        raise FileError(f"{path}: not a results file; name another one")
    if torn:
        # The writing process was interrupted within a line.
        write_text(path, whole + newline)
    return found


def _held(held: dict[str, Any], task: Task, point: Point) -> dict[str, Any]:
    """A point's result in the form of `evaluate`; raises `ValueError` if `evaluate` cannot have produced it."""
    values, area = dict(point.values), held["area_mm2"]
    if held["values"] != values:
        raise ValueError("values of another point")
    found = {
        "values": values,
        "seconds": {name: _number(held["seconds"][name]) for name in task.programs},
        "energy_j": {
            name: None if held["energy_j"][name] is None else _number(held["energy_j"][name], zero=True)
            for name in task.programs
        },
        "area_mm2": None if area is None else _number(area),
    }
    if area is None:
        found["area_cause"] = held["area_cause"]
        if not isinstance(found["area_cause"], str):
            raise ValueError("no cause")
    return found


def _number(value: object, *, zero: bool = False) -> float:
    """Checks a time, an energy or an area of a results file."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError("no number")
    if value < 0 or (value == 0 and not zero):
        raise ValueError("a number that no schedule produces")
    return value


_BEGIN = '{"key": "'
"""Prefix of a results file's lines."""


def _append(path: Path, task: Task, point: Point, found: dict[str, Any]) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": _key(task, point), "point": found}) + "\n")
    except OSError as error:
        raise FileError(f"{path}: cannot write ({error.strerror}); check that the folder exists") from error


def _data(task: Task, own: Point, found: list[dict[str, Any]]) -> dict[str, Any]:
    """Performance of every point relative to the machine's own, and the Pareto front of the points with known area."""
    whole = [point for point in found if "error" not in point]
    if not whole:
        raise MachineError(f"{task.machine}: no point has a result; as its file has it: {found[0]['error']}")
    # If the machine's own point failed, compare with the first successful point.
    base = whole[0]
    for point in found:
        point["own"] = point is found[0]
    for point in whole:
        speedups = [base["seconds"][name] / point["seconds"][name] for name in task.programs]
        point["performance"] = geometric_mean(speedups)
        # A point without area is never on the front.
        point["pareto"] = False
    best = 0.0
    for point in sorted(with_area(whole), key=lambda p: (p["area_mm2"], -p["performance"])):
        point["pareto"] = point["performance"] > best
        best = max(best, point["performance"])
    axes = [key for key, _ in own.values]
    return {
        "machine": task.machine,
        "programs": list(task.programs),
        "axes": axes,
        "own": dict(own.values),
        "points": found,
    }
