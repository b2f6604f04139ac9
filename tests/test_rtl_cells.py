"""The synthesis of the RTL units with standard cells: its readers of reports, its list of units, and what is drawn from its results."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts" / "rtl-cells"
sys.path.insert(0, str(ROOT / "scripts"))

from documentation import results, unit_tables  # noqa: E402


def load(script: Path) -> ModuleType:
    name = script.name.replace("-", "_")
    spec = spec_from_loader(name, SourceFileLoader(name, str(script)))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load(SCRIPT)


def test_memories_are_counted_in_bits(script: ModuleType) -> None:
    cell = "  cell $mem_v2 \\a\n    parameter \\WIDTH {}\n    parameter \\OFFSET 0\n    parameter \\SIZE {}\n  end\n"
    assert script.memory_bits(cell.format(40, 64) + cell.format(7, 16)) == 40 * 64 + 7 * 16
    assert script.memory_bits("") == 0


def test_cells_are_counted_by_name(script: ModuleType) -> None:
    report = "     3       96   AND2X1\n  1434 1.38e+05   DFFPOSX1\n     2        -   $mem_v2\n  1439   404922 cells\n"
    assert script.cells(r"DFF\w+", report) == 1434
    assert script.cells(r"[A-Z]\w+", report) == 1437


def test_a_tool_that_takes_too_long_is_a_reason_and_not_a_result(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "SECONDS", 1)
    with pytest.raises(script.LeftOutError):
        script.run(tmp_path, sys.executable, "-c", "while True: pass")


LIBRARY = """library(small) { nom_voltage : 2;
cell (INV) { pin(A) { direction : input; capacitance : 0.1; }
  pin(Y) { direction : output; capacitance : 0; function : "(!A)";
    internal_power() { rise_power(t) { index_1 ("0, 1"); index_2 ("0, 1"); values ("0.3, 0.3", "0.3, 0.3"); }
      fall_power(t) { index_1 ("0, 1"); index_2 ("0, 1"); values ("0.1, 0.1", "0.1, 0.1"); } } } }
cell (XOR) { pin(A) { direction : input; capacitance : 0.1; } pin(B) { direction : input; capacitance : 0.1; }
  pin(Y) { direction : output; capacitance : 0; function : "(A^B)"; } }
cell (DFF) { ff (I, N) { next_state : "D"; clocked_on : "CLK"; }
  pin(CLK) { direction : input; capacitance : 0.2; } pin(D) { direction : input; capacitance : 0.1; }
  pin(Q) { direction : output; capacitance : 0; function : "I"; } } }"""


def run_energy(tmp_path: Path, cells: dict[str, dict[str, object]], *held: str) -> subprocess.CompletedProcess[str]:
    inputs = {name: {"direction": "input", "bits": [net]} for name, net in (("a", 2), ("clock", 5))}
    ports = {**inputs, "y": {"direction": "output", "bits": [4]}}
    (tmp_path / "netlist.json").write_text(json.dumps({"modules": {"m": {"ports": ports, "cells": cells}}}), "utf-8")
    (tmp_path / "cells.lib").write_text(LIBRARY, "utf-8")
    script = [sys.executable, ROOT / "scripts" / "rtl-energy", tmp_path / "netlist.json", tmp_path / "cells.lib", *held]
    return subprocess.run(script, capture_output=True, text=True, check=False)


def energy_of(tmp_path: Path, cells: dict[str, dict[str, object]], *held: str) -> dict[str, float]:
    return json.loads(run_energy(tmp_path, cells, *held).stdout)


def test_energy_is_that_of_the_nets_that_change(tmp_path: Path) -> None:
    inverter = {"type": "INV", "connections": {"A": [2], "Y": [4]}}
    found = energy_of(tmp_path, {"i": inverter})
    # A change: 0.1 pF and 0.05 pF of load at 2 V, half of C V^2, and the mean of 0.3 and 0.1 pJ; about half of the cycles have one.
    assert found["settled"] == found["glitches"] == pytest.approx((0.1 + 0.05) * 2 + 0.2, rel=0.5)
    assert found["clock"] == 0
    assert energy_of(tmp_path, {"i": inverter}, "a=1")["settled"] == 0


def test_glitches_are_changes_that_a_settled_net_does_not_have(tmp_path: Path) -> None:
    # a xor not a is always 1, but not while the inverter follows.
    cells = {
        "i": {"type": "INV", "connections": {"A": [2], "Y": [3]}},
        "x": {"type": "XOR", "connections": {"A": [2], "B": [3], "Y": [4]}},
    }
    found = energy_of(tmp_path, cells)
    assert 0 < found["settled"] < found["glitches"]


def test_a_register_takes_both_edges_of_its_clock(tmp_path: Path) -> None:
    register = {"type": "DFF", "connections": {"CLK": [5], "D": [2], "Q": [4]}}
    found = energy_of(tmp_path, {"r": register}, "a=1")
    # Nothing else changes: 0.2 pF at 2 V, twice half of C V^2.
    assert found == {"settled": 0.8, "glitches": 0.8, "clock": 0.8}


def test_a_register_that_depends_on_itself_is_refused(tmp_path: Path) -> None:
    cells = {
        "r": {"type": "DFF", "connections": {"CLK": [5], "D": [4], "Q": [3]}},
        "x": {"type": "XOR", "connections": {"A": [2], "B": [3], "Y": [4]}},
    }
    done = run_energy(tmp_path, cells)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_an_unknown_unit_is_an_error() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "no_such_unit"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no_such_unit" in done.stderr
    assert "Traceback" not in done.stderr


def test_every_unit_is_synthesized_and_recorded() -> None:
    units = {folder.name for folder in (ROOT / "rtl").iterdir() if (folder / f"{folder.name}.sv").is_file()}
    assert {unit["module"] for unit in results.read(unit_tables.RESULT)["data"]} == units


def test_a_unit_has_a_whole_page_and_a_core_file() -> None:
    listing = load(ROOT / "scripts" / "rtl-sources")
    waves = results.read("rtl-waves")["data"]
    for unit, source in listing.units().items():
        text = (source.parent / "README.md").read_text(encoding="utf-8")
        assert source.read_text(encoding="utf-8").startswith(listing.LICENCE), unit
        for row in ("| latency | ", "| throughput | ", "| port | ", "| what | um2 | "):
            assert row in text, f"{unit}: {row}"
        assert ("| parameter | " in text) == ("parameter " in source.read_text(encoding="utf-8")), unit
        # Parts are simulated within other units.
        simulated = (source.parent / "bench.sv").is_file()
        assert (unit in waves) == simulated == (f"docs/pictures/rtl-{unit}.svg" in text), unit
        files = [str(file.relative_to(ROOT)) for file in listing.sources(unit, listing.units())]
        core = listing.CORE.format(unit=unit, files="\n".join(f"      - {file}" for file in files))
        header, _, body = core.partition("\n")
        described = yaml.safe_load(body)
        assert header == "CAPI=2:"
        assert described["filesets"]["rtl"]["files"] == files
        assert files[-1] == f"rtl/{unit}/{unit}.sv"
        assert described["targets"]["default"]["toplevel"] == unit


def test_a_row_has_its_parts_or_says_why_not() -> None:
    for unit in results.read(unit_tables.RESULT)["data"]:
        parts = {"osu018", "ecp5", *(["energy"] if "operation" in unit else [])}
        assert parts - set(unit) == set(unit.get("left_out", {})), unit["label"]


def test_the_export_has_the_recorded_areas() -> None:
    path, text = unit_tables.export()
    assert path.read_text(encoding="utf-8") == text, "run `python scripts/document.py tables`"
    found = {component["name"]: component for component in yaml.safe_load(text)["components"]}
    recorded = [unit for unit in results.read(unit_tables.RESULT)["data"] if "osu018" in unit]
    assert len(found) == len(recorded) > 0
    for unit in recorded:
        component = found[unit["label"]]
        assert component["class"] == unit["module"]
        assert component["area"] == unit["osu018"]["um2"]
        assert component["attributes"].items() >= unit.get("parameters", {}).items()


def test_delays_scale_as_in_the_source() -> None:
    # 0.9 V at 32 nm and 1.8 V at 180 nm, evaluated by hand.
    assert unit_tables.delay_factor(32) == pytest.approx(
        (-763.263 + 2415.42 - 2517.3 + 873.5) / (314.5716 - 642.06 + 406.5)
    )
    assert [unit_tables.delay_factor(node) for node in (32, 14, 7)] == sorted(
        (unit_tables.delay_factor(node) for node in (32, 14, 7)), reverse=True
    )


def test_the_export_has_the_recorded_energies() -> None:
    found = {component["name"]: component for component in yaml.safe_load(unit_tables.export()[1])["components"]}
    for unit in results.read(unit_tables.RESULT)["data"]:
        if "osu018" in unit and "energy" in unit:
            (action,) = found[unit["label"]]["actions"]
            assert action == {"name": unit["operation"], "energy": unit["energy"]["glitches"]}


def test_energies_of_machine_files_are_their_power_at_an_operation_a_cycle() -> None:
    energy = {"settled": 100, "glitches": 200, "clock": 10}
    (row,) = unit_tables.energies(
        [{"module": "modular_adder", "label": "F1's adder, 32 bits", "operation": "sum", "energy": energy}]
    )
    # Table 2 of F1 has 0.05 W for 128 adders at 1 GHz; 14 / 180 and (0.8 / 1.8)^2 scale ours.
    assert row[2:] == ("sum", "100", "200", "10", "f1", "0.39", "1.54 to 3.07")


def test_areas_of_machine_files_come_from_the_files() -> None:
    unit = {"module": "modular_adder", "label": "F1's adder, 32 bits", "osu018": {"um2": 20_000}}
    others = [{"module": "none", "label": label} for label, *_ in unit_tables.MACHINE_AREAS[1:]]
    (row,) = unit_tables.areas([unit, *others])
    # Table 2 of F1 has 0.03 mm2 for 128 adders; at its 14 nm ours is 0.0093 of its area at 180 nm.
    assert row[3:6] == ("234", "20,000", "186")
    assert row[6:] == ("0.79", "yes")
