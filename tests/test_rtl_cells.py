"""The synthesis of the RTL units with standard cells: its readers of reports, its list of units, and what is drawn from its results."""

from __future__ import annotations

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


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = spec_from_loader("rtl_cells", SourceFileLoader("rtl_cells", str(SCRIPT)))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


def test_an_unknown_unit_is_an_error() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "no_such_unit"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no_such_unit" in done.stderr
    assert "Traceback" not in done.stderr


def test_every_unit_is_synthesized_and_recorded() -> None:
    units = {folder.name for folder in (ROOT / "rtl").iterdir() if (folder / f"{folder.name}.sv").is_file()}
    assert {unit["module"] for unit in results.read(unit_tables.RESULT)["data"]} == units


def test_a_row_has_its_parts_or_says_why_not() -> None:
    for unit in results.read(unit_tables.RESULT)["data"]:
        assert {"osu018", "ecp5"} - set(unit) == set(unit.get("left_out", {})), unit["label"]


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


def test_areas_of_machine_files_come_from_the_files() -> None:
    unit = {"module": "modular_adder", "label": "F1's adder, 32 bits", "osu018": {"um2": 20_000}}
    others = [{"module": "none", "label": label} for label, *_ in unit_tables.MACHINE_AREAS[1:]]
    (row,) = unit_tables.areas([unit, *others])
    # Table 2 of F1 has 0.03 mm2 for 128 adders; at its 14 nm ours is 0.0093 of its area at 180 nm.
    assert row[3:6] == ("234", "20,000", "186")
    assert row[6:] == ("0.79", "yes")
