"""Osiris' tables II, IV and V, section V's rate and a matrix of figure 11: numbers that follow from the machine file, and times from checked
schedules."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from .. import _native
from ..accelerators import machine as accelerators
from ..host.progress import ProgressHook
from .catalog import Catalog
from .f1_tables import primes
from .osiris_timing import HOISTING
from .rows import guarded
from .side_by_side import Step, side_by_side

_MATRIX_SET, _DIAGONALS = "osiris-III", 64
"""The set and the number of diagonals of figure 11's matrix; its levels are printed for the residual part only."""

_SLOTS = 1 << 15

_RAISED = (14, 40)
"""The change of modulus whose rate is measured: source limbs, and the limbs of its result."""

_UNPRINTED = ("limb_extension", "automorphism_settings", "mask_blocks", "mask_rings")
"""Parts of the machine file that none of the paper's counts include."""

_ROWS = Catalog("osiris")


def predictions(progress: ProgressHook | None) -> list[dict[str, Any]]:
    """The numbers of its tables, and of single kernels."""
    machine = accelerators.load("osiris")
    steps = [Step(f"rotation at {bandwidth}/s", partial(_rotation, bandwidth)) for bandwidth in ("1TB", "2TB", "4TB")]
    steps += [
        Step(f"matrix, {hoisting} hoisting, {bandwidth}/s", partial(_matrix, name, hoisting, bandwidth))
        for name, hoisting in {"no": HOISTING["nh"], "single": HOISTING["sh"], "double": HOISTING["dh"]}.items()
        for bandwidth in ("1TB", "2TB")
    ]
    steps.append(Step("changes of modulus", partial(_rate, machine)))
    made = [row for rows in side_by_side(steps, progress) for row in rows]
    return [*_structure(machine), *_components(machine), *_sets(), *made]


def _structure(machine: accelerators.Machine) -> list[dict[str, Any]]:
    """Multipliers and memory, as derived from the units."""
    made, one = machine.quantities(), accelerators.load("osiris", ["hadamard=one"]).quantities()
    limbs, lanes = machine.count("units.ntt.limbs"), machine.count("units.ntt.lanes")
    row = partial(_ROWS.row, limbs=limbs)
    megabytes = {name.removesuffix("_bytes"): size / 1e6 for name, size in made.items() if name.endswith("_bytes")}
    kinds = ("ntt", "base_conversion", "hadamard")
    counts = {name: round(made[f"{name}_multipliers"]) for name in kinds}
    at_work, every = round(made["hadamard_multipliers_at_work"]), sum(counts.values())
    of_one = sum(round(one[f"{name}_multipliers"]) for name in kinds)
    return [
        row("section4.buffers", made["delay_bytes"] / 2.0 / 1e6),
        row("section6.delays", megabytes["delay"]),
        # Two ways to count match the two printed sizes, and have no other evidence.
        row("section4.twiddles.whole", megabytes["whole_twiddle"]),
        row("section4.twiddles", megabytes["twiddle"]),
        row("section4.twiddles/one direction", made["twiddle_bytes"] / 2.0 / 1e6),
        row("section4.twiddles/stages", megabytes["stage_twiddle"]),
        row("section6.scratchpads/settings", megabytes["setting"]),
        row("section6.scratchpads", megabytes["scratchpad"]),
        row("table4.osiris.width", machine.count("machine.arithmetic.word")),
        row("table4.osiris.sram", (made["scratchpad_bytes"] + made["delay_bytes"]) / 1e6),
        row("table4.osiris.multipliers", every, **counts),
        row("table4.osiris.multipliers/one", of_one),
        row("table4.osiris.multipliers/at work", every - counts["hadamard"] + at_work, **counts, at_work=at_work),
        row("table4.osiris.multipliers/extending", every + made["limb_extension_multipliers"]),
        row("table4.osiris.multipliers/other side", of_one + 2 * lanes),
    ]


def _components(machine: accelerators.Machine) -> list[dict[str, Any]]:
    """Areas and powers from the machine file, and their sums."""
    parts, row = {part["name"]: part for part in machine.components()}, _ROWS.row
    multiplier, array = parts["ntt_multipliers"], parts["base_conversion"]
    printed = [part for name, part in parts.items() if name not in _UNPRINTED]

    def total(what: str, parts: Iterable[dict[str, Any]]) -> float:
        return reduce(add, (part[what] for part in parts))

    area = total("area_mm2", printed)
    return [
        row("table5.sram.area", parts["scratchpad"]["area_mm2"]),
        row("table5.sram.power", parts["scratchpad"]["power_w"]),
        row("table5.column2.power", parts["hbm_phy"]["power_w"]),
        row("section6.multiplier.area", multiplier["area_mm2"] / multiplier["count"] * 1e6),
        row("section6.multiplier.power", multiplier["power_w"] / multiplier["count"] * 1e3),
        row("table4.osiris.area", area),
        row("table4.osiris.power", total("power_w", printed)),
        row("table4.osiris.area/all", total("area_mm2", parts.values())),
        row("table4.osiris.power/all", total("power_w", parts.values())),
        row("section7.array.area", 100.0 * array["area_mm2"] / area),
        row("section7.array.power/over ResNet-20", array["power_w"]),
    ]


def _facts(parameters: str) -> dict[str, Any]:
    found = _native.RnsParameters.named(parameters)
    assert found is not None
    return json.loads(found.to_json())


def _sets() -> list[dict[str, Any]]:
    """Digits of the residual sets, and the modulus of those with the levels of a bootstrapping."""
    rows = []
    for name in ("I", "II", "III", "IV"):
        set_of = _facts(f"osiris-{name}")
        limbs, widest, digits = set_of["limbs"], set_of["special_limbs"], set_of["digits"]
        fields = {"limbs": limbs, "widest": widest, "digits": digits}
        fields |= {"fewer": limbs - 1, "other": -(-(limbs - 1) // max(widest, 1))}
        key = "table2.{name}.dnum/split" if name in ("III", "IV") else "table2.{name}.dnum"
        rows.append(_ROWS.row(key, digits, name=name, **fields))
        if key.endswith("split"):
            rows.append(_ROWS.row("table2.{name}.dnum/whole", fields["other"], name=name, **fields))
    sets = (_facts(name) for name in ("osiris-bootstrap", "osiris-bootstrap-IV"))
    return [*rows, _ROWS.row("table2.modulus", max(facts["log2_q"] + facts["log2_p"] for facts in sets))]


def _rate(machine: accelerators.Machine) -> list[dict[str, Any]]:
    """The time of a further change of modulus, per limb."""
    sources, limbs = _RAISED
    stages = machine.count("units.ntt.stages")
    # Memory, which loads and stores every limb, must not limit the time.
    fast = machine.varied(
        channels__hbm__bandwidth=400, memories__scratchpad__reads=256, memories__scratchpad__writes=256
    )
    moduli = primes(2 << stages, 2**39, 2**40)[: -limbs - 1 : -1]

    def cycles(count: int) -> int:
        lines = [f'kernel "changes of modulus" degree {1 << stages}', f"moduli {moduli}"]
        for number in range(count):
            lines.append(f'%{2 * number} = input "x{number}" part 0 evaluation {{0-{sources - 1}}}')
            lines.append(
                f"%{2 * number + 1} = mod_up %{2 * number} digit {{0-{sources - 1}}} to {{0-{limbs - 1}}} balanced"
            )
        lines += [f'output "x{number}" part 0 = %{2 * number + 1}' for number in range(count)]
        return fast.simulate(_native.RnsKernel.parse("\n".join(lines)))["cycles"]

    def rows() -> list[dict[str, Any]]:
        rate = (cycles(4) - cycles(2)) / (2 * (limbs - sources))
        return [_ROWS.row("section5.rate", rate, made=limbs - sources, sources=sources, limbs=limbs)]

    return guarded(rows, "section5.rate")


def _on_top(machine: accelerators.Machine, diagonals: int | None) -> _native.RnsKernel:
    """A ciphertext at the top of figure 11's set, rotated or times a matrix, lowered for the machine."""
    builder = _native.RnsProgramBuilder("kernel", _SLOTS, None)
    x = builder.input("x", 1.0, _facts(_MATRIX_SET)["levels"])
    y = builder.rotate(x, 5) if diagonals is None else builder.linear_transform(x, _values(diagonals))
    builder.output("y", y)
    return _native.RnsKernel.at_highest_levels(builder.finish(), _MATRIX_SET, machine.native)


def _values(diagonals: int) -> Iterator[tuple[int, tuple[np.ndarray, np.ndarray]]]:
    for offset in range(diagonals):
        yield offset, ((np.arange(_SLOTS) + offset * 5) % 11 / 40.0, np.zeros(_SLOTS))


def _rotation(bandwidth: str) -> list[dict[str, Any]]:
    """One rotation with its key from memory."""
    machine = accelerators.load("osiris", [f"bandwidth={bandwidth}"])
    cycles = machine.simulate(_on_top(machine, None))["cycles"]
    return [_ROWS.row("kernel.rotation/time", cycles / machine.clock_hz * 1e6, bandwidth=bandwidth)]


def _matrix(name: str, hoisting: str, bandwidth: str) -> list[dict[str, Any]]:
    """A matrix of figure 11's diagonals times a vector."""
    machine = accelerators.load("osiris", [f"bandwidth={bandwidth}", f"hoisting={hoisting}"])
    report = machine.simulate(_on_top(machine, _DIAGONALS)).to_dict()
    memory = report["traffic_bytes"]["total"] / (report["off_chip_bytes_per_s"] / machine.clock_hz) / report["cycles"]
    fields = {"diagonals": _DIAGONALS, "name": name, "bandwidth": bandwidth, "memory": 100.0 * memory}
    return [_ROWS.row("kernel.matrix/time", report["cycles"] / machine.clock_hz * 1e6, **fields)]
