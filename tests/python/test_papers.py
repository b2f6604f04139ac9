"""Do the models meet the published results that they are held to, and say what each number is worth?

All of Strix's and FPT's, and F1's and Morphling's larger schedules, take minutes: they are the recorded tables, which `test_whole_tables` compares with a part of today's
numbers, and with all of them in `make test-full`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from polyfabric.accelerators import machine as accelerators
from polyfabric.papers import f1_tables, morphling, reproduce
from polyfabric.papers.multipliers import Transform, complex_product, real_product
from polyfabric.papers.published import Figures, compared
from polyfabric.papers.rows import WITHOUT_NUMBER
from polyfabric.papers.strix import fragments

RESULTS = Path(__file__).resolve().parents[2] / "results"


class Rows:
    """Rows of a comparison, each of which stands: with a reason, readings where it is predicted under some, and a kind where it has a number."""

    def __init__(self, rows):
        self.rows = rows
        for row in rows:
            assert row["failure"] is None, row
            assert row["reason"], row
            assert (row["kind"] == "predicted_under_reading") == bool(row["readings"]), row
            assert (row["kind"] not in (None, *WITHOUT_NUMBER)) == (row["model"] is not None), row

    def the(self, table, cell):
        """The first row of a table whose cell begins so."""
        return next(row for row in self.rows if row["table"] == table and row["cell"].startswith(cell))

    def deviation(self, table, cell):
        return abs(self.the(table, cell)["deviation"])

    def kinds(self, expected):
        assert {place: self.the(*place)["kind"] for place in expected} == expected


def recorded_rows(paper):
    return Rows(json.loads((RESULTS / f"reproduce-{paper}.json").read_text(encoding="utf-8"))["data"])


def rows_of(paper, made):
    return Rows(compared(Figures.read(paper), made, timed=False))


def test_strix():
    rows = recorded_rows("strix")
    under, seen = "predicted_under_reading", "calibrated"
    for name in ("I", "II", "III"):
        assert rows.deviation("Table V", f"Strix, set {name}, throughput") < 0.01
        # The units' work fits into the published latency; a whole pass through the pipeline in every iteration does not.
        latency = rows.the("Table V", f"Strix, set {name}, latency")
        work = rows.the("Table V", f"Strix, set {name}, latency: FFT units at work")
        assert work["model"] < latency["published"] < latency["model"]
        # A key switch is hidden, up to the ends of a run of lookups alone.
        switched = rows.the("Table V", f"Strix, set {name}, throughput of pbs+ks")["model"]
        assert switched == pytest.approx(rows.the("Table V", f"Strix, set {name}, throughput")["model"], rel=0.01)
    # The bus was read with the numbers of the first three sets in sight.
    for what in ("throughput", "latency"):
        rows.kinds({("Table V", f"Strix, set {name}, {what}"): seen for name in ("I", "II", "III")})
        rows.kinds({("Table V", f"Strix, set IV, {what}"): under})
    evidence = [
        reading["evidence"] for row in rows.rows for reading in row["readings"] if reading["name"] == "key_bus=each"
    ]
    assert len(evidence) > 20
    assert all(text.endswith("chosen with the rates of sets I to III in sight") for text in evidence)
    memory = next(row for row in rows.rows if row["cell"].startswith("memory on the chip"))
    assert (memory["model"], memory["published"], memory["kind"]) == (26.0, 26.0, "input")
    best = next(row for row in rows.rows if row["cell"].startswith("TvLP of the best"))
    assert (best["model"], best["published"], best["kind"]) == (4.0, 8.0, under)
    # Three ciphertexts a core fill the pipeline, two do not.
    assert rows.the("Figure 8", "rotator, share")["model"] == pytest.approx(50.0, abs=1.0)
    assert rows.the("Figure 8", "FFT, share")["model"] > 99.0
    assert rows.the("Figure 8", "fft, 2 ciphertexts a core")["model"] < 90.0


def test_fpt():
    rows = recorded_rows("fpt")
    for table, cell, limit in (
        ("Table 4", "FPT, set I, throughput", 0.01),
        ("Section 5", "set I, cycles of a CMUX", 0.0),
        ("Section 5", "set II, cycles of a CMUX", 0.0),
        ("Table 3", "set I, multiply-accumulate units", 0.0),
        ("Table 3", "set II, multiply-accumulate units", 0.0),
        ("Table 3", "set I, FFT, DSP", 0.05),
        ("Table 3", "set I, IFFT, DSP", 0.05),
        ("Section 5.1", "set II, the whole bootstrapping key", 0.02),
        ("Table 3", "set I, FPT, DSP of those that the card has", 0.01),
        ("Abstract", "set I, time of a bootstrap at full throughput", 0.01),
        ("Section 6.2", "set I, throughput over CONCRETE's", 0.01),
        ("Section 6.2", "set II, throughput over MATCHA's", 0.01),
        ("Section 6.3", "set I, cost of a bootstrap with n = kN", 0.01),
        ("Section 6.3", "FPT, share of a board update with key switch in which the card is idle", 0.01),
    ):
        assert rows.deviation(table, cell) <= limit, cell
    rows.kinds(
        {
            ("Table 2", "set I, BK, width"): "calibrated",
            ("Section 6.2", "estimated power"): "input",
            ("Table 4", "FPT, set I, latency"): "calibrated",
            ("Table 3", "set I, FFT, LUT"): "calibrated",
            ("Table 3", "set II, FFT, LUT"): "predicted_under_reading",
            ("Table 3", "set I, FFT, BRAM"): "predicted",
            ("Table 3", "set I, FPT, LUT"): "not_modelled",
            ("Table 6", "FPT on AWS F1, cost a month"): "other_system",
            ("Section 6.3", "FPT, share of a board update without key switch"): "calibrated",
            ("Figure 4", "DSP blocks at widths below 24 bits"): "predicted_under_reading",
            ("Section 6.2", "set II, throughput over YKP's"): "identity",
            ("Section 6.2", "set I, latency beyond that of twelve"): "calibrated",
            ("Section 6.3", "set I, cost of a bootstrap with n = kN"): "predicted",
            ("Table 6", "FPT on an Alveo U280 of one's own, million operations a dollar"): "identity",
        }
    )
    # A link of 110 us has both times.
    for table, cell, slower in (
        ("Table 4", "FPT, set I, latency, one", "FPT, set I, latency with 110 us"),
        ("Section 6.3", "set I, throughput without", "set I, throughput without overlapping kernels, with 110 us"),
    ):
        assert rows.the(table, slower)["model"] == pytest.approx(rows.the(table, cell)["published"], rel=0.01)
    # Contradictions with the model are shown.
    assert rows.deviation("Figure 3b", "throughput per DSP block") > 0.5
    assert rows.deviation("Section 3.4", "transforms of radix 2^4") > 0.5
    assert rows.deviation("Section 6.3", "board update without key switch, TFHE-rs' over FPT's") > 0.4


def test_f1():
    machine = accelerators.load("f1")
    made = [
        row for operation in ("ntt", "automorphism", "permute") for row in f1_tables.of_table_4(machine, operation, 12)
    ]
    for row in (row for row in made if "of" in row):
        assert row["of"]["bound"] <= row["value"] < 1.1 * row["of"]["bound"], row["id"]
    # L = 7 words in 16 clusters of two multipliers: 98, 28 and 24 vectors of 64 cycles. A transform of 2^12 points on HEAX takes 1,536 cycles.
    assert f1_tables.products_bound(machine, 13, 7) == pytest.approx(150 * 64 / 32)
    assert f1_tables.heax_ns("ntt", 12, 4) == pytest.approx(4 * 1536 / 0.3)
    assert f1_tables.heax_ns("permute", 12, 4) == pytest.approx(2 * 1536 / 0.3)
    # The schedules of products take three times as long as all others together.
    recorded = recorded_rows("f1")
    bound = recorded.the("Table 4", "multiply, N = 2^12: bound")["model"]
    assert bound <= recorded.the("Table 4", "homomorphic multiplication, N = 2^12")["model"] < 1.5 * bound
    rows = rows_of(
        "f1",
        [
            *made,
            *f1_tables.table_1(),
            *f1_tables.table_2(machine),
            *f1_tables.listing_2(machine),
            *f1_tables.structure(machine),
        ],
    )
    # The sums are of parts that are printed with two decimals.
    sums = [row for row in rows.rows if row["table"] == "Table 2"]
    assert all(row["kind"] == "input" and abs(row["deviation"]) < 0.002 for row in sums)
    for table, cell in (
        ("Section 5.3", "prime moduli that the multiplier serves"),
        ("Section 5.2", "multipliers of an NTT unit"),
        ("Section 4.2", "all hints of listing 2"),
        ("Section 4.2", "sets of hints of listing 2"),
        ("Section 2.4", "key-switch hints at L = 16, N = 16K"),
        ("Section 2.4", "NTTs of a key switch at L = 16: L^2"),
    ):
        assert rows.deviation(table, cell) == 0.0, cell
    rows.kinds(
        {
            # Values derived from another row, or from the paper's own formula, are not further evidence.
            ("Section 4.2", "all hints of listing 2"): "identity",
            ("Section 5.2", "multipliers of an NTT unit"): "identity",
            ("Section 1", "modular arithmetic"): "calibrated",
            ("Section 2.4", "memory bandwidth"): "predicted_under_reading",
            ("Table 1", "Barrett multiplier, delay"): "not_modelled",
            ("Table 1", "Barrett multiplier, area"): "calibrated",
            ("Section 5.3", "area that the FHE-friendly multiplier saves"): "predicted_under_reading",
        }
    )
    assert "60 key switches" in rows.the("Section 2.4", "NTTs of a key switch")["reason"]
    assert 0 < rows.the("Section 3", "instruction fetches' share of the memory traffic")["model"] < 100


def test_morphling():
    machine = accelerators.load("morphling")
    made = [
        *morphling.set_of_table_5(machine, "I"),
        *morphling.set_of_table_5(machine, "III"),
        *morphling.counted(machine),
    ]
    rows = rows_of("morphling", made)
    for name in ("I", "III"):
        assert rows.deviation("Table V", f"Morphling, set {name}, throughput") < 0.025
        assert rows.deviation("Table V", f"Morphling, set {name}, latency") < 0.05
    assert all(abs(row["deviation"] or 0) < 0.001 for row in rows.rows if row["table"] == "Figure 3")
    rows.kinds(
        {
            ("Table V", "Morphling, set I, throughput"): "calibrated",
            ("Table V", "Morphling, set III, throughput"): "predicted_under_reading",
            ("Table V", "Morphling, set I, latency"): "identity",
            ("Figure 1", "memory of the BSK"): "calibrated",
            ("Figure 1", "memory of the KSK"): "calibrated",
            ("Section III", "share of transforms"): "calibrated",
            ("Section I", "share of external products"): "calibrated",
            ("Section III", "transforms of that bootstrap over its polynomial multiplications"): "predicted",
            ("Section III", "share of decomposition"): "predicted_under_reading",
            ("Section III", "operations a byte"): "calibrated",
            ("Section VI-C", "set III, throughput over Concrete's"): "identity",
            ("Section VI-C", "bootstrapping cores"): "input",
        }
    )
    assert rows.the("Section III", "transforms of that bootstrap")["model"] == 2.0
    # The published rates with key switches: with four vector units, or with fewer levels.
    for name, levels in (("I", 2), ("III", 3)):
        published = rows.the("Table V", f"Morphling, set {name}, throughput")
        rate = published["published"] or published["published_least"]
        for which in ("four vector units", f"{levels} levels"):
            switched = rows.the("Table V", f"Morphling, set {name}, throughput of pbs+ks, {which}")
            assert switched["model"] == pytest.approx(rate, rel=0.025)
    # Sixteen rows' two pointers and write-back, and a key to four columns of four XPUs: 64 paths of 64 bytes.
    assert rows.the("Section V-D", "bandwidth on chip: two pointers")["model"] == pytest.approx(64 * 64 * 1.2e-3)
    # Contradictions with the model are shown.
    assert rows.the("Section III", "share of decomposition")["deviation"] < -0.9


def test_osiris_counts_that_were_chosen_are_calibrated():
    rows = Rows(reproduce("osiris")["rows"]).rows

    def of(*cells):
        return [(row["model"], row["kind"]) for cell in cells for row in rows if row["cell"].startswith(cell)]

    # 40 limbs of words of five bytes: 2 sqrt(N) of both directions, and of one, and N of one.
    sizes = [words * 40 * 5 / 1e6 for words in (512.0, 4.0 * 1785.0)]
    found = of("twiddle factors from two tables of sqrt(N), ")
    assert found == [(pytest.approx(size), "calibrated") for size in sizes]
    # 32 a lane in NTT units, 17 in the array, 12 in a Hadamard unit, of which 8 can be at work, and two for a diagonal; two that extend limbs.
    under = "predicted_under_reading"
    counts = [(61, under), (63, "calibrated"), (65, under), (73, under), (75, under)]
    found = sorted(of("Osiris, modular multipliers"))
    assert found == [(512.0 * a_lane, kind) for a_lane, kind in counts]


def test_a_geometric_mean_is_a_root_of_a_quotient():
    literal = {"paper": "P", "title": "p", "figure": []}
    for id_, value in (("a", 8.0), ("b", 2.0)):
        place = {"id": id_, "table": "T", "cell": id_, "unit": "ms"}
        literal["figure"].append({**place, "value": value, "unmodelled": "of a CPU", "other_system": True})
    mean = {"of": ["a", "b"], "root": 2}
    literal["figure"].append({"id": "m", "table": "T", "cell": "m", "unit": "ms", "value": 5.0, "quotient": mean})
    *factors, mean = compared(Figures.of("p", literal), [], timed=False)
    assert [row["kind"] for row in factors] == ["other_system"] * 2
    assert (mean["model"], mean["deviation"], mean["kind"]) == (pytest.approx(4.0), pytest.approx(-0.2), "identity")


def test_a_device_rotates_again_for_one_ciphertext_more():
    assert [fragments(count) for count in (1, 72, 73, 144, 145)] == [1, 1, 2, 2, 3]
    assert [fragments(count, core_batch=3) for count in (72, 216, 217)] == [1, 1, 2]


def test_products_take_tiles():
    assert [real_product(*bits) for bits in ((27, 18), (18, 27), (28, 18), (27, 19))] == [1, 1, 2, 2]
    # 30 bits are 17 + 13, and 26 fit the wide side.
    assert real_product(30, 26) == 2
    assert (complex_product(29, 25), complex_product(31, 31, products=4)) == (6, 16)


def test_a_published_zero_has_a_deviation_only_where_it_is_met():
    cell = Figures.read("fpt").cells["table3.I.forward.bram"]
    assert (cell.value, cell.deviation(0.0), cell.deviation(1.0)) == (0.0, 0.0, None)


def test_lanes_of_a_transform_that_takes_all_points_at_once():
    # Sixteen points, radix 2^4: of the products K R of two bits each, four are odd eighths of a turn and four are sixteenths.
    assert Transform(16, 16, 4, negacyclic=False).lanes == (4, 4)
    # A twist by j/64 of a turn: j = 0 is none, j = 8 an eighth.
    assert Transform(16, 16, 4, negacyclic=True).lanes == (4 + 14, 4 + 1)


@pytest.mark.parametrize("log2_radix", range(1, 6))
def test_fewer_points_a_cycle_never_have_more_multipliers(log2_radix):
    lanes = [Transform(512, 1 << log2, log2_radix, negacyclic=True).lanes for log2 in range(1, 10)]
    counts = [3 * general + 2 * eighths for general, eighths in lanes]
    assert counts == sorted(counts)


def test_primes_of_a_class():
    assert f1_tables.primes(4, 0, 32) == [5, 13, 17, 29]
    assert f1_tables.primes(8, 64, 128) == [73, 89, 97, 113]
