"""Osiris' table III: programs of the paper, and the effect on bootstrapping of every choice that the paper leaves open."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from ..accelerators import machine as accelerators
from ..apps import orion
from ..apps.bitonic_sorting import PAPER_SET as SORTING_SET
from ..apps.bitonic_sorting import sorting
from ..apps.ckks_bootstrapping import FULL_SET, ckks_bootstrapping
from ..apps.helr_1024 import Batch, helr_1024
from ..apps.lenet import PAPER_SET as LENET_SET
from ..apps.lenet import lenet
from ..apps.osiris_programs import LEVELS, SMALL_SET, lola, matrix_vectors, mlp, products
from ..errors import Error
from ..host.progress import ProgressHook
from ..language.slot_program import SlotProgram
from ..run import repeated_rounds
from . import osiris_networks, osiris_timing
from .osiris_choices import (
    APART,
    DRAM,
    ELSEWHERE,
    IN_TURN,
    OF_SET_III,
    OF_SORTING,
    ORDER_KNOWN,
    ORION,
    READINGS,
    TIME_KNOWN,
    Beside,
    Choice,
    add_ranges,
)
from .osiris_roofline import (
    ALL_MULTIPLIERS,
    COUNT,
    TWO_A_BUTTERFLY,
    Multiplications,
    drawings,
    least_and_most,
    no_point,
    roofline,
)
from .osiris_statements import statements
from .osiris_steps import figure_11
from .osiris_tables import predictions
from .osiris_timing import CHAIN_IV, HOISTING, planned
from .plans import unwarned
from .rows import BOUND_KNOWN, calibrated, failed, named, predicted
from .side_by_side import Step, side_by_side

__all__ = ["applications", "drawings", "predictions"]

_SLOTS = 1 << 15

_CHAIN = {
    "name": "osiris-bootstrap: digits of 14 limbs, P of 14 primes, log QP 1630, pairs of primes of 52 and 50 bits for bootstrapping",
    "evidence": "table II and its note print alpha, the primes of P and log QP; a library's levels with double-prime scaling leave so much",
}
_CHAINED = {
    "name": "eight products one after the other behind a bootstrapping, in one schedule",
    "evidence": "equation (1) but for its ninth product, at level 0, which leaves no level to divide by; the paper adds the times of products apart",
}
"""The note for T_Mv."""

_DIVISOR = LEVELS + 1
_NINE = {
    "name": "amortized times are divided by the nine levels 0 to 8",
    "evidence": "equation (1) adds levels 0 to 8; by eight, double hoisting's 9.58 ns and 2^15 slots make 2.51 ms, less than the 2.70 ms of the bootstrapping alone",
}
"""The note for T_mult and T_Mv."""

_OURS = {
    "mlp": "a program of ours after the paper's source",
    "lola": "a program of ours after the paper's source",
    "helr": "an iteration with its bootstrap: weights and momentum in one ciphertext, sigmoid of degree 3",
}
"""Programs whose source the paper names, without further details."""

_IMPROVED = [
    *(("a", program) for program in ("lenet", "helr", "resnet20", "sorting")),
    *(("b", program) for program in ("bootstrap", "helr", "resnet20", "sorting")),
]
"""Parts and programs of table III whose times are unknown, or differ from those of its improvements."""

_OF_THE_FASTEST = {
    "name": "improvements are those of the fastest hoisting",
    "evidence": "so for MLP and LoLA at 1 TB/s, and ResNet-20's is faster than its double hoisting; T_mult's is that of the slowest, and T_Mv's and "
    "bootstrapping's are those of double hoisting",
}
_STAGES = "a stage of each kind is scheduled once, and what passes between stages goes to memory and comes back"

_WAITS = {
    ("bootstrap", "nh", "1TB"): "section7.none.waits",
    ("bootstrap", "dh", "1TB"): "section7.stalls.1",
    ("bootstrap", "dh", "2TB"): "section7.stalls.2",
}
"""Cells for a program's wait for memory, by program, column and bandwidth."""

_NAMES = {
    "bootstrap": "Bootstrap",
    "mult": "T_mult,a/s",
    "matvec": "T_Mv:128,a/s",
    "mlp": "MLP",
    "lola": "LoLA",
    "lenet": "LeNet",
    "helr": "HELR-1024",
}
"""The programs of table III, by their names in its cells."""

_DEGREE_7 = Choice("sigmoid of degree 7, which takes the last of the levels")
"""Only HELR-1024, another program."""


def applications(progress: ProgressHook | None) -> list[dict[str, Any]]:
    """Table III's programs: the time of one run from the first load to the last store."""
    with unwarned():
        made = side_by_side([Step(words, rows) for words, rows in _work()], progress)
        rows = [*itertools.chain.from_iterable(made), *osiris_networks.ratios()]
    add_ranges(rows)
    return rows + _ratios(rows)


def _work() -> list[tuple[str, Callable[[], list[dict[str, Any]]]]]:
    bootstrapping, per_slot = ckks_bootstrapping(FULL_SET), 1e9 / (_DIVISOR * _SLOTS)
    table = [
        ("bootstrap", bootstrapping, FULL_SET, 1e3, "1TB", [_CHAIN]),
        ("bootstrap", bootstrapping, FULL_SET, 1e3, "2TB", [_CHAIN]),
        ("mult", products(), FULL_SET, per_slot, "1TB", [_CHAIN, _NINE]),
        ("matvec", matrix_vectors(), FULL_SET, per_slot, "1TB", [_CHAIN, _CHAINED, _NINE]),
        ("mlp", mlp(), SMALL_SET, 1e6, "1TB", []),
        ("mlp", mlp(), SMALL_SET, 1e6, "2TB", []),
        ("lola", lola(), SMALL_SET, 1e6, "1TB", []),
        ("lola", lola(), SMALL_SET, 1e6, "2TB", []),
        ("helr", helr_1024(), FULL_SET, 1e3, "1TB", [_CHAIN]),
        ("helr", helr_1024(), FULL_SET, 1e3, "2TB", [_CHAIN]),
    ]
    work = [
        (
            f"{name}, {hoisting} hoisting, {bandwidth}/s",
            _cell(name, program, parameters, unit, bandwidth, column, given),
        )
        for name, program, parameters, unit, bandwidth, given in table
        for column, hoisting in HOISTING.items()
    ]
    work += [
        (f"sorting, {hoisting} hoisting, {bandwidth}/s", _sorting(bandwidth, column))
        for bandwidth in ("1TB", "2TB")
        for column, hoisting in HOISTING.items()
    ]
    others = [
        ("bootstrap", 1e3, "ms", bootstrapping, FULL_SET, (*OF_SET_III, DRAM, IN_TURN, *ELSEWHERE)),
        ("helr", 1e3, "ms", helr_1024(), FULL_SET, OF_SET_III),
        ("helr", 1e3, "ms", helr_1024(Batch(degree=7)), FULL_SET, (_DEGREE_7,)),
        ("mult", per_slot, "ns", products(), FULL_SET, OF_SET_III),
        ("matvec", per_slot, "ns", matrix_vectors(), FULL_SET, OF_SET_III),
        ("mlp", 1e6, "us", mlp(), SMALL_SET, READINGS),
        ("lola", 1e6, "us", lola(), SMALL_SET, READINGS),
        ("lenet", 1e6, "us", lenet(), LENET_SET, READINGS),
        ("mlp", 1e6, "us", orion.mlp(), SMALL_SET, (ORION,)),
        ("lola", 1e6, "us", orion.lola(), SMALL_SET, (ORION,)),
        ("lenet", 1e6, "us", orion.lenet(), LENET_SET, (ORION,)),
    ]
    work += [
        (
            f"{name}, {choice.words}",
            _beside(Beside(name, _NAMES[name], unit, unit_name), program, parameters, choice),
        )
        for name, unit, unit_name, program, parameters, choices in others
        for choice in choices
    ]
    work.append(("bootstrap, by diagonals without hoisting, 1TB/s", _plain(bootstrapping)))
    work += [(f"sorting, {choice.words}", _sorting_beside(choice)) for choice in OF_SORTING]
    return [*work, ("figure 11", figure_11), *osiris_networks.work()]


def _timed(program: SlotProgram, parameters: str, readings: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A program's plan for the machine with those readings, and the report of its checked schedule."""
    machine = accelerators.load("osiris", readings)
    plan = planned(program, parameters, machine)
    return plan.facts, machine.simulate(plan).to_dict()


def _cell(
    name: str,
    program: SlotProgram,
    parameters: str,
    unit: float,
    bandwidth: str,
    column: str,
    readings: list[dict[str, str | None]],
) -> Callable[[], list[dict[str, Any]]]:
    """The row of a cell of table III, and points of figure 13; `unit` is a second in the cell's unit. At 2 TB/s table III has no small networks."""
    cell = f"table3{'a' if bandwidth == '1TB' else 'b'}.{name}.{column}"
    point_alone = bandwidth == "2TB" and parameters == SMALL_SET
    choices = [f"hoisting={HOISTING[column]}", f"bandwidth={bandwidth}"]

    def row() -> list[dict[str, Any]]:
        try:
            facts, report = _timed(program, parameters, choices)
        except Error as error:
            return [no_point(_NAMES[name], HOISTING[column], bandwidth, error) if point_alone else failed(cell, error)]
        reason = _composition(facts, report)
        why = f"{TIME_KNOWN}; {_OURS[name]}" if name in _OURS else ORDER_KNOWN
        counted = Multiplications()
        counted.add(facts, report)
        rows = roofline(_NAMES[name], HOISTING[column], bandwidth, counted, report["seconds"], readings, why)
        if point_alone:
            return rows
        seconds = report["seconds"] * unit
        rows = [calibrated(cell, seconds, "; ".join([why, *named(readings), reason])), *rows]
        waits = _WAITS.get((name, column, bandwidth))
        if waits is not None:
            share, made_of = 100 * _waiting(report), _waited(report)
            for_keys = waits.startswith("section7.stalls")
            why, more = (ORDER_KNOWN, [osiris_timing.FOR_KEYS]) if for_keys else (BOUND_KNOWN, [])
            rows.append(calibrated(waits, share, "; ".join([why, *named([*readings, *more]), made_of])))
        return rows

    return row


def _plain(program: SlotProgram) -> Callable[[], list[dict[str, Any]]]:
    """The rows of section VII-B's bootstrapping without baby and giant steps and without hoisting."""
    choices = ["hoisting=none", "steps=diagonals", "bandwidth=1TB"]

    def rows() -> list[dict[str, Any]]:
        try:
            facts, report = _timed(program, FULL_SET, choices)
        except Error as error:
            return [failed(f"section7.plain{cell}", error) for cell in ("", ".utilisation")]
        counted = Multiplications()
        counted.add(facts, report)
        reason = _composition(facts, report)
        given = [_CHAIN, *osiris_timing.readings(choices[:2])]
        of_all = [*given, TWO_A_BUTTERFLY, ALL_MULTIPLIERS]
        share = 100 * counted.share(report["seconds"])
        time, use = (f"{'; '.join([ORDER_KNOWN, *named(each)])}; " for each in (given, of_all))
        return [
            calibrated("section7.plain", 1e3 * report["seconds"], f"{time}{reason}"),
            calibrated("section7.plain.utilisation", share, f"{use}{counted.all:.4g} multiplications; {reason}"),
        ]

    return rows


def _sorting(bandwidth: str, column: str) -> Callable[[], list[dict[str, Any]]]:
    """The row of a cell of table III for sorting, and points of figure 13: the schedule of all stages."""
    cell = f"table3{'a' if bandwidth == '1TB' else 'b'}.sorting.{column}"

    def row() -> list[dict[str, Any]]:
        try:
            readings = [f"hoisting={HOISTING[column]}", f"bandwidth={bandwidth}"]
            seconds, made_of, work = _sorting_timed(SORTING_SET, readings)
        except Error as error:
            return [failed(cell, error)]
        why = f"{TIME_KNOWN}; {CHAIN_IV['name']}"
        points = roofline("Sorting", HOISTING[column], bandwidth, work, seconds, [], why)
        return [calibrated(cell, seconds, f"{why}; {made_of}"), *points]

    return row


def _sorting_timed(parameters: str, readings: Sequence[str]) -> tuple[float, str, Multiplications]:
    """Seconds of the schedule of all stages, the parts of that time, and its multiplications."""
    machine = accelerators.load("osiris", readings)
    folded = repeated_rounds.simulated(sorting(), parameters, machine)
    found = folded.to_dict()
    report, work = found["report"], Multiplications()
    work.schedule(folded.facts[0]["parameters"]["ring_degree"], report)
    for facts, part in zip(folded.facts, folded.parts, strict=True):
        work.program(part["rounds"], facts)
    times = ", ".join(f"{body['rounds']} of {1e3 * body['seconds']:.3g} ms" for body in found["bodies"])
    return (
        report["seconds"],
        (
            f"{found['made_of']}: {found['rounds']} stages, {times}, with {found['bootstraps']} bootstraps; "
            f"{report['traffic_bytes']['total'] / 1e12:.3g} TB from and to memory; {_STAGES}"
        ),
        work,
    )


def _beside(row: Beside, program: SlotProgram, default: str, choice: Choice) -> Callable[[], list[dict[str, Any]]]:
    """The row of a program with another choice than the default set and readings."""
    place, chain = row.place(choice.words), choice.named(default) if choice.suffix else _CHAIN
    # Fixed before any of these times was known.
    early = choice is APART and row.name in ("bootstrap", "mult", "matvec")
    chain = [chain, *([_NINE] if row.name in ("mult", "matvec") else [])]

    def rows() -> list[dict[str, Any]]:
        try:
            facts, report = _timed(program, choice.set(default), list(choice.readings))
        except Error as error:
            return [row.of(failed(row.cell, error, place), choice.words)]
        value, made_of = report["seconds"] * row.unit, _composition(facts, report)
        if early:
            made = predicted(row.cell, value, made_of, place, [*chain, *osiris_timing.readings(choice.readings)])
        else:
            made = calibrated(row.cell, value, f"{choice.why}; {choice.named_on(default)}; {made_of}", place)
        return [row.of(made, choice.words)]

    return rows


def _sorting_beside(choice: Choice) -> Callable[[], list[dict[str, Any]]]:
    """The row of sorting with another choice than the default."""
    row = Beside("sorting", "Sorting", 1.0, "s")
    place = row.place(choice.words)

    def rows() -> list[dict[str, Any]]:
        try:
            seconds, made_of, _ = _sorting_timed(choice.set(SORTING_SET), choice.readings)
        except Error as error:
            return [row.of(failed(row.cell, error, place), choice.words)]
        made = calibrated(row.cell, seconds, f"{choice.why}; {choice.named_on(SORTING_SET)}; {made_of}", place)
        return [row.of(made, choice.words)]

    return rows


def _waiting(report: dict[str, Any]) -> float:
    """The share of the NTT units' cycles that wait for memory: for keys, or for a diagonal queued after them."""
    cycles: dict[str, float] = report["stalls"]
    return (cycles["key_switch_key"] + cycles["other_transfer"]) / sum(cycles.values())


def _waited(report: dict[str, Any]) -> str:
    """The parts of that share, and the utilization of memory and NTT units."""
    cycles, traffic, busy = report["stalls"], report["traffic_bytes"], report["utilisation"]
    keys = (traffic["hints"] + traffic["hints_again"]) / max(traffic["total"], 1)
    return (
        f"{osiris_timing.waits(cycles['key_switch_key'] / sum(cycles.values()), keys)}; memory is at work {busy['hbm']:.0%} of the time, the NTT units "
        f"{busy['ntt']:.0%}"
    )


def _ratios(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows derived from several rows: gains of double hoisting and of bandwidth, the fastest hoisting, counts of multiplications, ends of figure 13,
    and the text's statements."""
    cells = {row["id"]: row for row in rows if row["beside"] is None}
    found = {cell: row["value"] for cell, row in cells.items()}
    gains = []
    for part, bandwidth in (("a", "1"), ("b", "2")):
        none, double = (found.get(f"table3{part}.bootstrap.{column}") for column in ("nh", "dh"))
        if none is not None and double is not None:
            reason = f"{none:.3g} ms without hoisting, {double:.3g} ms with double hoisting"
            why = "; ".join([ORDER_KNOWN, *named([_CHAIN]), reason])
            gains.append(calibrated(f"section7.gain.{bandwidth}", none / double, why))
    fastest = _fastest(cells)
    return (
        gains
        + _of_amortized(cells)
        + fastest
        + _faster(fastest)
        + _fewer(rows)
        + least_and_most(rows)
        + statements(rows, _CHAIN)
    )


def _of_amortized(cells: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The parts of T_mult and T_Mv, whose published values follow from those of the sums: bootstrapping, and nine products."""
    rows = []

    for column, hoisting in HOISTING.items():
        boot, mult, matvec = (cells.get(f"table3a.{name}.{column}") for name in ("bootstrap", "mult", "matvec"))
        if boot is None or boot["value"] is None:
            continue
        if column != "dh":
            reason = f"{ORDER_KNOWN}; that with {hoisting} hoisting, above"
            rows.append(calibrated(f"table3a.bootstrap.{column}.implied", boot["value"], reason))
        for name, whole in (("mult", mult), ("matvec", matvec)):
            if whole is None or whole["value"] is None or (name == "mult" and column != "dh"):
                continue
            parts = whole["value"] * _DIVISOR * _SLOTS / 1e6 - boot["value"]
            reason = f"{ORDER_KNOWN}; {boot['value']:.4g} ms of bootstrapping, subtracted from the schedule's; eight products, as the ninth has no level"
            rows.append(calibrated(f"table3a.{name}.{column}.parts", parts, reason))
    return rows


def _faster(fastest: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The speed-up of ResNet-20 with twice the bandwidth, each time with the fastest hoisting."""
    times = {row["id"]: row["value"] for row in fastest}
    slow, fast = (times.get(f"table3{part}.resnet20.improved") for part in ("a", "b"))
    if slow is None or fast is None:
        return []
    reason = (
        f"calibrated as its parts are: {slow:.4g} ms at 1 TB/s, {fast:.4g} ms at 2 TB/s, each with the fastest hoisting"
    )
    return [calibrated("section7.resnet20.2", slow / fast, reason)]


def _fastest(cells: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """For programs whose time is known only from the table's improvements over its CPU, the row with the fastest hoisting."""
    rows = []
    for part, program in _IMPROVED:
        columns = {hoisting: cells.get(f"table3{part}.{program}.{column}") for column, hoisting in HOISTING.items()}
        timed = {hoisting: row for hoisting, row in columns.items() if row is not None and row["value"] is not None}
        if len(timed) < len(columns):
            continue
        hoisting = min(timed, key=lambda hoisting: timed[hoisting]["value"])
        row = timed[hoisting]
        reason = "; ".join(["calibrated as it is", *named([_OF_THE_FASTEST]), f"that with {hoisting} hoisting, above"])
        rows.append(calibrated(f"table3{part}.{program}.improved", row["value"], reason))
    return rows


def _fewer(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The reduction of a bootstrapping's multiplications by double hoisting."""
    counts = {row["beside"][1]: row["value"] for row in rows if row["beside"] is not None}
    none, double = (
        counts.get(f"{_NAMES['bootstrap']}, {name} hoisting, 1 TB/s: {COUNT}") for name in ("none", "double")
    )
    if none is None or double is None:
        return []
    reason = f"{none:.4g} G without hoisting, {double:.4g} G with double hoisting, each with the steps that its schedules choose"
    why = "; ".join([ORDER_KNOWN, *named([_CHAIN, TWO_A_BUTTERFLY]), reason])
    return [calibrated("section7.multiplications", none / double, why)]


def _energy(joules: float | None) -> str:
    """Energy as text: unknown on a machine of another size or bandwidth than the one whose power is published."""
    return "energy unknown" if joules is None else f"{1e3 * joules:.3g} mJ"


def _composition(facts: dict[str, Any], report: dict[str, Any]) -> str:
    """The parts of a program's time."""
    uses = facts["key_switches"]
    keys, switches = len({use["key"] for use in uses}), sum(use["count"] for use in uses)
    traffic, busy = report["traffic_bytes"], report["utilisation"]
    again = traffic["hints_again"] / max(traffic["total"], 1)
    return (
        f"{switches:,} key switches with {keys} keys; {traffic['total'] / 1e9:.3g} GB from and to memory, {again:.0%} of it keys that came "
        f"again; memory busy {busy['hbm']:.0%}, NTT units {busy['ntt']:.0%}, automorphism unit {busy['automorphism']:.0%}; NTT units wait "
        f"{_waiting(report):.0%} for memory; {_energy(report['energy_j'])}"
    )
