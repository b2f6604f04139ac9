"""The ports and parameters of the RTL units, from their sources, and their synthesis, at the end of each unit's page. A part of other units that
is not tested alone has a page that is generated as a whole."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from . import results, unit_tables

RTL = results.ROOT / "rtl"
_MARK, _END = "<!-- ports, from the source -->\n", "<!-- end of ports -->\n"
_MOST_USERS = 5
_PARAMETER = re.compile(r"^\s*parameter\s+(?:.*\s)?(\w+)\s*=\s*(.*?),?\s*(?://\s*(.*))?$")
_PORT = re.compile(r"^\s*(input|output)\s+(.*?)\s*\b(\w+)\s*((?:\[[^\]]*\]\s*)*),?\s*(?://\s*(.*))?$")


def pages() -> list[tuple[Path, str]]:
    """Every unit's page, and its text as drawn."""
    folders = sorted(folder for folder in RTL.iterdir() if (folder / f"{folder.name}.sv").is_file())
    sources = {folder.name: (folder / f"{folder.name}.sv").read_text(encoding="utf-8") for folder in folders}
    return [(folder / "README.md", _page(folder.name, sources)) for folder in folders]


def _page(unit: str, sources: dict[str, str]) -> str:
    page, tested = RTL / unit / "README.md", (RTL / unit / "bench.sv").is_file()
    text = page.read_text(encoding="utf-8") if tested else _part(unit, sources)
    written = text.partition(_MARK)[0].rstrip()
    return f"{written}\n\n{_MARK}{_ports(sources[unit])}{_table(*unit_tables.of_unit(unit))}{_END}"


def _part(unit: str, sources: dict[str, str]) -> str:
    """The page of a part: the comment of its source, and the units that have it."""
    comment = re.match(r"(?://.*\n)+", sources[unit])
    lines = [line.removeprefix("// ").rstrip("/ ") for line in comment[0].splitlines()] if comment else []
    # A line with columns is part of a sketch.
    written = [f"    {line}" if "    " in line else line for line in lines if not line.startswith("SPDX")]
    words = "\n".join(written)
    instance = re.compile(rf"(?<![\w:]){unit}\s*(?:#\s*\(|\s\w+\s*\()")
    users = [name for name, source in sources.items() if name != unit and instance.search(re.sub("//.*", "", source))]
    shown = users if len(users) <= _MOST_USERS else users[: _MOST_USERS - 1]
    links = ", ".join(f"[{name}](../{name}/README.md)" for name in shown)
    links += f" and {len(users) - len(shown)} more units" if len(shown) < len(users) else ""
    latency, throughput = tomllib.loads((RTL / "parts.toml").read_text(encoding="utf-8"))[unit]
    cycles = _table(("", ""), [("latency", latency), ("throughput", throughput)])
    return f"# `{unit}`\n\nA part of {links}, and tested there.\n\n{cycles}{words}\n"


def _ports(source: str) -> str:
    """Tables of the module's ports and parameters."""
    header = source[source.index("\nmodule ") : source.index(");", source.index("\nmodule "))]
    ports, parameters = [], []
    for line in header.splitlines():
        if found := _PORT.match(line):
            way, kind, name, unpacked, meaning = found.groups()
            ports.append((f"`{name}`", way, f"`{' '.join(f'{kind} {unpacked}'.split())}`", meaning or ""))
        elif found := _PARAMETER.match(line):
            name, value, meaning = found.groups()
            parameters.append((f"`{name}`", f"`{value}`", meaning or ""))
    return _table(("port", "", "type", ""), ports) + _table(("parameter", "default", ""), parameters)


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    if not rows:
        return ""
    lines = [columns, ("---",) * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n\n"
