"""What our own RTL takes as gates and as cells of an FPGA, from the recorded synthesis `scripts/rtl-synthesis`: for figures of a paper that follow from a
synthesis."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "rtl-synthesis.json"
"""A link to the recorded results, for the installed package."""


@cache
def _units() -> dict[str, dict[str, Any]]:
    return {unit["label"]: unit for unit in json.loads(RECORDED.read_text(encoding="utf-8"))["data"]}


def unit(label: str) -> dict[str, Any]:
    """A unit's gates and cells, by the label that `rtl/synthesis.toml` gives it."""
    return _units()[label]
