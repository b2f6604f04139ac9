"""`polyfabric operators`: the operators of ONNX."""

from __future__ import annotations

from dataclasses import asdict
from difflib import get_close_matches

import click

from ..errors import InputError
from ..models.onnx_operators import MEANINGS, OPERATORS
from ..reports.tables import print_table
from .console import grid, out, print_json


@click.command()
@click.argument("names", nargs=-1, metavar="[OPERATOR]...")
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
def operators(*, names: tuple[str, ...], as_json: bool) -> None:
    """List the operators of ONNX: how each is computed on encrypted rows, with its limits, or what to use instead.

    `polyfabric operators Softmax MaxPool` shows these alone; upper and lower case are equal.
    """
    by_name = {name.lower(): operator for name, operator in OPERATORS.items()}
    unknown = next((name for name in names if name.lower() not in by_name), None)
    if unknown is not None:
        near = [by_name[name].name for name in get_close_matches(unknown.lower(), by_name, n=2)]
        remedy = f"did you mean {' or '.join(near)}?" if near else "`polyfabric operators` lists all"
        raise InputError(f"ONNX has no operator {unknown!r}; {remedy}")
    chosen = [by_name[name.lower()] for name in names] or list(OPERATORS.values())
    if as_json:
        print_json([asdict(operator) for operator in chosen])
        return
    table = grid("operator", "how", "limits, or what to use instead", left=3)
    for operator in chosen:
        table.add_row(operator.name, operator.how, operator.note)
    print_table(out(), table)
    for how in dict.fromkeys(operator.how for operator in chosen):
        out().print(f"{how}: {MEANINGS[how]}", style="dim")
