"""Osiris' LeNet and ResNet-20: rows of table III, and what figures 10, 12 and 13 make of them.

ResNet-20 is scheduled as rounds, from one ciphertext to one each: a block that the network has more than once is scheduled once, and is a loop in the
schedule of the whole network, which is checked as one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ..accelerators import machine as accelerators
from ..apps import lenet, resnet20
from ..errors import Error
from ..run import repeated_rounds
from .osiris_choices import OF_RESNET, TIME_KNOWN, Beside, Choice
from .osiris_roofline import ALL_MULTIPLIERS, LANES, TWO_A_BUTTERFLY, Multiplications, no_point, roofline
from .osiris_timing import HOISTING, planned
from .rows import Reading, calibrated, failed, named, predicted, untold

Row = dict[str, Any]

_LENET = (
    f"{TIME_KNOWN}; a program of ours of section VI's four layers, as in Orion, CHET and EVA, whose network takes the seven levels of set II; frames of 32 x 32 "
    "are ours"
)
_RESNET: Reading = {
    "name": "osiris-bootstrap-IV: set IV with log QP 1630, pairs of primes of 49 and 47 bits; two bootstraps a rectifier of degrees 15, 15 and 27",
    "evidence": "table II and its note print levels, alpha, P and log QP; section VI names Lee et al., whose rectifier takes 14 levels",
}
_MENDED = "calibrated: the program was changed when its time was known, as it did not decrypt to its scores: the real part is taken before each sign"
_ROTATIONS: Reading = {
    "name": "the multiplexed parallel convolution of Lee et al., counted by its steps for our packing; baby and giant steps of the width that has fewest",
    "evidence": "section VI names Lee et al. and BSGS, and prints neither count",
}
_ONCE = repeated_rounds.MADE_OF

_STEPS = (
    (
        "limb by limb, one giant step after the other, divisions apart",
        ("tiling=limb_by_limb", "rescaling=separate", "dataflow=giants_in_turn"),
    ),
    ("limb by limb, giant-step-centric, divisions apart", ("tiling=limb_by_limb", "rescaling=separate")),
    ("interleaved, giant-step-centric, divisions apart", ("rescaling=separate",)),
)
"""The steps of figure 12 (a), before the default with all of them: text and readings."""

_WIDER = ((2, "2TB"), (4, "4TB"))
"""Figure 12 (b): the factor on the lanes, and the bandwidth."""


@dataclass
class Timed:
    """A checked schedule, of one program or of rounds."""

    seconds: float = 0.0
    joules: float | None = 0.0
    """Energy, if power is known: of the machine with published power, and of its memory's devices."""
    devices: float | None = 0.0
    """Energy of the memory's devices alone."""
    waiting: float = 0.0
    """Time in which the NTT units wait for memory, as a share of their time."""
    switches: int = 0
    bootstraps: int = 0
    traffic: float = 0.0
    keys: float = 0.0
    again: float = 0.0
    work: Multiplications = field(default_factory=lambda: Multiplications(LANES))
    parts: dict[str, float] = field(default_factory=dict)
    """Milliseconds of each part, summed over equal parts."""
    worst: float = 0.0
    """Watts of the part with the highest power, including devices."""

    def schedule(self, degree: int, report: dict[str, Any]) -> None:
        """The schedule, in a ring of that degree."""
        seconds, cycles, traffic = report["seconds"], report["stalls"], report["traffic_bytes"]
        self.seconds, self.joules, self.devices = seconds, report["energy_j"], report["off_chip_energy_j"]
        waits = (cycles["key_switch_key"] + cycles["other_transfer"]) / sum(cycles.values())
        self.waiting = seconds * waits
        self.traffic, self.again = traffic["total"], traffic["hints_again"]
        self.keys = traffic["hints"] + self.again
        self.work.schedule(degree, report)

    def add(self, name: str, count: int, facts: dict[str, Any], part: dict[str, Any]) -> None:
        """A part of the schedule, repeated that often."""
        self.switches += count * sum(use["count"] for use in facts["key_switches"])
        self.bootstraps += count * sum(node["op"] == "bootstrap" for node in facts["nodes"])
        self.work.program(count, facts)
        self.parts[name] = 1e3 * count * part["seconds"]
        if part["energy_j"] is not None:
            self.worst = max(self.worst, part["energy_j"] / part["seconds"])

    @property
    def words(self) -> str:
        """The parts of the time."""
        parts = ", ".join(f"{name} {time:.3g}" for name, time in self.parts.items())
        energy = "energy unknown" if self.joules is None else f"{self.joules:.3g} J"
        return (
            f"{self.bootstraps} bootstraps, {self.switches:,} key switches; {self.traffic / 1e9:.4g} GB from and to memory, "
            f"{self.again / self.traffic:.0%} of it keys that came again; NTT units wait {self.waiting / self.seconds:.0%} for memory; "
            f"{self.work.share(self.seconds):.0%} of the multipliers' time; {energy}; ms of parts: {parts}"
        )


def _with_lanes(machine: accelerators.Machine, lanes: int) -> accelerators.Machine:
    """The machine with that many lanes, and with the figures that depend on them."""
    return accelerators.Machine(machine.native.changed([("units.ntt.lanes", float(lanes))]))


@cache
def resnet20_timed(readings: tuple[str, ...], lanes: int = 1, parameters: str = resnet20.PAPER_SET) -> Timed:
    """ResNet-20 on the machine with those readings, and with a multiple of its lanes, which enlarges a tile; optionally on another set."""
    machine = accelerators.load("osiris", readings)
    if lanes > 1:
        machine = _with_lanes(machine, lanes * LANES)
    found = repeated_rounds.simulated(resnet20.rounds(), parameters, machine)
    timed = Timed(work=Multiplications(lanes * LANES))
    timed.schedule(found.facts[0]["parameters"]["ring_degree"], found.report.to_dict())
    for body, facts, part in zip(found.program.bodies, found.facts, found.parts, strict=True):
        timed.add(body.name, part["rounds"], facts, part)
    return timed


def work() -> list[tuple[str, Callable[[], list[Row]]]]:
    """The runs to be timed, as text, and the resulting rows."""
    cells: list[tuple[str, Callable[[], list[Row]]]] = [
        (f"lenet, {name} hoisting, {bandwidth}/s", _lenet(column, bandwidth))
        for bandwidth in ("1TB", "2TB")
        for column, name in HOISTING.items()
    ]
    for bandwidth in ("1TB", "2TB"):
        cells += [
            (f"resnet20, {name} hoisting, {bandwidth}/s", _resnet(column, bandwidth))
            for column, name in HOISTING.items()
        ]
    cells.append(("resnet20, 4TB/s", _fast))
    cells += [(f"resnet20, {choice.words}", _other(choice)) for choice in OF_RESNET]
    cells += [(f"resnet20, {words}", _step(words, readings)) for words, readings in _STEPS]
    cells += [
        (f"resnet20, {lanes} times the lanes, {bandwidth}/s", _wider(lanes, bandwidth)) for lanes, bandwidth in _WIDER
    ]
    return cells


def _guarded(cell: str, place: list[str] | None, rows: Callable[[], list[Row]]) -> Callable[[], list[Row]]:
    def guarded() -> list[Row]:
        try:
            return rows()
        except Error as error:
            return [failed(cell, error, place)]

    return guarded


def _mended(row: Row) -> Row:
    """A row of ResNet-20, whose program was changed when its time was known."""
    reason = "; ".join([_MENDED, *named([_RESNET, *row["readings"]]), row["reason"]])
    return {**row, "kind": "calibrated", "readings": [], "reason": reason}


def _lenet(column: str, bandwidth: str) -> Callable[[], list[Row]]:
    """The row of a cell of table III, which has this network only at 1 TB/s, and points of figure 13."""
    cell = f"table3a.lenet.{column}"

    def rows() -> list[Row]:
        try:
            timed = _lenet_timed(column, bandwidth)
        except Error as error:
            return [
                failed(cell, error) if bandwidth == "1TB" else no_point("LeNet", HOISTING[column], bandwidth, error)
            ]
        points = roofline("LeNet", HOISTING[column], bandwidth, timed.work, timed.seconds, [], _LENET)
        if bandwidth != "1TB":
            return points
        return [calibrated(cell, 1e6 * timed.seconds, f"{_LENET}; {timed.words}"), *points]

    return rows


def _lenet_timed(column: str, bandwidth: str) -> Timed:
    machine = accelerators.load("osiris", [f"hoisting={HOISTING[column]}", f"bandwidth={bandwidth}"])
    plan = planned(lenet.lenet(), lenet.PAPER_SET, machine)
    report = machine.simulate(plan).to_dict()
    timed = Timed()
    timed.schedule(plan.facts["parameters"]["ring_degree"], report)
    timed.add("all", 1, plan.facts, report)
    return timed


def _resnet(column: str, bandwidth: str) -> Callable[[], list[Row]]:
    cell = f"table3{'a' if bandwidth == '1TB' else 'b'}.resnet20.{column}"

    def rows() -> list[Row]:
        timed = resnet20_timed((f"hoisting={HOISTING[column]}", f"bandwidth={bandwidth}"))
        row = predicted(cell, 1e3 * timed.seconds, f"{_ONCE}; {timed.words}")
        points = roofline("ResNet-20", HOISTING[column], bandwidth, timed.work, timed.seconds, [_RESNET], _MENDED)
        return [_mended(row), *points]

    return _guarded(cell, None, rows)


def _fast() -> list[Row]:
    cell = "section1.resnet20.4"

    def rows() -> list[Row]:
        timed = resnet20_timed(("hoisting=double", "bandwidth=4TB"))
        place = ["Figure 12 (b)", "ResNet-20, double hoisting, 512 lanes, 4 TB/s", "ms"]
        return [_mended(predicted(cell, 1e3 * timed.seconds, f"{_ONCE}; {timed.words}", place))]

    return _guarded(cell, None, rows)()


def _other(choice: Choice) -> Callable[[], list[Row]]:
    row = Beside("resnet20", "ResNet-20", 1e3, "ms")
    place = row.place(choice.words)

    def rows() -> list[Row]:
        readings = ("hoisting=double", "bandwidth=1TB", *choice.readings)
        timed = resnet20_timed(readings, parameters=choice.set(resnet20.PAPER_SET))
        reason = f"{choice.why}; {choice.named_on(resnet20.PAPER_SET)}; {_ONCE}; {timed.words}"
        return [calibrated(row.cell, row.unit * timed.seconds, reason, place)]

    made = _guarded(row.cell, place, rows)
    return lambda: [row.of(each, choice.words) for each in made()]


def _step(words: str, readings: Sequence[str]) -> Callable[[], list[Row]]:
    place = ["Figure 12 (a)", f"ResNet-20, double hoisting, 1 TB/s: {words}", "ms"]

    def rows() -> list[Row]:
        timed = resnet20_timed(("hoisting=double", "bandwidth=1TB", *readings))
        return [_mended(predicted("figure12.steps", 1e3 * timed.seconds, timed.words, place))]

    return _guarded("figure12.steps", place, rows)


def _wider(lanes: int, bandwidth: str) -> Callable[[], list[Row]]:
    cell = "section1.resnet20.4" if bandwidth == "4TB" else "figure12.width"
    place = None if bandwidth == "4TB" else ["Figure 12 (b)", f"ResNet-20, {LANES * lanes} lanes, {bandwidth}/s", "ms"]

    def rows() -> list[Row]:
        timed = resnet20_timed(("hoisting=double", f"bandwidth={bandwidth}"), lanes)
        words = f"{LANES * lanes} lanes, as section I has increased resources at higher bandwidths; {timed.words}"
        return [_mended(predicted(cell, 1e3 * timed.seconds, words, place))]

    return _guarded(cell, place, rows)


def _scaling() -> Row:
    narrow, wide = (
        resnet20_timed(("hoisting=double", f"bandwidth={bandwidth}"), lanes)
        for bandwidth, lanes in (("1TB", 1), ("2TB", 2))
    )
    reason = f"{1e3 * narrow.seconds:.1f} and {1e3 * wide.seconds:.1f} ms, {LANES} and {2 * LANES} lanes"
    return predicted("section7.scaling", narrow.seconds / wide.seconds, reason)


def ratios() -> list[Row]:
    """Rows derived from the times of [`work`], once all of it is done."""
    rows: list[Row] = [
        *_guarded("section6.rotations", None, _rotations)(),
        untold("section7.words", "no set here has levels of bootstrapping for words of 36 bits within log QP = 1630"),
    ]

    def own() -> list[Row]:
        return [_mended(row) for row in (*_dataflow(), *_power(), _keys(), _scaling())]

    return rows + _guarded("figure12.dataflow", None, own)()


def _rotations() -> list[Row]:
    counts = resnet20.rotations().values()
    by_channels, as_matrix = sum(each.by_channels for each in counts), sum(each.as_matrix for each in counts)
    reason = f"{by_channels} rotations of all convolutions by channels, {as_matrix} baby and giant steps as matrices"
    return [predicted("section6.rotations", by_channels / as_matrix, reason, readings=[_ROTATIONS])]


def _dataflow() -> list[Row]:
    steps = [resnet20_timed(("hoisting=double", "bandwidth=1TB", *readings)) for _, readings in _STEPS]
    baseline, ordered, interleaved = steps
    whole = resnet20_timed(("hoisting=double", "bandwidth=1TB"))
    reason = (
        f"{1e3 * baseline.waiting:.4g} ms in which the NTT units wait for memory with all baby steps before the sums of giant steps, "
        f"{1e3 * ordered.waiting:.4g} ms with one baby step after the other; both limb by limb and with divisions apart"
    )
    saved = 1e3 * (baseline.waiting - ordered.waiting)
    place = ["Figure 12", "ResNet-20: time that the giant-step-centric order saves, 1 TB/s", "ms"]
    whole_time = 1e3 * (baseline.seconds - ordered.seconds)
    words = f"{1e3 * baseline.seconds:.4g} ms and {1e3 * ordered.seconds:.4g} ms; rotated ciphertexts that find no room come and go"
    rows = [
        predicted("figure12.dataflow", saved, reason),
        predicted("figure12.dataflow", whole_time, words, place),
    ]
    use = [100 * step.work.share(step.seconds) for step in (ordered, interleaved)]
    reason = (
        f"of all multipliers, limb by limb; {use[1]:.4g} % with interleaved limbs, {1e3 * ordered.seconds:.4g} and {1e3 * interleaved.seconds:.4g} ms. What a "
        "change of modulus leaves between its units waits in the scratchpads, where others fill the units meanwhile"
    )
    counted = [TWO_A_BUTTERFLY, ALL_MULTIPLIERS]
    rows.append(predicted("figure12.interleaving", use[0], reason, readings=counted))
    words = f"{use[1]:.4g} % with interleaved limbs, {use[0]:.4g} % limb by limb"
    rows.append(predicted("figure12.interleaving.gain", use[1] / use[0], words, readings=[TWO_A_BUTTERFLY]))
    share = 100 * (1 - whole.seconds / interleaved.seconds)
    reason = f"{1e3 * interleaved.seconds:.4g} ms with two divisions, {1e3 * whole.seconds:.4g} ms with one"
    return [*rows, predicted("figure12.fusion", share, reason)]


def _power() -> list[Row]:
    timed = resnet20_timed(("hoisting=double", "bandwidth=1TB"))
    if timed.joules is None or timed.devices is None:
        return []
    place = ["Table IV", "Osiris, mean power over ResNet-20 from activity, without the memory's devices", "W"]
    reason = (
        f"{timed.joules - timed.devices:.3g} J in {1e3 * timed.seconds:.4g} ms; the memory's devices take {timed.devices / timed.seconds:.4g} W beside that, and both "
        f"{timed.worst:.4g} W at most in one part. Powers of the parts are the paper's means, taken as those at full activity, so this is what they leave at the "
        "activity here"
    )
    return [predicted("table4.osiris.power", (timed.joules - timed.devices) / timed.seconds, reason, place)]


def _keys() -> Row:
    timed = resnet20_timed(("hoisting=double", "bandwidth=1TB"))
    reason = (
        f"keys among the {timed.traffic / 1e9:.4g} GB from and to memory; masks come from seeds and are not counted"
    )
    return predicted("section7.keys", timed.keys / 1e9, reason)
