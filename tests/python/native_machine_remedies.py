"""Calls that the Rust half's machines refuse, beside those that their messages advise; `test_native_remedies.py` makes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polyfabric as pf
from call_remedies import ELEMENTS, REALS, Call, call, written
from native_remedies import EXAMPLES, OWN_SET, R4, saved, traced
from polyfabric import exploration, machines, parameters
from polyfabric.errors import MachineError
from tool_remedies import on_f1

MACHINES = EXAMPLES.parent / "machines"
KINGFISHER = EXAMPLES / "own-tfhe-machine.toml"
Changes = tuple[tuple[str, str], ...]


def changed(folder: Path, source: Path, *changes: tuple[str, str]) -> str:
    """A copy of a machine file with parts of it replaced."""
    text = source.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return str(written(folder / "own.toml", text))


def other_encoding(file: Path) -> str:
    """The file as editors of Windows write "Unicode"."""
    file.write_bytes(KINGFISHER.read_text(encoding="utf-8").encode("utf-16"))
    return str(file)


def of_machine(
    source: str, wrong: Changes, words: str, *right: Changes, program: Any = ELEMENTS, **options: Any
) -> Call:
    """A machine file that comes with the project with parts that are refused, and with the advised ones."""
    path = KINGFISHER if source == "kingfisher" else MACHINES / f"{source}.toml"

    def simulate(at: Path, changes: Changes) -> Any:
        return program.simulate(changed(at, path, *changes), **options)

    return call(lambda at: simulate(at, wrong), words, lambda at: [simulate(at, one) for one in right])


def own(wrong: Changes, words: str, *right: Changes, **options: Any) -> Call:
    return of_machine("kingfisher", wrong, words, *right, **{"parameters": OWN_SET, "max_failure": 0, **options})


def on_osiris(wrong: Changes, words: str, *right: Changes, program: Any = REALS, name: str = "osiris-III") -> Call:
    return of_machine("osiris", wrong, words, *right, program=program, parameters=name, security=0)


def point(folder: Path, axis: str, number: float, *changes: tuple[str, str]) -> dict[str, Any]:
    """One point of a sweep of a changed file, as a worker makes it."""
    task = exploration.Task.of(changed(folder, KINGFISHER, *changes), (f"pbs@{OWN_SET}",), 8)
    found = exploration.evaluate(task, exploration.Point(((axis, number),)))
    missing = found.get("error") or found.get("area_cause")
    if missing:
        raise MachineError(missing)
    return found


def points(wrong: Changes, words: str, *right: Changes, axis: str = "units.core.count", number: float = 2) -> Call:
    return call(
        lambda at: point(at, axis, number, *wrong),
        words,
        lambda at: [point(at, axis, number, *one) for one in right],
    )


def powers(steps: int) -> Any:
    def power(x: pf.SlotValue) -> pf.SlotValue:
        for _ in range(steps):
            x = x * x
        return x

    return traced(power, x=R4)


def turns(x: pf.SlotValue) -> pf.SlotValue:
    return sum((pf.rotate(x, steps) for steps in range(1, 32)), x)


def planned_for(name: str, program: Any, parameters: str, **options: Any) -> Any:
    return program.plan(parameters, machine=machines.load(name), security=0, **options)


def compiled_again(change: Callable[[bytes], bytes]) -> Callable[[Path], Any]:
    return lambda at: saved(at, change)


def widths(name: str) -> Any:
    return machines.load("fpt").derive_widths(parameters.named(name).native)


TWIDDLES = 'at = "4096", source = "assumption: a memory grows with its words"'
LINK = ('"channels.link.rate" = "256 bits/cycle"\n', "")
LINK_LAW = (
    'size = { of = "memories.global.capacity", at = "4 MiB"',
    'size = { of = "memories.global.capacity * channels.link.rate", at = "4 MiB * 32"',
)
PORT = (
    "[memories.global]\n",
    'read_rate = {{ value = {}, unit = "bytes/cycle", source = "chosen" }}\n[memories.global]\n',
)


def port(rate: int) -> tuple[str, str]:
    """A rate of reading the local memory, which the file leaves out."""
    return PORT[0], PORT[1].format(rate)


PORT_HELD = (
    '"units.core.batch" = "16 ciphertexts"\n',
    '"units.core.batch" = "16 ciphertexts"\n"memories.local.read_rate" = [4096, 8192]\n',
)
FAST_CLOCK = ("clock = { value = 1.2", "clock = { value = 1.5")
LINK_RATE, POINT = 'rate = { value = 256, unit = "bits/cycle"', "point = { value = 64"
ENERGY = (
    'energy = { value = 3.92, unit = "pJ/bit", source = "O\'Connor et al., Fine-Grained DRAM, MICRO 2017: HBM2" }\n'
)
PHY = 'activity = ["hbm"]'
INVERSES = 'count = { value = 1, unit = "units", source = "chosen: one inverse'
THREE_INVERSES = (INVERSES, INVERSES.replace("1", "3", 1))
ONE_SUM = ("accumulates = { value = true", "accumulates = { value = false")
WITHOUT_SUMS = (
    ONE_SUM,
    ("[units.inverse]\n", ""),
    (
        'count = { value = 1, unit = "units", source = "chosen: one inverse transform and accumulator drain the columns in turn" }\n',
        "",
    ),
    ('count = "units.core.count * units.inverse.count"', 'count = "units.core.count * units.core.columns"'),
    ('"units.multiply.accumulates" = true', '"units.multiply.accumulates" = false'),
)


def narrow(lanes: int) -> Changes:
    """Two points a cycle at the rotator, and transforms of `lanes`."""
    stage = f'lanes = {{ value = {lanes}, unit = "lanes", source = "chosen" }}\n'
    return (
        ("lanes = { value = 8, unit", "lanes = { value = 2, unit"),
        ("[units.inverse]\n", f"[units.forward]\n{stage}[units.inverse]\n{stage}"),
    )


TITLE = 'title = "Kingfisher, four streaming cores that sum behind their multipliers: an example"\n'

OWN_FILES = [
    own(((TITLE, ""),), 'Add `title = "…"` above the first `[table]`', ((TITLE, 'title = "Mine"\n'),), ()),
    own(
        ((TITLE, f"{TITLE}subtitle = 1\n"),),
        "correct it; docs/your-own-machine.md says what a machine file has",
        (),
    ),
    own((("coefficient = { value = 32", "coefficient = { value = 33"),), "and nothing else. Write 32 bits", ()),
    own(
        (('"units.core.folding" = true', '"units.core.folding" = "often"'),),
        "Write a number in the base unit, a number with its unit as text",
        (('"units.core.folding" = true', '"units.core.folding" = 1'),),
        (('"machine.arithmetic.coefficient" = "32 bits"', '"machine.arithmetic.coefficient" = 32'),),
        (),
    ),
    own(
        ((TWIDDLES, 'at = "4096", source = ""'),),
        "Say why area and power grow with it, or write a sentence",
        ((TWIDDLES, 'at = "4096", source = "assumption: so it is"'),),
    ),
    own(
        ((TWIDDLES, TWIDDLES.replace("4096", "0")),),
        "Write `of` and `at` in figures and numbers above 0, in base units or with their unit",
        ((TWIDDLES, TWIDDLES.replace("4096", "4096 units")),),
        (),
    ),
    own(
        ((TWIDDLES, TWIDDLES.replace("4096", "4 KiB")),),
        "Write `at` in the units of the figures in `of`",
        ((TWIDDLES, TWIDDLES.replace("4096", "units.core.largest_ring")),),
    ),
    own(
        ((PHY, f'count = "-1 * units.core.count"\n{PHY}'),),
        "Write a sum of products of counts that is between 0 and 1000000",
        ((PHY, f'count = "2 * units.core.count"\n{PHY}'),),
    ),
    own(
        (('"units.core.folding" = true', '"units.core.folding" = []'),),
        "Give the values of `units.core.folding` that area and power are of",
        (('"units.core.folding" = true', '"units.core.folding" = [true, false]'),),
    ),
    own(
        (('title = "King', 'title = "\\u001bKing'),),
        "has a character that steers a terminal; remove it",
        (),
    ),
    call(
        lambda at: machines.load(other_encoding(at / "own.toml")),
        "own.toml: no text in UTF-8 (invalid utf-8 sequence of 1 bytes from index 0); write it in that encoding",
        lambda at: machines.load(changed(at, KINGFISHER)),
    ),
    call(
        lambda at: machines.load(str(written(at / "big.toml", "#" * 2_000_000))),
        "Is this the right file?",
        lambda at: machines.load(changed(at, KINGFISHER)),
    ),
    own(
        (FAST_CLOCK,),
        "Lower the clock, or give parts that reach it",
        ((FAST_CLOCK[0], "clock = { value = 1.1"),),
        (FAST_CLOCK, ("[component_clock]\nvalue = 1.2", "[component_clock]\nvalue = 1.5")),
    ),
    own(
        (('activity = ["decomposer"]', 'activity = ["nobody"]'),),
        "the schedule has no unit class, channel class or memory",
        (('activity = ["decomposer"]', 'activity = ["rotator"]'),),
        (),
    ),
    own(
        ((LINK_RATE, 'rate = { value = 10, unit = "GB/s"'),),
        "Write a value that is a whole number of them",
        ((LINK_RATE, 'rate = { value = 38.4, unit = "GB/s"'),),
    ),
    own(
        ((POINT, POINT.replace("64", "16")),),
        "give it at least twice the bits",
        (),
        ((POINT, POINT.replace("64", "80")),),
    ),
    own(
        ((PHY, f'includes = ["hbm"]\n{PHY}'),),
        "Name one as `channels.hbm`",
        ((ENERGY, ""), (PHY, f'includes = ["channels.hbm"]\n{PHY}')),
    ),
    own((ONE_SUM,), "remove the count, or let the multipliers accumulate", WITHOUT_SUMS, ()),
    own((THREE_INVERSES,), "give at most as many as columns", (), ((INVERSES, INVERSES.replace("1", "2", 1)),)),
    own(
        (port(1),),
        "Give a wider port, fewer lanes or slower links",
        (port(1024),),
        (port(512), ("lanes = { value = 8, unit", "lanes = { value = 4, unit")),
    ),
    own(narrow(64), "Give the stages more lanes, or at least that latency", (), narrow(2)),
    own(
        (("largest_ring = { value = 4096", "largest_ring = { value = 64"),),
        "; that is so of every default parameter set, so name one with parameters (--params)",
        (),
        parameters=None,
    ),
    call(
        lambda at: ELEMENTS.simulate(
            changed(at, KINGFISHER, ("largest_ring = { value = 4096", "largest_ring = { value = 64")), max_failure=-2000
        ),
        "none of them runs there; name a set with parameters (--params)",
        lambda at: ELEMENTS.simulate(
            changed(at, KINGFISHER, ("largest_ring = { value = 4096", "largest_ring = { value = 1024")),
            parameters=OWN_SET,
            max_failure=0,
        ),
    ),
]

SWEPT = [
    points(
        ((TWIDDLES, TWIDDLES.replace("4096", "4")),),
        "give area and power of a part of about that size, and its `at`",
        ((TWIDDLES, TWIDDLES.replace("4096", "512")),),
    ),
    points(
        (),
        "The file does not give it: add it there first",
        (port(4096), PORT_HELD),
        axis="memories.local.read_rate",
        number=8192,
    ),
    points(
        (LINK,),
        "Name it in the `count` or the `size` of the components that it changes",
        (LINK, LINK_LAW),
        axis="channels.link.rate",
        number=512,
    ),
    points((LINK,), "name it in a `count`, a `size` or a `holds_for`", (LINK, LINK_LAW), ()),
]

READINGS = [
    call(
        lambda _: machines.load("morphling", ["fft_rate=other"]),
        "option of reading `fft_rate` `other` does not exist. Choose one of",
        lambda _: [machines.load("morphling", [f"fft_rate={option}"]) for option in ("literal", "published")],
    ),
]

FIFO = 'capacity = { value = 256, unit = "KiB", source = "assumption: rotation'
PRIVATE = 'capacity = { value = 4, unit = "MiB", source = "section VI-B, table IV: 16 banks'
REGISTERS = 'capacity = { value = 512, unit = "KiB", source = "table 2: of a cluster"'
BANK = 'bank = { value = 4, unit = "MiB", source = "section 3, table 2"'
BANKS = 'banks = { value = 16, unit = "banks", source = "section 3, table 2"'
NTT_UNITS = "[units.ntt]\ncount = { value = 1,"
READS, WRITES = "reads = { value = 37", "writes = { value = 21"
HEIGHT = 'height = { value = 3, unit = "units", source = "section IV-E'
POINTS = "forward_points = { value = 128"


def fpt(name: str, wrong: Changes, words: str, *right: Changes) -> Call:
    return of_machine("fpt", wrong, words, *right, parameters=name, max_failure=0)


OF_PAPERS = [
    fpt(
        "fpt-II",
        (("largest_ring = { value = 16384", "largest_ring = { value = 512"),),
        "enlarge `units.cmux.largest_ring` in the machine file",
        (("largest_ring = { value = 16384", "largest_ring = { value = 1024"),),
    ),
    call(
        lambda at: ELEMENTS.simulate(
            changed(at, MACHINES / "fpt.toml", ("largest_ring = { value = 16384", "largest_ring = { value = 512")),
            parameters="fpt-II",
            max_failure=0,
        ),
        "choose a set with a smaller ring",
        lambda at: ELEMENTS.simulate(
            changed(at, MACHINES / "fpt.toml", ("largest_ring = { value = 16384", "largest_ring = { value = 512")),
            parameters="fpt-I",
            max_failure=0,
        ),
    ),
    fpt(
        "fpt-I",
        ((POINTS, POINTS.replace("128", "512")),),
        "or fewer points a cycle in the machine file",
        ((POINTS, POINTS.replace("128", "256")),),
    ),
    call(
        lambda at: ELEMENTS.simulate(
            changed(at, MACHINES / "fpt.toml", (POINTS, POINTS.replace("128", "512"))),
            parameters="fpt-I",
            max_failure=0,
        ),
        "choose a set with a larger ring",
        lambda at: ELEMENTS.simulate(
            changed(at, MACHINES / "fpt.toml", (POINTS, POINTS.replace("128", "512"))),
            parameters="fpt-II",
            max_failure=0,
        ),
    ),
    fpt(
        "fpt-I",
        ((FIFO, FIFO.replace("256", "1")),),
        "choose a smaller set, or enlarge it in the machine file",
        ((FIFO, FIFO.replace("256", "32")),),
    ),
    of_machine(
        "morphling",
        ((PRIVATE, PRIVATE.replace("4", "0.125", 1)),),
        "enlarge `memories.private_a1.capacity` in the machine file",
        ((PRIVATE, PRIVATE.replace("4", "1", 1)),),
        parameters="morphling-I",
        max_failure=0,
    ),
    of_machine(
        "morphling",
        (("largest_ring = { value = 4096", "largest_ring = { value = 512"),),
        "or enlarge `units.fft.largest_ring` in the machine file",
        (("largest_ring = { value = 4096", "largest_ring = { value = 1024"),),
        parameters="morphling-I",
        max_failure=0,
    ),
    call(
        lambda _: widths("toy-256-t64"),
        "choose a set on the torus of 32 bits",
        lambda _: widths("toy-256"),
    ),
    of_machine(
        "f1",
        ((REGISTERS, REGISTERS.replace("512", "16")),),
        "take a smaller ring, or enlarge it in the machine file",
        ((REGISTERS, REGISTERS.replace("512", "64")),),
        program=REALS,
        parameters="f1-12-L3",
        security=0,
    ),
    of_machine(
        "f1",
        ((BANK, BANK.replace("4", "128", 1)), (BANKS, BANKS.replace("16", "256"))),
        "take a larger ring, or reduce it in the machine file",
        ((BANK, BANK.replace("4", "16", 1)), (BANKS, BANKS.replace("16", "256"))),
        program=REALS,
        parameters="f1-12-L3",
        security=0,
    ),
    call(
        lambda at: machines.load(changed(at, MACHINES / "f1.toml", (NTT_UNITS, NTT_UNITS.replace("1", "64")))).map(
            on_f1(), low_throughput="ntt"
        ),
        "take fewer of the full ones",
        lambda at: machines.load(changed(at, MACHINES / "f1.toml", (NTT_UNITS, NTT_UNITS.replace("1", "16")))).map(
            on_f1(), low_throughput="ntt"
        ),
    ),
    call(
        lambda _: machines.load("f1").map(
            planned_for("f1", traced(turns, x=pf.Real.vector(64)), "f1-12-L3"), scheduler="csr", time_limit=1e-7
        ),
        "give it more time, or take the priority scheduler",
        lambda _: [
            machines.load("f1").map(planned_for("f1", traced(turns, x=pf.Real.vector(64)), "f1-12-L3"), **options)
            for options in ({"scheduler": "csr", "time_limit": 60}, {"scheduler": "priority"})
        ],
    ),
    call(
        compiled_again(lambda data: data[:4] + b"\x63" + data[5:]),
        "and this package reads version",
        compiled_again(bytes),
    ),
    call(
        # A number in its order of instructions.
        compiled_again(lambda data: data[:11] + bytes([data[11] ^ 1]) + data[12:]),
        "it was compiled from another program, or is damaged",
        compiled_again(bytes),
    ),
]

OSIRIS = [
    call(
        lambda at: machines.load("osiris").map(planned_for("osiris", REALS, "osiris-III")).save(at / "own.bin"),
        "has no instructions: there are no streams",
        lambda _: machines.load("osiris").map(planned_for("osiris", REALS, "osiris-III")).report(),
    ),
    call(
        lambda _: machines.load("osiris").map(planned_for("osiris", REALS, "osiris-III"), scheduler="csr"),
        "it has none; leave it out",
        lambda _: machines.load("osiris").map(planned_for("osiris", REALS, "osiris-III")),
    ),
    on_osiris(
        ((READS, READS.replace("37", "35")),), "raise the tiles that are read", ((READS, READS.replace("37", "36")),)
    ),
    on_osiris(
        ((WRITES, WRITES.replace("21", "19")),),
        "raise the tiles that are written",
        ((WRITES, WRITES.replace("21", "20")),),
    ),
    on_osiris(
        (("limbs = { value = 40", "limbs = { value = 2"),),
        "longer delays in the machine file (`units.ntt.limbs`)",
        (("limbs = { value = 40", "limbs = { value = 6"),),
    ),
    on_osiris(
        ((HEIGHT, HEIGHT.replace("3", "2", 1)),),
        "higher columns in the machine file (`units.hadamard.height`)",
        (),
        program=powers(4),
        name="osiris-I",
    ),
    on_osiris(
        (("capacity = { value = 184000000", "capacity = { value = 1840000"),),
        "choose a smaller ring or level, or enlarge them in the machine file (`memories.scratchpad.capacity`)",
        (("capacity = { value = 184000000", "capacity = { value = 18400000"),),
    ),
    on_osiris(
        (("height = { value = 16", "height = { value = 2"),),
        "or a higher array in the machine file",
        (("height = { value = 16", "height = { value = 6"),),
    ),
    on_osiris(
        (("stages = { value = 16", "stages = { value = 12"),),
        "choose a set of such a ring, or change lanes and stages in the machine file",
        (),
    ),
    call(
        lambda at: REALS.simulate(
            changed(at, MACHINES / "osiris.toml", ("stages = { value = 16", "stages = { value = 14")),
            parameters="osiris-III",
            security=0,
        ),
        "choose a set of such a ring",
        lambda at: REALS.simulate(
            changed(at, MACHINES / "osiris.toml", ("stages = { value = 16", "stages = { value = 14")),
            parameters="osiris-I",
            security=0,
        ),
    ),
    call(
        lambda _: traced(lambda x: x.bootstrap(), x=pf.Mod(2)).simulate("osiris", security=0),
        "run the program on the processor, or on another machine (`polyfabric machines`)",
        lambda _: (
            traced(lambda x: x.bootstrap(), x=pf.Mod(2)).plan(),
            traced(lambda x: x.bootstrap(), x=pf.Mod(2)).simulate("f1", security=0),
        ),
    ),
    call(
        lambda _: powers(14).simulate("f1"),
        "none has 128 bits of security, and there are f1-14-L15",
        lambda _: powers(14).simulate("f1", parameters="f1-14-L15"),
    ),
    call(
        lambda _: powers(14).simulate("f1", security=128),
        "it takes none of them as asked; give one of your own",
        lambda _: powers(14).simulate("f1", parameters="f1-14-L15"),
    ),
    call(
        lambda _: powers(30).simulate("f1"),
        'give one of your own, parameters="FILE.toml" (--params)',
        lambda at: powers(30).simulate("f1", parameters=str(written(at / "deep.toml", DEEP)), security=0),
    ),
]
DEEP = """
[ckks]
name = "deep"
ring_degree = 16384
q = [{ bits = 32, count = 31 }]
p = [{ bits = 32, count = 2 }]
primes = "1-mod-2^16"
gadget = { hybrid = { digit_limbs = 2 } }
scale_log2 = 30
secret = "uniform-ternary"
noise_std = 3.2
"""

AT_MACHINES = [*OWN_FILES, *SWEPT, *READINGS, *OF_PAPERS, *OSIRIS]
