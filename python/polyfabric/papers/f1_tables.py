"""F1's tables 2 and 4, listing 2, and numbers that follow from the machine file; every time is from a checked schedule."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from functools import partial
from typing import Any

import numpy as np

from .. import _native
from ..accelerators import machine as accelerators
from ..apps.matvec import PAPER_SET, matvec
from ..host.progress import ProgressHook
from ..run.execution import plan
from . import own_rtl
from .catalog import Catalog
from .plans import unwarned
from .rows import guarded, of
from .side_by_side import Step, side_by_side

_SIZES = {14: (13, 4), 13: (6, 8), 12: (3, 16)}
"""By log2 N of table 4: limbs of a ciphertext without the special one (log Q of 438, 218 and 109 bits in words of 32), and key switches of each.
There are so many that memory, which loads every ciphertext once, is no bottleneck. Twice as many take the stated time."""

_BITS = {14: 438, 13: 218, 12: 109}
"""By log2 N: log2 Q of table 4."""

_HEAVY = ("multiply", "permute")
"""Operations with a key switch."""

_OPERATIONS = (*_HEAVY, "ntt", "automorphism")

_CIPHERTEXTS = 64
"""The maximum number of ciphertexts of a microbenchmark: four for each cluster."""

_LIGHT_ROUNDS = 64
"""Operations on each ciphertext, without key switch."""

_SEEN = 13
"""log2 N of the key switches whose published times were known when the next two readings were chosen."""

_ROWS = Catalog("f1")

_WORD_BYTES = 4

_HEAX_CLOCK = 300e6
_HEAX_WORD = 54
"""Clock in Hz and bits of a word of HEAX on a Stratix 10, by its own paper."""

_HEAX_BUTTERFLIES = {14: (16, 8), 13: (16, 16), 12: (16, 16)}
"""By log2 N: butterflies a cycle of an NTT unit, and of the NTT units of a key switch, likewise."""

_MULTIPLIERS = {
    "barrett": "Barrett's multiplier, 32 bits",
    "montgomery": "Montgomery's multiplier, 32 bits",
    "ntt": "the same for primes 1 modulo 2^15, as transforms want them",
    "fhe": "F1's multiplier, 32 bits",
}
"""Table 1's multipliers, as they are named in our own synthesis."""

_SECTION_2_BANDWIDTH = 10.0
"""TB/s that section 2.4 states."""

_DENSITY = 36.7
"""Transistors a square micrometer that are stated for GlobalFoundries' 12LP process; the paper has one of 14 or 12 nm of that foundry."""


def predictions(progress: ProgressHook | None) -> list[dict[str, Any]]:
    """The numbers of its tables and listings."""
    machine = accelerators.load("f1")
    steps = [
        Step(f"compile {operation}, N = 2^{log2_degree}", partial(of_table_4, machine, operation, log2_degree))
        for log2_degree in _SIZES
        for operation in _OPERATIONS
    ]
    steps.append(Step("compile listing 2", partial(listing_2, machine)))
    with unwarned():
        made = [row for rows in side_by_side(steps, progress) for row in rows]
    return [*table_1(), *table_2(machine), *made, *structure(machine)]


def table_1() -> list[dict[str, Any]]:
    """Areas of modular multipliers from our own RTL, and what the one saves over the other."""
    transistors = {name: own_rtl.unit(label)["gates"]["transistors"] for name, label in _MULTIPLIERS.items()}
    rows = [
        _ROWS.row("table1.{name}.area", count / _DENSITY, name=name, count=count, density=_DENSITY)
        for name, count in transistors.items()
    ]
    saved = 1.0 - transistors["fhe"] / transistors["ntt"]
    return [*rows, _ROWS.row("section5.multiplier.area", 100.0 * saved)]


def table_2(machine: accelerators.Machine) -> list[dict[str, Any]]:
    """Areas and powers from the machine file, and their sums."""
    rows, sums = [], {name: {"area": 0.0, "power": 0.0} for name in ("compute", "memory", "total")}
    for component in machine.components():
        inside = "memory" if component["count"] <= 1 else "compute"
        for what, value in (("area", component["area_mm2"]), ("power", component["power_w"])):
            if value is None:
                continue
            for name in (inside, "total"):
                sums[name][what] += value
            row = partial(_ROWS.row, name=component["name"], what=what)
            rows.append(row("table2.{name}.{what}", value / component["count"]))
    clusters = machine.count("units.cluster.count")
    sums["cluster"] = {what: value / clusters for what, value in sums["compute"].items()}
    parts = ((name, what, value) for name, own in sums.items() for what, value in own.items())
    return rows + [_ROWS.row("table2.{sums}.{what}", value, sums=name, what=what) for name, what, value in parts]


def _ciphertexts(machine: accelerators.Machine, operation: str, log2_degree: int, limbs: int) -> int:
    """As many ciphertexts as fit the scratchpad with the hint, counting all inputs of each, so that memory does not limit the time; rounded so that
    clusters share them evenly."""
    banks, bank = machine.count("memories.scratchpad.banks"), machine.figure("memories.scratchpad.bank") * 2**20
    vectors = int(bank) // (_WORD_BYTES << log2_degree) * banks
    inputs, hints = 2 if operation == "multiply" else 1, 2 * limbs * (limbs + 1) if operation in _HEAVY else 0
    most = min(max(max(vectors - hints, 0) // (inputs * 2 * limbs), 1), _CIPHERTEXTS)
    clusters = machine.count("units.cluster.count")
    return next((count for count in range(most, 0, -1) if count % clusters == 0 or clusters % count == 0), most)


def _further(
    machine: accelerators.Machine, operation: str, shape: tuple[int, int], ciphertexts: int, rounds: int, special: int
) -> tuple[float, float, str]:
    """Nanoseconds of a further operation, the bound of the busiest units, and which units these are."""
    found = []
    for often in (rounds, 2 * rounds):
        kernel = _native.RnsKernel.microbenchmark(operation, *shape, ciphertexts, often, special)
        report = machine.simulate(kernel)
        found.append((report["cycles"], report["limits"]))
    (few, of_few), (many, of_many) = found
    by = max(reversed(("ntt", "automorphism", "multiply", "add")), key=lambda unit: of_many[unit] - of_few[unit])

    def nanoseconds(cycles: int) -> float:
        return cycles / (ciphertexts * rounds) / machine.clock_hz * 1e9

    return nanoseconds(max(many - few, 0)), nanoseconds(of_many[by] - of_few[by]), by


def of_table_4(machine: accelerators.Machine, operation: str, log2_degree: int) -> list[dict[str, Any]]:
    """The row of an operation at a size, and its additional rows."""
    heavy, (limbs, rounds) = operation in _HEAVY, _SIZES[log2_degree]
    rounds = rounds if heavy else _LIGHT_ROUNDS
    row = partial(_ROWS.row, operation=operation, log2_degree=log2_degree)

    def rows() -> list[dict[str, Any]]:
        ciphertexts = _ciphertexts(machine, operation, log2_degree, limbs)
        time, bound, by = _further(machine, operation, (log2_degree, limbs), ciphertexts, rounds, 1)
        if time < 1.01 * bound:
            held_up = "they are busy all the time"
        elif heavy:
            held_up = "the schedule is held up by registers and crossbars, over which a hint's vectors reach a cluster"
        else:
            held_up = "the ciphertexts fill the clusters unevenly, or their vectors pass the scratchpad between rounds"
        fields = {"limbs": limbs, "ciphertexts": ciphertexts, "rounds": rounds, "twice": 2 * rounds}
        # Both readings were chosen after the published times were known.
        known = heavy and log2_degree == _SEEN
        key = f"table4.{{operation}}.{{log2_degree}}/{'heavy' if heavy else 'light'}"
        own = row(key, time, "calibrated" if known else None, **fields, by=by, bound=bound, held_up=held_up)
        made = [
            of(own, log2_degree=log2_degree, bound=bound),
            row("table4.{operation}.{log2_degree}/bound", bound, by=by),
        ]
        if operation == "multiply":
            # By the paper's own count, with L words of 32 bits.
            made.append(row("table4.multiply.{log2_degree}/products", products_bound(machine, log2_degree, limbs + 1)))
        if operation != "automorphism":
            quotient = heax_ns(operation, log2_degree, limbs + 1) / time
            made.append(row("table4.{operation}.{log2_degree}.heax", quotient))
        if known:
            time, bound, by = _further(machine, operation, (log2_degree, limbs + 1), ciphertexts, rounds, 0)
            made.append(row("table4.{operation}.{log2_degree}/listing 1", time, limbs=limbs + 1, bound=bound, by=by))
        return made

    return guarded(rows, f"table4.{operation}.{log2_degree}")


def products_bound(machine: accelerators.Machine, log2_degree: int, limbs: int) -> float:
    """Nanoseconds in which all multipliers do the products that the paper counts of a homomorphic multiplication: 2L^2 of the key switch and 4L of the
    operands (section 2.4), and 4(L - 1) of a modulus switch before it (2.2.2)."""
    vectors = 2 * limbs**2 + 4 * limbs + 4 * (limbs - 1)
    units = machine.count("units.multiply.count") * machine.count("units.cluster.count")
    return vectors * ((1 << log2_degree) // machine.count("units.cluster.lanes")) / units / machine.clock_hz * 1e9


def heax_ns(operation: str, log2_degree: int, limbs: int) -> float:
    """Nanoseconds of an operation on HEAX: a transform of N points has N/2 log2 N butterflies, and a key switch, which every homomorphic operation waits
    for, takes a transform for each word of the ciphertext. `limbs` counts F1's words."""
    alone, switching = _HEAX_BUTTERFLIES[log2_degree]
    # One of its primes is special: 109, 218 and 438 bits are 3, 5 and 9 words.
    words = -(-_BITS[log2_degree] // _HEAX_WORD) - 1
    transforms, butterflies = (limbs, alone) if operation == "ntt" else (words, switching)
    return transforms * (log2_degree << (log2_degree - 1)) / butterflies / _HEAX_CLOCK * 1e9


def primes(step: int, least: int, most: int) -> list[int]:
    """Primes from `least` to below `most`, two powers of two, that are 1 modulo `step`, ascending."""
    composite = np.zeros((most - least) // step, dtype=bool)
    composite[0] = least < step
    small = np.ones(math.isqrt(most) + 1, dtype=bool)
    for prime in range(2, len(small)):
        if not small[prime]:
            continue
        small[prime * prime :: prime] = False
        if prime > 2:
            # The first multiple of it that is 1 modulo the step, except itself.
            first = -(least + 1) * pow(step, -1, prime) % prime
            composite[first + (prime if least + first * step + 1 == prime else 0) :: prime] = True
    return [least + step * int(place) + 1 for place in np.flatnonzero(~composite)]


def structure(machine: accelerators.Machine) -> list[dict[str, Any]]:
    """Numbers that follow only from the machine file."""
    lanes, clusters, clock = (
        machine.figure("units.cluster.lanes"),
        machine.count("units.cluster.count"),
        machine.clock_hz,
    )
    units = {kind: machine.count(f"units.{kind}.count") * clusters for kind in ("ntt", "multiply", "add")}
    layers = math.log2(lanes)
    multipliers = 2.0 * (lanes * (layers - 1.0) / 2.0) + lanes
    # Section 1's operations per second, over the units that compute: a butterfly has a sum and a difference.
    multiplications = units["ntt"] * multipliers + units["multiply"] * lanes
    additions = units["ntt"] * 2.0 * lanes * layers + units["add"] * lanes
    # An NTT unit's multiplier comes with the sum behind it.
    together = units["ntt"] * 2.0 * multipliers + (units["multiply"] + units["add"]) * lanes
    tera, port = clock * 1e-12, lanes * _WORD_BYTES * clock * 1e-12
    banks, accesses = (machine.count(f"memories.register_file.{what}") for what in ("banks", "accesses"))
    row = _ROWS.row
    return [
        row("section5.primes", len(primes(2**16, 0, 2**32))),
        row("section5.multipliers", multipliers),
        row("section5.multipliers/built", machine.quantities()["ntt_multipliers"]),
        row("section1.operations", together * tera),
        row("section1.operations/butterflies", (multiplications + additions) * tera),
        row("section1.operations/multiplications", multiplications * tera),
        row("section6.network", 3.0 * clusters * port),
        row("section6.registers", float(banks * accesses * clusters) * port),
    ]


def _shortest_codes(streams: str) -> tuple[int, float]:
    """The instructions of all streams, and their bytes if each had the shortest code by how often its operation and wait occur in the streams of its kind of
    component."""
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    kind = ""
    for line in streams.splitlines():
        if line.startswith(" "):
            counted[kind][line] += 1
        else:
            kind = re.sub(r"[0-9]+", "", line.partition(":")[0])
    bits = sum(-count * math.log2(count / of.total()) for of in counted.values() for count in of.values())
    return sum(of.total() for of in counted.values()), bits / 8


def listing_2(machine: accelerators.Machine) -> list[dict[str, Any]]:
    """Listing 2 at its N and L."""
    row = _ROWS.row

    def rows() -> list[dict[str, Any]]:
        planned = plan(matvec(), PAPER_SET, machine=machine, max_failure=0.0)
        mapped = machine.map(planned)
        report = mapped.report().to_dict()
        dram = accelerators.load("f1", ["memory=dram"])
        of_dram = plan(matvec(), PAPER_SET, machine=dram, max_failure=0.0)
        traffic, uses = report["traffic_bytes"], planned.facts["key_switches"]
        sets, switches = len({use["key"] for use in uses}), sum(use["count"] for use in uses)
        degree, limbs = planned.facts["parameters"]["ring_degree"], max(use["limbs"] for use in uses)
        # All its hints have the same size.
        hint, transforms = traffic["hints"] / sets, planned.facts["limb_operations"]["ntts"] / switches
        ntt_units = machine.count("units.ntt.count") * machine.count("units.cluster.count")
        cycles = transforms * (degree // machine.count("units.cluster.lanes")) / ntt_units
        inputs, microseconds = hint + limbs * degree * _WORD_BYTES, 1e6 * cycles / machine.clock_hz
        instructions, least = _shortest_codes(mapped.native.streams_text())
        often = 1 + traffic["hints_again"] / traffic["hints"]
        return [
            row("section4.sets", sets),
            row("section4.hints", traffic["hints"] / 2**20),
            row("section2.hints", hint / 2**20),
            row("section2.ntts", transforms, switches=switches),
            row(
                "section2.bandwidth",
                1e-6 * inputs / microseconds,
                microseconds=microseconds,
                published=1e-6 * inputs / _SECTION_2_BANDWIDTH,
            ),
            row("section4.hints/time", report["cycles"] / machine.clock_hz * 1e3, often=often),
            row("section4.hints/dram", dram.simulate(of_dram).to_dict()["cycles"] / machine.clock_hz * 1e3),
            row(
                "section3.fetch",
                100.0 * traffic["instructions"] / traffic["total"],
                instructions=instructions,
                bytes=traffic["instructions"] / instructions,
                bits=8.0 * least / instructions,
                share=100.0 * least / (traffic["total"] - traffic["instructions"] + least),
            ),
        ]

    return guarded(
        rows,
        "section4.sets",
        "section4.hints",
        "section2.hints",
        "section2.ntts",
        "section2.bandwidth",
        "section3.fetch",
    )
