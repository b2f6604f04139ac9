"""Strix's tables and figures, each number from a checked schedule; and figure 7, the time of one inference of Zama's Deep-NN, in the rings of the
paper and with both orders of the key switch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .. import _native
from ..accelerators import machine as accelerators
from ..apps.deep_nn import deep_nn
from ..errors import Error
from ..host.progress import ProgressHook
from ..host.units import probability
from ..schemes.tfhe import named_parameters
from .catalog import Catalog
from .lookups import kernel, simulated
from .plans import element_plan
from .rows import failed, guarded, of, predicted
from .side_by_side import Step, side_by_side

_ROWS = Catalog("strix")

_SEEN = ("I", "II", "III")
"""The sets of table V whose published numbers were known when the bus of the bootstrapping key was interpreted."""

_EPOCHS = 8
"""Epochs of a long run. For lookups alone, its ends account for a few parts in a thousand. The last epoch's key switch, which nothing hides,
accounts for 6 %."""

_KEY_SWITCH_LEVELS = (8, 4, 3)
"""Levels of the key-switch gadget, which table IV does not have: the TFHE library's, and those with which latencies of sets II and III fit."""

_TABLE_7 = ((16, 2), (8, 4), (4, 8), (2, 16), (1, 32))
"""TvLP and CLP."""

FIGURE_8 = ((3, 1), (3, 0), (2, 1))
"""Ciphertexts a core and first iteration of figure 8's windows."""

_NAMED_BANKS = 16
"""Banks of a core's accumulators by section V-C, whose rotators take two coefficients of each bank in a cycle."""

_CORE, _FFT, _UNFOLDED_FFT = 9.38, 1.81, 3.13
"""Areas in mm2 of a core and of an I/FFT unit, and of one without folding (tables III and VI)."""

_BUFFER, _INTERFACE = 4.05 / 2, 14.90 / 310
"""Areas in mm2 of a MiB of a buffer of many banks, and of an HBM2e interface by its GB/s, in 28 nm: table IV of the reading's paper."""

_FULL = 0.01
"""The tolerance for a point of table VII to count as equal to the best throughput."""

_COLUMNS = (
    "throughput",
    "latency",
    "bandwidth",
    "bandwidth without a gap",
    "bandwidth of one ciphertext a core",
    "bandwidth with key switches",
    "stack",
    "stack of one ciphertext a core",
)
"""The resources of a point of table VII, in order."""

_UNITS = ("rotator", "decomposer", "fft", "vma", "ifft", "accumulator")


def predictions(progress: ProgressHook | None) -> list[dict[str, Any]]:
    """The numbers of its tables and of figures 2 and 8."""
    machine = accelerators.load("strix")
    steps = [Step(f"lookups of set {name}", partial(_set, machine, name)) for name in (*_SEEN, "IV")]
    steps += [
        Step(f"lookups with TvLP {cores}, CLP {lanes}", partial(_point, machine, cores, lanes))
        for cores, lanes in _TABLE_7
    ]
    steps += [
        Step(f"iterations of {waves} ciphertexts a core", partial(iterations, machine, waves, first))
        for waves, first in FIGURE_8
    ]
    steps.append(Step("machine without folding", _unfolded))
    made = side_by_side(steps, progress)
    rows = [row for each in made for row in each]
    own = {row["id"]: row["value"] for row in rows if row["beside"] is None}
    return [*rows, *_taken_in(machine), *_areas(machine), *_table_6(own), *_best_point(own), *_figure_2()]


def _long(
    machine: accelerators.Machine, name: str, parameters: str, epochs: int = _EPOCHS
) -> tuple[dict[str, Any], int, int]:
    """The report of a long run, its number of ciphertexts, and the number that a core holds at a time, from a first mapping."""
    cores = machine.count("units.core.count")
    most = cores * machine.count("units.core.batch")
    waves = round(machine.mapping(kernel(machine, name, parameters, most))["quantities"]["ciphertexts_a_core"])
    return simulated(machine, name, parameters, epochs * cores * waves), epochs * cores * waves, waves


def _rate(machine: accelerators.Machine, report: dict[str, Any], count: int) -> float:
    return count * machine.clock_hz / report["cycles"]


def _latency(machine: accelerators.Machine, parameters: str) -> tuple[float, float, dict[str, Any]]:
    """Milliseconds of one ciphertext per core, from the first load to the last store; the part of them in which a core's FFT units are busy; and the
    report."""
    report = simulated(machine, "pbs", parameters, machine.count("units.core.count"))
    return report["cycles"] / machine.clock_hz * 1e3, report["limits"]["fft"] / machine.clock_hz * 1e3, report


def _own_key_switch(machine: accelerators.Machine, parameters: str, levels: int) -> float:
    """Milliseconds in which a core's key-switch cluster is at work for one ciphertext, with a gadget of that many levels."""
    literal = json.loads(named_parameters(parameters, warn=False).to_json())
    literal["key_switch_gadget"]["levels"] = levels
    changed = _native.TfheParameters.from_json(json.dumps(literal))
    cores = machine.count("units.core.count")
    report = machine.simulate(_native.built_in("pbs+ks", changed, cores, machine.native)[1]).to_dict()
    return report["limits"]["key_switch"] / machine.clock_hz * 1e3


def _set(machine: accelerators.Machine, name: str) -> list[dict[str, Any]]:
    """The rows of a set of table V."""
    parameters, row = f"strix-{name}", partial(_ROWS.row, name=name)
    # Figures that depend on the bus and were unknown when it was interpreted are predicted.
    kind = "calibrated" if name in _SEEN else None

    def rows() -> list[dict[str, Any]]:
        report, count, waves = _long(machine, "pbs", parameters)
        half, halved, _ = _long(machine, "pbs+ks", parameters, _EPOCHS // 2)
        whole = simulated(machine, "pbs+ks", parameters, 2 * halved)
        steady = halved * machine.clock_hz / (whole["cycles"] - half["cycles"])
        shared, of_shared, _ = _long(accelerators.load("strix", ["key_bus=shared"]), "pbs", parameters)
        dram, of_dram, _ = _long(accelerators.load("strix", ["memory=dram"]), "pbs", parameters)
        milliseconds, fft, _ = _latency(machine, parameters)
        fill = machine.mapping(kernel(machine, "pbs", parameters, 1))["quantities"]["cycles_to_accumulator"]
        return [
            row("table5.{name}.throughput", _rate(machine, report, count), kind, count=count, waves=waves),
            row("table5.{name}.throughput/switched", steady),
            row("table5.{name}.throughput/shared", _rate(machine, shared, of_shared)),
            row("table5.{name}.throughput/dram", _rate(machine, dram, of_dram)),
            row("table5.{name}.latency", milliseconds, kind, fill=fill),
            row("table5.{name}.latency/work", fft),
            row("table5.{name}.latency/rest", milliseconds - fft),
            *(
                row("table5.{name}.latency/switched", fft + _own_key_switch(machine, parameters, levels), levels=levels)
                for levels in _KEY_SWITCH_LEVELS
            ),
        ]

    return guarded(rows, f"table5.{name}.throughput", f"table5.{name}.latency")


def _taken_in(machine: accelerators.Machine) -> list[dict[str, Any]]:
    """Table III, and the memory on the chip."""
    rows = [
        _ROWS.row("table3.{name}.{what}", component[figure], name=component["name"], what=what)
        for component in machine.components()
        for what, figure in (("area", "area_mm2"), ("power", "power_w"))
        if component[figure] is not None
    ]
    local, of_all = (machine.figure(f"memories.{memory}.capacity") for memory in ("local", "global"))
    cores = machine.count("units.core.count")
    return [*rows, _ROWS.row("section7.memory", of_all + cores * local / 1024)]


def _areas(machine: accelerators.Machine) -> list[dict[str, Any]]:
    """Areas by part: memories and interface as large as another machine's in the same process, by bytes and by bandwidth."""
    parts = {
        # KiB and MiB, as the file has them.
        "local": machine.figure("memories.local.capacity") / 1024 * _BUFFER,
        "global": machine.figure("memories.global.capacity") * _BUFFER,
        "phy": machine.figure("channels.hbm.bandwidth") * _INTERFACE,
    }
    cores, transforms = machine.count("units.core.count"), 2 * machine.count("units.core.rows")
    whole = cores * _CORE + parts["global"] + parts["phy"]
    others = _CORE - transforms * _FFT - parts["local"]
    # Without folding all other units have half of the lanes.
    unfolded = _CORE + transforms * (_UNFOLDED_FFT - _FFT) - others / 2
    row = _ROWS.row
    return [
        *(row("table3.{name}.area/in another chip", value, name=name) for name, value in parts.items()),
        row("table3.chip.area/parts", whole),
        row("table3.core.area/others", others, transforms=transforms),
        row("table6.off.core_area", unfolded, transforms=transforms),
        row("table6.improvement.core_area", unfolded / _CORE),
    ]


def _unfolded() -> list[dict[str, Any]]:
    """Table VI's design without folding."""
    machine = accelerators.load("strix", ["folding=off"])
    whats = ("throughput", "latency")

    def rows() -> list[dict[str, Any]]:
        report, count, _ = _long(machine, "pbs", "strix-I")
        numbers = (_rate(machine, report, count), _latency(machine, "strix-I")[0])
        return [_ROWS.row("table6.off.{what}", number, what=what) for what, number in zip(whats, numbers, strict=True)]

    return guarded(rows, *(f"table6.off.{what}" for what in whats))


def _table_6(own: dict[str, float | None]) -> list[dict[str, Any]]:
    """Folding's part of table VI, and its improvements."""
    rows = []
    for what in ("throughput", "latency"):
        row, folded, unfolded = partial(_ROWS.row, what=what), own[f"table5.I.{what}"], own[f"table6.off.{what}"]
        if folded is not None:
            rows.append(row("table6.on.{what}", folded))
        if folded is not None and unfolded is not None:
            improvement = folded / unfolded if what == "throughput" else unfolded / folded
            rows.append(row("table6.improvement.{what}", improvement))
    return rows


def _point(machine: accelerators.Machine, cores: int, lanes: int) -> list[dict[str, Any]]:
    """The rows of a point of table VII."""
    set_iv = "strix-IV"
    point, row = f"TvLP {cores}, CLP {lanes}", partial(_ROWS.row, cores=cores, lanes=lanes)

    def rows() -> list[dict[str, Any]]:
        # The key bus is as wide as the multipliers require, 512 bits at four lanes, and the scratchpads have as many banks as the units.
        own = machine.varied(
            units__core__count=cores,
            units__core__lanes=lanes,
            channels__key_bus__rate=1024 * lanes // 4,
            memories__local__banks=8 * lanes + 4,
        )
        report, count, waves = _long(own, "pbs", set_iv)
        milliseconds, fft, alone = _latency(own, set_iv)
        key = alone["traffic_bytes"]["bootstrap_key"]
        # The transfers in a run that no channel delays.
        unlimited = own.varied(channels__hbm__bandwidth=1024 * 300)
        moved, keys = [], []
        shares = [own.count(f"channels.hbm.{what}_channels") for what in ("key", "switch", "ciphertext")]
        one = unlimited.varied(units__core__batch=1)
        for each, name in ((unlimited, "pbs"), (one, "pbs"), (unlimited, "pbs+ks")):
            run, _, _ = _long(each, name, set_iv)
            moved.append(run["traffic_bytes"]["total"] / run["cycles"] * machine.clock_hz / 1e9)
            of_key = run["traffic_bytes"]["bootstrap_key"] / run["cycles"] * machine.clock_hz / 1e9
            keys.append(of_key * sum(shares) / shares[0])
        made = (
            row("table7.{cores}.{lanes}.throughput", _rate(machine, report, count), waves=waves),
            row("table7.{cores}.{lanes}.latency", milliseconds),
            row("table7.{cores}.{lanes}.bandwidth", moved[0], waves=waves),
            row("table7.{cores}.{lanes}.bandwidth/without a gap", key / (1e-3 * fft) / 1e9),
            row("table7.{cores}.{lanes}.bandwidth/one ciphertext", moved[1]),
            row("table7.{cores}.{lanes}.bandwidth/switched", moved[2], waves=waves),
            row("table7.{cores}.{lanes}.bandwidth/stack", keys[0], waves=waves, share=shares[0], all=sum(shares)),
            row("table7.{cores}.{lanes}.bandwidth/stack of one", keys[1], share=shares[0], all=sum(shares)),
        )
        return [of(row, point=point, column=column) for row, column in zip(made, _COLUMNS, strict=True)]

    return guarded(rows, *(f"table7.{cores}.{lanes}.{what}" for what in ("throughput", "latency", "bandwidth")))


def _best_point(own: dict[str, float | None]) -> list[dict[str, Any]]:
    """TvLP of the best point of table VII."""
    points = [
        (cores, *(own[f"table7.{cores}.{lanes}.{what}"] for what in ("throughput", "latency")))
        for cores, lanes in _TABLE_7
    ]
    if any(rate is None or latency is None for _, rate, latency in points):
        return []
    best = max(rate for _, rate, _ in points)
    cores, _, _ = min((point for point in points if point[1] >= (1 - _FULL) * best), key=lambda point: point[2])
    return [_ROWS.row("section6.best", cores)]


def fragments(ciphertexts: int, cores: int = 72, core_batch: int = 1) -> int:
    """Consecutive blind rotations on a device that batches that many ciphertexts (formula 2); by default on figure 2's GPU."""
    return -(-ciphertexts // (cores * core_batch))


def _figure_2() -> list[dict[str, Any]]:
    """Times of a GPU, by the paper's own formulas: no additional evidence."""
    rows = [_ROWS.row("figure2.gpu.73", fragments(73) / fragments(72))]
    for count in (36, 144, 145, 288):
        rows.append(_ROWS.row("figure2.gpu.73/others", fragments(count) / fragments(72), count=count))
    return [*rows, _ROWS.row("figure2.gpu.core-batch", 2.0 * fragments(144, core_batch=2) / fragments(144))]


def iterations(machine: accelerators.Machine, waves: int, first: int) -> list[dict[str, Any]]:
    """Figure 8: shares of the time of two iterations, on the first core: of the first two that no load delays, or of the very first."""
    fields = {"waves": waves, "first": first, "next": first + 1, "past": first + 2}
    # The text has the first two iterations. Those after the first were used after these had turned out lower.
    key = "figure8.{what}" if (waves, first) == (3, 1) else "figure8.{what}/others"
    kind = "calibrated" if first > 0 else None

    def row(what: str, share: float) -> dict[str, Any]:
        return _ROWS.row(key, 100 * share, kind, what=what, **fields)

    def rows() -> list[dict[str, Any]]:
        cores = machine.count("units.core.count")
        lookups = kernel(machine, "pbs", "strix-I", waves * cores)
        # Among 500 iterations more than those examined.
        end = machine.simulate(lookups)["cycles"] // 25
        of_core = {name: f"core0.{name}" for name in _UNITS}
        events: dict[str, list[dict[str, Any]]] = {}
        for event in json.loads(machine.native.events(lookups, [*of_core.values(), _CHANNEL], end)):
            events.setdefault(event["unit"], []).append(event)

        def window(unit: str, start: int) -> tuple[int, int]:
            begins = [
                next(event["start"] for event in events[unit] if event["iteration"] == at) for at in (start, start + 2)
            ]
            return begins[0], begins[1]

        def busy(unit: str, start: int) -> float:
            return _covered([(event["start"], event["end"]) for event in events[unit]], window(unit, start))

        made = [row(name, busy(unit, first)) for name, unit in of_core.items()]
        # The rotator's reads and the accumulators' writes.
        spans: dict[tuple[str, bool], list[tuple[int, int]]] = {}
        for name, writes in (("rotator", False), ("accumulator", True), ("accumulator", False)):
            for event in events[of_core[name]]:
                own = (it for it in event["passages"] if it["memory"] == "core0.local" and it["writes"] == writes)
                spans.setdefault((name, writes), []).extend([(it["start"], it["end"]) for it in list(own)[:1]])
        of_two = window(of_core["rotator"], first)
        made.append(row("scratchpad", _covered(spans["rotator", False] + spans["accumulator", True], of_two)))
        if key == "figure8.{what}":
            # With two ports a bank: the rotators' two pointers take both, old and new accumulators one each.
            ports = [_covered(of_unit, of_two) for of_unit in spans.values()]
            shares = {_NAMED_BANKS: ports[0] + (ports[1] + ports[2]) / 2}
            shares[machine.count("memories.local.banks")] = (
                shares[_NAMED_BANKS] * _NAMED_BANKS / machine.count("memories.local.banks")
            )
            made += [_ROWS.row("figure8.scratchpad/ports", 100 * share, banks=banks) for banks, share in shares.items()]
        return [*made, row("hbm", busy(_CHANNEL, first + 2))]

    return guarded(rows, *(f"figure8.{name}" for name in (*_UNITS, "scratchpad", "hbm")))


_CHANNEL = "hbm.key0"


def _covered(spans: Sequence[tuple[int, int]], window: tuple[int, int]) -> float:
    """The share of a window covered by at least one of the spans."""
    begin, end = window
    taken: set[int] = set()
    for first, past in spans:
        taken.update(range(max(first, begin), min(past, end)))
    return len(taken) / max(end - begin, 1)


DEPTHS = (20, 50, 100)

SETS = {
    1024: ("strix-II", "of table IV's two sets with this ring the one of more security"),
    2048: (
        "polyfabric-3-p128-t32",
        "the project's default set of 32 bits and 2^-128 with this ring: table IV's, III, leaves no room for a message after a key switch",
    ),
    4096: (
        "polyfabric-4-p128-t32",
        "the project's default set of 32 bits and 2^-128 with this ring, of which table IV has none",
    ),
}
"""By ring degree: the set, and why. Each has GLWE dimension 1, as all of table IV."""

ORDERS = {
    "after": "section IV-C: what comes from a blind rotation is forwarded to the key-switching cluster",
    "before": "the order of the program's own plan: sums are then over the large key, which makes less noise",
}

_PROGRAM = {
    "name": "a program of ours in section VI-B's shapes",
    "evidence": "section VI-B has the layers and the activations of each, and neither weights nor the window; no time of figure 7 is known",
}
_REASON = (
    "the paper takes its sets from another one, which names none of these. First load to last store of one inference, every layer waiting "
    "for what it reads; linear layers on the key-switch clusters, an assumption; an image of 28 x 28, as MNIST's, and a window of 8 x 9, "
    "inferences: other windows leave 21 x 20 with padding, by as many lookups"
)


@dataclass(frozen=True)
class Case:
    """One simulation of figure 7."""

    depth: int
    degree: int
    order: str
    dense: bool = False

    @property
    def cell(self) -> str:
        """The published cell of its row, or the cell that its row is additional to."""
        return f"figure7.{self.depth}.{self.degree}"

    def row(self, machine: accelerators.Machine) -> dict[str, Any]:
        """Its row of the comparison."""
        place = ["Figure 7", f"NN-{self.depth}, N = {self.degree}, dense layers", "ms"] if self.dense else None
        name, why = SETS[self.degree]
        fields = {"network": f"NN-{self.depth}{', dense layers' if self.dense else ''}", "ring_degree": self.degree}
        network = deep_nn(self.depth, dense=self.dense)
        try:
            report = machine.simulate(element_plan(network, name, self.order, machine)).to_dict()
            exact = element_plan(network, name, self.order, None).log2_failure
        except Error as error:
            return of(failed(self.cell, error, place), **fields, key_switch=self.order)
        readings: list[dict[str, str | None]] = [
            _PROGRAM,
            _ROWS.reading("key_bus"),
            {"name": f"set {name}", "evidence": why},
            {"name": f"key switch {self.order}", "evidence": ORDERS[self.order]},
        ]
        weights = "every weight is 1 or -1; " if self.dense else ""
        fails = f"on this computer one inference comes out wrong with probability {probability(exact)}"
        reason = f"key switch {self.order}; {report['operations']:,} lookups; {weights}{_REASON}; {fails}"
        row = predicted(self.cell, 1e3 * report["seconds"], reason, place, readings)
        return of(row, **fields, key_switch=self.order, lookups=report["operations"])


def cases() -> Iterator[Case]:
    """Every simulation of figure 7."""
    for depth in DEPTHS:
        for degree in SETS:
            yield from (Case(depth, degree, order) for order in ORDERS)
    # Whether the number of weights matters.
    yield from (Case(DEPTHS[0], degree, "after", dense=True) for degree in SETS)


def applications(progress: ProgressHook | None) -> list[dict[str, Any]]:
    """Figure 7: the time of one inference of each network in each ring, and NN-20 with dense layers beside it."""
    machine = accelerators.load("strix")
    steps = [
        Step(f"simulate nn-{case.depth}, N = {case.degree}, key switch {case.order}", partial(case.row, machine))
        for case in cases()
    ]
    return side_by_side(steps, progress)
