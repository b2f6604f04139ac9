"""Tables of the benchmarks: our results and the peers', and results on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from statistics import median
from typing import Any

Rows = list[tuple[str, ...]]

TFHE = (
    "set",
    "torus",
    "one PBS, ms",
    "speed-up",
    "batch of 64, ms each",
    "speed-up",
    "two key bits",
    "speed-up",
    "key switch in a batch",
    "alone",
    "key switches off by half a step",
)
TFHE_FLOORS = (
    "set",
    "one PBS, ms",
    "speed-up",
    "of the floor",
    "batch of 64, ms each",
    "speed-up",
    "of the floor",
    "two key bits, of the floor",
    "key switch alone",
)
SECRETS = ("set with uniform keys", "batch", "uniform, ms a PBS", "block-binary, ms", "speed-up")
RNS = ("operation", "parameters", "ours, ms", "peer", "ms", "speed-up", "by medians", "largest error", "peer's")
Row = dict[str, Any]


def _over_runs(found: dict[str, Any], same: Callable[[Row], object], merge: Callable[[list[Row]], Row]) -> list[Row]:
    """The rows of a result; rows of the same work in several runs (`record --runs`) are merged."""
    if "runs" not in found:
        return found["rows"]
    by: dict[object, list[Row]] = {}
    for run in found["runs"]:
        for row in run["rows"]:
            by.setdefault(same(row), []).append(row)
    return [merge(rows) for rows in by.values()]


def _ratios(ratios: list[float]) -> dict[str, float]:
    return {"ratio": median(ratios), "least_ratio": min(ratios), "largest_ratio": max(ratios)}


def _tfhe_rows(found: dict[str, Any]) -> list[Row]:
    """Rows with tfhe-rs: medians over several runs, and the range of their ratios."""

    def merge(rows: list[Row]) -> Row:
        peers = [row["peer"] for row in rows]
        peer = {"ms": median(peer["ms"] for peer in peers), **_ratios([peer["ratio"] for peer in peers])}
        peer["wrong"] = sum(peer["wrong"] for peer in peers)
        counts = {key: sum(row[key] for row in rows) for key in ("wrong", "decrypted")}
        own = {key: median(row[key] for row in rows) for key in ("ours_ms", "floor_fraction")}
        return {**rows[0], **own, **counts, "peer": peer}

    return _over_runs(
        found, lambda row: tuple(row[key] for key in ("set", "operation", "batch", "unroll", "threads")), merge
    )


def _rns_rows(found: dict[str, Any]) -> list[Row]:
    """Rows of CKKS and BGV: medians over several runs, and the range of their ratios."""

    def merge(rows: list[Row]) -> Row:
        sides = ("ours", "peer") if "peer" in rows[0] else ("ours",)
        times = {
            f"{side}_{of}": median(row[f"{side}_{of}"] for row in rows) for side in sides for of in ("ms", "median_ms")
        }
        if "floor_fraction" in rows[0]:
            times["floor_fraction"] = median(row["floor_fraction"] for row in rows)
        errors = {f"{side}_error": max(row[f"{side}_error"] for row in rows) for side in sides}
        ratios = _ratios([row["ratio"] for row in rows]) if "peer" in rows[0] else {}
        return {**rows[0], **times, **errors, **ratios}

    return _over_runs(found, lambda row: (row["op"], row["params"], row.get("peer")), merge)


def _ratio(row: Row) -> str:
    """The speed ratio, with its range if there is one."""
    if "least_ratio" not in row:
        return f"{row['ratio']:.2f}×"
    return f"{row['ratio']:.2f}× ({row['least_ratio']:.2f} to {row['largest_ratio']:.2f})"


def tfhe(found: dict[str, Any]) -> Rows:
    """One line per set: our time, tfhe-rs's time, and the speed ratio, with the range over runs or single rounds if recorded."""
    by: dict[str, dict[tuple[str, int, int], Row]] = {}
    for row in _tfhe_rows(found):
        if row["threads"] == 1:
            by.setdefault(row["set"], {})[row["operation"], row["batch"], row["unroll"]] = row
    lines = []
    for name, rows in by.items():
        largest = max(batch for _, batch, _ in rows)
        torus = str(next(iter(rows.values()))["torus_bits"])
        of = " (of 8)" if largest < 64 else ""
        cells = [*_times(rows.get(("pbs", 1, 1))), *_times(rows.get(("pbs", largest, 1)), of)]
        cells += [*_times(rows.get(("pbs", largest, 2)))]
        cells += [_times(rows.get(("keyswitch", batch, 1)))[1] for batch in (largest, 1)]
        lines.append((name, torus, *cells, _wrong(rows["keyswitch", largest, 1])))
    return lines


def tfhe_floors(found: dict[str, Any]) -> Rows:
    """One line per set: our time, the speed ratio, and the share of the time that the floor would take, with the fewest bits an iteration that the key allows."""

    def floor(row: Row | None) -> str:
        return "–" if row is None else f"{100 * row['floor_fraction']:.0f} %"

    by: dict[str, list[Row]] = {}
    for row in _tfhe_rows(found):
        if row["threads"] == 1:
            by.setdefault(row["set"], []).append(row)
    lines = []
    for name, rows in by.items():
        of = {(row["operation"], row["batch"], row["unroll"]): row for row in rows}
        own = min(row["unroll"] for row in rows)
        one, batch = of["pbs", 1, own], of["pbs", 64, own]
        alone = _times(of["keyswitch", 1, own])[1]
        two = of.get(("pbs", 64, 2))
        lines.append((name, *_times(one), floor(one), *_times(batch), floor(batch), floor(two), alone))
    return lines


def secrets(found: dict[str, Any]) -> Rows:
    """One line per set and batch: a lookup with uniform and with block-binary keys of the same message bits and failure probability."""
    return [
        (
            row["parameters"],
            str(row["batch"]),
            _ms(row["uniform_ms"]),
            _ms(row["block_ms"]),
            f"{row['uniform_ms'] / row['block_ms']:.2f}×",
        )
        for row in found["rows"]
    ]


def _wrong(row: Row) -> str:
    """The share of wrong results on either side, if any."""
    if not row["wrong"] and not row["peer"]["wrong"]:
        return "none"
    ours, peers = (f"{100 * wrong / row['decrypted']:.2g} %" for wrong in (row["wrong"], row["peer"]["wrong"]))
    return f"{ours}, tfhe-rs {peers}"


def _times(row: dict[str, Any] | None, note: str = "") -> tuple[str, str]:
    if row is None:
        return ("–", "")
    return (f"{_ms(row['ours_ms'])} against {_ms(row['peer']['ms'])}{note}", _ratio(row["peer"]))


SHOWN = ("fpt-I", "morphling-IV")
"""The measured sets, one per width and ring degree."""
SHOWN_RING = "N=2^14"
"""The ring in which both schemes were measured."""


def speed(tfhe_rs: dict[str, Any], lattigo: dict[str, Any]) -> Rows:
    """Work, our time, the peer's and their ratio, for the chart of speed: PBS alone and in the largest batch; products and rotations of slots."""
    work = {1: "PBS", 64: "64 PBS, each"}
    lines = [
        (f"{work[row['batch']]}, {row['set']}", _ms(row["ours_ms"]), _ms(row["peer"]["ms"]), _ratio(row["peer"]))
        for row in _tfhe_rows(tfhe_rs)
        if row["set"] in SHOWN
        and (row["operation"], row["threads"], row["unroll"]) == ("pbs", 1, 1)
        and row["batch"] in work
    ]
    lines += [
        (f"{row['op']}, {row['params'].split(',')[0]}", _ms(row["ours_ms"]), _ms(row["peer_ms"]), _ratio(row))
        for row in _rns_rows(lattigo)
        if row.get("peer") == "Lattigo"
        and row["params"].split(",")[0] == SHOWN_RING
        and row["op"].split()[-1] in ("multiply", "rotate")
    ]
    return lines


def rns(found: dict[str, Any]) -> Rows:
    """One line per operation and peer: the least times of a run, their ratio, that of the medians, and errors. Without a peer, only ours."""

    def peer_cells(row: Row) -> tuple[str, ...]:
        if "peer" not in row:
            return ("–", "–", "", "", _error(row["ours_error"]), "–")
        medians = f"{row['peer_median_ms'] / row['ours_median_ms']:.2f}×"
        errors = (_error(row[f"{side}_error"]) for side in ("ours", "peer"))
        return (row["peer"], _ms(row["peer_ms"]), _ratio(row), medians, *errors)

    return [(row["op"], _parameters(row), _ms(row["ours_ms"]), *peer_cells(row)) for row in _rns_rows(found)]


RNS_FLOORS = (*RNS[:6], "of the floor", "bound by")


def rns_floors(found: dict[str, Any]) -> Rows:
    """One line per operation and peer: the least times of a run, their ratio, the share of ours that the floor would take, and what the floor is bound by."""
    return [
        (
            row["op"],
            _parameters(row),
            _ms(row["ours_ms"]),
            row["peer"],
            _ms(row["peer_ms"]),
            _ratio(row),
            f"{100 * row['floor_fraction']:.0f} %",
            row["limit"],
        )
        for row in _rns_rows(found)
    ]


def _parameters(row: Row) -> str:
    """The peers' parameters, and the bits of our moduli if they differ."""
    # Unknown for a peer that does not report its special modulus.
    if not row["ours_log_p"] or not row.get("peer_log_p"):
        return str(row["params"])
    ours, peers = (round(row[f"{side}_log_q"] + row[f"{side}_log_p"]) for side in ("ours", "peer"))
    return f"{row['params']}; ours {ours}" if ours != peers else str(row["params"])


def _error(error: float) -> str:
    return f"2^{log2(error):.1f}" if error else "none"


BOOTSTRAPPING = (
    "keys",
    "ours, s",
    "Lattigo, s",
    "speed-up",
    "peak memory, GiB",
    "Lattigo's",
    "bits, least and mean",
    "Lattigo's",
)


def bootstrapping(found: dict[str, Any]) -> Rows:
    """One line per operating point: least times of one bootstrapping, peak memory, precision in the worst slot and on average."""
    table: Rows = []
    for row in found["rows"]:
        of = row["bootstrapping"]
        bits = [f"{of[f'{side}_precision_min']:.1f}, {of[f'{side}_precision_mean']:.1f}" for side in ("ours", "peer")]
        times = [f"{row[f'{side}_ms'] / 1e3:.1f}" for side in ("ours", "peer")]
        memory = [f"{row[f'{side}_peak_gib']:.1f}" for side in ("ours", "peer")]
        keys = row["op"].removeprefix("bootstrap").strip() or "as they are read"
        table.append((keys, *times, f"{row['ratio']:.2f}×", *memory, *bits))
    return table


INTEGERS = (
    "operation",
    "bits",
    "PBS",
    "ours, ms",
    "tfhe-rs, ms",
    "speed-up",
    "ours, two threads",
    "tfhe-rs",
    "speed-up",
)


def integers(found: dict[str, Any]) -> Rows:
    """One line per operation and width: processor time on one thread, with the range of the ratio over several rounds, and on two threads."""
    several = found["repetitions"] > 1
    by: dict[tuple[str, int], dict[int, dict[str, Any]]] = {}
    for row in found["rows"]:
        by.setdefault((row["operation"], row["bits"]), {})[row["threads"]] = row
    return [
        (name, str(bits), f"{rows[1]['lookups']:,}", *_processor(rows.get(1), whole=several), *_processor(rows.get(2)))
        for (name, bits), rows in by.items()
    ]


def _processor(row: dict[str, Any] | None, *, whole: bool = False) -> tuple[str, str, str]:
    if row is None:
        return ("–", "–", "")
    peer = row["peer"]
    ratio = f"{peer['ratio']:.2f}×" + (f" ({peer['least_ratio']:.2f} to {peer['largest_ratio']:.2f})" if whole else "")
    return (_ms(row["ours"]["processor_ms"]), _ms(peer["times"]["processor_ms"]), ratio)


INTEGER_FLOORS = (*INTEGERS[:3], "set", *INTEGERS[3:6], "ours a PBS, ms", "of the floor")


def integer_floors(found: dict[str, Any]) -> Rows:
    """One line per operation and width on one thread: processor time, and the share of it that the floor of its bootstraps would take."""
    several = found["repetitions"] > 1
    return [
        (
            row["operation"],
            str(row["bits"]),
            f"{row['lookups']:,}",
            f"`{row['set']}`",
            *_processor(row, whole=several),
            _ms(row["ours"]["processor_ms"] / row["lookups"]),
            f"{100 * row['floor_fraction']:.0f} %",
        )
        for row in found["rows"]
        if row["threads"] == 1
    ]


LOOKUPS = (
    "bits",
    "set",
    "ours, µs a value",
    "OpenFHE",
    "speed-up",
    "largest error, of a step",
    "OpenFHE's",
    "keys, GiB",
    "OpenFHE's peak memory",
)


def lookups(found: dict[str, Any]) -> Rows:
    """One line per table: processor time of a value and the largest error, on both sides."""

    def cells(row: Row) -> tuple[str, ...]:
        ours, peer = row["ours"], row.get("peer")
        beside = (f"{peer['us']:.0f}", f"{peer['us'] / ours['us']:.1f}×") if peer else ("–", "")
        error, peak = (f"{peer['error']:.1g}", f"{peer['peak_gib']:.1f}") if peer else ("–", "–")
        own = (str(row["bits"]), f"`{ours['parameters']}`", f"{ours['us']:.0f}")
        return (*own, *beside, f"{ours['error']:.1g}", error, f"{ours['key_bytes'] / 2**30:.1f}", peak)

    return [cells(row) for row in found["rows"]]


LOOKUP_JOBS = ("program", "values", "set", "tables", "ours, µs a value", "TFHE, ms a value", "speed-up")


def lookup_jobs(found: dict[str, Any]) -> Rows:
    """One line per program on a batch, and TFHE's time of one value."""

    def cells(row: Row) -> tuple[str, ...]:
        ours, tfhe = row["ours"], row.get("tfhe")
        own = (row["job"], f"{ours['values']:,}", f"`{ours['parameters']}`", str(ours["lookups"]), f"{ours['us']:.0f}")
        return (
            *own,
            *((f"{1e3 * tfhe['seconds']:.0f}", f"{1e6 * tfhe['seconds'] / ours['us']:.0f}×") if tfhe else ("–", "")),
        )

    return [cells(row) for row in found["jobs"]]


SUITE = (
    "workload",
    "values",
    "scheme",
    "set",
    "keys, s",
    "encryption, s",
    "computation, s",
    "decryption, s",
    "evaluation key, MiB",
    "sent, MiB",
    "received, MiB",
    "right labels",
)
_SUITE_STAGES = (("key_generation",), ("encode_encrypt", "preprocess"), ("compute",), ("decrypt", "postprocess"))


def suite(found: dict[str, Any]) -> Rows:
    """One line per workload and size: processor time by kind of stage, and sizes."""

    def cells(row: Row) -> tuple[str, ...]:
        seconds = (
            f"{sum(took for stage, took in row['seconds'].items() if any(kind in stage for kind in kinds)):.1f}"
            for kinds in _SUITE_STAGES
        )
        sizes = (f"{size / 2**20:.1f}" for size in row["bytes"].values())
        accuracy = f"{row['accuracy']:.0%}" if "accuracy" in row else "–"
        about = (f"{row['values']:,}", row["scheme"].upper(), f"`{row['parameters']}`")
        return (row["case"].replace("/", ", "), *about, *seconds, *sizes, accuracy)

    return [cells(row) for row in found["rows"]]


_SUITE_MACHINES = ("f1", "osiris", "fpt", "morphling", "strix")
SUITE_MACHINES = ("workload", *_SUITE_MACHINES)


def suite_machines(found: dict[str, Any]) -> Rows:
    """One line per workload and size: milliseconds of one execution on each machine, or why it takes none."""

    def cell(row: Row, machine: str) -> str:
        found = row["machines"][machine]
        if "seconds" in found:
            return _ms(1e3 * found["seconds"])
        return "×" if "parameters=" in found["reason"] else "–"

    return [
        (row["case"].replace("/", ", "), *(cell(row, machine) for machine in _SUITE_MACHINES)) for row in found["rows"]
    ]


_GALLERY_MACHINES = ("f1", "osiris", "fpt", "morphling", "strix")
GALLERY = ("program", "scheme", "processor", "interpreter", *_GALLERY_MACHINES)


def _conforming(row: Row, on: str) -> str:
    """What agrees at a place: all bits of its ciphertexts where others have the same arithmetic, or its values. For a replay that is not run, its
    lookups and the processor time of each."""
    if "refused" in row:
        return "–"
    if "not_run" in row:
        count, seconds = row.get("lookups"), row.get("estimated_processor_seconds")
        if on != row["on"] or not count:
            return "not run"
        return f"{count} lookups" if seconds is None else f"{count} × {seconds / count:.1f} s"
    if "error" in row or not row["conforms"]:
        return "differs"
    own = [place for place in row["places"] if place["on"] == on]
    if not own:
        return "not run"
    alike = [place for place in row["places"] if place["arithmetic"] == own[0]["arithmetic"]]
    exact = len(alike) > 1 and all(place["same_bits"] is not False for place in alike)
    return "bits" if exact else "values"


def gallery(found: dict[str, Any]) -> Rows:
    """One line per program of the gallery: what agrees between instruction sets, with the interpreter, and on each machine that takes it."""
    by: dict[str, dict[str, Row]] = {}
    for row in found["rows"]:
        by.setdefault(row["program"], {})[row["on"]] = row
    lines = []
    for name, rows in by.items():
        here = rows["cpu"]
        machines = (_conforming(rows[machine], machine) for machine in _GALLERY_MACHINES)
        scheme = here["scheme"].upper() if "scheme" in here else "–"
        lines.append((f"`{name}`", scheme, _conforming(here, "cpu"), _conforming(here, "interpreter"), *machines))
    return lines


LOAD = ("clients", "requests", "a second", "processor time of one, ms", "50 %", "90 %", "99 %", "all within, s")


def service_load(found: dict[str, Any]) -> Rows:
    """One line for each kind of phase: throughput, processor time of a request where it is executed, and latencies."""
    clients = f"{found['clients']} of {found['tenants']} tenants"
    rows = []
    for name, label in (
        ("here", f"none: in batches in one process; the computer's load was {found['load'][0]:.0f}"),
        ("served", clients),
        ("hostile", f"{clients}, next to a hostile one"),
    ):
        phase = found["phases"][name]
        processor = phase["other_processor_seconds" if name == "here" else "server_processor_seconds"]
        latencies = [f"{phase[f'p{share}']:.1f}" for share in (50, 90, 99, 100)]
        rows.append(
            (
                label,
                f"{phase['requests']:,}",
                f"{phase['per_second']:.2f}",
                f"{1000 * processor:.0f}",
                *(latencies if name != "here" else ["–"] * 4),
            )
        )
    return rows


WHOLE = ("program", "set", "memory, GiB", "keys, s", "execution, s", "error", "tolerated", "the run's bound")


def whole_programs(found: dict[str, Any]) -> Rows:
    """One line per program: the largest error and memory of all runs, and the median of their times."""

    def merge(rows: list[Row]) -> Row:
        most = {key: max(row[key] for row in rows) for key in ("relative_error", "memory_bytes")}
        bounds = [row["relative_bound"] for row in rows]
        most["relative_bound"] = None if None in bounds else max(bounds)
        times = {key: median(row["seconds"][key] for row in rows) for key in ("keys", "execute")}
        return {**rows[0], **most, "seconds": times}

    return [
        (
            f"`{row['program']}`",
            f"`{row['parameters']}`",
            f"{row['memory_bytes'] / 2**30:.1f}",
            *(f"{row['seconds'][key]:.0f}" for key in ("keys", "execute")),
            *(f"{row[key]:.1e}" for key in ("relative_error", "tolerance")),
            "none" if row["relative_bound"] is None else f"{row['relative_bound']:.1e}",
        )
        for row in _over_runs(found, lambda row: row["program"], merge)
    ]


ESTIMATES = (
    "program",
    "execution: estimated, ms",
    "measured, ms",
    "estimated / measured",
    "whole run: estimated, ms",
    "measured, ms",
    "estimated / measured",
)


def estimated_costs(found: dict[str, Any]) -> Rows:
    """One line per program: medians of all rounds, and the range of estimated divided by measured time."""

    def cells(estimated: list[float], measured: list[float]) -> tuple[str, str, str]:
        ratios = [one / other for one, other in zip(estimated, measured, strict=True)]
        times = (_ms(1e3 * median(estimated)), _ms(1e3 * median(measured)))
        return (*times, f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")

    return [
        (
            f"`{row['program']}`",
            *cells(row["seconds"]["execution_estimated"], row["seconds"]["execution"]),
            *cells(row["seconds"]["whole_estimated"], row["seconds"]["whole"]),
        )
        for row in found["rows"]
    ]


def _ms(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


GPU = ("set", "key bits", "one, ms", "batch", "PBS + key switch a second", "f64", "noise")


def gpu(found: dict[str, Any]) -> Rows:
    """For each set and kind of key: one ciphertext, and the fastest batch. The peer's rows come last."""
    by: dict[tuple[str, int], list[Row]] = {}
    for row in found["rows"]:
        by.setdefault((row["set"], row["key_bits"]), []).append(row)
    for row in found.get("peer_rows", []):
        by.setdefault((f"tfhe-rs: {row['set']}", row["key_bits"]), []).append(row)
    table = []
    for (name, bits), rows in by.items():
        alone = next(row for row in rows if row["batch"] == 1)
        best = max(rows, key=lambda row: row["per_second"])
        one = 1e3 * (alone["bootstrap_seconds"] + alone["key_switch_seconds"])
        share = f"{100 * best['multiply_add_share']:.0f} %" if "multiply_add_share" in best else ""
        noise = f"2^{log2(best['noise']):.1f}"
        table.append((name, str(bits), f"{one:.2f}", f"{best['batch']:,}", f"{best['per_second']:,.0f}", share, noise))
    return table


TRANSFORMS_ON_GPU = ("arithmetic", "butterflies a second, 10^12", "of peak", "error", "at most")


def transforms_on_gpu(found: dict[str, Any]) -> Rows:
    """The butterflies in each number format."""
    names = {"double": "f64", "fixed": "32 bits in fixed point", "split": "two f32"}
    return [
        (
            names[row["arithmetic"]],
            f"{row['butterflies'] / 1e12:.2f}",
            f"{100 * row['peak_share']:.0f} %",
            *(f"2^{log2(row[key]):.1f}" for key in ("error", "bound")),
        )
        for row in found["transforms"]
    ]


SLOTS_ON_GPU = ("set", "operation", "at once", "ms each", "launches", "GB read and written", "largest error")


def slots_on_gpu(found: dict[str, Any]) -> Rows:
    """Each operation on slots in each batch size: the time of one."""
    return [
        (
            f"`{row['case']}`",
            row["op"],
            str(row["batch"]),
            _ms(median(row["answer"]["ms"]) / row["batch"]),
            f"{row['answer']['card']['launches']:,}",
            f"{row['answer']['card']['moved_bytes'] / 1e9:.3g}",
            f"{row['answer']['error']:.1e}" if row["answer"]["error"] else "none",
        )
        for row in found["rows"]
    ]


KERNELS_ON_GPU = ("kernel", "launches", "polynomials", "ms")


def bootstrapping_on_gpu(found: dict[str, Any]) -> Rows:
    """The kernels of one bootstrapping, each timed alone."""
    alone = next(row for row in found["rows"] if row["op"] == "bootstrap" and row["batch"] == 1)
    return [
        (f"`{share['kernel']}`", f"{share['launches']:,}", f"{share['polynomials']:,}", f"{share['ms']:.1f}")
        for share in alone["answer"]["card"]["kernels"]
    ]


TABLES = {
    "gpu": ("bench-gpu", GPU, gpu),
    "gpu-peer": ("bench-gpu-peer", GPU, gpu),
    "gpu-transforms": ("bench-gpu-peer", TRANSFORMS_ON_GPU, transforms_on_gpu),
    "gpu-slots": ("bench-gpu-rns", SLOTS_ON_GPU, slots_on_gpu),
    "gpu-bootstrapping": ("bench-gpu-rns", KERNELS_ON_GPU, bootstrapping_on_gpu),
    "service-load": ("service-load", LOAD, service_load),
    "whole-programs": ("whole-programs", WHOLE, whole_programs),
    "estimated-costs": ("estimated-costs", ESTIMATES, estimated_costs),
    "lookups": ("bench-lookups", LOOKUPS, lookups),
    "lookup-jobs": ("bench-lookup-jobs", LOOKUP_JOBS, lookup_jobs),
    "integers": ("bench-integers", INTEGERS, integers),
    "integers-avx2": ("bench-integers-avx2", INTEGERS[:6], lambda found: [row[:6] for row in integers(found)]),
    "integers-64": ("bench-integers-64", INTEGERS[:6], lambda found: [row[:6] for row in integers(found)]),
    "gallery": ("gallery", GALLERY, gallery),
    "suite": ("bench-suite", SUITE, suite),
    "suite-machines": ("suite-machines", SUITE_MACHINES, suite_machines),
    "secrets": ("bench-secrets", SECRETS, secrets),
    "tfhe-avx512": ("bench-tfhe-avx512", TFHE, tfhe),
    "tfhe-avx2": ("bench-tfhe-avx2", TFHE, tfhe),
    "rns-avx512": ("bench-rns-avx512", RNS, rns),
    "rns-avx2": ("bench-rns-avx2", RNS, rns),
    "bootstrapping-avx512": ("bench-bootstrap-avx512", BOOTSTRAPPING, bootstrapping),
    "bootstrapping-avx2": ("bench-bootstrap-avx2", BOOTSTRAPPING, bootstrapping),
    "integers-avx512-zen5": ("bench-integers-avx512-zen5", INTEGER_FLOORS, integer_floors),
    "integers-block-zen5": ("bench-integers-block-zen5", INTEGER_FLOORS, integer_floors),
    "rns-avx512-zen5": ("bench-rns-avx512-zen5", RNS_FLOORS, rns_floors),
    "tfhe-avx512-zen5": ("bench-tfhe-avx512-zen5", TFHE_FLOORS, tfhe_floors),
    "tfhe-avx2-zen5": ("bench-tfhe-avx2-zen5", TFHE_FLOORS, tfhe_floors),
    "tfhe-avx512-zen4": ("bench-tfhe-avx512-zen4", TFHE, tfhe),
    "tfhe-avx2-zen4": ("bench-tfhe-avx2-zen4", TFHE, tfhe),
    "rns-avx512-zen4": ("bench-rns-avx512-zen4", RNS, rns),
    "rns-avx2-zen4": ("bench-rns-avx2-zen4", RNS, rns),
    "bootstrapping-avx2-zen4": ("bench-bootstrap-avx2-zen4", BOOTSTRAPPING, bootstrapping),
}
