"""Morphling's figures 7 and 8: the parts of the time, the gains of the architecture types, and the limits of memory and units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from .. import _native
from ..accelerators import machine as accelerators
from .morphling_shared import (
    ROWS,
    SETS_OF_FIGURES,
    Sizes,
    cycles,
    cycles_of,
    four_vector_units,
    lookups,
    lookups_with,
)
from .rows import guarded
from .side_by_side import Step

_GROUP = 64
_BATCH = 6 * _GROUP
"""Lookups of a point of figure 7b."""
_SWEPT = 10 * _GROUP
"""Lookups of a point of figure 8's throughput; its latency is of one group."""

_PRIVATE_A1_KIB = (1024, 1536, 2048, 2304, 2560, 3072, 3584, 4096, 4608, 5120, 6144, 8192)
"""Sizes of Private-A1 in figure 8a: the curve of the largest ring bends between 2 and 2.25 MiB, and between 4 and 4.5."""

_XPUS = (1, 2, 4, 8, 16)

_FULL = ((0.01, "1 %"), (0.02, "2 %"), (0.05, "5 %"))
"""Thresholds for "the performance stabilizes" in figure 8a, as distance from the best. The first gives the published cell's row, the others
additional rows."""

_GROWTH = ((0.1, "a tenth"), (0.25, "a quarter"))
"""Thresholds for growth in figure 8b, as gain with twice the XPUs. The first gives the published cell's row, the others additional rows."""

_ARCHITECTURES = ((False, False), (True, False), (True, True))
"""No reuse, input reuse, input and output reuse: whether products share input transforms, and are summed in the transform domain."""


def steps(machine: accelerators.Machine) -> list[Step[list[dict[str, Any]]]]:
    """The computation of the rows of both figures."""
    made: list[tuple[str, Callable[[], list[dict[str, Any]]]]] = [
        *((f"shares of the time in {name}", partial(_figure_7a, machine, name)) for name in ("pbs", "pbs+ks")),
        *((f"architectures with set {name}", partial(_figure_7b, machine, name)) for name in ("A", "B", "C")),
        *((f"sizes of Private-A1 with set {name}", partial(_figure_8a, machine, name)) for name in SETS_OF_FIGURES),
        *((f"numbers of XPUs with set {name}", partial(_figure_8b, machine, name)) for name in SETS_OF_FIGURES),
    ]
    return [Step(words, make) for words, make in made]


_PARTS = {"array": "NoC", "link": "NoC", "dma": "DMA", "lanes": "VPU, modulus switch and sample extraction"}
_OWN_PARTS = {"xpu.rotate": "XPU", "vpu.ks": "VPU, key switch"}
_ORDER = ("XPU", "VPU, key switch", "VPU, modulus switch and sample extraction", "NoC", "DMA")


def _shares(machine: accelerators.Machine, program: _native.TfheKernel) -> dict[str, float]:
    """For each part, the share of the time in which it is busy and no part of higher precedence is."""
    instructions = machine.mapping(program)["instructions"]
    # Their schedule is checked and audited.
    cycles_of(machine, program)
    whole = max(ran["end"] for ran in instructions)
    spans: dict[str, list[tuple[int, int]]] = {}
    for ran in instructions:
        part = _OWN_PARTS.get(ran["action"], _PARTS[ran["unit"]])
        spans.setdefault(part, []).append((ran["start"], ran["end"]))
    taken: list[tuple[int, int]] = []
    shares, before = {}, 0
    for part in _ORDER:
        taken += spans.get(part, [])
        covered = _covered(taken)
        if covered > before:
            shares[part] = (covered - before) / whole
        before = covered
    return shares


def _covered(spans: Sequence[tuple[int, int]]) -> int:
    """Cycles covered by at least one of the spans."""
    end = covered = 0
    for start, past in sorted(spans):
        covered += max(past - max(start, end), 0)
        end = max(end, past)
    return covered


def _figure_7a(machine: accelerators.Machine, name: str) -> list[dict[str, Any]]:
    cell = "figure7a.xpu" if name == "pbs" else "figure7a.dominates"

    def rows() -> list[dict[str, Any]]:
        made = []
        # A whole program of ten groups, with every set that the figure may use.
        for which, parameters in SETS_OF_FIGURES.items():
            share = _shares(machine, lookups(name, parameters, _SWEPT)).get("XPU", 0.0)
            made.append(ROWS.row(f"{cell}/long", 100.0 * share, name=which))
        for part, share in _shares(machine, lookups(name, "morphling-I", _GROUP)).items():
            made.append(ROWS.row(cell if part == "XPU" else f"{cell}/parts", 100.0 * share, part=part))
        if name == "pbs+ks":
            group = lookups(name, "morphling-I", _GROUP)
            others = {
                "alone": (machine, lookups(name, "morphling-I", 1)),
                "four units": (four_vector_units(machine), group),
                "two levels": (machine, lookups_with(2, "morphling-I", _GROUP)),
            }
            made += [
                ROWS.row(f"{cell}/{which}", 100.0 * _shares(own, program).get("XPU", 0.0))
                for which, (own, program) in others.items()
            ]
        return made

    return guarded(rows, cell)


def _pooled(machine: accelerators.Machine, transforms: tuple[int, int]) -> accelerators.Machine:
    """The machine with the best division of its transform units between that many forward and inverse transforms. Each row keeps as many points per
    cycle as its share of all units, limited by its path. Its links set the rates."""
    rows, path = machine.count("units.xpu.rows"), machine.count("units.path.points")
    pool = (machine.count("units.xpu.fft_units") + rows) * path // rows
    most = min(path, pool - 1)

    def slowest(forward: int) -> float:
        return max(transforms[0] / forward, transforms[1] / (pool - forward))

    forward = min(range(pool - most, most + 1), key=slowest)
    return machine.varied(
        units__xpu__fft_units=rows,
        channels__network__key=8 * forward,
        channels__network__row_write=8 * (pool - forward),
    )


def _figure_7b(machine: accelerators.Machine, name: str) -> list[dict[str, Any]]:
    parameters = SETS_OF_FIGURES[name]
    sizes = Sizes.of(parameters)

    def rows() -> list[dict[str, Any]]:
        # Without merge-split a unit processes one polynomial at a time, on its own lanes.
        single = machine.varied(units__xpu__merge_split=0, units__fft__points=machine.count("units.path.points"))
        held, pooled = [], []
        for choice in _ARCHITECTURES:
            divided = _pooled(single, _native.rotation_transforms(sizes.glwe, sizes.levels, *choice))
            for found, own in ((held, single), (pooled, divided)):
                found.append(cycles(own, "pbs", parameters, _BATCH, choice))
        merged = cycles(machine, "pbs", parameters, _BATCH)
        speed_ups = (("input", 0, 1), ("both", 0, 2), ("merge_split", 2, 3), ("all", 0, 3))
        labels = ("no reuse", "input reuse", "input and output reuse", "both reuses and merge-split")
        made = []
        for resources, found in (("held", held), ("pooled", pooled)):
            times, row = [*found, merged], partial(ROWS.row, name=name)
            for what, slow, fast in speed_ups:
                made.append(row(f"figure7b.{{name}}.{{what}}/{resources}", times[slow] / times[fast], what=what))
            for label, each in zip(labels, times, strict=True):
                made.append(row(f"figure7b.{{name}}.all/{resources}", _BATCH * machine.clock_hz / each, label=label))
        return made

    return guarded(rows, f"figure7b.{name}.all")


def _point(name: str, axis: str, unit: str, at: int, row: dict[str, Any]) -> dict[str, Any]:
    """A row for a point of a set's curve."""
    return {**row, "point": {"curve": f"set {name}", "axis": axis, "unit": unit, "at": float(at)}}


def _figure_8a(machine: accelerators.Machine, name: str) -> list[dict[str, Any]]:
    """Throughput and latency over the size of Private-A1, and the smallest size of full throughput."""
    parameters, row = SETS_OF_FIGURES[name], partial(ROWS.row, name=name)

    def rows() -> list[dict[str, Any]]:
        made, rates = [], {}
        for kib in _PRIVATE_A1_KIB:
            # The figure is in MiB.
            own = machine.varied(memories__private_a1__capacity=kib / 1024)
            rates[kib] = _SWEPT * machine.clock_hz / cycles(own, "pbs", parameters, _SWEPT)
            milliseconds = cycles(own, "pbs", parameters, _GROUP) / machine.clock_hz * 1e3
            for key, value in (("throughput", rates[kib]), ("latency", milliseconds)):
                made.append(_point(name, "Private-A1", "KiB", kib, row(f"figure8a.knee/{key}", value, kib=kib)))
        for threshold, words in _FULL:
            best = max(rates.values())
            smallest = next(kib for kib, rate in rates.items() if rate >= (1.0 - threshold) * best)
            own = (name, words) == ("A", _FULL[0][1])
            made.append(row("figure8a.knee" if own else "figure8a.knee/others", smallest, words=words))
        return made

    return guarded(rows, *(["figure8a.knee"] if name == "A" else []))


def _figure_8b(machine: accelerators.Machine, name: str) -> list[dict[str, Any]]:
    """Throughput over the number of XPUs, and the number at which it stops growing."""
    parameters, row = SETS_OF_FIGURES[name], partial(ROWS.row, name=name)
    own, of_row = machine.count("units.xpu.count"), machine.count("machine.reuse.key_streams")

    def rows() -> list[dict[str, Any]]:
        made, rates = [], {}
        for xpus in _XPUS:
            # 64 ciphertexts share a key, however many rows they lie in (section IV-C).
            varied = machine.varied(units__xpu__count=xpus, machine__reuse__key_streams=max(own * of_row // xpus, 1))
            rates[xpus] = _SWEPT * machine.clock_hz / cycles(varied, "pbs", parameters, _SWEPT)
            made.append(_point(name, "XPUs", "XPUs", xpus, row("figure8b.knee/throughput", rates[xpus], xpus=xpus)))
        for threshold, words in _GROWTH:
            pairs = pairwise(rates.items())
            few = (few for (few, rate), (_, of_more) in pairs if of_more < (1.0 + threshold) * rate)
            own_cell = (name, words) == ("C", _GROWTH[0][1])
            made.append(row("figure8b.knee" if own_cell else "figure8b.knee/others", next(few, _XPUS[-1]), words=words))
        return made

    return guarded(rows, *(["figure8b.knee"] if name == "C" else []))
