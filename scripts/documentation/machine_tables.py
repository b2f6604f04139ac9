"""Tables of the machines: published figures and the model's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polyfabric.cli.params import bits_text, verdict
from polyfabric.host.units import probability
from polyfabric.reports import rows

Rows = list[tuple[str, ...]]
Row = dict[str, Any]

DEVIATION = ("", "cell", "unit", "published", "model", "deviation", "kind")


def deviation(row: Row) -> tuple[str, ...]:
    """One row of a table of deviations."""
    own = model(row)
    if rows.over_choices(row):
        own += f" ({rows.over_choices(row)})"
    off = rows.deviation(row).replace("-", "", 1) if row["deviation"] is None else rows.deviation(row)
    return (row["table"], row["cell"], row["unit"], rows.published(row), own, off, rows.kind(row))


def _compared(found: list[Row]) -> list[Row]:
    """Rows with a published figure and the model's result or failure."""
    return [row for row in found if rows.published(row) != "-" and (row["model"] is not None or row["failure"])]


def _fields(row: Row) -> Row:
    """What a row is of, field by field."""
    return row.get("of", {})


def main(*cells: tuple[str, str]) -> Callable[[list[Row]], Rows]:
    """The rows of some cells, each a table and the cell's name or its beginning; the kind without its conditions."""

    def made(found: list[Row]) -> Rows:
        compared = _compared(found)
        kept = []
        for table, name in cells:
            of_table = [row for row in compared if row["table"] == table]
            whole = [row for row in of_table if row["cell"] == name]
            of = whole or [row for row in of_table if row["cell"].startswith(name)]
            if not of:
                raise ValueError(f"no row with a published figure is {table}, {name}")
            kept += [(*deviation(row)[:-1], rows.kind(row).partition(" under ")[0]) for row in of]
        return kept

    return made


def model(row: Row | None, without: str = "-") -> str:
    """The model's number of a row; of one that the recorded result lacks, a dash."""
    if row is None:
        return without
    return "failed" if row["failure"] else without if row["model"] is None else rows.number(row["model"])


def morphling(found: list[Row]) -> Rows:
    """All rows except the chip's parts, whose areas are inputs. A cell of table VI has many rows, which differ in the simulated program."""
    made = []
    for row in _compared(found):
        if row["table"] == "Table IV" and not row["cell"].startswith(("total", "XPU")):
            continue
        of = _fields(row)
        cell = f"{row['cell']}, set {of['set']}, key switch {of['key_switch']}" if of else row["cell"]
        made.append(deviation({**row, "cell": cell}))
    return made


def morphling_applications(found: list[Row]) -> Rows:
    """Table VI: seconds with every set and place of the key switch, and the same programs under another reading of the text."""
    made: dict[tuple[str, str], dict[str, Row]] = {}
    for row in found:
        of = _fields(row)
        if row["table"] == "Table VI" and of:
            name = row["cell"].removesuffix(", execution time").removesuffix(f", set {of['set']}")
            made.setdefault((name, of["key_switch"]), {})[of["set"]] = row

    def cells(key: tuple[str, str], sets: dict[str, Row]) -> tuple[str, ...]:
        (first, *_) = sets.values()
        # Not of a set whose schedule is too large for this command.
        counts = (_fields(row).get("lookups") for row in sets.values())
        counted = next(filter(None, counts), None)
        published = rows.published(first).replace("-", "unknown")
        return (*key, f"{counted:,}" if counted else "unknown", published, *(model(sets.get(which)) for which in "ABC"))

    return [cells(key, sets) for key, sets in made.items()]


def words(found: list[Row]) -> Rows:
    """Results with a machine's own widths, for its paper's sets and for some of this project's."""
    shown = (
        "polyfabric-1-p64-t32",
        "polyfabric-1-p128-t32-narrow",
        "polyfabric-3-p64-t32",
        "polyfabric-direct-t32",
        "fpt-I",
    )
    return [
        (
            row["set"],
            verdict(row),
            probability(row["predicted_log2"]),
            probability(row["measured_log2"]),
            bits_text(row["message_bits"]),
            probability(row["log2_failure"]),
            probability(row["log2_failure_exact"]),
        )
        for row in found
        if row["set"] in shown or row["set"].startswith("morphling-")
    ]


def f1(found: list[Row]) -> Rows:
    """All rows except the chip's parts, whose areas are inputs, and cells of figure 9 and table 5 without a published number."""
    parts = ("total", "compute")
    return [deviation(row) for row in _compared(found) if row["table"] != "Table 2" or row["cell"].startswith(parts)]


def f1_operations(found: list[Row]) -> Rows:
    """Table 4 with the bound of the units: each published cell."""
    made = []
    for row in found:
        of = _fields(row)
        if row["table"] == "Table 4" and of:
            name, _, _ = row["cell"].partition(",")
            published = rows.published(row).replace("-", "unknown")
            made.append((name, f"2^{of['log2_degree']}", rows.number(of["bound"]), model(row), published))
    return made


def _f1_programs(found: list[Row]) -> dict[str, dict[tuple[str, str | None], Row]]:
    """Of table 3's programs, by their names, the rows by what they are and with which key switch."""
    made: dict[str, dict[tuple[str, str | None], Row]] = {}
    for row in found:
        of = _fields(row)
        if "program" in of:
            made.setdefault(of["program"], {})[of["what"], of.get("key_switch")] = row
    return made


def f1_key_switches(found: list[Row]) -> Rows:
    """The compiler's key switch for each program of table 3, its estimate, and the schedules with it and with the set's key switch."""
    made = []
    for name, own in _f1_programs(found).items():
        estimates = {key_switch: row for (what, key_switch), row in own.items() if what == "estimate"}
        chosen, estimate = next(iter(estimates.items()), ("-", None))
        shown = (estimate, own.get(("compiler's choice", None)), own["time", None])
        made.append((f"`{name}`", str(chosen), *map(model, shown)))
    return made


def f1_programs(found: list[Row]) -> Rows:
    """The time of each program of table 3: with the set's key switch, of its memory traffic alone, under the other reading of the crossbars,
    with the compiler's key switch, and as published."""
    kinds = ("time", "memory alone", "crossbar=one", "compiler's choice")
    made = []
    for name, own in _f1_programs(found).items():
        published = rows.published(own["time", None]).replace("-", "unknown")
        made.append((f"`{name}`", *(model(own.get((what, None))) for what in kinds), published))
    return made


def f1_digits(program: str) -> Callable[[list[Row]], Rows]:
    """A program with the set's key switch and with others by name: hints, time, and time of the memory traffic alone."""

    def made(found: list[Row]) -> Rows:
        own = _f1_programs(found)[program]
        names = [key_switch for what, key_switch in own if what == "time"]
        kinds = ("hints", "time", "memory alone")
        return [
            (f"`{name}`" if name else "the set's own", *(model(own.get((what, name))) for what in kinds))
            for name in names
        ]

    return made


def fpt(found: list[Row]) -> Rows:
    """Every row with a published figure that is not an input."""
    return [deviation(row) for row in _compared(found) if row["kind"] != "input"]


def osiris(found: list[Row]) -> Rows:
    """Every row with a published figure that is not an input, and table III's cells without one. Rows that detail a cell have none."""
    kept = [row for row in found if (row["model"] is not None or row["failure"]) and row["kind"] != "input"]
    cells = [row for row in kept if row["table"].startswith("Table III") and _choice(row) in (None, DEFAULT)]
    return [deviation(row) for row in kept if rows.published(row) != "-" or row in cells]


DEFAULT = "the default"


def _choice(row: Row) -> str | None:
    """The choice that a row of table III is of, where some are compared."""
    return _fields(row).get("choice")


def osiris_networks(found: list[Row]) -> Rows:
    """Results of ResNet-20 and LeNet: figures 12 and 13, the time with more resources, mean power, rotations."""
    networks = ("LeNet", "ResNet-20")
    kept = [row for row in found if row["model"] is not None or row["failure"]]
    figures = [row for row in kept if row["table"].startswith(("Figure 12", "Section I", "Table IV"))]
    shown = (*networks, "least", "greatest")
    rooflines = [row for row in kept if row["table"] == "Figure 13" and row["cell"].startswith(shown)]
    whole = [row for row in figures if "ResNet-20" in row["cell"]]
    return [deviation(row) for row in [*whole, *rooflines]]


def osiris_choices(found: list[Row]) -> Rows:
    """Bootstrapping at 1 TB/s with double hoisting: the default, and what each other choice makes of it."""
    kept = [row for row in found if _choice(row) and _fields(row)["program"] == RANGED[0]]
    return [(str(_choice(row)), model(row), row["failure"] or row["reason"]) for row in kept]


def osiris_ranges(found: list[Row]) -> Rows:
    """Of each choice what it makes of each program of table III with double hoisting at 1 TB/s, the default first and the ranges last."""
    times: dict[str, dict[str, str]] = {DEFAULT: {}}
    ends: dict[str, str] = {}
    for row in found:
        choice = _choice(row)
        if choice is None:
            continue
        program = _fields(row)["program"]
        times.setdefault(choice, {})[program] = model(row) if row["failure"] else f"{model(row)} {row['unit']}"
        if choice == DEFAULT:
            ends[program] = rows.over_choices(row) or "-"
    made = [(words, *(own.get(program, "") for program in RANGED)) for words, own in times.items() if words != "4 TB/s"]
    return [*made, ("the range", *(ends[program] for program in RANGED))]


def strix(found: list[Row]) -> Rows:
    """Tables III, V and VI and figures 2 and 8: published figures, and the model's own. Table VII and figure 7 are separate tables."""
    own = ("Table VII", "Figure 7")
    # Of figure 8's windows, only the cells' own and the one that the text names.
    variants = ("2 ciphertexts a core, iterations", "GPU of 72 cores: blind rotation of 36", "input")
    kept = [row for row in found if row["table"] not in own and (row["model"] is not None or row["failure"])]
    kept = [row for row in kept if row["kind"] != "input" and not any(variant in row["cell"] for variant in variants)]
    return [deviation(row) for row in kept]


def strix_sweep(found: list[Row]) -> Rows:
    """Table VII: a row for each choice of TvLP and CLP."""
    columns = ("throughput", "latency", "bandwidth", "bandwidth of one ciphertext a core", "bandwidth without a gap")
    columns += ("stack", "stack of one ciphertext a core")
    made: dict[str, dict[str, str]] = {}
    for row in found:
        if "point" in _fields(row):
            made.setdefault(row["of"]["point"], {})[row["of"]["column"]] = model(row)
    return [(name, *(cells.get(column, "") for column in columns)) for name, cells in made.items()]


def strix_networks(found: list[Row]) -> Rows:
    """Figure 7: a row for each network and order of the key switch, its times by the ring."""
    made: dict[tuple[str, str], dict[int, Row]] = {}
    for row in found:
        of = _fields(row)
        if "network" in of:
            made.setdefault((of["network"], of["key_switch"]), {})[of["ring_degree"]] = row
    counted = (
        next((f"{row['of']['lookups']:,}" for row in own.values() if "lookups" in row["of"]), "unknown")
        for own in made.values()
    )
    return [
        (*key, count, *(model(own.get(degree), "failed") for degree in RINGS))
        for (key, own), count in zip(made.items(), counted, strict=True)
    ]


def _sides(found: Row, widths: str) -> list[Row]:
    return [row for row in found["machines"] if row["widths_are"] == widths]


def side_by_side(found: Row) -> Rows:
    """Machines with their own widths."""
    made = []
    for row in _sides(found, "own"):
        if "error" in row:
            made.append((row["machine"], row["error"], *[""] * (len(SIDES) - 2)))
            continue
        shown = (
            rows.number(row[key]) if row[key] is not None else "unknown"
            for key in ("per_mm2", "per_watt", "per_gb_per_s")
        )
        figures = (rows.number(row["throughput_per_s"]), rows.scaled(row["latency_s"], "s"), *shown)
        made.append((row["machine"], *figures, rows.words(row["bound_by"]), rows.probability(row["log2_failure"])))
    return made


def both_kinds(found: Row) -> Rows:
    """Places that decrypt the program right. With derived widths, a machine has no less area and power than with its own."""
    made = []
    published = {row["machine"]: row for row in found["machines"] if row["widths_are"] == "own" and "error" not in row}
    for row in found["machines"]:
        if "error" in row:
            made.append((row["machine"], row["scheme"].upper(), "", "", "", "", "refused"))
        elif row["right"]:
            derived, own = row["widths_are"] == "derived", published[row["machine"]]
            name = f"{row['machine']}, derived" if derived else row["machine"]
            area, power = own["area_mm2"], own["power_w"]
            sign = ("< ", "> ") if derived else ("", "")
            made.append(
                (
                    name,
                    row["scheme"].upper(),
                    rows.number(row["throughput_per_s"]),
                    rows.scaled(row["latency_s"], "s"),
                    sign[0] + rows.number(row["throughput_per_s"] / area) if area else "–",
                    sign[1] + rows.scaled(power / row["throughput_per_s"], "J") if power else "–",
                    rows.probability(row["log2_failure"]),
                )
            )
    return made


def replays_fast(found: Row) -> Rows:
    """Many lookups of one fast set, with so many message bits that some fail."""
    made = []
    for row in found["trials"]:
        expected = row["lookups"] * 2 ** row["log2_failure"]
        noise = (f"2^{row[key]:.2f}" for key in ("log2_deviation", "log2_predicted"))
        made.append(
            (
                row["machine"],
                f"{row['lookups']:,}",
                f"{row['wrong']:,}",
                f"{expected:,.0f}",
                *noise,
                f"{row['saturations']:,}",
            )
        )
    return made


def widths_side_by_side(found: Row) -> Rows:
    """Each machine's own widths and the derived ones, and the cost of the latter."""
    made = []
    for row in found["machines"]:
        if "error" in row:
            continue
        bits = row["widths"]
        shown = (
            bits["key"],
            f"{bits['forward']} / {bits['forward_twiddle']}",
            f"{bits['inverse']} / {bits['inverse_twiddle']}",
        )
        cost = row.get("over_own")
        ratios = (
            ("1", "1", "1")
            if cost is None
            else tuple(rows.number(cost[key]) for key in ("throughput", "multiplier_bits", "key_traffic"))
        )
        name = row["machine"] if row["widths_are"] == "own" else f"{row['machine']}, derived"
        made.append((name, *map(str, shown), rows.probability(row["log2_failure"]), *ratios))
    return made


SIDES = ("", "PBS a second", "latency of one", "per mm²", "per W", "per GB/s", "bound by", "a PBS fails")
BOTH_KINDS = ("", "scheme", "inputs a second", "latency", "per mm²", "energy each", "fails")
CHOICES = ("choice", "ms", "made of")
RANGED = ("Bootstrap", "T_mult,a/s", "T_Mv:128,a/s", "HELR-1024", "ResNet-20", "Sorting", "MLP", "LoLA", "LeNet")
FAST = (
    "machine",
    "PBS",
    "wrong",
    "by the formula, worst key",
    "noise of right results",
    "by the formula, worst key",
    "saturated",
)
WIDTHS = (
    "",
    "key",
    "forward / twiddle",
    "inverse / twiddle",
    "a PBS fails",
    "throughput",
    "multipliers",
    "key traffic",
)
SWEEP = (
    "",
    "throughput, PBS/s",
    "latency, ms",
    "required bandwidth, GB/s",
    "with one ciphertext a core, GB/s",
    "of one without a gap, GB/s",
    "of a stack whose channels of the key suffice, GB/s",
    "the same with one ciphertext a core, GB/s",
)
RINGS = (1024, 2048, 4096)
NETWORKS = ("network", "key switch", "PBS", *(f"N = {degree}, ms" for degree in RINGS))
WORDS = (
    "set",
    "verdict",
    "transform noise, predicted",
    "measured",
    "message",
    "a PBS fails",
    "with exact products",
)
APPLICATIONS = ("program", "key switch", "PBS", "published, s", "set A, s", "set B, s", "set C, s")
KEY_SWITCHES = ("program", "chosen", "estimate, ms", "its schedule, ms", "the set's own, ms")
PROGRAMS = (
    "program",
    "the set's key switch, ms",
    "its memory traffic alone",
    "with `crossbar=one`",
    "the compiler's, ms",
    "published, ms",
)
DIGITS = ("key switch", "hints, MiB", "on F1, ms", "memory alone, ms")
OPERATIONS = ("operation", "N", "bound of the units, ns", "model, ns", "published, ns")

TABLES = {
    "fpt-main": (
        "reproduce-fpt",
        DEVIATION,
        main(
            ("Section 5", "set I, cycles of a CMUX"),
            ("Section 5", "set II, cycles of a CMUX"),
            ("Table 3", "set II, multiply-accumulate units"),
            ("Table 3", "set I, MAC, BRAM"),
            ("Table 3", "set I, FFT, DSP"),
            ("Table 4", "FPT, set I, throughput"),
            ("Table 4", "FPT, set II, throughput"),
            ("Table 4", "FPT, set I, latency"),
            ("Section 3.4", "transforms of radix 2^4"),
            ("Table 5", "FPT, board update without key switch"),
        ),
    ),
    "strix-main": (
        "reproduce-strix",
        DEVIATION,
        main(
            ("Table V", "Strix, set I, throughput"),
            ("Table V", "Strix, set II, throughput"),
            ("Table V", "Strix, set III, throughput"),
            ("Table V", "Strix, set I, latency"),
            ("Table V", "Strix, set II, latency"),
            ("Table V", "Strix, set III, latency"),
            ("Figure 8", "FFT"),
            ("Figure 8", "local scratchpad"),
            ("Section VI-C", "TvLP of the best"),
        ),
    ),
    "morphling-main": (
        "reproduce-morphling",
        DEVIATION,
        main(
            ("Table V", "Morphling, set I, throughput"),
            ("Table V", "Morphling, set II, throughput"),
            ("Table V", "Morphling, set III, throughput"),
            ("Table V", "Morphling, set IV, throughput"),
            ("Table V", "Morphling, set I, latency"),
            ("Figure 3", "reduction at (k, l) = (3, 3), input and output reuse"),
            ("Figure 7a", "the XPU dominates"),
            ("Figure 7b", "set A: input and output reuse"),
            ("Section V-D", "bandwidth of the network"),
        ),
    ),
    "morphling": ("reproduce-morphling", DEVIATION, morphling),
    "morphling-applications": ("reproduce-morphling", APPLICATIONS, morphling_applications),
    "words": ("params-morphling", WORDS, words),
    "f1-main": (
        "reproduce-f1",
        DEVIATION,
        main(
            ("Table 4", "NTT, N = 2^12, log Q = 109"),
            ("Table 4", "automorphism, N = 2^12"),
            ("Table 4", "homomorphic multiplication, N = 2^13"),
            ("Table 4", "homomorphic permutation, N = 2^13"),
            ("Section 1", "modular arithmetic"),
            ("Section 2.4", "key-switch hints"),
            ("Section 4.2", "sets of hints"),
            ("Section 3", "instruction fetches"),
            ("Section 6", "bandwidth of the on-chip network"),
            ("Section 6", "bandwidth between register files"),
        ),
    ),
    "f1": ("reproduce-f1", DEVIATION, f1),
    "f1-key-switches": ("reproduce-f1", KEY_SWITCHES, f1_key_switches),
    "f1-programs": ("reproduce-f1", PROGRAMS, f1_programs),
    "f1-bgv-digits": ("reproduce-f1", DIGITS, f1_digits("bgv-bootstrapping")),
    "f1-ckks-digits": ("reproduce-f1", DIGITS, f1_digits("ckks-bootstrapping")),
    "f1-operations": ("reproduce-f1", OPERATIONS, f1_operations),
    "fpt": ("reproduce-fpt", DEVIATION, fpt),
    "strix": ("reproduce-strix", DEVIATION, strix),
    "both-kinds": ("compare-batch", BOTH_KINDS, both_kinds),
    "sides": ("compare-pbs", SIDES, side_by_side),
    "osiris-main": (
        "reproduce-osiris",
        DEVIATION,
        main(
            ("Section V", "change of modulus"),
            ("Table IV", "Osiris, modular multipliers"),
            ("Table III (a)", "Bootstrap, double"),
            ("Table III (b)", "Bootstrap, fastest"),
            ("Table III (a)", "T_mult,a/s, double"),
            ("Table III (a)", "T_Mv:128,a/s, double"),
            ("Table III (a)", "MLP, double"),
            ("Table III (a)", "LoLA, double"),
            ("Table III (a)", "LeNet, fastest"),
            ("Table III (a)", "HELR-1024, fastest"),
            ("Table III (a)", "ResNet-20, fastest"),
            ("Table III (a)", "Sorting, fastest"),
            ("Section VII-A", "bootstrapping: modular multiplications"),
        ),
    ),
    "osiris": ("reproduce-osiris", DEVIATION, osiris),
    "osiris-networks": ("reproduce-osiris", DEVIATION, osiris_networks),
    "osiris-choices": ("reproduce-osiris", CHOICES, osiris_choices),
    "osiris-ranges": ("reproduce-osiris", ("choice", *RANGED), osiris_ranges),
    "replays-fast": ("replays-fast", FAST, replays_fast),
    "sides-widths": ("compare-pbs", WIDTHS, widths_side_by_side),
    "strix-sweep": ("reproduce-strix", SWEEP, strix_sweep),
    "strix-networks": ("reproduce-strix", NETWORKS, strix_networks),
}
