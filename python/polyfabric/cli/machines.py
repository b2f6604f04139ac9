"""`polyfabric machines`: the figures of every machine, with their sources."""

from __future__ import annotations

from typing import Any

import click

from ..accelerators import machine as accelerators
from ..accelerators.machine import Machine, load
from ..reports.tables import print_table
from .console import grid, out, print_json, styled


@click.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
def machines(name: str | None, *, as_json: bool) -> None:
    """List the machines; or show NAME (or a file.toml of yours): every figure, its source, the open readings."""
    if name is None:
        found = accelerators.machines()
        if as_json:
            print_json([machine.to_dict() for machine in found])
            return
        table = grid("machine", "schemes", "title", "clock", "area", "power", left=3)
        for machine in found:
            d = machine.to_dict()
            schemes = "CKKS, BGV" if machine.on_slots else "TFHE"
            table.add_row(d["name"], schemes, d["title"], _figure(d["clock"]), *_totals(machine))
        print_table(out(), table)
        return
    data = load(name).to_dict()
    if as_json:
        print_json(data)
    else:
        _show(data)


def _figure(figure: dict[str, Any]) -> str:
    value, unit = figure["value"], figure["unit"]
    return str(value) if unit in ("1", "flag") else f"{value} {unit}"


def _totals(machine: Machine) -> tuple[str, str]:
    """Total area and power of all components."""
    sums = ((machine.native.area(), "mm²"), (machine.native.power(), "W"))
    area, power = (f"{value:.4g} {unit}" if value else "unknown" for value, unit in sums)
    return area, power


def _show(data: dict[str, Any]) -> None:
    console = out()
    console.print(styled((data["name"], "bold"), f"  {data['title']}"))
    table = grid("figure", "value", "kind", "source", left=4)
    for key, figure in _flat(data):
        table.add_row(key, _figure(figure), "input" if figure.get("input") else "", figure["source"])
    print_table(console, table)
    laws = grid("component", "as many as", "grows with", "beside", "source", left=5)
    for name, component in data["components"].items():
        count, size = component.get("count", "1"), component.get("size", {})
        known = count if isinstance(count, str) else _figure(count)
        laws.add_row(name, known, size.get("of", "-"), size.get("at", "-"), size.get("source", "-"))
    console.print()
    print_table(console, laws)
    held = grid("component", "scales this area and power for", left=2)
    for name, component in data["components"].items():
        for key, values in component.get("holds_for", {}).items():
            held.add_row(name, f"{key} = {' or '.join(map(str, values if isinstance(values, list) else [values]))}")
    if held.row_count:
        console.print()
        print_table(console, held)
    for name, component in data["components"].items():
        if "includes" in component:
            console.print(f"\n{name}: its power includes the memory of {', '.join(component['includes'])}")
    for fact, reading in data.get("readings", {}).items():
        console.print(styled("\n", (fact, "bold"), f": {reading['question']}"))
        for option, content in reading["options"].items():
            mark = " (default)" if option == reading["default"] else ""
            console.print(f"  {option}{mark}: {content['meaning']} [{content['source']}]")


def _flat(data: dict[str, Any], prefix: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Every figure with its dotted key."""
    found = []
    for key, value in data.items():
        if not isinstance(value, dict) or (not prefix and key == "readings"):
            continue
        if "value" in value and "unit" in value:
            found.append((prefix + key, value))
        else:
            found += _flat(value, f"{prefix}{key}.")
    return found
