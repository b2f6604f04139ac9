"""FPT's tables and figures: times from checked schedules, formats from the measured method, resources from the count of multipliers; and its
application, a board update of the Game of Life (table 5), as a program with its gates' dependences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any

from ..accelerators import machine as accelerators
from ..apps.life import SIZE, life
from ..errors import Error
from ..host.progress import ProgressHook
from ..run.execution import plan
from ..schemes.tfhe import named_parameters, with_key_noise
from . import own_rtl
from .catalog import Catalog
from .lookups import kernel, simulated
from .multipliers import Transform, complex_product
from .plans import unwarned
from .rows import calibrated, failed, guarded
from .side_by_side import Step, side_by_side

_BATCHES = 400
"""Batches of a long run: its start and end account for a few parts in a thousand."""
_BOARD = 64 * 44
"""Lookups of a board update: 64 cells of 44 gates (section 6.3)."""
_POINTS = (2, 4, 8, 16, 32, 64, 128, 256)
"""Points a cycle of figure 3's transforms."""
_CARD = 9024
"""DSP blocks of an Alveo U280 (section 5)."""

_NOISES = (0.5, 0.9, 1.1, 2.0)
"""Standard deviations of the key's noise, over the sets', with which widths are derived."""

_KEY_BITS = {53: "53 bits, a double's significand", 64: "64 bits"}
"""Widths of a point's parts before section 4 trims them."""

_BUTTERFLY = "FPT's butterfly, 29 bits"
_PRODUCT = "FPT's complex product, 29 by 25 bits"
_MAC = "FPT's multiply-accumulate of one point, 29 by 26 bits"
"""Units of our own RTL whose cells are counted, by their labels there."""
_CELLS = {"lut": "LUT", "ff": "flip-flops"}
"""Kinds of cells by their names in ids."""

_SLOWER_LINK = 22_000
"""Cycles of the host's link each way, 110 us, with which the times fit."""

_Parts = list[tuple[float, str]]
"""Numbers of units of our own RTL, with their labels."""

_ROWS = Catalog("fpt")


def predictions(progress: ProgressHook | None) -> list[dict[str, Any]]:
    """The numbers of its tables and figures."""
    # Times depend on the widths only through the key's bytes, which are as printed.
    machine = accelerators.load("fpt", ["widths=printed"])
    steps = [Step(f"lookups of set {name}", partial(_set, machine, name)) for name in ("I", "II")]
    steps.append(Step("board updates", _board))
    made = [row for rows in side_by_side(steps, progress) for row in rows]
    own = {row["id"]: row["value"] for row in made if row["beside"] is None}
    blocks = [own.get(f"table3.{name}.fpt.dsp") for name in ("I", "II")]
    power = next(part["power_w"] for part in machine.components() if part["power_w"] is not None)
    scaling = guarded(
        lambda: _scaling([_Pipeline.of(machine, f"fpt-{name}") for name in ("I", "II")]), "section3.scaling"
    )
    return [*made, *_most_blocks(blocks), *scaling, *figures_3_and_4(), _ROWS.row("section6.power", power)]


@dataclass(frozen=True)
class _Pipeline:
    """The pipeline for a set: its machine, and its mapper's report."""

    machine: accelerators.Machine
    cmux_cycles: int
    depth_cycles: int
    ciphertexts: int
    period_cycles: int
    iterations: int
    points: int
    forward_points: int
    inverse_points: int
    forward_kernels: int
    inverse_kernels: int
    multipliers: int
    key_bytes: int

    @classmethod
    def of(cls, machine: accelerators.Machine, parameters: str) -> _Pipeline:
        """The pipeline of a machine for a set."""
        found = machine.mapping(kernel(machine, "pbs", parameters, 1))["quantities"]
        return cls(machine, **{name: round(value) for name, value in found.items()})

    def _bits(self, what: str) -> int:
        return self.machine.count(f"machine.arithmetic.{what}")

    @property
    def key_bits(self) -> int:
        """Bits of each part of the key's points."""
        return self._bits("key")

    def transform(self, width: int) -> Transform:
        """The transform with that many points a cycle."""
        return Transform(self.points, width, self.machine.count("units.cmux.log2_radix"), negacyclic=True)

    def own_parts(self) -> dict[str, tuple[_Parts, str]]:
        """Units of our own RTL in multiply-accumulate units, forward and inverse transforms, and the same in words."""
        made: dict[str, tuple[_Parts, str]] = {"mac": ([(self.multipliers, _MAC)], f"{self.multipliers} units")}
        for name, width, kernels in (
            ("forward", self.forward_points, self.forward_kernels),
            ("inverse", self.inverse_points, self.inverse_kernels),
        ):
            general, eighths = (kernels * lanes for lanes in self.transform(width).lanes)
            butterflies = kernels * (self.points.bit_length() - 1) * width // 2
            # Of an eighth of a turn two of three products are left.
            parts = [(butterflies, _BUTTERFLY), (general + eighths * 2 / 3, _PRODUCT)]
            words = f"{butterflies} butterflies, {general} complex products and {eighths} with an eighth of a turn"
            made[name] = (parts, words)
        return made

    def dsp(self) -> dict[str, int]:
        """DSP blocks of multiply-accumulate units, forward and inverse transforms."""

        def transforms(what: str, width: int, kernels: int) -> int:
            return kernels * self.transform(width).dsp(self._bits(what), self._bits(f"{what}_twiddle"))

        return {
            "mac": self.multipliers * complex_product(self._bits("forward"), self.key_bits),
            "forward": transforms("forward", self.forward_points, self.forward_kernels),
            "inverse": transforms("inverse", self.inverse_points, self.inverse_kernels),
        }


def _with_widths(machine: accelerators.Machine, key: int, forward: int, inverse: int) -> accelerators.Machine:
    """The machine with other widths, and twiddle factors four bits narrower than their data (section 4.3)."""
    widths = {
        "key": key,
        "forward": forward,
        "inverse": inverse,
        "forward_twiddle": forward - 4,
        "inverse_twiddle": inverse - 4,
    }
    return machine.varied(**{f"machine__arithmetic__{name}": bits for name, bits in widths.items()})


def _set(machine: accelerators.Machine, name: str) -> list[dict[str, Any]]:
    """The rows of a parameter set."""

    def rows() -> list[dict[str, Any]]:
        pipeline, made = widths_and_units(machine, name)
        return [*made, *_table_4(name, pipeline, f"fpt-{name}")]

    return guarded(rows, f"table2.{name}.key.width", f"table4.{name}.throughput")


def widths_and_units(machine: accelerators.Machine, name: str) -> tuple[_Pipeline, list[dict[str, Any]]]:
    """The pipeline with the derived widths of a parameter set, and the set's rows that need no schedule: table 2, section 5 and table 3."""
    parameters = f"fpt-{name}"
    derived, made = _table_2(machine, name, parameters)
    own = _with_widths(machine, *(part["width"] for part in derived["formats"]))
    pipeline = _Pipeline.of(own, parameters)
    return pipeline, [*made, *_structure(name, pipeline, parameters), *_table_3(name, pipeline, parameters, derived)]


def _table_2(machine: accelerators.Machine, name: str, parameters: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The formats of a set, and the rows of table 2."""
    parameters_of = named_parameters(parameters, warn=False)
    by = {judge: machine.derive_widths(parameters_of, judge)[0] for judge in ("coefficient", "phase")}
    derived, phase = by["coefficient"]["widths"], by["phase"]["widths"]

    rows = []
    for part, own, needed in zip(("key", "forward", "inverse"), derived["formats"], phase["formats"], strict=True):
        noise = next((point["log2_noise"] for point in own["curve"] if point["width"] == own["width"]), math.nan)
        bits = partial(_ROWS.row, name=name, part=part)
        # Set I was known when the reading was chosen; its most significant bits follow from equation (8) alone.
        derived_bits = partial(bits, kind="calibrated" if name == "I" else None)
        fields = {"noise": noise, "limit": derived["log2_limit"], "tolerance": 100 * derived["tolerance"]}
        rows += [
            derived_bits("table2.{name}.{part}.width", own["width"], **fields),
            bits("table2.{name}.{part}.integer", own["measured_integer_bits"]),
            bits("table2.{name}.{part}.integer/scheduled", own["scheduled_integer_bits"]),
            derived_bits("table2.{name}.{part}.fraction", own["fraction_bits"], **fields),
            bits("table2.{name}.{part}.width/of a phase", needed["width"]),
        ]
        if name == "I":
            rows += _figure_5(part, own["curve"])
    for judge, found in by.items():
        key = "table2.{name}.key.width/failure"
        rows.append(_ROWS.row(key, found["log2_failure"], name=name, judge=judge))
    return derived, [*rows, *_other_noise(machine, name)]


def _other_noise(machine: accelerators.Machine, name: str) -> list[dict[str, Any]]:
    """Widths and failures of a set whose bootstrapping key has other noise."""
    rows = []
    for factor in _NOISES:
        parameters = with_key_noise(named_parameters(f"fpt-{name}", warn=False), factor)
        row = partial(_ROWS.row, name=name, percent=round(100 * factor))
        for judge in ("coefficient", "phase"):
            found = machine.derive_widths(parameters, judge)[0]
            for part in found["widths"]["formats"]:
                key = "table2.{name}.{part}.width/noise"
                rows.append(row(key, part["width"], part=part["part"], judge=judge))
            rows.append(row("table2.{name}.key.width/failure with noise", found["log2_failure"], judge=judge))
    return rows


def _figure_5(part: str, curve: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The noise with set I at every second number of fractional bits of one part, while the others are wide."""
    unit = "fractional bits"
    return [
        {
            **_ROWS.row("figure5.{part}", point["log2_noise"], part=part, bits=point["fraction_bits"]),
            "point": {"curve": part, "axis": unit, "unit": unit, "at": float(point["fraction_bits"])},
        }
        for point in curve
        if point["log2_noise"] is not None and point["fraction_bits"] % 2 == 0
    ]


def _bandwidth(pipeline: _Pipeline, cycles: int) -> float:
    return pipeline.key_bytes * pipeline.machine.clock_hz / cycles / 1e9


def _structure(name: str, pipeline: _Pipeline, parameters: str) -> list[dict[str, Any]]:
    """The rows of section 5's pipeline."""
    cmux, period, depth = pipeline.cmux_cycles, pipeline.period_cycles, pipeline.depth_cycles
    deeper = _Pipeline.of(pipeline.machine.varied(units__cmux__batch=16), parameters)
    row = partial(_ROWS.row, name=name)
    return [
        row("section5.{name}.cmux", cmux),
        row("section5.{name}.latency", period, cmux=cmux, depth=depth, registers=period - depth),
        row("table3.{name}.macs", pipeline.multipliers),
        row("section5.{name}.bandwidth", _bandwidth(pipeline, period)),
        row("section3.bandwidth/{name}", _bandwidth(pipeline, cmux)),
        *(
            row(
                "section3.bandwidth/{name} untrimmed",
                _bandwidth(pipeline, cmux) * bits / pipeline.key_bits,
                words=words,
            )
            for bits, words in _KEY_BITS.items()
        ),
        row("section3.batch-16/{name}", _bandwidth(deeper, deeper.period_cycles), batch=deeper.ciphertexts),
        row("section5.{name}.key", pipeline.key_bytes * pipeline.iterations / 1e6, bits=pipeline.key_bits),
    ]


def _table_3(name: str, pipeline: _Pipeline, parameters: str, derived: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a set's DSP blocks and memories."""
    counts = pipeline.dsp()
    total = sum(counts.values())
    row = partial(_ROWS.row, name=name, card=_CARD)
    rows = [row("table3.{name}.{unit}.dsp", count, unit=unit) for unit, count in counts.items()]
    beyond = (
        f"; the card has {_CARD}, so that some of what is counted here must be built of LUTs" if total > _CARD else ""
    )
    rows += [
        row("table3.{name}.cmux.dsp", total),
        row("table3.{name}.fpt.dsp", total, beyond=beyond),
        row("table3.{name}.fpt.dsp.share", 100.0 * total / _CARD),
        row("table4.{name}.dsp", total),
    ]
    if name == "I":
        wide = _Pipeline.of(accelerators.load("fpt"), parameters)
        rows.append(row("table3.I.fpt.dsp/derived widths", sum(wide.dsp().values())))
    rows += _cells(name, pipeline)
    # A block of 36 Kb is 72 bits wide and deep enough for any lane; the buffer holds the keys of two iterations.
    bits, units, buffer = 2 * pipeline.key_bits, pipeline.multipliers, 8 * 2 * pipeline.key_bytes
    blocks = -(-buffer // (36 * 1024))
    rows.append(
        row("table3.{name}.mac.bram", -(-units * bits // 72), bits=bits, units=units, buffer=buffer, blocks=blocks)
    )
    rows += [
        row("table3.{name}.cmux.bram", -(-units * bits // 72)),
        row("table3.{name}.mac.bram/parity", -(-units * bits // 64)),
    ]
    if name == "II":
        other = accelerators.load("fpt", ["widths=printed", "balance=dot-product"])
        dot = _Pipeline.of(_with_widths(other, *(part["width"] for part in derived["formats"])), parameters)
        more = (sum(dot.dsp().values()) / total - 1.0) * 100.0
        rows.append(row("section5.II.dot-product.dsp/over the other", more))
    return rows


def _cells(name: str, pipeline: _Pipeline) -> list[dict[str, Any]]:
    """The rows of a set's LUTs and flip-flops, in thousands, and of the memories of its transforms."""
    # The counting was chosen with those of set I in sight.
    row = partial(_ROWS.row, name=name, kind="calibrated" if name == "I" else None)
    rows = []
    for unit, width in (("forward", pipeline.forward_points), ("inverse", pipeline.inverse_points)):
        cycles = pipeline.points // width
        rows.append(_ROWS.row("table3.{name}.{unit}.bram", 0, name=name, unit=unit, kept=cycles - 1, cycles=cycles))
    counted = pipeline.own_parts()
    for unit, (parts, words) in counted.items():
        for cell, of_kind in _CELLS.items():
            thousands = _cells_of(parts, of_kind) / 1e3
            rows.append(row("table3.{name}.{unit}.{cell}", thousands, unit=unit, cell=cell, parts=words))
    every = [part for parts, _ in counted.values() for part in parts]
    words = "the sum of multiply-accumulate units and transforms, without rotator, decomposition and accumulators"
    return rows + [
        row("table3.{name}.{unit}.{cell}", _cells_of(every, of_kind) / 1e3, unit="cmux", cell=cell, parts=words)
        for cell, of_kind in _CELLS.items()
    ]


def _cells_of(parts: _Parts, kind: str) -> float:
    return sum(count * own_rtl.unit(label)["fpga"][kind] for count, label in parts)


def _scaling(pipelines: list[_Pipeline]) -> list[dict[str, Any]]:
    """Bits that a scaling schedule saves: a stage's result has a bit more than every second stage before it."""
    saved = []
    for pipeline in pipelines:
        stages = pipeline.points.bit_length() - 1
        of_set = [-(-stages // 2) - -(-stage // 2) for stage in range(1, stages + 1)]
        saved.append(sum(of_set) / stages)
    bits = " and ".join(f"{each:.2f}" for each in saved)
    return [_ROWS.row("section3.scaling", sum(saved) / len(saved), bits=bits)]


def _most_blocks(blocks: list[float | None]) -> list[dict[str, Any]]:
    counted = [count for count in blocks if count is not None]
    return [_ROWS.row("section6.dsp", 100.0 * max(counted) / _CARD)] if len(counted) == len(blocks) else []


def _table_4(name: str, pipeline: _Pipeline, parameters: str) -> list[dict[str, Any]]:
    """The rows of a set's throughput and latency."""
    machine, batch, clock = pipeline.machine, pipeline.ciphertexts, pipeline.machine.clock_hz
    count, rotation = _BATCHES * batch, float(pipeline.iterations * pipeline.period_cycles)
    run = simulated(machine, "pbs", parameters, count)
    rate = count * clock / run["cycles"] / 1e3
    row = partial(_ROWS.row, name=name)

    def milliseconds(cycles: float) -> float:
        return cycles / clock * 1e3

    widths = (machine.count(f"machine.arithmetic.{part}") for part in ("key", "forward", "inverse"))
    of_dram = _with_widths(accelerators.load("fpt", ["widths=printed", "memory=dram"]), *widths)
    dram = simulated(of_dram, "pbs", parameters, count)["cycles"]
    rows = [
        row("table4.{name}.throughput", rate, count=count),
        row("table4.{name}.throughput/dram", count * clock / dram / 1e3),
        row("table4.{name}.clock", clock / 1e6),
    ]
    if name == "I":
        share = run["limits"]["fft"] / (float(_BATCHES) * rotation) * 100.0
        rows += [row("section5.utilisation", share), row("table6.operations", rate * 1e3 * 86_400.0 / 1e6)]
    whole, alone = (simulated(machine, "pbs", parameters, each)["cycles"] for each in (batch, 1))
    # The link's latency was assumed with set I's in sight.
    rows.append(row("table4.{name}.latency", milliseconds(whole), "calibrated" if name == "I" else None))
    if name == "I":
        rows.append(row("section6.I.host", milliseconds(whole) - batch / rate))
        slower = simulated(_slower(machine), "pbs", parameters, batch)["cycles"]
        rows.append(row("table4.I.latency/slower link", milliseconds(slower)))
    return [
        *rows,
        row("table4.{name}.latency/alone", milliseconds(alone)),
        row("table4.{name}.latency/rotation", milliseconds(rotation)),
        row("table4.{name}.latency/rest", milliseconds(whole - rotation)),
    ]


def _slower(machine: accelerators.Machine) -> accelerators.Machine:
    return machine.varied(channels__host_link__latency=_SLOWER_LINK)


_OF_BOARDS = (
    *(
        f"table5.fpt.{row}"
        for row in ("with.bootstrap", "with.switch", "with", "with.idle", "without", "without.bootstrap")
    ),
    *("table5.fpt.without.active", "table5.throughput", "section6.one-key"),
)


def _board() -> list[dict[str, Any]]:
    """The Game of Life: 2816 lookups per board, batch after batch, as the paper's integration does not overlap them."""
    return guarded(_boards, *_OF_BOARDS)


def _boards() -> list[dict[str, Any]]:
    apart, overlapping = (accelerators.load("fpt", ["widths=printed", f"kernels={kernels}"]) for kernels in _KERNELS)
    one = simulated(apart, "pbs", "fpt-I", _BOARD)
    overlapped = simulated(overlapping, "pbs", "fpt-I", _BOARD)
    switched = simulated(apart, "pbs+ks", "fpt-I", _BOARD)
    without = simulated(apart, "pbs", "fpt-I-one-key", _BOARD)

    slower = [simulated(_slower(apart), "pbs", parameters, _BOARD) for parameters in ("fpt-I", "fpt-I-one-key")]

    def seconds(report: dict[str, Any]) -> float:
        return report["cycles"] / apart.clock_hz

    def active(report: dict[str, Any]) -> float:
        """Percent of the time in which the pipeline is busy. It counts as busy while a batch is in it, as its forward transform then is."""
        return 100.0 * report["limits"]["fft"] / report["cycles"]

    bootstraps, switches = seconds(one), (switched["limits"]["host"] - one["limits"]["host"]) / apart.clock_hz
    row = _ROWS.row
    return [
        row("table5.fpt.with.bootstrap", bootstraps),
        row("table5.throughput", _BOARD / bootstraps / 1e3),
        row("table5.throughput/slower link", _BOARD / seconds(slower[0]) / 1e3),
        row("table5.fpt.without/slower link", seconds(slower[1])),
        row("table5.fpt.with.bootstrap/overlapping", seconds(overlapped)),
        row("table5.fpt.with.switch", switches),
        row("table5.fpt.with", seconds(switched)),
        row("table5.fpt.with/apart", bootstraps + switches),
        row("table5.fpt.with.idle", 100.0 - active(switched)),
        row("table5.fpt.with.idle/transfers", 100.0 * (1.0 - one["cycles"] / switched["cycles"])),
        row("table5.fpt.without", seconds(without)),
        row("table5.fpt.without.bootstrap", seconds(without)),
        row("section6.one-key", without["limits"]["fft"] / one["limits"]["fft"]),
        row("section6.one-key/times", without["cycles"] / one["cycles"]),
        row("table5.fpt.without.active", active(without)),
    ]


def figures_3_and_4() -> list[dict[str, Any]]:
    """Section 3.4 and figures 3 and 4, from the count of multipliers."""

    def cyclic(width: int, log2_radix: int) -> Transform:
        return Transform(256, width, log2_radix, negacyclic=False)

    def ours(width: int, log2_radix: int = 4) -> float:
        return float(cyclic(width, log2_radix).dsp(29, 25))

    def before(width: int) -> float:
        return float(cyclic(width, 2).dsp(31, 31, products=4))

    def saved(width: int) -> float:
        return (1.0 - ours(width) / before(width)) * 100.0

    twisted = {width: Transform(256, width, 4, negacyclic=True) for width in _POINTS}

    def negacyclic(width: int, data: int) -> float:
        return float(twisted[width].dsp(data, data - 4))

    row = _ROWS.row
    rows = [row("figure3a.cyclic", saved(64))]
    for width in _POINTS:
        rows.append(row("figure3a.cyclic/saved", saved(width), width=width))
        rows.append(row("figure3a.cyclic/negacyclic", negacyclic(width, 29), width=width))
        rows.append(row("figure3a.cyclic/changed", ours(width), width=width))
        rows.append(row("figure3a.cyclic/before", before(width), width=width))
    fewer = [(1.0 - ours(width) / ours(width, 2)) * 100.0 for width in _POINTS]
    mean = reduce(add, fewer) / len(fewer)
    rows.append(row("section3.radix.dsp", mean, least=min(fewer), most=max(fewer)))

    def more(width: int) -> float:
        return ((width / negacyclic(width, 29)) / (2 / negacyclic(2, 29)) - 1.0) * 100.0

    rows.append(row("figure3b.dsp", more(256)))
    rows += [row("figure3b.dsp/at", more(width), width=width) for width in _POINTS[:-1]]

    def share(data: int) -> float:
        return negacyclic(128, data) / negacyclic(128, 53) * 100.0

    rows.append(row("figure4.dsp", share(23)))
    widths = (18, 22, 23, 24, 27, 29, 31, 36, 40, 44, 48, 53)
    return rows + [row("figure4.dsp/at bits", share(data), data=data) for data in widths]


_LINK, _HOST = (str(_ROWS.reading(name)["name"]) for name in ("link", "host"))
_OURS = "a program of ours of section 6.3's 44 gates a cell: which of them wait for which the paper does not print"
_KNOWN = "this board's time, which was known when the program was written"
_GATES = f"calibrated: the program's lookups over its cells. {_OURS}, and it was written to have as many"
_BOARDS = (
    (
        "with",
        "fpt-I",
        [f"calibrated: section 6.3's key switches and throughput give {_KNOWN}", _OURS, _LINK, _HOST],
    ),
    (
        "without",
        "fpt-I-one-key",
        [f"calibrated: TFHE-rs' time and section 6.3's speed-up give {_KNOWN}", _OURS, _LINK],
    ),
)
"""Ends of cells, sets, and reasons and assumptions of calibrated rows."""

_KERNELS = {
    "one-at-a-time": "kernels that do not overlap",
    "overlapping": "kernels that overlap",
}


def applications(progress: ProgressHook | None) -> list[dict[str, Any]]:
    """A board update with and without a key switch, by either reading of how the host calls the FPGA."""
    work = [(cell, name, why, kernels) for cell, name, why in _BOARDS for kernels in _KERNELS]
    rows = []
    gates = 0.0
    for done, (cell, name, why, kernels) in enumerate(work):
        if progress is not None:
            progress(f"simulate life with {name}, kernels {kernels}", done, len(work))
        switch = "with" if cell == "with" else "without"
        place = ["Table 5", f"FPT, board update {switch} key switch, gate after gate, {_KERNELS[kernels]}", "s"]
        try:
            machine = accelerators.load("fpt", [f"kernels={kernels}"])
            with unwarned():
                planned = plan(life(), name, machine=machine, max_failure=0.0)
            report = machine.simulate(planned).to_dict()
        except Error as error:
            rows.append(failed(f"table5.fpt.{cell}", error, place))
            continue
        made_of = f"the schedule of {report['operations']:,} lookups of 44 gates a cell, each waiting for what it reads"
        rows.append(calibrated(f"table5.fpt.{cell}", report["seconds"], "; ".join([*why, made_of]), place))
        gates = report["operations"] / SIZE**2
    return [*rows, calibrated("section6.gates", gates, _GATES)] if gates else rows
