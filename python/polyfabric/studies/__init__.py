"""Studies of machines: comparisons and sweeps. The functions behind `polyfabric compare` and `polyfabric explore`.

Their implementations are imported on first use, because they import all built-in programs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..accelerators.machine import Machine
from ..errors import InputError, shown
from ..host.files import path_of
from ..language.traced import TracedProgram
from ..language.types import MOST_ELEMENTS
from ..schemes.options import OWN, WIDTHS

if TYPE_CHECKING:
    from ..accelerators.sweep_axes import Value
    from ..host.progress import ProgressHook
    from ..reports import Report
    from ..run.runnable_programs import Program


def compare(
    program: str | Program,
    on: Sequence[str | Path | Machine] = (),
    *,
    parameters: str | Mapping[str, str] | None = None,
    batch: int | None = None,
    readings: Sequence[str] = (),
    widths: str = OWN,
    progress: ProgressHook | None = None,
) -> Report:
    """Times `program`, a built-in name, `FILE.py:FUNCTION` or a `pf.Program`, on machines, by name, file or loaded; by default, on all
    for its scheme. The report has throughput, latency, ratios per mm², W and GB/s, and what bounds each machine.

    With `batch`, a built-in program is timed on so many ciphertexts, and your own program on integers on so many inputs, on all machines:
    on those for TFHE up to 64 inputs one after another, on those for CKKS all of a ciphertext at once. Rows of "cpu", estimates for this
    computer, stand next to them, with the batch from which CKKS is faster in each place, and the curves of time over the batch in the plot.

    `parameters` is a set for all machines, or a set by machine; "auto" lets it choose. Nothing is encrypted, so any security and noise is accepted; the failure
    probability with the machine's arithmetic is reported with its time. If a machine cannot run the program, its row has the reason as
    `error`, or `set_refused` if the set is the reason. With `widths="derived"`, each machine has a second row, with the fixed-point
    widths that `polyfabric widths` derives for it and the set. `readings` apply to the machines that have them.
    """
    from .comparison import compared

    if not isinstance(program, str | TracedProgram):
        raise InputError(
            f"compare: the program is {shown(program)}; give a pf.Program, a built-in name, or FILE.py:FUNCTION"
        )
    if widths not in WIDTHS:
        raise InputError(f"compare: widths={shown(widths)}; give {' or '.join(map(repr, WIDTHS))}")
    _expect_batch("compare", batch)
    return compared(
        program,
        _listed("on", on, Machine),
        parameters=parameters,
        batch=batch,
        readings=readings,
        widths=widths,
        progress=progress,
    )


def _expect_batch(function: str, batch: int | None) -> None:
    whole = isinstance(batch, int) and not isinstance(batch, bool)
    if batch is not None and not (whole and 1 <= batch <= MOST_ELEMENTS):
        raise InputError(f"{function}: batch={shown(batch)}; give an integer from 1 to {MOST_ELEMENTS:,}")


def _listed(what: str, given: Sequence[Any], *others: type) -> Sequence[Any]:
    """Names, or values of the types `others`, in a list; anything else is refused."""
    if (
        isinstance(given, str)
        or not isinstance(given, Sequence)
        or not all(isinstance(one, (str, Path, *others)) for one in given)
    ):
        raise InputError(f"{what}={shown(given)}; give a list of names or files")
    return given


def explore(
    machine: str | Path | Machine,
    axes: Mapping[str, Sequence[Value]] | Sequence[Mapping[str, Sequence[Value]]] = (),
    programs: Sequence[str] = (),
    *,
    batch: int = 640,
    results: str | Path | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    progress: ProgressHook | None = None,
) -> Report:
    """Times programs on a machine, by name, file or loaded, with varied figures: the report shows the best point at each area.

    `axes` are lists of values by the figure's key in the machine file, in its unit: `{"units.xpu.count": [1, 2, 4]}`. Figures of a mapping vary
    independently; in a list of mappings, those of one mapping change together. `programs` are `PROGRAM` or `PROGRAM@SET`, built-in or
    `FILE.py:FUNCTION`. By default both are those of the machine file's own sweep. `batch` is the number of ciphertexts of a built-in TFHE program.

    `results` is a file that each point is appended to when it is done; points in it are not computed again. `jobs` processes (by default one per
    core), or the Dask cluster with its scheduler at the address `dask`, do the work. An impossible point has its
    cause as `error`.
    """
    from .exploration import Task, own_axes, sweep

    _expect_batch("explore", batch)
    task = Task.of(machine, _listed("programs", programs), batch)
    given = [{key: values} for key, values in axes.items()] if isinstance(axes, Mapping) else axes
    well_formed = isinstance(given, Sequence) and all(isinstance(axis, Mapping) for axis in given)
    values = [own for axis in given for own in axis.values()] if well_formed else []
    if not well_formed or not all(isinstance(own, Sequence) and not isinstance(own, str) for own in values):
        raise InputError(
            f"explore: axes={shown(axes)}; give a list of values for each figure, as {{'units.xpu.count': [1, 2, 4]}}"
        )
    chosen = [{key: list(values) for key, values in axis.items()} for axis in given] or own_axes(task)
    file = None if results is None else path_of(results)
    return sweep(task, chosen, results=file, jobs=jobs, dask=dask, progress=progress)
