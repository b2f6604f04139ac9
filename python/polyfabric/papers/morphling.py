"""Morphling's tables and figures, each time from a checked schedule; and table VI, the time of one inference, with every set and order that the paper
leaves open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from .. import _native
from ..accelerators import machine as accelerators
from ..apps.boosted_trees import xgboost
from ..apps.networks import deepcnn, vgg9
from ..errors import Error
from ..host.progress import ProgressHook
from ..language.program import TfheProgram
from . import morphling_figures
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
from .plans import element_plan
from .rows import calibrated, failed, guarded, of
from .side_by_side import Memory, Step, side_by_side

_MANY = 40 * 64
"""Lookups of a long run: the ends of the pipeline account for a few parts in ten thousand."""

_TABLE_5 = {"I": "morphling-I", "II": "morphling-II", "III": "morphling-III", "IV": "morphling-IV-t32"}
"""The sets of table V, as a 32-bit machine runs them."""

_SEEN = ("I", "II")
"""The sets whose throughput was known when the rate of a transform was chosen."""

_SWITCH_LEVELS = (2, 3, 4)
"""Levels of a key switch, of which table III says nothing, with which the lanes keep up with the XPUs or nearly so."""

_CAPTION = Sizes(lwe=481, glwe=2, degree=1024, levels=4, switch_levels=9)
"""Figure 1's set, as its caption prints it."""


def predictions(progress: ProgressHook | None) -> list[dict[str, Any]]:
    """The numbers of its tables and figures."""
    machine = accelerators.load("morphling")
    steps = [Step(f"lookups of set {name}", partial(set_of_table_5, machine, name)) for name in _TABLE_5]
    steps.append(Step("energy of lookups", partial(_energy, machine)))
    made = [row for rows in side_by_side([*steps, *morphling_figures.steps(machine)], progress) for row in rows]
    return [*made, *counted(machine)]


def counted(machine: accelerators.Machine) -> list[dict[str, Any]]:
    """The numbers that need no schedule."""
    return [
        *_table_4(machine),
        *_figure_1(),
        *_section_3(),
        *_network(machine),
        *_vgg9(machine),
        *_units(machine),
        *_figure_3(),
    ]


def set_of_table_5(machine: accelerators.Machine, name: str) -> list[dict[str, Any]]:
    """The rows of a set of table V."""
    parameters, row = _TABLE_5[name], partial(ROWS.row, name=name)
    readings = ("fft_rate=literal", "key_channels=all", "memory=dram")
    literal, every, dram = (accelerators.load("morphling", [reading]) for reading in readings)
    # Two of the three streams of a bank that the file assumes.
    narrow = machine.varied(channels__network__row_read=machine.count("channels.network.row_read") * 2 // 3)
    clock, positions = machine.clock_hz, machine.count("units.xpu.count") * machine.count("units.xpu.rows")
    # The rate of a transform was chosen when these were known.
    kind = "calibrated" if name in _SEEN else None

    def milliseconds(own: accelerators.Machine, count: int) -> float:
        return cycles(own, "pbs", parameters, count) / clock * 1e3

    def rows() -> list[dict[str, Any]]:
        rate = _MANY * clock / cycles(machine, "pbs", parameters, _MANY)
        group = cycles(machine, "pbs", parameters, 64)
        of_literal = _MANY * clock / cycles(literal, "pbs", parameters, _MANY)
        switched = 640 * clock / cycles(machine, "pbs+ks", parameters, 640)

        def steady(own: accelerators.Machine, made: Callable[[int], _native.TfheKernel]) -> float:
            """Lookups a second without the last group's key switch, which nothing hides."""
            return 640 * clock / (cycles_of(own, made(1280)) - cycles_of(own, made(640)))

        four = steady(four_vector_units(machine), partial(lookups, "pbs+ks", parameters))
        return [
            row("table5.{name}.throughput", rate, kind),
            row("table5.{name}.throughput/one batch", 64 * clock / group),
            row("table5.{name}.throughput/literal", of_literal),
            row("table5.{name}.throughput/dram", _MANY * clock / cycles(dram, "pbs", parameters, _MANY)),
            row("table5.{name}.throughput/two streams", _MANY * clock / cycles(narrow, "pbs", parameters, _MANY)),
            row("table5.{name}.throughput/switched", switched),
            row("table5.{name}.throughput/four units", four),
            *(
                row(
                    "table5.{name}.throughput/levels",
                    steady(machine, partial(lookups_with, levels, parameters)),
                    levels=levels,
                )
                for levels in _SWITCH_LEVELS
            ),
            *([row("abstract.throughput", rate)] if name == "I" else []),
            row("table5.{name}.latency", positions / rate * 1e3),
            row("table5.{name}.latency/16, all channels", milliseconds(every, positions)),
            row("table5.{name}.latency/16, two channels", milliseconds(machine, positions)),
            row("table5.{name}.latency/64", group / clock * 1e3),
        ]

    return guarded(rows, f"table5.{name}.throughput", f"table5.{name}.latency")


def _table_4(machine: accelerators.Machine) -> list[dict[str, Any]]:
    """Areas and powers from the machine file, and their sums."""
    rows, sums = [], {"total": {"area": 0.0, "power": 0.0}, "xpus": {"area": 0.0, "power": 0.0}}
    for component in machine.components():
        for what, value in (("area", component["area_mm2"]), ("power", component["power_w"])):
            if value is None:
                continue
            sums["total"][what] += value
            sums["xpus"][what] += value if component["count"] > 1 else 0.0
            rows.append(ROWS.row("table4.{name}.{what}", value / component["count"], name=component["name"], what=what))
    xpus = machine.count("units.xpu.count")
    sums["xpu"] = {what: value / xpus for what, value in sums["xpus"].items()}
    parts = ((name, what, value) for name, own in sums.items() for what, value in own.items())
    return rows + [ROWS.row("table4.{sums}.{what}", value, sums=name, what=what) for name, what, value in parts]


def _energy(machine: accelerators.Machine) -> list[dict[str, Any]]:
    """Mean power in lookups of set I, compared with table IV."""
    try:
        report = machine.simulate(lookups("pbs", _TABLE_5["I"], _MANY)).to_dict()
    except Error as error:
        return [failed("table4.total.power", error, ["Table IV", "mean power in pbs of set I", "W"])]
    rows = []
    for part in report["components"]:
        if part["energy_j"] is not None:
            fields = {"name": part["name"], "activity": part["activity"], "source": part["idle_source"]}
            rows.append(ROWS.row("table4.{name}.power/mean", part["energy_j"] / report["seconds"], **fields))
    if report["power_w"] is not None:
        rows.append(ROWS.row("table4.total.power/mean", report["power_w"]))
    if report["energy_j"] is not None:
        rows.append(ROWS.row("table4.total.power/energy", report["energy_j"] / _MANY * 1e3))
    return rows


def _figure_1() -> list[dict[str, Any]]:
    """Sizes of the keys that figure 1 breaks down, in binary units: with 10^6 bytes neither size is close. Also those of other sets, on 64-bit words,
    with l_k levels and n + 1 words per row of the key-switching key."""
    rows = [
        ROWS.row("figure1.bsk", _CAPTION.bootstrapping_key / 2**20),
        ROWS.row("figure1.ksk", _CAPTION.key_switching_key / 2**20),
    ]
    for name in ("A", "B", "IV"):
        sizes = Sizes.of(f"morphling-{name}")
        rows.append(ROWS.row("figure1.bsk/of sets", sizes.bootstrapping_key * 1e-6, name=name))
        # The key-switching key has 32-bit words in figure 1.
        rows.append(ROWS.row("figure1.ksk/of sets", 2.0 * sizes.key_switching_key * 1e-6, name=name))
    return rows


def _section_3() -> list[dict[str, Any]]:
    """Section III's statements on the operations of figure 1's set."""
    sizes, row = _CAPTION, ROWS.row
    transforms = sum(_native.rotation_transforms(sizes.glwe, sizes.levels, False, False)) * sizes.lwe
    rotation = sizes.transforms + sizes.pointwise
    counted = rotation + sizes.key_switch
    intensity = rotation / sizes.bootstrapping_key / (sizes.key_switch / sizes.key_switching_key)
    return [
        row("section3.products", sizes.products),
        row("section3.doubled", transforms / sizes.products),
        row("section3.transforms", 100.0 * sizes.transforms / counted),
        row("section3.key_switch", 100.0 * sizes.key_switch / counted),
        row("section1.rotation", 100.0 * rotation / counted),
        row("section3.others", 100.0 * (sizes.lwe + 1.0) / counted),
        row("section3.others/digits", 100.0 * (sizes.digits + sizes.lwe + 1.0) / counted),
        row("section3.intensity", intensity),
    ]


def _network(machine: accelerators.Machine) -> list[dict[str, Any]]:
    """The maximum bandwidth of the connections between buffers and units."""
    links = ("row_read", "row_write", "key", "link", "vector_read", "vector_write")
    width = {name: machine.count(f"channels.network.{name}") for name in links}
    xpus, rows, columns = (machine.count(f"units.xpu.{what}") for what in ("count", "rows", "columns"))
    parts = {
        "rows of Private-A1": xpus * rows * (width["row_read"] + width["row_write"]),
        "key to the XPUs": xpus * columns * width["key"],
        "links": 2 * xpus * width["link"],
        "lanes": machine.count("units.vpu.groups") * (width["vector_read"] + width["vector_write"]),
    }

    def terabytes(width: float) -> float:
        return width * machine.clock_hz * 1e-12

    made = [ROWS.row("section5.network/parts", terabytes(of_part), part=part) for part, of_part in parts.items()]
    # The two pointers and the write-back of each row, without the old accumulator.
    pointers = width["row_read"] * 2 / machine.count("memories.private_a1.streams")
    streamed = xpus * rows * (pointers + width["row_write"]) + parts["key to the XPUs"]
    fields = {"bytes": round(streamed), "binary": streamed * machine.clock_hz / 1e9 / 1024}
    streams = ROWS.row("section5.network/streams", terabytes(streamed), **fields)
    return [ROWS.row("section5.network", terabytes(sum(parts.values()))), streams, *made]


def _vgg9(machine: accelerators.Machine) -> list[dict[str, Any]]:
    """The least times of VGG-9's lookups, by what the XPUs do without key switches."""
    # Activations of six convolutions and two layers of 512 (section VI-A). Pooling after the second and the fourth may come before its rectifier.
    rows = []
    for pooled, words in ((1, "all activations"), (4, "pooling before the rectifier")):
        second, fourth = 32 * 32 * 64 // pooled, 16 * 16 * 128 // pooled
        count = 32 * 32 * 64 + second + 16 * 16 * 128 + fourth + 2 * 8 * 8 * 256 + 2 * 512
        for name in ("I", "B", "C"):
            parameters = SETS_OF_FIGURES[name]
            seconds = count * cycles(machine, "pbs", parameters, _MANY) / _MANY / machine.clock_hz
            rows.append(ROWS.row("table6.vgg-9/least", seconds, name=name, count=count, words=words))
    return rows


def _units(machine: accelerators.Machine) -> list[dict[str, Any]]:
    """The chip's units, as section VI-C counts them."""
    units = ("count", "rows", "fft_units", "ifft_units")
    xpus, rows, forward, inverse = (machine.count(f"units.xpu.{what}") for what in units)
    return [ROWS.row("section6.transforms", xpus * (forward + inverse)), ROWS.row("section6.cores", xpus * rows)]


def _figure_3() -> list[dict[str, Any]]:
    """Transforms that the reuses save, counted in the bodies of blind rotations."""
    iterations = Sizes.of("morphling-C").lwe
    variants = {"input": ((True, False), "input reuse"), "both": ((True, True), "input and output reuse")}
    printed = {(1, 1): ("input",), (3, 3): ("input", "both")}
    rows = []
    for k in (1, 2, 3):
        for levels in (1, 2, 3):
            none = sum(_native.rotation_transforms(k, levels, False, False))
            for what, (choice, text) in variants.items():
                fewer = 100.0 * (1.0 - sum(_native.rotation_transforms(k, levels, *choice)) / none)
                key = "figure3.reduction.{k}.{levels}.{what}"
                key += "" if what in printed.get((k, levels), ()) else "/others"
                fields = {"k": k, "levels": levels, "what": what, "text": text, "iterations": iterations}
                rows.append(ROWS.row(key, fewer, **fields))
            if (k, levels) == (3, 3):
                rows.append(ROWS.row("figure3.transforms.3.3.none", none * iterations, iterations=iterations))
    return rows


SETS = {"A": "morphling-A-t32", "B": "morphling-B", "C": "morphling-C"}
ORDERS = ("after", "before")

_OF_A_SET = "section VI says that sets A to C serve the experiments beside table V; table VI names none"
_OF_AN_ORDER = {
    "after": "section V-E: modulus switch, XPU, sample extraction, key switch",
    "before": "sums are then over the large key, which makes less noise; the order that `plan` takes by itself",
    "none": "nothing reads what the last lookups give, so no key switch follows them",
}
_REASON = "first load to last store of one inference, every layer waiting for what it reads"
ALONE = ("vgg-9", "A", "before")
"""Program, set and order that must run alone: its sums have ciphertexts of 16 KiB, and the schedule takes nearly 8 GiB."""

LARGE = "vgg-9"
"""The program whose schedules take gigabytes."""

PRINTED = ("table6.xg-boost", "table6.deepcnn-20")
"""Cells whose times are known to us; those of the others follow from other figures, within a range."""

_KNOWN = "which was known when the program was written: ours, in section VI-A's shapes"
_OF_PRINTED = f"calibrated: table VI prints this time, {_KNOWN}"
_OF_BOUNDED = f"calibrated: table VI's CPU time and section VI-C's speed-ups bound this time, {_KNOWN}"
CHOSEN = (
    "of the sets, C was once taken as the default because it meets this cell; the rows of the others stand beside it"
    """Of the cells that a set was once chosen by."""
)


@dataclass(frozen=True)
class Case:
    """One simulation of table VI."""

    cell: str
    program: TfheProgram
    set: str
    order: str
    beside: str | None = None
    """The row's name if it is no published cell's."""
    reason: str = _REASON

    @property
    def memory(self) -> Memory:
        """The memory that it leaves for others."""
        if (self.program.name, self.set, self.order) == ALONE:
            return Memory.ALL
        return Memory.LARGE if self.program.name == LARGE else Memory.LITTLE

    @property
    def chosen(self) -> bool:
        """Whether this cell's published value also influenced the choice of set and order."""
        return self.cell in PRINTED and self.set == "C" and self.order != "before" and self.beside is None

    def row(self, machine: accelerators.Machine) -> dict[str, Any]:
        """Its row of the comparison."""
        place = ["Table VI", f"{self.program.name}, {self.beside}", "s"] if self.beside else None
        try:
            report = machine.simulate(element_plan(self.program, SETS[self.set], self.order, machine)).to_dict()
        except Error as error:
            return of(failed(self.cell, error, place), set=self.set, key_switch=self.order)
        why = _OF_PRINTED if self.cell in PRINTED else _OF_BOUNDED
        why = f"{why}; {CHOSEN}" if self.chosen else why
        choice = f"set {self.set}, key switch {self.order}; {_OF_A_SET}; {_OF_AN_ORDER[self.order]}"
        reason = f"{choice}; {why}; {self.reason}; {report['operations']:,} lookups"
        row = calibrated(self.cell, report["seconds"], reason, place)
        return of(row, set=self.set, key_switch=self.order, lookups=report["operations"])


def cases() -> Iterator[Case]:
    """Every simulation of table VI, the longest first."""
    networks = {"vgg-9": vgg9(), **{f"deepcnn-{depth}": deepcnn(depth) for depth in (100, 50, 20)}}
    for name, program in networks.items():
        for order in ORDERS:
            yield from (Case(f"table6.{name}", program, which, order) for which in SETS)
    # The decisions alone are the comparisons that the paper mentions: no key switch follows them.
    for order in ("none", "before"):
        yield from (Case("table6.xg-boost", xgboost(leaves=False), which, order) for which in SETS)
    leaves = "a lookup more for every leaf whose value is not 0, and key switches: which leaf is reached"
    for which in SETS:
        yield Case("table6.xg-boost", xgboost(), which, "after", f"leaves too, set {which}", leaves)
        dense = f"dense kernels, set {which}"
        yield Case("table6.deepcnn-20", deepcnn(20, taps=None), which, "after", dense, "every weight is 1 or -1")


def applications(progress: ProgressHook | None) -> list[dict[str, Any]]:
    """Morphling's table VI: the time of one inference."""
    machine = accelerators.load("morphling")
    steps = [
        Step(
            f"simulate {case.program.name} with set {case.set}, key switch {case.order}",
            partial(case.row, machine),
            case.memory,
        )
        for case in cases()
    ]
    return side_by_side(steps, progress)
